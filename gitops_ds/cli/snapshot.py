"""`gitops-ds snapshot`: what a live hub holds now, as a folder that plans like the hub itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options
from gitops_ds.errors import Fault, UsageError

if TYPE_CHECKING:
    from gitops_ds.hub.flatten import KubeObject
    from gitops_ds.hub.record import Entry

TOLD_EACH = 100
"""Objects from one line of progress to the next."""


@click.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@options.hub
@options.reconciler
@options.repo
@click.option(
    "--since",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write nothing where nothing but the instant differs from this snapshot.",
)
def command(*, folder: Path | None, hub: str | None, reconciler: str | None, repo: Path, since: Path | None) -> int:
    """Save what a live hub holds into DIR, so that it can be planned with later: the same facts give the same plan.

    DIR is new, empty, or holds an earlier snapshot, which is replaced as a whole once everything is read. With --since
    and no DIR it is that snapshot. Secrets are never read; what is carried inside other objects is masked.
    """
    from gitops_ds.cli.progress import progress
    from gitops_ds.cli.snapshots import LIVE, hub_source
    from gitops_ds.cli.terminal import say
    from gitops_ds.hub.live import fetch_each, open_hub
    from gitops_ds.hub.record import differ, snapshot_files
    from gitops_ds.hub.save import refuse_other, save_files, saved_files
    from gitops_ds.report.basis import format_instant

    target = folder or since
    if target is None:
        raise UsageError(Fault("which folder?", fix="gitops-ds snapshot DIR"))
    source = hub_source(hub if hub is not None else _usual(repo, reconciler))
    if not source.startswith(LIVE):
        raise UsageError(Fault(f"{source} is no live hub", fix="--hub kubernetes, or kubernetes:CONTEXT"))
    refuse_other(target)
    captured, faults = datetime.now(UTC).replace(microsecond=0), list[Fault]()
    with progress() as tell, open_hub(source.removeprefix(LIVE)) as server:
        entries = list(fetch_each(server, _recording(tell, faults)))
    files = snapshot_files(entries, source, captured)
    _warn(faults)
    if since is not None and not differ(files, saved_files(since)):
        say(f"nothing has changed since {since}: nothing is written")
        return 0
    save_files(target, files)
    say(f"wrote {target}: {len(entries)} objects in {len(files)} files, captured {format_instant(captured)}")
    return 0


def _usual(where: Path, name: str | None) -> str | None:
    """The hub that the Reconciler of the repository names, where there is any."""
    from gitops_ds.cli.inputs import INTENT, LARGEST_INTENT, chosen, spec_of
    from gitops_ds.errors import RepositoryError
    from gitops_ds.intent.load import SUFFIXES, load_all
    from gitops_ds.repo import open_repository, read_worktree

    try:
        repo = open_repository(where)
    except RepositoryError:
        return None
    return spec_of(chosen(load_all(read_worktree(repo.top, [INTENT], LARGEST_INTENT, suffixes=SUFFIXES)), name)).hub


def _recording(tell: Callable[[str], None], faults: list[Fault]) -> Callable[[KubeObject], Entry]:
    """What makes an entry of each object; what no plan could read of it is added to `faults`."""
    from gitops_ds.hub.objects import read_object
    from gitops_ds.hub.record import entry

    count = 0

    def record(item: KubeObject) -> Entry:
        nonlocal count
        if count % TOLD_EACH == 0:
            tell(f"reading the hub: {count} objects, now {item.kind}")
        count += 1
        read_object(item, faults)
        return entry(item)

    return record


def _warn(faults: list[Fault]) -> None:
    from gitops_ds.cli.terminal import show

    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        show([(f"warning: no plan can be made with this hub as it is: {faults[0].what}{more}", "warn")], error=True)
