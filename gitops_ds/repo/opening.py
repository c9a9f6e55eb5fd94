"""Opening a repository: which working tree is around a folder, what HEAD is, who commits there by its settings.

Owns the reasons why a folder cannot be used as a repository. Owns no reading of files and no commit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gitops_ds.errors import Fault, Place, RepositoryError
from gitops_ds.repo.gitcmd import OLDEST_GIT, Answer, Repository, ask, first_line, text, try_git, zero_split


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a commit is by: author and committer alike."""

    name: str
    email: str


def open_repository(folder: Path, *, unborn: bool = False, bare: bool = False) -> Repository:
    """Find the working tree around `folder`.

    Works from any folder below the top, in a linked worktree, a shallow clone, and with a detached HEAD.

    Args:
        folder: a folder inside the working tree.
        unborn: take a repository without a commit too; its `head` is then empty.
        bare: take a bare repository too, for reading alone.

    Returns:
        The repository as it is now; open it again to see a HEAD that moved.

    Raises:
        RepositoryError: the folder is missing, in no repository, in a bare one, in one without a commit, owned by
            somebody else, or git is missing or too old.
    """
    if not folder.is_dir():
        what = "not a folder" if folder.exists() else "no such folder"
        raise RepositoryError(Fault(what, Place(str(folder)), fix="give the folder of a git working tree"))
    folder = folder.absolute()
    _check_version(folder)
    top, git_dir = _locate(folder, allow_bare=bare)
    found = Repository(top, git_dir, None, "")
    branch = try_git(found, "symbolic-ref", "-q", "HEAD")
    head = try_git(found, "rev-parse", "-q", "--verify", "HEAD^{commit}")
    if head.status and not unborn:
        raise RepositoryError(
            Fault(
                "the repository has no commit yet",
                Place(str(top)),
                why="gitops-ds holds its plan against the head commit, and there is none",
                fix="commit the intent files first: `git add intent && git commit`",
            )
        )
    return Repository(top, git_dir, _line(branch) or None, _line(head))


def resolve_commit(repo: Repository, name: str) -> str:
    """The full id of the commit that `name` (a branch, a tag, an id, `HEAD~1`) stands for.

    Raises:
        RepositoryError: there is no such commit in this repository.
    """
    answer = None if name.startswith("-") else try_git(repo, "rev-parse", "-q", "--verify", f"{name}^{{commit}}")
    if answer is None or answer.status:
        shallow = (repo.git_dir / "shallow").exists()
        fix = "fetch more of the history: `git fetch --unshallow`" if shallow else "see `git log` for the commits"
        raise RepositoryError(Fault(f"no such commit: {name}", Place(str(repo.top)), fix=fix))
    return _line(answer)


def configured_identity(repo: Repository) -> Identity | None:
    """The identity that git's settings hold (`user.name`, `user.email`); None where either is missing or empty."""
    name, email = (_setting(repo, key) for key in ("user.name", "user.email"))
    return Identity(name, email) if name and email else None


def worktrees_on(repo: Repository, branch: str) -> tuple[Repository, ...]:
    """Every working tree of the repository, `repo`'s own first, that has `branch` (a full ref) checked out.

    Raises:
        RepositoryError: such a working tree is there and cannot be opened.
    """
    own = (repo,) if repo.branch == branch else ()
    others = []
    for folder in _listed_worktrees(repo, branch):
        if not folder.is_dir():
            continue  # removed without `git worktree remove`, or on a medium that is not mounted: nothing to update
        git_dir = ask(folder, "rev-parse", "--absolute-git-dir")
        if git_dir.status == 0 and Path(_line(git_dir)) == repo.git_dir:
            continue
        others.append(open_repository(folder))
    return (*own, *sorted(others, key=lambda other: str(other.top)))


def _listed_worktrees(repo: Repository, branch: str) -> list[Path]:
    answer = try_git(repo, "worktree", "list", "--porcelain", "-z")
    records = answer.out.split(b"\0")
    if answer.status:  # `-z` is younger than the oldest git that is supported
        records = try_git(repo, "worktree", "list", "--porcelain").out.split(b"\n")
    found, folder = [], Path()
    for record in map(text, records):
        key, _, value = record.partition(" ")
        if key == "worktree":
            folder = Path(value)
        elif key == "branch" and value == branch:
            found.append(folder)
    return found


def _check_version(folder: Path) -> None:
    said = text(ask(folder, "version").out)
    numbers = re.search(r"(\d+)\.(\d+)", said)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST_GIT:
        oldest = ".".join(map(str, OLDEST_GIT))
        raise RepositoryError(
            Fault(f"git is too old: {said.strip() or 'no version'}", fix=f"install git {oldest} or newer")
        )


def _locate(folder: Path, *, allow_bare: bool = False) -> tuple[Path, Path]:
    """The top folder and the git folder of the working tree around `folder`; of a bare repository its one folder."""
    answer = ask(folder, "rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir")
    if answer.status:
        raise RepositoryError(_why_closed(folder, answer))
    bare, inside, git_dir = text(answer.out).split("\n", 2)
    if allow_bare and bare == "true":
        return Path(git_dir.removesuffix("\n")), Path(git_dir.removesuffix("\n"))
    if inside != "true":
        what = "this is a bare repository" if bare == "true" else "this is the inside of a .git folder"
        fix = "give a working tree: a clone, or one that `git worktree add` made"
        raise RepositoryError(Fault(what, Place(str(folder)), why="it has no files to work on", fix=fix))
    top = ask(folder, "rev-parse", "--show-toplevel")
    if top.status:
        raise RepositoryError(_why_closed(folder, top))
    return Path(_line(top)), Path(git_dir.removesuffix("\n"))


def _why_closed(folder: Path, answer: Answer) -> Fault:
    place = Place(str(folder))
    if "dubious ownership" in answer.err or "unsafe repository" in answer.err:
        return Fault(
            "git does not trust this repository",
            place,
            why="its folder belongs to another user",
            fix=f"if you trust it: `git config --global --add safe.directory {folder}` (its top folder)",
        )
    if "not a git repository" in answer.err:
        fix = "give a folder inside a clone, or make one here: `git init`"
        return Fault("not inside a git repository", place, fix=fix)
    return Fault("git cannot open the repository", place, why=first_line(answer.err))


def _setting(repo: Repository, key: str) -> str:
    values = zero_split(try_git(repo, "config", "-z", "--get", key).out)
    return values[0].strip() if values else ""


def _line(answer: Answer) -> str:
    """The one line of an answer: only its own newline is taken off, since a path may end in one."""
    return text(answer.out).removesuffix("\n")
