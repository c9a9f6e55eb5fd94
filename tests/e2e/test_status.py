"""`gitops-ds status` on an emulated hub on which a small player of OCM works: what is in place, and what is not."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Answer, Fleet, assert_narrow, assert_refused, environment
from tests.hubs import CLUSTER, POLICY, Hub, Obj, hang, hub_server, refuse
from tests.ocm import Ocm

AT = "--at=2026-01-15T09:00:00Z"
THREE = "policy-enable-mig-3g-cluster1"


class Told(Ocm):
    """OCM with what it says of every Placement: its conditions and its decision."""

    def _select(self) -> None:
        super()._select()
        for one in self.hub.objects("placements"):
            chosen = [c["metadata"]["name"] for c in self.hub.objects("managedclusters") if self._selects(one, c)]
            self._decide(one, chosen)
            good = condition(
                "PlacementSatisfied", bool(chosen), "AllDecisionsScheduled" if chosen else "NoManagedClusterMatched"
            )
            self.hub.put({**one, "status": {"conditions": [condition("PlacementMisconfigured", False), good]}})


def condition(kind: str, holds: bool, reason: str = "", message: str = "") -> Obj:
    said = {"type": kind, "status": str(holds), "reason": reason, "message": message or reason.lower()}
    return {**said, "lastTransitionTime": "2026-01-15T08:00:00Z"}


class Place:
    """A fleet whose plan is committed, a hub, and OCM on it."""

    def __init__(self, fleet: Fleet, hub: Hub, home: Path) -> None:
        self.fleet, self.hub, self.ocm = fleet, hub, Told(hub)
        self.env = {"KUBECONFIG": str(hub.kubeconfig(home))}

    def apply(self) -> None:
        self.ocm.sync(self.fleet.rendered())

    def settle(self) -> None:
        self.apply()
        self.ocm.settle()

    def run(self, *words: str) -> Answer:
        return self.fleet.run("status", "--hub=kubernetes", AT, *words, env=self.env)

    def status(self, code: int = 3) -> Any:
        answer = self.run("--output=json")
        assert answer.code == code, answer
        return answer.json

    def findings(self, code: int = 3) -> list[tuple[str, str]]:
        """Every finding as (code, text), in the order of the JSON."""
        told = self.status(code)
        several = [*told["workloads"], *told["clusters"], *told["objects"]]
        return [(f["code"], f["text"]) for one in several for f in one["findings"]]

    def change(self, plural: str, name: str, namespace: str = "") -> "Change":
        return Change(self.hub, plural, name, namespace)


class Change:
    """An object of the hub to be changed in a with block."""

    def __init__(self, hub: Hub, plural: str, name: str, namespace: str) -> None:
        self.hub = hub
        found = hub.get(plural, name, namespace)
        assert found is not None
        self.obj = found

    def __enter__(self) -> Obj:
        return self.obj

    def __exit__(self, *_: object) -> None:
        self.hub.put(self.obj)


@pytest.fixture
def place(settled: Fleet, tmp_path: Path) -> Iterator[Place]:
    with hub_server(settled.hub, settled.top / "policies") as hub:
        yield Place(settled, hub, tmp_path)


def name_of(place: Place, prefix: str) -> str:
    """The generated name of cluster1's Placement or binding."""
    plural = "placements" if prefix == "placement" else "placementbindings"
    found: list[str] = [o["metadata"]["name"] for o in place.hub.objects(plural)]
    return next(name for name in found if name.startswith(f"{prefix}-cluster1-"))


def test_nothing_is_applied_yet(place: Place) -> None:
    told = place.status()
    assert (told["status"], told["commit"], told["move"]) == ("not-in-place", place.fleet.head, None)
    assert {f["code"] for one in (*told["workloads"], *told["clusters"]) for f in one["findings"]} == {
        "missing",
        "gate",
        "pending",
    }
    answer = place.run()
    assert answer.out.startswith("Status: 4 of 4 not in place (commit ")
    assert "Placement app01-placement is not on the hub: it is not applied yet" in " ".join(answer.out.split())
    assert_narrow(answer.out.splitlines())


