"""Whether the paths of a commit fit into the tree that they go into.

Owns the refusals of impossible paths: those that git forbids, those behind a link, a submodule or a file, and those
that a file system without upper and lower case cannot tell apart. Touches neither git nor a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitops_ds.errors import Fault, Place, RepositoryError, raise_faults
from gitops_ds.repo.entries import FOLDER, LINK, SUBMODULE, Entry, parents

_NOT_FILES = {LINK: "a symbolic link", SUBMODULE: "a submodule"}


def check_names(paths: Iterable[str]) -> None:
    """Raise RepositoryError for each path that git cannot hold: absolute, empty, `..`, or inside a `.git`."""
    bad = [path for path in sorted(paths) if "\0" in path or any(map(_forbidden, path.split("/")))]
    raise_faults(RepositoryError, (Fault("git cannot hold a file of this name", Place(path)) for path in bad))


def check_fit(head: Mapping[str, Entry], owned: Mapping[str, bytes | None]) -> None:
    """Refuse `owned` where a path of it cannot be in one tree with the rest.

    Args:
        head: the entries of the tree as it is, at least those under the first parts of the owned paths, and all of the
            top folder; folders that are not listed in depth may be in it as entries.
        owned: the paths to write (bytes) and to remove (None).

    Raises:
        RepositoryError: a fault for each path that does not fit.
    """
    faults = [fault for path in sorted(owned) for fault in _own_faults(head, path)]
    raise_faults(RepositoryError, faults)
    gone = {path for path, content in owned.items() if content is None}
    written = sorted(owned.keys() - gone)
    listed = {path for path, entry in head.items() if entry.mode == FOLDER}
    final = (head.keys() - gone - listed) | set(written)
    folders = listed | {folder for path in final for folder in parents(path)}
    raise_faults(RepositoryError, [*_clashes(head, final, folders, written), *_twins(head, final | folders, written)])


def _own_faults(head: Mapping[str, Entry], path: str) -> list[Fault]:
    entry = head.get(path)
    if entry and entry.mode in _NOT_FILES:
        return [Fault(f"the path is {_NOT_FILES[entry.mode]} in the repository", Place(path), fix=f"`git rm {path}`")]
    return []


def _forbidden(part: str) -> bool:
    return part in {"", ".", ".."} or part.lower() == ".git"


def _clashes(
    head: Mapping[str, Entry], final: Iterable[str], folders: Iterable[str], written: Iterable[str]
) -> list[Fault]:
    files, around, faults = frozenset(final), frozenset(folders), []
    for path in written:
        for outer in parents(path):
            if outer in files:
                kind = _NOT_FILES.get(head[outer].mode, "a file") if outer in head else "a file"
                why = f"{outer} is {kind} in the repository"
                faults.append(Fault("the file has no folder to be in", Place(path), why=why, fix=f"`git rm {outer}`"))
        if path in around:
            faults.append(Fault("the path is a folder in the repository", Place(path), fix="move the folder away"))
    return faults


def _twins(head: Mapping[str, Entry], names: Iterable[str], written: Iterable[str]) -> list[Fault]:
    """Names that differ by case only, where a new file brings one of them in."""
    known = {name for path in head for name in (path, *parents(path))}
    spelled: dict[str, list[str]] = {}
    for name in sorted(names):
        spelled.setdefault(name.casefold(), []).append(name)
    faults = {}
    for path in written:
        for name in (*parents(path), path):
            twins = [other for other in spelled[name.casefold()] if other != name]
            if twins and name not in known:
                why = "a file system without upper and lower case holds only one of them"
                faults[name] = Fault(f"the path differs from {twins[0]} by case only", Place(name), why=why)
    return list(faults.values())
