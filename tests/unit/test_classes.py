"""Classes of workloads and clusters: who is alike, and what each member gets."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.instances import as_problem, placement
from gitops_ds.problem import Problem
from gitops_ds.problem.classes import classes_of
from gitops_ds.problem.handout import handed_out
from gitops_ds.problem.model import Pair
from gitops_ds.solution import Status, check_solution
from gitops_ds.solver import solve
from gitops_ds.solver.merged import merged
from gitops_ds.solver.patterns import search_of


def fleet(workloads: int = 4, clusters: int = 3, need: int = 1, supply: int = 2) -> Problem:
    """Equal workloads on equal clusters of one policy each, every score 10."""
    problem = as_problem(placement(workloads, clusters, 1, "tight", 0), "place-first")
    shape = (workloads, clusters)
    return replace(
        problem,
        score=np.full(shape, 10_000),
        state=np.zeros(shape, dtype=np.uint8),
        request=np.full((workloads, 2), need, dtype=np.int64),
        supply=np.full((clusters, 2), supply, dtype=np.int64),
    )


def sizes(problem: Problem) -> tuple[list[int], list[int]]:
    classes = classes_of(problem)
    return [len(several) for several in classes.workloads], [len(several) for several in classes.clusters]


def changed(array: np.ndarray, place: tuple[int | slice, ...], value: int) -> np.ndarray:
    found = array.copy()
    found[place] = value
    return found


def test_equal_workloads_and_clusters_are_classes() -> None:
    assert sizes(fleet()) == ([4], [3])
    one, two = sizes(as_problem(placement(50, 20, 4, "sym", 0)))
    assert (len(one), len(two)) == (6, 4)
    assert sizes(as_problem(placement(50, 20, 4, "tight", 0))) == ([1] * 50, [1] * 20)


@pytest.mark.parametrize(
    ("name", "place", "value", "expected"),
    [
        ("request", (1, 0), 2, ([3, 1], [3])),
        ("move_cost", (1,), 5, ([3, 1], [3])),
        ("score", (1, 2), 9_000, ([3, 1], [2, 1])),
        ("incumbent", (1, 2), 1, ([3, 1], [2, 1])),
        ("state", (1, 2), 3, ([3, 1], [2, 1])),
        ("supply", (1, 0), 3, ([4], [2, 1])),
        ("reconfigure_cost", (1,), 5, ([4], [2, 1])),
        ("configured", (1,), 1, ([4], [2, 1])),
    ],
)
def test_whatever_differs_makes_another_class(
    name: str, place: tuple[int, ...], value: int, expected: tuple[list[int], list[int]]
) -> None:
    problem = fleet()
    other: dict[str, Any] = {name: changed(getattr(problem, name), place, value)}
    found = sizes(replace(problem, **other))
    assert tuple(map(sorted, found)) == tuple(map(sorted, expected))


def test_copies_and_priorities_tell_workloads_apart_and_relations_everybody() -> None:
    problem = fleet()
    for other in (replace(problem.demands[0], copies=2), replace(problem.demands[0], priority=1)):
        assert sizes(replace(problem, demands=(other, *problem.demands[1:]))) == ([1, 3], [3])
    least = (replace(problem.demands[0], copies=3, min_copies=2), *problem.demands[1:])
    for related in (
        replace(problem, apart=((0, 1),)),
        replace(problem, together=((0, 1),)),
        replace(problem, required=(Pair(0, 0),)),
        replace(problem, demands=least),
    ):
        assert sizes(related) == ([1] * 4, [1] * 3)


def test_what_the_problem_says_of_pairs_that_may_not_be_used_is_of_no_matter() -> None:
    problem = fleet()
    state = changed(problem.state, (slice(None), 2), 3)
    assert sizes(replace(problem, state=state, score=changed(problem.score, (1, 2), 0))) == ([4], [2, 1])


def test_members_are_served_by_name_and_clusters_filled_one_by_one() -> None:
    found = handed_out(fleet(), [Pair(0, 2), Pair(1, 0), Pair(2, 1), Pair(3, 2)])
    assert found == (Pair(0, 0), Pair(1, 0), Pair(2, 1), Pair(3, 1))


def test_copies_of_one_workload_stay_apart_and_all_have_their_places() -> None:
    problem = fleet(workloads=3, clusters=3, supply=3)
    problem = replace(problem, demands=tuple(replace(d, copies=2) for d in problem.demands))
    solution = solve(problem)
    assert check_solution(problem, solution) == ()
    assert len(solution.pairs) == 6
    assert solution.pairs == (Pair(0, 0), Pair(0, 1), Pair(1, 0), Pair(1, 1), Pair(2, 0), Pair(2, 1))


def test_a_plan_that_cannot_be_filled_by_the_rule_in_time_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitops_ds.problem.handout.STEPS", 0)
    found = handed_out(fleet(), [Pair(0, 2), Pair(1, 0), Pair(2, 1), Pair(3, 2)])
    assert found == (Pair(0, 0), Pair(1, 0), Pair(2, 1), Pair(3, 2))


def test_three_hundred_workloads_of_three_kinds_on_sixty_clusters_are_few_counts() -> None:
    problem = as_problem(placement(300, 60, 4, "alike", 0), "place-first")
    found = merged(problem)
    assert found is not None
    assert found.classed.value.shape == (3, 12)
    assert found.classed.alike is not None
    assert (int(found.classed.copies.sum()), int(found.classed.alike.sum())) == (300, 60)
    search = search_of(problem)
    assert search is not None
    master, _ = search.generate()
    assert len(master.patterns) < 100
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert check_solution(problem, solution) == ()
