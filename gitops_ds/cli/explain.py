"""`gitops-ds explain`: why each workload is where it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.cli.inputs import Inputs
    from gitops_ds.evidence import Evidence
    from gitops_ds.reconcile import Plan


@click.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@options.asking
@options.output
@click.option("--no-losses", "quick", is_flag=True, help="Do not solve for what each alternative would cost.")
def command(
    *,
    workloads: tuple[str, ...],
    repo: Path,
    asked: options.Asked,
    output: str,
    quick: bool,
) -> int:
    """Say why each WORKLOAD (all of them by default) is where it is, and why not elsewhere.

    Names the scores that decided, with their age, and for every other cluster and policy the first reason. For a
    WORKLOAD that is named, each alternative is solved for: what the whole plan would lose by it, and who would move.
    For one without a place, the smallest changes that would give it one.
    """
    from gitops_ds.cli.inputs import exit_code, read_inputs
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.evidence import evidence
    from gitops_ds.report.json import dumps, evidence_json
    from gitops_ds.report.text import evidence_text

    inputs = read_inputs(repo, asked, committed=False)
    made = inputs.plan(overwrite=True)
    found = _weighed(
        inputs, made, evidence(made, inputs.inventory, inputs.instant, workloads), losses=bool(workloads) and not quick
    )
    if output == "json":
        say(dumps(evidence_json(made, found)))
    else:
        show(line for one in found for line in (*evidence_text(one), ("", "")))
    return exit_code(made)


def _weighed(inputs: Inputs, made: Plan, found: Sequence[Evidence], *, losses: bool) -> list[Evidence]:
    """The evidence with what takes solving again: what would give a place, and with `losses` what others cost."""
    from gitops_ds.cli.progress import progress
    from gitops_ds.evidence import with_losses, with_relaxations
    from gitops_ds.solver.relaxation import least_capacity
    from gitops_ds.solver.weighing import weighed

    with progress() as tell:
        wider = with_relaxations(
            found,
            made,
            inputs.inventory,
            inputs.instant,
            solve=inputs.solve,
            least_capacity=least_capacity,
            tell=tell,
        )
        return list(with_losses(list(wider), made, inputs.solve, tell, weighed) if losses else wider)
