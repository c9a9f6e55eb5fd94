"""What pairs would cost a plan, without solving for each: a proven least, and a plan nearby that has the pair.

The least follows from prices that were found once for all pairs: they bound every plan that has the pair. The plan
comes from a small exact model, in which only a few clusters around the pair are open and all others stay as they are.

Owns both. Owns no wording (`whatif/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from gitops_ds.errors import SolveError
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.problem.objective import POINTS
from gitops_ds.problem.variations import narrowed
from gitops_ds.solution import Solution, Status, check_solution
from gitops_ds.solver.related import Related, related
from gitops_ds.solver.related_search import proved_bound
from gitops_ds.solver.staged import solve_staged

NEAR = 6
"""So many clusters are open around a pair."""
LONGEST = 2.0
"""Seconds that the model of these may take."""


def weighed(
    problem: Problem, solution: Solution, pairs: Sequence[Pair]
) -> Iterator[tuple[int | None, Solution | None]]:
    """For each pair the least that every plan with it is worth less, and a plan with it.

    The least is in thousandths of a point, and holds for plans that place as many copies at every priority as
    `solution`, or that may place any number where the goal counts points first. None where prices prove no loss. The
    plan is None where there is none close by.
    """
    form = related(problem)
    if form is not None:
        pricer, proved = proved_bound(form)
        asked = pricer.parts(proved.prices)
        parts, found = pricer.bound(asked)
        now = form.stage_values(solution.pairs)
    for pair in pairs:
        least = None
        if form is not None:
            least = _least(form, now, pricer.bound_with(asked, pair, parts, found) // pricer.scale)
        yield least, _near(problem, solution, pair)


def _least(form: Related, now: Sequence[int], bound: int) -> int | None:
    """How many points plans of at most this value have less, if all stages before points are as they are now."""
    left = bound
    for one, value in zip(form.main, now, strict=False):
        most = (left + one.beyond) // one.weight * one.unit
        if one.stage.name == POINTS:
            return value - most if value > most else None
        if most != value:
            return None
        left -= one.weight * (value // one.unit)
    return None


def _near(problem: Problem, solution: Solution, pair: Pair) -> Solution | None:
    """The best plan with the pair that differs from the present one on few clusters only."""
    near = narrowed(problem, solution.pairs, _clusters(problem, solution, pair), [pair.workload])
    asked = replace(near.requiring(pair), time_limit=min(problem.time_limit, LONGEST), gap=0.0)
    try:
        found = solve_staged(asked)
    except SolveError:
        return None
    return None if check_solution(problem, found) else replace(found, status=Status.LIMIT)


def _clusters(problem: Problem, solution: Solution, pair: Pair) -> list[int]:
    """The pair's cluster, those of its workload now, and the best other ones of whom it may push out."""
    target = int(problem.cluster_of[pair.configuration])
    mine = [int(problem.cluster_of[g]) for w, g in solution.pairs if w == pair.workload]
    pushed = [w for w, g in solution.pairs if int(problem.cluster_of[g]) == target and w != pair.workload]
    chosen = list(dict.fromkeys([target, *mine]))
    best: dict[int, int] = {}
    for w in pushed:
        for g in np.nonzero(problem.eligible[w])[0].tolist():
            c = int(problem.cluster_of[g])
            best[c] = max(best.get(c, -(2**60)), int(problem.score[w, g]))
    others = sorted((c for c in best if c not in chosen), key=lambda c: (-best[c], c))
    return sorted([*chosen, *others[: max(NEAR - len(chosen), 0)]])
