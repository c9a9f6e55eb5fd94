"""`read_moved(...)`: whether a reconciler writes where it wrote before, read out of the tree and its history.

Owns how a rendered folder is told to be one reconciler's. Owns no judgement (`guards/`): a folder that is not where
the settings say makes every limit blind, since what git has is read from there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_ds.errors import RepositoryError
from gitops_ds.ids import IntentId
from gitops_ds.lock import read_lock
from gitops_ds.message import RECONCILER
from gitops_ds.overrides import Moved
from gitops_ds.past import PLAN, wrote
from gitops_ds.repo import LogEntry, Repository, entry_ids, history, read_commit
from gitops_ds.tree import lock_path, written_root

DEPTH = 50
"""How many commits are looked back on for one of ours, where no lock is left."""
LARGEST_FILE = 64 * 2**20
_NAMED = re.compile(rf"^{RECONCILER}: (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mine:
    """Who asks: a reconciler, and what the others say is theirs.

    Attributes:
        name: its name.
        root: the folder that it writes.
        roots: the folder of every reconciler of the repository, by name.
        intents: the intents of every one, its own among them; two may have the same.
    """

    name: str
    root: str
    roots: Mapping[str, str]
    intents: Mapping[str, frozenset[IntentId]]

    @property
    def own(self) -> frozenset[IntentId]:
        """Its own intents."""
        return self.intents[self.name]


def read_moved(repo: Repository, commit: str, current: Mapping[str, bytes], mine: Mine) -> tuple[Moved, ...]:
    """What shows that the folder of `mine` is not the one that it wrote before.

    Args:
        repo: the repository.
        commit: the id of the commit that is planned on.
        current: what it has below the folder, path to content.
        mine: who asks.

    Raises:
        RepositoryError: a commit is not there, or a lock is unreadable.
    """
    path = lock_path(mine.root)
    found = list(_foreign(repo, commit, current[path], mine)) if path in current else []
    if path in current and written_root(current, mine.root) == mine.root:
        return tuple(found)
    found += _left(repo, commit, mine)
    if path not in current and not found:
        found += _gone(repo, commit, mine)
    return tuple(found)


def _foreign(repo: Repository, commit: str, lock: bytes, mine: Mine) -> Iterator[Moved]:
    """The other reconciler whose lock is in our folder: its last commit is there, or none but its intents are."""
    path = lock_path(mine.root)
    writer = _writer(repo, commit, path, lock)
    if writer in mine.roots and writer != mine.name:
        yield Moved("foreign", mine.root, writer)
        return
    locked = read_lock(lock, path).intents.keys()
    owners = sorted(name for name, intents in mine.intents.items() if locked & intents)
    if owners and mine.name not in owners:
        yield Moved("foreign", mine.root, owners[0])


def _left(repo: Repository, commit: str, mine: Mine) -> Iterator[Moved]:
    """The other folders that hold what is ours."""
    owner_of = {root: name for name, root in mine.roots.items()}
    for path, lock in _locks(repo, commit).items():
        root = path.removesuffix(lock_path(""))
        if root == mine.root:
            continue
        locked, owner = _locked(lock, path), owner_of.get(root)
        shared = locked & mine.own and (owner is None or not locked & mine.intents[owner])
        if _writer(repo, commit, path, lock) == mine.name or shared:
            yield Moved("left", root)


def _locked(lock: bytes, path: str) -> frozenset[IntentId]:
    """The intents of a lock that need not be one of ours at all."""
    try:
        return frozenset(read_lock(lock, path).intents)
    except RepositoryError:
        return frozenset()


def _gone(repo: Repository, commit: str, mine: Mine) -> Iterator[Moved]:
    """The folder of our last plan, where it was another one and nothing is left of it."""
    if history(repo, commit, [lock_path(mine.root)], 1):
        return
    for entry in history(repo, commit, (), DEPTH):
        if not PLAN.search(entry.message) or not _is_by(entry, mine):
            continue
        for path, lock in _locks(repo, entry.commit).items():
            if wrote(entry, hashlib.sha256(lock).hexdigest()):
                root = path.removesuffix(lock_path(""))
                yield Moved("gone", root, commit=entry.commit)
        return


def _is_by(entry: LogEntry, mine: Mine) -> bool:
    named = _NAMED.findall(entry.message)
    return mine.name in named or (not named and len(mine.roots) <= 1)


def _writer(repo: Repository, commit: str, path: str, lock: bytes) -> str:
    """The reconciler that the last change of a lock names; "" where it is not ours or not in this clone."""
    newest = history(repo, commit, [path], 1)
    if not newest or newest[0].shallow or not wrote(newest[0], hashlib.sha256(lock).hexdigest()):
        return ""
    return next(iter(_NAMED.findall(newest[0].message)), "")


def _locks(repo: Repository, commit: str) -> Mapping[str, bytes]:
    """Every lock of a commit, by path."""
    name = lock_path("")
    folders = [path.removesuffix(name) for path in entry_ids(repo, commit, ["."]) if path.endswith(name)]
    return read_commit(repo, commit, folders, LARGEST_FILE, suffixes=(name,)) if folders else {}
