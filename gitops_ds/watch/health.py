"""`Health`: whether the loop is alive, and whether it has shown that it can work.

Owns the two answers that probes ask for. Owns no HTTP.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

QUIET = 900.0
"""Seconds between two signs of life that are never too many: reading a hub and its scores has a limit of 300."""


class Health:
    """What probes ask. The loop tells of its signs of life; any thread may ask.

    Args:
        clock: seconds that only go forward.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = clock()
        self._allowed = QUIET
        self._ready = False
        self._standing_by: Callable[[], bool] = lambda: False

    def beat(self, more: float = 0.0) -> None:
        """A sign of life; the next one may take `more` seconds longer than ever."""
        with self._lock:
            self._seen, self._allowed = self._clock(), QUIET + more

    def ended_well(self) -> None:
        """A round has ended well."""
        with self._lock:
            self._ready = True

    def stands_by(self, asked: Callable[[], bool]) -> None:
        """Tell how to ask whether another replica is known to do the work."""
        self._standing_by = asked

    def alive(self) -> tuple[bool, str]:
        """Whether the loop still moves, and that in words."""
        with self._lock:
            quiet, allowed = self._clock() - self._seen, self._allowed
        if quiet <= allowed:
            return True, "alive"
        return False, f"no sign of life for {quiet:.0f}s; {allowed:.0f}s is the longest that a step may take"

    def ready(self) -> tuple[bool, str]:
        """Whether a round has ended well or another replica works, and that in words."""
        with self._lock:
            ready = self._ready
        if ready:
            return True, "a round has ended well"
        if self._standing_by():
            return True, "another replica holds the Lease"
        return False, "no round has ended well yet"
