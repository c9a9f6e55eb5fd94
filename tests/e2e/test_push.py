"""`reconcile --push` against real remotes: what lands, what is refused, and that the checkout is nobody's business."""

import itertools
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Answer, Fleet, assert_refused, cli
from tests.e2e.published import Published, hook, published
from tests.remotes import Web, web_server

MARKER = "tok-planted-7319"
OURS = "gitops-ds:"


@pytest.fixture
def remote(fresh: Fleet) -> Published:
    """The sample at a remote, with nothing rendered yet."""
    return published(fresh)


def ours(remote: Published) -> list[str]:
    return [line for line in remote.log("%s") if line.startswith(OURS)]


def test_the_checkout_is_left_alone_whatever_state_it_is_in(remote: Published) -> None:
    fleet = remote.fleet
    fleet.git("checkout", "--quiet", "--detach")
    fleet.write("notes.txt", "mine\n")
    fleet.write(INTENT, fleet.file(INTENT).read_text() + "# not committed\n")
    fleet.write("staged.txt", "staged\n")
    fleet.git("add", "staged.txt")
    before, refs = fleet.state(), fleet.git("for-each-ref", "refs/heads")
    answer = remote.push("--branch=main")
    assert answer.code == 0, answer
    assert fleet.state() == before
    assert fleet.git("for-each-ref", "refs/heads") == refs
    assert ours(remote) == ["gitops-ds: place 2 workloads, configure 2 clusters"]
    assert remote.push("--branch=main").code == 0
    assert len(ours(remote)) == 1


@pytest.mark.parametrize("words", [("--depth=1",), ("--filter=blob:none", "--no-checkout"), ("--bare",)])
def test_any_clone_will_do(remote: Published, tmp_path: Path, words: tuple[str, ...]) -> None:
    remote.git("config", "uploadpack.allowFilter", "true")
    other = remote.clone(tmp_path / "other", *words)
    if "--bare" in words:
        answer = cli("reconcile", "--push", f"--repo=file://{remote.bare}", f"--hub=snapshot:{remote.fleet.hub}",
                     cwd=tmp_path, env=other.env)  # fmt: skip
    else:
        answer = other.run("reconcile", "--push")
    assert answer.code == 0, answer
    assert len(ours(remote)) == 1
    assert other.run("reconcile", "--push").code == 0 if "--bare" not in words else True
    assert len(ours(remote)) == 1


def test_eight_reconcilers_and_two_people_on_one_branch(remote: Published, tmp_path: Path) -> None:
    people = [remote.clone(tmp_path / f"person{i}") for i in range(2)]
    robots = [remote.clone(tmp_path / f"robot{i}") for i in range(8)]
    said = 4

    def work(person: Fleet) -> list[str]:
        made = []
        for i in range(said):
            person.git("pull", "--quiet", "--rebase")
            text = person.file(INTENT).read_text()
            swap = (PERFORMANCE, POWER) if PERFORMANCE in text else (POWER, PERFORMANCE)
            person.write(INTENT, text.replace(*swap) if person is people[0] else text)
            person.write(f"notes/{person.root.name}-{i}.txt", "a note\n")
            person.commit(f"{person.root.name} {i}")
            while "error:" in person.git("push", "--quiet", "origin", "HEAD:main", check=False):
                person.git("pull", "--quiet", "--rebase")
            made.append(f"{person.root.name} {i}")
        return made

    def reconcile(robot: Fleet) -> list[Answer]:
        return [robot.run("reconcile", "--push", "--branch=main") for _ in range(3)]

    with ThreadPoolExecutor(10) as pool:
        written, runs = [pool.submit(work, one) for one in people], [pool.submit(reconcile, one) for one in robots]
        made = [message for one in written for message in one.result()]
        answers = [answer for one in runs for answer in one.result()]
    assert {answer.code for answer in answers} == {0}, [a for a in answers if a.code]
    last = remote.push()
    assert last.code == 0, last

    subjects = remote.log("%s")
    assert sorted(s for s in subjects if s in made) == sorted(made)
    assert not remote.log("%H", "--merges")
    plans = [line for line in remote.log("%(trailers:key=Gitops-Ds-Plan,valueonly,separator=%x2c)|%s") if OURS in line]
    assert all(one.partition("|")[0] != two.partition("|")[0] for one, two in itertools.pairwise(plans))
    for commit in remote.log("%H"):
        changed = remote.git("show", "--format=", "--name-only", commit).splitlines()
        by_us = remote.git("show", "--no-patch", "--format=%s", commit).startswith(OURS)
        assert {path.startswith("rendered/") for path in changed} <= {by_us}, commit
    assert remote.push("--output=json").json["status"] == "unchanged"


