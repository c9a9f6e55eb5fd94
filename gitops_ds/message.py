"""The commit message of a plan: what changed, from where to where and why, and trailers that machines read back.

Owns the wording, and what a template of the `Reconciler` makes of it. Owns no git and no clock: the same plan gives the
same message. How trailers are read is git's own rule (`trailers.py`).
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from gitops_ds.decisions import Decision, format_points
from gitops_ds.ids import ClusterName, IntentId, WorkloadId
from gitops_ds.intent.reconciler import Message
from gitops_ds.reconcile import Plan
from gitops_ds.scorers import scoring_steps
from gitops_ds.steps import ClusterStep, Steps, WorkloadStep, steps
from gitops_ds.trailers import trailers_of
from gitops_ds.tree import digest_of, lock_path

__all__ = [
    "BASE",
    "BRANCH",
    "RECONCILER",
    "TRAILERS",
    "commit_message",
    "intents_digest",
    "is_for_branch",
    "is_ours",
    "trailers_of",
]

WIDTH = 72
"""Columns of the subject, and of the body as far as single words allow."""
MOST_ITEMS = 200
"""Items that one section of the body may have before it counts the rest."""
LONGEST_ITEM = 1000
TRAILERS = ("Gitops-Ds-Plan", "Gitops-Ds-Intent", "Gitops-Ds-Lock", "Gitops-Ds-Version")

RECONCILER = "Gitops-Ds-Reconciler"
"""The trailer that names the reconciler, where there is one."""
BRANCH = "Gitops-Ds-Branch"
"""The trailer that names the pull-request branch that a commit was made for, where it was made for one."""
BASE = "Gitops-Ds-Base"
"""The trailer that names the parent: what the plan was made on. A copy of the commit made later does not fit it."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_WORD = re.compile(r"\$(?:\{([a-z]+)\}|\$)")
_TAKEN = re.compile(r"gitops-ds-[a-z-]*\s*:|---|diff |index |#|.\s?-{24} >8", re.IGNORECASE)
"""How a line begins that git, or whoever reads our trailers, could take for something else than text."""


def commit_message(
    made: Plan,
    version: str,
    *,
    template: Message | None = None,
    reconciler: str = "",
    base: str = "",
    extra_trailers: Sequence[tuple[str, str]] = (),
) -> str:
    """Subject, body and trailers for committing `made`.

    Args:
        made: the plan.
        version: ours.
        template: how subject and body are worded; None: as they are. Whatever it says, the trailers stand below it, in
            a paragraph of their own, and none of its lines is read as one of ours.
        reconciler: the name of the reconciler; "" where there is none.
        base: the id of the commit that will be the parent; "" leaves the trailer out.
        extra_trailers: further (name, value) pairs.

    Raises:
        ValueError: the name of an extra trailer is no name of one, or is one of ours.
    """
    found, said = steps(made.before, made.blueprint), template or Message()
    body = "\n\n".join(section for section in _body(made, found) if section)
    words = {"subject": _subject(made, found), "body": body, "reconciler": reconciler, "intents": _named(made)}
    subject = " ".join(_filled(said.subject, words).split()) or words["subject"]
    subject = _one_line(f"gitops-ds: {subject}" if _TAKEN.match(subject) else subject, WIDTH)
    named = [(name, value) for name, value in ((RECONCILER, reconciler), (BASE, base)) if value]
    trailers = [*_trailers(made, version), *named, *extra_trailers]
    _check_names([name for name, _ in extra_trailers])
    block = "\n".join(f"{name}: {_one_line(value, LONGEST_ITEM)}" for name, value in trailers)
    return "\n\n".join(filter(None, (subject, _text(_filled(said.body, words)), block))) + "\n"


def is_ours(message: str) -> bool:
    """Whether a commit's message is one that `commit_message` wrote: among its trailers is a plan."""
    return _DIGEST.fullmatch(trailers_of(message).get(TRAILERS[0], "")) is not None


