"""Plain Kubernetes objects become inventory values, and everything wrong with them is said at once, with its place."""

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.errors import InputError, Source
from gitops_ds.hub import merge_repository, objects_from_files, parse_objects, score_object_name
from gitops_ds.hub.agreement import first_difference
from gitops_ds.hub.flatten import KubeObject
from gitops_ds.hub.node import dotted, read_instant
from gitops_ds.ids import ClusterName, Namespace, PolicyId, PolicyName, ScoreName, WorkloadId, WorkloadName
from gitops_ds.inventory import Inventory, Policy, SetBinding, Skipped, Taint

CLUSTER = "cluster.open-cluster-management.io"
POLICY_A = PolicyId(Namespace("default"), PolicyName("policy-a"))
WORKLOAD_A = WorkloadId(Namespace("default"), WorkloadName("mwrs-a"))


def parsed(text: str, file: str = "hub.yaml") -> Inventory:
    return parse_objects(objects_from_files({file: dedent(text).encode()}))


def faults(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parsed(text)
    return [str(fault) for fault in caught.value.faults]


def plain(kind: str, api: str, name: str, namespace: str | None = None, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **rest.pop("metadata", {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}


def policy(**rest: Any) -> dict[str, Any]:
    spec = {"disabled": False, "policy-templates": []}
    return plain("Policy", "policy.open-cluster-management.io/v1", "policy-a", "default", **{"spec": spec, **rest})


def workload(**rest: Any) -> dict[str, Any]:
    spec = {"placementRefs": [{"name": "a-placement"}]}
    api = "work.open-cluster-management.io/v1alpha1"
    return plain("ManifestWorkReplicaSet", api, "mwrs-a", "default", **{"spec": spec, **rest})


def inventory(*objects: Mapping[str, Any], file: str = "hub.yaml") -> Inventory:
    return parse_objects(KubeObject(item, Source(file)) for item in objects)


def merged(hub: Mapping[str, Any], ours: Mapping[str, Any]) -> Inventory:
    return merge_repository(inventory(hub), [KubeObject(ours, Source("policies/a.yaml"))])


FULL_CLUSTER = """
    apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata:
      name: c1
      uid: 8f5b7c1e-4a0b-4f0e-9c41-2d6f0f1a1c01
      resourceVersion: "812"
      labels: {region: eu, name: c1}
      managedFields: [{manager: hub, time: "2026-01-01T00:00:00Z"}]
    spec:
      hubAcceptsClient: true
      taints:
        - {key: z, effect: NoSelectIfNew}
        - {key: a, value: v, effect: NoSelect, timeAdded: 2026-01-15T10:00:00+01:00}
    status:
      allocatable: {cpu: 31, memory: 250Gi}
      capacity: {cpu: "32"}
      clusterClaims: [{name: id.k8s.io, value: c1}, {name: b, value: x}]
      conditions:
        - {type: HubAcceptedManagedCluster, status: "True"}
        - {type: ManagedClusterJoined, status: "True"}
        - {type: ManagedClusterConditionAvailable, status: "True"}
"""


def test_a_cluster_is_read_whole() -> None:
    (cluster,) = parsed(FULL_CLUSTER).clusters
    assert cluster.name == "c1"
    assert cluster.labels == {"name": "c1", "region": "eu"}
    assert cluster.claims == {"id.k8s.io": "c1", "b": "x"}
    assert cluster.taints == (
        Taint("a", "v", "NoSelect", datetime(2026, 1, 15, 9, tzinfo=UTC)),
        Taint("z", "", "NoSelectIfNew"),
    )
    assert (cluster.accepted, cluster.available) == (True, True)
    assert (cluster.allocatable, cluster.capacity) == ({"cpu": "31", "memory": "250Gi"}, {"cpu": "32"})
    assert str(cluster.source.at("spec", "taints", 1)) == "hub.yaml:14:7"


@pytest.mark.parametrize(
    ("spec", "conditions", "accepted", "available"),
    [
        ({"hubAcceptsClient": True}, {}, True, None),
        ({"hubAcceptsClient": False}, {}, False, None),
        ({"hubAcceptsClient": True}, {"HubAcceptedManagedCluster": "False"}, False, None),
        ({"hubAcceptsClient": True}, {"ManagedClusterConditionAvailable": "True"}, True, True),
        ({"hubAcceptsClient": True}, {"ManagedClusterConditionAvailable": "Unknown"}, True, False),
        ({"hubAcceptsClient": True}, {"ManagedClusterConditionAvailable": "False"}, True, False),
        (
            {"hubAcceptsClient": True},
            {"ManagedClusterJoined": "False", "ManagedClusterConditionAvailable": "True"},
            True,
            False,
        ),
    ],
)
def test_a_cluster_is_as_usable_as_its_conditions_say(
    spec: dict[str, Any], conditions: dict[str, str], accepted: bool, available: bool | None
) -> None:
    status = {"conditions": [{"type": kind, "status": state} for kind, state in conditions.items()]}
    (cluster,) = inventory(plain("ManagedCluster", f"{CLUSTER}/v1", "c1", spec=spec, status=status)).clusters
    assert (cluster.accepted, cluster.available) == (accepted, available)


def test_a_cluster_that_is_being_deleted_is_skipped_with_a_note() -> None:
    going = plain("ManagedCluster", f"{CLUSTER}/v1", "c1", metadata={"deletionTimestamp": "2026-01-15T09:00:00Z"})
    found = inventory(going)
    assert found.clusters == ()
    assert found.skipped == (Skipped("ManagedCluster/c1", "it is being deleted"),)


def test_cluster_sets_are_exclusive_or_select_by_label() -> None:
    found = parsed("""
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSet
        metadata: {name: default}
        ---
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSet
        metadata: {name: global}
        spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {}}}
        ---
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSet
        metadata: {name: some}
        spec:
          clusterSelector:
            selectorType: LabelSelector
            labelSelector:
              matchLabels: {gpu: "true"}
              matchExpressions: [{key: region, operator: In, values: [us, eu]}]
    """)
    exclusive, everything, some = found.cluster_sets
    assert (exclusive.match_labels, everything.match_labels, some.match_labels) == (None, {}, {"gpu": "true"})
    assert some.match_expressions == (("region", "In", ("eu", "us")),)


def test_a_set_binding_must_have_the_name_of_its_set() -> None:
    bound = plain("ManagedClusterSetBinding", f"{CLUSTER}/v1beta2", "default", "ns", spec={"clusterSet": "default"})
    assert inventory(bound).bound_sets(Namespace("ns")) == ("default",)
    with pytest.raises(
        InputError, match=r"ManagedClusterSetBinding/default \(ns\): spec.clusterSet: must be the binding's"
    ):
        inventory({**bound, "spec": {"clusterSet": "other"}})


SCORE = """
    apiVersion: cluster.open-cluster-management.io/v1alpha1
    kind: AddOnPlacementScore
    metadata:
      name: perf
      namespace: c1
      creationTimestamp: "2026-01-15T08:59:59Z"
      managedFields:
        - {manager: agent, time: "2026-01-15T08:50:00Z", subresource: status, fieldsV1: {"f:status": {}}}
        - {manager: kubectl-label, time: "2026-01-15T08:59:00Z", fieldsV1: {"f:metadata": {}}}
        - {manager: old, time: "2026-01-15T08:00:00Z"}
    status:
      validUntil: "2026-01-15T09:30:00.123456789Z"
      conditions: [{type: Synced, lastTransitionTime: "2026-01-15T08:55:00Z"}]
      scores:
        - {name: "b;x", value: -100}
        - {name: "a;x", value: 500}
        - {name: "b;x", value: 3}
"""


def test_a_score_keeps_its_items_as_read_and_its_last_sign_of_life() -> None:
    score = parsed(SCORE).score[ClusterName("c1"), ScoreName("perf")]
    assert score.items == (("b;x", -100), ("a;x", 500), ("b;x", 3))
    assert score.valid_until == datetime(2026, 1, 15, 9, 30, 0, 123456, tzinfo=UTC)
    assert score.seen_at == datetime(2026, 1, 15, 8, 55, tzinfo=UTC)


def test_neither_creation_nor_a_label_is_a_sign_of_life_of_a_score() -> None:
    metadata = {
        "creationTimestamp": "2026-01-15T08:59:59Z",
        "managedFields": [{"time": "2026-01-15T08:59:00Z", "fieldsV1": {"f:metadata": {}}}],
    }
    (score,) = inventory(plain("AddOnPlacementScore", f"{CLUSTER}/v1alpha1", "perf", "c1", metadata=metadata)).scores
    assert (score.items, score.seen_at, score.valid_until) == ((), None, None)


@pytest.mark.parametrize(
    ("mode", "synced", "score", "form"),
    [
        (
            "Full",
            {"scoring": {"params": {"name": "Synced Score"}}, "scoreDimensionFormat": "${app}"},
            "synced-score",
            "${app}",
        ),
        ("Full", {"scoring": {"params": {"name": "synced"}}}, "synced", "${device}"),
        ("Full", None, "spec-score", "${device}"),
        ("None", {"scoring": {"params": {"name": "synced"}}}, "spec-score", "${device}"),
    ],
)
def test_a_scorer_in_full_mode_is_what_its_config_said(mode: str, synced: Any, score: str, form: str) -> None:
    spec = {
        "configSyncMode": mode,
        "scoring": {"params": {"name": "spec_score"}},
        "scoreDimensionFormat": "${device}",
    }
    api = "dynamic-scoring.open-cluster-management.io/v1alpha1"
    (scorer,) = inventory(
        plain("DynamicScorer", api, "s", "ns", spec=spec, status={"lastSyncedConfig": synced})
    ).scorers
    assert (scorer.score, scorer.dimension_format) == (score, form)


def test_a_scorer_without_a_format_names_items_by_score_and_one_without_a_score_is_skipped() -> None:
    api = "dynamic-scoring.open-cluster-management.io/v1alpha1"
    named = plain(
        "DynamicScorer", api, "s", "ns", spec={"configSyncMode": "None", "scoring": {"params": {"name": "x"}}}
    )
    unsynced = plain("DynamicScorer", api, "t", "ns", spec={"configSyncMode": "Full"})
    found = inventory(named, unsynced)
    assert [scorer.dimension_format for scorer in found.scorers] == ["${scoreName}"]
    assert found.skipped == (Skipped("DynamicScorer/t (ns)", "it does not say yet which score it writes"),)


@given(st.text(max_size=400))
def test_a_score_objects_name_is_one_that_kubernetes_takes(text: str) -> None:
    name = score_object_name(text)
    assert len(name) <= 253
    assert "--" not in name
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    assert name == name.strip("-.")
    assert score_object_name(name) == name


def test_a_policy_is_read_with_the_compliance_of_each_cluster() -> None:
    status = {"status": [{"clustername": "c2", "compliant": "NonCompliant"}, {"clustername": "c1"}]}
    metadata = {
        "labels": {"resource-supply-kind": "gpu"},
        "annotations": {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    found = inventory(policy(metadata=metadata, status=status, spec={"disabled": True})).policy[POLICY_A]
    assert found.labels == {"resource-supply-kind": "gpu"}
    assert found.annotations == {"note": "x"}
    assert found.disabled
    assert found.compliance == {"c2": "NonCompliant"}


def test_the_copies_that_ocm_makes_of_a_policy_are_no_candidates() -> None:
    copy = policy(metadata={"labels": {"policy.open-cluster-management.io/root-policy": "default.policy-a"}})
    found = inventory(copy)
    assert found.policies == ()
    assert [note.what for note in found.skipped] == ["Policy/policy-a (default)"]


def test_a_workload_carries_its_manifests_and_no_secrets_content() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "aHVudGVyMg=="}}
    other = {**secret, "stringData": {"k": "hunter2"}, "data": None}
    spec = {
        "placementRefs": [{"name": "b"}, {"name": "a"}],
        "manifestWorkTemplate": {"workload": {"manifests": [secret, {"kind": "List", "items": [other]}]}},
    }
    applied = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}}
    found = inventory(workload(spec=spec, metadata=applied)).workload[WORKLOAD_A]
    assert found.placement_refs == ("b", "a")
    assert [manifest["kind"] for manifest in found.manifests] == ["Secret", "List"]
    assert "hunter2" not in repr((found, getattr(found.source, "stated", None)))
    assert "aHVudGVyMg" not in repr((found, getattr(found.source, "stated", None)))


def test_the_slices_of_a_placements_decision_are_joined() -> None:
    def part(name: str, *clusters: str) -> dict[str, Any]:
        labels = {"labels": {"cluster.open-cluster-management.io/placement": "p"}}
        status = {"decisions": [{"clusterName": cluster, "reason": ""} for cluster in clusters]}
        return plain("PlacementDecision", f"{CLUSTER}/v1beta1", name, "ns", metadata=labels, status=status)

    found = inventory(part("p-decision-2", "c3"), part("p-decision-1", "c2", "c1"))
    (result,) = found.results
    assert (result.namespace, result.placement, result.clusters) == ("ns", "p", ("c1", "c2", "c3"))


@pytest.mark.parametrize(("served", "has"), [(True, True), (False, False)])
def test_the_hub_has_cel_where_a_served_version_of_its_placement_has(served: bool, has: bool) -> None:
    selector = {"properties": {"celSelector": {"type": "object"}}}
    items = {"properties": {"requiredClusterSelector": selector}}
    schema = {"properties": {"spec": {"properties": {"predicates": {"items": items}}}}}
    versions = [
        {"name": "v1beta1", "served": True, "schema": {"openAPIV3Schema": {}}},
        {"name": "v1beta2", "served": served, "schema": {"openAPIV3Schema": schema}},
    ]
    name = "placements.cluster.open-cluster-management.io"
    definition = plain("CustomResourceDefinition", "apiextensions.k8s.io/v1", name, spec={"versions": versions})
    other = plain("CustomResourceDefinition", "apiextensions.k8s.io/v1", "x.example.com", spec={"versions": versions})
    assert inventory(definition).placement_has_cel is has
    assert inventory(other).placement_has_cel is False


def test_other_kinds_are_passed_by_and_counted() -> None:
    kyverno = plain("Policy", "kyverno.io/v1", "p", "ns")
    secrets = [plain("Secret", "v1", name, "ns", data={"password": "aHVudGVyMg=="}) for name in ("a", "b")]
    found = inventory(kyverno, *secrets)
    assert found.policies == ()
    assert found.skipped == (
        Skipped("Policy (kyverno.io/v1)", "no plan looks at this kind: 1 object"),
        Skipped("Secret (v1)", "no plan looks at this kind: 2 objects"),
    )
    assert "aHVudGVyMg" not in repr(found)


def test_lists_are_opened_at_any_depth_and_keep_the_places_of_their_items() -> None:
    found = parsed("""
        apiVersion: v1
        kind: List
        items:
        - apiVersion: v1
          kind: List
          items:
          - apiVersion: policy.open-cluster-management.io/v1
            kind: Policy
            metadata: {name: policy-b, namespace: default}
            spec: {disabled: false}
        - apiVersion: policy.open-cluster-management.io/v1
          kind: Policy
          metadata:
            name: policy-a
            namespace: default
          spec: {disabled: false}
    """)
    assert [p.name for p in found.policies] == ["policy-a", "policy-b"]
    assert str(found.policies[0].source.at("metadata")) == "hub.yaml:14:3"
    assert str(found.policies[0].source.at()) == "hub.yaml:12:3"


def test_the_marks_of_a_list_are_rebased_to_each_item() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [workload(), policy()]}
    marks: dict[tuple[str | int, ...], tuple[int, int]] = {
        (): (1, 1),
        ("items",): (3, 1),
        ("items", 0): (4, 3),
        ("items", 1): (20, 3),
        ("items", 1, "metadata"): (22, 5),
        ("items", 1, "metadata", "labels"): (24, 7),
        ("items", 1, "metadata", "labels", "resource-supply-amount"): (25, 9),
    }
    found = parse_objects([KubeObject(listed, Source("hub.yaml", marks))])
    assert str(found.policies[0].source.at("metadata", "labels", "resource-supply-amount")) == "hub.yaml:25:9"
    assert str(found.policies[0].source.at("metadata", "annotations")) == "hub.yaml:22:5"
    assert str(found.workloads[0].source.at()) == "hub.yaml:4:3"


