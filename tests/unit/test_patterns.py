"""Solving by patterns: the same plan as the compact model, ties included, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bench.instances import as_problem, placement
from gitops_ds.packing.listing import patterns_within
from gitops_ds.problem.components import components
from gitops_ds.solution import Status, check_solution, value_of
from gitops_ds.solver.patterns import search_of, solve_by_patterns
from gitops_ds.solver.staged import solve_staged
from tests.strategies import Case, cases


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_both_ways_give_the_same_plan(case: Case) -> None:
    for part in components(case.problem()):
        by_patterns = solve_by_patterns(part.problem)
        if by_patterns is not None:
            staged = solve_staged(part.problem)
            assert by_patterns.pairs == staged.pairs
            assert [(s.name, s.value) for s in by_patterns.stages] == [(s.name, s.value) for s in staged.stages]


@pytest.mark.parametrize("family", ["tight", "loose", "sym"])
@pytest.mark.parametrize("goal", ["place-first", "score-first"])
@pytest.mark.parametrize("seed", range(3))
def test_both_ways_agree_on_instances_of_some_size(family: str, goal: str, seed: int) -> None:
    problem = as_problem(placement(12, 5, 3, family, seed), goal)
    by_patterns, staged = solve_by_patterns(problem), solve_staged(problem)
    assert by_patterns is not None
    assert by_patterns.status is Status.OPTIMAL
    assert check_solution(problem, by_patterns) == ()
    assert value_of(problem, by_patterns) == value_of(problem, staged)
    assert by_patterns.pairs == staged.pairs


def test_the_bound_is_never_below_the_optimum() -> None:
    for seed in range(4):
        problem = as_problem(placement(14, 6, 3, "tight", seed), "score-first")
        search = search_of(problem)
        assert search is not None
        optimum = solve_staged(problem)
        value = sum(int(search.packing.value[p.workload, p.configuration]) for p in optimum.pairs)
        _, bound = search.generate()
        assert bound.parts >= value * search.scale


def test_listing_finds_every_pattern_and_only_those() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        n = int(random.integers(1, 8))
        profit = random.integers(-5, 20, n)
        need = random.integers(0, 4, (n, 2))
        room = random.integers(0, 9, 2)
        least = int(random.integers(0, 40))
        expected = set()
        for bits in range(1 << n):
            chosen = tuple(i for i in range(n) if bits >> i & 1)
            fits = (need[list(chosen)].sum(axis=0) <= room).all()
            if fits and int(profit[list(chosen)].sum()) >= least:
                expected.add(chosen)
        found = list(patterns_within(profit, need, room, least))
        assert len(found) == len(set(found))
        assert set(found) == expected
