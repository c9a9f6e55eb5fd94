"""Files that verbs write outside of git: whole folders, never over something that is there.

Owns these writes. Owns no content.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gitops_ds.errors import Fault, InputError, UsageError


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` below `folder`, which must be new or empty.

    Raises:
        UsageError: the folder holds something.
        InputError: it cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(Fault(f"{folder} is not empty", fix="name a new folder"))
        for path, content in sorted(files.items()):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise InputError(Fault(f"cannot write {error.filename or folder}: {error.strerror}")) from None


def write_new(folder: Path, files: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """Write those of `files` that are not there yet; (written, left as they are), sorted.

    Raises:
        InputError: one cannot be written, or would be written outside of `folder`.
    """
    written, left = [], []
    for path, content in sorted(files.items()):
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.parent.resolve().is_relative_to(folder.resolve()):
                raise InputError(
                    Fault(f"{target.parent} leads out of {folder} by a symbolic link", fix="remove the link")
                )
            with target.open("xb") as stream:
                stream.write(content)
            written.append(path)
        except FileExistsError:
            left.append(path)
        except OSError as error:
            raise InputError(Fault(f"cannot write {error.filename or target}: {error.strerror}")) from None
    return written, left
