"""A Status as lines of text that fit a terminal 80 columns wide, and as JSON (docs/json.md).

Owns the layout of both. Yields marked-up pieces and prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gitops_ds.ids import PolicyId
from gitops_ds.inventory import Condition
from gitops_ds.problem.scores import format_age
from gitops_ds.report.basis import Basis, basis_json, format_instant
from gitops_ds.report.json import API_VERSION
from gitops_ds.report.text import Styled, wrapped
from gitops_ds.status import (
    CODES,
    ClusterState,
    Copy,
    Finding,
    GateState,
    ObjectState,
    ScoreAge,
    Status,
    WorkloadState,
)

MOST_MISSING, MOST_IN_PLACE, MOST_NOTES = 40, 20, 10
Item = WorkloadState | ClusterState | ObjectState


def status_text(
    status: Status, commit: str, basis: Basis, *, whole: bool = False, waited: str = ""
) -> Iterator[Styled]:
    """The status as a person reads it: how much is in place, and what is not, the worst first. `whole`: nothing cut."""
    yield f"Status: {summary(status)}{waited} (commit {commit[:12]})", "good" if status.in_place else "bad"
    yield f"Hub: {basis.where}", "dim"
    yield f"  {basis.when}", "dim"
    if status.transit is not None:
        yield from wrapped(f"A move is under way: {_move(status)}", "", "warn")
    yield from _titled("Not in place", _missing(status), MOST_MISSING, whole=whole)
    left = [f"{one.kind} {one.namespace}/{one.name}: git does not have it any more" for one in status.leftovers]
    yield from _titled("Left over, not pruned yet", _lines(left, "warn"), MOST_MISSING, whole=whole)
    there = [_title(one) for one in status.items if not one.findings and not isinstance(one, ObjectState)]
    yield from _titled("In place", _lines(there, "good"), MOST_IN_PLACE, whole=whole)
    yield from _titled("Notes", _lines(status.notes, "warn"), MOST_NOTES, whole=whole)


def summary(status: Status) -> str:
    """The whole of it in half a line."""
    if status.in_place:
        return f"all in place, {_count(len(status.items), 'thing')}"
    parts = [f"{len(status.missing)} of {len(status.items)} not in place"] if status.missing else []
    if status.manifests:
        parts.append(f"{_count(len(status.manifests), 'manifest')} not as in git")
    if status.leftovers:
        parts.append(f"{len(status.leftovers)} left over")
    return ", ".join(parts)


def worst(status: Status) -> str:
    """What is worst of what is not in place, in a line; "" where all is."""
    findings = [one.findings[0] for one in status.missing[:1]] or list(status.manifests[:1])
    return findings[0].text if findings else next((f"{one.kind} {one.name} left over" for one in status.leftovers), "")


def status_json(status: Status, commit: str, basis: Basis) -> dict[str, Any]:
    """What is printed for a program."""
    transit = status.transit
    return {
        "apiVersion": API_VERSION,
        "kind": "Status",
        "status": "in-place" if status.in_place else "not-in-place",
        "commit": commit,
        "inventory": basis_json(basis),
        "move": transit
        and {
            "phases": transit.number,
            "adding": [{"workload": str(workload), "cluster": cluster} for workload, cluster in transit.adding],
            "changing": list(transit.changing),
        },
        "workloads": [_workload(one) for one in status.workloads],
        "clusters": [_cluster(one) for one in status.clusters],
        "objects": [
            {"kind": o.kind, "namespace": o.namespace, "name": o.name, "findings": _findings(o.findings)}
            for o in status.objects
        ],
        "manifests": _findings(status.manifests),
        "leftovers": [
            {"kind": o.kind, "namespace": o.namespace, "name": o.name, "intent": o.intent} for o in status.leftovers
        ],
        "notes": list(status.notes),
    }


def _move(status: Status) -> str:
    assert status.transit is not None
    transit = status.transit
    parts = [f"{_count(transit.number, 'phase')} committed"]
    parts += [f"{workload.name} has come to {cluster} and leaves another" for workload, cluster in transit.adding]
    parts += [f"{cluster} gets another policy" for cluster in transit.changing]
    return "; ".join(parts)


def _missing(status: Status) -> Iterator[list[Styled]]:
    """What is not in place, the worst first: each as a line, and below it what is wrong."""
    for one in status.missing:
        texts = dict.fromkeys(found.text for found in sorted(one.findings, key=lambda f: CODES.index(f.code)))
        below = [line for text in texts for line in wrapped(text, "      ", "")]
        yield [*wrapped(_title(one), "  ", "bad"), *below]
    for found in status.manifests:
        yield list(wrapped(found.text, "  ", "bad"))


def _titled(title: str, several: Iterable[Sequence[Styled]], most: int, *, whole: bool) -> Iterator[Styled]:
    found = list(several)
    if found:
        yield "", ""
        yield title, "title"
    for lines in found if whole else found[:most]:
        yield from lines
    if len(found) > most and not whole:
        yield f"  and {len(found) - most} more (--all, or --output json)", "dim"


def _lines(texts: Iterable[str], style: str) -> Iterator[Sequence[Styled]]:
    for text in texts:
        yield list(wrapped(text, "  ", style))


def _title(one: Item) -> str:
    match one:
        case WorkloadState():
            places = ", ".join(copy.cluster for copy in one.copies)
            ages = [score.age for copy in one.copies for score in copy.scores if score.age is not None]
            aged = f"; scores {format_age(max(ages))} old" if ages else ""
            return f"{one.workload} on {places}{aged}"
        case ClusterState():
            return f"{one.cluster} under {one.policy.name}"
        case ObjectState():
            return f"{one.kind} {one.namespace}/{one.name}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def _workload(one: WorkloadState) -> dict[str, Any]:
    return {
        "intent": str(one.intent),
        "workload": str(one.workload.name),
        "placement": one.placement,
        "clusters": [copy.cluster for copy in one.copies],
        "decided": None if one.decided is None else list(one.decided),
        "conditions": [_condition(c) for c in one.conditions],
        "copies": [_copy(copy) for copy in one.copies],
        "findings": _findings(one.findings),
    }


def _cluster(one: ClusterState) -> dict[str, Any]:
    return {
        "intent": str(one.intent),
        "cluster": one.cluster,
        "policy": _policy(one.policy),
        "placement": one.placement,
        "binding": one.binding,
        "compliance": one.compliance,
        "decided": None if one.decided is None else list(one.decided),
        "conditions": [_condition(c) for c in one.conditions],
        "findings": _findings(one.findings),
    }


def _copy(copy: Copy) -> dict[str, Any]:
    return {
        "cluster": copy.cluster,
        "policy": _policy(copy.policy),
        "gate": copy.gate and _gate(copy.gate),
        "applied": copy.work is not None and copy.work.applied,
        "available": copy.is_available,
        "scores": [_score(score) for score in copy.scores],
    }


def _gate(gate: GateState) -> dict[str, Any]:
    return {"claim": gate.claim, "values": list(gate.values), "value": gate.value, "open": gate.is_open}


def _score(score: ScoreAge) -> dict[str, Any]:
    return {
        "score": score.score,
        "found": score.found,
        "ageSeconds": None if score.age is None else int(score.age.total_seconds()),
        "stale": score.stale,
    }


def _condition(one: Condition) -> dict[str, Any]:
    since = one.since and format_instant(one.since)
    return {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message, "since": since}


def _findings(several: Sequence[Finding]) -> list[dict[str, Any]]:
    return [{"code": one.code, "cluster": one.cluster, "text": one.text} for one in several]


def _policy(policy: PolicyId | None) -> str | None:
    return policy.name if policy else None
