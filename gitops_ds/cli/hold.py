"""`gitops-ds hold`: keep a reconciler from committing, in git, so that everybody sees who held it and why."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from gitops_ds.cli import options

LAST_YEAR = 2999
"""A hold ends before it, as the document has it; else it is one without an end."""


@click.command()
@click.option("--reason", required=True, metavar="TEXT", help="Why; shown to whoever looks at the plan.")
@click.option("--until", type=options.Instant(), help="When the hold ends by itself [default: at `resume`].")
@click.option("--by", metavar="WHO", help="Who holds it [default: git's user.name and user.email].")
@click.option("--no-commit", "loose", is_flag=True, help="Write the file alone, for a pull request.")
@options.reconciler
@options.repo
def command(
    *, repo: Path, reason: str, until: datetime | None, by: str | None, loose: bool, reconciler: str | None
) -> int:
    """Hold a reconciler: it plans on, and commits nothing.

    Commits intent/gitops-ds-hold-NAME.yaml to the current branch, and nothing else. Without --reconciler, NAME is the
    only Reconciler of the repository, else `all`.
    """
    from gitops_ds.cli.said import document, named, path_of, plain, put, read_said, speaker, whom
    from gitops_ds.cli.terminal import say
    from gitops_ds.errors import Fault, InputError, UsageError
    from gitops_ds.report.basis import format_instant

    if until is not None and not (datetime.now(UTC) < until and until.year < LAST_YEAR):
        raise UsageError(Fault(f"--until {format_instant(until)} is no time to come", fix="name one, or leave it out"))
    why = plain("--reason", reason)
    said = read_said(repo, loose=loose)
    try:
        name = named(said.intents(), reconciler)
    except InputError:
        name = named(None, reconciler)  # a hold must not wait until somebody mends an intent
    who = speaker(said.repo, by)
    end = None if until is None else format_instant(until.astimezone(UTC))
    body = document("Hold", name, {"by": who, "reason": why, "until": end})
    notes = [why, f"Held by {who}{f' until {end}' if end else ''}."]
    if not put(said, {path_of("Hold", name): body}, f"Hold {whom(name)}", notes):
        say(f"{whom(name)} is held so already")
    return 0
