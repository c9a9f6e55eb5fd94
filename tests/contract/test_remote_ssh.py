"""Remotes over ssh, with a real sshd: keys, host keys, and what ambient settings still do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gitops_ds.errors import OutcomeUnknownError, RefusedError, RepositoryError, TransientError
from gitops_ds.repo import Access, fetch_branch, find_commit, open_clone, open_repository, push_commit, read_commit
from tests.contract.test_remote_push import _closed, bare, head, made, someone_pushes, top
from tests.remotes import Sshd, free_port, git, hook, ssh_server

__all__ = ["_closed", "bare", "top"]  # fixtures that are shared


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    with ssh_server(tmp_path / "ssh") as server:
        yield server


def access(sshd: Sshd) -> Access:
    return Access(ssh_key=sshd.key, known_hosts=sshd.known_hosts, timeout=timedelta(seconds=60))


def test_a_round(sshd: Sshd, bare: Path, top: Path) -> None:
    git(top, "remote", "set-url", "origin", sshd.url(bare))
    moved, repo = someone_pushes(bare), open_repository(top)
    base = fetch_branch(repo, "origin", "main", access(sshd))
    assert base == moved
    commit = made(repo, base)
    push_commit(repo, sshd.url(bare), commit, "main", base, access(sshd))
    assert head(bare) == commit
    assert find_commit(repo, "origin", "main", commit, access(sshd))


def test_a_clone_and_its_files(sshd: Sshd, bare: Path, tmp_path: Path) -> None:
    repo = open_clone(sshd.url(bare), tmp_path / "cache", access(sshd))
    assert "?" in git(repo.top, "rev-list", "--objects", "--all", "--missing=print")
    assert len(read_commit(repo, "HEAD", ["src"], 1000)) == 3
    push_commit(repo, "origin", commit := made(repo, repo.head), "main", repo.head, access(sshd))
    assert head(bare) == commit


def test_a_server_that_gives_no_single_files_is_cloned_whole(bare: Path, tmp_path: Path) -> None:
    """An sshd that does not let git choose its protocol: the old one gives files by commit only."""
    with ssh_server(tmp_path / "ssh", accepts="NOTHING") as server:
        repo = open_clone(server.url(bare), tmp_path / "cache", access(server))
        assert open_clone(server.url(bare), tmp_path / "cache", access(server)) == repo
        assert len(read_commit(repo, "HEAD", ["src"], 1000)) == 3
    assert "?" not in git(repo.top, "rev-list", "--objects", "--all", "--missing=print")
    assert len(list((tmp_path / "cache").glob("*.git*"))) == 1


def test_a_key_that_is_not_let_in(sshd: Sshd, bare: Path, top: Path) -> None:
    repo = open_repository(top)
    stranger = Access(ssh_key=sshd.stranger, known_hosts=sshd.known_hosts)
    with pytest.raises(RefusedError, match=r"does not accept the credentials.*Permission denied"):
        fetch_branch(repo, sshd.url(bare), "main", stranger)
    with pytest.raises(RefusedError, match="does not accept the credentials"):
        push_commit(repo, sshd.url(bare), made(repo, repo.head), "main", repo.head, stranger)


def test_a_host_that_is_not_known(sshd: Sshd, bare: Path, top: Path, tmp_path: Path) -> None:
    (tmp_path / "none").touch()
    unknown = Access(ssh_key=sshd.key, known_hosts=tmp_path / "none")
    with pytest.raises(RepositoryError, match="the remote's host key is not known"):
        fetch_branch(open_repository(top), sshd.url(bare), "main", unknown)
    assert (tmp_path / "none").read_text() == ""


def test_no_server_and_no_repository(sshd: Sshd, bare: Path, top: Path) -> None:
    repo = open_repository(top)
    with pytest.raises(RepositoryError, match="no such repository"):
        fetch_branch(repo, sshd.url(bare.with_name("none.git")), "main", access(sshd))
    gone = sshd.url(bare).replace(f":{sshd.port}", f":{free_port()}")
    with pytest.raises(TransientError, match="cannot be reached"):
        fetch_branch(repo, gone, "main", access(sshd))
    with pytest.raises(TransientError, match="cannot be reached"):
        push_commit(repo, gone, repo.head, "main", None, access(sshd))


def test_hooks_and_lost_connections(sshd: Sshd, bare: Path, top: Path) -> None:
    repo = open_repository(top)
    commit = made(repo, repo.head)
    hook(bare, "pre-receive", "echo no robots here; exit 1")
    with pytest.raises(RefusedError, match="declined the push; no robots here"):
        push_commit(repo, sshd.url(bare), commit, "main", repo.head, access(sshd))
    hook(bare, "pre-receive", "kill -9 $PPID; sleep 1")
    with pytest.raises(OutcomeUnknownError):
        push_commit(repo, sshd.url(bare), commit, "main", repo.head, access(sshd))
    assert not find_commit(repo, sshd.url(bare), "main", commit, access(sshd))


@pytest.mark.parametrize("by", ["GIT_SSH_COMMAND", "core.sshCommand"])
def test_the_users_own_ssh_command_is_left_alone(
    sshd: Sshd, bare: Path, top: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f'ssh -i "{sshd.key}" -o UserKnownHostsFile="\\"{sshd.known_hosts}\\"" -o IdentitiesOnly=yes'
    if by == "GIT_SSH_COMMAND":
        monkeypatch.setenv(by, command)
    else:
        git(top, "config", by, command)
    assert fetch_branch(open_repository(top), sshd.url(bare), "main", Access()) == head(bare)


def test_an_agent_is_asked_when_nothing_is_given(
    sshd: Sshd, bare: Path, top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is given but the host's key: the agent of the user holds the private key."""
    import subprocess

    socket = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as agent:
        try:
            while not socket.exists():
                assert agent.poll() is None
            environment = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
            subprocess.run(["ssh-add", "-q", str(sshd.key)], env=environment, check=True, capture_output=True)
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            found = fetch_branch(open_repository(top), sshd.url(bare), "main", Access(known_hosts=sshd.known_hosts))
        finally:
            agent.terminate()
    assert found == head(bare)
