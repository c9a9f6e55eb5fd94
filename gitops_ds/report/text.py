"""A Plan as lines of text that fit a terminal 80 columns wide and read as well without colour.

Owns the layout. Yields marked-up pieces and prints nothing: `cli/terminal.py` knows the terminal.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby

from gitops_ds.decisions import Alternative, Decision, Unplaced, format_points
from gitops_ds.evidence import Evidence
from gitops_ds.ids import HUB, ResourceKind
from gitops_ds.message import kept_phrase, loss_reason, taken_back
from gitops_ds.phases import Phase
from gitops_ds.problem.scores import format_age
from gitops_ds.quantity import format_quantity
from gitops_ds.reconcile import EDITED, Plan
from gitops_ds.report.basis import Basis
from gitops_ds.scorers import scoring_steps
from gitops_ds.steps import ClusterStep, WorkloadStep, steps
from gitops_ds.tree import Change
from gitops_ds.whatif import Loss

MOST_WORKLOADS = 40
MOST_AGAINST = 6
MOST_WARNINGS = 10
MOST_PHASES = 10
Styled = tuple[str, str]
"""(text, style): style is one of title, good, bad, warn, dim, add, remove, or empty."""


def plan_text(made: Plan, basis: Basis | None = None, *, whole: bool = False) -> Iterator[Styled]:
    """The plan as a person reads it: what is where and why, what has no place, what changes. `whole`: nothing cut."""
    yield _headline(made)
    if basis is not None:
        yield f"Hub: {basis.where}", "dim"
        yield f"  {basis.when}", "dim"
    most = len(made.decisions) if whole else MOST_WORKLOADS
    by_intent = sorted(made.decisions, key=lambda d: (d.intent, d.workload, d.cluster))
    for intent, several in groupby(by_intent[:most], key=lambda d: d.intent):
        yield "", ""
        yield str(intent), "title"
        for decision in several:
            yield from decision_text(decision, whole=whole)
    if len(made.decisions) > most:
        yield f"  and {len(made.decisions) - most} more (--output json has them all)", "dim"
    yield from _unplaced(made.unplaced)
    yield from _phases(made.phase, whole=whole)
    yield from _changes(made)
    if made.status == "changed":
        yield from _list("Takes back, edited by hand", taken_back(made), "warn")
    yield from _list("Held", [h.text for h in made.held], "bad")
    if any(h.guard == EDITED for h in made.held):
        yield "  --overwrite-edits takes these files back", ""
    yield from _list("Warnings", made.warnings, "warn", most=len(made.warnings) if whole else MOST_WARNINGS)


def decision_text(decision: Decision, *, whole: bool = False) -> Iterator[Styled]:
    """One decision: where, under what, how good, and why nowhere else."""
    device = f" as {decision.device}" if decision.device else ""
    yield f"  {decision.workload.name} -> {decision.cluster}{device}", ""
    if decision.policy is not None:
        yield f"      policy {decision.policy.name}", "dim"
    yield from wrapped(f"why: {decision.reason}", "      ", "")
    yield from _against(decision.alternatives, whole=whole)


def evidence_text(evidence: Evidence) -> Iterator[Styled]:
    """Everything that is known about one workload's place: what it needs, what each score says, why not elsewhere."""
    demand = evidence.demand
    needs = _amounts(demand.requests) or "nothing"
    copies = f", {demand.copies} copies" if demand.copies > 1 else ""
    yield f"{demand.workload} ({demand.intent.name}): requests {needs}{copies}", "title"
    for decision, terms in evidence.decisions:
        yield from decision_text(decision, whole=True)
        for term in terms:
            value = "missing" if term.value is None else format_points(term.value)
            weight = "" if term.weight == 1 else f", weight {term.weight}"
            sense = "" if term.direction == "maximize" else ", less is better"
            source = "" if term.source == HUB else f"from {term.source}, "
            said = f'{term.score} "{term.dimension}": {value} ({source}{format_age(term.age)}{weight}{sense})'
            yield from wrapped(said, "      ", "warn" if term.stale else "")
        there = demand.requests_on.get(decision.device)
        if there is not None:
            said = f"requests {_amounts(there) or 'nothing'} there: requestsOn {decision.device}"
            yield from wrapped(said, "      ", "")
    if evidence.unplaced is not None:
        yield from _unplaced([evidence.unplaced])
    yield from _losses(evidence.losses or ())


def diff_text(changes: Sequence[Change]) -> Iterator[Styled]:
    """The changes as a unified diff that `git apply` takes."""
    for change in changes:
        before, after = (_patch_lines(content) for content in (change.before, change.after))
        yield f"diff --git a/{change.path} b/{change.path}", "title"
        if change.before is None:
            yield "new file mode 100644", "dim"
        if change.after is None:
            yield "deleted file mode 100644", "dim"
        old = "/dev/null" if change.before is None else f"a/{change.path}"
        new = "/dev/null" if change.after is None else f"b/{change.path}"
        for line in difflib.unified_diff(before, after, old, new):
            style = {"+": "add", "-": "remove", "@": "dim"}.get(line[:1], "")
            yield from ((part, style) for part in line.removesuffix("\n").split("\n"))


def _patch_lines(content: bytes | None) -> list[str]:
    """Lines for a patch: each ends in a line feed, the last one in git's note where the file does not."""
    lines = (content or b"").decode(errors="replace").split("\n")
    last = lines.pop()
    note = "\n\\ No newline at end of file\n"
    return [*(f"{line}\n" for line in lines), *([last + note] if last else [])]


