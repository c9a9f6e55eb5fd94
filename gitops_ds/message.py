"""The commit message of a plan: what changed, from where to where and why, and trailers that machines read back.

Owns the wording. Owns no git and no clock: the same plan gives the same message.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator, Sequence

from gitops_ds.decisions import Decision, format_points
from gitops_ds.ids import ClusterName, WorkloadId
from gitops_ds.reconcile import Plan
from gitops_ds.steps import ClusterStep, Steps, WorkloadStep, steps
from gitops_ds.tree import LOCK, digest_of

WIDTH = 72
"""Columns of the subject, and of the body as far as single words allow."""
MOST_ITEMS = 200
"""Items that one section of the body may have before it counts the rest."""
LONGEST_ITEM = 1000
TRAILERS = ("Gitops-Ds-Plan", "Gitops-Ds-Intent", "Gitops-Ds-Lock", "Gitops-Ds-Version")

_OURS = re.compile(rf"^{TRAILERS[0]}: [0-9a-f]{{64}}$", re.MULTILINE)


def commit_message(made: Plan, version: str) -> str:
    """Subject, body and trailers for committing `made`."""
    found = steps(made.before, made.blueprint)
    sections = [_subject(made, found), *_body(made, found), "\n".join(_trailers(made, version))]
    return "\n\n".join(section for section in sections if section) + "\n"


def is_ours(message: str) -> bool:
    """Whether a commit's message is one that `commit_message` wrote: its last paragraph names a plan."""
    return _OURS.search(message.rstrip().rpartition("\n\n")[2]) is not None


def loss_reason(made: Plan, step: WorkloadStep | ClusterStep) -> str:
    """Why something that git has is in the plan no more; "" for a step that takes nothing away."""
    if isinstance(step, ClusterStep):
        return "no intent lists the cluster any more" if step.verb == "release" else ""
    if step.verb != "remove":
        return ""
    owners = [p.intent for p in made.before.placements if p.workload == step.workload] if made.before else []
    gone = [str(owner) for owner in owners if owner not in made.problem.intents]
    if any(demand.workload == step.workload for demand in made.problem.demands):
        return "it has no place any more"
    return f"intent {gone[0]} is no longer there" if gone else "no intent names it any more"


def taken_back(made: Plan) -> tuple[str, ...]:
    """The files that are not as gitops-ds wrote them, or that stand in its way: a commit of the plan writes them."""
    return tuple(sorted({*made.difference.edited, *made.difference.in_the_way}))


def kept_phrase(made: Plan) -> str:
    """How many copies without a place in the plan stay where git has them, to follow the number of placed ones."""
    kept = sum(len(one.kept) for one in made.unplaced)
    return f", {kept} kept where git has {'it' if kept == 1 else 'them'}" if kept else ""


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
        n, edits = len(made.difference.changes), len(taken_back(made))
        written = f"take back {edits} edited file{'s' if edits > 1 else ''}" if edits else f"write {n} files"
        parts = ["record what the intents say now" if made.before and not edits else written]
    subject = f"gitops-ds: {', '.join(parts)}"
    if len(subject) > WIDTH:
        total = sum(n for _, _, n in counted)
        subject = f"gitops-ds: {total} changes of placement and configuration"
    return subject


def _body(made: Plan, found: Steps) -> Iterator[str]:
    of_workload: dict[WorkloadId, list[Decision]] = {}
    on_cluster: dict[ClusterName, list[str]] = {}
    for decision in made.decisions:
        of_workload.setdefault(decision.workload, []).append(decision)
        if decision.policy is not None:
            on_cluster.setdefault(decision.cluster, []).append(decision.workload.name)
    moved = [
        (f"{s.workload}: {s}", loss_reason(made, s) or _why(of_workload.get(s.workload, ()))) for s in found.workloads
    ]
    yield _section("Workloads", moved)
    changed = [
        (f"{s.cluster}: {s}", loss_reason(made, s) or _for(on_cluster.get(s.cluster, ()))) for s in found.clusters
    ]
    yield _section("Clusters", changed)
    kept = {u.workload: f"stays on {', '.join(u.kept)}" if u.kept else "" for u in made.unplaced}
    yield _section("Without a place", [(f"{u.workload}: {u.reason}", kept[u.workload]) for u in made.unplaced])
    yield _section("Written anew over what somebody edited by hand", [(path, "") for path in taken_back(made)])
    wanted = sum(d.copies for d in made.problem.demands)
    yield f"Placed {made.value.placed} of {wanted} copies{kept_phrase(made)}, score {format_points(made.value.score)}."


def _section(title: str, items: Sequence[tuple[str, str]]) -> str:
    """`title` above a list of items, each with a second line where there is more to say."""
    if not items:
        return ""
    lines = [line for first, second in items[:MOST_ITEMS] for line in (*_lines(first, "- "), *_lines(second, "  "))]
    rest = [f"- and {len(items) - MOST_ITEMS} more"] if len(items) > MOST_ITEMS else []
    return "\n".join([f"{title}:", *lines, *rest])


def _lines(text: str, start: str) -> list[str]:
    """`text` in lines that are indented, so that none of them is taken for a trailer, and hold nothing but text."""
    clean = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:LONGEST_ITEM])
    return textwrap.wrap(
        clean,
        WIDTH,
        initial_indent=start,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _why(decisions: Sequence[Decision]) -> str:
    if len(decisions) == 1:
        return decisions[0].reason
    return f"score {format_points(sum(d.score for d in decisions))} in all" if decisions else ""


def _for(workloads: Sequence[str]) -> str:
    if not workloads:
        return ""
    return f"for {', '.join(workloads[:5])}" + (f" and {len(workloads) - 5} more" if len(workloads) > 5 else "")


def _trailers(made: Plan, version: str) -> Iterator[str]:
    values = (
        digest_of(made.tree),
        hashlib.sha256("".join(f"{key} {d}\n" for key, d in sorted(made.lock.intents.items())).encode()).hexdigest(),
        hashlib.sha256(made.tree[LOCK]).hexdigest(),
        version,
    )
    yield from (f"{name}: {value}" for name, value in zip(TRAILERS, values, strict=True))
