"""The door to git: reads files from a commit, the index or a folder, and commits files.

Owns git and nothing else: files are bytes by POSIX path, and what they mean is known elsewhere.

    open_repository -> Repository
    read_commit, read_index, read_stored, read_worktree -> Files
    commit_files -> the id of the commit
"""

from gitops_ds.repo.checkout import bring_up_to_date
from gitops_ds.repo.commit import commit_files
from gitops_ds.repo.folder import read_worktree
from gitops_ds.repo.gitcmd import Repository
from gitops_ds.repo.opening import Identity, configured_identity, open_repository, resolve_commit
from gitops_ds.repo.read import commit_message_of, dirty_paths, read_commit, read_index
from gitops_ds.repo.selection import Files
from gitops_ds.repo.stored import read_stored
from gitops_ds.repo.underway import refuse_underway

__all__ = [
    "Files",
    "Identity",
    "Repository",
    "bring_up_to_date",
    "commit_files",
    "commit_message_of",
    "configured_identity",
    "dirty_paths",
    "open_repository",
    "read_commit",
    "read_index",
    "read_stored",
    "read_worktree",
    "refuse_underway",
    "resolve_commit",
]
