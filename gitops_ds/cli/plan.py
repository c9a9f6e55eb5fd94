"""`gitops-ds plan`: what would be placed and committed, and why. Writes nothing."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_ds.cli import options


@click.command()
@options.planning
@click.option("--all", "whole", is_flag=True, help="Cut nothing from the text.")
def command(
    *,
    repo: Path,
    asked: options.Asked,
    output: str,
    overwrite: bool,
    detailed: bool,
    whole: bool,
) -> int:
    """Show what would be placed and committed, and why. Writes nothing.

    Intents and policies are read from the working tree, so that a change can be tried before it is committed;
    rendered/ is what the head commit holds.
    """
    from gitops_ds.cli.guarding import with_guards
    from gitops_ds.cli.inputs import exit_code, read_inputs
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.report.json import dumps, plan_json
    from gitops_ds.report.markdown import PRINTED, plan_markdown
    from gitops_ds.report.text import plan_text

    inputs = read_inputs(repo, asked, committed=False)
    made = with_guards(inputs, inputs.plan(overwrite=overwrite, hints=True), inputs.repo.head)
    if output == "json":
        say(dumps(plan_json(made, basis=inputs.basis)))
    elif output == "markdown":
        say(plan_markdown(made, inputs.basis, limit=PRINTED), end="")
    else:
        show(plan_text(made, inputs.basis, whole=whole))
    return exit_code(made, detailed=detailed)
