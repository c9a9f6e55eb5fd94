"""`hold` and `resume` by the real command line, and the reconciler that heeds them and people's reverts."""

import pytest

from tests.e2e.fleet import INTENT, PERFORMANCE, POWER, Fleet, assert_refused

ADA = {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ada",
       "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "ada@example.com"}  # fmt: skip
HOLD, RESUME = "intent/gitops-ds-hold-all.yaml", "intent/gitops-ds-resume-all.yaml"
RECONCILER = "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {{name: {}}}\nspec: {{rendered: {}}}\n"


def guards(plan: dict[str, list[dict[str, str]]]) -> list[str]:
    return [one["guard"] for one in plan["held"]]


def power(fleet: Fleet) -> None:
    """Change the intent so that the plan changes."""
    fleet.edit(INTENT, PERFORMANCE, POWER)
    fleet.commit("power")


def test_a_hold_keeps_the_reconciler_until_it_is_lifted_and_touches_nothing_else(settled: Fleet) -> None:
    settled.write("notes.txt", "staged")
    settled.git("add", "notes.txt")
    settled.write("policies/README.md", "dirty")
    before = settled.state()
    held = settled.run("hold", "--reason", "switch upgrade", "--until", "2099-01-15T18:00:00+01:00", env=ADA)
    assert (held.code, held.err) == (0, "")
    assert held.out.splitlines()[:2] == [f"wrote {HOLD}", f"commit {settled.head}"]
    assert "git push origin" in held.out
    assert settled.file(HOLD).read_text() == (
        "apiVersion: gitops-ds.io/v1alpha1\nkind: Hold\nmetadata:\n  name: all\nspec:\n"
        '  by: "Ada <ada@example.com>"\n  reason: "switch upgrade"\n  until: "2099-01-15T17:00:00Z"\n'
    )
    shown = settled.git("show", "--name-only", "--format=%an: %s%n%b", "HEAD").split()
    words = "Ada: Hold every reconciler switch upgrade Held by Ada <ada@example.com> until 2099-01-15T17:00:00Z."
    assert shown == [*words.split(), HOLD]
    after = settled.state()
    assert (after[1], after[2] | {HOLD: ""}) == (before[1], before[2] | {HOLD: ""})
    head = settled.head
    again = settled.run("hold", "--reason", "switch upgrade", "--until", "2099-01-15T18:00:00+01:00", env=ADA)
    assert (again.code, again.out, settled.head) == (0, "every reconciler is held so already\n", head)

    assert settled.reconcile()["status"] == "unchanged"
    settled.git("stash", "--quiet")
    power(settled)
    plan = settled.reconcile(code=3)
    (one,) = plan["held"]
    assert (one["guard"], one["until"]) == ("hold", "2099-01-15T17:00:00Z")
    assert one["text"].startswith("Ada <ada@example.com> holds every reconciler until Thu 2099-01-15 17:00 UTC: switch")
    assert guards(settled.plan()) == ["hold"]
    lifted = settled.run("resume", "--reason", "done", env=ADA)
    assert lifted.out.splitlines()[:2] == [f"removed {HOLD}", f"commit {settled.head}"]
    assert not settled.file(HOLD).exists()
    assert settled.run("resume").out == "nothing to resume: no hold, and no plan that somebody took back\n"
    assert settled.reconcile()["status"] == "changed"


def test_a_plan_that_was_taken_back_is_not_made_again_until_somebody_says_so(settled: Fleet) -> None:
    power(settled)
    ours = settled.reconcile()["commit"]
    settled.git("revert", "--no-edit", ours)
    revert = settled.head
    before = settled.state()
    plan = settled.reconcile(code=3)
    assert guards(plan) == ["reverted"]
    assert f"in {revert[:12]} on " in plan["held"][0]["text"]
    assert f"`gitops-ds resume {revert[:12]}`" in plan["held"][0]["text"]
    assert settled.state() == before
    assert guards(settled.plan()) == ["reverted"]
    settled.commit("something else")
    assert guards(settled.reconcile(code=3)) == ["reverted"]
    assert settled.run("resume", "--reason", "mended", env=ADA).code == 0
    assert revert in settled.file(RESUME).read_text()
    made = settled.reconcile()
    assert made["status"] == "changed"
    settled.git("revert", "--no-edit", made["commit"])
    assert guards(settled.reconcile(code=3)) == ["reverted"], "a Resume settles what it names, and no later act"
    assert settled.run("resume", settled.head[:10], env=ADA).code == 0
    assert settled.file(RESUME).read_text().index(revert) < settled.file(RESUME).read_text().index(
        settled.git("rev-parse", "HEAD~1").strip()
    )
    assert settled.reconcile()["status"] == "changed"
    assert settled.run("resume", revert, env=ADA).out == "settled already\n"


def test_the_revert_of_a_revert_is_no_reason_to_hold(settled: Fleet) -> None:
    power(settled)
    settled.git("revert", "--no-edit", settled.reconcile()["commit"])
    settled.git("revert", "--no-edit", "HEAD")
    assert settled.reconcile()["status"] == "unchanged"
    settled.edit(INTENT, POWER, PERFORMANCE)
    settled.commit("performance")
    assert settled.reconcile()["status"] == "changed"


def test_without_a_commit_the_file_alone_is_written(fresh: Fleet) -> None:
    head = fresh.head
    held = fresh.run("hold", "--no-commit", "--reason", "x", "--by", "Ada")
    assert (held.code, fresh.head) == (0, head)
    assert f"git add -A {HOLD}" in held.out
    assert fresh.git("status", "--porcelain") == f"?? {HOLD}\n"
    fresh.commit("held")
    assert guards(fresh.reconcile(code=3)) == ["hold"]
    assert fresh.run("resume", "--no-commit").code == 0
    assert fresh.git("status", "--porcelain") == f" D {HOLD}\n"


def test_several_reconcilers_are_held_and_resumed_by_name(fresh: Fleet) -> None:
    fresh.write("intent/r.yaml", "---\n".join(RECONCILER.format(n, f"rendered/{n}") for n in ("prod", "staging")))
    fresh.commit("two")
    for name in ("prod", "staging"):
        assert fresh.run("hold", "--reason", "x", "--reconciler", name, env=ADA).code == 0
    assert guards(fresh.reconcile("--reconciler=prod", code=3)) == ["hold"]
    assert_refused(fresh.run("resume", env=ADA), 64, "which hold?", "--reconciler prod or staging")
    assert fresh.run("resume", "--reconciler", "prod", env=ADA).code == 0
    assert fresh.reconcile("--reconciler=prod")["status"] == "changed"
    assert guards(fresh.reconcile("--reconciler=staging", code=3)) == ["hold"]
    wrong = fresh.run("hold", "--reason", "x", "--reconciler", "pro", env=ADA)
    assert_refused(wrong, 64, "pro is no reconciler of this repository", "prod, staging, all")


def test_the_only_reconciler_is_meant_where_none_is_named(fresh: Fleet) -> None:
    fresh.write("intent/r.yaml", RECONCILER.format("prod", "rendered"))
    fresh.commit("one")
    assert fresh.run("hold", "--reason", "x", env=ADA).out.startswith("wrote intent/gitops-ds-hold-prod.yaml\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["hold", "--reason", " "], "--reason is 1 to 1024 characters"),
        (["hold", "--reason", "a\x1b[31m"], "--reason holds characters that are no text"),
        (
            ["hold", "--reason", "x", "--until", "2020-01-01T00:00:00Z"],
            "--until 2020-01-01T00:00:00Z is no time to come",
        ),
        (["hold", "--reason", "x", "--until", "9999-12-31T23:59:59-12:00"], "is no time to come"),
        (["hold", "--reason", "x", "--until", "soon"], '"soon" is no time'),
        (["hold", "--reason", "x"], "nobody says who this is from"),
        (["hold"], "--reason"),
    ],
)
def test_what_makes_no_sense_is_refused(fresh: Fleet, words: list[str], says: str) -> None:
    before = fresh.state()
    assert_refused(fresh.run(*words), 64, says)
    assert fresh.state() == before


