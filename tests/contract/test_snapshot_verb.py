"""`gitops-ds snapshot` against a real API server: what is saved, what is masked, and that it plans as the hub does."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_ds.hub import read_snapshot
from gitops_ds.hub.live import read_live
from gitops_ds.hub.record import CAPTURED
from gitops_ds.sample import sample_folder
from tests.e2e.fleet import Answer, Fleet, assert_refused, copy_of, files_below, new_fleet
from tests.hubs import CLUSTER, DSF, POLICY, WORK, Hub, hub_server, refuse

AT = "--at=2026-01-15T09:00:00Z"
SECRET = "c3dvcmRmaXNo"
CREDENTIAL = "hunter2-and-more"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return new_fleet(tmp_path_factory.mktemp("fleet") / "root")


@pytest.fixture
def fleet(template: Fleet, tmp_path: Path) -> Fleet:
    return copy_of(template, tmp_path / "root")


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(sample_folder() / "hub", sample_folder() / "policies") as running:
        yield running


@pytest.fixture
def env(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return {"KUBECONFIG": str(hub.kubeconfig(tmp_path))}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "saved"


def snapshot(fleet: Fleet, env: dict[str, str], *words: str) -> Answer:
    return fleet.run("snapshot", "--hub=kubernetes", *words, env=env)


def text_of(folder: Path) -> str:
    return b"\n".join(files_below(folder).values()).decode()


def documents(folder: Path, path: str) -> list[Any]:
    return list(yaml.safe_load_all((folder / path).read_text()))


def without_facts(text: str) -> str:
    """A plan's text without the lines that name the hub."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(("Hub: ", "  captured", "  read live")))


def secret(name: str) -> dict[str, Any]:
    applied = json.dumps({"data": {"password": SECRET}})
    notes = {"kubectl.kubernetes.io/last-applied-configuration": applied, "example.com/api-token": CREDENTIAL}
    metadata = {"name": name, "namespace": "default", "annotations": notes}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": SECRET}}


def with_secrets(hub: Hub) -> None:
    """Give a workload and a policy of the sample Secrets to carry, and credentials in annotations."""
    workload = hub.get("manifestworkreplicasets", "mwrs-app01", "default")
    assert workload
    text = f"kind: Secret\napiVersion: v1\nstringData:\n  word: {SECRET}\n"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}, "data": {"secret.yaml": text}}
    workload["spec"]["manifestWorkTemplate"]["workload"]["manifests"] += [secret("one"), config]
    workload["metadata"]["annotations"] = {"example.com/db-password": CREDENTIAL, "example.com/team": "blue"}
    hub.put(workload)
    policy = hub.get("policies", "policy-enable-mig-3g-cluster1", "default")
    assert policy
    definition = {"objectDefinition": secret("two"), "complianceType": "musthave"}
    policy["spec"]["policy-templates"].append({"objectDefinition": {"spec": {"object-templates": [definition]}}})
    policy["metadata"]["annotations"] = {
        **policy["metadata"].get("annotations", {}),
        "kubectl.kubernetes.io/last-applied-configuration": SECRET,
        "example.com/Authorization": CREDENTIAL,
    }
    hub.put(policy)


def without_policies(fleet: Fleet) -> None:
    for path in (fleet.top / "policies").glob("*.yaml"):
        path.unlink()
    fleet.commit("Policies on the hub alone")


def test_a_snapshot_plans_as_the_hub_does_byte_for_byte(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path, tmp_path: Path
) -> None:
    with_secrets(hub)
    other = copy_of(fleet, tmp_path / "other")
    for one in (fleet, other):
        without_policies(one)
    answer = snapshot(fleet, env, str(saved))
    assert answer.code == 0, answer
    assert f"wrote {saved}: " in answer.out
    live = fleet.run("plan", "--hub=kubernetes", AT, env=env)
    replayed = fleet.run("plan", f"--hub=snapshot:{saved}", AT)
    assert (live.code, replayed.code) == (0, 0), live
    assert without_facts(live.out) == without_facts(replayed.out)
    live = fleet.run("reconcile", "--hub=kubernetes", "--output=json", AT, env=env)
    replayed = other.run("reconcile", f"--hub=snapshot:{saved}", "--output=json", AT)
    said, again = live.json, replayed.json
    assert said.pop("inventory")["instant"] == again.pop("inventory")["instant"]
    assert said.pop("commit")
    assert again.pop("commit")
    assert json.dumps(said) == json.dumps(again)
    assert fleet.rendered() == other.rendered()
    assert fleet.rendered()


