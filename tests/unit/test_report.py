"""The reports: text that a person reads at a glance, a diff that git takes, JSON that stays JSON."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitops_ds.evidence import evidence
from gitops_ds.reconcile import Held, Plan, plan
from gitops_ds.report.basis import Basis
from gitops_ds.report.json import diff_json, dumps, evidence_json, plan_json
from gitops_ds.report.text import MOST_WORKLOADS, diff_text, evidence_text, plan_text
from gitops_ds.solver import solve
from gitops_ds.tree import Change
from tests import builders as make

HALF = [{"name": c, "policies": [f"half-{c}"]} for c in ("c1", "c2")]


def _plan(*workloads: str, request: str = "1", before: Plan | None = None) -> Plan:
    inventory = make.inventory(
        *(make.cluster(c) for c in ("c1", "c2")),
        *(make.policy(f"half-{c}", "half", "2") for c in ("c1", "c2")),
        *(make.workload(w, request) for w in workloads),
        *(make.scores(c, {f"{w};half": points for w in workloads}) for c, points in (("c1", 50), ("c2", 40))),
    )
    current = before.tree if before else {}
    return plan(make.load(make.intent(HALF, list(workloads))), inventory, current, make.NOW, solve)


def _text(made: Plan, *, whole: bool = False) -> str:
    return "\n".join(line for line, _ in plan_text(made, whole=whole))


def test_a_plan_reads_as_what_where_and_why() -> None:
    assert _text(_plan("w1")) == (
        "Plan: 1 of 1 placed, score 50 (optimal); changes 8 files below rendered/\n"
        "\n"
        "default/fleet\n"
        "  w1 -> c1 as half\n"
        "      policy half-c1\n"
        "      why: score 50, 10 more than the next best, c2 as half\n"
        "      not c2 half (score 40): worse by 10\n"
        "\n"
        "Changes\n"
        "  place w1: nowhere -> c1\n"
        "  configure c1: no policy -> half-c1\n"
        "  8 files below rendered/"
    )


def test_a_plan_that_changes_nothing_says_only_where_things_are() -> None:
    text = _text(_plan("w1", before=_plan("w1")))
    assert text.startswith("Plan: 1 of 1 placed, score 50 (optimal); nothing changes\n")
    assert "Changes" not in text


def test_a_workload_without_a_place_says_what_is_short() -> None:
    text = _text(_plan("w1", request="3"))
    assert "Without a place\n  default/w1: c1 as half: gpu short by 1: 3 requested, 2 supplied\n" in text
    assert "      short by 1 gpu\n" in text


def test_a_large_plan_is_cut_unless_it_is_asked_for_whole() -> None:
    made = _plan("w1")
    many = replace(made, decisions=made.decisions * (MOST_WORKLOADS + 5))
    assert "  and 5 more (--output json has them all)" in _text(many)
    assert _text(many, whole=True).count("w1 -> c1 as half") == MOST_WORKLOADS + 5


def test_what_is_kept_is_counted_beside_what_is_placed() -> None:
    text = _text(_plan("w1", request="3", before=_plan("w1")))
    assert text.startswith("Plan: 0 of 1 placed, 1 kept where git has it, score 0 (optimal); ")


def test_what_the_plan_stands_on_is_said_with_its_age() -> None:
    then = datetime(2026, 1, 15, 9, tzinfo=UTC)
    basis = Basis("snapshot:/srv/hub", then + timedelta(hours=1), then, timedelta(hours=1))
    lines = [line for line, _ in plan_text(_plan("w1"), basis)]
    assert lines[1:3] == [
        "Hub: snapshot:/srv/hub",
        "  captured 2026-01-15T09:00:00Z, 60m old; scores as of 2026-01-15T10:00:00Z",
    ]
    assert plan_json(_plan("w1"), basis=basis)["inventory"] == {
        "source": "snapshot:/srv/hub",
        "instant": "2026-01-15T10:00:00Z",
        "capturedAt": "2026-01-15T09:00:00Z",
        "ageSeconds": 3600,
    }
    unknown = Basis("snapshot:/srv/hub", then, None, None)
    assert unknown.when == "captured at no known instant; scores as of 2026-01-15T09:00:00Z"
    assert Basis("demo", then, then, None).when == "captured 2026-01-15T09:00:00Z"


def test_what_goes_stands_by_itself_in_red() -> None:
    made = _plan("w1", before=_plan("w1", "w2"))
    lines = list(plan_text(made))
    at = lines.index(("Removes", "title"))
    assert lines[at + 1] == ("  remove w2: c1 -> nowhere; no intent names it any more", "remove")
    changes = [line for line, _ in lines[lines.index(("Changes", "title")) : at]]
    assert not [line for line in changes if "w2" in line]


def test_edits_are_advised_on_only_while_they_hold_the_plan() -> None:
    first = _plan("w1")
    path = next(p for p in first.tree if "placement-w1" in p)
    edited = replace(first, tree={**first.tree, path: b"by hand\n"})
    held = _plan("w1", before=edited)
    assert held.status == "held"
    assert "--overwrite-edits takes these files back" in _text(held)
    taken = replace(held, status="changed", held=())
    assert "--overwrite-edits" not in _text(taken)
    assert f"Takes back, edited by hand\n  {path}" in _text(taken)
    other = replace(held, held=(Held("unplaced", "default/w1 has no place"),))
    assert "--overwrite-edits" not in _text(other)


def test_warnings_and_what_holds_are_listed() -> None:
    made = replace(
        _plan("w1"),
        status="held",
        held=(Held("edited", "somebody edited it"),),
        warnings=tuple(f"no {i}" for i in range(15)),
    )
    text = _text(made)
    assert "held, so nothing is committed" in text
    assert "Held\n  somebody edited it" in text
    assert "  no 9\n  and 5 more" in text


def test_the_evidence_of_a_workload_shows_each_score() -> None:
    made = _plan("w1", "w2")
    inventory = make.inventory(make.scores("c1", {"w1;half": 50}))
    (found,) = evidence(made, inventory, make.NOW, ["default/w1"])
    lines = [line for line, _ in evidence_text(found)]
    assert lines[0] == "default/w1 (fleet): requests 1 gpu"
    assert '      speed "w1;half": 50 (30s)' in lines
    (body,) = evidence_json(made, [found])["workloads"]
    assert body["decisions"][0]["terms"][0]["value"] == 50


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"a\nb\n"),
        (b"a\nb\n", None),
        (b"a\nb\nc\n", b"a\nx\nc\n"),
        (b"no end", b"no end\n"),
        (b"an end\n", b"an end"),
        (b"no end", b"no end either"),
        (b"a\x0cb\x1cc\nd\n", b"a\x0cb\x1cc\ne\n"),
        ("a\u2028b\nd\n".encode(), "a\u2028b\ne\n".encode()),
        (b"a\r\nb\r\n", b"a\nb\n"),
        (None, b""),
        (b"", b"x\n"),
    ],
)
def test_a_diff_is_a_patch_that_git_applies(before: bytes | None, after: bytes | None, tmp_path: Path) -> None:
    action = "add" if before is None else "remove" if after is None else "change"
    assert action in ("add", "remove", "change")
    change = Change("rendered/x.yaml", action, before, after)  # type: ignore[arg-type]
    patch = "".join(f"{line}\n" for line, _ in diff_text([change]))
    file = tmp_path / "rendered/x.yaml"
    file.parent.mkdir()
    if before is not None:
        file.write_bytes(before)
    line = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(line, input=patch.encode(), cwd=tmp_path, check=True, capture_output=True)
    assert (file.read_bytes() if file.exists() else None) == after


def test_json_is_ascii_and_has_the_documented_fields() -> None:
    made = replace(_plan("w1"), warnings=("\x9b\u202e\udcff",))
    text = dumps(plan_json(made, "0" * 40))
    assert text.isascii()
    body = json.loads(text)
    assert body["commit"] == "0" * 40
    assert (body["status"], body["objective"]) == ("changed", {"placed": 1, "score": 50, "changes": 0})
    assert body["decisions"][0]["alternatives"] == [
        {
            "cluster": "c2",
            "policy": "half-c2",
            "device": "half",
            "score": 40,
            "code": "worse",
            "reason": "worse by 10",
        }
    ]
    assert [c["action"] for c in body["changes"]] == ["add"] * 8
    assert {c["path"]: c["after"] for c in diff_json(made)["changes"]} == {
        path: content.decode() for path, content in made.tree.items()
    }
