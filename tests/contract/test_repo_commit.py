"""Committing files, against real git repositories in every state that users leave theirs in."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from gitops_ds.errors import ContentionError, HeldError, RepositoryError
from gitops_ds.repo import (
    Identity,
    Repository,
    bring_up_to_date,
    checkout,
    commit,
    commit_files,
    gitcmd,
    open_repository,
)

ROBOT = Identity("gitops-ds", "robot@example.com")
WHEN = datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2)))

FIRST: dict[str, str] = {
    "README.md": "read me\n",
    "intent/a.yaml": "intent\n",
    "rendered/keep.yaml": "keep\n",
    "rendered/ns/change.yaml": "before\n",
    "rendered/ns/remove/gone.yaml": "gone\n",
    "rendered/run.sh": "#!/bin/sh\n",
    "src/code.py": "code\n",
    "src/old.py": "old name, same content\n",
}
OWNED: dict[str, bytes | None] = {
    "rendered/keep.yaml": b"keep\n",
    "rendered/new/deep/file.yaml": b"new\n",
    "rendered/ns/change.yaml": b"after\n",
    "rendered/ns/remove/gone.yaml": None,
    "rendered/run.sh": b"#!/bin/sh\necho\n",
}


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ann@example.com")


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    command = ["git", "-C", str(folder), "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape")


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def save(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD").strip()


def status(folder: Path) -> str:
    """What the user's own git says, with all of their settings."""
    done = subprocess.run(
        ["git", "-C", str(folder), "status", "--porcelain=v2", "-uall"], capture_output=True, check=True, text=True
    )
    return done.stdout


def tree(folder: Path, at: str = "HEAD") -> dict[str, bytes]:
    """Every path of a commit with its bytes, or with the commit that a submodule is at."""
    found = {}
    for record in git(folder, "ls-tree", "-r", "-z", "--full-tree", at).split("\0")[:-1]:
        head, name = record.split("\t", 1)
        _, kind, entry = head.split(" ")
        show = ["git", "-C", str(folder), "cat-file", kind, entry]
        shown = subprocess.run(show, capture_output=True, check=True) if kind == "blob" else None
        found[name] = shown.stdout if shown else entry.encode()
    return found


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    put(folder, FIRST)
    (folder / "rendered/run.sh").chmod(0o755)
    save(folder)
    return folder


def make(
    folder: Path | Repository,
    owned: Mapping[str, bytes | None] = OWNED,
    message: str = "Plan\n\nbody\n",
    branch: str | None = None,
) -> str:
    repo = folder if isinstance(folder, Repository) else open_repository(folder)
    return commit_files(repo, owned, message, identity=ROBOT, when=WHEN, expected_head=repo.head, branch=branch)


def committed(folder: Path, old: str, new: str, owned: Mapping[str, bytes | None] = OWNED) -> None:
    """Assert that `new` is `old` and the owned files, byte for byte, and nothing else."""
    meant: dict[str, bytes | None] = {**tree(folder, old), **owned}
    assert tree(folder, new) == {path: content for path, content in meant.items() if content is not None}
    assert git(folder, "rev-parse", f"{new}^").strip() == old
    git(folder, "fsck", "--strict")


def nothing_written(folder: Path, before: str, head: str) -> None:
    assert git(folder, "rev-parse", "HEAD").strip() == head
    assert status(folder) == before


# What users leave behind, each as a change of the working tree made before the commit.


def _clean(top: Path) -> None:
    pass


def _mess(top: Path) -> None:
    put(top, {"src/staged.py": "s", "src/code.py": "staged\n", "untracked.txt": "u", "rendered/notes.txt": "mine"})
    git(top, "add", "src")
    put(top, {"src/code.py": "unstaged\n", "later.txt": "announced", "rendered/later.yaml": "announced"})
    git(top, "add", "-N", "later.txt", "rendered/later.yaml")
    (top / "README.md").unlink()
    git(top, "mv", "src/old.py", "src/new.py")
    git(top, "rm", "-q", "--cached", "intent/a.yaml")


def _conflict(top: Path) -> None:
    git(top, "checkout", "-q", "-b", "side")
    put(top, {"intent/a.yaml": "side\n"})
    save(top)
    git(top, "checkout", "-q", "main")
    put(top, {"intent/a.yaml": "main\n"})
    save(top)
    git(top, "merge", "side", check=False)


