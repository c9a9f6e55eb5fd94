"""The remote: fetching one branch, pushing one commit by compare and swap, and looking what has become of it.

Owns the two conversations with a remote and what they leave behind here: objects, and one private ref a branch under
`refs/gitops-ds/`. HEAD, the index, the working tree, local branches and remote-tracking branches stay as they are (a
push to a named remote moves its remote-tracking branch, as any push does). Owns no retry and no decision: errors say
what became of the call (`outcome.py`), and the caller plans again or not.

No `--depth` is ever asked for: a shallow clone is deepened at its tip alone, and stays shallow where it was; `--depth`
would cut the history that the user has. A named remote keeps its filter; a bare URL has none.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from gitops_ds.errors import Fault, MovedError, Place, RepositoryError
from gitops_ds.repo.access import Access, Grant, granted
from gitops_ds.repo.claim import locked
from gitops_ds.repo.gitcmd import Answer, Repository, ask, common_dir, git, text, try_git, zero_split
from gitops_ds.repo.history import is_ancestor
from gitops_ds.repo.outcome import fetch_failure, push_failure
from gitops_ds.repo.urls import Address, address, is_url, mask, wrong_with

_QUIET = ("--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-prune", "--refmap=")
_PUSH = ("--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")


def fetch_branch(repo: Repository, remote: str, branch: str, access: Access) -> str | None:
    """Where a branch of a remote is now; its commit, and the history that leads to it, are then here.

    Args:
        repo: the repository to fetch into.
        remote: a remote's name, a URL or an absolute path.
        branch: the branch, such as `main` or `refs/heads/main`.
        access: how to reach the remote.

    Returns:
        The id of the branch's commit; None where the remote has no such branch.

    Raises:
        TransientError: the remote cannot be reached for now.
        RefusedError: the remote does not accept the credentials, or gives no right to read.
        RepositoryError: there is no such repository, it is not trusted, or the disk here is full.
        ContentionError: another fetch of ours into this repository does not end.
    """
    ref = full_ref(branch)
    kept = _private_ref(remote, ref)
    # Two fetches at once would find each other's lock files: of the ref, and of a shallow clone's list.
    with locked(common_dir(repo) / "gitops-ds" / "fetch.lock", access.timeout):
        with conversation(repo, remote, access) as (argument, grant):
            command = ("fetch", "--quiet", "--no-write-fetch-head", *_QUIET, "--", argument, f"+{ref}:{kept}")
            answer = converse(repo, grant, access, *command)
        if answer.status == 0:
            return git(repo, "rev-parse", "--verify", f"{kept}^{{commit}}").decode().strip()
        if "find remote ref" in answer.err:
            try_git(repo, "update-ref", "-d", kept)
            return None
    raise fetch_failure(answer, mask(remote))


def default_branch(repo: Repository, remote: str, access: Access) -> str | None:
    """The full name of the branch that the remote's HEAD is on; None where it has no commit, or is on no branch.

    Raises:
        TransientError, RefusedError, RepositoryError: as for `fetch_branch`.
    """
    with conversation(repo, remote, access) as (argument, grant):
        answer = converse(repo, grant, access, "ls-remote", "--symref", "--", argument, "HEAD")
    if answer.status:
        raise fetch_failure(answer, mask(remote))
    for line in text(answer.out).splitlines():
        target, _, name = line.removeprefix("ref: ").partition("\t")
        if line.startswith("ref: ") and name == "HEAD":
            return target
    return None


def push_commit(  # noqa: PLR0917
    repo: Repository,
    remote: str,
    commit: str,
    branch: str,
    expected: str | None,
    access: Access,
    options: Sequence[str] = (),
    *,
    replace: bool = False,
) -> None:
    """Move a branch of a remote from `expected` to `commit`, or raise and leave it.

    A remote branch that is at `commit` already is a success.

    Args:
        repo: the repository that has the commit.
        remote: a remote's name, a URL or an absolute path.
        commit: the full id of the commit.
        branch: the branch, such as `main` or `refs/heads/main`.
        expected: the id that the branch must have now; None where it must not exist.
        access: how to reach the remote.
        options: push options for the server, such as `merge_request.create`.
        replace: whether `commit` may take the place of `expected`, for a branch that nobody else commits to. Otherwise
            it must be its child, so that the move is a fast-forward.

    Raises:
        MovedError: the branch is not at `expected`; nothing was changed.
        RefusedError: a protection, a hook, missing rights or wrong credentials, the remote's disk; nothing was changed.
        TransientError: the remote cannot be reached for now; nothing was changed.
        OutcomeUnknownError: the connection was lost on the way: `find_commit` tells.
        RepositoryError: there is no such repository, it is not trusted, or the disk here is full.
        ValueError: without `replace`, `commit` is no child of `expected`.
    """
    if expected is not None and not replace and _first_parent(repo, commit) != expected:
        raise ValueError(f"commit {commit} is no child of {expected}: the push would be no fast-forward")
    _push(repo, remote, commit, full_ref(branch), expected, access, options)


def delete_branch(repo: Repository, remote: str, branch: str, expected: str, access: Access) -> None:
    """Remove a branch of a remote that is at `expected`; one that is gone already is a success.

    Raises:
        MovedError: the branch is not at `expected`; nothing was changed.
        RefusedError, TransientError, OutcomeUnknownError, RepositoryError: as for `push_commit`.
    """
    try:
        _push(repo, remote, "", full_ref(branch), expected, access, ())
    except MovedError:
        if fetch_branch(repo, remote, branch, access) is not None:
            raise
    try_git(repo, "update-ref", "-d", _private_ref(remote, full_ref(branch)))


def find_commit(repo: Repository, remote: str, branch: str, commit: str, access: Access) -> bool:
    """Whether a branch of a remote holds a commit of this repository: as its head, or below it.

    Raises:
        TransientError, RefusedError, RepositoryError: as for `fetch_branch`.
    """
    head = fetch_branch(repo, remote, branch, access)
    return head is not None and is_ancestor(repo, commit, head)


def remote_url(repo: Repository, remote: str) -> str:
    """The URL of a remote as the configuration spells it, before any rewriting, and without credentials."""
    return address(_configured(repo, remote, push=True)).url


def full_ref(branch: str) -> str:
    """The full name of a branch that is given by its short or its full name."""
    return branch if branch.startswith("refs/") else f"refs/heads/{branch}"


def refuse_wrong(url: str) -> None:
    """Let no URL pass that cannot be used, or that has more than an address in it.

    Raises:
        RepositoryError: says why, and repeats nothing of the URL.
    """
    why = wrong_with(url)
    if why:
        what = "this URL of a repository cannot be used"
        raise RepositoryError(Fault(what, why=why, fix="write it such as https://git.example.com/platform/fleet.git"))


@contextmanager
def conversation(
    repo: Repository | Path, remote: str, access: Access, *, push: bool = False
) -> Iterator[tuple[str, Grant]]:
    """What one git command needs for talking to a remote: how to name it there, and the grant of its access.

    Args:
        repo: the repository, or a folder in none.
        remote: a remote's name, a URL or an absolute path.
        access: what is given.
        push: whether it is the address for pushes that counts.
    """
    if remote.startswith("-") or not remote:
        raise RepositoryError(Fault("this is neither a remote's name nor a URL", Place(mask(remote) or "''")))
    refuse_wrong(remote)
    argument = address(remote).url if is_url(remote) else remote
    raw = argument if is_url(remote) else _configured(repo, remote, push)
    found = _resolved(repo, argument, push)
    if is_url(remote) and found.username is None and found.password is None:
        found = Address(found.url, *address(remote)[1:])
    own_ssh = any(os.environ.get(name) for name in ("GIT_SSH", "GIT_SSH_COMMAND")) or bool(
        _run(repo, "config", "--get", "core.sshCommand").out.strip()
    )
    with granted(raw, found, _with_password(repo, access), own_ssh=own_ssh) as grant:
        yield argument, grant


def converse(
    repo: Repository, grant: Grant, access: Access, *arguments: str, stdin: bytes = b"", settings: Sequence[str] = ()
) -> Answer:
    """Run one git command that talks to a remote, within its time; what it said is fit to be shown."""
    every = (*settings, *grant.settings)
    answer = try_git(repo, *arguments, stdin=stdin, env=grant.env, settings=every, limit=access.timeout)
    return answer._replace(err=grant.clean(answer.err))


def is_partial(repo: Repository) -> bool:
    """Whether files may be missing here because the clone was made with a filter."""
    with suppress(OSError):
        return any((common_dir(repo) / "objects" / "pack").glob("*.promisor"))
    return False


def _push(  # noqa: PLR0917
    repo: Repository, remote: str, source: str, ref: str, expected: str | None, access: Access, options: Sequence[str]
) -> None:
    lease = f"--force-with-lease={ref}:{expected or ''}"
    asked = [part for option in options for part in ("-o", option)]
    # A thin pack is made against files that a partial clone does not have: it would fetch them first. (Over http git
    # makes a thin one whatever is asked; then it fetches the old contents of the changed files, all at once.)
    thin = ["--no-thin"] if is_partial(repo) else []
    with conversation(repo, remote, access, push=True) as (argument, grant):
        mirror = () if is_url(remote) or "=" in remote else (f"remote.{remote}.mirror=false",)
        settings = ("push.pushOption=", "push.negotiate=false", *mirror)
        command = ("push", *_PUSH, *thin, lease, *asked, "--", argument, f"{source}:{ref}")
        answer = converse(repo, grant, access, *command, settings=settings)
    error = push_failure(answer, ref, mask(remote))
    if error is not None:
        raise error


def _with_password(repo: Repository | Path, access: Access) -> Access:
    """What is given, or else what the repository was opened with: a cached clone does not keep its URL's password."""
    opened = repo.access if isinstance(repo, Repository) else None
    if opened is None or access.gives_password:
        return access
    return replace(access, token_file=opened.token_file, username=opened.username, password=opened.password)


