"""The guide's scenario through the command line: its numbers, its tree, and that nothing but a decision changes it."""

import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, copy_of, files_below, placed

OUR_FIELDS = {"apiVersion", "kind", "status", "objective", "decisions", "unplaced", "changes", "warnings", "commit"}
DECISION = {"intent", "workload", "cluster", "policy", "device", "score", "reason", "alternatives"}


def test_reconcile_answers_as_the_format_says(fresh: Fleet) -> None:
    plan = fresh.reconcile()
    assert plan.keys() >= OUR_FIELDS
    assert (plan["apiVersion"], plan["kind"], plan["status"]) == ("gitops-ds.io/v1alpha1", "Plan", "changed")
    assert plan["objective"] == {"placed": 2, "score": 115, "changes": 0}
    assert all(d.keys() >= DECISION for d in plan["decisions"])
    assert placed(plan) == {
        "mwrs-app01": ("cluster1", "policy-enable-mig-3g-cluster1"),
        "mwrs-app02": ("cluster2", "policy-enable-mig-3g-cluster2"),
    }
    assert [(d["intent"], d["device"], d["score"]) for d in plan["decisions"]] == [
        ("default/gpu-inference", "3g.48gb", 60),
        ("default/gpu-inference", "3g.48gb", 55),
    ]
    assert len(plan["decisions"][0]["alternatives"]) == 5
    assert (plan["unplaced"], plan["warnings"]) == ([], [])
    assert plan["commit"] == fresh.head
    assert {c["action"] for c in plan["changes"]} == {"add"}
    assert [c["path"].removeprefix("rendered/") for c in plan["changes"]] == sorted(fresh.rendered())
    assert fresh.git("status", "--porcelain") == ""


def test_one_line_switches_to_power_under_the_same_names(settled: Fleet) -> None:
    before = settled.rendered()
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("Optimise for power")
    plan = settled.reconcile()
    assert plan["objective"] == {"placed": 2, "score": 170, "changes": 2}
    assert {d["device"] for d in plan["decisions"]} == {"2g.24gb"}
    assert len({d["cluster"] for d in plan["decisions"]}) == 2
    assert before.keys() == settled.rendered().keys()
    assert {c["action"] for c in plan["changes"]} == {"change"}


@pytest.mark.parametrize(("score", "objective", "device"), [(PERFORMANCE, 115, "3g.48gb"), (POWER, 170, "2g.24gb")])
@pytest.mark.parametrize(
    ("form", "spelling"), [("yaml", "addOnPlacementScore"), ("json", "addonPlacementScore")], ids=["yaml", "json"]
)
def test_the_dsf_params_file_gives_the_same(
    fresh: Fleet, form: str, spelling: str, score: str, objective: int, device: str
) -> None:
    names = ("enable-mig-3g", "enable-mig-2g", "disable-mig")
    params = {
        "namespace": "default",
        "clusters": [
            {"name": c, "availablePolicies": [{"name": f"policy-{n}-{c}"} for n in names]}
            for c in ("cluster1", "cluster2")
        ],
        "targetWorkloads": [{"name": "mwrs-app01"}, {"name": "mwrs-app02"}],
        "preference": {spelling: score, "scoreDimensionFormat": "${app};${device}"},
    }
    fresh.file(INTENT).unlink()
    fresh.write(f"intent/params.{form}", json.dumps(params) if form == "json" else yaml.safe_dump(params))
    plan = fresh.plan()
    assert plan["objective"]["score"] == objective
    assert {d["device"] for d in plan["decisions"]} == {device}
    assert len({d["cluster"] for d in plan["decisions"]}) == 2


def test_plan_and_diff_write_nothing_and_agree_with_reconcile(fresh: Fleet, tmp_path: Path) -> None:
    before = fresh.state()
    plan = fresh.plan()
    patch = fresh.run("diff")
    assert fresh.run("plan", "--detailed-exitcode").code == 2
    assert fresh.state() == before
    twin = copy_of(fresh, tmp_path / "twin")
    committed = twin.reconcile()
    assert plan["inventory"]["source"] == f"snapshot:{fresh.hub}"
    elsewhere = {"commit": None, "inventory": None}
    assert {**plan, **elsewhere} == {**committed, **elsewhere}
    fresh.write("../the.patch", patch.out)
    fresh.git("apply", "../the.patch")
    assert fresh.rendered() == twin.rendered()


