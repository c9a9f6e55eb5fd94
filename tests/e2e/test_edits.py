"""What people do to rendered/: edits are held, strangers stay, and nothing of theirs is lost unasked."""

from collections.abc import Callable

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, assert_refused

FOLDER = "rendered/default/gpu-inference"
PLACEMENT = f"{FOLDER}/placement-app01-placement.yaml"
LOCK, INVENTORY = "rendered/gitops-ds.lock", "rendered/gitops-ds.inventory"


def test_a_committed_edit_is_held_until_it_is_taken_back(settled: Fleet) -> None:
    good = settled.rendered()
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    settled.commit("By hand")
    before = settled.state()
    plan = settled.reconcile(code=3)
    assert (plan["status"], plan["commit"]) == ("held", None)
    assert plan["held"] == [
        {"guard": "edited", "text": f"{PLACEMENT} was edited by hand since gitops-ds wrote it", "until": None}
    ]
    assert settled.state() == before
    shown = settled.run("plan")
    assert shown.code == 3
    assert "Held" in shown.out
    assert "--overwrite-edits" in shown.out
    assert settled.run("diff").code == 3
    assert settled.reconcile("--overwrite-edits")["status"] == "changed"
    assert settled.rendered() == good


@pytest.mark.parametrize("staged", [False, True])
def test_an_edit_that_is_not_committed_is_refused_before_it_would_be_lost(settled: Fleet, staged: bool) -> None:
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    path = f"{FOLDER}/placementbinding-binding-cluster1-3e4d927f.yaml"
    settled.edit(path, "wave: ", "wave:  ")
    if staged:
        settled.git("add", path)
    before = settled.state()
    plan = settled.reconcile(code=3)
    assert (plan["status"], plan["commit"]) == ("held", None)
    assert path in plan["held"][0]["text"]
    assert settled.state() == before
    settled.git("restore", "--source=HEAD", "--staged", "--worktree", path)
    assert settled.reconcile()["status"] == "changed"


def test_an_edit_that_is_not_committed_is_told_where_nothing_changes(settled: Fleet) -> None:
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    settled.edit(INTENT, "maxAge: 15m", "maxAge: 16m")
    before = settled.state()
    answer = settled.run("reconcile")
    assert answer.code == 0
    assert f"warning: {PLACEMENT} is not committed as it stands, and was not read" in answer.err
    assert f"warning: {INTENT} is not committed as it stands, and was not read" in answer.err
    assert settled.state() == before


def test_a_deleted_file_is_an_edit(settled: Fleet) -> None:
    settled.file(PLACEMENT).unlink()
    settled.commit("Gone")
    assert settled.reconcile(code=3)["held"] == [
        {"guard": "edited", "text": f"{PLACEMENT} was edited by hand since gitops-ds wrote it", "until": None}
    ]
    assert settled.reconcile("--overwrite-edits")["changes"] == [{"path": PLACEMENT, "action": "add"}]


def test_a_foreign_file_stays_and_is_reported(settled: Fleet) -> None:
    settled.write("rendered/default/mine.yaml", "kind: Mine\n")
    settled.commit("A file of mine")
    plan = settled.reconcile()
    assert plan["status"] == "unchanged"
    assert plan["warnings"] == ["rendered/default/mine.yaml is not ours and is left alone"]
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    assert settled.reconcile()["status"] == "changed"
    assert settled.file("rendered/default/mine.yaml").read_text() == "kind: Mine\n"


def test_a_foreign_file_in_the_way_holds(fresh: Fleet) -> None:
    fresh.write(PLACEMENT, "kind: Mine\n")
    fresh.commit("In the way")
    plan = fresh.reconcile(code=3)
    assert plan["held"] == [
        {"guard": "edited", "text": f"{PLACEMENT} is in the way: gitops-ds did not write it", "until": None}
    ]
    assert fresh.file(PLACEMENT).read_text() == "kind: Mine\n"
    assert fresh.reconcile("--overwrite-edits")["status"] == "changed"


def test_an_untracked_file_in_the_way_is_refused(fresh: Fleet) -> None:
    fresh.write(PLACEMENT, "kind: Mine\n")
    before = fresh.state()
    plan = fresh.reconcile(code=3)
    assert PLACEMENT in plan["held"][0]["text"]
    assert fresh.state() == before


