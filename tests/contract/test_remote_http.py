"""Remotes over http, with a real `git http-backend` that loses connections, asks for credentials and answers errors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gitops_ds.errors import MovedError, OutcomeUnknownError, RefusedError, RepositoryError, TransientError
from gitops_ds.repo import (
    Access,
    Repository,
    fetch_branch,
    find_commit,
    open_clone,
    open_repository,
    push_commit,
    read_commit,
)
from tests.contract.test_remote_push import ACCESS, _closed, bare, head, made, someone_pushes
from tests.remotes import Web, free_port, git, record_git, snapshot, web_server

__all__ = ["_closed", "bare"]  # fixtures that are shared

MARKER = "s3cr3t-M4rk3r"


@pytest.fixture
def web(bare: Path) -> Iterator[Web]:
    git(bare, "config", "http.receivepack", "true")
    with web_server(bare.parent) as server:
        yield server


@pytest.fixture
def top(web: Web, bare: Path) -> Path:
    return clone(web, bare.parent / "work")


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "tok'en file"
    file.write_bytes(f"{MARKER}\r\n".encode())
    return file


def clone(web: Web, folder: Path, *options: str) -> Path:
    git(folder.parent, "clone", "-q", *options, f"{web.url}/origin.git", folder.name)
    return folder


def prepared(top: Path) -> tuple[Repository, str]:
    repo = open_repository(top)
    return repo, made(repo, repo.head)


def test_a_round(web: Web, bare: Path, top: Path) -> None:
    moved = someone_pushes(bare)
    repo = open_repository(top)
    base = fetch_branch(repo, "origin", "main", ACCESS)
    assert base == moved
    commit = made(repo, base)
    push_commit(repo, "origin", commit, "main", base, ACCESS)
    assert head(bare) == commit


class TestCut:
    """The connection is lost around the moment that the remote accepts: nothing is repeated, nothing is lost."""

    @pytest.mark.parametrize(("fault", "arrives"), [("before", False), ("during", False), ("after", True)])
    def test_the_outcome_is_unknown_until_it_is_looked_at(
        self, web: Web, bare: Path, top: Path, fault: str, arrives: bool
    ) -> None:
        repo, commit = prepared(top)
        before, was = snapshot(top), head(bare)
        web.fault = fault
        with pytest.raises(OutcomeUnknownError, match="may have taken the commit or not"):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert snapshot(top) == before
        assert head(bare) == (commit if arrives else was)
        web.fault = None
        assert find_commit(repo, "origin", "main", commit, ACCESS) is arrives
        if arrives:
            assert find_commit(repo, "origin", "main", commit, ACCESS)
            someone_pushes(bare)
            assert find_commit(repo, "origin", "main", commit, ACCESS), "below somebody else's commit"
        else:
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
            assert head(bare) == commit
        git(bare, "fsck", "--strict")

    @pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
    def test_a_server_error_in_the_middle(self, web: Web, bare: Path, top: Path, status: int) -> None:
        repo, commit = prepared(top)
        web.fault = status
        with pytest.raises(OutcomeUnknownError):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert not find_commit(repo, "origin", "main", commit, ACCESS)

    @pytest.mark.parametrize(("status", "words"), [(403, "gives no right to do this"), (413, "the remote refused")])
    def test_a_refusal_in_the_middle(self, web: Web, top: Path, status: int, words: str) -> None:
        repo, commit = prepared(top)
        web.fault = status
        with pytest.raises(RefusedError, match=words):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)

    def test_moved_meanwhile(self, bare: Path, top: Path) -> None:
        repo, commit = prepared(top)
        someone_pushes(bare)
        with pytest.raises(MovedError):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)


class TestNotReached:
    @pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
    def test_a_server_that_is_not_well(self, web: Web, top: Path, status: int) -> None:
        repo, commit = prepared(top)
        web.status = status
        with pytest.raises(TransientError, match=f"cannot be reached.*{status}"):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        with pytest.raises(TransientError):
            fetch_branch(repo, "origin", "main", ACCESS)

    def test_no_server(self, top: Path) -> None:
        repo, commit = prepared(top)
        for url in (f"http://127.0.0.1:{free_port()}/origin.git", "http://nowhere.invalid/origin.git"):
            with pytest.raises(TransientError, match="cannot be reached"):
                push_commit(repo, url, commit, "main", repo.head, ACCESS)
            with pytest.raises(TransientError, match="cannot be reached"):
                fetch_branch(repo, url, "main", ACCESS)

    def test_a_server_that_does_not_answer(self, web: Web, top: Path) -> None:
        repo, commit = prepared(top)
        web.slow = 600
        short = Access(timeout=timedelta(seconds=1))
        with pytest.raises(TransientError, match=r"did not answer in time.*within 1 second"):
            fetch_branch(repo, "origin", "main", short)
        with pytest.raises(OutcomeUnknownError, match="within 1 second"):
            push_commit(repo, "origin", commit, "main", repo.head, short)

    def test_no_such_repository(self, web: Web, top: Path) -> None:
        repo, commit = prepared(top)
        with pytest.raises(RepositoryError, match="no such repository"):
            push_commit(repo, f"{web.url}/none.git", commit, "main", repo.head, ACCESS)
        with pytest.raises(RepositoryError, match="no such repository"):
            fetch_branch(repo, f"{web.url}/none.git", "main", ACCESS)

    def test_no_right_to_write(self, web: Web, bare: Path, top: Path) -> None:
        repo, commit = prepared(top)
        git(bare, "config", "http.receivepack", "false")
        assert fetch_branch(repo, "origin", "main", ACCESS) == repo.head
        with pytest.raises(RefusedError, match="gives no right to do this"):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)

    def test_the_words_of_the_server(self, web: Web, top: Path) -> None:
        repo, commit = prepared(top)
        web.status, web.words = 403, "Permission to a/b.git denied to bot.\n"
        with pytest.raises(RefusedError, match=r"Permission to a/b\.git denied to bot"):
            push_commit(repo, "origin", commit, "main", repo.head, ACCESS)


class TestCredentials:
    def test_a_token_file(self, web: Web, bare: Path, top: Path, token: Path) -> None:
        web.token = MARKER
        repo, commit = prepared(top)
        push_commit(repo, "origin", commit, "main", repo.head, Access(token_file=token))
        assert head(bare) == commit
        assert find_commit(repo, "origin", "main", commit, Access(token_file=token, username="bot"))

    def test_a_wrong_token(self, web: Web, bare: Path, top: Path, token: Path) -> None:
        web.token = "another"
        repo, commit = prepared(top)
        for access in (Access(token_file=token), Access()):
            with pytest.raises(RefusedError, match="does not accept the credentials") as error:
                push_commit(repo, "origin", commit, "main", repo.head, access)
            assert MARKER not in str(error.value)
            with pytest.raises(RefusedError, match="does not accept the credentials"):
                fetch_branch(repo, "origin", "main", access)
        assert head(bare) == repo.head

    @pytest.mark.parametrize("where", ["url", "config", "rewritten", "rewritten url"])
    def test_credentials_in_a_url(self, web: Web, bare: Path, top: Path, where: str) -> None:
        web.token = MARKER
        repo, commit = prepared(top)
        secret = web.url.replace("//", f"//bot:{MARKER}@")
        remote = {"url": f"{secret}/origin.git", "rewritten url": f"{web.url}/origin.git"}.get(where, "origin")
        if where == "config":
            git(top, "remote", "set-url", "origin", f"{secret}/origin.git")
        if where.startswith("rewritten"):
            git(top, "config", f"url.{secret}/.insteadOf", f"{web.url}/")
        assert fetch_branch(repo, remote, "main", ACCESS) == repo.head
        push_commit(repo, remote, commit, "main", repo.head, ACCESS)
        assert head(bare) == commit
        web.status = 403
        with pytest.raises(RefusedError) as error:
            fetch_branch(repo, remote, "main", ACCESS)
        assert MARKER not in str(error.value)

    def test_the_users_own_helper_is_asked_when_nothing_is_given(self, web: Web, bare: Path, top: Path) -> None:
        web.token = MARKER
        git(top, "config", "credential.helper", f"!f() {{ echo username=u; echo password={MARKER}; }}; f")
        repo, commit = prepared(top)
        push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert head(bare) == commit

    def test_a_name_in_a_url_is_for_the_users_own_helper(
        self, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        web.token = MARKER
        helper = f"!f() {{ grep -qx username=bot && echo password={MARKER}; }}; f"
        (tmp_path / "gitconfig").write_text(f'[credential]\n\thelper = "{helper}"\n')
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
        url = f"{web.url.replace('//', '//bot@')}/origin.git"
        repo = open_clone(url, tmp_path / "cache", ACCESS)
        push_commit(repo, "origin", made(repo, repo.head), "main", repo.head, ACCESS)
        assert "bot" not in git(repo.top, "config", "--list", "--local")

    def test_a_given_token_wins_over_the_users_helper_and_header(
        self, web: Web, bare: Path, top: Path, token: Path, tmp_path: Path
    ) -> None:
        web.token = MARKER
        git(
            top,
            "config",
            "credential.helper",
            f"!f() {{ touch {tmp_path}/asked; echo username=u; echo password=x; }}; f",
        )
        git(top, "config", f"http.{web.url}/.extraHeader", "Authorization: Basic d3Jvbmc6d3Jvbmc=")
        repo, commit = prepared(top)
        push_commit(repo, "origin", commit, "main", repo.head, Access(token_file=token))
        assert head(bare) == commit
        assert not (tmp_path / "asked").exists()

    def test_another_server_is_not_given_the_token(self, web: Web, bare: Path, top: Path, token: Path) -> None:
        repo, commit = prepared(top)
        with web_server(bare.parent) as other:
            other.token, web.redirect = MARKER, other.url
            for access in (Access(token_file=token), Access(token_file=token, username="bot")):
                with pytest.raises(RefusedError, match="does not accept the credentials"):
                    fetch_branch(repo, "origin", "main", access)
                with pytest.raises(RefusedError, match="does not accept the credentials"):
                    push_commit(repo, "origin", commit, "main", repo.head, access)
            assert other.seen
            assert not [one for one in other.seen if "Authorization" in one.headers]

    def test_files_that_cannot_be_read(self, top: Path, tmp_path: Path) -> None:
        repo = open_repository(top)
        (tmp_path / "empty").write_text("\n")
        with pytest.raises(RepositoryError, match="none: the file cannot be read; No such file"):
            fetch_branch(repo, "origin", "main", Access(token_file=tmp_path / "none"))
        with pytest.raises(RepositoryError, match="empty: the token file is empty"):
            fetch_branch(repo, "origin", "main", Access(token_file=tmp_path / "empty"))
        with pytest.raises(RepositoryError, match="none: the file cannot be read"):
            fetch_branch(repo, "origin", "main", Access(ca_file=tmp_path / "none"))
        with pytest.raises(RepositoryError, match="no regular file"):
            fetch_branch(repo, "origin", "main", Access(token_file=Path("/dev/zero")))
        (tmp_path / "two").write_text("abc\nhost=evil\n")
        with pytest.raises(RepositoryError, match="holds more than a token"):
            fetch_branch(repo, "origin", "main", Access(token_file=tmp_path / "two"))
        for access in (Access(password="a\nhost=evil"), Access(password="a", username="b\nhost=evil")):
            with pytest.raises(RepositoryError, match="has a line break or control character in it"):
                fetch_branch(repo, "origin", "main", access)

    @pytest.mark.parametrize("given", ["token file", "url"])
    def test_no_secret_leaves(
        self,
        web: Web,
        bare: Path,
        tmp_path: Path,
        token: Path,
        given: str,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        """The marker is in no argument, no environment, no file, no error and no output."""
        web.token = MARKER
        url = f"{web.url}/origin.git"
        access = Access(token_file=token)
        if given == "url":
            url, access = url.replace("//", f"//bot:{MARKER}@"), ACCESS
        monkeypatch.setenv("GIT_PYTHON_TRACE", "full")
        monkeypatch.setenv("GIT_TRACE", "2")
        monkeypatch.setenv("GIT_TRACE_CURL", "2")
        monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr("tempfile.tempdir", None)
        calls = record_git(tmp_path / "recorded", monkeypatch)
        repo = open_clone(url, tmp_path / "cache", access)
        assert read_commit(repo, repo.head, ["src"], 1000)
        commit = made(repo, repo.head)
        push_commit(repo, "origin", commit, "main", repo.head, access)
        assert open_clone(url, tmp_path / "cache", access).head == commit
        assert find_commit(repo, url, "main", commit, access)
        web.status = 403
        with pytest.raises(RefusedError) as error:
            push_commit(repo, url, commit, "main", repo.head, access)
        assert head(bare) == commit
        assert "git-remote-http" in calls.lines()
        kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
        said = "".join(capfd.readouterr())
        for text in (calls.lines(), str(error.value), repr(repo), kept.decode(errors="replace"), said):
            assert MARKER not in text
        assert not list((tmp_path / "temporary").iterdir())


class TestClone:
    def test_it_is_blobless_and_reads_in_one_go(self, web: Web, bare: Path, tmp_path: Path) -> None:
        repo = open_clone(f"{web.url}/origin.git", tmp_path / "cache", ACCESS)
        assert (repo.branch, repo.head, repo.bare) == ("refs/heads/main", head(bare), True)
        assert "?" in git(repo.top, "rev-list", "--objects", "--all", "--missing=print")
        web.seen.clear()
        found = read_commit(repo, repo.head, ["src", "none"], 1000)
        assert found == {f"src/{n}.py": b"%d\n" % n for n in range(3)}
        assert web.count("POST", "git-upload-pack") <= 2
        web.seen.clear()
        assert read_commit(repo, "HEAD", ["src"], 1000) == found
        assert not web.seen
        commit = made(repo, repo.head)
        assert not web.seen, "a commit fetches nothing"
        push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
        assert web.count("POST", "git-upload-pack") <= 1, "a push fetches what it replaces at most"
        assert "?" in git(repo.top, "rev-list", "--objects", "--all", "--missing=print")
        assert head(bare) == commit
        git(bare, "fsck", "--strict")

    def test_it_is_as_the_remote_is_now(self, web: Web, bare: Path, tmp_path: Path) -> None:
        url = f"{web.url}/origin.git"
        first = open_clone(url, tmp_path / "cache", ACCESS)
        moved = someone_pushes(bare)
        second = open_clone(url, tmp_path / "cache", ACCESS)
        assert (second.top, second.head) == (first.top, moved)
        git(bare, "branch", "main2", first.head)
        git(bare, "symbolic-ref", "HEAD", "refs/heads/main2")
        third = open_clone(url, tmp_path / "cache", ACCESS)
        assert (third.branch, third.head) == ("refs/heads/main2", first.head)
        assert open_clone(url, tmp_path / "cache", ACCESS, "main").head == moved
        with pytest.raises(RepositoryError, match="the remote has no branch none"):
            open_clone(url, tmp_path / "cache", ACCESS, "refs/heads/none")
        with pytest.raises(RepositoryError, match="no such repository"):
            open_clone(f"{web.url}/none.git", tmp_path / "cache", ACCESS)
        assert len(list((tmp_path / "cache").glob("*.git"))) == 1

    def test_a_private_remote(self, web: Web, bare: Path, tmp_path: Path, token: Path) -> None:
        web.token = MARKER
        with pytest.raises(RefusedError, match="does not accept the credentials"):
            open_clone(f"{web.url}/origin.git", tmp_path / "cache", ACCESS)
        repo = open_clone(f"{web.url}/origin.git", tmp_path / "cache", Access(token_file=token))
        assert read_commit(repo, repo.head, ["src"], 1000, [".py"])


def test_files_that_a_clone_of_the_user_lacks(web: Web, bare: Path, tmp_path: Path) -> None:
    top = clone(web, tmp_path / "blobless", "--filter=blob:none", "--no-checkout")
    repo = open_repository(top)
    web.seen.clear()
    assert len(read_commit(repo, "HEAD", ["src"], 1000, [".py"])) == 3
    assert web.count("POST", "git-upload-pack") <= 2
    git(top, "checkout", "-q", "main")
    assert git(top, "status", "--porcelain") == ""
