"""Which paths differ between two commits, and which commits lie between two.

Owns the two questions; folders alone are read, so a clone without files fetches none.
"""

from __future__ import annotations

from gitops_ds.repo.entries import tree_entries
from gitops_ds.repo.gitcmd import Repository, git, zero_split
from gitops_ds.repo.opening import resolve_commit


def changed_paths(repo: Repository, before: str | None, after: str) -> tuple[str, ...]:
    """The paths that two commits hold differently in content or mode, submodules included, sorted; None is no files.

    Raises:
        RepositoryError: there is no such commit.
    """
    if before is None:
        return tuple(sorted(tree_entries(repo, resolve_commit(repo, after), ())))
    ends = (resolve_commit(repo, before), resolve_commit(repo, after))
    return tuple(sorted(zero_split(git(repo, "diff-tree", "-r", "-z", "--no-renames", "--name-only", *ends))))


def commits_between(repo: Repository, before: str, after: str) -> tuple[str, ...]:
    """The ids of the commits that `after` has and `before` has not, merged ones included, oldest first.

    Raises:
        RepositoryError: there is no such commit.
    """
    ends = (f"^{resolve_commit(repo, before)}", resolve_commit(repo, after))
    return tuple(git(repo, "rev-list", "--reverse", "--topo-order", *ends).decode().split())