def test_all_is_in_place_once_everything_runs(place: Place) -> None:
    place.apply()
    codes = {code for code, _ in place.findings()}
    assert codes == {"unsatisfied", "gate", "pending"}
    place.ocm.settle()
    told = place.status(0)
    assert told["status"] == "in-place"
    (app, _), (first, _) = told["workloads"], told["clusters"]
    assert (app["workload"], app["clusters"], app["decided"]) == ("mwrs-app01", ["cluster1"], ["cluster1"])
    (copy,) = app["copies"]
    gate = {"claim": "policy-watcher-claim", "values": ["compliant"], "value": "compliant", "open": True}
    assert (copy["policy"], copy["gate"], copy["applied"], copy["available"]) == (THREE, gate, True, True)
    assert copy["scores"] == [{"score": PERFORMANCE, "found": True, "ageSeconds": 30, "stale": False}]
    assert (first["cluster"], first["policy"], first["compliance"]) == ("cluster1", THREE, "Compliant")
    text = place.run()
    assert (text.code, text.out.splitlines()[0]) == (
        0,
        f"Status: all in place, 4 things (commit {place.fleet.head[:12]})",
    )
    assert "default/mwrs-app01 on cluster1; scores 30s old" in text.out
    assert "cluster1 under policy-enable-mig-3g-cluster1" in text.out


def test_half_of_it_is_applied(place: Place) -> None:
    place.settle()
    place.hub.remove("placementbindings", name_of(place, "binding"), "default")
    place.hub.remove("placements", "app02-placement", "default")
    assert place.findings() == [
        ("missing", "Placement app02-placement is not on the hub: it is not applied yet"),
        ("missing", f"PlacementBinding {binding_of(place)} is not on the hub: it is not applied yet"),
    ]


def binding_of(place: Place) -> str:
    (path,) = (place.fleet.top / "rendered/default/gpu-inference").glob("placementbinding-binding-cluster1-*")
    return path.name.removeprefix("placementbinding-").removesuffix(".yaml")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("spec", "numberOfClusters"), 2, "spec.numberOfClusters is not as rendered: the hub has 2, git 1"),
        (("spec", "tolerations"), [], "spec.tolerations is not as rendered: the hub has [], git ["),
        (("spec", "clusterSets"), ["other"], "the hub has spec.clusterSets, and git has not"),
        (
            ("metadata", "labels", "gitops-ds.io/intent"),
            "x",
            'metadata.labels["gitops-ds.io/intent"] is not as rendered',
        ),
        (("spec", "sortBy"), "ClusterName", None),
        (("metadata", "annotations", "argocd.argoproj.io/tracking-id"), "x", None),
    ],
)
def test_a_placement_that_somebody_changed_names_the_first_field(
    place: Place, path: tuple[str, ...], value: Any, said: str | None
) -> None:
    place.settle()
    with place.change("placements", "app01-placement", "default") as obj:
        *way, last = path
        for key in way:
            obj = obj.setdefault(key, {})  # noqa: PLW2901
        obj[last] = value
    found = place.findings(3 if said else 0)
    if said is None:
        assert found == []
    else:
        ((code, text),) = found
        assert code == "differs"
        assert text.startswith(f"Placement app01-placement: {said}")


def test_a_binding_that_somebody_changed(place: Place) -> None:
    place.settle()
    name = name_of(place, "binding")
    with place.change("placementbindings", name, "default") as obj:
        obj["subFilter"] = "restricted"
    assert place.findings() == [("differs", f"PlacementBinding {name}: the hub has subFilter, and git has not")]
    with place.change("placementbindings", name, "default") as obj:
        obj["subjects"][0]["name"] = "other"
    ((code, text),) = place.findings()
    assert (code, 'subjects[0].name is not as rendered: the hub has "other", git "policy-' in text) == ("differs", True)


