"""`build`: what intents and an inventory become: clusters, configurations, amounts, relations, and what is kept."""

from fractions import Fraction
from typing import Any

import numpy as np

from gitops_ds.ids import ResourceKind
from gitops_ds.inventory import Workload
from tests import builders as make
from tests.worlds import BOTH, ONE, Entries, state, states, supply, world


def test_selectors_by_label_and_claim_and_templates_of_policies() -> None:
    things = world(
        make.cluster("c1", labels={"gpu": "true"}, claims={"region": "eu"}),
        make.cluster("c2", labels={"gpu": "true"}, claims={"region": "us"}),
        make.policy("mig-c1"),
        make.policy("mig-c2"),
    )
    selector = {
        "matchLabels": {"gpu": "true"},
        "claimExpressions": [{"key": "region", "operator": "In", "values": ["us"]}],
    }
    text = make.intent([{"selector": selector, "policies": ["mig-${cluster}"]}], ["w1"])
    problem = make.problem(text, *things)
    assert list(states(problem)["w1"]) == ["c2/mig-c2"]
    named: Entries = [{"name": "c1", "policies": ["p1"]}, {"selector": {}, "policies": ["mig-${cluster}"]}]
    assert list(states(make.problem(make.intent(named, ["w1"]), *things))["w1"]) == ["c1/p1", "c2/mig-c2"]


def test_a_selector_that_selects_nothing_is_a_warning_with_its_place() -> None:
    text = make.intent([{"selector": {"matchLabels": {"gpu": "no"}}}], ["w1"])
    problem = make.problem(text, *world())
    assert problem.warnings == (str(make.place(text, '"selector"')) + ": this selects no cluster",)
    assert (problem.clusters, problem.state.shape, problem.supply.shape) == ((), (1, 0), (0, 1))


def test_capacity_is_fixed_or_allocatable_less_the_reserve_and_adds_to_the_policy() -> None:
    entry = {
        "name": "c1",
        "policies": ["p1"],
        "capacity": {"cpu": "allocatable", "memory": "8Gi", "gpu": 1},
        "reserve": {"cpu": "500m", "memory": "9Gi"},
    }
    requests = {"cpu": 1, "memory": "1Gi", "gpu": 1}
    things = world(make.cluster("c1", allocatable={"cpu": "3920m"}))
    problem = make.problem(make.intent([entry], [{"name": "w1", "requests": requests}]), *things)
    assert supply(problem, "c1/") == {"cpu": Fraction("3.42"), "memory": 0, "gpu": 1}
    assert supply(problem, "c1/p1") == {"cpu": Fraction("3.42"), "memory": 0, "gpu": 3}
    assert problem.configurations[0].supply[ResourceKind("cpu")] == Fraction("3.42")


def test_each_kind_is_counted_in_its_largest_whole_unit() -> None:
    entry = {"name": "c1", "capacity": {"cpu": "1.5", "memory": "6Gi"}}
    workloads = [
        {"name": "w1", "requests": {"cpu": "250m", "memory": "2Gi"}},
        {"name": "w2", "requests": {"cpu": 1, "memory": "4Gi"}},
    ]
    problem = make.problem(make.intent([entry], workloads), *world())
    assert problem.kinds == ("cpu", "memory")
    assert problem.unit == (Fraction(1, 4), Fraction(2 * 2**30))
    assert problem.request.tolist() == [[1, 1], [4, 2]]
    assert problem.supply.tolist() == [[6, 3]]


def test_amounts_of_two_kinds_never_add_up() -> None:
    entry = {"name": "c1", "policies": ["p1"], "capacity": {"cpu": 100}}
    problem = make.problem(make.intent([entry], [{"name": "w1", "requests": {"gpu": 3}}]), *world())
    assert state(problem) == "CAPACITY"
    absent = make.problem(make.intent(ONE, [{"name": "w1", "requests": {"fpga": 1}}]), *world())
    assert state(absent) == "CAPACITY"
    assert state(make.problem(make.intent(ONE, [{"name": "w1", "requests": {"fpga": 0}}]), *world())) == "ELIGIBLE"


