"""`gitops-ds explain`: why each workload is where it is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from gitops_ds.cli import options


@click.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@options.repo
@options.hub
@options.at
@options.output
def command(*, workloads: tuple[str, ...], repo: Path, hub: str | None, at: datetime | None, output: str) -> int:
    """Say why each WORKLOAD (all of them by default) is where it is, and why not elsewhere.

    Names the scores that decided, with their age, and for every other cluster and policy the first reason.
    """
    from gitops_ds.cli.inputs import exit_code, read_inputs
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.evidence import evidence
    from gitops_ds.report.json import dumps, evidence_json
    from gitops_ds.report.text import evidence_text

    inputs = read_inputs(repo, hub, at, committed=False)
    made = inputs.plan(overwrite=True)
    found = evidence(made, inputs.inventory, inputs.instant, workloads)
    if output == "json":
        say(dumps(evidence_json(made, found)))
    else:
        show(line for one in found for line in (*evidence_text(one), ("", "")))
    return exit_code(made)
