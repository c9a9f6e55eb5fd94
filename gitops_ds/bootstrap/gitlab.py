"""GitLab CI: a job that shows the plan of a merge request in a note, and one that reconciles.

A merge request from a fork runs in the fork's own project, without this one's variables: what it can do there is to
check its inputs, and to plan where that needs no secret, into an artifact.

Owns rules, variables and resource groups. Owns no script (`steps.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.bootstrap.steps import INPUTS, comment_script, marker, plan_script, reconcile_script
from gitops_ds.bootstrap.written import Document, Written

FILE: Final = ".gitlab-ci.yml"
_WARNING: Final = "warning: "
_HEADER: Final = '"PRIVATE-TOKEN": env["GITOPS_DS_COMMENT_TOKEN"]'
_MAY_PUSH: Final = """\
if [ -z "${GITOPS_DS_TOKEN:-}" ]; then echo "error: the variable GITOPS_DS_TOKEN is not set"; exit 1; fi
"""
_LIVE: Final = """\
if [ -z "${GITOPS_DS_KUBECONFIG:-}" ]; then echo "error: the variable GITOPS_DS_KUBECONFIG is not set"; exit 1; fi
export KUBECONFIG="$GITOPS_DS_KUBECONFIG"
"""
_LIVE_PLAN: Final = f"""\
if [ "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID" != "$CI_MERGE_REQUEST_PROJECT_ID" ]; then
  echo "a fork gets no access to the hub: its inputs were checked, and not planned"; exit 0
fi
{_LIVE}"""
_NOTE: Final = """\
Made by `gitops-ds bootstrap gitlab`. Variables of the project that it reads, each masked:
GITOPS_DS_TOKEN          a project access token that may push to the branch (protected)
GITOPS_DS_COMMENT_TOKEN  one of the role Reporter with the scope api, for the note
GITOPS_DS_KUBECONFIG     a file, with read access to the hub
A pipeline schedule of the project says how often the reconciler runs."""
_CHANGES: Final = [f"{folder}/**/*" for folder in INPUTS]


@dataclass(frozen=True, slots=True)
class GitLab:
    """The pipeline that is wanted; its attributes are those of `GitHub`, and `image`, which the jobs run in."""

    hub: str
    is_live: bool
    branch: str
    install: str
    image: str = "python:3.12"
    mode: str = "push"
    reconciler: str | None = None

    @property
    def suffix(self) -> str:
        """What tells the jobs of several reconcilers apart."""
        return f"-{self.reconciler}" if self.reconciler else ""


def gitlab_files(wanted: GitLab) -> tuple[Written, ...]:
    """The pipeline."""
    base = f".gitops-ds{wanted.suffix}"
    jobs = {
        base: _base(wanted),
        f"gitops-ds-plan{wanted.suffix}": {"extends": base, **_plan(wanted)},
        f"gitops-ds-reconcile{wanted.suffix}": {"extends": base, **_reconcile(wanted)},
    }
    return (Written(FILE, (Document(jobs, _NOTE),), in_order=True),)


def _base(wanted: GitLab) -> dict[str, Any]:
    variables = {"GIT_DEPTH": "0", "GITOPS_DS_HUB": wanted.hub}
    if wanted.reconciler:
        variables["GITOPS_DS_RECONCILER"] = wanted.reconciler
    variables["PACKAGE"] = wanted.install
    return {
        "image": {"name": wanted.image, "entrypoint": [""]},
        "timeout": "20 minutes",
        "interruptible": False,
        "variables": variables,
        "before_script": ['python -m pip install --disable-pip-version-check "$PACKAGE"'],
    }


def _plan(wanted: GitLab) -> dict[str, Any]:
    notes = "$CI_API_V4_URL/projects/$CI_MERGE_REQUEST_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
    plan = (_LIVE_PLAN if wanted.is_live else "") + plan_script(_WARNING)
    note = comment_script("PUT", _HEADER, 'call("GET", f"{env[\'CI_API_V4_URL\']}/user")["id"]', 'one["author"]["id"]')
    return {
        "stage": "test",
        "rules": [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"', "changes": _CHANGES}],
        "resource_group": f"gitops-ds-plan{wanted.suffix}-$CI_MERGE_REQUEST_IID",
        "variables": {
            "COMMENT": notes,
            "COMMENTS": notes,
            "JOB": "$CI_JOB_URL",
            "MARKER": marker(wanted.reconciler),
            "PLAN": "gitops-ds-plan.md",
        },
        "script": ["env -u GITOPS_DS_HUB gitops-ds validate", _plan_and_note(plan, note)],
        "artifacts": {"when": "always", "expire_in": "1 week", "paths": ["gitops-ds-plan.md"]},
    }


def _plan_and_note(plan: str, note: str) -> str:
    """Both, the note also where there is no plan: an old one would stand there as if it still held."""
    indented = "".join(f"  {line}\n" for line in plan.splitlines())
    return f"""\
failed=0
(
{indented}) || failed=$?
if [ -n "${{GITOPS_DS_COMMENT_TOKEN:-}}" ]; then
  python - <<'END'
{note}END
fi
exit "$failed"
"""


def _reconcile(wanted: GitLab) -> dict[str, Any]:
    command = f'gitops-ds reconcile --{wanted.mode} --remote "$CI_PROJECT_URL.git" --branch "$BRANCH"'
    script = _MAY_PUSH + (_LIVE if wanted.is_live else "") + reconcile_script(_WARNING, command)
    on_branch = f'$CI_COMMIT_BRANCH == "{wanted.branch}"'
    return {
        "stage": "deploy",
        "rules": [
            {"if": f'$CI_PIPELINE_SOURCE == "schedule" && {on_branch}'},
            {"if": f'$CI_PIPELINE_SOURCE == "web" && {on_branch}'},
            {"if": f'$CI_PIPELINE_SOURCE == "push" && {on_branch}', "changes": _CHANGES},
        ],
        "resource_group": f"gitops-ds-reconcile{wanted.suffix}",
        "variables": {"BRANCH": wanted.branch},
        "script": [script],
    }
