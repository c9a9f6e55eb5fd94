"""What a plan loses where one workload must run on one configuration: solved again, with that pair in the plan.

Where that is not proved in time, it is not tried for further alternatives: they are weighed by prices that were found
once and by a plan nearby, which give limits of the loss.

Owns the question, its answer and the words for it. Owns no solver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gitops_ds.decisions import format_points
from gitops_ds.errors import InfeasibleError, SolveError
from gitops_ds.ids import ClusterName, Device, PolicyId
from gitops_ds.problem.components import Component
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.problem.variations import around, forced, moves_only
from gitops_ds.solution import Solution, Status, excess, value_of

Solve = Callable[[Problem], Solution]
Weigh = Callable[[Problem, Solution, Sequence[Pair]], Iterator[tuple[int | None, Solution | None]]]
"""For each pair the least loss in thousandths of a point, where one is proved, and a plan with it, where one is known.

The least holds for plans that place as many copies as before, or for all where points count first."""
MOST_LOSSES = 12
"""How many alternatives of one workload are solved for; where there are more, the ones with the best scores."""
LONGEST = 10.0
"""Seconds that one answer may take."""
MOST_NAMED = 6
"""How many consequences are named before the rest is counted."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The best plan that has the pair, held against the plan as it is.

    Attributes:
        possible: False where it is proved that no plan has the pair, None where no plan with it was found in time.
        score: thousandths of a point that the scores lose; moves, reconfigurations: what these cost more.
        copies: (priority, how many copies fewer), highest priority first, without those that do not change.
        uneven: by how much more soft spread rules are broken; changes: how many changes more are made.
        bound: whether the loss is exact, or the true one is at least or at most this, or nothing is proved.
        least: thousandths of a point that are proved to be lost, where `points` are more than that and not proved.
        consequences: who else moves, or has no place.
        stands: why the plan stands though the other one is better; "" where it is not.
        why: where it is not possible: who would have to give way.
    """

    cluster: ClusterName
    policy: PolicyId | None
    device: Device
    possible: bool | None
    score: int = 0
    moves: int = 0
    reconfigurations: int = 0
    copies: tuple[tuple[int, int], ...] = ()
    uneven: int = 0
    changes: int = 0
    bound: Literal["exact", "at least", "at most", "not proved"] = "exact"
    least: int | None = None
    consequences: tuple[str, ...] = ()
    stands: str = ""
    why: str = ""
    goal: str = "place-first"

    @property
    def points(self) -> int:
        """Thousandths of a point that the plan is worth less, costs of changes counted."""
        return self.score + self.moves + self.reconfigurations

    @property
    def placed(self) -> int:
        """How many copies fewer have a place."""
        return sum(fewer for _, fewer in self.copies)

    @property
    def proved(self) -> bool:
        """Whether nothing better with the pair can be hoped for, whatever is known of the plan as it is."""
        return self.possible is False or self.bound in ("exact", "at least")

    def __str__(self) -> str:
        """The loss in words: "worse in total by 7: app02 would move to cluster2"."""
        if self.possible is None:
            if self.least is not None:
                return f"worse in total by at least {format_points(self.least)}; no plan with it was found in time"
            return "not known: no plan with it was found in time"
        if not self.possible:
            return f"impossible: {self.why}"
        effect = self._effect()
        link = "; " if effect.startswith(("equal", "as good")) or self.stands else ": "
        named = [*self.consequences[:MOST_NAMED]]
        if len(self.consequences) > MOST_NAMED:
            named.append(f"and {len(self.consequences) - MOST_NAMED} more changes")
        return effect + (f"; {self.stands}" if self.stands else "") + (link + ", ".join(named) if named else "")

    def _effect(self) -> str:
        copies, points = self._copies(), self._points()
        if not copies and not points:
            return self._tie()
        both = bool(copies and points)
        bound = self.bound
        if self.stands:
            # Then this is how much better the plan is that was found: a lower limit, unless that one is proved.
            bound = "at least" if bound in ("at most", "not proved") else "exact"
        limit = f"{bound} " if bound in ("at least", "at most") and not both else ""
        open_ = " (not proved)" if bound != "exact" and not limit else ""
        verb = "worse" if self.points > 0 else "better"
        if both:
            parts = [copies, f"{verb} by {points}"]
            return ", ".join(parts if self.goal == "place-first" else reversed(parts)) + open_
        if self.least is not None and not copies:
            rest = f"at most {points}" if bound == "at most" else f"{points} by the best plan found"
            return f"worse in total by at least {format_points(self.least)}, {rest}"
        return (f"{limit}{copies}" if copies else f"{verb} in total by {limit}{points}") + open_

    def _points(self) -> str:
        """By how many points the plan is worth less or more, and what costs of changes have to do with it."""
        parts = [
            f"{format_points(abs(value))} {'less' if (value > 0) == lost else 'more'} {word}"
            for value, word, lost in (
                (self.score, "score", True),
                (self.moves, "for moves", False),
                (self.reconfigurations, "for reconfiguring", False),
            )
            if value
        ]
        detail = f" ({', '.join(parts)})" if self.moves or self.reconfigurations else ""
        return f"{format_points(abs(self.points))}{detail}" if self.points else ""

    def _copies(self) -> str:
        levels = len(self.copies) > 1
        return ", ".join(
            f"{abs(n)} {'copy' if abs(n) == 1 else 'copies'} {'fewer' if n > 0 else 'more'}"
            + (f" at priority {priority}" if levels else "")
            for priority, n in self.copies
        )

    def _tie(self) -> str:
        open_ = "" if self.bound == "exact" else " (not proved)"
        if self.uneven > 0:
            return f"as good, but copies would be less even over their groups{open_}"
        if self.changes > 0:
            return f"as good, with {self.changes} more change{'s' if self.changes > 1 else ''}{open_}"
        return f"equal: names decide{open_}"


def loss(problem: Problem, solution: Solution, pair: Pair, solve: Solve) -> Loss:
    """What `solution` loses if `pair` must be in it (in place of one of the workload's own pairs)."""
    where = problem.configurations[pair.configuration]
    closed = Loss(where.cluster, where.policy, where.device, possible=False, why="the data excludes it")
    if not problem.eligible[pair]:
        return closed
    (part,) = around(problem, [pair.workload])
    return _loss(*_narrowed(part, solution, pair), solve)


def losses(
    problem: Problem, solution: Solution, workload: int, solve: Solve, weigh: Weigh | None = None
) -> Iterator[Loss]:
    """The losses of a workload's alternatives that the data allows, the best scores first.

    With `weigh`, alternatives after the first one whose loss was not proved are weighed instead of solved for.
    """
    mine = {g for w, g in solution.pairs if w == workload}
    open_ = [g for g in range(len(problem.configurations)) if problem.eligible[workload, g] and g not in mine]
    if not open_:
        return
    (part,) = around(problem, [workload])
    best = sorted(open_, key=lambda g: (-int(problem.score[workload, g]), g))[:MOST_LOSSES]
    asked = [_narrowed(part, solution, Pair(workload, g)) for g in best]
    for n, one in enumerate(asked):
        found = _loss(*one, solve)
        if weigh is None or found.proved:
            yield found
            continue
        inner, before, _ = one
        pairs = [pair for _, _, pair in asked[n:]]
        for pair, (least, after) in zip(pairs, weigh(inner, before, pairs), strict=True):
            weighed = _weighed(inner, before, pair, least, after)
            yield _closer(found, weighed) if pair == pairs[0] else weighed
        return


def _weighed(problem: Problem, before: Solution, pair: Pair, least: int | None, after: Solution | None) -> Loss:
    """The loss as far as a plan with the pair and a proven least say it."""
    where = problem.configurations[pair.configuration]
    known = Loss(where.cluster, where.policy, where.device, possible=None, bound="not proved", goal=problem.goal)
    if after is None:
        # Without a plan, nothing says that every copy keeps a place.
        return replace(known, least=least if problem.goal == "score-first" else None)
    found = _compared(problem, before, after, pair)
    if least is None or (found.copies and problem.goal == "place-first") or least > found.points:
        return found
    if least == found.points:
        return replace(found, bound="exact" if before.status is Status.OPTIMAL else "at least")
    return replace(found, least=least)


def _closer(found: Loss, weighed: Loss) -> Loss:
    """Of a loss by solving that was not proved and one that was weighed, the one that says more."""
    if found.possible is None or weighed.possible is None:
        return weighed if found.possible is None else replace(found, least=found.least or weighed.least)
    copies = tuple(n for _, n in found.copies), tuple(n for _, n in weighed.copies)
    lost = [
        (*c, one.points) if one.goal == "place-first" else (one.points, *c)
        for c, one in zip(copies, (found, weighed), strict=True)
    ]
    return weighed if weighed.bound == "exact" or lost[1] <= lost[0] else replace(found, least=weighed.least)


def _narrowed(part: Component, solution: Solution, pair: Pair) -> tuple[Problem, Solution, Pair]:
    """All three in the numbers of the component: nothing outside it can change."""
    workload = {w: i for i, w in enumerate(part.workloads)}
    configuration = {g: i for i, g in enumerate(part.configurations)}
    pairs = tuple(Pair(workload[w], configuration[g]) for w, g in solution.pairs if w in workload)
    problem = replace(part.problem, time_limit=min(part.problem.time_limit, LONGEST))
    return problem, replace(solution, pairs=pairs), Pair(workload[pair.workload], configuration[pair.configuration])


def _loss(problem: Problem, before: Solution, pair: Pair, solve: Solve) -> Loss:
    where = problem.configurations[pair.configuration]
    known = Loss(where.cluster, where.policy, where.device, possible=None, bound="not proved", goal=problem.goal)
    try:
        after = _with(problem, pair, solve)
    except InfeasibleError:
        return replace(known, possible=False, bound="exact", why=_who_must(problem, pair, solve))
    except SolveError:
        return known
    return _compared(problem, before, after, pair)


def _compared(problem: Problem, before: Solution, after: Solution, pair: Pair) -> Loss:
    """The loss by a plan that has the pair."""
    where = problem.configurations[pair.configuration]
    known = Loss(where.cluster, where.policy, where.device, possible=True, goal=problem.goal)
    old, new = value_of(problem, before), value_of(problem, after)
    moved, moves = (value_of(moves_only(problem), one).cost for one in (before, after))
    found = replace(
        known,
        score=old.score - new.score,
        moves=moves - moved,
        reconfigurations=(new.cost - moves) - (old.cost - moved),
        copies=tuple(_fewer(problem, before, after)),
        uneven=_excess(problem, after) - _excess(problem, before),
        changes=new.changes - old.changes,
        bound=_bound(before.status, after.status),
        consequences=tuple(_consequences(problem, before, after, pair)),
    )
    return replace(found, stands=_stands(found, before.status))


def _with(problem: Problem, pair: Pair, solve: Solve) -> Solution:
    """The best plan that has the pair."""
    left = forced(problem, pair)
    if left is None:
        return solve(problem.requiring(pair))
    rest = solve(left)
    return replace(rest, pairs=tuple(sorted((*rest.pairs, pair))))


def _who_must(problem: Problem, pair: Pair, solve: Solve) -> str:
    """The rule without which the pair would be possible, by whom it binds."""
    name, demand = problem.demands[pair.workload].workload.name, problem.demands[pair.workload]
    group = next((g for g in problem.together if pair.workload in g), ())
    friends = ", ".join(problem.demands[w].workload.name for w in group if w != pair.workload)
    demands = tuple(replace(d, min_copies=None) for d in problem.demands)
    keys = ", ".join(sorted({r.key for r in problem.spreads if r.workload == pair.workload and r.hard}))
    trials = (
        (bool(group), {"together": ()}, f"{friends} must run on the same clusters as {name}"),
        (bool(demand.min_copies), {"demands": demands}, f"{name} must have {demand.min_copies} copies or none"),
        (bool(keys), {"spreads": ()}, f"the copies of {name} must be even over {keys}"),
        (bool(problem.move_limits), {"move_limits": ()}, "maxMoves would have to let more copies move"),
        (bool(problem.apart), {"apart": ()}, f"workloads that must be apart would have to share {name}'s cluster"),
    )
    for applies, without, said in trials:
        if applies:
            try:
                solve(replace(problem, **without).requiring(pair))
            except SolveError:
                continue
            return said
    return "several rules would have to give way"


def _fewer(problem: Problem, before: Solution, after: Solution) -> Iterator[tuple[int, int]]:
    old, new = (Counter(problem.demands[w].priority for w, _ in one.pairs) for one in (before, after))
    for priority in sorted({*old, *new}, reverse=True):
        if old[priority] != new[priority]:
            yield priority, old[priority] - new[priority]


def _excess(problem: Problem, solution: Solution) -> int:
    places = _places(problem, solution)
    return sum(
        excess(problem, rule, {c for c, _ in places.get(rule.workload, ())})
        for rule in problem.spreads
        if not rule.hard
    )


def _bound(before: Status, after: Status) -> Literal["exact", "at least", "at most", "not proved"]:
    if before is Status.OPTIMAL:
        return "exact" if after is Status.OPTIMAL else "at most"
    return "at least" if after is Status.OPTIMAL else "not proved"


def _stands(found: Loss, before: Status) -> str:
    """Why the plan is kept though the other one is better; "" where it is not better."""
    copies = tuple(fewer for _, fewer in found.copies)
    lost = (*copies, found.points) if found.goal == "place-first" else (found.points, *copies)
    if next((n for n in lost if n), 0) >= 0:
        return ""
    return "to change that too gains too little" if before is Status.OPTIMAL else "the plan is not proved best"


def _consequences(problem: Problem, before: Solution, after: Solution, pair: Pair) -> Iterator[str]:
    old, new = _places(problem, before), _places(problem, after)
    for w in sorted({*old, *new}):
        was, now = old.get(w, ()), new.get(w, ())
        name = problem.demands[w].workload.name
        here, there = {c for c, _ in was}, {c for c, _ in now}
        if w == pair.workload:
            left = sorted(here - there)
            if left and len(was) > 1:
                yield f"it would leave {', '.join(left)}"
        elif here != there:
            yield _moved(name, sorted(here - there), sorted(there - here), gone=not now)
        elif was != now:
            for cluster, device in sorted(set(now) - set(was)):
                yield f"{name} would run on {cluster} {f'as {device}' if device else 'as it is'}"


def _moved(name: str, left: Sequence[str], new: Sequence[str], *, gone: bool) -> str:
    if gone:
        return f"{name} would have no place"
    if not new:
        return f"{name} would lose its copy on {', '.join(left)}"
    verb = "move to" if left else "get a place on"
    return f"{name} would {verb} {', '.join(new)}"


def _places(problem: Problem, solution: Solution) -> dict[int, tuple[tuple[str, str], ...]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for w, g in solution.pairs:
        configuration = problem.configurations[g]
        found.setdefault(w, []).append((configuration.cluster, configuration.device))
    return {w: tuple(places) for w, places in found.items()}
