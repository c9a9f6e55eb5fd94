"""A Plan as JSON: stable, versioned, described in docs/json.md.

Owns field names and their order. Owns no printing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from gitops_ds.decisions import Alternative, Decision, Unplaced, points
from gitops_ds.evidence import Evidence
from gitops_ds.ids import PolicyId, ResourceKind
from gitops_ds.phases import Phase
from gitops_ds.problem import POINT
from gitops_ds.problem.scores import Term
from gitops_ds.quantity import format_quantity
from gitops_ds.reconcile import Plan
from gitops_ds.report.basis import Basis, basis_json, format_instant
from gitops_ds.whatif import Loss

API_VERSION = "gitops-ds.io/v1alpha1"


def plan_json(made: Plan, commit: str | None = None, basis: Basis | None = None) -> dict[str, Any]:
    """The plan, with the id of the commit that holds it (None: it is not committed) and the facts that it stands on."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "status": made.status,
        "inventory": None if basis is None else basis_json(basis),
        "objective": {
            "placed": made.value.placed,
            "score": points(made.value.score),
            "changes": made.value.changes,
        },
        "solver": {
            "status": made.solution_status.value,
            "stages": [
                {"name": s.name, "value": s.value, "bound": None if s.bound == float("inf") else s.bound}
                for s in made.solution.stages
            ],
        },
        "decisions": [_decision(d) for d in made.decisions],
        "unplaced": [_unplaced(u) for u in made.unplaced],
        "phase": None if made.phase is None else _phase(made.phase),
        "changes": [{"path": c.path, "action": c.action} for c in made.difference.changes],
        "held": [{"guard": h.guard, "text": h.text, "until": h.until and format_instant(h.until)} for h in made.held],
        "warnings": list(made.warnings),
        "commit": commit,
    }


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "number": phase.number,
        "total": phase.total,
        "steps": list(phase.steps),
        "awaited": list(phase.awaited),
        "toCome": [list(steps) for steps in phase.to_come],
        "blocked": list(phase.blocked),
    }


def diff_json(made: Plan) -> dict[str, Any]:
    """The plan's changes with the text of both sides."""
    changes = [
        {"path": c.path, "action": c.action, "before": _text(c.before), "after": _text(c.after)}
        for c in made.difference.changes
    ]
    return {"apiVersion": API_VERSION, "kind": "Diff", "status": made.status, "changes": changes}


def evidence_json(made: Plan, evidence: Sequence[Evidence]) -> dict[str, Any]:
    """Why single workloads are where they are: their decisions with the score terms."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanation",
        "status": made.status,
        "workloads": [
            {
                "intent": str(e.demand.intent),
                "workload": e.demand.workload.name,
                "requests": _amounts(e.demand.requests),
                "decisions": [
                    {
                        **_decision(d),
                        "requests": _amounts(e.demand.requests_on.get(d.device, e.demand.requests)),
                        "terms": [_term(t) for t in terms],
                    }
                    for d, terms in e.decisions
                ],
                "unplaced": None if e.unplaced is None else _unplaced(e.unplaced),
                "losses": None if e.losses is None else [_loss(one) for one in e.losses],
            }
            for e in evidence
        ],
    }


def _amounts(several: Mapping[ResourceKind, Fraction]) -> dict[str, str]:
    return {kind: format_quantity(amount) for kind, amount in sorted(several.items())}


def _loss(one: Loss) -> dict[str, Any]:
    return {
        "cluster": one.cluster,
        "policy": _policy(one.policy),
        "device": one.device or None,
        "possible": one.possible,
        "placed": one.placed,
        "points": points(one.points),
        "score": points(one.score),
        "moves": points(one.moves),
        "reconfigurations": points(one.reconfigurations),
        "bound": one.bound,
        "least": None if one.least is None else points(one.least),
        "consequences": list(one.consequences),
        "text": str(one),
    }


def _term(term: Term) -> dict[str, Any]:
    return {
        "score": term.score,
        "source": term.source,
        "dimension": term.dimension,
        "value": None if term.value is None else points(term.value),
        "weight": points(int(term.weight * POINT)),
        "direction": term.direction,
        "stale": term.stale,
        "ageSeconds": None if term.age is None else int(term.age.total_seconds()),
    }


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="replace")


def dumps(value: Any) -> str:
    """JSON in ASCII for a person's or a program's eyes: two spaces of indent, fields in their documented order."""
    return json.dumps(value, indent=2)


def _decision(d: Decision) -> dict[str, Any]:
    return {
        "intent": str(d.intent),
        "workload": str(d.workload.name),
        "cluster": d.cluster,
        "policy": _policy(d.policy),
        "device": d.device or None,
        "score": points(d.score),
        "reason": d.reason,
        "alternatives": _alternatives(d.alternatives),
    }


def _unplaced(u: Unplaced) -> dict[str, Any]:
    return {
        "intent": str(u.intent),
        "workload": str(u.workload.name),
        "missing": u.missing,
        "reason": u.reason,
        "short": _amounts(u.short),
        "kept": list(u.kept),
        "relaxations": list(u.relaxations),
        "alternatives": _alternatives(u.alternatives),
    }


def _alternatives(several: Sequence[Alternative]) -> list[dict[str, Any]]:
    return [
        {
            "cluster": a.cluster,
            "policy": _policy(a.policy),
            "device": a.device or None,
            "score": None if a.score is None else points(a.score),
            "code": a.code,
            "reason": a.reason,
        }
        for a in several
    ]


def _policy(policy: PolicyId | None) -> str | None:
    return policy.name if policy else None
