"""Workloads that are hard to place: bad scores, missing scores, no room; and what they have is never taken away."""

import re

from tests.e2e.fleet import INTENT, Fleet, placed

SCORES = "hub/scores.yaml"
WORKLOADS = "hub/workloads.yaml"


def _set_scores(fleet: Fleet, number: str) -> None:
    text = fleet.file(SCORES).read_text()
    fleet.write(SCORES, re.sub(r"value: \d+", f"value: {number}", text))


def _add_giant(fleet: Fleet, amount: str = "4") -> None:
    """A third workload that asks for more than any policy supplies."""
    third = (
        fleet.file(WORKLOADS).read_text().split("\n---\n")[1].replace("app02", "app03").replace('"2"', f'"{amount}"')
    )
    fleet.write(WORKLOADS, f"{fleet.file(WORKLOADS).read_text()}\n---\n{third}")
    text = fleet.file(SCORES).read_text()
    fleet.write(SCORES, re.sub(r'(    - name: "app02;.*\n.*\n)', lambda m: m[1] + m[1].replace("app02", "app03"), text))
    fleet.edit(INTENT, "    - name: mwrs-app02", "    - name: mwrs-app02\n    - name: mwrs-app03")
    fleet.commit("A third workload")


def _outgrow(fleet: Fleet) -> None:
    """app02 asks for more than any policy of any cluster supplies."""
    first, second = fleet.file(WORKLOADS).read_text().split("\n---\n")
    second = second.replace('resource-request-amount: "2"', 'resource-request-amount: "9"')
    fleet.write(WORKLOADS, f"{first}\n---\n{second}")


def test_scores_that_are_all_negative_place_everything(fresh: Fleet) -> None:
    _set_scores(fresh, "-7")
    assert fresh.reconcile()["objective"] == {"placed": 2, "score": -14, "changes": 0}


def test_scores_that_are_all_zero_place_everything(fresh: Fleet) -> None:
    _set_scores(fresh, "0")
    assert fresh.reconcile()["objective"] == {"placed": 2, "score": 0, "changes": 0}


def test_a_missing_score_takes_its_pair_out_and_is_listed(fresh: Fleet) -> None:
    text = fresh.file(SCORES).read_text()
    fresh.write(SCORES, text.replace('    - name: "app01;3g.48gb"\n      value: 60\n', "", 1))
    plan = fresh.reconcile()
    assert placed(plan)["mwrs-app01"] == ("cluster2", "policy-enable-mig-3g-cluster2")
    assert plan["objective"] == {"placed": 2, "score": 115, "changes": 0}
    assert [w for w in plan["warnings"] if "app01;3g.48gb" in w and "cluster1" in w]
    shown = fresh.run("plan").out
    assert "Warnings" in shown
    assert "app01;3g.48gb" in shown


def test_without_any_score_nothing_is_placed_and_it_says_so(fresh: Fleet) -> None:
    fresh.edit(INTENT, "example-performance-score", "no-such-score")
    fresh.commit("A score that nobody writes")
    plan = fresh.reconcile(code=3)
    assert [one["guard"] for one in plan["held"]] == ["minFreshClusters"]
    assert [(u["workload"], u["missing"]) for u in plan["unplaced"]] == [("mwrs-app01", 1), ("mwrs-app02", 1)]
    assert {a["code"] for u in plan["unplaced"] for a in u["alternatives"]} == {"no-score"}
    assert any("no-such-score" in w for w in plan["warnings"])


def test_what_fits_nowhere_is_said_with_the_amount_and_the_rest_is_committed(fresh: Fleet) -> None:
    _add_giant(fresh)
    plan = fresh.reconcile(code=4)
    assert plan["status"] == "changed"
    assert plan["commit"] == fresh.head
    assert placed(plan).keys() == {"mwrs-app01", "mwrs-app02"}
    (giant,) = plan["unplaced"]
    assert (giant["workload"], giant["missing"], giant["short"], giant["kept"]) == ("mwrs-app03", 1, {"gpu": "1"}, [])
    assert "gpu short by" in giant["reason"]
    shown = fresh.run("plan")
    assert shown.code == 4
    assert "Without a place" in shown.out
    assert "short by 1 gpu" in shown.out
    assert "mwrs-app03" in fresh.git("log", "-1", "--format=%B")
    assert not [path for path in fresh.rendered() if "app03" in path]
    again = fresh.reconcile(code=4)
    assert (again["status"], again["commit"]) == ("unchanged", None)


def test_unplaced_fail_commits_nothing(fresh: Fleet) -> None:
    _add_giant(fresh)
    fresh.edit(INTENT, "spec:\n", "spec:\n  unplaced: fail\n", 1)
    fresh.commit("All or nothing")
    before = fresh.state()
    plan = fresh.reconcile(code=4)
    assert (plan["status"], plan["commit"]) == ("held", None)
    assert plan["held"] == [
        {
            "guard": "unplaced",
            "text": "default/mwrs-app03 has no place, and intent default/gpu-inference says unplaced: fail",
            "until": None,
        }
    ]
    assert fresh.state() == before


def test_a_workload_that_loses_its_place_keeps_what_git_has(settled: Fleet) -> None:
    """app02 now asks for more than its cluster supplies under any policy: it stays, and so does the policy there."""
    _outgrow(settled)
    before = settled.rendered()
    plan = settled.reconcile(code=4)
    (kept,) = plan["unplaced"]
    assert (kept["workload"], kept["kept"]) == ("mwrs-app02", ["cluster2"])
    assert kept["short"] == {"gpu": "6"}
    assert placed(plan) == {"mwrs-app01": ("cluster1", "policy-enable-mig-3g-cluster1")}
    objects = {p: c for p, c in settled.rendered().items() if p.endswith(".yaml")}
    assert objects == {p: c for p, c in before.items() if p.endswith(".yaml")}
    shown = settled.run("plan").out
    assert "stays on cluster2, where git has it" in shown


def test_the_policy_of_a_kept_workload_wins_over_a_better_plan_for_others(settled: Fleet) -> None:
    _outgrow(settled)
    settled.edit(INTENT, "example-performance-score", "example-powerconsumption-score")
    settled.commit("Optimise for power")
    plan = settled.reconcile(code=4)
    assert placed(plan) == {"mwrs-app01": ("cluster1", "policy-enable-mig-2g-cluster1")}
    assert plan["unplaced"][0]["kept"] == ["cluster2"]
    binding = next(c for p, c in settled.rendered().items() if "binding-cluster2" in p)
    assert b"policy-enable-mig-3g-cluster2" in binding


def test_explain_names_the_scores_and_every_other_place(settled: Fleet) -> None:
    answer = settled.run("explain", "mwrs-app01", "--output=json")
    (one,) = answer.json["workloads"]
    (decision,) = one["decisions"]
    assert [(t["dimension"], t["value"]) for t in decision["terms"]] == [("app01;3g.48gb", 60)]
    assert len(decision["alternatives"]) == 5
    shown = settled.run("explain", "default/mwrs-app01").out
    assert shown.count("not cluster") == 5
    assert 'example-performance-score "app01;3g.48gb": 60' in shown
    assert settled.run("explain", "nobody").code == 64
