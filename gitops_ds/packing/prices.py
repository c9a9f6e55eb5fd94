"""Prices of supply, by steps on the dual of the compact relaxation, and what follows from them.

For prices q >= 0 of each configuration's supply, no plan is worth more than
sum_w (the copies[w] largest over clusters of max(0, value - q . request)) +
sum_c max(0, max_g q_g . supply_g - fixed_g).
A step costs one dense pass over all pairs. The direction is a moving average (the volume method of Barahona and
Anbil), so that the share of steps at which a configuration was the best estimates its part in the relaxation.

Numbers are floats: they guide. Proof is left to `pricing`, which counts in whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gitops_ds.packing.model import Ints, Packing, Reals, Whole

Singles = npt.NDArray[np.float32]

BLOCK, WIDTH = 128, 1024
"""Configurations and workloads a pass handles at once: what it needs stays in the cache."""
MEMORY = 0.1
SHARE_MEMORY = 0.07
SETTLED = (0.4, 0.65, 0.8, 0.9, 1.0)
"""How large a part of the clusters has its configuration after each round of `settle`."""
NEGLIGIBLE = 0.003


@dataclass(frozen=True)
class Part:
    """A part of a packing: some configurations, some workloads, with what is left of their copies.

    `rows` and `columns` are their numbers in the packing; `cluster_of` is counted anew.
    """

    rows: Ints
    columns: Ints
    gain: Whole
    request: Ints
    supply: Reals
    fixed: Ints
    copies: Ints
    cluster_of: Ints
    first: Ints


@dataclass(frozen=True)
class Duals:
    """Where the steps ended: rent (price times supply) by configuration and kind, its value, and shares of choice."""

    rent: Reals
    value: float
    share: Reals


def part_of(packing: Packing, rows: Ints | None = None, copies: Ints | None = None) -> Part:
    """The part with these configurations (ascending) and the workloads that have copies left."""
    left = packing.copies if copies is None else copies
    columns = np.nonzero(left > 0)[0]
    used = np.arange(packing.configurations) if rows is None else rows
    whole = len(used) == packing.configurations and len(columns) == packing.workloads
    gain = packing.gain if whole else packing.gain[np.ix_(used, columns)]
    cluster_of = np.unique(packing.cluster_of[used], return_inverse=True)[1]
    first = np.searchsorted(cluster_of, np.arange(int(cluster_of[-1]) + 1 if len(used) else 0))
    supply = np.maximum(packing.supply[used], 1).astype(np.float64)
    return Part(
        used, columns, gain, packing.request[columns], supply, packing.fixed[used], left[columns], cluster_of, first
    )


def workload_prices(part: Part, rent: Reals) -> Reals:
    """The price of each workload of the part: the least surplus among its best places, one a copy."""
    surplus, _, _ = _surplus(part, rent)
    return surplus


def first_rent(part: Part) -> Reals:
    """Rents from one price for each kind, the same everywhere: the best of a few sizes."""
    if not len(part.columns) or not len(part.rows):
        return np.zeros_like(part.supply)
    mean = np.maximum(part.request.mean(axis=0), 1e-9)
    high = float(part.gain.max(axis=1).mean()) / (2 * part.request.shape[1])
    tries = [high * size * part.supply / mean for size in 0.03 * 1.6 ** np.arange(12)]
    return min(tries, key=lambda rent: _evaluate(part, rent)[0])


def steps(part: Part, rent: Reals, count: int, stop: Callable[[], bool], step: float = 0.1) -> Duals:
    """At most `count` steps from these rents, each from the best so far along the averaged direction."""
    best, slope, _ = _evaluate(part, rent)
    share = np.zeros(len(part.rows))
    fails = 0
    average = slope
    for _ in range(count):
        if stop():
            break
        move = np.where((rent <= 0) & (average > 0), 0.0, average)
        length = step * 0.05 * best / max(float((move**2).sum()), 1e-9)
        tried = np.maximum(rent - length * move, 0.0)
        value, slope, top = _evaluate(part, tried)
        share *= 1 - SHARE_MEMORY
        share[top] += SHARE_MEMORY
        if value < best:
            best, rent, fails = value, tried, 0
            if float((slope * average).sum()) > 0:
                step = min(step * 1.3, 2.0)
        else:
            fails += 1
            if fails >= 8:
                step, fails = step * 0.7, 0
        average = (1 - MEMORY) * average + MEMORY * slope
    return Duals(rent, best, share)


def settle(packing: Packing, duals: Duals, stop: Callable[[], bool], count: int = 80) -> tuple[Ints, Reals]:
    """One configuration for each cluster, and its rents: the clearest are settled first, the others priced again."""
    rows = np.arange(packing.configurations)
    rent, share = duals.rent, duals.share
    for fraction in SETTLED:
        cluster = packing.cluster_of[rows]
        order = np.lexsort((np.arange(len(rows)), -share, cluster))
        top = order[np.searchsorted(cluster[order], np.arange(packing.clusters))]
        sure = np.argsort(-share[top], kind="stable")[: round(fraction * packing.clusters)]
        open_cluster = np.ones(packing.clusters, dtype=bool)
        open_cluster[sure] = False
        keep = open_cluster[cluster] & (share > NEGLIGIBLE)
        keep[top] = True
        rows = rows[keep]
        after = steps(part_of(packing, rows), rent[keep], count, stop, step=0.02)
        rent, share = after.rent, after.share
    return rows, rent


def _evaluate(part: Part, rent: Reals) -> tuple[float, Reals, Ints]:
    """The value at these rents, its slope, and each cluster's best configuration."""
    _, places, total = _surplus(part, rent)
    paid = rent.sum(axis=1) - part.fixed
    order = np.lexsort((np.arange(len(paid)), -paid, part.cluster_of))
    top = order[part.first]
    used = top[paid[top] > 0]
    slope = np.zeros_like(rent)
    slope[used] = 1.0
    workload, row = places
    for k in range(rent.shape[1]):
        load = np.bincount(row, weights=part.request[workload, k].astype(np.float64), minlength=len(rent))
        slope[:, k] -= load / part.supply[:, k]
    return total + float(paid[used].sum()), slope, top