def test_a_hold_does_not_wait_until_somebody_mends_an_intent(fresh: Fleet) -> None:
    fresh.write(INTENT, "kind: Nonsense\n")
    fresh.commit("broken")
    assert fresh.run("hold", "--reason", "x", env=ADA).code == 0
    assert_refused(fresh.run("resume", env=ADA), 1, "Nonsense")


def test_a_hold_among_other_documents_is_left_to_people(fresh: Fleet) -> None:
    hold = "apiVersion: gitops-ds.io/v1alpha1\nkind: Hold\nmetadata: {name: all}\nspec: {reason: x}\n"
    fresh.write("intent/more.yaml", f"{hold}---\n{RECONCILER.format('prod', 'rendered')}")
    fresh.commit("by hand")
    before = fresh.state()
    assert_refused(fresh.run("resume", env=ADA), 1, "intent/more.yaml holds other documents too")
    assert fresh.state() == before


def test_a_commit_that_is_not_there_cannot_be_settled(fresh: Fleet) -> None:
    assert_refused(fresh.run("resume", "0123abcd", env=ADA), 1, "no such commit: 0123abcd")


def test_nothing_is_committed_into_the_middle_of_a_merge(settled: Fleet) -> None:
    settled.git("update-ref", "MERGE_HEAD", "HEAD")
    before = settled.state()
    assert_refused(settled.run("hold", "--reason", "x", env=ADA), 1, "in the middle of a merge")
    assert settled.state() == before


