"""The values of a placement problem: demands, configurations, reasons, and the `Problem` that holds them as arrays.

Owns the sets and data of section "The placement problem" of docs/model.md, sorted by name once and for all, so that an
index means the same thing everywhere. Owns no constraint (`families.py`), no score look-up (`scores.py`) and no solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gitops_ds.ids import ClusterName, Device, IntentId, PlacementName, PolicyId, ResourceKind, WorkloadId, WorkloadName

if TYPE_CHECKING:
    from gitops_ds.intent.load import LoadedIntent
    from gitops_ds.intent.placement import PlacedWorkload
    from gitops_ds.inventory import Cluster

Ints = npt.NDArray[np.int64]
States = npt.NDArray[np.uint8]

POINT = 1000
"""Scores are whole thousandths of a point, so that sums of them are exact."""


class State(IntEnum):
    """Why a workload may not run on a cluster under a configuration; the smallest that holds is said."""

    ELIGIBLE = 0
    NOT_A_CANDIDATE = 1
    """The intent does not list this configuration."""
    NO_SCORE = 2
    STALE = 3
    TAINT = 4
    """The cluster is unavailable, not accepted, or has a taint that is not tolerated."""
    SELECTOR = 5
    """pin, allow or avoid excludes the cluster."""
    CAPACITY = 6
    """Even an empty cluster supplies less than one copy requests."""
    HELD = 7
    """The cluster stays as it is for a workload that is kept there: with its configuration, or apart from others."""
    KEPT = 8
    """The workload itself is kept where it is."""


class Pair(NamedTuple):
    """A workload on a configuration, by their indices in the problem."""

    workload: int
    configuration: int


@dataclass(frozen=True, slots=True)
class Demand:
    """One workload to place.

    `requests` is what one copy needs, `requests_on` what it needs instead where the cluster is configured as one of
    these devices. `copies` is the most that are wanted; with `min_copies`, fewer than that are as good as none.
    `incumbents` are the clusters that git has it on now.
    """

    workload: WorkloadId
    intent: IntentId
    app: str
    placement: PlacementName
    requests: Mapping[ResourceKind, Fraction]
    copies: int = 1
    priority: int = 0
    incumbents: tuple[ClusterName, ...] = ()
    requests_on: Mapping[Device, Mapping[ResourceKind, Fraction]] = field(default_factory=dict)
    min_copies: int | None = None

    @property
    def wanted(self) -> int:
        """With fewer copies than this, the workload counts as unplaced."""
        return self.copies if self.min_copies is None else self.min_copies


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way a cluster may be configured: under a candidate policy, or as it is (`policy` is None)."""

    cluster: ClusterName
    policy: PolicyId | None
    device: Device
    supply: Mapping[ResourceKind, Fraction]


@dataclass(frozen=True, slots=True)
class Incumbent:
    """What git holds now: the clusters of each workload and the policy of each configured cluster.

    `known` are further clusters that git's lock knows of, though nothing is placed or configured there.
    """

    placements: Mapping[WorkloadId, tuple[ClusterName, ...]] = field(default_factory=dict)
    policies: Mapping[ClusterName, PolicyId] = field(default_factory=dict)
    known: frozenset[ClusterName] = frozenset()

    @property
    def clusters(self) -> frozenset[ClusterName]:
        """Every cluster that git knows of."""
        return self.known.union(self.policies, *self.placements.values())


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """Copies of a workload over groups of clusters: no two groups may differ by more than `max_skew`.

    A rule that is not hard may be broken: what it is broken by, the excess, is kept small by an objective of its own.
    """

    workload: int
    key: str
    groups: tuple[tuple[str, tuple[int, ...]], ...]
    """(value, indices of clusters), sorted."""
    max_skew: int
    hard: bool


@dataclass(frozen=True, slots=True)
class MoveLimit:
    """The most copies that one plan may move among some workloads, those aside that have to move or are new."""

    workloads: tuple[int, ...]
    most: int


