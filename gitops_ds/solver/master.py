"""The master problem over patterns: each cluster takes at most one, each workload is in at most `copies` of them.

    max sum_p value[p] x[p]    sum_{p has w} x[p] <= copies[w]    sum_{p of c} x[p] <= 1    x >= 0 (or whole)

Owns the columns and their solving, as a linear programme that grows and as a whole one. Owns no finding of patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import highspy
import numpy as np
import numpy.typing as npt

from gitops_ds.packing.model import Packing
from gitops_ds.solver.highs import assert_ok, quiet

Reals = npt.NDArray[np.float64]


class Pattern(NamedTuple):
    """A configuration and the workloads under it, ascending."""

    configuration: int
    workloads: tuple[int, ...]


@dataclass
class Master:
    """The master of one packing. `patterns` are its columns, in the order in which they came."""

    packing: Packing
    patterns: list[Pattern] = field(default_factory=list)
    _known: dict[Pattern, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Lay down the rows: workloads, then clusters."""
        self._solver = quiet(seconds=float("inf"))
        packing = self.packing
        upper = np.concatenate([packing.copies, np.ones(packing.clusters)]).astype(np.float64)
        lower = np.full(len(upper), -np.inf)
        none = np.empty(0, dtype=np.int32)
        start = np.zeros(len(upper), dtype=np.int32)
        assert_ok(self._solver.addRows(len(upper), lower, upper, 0, start, none, np.empty(0)), "rows")
        assert_ok(self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize), "sense")

    def value(self, pattern: Pattern) -> int:
        """What a pattern is worth: its workloads' values less the fixed cost of its configuration."""
        g, several = pattern
        return int(self.packing.value[list(several), g].sum()) - int(self.packing.fixed[g])

    def add(self, patterns: Sequence[Pattern]) -> int:
        """Add those of the patterns that are new; how many."""
        fresh = [p for p in dict.fromkeys(patterns) if p.workloads and p not in self._known]
        if not fresh:
            return 0
        rows = self.packing.workloads
        index = [i for p in fresh for i in (*p.workloads, rows + int(self.packing.cluster_of[p.configuration]))]
        sizes = [len(p.workloads) + 1 for p in fresh]
        start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        cost = np.array([self.value(p) for p in fresh], dtype=np.float64)
        count = len(fresh)
        status = self._solver.addCols(
            count,
            cost,
            np.zeros(count),
            np.full(count, np.inf),
            len(index),
            start,
            np.array(index, dtype=np.int32),
            np.ones(len(index)),
        )
        assert_ok(status, "columns")
        for p in fresh:
            self._known[p] = len(self.patterns)
            self.patterns.append(p)
        return count

    def relax(self) -> tuple[float, Reals, Reals]:
        """The linear programme: its value, the prices of the workloads, and how much of each pattern it takes."""
        self._solver.run()
        solution = self._solver.getSolution()
        prices = np.maximum(np.array(solution.row_dual)[: self.packing.workloads], 0.0)
        return float(self._solver.getInfo().objective_function_value), prices, np.array(solution.col_value)

    def fix(self, patterns: Sequence[Pattern]) -> None:
        """Take these patterns for certain."""
        self._bounds(patterns, 1.0, 1.0)

    def release(self, patterns: Sequence[Pattern]) -> None:
        """Leave these patterns open again."""
        self._bounds(patterns, 0.0, np.inf)

    def _bounds(self, patterns: Sequence[Pattern], lower: float, upper: float) -> None:
        index = np.array(sorted(self._known[p] for p in patterns), dtype=np.int32)
        many = len(index)
        status = self._solver.changeColsBounds(many, index, np.full(many, lower), np.full(many, upper))
        assert_ok(status, "bounds")

    def whole(self, seconds: float, start: Sequence[Pattern] = ()) -> tuple[list[Pattern], bool] | None:
        """The best whole choice among the patterns, and whether that is proved; None where the time did not do."""
        objective = np.array([self.value(p) for p in self.patterns], dtype=np.float64)
        return self._choose(objective, seconds, start)

    def whole_by(
        self, weights: Sequence[int], least: int, seconds: float, start: Sequence[Pattern]
    ) -> tuple[list[Pattern], bool] | None:
        """The best whole choice by other weights among those that are worth `least` or more."""
        values = np.array([self.value(p) for p in self.patterns], dtype=np.float64)
        used = np.nonzero(values)[0].astype(np.int32)
        assert_ok(self._solver.addRow(least - 0.5, np.inf, len(used), used, values[used]), "floor")
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