@pytest.mark.parametrize(
    "reason",
    [
        "NoManagedClusterSetBindings",
        "NoIntersection",
        "AllManagedClusterSetsEmpty",
        "NoManagedClusterMatched",
        "NotAllDecisionsScheduled",
    ],
)
def test_a_placement_that_is_not_satisfied_says_why_in_the_hubs_words(place: Place, reason: str) -> None:
    place.settle()
    with place.change("placements", "app01-placement", "default") as obj:
        obj["status"]["conditions"] = [condition("PlacementSatisfied", False, reason, "the hub's words")]
    with place.change("placementdecisions", "app01-placement-decision-1", "default") as obj:
        obj["status"]["decisions"] = []
    what = f"not satisfied: {reason}: the hub's words (since 2026-01-15T08:00:00Z)"
    assert place.findings() == [("unsatisfied", f"Placement app01-placement is {what}")]


def test_a_misconfigured_placement_is_the_worst_even_where_it_is_satisfied(place: Place) -> None:
    place.settle()
    with place.change("placements", "app02-placement", "default") as obj:
        bad = condition("PlacementMisconfigured", True, "Misconfigured", "unknown builtIn")
        obj["status"]["conditions"] = [condition("PlacementSatisfied", True), bad]
    place.hub.remove("manifestworks", "mwrs-app01", "cluster1")
    out = place.run().out
    assert "is misconfigured: Misconfigured: unknown builtIn" in " ".join(out.split())
    assert out.index("mwrs-app02 on cluster2") < out.index("mwrs-app01 on cluster1")


def test_the_hubs_decision_is_held_against_git_over_all_its_slices(place: Place) -> None:
    place.settle()
    with place.change("placementdecisions", "app01-placement-decision-1", "default") as obj:
        other = {**obj, "metadata": {**obj["metadata"], "name": "app01-placement-decision-2"}}
        other["status"] = {"decisions": [{"clusterName": "cluster9", "reason": ""}]}
        place.hub.put(other)
        obj["status"] = {"decisions": []}
    said = "the hub selects cluster9, and git does not; it does not select cluster1"
    assert place.findings() == [("elsewhere", f"Placement app01-placement: {said}")]
    for number in (1, 2):
        place.hub.remove("placementdecisions", f"app01-placement-decision-{number}", "default")
    assert place.findings() == [("undecided", "Placement app01-placement: the hub has decided nothing yet")]
    with place.change("placements", "app01-placement", "default") as obj:
        del obj["status"]
    assert place.findings() == [("undecided", "Placement app01-placement: the hub has not looked at it yet")]


def test_a_policy_that_is_not_complied_with(place: Place) -> None:
    place.settle()
    for state, code in (("NonCompliant", "noncompliant"), ("Pending", "pending")):
        with place.change("policies", THREE, "default") as obj:
            obj["status"] = {"status": [{"clustername": "cluster1", "compliant": state}]}
        assert place.findings() == [(code, f"cluster1 is {state} with {THREE}")]
    with place.change("policies", THREE, "default") as obj:
        obj["spec"]["disabled"] = True
    assert ("noncompliant", f"Policy {THREE} is disabled") in place.findings()
    place.hub.remove("policies", THREE, "default")
    assert place.findings() == [("missing", f"Policy {THREE} is not on the hub")]


def test_what_policies_and_workloads_of_git_say_is_held_against_the_hub(place: Place) -> None:
    place.settle()
    with place.change("policies", "policy-enable-mig-2g-cluster2", "default") as obj:
        obj["metadata"]["labels"]["resource-supply-amount"] = "1"
    told = place.status()
    (found,) = told["manifests"]
    what = "metadata.labels.resource-supply-amount is not what the hub holds"
    assert found["text"] == f"Policy/policy-enable-mig-2g-cluster2 (default): {what}"
    assert "1 manifest not as in git" in place.run().out