def is_for_branch(message: str, branch: str) -> bool:
    """Whether a commit's message is one that `commit_message` wrote for the pull-request branch `branch`."""
    return is_ours(message) and trailers_of(message).get(BRANCH) == branch


def intents_digest(intents: Mapping[IntentId, str]) -> str:
    """sha256 of what all intents say, from the digest of each: the value of `Gitops-Ds-Intent`."""
    return hashlib.sha256("".join(f"{key} {digest}\n" for key, digest in sorted(intents.items())).encode()).hexdigest()


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
        ("extend", "workload", found.count("extend")),
        ("shrink", "workload", found.count("shrink")),
        ("gate", "workload", found.count("gate")),
        ("remove", "workload", found.count("remove")),
        ("configure", "cluster", found.count("configure")),
        ("reconfigure", "cluster", found.count("reconfigure")),
        ("release", "cluster", found.count("release")),
        *((verb, "scorer", n) for verb, n in _scorer_counts(made)),
    )
    parts = [f"{verb} {n} {noun}{'s' if n > 1 else ''}" for verb, noun, n in counted if n]
    if not parts:
        n, edits = len(made.difference.changes), len(taken_back(made))
        written = f"take back {edits} edited file{'s' if edits > 1 else ''}" if edits else f"write {n} files"
        parts = ["record what the intents say now" if made.before and not edits else written]
    subject = f"gitops-ds: {', '.join(parts)}"
    if len(subject) > WIDTH:
        total = sum(n for _, _, n in counted)
        scoring = any(n for _, noun, n in counted if noun == "scorer")
        what = "placement, configuration and scoring" if scoring else "placement and configuration"
        subject = f"gitops-ds: {total} changes of {what}"
    return subject


def _scorer_counts(made: Plan) -> Iterator[tuple[str, int]]:
    steps_ = [step.verb for step in scoring_steps(made.difference) if step.kind == "scorer"]
    yield from ((verb, steps_.count(verb)) for verb in ("add", "change", "remove"))


def _body(made: Plan, found: Steps) -> Iterator[str]:
    if made.phase is not None:
        yield "\n".join(_lines(str(made.phase), "")) + "."
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
    yield _section("Scorers", [(str(step), "") for step in scoring_steps(made.difference)])
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
    return textwrap.wrap(
        _clean(text[:LONGEST_ITEM]),
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


def _trailers(made: Plan, version: str) -> Iterator[tuple[str, str]]:
    values = (
        digest_of(made.tree, made.root),
        intents_digest(made.lock.intents),
        hashlib.sha256(made.tree[lock_path(made.root)]).hexdigest(),
        version,
    )
    return zip(TRAILERS, values, strict=True)


def _check_names(names: Sequence[str]) -> None:
    ours = {name.lower() for name in (*TRAILERS, RECONCILER, BASE)}
    for name in names:
        if _NAME.fullmatch(name) is None or name.lower() in ours:
            raise ValueError(f"{name!r} is no name for a further trailer")


def _named(made: Plan) -> str:
    names = sorted(map(str, made.lock.intents))
    rest = f" and {len(names) - MOST_ITEMS} more" if len(names) > MOST_ITEMS else ""
    return ", ".join(names[:MOST_ITEMS]) + rest


def _filled(template: str, words: Mapping[str, str]) -> str:
    """`template` with its words filled in, once: what a word stands for is text and no template."""
    return _WORD.sub(lambda match: words[match[1]] if match[1] else "$", template)


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _one_line(text: str, most: int) -> str:
    """`text` in one line of at most `most` characters."""
    line = _clean(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 3].rstrip()}..."


def _text(text: str) -> str:
    """`text` as a body: no blank lines around it, and no line that is read as anything else than text."""
    lines = [_clean(line.expandtabs(4)).rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return "\n".join(f"  {line}" if _TAKEN.match(line) else line for line in lines).strip("\n")
