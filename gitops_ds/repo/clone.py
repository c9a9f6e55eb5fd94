"""Clones of our own, for work on a repository that nobody has checked out: bare, and without file contents up front.

Owns the cache folder: one clone a URL, named by a digest, with no credentials in its name or its settings. A clone that
is damaged or half-made is replaced; it holds nothing that the remote does not have. Owns nothing of what is read from
it or pushed through it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.repo.access import Access
from gitops_ds.repo.claim import locked
from gitops_ds.repo.gitcmd import Repository, ask, git, text, try_git
from gitops_ds.repo.outcome import fetch_failure
from gitops_ds.repo.partial import fetch_missing
from gitops_ds.repo.remote import conversation, default_branch, fetch_branch, full_ref, refuse_wrong
from gitops_ds.repo.urls import address, mask

_PACKS = 50
"""Packs that a clone may have before they are put together: each fetch that brings something adds one."""


def open_clone(url: str, cache: Path, access: Access, branch: str | None = None) -> Repository:
    """The cached clone of a URL, made where there is none, with a branch of it as the remote has it now.

    Args:
        url: the URL, or an absolute path.
        cache: the folder that clones are kept in; it is made where it is missing.
        access: how to reach the remote, now and when files are read.
        branch: the branch, such as `main` or `refs/heads/main`; by default the one that the remote's HEAD is on.

    Returns:
        A bare repository with `branch` and `head` of the remote branch. Its remote is `origin`; its `access` has the
        password that may be in the URL.

    Raises:
        TransientError, RefusedError: the remote cannot be reached, or lets nobody in with these credentials.
        RepositoryError: the URL is none, there is no such repository or branch, or the cache cannot be written.
        ContentionError: another process has been making the clone for too long.
    """
    refuse_wrong(url)
    clean, username, password = address(url)
    if (username or password) and not access.gives_password:
        access = replace(access, username=access.username or username, password=password)
    last = clean.rstrip("/").rpartition("/")[2].removesuffix(".git")
    name = last if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", last) else "clone"
    digest = hashlib.sha256(clean.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = cache.absolute() / f"{name[:40]}-{digest}.git"
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(folder.with_suffix(".lock"), access.timeout, "the cached clone"):
            found = _opened(folder, url, access, branch)
    except OSError as error:
        why = error.strerror or str(error)
        raise RepositoryError(Fault("the cache of clones cannot be used", Place(str(folder)), why)) from error
    if not found.head:
        what = (
            f"the remote has no branch {branch.removeprefix('refs/heads/')}" if branch else "the remote has no commit"
        )
        fix = "name a branch that it has" if branch else "push a first commit, or name the branch"
        raise RepositoryError(Fault(what, Place(mask(url)), fix=fix))
    return found


def _opened(folder: Path, url: str, access: Access, branch: str | None) -> Repository:
    fresh = not _is_sound(folder, url)
    if fresh:
        _make(folder, url, access)
    try:
        return _brought_up_to_date(folder, access, branch)
    except RepositoryError as error:
        # What is wrong with the remote has an error of its own kind; whatever else git says may be a damaged clone.
        if fresh or type(error) is not RepositoryError:
            raise
    _make(folder, url, access)
    return _brought_up_to_date(folder, access, branch)


def _is_sound(folder: Path, url: str) -> bool:
    """Whether a clone is there, of this URL, and whole as far as the newest commit and its folders go."""
    if not folder.is_dir():
        return False
    options = (f"--git-dir={folder}",)
    origin = ask(folder, "config", "--get", "remote.origin.url", options=options)
    if origin.status or text(origin.out).removesuffix("\n") != address(url).url:
        return False
    looked = ("rev-list", "--objects", "--no-walk", "--quiet", "--missing=allow-promisor", "HEAD", "--")
    return ask(folder, *looked, options=options).status == 0


def _make(folder: Path, url: str, access: Access) -> None:
    """Clone into a folder beside, and put it in place when it is whole."""
    for left in folder.parent.glob(f"{folder.name}.*.new"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", suffix=".new", dir=folder.parent) as beside:
        made = Path(beside, "clone")
        _clone(made, url, access, "--filter=blob:none")
        if not _gives_files(Repository(made, made, None, "", access)):
            shutil.rmtree(made)
            _clone(made, url, access)
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        made.rename(folder)


def _clone(made: Path, url: str, access: Access, *options: str) -> None:
    with conversation(made.parent, url, access) as (argument, grant):
        quiet = ("--quiet", "--bare", "--no-local", "--single-branch", "--no-tags", "--template=", "--origin=origin")
        command = ("clone", *quiet, *options, "--", argument, str(made))
        answer = ask(made.parent, *command, env=grant.env, settings=grant.settings, limit=access.timeout)
        answer = answer._replace(err=grant.clean(answer.err))
    if answer.status:
        raise fetch_failure(answer, mask(url))


def _gives_files(repo: Repository) -> bool:
    """Whether the server gives single files later on: one that takes a filter may yet refuse that."""
    if try_git(repo, "rev-parse", "-q", "--verify", "HEAD^{commit}").status:
        return True
    listed = text(git(repo, "rev-list", "--objects", "--missing=print", "--no-walk", "HEAD")).splitlines()
    try:
        fetch_missing(repo, "HEAD", (), [line[1:] for line in listed if line.startswith("?")][:1])
    except RepositoryError as error:
        if type(error) is not RepositoryError:
            raise
        return False
    return True


def _brought_up_to_date(folder: Path, access: Access, branch: str | None) -> Repository:
    """The clone with the branch as it is at the remote now; without a `head` where there is no such branch."""
    repo = Repository(folder, folder, None, "", access)
    ref = full_ref(branch) if branch else default_branch(repo, "origin", access)
    head = fetch_branch(repo, "origin", ref, access) if ref else None
    if ref is None or head is None:
        return repo
    # Names such as HEAD mean the remote's branch. Other branches go first: their names may stand in this one's way.
    others = text(git(repo, "for-each-ref", "--format=%(refname)", "refs/heads")).split()
    git(repo, "update-ref", "--stdin", stdin="".join(f"delete {name}\n" for name in others if name != ref).encode())
    git(repo, "symbolic-ref", "HEAD", ref)
    git(repo, "update-ref", ref, head)
    settings = ("gc.auto=6700", f"gc.autoPackLimit={_PACKS}", "gc.autoDetach=false")
    try_git(repo, "gc", "--auto", "--quiet", settings=settings)
    return replace(repo, branch=ref, head=head)
