"""The whole model at once: stages of the compact integer programme, solved to proof or to a limit.

Owns the order in which stages are solved, and what counts as an answer: a feasible primal status, whole numbers, and
`check_solution`. Owns no constraint and no objective.

Stages are solved together where one weighted sum of them is exact, else one after the other, each keeping what the
earlier ones reached by a row of its own and starting from the plan that they found. The solver works in floating point
and lets a row pass that is broken by a millionth of its largest entry: where amounts are that uneven, the plan is
counted in whole numbers, the workloads that cannot stand together are forbidden to, and the solver is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import floor, inf

import highspy
import numpy as np

from gitops_ds.errors import Fault, InfeasibleError, SolveError
from gitops_ds.problem.matrix import Matrix, matrix_of
from gitops_ds.problem.model import Ints, Pair, Problem
from gitops_ds.problem.objective import Stage
from gitops_ds.solution import Solution, StageResult, Status, check_solution
from gitops_ds.solver.compact import lp_of
from gitops_ds.solver.highs import USABLE, assert_ok, quiet

LARGEST_SUM = 2**31
"""Weighted sums of stages stay below this, where floating point cannot blur a unit."""
MOST_COVERS = 200
"""How often the solver is asked again because amounts do not add up exactly."""
_NO_PLAN = Fault("no plan keeps all rules of the problem")
_INFEASIBLE = (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible)
"""Every column has bounds, so that both mean the same."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Stages that are solved as one.

    `objective` is their weighted sum, divided by the largest number that leaves it whole, and `unit` is that number;
    `rest` is the most that the stages after the first can add to the sum or take from it.
    """

    stages: tuple[Stage, ...]
    objective: Ints
    unit: int
    rest: int


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of HiGHS: the z columns chosen, the status, and the bound on the group's objective."""

    pairs: Ints
    status: Status
    bound: float


@dataclass
class _Search:
    """The model as it grows: rows that keep earlier stages (`floors`) and that forbid what does not fit (`covers`)."""

    matrix: Matrix
    gap: float
    ends: float
    floors: list[tuple[Stage, int]] = field(default_factory=list)
    covers: list[Ints] = field(default_factory=list)
    best: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self.ends - time.monotonic()


def solve_staged(problem: Problem) -> Solution:
    """The best plan of `problem` by its stages, or the best one found before the time limit.

    Raises:
        InfeasibleError: no plan keeps every rule.
        SolveError: the solver ended without a plan that may be used.
    """
    matrix = matrix_of(problem)
    if not len(matrix.columns.z_workload):
        if problem.required:
            raise InfeasibleError(_NO_PLAN)
        return Solution((), Status.OPTIMAL, tuple(StageResult(s.name, 0, 0.0) for s in matrix.stages))
    search = _Search(matrix, problem.gap, time.monotonic() + problem.time_limit)
    results: list[StageResult] = []
    status = Status.OPTIMAL
    for group in _merge(matrix.stages):
        if search.floors and search.left <= 0:
            status = Status.LIMIT
            break
        run = _run(search, group)
        search.best = run.pairs
        status = max(status, run.status, key=list(Status).index)
        results += _results(matrix, group, run)
        search.floors += [(stage, _value(matrix, stage, run.pairs)) for stage in group.stages]
    columns = matrix.columns
    pairs = (Pair(int(columns.z_workload[z]), int(columns.z_configuration[z])) for z in search.best)
    solution = Solution(tuple(sorted(pairs)), status, tuple(results))
    broken = check_solution(problem, solution)
    if broken:
        why = "; ".join(broken[:3])
        raise SolveError(Fault("the solver's plan breaks the problem's own rules", why=why, fix="report this"))
    return solution


