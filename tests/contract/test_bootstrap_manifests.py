"""What bootstrap prints for a hub, held against the schemas of its kinds, and run against real servers."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from gitops_ds.bootstrap.argocd import _DEFAULTED
from gitops_ds.bootstrap.pod import USER
from gitops_ds.bootstrap.source import RENDERED_KINDS
from gitops_ds.bootstrap.watch import GRACE
from gitops_ds.hub.live import Limits, open_hub, read_from
from gitops_ds.hub.live.lease import HubLease
from gitops_ds.sample import sample_folder
from gitops_ds.watch.signals import GRACE as ROUND
from tests.bootstraps import IMAGE, URL, fleet, objects, one, printed
from tests.e2e.fleet import INTENT, Fleet, cli, new_fleet
from tests.e2e.published import Published, published
from tests.hubs import Hub, hub_server
from tests.remotes import Sshd, ssh_server, web_server
from tests.unit.pages import planned
from tests.unit.test_scoring_intent import scoring
from tests.unit.test_scoring_plan import FULL
from tests.unit.test_scoring_plan import planned as scored

GOLDEN = Path(__file__).parents[1] / "golden" / "mixed-fleet" / "expected"
LEASE = "  watch: {lease: {namespace: ops, name: fleet}}\n"
BUILT_IN = ("apps/", "batch/", "networking.k8s.io/", "policy/v1", "rbac.authorization.k8s.io/", "v1")
KUBERNETES = kubernetes_validate.latest_version()
SETS = ("--cluster-set=gpu", "--cluster-set=edge")
OUTPUTS = {
    "argocd": ("argocd", *SETS, "--policies", "--workloads", "--project=fleet", "--with-project", "--sync-timeout=15m"),
    "argocd-small": ("argocd",),
    "flux": ("flux", *SETS, "--policies", "--workloads", "--git-secret=fleet-git"),
    "flux-small": ("flux",),
    "cronjob": ("cronjob", f"--image={IMAGE}"),
    "watch": ("watch", f"--image={IMAGE}"),
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return fleet(tmp_path / "fleet", f"  git: {{remote: {URL}, branch: main, mode: push}}\n{LEASE}")


@pytest.fixture(params=sorted(OUTPUTS))
def output(request: pytest.FixtureRequest, repo: Path, capsys: pytest.CaptureFixture[str]) -> str:
    return printed(capsys, *OUTPUTS[request.param], f"--repo={repo}")


def test_every_object_of_a_built_in_kind_is_one(output: str) -> None:
    for obj in objects(output):
        if obj["apiVersion"] == "v1" or obj["apiVersion"].startswith(BUILT_IN):
            kubernetes_validate.validate(obj, KUBERNETES, strict=True)


@pytest.mark.skipif("CRDCHECK" not in os.environ, reason="CRDCHECK names no checker")
def test_every_object_passes_crdcheck(output: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "all.yaml").write_text(output)
    line = [sys.executable, os.environ["CRDCHECK"], str(tmp_path / "out")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif("CRDCHECK" not in os.environ, reason="the CRDs that crdcheck uses are not here")
def test_defaults_that_the_hub_fills_in_are_no_difference_for_argo_cd() -> None:
    crds = Path(os.environ["CRDCHECK"]).parents[1] / "crds"
    found = {}
    for path in crds.glob("*open-cluster-management.io_*.yaml"):
        crd = yaml.safe_load(path.read_text())
        if crd and (crd["spec"]["group"], crd["spec"]["names"]["kind"]) in {kind[:2] for kind in RENDERED_KINDS}:
            spec = crd["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
            defaults = [name for name, field in spec.get("properties", {}).items() if "default" in field]
            found[crd["spec"]["names"]["kind"]] = {f"/spec/{name}" for name in defaults}
    rendered = {"scoreDimensionFormat"}  # always written out, by scorers.py
    missing = {
        kind: extra
        for kind, paths in found.items()
        if (extra := paths - {*_DEFAULTED.get(kind, ())} - {f"/spec/{name}" for name in rendered})
    }
    assert missing == {}


def test_all_that_is_rendered_may_be_applied() -> None:
    trees = [planned().tree]
    trees += [scored(scoring(FULL, distribute=how)).tree for how in ("controller", "rendered")]
    trees.append({path.name: path.read_bytes() for path in GOLDEN.rglob("*.yaml")})
    found = set()
    for tree in trees:
        for path, text in tree.items():
            if path.endswith(".yaml") and not path.endswith("kustomization.yaml"):
                obj = yaml.safe_load(text)
                found.add((obj["apiVersion"].partition("/")[0], obj["kind"]))
    assert found == {kind[:2] for kind in RENDERED_KINDS}


# What runs in a pod


def pods(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pod templates' specs."""
    specs = [obj["spec"]["jobTemplate"]["spec"]["template"]["spec"] for obj in found if obj["kind"] == "CronJob"]
    return specs + [obj["spec"]["template"]["spec"] for obj in found if obj["kind"] == "Deployment"]


