"""The end of worker processes whose work nobody waits for any more.

A pool of workers waits for them when it is left, and they may have started solvers of their own. Git and hooks are no
workers: who started them ends them, and lets git take its lock files away.

Owns finding them, through /proc where there is one.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def kill_workers() -> None:
    """Kill every worker process of this one, and all that those have started."""
    workers = {child.pid for child in multiprocessing.active_children() if child.pid is not None}
    for pid in sorted(workers | _below(workers)):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _below(roots: set[int]) -> set[int]:
    """Every process that one of `roots` has started, or that such a process has."""
    if not roots:
        return set()
    children: dict[int, set[int]] = {}
    for stat in _PROC.glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            said = stat.read_text(encoding="utf-8", errors="replace")
            parent = int(said.rpartition(")")[2].split()[1])  # a name may hold spaces and brackets
            children.setdefault(parent, set()).add(int(stat.parent.name))
    found, new = set[int](), roots
    while new:
        new = {child for one in new for child in children.get(one, ())} - found
        found |= new
    return found
