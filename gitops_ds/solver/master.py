"""The master problem over patterns: each cluster takes at most one, each workload is in at most `copies` of them.

    max sum_p value[p] x[p]    sum_p times[p,w] x[p] <= copies[w]    sum_{p of c} x[p] <= alike[c]    x >= 0 (or whole)

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
    """A configuration and the workloads under it, ascending; one that stands for several may be there several times."""

    configuration: int
    workloads: tuple[int, ...]


class Entries(NamedTuple):
    """The entries of columns, one after the other: which column, which workload, and how often it is in the pattern."""

    column: Ints
    workload: Ints
    times: Ints


def entries_of(packing: Packing, patterns: Sequence[Pattern]) -> Entries:
    """The entries of patterns, in their order."""
    lengths = np.array([len(p.workloads) for p in patterns], dtype=np.int64)
    column = np.repeat(np.arange(len(patterns)), lengths)
    workload = np.array([w for p in patterns for w in p.workloads], dtype=np.int64)
    if packing.members is None:
        return Entries(column, workload, np.ones(len(column), dtype=np.int64))
    keys, times = np.unique(column * packing.workloads + workload, return_counts=True)
    return Entries(keys // packing.workloads, keys % packing.workloads, times.astype(np.int64))


def values_of(packing: Packing, patterns: Sequence[Pattern], weight: Ints | None = None) -> Ints:
    """What patterns are worth: their workloads' values less the fixed costs; or the sums of another weight, W x G."""
    column, workload, times = entries_of(packing, patterns)
    g = np.array([p.configuration for p in patterns], dtype=np.int64)
    each = (packing.value if weight is None else weight)[workload, g[column]].astype(np.int64) * times
    found = np.zeros(len(patterns), dtype=np.int64)
    np.add.at(found, column, each)
    return found if weight is not None else found - packing.fixed[g]


def most_of(packing: Packing, clusters: Sequence[int]) -> Ints:
    """How many patterns each of the clusters may take: one, or one for each that it stands for."""
    return np.ones(len(clusters), dtype=np.int64) if packing.alike is None else packing.alike[list(clusters)]


