"""What somebody who is new to it runs into: each answer says what is wrong and what to do, and the advice works."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, assert_refused, cli

PLACEMENT = "rendered/default/gpu-inference/placement-app01-placement.yaml"
POLICY = "policies/policy-enable-mig-3g-cluster1.yaml"


def _capture(fleet: Fleet, age: timedelta) -> None:
    """Let the snapshot be `age` old by the real clock."""
    then = (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    fleet.edit("hub/captured.yaml", "2026-01-15T09:00:00Z", then)


def _edit_and_commit(fleet: Fleet) -> None:
    fleet.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    fleet.commit("By hand")


@pytest.mark.parametrize("content", ["", "# all of it is gone\n"])
def test_an_intent_file_that_was_emptied_is_refused_everywhere(settled: Fleet, content: str) -> None:
    settled.write("intent/second.yaml", content)
    settled.git("add", "--all")
    for words in (("validate",), ("validate", "--staged"), ("plan",)):
        assert_refused(settled.run(*words), 1, "intent/second.yaml", "the file holds no intent", "delete the file")


def test_a_placeholder_that_is_none_is_refused_without_a_hub(settled: Fleet) -> None:
    settled.edit(INTENT, "${app}", "${appp}")
    assert_refused(settled.run("validate"), 1, f"{INTENT}:12:9", "${appp}", "did you mean app?")


def test_a_namespace_with_a_typing_error_is_one_fault(settled: Fleet) -> None:
    settled.edit(INTENT, "namespace: default", "namespace: defualt")
    answer = settled.run("plan")
    assert_refused(answer, 1, "namespace defualt holds nothing", "did you mean default?", most=4)


def test_what_a_hand_edit_holds_while_a_workload_has_no_place_is_held(settled: Fleet) -> None:
    _edit_and_commit(settled)
    text = settled.file("hub/workloads.yaml").read_text()
    settled.write("hub/workloads.yaml", text.replace('resource-request-amount: "2"', 'resource-request-amount: "9"', 1))
    for verb in ("plan", "reconcile"):
        answer = settled.run(verb)
        assert answer.code == 3, answer
        assert f"Held\n  {PLACEMENT} was edited by" in answer.out
        assert "Without a place\n  default/mwrs-app01" in answer.out
    taken = settled.run("reconcile", "--overwrite-edits")
    assert taken.code == 4
    assert "takes these files back" not in taken.out


def test_validate_knows_an_edit_that_is_committed_and_its_advice_works(settled: Fleet) -> None:
    good = settled.head
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    assert_refused(settled.run("validate"), 1, "git restore --source=HEAD --staged --worktree")
    settled.commit("By hand")
    answer = settled.run("validate")
    assert_refused(answer, 1, "the edit is committed", "gitops-ds reconcile --overwrite-edits")
    assert "--source=HEAD" not in answer.err
    settled.git("restore", f"--source={good}", "--staged", "--worktree", PLACEMENT)
    assert settled.run("validate").code == 0
    assert settled.run("validate", "--staged").code == 0


def test_edits_that_are_taken_back_are_what_the_commit_is_about(settled: Fleet) -> None:
    _edit_and_commit(settled)
    answer = settled.run("reconcile", "--overwrite-edits")
    assert answer.code == 0
    assert "--overwrite-edits" not in answer.out
    assert f"Takes back, edited by hand\n  {PLACEMENT}" in answer.out
    assert settled.git("log", "-1", "--format=%s").strip() == "gitops-ds: take back 1 edited file"
    assert f"- {PLACEMENT}" in settled.git("log", "-1", "--format=%b")


def test_the_hook_looks_at_the_repository_alone(settled: Fleet) -> None:
    """A new amount of a policy is on its way to the hub: the hub does not have it yet."""
    policy = settled.file(POLICY).read_text()
    settled.write("hub/policy.yaml", policy)
    settled.edit(POLICY, 'resource-supply-amount: "2"', 'resource-supply-amount: "3"')
    settled.git("add", "--all")
    hub = f"snapshot:{settled.hub}"
    assert settled.run("validate", "--staged", env={"GITOPS_DS_HUB": hub}).code == 0
    assert settled.run("validate", "--staged", env={"GITOPS_DS_HUB": "snapshot:/no/such/folder"}).code == 0
    answer = settled.run("validate", "--staged", f"--hub={hub}")
    assert_refused(answer, 1, "is not what the hub holds", "leave it out of the snapshot")
    assert settled.run("validate", env={"GITOPS_DS_HUB": hub}).code == 1


def test_on_a_detached_head_it_commits_and_says_that_no_branch_has_it(settled: Fleet) -> None:
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("power")
    main = settled.head
    settled.git("checkout", "--quiet", "--detach")
    answer = settled.run("reconcile")
    assert answer.code == 0
    assert "warning: HEAD is detached, so this commits to no branch" in answer.err
    assert settled.git("rev-parse", "main").strip() == main
    assert settled.git("rev-parse", "HEAD^").strip() == main


@pytest.mark.parametrize("verb", ["merge", "cherry-pick", "revert", "rebase"])
def test_in_the_middle_of_something_it_refuses(settled: Fleet, verb: str) -> None:
    settled.git("checkout", "--quiet", "-b", "side")
    settled.write("notes.txt", "side\n")
    settled.commit("side")
    settled.git("checkout", "--quiet", "main")
    settled.write("notes.txt", "main\n")
    settled.commit("main")
    settled.write("notes.txt", "main again\n")
    settled.commit("main again")
    settled.git(verb, "HEAD^" if verb == "revert" else "side", check=False)
    before = settled.state()
    for _ in range(2):
        answer = settled.run("reconcile")
        assert_refused(answer, 1, f"in the middle of a {verb}", f"git {verb} --abort")
        assert settled.state() == before
    settled.git(verb, "--abort")
    assert settled.run("reconcile").code == 0


def test_a_clone_with_other_line_endings_is_valid(settled: Fleet) -> None:
    settled.git("-c", "core.autocrlf=true", "clone", "--quiet", "--config=core.autocrlf=true", ".", "../clone")
    clone = settled.root / "clone"
    file = clone / PLACEMENT
    assert b"\r\n" in file.read_bytes()
    answer = cli("validate", cwd=clone, env=settled.env)
    assert answer.code == 0, answer
    file.write_bytes(file.read_bytes().replace(b"numberOfClusters: 1", b"numberOfClusters: 2"))
    assert_refused(cli("validate", cwd=clone, env=settled.env), 1, f"{PLACEMENT} was edited by hand")


def test_plan_without_a_commit_says_why_it_needs_one(tmp_path: Path, settled: Fleet) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "new")], check=True, env=settled.env)
    answer = cli("plan", "--hub=demo", cwd=tmp_path / "new", env=settled.env)
    assert_refused(answer, 1, "no commit yet", "holds its plan against the head commit", "git add intent && git commit")


def test_a_snapshot_that_is_named_from_another_folder_is_said_by_its_whole_path(settled: Fleet) -> None:
    env = {**settled.env, "GITOPS_DS_HUB": "snapshot:../hub"}
    assert cli("plan", cwd=settled.top, env=env).code == 0
    answer = cli("plan", cwd=settled.top / "intent", env=env)
    assert_refused(answer, 1, "the snapshot folder does not exist", f"at {settled.top.resolve()}/hub")
    settled.edit("hub/clusters.yaml", "apiVersion", "apiVersoin", 1)
    assert_refused(cli("plan", cwd=settled.top, env=env), 1, f"at {settled.hub}/clusters.yaml:")


def test_an_old_snapshot_is_refused_where_an_age_is_set(settled: Fleet) -> None:
    _capture(settled, timedelta(hours=5))
    assert settled.run("plan", "--max-snapshot-age=6h").code == 0
    for verb in ("plan", "diff", "explain", "render", "reconcile"):
        answer = settled.run(verb, "--max-snapshot-age=4h")
        assert_refused(
            answer, 1, "the snapshot is 5h old", "--max-snapshot-age", "allows 4h", "save what the hub holds"
        )
    hub = f"--hub=snapshot:{settled.hub}"
    assert settled.run("validate", hub, env={"GITOPS_DS_MAX_SNAPSHOT_AGE": "4h"}).code == 1
    assert settled.run("validate", env={"GITOPS_DS_MAX_SNAPSHOT_AGE": "4h"}).code == 0
    assert cli("plan", "--hub=demo", "--max-snapshot-age=1s", cwd=settled.top, env=settled.env).code == 0
    assert_refused(settled.run("plan", "--max-snapshot-age=soon"), 64, '"soon" is no duration')
    settled.file("hub/captured.yaml").unlink()
    assert_refused(settled.run("plan", "--max-snapshot-age=4h"), 1, "does not say when it was captured")


def test_reconcile_warns_of_a_snapshot_of_yesterday(settled: Fleet) -> None:
    _capture(settled, timedelta(hours=5))
    assert settled.run("reconcile").err == ""
    settled.edit("hub/captured.yaml", 'capturedAt: "', 'capturedAt: "2025-01-15T09:00:00Z" # ')
    assert "warning: the snapshot is" in settled.run("reconcile").err
    assert cli("reconcile", "--hub=demo", cwd=settled.top, env=settled.env).err == ""


def test_a_plan_says_which_facts_it_stands_on(settled: Fleet) -> None:
    at = "--at=2026-01-15T09:10:00Z"
    assert settled.run("plan", at, "--output=json").json["inventory"] == {
        "source": f"snapshot:{settled.hub}",
        "instant": "2026-01-15T09:10:00Z",
        "capturedAt": "2026-01-15T09:00:00Z",
        "ageSeconds": 600,
    }
    lines = settled.run("plan", at).out.splitlines()
    assert lines[1:3] == [
        f"Hub: snapshot:{settled.hub}",
        "  captured 2026-01-15T09:00:00Z, 10m old; scores as of 2026-01-15T09:10:00Z",
    ]


def test_what_goes_is_listed_by_itself(settled: Fleet) -> None:
    settled.edit(INTENT, "    - name: mwrs-app02\n", "")
    answer = settled.run("plan")
    assert "Removes\n  remove mwrs-app02: cluster2 -> nowhere; no intent names it any more\n" in answer.out
