"""Reasons: the plain ones first, each one true, and one line that says why a workload is where it is."""

import itertools
from typing import Any

import pytest

from gitops_ds.decisions import MOST_ALTERNATIVES, Decision, Unplaced, format_points, points
from gitops_ds.inventory import Cluster
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solver import solve
from tests import builders as make


def _plan(
    workloads: list[dict[str, Any] | str],
    points_: dict[tuple[str, str], int],
    *things: make.Thing,
    supply: str = "2",
    **spec: Any,
) -> Plan:
    """Workloads w1.. that each request 1 gpu, on clusters that each have one policy, scored by (workload, cluster)."""
    clusters = sorted({c for _, c in points_})
    names = sorted({w for w, _ in points_})
    given = {thing.name for thing in things if isinstance(thing, Cluster)}
    several: list[make.Thing] = [
        *(make.cluster(c) for c in clusters if c not in given),
        *(make.policy(f"half-{c}", "half", supply) for c in clusters),
        *(make.workload(w, "1") for w in names),
        *(make.scores(c, {f"{w};half": v for (w, d), v in points_.items() if d == c}) for c in clusters),
        *things,
    ]
    entries = [{"name": c, "policies": [f"half-{c}"]} for c in clusters]
    return plan(make.load(make.intent(entries, workloads, **spec)), make.inventory(*several), {}, make.NOW, solve)


def _one(made: Plan, name: str = "w1") -> Decision:
    (found,) = (d for d in made.decisions if d.workload.name == name)
    return found


def _codes(one: Decision | Unplaced) -> dict[str, tuple[str, str]]:
    return {a.cluster: (a.code, a.reason) for a in one.alternatives}


def test_the_best_is_said_by_how_much() -> None:
    made = _one(_plan(["w1"], {("w1", "c1"): 40, ("w1", "c2"): 50}))
    assert (made.cluster, made.reason) == ("c2", "score 50, 10 more than the next best, c1 as half")
    assert _codes(made) == {"c1": ("worse", "worse by 10")}


def test_a_tie_is_said_to_be_one() -> None:
    made = _one(_plan(["w1"], {("w1", "c1"): 50, ("w1", "c2"): 50}))
    assert (made.cluster, made.reason) == ("c1", "score 50; c2 as half has the same: names decide")
    assert _codes(made) == {"c2": ("equal", "equal: names decide")}


def test_an_only_choice_is_said_to_be_one() -> None:
    assert _one(_plan(["w1"], {("w1", "c1"): -5})).reason == "score -5; nothing else is possible"


def test_what_another_workload_has_taken_is_said_with_its_name() -> None:
    points_ = {("w1", "c1"): 50, ("w1", "c2"): 90, ("w2", "c1"): 10, ("w2", "c2"): 90}
    made = _one(_plan(["w1", "w2"], points_, supply="1"))
    assert made.cluster == "c1"
    assert made.reason == "score 50; c2 as half has 40 more, but gpu short by 1, taken by w2"


@pytest.mark.parametrize(
    ("workload", "thing", "code"),
    [
        ({"name": "w1", "avoid": ["c2"]}, None, "selector"),
        ({"name": "w1", "pin": "c1"}, None, "selector"),
        ("w1", make.cluster("c2", taints=(make.taint("maintenance"),)), "taint"),
        ("w1", make.cluster("c2", available=False), "taint"),
        ("w1", make.cluster("c2", accepted=False), "taint"),
    ],
)
def test_a_cluster_that_may_not_be_used_says_why(
    workload: dict[str, Any] | str, thing: make.Thing | None, code: str
) -> None:
    made = _one(_plan([workload], {("w1", "c1"): 10, ("w1", "c2"): 90}, *([thing] if thing else [])))
    assert made.cluster == "c1"
    assert _codes(made)["c2"][0] == code


def test_all_that_keeps_a_workload_off_a_cluster_is_named() -> None:
    taints = (make.taint("maintenance"), make.taint("cluster.open-cluster-management.io/unavailable"))
    points_ = {("w1", "c1"): 10, ("w1", "c2"): 90}
    here = _one(_plan([{"name": "w1", "avoid": ["c2"]}], points_, make.cluster("c2", taints=taints, available=False)))
    assert _codes(here)["c2"] == (
        "taint",
        "avoid excludes it and the taint maintenance of c2 is not tolerated and c2 is unavailable",
    )
    there = _one(_plan([{"name": "w1", "avoid": ["c2"]}], points_))
    assert _codes(there)["c2"] == ("selector", "avoid excludes it")


