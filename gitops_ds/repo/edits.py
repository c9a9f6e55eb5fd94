"""Local edits: what somebody changed on owned paths, in the index or the working tree, since the commit checked out.

Owns the comparison and the refusals. Changes nothing.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Mapping

from gitops_ds.errors import Fault, HeldError, Place, RepositoryError, raise_faults
from gitops_ds.repo.entries import (
    EXECUTABLE,
    Changes,
    Entry,
    IndexEntry,
    blob_id,
    hash_files,
    index_entries,
    parents,
    top_names,
)
from gitops_ds.repo.gitcmd import Repository, lock_held, try_git, without_filters
from gitops_ds.repo.selection import printable

Index = Mapping[str, IndexEntry]

_NAMED = 10


def check_unlocked(place: Repository) -> None:
    """Raise RepositoryError where another git process holds the index of this working tree."""
    if (place.git_dir / "index.lock").exists():
        raise RepositoryError(lock_held(place))


def refuse_links(place: Repository, paths: Iterable[str]) -> None:
    """Raise RepositoryError where a path, or a folder that it lies in, is a symbolic link in the working tree."""
    names = sorted({name for path in paths for name in (*parents(path), path)})
    raise_faults(
        RepositoryError,
        (
            Fault(
                f"a symbolic link to {printable(str((place.top / name).readlink()))}",
                Place(printable(name)),
                why="writing there would write somewhere else",
                fix="replace the link by a plain folder or file",
            )
            for name in names
            if (place.top / name).is_symlink()
        ),
    )


def refuse_local_edits(place: Repository, head: Mapping[str, Entry], owned: Mapping[str, bytes | None]) -> None:
    """Refuse owned paths that somebody changed in the index or the working tree.

    Args:
        place: the working tree.
        head: what the commit checked out there holds, at least for the owned paths.
        owned: what the owned paths are to become.

    Raises:
        RepositoryError: an owned path, or a folder it lies in, is a symbolic link in the working tree.
        HeldError: the index or the working file differs from `head`, or a file that git does not know is in the way.
    """
    refuse_links(place, owned)
    index = index_entries(place, top_names(owned))
    known = head.keys() | index.keys()
    meant = {path: head.get(path) for path, content in owned.items() if content is not None or path in known}
    edited = {path for path, entry in meant.items() if staged(index, path) != entry}
    edited |= unlike(place, {path: entry for path, entry in meant.items() if not is_skipped(index, path)})
    written = [path for path, content in owned.items() if content is not None]
    edited |= _in_the_way(place, written, {path for path in head if path in owned and owned[path] is None})
    if edited:
        raise HeldError(_edits(place, edited, edited & known))


def staged(index: Index, path: str) -> Entry | IndexEntry | None:
    """The entry of a path in the index: None for none; in a conflict, a value that equals no entry."""
    found = index.get(path)
    return found.entry if found and found.merged else found


def is_skipped(index: Index, path: str) -> bool:
    """Whether the index says that no working file is meant to be there (skip-worktree, sparse checkout)."""
    found = index.get(path)
    return found is not None and found.skipped


def unlike(place: Repository, wanted: Changes) -> set[str]:
    """The paths whose working file is not what `wanted` says.

    A file is alike where its bytes are, or where they are once git has taken them in by the attributes of the
    repository (line endings, encodings). A folder counts as no file.
    """
    modes = _keeps_modes(place)
    verdicts = {path: _alike(place, path, entry, modes) for path, entry in wanted.items()}
    doubtful = sorted(path for path, verdict in verdicts.items() if verdict is None)
    blobs = hash_files(place, doubtful, settings=without_filters(place)) if doubtful else []
    taken_in = dict(zip(doubtful, blobs, strict=True))
    differing = {path for path, verdict in verdicts.items() if verdict is False}
    return differing | {path for path, blob in taken_in.items() if (entry := wanted[path]) and entry.blob != blob}


def _alike(place: Repository, path: str, entry: Entry | None, modes: bool) -> bool | None:
    """Whether a working file is what it should be; None where only git's own conversion can tell."""
    file = place.top / path
    try:
        found = file.lstat()
        if stat.S_ISDIR(found.st_mode) or entry is None:
            return entry is None and stat.S_ISDIR(found.st_mode)
        if not stat.S_ISREG(found.st_mode):
            return False
        if modes and bool(found.st_mode & stat.S_IXUSR) != (entry.mode == EXECUTABLE):
            return False
        return True if blob_id(place, file.read_bytes()) == entry.blob else None
    except (FileNotFoundError, NotADirectoryError):
        return entry is None
    except OSError:
        return False


def _keeps_modes(place: Repository) -> bool:
    return try_git(place, "config", "--type=bool", "--get", "core.fileMode").out.strip() != b"false"


def _in_the_way(place: Repository, written: Iterable[str], removed: set[str]) -> set[str]:
    """Files that stand where a folder is needed, or that lie in a folder where a file is to stand."""
    paths = list(written)
    outer = {folder for path in paths for folder in parents(path)} - removed
    found = {folder for folder in outer if (place.top / folder).exists() and not (place.top / folder).is_dir()}
    for path in paths:
        if (place.top / path).is_dir():
            found |= _files_below(place, path) - removed
    return found


def _files_below(place: Repository, folder: str) -> set[str]:
    found = set()
    for here, folders, names in os.walk(place.top / folder):
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]  # noqa: PTH114, PTH118
        found |= {os.path.relpath(os.path.join(here, name), place.top) for name in (*names, *links)}  # noqa: PTH118
    return found


def _edits(place: Repository, edited: set[str], known: set[str]) -> Fault:
    named = [printable(path) for path in sorted(edited)[:_NAMED]]
    rest = len(edited) - len(named)
    more = f" and {rest} more" if rest else ""
    ways = ["delete the files that git does not know"] if edited - known else []
    ways += [f"run {restore(place, known)}"] if known else []
    return Fault(
        f"local edits on generated files: {', '.join(named)}{more}",
        Place(str(place.top)),
        why="the next commit writes these files, and the edits would be lost",
        fix="keep what you want elsewhere, then " + " and ".join(ways),
    )


def restore(place: Repository, paths: Iterable[str]) -> str:
    """The command by which a person takes paths of the index and the working tree back to HEAD."""
    words = [_shell_word(path) for path in sorted(paths)]
    names = " ".join(words) if len(words) <= _NAMED else "FILE..."
    return f"`git -C {_shell_word(str(place.top))} restore --source=HEAD --staged --worktree -- {names}`"


def _shell_word(word: str) -> str:
    return shlex.quote(printable(word))
