"""The whole line as one pure function: what is kept, what is held, whose folder holds what, and `render_locked`."""

import itertools

import pytest

from gitops_ds.errors import RepositoryError
from gitops_ds.reconcile import Held, Plan, plan, render_locked
from gitops_ds.solver import solve
from gitops_ds.tree import inventory_path, lock_path
from tests import builders as make

LOCK, INVENTORY = lock_path(), inventory_path()

HALF = [{"name": "c1", "policies": ["half-c1", "whole-c1"]}, {"name": "c2", "policies": ["half-c2", "whole-c2"]}]


def _things(*, request: str = "2", points: int = 50) -> list[make.Thing]:
    clusters = ("c1", "c2")
    return [
        *(make.cluster(c) for c in clusters),
        *(make.policy(f"half-{c}", "half", "2") for c in clusters),
        *(make.policy(f"whole-{c}", "whole", "1") for c in clusters),
        *(make.workload(w, request) for w in ("w1", "w2")),
        *(
            make.scores(c, {f"{w};{d}": points for w, d in itertools.product(("w1", "w2", "w3"), ("half", "whole"))})
            for c in clusters
        ),
    ]


def _plan(texts: list[str], things: list[make.Thing], before: Plan | None = None, *, overwrite: bool = False) -> Plan:
    current = before.tree if before else {}
    return plan(make.load(*texts), make.inventory(*things), current, make.NOW, solve, overwrite=overwrite)


def test_a_first_plan_holds_everything_and_a_second_nothing_new() -> None:
    texts = [make.intent(HALF, ["w1", "w2"])]
    first = _plan(texts, _things())
    assert (first.status, first.before, first.value.placed) == ("changed", None, 2)
    assert list(first.tree) == sorted(first.tree)
    assert {LOCK, INVENTORY, "rendered/kustomization.yaml"} <= first.tree.keys()
    second = _plan(texts, _things(), first)
    assert (second.status, second.difference.changes, second.tree) == ("unchanged", (), first.tree)


def test_other_scores_with_the_same_decisions_leave_the_lock_as_it_is() -> None:
    texts = [make.intent(HALF, ["w1", "w2"])]
    first = _plan(texts, _things())
    assert _plan(texts, _things(points=51), first).status == "unchanged"


def test_what_an_intent_says_is_recorded_even_where_it_moves_nothing() -> None:
    first = _plan([make.intent(HALF, ["w1", "w2"])], _things())
    second = _plan([make.intent(HALF, ["w1", "w2"], stability={"moveCost": 3})], _things(), first)
    assert [c.path for c in second.difference.changes] == [INVENTORY, LOCK]


def test_a_cluster_without_a_workload_keeps_its_policy() -> None:
    first = _plan([make.intent(HALF, ["w1", "w2"])], _things())
    second = _plan([make.intent(HALF, ["w1"])], _things(), first)
    assert {c.cluster for c in second.blueprint.configurations} == {"c1", "c2"}
    assert len(second.blueprint.placements) == 1


def test_a_cluster_that_leaves_every_intent_keeps_the_policy_of_a_workload_that_has_to_stay() -> None:
    first = _plan([make.intent(HALF, ["w1", "w2"])], _things())
    second = _plan([make.intent(HALF[:1], ["w1", "w2"])], _things(), first)
    (stays,) = second.unplaced
    assert (stays.workload.name, stays.kept) == ("w2", ("c2",))
    assert second.blueprint.placements[1].spots == first.blueprint.placements[1].spots
    assert second.blueprint.configurations == first.blueprint.configurations
    objects = {path for path in first.tree if path.endswith(".yaml")}
    assert {path for path in second.tree if path.endswith(".yaml")} == objects


def test_the_intent_that_names_a_clusters_objects_goes_on_doing_so() -> None:
    """Names would change if another intent that has the cluster too, and comes first by name, took them over."""
    first = _plan([make.intent(HALF, ["w1"], name="m")], _things())
    again = _plan([make.intent(HALF, ["w1"], name="m"), make.intent(HALF, ["w2"], name="a")], _things(), first)
    owners = {c.cluster: c.intent.name for c in again.blueprint.configurations}
    assert owners == {"c1": "m", "c2": "a"}
    assert {p for p in first.tree if "binding-c1" in p} <= again.tree.keys()
    gone = _plan([make.intent(HALF, ["w1", "w2"], name="a")], _things(), again)
    assert {c.intent.name for c in gone.blueprint.configurations} == {"a"}