@pytest.mark.parametrize("when", ["before", "during", "after"])
def test_a_connection_that_is_cut_neither_repeats_nor_loses_a_plan(remote: Published, when: str) -> None:
    with web_server(remote.bare.parent) as web:
        remote.fleet.git("remote", "set-url", "origin", f"{web.url}/remote.git")
        remote.git("config", "http.receivepack", "true")
        web.fault = when
        answer = remote.push()
        web.fault = None
        if when == "after":
            assert answer.code == 0, answer
            assert len(ours(remote)) == 1
        else:
            assert_refused(answer, 1, "try:")
            assert not ours(remote)
        assert remote.push().code == 0
        assert len(ours(remote)) == 1
        assert remote.push("--output=json").json["status"] == "unchanged"


def pushes(web: Web) -> int:
    return web.count("POST", "git-receive-pack")


REFUSALS: dict[str, tuple[Callable[[Published], object], tuple[str, ...]]] = {
    "declined": (lambda r: hook(r.bare, "pre-receive", "echo 'only on weekdays' >&2; exit 1"), ("only on weekdays",)),
    "protected": (
        lambda r: hook(
            r.bare, "update", "echo 'GH006: Protected branch update failed for refs/heads/main.' >&2; exit 1"
        ),
        ("Protected branch", "pull-request"),
    ),
    "hidden": (lambda r: r.git("config", "receive.hideRefs", "refs/heads/main"), ("main",)),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_a_remote_refuses_is_said_once_and_not_tried_again(remote: Published, case: str) -> None:
    prepare, words = REFUSALS[case]
    prepare(remote)
    remote.git("config", "http.receivepack", "true")
    before, head = remote.fleet.state(), remote.head
    with web_server(remote.bare.parent) as web:
        remote.fleet.git("remote", "set-url", "origin", f"{web.url}/remote.git")
        answer = remote.push()
        assert pushes(web) <= 2  # one asks whether it has to log in
    assert_refused(answer, 6, *words)
    assert (remote.fleet.state(), remote.head) == (before, head)


def test_a_wrong_token_is_refused_and_never_shown(remote: Published) -> None:
    remote.git("config", "http.receivepack", "true")
    before, head = remote.fleet.state(), remote.head
    with web_server(remote.bare.parent) as web:
        web.token = "the right one"
        remote.fleet.git("remote", "set-url", "origin", f"{web.url}/remote.git")
        answer = remote.push(env={"GITOPS_DS_TOKEN": MARKER})
        assert_refused(answer, 6, "token")
        assert MARKER not in answer.err
        web.token = MARKER
        assert remote.push(env={"GITOPS_DS_TOKEN": MARKER}).code == 0
        token = remote.fleet.root / "token"
        token.write_text(MARKER)
        assert remote.push(env={"GITOPS_DS_TOKEN_FILE": str(token)}).code == 0
    assert remote.head != head
    assert remote.fleet.state() == before
    held = subprocess.run(["grep", "-rl", MARKER, str(remote.fleet.root)], capture_output=True, check=False)
    assert held.stdout.decode().split() == [str(token)]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file system of its own to fill")
@pytest.mark.parametrize("side", ["remote", "here"])
def test_a_full_disk_leaves_nothing_half_done(remote: Published, tmp_path: Path, side: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        _check_full_disk(remote, disk, side)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _check_full_disk(remote: Published, disk: Path, side: str) -> None:
    fleet = remote.fleet
    if side == "remote":
        remote.git("clone", "--quiet", "--bare", ".", str(disk / "full.git"))
        fleet.git("remote", "set-url", "origin", f"file://{disk}/full.git")
        clone, target = fleet, disk / "full.git"
    else:
        fleet.git("clone", "--quiet", f"file://{remote.bare}", str(disk / "fleet"))
        (disk / "hub").symlink_to(fleet.hub)
        (disk / "home").mkdir()
        clone, target = Fleet(disk), remote.bare
    filler = disk / "filler"
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4k"], capture_output=True, check=False)
    head = fleet.git("-C", str(target), "rev-parse", "main")
    before = clone.state()
    answer = clone.run("reconcile", "--push", "--branch=main", f"--hub=snapshot:{fleet.hub}")
    assert answer.code in (1, 6), answer
    assert "No space left" in answer.err or "disk" in answer.err, answer.err
    assert clone.state() == before
    assert fleet.git("-C", str(target), "rev-parse", "main") == head
    filler.unlink()
    assert clone.run("reconcile", "--push", "--branch=main", f"--hub=snapshot:{fleet.hub}").code == 0


def test_a_remote_that_is_not_there(remote: Published) -> None:
    remote.fleet.git("remote", "set-url", "origin", "file:///nowhere/at/all.git")
    assert_refused(remote.push(), 1, "/nowhere/at/all.git")
    assert_refused(remote.push("--remote=upstream"), 1, "upstream")
    remote.fleet.git("remote", "set-url", "origin", f"file://{remote.bare}")
    assert_refused(remote.push("--branch=nothing"), 1, "nothing")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1/x.git?private_token=tok-planted-7319", "a ? or # has no place in it"),
        ("http://bob:tok-planted-7319@127.0.0.1:1/x.git#tok-planted-7319", "a ? or # has no place in it"),
        ("http://bob:tok-planted-7319@[::1/x", "its host or port is none"),
        ("http://bob:tok-planted-7319/more@127.0.0.1/x", "its host or port is none"),
        ("http://bob:tok-planted-7319", "its host or port is none"),
        ("http://[::1/x", "its host or port is none"),
    ],
)
@pytest.mark.parametrize("option", ["--repo", "--remote"])
def test_a_url_with_more_than_an_address_is_refused_unseen(
    remote: Published, tmp_path: Path, url: str, why: str, option: str
) -> None:
    cache = tmp_path / "cache"
    words = ("reconcile", "--push", f"{option}={url}", "--branch=main")
    for form in ("text", "json"):
        answer = remote.fleet.run(*words, f"--output={form}", env={"GITOPS_DS_CACHE": str(cache)})
        assert answer.code == 1, answer
        assert why in answer.out + answer.err
        assert MARKER not in answer.out + answer.err
    assert not [path for path in (*cache.rglob("*"), *remote.fleet.top.rglob("*")) if MARKER in path.name]


