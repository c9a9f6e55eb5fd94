"""A dive: patterns that the linear programme takes (nearly) whole are fixed, the rest is priced and solved anew.

Gives a feasible plan that is close to the bound, in a fixed number of steps that no clock decides.

Owns the order in which patterns are fixed. Owns no bound.
"""

from __future__ import annotations

from math import floor

import numpy as np

from gitops_ds.packing.model import Ints, Packing
from gitops_ds.packing.table import Tables
from gitops_ds.solver.master import Master, Pattern, most_of

ROUNDS = 3
"""Pricing rounds between two fixings."""
WHOLE, NEARLY, SHARE = 0.999, 0.8, 0.1
"""Patterns taken whole are fixed at once; of those nearly whole this share of the open clusters, or one."""
NEVER = -(2**60)


def dive(packing: Packing, tables: Tables, scale: int, master: Master) -> list[Pattern]:
    """A plan. `master` gains the patterns that were found on the way and is as open as before."""
    value = np.where(packing.allowed, packing.value * scale, NEVER)
    free, open_ = packing.copies.copy(), most_of(packing, range(packing.clusters)).copy()
    fixed: list[Pattern] = []
    while open_.any():
        taken = _priced(packing, tables, scale, master, _masked(packing, value, free, open_))
        for pattern in fixed:
            taken[master.number(pattern)] -= 1
        chosen = _to_fix(packing, master, taken, free, open_)
        if not chosen:
            break
        for pattern in chosen:
            np.subtract.at(free, list(pattern.workloads), 1)
            open_[packing.cluster_of[pattern.configuration]] -= 1
        fixed += chosen
        master.fix(fixed, more=packing.alike is not None)
    master.release(fixed)
    return sorted(fixed)


def _masked(packing: Packing, value: Ints, free: Ints, open_: Ints) -> Ints:
    found = value.copy()
    found[free <= 0] = NEVER
    found[:, open_[packing.cluster_of] <= 0] = NEVER
    return found


def _priced(packing: Packing, tables: Tables, scale: int, master: Master, value: Ints) -> np.ndarray:
    """How much of each pattern the linear programme takes, after some rounds of pricing what is still open."""
    _, prices, taken = master.relax()
    for _ in range(ROUNDS):
        asked = np.ceil(prices * scale).astype(np.int64)
        filled = tables.best(value - asked[:, None])
        profits = filled.values - packing.fixed * scale
        earned = np.ceil(master.rents() * scale)[packing.cluster_of]
        wanted = np.nonzero(profits >= np.maximum(earned, 1))[0].tolist()
        if not master.add([Pattern(*found) for found in filled.patterns(wanted)]):
            break
        _, prices, taken = master.relax()
    return taken


def _to_fix(packing: Packing, master: Master, share: np.ndarray, free: Ints, open_: Ints) -> list[Pattern]:
    """The patterns to fix next, each as often as `share` has it whole; at least one, where any can be fixed."""
    left, room = free.copy(), open_.copy()
    most = max(1, int(open_.sum() * SHARE))
    found: list[Pattern] = []
    for i in np.argsort(-share, kind="stable").tolist():
        if share[i] <= 1e-6 or (found and share[i] < NEARLY) or (len(found) >= most and share[i] < WHOLE):
            break
        pattern = master.patterns[i]
        c, used = int(packing.cluster_of[pattern.configuration]), np.array(pattern.workloads)
        for _ in range(max(1, floor(share[i] + 1 - WHOLE))):
            np.subtract.at(left, used, 1)
            if room[c] <= 0 or (left[used] < 0).any():
                np.add.at(left, used, 1)
                break
            room[c] -= 1
            found.append(pattern)
    return found
