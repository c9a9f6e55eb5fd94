"""`stage(...)`: the step that a plan takes, which of how many it is, and what keeps it from going on.

Owns the look ahead and the wording of what is waited for. Owns no rule of the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_ds.blueprint import Blueprint
from gitops_ds.phases.progress import Progress
from gitops_ds.phases.step import Step, next_step
from gitops_ds.phases.terms import Terms
from gitops_ds.phases.transit import Transit

MOST_TO_COME = 50
"""How many phases to come are worked out; there may be more."""
MOST_SAID = 5
"""How many things one sentence names before it counts the rest."""
BACK = "`gitops-ds abort` leads back to what was there before"


@dataclass(frozen=True, slots=True)
class Phase:
    """Where a move stands that takes several commits.

    Attributes:
        number: the phase that this plan commits, or that it waits to begin; from 1.
        total: how many there are in all, as it looks now.
        steps: what this commit does, in words; nothing while it waits.
        awaited: what the hub has still to show.
        to_come: what each later phase does, if the hub does all that it is asked for.
        blocked: what keeps the rest from ever coming.
    """

    number: int
    total: int
    steps: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    to_come: tuple[tuple[str, ...], ...] = ()
    blocked: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The phase in one line."""
        head = f"Phase {self.number} of {self.total}"
        if self.steps:
            return f"{head}: {_listed(self.steps)}"
        if self.awaited:
            return f"{head} waits for {_listed(self.awaited)}"
        return f"{head} cannot begin: {_listed(self.blocked)}"


@dataclass(frozen=True, slots=True)
class Staged:
    """What a plan renders now.

    Attributes:
        blueprint: the next step's.
        transit: what is in flight then.
        phase: where the move stands; None where one commit does it all.
        held: why it cannot go on, in words; "" where it can.
    """

    blueprint: Blueprint
    transit: Transit | None = None
    phase: Phase | None = None
    held: str = ""


def stage(
    before: Blueprint | None,
    target: Blueprint,
    transit: Transit | None,
    terms: Terms,
    hub: Progress,
    *,
    since: datetime | None = None,
    now: datetime | None = None,
) -> Staged:
    """The step towards the target that a plan takes now.

    Args:
        before: what git holds; None: nothing yet.
        target: what is wanted.
        transit: what git's lock says is in flight.
        terms: how workloads may move.
        hub: how far the hub has got.
        since: when the last step got into git; None: not known, so nothing is ever overdue.
        now: the real clock.
    """
    if not terms.phased and transit is None:
        return Staged(target)
    step = next_step(before or Blueprint(), target, transit, terms, hub)
    if step.transit is None and transit is None:
        return Staged(step.blueprint)
    to_come, blocked = _ahead(step, target, terms, hub.done())
    done = transit.number if transit else 0
    phase = Phase(
        done + 1, done + bool(step.did) + len(to_come), step.did, step.awaited, to_come, step.blocked or blocked
    )
    phase = replace(phase, total=max(phase.total, phase.number))
    return Staged(step.blueprint, step.transit, phase, _held(step, terms, since, now))


def _ahead(
    step: Step, target: Blueprint, terms: Terms, hub: Progress
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """What the phases after `step` do once the hub has done all that is awaited, and what stops them in the end."""
    found: list[tuple[str, ...]] = []
    while step.transit is not None and len(found) < MOST_TO_COME:
        step = next_step(step.blueprint, target, step.transit, terms, hub)
        if not step.did:
            return tuple(found), step.blocked
        found.append(step.did)
    return tuple(found), ()


def _held(step: Step, terms: Terms, since: datetime | None, now: datetime | None) -> str:
    if step.did:
        return ""
    if not step.awaited:
        why = _listed(step.blocked) or "nothing that is allowed leads on"
        ways = "make room on a cluster, let one of them move at once (`surge: false`)"
        return f"the move cannot go on: {why}. To try: {ways}, or {BACK}"
    waited = now - since if since and now else timedelta()
    if waited <= terms.timeout:
        return ""
    most = f"phaseTimeout is {_minutes(terms.timeout)}"
    return f"has waited {_minutes(waited)} for {_listed(step.awaited)} ({most}). To try: see why on the hub, or {BACK}"


def _listed(several: tuple[str, ...]) -> str:
    rest = len(several) - MOST_SAID
    return "; ".join(several[:MOST_SAID]) + (f"; and {rest} more" if rest > 0 else "")


def _minutes(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < 120:
        return f"{seconds}s"
    minutes = seconds // 60
    return f"{minutes}m" if minutes < 120 else f"{minutes // 60}h{minutes % 60}m"
