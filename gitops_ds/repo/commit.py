"""Committing files: a commit on top of an expected head, whatever state the user's index and working tree are in.

Owns the making of the commit out of a private index, so that no attribute, filter, hook or setting of the repository
can change the bytes or run anything, and the move of the branch by compare and swap. Owns no message and no decision
about what to commit; pushing is another matter (`remote.py`), and so is how a commit is signed (`signing.py`).

The steps, in an order that leaves either the old or the new commit after a crash: refuse what stands against it, store
the objects, move the branch, bring the owned paths of each working tree on that branch up to date. A crash before the
last step ends is repaired by `bring_up_to_date`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitops_ds.errors import ContentionError, Fault, Place, RepositoryError, raise_faults
from gitops_ds.repo.checkout import has_index, update
from gitops_ds.repo.edits import check_unlocked, refuse_local_edits, restore
from gitops_ds.repo.entries import (
    FILE,
    FOLDER,
    Changes,
    Entry,
    blob_id,
    index_entries,
    put_entries,
    store_blobs,
    top_names,
    tree_entries,
)
from gitops_ds.repo.fitting import check_fit, check_names
from gitops_ds.repo.gitcmd import Repository, failure, git, try_git
from gitops_ds.repo.opening import Identity, worktrees_on
from gitops_ds.repo.signing import Signing, signed_tree, verify_signature


class _Words(NamedTuple):
    """What a commit says, the variables by which git knows who says it and when, and the key that vouches for it."""

    message: str
    author: Mapping[str, str]
    identity: Identity
    signing: Signing | None


def commit_files(
    repo: Repository,
    owned: Mapping[str, bytes | None],
    message: str,
    *,
    identity: Identity,
    when: datetime,
    expected_head: str,
    branch: str | None = None,
    signing: Signing | None = None,
    moving: Callable[[str, bool], None] = lambda _, __: None,
) -> str:
    """Commit files on top of `expected_head`, and bring them up to date wherever the branch is checked out.

    Args:
        repo: the repository, as opened now.
        owned: POSIX paths from the top, each with its bytes, or None to remove it. A file keeps its executable bit.
        message: the whole commit message.
        identity: author and committer.
        when: the time of both, aware of its zone; whole seconds count.
        expected_head: the full id of the commit that `owned` was made for.
        branch: the full ref to move, such as `refs/heads/main`; by default what HEAD is on, or a detached HEAD itself.
        signing: the key to sign with; None signs nothing, whatever git's own settings say.
        moving: is told the new commit before the branch moves to it (False), and as soon as it has (True).

    Returns:
        The id of the new commit, or `expected_head` where no file differs from it: then nothing is written at all.

    Raises:
        ContentionError: the branch is not, or no longer, at `expected_head`.
        HeldError: an owned path has a local edit where the branch is checked out; nothing is written.
        RepositoryError: a path cannot be in the tree, a link is in the way, the index is locked, the identity is not
            usable, the commit cannot be signed: nothing is written. Or the working tree could not be brought up to
            date after the commit: the fault says how to repair it.
    """
    check_names(owned)
    ref = branch or repo.branch
    _check_head(repo, ref, expected_head)
    head, changes = _compare(repo, expected_head, owned)
    if not changes:
        return expected_head
    places = _free_places(repo, ref, head, owned)
    words = _Words(message, _author(identity, when), identity, signing)
    commit = _store(repo, expected_head, changes, owned, words)
    moving(commit, False)
    _move(repo, ref, expected_head, commit, words)
    moving(commit, True)
    raise_faults(RepositoryError, [fault for place in places for fault in _bring_along(place, changes, commit)])
    return commit


def _free_places(
    repo: Repository, ref: str | None, head: Mapping[str, Entry], owned: Mapping[str, bytes | None]
) -> Sequence[Repository]:
    """The working trees on the branch, once nothing in them stands against the commit."""
    places = [place for place in _places(repo, ref) if has_index(place)]
    for place in places:
        check_unlocked(place)
        refuse_local_edits(place, head, owned)
    return places


def make_commit(
    repo: Repository,
    owned: Mapping[str, bytes | None],
    message: str,
    *,
    identity: Identity,
    when: datetime,
    parent: str,
    signing: Signing | None = None,
) -> str:
    """Make the commit that has `parent` and these files, and nothing else: no ref, index or working file is touched.

    Works in a bare repository and in clones without all history or all files; no file is fetched for it. What the
    working tree holds does not matter.

    Args:
        repo: the repository to store the commit in.
        owned: POSIX paths from the top, each with its bytes, or None to remove it. A file keeps its executable bit.
        message: the whole commit message.
        identity: author and committer.
        when: the time of both, aware of its zone; whole seconds count.
        parent: the full id of the commit that `owned` was made for.
        signing: the key to sign with; None signs nothing, whatever git's own settings say.

    Returns:
        The id of the new commit, or `parent` where no file differs from it: then nothing is written at all.

    Raises:
        RepositoryError: a path cannot be in the tree, the identity is not usable, or the commit cannot be signed.
    """
    check_names(owned)
    _, changes = _compare(repo, parent, owned)
    if not changes:
        return parent
    return _store(repo, parent, changes, owned, _Words(message, _author(identity, when), identity, signing))


def _compare(repo: Repository, parent: str, owned: Mapping[str, bytes | None]) -> tuple[Mapping[str, Entry], Changes]:
    """What a commit has around the owned paths, and what becomes of it; paths that do not fit are refused."""
    head = tree_entries(repo, parent, top_names(owned)) if owned else {}
    check_fit(_outermost(repo, parent, owned) | head, owned)
    return head, _changes(repo, head, owned)


def _check_head(repo: Repository, ref: str | None, expected: str) -> None:
    on = try_git(repo, "symbolic-ref", "-q", "HEAD").out.decode().strip() or None
    found = try_git(repo, "rev-parse", "-q", "--verify", f"{ref or 'HEAD'}^{{commit}}").out.decode().strip()
    if on != repo.branch or found != expected:
        raise _moved(ref, expected, found)


def _moved(ref: str | None, expected: str, found: str) -> ContentionError:
    now = f"it is at {found[:12]} now, and was at {expected[:12]}" if found else "it is gone"
    return ContentionError(
        Fault(f"{ref or 'HEAD'} moved", why=now, fix="run again: the plan is made anew on the new head")
    )


def _changes(repo: Repository, head: Mapping[str, Entry], owned: Mapping[str, bytes | None]) -> Changes:
    changes: dict[str, Entry | None] = {}
    for path, content in sorted(owned.items()):
        old = head.get(path)
        new = None if content is None else Entry(old.mode if old else FILE, blob_id(repo, content))
        if new != old:
            changes[path] = new
    return changes


def _outermost(repo: Repository, head: str, owned: Mapping[str, bytes | None]) -> dict[str, Entry]:
    """The entries of the top folder, without the folders that are listed in depth."""
    listed = top_names(owned)
    found = tree_entries(repo, head, (), deep=False)
    return {path: entry for path, entry in found.items() if entry.mode != FOLDER or (listed and path not in listed)}


def _places(repo: Repository, ref: str | None) -> Sequence[Repository]:
    return worktrees_on(repo, ref) if ref else (repo,)


def _author(identity: Identity, when: datetime) -> dict[str, str]:
    if when.utcoffset() is None:
        raise ValueError("the time of a commit needs a time zone")
    if not identity.name.strip() or not identity.email.strip():
        raise RepositoryError(
            Fault("a commit needs a name and an e-mail address", fix="set `git config user.name` and `user.email`")
        )
    date = f"@{int(when.timestamp())} {f'{when:%z}'[:5]}"
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", identity.name), ("EMAIL", identity.email), ("DATE", date))
    }


def _store(repo: Repository, head: str, changes: Changes, owned: Mapping[str, bytes | None], words: _Words) -> str:
    """Store the blobs, the trees and the commit; nothing refers to them yet."""
    blobs = {entry.blob: owned[path] or b"" for path, entry in changes.items() if entry}
    store_blobs(repo, blobs)
    with _private_index() as index:
        full = ("core.splitIndex=false",)
        git(repo, "read-tree", head, env=index, settings=full)
        put_entries(repo, changes, index, full)
        # Only what changed was stored by us: that the rest is there is not for this commit to prove.
        tree = git(repo, "write-tree", "--missing-ok", env=index, settings=full).decode().strip()
    text = words.message.encode("utf-8", "backslashreplace")
    if words.signing is None:
        return git(repo, "commit-tree", tree, "-p", head, "-F", "-", stdin=text, env=words.author).decode().strip()
    commit = signed_tree(repo, tree, head, text, words.author, words.signing)
    verify_signature(repo, commit, words.signing, words.identity)
    return commit


def _move(repo: Repository, ref: str | None, old: str, new: str, words: _Words) -> None:
    reason = " ".join(["gitops-ds:", *words.message.splitlines()[:1]])
    target = (ref,) if ref else ("--no-deref", "HEAD")
    answer = try_git(repo, "update-ref", "-m", reason, *target, new, old, env=words.author)
    if answer.status:
        _check_head(repo, ref, old)
        raise RepositoryError(failure(repo, "update-ref", answer))


def _bring_along(place: Repository, changes: Changes, commit: str) -> list[Fault]:
    """Update one working tree; the fault where that fails, since the commit stands and other trees are to follow it."""
    try:
        update(place, changes)
    except (RepositoryError, OSError) as error:
        why = error.faults[0].what if isinstance(error, RepositoryError) else str(error)
        return [
            Fault(
                f"commit {commit} is made, but the working tree was not brought up to date with it",
                Place(str(place.top)),
                why=f"{why}; `git status` shows the files of the commit as changed back, wholly or in part",
                fix=f"run again, or {_by_hand(place, changes)}",
            )
        ]
    return []


def _by_hand(place: Repository, changes: Changes) -> str:
    index = index_entries(place, top_names(changes))
    known = {path for path, entry in changes.items() if entry or path in index}
    left = sorted(path for path in changes.keys() - known if (place.top / path).exists())
    ways = [f"run {restore(place, known)}"] if known else []
    return " and ".join([*ways, *(f"delete {path}" for path in left)])


@contextmanager
def _private_index() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="gitops-ds-") as folder:
        yield {"GIT_INDEX_FILE": str(Path(folder, "index"))}
