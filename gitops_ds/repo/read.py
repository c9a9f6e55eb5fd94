"""Reading files out of git: those of a commit, and those of the index.

Owns what a git tree may hold under the folders that are read: links are refused, submodules are passed by, conflicts
and files over the limit are refused, all at once. Owns no meaning of the files. `folder.py` reads plain folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gitops_ds.errors import Fault, InputError, Place, raise_faults
from gitops_ds.repo.entries import (
    FOLDER,
    LINK,
    SUBMODULE,
    Entry,
    blob_id,
    blob_sizes,
    index_entries,
    parents,
    read_blobs,
    tree_entries,
)
from gitops_ds.repo.gitcmd import Repository, git, without_filters, zero_split
from gitops_ds.repo.opening import resolve_commit
from gitops_ds.repo.partial import fetch_missing
from gitops_ds.repo.selection import Files, Selection, link_fault, not_a_folder, select

_LONGEST_LINK = 4096


def read_commit(
    repo: Repository, commit: str, folders: Sequence[str], limit: int, suffixes: Sequence[str] = ()
) -> Files:
    """The files of a commit under `folders`, as committed: no line ending or filter of the working tree is applied.

    Args:
        repo: the repository.
        commit: a commit's id or name.
        folders: folder prefixes, such as `intent`; a folder that is not there gives no files.
        limit: the largest size of one file in bytes.
        suffixes: the name endings to read, such as `.yaml`; none reads every file.

    Raises:
        RepositoryError: there is no such commit, or an object is missing.
        TransientError, RefusedError: the clone lacks files, and its remote did not give them.
        InputError: a link, a file over the limit, a name that is not UTF-8: a fault each.
    """
    selection = select(folders, limit, suffixes)
    tree = resolve_commit(repo, commit)
    entries = tree_entries(repo, tree, selection.folders)
    around = _around(selection)
    if around:
        outer = tree_entries(repo, tree, around, deep=False)
        entries |= {path: entry for path, entry in outer.items() if path in around}
    read = [entry.blob for path, entry in entries.items() if entry.mode == LINK or selection.wants(path)]
    fetch_missing(repo, tree, selection.folders, read)
    return _read(repo, entries, selection, [])


def read_index(
    repo: Repository,
    folders: Sequence[str],
    limit: int,
    suffixes: Sequence[str] = (),
    index_file: Path | None = None,
) -> Files:
    """The files of the index under `folders`: what the next `git commit` would hold.

    Args:
        repo: the repository.
        folders: folder prefixes, as for `read_commit`.
        limit: the largest size of one file in bytes.
        suffixes: the name endings to read; none reads every file.
        index_file: another index than the working tree's own, which git names to a hook during `git commit FILE`.

    Raises:
        RepositoryError: the index cannot be read, or an object is missing.
        InputError: a conflict, a link, a file over the limit, a name that is not UTF-8: a fault each.
    """
    selection = select(folders, limit, suffixes)
    env = {"GIT_INDEX_FILE": str(index_file)} if index_file else {}
    staged = index_entries(repo, selection.folders, env)
    around = _around(selection)
    if around:
        staged |= {path: entry for path, entry in index_entries(repo, around, env).items() if path in around}
    faults = [_conflict(path) for path, entry in staged.items() if not entry.merged and selection.wants(path)]
    entries = {path: entry.entry for path, entry in staged.items() if entry.merged}
    for path in _announced(repo, entries, selection, env):
        entries.pop(path, None)
    return _read(repo, entries, selection, faults)


def commit_message_of(repo: Repository, commit: str) -> str:
    """The message of a commit, given by its id; what is not UTF-8 in it is replaced.

    Raises:
        RepositoryError: there is no such commit.
    """
    _, _, message = git(repo, "cat-file", "commit", commit).partition(b"\n\n")
    return message.decode(errors="replace")


def dirty_paths(repo: Repository, folders: Sequence[str]) -> tuple[str, ...]:
    """The paths under `folders` whose working file or index entry differs from HEAD, untracked files included, sorted.

    Files that `.gitignore` names are left out.
    """
    selection = select(folders, 0, ())
    arguments = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--")
    out = git(repo, *arguments, *selection.folders, settings=without_filters(repo))
    return tuple(sorted({record[3:] for record in zero_split(out)}))


def _read(repo: Repository, entries: Mapping[str, Entry], selection: Selection, faults: list[Fault]) -> Files:
    around = frozenset(_around(selection))
    links = {path: entry.blob for path, entry in entries.items() if entry.mode == LINK}
    faults += _link_faults(repo, links)
    files = {}
    for path, entry in entries.items():
        if entry.mode in {LINK, SUBMODULE, FOLDER}:
            continue
        if path in around or path in selection.folders:
            faults.append(not_a_folder(path))
        elif selection.wants(path):
            files[path] = entry.blob
    sizes = blob_sizes(repo, files.values())
    refusals = (selection.refusal(path, sizes[blob]) for path, blob in files.items())
    raise_faults(InputError, [*faults, *filter(None, refusals)])
    contents = read_blobs(repo, sizes)
    return {path: contents[files[path]] for path in sorted(files)}


def _around(selection: Selection) -> list[str]:
    """The folders that the selected ones lie in: a link among them would hide what is below it."""
    return sorted({outer for folder in selection.folders for outer in parents(folder)})


def _link_faults(repo: Repository, links: Mapping[str, str]) -> list[Fault]:
    sizes = blob_sizes(repo, links.values())
    targets = read_blobs(repo, {blob: size for blob, size in sizes.items() if size <= _LONGEST_LINK})
    return [
        link_fault(
            path,
            targets.get(blob, b"?").decode("utf-8", "surrogateescape"),
            "links are not followed when files are read from git",
        )
        for path, blob in links.items()
    ]


def _conflict(path: str) -> Fault:
    return Fault("the file is in conflict", Place(path), fix="resolve the conflict and `git add` the file")


def _announced(
    repo: Repository, entries: Mapping[str, Entry], selection: Selection, env: Mapping[str, str]
) -> list[str]:
    """Paths that `git add --intent-to-add` announced: empty files in the index, and in no commit to come."""
    empty = blob_id(repo, b"")
    if not any(entry.blob == empty for entry in entries.values()):
        return []
    arguments = ("diff-files", "-z", "--name-only", "--diff-filter=A", "--", *selection.folders)
    return zero_split(git(repo, *arguments, env=env, settings=without_filters(repo)))
