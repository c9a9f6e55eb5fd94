"""The main stages of the objective as one whole number a pair, and the problem as a packing of those numbers.

Owns the weights: each stage outweighs all that the later ones could make up for in any plan. Owns the packing of
classes too, in which one workload stands for all of its class and one cluster likewise. Owns no solving.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from gitops_ds.packing.model import Packing
from gitops_ds.problem.classes import Classes, classes_of
from gitops_ds.problem.columns import Columns, columns_of
from gitops_ds.problem.families import FAMILIES, capacity, copies, needs_configuration, one_configuration
from gitops_ds.problem.handout import assigned
from gitops_ds.problem.model import Ints, Pair, Problem
from gitops_ds.problem.objective import Stage, main_stages, names_stage
from gitops_ds.solution import StageResult

LARGEST = 2**45
"""The merged value of a whole plan stays below this: exact in whole numbers and in floating point."""
_PACKED = (one_configuration, copies, capacity, needs_configuration)
"""The families that a packing states by itself."""


@dataclass(frozen=True)
class Weighted:
    """A stage in the merged value: counted in `unit`s, `weight` each, with the most that all later ones can add."""

    stage: Stage
    unit: int
    weight: int
    beyond: int


@dataclass(frozen=True)
class Merged:
    """A problem without relations between clusters, as a packing; `main` are its stages without the one for ties."""

    columns: Columns
    packing: Packing
    main: tuple[Weighted, ...]

    @cached_property
    def ties(self) -> Stage:
        """The stage that decides ties."""
        return names_stage(self.columns)

    @cached_property
    def classes(self) -> Classes:
        """The classes of the problem."""
        return classes_of(self.columns.problem)

    @cached_property
    def classed(self) -> Packing:
        """The packing with one workload for each class of them, and one cluster for each class."""
        classes, packing = self.classes, self.packing
        if not classes.several:
            return packing
        w, g = np.array([several[0] for several in classes.workloads], dtype=np.int64), classes.configurations
        members = np.array([len(several) for several in classes.workloads], dtype=np.int64)
        return Packing(
            value=packing.value[np.ix_(w, g)],
            allowed=packing.allowed[np.ix_(w, g)],
            request=packing.request[w],
            supply=packing.supply[g],
            cluster_of=classes.cluster[packing.cluster_of[g]],
            fixed=packing.fixed[g],
            copies=packing.copies[w] * members,
            members=members,
            alike=np.array([len(several) for several in classes.clusters], dtype=np.int64),
        )

    @cached_property
    def tie_weight(self) -> Ints:
        """The stage for ties as a weight for each pair of the packing of classes."""
        columns = self.columns
        weight = np.zeros(self.packing.value.shape, dtype=np.int64)
        weight[columns.z_workload, columns.z_configuration] = self.ties.coefficient[columns.first_z : columns.first_t]
        w = np.array([several[0] for several in self.classes.workloads], dtype=np.int64)
        found: Ints = weight[np.ix_(w, self.classes.configurations)]
        return found

    def pairs(self, patterns: Iterable[tuple[int, Sequence[int]]]) -> tuple[Pair, ...]:
        """The pairs of patterns of the packing of classes, members of a class in the order of their names."""
        classes, filled = self.classes, dict[int, list[Ints]]()
        count = len(classes.workloads)
        for g, several in patterns:
            load = np.bincount(np.array(several, dtype=np.int64), minlength=count).astype(np.int64)
            filled.setdefault(int(classes.configurations[g]), []).append(load)
        return assigned(self.columns.problem, classes, filled)

    @cached_property
    def _keys(self) -> Ints:
        """One ascending number a z column."""
        keys: Ints = self.columns.z_workload * len(self.columns.y_of) + self.columns.z_configuration
        return keys

    def results(self, pairs: Iterable[Pair], bound: int) -> Iterator[StageResult]:
        """Values of the main stages of a plan, and what a proven bound on its merged value says of each.

        As long as a stage meets its bound, the next one is bounded by what is left of the merged bound.
        """
        chosen = list(pairs)
        left: int | None = bound
        for one in self.main:
            value = self.value(one.stage, chosen)
            if left is None:
                yield StageResult(one.stage.name, value, inf)
                continue
            most = max((left + one.beyond) // one.weight * one.unit, value)
            yield StageResult(one.stage.name, value, float(most))
            left = left - one.weight * (value // one.unit) if most == value else None

    def value(self, stage: Stage, pairs: Sequence[Pair]) -> int:
        """A stage's value of a plan."""
        columns = self.columns
        keys = np.array([w * len(columns.y_of) + g for w, g in pairs], dtype=np.int64)
        z = columns.first_z + np.searchsorted(self._keys, keys)
        y = columns.y_of[sorted({p.configuration for p in pairs})]
        return int(stage.coefficient[z].sum()) + int(stage.coefficient[y].sum())


def merged(problem: Problem) -> Merged | None:
    """`problem` as a packing; None where it has rows that a packing cannot state, or its sums would be too large."""
    columns = columns_of(problem)
    if problem.differs or any(family(columns).count for family in FAMILIES if family not in _PACKED):
        return None
    main = _weighted(columns, main_stages(columns))
    if main is None:
        return None
    total = sum((w.weight * (w.stage.coefficient // w.unit) for w in main), np.zeros(columns.count, dtype=np.int64))
    shape = problem.state.shape
    value = np.zeros(shape, dtype=np.int64)
    value[columns.z_workload, columns.z_configuration] = total[columns.first_z : columns.first_t]
    fixed = np.zeros(shape[1], dtype=np.int64)
    fixed[columns.y] = -total[: columns.first_z]
    request, supply = problem.request, problem.supply
    if not problem.kinds:
        request, supply = np.zeros((shape[0], 1), dtype=np.int64), np.zeros((shape[1], 1), dtype=np.int64)
    packing = Packing(
        value=value,
        allowed=problem.eligible,
        request=request,
        supply=supply,
        cluster_of=problem.cluster_of,
        fixed=fixed,
        copies=np.array([d.copies for d in problem.demands], dtype=np.int64),
    )
    return Merged(columns, packing, main)


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


def _weighted(columns: Columns, main: Sequence[Stage]) -> tuple[Weighted, ...] | None:
    """The weights of the stages; None where their sum would not be exact."""
    found: list[Weighted] = []
    beyond = 0
    for stage in reversed(main):
        unit = int(np.gcd.reduce(stage.coefficient))
        found.append(Weighted(stage, unit, 2 * beyond + 1, beyond))
        beyond += found[-1].weight * reach(columns, stage.coefficient // unit)
        if beyond >= LARGEST:
            return None
    return tuple(reversed(found))
