"""`Step`: what changes for a person between what git holds and a plan: workloads and clusters, each step in one phrase.

Owns the comparison of two blueprints in names, and the phrase that commits and reports share. Owns no layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gitops_ds.blueprint import Blueprint, PlacedOn, Spot
from gitops_ds.ids import ClusterName, PolicyId, WorkloadId

Verb = Literal["place", "move", "extend", "shrink", "rescore", "gate", "remove", "configure", "reconfigure", "release"]


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """One workload whose place changes.

    The verbs: place (it was nowhere), move (other clusters), extend (further clusters), shrink (fewer clusters),
    rescore (the same clusters under another policy), gate (the same, behind its gate again), remove.
    """

    verb: Verb
    workload: WorkloadId
    before: tuple[Spot, ...]
    after: tuple[Spot, ...]

    def __str__(self) -> str:
        """What happens to it, without its name."""
        if self.verb == "gate":
            return f"stays on {_clusters_of(self.after)}, behind its gate again"
        if self.verb != "rescore":
            return f"{_clusters_of(self.before)} -> {_clusters_of(self.after)}"
        policies = sorted({s.policy.name if s.policy else "no policy" for s in self.after if s not in self.before})
        return f"stays on {_clusters_of(self.after)}, now under {', '.join(policies)}"


@dataclass(frozen=True, slots=True)
class ClusterStep:
    """One cluster whose policy changes: configure (had none), reconfigure, release."""

    verb: Verb
    cluster: ClusterName
    before: PolicyId | None
    after: PolicyId | None

    def __str__(self) -> str:
        """What happens to it, without its name."""
        before, after = (policy.name if policy else "no policy" for policy in (self.before, self.after))
        return f"{before} -> {after}"


@dataclass(frozen=True, slots=True)
class Steps:
    """All of them, sorted by name."""

    workloads: tuple[WorkloadStep, ...]
    clusters: tuple[ClusterStep, ...]

    def count(self, *verbs: Verb) -> int:
        """How many steps have one of the verbs."""
        found: list[Verb] = [*(step.verb for step in self.workloads), *(step.verb for step in self.clusters)]
        return sum(verb in verbs for verb in found)


def steps(before: Blueprint | None, after: Blueprint) -> Steps:
    """What changes from `before` (None: nothing is there yet) to `after`."""
    old = before or Blueprint()
    return Steps(tuple(_workloads(old, after)), tuple(_clusters(old, after)))


def _workloads(old: Blueprint, new: Blueprint) -> Iterator[WorkloadStep]:
    was: dict[WorkloadId, PlacedOn] = {p.workload: p for p in old.placements}
    now: dict[WorkloadId, PlacedOn] = {p.workload: p for p in new.placements}
    for workload in sorted({*was, *now}):
        before = was[workload].spots if workload in was else ()
        after = now[workload].spots if workload in now else ()
        if before == after:
            continue
        yield WorkloadStep(_verb(before, after), workload, before, after)


def _verb(before: Sequence[Spot], after: Sequence[Spot]) -> Verb:
    old, new = {s.cluster for s in before}, {s.cluster for s in after}
    if old == new:
        return "gate" if [s.policy for s in before] == [s.policy for s in after] else "rescore"
    if not (old and new):
        return "remove" if old else "place"
    return "extend" if old < new else "shrink" if new < old else "move"


def _clusters(old: Blueprint, new: Blueprint) -> Iterator[ClusterStep]:
    was = {c.cluster: c.policy for c in old.configurations}
    now = {c.cluster: c.policy for c in new.configurations}
    for cluster in sorted({*was, *now}):
        before, after = was.get(cluster), now.get(cluster)
        if before != after:
            verb: Verb = "configure" if before is None else "release" if after is None else "reconfigure"
            yield ClusterStep(verb, cluster, before, after)


def _clusters_of(spots: Sequence[Spot]) -> str:
    return ", ".join(s.cluster for s in spots) or "nowhere"
