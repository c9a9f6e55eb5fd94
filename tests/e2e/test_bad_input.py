"""What people get wrong: each refusal in a few lines that say where, with the right exit code, and nothing written."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.fleet import INTENT, Fleet, assert_plain, assert_refused, cli, environment

BY_MODES = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may read and write everything"
)
POLICY = "policies/policy-enable-mig-3g-cluster1.yaml"
AMOUNT = 'resource-supply-amount: "2"'

Change = Callable[[Fleet], object]


def _link(fleet: Fleet, target: str) -> None:
    (fleet.top / "intent/link.yaml").symlink_to(target)


def _link_folder(fleet: Fleet) -> None:
    (fleet.top / "intent").rename(fleet.root / "outside")
    (fleet.top / "intent").symlink_to(fleet.root / "outside")


def _rename_workload(fleet: Fleet, name: str) -> None:
    fleet.edit("hub/workloads.yaml", "name: mwrs-app01", f"name: {name}")
    fleet.edit(INTENT, "name: mwrs-app01", f"name: {name}")


BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
)

INTENT_FAULTS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "unknown field": (
        lambda f: f.edit(INTENT, "    goal: place-first", "    gaol: place-first"),
        ("gaol", "did you mean goal", f"{INTENT}:13:5"),
    ),
    "wrong type": (
        lambda f: f.edit(INTENT, "  workloads: #", "  unplaced: [keep]\n  workloads: #"),
        ("unplaced", f"{INTENT}:28:"),
    ),
    "duplicate key": (
        lambda f: f.edit(INTENT, "    goal: place-first", "    goal: place-first\n    goal: place-first"),
        ("goal", f"{INTENT}:14:5"),
    ),
    "NO as a region": (
        lambda f: f.edit(INTENT, "    - name: cluster1\n", "    - selector: {matchLabels: {region: NO}}\n"),
        ("NO", f"{INTENT}:18:"),
    ),
    "unknown policy": (
        lambda f: f.edit(INTENT, "policy-enable-mig-3g-cluster1", "policy-enable-mig-4g-cluster1"),
        ("policy default/policy-enable-mig-4g-cluster1", f"{INTENT}:20:11"),
    ),
    "policy without supply labels": (
        lambda f: f.edit(POLICY, "resource-supply-", "resource-demand-"),
        ("policy-enable-mig-3g-cluster1", "resource-supply-kind", f"{POLICY}:"),
    ),
    "supply that is no number": (
        lambda f: f.edit(POLICY, AMOUNT, "resource-supply-amount: two"),
        ("resource-supply-amount", "two", f"{POLICY}:10:"),
    ),
    "workload without placementRefs": (
        lambda f: f.edit(
            "hub/workloads.yaml", "  placementRefs:\n    - name: app01-placement\n", "  x:\n    - name: y\n"
        ),
        ("mwrs-app01", "placementRefs", "workloads.yaml:"),
    ),
    "two intents that set one workload": (
        lambda f: f.write("intent/twin.yaml", f.file(INTENT).read_text().replace("name: gpu-inference", "name: twin")),
        ("default/mwrs-app01", "two intents", "intent/twin.yaml:", INTENT),
    ),
    "alias bomb": (lambda f: f.write("intent/bomb.yaml", BOMB), ("intent/bomb.yaml:",)),
    "50 MB": (
        lambda f: f.write("intent/huge.yaml", b"# padding\n" * 5_000_000),
        ("intent/huge.yaml", "too large", "50,000,000 bytes"),
    ),
    "binary file": (lambda f: f.write("intent/x.yaml", bytes(range(256)) * 8), ("intent/x.yaml",)),
    "no intent": (lambda f: f.file(INTENT).rename(f.top / "elsewhere.yaml"), ("no intent",)),
    "symbolic link that leaves": (lambda f: _link(f, "/etc/hostname"), ("intent/link.yaml", "symbolic link")),
    "a folder of links that leaves": (_link_folder, ("intent", "symbolic link")),
    "object in both places": (
        lambda f: f.write("hub/policy.yaml", f.file(POLICY).read_text().replace(AMOUNT, 'resource-supply-amount: "3"')),
        ("policy-enable-mig-3g-cluster1", f"{POLICY}:", "hub/policy.yaml:"),
    ),
    "namespace without a binding": (
        lambda f: f.edit("hub/clustersets.yaml", "namespace: default", "namespace: other"),
        ("no cluster set", "namespace default", "bindClusterSets", f"{INTENT}:18:"),
    ),
    "cluster without a pin label": (
        lambda f: f.edit("hub/clusters.yaml", "cluster-name: cluster2", "some-name: cluster2"),
        ("cluster2", "kubectl label managedcluster cluster2", f"{INTENT}:23:"),
    ),
    "cluster that does not exist": (
        lambda f: f.edit(INTENT, "- name: cluster2", "- name: cluster9"),
        ("cluster9 is not on the hub", "cluster1, cluster2", f"{INTENT}:23:"),
    ),
    "workload that does not exist": (
        lambda f: f.edit(INTENT, "- name: mwrs-app02", "- name: mwrs-app09"),
        ("mwrs-app09", f"{INTENT}:30:"),
    ),
    "intent name of 64 characters": (
        lambda f: f.edit(INTENT, "name: gpu-inference", f"name: {'n' * 64}"),
        ("63 characters", f"{INTENT}:5:"),
    ),
    "workload name too long for OCM": (lambda f: _rename_workload(f, "w" * 56), ("63 characters", f"{INTENT}:")),
    "terminal escapes in a name": (
        lambda f: f.edit(INTENT, "name: mwrs-app01", f'name: "{chr(92)}e[2J{chr(92)}e]0;owned{chr(92)}a{"x" * 200}"'),
        (r"\x1b[2J", f"{INTENT}:29:"),
    ),
    "no time to wait for a phase": (
        lambda f: f.edit(INTENT, "  workloads: #", "  stability: {phaseTimeout: 0s}\n  workloads: #"),
        ("phaseTimeout is more than 0s", f"{INTENT}:28:"),
    ),
}


@pytest.mark.parametrize("case", INTENT_FAULTS)
def test_a_fault_is_refused_where_it_stands(settled: Fleet, case: str) -> None:
    change, said = INTENT_FAULTS[case]
    change(settled)
    settled.commit(case)
    before = settled.state()
    assert_refused(settled.run("reconcile"), 1, "error: ", *said, most=20)
    assert settled.state() == before


def test_all_faults_of_all_files_are_said_at_once(settled: Fleet) -> None:
    settled.edit(INTENT, "goal: place-first", "goal: last")
    settled.write("intent/second.yaml", "kind: Nothing\n")
    settled.write("policies/broken.yaml", "a: [1\n")
    answer = settled.run("plan")
    assert_refused(answer, 1, f"{INTENT}:13:", "intent/second.yaml:1:", "policies/broken.yaml:", most=20)
    assert_refused(
        settled.run("validate"), 1, f"{INTENT}:13:", "intent/second.yaml:1:", "policies/broken.yaml:", most=20
    )


@BY_MODES
@pytest.mark.parametrize(("path", "said"), [(INTENT, INTENT), ("hub/scores.yaml", "scores.yaml")])
def test_an_unreadable_file_is_refused(settled: Fleet, path: str, said: str) -> None:
    settled.file(path).chmod(0)
    assert_refused(settled.run("plan", by_modes=True), 1, said, "Permission denied")


@BY_MODES
def test_without_permission_to_write_nothing_is_committed(fresh: Fleet) -> None:
    before = fresh.state()
    folders = [fresh.top / ".git", *(p for p in (fresh.top / ".git").rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    answer = fresh.run("reconcile", by_modes=True)
    for folder in folders:
        folder.chmod(0o755)
    assert_refused(answer, 1)
    assert fresh.state() == before


def test_a_disk_that_is_full_leaves_the_branch_as_it_was(fresh: Fleet) -> None:
    before = fresh.state()

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    answer = fresh.run("reconcile", preexec_fn=no_room)
    assert answer.code == 1, answer
    assert "error: " in answer.err
    assert "bug" not in answer.err
    assert fresh.state() == before


def test_output_that_cannot_be_written_is_an_error_and_no_bug(settled: Fleet) -> None:
    line = [sys.executable, "-P", "-m", "gitops_ds", "plan", "--hub=demo"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(line, cwd=settled.top, env=settled.env, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[0] == "error: No space left on device"


@pytest.mark.parametrize(
    ("hub", "code", "said"),
    [
        ("Demo", 64, "is no hub"),
        ("snapshot", 64, "is no hub"),
        ("snapshot:", 64, "is no hub"),
        ("demo:x", 64, "is no hub"),
        ("/tmp", 64, "is no hub"),
        ("kubernetes:", 64, "is no hub"),
        ("kubernetes", 1, "there is no kubeconfig"),
        ("kubernetes:prod", 1, "there is no kubeconfig with a hub called prod"),
        ("snapshot:/does/not/exist", 1, "does not exist"),
        ("snapshot:/etc/hostname", 1, "not a folder"),
        ("snapshot:.", 1, ""),
    ],
)
def test_a_hub_that_is_none_is_refused(settled: Fleet, hub: str, code: int, said: str) -> None:
    before = settled.state()
    assert_refused(settled.run("reconcile", f"--hub={hub}"), code, said)
    assert settled.state() == before


def test_a_hub_must_be_named(settled: Fleet) -> None:
    answer = cli("plan", cwd=settled.top, env=settled.env)
    assert_refused(answer, 64, "which hub?", "GITOPS_DS_HUB")
    assert cli("plan", cwd=settled.top, env={**settled.env, "GITOPS_DS_HUB": "demo"}).code == 0


def test_an_empty_snapshot_is_refused(settled: Fleet) -> None:
    (settled.root / "none").mkdir()
    answer = settled.run("reconcile", f"--hub=snapshot:{settled.root / 'none'}")
    assert_refused(answer, 1, "holds no manifest")


@pytest.mark.parametrize("time", ["yesterday", "", "2026-13-01T00:00:00Z", "15", "2026-01-15T09:00:00+99:00"])
def test_a_time_that_is_none_is_refused(settled: Fleet, time: str) -> None:
    assert_refused(settled.run("plan", f"--at={time}"), 64, "--at", "2026-01-15T09:00:00Z")


def test_a_time_at_the_edge_of_the_calendar_is_no_bug(settled: Fleet) -> None:
    assert settled.run("plan", "--at=0001-01-01T00:00:00+14:00").code in {0, 4}
    assert settled.run("plan", "--at=9999-12-31T23:59:59-14:00").code in {0, 4}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plam",), "plam"),
        (("plan", "--nope"), "--nope"),
        (("plan", "--output=xml"), "xml"),
        (("plan", "extra"), "extra"),
        (("render", "--hub"), "--hub"),
        (("schema", "Nothing"), "Nothing"),
    ],
)
def test_a_wrong_command_line_is_refused(settled: Fleet, words: tuple[str, ...], said: str) -> None:
    assert_refused(cli(*words, cwd=settled.top, env=settled.env), 64, said)


def test_where_there_is_no_repository(tmp_path: Path) -> None:
    env = environment(tmp_path, {"GITOPS_DS_HUB": "demo", "GIT_CEILING_DIRECTORIES": str(tmp_path)})
    for name, words, said in (
        ("plain", None, "not inside a git repository"),
        ("bare", ("init", "--bare", "-q"), "bare repository"),
        ("empty", ("init", "-q"), "no commit yet"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        if words:
            subprocess.run(["git", *words], cwd=folder, env=env, check=True)
        assert_refused(cli("reconcile", cwd=folder, env=env), 1, said, str(folder))
        assert_refused(cli("render", "--locked", cwd=folder, env=env), 1, said, str(folder))
    assert_refused(cli("plan", "--repo=missing", cwd=tmp_path, env=env), 1, "no such folder")


@pytest.mark.parametrize("verb", ["plan", "reconcile", "diff", "explain", "validate"])
def test_json_is_all_there_is_on_standard_output_whatever_happens(settled: Fleet, verb: str) -> None:
    good = settled.run(verb, "--output=json")
    assert good.code == 0
    assert good.json["apiVersion"] == "gitops-ds.io/v1alpha1"
    settled.edit(INTENT, "goal: place-first", r'goal: "\e[31m"')
    settled.commit("broken")
    bad = settled.run(verb, "--output=json")
    assert bad.code == 1
    assert (bad.json["kind"], bad.json["exitCode"]) == ("Error", 1)
    (fault,) = bad.json["faults"]
    assert (fault["file"], fault["line"]) == (INTENT, 13)
    assert_plain(bad.out)
    assert_plain(bad.err)
    usage = settled.run(verb, "-o", "json", "--nope")
    assert (usage.code, usage.json["exitCode"]) == (64, 64)


def test_names_that_are_as_long_as_they_may_be_work(fresh: Fleet) -> None:
    name = "w" * 55  # with namespace default and a dot, 63 in all
    _rename_workload(fresh, name)
    fresh.edit(INTENT, "name: gpu-inference", f"name: {'n' * 63}")
    fresh.edit("hub/workloads.yaml", "name: app01-placement", f"name: {'p' * 63}")
    fresh.commit("Long names")
    plan = fresh.reconcile()
    assert plan["objective"]["score"] == 115
    assert any(f"placement-{'p' * 63}.yaml" in change["path"] for change in plan["changes"])


def test_a_file_name_full_of_escapes_is_shown_plainly(settled: Fleet) -> None:
    settled.write("intent/\x1b[2J\nforged: ok\x9b.yaml", "kind: Nothing\n")
    answer = settled.run("plan")
    assert_refused(answer, 1, r"\x1b[2J\nforged: ok\x9b.yaml:1:")


def test_control_characters_in_a_label_reach_neither_terminal_nor_commit(settled: Fleet) -> None:
    settled.edit(
        POLICY, "resource-supply-device: 3g.48gb", r'resource-supply-device: "3g\e[31m\nGitops-Ds-Plan: x\x9b"'
    )
    settled.commit("A strange device")
    for verb in ("plan", "explain", "reconcile"):
        answer = settled.run(verb)
        assert_plain(answer.out + answer.err)
        assert r"3g\x1b[31m\nGitops" in answer.out
    assert_plain(settled.run("plan", "--output=json").out)
    assert_plain(settled.git("log", "-1", "--format=%B"))
