"""A plan as a pull request: one commit on the base's head, on a branch of its own, updated in place.

Owns when the branch is pushed, left, or taken away, and what the request says. Owns no API (`forge/`).

    plan differs from the base     the branch holds one commit on the base's head, and an open request is about it
    plan is what the base holds    the request is closed and the branch deleted
    plan is held                   branch and request stay as they are
    somebody else committed there  held: a person's work is never replaced
    the branch is somebody else's  held: only a commit that was made for the branch is replaced, and it alone deleted
    somebody closed the request    held, until the plan is another one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_ds.delivery.around import checked, finished
from gitops_ds.delivery.remote import Remote, committed, missing, patiently, pushed, until_landed
from gitops_ds.delivery.value import Delivered, Draw, Drawn, Reading, World
from gitops_ds.errors import Fault, MovedError, UsageError
from gitops_ds.message import is_for_branch
from gitops_ds.past import read_past
from gitops_ds.reconcile import Held
from gitops_ds.repo import Repository, commit_info, delete_branch, entry_id
from gitops_ds.report.markdown import LIMIT, plan_markdown, pull_request_title
from gitops_ds.tree import digest_of

if TYPE_CHECKING:
    from gitops_ds.forge import Forge

BODY = "gitops-ds-pull-request.md"
"""The file in the git folder that the request's text is written to where no API opens it."""
LONGEST_OPTION = 30_000
"""Characters of the text that a push option takes."""


@dataclass(frozen=True)
class Request:
    """Where a plan is proposed: the branch, the base that it is to be merged into, and who opens the request.

    `forge` is None where no token is given; `options` makes the push options that open it without one.
    """

    remote: Remote
    base: Remote
    labels: Sequence[str] = ()
    forge: Forge | None = None
    options: Callable[[str, str], Sequence[str]] | None = None


def deliver_by_request(repo: Repository, request: Request, draw: Draw, world: World) -> Delivered:
    """Plan from the base's head and propose the commit on top of it.

    Raises:
        GitopsDsError: an input is wrong, the remote or its API refuses or cannot be reached, or (ContentionError) the
            branches kept moving until the tries ran out.
    """
    if request.remote.branch == request.base.branch:
        what = f"{request.base.branch} is both what is planned from and the branch of the pull request"
        fix = "--branch NAME, or another `git.pullRequest.branch` in the Reconciler"
        raise UsageError(Fault(what, why="it would be pushed to without a request", fix=fix))
    return until_landed(repo, request.remote, lambda: _tried(repo, request, draw, world), world)


def _tried(repo: Repository, request: Request, draw: Draw, world: World) -> Delivered | None:
    base, head = request.base.head(repo, world), request.remote.head(repo, world)
    if base is None:
        raise missing(request.base)
    drawn = draw(Reading(repo, base, base, head))
    if drawn.plan.status == "unchanged":
        return _withdrawn(repo, request, drawn, head, world)
    if drawn.plan.status == "changed":
        held = (*_taken(repo, request, drawn, head), *_closed(request, drawn))
        drawn = replace(drawn, plan=drawn.plan.holding(*held))
    if drawn.plan.status == "held":
        return Delivered(drawn, branch=request.remote.branch)
    checked(drawn, base, request.remote.branch, world)
    commit = committed(repo, drawn, base, world, request_branch=request.remote.branch)
    if commit == base:
        return _withdrawn(repo, request, drawn, head, world)
    if head is not None and _is_same(repo, head, commit):
        return _opened(repo, request, Delivered(drawn, head, is_new=False, branch=request.remote.branch))
    options = () if request.options is None else request.options(*_said(drawn, LONGEST_OPTION))
    if not pushed(repo, request.remote, commit, head, world, options=options, replace=True):
        return None
    done = _opened(repo, request, Delivered(drawn, commit, is_pushed=True, branch=request.remote.branch))
    finished(done, base, world)
    return done


