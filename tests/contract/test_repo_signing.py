"""Signed commits, with real keys: made, proved, and never left unsigned."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_ds.errors import RepositoryError
from gitops_ds.repo import Identity, Signing, commit_files, make_commit, open_repository, verify_signature
from tests.contract.test_remote_push import ROBOT, _closed, bare, head, top
from tests.remotes import git, snapshot

__all__ = ["_closed", "bare", "top"]  # fixtures that are shared

WHEN = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
OWNED: dict[str, bytes | None] = {"rendered/new.yaml": b"new\n"}

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen here")
needs_gpg = pytest.mark.skipif(shutil.which("gpg") is None, reason="no gpg here")


def keygen(file: Path, passphrase: str = "", kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "a comment", "-f", str(file)], check=True)
    return file


def made(top: Path, signing: Signing) -> str:
    repo = open_repository(top)
    return make_commit(repo, OWNED, "Plan\n", identity=ROBOT, when=WHEN, parent=repo.head, signing=signing)


def refused(top: Path, signing: Signing, match: str) -> None:
    """Assert that there is no commit, by either way of making one."""
    repo, before = open_repository(top), snapshot(top)
    with pytest.raises(RepositoryError, match=match) as error:
        made(top, signing)
    assert "unsigned" in str(error.value) or "signing key" in str(error.value)
    with pytest.raises(RepositoryError, match=match):
        commit_files(repo, OWNED, "x", identity=ROBOT, when=WHEN, expected_head=repo.head, signing=signing)
    assert snapshot(top) == before


@needs_ssh
class TestSsh:
    @pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
    def test_a_signed_commit(self, top: Path, tmp_path: Path, kind: str) -> None:
        key = keygen(tmp_path / "it's a key", kind=kind)
        commit = made(top, Signing("ssh", str(key)))
        assert "gpgsig -----BEGIN SSH SIGNATURE-----" in git(top, "cat-file", "-p", commit)
        allowed = tmp_path / "allowed"
        allowed.write_text(f"{ROBOT.email} {key.with_name(key.name + '.pub').read_text()}")
        git(top, "-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-commit", commit)

    def test_without_the_public_half(self, top: Path, tmp_path: Path) -> None:
        key = keygen(tmp_path / "key")
        (tmp_path / "key.pub").unlink()
        commit = made(top, Signing("ssh", str(key)))
        assert "gpgsig -----BEGIN SSH SIGNATURE-----" in git(top, "cat-file", "-p", commit)
        verify_signature(open_repository(top), commit, Signing("ssh", str(key)), ROBOT)

    def test_in_a_checkout(self, bare: Path, top: Path, tmp_path: Path) -> None:
        key = keygen(tmp_path / "key")
        git(top, "config", "commit.gpgsign", "true")
        git(top, "config", "user.signingkey", "of the user")
        git(top, "config", "gpg.format", "openpgp")
        repo = open_repository(top)
        signing = Signing("ssh", str(key))
        commit = commit_files(repo, OWNED, "x", identity=ROBOT, when=WHEN, expected_head=repo.head, signing=signing)
        assert git(top, "rev-parse", "main") == commit
        verify_signature(repo, commit, signing, ROBOT)

    def test_an_agent_holds_the_key(self, top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        key, socket = keygen(tmp_path / "key"), tmp_path / "agent"
        with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as agent:
            try:
                while not socket.exists():
                    assert agent.poll() is None
                monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
                subprocess.run(["ssh-add", "-q", str(key)], check=True, capture_output=True)
                key.unlink()
                made(top, Signing("ssh", f"{key}.pub"))
                made(top, Signing("ssh", f"key::{(tmp_path / 'key.pub').read_text().strip()}"))
            finally:
                agent.terminate()

    def test_a_key_that_does_not_sign(self, top: Path, tmp_path: Path) -> None:
        refused(top, Signing("ssh", str(tmp_path / "none")), "the commit cannot be signed.*none")
        refused(top, Signing("ssh", str(keygen(tmp_path / "locked", "passphrase"))), "the commit cannot be signed")
        refused(top, Signing("ssh", str(keygen(tmp_path / "key")), program="false"), "the commit cannot be signed")
        refused(top, Signing("ssh", str(tmp_path / "key"), program="/none/such"), "the commit cannot be signed")

    def test_a_program_that_signs_with_another_key(self, top: Path, tmp_path: Path) -> None:
        key, other = keygen(tmp_path / "key"), keygen(tmp_path / "other")
        program = tmp_path / "program"
        program.write_text(f'#!/bin/sh\nexec ssh-keygen -Y sign -n git -f {other} "$(eval echo \\${{$#}})"\n')
        program.chmod(0o755)
        refused_by = Signing("ssh", str(key), program=str(program))
        with pytest.raises(RepositoryError, match="no good signature by the configured key"):
            made(top, refused_by)

    def test_what_does_not_verify(self, top: Path, tmp_path: Path) -> None:
        repo = open_repository(top)
        signing, other = (Signing("ssh", str(keygen(tmp_path / name))) for name in ("key", "other"))
        commit = made(top, signing)
        with pytest.raises(RepositoryError, match="no good signature by the configured key"):
            verify_signature(repo, commit, other, ROBOT)
        with pytest.raises(RepositoryError, match="no good signature"):
            verify_signature(repo, repo.head, signing, Identity("Ann", "ann@example.com"))
        with pytest.raises(RepositoryError, match="its committer is gitops-ds robot@"):
            verify_signature(repo, commit, signing, Identity("gitops-ds", "other@example.com"))
        forged = git(top, "cat-file", "commit", commit).replace("Plan", "Forged") + "\n"
        changed = git(top, "hash-object", "-t", "commit", "-w", "--stdin", stdin=forged.encode())
        with pytest.raises(RepositoryError, match="no good signature"):
            verify_signature(repo, changed, signing, ROBOT)


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = Path(os.environ.get("TMPDIR", "/tmp")) / f"g{os.getpid()}"  # a socket's path must be short
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    yield home
    subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)
    shutil.rmtree(home, ignore_errors=True)


def gpg_key(name: str, passphrase: str = "") -> str:
    """A new key; its fingerprint."""
    quiet = ["gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", passphrase]
    subprocess.run(
        [*quiet, "--quick-gen-key", f"{name} <{name}@example.com>", "ed25519", "sign"], check=True, capture_output=True
    )
    listed = subprocess.run(
        ["gpg", "--batch", "--with-colons", "--list-keys", f"{name}@example.com"],
        check=True,
        capture_output=True,
        text=True,
    )
    return next(line.split(":")[9] for line in listed.stdout.splitlines() if line.startswith("fpr"))


@needs_gpg
@pytest.mark.usefixtures("keyring")
class TestOpenpgp:
    def test_a_signed_commit(self, top: Path) -> None:
        fingerprint = gpg_key("robot")
        for name in (fingerprint, fingerprint[-16:], "robot@example.com", f"{fingerprint}!"):
            commit = made(top, Signing("openpgp", name))
            assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(top, "cat-file", "-p", commit)
            git(top, "verify-commit", commit)

    def test_a_program_of_its_own(self, top: Path) -> None:
        git(top, "config", "gpg.program", "false")
        gpg = shutil.which("gpg")
        commit = made(top, Signing("openpgp", gpg_key("robot"), program=gpg))
        assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(top, "cat-file", "-p", commit)

    def test_a_key_that_does_not_sign(self, top: Path) -> None:
        refused(top, Signing("openpgp", "nobody@example.com"), "the commit cannot be signed; .*gpg")
        refused(top, Signing("openpgp", gpg_key("robot"), program="false"), "the commit cannot be signed")

    def test_what_does_not_verify(self, top: Path) -> None:
        repo = open_repository(top)
        mine, other = Signing("openpgp", gpg_key("robot")), Signing("openpgp", gpg_key("other"))
        commit = made(top, mine)
        verify_signature(repo, commit, mine, ROBOT)
        with pytest.raises(RepositoryError, match=f"the signature is by {mine.key}"):
            verify_signature(repo, commit, other, ROBOT)
        with pytest.raises(RepositoryError, match="it is not signed"):
            verify_signature(repo, repo.head, mine, Identity("Ann", "ann@example.com"))


def test_without_signing_the_users_setting_does_not_matter(bare: Path, top: Path) -> None:
    git(top, "config", "commit.gpgsign", "true")
    git(top, "config", "gpg.program", "false")
    repo = open_repository(top)
    commit = make_commit(repo, OWNED, "x", identity=ROBOT, when=WHEN, parent=repo.head)
    assert "gpgsig" not in git(top, "cat-file", "-p", commit)
    assert head(bare) == repo.head
