"""The master problem over patterns of items, with linking rows.

    max sum_p value[p] x[p] + sum_j cost[j] u[j]
    sum_{p has i} x[p] <= copies[i]      sum_{p of c} x[p] <= 1      x >= 0 (or whole)
    lower[r] <= (what the rest of the plan adds up to) + sum_p a[r,p] x[p] + sum_j b[r,j] u[j] <= upper[r]

A row comes with the first pattern that can change it. Where the block's clusters run nothing yet, rows may be broken
in the linear programme, at more than any item is worth: a dive that went astray then still gets prices.

Owns the columns and their solving. Owns no finding of patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import highspy
import numpy as np

from gitops_ds.packing.model import Ints, Reals
from gitops_ds.solver.highs import assert_ok, quiet
from gitops_ds.solver.links import FAR
from gitops_ds.solver.master import Pattern
from gitops_ds.solver.related import Related

LARGEST_COST = 2**16
"""Values are divided by a power of two so that no item is worth more: more digits than that blur the solver's own."""
DUAL, PRIMAL = 1, 4
"""Simplex strategies. New columns leave a plan feasible, which the primal one goes on from: half the time."""


class RelatedMaster:
    """The master over some clusters of a problem with relations, beside a plan for the others.

    Attributes:
        clusters: the clusters. patterns: the columns, in the order in which they came.
    """

    def __init__(
        self, related: Related, clusters: tuple[int, ...], copies: Ints, activity: Ints, *, elastic: bool
    ) -> None:
        """Lay down the rows of the clusters.

        Args:
            related: the problem.
            clusters: the block.
            copies: I, the copies of each item that are to be had there.
            activity: R, what the plan for the others adds up to.
            elastic: whether linking rows may be broken in the linear programme.
        """
        self.clusters, self.patterns = clusters, list[Pattern]()
        self._related, self._copies, self._activity, self._elastic = related, copies, activity, elastic
        largest = int(np.abs(related.value).max(initial=1))
        self._unit = float(1 << max(0, largest.bit_length() - LARGEST_COST.bit_length()))
        self._solver = quiet(seconds=inf)
        assert_ok(self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize), "sense")
        assert_ok(self._solver.setOptionValue("simplex_strategy", PRIMAL), "option simplex_strategy")
        self._place = {c: i for i, c in enumerate(clusters)}
        self._known: dict[Pattern, int] = {}
        self._items: dict[int, int] = {}
        self._links: dict[int, int] = {}
        self._auxiliaries: dict[int, int] = {}
        self._slacks: list[int] = []
        self._rows = self._columns = 0
        self._add_rows(np.full(len(clusters), -inf), np.ones(len(clusters)))
        configurations = [g for c in clusters for g in related.problem.configurations_of[c]]
        here = np.isin(related.links.configuration, configurations)
        self._near = related.links.tied.copy()
        self._near[related.links.row[here]] = True

    def add(self, patterns: Iterable[Pattern]) -> int:
        """Add those of the patterns that are new and not empty; how many."""
        fresh = [p for p in dict.fromkeys(patterns) if p.workloads and p not in self._known]
        if not fresh:
            return 0
        self._open(sorted({i for p in fresh for i in p.workloads} - self._items.keys()))
        start, index, value = [0], list[int](), list[float]()
        for pattern in fresh:
            own = [self._place[self._cluster(pattern)], *(self._items[i] for i in pattern.workloads)]
            change = self._related.activity([pattern])
            rows = [r for r in np.nonzero(change)[0].tolist() if r in self._links]
            index += [*own, *(self._links[r] for r in rows)]
            value += [*(1.0 for _ in own), *(float(change[r]) for r in rows)]
            start.append(len(index))
        cost = np.array([self._related.worth(p) for p in fresh], dtype=np.float64) / self._unit
        first = self._add_columns(cost, np.full(len(fresh), inf), start[:-1], index, value)
        self._known |= {p: first + n for n, p in enumerate(fresh)}
        self.patterns += fresh
        return len(fresh)

    def relax(self) -> tuple[float, Reals, Reals]:
        """The linear programme: its value, prices of all items and then of all rows, and how much of each pattern."""
        self._solver.run()
        solution = self._solver.getSolution()
        dual = np.array(solution.row_dual) * self._unit
        prices = np.zeros(self._related.items + len(self._related.links.lower))
        if self._items:
            prices[list(self._items)] = np.maximum(dual[list(self._items.values())], 0.0)
        if self._links:
            prices[self._related.items + np.array(list(self._links))] = dual[list(self._links.values())]
        value = float(self._solver.getInfo().objective_function_value) * self._unit
        return value, prices, np.array(solution.col_value)[list(self._known.values())]

    def losses(self) -> Reals:
        """What the linear programme of the last `relax` would lose by taking each pattern whole, as numbers <= 0."""
        found: Reals = np.array(self._solver.getSolution().col_dual)[list(self._known.values())] * self._unit
        return found

    def keeps_rows(self, patterns: Sequence[Pattern]) -> bool:
        """Whether these patterns together, with the rest of the plan, keep every row, counted in whole numbers."""
        clusters = [self._cluster(p) for p in patterns]
        used = np.bincount([i for p in patterns for i in p.workloads], minlength=self._related.items)
        if len(set(clusters)) < len(clusters) or (used > np.maximum(self._copies, 0)).any():
            return False
        return not len(self._related.broken(self._activity + self._related.activity(patterns)))

    def whole(
        self, seconds: float = inf, start: Sequence[Pattern] = (), *, nodes: int | None = None, gap: float = 0.0
    ) -> tuple[list[Pattern], bool] | None:
        """The best whole choice among the patterns, and whether that is proved; None where a limit came first."""
        solver, columns = self._solver, np.array(list(self._known.values()), dtype=np.int32)
        if nodes is not None:
            assert_ok(solver.setOptionValue("mip_max_nodes", nodes), "nodes")
        assert_ok(solver.setOptionValue("simplex_strategy", DUAL), "option simplex_strategy")
        assert_ok(solver.setOptionValue("mip_rel_gap", gap), "gap")
        assert_ok(solver.setOptionValue("mip_abs_gap", 0.5 / self._unit), "gap")
        assert_ok(solver.setOptionValue("time_limit", solver.getRunTime() + max(seconds, 0.1)), "time limit")
        whole = np.array([*columns, *(self._auxiliaries[j] for j, _ in self._related.least if j in self._auxiliaries)])
        kinds = np.full(len(whole), int(highspy.HighsVarType.kInteger), dtype=np.uint8)
        assert_ok(solver.changeColsIntegrality(len(whole), whole.astype(np.int32), kinds), "whole columns")
        slacks, none = np.array(self._slacks, dtype=np.int32), np.zeros(len(self._slacks))
        if len(slacks):
            assert_ok(solver.changeColsBounds(len(slacks), slacks, none, none), "slacks")
        if start:
            assert_ok(solver.setSolution(self._known_solution(start)), "start")
        solver.run()
        if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        taken = np.array(solver.getSolution().col_value)[columns]
        proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return [self.patterns[n] for n in np.nonzero(taken > 0.5)[0].tolist()], proved

    def _known_solution(self, start: Sequence[Pattern]) -> highspy.HighsSolution:
        values = np.zeros(self._columns)
        values[[self._known[p] for p in start]] = 1.0
        auxiliaries = self._related.auxiliaries(self._activity + self._related.activity(start))
        for j, column in self._auxiliaries.items():
            values[column] = auxiliaries[j]
        known = highspy.HighsSolution()
        known.col_value = values.tolist()
        return known

    def _cluster(self, pattern: Pattern) -> int:
        return int(self._related.problem.cluster_of[pattern.configuration])

    def _open(self, items: Sequence[int]) -> None:
        """Rows of items that had none yet: of their copies, and every linking row that they can change here."""
        if not items:
            return
        self._items |= {i: self._rows + n for n, i in enumerate(items)}
        self._add_rows(np.full(len(items), -inf), np.maximum(self._copies[list(items)], 0).astype(np.float64))
        rows = sorted(
            {r for i in items for r in self._related.rows_of[i].tolist() if self._near[r]} - self._links.keys()
        )
        if not rows:
            return
        links = self._related.links
        lower = np.where(links.lower <= -FAR, -inf, (links.lower - self._activity).astype(np.float64))[rows]
        upper = np.where(links.upper >= FAR, inf, (links.upper - self._activity).astype(np.float64))[rows]
        self._links |= {r: self._rows + n for n, r in enumerate(rows)}
        self._add_rows(lower, upper)
        mine = np.isin(links.aux_row, rows)
        for j in np.unique(links.aux[mine]).tolist():
            entries = np.nonzero(links.aux == j)[0]
            index = [self._links[r] for r in links.aux_row[entries].tolist()]
            cost, most = np.array([links.cost[j] / self._unit]), np.array([float(links.most[j])])
            self._auxiliaries[j] = self._add_columns(cost, most, [0], index, links.aux_coefficient[entries])
            if self._activity[self._related.counted.get(j, 0)] > 0 and j in self._related.counted:
                # It runs elsewhere, so it has to run often enough, which half an n would not say.
                assert_ok(self._solver.changeColBounds(self._auxiliaries[j], 1.0, 1.0), "bound")
        if self._elastic:
            self._loosen(lower, upper, [self._links[r] for r in rows])

    def _loosen(self, lower: Reals, upper: Reals, rows: Sequence[int]) -> None:
        entries = [(r, 1.0) for r, low in zip(rows, lower, strict=True) if low > -inf]
        entries += [(r, -1.0) for r, high in zip(rows, upper, strict=True) if high < inf]
        price = np.full(len(entries), -2.0 * LARGEST_COST)
        index, value = [r for r, _ in entries], [sign for _, sign in entries]
        first = self._add_columns(price, np.full(len(entries), inf), list(range(len(entries))), index, value)
        self._slacks += range(first, first + len(entries))

    def _add_rows(self, lower: Reals, upper: Reals) -> None:
        count, none = len(upper), np.empty(0, dtype=np.int32)
        if count:
            start = np.zeros(count, dtype=np.int32)
            assert_ok(self._solver.addRows(count, lower, upper, 0, start, none, np.empty(0)), "rows")
            self._rows += count

    def _add_columns(
        self, cost: Reals, upper: Reals, start: Sequence[int], index: Sequence[int], value: Sequence[float] | Ints
    ) -> int:
        """The number of the first of them."""
        count, first = len(cost), self._columns
        status = self._solver.addCols(
            count,
            cost,
            np.zeros(count),
            upper,
            len(index),
            np.array(start, dtype=np.int32),
            np.array(index, dtype=np.int32),
            np.array(value, dtype=np.float64),
        )
        assert_ok(status, "columns")
        self._columns += count
        return first
