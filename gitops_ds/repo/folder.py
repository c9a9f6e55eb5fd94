"""Reading files out of a plain folder, with or without git around it.

Owns the walk: which links may be followed, what is passed by (sockets, pipes, devices, nested repositories), and the
reading of one file. Owns no meaning of the files; knows no git beyond the name `.git`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitops_ds.errors import Fault, InputError, Place, raise_faults
from gitops_ds.repo.entries import parents
from gitops_ds.repo.selection import Files, Selection, link_fault, not_a_folder, printable, select

_GIT = ".git"
_Seen = frozenset[tuple[int, int]]


def read_worktree(
    root: Path, folders: Sequence[str], limit: int, suffixes: Sequence[str] = (), sealed: Sequence[str] = ("rendered",)
) -> Files:
    """The files under `folders` of `root` as they are on disk.

    A link is followed as long as its target stays inside `root`; in a `sealed` folder none is. Whatever is no regular
    file is passed by and never opened, and so are `.git` folders and repositories inside the repository.

    Args:
        root: the top folder.
        folders: folder prefixes, such as `intent`; a folder that is not there gives no files.
        limit: the largest size of one file in bytes.
        suffixes: the name endings to read, such as `.yaml`; none reads every file.
        sealed: folders in which no link is followed.

    Raises:
        InputError: a link that leaves `root` or points to nothing, a file over the limit, a file or folder that cannot
            be read, a name that is not UTF-8: a fault each.
    """
    if not root.is_dir():
        raise InputError(Fault("no such folder", Place(str(root))))
    selection = select(folders, limit, suffixes)
    reading = _Reading(root.resolve(), selection, select(sealed, limit, ()).folders)
    for folder in selection.folders or ("",):
        reading.enter(folder)
    raise_faults(InputError, reading.faults)
    return dict(sorted(reading.files.items()))


@dataclass(slots=True)
class _Reading:
    """One reading under way: what it has found so far."""

    root: Path
    selection: Selection
    sealed: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def enter(self, folder: str) -> None:
        """Read a selected folder, after a look at each folder on the way to it."""
        parts = folder.split("/") if folder else []
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            try:
                mode = (self.root / path).lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                return
            except OSError as error:
                self.faults.append(_unreadable(path, error))
                return
            if stat.S_ISLNK(mode) and not self.may_follow(path):
                return
            if not (self.root / path).is_dir():
                self.faults.append(not_a_folder(path))
                return
        self.walk(folder)

    def walk(self, folder: str) -> None:
        """Read everything below a folder; a stack and no recursion, since depth is in the hands of the author."""
        outer = (self.root, *(self.root / part for part in parents(folder))) if folder else ()
        stack: list[tuple[str, _Seen]] = [(folder, frozenset(map(_mark, outer)))]
        while stack:
            here, above = stack.pop()
            try:
                mark = _mark(self.root / here)
            except OSError as error:
                self.faults.append(_unreadable(here, error))
                continue
            if mark in above:
                self.faults.append(Fault("a symbolic link that leads round in a circle", Place(here), fix="remove it"))
                continue
            stack += [(path, above | {mark}) for path in self.paths_in(here) if self.is_folder(path)]

    def paths_in(self, folder: str) -> Iterator[str]:
        """The paths in one folder; none for a repository inside the repository, as git itself has it."""
        try:
            names = sorted(file.name for file in (self.root / folder).iterdir())
        except OSError as error:
            self.faults.append(_unreadable(folder, error))
            return
        if folder and _GIT in names:
            return
        for name in names:
            if name != _GIT:
                yield f"{folder}/{name}" if folder else name

    def is_folder(self, path: str) -> bool:
        """Whether `path` is a folder to walk; a file that is wanted is read on the way."""
        try:
            mode = (self.root / path).lstat().st_mode
            if stat.S_ISLNK(mode):
                if not self.may_follow(path):
                    return False
                mode = (self.root / path).stat().st_mode
            if stat.S_ISREG(mode) and self.selection.wants(path):
                self.read(path)
        except OSError as error:
            self.faults.append(_unreadable(path, error))
            return False
        return stat.S_ISDIR(mode)

    def may_follow(self, path: str) -> bool:
        """Whether a link may be followed; a fault is noted where not."""
        link = self.root / path
        target = Path(os.path.realpath(link))
        if any(path == folder or path.startswith(f"{folder}/") for folder in self.sealed):
            why = "this folder is written by machine and holds plain files only"
        elif not target.is_relative_to(self.root) or _GIT in target.relative_to(self.root).parts:
            why = "it leaves the files of the repository"
        elif not target.exists():
            why = "it points to nothing"
        else:
            return True
        self.faults.append(link_fault(path, str(link.readlink()), why))
        return False

    def read(self, path: str) -> None:
        """Read one file: its size first, and never more than the limit."""
        # The file may be swapped for a pipe after the look at it: non-blocking, and looked at again once open.
        handle = os.open(self.root / path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return
            refusal = self.selection.refusal(path, found.st_size)
            content = b"" if refusal else file.read(self.selection.limit + 1)
        refusal = refusal or self.selection.refusal(path, len(content))
        if refusal:
            self.faults.append(refusal)
        else:
            self.files[path] = content


def _mark(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino


def _unreadable(path: str, error: OSError) -> Fault:
    what = f"cannot be read: {error.strerror or error}"
    return Fault(what, Place(printable(path)), fix="check the permissions and the owner of the file")
