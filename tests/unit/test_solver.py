"""`solve`: the guide's numbers, the written rules on small cases, limits, and amounts that floating point blurs."""

import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gitops_ds.errors import SolveError
from gitops_ds.hub import merge_repository, objects_from_files, read_snapshot
from gitops_ds.inventory import Inventory, ScoreObject
from gitops_ds.problem import Pair, Problem, build
from gitops_ds.problem.columns import columns_of
from gitops_ds.problem.matrix import matrix_of
from gitops_ds.problem.objective import LARGEST_TIE
from gitops_ds.sample import sample_folder
from gitops_ds.solution import Solution, Status, check_solution, value_of
from gitops_ds.solver import SOLVER_VERSION, solve, staged
from tests import builders as make
from tests.worlds import Entries, world

# The guide: two apps on two clusters, each of which can be split in three ways.


@pytest.fixture(scope="module")
def guide() -> Inventory:
    policies = {f"policies/{path.name}": path.read_bytes() for path in (sample_folder() / "policies").iterdir()}
    return merge_repository(read_snapshot(sample_folder() / "hub"), objects_from_files(policies))


def guide_problem(guide: Inventory, score: str = "performance", goal: str = "place-first") -> Problem:
    text = (sample_folder() / "intent" / "gpu-inference.yaml").read_text()
    text = text.replace("- name: example-performance-score", f"- name: example-{score}-score")
    assert guide.captured_at is not None
    return build(make.load(text.replace("goal: place-first", f"goal: {goal}")), guide, guide.captured_at)


def with_scores(guide: Inventory, change: Any) -> Inventory:
    def changed(score: ScoreObject) -> ScoreObject:
        return replace(score, items=tuple((name, change(score.cluster, name, value)) for name, value in score.items))

    return replace(guide, scores=tuple(map(changed, guide.scores)))


@pytest.mark.parametrize(("score", "profile", "total"), [("performance", "3g", 115), ("powerconsumption", "2g", 170)])
@pytest.mark.parametrize("goal", ["place-first", "score-first"])
def test_the_guides_numbers(guide: Inventory, score: str, profile: str, total: int, goal: str) -> None:
    problem = guide_problem(guide, score, goal)
    solution = solve(problem)
    value = value_of(problem, solution)
    assert (value.placed, value.score, value.cost, value.changes) == (2, total * 1000, 0, 0)
    assert solution.status is Status.OPTIMAL
    assert make.decisions(problem, solution) == {
        "mwrs-app01": [("cluster1", f"policy-enable-mig-{profile}-cluster1")],
        "mwrs-app02": [("cluster2", f"policy-enable-mig-{profile}-cluster2")],
    }


@pytest.mark.parametrize("value", [0, -1, -100])
def test_scores_that_are_all_zero_or_negative_still_place_both(guide: Inventory, value: int) -> None:
    problem = guide_problem(with_scores(guide, lambda *_: value))
    found = value_of(problem, solve(problem))
    assert (found.placed, found.score) == (2, 2000 * value)


def test_score_first_drops_what_a_negative_score_costs(guide: Inventory) -> None:
    worse = with_scores(guide, lambda _cluster, name, value: value if name.startswith("app01") else -5)
    problem = guide_problem(worse, goal="score-first")
    assert list(make.decisions(problem, solve(problem))) == ["mwrs-app01"]
    assert len(solve(guide_problem(worse)).pairs) == 2
    zero = guide_problem(with_scores(guide, lambda *_: 0), goal="score-first")
    assert len(solve(zero).pairs) == 2


def test_a_workload_that_fits_nowhere_leaves_the_others_placed() -> None:
    text = make.intent([{"name": "c1", "policies": ["p1"]}], [{"name": "w1", "requests": {"gpu": 9}}, "w2"])
    problem = make.problem(text, *world())
    solution = solve(problem)
    assert make.decisions(problem, solution) == {"w2": [("c1", "p1")]}
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize(
    "workloads", [[{"name": "w1", "requests": {"gpu": 9}}], [{"name": "w1", "avoid": ["c1"]}]], ids=["big", "nowhere"]
)
def test_where_nothing_may_be_placed_the_empty_plan_is_proved(workloads: list[dict[str, Any]]) -> None:
    problem = make.problem(make.intent([{"name": "c1", "policies": ["p1"]}], workloads), *world())
    solution = solve(problem)
    assert (solution.pairs, solution.status) == ((), Status.OPTIMAL)


def test_a_fleet_without_clusters_has_an_empty_plan() -> None:
    text = make.intent([{"selector": {"matchLabels": {"gpu": "no"}}}], ["w1"])
    assert solve(make.problem(text, *world())).pairs == ()


# The written rules.


