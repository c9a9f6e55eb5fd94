"""Reading files of a commit with their modes: programs, which `read.py` would give without telling what may be run.

Owns that a link is read as a link, and never followed. Owns no running of anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitops_ds.errors import Fault, InputError, Place, raise_faults
from gitops_ds.repo.entries import FOLDER, SUBMODULE, blob_sizes, read_blobs, tree_entries
from gitops_ds.repo.gitcmd import Repository
from gitops_ds.repo.opening import resolve_commit
from gitops_ds.repo.partial import fetch_missing
from gitops_ds.repo.selection import select


class Program(NamedTuple):
    """A file as a commit has it: its mode, such as `100755`, and its bytes; of a link, the path it leads to."""

    mode: str
    content: bytes


def read_programs(repo: Repository, commit: str, folders: Sequence[str], limit: int) -> Mapping[str, Program]:
    """The files of a commit under `folders`, links included and submodules left out, sorted by path.

    Args:
        repo: the repository.
        commit: a commit's id or name.
        folders: folders, or single files, from the top.
        limit: the largest size of one file in bytes.

    Raises:
        RepositoryError: there is no such commit, or an object is missing.
        InputError: files are over the limit: a fault each.
    """
    commit = resolve_commit(repo, commit)
    wanted = select(folders, limit, ()).folders
    found = tree_entries(repo, commit, wanted) if wanted else {}
    entries = {path: found[path] for path in sorted(found) if found[path].mode not in {SUBMODULE, FOLDER}}
    fetch_missing(repo, commit, wanted, [entry.blob for entry in entries.values()])
    sizes = blob_sizes(repo, [entry.blob for entry in entries.values()])
    large = [path for path, entry in entries.items() if sizes[entry.blob] > limit]
    fix = "keep it elsewhere, and name its place"
    raise_faults(InputError, [Fault(f"the file has more than {limit:,} bytes", Place(path), fix=fix) for path in large])
    contents = read_blobs(repo, sizes)
    return {path: Program(entry.mode, contents[entry.blob]) for path, entry in entries.items()}
