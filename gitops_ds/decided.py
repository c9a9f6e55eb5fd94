"""The blueprint that decisions give: who is selected where, and which policy each cluster has.

Owns what stays although nobody decided on it: workloads that are kept, and the policies of clusters that get nothing.
Owns neither the decisions nor what a single commit may do of them (`phases/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
from gitops_ds.decisions import Decision, Unplaced
from gitops_ds.ids import ClusterName, IntentId, PolicyId
from gitops_ds.problem import Problem


def decided(
    problem: Problem, decisions: Sequence[Decision], unplaced: Sequence[Unplaced], old: Blueprint | None
) -> Blueprint:
    """The blueprint of these decisions; `old` is the one that git holds, by which what is kept stays."""
    spots: dict[int, list[Spot]] = {}
    index = {d.workload: w for w, d in enumerate(problem.demands)}
    for decision in decisions:
        spots.setdefault(index[decision.workload], []).append(Spot(decision.cluster, decision.policy, decision.score))
    held_before = {p.workload: p.spots for p in old.placements} if old else {}
    for one in unplaced:
        if one.kept:
            spots[index[one.workload]] = [replace(s, score=None, gated=True) for s in held_before[one.workload]]
    placements = tuple(
        PlacedOn(demand.workload, demand.intent, demand.placement, tuple(sorted(spots[w])))
        for w, demand in enumerate(problem.demands)
        if w in spots
    )
    configurations = tuple(_configurations(problem, placements, old))
    used = {s.cluster for p in placements for s in p.spots} | {c.cluster for c in configurations}
    pins = {**(old.pins if old else {}), **problem.pins}
    return Blueprint(placements, configurations, {c: pins[c] for c in sorted(used)})


def _configurations(problem: Problem, placements: Sequence[PlacedOn], old: Blueprint | None) -> Iterator[ConfiguredBy]:
    """The policy of each cluster: the one that its workloads run under, else the one that git holds.

    A cluster that the hub has no more keeps its policy as long as an intent names it; one that no intent has any more,
    as long as a workload is kept there.
    """
    chosen: dict[ClusterName, PolicyId] = {}
    for placed in placements:
        chosen |= {s.cluster: s.policy for s in placed.spots if s.policy is not None}
    now = {c.cluster: c for c in old.configurations} if old else {}
    for cluster in sorted({*problem.clusters, *problem.lost, *chosen}):
        before = now.get(cluster)
        policy = chosen.get(cluster) or (before.policy if before else None)
        owner = policy and _owner(problem, cluster, policy, before)
        if policy is not None and owner is not None:
            yield ConfiguredBy(cluster, policy, owner)


def _owner(problem: Problem, cluster: ClusterName, policy: PolicyId, before: ConfiguredBy | None) -> IntentId | None:
    """The intent, in the policy's namespace, whose folder holds the objects: the one that has them and so named them.

    Where that one has the cluster no more, the first by name that does.
    """
    mine = sorted(key for key in problem.intents if key.namespace == policy.namespace)
    having = [key for key in mine if cluster in problem.candidates[key]] if cluster in problem.clusters else mine
    if before is not None and before.intent in having:
        return before.intent
    return next(iter(having), None)