def plan(*entries: Any, **spec: Any) -> dict[str, list[tuple[str, str]]]:
    """Where workloads go on c1 and c2, which supply 2 gpu as half or 1 as full, all scores 10 unless said."""
    items = spec.pop("items", {})
    incumbent = spec.pop("incumbent", None)
    names = [e if isinstance(e, str) else e["name"] for e in entries]
    things = world(*(make.workload(name) for name in names))
    for c in ("c1", "c2"):
        every = {f"{name};{device}": 10 for name in names for device in ("half", "full")}
        things.append(make.scores(c, every | items.get(c, {})))
    clusters = [{"name": f"c{i}", "policies": [f"p{i}", f"q{i}"]} for i in (1, 2)]
    problem = make.problem(make.intent(clusters, entries, **spec), *_last_of_each(things), incumbent=incumbent)
    return make.decisions(problem, solve(problem))


def _last_of_each(things: list[make.Thing]) -> list[make.Thing]:
    scores = {t.cluster: t for t in things if isinstance(t, ScoreObject)}
    return [*(t for t in things if not isinstance(t, ScoreObject)), *scores.values()]


def test_the_first_workload_takes_the_first_cluster_and_policy_when_all_is_equal() -> None:
    big = {"requests": {"gpu": 2}}
    assert plan({"name": "app02", **big}, {"name": "app01", **big}) == {
        "app01": [("c1", "p1")],
        "app02": [("c2", "p2")],
    }
    assert plan({"name": "app01", "requests": {}}) == {"app01": [("c1", "p1")]}


def test_a_higher_priority_is_placed_before_any_number_of_lower_ones() -> None:
    small = [{"name": f"w{i}", "pin": "c1"} for i in range(2)]
    big = {"name": "big", "pin": "c1", "requests": {"gpu": 2}, "priority": 1}
    assert list(plan(*small, big)) == ["big"]
    assert list(plan(*small, {**big, "priority": 0})) == ["w0", "w1"]
    assert list(plan(*small, {**big, "priority": -1})) == ["w0", "w1"]


def test_place_first_pays_any_score_for_a_placement_and_score_first_pays_none() -> None:
    items = {"c1": {"w1;full": 100, "w1;half": -90, "w2;half": -90}}
    pinned = [{"name": "w1", "pin": "c1"}, {"name": "w2", "pin": "c1", "requests": {"gpu": 1}}]
    assert plan(*pinned, items=items) == {"w1": [("c1", "p1")], "w2": [("c1", "p1")]}
    assert plan(*pinned, items=items, preference={"goal": "score-first"}) == {"w1": [("c1", "q1")]}


@pytest.mark.parametrize(
    ("gain", "cost", "there"), [(4, 5, "c1"), (5, 5, "c1"), (6, 5, "c2"), (1, 0, "c2"), (0, 0, "c1")]
)
def test_a_move_must_earn_its_cost_and_changes_break_ties(gain: int, cost: int, there: str) -> None:
    items = {"c2": {"w1;half": 10 + gain, "w1;full": 0}}
    found = plan(
        "w1",
        items=items,
        incumbent=make.incumbent({"w1": ["c1"]}, {"c1": "p1", "c2": "p2"}),
        stability={"moveCost": cost},
    )
    assert found["w1"][0][0] == there
    stays_last = plan("w1", items={"c1": {}, "c2": {}}, incumbent=make.incumbent({"w1": ["c2"]}))
    assert stays_last["w1"][0][0] == "c2"


@pytest.mark.parametrize(("gain", "cost", "policy"), [(4, 5, "p1"), (5, 5, "p1"), (6, 5, "q1"), (0, 0, "p1")])
def test_another_policy_must_earn_its_cost(gain: int, cost: int, policy: str) -> None:
    items = {"c1": {"w1;full": 10 + gain}}
    now = make.incumbent({"w1": ["c1"]}, {"c1": "p1"})
    found = plan({"name": "w1", "pin": "c1"}, items=items, incumbent=now, stability={"reconfigureCost": cost})
    assert found == {"w1": [("c1", policy)]}


def test_a_lost_cluster_makes_a_new_place_and_no_move() -> None:
    problem = make.problem(
        make.intent([{"name": "c1", "policies": ["p1"]}], ["w1"], stability={"moveCost": 50}),
        *world(),
        incumbent=make.incumbent({"w1": ["lost"]}),
    )
    value = value_of(problem, solve(problem))
    assert (value.placed, value.cost, value.changes) == (1, 0, 0)


