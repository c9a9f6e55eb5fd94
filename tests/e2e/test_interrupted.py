"""SIGTERM and SIGINT to the real program: all that it has under way ends, and what had landed before is told."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fleet import Answer, Fleet
from tests.e2e.published import published

PATIENCE = 60.0
RECONCILER = """\
apiVersion: gitops-ds.io/v1alpha1
kind: Reconciler
metadata: {{name: prod}}
spec:
  hooks: {{{moment}: [hooks/slow], timeout: 10m}}
"""
SLOW = """\
#!/bin/sh
setsid sleep 1000 &
echo $! $$ > {began}.new
mv {began}.new {began}
sleep 1000
"""
SLOW_GIT = """\
#!/bin/sh
for word in "$@"; do
  [ "$word" = {verb} ] && echo $$ > {began}.new && mv {began}.new {began} && exec sleep 1000
done
exec {git} "$@"
"""


def interrupted(fleet: Fleet, number: int, began: Path, *words: str, path: Path | None = None) -> Answer:
    """Run a verb, send it the signal as soon as `began` is there, and see that what is named there is gone with it."""
    scratch = fleet.root / "scratch"
    scratch.mkdir()
    folders = f"{path}:{fleet.env['PATH']}" if path else fleet.env["PATH"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gitops_ds", *words, f"--hub=snapshot:{fleet.hub}"],
        cwd=fleet.top,
        env=fleet.env | {"PATH": folders, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: began.exists() or process.poll() is not None)
    assert began.exists(), process.communicate()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    for pid in map(int, began.read_text().split()):
        wait_until(lambda: not is_running(pid))  # noqa: B023 - it is waited for before the next one
    assert list(scratch.iterdir()) == []
    return Answer(process.returncode, out.decode(), err.decode())


def wait_until(happened: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def hooked(fleet: Fleet, moment: str) -> Path:
    """Give the fleet a hook that never ends; the file that it writes its processes to."""
    began = fleet.root / "began"
    fleet.write("intent/reconciler.yaml", RECONCILER.format(moment=moment))
    fleet.write("hooks/slow", SLOW.format(began=began))
    fleet.file("hooks/slow").chmod(0o755)
    fleet.commit("A hook")
    return began


def slow_git(fleet: Fleet, verb: str) -> tuple[Path, Path]:
    """A folder with a git whose one verb never ends, and the file that it writes its process to."""
    folder, began = fleet.root / "bin", fleet.root / "began"
    folder.mkdir()
    git = folder / "git"
    git.write_text(SLOW_GIT.format(verb=verb, began=began, git=shutil.which("git")))
    git.chmod(0o755)
    return folder, began


SIGNALS = pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGTERM, 143, "interrupted by SIGTERM"), (signal.SIGINT, 130, "interrupted")],
)


def assert_said(answer: Answer, code: int, said: str) -> Any:
    """The error as text and as JSON; what had landed."""
    assert answer.code == code, answer
    assert "Traceback" not in answer.err
    assert f"error: {said}\n" in answer.err
    assert (answer.json["kind"], answer.json["exitCode"]) == ("Error", code)
    assert [fault["what"] for fault in answer.json["faults"]] == [said]
    return answer.json["landed"]


@SIGNALS
def test_before_the_commit_nothing_has_landed(fresh: Fleet, number: int, code: int, said: str) -> None:
    began = hooked(fresh, "postRender")
    before = fresh.state()
    assert assert_said(interrupted(fresh, number, began, "reconcile", "-ojson"), code, said) is None
    assert fresh.state() == before


@SIGNALS
@pytest.mark.parametrize("mode", ["--commit", "--push"])
def test_after_the_commit_it_is_told(fresh: Fleet, number: int, code: int, said: str, mode: str) -> None:
    began = hooked(fresh, "postPush")
    published(fresh)
    answer = interrupted(fresh, number, began, "reconcile", "-ojson", mode)
    fresh.git("fetch", "--quiet")
    made = fresh.git("rev-parse", "HEAD" if mode == "--commit" else "origin/main").strip()
    landed = assert_said(answer, code, said)
    assert landed == {"commit": made, "branch": "main", "pushed": mode == "--push", "certain": True}
    where = "pushed to main" if mode == "--push" else "on main"
    assert f"commit {made} had landed before: it is {where}\n" in answer.err


@pytest.mark.parametrize(("verb", "certain"), [("ls-tree", None), ("update-ref", False), ("checkout-index", True)])
def test_git_ends_as_well(fresh: Fleet, verb: str, certain: bool | None) -> None:
    path, began = slow_git(fresh, verb)
    answer = interrupted(fresh, signal.SIGTERM, began, "reconcile", "-ojson", path=path)
    landed = assert_said(answer, 143, "interrupted by SIGTERM")
    assert (landed and landed["certain"]) == certain
    assert fresh.commits == (2 if certain else 1)
    if certain is False:
        assert f"commit {landed['commit']} was under way: look whether it is on main" in answer.err
    assert fresh.run("reconcile").code == 0
    assert fresh.git("status", "--porcelain") == ""
    assert fresh.commits == 2


def test_a_push_that_is_cut_off_may_have_arrived(fresh: Fleet) -> None:
    published(fresh)
    path, began = slow_git(fresh, "push")
    answer = interrupted(fresh, signal.SIGTERM, began, "reconcile", "-ojson", "--push", path=path)
    landed = assert_said(answer, 143, "interrupted by SIGTERM")
    assert (landed["branch"], landed["pushed"], landed["certain"]) == ("main", True, False)
    assert f"commit {landed['commit']} was under way: look whether it is pushed to main" in answer.err


@pytest.mark.parametrize("words", [["plan"], ["diff"], ["explain"]])
def test_every_verb_ends_so(settled: Fleet, words: Sequence[str]) -> None:
    path, began = slow_git(settled, "ls-tree")
    answer = interrupted(settled, signal.SIGTERM, began, *words, path=path)
    assert (answer.code, answer.out, answer.err) == (143, "", "error: interrupted by SIGTERM\n")


def test_a_failure_after_the_commit_tells_of_it(fresh: Fleet) -> None:
    folder = fresh.root / "bin"
    folder.mkdir()
    git = folder / "git"
    git.write_text(SLOW_GIT.format(verb="checkout-index", began="/dev/null", git=shutil.which("git")))
    git.write_text(
        git.read_text()
        .replace("&& echo $$ > /dev/null.new && mv /dev/null.new /dev/null", "")
        .replace("exec sleep 1000", "exit 1")
    )
    git.chmod(0o755)
    answer = fresh.run("reconcile", "-ojson", env={"PATH": f"{folder}:{os.environ['PATH']}"})
    assert answer.code == 1, answer
    assert answer.json["landed"] == {"commit": fresh.head, "branch": "main", "pushed": False, "certain": True}
