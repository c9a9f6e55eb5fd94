"""What every rendered object carries: its names, labels, the wave annotation, and the intent that it belongs to.

Owns labels, annotations and the rule for generated names. Owns no spec.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_ds.ids import ClusterName, IntentId

MANAGED_BY = "app.kubernetes.io/managed-by"
INTENT = "gitops-ds.io/intent"
GENERATED = "dynamic-scoring-framework-mcp/generated"
WAVE = "argocd.argoproj.io/sync-wave"
NO_SUBSTITUTION = "kustomize.toolkit.fluxcd.io/substitute"
LONGEST_NAME = 63

SCORING_WAVE, SETS_WAVE, POLICIES_WAVE, WORKLOADS_WAVE = -1, -1, 0, 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """A plain object to be written, and the intent whose folder it goes to."""

    intent: IntentId
    body: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.body["kind"])

    @property
    def namespace(self) -> str:
        """The object's namespace."""
        return str(self.body["metadata"].get("namespace", self.intent.namespace))

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.body["metadata"]["name"])


def make(
    intent: IntentId,
    api_version: str,
    kind: str,
    name: str,
    content: Mapping[str, Any],
    *,
    wave: int,
    generated: bool = True,
    namespace: str | None = None,
) -> Manifest:
    """An object in the intent's namespace, or another, with the labels and annotations that all of ours have."""
    labels = {MANAGED_BY: "gitops-ds", INTENT: intent.name}
    if generated:
        labels[GENERATED] = "true"
    annotations = {WAVE: str(wave)}
    if any("${" in text for text in _texts(content)):
        annotations[NO_SUBSTITUTION] = "disabled"
    metadata = {"name": name, "namespace": namespace or intent.namespace, "labels": labels, "annotations": annotations}
    return Manifest(intent, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content})


def generated_name(prefix: str, intent: IntentId, cluster: ClusterName) -> str:
    """`<prefix>-<cluster>-<8 hex>`: the hex is a digest of (namespace, intent, cluster), so the name never changes.

    A long cluster name is cut so that the whole stays a label value; the digest keeps it unique.
    """
    digest = hashlib.sha256(f"{intent.namespace}/{intent.name}/{cluster}".encode()).hexdigest()[:8]
    room = LONGEST_NAME - len(prefix) - len(digest) - 2
    return f"{prefix}-{cluster[:room].rstrip('-.')}-{digest}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
