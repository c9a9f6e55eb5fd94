"""`Inventory`: what the hub (or a snapshot of it) and the repository's policies hold, as plain frozen values.

Owns the shape of the facts and the look-ups over them. Owns no reading of anything (`hub/`), no judgement of freshness
or eligibility (`problem/`), and no unit of quantities beyond the text that Kubernetes uses (`quantity.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

from gitops_ds.errors import Source
from gitops_ds.ids import (
    HUB,
    ClusterName,
    Namespace,
    PlacementName,
    PolicyId,
    PolicyName,
    ScoreName,
    WorkloadId,
    WorkloadName,
)

NOWHERE = Source("")


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A taint of a ManagedCluster; `effect` is NoSelect, PreferNoSelect or NoSelectIfNew."""

    key: str
    value: str = ""
    effect: str = "NoSelect"
    time_added: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A ManagedCluster. `available` is None where the hub has not said; the quantities are Kubernetes' text."""

    name: ClusterName
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    accepted: bool = True
    available: bool | None = None
    allocatable: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of a metrics source: what it is the score of, by the DSF's placeholders (`app`, `device`, ...).

    `value` is exact, and None where the sample is no number; `seen_at` is the sample's own time.
    """

    labels: Mapping[str, str]
    value: Fraction | None
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class ScoreObject:
    """An AddOnPlacementScore of one cluster, or what another source has instead: then `samples` stand for the items.

    `items` are (dimension, value) in the order read, duplicates and values out of range included: the rules for them
    belong to the problem. `seen_at` is the newest sign of life of the *scores* (managedFields and conditions; never
    the creation of the object, which says nothing of its status); None where the source shows none. `unreadable` says
    what is wrong with an object that a live hub holds and nobody can read: it has no items then.
    """

    cluster: ClusterName
    name: ScoreName
    items: tuple[tuple[str, int], ...]
    valid_until: datetime | None = None
    seen_at: datetime | None = None
    source: Source = field(default=NOWHERE, compare=False)
    unreadable: str = ""
    origin: str = HUB
    samples: tuple[Sample, ...] = ()

    @property
    def values(self) -> tuple[int | Fraction, ...]:
        """Every number in it, whatever it is the score of."""
        return (*(value for _, value in self.items), *(s.value for s in self.samples if s.value is not None))


@dataclass(frozen=True, slots=True)
class Policy:
    """An OCM Policy: labels and annotations say what it supplies; `compliance` is per cluster, by the hub's status."""

    namespace: Namespace
    name: PolicyName
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    disabled: bool = False
    compliance: Mapping[ClusterName, str] = field(default_factory=dict)
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def id(self) -> PolicyId:
        """Namespace and name."""
        return PolicyId(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Workload:
    """A ManifestWorkReplicaSet: labels and annotations say what it requests, `manifests` are the objects it carries."""

    namespace: Namespace
    name: WorkloadName
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    placement_refs: tuple[PlacementName, ...] = ()
    manifests: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def id(self) -> WorkloadId:
        """Namespace and name."""
        return WorkloadId(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class ClusterSet:
    """A ManagedClusterSet: by `cluster.open-cluster-management.io/clusterset` label, or by a label selector.

    `match_labels` is None for the exclusive kind (the set label counts) and a mapping (empty: all clusters) for the
    selector kind; `match_expressions` are (key, operator, values).
    """

    name: str
    match_labels: Mapping[str, str] | None = None
    match_expressions: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class SetBinding:
    """A ManagedClusterSetBinding: `cluster_set` may be selected from `namespace`."""

    namespace: Namespace
    cluster_set: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in an object's status: `status` is True, False or Unknown, `since` its last transition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExistingPlacement:
    """A Placement that is on the hub already, whoever made it."""

    namespace: Namespace
    name: PlacementName
    labels: Mapping[str, str] = field(default_factory=dict)
    source: Source = field(default=NOWHERE, compare=False)
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class ExistingBinding:
    """A PlacementBinding that is on the hub already, whoever made it."""

    namespace: Namespace
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class PlacementResult:
    """What the hub decided for one Placement: the clusters of all its PlacementDecision slices, sorted."""

    namespace: Namespace
    placement: PlacementName
    clusters: tuple[ClusterName, ...]


@dataclass(frozen=True, slots=True, order=True)
class Work:
    """The ManifestWork by which a ManifestWorkReplicaSet runs on one cluster, as far as it got there.

    `applied` and `available` are what the cluster said of the work as it is now; `ending`: it is being deleted.
    """

    workload: WorkloadId
    cluster: ClusterName
    applied: bool = False
    available: bool = False
    ending: bool = False


@dataclass(frozen=True, slots=True)
class Scorer:
    """A DynamicScorer: which score it writes and how it names the items."""

    namespace: Namespace
    name: str
    score: ScoreName
    dimension_format: str
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An object that was read past, and why (an unknown kind is no fault; a malformed one may be)."""

    what: str
    why: str


@dataclass(frozen=True)
class Inventory:
    """Everything that a plan may look at. Every tuple is sorted by name; no name stands in it twice.

    `placement_has_cel` says whether the hub's Placement CRD is known to have `celSelector`; `captured_at` is the
    instant of a snapshot, None for a live hub or a snapshot that does not say. `scores` are the hub's alone; `metrics`
    are those of the further sources, whose names `sources` holds once they have been read.
    """

    clusters: tuple[Cluster, ...] = ()
    scores: tuple[ScoreObject, ...] = ()
    policies: tuple[Policy, ...] = ()
    workloads: tuple[Workload, ...] = ()
    cluster_sets: tuple[ClusterSet, ...] = ()
    set_bindings: tuple[SetBinding, ...] = ()
    placements: tuple[ExistingPlacement, ...] = ()
    bindings: tuple[ExistingBinding, ...] = ()
    results: tuple[PlacementResult, ...] = ()
    works: tuple[Work, ...] = ()
    scorers: tuple[Scorer, ...] = ()
    metrics: tuple[ScoreObject, ...] = ()
    sources: tuple[str, ...] = ()
    placement_has_cel: bool = False
    captured_at: datetime | None = None
    skipped: tuple[Skipped, ...] = ()

    @cached_property
    def cluster(self) -> Mapping[ClusterName, Cluster]:
        """The clusters by name."""
        return {c.name: c for c in self.clusters}

    @cached_property
    def policy(self) -> Mapping[PolicyId, Policy]:
        """The policies by namespace and name."""
        return {p.id: p for p in self.policies}

    @cached_property
    def workload(self) -> Mapping[WorkloadId, Workload]:
        """The workloads by namespace and name."""
        return {w.id: w for w in self.workloads}

    @cached_property
    def score(self) -> Mapping[tuple[ClusterName, ScoreName], ScoreObject]:
        """The hub's score objects by cluster and score name."""
        return {(s.cluster, s.name): s for s in self.scores}

    @cached_property
    def metric(self) -> Mapping[tuple[str, ClusterName, ScoreName], ScoreObject]:
        """The score objects of the further sources by source, cluster and score name."""
        return {(s.origin, s.cluster, s.name): s for s in self.metrics}

    def score_from(self, origin: str, cluster: ClusterName, name: ScoreName) -> ScoreObject | None:
        """The score object of the hub, or of the source called `origin`."""
        return self.score.get((cluster, name)) if origin == HUB else self.metric.get((origin, cluster, name))

    def bound_sets(self, namespace: Namespace) -> tuple[str, ...]:
        """The cluster sets that Placements in `namespace` may select from, sorted."""
        return tuple(b.cluster_set for b in self.set_bindings if b.namespace == namespace)

    def absence(self, kind: str) -> str:
        """Why there are no objects of `kind` at all; "" where the hub has the kind."""
        return next((skipped.why for skipped in self.skipped if skipped.what == kind), "")
