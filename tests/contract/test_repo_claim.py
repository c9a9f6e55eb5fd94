"""One reconciler per branch on one machine: locks between real processes, and after one was killed."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from gitops_ds.errors import ContentionError
from gitops_ds.repo import claim, open_repository
from tests.contract.test_remote_push import _closed, bare, top
from tests.remotes import git, snapshot

__all__ = ["_closed", "bare", "top"]  # fixtures that are shared

HOLD = """
import sys, time
from pathlib import Path
from gitops_ds.repo import claim, open_repository
with claim(open_repository(Path(sys.argv[1])), sys.argv[2]):
    print("held", flush=True)
    time.sleep(600)
"""


def holding(folder: Path, branch: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(folder), branch]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_one_at_a_time_and_none_after_a_crash(top: Path) -> None:
    repo, before = open_repository(top), snapshot(top)
    with holding(top, "main") as process:
        held = f"at work on branch main; process {process.pid} holds it"
        with pytest.raises(ContentionError, match=held), claim(repo, "refs/heads/main"):
            pytest.fail("two at once")
        with claim(repo, "other"):
            pass
        process.kill()
    with claim(repo, "main"):
        pass
    assert snapshot(top) == before


def test_from_another_working_tree_of_the_same_repository(top: Path) -> None:
    git(top, "worktree", "add", "-q", "-b", "side", str(top.parent / "linked"))
    linked = open_repository(top.parent / "linked")
    with claim(open_repository(top), "main"), pytest.raises(ContentionError), claim(linked, "main"):
        pytest.fail("two at once")


def test_waiting(top: Path) -> None:
    repo = open_repository(top)
    with holding(top, "main") as process:
        with pytest.raises(ContentionError), claim(repo, "main", timedelta(seconds=0.2)):
            pytest.fail("two at once")
        process.terminate()
        with claim(repo, "main", timedelta(seconds=60)):
            pass


def test_it_is_let_go_of_after_an_error(top: Path) -> None:
    repo = open_repository(top)
    with pytest.raises(KeyError), claim(repo, "main"):
        raise KeyError
    with claim(repo, "main"):
        pass
