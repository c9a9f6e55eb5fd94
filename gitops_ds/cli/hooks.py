"""What lifecycle hooks are and what they see, read out of a commit.

Owns which folders they see. Owns no running of them (`lifecycle.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from gitops_ds.cli.inputs import INTENT, LARGEST_FILE, MANIFESTS
from gitops_ds.intent.reconciler import Hooks
from gitops_ds.lifecycle import HookFile, hook_folders
from gitops_ds.repo import Repository, read_commit
from gitops_ds.repo.programs import read_programs
from gitops_ds.tree import Tree, read_owned

CRDS = "crds"


def hook_files(repo: Repository, commit: str, hooks: Hooks) -> dict[str, HookFile]:
    """What the folders of the hooks hold in a commit, by path; {} where there are no hooks.

    Raises:
        GitopsDsError: the commit cannot be read.
    """
    found = read_programs(repo, commit, hook_folders(hooks), LARGEST_FILE)
    return {path: HookFile(one.content, one.mode) for path, one in found.items()}


def seen_files(repo: Repository, commit: str, root: str, tree: Tree) -> Mapping[str, bytes]:
    """What hooks see of the repository: the inputs that a commit holds, and the rendered folder as it will be.

    Raises:
        GitopsDsError: the commit cannot be read.
    """
    current = read_commit(repo, commit, [root], LARGEST_FILE)
    owned = read_owned(current, root)
    foreign = {path: content for path, content in current.items() if path not in owned}
    inputs = read_commit(repo, commit, [INTENT, *MANIFESTS, CRDS], LARGEST_FILE)
    return {**inputs, **foreign, **tree}
