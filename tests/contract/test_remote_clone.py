"""Cached clones of our own: damaged, half-made, opened by several at once, and over TLS."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from gitops_ds.errors import RepositoryError, TransientError
from gitops_ds.repo import Access, fetch_branch, open_clone, open_repository, push_commit, read_commit
from tests.contract.test_remote_push import ACCESS, _closed, bare, head, made, someone_pushes, top
from tests.remotes import git, web_server

__all__ = ["_closed", "bare", "top"]  # fixtures that are shared


def contents(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


def _no_objects(clone: Path) -> None:
    shutil.rmtree(clone / "objects")


def _no_head(clone: Path) -> None:
    (clone / "HEAD").unlink()


def _torn_packs(clone: Path) -> None:
    for pack in (clone / "objects/pack").glob("*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(pack.read_bytes()[:40])


def _empty(clone: Path) -> None:
    shutil.rmtree(clone)
    clone.mkdir()


def _another_url(clone: Path) -> None:
    git(clone, "config", "remote.origin.url", "/elsewhere")


def _no_ref(clone: Path) -> None:
    (clone / "packed-refs").unlink(missing_ok=True)
    shutil.rmtree(clone / "refs/heads")


def _half_made(clone: Path) -> None:
    shutil.rmtree(clone)
    left = clone.with_name(f"{clone.name}.abc.new")
    (left / "clone/objects").mkdir(parents=True)


DAMAGES = [_no_objects, _no_head, _torn_packs, _empty, _another_url, _no_ref, _half_made]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.strip("_"))
def test_it_repairs_itself(bare: Path, tmp_path: Path, damage: object) -> None:
    cache = tmp_path / "cache"
    first = open_clone(bare.as_uri(), cache, ACCESS)
    assert callable(damage)
    damage(first.top)
    moved = someone_pushes(bare)
    again = open_clone(bare.as_uri(), cache, ACCESS)
    assert (again.top, again.head) == (first.top, moved)
    assert len(read_commit(again, "HEAD", ["src"], 1000)) == 3
    assert contents(cache) == [first.top.name]


def test_what_is_wrong_with_the_remote_leaves_the_clone(bare: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = open_clone(str(bare), cache, ACCESS)
    kept = sorted(first.top.rglob("*"))
    bare.rename(tmp_path / "away")
    with pytest.raises(RepositoryError, match="no such repository"):
        open_clone(str(bare), cache, ACCESS)
    assert sorted(first.top.rglob("*")) == kept
    (tmp_path / "away").rename(bare)
    assert open_clone(str(bare), cache, ACCESS) == first


def test_an_empty_remote(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "empty.git")
    for branch in (None, "main"):
        with pytest.raises(RepositoryError, match=r"empty\.git: the remote has no"):
            open_clone(str(tmp_path / "empty.git"), tmp_path / "cache", ACCESS, branch)


def test_a_cache_that_cannot_be_made(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RepositoryError, match="cache of clones cannot be used"):
        open_clone(str(bare), tmp_path / "file" / "cache", ACCESS)


def test_several_processes_at_once(bare: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from gitops_ds.repo import Access, open_clone, read_commit\n"
        "repo = open_clone(sys.argv[1], Path(sys.argv[2]), Access())\n"
        "print(repo.head, len(read_commit(repo, repo.head, ['src'], 1000)))"
    )
    command = [sys.executable, "-c", program, bare.as_uri(), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate()[0] for process in running] == [f"{head(bare)} 3\n"] * 4
    assert len(contents(tmp_path / "cache")) == 1


def test_names_of_branches_that_stand_in_each_others_way(bare: Path, tmp_path: Path) -> None:
    git(bare, "branch", "a", "main")
    assert open_clone(str(bare), tmp_path / "cache", ACCESS, "a").head == head(bare)
    git(bare, "branch", "-D", "a")
    git(bare, "branch", "a/b", "main~1")
    found = open_clone(str(bare), tmp_path / "cache", ACCESS, "a/b")
    assert (found.branch, found.head) == ("refs/heads/a/b", git(bare, "rev-parse", "main~1"))
    assert git(found.top, "rev-parse", "HEAD") == found.head


def test_packs_do_not_pile_up(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitops_ds.repo.clone._PACKS", 4)
    git(bare, "config", "fetch.unpackLimit", "1")
    for number in range(8):
        repo = open_clone(bare.as_uri(), tmp_path / "cache", ACCESS)
        assert len(list((repo.top / "objects/pack").glob("*.pack"))) <= 6
        commit = made(repo, repo.head, b"%d" % number)
        push_commit(repo, "origin", commit, "main", repo.head, ACCESS)
    git(repo.top, "fsck", "--connectivity-only")


def test_tls(bare: Path, top: Path, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    made_by = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "ca.pem")]
    subprocess.run([*made_by, *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca.pem", tmp_path / "key.pem")
    git(bare, "config", "http.receivepack", "true")
    repo = open_repository(top)
    commit = made(repo, repo.head)
    with web_server(bare.parent, context) as web:
        assert web.url.startswith("https://")
        with pytest.raises(RepositoryError, match="the remote's certificate is not trusted"):
            fetch_branch(repo, f"{web.url}/origin.git", "main", ACCESS)
        with pytest.raises(RepositoryError, match="the remote's certificate is not trusted"):
            push_commit(repo, f"{web.url}/origin.git", commit, "main", repo.head, ACCESS)
        trusted = Access(ca_file=tmp_path / "ca.pem")
        push_commit(repo, f"{web.url}/origin.git", commit, "main", repo.head, trusted)
        assert head(bare) == commit
        assert open_clone(f"{web.url}/origin.git", tmp_path / "cache", trusted).head == commit
    with pytest.raises(TransientError):
        open_clone(f"{web.url}/origin.git", tmp_path / "cache", trusted)