def _taken(repo: Repository, request: Request, drawn: Drawn, head: str | None) -> Iterator[Held]:
    """What holds a plan whose branch is not known to be ours, as one that somebody made of a commit of the base."""
    branch = request.remote.branch
    if head is None or head in drawn.settled or is_for_branch(commit_info(repo, head).message, branch):
        return
    way = f"delete {branch} at the remote, or name another `git.pullRequest.branch` in the Reconciler"
    yield Held("branch", f"{branch} is there already, and its commit {head[:12]} was not made for it: {way}")


def _closed(request: Request, drawn: Drawn) -> Iterator[Held]:
    """What holds a plan whose request somebody closed without merging it: a person's no is not overruled."""
    if request.forge is None or request.forge.find(request.remote.branch, request.base.branch) is not None:
        return
    refused = request.forge.refused(request.remote.branch, request.base.branch)
    if refused is not None and _mark(drawn) in refused.body and refused.head_sha not in drawn.settled:
        way = f"reopen it, change the intent, or `gitops-ds resume {refused.head_sha}`"
        yield Held("closed", f"{refused.url} proposed this plan, and somebody closed it without merging it: {way}")


def _is_same(repo: Repository, head: str, commit: str) -> bool:
    """Whether the branch holds this commit already, but for the time at which it was made."""
    there, made = commit_info(repo, head), commit_info(repo, commit)
    same = (there.parents, there.message, there.author, there.email) == (
        made.parents,
        made.message,
        made.author,
        made.email,
    )
    return same and entry_id(repo, head, "") == entry_id(repo, commit, "")


def _said(drawn: Drawn, limit: int) -> tuple[str, str]:
    """Title and text of the request; a mark in the text tells of which plan it is."""
    mark = _mark(drawn)
    return pull_request_title(drawn.plan), mark + plan_markdown(drawn.plan, drawn.basis, limit=limit - len(mark))


def _mark(drawn: Drawn) -> str:
    return f"<!-- gitops-ds-plan: {digest_of(drawn.plan.tree, drawn.plan.root)} -->\n"


def _opened(repo: Repository, request: Request, done: Delivered) -> Delivered:
    """The request open, and about this plan; its text in a file where no API is there to open it.

    Its text is left as it is while the plan is the same: only the ages of scores would change in it.
    """
    if request.forge is None:
        title, body = _said(done.drawn, LIMIT)
        path = Path(repo.git_dir) / BODY
        path.write_text(f"# {title}\n\n{body}", encoding="utf-8")
        return replace(done, body=str(path))
    head, base = request.remote.branch, request.base.branch
    title, body = _said(done.drawn, min(LIMIT, request.forge.body_limit))
    found = request.forge.find(head, base)
    if found is None:
        found = request.forge.create(head, base, title, body, request.labels)
    elif _mark(done.drawn) not in found.body:
        found = request.forge.update(found, title, body)
    return replace(done, url=found.url)


def _withdrawn(repo: Repository, request: Request, drawn: Drawn, head: str | None, world: World) -> Delivered | None:
    """Nothing is left to propose: the request is closed and the branch deleted, unless somebody committed there."""
    base, remote = request.base.head(repo, world) if head else None, request.remote
    if head is None or base is None:
        return Delivered(drawn)
    is_made_for_it = is_for_branch(commit_info(repo, head).message, remote.branch)
    if not is_made_for_it or read_past(repo, base, {}, drawn.plan.root, branch=head).stranger is not None:
        world.tell(f"{remote.branch} is left as it is: it holds work that is not ours")
        return Delivered(drawn, branch=remote.branch)
    world.proceed()
    url = None
    if request.forge is not None:
        found = request.forge.find(request.remote.branch, request.base.branch)
        if found is not None:
            request.forge.close(found, "The plan is what the base holds now: there is nothing left to merge.")
            url = found.url
    try:
        patiently(lambda: delete_branch(repo, remote.name, remote.branch, head, remote.access), world)
    except MovedError:
        return None
    world.tell(f"{remote.branch} is deleted at the remote: it was at {head}, and nothing is left to propose")
    return Delivered(drawn, branch=remote.branch, url=url)