def test_requests_are_the_intents_or_the_labels_or_none() -> None:
    def requested(entry: dict[str, Any], mwrs: Workload) -> dict[str, Fraction]:
        demand = make.problem(make.intent(ONE, [entry]), *world(mwrs)).demands[0]
        return {str(kind): amount for kind, amount in demand.requests.items()}

    assert requested({"name": "w1"}, make.workload("w1", "2")) == {"gpu": 2}
    assert requested({"name": "w1", "requests": {"cpu": "1500m"}}, make.workload("w1", "2")) == {"cpu": Fraction(3, 2)}
    assert requested({"name": "w1", "requests": {}}, make.workload("w1", "2")) == {}
    assert requested({"name": "w1"}, make.workload("w1", None)) == {}
    assert requested({"name": "w1"}, make.workload("w1", "0")) == {}


def test_groups_of_workloads_together_and_apart() -> None:
    entries: Entries = [
        {"name": "w1", "with": ["w3"]},
        {"name": "w2", "apart": ["w4", "w1"]},
        {"name": "w3"},
        {"name": "w4", "apart": ["w1"]},
    ]
    things = world(make.workload("w3"), make.workload("w4"))
    problem = make.problem(make.intent(ONE, entries), *things)
    assert problem.together == ((0, 2),)
    assert problem.apart == ((0, 1, 3),)


def test_spread_groups_hold_only_clusters_that_the_workload_may_use() -> None:
    things = world(
        make.cluster("c1", labels={"region": "eu"}),
        make.cluster("c2", labels={"region": "us"}),
        make.cluster("c3", labels={"region": "asia"}),
        make.cluster("c4", labels={"region": "mars"}),
        make.cluster("c5"),
    )
    rule = {"key": "region", "maxSkew": 2}
    mine = make.intent(
        [{"name": c} for c in ("c1", "c2", "c3", "c5")],
        [{"name": "w1", "copies": 2, "avoid": ["c3"], "spread": [rule]}],
        name="a",
    )
    other = make.intent([{"name": "c1"}, {"name": "c4"}], ["w2"], name="b")
    problem = make.problem([mine, other], *things)
    (found,) = problem.spreads
    assert found.groups == (("eu", (0,)), ("us", (1,)))
    assert (found.workload, found.key, found.max_skew, found.hard) == (0, "region", 2, True)


def test_intents_that_share_a_cluster_share_its_choices_and_its_capacity() -> None:
    first = make.intent([{"name": "c1", "policies": ["p1"]}], ["w1"], name="a")
    second = make.intent([{"name": "c1", "policies": ["p1", "q1"], "capacity": {"cpu": 2}}], ["w2"], name="b")
    third = make.intent(
        [{"name": "c1", "capacity": {"cpu": 4}}],
        [{"name": "w3", "requests": {"cpu": 3}}],
        name="c",
        scores=[{"name": "speed", "dimension": "${cluster}"}],
        stability={"reconfigureCost": 7},
    )
    items = {"w1;half": 1, "w2;half": 2, "w2;full": 3, "w2;": 4, "c1": 5}
    problem = make.problem([third, second, first], *world(make.workload("w3"), make.scores("c1", items)))
    assert states(problem) == {
        "w1": {"c1/": "NOT_A_CANDIDATE", "c1/p1": "ELIGIBLE", "c1/q1": "NOT_A_CANDIDATE"},
        "w2": {"c1/": "CAPACITY", "c1/p1": "ELIGIBLE", "c1/q1": "ELIGIBLE"},
        "w3": {"c1/": "ELIGIBLE", "c1/p1": "ELIGIBLE", "c1/q1": "ELIGIBLE"},
    }
    assert supply(problem, "c1/") == {"cpu": 4, "gpu": 0}
    assert supply(problem, "c1/p1") == {"cpu": 4, "gpu": 2}
    assert problem.reconfigure_cost.tolist() == [7000]


def test_the_order_of_intents_changes_nothing() -> None:
    texts = [make.intent(BOTH, ["w1"], name="a"), make.intent(BOTH, ["w2"], name="b")]
    one, two = (make.problem(t, *world()) for t in (texts, texts[::-1]))
    assert one.demands == two.demands
    assert one.configurations == two.configurations
    assert np.array_equal(one.score, two.score)
    assert np.array_equal(one.state, two.state)


