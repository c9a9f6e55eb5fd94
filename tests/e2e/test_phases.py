"""Moves without downtime, through the command line, on an emulated hub that a small player of OCM works on."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Answer, Fleet, copy_of, files_below
from tests.hubs import Hub, hub_server
from tests.ocm import Copy, Ocm

AT = "--at=2026-01-15T09:00:00Z"
MOST_RUNS = 12
PHASED = "  stability: {move: make-before-break}\n"


class Line:
    """A fleet, its hub, and whoever applies what is committed."""

    def __init__(self, fleet: Fleet, hub: Hub, home: Path) -> None:
        self.fleet, self.hub = fleet, hub
        self.ocm = Ocm(hub)
        self.env = {"KUBECONFIG": str(hub.kubeconfig(home))}
        self.seen: list[frozenset[Copy]] = []

    def run(self, *words: str) -> Answer:
        needs = words[0] in ("plan", "reconcile")
        return self.fleet.run(*words, *(["--hub=kubernetes", AT] if needs else []), env=self.env)

    def plan(self) -> Any:
        return self.run("plan", "--output=json").json

    def reconcile(self, code: int = 0) -> Any:
        """Reconcile, and let the GitOps controller apply what was committed, and no more than that."""
        answer = self.run("reconcile", "--output=json")
        assert answer.code == code, answer
        self.ocm.sync(self.fleet.rendered())
        return answer.json

    def watch(self) -> None:
        """From now on no workload may ever run on fewer clusters than it does."""
        least = Counter(workload for workload, _ in self.ocm.running())

        def look(running: frozenset[Copy]) -> None:
            now = Counter(workload for workload, _ in running)
            assert all(now[workload] >= count for workload, count in least.items()), running
            self.seen.append(running)

        self.ocm.watch = look

    def drive(self, *, eagerly: bool = False) -> list[Any]:
        """Reconcile whenever the hub has done all that it can, or eagerly after every single event there.

        Gives the plans that were committed, until nothing is left to do.
        """
        made: list[Any] = []
        for _ in range(10 * MOST_RUNS):
            plan = self.reconcile()
            made += [plan] if plan["commit"] else []
            if plan["commit"] is None and not self.ocm.step():
                return made
            if not eagerly:
                self.ocm.settle()
        raise AssertionError("it does not end")


@pytest.fixture
def line(fresh: Fleet, tmp_path: Path) -> Iterator[Line]:
    """The sample, placed for performance and running, with moves that make before they break."""
    fresh.edit(INTENT, "  workloads: #", f"{PHASED}  workloads: #")
    fresh.commit("Make before break")
    with hub_server(fresh.hub, fresh.top / "policies") as hub:
        found = Line(fresh, hub, tmp_path)
        first = found.reconcile()
        assert first["phase"] is None, "a first plan disturbs nobody, so it is one commit"
        found.ocm.settle()
        assert found.ocm.running() == {("mwrs-app01", "cluster1"), ("mwrs-app02", "cluster2")}
        yield found


def switch_to_power(line: Line) -> None:
    line.fleet.edit(INTENT, PERFORMANCE, POWER)
    line.fleet.commit("Optimise for power")


def test_a_switch_to_power_is_driven_phase_by_phase(line: Line, fresh_template: Fleet, tmp_path: Path) -> None:
    switch_to_power(line)
    line.watch()
    before = line.fleet.commits
    ahead = line.plan()["phase"]
    assert (ahead["number"], ahead["total"], len(ahead["toCome"])) == (1, 3, 2)
    made = line.drive(eagerly=True)
    assert [(p["phase"]["number"], p["phase"]["total"]) for p in made] == [(1, 3), (2, 3), (3, 3)]
    assert line.fleet.commits == before + len(made)
    assert ahead["toCome"] == [p["phase"]["steps"] for p in made[1:]]
    assert line.seen
    messages = line.fleet.git("log", "-3", "--format=%B").splitlines()
    assert [m for m in messages if m.startswith("Phase ")] == [
        "Phase 3 of 3: end the change of cluster2 to",
        "Phase 2 of 3: end the change of cluster1 to",
        "Phase 1 of 3: change cluster1 to policy-enable-mig-2g-cluster1 in place,",
    ]
    done, other = line.fleet.rendered(), at_once(fresh_template, tmp_path)
    lock, other_lock = (json.loads(tree.pop("gitops-ds.lock")) for tree in (done, other))
    assert lock.pop("intents").keys() == other_lock.pop("intents").keys()
    assert lock == other_lock, "only what the intent says of moves differs"
    assert done.pop("gitops-ds.inventory") != other.pop("gitops-ds.inventory")
    assert done == other
    assert line.reconcile()["status"] == "unchanged"


def at_once(fresh_template: Fleet, tmp_path: Path) -> dict[str, bytes]:
    """What the same switch renders in one commit."""
    other = copy_of(fresh_template, tmp_path / "at-once")
    other.reconcile()
    other.edit(INTENT, PERFORMANCE, POWER)
    other.commit("Optimise for power")
    assert other.reconcile()["phase"] is None
    return other.rendered()


def test_a_copy_comes_before_the_old_one_goes(line: Line) -> None:
    add_cluster3(line)
    assert line.reconcile()["commit"]
    line.ocm.settle()
    line.watch()
    better(line, "cluster3", 90)
    made = line.drive()
    assert [p["phase"]["steps"] for p in made] == [
        ["give cluster3 policy-enable-mig-3g-cluster3", "add default/mwrs-app01 on cluster3"],
        ["remove default/mwrs-app01 from cluster1"],
    ]
    assert line.ocm.running() == {("mwrs-app01", "cluster3"), ("mwrs-app02", "cluster2")}
    both = {("mwrs-app01", "cluster1"), ("mwrs-app01", "cluster3"), ("mwrs-app02", "cluster2")}
    assert both in line.seen


def add_cluster3(line: Line) -> None:
    """A third cluster, like the second and no better for anybody."""
    for path in sorted((line.fleet.top / "policies").glob("*cluster2.yaml")):
        text = path.read_text().replace("cluster2", "cluster3")
        line.fleet.write(f"policies/{path.name.replace('cluster2', 'cluster3')}", text)
    line.hub.load(line.fleet.top / "policies")
    for plural, name, namespace in (
        ("managedclusters", "cluster2", ""),
        ("addonplacementscores", PERFORMANCE, "cluster2"),
    ):
        found = line.hub.get(plural, name, namespace)
        line.hub.put(json.loads(json.dumps(found).replace("cluster2", "cluster3")))
    line.ocm._claim("cluster3", "empty")
    better(line, "cluster3", 1)
    text = line.fleet.file(INTENT).read_text()
    entry = text[text.index("    - name: cluster2") : text.index(PHASED)]
    line.fleet.edit(INTENT, PHASED, entry.replace("cluster2", "cluster3") + PHASED)
    line.fleet.commit("A third cluster")


def better(line: Line, cluster: str, points: int) -> None:
    """Let app01 score so many points on a cluster as 3g, and app02 none."""
    found = line.hub.get("addonplacementscores", PERFORMANCE, cluster)
    assert found is not None
    for item in found["status"]["scores"]:
        item["value"] = points if item["name"] == "app01;3g.48gb" else 0
    line.hub.put(found)


def test_a_policy_that_is_never_complied_with_holds_and_an_abort_leads_back(line: Line, tmp_path: Path) -> None:
    settled = line.fleet.rendered()
    switch_to_power(line)
    line.ocm.broken = {"policy-enable-mig-2g-cluster1"}
    line.watch()
    assert line.reconcile()["phase"]["number"] == 1
    line.ocm.settle()
    waiting = line.reconcile()
    assert (waiting["status"], waiting["held"], waiting["commit"]) == ("unchanged", [], None)
    assert waiting["phase"]["awaited"] == [
        "cluster1 to be Compliant with policy-enable-mig-2g-cluster1",
        "cluster1 to be done with its change, before cluster2 changes (maxInChange is 1)",
    ]
    date_back(line.fleet)
    held = line.reconcile(code=3)
    assert (held["status"], held["held"][0]["guard"], held["commit"]) == ("held", "phase", None)
    assert "for cluster1 to be Compliant with policy-enable-mig-2g-cluster1" in held["held"][0]["text"]
    assert "gitops-ds abort" in held["held"][0]["text"]
    verified = line.run("verify", "HEAD")
    assert verified.code == 0, verified
    assert line.run("render", "--locked", f"--to={tmp_path / 'locked'}").code == 0
    in_transit = line.fleet.rendered()
    assert {
        path.removeprefix("rendered/"): body for path, body in files_below(tmp_path / "locked").items()
    } == in_transit

    aborted = line.run("abort", "--reason=the driver does not know 2g", "--by=Pat")
    assert aborted.code == 0, aborted
    again = line.run("abort", "--reason=once more", "--by=Pat")
    assert (again.code, "aborted already" in again.out) == (0, True)
    line.drive()
    assert line.ocm.running() == {("mwrs-app01", "cluster1"), ("mwrs-app02", "cluster2")}
    now = line.fleet.rendered()
    assert {path for path in now if now[path] != settled.get(path)} == {"gitops-ds.lock", "gitops-ds.inventory"}
    stays = line.reconcile()
    assert stays["status"] == "unchanged"
    assert any("the move was aborted" in one for one in stays["warnings"])
    assert line.run("abort", "--reason=again", "--by=Pat").code == 0

    line.ocm.broken = set()
    resumed = line.run("resume", "--by=Pat")
    assert resumed.code == 0, resumed
    assert not (line.fleet.top / "intent" / "gitops-ds-abort-all.yaml").exists()
    assert len(line.drive()) == 3
    assert line.plan()["objective"]["score"] == 170


def date_back(fleet: Fleet) -> None:
    """Let the last commit be an hour older, as it would be after an hour."""
    when = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=fleet.top, env=fleet.env, capture_output=True, check=True
    )
    then = f"{int(when.stdout) - 3600} +0000"
    fleet.git("commit", "--amend", "--no-edit", "--no-verify", env={"GIT_COMMITTER_DATE": then})


def test_an_abort_ends_with_the_intent_that_it_was_for(line: Line) -> None:
    switch_to_power(line)
    line.reconcile()
    assert line.run("abort", "--reason=not now", "--by=Pat").code == 0
    line.drive()
    assert line.reconcile()["status"] == "unchanged"
    line.fleet.edit(INTENT, "missing: exclude", "missing: zero")
    line.fleet.commit("Another intent")
    assert len(line.drive()) >= 3
    assert line.plan()["objective"]["score"] == 170


def test_nothing_is_aborted_where_nothing_is_in_flight(line: Line) -> None:
    before = line.fleet.commits
    answer = line.run("abort", "--reason=why not", "--by=Pat")
    assert (answer.code, line.fleet.commits) == (0, before)
    assert "no move is in flight" in answer.out


def test_a_snapshot_without_progress_waits_and_says_for_what(settled: Fleet) -> None:
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.edit(INTENT, "  workloads: #", f"{PHASED}  workloads: #")
    settled.commit("Optimise for power")
    first = settled.reconcile()
    assert (first["commit"] is not None, first["phase"]["number"]) == (True, 1)
    second = settled.reconcile()
    assert (second["status"], second["commit"]) == ("unchanged", None)
    assert second["phase"]["awaited"][0] == "cluster1 to be Compliant with policy-enable-mig-2g-cluster1"
    text = settled.run("plan").out
    assert "Phase 2 of 3 waits for cluster1 to be Compliant" in text


def test_a_snapshot_of_a_live_hub_drives_the_same(line: Line, tmp_path: Path) -> None:
    switch_to_power(line)
    for _ in range(MOST_RUNS):
        live = line.plan()
        saved = snapshot(line.hub, tmp_path / "saved")
        replayed = line.fleet.run("plan", "--output=json", f"--hub=snapshot:{saved}", AT).json
        assert replayed["phase"] == live["phase"]
        assert replayed["changes"] == live["changes"]
        if live["status"] == "unchanged" and live["phase"] is None:
            return
        line.reconcile()
        line.ocm.settle()
    raise AssertionError("it does not end")


def snapshot(hub: Hub, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for plural in sorted(hub.store.kinds):
        body = {"apiVersion": "v1", "kind": "List", "items": hub.objects(plural)}
        (folder / f"{plural}.json").write_text(json.dumps(body))
    return folder
