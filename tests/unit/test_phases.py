"""Phases in a plan: what opts in, what a plan and its lock say of them, what holds one, and what an abort leads to."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_ds.hub import objects_from_files, parse_objects
from gitops_ds.ids import ClusterName, WorkloadId, WorkloadName
from gitops_ds.intent.load import load_all
from gitops_ds.inventory import Work
from gitops_ds.lock import read_lock
from gitops_ds.message import commit_message
from gitops_ds.phases import Progress, terms_of
from gitops_ds.reconcile import in_flight, plan
from gitops_ds.report.markdown import plan_markdown
from gitops_ds.report.text import plan_text
from gitops_ds.solver import solve
from gitops_ds.tree import lock_path
from tests import builders as make
from tests.moving import CLAIM, MOVES, World, where


def settled(**fields: Any) -> World:
    """w1 on c1, w2 on c2, both under p, and running."""
    world = World(points={"w1/c1/half": 50, "w2/c2/half": 50}, **fields)
    assert where(world.commit().blueprint) == {"w1": ["c1"], "w2": ["c2"]}
    world.catch_up()
    return world


def moving(**fields: Any) -> World:
    """The same, and w1 is better on c3 by now."""
    world = settled(**fields)
    world.points["w1/c3/half"] = 90
    return world


def test_a_first_plan_is_one_commit() -> None:
    made = World(points={"w1/c1/half": 50}).plan()
    assert made.phase is None
    assert made.lock.transit is None


@pytest.mark.parametrize(
    ("stability", "more", "phased"),
    [
        (MOVES, {}, True),
        (MOVES, {"surge": True}, True),
        (MOVES, {"surge": False}, False),
        ({}, {"surge": True}, True),
        ({}, {}, False),
        ({"move": "at-once"}, {"surge": True}, False),
    ],
)
def test_who_makes_before_it_breaks(stability: Any, more: Any, phased: bool) -> None:
    world = moving(stability=stability, workloads=[{"name": "w1", **more}, {"name": "w2"}])
    made = world.plan()
    assert where(made.blueprint)["w1"] == (["c1", "c3"] if phased else ["c3"])
    assert (made.phase is not None) == phased


def test_a_copy_comes_first_and_the_old_one_goes_when_it_runs() -> None:
    world = moving()
    first = world.commit()
    assert first.phase is not None
    assert (first.phase.number, first.phase.total) == (1, 2)
    assert first.phase.steps == ("give c3 p-c3", "add default/w1 on c3")
    assert first.phase.to_come == (("remove default/w1 from c1",),)
    assert first.lock.transit is not None
    assert first.lock.transit.adding == ((WorkloadId(make.NAMESPACE, WorkloadName("w1")), ClusterName("c3")),)
    waits = world.plan()
    assert (waits.status, str(waits.phase)) == ("unchanged", "Phase 2 of 2 waits for default/w1 to be Available on c3")
    assert waits.tree == world.tree
    world.catch_up()
    last = world.commit()
    assert where(last.blueprint) == {"w1": ["c3"], "w2": ["c2"]}
    assert last.lock.transit is None
    world.catch_up()
    assert world.plan().status == "unchanged"
    assert world.plan().phase is None


def test_after_the_last_phase_the_tree_is_that_of_one_commit() -> None:
    phased, one = moving(), moving(stability={"move": "at-once"})
    for made in phased.drive():
        assert made.phase is not None
    one.commit()
    one.stability, phased.stability = {}, {}
    assert phased.plan().tree == one.plan().tree


def test_a_lost_minimum_gain_stops_no_move_half_way() -> None:
    """Two moves that gain enough together, one of which is done: the other alone would gain too little."""
    world = settled(stability={**MOVES, "minimumGain": 50}, amounts=("1", "1"))
    world.points |= {"w1/c3/half": 80, "w2/c1/half": 80}
    seen = [where(made.blueprint) for made in world.drive()]
    assert seen[-1] == {"w1": ["c3"], "w2": ["c1"]}
    assert {"w1": ["c3"], "w2": ["c2"]} in seen


def test_what_is_in_flight_is_never_taken_for_the_solution() -> None:
    world = moving()
    world.commit()
    asked = []

    def counting(problem: Any) -> Any:
        asked.append(problem)
        return solve(problem)

    files = load_all({"intent/0.yaml": world.text().encode()}).placements
    plan(files, world.inventory(), world.tree, make.NOW, counting)
    assert asked
    assert in_flight(world.tree) is not None
    assert in_flight({}) is None


def test_a_cluster_in_change_keeps_its_workloads_without_their_gate() -> None:
    world = settled()
    world.points = {"w1/c1/full": 90, "w2/c2/full": 90}
    made = list(world.drive())
    ungated = [[s.cluster for p in m.blueprint.placements for s in p.spots if not s.gated] for m in made]
    assert ungated == [["c1"], ["c2"], []]
    rendered = [m.tree["rendered/default/fleet/placement-w1-placement.yaml"].decode() for m in made]
    assert [CLAIM in text for text in rendered] == [False, True, True]
    assert [m.lock.transit.changing if m.lock.transit else () for m in made] == [("c1",), ("c2",), ()]


def test_more_clusters_may_be_in_change_where_the_intent_says_so() -> None:
    world = settled(stability={**MOVES, "maxInChange": 2})
    world.points = {"w1/c1/full": 90, "w2/c2/full": 90}
    assert [m.lock.transit.changing if m.lock.transit else () for m in world.drive()] == [("c1", "c2"), ()]


def test_the_smallest_budget_and_the_longest_patience_hold_of_those_who_take_phases() -> None:
    def intent(name: str, workload: str, **stability: Any) -> str:
        return make.intent([{"name": "c1"}], [workload], name=name, stability=stability)

    texts = [
        intent("a", "w1", **MOVES, maxInChange=2, phaseTimeout="2h"),
        intent("b", "w2", **MOVES, maxInChange=3, phaseTimeout="1h"),
        intent("c", "w3", maxInChange=1, phaseTimeout="9h"),
    ]
    terms = terms_of(make.problem(texts, make.cluster("c1"), *map(make.workload, ("w1", "w2", "w3"))))
    assert (terms.max_in_change, terms.timeout) == (2, timedelta(hours=2))


def test_waiting_too_long_is_held_and_says_for_what() -> None:
    world = moving()
    world.commit()
    since = make.NOW
    soon, late = since + timedelta(minutes=30), since + timedelta(minutes=45)
    assert world.plan(since=since, now=soon).status == "unchanged"
    held = world.plan(since=since, now=late)
    assert held.status == "held"
    assert [one.guard for one in held.held] == ["phase"]
    assert held.held[0].text.startswith("has waited 45m for default/w1 to be Available on c3 (phaseTimeout is 30m)")
    assert world.plan(since=None, now=late).status == "unchanged"


def test_moves_that_need_each_others_room_are_held_with_who_is_in_whose_way() -> None:
    world = settled(amounts=("1", "1"))
    world.points = {"w1/c2/half": 90, "w2/c1/half": 90}
    made = world.plan()
    assert made.status == "held"
    assert "default/w1 cannot come to c2 yet: gpu short by 1 beside default/w2" in made.held[0].text
    assert "surge: false" in made.held[0].text
    assert made.phase is not None
    assert "cannot begin" in str(made.phase)


def abort_of(world: World) -> str:
    from gitops_ds.intent.load import intents_digest

    digest = intents_digest(load_all({"intent/0.yaml": world.text().encode()}).placements)
    head = "apiVersion: gitops-ds.io/v1alpha1\nkind: Abort\nmetadata: {name: all}\n"
    return f'{head}spec: {{reason: "no", intents: "{digest}"}}\n'


def test_an_abort_leads_back_and_stays_until_an_intent_changes() -> None:
    world = moving()
    before = read_lock(world.tree[lock_path()], lock_path()).blueprint
    world.commit()
    world.catch_up()
    world.more = abort_of(world)
    back = world.commit()
    assert back.phase is not None
    assert back.phase.steps == ("remove default/w1 from c3",)
    assert any("it goes back to what git had before" in one for one in back.warnings)
    world.catch_up()
    *_, back = world.drive()
    assert (back.blueprint.placements, back.blueprint.configurations) == (before.placements, before.configurations)
    assert back.lock.transit is None
    stays = world.plan()
    assert (stays.status, stays.phase) == ("unchanged", None)
    world.more = ""
    assert where(world.plan().blueprint)["w1"] == ["c1", "c3"], "what an abort left is no solution that is recalled"
    world.more = abort_of(world)
    world.workloads = [{"name": "w1", "priority": 1}, {"name": "w2"}]
    assert where(world.plan().blueprint)["w1"] == ["c1", "c3"]


def test_the_phase_is_said_in_the_message_and_in_every_report() -> None:
    made = moving().plan()
    message = commit_message(made, "1")
    subject, _, first = message.splitlines()[:3]
    assert subject == "gitops-ds: extend 1 workload, configure 1 cluster"
    assert first == "Phase 1 of 2: give c3 p-c3; add default/w1 on c3."
    text = "\n".join(line for line, _ in plan_text(made))
    assert "then 2 of 2: remove default/w1 from c1" in text
    page = plan_markdown(made, None)
    assert "Phase 1 of 2" in page
    assert "Phases to come" in page


def test_the_order_of_the_input_changes_no_phase() -> None:
    world, other = moving(), moving()
    other.workloads = tuple(reversed(other.workloads))
    for first, second in zip(world.drive(), other.drive(), strict=True):
        assert first.tree.keys() == second.tree.keys()
        assert first.tree == second.tree


def test_works_are_read_as_the_hub_writes_them() -> None:
    label = {"work.open-cluster-management.io/manifestworkreplicaset": "default.w1.v2"}

    def work(cluster: str, observed: int, **more: Any) -> dict[str, Any]:
        conditions = [
            {"type": kind, "status": "True", "observedGeneration": observed} for kind in ("Applied", "Available")
        ]
        metadata = {"name": "w1", "namespace": cluster, "generation": 2, "labels": label, **more}
        return {
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": metadata,
            "spec": {},
            "status": {"conditions": conditions},
        }

    objects = [
        work("c1", 2),
        work("c2", 1),
        work("c3", 2, deletionTimestamp="2026-01-15T09:00:00Z"),
        work("c4", 2, labels={}),
    ]
    body = "\n---\n".join(map(json.dumps, objects))
    found = parse_objects(objects_from_files({"works.yaml": body.encode()}))
    workload = WorkloadId(make.NAMESPACE, WorkloadName("w1.v2"))
    assert found.works == (
        Work(workload, ClusterName("c1"), applied=True, available=True),
        Work(workload, ClusterName("c2")),
        Work(workload, ClusterName("c3"), applied=True, available=True, ending=True),
    )
    clusters = tuple(make.cluster(c) for c in ("c1", "c2", "c3"))
    progress = Progress.of(replace(found, clusters=clusters))
    assert progress.ready == {(workload, ClusterName("c1"))}
    assert len(progress.present) == 3
    gone = Progress.of(replace(found, clusters=(replace(clusters[0], available=False),)))
    assert gone.ready == frozenset()
