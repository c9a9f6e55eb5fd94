"""The objects: what each says by the facts of OCM, and names that never change."""

from typing import Any

import pytest

from gitops_ds.blueprint import Blueprint, ConfiguredBy, PlacedOn, Spot
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
from gitops_ds.manifests import Manifest, render
from gitops_ds.manifests.metadata import GENERATED, LONGEST_NAME, NO_SUBSTITUTION, generated_name
from tests import builders as make

NS = Namespace("default")
INTENT = IntentId(NS, IntentName("fleet"))
C1, C2 = ClusterName("c1"), ClusterName("c2")
OFFLINE = {f"cluster.open-cluster-management.io/{word}" for word in ("unavailable", "unreachable")}


def _policy(name: str) -> PolicyId:
    return PolicyId(NS, PolicyName(name))


def _render(
    *spots: Spot, workload: dict[str, Any] | None = None, pins: dict[ClusterName, str | None] | None = None, **spec: Any
) -> dict[tuple[str, str], Manifest]:
    intents = make.load(make.intent([{"name": "c1"}], [{"name": "w1", **(workload or {})}], **spec))
    configured = tuple(ConfiguredBy(s.cluster, s.policy, INTENT) for s in spots if s.policy)
    blueprint = Blueprint(
        (PlacedOn(WorkloadId(NS, WorkloadName("w1")), INTENT, PlacementName("w1-placement"), spots),),
        configured,
        pins or {s.cluster: "cluster-name" for s in spots},
    )
    return {(m.kind, m.name): m for m in render(blueprint, {one.id: one.intent for one in intents})}


def _spec(found: dict[tuple[str, str], Manifest], name: str = "w1-placement") -> Any:
    return found["Placement", name].body["spec"]


def test_a_workload_under_a_policy_is_pinned_behind_the_gate() -> None:
    (predicate,) = _spec(_render(Spot(C1, _policy("half"))))["predicates"]
    assert predicate["requiredClusterSelector"] == {
        "labelSelector": {"matchLabels": {"cluster-name": "c1"}},
        "claimSelector": {
            "matchExpressions": [{"key": "policy-watcher-claim", "operator": "In", "values": ["compliant"]}]
        },
    }


@pytest.mark.parametrize(
    ("workload", "policy", "gate"),
    [
        ({}, None, None),
        ({"gate": "none"}, "half", None),
        ({"gate": {"claim": "mine", "values": ["b", "a"]}}, "half", ("mine", ["a", "b"])),
    ],
)
def test_the_gate_is_the_intents_and_only_under_a_policy(
    workload: dict[str, Any], policy: str | None, gate: tuple[str, list[str]] | None
) -> None:
    spot = Spot(C1, _policy(policy) if policy else None)
    (predicate,) = _spec(_render(spot, workload=workload))["predicates"]
    claims = predicate["requiredClusterSelector"].get("claimSelector", {}).get("matchExpressions")
    assert claims == (None if gate is None else [{"key": gate[0], "operator": "In", "values": gate[1]}])


def test_several_clusters_are_one_placement_with_a_predicate_for_each_way_of_pinning() -> None:
    spec = _spec(_render(Spot(C1, _policy("half")), Spot(C2), pins={C1: "cluster-name", C2: None}))
    assert spec["numberOfClusters"] == 2
    free, gated = spec["predicates"]
    assert free["requiredClusterSelector"] == {
        "celSelector": {"celExpressions": ['managedCluster.metadata.name in ["c2"]']}
    }
    assert gated["requiredClusterSelector"]["labelSelector"] == {"matchLabels": {"cluster-name": "c1"}}
    together = _spec(_render(Spot(C1), Spot(C2)))["predicates"]
    assert [p["requiredClusterSelector"]["labelSelector"] for p in together] == [
        {"matchExpressions": [{"key": "cluster-name", "operator": "In", "values": ["c1", "c2"]}]}
    ]


def test_an_offline_cluster_is_tolerated_for_a_while_by_workloads_and_for_ever_by_policies() -> None:
    found = _render(Spot(C1, _policy("half")))
    mine = {t["key"]: t.get("tolerationSeconds") for t in _spec(found)["tolerations"]}
    assert mine == dict.fromkeys(OFFLINE, 300)
    theirs = _spec(found, generated_name("placement", INTENT, C1))["tolerations"]
    assert {t["key"]: t.get("tolerationSeconds") for t in theirs} == dict.fromkeys(OFFLINE)
    assert {t["operator"] for t in theirs} == {"Exists"}


