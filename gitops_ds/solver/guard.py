"""Long solves in a process of their own, with an end that holds whatever the solver does.

HiGHS was seen to overrun its time limit by a minute and to let Ctrl-C wait until it is done. Here the parent waits:
the child sends every better plan as it finds it, and at the limit, at Ctrl-C, or when the child dies, the last plan
that arrived counts, and says that a limit struck.

Owns the child and its end. Owns no solving: what the child runs is an argument.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection

from gitops_ds.errors import Fault, SolveError
from gitops_ds.problem.model import Problem
from gitops_ds.solution import Solution, Status

GRACE = 5.0
"""Seconds that a child may take beyond the problem's time limit, for what HiGHS cannot interrupt."""
MEMORY = 8 * 2**30
"""Bytes of address space that a child may use; beyond it the plan so far counts."""

Steps = Callable[[Problem], Iterator[Solution]]
"""Yields ever better plans; the last one is the answer. A module-level function, since it is sent to a child."""


def guarded(problem: Problem, steps: Steps, *, grace: float = GRACE) -> Solution:
    """The last plan that `steps` yields, or the last one before the time limit and its grace ran out.

    Raises:
        SolveError: there was none, or the child failed for a reason that it could name.
        KeyboardInterrupt: interrupted before there was any plan.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(sender, problem, steps), daemon=True)
    child.start()
    sender.close()
    best: Solution | None = None
    try:
        for best, done in _received(receiver, time.monotonic() + problem.time_limit + grace):
            if done:
                return best
    except KeyboardInterrupt:
        if best is None:
            raise
    finally:
        child.kill()
        child.join()
        receiver.close()
    if best is None:
        fix = "allow it more time: spec.solver.timeLimit"
        raise SolveError(Fault("the solver ended without a plan", why="a limit struck before it had one", fix=fix))
    return replace(best, status=Status.LIMIT)


def _received(receiver: Connection, ends: float) -> Iterator[tuple[Solution, bool]]:
    """Plans as they arrive, the last of them with True; ends early where time runs out or the child is gone."""
    last: Solution | None = None
    while receiver.poll(max(ends - time.monotonic(), 0.0)):
        try:
            message = receiver.recv()
        except EOFError:
            return
        if isinstance(message, SolveError):
            raise message
        if message is None:
            if last is not None:
                yield last, True
            return
        last = message
        yield last, False


def _work(sender: Connection, problem: Problem, steps: Steps) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    try:
        for solution in steps(problem):
            sender.send(solution)
    except SolveError as error:
        sender.send(error)
    except MemoryError:
        return
    except Exception as error:
        what = f"the solver failed: {type(error).__name__}: {error}"
        sender.send(SolveError(Fault(what, fix="report this")))
    sender.send(None)
