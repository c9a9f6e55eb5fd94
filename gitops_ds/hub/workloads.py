"""Policy and ManifestWorkReplicaSet, from plain objects.

Owns what of them a plan looks at, and that no Secret's content is kept, wherever a manifest is carried inside another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gitops_ds.errors import Source
from gitops_ds.hub.node import Node
from gitops_ds.ids import ClusterName, Namespace, PlacementName, PolicyName, WorkloadName
from gitops_ds.inventory import Policy, Skipped, Workload

_ROOT_POLICY: Final = "policy.open-cluster-management.io/root-policy"


@dataclass(frozen=True, slots=True)
class ObjectSource(Source):
    """A source that remembers its object, so that another writing of the same object can be held against it."""

    stated: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


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
        annotations=node.at("metadata", "annotations").texts(),
        disabled=node.at("spec", "disabled").truth(default=False),
        compliance=_compliance(node),
        source=_remembering(node),
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
        annotations=node.at("metadata", "annotations").texts(),
        placement_refs=named,
        manifests=tuple(without_secrets(dict(m.mapping())) for m in manifests),
        source=_remembering(node),
    )


def without_secrets(value: Any) -> Any:
    """`value` with what any Secret in it holds replaced by a digest: enough to tell two apart, too little to read."""
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "Secret":
        return {key: _digests(item) if key in ("data", "stringData") else item for key, item in value.items()}
    return {key: without_secrets(item) for key, item in value.items()}


def _digests(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _digest(item) for key, item in content.items()}
    return content if content is None else _digest(content)


def _digest(content: Any) -> str:
    return "sha256:" + hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _compliance(node: Node) -> dict[ClusterName, str]:
    entries = node.at("status", "status").items()
    told = sorted((entry.at("clustername").needed_text(), entry.at("compliant").text()) for entry in entries)
    return {ClusterName(name): state for name, state in told if state}


def _require_spec(node: Node) -> None:
    if node.at("spec").value is None:
        node.at("spec").wrong("is required")


def _remembering(node: Node) -> ObjectSource:
    """The node's source with what the object states: its labels, annotations and spec, and no Secret's content."""
    metadata = {key: node.at("metadata", key).texts() for key in ("labels", "annotations")}
    stated = {"metadata": metadata, "spec": without_secrets(node.at("spec").value)}
    return ObjectSource(node.source.file, node.source.marks, stated)
