"""The processes that this one has started, and all that those have started: found through /proc where there is one.

Git, hooks and solvers are each ended by who started them; this is for what such a one cannot see: workers of a pool
that would be waited for, and programs that a hook has sent into a session of their own.

Owns finding and killing them. Owns no start of a process and no signal handler.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37
"""Options of Linux' prctl."""
_QUIET = 3
"""How many looks in a row have to find nobody."""
_ROUNDS, _PAUSE = 100, 0.01
"""How often, and how many seconds apart, it is looked for processes that are started while others are killed."""


class _Process(NamedTuple):
    parent: int
    session: int


def kill_workers() -> None:
    """Kill every worker process of this one, and all that those have started."""
    workers = {child.pid for child in multiprocessing.active_children() if child.pid is not None}
    if workers:
        _signal(workers | _below(workers, _table()), signal.SIGKILL)


def strangers(*sessions: int) -> frozenset[int]:
    """The processes below this one that are in another session than it, and in none of `sessions`."""
    table = _table()
    own = {os.getsid(0), *sessions}
    return frozenset(pid for pid in _below({os.getpid()}, table) if table[pid].session not in own)


def ask_to_end(processes: Set[int]) -> None:
    """Tell processes to end."""
    _signal(processes, signal.SIGTERM)


def kill_strangers(spared: Set[int]) -> None:
    """Kill every stranger but those, until there is none.

    /proc is no snapshot: whoever changes its parent while it is read may be missed, so it is looked more than once.
    """
    quiet = 0
    for _ in range(_ROUNDS):
        left = strangers() - spared
        quiet = 0 if left else quiet + 1
        if quiet == _QUIET:
            return
        _signal(left, signal.SIGKILL)
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_PAUSE)


@contextmanager
def adopting() -> Iterator[None]:
    """While this lasts, whoever loses its parent below this process becomes its child, and can thus be found.

    Linux alone has that; elsewhere, nothing changes.
    """
    if sys.platform != "linux":
        yield
        return
    import ctypes

    libc = ctypes.CDLL(None)
    before = ctypes.c_int(0)
    libc.prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def _signal(processes: Set[int], number: int) -> None:
    for pid in sorted(processes):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _table() -> dict[int, _Process]:
    """Every process that there is now."""
    found = {}
    for stat in _PROC.glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            said = stat.read_text(encoding="utf-8", errors="replace")
            _, parent, _, session, *_ = said.rpartition(")")[2].split()  # a name may hold spaces and brackets
            found[int(stat.parent.name)] = _Process(int(parent), int(session))
    return found


def _below(roots: Set[int], table: dict[int, _Process]) -> set[int]:
    """Every process that one of `roots` has started, or that such a process has."""
    children: dict[int, set[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, set()).add(pid)
    found, new = set[int](), set(roots)
    while new:
        new = {child for one in new for child in children.get(one, ())} - found
        found |= new
    return found
