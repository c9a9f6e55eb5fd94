"""What went wrong, as words for people and as JSON for programs: the map from every exception to both.

Owns how faults look and which exit code an exception means. Owns no cause.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from typing import Any

import click

from gitops_ds import __version__
from gitops_ds.cli.terminal import one_line
from gitops_ds.errors import Fault, GitopsDsError, Place

USAGE, BUG, INTERRUPTED = 64, 70, 130
MOST_FAULTS = 20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LONGEST_LINE = 500
"""Characters of one part of a fault that are shown: what is wrong may be as long as a file."""


def faults_of(error: BaseException) -> tuple[int, tuple[Fault, ...]]:
    """The exit code that `error` means, and the faults that say it."""
    if isinstance(error, GitopsDsError):
        return error.exit_code, error.faults
    code, fault = _other(error)
    return code, (fault,)


def _other(error: BaseException) -> tuple[int, Fault]:
    match error:
        case click.UsageError():
            verb = [error.ctx.info_name or ""] if error.ctx and error.ctx.parent else []
            return USAGE, Fault(error.format_message(), fix=" ".join(["gitops-ds", *verb, "--help"]))
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED, Fault("interrupted")
        case OSError():
            place = Place(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None
            fix = "make room on the disk or raise the limit" if error.errno in _NO_ROOM else ""
            return 1, Fault(error.strerror or str(error) or type(error).__name__, place, fix=fix)
        case MemoryError():
            return 1, Fault("out of memory")
    said = str(error).partition("\n")[0]
    what = f"this is a bug in gitops-ds {__version__}: {type(error).__name__}{f': {said}' if said else ''}"
    return BUG, Fault(what, fix="run it again with GITOPS_DS_TRACEBACK=1 in the environment and report what it prints")


def fault_lines(faults: Sequence[Fault]) -> Iterator[tuple[str, str]]:
    """The faults as styled lines: what, where, why, and what to try."""
    for fault in faults[:MOST_FAULTS]:
        yield _cut(f"error: {one_line(fault.what)}"), "bad"
        for word, text in (("at", fault.place), ("why:", fault.why), ("try:", fault.fix)):
            if text:
                yield _cut(f"  {word} {one_line(str(text))}"), ""
    if len(faults) > MOST_FAULTS:
        yield f"and {len(faults) - MOST_FAULTS} more faults", "bad"


def faults_json(code: int, faults: Sequence[Fault]) -> dict[str, Any]:
    """All of the faults for a program, with the exit code that comes with them."""
    return {
        "apiVersion": "gitops-ds.io/v1alpha1",
        "kind": "Error",
        "exitCode": code,
        "faults": [
            {
                "what": fault.what,
                "file": fault.place.file if fault.place else None,
                "line": fault.place.line if fault.place else None,
                "column": fault.place.column if fault.place else None,
                "why": fault.why,
                "fix": fault.fix,
            }
            for fault in faults
        ],
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 3]}..."
