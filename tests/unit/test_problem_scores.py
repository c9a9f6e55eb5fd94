"""`build`: scores that are missing, stale, doubled, out of range or blended, and how their items are found."""

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from tests import builders as make
from tests.worlds import BOTH, ONE, Entries, fault, faults, points, state, states, world

OLD = timedelta(minutes=16)


def test_a_missing_score_excludes_the_pair_and_is_listed() -> None:
    problem = make.problem(make.intent(BOTH, ["w1", "w2"]), *world(make.scores("c1", {"w1;half": 5, "w2;half": 7})))
    assert state(problem, "w1", "c1/p1") == "ELIGIBLE"
    assert state(problem, "w1", "c1/q1") == "NO_SCORE"
    assert problem.warnings == (
        'no score "w1;full" in speed of c1 (30s old)',
        'no score "w2;full" in speed of c1 (30s old)',
    )


def test_a_missing_score_counts_as_zero_where_the_intent_says_so() -> None:
    text = make.intent(ONE, ["w1"], preference={"missing": "zero"})
    problem = make.problem(text, *world(make.scores("c1", {})))
    assert state(problem) == "ELIGIBLE"
    assert points(problem) == 0
    assert problem.warnings == ('no score "w1;half" in speed of c1 (30s old)',)


def test_a_missing_score_fails_the_plan_where_the_intent_says_so() -> None:
    text = make.intent(ONE, ["w1", "w2"], preference={"missing": "fail"})
    found = faults(text, *world(make.scores("c1", {})))
    assert [f.what for f in found] == [f'no score "{w};half" in speed of c1 (30s old)' for w in ("w1", "w2")]
    assert {f.place for f in found} == {make.place(text, "missing:")}


def test_a_missing_score_of_a_cluster_that_the_workload_may_not_use_fails_nothing() -> None:
    text = make.intent(BOTH, [{"name": "w1", "pin": "c2"}], preference={"missing": "fail"})
    assert state(make.problem(text, *world(make.scores("c1", {}))), "w1", "c2/p2") == "ELIGIBLE"


def test_a_cluster_as_it_is_beside_its_policies_needs_no_score() -> None:
    clusters: Entries = [{"name": "c1", "policies": ["p1"], "capacity": {"cpu": 4}}]
    problem = make.problem(make.intent(clusters, ["w1"], preference={"missing": "fail"}), *world())
    assert states(problem)["w1"] == {"c1/": "NO_SCORE", "c1/p1": "ELIGIBLE"}
    assert problem.warnings == ()


def test_no_score_object_at_all_is_listed_as_such() -> None:
    problem = make.problem(make.intent(ONE, ["w1"]), *world(without=["speed"]))
    assert problem.warnings == ("c1 has no AddOnPlacementScore speed", 'no score "w1;half" in speed of c1')


def test_many_missing_scores_are_counted_after_the_first() -> None:
    names = [f"x{i:02}" for i in range(60)]
    problem = make.problem(make.intent(ONE, names), *world(*map(make.workload, names)))
    assert len(problem.warnings) == 51
    assert "no score for 10 more dimensions" in problem.warnings


def test_a_stale_score_may_keep_a_workload_where_it_is_and_wins_no_move() -> None:
    text = make.intent(BOTH, ["w1", "w2"], preference={"maxAge": "15m"})
    items = {f"{w};{device}": 50 for w in ("w1", "w2") for device in ("half", "full")}
    things = world(make.scores("c1", items, age=OLD))
    now = make.incumbent({"w1": ["c1"], "w2": ["c2"]}, {"c1": "p1", "c2": "p2"})
    problem = make.problem(text, *things, incumbent=now)
    assert states(problem)["w1"] == {"c1/p1": "ELIGIBLE", "c1/q1": "STALE", "c2/p2": "ELIGIBLE", "c2/q2": "ELIGIBLE"}
    assert state(problem, "w2", "c1/p1") == "STALE"
    assert points(problem, "w2", "c1/p1") == 50
    assert problem.warnings == ("speed of c1 is stale (16m old)",)


