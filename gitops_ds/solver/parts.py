"""A problem solved part by part, on any engine, and the parts put together again.

Owns the cut of the time limit, the choice of the way for each part, and the sum of the answers. Owns no way itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gitops_ds.engine import Engine, Serial
from gitops_ds.errors import Fault, SolveError
from gitops_ds.problem.classes import classes_of
from gitops_ds.problem.components import Component, components
from gitops_ds.problem.handout import handed_out
from gitops_ds.problem.model import Problem
from gitops_ds.problem.objective import PLACED
from gitops_ds.solution import Solution, StageResult, Status, check_solution
from gitops_ds.solver.guard import guarded
from gitops_ds.solver.large import improving
from gitops_ds.solver.patterns import solve_by_patterns
from gitops_ds.solver.staged import solve_staged

SMALL = 300
"""Up to this many eligible pairs the compact model ends soon, so it needs no process of its own."""
MIDDLING = 4_000
"""Up to this many pairs of classes a proof by patterns mostly comes within a second: it is tried without one first."""
SHORTEST = 1.0
"""Seconds that every component may take at least."""


def solve(problem: Problem) -> Solution:
    """The best plan of `problem` by its stages, or the best one found before the time limit.

    Raises:
        SolveError: the solver ended without a plan that may be used.
    """
    return solver_on(Serial())(problem)


def solver_on(engine: Engine) -> Callable[[Problem], Solution]:
    """`solve` with the components worked on by `engine`: the answer does not depend on it."""

    def on_engine(problem: Problem) -> Solution:
        parts = components(problem)
        found = engine.map(solve_component, [p.problem for p in _timed(problem, parts)])
        solution = _joined(parts, found)
        broken = check_solution(problem, solution)
        if broken:
            why = "; ".join(broken[:3])
            raise SolveError(Fault("the solver's plan breaks the problem's own rules", why=why, fix="report this"))
        return solution

    return on_engine


def solve_component(problem: Problem) -> Solution:
    """One component, by the way that suits it; what is left open between plans that are alike is settled by names."""
    found = _solved(problem)
    return replace(found, pairs=handed_out(problem, found.pairs)) if found.status is Status.OPTIMAL else found


def _solved(problem: Problem) -> Solution:
    ends = time.monotonic() + problem.time_limit
    if classes_of(problem).pairs(problem) <= MIDDLING:
        quick = solve_by_patterns(replace(problem, time_limit=problem.time_limit / 2))
        if quick is not None:
            return quick
    rest = replace(problem, time_limit=max(ends - time.monotonic(), 0.0))
    return solve_staged(rest) if int(problem.eligible.sum()) <= SMALL else guarded(rest, improving)


def _timed(problem: Problem, parts: Sequence[Component]) -> Iterator[Component]:
    """The parts, each with its share of the time limit by its number of pairs."""
    sizes = [int(p.problem.eligible.sum()) for p in parts]
    for part, size in zip(parts, sizes, strict=True):
        share = problem.time_limit * size / max(sum(sizes), 1)
        limit = min(problem.time_limit, max(share, SHORTEST))
        yield replace(part, problem=replace(part.problem, time_limit=limit))


def _joined(parts: Sequence[Component], found: Sequence[Solution]) -> Solution:
    pairs = sorted(part.whole(p) for part, one in zip(parts, found, strict=True) for p in one.pairs)
    status = max((one.status for one in found), key=list(Status).index, default=Status.OPTIMAL)
    return Solution(tuple(pairs), status, tuple(_stages(found)))


def _stages(found: Sequence[Solution]) -> Iterator[StageResult]:
    """Values and bounds of each stage, summed over the parts that have it, in the order in which they were solved."""
    place: dict[str, int] = {}
    for one in found:
        for i, stage in enumerate(one.stages):
            place[stage.name] = min(i, place.get(stage.name, i))
    for name in sorted(place, key=lambda n: (place[n], -int(n.rpartition(" ")[2]) if n.startswith(PLACED) else 0)):
        mine = [s for one in found for s in one.stages if s.name == name]
        yield StageResult(name, sum(s.value for s in mine), sum(s.bound for s in mine))
