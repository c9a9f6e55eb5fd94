"""A snapshot folder as a hub: its manifests fetched, then parsed like any other objects.

Owns which files of the folder are opened and how far they may lead. Owns no format and no kind.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gitops_ds.errors import Fault, HubError, InputError, Place, raise_faults
from gitops_ds.hub.flatten import SUFFIXES, documents_and_faults
from gitops_ds.hub.objects import parse
from gitops_ds.inventory import Inventory

LARGEST_FILE: Final = 64 * 1024 * 1024
"""Bytes that one manifest file may have."""
_HOW_TO_WRITE: Final = "write one with `kubectl get -o yaml`, or give another folder"


def read_snapshot(folder: Path) -> Inventory:
    """The inventory that the manifests in `folder` hold, at any depth.

    Files that end in .yaml, .yml or .json count; names that begin with a dot are passed by.

    Raises:
        HubError: The folder is missing, is none, holds no manifest, or a file in it cannot or must not be opened.
        InputError: With every fault of every manifest.
    """
    files = fetch_snapshot(folder)
    documents, faults = documents_and_faults(files)
    if not faults and all(document.value is None for document in documents):
        raise HubError(Fault("the snapshot folder holds no manifest", Place(str(folder)), fix=_HOW_TO_WRITE))
    found = list(faults)
    inventory = parse(documents, found)
    raise_faults(InputError, found)
    return inventory


def fetch_snapshot(folder: Path) -> dict[str, bytes]:
    """What each manifest file below `folder` holds, by its path as a person would open it from here, sorted.

    A link is followed where it stays inside the folder. Nothing but regular files is opened.

    Raises:
        HubError: As `read_snapshot` says, with a fault for each file.
    """
    if not folder.is_dir():
        what = "the snapshot is not a folder" if folder.exists() else "the snapshot folder does not exist"
        raise HubError(Fault(what, Place(str(folder)), fix=_HOW_TO_WRITE))
    faults: list[Fault] = []
    root = folder.resolve()
    paths = sorted(_manifests(folder, root, set(), faults), key=lambda path: path.relative_to(folder).parts)
    files = {str(path): content for path in paths if (content := _content(path, faults)) is not None}
    raise_faults(HubError, faults)
    return files


def _manifests(folder: Path, root: Path, walked: set[Path], faults: list[Fault]) -> Iterator[Path]:
    """The manifest files below `folder`, each real folder once, so that a link in a circle ends."""
    real = folder.resolve()
    if real in walked:
        return
    walked.add(real)
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names that are no UTF-8 must survive
    except OSError as error:
        faults.append(_unreadable(folder, error))
        return
    for path in (folder / name for name in names if not name.startswith(".")):
        is_folder = path.is_dir()
        if not is_folder and path.suffix.lower() not in SUFFIXES:
            continue
        if path.is_symlink() and not _real_path(path).is_relative_to(root):
            what = "this link leads outside the snapshot folder"
            faults.append(Fault(what, Place(str(path)), fix="copy what it names into the folder"))
        elif is_folder:
            yield from _manifests(path, root, walked, faults)
        else:
            yield path


def _real_path(path: Path) -> Path:
    """Where `path` leads; a circle of links leads nowhere, which is outside."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return Path("/")


def _content(path: Path, faults: list[Fault]) -> bytes | None:
    """What the file holds, or None with a fault. Its type and size are looked at before it is opened."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            faults.append(Fault("this is no regular file", Place(str(path)), fix="remove it from the snapshot folder"))
            return None
        if status.st_size <= LARGEST_FILE:
            return path.read_bytes()
    except OSError as error:
        faults.append(_unreadable(path, error))
        return None
    faults.append(
        Fault(
            f"the file is larger than {LARGEST_FILE // 1024**2} MiB",
            Place(str(path)),
            fix="split it, one kind a file",
        )
    )
    return None


def _unreadable(path: Path, error: OSError) -> Fault:
    return Fault(f"cannot be read: {error.strerror}", Place(str(path)), fix="check its permissions")
