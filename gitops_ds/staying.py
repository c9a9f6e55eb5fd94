"""What stays where git has it: nobody loses a copy that runs, and nothing changes for too little.

Owns the two rules by which a solution is held against what git has. Owns no solving: the solver is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from gitops_ds.decisions import format_points
from gitops_ds.errors import InfeasibleError, SolveError
from gitops_ds.ids import ClusterName
from gitops_ds.problem import POINT, Pair, Problem
from gitops_ds.solution import Solution, Status, value_of

Solve = Callable[[Problem], Solution]


def settle(problem: Problem, solve: Solve) -> tuple[Solution, dict[int, tuple[int, ...]]]:
    """The solution, and the workloads that are kept where git has them because the plan would leave fewer copies.

    Whoever would lose a copy and may run where it is has its place before anybody else: the problem is solved anew with
    these pairs in it. Who may not run there any more is kept, which is no place: it holds its room and its cluster's
    configuration, and the problem is solved anew without it. So on, until nobody loses a copy that is running.
    """
    kept: dict[int, tuple[int, ...]] = {}
    staying: dict[int, tuple[Pair, ...]] = {}
    while True:
        left = problem.keeping(kept)
        pairs = tuple(pair for several in staying.values() for pair in several)
        try:
            solution = solve(replace(left, required=(*left.required, *pairs)) if pairs else left)
        except InfeasibleError:
            if not pairs:
                raise
            losing = {w: tuple(pair.configuration for pair in several) for w, several in staying.items()}
            staying = {}
        else:
            losing = {w: places for w, places in _losing(problem, solution) if w not in kept and w not in staying}
            if not losing:
                return solution, kept
            may = {w: _in_place(left, w, places) for w, places in losing.items()}
            staying |= {w: several for w, several in may.items() if several}
            losing = {w: places for w, places in losing.items() if not may[w]}
        kept |= losing


def _in_place(problem: Problem, workload: int, places: Sequence[int]) -> tuple[Pair, ...]:
    """The pairs that a workload runs in, where it may go on in every one of them; none otherwise."""
    demand = problem.demands[workload]
    fits = len(places) == len(demand.incumbents) <= demand.copies
    if not fits or not all(problem.eligible[workload, g] for g in places):
        return ()
    return tuple(Pair(workload, g) for g in places)


def _losing(problem: Problem, solution: Solution) -> Iterator[tuple[int, tuple[int, ...]]]:
    placed = [0] * len(problem.demands)
    for pair in solution.pairs:
        placed[pair.workload] += 1
    for w, demand in enumerate(problem.demands):
        if placed[w] < min(len(demand.incumbents), demand.wanted):
            yield w, tuple(_running(problem, demand.incumbents))


def worth_it(
    problem: Problem, solution: Solution, kept: Mapping[int, tuple[int, ...]], solve: Solve, *, is_moving: bool
) -> tuple[Solution, tuple[str, ...]]:
    """The solution, or the best one in which all stay that may, where changing more than that gains too little.

    Too little is less than the largest `minimumGain` of the intents, and nothing at all where a limit struck before the
    new plan was proved best. A plan that leaves somebody out, whom the new one would place, is not stayed with.
    """
    left = problem.keeping(kept)
    gains = (int(one.intent.spec.stability.minimumGain * POINT) for one in problem.intents.values())
    least = 0 if is_moving else max(gains, default=0)
    needed = max(least, int(solution.status is Status.LIMIT))
    stay = tuple(_staying(left))
    if not needed or set(stay) <= set(solution.pairs):
        return solution, ()
    try:
        same = solve(replace(left, required=(*left.required, *stay)))
    except SolveError:
        return solution, ()
    gain = _net(left, solution) - _net(left, same)
    loses = any(w not in kept for w, _ in _losing(left, same)) or _placed(left, same) < _placed(left, solution)
    if loses or gain >= needed or not set(stay) <= set(same.pairs):
        return solution, ()
    why = f"and minimumGain is {format_points(least)}" if least else "and a limit struck before that was proved best"
    return same, (f"what git has stays as it is: to change that too would gain {format_points(gain)}, {why}",)


def _staying(problem: Problem) -> Iterator[Pair]:
    """Every pair that git has and that may stay, of the workloads that are wanted as often as they run."""
    for w, demand in enumerate(problem.demands):
        here = [Pair(w, g) for g in _running(problem, demand.incumbents) if problem.eligible[w, g]]
        if len(here) <= demand.copies:
            yield from here


def _net(problem: Problem, solution: Solution) -> int:
    value = value_of(problem, solution)
    return value.score - value.cost


def _placed(problem: Problem, solution: Solution) -> tuple[int, ...]:
    """Placed copies, by priority from the highest down."""
    levels = sorted({d.priority for d in problem.demands}, reverse=True)
    found = [problem.demands[w].priority for w, _ in solution.pairs]
    return tuple(found.count(level) for level in levels)


def _running(problem: Problem, clusters: Sequence[ClusterName]) -> Iterator[int]:
    """The configuration that each of the clusters has now, where it is one that may still be chosen."""
    for c, name in enumerate(problem.clusters):
        if name in clusters:
            several = problem.configurations_of[c]
            as_is = next((g for g in several if problem.configurations[g].policy is None), None)
            now = int(problem.configured[c])
            if now >= 0:
                yield now
            elif as_is is not None:
                yield as_is
