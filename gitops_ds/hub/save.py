"""A snapshot's files into its folder, all at once or not at all.

Owns which folder may be written over and how it is replaced. Owns no content (`record.py`).
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gitops_ds.errors import Fault, HubError, Place
from gitops_ds.hub.record import is_ours

_MOST_NAMED: Final = 5


def saved_files(folder: Path) -> dict[str, bytes]:
    """What a folder holds, by path below it; nothing where there is none."""
    return {path: (folder / path).read_bytes() for path in _paths(folder)}


def refuse_other(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier snapshot of ours: it would be gone.

    Raises:
        HubError: it does, or it is no folder.
    """
    if folder.exists() and not folder.is_dir():
        raise HubError(Fault("this is no folder", Place(str(folder)), fix="name a new folder"))
    others = [path for path in _paths(folder) if not is_ours(path)]
    if others:
        more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        why = f"it holds {', '.join(others[:_MOST_NAMED])}{more}, and a snapshot takes the whole folder"
        fix = "name a new folder, or one that holds an earlier snapshot and nothing else"
        raise HubError(Fault("no snapshot is written over other files", Place(str(folder)), why, fix))


def save_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put `files` in the place of all that `folder` holds.

    They are written beside it first; then the two folders change places. Whatever fails, the old one stays whole.

    Raises:
        HubError: as `refuse_other` says.
        OSError: it cannot be written.
    """
    refuse_other(folder)
    target = Path(os.path.realpath(folder))
    target.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(4)
    new, old = (target.with_name(f".{target.name}.{word}-{token}") for word in ("new", "old"))
    try:
        _write(new, files)
        if target.exists():
            shutil.copymode(target, new)
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _paths(folder: Path) -> Iterator[str]:
    """The path of each file below a folder, and of each that is neither file nor folder, sorted."""
    found = []
    for top, names, files in os.walk(folder):
        links = [name for name in names if (Path(top) / name).is_symlink()]
        found += [(Path(top) / name).relative_to(folder).as_posix() for name in (*files, *links)]
    yield from sorted(found)
