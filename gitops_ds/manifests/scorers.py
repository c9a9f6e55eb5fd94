"""DynamicScorers and the DynamicScoringConfig of a namespace; or, on a hub without the DSF's controller, what it makes.

Owns the objects, the defaults that are written out, and the summaries that agents read. Owns no fetching and no choice
of clusters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_ds.blueprint import Blueprint
from gitops_ds.ids import ClusterName, IntentId
from gitops_ds.intent.scoring import (
    QUERY_PATH,
    SCORING_PATH,
    Mask,
    ScorerSource,
    ScorerSpec,
    ScoringIntent,
    TokenAuth,
    base_of,
)
from gitops_ds.intent.told import settled
from gitops_ds.manifests.metadata import SCORING_WAVE, Manifest, make

API = "dynamic-scoring.open-cluster-management.io/v1alpha1"
WORK_API = "work.open-cluster-management.io/v1"
CONFIG = "dynamic-scoring-config"
"""The one name of a DynamicScoringConfig, and of the ConfigMap that agents read."""
WORK = "dynamic-scoring-config-manifestwork"
AGENT_NAMESPACE = "dynamic-scoring"
SUMMARIES = "summaries"
MOST_BYTES = 500 * 1024
"""What the manifests of one ManifestWork may have, as JSON."""


def scoring_manifests(blueprint: Blueprint, intents: Mapping[IntentId, ScoringIntent]) -> Iterator[Manifest]:
    """The objects of every ScoringIntent.

    Raises:
        KeyError: the blueprint does not have what a pinned scorer said.
    """
    for key, one in sorted(intents.items()):
        scored = blueprint.scored_by(key)
        masks = masks_of(key, intents)
        scorers = [
            settled(s, scored.told[s.name] if s.pin else None) for s in sorted(one.spec.scorers, key=lambda s: s.name)
        ]
        if one.spec.distribute == "rendered":
            for cluster in scored.clusters:
                yield manifest_work(key, cluster, scorers, masks)
            continue
        for scorer in scorers:
            yield dynamic_scorer(key, scorer)
        if _has_config(key, intents):
            yield dynamic_scoring_config(key, masks)


def masks_of(key: IntentId, intents: Mapping[IntentId, ScoringIntent]) -> tuple[Mask, ...]:
    """The masks of the intent's namespace, whichever of its intents says them, sorted."""
    said = [o.spec.config.masks for k, o in intents.items() if k.namespace == key.namespace and o.spec.config]
    return tuple(sorted({m for masks in said for m in masks}, key=lambda m: (m.clusterName, m.scoreName)))


def _has_config(key: IntentId, intents: Mapping[IntentId, ScoringIntent]) -> bool:
    """Whether this intent renders its namespace's config: the one that says it, else the first by name."""
    peers = sorted(k for k in intents if k.namespace == key.namespace)
    return key == next((k for k in peers if intents[k].spec.config is not None), peers[0])


def dynamic_scorer(intent: IntentId, scorer: ScorerSpec) -> Manifest:
    """The DynamicScorer, with every default of the DSF that counts written out."""
    spec: dict[str, Any] = {
        "description": scorer.description,
        "configURL": scorer.configURL,
        "configSyncMode": scorer.configSyncMode,
        "location": scorer.location,
        "scoreDestination": scorer.scoreDestination,
        "scoreDimensionFormat": scorer.scoreDimensionFormat,
    }
    closed = scorer.configSyncMode == "None"
    source, scoring = (part.model_dump(exclude_none=True) for part in (scorer.source, scorer.scoring))
    if scorer.source.type == "Prometheus" and closed:
        source.setdefault("path", QUERY_PATH)
    if closed:
        scoring = {"host": base_of(scorer.configURL), "path": SCORING_PATH} | scoring
    spec |= {word: part for word, part in (("source", source), ("scoring", scoring)) if part}
    return make(intent, API, "DynamicScorer", scorer.name, {"spec": spec}, wave=SCORING_WAVE, generated=False)


def dynamic_scoring_config(intent: IntentId, masks: Sequence[Mask]) -> Manifest:
    """The DynamicScoringConfig: without one the controller hands nothing to anybody."""
    content = {"spec": {"masks": [mask.model_dump() for mask in masks]}}
    return make(intent, API, "DynamicScoringConfig", CONFIG, content, wave=SCORING_WAVE, generated=False)


def manifest_work(
    intent: IntentId, cluster: ClusterName, scorers: Sequence[ScorerSpec], masks: Sequence[Mask]
) -> Manifest:
    """The ManifestWork that gives one cluster's agent its scorers, those left out that are masked there."""
    masked = {mask.scoreName for mask in masks if mask.clusterName == cluster}
    several = [summary(s) for s in scorers if s.scoring.params is None or s.scoring.params.name not in masked]
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG, "namespace": AGENT_NAMESPACE},
        "data": {SUMMARIES: json.dumps(several, ensure_ascii=True)},
    }
    content = {"spec": {"workload": {"manifests": [config_map]}}}
    return make(intent, WORK_API, "ManifestWork", WORK, content, wave=SCORING_WAVE, generated=False, namespace=cluster)


def bytes_of(work: Manifest) -> int:
    """The size of a ManifestWork's manifests, as the hub counts it."""
    return len(json.dumps(work.body["spec"]["workload"]["manifests"]).encode())


def summary(scorer: ScorerSpec) -> dict[str, str | int]:
    """What an agent reads of a scorer that is settled."""
    source, scoring, base = scorer.source, scorer.scoring, base_of(scorer.configURL)
    asks, scores = source.params, scoring.params
    assert scores is not None
    return {
        "name": scorer.name,
        "scoreName": scores.name,
        "sourceType": source.type or "None",
        "sourceEndpoint": _source_endpoint(source, base),
        **_secret("sourceEndpoint", source.auth),
        "sourceQuery": asks.query if asks else "",
        "sourceRange": asks.range if asks else 0,
        "sourceStep": asks.step if asks else 0,
        "scoringEndpoint": _joined(scoring.host or base, scoring.path or SCORING_PATH),
        "scoringInterval": scores.interval,
        **_secret("scoringEndpoint", scoring.auth),
        "location": scorer.location,
        "scoreDestination": scorer.scoreDestination,
        "scoreDimensionFormat": scorer.scoreDimensionFormat,
    }


def _source_endpoint(source: ScorerSource, base: str) -> str:
    return _joined(source.host or base, source.path or QUERY_PATH) if source.type == "Prometheus" else ""


def _joined(host: str, path: str) -> str:
    return f"{host.rstrip('/')}{path}"


def _secret(endpoint: str, auth: TokenAuth | None) -> dict[str, str]:
    name, key = (auth.tokenSecretRef.name, auth.tokenSecretRef.key) if auth else ("", "")
    return {f"{endpoint}AuthName": name, f"{endpoint}AuthKey": key}