def test_a_deleted_lock_is_held(settled: Fleet) -> None:
    good = settled.rendered()
    settled.file(LOCK).unlink()
    settled.commit("No lock")
    assert settled.reconcile(code=3)["held"] == [
        {"guard": "edited", "text": f"{LOCK} was edited by hand since gitops-ds wrote it", "until": None}
    ]
    assert settled.reconcile("--overwrite-edits")["status"] == "changed"
    assert settled.rendered().keys() == good.keys()


def _truncate(fleet: Fleet, path: str) -> None:
    fleet.write(path, fleet.file(path).read_text()[:100])


GARBLED: dict[str, tuple[str, Callable[[Fleet], object], str]] = {
    "lock cut off": (LOCK, lambda f: _truncate(f, LOCK), "not as gitops-ds wrote it"),
    "lock of deep nesting": (LOCK, lambda f: f.write(LOCK, "[" * 200_000), "not as gitops-ds wrote it"),
    "lock with a score of infinity": (LOCK, lambda f: f.edit(LOCK, '"score": 60', '"score": 1e999'), "not as"),
    "lock without pins": (
        LOCK,
        lambda f: f.edit(LOCK, '"cluster1": "cluster-name"', '"x": null'),
        "no pin for cluster1",
    ),
    "lock of another version": (LOCK, lambda f: f.edit(LOCK, "v1alpha1", "v9"), "version"),
    "inventory that names a file outside": (
        INVENTORY,
        lambda f: f.edit(INVENTORY, "rendered/gitops-ds.lock", "rendered/../intent/gpu-inference.yaml"),
        "is not a line that gitops-ds writes",
    ),
    "inventory of noise": (INVENTORY, lambda f: f.write(INVENTORY, b"\xff\x00\x1b[31m"), "gitops-ds.inventory:1"),
    "inventory in conflict": (INVENTORY, lambda f: f.write(INVENTORY, "<<<<<<< ours\n"), "gitops-ds.inventory:1"),
}


@pytest.mark.parametrize("case", GARBLED)
def test_garbled_bookkeeping_is_refused(settled: Fleet, case: str) -> None:
    path, change, said = GARBLED[case]
    change(settled)
    settled.commit(case)
    before = settled.state()
    assert_refused(settled.run("reconcile"), 1, path, said, "git checkout")
    assert settled.state() == before


def test_a_user_who_takes_the_last_commit_back_in_the_working_tree_is_not_overruled(settled: Fleet) -> None:
    """Only after a commit of ours can an update of the working tree have been cut short."""
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 3")
    settled.commit("By hand")
    settled.git("checkout", "--quiet", "HEAD^", "--", "rendered")
    before = settled.state()
    settled.run("reconcile")
    assert settled.state() == before


def test_an_update_that_was_cut_short_is_finished(settled: Fleet) -> None:
    settled.git("rm", "-r", "--quiet", "rendered")
    answer = settled.run("reconcile")
    assert answer.code == 0
    assert answer.err.count("brought up to date after an interrupted run") == 11
    assert settled.git("status", "--porcelain") == ""


def test_what_no_intent_wants_any_more_is_pruned(settled: Fleet) -> None:
    settled.edit(INTENT, "    - name: mwrs-app02\n", "")
    settled.commit("app02 goes")
    plan = settled.reconcile()
    removed = [c["path"] for c in plan["changes"] if c["action"] == "remove"]
    assert removed == [f"{FOLDER}/placement-app02-placement.yaml"]
    assert "remove 1 workload" in settled.git("log", "-1", "--format=%s")
    assert "default/mwrs-app02: cluster2 -> nowhere" in settled.git("log", "-1", "--format=%B")


def test_two_reconcilers_at_once_make_one_commit(fresh: Fleet) -> None:
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        codes = sorted(answer.code for answer in pool.map(lambda _: fresh.run("reconcile"), range(2)))
    assert codes[0] == 0
    assert codes[1] in {0, 1}  # 1: the other held git's index just then, and said so
    assert fresh.commits == 2
    assert fresh.reconcile()["status"] == "unchanged"
    assert fresh.git("status", "--porcelain") == ""
