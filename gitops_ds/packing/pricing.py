"""The best pattern of every cluster at given prices of the workloads, and the bound that follows.

A pattern is a configuration with a set of workloads that fits it. For any prices p >= 0, no plan is worth more than
sum_w copies[w] * p[w] + sum_c max(0, best profit of a pattern of c, each workload at its value less its price).

Values and prices are counted in whole parts of a unit (`scale` parts), so the bound is exact. Owns no search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gitops_ds.packing import knapsack
from gitops_ds.packing.model import Bools, Ints, Packing, Reals

TOTAL = 2**44
"""All values together stay below this many parts."""
FINEST = 4096
HAIR = 1e-3
"""More than the rounding of a product of floats: what is rounded stays on the safe side."""


@dataclass(frozen=True)
class Pattern:
    """A configuration, the workloads under it (ascending), and their profit in parts where it was found."""

    g: int
    workloads: Ints
    profit: int


@dataclass(frozen=True)
class Menu:
    """What a configuration may run: workloads with their values in parts, needs and room in whole steps.

    Kinds beyond the two counted are paid for: `worth` is less what they cost, `base` is the room of them at that price,
    less what the configuration costs.
    """

    g: int
    items: Ints
    worth: Ints
    need: Ints
    room: Ints
    base: int


@dataclass
class Pricer:
    """Finds best patterns. Remembers the prices of supply of each configuration: they make the next call fast.

    Attributes:
        scale: parts to a unit of value.
        price: G x 2, parts a step of the two kinds that are counted.
        extra: G x K, parts a unit of the kinds that are only paid for.
        bounding: steps are rounded so that profits are bounds; else so that patterns fit.
    """

    packing: Packing
    scale: int
    price: Reals = field(repr=False)
    extra: Reals = field(repr=False)
    bounding: bool

    def parts(self, prices: Reals) -> Ints:
        """Prices in whole parts, rounded up."""
        found: Ints = np.ceil(np.maximum(prices, 0.0) * self.scale).astype(np.int64)
        return found

    def menus(self, c: int, free: Bools | None = None) -> list[Menu]:
        """The menus of a cluster's configurations, of free workloads only."""
        start = int(self.packing.first[c])
        end = int(self.packing.first[c + 1]) if c + 1 < self.packing.clusters else self.packing.configurations
        return [self.menu(g, free) for g in range(start, end)]

    def menu(self, g: int, free: Bools | None = None) -> Menu:
        """The menu of one configuration."""
        packing = self.packing
        row = packing.gain[g]
        items = np.nonzero(row if free is None else row * free)[0]
        kinds, unit = packing.kinds[g], packing.unit[g]
        asked = packing.request[items]
        need = asked[:, kinds]
        if not self.bounding:
            need = need + (unit - 1)
        need //= unit
        worth = row[items].astype(np.int64) * self.scale
        base = -int(packing.fixed[g]) * self.scale
        for k in np.nonzero(self.extra[g])[0].tolist():
            worth -= np.floor(np.maximum(asked[:, k] * self.extra[g, k] - HAIR, 0.0)).astype(np.int64)
            base += int(np.ceil(packing.supply[g, k] * self.extra[g, k] + HAIR))
        return Menu(g, items, worth, need, packing.supply[g, kinds] // unit, base)

    def best(self, menus: Sequence[Menu], asked: Ints) -> Pattern | None:
        """The best pattern of these menus at these prices; None where none is worth more than nothing.

        Where the two kinds are all, it fits; else it may not, see `fitting`.
        """
        offers = []
        for n, menu in enumerate(menus):
            profit = menu.worth - asked[menu.items]
            use = np.nonzero(profit > 0)[0]
            profit, need = profit[use], menu.need[use]
            bound = knapsack.relaxed(profit, need, menu.room, np.rint(self.price[menu.g]).astype(np.int64))
            offers.append((bound + menu.base, -n, use, profit, need))
        found: Pattern | None = None
        for bound, minus, use, profit, need in sorted(offers, key=lambda o: o[:2], reverse=True):
            least = found.profit if found else 0
            if bound <= least:
                break
            menu = menus[-minus]
            self.price[menu.g] = knapsack.tuned(profit, need, menu.room, self.price[menu.g])
            price = np.rint(self.price[menu.g]).astype(np.int64)
            if knapsack.relaxed(profit, need, menu.room, price) + menu.base <= least:
                continue
            value, took = knapsack.best(profit, need, menu.room, price)
            if value + menu.base > least:
                found = Pattern(menu.g, np.sort(menu.items[use[took]]), value + menu.base)
        return found

    def bound(self, prices: Ints) -> tuple[int, list[Pattern | None]]:
        """The bound at these prices, in parts, and each cluster's best pattern."""
        found = [self.best(self.menus(c), prices) for c in range(self.packing.clusters)]
        return int(self.packing.copies @ prices) + sum(p.profit for p in found if p), found

    def fitting(self, pattern: Pattern) -> list[int]:
        """The pattern's workloads, less those of least value for their size while it does not fit."""
        packing, g = self.packing, pattern.g
        kept = pattern.workloads
        over = packing.request[kept].sum(axis=0) - packing.supply[g]
        while (over > 0).any():
            size = (packing.request[kept] * ((over > 0) / np.maximum(packing.supply[g], 1))).sum(axis=1)
            rate = packing.gain[g, kept] / np.maximum(size, 1e-12)
            kept = np.delete(kept, int(np.argmin(rate)))
            over = packing.request[kept].sum(axis=0) - packing.supply[g]
        found: list[int] = kept.tolist()
        return found


def pricer_of(packing: Packing, price: Reals, *, bounding: bool = False) -> Pricer:
    """A pricer that starts from prices per unit of supply (G x K, in units of value)."""
    top = max(int(packing.gain.max(initial=1)), 1) * max(packing.workloads, 1)
    scale = max(1, min(FINEST, 1 << max(0, (TOTAL // top).bit_length() - 1)))
    start = np.take_along_axis(price, packing.kinds, axis=1) * packing.unit * scale
    if packing.request.shape[1] == 1:
        start[:, 1] = 0.0
    extra = price * scale
    np.put_along_axis(extra, packing.kinds, 0.0, axis=1)
    return Pricer(packing, scale, start, extra, bounding)


def counts(packing: Packing, patterns: Iterable[Pattern | None]) -> Ints:
    """How often each workload is in the patterns."""
    found = [p.workloads for p in patterns if p]
    joined = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    return np.bincount(joined, minlength=packing.workloads).astype(np.int64)
