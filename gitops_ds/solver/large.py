"""Components beyond proof by patterns: prices, dives and block searches, or the compact model with a limit.

Owns the order in which ways are tried and what their answers are called. Owns none of the ways.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gitops_ds.packing.model import broken, plan_of, plan_value
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.solution import Solution, Status
from gitops_ds.solver.merged import Merged, merged
from gitops_ds.solver.search import solve_large
from gitops_ds.solver.staged import solve_staged

COMPACT = 3_000
"""Up to this many eligible pairs the compact model is tried, in the time that is left, for a proof and for ties."""


def improving(problem: Problem) -> Iterator[Solution]:
    """Ever better plans of `problem`, each with its proven bound.

    Raises:
        SolveError: the problem is no packing, and the compact model came to no plan within the limit.
    """
    found = merged(problem)
    if found is None:
        yield solve_staged(problem)
        return
    ends = time.monotonic() + problem.time_limit
    plan = Solution((), Status.LIMIT)
    for pairs, bound in solve_large(found.packing, _incumbent(problem, found), lambda: time.monotonic() > ends):
        plan = _named(problem, found, tuple(Pair(w, g) for w, g in pairs), bound)
        yield plan
        if plan.status in (Status.OPTIMAL, Status.WITHIN_GAP):
            break
    left = ends - time.monotonic()
    if left > 0 and plan.status is Status.LIMIT:
        yield replace(plan, status=Status.SEARCHED)
    if left > 0 and plan.status is not Status.WITHIN_GAP and int(problem.eligible.sum()) <= COMPACT:
        proof = solve_staged(replace(problem, time_limit=left))
        if proof.status is Status.OPTIMAL:
            yield proof


def _named(problem: Problem, found: Merged, pairs: tuple[Pair, ...], bound: int) -> Solution:
    stages = tuple(found.results(pairs, bound))
    value = plan_value(found.packing, plan_of(found.packing, pairs))
    status = Status.LIMIT
    if all(s.value == s.bound for s in stages):
        status = Status.OPTIMAL
    elif pairs and bound - value <= problem.gap * abs(value):
        status = Status.WITHIN_GAP
    return Solution(pairs, status, stages)


def _incumbent(problem: Problem, found: Merged) -> list[Pair]:
    """What git has now, as far as it is still a plan: pairs on configured clusters; none where they break a rule."""
    pairs = []
    for w, c in zip(*np.nonzero(problem.incumbent), strict=True):
        g = int(problem.configured[c])
        if g >= 0 and problem.eligible[w, g]:
            pairs.append(Pair(int(w), g))
    return pairs if pairs and not broken(found.packing, pairs) else []
