"""What a reading asks for, whichever source it reads: folders, name endings, the size limit, and the refusals in words.

Owns the rules that the three readings share, so that a commit, the index and a plain folder refuse the same things
in the same words. Owns no reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitops_ds.errors import Fault, Place
from gitops_ds.repo.gitcmd import raw

Files = Mapping[str, bytes]
"""Files by their POSIX path from the repository's top, sorted by path."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Folder prefixes (none: the top folder), the largest size of a file in bytes, and name endings (none: all)."""

    folders: tuple[str, ...]
    limit: int
    suffixes: tuple[str, ...]

    def wants(self, path: str) -> bool:
        """Whether a file of this name is to be read."""
        return not self.suffixes or path.endswith(self.suffixes)

    def refusal(self, path: str, size: int) -> Fault | None:
        """Why a wanted file cannot be read, where its size or its name forbids it."""
        if size > self.limit:
            return Fault(
                f"the file is too large: {size:,} bytes",
                Place(path),
                why=f"the limit is {self.limit:,} bytes a file",
                fix="split it, or move it out of the folder",
            )
        if not _is_text(path):
            return Fault("the file's name is not UTF-8", Place(printable(path)), fix="rename it")
        return None


def select(folders: Sequence[str], limit: int, suffixes: Sequence[str]) -> Selection:
    """A selection of folders, each a relative POSIX path without `..`; `.` is the whole top folder.

    Raises:
        ValueError: a folder is absolute or leaves the top folder.
    """
    clean = []
    for folder in folders:
        parts = [part for part in folder.split("/") if part not in {"", "."}]
        if folder.startswith("/") or ".." in parts:
            raise ValueError(f"not a folder below the repository's top: {folder!r}")
        clean.append("/".join(parts))
    return Selection(() if "" in clean else tuple(sorted(set(clean))), limit, tuple(suffixes))


def link_fault(path: str, target: str, why: str) -> Fault:
    """The refusal of a symbolic link."""
    fix = "put the file itself there, in place of the link"
    return Fault(f"a symbolic link to {printable(target)}", Place(printable(path)), why=why, fix=fix)


def not_a_folder(path: str) -> Fault:
    """The refusal of a file that stands where a folder is read."""
    return Fault("a file stands where a folder is expected", Place(path), fix="remove or rename it")


def printable(name: str) -> str:
    r"""A name with the bytes that are not UTF-8 written as `\xNN`, so that it can be shown anywhere."""
    return raw(name).decode("utf-8", "backslashreplace")


def _is_text(name: str) -> bool:
    return printable(name) == name
