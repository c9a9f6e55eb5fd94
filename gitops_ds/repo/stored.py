"""Reading the working tree as git would store it: line endings and encodings taken in by the repository's own rules.

Owns the comparison with what git stores already. A file that git calls unmodified has the bytes of its blob, whatever a
checkout with `core.autocrlf` or an attribute made of them on disk. Owns no meaning of the files.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitops_ds.repo.entries import blob_id, blob_sizes, hash_files, index_entries, read_blobs
from gitops_ds.repo.folder import read_worktree
from gitops_ds.repo.gitcmd import Repository, without_filters
from gitops_ds.repo.selection import Files, select


def read_stored(repo: Repository, folders: Sequence[str], limit: int, suffixes: Sequence[str] = ()) -> Files:
    """The files under `folders` of the working tree, each that git calls unmodified with the bytes that git holds.

    Args:
        repo: the repository.
        folders: folder prefixes, as for `read_worktree`.
        limit: the largest size of one file in bytes.
        suffixes: the name endings to read; none reads every file.

    Raises:
        InputError: as `read_worktree` says.
        RepositoryError: the index cannot be read, or an object is missing.
    """
    files = dict(read_worktree(repo.top, folders, limit, suffixes))
    index = index_entries(repo, select(folders, limit, suffixes).folders)
    known = {path: index[path].entry.blob for path in files if path in index and index[path].merged}
    differing = [path for path, blob in known.items() if blob_id(repo, files[path]) != blob]
    if differing:
        taken_in = zip(differing, hash_files(repo, differing, settings=without_filters(repo)), strict=True)
        same = {path: blob for path, blob in taken_in if blob == known[path]}
        contents = read_blobs(repo, blob_sizes(repo, same.values()))
        files |= {path: contents[blob] for path, blob in same.items()}
    return files
