"""The lock: what is written reads back, and what somebody else wrote is refused."""

import json
from typing import Any

import pytest

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
from gitops_ds.errors import RepositoryError
from gitops_ds.ids import (
    ClusterName,
    IntentId,
    IntentName,
    Namespace,
    PlacementName,
    PolicyId,
    PolicyName,
    WorkloadId,
    WorkloadName,
)
from gitops_ds.lock import Lock, read_lock, write_lock
from gitops_ds.problem.model import Incumbent

NS = Namespace("default")
INTENT = IntentId(NS, IntentName("fleet"))
POLICY = PolicyId(NS, PolicyName("half-c1"))
ONE, TWO = WorkloadId(NS, WorkloadName("w1")), WorkloadId(NS, WorkloadName("w2"))
C1, C2 = ClusterName("c1"), ClusterName("c2")

LOCK = Lock(
    intents={INTENT: "0" * 64},
    blueprint=Blueprint(
        (
            PlacedOn(ONE, INTENT, PlacementName("p1"), (Spot(C1, POLICY, 12_500), Spot(C2, None, -3000))),
            PlacedOn(TWO, INTENT, PlacementName("p2"), (Spot(C1, POLICY),)),
        ),
        (ConfiguredBy(C1, POLICY, INTENT),),
        {C1: "cluster-name", C2: None},
    ),
    incumbent=Incumbent({ONE: (C2,)}, {C1: POLICY}),
    solver={"name": "a solver"},
    scores={"default/w1": {"c1/half-c1": 12.5}},
)


def test_it_reads_back_as_it_was() -> None:
    found = read_lock(write_lock(LOCK), "the lock")
    assert found == LOCK
    scores = [[s.score for s in p.spots] for p in found.blueprint.placements]
    assert scores == [[12_500, -3000], [None]]


def test_it_is_plain_sorted_json_with_a_final_newline() -> None:
    text = write_lock(LOCK).decode("ascii")
    assert text.endswith("}\n")
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def _changed(*path: Any, to: Any) -> bytes:
    body = json.loads(write_lock(LOCK))
    here = body
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = to
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"{",
        b"[" * 100_000,
        _changed("placements", to=None),
        _changed("placements", 0, "workload", to="w1"),
        _changed("placements", 0, "clusters", 0, "score", to="high"),
        _changed("placements", 0, "clusters", 0, "score", to=float("inf")),
        _changed("placements", 0, "clusters", 0, "score", to=float("nan")),
        _changed("configurations", 0, "policy", to="/half"),
        _changed("configurations", 0, "cluster", to="c9"),
        _changed("pins", to={"c1": "name"}),
        _changed("intents", to=["default/fleet"]),
        _changed("incumbent", to={}),
    ],
)
def test_what_we_did_not_write_is_refused_with_the_way_back(content: bytes) -> None:
    with pytest.raises(RepositoryError) as caught:
        read_lock(content, "rendered/gitops-ds.lock")
    (fault,) = caught.value.faults
    assert fault.what == "the lock is not as gitops-ds wrote it"
    assert str(fault.place) == "rendered/gitops-ds.lock"
    assert "git checkout" in fault.fix


def test_a_lock_of_another_version_is_refused_as_that() -> None:
    with pytest.raises(RepositoryError, match="of a version that this release does not read"):
        read_lock(_changed("apiVersion", to="gitops-ds.io/v2"), "lock")
