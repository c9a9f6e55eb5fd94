"""`gitops-ds watch`: reconcile again and again, unattended, with health, metrics and logs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from gitops_ds.cli import options

if TYPE_CHECKING:
    from gitops_ds.cli.inputs import Inputs
    from gitops_ds.cli.line import Line, Wanted
    from gitops_ds.delivery import Delivered, World
    from gitops_ds.intent.reconciler import ReconcilerSpec
    from gitops_ds.watch import Address, Health, Log, Metrics, Reading, Settings, Signals, Timed

SNAPSHOT = "snapshot:"


@click.command()
@options.delivering
@click.option(
    "--interval", type=options.Duration(), help="From the end of one round to the next [default: the Reconciler's, 1m]."
)
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    default="127.0.0.1:8080",
    show_default=True,
    help="Where /healthz, /readyz and /metrics are; :8080 for every address, off for none.",
)
@click.option(
    "--log-format",
    "log_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How events are written to standard error.",
)
def command(
    *,
    where: str,
    asked: options.Asked,
    mode: str | None,
    remote: str | None,
    branch: str | None,
    interval: timedelta | None,
    listen: str,
    log_format: str,
) -> int:
    """Reconcile again and again, until SIGTERM or SIGINT.

    Each round does what reconcile does, from a reading of its own, with the settings of the commit that it reads. A
    round that fails is told and tried again, later each time. SIGHUP starts a round at once.
    """
    import sys

    from gitops_ds.cli.line import Wanted
    from gitops_ds.errors import Fault, UsageError
    from gitops_ds.watch import Health, Log, Metrics, Signals, address_of, serving

    if interval is not None and interval <= timedelta():
        raise UsageError(Fault("--interval is more than 0s", fix="such as --interval 1m"))
    address = address_of(listen)
    wanted = Wanted(_settled(where), replace(asked, hub=_settled_hub(asked.hub)), mode, remote, branch)
    log = Log(sys.stderr, as_json=log_format == "json", now=lambda: datetime.now(UTC))
    health, metrics = Health(_clock), Metrics()
    with Signals() as signals:
        if address is None:
            _run(wanted, interval, log, metrics, health, signals, None)
        else:
            with serving(address, health, metrics) as bound:
                _run(wanted, interval, log, metrics, health, signals, bound)
    return 0


def _run(
    wanted: Wanted,
    interval: timedelta | None,
    log: Log,
    metrics: Metrics,
    health: Health,
    signals: Signals,
    bound: Address | None,
) -> None:
    from gitops_ds import __version__
    from gitops_ds.cli.faults import faults_of
    from gitops_ds.cli.line import line
    from gitops_ds.repo import mask
    from gitops_ds.watch import Loop

    listening = None if bound is None else str(bound)
    log.event("started", version=__version__, repo=mask(wanted.where), listen=listening, pid=os.getpid())
    Loop(
        open=lambda: _Opened(line(wanted)),
        explain=faults_of,
        interval=interval,
        log=log,
        metrics=metrics,
        health=health,
        signals=signals,
        clock=_clock,
    ).run()


@dataclass(frozen=True)
class _Opened:
    """One round of the line that reconcile runs once."""

    line: Line

    @property
    def settings(self) -> Settings:
        from gitops_ds.cli.inputs import spec_of

        return _settings(spec_of(self.line.reconciler), self.line.wanted.asked)

    def run(self, world: World, told: Callable[[Reading], None], timed: Timed) -> Delivered:
        def tell(inputs: Inputs) -> None:
            from gitops_ds.cli.snapshots import old_warning
            from gitops_ds.watch import Reading

            is_old = old_warning(inputs.inventory, inputs.basis.source, datetime.now(UTC))
            warning = f"the snapshot {inputs.basis.source} is more than a day old: save it anew" if is_old else ""
            settings = _settings(inputs.spec, self.line.wanted.asked)
            told(Reading(settings, inputs.inventory, inputs.instant, warning))

        return self.line.run(world, tell, timed)


def _settings(spec: ReconcilerSpec, asked: options.Asked) -> Settings:
    from gitops_ds.cli.snapshots import hub_source
    from gitops_ds.watch import Settings

    hub = hub_source(asked.hub or spec.hub) if spec.watch.lease else ""
    hooks = len((*spec.hooks.postRender, *spec.hooks.postPush))
    return Settings(spec.watch, hub, spec.git.timeout + hooks * spec.hooks.timeout)


def _clock() -> float:
    import time

    return time.monotonic()


def _settled(where: str) -> str:
    """The repository, wherever this process is: its folder may go away and come back."""
    from gitops_ds.repo import is_url

    return where if is_url(where) else os.path.abspath(where)  # noqa: PTH100 - links may change, and are followed then


def _settled_hub(hub: str | None) -> str | None:
    """The same for a snapshot's folder."""
    if hub is None or not hub.startswith(SNAPSHOT) or hub == SNAPSHOT:
        return hub
    return f"{SNAPSHOT}{os.path.abspath(hub.removeprefix(SNAPSHOT))}"  # noqa: PTH100 - as above
