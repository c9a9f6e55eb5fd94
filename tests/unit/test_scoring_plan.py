"""ScoringIntents through a plan: the objects, what changes for the agents, the lock, and the words for it all."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitops_ds.errors import InputError, RepositoryError
from gitops_ds.ids import ClusterName, IntentId, IntentName, Namespace
from gitops_ds.intent.told import ScorerConfig, read_config
from gitops_ds.lock import read_lock
from gitops_ds.message import commit_message
from gitops_ds.reconcile import Plan, plan, render_locked
from gitops_ds.report.markdown import plan_markdown
from gitops_ds.report.text import plan_text
from gitops_ds.scorers import Scoring, scoring_steps, with_scorers
from gitops_ds.solver import solve
from gitops_ds.tree import lock_path
from gitops_ds.yamltext import read_kubernetes
from tests import builders as make
from tests.unit.test_scoring_intent import CLOSED, OPEN, PARAMS, PROMETHEUS, load, scoring
from tests.worlds import ONE, state, world

ID = IntentId(Namespace("ocm"), IntentName("scorers"))
FOLDER = "rendered/ocm/scorers"
WORK = "scorers/manifestwork-dynamic-scoring-config-manifestwork.yaml"
TOLD = {
    "source": {"type": "Prometheus", "host": "http://p:9090", "params": {"query": "up", "range": 60, "step": 5}},
    "scoring": {"params": {"name": "forecast", "interval": 15}},
}
AUTH = {"tokenSecretRef": {"name": "token", "key": "value"}}
FULL = {
    **CLOSED,
    "source": {**PROMETHEUS, "auth": AUTH},
    "scoring": {"params": PARAMS, "path": "/go", "auth": AUTH},
    "scoreDimensionFormat": "${app};${device}",
}
PINNED = {**OPEN, "pin": True}


def planned(
    *texts: str,
    before: Plan | None = None,
    told: Mapping[str, Any] | None = None,
    things: list[make.Thing] | None = None,
    notes: tuple[str, ...] = (),
) -> Plan:
    said = load(*texts)
    configs: dict[str, ScorerConfig] = {name: read_config(value) for name, value in (told or {}).items()}
    given = Scoring(said.scorings, {one.id: configs for one in said.scorings}, notes)
    facts = make.inventory(*(things if things is not None else [make.cluster("c1"), make.cluster("c2")]))
    current = before.tree if before else {}
    return plan(said.placements, facts, current, make.NOW, solve, scoring=given)


def body(made: Plan, path: str) -> Any:
    (document,) = read_kubernetes(made.tree[path], path)
    return document.value


def summaries(made: Plan, cluster: str) -> list[dict[str, Any]]:
    work = body(made, f"rendered/{cluster}/{WORK}")
    (config_map,) = work["spec"]["workload"]["manifests"]
    found: list[dict[str, Any]] = json.loads(config_map["data"]["summaries"])
    return found


def test_a_repository_of_scorers_alone_is_planned_and_a_second_plan_changes_nothing() -> None:
    first = planned(scoring(FULL, OPEN))
    assert (first.status, first.value.placed, first.before) == ("changed", 0, None)
    assert {path for path in first.tree if "kustomization" not in path} == {
        f"{FOLDER}/dynamicscorer-one.yaml",
        f"{FOLDER}/dynamicscorer-two.yaml",
        f"{FOLDER}/dynamicscoringconfig-dynamic-scoring-config.yaml",
        "rendered/gitops-ds.inventory",
        "rendered/gitops-ds.lock",
    }
    second = planned(scoring(OPEN, FULL), before=first)
    assert (second.status, second.tree) == ("unchanged", first.tree)


def test_every_field_and_every_default_is_written_out() -> None:
    made = planned(scoring(FULL, OPEN, {**CLOSED, "name": "bare", "scoring": {"params": {**PARAMS, "name": "b"}}}))
    one = body(made, f"{FOLDER}/dynamicscorer-one.yaml")
    assert one["metadata"]["annotations"] == {
        "argocd.argoproj.io/sync-wave": "-1",
        "kustomize.toolkit.fluxcd.io/substitute": "disabled",
    }
    assert one["metadata"]["namespace"] == "ocm"
    assert one["spec"] == {
        "description": "d",
        "configURL": "http://scorer.scoring.svc:8000/config",
        "configSyncMode": "None",
        "location": "Internal",
        "scoreDestination": "AddOnPlacementScore",
        "scoreDimensionFormat": "${app};${device}",
        "source": {**PROMETHEUS, "path": "/api/v1/query_range", "auth": AUTH},
        "scoring": {"host": "http://scorer.scoring.svc:8000", "path": "/go", "params": PARAMS, "auth": AUTH},
    }
    two = body(made, f"{FOLDER}/dynamicscorer-two.yaml")
    assert two["spec"] == {
        "description": "d",
        "configURL": "http://scorer.scoring.svc:8000/config",
        "configSyncMode": "Full",
        "location": "Internal",
        "scoreDestination": "AddOnPlacementScore",
        "scoreDimensionFormat": "${scoreName}",
    }
    bare = body(made, f"{FOLDER}/dynamicscorer-bare.yaml")["spec"]
    assert bare["source"] == {"type": "None"}
    assert bare["scoring"]["path"] == "/score"


def test_one_config_a_namespace_with_its_masks_sorted() -> None:
    masks = [{"clusterName": c, "scoreName": "speed"} for c in ("c2", "c1")]
    other = {**OPEN, "name": "three"}
    made = planned(scoring(CLOSED, config={"masks": masks}), scoring(other, name="a"), scoring(OPEN, namespace="b"))
    configs = [path for path in made.tree if "dynamicscoringconfig" in path]
    assert configs == [
        "rendered/b/scorers/dynamicscoringconfig-dynamic-scoring-config.yaml",
        f"{FOLDER}/dynamicscoringconfig-dynamic-scoring-config.yaml",
    ]
    assert body(made, configs[1])["spec"]["masks"] == masks[::-1]
    assert body(made, configs[0])["spec"] == {"masks": []}


def test_a_pinned_scorer_is_rendered_as_it_said_and_a_change_of_it_is_a_change_of_the_plan() -> None:
    first = planned(scoring(PINNED), told={"two": TOLD})
    spec = body(first, f"{FOLDER}/dynamicscorer-two.yaml")["spec"]
    assert spec["configSyncMode"] == "None"
    assert spec["scoring"]["params"] == {"name": "forecast", "interval": 15}
    assert planned(scoring(PINNED), told={"two": TOLD}, before=first).status == "unchanged"
    other = {**TOLD, "scoring": {"params": {"name": "forecast", "interval": 60}}}
    second = planned(scoring(PINNED), told={"two": other}, before=first, notes=("a note",))
    assert [str(step) for step in scoring_steps(second.difference)] == ["~ two: scoring.params.interval"]
    old = "scorer two: agents that run already keep the old scoring.params.interval"
    assert set(second.warnings) == {"a note", f"{old}: restart them, or give the score a new name"}
    said = load(scoring(PINNED))
    assert render_locked((), second.tree, scorings=said.scorings) == second.tree
    assert read_lock(second.tree[lock_path()], "x").blueprint.scored_by(ID).told == {"two": read_config(other)}


def test_a_pinned_scorer_that_says_too_little_is_a_fault_at_its_line() -> None:
    text = scoring(PINNED)
    with pytest.raises(InputError, match=r"scorer two, by what it says of itself: source.type is missing") as error:
        planned(text, told={"two": {"scoring": TOLD["scoring"]}})
    assert error.value.faults[0].place == make.place(text, '"pin"')
    clash = {"source": {"type": "None"}, "scoring": {"params": {"name": "Speed", "interval": 1}}}
    with pytest.raises(InputError, match="scorers one and two both write the AddOnPlacementScore speed"):
        planned(scoring(CLOSED, PINNED), told={"two": clash})


def test_other_intents_than_the_locks_are_not_rendered_from_it() -> None:
    made = planned(scoring(CLOSED))
    with pytest.raises(RepositoryError, match="the intents have changed since the lock was written: ocm/scorers"):
        render_locked((), made.tree, scorings=load(scoring(OPEN)).scorings)
    with pytest.raises(RepositoryError, match="the intents have changed"):
        render_locked((), made.tree)


def test_without_a_controller_each_cluster_gets_what_it_would_have_made() -> None:
    config = {"masks": [{"clusterName": "c2", "scoreName": "forecast"}]}
    made = planned(scoring(FULL, PINNED, config=config, distribute="rendered"), told={"two": TOLD})
    assert not any("dynamicscor" in path for path in made.tree)
    work = body(made, f"rendered/c1/{WORK}")
    assert (work["kind"], work["metadata"]["name"], work["metadata"]["namespace"]) == (
        "ManifestWork",
        "dynamic-scoring-config-manifestwork",
        "c1",
    )
    (config_map,) = work["spec"]["workload"]["manifests"]
    assert config_map["metadata"] == {"name": "dynamic-scoring-config", "namespace": "dynamic-scoring"}
    assert summaries(made, "c1")[0] == {
        "name": "one",
        "scoreName": "speed",
        "sourceType": "Prometheus",
        "sourceEndpoint": "http://p:9090/api/v1/query_range",
        "sourceEndpointAuthName": "token",
        "sourceEndpointAuthKey": "value",
        "sourceQuery": "up",
        "sourceRange": 60,
        "sourceStep": 5,
        "scoringEndpoint": "http://scorer.scoring.svc:8000/go",
        "scoringInterval": 30,
        "scoringEndpointAuthName": "token",
        "scoringEndpointAuthKey": "value",
        "location": "Internal",
        "scoreDestination": "AddOnPlacementScore",
        "scoreDimensionFormat": "${app};${device}",
    }
    assert [s["scoreName"] for s in summaries(made, "c1")] == ["speed", "forecast"]
    assert [s["scoreName"] for s in summaries(made, "c2")] == ["speed"]
    steps = [str(step) for step in scoring_steps(made.difference)]
    assert steps == ["+ one: score speed every 30s, on 2 clusters", "+ two: score forecast every 15s, on 1 cluster"]
    said = load(scoring(FULL, PINNED, config=config, distribute="rendered"))
    assert render_locked((), made.tree, scorings=said.scorings) == made.tree


def test_rendered_works_follow_the_clusters_of_the_hub_and_a_named_one_is_not_lost() -> None:
    terms = ["c1", {"selector": {"matchLabels": {"gpu": "yes"}}}]
    text = scoring(CLOSED, distribute="rendered", clusters=terms)
    gpu = make.cluster("c3", labels={"gpu": "yes"})
    things: list[make.Thing] = [make.cluster("c1"), make.cluster("c2"), gpu, make.cluster("c4", accepted=False)]
    first = planned(text, things=things)
    assert first.blueprint.scored_by(ID).clusters == ("c1", "c3")
    later = planned(text, things=[make.cluster("c2")], before=first)
    assert later.blueprint.scored_by(ID).clusters == ("c1",)
    assert "ocm/scorers: c1 is not on the hub, and keeps what git has for it" in later.warnings
    assert [c.path for c in later.difference.changes if c.action == "remove" and "kustom" not in c.path] == [
        f"rendered/c3/{WORK}"
    ]
    assert "ocm/scorers: c1 is not on the hub" in planned(text, things=[]).warnings


def test_no_cluster_gets_two_lists_and_no_list_is_too_long() -> None:
    other = scoring(
        {**CLOSED, "name": "b", "scoring": {"params": {**PARAMS, "name": "b"}}}, name="z", distribute="rendered"
    )
    with pytest.raises(InputError, match="ocm/scorers and ocm/z both give scorers to c1"):
        planned(scoring(CLOSED, distribute="rendered", clusters=["c1"]), other)
    params = {"query": "up" + " + up" * 13_000, "range": 60, "step": 5}
    many = [
        {
            **CLOSED,
            "name": f"s{i}",
            "source": {**PROMETHEUS, "params": params},
            "scoring": {"params": {**PARAMS, "name": f"s{i}"}},
        }
        for i in range(8)
    ]
    with pytest.raises(InputError, match="and a ManifestWork has room for 512000"):
        planned(scoring(*many, distribute="rendered"))
    assert planned(scoring(*many[:7], distribute="rendered")).status == "changed"


@pytest.mark.parametrize(
    ("change", "fields", "warned"),
    [
        ({"description": "other"}, "description", False),
        ({"scoreDimensionFormat": "${app}"}, "scoreDimensionFormat", True),
        ({"scoring": {"params": {**PARAMS, "interval": 5}}}, "scoring.params.interval", True),
        ({"scoring": {"params": {**PARAMS, "name": "new"}}}, "scoring.params.name", False),
        ({"configURL": "http://other/config"}, "configURL, scoring.host", True),
    ],
)
def test_a_change_that_running_agents_do_not_take_up_is_a_warning(
    change: dict[str, Any], fields: str, warned: bool
) -> None:
    first = planned(scoring(CLOSED))
    second = planned(scoring({**CLOSED, **change}), before=first)
    assert [str(step) for step in scoring_steps(second.difference)] == [f"~ one: {fields}"]
    assert any("agents that run already keep the old" in w for w in second.warnings) == warned


def test_commit_and_plan_say_what_changes() -> None:
    first = planned(scoring(CLOSED, OPEN))
    message = commit_message(first, "1")
    assert message.splitlines()[0] == "gitops-ds: add 2 scorers"
    assert "Scorers:\n- + masks of ocm\n- + one: score speed every 30s\n- + two: as it says itself\n" in message
    config = {"masks": [{"clusterName": "c1", "scoreName": "speed"}]}
    second = planned(scoring({**CLOSED, "location": "External"}, config=config), before=first)
    message = commit_message(second, "1")
    assert message.splitlines()[0] == "gitops-ds: change 1 scorer, remove 1 scorer"
    assert "- ~ masks of ocm: speed of c1 off\n- ~ one: location\n- - two\n" in message
    text = [line for line, _ in plan_text(second)]
    at = text.index("Scoring")
    assert text[at + 1 : at + 4] == ["  ~ masks of ocm: speed of c1 off", "  ~ one: location", "  - two"]
    assert "### Scorers\n\n- change `masks of ocm`: speed of c1 off\n- change `one`: location\n" in plan_markdown(
        second, None
    )
    only = planned(scoring(CLOSED, OPEN, config=config), before=first)
    assert commit_message(only, "1").splitlines()[0] == "gitops-ds: record what the intents say now"


def test_what_a_reader_should_know_of_names_and_masks() -> None:
    params = {"params": {**PARAMS, "name": "Perf_Score"}}
    config = {"masks": [{"clusterName": "c9", "scoreName": "Perf_Score"}]}
    made = planned(scoring({**CLOSED, "scoring": params}, config=config))
    assert made.warnings == (
        "the score Perf_Score is called perf-score on the hub: intents name it so",
        "ocm/scorers masks Perf_Score on c9, which the hub does not have",
    )


def test_scorers_stand_beside_placements_and_leave_them_as_they_are() -> None:
    placing = make.intent(ONE, ["w1", "w2"])
    alone = planned(placing, things=world())
    both = planned(placing, scoring(CLOSED), things=world())
    mine = {path for path in both.tree if path.startswith("rendered/ocm/")}
    assert mine
    kept = {path for path in alone.tree if path.startswith("rendered/default/")}
    assert all(both.tree[path] == alone.tree[path] for path in kept)
    gone = planned(placing, things=world(), before=both)
    assert {c.path for c in gone.difference.changes if c.action == "remove"} == mine
    assert gone.blueprint.placements == alone.blueprint.placements


def test_a_scorer_of_the_repository_says_how_its_items_are_named() -> None:
    text = make.intent(ONE, ["w1"], scores=[{"name": "speed"}])
    said = load(text, scoring({**CLOSED, "scoreDimensionFormat": "${app};${device}"}))
    facts = with_scorers(make.inventory(*world()), Scoring(said.scorings))
    assert [(s.score, s.dimension_format) for s in facts.scorers] == [("speed", "${app};${device}")]
    made = plan(said.placements, facts, {}, make.NOW, solve, scoring=Scoring(said.scorings))
    assert state(made.problem) == "ELIGIBLE"
    running = replace(facts, scorers=(make.scorer("speed", "${app}"), *facts.scorers))
    assert state(plan(said.placements, running, {}, make.NOW, solve).problem) == "NO_SCORE"


def test_a_hand_edit_that_is_no_yaml_is_still_a_change() -> None:
    first = planned(scoring(CLOSED))
    path = f"{FOLDER}/dynamicscorer-one.yaml"
    spoilt = replace(first, tree={**first.tree, path: b"]["})
    second = planned(scoring(CLOSED), before=spoilt)
    assert second.status == "held"
    assert [step.verb for step in scoring_steps(second.difference)] == ["change"]


@pytest.mark.skipif("CRDCHECK" not in os.environ, reason="CRDCHECK names no checker")
@pytest.mark.parametrize("distribute", ["controller", "rendered"])
def test_every_rendered_kind_is_as_its_definition_says(distribute: str, tmp_path: Path) -> None:
    scorers: list[dict[str, Any]] = [FULL, PINNED, *([{**OPEN, "name": "open"}] if distribute == "controller" else [])]
    config = {"masks": [{"clusterName": "c2", "scoreName": "speed"}]}
    made = planned(scoring(*scorers, config=config, distribute=distribute), told={"two": TOLD})
    for path, content in made.tree.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    line = [sys.executable, os.environ["CRDCHECK"], str(tmp_path / "rendered")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ClusterName("c1") in made.blueprint.scored_by(ID).clusters or distribute == "controller"
