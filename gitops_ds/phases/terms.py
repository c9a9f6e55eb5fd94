"""`Terms`: how each workload may move, and what there is room for on the way.

Owns what the intents and the problem say of moves. Owns no step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from gitops_ds.ids import ClusterName, IntentId, PlacementName, PolicyId, WorkloadId
from gitops_ds.intent.placement import Gate, PlacementIntent, Stability
from gitops_ds.problem import Problem
from gitops_ds.quantity import format_quantity

PHASED = "make-before-break"


@dataclass(frozen=True)
class Terms:
    """How workloads may move.

    Attributes:
        problem: what is wanted of whom, and what each configuration supplies.
        phased: the workloads that run on their new cluster before they leave the old one.
        max_in_change: how many clusters may be changing to another policy at once.
        timeout: how long a phase may wait for the hub.
    """

    problem: Problem
    phased: frozenset[WorkloadId]
    max_in_change: int
    timeout: timedelta

    @cached_property
    def number(self) -> Mapping[WorkloadId, int]:
        """The workloads that the intents have, by their number in the problem."""
        return {d.workload: w for w, d in enumerate(self.problem.demands)}

    @cached_property
    def placements(self) -> Mapping[WorkloadId, tuple[IntentId, PlacementName]]:
        """The intent and the Placement of each workload."""
        return {d.workload: (d.intent, d.placement) for d in self.problem.demands}

    @cached_property
    def _configurations(self) -> Mapping[tuple[ClusterName, PolicyId | None], int]:
        return {(c.cluster, c.policy): g for g, c in enumerate(self.problem.configurations)}

    @cached_property
    def _unit(self) -> Mapping[WorkloadId, tuple[WorkloadId, ...]]:
        names = [d.workload for d in self.problem.demands]
        return {names[w]: tuple(names[v] for v in sorted(group)) for group in self.problem.together for w in group}

    def unit(self, workload: WorkloadId) -> tuple[WorkloadId, ...]:
        """The workloads that come and go together with this one, itself among them, sorted."""
        return self._unit.get(workload, (workload,))

    def is_phased(self, unit: Collection[WorkloadId]) -> bool:
        """Whether all of them may run twice for a while."""
        return all(workload in self.phased for workload in unit)

    def gate(self, workload: WorkloadId) -> Gate | None:
        """The claim that the workload waits for under a candidate policy."""
        return self.problem.asked[workload].gate

    @cached_property
    def _apart(self) -> Mapping[WorkloadId, frozenset[WorkloadId]]:
        names = [d.workload for d in self.problem.demands]
        found: dict[WorkloadId, set[WorkloadId]] = {}
        for group in self.problem.apart:
            for w in group:
                found.setdefault(names[w], set()).update(names[v] for v in group if v != w)
        return {workload: frozenset(others) for workload, others in found.items()}

    def apart(self, workload: WorkloadId) -> frozenset[WorkloadId]:
        """The workloads that no cluster may hold beside this one."""
        return self._apart.get(workload, frozenset())

    def lacking(self, cluster: ClusterName, policy: PolicyId | None, several: Collection[WorkloadId]) -> str:
        """What the cluster lacks under a policy for all of these workloads at once, in words; "" where they fit.

        Nothing is known of a configuration that is no candidate any more, so nothing is lacking there.
        """
        g = self._configurations.get((cluster, policy), self._configurations.get((cluster, None)))
        if g is None:
            return ""
        needs = [self._need(self.number[workload], g) for workload in several]
        have: list[int] = self.problem.supply[g].tolist()
        short = [sum(need[k] for need in needs) - amount for k, amount in enumerate(have)]
        return ", ".join(
            f"{kind} short by {format_quantity(self.problem.amount(k, short[k]))}"
            for k, kind in enumerate(self.problem.kinds)
            if short[k] > 0
        )

    def _need(self, workload: int, configuration: int) -> list[int]:
        found: list[int] = self.problem.need(workload, configuration).tolist()
        return found


def terms_of(problem: Problem) -> Terms:
    """What the intents say of moves. The smallest `maxInChange` and the largest `phaseTimeout` of those concerned hold.

    An intent is concerned where one of its workloads makes before it breaks.
    """
    phased = frozenset(d.workload for d in problem.demands if _is_phased(problem, d.workload, d.intent))
    concerned = list(_concerned(problem, phased)) or [Stability()]
    return Terms(
        problem,
        phased,
        max_in_change=min(s.maxInChange for s in concerned),
        timeout=max(s.phaseTimeout for s in concerned),
    )


def takes_phases(intents: Iterable[PlacementIntent]) -> bool:
    """Whether a workload of these intents makes before it breaks, so that plans may have to know how far the hub is."""
    return any(_makes_first(one.spec.stability.move, w.surge) for one in intents for w in one.spec.workloads)


def _is_phased(problem: Problem, workload: WorkloadId, intent: IntentId) -> bool:
    return _makes_first(problem.intents[intent].intent.spec.stability.move, problem.asked[workload].surge)


def _makes_first(move: str | None, surge: bool | None) -> bool:
    return surge is not False and (move == PHASED or (move is None and surge is True))


def _concerned(problem: Problem, phased: frozenset[WorkloadId]) -> Iterator[Stability]:
    for key in sorted({d.intent for d in problem.demands if d.workload in phased}):
        yield problem.intents[key].intent.spec.stability
