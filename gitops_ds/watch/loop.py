"""`Loop`: round after round until it is told to stop, and what each one's end means for the next.

A round is read anew from the start: the repository is opened, the hub is read, and the Reconciler's settings are those
of the commit that is planned from. Whatever goes wrong in one is told, waited after and tried again: nothing but a
signal ends the loop, and a command line that made no sense from the start.

Owns the order of things in and between rounds. Owns no round: it is handed in, as `Opened`.
"""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from gitops_ds.delivery import Delivered, Pushed, World
from gitops_ds.errors import (
    ContentionError,
    Fault,
    GitopsDsError,
    HeldError,
    HubConflict,
    HubExpired,
    HubUnreachable,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    UsageError,
)
from gitops_ds.intent.reconciler import Watch
from gitops_ds.inventory import Inventory
from gitops_ds.problem import Problem
from gitops_ds.reconcile import Solve
from gitops_ds.solution import Solution
from gitops_ds.watch.ages import oldest_scores
from gitops_ds.watch.election import Leadership, new_identity
from gitops_ds.watch.health import Health
from gitops_ds.watch.logs import Level, Log
from gitops_ds.watch.metrics import Metrics, Result
from gitops_ds.watch.pace import seconds_until_next
from gitops_ds.watch.signals import Signals, Stopping

BUG = 70
"""The exit code of what is no error of the tree."""
STANDBY = 300.0
"""Seconds after which a replica that stands by looks into the repository for other settings."""
_TRANSIENT = (HubUnreachable, HubExpired, HubConflict, TransientError, OutcomeUnknownError)

Explain = Callable[[BaseException], tuple[int, tuple[Fault, ...]]]
Timed = Callable[[Solve], Solve]
"""Makes of a solver one that is timed."""


@dataclass(frozen=True)
class Settings:
    """What a commit says of the loop.

    Attributes:
        watch: the Reconciler's part on the loop.
        hub: the hub's name, `kubernetes:CONTEXT` where it is a live one.
        patience: how long a hook or a call of the remote may take, together.
    """

    watch: Watch
    hub: str
    patience: timedelta


@dataclass(frozen=True)
class Reading:
    """What was read for one plan: the settings of the commit, the hub's facts, and when scores are judged.

    `warning` is what a person should know of the facts; "" for nothing.
    """

    settings: Settings
    inventory: Inventory
    instant: datetime
    warning: str = ""