def test_unplaced_fail_holds_only_the_intents_that_say_so() -> None:
    strict = make.intent(HALF, ["w1"], name="strict", unplaced="fail")
    lax = make.intent(HALF, ["w2"], name="lax")
    things = [*_things(), make.workload("w3", "5")]
    assert _plan([strict, lax], things).held == ()
    greedy = make.intent(HALF, ["w2", "w3"], name="lax")
    assert _plan([strict, greedy], things).status == "changed"
    greedy = make.intent(HALF, ["w2", "w3"], name="lax", unplaced="fail")
    assert _plan([strict, greedy], things).held == (
        Held("unplaced", "default/w3 has no place, and intent default/lax says unplaced: fail"),
    )


def test_a_plan_is_held_by_an_edit_and_overwrites_it_when_told_to() -> None:
    texts = [make.intent(HALF, ["w1", "w2"])]
    first = _plan(texts, _things())
    path = next(p for p in first.tree if "binding-c1" in p)
    edited = {**first.tree, path: b"kind: Mine\n", "rendered/notes.txt": b"x"}
    inventory = make.inventory(*_things())
    held = plan(make.load(*texts), inventory, edited, make.NOW, solve)
    assert (held.status, held.held) == (
        "held",
        (Held("edited", f"{path} was edited by hand since gitops-ds wrote it"),),
    )
    assert held.warnings == ("rendered/notes.txt is not ours and is left alone",)
    taken = plan(make.load(*texts), inventory, edited, make.NOW, solve, overwrite=True)
    assert (taken.status, [c.path for c in taken.difference.changes]) == ("changed", [path])


def test_render_locked_gives_the_same_tree_or_says_why_not() -> None:
    texts = [make.intent(HALF, ["w1", "w2"])]
    first = _plan(texts, _things())
    assert render_locked(make.load(*texts), first.tree) == first.tree
    with pytest.raises(RepositoryError, match="have changed since the lock was written: default/fleet"):
        render_locked(make.load(make.intent(HALF, ["w1"])), first.tree)
    with pytest.raises(RepositoryError, match=r"there is no rendered/gitops-ds\.lock"):
        render_locked(make.load(*texts), {})
    forged = {**first.tree, LOCK: first.tree[LOCK].replace(b'"default/w2"', b'"default/w9"')}
    with pytest.raises(RepositoryError, match="the lock names w9, which no intent has"):
        render_locked(make.load(*texts), forged)


def test_who_may_stay_is_placed_and_not_merely_kept_where_another_loses_its_place() -> None:
    """w2 has the better score on c1, but w1 runs there: w1 stays placed, and w2 is kept on c2, which it may not use."""
    both = [{"name": c, "policies": [f"half-{c}"]} for c in ("c1", "c2")]
    things: list[make.Thing] = [
        *(make.cluster(c) for c in ("c1", "c2")),
        *(make.policy(f"half-{c}", "half", "2") for c in ("c1", "c2")),
        *(make.workload(w, "2") for w in ("w1", "w2")),
        make.scores("c1", {"w1;half": 50, "w2;half": 90}),
        make.scores("c2", {"w1;half": 10, "w2;half": 80}),
    ]
    first = _plan([make.intent(both, ["w1", "w2"])], things)
    assert {p.workload.name: p.spots[0].cluster for p in first.blueprint.placements} == {"w1": "c1", "w2": "c2"}
    second = _plan([make.intent(both[:1], ["w1", "w2"])], things, first)
    assert [(d.workload.name, d.cluster) for d in second.decisions] == [("w1", "c1")]
    assert [(u.workload.name, u.kept) for u in second.unplaced] == [("w2", ("c2",))]
    assert second.value.placed == 1
