"""The end of a long solve holds whatever the child does: overruns, dies, fails, or is interrupted."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.instances import as_problem, placement
from gitops_ds.cli.interrupts import Terminated, terminable
from gitops_ds.errors import Fault, SolveError
from gitops_ds.problem import Problem
from gitops_ds.solution import Solution, Status
from gitops_ds.solver.guard import guarded

FIRST, SECOND = Solution((), Status.OPTIMAL), Solution((), Status.WITHIN_GAP)
FOREVER = 600.0


def problem(seconds: float) -> Problem:
    return replace(as_problem(placement(2, 2, 1)), time_limit=seconds)


def finishes(_: Problem) -> Iterator[Solution]:
    yield FIRST
    yield SECOND


def overruns(_: Problem) -> Iterator[Solution]:
    yield FIRST
    time.sleep(FOREVER)


def says_nothing(_: Problem) -> Iterator[Solution]:
    time.sleep(FOREVER)
    yield FIRST


def dies(_: Problem) -> Iterator[Solution]:
    yield FIRST
    os.kill(os.getpid(), signal.SIGKILL)


def fails(asked: Problem) -> Iterator[Solution]:
    if asked.demands:
        raise SolveError(Fault("no such luck", fix="none"))
    yield FIRST


def interrupts_its_parent(_: Problem) -> Iterator[Solution]:
    yield FIRST
    time.sleep(1)
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(FOREVER)


def terminates_its_parent(_: Problem) -> Iterator[Solution]:
    yield FIRST
    os.kill(os.getppid(), signal.SIGTERM)
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(FOREVER)


def runs_out_of_memory(_: Problem) -> Iterator[Solution]:
    yield FIRST
    bytearray(2**44)
    yield SECOND


def test_the_last_plan_is_the_answer() -> None:
    assert guarded(problem(30), finishes) == SECOND


@pytest.mark.parametrize("steps", [overruns, dies, runs_out_of_memory])
def test_the_best_plan_so_far_counts_and_says_so(steps: object) -> None:
    found = guarded(problem(9 if steps is overruns else 60), steps, grace=1)  # type: ignore[arg-type]
    assert found == replace(FIRST, status=Status.LIMIT)


def test_sigterm_ends_the_solve_without_a_plan() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), terminable():
        guarded(problem(60), terminates_its_parent)
    assert not multiprocessing.active_children()
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_sigterm_that_is_ignored_or_handled_stays_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with terminable():
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_without_a_plan_there_is_no_answer() -> None:
    with pytest.raises(SolveError, match="without a plan"):
        guarded(problem(0.5), says_nothing, grace=0.5)


def test_a_named_failure_keeps_its_words() -> None:
    with pytest.raises(SolveError) as raised:
        guarded(problem(60), fails)
    assert raised.value.faults == (Fault("no such luck", fix="none"),)


def test_an_interrupt_gives_the_best_plan_so_far() -> None:
    assert guarded(problem(120), interrupts_its_parent) == replace(FIRST, status=Status.LIMIT)