def test_what_is_said_to_nobody_is_an_error_and_no_silence(fresh: Fleet) -> None:
    fresh.write("intent/r.yaml", RECONCILER.format("prod", "rendered"))
    fresh.commit("one")
    assert fresh.run("hold", "--no-commit", "--reason", "x", "--by", "Ada").code == 0
    fresh.edit("intent/r.yaml", "prod", "prdo")
    fresh.commit("renamed")
    what = "Hold of prod, which is no reconciler of this repository"
    place = "intent/gitops-ds-hold-prod.yaml:4:"
    for words in (["validate"], ["reconcile"], ["plan"]):
        answer = fresh.run(*words)
        assert_refused(answer, 1, what, "one of: prdo, all")
        assert place in answer.err


def test_resume_takes_no_commit_that_holds_nothing_and_names_the_one_that_does(settled: Fleet) -> None:
    power(settled)
    ours = settled.reconcile()["commit"]
    assert_refused(settled.run("resume", "HEAD~1", env=ADA), 64, "holds no reconciler", "git fetch")
    settled.git("checkout", "-q", "-b", "back")
    settled.git("revert", "--no-edit", ours)
    side = settled.head
    settled.git("checkout", "-q", "-")
    settled.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7", "back")
    merge, before = settled.head, settled.state()
    wrong = settled.run("resume", side, env=ADA)
    assert_refused(wrong, 64, f"the merge {merge[:12]} brought it to the branch", f"gitops-ds resume {merge[:12]}")
    assert_refused(settled.run("resume", ours, env=ADA), 64, f'what holds is {merge[:12]} ("Merge pull request #7")')
    assert settled.state() == before
    assert settled.run("resume", merge, env=ADA).code == 0
    assert settled.reconcile()["status"] == "changed"


def test_an_old_plan_that_somebody_picked_again_holds(settled: Fleet) -> None:
    first = settled.head
    power(settled)
    settled.reconcile()
    settled.git("cherry-pick", "-X", "theirs", first)
    assert guards(settled.reconcile(code=3)) == ["reverted"]
