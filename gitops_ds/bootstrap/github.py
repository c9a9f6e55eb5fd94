"""GitHub Actions: a workflow that shows the plan of a pull request in a comment, and one that reconciles.

A pull request from a fork gets no secret and a token that only reads: its inputs are checked, and it is planned where
that needs no secret, into the summary of the run. No workflow runs on `pull_request_target`.

Owns triggers, permissions and concurrency. Owns no script (`steps.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.bootstrap.steps import INPUTS, comment_script, marker, plan_script, reconcile_script
from gitops_ds.bootstrap.written import Document, Written

CHECKOUT: Final = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd"
SETUP_PYTHON: Final = "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405"
VERSIONS: Final = {CHECKOUT: "v6.0.2", SETUP_PYTHON: "v6.2.0"}
"""Every action that is used, by its full commit id, and the version that this is."""
_REMARKS: Final = {
    **VERSIONS,
    "contents: write": "to push what is rendered",
    "pull-requests: write": "to say it in a comment, or to propose it",
}

FOLDER: Final = ".github/workflows"
BOT: Final = "github-actions[bot]"
"""Who comments with the token of a job."""
_HEADER: Final = '"Authorization": f"Bearer {env[\'TOKEN\']}"'
_WARNING: Final = "::warning::"
_KUBECONFIG: Final = """\
if [ -z "$KUBECONFIG_TEXT" ]; then echo "::error::the secret GITOPS_DS_KUBECONFIG is not set"; exit 1; fi
(umask 077; printf '%s\\n' "$KUBECONFIG_TEXT" > "$KUBECONFIG")
"""
_OURS: Final = "github.event.pull_request.head.repo.full_name == github.repository"
_MADE: Final = "Made by `gitops-ds bootstrap github`."


@dataclass(frozen=True, slots=True)
class GitHub:
    """The workflows that are wanted.

    Attributes:
        hub: as --hub says it; None: the Reconciler says it, and needs no kubeconfig.
        is_live: whether the hub is asked, which takes a kubeconfig.
        branch: the branch that is planned from.
        install: what pip installs.
        python: the version of Python.
        runner: what the jobs run on.
        schedule: when the reconciler runs, in the five fields of cron, in UTC.
        mode: `push` or `pull-request`.
        reconciler: whose settings count; None: the only one's.
    """

    hub: str
    is_live: bool
    branch: str
    install: str
    python: str = "3.12"
    runner: str = "ubuntu-24.04"
    schedule: str = "*/15 * * * *"
    mode: str = "push"
    reconciler: str | None = None

    @property
    def suffix(self) -> str:
        """What tells the workflows of several reconcilers apart."""
        return f"-{self.reconciler}" if self.reconciler else ""


def github_files(wanted: GitHub) -> tuple[Written, ...]:
    """Both workflows."""
    plan = Document(
        _plan(wanted), f"{_MADE} Shows what a pull request would change, in one comment that is kept up to date."
    )
    reconcile = Document(_reconcile(wanted), f"{_MADE} Plans from the branch and commits what changes.")
    return tuple(
        Written(f"{FOLDER}/gitops-ds-{name}{wanted.suffix}.yml", (document,), in_order=True, remarks=_REMARKS)
        for name, document in (("plan", plan), ("reconcile", reconcile))
    )


def _plan(wanted: GitHub) -> dict[str, Any]:
    check = {"name": "Check what is written", "run": "gitops-ds validate"}
    plan: dict[str, Any] = {
        "name": "Plan",
        "shell": "bash",
        "env": {**_facts(wanted), "PLAN": "${{ runner.temp }}/plan.md"},
        "run": _kubeconfig(wanted) + plan_script(_WARNING) + 'cat "$PLAN" >> "$GITHUB_STEP_SUMMARY"\n',
    }
    note = {
        "name": "Say why there is no plan",
        "if": f"{_OURS.replace('==', '!=')}",
        "run": 'echo "A fork gets no access to the hub: its inputs were checked, and not planned." '
        '>> "$GITHUB_STEP_SUMMARY"\n',
    }
    steps: list[dict[str, Any]] = [*_ready({}, wanted), check]
    steps += [_only(plan, _OURS), note] if wanted.is_live else [plan]
    return {
        "name": f"gitops-ds plan{wanted.suffix}",
        "on": {"pull_request": {"paths": [f"{folder}/**" for folder in INPUTS]}},
        "permissions": {},
        "concurrency": {
            "group": f"gitops-ds-plan{wanted.suffix}-${{{{ github.event.pull_request.number }}}}",
            "cancel-in-progress": False,
        },
        "jobs": {
            "plan": {
                "name": "Plan",
                "runs-on": wanted.runner,
                "timeout-minutes": 15,
                "permissions": {"contents": "read", "pull-requests": "write"},
                "steps": [*steps, _comment(wanted)],
            }
        },
    }


def _comment(wanted: GitHub) -> dict[str, Any]:
    issues = "${{ github.api_url }}/repos/${{ github.repository }}/issues"
    return {
        "name": "Comment",
        "if": f"!cancelled() && {_OURS}",
        "shell": "python",
        "env": {
            "AUTHOR": BOT,
            "COMMENT": f"{issues}/comments",
            "COMMENTS": f"{issues}/${{{{ github.event.pull_request.number }}}}/comments",
            "JOB": "${{ github.server_url }}/${{ github.repository }}/actions/runs/${{ github.run_id }}",
            "MARKER": marker(wanted.reconciler),
            "PLAN": "${{ runner.temp }}/plan.md",
            "TOKEN": "${{ github.token }}",
        },
        "run": comment_script("PATCH", _HEADER, 'env["AUTHOR"]', 'one["user"]["login"]'),
    }


def _reconcile(wanted: GitHub) -> dict[str, Any]:
    request = {"pull-requests": "write"} if wanted.mode == "pull-request" else {}
    command = f'gitops-ds reconcile --{wanted.mode} --branch "$BRANCH"'
    step = {
        "name": "Reconcile",
        "shell": "bash",
        "env": {**_facts(wanted), "BRANCH": wanted.branch, "GITOPS_DS_TOKEN": "${{ github.token }}"},
        "run": _kubeconfig(wanted) + reconcile_script(_WARNING, command),
    }
    return {
        "name": f"gitops-ds reconcile{wanted.suffix}",
        "on": {
            "push": {"branches": [wanted.branch], "paths": [f"{folder}/**" for folder in INPUTS]},
            "schedule": [{"cron": wanted.schedule}],
            "workflow_dispatch": {},
        },
        "permissions": {},
        "concurrency": {"group": f"gitops-ds-reconcile{wanted.suffix}", "cancel-in-progress": False},
        "jobs": {
            "reconcile": {
                "name": "Reconcile",
                "runs-on": wanted.runner,
                "timeout-minutes": 20,
                "permissions": {"contents": "write", **request},
                "steps": [*_ready({"ref": wanted.branch}, wanted), step],
            }
        },
    }


def _ready(checkout: dict[str, Any], wanted: GitHub) -> list[dict[str, Any]]:
    """A checkout with its history, which tells what people took back, and without a token in it; and gitops-ds."""
    return [
        {"uses": CHECKOUT, "with": {**checkout, "fetch-depth": 0, "persist-credentials": False}},
        {"uses": SETUP_PYTHON, "with": {"python-version": wanted.python}},
        {
            "name": "Install",
            "env": {"PACKAGE": wanted.install},
            "run": 'python -m pip install --disable-pip-version-check "$PACKAGE"',
        },
    ]


def _facts(wanted: GitHub) -> dict[str, str]:
    """Where the hub's facts come from."""
    found = {"GITOPS_DS_HUB": wanted.hub}
    if wanted.reconciler:
        found["GITOPS_DS_RECONCILER"] = wanted.reconciler
    if wanted.is_live:
        found["KUBECONFIG"] = "${{ runner.temp }}/kubeconfig"
        found["KUBECONFIG_TEXT"] = "${{ secrets.GITOPS_DS_KUBECONFIG }}"
    return found


def _kubeconfig(wanted: GitHub) -> str:
    return _KUBECONFIG if wanted.is_live else ""


def _only(step: dict[str, Any], condition: str) -> dict[str, Any]:
    name, *rest = step.items()
    return dict([name, ("if", condition), *rest])