def test_a_query_in_the_settings_of_git_is_not_shown(remote: Published) -> None:
    remote.fleet.git("remote", "set-url", "origin", f"http://127.0.0.1:1/x.git?private_token={MARKER}")
    answer = remote.fleet.run("reconcile", "--push")
    assert answer.code != 0
    assert MARKER not in answer.out + answer.err


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (f"http://bob:{MARKER}@git.example.com/x", "would be committed"),
        (f"https://{MARKER}@git.example.com/x", "would be committed"),
        (f"ssh://git:{MARKER}@git.example.com/x", "would be committed"),
        (f"https://git.example.com/x?token={MARKER}", "no ? and no #"),
        (f"https://bob:{MARKER}@[::1/x", "this is no URL of a remote"),
    ],
)
def test_no_secret_of_a_remote_is_committed(fresh: Fleet, url: str, why: str) -> None:
    head = "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: fleet}\n"
    fresh.write("intent/reconciler.yaml", f'{head}spec: {{git: {{remote: "{url}"}}}}\n')
    answer = fresh.run("validate")
    assert_refused(answer, 1, why, "reconciler.yaml:4:")
    assert MARKER not in answer.err


@pytest.mark.parametrize("kind", ["two lines", "device", "long", "environment"])
def test_what_is_no_token_alone_is_refused(remote: Published, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "token"
    file.write_text(f"{MARKER}\nhost=evil\n" if kind == "two lines" else MARKER * 10_000)
    env = {"GITOPS_DS_TOKEN_FILE": "/dev/zero" if kind == "device" else str(file)}
    if kind == "environment":
        env = {"GITOPS_DS_TOKEN": f"{MARKER}\nhost=evil"}
    answer = remote.fleet.run("reconcile", "--push", env=env)
    assert answer.code in {1, 64}, answer
    assert {"device": "no regular file", "environment": "line break"}.get(kind, "more than a token") in answer.err
    assert MARKER not in answer.err
    assert ours(remote) == []


@pytest.mark.parametrize("words", [("--push", "--pull-request"), ("--commit", "--push"), ("--pull-request", "--push")])
def test_there_is_one_way_into_git(remote: Published, words: tuple[str, ...]) -> None:
    for verb in ("reconcile", "watch"):
        assert_refused(remote.fleet.run(verb, *words), 64, "do not go together")
    assert ours(remote) == []
