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
from gitops_ds.problem.objective import NAMES
from gitops_ds.solution import Solution, Status
from gitops_ds.solver.merged import Merged, merged
from gitops_ds.solver.patterns import pairs_of, search_of
from gitops_ds.solver.search import solve_large
from gitops_ds.solver.staged import solve_staged

PROVABLE = 30_000
"""Up to this many eligible pairs a proof by patterns was seen to come through; beyond, it only takes time."""
QUICK = 1_000_000
"""Entries of the tables up to which a round of pricing takes a fraction of a second."""
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
    for plan in _by_patterns(problem, found):
        yield plan
    if any(stage.name == NAMES for stage in plan.stages):
        return
    if plan.status is not Status.OPTIMAL:
        first = plan
        for plan in _searched(problem, found, first, ends):
            yield plan
    left = ends - time.monotonic()
    if left > 0 and plan.status is not Status.WITHIN_GAP and int(problem.eligible.sum()) <= COMPACT:
        proof = solve_staged(replace(problem, time_limit=left))
        if proof.status is Status.OPTIMAL:
            yield proof


def _searched(problem: Problem, found: Merged, first: Solution, ends: float) -> Iterator[Solution]:
    """Plans by the fixed search, none worse than `first`; the last one says whether the search came to its end."""
    start = first.pairs or _incumbent(problem, found)
    plan = first
    for pairs, bound in solve_large(found.packing, start, lambda: time.monotonic() > ends):
        plan = _tighter(_named(problem, found, tuple(Pair(w, g) for w, g in pairs), bound), first)
        yield plan
        if plan.status is not Status.LIMIT:
            return
    if time.monotonic() < ends:
        yield replace(plan, status=Status.SEARCHED)


def _by_patterns(problem: Problem, found: Merged) -> Iterator[Solution]:
    """The plan of a dive, then the optimum where half of the time proves it; nothing for what is out of reach."""
    if int(problem.eligible.sum()) > PROVABLE:
        return
    search = search_of(replace(problem, time_limit=problem.time_limit / 2))
    if search is None or search.tables.size > QUICK:
        return
    attempt = search.attempt()
    yield _named(problem, found, pairs_of(attempt.start), attempt.bound.parts // search.scale)
    best = search.finished(attempt)
    if best is not None:
        yield best


def _tighter(plan: Solution, first: Solution) -> Solution:
    """The plan with the better of its own bounds and those of an earlier one."""
    known = {s.name: s.bound for s in first.stages}
    stages = (replace(s, bound=max(min(s.bound, known.get(s.name, s.bound)), s.value)) for s in plan.stages)
    return replace(plan, stages=tuple(stages))


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
