"""A scorer's `/config` over real HTTP: what counts, what is followed, and what git's lock stands in for."""

import json
from typing import Any

import pytest

from gitops_ds.blueprint import Blueprint, ScoredBy
from gitops_ds.errors import HubError, HubUnreachable
from gitops_ds.hub.scorer_config import fetch_config, read_told
from gitops_ds.hub.web import Access
from gitops_ds.ids import IntentId, IntentName, Namespace
from gitops_ds.intent.load import LoadedScoring, load_all
from gitops_ds.intent.scoring import ScorerSpec
from gitops_ds.intent.told import read_config
from tests.contract.metric_servers import Reply, as_json, scripted

TOLD = {
    "name": "forecast",
    "source": {"type": "None", "params": {"query": "", "range": 0, "step": 0}},
    "scoring": {"path": "/score", "params": {"name": "forecast-score", "interval": 15}},
}
ID = IntentId(Namespace("ocm"), IntentName("scorers"))
QUICK = Access(seconds=0.5, most=2**20)


def pinned(*urls: str) -> tuple[LoadedScoring, ...]:
    scorers = [{"name": f"s{i}", "description": "d", "configURL": url, "pin": True} for i, url in enumerate(urls)]
    text = "apiVersion: gitops-ds.io/v1alpha1\nkind: ScoringIntent\nmetadata: {name: scorers, namespace: ocm}\n"
    return load_all({"intent/a.yaml": f"{text}spec: {json.dumps({'scorers': scorers})}\n".encode()}).scorings


def scorer(url: str) -> ScorerSpec:
    return pinned(url)[0].intent.spec.scorers[0]


def test_what_a_scorer_says_is_read_after_a_redirect_on_its_own_host() -> None:
    moved: Reply = (307, {"Location": "/v2/config"}, b"")
    with scripted([moved, as_json(TOLD)]) as told:
        assert fetch_config(scorer(f"{told.url}/config?model=small")) == read_config(TOLD)
    assert [(a.method, a.path) for a in told.asked] == [("GET", "/config?model=small"), ("GET", "/v2/config")]
    assert all("Authorization" not in a.headers for a in told.asked)


def test_a_redirect_to_another_host_is_not_followed() -> None:
    with scripted([as_json(TOLD)]) as other, scripted([(302, {"Location": f"{other.url}/config"}, b"")]) as told:
        with pytest.raises(HubError, match="scorer s0: its configuration: it leads to another host"):
            fetch_config(scorer(told.url))
        assert other.asked == []


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        ((302, {"Location": "/again"}, b""), HubError, "without end"),
        ((404, {}, b"nothing"), HubError, "answers with status 404; check configURL"),
        ((500, {}, b""), HubUnreachable, "answers with status 500"),
        ((200, {}, b"<html>"), HubError, "is no JSON; check configURL"),
        ((200, {}, b"[" * 100_000), HubError, "is no JSON"),
        ((200, {}, b"{}"), HubError, "does not do; scoring: Field required"),
        ((200, {}, b" " * (2**20 + 1)), HubError, "more than 1 MiB"),
        (lambda handler: handler.rfile.read(1), HubUnreachable, r"no answer within 0\.5 seconds"),
        (lambda handler: None, HubUnreachable, "the connection ended before the answer did"),
    ],
)
def test_what_is_no_configuration_is_said_in_plain_words(reply: Any, kind: type[HubError], said: str) -> None:
    with scripted([reply]) as told, pytest.raises(HubError, match=said) as error:
        fetch_config(scorer(told.url), QUICK)
    assert type(error.value) is kind


def test_the_lock_stands_in_for_a_scorer_that_fails_and_only_for_that() -> None:
    kept = read_config({**TOLD, "scoring": {"path": "/old", "params": {"name": "old", "interval": 1}}})
    old = Blueprint(scorings=(ScoredBy(ID, {"s0": kept, "s1": kept}),))
    with scripted([(500, {}, b"")]) as bad, scripted([as_json(TOLD)]) as good:
        told, notes = read_told(pinned(bad.url, good.url), old)
    assert told == {ID: {"s0": kept, "s1": read_config(TOLD)}}
    assert notes == (
        "scorer s0: its configuration: the scorer answers with status 500: what git's lock holds of it stands",
    )


def test_without_the_lock_every_scorer_that_fails_is_a_fault_at_its_line() -> None:
    with scripted([(500, {}, b"")]) as bad, scripted([as_json({})]) as worse:
        intents = pinned(bad.url, worse.url)
        with pytest.raises(HubError) as error:
            read_told(intents, Blueprint())
    assert [f.what for f in error.value.faults] == [
        "scorer s0: its configuration: the scorer answers with status 500",
        "scorer s1: its configuration does not do",
    ]
    assert {str(f.place) for f in error.value.faults} == {
        str(intents[0].at("spec", "scorers", i, "configURL")) for i in (0, 1)
    }


def test_nothing_pinned_asks_nobody() -> None:
    text = "apiVersion: gitops-ds.io/v1alpha1\nkind: ScoringIntent\nmetadata: {name: a, namespace: b}\n"
    body = {"scorers": [{"name": "x", "description": "d", "configURL": "http://127.0.0.1:1/config"}]}
    intents = load_all({"intent/a.yaml": f"{text}spec: {json.dumps(body)}\n".encode()}).scorings
    assert read_told(intents, None) == ({}, ())
