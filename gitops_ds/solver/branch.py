"""The best whole choice among patterns, proved in whole numbers: cuts, then branches, each bounded by its duals.

    max sum_p weight[p] x[p]    rows as in `master.py`, x whole, and where asked for: sum_p value[p] x[p] >= least

The linear programme of each branch is solved in floating point, and only its duals are used: rounded to whole parts of
a unit, any of them of the right sign give a valid bound,

    sum_r y[r] rhs[r] + sum_c alike[c] max(0, max over patterns p of c of (weight[p] - sum_r y[r] a[r,p]))

with r over the rows of workloads, cuts, branches and the least value. A branch ends where this says that it holds
nothing better than what is known, or, with a weight of 0 throughout, that it holds nothing at all. Nodes are counted,
so that the same choice always ends in the same way.

A least value is asked for by what it leaves to lose: with the prices that prove a bound on the value,

    sum_p loss[p] x[p] + sum_r y[r] (what row r leaves free) <= bound - least

in which every number is small, and a row whose price is more than that leaves nothing free.

Owns this search. Owns no patterns, no cuts (`cuts.py`), and not what a choice is for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, inf

import highspy
import numpy as np
import numpy.typing as npt

from gitops_ds.packing.model import Ints, Packing
from gitops_ds.solver.cuts import FRACTION, Triple, broken_cuts, cut_of, to_branch_on
from gitops_ds.solver.highs import assert_ok, quiet
from gitops_ds.solver.master import Pattern, entries_of, most_of, values_of

Reals = npt.NDArray[np.float64]

FINEST = 2**24
"""Parts of a unit in which bounds are counted, where that many fit."""
LARGEST = 2.0**61
"""No sum of parts comes near to what 64 bits hold."""
SMALL = 2**20
"""No weight and no loss is larger in the linear programme: beyond, they are counted in larger units there."""
RAY = 2**36
"""Parts of the largest multiplier in a proof that there is no choice."""
NARROW = 0.5
"""Where so few of the patterns are left by the first bound, they are searched by themselves."""
CUT_ROUNDS = 12
ENTRIES = 4_000_000
"""Entries of the matrix beyond which a choice is left to HiGHS."""
CLOSED = -(2**60)
INFEASIBLE = highspy.HighsModelStatus.kInfeasible


@dataclass(frozen=True)
class Proof:
    """A bound on what patterns are worth: prices of workloads and of cuts, `scale` parts a unit of value."""

    scale: int
    prices: Ints
    cuts: tuple[tuple[Triple, int], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a search found: the best choice (None: nothing better than was known), and whether that is proved."""

    chosen: list[Pattern] | None
    proved: bool


@dataclass(frozen=True)
class _Bound:
    """A bound in parts, what using each pattern takes from it, parts of a unit, and the duals that prove it."""

    parts: int
    loss: Ints
    scale: int
    dual: Ints


@dataclass
class _Row:
    """A row beyond those of clusters and workloads: coefficients of all columns, and its bounds now."""

    number: int
    entries: Ints
    lower: float
    upper: float


