"""The least capacity that would have to be added for a workload to get its place, everybody else keeping one.

    min sum_{g,k} e[g,k] / request[w,k]    with every row of the model, capacity rows relaxed by e >= 0,
    sum_p z[v] >= placed[v] for every workload v that has a place, and as many copies of w as are wanted

Slacks answer in a user's terms ("2 more gpu on cluster2"), which an irreducible infeasible set of rows does not.

Owns this model. Owns no wording (`whatif.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, inf

import highspy
import numpy as np

from gitops_ds.problem.families import Rows
from gitops_ds.problem.matrix import Matrix, matrix_of
from gitops_ds.problem.model import Problem, State
from gitops_ds.solver.highs import USABLE, assert_ok, quiet

LONGEST = 10.0
"""Seconds: a hint is not worth more."""


def least_capacity(problem: Problem, workload: int, copies: Mapping[int, int]) -> Mapping[tuple[int, int], int] | None:
    """Units to add by (configuration, kind), so that `workload` and all others have the copies that `copies` says.

    {} where no capacity is missing; None where no amount of it would help, or none was found in time.
    """
    state = problem.state.copy()
    state[workload, state[workload] == State.CAPACITY] = State.ELIGIBLE
    matrix = matrix_of(replace(problem, state=state))
    columns = matrix.columns
    solver = quiet(seconds=min(LONGEST, problem.time_limit))
    assert_ok(solver.passModel(_model(matrix)), "model")
    slack = list(_slack_columns(matrix, workload))
    for number, (row, scale, need, _) in enumerate(slack):
        cost = (1.0 + number * 1e-6) / need
        status = solver.addCol(cost, 0.0, inf, 1, np.array([row], np.int32), np.array([-scale]))
        assert_ok(status, "slack")
    for w, wanted in sorted(copies.items()):
        mine = (columns.first_z + np.nonzero(columns.z_workload == w)[0]).astype(np.int32)
        assert_ok(solver.addRow(float(wanted), inf, len(mine), mine, np.ones(len(mine))), "place")
    for z in np.nonzero(columns.z_workload == workload)[0].tolist():
        link = np.array([columns.first_z + z, columns.y_of[columns.z_configuration[z]]], np.int32)
        assert_ok(solver.addRow(-inf, 0.0, 2, link, np.array([1.0, -1.0])), "link")
    solver.run()
    feasible = solver.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if solver.getModelStatus() not in USABLE or not feasible:
        return None
    values = np.array(solver.getSolution().col_value)[columns.count :]
    found = zip(slack, values.tolist(), strict=True)
    return {where: ceil(value - 1e-6) for (_, _, _, where), value in found if value > 1e-6}


def _model(matrix: Matrix) -> highspy.HighsLp:
    columns, (start, index, value) = matrix.columns, matrix.entries
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns.count, len(matrix.row_lower)
    lp.sense_ = highspy.ObjSense.kMinimize
    lp.col_cost_ = np.zeros(columns.count)
    lp.col_lower_, lp.col_upper_ = np.zeros(columns.count), columns.upper
    lp.row_lower_, lp.row_upper_ = matrix.row_lower, matrix.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = start, index, value
    lp.integrality_ = [highspy.HighsVarType.kInteger] * columns.count
    return lp


def _slack_columns(matrix: Matrix, workload: int) -> Iterator[tuple[int, float, int, tuple[int, int]]]:
    """(row, scale, request, (configuration, kind)) of each capacity row that the workload could need more of."""
    columns, problem = matrix.columns, matrix.columns.problem
    first = 0
    family: Rows | None = None
    for rows in matrix.families:
        if rows.family == "capacity":
            family = rows
            break
        first += rows.count
    if family is None or family.scale is None:
        return
    mine = columns.z_configuration[columns.z_workload == workload].tolist()
    for g in mine:
        for k in range(len(problem.kinds)):
            need = int(problem.need(workload, g)[k])
            row = int(columns.y_of[g]) * len(problem.kinds) + k
            if need:
                yield first + row, float(family.scale[row]), need, (g, k)
