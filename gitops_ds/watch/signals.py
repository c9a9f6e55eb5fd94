"""What the operating system tells a running loop: stop (SIGTERM, SIGINT), or one round at once (SIGHUP).

The first signal to stop lets the round that is under way end, for a grace period; after that, or at a second signal,
`Stopping` is raised in the middle of it. The code that it passes through ends its own children, as it does for Ctrl-C;
worker processes, which it would wait for, are killed.

Owns the handlers and all waiting of the main thread, which a signal, or another thread by `wake`, cuts short.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from gitops_ds.processes import kill_workers

GRACE = 20.0
"""Seconds that a round may go on after the first signal to stop: Kubernetes kills after 30."""
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)


class Stopping(BaseException):
    """Stop now.

    It is no Exception, so that nothing takes it for a failure, and no KeyboardInterrupt: a solve that is cut short by
    that one gives its best plan so far, which nobody waits for here.
    """


class Signals:
    """The signals of this process, from `with` on to its end. For the main thread, one at a time."""

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._breakable = False
        self._nudged = False
        self._old: dict[int, Any] = {}
        self._reader = self._writer = self._old_wakeup = -1
        self.stopping = False
        """Whether a signal to stop has come."""

    def __enter__(self) -> Signals:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._old_wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in _HANDLED:
            self._old[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self._reader)
        os.close(self._writer)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._nudged = True
            return
        again, self.stopping = self.stopping, True
        if not self._breakable:
            return
        if again or number == signal.SIGALRM:
            self._breakable = False  # what is on its way out is not broken off again
            kill_workers()
            raise Stopping
        signal.setitimer(signal.ITIMER_REAL, self._grace)

    @contextmanager
    def breakable(self) -> Iterator[None]:
        """Work that is let end when it is time to stop, and is broken off when that takes too long.

        Raises:
            Stopping: it was broken off.
        """
        self._breakable = True
        try:
            yield
        finally:
            self._breakable = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def take_nudge(self) -> bool:
        """Whether a round was asked for since this was asked last."""
        was, self._nudged = self._nudged, False
        return was

    def wake(self) -> None:
        """Have `wait` look at its condition now. The one method for other threads."""
        with suppress(OSError):  # closed, or full and thus about to wake already
            os.write(self._writer, b"\0")

    def wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Wait until the time is over, `until` holds, a round is asked for, or it is time to stop."""
        ends = time.monotonic() + seconds
        while not (self.stopping or self._nudged or until()):
            left = ends - time.monotonic()
            if left <= 0:
                return
            self._rest(left)

    def sleep(self, seconds: float) -> None:
        """Sleep inside of a round.

        Raises:
            Stopping: it is time to stop; while a round sleeps, nothing is under way that had to end.
        """
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if self.stopping:
                raise Stopping
            self._rest(left)

    def _rest(self, seconds: float) -> None:
        if select.select([self._reader], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                os.read(self._reader, 4096)
