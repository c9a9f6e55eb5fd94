"""The main stages of the objective as one whole number a pair, and the problem as a packing of those numbers.

Owns the weights: each stage outweighs all that the later ones could make up for in any plan. Owns no solving.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gitops_ds.packing.model import Packing
from gitops_ds.problem.columns import Columns, columns_of
from gitops_ds.problem.families import FAMILIES, capacity, copies, needs_configuration, one_configuration
from gitops_ds.problem.model import Ints, Problem
from gitops_ds.problem.objective import NAMES, Stage, stages

LARGEST = 2**45
"""The merged value of a whole plan stays below this: exact in whole numbers and in floating point."""
_PACKED = (one_configuration, copies, capacity, needs_configuration)
"""The families that a packing states by itself."""


@dataclass(frozen=True)
class Merged:
    """A problem without relations between clusters, as a packing; `main` are its stages without the one for ties."""

    columns: Columns
    packing: Packing
    main: tuple[Stage, ...]
    ties: Stage | None


def merged(problem: Problem) -> Merged | None:
    """`problem` as a packing; None where it has rows that a packing cannot state, or its sums would be too large."""
    columns = columns_of(problem)
    if any(family(columns).count for family in FAMILIES if family not in _PACKED):
        return None
    every = stages(columns)
    main = tuple(s for s in every if s.name != NAMES)
    total = _weighted(columns, main)
    if total is None:
        return None
    shape = problem.state.shape
    value = np.zeros(shape, dtype=np.int64)
    value[columns.z_workload, columns.z_configuration] = total[columns.first_z : columns.first_t]
    fixed = np.zeros(shape[1], dtype=np.int64)
    fixed[columns.y] = -total[: columns.first_z]
    packing = Packing(
        value=value,
        allowed=problem.eligible,
        request=problem.request,
        supply=problem.supply,
        cluster_of=problem.cluster_of,
        fixed=fixed,
        copies=np.array([d.copies for d in problem.demands], dtype=np.int64),
    )
    return Merged(columns, packing, main, next((s for s in every if s.name == NAMES), None))


def reach(columns: Columns, coefficient: Ints) -> int:
    """The most that a stage can add to or take from any plan: a workload counts once a copy, a cluster once."""
    problem = columns.problem
    z = np.abs(coefficient[columns.first_z : columns.first_t])
    largest_z = np.zeros(len(problem.demands), dtype=np.int64)
    np.maximum.at(largest_z, columns.z_workload, z)
    y = np.abs(coefficient[: columns.first_z])
    largest_y = np.zeros(len(problem.clusters), dtype=np.int64)
    np.maximum.at(largest_y, problem.cluster_of[columns.y], y)
    wanted = np.array([d.copies for d in problem.demands], dtype=np.int64)
    return int(largest_z @ wanted) + int(largest_y.sum())


def _weighted(columns: Columns, main: Sequence[Stage]) -> Ints | None:
    total: Ints = np.zeros(columns.count, dtype=np.int64)
    for stage in reversed(main):
        beyond = reach(columns, total)
        steps = stage.coefficient // int(np.gcd.reduce(stage.coefficient))
        if (2 * beyond + 1) * reach(columns, steps) + beyond >= LARGEST:
            return None
        total = total + (2 * beyond + 1) * steps
    return total
