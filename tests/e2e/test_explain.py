"""`explain` through the command line: losses, relaxations, requests by device, and a circle in the order."""

import json
from pathlib import Path

import pytest

from tests.e2e.fleet import INTENT, Fleet, assert_narrow, assert_refused

APP01, APP02 = "    - name: mwrs-app01\n", "    - name: mwrs-app02\n"


def test_app01_on_cluster2_loses_nothing_and_sends_app02_to_cluster1(fresh: Fleet) -> None:
    answer = fresh.run("explain", "mwrs-app01", "--output=json")
    assert (answer.code, answer.err) == (0, "")
    (one,) = answer.json["workloads"]
    forced = {(loss["cluster"], loss["device"]): loss for loss in one["losses"]}
    assert set(forced) == {("cluster1", "2g.24gb"), ("cluster2", "2g.24gb"), ("cluster2", "3g.48gb")}
    assert forced["cluster2", "3g.48gb"] == {
        "cluster": "cluster2",
        "policy": "policy-enable-mig-3g-cluster2",
        "device": "3g.48gb",
        "possible": True,
        "placed": 0,
        "points": 0,
        "score": 0,
        "moves": 0,
        "reconfigurations": 0,
        "bound": "exact",
        "least": None,
        "consequences": ["mwrs-app02 would move to cluster1"],
        "text": "equal: names decide; mwrs-app02 would move to cluster1",
    }
    assert forced["cluster2", "2g.24gb"]["points"] == 50
    shown = fresh.run("explain", "mwrs-app01").out
    assert "on cluster2 as 2g.24gb: worse in total by 50: mwrs-app02 would move to" in shown
    assert_narrow(shown.splitlines())


def test_losses_are_for_workloads_that_are_named_and_can_be_left_out(fresh: Fleet) -> None:
    for words in ((), ("mwrs-app01", "--no-losses")):
        answer = fresh.run("explain", *words, "--output=json")
        assert [one["losses"] for one in answer.json["workloads"]] == [None] * (1 if words else 2)
        assert "solved again" not in fresh.run("explain", *words).out
    assert "solved again" in fresh.run("explain", "mwrs-app02").out


def test_what_git_has_makes_moves_cost(settled: Fleet) -> None:
    settled.edit(INTENT, "spec:\n", "spec:\n  stability: {moveCost: 5, reconfigureCost: 10}\n")
    answer = settled.run("explain", "mwrs-app01", "--output=json").json["workloads"][0]
    texts = {(loss["cluster"], loss["device"]): loss["text"] for loss in answer["losses"]}
    assert texts["cluster2", "3g.48gb"] == "worse in total by 10 (10 more for moves): mwrs-app02 would move to cluster1"
    assert texts["cluster1", "2g.24gb"] == "worse in total by 60 (50 less score, 10 more for reconfiguring)"


def test_a_workload_without_a_place_is_told_what_would_give_it_one(fresh: Fleet) -> None:
    fresh.edit(INTENT, APP01, APP01 + "      requests: {gpu: 4}\n")
    hint = "1 more gpu on cluster2 as 2g.24gb"
    for verb in ("plan", "explain"):
        answer = fresh.run(verb)
        assert answer.code == 4
        assert f"would fit with: {hint}\n" in answer.out
    body = fresh.run("plan", "--output=json").json
    assert body["unplaced"][0]["relaxations"] == [hint]
    fresh.commit("It needs more")
    assert fresh.reconcile(code=4)["unplaced"] == body["unplaced"]


def test_a_taint_in_the_way_is_named(fresh: Fleet) -> None:
    taint = "  taints: [{key: maintenance, effect: NoSelect}]\n"
    text = fresh.file("hub/clusters.yaml").read_text()
    fresh.write("hub/clusters.yaml", "".join(text.replace("spec:\n", f"spec:\n{taint}")))
    answer = fresh.run("explain", "mwrs-app02")
    assert answer.code == 4
    said = " ".join(answer.out.split())
    assert "the taint maintenance of cluster1 is not tolerated" in said
    assert "would fit with: tolerate the taint maintenance of cluster1, cluster2" in said
    both = APP02 + "      tolerations: [{key: maintenance, operator: Exists}]\n"
    fresh.edit(INTENT, APP02, both)
    assert "mwrs-app02 -> cluster" in fresh.run("explain", "mwrs-app02").out


def test_what_a_workload_requests_on_a_device_is_shown_where_it_holds(fresh: Fleet) -> None:
    fresh.edit(INTENT, APP01, APP01 + "      requestsOn: {3g.48gb: {gpu: 1}, 2g.24gb: {gpu: 3}}\n")
    assert "\n      requests 1 gpu there: requestsOn 3g.48gb\n" in fresh.run("explain", "mwrs-app01").out
    (one,) = fresh.run("explain", "mwrs-app01", "--output=json").json["workloads"]
    assert (one["requests"], one["decisions"][0]["requests"]) == ({"gpu": "2"}, {"gpu": "1"})
    assert "there: requestsOn" not in fresh.run("explain", "mwrs-app02").out


@pytest.mark.parametrize("verb", ["plan", "explain"])
def test_a_circle_in_the_order_is_shown_as_a_path_with_its_line(fresh: Fleet, verb: str) -> None:
    fresh.edit(INTENT, APP01, APP01 + "      after: [mwrs-app02]\n")
    fresh.edit(INTENT, APP02, APP02 + "      after: [mwrs-app01]\n")
    lines = fresh.file(INTENT).read_text().splitlines()
    line = lines.index("      after: [mwrs-app02]") + 1
    path = "the order goes in a circle: mwrs-app01 after mwrs-app02 after mwrs-app01"
    assert_refused(fresh.run(verb), 1, path, f"{INTENT}:{line}:7")


def test_the_json_of_explain_is_ascii_and_repeats(fresh: Fleet, tmp_path: Path) -> None:
    outs = {fresh.run("explain", "mwrs-app01", "mwrs-app02", "--output=json").out for _ in range(2)}
    assert len(outs) == 1
    assert json.loads(outs.pop())["kind"] == "Explanation"