def test_items_of_a_typed_list_may_leave_their_kind_to_it() -> None:
    bare = {key: value for key, value in policy().items() if key not in ("apiVersion", "kind")}
    listed = {"apiVersion": "policy.open-cluster-management.io/v1", "kind": "PolicyList", "items": [bare]}
    assert [p.id for p in inventory(listed).policies] == [POLICY_A]
    assert inventory({**listed, "items": None}) == Inventory()


def test_json_reads_like_yaml() -> None:
    found = parse_objects(objects_from_files({"a.json": json.dumps(policy()).encode(), "notes.txt": b"kind: ["}))
    assert [p.id for p in found.policies] == [POLICY_A]


def test_the_same_object_twice_counts_once() -> None:
    assert inventory(policy(), policy()) == inventory(policy())


def test_two_objects_of_one_name_with_different_content_are_a_fault_that_names_both_places() -> None:
    other = policy(metadata={"labels": {"resource-supply-amount": "2"}})
    for first, second in ((policy(), other), (other, policy())):
        files = {"b.yaml": json.dumps(second).encode(), "a.yaml": json.dumps(first).encode()}
        with pytest.raises(InputError) as caught:
            parse_objects(objects_from_files(files))
        assert str(caught.value) == (
            "b.yaml:1:1: Policy/policy-a (default): stands here and, with different content, at a.yaml:1:1; "
            "keep one of the two"
        )


