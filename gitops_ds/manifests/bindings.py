"""PlacementBindings, which tie a chosen policy to its cluster's Placement, and ManagedClusterSetBindings.

Owns the binding objects. One binding a cluster: a change of policy swaps its subjects in place, since two bindings at
once would enforce both policies.
"""

from __future__ import annotations

from gitops_ds.blueprint import ConfiguredBy
from gitops_ds.ids import IntentId
from gitops_ds.manifests.metadata import POLICIES_WAVE, SETS_WAVE, Manifest, generated_name, make

POLICY_GROUP = "policy.open-cluster-management.io"
CLUSTER_GROUP = "cluster.open-cluster-management.io"


def policy_binding(configured: ConfiguredBy) -> Manifest:
    """The PlacementBinding of a cluster's chosen policy."""
    placement = generated_name("placement", configured.intent, configured.cluster)
    content = {
        "placementRef": {"apiGroup": CLUSTER_GROUP, "kind": "Placement", "name": placement},
        "subjects": [{"apiGroup": POLICY_GROUP, "kind": "Policy", "name": configured.policy.name}],
    }
    name = generated_name("binding", configured.intent, configured.cluster)
    return make(configured.intent, f"{POLICY_GROUP}/v1", "PlacementBinding", name, content, wave=POLICIES_WAVE)


def set_binding(intent: IntentId, cluster_set: str) -> Manifest:
    """The ManagedClusterSetBinding that lets the namespace's Placements select from `cluster_set`."""
    content = {"spec": {"clusterSet": cluster_set}}
    api = f"{CLUSTER_GROUP}/v1beta2"
    return make(intent, api, "ManagedClusterSetBinding", cluster_set, content, wave=SETS_WAVE, generated=False)
