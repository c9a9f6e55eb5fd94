"""The door to HiGHS: `solve(problem) -> Solution`, with every status of the solver mapped and every answer checked.

Owns options, the order in which stages are solved, and what counts as an answer: a feasible primal status, whole
numbers, and `check_solution`. Owns no constraint and no objective.

Stages are solved together where one weighted sum of them is exact, else one after the other, each keeping what the
earlier ones reached by a row of its own and starting from the plan that they found.
"""

from __future__ import annotations

import time
from importlib import metadata
from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np
import numpy.typing as npt

from gitops_ds.errors import Fault, SolveError
from gitops_ds.problem.matrix import Matrix, matrix_of
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.problem.objective import Stage
from gitops_ds.solution import Solution, StageResult, Status, check_solution

Reals = npt.NDArray[np.float64]
LARGEST_SUM = 2**31
"""Weighted sums of stages stay below this, where floating point cannot blur a unit."""

OPTIONS = {"name": "highspy", "version": metadata.version("highspy"), "threads": 1, "seed": 0}
"""What names the solver in a lock."""

_USABLE = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kTimeLimit: Status.LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: Status.LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.LIMIT,
    highspy.HighsModelStatus.kMemoryLimit: Status.LIMIT,
    highspy.HighsModelStatus.kObjectiveBound: Status.LIMIT,
    highspy.HighsModelStatus.kObjectiveTarget: Status.LIMIT,
}
"""Statuses under which a feasible plan may be used. Every other one is an error of ours or of the solver."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of HiGHS: the z columns chosen, the status, and the bound on the run's own objective."""

    pairs: npt.NDArray[np.int64]
    status: Status
    bound: float


def solve(problem: Problem) -> Solution:
    """The best plan of `problem` by its stages, or the best one found before the time limit.

    Raises:
        SolveError: the solver ended without a plan that may be used.
    """
    matrix = matrix_of(problem)
    if not len(matrix.columns.z_workload):
        return Solution((), Status.OPTIMAL, tuple(StageResult(s.name, 0, 0.0) for s in matrix.stages))
    ends = time.monotonic() + problem.time_limit
    floors: list[tuple[Stage, int]] = []
    results: list[StageResult] = []
    best: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
    status = Status.OPTIMAL
    for group in _merge(matrix.stages):
        left = ends - time.monotonic()
        if floors and left <= 0:
            status = Status.LIMIT
            break
        run = _run(matrix, group, floors, best, max(left, 0.1), problem.gap)
        best = run.pairs
        status = max(status, run.status, key=list(Status).index)
        results += _results(matrix, group, run)
        floors += [(stage, _value(matrix, stage, best)) for stage in group]
    columns = matrix.columns
    pairs = (Pair(int(columns.z_workload[z]), int(columns.z_configuration[z])) for z in best)
    solution = Solution(tuple(sorted(pairs)), status, tuple(results))
    broken = check_solution(problem, solution)
    if broken:
        why = "; ".join(broken[:3])
        raise SolveError(Fault("the solver's plan breaks the problem's own rules", why=why, fix="report this"))
    return solution


