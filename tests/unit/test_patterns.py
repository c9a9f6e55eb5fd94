"""Solving by patterns: the same plan as the compact model, ties included, and bounds that hold."""

import time
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bench.instances import as_problem, placement
from gitops_ds.packing.listing import patterns_within
from gitops_ds.packing.table import Tables
from gitops_ds.problem import Problem
from gitops_ds.problem.components import components
from gitops_ds.problem.handout import handed_out
from gitops_ds.problem.model import Pair
from gitops_ds.solution import Solution, Status, check_solution, value_of
from gitops_ds.solver.branch import Proof, choice_of
from gitops_ds.solver.master import Pattern, master_of, values_of
from gitops_ds.solver.patterns import search_of, solve_by_patterns
from gitops_ds.solver.staged import solve_staged
from tests.strategies import Case, cases


def named(problem: Problem, solution: Solution) -> tuple[Pair, ...]:
    """The plan with its members of classes in the order of the rule."""
    return handed_out(problem, solution.pairs)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_both_ways_give_the_same_plan(case: Case) -> None:
    for part in components(case.problem()):
        by_patterns = solve_by_patterns(part.problem)
        if by_patterns is not None:
            staged = solve_staged(part.problem)
            assert named(part.problem, by_patterns) == named(part.problem, staged)
            assert [(s.name, s.value) for s in by_patterns.stages] == [(s.name, s.value) for s in staged.stages]


@pytest.mark.parametrize("family", ["tight", "loose", "sym"])
@pytest.mark.parametrize("goal", ["place-first", "score-first"])
@pytest.mark.parametrize("seed", range(4))
def test_both_ways_agree_on_instances_of_some_size(family: str, goal: str, seed: int) -> None:
    problem = as_problem(placement(12, 5, 3, family, seed), goal)
    by_patterns, staged = solve_by_patterns(problem), solve_staged(problem)
    assert by_patterns is not None
    assert by_patterns.status is Status.OPTIMAL
    assert check_solution(problem, by_patterns) == ()
    assert value_of(problem, by_patterns) == value_of(problem, staged)
    assert named(problem, by_patterns) == named(problem, staged)


def test_the_bound_is_never_below_the_optimum() -> None:
    for seed in range(4):
        for family in ("tight", "sym"):
            problem = as_problem(placement(14, 6, 3, family, seed), "score-first")
            search = search_of(problem)
            assert search is not None
            optimum = solve_staged(problem)
            value = sum(int(search.found.packing.value[p.workload, p.configuration]) for p in optimum.pairs)
            _, bound = search.generate()
            assert bound.parts >= value * search.scale


def every_pattern(need: np.ndarray, room: np.ndarray, members: np.ndarray) -> list[tuple[int, ...]]:
    """Every pattern that fits, by trying all."""
    counts = product(*(range(int(most) + 1) for most in members))
    fitting = (several for several in counts if (np.array(several) @ need <= room).all())
    return [tuple(w for w, times in enumerate(several) for _ in range(times)) for several in fitting]


def test_tables_find_the_best_pattern_and_listing_every_one_that_is_good_enough() -> None:
    random = np.random.default_rng(1)
    for _ in range(60):
        n, several = int(random.integers(1, 6)), int(random.integers(1, 4))
        profit = random.integers(-5, 20, (n, several))
        need, room = random.integers(0, 4, (n, 2)), random.integers(0, 9, (several, 2))
        tables = Tables(need, room, random.integers(1, 4, n))
        least = int(random.integers(0, 40))
        best, kept = tables.best(profit), tables.kept(profit, np.arange(several))
        for g, chosen in best.patterns(range(several)):
            worth = {p: int(profit[list(p), g].sum()) for p in every_pattern(need, room[g], tables.members)}
            assert int(best.values[g]) == max(worth.values()) == worth[chosen]
            found = list(patterns_within(kept, g, least))
            assert len(found) == len(set(found))
            assert set(found) == {p for p, value in worth.items() if value >= least}


@pytest.mark.parametrize("family", ["tight", "loose", "sym"])
@pytest.mark.parametrize("seed", range(4))
def test_a_choice_is_as_good_as_the_solvers_own(family: str, seed: int) -> None:
    search = search_of(as_problem(placement(24, 8, 3, family, seed), "score-first"))
    assert search is not None
    packing = search.packing
    master, _ = search.generate()
    values = values_of(packing, master.patterns)
    choice = choice_of(packing, master.patterns, values, -1, nodes=10_000, ends=time.monotonic() + 60)
    assert choice is not None
    outcome = choice.search()
    assert outcome.proved
    assert outcome.chosen is not None
    assert master.keeps_rows(outcome.chosen)
    exact = master.whole()
    assert exact is not None
    assert exact[1]
    assert int(values_of(packing, outcome.chosen).sum()) == int(values_of(packing, exact[0]).sum())
    kept = choice.within(choice.best)
    assert not Counter(outcome.chosen).keys() - set(kept)
    assert not Counter(exact[0]).keys() - set(kept)


def test_a_choice_that_runs_out_of_nodes_claims_no_proof() -> None:
    search = search_of(as_problem(placement(50, 20, 4, "loose", 0), "score-first"))
    assert search is not None
    _, bound = search.generate()
    listed = search.listed(bound, int(bound.parts // search.scale * 0.996))
    assert listed is not None
    values = values_of(search.packing, listed)
    few = choice_of(search.packing, listed, values, 0, nodes=1, ends=time.monotonic() + 60)
    assert few is not None
    assert not few.search().proved


def test_a_choice_keeps_a_least_value_and_prefers_by_weight() -> None:
    search = search_of(as_problem(placement(8, 3, 2, "tight", 1), "score-first"))
    assert search is not None
    packing = search.packing
    master, _ = search.generate()
    patterns = [Pattern(g, (w,)) for w, g in zip(*np.nonzero(packing.allowed), strict=True)]
    patterns = [*dict.fromkeys([*master.patterns, *(Pattern(int(g), tuple(map(int, ws))) for g, ws in patterns)])]
    weights = np.array([(i * 37) % 11 for i in range(len(patterns))], dtype=np.int64)
    exact = master_of(packing)
    exact.add(patterns)
    top = exact.whole()
    assert top is not None
    least = int(values_of(packing, top[0]).sum()) - 40
    choice = choice_of(packing, patterns, weights, -1, nodes=1_000, ends=time.monotonic() + 60)
    assert choice is not None
    choice.least(Proof(1, np.zeros(packing.workloads, dtype=np.int64)), least)
    outcome = choice.search()
    assert outcome.proved
    assert outcome.chosen is not None
    by_solver = exact.whole_by(weights, least, 60, ())
    assert by_solver is not None
    weight = dict(zip(patterns, weights.tolist(), strict=True))
    assert sum(weight[p] for p in outcome.chosen) == sum(weight[p] for p in by_solver[0])
    assert int(values_of(packing, outcome.chosen).sum()) >= least
