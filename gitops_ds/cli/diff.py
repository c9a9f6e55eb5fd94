"""`gitops-ds diff`: how rendered/ would change, as a unified diff. Writes nothing."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_ds.cli import options


@click.command()
@options.planning
def command(
    *,
    repo: Path,
    asked: options.Asked,
    output: str,
    overwrite: bool,
    detailed: bool,
) -> int:
    """Show how rendered/ would change against the head commit, as a diff.

    The text is a patch that `git apply` takes; nothing is printed where nothing would change.
    """
    from gitops_ds.cli.guarding import with_guards
    from gitops_ds.cli.inputs import exit_code, read_inputs
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.report.json import diff_json, dumps
    from gitops_ds.report.markdown import PRINTED, diff_markdown
    from gitops_ds.report.text import diff_text

    inputs = read_inputs(repo, asked, committed=False)
    made = with_guards(inputs, inputs.plan(overwrite=overwrite), inputs.repo.head)
    if output == "json":
        say(dumps(diff_json(made)))
    elif output == "markdown":
        say(diff_markdown(made, limit=PRINTED), end="")
    else:
        show(diff_text(made.difference.changes), exact=True)
    show(((f"held: {why}", "bad") for why in made.held), error=True)
    return exit_code(made, detailed=detailed)
