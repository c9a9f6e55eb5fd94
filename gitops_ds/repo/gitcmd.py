"""The door to git: every git process of the project starts here, through GitPython's command layer.

Owns the closed environment that git runs in, the settings that keep it from running anything of the user's (hooks,
filters, monitors, pagers), the time limit of commands that may wait for somebody else, and the translation of a failure
into a RepositoryError. Owns no knowledge of what the commands are for. GitPython's object database and index are never
used.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.repo.access import Access
from gitops_ds.repo.urls import mask

if TYPE_CHECKING:
    from git import Git

OLDEST_GIT = (2, 30)

TIMED_OUT = 124
"""The exit status that stands for a command that was killed at its time limit."""
_GRACE = 5.0
"""Seconds that git gets to remove its lock files when it is asked to end, before it is killed."""

_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.safecrlf=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "i18n.commitEncoding=UTF-8",
    "maintenance.auto=false",
    "status.relativePaths=false",
    "submodule.recurse=false",
)

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}

# What a user or a CI system sets on purpose for every git: where settings are, how to reach and trust a remote. All
# other GIT_* variables (a hook's GIT_DIR and GIT_INDEX_FILE first of all) would point git at something else.
_INHERITED = (
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_VALUE_",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_PROXY_",
    "GIT_PYTHON_",
    "GIT_SSH",
    "GIT_SSL_",
)


@dataclass(frozen=True, slots=True)
class Repository:
    """A git working tree, or a bare repository, as it was when it was opened.

    `top` is the working tree's top folder and `git_dir` the git folder of this working tree (a linked worktree has its
    own), both absolute; a bare repository has its one folder as both. `branch` is the full ref that HEAD names, None
    where HEAD is detached. `head` is the commit. `access` reaches the remote that a partial clone gets what it lacks
    from; None leaves that to git's own settings.
    """

    top: Path
    git_dir: Path
    branch: str | None
    head: str
    access: Access | None = field(default=None, compare=False)

    @property
    def bare(self) -> bool:
        """Whether there is no working tree and no index."""
        return self.top == self.git_dir


class Answer(NamedTuple):
    """What one git process said: exit status, standard output, standard error."""

    status: int
    out: bytes
    err: str


def ask(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    settings: Sequence[str] = (),
    options: Sequence[str] = (),
    limit: timedelta | None = None,
) -> Answer:
    """Run one git command in `folder` and return its answer, whatever its exit status.

    Args:
        folder: an existing folder to run in.
        arguments: the git verb and its arguments.
        stdin: what the command reads.
        env: variables for this command, beside the closed environment.
        settings: further `key=value` settings, which win over the project's own.
        options: options of git itself, such as `--git-dir=...`.
        limit: the time after which the command and all that it started are killed; the status is then TIMED_OUT.

    Raises:
        RepositoryError: git is not installed.
    """
    layer = _command_layer(folder)
    variables = {**_ENVIRONMENT, **(env or {})}
    # GitPython falls back to the process's own folder where it cannot enter `folder`: -C makes git fail instead.
    command = [*_dropping_all_but(variables), layer.GIT_PYTHON_GIT_EXECUTABLE or "git", "-C", str(folder), *options]
    for setting in (*_SETTINGS, *settings):
        command += ["-c", setting]
    with tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        status, out, err = _execute(layer, [*command, *arguments], source.fileno(), variables, limit)
    if status == 127 and command[0] == "env":
        raise _not_installed()
    return Answer(status, out, err)


def try_git(
    repo: Repository,
    *arguments: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    settings: Sequence[str] = (),
    limit: timedelta | None = None,
) -> Answer:
    """Run one git command in an opened repository and return its answer, whatever its exit status.

    Raises:
        RepositoryError: git is not installed, or the working tree is gone.
    """
    if not repo.top.is_dir():
        raise RepositoryError(Fault("the working tree is gone", Place(str(repo.top))))
    options = [f"--git-dir={repo.git_dir}"]
    options += [] if repo.bare else [f"--work-tree={repo.top}"]
    return ask(repo.top, *arguments, stdin=stdin, env=env, settings=settings, options=options, limit=limit)


def git(
    repo: Repository,
    *arguments: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    settings: Sequence[str] = (),
) -> bytes:
    """Run one git command in an opened repository and return its standard output.

    Raises:
        RepositoryError: the command failed; the fault says which command and what git said.
    """
    answer = try_git(repo, *arguments, stdin=stdin, env=env, settings=settings)
    if answer.status:
        raise RepositoryError(failure(repo, arguments[0], answer))
    return answer.out


def failure(repo: Repository, verb: str, answer: Answer) -> Fault:
    """The fault that says why a git command failed in `repo`."""
    said = mask(first_line(answer.err)) or f"exit status {answer.status}"
    if "index.lock" in answer.err:
        return lock_held(repo)
    if ".lock" in answer.err and "File exists" in answer.err:
        return Fault(
            "another git process holds a lock on the repository",
            Place(str(repo.git_dir)),
            why=said,
            fix="wait for it to end and run again; remove the lock file if no git process is running",
        )
    return Fault(f"`git {verb}` failed", Place(str(repo.top)), why=said)


def lock_held(repo: Repository) -> Fault:
    """The fault for an index that another git process has locked."""
    return Fault(
        "another git process holds the index",
        Place(str(repo.git_dir / "index.lock")),
        why="the working tree cannot be brought up to date meanwhile",
        fix="wait for it to end and run again; remove the lock file if no git process is running",
    )


def first_line(text: str) -> str:
    """The first line of git's words that says something, without git's own prefix."""
    for line in text.splitlines():
        if line.strip():
            return line.strip().removeprefix("fatal: ").removeprefix("error: ")
    return ""


def common_dir(repo: Repository) -> Path:
    """The git folder that all working trees of the repository share."""
    try:
        named = (repo.git_dir / "commondir").read_text(encoding="utf-8", errors="surrogateescape").removesuffix("\n")
    except FileNotFoundError:
        return repo.git_dir
    return (repo.git_dir / named).resolve()


def text(raw: bytes) -> str:
    """A path or name as git wrote it, as text; bytes that are not UTF-8 survive the way back through `raw`."""
    return raw.decode("utf-8", "surrogateescape")


def raw(name: str) -> bytes:
    """A path or name as git wants to read it."""
    return name.encode("utf-8", "surrogateescape")


def zero_ended(names: Sequence[str]) -> bytes:
    """Names as git reads them with `-z`."""
    return b"".join(raw(name) + b"\0" for name in names)


def zero_split(out: bytes) -> list[str]:
    """The names, or records, that git wrote with `-z`."""
    return [text(part) for part in out.split(b"\0") if part]


def without_filters(repo: Repository) -> tuple[str, ...]:
    """Settings that switch off every content filter of the user (LFS and its kind), so that none of them runs.

    Line endings and encodings are still converted, as the attributes of the repository say.
    """
    answer = try_git(repo, "config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")
    drivers = sorted({key.rpartition(".")[0] for key in zero_split(answer.out)})
    off = ("clean=", "smudge=", "process=", "required=false")
    return tuple(f"{driver}.{part}" for driver in drivers for part in off)


def _command_layer(folder: Path) -> Git:
    """GitPython's command layer; imported here because the import itself starts git."""
    try:
        from git import Git
    except ImportError as error:
        raise _not_installed() from error
    return Git(folder)


