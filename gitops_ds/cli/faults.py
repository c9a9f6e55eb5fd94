"""What went wrong, as words for people and as JSON for programs: the map from every exception to both.

Owns how faults look and which exit code an exception means. Owns no cause.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from gitops_ds import __version__
from gitops_ds.cli.interrupts import Terminated
from gitops_ds.cli.terminal import one_line
from gitops_ds.errors import Fault, GitopsDsError, Place

if TYPE_CHECKING:
    from gitops_ds.delivery import Landing

USAGE, BUG, INTERRUPTED, TERMINATED = 64, 70, 130, 143
MOST_FAULTS = 20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LONGEST_LINE = 500
"""Characters of one part of a fault that are shown: what is wrong may be as long as a file."""


class LandedError(Exception):
    """A failure or an interruption, `cause`, of a run whose commit had landed already, or may have."""

    def __init__(self, cause: BaseException, landing: Landing) -> None:
        super().__init__(str(cause))
        self.cause, self.landing = cause, landing


@contextmanager
def telling_of_landing() -> Iterator[Callable[[Landing | None], None]]:
    """Gives what is to be told of each landing, and has whatever cuts the run short say what became of the last one.

    Raises:
        LandedError: the run was cut short, and there is something to say.
    """
    last: list[Landing | None] = [None]
    try:
        yield last.append
    except BrokenPipeError:  # nobody reads on: that is no failure
        raise
    except BaseException as error:
        landing = last[-1]
        # A failure on the way says for itself what became of the commit.
        if landing is None or (isinstance(error, Exception) and not landing.is_certain):
            raise
        raise LandedError(error, landing) from error


def faults_of(error: BaseException) -> tuple[int, tuple[Fault, ...]]:
    """The exit code that `error` means, and the faults that say it."""
    if isinstance(error, GitopsDsError):
        return error.exit_code, error.faults
    code, fault = _other(error)
    return code, (fault,)


def _other(error: BaseException) -> tuple[int, Fault]:
    match error:
        case click.UsageError():
            verb = error.ctx.command_path.split()[1:] if error.ctx else []
            return USAGE, Fault(error.format_message(), fix=" ".join(["gitops-ds", *verb, "--help"]))
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED, Fault("interrupted")
        case Terminated():
            return TERMINATED, Fault("interrupted by SIGTERM")
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


def landing_line(landing: Landing) -> tuple[str, str]:
    """What became of the commit of a run that was cut short, as a styled line."""
    branch = landing.branch or "HEAD"
    where = f"pushed to {branch}" if landing.is_pushed else f"on {branch}"
    if landing.is_certain:
        return f"commit {landing.commit} had landed before: it is {where}", "warn"
    return f"commit {landing.commit} was under way: look whether it is {where}", "warn"


def faults_json(code: int, faults: Sequence[Fault], landing: Landing | None = None) -> dict[str, Any]:
    """All of the faults for a program, with the exit code that comes with them, and what had landed before."""
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
        "landed": None
        if landing is None
        else {
            "commit": landing.commit,
            "branch": landing.branch,
            "pushed": landing.is_pushed,
            "certain": landing.is_certain,
        },
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 3]}..."