def _merge(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """Consecutive stages joined as long as their weighted sum stays exact."""
    groups: list[tuple[Stage, ...]] = []
    for stage in stages:
        joined = (*groups[-1], stage) if groups else (stage,)
        if groups and np.abs(_weighted(joined)).astype(object).sum() < LARGEST_SUM:
            groups[-1] = joined
        else:
            groups.append((stage,))
    return groups


def _weighted(stages: Sequence[Stage]) -> npt.NDArray[np.int64]:
    """One objective whose optimum is the lexicographic one: each stage outweighs all that comes after it."""
    total: npt.NDArray[np.int64] = np.zeros_like(stages[0].coefficient)
    for stage in reversed(stages):
        reach = int(np.abs(total).astype(object).sum())
        if reach >= LARGEST_SUM:
            return np.full_like(total, LARGEST_SUM)
        unit = int(np.gcd.reduce(stage.coefficient))
        total = total + (reach + 1) * (stage.coefficient // unit)
    return total


def _run(
    matrix: Matrix,
    group: Sequence[Stage],
    floors: Sequence[tuple[Stage, int]],
    start: npt.NDArray[np.int64],
    seconds: float,
    gap: float,
) -> _Run:
    objective = _weighted(group) // max(int(np.gcd.reduce(_weighted(group))), 1)
    solver = _loaded(matrix, objective, floors)
    options: dict[str, bool | int | float] = {
        "threads": 1,
        "random_seed": 0,
        "mip_rel_gap": gap,
        "mip_abs_gap": 0.5,
        "time_limit": seconds,
    }
    for name, value in options.items():
        _assert_ok(solver.setOptionValue(name, value), f"option {name}")
    if floors:
        known = highspy.HighsSolution()
        known.col_value = matrix.vector(start).tolist()
        _assert_ok(solver.setSolution(known), "start")
    solver.run()
    status = solver.getModelStatus()
    info = solver.getInfo()
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if status not in _USABLE or not feasible:
        if floors:
            return _Run(start, Status.LIMIT, np.inf)
        what = f"the solver ended without a plan: {solver.modelStatusToString(status)}"
        raise SolveError(Fault(what, fix="allow it more time: spec.solver.timeLimit"))
    values = np.round(np.array(solver.getSolution().col_value))
    columns = matrix.columns
    chosen = np.nonzero(values[columns.first_z : columns.first_t] > 0)[0].astype(np.int64)
    found = _USABLE[status]
    if found is Status.OPTIMAL and gap > 0 and info.mip_gap > 0:
        found = Status.WITHIN_GAP
    return _Run(chosen, found, float(info.mip_dual_bound))


def _loaded(matrix: Matrix, objective: npt.NDArray[np.int64], floors: Sequence[tuple[Stage, int]]) -> highspy.Highs:
    """A solver with the model in it, quiet, maximising `objective`, and with a row for every floor."""
    columns, (start, index, value) = matrix.columns, matrix.entries
    solver = highspy.Highs()
    _assert_ok(solver.setOptionValue("output_flag", False), "output_flag")
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns.count, len(matrix.row_lower)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = objective.astype(np.float64)
    lp.col_lower_, lp.col_upper_ = np.zeros(columns.count), columns.upper
    lp.row_lower_, lp.row_upper_ = matrix.row_lower, matrix.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = start, index, value
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns.count
    _assert_ok(solver.passModel(lp), "model")
    for stage, reached in floors:
        used = np.nonzero(stage.coefficient)[0].astype(np.int32)
        unit = int(np.gcd.reduce(stage.coefficient))
        entries = (stage.coefficient[used] // unit).astype(np.float64)
        _assert_ok(solver.addRow(reached / unit - 0.5, highspy.kHighsInf, len(used), used, entries), stage.name)
    return solver


def _results(matrix: Matrix, group: Sequence[Stage], run: _Run) -> list[StageResult]:
    """Values of the group's stages. The bound of a weighted run is its first stage's, in that stage's own unit."""
    weighted = _weighted(group)
    unit = max(int(np.gcd.reduce(weighted)), 1)
    first = group[0]
    used = np.nonzero(first.coefficient)[0][0]
    scale = 1.0
    if len(group) > 1:
        rest = int(np.abs(_weighted(group[1:])).astype(object).sum())
        scale = (rest + 1) / (unit * int(np.gcd.reduce(first.coefficient)))
    else:
        scale = float(weighted[used]) / unit / float(first.coefficient[used])
    results = []
    for i, stage in enumerate(group):
        value = _value(matrix, stage, run.pairs)
        if run.status is Status.OPTIMAL:
            bound = float(value)
        else:
            bound = max(run.bound / scale, value) if i == 0 else np.inf
        results.append(StageResult(stage.name, value, bound))
    return results


def _value(matrix: Matrix, stage: Stage, pairs: npt.NDArray[np.int64]) -> int:
    """The stage's value of a plan, with only the configurations that something runs under."""
    return int(stage.coefficient @ matrix.vector(pairs).astype(np.int64))


def _assert_ok(status: highspy.HighsStatus, what: str) -> None:
    if status != highspy.HighsStatus.kOk:
        raise SolveError(Fault(f"the solver refuses its {what}", fix="report this"))
