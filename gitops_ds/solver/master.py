"""The master problem over patterns: each cluster takes at most one, each workload is in at most `copies` of them.

    max sum_p value[p] x[p]    sum_{p has w} x[p] <= copies[w]    sum_{p of c} x[p] <= 1    x >= 0 (or whole)

Owns the columns and their solving, as a linear programme that grows and as a whole one. Owns no finding of patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import highspy
import numpy as np
import numpy.typing as npt

from gitops_ds.packing.model import Ints, Packing
from gitops_ds.solver.highs import assert_ok, quiet

Reals = npt.NDArray[np.float64]


class Pattern(NamedTuple):
    """A configuration and the workloads under it, ascending."""

    configuration: int
    workloads: tuple[int, ...]


@dataclass
class Master:
    """The master over some clusters of a packing, with the copies of each workload that are to be had there.

    `patterns` are its columns, in the order in which they came. A workload has a row as soon as a pattern names it.
    """

    packing: Packing
    clusters: tuple[int, ...]
    copies: Ints
    patterns: list[Pattern] = field(default_factory=list)
    _known: dict[Pattern, int] = field(default_factory=dict)
    _row: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Lay down the rows of the clusters."""
        self._solver = quiet(seconds=inf)
        self._place = {c: i for i, c in enumerate(self.clusters)}
        assert_ok(self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize), "sense")
        self._add_rows(np.ones(len(self.clusters)))

    def cluster(self, pattern: Pattern) -> int:
        """The cluster of a pattern."""
        return int(self.packing.cluster_of[pattern.configuration])

    def value(self, pattern: Pattern) -> int:
        """What a pattern is worth: its workloads' values less the fixed cost of its configuration."""
        g, several = pattern
        return int(self.packing.value[list(several), g].sum(dtype=np.int64)) - int(self.packing.fixed[g])

    def add(self, patterns: Iterable[Pattern]) -> int:
        """Add those of the patterns that are new and not empty; how many."""
        fresh = [p for p in dict.fromkeys(patterns) if p.workloads and p not in self._known]
        if not fresh:
            return 0
        new = sorted({w for p in fresh for w in p.workloads} - self._row.keys())
        self._row |= {w: len(self.clusters) + len(self._row) + i for i, w in enumerate(new)}
        self._add_rows(self.copies[new].astype(np.float64))
        index = [i for p in fresh for i in self._rows(p)]
        start = np.cumsum([0, *(len(p.workloads) + 1 for p in fresh[:-1])]).astype(np.int32)
        cost = np.array([self.value(p) for p in fresh], dtype=np.float64)
        count = len(fresh)
        status = self._solver.addCols(
            count,
            cost,
            np.zeros(count),
            np.full(count, inf),
            len(index),
            start,
            np.array(index, dtype=np.int32),
            np.ones(len(index)),
        )
        assert_ok(status, "columns")
        self._known |= {p: len(self.patterns) + i for i, p in enumerate(fresh)}
        self.patterns += fresh
        return count

    def relax(self) -> tuple[float, Reals, Reals]:
        """The linear programme: its value, the prices of all workloads, and how much of each pattern it takes."""
        self._solver.run()
        solution = self._solver.getSolution()
        prices = np.zeros(self.packing.workloads)
        if self._row:
            dual = np.array(solution.row_dual)[len(self.clusters) :]
            prices[list(self._row)] = np.maximum(dual, 0.0)
        return float(self._solver.getInfo().objective_function_value), prices, np.array(solution.col_value)

    def losses(self) -> Reals:
        """What the linear programme of the last `relax` would lose by taking each pattern whole, as numbers <= 0."""
        return np.array(self._solver.getSolution().col_dual)

    def fix(self, patterns: Sequence[Pattern]) -> None:
        """Take these patterns for certain."""
        self._bounds(patterns, 1.0, 1.0)

    def release(self, patterns: Sequence[Pattern]) -> None:
        """Leave these patterns open again."""
        self._bounds(patterns, 0.0, inf)

    def keeps_rows(self, patterns: Sequence[Pattern]) -> bool:
        """Whether these patterns together keep every row, counted in whole numbers."""
        used = [row for p in patterns for row in self._rows(p)]
        most = [1] * len(self.clusters) + [int(self.copies[w]) for w in self._row]
        return bool((np.bincount(used, minlength=len(most)) <= most).all())

    def whole(
        self, seconds: float = inf, start: Sequence[Pattern] = (), *, nodes: int | None = None, gap: float = 0.0
    ) -> tuple[list[Pattern], bool] | None:
        """The best whole choice among the patterns, and whether that is proved; None where a limit came first."""
        if nodes is not None:
            assert_ok(self._solver.setOptionValue("mip_max_nodes", nodes), "nodes")
        assert_ok(self._solver.setOptionValue("mip_rel_gap", gap), "gap")
        objective = np.array([self.value(p) for p in self.patterns], dtype=np.float64)
        return self._choose(objective, seconds, start)

    def whole_by(
        self, weights: Sequence[int], least: int, seconds: float, start: Sequence[Pattern]
    ) -> tuple[list[Pattern], bool] | None:
        """The best whole choice by other weights among those that are worth `least` or more."""
        values = np.array([self.value(p) for p in self.patterns], dtype=np.float64)
        used = np.nonzero(values)[0].astype(np.int32)
        assert_ok(self._solver.addRow(least - 0.5, inf, len(used), used, values[used]), "floor")
        return self._choose(np.array(weights, dtype=np.float64), seconds, start)

    def _choose(self, objective: Reals, seconds: float, start: Sequence[Pattern]) -> tuple[list[Pattern], bool] | None:
        solver, count = self._solver, len(self.patterns)
        every = np.arange(count, dtype=np.int32)
        assert_ok(solver.changeColsCost(count, every, objective), "objective")
        kinds = np.full(count, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
        assert_ok(solver.changeColsIntegrality(count, every, kinds), "whole columns")
        assert_ok(solver.setOptionValue("time_limit", solver.getRunTime() + max(seconds, 0.1)), "time limit")
        # Some hundred patterns are few: presolve takes longer than it saves.
        assert_ok(solver.setOptionValue("presolve", "off"), "presolve")
        if start:
            known = highspy.HighsSolution()
            taken = np.zeros(count)
            taken[[self._known[p] for p in start]] = 1.0
            known.col_value = taken.tolist()
            assert_ok(solver.setSolution(known), "start")
        solver.run()
        info = solver.getInfo()
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        taken = np.array(solver.getSolution().col_value)
        proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return [self.patterns[i] for i in np.nonzero(taken > 0.5)[0].tolist()], proved

    def _rows(self, pattern: Pattern) -> list[int]:
        return [self._place[self.cluster(pattern)], *(self._row[w] for w in pattern.workloads)]

    def _add_rows(self, upper: Reals) -> None:
        count, none = len(upper), np.empty(0, dtype=np.int32)
        if count:
            start = np.zeros(count, dtype=np.int32)
            status = self._solver.addRows(count, np.full(count, -inf), upper, 0, start, none, np.empty(0))
            assert_ok(status, "rows")

    def _bounds(self, patterns: Sequence[Pattern], lower: float, upper: float) -> None:
        index = np.array(sorted(self._known[p] for p in patterns), dtype=np.int32)
        many = len(index)
        status = self._solver.changeColsBounds(many, index, np.full(many, lower), np.full(many, upper))
        assert_ok(status, "bounds")


def master_of(packing: Packing) -> Master:
    """The master over all clusters and copies of a packing."""
    return Master(packing, tuple(range(packing.clusters)), packing.copies)
