"""People win: whether somebody took back what gitops-ds wrote, told from the commits that changed the lock.

Owns the judgement. Owns no git (`past.py` reads) and no words (`guards/`).

The lock changes with every plan, and no two plans give the same one without a cause. So each commit on the branch's
first-parent line that changed the lock is one of two things: it brings a plan (its message says so, or its lock was
never there before), or it brings back a lock that was there, or takes it away: a revert, by whatever command or
button. A plan is taken back where the last of these commits brings back an old lock and a plan lies in between; where
nothing lies in between but what was itself brought back, as after the revert of a revert, the older commit counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit, by its id.

    Attributes:
        author: the author's name.
        time: when it was committed, aware of its zone.
        subject: the first line of its message.
        lock: what identifies the lock after it; None: there is no lock any more.
        ours: whether gitops-ds made it, or a merge brought what gitops-ds made.
        cut: the history that is there ends with it, so it may not have changed the lock at all.
    """

    commit: str
    author: str
    time: datetime
    subject: str
    lock: str | None
    ours: bool
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """A sign that a reconciler does not write where it wrote before.

    Attributes:
        how: "left", where `folder` is another one that holds what is ours; "gone", where the last plan was there and
            nothing is left of it; "foreign", where the reconciler's own folder holds what is another one's.
        folder: the folder.
        owner: the other reconciler.
        commit: of the last plan, where nothing but it is left.
    """

    how: Literal["left", "gone", "foreign"]
    folder: str
    owner: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of what happened to the plans of one reconciler.

    Attributes:
        touches: the commits on the branch's first-parent line that changed the lock, newest first: as far back as was
            read. Empty where nothing is known, as in a shallow clone that begins after them.
        last: when a plan of this reconciler last got onto the branch; None: not known.
        stranger: the newest commit on the pull-request branch that gitops-ds did not make; one that is `ours` by its
            message was changed since.
        moved: what shows that the reconciler wrote elsewhere before.
    """

    touches: tuple[Touch, ...] = ()
    last: datetime | None = None
    stranger: Touch | None = None
    moved: tuple[Moved, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """A plan that somebody took back: the commit that did so, and the newest one that it took back."""

    by: Touch
    plan: Touch


def taken_back(past: Past) -> Taken | None:
    """The plan that the last change of the lock took back; None where it took back none."""
    touches = past.touches
    at = 0
    while at < len(touches) and not _brings(touches, at):
        same = next((i for i in range(at + 1, len(touches)) if touches[i].lock == touches[at].lock), len(touches))
        plans = [touches[i] for i in range(at + 1, same) if _brings(touches, i)]
        if plans:
            return Taken(touches[0], plans[0])
        at = same
    return None


def acts(past: Past) -> tuple[str, ...]:
    """The commits by which people overruled the reconciler: what a Resume has to name for it to go on."""
    taken = taken_back(past)
    found = (taken.by if taken else None, past.stranger)
    gone = (one.commit for one in past.moved if one.commit)
    return (*(touch.commit for touch in found if touch is not None), *gone)


def last_plan(touches: tuple[Touch, ...]) -> Touch | None:
    """The newest of the commits that brought a plan."""
    return next((touch for i, touch in enumerate(touches) if _brings(touches, i)), None)


def _brings(touches: tuple[Touch, ...], at: int) -> bool:
    """Whether the commit brings a plan: one of ours, or a lock that was never there before."""
    here = touches[at]
    if here.ours or here.lock is None or here.cut:
        return here.ours
    return all(one.lock != here.lock for one in touches[at + 1 :])
