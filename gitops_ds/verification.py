"""`verify(...)`: whether a commit is what its message and its lock say: the proof that a reader can make alone.

Owns what is held against what, and the words for it. No git, no hub, no solver: what the commit and its parent hold is
handed in. Owns no signatures either: whether one is good is told to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from gitops_ds import __version__
from gitops_ds.errors import Fault, GitopsDsError, Place, RepositoryError
from gitops_ds.lock import read_lock
from gitops_ds.message import RECONCILER, TRAILERS, intents_digest, is_ours, trailers_of
from gitops_ds.tree import ROOT, Tree, inventory_path, lock_path, read_owned

PLAN, INTENT, LOCK, VERSION = TRAILERS
Name = Literal["message", "tree", "trailers", "scope", "parent", "signature"]
Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: how it came out, in a line, and what is wrong with it."""

    name: Name
    outcome: Outcome
    text: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """What a commit and its parent hold.

    Attributes:
        current: the commit's files below `root`, path to content.
        tree: makes the tree that the commit's lock and intents give.
        changed: the paths that the commit changes, sorted; None where the parent is not in this clone.
        remoded: those of them whose mode it changes, and new ones that are not plain files.
        parents: how many parents it has.
        parent_lock: the lock that the parent holds.
        parent_inventory: the inventory that the parent holds.
        signature: makes sure of the signature; None where none is asked for.
        root: the folder of the rendered tree.
        beside: paths outside of `root` that it may change.
    """

    current: Mapping[str, bytes]
    tree: Callable[[], Tree]
    changed: tuple[str, ...] | None
    parents: int
    parent_lock: bytes | None = None
    parent_inventory: bytes | None = None
    signature: Callable[[], None] | None = None
    root: str = ROOT
    beside: frozenset[str] = frozenset()
    remoded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one commit: its checks, and the files in the folder that are not ours.

    The checks are in the order of their names in `Name`; the first alone where the others could not be made.
    """

    commit: str
    subject: str
    trailers: Mapping[str, str]
    checks: tuple[Check, ...]
    foreign: tuple[str, ...] = ()

    @property
    def is_verified(self) -> bool:
        """Whether nothing is wrong with it."""
        return all(check.outcome != "failed" for check in self.checks)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All that is wrong with it."""
        return tuple(fault for check in self.checks for fault in check.faults)


def verify(commit: str, message: str, read: Callable[[], Held]) -> Verdict:
    """Hold a commit against its message, its lock and its parent.

    Args:
        commit: its id.
        message: its message.
        read: gives what it holds; not called for a commit that is not ours.
    """
    subject, trailers = message.partition("\n")[0], trailers_of(message)
    if not is_ours(message):
        fault = Fault(f"commit {commit} is not one of gitops-ds", why=f"its message has no trailer {PLAN}")
        return Verdict(commit, subject, {}, (Check("message", "failed", fault.what, (fault,)),))
    try:
        held = read()
    except GitopsDsError as error:
        check = Check("message", "failed", "what the commit was made from cannot be read", error.faults)
        return Verdict(commit, subject, trailers, (check,))
    tree, foreign = _tree(held, trailers)
    checks = (_message(trailers), tree, _trailers(held, trailers), _scope(held), _parent(held), _signature(held))
    return Verdict(commit, subject, trailers, checks, foreign)


def _message(trailers: Mapping[str, str]) -> Check:
    missing = [name for name in TRAILERS if name not in trailers]
    name = trailers.get(RECONCILER)
    by = f"gitops-ds {trailers.get(VERSION, '')}{f' for reconciler {name}' if name else ''}"
    return _check("message", f"made by {by}", (Fault(f"the message has no trailer {one}") for one in missing))


def _tree(held: Held, trailers: Mapping[str, str]) -> tuple[Check, tuple[str, ...]]:
    """The check, and the files that are not ours."""
    try:
        tree, owned = held.tree(), read_owned(held.current, held.root)
    except GitopsDsError as error:
        return Check("tree", "failed", "the lock and the intents render no tree", error.faults), ()
    version = trailers.get(VERSION, "")
    why = f"version {version} made it, and this is {__version__}" if version != __version__ else ""
    faults = [
        Fault(f"{path} {_differs(held.current.get(path), tree.get(path))}", Place(path), why)
        for path in sorted({*tree, *owned})
        if held.current.get(path) != tree.get(path)
    ]
    foreign = tuple(path for path in sorted(held.current) if path not in tree and path not in owned)
    return _check("tree", f"{len(tree)} files are what the lock renders", faults), foreign


