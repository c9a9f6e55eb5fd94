"""kill -9 at every step: a `git` in front of the real one kills whoever called it, as soon as it has done its work.

Whatever was half-done then, the next run recovers by itself: the branch gets the plan once, and the checkout is clean.
"""

import os
import shutil
import subprocess
from itertools import count
from pathlib import Path

import pytest

from tests.e2e.fleet import Answer, Fleet, cli, copy_of
from tests.e2e.published import published

KILLED = -9
WRITING = "fetch hash-object update-index read-tree write-tree commit-tree update-ref checkout-index push"
"""The verbs that leave something behind; GITOPS_DS_EXAMPLES in the environment adds all that only read."""
SCRIPT = """#!/bin/sh
counts="$KILL_ALL"
for word in "$@"; do case " {writing} " in *" $word "*) counts=yes ;; esac; done
[ -n "$counts" ] || exec {git} "$@"
number=$(($(cat "$KILL_COUNT") + 1))
echo "$number" > "$KILL_COUNT"
[ "$number:$KILL_WHEN" = "$KILL_AT:before" ] && kill -9 "$PPID" && exit 1
{git} "$@"
status=$?
[ "$number:$KILL_WHEN" = "$KILL_AT:after" ] && kill -9 "$PPID"
exit $status
"""


def run_until_killed(fleet: Fleet, folder: Path, at: int, when: str, *words: str) -> Answer:
    """`gitops-ds WORDS`, whose `at`-th git is its death."""
    folder.mkdir(exist_ok=True)
    git = folder / "git"
    git.write_text(SCRIPT.replace("{git}", shutil.which("git") or "git").replace("{writing}", WRITING))
    git.chmod(0o755)
    (folder / "count").write_text("0")
    env = fleet.env | {
        "PATH": f"{folder}:{fleet.env['PATH']}",
        "KILL_COUNT": str(folder / "count"),
        "KILL_AT": str(at),
        "KILL_WHEN": when,
        "KILL_ALL": os.environ.get("GITOPS_DS_EXAMPLES", ""),
    }
    return cli(*words, f"--hub=snapshot:{fleet.hub}", cwd=fleet.top, env=env)


@pytest.mark.parametrize("mode", ["--commit", "--push", "--pull-request"])
def test_a_run_that_is_killed_at_any_git_is_made_good_by_the_next(fresh: Fleet, tmp_path: Path, mode: str) -> None:
    published(fresh)
    deaths = 0
    for at in count(1):
        fleet = copy_of(fresh, tmp_path / f"{at}")
        fleet.git("remote", "set-url", "origin", f"file://{fleet.root}/remote.git")
        fleet.write("mine.txt", "not committed\n")
        first = run_until_killed(fleet, tmp_path / "bin", at, "after", "reconcile", mode)
        if first.code != KILLED:
            assert first.code == 0, first
            break
        deaths += 1
        assert_recovered(fleet, mode)
        shutil.rmtree(fleet.root)
    assert deaths > 5


def assert_recovered(fleet: Fleet, mode: str) -> None:
    again = fleet.run("reconcile", mode)
    assert again.code == 0, again
    place = {"--commit": fleet.top, "--push": fleet.root / "remote.git", "--pull-request": fleet.root / "remote.git"}[
        mode
    ]
    branch = "gitops-ds/default" if mode == "--pull-request" else "main"
    line = ["git", "-C", str(place), "log", "--format=%s", branch]
    log = subprocess.run(line, capture_output=True, check=True, env=fleet.env).stdout.decode().splitlines()
    assert log == ["gitops-ds: place 2 workloads, configure 2 clusters", "The intent of the fleet"]
    assert fleet.git("status", "--porcelain") == "?? mine.txt\n"
    left = [path for path in (fleet.top / ".git").rglob("*.lock") if path.parent.name != "gitops-ds"]
    assert not left  # the claim is a lock of the kernel on its file, which stays
    assert "dangling" not in fleet.git("fsck", "--no-dangling", "--strict")


def test_the_killer_kills(fresh: Fleet, tmp_path: Path) -> None:
    assert run_until_killed(fresh, tmp_path / "bin", 1, "before", "reconcile").code == KILLED
    assert os.access(tmp_path / "bin" / "git", os.X_OK)