@pytest.mark.parametrize("target", ["cronjob", "watch"])
def test_pods_are_as_the_restricted_standard_wants_them(
    target: str, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = objects(printed(capsys, *OUTPUTS[target], f"--repo={repo}"))
    labels = one(found, "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    (pod,) = pods(found)
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] == security["runAsGroup"] == security["fsGroup"] == USER
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert {*container["resources"]} == {"limits", "requests"}
    allowed = {"configMap", "emptyDir", "secret", "projected", "name"}
    assert all(volume.keys() <= allowed for volume in pod["volumes"])
    assert {volume["name"] for volume in pod["volumes"]} == {mount["name"] for mount in container["volumeMounts"]}
    secrets = [volume for volume in pod["volumes"] if "secret" in volume]
    assert [volume["secret"]["secretName"] for volume in secrets] == ["gitops-ds-git"]
    assert all(mount.get("readOnly") for mount in container["volumeMounts"] if mount["name"].startswith("credentials"))
    assert not [obj for obj in found if obj["kind"] == "Secret"]


@pytest.mark.parametrize("target", ["cronjob", "watch"])
def test_the_network_policy_is_for_the_pods_and_closes_what_is_not_said(
    target: str, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = objects(printed(capsys, *OUTPUTS[target], f"--repo={repo}"))
    policy = one(found, "NetworkPolicy")["spec"]
    workload = one(found, "CronJob" if target == "cronjob" else "Deployment")
    spec = workload["spec"].get("jobTemplate", workload)["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert policy["policyTypes"] == ["Egress", "Ingress"]
    assert ("ingress" in policy) == (target == "watch")
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {53, 5353, 443, 6443}


def test_a_run_never_overlaps_another_and_does_not_go_on_for_ever(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = objects(printed(capsys, *OUTPUTS["cronjob"], "--schedule=5,35 6-20 * * 1-5", f"--repo={repo}"))
    spec = one(found, "CronJob")["spec"]
    assert spec["schedule"] == "5,35 6-20 * * 1-5"
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["startingDeadlineSeconds"] > 10  # less, and Kubernetes may never start it
    job = spec["jobTemplate"]["spec"]
    assert job["backoffLimit"] == 0
    assert job["activeDeadlineSeconds"] > Limits().total
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["failedJobsHistoryLimit"] >= 1
    assert spec["successfulJobsHistoryLimit"] >= 1


def test_a_watcher_is_given_time_to_end_its_round() -> None:
    assert GRACE >= ROUND + 5


def test_a_watcher_is_probed_where_it_listens(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(printed(capsys, *OUTPUTS["watch"], f"--repo={repo}"))
    deployment = one(found, "Deployment")["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    (port,) = container["ports"]
    assert f"--listen=:{port['containerPort']}" in container["args"]
    paths = {name: container[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")}
    assert paths == {
        "liveness": {"path": "/healthz", "port": "metrics"},
        "readiness": {"path": "/readyz", "port": "metrics"},
    }
    assert deployment["replicas"] == 2
    assert one(found, "PodDisruptionBudget")["spec"]["minAvailable"] == 1
    assert one(found, "Service")["spec"]["selector"].items() <= deployment["template"]["metadata"]["labels"].items()


def test_without_a_lease_there_is_one_replica_and_never_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = fleet(tmp_path / "alone", f"  git: {{remote: {URL}}}\n")
    found = objects(printed(capsys, *OUTPUTS["watch"], f"--repo={repo}"))
    spec = one(found, "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert not [obj for obj in found if obj["kind"] in ("PodDisruptionBudget", "Role")]


# Rights


def allows(rules: list[dict[str, Any]], verb: str, group: str, plural: str, name: str = "") -> list[int]:
    """The rules that allow a request, by their position."""
    return [
        i
        for i, rule in enumerate(rules)
        if verb in rule["verbs"]
        and group in rule["apiGroups"]
        and plural in rule["resources"]
        and ("resourceNames" not in rule or name in rule["resourceNames"])
    ]


def asked(hub: Hub) -> set[tuple[str, str, str, str]]:
    """Verb, group, plural and name of every request that came in."""
    verbs = {"GET": "get", "POST": "create", "PUT": "update"}
    found = set()
    for seen in hub.requests:
        parts = seen.path.strip("/").split("/")
        group, rest = (parts[1], parts[3:]) if parts[0] == "apis" else ("", parts[2:])
        rest = rest[2:] if rest[0] == "namespaces" else rest
        plural, name = rest[0], rest[1] if len(rest) > 1 else ""
        found.add((verbs[seen.method] if name or seen.method != "GET" else "list", group, plural, name))
    return found


def test_the_reader_may_do_what_a_reading_does_and_nothing_else(
    repo: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = one(objects(printed(capsys, *OUTPUTS["cronjob"], f"--repo={repo}")), "ClusterRole")["rules"]
    with hub_server(sample_folder() / "hub") as hub:
        config = hub.kubeconfig(tmp_path)
        with open_hub(kubeconfig=config, environ={}) as server:
            read_from(server)
        requests = asked(hub)
    used = set()
    for verb, group, plural, name in requests:
        granting = allows(rules, verb, group, plural, name)
        assert granting, (verb, group, plural, name)
        used |= {(i, verb, plural) for i in granting}
    granted = {
        (i, verb, plural) for i, rule in enumerate(rules) for verb in rule["verbs"] for plural in rule["resources"]
    }
    assert granted == used
    assert {verb for _, verb, _ in granted} == {"get", "list"}


def test_the_lease_may_be_taken_and_renewed_and_no_other(
    repo: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = objects(printed(capsys, *OUTPUTS["watch"], f"--repo={repo}"))
    role = one(found, "Role")
    assert role["metadata"]["namespace"] == "ops"
    with hub_server() as hub:
        config = hub.kubeconfig(tmp_path)
        with open_hub(kubeconfig=config, environ={}) as server:
            lease = HubLease(server, "ops", "fleet", "me")
            lease.attempt()
            lease.attempt()
            lease.release()
        requests = asked(hub)
    used = {(verb, name) for verb, group, plural, name in requests if allows(role["rules"], verb, group, plural, name)}
    assert used == {(verb, name) for verb, _, _, name in requests}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {verb for verb, _ in used}
    assert allows(role["rules"], "update", "coordination.k8s.io", "leases", "another") == []
    bound = one(found, "RoleBinding")["subjects"]
    assert bound == [{"kind": "ServiceAccount", "name": "gitops-ds", "namespace": "gitops-ds"}]


@pytest.mark.parametrize("target", ["argocd", "flux"])
def test_sets_are_bound_by_name(target: str, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(printed(capsys, *OUTPUTS[target], f"--repo={repo}"))
    rules = one(found, "ClusterRole")["rules"]
    group, plural = "cluster.open-cluster-management.io", "managedclustersets/bind"
    assert allows(rules, "create", group, plural, "gpu")
    assert allows(rules, "create", group, plural, "edge")
    assert not allows(rules, "create", group, plural, "other")


# The pod's own command line, on real servers


@pytest.fixture
def remote(tmp_path: Path) -> Published:
    """The sample at a remote, with scores of any age: those of the emulator are from its first day."""
    fleet = new_fleet(tmp_path / "root")
    text = fleet.file(INTENT).read_text()
    fleet.write(INTENT, re.sub(r"^ *maxAge: .*\n", "", text, flags=re.MULTILINE))
    return published(fleet)


def run_pod(spec: dict[str, Any], fleet: Fleet, hub: Hub, home: Path) -> tuple[int, str]:
    """Run what the pod runs, where it does; the hub is reached by a kubeconfig instead of the service account."""
    (container,) = spec["containers"]
    env = {variable["name"]: variable["value"] for variable in container["env"]}
    env |= {"KUBECONFIG": str(hub.kubeconfig(home)), "GITOPS_DS_CACHE": str(home / "cache")}
    answer = cli(*container["args"], cwd=home, env={**fleet.env, **env})
    return answer.code, answer.err


def test_the_cronjob_works_with_a_token(remote: Published, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "secrets" / "token"
    token.parent.mkdir()
    token.write_text("s3cr3t\n")
    remote.fleet.write("intent/reconciler.yaml", f"{header()}  git: {{tokenFile: {token}, branch: main}}\n")
    remote.fleet.commit()
    remote.fleet.git("push", "--quiet", "origin", "main")
    with web_server(remote.bare.parent) as web, hub_server(remote.fleet.hub) as hub:
        web.token = "s3cr3t"
        remote.git("config", "http.receivepack", "true")
        url = f"--repo-url={web.url}/{remote.bare.name}"
        found = objects(printed(capsys, *OUTPUTS["cronjob"], url, f"--repo={remote.fleet.top}"))
        code, err = run_pod(pods(found)[0], remote.fleet, hub, tmp_path)
    assert code == 0, err
    assert remote.log("%s")[0] == "gitops-ds: place 2 workloads, configure 2 clusters"


def test_the_cronjob_works_over_ssh(remote: Published, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ssh_server(tmp_path / "sshd") as sshd, hub_server(remote.fleet.hub) as hub:
        secrets = tmp_path / "secrets"
        with_keys(sshd, secrets)
        remote.fleet.write("intent/reconciler.yaml", f"{header()}  git: {{mode: push, {keys(secrets)}}}\n")
        remote.fleet.commit()
        remote.fleet.git("push", "--quiet", "origin", "main")
        url = f"--repo-url={sshd.url(remote.bare)}"
        found = objects(printed(capsys, *OUTPUTS["cronjob"], url, f"--repo={remote.fleet.top}"))
        assert {port["port"] for port in one(found, "NetworkPolicy")["spec"]["egress"][1]["ports"]} >= {sshd.port}
        code, err = run_pod(pods(found)[0], remote.fleet, hub, tmp_path)
    assert code == 0, err
    assert remote.log("%s")[0].startswith("gitops-ds: place 2 workloads")


def header() -> str:
    return "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: prod}\nspec:\n"


def keys(folder: Path) -> str:
    return f"sshKeyFile: {folder}/key, knownHostsFile: {folder}/known_hosts"


def with_keys(sshd: Sshd, folder: Path) -> None:
    folder.mkdir()
    shutil.copy(sshd.key, folder / "key")
    (folder / "key").chmod(0o600)
    shutil.copy(sshd.known_hosts, folder / "known_hosts")


def test_outputs_are_the_same_each_time(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in OUTPUTS.values():
        first = printed(capsys, *words, f"--repo={repo}")
        assert first == printed(capsys, *words, f"--repo={repo}")
        assert json.dumps(objects(first))