def test_a_move_away_from_a_cluster_that_nobody_may_use_costs_as_any_other() -> None:
    problem = make.problem(
        make.intent(
            [{"name": "c1", "policies": ["p1"]}, {"name": "c2"}],
            ["w1"],
            preference={"goal": "score-first"},
            stability={"moveCost": 50},
        ),
        *world(),
        incumbent=make.incumbent({"w1": ["c2"]}),
    )
    assert solve(problem).pairs == ()
    cheaper = replace(problem, move_cost=problem.move_cost // 10)
    assert value_of(cheaper, solve(cheaper)).cost == 5000


def test_together_apart_and_spread() -> None:
    assert plan({"name": "w1", "with": ["w2"]}, {"name": "w2", "pin": "c2"})["w1"] == [("c2", "p2")]
    assert plan({"name": "w1", "with": ["w2"]}, {"name": "w2", "avoid": ["c1", "c2"]}) == {}
    assert plan({"name": "w1", "apart": ["w2"]}, {"name": "w2", "pin": "c1"})["w1"] == [("c2", "p2")]
    assert plan({"name": "w1", "copies": 2})["w1"] == [("c1", "p1"), ("c2", "p2")]
    rule = [{"key": "cluster-name", "maxSkew": 1}]
    assert len(plan({"name": "w1", "copies": 2, "spread": rule})["w1"]) == 2
    assert plan({"name": "w1", "copies": 2, "spread": [{"key": "nothing"}]}) == {}


# Limits, numbers and noise.


def hard_problem(seed: int = 1) -> Problem:
    """60 workloads on 15 clusters that hold perhaps half of them: far more than a tenth of a second's work."""
    order = random.Random(seed)
    names = [f"w{i:02}" for i in range(60)]
    things: list[make.Thing] = [make.workload(name, str(order.randint(1, 4))) for name in names]
    clusters = [f"c{i:02}" for i in range(15)]
    for c in clusters:
        things += [make.cluster(c), *(make.policy(f"{c}-{d}", f"d{d}", str(order.randint(3, 8))) for d in range(4))]
        items = {f"{name};d{d}": order.randint(-100, 100) for name in names for d in range(4)}
        things.append(make.scores(c, items))
    entries = [{"name": c, "policies": [f"{c}-{d}" for d in range(4)]} for c in clusters]
    return make.problem(make.intent(entries, names), *things)


def test_a_limit_gives_the_best_plan_so_far_or_an_error_and_never_an_empty_plan() -> None:
    problem = replace(hard_problem(), time_limit=0.01)
    found: Solution | str
    try:
        found = solve(problem)
    except SolveError as error:
        found = str(error)
    if isinstance(found, str):
        assert "ended without a plan" in found
        assert "timeLimit" in found
    else:
        assert found.status is Status.LIMIT
        assert found.pairs
        assert check_solution(problem, found) == ()
        first = found.stages[0]
        assert first.value == len(found.pairs)
        assert first.bound >= first.value
        assert first.gap >= 0


def test_an_empty_plan_at_the_limit_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS may come back with the plan that places nothing, which is always feasible and says nothing."""
    nothing = staged._Run(np.empty(0, dtype=np.int64), Status.LIMIT, 1.0)
    monkeypatch.setattr(staged, "_ask", lambda *_: nothing)
    problem = make.problem(make.intent([{"name": "c1", "policies": ["p1"]}], ["w1"]), *world())
    with pytest.raises(SolveError, match="a limit struck before it had one"):
        staged.solve_staged(problem)


def test_a_gap_is_good_enough_where_the_intent_says_so() -> None:
    problem = replace(hard_problem(), gap=0.5, time_limit=30)
    solution = solve(problem)
    assert solution.status in (Status.WITHIN_GAP, Status.OPTIMAL)
    assert check_solution(problem, solution) == ()
    assert all(stage.bound >= stage.value for stage in solution.stages)


def test_amounts_that_miss_by_a_byte_do_not_fit() -> None:
    half = 10**11 // 2 + 1
    clusters = [{"name": "c1", "policies": ["p1"], "capacity": {"memory": str(10**11)}}]
    names = [f"w{i}" for i in range(4)]
    entries = [{"name": n, "requests": {"memory": str(half - i)}} for i, n in enumerate(names)]
    things = [
        *world(*map(make.workload, names)),
        make.scores("c1", {f"{n};half": 10 for n in names}),
    ]
    problem = make.problem(make.intent(clusters, entries), *_last_of_each(things))
    solution = solve(problem)
    assert sorted(make.decisions(problem, solution)) == ["w0", "w2"]
    assert solution.status is Status.OPTIMAL


def test_a_tiny_request_does_not_slip_in_under_a_configuration_that_is_not_chosen() -> None:
    clusters = [{"name": "c1", "policies": ["p1", "q1"], "capacity": {"memory": "1Ti"}}]
    entries = [
        {"name": "w1", "requests": {"gpu": 2, "memory": "512Gi"}},
        {"name": "w2", "requests": {"memory": "1"}},
        {"name": "w3", "requests": {"memory": "1"}},
    ]
    things = [
        *world(make.workload("w3")),
        make.scores("c1", {"w1;half": 10, "w2;half": 0, "w2;full": 90, "w3;full": 90, "w3;half": 0}),
    ]
    problem = make.problem(make.intent(clusters, entries), *_last_of_each(things))
    assert make.decisions(problem, solve(problem)) == {n: [("c1", "p1")] for n in ("w1", "w2", "w3")}
    matrix = matrix_of(problem)
    firm = [name for i in range(len(matrix.row_lower)) if (name := matrix.row_name(i)).startswith("needs")]
    assert firm == [f"needs_configuration[default/{w},c1,p1]" for w in ("w2", "w3")]


@pytest.mark.parametrize("seed", range(4))
def test_large_weights_and_costs_stay_exact(seed: int) -> None:
    order = random.Random(seed)
    names = [f"w{i}" for i in range(5)]
    things: list[make.Thing] = [make.workload(name) for name in names]
    scores = [
        {"name": f"s{i}", "dimension": make.DIMENSION, "weight": order.choice((0.001, 999.999, 1000))} for i in range(5)
    ]
    for c in ("c1", "c2", "c3"):
        things += [make.cluster(c), make.policy(f"{c}-p")]
        things += [
            make.scores(c, {f"{n};half": order.randint(-100, 100) for n in names}, str(s["name"])) for s in scores
        ]
    entries = [{"name": n, "priority": order.randint(-3, 3)} for n in names]
    text = make.intent(
        [{"name": c, "policies": [f"{c}-p"]} for c in ("c1", "c2", "c3")],
        entries,
        scores=scores,
        stability={"moveCost": 1_000_000, "reconfigureCost": 0.001},
    )
    now = make.incumbent({"w0": ["c1"], "w1": ["c1"], "w2": ["c1"]})
    problem = make.problem(text, *things, incumbent=now)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    best = _net(problem, solution)
    for _ in range(300):
        other = _random_plan(problem, order)
        if other is not None and len(other.pairs) == len(solution.pairs):
            assert _net(problem, other) <= best


def _net(problem: Problem, solution: Solution) -> int:
    value = value_of(problem, solution)
    return value.score - value.cost


def _random_plan(problem: Problem, order: random.Random) -> Solution | None:
    pairs = (Pair(w, order.randrange(len(problem.configurations))) for w in range(len(problem.demands)))
    found = Solution(tuple(pairs), Status.LIMIT)
    return None if check_solution(problem, found) else found


def test_in_a_large_fleet_digests_decide_ties_alone_and_exactly() -> None:
    names = [f"w{i:02}" for i in range(70)]
    things: list[make.Thing] = [make.workload(name, None) for name in names]
    clusters = [f"c{i:02}" for i in range(30)]
    for c in clusters:
        things += [make.cluster(c), make.scores(c, {f"{n};": 10 for n in names})]
    problem = make.problem(make.intent([{"name": c} for c in clusters], names), *things)
    columns = columns_of(problem)
    last = matrix_of(problem).stages[-1]
    assert int(last.coefficient.max()) < 2**20
    assert sum(d.copies for d in problem.demands) * int(last.coefficient.max()) <= LARGEST_TIE
    solution = solve(problem)
    digest = last.coefficient[columns.first_z : columns.first_t].reshape(70, 30)
    assert [p.configuration for p in solution.pairs] == digest.argmax(axis=1).tolist()


def test_the_model_names_its_rows_and_columns() -> None:
    entries: Entries = [
        {"name": "w1", "apart": ["w2"], "copies": 2, "spread": [{"key": "cluster-name"}]},
        {"name": "w2"},
    ]
    clusters = [{"name": c, "policies": [f"p{c[1]}"]} for c in ("c1", "c2")]
    matrix = matrix_of(make.problem(make.intent(clusters, entries), *world()))
    columns = [matrix.columns.name(i) for i in range(matrix.columns.count)]
    assert columns[:3] == ["y[c1,p1]", "y[c2,p2]", "z[default/w1,c1,p1]"]
    assert columns[-1] == "t[default/w1,cluster-name]"
    rows = [matrix.row_name(i) for i in range(len(matrix.row_lower))]
    for name in (
        "one_configuration[c2]",
        "copies[default/w1]",
        "capacity[c1,p1,gpu]",
        "apart[default/w1+default/w2,c2]",
        "spread[default/w1,c1]",
        "spread[default/w1,no cluster-name]",
    ):
        assert name in rows
    with pytest.raises(IndexError):
        matrix.row_name(len(rows))


def test_the_solver_prints_nothing_and_names_its_version() -> None:
    assert SOLVER_VERSION.startswith("highspy ")
    script = (
        "from tests.unit.test_solver import make, world, solve\n"
        "text = make.intent([{'name': 'c1', 'policies': ['p1']}], ['w1'])\n"
        "assert solve(make.problem(text, *world())).pairs\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")
