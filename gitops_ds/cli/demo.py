"""`gitops-ds demo`: the shipped sample, run as a user would run it, in a scratch repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

INTENT = "intent/gpu-inference.yaml"
FROM, TO = "example-performance-score", "example-powerconsumption-score"
MESSAGE = "Optimise for power instead of performance"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
def command(*, folder: Path | None) -> int:
    """Run the shipped sample in FOLDER (a new temporary folder by default).

    Two apps, two clusters, three ways to split each cluster's GPU: the first plan optimises for performance; then one
    line of the intent is changed, and the second plan optimises for power. Both are committed.
    """
    from gitops_ds.cli.files import write_folder
    from gitops_ds.cli.terminal import show
    from gitops_ds.sample import sample_folder

    scratch = folder or Path(tempfile.mkdtemp(prefix="gitops-ds-demo-")) / "fleet"
    write_folder(scratch, _sample(sample_folder()))
    _say(f"The sample fleet is in {scratch}")
    _git(scratch, "init", "--quiet", "--initial-branch=main")
    _git(scratch, "add", "--all")
    _git(scratch, "commit", "--quiet", "--message", "The fleet's intent: optimise for performance")

    _say("\n$ gitops-ds reconcile --hub demo")
    show(_reconcile(scratch))
    path = scratch / INTENT
    path.write_text(path.read_text().replace(f"name: {FROM}", f"name: {TO}"))
    _say(f"\nNow one line of {INTENT} changes, as a pull request would change it:\n")
    _say(_git(scratch, "diff", "--unified=0", "--no-color", "--", INTENT))
    _git(scratch, "commit", "--quiet", "--all", "--message", MESSAGE)

    _say("$ gitops-ds reconcile --hub demo")
    show(_reconcile(scratch))
    _say("\n$ git show HEAD -- rendered/default\n")
    _say(_git(scratch, "show", "--no-color", "--format=%B", "HEAD", "--", "rendered/default"))
    _say(f"Look around: cd {scratch} && git log --stat")
    return 0


def _sample(folder: Path) -> Mapping[str, bytes]:
    """The files of the sample's repository; the hub's snapshot stays in the package."""
    return {
        f"{part}/{path.name}": path.read_bytes()
        for part in ("intent", "policies")
        for path in sorted((folder / part).glob("*.yaml"))
    }


def _reconcile(folder: Path) -> list[tuple[str, str]]:
    from datetime import datetime

    from gitops_ds.cli.inputs import read_inputs
    from gitops_ds.cli.reconcile import commit_plan
    from gitops_ds.report.text import plan_text

    inputs = read_inputs(folder, "demo", None, committed=True)
    made = inputs.plan()
    commit = commit_plan(inputs, made, datetime.now().astimezone())
    return [*plan_text(made), ("", ""), (f"commit {commit}", "good")]


def _say(text: str) -> None:
    click.echo(text)


def _git(folder: Path, *arguments: str) -> str:
    """Run git as a user would, but with no setting of this user's or this machine's that could get in the way."""
    settings = ("user.name=A user of gitops-ds", "user.email=user@example.com", "commit.gpgSign=false")
    options = [word for setting in settings for word in ("-c", setting)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *arguments], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise click.ClickException(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
