"""One solver on one instance in this process: CPU seconds (children included), wall, peak MB and the answer, as JSON.

python -m bench.one ours|cbc|cpsat WORKLOADS CLUSTERS POLICIES FAMILY SEED SECONDS
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from typing import Any

from bench.instances import Instance, as_problem, from_words


def ours(instance: Instance, seconds: float) -> dict[str, Any]:
    """The product's own solve, by the score alone, as the sample's objective is."""
    from gitops_ds.solution import check_solution
    from gitops_ds.solver import solve

    problem = as_problem(instance, "place-first" if instance.all_placed else "score-first", time_limit=seconds)
    solution = solve(problem)
    broken = check_solution(problem, solution)
    if broken:
        raise SystemExit(f"the plan breaks the rules: {broken[0]}")
    score = next(s for s in solution.stages if s.name.startswith("score"))
    return {
        "objective": score.value // 1000,
        "bound": score.bound / 1000 if score.bound < float("inf") else None,
        "status": solution.status.value,
    }


def main(words: list[str]) -> None:
    """Run what the command line says and print one line of JSON."""
    from bench import rivals

    solver, instance = words[0], from_words(words[1:])
    for library in {"ours": ("gitops_ds.solver",), "cbc": ("pulp",), "cpsat": ("ortools.sat.python.cp_model",)}[solver]:
        importlib.import_module(library)
    run = {"ours": ours, "cbc": rivals.cbc, "cpsat": rivals.cpsat}[solver]
    began, cpu = time.monotonic(), _cpu()
    answer = run(instance, float(words[-1]))
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    answer |= {"cpu": _cpu() - cpu, "wall": time.monotonic() - began, "peak_mb": peak / 1024}
    print(json.dumps({"solver": solver, "instance": instance.name, **answer}))


def _cpu() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in spent)


if __name__ == "__main__":
    main(sys.argv[1:])
