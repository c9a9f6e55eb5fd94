"""`Metrics`: what Prometheus reads of the loop, in a registry of its own.

Owns every name and label (docs/watch.md lists them) and what each counts. Owns no HTTP and no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final, Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder

from gitops_ds import __version__
from gitops_ds.decisions import points
from gitops_ds.delivery import Delivered, Pushed
from gitops_ds.guards import GUARDS
from gitops_ds.reconcile import Plan

Result = Literal["bug", "contention", "done", "error", "held", "lost", "refused", "stopped", "transient"]
"""How a round ended: `done` and `held` are well, `lost` (the Lease) and `stopped` are no failure."""
STATUSES: Final = ("changed", "held", "unchanged")
BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """The metrics of one loop."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it so
        self._registry = registry = CollectorRegistry()
        self._rounds = Counter(
            "gitops_ds_rounds", "Rounds that have ended, by how they did.", ["result"], registry=registry
        )
        self._plans = Counter("gitops_ds_plans", "Plans of rounds that ended well.", ["status"], registry=registry)
        self._commits = Counter("gitops_ds_commits", "Commits that got into git.", registry=registry)
        self._pushes = Counter("gitops_ds_pushes", "Pushes, by what became of them.", ["result"], registry=registry)
        self._held = Gauge(
            "gitops_ds_held", "1 where the guard holds the last plan, else 0.", ["guard"], registry=registry
        )
        self._ages = Gauge(
            "gitops_ds_score_age_seconds",
            "Age of the oldest value of a score that a decision of the last plan stands on, when it was judged.",
            ["score"],
            registry=registry,
        )
        self._solves = Histogram(
            "gitops_ds_solve_seconds",
            "Seconds that solves took; a plan recalled from the lock takes none.",
            buckets=BUCKETS,
            registry=registry,
        )
        self._objective = Gauge(
            "gitops_ds_objective", "What the last plan is worth, part by part.", ["part"], registry=registry
        )
        self._unplaced = Gauge(
            "gitops_ds_unplaced", "Workloads that the last plan has no place, or too few, for.", registry=registry
        )
        self._success = Gauge(
            "gitops_ds_last_success_timestamp_seconds",
            "When a round last ended well, as seconds since 1970; 0 before the first.",
            registry=registry,
        )
        self._leader = Gauge(
            "gitops_ds_leader", "1 while this replica may work: it holds the Lease, or none is asked for.",
            registry=registry,
        )  # fmt: skip
        Gauge("gitops_ds_info", "Always 1; the version.", ["version"], registry=registry).labels(__version__).set(1)
        self._known_scores: frozenset[str] = frozenset()
        self._known_guards: frozenset[str] = frozenset(GUARDS)
        self._at_zero()

    def _at_zero(self) -> None:
        """Show every series from the start: a rate from nothing to one is no rate."""
        for result in get_args(Result):
            self._rounds.labels(result)
        for status in STATUSES:
            self._plans.labels(status)
        for pushed in sorted({*get_args(Pushed)} - {"no"}):
            self._pushes.labels(pushed)
        for guard in GUARDS:
            self._held.labels(guard)

    def exposed(self, accept: str) -> tuple[bytes, str]:
        """The metrics in the form that an Accept header asks for, and the name of the form."""
        encode, kind = choose_encoder(accept)
        return encode(self._registry), kind

    def ended(self, result: Result) -> None:
        """A round has ended."""
        self._rounds.labels(result).inc()

    def pushed(self, outcome: Pushed) -> None:
        """A push has ended."""
        self._pushes.labels(outcome).inc()

    def solved(self, seconds: float) -> None:
        """A solve has ended."""
        self._solves.observe(seconds)

    def leads(self, asked: Callable[[], bool]) -> None:
        """Tell how to ask whether this replica may work."""
        self._leader.set_function(asked)

    def delivered(self, done: Delivered, ages: Mapping[str, float], when: datetime) -> None:
        """A round has ended well, with this plan, on scores of these ages in seconds."""
        made = done.plan
        self._plans.labels(made.status).inc()
        if done.commit is not None and done.is_new:
            self._commits.inc()
        self._success.set(when.timestamp())
        self._unplaced.set(len(made.unplaced))
        self._show_held(one.guard for one in made.held)
        self._show_value(made)
        self._show_ages(ages)

    def _show_held(self, held: Iterable[str]) -> None:
        found = {*held}
        self._known_guards |= found
        for guard in sorted(self._known_guards):
            self._held.labels(guard).set(guard in found)

    def _show_value(self, made: Plan) -> None:
        value = made.value
        for part, number in (("placed", value.placed), ("score", points(value.score)), ("changes", value.changes)):
            self._objective.labels(part).set(number)

    def _show_ages(self, ages: Mapping[str, float]) -> None:
        for score, seconds in ages.items():
            self._ages.labels(score).set(seconds)
        for score in self._known_scores - ages.keys():
            self._ages.remove(score)
        self._known_scores = frozenset(ages)
