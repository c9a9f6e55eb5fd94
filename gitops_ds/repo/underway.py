"""What git is in the middle of: a merge, a rebase, a cherry-pick, a revert.

Owns the signs of it in the git folder, and the refusal. Changes nothing.
"""

from __future__ import annotations

from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.repo.gitcmd import Repository

_SIGNS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)
"""A file or folder in the git folder of the working tree, and the verb that ends what it stands for."""


def operation_underway(repo: Repository) -> str | None:
    """The verb of git whose work is not finished in this working tree, such as `merge`; None for none."""
    return next((verb for sign, verb in _SIGNS if (repo.git_dir / sign).exists()), None)


def refuse_underway(repo: Repository) -> None:
    """Raise RepositoryError where git is in the middle of something that a commit of ours would end up inside of."""
    verb = operation_underway(repo)
    if verb is not None:
        raise RepositoryError(
            Fault(
                f"git is in the middle of a {verb} here",
                Place(str(repo.top)),
                why="a commit now would become a part of it",
                fix=f"end it (`git {verb} --continue`) or call it off (`git {verb} --abort`), and run again",
            )
        )
