"""Alternatives that are weighed and not solved for: what is said of them, and when it is done."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from gitops_ds.errors import Fault, SolveError
from gitops_ds.problem import Pair, Problem
from gitops_ds.solution import Solution, Status
from gitops_ds.solver import solve
from gitops_ds.solver.weighing import weighed
from gitops_ds.whatif import Loss, losses
from tests import builders as make

CLUSTERS = ("c1", "c2", "c3")


def fleet(goal: str = "place-first") -> Problem:
    """One workload, worth 60, 50 and 40 on three clusters that have room for it."""
    things: list[make.Thing] = [make.workload("w1")]
    for c, points in zip(CLUSTERS, (60, 50, 40), strict=True):
        things += [make.cluster(c), make.policy(f"p-{c}"), make.scores(c, {"w1;half": points})]
    entries = [{"name": c, "policies": [f"p-{c}"]} for c in CLUSTERS]
    return make.problem(make.intent(entries, ["w1"], preference={"goal": goal}), *things)


def short(problem: Problem) -> Solution:
    """A solver that is cut short."""
    return replace(solve(problem), status=Status.LIMIT)


def lost(problem: Problem) -> Solution:
    """A solver that finds nothing."""
    raise SolveError(Fault("no plan in time", fix=str(len(problem.demands))))


class Weights:
    """Weighs every pair by so many thousandths, with the best plan or none."""

    def __init__(self, least: int | None, *, plans: bool = True) -> None:
        self.least, self.plans, self.asked = least, plans, list[Pair]()

    def __call__(
        self, problem: Problem, _: Solution, pairs: Sequence[Pair]
    ) -> Iterator[tuple[int | None, Solution | None]]:
        for pair in pairs:
            self.asked.append(pair)
            yield self.least, (short(problem.requiring(pair)) if self.plans else None)


def said(problem: Problem, weigh: Weights, status: Status = Status.OPTIMAL, solver: object = short) -> list[Loss]:
    before = replace(solve(problem), status=status)
    return list(losses(problem, before, 0, solver, weigh))  # type: ignore[arg-type]


def test_what_is_proved_is_never_weighed() -> None:
    problem, weigh = fleet(), Weights(1000)
    before = solve(problem)
    assert [str(one) for one in losses(problem, before, 0, solve, weigh)] == [
        "worse in total by 10",
        "worse in total by 20",
    ]
    assert weigh.asked == []


def test_a_least_and_a_plan_nearby_say_both_limits() -> None:
    found = said(fleet(), Weights(4500))
    assert [str(one) for one in found] == [
        "worse in total by at least 4.5, at most 10",
        "worse in total by at least 4.5, at most 20",
    ]
    assert [(one.bound, one.least) for one in found] == [("at most", 4500)] * 2
    open_ = said(fleet(), Weights(4500), Status.LIMIT)
    assert str(open_[1]) == "worse in total by at least 4.5, 20 by the best plan found"


def test_limits_that_meet_are_the_loss() -> None:
    found = said(fleet(), Weights(20_000))
    assert str(found[1]) == "worse in total by 20"
    assert (found[1].bound, found[1].least) == ("exact", None)
    assert said(fleet(), Weights(20_000), Status.LIMIT)[1].bound == "at least"


def test_without_a_least_the_plan_nearby_is_all_there_is() -> None:
    assert [str(one) for one in said(fleet(), Weights(None))] == [
        "worse in total by at most 10",
        "worse in total by at most 20",
    ]


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        ("score-first", "worse in total by at least 3; no plan with it was found in time"),
        ("place-first", "not known: no plan with it was found in time"),
    ],
)
def test_without_a_plan_a_least_counts_only_where_points_come_first(goal: str, text: str) -> None:
    found = said(fleet(goal), Weights(3000, plans=False), solver=lost)
    assert [str(one) for one in found] == [text, text]
    assert all(one.possible is None for one in found)


def test_only_the_first_one_is_solved_for_where_it_is_not_proved() -> None:
    solved = list[Problem]()

    def counting(problem: Problem) -> Solution:
        solved.append(problem)
        return short(problem)

    found = said(fleet(), Weights(1000), solver=counting)
    assert (len(found), len(solved)) == (2, 1)


def test_the_real_weights_meet_on_a_small_fleet() -> None:
    problem = fleet("score-first")
    before = solve(problem)
    found = list(losses(problem, before, 0, short, weighed))
    assert [str(one) for one in found] == ["worse in total by 10", "worse in total by 20"]
    assert [one.bound for one in found] == ["exact", "exact"]
