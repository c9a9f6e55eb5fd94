"""What each member of a class gets: the part of the rule for ties that no sum can state.

The objective says how many copies of each class of workloads run under each configuration of each class of clusters.
That is handed out by these rules, one after the other; among equals the first by name comes first.

1. The copies under a configuration go to as few clusters of the class as hold them, and the clusters take all that
   they can: of all ways to fill them, the first takes the most of the first class of workloads, then of the second and
   so on; then the second cluster; and so on.
2. Clusters get what was filled by name: first what holds the most of the first class of workloads, then of the second
   and so on; of equals, the configuration that comes first.
3. Workloads of a class choose by name: as many clusters as there are places for their copies, the first ones by name,
   but such that the others can have theirs.

Where rule 1 is not settled within a fixed number of steps, the copies stay on the clusters that the solver gave them.

Owns these rules. Owns no objective: what is handed out is as good as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gitops_ds.problem.classes import Classes, classes_of
from gitops_ds.problem.model import Ints, Pair, Problem

Counts = tuple[int, ...]
"""How often each of some classes of workloads is there."""

STEPS = 5_000
"""Clusters that are filled, on the way to filling them all, before the search for the first way is given up."""


def handed_out(problem: Problem, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """The plan that a plan becomes by the rules of this module: as good, and the same for all plans that are alike."""
    classes = classes_of(problem)
    if not classes.several:
        return tuple(pairs)
    filled: dict[int, list[Ints]] = {}
    loads = _loads(classes, pairs)
    for g, several in loads.items():
        alone = len(classes.clusters[int(classes.cluster[problem.cluster_of[g]])]) == 1
        filled[g] = several if alone else _filled(problem, classes, g, several)
    return assigned(problem, classes, filled)


def assigned(problem: Problem, classes: Classes, filled: dict[int, list[Ints]]) -> tuple[Pair, ...]:
    """Rules 2 and 3: the plan in which clusters of a class run what was filled under its configurations.

    Args:
        problem: the problem.
        classes: its classes.
        filled: for configurations of the first clusters of classes, what each cluster runs, by class of workloads.
    """
    places: dict[int, list[tuple[int, int]]] = {}
    for c, members in enumerate(classes.clusters):
        first = problem.configurations_of[int(members[0])]
        several = sorted((tuple((-load).tolist()), g) for g in first for load in filled.get(g, ()))
        for member, (load, g) in zip(members.tolist(), several, strict=False):
            own = problem.configurations_of[member][g - first[0]]
            for k in np.nonzero(load)[0].tolist():
                places.setdefault(k, []).append((own, -load[k]))
        assert len(several) <= len(members), f"class {c} has more patterns than clusters"
    found = (pair for k, there in places.items() for pair in _chosen(problem, classes.workloads[k].tolist(), there))
    return tuple(sorted(found))


def _loads(classes: Classes, pairs: Sequence[Pair]) -> dict[int, list[Ints]]:
    """What each cluster of a plan runs, by class of workloads, under the first configuration that is like its own."""
    count = len(classes.workloads)
    used: dict[int, list[int]] = {}
    for w, g in pairs:
        used.setdefault(g, []).append(int(classes.workload[w]))
    found: dict[int, list[Ints]] = {}
    for g in sorted(used):
        found.setdefault(int(classes.first[g]), []).append(np.bincount(used[g], minlength=count).astype(np.int64))
    return dict(sorted(found.items()))


def _chosen(problem: Problem, members: Sequence[int], there: list[tuple[int, int]]) -> Iterator[Pair]:
    """Rule 3 for one class: `there` are configurations and the places on each."""
    left = dict(sorted(there))
    for i, w in enumerate(members):
        others = len(members) - i
        mine = [g for g in left if left[g] == others]
        mine += [g for g in left if 0 < left[g] < others][: problem.demands[w].copies - len(mine)]
        for g in mine:
            left[g] -= 1
            yield Pair(w, g)


def _filled(problem: Problem, classes: Classes, g: int, several: list[Ints]) -> list[Ints]:
    """Rule 1 for one configuration of a class of clusters."""
    total = np.sum(several, axis=0)
    kinds = np.nonzero(total)[0]
    one = np.array([classes.workloads[k][0] for k in kinds], dtype=np.int64)
    need = problem.need(one, np.full(len(kinds), g))
    room = _Room(
        tuple(map(tuple, need.tolist())),
        tuple(problem.supply[g].tolist()),
        tuple(len(classes.workloads[k]) for k in kinds.tolist()),
    )
    amount = tuple(total[kinds].tolist())
    for count in range(room.least(amount), len(several) + 1):
        found = _first_way(room, amount, count)
        if found is not None:
            loads = np.zeros((count, len(total)), dtype=np.int64)
            loads[:, kinds] = found
            return list(loads)
    return several


@dataclass(frozen=True)
class _Room:
    """What one cluster holds: what each class of workloads needs there, kind by kind, the supply, and most of each."""

    needs: tuple[Counts, ...]
    supply: Counts
    most: Counts

    def least(self, amount: Counts) -> int:
        """A number of clusters for this amount that fewer cannot be."""
        whole = (sum(n * need[k] for n, need in zip(amount, self.needs, strict=True)) for k in range(len(self.supply)))
        by_room = (-(-total // here) for total, here in zip(whole, self.supply, strict=True) if total)
        return max(1, *by_room, *(-(-n // most) for n, most in zip(amount, self.most, strict=True)))

    def ways(self, left: Counts, before: Counts | None) -> Iterator[Counts]:
        """All ways to fill a cluster, the most of the first class first, none before `before`, none empty."""
        top = len(left)

        def extend(free: Counts, taken: Counts, tied: bool) -> Iterator[Counts]:
            k = len(taken)
            if k == top:
                if any(taken):
                    yield taken
                return
            limits = [here // need for need, here in zip(self.needs[k], free, strict=True) if need]
            limit = min(left[k], self.most[k], *limits)
            if tied and before is not None:
                limit = min(limit, before[k])
            for number in range(limit, -1, -1):
                rest = tuple(here - number * need for here, need in zip(free, self.needs[k], strict=True))
                yield from extend(rest, (*taken, number), tied and before is not None and number == before[k])

        yield from extend(self.supply, (), True)


def _first_way(room: _Room, amount: Counts, count: int) -> list[Counts] | None:
    """The first of all ways to fill `count` clusters; None where there is none, or none was found in time."""
    dead: set[tuple[int, Counts, Counts]] = set()
    stack = [(amount, room.ways(amount, None))]
    chosen: list[Counts] = []
    for _ in range(STEPS):
        left, ways = stack[-1]
        way = next(ways, None)
        open_ = count - len(chosen) - 1
        if way is None:
            stack.pop()
            if not stack:
                return None
            dead.add((open_ + 1, left, chosen.pop()))
            continue
        rest = tuple(a - b for a, b in zip(left, way, strict=True))
        if not any(rest):
            return [*chosen, way]
        if open_ and (open_, rest, way) not in dead and room.least(rest) <= open_:
            chosen.append(way)
            stack.append((rest, room.ways(rest, way)))
    return None