def _merge(stages: Sequence[Stage]) -> list[_Group]:
    """Consecutive stages joined as long as their weighted sum stays exact."""
    groups: list[_Group] = []
    for stage in stages:
        joined = _weighted((*groups[-1].stages, stage)) if groups else None
        if joined is not None:
            groups[-1] = joined
        else:
            unit = int(np.gcd.reduce(stage.coefficient))
            groups.append(_Group((stage,), stage.coefficient // unit, 1, 0))
    return groups


def _weighted(stages: Sequence[Stage]) -> _Group | None:
    """One objective whose optimum is the lexicographic one; None where it would not be exact.

    Each stage, counted in its own largest unit, outweighs all that the stages after it could make up for.
    """
    total: Ints = np.zeros_like(stages[0].coefficient)
    reach = 0
    for stage in reversed(stages):
        reach = _reach(total)
        steps = stage.coefficient // int(np.gcd.reduce(stage.coefficient))
        if (reach + 1) * _reach(steps) + reach >= LARGEST_SUM:
            return None
        total = total + (reach + 1) * steps
    unit = int(np.gcd.reduce(total))
    return _Group(tuple(stages), total // unit, unit, reach)


def _reach(coefficient: Ints) -> int:
    """The most by which a sum of the columns can differ from another: no column with a coefficient exceeds 1."""
    return sum(map(abs, coefficient.tolist()))


def _run(search: _Search, group: _Group) -> _Run:
    """The best plan for the group that keeps the floors, or the plan so far where the solver finds none."""
    for _ in range(MOST_COVERS):
        run = _ask(search, group)
        covers = list(_covers(search.matrix, run.pairs)) if run else []
        if not covers:
            break
        search.covers += covers
    if search.floors:
        return run if run and _keeps(search, run.pairs) else _Run(search.best, Status.LIMIT, inf)
    if run is None or (run.status is Status.LIMIT and not len(run.pairs)):
        fix = "allow it more time: spec.solver.timeLimit"
        raise SolveError(Fault("the solver ended without a plan", why="a limit struck before it had one", fix=fix))
    return run


def _keeps(search: _Search, pairs: Ints) -> bool:
    """Whether a plan keeps the floors to the unit, and not only by the solver's tolerance."""
    return all(_value(search.matrix, stage, pairs) >= reached for stage, reached in search.floors)


def _ask(search: _Search, group: _Group) -> _Run | None:
    """One run of the solver; None where it ends without a feasible plan.

    Raises:
        InfeasibleError: there is no plan.
        SolveError: the status says that the model is wrong or that the solver broke.
    """
    solver = _loaded(search, group)
    solver.run()
    if solver.getModelStatus() == highspy.HighsModelStatus.kSolveError:
        # Presolve was seen to hand back a point that breaks a row of its own model, which ends in this status.
        assert_ok(solver.clearSolver(), "fresh start")
        assert_ok(solver.setOptionValue("presolve", "off"), "presolve")
        solver.run()
    status, info = solver.getModelStatus(), solver.getInfo()
    if status not in USABLE:
        if status in _INFEASIBLE:
            if search.floors:
                return None
            raise InfeasibleError(_NO_PLAN)
        what = f"the solver ended without a plan: {solver.modelStatusToString(status)}"
        raise SolveError(Fault(what, fix="report this"))
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    columns = search.matrix.columns
    values = np.array(solver.getSolution().col_value)[columns.first_z : columns.first_t]
    pairs: Ints = np.nonzero(values > 0.5)[0].astype(np.int64)
    found, bound = USABLE[status], float(info.mip_dual_bound)
    reached = int(group.objective @ search.matrix.vector(pairs).astype(np.int64))
    if found is Status.OPTIMAL and bound - reached >= max(1.0, 1e-9 * abs(reached)):
        found = Status.WITHIN_GAP if search.gap > 0 else Status.LIMIT
    return _Run(pairs, found, bound)


def _loaded(search: _Search, group: _Group) -> highspy.Highs:
    """A solver with the model in it, quiet, maximising the group's objective, with all rows that came on the way."""
    matrix = search.matrix
    columns = matrix.columns
    solver = quiet(seconds=max(search.left, 0.1), gap=search.gap)
    lp = lp_of(matrix, group.objective.astype(np.float64), highspy.ObjSense.kMaximize)
    assert_ok(solver.passModel(lp), "model")
    for stage, reached in search.floors:
        used = np.nonzero(stage.coefficient)[0].astype(np.int32)
        unit = int(np.gcd.reduce(stage.coefficient))
        entries = (stage.coefficient[used] // unit).astype(np.float64)
        assert_ok(solver.addRow(reached // unit - 0.5, inf, len(used), used, entries), stage.name)
    for cover in search.covers:
        used = (columns.first_z + cover).astype(np.int32)
        assert_ok(solver.addRow(-inf, len(used) - 1, len(used), used, np.ones(len(used))), "cover")
    if search.floors:
        known = highspy.HighsSolution()
        known.col_value = matrix.vector(search.best).tolist()
        assert_ok(solver.setSolution(known), "start")
    return solver


def _covers(matrix: Matrix, pairs: Ints) -> Iterator[Ints]:
    """For each configuration and kind that the plan overdraws: the fewest of its z columns that do not fit together."""
    columns, problem = matrix.columns, matrix.columns.problem
    for g in np.unique(columns.z_configuration[pairs]).tolist():
        here = pairs[columns.z_configuration[pairs] == g]
        for k in range(len(problem.kinds)):
            need = {z: int(problem.need(int(columns.z_workload[z]), g)[k]) for z in here.tolist()}
            cover: list[int] = []
            for z in sorted(need, key=lambda z: (-need[z], z)):
                if sum(need[one] for one in cover) <= int(problem.supply[g, k]):
                    cover.append(z)
            if sum(need[one] for one in cover) > int(problem.supply[g, k]):
                yield np.array(sorted(cover), dtype=np.int64)


def _results(matrix: Matrix, group: _Group, run: _Run) -> Iterator[StageResult]:
    """Values of the group's stages, and a bound on each: its value where that is proved.

    As long as a stage meets its bound, the next one is bounded by what is left of the run's bound.
    """
    left = run.bound * group.unit
    for i, stage in enumerate(group.stages):
        value, unit = _value(matrix, stage, run.pairs), int(np.gcd.reduce(stage.coefficient))
        tail = _weighted(group.stages[i:])
        if run.status is Status.OPTIMAL:
            bound = float(value)
        elif tail is None or not np.isfinite(left):
            bound = inf
        else:
            steps = floor((left + tail.rest) / (tail.rest + 1) + 1e-6)
            bound = float(max(steps * unit, value))
            left = left - (tail.rest + 1) * (value // unit) if bound == value else inf
        yield StageResult(stage.name, value, bound)


def _value(matrix: Matrix, stage: Stage, pairs: Ints) -> int:
    """The stage's value of a plan, with only the configurations that something runs under."""
    return int(stage.coefficient @ matrix.vector(pairs).astype(np.int64))
