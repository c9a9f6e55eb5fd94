"""Manifests: a Blueprint and its intents as plain Kubernetes objects, a module per family.

Owns what each object says. Owns no file, no YAML and no decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from gitops_ds.blueprint import Blueprint
from gitops_ds.graph import levels
from gitops_ds.ids import IntentId
from gitops_ds.intent.placement import PlacementIntent
from gitops_ds.intent.scoring import ScoringIntent
from gitops_ds.manifests.bindings import policy_binding, set_binding
from gitops_ds.manifests.metadata import Manifest
from gitops_ds.manifests.placements import policy_placement, workload_placement
from gitops_ds.manifests.scorers import scoring_manifests

__all__ = ["Manifest", "render"]


def render(
    blueprint: Blueprint,
    intents: Mapping[IntentId, PlacementIntent],
    scorings: Mapping[IntentId, ScoringIntent] = MappingProxyType({}),
) -> tuple[Manifest, ...]:
    """Every object of the plan, sorted by intent, kind, name and namespace.

    Raises:
        KeyError: the blueprint names an intent or a workload that `intents` does not have.
    """
    found = (*_all(blueprint, intents), *scoring_manifests(blueprint, scorings))
    return tuple(sorted(found, key=lambda m: (m.intent, m.kind, m.name, m.namespace)))


def _all(blueprint: Blueprint, intents: Mapping[IntentId, PlacementIntent]) -> Iterator[Manifest]:
    wanted = {key: {w.name: w for w in one.spec.workloads} for key, one in intents.items()}
    level = {key: levels({w.name: w.after for w in one.spec.workloads}) for key, one in intents.items()}
    for placed in blueprint.placements:
        name = placed.workload.name
        mine = wanted[placed.intent][name]
        yield workload_placement(placed, mine, level[placed.intent][name], blueprint.pins)
    for configured in blueprint.configurations:
        yield policy_placement(configured, blueprint.pins)
        yield policy_binding(configured)
    bound: set[tuple[str, str]] = set()
    for key, one in sorted(intents.items()):
        for cluster_set in sorted(set(one.spec.bindClusterSets)):
            if (key.namespace, cluster_set) not in bound:
                bound.add((key.namespace, cluster_set))
                yield set_binding(key, cluster_set)
