"""The door to git: reads files from a commit, the index or a folder, and commits files.

Owns git and nothing else: files are bytes by POSIX path, and what they mean is known elsewhere.

    open_repository -> Repository
    read_commit, read_index, read_stored, read_worktree -> Files
    commit_files, make_commit -> the id of the commit
    fetch_branch, push_commit, find_commit, delete_branch: one branch of a remote
    open_clone -> Repository, of a URL that nobody has checked out
"""

from gitops_ds.repo.access import Access
from gitops_ds.repo.checkout import bring_up_to_date
from gitops_ds.repo.claim import claim
from gitops_ds.repo.clone import open_clone
from gitops_ds.repo.commit import commit_files, make_commit
from gitops_ds.repo.folder import read_worktree
from gitops_ds.repo.gitcmd import Repository
from gitops_ds.repo.history import (
    LogEntry,
    commit_info,
    commit_trailers,
    entry_id,
    entry_ids,
    history,
    is_ancestor,
    merge_base,
    path_history,
)
from gitops_ds.repo.opening import Identity, configured_identity, open_repository, resolve_commit
from gitops_ds.repo.read import commit_message_of, dirty_paths, read_commit, read_index
from gitops_ds.repo.remote import default_branch, delete_branch, fetch_branch, find_commit, push_commit, remote_url
from gitops_ds.repo.selection import Files
from gitops_ds.repo.signing import Signing, verify_signature
from gitops_ds.repo.stored import read_stored
from gitops_ds.repo.underway import refuse_underway
from gitops_ds.repo.urls import is_url, mask

__all__ = [
    "Access",
    "Files",
    "Identity",
    "LogEntry",
    "Repository",
    "Signing",
    "bring_up_to_date",
    "claim",
    "commit_files",
    "commit_info",
    "commit_message_of",
    "commit_trailers",
    "configured_identity",
    "default_branch",
    "delete_branch",
    "dirty_paths",
    "entry_id",
    "entry_ids",
    "fetch_branch",
    "find_commit",
    "history",
    "is_ancestor",
    "is_url",
    "make_commit",
    "mask",
    "merge_base",
    "open_clone",
    "open_repository",
    "path_history",
    "push_commit",
    "read_commit",
    "read_index",
    "read_stored",
    "read_worktree",
    "refuse_underway",
    "remote_url",
    "resolve_commit",
    "verify_signature",
]
