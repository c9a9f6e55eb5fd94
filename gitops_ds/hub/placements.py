"""Placement, PlacementBinding, PlacementDecision and the Placement's CustomResourceDefinition, from plain objects.

Owns how the slices of one decision are joined. Renders and judges no Placement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from gitops_ds.hub.node import Node
from gitops_ds.hub.stated import remembering
from gitops_ds.ids import ClusterName, Namespace, PlacementName
from gitops_ds.inventory import Condition, ExistingBinding, ExistingPlacement, PlacementResult, Skipped

PLACEMENT_CRD: Final = "placements.cluster.open-cluster-management.io"
_PLACEMENT_LABEL: Final = "cluster.open-cluster-management.io/placement"
SELECTOR: Final = (
    "schema", "openAPIV3Schema", "properties", "spec", "properties", "predicates", "items",
    "properties", "requiredClusterSelector", "properties",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CelSupport:
    """Whether the hub's Placements can select by a CEL expression; an older hub drops such a selector in silence."""

    known: bool


def read_placement(node: Node) -> ExistingPlacement:
    """A Placement: its name and labels, which tell whose it is, and what the hub says of it."""
    return ExistingPlacement(
        namespace=Namespace(node.at("metadata", "namespace").text()),
        name=PlacementName(node.at("metadata", "name").text()),
        labels=node.at("metadata", "labels").texts(),
        conditions=tuple(_condition(one) for one in node.at("status", "conditions").items()),
        source=remembering(node),
    )


def read_binding(node: Node) -> ExistingBinding:
    """A PlacementBinding: its name and labels, which tell whose it is."""
    return ExistingBinding(
        namespace=Namespace(node.at("metadata", "namespace").text()),
        name=node.at("metadata", "name").text(),
        labels=node.at("metadata", "labels").texts(),
        source=remembering(node),
    )


def read_decision(node: Node) -> PlacementResult | Skipped:
    """One PlacementDecision, which holds at most a hundred clusters of its Placement's answer."""
    placement = node.at("metadata", "labels").texts().get(_PLACEMENT_LABEL)
    if not placement:
        return Skipped(node.owner, f"it has no label {_PLACEMENT_LABEL}, so no Placement is known for it")
    decisions = node.at("status", "decisions").items()
    return PlacementResult(
        namespace=Namespace(node.at("metadata", "namespace").text()),
        placement=PlacementName(placement),
        clusters=tuple(ClusterName(d.at("clusterName").needed_text()) for d in decisions),
    )


def join_decisions(slices: Iterable[PlacementResult]) -> tuple[PlacementResult, ...]:
    """The slices of each Placement as one result, every cluster once, sorted."""

    def key(result: PlacementResult) -> tuple[Namespace, PlacementName]:
        return result.namespace, result.placement

    joined = []
    for (namespace, placement), parts in groupby(sorted(slices, key=key), key):
        clusters = {cluster for part in parts for cluster in part.clusters}
        joined.append(PlacementResult(namespace, placement, tuple(sorted(clusters))))
    return tuple(joined)


def read_definition(node: Node) -> CelSupport | None:
    """What the Placement's CustomResourceDefinition tells; None for the definition of any other kind."""
    if node.at("metadata", "name").value != PLACEMENT_CRD:
        return None
    served = [v for v in node.at("spec", "versions").items() if v.at("served").truth(default=False)]
    return CelSupport(any("celSelector" in version.at(*SELECTOR).mapping() for version in served))


def _condition(node: Node) -> Condition:
    return Condition(
        type=node.at("type").needed_text(),
        status=node.at("status").needed_text(),
        reason=node.at("reason").text(),
        message=node.at("message").text(),
        since=node.at("lastTransitionTime").instant(),
    )