def _headline(made: Plan) -> Styled:
    wanted = sum(d.copies for d in made.problem.demands)
    held = "held, so nothing is committed"
    word = {"unchanged": "nothing changes", "changed": f"changes {_files(made)}", "held": held}[made.status]
    style = {"unchanged": "good", "changed": "title", "held": "bad"}[made.status]
    score = format_points(made.value.score)
    proof = made.solution_status.value
    return f"Plan: {made.value.placed} of {wanted} placed{kept_phrase(made)}, score {score} ({proof}); {word}", style


def _against(several: Sequence[Alternative], *, whole: bool) -> Iterator[Styled]:
    """Why not elsewhere. What has one reason is said in one line."""
    lines = []
    for key, group in groupby(several, key=lambda a: (a.cluster, a.reason)):
        members = list(group)
        devices = ", ".join(f"{a.device or 'as it is'}{_scored(a)}" for a in members)
        lines.append(f"not {key[0]} {devices}: {key[1]}")
    most = len(lines) if whole else MOST_AGAINST
    for line in lines[:most]:
        yield from wrapped(line, "      ", "dim")
    if len(lines) > most:
        yield f"      and {len(lines) - most} more reasons (gitops-ds explain)", "dim"


def _scored(a: Alternative) -> str:
    return "" if a.score is None else f" (score {format_points(a.score)})"


def _unplaced(several: Sequence[Unplaced]) -> Iterator[Styled]:
    if several:
        yield "", ""
        yield "Without a place", "bad"
    for one in several:
        yield from wrapped(f"{one.workload}: {one.reason}", "  ", "bad")
        if one.short:
            yield f"      short by {_amounts(one.short)}", ""
        if one.kept:
            yield f"      stays on {', '.join(one.kept)}, where git has it", ""
        for i, change in enumerate(one.relaxations):
            yield from wrapped(f"{'or' if i else 'would fit with'}: {change}", "      ", "")
        yield from _against(one.alternatives, whole=False)


def _amounts(several: Mapping[ResourceKind, Fraction]) -> str:
    return ", ".join(f"{format_quantity(n)} {kind}" for kind, n in sorted(several.items()))


def _losses(several: Sequence[Loss]) -> Iterator[Styled]:
    """What each alternative would cost the whole plan."""
    if several:
        yield "  elsewhere instead, solved again for the whole plan:", ""
    for one in several:
        device = f" as {one.device}" if one.device else " as it is"
        yield from wrapped(f"on {one.cluster}{device}: {one}", "      ", "")


def _phases(phase: Phase | None, *, whole: bool) -> Iterator[Styled]:
    """Where a move stands that takes several commits, and what is to come."""
    if phase is None:
        return
    yield "", ""
    yield "Phases", "title"
    yield from wrapped(str(phase), "  ", "")
    if phase.steps and phase.awaited:
        yield from wrapped(f"it goes on once the hub shows {'; '.join(phase.awaited)}", "    ", "dim")
    most = len(phase.to_come) if whole else MOST_PHASES
    first = phase.total - len(phase.to_come) + 1
    for number, steps_ in enumerate(phase.to_come[:most], first):
        yield from wrapped(f"then {number} of {phase.total}: {'; '.join(steps_)}", "  ", "dim")
    if len(phase.to_come) > most:
        yield f"  and {len(phase.to_come) - most} more", "dim"
    if phase.blocked:
        yield from wrapped(f"then it cannot go on: {'; '.join(phase.blocked)}", "  ", "bad")


def _changes(made: Plan) -> Iterator[Styled]:
    if made.status == "unchanged":
        return
    found = steps(made.before, made.blueprint)
    several: list[WorkloadStep | ClusterStep] = [*found.workloads, *found.clusters]
    lines = [_step(step) for step in several if not loss_reason(made, step)]
    lines.append(_files(made))
    yield from _list("Changes", lines, "")
    lost = [f"{_step(step)}; {why}" for step in several if (why := loss_reason(made, step))]
    yield from _list("Removes", lost, "remove")
    yield from _list("Scoring", [str(step) for step in scoring_steps(made.difference)], "")


def _step(step: WorkloadStep | ClusterStep) -> str:
    if isinstance(step, ClusterStep):
        return f"{step.verb} {step.cluster}: {step}"
    stays = step.verb in ("rescore", "gate")
    return f"{step.workload.name} {step}" if stays else f"{step.verb} {step.workload.name}: {step}"


def _files(made: Plan) -> str:
    n = len(made.difference.changes)
    return f"{n} file{'s' if n != 1 else ''} below rendered/"


def _list(title: str, lines: Sequence[str], style: str, most: int = 40) -> Iterator[Styled]:
    if lines:
        yield "", ""
        yield title, "title"
    for line in lines[:most]:
        yield from wrapped(line, "  ", style)
    if len(lines) > most:
        yield f"  and {len(lines) - most} more", "dim"


def wrapped(text: str, indent: str, style: str, width: int = 80) -> Iterator[Styled]:
    """`text` in lines of at most `width`, continued further in; a word that is longer than a line stays whole."""
    line = indent
    for word in text.split(" "):
        if len(line) + len(word) > width and line.strip():
            yield line.rstrip(), style
            line = indent + "  "
        line += word + " "
    yield line.rstrip(), style
