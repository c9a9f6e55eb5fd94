"""Files that verbs write outside of git: whole folders, never over something that is there.

Owns these writes. Owns no content.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gitops_ds.errors import Fault, InputError, UsageError, raise_faults


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


def write_over(folder: Path, files: Mapping[str, bytes], *, overwrite: bool) -> tuple[list[str], list[str]]:
    """Write `files`, over those that differ where `overwrite` says so; (written, left since they are the same), sorted.

    Raises:
        UsageError: one is there and differs, and it is not to be written over, or is a folder. Nothing is written.
        InputError: one cannot be read or written, or would be written outside of `folder`.
    """
    differing = [path for path, content in sorted(files.items()) if _differs(folder / path, content)]
    refused = [path for path in differing if not overwrite or (folder / path).is_dir()]
    fix = "--overwrite replaces files, or name another folder"
    raise_faults(UsageError, [Fault(f"{folder / path} is there, and differs", fix=fix) for path in refused])
    for path in differing:
        try:
            (folder / path).unlink()
        except OSError as error:
            raise InputError(Fault(f"cannot replace {folder / path}: {error.strerror}")) from None
    return write_new(folder, files)


def _differs(path: Path, content: bytes) -> bool:
    try:
        return (path.exists() or path.is_symlink()) and not (path.is_file() and path.read_bytes() == content)
    except OSError as error:
        raise InputError(Fault(f"cannot read {path}: {error.strerror}")) from None
