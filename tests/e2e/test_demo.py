"""`gitops-ds demo` wherever it is run: the whole story of the guide in one command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.fleet import Answer, assert_narrow, assert_plain, cli, environment, files_below


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, Path]:
    """The demo with no home, no identity, and another folder for temporary files."""
    root = tmp_path_factory.mktemp("demo")
    temporary = root / "another place"
    temporary.mkdir()
    env = {**environment(root), "TMPDIR": str(temporary), "COLUMNS": "80"}
    del env["HOME"]
    answer = cli("demo", cwd=root, env=env)
    assert answer.code == 0, answer
    (folder,) = temporary.glob("gitops-ds-demo-*/fleet")
    return answer, folder


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_it_plans_for_performance_and_then_for_power(shown: tuple[Answer, Path]) -> None:
    answer, _ = shown
    assert answer.err == ""
    first, second = re.findall(r"^Plan: 2 of 2 placed, score (\d+)", answer.out, re.MULTILINE)
    assert (first, second) == ("115", "170")
    assert re.findall(r"^  (mwrs-app0\d -> \S+ as \S+)$", answer.out, re.MULTILINE) == [
        "mwrs-app01 -> cluster1 as 3g.48gb",
        "mwrs-app02 -> cluster2 as 3g.48gb",
        "mwrs-app01 -> cluster1 as 2g.24gb",
        "mwrs-app02 -> cluster2 as 2g.24gb",
    ]
    assert f"+      - name: {'example-powerconsumption-score'}" in answer.out
    assert "+  name: policy-enable-mig-2g-cluster1" in answer.out


def test_it_makes_two_commits_of_its_own_and_leaves_nothing_uncommitted(shown: tuple[Answer, Path]) -> None:
    answer, folder = shown
    said = re.findall(r"^commit ([0-9a-f]{40})$", answer.out, re.MULTILINE)
    assert said == _git(folder, "log", "--format=%H", "--reverse", "--grep=^Gitops-Ds-Plan").split()
    assert len(said) == 2
    assert _git(folder, "rev-list", "--count", "HEAD").strip() == "4"
    assert _git(folder, "status", "--porcelain") == ""
    names = [_git(folder, "ls-tree", "-r", "--name-only", commit, "rendered") for commit in said]
    assert names[0] == names[1]
    assert _git(folder, "log", "-1", "--format=%an <%ae>").strip() == "gitops-ds <gitops-ds@localhost>"


def test_it_fits_a_terminal_and_prints_nothing_else(shown: tuple[Answer, Path]) -> None:
    answer, folder = shown
    paths = (str(folder), "diff --git ", "--- ", "+++ ")
    ours = [line for line in answer.out.splitlines() if not any(path in line for path in paths)]
    assert_narrow(ours)
    assert_plain(answer.out)
    assert "HiGHS" not in answer.out
    assert "Copyright" not in answer.out


def test_a_reader_that_goes_away_does_not_stop_it(tmp_path: Path) -> None:
    line = [sys.executable, "-P", "-m", "gitops_ds", "demo", "new"]
    env = environment(tmp_path)
    with subprocess.Popen(line, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, b"")
    assert _git(tmp_path / "new", "rev-list", "--count", "HEAD").strip() == "4"


def test_it_takes_no_folder_that_holds_something(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("keep")
    answer = cli("demo", "full", cwd=tmp_path, env=environment(tmp_path))
    assert answer.code == 64
    assert "full is not empty" in answer.err
    assert files_below(tmp_path / "full") == {"mine": b"keep"}


def test_a_terminal_gets_colour_unless_it_asks_for_none(tmp_path: Path) -> None:
    def run(extra: dict[str, str], folder: str) -> bytes:
        ours, theirs = os.openpty()
        line = [sys.executable, "-P", "-m", "gitops_ds", "demo", folder]
        env = environment(tmp_path, {"TERM": "xterm-256color", "COLUMNS": "80", **extra})
        with subprocess.Popen(line, cwd=tmp_path, env=env, stdout=theirs, stderr=theirs) as running:
            os.close(theirs)
            out = b""
            while chunk := _read(ours):
                out += chunk
        os.close(ours)
        assert running.returncode == 0
        return out

    assert b"\x1b[" in run({}, "colour")
    assert b"\x1b" not in run({"NO_COLOR": "1"}, "plain")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other side of a terminal is closed
        return b""
