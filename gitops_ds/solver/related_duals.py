"""Prices of supply and of linking rows together, by steps on the dual of the compact relaxation.

The same steps as in `packing.prices` (the volume method of Barahona and Anbil), with one more price a linking row: rows
move values of pairs, and pay for what they allow. Numbers are floats: they guide, and prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gitops_ds.packing.model import Ints, Reals
from gitops_ds.solver.links import FAR
from gitops_ds.solver.related import Related

MEMORY = 0.1
NEVER = np.float32(-1e30)


@dataclass(frozen=True)
class Duals:
    """Where the steps ended: rent (price times supply) of n configurations by kind, prices of rows and of items."""

    rent: Reals
    link: Reals
    items: Reals
    value: float

    @property
    def prices(self) -> Reals:
        """Of items and then of rows."""
        return np.concatenate([self.items, self.link])


class Compact:
    """The compact relaxation of some clusters, beside a plan for the others."""

    def __init__(self, related: Related, clusters: Ints, copies: Ints, activity: Ints) -> None:
        """Lay down what the steps need, with one row a configuration.

        Args:
            related: the problem.
            clusters: ascending.
            copies: I, what is left of each item.
            activity: R, what the plan for the others adds up to.
        """
        problem, links = related.problem, related.links
        self.rows = np.nonzero(np.isin(problem.cluster_of, clusters))[0]
        local = np.unique(problem.cluster_of[self.rows], return_inverse=True)[1]
        count = int(local[-1]) + 1 if len(local) else 0
        self.cluster, self.first = local, np.searchsorted(local, np.arange(count))
        self.copies = np.maximum(copies, 0)
        value = np.where(related.allowed[:, self.rows] & (self.copies > 0)[:, None], related.value[:, self.rows], -1e30)
        self.value = value.T.astype(np.float32)
        self.supply = np.maximum(problem.supply[self.rows], 1).astype(np.float64)
        everyone = np.arange(related.items)
        shared = not problem.differs
        several = [related.need(everyone, g) for g in self.rows[: 1 if shared else None].tolist()]
        need = np.stack(several)
        self.need = need.astype(np.float32)
        self.value[(need > problem.supply[self.rows][:, None, :]).any(axis=2)] = NEVER
        self.fixed = related.fixed[self.rows].astype(np.float64)
        place = np.full(len(problem.configurations), -1, dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        mine = place[links.configuration] >= 0
        self.row, self.item = links.row[mine], links.item[mine]
        self.place, self.coefficient = place[links.configuration[mine]], links.coefficient[mine].astype(np.float64)
        self.lower = np.where(links.lower <= -FAR, -np.inf, (links.lower - activity).astype(np.float64))
        self.upper = np.where(links.upper >= FAR, np.inf, (links.upper - activity).astype(np.float64))
        self.links = links
        self.related = related

    def steps(self, rent: Reals, link: Reals, count: int, stop: Callable[[], bool], step: float = 0.1) -> Duals:
        """At most `count` steps from these prices, each from the best so far along the averaged direction."""
        best, slope, items = self.evaluate(rent, link)
        shape, cut = rent.shape, rent.size
        point = np.concatenate([rent.ravel(), link])
        fails, average = 0, slope
        low = np.concatenate([np.zeros(cut), self.links.least_price])
        high = np.concatenate([np.full(cut, np.inf), self.links.most_price])
        for _ in range(count):
            if stop():
                break
            blocked = ((point <= low) & (average > 0)) | ((point >= high) & (average < 0))
            move = np.where(blocked, 0.0, average)
            length = step * 0.05 * abs(best) / max(float((move**2).sum()), 1e-9)
            tried = np.clip(point - length * move, low, high)
            value, slope, found = self.evaluate(tried[:cut].reshape(shape), tried[cut:])
            if value < best:
                best, point, items, fails = value, tried, found, 0
                if float((slope * average).sum()) > 0:
                    step = min(step * 1.3, 2.0)
            else:
                fails += 1
                if fails >= 8:
                    step, fails = step * 0.7, 0
            average = (1 - MEMORY) * average + MEMORY * slope
        return Duals(point[:cut].reshape(shape), point[cut:], items, best)

    def first_rent(self) -> Reals:
        """Rents from one price for each kind, the same everywhere: the best of a few sizes."""
        kinds, none = self.supply.shape[1], np.zeros(len(self.lower))
        if not kinds or not len(self.rows):
            return np.zeros_like(self.supply)
        mean = np.maximum(self.need.mean(axis=(0, 1)), 1e-9)
        high = float(np.maximum(self.value.max(axis=0), 0).mean()) / (2 * kinds)
        tries = [high * size * self.supply / mean for size in 0.03 * 1.6 ** np.arange(12)]
        return min(tries, key=lambda rent: self.evaluate(rent, none)[0])

    def evaluate(self, rent: Reals, link: Reals) -> tuple[float, Reals, Reals]:
        """The value at these prices, its slope, and the prices of items that follow."""
        net = self._net(rent, link)
        items, places, total = self._taken(net)
        paid = rent.sum(axis=1) - self.fixed
        order = np.lexsort((np.arange(len(paid)), -paid, self.cluster))
        top = order[self.first]
        used = top[paid[top] > 0]
        slope = np.zeros_like(rent)
        slope[used] = 1.0
        item, row = places
        for k in range(rent.shape[1]):
            asked = self.need[0 if len(self.need) == 1 else row, item, k].astype(np.float64)
            slope[:, k] -= np.bincount(row, weights=asked, minlength=len(rent)) / self.supply[:, k]
        worth, link_slope = self._linked(link, item, row)
        return total + float(paid[used].sum()) + worth, np.concatenate([slope.ravel(), link_slope]), items

    def _net(self, rent: Reals, link: Reals) -> np.ndarray:
        """What each pair is worth beyond the supply it takes and what rows ask for it."""
        net = self.value.copy()
        price = (rent / self.supply).astype(np.float32)
        for k in range(rent.shape[1]):
            net -= price[:, k, None] * self.need[:, :, k]
        if link.any():
            at = self.place * net.shape[1] + self.item
            net -= np.bincount(at, weights=link[self.row] * self.coefficient, minlength=net.size).reshape(net.shape)
        return net

    def _taken(self, net: np.ndarray) -> tuple[Reals, tuple[Ints, Ints], float]:
        """(price of each item, (item, configuration) of its best places, sum of their surplus)."""
        if not len(self.rows):
            none = np.empty(0, dtype=np.int64)
            return np.zeros(net.shape[1]), (none, none), 0.0
        np.maximum(net, 0, out=net)
        by_cluster = np.maximum.reduceat(net, self.first, axis=0)
        clusters = len(by_cluster)
        wanted = np.minimum(self.copies, clusters)
        most = int(wanted.max(initial=0))
        ranked = np.argsort(-by_cluster, axis=0, kind="stable")[:most] if most > 1 else by_cluster.argmax(axis=0)[None]
        value = np.take_along_axis(by_cluster, ranked, axis=0)
        taken = (np.arange(len(ranked))[:, None] < wanted) & (value > 0)
        rank, item = np.nonzero(taken)
        cluster = ranked[rank, item]
        last = np.append(self.first[1:], len(self.rows)) - 1
        row, best = self.first[cluster], np.full(len(cluster), -1.0)
        for n in range(int((last - self.first).max(initial=0)) + 1):
            here = np.minimum(self.first[cluster] + n, last[cluster])
            more = net[here, item] > best
            row, best = np.where(more, here, row), np.where(more, net[here, item], best)
        least = value[np.maximum(wanted - 1, 0), np.arange(net.shape[1])]
        prices = np.where((self.copies > 0) & (self.copies <= clusters), least, 0.0).astype(np.float64)
        return prices, (item, row), float(value[rank, item].sum(dtype=np.float64))

    def _linked(self, link: Reals, item: Ints, row: Ints) -> tuple[float, Reals]:
        """What rows pay at these prices, and by how much the items and auxiliaries taken keep or break each."""
        links = self.links
        taken = np.zeros((len(self.rows), self.related.items), dtype=np.bool_)
        taken[row, item] = True
        used = taken[self.place, self.item]
        total = np.zeros(len(link))
        np.add.at(total, self.row[used], self.coefficient[used])
        earned = links.cost.astype(np.float64)
        np.subtract.at(earned, links.aux, link[links.aux_row] * links.aux_coefficient)
        full = np.where(earned > 0, links.most, 0)
        np.add.at(total, links.aux_row, links.aux_coefficient * full[links.aux])
        bound = np.where(link > 0, self.upper, np.where(link < 0, self.lower, np.clip(total, self.lower, self.upper)))
        pays = np.where(link != 0, link * np.where(link != 0, bound, 0.0), 0.0)
        return float(pays.sum()) + float((np.maximum(earned, 0) * links.most).sum()), bound - total
