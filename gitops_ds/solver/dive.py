"""A dive: patterns that the linear programme takes (nearly) whole are fixed, the rest is priced and solved anew.

Gives a feasible plan that is close to the bound, in a fixed number of steps that no clock decides.

Owns the order in which patterns are fixed. Owns no bound.
"""

from __future__ import annotations

import numpy as np

from gitops_ds.packing.model import Ints, Packing
from gitops_ds.packing.table import Tables
from gitops_ds.solver.master import Master, Pattern

ROUNDS = 3
"""Pricing rounds between two fixings."""
WHOLE, NEARLY, SHARE = 0.999, 0.8, 0.1
"""Patterns taken whole are fixed at once; of those nearly whole this share of the open clusters, or one."""
NEVER = -(2**60)


def dive(packing: Packing, tables: Tables, scale: int, master: Master) -> list[Pattern]:
    """A plan. `master` gains the patterns that were found on the way and is as open as before."""
    value = np.where(packing.allowed, packing.value * scale, NEVER)
    free, open_ = packing.copies.copy(), np.ones(packing.clusters, dtype=np.bool_)
    fixed: list[Pattern] = []
    while open_.any():
        taken = _priced(packing, tables, scale, master, _masked(packing, value, free, open_))
        chosen = _to_fix(packing, master, taken, free, open_)
        if not chosen:
            break
        for pattern in chosen:
            free[list(pattern.workloads)] -= 1
            open_[packing.cluster_of[pattern.configuration]] = False
        master.fix(chosen)
        fixed += chosen
    master.release(fixed)
    return sorted(fixed)


def _masked(packing: Packing, value: Ints, free: Ints, open_: np.ndarray) -> Ints:
    found = value.copy()
    found[free <= 0] = NEVER
    found[:, ~open_[packing.cluster_of]] = NEVER
    return found


def _priced(packing: Packing, tables: Tables, scale: int, master: Master, value: Ints) -> np.ndarray:
    """How much of each pattern the linear programme takes, after some rounds of pricing what is still open."""
    _, prices, taken = master.relax()
    for _ in range(ROUNDS):
        asked = np.ceil(prices * scale).astype(np.int64)
        profits, several = tables.best(value - asked[:, None])
        worth = profits - packing.fixed * scale > 0
        if not master.add([Pattern(g, tuple(ws)) for g, ws in enumerate(several) if ws and worth[g]]):
            break
        _, prices, taken = master.relax()
    return taken


def _to_fix(packing: Packing, master: Master, taken: np.ndarray, free: Ints, open_: np.ndarray) -> list[Pattern]:
    left, closed = free.copy(), set[int]()
    most = max(1, int(open_.sum() * SHARE))
    found: list[Pattern] = []
    for i in np.argsort(-taken, kind="stable").tolist():
        share = taken[i]
        if share <= 1e-6 or (found and share < NEARLY) or (len(found) >= most and share < WHOLE):
            break
        pattern = master.patterns[i]
        c, several = int(packing.cluster_of[pattern.configuration]), list(pattern.workloads)
        if open_[c] and c not in closed and (left[several] > 0).all():
            left[several] -= 1
            closed.add(c)
            found.append(pattern)
    return found
