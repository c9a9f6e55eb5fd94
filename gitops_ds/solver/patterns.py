"""Exact solving by patterns: Dantzig-Wolfe column generation, then a proof over all patterns that an optimum may use.

For any prices p >= 0 of the workloads, no plan is worth more than

    L(p) = sum_w copies[w] * p[w] + sum_c max(0, max over patterns of c of (value - prices of its workloads))

which is computed in whole parts of a unit, so it is a valid bound to the last digit. Column generation lowers it to
the value of the master's linear programme. A plan of value V uses only patterns whose loss against their cluster's
best is at most L - V: these are listed, and a whole choice among them proves the optimum. Those of them that its
tighter bound leaves decide ties by names.

Workloads and clusters are classes here: a pattern says how many of each class of workloads it has, and a cluster takes
as many patterns as there are of it.

Owns this way of solving. Owns no model: `merged.py` says which problems it can take.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gitops_ds.packing.listing import patterns_within
from gitops_ds.packing.model import Ints, Packing
from gitops_ds.packing.table import Tables, tables_of
from gitops_ds.problem.model import Problem
from gitops_ds.solution import Solution, StageResult, Status
from gitops_ds.solver.branch import Proof, choice_of
from gitops_ds.solver.dive import dive
from gitops_ds.solver.master import Master, Pattern, master_of, most_of, values_of
from gitops_ds.solver.merged import Merged, merged

Reals = npt.NDArray[np.float64]
NEVER = -(2**60)
PARTS_TOTAL = 2**52
MOST_ROUNDS = 400
MOST_LISTED = {False: 5_000, True: 20_000}
"""Patterns beyond which a proof is given up, by whether it is to be thorough."""
SMOOTHING = 0.3
"""How much of the best prices so far is in the prices of the next round."""
LATE = 0.02
"""A gap, as a part of the value, from which on the master's own prices are the better guide."""
GUESSES = (0.002, 0.004, 0.008, 0.016)
"""By what part the optimum is guessed to be below the bound, one guess after the other."""
NODES = {False: 200, True: 400}
"""Branches that a proof or a choice among ties may take, likewise."""


@dataclass(frozen=True)
class Bound:
    """A proven bound: prices in whole parts, the best profit of each configuration there, and the bound in parts."""

    prices: Ints
    profits: Ints
    parts: int


@dataclass(frozen=True)
class Attempt:
    """Where column generation and the dive after it ended: a proven bound and a plan."""

    bound: Bound
    start: tuple[Pattern, ...]


@dataclass(frozen=True)
class Optimum:
    """A proven optimum, all patterns that a plan as good may use, and what proves that.

    Without a plan, it is proved that there is none that is worth what was asked for.
    """

    plan: tuple[Pattern, ...] | None
    patterns: tuple[Pattern, ...]
    proof: Proof


