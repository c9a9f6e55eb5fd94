"""What would have to change for a workload to get its place: the smallest changes, each proved by solving again.

A change counts only if the best plan after it gives the workload all the copies that it wants and everybody else as
many as before. First come single changes; two at a time are tried where no single one helps. Owns the search for them
and the words. Owns neither the solver nor what a change is to the data (`problem/obstacles.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice

from gitops_ds.errors import SolveError
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.problem.obstacles import Obstacle, Obstacles
from gitops_ds.problem.variations import around, opened, roomier
from gitops_ds.quantity import format_quantity
from gitops_ds.solution import Solution

Solve = Callable[[Problem], Solution]
Capacity = Mapping[tuple[int, int], int]
"""Units by (configuration, kind)."""
LeastCapacity = Callable[[Problem, Sequence[int], Mapping[int, int], Sequence[Pair]], Capacity | None]
"""What to add for some workloads, so that everybody has so many copies, and rather stays on these pairs."""
MOST_RELAXATIONS = 12
MOST_TRIALS = 40
"""How many single changes are tried, and how many twos."""
MOST_RIVALS = 3
"""How often more room is asked for because somebody else without a place would take it."""
LONGEST = 10.0
"""Seconds that one trial may take."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Changes that together give a workload so many copies: obstacles to lift, capacity to add; `text` says them."""

    copies: int
    obstacles: tuple[Obstacle, ...]
    more: Capacity
    text: str


def relaxations(
    problem: Problem,
    solution: Solution,
    workload: int,
    *,
    solve: Solve,
    least_capacity: LeastCapacity,
    obstacles: Obstacles,
) -> tuple[Relaxation, ...]:
    """The smallest changes that would give `workload` its copies without taking anybody's place.

    Capacity comes first, then what the data forbids, by cluster. Where nothing so small gives it all that it lacks,
    those that give it one copy more; () where there is nothing either.
    """
    demand = problem.demands[workload]
    before = sum(w == workload for w, _ in solution.pairs)
    targets = [demand.wanted]
    if demand.min_copies is None and before + 1 < demand.wanted:
        targets.append(before + 1)
    for target in targets:
        search = _Search(problem, solution.pairs, workload, target, solve, least_capacity, obstacles)
        found = tuple(islice(search.smallest(), MOST_RELAXATIONS))
        if found:
            return found
    return ()


def more_capacity(
    problem: Problem, solution: Solution, workload: int, least_capacity: LeastCapacity
) -> tuple[str, ...]:
    """The least capacity that makes room for the workload beside all others, in words; () where it is not capacity.

    Cheap, since nothing is solved again: whether the best plan would give the room to this workload is not proved.
    """
    copies = {**Counter(w for w, _ in solution.pairs), workload: problem.demands[workload].wanted}
    more = least_capacity(problem, _friends(problem, workload), copies, solution.pairs)
    return (_more(problem, more),) if more else ()


