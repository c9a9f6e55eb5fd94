"""The benchmark table: ours, the DSF sample's formulation in PuLP with CBC, and CP-SAT, from the same instances.

    python -m bench.run [--quick] [--only TEXT]

Every solver runs in a process of its own. Prints a line a run as it ends, then the table with ratios, and writes
bench/results/<size>.json. How to read it: docs/bench.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
RIVAL_SECONDS = 120.0


class Case(NamedTuple):
    """One instance and the time that ours is given; rivals that were seen to end with nothing are left out."""

    words: tuple[str, ...]
    seconds: float
    rivals: tuple[str, ...]


def cases(*, quick: bool) -> Iterator[Case]:
    """The families, small ones first."""
    both = ("cbc", "cpsat")
    for seed in range(4):
        yield Case(("50", "20", "4", "tight", str(seed)), 30.0, both)
    for family in ("loose", "sym"):
        yield Case(("50", "20", "4", family, "0"), 30.0, both)
    yield Case(("300", "60", "4", "alike", "0"), 30.0, ("cpsat",))
    for kind, size in (("D", "5 100"), ("D", "20 200"), ("E", "5 100"), ("E", "20 200")):
        yield Case(("gap", *size.split(), kind, "0"), 30.0, ("cpsat",))
    yield Case(("200", "50", "5", "tight", "0"), 30.0, () if quick else both)
    yield Case(("200", "50", "5", "related", "0"), 60.0, ())
    if not quick:
        yield Case(("1000", "100", "5", "tight", "0"), 30.0, ("cpsat",))
        yield Case(("1000", "100", "5", "related", "0"), 60.0, ())
        yield Case(("5000", "200", "5", "tight", "0"), 90.0, ())
        yield Case(("10000", "500", "5", "tight", "0"), 300.0, ())


def main() -> None:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--only", default="", help="run only cases whose words contain this")
    asked = parser.parse_args()
    rows = []
    for case in cases(quick=asked.quick):
        if asked.only in " ".join(case.words):
            runs = [_run("ours", case.words, case.seconds)]
            runs += [_run(rival, case.words, RIVAL_SECONDS) for rival in case.rivals]
            rows.append(runs)
            _keep(case, runs)
    print("\n" + "\n".join(table(rows)))


def _run(solver: str, words: Sequence[str], seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.one", solver, *words, str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds * 3 + 60)
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, json.JSONDecodeError):
        answer = {"solver": solver, "instance": " ".join(words), "objective": None, "bound": None, "status": "nothing"}
    print(json.dumps(answer), flush=True)
    return answer


def _keep(case: Case, runs: Sequence[dict[str, Any]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    name = "-".join(case.words) + ".json"
    (RESULTS / name).write_text(json.dumps(list(runs), indent=2, sort_keys=True) + "\n")


def table(rows: Sequence[Sequence[dict[str, Any]]]) -> Iterator[str]:
    """The runs as Markdown: CPU and wall seconds, peak memory, objective, bound, gap, and CPU against ours."""
    yield "| instance | solver | CPU s | wall s | MB | objective | bound | gap | CPU / ours |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for runs in rows:
        for run in runs:
            yield "| " + " | ".join((str(run["instance"]), str(run["solver"]), *_figures(run, runs[0]))) + " |"


def _figures(run: dict[str, Any], ours: dict[str, Any]) -> Iterator[str]:
    for name, form in (("cpu", ".2f"), ("wall", ".2f"), ("peak_mb", ".0f")):
        yield format(run[name], form) if name in run else "-"
    for name in ("objective", "bound"):
        yield "none" if run.get(name) is None else f"{run[name]:.0f}"
    yield _gap(run)
    done = run["status"] == "optimal"
    yield f"{run['cpu'] / ours['cpu']:.1f}" if "cpu" in run and "cpu" in ours and done else run["status"]


def _gap(run: dict[str, Any]) -> str:
    if run.get("objective") is None or run.get("bound") is None:
        return "-"
    return f"{abs(run['bound'] - run['objective']) / max(abs(run['objective']), 1):.2%}"


if __name__ == "__main__":
    main()
