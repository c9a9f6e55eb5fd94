"""Whole plans in phases: whatever the scores, they end in the tree that one commit would have given."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from gitops_ds.reconcile import Plan
from gitops_ds.tree import inventory_path, lock_path
from tests.moving import CLUSTERS, MOVES, WORKLOADS, World

POINTS = st.dictionaries(
    st.sampled_from([f"{w}/{c}/{d}" for w in WORKLOADS for c in CLUSTERS for d in ("half", "full")]),
    st.sampled_from((10, 20, 40, 80)),
)
MOST_PHASES = 20


def without_intents(made: Plan) -> dict[str, Any]:
    """The tree, with its lock as data, less what tells that the intent speaks of moves."""
    tree: dict[str, Any] = dict(made.tree)
    tree.pop(inventory_path())
    lock = json.loads(tree.pop(lock_path()))
    lock.pop("intents")
    return {**tree, "lock": lock}


@given(
    POINTS,
    POINTS,
    st.sampled_from((("1", "1"), ("2", "2"), ("2", "3"))),
    st.sampled_from(({}, {"moveCost": 15}, {"reconfigureCost": 15, "moveCost": 5}, {"minimumGain": 30})),
    st.integers(1, 2),
    st.booleans(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_phases_end_where_one_commit_does(
    first: dict[str, int],
    then: dict[str, int],
    amounts: tuple[str, str],
    costs: dict[str, int],
    copies: int,
    backwards: bool,
) -> None:
    workloads = [{"name": w, "copies": copies} for w in WORKLOADS]
    phased = World(stability={**MOVES, **costs}, points=first, workloads=workloads, amounts=amounts)
    once = World(stability=costs, points=first, workloads=workloads, amounts=amounts)
    for world in (phased, once):
        world.commit()
        world.catch_up()
        world.points = then
    if backwards:
        phased.workloads = tuple(reversed(workloads))
    at_once = once.plan()
    last: Plan | None = None
    for _ in range(MOST_PHASES):
        made = phased.plan()
        if made.held:
            event("blocked")
            assert made.held[0].guard == "phase"
            assert made.phase is not None
            assert made.phase.blocked
            return
        if not made.difference.changes:
            break
        last, phased.tree = made, made.tree
        phased.catch_up()
    else:
        raise AssertionError("it does not end")
    event("phases" if last is not None and last.phase is not None else "one commit")
    assert without_intents(last or made) == without_intents(at_once)
