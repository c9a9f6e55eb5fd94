"""Secrets with values: found wherever one is carried inside another object, and their values in no message."""

import base64
import json
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.errors import RefusedError
from gitops_ds.secrecy import ALLOW, refuse_secrets, secret_faults
from gitops_ds.yamltext import write_document

VALUE = "hunter2-marker"
CODED = base64.b64encode(VALUE.encode()).decode()
SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db", "namespace": "shop"},
    "data": {"password": CODED},
}


def work(*manifests: Any) -> dict[str, Any]:
    return {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "w", "namespace": "cluster1"},
        "spec": {"workload": {"manifests": list(manifests)}},
    }


def replica_set(*manifests: Any) -> dict[str, Any]:
    return {
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"manifestWorkTemplate": {"workload": {"manifests": list(manifests)}}},
    }


def policy(definition: Any) -> dict[str, Any]:
    inner = {
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "ConfigurationPolicy",
        "metadata": {"name": "c"},
        "spec": {"object-templates": [{"complianceType": "musthave", "objectDefinition": definition}]},
    }
    return {
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "Policy",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"policy-templates": [{"objectDefinition": inner}]},
    }


def raw_policy(text: str) -> dict[str, Any]:
    made = policy({})
    made["spec"]["policy-templates"][0]["objectDefinition"]["spec"] = {"object-templates-raw": text}
    return made


def text_of(value: Any) -> str:
    return write_document(value).decode()


def found(value: Any, path: str = "policies/x.yaml") -> list[str]:
    content = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else write_document(value)
    return [str(fault) for fault in secret_faults({path: content})]


TEMPLATED_RAW = f"""\
{{{{- range $i, $name := list "a" "b" }}}}
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: Secret
    metadata:
      name: {{{{ $name }}}}
    stringData:
      password: {VALUE}
{{{{- end }}}}
"""


@pytest.mark.parametrize(
    "carrier",
    [
        SECRET,
        {**SECRET, "data": None, "stringData": {"password": VALUE}},
        {"apiVersion": "v1", "kind": "List", "items": [SECRET]},
        {"apiVersion": "v1", "kind": "SecretList", "items": [{k: v for k, v in SECRET.items() if k != "kind"}]},
        work(SECRET),
        replica_set({"apiVersion": "v1", "kind": "ConfigMap"}, SECRET),
        replica_set(work(SECRET)),
        policy(SECRET),
        policy(work(SECRET)),
        raw_policy(f"- complianceType: musthave\n  objectDefinition:\n{textwrap.indent(text_of(SECRET), '    ')}"),
        raw_policy(TEMPLATED_RAW),
        raw_policy(TEMPLATED_RAW.replace(f"password: {VALUE}", f"password: |-\n        {VALUE}")),
        raw_policy(TEMPLATED_RAW.replace(f"stringData:\n      password: {VALUE}", f"data: {{password: {CODED}}}")),
        {"kind": "Kustomization", "patches": [{"patch": text_of(SECRET), "target": {"name": "db"}}]},
        {"kind": "Kustomization", "secretGenerator": [{"name": "db", "literals": [f"password={VALUE}"]}]},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"secret.yaml": f"---\n{text_of(SECRET)}---\n"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(SECRET)}},
        },
        {"kind": "HelmRelease", "spec": {"values": {"extraObjects": [SECRET]}}},
        f"apiVersion: v1\nkind: &k Secret\ndata: {{password: {CODED}}}\n",
        f'apiVersion: v1\n"k\\u0069nd": "S\\u0065cret"\ndata: {{password: {CODED}}}\n',
        f"apiVersion: v1\nkind: !!binary U2VjcmV0\ndata: {{password: {CODED}}}\n",
        f"apiVersion: v1\nkind: Secret\nkind: Secret\ndata:\n  password: {CODED}\n",
        {**SECRET, "metadata": {"name": "db", "annotations": {ALLOW: "false"}}},
        policy({**SECRET, "data": {"dsn": 'postgres://u:p@{{hub fromSecret "a" "b" "c" hub}}'}}),
        policy({**SECRET, "data": {"password": f'{{{{ "{CODED}" }}}}'}}),
    ],
)
def test_a_secret_with_values_is_refused_wherever_it_is(carrier: Any) -> None:
    said = found(carrier)
    assert len(said) == 1, said
    assert said[0].startswith("policies/x.yaml")
    assert "ExternalSecret" in said[0]
    assert "fromSecret" in said[0]
    assert VALUE not in said[0]
    assert CODED not in said[0]


@pytest.mark.parametrize(
    "value",
    [
        {**SECRET, "data": {}},
        {**SECRET, "data": None},
        {**SECRET, "data": {"password": ""}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "token"},
            "type": "kubernetes.io/service-account-token",
        },
        {"apiVersion": "bitnami.com/v1alpha1", "kind": "SealedSecret", "spec": {"encryptedData": {"password": "AgBy"}}},
        {"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "spec": {"data": [{"secretKey": "a"}]}},
        {"kind": "SecretStore", "data": {"a": "b"}},
        {"kind": "DynamicScorer", "spec": {"tokenSecretRef": {"name": "t", "key": "k"}}},
        {"kind": "HelmRelease", "spec": {"valuesFrom": [{"kind": "Secret", "name": "db"}]}},
        {"kind": "Kustomization", "secretGenerator": [{"name": "db", "files": ["a"]}]},
        policy({**SECRET, "data": {"password": '{{hub fromSecret "ns" "db" "password" hub}}'}}),
        policy({**SECRET, "data": '{{hub copySecretData "ns" "db" hub}}'}),
        policy({**SECRET, "data": {"a": '{{- if eq 1 1 }}{{ fromSecret "n" "s" "k" }}{{ end -}}'}}),
        raw_policy(TEMPLATED_RAW.replace(VALUE, '{{ fromSecret "n" "s" "k" }}')),
        raw_policy(TEMPLATED_RAW.replace("kind: Secret", "kind: ConfigMap")),
        {**SECRET, "metadata": {"name": "db", "annotations": {ALLOW: "true"}}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"note": "a Secret holds data", "kind": "Secret"}},
    ],
)
def test_what_holds_no_values_passes(value: Any) -> None:
    assert found(value) == []


def test_the_place_and_the_name_are_told_and_all_are_told_at_once() -> None:
    text = f"{text_of({'apiVersion': 'v1', 'kind': 'ConfigMap'})}---\n{text_of(replica_set(SECRET, SECRET))}"
    with pytest.raises(RefusedError) as caught:
        refuse_secrets({"workloads/a.yaml": text.encode(), "policies/b.json": json.dumps(SECRET).encode()})
    assert caught.value.exit_code == 6
    places = [fault.place for fault in caught.value.faults]
    assert [p.file for p in places if p] == ["policies/b.json", "workloads/a.yaml", "workloads/a.yaml"]
    lines = text.splitlines()
    assert all(p and p.line and "apiVersion: v1" in lines[p.line - 1] for p in places[1:])
    assert "Secret/db (shop)" in str(caught.value)


def test_only_manifests_are_looked_at_and_others_cost_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(SECRET, "policies/README.md") == []
    monkeypatch.setattr("gitops_ds.secrecy.read_kubernetes", lambda *_: pytest.fail("it was read"))
    placement = b"apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
    assert secret_faults({f"rendered/{i}.yaml": placement for i in range(100)}) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_no_value_stops_it_and_a_secret_beside_it_is_found(value: Any) -> None:
    content = write_document({"apiVersion": "v1", "kind": "Secret!", "spec": value, "list": [SECRET]})
    assert len(secret_faults({"a.yaml": content})) >= 1
