"""What has not changed is not solved again; what has changed is."""

import pytest

from gitops_ds.problem import Problem
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solution import Solution
from gitops_ds.solver import solve
from tests import builders as make


def text(**stability: int) -> str:
    clusters = [{"name": c, "policies": [f"{c}-half", f"{c}-whole"]} for c in ("c1", "c2")]
    return make.intent(clusters, ["w1", "w2"], stability=stability)


TEXT, DEARER, LIMITED = text(moveCost=1), text(moveCost=2), text(maxMoves=0)


class Counting:
    """The solver, counting how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, problem: Problem) -> Solution:
        self.asked += 1
        return solve(problem)


def made(solver: Counting, points: int, text: str = TEXT, before: Plan | None = None, version: str = "1") -> Plan:
    things: list[make.Thing] = [make.workload("w1"), make.workload("w2")]
    for c in ("c1", "c2"):
        things += [make.cluster(c), make.policy(f"{c}-half", amount="2"), make.policy(f"{c}-whole", device="whole")]
        things.append(make.scores(c, {"w1;half": points, "w2;half": 40, "w1;whole": 10, "w2;whole": 12}))
    loaded = make.load(text)
    current = before.tree if before else {}
    return plan(loaded, make.inventory(*things), current, make.NOW, solver, solver={"name": version})


def test_the_same_input_is_not_solved_again() -> None:
    first, again = Counting(), Counting()
    one = made(first, 50)
    two = made(again, 50, before=one)
    assert (first.asked, again.asked) == (1, 0)
    assert two.status == "unchanged"
    assert two.blueprint == one.blueprint
    assert two.value.score == one.value.score


@pytest.mark.parametrize(
    ("points", "text", "version"),
    [(51, TEXT, "1"), (50, TEXT, "2"), (50, DEARER, "1")],
)
def test_other_scores_costs_or_solvers_are_solved(points: int, text: str, version: str) -> None:
    one = made(Counting(), 50)
    solver = Counting()
    made(solver, points, text, one, version)
    assert solver.asked > 0


def test_a_limit_on_moves_is_always_solved() -> None:
    one = made(Counting(), 50, LIMITED)
    solver = Counting()
    made(solver, 50, LIMITED, one)
    assert solver.asked > 0
