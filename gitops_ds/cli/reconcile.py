"""`gitops-ds reconcile`: plan from what is committed and commit the rendered tree."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds import __version__
from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.cli.inputs import Inputs
    from gitops_ds.reconcile import Plan


@click.command()
@options.repo
@options.hub
@options.at
@options.output
@options.overwrite
@options.detailed
def command(
    *, repo: Path, hub: str | None, at: datetime | None, output: str, overwrite: bool, detailed: bool
) -> int:
    """Plan from the committed intents and commit the rendered tree.

    Reads intent/ and policies/ from the head commit: what is not committed is not read. Where the plan changes
    something, rendered/ is committed to the current branch; every other file, staged or not, stays as it is.
    """
    from gitops_ds.cli.inputs import INTENT, MANIFESTS, exit_code, read_inputs
    from gitops_ds.cli.terminal import show
    from gitops_ds.report.json import dumps, plan_json
    from gitops_ds.report.text import plan_text
    from gitops_ds.repo import bring_up_to_date, dirty_paths, open_repository
    from gitops_ds.tree import ROOT

    for path in bring_up_to_date(open_repository(repo), [ROOT]):
        click.echo(f"{path}: brought up to date after an interrupted run", err=True)
    inputs = read_inputs(repo, hub, at, committed=True)
    for path in dirty_paths(inputs.repo, [INTENT, *MANIFESTS])[:10]:
        click.echo(f"warning: {path} is not committed as it stands; reconcile reads what is committed", err=True)
    made = inputs.plan(overwrite=overwrite)
    commit = commit_plan(inputs, made, datetime.now().astimezone())
    if output == "json":
        click.echo(dumps(plan_json(made, commit)))
    else:
        show(plan_text(made))
        show([("", ""), (f"commit {commit}", "good")] if commit else [])
    return exit_code(made, detailed=detailed)


def commit_plan(inputs: Inputs, made: Plan, when: datetime) -> str | None:
    """Commit what `made` changes; the commit's id, or None where nothing changes or the plan is held.

    Raises:
        GitopsDsError: the commit could not be made; the branch is as it was.
    """
    from gitops_ds.message import commit_message
    from gitops_ds.repo import Identity, commit_files, configured_identity

    if made.status != "changed":
        return None
    owned = dict(made.tree) | {c.path: None for c in made.difference.changes if c.after is None}
    identity = configured_identity(inputs.repo) or Identity("gitops-ds", "gitops-ds@localhost")
    message = commit_message(made, __version__)
    return commit_files(
        inputs.repo, owned, message, identity=identity, when=when, expected_head=inputs.repo.head
    )