def test_the_intents_own_tolerations_win_over_ours() -> None:
    key = "cluster.open-cluster-management.io/unreachable"
    own = {"key": key, "operator": "Exists", "tolerationSeconds": 5}
    said = _spec(_render(Spot(C1), workload={"tolerations": [own, {"key": "k", "value": "v"}]}))["tolerations"]
    assert said[:2] == [own, {"key": "k", "operator": "Equal", "value": "v"}]
    assert [t["key"] for t in said[2:]] == ["cluster.open-cluster-management.io/unavailable"]
    every = _spec(_render(Spot(C1), workload={"tolerations": [{"operator": "Exists"}]}))["tolerations"]
    assert every == [{"operator": "Exists"}]


def test_a_policy_is_bound_by_group_names_without_a_version() -> None:
    binding = _render(Spot(C1, _policy("half")))["PlacementBinding", generated_name("binding", INTENT, C1)].body
    name = generated_name("placement", INTENT, C1)
    group = "cluster.open-cluster-management.io"
    assert binding["placementRef"] == {"apiGroup": group, "kind": "Placement", "name": name}
    assert binding["subjects"] == [{"apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "half"}]


def test_nothing_says_what_ocm_ignores_or_is_emptied_by() -> None:
    for manifest in _render(Spot(C1, _policy("half")), Spot(C2)).values():
        text = str(manifest.body)
        assert not any(word in text for word in ("spreadPolicy", "sortBy", "scoreRateLimit", "decisionStrategy"))
        assert manifest.body.get("spec", {}).get("numberOfClusters", 1) >= 1


def test_every_object_carries_its_labels_and_its_wave() -> None:
    found = _render(Spot(C1, _policy("half")), bindClusterSets=["gpu"])
    waves = {}
    for (kind, name), manifest in found.items():
        metadata = manifest.body["metadata"]
        assert metadata["namespace"] == "default"
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "gitops-ds"
        assert metadata["labels"]["gitops-ds.io/intent"] == "fleet"
        assert (GENERATED in metadata["labels"]) == (kind != "ManagedClusterSetBinding")
        waves[name.rpartition("-")[0] or name] = int(metadata["annotations"]["argocd.argoproj.io/sync-wave"])
    assert waves["gpu"] < waves["placement-c1"] == waves["binding-c1"] < waves["w1"]


def test_workloads_come_in_the_order_that_after_says() -> None:
    intents = make.load(
        make.intent([{"name": "c1"}], [{"name": "a", "after": ["b"]}, {"name": "b", "after": ["c"]}, "c"])
    )
    placed = tuple(
        PlacedOn(WorkloadId(NS, WorkloadName(w)), INTENT, PlacementName(w), (Spot(C1),)) for w in ("a", "b", "c")
    )
    found = render(Blueprint(placed, (), {C1: "name"}), {one.id: one.intent for one in intents})
    assert [(m.name, m.body["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]) for m in found] == [
        ("a", "3"),
        ("b", "2"),
        ("c", "1"),
    ]


def test_what_flux_would_substitute_is_marked() -> None:
    found = _render(Spot(C1, _policy("half")), workload={"gate": {"values": ["ok"], "claim": "${claim}"}})
    marked = {key[1] for key, m in found.items() if NO_SUBSTITUTION in m.body["metadata"]["annotations"]}
    assert marked == {"w1-placement"}


def test_generated_names_are_stable_distinct_and_short_enough() -> None:
    assert generated_name("placement", INTENT, C1) == "placement-c1-7c541c2f"
    long = [ClusterName("c" * 59 + f"{i:04}") for i in range(50)]
    names = {generated_name("placement", INTENT, c) for c in long}
    assert len(names) == 50
    assert max(map(len, names)) <= LONGEST_NAME
    other = IntentId(NS, IntentName("other"))
    assert generated_name("binding", INTENT, C1) != generated_name("binding", other, C1)
    dotted = generated_name("placement", INTENT, ClusterName("a." * 31 + "a"))
    assert ".-" not in dotted
    assert "--" not in dotted