@dataclass
class Master:
    """The master over some clusters of a packing, with the copies of each workload that are to be had there.

    `patterns` are its columns, in the order in which they came. A workload has a row as soon as a pattern names it.
    """

    packing: Packing
    clusters: tuple[int, ...]
    copies: Ints
    patterns: list[Pattern] = field(default_factory=list)
    _values: list[int] = field(default_factory=list)
    _known: dict[Pattern, int] = field(default_factory=dict)
    _named: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Lay down the rows of the clusters."""
        self._solver = quiet(seconds=inf)
        self._row = np.full(self.packing.workloads, -1, dtype=np.int64)
        self._place = np.full(self.packing.clusters, -1, dtype=np.int64)
        self._place[list(self.clusters)] = np.arange(len(self.clusters))
        self._most = most_of(self.packing, self.clusters)
        assert_ok(self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize), "sense")
        self._add_rows(self._most.astype(np.float64))

    def cluster(self, pattern: Pattern) -> int:
        """The cluster of a pattern."""
        return int(self.packing.cluster_of[pattern.configuration])

    def value(self, pattern: Pattern) -> int:
        """What a pattern is worth: its workloads' values less the fixed cost of its configuration."""
        known = self._known.get(pattern)
        return int(values_of(self.packing, [pattern])[0]) if known is None else self._values[known]

    def add(self, patterns: Iterable[Pattern]) -> int:
        """Add those of the patterns that are new and not empty; how many."""
        fresh = [p for p in dict.fromkeys(patterns) if p.workloads and p not in self._known]
        if not fresh:
            return 0
        entries, values = entries_of(self.packing, fresh), values_of(self.packing, fresh)
        self._name(np.unique(entries.workload))
        count, configuration = len(fresh), np.array([p.configuration for p in fresh])
        place = self._place[self.packing.cluster_of[configuration]]
        column = np.concatenate((np.arange(count), entries.column))
        order = np.argsort(column, kind="stable")
        row = np.concatenate((place, self._row[entries.workload]))[order]
        times = np.concatenate((np.ones(count), entries.times))[order]
        start = np.searchsorted(column[order], np.arange(count)).astype(np.int32)
        cost, lower, upper = values.astype(np.float64), np.zeros(count), np.full(count, inf)
        index = row.astype(np.int32)
        status = self._solver.addCols(count, cost, lower, upper, len(index), start, index, times.astype(np.float64))
        assert_ok(status, "columns")
        self._known |= {p: len(self.patterns) + i for i, p in enumerate(fresh)}
        self._values += values.tolist()
        self.patterns += fresh
        return count

    def relax(self) -> tuple[float, Reals, Reals]:
        """The linear programme: its value, the prices of all workloads, and how much of each pattern it takes."""
        self._solver.run()
        solution = self._solver.getSolution()
        prices = np.zeros(self.packing.workloads)
        if self._named:
            dual = np.array(solution.row_dual)[len(self.clusters) :]
            prices[self._named] = np.maximum(dual, 0.0)
        return float(self._solver.getInfo().objective_function_value), prices, np.array(solution.col_value)

    def rents(self) -> Reals:
        """The prices of the clusters in the last `relax`: what a pattern must earn there to be of any use."""
        dual: Reals = np.array(self._solver.getSolution().row_dual)
        return np.maximum(dual[: len(self.clusters)], 0.0)

    def taken(self) -> list[Pattern] | None:
        """The patterns that the last `relax` takes, where it takes all of them whole."""
        share = np.array(self._solver.getSolution().col_value)
        whole = np.rint(share).astype(np.int64)
        if np.abs(share - whole).max(initial=0.0) > 1e-6:
            return None
        found = [self.patterns[i] for i in np.repeat(np.arange(len(whole)), whole).tolist()]
        return found if self.keeps_rows(found) else None

    def losses(self) -> Reals:
        """What the linear programme of the last `relax` would lose by taking each pattern whole, as numbers <= 0."""
        return np.array(self._solver.getSolution().col_dual)

    def number(self, pattern: Pattern) -> int:
        """Which column the pattern is."""
        return self._known[pattern]

    def fix(self, patterns: Sequence[Pattern], *, more: bool = False) -> None:
        """Take these patterns for certain, each as often as it is named, or perhaps `more` often."""
        self._bounds({p: float(patterns.count(p)) for p in patterns}, inf if more else None)

    def release(self, patterns: Sequence[Pattern]) -> None:
        """Leave these patterns open again."""
        self._bounds(dict.fromkeys(patterns, 0.0), inf)

    def keeps_rows(self, patterns: Sequence[Pattern]) -> bool:
        """Whether these patterns together keep every row, counted in whole numbers."""
        workloads = np.array([w for p in patterns for w in p.workloads], dtype=np.int64)
        places = np.array([self._place[self.cluster(p)] for p in patterns], dtype=np.int64)
        used = np.bincount(workloads, minlength=self.packing.workloads)
        taken = np.bincount(places, minlength=len(self.clusters))
        return bool((used <= self.copies).all() and (taken <= self._most).all())

    def whole(
        self, seconds: float = inf, start: Sequence[Pattern] = (), *, nodes: int | None = None, gap: float = 0.0
    ) -> tuple[list[Pattern], bool] | None:
        """The best whole choice among the patterns, and whether that is proved; None where a limit came first."""
        if nodes is not None:
            assert_ok(self._solver.setOptionValue("mip_max_nodes", nodes), "nodes")
        assert_ok(self._solver.setOptionValue("mip_rel_gap", gap), "gap")
        return self._choose(np.array(self._values, dtype=np.float64), seconds, start)

    def whole_by(
        self, weights: Sequence[int] | Ints, least: int, seconds: float, start: Sequence[Pattern]
    ) -> tuple[list[Pattern], bool] | None:
        """The best whole choice by other weights among those that are worth `least` or more."""
        values = np.array(self._values, dtype=np.float64)
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
            taken = np.bincount([self._known[p] for p in start], minlength=count)
            known.col_value = taken.astype(np.float64).tolist()
            assert_ok(solver.setSolution(known), "start")
        solver.run()
        info = solver.getInfo()
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        taken = np.rint(np.array(solver.getSolution().col_value)).astype(np.int64)
        proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return [self.patterns[i] for i in np.repeat(np.arange(count), np.maximum(taken, 0)).tolist()], proved

    def _name(self, workloads: Ints) -> None:
        """Give those of the workloads a row that have none."""
        new = workloads[self._row[workloads] < 0]
        self._row[new] = len(self.clusters) + len(self._named) + np.arange(len(new))
        self._named += new.tolist()
        self._add_rows(self.copies[new].astype(np.float64))

    def _add_rows(self, upper: Reals) -> None:
        count, none = len(upper), np.empty(0, dtype=np.int32)
        if count:
            start = np.zeros(count, dtype=np.int32)
            status = self._solver.addRows(count, np.full(count, -inf), upper, 0, start, none, np.empty(0))
            assert_ok(status, "rows")

    def _bounds(self, lower: dict[Pattern, float], upper: float | None) -> None:
        """Set lower bounds of patterns, and one upper bound, or that each is just its lower bound."""
        order = sorted(lower, key=self._known.__getitem__)
        index = np.array([self._known[p] for p in order], dtype=np.int32)
        least = np.array([lower[p] for p in order])
        most = least if upper is None else np.full(len(order), upper)
        assert_ok(self._solver.changeColsBounds(len(index), index, least, most), "bounds")


def master_of(packing: Packing) -> Master:
    """The master over all clusters and copies of a packing."""
    return Master(packing, tuple(range(packing.clusters)), packing.copies)
