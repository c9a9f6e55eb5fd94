"""The error tree, and the places and faults that errors are made of.

    GitopsDsError            exit code
    |- UsageError            64   the command line is wrong
    |- InputError             1   what a person wrote, or a snapshot holds, is wrong: one fault each
    |- HubError               1   the hub, or the snapshot of it, cannot be read
    |  |- HubUnreachable      1   for now: the same may succeed later
    |  |- HubConflict         1   a write met another writer's: read anew
    |  |- HubExpired          1   the version to go on from is forgotten: list anew
    |  `- HubAbsent           1   it does not serve a kind
    |- SolveError             1   the solver gave nothing that may be used
    |  `- InfeasibleError      1   proved: no plan at all keeps every rule
    |- RepositoryError        1   the git repository, or its remote, is not usable as it is
    |  |- TransientError      1   the remote cannot be used for now, and nothing was changed: the same may succeed later
    |  `- OutcomeUnknownError 1   the connection was lost after something was sent: look before doing it again
    |- HeldError              3   the plan differs from git, and a guard keeps it from being committed
    |- ContentionError        5   the branch kept moving until the tries ran out
    |  `- MovedError          5   the branch is not where it was: plan anew on where it is
    `- RefusedError           6   the remote, a hook or a policy said no

Owns what is said and where it points. Owns no printing: the command line decides how faults look.
Whatever is not in this tree is a bug of ours (exit code 70).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

Path = tuple[str | int, ...]
"""Where a value stands inside a document: mapping keys and list positions from the root."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A spot that a person can open: a file (or another source's name) and, where known, line and column from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


@dataclass(frozen=True, slots=True)
class Source:
    """Where one document came from: its file and the marks of its values, by path from the document's root.

    A document without marks (one read from a live hub, say) has an empty mapping and still names its file.
    """

    file: str
    marks: Mapping[Path, tuple[int, int]] = field(default_factory=dict, repr=False)

    def at(self, *path: str | int) -> Place:
        """The place of the value at `path`, or of the nearest value around it that has a mark.

        Parts of `path` that the document does not have are skipped, so a validator's own path can be given.
        """
        here: Path = ()
        for part in path:
            if (*here, part) in self.marks:
                here = (*here, part)
        mark = self.marks.get(here)
        return Place(self.file, *mark) if mark else Place(self.file)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: what, where, why it matters, and what to try."""

    what: str
    place: Place | None = None
    why: str = ""
    fix: str = ""

    def __str__(self) -> str:
        head = f"{self.place}: {self.what}" if self.place else self.what
        return "; ".join(part for part in (head, self.why, self.fix) if part)


class GitopsDsError(Exception):
    """Every error that this project means to raise. Carries at least one fault, in a stable order."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *faults: Fault | str) -> None:
        found = [Fault(f) if isinstance(f, str) else f for f in faults]
        self.faults: tuple[Fault, ...] = tuple(sorted(dict.fromkeys(found), key=_order))
        super().__init__("\n".join(map(str, self.faults)))

    def __reduce__(self) -> tuple[type[GitopsDsError], tuple[Fault, ...]]:
        """Errors cross process borders with their faults."""
        return type(self), self.faults


class UsageError(GitopsDsError):
    """The command line asks for something that makes no sense."""

    exit_code = 64


class InputError(GitopsDsError):
    """What a person wrote, or what a snapshot holds, is wrong. All faults of one reading are in it."""


class HubError(GitopsDsError):
    """The hub, or the snapshot that stands in for it, cannot be read."""


class HubUnreachable(HubError):  # noqa: N818 - a state of the hub, and no mistake of anybody's
    """The hub gave no answer in time, or is too busy: the same call may succeed later."""


class HubConflict(HubError):  # noqa: N818
    """The object that was to be written has changed since it was read: read it anew, then decide again."""


class HubExpired(HubError):  # noqa: N818
    """The hub has forgotten the version that a list or a watch was to go on from: begin it again."""


class HubAbsent(HubError):  # noqa: N818
    """The hub does not serve a kind."""


class SolveError(GitopsDsError):
    """The solver gave no answer that may be used."""


class InfeasibleError(SolveError):
    """No plan keeps every rule of the problem: a proof, and no failure of the solver.

    A plan may leave workloads out, so this takes a pair that is required.
    """


class RepositoryError(GitopsDsError):
    """The git repository is missing, bare, empty, or not readable as it is."""


class TransientError(RepositoryError):
    """The remote cannot be used for now, and nothing was changed there: the same call may succeed later."""


class OutcomeUnknownError(RepositoryError):
    """The connection was lost after something was sent: the remote may hold it or not. Look before doing it again."""


class HeldError(GitopsDsError):
    """The plan differs from git, and a guard keeps it from being committed."""

    exit_code = 3


class ContentionError(GitopsDsError):
    """The branch kept moving under us until the tries ran out."""

    exit_code = 5


class MovedError(ContentionError):
    """A branch is not where it was when the plan was made: the plan has to be made anew on where it is now."""


class RefusedError(GitopsDsError):
    """The remote, a hook or a policy refused the commit: trying again will not help."""

    exit_code = 6


def raise_faults(kind: type[GitopsDsError], faults: Iterable[Fault]) -> None:
    """Raise `kind` with all of `faults`; do nothing where there are none."""
    found = tuple(faults)
    if found:
        raise kind(*found)


def _order(fault: Fault) -> tuple[str, int, int, str]:
    place = fault.place or Place("")
    return place.file, place.line or 0, place.column or 0, fault.what
