"""`read_past(...)`: what happened to earlier plans, read out of the history of the branch and of its pull request.

Owns which commits are looked at, and by what a commit is told to be ours. Owns no judgement (`overrides.py`) and no
network: what is to be read has been fetched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from gitops_ds.errors import InputError, RepositoryError
from gitops_ds.message import BASE, TRAILERS
from gitops_ds.overrides import Past, Touch, last_plan
from gitops_ds.repo import (
    LogEntry,
    Repository,
    entry_ids,
    history,
    is_ancestor,
    merge_base,
    path_history,
    read_commit,
)
from gitops_ds.tree import ROOT, compare, digest_of, inventory_path, lock_path

DEPTH = 200
"""How many changes of the lock are looked back on, where the last one is not ours."""
BRANCH_DEPTH = 50
LARGEST_FILE = 64 * 2**20

PLAN = re.compile(rf"^{TRAILERS[0]}: ([0-9a-f]{{64}})$", re.MULTILINE)
_LOCK = re.compile(rf"^{TRAILERS[2]}: ([0-9a-f]{{64}})$", re.MULTILINE)
_BASE = re.compile(rf"^{BASE}: ([0-9a-f]{{40,64}})$", re.MULTILINE)


def read_past(
    repo: Repository, commit: str, current: Mapping[str, bytes], root: str = ROOT, *, branch: str | None = None
) -> Past:
    """What happened to the plans of one reconciler.

    Where the last change of the lock is ours, which is the rule, that takes one look at the history.

    Args:
        repo: the repository.
        commit: the id of the commit that is planned on.
        current: what it has below `root`, path to content.
        root: the folder of the rendered tree.
        branch: the id of the commit that the pull-request branch is at, as fetched; None: there is none.

    Raises:
        RepositoryError: a commit is not there.
    """
    touches = _touches(repo, commit, current.get(lock_path(root)), root)
    last = last_plan(touches)
    stranger = _stranger(repo, commit, branch, root) if branch else None
    return Past(touches, last.time if last else None, stranger)


def _touches(repo: Repository, commit: str, lock: bytes | None, root: str) -> tuple[Touch, ...]:
    path = lock_path(root)
    newest = history(repo, commit, [path], 1)
    if not newest:
        return ()
    digest = None if lock is None else hashlib.sha256(lock).hexdigest()
    if digest is not None and wrote(newest[0], digest) and (newest[0].shallow or _is_on_its_base(newest[0])):
        return (_touch(newest[0], digest, ours=True),)
    if newest[0].shallow:
        return ()
    locks = path_history(repo, commit, path, DEPTH)
    entries = {entry.commit: entry for entry in history(repo, commit, [path], DEPTH)}
    found: list[Touch] = []
    for i, (name, blob) in enumerate(locks):
        entry, before = entries[name], entries[locks[i + 1][0]] if i + 1 < len(locks) else None
        wanted = None if i else digest
        ours = blob is not None and wrote(entry, wanted) and _is_fresh(repo, entry, before)
        if not ours and blob is not None and blob in [old for _, old in locks[i + 1 :]]:
            ours = _merged(repo, entry, path, wanted, before)
        found.append(_touch(entry, blob, ours=ours))
    return tuple(found)


def wrote(entry: LogEntry, lock: str | None) -> bool:
    """Whether the message says that we wrote this lock, or any where it is None: squashing may move our trailers."""
    found = _LOCK.findall(entry.message)
    return bool(found) if lock is None else lock in found


def _is_on_its_base(entry: LogEntry) -> bool:
    """Whether the commit stands where it was made: on the parent that its message names."""
    return bool(entry.parents) and entry.parents[0] in _bases(entry)


def _is_fresh(repo: Repository, entry: LogEntry, before: LogEntry | None) -> bool:
    """Whether the plan in the message was made on the lock that the commit replaces, which `before` left.

    So it is where we committed it, and after a squash or rebase of our pull request. An old commit of ours that
    somebody picked again was made on something older: whatever its message says, it takes back what came since.
    """
    if before is None or before.shallow or _is_on_its_base(entry):
        return True
    return any(_descends(repo, base, before.commit) for base in _bases(entry))


def _descends(repo: Repository, commit: str, ancestor: str) -> bool:
    try:
        return is_ancestor(repo, ancestor, commit)
    except RepositoryError:
        return False  # a base that this repository never had, or has no more


def _merged(repo: Repository, entry: LogEntry, path: str, lock: str | None, before: LogEntry | None) -> bool:
    """Whether a merge brought a commit of ours that the branch did not have: an old lock is then no revert."""
    for side in entry.parents[1:]:
        made = history(repo, side, [path], 1)
        if not made or not wrote(made[0], lock) or is_ancestor(repo, made[0].commit, entry.parents[0]):
            continue
        if before is None or before.shallow or any(_descends(repo, b, before.commit) for b in _bases(made[0])):
            return True
    return False


def _bases(entry: LogEntry) -> list[str]:
    return _BASE.findall(entry.message)


def _touch(entry: LogEntry, lock: str | None, *, ours: bool) -> Touch:
    subject = entry.message.strip().partition("\n")[0]
    return Touch(entry.commit, entry.author, entry.time, subject, lock, ours, cut=entry.shallow)


def _stranger(repo: Repository, base: str, branch: str, root: str) -> Touch | None:
    """The newest commit of the branch that is not ours, beyond what the base has; else ours, where it was changed."""
    fork = merge_base(repo, base, branch)
    several = history(repo, branch, (), BRANCH_DEPTH if fork else 1)
    own: list[LogEntry] = []
    for entry in several:
        if entry.commit == fork:
            break
        if not PLAN.search(entry.message):
            return _touch(entry, None, ours=False)
        own.append(entry)
    return next((_touch(entry, None, ours=True) for entry in own[:1] if _is_changed(repo, entry, root)), None)


def _is_changed(repo: Repository, entry: LogEntry, root: str) -> bool:
    """Whether a commit of ours holds something else than what we wrote: somebody amended it, or rewrote the branch."""
    try:
        files = read_commit(repo, entry.commit, [root], LARGEST_FILE)
        if inventory_path(root) not in files or digest_of(files, root) not in PLAN.findall(entry.message):
            return True
        edited = compare(files, {}, root).edited
    except (InputError, RepositoryError):
        return True  # a link, or an inventory that is none: we write neither
    return bool(edited) or _reaches_beyond(repo, entry, root)


def _reaches_beyond(repo: Repository, entry: LogEntry, root: str) -> bool:
    """Whether a commit changes anything that is not below `root`, as far as its parent is there."""
    if not entry.parents:
        return False
    before, after = (entry_ids(repo, commit, ["."]) for commit in (entry.parents[0], entry.commit))
    changed = {path for path, _ in before.items() ^ after.items()}
    return any(not path.startswith(f"{root}/") for path in changed)