@dataclass
class Choice:
    """A choice among patterns as it is searched.

    `patterns` are sorted by cluster; `weight` is one whole number each; `cuts` are kept for a choice among fewer.
    """

    packing: Packing
    patterns: list[Pattern]
    weight: Ints
    best: int
    nodes: int
    ends: float
    chosen: list[Pattern] | None = None
    cuts: list[Triple] = field(default_factory=list)
    _rows: list[_Row] = field(default_factory=list)
    _first: _Bound | None = None
    _asked: tuple[Proof, int] | None = None
    _unproved: bool = False

    def __post_init__(self) -> None:
        """Load the linear programme."""
        packing, count = self.packing, len(self.patterns)
        entries = entries_of(packing, self.patterns)
        self._configuration = np.array([p.configuration for p in self.patterns], dtype=np.int64)
        self._values = values_of(packing, self.patterns)
        cluster = packing.cluster_of[self._configuration]
        self._matrix = np.zeros((packing.clusters + packing.workloads, count), dtype=np.int64)
        self._matrix[cluster, np.arange(count)] = 1
        self._matrix[packing.clusters + entries.workload, entries.column] = entries.times
        self._most = np.concatenate((most_of(packing, range(packing.clusters)), packing.copies))
        self._full = np.zeros(len(self._most), dtype=np.bool_)
        self._used, self._start = np.unique(cluster, return_index=True)
        self._open = np.ones(count, dtype=np.bool_)
        self._unit = max(int(np.gcd.reduce(self.weight)), 1)
        self._coarse = 1 << (int(np.abs(self.weight).max(initial=1)) // SMALL).bit_length()
        self._solver = _loaded(self._matrix, self._most, self.weight / self._coarse)

    def least(self, proof: Proof, least: int) -> None:
        """Ask that the patterns be worth `least` together, given what proves that they cannot be worth much more."""
        self._asked = proof, least
        first = self.packing.clusters
        self.cut([triple for triple, _ in proof.cuts])
        cut = np.array([row.entries for row in self._rows], dtype=np.int64).reshape(-1, len(self.patterns))
        rows: Ints = np.vstack((self._matrix, cut))
        right = np.concatenate((self._most, np.ones(len(cut), dtype=np.int64)))
        parts = np.concatenate((np.zeros(first), proof.prices, [part for _, part in proof.cuts]))
        # Any prices would do. Whole units keep the numbers small, and lose next to nothing.
        price = np.rint(parts / proof.scale).astype(np.int64)
        profit = self._values - np.asarray(price @ rows, dtype=np.int64)
        price[self._used] = np.maximum(np.maximum.reduceat(profit, self._start), 0)
        loss: Ints = price[:first] @ self._matrix[:first] - profit
        spare = int(price @ right) - least
        self._fill(np.nonzero(price > spare)[0])
        low = np.where(price > spare, 0, price)
        entries = loss - np.asarray(low @ rows, dtype=np.int64)
        upper = spare - int(low @ right)
        step = max(int(np.abs(entries).max(initial=0)), abs(upper)) // SMALL
        if entries.any():
            self._add(entries >> step.bit_length(), -inf, float(upper >> step.bit_length()))

    def _fill(self, rows: Ints) -> None:
        """Ask that these rows leave nothing free."""
        base = rows[rows < len(self._most)]
        self._full[base] = True
        for row in base.tolist():
            most = float(self._most[row])
            assert_ok(self._solver.changeRowBounds(row, most, most), "full row")
        for number in (rows[rows >= len(self._most)] - len(self._most)).tolist():
            self._bind(self._rows[number], 1.0, 1.0)

    @property
    def proof(self) -> Proof:
        """What proves the bound before any branch."""
        first, end = self.packing.clusters, len(self._most)
        if self._first is None:
            return Proof(1, np.zeros(self.packing.workloads, dtype=np.int64))
        cut = np.maximum(self._first.dual[end : end + len(self.cuts)], 0).tolist()
        cuts = tuple(zip(self.cuts[: len(cut)], cut, strict=True))
        return Proof(self._first.scale, np.maximum(self._first.dual[first:end], 0), cuts)

    def cut(self, several: Sequence[Triple]) -> None:
        """Add these cuts."""
        for triple in several:
            self.cuts.append(triple)
            self._add(cut_of(self._matrix, triple), -inf, 1.0)

    def search(self) -> Outcome:
        """The best choice that is better than `best`."""
        if self._root():
            if self._open.mean() < NARROW:
                return self._narrowed()
            self._explore(self._relaxed)
        return Outcome(self.chosen, not self._unproved)

    def _narrowed(self) -> Outcome:
        """The same search among the patterns that are still open."""
        kept = np.nonzero(self._open)[0]
        patterns = [self.patterns[i] for i in kept.tolist()]
        inner = Choice(self.packing, patterns, self.weight[kept], self.best, self.nodes, self.ends)
        if self._asked is not None:
            inner.least(*self._asked)
        inner.cut(self.cuts[len(inner.cuts) :])
        found = inner.search()
        self.best, self.chosen = inner.best, found.chosen or self.chosen
        return Outcome(self.chosen, found.proved)

    def within(self, least: int) -> list[Pattern]:
        """The patterns that a choice of weight `least` may use, by the bound before any branch."""
        if self._first is None:
            return self.patterns
        left = self._first.parts - self._first.loss
        return [self.patterns[i] for i in np.nonzero(left >= least * self._first.scale)[0].tolist()]

    def _root(self) -> bool:
        """Bound the whole choice, with cuts; whether anything better than is known may be left."""
        for _ in range(CUT_ROUNDS):
            better = self._solve()
            if not self._settled:
                return False
            self._first = self._proved
            found = broken_cuts(self._matrix, self._most, self._relaxed) if better else []
            if not found:
                break
            self.cut(found)
        self._shut()
        return better

    def _solve(self) -> bool:
        """Solve the linear programme as it stands, keep what it says; whether it may hold anything better."""
        status = self._run()
        self._settled = status == highspy.HighsModelStatus.kOptimal
        if not self._settled:
            self._unproved |= not (status == INFEASIBLE and self._holds_nothing())
            return False
        solution = self._solver.getSolution()
        self._relaxed: Reals = np.array(solution.col_value)
        dual, reduced = np.array(solution.row_dual) * self._coarse, np.array(solution.col_dual) * self._coarse
        scale = self._fitting(dual, reduced)
        parts = np.rint(dual * scale).astype(np.int64)
        self._proved = _Bound(*self._bound(self.weight * scale, parts), scale, parts)
        if not self._hopeful:
            return False
        if self._take(self._relaxed):
            self._shut()
        return self._hopeful

    def _run(self) -> highspy.HighsModelStatus:
        """Solve the linear programme, from nothing where the last basis leads nowhere."""
        self._solver.run()
        if self._solver.getModelStatus() not in (highspy.HighsModelStatus.kOptimal, INFEASIBLE):
            assert_ok(self._solver.clearSolver(), "fresh start")
            self._solver.run()
        return self._solver.getModelStatus()

    def _fitting(self, dual: Reals, reduced: Reals) -> int:
        """The finest parts in which no sum outgrows its 64 bits."""
        end = len(self._most)
        largest = float(np.abs(reduced).max(initial=1.0) + np.abs(dual).max(initial=1.0))
        largest += float(np.abs(dual[:end]) @ self._most) + float(np.abs(self.weight).max(initial=1))
        return max(1, min(FINEST, 1 << max(0, int(LARGEST / largest).bit_length() - 1)))

    @property
    def _hopeful(self) -> bool:
        """Whether the last bound leaves room for anything better than is known."""
        return self._proved.parts >= (self.best + self._unit) * self._proved.scale

    def _holds_nothing(self) -> bool:
        """Whether the branch is proved to hold no choice at all."""
        _, known, ray = self._solver.getDualRay()  # type: ignore[attr-defined]  # its stub does not know it
        if not known:
            return False
        ray = -np.array(ray)
        parts = np.rint(ray / max(float(np.abs(ray).max(initial=0.0)), 1e-9) * RAY).astype(np.int64)
        return self._bound(np.zeros(len(self.patterns), dtype=np.int64), parts)[0] < 0

    def _bound(self, weight: Ints, parts: Ints) -> tuple[int, Ints]:
        """The bound in parts that these duals prove, and what using each pattern takes from it."""
        first, end = self.packing.clusters, len(self._most)
        price = np.where(self._full[first:], parts[first:end], np.maximum(parts[first:end], 0))
        used = np.nonzero(price)[0]
        bound = int(price[used] @ self._most[first + used])
        profit = weight - np.asarray(price[used] @ self._matrix[first + used], dtype=np.int64)
        for row, part in zip(self._rows, parts[end:].tolist(), strict=True):
            at = row.upper if part > 0 else row.lower
            if part and abs(at) < inf:
                bound += part * int(at)
                profit -= part * row.entries
        best = np.maximum.reduceat(np.where(self._open, profit, CLOSED), self._start)
        best = np.where(self._full[self._used], best, np.maximum(best, 0))
        bound += int(best @ self._most[self._used])
        return bound, np.repeat(best, np.diff(np.append(self._start, len(profit)))) - profit

    def _take(self, relaxed: Reals) -> bool:
        """Keep the plan of the linear programme where it is whole, keeps all rows, and is better; whether it is so."""
        whole = np.rint(relaxed).astype(np.int64)
        value = int(self.weight @ whole)
        if value <= self.best or np.abs(relaxed - whole).max(initial=0.0) > FRACTION:
            return False
        kept = (self._matrix @ whole <= self._most).all()
        if not kept or (self._asked is not None and int(self._values @ whole) < self._asked[1]):
            return False
        self.best = value
        self.chosen = [self.patterns[i] for i in np.repeat(np.arange(len(whole)), whole).tolist()]
        return True

    def _shut(self) -> None:
        """Close the patterns that nothing better can use, by the bound before any branch."""
        if self._first is None:
            return
        left = self._first.parts - self._first.loss
        gone = self._open & (left < (self.best + self._unit) * self._first.scale)
        index = np.nonzero(gone)[0].astype(np.int32)
        if len(index):
            self._open &= ~gone
            zero = np.zeros(len(index))
            assert_ok(self._solver.changeColsBounds(len(index), index, zero, zero), "closing")

    def _explore(self, relaxed: Reals) -> None:
        """Search below a node whose linear programme may hold something better."""
        entries = to_branch_on(self._matrix[self.packing.clusters :], self._configuration, relaxed)
        if entries is None:
            self._unproved = True
            return
        share = float(entries @ relaxed)
        row = self._add(entries, -inf, inf)
        for lower, upper in ((float(ceil(share)), inf), (-inf, float(floor(share)))):
            if self.nodes <= 0 or time.monotonic() > self.ends:
                self._unproved = True
                break
            self.nodes -= 1
            self._bind(row, lower, upper)
            if self._solve():
                self._explore(self._relaxed)
        self._bind(row, -inf, inf)

    def _add(self, entries: Ints, lower: float, upper: float) -> _Row:
        row = _Row(len(self._most) + len(self._rows), entries, lower, upper)
        used = np.nonzero(entries)[0].astype(np.int32)
        assert_ok(self._solver.addRow(lower, upper, len(used), used, entries[used].astype(np.float64)), "row")
        self._rows.append(row)
        return row

    def _bind(self, row: _Row, lower: float, upper: float) -> None:
        row.lower, row.upper = lower, upper
        assert_ok(self._solver.changeRowBounds(row.number, lower, upper), "branch")


def choice_of(
    packing: Packing, patterns: Sequence[Pattern], weight: Ints, best: int, *, nodes: int, ends: float
) -> Choice | None:
    """The choice among patterns (none empty), a weight each; None where there are too many for this way."""
    if len(patterns) * (packing.clusters + packing.workloads) > ENTRIES:
        return None
    order = sorted(range(len(patterns)), key=lambda i: patterns[i])
    return Choice(packing, [patterns[i] for i in order], weight[order], best, nodes, ends)


def _loaded(matrix: Ints, upper: Ints, weight: Reals) -> highspy.Highs:
    """A linear programme of these rows and columns, to be maximised."""
    solver = quiet(seconds=inf)
    column, row = np.nonzero(matrix.T)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = weight
    lp.col_lower_, lp.col_upper_ = np.zeros(len(weight)), np.full(len(weight), inf)
    lp.row_lower_, lp.row_upper_ = np.full(len(upper), -inf), upper.astype(np.float64)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.searchsorted(column, np.arange(len(weight) + 1)).astype(np.int32)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = row.astype(np.int32), matrix[row, column].astype(np.float64)
    assert_ok(solver.setOptionValue("presolve", "off"), "presolve")
    assert_ok(solver.passModel(lp), "model")
    return solver
