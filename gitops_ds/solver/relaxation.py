"""The least capacity that would have to be added for workloads to get their places, everybody else keeping one.

    min sum_{g,k} e[g,k] / request[g,k]    with every row of the model, capacity rows relaxed by e >= 0,
    sum_p z[v] >= copies[v] for every workload v that has a place or is to get one

where request[g,k] is the most that one of the workloads asks for. Slacks answer in a user's terms ("2 more gpu on
cluster2"), which an irreducible infeasible set of rows does not.

Owns this model. Owns no wording (`whatif/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, inf
from typing import NamedTuple

import highspy
import numpy as np

from gitops_ds.problem.components import Component
from gitops_ds.problem.matrix import Matrix, matrix_of
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.problem.variations import around, without_limits_of_size
from gitops_ds.solver.compact import lp_of
from gitops_ds.solver.highs import assert_ok, quiet

LONGEST = 10.0
"""Seconds: a hint is not worth more."""
HASTE = 1.0
"""Seconds for a hint that nobody asked for."""
NEARLY = 1e-4
"""Answers that differ by no more than this part of a request count as the same."""
PAIRS_A_SECOND = 2_000
"""Where more pairs than this may be used, no answer is tried: it would not come in time."""

Capacity = Mapping[tuple[int, int], int]
"""Units by (configuration, kind)."""


class _Slack(NamedTuple):
    """A capacity row that may be relaxed: its number, its scale, the request that counts as 1, and what it is for."""

    row: int
    scale: float
    request: int
    where: tuple[int, int]


def least_capacity(
    problem: Problem,
    workloads: Sequence[int],
    copies: Mapping[int, int],
    stay: Sequence[Pair] = (),
    *,
    seconds: float = LONGEST,
) -> Capacity | None:
    """What to add for `workloads`, so that they and all others have at least the copies that `copies` says.

    Of several answers that are the least but for a ten-thousandth, it is one under which the most of the pairs `stay`
    may stay. {} where no capacity is missing; None where no amount of it would help, or none was proved least in time.
    """
    wider = without_limits_of_size(problem, workloads)
    parts = around(wider, workloads)
    if not set(workloads) <= {w for part in parts for w in part.workloads}:
        return None
    found: dict[tuple[int, int], int] = {}
    for part in parts:
        here = _least(part, workloads, copies, stay, min(seconds, problem.time_limit))
        if here is None:
            return None
        found |= here
    return dict(sorted(found.items()))


def _least(
    part: Component, workloads: Sequence[int], copies: Mapping[int, int], stay: Sequence[Pair], seconds: float
) -> Capacity | None:
    if int(part.problem.eligible.sum()) > PAIRS_A_SECOND * seconds:
        return None
    number = {w: i for i, w in enumerate(part.workloads)}
    matrix = matrix_of(part.problem)
    kept = _columns_of(matrix, part, stay)
    solver = quiet(seconds=seconds)
    assert_ok(solver.setOptionValue("mip_abs_gap", 0.0), "option mip_abs_gap")
    gain = np.zeros(matrix.columns.count)
    gain[kept] = -NEARLY / max(len(kept), 1)
    assert_ok(solver.passModel(lp_of(matrix, gain, highspy.ObjSense.kMinimize)), "model")
    slack = tuple(_slack_columns(matrix, [number[w] for w in workloads if w in number]))
    for i, one in enumerate(slack):
        cost = (1.0 + NEARLY / 10 * i / len(slack)) / one.request
        row, value = np.array([one.row], np.int32), np.array([-one.scale])
        assert_ok(solver.addCol(cost, 0.0, inf, 1, row, value), "slack")
    wanted = {number[w]: count for w, count in copies.items() if w in number}
    _add_rows(solver, matrix, wanted, {one.where[0] for one in slack})
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    values = np.array(solver.getSolution().col_value)[matrix.columns.count :].tolist()
    return {
        (part.configurations[one.where[0]], one.where[1]): ceil(value - 1e-6)
        for one, value in zip(slack, values, strict=True)
        if value > 1e-6
    }


def _add_rows(solver: highspy.Highs, matrix: Matrix, copies: Mapping[int, int], relaxed: set[int]) -> None:
    """The copies that everybody has, and that whatever runs under a relaxed configuration takes the whole of it."""
    columns = matrix.columns
    for w, wanted in sorted(copies.items()):
        mine = (columns.first_z + np.nonzero(columns.z_workload == w)[0]).astype(np.int32)
        assert_ok(solver.addRow(float(wanted), inf, len(mine), mine, np.ones(len(mine))), "place")
    for z, g in enumerate(columns.z_configuration.tolist()):
        if g in relaxed:
            link = np.array([columns.first_z + z, columns.y_of[g]], np.int32)
            assert_ok(solver.addRow(-inf, 0.0, 2, link, np.array([1.0, -1.0])), "link")


def _columns_of(matrix: Matrix, part: Component, pairs: Sequence[Pair]) -> list[int]:
    """The columns of these pairs, as far as they are in the part."""
    wanted = set(pairs)
    columns = matrix.columns
    both = zip(columns.z_workload.tolist(), columns.z_configuration.tolist(), strict=True)
    return [columns.first_z + z for z, (w, g) in enumerate(both) if part.whole(Pair(w, g)) in wanted]


def _slack_columns(matrix: Matrix, workloads: Sequence[int]) -> Iterator[_Slack]:
    """Each capacity row that one of the workloads could need more of, in the order of configurations and kinds."""
    columns, problem = matrix.columns, matrix.columns.problem
    first = 0
    for rows in matrix.families:
        if rows.family == "capacity":
            break
        first += rows.count
    else:
        return
    scale = np.ones(rows.count) if rows.scale is None else rows.scale
    for g in columns.y.tolist():
        here = set(columns.z_workload[columns.z_configuration == g].tolist()).intersection(workloads)
        for k in range(len(problem.kinds)):
            request = max((int(problem.need(w, g)[k]) for w in here), default=0)
            row = int(columns.y_of[g]) * len(problem.kinds) + k
            if request:
                yield _Slack(first + row, float(scale[row]), request, (g, k))
