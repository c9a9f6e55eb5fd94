"""`gitops-ds status`: what of the commit is in place on the hub, and what is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options
from gitops_ds.errors import Fault, HubExpired, HubUnreachable, InputError, UsageError

if TYPE_CHECKING:
    from gitops_ds.cli.inputs import Files
    from gitops_ds.intent.load import Intents
    from gitops_ds.intent.reconciler import ReconcilerSpec
    from gitops_ds.inventory import Inventory
    from gitops_ds.repo import Repository
    from gitops_ds.report.basis import Basis
    from gitops_ds.status import Rendered, Status

NOT_IN_PLACE = 3
SECONDS = 300.0
"""How long one reading of the hub may take."""


@click.command()
@options.where
@options.bundling
@options.output
@click.option("--all", "whole", is_flag=True, help="Cut nothing from the text.")
@click.option("--wait", is_flag=True, help="Look again and again until all is in place, or the time is over.")
@click.option(
    "--timeout",
    type=options.Duration(),
    default="10m",
    show_default=True,
    help="How long --wait waits.",
)
@click.option(
    "--interval",
    type=options.Duration(),
    default="10s",
    show_default=True,
    help="The time from the start of one look to the next.",
)
def command(
    *,
    where: str,
    asked: options.Asked,
    output: str,
    whole: bool,
    wait: bool,
    timeout: timedelta,
    interval: timedelta,
) -> int:
    """Hold what the head commit renders against the hub: what is in place, what is not, and why.

    Nothing is planned, and nothing is written anywhere. Exit code 0: all is in place; 3: something is not, or not yet.
    """
    from gitops_ds.cli.terminal import say, show
    from gitops_ds.report.json import dumps
    from gitops_ds.report.status import status_json, status_text

    held = _read(where, asked)
    waited = ""
    if wait:
        if not held.is_live():
            raise UsageError(Fault("a snapshot does not change: there is nothing to wait for", fix="--hub kubernetes"))
        seen, seconds = _wait(held, timeout.total_seconds(), interval.total_seconds())
        waited = f" after {_spelt(seconds)}"
    else:
        seen = held.look(SECONDS)
    if output == "json":
        say(dumps(status_json(seen.status, held.repo.head, seen.basis)))
    else:
        show(status_text(seen.status, held.repo.head, seen.basis, whole=whole, waited=waited))
    return 0 if seen.status.in_place else NOT_IN_PLACE


@dataclass(frozen=True)
class Seen:
    """One look at the hub."""

    status: Status
    basis: Basis


@dataclass(frozen=True)
class _Held:
    """What the commit holds: it is read once, and looked for as often as is asked."""

    repo: Repository
    asked: options.Asked
    said: Intents
    spec: ReconcilerSpec
    rendered: Rendered
    manifests: Files

    def is_live(self) -> bool:
        """Whether the hub is one that changes."""
        return (self.asked.hub or self.spec.hub or "").partition(":")[0] == "kubernetes"

    def look(self, seconds: float) -> Seen:
        """What of it is in place now.

        Args:
            seconds: how long a live hub may take to be read.

        Raises:
            GitopsDsError: the hub cannot be read.
        """
        from gitops_ds.cli.inputs import facts_of
        from gitops_ds.cli.snapshots import basis_of
        from gitops_ds.status import status_of

        now = datetime.now(UTC).replace(microsecond=0)
        facts, source = facts_of(
            self.repo, self.asked, self.spec, self.repo.head, now, works=True, seconds=min(seconds, SECONDS)
        )
        basis = basis_of(facts, source, self.asked.at, now)
        status = status_of(
            self.rendered,
            facts,
            self.said,
            basis.instant,
            disagreeing=_disagreeing(facts, self.manifests),
            knows_works=bool(facts.works) or self.is_live(),
            mine=self.said.below(self.spec.intents),
        )
        return Seen(status, basis)


def _read(where: str, asked: options.Asked) -> _Held:
    """What the head commit of the repository, a folder or a URL, holds.

    Raises:
        GitopsDsError: it cannot be read, or nothing is rendered yet.
    """
    from gitops_ds.cli.access import access_to, cache_folder
    from gitops_ds.cli.inputs import INTENT, LARGEST_FILE, LARGEST_INTENT, MANIFESTS, chosen, spec_of
    from gitops_ds.intent.load import SUFFIXES, load_all
    from gitops_ds.intent.reconciler import Git
    from gitops_ds.repo import is_url, open_clone, open_repository, read_commit
    from gitops_ds.status import read_rendered

    if is_url(where):
        repo = open_clone(where, cache_folder(), access_to(Git()))
    else:
        repo = open_repository(Path(where), bare=True)
    said = load_all(read_commit(repo, repo.head, [INTENT], LARGEST_INTENT, suffixes=SUFFIXES))
    spec = spec_of(chosen(said, asked.reconciler))
    current = read_commit(repo, repo.head, [spec.rendered], LARGEST_FILE)
    manifests = read_commit(repo, repo.head, list(MANIFESTS), LARGEST_FILE, suffixes=SUFFIXES)
    return _Held(repo, asked, said, spec, read_rendered(current, spec.rendered), manifests)


def _disagreeing(facts: Inventory, manifests: Files) -> list[str]:
    """In words, what policies/ and workloads/ state and the hub holds otherwise."""
    from gitops_ds.cli.inputs import with_repository

    try:
        with_repository(facts, manifests)
    except InputError as error:
        return [fault.what for fault in error.faults]
    return []


def _wait(
    held: _Held,
    timeout: float,
    interval: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Seen, float]:
    """The last look, and the seconds until it: the first at which all is in place, or the last before the time is over.

    A hub that does not answer for a while is waited for too.

    Raises:
        HubError: the hub refuses to be read, or gives no answer when the time is over.
    """
    from gitops_ds.cli.progress import progress
    from gitops_ds.report.status import summary, worst

    began = clock()
    with progress(patience=0) as tell:
        while True:
            start = clock()
            left = began + timeout - start
            word = "the hub does not answer"
            error = None
            try:
                seen = held.look(max(left, min(timeout, interval)))
            except (HubUnreachable, HubExpired) as failure:
                error = failure
            else:
                if seen.status.in_place:
                    return seen, clock() - began
                word = f"{summary(seen.status)}: {worst(seen.status)}"
            now = clock()
            left = began + timeout - now
            if left <= 0:
                if error is not None:
                    raise error
                return seen, now - began
            tell(f"waited {_spelt(now - began)} of {_spelt(timeout)}: {word}")
            sleep(min(max(start + interval - now, 0), left))


def _spelt(seconds: float) -> str:
    """A span of time, in whole seconds, as intents write it."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if n]
    return "".join(parts) or "0s"
