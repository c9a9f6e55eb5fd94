"""What people say to a reconciler in `intent/`: the files of `hold` and `resume`, and how they get into git.

Owns where the two kinds of document are read and written, and the commit that holds them and nothing else. Owns no
verb.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gitops_ds.cli.guarding import UNNAMED
from gitops_ds.cli.terminal import say
from gitops_ds.errors import Fault, InputError, Place, RepositoryError, UsageError, raise_faults
from gitops_ds.guards import EVERY
from gitops_ds.intent.base import API_VERSION
from gitops_ds.intent.load import FOLDER, SUFFIXES, Intents, load_all
from gitops_ds.repo import (
    Identity,
    Repository,
    commit_files,
    configured_identity,
    open_repository,
    read_commit,
    read_worktree,
    refuse_underway,
)
from gitops_ds.yamltext import read_strict, write_document

LARGEST_INTENT = 2**20
LONGEST_TEXT = 1024
SUBJECT = 72
_NOBODY = Identity("gitops-ds", "gitops-ds@localhost")


@dataclass(frozen=True)
class Said:
    """A repository and the bytes of its `intent/`: of the head commit, or of the working tree where `loose`."""

    repo: Repository
    files: Mapping[str, bytes]
    loose: bool

    def intents(self) -> Intents:
        """What the files say.

        Raises:
            InputError: with every fault of every file.
        """
        return load_all(self.files)


def read_said(folder: Path, *, loose: bool) -> Said:
    """The repository around `folder` and its `intent/`.

    Raises:
        RepositoryError: there is none, or a commit is to be made while git is in the middle of something.
        InputError: a file cannot be read.
    """
    repo = open_repository(folder)
    if loose:
        return Said(repo, read_worktree(repo.top, [FOLDER], LARGEST_INTENT, suffixes=SUFFIXES), loose)
    refuse_underway(repo)
    return Said(repo, read_commit(repo, repo.head, [FOLDER], LARGEST_INTENT, suffixes=SUFFIXES), loose)


def named(intents: Intents | None, asked: str | None) -> str:
    """Whom a document is for: the reconciler asked for, else the only one there is, else all of them.

    Args:
        intents: what `intent/` says; None where it is too wrong to tell.
        asked: the name that the command line gives.

    Raises:
        UsageError: there is no reconciler of that name.
    """
    known = [one.intent.metadata.name for one in intents.reconcilers] if intents else []
    if asked is None:
        return known[0] if len(known) == 1 else EVERY
    if intents is not None and asked not in (*(known or [UNNAMED]), EVERY):
        fix = f"one of: {', '.join((*known, EVERY))}"
        raise UsageError(Fault(f"{asked} is no reconciler of this repository", fix=fix))
    return asked


def whom(name: str) -> str:
    """The reconcilers that a name stands for, in words."""
    return "every reconciler" if name == EVERY else name


def speaker(repo: Repository, by: str | None) -> str:
    """Who speaks: as the command line says, else git's identity.

    Raises:
        UsageError: neither says.
    """
    if by is not None:
        return plain("--by", by)
    identity = configured_identity(repo)
    if identity is None:
        fix = "--by WHO, or set `git config user.name` and `user.email`"
        raise UsageError(Fault("nobody says who this is from", fix=fix))
    return f"{identity.name} <{identity.email}>"


def plain(option: str, text: str) -> str:
    """A text of the command line as a document takes it: in one line.

    Raises:
        UsageError: it is empty, too long, or no text.
    """
    line = " ".join(text.split())
    if not line or len(line) > LONGEST_TEXT:
        raise UsageError(Fault(f"{option} is 1 to {LONGEST_TEXT} characters", fix="say it in a sentence"))
    if not line.isprintable():
        raise UsageError(Fault(f"{option} holds characters that are no text", fix="say it in plain words"))
    return line


def document(kind: str, name: str, spec: Mapping[str, Any]) -> bytes:
    """The file of one Hold or Resume; fields that are None are left out."""
    said = {key: value for key, value in spec.items() if value is not None}
    return write_document({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": said})


def path_of(kind: str, name: str) -> str:
    """Where the file of one Hold or Resume is."""
    return f"{FOLDER}/gitops-ds-{kind.lower()}-{name}.yaml"


def put(said: Said, files: Mapping[str, bytes | None], subject: str, notes: Sequence[str]) -> bool:
    """Write or remove files of `intent/`: in the working tree where `said` is loose, else by a commit of them alone.

    Returns:
        Whether anything changed.

    Raises:
        GitopsDsError: a file holds other documents too, or it cannot be written or committed.
    """
    changes = {path: content for path, content in files.items() if said.files.get(path) != content}
    if not changes:
        return False
    raise_faults(InputError, [fault for path in sorted(changes) for fault in _others(said, path)])
    if said.loose:
        _write(said.repo.top, changes)
        commit = None
    else:
        commit = _commit(said.repo, changes, subject, notes)
    for path, content in sorted(changes.items()):
        say(f"{'removed' if content is None else 'wrote'} {path}")
    if commit is not None:
        say(f"commit {commit}")
    say(_next(said.repo, changes, loose=said.loose))
    return True


def _others(said: Said, path: str) -> Iterator[Fault]:
    """The fault of a file that holds other documents, which would go with it."""
    if path in said.files and len(read_strict(said.files[path], path)) > 1:
        yield Fault(f"{path} holds other documents too", Place(path), fix="change it there by hand")


def _commit(repo: Repository, changes: Mapping[str, bytes | None], subject: str, notes: Sequence[str]) -> str:
    message = "\n\n".join([subject if len(subject) <= SUBJECT else f"{subject[: SUBJECT - 3]}...", *notes])
    identity = configured_identity(repo) or _NOBODY
    when = datetime.now().astimezone()
    return commit_files(repo, changes, f"{message}\n", identity=identity, when=when, expected_head=repo.head)


def _write(top: Path, changes: Mapping[str, bytes | None]) -> None:
    for path, content in sorted(changes.items()):
        target = top / path
        try:
            if content is None:
                target.unlink()
                continue
            target.parent.mkdir(exist_ok=True)
            if target.is_symlink() or target.parent.is_symlink():
                raise RepositoryError(
                    Fault(f"{path} is a symbolic link", Place(path), fix="replace it by a plain file")
                )
            target.write_bytes(content)
        except OSError as error:
            raise InputError(Fault(f"cannot write {path}: {error.strerror}", Place(path))) from None


def _next(repo: Repository, changes: Mapping[str, bytes | None], *, loose: bool) -> str:
    """What is left to do for it to count."""
    if loose:
        paths = " ".join(shlex.quote(path) for path in sorted(changes))
        return f"It counts once it is committed: git add -A {paths}, then commit and open a pull request, or push."
    branch = (repo.branch or "").removeprefix("refs/heads/")
    words = f"git push origin {shlex.quote(branch)}" if branch else "git push origin HEAD:BRANCH"
    return f"It counts on this branch here. A reconciler that reads a remote sees it once\nit is pushed: {words}"
