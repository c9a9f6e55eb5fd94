"""Scorers as code, and scores from a metrics server, by the real command line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gitops_ds.sample import sample_folder
from tests.contract.metric_servers import Reply, Scripted, as_json, scripted
from tests.e2e.fleet import INTENT, PERFORMANCE, Fleet

TOLD: dict[str, Any] = {
    "source": {"type": "None"},
    "scoring": {"params": {"name": "forecast-score", "interval": 15}},
}
DOWN: Reply = (503, {}, b"")
INSTANT = 1768467600.0
"""2026-01-15T09:00:00Z, when the sample was captured."""


def scoring(url: str) -> str:
    scorer = {"name": "forecast", "description": "d", "configURL": f"{url}/config", "pin": True}
    return (
        "apiVersion: gitops-ds.io/v1alpha1\nkind: ScoringIntent\nmetadata: {name: scorers, namespace: ocm}\n"
        f"spec: {json.dumps({'scorers': [scorer]})}\n"
    )


@pytest.fixture
def empty(tmp_path: Path) -> Fleet:
    """A repository with no intent yet."""
    fleet = Fleet(tmp_path / "scorers")
    shutil.copytree(sample_folder() / "hub", fleet.hub)
    (fleet.root / "home").mkdir()
    (fleet.top / "intent").mkdir(parents=True)
    fleet.git("init", "--quiet")
    return fleet


def say(told: Scripted, *replies: Reply) -> None:
    told.replies[:] = replies


def test_a_repository_of_scorers_alone_is_committed_and_a_pinned_scorer_changes_it_by_review_only(empty: Fleet) -> None:
    with scripted([as_json(TOLD)]) as told:
        (empty.top / "intent" / "scorers.yaml").write_text(scoring(told.url), encoding="utf-8")
        empty.commit("The scorers")
        first = empty.reconcile()
        assert first["status"] == "changed"
        assert empty.git("log", "-1", "--format=%s").strip() == "gitops-ds: add 1 scorer"
        path = empty.top / "rendered" / "ocm" / "scorers" / "dynamicscorer-forecast.yaml"
        assert "name: forecast-score" in path.read_text(encoding="utf-8")
        assert empty.reconcile()["status"] == "unchanged"

        say(told, as_json({**TOLD, "scoring": {"params": {"name": "forecast-score", "interval": 99}}}))
        answer = empty.run("plan")
        assert "  ~ forecast: scoring.params.interval\n" in answer.out
        assert "agents that run already keep the old" in answer.out

        say(told, DOWN)
        held = empty.plan()
        assert held["status"] == "unchanged"
        assert "the scorer answers with status 503: what git's lock holds of it stands" in held["warnings"][0]
        assert empty.run("validate").code == 0
    locked = empty.run("render", "--locked")
    assert locked.code == 0
    assert "dynamicscorer-forecast.yaml" in locked.out


def test_a_pinned_scorer_that_never_answered_stops_the_plan(empty: Fleet) -> None:
    with scripted([DOWN]) as told:
        (empty.top / "intent" / "scorers.yaml").write_text(scoring(told.url), encoding="utf-8")
        empty.commit("The scorers")
        answer = empty.run("reconcile")
    assert answer.code == 1
    assert (
        "scorer forecast: its configuration: the scorer answers with status 503\n  at intent/scorers.yaml:4:"
        in answer.err
    )
    assert empty.commits == 1


def vector(values: dict[tuple[str, str, str], float]) -> Reply:
    result: list[dict[str, Any]] = []
    for (cluster, app, device), value in values.items():
        labels = {"ds_cluster": cluster, "ds_app": app, "ds_device": device, "ds_score_name": PERFORMANCE}
        result.append({"metric": labels, "value": [INSTANT, str(value)]})
        result.append({"metric": {**labels, "gitops_ds_sample_time": "1"}, "value": [INSTANT, str(INSTANT - 20)]})
    return as_json({"status": "success", "data": {"resultType": "vector", "result": result}})


def test_scores_of_a_metrics_server_decide_and_one_that_fails_stops_everything(fresh: Fleet) -> None:
    devices = {"all": 80.5, "3g.48gb": 10.25, "2g.24gb": 90.125}
    scores = {(c, a, d): v for c in ("cluster1", "cluster2") for a in ("app01", "app02") for d, v in devices.items()}
    with scripted([vector(scores)]) as told:
        source = {"name": "metrics", "prometheus": {"url": told.url}}
        (fresh.top / "intent" / "reconciler.yaml").write_text(
            "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: fleet}\n"
            f"spec: {json.dumps({'scoreSources': [source]})}\n",
            encoding="utf-8",
        )
        path = fresh.top / INTENT
        text = path.read_text(encoding="utf-8").replace(
            f"name: {PERFORMANCE}", f"name: {PERFORMANCE}\n        source: metrics"
        )
        path.write_text(text, encoding="utf-8")
        fresh.commit("Scores from the metrics server")
        made = fresh.plan()
        assert made["objective"]["score"] == 180.25
        assert {d["device"] for d in made["decisions"]} == {"2g.24gb"}
        assert told.asked[0].form["time"] == f"{INSTANT:.3f}"
        answer = fresh.run("explain", "mwrs-app01")
        assert f'{PERFORMANCE} "app01;2g.24gb": 90.125 (from metrics, 20s)' in answer.out
        assert fresh.run("validate", f"--hub=snapshot:{fresh.hub}").code == 0

        say(told, (401, {}, b""))
        before = fresh.state()
        failed = fresh.run("reconcile")
        assert failed.code == 1
        assert "it does not know us" in failed.err
        assert fresh.state() == before
        say(told, vector({key: value for key, value in scores.items() if key[0] == "cluster1"}))
        half = fresh.plan()
        assert half["objective"]["placed"] == 1
        assert "cluster2 has no score example-performance-score from metrics" in half["warnings"]
