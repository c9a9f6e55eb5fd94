"""Independent components, and the names of columns and rows."""

from dataclasses import fields, replace
from typing import Any

import pytest

from gitops_ds.problem import Pair, Problem, matrix_of
from gitops_ds.problem.components import components
from gitops_ds.problem.families import FAMILIES
from tests import builders as make


def fleet(stability: dict[str, float] | None = None, incumbents: dict[str, list[str]] | None = None) -> Problem:
    """Clusters c1 to c4; a and b may use c1 and c2, d uses c3, e uses c4, and z nothing."""
    things: list[make.Thing] = [make.workload(w) for w in "abdez"]
    uses = {"c1": "ab", "c2": "ab", "c3": "d", "c4": "e"}
    for c, users in uses.items():
        things += [make.cluster(c, labels={"region": c}), make.policy(f"p-{c}"), make.policy(f"q-{c}", "full")]
        things.append(make.scores(c, {f"{w};{d}": 10 for w in users for d in ("half", "full")}))
    workloads: list[dict[str, Any]] = [
        {"name": "a", "copies": 2, "minCopies": 2, "spread": [{"key": "region", "mode": "soft"}]},
        {"name": "b", "requestsOn": {"full": {"gpu": 2}}, "copies": 2, "spread": [{"key": "region"}]},
        *({"name": w} for w in "dez"),
    ]
    entries = [{"name": c, "policies": [f"p-{c}", f"q-{c}"]} for c in uses]
    text = make.intent(entries, workloads, stability=stability or {})
    return make.problem(text, *things, incumbent=make.incumbent(incumbents or {}))


def names(problem: Problem) -> list[tuple[str, str]]:
    """Workloads and clusters of each component."""
    return [
        ("".join(d.workload.name for d in part.problem.demands), " ".join(part.problem.clusters))
        for part in components(problem)
    ]


def test_workloads_that_share_a_cluster_are_one_component() -> None:
    assert names(fleet()) == [("ab", "c1 c2"), ("d", "c3"), ("e", "c4")]


def test_a_required_pair_is_never_lost_on_the_way() -> None:
    for pair in (Pair(4, 0), Pair(2, 6)):
        (part,) = [p for p in components(fleet().requiring(pair)) if p.problem.required]
        assert [part.whole(p) for p in part.problem.required] == [pair]
    assert names(fleet().requiring(Pair(4, 0))) == [("abz", "c1 c2"), ("d", "c3"), ("e", "c4")]
    assert names(fleet().requiring(Pair(2, 6))) == [("ab", "c1 c2"), ("de", "c3 c4")]


def test_a_limit_of_moves_joins_those_that_could_exceed_it_together() -> None:
    apart = [("ab", "c1 c2"), ("d", "c3"), ("e", "c4")]
    here = {"d": ["c3"], "e": ["c4"]}
    assert names(fleet({"maxMoves": 2}, here)) == apart
    assert names(fleet({"maxMoves": 1}, here)) == [("ab", "c1 c2"), ("de", "c3 c4")]
    (joined,) = [p.problem for p in components(fleet({"maxMoves": 1}, here)) if p.problem.move_limits]
    assert [(limit.workloads, limit.most) for limit in joined.move_limits] == [((0, 1), 1)]


def test_a_cluster_that_a_workload_only_leaves_is_part_of_its_component() -> None:
    """Without it, the workload would count as one that git has nowhere, and its move would be free."""
    (part,) = [p.problem for p in components(fleet(None, {"d": ["c4"]})) if "d" in p.problem.demands[0].workload.name]
    assert (part.clusters, {c.cluster for c in part.configurations}) == (("c3", "c4"), {"c3"})
    assert part.running.tolist() == [True]


def test_every_field_of_the_problem_is_carried_or_left_out_on_purpose() -> None:
    """A field that is neither here nor numbered anew in `_part` would reach a component with the whole's numbers."""
    same = {"kinds", "unit", "goal", "time_limit", "gap"}
    empty = {"intents", "facts", "pins", "candidates", "lost", "warnings"}
    whole = fleet({"maxMoves": 0}, {"a": ["c1"], "d": ["c3"]})
    part = components(whole)[0].problem
    numbered = {
        *("demands", "clusters", "configurations", "cluster_of", "score", "state", "request", "variant", "supply"),
        *("incumbent", "configured", "move_cost", "reconfigure_cost", "together", "apart", "spreads"),
        *("move_limits", "required"),
    }
    assert {f.name for f in fields(Problem)} == same | empty | numbered
    assert all(getattr(part, name) == getattr(whole, name) for name in same)
    assert not any(getattr(part, name) for name in empty)
    assert part.request.shape == (len(part.demands), 2, 1)
    assert part.variant.shape == (len(part.configurations),)


def test_columns_and_rows_say_in_names_what_they_are() -> None:
    problem = replace(fleet({"maxMoves": 0}, {"d": ["c3"]}).requiring(Pair(2, 4)), together=((2, 3),), apart=((0, 1),))
    matrix = matrix_of(problem)
    columns = [matrix.columns.name(i) for i in range(matrix.columns.count)]
    assert len(set(columns)) == len(columns)
    assert {"y[c1,p-c1]", "z[default/d,c3,q-c3]", "t[default/a,region]", "n[default/a]", "e[default/a,region,1]"} <= {
        *columns
    }
    rows = [matrix.row_name(i) for i in range(len(matrix.row_lower))]
    assert len(set(rows)) == len(rows)
    assert {name.partition("[")[0] for name in rows} == {f.__name__ for f in FAMILIES} - {"needs_configuration"}
    assert {
        "least_copies[default/a,least]",
        "least_copies[default/a,most]",
        "soft_spread[default/a,c1,most]",
        "spread[default/b,c1]",
        "moves[default/fleet]",
        "required[default/d,c3,p-c3]",
    } <= {*rows}
    with pytest.raises(IndexError):
        matrix.row_name(len(rows))


def test_a_required_pair_that_may_not_be_used_is_an_empty_row() -> None:
    problem = fleet()
    matrix = matrix_of(problem.requiring(Pair(4, 0)))
    row = next(i for i in range(len(matrix.row_lower)) if matrix.row_name(i).startswith("required"))
    assert matrix.row_lower[row] == 1
    assert row not in matrix.entries[1]


def test_a_pair_is_allowed_whatever_the_data_say_if_it_fits() -> None:
    problem = fleet()
    assert problem.allowing(4, 0).eligible[4, 0]
    assert (problem.allowing(4, 0).state != problem.state).sum() == 1
    big = replace(problem, request=problem.request * 9)
    assert big.allowing(4, 0) is big
    kept = problem.keeping({2: (4,)})
    assert kept.allowing(2, 4) is kept
