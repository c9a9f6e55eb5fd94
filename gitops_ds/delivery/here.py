"""A plan as a commit on the branch of the repository here: the one that is checked out.

Owns the tries. Owns no push.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from gitops_ds.delivery.around import checked, finished, message_of, owned_by, signing_of, who
from gitops_ds.delivery.value import TRIES, Delivered, Draw, Drawn, Landing, Reading, World
from gitops_ds.errors import ContentionError, HeldError
from gitops_ds.message import is_ours
from gitops_ds.reconcile import Held
from gitops_ds.repo import (
    Repository,
    bring_up_to_date,
    claim,
    commit_files,
    commit_message_of,
    open_repository,
    refuse_underway,
)

WAIT = timedelta(seconds=30)
"""How long another reconciler on the same branch is waited for."""


def deliver_here(folder: Path, draw: Draw, world: World) -> Delivered:
    """Plan from the head commit and commit the rendered tree on top of it.

    Where the branch moves meanwhile, the plan is made anew on its new head.

    Raises:
        GitopsDsError: an input is wrong, or the commit could not be made; the branch is as it was.
    """
    opened = open_repository(folder)
    refuse_underway(opened)
    if opened.branch is None:
        world.tell("HEAD is detached, so this commits to no branch: keep what it makes with `git branch NAME COMMIT`")
    with claim(opened, opened.branch or "HEAD", WAIT):
        for tries in range(1, TRIES + 1):
            try:
                return _delivered(open_repository(folder), draw, world)
            except ContentionError:
                world.landing(None)
                if tries == TRIES:
                    raise
    raise AssertionError("the last try returns or raises")


def _delivered(repo: Repository, draw: Draw, world: World) -> Delivered:
    drawn = draw(Reading(repo, repo.head, repo.head))
    _finish_interrupted(repo, drawn, world)
    if drawn.plan.status != "changed":
        return Delivered(drawn)
    checked(drawn, repo.head, repo.branch or "", world)
    branch = repo.branch.removeprefix("refs/heads/") if repo.branch else None
    try:
        commit = commit_files(
            repo,
            owned_by(drawn.plan),
            message_of(drawn, repo.head),
            identity=who(drawn, repo),
            when=world.now(),
            expected_head=repo.head,
            signing=signing_of(drawn),
            moving=lambda commit, is_there: world.landing(Landing(commit, branch, is_certain=is_there)),
        )
    except HeldError as error:
        held = [Held("local", str(fault)) for fault in error.faults]
        return Delivered(replace(drawn, plan=drawn.plan.holding(*held)))
    done = Delivered(drawn, commit, branch=repo.branch)
    finished(done, repo.head, world)
    return done


def _finish_interrupted(repo: Repository, drawn: Drawn, world: World) -> None:
    """Finish an update of the working tree that a crash cut short: only after a commit of ours can there be one."""
    if is_ours(commit_message_of(repo, repo.head)):
        for path in bring_up_to_date(repo, [drawn.plan.root]):
            world.tell(f"{path}: brought up to date after an interrupted run")
