"""The packing problem: which workloads run under which configuration of which cluster, for the most value.

Maximise the sum of `value` over chosen pairs less the `fixed` cost of used configurations, such that a cluster uses at
most one configuration, what runs under a configuration fits its supply kind by kind, and a workload is chosen at most
`copies` times, at most once a cluster.

A workload may stand for several that are alike, and a cluster likewise: `members` and `alike` say how many.

Owns the data, how supply is counted, and the count of what a plan is worth. Owns no search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.integer[Any]]

LEVELS = 512
"""Supplies are counted in at most this many steps a kind; coarser steps keep bounds valid and plans feasible."""
NONE = -1


@dataclass(frozen=True)
class Packing:
    """W workloads, G configurations of C clusters, K kinds of supply.

    Attributes:
        value: W x G, whole numbers; a pair of value 0 or less is never chosen.
        allowed: W x G, the pairs that may be chosen.
        request: W x K, not negative.
        supply: G x K, not negative.
        cluster_of: G, the cluster of each configuration, ascending and without holes.
        fixed: G, not negative, what using a configuration costs.
        copies: W, how often a workload may be chosen, on different clusters.
        members: W, how often a workload may be chosen on one cluster; once where this is not given.
        alike: C, how many clusters there are of each; one where this is not given. Beyond `master`, `table` and what
            works with them, packings do not know these two.
    """

    value: Whole
    allowed: Bools
    request: Ints
    supply: Ints
    cluster_of: Ints
    fixed: Ints
    copies: Ints
    members: Ints | None = None
    alike: Ints | None = None

    @property
    def workloads(self) -> int:
        """How many workloads there are."""
        return len(self.request)

    @property
    def configurations(self) -> int:
        """How many configurations there are."""
        return len(self.supply)

    @cached_property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.cluster_of[-1]) + 1 if len(self.cluster_of) else 0

    @cached_property
    def first(self) -> Ints:
        """C, the number of each cluster's first configuration."""
        return np.searchsorted(self.cluster_of, np.arange(self.clusters)).astype(np.int64)

    @cached_property
    def gain(self) -> Whole:
        """G x W, the value of pairs that are worth choosing and fit alone, else 0."""
        top = int(self.value.max(initial=0))
        kind = np.int16 if top < 2**15 else np.int32 if top < 2**31 else np.int64
        found = np.zeros((self.configurations, self.workloads), dtype=kind)
        for g in range(self.configurations):
            use = self.allowed[:, g] & (self.value[:, g] > 0) & (self.request <= self.supply[g]).all(axis=1)
            found[g, use] = self.value[use, g]
        return found

    @cached_property
    def kinds(self) -> Ints:
        """G x 2, the two scarcest kinds of each configuration; the same kind twice means that there is only one."""
        if self.request.shape[1] == 1:
            return np.zeros((self.configurations, 2), dtype=np.int64)
        wanted = self.request.sum(axis=0, dtype=np.float64)
        order = np.argsort(-wanted / np.maximum(self.supply, 1), axis=1, kind="stable")
        return np.sort(order[:, :2], axis=1).astype(np.int64)

    @cached_property
    def exact(self) -> bool:
        """Whether the steps are so fine that no request and no supply is rounded."""
        step = np.maximum(np.gcd.reduce(self.request, axis=0), 1)[self.kinds]
        return bool((self.unit == step).all())

    @cached_property
    def unit(self) -> Ints:
        """G x 2, the step in which each of those kinds is counted: exact where it can be."""
        step = np.maximum(np.gcd.reduce(self.request, axis=0), 1)[self.kinds]
        room = np.take_along_axis(self.supply, self.kinds, axis=1)
        found: Ints = np.maximum(step, step * (-(-room // (step * LEVELS))))
        return found


@dataclass(frozen=True)
class Plan:
    """What runs where: the configuration of each cluster (-1: none) and its workloads, ascending."""

    chosen: tuple[int, ...]
    packed: tuple[tuple[int, ...], ...]

    def pairs(self) -> list[tuple[int, int]]:
        """(workload, configuration), sorted."""
        return sorted((w, g) for g, packed in zip(self.chosen, self.packed, strict=True) for w in packed)


def worth(packing: Packing, g: int, workloads: Iterable[int]) -> int:
    """The value of running these workloads under configuration g."""
    found = list(workloads)
    if not found:
        return 0
    return int(packing.gain[g, found].sum(dtype=np.int64)) - int(packing.fixed[g])


def plan_value(packing: Packing, plan: Plan) -> int:
    """The value of a plan."""
    return sum(worth(packing, g, packed) for g, packed in zip(plan.chosen, plan.packed, strict=True) if packed)


def plan_of(packing: Packing, pairs: Iterable[tuple[int, int]]) -> Plan:
    """The plan that consists of these pairs."""
    chosen = [NONE] * packing.clusters
    packed: list[list[int]] = [[] for _ in range(packing.clusters)]
    for w, g in pairs:
        c = int(packing.cluster_of[g])
        chosen[c] = g
        packed[c].append(w)
    return Plan(tuple(chosen), tuple(tuple(sorted(p)) for p in packed))


def broken(packing: Packing, pairs: Iterable[tuple[int, int]]) -> list[str]:
    """The rules that these pairs break."""
    found = list(pairs)
    w = np.array([p[0] for p in found], dtype=np.int64)
    g = np.array([p[1] for p in found], dtype=np.int64)
    wrong = []
    if not packing.allowed[w, g].all():
        wrong.append("allowed")
    if (np.bincount(w, minlength=packing.workloads) > packing.copies).any():
        wrong.append("copies")
    used = np.unique(g)
    if len(np.unique(packing.cluster_of[used])) < len(used):
        wrong.append("one configuration")
    if len(set(zip(w.tolist(), packing.cluster_of[g].tolist(), strict=True))) < len(found):
        wrong.append("once a cluster")
    for k in range(packing.request.shape[1]):
        load = np.zeros(packing.configurations, dtype=np.int64)
        np.add.at(load, g, packing.request[w, k])
        if (load > packing.supply[:, k]).any():
            wrong.append(f"supply {k}")
    return wrong
