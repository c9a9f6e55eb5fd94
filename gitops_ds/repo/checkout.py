"""The working tree of a branch that got a commit: bringing the owned paths, and they alone, up to date.

Owns the user's index and working files as far as the owned paths go: whatever else is staged, changed, untracked or in
conflict stays as it is. Owns no commit and no judgement of local edits (`edits.py`).

After a crash between the commit and the end of the update, the owned paths of the working tree still hold the parent's
content, wholly or in part, and `git status` shows the commit as if it were being taken back. `bring_up_to_date`
finishes the update; it may be called at any time and any number of times.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gitops_ds.repo.edits import Index, check_unlocked, is_skipped, refuse_links, staged, unlike
from gitops_ds.repo.entries import (
    EXECUTABLE,
    FILE,
    Changes,
    index_entries,
    parents,
    put_entries,
    top_names,
    tree_entries,
)
from gitops_ds.repo.gitcmd import Repository, git, try_git, without_filters, zero_ended
from gitops_ds.repo.selection import select

# Git distrusts an index entry whose file is as young as the index itself, and looks into the file again: a content
# filter of the user would then run over bytes that never went through it. Files that are older are trusted.
_AGE_NS = 2_000_000_000


def has_index(place: Repository) -> bool:
    """Whether anything is checked out: a clone made with `--no-checkout` has no index, and nothing to update."""
    return (place.git_dir / "index").exists()


def update(place: Repository, changes: Changes) -> None:
    """Bring paths of the index and the working tree to what `changes` says, whatever is there now.

    Working files get the bytes that git's own checkout gives them, with line endings and encodings as the attributes
    say, and no content filter run. A path outside a sparse checkout gets an index entry and no file.

    Raises:
        RepositoryError: git refused; the index may then be ahead of the working files.
        OSError: a file or a folder could not be removed or touched.
    """
    skipped = _outside(index_entries(place, top_names(changes)), changes)
    gone = sorted(path for path, entry in changes.items() if entry is None)
    kept = sorted(changes.keys() - set(gone))
    put_entries(place, changes)
    if skipped:
        git(place, "update-index", "--skip-worktree", "-z", "--stdin", stdin=zero_ended(sorted(skipped)))
    for path in gone:
        _remove(place.top, path)
    _write(place, [path for path in kept if path not in skipped])


def bring_up_to_date(repo: Repository, folders: Sequence[str]) -> tuple[str, ...]:
    """Finish an update that a crash cut short: paths under `folders` that lag behind HEAD by its last commit.

    A path lags where HEAD's commit changed it, and its index entry and working file each hold HEAD's content or that
    of HEAD's first parent, and not both HEAD's. Anything else is a local edit and is left as it is. (Somebody who takes
    the last commit back in the index, and has not committed that yet, makes the same picture: it is overwritten.)

    Args:
        repo: the repository, as opened now.
        folders: folder prefixes or paths that the tool owns, such as `rendered`.

    Returns:
        The paths that were brought up to date, sorted; empty where nothing lagged.

    Raises:
        RepositoryError: the index is locked, a link is in the way, or git refused.
    """
    parent = try_git(repo, "rev-parse", "-q", "--verify", f"{repo.head}^1")
    if parent.status or not has_index(repo):
        return ()
    prefixes = select(folders, 0, ()).folders
    new = tree_entries(repo, repo.head, prefixes)
    old = tree_entries(repo, parent.out.decode().strip(), prefixes)
    touched = {path: (old.get(path), new.get(path)) for path in old.keys() | new.keys()}
    plain = {
        path: pair
        for path, pair in touched.items()
        if pair[0] != pair[1] and all(entry is None or entry.mode in {FILE, EXECUTABLE} for entry in pair)
    }
    before = {path: pair[0] for path, pair in plain.items()}
    lagging = _lagging(repo, before, {path: pair[1] for path, pair in plain.items()})
    if lagging:
        check_unlocked(repo)
        refuse_links(repo, lagging)
        update(repo, lagging)
    return tuple(sorted(lagging))


def _lagging(repo: Repository, old: Changes, new: Changes) -> Changes:
    if not new:
        return {}
    index = index_entries(repo, top_names(new))
    files = [path for path in new if not is_skipped(index, path)]
    not_old = unlike(repo, {path: old[path] for path in files})
    not_new = unlike(repo, {path: new[path] for path in files})
    lagging = {}
    for path, entry in new.items():
        current = staged(index, path) == entry and path not in not_new
        edited = staged(index, path) not in {old[path], entry} or path in not_old & not_new
        if not current and not edited:
            lagging[path] = entry
    return lagging


def _outside(index: Index, changes: Changes) -> set[str]:
    """The changed paths that a sparse checkout leaves out: as their index entry says, or their folder's entries do."""
    if not any(entry.skipped for entry in index.values()):
        return set()
    left_out: dict[str, bool] = {}
    for path, entry in index.items():
        for folder in parents(path):
            left_out[folder] = left_out.get(folder, True) and entry.skipped
    outside = set()
    for path in (path for path, entry in changes.items() if entry is not None):
        around = next((left_out[folder] for folder in reversed(parents(path)) if folder in left_out), False)
        if is_skipped(index, path) if path in index else around:
            outside.add(path)
    return outside


def _remove(top: Path, path: str) -> None:
    """Remove a file and the folders that it leaves empty."""
    with suppress(FileNotFoundError, NotADirectoryError):
        (top / path).unlink()
    for folder in reversed(parents(path)):
        try:
            (top / folder).rmdir()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return


def _write(place: Repository, paths: Sequence[str]) -> None:
    if not paths:
        return
    for path in paths:
        _clear(place.top / path)
    unfiltered = without_filters(place)
    git(place, "checkout-index", "-f", "-z", "--stdin", stdin=zero_ended(paths), settings=unfiltered)
    for path in paths:
        file = place.top / path
        found = file.lstat()
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns - _AGE_NS), follow_symlinks=False)
    git(place, "update-index", "-q", "--unmerged", "--ignore-missing", "--refresh", settings=unfiltered)


def _clear(target: Path) -> None:
    """Remove a folder of empty folders that stands where a file goes: git would remove it with all that is in it."""
    if target.is_dir():
        for here, _, _ in os.walk(target, topdown=False):
            Path(here).rmdir()
