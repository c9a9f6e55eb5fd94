"""A plan as a commit on the remote's branch: compare and swap on the head that it was made for.

Nothing here touches the checkout: the commit is made in the object database and pushed from there. Owns what a failed
push means for the next try. Owns no classification of what git said (`repo/`).

A push that lost its connection has an unknown outcome: the remote is asked for the commit before anything else is done,
so that it is neither repeated nor lost. A run that dies there leaves nothing either way: the next one plans on whatever
head it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from gitops_ds.delivery.around import checked, finished, message_of, owned_by, signing_of, who
from gitops_ds.delivery.value import TRIES, Delivered, Draw, Drawn, Landing, Reading, World
from gitops_ds.errors import (
    ContentionError,
    Fault,
    MovedError,
    OutcomeUnknownError,
    RefusedError,
    RepositoryError,
    TransientError,
)
from gitops_ds.repo import Access, Repository, claim, fetch_branch, find_commit, make_commit, mask, push_commit

T = TypeVar("T")

WAIT = timedelta(minutes=2)
"""How long another reconciler on the same branch is waited for."""
UNREACHABLE = 4
"""How often a call of an unreachable remote is made."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A branch at a remote: its name or URL, the branch (without refs/heads/), and how to get in."""

    name: str
    branch: str
    access: Access

    @property
    def shown(self) -> str:
        """Its name or URL as it may be shown."""
        return mask(self.name)

    def head(self, repo: Repository, world: World) -> str | None:
        """The branch's head now; None where there is no such branch."""
        return patiently(lambda: fetch_branch(repo, self.name, self.branch, self.access), world)

    def on(self, branch: str) -> Remote:
        """Another branch at the same remote."""
        return Remote(self.name, branch, self.access)


def deliver_to_remote(repo: Repository, remote: Remote, draw: Draw, world: World) -> Delivered:
    """Plan from the remote branch's head and push the commit on top of it.

    Raises:
        GitopsDsError: an input is wrong, the remote refuses or cannot be reached, or (ContentionError) the branch kept
            moving until the tries ran out.
    """
    heads: list[str] = []

    def once() -> Delivered | None:
        head = remote.head(repo, world)
        if head is None:
            raise missing(remote)
        if head in heads[-1:]:
            raise RefusedError(_hidden(remote))
        heads.append(head)
        return _tried(repo, remote, draw, head, world)

    return until_landed(repo, remote, once, world)


def until_landed(repo: Repository, remote: Remote, once: Callable[[], Delivered | None], world: World) -> Delivered:
    """What `once` gives, called again and again while it gives None: the branch moved under it.

    Raises:
        ContentionError: the branch kept moving until the tries ran out, or another run is at work on it.
    """
    with claim(repo, remote.branch, WAIT):
        for tries in range(1, TRIES + 1):
            done = once()
            if done is not None:
                return done
            world.back_off(tries)
    what = f"{remote.branch} moved {TRIES} times while its plan was made"
    raise ContentionError(Fault(what, fix="run again when there is less going on"))


def missing(remote: Remote) -> RepositoryError:
    """The error of a branch that is not at the remote."""
    what = f"the remote {remote.shown} has no branch {remote.branch}"
    return RepositoryError(Fault(what, fix="push the branch once, or name another one"))


def _hidden(remote: Remote) -> Fault:
    what = f"{remote.shown} takes no push to {remote.branch} as it shows it"
    why = "the branch did not move, and the push was refused as if it had"
    return Fault(what, why=why, fix="use pull-request mode")


def _tried(repo: Repository, remote: Remote, draw: Draw, head: str, world: World) -> Delivered | None:
    """One plan and one push; None where the branch moved."""
    drawn = draw(Reading(repo, head, head))
    if drawn.plan.status != "changed":
        return Delivered(drawn, branch=remote.branch)
    checked(drawn, head, remote.branch, world)
    commit = committed(repo, drawn, head, world)
    if commit == head:
        return Delivered(drawn, branch=remote.branch)
    if not pushed(repo, remote, commit, head, world):
        return None
    done = Delivered(drawn, commit, is_pushed=True, branch=remote.branch)
    finished(done, head, world)
    return done


def committed(repo: Repository, drawn: Drawn, parent: str, world: World, *, request_branch: str | None = None) -> str:
    """The commit of a plan on top of `parent`, in the object database alone."""
    return make_commit(
        repo,
        owned_by(drawn.plan),
        message_of(drawn, parent, request_branch),
        identity=who(drawn, repo),
        when=world.now(),
        parent=parent,
        signing=signing_of(drawn),
    )


def pushed(
    repo: Repository,
    remote: Remote,
    commit: str,
    expected: str | None,
    world: World,
    *,
    options: Sequence[str] = (),
    replace: bool = False,
) -> bool:
    """Whether the remote's branch now holds `commit`; False where it moved away from `expected` meanwhile.

    Raises:
        GitopsDsError: the remote refuses, or was not reached in all tries.
    """
    world.landing(Landing(commit, remote.branch, is_pushed=True))
    is_there = _pushed(repo, remote, commit, expected, world, options, replace=replace)
    world.landing(Landing(commit, remote.branch, is_pushed=True, is_certain=True) if is_there else None)
    return is_there


def _pushed(  # noqa: PLR0917
    repo: Repository,
    remote: Remote,
    commit: str,
    expected: str | None,
    world: World,
    options: Sequence[str],
    *,
    replace: bool,
) -> bool:
    def has_landed() -> bool:
        return patiently(lambda: find_commit(repo, remote.name, remote.branch, commit, remote.access), world)

    is_unknown = False
    for tries in range(1, UNREACHABLE + 1):
        world.proceed()
        try:
            push_commit(repo, remote.name, commit, remote.branch, expected, remote.access, options, replace=replace)
        except MovedError:
            if is_unknown and has_landed():  # an earlier push arrived late
                return True
            world.count("moved")
            return False
        except OutcomeUnknownError:
            world.count("unknown")
            is_unknown = True
            if has_landed():
                return True
        except TransientError:
            world.count("transient")
            if tries == UNREACHABLE:
                raise
        except RefusedError:
            world.count("refused")
            raise
        else:
            world.count("yes")
            return True
        world.back_off(tries, first=1.0)
    raise RepositoryError(
        Fault(
            f"the connection to {remote.shown} was lost {UNREACHABLE} times while pushing",
            why="each time the commit was not there afterwards",
            fix="look at the network; the next run starts anew",
        )
    )


def patiently(call: Callable[[], T], world: World) -> T:
    """What `call` gives, tried again while the remote is out of reach."""
    for tries in range(1, UNREACHABLE):
        try:
            return call()
        except TransientError:
            world.back_off(tries, first=1.0)
    return call()