def _surplus(part: Part, rent: Reals) -> tuple[Reals, tuple[Ints, Ints], float]:
    """(price of each workload, (workload, row) of its best places, sum of their surplus)."""
    count = len(part.columns)
    top, row = np.zeros(count, dtype=np.float32), np.full(count, -1, dtype=np.int64)
    price, size = (rent / part.supply).astype(np.float32), part.request.T.astype(np.float32)
    everyone = np.arange(count)
    for left in range(0, count, WIDTH):
        some = slice(left, left + WIDTH)
        for start in range(0, len(rent), BLOCK):
            beyond = _beyond(part.gain[start : start + BLOCK, some], price[start : start + BLOCK], size[:, some])
            best = beyond.argmax(axis=0)
            value = beyond[best, everyone[: len(best)]]
            better = np.nonzero(value > top[some])[0]
            top[left + better] = value[better]
            row[left + better] = best[better] + start
    single = np.nonzero((row >= 0) & (part.copies == 1))[0]
    several = np.nonzero(part.copies > 1)[0]
    surplus = top.astype(np.float64)
    total = float(surplus[single].sum())
    workloads, rows = [single], [row[single]]
    for start in range(0, len(several), BLOCK):
        chunk = several[start : start + BLOCK]
        least, workload, place, more = _several(part, price, size, chunk)
        surplus[chunk] = least
        workloads.append(workload)
        rows.append(place)
        total += more
    return surplus, (np.concatenate(workloads), np.concatenate(rows)), total


def _beyond(gain: Whole, price: Singles, size: Singles) -> Singles:
    """What pairs are worth beyond the supply they take; without BLAS, whose threads would wait more than they help."""
    found = gain.astype(np.float32)
    for k in range(len(size)):
        found -= price[:, k, None] * size[k]
    return found


def _several(part: Part, price: Singles, size: Singles, some: Ints) -> tuple[Reals, Ints, Ints, float]:
    """The same for workloads of several copies, each on a cluster of its own."""
    beyond = np.maximum(_beyond(part.gain[:, some], price, size[:, some]), 0.0)
    by_cluster = np.maximum.reduceat(beyond, part.first, axis=0)
    ranked = np.argsort(-by_cluster, axis=0, kind="stable")
    wanted = np.minimum(part.copies[some], len(ranked))
    taken = (np.arange(len(ranked))[:, None] < wanted) & (np.take_along_axis(by_cluster, ranked, axis=0) > 0)
    rank, column = np.nonzero(taken)
    cluster = ranked[rank, column]
    value = by_cluster[cluster, column]
    after = np.arange(len(part.rows), 0, -1)[:, None] * (beyond == by_cluster[part.cluster_of])
    place = len(part.rows) - np.maximum.reduceat(after, part.first, axis=0)[cluster, column]
    least = by_cluster[ranked[wanted - 1, np.arange(len(some))], np.arange(len(some))]
    least = np.where(part.copies[some] > len(ranked), 0.0, least)
    return least.astype(np.float64), some[column], place, float(value.sum(dtype=np.float64))
