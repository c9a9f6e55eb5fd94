"""The scripts of the pipelines for GitHub and GitLab, taken out of what is printed and run as a runner would.

They run in a shell against real repositories, and against a real HTTP server that speaks as much of the forges' API for
comments as they use.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gitops_ds.cli.main import main
from gitops_ds.report.markdown import LIMIT, PRINTED, plan_markdown
from tests.bootstraps import fleet, pipeline, step, workflows
from tests.e2e.fleet import INTENT, Fleet, new_fleet
from tests.e2e.published import Published, published
from tests.unit.test_markdown import _large

DEMO, LIVE = ("--hub=demo", "--install=."), ("--hub=kubernetes:prod",)


@pytest.fixture
def fresh(tmp_path: Path) -> Fleet:
    """The sample with its intent committed and nothing rendered."""
    return new_fleet(tmp_path / "root")


@dataclass
class Board:
    """The comments of one pull request, on a forge."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    me: int = 7
    url: str = ""

    def say(self, body: str, login: str = "github-actions[bot]") -> None:
        author = {"login": login, "id": self.me if login.startswith("github-actions") else 8}
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": author, "author": author})


@contextmanager
def board() -> Iterator[Board]:
    """A forge with one pull request, for GitHub and GitLab alike."""
    state = Board()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _answer(self, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            state.calls.append(f"{self.command} {parts.path}")
            state.tokens.add(self.headers.get("Authorization") or f"token {self.headers.get('PRIVATE-TOKEN')}")
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size))["body"] if size else None
            if parts.path.endswith("/user"):
                return self._answer({"id": state.me})
            if self.command == "GET":
                page = int(parse_qs(parts.query)["page"][0])
                return self._answer(state.comments[(page - 1) * 100 : page * 100])
            assert body is not None
            assert len(body) < LIMIT
            if self.command == "POST":
                state.say(body)
            else:
                (found,) = [one for one in state.comments if str(one["id"]) == parts.path.rsplit("/", 1)[1]]
                found["body"] = body
            return self._answer(state.comments[-1])

        do_GET = do_POST = do_PATCH = do_PUT = _serve  # noqa: N815

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


MARKER = "<!-- gitops-ds plan -->"


