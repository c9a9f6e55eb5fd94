"""The lock: what gave the plan that git holds, as JSON, and enough of it to render the same tree again.

Owns the lock's format and its strict reading. Owns no decision. It holds no time and no host: the same plan gives the
same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
from gitops_ds.decisions import points
from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.ids import (
    ClusterName,
    IntentId,
    IntentName,
    Namespace,
    PlacementName,
    PolicyId,
    PolicyName,
    WorkloadId,
    WorkloadName,
)
from gitops_ds.problem.model import POINT, Incumbent

API_VERSION, KIND = "gitops-ds.io/v1alpha1", "Lock"


@dataclass(frozen=True, slots=True)
class Lock:
    """What a plan came from: intents by digest, the blueprint, and the evidence.

    `scores` maps workload to "cluster/policy" to score points: those that were considered, quantised to thousandths.
    `incumbent` is what git held when the plan was made; `solver` names the solver and its options.
    """

    intents: Mapping[IntentId, str]
    blueprint: Blueprint
    incumbent: Incumbent = field(default_factory=Incumbent)
    solver: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)


def write_lock(lock: Lock) -> bytes:
    """The lock as JSON with sorted keys, two spaces of indent and a final newline."""
    blueprint = lock.blueprint
    body = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "intents": {str(key): digest for key, digest in lock.intents.items()},
        "solver": dict(lock.solver),
        "placements": [
            {
                "workload": str(p.workload),
                "intent": p.intent.name,
                "placement": p.placement,
                "clusters": [_spot(s) for s in p.spots],
            }
            for p in blueprint.placements
        ],
        "configurations": [
            {"cluster": c.cluster, "policy": str(c.policy), "intent": c.intent.name} for c in blueprint.configurations
        ],
        "pins": dict(blueprint.pins),
        "incumbent": {
            "placements": {str(w): list(clusters) for w, clusters in lock.incumbent.placements.items()},
            "policies": {c: str(p) for c, p in lock.incumbent.policies.items()},
        },
        "scores": {w: dict(several) for w, several in lock.scores.items()},
    }
    return (json.dumps(body, indent=2, sort_keys=True, ensure_ascii=True) + "\n").encode()


def read_lock(content: bytes, path: str) -> Lock:
    """The lock that `write_lock` wrote.

    Raises:
        RepositoryError: it is not, or it is of a version that this release does not know.
    """
    try:
        body = json.loads(content)
        if (body["apiVersion"], body["kind"]) != (API_VERSION, KIND):
            what = "the lock is of a version that this release does not read"
            fix = f"use the release that wrote it, or an older lock: git checkout <commit> -- {path}"
            raise RepositoryError(Fault(what, Place(path), fix=fix))
        return _parse(body)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        fix = f"restore it from a good commit: git checkout <commit> -- {path}"
        raise RepositoryError(Fault("the lock is not as gitops-ds wrote it", Place(path), why, fix)) from None


def _spot(spot: Spot) -> dict[str, Any]:
    found: dict[str, Any] = {"cluster": spot.cluster}
    if spot.policy is not None:
        found["policy"] = str(spot.policy)
    if spot.score is not None:
        found["score"] = points(spot.score)
    return found


def _parse(body: Mapping[str, Any]) -> Lock:
    placements = []
    for one in body["placements"]:
        workload = WorkloadId(*_split(one["workload"], WorkloadName))
        spots = tuple(
            Spot(
                ClusterName(s["cluster"]),
                PolicyId(*_split(s["policy"], PolicyName)) if "policy" in s else None,
                round(s["score"] * POINT) if "score" in s else None,
            )
            for s in one["clusters"]
        )
        intent = IntentId(workload.namespace, IntentName(one["intent"]))
        placements.append(PlacedOn(workload, intent, PlacementName(one["placement"]), spots))
    configurations = []
    for one in body["configurations"]:
        policy = PolicyId(*_split(one["policy"], PolicyName))
        intent = IntentId(policy.namespace, IntentName(one["intent"]))
        configurations.append(ConfiguredBy(ClusterName(one["cluster"]), policy, intent))
    before = body["incumbent"]
    pins = {ClusterName(c): None if label is None else str(label) for c, label in body["pins"].items()}
    used = {s.cluster for p in placements for s in p.spots} | {c.cluster for c in configurations}
    if used - pins.keys():
        raise ValueError(f"no pin for {min(used - pins.keys())}")
    return Lock(
        {IntentId(*_split(key, IntentName)): str(digest) for key, digest in body["intents"].items()},
        Blueprint(
            tuple(sorted(placements)),
            tuple(sorted(configurations)),
            pins,
        ),
        Incumbent(
            {
                WorkloadId(*_split(w, WorkloadName)): tuple(map(ClusterName, several))
                for w, several in before["placements"].items()
            },
            {ClusterName(c): PolicyId(*_split(p, PolicyName)) for c, p in before["policies"].items()},
        ),
        body["solver"],
        body["scores"],
    )


def _split(text: str, name: Any) -> tuple[Namespace, Any]:
    namespace, slash, rest = text.partition("/")
    if not (namespace and slash and rest):
        raise ValueError(f"{text!r} is no namespace/name")
    return Namespace(namespace), name(rest)
