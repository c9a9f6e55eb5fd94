"""docs/json.md against what the verbs and the lock really hold, field by field."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import gitops_ds
from gitops_ds.cli.faults import faults_json
from gitops_ds.cli.main import main
from gitops_ds.cli.verify import verdicts_json
from gitops_ds.delivery import Landing
from gitops_ds.errors import Fault
from gitops_ds.evidence import evidence, with_losses
from gitops_ds.lock import read_lock, write_lock
from gitops_ds.phases import Phase, Transit
from gitops_ds.report.basis import Basis
from gitops_ds.report.json import diff_json, evidence_json, plan_json
from gitops_ds.sample import sample_folder
from gitops_ds.solver import solve
from gitops_ds.tree import lock_path
from gitops_ds.verification import Check, Verdict
from tests.unit.pages import planned, rows, sample, section, table

PACKAGE = Path(gitops_ds.__file__).parent
SMALL = {"mwrs-app01": {"requests": {"gpu": 9}}}


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """The paths of a JSON value in the page's notation."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list):
        yield f"{prefix}[]"
        for inner in value:
            yield from paths(inner, f"{prefix}[]")
    else:
        yield prefix


def assert_documented(value: Any, title: str, opaque: tuple[str, ...] = ()) -> None:
    """The table below `title` has exactly the fields of `value`; those below an `opaque` one stand elsewhere."""
    documented = set(table("docs/json.md", title))
    found = {next((o for o in opaque if p == o or p.startswith((f"{o}.", f"{o}["))), p) for p in paths(value)}
    lists = {p for p in found if p.endswith("[]") and any(q.startswith(f"{p}.") for q in {*found, *documented})}
    assert documented == found - lists


def test_the_json_of_a_plan_is_documented() -> None:
    then = datetime(2026, 1, 15, 9, tzinfo=UTC)
    made = plan_json(planned(SMALL), basis=Basis("demo", then, then, timedelta()))
    assert made["decisions"]
    assert made["unplaced"]
    assert_documented(made, "Plan:", ("decisions[]", "unplaced[]"))
    assert_documented(made["decisions"][0], "A decision", ("alternatives[]",))
    assert_documented(made["unplaced"][0], "A workload without a place", ("short", "alternatives[]"))
    assert_documented(made["unplaced"][0]["alternatives"][0], "An alternative")


def test_the_codes_of_alternatives_are_documented() -> None:
    source = (PACKAGE / "decisions.py").read_text(encoding="utf-8")
    named = re.search(r"`code` is one word for machines: ([^.]+)\.", source)
    assert named
    body = section("docs/json.md", "An alternative")
    documented = rows(body[body.index("| Code |") :])
    assert set(documented) == {word.strip() for word in named[1].split(",")}


def test_the_json_of_diff_is_documented() -> None:
    assert_documented(diff_json(planned()), "Diff:")


def test_the_json_of_explain_is_documented() -> None:
    intents, inventory = sample()
    assert intents
    assert inventory.captured_at
    made = planned()
    found = evidence(made, inventory, inventory.captured_at)
    said = evidence_json(made, list(with_losses(found, made, solve, lambda _: None)))
    first = said["workloads"][0]["decisions"][0]
    more = {name: first[name] for name in ("requests", "terms")}
    assert set(first) - set(more) == set(plan_json(made)["decisions"][0])
    losses = [one for w in said["workloads"] for one in w["losses"]]
    assert_documented(next(one for one in losses if one["consequences"]), "A loss")
    said["workloads"] = [{**w, "decisions": [more]} for w in said["workloads"]]
    opaque = ("workloads[].requests", "workloads[].decisions[].requests", "workloads[].losses[]")
    documented = set(table("docs/json.md", "Explanation:"))
    assert {"workloads[].decisions[]", "workloads[].losses[]"} < documented
    paths_ = {next((o for o in opaque if p.startswith(o)), p) for p in paths(said)}
    assert documented - {"workloads[].decisions[]"} == {p for p in paths_ if p in opaque or not p.endswith("[]")}


def test_the_json_of_validate_is_documented(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "intent").mkdir()
    (tmp_path / "intent" / "one.yaml").write_bytes((sample_folder() / "intent" / "gpu-inference.yaml").read_bytes())
    assert main(["validate", "--repo", str(tmp_path), "--output", "json"]) == 0
    assert_documented(json.loads(capsys.readouterr().out), "Validation:")


def test_the_json_of_verify_is_documented() -> None:
    fault = Fault("what")
    checks = (Check("message", "failed", "what", (fault,)),)
    verdict = Verdict("0" * 40, "subject", {}, checks, ("rendered/mine",))
    assert_documented(verdicts_json([verdict]), "Verification:")


def test_the_json_of_an_error_is_documented() -> None:
    landing = Landing("0" * 40, "main")
    assert_documented(faults_json(1, [Fault("what")], landing), "Error:")
    assert faults_json(1, [Fault("what")])["landed"] is None


def test_the_lock_is_documented() -> None:
    made = planned().lock
    first = made.blueprint.placements[0]
    changing = replace(first, spots=tuple(replace(s, gated=False) for s in first.spots))
    blueprint = replace(made.blueprint, placements=(changing, *made.blueprint.placements[1:]))
    cluster = first.spots[0].cluster
    transit = Transit(made.blueprint, 1, ((first.workload, cluster),), (cluster,))
    lock = replace(made, solver={"name": "a solver"}, blueprint=blueprint, transit=transit)
    assert read_lock(write_lock(lock), lock_path()) == lock
    opaque = ("intents", "pins", "scores", "incumbent.placements", "incumbent.policies", "transit.origin")
    body = json.loads(write_lock(lock))
    body["incumbent"] = {"placements": {"a/b": ["c"]}, "policies": {"c": "a/p"}}
    assert_documented(body, "The lock", opaque)


def test_the_json_of_a_phase_is_documented() -> None:
    phase = Phase(1, 2, ("a step",), ("something",), (("another step",),), ("a reason",))
    found = plan_json(replace(planned(), phase=phase))["phase"]
    documented = set(table("docs/json.md", "A phase"))
    assert documented == {f"{name}[]" if isinstance(value, list) else name for name, value in found.items()}
