"""The command line on a live hub: what it commits, what it says, and that no failure ever takes a placement away."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_ds.sample import sample_folder
from tests.e2e.fleet import Fleet, assert_refused, copy_of
from tests.hubs import CLUSTER, Hub, broken, hub_server, refuse

AT = "--at=2026-01-15T09:00:00Z"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(sample_folder() / "hub") as running:
        yield running


@pytest.fixture
def env(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return {"KUBECONFIG": str(hub.kubeconfig(tmp_path)), "GITOPS_DS_HUB": "kubernetes"}


def test_a_live_hub_and_its_snapshot_are_committed_byte_for_byte_alike(
    fresh: Fleet, env: dict[str, str], tmp_path: Path
) -> None:
    other = copy_of(fresh, tmp_path / "other")
    live = fresh.run("reconcile", "--hub=kubernetes", AT, env=env)
    saved = other.run("reconcile", AT)
    assert (live.code, saved.code) == (0, 0), live
    assert fresh.rendered() == other.rendered()
    assert fresh.rendered()
    again = fresh.run("reconcile", "--hub=kubernetes:emulator", AT, env=env)
    assert (again.code, fresh.commits) == (0, 2)


def test_a_plan_says_which_hub_it_read_and_that_it_is_of_now(fresh: Fleet, env: dict[str, str]) -> None:
    told = fresh.run("plan", "--hub=kubernetes", "--output=json", "--max-snapshot-age=1s", env=env).json["inventory"]
    assert (told["source"], told["capturedAt"], told["ageSeconds"]) == ("kubernetes:emulator", None, None)
    assert "kubernetes:emulator" in fresh.run("plan", "--hub=kubernetes", env=env).out
    assert "read live; scores as of 2026-01-15T09:00:00Z" in fresh.run("plan", "--hub=kubernetes", AT, env=env).out


@pytest.mark.parametrize(
    ("plural", "said"),
    [
        ("managedclusters", "may not list managedclusters"),
        ("addonplacementscores", "may not list addonplacementscores"),
    ],
)
def test_a_list_that_is_forbidden_changes_nothing(
    plural: str, said: str, settled: Fleet, hub: Hub, env: dict[str, str]
) -> None:
    before = settled.state()
    hub.fault(refuse(403), plural=plural)
    assert_refused(settled.run("reconcile", "--hub=kubernetes", AT, env=env), 1, said, "ClusterRole", "rule", most=14)
    assert settled.state() == before


def test_a_second_page_that_breaks_changes_nothing(settled: Fleet, hub: Hub, env: dict[str, str]) -> None:
    before = settled.state()
    for i in range(600):
        hub.put({"apiVersion": f"{CLUSTER}/v1", "kind": "ManagedCluster", "metadata": {"name": f"more{i}"}})
    hub.fault(broken(b"<html>"), plural="managedclusters", page=2)
    answer = settled.run("reconcile", "--hub=kubernetes", AT, env=env)
    assert_refused(answer, 1, "is not what a Kubernetes API server says")
    assert settled.state() == before


@pytest.mark.parametrize("plural", ["managedclusters", "addonplacementscores", "managedclustersets", "placements"])
def test_a_missing_crd_changes_nothing(plural: str, settled: Fleet, hub: Hub, env: dict[str, str]) -> None:
    before = settled.state()
    hub.forget(plural)
    assert_refused(settled.run("reconcile", "--hub=kubernetes", AT, env=env), 1, f"{plural}.{CLUSTER}", most=14)
    assert settled.state() == before


@pytest.mark.parametrize("plural", ["policies", "placementbindings", "manifestworkreplicasets", "dynamicscorers"])
def test_a_kind_that_may_be_absent_takes_no_placement_away(
    plural: str, settled: Fleet, hub: Hub, env: dict[str, str]
) -> None:
    def placements() -> list[str]:
        return sorted(path for path in settled.rendered() if "placement-" in path)

    before, files = placements(), settled.state()
    hub.forget(plural)
    answer = settled.run("reconcile", "--hub=kubernetes", AT, env=env)
    assert placements() == before
    if plural == "manifestworkreplicasets":
        crd = "it does not serve the CRD manifestworkreplicasets.work.open-cluster-management.io as v1alpha1 (404)"
        assert_refused(answer, 1, "mwrs-app01 is neither on the hub nor in the repository", crd)
    else:
        assert answer.code == 0, answer
    assert settled.state() == files


def test_a_malformed_score_counts_as_missing_and_takes_no_placement_away(
    settled: Fleet, hub: Hub, env: dict[str, str]
) -> None:
    before = settled.state()
    score = hub.get("addonplacementscores", "example-performance-score", "cluster1")
    assert score is not None
    score["status"]["scores"][0]["value"] = "80"
    hub.put(score)
    answer = settled.run("reconcile", "--hub=kubernetes", AT, env=env)
    assert answer.code == 4, answer
    assert "1 of 2 placed, 1 kept where git has it" in answer.out
    assert "example-performance-score of cluster1 cannot be read, so it counts as missing" in answer.out
    assert settled.state() == before


def test_a_placement_of_somebody_else_is_refused_until_it_is_adopted(
    fresh: Fleet, hub: Hub, env: dict[str, str]
) -> None:
    theirs = {"name": "app01-placement", "namespace": "default"}
    hub.put({"apiVersion": f"{CLUSTER}/v1beta1", "kind": "Placement", "metadata": theirs, "spec": {}})
    answer = fresh.run("plan", "--hub=kubernetes", AT, env=env)
    assert_refused(answer, 1, "default/app01-placement is on the hub already", "adopt: [app01-placement]")
    fresh.edit("intent/gpu-inference.yaml", "spec:\n", "spec:\n  adopt: [app01-placement]\n", 1)
    assert fresh.run("plan", "--hub=kubernetes", AT, env=env).code == 0
