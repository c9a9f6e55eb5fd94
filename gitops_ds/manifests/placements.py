"""Placements: of workloads, pinned to their clusters behind the claim gate, and of policies, one cluster each.

Owns predicates and tolerations. Never writes `numberOfClusters` below 1, a spreadPolicy, a sortBy or a scoreRateLimit:
OCM ignores them or empties the Placement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_ds.blueprint import ConfiguredBy, PlacedOn
from gitops_ds.ids import ClusterName
from gitops_ds.intent.placement import Gate, PlacedWorkload, Toleration
from gitops_ds.manifests.metadata import POLICIES_WAVE, WORKLOADS_WAVE, Manifest, generated_name, make

API = "cluster.open-cluster-management.io/v1beta1"
OFFLINE = ("cluster.open-cluster-management.io/unavailable", "cluster.open-cluster-management.io/unreachable")
"""The taints that OCM gives a cluster that is offline: untolerated, they empty a pinned Placement at once."""
PATIENCE = 300
"""Seconds that a workload's Placement stays on an offline cluster, unless the intent's tolerations say otherwise."""

Pins = Mapping[ClusterName, str | None]


def workload_placement(placed: PlacedOn, wanted: PlacedWorkload, level: int, pins: Pins) -> Manifest:
    """The Placement that the workload's placementRef names, for all clusters that it is on.

    The gate is left out for clusters in change: their claim says no for a while, and would take the work away.
    """
    gated = [s.cluster for s in placed.spots if s.policy is not None and s.gated and wanted.gate is not None]
    free = [s.cluster for s in placed.spots if s.cluster not in gated]
    predicates = [*_predicates(free, pins, None), *_predicates(gated, pins, wanted.gate)]
    tolerations = [_toleration(t) for t in wanted.tolerations]
    said = {t.key for t in wanted.tolerations}
    tolerations += [_offline(key, PATIENCE) for key in OFFLINE if key not in said and None not in said]
    spec = {"numberOfClusters": len(placed.spots), "predicates": predicates, "tolerations": tolerations}
    return make(placed.intent, API, "Placement", placed.placement, {"spec": spec}, wave=WORKLOADS_WAVE + level)


def policy_placement(configured: ConfiguredBy, pins: Pins) -> Manifest:
    """The Placement that binds a cluster's chosen policy: it stays however long the cluster is offline."""
    spec = {
        "numberOfClusters": 1,
        "predicates": list(_predicates([configured.cluster], pins, None)),
        "tolerations": [_offline(key, None) for key in OFFLINE],
    }
    name = generated_name("placement", configured.intent, configured.cluster)
    return make(configured.intent, API, "Placement", name, {"spec": spec}, wave=POLICIES_WAVE)


def _predicates(clusters: Sequence[ClusterName], pins: Pins, gate: Gate | None) -> Iterator[dict[str, Any]]:
    """One predicate for each label that pins some of the clusters (predicates are ORed), with the gate's claim."""
    by_label: dict[str | None, list[ClusterName]] = {}
    for cluster in sorted(clusters):
        by_label.setdefault(pins[cluster], []).append(cluster)
    for label, several in sorted(by_label.items(), key=lambda item: item[0] or ""):
        selector = _by_cel(several) if label is None else _by_label(label, several)
        if gate is not None:
            claim = {"key": gate.claim, "operator": "In", "values": sorted(gate.values)}
            selector["claimSelector"] = {"matchExpressions": [claim]}
        yield {"requiredClusterSelector": selector}


def _by_label(label: str, clusters: Sequence[ClusterName]) -> dict[str, Any]:
    if len(clusters) == 1:
        return {"labelSelector": {"matchLabels": {label: clusters[0]}}}
    return {"labelSelector": {"matchExpressions": [{"key": label, "operator": "In", "values": list(clusters)}]}}


def _by_cel(clusters: Sequence[ClusterName]) -> dict[str, Any]:
    names = ", ".join(f'"{c}"' for c in clusters)
    return {"celSelector": {"celExpressions": [f"managedCluster.metadata.name in [{names}]"]}}


def _offline(key: str, seconds: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"key": key, "operator": "Exists"}
    if seconds is not None:
        found["tolerationSeconds"] = seconds
    return found


def _toleration(wanted: Toleration) -> dict[str, Any]:
    fields = ("key", "operator", "value", "effect", "tolerationSeconds")
    return {name: getattr(wanted, name) for name in fields if getattr(wanted, name) is not None}
