"""A plan that is remembered: where nothing that decides has changed since the lock was written, nobody solves again.

Owns the digest of a problem's input and the way from a lock back to a solution. Owns no solving: what cannot be
recalled is solved as ever.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from gitops_ds.lock import Lock
from gitops_ds.problem import Pair, Problem
from gitops_ds.solution import Solution, Status, check_solution

INPUT, STATUS = "input", "status"


def input_digest(problem: Problem) -> str:
    """sha256 of all that a plan is decided by, but for what git holds already, which only weighs changes.

    A plan that was best from what git held before is best from itself, for a change costs no less by way of it.
    """
    names = {
        "goal": problem.goal,
        "gap": str(problem.gap),
        "demands": [
            [str(d.workload), str(d.intent), d.placement, d.copies, d.wanted, d.priority] for d in problem.demands
        ],
        "configurations": [[c.cluster, str(c.policy or "")] for c in problem.configurations],
        "kinds": [[kind, str(unit)] for kind, unit in zip(problem.kinds, problem.unit, strict=True)],
        "relations": [problem.together, problem.apart],
        "spreads": [[s.workload, s.groups, s.max_skew, s.hard] for s in problem.spreads],
        "shape": [problem.state.shape, problem.request.shape],
    }
    digest = hashlib.sha256(json.dumps(names, sort_keys=True).encode())
    for numbers in (problem.score, problem.state, problem.request, problem.variant, problem.supply):
        digest.update(numbers.astype("<i8").tobytes())
    for costs in (problem.move_cost, problem.reconfigure_cost):
        digest.update(costs.astype("<i8").tobytes())
    return digest.hexdigest()


def recall(problem: Problem, locked: Lock | None, solver: Mapping[str, Any]) -> Solution | None:
    """The plan of the lock, where the solver proved it best for `solver`'s input and it is still a plan; else None.

    `solver` is what this plan's lock would say of the solver: its name, and the digest of its input.

    A limit on moves makes each plan a step towards a better one, so such a problem is always solved. So is one whose
    plan is in flight: what git holds then is a step, and no plan.
    """
    if locked is None or locked.transit is not None or problem.move_limits or problem.required:
        return None
    same = all(locked.solver.get(key) == value for key, value in solver.items())
    if not same or locked.solver.get(STATUS) != Status.OPTIMAL.value:
        return None
    workload = {d.workload: w for w, d in enumerate(problem.demands)}
    configuration = {(c.cluster, c.policy): g for g, c in enumerate(problem.configurations)}
    pairs = []
    for placed in locked.blueprint.placements:
        for spot in placed.spots:
            w, g = workload.get(placed.workload), configuration.get((spot.cluster, spot.policy))
            if w is None or g is None or spot.score is None:
                return None
            pairs.append(Pair(w, g))
    solution = Solution(tuple(sorted(pairs)), Status.OPTIMAL)
    return None if check_solution(problem, solution) else solution
