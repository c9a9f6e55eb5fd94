"""What is masked before an object of a hub is kept, and where an object of a snapshot stands."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.errors import Source
from gitops_ds.hub.flatten import KubeObject
from gitops_ds.hub.record import CAPTURED, differ, entry, is_ours, recorded, snapshot_files
from gitops_ds.hub.redact import digest, without_credentials, without_secrets
from gitops_ds.yamltext import read_kubernetes, write_document

WORD = "swordfish"
SPELT = f"{{kind: Secret, data: {{a: {WORD}}}}}"
PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "data", "stringData", "annotations", "a", "token"]),
            inner | st.just("Secret"),
            max_size=4,
        )
    ),
    max_leaves=12,
)


def item(kind: str, name: str = "x", namespace: str = "default", **body: Any) -> KubeObject:
    metadata = {"name": name, "namespace": namespace, **body.pop("metadata", {})}
    return KubeObject({"apiVersion": "a/v1", "kind": kind, "metadata": metadata, **body}, Source("hub"))


@given(VALUES)
def test_what_is_masked_stays_as_it_is_when_it_is_masked_again(value: Any) -> None:
    once = without_secrets(value)
    assert without_secrets(once) == once


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "Secret", "data": {"a": WORD}},
        {"kind": "Secret", "stringData": {"a": WORD}},
        {"kind": "Secret", "data": WORD},
        [{"deep": [{"kind": "Secret", "data": {"a": {"b": WORD}}}]}],
        {"kind": "ConfigMap", "metadata": {"annotations": {"example.com/API-KEY": WORD}}},
        {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": WORD}}},
        {"object-templates-raw": f"- complianceType: musthave\n  objectDefinition: {SPELT}\n"},
    ],
)
def test_no_secret_survives(value: Any) -> None:
    assert WORD not in str(without_secrets(value))


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "ConfigMap", "data": {"a": WORD}},
        {"kind": "Secret", "data": None, "type": "Opaque"},
        {"env": [{"secretKeyRef": {"name": "s", "key": "k"}}]},
        {"text": "a Secret\nis not spelt out here"},
        {"metadata": {"annotations": {"team": WORD}}},
    ],
)
def test_what_is_no_secret_stays(value: Any) -> None:
    assert without_secrets(value) == value


@pytest.mark.parametrize(
    ("key", "masked"),
    [
        ("auth.example.com/token", True),
        ("PASSWORD", True),
        ("passwd", True),
        ("client-secret", True),
        ("Authorization", True),
        ("aws/access_key", True),
        ("private-key", True),
        ("credentials", True),
        ("gitops-ds.io/requests", False),
        ("resource-supply-kind", False),
        ("keyboard", False),
    ],
)
def test_annotations_are_masked_by_their_keys(key: str, masked: bool) -> None:
    assert (without_credentials({key: WORD})[key] == digest(WORD)) is masked


def test_a_digest_tells_two_contents_apart_and_is_its_own() -> None:
    assert digest(WORD) != digest("Swordfish")
    assert digest(digest(WORD)) == digest(WORD)
    assert digest("sha256:short") != "sha256:short"


def test_what_changes_without_being_different_is_left_out() -> None:
    noise = {"resourceVersion": "7", "uid": "u", "ownerReferences": [{"uid": "o"}], "selfLink": "/x", "generation": 2}
    found = recorded(item("Placement", metadata=noise, spec={"a": 1}, status={"decisionGroups": [], "conditions": []}))
    assert found["metadata"] == {"name": "x", "namespace": "default", "generation": 2}
    assert (found["spec"], found["status"]) == ({"a": 1}, {"conditions": []})


@pytest.mark.parametrize("value", ["odd", [], [{"time": 5}], [{"time": "yesterday"}], ["x"], None])
def test_what_has_no_known_shape_stays_so_that_it_is_told_again(value: Any) -> None:
    signs = recorded(item("AddOnPlacementScore", metadata={"managedFields": value}, status=value))
    assert signs["metadata"]["managedFields"] == value
    assert signs.get("status") == value
    assert recorded(KubeObject({"kind": "Placement", "metadata": value}, Source("hub")))["metadata"] == value


def test_files_are_sorted_and_a_file_holds_one_kind_and_namespace() -> None:
    objects = [
        item("PlacementDecision", "b"),
        item("Policy", "p"),
        item("PlacementDecision", "a"),
        item("ManagedCluster", "c1", ""),
        item("ManagedClusterSet", "s", ""),
        item("AddOnPlacementScore", "s", "c1"),
    ]
    captured = datetime(2026, 1, 15, 9, tzinfo=UTC)
    files = snapshot_files(map(entry, objects), "kubernetes:prod", captured)
    assert list(files) == [
        "addonplacementscores/c1.yaml",
        CAPTURED,
        "managedclusters/c1.yaml",
        "managedclustersets.yaml",
        "placementdecisions/default.yaml",
        "policies/default/p.yaml",
    ]
    assert files == snapshot_files(map(entry, reversed(objects)), "kubernetes:prod", captured)
    documents = read_kubernetes(files["placementdecisions/default.yaml"], "f")
    assert [d.value["metadata"]["name"] for d in documents] == ["a", "b"]
    assert all(map(is_ours, files))
    later = snapshot_files(map(entry, objects), "kubernetes:prod", captured.replace(hour=10))
    assert files != later
    assert not differ(files, later)
    assert differ(files, snapshot_files(map(entry, objects[1:]), "kubernetes:prod", captured))


@pytest.mark.parametrize("path", ["README.md", ".git/config", "clusters/../x.yaml", "a/b/c/d.yaml", "notes.yaml/x", ""])
def test_other_files_are_not_ours(path: str) -> None:
    assert not is_ours(path)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_the_same_float(value: float) -> None:
    (document,) = read_kubernetes(write_document({"a": value}, floats=True), "f")
    assert document.value == {"a": value}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(value: float) -> None:
    with pytest.raises(TypeError):
        write_document({"a": value}, floats=True)
    with pytest.raises(TypeError):
        write_document({"a": 0.5})
