"""The scripts of CI jobs: plan a change, put the plan into one comment, reconcile.

Owns what they do and what they make of exit codes. Owns no job around them (`github.py`, `gitlab.py`). Every value
comes in by the environment, so that no name of a branch or a repository is ever a part of a script.
"""

from __future__ import annotations

from typing import Final

INPUTS: Final = ("intent", "policies", "workloads")
"""The folders that a plan is made from."""


def marker(reconciler: str | None) -> str:
    """What the comment with a reconciler's plan begins with; nobody sees it."""
    return f"<!-- gitops-ds plan {reconciler} -->" if reconciler else "<!-- gitops-ds plan -->"


def plan_script(warning: str) -> str:
    """Make the plan into the file PLAN, which is not there where there is none; for a POSIX shell.

    Args:
        warning: what makes a line of the log a warning.
    """
    return f"""\
code=0
gitops-ds plan --output markdown > "$PLAN" || code=$?
case $code in
  0) ;;
  3) echo "{warning}the plan is held: it would not be committed" ;;
  4) echo "{warning}a workload has no place" ;;
  *) rm -f "$PLAN"; exit "$code" ;;
esac
"""


def reconcile_script(warning: str, command: str) -> str:
    """Run `command`, a reconcile; held, or without a place for a workload, is a warning. For a POSIX shell."""
    return f"""\
code=0
{command} || code=$?
case $code in
  0) ;;
  3) echo "{warning}the plan is held: nothing was committed" ;;
  4) echo "{warning}a workload has no place" ;;
  *) exit "$code" ;;
esac
"""


def comment_script(update: str, header: str, me: str, author: str) -> str:
    """Bring the one comment that begins with MARKER up to date, or make it; for Python with its own library alone.

    COMMENTS is the URL of all comments, COMMENT that of one without its id, PLAN the file, JOB the URL of the job.

    Args:
        update: the method that changes a comment.
        header: the header for TOKEN, as an expression.
        me: who we are, as an expression.
        author: who wrote the comment `one`, as an expression: anybody may write the marker.
    """
    return f"""\
import json
import os
import urllib.request
from pathlib import Path

env = os.environ


def call(method, url, content=None):
    data = None if content is None else json.dumps(content).encode()
    headers = {{"Content-Type": "application/json", {header}}}
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def ours():
    me, page, several = {me}, 1, [None]
    while several:
        several = call("GET", f"{{env['COMMENTS']}}?per_page=100&page={{page}}")
        for one in several:
            if one["body"].startswith(env["MARKER"]) and {author} == me:
                return one["id"]
        page += 1
    return None


plan = Path(env["PLAN"])
text = plan.read_text("utf-8") if plan.is_file() else f"No plan could be made: [the job]({{env['JOB']}}) says why.\\n"
body, found = {{"body": f"{{env['MARKER']}}\\n{{text}}"}}, ours()
if found is None:
    call("POST", env["COMMENTS"], body)
else:
    call("{update}", f"{{env['COMMENT']}}/{{found}}", body)
"""
