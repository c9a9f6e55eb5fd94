"""Samples of a metrics source as scores: told apart by labels, exact, each with an age of its own."""

from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from gitops_ds.errors import InputError
from gitops_ds.guards.fresh import fresh_clusters
from gitops_ds.ids import ClusterName, ScoreName
from gitops_ds.intent.load import LoadedIntent, load_all
from gitops_ds.inventory import Inventory, Sample, ScoreObject
from gitops_ds.problem import Problem, build
from gitops_ds.problem.obstacles import Obstacles
from gitops_ds.reconcile import plan
from gitops_ds.solver import solve
from tests import builders as make
from tests.worlds import BOTH, ONE, points, state, states, world

RECONCILER = (
    "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: r}\n"
    "spec: {scoreSources: [{name: vm, prometheus: {url: 'http://vm'}}]}\n"
)
LATE = timedelta(hours=1)


def sample(value: str | None, age: timedelta = timedelta(seconds=20), **labels: str) -> Sample:
    return Sample(labels, None if value is None else Fraction(value), make.NOW - age)


def facts(*samples: Sample, cluster: str = "c1") -> Inventory:
    newest = max(s.seen_at for s in samples)
    found = ScoreObject(ClusterName(cluster), ScoreName("speed"), (), seen_at=newest, origin="vm", samples=samples)
    return make.inventory(*world(), metrics=(found,), sources=("vm",))


def intents(
    clusters: Any = ONE, workloads: Any = ("w1",), preference: Mapping[str, Any] | None = None, **score: Any
) -> tuple[LoadedIntent, ...]:
    wanted = {"name": "speed", "dimension": make.DIMENSION, "source": "vm", **score}
    text = make.intent(
        clusters, list(workloads), scores=[wanted], preference=preference or {}, stability={"move": "at-once"}
    )
    return load_all({"intent/0.yaml": text.encode(), "intent/r.yaml": RECONCILER.encode()}).placements


def problem(*samples: Sample, **fields: Any) -> Problem:
    return build(intents(**fields), facts(*samples), make.NOW)


def test_the_value_is_exact_to_a_thousandth_and_the_hubs_own_score_does_not_count() -> None:
    assert points(problem(sample("33.33333", app="w1", device="half"))) == Fraction("33.333")
    assert points(problem(sample("0.0005", app="w1", device="half"))) == 0
    assert points(problem(sample("-0.0015", app="w1", device="half"))) == Fraction("-0.002")


@pytest.mark.parametrize(
    ("value", "said"), [("100.001", "100.001, outside -100 to 100"), ("-101", "-101, outside"), (None, "no number")]
)
def test_a_value_out_of_range_is_missing(value: str | None, said: str) -> None:
    found = problem(sample(value, app="w1", device="half"))
    assert state(found) == "NO_SCORE"
    assert any(w.startswith(f"speed of c1 from vm: w1;half is {said}") for w in found.warnings)
    assert 'no score "w1;half" in speed of c1 from vm' in found.warnings


def test_labels_and_not_texts_tell_samples_apart() -> None:
    dimension = "${app}-${node}"
    mine, theirs = sample("1", app="w1", node="a-b"), sample("9", app="w1-a", node="b")
    assert points(problem(mine, theirs, dimension=dimension)) == 1
    assert points(problem(sample("4", app="w1", node="a"), mine, dimension=dimension)) == Fraction("2.5")
    without = problem(sample("4", app="w1"), dimension=dimension)
    assert state(without) == "NO_SCORE"
    assert points(problem(sample("4", app="w1"), sample("8", app="w1", pod="p"), dimension="x ${app} y")) == 6


def test_a_dimension_of_nothing_but_the_score_takes_every_sample_and_says_so() -> None:
    found = problem(sample("4", app="a"), sample("8", app="b"), dimension=None)
    assert points(found) == 6
    assert found.warnings == ("speed of c1 from vm: speed stands 2 times: mean of them",)


@pytest.mark.parametrize(("how", "value"), [("mean", "5.125"), ("min", "0.25"), ("max", "10")])
def test_several_samples_are_aggregated_exactly(how: str, value: str) -> None:
    several = [sample(v, app="w1", device="half", node=v) for v in ("0.25", "10")]
    assert points(problem(*several, aggregate=how)) == Fraction(value)


def test_a_label_is_as_long_as_the_agent_writes_it() -> None:
    long = "x" * 300
    found = problem(sample("7", app="x" * 256, device="half"), workloads=[{"name": "w1", "app": long}])
    assert points(found) == 7


def test_a_score_is_as_old_as_the_oldest_of_its_samples() -> None:
    several = (sample("1", LATE, app="w1", device="half", node="a"), sample("1", app="w1", device="half", node="b"))
    other = sample("1", app="w2", device="half")
    made = problem(*several, other, workloads=["w1", "w2"], preference={"maxAge": "15m"})
    assert (state(made, "w1"), state(made, "w2")) == ("STALE", "ELIGIBLE")
    assert "speed of c1 from vm: w1;half is stale (60m old)" in made.warnings
    obstacles = Obstacles(made, facts(*several, other), make.NOW).against(0, 0)
    assert obstacles is not None
    assert [(o.code, o.cluster, o.score) for o in obstacles] == [("stale", "c1", "speed")]


def test_a_stale_sample_fails_the_plan_where_the_intent_says_so() -> None:
    with pytest.raises(InputError, match=r'speed "w1;half" of c1 from vm is stale \(60m old\)'):
        problem(sample("1", LATE, app="w1", device="half"), preference={"maxAge": "15m", "stale": "fail"})


def test_a_cluster_without_samples_has_no_score() -> None:
    found = problem(sample("5", app="w1", device="half"), clusters=BOTH)
    assert states(found)["w1"]["c2/p2"] == "NO_SCORE"
    assert "c2 has no score speed from vm" in found.warnings


def test_a_cluster_is_fresh_by_the_source_that_its_intents_read() -> None:
    good, old = sample("5", app="w1", device="half"), sample("5", LATE, app="w1", device="half")
    wanted = intents(preference={"maxAge": "15m"})
    for found, holds in ((facts(good), 0), (facts(old), 1), (facts(sample(None, app="w1", device="half")), 1)):
        made = plan(wanted, found, {}, make.NOW, solve)
        assert len(list(fresh_clusters(made, 1, found, make.NOW))) == holds
