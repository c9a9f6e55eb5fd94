"""`Blueprint`: all that is rendered, in names: which Placement selects which clusters, which policy each cluster has.

It is what the lock keeps, so that the tree can be rendered again with no hub and no solver. Owns the value. Owns
neither how it is decided (`reconcile.py`) nor how it looks as objects (`manifests/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_ds.ids import ClusterName, IntentId, PlacementName, PolicyId, WorkloadId
from gitops_ds.intent.told import ScorerConfig
from gitops_ds.problem.model import Incumbent


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A cluster that a workload is on; `policy` is the candidate policy it runs under (None: the cluster as it is)."""

    cluster: ClusterName
    policy: PolicyId | None = None
    score: int | None = field(default=None, compare=False)
    """In thousandths of a point; None for a workload that is merely kept there."""
    gated: bool = True
    """Whether the claim gate of the workload holds here; False while the cluster gets another policy under it."""


@dataclass(frozen=True, slots=True, order=True)
class PlacedOn:
    """A workload, the name of its Placement, and where it is, sorted by cluster."""

    workload: WorkloadId
    intent: IntentId
    placement: PlacementName
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True, order=True)
class ConfiguredBy:
    """A cluster and the policy that is bound to it; `intent` is the one whose folder the objects are in."""

    cluster: ClusterName
    policy: PolicyId
    intent: IntentId


@dataclass(frozen=True, slots=True)
class ScoredBy:
    """What rendering a ScoringIntent takes besides itself.

    `told` is what each pinned scorer said of itself; `clusters` get a rendered ManifestWork, sorted.
    """

    intent: IntentId
    told: Mapping[str, ScorerConfig] = field(default_factory=dict)
    clusters: tuple[ClusterName, ...] = ()


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Sorted placements and configurations; `pins` maps each cluster to the label that selects it (None: CEL).

    `scorings` are sorted by intent; one of which there is nothing to say is left out.
    """

    placements: tuple[PlacedOn, ...] = ()
    configurations: tuple[ConfiguredBy, ...] = ()
    pins: Mapping[ClusterName, str | None] = field(default_factory=dict)
    scorings: tuple[ScoredBy, ...] = ()

    def scored_by(self, intent: IntentId) -> ScoredBy:
        """What is said of a ScoringIntent."""
        return next((one for one in self.scorings if one.intent == intent), ScoredBy(intent))

    def incumbent(self) -> Incumbent:
        """The same as the starting point of the next plan."""
        return Incumbent(
            {p.workload: tuple(s.cluster for s in p.spots) for p in self.placements},
            {c.cluster: c.policy for c in self.configurations},
        )
