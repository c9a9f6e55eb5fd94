"""What another choice would cost the whole plan, and what would have to change for a workload to get a place.

Owns the questions, each answered by solving again: exact, so on demand only. Plain reasons need none of this
(`decisions.py`). Owns no solver: it is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitops_ds.errors import SolveError
from gitops_ds.ids import ClusterName, PolicyId
from gitops_ds.problem.model import Pair, Problem, State
from gitops_ds.quantity import format_quantity
from gitops_ds.solution import Solution, Status, value_of

Solve = Callable[[Problem], Solution]
LeastCapacity = Callable[[Problem, int, Mapping[int, int]], Mapping[tuple[int, int], int] | None]
MOST_RELAXATIONS = 12


@dataclass(frozen=True, slots=True)
class Loss:
    """What the plan loses where one workload must run on one configuration.

    `points` are thousandths of a score point, costs of changes counted; `placed` are copies. `consequences` say who
    else moves. None of it is known where `possible` is False: no plan at all allows the pair.
    """

    cluster: ClusterName
    policy: PolicyId | None
    possible: bool
    points: int = 0
    placed: int = 0
    proved: bool = True
    consequences: tuple[str, ...] = ()


def loss(problem: Problem, solution: Solution, pair: Pair, solve: Solve) -> Loss:
    """What `solution` loses if `pair` must be in it (in place of one of the workload's own pairs)."""
    where = problem.configurations[pair.configuration]
    try:
        forced = solve(problem.requiring(pair))
    except SolveError:
        # That is how a solver says that there is no plan with the pair.
        return Loss(where.cluster, where.policy, possible=False)
    if pair not in forced.pairs:
        return Loss(where.cluster, where.policy, possible=False)
    before, after = value_of(problem, solution), value_of(problem, forced)
    return Loss(
        where.cluster,
        where.policy,
        possible=True,
        points=(before.score - before.cost) - (after.score - after.cost),
        placed=before.placed - after.placed,
        proved=forced.status is Status.OPTIMAL,
        consequences=tuple(_consequences(problem, solution, forced, pair.workload)),
    )


def _consequences(problem: Problem, before: Solution, after: Solution, asked: int) -> Iterator[str]:
    old, new = _places(problem, before), _places(problem, after)
    for w in sorted({*old, *new} - {asked}):
        was, now = old.get(w, ()), new.get(w, ())
        name = problem.demands[w].workload.name
        if not now:
            yield f"{name} would have no place"
        elif {c for c, _ in was} != {c for c, _ in now}:
            yield f"{name} would move to {', '.join(c for c, _ in now)}"
        elif was != now:
            yield f"{name} would run as {', '.join(d or 'it is' for _, d in now)}"


def _places(problem: Problem, solution: Solution) -> dict[int, tuple[tuple[str, str], ...]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for w, g in solution.pairs:
        configuration = problem.configurations[g]
        found.setdefault(w, []).append((configuration.cluster, configuration.device))
    return {w: tuple(places) for w, places in found.items()}


def relaxations(
    problem: Problem, solution: Solution, workload: int, solve: Solve, least_capacity: LeastCapacity
) -> tuple[str, ...]:
    """The smallest single changes that would give `workload` all of its copies without taking anybody's place.

    First the least capacity that would have to be added, then permissions, by cluster.
    """
    placed: dict[int, int] = {}
    for w, _ in solution.pairs:
        placed[w] = placed.get(w, 0) + 1
    wanted = problem.demands[workload].copies
    found = []
    more = least_capacity(problem, workload, {**placed, workload: wanted})
    if more:
        found.append(" and ".join(_more(problem, g, k, units) for (g, k), units in sorted(more.items())))
    for g, cause in _permissions(problem, workload):
        if len(found) >= MOST_RELAXATIONS:
            break
        allowed = problem.allowing(workload, g)
        trial = solve(allowed)
        after = sum(w == workload for w, _ in trial.pairs)
        if after >= wanted and len(trial.pairs) >= len(solution.pairs) + wanted - placed.get(workload, 0):
            found.append(cause)
    return tuple(dict.fromkeys(found))


def _more(problem: Problem, g: int, k: int, units: int) -> str:
    where = problem.configurations[g]
    amount = format_quantity(problem.amount(k, units))
    return f"{amount} more {problem.kinds[k]} on {where.cluster}{f' as {where.device}' if where.device else ''}"


_CAUSES: Mapping[State, str] = {
    State.NOT_A_CANDIDATE: "list {policy} among the policies of {cluster}",
    State.NO_SCORE: "a score for it on {cluster}{device}",
    State.STALE: "a fresh score for it on {cluster}{device}",
    State.TAINT: "{cluster} available, or its taint tolerated",
    State.SELECTOR: "let it run on {cluster} (pin, allow or avoid excludes it)",
}


def _permissions(problem: Problem, workload: int) -> Sequence[tuple[int, str]]:
    found = []
    for g, where in enumerate(problem.configurations):
        cause = _CAUSES.get(State(int(problem.state[workload, g])))
        fits = bool((problem.need(workload, g) <= problem.supply[g]).all())
        if cause is not None and fits:
            device = f" as {where.device}" if where.device else ""
            policy = where.policy.name if where.policy else "as it is"
            found.append((g, cause.format(cluster=where.cluster, device=device, policy=policy)))
    return found
