"""One at a time on this machine: locks that the kernel lets go of when their process ends, however it ends.

Owns the lock files under `gitops-ds/` of the git folder. They are never removed, and mean nothing by being there: a
lock is held by an open file of a living process.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from gitops_ds.errors import ContentionError, Fault, Place, RepositoryError
from gitops_ds.repo.gitcmd import Repository, common_dir

_PAUSE = 0.05
"""Seconds between two tries to get a lock."""


@contextmanager
def claim(repo: Repository, branch: str, wait: timedelta = timedelta(0)) -> Iterator[None]:
    """Be the only reconciler of a branch of this repository on this machine, from all of its working trees.

    Args:
        repo: the repository.
        branch: the branch, such as `main` or `refs/heads/main`.
        wait: how long to wait for another one to end.

    Raises:
        ContentionError: another process holds the branch still; its process id is in the fault.
        RepositoryError: the git folder cannot be written to.
    """
    name = branch.removeprefix("refs/heads/")
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    with locked(common_dir(repo) / "gitops-ds" / f"claim-{digest}.lock", wait, f"branch {name}"):
        yield


@contextmanager
def locked(file: Path, wait: timedelta, what: str = "the repository") -> Iterator[None]:
    """Hold the lock that `file` stands for, made where it is missing.

    Raises:
        ContentionError: another holds it, and `wait` is over.
        RepositoryError: the file cannot be made.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RepositoryError(Fault("the lock file cannot be made", Place(str(file)), error.strerror or "")) from error
    try:
        _wait_for(descriptor, file, wait, what)
        with suppress(OSError):  # on a full disk the lock holds all the same; it only does not say by whom
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, file: Path, wait: timedelta, what: str) -> None:
    end = time.monotonic() + wait.total_seconds()
    while not _taken(descriptor, file):
        if time.monotonic() >= end:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            raise ContentionError(
                Fault(
                    f"another gitops-ds process is at work on {what}",
                    Place(str(file)),
                    why=f"process {holder} holds it" if holder.isdigit() else "",
                    fix="let it end, and run again; only one works on a branch at a time",
                )
            )
        time.sleep(_PAUSE)


def _taken(descriptor: int, file: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        why = error.strerror or ""
        raise RepositoryError(Fault("the file system keeps no locks", Place(str(file)), why)) from error
    return True
