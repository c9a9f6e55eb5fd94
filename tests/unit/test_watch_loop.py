"""The loop in this process, with rounds that end as a test wants them to: what is told, counted and waited for."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_ds.cli.faults import faults_of
from gitops_ds.delivery import Delivered, Drawn, World
from gitops_ds.errors import (
    ContentionError,
    Fault,
    HubUnreachable,
    InputError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    UsageError,
)
from gitops_ds.intent.reconciler import Lease, ReconcilerSpec, Watch
from gitops_ds.reconcile import Held
from gitops_ds.report.basis import Basis
from gitops_ds.solver import solve
from gitops_ds.watch import Health, Log, Loop, Metrics, Reading, Settings, Signals, Stopping, Timed
from tests.unit.pages import planned, sample

NOW = datetime(2026, 1, 15, 9, tzinfo=UTC)
Act = Callable[[World, Timed], Delivered]
WATCH = Watch(interval=timedelta(seconds=60), jitter=0)


def done(*held: Held) -> Delivered:
    made = planned().holding(*held)
    return Delivered(Drawn(made, Basis("demo", NOW, NOW, None), ReconcilerSpec()))


@dataclass
class Acts(Signals):
    """A loop that does one act a round and stops after the last: waits take no time, and are noted."""

    acts: list[Act | BaseException]
    settings: Settings = field(default_factory=lambda: Settings(WATCH, "", timedelta()))
    read: Settings | None = None
    waits: list[float] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    opened: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        self.waits.append(seconds)
        self.stopping = self.stopping or not self.acts

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def open(self) -> "Acts":
        self.opened += 1
        return self

    def run(self, world: World, told: Callable[[Reading], None], timed: Timed) -> Delivered:
        act = self.acts.pop(0)
        told(Reading(self.read or self.settings, sample()[1], NOW))
        if isinstance(act, BaseException):
            raise act
        return act(world, timed)


@dataclass
class Ran:
    acts: Acts
    metrics: Metrics
    health: Health
    stream: io.StringIO
    loop: Loop

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def results(self) -> list[tuple[str, str]]:
        return [(one["level"], one["result"]) for one in self.events if one["event"] == "round"]

    def count(self, name: str) -> float:
        lines = self.metrics.exposed("")[0].decode().splitlines()
        return float(next(line for line in lines if line.startswith(f"gitops_ds_{name} ")).split()[-1])


@pytest.fixture
def run() -> Callable[..., Ran]:
    def runs(*acts: Act | BaseException, **fields: Any) -> Ran:
        signals = Acts(list(acts), **fields)
        stream, health, metrics = io.StringIO(), Health(lambda: 0.0), Metrics()
        loop = Loop(
            open=signals.open,
            explain=faults_of,
            interval=None,
            log=Log(stream, as_json=True, now=lambda: NOW),
            metrics=metrics,
            health=health,
            signals=signals,
            now=lambda: NOW,
            clock=lambda: 0.0,
            chance=lambda: 0.0,
        )
        ran = Ran(signals, metrics, health, stream, loop)
        loop.run()
        return ran

    return runs


Run = Callable[..., Ran]


def well(world: World, timed: Timed) -> Delivered:
    return done()


def test_rounds_that_end_well_keep_the_pace(run: Run) -> None:
    ran = run(well, well, well)
    assert ran.acts.waits == [60, 60, 60]
    assert ran.results() == [("info", "done")] * 3
    assert ran.health.ready()[0]
    assert ran.events[-1]["event"] == "stopped"


def test_failures_back_off_and_a_success_resets(run: Run) -> None:
    passing = HubUnreachable(Fault("no answer"))
    ran = run(passing, TransientError("x"), OutcomeUnknownError("y"), well, passing, well)
    assert ran.acts.waits == [60, 120, 240, 60, 60, 60]
    assert ran.results()[:3] == [("warning", "transient")] * 3
    assert [one["failures"] for one in ran.events if one["event"] == "recovered"] == [3, 1]
    assert ran.count('rounds_total{result="transient"}') == 4


def test_a_lasting_failure_is_told_once_until_another_takes_its_place(run: Run) -> None:
    wrong, other = InputError("wrong"), RefusedError("no")
    ran = run(wrong, wrong, wrong, other, other, wrong, well, wrong)
    assert [result for _, result in ran.results()] == ["error", "refused", "error", "done", "error"]
    assert ran.count('rounds_total{result="error"}') == 5
    assert ran.count('rounds_total{result="refused"}') == 2
    assert ran.acts.waits[:3] == [60, 120, 240]


def test_contention_is_a_failure_of_the_round_alone(run: Run) -> None:
    ran = run(ContentionError("it moved"), ContentionError("it moved"), well)
    assert ran.results() == [("warning", "contention"), ("warning", "contention"), ("info", "done")]
    told = next(one for one in ran.events if one["event"] == "round")
    assert (told["code"], told["faults"]) == (5, ["it moved"])


def test_a_bug_is_told_with_its_traceback_and_ends_nothing(run: Run) -> None:
    ran = run(ZeroDivisionError("oops"), MemoryError(), well)
    assert [result for _, result in ran.results()] == ["bug", "error", "done"]
    told = next(one for one in ran.events if one["event"] == "round")
    assert "ZeroDivisionError: oops" in told["traceback"]
    assert told["code"] == 70


def test_a_command_line_without_sense_ends_the_loop_only_from_the_start(run: Run) -> None:
    with pytest.raises(UsageError):
        run(UsageError("no"))
    ran = run(well, UsageError("no"), well)
    assert [result for _, result in ran.results()] == ["done", "error", "done"]


def test_what_holds_a_plan_is_told_when_it_changes(run: Run) -> None:
    def held(*guards: str) -> Act:
        return lambda world, timed: done(*(Held(guard, f"{guard} holds", NOW) for guard in guards))

    ran = run(held("freeze"), held("freeze"), held("freeze", "hold"), well, held("freeze"))
    assert [one["guard"] for one in ran.events if one["event"] == "held"] == ["freeze", "freeze", "hold", "freeze"]
    assert ran.results()[0] == ("info", "held")
    assert ran.acts.waits == [60] * 5
    assert ran.health.ready()[0]


def test_notes_are_told_once_as_long_as_each_round_has_them(run: Run) -> None:
    def saying(*notes: str) -> Act:
        def act(world: World, timed: Timed) -> Delivered:
            for note in notes:
                world.tell(note)
                world.tell(note)
                world.show(f"hook: {note}")
            return done()

        return act

    ran = run(saying("a"), saying("a", "b"), saying("b"), saying("a"))
    told = [(one["event"], one["text"]) for one in ran.events if one["event"] in ("note", "hook")]
    first = [("note", "a"), ("hook", "hook: a"), ("note", "b"), ("hook", "hook: b")]
    assert told == [*first, ("note", "a"), ("hook", "hook: a")]


def test_pushes_and_solves_are_counted(run: Run) -> None:
    def act(world: World, timed: Timed) -> Delivered:
        made = timed(solve)(planned().problem)
        assert made == planned().solution
        world.count("moved")
        world.back_off(1)
        world.count("yes")
        world.proceed()
        return done()

    ran = run(act)
    assert (ran.count('pushes_total{result="moved"}'), ran.count('pushes_total{result="yes"}')) == (1, 1)
    assert ran.count("solve_seconds_count") == 1
    assert ran.acts.slept == [0.2]
    assert [one["level"] for one in ran.events if one["event"] == "push"] == ["warning", "info"]


def test_the_settings_of_the_reading_count(run: Run) -> None:
    quick = Watch(interval=timedelta(seconds=5), jitter=0)
    ran = run(well, read=Settings(quick, "", timedelta(seconds=7)))
    assert ran.acts.waits == [5]


def test_a_lease_that_the_commit_asks_for_is_sought_before_anything_is_written(run: Run) -> None:
    lease = Watch(interval=timedelta(seconds=60), jitter=0, lease=Lease(namespace="ops", name="gitops-ds"))
    written = []

    def act(world: World, timed: Timed) -> Delivered:
        world.proceed()
        written.append(1)
        return done()

    ran = run(act, well, read=Settings(lease, "demo", timedelta()))
    assert written == []
    # The sample is no hub that has Leases; after that, the repository is asked anew, where it may have been mended.
    assert ran.results() == [("warning", "lost"), ("error", "error"), ("info", "done")]
    assert ran.acts.opened == 3


def test_a_round_that_is_broken_off_ends_the_loop(run: Run) -> None:
    ran = run(Stopping(), well)
    assert ran.results() == [("warning", "stopped")]
    assert ran.events[-1]["event"] == "stopped"
    assert ran.count('rounds_total{result="stopped"}') == 1
