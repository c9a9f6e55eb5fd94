"""The lock: what gave the plan that git holds, as JSON, and enough of it to render the same tree again.

Owns the lock's format and its strict reading. Owns no decision. It holds no time and no host: the same plan gives the
same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, ScoredBy, Spot
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
from gitops_ds.intent.told import read_config, write_config
from gitops_ds.phases import Transit
from gitops_ds.problem.model import POINT, Incumbent

API_VERSION, KIND = "gitops-ds.io/v1alpha1", "Lock"


@dataclass(frozen=True, slots=True)
class Lock:
    """What a plan came from: intents by digest, the blueprint, and the evidence.

    `scores` maps workload to "cluster/policy" to score points: those that were considered, quantised to thousandths.
    `incumbent` is what git held when the plan was made; `solver` names the solver and its options. `transit` is what is
    in flight where the blueprint is only a step towards the plan, and `incumbent` is then what git held before it.
    """

    intents: Mapping[IntentId, str]
    blueprint: Blueprint
    incumbent: Incumbent = field(default_factory=Incumbent)
    solver: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    transit: Transit | None = None

    @property
    def start(self) -> Incumbent:
        """What a plan that goes on from here starts from: the last settled blueprint."""
        return (self.transit.origin if self.transit else self.blueprint).incumbent()

    @property
    def known(self) -> frozenset[ClusterName]:
        """The clusters whose scores it holds."""
        several = (labels for labels in self.scores.values() if isinstance(labels, Mapping))
        return frozenset(ClusterName(str(label).partition("/")[0]) for labels in several for label in labels)

    def says_what(self, other: Lock) -> bool:
        """Whether the two differ in no decision, in nothing that an intent says and in nothing that is in flight."""
        return (self.intents, self.blueprint, self.transit) == (other.intents, other.blueprint, other.transit)


def write_lock(lock: Lock) -> bytes:
    """The lock as JSON with sorted keys, two spaces of indent and a final newline."""
    blueprint = lock.blueprint
    body = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "intents": {str(key): digest for key, digest in lock.intents.items()},
        "solver": dict(lock.solver),
        **_blueprint(blueprint),
        "incumbent": {
            "placements": {str(w): list(clusters) for w, clusters in lock.incumbent.placements.items()},
            "policies": {c: str(p) for c, p in lock.incumbent.policies.items()},
        },
        "scores": {w: dict(several) for w, several in lock.scores.items()},
    }
    if blueprint.scorings:
        body["scorings"] = {str(one.intent): _scored(one) for one in blueprint.scorings}
    if lock.transit is not None:
        body["transit"] = {
            "number": lock.transit.number,
            "adding": [{"workload": str(w), "cluster": c} for w, c in lock.transit.adding],
            "changing": list(lock.transit.changing),
            "origin": _blueprint(lock.transit.origin),
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


def _blueprint(blueprint: Blueprint) -> dict[str, Any]:
    return {
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
    }


def _spot(spot: Spot) -> dict[str, Any]:
    found: dict[str, Any] = {"cluster": spot.cluster}
    if spot.policy is not None:
        found["policy"] = str(spot.policy)
    if spot.score is not None:
        found["score"] = points(spot.score)
    if not spot.gated:
        found["gated"] = False
    return found


def _scored(one: ScoredBy) -> dict[str, Any]:
    told = {name: write_config(config) for name, config in one.told.items()}
    return {"clusters": list(one.clusters), "told": told}


def _read_scored(key: str, said: Mapping[str, Any]) -> ScoredBy:
    told = {str(name): read_config(config) for name, config in said["told"].items()}
    return ScoredBy(IntentId(*_split(key, IntentName)), told, tuple(map(ClusterName, said["clusters"])))


def _parse(body: Mapping[str, Any]) -> Lock:
    before = body["incumbent"]
    scorings = tuple(_read_scored(key, said) for key, said in sorted(body.get("scorings", {}).items()))
    return Lock(
        {IntentId(*_split(key, IntentName)): str(digest) for key, digest in body["intents"].items()},
        replace(_read_blueprint(body), scorings=scorings),
        Incumbent(
            {
                WorkloadId(*_split(w, WorkloadName)): tuple(map(ClusterName, several))
                for w, several in before["placements"].items()
            },
            {ClusterName(c): PolicyId(*_split(p, PolicyName)) for c, p in before["policies"].items()},
        ),
        body["solver"],
        body["scores"],
        _read_transit(body["transit"]) if "transit" in body else None,
    )


def _read_blueprint(body: Mapping[str, Any]) -> Blueprint:
    placements = []
    for one in body["placements"]:
        workload = WorkloadId(*_split(one["workload"], WorkloadName))
        intent = IntentId(workload.namespace, IntentName(one["intent"]))
        spots = tuple(map(_read_spot, one["clusters"]))
        placements.append(PlacedOn(workload, intent, PlacementName(one["placement"]), spots))
    configurations = []
    for one in body["configurations"]:
        policy = PolicyId(*_split(one["policy"], PolicyName))
        intent = IntentId(policy.namespace, IntentName(one["intent"]))
        configurations.append(ConfiguredBy(ClusterName(one["cluster"]), policy, intent))
    pins = {ClusterName(c): None if label is None else str(label) for c, label in body["pins"].items()}
    used = {s.cluster for p in placements for s in p.spots} | {c.cluster for c in configurations}
    if used - pins.keys():
        raise ValueError(f"no pin for {min(used - pins.keys())}")
    return Blueprint(tuple(sorted(placements)), tuple(sorted(configurations)), pins)


def _read_spot(said: Mapping[str, Any]) -> Spot:
    return Spot(
        ClusterName(said["cluster"]),
        PolicyId(*_split(said["policy"], PolicyName)) if "policy" in said else None,
        round(said["score"] * POINT) if "score" in said else None,
        gated=bool(said.get("gated", True)),
    )


def _read_transit(said: Mapping[str, Any]) -> Transit:
    adding = (
        (WorkloadId(*_split(one["workload"], WorkloadName)), ClusterName(one["cluster"])) for one in said["adding"]
    )
    return Transit(
        _read_blueprint(said["origin"]),
        int(said["number"]),
        tuple(sorted(adding)),
        tuple(sorted(map(ClusterName, said["changing"]))),
    )


def _split(text: str, name: Any) -> tuple[Namespace, Any]:
    namespace, slash, rest = text.partition("/")
    if not (namespace and slash and rest):
        raise ValueError(f"{text!r} is no namespace/name")
    return Namespace(namespace), name(rest)