def _crlf(top: Path) -> None:
    put(top, {".gitattributes": "* text eol=crlf\n"})
    save(top)
    shutil.rmtree(top / "rendered")
    git(top, "checkout", "--", "rendered")
    assert (top / "rendered/keep.yaml").read_bytes() == b"keep\r\n"


def _autocrlf(top: Path) -> None:
    git(top, "config", "core.autocrlf", "true")
    git(top, "config", "core.safecrlf", "true")


def _encoding(top: Path) -> None:
    put(top, {".gitattributes": "rendered/ns/** text working-tree-encoding=UTF-16LE\n"})
    (top / "rendered/ns/change.yaml").write_bytes("before\n".encode("utf-16-le"))
    (top / "rendered/ns/remove/gone.yaml").write_bytes("gone\n".encode("utf-16-le"))
    save(top)


def _filter(top: Path) -> None:
    put(top, {".gitattributes": "rendered/** filter=lfs diff=lfs merge=lfs -text\n"})
    save(top)
    for path in (top / "rendered").rglob("*"):
        os.utime(path, (1e9, 1e9))  # git looks into files that are as young as its index, and would run the filter
    git(top, "update-index", "--refresh")
    for part in ("clean", "smudge"):
        git(top, "config", f"filter.lfs.{part}", f"touch {top.parent}/ran; false")


def _required_filter(top: Path) -> None:
    _filter(top)
    git(top, "config", "filter.lfs.process", f"touch {top.parent}/ran; false")
    git(top, "config", "filter.lfs.required", "true")