def test_a_snapshot_holds_the_same_facts_and_the_age_of_scores(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    fill(hub)
    assert snapshot(fleet, env, str(saved)).code == 0
    live, held = read_live(kubeconfig=Path(env["KUBECONFIG"])), read_snapshot(saved)
    for name in ("clusters", "scores", "policies", "workloads", "cluster_sets", "set_bindings", "placements"):
        assert getattr(live, name) == getattr(held, name), name
    for name in ("bindings", "results", "works", "scorers", "placement_has_cel"):
        assert getattr(live, name) == getattr(held, name), name
        assert getattr(live, name), name
    assert [w.manifests for w in live.workloads] == [w.manifests for w in held.workloads]
    assert all(score.seen_at for score in held.scores)
    assert held.captured_at


def fill(hub: Hub) -> None:
    """One object of each kind that the sample has none of."""
    here = {"namespace": "default"}
    conditions = [{"type": "PlacementSatisfied", "status": "True", "lastTransitionTime": "2026-01-15T08:00:00Z"}]
    hub.put(
        {
            "apiVersion": f"{CLUSTER}/v1beta1",
            "kind": "Placement",
            "metadata": {**here, "name": "p", "labels": {"a": "b"}},
            "spec": {"numberOfClusters": 1, "prioritizerPolicy": {"mode": "Exact"}},
            "status": {"conditions": conditions, "numberOfSelectedClusters": 1},
        }
    )
    label = {"cluster.open-cluster-management.io/placement": "p"}
    hub.put(
        {
            "apiVersion": f"{CLUSTER}/v1beta1",
            "kind": "PlacementDecision",
            "metadata": {**here, "name": "p-decision-1", "labels": label},
            "status": {"decisions": [{"clusterName": "cluster1", "reason": ""}]},
        }
    )
    hub.put(
        {
            "apiVersion": f"{POLICY}/v1",
            "kind": "PlacementBinding",
            "metadata": {**here, "name": "b"},
            "placementRef": {"name": "p"},
            "subjects": [{"kind": "Policy", "name": "x"}],
        }
    )
    owner = {"work.open-cluster-management.io/manifestworkreplicaset": "default.mwrs-app01"}
    done = [{"type": t, "status": "True", "observedGeneration": 1} for t in ("Applied", "Available")]
    hub.put(
        {
            "apiVersion": f"{WORK}/v1",
            "kind": "ManifestWork",
            "metadata": {"namespace": "cluster1", "name": "mwrs-app01", "labels": owner},
            "spec": {"workload": {"manifests": [secret("three")]}},
            "status": {"conditions": done},
        }
    )
    by = {"requiredClusterSelector": {"properties": {"celSelector": {"type": "object"}, "labelSelector": {}}}}
    spec = {"properties": {"spec": {"properties": {"predicates": {"items": {"properties": by}}}}}}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": spec}}
    hub.put(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"placements.{CLUSTER}"},
            "spec": {"group": CLUSTER, "versions": [version]},
        }
    )
    policy = hub.get("policies", "policy-enable-mig-3g-cluster1", "default")
    assert policy
    policy["status"] = {"compliant": "Compliant", "status": [{"clustername": "cluster1", "compliant": "Compliant"}]}
    hub.put(policy)