def test_a_closed_gate_says_what_the_claim_is(place: Place) -> None:
    place.settle()
    with place.change("managedclusters", "cluster1") as obj:
        obj["status"]["clusterClaims"] = [c for c in obj["status"]["clusterClaims"] if "watcher" not in c["name"]]
    said = "the gate is closed: claim policy-watcher-claim is missing, must be compliant"
    assert place.findings() == [("gate", f"cluster1: {said}")]


def test_how_far_each_copy_has_got(place: Place) -> None:
    place.settle()
    steps: list[tuple[list[tuple[str, str]], str]] = [
        ([("Applied", "True"), ("Available", "False")], "its work is applied and not available yet"),
        ([("Applied", "False")], "its work is not applied yet"),
        ([], "its work is not applied yet"),
    ]
    for said, text in steps:
        with place.change("manifestworks", "mwrs-app01", "cluster1") as obj:
            obj["status"] = {"conditions": [{"type": kind, "status": status} for kind, status in said]}
        assert place.findings() == [("work", f"cluster1: {text}")]
    with place.change("manifestworks", "mwrs-app01", "cluster1") as obj:
        obj["metadata"]["deletionTimestamp"] = "2026-01-15T09:00:00Z"
    assert place.findings() == [("work", "cluster1: its work is being deleted")]
    place.hub.remove("manifestworks", "mwrs-app01", "cluster1")
    assert place.findings() == [("work", "cluster1: there is no ManifestWork yet")]
    place.settle()
    with place.change("manifestworks", "mwrs-app01", "cluster1") as obj:
        place.hub.put({**obj, "metadata": {**obj["metadata"], "namespace": "cluster2"}})
    assert place.findings() == [("leaving", "cluster2: the work of a copy that has left is still there")]


def test_a_workload_that_is_gone_or_follows_another_placement(place: Place) -> None:
    place.settle()
    with place.change("manifestworkreplicasets", "mwrs-app01", "default") as obj:
        obj["spec"]["placementRefs"][0]["name"] = "other"
    assert place.findings() == [("differs", "ManifestWorkReplicaSet mwrs-app01 follows other, not app01-placement")]
    place.hub.remove("manifestworkreplicasets", "mwrs-app01", "default")
    assert ("missing", "ManifestWorkReplicaSet mwrs-app01 is not on the hub") in place.findings()


def test_a_cluster_that_is_lost(place: Place) -> None:
    place.settle()
    with place.change("managedclusters", "cluster2") as obj:
        for one in obj["status"]["conditions"]:
            if one["type"] == "ManagedClusterConditionAvailable":
                one["status"] = "Unknown"
    assert place.findings() == [("lost", "cluster2 is not available")] * 2
    place.hub.remove("managedclusters", "cluster2")
    assert ("lost", "cluster2 is not on the hub") in place.findings()


def test_a_taint_that_keeps_a_placement_off_is_named(place: Place) -> None:
    place.settle()
    with place.change("managedclusters", "cluster1") as obj:
        unreachable = "cluster.open-cluster-management.io/unreachable"
        taints = [("maintenance", "soon", "NoSelect"), (unreachable, "", "NoSelect"), ("odd", "", "PreferNoSelect")]
        obj["spec"]["taints"] = [{"key": k, "value": v, "effect": e} for k, v, e in taints]
    assert place.findings(0) == []
    with place.change("placementdecisions", "app01-placement-decision-1", "default") as obj:
        obj["status"]["decisions"] = []
    assert place.findings() == [
        ("elsewhere", "Placement app01-placement: the hub does not select cluster1"),
        ("unsatisfied", "cluster1 has the taint maintenance=soon:NoSelect, which app01-placement does not tolerate"),
    ]


