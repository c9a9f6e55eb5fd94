"""Independent components: parts of a problem that share no cluster, no relation and so no constraint.

Owns the cut and the way back. Owns no solving. A problem is always cut the same way, however many workers there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gitops_ds.graph import groups
from gitops_ds.problem.model import MoveLimit, Pair, Problem, SpreadRule


@dataclass(frozen=True)
class Component:
    """A part that can be solved by itself: `problem` is numbered anew; `workloads` and `configurations` lead back."""

    problem: Problem
    workloads: tuple[int, ...]
    configurations: tuple[int, ...]

    def whole(self, pair: Pair) -> Pair:
        """A pair of the part as a pair of the whole problem."""
        return Pair(self.workloads[pair.workload], self.configurations[pair.configuration])


def components(problem: Problem) -> tuple[Component, ...]:
    """The components, in the order of their first workloads.

    Workloads are joined by a cluster that both may use, by `with`, `apart`, and by a limit that may bind. A
    workload that may run nowhere is in none, and neither is a cluster that nobody may use, unless a pair is required.
    """
    count = len(problem.clusters)
    usable = np.nonzero(_usable(problem))
    edges = [(int(c), count + int(w)) for w, c in zip(*usable, strict=True)]
    for group in (*problem.together, *problem.apart, *_limited(problem)):
        edges += [(count + group[0], count + other) for other in group[1:]]
    edges += [(int(problem.cluster_of[g]), count + w) for w, g in problem.required]
    nodes = [count + w for w in sorted({*usable[0].tolist(), *(w for w, _ in problem.required)})]
    parts = groups(nodes, edges)
    found = [([n for n in part if n < count], [n - count for n in part if n >= count]) for part in parts]
    return tuple(
        _part(problem, clusters, workloads) for clusters, workloads in sorted(found, key=lambda f: f[1]) if clusters
    )


def _usable(problem: Problem) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """W x C: whether the workload may run on the cluster under any configuration."""
    usable = np.zeros((len(problem.demands), len(problem.clusters)), dtype=np.bool_)
    for c, several in enumerate(problem.configurations_of):
        usable[:, c] = problem.eligible[:, list(several)].any(axis=1)
    return usable


def _limited(problem: Problem) -> Iterator[tuple[int, ...]]:
    """The workloads of each limit of moves that they could exceed together."""
    for limit in problem.move_limits:
        able = tuple(w for w in limit.workloads if problem.running[w] and problem.eligible[w].any())
        if sum(problem.demands[w].copies for w in able) > problem.may_move(limit):
            yield able


def _limits(problem: Problem, workload: Mapping[int, int]) -> Iterator[MoveLimit]:
    """The limits that bind among the part's workloads; workloads that cannot move are left out of them."""
    binding = {able[0] for able in _limited(problem) if able}
    for limit in problem.move_limits:
        mine = tuple(workload[w] for w in limit.workloads if w in workload)
        if any(w in binding and w in workload for w in limit.workloads):
            yield replace(limit, workloads=mine)


def _part(problem: Problem, clusters: Sequence[int], workloads: Sequence[int]) -> Component:
    configurations = [g for c in clusters for g in problem.configurations_of[c]]
    rows, columns = np.array(workloads, dtype=np.int64), np.array(configurations, dtype=np.int64)
    # A cluster that git has a workload on is what the workload moves away from, even if nobody may run there now.
    clusters = sorted({*clusters, *np.nonzero(problem.incumbent[rows].any(axis=0))[0].tolist()})
    cluster = {c: i for i, c in enumerate(clusters)}
    workload = {w: i for i, w in enumerate(workloads)}
    number = {g: i for i, g in enumerate(configurations)}
    taken = replace(
        problem,
        intents={},
        demands=tuple(problem.demands[w] for w in workloads),
        clusters=tuple(problem.clusters[c] for c in clusters),
        configurations=tuple(problem.configurations[g] for g in configurations),
        cluster_of=np.array([cluster[int(problem.cluster_of[g])] for g in configurations], dtype=np.int64),
        score=problem.score[np.ix_(rows, columns)],
        state=problem.state[np.ix_(rows, columns)],
        request=problem.request[rows],
        variant=problem.variant[columns] if problem.differs else problem.variant,
        supply=problem.supply[columns],
        incumbent=problem.incumbent[np.ix_(rows, np.array(clusters, dtype=np.int64))],
        configured=np.array([number.get(int(problem.configured[c]), -1) for c in clusters], dtype=np.int64),
        move_cost=problem.move_cost[rows],
        reconfigure_cost=problem.reconfigure_cost[list(clusters)],
        together=tuple(_kept(problem.together, workload)),
        apart=tuple(_kept(problem.apart, workload)),
        spreads=tuple(_spread(rule, workload, cluster) for rule in problem.spreads if rule.workload in workload),
        move_limits=tuple(_limits(problem, workload)),
        required=tuple(Pair(workload[w], number[g]) for w, g in problem.required if w in workload and g in number),
        pins={},
        candidates={},
        facts={},
        lost=(),
        warnings=(),
    )
    return Component(taken, tuple(workloads), tuple(configurations))


def _kept(several: Sequence[tuple[int, ...]], workload: dict[int, int]) -> Iterator[tuple[int, ...]]:
    for group in several:
        if group[0] in workload:
            yield tuple(workload[w] for w in group)


def _spread(rule: SpreadRule, workload: dict[int, int], cluster: dict[int, int]) -> SpreadRule:
    """The rule in the part's numbers. A group without a usable cluster stays: its count, 0, holds the rest down."""
    grouped = tuple((value, tuple(cluster[c] for c in members if c in cluster)) for value, members in rule.groups)
    return replace(rule, workload=workload[rule.workload], groups=grouped)