def _configured(repo: Repository | Path, name: str, push: bool) -> str:
    """The address of a remote by its name, as the configuration spells it; the name itself where it has none."""
    for key in ("pushurl", "url") if push else ("url",):
        values = zero_split(_run(repo, "config", "-z", "--get", f"remote.{name}.{key}").out)
        if values:
            return values[0]
    return name


def _resolved(repo: Repository | Path, argument: str, push: bool) -> Address:
    """Where git would go, by its own rewriting rules."""
    asked = _run(repo, "remote", "get-url", "--push", "--", argument) if push and not is_url(argument) else None
    if asked is None or asked.status:
        asked = _run(repo, "ls-remote", "--get-url", "--", argument)
    return address(text(asked.out).partition("\n")[0])


def _run(repo: Repository | Path, *arguments: str) -> Answer:
    return try_git(repo, *arguments) if isinstance(repo, Repository) else ask(repo, *arguments)


def _private_ref(remote: str, ref: str) -> str:
    """The ref that keeps what was fetched; a digest, since one branch's name may be a folder of another's."""
    named = f"{address(remote).url}\n{ref}"
    return f"refs/gitops-ds/{hashlib.sha256(named.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _first_parent(repo: Repository, commit: str) -> str | None:
    head, _, _ = git(repo, "cat-file", "commit", commit).partition(b"\n\n")
    return next((line.split()[1].decode() for line in head.splitlines() if line.startswith(b"parent ")), None)
