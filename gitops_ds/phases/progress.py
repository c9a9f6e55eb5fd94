"""`Progress`: how far the hub has got with what git holds, as far as a move waits for it.

Owns what counts as ready. Owns no reading of the hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from gitops_ds.ids import ClusterName, PolicyId, WorkloadId
from gitops_ds.intent.placement import Gate
from gitops_ds.inventory import Inventory
from gitops_ds.phases.transit import Copy

COMPLIANT = "Compliant"


@dataclass(frozen=True, slots=True)
class Progress:
    """What the hub shows.

    Attributes:
        ready: the copies whose work is applied and available, on a cluster that is available.
        present: the copies that have a work at all, even one that is being deleted.
        compliant: the clusters, each with a policy that it complies with by that policy's own status on the hub.
        claims: the claims of each cluster.
        up: the clusters that are accepted and not said to be unavailable.
        known: every cluster that the hub has.
        is_done: stands for a hub that has done all that it was asked for, to look ahead.
    """

    ready: frozenset[Copy] = frozenset()
    present: frozenset[Copy] = frozenset()
    compliant: frozenset[tuple[ClusterName, PolicyId]] = frozenset()
    claims: Mapping[ClusterName, Mapping[str, str]] = field(default_factory=dict)
    up: frozenset[ClusterName] = frozenset()
    known: frozenset[ClusterName] = frozenset()
    is_done: bool = False

    @classmethod
    def of(cls, inventory: Inventory) -> Self:
        """The progress that an inventory shows: of a snapshot without ManifestWorks none at all."""
        up = frozenset(c.name for c in inventory.clusters if c.accepted and c.available is not False)
        return cls(
            ready=frozenset(
                (w.workload, w.cluster)
                for w in inventory.works
                if w.applied and w.available and not w.ending and w.cluster in up
            ),
            present=frozenset((w.workload, w.cluster) for w in inventory.works),
            compliant=frozenset(
                (cluster, policy.id)
                for policy in inventory.policies
                for cluster, said in policy.compliance.items()
                if said == COMPLIANT
            ),
            claims={c.name: c.claims for c in inventory.clusters},
            up=up,
            known=frozenset(c.name for c in inventory.clusters),
        )

    def done(self) -> Self:
        """The same hub once it has done all that it was asked for."""
        return replace(self, present=frozenset(), up=self.known, is_done=True)

    def is_ready(self, workload: WorkloadId, cluster: ClusterName) -> bool:
        """Whether the copy runs."""
        return self.is_done or (workload, cluster) in self.ready

    def complies(self, cluster: ClusterName, policy: PolicyId) -> bool:
        """Whether the cluster is there and complies with this very policy."""
        return self.is_done or (cluster in self.up and (cluster, policy) in self.compliant)

    def opens(self, cluster: ClusterName, gate: Gate) -> bool:
        """Whether the cluster's claim lets a workload with this gate in."""
        return self.is_done or self.claims.get(cluster, {}).get(gate.claim) in gate.values