def test_the_tree_passes_the_checks_of_others(settled: Fleet) -> None:
    sums = subprocess.run(["sha256sum", "--strict", "-c", "rendered/gitops-ds.inventory"], cwd=settled.top, check=True)
    assert sums.returncode == 0
    files = sorted(path for path in settled.rendered() if path != "gitops-ds.inventory")
    listed = (settled.top / "rendered/gitops-ds.inventory").read_text().splitlines()
    assert sorted(line.partition("  rendered/")[2] for line in listed) == files


@pytest.mark.skipif("CRDCHECK" not in os.environ, reason="CRDCHECK names no checker")
def test_the_tree_holds_against_the_crds(settled: Fleet) -> None:
    line = [sys.executable, os.environ["CRDCHECK"], str(settled.top / "rendered"), str(settled.top / "policies")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_finds_every_object(settled: Fleet) -> None:
    line = ["kubectl", "kustomize", str(settled.top / "rendered")]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    kinds = sorted(document["kind"] for document in yaml.safe_load_all(done.stdout))
    assert kinds == ["Placement"] * 4 + ["PlacementBinding"] * 2


def test_a_second_run_changes_nothing(settled: Fleet) -> None:
    head = settled.head
    plan = settled.reconcile()
    assert (plan["status"], plan["changes"], plan["commit"]) == ("unchanged", [], None)
    assert settled.run("plan", "--detailed-exitcode").code == 0
    assert settled.run("diff").out == ""
    assert settled.head == head


def test_scores_that_change_no_decision_make_no_commit(settled: Fleet) -> None:
    """The same shift on both clusters: where clusters differ by a point, moving is a decision. One process, 20 runs."""
    state, random_ = settled.state(), random.Random(20)
    scores = settled.file("hub/scores.yaml").read_text()
    for i in range(20):
        shutil.copytree(settled.hub, settled.root / f"hub{i}")
        (settled.root / f"hub{i}/scores.yaml").write_text(_jittered(scores, random_))
    code = (
        "from gitops_ds.cli.main import main\n"
        "for i in range(20):\n"
        "    assert main(['reconcile', '--output=json', f'--hub=snapshot:../hub{i}']) == 0"
    )
    line = [sys.executable, "-P", "-c", code]
    done = subprocess.run(line, cwd=settled.top, env=settled.env, capture_output=True, text=True, check=True)
    assert done.stdout.count('"status": "unchanged"') == 20
    assert settled.state() == state


def _jittered(scores: str, random_: random.Random) -> str:
    shift = {text: random_.randint(-2, 2) for text in re.findall(r'name: "app.*', scores)}
    item = re.compile(r'(name: "app.*)(\n *value: )(\d+)')
    return item.sub(lambda m: f"{m[1]}{m[2]}{int(m[3]) + shift[m[1]]}", scores)


def test_a_file_of_mine_stays_as_it_is(settled: Fleet) -> None:
    settled.write("notes/staged.txt", "staged")
    settled.git("add", "notes/staged.txt")
    settled.write("notes/untracked.txt", "untracked")
    settled.write("README.md", "first")
    settled.git("add", "README.md")
    settled.write("README.md", "second")
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.git("commit", "--quiet", "-m", "power", "--", INTENT)
    before = settled.git("status", "--porcelain")
    assert settled.reconcile()["status"] == "changed"
    assert settled.git("status", "--porcelain") == before
    assert settled.git("show", ":README.md") == "first"


def test_moving_one_workload_changes_its_own_files_only(settled: Fleet) -> None:
    """cluster3 is better for app02 alone: nothing of app01 and nothing of the other clusters may change."""
    for path in ("clusters", "scores"):
        text = settled.file(f"hub/{path}.yaml").read_text()
        third = [part.replace("cluster2", "cluster3") for part in text.split("\n---\n") if "cluster2" in part]
        settled.write(f"hub/{path}.yaml", "\n---\n".join([text, *third]))
    settled.edit("hub/scores.yaml", "55", "54")
    for file in sorted((settled.top / "policies").glob("*cluster2.yaml")):
        new = file.with_name(file.name.replace("cluster2", "cluster3"))
        new.write_text(file.read_text().replace("cluster2", "cluster3"))
    policies = "".join(f"        - policy-{n}-cluster3\n" for n in ("enable-mig-3g", "enable-mig-2g", "disable-mig"))
    settled.edit(INTENT, "  workloads:", f"    - name: cluster3\n      policies:\n{policies}  workloads:")
    settled.commit("A third cluster")
    settled.reconcile()
    before = settled.rendered()
    scores = settled.file("hub/scores.yaml").read_text()
    head, third_part = scores[: scores.index("cluster3")], scores[scores.index("cluster3") :]
    settled.write("hub/scores.yaml", head + third_part.replace("value: 54", "value: 99", 1))
    plan = settled.reconcile()
    assert placed(plan)["mwrs-app02"] == ("cluster3", "policy-enable-mig-3g-cluster3")
    changed = {p for p, content in settled.rendered().items() if before.get(p) != content}
    folder = "default/gpu-inference"
    added = {p for p in settled.rendered() if p not in before}
    assert len(added) == 2
    assert all("cluster3" in path for path in added)
    assert changed - added == {
        f"{folder}/placement-app02-placement.yaml",
        f"{folder}/kustomization.yaml",
        "gitops-ds.lock",
        "gitops-ds.inventory",
    }


def test_the_order_of_everything_leaves_the_tree_as_it_is(settled: Fleet, tmp_path: Path) -> None:
    wanted = settled.rendered()
    policies = {p.name: p.read_text() for p in (settled.top / "policies").iterdir()}
    intent = yaml.safe_load(settled.file(INTENT).read_text())
    hub = {p.name: list(yaml.safe_load_all(p.read_text())) for p in sorted(settled.hub.iterdir())}
    for seed in range(10):
        random_ = random.Random(seed)
        fleet = Fleet(tmp_path / f"root{seed}")
        shutil.copytree(settled.root, fleet.root)
        shutil.rmtree(fleet.hub)
        shutil.rmtree(fleet.top / "policies")
        everything = list(itertools.chain.from_iterable(hub.values()))
        for i, part in enumerate(_dealt(everything, random_)):
            fleet.write(f"hub/{random_.random()}-{i}.yaml", _document(part, random_, listed=seed % 2 == 1))
        for i, part in enumerate(_dealt(list(policies.values()), random_)):
            fleet.write(f"policies/{random_.random()}-{i}.yaml", "\n---\n".join(part))
        fleet.file(INTENT).unlink()
        fleet.write(f"intent/{seed}/x.yaml", yaml.safe_dump(_shuffled(intent, random_), sort_keys=False))
        answer = fleet.run("render", "--to", str(fleet.root / "out"), env={"PYTHONHASHSEED": str(seed)})
        assert answer.code == 0, answer
        assert files_below(fleet.root / "out" / "rendered") == wanted, seed


def _dealt(items: list[Any], random_: random.Random) -> list[list[Any]]:
    """The items in another order, dealt to a few piles."""
    mixed = random_.sample(items, len(items))
    piles = random_.randint(1, 4)
    return [pile for i in range(piles) if (pile := mixed[i::piles])]


def _document(items: list[Any], random_: random.Random, *, listed: bool) -> str:
    shuffled = [_shuffled(item, random_) for item in items]
    if listed:
        return yaml.safe_dump({"items": shuffled, "kind": "List", "apiVersion": "v1"}, sort_keys=False)
    return yaml.safe_dump_all(shuffled, sort_keys=False)


def _shuffled(value: Any, random_: random.Random) -> Any:
    """The same value with its mapping keys and list items in another order.

    The order of a command's words means something, and so does that of rules in OCM's templates: those stay.
    """
    if isinstance(value, dict):
        keys = random_.sample(list(value), len(value))
        return {k: value[k] if k in ("command", "args") else _shuffled(value[k], random_) for k in keys}
    if isinstance(value, list):
        return [_shuffled(item, random_) for item in random_.sample(value, len(value))]
    return value
