"""`gitops-ds reconcile`: plan from what is committed and commit the rendered tree."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from gitops_ds import __version__
from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.cli.inputs import Inputs
    from gitops_ds.reconcile import Plan
    from gitops_ds.report.basis import Basis

TRIES = 10
"""How often the plan is made anew because the branch moved while it was made."""
MOST_NOTES = 10


@click.command()
@options.planning
def command(
    *,
    repo: Path,
    hub: str | None,
    at: datetime | None,
    max_age: timedelta | None,
    output: str,
    overwrite: bool,
    detailed: bool,
) -> int:
    """Plan from the committed intents and commit the rendered tree.

    Reads intent/ and policies/ from the head commit: what is not committed is not read. Where the plan changes
    something, rendered/ is committed to the current branch; every other file, staged or not, stays as it is.
    """
    from gitops_ds.cli.inputs import exit_code
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.report.json import dumps, plan_json
    from gitops_ds.report.text import plan_text

    done = reconcile(repo, hub, at, overwrite=overwrite, max_age=max_age)
    if output == "json":
        say(dumps(plan_json(done.plan, done.commit, done.basis)))
    else:
        show(plan_text(done.plan, done.basis))
        show([("", ""), (f"commit {done.commit}", "good")] if done.commit else [])
    return exit_code(done.plan, detailed=detailed)


class Done(NamedTuple):
    """The plan from what is committed, the facts it stands on, and the commit that holds it.

    The commit is None where nothing changes or the plan is held.
    """

    plan: Plan
    basis: Basis
    commit: str | None


def reconcile(
    folder: Path,
    hub: str | None,
    at: datetime | None,
    *,
    overwrite: bool = False,
    max_age: timedelta | None = None,
) -> Done:
    """Plan from what is committed, and commit the rendered tree.

    Where the branch moves meanwhile, the plan is made anew on its new head.

    Raises:
        GitopsDsError: an input is wrong, or the commit could not be made; the branch is as it was.
    """
    from gitops_ds.cli.inputs import read_inputs
    from gitops_ds.cli.snapshots import old_warning
    from gitops_ds.errors import ContentionError, HeldError

    _check_place(folder)
    _finish_interrupted(folder)
    for last in (number == TRIES for number in range(1, TRIES + 1)):
        inputs = read_inputs(folder, hub, at, committed=True, max_age=max_age)
        made = inputs.plan(overwrite=overwrite, hints=True)
        try:
            commit = _commit(inputs, made)
        except HeldError as error:
            made, commit = replace(made, status="held", held=(*made.held, *map(str, error.faults))), None
        except ContentionError:
            if last:
                raise
            continue
        _warn(old_warning(inputs.inventory, inputs.basis.source, datetime.now(UTC)))
        _note_uncommitted(inputs)
        return Done(made, inputs.basis, commit)
    raise AssertionError("the last try returns or raises")


def _check_place(folder: Path) -> None:
    """Refuse to commit into the middle of a merge and its kind; tell where a commit would be on no branch."""
    from gitops_ds.repo import open_repository, refuse_underway

    opened = open_repository(folder)
    refuse_underway(opened)
    if opened.branch is None:
        _warn("HEAD is detached, so this commits to no branch: keep what it makes with `git branch NAME COMMIT`")


def _warn(text: str) -> None:
    from gitops_ds.cli.terminal import show

    show([(f"warning: {text}", "warn")] if text else [], error=True)


def _finish_interrupted(folder: Path) -> None:
    """Finish an update of the working tree that a crash cut short: only after a commit of ours can there be one."""
    from gitops_ds.cli.terminal import say
    from gitops_ds.message import is_ours
    from gitops_ds.repo import bring_up_to_date, commit_message_of, open_repository
    from gitops_ds.tree import ROOT

    opened = open_repository(folder)
    if is_ours(commit_message_of(opened, opened.head)):
        for path in bring_up_to_date(opened, [ROOT]):
            say(f"{path}: brought up to date after an interrupted run", error=True)


def _note_uncommitted(inputs: Inputs) -> None:
    """Tell of files that are not what was read."""
    from gitops_ds.cli.inputs import INTENT, MANIFESTS
    from gitops_ds.cli.terminal import show
    from gitops_ds.repo import dirty_paths
    from gitops_ds.tree import ROOT

    paths = dirty_paths(inputs.repo, [INTENT, *MANIFESTS, ROOT])
    notes = [(f"warning: {path} is not committed as it stands, and was not read", "warn") for path in paths]
    rest = [(f"warning: and {len(notes) - MOST_NOTES} more files", "warn")] if len(notes) > MOST_NOTES else []
    show([*notes[:MOST_NOTES], *rest], error=True)


def _commit(inputs: Inputs, made: Plan) -> str | None:
    from gitops_ds.message import commit_message
    from gitops_ds.repo import Identity, commit_files, configured_identity

    if made.status != "changed":
        return None
    owned = dict(made.tree) | {c.path: None for c in made.difference.changes if c.after is None}
    identity = configured_identity(inputs.repo) or Identity("gitops-ds", "gitops-ds@localhost")
    message = commit_message(made, __version__)
    when = datetime.now().astimezone()
    return commit_files(inputs.repo, owned, message, identity=identity, when=when, expected_head=inputs.repo.head)
