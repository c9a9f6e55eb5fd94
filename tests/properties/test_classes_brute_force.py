"""Fleets of few kinds, where workloads and clusters are merged into classes: against a brute force that merges nothing.

The brute force and the rule for ties, stated anew from the texts, are those of `test_solver_brute_force`.
"""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench.instances import Instance, as_problem
from gitops_ds.problem import Problem
from gitops_ds.problem.classes import classes_of
from gitops_ds.problem.components import components
from gitops_ds.problem.handout import handed_out
from gitops_ds.problem.model import Pair
from gitops_ds.solution import Status, check_solution
from gitops_ds.solver import solve
from gitops_ds.solver.patterns import solve_by_patterns
from gitops_ds.solver.staged import solve_staged
from tests.properties.test_solver_brute_force import HASTE, assert_ties_are_decided, plans, worth


@st.composite
def fleets(draw: st.DrawFn) -> Problem:
    """1 to 4 workloads of up to two kinds on 2 to 4 clusters of up to two kinds with 1 or 2 configurations each."""
    kinds = st.lists(st.integers(0, 1), min_size=1, max_size=4)
    of_w, of_c = sorted(draw(kinds)), draw(st.lists(st.integers(0, 1), min_size=2, max_size=4))
    if draw(st.booleans()):
        of_w = [of_w[i] for i in draw(st.permutations(range(len(of_w))))]
    policies = 1 if len(of_c) > 3 else draw(st.integers(1, 2))
    number = st.integers(0, 3)
    request = np.array([[draw(st.integers(0, 2)), draw(st.integers(0, 2))] for _ in range(2)], dtype=np.int64)
    supply = np.array([[[draw(number), draw(number)] for _ in range(policies)] for _ in range(2)], dtype=np.int64)
    points = st.sampled_from((0, 10, 10, 10, 20, -10))
    score = np.array([[[draw(points) for _ in range(policies)] for _ in range(2)] for _ in range(2)], dtype=np.int64)
    allowed = np.array(
        [[[draw(st.sampled_from((True, True, True, False))) for _ in range(policies)] for _ in range(2)] for _ in "ab"]
    )
    shape = (len(of_w), len(of_c) * policies)
    instance = Instance(
        "alike",
        request[of_w],
        supply[of_c].reshape(-1, 2),
        score[np.ix_(of_w, of_c)].reshape(shape),
        allowed[np.ix_(of_w, of_c)].reshape(shape),
        np.repeat(np.arange(len(of_c)), policies),
    )
    return _with_history(draw, as_problem(instance, draw(st.sampled_from(("place-first", "score-first")))), of_w)


def _with_history(draw: st.DrawFn, problem: Problem, of_w: list[int]) -> Problem:
    """The problem with copies, priorities, an incumbent and costs of changes."""
    copies = [draw(st.sampled_from((1, 1, 2))) for _ in range(2)] if len(of_w) < 4 else [1, 1]
    priority = draw(st.sampled_from(((0, 0), (0, 1))))
    clusters, now = len(problem.clusters), draw(st.sampled_from(("nothing", "some", "all alike")))
    incumbent = np.zeros((len(of_w), clusters), dtype=np.bool_)
    if now == "some":
        incumbent[draw(st.integers(0, len(of_w) - 1)), draw(st.integers(0, clusters - 1))] = True
    elif now == "all alike":
        incumbent[:] = True
    demands = [
        replace(
            demand,
            copies=copies[kind],
            priority=priority[kind],
            incumbents=tuple(c for c, here in zip(problem.clusters, row, strict=True) if here),
        )
        for demand, kind, row in zip(problem.demands, of_w, incumbent, strict=True)
    ]
    configured = [draw(st.sampled_from((-1, -1, several[0], several[-1]))) for several in problem.configurations_of]
    return replace(
        problem,
        demands=tuple(demands),
        incumbent=incumbent,
        configured=np.array(configured if draw(st.booleans()) else [-1] * clusters, dtype=np.int64),
        move_cost=np.full(len(of_w), draw(st.sampled_from((0, 5_000))), dtype=np.int64),
        reconfigure_cost=np.full(clusters, draw(st.sampled_from((0, 15_000))), dtype=np.int64),
    )


@HASTE
@given(fleets())
def test_a_fleet_of_few_kinds_gets_the_plan_that_the_rule_names(problem: Problem) -> None:
    best = max(worth(problem, plan) for plan in plans(problem))
    solution = solve(problem)
    pairs = tuple((p.workload, p.configuration) for p in solution.pairs)
    assert solution.status is Status.OPTIMAL
    assert check_solution(problem, solution) == ()
    assert worth(problem, pairs)[:-2] == best[:-2]
    assert_ties_are_decided(problem, pairs)


@HASTE
@given(fleets())
def test_merged_or_not_the_plan_is_the_same(problem: Problem) -> None:
    for part in components(problem):
        staged, by_patterns = solve_staged(part.problem), solve_by_patterns(part.problem)
        assert by_patterns is not None
        plan = handed_out(part.problem, staged.pairs)
        assert handed_out(part.problem, by_patterns.pairs) == plan
        assert handed_out(part.problem, plan) == plan
        assert [(s.name, s.value) for s in by_patterns.stages] == [(s.name, s.value) for s in staged.stages]


@HASTE
@given(fleets(), st.randoms(use_true_random=False))
def test_members_of_classes_may_be_exchanged_at_will(problem: Problem, order: object) -> None:
    assert hasattr(order, "shuffle")
    classes = classes_of(problem)
    plan = solve(problem).pairs
    workload, configuration = np.arange(len(problem.demands)), np.arange(len(problem.configurations))
    for members in classes.workloads:
        mixed = members.tolist()
        order.shuffle(mixed)
        workload[members] = mixed
    for members in classes.clusters:
        mixed = members.tolist()
        order.shuffle(mixed)
        for one, other in zip(members.tolist(), mixed, strict=True):
            configuration[list(problem.configurations_of[one])] = problem.configurations_of[other]
    moved = tuple(sorted(Pair(int(workload[w]), int(configuration[g])) for w, g in plan))
    as_pairs = tuple((int(w), int(g)) for w, g in moved)
    assert worth(problem, as_pairs) == worth(problem, tuple((int(w), int(g)) for w, g in plan))
    parts = components(problem)
    if (
        len(parts) == 1
        and len(parts[0].workloads) == len(problem.demands)
        and len(parts[0].configurations) == len(problem.configurations)
    ):
        assert handed_out(problem, moved) == plan
