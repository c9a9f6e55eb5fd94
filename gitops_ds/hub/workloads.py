"""Policy and ManifestWorkReplicaSet, from plain objects.

Owns what of them a plan looks at.
"""

from __future__ import annotations

from typing import Final

from gitops_ds.hub.node import Node
from gitops_ds.hub.redact import without_credentials, without_secrets
from gitops_ds.hub.stated import remembering
from gitops_ds.ids import ClusterName, Namespace, PlacementName, PolicyName, WorkloadName
from gitops_ds.inventory import Policy, Skipped, Workload

_ROOT_POLICY: Final = "policy.open-cluster-management.io/root-policy"


def read_policy(node: Node) -> Policy | Skipped:
    """A root Policy. The copies that OCM makes in the clusters' namespaces are no candidates and are skipped."""
    labels = node.at("metadata", "labels").texts()
    if _ROOT_POLICY in labels:
        return Skipped(node.owner, "it is the copy of a Policy that OCM keeps for a cluster")
    _require_spec(node)
    return Policy(
        namespace=Namespace(node.at("metadata", "namespace").text()),
        name=PolicyName(node.at("metadata", "name").text()),
        labels=labels,
        annotations=without_credentials(node.at("metadata", "annotations").texts()),
        disabled=node.at("spec", "disabled").truth(default=False),
        compliance=_compliance(node),
        source=remembering(node),
    )


def read_workload(node: Node) -> Workload:
    """A ManifestWorkReplicaSet; one that follows no Placement is a fault, as it is to the API server."""
    _require_spec(node)
    refs = node.at("spec", "placementRefs")
    named = tuple(PlacementName(ref.at("name").needed_text()) for ref in refs.items())
    if isinstance(node.at("spec").value, dict) and refs.value in (None, []):
        refs.wrong("must name at least one Placement", "a ManifestWorkReplicaSet runs where its Placement says")
    manifests = node.at("spec", "manifestWorkTemplate", "workload", "manifests").items()
    return Workload(
        namespace=Namespace(node.at("metadata", "namespace").text()),
        name=WorkloadName(node.at("metadata", "name").text()),
        labels=node.at("metadata", "labels").texts(),
        annotations=without_credentials(node.at("metadata", "annotations").texts()),
        placement_refs=named,
        manifests=tuple(without_secrets(dict(m.mapping())) for m in manifests),
        source=remembering(node),
    )


def _compliance(node: Node) -> dict[ClusterName, str]:
    entries = node.at("status", "status").items()
    told = sorted((entry.at("clustername").needed_text(), entry.at("compliant").text()) for entry in entries)
    return {ClusterName(name): state for name, state in told if state}


def _require_spec(node: Node) -> None:
    if node.at("spec").value is None:
        node.at("spec").wrong("is required")
