"""The columns of the model: what is decided, in an order that only names decide.

    y[c,p]        1 where cluster c is configured by p
    z[w,c,p]      1 where a copy of workload w runs on cluster c under p; only for eligible pairs
    t[w,key]      the smallest number of copies of w in any group of a spread rule
    n[w]          1 where w runs at all; only for workloads with a smallest number of copies beyond 1
    e[w,key,2^j]  a binary digit of the excess: by how much the copies of w break a soft spread rule

Owns numbering, bounds and names of columns. Owns no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gitops_ds.problem.model import Ints, Pair, Problem


@dataclass(frozen=True)
class Columns:
    """Numbers of columns: first y by configuration, then z by workload and configuration, then t, n and e.

    Attributes:
        y: the configurations that have a column; y_of: G, the column of each (-1: no pair may use it).
        z_workload, z_configuration: one entry a z column, in order; the first z column is `first_z`.
        t: indices of the spread rules, the hard ones first.
        n: the workloads that have a smallest number of copies beyond 1.
        e: (index of the soft rule, power of two), one entry a digit.
    """

    problem: Problem
    y: Ints
    y_of: Ints
    z_workload: Ints
    z_configuration: Ints
    t: tuple[int, ...]
    n: tuple[int, ...] = ()
    e: tuple[tuple[int, int], ...] = ()

    @property
    def first_z(self) -> int:
        """The number of the first z column."""
        return len(self.y)

    @property
    def first_t(self) -> int:
        """The number of the first t column."""
        return self.first_z + len(self.z_workload)

    @property
    def first_n(self) -> int:
        """The number of the first n column."""
        return self.first_t + len(self.t)

    @property
    def first_e(self) -> int:
        """The number of the first e column."""
        return self.first_n + len(self.n)

    @property
    def count(self) -> int:
        """How many columns there are."""
        return self.first_e + len(self.e)

    @cached_property
    def upper(self) -> npt.NDArray[np.float64]:
        """Upper bounds; every lower bound is 0 and every column is whole."""
        bound = np.ones(self.count)
        for i, rule in enumerate(self.t):
            bound[self.first_t + i] = self.problem.demands[self.problem.spreads[rule].workload].copies
        return bound

    @cached_property
    def z_cluster(self) -> Ints:
        """The cluster of each z column."""
        found: Ints = self.problem.cluster_of[self.z_configuration]
        return found

    def z_of_workload(self, workload: int) -> Ints:
        """The z columns (from 0) of one workload: they stand together."""
        first, last = np.searchsorted(self.z_workload, [workload, workload + 1])
        return np.arange(first, last)

    def z_of(self, pair: Pair) -> int | None:
        """Which z column (from 0) decides the pair; None where it is not eligible."""
        found = np.nonzero((self.z_workload == pair.workload) & (self.z_configuration == pair.configuration))[0]
        return int(found[0]) if len(found) else None

    def label(self, configuration: int) -> str:
        """A configuration as names of columns and rows have it."""
        found = self.problem.configurations[configuration]
        return f"{found.cluster},{found.policy.name if found.policy else 'as it is'}"

    def name(self, column: int) -> str:
        """What the column decides, as text."""
        problem = self.problem
        if column < self.first_z:
            return f"y[{self.label(int(self.y[column]))}]"
        if column < self.first_t:
            z = column - self.first_z
            workload = problem.demands[int(self.z_workload[z])].workload
            return f"z[{workload},{self.label(int(self.z_configuration[z]))}]"
        if column < self.first_n:
            return f"t[{self._rule(self.t[column - self.first_t])}]"
        if column < self.first_e:
            return f"n[{problem.demands[self.n[column - self.first_n]].workload}]"
        rule, power = self.e[column - self.first_e]
        return f"e[{self._rule(rule)},{power}]"

    def _rule(self, number: int) -> str:
        rule = self.problem.spreads[number]
        return f"{self.problem.demands[rule.workload].workload},{rule.key}"


def columns_of(problem: Problem) -> Columns:
    """The columns of `problem`."""
    z_workload, z_configuration = np.nonzero(problem.eligible)
    used = np.unique(z_configuration)
    y_of = np.full(len(problem.configurations), -1, dtype=np.int64)
    y_of[used] = np.arange(len(used))
    hard = [i for i, rule in enumerate(problem.spreads) if rule.hard]
    soft = [i for i, rule in enumerate(problem.spreads) if not rule.hard]
    return Columns(
        problem,
        used,
        y_of,
        z_workload.astype(np.int64),
        z_configuration.astype(np.int64),
        (*hard, *soft),
        tuple(w for w, demand in enumerate(problem.demands) if (demand.min_copies or 1) > 1),
        tuple((i, 2**j) for i in soft for j in range(_most_excess(problem, i).bit_length())),
    )


def _most_excess(problem: Problem, rule: int) -> int:
    """The most by which the groups of a rule can differ beyond its skew."""
    found = problem.spreads[rule]
    if len(found.groups) < 2:
        return 0
    return max(min(problem.demands[found.workload].copies, len(problem.clusters)) - found.max_skew, 0)
