"""Exact solving by patterns: Dantzig-Wolfe column generation, then a proof over all patterns that an optimum may use.

For any prices p >= 0 of the workloads, no plan is worth more than

    L(p) = sum_w copies[w] * p[w] + sum_c max(0, max over patterns of c of (value - prices of its workloads))

which is computed in whole parts of a unit, so it is a valid bound to the last digit. Column generation lowers it to
the value of the master's linear programme. A plan of value V uses only patterns whose loss against their cluster's
best is at most L - V: these are listed, and a whole master over them proves the optimum and decides ties by names.

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
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.solution import Solution, StageResult, Status
from gitops_ds.solver.dive import dive
from gitops_ds.solver.master import Master, Pattern, master_of
from gitops_ds.solver.merged import Merged, merged

Reals = npt.NDArray[np.float64]
NEVER = -(2**60)
PARTS_TOTAL = 2**52
MOST_ROUNDS = 400
MOST_LISTED = 20_000
SMOOTHING = 0.3
"""How much of the best prices so far is in the prices of the next round."""


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
class PatternSearch:
    """One problem as patterns: the packing, its tables, and the whole parts that a unit of value is counted in."""

    found: Merged
    tables: Tables
    scale: int
    ends: float

    @property
    def packing(self) -> Packing:
        """The problem as a packing."""
        return self.found.packing

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
        smoothing = SMOOTHING
        for _ in range(MOST_ROUNDS):
            asked = np.ceil((smoothing * center + (1 - smoothing) * prices) * scale).astype(np.int64)
            profits, several = self.tables.best(value - asked[:, None])
            profits = profits - packing.fixed * scale
            parts = int(packing.copies @ asked) + int(_best_of_clusters(packing, profits).sum())
            if bound is None or parts < bound.parts:
                bound, center = Bound(asked, profits, parts), asked / scale
            new = master.add([Pattern(g, tuple(ws)) for g, ws in enumerate(several) if ws])
            reached, prices, _ = master.relax()
            if bound.parts // scale <= reached + 1e-6 or self.left < 0:
                break
            if not new:
                if not smoothing:
                    break
                smoothing = 0.3 * smoothing if smoothing > 0.05 else 0.0
        assert bound is not None
        return master, bound

    def attempt(self) -> Attempt:
        """A bound, and a plan close to it."""
        master, bound = self.generate()
        return Attempt(bound, tuple(dive(self.packing, self.tables, self.scale, master)))

    def finished(self, attempt: Attempt) -> Solution | None:
        """The proven optimum with its ties decided; None where that is out of reach."""
        best = self.proved(attempt.bound, attempt.start)
        best = best and self.tied(attempt.bound, best)
        return None if best is None else _solution(self.found, best)

    def proved(self, bound: Bound, start: Sequence[Pattern]) -> list[Pattern] | None:
        """The optimum: `start` where it meets the bound, else the best of all patterns that a better plan may use."""
        value = worth_of(self.packing, start)
        if bound.parts // self.scale <= value:
            return list(start)
        listed = self.listed(bound, value + 1)
        if listed is None:
            return None
        master = master_of(self.packing)
        master.add([*start, *listed])
        chosen = master.whole(self.left, start)
        return chosen[0] if chosen and chosen[1] else None

    def tied(self, bound: Bound, best: Sequence[Pattern]) -> list[Pattern] | None:
        """Among all plans as good as `best`, the one that the rule for ties names; None where that is out of reach."""
        packing, columns, ties = self.packing, self.found.columns, self.found.ties
        value = worth_of(packing, best)
        listed = self.listed(bound, value)
        if listed is None:
            return None
        weight = np.zeros(packing.value.shape, dtype=np.int64)
        weight[columns.z_workload, columns.z_configuration] = ties.coefficient[columns.first_z : columns.first_t]
        master = master_of(packing)
        master.add([*best, *listed])
        weights = [int(weight[list(p.workloads), p.configuration].sum()) for p in master.patterns]
        chosen = master.whole_by(weights, value, self.left, best)
        if chosen is None or not chosen[1] or worth_of(packing, chosen[0]) < value:
            return None
        return chosen[0]

    def listed(self, bound: Bound, least: int) -> list[Pattern] | None:
        """Every pattern that a plan worth `least` may use; None where there are too many to list."""
        packing, tables = self.packing, self.tables
        slack = bound.parts - least * self.scale
        best = _best_of_clusters(packing, bound.profits)
        found: list[Pattern] = []
        for g in range(packing.configurations):
            needed = int(best[packing.cluster_of[g]]) - slack
            if int(bound.profits[g]) < needed:
                continue
            profit = packing.value[:, g] * self.scale - bound.prices
            use = np.nonzero(packing.allowed[:, g] & (profit >= -slack))[0]
            least_profit = needed + int(packing.fixed[g]) * self.scale
            for chosen in patterns_within(profit[use], tables.need[use], tables.room[g], least_profit):
                if chosen:
                    found.append(Pattern(g, tuple(use[list(chosen)].tolist())))
                if len(found) > MOST_LISTED:
                    return None
        return found


def search_of(problem: Problem) -> PatternSearch | None:
    """The search for `problem`; None where it is no packing, or one whose tables would be too large."""
    found = merged(problem)
    tables = tables_of(found.packing) if found else None
    if found is None or tables is None:
        return None
    return PatternSearch(found, tables, scale_of(found.packing), time.monotonic() + problem.time_limit)


def solve_by_patterns(problem: Problem) -> Solution | None:
    """The proven optimum with its ties decided; None where this way does not lead there within the time limit."""
    search = search_of(problem)
    return search.finished(search.attempt()) if search else None


def pairs_of(patterns: Sequence[Pattern]) -> tuple[Pair, ...]:
    """The pairs of these patterns, sorted."""
    return tuple(sorted(Pair(w, g) for g, several in patterns for w in several))


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


def worth_of(packing: Packing, patterns: Sequence[Pattern]) -> int:
    """What a plan of these patterns is worth."""
    return sum(int(packing.value[list(ws), g].sum()) - int(packing.fixed[g]) for g, ws in patterns)


def _solution(found: Merged, patterns: Sequence[Pattern]) -> Solution:
    pairs = pairs_of(patterns)
    every = (*(w.stage for w in found.main), found.ties)
    values = ((stage.name, found.value(stage, pairs)) for stage in every)
    return Solution(pairs, Status.OPTIMAL, tuple(StageResult(name, value, float(value)) for name, value in values))
