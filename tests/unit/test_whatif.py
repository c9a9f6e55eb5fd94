"""What another choice would cost, and what would have to change for a workload to get a place: the cases by name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_ds.errors import Fault, InfeasibleError, SolveError
from gitops_ds.inventory import ScoreObject
from gitops_ds.problem import Incumbent, Pair, Problem, build
from gitops_ds.problem.obstacles import Obstacles
from gitops_ds.solution import Solution
from gitops_ds.solver import solve
from gitops_ds.solver.relaxation import least_capacity
from gitops_ds.whatif import loss, losses, more_capacity, relaxations
from tests import builders as make

NAMES = ("w1", "w2", "w3")
POINTS = {"c1": {"w1": 60, "w2": 55, "w3": 10}, "c2": {"w1": 50, "w2": 52, "w3": 10}}
Workloads = Sequence[Mapping[str, Any] | str]


def things(room: int = 1, *, points: Mapping[str, Mapping[str, int]] = POINTS, **second: Any) -> list[make.Thing]:
    """Clusters c1 and c2 with one policy each, that makes room for so many gpu; `second` is said of c2 alone."""
    found: list[make.Thing] = [make.workload(w) for w in NAMES]
    for c, items in points.items():
        age = second.pop("age", timedelta(seconds=30)) if c == "c2" else timedelta(seconds=30)
        scores = make.scores(c, {f"{w};half": value for w, value in items.items()}, age=age)
        found += [make.cluster(c, **(second if c == "c2" else {})), make.policy(f"p-{c}", amount=str(room)), scores]
    return found


def fleet(workloads: Workloads, *several: make.Thing, incumbent: Incumbent | None = None, **spec: Any) -> Problem:
    entries = [{"name": c, "policies": [f"p-{c}"]} for c in POINTS]
    return make.problem(make.intent(entries, workloads, **spec), *(several or things()), incumbent=incumbent)


def asked(workloads: Workloads, *several: make.Thing, **spec: Any) -> tuple[str, ...]:
    """What would give the last of the workloads its place."""
    used = several or tuple(things())
    problem = fleet(workloads, *used, **spec)
    solution = solve(problem)
    last = len(problem.demands) - 1
    assert last not in [w for w, _ in solution.pairs]
    obstacles = Obstacles(problem, make.inventory(*used), make.NOW)
    found = relaxations(problem, solution, last, solve=solve, least_capacity=least_capacity, obstacles=obstacles)
    return tuple(one.text for one in found)


def said(problem: Problem, workload: int, configuration: int) -> str:
    return str(loss(problem, solve(problem), Pair(workload, configuration), solve))


def test_a_forced_pair_costs_what_the_whole_plan_loses() -> None:
    problem = fleet(["w1", "w2"])
    best = solve(problem)
    found = loss(problem, best, Pair(0, 1), solve)
    assert (found.cluster, found.possible, found.points, found.placed) == ("c2", True, 7000, 0)
    assert str(found) == "worse in total by 7: w2 would move to c1"
    assert loss(problem, best, best.pairs[0], solve).points == 0


def test_a_forced_pair_may_cost_somebody_the_place() -> None:
    problem = fleet(["w1", {"name": "w2", "pin": "c1"}])
    assert make.decisions(problem, solve(problem)) == {"w1": [("c2", "p-c2")], "w2": [("c1", "p-c1")]}
    assert said(problem, 0, 0) == "1 copy fewer, worse by 45: w2 would have no place"


def test_copies_are_told_by_priority_where_they_trade_places() -> None:
    problem = fleet([{"name": "w1", "priority": 5, "pin": "c1"}, {"name": "w2", "pin": "c1"}])
    text = "1 copy fewer at priority 5, 1 copy more at priority 0, worse by 5: w1 would have no place"
    assert said(problem, 1, 0) == text
    other = fleet(
        [{"name": "w1", "priority": 5, "pin": "c1"}, {"name": "w2", "pin": "c1"}],
        preference={"goal": "score-first"},
    )
    assert said(other, 1, 0).startswith("worse by 5, 1 copy fewer at priority 5")


def test_costs_of_changes_are_named_where_they_are_part_of_it() -> None:
    stability = {"moveCost": 2, "reconfigureCost": 4}
    before = make.incumbent({"w1": ["c1"]}, {"c1": "p-c1"})
    problem = fleet(["w1"], incumbent=before, stability=stability)
    assert said(problem, 0, 1) == "worse in total by 12 (10 less score, 2 more for moves)"
    several = [t for t in things() if not (isinstance(t, ScoreObject) and t.cluster == "c1")]
    several += [make.policy("q-c1", "full", "1"), make.scores("c1", {"w1;half": 60, "w1;full": 59})]
    text = make.intent([{"name": "c1", "policies": ["p-c1", "q-c1"]}], ["w1"], stability=stability)
    again = make.problem(text, *several, incumbent=before)
    assert said(again, 0, 1) == "worse in total by 5 (1 less score, 4 more for reconfiguring)"


def test_a_tie_is_said_to_be_one_with_who_moves() -> None:
    even = {c: dict.fromkeys(NAMES, 50) for c in POINTS}
    problem = fleet(["w1", "w2"], *things(points=even))
    (w1,) = (g for w, g in solve(problem).pairs if w == 0)
    assert said(problem, 0, 1 - w1).startswith("equal: names decide; w2 would move to c")


def test_a_tie_that_takes_changes_or_is_less_even_is_said_so() -> None:
    even = {c: dict.fromkeys(NAMES, 50) for c in POINTS}
    problem = fleet(["w1"], *things(points=even), incumbent=make.incumbent({"w1": ["c1"]}))
    assert said(problem, 0, 1) == "as good, with 1 more change"
    things_: list[make.Thing] = [make.workload("w1")]
    for c, region in (("c1", "eu"), ("c2", "eu"), ("c3", "us")):
        things_ += [make.cluster(c, labels={"region": region}), make.policy(f"p-{c}"), make.scores(c, {"w1;half": 5})]
    copies = {"name": "w1", "copies": 2, "spread": [{"key": "region", "mode": "soft"}]}
    entries = [{"name": c, "policies": [f"p-{c}"]} for c in ("c1", "c2", "c3")]
    spread = make.problem(make.intent(entries, [copies]), *things_)
    used = [g for _, g in solve(spread).pairs]
    (other,) = {0, 1, 2} - set(used)
    assert said(spread, 0, other) == f"equal: names decide; it would leave c{1 + (1 - other)}"


@pytest.mark.parametrize(
    ("workloads", "spec", "who"),
    [
        (["w1", {"name": "w2", "with": ["w1"], "avoid": ["c2"]}], {}, "w2 must run on the same clusters as w1"),
        ([{"name": "w1", "minCopies": 2, "copies": 2}, "w3"], {}, ""),
        (["w1"], {"stability": {"maxMoves": 0}}, "maxMoves would have to let more copies move"),
    ],
)
def test_what_no_plan_allows_names_the_rule_that_would_have_to_give_way(
    workloads: list[Any], spec: dict[str, Any], who: str
) -> None:
    before = make.incumbent({"w1": ["c1"]}, {"c1": "p-c1"}) if spec else None
    problem = fleet(workloads, incumbent=before, **spec)
    found = loss(problem, solve(problem), Pair(0, 1), solve)
    assert found.possible is (not who)
    assert str(found) == f"impossible: {who}" or not who


def test_copies_that_are_too_few_and_uneven_are_named_too() -> None:
    few = fleet([{"name": "w1", "copies": 2, "minCopies": 2, "requests": {"gpu": 1}}], *things(1, labels={"x": "y"}))
    assert said(few, 0, 0) == "equal: names decide"
    small = [*things()[:-2], make.policy("p-c2", amount="0"), make.scores("c2", {"w1;half": 1})]
    short = fleet([{"name": "w1", "copies": 2, "minCopies": 2}], *small)
    assert said(short, 0, 0) == "impossible: w1 must have 2 copies or none"


def test_what_the_data_excludes_is_not_solved_for() -> None:
    problem = fleet([{"name": "w1", "avoid": ["c2"]}])
    found = loss(problem, solve(problem), Pair(0, 1), lambda _: pytest.fail("solved"))
    assert (found.possible, str(found)) == (False, "impossible: the data excludes it")


def test_a_solver_that_fails_is_no_proof_that_there_is_no_plan() -> None:
    problem = fleet(["w1", "w2"])
    best = solve(problem)

    def failing(_: Problem) -> Solution:
        raise SolveError(Fault("a limit struck"))

    found = loss(problem, best, Pair(0, 1), failing)
    assert (found.possible, str(found)) == (None, "not known: no plan with it was found in time")
    with pytest.raises(InfeasibleError):
        solve(fleet([{"name": "w1", "avoid": ["c2"]}]).requiring(Pair(0, 1)))
    with pytest.raises(InfeasibleError):
        solve(fleet([{"name": "w1", "avoid": ["c1", "c2"]}]).requiring(Pair(0, 1)))


def test_a_better_plan_that_is_not_made_says_why_the_plan_stands() -> None:
    problem = fleet(["w1"])
    worse = replace(solve(problem), pairs=(Pair(0, 1),))
    text = "better in total by 10; to change that too gains too little"
    assert str(loss(problem, worse, Pair(0, 0), solve)) == text


def test_the_alternatives_with_the_best_scores_are_solved_for() -> None:
    names = [f"c{i:02}" for i in range(20)]
    several: list[make.Thing] = [make.workload("w1")]
    for i, c in enumerate(names):
        several += [make.cluster(c), make.policy(f"p-{c}"), make.scores(c, {"w1;half": i})]
    problem = make.problem(make.intent([{"name": c, "policies": [f"p-{c}"]} for c in names], ["w1"]), *several)
    found = list(losses(problem, solve(problem), 0, solve))
    assert [one.cluster for one in found] == names[-2:-14:-1]
    assert [one.points for one in found] == [1000 * i for i in range(1, 13)]


def test_the_capacity_that_lacks_is_said_in_units_of_people() -> None:
    assert asked(["w1", "w2", "w3"]) == ("1 more gpu on c1 as half",)
    problem = fleet(["w1", "w2", "w3"])
    assert more_capacity(problem, solve(problem), 2, least_capacity) == ("1 more gpu on c1 as half",)
    alone = fleet(["w1"])
    assert more_capacity(alone, solve(alone), 0, least_capacity) == ()


def test_room_that_somebody_else_would_take_first_is_asked_for_twice() -> None:
    """w2 comes before w3, so one more gpu would place w2."""
    workloads = [{"name": "w1", "pin": "c1"}, {"name": "w2", "pin": "c1"}, {"name": "w3", "pin": "c1"}]
    assert asked(workloads) == ("2 more gpu on c1 as half", "let it run on c2 (pin excludes it)")


@pytest.mark.parametrize(
    ("last", "cluster", "text"),
    [
        ({"pin": "c1"}, {}, "let it run on c2 (pin excludes it)"),
        ({"allow": ["c1"]}, {}, "let it run on c2 (allow excludes it)"),
        ({"avoid": ["c2"]}, {}, "let it run on c2 (avoid excludes it)"),
        ({}, {"taints": (make.taint("odd"),)}, "tolerate the taint odd of c2"),
        ({}, {"available": False}, "c2 available"),
        ({}, {"accepted": False}, "c2 accepted by the hub"),
        ({}, {"age": timedelta(hours=1)}, "a fresh score on c2 (speed)"),
        ({"app": "other"}, {}, 'a score "other;half" in speed of c2'),
        (
            {},
            {
                "available": False,
                "taints": (make.taint("cluster.open-cluster-management.io/unavailable"),),
            },
            "c2 available",
        ),
    ],
)
def test_a_workload_without_a_place_is_told_which_permission_would_give_it_one(
    last: dict[str, Any], cluster: dict[str, Any], text: str
) -> None:
    workloads = [{"name": "w1", "pin": "c1", "priority": 1}, {"name": "w3", **last}]
    assert text in asked(workloads, *things(**cluster), preference={"maxAge": "15m"})


def test_two_changes_are_told_where_no_single_one_helps() -> None:
    workloads: Workloads = [
        {"name": "w1", "priority": 1, "pin": "c1"},
        {"name": "w3", "pin": "c1", "requests": {"gpu": 2}},
    ]
    found = asked(workloads, *things(taints=(make.taint("odd"),)))
    assert found == ("2 more gpu on c1 as half",)
    tight: Workloads = [{"name": "w1", "priority": 1, "pin": "c1"}, {"name": "w3", "avoid": ["c1", "c2"]}]
    both = asked(tight, *things(taints=(make.taint("odd"),)))
    assert both == (
        "let it run on c2 (avoid excludes it) and tolerate the taint odd of c2",
        "let it run on c1 (avoid excludes it) and 1 more gpu on c1 as half",
    )


def test_a_policy_that_another_intent_lists_can_be_listed() -> None:
    several: list[make.Thing] = [make.cluster("c1"), make.policy("p1", "half", "1"), make.policy("q1", "full", "4")]
    several += [make.workload(w) for w in ("w1", "w2")]
    several.append(make.scores("c1", {f"{w};{d}": 10 for w in ("w1", "w2") for d in ("half", "full")}))
    texts = [
        make.intent([{"name": "c1", "policies": ["q1"]}], [{"name": "w1", "priority": 1}], name="a"),
        make.intent([{"name": "c1", "policies": ["p1"]}], ["w2"], name="b"),
    ]
    inventory = make.inventory(*several)
    problem = build(make.load(*texts), inventory, make.NOW)
    solution = solve(problem)
    obstacles = Obstacles(problem, inventory, make.NOW)
    found = relaxations(problem, solution, 1, solve=solve, least_capacity=least_capacity, obstacles=obstacles)
    assert [one.text for one in found] == ["list policy q1 among the policies of c1"]


def test_a_partner_that_keeps_a_workload_out_is_named() -> None:
    workloads = [{"name": "w1", "avoid": ["c1", "c2"]}, {"name": "w2", "with": ["w1"]}]
    found = asked(workloads, *things(room=2))
    assert found == (
        "let w1 run on c1 (avoid excludes it)",
        "let w1 run on c2 (avoid excludes it)",
    )


def test_one_copy_more_is_told_where_all_are_out_of_reach() -> None:
    things_: list[make.Thing] = [make.workload("w1")]
    for c in ("c1", "c2", "c3"):
        things_ += [make.cluster(c, taints=(make.taint(f"odd-{c}"),)), make.policy(f"p-{c}")]
        things_.append(make.scores(c, {"w1;half": 5}))
    entries = [{"name": c, "policies": [f"p-{c}"]} for c in ("c1", "c2", "c3")]
    inventory = make.inventory(*things_)
    problem = build(make.load(make.intent(entries, [{"name": "w1", "copies": 3}])), inventory, make.NOW)
    solution = solve(problem)
    obstacles = Obstacles(problem, inventory, make.NOW)
    found = relaxations(problem, solution, 0, solve=solve, least_capacity=least_capacity, obstacles=obstacles)
    assert [one.text for one in found] == [
        f"one copy more: tolerate the taint odd-{c} of {c}" for c in ("c1", "c2", "c3")
    ]


def test_a_permission_that_takes_a_place_from_somebody_is_none() -> None:
    workloads = [{"name": "w1", "pin": "c1", "priority": 2}, {"name": "w2", "pin": "c2", "priority": 2}]
    found = asked([*workloads, {"name": "w3", "pin": "c1", "priority": 1}])
    assert found == ("1 more gpu on c1 as half",)


def test_a_goal_that_is_better_without_the_workload_asks_for_nothing() -> None:
    low = {c: {**items, "w3": -20} for c, items in POINTS.items()}
    assert asked(["w1", {"name": "w3"}], *things(room=4, points=low), preference={"goal": "score-first"}) == ()
