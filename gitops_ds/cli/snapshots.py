"""The hub that a command line names: where its facts are, how old they are, and how old they may be.

Owns the forms of --hub and the limit on a snapshot's age. Owns no format of a snapshot and no call to a hub (`hub/`).
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from gitops_ds.errors import Fault, HubError, Place, UsageError
from gitops_ds.hub import read_snapshot
from gitops_ds.inventory import Inventory
from gitops_ds.problem.scores import format_age
from gitops_ds.report.basis import Basis, format_instant
from gitops_ds.sample import sample_folder

DEMO = "demo"
SNAPSHOT, LIVE = "snapshot:", "kubernetes:"
OLD = timedelta(hours=24)
"""A snapshot that is older is worth a warning before a commit."""


def hub_source(hub: str | None) -> str:
    """`demo`, `snapshot:` and an absolute path (a relative one is from here), or `kubernetes:` and a context's name.

    Raises:
        UsageError: no hub is named, or not one that can be read.
        HubError: no context is named, and the kubeconfig has no current one.
    """
    kind, _, rest = (hub or "").partition(":")
    match kind:
        case "":
            fix = "--hub kubernetes, --hub snapshot:DIR, or --hub demo; GITOPS_DS_HUB sets it for good"
            raise UsageError(Fault("which hub? None is named", fix=fix))
        case "demo" if not rest:
            return DEMO
        case "snapshot" if rest:
            return f"{SNAPSHOT}{os.path.realpath(rest)}"
        case "kubernetes" if rest or hub == kind:
            from gitops_ds.hub.live import hub_name

            return hub_name(rest or None)
    raise UsageError(Fault(f'"{hub}" is no hub', fix="write kubernetes, kubernetes:CONTEXT, snapshot:DIR or demo"))


def read_hub(source: str, *, works: bool = False, seconds: float | None = None) -> Inventory:
    """The facts of the hub that `hub_source` named; with `works` those that only tell how far a move has got, too.

    `seconds` is how long a live hub may take for all of it; None: as long as ever.

    Raises:
        HubError: it cannot be read.
        InputError: with every fault of what a snapshot holds.
    """
    if source.startswith(LIVE):
        from gitops_ds.hub.live import Limits, read_live

        limits = None if seconds is None else Limits(total=seconds)
        return read_live(source.removeprefix(LIVE), works=works, limits=limits)
    return read_snapshot(sample_folder() / "hub" if source == DEMO else Path(source.removeprefix(SNAPSHOT)))


def basis_of(facts: Inventory, source: str, at: datetime | None, now: datetime) -> Basis:
    """What a plan on `facts` stands on: judged at `at`, else at the snapshot's own instant, else now.

    The age is that at `at`, so that it is the same each time, else that at `now`.
    """
    captured = facts.captured_at
    age = None if captured is None or source == DEMO else _age(captured, at or now)
    return Basis(source, at or captured or now, captured, age)


def refuse_old(facts: Inventory, source: str, most: timedelta | None, now: datetime) -> None:
    """Raise HubError where the snapshot is older than `most` by the real clock, or does not say.

    Never for the demo, nor for a live hub, which is as it is now.
    """
    if most is None or source == DEMO or source.startswith(LIVE):
        return
    place = Place(source.removeprefix(SNAPSHOT))
    captured = facts.captured_at
    allowed = f"--max-snapshot-age (GITOPS_DS_MAX_SNAPSHOT_AGE) allows {_plain(most)}"
    if captured is None:
        fix = "save it with a HubSnapshot that says `capturedAt` (docs/cli.md), or allow any age"
        raise HubError(Fault("the snapshot does not say when it was captured", place, allowed, fix))
    if _age(captured, now) > most:
        what = f"the snapshot is {format_age(_age(captured, now))} old: it was captured {format_instant(captured)}"
        raise HubError(Fault(what, place, allowed, "save what the hub holds anew, or allow a greater age"))


def old_warning(facts: Inventory, source: str, now: datetime) -> str:
    """What to tell before a commit on facts that are older than a day by the real clock; "" where they are not."""
    captured = facts.captured_at
    if source == DEMO or captured is None or _age(captured, now) <= OLD:
        return ""
    return f"the snapshot is {format_age(_age(captured, now))} old (captured {format_instant(captured)}): save it anew"


def _age(captured: datetime, now: datetime) -> timedelta:
    return max(now - captured, timedelta())


def _plain(most: timedelta) -> str:
    seconds = int(most.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
