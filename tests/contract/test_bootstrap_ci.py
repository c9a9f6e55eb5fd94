"""The pipelines for GitHub and GitLab, held against their schemas, linters, and what they may and may not do."""

import json
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

from gitops_ds.bootstrap.github import VERSIONS
from tests.bootstraps import fleet, pipeline, printed, step, workflows

TOP = Path(__file__).parents[2]
OWN = ("--hub=demo", "--install=.")
HUBS = {"live": ("--hub=kubernetes:prod",), "demo": OWN, "request": ("--hub=kubernetes", "--pull-request")}


# Schemas and linters


@pytest.fixture(params=sorted(HUBS))
def github(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the workflows."""
    printed(capsys, "github", *HUBS[request.param], f"--repo={fleet(tmp_path / 'fleet')}", f"--to={tmp_path / 'out'}")
    return tmp_path / "out" / ".github" / "workflows"


def tool(name: str) -> str:
    """A program of this environment."""
    return str(Path(sysconfig.get_path("scripts")) / name)


def assert_passes(*line: str) -> None:
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=TOP)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("folder", ["own", "printed"])
def test_workflows_pass_the_schema_and_the_audit(folder: str, github: Path) -> None:
    where = github if folder == "printed" else TOP / ".github" / "workflows"
    files = sorted(map(str, where.glob("*.yml")))
    assert_passes(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files)
    assert_passes(tool("zizmor"), "--offline", "--no-progress", "--no-config", *files)


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="no actionlint here")
def test_workflows_pass_actionlint(github: Path) -> None:
    files = sorted(map(str, [*github.glob("*.yml"), *(TOP / ".github" / "workflows").glob("*.yml")]))
    assert_passes("actionlint", "-no-color", *files)


@pytest.mark.parametrize("words", HUBS.values(), ids=HUBS)
def test_the_pipeline_passes_the_schema(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, "gitlab", *words, f"--repo={fleet(tmp_path / 'fleet')}", f"--to={tmp_path}")
    transform = ("--data-transform", "gitlab-ci", "--builtin-schema", "vendor.gitlab-ci")
    assert_passes(tool("check-jsonschema"), *transform, str(tmp_path / ".gitlab-ci.yml"))


def test_every_action_is_pinned_to_a_commit_whose_version_is_said() -> None:
    for path in sorted((TOP / ".github" / "workflows").glob("*.yml")):
        for line in path.read_text().splitlines():
            if "uses:" in line:
                match = re.search(r'uses: "?([^"# ]+)"? # (v[0-9.]+)$', line)
                assert match, line
                assert VERSIONS[match[1]] == match[2]
                assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", match[1])


def test_this_repository_uses_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "github", *OWN, f"--repo={TOP}", f"--to={tmp_path}")
    for path in sorted((tmp_path / ".github" / "workflows").iterdir()):
        assert path.read_text() == (TOP / ".github" / "workflows" / path.name).read_text(), (
            f"run: gitops-ds bootstrap github {' '.join(OWN)} --to . --overwrite"
        )


# What a workflow may do


@pytest.mark.parametrize("words", HUBS.values(), ids=HUBS)
def test_nothing_is_granted_that_is_not_needed(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = workflows(capsys, *words, f"--repo={fleet(tmp_path / 'fleet')}")
    assert all(flow["permissions"] == {} for flow in flows.values())
    (plan,), (reconcile,) = (flow["jobs"].values() for flow in (flows["plan"], flows["reconcile"]))
    assert plan["permissions"] == {"contents": "read", "pull-requests": "write"}
    request = {"pull-requests": "write"} if "--pull-request" in words else {}
    assert reconcile["permissions"] == {"contents": "write", **request}
    for flow in flows.values():
        assert flow["concurrency"]["cancel-in-progress"] is False
        (job,) = flow["jobs"].values()
        assert job["timeout-minutes"] <= 30
        (checkout,) = [one for one in job["steps"] if "checkout" in one.get("uses", "")]
        assert checkout["with"]["persist-credentials"] is False
        assert "pull_request_target" not in flow["on"]
        holding = [one["name"] for one in job["steps"] if "github.token" in json.dumps(one)]
        assert holding == (["Comment"] if flow is flows["plan"] else ["Reconcile"])


def test_a_fork_gets_no_secret_and_no_comment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = "github.event.pull_request.head.repo.full_name == github.repository"
    repo = f"--repo={fleet(tmp_path / 'fleet')}"
    live, demo = (workflows(capsys, *HUBS[hub], repo)["plan"] for hub in ("live", "demo"))
    assert step(live, "Plan")["if"] == ours
    assert step(live, "Comment")["if"] == step(demo, "Comment")["if"] == f"!cancelled() && {ours}"
    assert "if" not in step(demo, "Plan")
    for flow in (live, demo):
        (job,) = flow["jobs"].values()
        with_secrets = [one for one in job["steps"] if "secrets." in json.dumps(one)]
        assert all(ours in one["if"] for one in with_secrets)
        assert "if" not in step(flow, "Check what is written")
    assert "secrets." not in json.dumps(demo)


def test_values_reach_scripts_by_the_environment_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ('--hub=snapshot:it\'s `x` "y"', "--branch=feature/x", "--install=a b;c|d")
    for flow in workflows(capsys, *words, f"--repo={fleet(tmp_path / 'fleet')}").values():
        (job,) = flow["jobs"].values()
        for one in job["steps"]:
            assert "${{" not in one.get("run", "")
            assert all(word not in one.get("run", "") for word in ("snapshot", "feature", "a b;c"))


@pytest.mark.parametrize("words", HUBS.values(), ids=HUBS)
def test_both_run_on_what_a_plan_is_made_from(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = workflows(capsys, *words, "--schedule=7 * * * *", f"--repo={fleet(tmp_path / 'fleet')}")
    paths = ["intent/**", "policies/**", "workloads/**"]
    assert flows["plan"]["on"] == {"pull_request": {"paths": paths}}
    assert flows["reconcile"]["on"] == {
        "push": {"branches": ["main"], "paths": paths},
        "schedule": [{"cron": "7 * * * *"}],
        "workflow_dispatch": {},
    }


def test_the_pipeline_runs_on_requests_schedules_and_what_a_plan_is_made_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = pipeline(capsys, fleet(tmp_path / "fleet"), *HUBS["live"])
    changes = ["intent/**/*", "policies/**/*", "workloads/**/*"]
    plan, reconcile = jobs["gitops-ds-plan"]["rules"], jobs["gitops-ds-reconcile"]["rules"]
    assert plan == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"', "changes": changes}]
    assert [rule["if"].split('"')[1] for rule in reconcile] == ["schedule", "web", "push"]
    assert all(rule["if"].endswith('$CI_COMMIT_BRANCH == "main"') for rule in reconcile)
    assert [rule.get("changes") for rule in reconcile] == [None, None, changes]
    assert yaml.safe_load(yaml.safe_dump(jobs)) == jobs
