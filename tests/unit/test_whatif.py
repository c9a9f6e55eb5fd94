"""What another choice would cost, and what would have to change for a workload to get a place."""

from typing import Any

import pytest

from gitops_ds.problem import Pair, Problem
from gitops_ds.solver import solve
from gitops_ds.whatif import Loss, loss, relaxations
from tests import builders as make

NAMES = ("w1", "w2", "w3")
POINTS = {"c1": {"w1": 60, "w2": 55, "w3": 10}, "c2": {"w1": 50, "w2": 52, "w3": 10}}


def fleet(workloads: list[dict[str, Any]], *, room: int = 1, **cluster: Any) -> Problem:
    """Two clusters with one policy each, that makes room for so many gpu; w1 and w2 prefer c1."""
    things: list[make.Thing] = [make.workload(w) for w in NAMES]
    for c, points in POINTS.items():
        things += [make.cluster(c, **(cluster if c == "c2" else {})), make.policy(f"p-{c}", amount=str(room))]
        things.append(make.scores(c, {f"{w};half": value for w, value in points.items()}))
    entries = [{"name": c, "policies": [f"p-{c}"]} for c in POINTS]
    return make.problem(make.intent(entries, workloads), *things)


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def test_a_forced_pair_costs_what_the_whole_plan_loses() -> None:
    problem = fleet(named("w1", "w2"))
    best = solve(problem)
    found = loss(problem, best, Pair(0, 1), solve)
    assert (found.cluster, found.possible, found.points, found.placed, found.proved) == ("c2", True, 7000, 0, True)
    assert found.consequences == ("w2 would move to c1",)
    assert loss(problem, best, best.pairs[0], solve).points == 0


def test_a_forced_pair_may_cost_somebody_the_place() -> None:
    problem = fleet([{"name": "w1"}, {"name": "w2", "pin": "c1"}])
    best = solve(problem)
    assert make.decisions(problem, best) == {"w1": [("c2", "p-c2")], "w2": [("c1", "p-c1")]}
    found = loss(problem, best, Pair(0, 0), solve)
    assert (found.placed, found.points, found.consequences) == (1, 45_000, ("w2 would have no place",))


def test_what_no_plan_allows_is_said_so() -> None:
    problem = fleet([{"name": "w1", "avoid": ["c2"]}])
    found = loss(problem, solve(problem), Pair(0, 1), solve)
    assert found == Loss(found.cluster, found.policy, possible=False)


@pytest.mark.parametrize(
    ("last", "cluster", "said"),
    [
        ({"pin": "c1"}, {}, "let it run on c2 (pin, allow or avoid excludes it)"),
        ({}, {"taints": (make.taint("odd"),)}, "c2 available, or its taint tolerated"),
    ],
)
def test_a_workload_without_a_place_is_told_which_permission_would_give_it_one(
    last: dict[str, Any], cluster: dict[str, Any], said: str
) -> None:
    problem = fleet([{"name": "w1", "pin": "c1", "priority": 1}, {"name": "w3", **last}], **cluster)
    best = solve(problem)
    assert [w for w, _ in best.pairs] == [0]
    assert relaxations(problem, best, 1, solve, lambda *_: None) == (said,)


def test_the_capacity_that_lacks_comes_first_and_in_units_of_people() -> None:
    problem = fleet(named("w1", "w2", "w3"))
    best = solve(problem)
    found = relaxations(problem, best, 2, solve, lambda *_: {(1, 0): 1})
    assert found == ("1 more gpu on c2 as half",)


def test_a_permission_that_takes_a_place_from_somebody_is_none() -> None:
    problem = fleet([{"name": "w1"}, {"name": "w2", "pin": "c2"}, {"name": "w3", "pin": "c1"}])
    best = solve(problem)
    (left,) = {0, 1, 2} - {w for w, _ in best.pairs}
    assert relaxations(problem, best, left, solve, lambda *_: None) == ()