@dataclass(frozen=True)
class _Search:
    problem: Problem
    plan: tuple[Pair, ...]
    workload: int
    target: int
    solve: Solve
    least_capacity: LeastCapacity
    obstacles: Obstacles

    @cached_property
    def before(self) -> Mapping[int, int]:
        """The copies of everybody in the plan."""
        return Counter(w for w, _ in self.plan)

    def smallest(self) -> Iterator[Relaxation]:
        """Single changes, else two at a time; more capacity than that where it takes no permission."""
        room = self.room(self.problem)
        found = len(_spots(room)) == 1
        if found:
            yield self.relaxation((), room)
        for several in self.permissions(1):
            found = True
            yield self.relaxation(several, {})
        if found:
            return
        if room:
            yield self.relaxation((), room)
        for several in self.permissions(2):
            yield self.relaxation(several, {})
        for one, more in self.permissions_with_room():
            yield self.relaxation((one,), more)

    def room(self, problem: Problem) -> Capacity:
        """The least capacity that gives the workload its place in the best plan of `problem` too; {} for none.

        Where somebody else without a place would take the room, it is enough for both.
        """
        needy = [*_friends(problem, self.workload)]
        copies = {**self.before, self.workload: self.target}
        for _ in range(MOST_RIVALS):
            more = self.least_capacity(problem, needy, copies, self.plan)
            after = self._after(roomier(problem, more)) if more else None
            if not more or after is None:
                return {}
            if self._is_enough(after):
                return more
            rivals = {w: n for w, n in after.items() if n > copies.get(w, 0)}
            if not rivals:
                return {}
            copies |= rivals
            needy += [w for w in sorted(rivals) if w not in needy]
        return {}

    def permissions(self, size: int) -> Iterator[tuple[Obstacle, ...]]:
        """The sets of so many obstacles without which the workload would get its place."""
        for several in islice(self._sets(size), MOST_TRIALS):
            after = self._after(self._without(several))
            if after is not None and self._is_enough(after):
                yield several

    def permissions_with_room(self) -> Iterator[tuple[Obstacle, Capacity]]:
        """The single obstacles that together with more capacity under one configuration keep it from its place."""
        for (one,) in islice(self._sets(1), MOST_TRIALS):
            more = self.room(self._without((one,)))
            if len(_spots(more)) == 1:
                yield one, more

    def relaxation(self, several: tuple[Obstacle, ...], more: Capacity) -> Relaxation:
        """The changes with their words."""
        parts = [self._permission(one) for one in several]
        if more:
            parts.append(_more(self.problem, more))
        partly = "one copy more: " if self.target < self.problem.demands[self.workload].wanted else ""
        return Relaxation(self.target, several, more, f"{partly}{' and '.join(parts)}")

    def _after(self, problem: Problem) -> Counter[int] | None:
        """The copies of everybody in the best plan of the component that the workload is in; None without one."""
        parts = around(problem, [self.workload])
        if not parts:
            return None
        part = replace(parts[0].problem, time_limit=min(problem.time_limit, LONGEST))
        try:
            pairs = self.solve(part).pairs
        except SolveError:
            return None
        found = Counter(dict.fromkeys(parts[0].workloads, 0))
        found.update(parts[0].workloads[w] for w, _ in pairs)
        return found

    def _is_enough(self, after: Mapping[int, int]) -> bool:
        everybody = all(n >= self.before.get(w, 0) for w, n in after.items())
        return everybody and after[self.workload] >= self.target

    @cached_property
    def _closed(self) -> tuple[tuple[Pair, tuple[Obstacle, ...]], ...]:
        """The pairs of the workload, and of those that it must be with, that one or two obstacles keep closed."""
        uneven = {rule.workload for rule in self.problem.spreads}
        found = []
        for w in _friends(self.problem, self.workload):
            for g in range(len(self.problem.configurations)):
                against = self.obstacles.against(w, g) or ()
                # A cluster that a selector lets in is one more group of a spread rule: another problem altogether.
                if 0 < len(against) <= 2 and not (w in uneven and any(o.code == "selector" for o in against)):
                    found.append((Pair(w, g), against))
        return tuple(sorted(found, key=lambda one: (one[0].configuration, one[0].workload)))

    def _sets(self, size: int) -> Iterator[tuple[Obstacle, ...]]:
        """Sets of obstacles to try: those of one pair, and where it takes several pairs, also two of different ones."""
        own = [against for _, against in self._closed if len(against) == size]
        single = [against for _, against in self._closed if len(against) == 1]
        several = len(_friends(self.problem, self.workload)) > 1 or self.target > self.before.get(self.workload, 0) + 1
        joined = [tuple(sorted({*a, *b})) for a, b in combinations(single, 2)] if size == 2 and several else []
        yield from dict.fromkeys(one for one in (*own, *joined) if len(one) == size)

    def _without(self, several: Sequence[Obstacle]) -> Problem:
        """The problem without these obstacles, for all whom they concern."""
        gone = set(several)
        clusters = {one.cluster for one in several}
        everybody = range(len(self.problem.demands))
        private = all(one.code in ("taint", "selector") for one in several)
        workloads = _friends(self.problem, self.workload) if private else everybody
        return opened(
            self.problem,
            {
                Pair(w, g): self.obstacles.score(w, g)
                for g, where in enumerate(self.problem.configurations)
                if where.cluster in clusters or "" in clusters
                for w in workloads
                if (against := self.obstacles.against(w, g)) and gone.issuperset(against)
            },
        )

    def _permission(self, one: Obstacle) -> str:
        friends = {str(self.problem.demands[w].workload): w for w in _friends(self.problem, self.workload)}
        friend = friends.get(one.owner, self.workload)
        other = "" if friend == self.workload else self.problem.demands[friend].workload.name
        if one.code == "taint":
            closed = (self.problem.configurations[p.configuration].cluster for p, a in self._closed if one in a)
            tolerate = f"tolerate the taint {one.detail} of {', '.join(dict.fromkeys(closed))}"
            return f"let {other} {tolerate}" if other else tolerate
        verb = "exclude" if " and " in one.detail else "excludes"
        return {
            "policy": f"list policy {one.detail} among the policies of {one.cluster}",
            "score": f'a score "{one.detail}" in {one.score} of {one.cluster}',
            "stale": f"a fresh score on {one.cluster} ({one.score})",
            "selector": f"let {other or 'it'} run on {one.cluster} ({one.detail} {verb} it)",
            "unaccepted": f"{one.cluster} accepted by the hub",
            "unavailable": f"{one.cluster} available",
        }[one.code]


def _friends(problem: Problem, workload: int) -> tuple[int, ...]:
    """The workload and those that must run with it."""
    return next((group for group in problem.together if workload in group), (workload,))


def _spots(more: Capacity) -> set[int]:
    return {g for g, _ in more}


def _more(problem: Problem, more: Capacity) -> str:
    """Capacity to be added, in words, by configuration."""
    said = []
    for g in sorted(_spots(more)):
        where = problem.configurations[g]
        amounts = " and ".join(
            f"{format_quantity(problem.amount(k, units))} more {problem.kinds[k]}"
            for (h, k), units in sorted(more.items())
            if h == g
        )
        said.append(f"{amounts} on {where.cluster}{f' as {where.device}' if where.device else ''}")
    return " and ".join(said)