def test_a_stale_score_is_not_used_at_all_where_the_intent_says_so() -> None:
    text = make.intent(ONE, ["w1"], preference={"maxAge": "15m", "stale": "exclude"})
    things = world(make.scores("c1", {"w1;half": 5}, age=OLD))
    problem = make.problem(text, *things, incumbent=make.incumbent({"w1": ["c1"]}, {"c1": "p1"}))
    assert state(problem) == "STALE"


def test_a_stale_score_fails_the_plan_where_the_intent_says_so() -> None:
    text = make.intent(ONE, ["w1"], preference={"maxAge": "15m", "stale": "fail"})
    found = fault(text, *world(make.scores("c1", {"w1;half": 5}, age=timedelta(days=9))))
    assert found.what == "speed of c1 is stale (9d old)"
    assert found.place == make.place(text, "stale:")


@pytest.mark.parametrize(
    ("preference", "fields", "warnings"),
    [
        ({}, {"age": timedelta(days=400)}, ()),
        ({"maxAge": "15m"}, {"age": timedelta(minutes=15)}, ()),
        ({"maxAge": "15m"}, {"age": timedelta(minutes=15, seconds=1)}, ("speed of c1 is stale (15m old)",)),
        ({"maxAge": "1d"}, {"age": timedelta(hours=-1)}, ()),
        ({}, {"valid_until": make.NOW}, ()),
        (
            {},
            {"valid_until": make.NOW - timedelta(seconds=1)},
            ("speed of c1 is stale (30s old, valid until 2026-01-15T08:59:59+00:00)",),
        ),
        (
            {},
            {"valid_until": make.NOW - timedelta(seconds=1), "age": None},
            ("speed of c1 is stale (valid until 2026-01-15T08:59:59+00:00)",),
        ),
    ],
)
def test_when_a_score_is_stale(preference: dict[str, Any], fields: dict[str, Any], warnings: tuple[str, ...]) -> None:
    text = make.intent(ONE, ["w1"], preference=preference)
    problem = make.problem(text, *world(make.scores("c1", {"w1;half": 5}, **fields)))
    assert problem.warnings == warnings
    assert state(problem) == ("STALE" if warnings else "ELIGIBLE")


def test_a_score_without_a_sign_of_life_is_fresh_and_said_so() -> None:
    text = make.intent(ONE, ["w1"], preference={"maxAge": "15m"})
    problem = make.problem(text, *world(make.scores("c1", {"w1;half": 5}, age=None)))
    assert state(problem) == "ELIGIBLE"
    assert "shows no sign of life" in problem.warnings[0]


@pytest.mark.parametrize(("how", "value"), [("mean", Fraction("33.333")), ("min", Fraction(10)), ("max", Fraction(50))])
@pytest.mark.parametrize("order", [(10, 40, 50), (50, 10, 40)])
def test_a_dimension_that_stands_several_times_is_aggregated(how: str, value: Fraction, order: tuple[int, ...]) -> None:
    text = make.intent(ONE, ["w1"], scores=[{"name": "speed", "dimension": make.DIMENSION, "aggregate": how}])
    problem = make.problem(text, *world(make.scores("c1", [("w1;half", v) for v in order])))
    assert points(problem) == value
    assert problem.warnings == (f"speed of c1: w1;half stands 3 times: {how} of them (30s old)",)


@pytest.mark.parametrize(("total", "value"), [(1, "0"), (3, "0.002"), (5, "0.002"), (-1, "0"), (-3, "-0.002")])
def test_a_mean_between_two_thousandths_goes_to_the_even_one(total: int, value: str) -> None:
    items = [("w1;half", total), *(("w1;half", 0) for _ in range(1999))]
    problem = make.problem(make.intent(ONE, ["w1"]), *world(make.scores("c1", items)))
    assert points(problem) == Fraction(value)


@pytest.mark.parametrize("value", [101, -101, 2**31 - 1])
def test_a_value_out_of_range_is_missing(value: int) -> None:
    problem = make.problem(make.intent(ONE, ["w1"]), *world(make.scores("c1", {"w1;half": value})))
    assert state(problem) == "NO_SCORE"
    assert f"speed of c1: w1;half is {value}, outside -100 to 100: it counts as missing (30s old)" in problem.warnings
    several = [("w1;half", value), ("w1;half", 7)]
    assert points(make.problem(make.intent(ONE, ["w1"]), *world(make.scores("c1", several)))) == 7


