"""A score that nobody can read moves no workload: the plan is held, with the score's own fault."""

from dataclasses import replace

from gitops_ds.ids import ClusterName, ScoreName
from gitops_ds.inventory import Inventory, ScoreObject
from gitops_ds.reconcile import Plan, plan
from gitops_ds.solver import solve
from tests import builders as make
from tests.worlds import BOTH, world

WHY = "AddOnPlacementScore/speed (c2): status.scores[0].value: must be a whole number, is text"


def unreadable(inventory: Inventory, *clusters: str) -> Inventory:
    scores = [
        ScoreObject(s.cluster, s.name, (), unreadable=WHY) if s.cluster in clusters else s for s in inventory.scores
    ]
    return replace(inventory, scores=tuple(scores))


def planned(inventory: Inventory, before: Plan | None = None, workloads: tuple[str, ...] = ("w1",)) -> Plan:
    intents = make.load(make.intent(BOTH, list(workloads)))
    return plan(intents, inventory, before.tree if before else {}, make.NOW, solve)


def where(made: Plan) -> dict[str, set[str]]:
    return {str(p.workload.name): {str(s.cluster) for s in p.spots} for p in made.blueprint.placements}


def test_a_workload_does_not_leave_a_cluster_whose_score_cannot_be_read() -> None:
    inventory = make.inventory(*world())
    before = planned(inventory)
    assert where(before) == {"w1": {"c2"}}
    made = planned(unreadable(inventory, "c2"), before)
    assert made.status == "held"
    assert [(one.guard, one.text) for one in made.held] == [
        ("unreadable", f"{make.NAMESPACE}/w1 would leave c2, whose score cannot be read: {WHY}")
    ]
    assert f"speed of c2 cannot be read, so it counts as missing: {WHY}" in made.warnings


def test_nothing_is_held_where_nobody_leaves() -> None:
    inventory = make.inventory(*world())
    before = planned(inventory)
    elsewhere = planned(unreadable(inventory, "c1"), before)
    assert elsewhere.held == ()
    assert elsewhere.status == "unchanged"
    nowhere = planned(unreadable(inventory, "c1", "c2"), before)
    assert where(nowhere) == where(before)
    assert nowhere.held == ()


def test_a_new_workload_is_placed_by_the_scores_that_can_be_read() -> None:
    made = planned(unreadable(make.inventory(*world()), "c2"))
    assert (made.status, where(made)) == ("changed", {"w1": {"c1"}})
    assert made.held == ()


def test_a_score_that_no_intent_asks_for_holds_nothing() -> None:
    inventory = make.inventory(*world())
    before = planned(inventory)
    other = ScoreObject(ClusterName("c2"), ScoreName("other"), (), unreadable=WHY)
    made = planned(replace(inventory, scores=(*inventory.scores, other)), before)
    assert made.held == ()