def comment(capsys: pytest.CaptureFixture[str], found: Board, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the step that comments, as `shell: python` does."""
    one = step(workflows(capsys, *DEMO, f"--repo={fleet(folder / 'fleet')}")["plan"], "Comment")
    assert one["shell"] == "python"
    env = {key: value for key, value in one["env"].items() if "${{" not in value}
    api = f"{found.url}/repos/acme/fleet/issues"
    env |= {"COMMENTS": f"{api}/12/comments", "COMMENT": f"{api}/comments", "JOB": "https://ci.example.com/1"}
    env |= {"PLAN": str(folder / "plan.md"), "TOKEN": "t0ken", "PATH": os.environ["PATH"]}
    (folder / "comment.py").write_text(one["run"])
    line = [sys.executable, "-W", "error", str(folder / "comment.py")]
    return subprocess.run(line, env=env, capture_output=True, text=True, check=False)


def test_there_is_one_comment_which_is_kept_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with board() as found:
        for text in ("first\n", "second \N{SNOWMAN}\n"):
            (tmp_path / "plan.md").write_text(text, encoding="utf-8")
            assert comment(capsys, found, tmp_path).returncode == 0
            assert [one["body"] for one in found.comments] == [f"{MARKER}\n{text}"]
        assert found.calls == [
            "GET /repos/acme/fleet/issues/12/comments",
            "POST /repos/acme/fleet/issues/12/comments",
            "GET /repos/acme/fleet/issues/12/comments",
            "PATCH /repos/acme/fleet/issues/comments/1",
        ]
        assert found.tokens == {"Bearer t0ken"}


def test_the_comment_is_found_behind_hundreds_and_never_somebody_elses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.md").write_text("new\n")
    with board() as found:
        for i in range(150):
            found.say(f"{MARKER}\nforged {i}", login="mallory")
        found.say("no marker")
        found.say(f"{MARKER}\nold")
        assert comment(capsys, found, tmp_path).returncode == 0
        assert found.calls[-1] == "PATCH /repos/acme/fleet/issues/comments/152"
        assert found.comments[151]["body"] == f"{MARKER}\nnew\n"
        assert all("forged" in one["body"] for one in found.comments[:150])


def test_a_plan_that_cannot_be_made_does_not_leave_an_old_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with board() as found:
        found.say(f"{MARKER}\nold")
        assert comment(capsys, found, tmp_path).returncode == 0
        said = f"{MARKER}\nNo plan could be made: [the job](https://ci.example.com/1) says why.\n"
        assert [one["body"] for one in found.comments] == [said]


def test_a_comment_has_room_for_the_longest_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = plan_markdown(_large(5000), None, limit=PRINTED)
    assert PRINTED - 1000 < len(text) <= PRINTED
    (tmp_path / "plan.md").write_text(text, encoding="utf-8")
    with board() as found:
        assert comment(capsys, found, tmp_path).returncode == 0
        assert len(found.comments[0]["body"]) < 65_536


def run(script: str, repo: Fleet, env: dict[str, str], shell: str = "bash") -> subprocess.CompletedProcess[str]:
    """Run a script as a runner's shell does: it ends at the first failure."""
    line = [shell, *(["--noprofile", "--norc", "-eo", "pipefail"] if shell == "bash" else ["-e"]), "-c", script]
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    return subprocess.run(
        line, env={**repo.env, "PATH": path, **env}, cwd=repo.top, capture_output=True, text=True, check=False
    )


def plan_step(capsys: pytest.CaptureFixture[str], repo: Fleet, *words: str) -> tuple[str, dict[str, str]]:
    """The script that plans and its environment, with the expressions of a runner filled in."""
    one = step(workflows(capsys, *words, f"--repo={repo.top}")["plan"], "Plan")
    env = {key: value.replace("${{ runner.temp }}", str(repo.root)) for key, value in one["env"].items()}
    env["GITHUB_STEP_SUMMARY"] = str(repo.root / "summary.md")
    return one["run"], env


def test_a_pull_request_is_planned(fresh: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    script, env = plan_step(capsys, fresh, *DEMO)
    done = run(script, fresh, env)
    assert done.returncode == 0, done
    text = (fresh.root / "plan.md").read_text()
    assert text.startswith("## gitops-ds: place 2 workloads")
    assert (fresh.root / "summary.md").read_text() == text


def test_a_wrong_intent_fails_the_job_and_leaves_no_plan(fresh: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    script, env = plan_step(capsys, fresh, *DEMO)
    fresh.edit(INTENT, "maxAge: 15m", "maxAge: soon")
    done = run(script, fresh, env)
    assert done.returncode == 1
    assert "maxAge" in done.stderr
    assert not (fresh.root / "plan.md").exists()


def test_a_workload_without_a_place_is_a_warning(fresh: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    script, env = plan_step(capsys, fresh, *DEMO)
    fresh.edit(INTENT, "- name: mwrs-app01", "- name: mwrs-app01\n      requests: {gpu: 9}", 1)
    done = run(script, fresh, env)
    assert (done.returncode, done.stdout) == (0, "::warning::a workload has no place\n"), done
    assert "Without a place" in (fresh.root / "plan.md").read_text()


def test_a_kubeconfig_is_for_this_user_alone_and_a_missing_one_is_said(
    fresh: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    script, env = plan_step(capsys, fresh, *LIVE)
    env["KUBECONFIG_TEXT"] = ""
    done = run(script, fresh, env)
    assert (done.returncode, done.stdout) == (1, "::error::the secret GITOPS_DS_KUBECONFIG is not set\n")
    env["KUBECONFIG_TEXT"] = "apiVersion: v1\nkind: Config\n"
    done = run(script, fresh, env)
    assert done.returncode == 1
    assert "prod" in done.stderr
    file = fresh.root / "kubeconfig"
    assert file.read_text() == "apiVersion: v1\nkind: Config\n\n"
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def remote(fresh: Fleet) -> Published:
    return published(fresh)


def test_the_reconciler_pushes_once(remote: Published, capsys: pytest.CaptureFixture[str]) -> None:
    one = step(workflows(capsys, *DEMO, f"--repo={remote.fleet.top}")["reconcile"], "Reconcile")
    env = {**one["env"], "GITOPS_DS_TOKEN": "t0ken"}
    for _ in range(2):
        done = run(one["run"], remote.fleet, env)
        assert done.returncode == 0, done
        assert remote.log("%s")[0] == "gitops-ds: place 2 workloads, configure 2 clusters"
        assert len(remote.log()) == 2


def test_a_held_plan_is_a_warning_and_a_refused_one_an_error(
    remote: Published, capsys: pytest.CaptureFixture[str]
) -> None:
    one = step(workflows(capsys, *DEMO, f"--repo={remote.fleet.top}")["reconcile"], "Reconcile")
    env = {**one["env"], "GITOPS_DS_TOKEN": "t0ken"}
    remote.git("config", "receive.denyDeletes", "true")
    hooks = remote.bare / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-receive").write_text("#!/bin/sh\necho protected branch >&2; exit 1\n")
    (hooks / "pre-receive").chmod(0o755)
    assert run(one["run"], remote.fleet, env).returncode == 6
    (hooks / "pre-receive").unlink()
    assert main(["hold", "--reason=maintenance", "--by=Pat", f"--repo={remote.fleet.top}"]) == 0
    remote.fleet.git("push", "--quiet", "origin", "main")
    done = run(one["run"], remote.fleet, env)
    assert done.returncode == 0, done
    assert "::warning::the plan is held: nothing was committed" in done.stdout


# GitLab


def gitlab_env(job: dict[str, Any], found: Board, **more: str) -> dict[str, str]:
    """The variables of a job, filled in as GitLab does."""
    given = {
        "CI_API_V4_URL": f"{found.url}/api/v4",
        "CI_JOB_URL": "https://gitlab.example.com/jobs/1",
        "CI_MERGE_REQUEST_IID": "12",
        "CI_MERGE_REQUEST_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "5",
        **more,
    }
    values = {name: re.sub(r"\$(\w+)", lambda m: given[m[1]], text) for name, text in job["variables"].items()}
    return {**given, **values}


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_merge_request_is_planned_and_told(fresh: Fleet, capsys: pytest.CaptureFixture[str], shell: str) -> None:
    job = pipeline(capsys, fresh.top, *DEMO)["gitops-ds-plan"]
    with board() as found:
        env = gitlab_env(job, found, GITOPS_DS_COMMENT_TOKEN="t0ken")
        for _ in range(2):
            done = run("\n".join(job["script"]), fresh, env, shell)
            assert done.returncode == 0, done
        (note,) = found.comments
        assert note["body"].startswith(f"{MARKER}\n## gitops-ds: place 2 workloads")
        assert found.calls[-1] == "PUT /api/v4/projects/5/merge_requests/12/notes/1"
        assert found.tokens == {"token t0ken"}
    assert (fresh.top / job["artifacts"]["paths"][0]).exists()


def test_a_failed_plan_fails_the_job_and_is_told(fresh: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    job = pipeline(capsys, fresh.top, *DEMO)["gitops-ds-plan"]
    fresh.edit(INTENT, "maxAge: 15m", "maxAge: soon")
    with board() as found:
        env = gitlab_env(job, found, GITOPS_DS_COMMENT_TOKEN="t0ken")
        done = run(job["script"][1], fresh, env)
        assert done.returncode == 1
        assert "maxAge" in done.stderr
        assert found.comments[0]["body"].endswith("[the job](https://gitlab.example.com/jobs/1) says why.\n")


def test_a_fork_is_checked_and_not_planned(fresh: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    job = pipeline(capsys, fresh.top, *LIVE)["gitops-ds-plan"]
    with board() as found:
        env = gitlab_env(job, found, CI_MERGE_REQUEST_SOURCE_PROJECT_ID="6")
        done = run("\n".join(job["script"]), fresh, env)
        assert done.returncode == 0, done
        assert "a fork gets no access to the hub" in done.stdout
        assert found.calls == []
        env = gitlab_env(job, found)
        assert "GITOPS_DS_KUBECONFIG is not set" in run("\n".join(job["script"]), fresh, env).stdout


def test_the_pipeline_reconciles(remote: Published, capsys: pytest.CaptureFixture[str]) -> None:
    job = pipeline(capsys, remote.fleet.top, *DEMO)["gitops-ds-reconcile"]
    assert job["resource_group"] == "gitops-ds-reconcile"
    env = {**job["variables"], "CI_PROJECT_URL": f"file://{remote.bare}".removesuffix(".git")}
    done = run("\n".join(job["script"]), remote.fleet, env)
    assert (done.returncode, done.stdout) == (1, "error: the variable GITOPS_DS_TOKEN is not set\n")
    done = run("\n".join(job["script"]), remote.fleet, {**env, "GITOPS_DS_TOKEN": "t0ken"})
    assert done.returncode == 0, done
    assert remote.log("%s")[0] == "gitops-ds: place 2 workloads, configure 2 clusters"
