"""`gitops-ds reconcile`: plan from what is committed, and commit the tree here, at a remote, or as a pull request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.cli.inputs import Inputs
    from gitops_ds.delivery import Delivered
    from gitops_ds.guards import Urgent

MOST_NOTES = 10


@click.command()
@options.output
@options.detailed
@options.overwrite
@options.delivering
@click.option("--urgent", metavar="WHY", help="Commit in spite of a freeze or minInterval; says why in the commit.")
@click.option("--by", metavar="WHO", help="Who says so with --urgent [default: git's user.name].")
def command(
    *,
    where: str,
    asked: options.Asked,
    mode: str | None,
    remote: str | None,
    branch: str | None,
    output: str,
    overwrite: bool,
    detailed: bool,
    urgent: str | None,
    by: str | None,
) -> int:
    """Plan from the committed intents and commit the rendered tree.

    Reads intent/ and policies/ from the head commit: what is not committed is not read. Where the plan changes
    something, rendered/ is committed to the current branch; every other file, staged or not, stays as it is.

    With --push the head of the remote's branch is planned from, and the commit pushed to it; with --pull-request it is
    pushed to a branch of its own and proposed. Neither touches the checkout. --repo takes a URL as well then.
    """
    from dataclasses import replace

    from gitops_ds.cli.faults import telling_of_landing
    from gitops_ds.cli.inputs import exit_code
    from gitops_ds.cli.line import Wanted, line, real_world

    wanted = Wanted(where, asked, mode, remote, branch, overwrite, urgent_of(where, urgent, by))
    opened = line(wanted)
    told: list[Inputs] = []
    with telling_of_landing() as landing:
        done = opened.run(replace(real_world(_warn, _show_hook), landing=landing), told.append)
        if opened.git.mode == "commit":
            _note_uncommitted(told[-1])
        _note_age(told[-1])
        _tell(done, output)
    return exit_code(done.plan, detailed=detailed)


def _tell(done: Delivered, output: str) -> None:
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.report.json import dumps, plan_json
    from gitops_ds.report.text import plan_text

    if output == "json":
        say(dumps(plan_json(done.plan, done.commit, done.basis)))
    else:
        show(plan_text(done.plan, done.basis))
        show(landed_text(done))


def landed_text(done: Delivered) -> list[tuple[str, str]]:
    """Where the plan went, for a person."""
    lines = []
    if done.commit:
        where = f", pushed to {done.branch}" if done.is_pushed else "" if done.is_new else f", on {done.branch} already"
        lines += [("", ""), (f"commit {done.commit}{where}", "good")]
    if done.url:
        lines.append((f"pull request {done.url}" if done.commit else f"pull request {done.url} is closed", "good"))
    if done.body:
        lines.append((f"no API opens the pull request: its text is in {done.body}", ""))
    return lines


def urgent_of(where: str, why: str | None, by: str | None) -> Urgent | None:
    """Who commits in spite of a freeze, and why.

    Raises:
        UsageError: nobody is named, or no reason is given.
    """
    from pathlib import Path

    from gitops_ds.errors import Fault, UsageError
    from gitops_ds.guards import Urgent
    from gitops_ds.repo import configured_identity, is_url, open_repository

    if why is None:
        if by is not None:
            raise UsageError(Fault("--by goes with --urgent"))
        return None
    if by is None and not is_url(where):
        identity = configured_identity(open_repository(Path(where)))
        by = identity.name if identity else None
    if by is None:
        raise UsageError(Fault("who says that it is urgent?", fix="--by NAME"))
    return Urgent(by, why)


def _warn(text: str) -> None:
    from gitops_ds.cli.terminal import show

    show([(f"warning: {text}", "warn")], error=True)


def _show_hook(text: str) -> None:
    from gitops_ds.cli.terminal import say

    say(text, error=True)


def _note_age(inputs: Inputs) -> None:
    from gitops_ds.cli.snapshots import old_warning

    text = old_warning(inputs.inventory, inputs.basis.source, datetime.now(UTC))
    if text:
        _warn(text)


def _note_uncommitted(inputs: Inputs) -> None:
    """Tell of files that are not what was read."""
    from gitops_ds.cli.inputs import INTENT, MANIFESTS
    from gitops_ds.repo import dirty_paths

    paths = dirty_paths(inputs.repo, [INTENT, *MANIFESTS, inputs.root])
    for path in paths[:MOST_NOTES]:
        _warn(f"{path} is not committed as it stands, and was not read")
    if len(paths) > MOST_NOTES:
        _warn(f"and {len(paths) - MOST_NOTES} more files")
