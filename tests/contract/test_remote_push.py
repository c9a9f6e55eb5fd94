"""Fetching and pushing one branch, against real bare repositories by path: what moves, what is refused, what stays."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitops_ds.errors import MovedError, OutcomeUnknownError, RefusedError, RepositoryError, TransientError
from gitops_ds.repo import (
    Access,
    Identity,
    Repository,
    default_branch,
    delete_branch,
    fetch_branch,
    find_commit,
    make_commit,
    open_repository,
    push_commit,
)
from tests.remotes import fill, git, git_daemon, hook, put, save, small_disk, snapshot

ROBOT = Identity("gitops-ds", "robot@example.com")
WHEN = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
ACCESS = Access(timeout=timedelta(seconds=60))
OWNED: dict[str, bytes | None] = {"rendered/ns/a.yaml": b"after\n", "rendered/new.yaml": b"new\n"}


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ann@example.com")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    folder = tmp_path / "first"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in range(3):
        put(
            folder,
            {"README.md": f"read {number}\n", "rendered/ns/a.yaml": "before\n", f"src/{number}.py": f"{number}\n"},
        )
        save(folder)
    git(tmp_path, "clone", "-q", "--bare", str(folder), "origin.git")
    git(tmp_path / "origin.git", "config", "uploadpack.allowFilter", "true")
    return tmp_path / "origin.git"


@pytest.fixture
def top(bare: Path) -> Path:
    return clone(bare, "work")


def clone(bare: Path, name: str, *options: str) -> Path:
    git(bare.parent, "clone", "-q", *options, bare.as_uri(), name)
    return bare.parent / name


def someone_pushes(bare: Path, *options: str, branch: str = "main") -> str:
    """A commit of somebody else on the remote branch; its id."""
    other = bare.parent / "other"
    if not other.exists():
        clone(bare, "other")
    git(other, "fetch", "-q")
    git(other, "checkout", "-q", "-B", branch, "origin/main")
    put(other, {"human.txt": "human\n"})
    made = save(other, "human")
    git(other, "push", "-q", *options, "origin", branch)
    return made


def made(repo: Repository, parent: str, content: bytes = b"after\n") -> str:
    owned: dict[str, bytes | None] = {**OWNED, "rendered/ns/a.yaml": content}
    return make_commit(repo, owned, f"Plan\n\n{content!r}\n", identity=ROBOT, when=WHEN, parent=parent)


def head(bare: Path, branch: str = "main") -> str:
    return git(bare, "rev-parse", "-q", "--verify", f"refs/heads/{branch}", check=False)


def plan_and_push(folder: Path, remote: str = "origin") -> tuple[str, str]:
    """One whole round, as a reconciler does it; the old and the new head."""
    repo = open_repository(folder)
    base = fetch_branch(repo, remote, "main", ACCESS)
    assert base is not None
    commit = made(repo, base)
    push_commit(repo, remote, commit, "main", base, ACCESS)
    return base, commit


class TestRound:
    def test_a_commit_arrives_as_it_was_made(self, bare: Path, top: Path) -> None:
        base, commit = plan_and_push(top)
        assert head(bare) == commit
        assert git(bare, "rev-parse", f"{commit}^") == base
        assert git(bare, "show", f"{commit}:rendered/ns/a.yaml") == "after"
        assert git(bare, "diff", "--name-only", base, commit).split() == ["rendered/new.yaml", "rendered/ns/a.yaml"]
        git(bare, "fsck", "--strict")

    def test_again_is_a_success_and_changes_nothing(self, bare: Path, top: Path) -> None:
        base, commit = plan_and_push(top)
        push_commit(open_repository(top), "origin", commit, "main", base, ACCESS)
        assert head(bare) == commit

    @pytest.mark.parametrize("named", ["url", "path"])
    def test_by_address(self, bare: Path, top: Path, named: str) -> None:
        git(top, "remote", "remove", "origin")
        _, commit = plan_and_push(top, bare.as_uri() if named == "url" else str(bare))
        assert head(bare) == commit
        assert find_commit(open_repository(top), bare.as_uri(), "refs/heads/main", commit, ACCESS)

    def test_a_new_branch_and_its_end(self, bare: Path, top: Path) -> None:
        repo = open_repository(top)
        commit = made(repo, repo.head)
        assert fetch_branch(repo, "origin", "bot/a", ACCESS) is None
        push_commit(repo, "origin", commit, "bot/a", None, ACCESS)
        assert head(bare, "bot/a") == commit
        with pytest.raises(MovedError):
            push_commit(repo, "origin", made(repo, repo.head, b"x"), "bot/a", None, ACCESS)
        second = made(repo, repo.head, b"second")
        with pytest.raises(ValueError, match="no child"):
            push_commit(repo, "origin", second, "bot/a", commit, ACCESS)
        push_commit(repo, "origin", second, "bot/a", commit, ACCESS, replace=True)
        with pytest.raises(MovedError):
            delete_branch(repo, "origin", "bot/a", commit, ACCESS)
        assert head(bare, "bot/a") == second
        delete_branch(repo, "origin", "bot/a", second, ACCESS)
        delete_branch(repo, "origin", "bot/a", second, ACCESS)
        assert head(bare, "bot/a") == ""
        push_commit(repo, "origin", second, "bot", None, ACCESS)
        assert fetch_branch(repo, "origin", "bot", ACCESS) == second

    def test_the_default_branch(self, bare: Path, top: Path, tmp_path: Path) -> None:
        repo = open_repository(top)
        assert default_branch(repo, "origin", ACCESS) == "refs/heads/main"
        git(tmp_path, "init", "-q", "--bare", "empty.git")
        assert default_branch(repo, str(tmp_path / "empty.git"), ACCESS) is None
        assert fetch_branch(repo, str(tmp_path / "empty.git"), "main", ACCESS) is None

    def test_push_options_reach_the_server(self, bare: Path, top: Path) -> None:
        repo = open_repository(top)
        commit = made(repo, repo.head)
        options = ("merge_request.create", "merge_request.title=a b; c")
        with pytest.raises(RepositoryError, match="takes no push options"):
            push_commit(repo, "origin", commit, "bot", None, ACCESS, options)
        git(bare, "config", "receive.advertisePushOptions", "true")
        hook(bare, "pre-receive", f'echo "$GIT_PUSH_OPTION_0|$GIT_PUSH_OPTION_1" > {bare}/options')
        git(top, "config", "push.pushOption", "of.the.user")
        push_commit(repo, "origin", commit, "bot", None, ACCESS, options)
        assert (bare / "options").read_text() == "merge_request.create|merge_request.title=a b; c\n"


def _mess(top: Path) -> None:
    put(top, {"src/staged.py": "s", "README.md": "unstaged\n", "untracked.txt": "u", "rendered/ns/a.yaml": "edited\n"})
    git(top, "add", "src", "rendered")
    put(top, {"src/staged.py": "changed again"})


def _detached(top: Path) -> None:
    git(top, "checkout", "-q", "--detach", "HEAD~1")


def _other_branch(top: Path) -> None:
    git(top, "checkout", "-q", "-b", "feature")
    put(top, {"x": "x"})
    save(top)


def _attributes(top: Path) -> None:
    put(top, {".gitattributes": "* text eol=crlf\nrendered/** filter=lfs diff=lfs merge=lfs -text\n"})
    save(top)
    for path in (top / "rendered").rglob("*"):
        os.utime(path, (1e9, 1e9))  # git looks into files that are as young as its index, and would run the filter
    git(top, "update-index", "--refresh")
    for part in ("clean", "smudge", "process"):
        git(top, "config", f"filter.lfs.{part}", f"touch {top.parent}/ran; false")
    git(top, "config", "filter.lfs.required", "true")


def _hooks(top: Path) -> None:
    hooks = top.parent / "hooks"
    for name in ("pre-push", "reference-transaction", "pre-commit", "post-commit", "commit-msg"):
        hook(top.parent, name, f"touch {top.parent}/ran; exit 1")
        hook(top / ".git", name, f"touch {top.parent}/ran; exit 1")
    git(top, "config", "core.hooksPath", str(hooks))


def _signing(top: Path) -> None:
    for key, value in {"commit.gpgsign": "true", "push.gpgSign": "true", "gpg.program": "false"}.items():
        git(top, "config", key, value)


def _settings(top: Path) -> None:
    for key, value in {
        "fetch.prune": "true",
        "remote.origin.mirror": "true",
        "remote.origin.tagOpt": "--tags",
        "push.followTags": "true",
        "push.recurseSubmodules": "only",
        "fetch.recurseSubmodules": "true",
        "core.autocrlf": "true",
        "push.default": "nothing",
    }.items():
        git(top, "config", key, value)
    git(top, "tag", "-a", "-m", "mine", "mine")


def _submodule(top: Path) -> None:
    allow = ("-c", "protocol.file.allow=always")
    git(top, *allow, "submodule", "--quiet", "add", (top.parent / "origin.git").as_uri(), "rendered/sub")
    put(top, {"rendered/sub/README.md": "changed"})


def _rebase(top: Path) -> None:
    git(top, "-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")


STATES = [_mess, _detached, _other_branch, _attributes, _hooks, _signing, _settings, _submodule, _rebase]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__.strip("_"))
def test_the_checkout_stays_as_it_is(bare: Path, top: Path, state: Callable[[Path], None]) -> None:
    state(top)
    tags = git(bare, "tag")
    (top.parent / "ran").unlink(missing_ok=True)
    before = snapshot(top)
    base, commit = plan_and_push(top, bare.as_uri())
    assert snapshot(top) == before
    assert not (top.parent / "ran").exists()
    assert head(bare) == commit
    assert git(bare, "cat-file", "-p", f"{commit}:rendered/new.yaml") == "new"
    assert git(bare, "diff", "--name-only", base, commit).split() == ["rendered/new.yaml", "rendered/ns/a.yaml"]
    assert "gpgsig" not in git(bare, "cat-file", "-p", commit)
    assert git(bare, "tag") == tags


@pytest.mark.parametrize("remote", ["origin", "url"])
def test_a_fetch_touches_nothing_of_the_user(bare: Path, top: Path, remote: str) -> None:
    _settings(top)
    _mess(top)
    before = snapshot(top)
    moved = someone_pushes(bare)
    found = fetch_branch(open_repository(top), "origin" if remote == "origin" else bare.as_uri(), "main", ACCESS)
    assert found == moved
    assert snapshot(top) == before
    git(bare, "tag", "new", moved)
    assert fetch_branch(open_repository(top), "origin", "main", ACCESS) == moved
    assert snapshot(top) == before


class TestClones:
    @pytest.mark.parametrize("depth", [1, 2])
    def test_a_shallow_clone_stays_shallow(self, bare: Path, depth: int) -> None:
        top = clone(bare, "shallow", "--depth", str(depth))
        moved = someone_pushes(bare)
        base, commit = plan_and_push(top)
        assert (base, head(bare)) == (moved, commit)
        assert git(top, "rev-list", "--count", "HEAD") == str(depth)
        assert git(top, "rev-list", "--count", commit) == str(depth + 2)
        assert find_commit(open_repository(top), "origin", "main", commit, ACCESS)
        git(bare, "fsck", "--strict")

    def test_a_clone_without_files_fetches_none_for_a_commit(self, bare: Path) -> None:
        top = clone(bare, "blobless", "--filter=blob:none", "--no-checkout")
        someone_pushes(bare)
        missing = ("rev-list", "--objects", "--all", "--missing=print", "--quiet")
        lacking = set(git(top, *missing).splitlines())
        _, commit = plan_and_push(top)
        assert head(bare) == commit
        still = {line for line in git(top, *missing).splitlines() if line.startswith("?")}
        assert len(still) == len({line for line in still | lacking if line.startswith("?")})
        assert still
        git(bare, "fsck", "--strict")

    def test_a_bare_repository(self, bare: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--bare", str(bare), "mine.git")
        mine = tmp_path / "mine.git"
        repo = Repository(mine, mine, "refs/heads/main", head(bare))
        assert repo.bare
        commit = made(repo, repo.head)
        push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert head(bare) == commit
        assert head(mine) == repo.head

    def test_no_difference_no_commit(self, top: Path) -> None:
        repo = open_repository(top)
        same: dict[str, bytes | None] = {"rendered/ns/a.yaml": b"before\n", "rendered/none.yaml": None}
        assert make_commit(repo, same, "x", identity=ROBOT, when=WHEN, parent=repo.head) == repo.head


class TestMoved:
    def test_ahead(self, bare: Path, top: Path) -> None:
        repo = open_repository(top)
        commit, moved = made(repo, repo.head), someone_pushes(bare)
        with pytest.raises(MovedError, match="origin main: the remote branch is not where it was") as error:
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert error.value.exit_code == 5
        assert head(bare) == moved
        assert not find_commit(repo, "origin", "main", commit, ACCESS)

    def test_rewound(self, bare: Path, top: Path) -> None:
        repo = open_repository(top)
        commit = made(repo, repo.head)
        git(bare, "update-ref", "refs/heads/main", f"{repo.head}~1")
        rewound = head(bare)
        with pytest.raises(MovedError):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert head(bare) == rewound
        assert fetch_branch(repo, "origin", "main", ACCESS) == rewound

    def test_removed(self, bare: Path, top: Path) -> None:
        repo = open_repository(top)
        git(bare, "update-ref", "-d", "refs/heads/main")
        with pytest.raises(MovedError):
            push_commit(repo, "origin", made(repo, repo.head), "main", repo.head, ACCESS)
        assert head(bare) == ""

    def test_a_branch_of_our_own_that_a_person_committed_to(self, bare: Path, top: Path) -> None:
        repo = open_repository(top)
        push_commit(repo, "origin", mine := made(repo, repo.head), "bot", None, ACCESS)
        human = someone_pushes(bare, "--force", branch="bot")
        with pytest.raises(MovedError):
            push_commit(repo, "origin", made(repo, repo.head, b"2"), "bot", mine, ACCESS, replace=True)
        assert head(bare, "bot") == human

    def test_while_the_server_is_at_work(self, bare: Path, top: Path) -> None:
        """Somebody is quicker between the moment the server says where the branch is and the moment it moves it."""
        repo = open_repository(top)
        moved = git(bare, "commit-tree", f"{repo.head}^{{tree}}", "-p", repo.head, "-m", "quicker")
        hook(bare, "pre-receive", f"unset GIT_QUARANTINE_PATH; git update-ref refs/heads/main {moved}")
        with pytest.raises(MovedError, match=f"is at {moved} but expected {repo.head}"):
            push_commit(repo, "origin", made(repo, repo.head), "main", repo.head, ACCESS)
        assert head(bare) == moved

    def test_many_at_once_one_wins(self, bare: Path) -> None:
        tops = [clone(bare, f"work{number}") for number in range(4)]
        repos = [open_repository(top) for top in tops]
        commits = [made(repo, repo.head, b"%d" % number) for number, repo in enumerate(repos)]
        results: list[object] = [None] * len(repos)

        def push(number: int) -> None:
            try:
                push_commit(repos[number], "origin", commits[number], "main", repos[number].head, ACCESS)
            except MovedError as error:
                results[number] = error

        threads = [threading.Thread(target=push, args=(number,)) for number in range(len(repos))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [commits[number] for number, result in enumerate(results) if result is None]
        assert winners == [head(bare)]


class TestRefused:
    def expect(self, bare: Path, top: Path, match: str, *, replace: bool = False) -> str:
        repo = open_repository(top)
        before, was = snapshot(top), head(bare)
        commit = made(repo, git(top, "rev-parse", "HEAD~1") if replace else repo.head, b"refused\n")
        with pytest.raises(RefusedError, match=match) as error:
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS, replace=replace)
        assert error.value.exit_code == 6
        assert head(bare) == was
        assert snapshot(top) == before
        return str(error.value)

    def test_a_pre_receive_hook(self, bare: Path, top: Path) -> None:
        hook(bare, "pre-receive", r"printf 'no \033[31mrobots\033[0m, see https://u:secret@wiki/x\a\n' >&2; exit 1")
        said = self.expect(bare, top, "a hook of the remote declined the push")
        assert "no robots, see https://***@wiki/x\n" in said
        assert "pull-request mode" in said
        assert "secret" not in said

    def test_an_update_hook(self, bare: Path, top: Path) -> None:
        hook(bare, "update", "echo GL-HOOK-ERR: not on a Friday; exit 1")
        assert "GL-HOOK-ERR: not on a Friday" in self.expect(bare, top, "a hook of the remote declined")

    def test_a_protected_branch(self, bare: Path, top: Path) -> None:
        words = "GitLab: You are not allowed to push code to protected branches on this project."
        hook(bare, "pre-receive", f"echo '{words}' >&2; exit 1")
        assert words in self.expect(bare, top, "the branch is protected")

    def test_no_replacing(self, bare: Path, top: Path) -> None:
        git(bare, "config", "receive.denyNonFastForwards", "true")
        plan_and_push(top)
        git(top, "pull", "-q")
        self.expect(bare, top, "takes no push that replaces commits", replace=True)

    def test_no_deletion(self, bare: Path, top: Path) -> None:
        git(bare, "config", "receive.denyDeletes", "true")
        git(bare, "branch", "bot", "main")
        with pytest.raises(RefusedError, match="deletion prohibited"):
            delete_branch(open_repository(top), "origin", "bot", head(bare), ACCESS)

    def test_a_branch_that_is_checked_out_there(self, bare: Path, top: Path) -> None:
        first = bare.parent / "first"
        repo = open_repository(top)
        with pytest.raises(RefusedError, match="checked out in the remote"):
            push_commit(repo, str(first), made(repo, repo.head), "main", repo.head, ACCESS)

    def test_a_remote_that_is_for_reading(self, bare: Path, top: Path) -> None:
        repo = open_repository(top)
        commit = made(repo, repo.head)
        with git_daemon(bare.parent) as url:
            git(top, "remote", "set-url", "origin", f"{url}/{bare.name}")
            assert fetch_branch(repo, "origin", "main", ACCESS) == repo.head
            with pytest.raises(RefusedError, match="gives no right to do this"):
                push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
            with pytest.raises(RepositoryError, match="no such repository"):
                fetch_branch(repo, f"{url}/none.git", "main", ACCESS)
        with pytest.raises(TransientError, match="cannot be reached"):
            fetch_branch(repo, "origin", "main", ACCESS)

    def test_a_remote_that_cannot_be_written(self, bare: Path, top: Path) -> None:
        for path in (bare, *bare.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        if os.getuid() == 0:
            if shutil.which("setpriv") is None:
                pytest.skip("root writes everywhere, and there is no setpriv to be somebody else")
            for folder in (bare, *bare.parents):
                if folder.stat().st_mode & 0o001 == 0:
                    folder.chmod(folder.stat().st_mode | 0o011)
            safe = f"-c safe.directory={bare} receive-pack"
            other = "setpriv --reuid=65534 --clear-groups"
            git(top, "config", "remote.origin.receivepack", f"{other} git {safe}")
        try:
            self.expect(bare, top, "cannot write to its own repository")
        finally:
            for path in (bare, *bare.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)

    def test_a_remote_whose_disk_is_full(self, bare: Path, top: Path, tmp_path: Path) -> None:
        with small_disk(tmp_path / "small") as small:
            shutil.copytree(bare, small / "origin.git", ignore=shutil.ignore_patterns("hooks"))
            git(top, "remote", "set-url", "origin", str(small / "origin.git"))
            fill(small)
            self.expect(small / "origin.git", top, "the remote's disk is full")

    def test_a_full_disk_here(self, bare: Path, tmp_path: Path) -> None:
        with small_disk(tmp_path / "small") as small:
            git(small, "clone", "-q", "--template=", "--bare", str(bare), "mine.git")
            repo = Repository(small / "mine.git", small / "mine.git", "refs/heads/main", head(bare))
            assert fetch_branch(repo, "origin", "main", ACCESS) == repo.head
            moved = someone_pushes(bare)
            fill(small)
            with pytest.raises(RepositoryError, match=r"No space left on device|disk here is full"):
                fetch_branch(repo, "origin", "main", ACCESS)
            with pytest.raises(RepositoryError, match="No space left on device"):
                make_commit(repo, {"a": b"a" * 9000}, "x", identity=ROBOT, when=WHEN, parent=repo.head)
            (small / "ballast").unlink()
            assert fetch_branch(repo, "origin", "main", ACCESS) == moved


class TestUnknown:
    def test_the_server_dies_after_it_moved_the_branch(self, bare: Path, top: Path) -> None:
        hook(bare, "update", "exit 0")
        hook(bare, "post-update", "exit 0")
        hook(bare, "reference-transaction", '[ "$1" = committed ] && kill -9 $PPID; exit 0')
        repo = open_repository(top)
        commit = made(repo, repo.head)
        with pytest.raises(OutcomeUnknownError, match="lost during the push") as error:
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert error.value.exit_code == 1
        assert head(bare) == commit
        assert find_commit(repo, "origin", "main", commit, ACCESS)
        push_commit(repo, "origin", commit, "main", repo.head, ACCESS)

    def test_the_server_dies_before_it_moves_the_branch(self, bare: Path, top: Path) -> None:
        hook(bare, "pre-receive", "kill -9 $PPID; sleep 1")
        repo = open_repository(top)
        commit = made(repo, repo.head)
        with pytest.raises(OutcomeUnknownError):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert not find_commit(repo, "origin", "main", commit, ACCESS)

    def test_a_push_that_takes_too_long_is_killed_with_all_that_it_started(self, bare: Path, top: Path) -> None:
        hook(bare, "pre-receive", f"echo $$ > {bare}/pid; exec sleep 600")
        repo = open_repository(top)
        commit = made(repo, repo.head)
        with pytest.raises(OutcomeUnknownError, match="no answer within 2 seconds"):
            push_commit(repo, "origin", commit, "main", repo.head, Access(timeout=timedelta(seconds=2)))
        assert head(bare) == repo.head
        state = Path("/proc", (bare / "pid").read_text().strip(), "stat")
        assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX", "the hook has ended too"


class TestAddresses:
    def test_nothing_there(self, top: Path, tmp_path: Path) -> None:
        repo = open_repository(top)
        for remote in ("nowhere", str(tmp_path / "none.git"), (tmp_path / "none.git").as_uri()):
            with pytest.raises(RepositoryError, match="no such repository"):
                fetch_branch(repo, remote, "main", ACCESS)
            with pytest.raises(RepositoryError, match="no such repository"):
                push_commit(repo, remote, repo.head, "main", None, ACCESS)

    @pytest.mark.parametrize("remote", ["--upload-pack=touch ran", "-x", "", "ext::sh -c touch% ran"])
    def test_no_option_and_no_program_gets_through(self, top: Path, remote: str) -> None:
        with pytest.raises(RepositoryError):
            fetch_branch(open_repository(top), remote, "main", ACCESS)
        assert not (top / "ran").exists()

    def test_another_fetch_is_waited_for(self, bare: Path, top: Path) -> None:
        moved = someone_pushes(bare)
        found: list[str | None] = []
        threads = [
            threading.Thread(target=lambda: found.append(fetch_branch(open_repository(top), "origin", "main", ACCESS)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [moved] * 4
