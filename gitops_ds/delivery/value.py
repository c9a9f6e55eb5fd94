"""`Drawn` and `Delivered`: a plan on its way into git, and what became of it.

Owns the values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from gitops_ds.guards import Urgent
from gitops_ds.intent.load import Loaded
from gitops_ds.intent.reconciler import Reconciler, ReconcilerSpec
from gitops_ds.lifecycle import HookFile
from gitops_ds.reconcile import Plan
from gitops_ds.repo import Repository
from gitops_ds.report.basis import Basis

TRIES = 10
"""How often the plan is made anew because the branch moved while it was made."""

Pushed = Literal["no", "yes", "moved", "transient", "unknown", "refused"]
"""What became of one push, for counting: `no` is no push at all."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a plan is to be made from.

    `commit` holds the intents, `current` what is rendered now; `proposed` is where the pull request's branch
    is, if there is one.
    """

    repo: Repository
    commit: str
    current: str
    proposed: str | None = None


@dataclass(frozen=True)
class Drawn:
    """A plan, the facts that it stands on, and all that committing it takes.

    Attributes:
        plan: guards included: what is held is not committed.
        basis: the hub's facts.
        spec: the settings that count, the command line's included.
        reconciler: the document that they stand in; None where the repository holds none.
        hooks: the hooks as the commit that was read holds them, by path.
        files: what hooks see: the tree as it will be, and what it was planned from, by path.
        manifests: what policies/ and workloads/ hold, by path.
        urgent: who commits in spite of a freeze, and why.
        settled: the commits that Resume documents name.
    """

    plan: Plan
    basis: Basis
    spec: ReconcilerSpec
    reconciler: Loaded[Reconciler] | None = None
    hooks: Mapping[str, HookFile] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    manifests: Mapping[str, bytes] = field(default_factory=dict)
    urgent: Urgent | None = None
    settled: frozenset[str] = frozenset()


Draw = Callable[[Reading], Drawn]
"""Makes the plan, guards and all."""


@dataclass(frozen=True)
class Delivered:
    """What became of a plan.

    Attributes:
        drawn: the plan.
        commit: what holds it; None where nothing changed or it is held.
        is_pushed: whether this run pushed it.
        is_new: whether this run made it.
        branch: the branch that it is on.
        url: the pull request.
        body: the file with the request's text, where no API was there to open one.
    """

    drawn: Drawn
    commit: str | None = None
    is_pushed: bool = False
    is_new: bool = True
    branch: str | None = None
    url: str | None = None
    body: str | None = None

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.drawn.plan

    @property
    def basis(self) -> Basis:
        """The facts that it stands on."""
        return self.drawn.basis


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit on its way to a branch: all that is left to tell where the run is cut short.

    Attributes:
        commit: its id.
        branch: the branch, without refs/heads/; None where HEAD is on none.
        is_pushed: whether the branch is the remote's.
        is_certain: whether it is there; else it may be there or not.
    """

    commit: str
    branch: str | None
    is_pushed: bool = False
    is_certain: bool = False


@dataclass(frozen=True)
class World:
    """What delivery needs of the outside beside git: a clock, patience, and somebody to tell.

    `tell` is told what a person should know, `show` each line that a hook prints, `count` the outcome of each push.
    `proceed` is asked right before anything is committed or pushed; it raises where this process may no longer do so.
    `landing` is told of each commit before it is sent on its way, and once it is there; None: it did not get there.
    """

    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    tell: Callable[[str], None]
    show: Callable[[str], None]
    count: Callable[[Pushed], None] = lambda _: None
    proceed: Callable[[], None] = lambda: None
    landing: Callable[[Landing | None], None] = lambda _: None

    def back_off(self, tries: int, *, first: float = 0.2, most: float = 10.0) -> None:
        """Wait after the `tries`-th failure: twice as long each time, and up to half as much again by chance."""
        self.sleep(min(most, first * 2 ** (tries - 1)) * (1 + self.jitter() / 2))
