"""Classes: workloads, and clusters, that the problem cannot tell apart but by their names.

Two workloads are of one class where the problem says the same of both: where they may run, their scores there, what
they request, copies, priority, where git has them, what a move costs. Two clusters are of one class where they have
equally many configurations and, one by one in their order, these supply the same, are equally good for every workload
and equally new to git. Exchanging members of a class turns a plan into one that is as good.

Where workloads or clusters are related (`with`, `apart`, a spread rule, a limit of moves that may bind, a smallest
number of copies, a pair that is asked for), or requests differ by device, each is a class of its own.

Owns who belongs together. Owns neither how a class is solved nor what its members get (`handout.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gitops_ds.problem.model import Ints, Problem


@dataclass(frozen=True)
class Classes:
    """Classes are numbered by their first members.

    Attributes:
        workload: W, the class of each workload.
        cluster: C, the class of each cluster.
        first: G, the first configuration (of the first cluster of its class) that is like each configuration.
    """

    workload: Ints
    cluster: Ints
    first: Ints

    @cached_property
    def workloads(self) -> tuple[Ints, ...]:
        """The members of each class of workloads, ascending."""
        return _members(self.workload)

    @cached_property
    def clusters(self) -> tuple[Ints, ...]:
        """The members of each class of clusters, ascending."""
        return _members(self.cluster)

    @cached_property
    def first_workload(self) -> Ints:
        """W, the first workload of the class of each."""
        return np.array([several[0] for several in self.workloads], dtype=np.int64)[self.workload]

    @cached_property
    def configurations(self) -> Ints:
        """The configurations of the first cluster of each class, ascending."""
        return np.unique(self.first)

    @property
    def several(self) -> bool:
        """Whether any class has more than one member."""
        return len(self.workloads) < len(self.workload) or len(self.clusters) < len(self.cluster)

    def pairs(self, problem: Problem) -> int:
        """How many pairs of a class of workloads and a configuration of a class of clusters are eligible."""
        firsts = np.array([several[0] for several in self.workloads], dtype=np.int64)
        return int(problem.eligible[np.ix_(firsts, self.configurations)].sum())


def classes_of(problem: Problem) -> Classes:
    """The classes of a problem."""
    count = len(problem.clusters)
    own = np.arange(len(problem.configurations))
    if _related(problem):
        return Classes(np.arange(len(problem.demands)), np.arange(count), own)
    score = np.where(problem.eligible, problem.score, 0)
    workload = _numbered(_workload_keys(problem, score))
    cluster = _numbered(_cluster_keys(problem, score))
    start = np.searchsorted(problem.cluster_of, np.arange(count))
    leader = np.array([several[0] for several in _members(cluster)], dtype=np.int64)[cluster]
    return Classes(workload, cluster, start[leader[problem.cluster_of]] + own - start[problem.cluster_of])


def _related(problem: Problem) -> bool:
    rules = (problem.together, problem.apart, problem.spreads, problem.move_limits, problem.required)
    return problem.differs or any(rules) or any((d.min_copies or 1) > 1 for d in problem.demands)


def _workload_keys(problem: Problem, score: Ints) -> Iterable[Hashable]:
    arrays = (problem.eligible, score, problem.request, problem.incumbent, problem.move_cost[:, None])
    for w, demand in enumerate(problem.demands):
        yield demand.copies, demand.priority, *(array[w].tobytes() for array in arrays)


def _cluster_keys(problem: Problem, score: Ints) -> Iterable[Hashable]:
    eligible, points, incumbent = (np.ascontiguousarray(a.T) for a in (problem.eligible, score, problem.incumbent))
    for c, several in enumerate(problem.configurations_of):
        now = int(problem.configured[c])
        yield (
            several.index(now) if now in several else -1,
            int(problem.reconfigure_cost[c]),
            incumbent[c].tobytes(),
            tuple(problem.configurations[g].policy is None for g in several),
            *(array[list(several)].tobytes() for array in (eligible, points, problem.supply)),
        )


def _numbered(keys: Iterable[Hashable]) -> Ints:
    """The number of each key, in the order in which they first come."""
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


def _members(number: Ints) -> tuple[Ints, ...]:
    order = np.argsort(number, kind="stable")
    return tuple(np.split(order, np.cumsum(np.bincount(number))[:-1])) if len(number) else ()
