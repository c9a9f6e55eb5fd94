"""Clones without all files: fetching those that are about to be read, all at once.

Owns the finding of what is missing. Git itself would fetch a missing file when it is read, each on a connection of its
own. Owns no reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitops_ds.repo.access import Access
from gitops_ds.repo.gitcmd import Repository, git, text, try_git, zero_split
from gitops_ds.repo.outcome import fetch_failure
from gitops_ds.repo.remote import conversation, converse, is_partial
from gitops_ds.repo.urls import mask


def fetch_missing(repo: Repository, commit: str, folders: Sequence[str], wanted: Iterable[str]) -> None:
    """Make sure that contents of a commit are here; does nothing, and starts no git, where the clone has all files.

    Args:
        repo: the repository; its `access` reaches the remote.
        commit: the commit's id.
        folders: the folders, or files, of the commit that the contents lie in; none stands for all.
        wanted: the ids of the contents.

    Raises:
        TransientError, RefusedError, RepositoryError: the remote did not give them.
    """
    if not is_partial(repo):
        return
    trees = [f"{commit}:{folder}" for folder in folders] or [f"{commit}^{{tree}}"]
    known = [tree for tree in trees if try_git(repo, "rev-parse", "-q", "--verify", tree).status == 0]
    if not known:
        return
    listed = text(git(repo, "rev-list", "--objects", "--missing=print", "--no-walk", *known)).splitlines()
    missing = {line[1:] for line in listed if line.startswith("?")} & set(wanted)
    remote = _promisor(repo)
    if not missing or remote is None:
        return
    access = repo.access or Access()
    stdin = "".join(f"{blob}\n" for blob in sorted(missing)).encode()
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
    with conversation(repo, remote, access) as (argument, grant):
        command = ("fetch", *quiet, "--refmap=", "--stdin", "--", argument)
        answer = converse(repo, grant, access, *command, stdin=stdin, settings=("fetch.negotiationAlgorithm=noop",))
    if answer.status:
        raise fetch_failure(answer, mask(remote))


def _promisor(repo: Repository) -> str | None:
    """The name of the remote that a partial clone gets what it lacks from."""
    listed = zero_split(try_git(repo, "config", "-z", "--name-only", "--get-regexp", r"^remote\..*\.promisor$").out)
    names = [key.removeprefix("remote.").removesuffix(".promisor") for key in listed]
    return next(iter(names), None)
