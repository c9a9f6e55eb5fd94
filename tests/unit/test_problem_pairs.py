"""`build`: taints, tolerations, pin, allow and avoid, what git holds now, and which reason is kept."""

from datetime import timedelta
from typing import Any

import pytest

from gitops_ds.problem import Incumbent
from tests import builders as make
from tests.worlds import BOTH, ONE, state, states, world

OLD = timedelta(minutes=16)


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({}, "ELIGIBLE"),
        ({"available": False}, "TAINT"),
        ({"available": None}, "ELIGIBLE"),
        ({"accepted": False}, "TAINT"),
        ({"taints": (make.taint("k", value="v"),)}, "TAINT"),
        ({"taints": (make.taint("k", effect="PreferNoSelect"),)}, "ELIGIBLE"),
        ({"taints": (make.taint("k", effect="NoSelectIfNew"),)}, "TAINT"),
    ],
)
def test_clusters_that_take_no_work(fields: dict[str, Any], result: str) -> None:
    assert state(make.problem(make.intent(ONE, ["w1"]), *world(make.cluster("c1", **fields)))) == result


@pytest.mark.parametrize(
    ("toleration", "result"),
    [
        ({"key": "k", "operator": "Exists"}, "ELIGIBLE"),
        ({"operator": "Exists"}, "ELIGIBLE"),
        ({"key": "k", "value": "v"}, "ELIGIBLE"),
        ({"key": "k", "value": "other"}, "TAINT"),
        ({"key": "k"}, "TAINT"),
        ({"key": "other", "operator": "Exists"}, "TAINT"),
        ({"key": "k", "operator": "Exists", "effect": "NoSelect"}, "ELIGIBLE"),
        ({"key": "k", "operator": "Exists", "effect": "NoSelectIfNew"}, "TAINT"),
        ({"key": "k", "operator": "Exists", "tolerationSeconds": 300}, "TAINT"),
    ],
)
def test_tolerations_as_ocm_has_them(toleration: dict[str, Any], result: str) -> None:
    text = make.intent(ONE, [{"name": "w1", "tolerations": [toleration]}])
    assert state(make.problem(text, *world(make.cluster("c1", taints=(make.taint("k", value="v"),))))) == result


def test_every_taint_must_be_tolerated() -> None:
    text = make.intent(ONE, [{"name": "w1", "tolerations": [{"key": "k", "operator": "Exists"}]}])
    assert state(make.problem(text, *world(make.cluster("c1", taints=(make.taint("k"), make.taint("l")))))) == "TAINT"


def test_a_workload_stays_on_a_cluster_that_takes_no_new_ones_under_any_policy() -> None:
    text = make.intent(BOTH, ["w1", "w2"])
    things = world(make.cluster("c1", taints=(make.taint("k", effect="NoSelectIfNew"),)))
    problem = make.problem(text, *things, incumbent=make.incumbent({"w1": ["c1"]}, {"c1": "p1"}))
    assert (state(problem, "w1", "c1/p1"), state(problem, "w1", "c1/q1")) == ("ELIGIBLE", "ELIGIBLE")
    assert state(problem, "w2", "c1/p1") == "TAINT"


@pytest.mark.parametrize(
    ("entry", "eligible"),
    [
        ({}, ["c1", "c2"]),
        ({"pin": "c2"}, ["c2"]),
        ({"allow": ["c1"]}, ["c1"]),
        ({"allow": [{"selector": {"matchLabels": {"region": "us"}}}]}, ["c2"]),
        ({"allow": ["c1", {"selector": {"claimExpressions": [{"key": "k", "operator": "Exists"}]}}]}, ["c1", "c2"]),
        ({"avoid": ["c1"]}, ["c2"]),
        ({"allow": ["c1", "c2"], "avoid": [{"selector": {"matchLabels": {"region": "us"}}}]}, ["c1"]),
        ({"pin": "c1", "avoid": ["c1"]}, []),
    ],
)
def test_pin_allow_and_avoid(entry: dict[str, Any], eligible: list[str]) -> None:
    things = world(make.cluster("c2", labels={"region": "us"}, claims={"k": ""}))
    text = make.intent(
        [{"name": "c1", "policies": ["p1"]}, {"name": "c2", "policies": ["p2"]}], [{"name": "w1", **entry}]
    )
    found = states(make.problem(text, *things))["w1"]
    assert [name[:2] for name, what in found.items() if what == "ELIGIBLE"] == eligible
    assert all(what in ("ELIGIBLE", "SELECTOR") for what in found.values())


def test_the_first_reason_that_holds_is_the_one_that_is_kept() -> None:
    text = make.intent(ONE, [{"name": "w1", "avoid": ["c1"], "requests": {"gpu": 9}}], preference={"maxAge": "15m"})
    gone = make.cluster("c1", available=False)
    old = make.scores("c1", {"w1;half": 5}, age=OLD)
    fresh = make.scores("c1", {"w1;half": 5})
    assert state(make.problem(text, *world(gone, make.scores("c1", {})))) == "NO_SCORE"
    assert state(make.problem(text, *world(gone, old))) == "STALE"
    assert state(make.problem(text, *world(gone, fresh))) == "TAINT"
    assert state(make.problem(text, *world(fresh))) == "SELECTOR"
    free = make.intent(ONE, [{"name": "w1", "requests": {"gpu": 9}}])
    assert state(make.problem(free, *world(fresh))) == "CAPACITY"


def test_what_git_holds_becomes_arrays() -> None:
    now = make.incumbent({"w1": ["c2", "lost"], "w9": ["c1"]}, {"c1": "p1", "c2": "gone", "lost": "p1"})
    stability = {"moveCost": 2.5, "reconfigureCost": 10}
    problem = make.problem(make.intent(BOTH, ["w1", "w2"], stability=stability), *world(), incumbent=now)
    assert problem.incumbent.tolist() == [[False, True], [False, False]]
    assert problem.configured.tolist() == [0, -1]
    assert problem.move_cost.tolist() == [2500, 2500]
    assert problem.reconfigure_cost.tolist() == [10_000, 10_000]
    bare = make.problem(make.intent([{"name": "c1", "capacity": {"gpu": 1}}], ["w1"]), *world(), incumbent=Incumbent())
    assert bare.configured.tolist() == [-1]