def test_no_secret_and_no_credential_is_saved_and_none_is_read(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    with_secrets(hub)
    fill(hub)
    assert snapshot(fleet, env, str(saved)).code == 0
    text = text_of(saved)
    assert SECRET not in text
    assert base64.b64decode(SECRET).decode() not in text
    assert CREDENTIAL not in text
    assert "blue" in text
    for word in ("resourceVersion", "uid:", "last-applied-configuration: '{"):
        assert word not in text
    assert not [seen for seen in hub.requests if "secrets" in seen.path]
    (work,) = documents(saved, "manifestworks/cluster1.yaml")
    assert "spec" not in work


def test_what_git_holds_agrees_with_a_masked_object_only_where_it_is_the_same(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    with_secrets(hub)
    without_policies(fleet)
    workload = hub.get("manifestworkreplicasets", "mwrs-app01", "default")
    assert workload
    metadata = {key: workload["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    stated = {**{key: workload[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}
    fleet.write("workloads/app01.yaml", yaml.safe_dump(stated))
    assert snapshot(fleet, env, str(saved)).code == 0
    assert fleet.run("plan", f"--hub=snapshot:{saved}", AT).code == 0
    fleet.edit("workloads/app01.yaml", f"password: {SECRET}", "password: b3RoZXI=")
    for hub_option in (f"--hub=snapshot:{saved}", "--hub=kubernetes"):
        answer = fleet.run("plan", hub_option, AT, env=env)
        assert_refused(answer, 1, "is not what the hub holds", "data.password")


def test_a_second_snapshot_differs_in_the_instant_alone_and_since_writes_none(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    assert snapshot(fleet, env, str(saved)).code == 0
    before = files_below(saved)
    old = before[CAPTURED].replace(b"20", b"19", 1)
    (saved / CAPTURED).write_bytes(old)
    answer = snapshot(fleet, env, "--since", str(saved))
    assert (answer.code, answer.out) == (0, f"nothing has changed since {saved}: nothing is written\n")
    assert files_below(saved) == {**before, CAPTURED: old}
    assert snapshot(fleet, env, str(saved)).code == 0
    after = files_below(saved)
    assert after.pop(CAPTURED) != old
    before.pop(CAPTURED)
    assert after == before

    elsewhere = saved.with_name("elsewhere")
    assert snapshot(fleet, env, "--since", str(saved), str(elsewhere)).code == 0
    assert not elsewhere.exists()
    score = hub.get("addonplacementscores", "example-performance-score", "cluster1")
    assert score
    score["status"]["scores"][0]["value"] = 79
    hub.put(score)
    assert snapshot(fleet, env, "--since", str(saved), str(elsewhere)).code == 0
    changed = files_below(elsewhere)
    assert {path for path in changed if changed[path] != after.get(path)} == {
        CAPTURED,
        "addonplacementscores/cluster1.yaml",
    }


def test_only_the_last_sign_of_life_of_a_score_is_kept(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    score = hub.get("addonplacementscores", "example-performance-score", "cluster1")
    assert score
    (sign,) = score["metadata"]["managedFields"]
    older = {**sign, "manager": "older", "time": "2026-01-14T00:00:00Z"}
    later = {"manager": "kubectl-label", "time": "2026-01-16T00:00:00Z", "fieldsV1": {"f:metadata": {}}}
    score["metadata"]["managedFields"] = [older, sign, later]
    hub.put(score)
    assert snapshot(fleet, env, str(saved)).code == 0
    kept = documents(saved, "addonplacementscores/cluster1.yaml")[0]["metadata"]["managedFields"]
    assert [(one["manager"], one["time"], one["fieldsV1"]) for one in kept] == [
        ("dynamic-scoring-agent", "2026-01-15T08:59:30Z", {"f:status": {}})
    ]


def test_a_malformed_score_replays_as_it_was(fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path) -> None:
    score = hub.get("addonplacementscores", "example-performance-score", "cluster1")
    assert score
    score["status"]["scores"][0]["value"] = "80"
    hub.put(score)
    answer = snapshot(fleet, env, str(saved))
    assert (answer.code, answer.err) == (0, "")
    live = fleet.run("plan", "--hub=kubernetes", AT, env=env)
    replayed = fleet.run("plan", f"--hub=snapshot:{saved}", AT)
    assert "cannot be read, so it counts as missing" in live.out
    assert without_facts(live.out) == without_facts(replayed.out)


def test_an_object_that_no_plan_can_read_is_saved_and_told(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    hub.put({"apiVersion": f"{CLUSTER}/v1", "kind": "ManagedCluster", "metadata": {"name": "c3"}, "spec": "odd"})
    answer = snapshot(fleet, env, str(saved))
    assert answer.code == 0
    assert (
        "warning: no plan can be made with this hub as it is: ManagedCluster/c3: spec: must be a mapping" in answer.err
    )
    assert_refused(fleet.run("plan", f"--hub=snapshot:{saved}", AT), 1, "managedclusters/c3.yaml", most=20)


def test_numbers_of_every_form_are_saved(fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path) -> None:
    numbers = [0.5, 1e-7, 1e21, -2.5e-10, 3.0, 2**62]
    scorer = {
        "apiVersion": f"{DSF}/v1alpha1",
        "kind": "DynamicScorer",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"numbers": numbers, "scoring": {"params": {"name": "s"}}},
    }
    hub.put(scorer)
    assert snapshot(fleet, env, str(saved)).code == 0
    from gitops_ds.yamltext import read_kubernetes

    (document,) = read_kubernetes((saved / "dynamicscorers/default.yaml").read_bytes(), "f")
    assert document.value["spec"]["numbers"] == numbers
    hub.put({**scorer, "spec": {"numbers": [2**70]}})
    assert_refused(snapshot(fleet, env, str(saved)), 1, "DynamicScorer/one (default) cannot be saved", "64 bits")


@pytest.mark.parametrize("name", ["../../escape", "Ünder", "x" * 253])
def test_odd_names_stay_in_the_folder(name: str, fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path) -> None:
    metadata = {"name": name, "namespace": "default"}
    hub.put({"apiVersion": f"{POLICY}/v1", "kind": "Policy", "metadata": metadata, "spec": {}})
    assert snapshot(fleet, env, str(saved)).code == 0
    assert snapshot(fleet, env, str(saved)).code == 0
    assert [p for p in read_snapshot(saved).policies if p.name == name]
    assert sorted(saved.parent.iterdir()) == sorted({saved.parent / n for n in ("root", "saved", "kubeconfig")})


@pytest.mark.parametrize("plural", ["addonplacementscores", "customresourcedefinitions"])
def test_a_reading_that_fails_leaves_the_old_snapshot(
    plural: str, fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    assert snapshot(fleet, env, str(saved)).code == 0
    before = files_below(saved)
    hub.fault(refuse(403), plural=plural)
    assert_refused(snapshot(fleet, env, str(saved)), 1, f"{plural}", "403")
    assert files_below(saved) == before
    assert sorted(p.name for p in saved.parent.iterdir()) == ["kubeconfig", "root", "saved"]


def test_what_has_gone_from_the_hub_goes_from_the_snapshot(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    assert snapshot(fleet, env, str(saved)).code == 0
    saved.chmod(0o750)
    hub.remove("managedclusters", "cluster2")
    assert snapshot(fleet, env, str(saved)).code == 0
    assert sorted(p.name for p in (saved / "managedclusters").iterdir()) == ["cluster1.yaml"]
    assert saved.stat().st_mode & 0o777 == 0o750


def test_a_folder_with_other_things_is_refused_before_the_hub_is_read(
    fleet: Fleet, hub: Hub, env: dict[str, str], saved: Path
) -> None:
    saved.mkdir()
    (saved / "notes.txt").write_text("mine")
    assert_refused(snapshot(fleet, env, str(saved)), 1, "no snapshot is written over other files", "notes.txt")
    assert files_below(saved) == {"notes.txt": b"mine"}
    assert hub.requests == []
    (saved / "notes.txt").unlink()
    assert snapshot(fleet, env, str(saved)).code == 0
    file = saved.with_name("file")
    file.write_text("")
    assert_refused(snapshot(fleet, env, str(file)), 1, "this is no folder")


def test_only_a_live_hub_is_saved_and_the_reconciler_may_name_it(
    fleet: Fleet, env: dict[str, str], saved: Path
) -> None:
    assert_refused(fleet.run("snapshot", "--hub=demo", str(saved)), 64, "demo is no live hub")
    assert_refused(fleet.run("snapshot", "--hub=kubernetes"), 64, "which folder?")
    assert_refused(fleet.run("snapshot", str(saved)), 64, "which hub?")
    head = "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: main}\n"
    fleet.write("intent/reconciler.yaml", f"{head}spec:\n  hub: kubernetes:emulator\n")
    assert fleet.run("snapshot", str(saved), env=env).code == 0
    (about,) = documents(saved, CAPTURED)
    assert about["hub"] == "kubernetes:emulator"