def test_a_snapshot_says_when_it_was_taken_and_two_must_agree() -> None:
    head = "apiVersion: gitops-ds.io/v1alpha1\nkind: HubSnapshot\ncapturedAt: "
    assert parsed(f"{head}2026-01-15T09:00:00Z").captured_at == datetime(2026, 1, 15, 9, tzinfo=UTC)
    same = f"{head}2026-01-15T09:00:00Z\n---\n{head}2026-01-15T10:00:00+01:00\n"
    assert parsed(same).captured_at == datetime(2026, 1, 15, 9, tzinfo=UTC)
    differs = f"{head}2026-01-15T09:00:00Z\n---\n{head}2026-01-15T09:00:01Z\n"
    assert faults(differs) == [
        "hub.yaml:7:1: HubSnapshot: capturedAt: is not the instant that hub.yaml:3:1 names; keep the snapshots apart"
    ]
    assert "no RFC 3339 time" in faults(f"{head}yesterday")[0]
    assert "is required" in faults(head)[0]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-01-15T09:00:00Z", datetime(2026, 1, 15, 9, tzinfo=UTC)),
        ("2026-01-15t09:00:00.5z", datetime(2026, 1, 15, 9, 0, 0, 500000, tzinfo=UTC)),
        ("2026-01-15T09:00:00-02:30", datetime(2026, 1, 15, 11, 30, tzinfo=UTC)),
        ("2026-01-15T09:00:00", None),
        ("2026-01-15", None),
        ("2026-02-30T09:00:00Z", None),
        ("2026-01-15T09:00:00Z ", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("٢٠٢٦-01-15T09:00:00Z", None),
    ],
)
def test_times_are_rfc_3339_and_nothing_else(text: str, read: datetime | None) -> None:
    assert read_instant(text) == read


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_instant_reads_back(moment: datetime) -> None:
    assert read_instant(moment.isoformat()) == moment


