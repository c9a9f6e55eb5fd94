"""Questions to history, against real repositories: merges, removals, shallow and blobless clones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gitops_ds.errors import RepositoryError
from gitops_ds.repo import (
    Identity,
    LogEntry,
    commit_info,
    commit_trailers,
    entry_id,
    entry_ids,
    history,
    is_ancestor,
    make_commit,
    merge_base,
    open_repository,
    path_history,
)
from tests.contract.test_remote_push import _closed, bare, clone, top
from tests.remotes import git, put, save

__all__ = ["_closed", "bare", "top"]  # fixtures that are shared

WHEN = datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2)))


def blob(top: Path, name: str) -> str:
    return git(top, "rev-parse", name)


def test_a_commit_as_it_was_made(top: Path) -> None:
    repo = open_repository(top)
    message = "Move ü\n\nwhy\n\nGitops-Ds-Plan: abc\nGitops-Ds-Version: 1\n  folded\nGitops-Ds-Version: 2: b\n"
    who = Identity("Rob Ot", "r@example.com")
    commit = make_commit(repo, {"a": b"a"}, message, identity=who, when=WHEN, parent=repo.head)
    found = commit_info(repo, commit)
    assert found == LogEntry(commit, (repo.head,), "Rob Ot", "r@example.com", WHEN, message, False)
    assert found.time.utcoffset() == timedelta(hours=2)
    assert commit_trailers(repo, commit) == {"Gitops-Ds-Plan": "abc", "Gitops-Ds-Version": "2: b"}
    assert commit_trailers(repo, "HEAD") == {}
    for name in ("none", "--all", "0" * 40):
        with pytest.raises(RepositoryError, match="no such commit"):
            commit_info(repo, name)


def test_the_log_of_paths(top: Path) -> None:
    base = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-q", "-b", "side")
    put(top, {"rendered/ns/a.yaml": "side\n"})
    side = save(top, "side\n\nbody")
    git(top, "checkout", "-q", "main")
    put(top, {"unrelated": "x"})
    save(top)
    git(top, "merge", "-q", "--no-ff", "-m", "merge", "side")
    merge = git(top, "rev-parse", "HEAD")
    git(top, "rm", "-q", "rendered/ns/a.yaml")
    gone = save(top, "gone")
    put(top, {"rendered/ns/a.yaml": "before\n"})
    back = save(top, "back")
    git(top, "config", "log.follow", "true")
    git(top, "config", "log.showSignature", "true")
    repo = open_repository(top)
    first = git(top, "rev-list", "--max-parents=0", "HEAD")
    assert [one.commit for one in history(repo, "HEAD", ["rendered"], 10)] == [back, gone, merge, first]
    assert [one.commit for one in history(repo, "HEAD", ["rendered/ns/a.yaml"], 2)] == [back, gone]
    assert [one.commit for one in history(repo, merge, ["rendered", "none"], 1)] == [merge]
    assert history(repo, "HEAD", ["none", "*"], 9) == ()
    assert len(history(repo, "HEAD", [], 99)) == 7
    before, changed = blob(top, "HEAD:rendered/ns/a.yaml"), blob(top, f"{side}:rendered/ns/a.yaml")
    assert path_history(repo, "HEAD", "rendered/ns/a.yaml", 10) == (
        (back, before),
        (gone, None),
        (merge, changed),
        (first, before),
    )
    assert merge_base(repo, side, f"{merge}^1") == base
    assert is_ancestor(repo, side, "main")
    assert not is_ancestor(repo, "main", side)
    assert is_ancestor(repo, "main", "main")
    git(top, "checkout", "-q", "--orphan", "alone")
    alone = save(top, "alone")
    assert merge_base(repo, alone, base) is None


def test_what_a_commit_holds(top: Path) -> None:
    repo = open_repository(top)
    assert entry_id(repo, "HEAD", "rendered/ns/a.yaml") == blob(top, "HEAD:rendered/ns/a.yaml")
    assert entry_id(repo, "HEAD", "rendered") == blob(top, "HEAD:rendered")
    assert entry_id(repo, "HEAD", "rendered/none") is None
    assert entry_id(repo, "HEAD", "rend*") is None
    assert entry_ids(repo, "HEAD", ["src", "rendered"]).keys() == {
        "rendered/ns/a.yaml",
        "src/0.py",
        "src/1.py",
        "src/2.py",
    }
    assert len(entry_ids(repo, "HEAD", ["."])) == 5


def test_a_shallow_clone_says_so(bare: Path) -> None:
    repo = open_repository(clone(bare, "shallow", "--depth", "2"))
    found = history(repo, "HEAD", [], 9)
    assert [(one.shallow, bool(one.parents)) for one in found] == [(False, True), (True, False)]
    assert [one.shallow for one in history(repo, "HEAD", ["rendered"], 9)] == [True]


def test_no_file_is_fetched(bare: Path) -> None:
    top = clone(bare, "blobless", "--filter=blob:none", "--no-checkout")
    repo = open_repository(top)
    git(top, "remote", "set-url", "origin", "/nowhere")
    assert len(history(repo, "HEAD", ["src"], 9)) == 3
    assert len(path_history(repo, "HEAD", "README.md", 9)) == 3
    assert len(entry_ids(repo, "HEAD", ["src"])) == 3
    assert entry_id(repo, "HEAD~1", "src/0.py")
    assert commit_info(repo, "HEAD").time.astimezone(UTC)
