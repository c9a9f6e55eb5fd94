"""A few clusters at once: column generation over their patterns, then the best choice among the patterns found.

The master problem chooses patterns such that a cluster has at most one and a workload no more than its copies. Its
duals price the workloads, `pricing` answers with better patterns, until the bound closes or says that nothing is to be
gained. Limits are counts, so the same block always ends in the same way.

Owns this search. Owns no solver (`master.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gitops_ds.packing.model import Ints, Packing, Reals
from gitops_ds.packing.pricing import Pricer
from gitops_ds.solver.dive import NEARLY, WHOLE
from gitops_ds.solver.master import Master, Pattern

CLOSED = 0.5
"""Bounds and values are whole: a gap below this is none worth a round."""


@dataclass(frozen=True)
class Block:
    """What may be chosen.

    Attributes:
        clusters: the clusters.
        copies: W, the copies of each workload that are to be had.
        current: what each of the clusters runs now; those that run nothing are missing.
        known: other patterns that may be of use.
    """

    clusters: tuple[int, ...]
    copies: Ints
    current: dict[int, Pattern]
    known: tuple[Pattern, ...] = ()


@dataclass(frozen=True)
class Limits:
    """How far a block is solved: rounds of pricing, nodes of the choice, and how much old prices weigh in new ones."""

    rounds: int = 25
    nodes: int = 100
    smoothing: float = 0.5


@dataclass(frozen=True)
class Result:
    """The better choice (None: none was found), its gain, a bound; hopeless: nothing was to be gained."""

    chosen: dict[int, Pattern] | None
    gain: int
    bound: float
    hopeless: bool = False


def solve_block(pricer: Pricer, block: Block, prices: Reals, limits: Limits) -> Result:
    """A better choice of patterns for the block's clusters, if one is found.

    Args:
        pricer: finds patterns.
        block: the clusters, and what they may run.
        prices: W, prices of the workloads to start from.
        limits: when to stop.
    """
    master = _master(pricer.packing, block)
    held = sum(master.value(pattern) for pattern in block.current.values())
    end = _generate(pricer, master, prices, limits, held)
    if np.floor(end.bound + 1e-6) <= held:
        return Result(None, 0, end.bound, hopeless=True)
    return _choose(master, block, held, end, limits)


def plunge(
    pricer: Pricer, block: Block, prices: Reals, rounds: Sequence[int]
) -> tuple[dict[int, Pattern], float, Reals]:
    """A plan for the block by column generation, the clearest patterns settled first, then the rest priced again.

    Args:
        pricer: finds patterns.
        block: the clusters, and what they may run; nothing is kept of what they run now.
        prices: W, prices of the workloads to start from.
        rounds: of pricing, the first time and each time after.

    Returns:
        The patterns chosen, a bound on the block's value, and the prices that prove it.
    """
    chosen: dict[int, Pattern] = {}
    left, known, first, proof = block.copies.copy(), block.known, np.inf, prices
    limits = Limits(rounds[0])
    while open_clusters := tuple(c for c in block.clusters if c not in chosen):
        master = _master(pricer.packing, Block(open_clusters, left, {}, known))
        end = _generate(pricer, master, prices, limits, -1)
        prices = end.prices
        if np.isinf(first):
            first, proof, limits = end.bound, prices, Limits(rounds[1])
        settled = _settle(master, end, left, max(1, len(open_clusters) // 10))
        if not settled:
            break
        chosen |= settled
        known = tuple(
            one
            for one in master.patterns
            if master.cluster(one) not in chosen and (left[list(one.workloads)] > 0).all()
        )
    return chosen, first, proof


@dataclass(frozen=True)
class _End:
    """Where pricing ended: the bound, the prices that prove it, and the relaxation's value and shares of patterns."""

    bound: float
    prices: Reals
    value: float
    taken: Reals


def _settle(master: Master, end: _End, left: Ints, most: int) -> dict[int, Pattern]:
    """The patterns of the relaxation that are clearest, and at least one; takes their copies from `left`."""
    found: dict[int, Pattern] = {}
    for n in np.argsort(-end.taken, kind="stable").tolist():
        share = end.taken[n]
        if share <= 1e-6 or (found and share < NEARLY) or (len(found) >= most and share < WHOLE):
            break
        pattern = master.patterns[n]
        if master.cluster(pattern) not in found and all(left[w] > 0 for w in pattern.workloads):
            found[master.cluster(pattern)] = pattern
            left[list(pattern.workloads)] -= 1
    return found


def _master(packing: Packing, block: Block) -> Master:
    """The master problem with the patterns that are known."""
    master = Master(packing, block.clusters, block.copies)
    master.add((*block.current.values(), *block.known))
    return master


def _generate(pricer: Pricer, master: Master, prices: Reals, limits: Limits, held: int) -> _End:
    """Add patterns until nothing is to be gained by more."""
    free = master.copies > 0
    menus = [pricer.menus(c, free) for c in master.clusters]
    value, dual, taken = master.relax() if master.patterns else (0.0, prices, np.empty(0))
    centre, weight, bound = prices, limits.smoothing, np.inf
    for _ in range(limits.rounds):
        point = weight * centre + (1 - weight) * dual
        asked = pricer.parts(point)
        found = [pricer.best(menu, asked) for menu in menus]
        here = (int(asked[free] @ master.copies[free]) + sum(p.profit for p in found if p)) / pricer.scale
        if here < bound:
            bound, centre = here, point
        if np.floor(bound + 1e-6) <= held:
            break
        fresh = master.add(Pattern(p.g, tuple(pricer.fitting(p))) for p in found if p)
        value, dual, taken = master.relax()
        if bound - value < CLOSED:
            break
        if not fresh:
            if weight < 0.05:
                break
            weight *= 0.4
    return _End(bound, centre, value, taken)


def _choose(master: Master, block: Block, held: int, end: _End, limits: Limits) -> Result:
    """The best choice among those patterns that can be in a better one."""
    least = end.value - held
    kept = [p for p, loss in zip(master.patterns, master.losses().tolist(), strict=True) if loss >= -least - 1e-6]
    narrow = Master(master.packing, master.clusters, master.copies)
    narrow.add(kept)
    start = [p for p in block.current.values() if p in set(kept)]
    chosen = narrow.whole(start=start, nodes=limits.nodes, gap=1e-5)
    if chosen is None:
        return Result(None, 0, end.bound)
    gain = sum(map(narrow.value, chosen[0])) - held
    if gain <= 0 or not narrow.keeps_rows(chosen[0]):
        return Result(None, 0, end.bound)
    return Result({narrow.cluster(p): p for p in chosen[0]}, gain, end.bound)
