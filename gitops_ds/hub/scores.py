"""AddOnPlacementScore and DynamicScorer, from plain objects.

Owns the last sign of life of a score. Owns no rule for duplicate, stale or out-of-range items: those belong to the
problem.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from gitops_ds.errors import Fault
from gitops_ds.hub.node import Node
from gitops_ds.hub.stated import remembering
from gitops_ds.ids import ClusterName, Namespace, ScoreName
from gitops_ds.intent.scoring import score_object_name
from gitops_ds.inventory import ScoreObject, Scorer, Skipped

DEFAULT_DIMENSION_FORMAT: Final = "${scoreName}"


def read_score(node: Node) -> ScoreObject:
    """An AddOnPlacementScore: its namespace names the cluster. Without a status it has no items yet."""
    status = node.at("status")
    return ScoreObject(
        cluster=ClusterName(node.at("metadata", "namespace").text()),
        name=ScoreName(node.at("metadata", "name").text()),
        items=tuple(_item(score) for score in status.at("scores").items()),
        valid_until=status.at("validUntil").instant(),
        seen_at=max(_signs_of_life(node), default=None),
        source=node.source,
    )


def unreadable_score(score: ScoreObject, faults: Sequence[Fault]) -> ScoreObject:
    """`score` with nothing in it but what is wrong with it: half of an object is never used."""
    return replace(score, items=(), valid_until=None, seen_at=None, unreadable=faults[0].what)


def read_scorer(node: Node) -> Scorer | Skipped:
    """A DynamicScorer. In Full mode what its config endpoint said last wins over the spec, field by field.

    One that names no score (in Full mode: not synced yet) is skipped, since no score can be told to be its own.
    """
    spec = node.at("spec")
    synced = node.at("status", "lastSyncedConfig")
    told = [synced, spec] if spec.at("configSyncMode").text() == "Full" else [spec]
    names = [part.at("scoring", "params", "name").text() for part in told]
    formats = [part.at("scoreDimensionFormat").text() for part in told]
    score = score_object_name(next(filter(None, names), ""))
    if not score:
        return Skipped(node.owner, "it does not say yet which score it writes")
    return Scorer(
        namespace=Namespace(node.at("metadata", "namespace").text()),
        name=node.at("metadata", "name").text(),
        score=score,
        dimension_format=next(filter(None, formats), DEFAULT_DIMENSION_FORMAT),
        source=remembering(node),
    )


def _item(node: Node) -> tuple[str, int]:
    """One score. Every cluster of a fleet names the same few dimensions, so each name is kept once."""
    return sys.intern(node.at("name").needed_text()), node.at("value").whole()


def _signs_of_life(node: Node) -> Iterator[datetime]:
    """The times at which somebody is known to have written the scores."""
    written = (f.at("time").instant() for f in node.at("metadata", "managedFields").items() if _writes_status(f))
    changed = (c.at("lastTransitionTime").instant() for c in node.at("status", "conditions").items())
    yield from (moment for moment in (*written, *changed) if moment)


def _writes_status(node: Node) -> bool:
    """Whether a managedFields entry tells of the status: whoever merely labels the object does not freshen its scores.

    An entry that does not say what it wrote is believed.
    """
    fields = node.at("fieldsV1").value
    return node.at("subresource").value == "status" or not isinstance(fields, dict) or "f:status" in fields
