"""`gitops-ds plan`: what would be placed and committed, and why. Writes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import click

from gitops_ds.cli import options


@click.command()
@options.planning
@click.option("--all", "whole", is_flag=True, help="Cut nothing from the text.")
def command(
    *,
    repo: Path,
    hub: str | None,
    at: datetime | None,
    max_age: timedelta | None,
    output: str,
    overwrite: bool,
    detailed: bool,
    whole: bool,
) -> int:
    """Show what would be placed and committed, and why. Writes nothing.

    Intents and policies are read from the working tree, so that a change can be tried before it is committed;
    rendered/ is what the head commit holds.
    """
    from gitops_ds.cli.inputs import exit_code, read_inputs
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.report.json import dumps, plan_json
    from gitops_ds.report.text import plan_text

    inputs = read_inputs(repo, hub, at, committed=False, max_age=max_age)
    made = inputs.plan(overwrite=overwrite, hints=True)
    if output == "json":
        say(dumps(plan_json(made, basis=inputs.basis)))
    else:
        show(plan_text(made, inputs.basis, whole=whole))
    return exit_code(made, detailed=detailed)