def _execute(
    layer: Git, command: list[str], stdin: int, env: Mapping[str, str], limit: timedelta | None
) -> tuple[int, bytes, str]:
    from git import GitCommandNotFound

    try:
        return _execute_within(limit, layer, command, stdin, env)
    except (GitCommandNotFound, PermissionError) as error:
        raise _not_installed() from error


def _execute_within(
    limit: timedelta | None, layer: Git, command: list[str], stdin: int, env: Mapping[str, str]
) -> tuple[int, bytes, str]:
    """Run a command, and leave nothing of it running whatever happens.

    One with a limit gets a session of its own: no terminal to ask at, and a group that can be killed as a whole.
    """
    is_group = limit is not None
    process = layer.execute(command, istream=stdin, as_process=True, env=env, start_new_session=is_group)
    try:
        out, err = process.communicate(timeout=limit.total_seconds() if limit else None)
    except subprocess.TimeoutExpired:
        assert limit is not None
        out, err = _end(process, is_group=is_group)
        words = f"\ngitops-ds: no answer within {limit.total_seconds():g} seconds"
        return TIMED_OUT, out, err.decode(errors="replace") + words
    except BaseException:
        _end(process, is_group=is_group)
        raise
    return process.returncode, out, err.decode(errors="replace")


def _end(process: Git.AutoInterrupt, *, is_group: bool) -> tuple[bytes, bytes]:
    """End a command and all that it started; what it wrote until then."""
    written = b"", b""  # where something left the group and holds the pipes, there is nobody to wait for
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            (os.killpg if is_group else os.kill)(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            written = process.communicate(timeout=_GRACE)
    return written


def _dropping_all_but(variables: Mapping[str, str]) -> list[str]:
    """The start of a command line that drops variables: GitPython can add to the environment, and not take away."""
    foreign = [name for name in sorted(os.environ) if name.startswith("GIT_") and not name.startswith(_INHERITED)]
    dropped = [part for name in foreign if name not in variables for part in ("-u", name)]
    return ["env", *dropped] if dropped else []


def _not_installed() -> RepositoryError:
    return RepositoryError(
        Fault(
            "git cannot be run",
            why="there is no git program on the PATH that may be started",
            fix=f"install git {'.'.join(map(str, OLDEST_GIT))} or newer",
        )
    )
