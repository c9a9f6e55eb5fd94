"""The shipped sample: the guide's numbers, the copies at the repository's top, and validity under the CRDs."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitops_ds.hub import merge_repository, objects_from_files, read_snapshot
from gitops_ds.ids import ClusterName, Namespace, PolicyId, PolicyName, ScoreName
from gitops_ds.inventory import Inventory
from gitops_ds.sample import sample_folder
from gitops_ds.yamltext import read_strict

TOP = Path(__file__).parents[2]
NAMESPACE = Namespace("default")
CLUSTERS = (ClusterName("cluster1"), ClusterName("cluster2"))
SUPPLIES = {"disable-mig": ("1", "all"), "enable-mig-2g": ("3", "2g.24gb"), "enable-mig-3g": ("2", "3g.48gb")}
SETTINGS = {"disable-mig": "disabled", "enable-mig-2g": "2g.24gb", "enable-mig-3g": "3g.48gb"}
DIMENSIONS = ("app01;all", "app02;all", "app01;3g.48gb", "app02;3g.48gb", "app01;2g.24gb", "app02;2g.24gb")
SCORES = {
    "example-performance-score": (80, 80, 60, 55, 10, 15),
    "example-powerconsumption-score": (20, 10, 30, 55, 80, 90),
}


@pytest.fixture(scope="module")
def sample() -> Inventory:
    policies = {f"policies/{path.name}": path.read_bytes() for path in (sample_folder() / "policies").iterdir()}
    return merge_repository(read_snapshot(sample_folder() / "hub"), objects_from_files(policies))


def test_the_clusters_are_ready_and_reachable_from_the_namespace(sample: Inventory) -> None:
    assert [c.name for c in sample.clusters] == list(CLUSTERS)
    assert [c.labels["cluster-name"] for c in sample.clusters] == list(CLUSTERS)
    assert all(c.accepted and c.available and not c.taints for c in sample.clusters)
    assert sample.bound_sets(NAMESPACE) == ("default",)
    assert {c.labels["cluster.open-cluster-management.io/clusterset"] for c in sample.clusters} == {"default"}
    assert sample.skipped == ()


def test_the_policies_supply_what_the_guide_says(sample: Inventory) -> None:
    expected = {f"policy-{way}-{cluster}": supply for way, supply in SUPPLIES.items() for cluster in CLUSTERS}
    found = {
        policy.name: (policy.labels["resource-supply-amount"], policy.labels["resource-supply-device"])
        for policy in sample.policies
    }
    assert found == expected
    assert {policy.labels["resource-supply-kind"] for policy in sample.policies} == {"gpu"}


@pytest.mark.parametrize("way", sorted(SETTINGS))
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_each_policy_enforces_the_split_and_informs_on_its_result(way: str, cluster: str) -> None:
    path = sample_folder() / "policies" / f"policy-{way}-{cluster}.yaml"
    (document,) = objects_from_files({path.name: path.read_bytes()})
    templates = [template["objectDefinition"] for template in document.value["spec"]["policy-templates"]]
    assert [template["spec"]["remediationAction"] for template in templates] == ["enforce", "inform"]
    nodes = [template["spec"]["object-templates"][0]["objectDefinition"]["metadata"] for template in templates]
    assert {node["name"] for node in nodes} == {f"{cluster}-control-plane"}
    assert [node["labels"] for node in nodes] == [{"migsettinglabel": SETTINGS[way]}, {"migresultlabel": "true"}]
    assert document.value["spec"]["copyPolicyMetadata"] is False


def test_the_workloads_request_two_gpus_each(sample: Inventory) -> None:
    for app, workload in zip(("app01", "app02"), sample.workloads, strict=True):
        assert workload.name == f"mwrs-{app}"
        assert workload.namespace == NAMESPACE
        assert workload.labels == {"app": app, "resource-request-kind": "gpu", "resource-request-amount": "2"}
        assert workload.placement_refs == (f"{app}-placement",)
        (deployment,) = workload.manifests
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        slices = deployment["spec"]["replicas"] * int(container["resources"]["limits"]["nvidia.com/gpu"])
        assert slices == int(workload.labels["resource-request-amount"])


@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_scores_are_the_guides_and_fresh(sample: Inventory, cluster: ClusterName, score: str) -> None:
    found = sample.score[cluster, ScoreName(score)]
    assert found.items == tuple(zip(DIMENSIONS, SCORES[score], strict=True))
    assert sample.captured_at == datetime(2026, 1, 15, 9, tzinfo=UTC)
    assert found.seen_at is not None
    assert timedelta(seconds=30) <= sample.captured_at - found.seen_at <= timedelta(seconds=60)


def test_the_scorers_name_the_scores_and_their_items(sample: Inventory) -> None:
    assert {scorer.score: scorer.dimension_format for scorer in sample.scorers} == dict.fromkeys(
        SCORES, "${app};${device}"
    )


def test_the_intent_names_what_the_hub_and_the_policies_hold(sample: Inventory) -> None:
    path = sample_folder() / "intent" / "gpu-inference.yaml"
    (document,) = read_strict(path.read_bytes(), path.name)
    spec = document.value["spec"]
    assert [cluster["name"] for cluster in spec["clusters"]] == list(CLUSTERS)
    named = [PolicyId(NAMESPACE, PolicyName(name)) for cluster in spec["clusters"] for name in cluster["policies"]]
    assert sorted(named) == sorted(sample.policy)
    assert [workload["name"] for workload in spec["workloads"]] == [workload.name for workload in sample.workloads]


def test_switching_to_power_is_a_change_of_one_line() -> None:
    text = (sample_folder() / "intent" / "gpu-inference.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "example-performance-score" in line]
    assert lines == ["      - name: example-performance-score"]


@pytest.mark.parametrize("folder", ["intent", "policies"])
def test_the_repositorys_own_copies_are_the_samples_byte_for_byte(folder: str) -> None:
    if not (TOP / folder).is_dir():
        pytest.skip("the tests run outside the repository")
    shipped = {path.name: path.read_bytes() for path in (sample_folder() / folder).iterdir()}
    assert {path.name: path.read_bytes() for path in (TOP / folder).iterdir()} == shipped


@pytest.mark.skipif("CRDCHECK" not in os.environ, reason="CRDCHECK names no checker")
def test_the_sample_is_valid_under_the_crds() -> None:
    folders = [str(sample_folder() / folder) for folder in ("hub", "policies")]
    done = subprocess.run(
        [sys.executable, os.environ["CRDCHECK"], *folders], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
