"""`Status`: each thing that git renders, and what of it is not in place on the hub.

Owns the value, and which finding is worse than which. Owns no judgement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, get_args

from gitops_ds.ids import ClusterName, IntentId, Namespace, PlacementName, PolicyId, ScoreName, WorkloadId
from gitops_ds.inventory import Condition, Work
from gitops_ds.phases import Transit

Code = Literal[
    "misconfigured",
    "lost",
    "differs",
    "unsatisfied",
    "elsewhere",
    "noncompliant",
    "missing",
    "undecided",
    "gate",
    "work",
    "pending",
    "leaving",
]
CODES: Final[tuple[Code, ...]] = get_args(Code)
"""From the worst to what goes by itself."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not in place: `code` is one word for machines, `cluster` the one that it is about, if any."""

    code: Code
    text: str
    cluster: ClusterName | None = None


@dataclass(frozen=True, slots=True)
class GateState:
    """The claim that lets a workload in, the values that do, and the one that the cluster has (None: none)."""

    claim: str
    values: tuple[str, ...]
    value: str | None

    @property
    def is_open(self) -> bool:
        """Whether it lets the workload in."""
        return self.value in self.values


@dataclass(frozen=True, slots=True)
class ScoreAge:
    """How old one score of a cluster is; `age` is None where nothing tells, `found` False where the hub has none."""

    score: ScoreName
    age: timedelta | None
    stale: bool
    found: bool


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy that git wants: where, under which policy (None: the cluster as it is), and how far it has got.

    `gate` is None where nothing has to let it in, `work` where the hub has no ManifestWork for it.
    """

    cluster: ClusterName
    policy: PolicyId | None
    gate: GateState | None
    work: Work | None
    scores: tuple[ScoreAge, ...] = ()

    @property
    def is_available(self) -> bool:
        """Whether it runs, as far as the hub says."""
        return self.work is not None and self.work.applied and self.work.available and not self.work.ending


@dataclass(frozen=True, slots=True)
class WorkloadState:
    """A workload with its Placement. `decided` are the clusters that the hub chose; None: it has not chosen yet."""

    intent: IntentId
    workload: WorkloadId
    placement: PlacementName
    copies: tuple[Copy, ...]
    decided: tuple[ClusterName, ...] | None
    conditions: tuple[Condition, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster with the policy that git binds to it. `compliance` is of that very policy; None: not told yet."""

    intent: IntentId
    cluster: ClusterName
    policy: PolicyId
    placement: PlacementName
    binding: str
    compliance: str | None
    decided: tuple[ClusterName, ...] | None
    conditions: tuple[Condition, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class ObjectState:
    """Any other object that git renders."""

    kind: str
    namespace: Namespace
    name: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, order=True)
class Leftover:
    """An object of ours on the hub that git does not render any more."""

    kind: str
    namespace: Namespace
    name: str
    intent: str


@dataclass(frozen=True, slots=True)
class Status:
    """What is in place and what is not. Every tuple is sorted.

    Attributes:
        workloads, clusters, objects: all that git renders.
        manifests: what policies/ and workloads/ say and the hub does not.
        leftovers: what is on the hub and not in git: not pruned yet.
        transit: what the lock says of a move that is under way; None: there is none.
        notes: what a reader should know, and what does not count.
    """

    workloads: tuple[WorkloadState, ...] = ()
    clusters: tuple[ClusterState, ...] = ()
    objects: tuple[ObjectState, ...] = ()
    manifests: tuple[Finding, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    transit: Transit | None = None
    notes: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[WorkloadState | ClusterState | ObjectState, ...]:
        """Everything that git renders."""
        return (*self.workloads, *self.clusters, *self.objects)

    @property
    def missing(self) -> tuple[WorkloadState | ClusterState | ObjectState, ...]:
        """What is not in place, the worst first."""
        return tuple(sorted((one for one in self.items if one.findings), key=lambda one: _rank(one.findings)))

    @property
    def in_place(self) -> bool:
        """Whether the hub is as git has it."""
        return not any(self._open())

    def _open(self) -> Iterator[object]:
        yield from self.missing
        yield from self.manifests
        yield from self.leftovers


def _rank(findings: tuple[Finding, ...]) -> int:
    return min(CODES.index(one.code) for one in findings)