def test_what_is_kept_holds_its_configuration_and_keeps_its_distance() -> None:
    """w1 stays on c1, which is tainted by now: w2 must be apart from it, w3 with it."""
    several: list[make.Thing] = [make.workload(w) for w in ("w1", "w2", "w3")]
    for c in ("c1", "c2"):
        several += [make.policy(f"half-{c}"), make.policy(f"full-{c}", "full", "4")]
        points_ = {"w1;half": 50, "w2;half": 40, "w3;half": 40, "w2;full": 30, "w3;full": 30}
        several.append(make.scores(c, points_))
    before, after = (
        make.inventory(*several, make.cluster("c1", taints=taints), make.cluster("c2"))
        for taints in ((), (make.taint("odd"),))
    )
    entries = [{"name": c, "policies": [f"half-{c}", f"full-{c}"]} for c in ("c1", "c2")]
    first = plan(make.load(make.intent(entries, [{"name": "w1", "pin": "c1"}])), before, {}, make.NOW, solve)
    tolerates = {"tolerations": [{"key": "odd", "operator": "Exists"}]}
    workloads: list[dict[str, Any]] = [
        {"name": "w1", "pin": "c1"},
        {"name": "w2", "apart": ["w1"], **tolerates},
        {"name": "w3", "with": ["w1"], **tolerates},
    ]
    made = plan(make.load(make.intent(entries, workloads)), after, first.tree, make.NOW, solve)
    (kept,) = made.unplaced
    assert (kept.workload.name, kept.kept) == ("w1", ("c1",))
    assert kept.reason == "c1 as half: the taint odd of c1 is not tolerated"
    said = {(str(a.cluster), str(a.device)): a.reason for a in _one(made, "w2").alternatives}
    assert said["c1", "half"] == "it must be apart from w1, which stays on c1"
    said = {(str(a.cluster), str(a.device)): a.reason for a in _one(made, "w3").alternatives}
    assert said["c2", "half"] == "it must be with w1, which stays on c1"
    assert said["c1", "full"] == "c1 keeps its configuration for w1"


def test_workloads_apart_and_together_say_so() -> None:
    points_ = {(w, c): 50 if c == "c1" else 40 for w, c in itertools.product(("w1", "w2"), ("c1", "c2"))}
    apart = _plan([{"name": "w1", "apart": ["w2"]}, "w2"], points_)
    assert _codes(_one(apart, "w2"))["c1"] == ("apart", "it must be apart from w1")
    together = _plan([{"name": "w1", "with": ["w2"]}, "w2"], points_)
    assert _codes(_one(together))["c2"][0] == "together"


def test_a_workload_without_a_place_names_what_is_nearest_to_one() -> None:
    made = _plan(
        [{"name": "w1", "requests": {"gpu": 5}}], {("w1", "c1"): 50, ("w1", "c2"): 50}, make.policy("x"), supply="3"
    )
    (unplaced,) = made.unplaced
    assert unplaced.reason == "c1 as half: gpu short by 2: 5 requested, 3 supplied"
    assert dict(unplaced.short) == {"gpu": 2}
    assert unplaced.kept == ()


def test_what_is_kept_counts_once_and_no_further_than_there_is() -> None:
    """w1 asks for 9 by now, stays on c1 where 2 are supplied, and leaves nothing there for w2."""
    points_ = {("w1", "c1"): 50, ("w2", "c1"): 40}
    things: list[make.Thing] = [make.cluster("c1"), make.policy("half-c1", "half", "2")]
    things += [make.workload(w) for w in ("w1", "w2")]
    inventory = make.inventory(*things, make.scores("c1", {f"{w};half": v for (w, _), v in points_.items()}))
    entries = [{"name": "c1", "policies": ["half-c1"]}]
    first = plan(make.load(make.intent(entries, ["w1"])), inventory, {}, make.NOW, solve)
    grown = make.load(make.intent(entries, [{"name": "w1", "requests": {"gpu": 9}}, "w2"]))
    made = plan(grown, inventory, first.tree, make.NOW, solve)
    said = [(str(u.workload), u.reason, *map(str, (*u.short.values(), *u.kept))) for u in made.unplaced]
    assert said == [
        ("default/w1", "c1 as half: gpu short by 7: 9 requested, 2 supplied", "7", "c1"),
        ("default/w2", "c1 as half: gpu short by 1, taken by w1", "1"),
    ]


def test_a_large_fleet_keeps_the_alternatives_with_the_best_scores() -> None:
    points_ = {("w1", f"c{i:02}"): i for i in range(60)}
    made = _one(_plan(["w1"], points_))
    assert made.cluster == "c59"
    assert [a.cluster for a in made.alternatives] == [f"c{i:02}" for i in range(59 - MOST_ALTERNATIVES, 59)]


@pytest.mark.parametrize(
    ("thousandths", "text", "number"),
    [
        (60_000, "60", 60),
        (-5000, "-5", -5),
        (0, "0", 0),
        (12_500, "12.5", 12.5),
        (-1, "-0.001", -0.001),
        (333, "0.333", 0.333),
    ],
)
def test_points_are_written_as_people_write_them(thousandths: int, text: str, number: float) -> None:
    assert format_points(thousandths) == text
    assert points(thousandths) == number


@pytest.mark.parametrize(
    ("half", "third", "said"),
    [
        (80, 60, "worse by 30 (10 of it the cost of changes)"),
        (80, 85, "worse by 5 (5 more in score, 10 in the cost of changes)"),
        (20, 80, "worse by 50 (10 saved in the cost of changes counted)"),
    ],
)
def test_what_the_cost_of_changes_adds_to_a_loss_is_said(half: int, third: int, said: str) -> None:
    def planned(half: int, third: int, before: Plan | None) -> Plan:
        things: list[make.Thing] = [
            make.cluster("c1"),
            make.policy("half-c1", "half", "2"),
            make.policy("third-c1", "third", "3"),
            make.workload("w1", "2"),
            make.scores("c1", {"w1;half": half, "w1;third": third}),
        ]
        entries = [{"name": "c1", "policies": ["half-c1", "third-c1"]}]
        text = make.intent(entries, ["w1"], stability={"reconfigureCost": 10})
        return plan(make.load(text), make.inventory(*things), before.tree if before else {}, make.NOW, solve)

    (one,) = _one(planned(half, third, planned(60, 10, None))).alternatives
    assert (one.code, one.reason) == ("worse", said)