def _differs(here: bytes | None, there: bytes | None) -> str:
    if here is None:
        return "is missing, and the lock renders it"
    return "is not rendered by the lock" if there is None else "is not what the lock renders"


def _trailers(held: Held, trailers: Mapping[str, str]) -> Check:
    paths = {PLAN: inventory_path(held.root), LOCK: lock_path(held.root)}
    faults = [
        Fault(f"the message's {name} is not the sha256 of {path}", Place(path))
        for name, path in paths.items()
        if trailers.get(name) != (_sha256(held.current[path]) if path in held.current else None)
    ]
    lock = held.current.get(paths[LOCK])
    if lock is not None:
        try:
            digest = intents_digest(read_lock(lock, paths[LOCK]).intents)
        except RepositoryError as error:
            faults += error.faults
        else:
            if trailers.get(INTENT) != digest:
                what = f"the message's {INTENT} is not the digest of the intents in the lock"
                faults.append(Fault(what, Place(paths[LOCK])))
    return _check("trailers", "plan, intents and lock are the ones that the message names", faults)


def _scope(held: Held) -> Check:
    if held.changed is None:
        return Check("scope", "skipped", "the parent is not in this clone: fetch more of the history")
    owned = _owned(held)
    why = {path: _beyond(path, held, owned) for path in held.changed}
    faults = [Fault(f"{path} {what}", Place(path)) for path, what in why.items() if what]
    return _check("scope", f"nothing but our files below {held.root}/ is changed", faults)


def _beyond(path: str, held: Held, owned: frozenset[str]) -> str:
    """Why gitops-ds would not have changed that; "" where it might."""
    if path not in held.beside:
        if not path.startswith(f"{held.root}/"):
            return f"is changed by the commit, and is not below {held.root}/"
        if path not in owned:
            return "is changed by the commit, and is not ours"
    return "has another mode by the commit than gitops-ds gives it" if path in held.remoded else ""


def _owned(held: Held) -> frozenset[str]:
    """The files that are ours in the commit or its parent. What is wrong with an inventory is told elsewhere."""
    found = {inventory_path(held.root), lock_path(held.root)}
    before = {} if held.parent_inventory is None else {inventory_path(held.root): held.parent_inventory}
    for files in (held.current, before):
        with suppress(RepositoryError):
            found |= read_owned(files, held.root).keys()
    with suppress(GitopsDsError):
        found |= held.tree().keys()
    return frozenset(found)


def _parent(held: Held) -> Check:
    """That the plan was made from what the parent holds: the lock names it as the incumbent."""
    if held.parents != 1 and held.changed is not None:
        what = f"the commit has {held.parents} parents, and gitops-ds makes commits with one"
        return Check("parent", "failed", what, (Fault(what),))
    path = lock_path(held.root)
    lock = held.current.get(path)
    if held.changed is None or lock is None:
        return Check("parent", "skipped", "the parent is not in this clone: fetch more of the history")
    if lock == held.parent_lock:
        return Check("parent", "passed", "the lock is that of the parent")
    try:
        incumbent = read_lock(lock, path).incumbent
        before = read_lock(held.parent_lock, path).start if held.parent_lock is not None else None
    except RepositoryError as error:
        return Check("parent", "failed", "a lock cannot be read", error.faults)
    same = (
        (incumbent.placements, incumbent.policies) == (before.placements, before.policies)
        if before
        else not (incumbent.placements or incumbent.policies)
    )
    why = "it was made from another state: taken onto this branch by a rebase or a cherry-pick, perhaps"
    wrong = [] if same else [Fault("the lock does not start from what the parent commit holds", Place(path), why)]
    return _check("parent", "the lock starts from what the parent holds", wrong)


def _signature(held: Held) -> Check:
    if held.signature is None:
        return Check("signature", "skipped", "none is asked for")
    try:
        held.signature()
    except GitopsDsError as error:
        return Check("signature", "failed", "there is no good signature by the configured key", error.faults)
    return Check("signature", "passed", "good, by the configured key")


def _check(name: Name, text: str, faults: Iterable[Fault]) -> Check:
    found = tuple(faults)
    rest = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return Check(name, "failed", f"{found[0].what}{rest}", found) if found else Check(name, "passed", text)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