def test_scores_are_blended_by_weight_and_direction() -> None:
    wanted = [
        {"name": "speed", "dimension": make.DIMENSION, "weight": 1.5},
        {"name": "load", "dimension": "${cluster}", "direction": "minimize", "weight": 0.25},
    ]
    things = world(make.scores("c1", {"w1;half": 10}), make.scores("c1", {"c1": -30}, "load"))
    problem = make.problem(make.intent(ONE, ["w1"], scores=wanted), *things)
    assert points(problem) == Fraction("22.5")
    problem = make.problem(make.intent(ONE, ["w1"], scores=wanted), *things[:-1])
    assert state(problem) == "NO_SCORE"
    text = make.intent(ONE, ["w1"], scores=wanted, preference={"missing": "zero"})
    assert points(make.problem(text, *things[:-1])) == 15


def test_the_dimension_is_the_intents_or_the_scorers_or_the_scores_name() -> None:
    items = {"c1/w1": 1, "speed": 2, "w1;half": 3}
    things = world(make.scores("c1", items))
    plain = make.intent(ONE, ["w1"], scores=[{"name": "speed"}])
    assert points(make.problem(plain, *things)) == 2
    scored = [*things, make.scorer("speed", "${cluster}/${app}"), make.scorer("other", "x")]
    assert points(make.problem(plain, *scored)) == 1
    assert points(make.problem(make.intent(ONE, ["w1"]), *scored)) == 3


def test_placeholders_that_placement_knows_are_filled_in() -> None:
    dimension = "${namespace}|${cluster}|${app}|${device}|${scoreName}"
    text = make.intent(ONE, [{"name": "w1", "app": "shop"}], scores=[{"name": "speed", "dimension": dimension}])
    assert points(make.problem(text, *world(make.scores("c1", {"default|c1|shop|half|speed": 8})))) == 8


def test_the_app_is_the_intents_word_or_the_label_or_the_name() -> None:
    labelled = make.workload("w1", labels={"app": "shop"})
    things = world(labelled, make.scores("c1", {"w1;half": 1, "shop;half": 2, "till;half": 3}))
    assert points(make.problem(make.intent(ONE, ["w1"]), *things)) == 2
    assert points(make.problem(make.intent(ONE, [{"name": "w1", "app": "till"}]), *things)) == 3
    assert points(make.problem(make.intent(ONE, ["w1"]), *world(make.scores("c1", {"w1;half": 1})))) == 1


def test_placeholders_that_placement_cannot_know_match_anything_and_are_aggregated() -> None:
    items = [("w1;half;n1;x", 10), ("w1;half;n2;y", 20), ("w1;half;;y", 90), ("w2;half;n1;x", 80), ("w1;half;n1", 70)]
    text = make.intent(ONE, ["w1"], scores=[{"name": "speed", "dimension": "${app};${device};${node};${meta}"}])
    problem = make.problem(text, *world(make.scores("c1", items)))
    assert points(problem) == 15
    assert problem.warnings == ()


def test_separators_and_signs_inside_names_confuse_nothing() -> None:
    things = world(
        make.policy("p1", "a;b"),
        make.scores("c1", {"w1;x;a;b": 1, "w1;x": 2, "w1": 3, "w1;xya;b": 4, "w1.*;a;b": 5, "w1;x;a;b;n": 6}),
    )
    assert points(make.problem(make.intent(ONE, [{"name": "w1", "app": "w1;x"}]), *things)) == 1
    assert points(make.problem(make.intent(ONE, [{"name": "w1", "app": "w1.*"}]), *things)) == 5
    wild = [{"name": "speed", "dimension": "${app};${device};${node}"}]
    assert points(make.problem(make.intent(ONE, [{"name": "w1", "app": "w1;x"}], scores=wild), *things)) == 6
    assert state(make.problem(make.intent(ONE, [{"name": "w1", "app": "w1.*"}], scores=wild), *things)) == "NO_SCORE"