def test_every_fault_is_said_at_once_with_its_place() -> None:
    assert (
        faults("""
        apiVersion: policy.open-cluster-management.io/v1
        kind: Policy
        metadata:
          name: policy-a
          namespace: default
          labels:
            resource-supply: 2
            on: true
        ---
        apiVersion: cluster.open-cluster-management.io/v1alpha1
        kind: AddOnPlacementScore
        metadata: {name: perf, namespace: c1, labels: [a]}
        status:
          validUntil: soon
          scores:
            - {name: a, value: "3"}
            - {name: b, value: 0.5}
            - {name: c, value: true}
            - {name: d}
        ---
        apiVersion: cluster.open-cluster-management.io/v1beta1
        kind: AddOnPlacementScore
        metadata: {name: perf2, namespace: c1}
        ---
        apiVersion: work.open-cluster-management.io/v1alpha1
        kind: ManifestWorkReplicaSet
        metadata: {name: mwrs-a}
        spec: {placementRefs: []}
        ---
        [1]
        ---
        a: b
    """)
        == SAID
    )


SAID = [
    "hub.yaml:2:1: Policy/policy-a (default): spec: is required",
    "hub.yaml:8:5: Policy/policy-a (default): metadata.labels.resource-supply: must be text, is a number; quote it",
    "hub.yaml:9:5: Policy/policy-a (default): metadata.labels.true: must be text, is a boolean; quote it",
    "hub.yaml:13:39: AddOnPlacementScore/perf (c1): metadata.labels: must be a mapping, is a list",
    (
        "hub.yaml:15:3: AddOnPlacementScore/perf (c1): status.validUntil: is no RFC 3339 time; "
        "write it as 2026-01-15T09:00:00Z"
    ),
    "hub.yaml:17:17: AddOnPlacementScore/perf (c1): status.scores[0].value: must be a whole number, is text",
    "hub.yaml:18:17: AddOnPlacementScore/perf (c1): status.scores[1].value: must be a whole number, is a fraction",
    "hub.yaml:19:17: AddOnPlacementScore/perf (c1): status.scores[2].value: must be a whole number, is a boolean",
    "hub.yaml:20:7: AddOnPlacementScore/perf (c1): status.scores[3].value: is required",
    (
        "hub.yaml:22:1: AddOnPlacementScore/perf2 (c1): apiVersion: cluster.open-cluster-management.io does not serve "
        "AddOnPlacementScore as v1beta1; write cluster.open-cluster-management.io/v1alpha1"
    ),
    "hub.yaml:28:1: ManifestWorkReplicaSet/mwrs-a: metadata.namespace: is required",
    (
        "hub.yaml:29:8: ManifestWorkReplicaSet/mwrs-a: spec.placementRefs: must name at least one Placement; "
        "a ManifestWorkReplicaSet runs where its Placement says"
    ),
    "hub.yaml:31:1: a manifest must be a mapping, is a list",
    "hub.yaml:33:1: this document has no apiVersion and no kind; keep only Kubernetes manifests here",
]