@dataclass(frozen=True)
class Problem:
    """What is to be decided. W workloads, C clusters, G configurations, K resource kinds.

    Attributes:
        demands: W, sorted by workload.
        clusters: C names, sorted.
        configurations: G, sorted by cluster and policy; "as it is" comes before the policies.
        cluster_of: G indices into `clusters`.
        kinds: K, sorted.
        score: W x G, the blended score in thousandths of a point; 0 where not eligible.
        state: W x G, `State`.
        request: W x K, whole numbers in a unit of each kind of its own (`unit`); W x V x K where requests differ by
            device. Read it with `need`. supply: G x K, in the same units.
        variant: G, which of the V requests of a workload holds under the configuration; empty where they do not differ.
        incumbent: W x C, whether git has the workload on the cluster now.
        configured: C, the configuration that git holds for the cluster, -1 for none or one that is no candidate now.
        goal: "place-first" or "score-first".
        move_cost: W and reconfigure_cost: C, in thousandths of a point.
        together: groups of workloads on the same clusters; apart: groups of which a cluster holds at most one.
        spreads: spread rules.
        move_limits: how many copies may move.
        required: pairs that every plan has; one that is not eligible leaves no plan.
        pins: the label that selects each cluster, None where its name is selected by CEL.
        candidates: the clusters of each intent.
        facts: what the hub says of each cluster, for the reasons; nothing is decided by it.
        lost: clusters that an intent names and git knows, but the hub has no more.
        warnings: what a reader should know about the data, sorted.
    """

    intents: Mapping[IntentId, LoadedIntent]
    demands: tuple[Demand, ...]
    clusters: tuple[ClusterName, ...]
    configurations: tuple[Configuration, ...]
    cluster_of: Ints
    kinds: tuple[ResourceKind, ...]
    unit: tuple[Fraction, ...]
    score: Ints
    state: States
    request: Ints
    supply: Ints
    incumbent: npt.NDArray[np.bool_]
    configured: Ints
    goal: str
    move_cost: Ints
    reconfigure_cost: Ints
    variant: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    together: tuple[tuple[int, ...], ...] = ()
    apart: tuple[tuple[int, ...], ...] = ()
    spreads: tuple[SpreadRule, ...] = ()
    move_limits: tuple[MoveLimit, ...] = ()
    required: tuple[Pair, ...] = ()
    pins: Mapping[ClusterName, str | None] = field(default_factory=dict)
    candidates: Mapping[IntentId, frozenset[ClusterName]] = field(default_factory=dict)
    facts: Mapping[ClusterName, Cluster] = field(default_factory=dict)
    time_limit: float = 60.0
    gap: float = 0.0
    lost: tuple[ClusterName, ...] = ()
    warnings: tuple[str, ...] = ()

    @cached_property
    def asked(self) -> Mapping[WorkloadId, PlacedWorkload]:
        """What the intents say of each workload."""
        return {
            WorkloadId(key.namespace, WorkloadName(one.name)): one
            for key, loaded in self.intents.items()
            for one in loaded.intent.spec.workloads
        }

    @cached_property
    def eligible(self) -> npt.NDArray[np.bool_]:
        """W x G: which pairs may be chosen."""
        found: npt.NDArray[np.bool_] = self.state == State.ELIGIBLE
        return found

    @cached_property
    def running(self) -> npt.NDArray[np.bool_]:
        """W: whether git has the workload on a cluster of the problem."""
        found: npt.NDArray[np.bool_] = np.any(self.incumbent, axis=1)
        return found

    @cached_property
    def configurations_of(self) -> tuple[tuple[int, ...], ...]:
        """C: the configurations of each cluster."""
        found: list[list[int]] = [[] for _ in self.clusters]
        for g, c in enumerate(self.cluster_of.tolist()):
            found[c].append(g)
        return tuple(map(tuple, found))

    def amount(self, kind: int, units: int) -> Fraction:
        """`units` of kind number `kind` in the base unit."""
        return units * self.unit[kind]

    def need(self, workload: int | Ints, configuration: int | Ints) -> Ints:
        """What one copy of each workload requests under each configuration, by kind, in units.

        Both are numbers, or both are arrays of one length, n: the answer is K, or n x K.
        """
        found: Ints = self.request[workload, self.variant[configuration]] if self.differs else self.request[workload]
        return found

    @property
    def differs(self) -> bool:
        """Whether what a workload requests differs by the configuration."""
        return self.request.ndim > 2

    def may_move(self, limit: MoveLimit) -> int:
        """How many copies on clusters that are new to their workloads the limit allows.

        That is its number, or what a place that is lost or may not be used any more forces, where that is more; and
        the copies that were not there before. A workload that git has nowhere is not counted at all.
        """
        forced = new = 0
        for w in limit.workloads:
            demand = self.demands[w]
            open_here = np.unique(self.cluster_of[self.eligible[w]])
            stay = int(self.incumbent[w, open_here].sum())
            if len(open_here) and self.running[w]:
                forced += max(min(len(demand.incumbents), demand.copies) - stay, 0)
                new += max(demand.copies - len(demand.incumbents), 0)
        return max(limit.most, forced) + new

    def requiring(self, pair: Pair) -> Problem:
        """The problem whose plans all have `pair` as well; where it is not eligible, there is no plan."""
        return replace(self, required=(*self.required, pair))

    def allowing(self, workload: int, configuration: int) -> Problem:
        """The problem in which one pair may be used whatever the data says against it, if the configuration holds it.

        What is kept where it is, or held for what is kept, stays so.
        """
        fits = (self.need(workload, configuration) <= self.supply[configuration]).all()
        if not fits or self.state[workload, configuration] in (State.HELD, State.KEPT):
            return self
        state = self.state.copy()
        state[workload, configuration] = State.ELIGIBLE
        return replace(self, state=state)

    def keeping(self, kept: Mapping[int, tuple[int, ...]]) -> Problem:
        """The problem that is left when workloads are kept where they are: index to the configurations they run under.

        They take no part in it any more; what they need is taken from their configuration as far as it goes, and
        their cluster keeps that configuration. Workloads that must be apart from them stay away from their clusters;
        workloads that must be with them may run where they are, if that is one cluster, and nowhere else.
        """
        state, supply = self.state.copy(), self.supply.copy()
        for w in kept:
            state[w, state[w] == State.ELIGIBLE] = State.KEPT
        for w, places in kept.items():
            for g in places:
                supply[g] = np.maximum(supply[g] - self.need(w, g), 0)
                others = [other for other in self.configurations_of[int(self.cluster_of[g])] if other != g]
                _hold(state, range(len(self.demands)), others)
        self._keep_apart(state, kept)
        self._keep_together(state, kept)
        mark_too_big(state, self.request, self.variant, supply)
        left = (tuple(w for w in group if w not in kept) for group in self.together)
        return replace(self, state=state, supply=supply, together=tuple(group for group in left if len(group) > 1))

    def _keep_apart(self, state: States, kept: Mapping[int, tuple[int, ...]]) -> None:
        for group in self.apart:
            for w in group:
                here = self.cluster_of[list(kept.get(w, ()))]
                _hold(state, group, np.nonzero(np.isin(self.cluster_of, here))[0])

    def _keep_together(self, state: States, kept: Mapping[int, tuple[int, ...]]) -> None:
        for group in self.together:
            for w in group:
                if w in kept:
                    here = np.unique(self.cluster_of[list(kept[w])])
                    away = (
                        ~np.isin(self.cluster_of, here) if len(here) == 1 else np.ones(len(self.cluster_of), np.bool_)
                    )
                    _hold(state, group, np.nonzero(away)[0])


def _hold(state: States, workloads: Sequence[int], configurations: Sequence[int] | Ints) -> None:
    """Mark, in place, the eligible pairs of these workloads and configurations as held."""
    rows, columns = np.ix_(np.asarray(workloads, dtype=np.int64), np.asarray(configurations, dtype=np.int64))
    block = state[rows, columns]
    state[rows, columns] = np.where(block == State.ELIGIBLE, State.HELD, block)


def mark_too_big(state: States, request: Ints, variant: Ints, supply: Ints) -> None:
    """Mark, in place, the eligible pairs where even an empty cluster supplies less than one copy requests."""
    every = request if request.ndim > 2 else request[:, None]
    for v in range(every.shape[1]):
        here = np.nonzero(variant == v)[0] if request.ndim > 2 else np.arange(len(supply))
        block = state[:, here]
        for k in range(every.shape[2]):
            short = every[:, v, k][:, None] > supply[here, k][None, :]
            block[short & (block == State.ELIGIBLE)] = State.CAPACITY
        state[:, here] = block
