"""Components beyond proof by patterns: prices, dives and block searches, or the compact model with a limit.

Owns the order in which ways are tried and what their answers are called. Owns none of the ways.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gitops_ds.errors import InfeasibleError, SolveError
from gitops_ds.packing.model import broken, plan_of, plan_value
from gitops_ds.problem.model import Pair, Problem
from gitops_ds.problem.objective import NAMES
from gitops_ds.solution import Solution, Status, check_solution
from gitops_ds.solver.merged import Merged, merged
from gitops_ds.solver.patterns import search_of
from gitops_ds.solver.related import Related, related
from gitops_ds.solver.related_search import plan_worth, solve_related
from gitops_ds.solver.search import solve_large
from gitops_ds.solver.staged import solve_staged

PROVABLE = 30_000
"""Up to this many pairs of classes a proof by patterns was seen to come through; beyond, it only takes time."""
QUICK = 1_000_000
"""Entries of the tables up to which a round of pricing takes a fraction of a second."""
SHARE = 0.25
"""Part of the time in which the compact model may prove a small problem with relations."""
COMPACT = 3_000
"""Up to this many eligible pairs the compact model is tried, in the time that is left, for a proof and for ties."""


def improving(problem: Problem) -> Iterator[Solution]:
    """Ever better plans of `problem`, each with its proven bound.

    Raises:
        SolveError: the problem is no packing, and the compact model came to no plan within the limit.
    """
    found = merged(problem)
    ends = time.monotonic() + problem.time_limit
    if found is None:
        yield from _with_relations(problem, ends)
        return
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


def _with_relations(problem: Problem, ends: float) -> Iterator[Solution]:
    """Plans of a problem that is no packing: a proof where the compact model finds one soon, else the fixed search."""
    small = int(problem.eligible.sum()) <= COMPACT
    proof = _proof(problem, problem.time_limit * SHARE) if small else None
    if proof is not None:
        yield proof
        if proof.status is not Status.LIMIT:
            return
    form = related(problem)
    plan: Solution | None = None
    if form is not None:
        start = incumbent_of(problem)
        for pairs, bound in solve_related(form, start, lambda: time.monotonic() > ends):
            plan = _judged(problem, form, pairs, bound)
            yield _better(form, plan, proof)
            if plan.status is not Status.LIMIT:
                return
    left = ends - time.monotonic()
    if plan is None or form is None:
        yield solve_staged(replace(problem, time_limit=max(left, 0.1)))
    elif left > 0:
        plan = replace(plan, status=Status.SEARCHED)
        yield plan if proof is None else _better(form, plan, proof)


def _proof(problem: Problem, seconds: float) -> Solution | None:
    """What the compact model comes to in so many seconds; None where that is no plan."""
    try:
        return solve_staged(replace(problem, time_limit=seconds))
    except InfeasibleError:
        raise
    except SolveError:
        return None


def _better(form: Related, plan: Solution, other: Solution | None) -> Solution:
    """The better of two plans by all stages, the first of equals, with the better of their bounds."""
    if other is None:
        return plan
    one, two = form.stage_values(plan.pairs), form.stage_values(other.pairs)
    best = replace(plan, status=Status.LIMIT, pairs=other.pairs, stages=other.stages) if two > one else plan
    return _tighter(best, other if best is plan else plan)


def _judged(problem: Problem, form: Related, pairs: tuple[Pair, ...], bound: int) -> Solution:
    """A plan with its values and bounds, and what may be said of it: only the rule for ties may stay open."""
    stages = tuple(form.results(pairs, bound))
    value = plan_worth(form, form.chosen(pairs))
    within = pairs and bound > value and bound - value <= problem.gap * abs(value)
    return Solution(pairs, Status.WITHIN_GAP if within else Status.LIMIT, stages)


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
    if found.classes.pairs(problem) > PROVABLE:
        return
    search = search_of(replace(problem, time_limit=problem.time_limit / 2), thorough=True)
    if search is None or search.tables.size > QUICK:
        return
    attempt = search.attempt()
    yield _named(problem, found, search.found.pairs(attempt.start), attempt.bound.parts // search.scale)
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


def incumbent_of(problem: Problem) -> tuple[Pair, ...]:
    """What git has now, where that is a plan as it stands; else none."""
    pairs = []
    for w, c in zip(*np.nonzero(problem.incumbent), strict=True):
        g = int(problem.configured[c])
        if g >= 0 and problem.eligible[w, g]:
            pairs.append(Pair(int(w), g))
    kept = Solution(tuple(sorted(pairs)), Status.LIMIT)
    return () if check_solution(problem, kept) else kept.pairs


def _incumbent(problem: Problem, found: Merged) -> list[Pair]:
    """What git has now, as far as it is still a plan: pairs on configured clusters; none where they break a rule."""
    pairs = []
    for w, c in zip(*np.nonzero(problem.incumbent), strict=True):
        g = int(problem.configured[c])
        if g >= 0 and problem.eligible[w, g]:
            pairs.append(Pair(int(w), g))
    return pairs if pairs and not broken(found.packing, pairs) else []