def test_the_longest_time_and_the_smallest_gap_count() -> None:
    texts = [
        make.intent(ONE, ["w1"], name="a", solver={"timeLimit": "5s", "gap": 0.5}),
        make.intent(ONE, ["w2"], name="b", solver={"timeLimit": "2m", "gap": 0.25}),
    ]
    problem = make.problem(texts, *world())
    assert (problem.time_limit, problem.gap) == (120.0, 0.25)


def test_keeping_holds_room_and_configuration() -> None:
    entries: Entries = [{"name": "w1", "requests": {"gpu": 1}}, {"name": "w2", "requests": {"gpu": 2}}, {"name": "w3"}]
    problem = make.problem(make.intent(BOTH, entries), *world(make.workload("w3"), *_scored("w1", "w2", "w3")))
    left = problem.keeping({0: (0,)})
    assert states(left) == {
        "w1": dict.fromkeys(("c1/p1", "c1/q1", "c2/p2", "c2/q2"), "KEPT"),
        "w2": {"c1/p1": "CAPACITY", "c1/q1": "CAPACITY", "c2/p2": "ELIGIBLE", "c2/q2": "CAPACITY"},
        "w3": {"c1/p1": "ELIGIBLE", "c1/q1": "HELD", "c2/p2": "ELIGIBLE", "c2/q2": "ELIGIBLE"},
    }
    assert supply(left, "c1/p1") == {"gpu": 1}
    assert supply(problem, "c1/p1") == {"gpu": 2}


def test_keeping_takes_no_more_than_there_is() -> None:
    problem = make.problem(make.intent(ONE, [{"name": "w1", "requests": {"gpu": 5}}, "w2"]), *world())
    left = problem.keeping({0: (0,)})
    assert supply(left, "c1/p1") == {"gpu": 0}
    assert states(left) == {"w1": {"c1/p1": "CAPACITY"}, "w2": {"c1/p1": "CAPACITY"}}


def test_keeping_nothing_changes_nothing() -> None:
    problem = make.problem(make.intent(BOTH, ["w1", "w2"]), *world())
    assert np.array_equal(problem.keeping({}).state, problem.state)
    kept_nowhere = problem.keeping({0: ()})
    assert set(states(kept_nowhere)["w1"].values()) == {"KEPT"}
    assert set(states(kept_nowhere)["w2"].values()) == {"ELIGIBLE"}


def test_keeping_several_on_one_cluster_marks_each_as_kept() -> None:
    problem = make.problem(make.intent(BOTH, ["w1", "w2"]), *world())
    left = problem.keeping({1: (0,), 0: (0, 2)})
    assert {s for row in states(left).values() for s in row.values()} == {"KEPT"}
    assert left.supply.tolist() == [[0], [1], [1], [1]]


def test_keeping_keeps_others_apart_and_together() -> None:
    first = {"name": "w1", "apart": ["w2"], "with": ["w3"]}
    entries: Entries = [first, {"name": "w2"}, {"name": "w3"}, {"name": "w4", "with": ["w3"]}]
    things = world(make.workload("w3"), make.workload("w4"), *_scored("w1", "w2", "w3", "w4"))
    problem = make.problem(
        make.intent([{"name": "c1", "policies": ["p1"]}, {"name": "c2", "policies": ["p2"]}], entries), *things
    )
    left = problem.keeping({0: (0,)})
    assert states(left)["w2"] == {"c1/p1": "HELD", "c2/p2": "ELIGIBLE"}
    assert states(left)["w3"] == {"c1/p1": "ELIGIBLE", "c2/p2": "HELD"}
    assert left.together == ((2, 3),)
    spread_out = problem.keeping({0: (0, 1)})
    assert set(states(spread_out)["w3"].values()) == {"HELD"}
    assert problem.keeping({0: (0,), 2: (0,)}).together == ()


def _scored(*names: str) -> list[make.Thing]:
    items = {f"{name};{device}": 10 for name in names for device in ("half", "full")}
    return [make.scores("c1", items), make.scores("c2", items)]
