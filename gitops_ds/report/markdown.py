"""A Plan as Markdown for a pull request: GitHub, GitLab and Gitea show it alike, and it keeps within their limits.

Owns the layout and what is left out where there is too much: the same plan gives the same bytes. What others wrote is
made inert by `inert.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isinf

from gitops_ds.blueprint import Spot
from gitops_ds.decisions import Decision, Unplaced, format_points
from gitops_ds.ids import ClusterName, WorkloadId
from gitops_ds.message import commit_message, kept_phrase, loss_reason, taken_back
from gitops_ds.problem.objective import NAMES
from gitops_ds.reconcile import Held, Plan
from gitops_ds.report.basis import Basis, format_instant
from gitops_ds.report.inert import code, fenced, sentence, tagged
from gitops_ds.report.text import diff_text
from gitops_ds.scorers import scoring_steps
from gitops_ds.solution import Status
from gitops_ds.steps import ClusterStep, WorkloadStep, steps
from gitops_ds.tree import Change

LIMIT = 65_536
"""Characters that GitHub takes in a body or a comment."""
PRINTED = LIMIT - 336
"""What is left of them for what a verb prints: whoever posts it puts a line of their own in front."""
FEW = 10
"""Rows that every section gets before the first one gets all of its own."""
MOST_NAMES = 5
NET_SCORE = "score less changes"
"""The stage whose value is in thousandths of a point."""

_WORDS = {
    "held": ("reason", "reasons"),
    "unplaced": ("workload without a place", "workloads without a place"),
    "remove": ("removal", "removals"),
    "move": ("move", "moves"),
    "shrink": ("copy less", "copies less"),
    "extend": ("copy more", "copies more"),
    "gate": ("gate closed again", "gates closed again"),
    "phase": ("phase to come", "phases to come"),
    "rescore": ("change of policy", "changes of policy"),
    "place": ("placement", "placements"),
    "release": ("release", "releases"),
    "reconfigure": ("reconfiguration", "reconfigurations"),
    "configure": ("configuration", "configurations"),
    "scorer": ("change of a scorer", "changes of scorers"),
    "edit": ("edited file", "edited files"),
    "warning": ("warning", "warnings"),
    "file": ("file", "files"),
}
_ORDER = tuple(_WORDS)
"""Kinds of rows, the most important first."""


def pull_request_title(made: Plan) -> str:
    """The plan in one line of at most 72 characters: the subject that its commit has."""
    if made.status == "unchanged":
        return "gitops-ds: nothing changes"
    return commit_message(made, "").partition("\n")[0]


def plan_markdown(made: Plan, basis: Basis | None, *, limit: int = LIMIT) -> str:
    """The plan as the body of a pull request, or as a comment on one.

    Args:
        made: the plan.
        basis: the facts that it stands on; None: say nothing of them.
        limit: the most characters, and the most bytes of UTF-8. What does not fit is counted.
    """
    top = "\n\n".join(_top(made, basis)) + "\n"
    return _fitted(top, [section for section in _sections(made) if section.kinds], limit)


def diff_markdown(made: Plan, *, limit: int = LIMIT) -> str:
    """How the rendered files would change, one folded diff a file; as `plan_markdown` has it with the limit."""
    changes = made.difference.changes
    top = "\n\n".join(list(_top(made, None))[:2]) + "\n"
    section = _Section("", ["file"] * len(changes), map(_folded, changes))
    return _fitted(top, [section] if changes else [], limit)


def _folded(change: Change) -> str:
    lines = "\n".join(line for line, _ in diff_text([change]))
    summary = f"<summary>{change.action} {tagged(change.path)}</summary>"
    return f"\n<details>\n{summary}\n\n{fenced(lines, 'diff')}\n\n</details>"


@dataclass(frozen=True)
class _Section:
    """Rows below a heading. `kinds` has one word of `_WORDS` for each row, in their order; `rows` is read once."""

    start: str
    kinds: Sequence[str]
    rows: Iterator[str]
    end: str = ""

    def text(self, rows: Sequence[str]) -> str:
        """The section with the first of its rows and what is left out."""
        rest = self.rest(len(rows))
        parts = [f"\n{self.start}" if self.start else "", *rows, f"\n{rest}" if rest else "", self.end]
        return "\n".join(part for part in parts if part) + "\n"

    def rest(self, shown: int) -> str:
        """What comes after the first `shown` rows, counted by kind; "" for nothing."""
        left = Counter(self.kinds[shown:])
        several = [(n, _WORDS[kind][n > 1]) for kind, n in left.items()]
        if len(several) < 2:
            return "".join(f"and {n:,} more {words}" for n, words in several)
        return f"and {left.total():,} more: {', '.join(f'{n:,} {words}' for n, words in several)}"


def _fitted(top: str, sections: Sequence[_Section], limit: int) -> str:
    """All sections, with as many of their rows as there is room for: a few of each first, then by importance."""
    room = limit - sum(_size(text) for text in (top, *(section.text([]) for section in sections)))
    if room < 0:
        return _counted(top, sections, limit)
    shown: list[list[str]] = [[] for _ in sections]
    full = [False for _ in sections]
    for most in (FEW, None):
        for i, section in enumerate(sections):
            while not full[i] and len(shown[i]) < (len(section.kinds) if most is None else most):
                row = next(section.rows, None)
                full[i] = row is None or _size(row) + 1 > room
                if row is not None and not full[i]:
                    shown[i].append(row)
                    room -= _size(row) + 1
    return top + "".join(section.text(rows) for section, rows in zip(sections, shown, strict=True))


def _counted(top: str, sections: Sequence[_Section], limit: int) -> str:
    """The first line and bare numbers, where there is no room even for headings."""
    numbers = ", ".join(f"{n:,} {_WORDS[kind][n > 1]}" for s in sections for kind, n in Counter(s.kinds).items())
    first, _, _ = top.partition("\n")
    text = f"{first}\n\nNot shown, for want of room: {numbers}\n"
    return text.encode()[: max(limit, 0)].decode(errors="ignore")


def _size(text: str) -> int:
    return len(text.encode())


def _top(made: Plan, basis: Basis | None) -> Iterator[str]:
    files = len(made.difference.changes)
    said = f"{files:,} file{'s' if files != 1 else ''} below {code(f'{made.root}/')}"
    yield f"## {sentence(pull_request_title(made))}"
    yield {
        "unchanged": "**Nothing changes.**",
        "changed": f"**Changes {said}.**",
        "held": f"**Held: nothing is committed.** It would change {said}.",
    }[made.status]
    wanted = sum(demand.copies for demand in made.problem.demands)
    score = f"score {format_points(made.value.score)} ({made.solution_status.value})"
    yield f"Placed {made.value.placed:,} of {wanted:,} copies{kept_phrase(made)}; {score}."
    if made.phase is not None:
        yield f"{sentence(str(made.phase))}."
    bounds = list(_bounds(made))
    if bounds:
        yield "\n".join(bounds)
    if basis is not None:
        yield f"Hub: {code(basis.where)}, {sentence(basis.when)}"


def _bounds(made: Plan) -> Iterator[str]:
    """What is not proved to be best, objective by objective."""
    if made.solution_status is Status.OPTIMAL:
        return
    for stage in made.solution.stages:
        if stage.name == NAMES or stage.bound <= stage.value:
            continue
        shown = format_points if stage.name == NET_SCORE else str
        if isinf(stage.bound):
            yield f"- {sentence(stage.name)}: {shown(stage.value)}, no bound is proved"
        else:
            bound, gap = shown(int(stage.bound)), shown(int(stage.bound) - stage.value)
            yield f"- {sentence(stage.name)}: {shown(stage.value)}, bound {bound}, gap {gap}"


def _sections(made: Plan) -> Iterator[_Section]:
    """Every section, the most important first."""
    yield _listed("Held", "held", [_held(one) for one in made.held])
    yield _listed("Without a place", "unplaced", [_unplaced(one) for one in made.unplaced])
    if made.phase is not None:
        to_come = [sentence("; ".join(one)) for one in made.phase.to_come]
        yield _listed("Phases to come", "phase", to_come)
    if made.status != "unchanged":
        found = steps(made.before, made.blueprint)
        moves = sorted(found.workloads, key=lambda step: _ORDER.index(step.verb))
        yield _Section(_table("Workloads", "Workload"), [s.verb for s in moves], _workload_rows(made, moves))
        changes = sorted(found.clusters, key=lambda step: _ORDER.index(step.verb))
        yield _Section(_table("Configurations", "Cluster"), [s.verb for s in changes], _cluster_rows(made, changes))
        scorers = scoring_steps(made.difference)
        yield _listed("Scorers", "scorer", [f"{s.verb} {code(s.name)}: {sentence(s.detail)}" for s in scorers])
        edits = taken_back(made)
        yield _listed("Written anew over what somebody edited by hand", "edit", [code(path) for path in edits])
    yield _listed("Warnings", "warning", [sentence(text) for text in made.warnings])
    yield _files(made.difference.changes, made.root)


def _listed(title: str, kind: str, rows: Sequence[str]) -> _Section:
    return _Section(f"### {title}\n", [kind] * len(rows), (f"- {row}" for row in rows))


def _table(title: str, subject: str) -> str:
    return f"### {title}\n\n| Change | {subject} | From | To | Why |\n|---|---|---|---|---|"


def _files(changes: Sequence[Change], root: str) -> _Section:
    summary = f"{len(changes):,} file{'s' if len(changes) != 1 else ''} below {root}/"
    ordered = sorted(changes, key=lambda change: (("remove", "change", "add").index(change.action), change.path))
    rows = (f"- {change.action} {code(change.path)}" for change in ordered)
    start = f"<details>\n<summary>{sentence(summary)}</summary>\n"
    return _Section(start, ["file"] * len(ordered), rows, "\n</details>")


def _held(one: Held) -> str:
    return sentence(one.text) + (f" (until {format_instant(one.until)})" if one.until else "")


def _unplaced(one: Unplaced) -> str:
    kept = f"; stays on {_names(one.kept)}, where git has it" if one.kept else ""
    missing = f" ({one.missing:,} copies)" if one.missing > 1 else ""
    return f"{code(str(one.workload))}{missing}: {sentence(one.reason)}{kept}"


def _workload_rows(made: Plan, several: Sequence[WorkloadStep]) -> Iterator[str]:
    of: dict[WorkloadId, list[Decision]] = {}
    for decision in made.decisions:
        of.setdefault(decision.workload, []).append(decision)
    for step in several:
        why = loss_reason(made, step) or _why(of.get(step.workload, ()))
        yield _row(step.verb, code(str(step.workload)), _spots(step.before), _spots(step.after), sentence(why))


def _cluster_rows(made: Plan, several: Sequence[ClusterStep]) -> Iterator[str]:
    on: dict[ClusterName, list[str]] = {}
    for decision in made.decisions:
        if decision.policy is not None:
            on.setdefault(decision.cluster, []).append(decision.workload.name)
    for step in several:
        users = on.get(step.cluster, ())
        why = sentence(loss_reason(made, step)) or (f"for {_names(users)}" if users else "")
        before, after = (code(p.name) if p else "no policy" for p in (step.before, step.after))
        yield _row(step.verb, code(step.cluster), before, after, why)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _why(decisions: Sequence[Decision]) -> str:
    if len(decisions) == 1:
        return decisions[0].reason
    return f"score {format_points(sum(d.score for d in decisions))} in all" if decisions else ""


def _spots(spots: Sequence[Spot]) -> str:
    shown = [code(s.cluster) + (f" under {code(s.policy.name)}" if s.policy else "") for s in spots[:MOST_NAMES]]
    return _and_more(shown, len(spots)) or "nowhere"


def _names(names: Sequence[str]) -> str:
    return _and_more([code(name) for name in names[:MOST_NAMES]], len(names))


def _and_more(shown: Sequence[str], of: int) -> str:
    return ", ".join(shown) + (f" and {of - len(shown):,} more" if of > len(shown) else "")