def test_labels_that_are_a_list_are_a_fault() -> None:
    with pytest.raises(InputError, match=r"ManagedCluster/c1: metadata.labels: must be a mapping, is a list"):
        inventory(plain("ManagedCluster", f"{CLUSTER}/v1", "c1", metadata={"labels": ["a"]}))


def test_a_scorer_of_an_unserved_version_is_a_fault() -> None:
    with pytest.raises(InputError, match="does not serve DynamicScorer as v1;"):
        inventory(plain("DynamicScorer", "dynamic-scoring.open-cluster-management.io/v1", "s", "ns"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["metadata", "spec", "status"])
PARTS = st.sampled_from(
    ["labels", "taints", "clusterClaims", "conditions", "scores", "decisions", "placementRefs", "versions", "scoring"]
)
KINDS = [
    ("ManagedCluster", f"{CLUSTER}/v1"),
    ("ManagedClusterSet", f"{CLUSTER}/v1beta2"),
    ("ManagedClusterSetBinding", f"{CLUSTER}/v1beta2"),
    ("AddOnPlacementScore", f"{CLUSTER}/v1alpha1"),
    ("Placement", f"{CLUSTER}/v1beta1"),
    ("PlacementDecision", f"{CLUSTER}/v1beta1"),
    ("Policy", "policy.open-cluster-management.io/v1"),
    ("ManifestWorkReplicaSet", "work.open-cluster-management.io/v1alpha1"),
    ("DynamicScorer", "dynamic-scoring.open-cluster-management.io/v1alpha1"),
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    ("HubSnapshot", "gitops-ds.io/v1alpha1"),
    ("List", "v1"),
]


@given(st.sampled_from(KINDS), st.dictionaries(FIELDS, JSON | st.dictionaries(PARTS, JSON)), JSON)
def test_any_shape_is_read_or_refused_but_never_breaks(kind: tuple[str, str], body: dict[str, Any], items: Any) -> None:
    value = {"apiVersion": kind[1], "kind": kind[0], "items": items, **body}
    try:
        parse_objects([KubeObject(value, Source("any.yaml"))])
    except InputError as error:
        assert {fault.place.file for fault in error.faults if fault.place} == {"any.yaml"}  # noqa: PT017


@given(st.randoms(use_true_random=False))
def test_the_order_of_objects_means_nothing(shuffle: random.Random) -> None:
    objects = [
        plain("ManagedCluster", f"{CLUSTER}/v1", "c2"),
        plain("ManagedCluster", f"{CLUSTER}/v1", "c1"),
        plain("AddOnPlacementScore", f"{CLUSTER}/v1alpha1", "perf", "c2"),
        plain("AddOnPlacementScore", f"{CLUSTER}/v1alpha1", "perf", "c1"),
        plain("Secret", "v1", "s", "ns"),
        policy(),
        policy(),
        workload(),
    ]
    expected = inventory(*objects)
    shuffle.shuffle(objects)
    assert inventory(*objects) == expected


def test_a_repositorys_object_counts_beside_the_hubs() -> None:
    binding = plain("ManagedClusterSetBinding", f"{CLUSTER}/v1beta2", "gpus", "default", spec={"clusterSet": "gpus"})
    placement = plain("Placement", f"{CLUSTER}/v1beta1", "p", "default")
    documents = [KubeObject(item, Source("policies/a.yaml")) for item in (policy(), workload(), binding, placement)]
    found = merge_repository(Inventory(set_bindings=(SetBinding(Namespace("default"), "default"),)), documents)
    assert (list(found.policy), list(found.workload)) == ([POLICY_A], [WORKLOAD_A])
    assert found.bound_sets(Namespace("default")) == ("default", "gpus")
    assert found.placements == ()
    assert found.policies[0].source.file == "policies/a.yaml"


def test_an_object_in_both_places_keeps_the_repositorys_words_and_the_hubs_compliance() -> None:
    ours = policy(metadata={"labels": {"a": "1"}})
    hub = policy(
        metadata={"labels": {"a": "1", "argocd": "x"}, "annotations": {"tracking": "y"}},
        spec={"disabled": False, "policy-templates": [], "remediationAction": "inform"},
        status={"status": [{"clustername": "c1", "compliant": "Compliant"}]},
    )
    found = merged(hub, ours).policy[POLICY_A]
    assert found.labels == {"a": "1"}
    assert found.compliance == {"c1": "Compliant"}
    assert found.source.file == "policies/a.yaml"


@pytest.mark.parametrize(
    ("hub", "ours", "path"),
    [
        ({}, {"metadata": {"labels": {"a.b/c": "1"}}}, r'metadata.labels\["a.b/c"\]'),
        ({"metadata": {"labels": {"a": "2"}}}, {"metadata": {"labels": {"a": "1"}}}, "metadata.labels.a"),
        ({}, {"metadata": {"annotations": {"a": "1"}}}, "metadata.annotations.a"),
        ({}, {"spec": {"disabled": True}}, "spec.disabled"),
        (
            {"spec": {"policy-templates": [{"objectDefinition": {"kind": "A", "more": 1}}]}},
            {"spec": {"policy-templates": [{"objectDefinition": {"kind": "B"}}]}},
            r"spec.policy-templates\[0\].objectDefinition.kind",
        ),
        ({}, {"spec": {"policy-templates": [{}]}}, "spec.policy-templates"),
    ],
)
def test_a_repositorys_object_that_the_hub_holds_otherwise_is_a_fault(
    hub: dict[str, Any], ours: dict[str, Any], path: str
) -> None:
    said = rf"policies/a.yaml: Policy/policy-a \(default\): {path} is not what the hub holds; the hub's .* at hub.yaml"
    with pytest.raises(InputError, match=said):
        merged(policy(**hub), policy(**ours))


def test_a_secret_inside_a_workload_is_compared_without_being_kept() -> None:
    def carrying(password: str) -> dict[str, Any]:
        secret = {"apiVersion": "v1", "kind": "Secret", "data": {"password": password}}
        spec = {"placementRefs": [{"name": "a"}], "manifestWorkTemplate": {"workload": {"manifests": [secret]}}}
        return workload(spec=spec)

    assert merged(carrying("b25l"), carrying("b25l")).workload[WORKLOAD_A].manifests
    with pytest.raises(InputError) as caught:
        merged(carrying("b25l"), carrying("dHdv"))
    assert "manifests[0].data.password is not what the hub holds" in str(caught.value)
    assert "b25l" not in str(caught.value)
    assert "dHdv" not in str(caught.value)


def test_agreement_with_an_inventory_made_without_objects_is_by_metadata() -> None:
    hub = Inventory(policies=(Policy(POLICY_A.namespace, POLICY_A.name, labels={"a": "2"}, compliance={}),))
    with pytest.raises(InputError, match=r"metadata.labels.a is not what the hub holds"):
        merge_repository(hub, [KubeObject(policy(metadata={"labels": {"a": "1"}}), Source("policies/a.yaml"))])


@given(JSON)
def test_whatever_is_stated_is_found_in_itself(value: Any) -> None:
    assert first_difference(value, value) is None


@pytest.mark.parametrize(
    ("stated", "held", "path"),
    [
        ({"a": {}}, {}, None),
        ({"a": []}, {}, None),
        ({"a": None}, {"a": 1}, None),
        ({"a": 1}, {"a": True}, ("a",)),
        ({"a": "1"}, {"a": 1}, ("a",)),
        ({"a": [1, 2]}, {"a": [1]}, ("a",)),
        ({"a": {"b": 1}}, {"a": []}, ("a",)),
        ({"b": 1, "a": [{"x": 1}]}, {"a": [{"x": 2}]}, ("a", 0, "x")),
    ],
)
def test_the_first_difference_is_found_in_the_order_of_keys(
    stated: Any, held: Any, path: tuple[Any, ...] | None
) -> None:
    assert first_difference(stated, held) == path


def test_paths_are_written_as_people_write_them() -> None:
    assert dotted(("spec", "policy-templates", 0, "a.b/c")) == 'spec.policy-templates[0]["a.b/c"]'