class Opened(Protocol):
    """One round, opened: the repository is there and its settings are read."""

    @property
    def settings(self) -> Settings:
        """What the repository says of the loop, before anything else is read."""
        ...

    def run(self, world: World, told: Callable[[Reading], None], timed: Timed) -> Delivered:
        """Make one plan and deliver it. `told` gets each reading, before it is planned on."""
        ...


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Loop:
    """The loop.

    Attributes:
        open: opens one round.
        explain: the exit code and the faults that an exception means.
        interval: instead of what the Reconciler says.
        log, metrics, health: who is told.
        signals: installed already.
        now, clock, chance: the time, seconds that only go forward, a number from 0 to 1.
    """

    open: Callable[[], Opened]
    explain: Explain
    interval: timedelta | None
    log: Log
    metrics: Metrics
    health: Health
    signals: Signals
    now: Callable[[], datetime] = _now
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    _leadership: Leadership = field(init=False)
    _settings: Settings | None = field(default=None, init=False)
    _pace: Watch = field(default_factory=Watch, init=False)
    _failures: int = field(default=0, init=False)
    _failed: tuple[Result, tuple[Fault, ...]] | None = field(default=None, init=False)
    _was_well: bool = field(default=False, init=False)
    _held: tuple[str, ...] = field(default=(), init=False)
    _notes: frozenset[tuple[str, str]] = field(default=frozenset(), init=False)
    _new_notes: set[tuple[str, str]] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        """Begin without a Lease: the first commit that is read says whether there is one."""
        self._leadership = Leadership(self.log, self.signals.wake, new_identity())
        self.health.stands_by(lambda: self._leadership.stands_by)
        self.metrics.leads(lambda: self._leadership.may_work)

    def run(self) -> None:
        """Run rounds until it is time to stop; a Lease that is held is given back.

        Raises:
            UsageError: no round has ended well, and the command line makes no sense in this repository.
        """
        try:
            while not self.signals.stopping:
                self._turn()
        except Stopping:
            self.metrics.ended("stopped")
            self.log.event("round", "warning", result="stopped")
        finally:
            self._leadership.close()
        self.log.event("stopped")

    def _turn(self) -> None:
        """One round and the wait after it, or a while of standing by."""
        self.health.beat()
        self.signals.take_nudge()
        if self._leadership.seeks and not self._stood_by():
            return
        with self.signals.breakable():
            result = self._round()
        if result == "lost":
            return
        interval = self.interval or self._pace.interval
        seconds = seconds_until_next(self._pace, interval, self._failures, self.chance())
        self.health.beat(seconds)
        self.signals.wait(seconds)

    def _stood_by(self) -> bool:
        """Wait for the Lease, or until it is time to look whether the repository asks for it still; False: to stop."""
        self.signals.wait(STANDBY, until=lambda: self._leadership.may_work)
        if not self._leadership.may_work:
            self._settings = None
        return not self.signals.stopping

    def _round(self) -> Result:
        """One round; how it ended."""
        began = self.clock()
        try:
            done = self._worked()
        except Exception as error:  # whatever it is, the next round may do better
            if isinstance(error, UsageError) and not self._was_well:
                raise
            result = self._fail(error, self.clock() - began)
        else:
            if done is None:
                return "lost"
            result = self._end_well(done, self.clock() - began)
        self._notes, self._new_notes = frozenset(self._new_notes), set()
        return result

    def _worked(self) -> Delivered | None:
        """One plan, delivered; None where another replica has to be asked first."""
        opened = self.open()
        settings = self._settings or opened.settings
        self._heed(settings)
        try:
            self._leadership.follow(settings.hub, settings.watch.lease)
        except GitopsDsError:
            self._settings = None  # the next round asks the repository anew
            raise
        if not self._leadership.may_work:
            return None
        readings: list[Reading] = []

        def told(reading: Reading) -> None:
            readings[:] = [reading]
            self._heed(reading.settings)
            self._beat()
            if reading.warning:
                self._note("note", reading.warning)

        done = opened.run(self._world(), told, self._timed)
        reading = readings[0]
        self.metrics.delivered(done, oldest_scores(done.plan, reading.inventory, reading.instant), self.now())
        return done

    def _heed(self, settings: Settings) -> None:
        self._settings, self._pace = settings, settings.watch

    def _world(self) -> World:
        return World(
            now=lambda: self.now().astimezone(),
            sleep=self._sleep,
            jitter=self.chance,
            tell=lambda text: self._note("note", text),
            show=lambda text: self._note("hook", text),
            count=self._count,
            proceed=self._proceed,
        )

    def _sleep(self, seconds: float) -> None:
        self._beat(seconds)
        self.signals.sleep(seconds)

    def _count(self, outcome: Pushed) -> None:
        self._beat()
        self.metrics.pushed(outcome)
        self.log.event("push", "info" if outcome == "yes" else "warning", result=outcome)

    def _proceed(self) -> None:
        """Make sure that no other replica is at work, before anything is written that others see."""
        self._beat()
        assert self._settings is not None
        self._leadership.insist(self._settings.hub, self._settings.watch.lease)

    def _may_go_on(self) -> bool:
        said = self._settings
        return said is None or self._leadership.may_work_by(said.hub, said.watch.lease)

    def _beat(self, more: float = 0.0) -> None:
        patience = self._settings.patience.total_seconds() if self._settings else 0.0
        self.health.beat(patience + more)

    def _timed(self, solve: Solve) -> Solve:
        def timed(problem: Problem) -> Solution:
            self._beat(problem.time_limit)
            began = self.clock()
            try:
                return solve(problem)
            finally:
                self.metrics.solved(self.clock() - began)
                self._beat()

        return timed

    def _note(self, event: str, text: str) -> None:
        """Tell what a person should know, once as long as each round says it again."""
        self._beat()
        note = (event, text)
        if note not in self._notes and note not in self._new_notes:
            self.log.event(event, "warning" if event == "note" else "info", text=text)
        self._new_notes.add(note)

    def _end_well(self, done: Delivered, seconds: float) -> Result:
        made = done.plan
        result: Result = "held" if made.status == "held" else "done"
        self.metrics.ended(result)
        if self._failures:
            self.log.event("recovered", failures=self._failures)
        self._failures, self._failed, self._was_well = 0, None, True
        self.health.ended_well()
        held = tuple(f"{one.guard}: {one}" for one in made.held)
        if held != self._held:
            for one in made.held:
                until = one.until.isoformat() if one.until else None
                self.log.event("held", "warning", guard=one.guard, text=one.text, until=until)
        self._held = held
        self.log.event(
            "round",
            result=result,
            status=made.status,
            seconds=seconds,
            unplaced=len(made.unplaced),
            commit=done.commit if done.is_new else None,
            branch=done.branch if done.commit else None,
            url=done.url,
        )
        return result

    def _fail(self, error: Exception, seconds: float) -> Result:
        """Tell of a failure: one that may pass each time, any other once until another one takes its place."""
        code, faults = self.explain(error)
        result = _result(error, code)
        if result == "held" and not self._may_go_on():
            result = "lost"
        self.metrics.ended(result)
        if result == "lost":
            self.log.event("round", "warning", result=result, seconds=seconds)
            return result
        self._failures += 1
        if (result, faults) != self._failed or result in ("transient", "contention"):
            shown = "".join(traceback.format_exception(error)) if result == "bug" else None
            level: Level = "warning" if result in ("transient", "contention") else "error"
            words = [str(fault) for fault in faults]
            self.log.event("round", level, result=result, seconds=seconds, code=code, faults=words, traceback=shown)
        self._failed = result, faults
        return result


def _result(error: Exception, code: int) -> Result:
    if isinstance(error, _TRANSIENT):
        return "transient"
    if isinstance(error, HeldError):
        return "held"
    if isinstance(error, ContentionError):
        return "contention"
    if isinstance(error, RefusedError):
        return "refused"
    return "bug" if code == BUG else "error"