def _hooks(top: Path) -> None:
    hooks = top.parent / "hooks"
    hooks.mkdir()
    for name in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-checkout",
    ):
        for folder in (hooks, top / ".git/hooks"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {top.parent}/ran\nexit 1\n")
            (folder / name).chmod(0o755)
    git(top, "config", "core.fsmonitor", f"touch {top.parent}/ran; false")


def _hooks_path(top: Path) -> None:
    _hooks(top)
    git(top, "config", "core.hooksPath", str(top.parent / "hooks"))
    git(top, "config", "--unset", "core.fsmonitor")


def _signing(top: Path) -> None:
    for key, value in {"commit.gpgsign": "true", "gpg.program": "false", "user.useConfigOnly": "true"}.items():
        git(top, "config", key, value)


def _settings(top: Path) -> None:
    for key, value in {
        "core.fileMode": "false",
        "core.ignoreCase": "true",
        "core.splitIndex": "true",
        "core.untrackedCache": "true",
        "i18n.commitEncoding": "latin1",
        "index.version": "4",
        "status.relativePaths": "true",
        "submodule.recurse": "true",
    }.items():
        git(top, "config", key, value)
    git(top, "update-index", "--split-index", "--untracked-cache")
    (top / "rendered/run.sh").chmod(0o644)


def _flags(top: Path) -> None:
    git(top, "update-index", "--skip-worktree", "src/code.py", "rendered/ns/change.yaml")
    git(top, "update-index", "--assume-unchanged", "src/old.py", "rendered/run.sh")
    put(top, {"src/code.py": "hidden", "src/old.py": "hidden", "rendered/ns/change.yaml": "hidden"})


def _submodule(top: Path) -> None:
    git(top.parent, "clone", "-q", str(top), "inner")
    git(
        top,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(top.parent / "inner"),
        "rendered/sub",
    )
    save(top)
    put(top, {"rendered/sub/README.md": "changed"})


def _sparse_without_rendered(top: Path) -> None:
    git(top, "sparse-checkout", "set", "--cone", "src")
    assert not (top / "rendered").exists()


def _sparse_index(top: Path) -> None:
    git(top, "sparse-checkout", "set", "--cone", "--sparse-index", "src")


def _sparse_with_rendered(top: Path) -> None:
    git(top, "sparse-checkout", "set", "--cone", "rendered")


def _detached(top: Path) -> None:
    git(top, "checkout", "-q", "--detach")


def _links_elsewhere(top: Path) -> None:
    (top / "src/link").symlink_to("/etc")
    save(top)
    (top / "src/other").symlink_to("../rendered")


def _in_a_rebase(top: Path) -> None:
    git(top, "checkout", "-q", "-b", "side")
    put(top, {"src/x.py": "x"})
    save(top)
    git(top, "-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")


STATES = [
    _clean,
    _mess,
    _conflict,
    _crlf,
    _autocrlf,
    _encoding,
    _filter,
    _required_filter,
    _hooks,
    _hooks_path,
    _signing,
    _settings,
    _flags,
    _submodule,
    _sparse_without_rendered,
    _sparse_index,
    _sparse_with_rendered,
    _detached,
    _links_elsewhere,
    _in_a_rebase,
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__.strip("_"))
def test_status_shows_what_it_showed_before(top: Path, state: Callable[[Path], None]) -> None:
    state(top)
    before, old = status(top), git(top, "rev-parse", "HEAD").strip()
    ran = top.parent / "ran"
    ran.unlink(missing_ok=True)
    new = make(top)
    assert not ran.exists()
    assert status(top) == before
    assert git(top, "rev-parse", "HEAD").strip() == new
    committed(top, old, new)
    ran.unlink(missing_ok=True)
    assert make(top) == new
    assert not ran.exists()
    assert bring_up_to_date(open_repository(top), ["rendered"]) == ()


def test_the_working_files(top: Path) -> None:
    make(top)
    assert (top / "rendered/ns/change.yaml").read_bytes() == b"after\n"
    assert (top / "rendered/new/deep/file.yaml").read_bytes() == b"new\n"
    assert not (top / "rendered/ns/remove").exists()
    assert os.access(top / "rendered/run.sh", os.X_OK)
    assert "100755 blob" in git(top, "ls-tree", "HEAD", "rendered/run.sh")
    assert not os.access(top / "rendered/new/deep/file.yaml", os.X_OK)


def test_working_files_are_what_a_checkout_writes(top: Path) -> None:
    _crlf(top)
    make(top)
    assert (top / "rendered/ns/change.yaml").read_bytes() == b"after\r\n"
    shown = {path: path.read_bytes() for path in (top / "rendered").rglob("*") if path.is_file()}
    shutil.rmtree(top / "rendered")
    git(top, "checkout", "--", "rendered")
    assert shown == {path: path.read_bytes() for path in (top / "rendered").rglob("*") if path.is_file()}


def test_a_sparse_checkout_stays_sparse(top: Path) -> None:
    _sparse_without_rendered(top)
    make(top)
    assert not (top / "rendered").exists()
    git(top, "sparse-checkout", "disable")
    assert (top / "rendered/new/deep/file.yaml").read_bytes() == b"new\n"
    assert status(top) == ""


def test_the_commit_itself(top: Path) -> None:
    new = make(top, message="Move app01 to cluster2 — ü\n\nwhy\n\nGitops-Ds-Plan: abc\n")
    raw = git(top, "cat-file", "commit", new)
    head, _, message = raw.partition("\n\n")
    assert message == "Move app01 to cluster2 — ü\n\nwhy\n\nGitops-Ds-Plan: abc\n"
    moment = f"{int(WHEN.timestamp())} +0200"
    assert head.splitlines()[2:] == [
        f"author gitops-ds <robot@example.com> {moment}",
        f"committer gitops-ds <robot@example.com> {moment}",
    ]
    assert git(top, "log", "-g", "-1", "--format=%gs %gn").strip() == "gitops-ds: Move app01 to cluster2 — ü gitops-ds"
    assert git(top, "reflog", "-1", "--format=%gs", "main").startswith("gitops-ds: Move")


def test_the_same_input_gives_the_same_commit(top: Path, tmp_path: Path) -> None:
    shutil.copytree(top, tmp_path / "copy", symlinks=True)
    assert make(top) == make(tmp_path / "copy", dict(reversed(OWNED.items())))


def test_all_bytes_survive(top: Path) -> None:
    content = b"\r\n\0\xff$Id$\r" + bytes(range(256))
    put(top, {".gitattributes": "* text=auto ident\n"})
    save(top)
    make(top, {"rendered/odd.yaml": content, "rendered/empty.yaml": b""})
    assert tree(top)["rendered/odd.yaml"] == content
    assert tree(top)["rendered/empty.yaml"] == b""
    assert status(top) == ""


def test_hostile_names(top: Path) -> None:
    names = [
        "-rf",
        "--",
        "a b",
        "line\nbreak",
        "tab\tstop",
        'quo"te',
        "back\\slash",
        "ü-日本",
        "*",
        ":(top)x",
        "it's",
        "$(x)",
    ]
    owned: dict[str, bytes | None] = {f"rendered/h/{name}/{name}": name.encode() for name in names}
    old = open_repository(top).head
    put(top, {".gitattributes": "* text eol=crlf\n"})
    old = save(top)
    new = make(top, {**owned, "-top": b"x"})
    committed(top, old, new, {**owned, "-top": b"x"})
    assert status(top) == ""
    make(top, dict.fromkeys(owned, None))
    assert not (top / "rendered/h").exists()
    assert status(top) == ""


def test_no_difference_no_commit(top: Path) -> None:
    before = (top / ".git/index").stat().st_mtime_ns
    head = open_repository(top).head
    same = {path: FIRST[path].encode() for path in FIRST if path.startswith("rendered/")}
    assert make(top, {**same, "rendered/never.yaml": None}) == head
    assert make(top, {}) == head
    assert (top / ".git/index").stat().st_mtime_ns == before


def test_a_file_becomes_a_folder_and_back(top: Path) -> None:
    old = open_repository(top).head
    first: dict[str, bytes | None] = {"rendered/keep.yaml": None, "rendered/keep.yaml/inner": b"i\n"}
    new = make(top, first)
    committed(top, old, new, first)
    assert status(top) == ""
    second: dict[str, bytes | None] = {"rendered/keep.yaml": b"k\n", "rendered/keep.yaml/inner": None}
    committed(top, new, make(top, second), second)
    assert status(top) == ""
    (top / "rendered/fresh/er").mkdir(parents=True)
    make(top, {"rendered/fresh": b"empty folders may go\n"})
    assert status(top) == ""


@pytest.mark.parametrize("known", [False, True])
def test_five_thousand_files(top: Path, monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    owned: dict[str, bytes | None] = {f"rendered/n{n % 50}/f{n}.yaml": b"name: %d\n" % n for n in range(5000)}
    if known:
        make(top, owned)
        owned = {path: b"changed " + content for path, content in owned.items() if content}
    old, started = open_repository(top).head, []
    execute = gitcmd._execute

    def counting(*arguments: Any) -> Any:
        started.append(arguments)
        return execute(*arguments)

    monkeypatch.setattr(gitcmd, "_execute", counting)
    new = make(top, owned)
    assert len(started) < 40, "the number of git processes does not grow with the number of files"
    assert git(top, "diff", "--name-only", old, new).count("\n") == 5000
    assert status(top) == ""


class TestBranches:
    def test_a_linked_worktree(self, top: Path, tmp_path: Path) -> None:
        git(top, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
        _mess(top)
        before, old = status(top), open_repository(top).head
        new = make(tmp_path / "linked")
        assert (status(top), open_repository(top).head) == (before, old)
        assert (status(tmp_path / "linked"), open_repository(tmp_path / "linked").head) == ("", new)

    def test_a_branch_that_is_checked_out_elsewhere(self, top: Path, tmp_path: Path) -> None:
        linked = tmp_path / "lin\nked"
        git(top, "worktree", "add", "-q", "-b", "side", str(linked))
        put(linked, {"src/code.py": "mine"})
        _mess(top)
        before, there = status(top), status(linked)
        new = make(top, branch="refs/heads/side")
        assert git(top, "rev-parse", "side").strip() == new
        assert (status(top), status(linked)) == (before, there)
        assert (linked / "rendered/ns/change.yaml").read_bytes() == b"after\n"
        assert (top / "rendered/ns/change.yaml").read_bytes() == b"before\n"

    def test_a_local_edit_where_it_is_checked_out_holds_too(self, top: Path, tmp_path: Path) -> None:
        git(top, "worktree", "add", "-q", "--force", str(tmp_path / "twin"), "main")
        put(tmp_path / "twin", {"rendered/keep.yaml": "edited"})
        with pytest.raises(HeldError, match=r"twin: local edits on generated files: rendered/keep\.yaml"):
            make(top)
        git(tmp_path / "twin", "checkout", "--", "rendered")
        make(top)
        assert (status(top), status(tmp_path / "twin")) == ("", "")

    def test_a_branch_that_nobody_has_checked_out(self, top: Path, tmp_path: Path) -> None:
        git(top, "branch", "side")
        git(top, "worktree", "add", "-q", str(tmp_path / "linked"), "side")
        shutil.rmtree(tmp_path / "linked")
        put(top, {"rendered/keep.yaml": "a local edit on main"})
        before = status(top)
        new = make(top, branch="refs/heads/side")
        assert status(top) == before
        committed(top, open_repository(top).head, new)

    def test_a_worktree_of_a_bare_repository(self, top: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--bare", str(top), "bare.git")
        git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "linked"), "main")
        new = make(tmp_path / "linked")
        assert git(tmp_path / "bare.git", "rev-parse", "main").strip() == new
        assert status(tmp_path / "linked") == ""

    def test_a_shallow_clone(self, top: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--depth", "1", top.as_uri(), "shallow")
        new = make(tmp_path / "shallow")
        assert status(tmp_path / "shallow") == ""
        assert tree(tmp_path / "shallow", new)["rendered/ns/change.yaml"] == b"after\n"

    def test_a_clone_without_a_checkout(self, top: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--no-checkout", str(top), "bot")
        new = make(tmp_path / "bot")
        committed(tmp_path / "bot", open_repository(top).head, new)
        assert [path.name for path in (tmp_path / "bot").iterdir()] == [".git"]

    def test_a_submodule(self, top: Path, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "outer")
        outer = tmp_path / "outer"
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(top), "in")
        new = make(outer / "in")
        assert status(outer / "in") == ""
        assert open_repository(outer / "in").head == new

    def test_sha256(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "--object-format=sha256", "work")
        put(tmp_path / "work", FIRST)
        old = save(tmp_path / "work")
        committed(tmp_path / "work", old, make(tmp_path / "work"))
        assert status(tmp_path / "work") == ""


class TestContention:
    def test_the_head_moved_before(self, top: Path) -> None:
        repo = open_repository(top)
        git(top, "commit", "-q", "--allow-empty", "-m", "other")
        head, before = open_repository(top).head, status(top)
        with pytest.raises(ContentionError, match=r"refs/heads/main moved; it is at"):
            make(repo)
        nothing_written(top, before, head)

    @pytest.mark.parametrize("detached", [False, True])
    def test_the_head_moves_at_the_last_moment(
        self, top: Path, monkeypatch: pytest.MonkeyPatch, detached: bool
    ) -> None:
        if detached:
            git(top, "checkout", "-q", "--detach")
        store = commit._store

        def racing(*arguments: object) -> str:
            git(top, "commit", "-q", "--allow-empty", "-m", "other")
            return store(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(commit, "_store", racing)
        with pytest.raises(ContentionError):
            make(top)
        assert git(top, "log", "-1", "--format=%s").strip() == "other"
        assert status(top) == ""

    def test_another_branch_was_checked_out(self, top: Path) -> None:
        repo = open_repository(top)
        git(top, "checkout", "-q", "-b", "other")
        with pytest.raises(ContentionError):
            make(repo)

    def test_a_branch_that_is_gone(self, top: Path) -> None:
        with pytest.raises(ContentionError, match="refs/heads/none moved; it is gone"):
            make(top, branch="refs/heads/none")

    def test_the_branch_is_locked(self, top: Path) -> None:
        (top / ".git/refs/heads/main.lock").touch()
        head, before = open_repository(top).head, status(top)
        with pytest.raises(RepositoryError, match=r"holds a lock.*main\.lock"):
            make(top)
        nothing_written(top, before, head)

    def test_the_index_is_locked(self, top: Path) -> None:
        (top / ".git/index.lock").touch()
        with pytest.raises(RepositoryError, match=r"index\.lock: another git process holds the index"):
            make(top)
        nothing_written(top, "", git(top, "rev-parse", "HEAD").strip())


def _edit_staged(top: Path) -> None:
    put(top, {"rendered/keep.yaml": "edited"})
    git(top, "add", "-A")


def _edit_staged_then_undone(top: Path) -> None:
    _edit_staged(top)
    put(top, {"rendered/keep.yaml": "keep\n"})


def _edit_hidden(top: Path) -> None:
    git(top, "update-index", "--assume-unchanged", "rendered/keep.yaml")
    put(top, {"rendered/keep.yaml": "edited"})


def _edit_announced(top: Path) -> None:
    put(top, {"rendered/new/deep/file.yaml": ""})
    git(top, "add", "-N", "rendered/new/deep/file.yaml")


def _edit_pipe(top: Path) -> None:
    (top / "rendered/keep.yaml").unlink()
    os.mkfifo(top / "rendered/keep.yaml")


EDITS: dict[str, Callable[[Path], object]] = {
    "file": lambda top: put(top, {"rendered/keep.yaml": "edited"}),
    "staged": _edit_staged,
    "staged then undone": _edit_staged_then_undone,
    "deleted": lambda top: (top / "rendered/keep.yaml").unlink(),
    "deleted what is removed": lambda top: (top / "rendered/ns/remove/gone.yaml").unlink(),
    "removed from the index": lambda top: git(top, "rm", "-q", "--cached", "rendered/keep.yaml"),
    "removed wholly": lambda top: git(top, "rm", "-q", "rendered/keep.yaml"),
    "renamed": lambda top: git(top, "mv", "rendered/keep.yaml", "src/kept.yaml"),
    "mode": lambda top: (top / "rendered/keep.yaml").chmod(0o755),
    "hidden by assume-unchanged": _edit_hidden,
    "untracked": lambda top: put(top, {"rendered/new/deep/file.yaml": "mine"}),
    "ignored": lambda top: put(top, {".gitignore": "file.yaml", "rendered/new/deep/file.yaml": "mine"}),
    "announced": _edit_announced,
    "a file for a folder": lambda top: put(top, {"rendered/new": "mine"}),
    "a folder for a file": lambda top: put(top, {"rendered/new/deep/file.yaml/mine.txt": "mine"}),
    "a pipe": _edit_pipe,
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_local_edit_holds(top: Path, edit: Callable[[Path], object]) -> None:
    edit(top)
    before, head = status(top), open_repository(top).head
    with pytest.raises(HeldError, match="local edits on generated files: rendered/") as error:
        make(top)
    assert error.value.exit_code == 3
    nothing_written(top, before, head)


def test_many_local_edits_are_counted(top: Path) -> None:
    owned: dict[str, bytes | None] = {f"rendered/f{n:02}": b"x" for n in range(13)}
    make(top, owned)
    put(top, dict.fromkeys(owned, "edited"))
    with pytest.raises(HeldError, match=r"rendered/f00, .* rendered/f09 and 3 more; .*restore --source=HEAD"):
        make(top, {**owned, "rendered/f00": b"y"})


def test_a_file_that_is_only_touched_or_has_other_line_ends_is_no_edit(top: Path) -> None:
    _crlf(top)
    os.utime(top / "rendered/keep.yaml", (1, 1))
    (top / "rendered/ns/change.yaml").write_bytes(b"before\n")
    make(top)
    assert status(top) == ""


@pytest.mark.parametrize("link", ["rendered", "rendered/ns", "rendered/keep.yaml", "rendered/new"])
def test_a_link_in_the_working_tree(top: Path, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    if (top / link).exists():
        (top / link).rename(outside)
    else:
        outside.mkdir()
    (top / link).symlink_to(outside)
    before, head = status(top), open_repository(top).head
    with pytest.raises(RepositoryError, match=f"{link}: a symbolic link to {outside}"):
        make(top)
    nothing_written(top, before, head)


class TestFit:
    def expect_refused(self, top: Path, owned: Mapping[str, bytes | None], match: str) -> None:
        before, head = status(top), open_repository(top).head
        with pytest.raises(RepositoryError, match=match):
            make(top, owned)
        nothing_written(top, before, head)

    def test_names_that_git_cannot_hold(self, top: Path) -> None:
        for name in ("", "/etc/x", "a//b", "a/", "../x", "a/./b", ".git/config", "a/.GIT/hooks", "a\0b"):
            self.expect_refused(top, {name: b""}, "git cannot hold a file of this name")

    def test_files_and_folders(self, top: Path) -> None:
        self.expect_refused(top, {"README.md/x": b""}, r"README\.md/x: the file has no folder.*README\.md is a file")
        self.expect_refused(top, {"rendered": b""}, "rendered: the path is a folder")
        self.expect_refused(top, {"rendered/ns": b""}, "rendered/ns: the path is a folder")
        self.expect_refused(top, {"a": b"", "a/b": b""}, "a/b: the file has no folder")

    def test_links_and_submodules(self, top: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", str(top), "inner")
        git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "inner"), "sub")
        (top / "link").symlink_to("rendered")
        save(top)
        self.expect_refused(top, {"sub/x": b""}, "sub/x: .*sub is a submodule")
        self.expect_refused(top, {"link/x": b""}, "link/x: .*link is a symbolic link")
        self.expect_refused(top, {"link": None}, "link: the path is a symbolic link")
        self.expect_refused(top, {"sub": b""}, "sub: the path is a submodule")

    def test_case(self, top: Path) -> None:
        self.expect_refused(
            top, {"rendered/KEEP.yaml": b""}, r"rendered/KEEP\.yaml: the path differs from rendered/keep\.yaml"
        )
        self.expect_refused(top, {"Rendered/x": b""}, "Rendered: the path differs from rendered by case only")
        self.expect_refused(top, {"x/a": b"", "X/b": b""}, "by case only")
        make(top, {"rendered/keep.yaml": None, "rendered/KEEP.yaml": b"renamed\n"})
        assert status(top) == ""

    def test_twins_of_old_are_left_alone(self, top: Path) -> None:
        put(top, {"rendered/KEEP.yaml": "twin"})
        save(top)
        make(top)
        assert status(top) == ""

    def test_identity_and_time(self, top: Path) -> None:
        repo = open_repository(top)
        with pytest.raises(RepositoryError, match=r"git config user\.name"):
            commit_files(repo, OWNED, "x", identity=Identity("", "x"), when=WHEN, expected_head=repo.head)
        with pytest.raises(ValueError, match="time zone"):
            commit_files(repo, OWNED, "x", identity=ROBOT, when=datetime(2024, 1, 1), expected_head=repo.head)


class TestCrash:
    """A crash at any step leaves the old or the new commit, and `bring_up_to_date` ends the update."""

    @pytest.mark.parametrize("step", ["update", "_remove", "_write", "without_filters", "os.utime"])
    @pytest.mark.parametrize("state", [_clean, _mess, _crlf, _filter], ids=lambda state: state.__name__.strip("_"))
    def test_after_the_branch_moved(
        self, top: Path, monkeypatch: pytest.MonkeyPatch, step: str, state: Callable[[Path], None]
    ) -> None:
        state(top)
        before, old = status(top), open_repository(top).head

        def crash(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(
                "gitops_ds.repo.commit.update" if step == "update" else f"gitops_ds.repo.checkout.{step}", crash
            )
            with pytest.raises(KeyboardInterrupt):
                make(top)
        repo = open_repository(top)
        committed(top, old, repo.head)
        lagging = bring_up_to_date(repo, ["rendered"])
        assert set(lagging) <= OWNED.keys() - {"rendered/keep.yaml"}
        assert status(top) == before
        assert bring_up_to_date(repo, ["rendered"]) == ()
        assert make(top) == repo.head

    def test_before_the_branch_moved(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        head = open_repository(top).head

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(commit, "_move", crash)
            with pytest.raises(KeyboardInterrupt):
                make(top)
        nothing_written(top, "", head)
        committed(top, head, make(top))

    def test_a_local_edit_is_not_taken_for_lag(self, top: Path) -> None:
        make(top)
        put(top, {"rendered/ns/change.yaml": "edited", "rendered/ns/remove/gone.yaml": "mine"})
        before = status(top)
        assert bring_up_to_date(open_repository(top), ["rendered"]) == ()
        assert status(top) == before

    def test_the_first_commit_has_nothing_to_lag_behind(self, top: Path) -> None:
        (top / "rendered/keep.yaml").unlink()
        assert bring_up_to_date(open_repository(top), ["rendered"]) == ()

    def test_a_failing_update_says_what_state_things_are_in(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(checkout, "_write", fail)
            with pytest.raises(RepositoryError) as error:
                make(top)
        said = str(error.value)
        assert f"commit {open_repository(top).head} is made, but the working tree was not brought up to date" in said
        assert "No space left on device" in said
        command = said.split("`")[-2]
        subprocess.run(command, shell=True, check=True)
        assert status(top) == ""

    def test_the_index_gets_locked_after_the_branch_moved(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        move = commit._move

        def locking(*arguments: object) -> None:
            move(*arguments)  # type: ignore[arg-type]
            (top / ".git/index.lock").touch()

        with monkeypatch.context() as patch:
            patch.setattr(commit, "_move", locking)
            with pytest.raises(RepositoryError, match="another git process holds the index"):
                make(top)
        with pytest.raises(RepositoryError, match="another git process holds the index"):
            bring_up_to_date(open_repository(top), ["rendered"])
        (top / ".git/index.lock").unlink()
        assert len(bring_up_to_date(open_repository(top), ["rendered"])) == 4
        assert status(top) == ""
