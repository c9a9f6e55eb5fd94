"""Which paths differ between two commits, and which commits lie between two.

Owns the two questions; folders alone are read, so a clone without files fetches none.
"""

from __future__ import annotations

from typing import NamedTuple

from gitops_ds.repo.entries import tree_entries
from gitops_ds.repo.gitcmd import Repository, git, zero_split
from gitops_ds.repo.opening import resolve_commit

_NOTHING = "000000"


class Change(NamedTuple):
    """The modes of a path before and after, as git has them, such as `100644`; "" for no file."""

    before: str
    after: str


def changes_between(repo: Repository, before: str | None, after: str) -> dict[str, Change]:
    """The paths that two commits hold differently in content or mode, submodules included; None is no files.

    Raises:
        RepositoryError: there is no such commit.
    """
    if before is None:
        entries = tree_entries(repo, resolve_commit(repo, after), ())
        return {path: Change("", entry.mode) for path, entry in entries.items()}
    ends = (resolve_commit(repo, before), resolve_commit(repo, after))
    said = zero_split(git(repo, "diff-tree", "-r", "-z", "--no-renames", "--raw", *ends))
    found = {}
    for what, path in zip(said[::2], said[1::2], strict=True):
        old, new, *_ = what.removeprefix(":").split(" ")
        found[path] = Change(*("" if mode == _NOTHING else mode for mode in (old, new)))
    return found


def commits_between(repo: Repository, before: str, after: str) -> tuple[str, ...]:
    """The ids of the commits that `after` has and `before` has not, merged ones included, oldest first.

    Raises:
        RepositoryError: there is no such commit.
    """
    ends = (f"^{resolve_commit(repo, before)}", resolve_commit(repo, after))
    return tuple(git(repo, "rev-list", "--reverse", "--topo-order", *ends).decode().split())
