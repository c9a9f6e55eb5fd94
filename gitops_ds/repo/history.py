"""The history of a branch: its commits along the first parents, what they did to a path, and who descends from whom.

Owns the questions that commits and trees alone answer: no file is read, so a clone without files fetches none. Owns
no judgement of who wrote a commit or why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitops_ds.errors import RepositoryError
from gitops_ds.repo.entries import FOLDER, SUBMODULE, tree_entries
from gitops_ds.repo.gitcmd import Repository, common_dir, failure, git, text, try_git
from gitops_ds.repo.opening import resolve_commit
from gitops_ds.repo.selection import select

_LOG = ("log", "--first-parent", "--no-show-signature", "--encoding=UTF-8")
_PLAIN = ("log.follow=false",)
_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%cI%x00%B%x00"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A commit. `author` and `email` are the author's; `time` is when it was committed, in the committer's zone.

    `shallow` marks a commit whose parents this clone does not have: `parents` is then empty, and whether the commit
    changed anything cannot be told.
    """

    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: datetime
    message: str
    shallow: bool


def history(repo: Repository, commit: str, paths: Sequence[str], limit: int) -> tuple[LogEntry, ...]:
    """The commits along the first parents that changed one of `paths`, newest first.

    Args:
        repo: the repository.
        commit: a commit's id or name, the first that is looked at.
        paths: files and folders from the top; none stands for all.
        limit: the most commits to return.

    Raises:
        RepositoryError: there is no such commit.
    """
    start = resolve_commit(repo, commit)
    wanted = (f"--max-count={limit}", f"--format=tformat:{_FORMAT}")
    out = git(repo, *_LOG, *wanted, start, "--", *_folders(paths), settings=_PLAIN)
    fields = text(out).split("\0")
    cut = _shallow(repo)
    return tuple(_entry(fields[at : at + 6], cut) for at in range(0, len(fields) - 1, 6))


def commit_info(repo: Repository, commit: str) -> LogEntry:
    """One commit, by its id or name.

    Raises:
        RepositoryError: there is no such commit.
    """
    return history(repo, commit, (), 1)[0]


def commit_trailers(repo: Repository, commit: str) -> Mapping[str, str]:
    """The trailers of a commit's message as `git interpret-trailers` reads them; of one key, the last.

    Raises:
        RepositoryError: there is no such commit.
    """
    start = resolve_commit(repo, commit)
    wanted = ("--max-count=1", "--format=%(trailers:only=true,unfold=true)")
    lines = text(git(repo, *_LOG, *wanted, start)).splitlines()
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def entry_ids(repo: Repository, commit: str, folders: Sequence[str]) -> Mapping[str, str]:
    """The files of a commit under `folders` (`.`: all), each with the id of its content, sorted; submodules left out.

    Raises:
        RepositoryError: there is no such commit.
    """
    found = tree_entries(repo, resolve_commit(repo, commit), _folders(folders))
    return {path: found[path].blob for path in sorted(found) if found[path].mode not in {SUBMODULE, FOLDER}}


def entry_id(repo: Repository, commit: str, path: str) -> str | None:
    """The id of what a commit has at `path`, a file's content or a whole folder; None for nothing.

    Raises:
        RepositoryError: there is no such commit.
    """
    found = tree_entries(repo, resolve_commit(repo, commit), _folders([path]), deep=False)
    return found[path].blob if path in found else None


def path_history(repo: Repository, commit: str, path: str, limit: int) -> tuple[tuple[str, str | None], ...]:
    """The commits along the first parents that changed one file, newest first, each with the content's id after it.

    The id is None where the commit removed the file. A commit whose parents this clone does not have counts as one that
    made the file.

    Raises:
        RepositoryError: there is no such commit.
    """
    start = resolve_commit(repo, commit)
    wanted = (f"--max-count={limit}", "--format=tformat:%H", "--raw", "--no-abbrev", "--no-renames", "--root", "-m")
    lines = text(git(repo, *_LOG, *wanted, start, "--", *_folders([path]), settings=_PLAIN)).split("\n")
    found: list[tuple[str, str | None]] = []
    head = ""
    for line in filter(None, lines):
        if line.startswith(":"):
            blob = line.split(" ")[3]
            found.append((head, blob if blob.strip("0") else None))
        else:
            head = line
    return tuple(found)


def merge_base(repo: Repository, a: str, b: str) -> str | None:
    """The best common ancestor of two commits; None where this repository knows none.

    Raises:
        RepositoryError: there is no such commit.
    """
    answer = try_git(repo, "merge-base", resolve_commit(repo, a), resolve_commit(repo, b))
    if answer.status > 1:
        raise RepositoryError(failure(repo, "merge-base", answer))
    return answer.out.decode().strip() or None


def is_ancestor(repo: Repository, ancestor: str, commit: str) -> bool:
    """Whether `ancestor` is `commit` or below it, as far as this clone goes.

    Raises:
        RepositoryError: there is no such commit.
    """
    answer = try_git(repo, "merge-base", "--is-ancestor", resolve_commit(repo, ancestor), resolve_commit(repo, commit))
    if answer.status > 1:
        raise RepositoryError(failure(repo, "merge-base", answer))
    return answer.status == 0


def _folders(paths: Sequence[str]) -> tuple[str, ...]:
    return select(paths, 0, ()).folders


def _entry(fields: Sequence[str], cut: frozenset[str]) -> LogEntry:
    commit, parents, author, email, time, message = fields
    commit = commit.strip()  # git ends each entry with a line end, which stands before the next one here
    when = datetime.fromisoformat(time)
    return LogEntry(commit, tuple(parents.split()), author, email, when, message, commit in cut)


def _shallow(repo: Repository) -> frozenset[str]:
    try:
        return frozenset((common_dir(repo) / "shallow").read_text(encoding="ascii").split())
    except FileNotFoundError:
        return frozenset()
