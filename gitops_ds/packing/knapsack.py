"""The best set of workloads for one configuration: an exact knapsack with two kinds of supply, in whole numbers.

Prices of the two kinds sort most workloads in or out beforehand, so that the table is built for the few whose place is
open (the core), over the room that the others leave. Owns the kernel. Owns no plan and no price of a workload.
"""

from __future__ import annotations

import numpy as np

from gitops_ds.packing.model import Ints, Reals

CORE = 14
"""How many workloads the first table decides on."""


def tuned(profit: Ints, need: Ints, room: Ints, price: Reals, sweeps: int = 1) -> Reals:
    """Prices of the two kinds with a lower or equal bound: each in turn is set to its best, the other kept."""
    price = price.copy()
    for _ in range(sweeps):
        for k in (0, 1):
            own, rest = need[:, k], profit - need[:, 1 - k] * price[1 - k]
            if int(own.sum()) <= int(room[k]):
                price[k] = 0.0
                continue
            rate = rest / np.maximum(own, 0.5)
            order = np.argsort(-rate, kind="stable")
            full = int(np.searchsorted(np.cumsum(own[order]), room[k], side="right"))
            price[k] = max(rate[order[full]], 0.0) if full < len(order) else 0.0
    return price


def relaxed(profit: Ints, need: Ints, room: Ints, price: Ints) -> int:
    """A bound on the profit: the room at its price and whatever the workloads earn beyond that."""
    beyond = profit - need @ price
    return int(price @ room) + int(beyond[beyond > 0].sum())


def best(profit: Ints, need: Ints, room: Ints, price: Ints) -> tuple[int, Ints]:
    """The largest profit that fits, and the positions of the workloads that make it.

    Args:
        profit: n, positive.
        need: n x 2.
        room: 2.
        price: 2, of the kinds; a good one makes it fast, none makes it wrong.
    """
    beyond = profit - need @ price
    strength = np.abs(beyond)
    order = np.argsort(strength, kind="stable")
    rank = strength[order]
    bound = int(price @ room) + int(beyond[beyond > 0].sum())
    size, count = min(CORE, len(order)), len(order)
    while True:
        inside = order[size:]
        inside = inside[beyond[inside] > 0]
        left = room - need[inside].sum(axis=0)
        if left.min() < 0:
            size = min(size * 2, count)
            continue
        core = order[:size]
        value, took = _table(profit[core], need[core], left)
        value += int(profit[inside].sum())
        if size >= count or rank[size] >= bound - value:
            return value, np.concatenate((inside, core[took]))
        size = int(np.searchsorted(rank, bound - value, side="left"))


def _table(profit: Ints, need: Ints, room: Ints) -> tuple[int, Ints]:
    """The largest profit that fits, and the positions, by a table over all states of the room."""
    fits = np.nonzero((need <= room).all(axis=1))[0]
    rows, columns = np.minimum(room, need[fits].sum(axis=0)).tolist()
    state = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    steps = []
    for n, (worth, (r, c)) in enumerate(zip(profit[fits].tolist(), need[fits].tolist(), strict=True)):
        grown = state[: rows + 1 - r, : columns + 1 - c] + worth
        here = state[r:, c:]
        steps.append((n, r, c, grown > here))
        np.maximum(here, grown, out=here)
    i, j = rows, columns
    took = []
    for n, r, c, better in reversed(steps):
        if i >= r and j >= c and better[i - r, j - c]:
            took.append(n)
            i, j = i - r, j - c
    return int(state[rows, columns]), fits[np.array(took[::-1], dtype=np.int64)]
