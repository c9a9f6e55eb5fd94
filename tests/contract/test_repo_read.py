"""Opening repositories and reading files, against real git repositories."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from gitops_ds import repo as door
from gitops_ds.errors import InputError, RepositoryError
from gitops_ds.repo import Identity, Repository, open_repository

LIMIT = 1 << 20
HOSTILE = [
    "-rf.yaml",
    "a b.yaml",
    "line\nbreak.yaml",
    "tab\t.yaml",
    'quo"te.yaml',
    "back\\slash.yaml",
    "ü-日本.yaml",
    "*.yaml",
]


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


def git(folder: Path, *arguments: str, **env: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, check=True, env={**os.environ, **env}
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def put(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def save(folder: Path, message: str = "x") -> str:
    git(folder, "add", "-A")
    git(folder, "-c", "commit.gpgsign=false", "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ann")
    git(folder, "config", "user.email", "ann@example.com")
    put(folder, {"intent/a.yaml": "a", "intent/deep/er/b.yml": "b", "intent/README.md": "r", "other/c.yaml": "c"})
    save(folder)
    return folder


def why(error: pytest.ExceptionInfo[BaseException]) -> str:
    return str(error.value)


class TestOpen:
    def test_a_plain_repository(self, top: Path) -> None:
        found = open_repository(top)
        head = git(top, "rev-parse", "HEAD").strip()
        assert found == Repository(top, top / ".git", "refs/heads/main", head)

    def test_from_a_folder_below(self, top: Path) -> None:
        assert open_repository(top / "intent/deep") == open_repository(top)

    def test_detached(self, top: Path) -> None:
        git(top, "checkout", "-q", "--detach")
        assert open_repository(top).branch is None

    def test_a_linked_worktree(self, top: Path, tmp_path: Path) -> None:
        git(top, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
        found = open_repository(tmp_path / "linked/intent")
        assert (found.top, found.branch) == (tmp_path / "linked", "refs/heads/side")
        assert found.git_dir == top / ".git/worktrees/linked"
        assert door.read_commit(found, "HEAD", ["other"], LIMIT) == {"other/c.yaml": b"c"}

    def test_a_worktree_of_a_bare_repository(self, top: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--bare", str(top), "bare.git")
        git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "linked"), "main")
        found = open_repository(tmp_path / "linked")
        assert found.branch == "refs/heads/main"
        assert door.dirty_paths(found, ["."]) == ()

    def test_a_shallow_clone(self, top: Path, tmp_path: Path) -> None:
        put(top, {"intent/a.yaml": "second"})
        save(top)
        git(tmp_path, "clone", "-q", "--depth", "1", top.as_uri(), "shallow")
        found = open_repository(tmp_path / "shallow")
        assert door.read_commit(found, found.head, ["intent"], LIMIT, [".yaml"]) == {"intent/a.yaml": b"second"}
        with pytest.raises(RepositoryError, match=r"no such commit: HEAD~1.*--unshallow"):
            door.resolve_commit(found, "HEAD~1")

    def test_a_top_folder_with_a_line_break(self, top: Path) -> None:
        moved = top.rename(top.with_name("we\nird -x"))
        assert open_repository(moved).top == moved

    def test_another_head_folder_in_the_environment_is_not_looked_at(
        self, top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
            monkeypatch.setenv(name, str(tmp_path / "nowhere"))
        found = open_repository(top)
        assert found.top == top
        assert list(door.read_index(found, ["other"], LIMIT)) == ["other/c.yaml"]

    def test_no_such_folder(self, tmp_path: Path) -> None:
        with pytest.raises(RepositoryError, match="no such folder"):
            open_repository(tmp_path / "missing")

    def test_a_file(self, top: Path) -> None:
        with pytest.raises(RepositoryError, match="not a folder"):
            open_repository(top / "intent/a.yaml")

    def test_not_in_a_repository(self, tmp_path: Path) -> None:
        with pytest.raises(RepositoryError, match=r"not inside a git repository.*git init"):
            open_repository(tmp_path)

    def test_a_bare_repository(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "--bare", "bare.git")
        with pytest.raises(RepositoryError, match="bare repository"):
            open_repository(tmp_path / "bare.git")

    def test_inside_the_git_folder(self, top: Path) -> None:
        with pytest.raises(RepositoryError, match=r"inside of a \.git folder"):
            open_repository(top / ".git/refs")

    def test_no_commit_yet(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "fresh")
        with pytest.raises(RepositoryError, match="no commit yet"):
            open_repository(tmp_path / "fresh")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_somebody_elses_repository(self, top: Path) -> None:
        for path in (top, top / ".git"):
            os.chown(path, 12345, 12345)
        with pytest.raises(RepositoryError, match=r"does not trust.*safe\.directory"):
            open_repository(top)

    @pytest.mark.parametrize("dirty", [False, True])
    def test_git_is_missing(self, top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dirty: bool) -> None:
        programs = tmp_path / "bin"
        programs.mkdir()
        env = shutil.which("env")
        assert env
        (programs / "env").symlink_to(env)
        monkeypatch.setenv("PATH", str(programs))
        if dirty:
            monkeypatch.setenv("GIT_DIR", "x")
        with pytest.raises(RepositoryError, match="git cannot be run"):
            open_repository(top)

    def test_git_is_too_old(self, top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "git").write_text("#!/bin/sh\necho git version 1.8.3.1\n")
        (programs / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        with pytest.raises(RepositoryError, match=r"too old: git version 1\.8\.3\.1; install git 2\.30"):
            open_repository(top)

    def test_identity(self, top: Path) -> None:
        assert door.configured_identity(open_repository(top)) == Identity("Ann", "ann@example.com")
        git(top, "config", "--unset", "user.email")
        assert door.configured_identity(open_repository(top)) is None


class TestCommit:
    def test_only_the_folders_and_endings_asked_for(self, top: Path) -> None:
        found = door.read_commit(open_repository(top), "HEAD", ["intent/", "missing"], LIMIT, [".yaml", ".yml"])
        assert list(found.items()) == [("intent/a.yaml", b"a"), ("intent/deep/er/b.yml", b"b")]

    def test_an_older_commit_and_the_whole_tree(self, top: Path) -> None:
        old = open_repository(top).head
        put(top, {"intent/a.yaml": "new"})
        save(top)
        assert door.read_commit(open_repository(top), old, ["."], LIMIT)["intent/a.yaml"] == b"a"

    def test_hostile_names(self, top: Path) -> None:
        put(top, {f"intent/h/{name}": name for name in HOSTILE})
        save(top)
        repo = open_repository(top)
        meant = {f"intent/h/{name}": name.encode() for name in sorted(HOSTILE)}
        assert list(door.read_commit(repo, "HEAD", ["intent/h"], LIMIT).items()) == list(meant.items())
        assert door.read_index(repo, ["intent/h"], LIMIT) == meant
        assert door.read_worktree(top, ["intent/h"], LIMIT) == meant

    def test_a_folder_is_no_pattern_and_no_option(self, top: Path) -> None:
        repo = open_repository(top)
        for folder in ("int*", "--help", ":(top)intent", "inten"):
            assert door.read_commit(repo, "HEAD", [folder], LIMIT) == {}
            assert door.read_index(repo, [folder], LIMIT) == {}
            assert door.dirty_paths(repo, [folder]) == ()

    def test_binary_and_empty_content_comes_as_it_is(self, top: Path) -> None:
        (top / "intent/b.yaml").write_bytes(bytes(range(256)) * 3 + b"\n\n")
        (top / "intent/e.yaml").write_bytes(b"")
        save(top)
        found = door.read_commit(open_repository(top), "HEAD", ["intent"], LIMIT, [".yaml"])
        assert found["intent/b.yaml"] == bytes(range(256)) * 3 + b"\n\n"
        assert found["intent/e.yaml"] == b""

    def test_all_faults_at_once(self, top: Path) -> None:
        put(top, {"intent/big1.yaml": "x" * 11, "intent/big2.yaml": "x" * 12, "intent/big.txt": "x" * 99})
        (top / "intent/link.yaml").symlink_to("a.yaml")
        (top / "intent/out").symlink_to("/etc")
        (top / os.fsencode("intent").decode() / os.fsdecode(b"\xff.yaml")).write_text("x")
        save(top)
        with pytest.raises(InputError) as error:
            door.read_commit(open_repository(top), "HEAD", ["intent"], 10, [".yaml"])
        assert [(fault.place and fault.place.file) for fault in error.value.faults] == [
            "intent/\\xff.yaml",
            "intent/big1.yaml",
            "intent/big2.yaml",
            "intent/link.yaml",
            "intent/out",
        ]
        assert "11 bytes" in why(error)
        assert "a symbolic link to /etc" in why(error)

    @pytest.mark.parametrize("folder", ["sub", "sub/below"])
    def test_a_folder_behind_a_link(self, top: Path, folder: str) -> None:
        (top / "sub").symlink_to("intent")
        save(top)
        repo = open_repository(top)
        with pytest.raises(InputError, match="sub: a symbolic link to intent"):
            door.read_commit(repo, "HEAD", [folder], LIMIT)
        with pytest.raises(InputError, match="sub: a symbolic link to intent"):
            door.read_index(repo, [folder], LIMIT)

    def test_a_file_in_the_place_of_a_folder(self, top: Path) -> None:
        for folder in ("other/c.yaml", "other/c.yaml/d"):
            with pytest.raises(InputError, match=r"other/c\.yaml: a file stands"):
                door.read_commit(open_repository(top), "HEAD", [folder], LIMIT)
        assert list(door.read_commit(open_repository(top), "HEAD", ["other", "intent/deep/er"], LIMIT)) == [
            "intent/deep/er/b.yml",
            "other/c.yaml",
        ]

    def test_submodules_are_passed_by(self, top: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", str(top), "inner")
        git(
            top,
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            str(tmp_path / "inner"),
            "intent/sub",
        )
        save(top)
        repo, meant = open_repository(top), ["intent/a.yaml"]
        assert list(door.read_commit(repo, "HEAD", ["intent"], LIMIT, [".yaml"])) == meant
        assert list(door.read_index(repo, ["intent"], LIMIT, [".yaml"])) == meant
        assert list(door.read_worktree(top, ["intent"], LIMIT, [".yaml"])) == meant

    def test_line_endings_of_the_working_tree_are_not_applied(self, top: Path) -> None:
        put(top, {".gitattributes": "* text eol=crlf\n", "intent/a.yaml": "a\r\n"})
        save(top)
        assert door.read_commit(open_repository(top), "HEAD", ["intent"], LIMIT)["intent/a.yaml"] == b"a\n"

    def test_no_such_commit(self, top: Path) -> None:
        for name in ("nope", "--help", "0" * 40):
            with pytest.raises(RepositoryError, match="no such commit"):
                door.read_commit(open_repository(top), name, ["intent"], LIMIT)

    def test_a_missing_object(self, top: Path) -> None:
        blob = git(top, "rev-parse", "HEAD:intent/a.yaml").strip()
        (top / ".git/objects" / blob[:2] / blob[2:]).unlink()
        with pytest.raises(RepositoryError, match=f"object {blob} is missing.*fsck"):
            door.read_commit(open_repository(top), "HEAD", ["intent"], LIMIT)

    def test_a_folder_outside_is_a_mistake_of_the_caller(self, top: Path) -> None:
        for folder in ("/etc", "../x"):
            with pytest.raises(ValueError, match="not a folder below"):
                door.read_commit(open_repository(top), "HEAD", [folder], LIMIT)


class TestIndex:
    def test_what_is_staged(self, top: Path) -> None:
        put(top, {"intent/a.yaml": "staged", "intent/new.yaml": "new", "intent/empty.yaml": ""})
        git(top, "add", "-A")
        put(top, {"intent/a.yaml": "not staged", "intent/announced.yaml": "later"})
        git(top, "add", "-N", "intent/announced.yaml")
        found = door.read_index(open_repository(top), ["intent"], LIMIT, [".yaml"])
        assert found == {"intent/a.yaml": b"staged", "intent/empty.yaml": b"", "intent/new.yaml": b"new"}

    def test_a_conflict(self, top: Path) -> None:
        git(top, "checkout", "-q", "-b", "side")
        put(top, {"intent/a.yaml": "side"})
        save(top)
        git(top, "checkout", "-q", "main")
        put(top, {"intent/a.yaml": "main"})
        save(top)
        subprocess.run(["git", "-C", str(top), "merge", "-q", "side"], check=False, capture_output=True)
        with pytest.raises(InputError, match=r"intent/a\.yaml: the file is in conflict"):
            door.read_index(open_repository(top), ["intent"], LIMIT, [".yaml"])

    def test_another_index(self, top: Path, tmp_path: Path) -> None:
        shutil.copy(top / ".git/index", tmp_path / "index")
        put(top, {"intent/a.yaml": "in the other"})
        git(top, "add", "-A", GIT_INDEX_FILE=str(tmp_path / "index"))
        repo = open_repository(top)
        assert door.read_index(repo, ["intent"], LIMIT)["intent/a.yaml"] == b"a"
        assert door.read_index(repo, ["intent"], LIMIT, (), tmp_path / "index")["intent/a.yaml"] == b"in the other"


class TestWorktree:
    def test_without_git(self, tmp_path: Path) -> None:
        put(tmp_path, {"intent/b.yaml": "b", "intent/a/c.json": "c", "intent/d.txt": "d", "e.yaml": "e"})
        assert list(door.read_worktree(tmp_path, ["intent", "none"], LIMIT, [".yaml", ".json"]).items()) == [
            ("intent/a/c.json", b"c"),
            ("intent/b.yaml", b"b"),
        ]
        assert "e.yaml" in door.read_worktree(tmp_path, ["."], LIMIT)

    def test_links(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        put(root, {"shared/s.yaml": "s", "intent/a.yaml": "a", "rendered/r.yaml": "r", ".git/config": "secret"})
        put(tmp_path, {"outside/o.yaml": "o"})
        (root / "intent/shared").symlink_to("../shared")
        (root / "intent/file.yaml").symlink_to(root / "shared/s.yaml")
        assert list(door.read_worktree(root, ["intent"], LIMIT)) == [
            "intent/a.yaml",
            "intent/file.yaml",
            "intent/shared/s.yaml",
        ]
        for name, target in {
            "dangling": "nothing",
            "git.yaml": "../.git/config",
            "out": "../../outside",
            "out.md": "/etc/hostname",
            "self": "self",
            "up": "..",
        }.items():
            (root / "intent" / name).symlink_to(target)
        (root / "rendered/in.yaml").symlink_to("r.yaml")
        with pytest.raises(InputError) as error:
            door.read_worktree(root, ["intent", "rendered"], LIMIT, [".yaml"])
        said = [f"{fault.place}: {fault.what}; {fault.why}" for fault in error.value.faults]
        assert said == [
            "intent/dangling: a symbolic link to nothing; it points to nothing",
            "intent/git.yaml: a symbolic link to ../.git/config; it leaves the files of the repository",
            "intent/out: a symbolic link to ../../outside; it leaves the files of the repository",
            "intent/out.md: a symbolic link to /etc/hostname; it leaves the files of the repository",
            "intent/self: a symbolic link to self; it points to nothing",
            "intent/up: a symbolic link that leads round in a circle; ",
            "rendered/in.yaml: a symbolic link to r.yaml; this folder is written by machine and holds plain files only",
        ]

    def test_the_folder_itself_is_a_link(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        put(root, {"real/a.yaml": "a"})
        (root / "intent").symlink_to("/etc")
        with pytest.raises(InputError, match="intent: a symbolic link to /etc; it leaves"):
            door.read_worktree(root, ["intent"], LIMIT)
        (root / "intent").unlink()
        (root / "intent").symlink_to("real")
        assert door.read_worktree(root, ["intent"], LIMIT) == {"intent/a.yaml": b"a"}
        (root / "rendered").symlink_to("real")
        with pytest.raises(InputError, match="rendered: a symbolic link to real"):
            door.read_worktree(root, ["rendered"], LIMIT)

    def test_what_is_no_file_is_never_opened(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put(tmp_path, {"intent/a.yaml": "a", "intent/nested/.git/x.yaml": "no", "intent/nested/n.yaml": "no"})
        os.mkfifo(tmp_path / "intent/pipe.yaml")
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("intent/socket.yaml")
            assert door.read_worktree(tmp_path, ["intent"], LIMIT) == {"intent/a.yaml": b"a"}

    def test_sizes_and_permissions(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put(
            tmp_path, {"intent/a.yaml": "a", "intent/big.yaml": "x" * 11, "intent/locked.yaml": "l", "intent/odd/b": ""}
        )
        real_open, real_iterdir = os.open, Path.iterdir

        def refusing_open(path: Path, flags: int) -> int:
            assert path.name != "big.yaml" or flags
            if path.name == "locked.yaml":
                raise PermissionError(13, "Permission denied")
            return real_open(path, flags)

        def refusing_iterdir(path: Path) -> object:
            if path.name == "odd":
                raise PermissionError(13, "Permission denied")
            return real_iterdir(path)

        monkeypatch.setattr(os, "open", refusing_open)
        monkeypatch.setattr(Path, "iterdir", refusing_iterdir)
        with pytest.raises(InputError) as error:
            door.read_worktree(tmp_path, ["intent"], 10)
        assert [str(fault.place) for fault in error.value.faults] == [
            "intent/big.yaml",
            "intent/locked.yaml",
            "intent/odd",
        ]
        assert "cannot be read: Permission denied" in why(error)

    def test_a_missing_top(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no such folder"):
            door.read_worktree(tmp_path / "none", ["intent"], LIMIT)


def test_dirty_paths(top: Path) -> None:
    put(top, {"intent/gone.yaml": "", "intent/old.yaml": "same same"})
    save(top)
    assert door.dirty_paths(open_repository(top), ["intent", "other"]) == ()
    put(
        top,
        {"intent/a.yaml": "changed", "intent/new\nname/x.yaml": "", "other/c.yaml": "changed", ".gitignore": "*.md\n"},
    )
    put(top, {"intent/ignored.md": ""})
    (top / "intent/gone.yaml").unlink()
    git(top, "mv", "intent/old.yaml", "intent/renamed.yaml")
    assert door.dirty_paths(open_repository(top), ["intent"]) == (
        "intent/a.yaml",
        "intent/gone.yaml",
        "intent/new\nname/x.yaml",
        "intent/old.yaml",
        "intent/renamed.yaml",
    )