@dataclass(frozen=True)
class PatternSearch:
    """One problem as patterns: the packing, its tables, and the whole parts that a unit of value is counted in.

    A `thorough` search goes farther, and leaves a choice with too many branches to HiGHS, which nobody can interrupt.
    """

    found: Merged
    tables: Tables
    scale: int
    ends: float
    thorough: bool

    @property
    def packing(self) -> Packing:
        """The problem as a packing of classes."""
        return self.found.classed

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self.ends - time.monotonic()

    def generate(self) -> tuple[Master, Bound]:
        """Patterns until the master's linear programme meets the bound, or until the limit."""
        packing, scale = self.packing, self.scale
        master = master_of(packing)
        value = np.where(packing.allowed, packing.value * scale, NEVER)
        prices = center = _first_prices(packing)
        bound: Bound | None = None
        smoothing, rents = SMOOTHING, np.zeros(packing.clusters)
        for _ in range(MOST_ROUNDS):
            asked = np.ceil((smoothing * center + (1 - smoothing) * prices) * scale).astype(np.int64)
            filled = self.tables.best(value - asked[:, None])
            profits = filled.values - packing.fixed * scale
            parts = int(packing.copies @ asked) + _rent(packing, profits)
            if bound is None or parts < bound.parts:
                bound, center = Bound(asked, profits, parts), asked / scale
            wanted = np.nonzero(profits >= np.floor(rents * scale)[packing.cluster_of])[0].tolist()
            new = master.add(Pattern(*one) for one in filled.patterns(wanted))
            reached, prices, _ = master.relax()
            rents = master.rents()
            if bound.parts // scale <= reached + 1e-6 or self.left < 0 or not (new or smoothing):
                break
            if bound.parts / scale - reached < LATE * reached:
                smoothing = 0.0
            elif not new:
                smoothing = 0.3 * smoothing if smoothing > 0.05 else 0.0
        assert bound is not None
        return master, bound

    def attempt(self) -> Attempt:
        """A bound, and a plan close to it."""
        master, bound = self.generate()
        return Attempt(bound, self.start(master))

    def start(self, master: Master) -> tuple[Pattern, ...]:
        """The plan of the master's linear programme where that is whole, else one that it leads to."""
        plan = master.taken()
        return tuple(dive(self.packing, self.tables, self.scale, master) if plan is None else plan)

    def solve(self) -> Solution | None:
        """The proven optimum with its ties decided; None where that is out of reach."""
        master, bound = self.generate()
        plan = master.taken()
        if plan is None or bound.parts // self.scale > worth_of(self.packing, plan):
            for guess in GUESSES:
                least = int(bound.parts // self.scale * (1 - guess))
                best = self.proved(bound, least) if self.left > 0 else None
                if best is None:
                    break
                if best.plan is not None:
                    return self.tied(best, best.plan)
        return self.finished(Attempt(bound, self.start(master)))

    def finished(self, attempt: Attempt) -> Solution | None:
        """The proven optimum with its ties decided; None where that is out of reach."""
        best = self.proved(attempt.bound, worth_of(self.packing, attempt.start), attempt.start)
        return self.tied(best, best.plan) if best is not None and best.plan is not None else None

    def proved(self, bound: Bound, least: int, start: tuple[Pattern, ...] | None = None) -> Optimum | None:
        """The optimum, if it is worth `least` or more (without plan if not); None where that is out of reach.

        Args:
            bound: what column generation proved.
            least: what is asked for; with a start, what that is worth.
            start: a plan.
        """
        listed = self.listed(bound, least)
        if listed is None:
            return None
        proof = Proof(self.scale, bound.prices)
        if not listed:
            return Optimum(() if least <= 0 else None, (), proof)
        if start is not None and bound.parts // self.scale <= least:
            return Optimum(start, tuple(listed), proof)
        values, best = values_of(self.packing, listed), least - (start is None)
        choice = choice_of(self.packing, listed, values, best, nodes=NODES[self.thorough], ends=self.ends)
        if choice is None:
            plan = None if start is None else self._by_solver(start, listed)
            return None if plan is None else Optimum(plan, tuple(listed), proof)
        outcome = choice.search()
        plan = start if outcome.chosen is None else tuple(outcome.chosen)
        if not outcome.proved:
            plan = (
                self._by_solver(plan, choice.within(choice.best + 1))
                if plan is not None and start is not None
                else None
            )
            if plan is None:
                return None
        patterns = [] if plan is None else choice.within(worth_of(self.packing, plan))
        return Optimum(plan, tuple(patterns), choice.proof)

    def _by_solver(self, start: Sequence[Pattern], patterns: Sequence[Pattern]) -> tuple[Pattern, ...] | None:
        """The best choice among patterns by the solver's own integer programming, where that is wanted."""
        if not self.thorough:
            return None
        master = master_of(self.packing)
        master.add([*start, *patterns])
        chosen = master.whole(self.left, start)
        return tuple(chosen[0]) if chosen and chosen[1] else None

    def tied(self, best: Optimum, plan: Sequence[Pattern]) -> Solution | None:
        """Among all plans as good as `plan`, the one that the rule for ties names; None where that is out of reach."""
        packing, patterns = self.packing, best.patterns
        if not patterns:
            return _solution(self.found, ())
        weight = self.found.tie_weight
        value, known = worth_of(packing, plan), int(values_of(packing, plan, weight).sum())
        weights = values_of(packing, patterns, weight)
        choice = choice_of(packing, patterns, weights, known, nodes=NODES[self.thorough], ends=self.ends)
        if choice is not None:
            choice.least(best.proof, value)
            outcome = choice.search()
            plan = plan if outcome.chosen is None else outcome.chosen
            if outcome.proved:
                return _solution(self.found, plan)
        if not self.thorough:
            return None
        master = master_of(packing)
        master.add([*plan, *patterns])
        chosen = master.whole_by(values_of(packing, master.patterns, weight), value, self.left, plan)
        if chosen is None or not chosen[1] or worth_of(packing, chosen[0]) < value:
            return None
        return _solution(self.found, chosen[0])

    def listed(self, bound: Bound, least: int) -> list[Pattern] | None:
        """Every pattern that a plan worth `least` may use; None where there are too many to list."""
        packing, tables, scale = self.packing, self.tables, self.scale
        slack = bound.parts - least * scale
        needed = _best_of_clusters(packing, bound.profits)[packing.cluster_of] - slack
        wanted = np.nonzero(bound.profits >= needed)[0]
        profit = np.where(packing.allowed, packing.value * scale, NEVER) - bound.prices[:, None]
        found: list[Pattern] = []
        for some in tables.chunks(wanted):
            filled = tables.kept(profit[:, some], some)
            for i, g in enumerate(some.tolist()):
                for chosen in patterns_within(filled, i, int(needed[g]) + int(packing.fixed[g]) * scale):
                    if chosen:
                        found.append(Pattern(g, chosen))
                    if len(found) > MOST_LISTED[self.thorough]:
                        return None
        return found


def search_of(problem: Problem, *, thorough: bool = False) -> PatternSearch | None:
    """The search for `problem`; None where it is no packing, or one whose tables would be too large."""
    found = merged(problem)
    tables = tables_of(found.classed) if found else None
    if found is None or tables is None:
        return None
    return PatternSearch(found, tables, scale_of(found.classed), time.monotonic() + problem.time_limit, thorough)


def solve_by_patterns(problem: Problem) -> Solution | None:
    """The proven optimum with its ties decided; None where this way does not lead there within the time limit."""
    search = search_of(problem)
    return search.solve() if search else None


def scale_of(packing: Packing) -> int:
    """Parts of a unit: a power of two, as fine as whole numbers leave room for."""
    top = np.where(packing.allowed, packing.value, 0).max(axis=1, initial=1)
    total = max(int(np.maximum(top, 0) @ packing.copies), 1)
    return 1 << max(0, min(16, (PARTS_TOTAL // total).bit_length() - 1))


def _first_prices(packing: Packing) -> Reals:
    """A guess at what a place is worth to each workload: a little less than one of its better values."""
    rank = max(1, packing.configurations // 25)
    value = np.where(packing.allowed, packing.value, 0)
    found: Reals = 0.9 * np.maximum(np.sort(value, axis=1)[:, -rank], 0).astype(np.float64)
    return found


def _best_of_clusters(packing: Packing, profits: Ints) -> Ints:
    return np.maximum(np.maximum.reduceat(profits, packing.first), 0)


def _rent(packing: Packing, profits: Ints) -> int:
    """What all clusters together earn at most."""
    return int(_best_of_clusters(packing, profits) @ most_of(packing, range(packing.clusters)))


def worth_of(packing: Packing, patterns: Sequence[Pattern]) -> int:
    """What a plan of these patterns is worth."""
    return int(values_of(packing, patterns).sum())


def _solution(found: Merged, patterns: Sequence[Pattern]) -> Solution:
    pairs = found.pairs(patterns)
    every = (*(w.stage for w in found.main), found.ties)
    values = ((stage.name, found.value(stage, pairs)) for stage in every)
    return Solution(pairs, Status.OPTIMAL, tuple(StageResult(name, value, float(value)) for name, value in values))