def test_what_git_has_no_more_is_left_over_and_a_stranger_is_a_note(place: Place) -> None:
    place.settle()
    labels = {"app.kubernetes.io/managed-by": "gitops-ds", "gitops-ds.io/intent": "gpu-inference"}
    old: Obj = {"apiVersion": f"{POLICY}/v1", "kind": "PlacementBinding", "placementRef": {}, "subjects": []}
    place.hub.put({**old, "metadata": {"name": "binding-old", "namespace": "default", "labels": labels}})
    theirs = {**labels, "gitops-ds.io/intent": "another"}
    other: Obj = {"apiVersion": f"{CLUSTER}/v1beta1", "kind": "Placement", "spec": {}}
    place.hub.put({**other, "metadata": {"name": "theirs", "namespace": "default", "labels": theirs}})
    place.hub.put({**other, "metadata": {"name": "foreign", "namespace": "default"}})
    told = place.status()
    assert told["leftovers"] == [
        {"kind": "PlacementBinding", "namespace": "default", "name": "binding-old", "intent": "gpu-inference"}
    ]
    (note,) = told["notes"]
    assert note.startswith("Placement default/theirs is on the hub with our label for intent another, which")
    out = place.run().out
    assert out.startswith("Status: 1 left over (commit")
    assert "PlacementBinding default/binding-old: git does not have it any more" in " ".join(out.split())


def test_an_intent_that_is_not_rendered_yet_and_old_scores_are_notes(place: Place) -> None:
    place.settle()
    place.fleet.edit(INTENT, PERFORMANCE, POWER)
    place.fleet.commit("Optimise for power")
    answer = place.fleet.run("status", "--hub=kubernetes", "--at=2026-01-15T12:00:00Z", env=place.env)
    assert answer.code == 0
    text = " ".join(answer.out.split())
    assert "not rendered yet: the intents have changed since the last plan: default/gpu-inference" in text
    assert f"{POWER} of cluster1 is stale: 3h old" in text


def test_a_move_that_is_under_way_is_named(fresh: Fleet, tmp_path: Path) -> None:
    fresh.edit(INTENT, "  workloads: #", "  stability: {move: make-before-break}\n  workloads: #")
    fresh.commit("Make before break")
    with hub_server(fresh.hub, fresh.top / "policies") as hub:
        place = Place(fresh, hub, tmp_path)
        for score in (None, POWER):
            if score:
                fresh.edit(INTENT, PERFORMANCE, score)
                fresh.commit("Optimise for power")
            assert fresh.run("reconcile", "--hub=kubernetes", AT, env=place.env).code == 0
            place.settle()
        told = place.status(0)
        assert told["move"] == {"phases": 1, "adding": [], "changing": ["cluster1"]}
        text = " ".join(place.run().out.split())
        assert "A move is under way: 1 phase committed; cluster1 gets another policy" in text


def test_a_list_that_is_forbidden_is_an_error_and_no_status(place: Place) -> None:
    place.settle()
    place.hub.fault(refuse(403), plural="manifestworks")
    assert_refused(place.run(), 1, "may not list manifestworks", "rule", most=14)
    answer = place.run("--output=json")
    assert (answer.code, answer.json["kind"]) == (1, "Error")


def test_every_page_counts(place: Place) -> None:
    place.settle()
    metadata = {"namespace": "aaa", "labels": {}}
    for i in range(600):
        place.hub.put(
            {
                "apiVersion": f"{CLUSTER}/v1beta1",
                "kind": "Placement",
                "metadata": {**metadata, "name": f"p{i}"},
                "spec": {},
            }
        )
    assert place.findings(0) == []
    assert [seen for seen in place.hub.requests if seen.path.endswith("/placements") and "continue" in seen.query]


def test_a_snapshot_is_looked_at_as_well(place: Place, tmp_path: Path) -> None:
    place.settle()
    with place.change("policies", THREE, "default") as obj:
        obj["status"] = {"status": [{"clustername": "cluster1", "compliant": "Pending"}]}
    saved = str(tmp_path / "saved")
    assert place.fleet.run("snapshot", "--hub=kubernetes", saved, env=place.env).code == 0
    live = place.status()
    held = place.fleet.run("status", f"--hub=snapshot:{saved}", AT, "--output=json")
    assert held.code == 3
    one, two = dict(live), dict(held.json)
    assert one.pop("inventory") != two.pop("inventory")
    assert one == two
    assert_refused(place.fleet.run("status", f"--hub=snapshot:{saved}", "--wait"), 64, "nothing to wait for")


