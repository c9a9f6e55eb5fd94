"""`gitops-ds verify`: good commits in every kind of clone, each way to tamper with one, and signatures."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, cli
from tests.markers import plant, secret_manifest

PLACEMENT = "rendered/default/gpu-inference/placement-app01-placement.yaml"
INVENTORY, LOCK = "rendered/gitops-ds.inventory", "rendered/gitops-ds.lock"
RECONCILER = """\
apiVersion: gitops-ds.io/v1alpha1
kind: Reconciler
metadata: {name: prod}
spec:
  rendered: %s
  git: %s
"""


def verify(fleet: Fleet, *words: str, code: int = 0) -> Any:
    """The one commit of the answer as JSON."""
    answer = fleet.run("verify", "--output=json", *words)
    assert answer.code == code, answer
    said = answer.json
    assert said["status"] == ("verified" if code == 0 else "failed")
    return said["commits"][0] if len(said["commits"]) == 1 else said["commits"]


def outcomes(commit: Any) -> dict[str, str]:
    return {check["name"]: check["outcome"] for check in commit["checks"]}


def failed(commit: Any) -> set[str]:
    return {name for name, outcome in outcomes(commit).items() if outcome == "failed"}


def whats(commit: Any) -> str:
    return "\n".join(fault["what"] for fault in commit["faults"])


def amended(fleet: Fleet, message: str | None = None) -> str:
    """The last commit made again with what is in the working tree, and another message where one is given."""
    said = ("-m", message) if message else ("--no-edit",)
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--no-verify", "--amend", *said)
    return fleet.head


def message_of(fleet: Fleet) -> str:
    return fleet.git("log", "-1", "--format=%B").rstrip() + "\n"


def configure(fleet: Fleet, rendered: str = "rendered", git: str = "{}") -> None:
    fleet.write("intent/reconciler.yaml", RECONCILER % (rendered, git))
    fleet.commit("A reconciler")


def test_a_commit_of_ours_is_verified(settled: Fleet) -> None:
    answer = settled.run("verify")
    assert answer.code == 0, answer
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[0] == f"commit {settled.head[:12]}: gitops-ds: place 2 workloads, configure 2 clusters"
    assert [line.split()[0] for line in lines[1:-1]] == [
        "message",
        "tree",
        "trailers",
        "scope",
        "parent",
        "signature",
    ]
    assert lines[-1] == "verified: 1 commit"
    found = verify(settled)
    assert found["commit"] == settled.head
    assert found["version"] == "0.1.0"
    assert found["faults"] == found["foreign"] == []
    assert set(outcomes(found).values()) == {"passed", "skipped"}


def test_without_a_commit_it_is_the_last_one_of_ours(settled: Fleet) -> None:
    ours = settled.head
    settled.write("rendered/notes.txt", "mine")
    settled.commit("A note of mine")
    assert verify(settled)["commit"] == ours
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("Power")
    settled.git("branch", "before")
    latest = settled.reconcile()["commit"]
    found = verify(settled)
    assert found["commit"] == latest
    assert found["foreign"] == ["rendered/notes.txt"]
    settled.git("checkout", "--quiet", "before")
    settled.git("merge", "--quiet", "--no-ff", "-m", "Merge the proposal", latest)
    assert verify(settled)["commit"] == latest, "a merged pull request counts"


def test_a_commit_that_is_not_ours_is_not_verified(fresh: Fleet) -> None:
    for words in ((), ("HEAD",)):
        found = verify(fresh, *words, code=1)
        assert failed(found) == {"message"}
        assert "is not one of gitops-ds" in whats(found)
        assert found["reconciler"] is None
    answer = fresh.run("verify")
    assert answer.out.endswith("not verified\n")
    assert "error: commit" in answer.err
    assert fresh.run("verify", "no-such-branch").code == 1
    assert fresh.run("verify", "HEAD...HEAD").code == 64


def test_a_rendered_file_that_the_lock_does_not_render_is_named(settled: Fleet) -> None:
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    amended(settled)
    found = verify(settled, "HEAD", code=1)
    assert failed(found) == {"tree"}
    assert whats(found) == f"{PLACEMENT} is not what the lock renders"
    assert found["faults"][0]["file"] == PLACEMENT


def test_a_forged_inventory_and_message_do_not_help(settled: Fleet) -> None:
    """Everything that a digest says is made to fit the changed file."""
    old = hashlib.sha256(settled.file(PLACEMENT).read_bytes()).hexdigest()
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    new = hashlib.sha256(settled.file(PLACEMENT).read_bytes()).hexdigest()
    plan = hashlib.sha256(settled.file(INVENTORY).read_bytes()).hexdigest()
    settled.edit(INVENTORY, old, new)
    forged = hashlib.sha256(settled.file(INVENTORY).read_bytes()).hexdigest()
    amended(settled, message_of(settled).replace(plan, forged))
    found = verify(settled, "HEAD", code=1)
    assert failed(found) == {"tree"}
    assert {fault["file"] for fault in found["faults"]} == {PLACEMENT, INVENTORY}


def test_a_file_that_is_missing_and_one_that_is_too_many_are_named(settled: Fleet) -> None:
    settled.file(PLACEMENT).unlink()
    extra = "rendered/default/gpu-inference/extra.yaml"
    settled.write(extra, "kind: Extra\n")
    line = f"{hashlib.sha256(settled.file(extra).read_bytes()).hexdigest()}  {extra}\n"
    settled.write(INVENTORY, settled.file(INVENTORY).read_text() + line)
    amended(settled)
    said = whats(verify(settled, "HEAD", code=1))
    assert f"{PLACEMENT} is missing, and the lock renders it" in said
    assert f"{extra} is not rendered by the lock" in said


@pytest.mark.parametrize("name", ["Plan", "Lock", "Intent"])
def test_each_trailer_is_held_against_what_it_names(name: str, settled: Fleet) -> None:
    lines = message_of(settled).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"Gitops-Ds-{name}: "))
    lines[at] = f"Gitops-Ds-{name}: {'0' * 64}"
    amended(settled, "\n".join(lines))
    found = verify(settled, "HEAD", code=1)
    assert failed(found) == {"trailers"}
    assert f"Gitops-Ds-{name}" in whats(found)
    del lines[at]
    amended(settled, "\n".join(lines))
    assert "message" in failed(verify(settled, "HEAD", code=1))


def test_what_else_a_commit_changes_is_a_fault(settled: Fleet) -> None:
    settled.write("policies/more.yaml", "kind: X\n")
    settled.file(INTENT).chmod(0o755)
    amended(settled)
    found = verify(settled, "HEAD", code=1)
    assert failed(found) == {"scope"}
    for path in ("policies/more.yaml", INTENT):
        assert f"{path} is changed by the commit, and is not below rendered/" in whats(found)


def test_what_is_not_ours_in_the_folder_is_a_fault_where_the_commit_changes_it(settled: Fleet) -> None:
    settled.write("rendered/notes.txt", "mine")
    settled.commit("A note of mine")
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("Power")
    settled.reconcile()
    assert verify(settled)["foreign"] == ["rendered/notes.txt"]
    settled.write("rendered/.argocd-source.yaml", "kustomize: {}\n")
    settled.file("rendered/notes.txt").unlink()
    amended(settled)
    found = verify(settled, code=1)
    assert failed(found) == {"scope"}
    assert whats(found).splitlines() == [
        "rendered/.argocd-source.yaml is changed by the commit, and is not ours",
        "rendered/notes.txt is changed by the commit, and is not ours",
    ]


def test_a_mode_that_the_commit_changes_is_a_fault(settled: Fleet) -> None:
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("Power")
    settled.reconcile()
    settled.file(PLACEMENT).chmod(0o755)
    settled.file(LOCK).chmod(0o755)
    amended(settled)
    found = verify(settled, code=1)
    assert failed(found) == {"scope"}
    what = "has another mode by the commit than gitops-ds gives it"
    assert whats(found).splitlines() == [f"{PLACEMENT} {what}", f"{LOCK} {what}"]
    settled.commit("The commit before this one is not good, and the modes stay")
    settled.edit(INTENT, POWER, PERFORMANCE)
    settled.commit("Performance")
    settled.reconcile()
    assert verify(settled)["faults"] == [], "a mode that somebody else gave is kept"


def test_a_file_that_is_new_and_executable_is_a_fault(settled: Fleet) -> None:
    settled.file("rendered/kustomization.yaml").chmod(0o755)
    amended(settled)
    assert failed(verify(settled, code=1)) == {"scope"}


def test_intents_that_are_not_those_of_the_lock_are_a_fault(settled: Fleet) -> None:
    settled.edit(INTENT, PERFORMANCE, POWER)
    amended(settled)
    found = verify(settled, "HEAD", code=1)
    assert failed(found) == {"tree", "scope"}
    assert "the intents have changed since the lock was written" in whats(found)
    settled.edit(INTENT, "goal: place-first", "gaol: place-first")
    amended(settled)
    assert "did you mean goal" in json.dumps(verify(settled, "HEAD", code=1))


def test_a_plan_that_was_made_from_another_state_is_a_fault(settled: Fleet) -> None:
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("Power")
    ours = settled.reconcile()["commit"]
    assert verify(settled)["commit"] == ours
    settled.git("checkout", "--quiet", "--orphan", "elsewhere")
    settled.git("rm", "-r", "--quiet", "--cached", "rendered")
    settled.git("commit", "--quiet", "-m", "The same without rendered/")
    moved = settled.git(
        "commit-tree", f"{ours}^{{tree}}", "-p", settled.head, "-m", settled.git("log", "-1", "--format=%B", ours)
    )
    found = verify(settled, moved.strip(), code=1)
    assert failed(found) == {"parent"}
    assert "the lock does not start from what the parent commit holds" in whats(found)
    alone = settled.git("commit-tree", f"{ours}^{{tree}}", "-m", settled.git("log", "-1", "--format=%B", ours))
    assert failed(verify(settled, alone.strip(), code=1)) == {"parent", "scope"}


def test_an_edit_that_is_taken_back_is_verified(settled: Fleet) -> None:
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    settled.commit("By hand")
    assert settled.reconcile("--overwrite-edits")["commit"]
    assert outcomes(verify(settled))["parent"] == "passed"


def test_a_range_is_verified_commit_by_commit(settled: Fleet) -> None:
    first = settled.head
    settled.edit(INTENT, PERFORMANCE, POWER)
    settled.commit("Power")
    settled.reconcile()
    answer = settled.run("verify", f"{first}~1..HEAD")
    assert answer.code == 0
    assert answer.out.endswith("verified: 2 commits; 1 more is not of gitops-ds\n")
    both = verify(settled, f"{first}~1..")
    assert [one["commit"] for one in both] == [first, settled.head]
    empty = settled.run("verify", "--output=json", "HEAD..HEAD").json
    assert empty == {"apiVersion": "gitops-ds.io/v1alpha1", "kind": "Verification", "status": "verified", "commits": []}
    settled.edit(PLACEMENT, "numberOfClusters", "numberOfClusterz")
    amended(settled)
    assert settled.run("verify", f"{first}~1..HEAD").out.endswith(
        "not verified: 1 of 2 commits; 1 more is not of gitops-ds\n"
    )


def clone(fleet: Fleet, *words: str) -> tuple[Fleet, Path]:
    """A clone of the fleet, made by git over its own protocol."""
    target = fleet.root / "clone"
    fleet.git("config", "uploadpack.allowFilter", "true")
    fleet.git("clone", "--quiet", *words, f"file://{fleet.top}", str(target))
    return fleet, target


@pytest.mark.parametrize(
    ("words", "skipped"),
    [
        (("--depth=1",), {"scope", "parent"}),
        (("--depth=2",), set()),
        (("--bare",), set()),
        (("--bare", "--depth=1"), {"scope", "parent"}),
        (("--filter=blob:none", "--bare"), set()),
        (("--no-checkout",), set()),
        (("--filter=tree:0", "--no-checkout"), set()),
    ],
)
def test_it_works_in_clones_of_every_kind(words: tuple[str, ...], skipped: set[str], settled: Fleet) -> None:
    fleet, target = clone(settled, *words)
    answer = cli("verify", "--output=json", f"--repo={target}", cwd=fleet.root, env=fleet.env)
    assert answer.code == 0, answer
    found = answer.json["commits"][0]
    assert found["commit"] == fleet.head
    assert {name for name, outcome in outcomes(found).items() if outcome == "skipped"} == {*skipped, "signature"}


def test_it_works_on_a_url(settled: Fleet) -> None:
    answer = cli("verify", f"--repo=file://{settled.top}", cwd=settled.root, env=settled.env)
    assert answer.code == 0, answer
    assert answer.out.endswith("verified: 1 commit\n")


def test_the_reconciler_says_where_the_tree_is(fresh: Fleet) -> None:
    configure(fresh, rendered="out/prod")
    commit = fresh.reconcile()["commit"]
    found = verify(fresh)
    assert (found["commit"], found["reconciler"]) == (commit, "prod")
    assert "nothing but our files below out/prod/ is changed" in json.dumps(found)
    assert verify(fresh, "--reconciler=prod")["commit"] == commit
    assert "no commit of reconciler other" in fresh.run("verify", "--reconciler=other").err
    fresh.git("rm", "--quiet", "intent/reconciler.yaml")
    amended(fresh)
    found = verify(fresh, "HEAD", code=1)
    assert "the message names reconciler prod" in whats(found)


def test_another_version_is_named_where_the_tree_differs(settled: Fleet) -> None:
    settled.edit(PLACEMENT, "numberOfClusters: 1", "numberOfClusters: 2")
    amended(settled, message_of(settled).replace("Gitops-Ds-Version: 0.1.0", "Gitops-Ds-Version: 9.9.9"))
    found = verify(settled, "HEAD", code=1)
    assert found["version"] == "9.9.9"
    assert found["faults"][0]["why"] == "version 9.9.9 made it, and this is 0.1.0"


def test_a_commit_for_promoter_is_verified_by_the_dry_commit_that_it_names(settled: Fleet) -> None:
    ours, dry = settled.head, settled.git("rev-parse", "HEAD~1").strip()
    message = settled.git("log", "-1", "--format=%B")
    settled.git("checkout", "--quiet", "--orphan", "environment/prod-next")
    settled.git("rm", "-r", "--quiet", "--force", ".")
    settled.commit("The active branch")
    settled.git("checkout", "--quiet", ours, "--", "rendered")
    for named, fault in ((dry, ""), ("0" * 40, "no such commit"), (None, "it names no drySha")):
        settled.write("hydrator.metadata", json.dumps({"drySha": named} if named else {}))
        settled.git("add", "--all")
        settled.git("commit", "--quiet", *(("-m", message) if named == dry else ("--amend", "--no-edit")))
        found = verify(settled, "HEAD", code=1 if fault else 0)
        assert fault in whats(found)
        assert failed(found) == ({"message"} if fault else set())


def key(folder: Path, name: str) -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True)
    return path


def test_signatures_are_checked_where_they_are_configured_or_asked_for(fresh: Fleet) -> None:
    mine, other = key(fresh.root, "mine"), key(fresh.root, "other")
    configure(fresh, git=f'{{signing: {{format: ssh, key: "{mine}"}}}}')
    fresh.reconcile()
    assert outcomes(verify(fresh))["signature"] == "passed"
    assert outcomes(verify(fresh, f"--signing-key={mine}.pub"))["signature"] == "passed"
    assert failed(verify(fresh, f"--signing-key={other}.pub", code=1)) == {"signature"}
    mine.unlink()
    assert outcomes(verify(fresh))["signature"] == "passed", "the public half is enough"
    fresh.git("-c", "commit.gpgSign=false", "commit", "--quiet", "--amend", "--no-edit", "--no-gpg-sign")
    assert failed(verify(fresh, "HEAD", code=1)) == {"signature"}


def test_a_signature_that_nobody_can_check_is_no_signature(settled: Fleet) -> None:
    found = verify(settled, "--require-signature", code=1)
    assert failed(found) == {"signature"}
    assert found["faults"][0]["fix"] == "give one: --signing-key"


def test_secrets_are_refused_and_come_out_nowhere(settled: Fleet) -> None:
    settled.write("workloads/secret.yaml", secret_manifest())
    settled.commit("A secret, by accident")
    planted = plant(settled)
    verbs = ("validate", "plan", "diff", "explain", "verify")
    answers = [planted.run(verb, form) for verb in verbs for form in ("--output=text", "--output=json")]
    answers.append(planted.run("render", "--locked"))
    validated = answers[0]
    assert validated.code == 1
    assert "workloads/secret.yaml:" in validated.err
    assert "Secret/db (shop) holds values that must not be in git" in validated.err
    assert "ExternalSecret" in validated.err
    planted.assert_nowhere(*answers)


def test_reconcile_commits_nothing_while_a_secret_is_there(fresh: Fleet) -> None:
    fresh.write("workloads/secret.yaml", secret_manifest())
    fresh.commit("A secret, by accident")
    planted = plant(fresh)
    before = fresh.state()
    answer = planted.run("reconcile")
    assert answer.code == 6, answer
    assert "holds values that must not be in git" in answer.err
    assert fresh.state() == before
    planted.assert_nowhere(answer)


def test_hooks_get_no_secret_and_their_refusal_is_exit_6(fresh: Fleet) -> None:
    configure(fresh)
    fresh.edit("intent/reconciler.yaml", "  git: {}\n", "  hooks: {postRender: [hooks/look], postPush: [hooks/look]}\n")
    fresh.write("hooks/look", '#!/bin/sh\nenv; echo "$@"; cat; test ! -e stop\n')
    fresh.file("hooks/look").chmod(0o755)
    fresh.commit("A hook that tells all")
    planted = plant(fresh)
    answer = planted.run("reconcile")
    assert answer.code == 0, answer
    assert "hooks/look: GITOPS_DS_HOOK=post-render" in answer.err
    planted.assert_nowhere(answer)
    assert fresh.run("verify").code == 0
    fresh.write("hooks/look", "#!/bin/sh\necho not on a Friday\nexit 9\n")
    fresh.edit(INTENT, PERFORMANCE, POWER)
    fresh.commit("A hook that refuses")
    before = fresh.state()
    answer = planted.run("reconcile")
    assert answer.code == 6, answer
    assert "hook hooks/look refused the commit: exit code 9" in answer.err
    assert "not on a Friday" in answer.err
    assert fresh.state() == before
