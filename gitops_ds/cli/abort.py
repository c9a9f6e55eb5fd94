"""`gitops-ds abort`: take back a move that takes several commits, in git, so that everybody sees who did and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.intent.load import Intents
    from gitops_ds.intent.reconciler import ReconcilerSpec
    from gitops_ds.phases import Transit
    from gitops_ds.repo import Repository

LARGEST_FILE = 64 * 2**20


@click.command()
@click.option("--reason", required=True, metavar="TEXT", help="Why; shown to whoever looks at the plan.")
@click.option("--by", metavar="WHO", help="Who aborts it [default: git's user.name and user.email].")
@click.option("--no-commit", "loose", is_flag=True, help="Write the file alone, for a pull request.")
@options.reconciler
@options.repo
def command(*, repo: Path, reason: str, by: str | None, loose: bool, reconciler: str | None) -> int:
    """Lead a move that is in flight back to where it came from.

    Commits intent/gitops-ds-abort-NAME.yaml to the current branch, and nothing else: the reconciler then goes back
    phase by phase, as safely as it came, and stays there until an intent changes or `gitops-ds resume`.
    """
    from gitops_ds.cli.said import document, named, path_of, plain, put, read_said, speaker, whom
    from gitops_ds.cli.terminal import say
    from gitops_ds.intent.load import intents_digest

    said = read_said(repo, loose=loose)
    intents = said.intents()
    name = named(intents, reconciler)
    spec = _spec(intents, name)
    who, why = speaker(said.repo, by), plain("--reason", reason)
    digest = intents_digest(intents.below(spec.intents).placements)
    if any(one.intent.metadata.name == name and one.intent.spec.intents == digest for one in intents.aborts):
        say(f"the move of {whom(name)} is aborted already")
        return 0
    transit = _in_flight(said.repo, spec)
    if transit is None:
        say("nothing to abort: no move is in flight")
        return 0
    body = document("Abort", name, {"by": who, "intents": digest, "reason": why})
    notes = [why, f"{transit.number} of its phases had been committed.", f"Aborted by {who}."]
    put(said, {path_of("Abort", name): body}, f"Abort the move of {whom(name)}", notes)
    return 0


def _spec(intents: Intents, name: str) -> ReconcilerSpec:
    """The settings of the reconciler.

    Raises:
        UsageError: there are several, and none is asked for: each has a move of its own.
    """
    from gitops_ds.errors import Fault, UsageError
    from gitops_ds.intent.reconciler import ReconcilerSpec

    known = {one.intent.metadata.name: one.intent.spec for one in intents.reconcilers}
    if len(known) > 1 and name not in known:
        raise UsageError(Fault("whose move? There are several Reconcilers", fix=f"--reconciler {' or '.join(known)}"))
    return known.get(name) or next(iter(known.values()), ReconcilerSpec())


def _in_flight(repo: Repository, spec: ReconcilerSpec) -> Transit | None:
    from gitops_ds.reconcile import in_flight
    from gitops_ds.repo import read_commit

    return in_flight(read_commit(repo, repo.head, [spec.rendered], LARGEST_FILE), spec.rendered)
