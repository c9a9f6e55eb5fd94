"""`Step`: what changes for a person between what git holds and a plan: workloads placed, moved, removed; clusters configured.

Owns the comparison of two blueprints in names. Owns no wording of commits and reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gitops_ds.blueprint import Blueprint, PlacedOn, Spot
from gitops_ds.ids import ClusterName, PolicyId, WorkloadId

Verb = Literal["place", "move", "rescore", "remove", "configure", "reconfigure", "release"]


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """One workload whose place changes: place (was nowhere), move (other clusters), rescore (same clusters, other
    policy), remove.
    """

    verb: Verb
    workload: WorkloadId
    before: tuple[Spot, ...]
    after: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class ClusterStep:
    """One cluster whose policy changes: configure (had none), reconfigure, release."""

    verb: Verb
    cluster: ClusterName
    before: PolicyId | None
    after: PolicyId | None


@dataclass(frozen=True, slots=True)
class Steps:
    """All of them, sorted by name."""

    workloads: tuple[WorkloadStep, ...]
    clusters: tuple[ClusterStep, ...]

    def count(self, *verbs: Verb) -> int:
        """How many steps have one of the verbs."""
        return sum(step.verb in verbs for step in (*self.workloads, *self.clusters))


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
        verb: Verb = "place" if not before else "remove" if not after else "move"
        if {s.cluster for s in before} == {s.cluster for s in after}:
            verb = "rescore"
        yield WorkloadStep(verb, workload, before, after)


def _clusters(old: Blueprint, new: Blueprint) -> Iterator[ClusterStep]:
    was = {c.cluster: c.policy for c in old.configurations}
    now = {c.cluster: c.policy for c in new.configurations}
    for cluster in sorted({*was, *now}):
        before, after = was.get(cluster), now.get(cluster)
        if before != after:
            verb: Verb = "configure" if before is None else "release" if after is None else "reconfigure"
            yield ClusterStep(verb, cluster, before, after)
