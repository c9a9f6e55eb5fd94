"""The commit message of a plan: what changed, from where to where and why, and trailers that machines read back.

Owns the wording. Owns no git and no clock: the same plan gives the same message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from gitops_ds.blueprint import Spot
from gitops_ds.decisions import Decision, format_points
from gitops_ds.reconcile import Plan
from gitops_ds.steps import Steps, steps
from gitops_ds.tree import LOCK, digest_of

LONGEST_SUBJECT = 72
MOST_LINES = 200
"""Lines that one section of the body may have before it counts the rest."""
TRAILERS = ("Gitops-Ds-Plan", "Gitops-Ds-Intent", "Gitops-Ds-Lock", "Gitops-Ds-Version")


def commit_message(made: Plan, version: str) -> str:
    """Subject, body and trailers for committing `made`."""
    found = steps(made.before, made.blueprint)
    sections = [_subject(made, found), *_body(made, found), "\n".join(_trailers(made, version))]
    return "\n\n".join(section for section in sections if section) + "\n"


def _subject(made: Plan, found: Steps) -> str:
    counted = (
        ("place", "workload", found.count("place")),
        ("move", "workload", found.count("move")),
        ("remove", "workload", found.count("remove")),
        ("configure", "cluster", found.count("configure")),
        ("reconfigure", "cluster", found.count("reconfigure")),
        ("release", "cluster", found.count("release")),
    )
    parts = [f"{verb} {n} {noun}{'s' if n > 1 else ''}" for verb, noun, n in counted if n]
    if not parts:
        n = len(made.difference.changes)
        parts = ["record what the intents say now" if made.before else f"write {n} files"]
    subject = f"gitops-ds: {', '.join(parts)}"
    if len(subject) > LONGEST_SUBJECT:
        total = sum(n for _, _, n in counted)
        subject = f"gitops-ds: {total} changes of placement and configuration"
    return subject


def _body(made: Plan, found: Steps) -> Iterator[str]:
    decided = {(d.workload, d.cluster): d for d in made.decisions}
    lines = []
    for step in found.workloads:
        why = [decided[step.workload, s.cluster] for s in step.after if (step.workload, s.cluster) in decided]
        lines.append(f"- {step.workload}: {_spots(step.before)} -> {_spots(step.after)}{_why(why)}")
    yield _section("Workloads", lines)
    yield _section(
        "Clusters",
        [f"- {s.cluster}: {s.before.name if s.before else 'no policy'} -> "
         f"{s.after.name if s.after else 'no policy'}{_for(made, s.cluster)}" for s in found.clusters],
    )
    yield _section(
        "Without a place",
        [f"- {u.workload}: {u.reason}" + (f" (stays on {', '.join(u.kept)})" if u.kept else "") for u in made.unplaced],
    )
    wanted = sum(d.copies for d in made.problem.demands)
    yield f"Placed {made.value.placed} of {wanted} copies, score {format_points(made.value.score)}."


def _section(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    rest = [f"- and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([f"{title}:", *lines[:MOST_LINES], *rest])


def _spots(spots: Sequence[Spot]) -> str:
    return ", ".join(s.cluster for s in spots) or "nowhere"


def _why(decisions: Sequence[Decision]) -> str:
    if len(decisions) != 1:
        total = format_points(sum(d.score for d in decisions))
        return f" (score {total} in all)" if decisions else ""
    return f"\n  {decisions[0].reason}"


def _for(made: Plan, cluster: str) -> str:
    names = [d.workload.name for d in made.decisions if d.cluster == cluster and d.policy is not None]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f" (for {shown})" if names else ""


def _trailers(made: Plan, version: str) -> Iterator[str]:
    values = (
        digest_of(made.tree),
        hashlib.sha256("".join(f"{key} {d}\n" for key, d in sorted(made.lock.intents.items())).encode()).hexdigest(),
        hashlib.sha256(made.tree[LOCK]).hexdigest(),
        version,
    )
    yield from (f"{name}: {value}" for name, value in zip(TRAILERS, values, strict=True))
