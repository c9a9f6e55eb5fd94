"""A few clusters at once: column generation over their patterns, then the best choice among the patterns found.

The master problem chooses patterns such that a cluster has at most one and a workload no more than its copies. Its
duals price the workloads, `pricing` answers with better patterns, until the bound closes or says that nothing is to be
gained. Limits are counts, so the same block always ends in the same way. Owns the use of HiGHS.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import highspy
import numpy as np

from gitops_ds.packing.model import Ints, Packing, Reals, worth
from gitops_ds.packing.pricing import Pattern, Pricer
from gitops_ds.solver.highs import assert_ok, quiet

Choice = tuple[int, tuple[int, ...]]
"""A configuration and its workloads, ascending."""

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
    current: dict[int, Choice]
    known: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class Limits:
    """How far a block is solved: rounds of pricing, nodes of the choice, and how much old prices weigh in new ones."""

    rounds: int = 25
    nodes: int = 100
    smoothing: float = 0.5


@dataclass(frozen=True)
class Result:
    """The better choice (None: none was found), its gain, a bound; hopeless: nothing was to be gained."""

    chosen: dict[int, Choice] | None
    gain: int
    bound: float
    hopeless: bool = False


@dataclass
class _Master:
    packing: Packing
    block: Block
    solver: highspy.Highs
    row_of: dict[int, int] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    seen: set[Choice] = field(default_factory=set)
    centre: Reals = field(default_factory=lambda: np.empty(0))

    def cluster(self, choice: Choice) -> int:
        """The cluster of a pattern."""
        return int(self.packing.cluster_of[choice[0]])

    def add(self, choice: Choice) -> bool:
        """Whether the pattern was new, and is now a column."""
        g, workloads = choice
        if choice in self.seen or not workloads:
            return False
        for w in workloads:
            if w not in self.row_of:
                self.row_of[w] = len(self.block.clusters) + len(self.row_of)
                _row(self.solver, float(self.block.copies[w]))
        value = worth(self.packing, g, workloads)
        _column(self.solver, float(value), self.rows(choice))
        self.seen.add(choice)
        self.choices.append(choice)
        self.values.append(value)
        return True

    def rows(self, choice: Choice) -> list[int]:
        """The rows of a pattern: its cluster's and its workloads'."""
        cluster = self.block.clusters.index(self.cluster(choice))
        return [cluster, *(self.row_of[w] for w in choice[1])]

    def solve(self) -> tuple[float, Reals]:
        """The value of the relaxation, and the prices of all workloads."""
        self.solver.run()
        prices = np.zeros(self.packing.workloads)
        if self.row_of:
            dual = np.array(self.solver.getSolution().row_dual)
            prices[list(self.row_of)] = np.maximum(dual[len(self.block.clusters) :], 0.0)
        return float(self.solver.getInfo().objective_function_value), prices


def solve_block(pricer: Pricer, block: Block, prices: Reals, limits: Limits) -> Result:
    """A better choice of patterns for the block's clusters, if one is found.

    Args:
        pricer: finds patterns.
        block: the clusters, and what they may run.
        prices: W, prices of the workloads to start from.
        limits: when to stop.
    """
    master = _master(pricer.packing, block)
    held = sum(worth(pricer.packing, g, workloads) for g, workloads in block.current.values())
    bound, value = _generate(pricer, master, prices, limits, held)
    if np.floor(bound + 1e-6) <= held:
        return Result(None, 0, bound, hopeless=True)
    return _choose(master, value, held, bound, limits)


def plunge(
    pricer: Pricer, block: Block, prices: Reals, rounds: Sequence[int]
) -> tuple[dict[int, Choice], float, Reals]:
    """A plan for the block by column generation, the clearest patterns settled first, then the rest priced again.

    Args:
        pricer: finds patterns.
        block: the clusters, and what they may run; nothing is kept of what they run now.
        prices: W, prices of the workloads to start from.
        rounds: of pricing, the first time and each time after.

    Returns:
        The patterns chosen, a bound on the block's value, and the prices that prove it.
    """
    chosen: dict[int, Choice] = {}
    left, known, first, proof = block.copies.copy(), block.known, np.inf, prices
    limits = Limits(rounds[0])
    while open_clusters := tuple(c for c in block.clusters if c not in chosen):
        master = _master(pricer.packing, Block(open_clusters, left, {}, known))
        bound, _ = _generate(pricer, master, prices, limits, -1)
        prices = master.centre
        if np.isinf(first):
            first, proof, limits = bound, prices, Limits(rounds[1])
        settled = _settle(master, left, max(1, len(open_clusters) // 10))
        if not settled:
            break
        chosen |= settled
        known = tuple(
            one for one in master.choices if master.cluster(one) not in chosen and (left[list(one[1])] > 0).all()
        )
    return chosen, first, proof


def _settle(master: _Master, left: Ints, most: int) -> dict[int, Choice]:
    """The patterns of the relaxation that are clearest, and at least one; takes their copies from `left`."""
    part = np.array(master.solver.getSolution().col_value)
    found: dict[int, Choice] = {}
    for n in np.argsort(-part, kind="stable").tolist():
        if part[n] <= 1e-6 or (found and part[n] < 0.8) or (len(found) >= most and part[n] < 0.999):
            break
        choice = master.choices[n]
        if master.cluster(choice) not in found and all(left[w] > 0 for w in choice[1]):
            found[master.cluster(choice)] = choice
            left[list(choice[1])] -= 1
    return found


def _master(packing: Packing, block: Block) -> _Master:
    """The master problem with the patterns that are known."""
    master = _Master(packing, block, _maximiser())
    for _ in block.clusters:
        _row(master.solver, 1.0)
    for choice in (*block.current.values(), *block.known):
        master.add(choice)
    return master


def _generate(pricer: Pricer, master: _Master, prices: Reals, limits: Limits, held: int) -> tuple[float, float]:
    """Add patterns until nothing is to be gained by more: (bound, value of the relaxation)."""
    block = master.block
    free = block.copies > 0
    menus = [pricer.menus(c, free) for c in block.clusters]
    value, dual = master.solve() if master.choices else (0.0, prices)
    centre, weight, bound = prices, limits.smoothing, np.inf
    for _ in range(limits.rounds):
        point = weight * centre + (1 - weight) * dual
        asked = pricer.parts(point)
        found = [pricer.best(menu, asked) for menu in menus]
        here = (int(asked[free] @ block.copies[free]) + sum(p.profit for p in found if p)) / pricer.scale
        if here < bound:
            bound, centre = here, point
        if np.floor(bound + 1e-6) <= held:
            break
        fresh = [master.add(_choice(pricer, p)) for p in found if p]
        value, dual = master.solve()
        if bound - value < CLOSED:
            break
        if not any(fresh):
            if weight < 0.05:
                break
            weight *= 0.4
    master.centre = centre
    return bound, value


def _choose(master: _Master, value: float, held: int, bound: float, limits: Limits) -> Result:
    """The best choice among those patterns that can be in a better one."""
    block, dual = master.block, np.array(master.solver.getSolution().col_dual)
    least = value - held
    kept = [n for n in range(len(master.choices)) if dual[n] >= -least - 1e-6]
    solver = _maximiser()
    for _ in block.clusters:
        _row(solver, 1.0)
    for w in master.row_of:
        _row(solver, float(block.copies[w]))
    for n in kept:
        _column(solver, float(master.values[n]), master.rows(master.choices[n]))
    current = set(block.current.values())
    start = highspy.HighsSolution()
    start.col_value = [float(master.choices[n] in current) for n in kept]
    every = np.arange(len(kept), dtype=np.int32)
    solver.changeColsIntegrality(len(kept), every, np.array([highspy.HighsVarType.kInteger] * len(kept)))
    for name, setting in {"mip_rel_gap": 1e-5, "mip_abs_gap": 0.5, "mip_max_nodes": limits.nodes}.items():
        solver.setOptionValue(name, setting)
    solver.setSolution(start)
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Result(None, 0, bound)
    chosen = np.nonzero(np.array(solver.getSolution().col_value) > 0.5)[0]
    taken = [kept[n] for n in chosen.tolist()]
    gain = sum(master.values[n] for n in taken) - held
    if gain <= 0 or not _allowed(master, taken):
        return Result(None, 0, bound)
    return Result({master.cluster(master.choices[n]): master.choices[n] for n in taken}, gain, bound)


def _allowed(master: _Master, taken: Sequence[int]) -> bool:
    """Whether these columns keep the rows, counted in whole numbers."""
    used = [row for n in taken for row in master.rows(master.choices[n])]
    most = [1] * len(master.block.clusters) + [int(master.block.copies[w]) for w in master.row_of]
    return bool((np.bincount(used, minlength=len(most)) <= most).all())


def _choice(pricer: Pricer, pattern: Pattern) -> Choice:
    return pattern.g, tuple(pricer.fitting(pattern))


def _maximiser() -> highspy.Highs:
    """A solver without a time limit: blocks end by counts."""
    solver = quiet(seconds=float("inf"))
    assert_ok(solver.changeObjectiveSense(highspy.ObjSense.kMaximize), "sense")
    return solver


def _row(solver: highspy.Highs, upper: float) -> None:
    assert_ok(solver.addRow(-highspy.kHighsInf, upper, 0, np.empty(0, dtype=np.int32), np.empty(0)), "row")


def _column(solver: highspy.Highs, value: float, rows: Iterable[int]) -> None:
    index = np.array(list(rows), dtype=np.int32)
    assert_ok(solver.addCol(value, 0.0, highspy.kHighsInf, len(index), index, np.ones(len(index))), "column")
