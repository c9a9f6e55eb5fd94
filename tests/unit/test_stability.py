"""Staying with what git has: costs of moves, `minimumGain`, `maxMoves`, lost clusters, jitter and drift."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from gitops_ds.errors import InputError
from gitops_ds.problem import Problem
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solution import Solution, Status
from gitops_ds.solver import solve
from gitops_ds.solver.staged import solve_staged
from tests import builders as make

Points = Mapping[str, Mapping[str, int]]
"""The score of each workload on each cluster."""

CLUSTERS = ("c1", "c2", "c3")


def things(points: Points, clusters: Sequence[str] = CLUSTERS, request: str = "1") -> list[make.Thing]:
    found: list[make.Thing] = [make.workload(w, request) for w in points]
    for c in clusters:
        found += [make.cluster(c), make.scores(c, {f"{w};": points[w][c] for w in points if c in points[w]})]
    return found


def intent(
    points: Points, clusters: Sequence[str] = CLUSTERS, workloads: Mapping[str, Any] | None = None, **stability: Any
) -> str:
    entries = [{"name": c, "capacity": {"gpu": 2}} for c in clusters]
    named = [{"name": w, **(workloads or {}).get(w, {})} for w in points]
    return make.intent(entries, named, stability=stability)


def planned(text: str, things: list[make.Thing], before: Plan | None = None) -> Plan:
    return plan(make.load(text), make.inventory(*things), before.tree if before else {}, make.NOW, solve)


def places(made: Plan) -> dict[str, str]:
    return {d.workload.name: d.cluster for d in made.decisions}


STAYS = "what git has stays as it is: to change that too would gain"

OLD = {"w1": {"c1": 50, "c2": 40, "c3": 0}, "w2": {"c1": 50, "c2": 40, "c3": 0}}


def scored(w1: int, w2: int = 40) -> dict[str, dict[str, int]]:
    """As before, but for the points on c2."""
    return {"w1": {**OLD["w1"], "c2": w1}, "w2": {**OLD["w2"], "c2": w2}}


# A lone move


@pytest.mark.parametrize(("points", "cluster"), [(54, "c1"), (55, "c1"), (56, "c2")])
def test_a_lone_move_is_made_where_it_gains_more_than_it_costs(points: int, cluster: str) -> None:
    text = intent(OLD, moveCost=5)
    first = planned(text, things(OLD))
    second = planned(text, things(scored(points)), first)
    assert places(second) == {"w1": cluster, "w2": "c1"}
    assert second.status == ("unchanged" if cluster == "c1" else "changed")


def test_a_lone_move_costs_a_thousandth_to_the_unit() -> None:
    points = {"w1": {"c1": 50, "c2": 40}}
    for cost, cluster in (("9.999", "c2"), ("10", "c1"), ("10.001", "c1")):
        text = intent(points, moveCost=float(cost))
        first = planned(text, [*things(points, CLUSTERS[:2]), make.cluster("c3")])
        second = planned(text, [*things({"w1": {"c1": 50, "c2": 60}}, CLUSTERS[:2]), make.cluster("c3")], first)
        assert places(second) == {"w1": cluster}, cost


# minimumGain


@pytest.mark.parametrize(
    ("points", "stays"), [((59, 40), True), ((60, 40), False), ((54, 55), True), ((55, 55), False)]
)
def test_a_plan_that_gains_too_little_is_not_taken(points: tuple[int, int], stays: bool) -> None:
    text = intent(OLD, minimumGain=10)
    first = planned(text, things(OLD))
    second = planned(text, things(scored(*points)), first)
    assert (second.status == "unchanged") == stays
    said = [line for line in second.warnings if STAYS in line]
    gain = max(points[0] - 50, 0) + max(points[1] - 50, 0)
    expected = f"{STAYS} {gain}, and minimumGain is 10"
    assert said == ([expected] if stays else [])


def test_costs_of_moves_count_in_the_gain() -> None:
    text = intent(OLD, minimumGain=10, moveCost=6)
    first = planned(text, things(OLD))
    assert planned(text, things(scored(65)), first).status == "unchanged"
    assert planned(text, things(scored(66)), first).status == "changed"


def test_a_new_workload_gets_its_place_and_the_others_stay() -> None:
    text = intent(OLD, minimumGain=10)
    first = planned(text, things(OLD))
    more = {**scored(55), "w3": {"c1": 84, "c2": 80, "c3": 70}}
    second = planned(intent(more, minimumGain=10), things(more), first)
    assert places(second) == {"w1": "c1", "w2": "c1", "w3": "c2"}
    assert f"{STAYS} 9, and minimumGain is 10" in second.warnings


def test_nobody_is_left_out_for_the_sake_of_staying() -> None:
    """w3 fits on c1 alone: somebody has to make room, whatever it gains."""
    text = intent(OLD, minimumGain=1000)
    first = planned(text, things(OLD))
    more = {**OLD, "w3": {"c1": 10}}
    second = planned(intent(more, minimumGain=1000), things(more), first)
    assert places(second)["w3"] == "c1"
    assert second.value.placed == 3


def test_what_has_to_move_moves_alone() -> None:
    text = intent(OLD, minimumGain=10)
    first = planned(text, things(OLD))
    gone = {"w1": {"c2": 40, "c3": 0}, "w2": {"c1": 50, "c2": 55}}
    second = planned(text, things(gone), first)
    assert places(second) == {"w1": "c2", "w2": "c1"}


def test_the_plan_of_a_limit_has_to_beat_what_git_has() -> None:
    """A solver that is cut short may hand over something worse than what there is."""

    def short(problem: Problem) -> Solution:
        found = solve(problem)
        if problem.required or not problem.running.any():
            return found
        worse = solve(replace(problem, score=np.where(problem.incumbent[:, problem.cluster_of], -1, problem.score)))
        return replace(found, pairs=worse.pairs, status=Status.LIMIT)

    text = intent(OLD)
    first = planned(text, things(OLD))
    second = plan(
        make.load(text), make.inventory(*things(OLD)), first.tree, make.NOW, short, solver={"name": "another"}
    )
    assert (second.status, places(second)) == ("unchanged", places(first))
    assert f"{STAYS} -20, and a limit struck before that was proved best" in second.warnings


# maxMoves

FAR = {w: {"c1": 10, "c2": 90, "c3": 80} for w in ("w1", "w2", "w3", "w4")}
NEAR = {"w1": {"c1": 60, "c3": 0}, "w2": {"c1": 60, "c3": 0}, "w3": {"c3": 50}, "w4": {"c3": 50}}


@pytest.mark.parametrize("most", range(5))
def test_no_more_copies_move_than_may(most: int) -> None:
    first = planned(intent(NEAR), things(NEAR))
    assert places(first) == {"w1": "c1", "w2": "c1", "w3": "c3", "w4": "c3"}
    turned = {w: {**FAR[w], "c1": 10 if w in ("w1", "w2") else 70} for w in FAR}
    second = planned(intent(NEAR, maxMoves=most), things(turned), first)
    moved = sum(places(second)[w] != places(first)[w] for w in NEAR)
    assert moved == min(most, 2)
    if most == 1:
        codes = {a.code for d in second.decisions for a in d.alternatives}
        assert "moves" in codes


def test_a_lost_cluster_makes_room_in_the_limit() -> None:
    first = planned(intent(NEAR, maxMoves=0), things(NEAR))
    left = {w: {"c2": 20, "c3": 50} for w in NEAR}
    second = planned(intent(NEAR, maxMoves=0), things(left, ("c2", "c3")), first)
    assert places(second) == {"w1": "c2", "w2": "c2", "w3": "c3", "w4": "c3"}
    assert second.unplaced == ()
    assert "cluster c1 is not on the hub any more: what git has there goes elsewhere, or is kept" in second.warnings


def test_copies_that_are_new_do_not_count_as_moves() -> None:
    points = {"w1": {"c1": 60, "c2": 50, "c3": 40}}
    first = planned(intent(points, maxMoves=0), things(points))
    more = intent(points, workloads={"w1": {"copies": 3}}, maxMoves=0)
    assert {d.cluster for d in planned(more, things(points), first).decisions} == set(CLUSTERS)


# Lost clusters


def test_a_cluster_that_git_never_knew_is_a_mistake() -> None:
    with pytest.raises(InputError, match="cluster c9 is not on the hub"):
        planned(intent(OLD, (*CLUSTERS, "c9")), things(OLD))


def test_a_workload_that_only_a_lost_cluster_could_hold_is_kept_there() -> None:
    first = planned(intent(OLD), things(OLD))
    second = planned(intent(OLD), things({"w1": {}, "w2": {"c2": 5}}, ("c2", "c3")), first)
    assert places(second) == {"w2": "c2"}
    assert [(u.workload.name, u.kept) for u in second.unplaced] == [("w1", ("c1",))]


def test_a_lost_cluster_that_held_nothing_is_known_by_its_scores() -> None:
    first = planned(intent(OLD), things(OLD))
    second = planned(intent(OLD), things(OLD, ("c1", "c2")), first)
    assert places(second) == places(first)
    assert second.problem.lost == ("c3",)


def test_all_clusters_may_be_lost() -> None:
    first = planned(intent(OLD), things(OLD))
    second = planned(intent(OLD), things(OLD, ()), first)
    assert second.decisions == ()
    assert [u.kept for u in second.unplaced] == [("c1",), ("c1",)]
    assert second.blueprint.placements == tuple(replace(p) for p in first.blueprint.placements)


def test_a_lost_cluster_keeps_its_policy_while_an_intent_names_it() -> None:
    def fleet(*clusters: str) -> list[make.Thing]:
        found: list[make.Thing] = [make.workload("w1"), make.policy("p1"), make.policy("p2")]
        for c in clusters:
            found += [make.cluster(c), make.scores(c, {"w1;half": 50 if c == "c1" else 40})]
        return found

    entries = [{"name": "c1", "policies": ["p1"]}, {"name": "c2", "policies": ["p2"]}]
    first = planned(make.intent(entries, ["w1"]), fleet("c1", "c2"))
    second = planned(make.intent(entries, ["w1"]), fleet("c2"), first)
    assert places(second) == {"w1": "c2"}
    assert [c.cluster for c in second.blueprint.configurations] == ["c1", "c2"]
    third = planned(make.intent(entries[1:], ["w1"]), fleet("c2"), second)
    assert [c.cluster for c in third.blueprint.configurations] == ["c2"]


# minCopies


def test_a_workload_may_shrink_to_its_least_but_not_below() -> None:
    points = {"w1": {"c1": 60, "c2": 50, "c3": 40}}
    several = {"w1": {"copies": 3, "minCopies": 2}}
    text = intent(points, workloads=several)
    first = planned(text, things(points))
    assert len(first.decisions) == 3
    second = planned(text, things({"w1": {"c1": 60, "c2": 50}}), first)
    assert ([d.cluster for d in second.decisions], second.unplaced) == (["c1", "c2"], ())
    third = planned(text, things({"w1": {"c1": 60}}), second)
    assert third.decisions == ()
    assert [(u.missing, u.kept) for u in third.unplaced] == [(2, ("c1", "c2"))]
    fresh = planned(text, things({"w1": {"c1": 60}}))
    (none,) = fresh.unplaced
    assert (none.reason, none.missing) == ("c2: has no score", 2)
    assert ("copies", "fewer than 2 copies would have a place") in {(a.code, a.reason) for a in none.alternatives}


# Jitter and drift


def fleet(workloads: int, clusters: int, room: int, **stability: float) -> Problem:
    """A problem of workloads that need 1, 2 or 3 gpu, and clusters with room for some of them, all scores 0."""
    names = [f"w{w:02}" for w in range(workloads)]
    found: list[make.Thing] = [make.workload(name, str(1 + w % 3)) for w, name in enumerate(names)]
    for c in range(clusters):
        found += [make.cluster(f"c{c}"), make.scores(f"c{c}", {f"{name};": 0 for name in names})]
    entries = [{"name": f"c{c}", "capacity": {"gpu": room}} for c in range(clusters)]
    return make.problem(make.intent(entries, names, stability=stability), *found)


def after(problem: Problem, score: Any, before: Solution | None) -> Problem:
    """The problem with these scores, in points, where git has the plan `before`."""
    now = replace(problem, score=np.rint(score).astype(np.int64) * 1000)
    if before is None:
        return now
    incumbent = np.zeros_like(problem.incumbent)
    for w, g in before.pairs:
        incumbent[w, problem.cluster_of[g]] = True
    demands = tuple(
        replace(d, incumbents=tuple(problem.clusters[c] for c in np.nonzero(incumbent[w])[0]))
        for w, d in enumerate(problem.demands)
    )
    return replace(now, demands=demands, incumbent=incumbent)


def test_scores_that_jitter_move_nothing() -> None:
    """Two per cent of 100 points up or down make a copy look better by 4 points at most, and it costs 5 to move."""
    problem = fleet(4, 2, 4, moveCost=5)
    random = np.random.default_rng(3)
    score = random.integers(98, 101, problem.score.shape)
    first = solve_staged(after(problem, score, None))
    would = 0
    for number in range(1000):
        now = after(problem, score * random.uniform(0.98, 1.02, score.shape), first)
        assert solve_staged(now).pairs == first.pairs
        if number % 100 == 0:
            would += solve_staged(replace(now, move_cost=np.zeros_like(now.move_cost))).pairs != first.pairs
    assert would > 0, "the jitter is too small to prove anything"


def _worth(problem: Problem, solution: Solution) -> int:
    return sum(int(problem.score[w, g]) for w, g in solution.pairs)


def test_drifting_scores_cost_few_moves_and_little_score() -> None:
    random = np.random.default_rng(1)
    plain, steady = fleet(40, 10, 10), fleet(40, 10, 10, moveCost=5)
    score = np.random.default_rng(0).integers(20, 101, plain.score.shape).astype(float)
    last: dict[str, Solution | None] = {"plain": None, "steady": None}
    moves, total = {"plain": 0, "steady": 0}, {"plain": 0, "steady": 0}
    for _ in range(12):
        score = np.clip(score + random.normal(0, 2, score.shape), -100, 100)
        for name, problem in (("plain", plain), ("steady", steady)):
            before = last[name]
            now = after(problem, score, before)
            found = solve_staged(now)
            assert (found.status, len(found.pairs)) == (Status.OPTIMAL, 40)
            moves[name] += len(set(found.pairs) - set(before.pairs)) if before else 0
            total[name] += _worth(now, found)
            last[name] = found
    assert moves["plain"] >= 40
    assert 4 * moves["steady"] <= moves["plain"]
    assert total["steady"] > 0.98 * total["plain"]


def test_a_stale_score_holds_what_runs_there_and_wins_no_move() -> None:
    text = make.intent(
        [{"name": c, "capacity": {"gpu": 2}} for c in ("c1", "c2")], ["w1"], preference={"maxAge": "15m"}
    )

    def fleet_at(c1: timedelta, c2: timedelta) -> list[make.Thing]:
        return [
            make.workload("w1"),
            make.cluster("c1"),
            make.cluster("c2"),
            make.scores("c1", {"w1;": 50}, age=c1),
            make.scores("c2", {"w1;": 90}, age=c2),
        ]

    fresh, old = timedelta(minutes=1), timedelta(hours=2)
    first = planned(text, fleet_at(fresh, old))
    assert places(first) == {"w1": "c1"}
    assert "speed of c2 is stale (2h old)" in first.warnings
    assert places(planned(text, fleet_at(old, old), first)) == {"w1": "c1"}
    assert places(planned(text, fleet_at(old, fresh), first)) == {"w1": "c2"}
