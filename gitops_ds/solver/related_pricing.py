"""The best pattern of a cluster at prices of items and of linking rows, and the bound that follows, in whole numbers.

For any whole prices p >= 0 of items and q of rows (q >= 0 where a row has no lower bound, q <= 0 where it has no upper
one), no plan is worth more than

    sum_i copies[i] p[i] + sum_r (q[r] upper[r] if q[r] > 0 else q[r] lower[r])
        + sum_j most[j] max(0, cost[j] - sum_r q[r] b[r,j])
        + sum_c max(0, max over patterns (g, items) of c of sum_i (value[i,g] - p[i] - sum_r q[r] a[r,i,g]) - fixed[g])

Patterns are priced by the two scarcest kinds of supply, in steps that only make room; the other kinds are paid for,
which only lets more in. So the bound holds to the last digit, whatever the prices. Owns no search for prices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gitops_ds.packing import knapsack
from gitops_ds.packing.model import LEVELS, Ints, Reals
from gitops_ds.packing.pricing import HAIR
from gitops_ds.packing.pricing import Pattern as Found
from gitops_ds.problem.model import Pair
from gitops_ds.solver.links import FAR, Bools
from gitops_ds.solver.related import Related

TOTAL = 2**52
FINEST = 4096
SWEEPS = 4
"""Prices of supply set right so often beforehand make the tables smaller than they cost."""


@dataclass(frozen=True)
class Menu:
    """What a configuration may run: items with values in parts, needs and room; and its entries in linking rows.

    `need` and `room` are of the two kinds that are counted, in steps; `other` and `other_room` of those paid for.
    """

    g: int
    items: Ints
    worth: Ints
    need: Ints
    room: Ints
    other: Ints
    other_room: Ints
    row: Ints
    place: Ints
    coefficient: Ints
    base: int


@dataclass
class RelatedPricer:
    """Finds best patterns; `price` (G x 2) remembers the prices of supply, which make the next call fast."""

    related: Related
    scale: int
    price: Reals = field(repr=False)

    def parts(self, prices: Reals) -> Ints:
        """Prices of items and then of rows in whole parts, each with a sign that keeps the bound valid."""
        items, links = self.related.items, self.related.links
        found = np.empty(len(prices), dtype=np.int64)
        found[:items] = np.ceil(np.maximum(prices[:items], 0.0) * self.scale)
        rows = np.rint(prices[items:] * self.scale).astype(np.int64)
        found[items:] = np.clip(rows, np.where(links.lower <= -FAR, 0, -TOTAL), np.where(links.upper >= FAR, 0, TOTAL))
        return found

    def menus(self, c: int, free: Bools | None = None) -> list[Menu]:
        """The menus of a cluster's configurations, of free items only."""
        return [self.menu(g, free) for g in self.related.problem.configurations_of[c]]

    def menu(self, g: int, free: Bools | None = None) -> Menu:
        """The menu of one configuration: items that fit alone, and that are worth something or are in a linking row."""
        related, links = self.related, self.related.links
        here = links.here(g)
        use = related.value[:, g] > 0
        use[links.item[here]] = True
        use &= related.allowed[:, g]
        if free is not None:
            use &= free
        items = np.nonzero(use)[0]
        need, supply = related.need(items, g), related.problem.supply[g]
        fits = (need <= supply).all(axis=1)
        items, need = items[fits], need[fits]
        place = np.full(related.items, -1, dtype=np.int64)
        place[items] = np.arange(len(items))
        at = place[links.item[here]]
        known = at >= 0
        counted, other = self._kinds(need, supply)
        unit = np.ones(2, dtype=np.int64)
        two, room = np.zeros((len(items), 2), dtype=np.int64), np.zeros(2, dtype=np.int64)
        for n, k in enumerate(counted):
            step = max(int(np.gcd.reduce(need[:, k], initial=0)), 1)
            top = min(int(supply[k]), int(need[:, k].sum()))
            unit[n] = max(step, step * -(-top // (step * LEVELS)))
            two[:, n], room[n] = need[:, k] // unit[n], top // unit[n]
        return Menu(
            g,
            items,
            related.value[items, g] * self.scale,
            two,
            room,
            need[:, other],
            supply[other],
            links.row[here][known],
            at[known],
            links.coefficient[here][known],
            -int(related.fixed[g]) * self.scale,
        )

    @staticmethod
    def _kinds(need: Ints, supply: Ints) -> tuple[list[int], list[int]]:
        """The two kinds that are scarcest, and the others that can be short."""
        asked = need.sum(axis=0)
        scarce = [k for k in range(need.shape[1]) if int(asked[k]) > int(supply[k])]
        scarce.sort(key=lambda k: (-int(asked[k]) / max(int(supply[k]), 1), k))
        return sorted(scarce[:2]), sorted(scarce[2:])

    def best(self, menus: Sequence[Menu], asked: Ints) -> Found | None:
        """The best pattern of these menus at these prices; None where none is worth more than nothing.

        It may not fit, and may break rows of one cluster: see `fitting`.
        """
        offers = []
        for n, menu in enumerate(menus):
            profit, base = self._profits(menu, asked)
            use = np.nonzero(profit > 0)[0]
            profit, need = profit[use], menu.need[use]
            bound = knapsack.relaxed(profit, need, menu.room, np.rint(self.price[menu.g]).astype(np.int64))
            offers.append((bound + base, -n, use, profit, need, base))
        found: Found | None = None
        for bound, minus, use, profit, need, base in sorted(offers, key=lambda o: o[:2], reverse=True):
            least = found.profit if found else 0
            if bound <= least:
                break
            menu = menus[-minus]
            value, took = self._packed(menu, profit, need, least - base)
            if value + base > least:
                found = Found(menu.g, np.sort(menu.items[use[took]]), value + base)
        return found

    def _packed(self, menu: Menu, profit: Ints, need: Ints, least: int) -> tuple[int, Ints]:
        """The best choice of what is offered, where it can be worth more than `least`."""
        self.price[menu.g] = knapsack.tuned(profit, need, menu.room, self.price[menu.g], SWEEPS)
        price = np.rint(self.price[menu.g]).astype(np.int64)
        if knapsack.relaxed(profit, need, menu.room, price) <= least:
            return least, np.empty(0, dtype=np.int64)
        return knapsack.best(profit, need, menu.room, price)

    def _profits(self, menu: Menu, asked: Ints) -> tuple[Ints, int]:
        """What each item of the menu earns at these prices, and what the configuration costs."""
        profit = menu.worth - asked[menu.items]
        if len(menu.row):
            np.subtract.at(profit, menu.place, asked[self.related.items + menu.row] * menu.coefficient)
        base = menu.base
        for k in range(menu.other.shape[1]):
            price = _price_of(profit, menu.other[:, k], int(menu.other_room[k]))
            if price > 0:
                paid = np.floor(np.maximum(menu.other[:, k] * price - HAIR, 0.0)).astype(np.int64)
                profit = profit - paid
                base += int(np.ceil(float(menu.other_room[k]) * price + HAIR))
        return profit, base

    def bound(
        self, asked: Ints, copies: Ints | None = None, activity: Ints | None = None
    ) -> tuple[int, list[Found | None]]:
        """The bound at these prices, in parts, and each cluster's best pattern."""
        found = [self.best(self.menus(c), asked) for c in range(self.related.clusters)]
        return self.rent(asked, copies, activity) + sum(p.profit for p in found if p), found

    def rent(self, asked: Ints, copies: Ints | None = None, activity: Ints | None = None) -> int:
        """All that the bound holds but for the patterns, where the rest of the plan adds up to `activity`."""
        related, links = self.related, self.related.links
        price = asked[related.items :]
        lower, upper = (
            (links.lower, links.upper) if activity is None else (links.lower - activity, links.upper - activity)
        )
        rows = int((np.where(price > 0, upper, lower) * price)[price != 0].sum())
        earned = links.cost * self.scale
        np.subtract.at(earned, links.aux, price[links.aux_row] * links.aux_coefficient)
        wanted = related.copies if copies is None else copies
        return int(wanted @ asked[: related.items]) + rows + int((np.maximum(earned, 0) * links.most).sum())

    def bound_with(self, asked: Ints, pair: Pair, parts: int, found: Sequence[Found | None]) -> int:
        """The bound, in parts, on plans that have a pair, given that on all plans and the patterns that made it."""
        related = self.related
        w, g = pair
        c, i = int(related.problem.cluster_of[g]), int(related.item_of[w])
        before = found[c]
        left = parts - (before.profit if before else 0)
        return left + self._rest_of(self.menu(g), asked, i) + self._forced(asked, i, g)

    def _forced(self, asked: Ints, i: int, g: int) -> int:
        """What an item earns under a configuration, whatever that is."""
        related, links = self.related, self.related.links
        here = links.here(g)
        mine = links.item[here] == i
        paid = asked[related.items + links.row[here][mine]] @ links.coefficient[here][mine]
        return int(related.value[i, g]) * self.scale - int(asked[i]) - int(paid)

    def _rest_of(self, menu: Menu, asked: Ints, i: int) -> int:
        """The most that the other items earn beside one that is there."""
        profit, base = self._profits(menu, asked)
        use = np.nonzero((profit > 0) & (menu.items != i))[0]
        at = np.nonzero(menu.items == i)[0]
        room = menu.room - menu.need[at].sum(axis=0)
        if not len(use):
            return base
        price = knapsack.tuned(profit[use], menu.need[use], room, self.price[menu.g])
        value, _ = knapsack.best(profit[use], menu.need[use], room, np.rint(price).astype(np.int64))
        return value + base

    def fitting(self, found: Found, activity: Ints | None = None) -> list[int]:
        """The pattern's items, less those of least value that do not fit or break a row of this cluster alone.

        With the `activity` of the rest of a plan, rows without auxiliaries count that too.
        """
        related, g = self.related, found.g
        value = related.value[:, g]
        kept = found.workloads
        over = related.need(kept, g).sum(axis=0) - related.problem.supply[g]
        while (over > 0).any():
            size = (related.need(kept, g) * ((over > 0) / np.maximum(related.problem.supply[g], 1))).sum(axis=1)
            kept = np.delete(kept, int(np.argmin(value[kept] / np.maximum(size, 1e-12))))
            over = related.need(kept, g).sum(axis=0) - related.problem.supply[g]
        for room, entries in self._limits(g, activity):
            mine = [i for i in kept.tolist() if i in entries]
            used = sum(entries[i] for i in mine)
            for i in sorted(mine, key=lambda i: (int(value[i]), i)):
                if used <= room:
                    break
                used -= entries[i]
                kept = kept[kept != i]
        several: list[int] = kept.tolist()
        return several

    def _limits(self, g: int, activity: Ints | None) -> Iterable[tuple[int, dict[int, int]]]:
        """Rows without auxiliaries under a configuration: the room in each, and what items take of it."""
        links = self.related.links
        limited = self.related.local if activity is None else ~links.tied
        here = links.here(g)
        rows: dict[int, dict[int, int]] = {}
        entries = zip(
            links.row[here].tolist(), links.item[here].tolist(), links.coefficient[here].tolist(), strict=True
        )
        for r, i, coefficient in entries:
            if limited[r] and links.upper[r] < FAR:
                rows.setdefault(r, {})[i] = coefficient
        used = np.zeros_like(links.upper) if activity is None else activity
        return [(int(links.upper[r] - used[r]), rows[r]) for r in sorted(rows)]

    @cached_property
    def nothing(self) -> Reals:
        """Prices of 0."""
        return np.zeros(self.related.items + len(self.related.links.lower))


def related_pricer(related: Related) -> RelatedPricer:
    """A pricer with as fine parts as whole numbers leave room for."""
    best = np.abs(np.where(related.allowed, related.value, 0)).max(axis=1, initial=1)
    top = max(int(best @ related.copies) + int(related.fixed.sum()), 1)
    scale = max(1, min(FINEST, 1 << max(0, (TOTAL // top).bit_length() - 1)))
    return RelatedPricer(related, scale, np.zeros((len(related.problem.configurations), 2)))


def _price_of(profit: Ints, need: Ints, room: int) -> float:
    """The price of a kind at which what is worth its price just fills the room; 0 where it has room for all."""
    use = np.nonzero((profit > 0) & (need > 0))[0]
    if int(need[use].sum()) <= room:
        return 0.0
    rate = profit[use] / need[use]
    order = np.argsort(-rate, kind="stable")
    full = int(np.searchsorted(np.cumsum(need[use][order]), room, side="right"))
    return float(rate[order[full]]) if full < len(order) else 0.0
