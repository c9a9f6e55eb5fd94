"""ManagedCluster, ManagedClusterSet and ManagedClusterSetBinding, from plain objects.

Owns how the hub says that a cluster may be used. Owns no judgement of it: taints and availability are handed on.
"""

from __future__ import annotations

from typing import Final

from gitops_ds.hub.node import Node
from gitops_ds.ids import ClusterName, Namespace
from gitops_ds.inventory import Cluster, ClusterSet, SetBinding, Skipped, Taint

_EFFECTS: Final = ("NoSelect", "NoSelectIfNew", "PreferNoSelect")
_OPERATORS: Final = ("DoesNotExist", "Exists", "In", "NotIn")


def read_cluster(node: Node) -> Cluster | Skipped:
    """A ManagedCluster; one that is being deleted is skipped, since nothing may be placed on it any more.

    `accepted` is what the hub's administrator said (`spec.hubAcceptsClient`, and the condition that confirms it).
    `available` is False as well where the hub has lost contact (Unknown), and where the agent has not joined yet.
    """
    name = node.at("metadata", "name").text()
    if node.at("metadata", "deletionTimestamp").value is not None:
        return Skipped(node.owner, "it is being deleted")
    conditions = _conditions(node)
    accepted = node.at("spec", "hubAcceptsClient").truth(default=True)
    available = conditions.get("ManagedClusterConditionAvailable")
    if conditions.get("ManagedClusterJoined", "True") != "True":
        available = "False"
    return Cluster(
        name=ClusterName(name),
        labels=node.at("metadata", "labels").texts(),
        claims=_claims(node),
        taints=_taints(node),
        accepted=accepted and conditions.get("HubAcceptedManagedCluster", "True") == "True",
        available=None if available is None else available == "True",
        allocatable=node.at("status", "allocatable").quantities(),
        capacity=node.at("status", "capacity").quantities(),
        source=node.source,
    )


def read_cluster_set(node: Node) -> ClusterSet:
    """A ManagedClusterSet; without a selector it is the exclusive kind, as the API server would default it."""
    selector = node.at("spec", "clusterSelector")
    kind = selector.at("selectorType").text("ExclusiveClusterSetLabel")
    name = node.at("metadata", "name").text()
    if kind == "ExclusiveClusterSetLabel":
        return ClusterSet(name, source=node.source)
    if kind != "LabelSelector":
        selector.at("selectorType").wrong("must be ExclusiveClusterSetLabel or LabelSelector")
    labels = selector.at("labelSelector")
    return ClusterSet(
        name,
        match_labels=labels.at("matchLabels").texts(),
        match_expressions=tuple(sorted(_expression(e) for e in labels.at("matchExpressions").items())),
        source=node.source,
    )


def read_set_binding(node: Node) -> SetBinding:
    """A ManagedClusterSetBinding; the hub takes it only under the name of the set that it binds."""
    bound = node.at("spec", "clusterSet")
    cluster_set = bound.needed_text()
    name = node.at("metadata", "name").text()
    if cluster_set and name and cluster_set != name:
        bound.wrong(f"must be the binding's own name, {name}", "the hub refuses a binding of another name")
    return SetBinding(Namespace(node.at("metadata", "namespace").text()), cluster_set)


def _conditions(node: Node) -> dict[str, str]:
    return {c.at("type").needed_text(): c.at("status").needed_text() for c in node.at("status", "conditions").items()}


def _claims(node: Node) -> dict[str, str]:
    claims = node.at("status", "clusterClaims").items()
    return dict(sorted((claim.at("name").needed_text(), claim.at("value").text()) for claim in claims))


def _taints(node: Node) -> tuple[Taint, ...]:
    taints = (_taint(taint) for taint in node.at("spec", "taints").items())
    return tuple(sorted(taints, key=lambda t: (t.key, t.value, t.effect)))


def _taint(node: Node) -> Taint:
    effect = node.at("effect").needed_text()
    if effect and effect not in _EFFECTS:
        node.at("effect").wrong(f"must be one of {', '.join(_EFFECTS)}")
    return Taint(
        node.at("key").needed_text(), node.at("value").text(), effect or "NoSelect", node.at("timeAdded").instant()
    )


def _expression(node: Node) -> tuple[str, str, tuple[str, ...]]:
    operator = node.at("operator").needed_text()
    if operator and operator not in _OPERATORS:
        node.at("operator").wrong(f"must be one of {', '.join(_OPERATORS)}")
    return node.at("key").needed_text(), operator, tuple(sorted(v.text() for v in node.at("values").items()))
