"""`ScoringIntent`: its defaults, every fault at its line and column, and nothing secret in any message."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gitops_ds.errors import Fault, InputError, Place
from gitops_ds.ids import ScoreName
from gitops_ds.intent.load import Intents, intent_digest, load_all
from gitops_ds.intent.scoring import score_object_name
from gitops_ds.intent.told import read_config, settled, write_config
from tests import builders as make

URL = "http://scorer.scoring.svc:8000/config"
PARAMS = {"name": "speed", "interval": 30}
CLOSED = {
    "name": "one",
    "description": "d",
    "configURL": URL,
    "configSyncMode": "None",
    "source": {"type": "None"},
    "scoring": {"params": PARAMS},
}
OPEN = {"name": "two", "description": "d", "configURL": URL}
PROMETHEUS = {"type": "Prometheus", "host": "http://p:9090", "params": {"query": "up", "range": 60, "step": 5}}


def scoring(*scorers: Mapping[str, Any], name: str = "scorers", namespace: str = "ocm", **spec: Any) -> str:
    return "\n".join(
        [
            "apiVersion: gitops-ds.io/v1alpha1",
            "kind: ScoringIntent",
            f"metadata: {{name: {name}, namespace: {namespace}}}",
            "spec:",
            "  scorers:",
            *(f"    - {json.dumps(one)}" for one in scorers),
            *(f"  {key}: {json.dumps(value)}" for key, value in spec.items()),
            "",
        ]
    )


def load(*texts: str) -> Intents:
    return load_all({f"intent/{i}.yaml": text.encode() for i, text in enumerate(texts)})


def faults(*texts: str) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as error:
        load(*texts)
    return error.value.faults


def fault(*texts: str) -> Fault:
    found = faults(*texts)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def test_a_repository_of_scoring_intents_alone_loads_with_every_default() -> None:
    said = load(scoring(CLOSED, OPEN))
    (loaded,) = said.scorings
    assert said.placements == ()
    assert str(loaded.id) == "ocm/scorers"
    one, two = loaded.intent.spec.scorers
    assert (one.location, one.scoreDestination, one.scoreDimensionFormat) == (
        "Internal",
        "AddOnPlacementScore",
        "${scoreName}",
    )
    assert (two.configSyncMode, two.pin, two.is_open, one.is_open) == ("Full", False, True, False)
    assert loaded.intent.spec.distribute == "controller"


def test_the_order_of_scorers_and_masks_changes_no_digest() -> None:
    masks = [{"clusterName": c, "scoreName": "speed"} for c in ("a", "b")]
    first = load(scoring(CLOSED, OPEN, config={"masks": masks})).scorings[0].intent
    other = load(scoring(OPEN, CLOSED, config={"masks": masks[::-1]})).scorings[0].intent
    assert intent_digest(first) == intent_digest(other)
    assert intent_digest(first) != intent_digest(load(scoring(CLOSED)).scorings[0].intent)


@pytest.mark.parametrize(
    ("change", "said", "at"),
    [
        ({"scoring": {}}, "scorer one: scoring.params is missing", "scoring"),
        ({"source": {}}, "scorer one: source.type is missing: Prometheus or None", "source"),
        ({"source": {"type": "Prometheus"}}, "scorer one: source.host is missing", "source"),
        ({"source": {"type": "prometheus"}}, "should be 'Prometheus' or 'None', not \"prometheus\"", "type"),
        ({"source": {"type": "None", "host": "http://x"}}, "type None reads nothing: leave out host", "source"),
        ({"location": "internal"}, "should be 'Internal' or 'External'", "location"),
        ({"scoreDestination": "none"}, "should be 'AddOnPlacementScore' or 'None'", "scoreDestination"),
        ({"configSyncMode": "full"}, "should be 'Full' or 'None'", "configSyncMode"),
        ({"pin": True}, "scorer one: pin reads what the scorer says", "pin"),
        ({"scoreDimensionFormat": "${App}"}, "scorer one: ${App} is no placeholder", "scoreDimensionFormat"),
        ({"configURL": "ftp://x/"}, "write a URL such as", "configURL"),
        ({"configURL": "http://x:port/"}, "this is no URL", "configURL"),
        ({"name": "One"}, '"One" is no DNS name', "name"),
        ({"scoring": {"params": {**PARAMS, "interval": 0}}}, "greater than or equal to 1", "interval"),
        ({"scoring": {"params": {**PARAMS, "interval": "30s"}}}, "a valid integer", "interval"),
        ({"scoring": {"params": PARAMS, "path": "score"}}, "write a path such as /score", "path"),
        (
            {"source": {**PROMETHEUS, "params": {"query": "rate(up[5x])", "range": 60, "step": 5}}},
            'query: column 9: "5x" is no duration',
            "query",
        ),
    ],
)
def test_a_fault_of_a_scorer_stands_at_its_line_and_column(change: dict[str, Any], said: str, at: str) -> None:
    text = scoring({**CLOSED, **change})
    found = next(f for f in faults(text) if said in f.what)
    line = text.splitlines()[5]
    assert found.place == Place("intent/0.yaml", 6, line.index(f'"{at}"') + 1)


def test_a_name_of_which_nothing_is_left_is_refused() -> None:
    params = {"params": {**PARAMS, "name": "___"}}
    assert "no character of it may stand in the name" in fault(scoring({**CLOSED, "scoring": params})).what


def test_a_host_for_scoring_in_full_mode_is_refused_and_pinned_it_is_not() -> None:
    scorer = {**OPEN, "scoring": {"host": "http://elsewhere:1"}}
    assert "scoring.host does not count in configSyncMode Full" in fault(scoring(scorer)).what
    assert load(scoring({**scorer, "pin": True})).scorings


def test_rendered_distribution_leaves_nothing_open() -> None:
    assert "Full leaves that open" in fault(scoring(OPEN, distribute="rendered")).what
    assert load(scoring({**OPEN, "pin": True}, CLOSED, distribute="rendered", clusters=["c1"])).scorings
    assert "none are rendered" in fault(scoring(CLOSED, clusters=["c1"])).what


def test_what_stands_twice_is_refused_wherever_it_stands() -> None:
    other = {**CLOSED, "name": "other", "scoring": {"params": {**PARAMS, "name": "Speed"}}}
    assert "both write the AddOnPlacementScore speed" in fault(scoring(CLOSED, other)).what
    apart = fault(scoring(CLOSED), scoring(other, name="b", namespace="zzz"))
    assert "scorers one and other both write the AddOnPlacementScore speed" in apart.what
    assert "scorer one stands twice" in faults(scoring(CLOSED, CLOSED))[0].what
    twice = faults(scoring(OPEN), scoring(OPEN, name="b"))
    assert [f.what for f in twice] == ["scorer two stands in another intent of ocm too"]
    assert "intent ocm/scorers stands twice" in faults(scoring(OPEN), scoring(CLOSED))[0].what
    placing = make.intent([{"name": "c1"}], ["w1"], name="scorers", namespace="ocm")
    assert fault(placing, scoring(CLOSED)).what == "intent ocm/scorers stands twice"


def test_a_namespace_has_one_config_and_one_way_of_handing_out() -> None:
    empty: dict[str, Any] = {"masks": []}
    two = fault(scoring(CLOSED, config=empty), scoring(OPEN, name="zzz", config=empty))
    assert two.what == "the DynamicScoringConfig of ocm stands in ocm/scorers too, and there is one a namespace"
    assert two.place == make.place(scoring(OPEN, name="zzz", config=empty), "config:", "intent/1.yaml")
    assert load(scoring(CLOSED, config=empty), scoring(OPEN, name="b", namespace="c", config=empty)).scorings
    ways = fault(scoring(CLOSED, distribute="rendered"), scoring(OPEN, name="b"))
    assert "which writes the same ManifestWorks" in ways.what


def test_masks_name_scores_that_there_are() -> None:
    wrong = {"masks": [{"clusterName": "c1", "scoreName": "sped"}]}
    found = fault(scoring(CLOSED, config=wrong))
    assert found.what == "no scorer of ocm writes the score sped"
    assert found.fix == "did you mean speed? Known scores: speed"
    assert load(scoring(CLOSED, OPEN, config=wrong)).scorings  # what an open scorer writes is not known here
    twice = {"masks": [{"clusterName": "c1", "scoreName": "speed"}] * 2}
    assert "the mask of speed on c1 stands twice" in fault(scoring(CLOSED, config=twice)).what


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "scorer",
    [
        {**OPEN, "configURL": f"http://user:{SECRET}@scorer/config"},
        {**OPEN, "configURL": f"http://scorer/config?access_token={SECRET}"},
        {**OPEN, "configURL": f"http://scorer/config?sig={SECRET}"},
        {**OPEN, "configURL": [SECRET]},
        {**OPEN, "token": SECRET},
        {**OPEN, "headers": {"Authorization": f"Bearer {SECRET}"}},
        {**CLOSED, "source": {**PROMETHEUS, "auth": f"Bearer {SECRET}"}},
        {**CLOSED, "source": {**PROMETHEUS, "auth": {"token": SECRET}}},
        {**CLOSED, "source": {**PROMETHEUS, "auth": {"tokenSecretRef": {"name": "n", "key": f"{SECRET}/="}}}},
        {**CLOSED, "source": {**PROMETHEUS, "host": f"https://:{SECRET}@p"}},
        {**CLOSED, "scoring": {"params": PARAMS, "host": f"https://{SECRET}@s"}},
        {**CLOSED, "scoring": {"params": PARAMS, "auth": {"tokenSecretRef": SECRET}}},
    ],
)
def test_a_literal_credential_is_refused_and_not_repeated(scorer: dict[str, Any]) -> None:
    found = faults(scoring(scorer))
    assert all(SECRET not in str(f) for f in found), found


def test_a_token_is_led_to_its_secret() -> None:
    assert "tokenSecretRef: {name: ..., key: ...}" in fault(scoring({**OPEN, "bearer": "x"})).fix


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"name": "hub", "prometheus": {"url": "http://x"}}, "hub is the name of the hub's own scores"),
        ({"name": "a", "prometheus": {"url": f"http://u:{SECRET}@x"}}, "with a user name or a password"),
        ({"name": "a", "prometheus": {"url": "http://x?y=z"}}, "leave out what follows the ?"),
        ({"name": "a", "prometheus": {"url": "http://x", "query": "max(dynamic_score)"}}, "more than a selector"),
        ({"name": "a", "prometheus": {"url": "http://x", "bearerToken": SECRET}}, "unknown field"),
        (
            {
                "name": "a",
                "prometheus": {
                    "url": "http://x",
                    "bearerTokenFile": "t",
                    "basicAuth": {"username": "u", "passwordFile": "p"},
                },
            },
            "say either bearerTokenFile or basicAuth",
        ),
    ],
)
def test_sources_of_scores_are_checked(source: dict[str, Any], said: str) -> None:
    found = fault(reconciler(source))
    assert said in found.what
    assert SECRET not in str(found)


def reconciler(*sources: dict[str, Any], name: str = "r", **spec: Any) -> str:
    body = {"scoreSources": list(sources), **spec}
    head = f"apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {json.dumps(body)}\n"


def test_an_intent_names_a_source_that_each_of_its_reconcilers_has() -> None:
    text = make.intent([{"name": "c1"}], ["w1"], scores=[{"name": "speed", "source": "vm"}])
    vm = {"name": "vm", "prometheus": {"url": "http://vm:8428"}}
    assert load(text, reconciler(vm)).placements
    assert [f.what for f in faults(text)] == ["no Reconciler of this intent has the score source vm"]
    found = fault(text, reconciler({**vm, "name": "vmm"}))
    assert found.fix == "did you mean vmm? Known sources: hub, vmm"
    assert found.place == make.place(text, '"source"')
    elsewhere = reconciler(name="other", intents="intent/prod", rendered="elsewhere")
    assert load(text, reconciler(vm), elsewhere).placements
    assert "source vm stands twice" in fault(text, reconciler(vm, vm)).what


def test_one_score_may_be_read_from_two_sources() -> None:
    twice = [{"name": "speed"}, {"name": "speed", "source": "vm"}]
    text = make.intent([{"name": "c1"}], ["w1"], scores=twice)
    assert load(text, reconciler({"name": "vm", "prometheus": {"url": "http://vm"}})).placements


@pytest.mark.parametrize(
    ("score", "name"),
    [
        ("Perf_Score", "perf-score"),
        ("a..b", "a..b"),
        ("-x-", "x"),
        ("a__b--c", "a-b-c"),
        ("é", ""),
        ("x" * 300, "x" * 253),
    ],
)
def test_scores_are_called_as_the_agent_calls_them(score: str, name: str) -> None:
    assert score_object_name(score) == ScoreName(name)


TOLD: dict[str, Any] = {
    "name": "any",
    "description": "what it says",
    "source": {
        "type": "prometheus",
        "host": "",
        "path": "/api/v1/query_range",
        "params": {"query": "up", "range": 3600, "step": 60, "more": 1},
        "auth": {"token": SECRET},
    },
    "scoring": {"path": "/go", "params": {"name": "forecast", "interval": 10}, "other": True},
    "version": 7,
}


def test_what_a_scorer_says_wins_field_by_field_and_the_rest_stands() -> None:
    auth = {"tokenSecretRef": {"name": "n", "key": "k"}}
    said = {**OPEN, "pin": True, "source": {"auth": auth}, "scoring": {"host": "http://h:1", "auth": auth}}
    scorer = load(scoring(said)).scorings[0].intent.spec.scorers[0]
    found = settled(scorer, read_config(TOLD))
    assert (found.configSyncMode, found.pin, found.description) == ("None", False, "d")
    assert found.source.model_dump(exclude_none=True) == {
        "type": "Prometheus",
        "host": "http://scorer.scoring.svc:8000",
        "path": "/api/v1/query_range",
        "params": {"query": "up", "range": 3600, "step": 60},
        "auth": auth,
    }
    assert found.scoring.model_dump(exclude_none=True) == {
        "host": "http://h:1",
        "path": "/go",
        "params": {"name": "forecast", "interval": 10},
        "auth": auth,
    }


def test_a_scorer_without_metrics_may_say_empty_ones() -> None:
    none = {"type": "None", "host": "", "path": "", "params": {"query": "", "range": 0, "step": 0}}
    told = read_config({**TOLD, "source": none})
    scorer = load(scoring({**OPEN, "pin": True, "source": PROMETHEUS})).scorings[0].intent.spec.scorers[0]
    assert settled(scorer, told).source.model_dump(exclude_none=True) == {"type": "None"}


def test_what_a_scorer_said_is_kept_whole() -> None:
    told = read_config(TOLD)
    assert read_config(json.loads(json.dumps(write_config(told)))) == told
    assert SECRET not in json.dumps(write_config(told))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "the answer: Input should be"),
        ({}, "scoring: Field required"),
        ({"scoring": {"params": {"name": "x", "interval": "10"}}}, "scoring.params.interval: Input should be a valid"),
        ({"scoring": {"params": {"name": "x", "interval": 1}, "host": f"http://u:{SECRET}@h"}}, "scoring.host: a URL"),
        ({**TOLD, "source": {"type": "Loki"}}, "source.type: Input should be 'Prometheus' or 'None'"),
        (
            {**TOLD, "source": {"type": "Prometheus", "params": {"query": "x[", "range": 1, "step": 1}}},
            "source.params.query: column 2",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")) as error:
        read_config(value)
    assert SECRET not in str(error.value)
