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

from gitops_ds.ids import ClusterName, Device, IntentId, PlacementName, PolicyId, ResourceKind, WorkloadId

if TYPE_CHECKING:
    from gitops_ds.intent.load import LoadedIntent

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
    """One workload to place. `incumbents` are the clusters that git has it on now."""

    workload: WorkloadId
    intent: IntentId
    app: str
    placement: PlacementName
    requests: Mapping[ResourceKind, Fraction]
    copies: int = 1
    priority: int = 0
    incumbents: tuple[ClusterName, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way a cluster may be configured: under a candidate policy, or as it is (`policy` is None)."""

    cluster: ClusterName
    policy: PolicyId | None
    device: Device
    supply: Mapping[ResourceKind, Fraction]


@dataclass(frozen=True, slots=True)
class Incumbent:
    """What git holds now: the clusters of each workload and the policy of each configured cluster."""

    placements: Mapping[WorkloadId, tuple[ClusterName, ...]] = field(default_factory=dict)
    policies: Mapping[ClusterName, PolicyId] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """Copies of a workload over groups of clusters: no two groups may differ by more than `max_skew`."""

    workload: int
    key: str
    groups: tuple[tuple[str, tuple[int, ...]], ...]
    """(value, indices of clusters), sorted."""
    max_skew: int
    hard: bool


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
        request: W x K and supply: G x K, whole numbers in a unit of each kind of its own (`unit`).
        incumbent: W x C, whether git has the workload on the cluster now.
        configured: C, the configuration that git holds for the cluster, -1 for none or one that is no candidate now.
        goal: "place-first" or "score-first".
        move_cost: W and reconfigure_cost: C, in thousandths of a point.
        together: groups of workloads on the same clusters; apart: groups of which a cluster holds at most one.
        spreads: spread rules.
        required: pairs that every plan has; one that is not eligible leaves no plan.
        pins: the label that selects each cluster, None where its name is selected by CEL.
        candidates: the clusters of each intent.
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
    together: tuple[tuple[int, ...], ...] = ()
    apart: tuple[tuple[int, ...], ...] = ()
    spreads: tuple[SpreadRule, ...] = ()
    required: tuple[Pair, ...] = ()
    pins: Mapping[ClusterName, str | None] = field(default_factory=dict)
    candidates: Mapping[IntentId, frozenset[ClusterName]] = field(default_factory=dict)
    time_limit: float = 60.0
    gap: float = 0.0
    warnings: tuple[str, ...] = ()

    @cached_property
    def eligible(self) -> npt.NDArray[np.bool_]:
        """W x G: which pairs may be chosen."""
        found: npt.NDArray[np.bool_] = self.state == State.ELIGIBLE
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

    def requiring(self, pair: Pair) -> Problem:
        """The problem whose plans all have `pair` as well; where it is not eligible, there is no plan."""
        return replace(self, required=(*self.required, pair))

    def allowing(self, workload: int, configuration: int) -> Problem:
        """The problem in which one pair may be used whatever the data says against it, if the configuration holds it.

        What is kept where it is, or held for what is kept, stays so.
        """
        fits = (self.request[workload] <= self.supply[configuration]).all()
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
                supply[g] = np.maximum(supply[g] - self.request[w], 0)
                others = [other for other in self.configurations_of[int(self.cluster_of[g])] if other != g]
                _hold(state, range(len(self.demands)), others)
        self._keep_apart(state, kept)
        self._keep_together(state, kept)
        mark_too_big(state, self.request, supply)
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


def mark_too_big(state: States, request: Ints, supply: Ints) -> None:
    """Mark, in place, the eligible pairs where even an empty cluster supplies less than one copy requests."""
    for k in range(request.shape[1]):
        short = request[:, k][:, None] > supply[:, k][None, :]
        state[short & (state == State.ELIGIBLE)] = State.CAPACITY
