"""The real client against a real HTTP API server: what is read, what is tried again, and what each failure says."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.client import ApiClient, Configuration

from gitops_ds.errors import GitopsDsError, HubConflict, HubError, HubExpired, HubUnreachable
from gitops_ds.hub import DocumentLike, merge_repository, objects_from_files, parse_objects, read_snapshot
from gitops_ds.hub.live import (
    APPLY_PATCH,
    MERGE_PATCH,
    RESOURCES,
    ApiServer,
    Limits,
    Resource,
    fetch_live,
    open_hub,
    read_from,
    resource,
)
from gitops_ds.hub.live.transport import Answer, Request
from gitops_ds.hub.objects import _KINDS
from gitops_ds.ids import ClusterName, ScoreName
from gitops_ds.inventory import Inventory
from gitops_ds.reconcile import plan
from gitops_ds.sample import sample_folder
from gitops_ds.solver import solve
from tests.hubs import CLUSTER, Fail, Hub, broken, cut, drip, hang, hub_server, refuse, reset, slow
from tests.unit.pages import sample

SAMPLE = sample_folder() / "hub"
QUICK = Limits(connect=5.0, read=0.3, total=60.0)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)


@dataclass
class Pauses:
    """A clock that stands still but for the pauses that are asked for, which take no time."""

    taken: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return sum(self.taken)

    def sleep(self, seconds: float) -> None:
        self.taken.append(seconds)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server(SAMPLE) as running:
        yield running


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def server(hub: Hub, pauses: Pauses, tmp_path: Path) -> Iterator[ApiServer]:
    with opened(hub, tmp_path, pauses) as one:
        yield one


def opened(hub: Hub, folder: Path, pauses: Pauses, limits: Limits = QUICK) -> ApiServer:
    config = hub.kubeconfig(folder)
    return open_hub(
        kubeconfig=config, limits=limits, clock=pauses.clock, sleep=pauses.sleep, jitter=lambda: 1.0, environ={}
    )


def refusal(server: ApiServer, kind: type[GitopsDsError] = HubError) -> str:
    with pytest.raises(HubError) as caught:
        read_from(server)
    assert type(caught.value) is kind, caught.value
    return str(caught.value)


def timeless(found: Inventory) -> Inventory:
    return replace(found, captured_at=None)


def score(cluster: str, name: str = "perf", **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": cluster}
    return {"apiVersion": f"{CLUSTER}/v1alpha1", "kind": "AddOnPlacementScore", "metadata": metadata, "status": status}


def managed_cluster(name: str) -> dict[str, Any]:
    return {"apiVersion": f"{CLUSTER}/v1", "kind": "ManagedCluster", "metadata": {"name": name}}


# What is read


def test_a_live_hub_is_the_snapshot_of_the_same_objects(server: ApiServer) -> None:
    live, saved = read_from(server), read_snapshot(SAMPLE)
    assert timeless(live) == timeless(saved)
    assert [score.seen_at for score in live.scores] == [score.seen_at for score in saved.scores]


def test_a_live_hub_and_its_snapshot_give_the_same_tree_byte_for_byte(server: ApiServer) -> None:
    intents, saved = sample()
    assert saved.captured_at
    policies = {path.name: path.read_bytes() for path in (sample_folder() / "policies").iterdir()}
    live = merge_repository(read_from(server), objects_from_files(policies))
    from_live = plan(intents, live, {}, saved.captured_at, solve)
    from_saved = plan(intents, saved, {}, saved.captured_at, solve)
    assert from_live.tree == from_saved.tree
    assert from_live.decisions == from_saved.decisions


def test_what_is_fetched_parses_to_what_is_read(server: ApiServer) -> None:
    fetched: list[DocumentLike] = list(fetch_live(server))
    assert parse_objects(fetched) == read_from(server)
    assert {document.source.file for document in fetched} == {"kubernetes:emulator"}


def test_every_kind_that_a_snapshot_gives_is_listed_once_over_the_whole_hub(hub: Hub, server: ApiServer) -> None:
    assert {(one.group, one.kind) for one in RESOURCES} == set(_KINDS)
    read_from(server)
    paths = [seen.path for seen in hub.requests]
    assert len(paths) == len(set(paths)) == len(_KINDS)
    assert not [path for path in paths if "/namespaces/" in path]
    assert {seen.method for seen in hub.requests} == {"GET"}


def test_every_page_is_read_and_the_version_of_the_list_is_known(hub: Hub, server: ApiServer) -> None:
    hub.put_all(score(f"c{i:04d}") for i in range(1201))
    assert len([one for one in read_from(server).scores if one.name == "perf"]) == 1201
    pages = [seen for seen in hub.requests if seen.path.endswith("addonplacementscores")]
    assert [seen.query["limit"] for seen in pages] == ["500"] * 3
    assert server.version_of(resource("AddOnPlacementScore")) == str(hub.store.version)


def test_the_copies_of_policies_are_left_out_by_the_hub(hub: Hub, server: ApiServer) -> None:
    policy = {"apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy", "spec": {"disabled": False}}
    root = "policy.open-cluster-management.io/root-policy"
    hub.put({**policy, "metadata": {"name": "p", "namespace": "default"}})
    hub.put({**policy, "metadata": {"name": "default.p", "namespace": "c1", "labels": {root: "default.p"}}})
    found = read_from(server)
    assert [one.name for one in found.policies] == ["p"]
    assert found.skipped == ()


def test_only_what_tells_the_age_of_a_score_is_kept_of_managed_fields(hub: Hub, server: ApiServer) -> None:
    huge: dict[str, Any] = {"f:status": {".": {}, "f:scores": {f'k:{{"name":"{i}"}}': {} for i in range(500)}}}
    entry = {"manager": "a", "time": "2026-01-15T08:59:30Z", "subresource": "status", "fieldsV1": huge}
    label = {"manager": "b", "time": "2026-01-15T09:59:30Z", "fieldsV1": {"f:metadata": {}}}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "x" * 1000, "note": "y"}
    one = score("c1", "aged")
    one["metadata"] |= {"managedFields": [entry, label], "annotations": applied}
    hub.put(one)
    other = managed_cluster("c9")
    other["metadata"]["managedFields"] = [entry]
    hub.put(other)
    fetched = {(item.kind, item.value["metadata"]["name"]): item.value["metadata"] for item in fetch_live(server)}
    kept = fetched["AddOnPlacementScore", "aged"]
    assert [e["fieldsV1"] for e in kept["managedFields"]] == [{"f:status": {}}, {}]
    assert kept["annotations"] == {"note": "y"}
    assert "managedFields" not in fetched["ManagedCluster", "c9"]
    seen = read_from(server).score[ClusterName("c1"), ScoreName("aged")].seen_at
    assert seen is not None
    assert seen.isoformat() == "2026-01-15T08:59:30+00:00"


# Failures that pass


@pytest.mark.parametrize(
    ("answer", "waited"),
    [
        (refuse(429, "TooManyRequests", retry_after="7"), [7.0, 7.0]),
        (refuse(429), [0.5, 1.0]),
        (refuse(500), [0.5, 1.0]),
        (refuse(503, retry_after="soon"), [0.5, 1.0]),
        (hang(), [0.5, 1.0]),
        (reset(), [0.5, 1.0]),
        (cut(), [0.5, 1.0]),
    ],
)
def test_what_passes_is_waited_for(
    answer: Fail, waited: list[float], hub: Hub, server: ApiServer, pauses: Pauses
) -> None:
    hub.fault(answer, plural="addonplacementscores", times=2)
    assert timeless(read_from(server)) == timeless(read_snapshot(SAMPLE))
    assert pauses.taken == waited


def test_a_slow_answer_is_an_answer(hub: Hub, server: ApiServer, pauses: Pauses) -> None:
    hub.fault(slow(0.1))
    assert read_from(server).clusters
    assert pauses.taken == []


def test_the_second_page_that_fails_for_good_ends_the_reading(hub: Hub, server: ApiServer, pauses: Pauses) -> None:
    hub.put_all(score(f"c{i:04d}") for i in range(600))
    hub.fault(refuse(500, "InternalError", "etcdserver: leader changed"), plural="addonplacementscores", page=2)
    said = refusal(server, HubUnreachable)
    assert "the hub's API server fails (500, 5 tries)" in said
    assert "addonplacementscores: etcdserver: leader changed" in said
    assert pauses.taken == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("answer", "what"),
    [(hang(), "no answer came in time"), (reset(), "the connection was reset"), (cut(), "the answer broke off")],
)
def test_a_hub_that_gives_no_answer_is_unreachable(answer: Fail, what: str, hub: Hub, server: ApiServer) -> None:
    hub.fault(answer)
    said = refusal(server, HubUnreachable)
    assert f"kubernetes:emulator: the hub's API server {hub.url} cannot be read: {what} (5 tries)" in said


def test_an_answer_that_never_ends_is_left_at_the_deadline(hub: Hub, tmp_path: Path) -> None:
    hub.fault(drip())
    limits = Limits(connect=5.0, read=5.0, total=0.4, tries=1)
    with open_hub(kubeconfig=hub.kubeconfig(tmp_path), limits=limits, environ={}) as server:
        assert "the answer did not end in time" in refusal(server, HubUnreachable)


def test_a_wait_that_is_longer_than_the_whole_reading_may_take_is_not_begun(
    hub: Hub, server: ApiServer, pauses: Pauses
) -> None:
    hub.fault(refuse(429, retry_after="3600"))
    assert "is too busy (429)" in refusal(server, HubUnreachable)
    assert pauses.taken == []


def test_the_whole_reading_has_one_budget_of_time(hub: Hub, tmp_path: Path, pauses: Pauses) -> None:
    hub.fault(refuse(429, retry_after="20"), times=1)
    hub.fault(refuse(429, retry_after="20"), plural="placements", times=1)
    hub.fault(refuse(429, retry_after="20"), plural="addonplacementscores", times=1)
    with opened(hub, tmp_path, pauses) as server:
        assert "addonplacementscores" in refusal(server, HubUnreachable)
    assert pauses.taken == [20.0, 20.0]


def test_a_list_whose_token_expires_is_begun_again(hub: Hub, server: ApiServer) -> None:
    hub.put_all(score(f"c{i:04d}") for i in range(1201))
    gone = refuse(410, "Expired", "The provided continue parameter is too old")
    hub.fault(gone, plural="addonplacementscores", page=3, times=2)
    assert len([one for one in read_from(server).scores if one.name == "perf"]) == 1201
    pages = [seen for seen in hub.requests if seen.path.endswith("addonplacementscores")]
    assert ["continue" in seen.query for seen in pages] == [False, True, True] * 3


def test_a_list_that_always_expires_is_unreachable(hub: Hub, server: ApiServer) -> None:
    hub.put_all(score(f"c{i:04d}") for i in range(600))
    hub.fault(refuse(410, "Expired"), plural="addonplacementscores", page=2)
    said = refusal(server, HubUnreachable)
    assert "the list of addonplacementscores expired 4 times before its last page was read (410)" in said


# Failures that stay


def test_wrong_credentials_are_said(hub: Hub, tmp_path: Path, pauses: Pauses) -> None:
    hub.store.token = "right"
    config = hub.kubeconfig(tmp_path, token="wr0ng")
    with open_hub(kubeconfig=config, limits=QUICK, sleep=pauses.sleep, environ={}) as server:
        said = refusal(server)
    assert "does not accept these credentials (401); they are wrong or have expired" in said
    assert "`kubectl --context emulator auth whoami`" in said
    assert "wr0ng" not in said
    assert pauses.taken == []


def test_every_list_that_is_forbidden_is_named_with_the_rule_that_is_missing(hub: Hub, server: ApiServer) -> None:
    hub.fault(refuse(403), plural="addonplacementscores")
    hub.fault(refuse(403), plural="placements")
    first, second = refusal(server).splitlines()
    assert first == (
        "kubernetes:emulator: system:serviceaccount:ops:reader may not list addonplacementscores (API group "
        '"cluster.open-cluster-management.io") over the whole hub (403); add to its ClusterRole the rule '
        '`- {apiGroups: ["cluster.open-cluster-management.io"], resources: ["addonplacementscores"], '
        'verbs: ["get", "list"]}`, and '
        "check with `kubectl auth can-i list addonplacementscores.cluster.open-cluster-management.io -A --as "
        "system:serviceaccount:ops:reader`"
    )
    assert "may not list placements" in second


def test_one_namespace_that_is_forbidden_ends_the_reading(hub: Hub, server: ApiServer) -> None:
    """Roles in all namespaces but one make no list over the whole hub: the API server refuses it as a whole."""
    message = 'policies is forbidden: User "bob" cannot list resource "policies" at the cluster scope'
    hub.fault(refuse(403, message=message), plural="policies")
    assert "bob may not list policies" in refusal(server)


def test_the_definition_that_is_forbidden_is_named_too(hub: Hub, server: ApiServer) -> None:
    hub.fault(refuse(403), plural="customresourcedefinitions")
    assert "may not get customresourcedefinitions" in refusal(server)


@pytest.mark.parametrize(
    "plural", ["managedclusters", "addonplacementscores", "placements", "managedclustersetbindings"]
)
def test_a_hub_without_a_kind_that_it_must_have_is_no_hub(plural: str, hub: Hub, server: ApiServer) -> None:
    hub.forget(plural)
    said = refusal(server)
    assert f"it does not serve the CRD {plural}.{CLUSTER} as v1" in said
    assert f"of the group {CLUSTER} it serves v1" in said
    assert "clusteradm init" in said


def test_a_server_without_ocm_names_every_missing_kind(hub: Hub, server: ApiServer) -> None:
    hub.forget(*hub.store.kinds)
    said = refusal(server)
    assert len(said.splitlines()) == 6
    crd = f"managedclusters.{CLUSTER}"
    assert f"the hub has no ManagedCluster: it does not serve the CRD {crd} as v1 (404); check `kubectl get" in said


def test_kinds_that_a_hub_may_do_without_are_noted(hub: Hub, server: ApiServer) -> None:
    plurals = ("policies", "placementbindings", "manifestworkreplicasets", "dynamicscorers")
    hub.forget(*plurals, "dynamicscoringconfigs", "customresourcedefinitions")
    found = read_from(server)
    assert [one.what for one in found.skipped] == [
        "DynamicScorer",
        "ManifestWorkReplicaSet",
        "PlacementBinding",
        "Policy",
    ]
    crd = "dynamicscorers.dynamic-scoring.open-cluster-management.io"
    assert found.skipped[0].why == f"the hub has no DynamicScorer: it does not serve the CRD {crd} as v1alpha1 (404)"
    assert not found.placement_has_cel


def test_a_404_that_discovery_contradicts_is_no_missing_kind(hub: Hub, server: ApiServer) -> None:
    hub.fault(broken(b"404 page not found", 404), plural="dynamicscorers", verb="list")
    assert "answers a list of them with 404" in refusal(server, HubUnreachable)


def test_a_404_is_not_believed_where_discovery_is_refused(hub: Hub, server: ApiServer) -> None:
    hub.fault(broken(b"404 page not found", 404), plural="dynamicscorers")
    hub.fault(refuse(401, "Unauthorized"), path="/apis/dynamic-scoring.open-cluster-management.io")
    assert "refused GET /apis/dynamic-scoring.open-cluster-management.io (401)" in refusal(server)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>Sign in</html>", "Expecting value"),
        (b"[]", "it is JSON, but no object"),
        (b'{"kind": "Status"}', "it is a list without metadata"),
        (b'{"metadata": {}}', "it is a list without items"),
        (b'{"metadata": {}, "items": [1]}', "it is a list whose items are no objects"),
        (b'{"metadata": {}, "items": [{}]}', "a ManagedCluster without a name"),
        (b'{"metadata": {"continue": "x"}, "items": []}', "its pages go round in a circle"),
        (b'{"a": "\\ud800"}', "it is no readable JSON"),
        (b'{"a": ' + b"[" * 100_000, "it is no readable JSON"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "it is no readable JSON"),
        (b"\xff\xfe", "it is no readable JSON"),
    ],
)
def test_an_answer_that_is_none_of_kubernetes_is_named_with_its_request(
    body: bytes, why: str, hub: Hub, server: ApiServer
) -> None:
    hub.fault(broken(body), plural="managedclusters")
    said = refusal(server)
    assert f"the answer to GET /apis/{CLUSTER}/v1/managedclusters is not what a Kubernetes API server says" in said
    assert why in said


def test_an_object_that_stands_twice_in_a_list_is_refused(hub: Hub, server: ApiServer) -> None:
    twice = {"metadata": {}, "items": [managed_cluster("c1")] * 2}
    hub.fault(broken(json.dumps(twice).encode()), plural="managedclusters")
    assert "an object stands twice in one list" in refusal(server, HubUnreachable)


def test_a_list_that_go_never_filled_is_empty(hub: Hub, server: ApiServer) -> None:
    hub.fault(broken(b'{"metadata": {"resourceVersion": "5"}, "items": null}'), plural="dynamicscorers")
    assert read_from(server).scorers == ()


def test_an_answer_that_swells_is_refused(hub: Hub, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitops_ds.hub.live.transport.LARGEST_ANSWER", 2**20)
    hub.fault(broken(gzip.compress(b" " * 2**22), headers={"Content-Encoding": "gzip"}))
    assert "the answer is larger than 1 MiB" in refusal(server)


def test_a_token_does_not_follow_a_redirect(hub: Hub, tmp_path: Path) -> None:
    hub.store.token = "s3cret"
    with hub_server() as other, open_hub(kubeconfig=hub.kubeconfig(tmp_path), limits=QUICK, environ={}) as server:
        hub.fault(broken(b"", 302, {"Location": f"{other.url}/elsewhere"}))
        assert "refused GET" in refusal(server)
        assert other.requests == []


def test_a_malformed_object_is_named(hub: Hub, server: ApiServer) -> None:
    hub.put({**managed_cluster("c1"), "spec": {"taints": "none"}})
    hub.put({**managed_cluster("c2"), "status": []})
    first, second = refusal(server).splitlines()
    assert first == "kubernetes:emulator: ManagedCluster/c1: spec.taints: must be a list, is text"
    assert second == "kubernetes:emulator: ManagedCluster/c2: status: must be a mapping, is a list"


def test_a_malformed_score_alone_counts_as_missing_and_says_so(hub: Hub, server: ApiServer) -> None:
    hub.put(score("c1", scores=[{"name": "a", "value": 3}, {"name": "b", "value": "4"}]))
    found = read_from(server).score[ClusterName("c1"), ScoreName("perf")]
    assert found.items == ()
    assert found.unreadable == (
        "AddOnPlacementScore/perf (c1): status.scores[1].value: must be a whole number, is text"
    )


@given(st.lists(st.sampled_from([200, 429, 500, 503]), max_size=8))
def test_the_backoff_is_bounded_whatever_comes(statuses: list[int]) -> None:
    """A reading is tried at most `tries` times a call, and a good answer ends the trying."""
    pauses = Pauses()
    with open_hub_at("http://127.0.0.1:9", pauses) as server:
        answers = iter([*statuses, *[200] * 10])

        def exchange(*_: object) -> Answer:
            return Answer(next(answers), {}, b"{}")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gitops_ds.hub.live.server.exchange", exchange)
            try:
                found = server._ask(Request("GET", "/"), server.deadline())
            except HubUnreachable:
                assert 200 not in statuses[:5]
                assert len(pauses.taken) == 4
            else:
                assert found.status == 200
                assert len(pauses.taken) == ([*statuses, 200]).index(200)


def open_hub_at(url: str, pauses: Pauses) -> ApiServer:
    configuration = Configuration()
    configuration.host = url
    return ApiServer("kubernetes:x", ApiClient(configuration), Limits(), pauses.clock, pauses.sleep, jitter=lambda: 1.0)


# Writing and watching, for those who need it


def lease(holder: str = "a") -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "gitops-ds", "namespace": "ops"},
        "spec": {"holderIdentity": holder},
    }


def test_a_write_that_meets_another_writers_is_a_conflict(server: ApiServer) -> None:
    made = server.send("POST", LEASES, lease(), namespace="ops")
    with pytest.raises(HubConflict):
        server.send("POST", LEASES, lease(), namespace="ops")
    stale = {**made, "spec": {"holderIdentity": "b"}}
    fresh = server.send("PUT", LEASES, stale, name="gitops-ds", namespace="ops")
    assert fresh["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    with pytest.raises(HubConflict, match=r"leases/gitops-ds has changed since it was read"):
        server.send("PUT", LEASES, {**made, "spec": {"holderIdentity": "c"}}, name="gitops-ds", namespace="ops")
    found = server.find(LEASES, "gitops-ds", "ops")
    assert found is not None
    assert found["spec"] == {"holderIdentity": "b"}
    assert server.find(LEASES, "other", "ops") is None


def test_a_write_is_sent_once_whatever_happens(hub: Hub, server: ApiServer, pauses: Pauses) -> None:
    hub.fault(refuse(503), verb="create")
    with pytest.raises(HubUnreachable):
        server.send("POST", LEASES, lease(), namespace="ops")
    assert len(hub.requests) == 1
    assert pauses.taken == []


def test_patches_of_an_object_and_of_its_status(hub: Hub, server: ApiServer) -> None:
    scores = resource("AddOnPlacementScore")
    server.send("POST", scores, score("c1", scores=[{"name": "a", "value": 1}]), namespace="c1")
    made = hub.get("addonplacementscores", "perf", "c1")
    assert made is not None
    assert "status" not in made
    status = {"status": {"scores": [{"name": "a", "value": 2}]}}
    where = {"name": "perf", "namespace": "c1", "content_type": MERGE_PATCH}
    server.send("PATCH", scores, status, subresource="status", **where)  # type: ignore[arg-type]
    server.send("PATCH", scores, {"metadata": {"labels": {"x": "y"}}}, **where)  # type: ignore[arg-type]
    found = read_from(server).score[ClusterName("c1"), ScoreName("perf")]
    assert found.items == (("a", 2),)
    assert found.seen_at is not None
    applied = {**lease("z"), "metadata": {"name": "new"}}
    server.send(
        "PATCH", LEASES, applied, name="new", namespace="ops", query={"fieldManager": "t"}, content_type=APPLY_PATCH
    )
    assert hub.get("leases", "new", "ops")


def test_a_write_that_is_forbidden_names_its_verb_and_namespace(hub: Hub, server: ApiServer) -> None:
    hub.fault(refuse(403), plural="leases")
    with pytest.raises(HubError) as caught:
        server.send("POST", LEASES, lease(), namespace="ops")
    assert 'may not create leases (API group "coordination.k8s.io") in namespace ops' in str(caught.value)
    assert 'Role the rule `- {apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"]}`' in str(
        caught.value
    )


def test_a_watch_gives_what_changes_after_a_list(hub: Hub, server: ApiServer) -> None:
    hub.put(lease())
    assert server.list_all(LEASES, lambda one: one["metadata"]["name"]) == ["gitops-ds"]
    since = server.version_of(LEASES)
    hub.put(lease("b"))
    hub.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ops"}})
    hub.remove("leases", "gitops-ds", "ops")
    events = list(server.watch(LEASES, since=since, seconds=1))
    assert [(e["type"], e["object"]["spec"]["holderIdentity"]) for e in events] == [("MODIFIED", "b"), ("DELETED", "b")]
    assert server.list_all(CONFIGMAPS, lambda one: one["metadata"]["name"], namespace="ops") == ["x"]


def test_a_watch_from_a_version_that_is_forgotten_has_expired(hub: Hub, server: ApiServer) -> None:
    hub.put(lease())
    hub.expire_tokens()
    with pytest.raises(HubExpired):
        list(server.watch(LEASES, since="1", seconds=5))


def test_a_watch_that_breaks_off_is_unreachable(hub: Hub, server: ApiServer) -> None:
    hub.fault(cut(b'{"type": "ADDED", "object": {}}\n'), verb="watch")
    events = server.watch(LEASES, since="1", seconds=5)
    assert next(events)["type"] == "ADDED"
    with pytest.raises(HubUnreachable, match="broke off"):
        next(events)
