"""`Board`: where everything stands while one step is worked out, and the blueprint that it makes in the end.

Owns who is where now, who is to be where, which cluster is in change, and which part of the move each belongs to. Owns
no rule of what may happen next (`copies.py`, `policies.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
from gitops_ds.graph import groups
from gitops_ds.ids import ClusterName, Namespace, PolicyId, WorkloadId, WorkloadName
from gitops_ds.phases.progress import Progress
from gitops_ds.phases.terms import Terms
from gitops_ds.phases.transit import Transit

Spots = dict[ClusterName, Spot]
_Node = tuple[str, str]


class Board:
    """The state of one step. It is changed in place while the step is worked out.

    Attributes:
        now: the copies of each workload; want: those that it is to have.
        config: the policy of each cluster; goal: the one that it is to have.
        changing: the clusters in change.
        there: who is on a cluster: what git has there, what still runs there, and who came in this step.
        part: the number of the part that a workload or a cluster belongs to, of those that take part in the move.
        did, awaited, obstacles: what was done, is waited for, and is in the way, by part.
    """

    def __init__(self, before: Blueprint, target: Blueprint, transit: Transit | None, terms: Terms, hub: Progress):
        """Set the board. Copies of workloads that no intent has any more are off it at once."""
        self.before, self.target, self.terms, self.hub = before, target, terms, hub
        self.now = _spots(before, terms)
        self.want = _spots(target, terms)
        self.config = {c.cluster: c for c in before.configurations}
        self.goal = {c.cluster: c for c in target.configurations}
        self.changing = set(transit.changing if transit else ())
        self.there: dict[ClusterName, set[WorkloadId]] = defaultdict(set)
        for workload, spots in self.now.items():
            for cluster in spots:
                self.there[cluster].add(workload)
        self.lingering: dict[ClusterName, set[WorkloadId]] = defaultdict(set)
        for workload, cluster in hub.present:
            if workload in terms.number and cluster not in self.now.get(workload, {}):
                self.lingering[cluster].add(workload)
                self.there[cluster].add(workload)
        self.did: dict[int, list[str]] = defaultdict(list)
        self.awaited: dict[int, list[str]] = defaultdict(list)
        self.obstacles: dict[int, list[str]] = defaultdict(list)
        self.part: dict[WorkloadId | ClusterName, int] = {}
        self.phased: set[int] = set()
        self._cut()

    def comers(self, workload: WorkloadId) -> list[ClusterName]:
        """The clusters that the workload is to be on and is not."""
        return sorted(self.want.get(workload, {}).keys() - self.now.get(workload, {}).keys())

    def leavers(self, workload: WorkloadId) -> list[ClusterName]:
        """The clusters that the workload is on and is not to be."""
        return sorted(self.now.get(workload, {}).keys() - self.want.get(workload, {}).keys())

    def moves(self, workload: WorkloadId) -> bool:
        """Whether a copy of the workload is still to come or to leave."""
        return self.now.get(workload, {}).keys() != self.want.get(workload, {}).keys()

    def policy(self, cluster: ClusterName) -> PolicyId | None:
        """The policy that the cluster has."""
        return self.config[cluster].policy if cluster in self.config else None

    def wanted(self, cluster: ClusterName) -> PolicyId | None:
        """The policy that the cluster is to have."""
        return self.goal[cluster].policy if cluster in self.goal else None

    def movers(self) -> Iterator[tuple[int, tuple[WorkloadId, ...]]]:
        """Each unit that still moves, in parts that go step by step, with the number of its part."""
        units = {self.terms.unit(w) for w in self.part if isinstance(w, WorkloadId) and self.moves(w)}
        for unit in sorted(units):
            part = self.part[next(w for w in unit if w in self.part)]
            if part in self.phased:
                yield part, unit

    def changers(self) -> Iterator[tuple[int, ClusterName]]:
        """Each cluster whose policy is not what it is to be, in parts that go step by step."""
        for cluster in sorted({*self.config, *self.goal}):
            if self.policy(cluster) != self.wanted(cluster) and self.part[cluster] in self.phased:
                yield self.part[cluster], cluster

    def at_once(self) -> None:
        """Do all of the parts in which nobody makes before they break."""
        for key, part in sorted(self.part.items(), key=str):
            if part in self.phased:
                continue
            if isinstance(key, WorkloadId):
                if self.moves(key):
                    self.did[part].append(f"move {key}")
                self.now[key] = dict(self.want.get(key, {}))
                continue
            self.changing.discard(key)
            if self.policy(key) != self.wanted(key):
                self.did[part].append(f"give {key} {_named(self.wanted(key))}")
            self.config.pop(key, None)
            if key in self.goal:
                self.config[key] = self.goal[key]

    def add(self, workload: WorkloadId, cluster: ClusterName) -> None:
        """Add a copy."""
        self.now.setdefault(workload, {})[cluster] = self.want[workload][cluster]
        self.there[cluster].add(workload)

    def remove(self, workload: WorkloadId, cluster: ClusterName) -> None:
        """Remove a copy. It is there still, until the hub shows that it is gone."""
        del self.now[workload][cluster]

    def blueprint(self) -> Blueprint:
        """What the step makes of what git holds; the target itself once it is reached."""
        found = Blueprint(
            tuple(self._placements()),
            tuple(sorted(self._settled(c) for c in self.config.values())),
            scorings=self.target.scorings,
        )
        if not self.changing and (found.placements, found.configurations) == _named_only(self.target):
            return self.target
        used = {s.cluster for p in found.placements for s in p.spots} | self.config.keys()
        pins = {**self.before.pins, **self.target.pins}
        return replace(found, pins={c: pins[c] for c in sorted(used)})

    def _placements(self) -> Iterator[PlacedOn]:
        meta = {p.workload: p for p in (*self.before.placements, *self.target.placements)}
        for workload, spots in sorted(self.now.items()):
            if spots:
                found = tuple(self._spot(workload, cluster) for cluster in sorted(spots))
                yield replace(meta[workload], spots=found)

    def _spot(self, workload: WorkloadId, cluster: ClusterName) -> Spot:
        """The copy under the policy that its cluster has by now, without its gate while the cluster is in change."""
        now, want = self.now[workload][cluster], self.want.get(workload, {}).get(cluster)
        policy = self.policy(cluster)
        if want is not None and policy == self.wanted(cluster):
            now = want
        elif now.policy is not None and policy is not None and now.policy != policy:
            now = replace(now, policy=policy, score=None)
        return replace(now, gated=now.policy is None or cluster not in self.changing)

    def _settled(self, configured: ConfiguredBy) -> ConfiguredBy:
        goal = self.goal.get(configured.cluster)
        return goal if goal is not None and goal.policy == configured.policy else configured

    def _cut(self) -> None:
        """Cut the move into parts that have nothing to do with each other, and find those that go step by step."""
        clusters = {c for c in {*self.config, *self.goal} if self.policy(c) != self.wanted(c)} | self.changing
        workloads = {w for w in {*self.now, *self.want} if self.moves(w)}
        nodes: list[_Node] = [*(_node(c) for c in clusters), *workloads]
        edges: list[tuple[_Node, _Node]] = [
            (w, _node(c)) for w in workloads for c in {*self.now.get(w, {}), *self.want.get(w, {})}
        ]
        edges += [(w, _node(c)) for c in clusters for w in self.there[c]]
        edges += [(w, _node(c)) for w, spots in self.want.items() for c in spots if c in clusters]
        edges += [(w, v) for w in workloads for v in self.terms.unit(w) if v != w]
        touched = {c for w in workloads for c in self.want.get(w, {})}
        edges += [(w, _node(c)) for c, several in self.lingering.items() if c in touched for w in several]
        for number, members in enumerate(groups(nodes, edges)):
            for namespace, name in members:
                if not namespace:
                    self.part[ClusterName(name)] = number
                    continue
                workload = WorkloadId(Namespace(namespace), WorkloadName(name))
                self.part[workload] = number
                if workload in self.terms.phased:
                    self.phased.add(number)


def _node(cluster: ClusterName) -> _Node:
    """A cluster beside workloads: no namespace is empty."""
    return "", cluster


def all_of(several: Iterable[WorkloadId]) -> str:
    """Their names, in words."""
    return " and ".join(map(str, several))


def some_of(several: Collection[WorkloadId], most: int = 3) -> str:
    """The first names, and how many more there are."""
    names = [str(w) for w in sorted(several)]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _spots(blueprint: Blueprint, terms: Terms) -> dict[WorkloadId, Spots]:
    return {p.workload: {s.cluster: s for s in p.spots} for p in blueprint.placements if p.workload in terms.number}


def _named_only(blueprint: Blueprint) -> tuple[tuple[PlacedOn, ...], tuple[ConfiguredBy, ...]]:
    return blueprint.placements, blueprint.configurations


def _named(policy: PolicyId | None) -> str:
    return policy.name if policy else "no policy"