def test_a_snapshot_without_works_does_not_say_that_nothing_runs(settled: Fleet) -> None:
    answer = settled.run("status", f"--hub=snapshot:{settled.hub}", "--output=json")
    assert answer.code == 3
    assert "the snapshot holds no ManifestWork, so nothing tells whether the workloads run" in answer.json["notes"]
    assert "ManifestWork yet" not in answer.out


def test_nothing_is_rendered_yet(fresh: Fleet) -> None:
    answer = fresh.run("status", f"--hub=snapshot:{fresh.hub}")
    assert_refused(answer, 1, "git holds no rendered/gitops-ds.lock", "gitops-ds reconcile")


def test_no_hub_is_named(settled: Fleet) -> None:
    assert_refused(settled.run("status"), 64, "which hub?")


def test_a_url_and_the_hub_of_the_reconciler(place: Place) -> None:
    place.settle()
    head = "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: main}\n"
    place.fleet.write("intent/reconciler.yaml", f"{head}spec:\n  hub: kubernetes:emulator\n")
    place.fleet.commit("Name the hub")
    env = {**place.env, "XDG_CACHE_HOME": str(place.fleet.root / "cache")}
    answer = place.fleet.run("status", f"--repo=file://{place.fleet.top}", AT, env=env)
    assert (answer.code, "all in place" in answer.out) == (0, True), answer


def waiting(place: Place, *words: str) -> "subprocess.Popen[bytes]":
    line = [sys.executable, "-P", "-m", "gitops_ds", "status", "--hub=kubernetes", AT, "--wait", "--interval=1s"]
    env = environment(place.fleet.root / "home", place.env)
    out = subprocess.PIPE
    return subprocess.Popen([*line, *words], cwd=place.fleet.top, env=env, stdout=out, stderr=out)


def looks(place: Place) -> int:
    return sum(seen.path.endswith("/managedclusters") for seen in place.hub.requests)


def test_wait_ends_once_all_is_in_place(place: Place) -> None:
    place.apply()
    process = waiting(place, "--timeout=2m", "--output=json")
    end = time.monotonic() + 60
    while looks(place) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    place.hub.fault(refuse(503), plural="placements", times=2)
    place.ocm.settle()
    out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["status"] == "in-place"


def test_wait_gives_up_in_time_and_says_what_is_missing(place: Place) -> None:
    place.ocm.broken = {THREE}
    place.settle()
    process = waiting(place, "--timeout=2s")
    out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (3, b""), (out, err)
    text = " ".join(out.decode().split())
    assert text.startswith("Status: 2 of 4 not in place after ")
    assert f"cluster1 is Pending with {THREE}" in text


def test_wait_outlasts_no_hub_that_hangs(place: Place) -> None:
    place.settle()
    place.hub.fault(hang(), plural="managedclusters")
    process = waiting(place, "--timeout=2s")
    guard = threading.Timer(90, process.kill)
    guard.start()
    out, err = process.communicate()
    guard.cancel()
    assert (process.returncode, out) == (1, b"")
    assert b"no answer came in time" in err or b"was not read within" in err


def test_wait_shows_its_progress_at_a_terminal(place: Place) -> None:
    place.ocm.broken = {THREE}
    place.settle()
    words = f"{sys.executable} -P -m gitops_ds status --hub=kubernetes {AT} --wait --timeout=3s --interval=1s"
    done = subprocess.run(
        ["script", "-qec", words, "/dev/null"],
        cwd=place.fleet.top,
        env=environment(place.fleet.root / "home", {**place.env, "TERM": "xterm"}),
        capture_output=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 3
    assert b"of 3s: 2 of 4 not in place: " in done.stdout
