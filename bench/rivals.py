"""The rivals: the DSF sample's formulation in PuLP with CBC, and CP-SAT. Each runs in a process of its own.

The sample's formulation has x[a,c] (app on cluster), y[c,d] (cluster configured as d) and z[a,c,d] (both), three rows
that tie each z to its x and y, and x[a,c] = sum over d of z[a,c,d]. Pairs without a score, at which the sample's own
code stops, are fixed to 0 here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.instances import Instance


def cbc(instance: Instance, seconds: float) -> dict[str, Any]:
    """The sample's formulation, built with PuLP and solved by the CBC that comes with it."""
    import pulp

    workloads, configurations = instance.score.shape
    model = pulp.LpProblem("dsf_sample", pulp.LpMaximize)
    cluster_of = instance.cluster_of.tolist()
    x = pulp.LpVariable.dicts("x", (range(workloads), range(instance.clusters)), cat="Binary")
    y = pulp.LpVariable.dicts("y", range(configurations), cat="Binary")
    z = pulp.LpVariable.dicts("z", (range(workloads), range(configurations)), cat="Binary")
    score = instance.score.tolist()
    model += pulp.lpSum(score[a][g] * z[a][g] for a in range(workloads) for g in range(configurations))
    members: list[list[int]] = [[] for _ in range(instance.clusters)]
    for g, c in enumerate(cluster_of):
        members[c].append(g)
    for several in members:
        model += pulp.lpSum(y[g] for g in several) <= 1
    for a in range(workloads):
        model += pulp.lpSum(x[a][c] for c in range(instance.clusters)) <= 1
        for c, several in enumerate(members):
            model += x[a][c] == pulp.lpSum(z[a][g] for g in several)
        for g, c in enumerate(cluster_of):
            model += z[a][g] <= x[a][c]
            model += z[a][g] <= y[g]
            model += z[a][g] >= x[a][c] + y[g] - 1
            if not instance.allowed[a, g]:
                z[a][g].upBound = 0
    for g in range(configurations):
        for k in range(instance.needs.shape[2]):
            need = instance.needs[:, g, k].tolist()
            model += pulp.lpSum(need[a] * z[a][g] for a in range(workloads)) <= int(instance.supply[g, k]) * y[g]
    model.solve(pulp.PULP_CBC_CMD(msg=False, timeLimit=seconds, threads=1))
    proved = model.status == pulp.LpStatusOptimal and model.sol_status == pulp.LpSolutionOptimal
    found = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    value = round(pulp.value(model.objective)) if found else None
    return {"objective": value, "bound": value if proved else None, "status": "optimal" if proved else "limit"}


def cpsat(instance: Instance, seconds: float) -> dict[str, Any]:
    """CP-SAT on z and y alone, one worker, linearisation level 2."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    cluster_of = instance.cluster_of.tolist()
    y = [model.new_bool_var(f"y{g}") for g in range(len(cluster_of))]
    for c in range(instance.clusters):
        model.add_at_most_one(y[g] for g, at in enumerate(cluster_of) if at == c)
    fits = instance.allowed & (instance.needs <= instance.supply[None, :, :]).all(axis=2)
    if not instance.all_placed:
        fits &= instance.score > 0
    z = {(int(a), int(g)): model.new_bool_var(f"z{a}_{g}") for a, g in zip(*np.nonzero(fits), strict=True)}
    by_workload: dict[int, list[Any]] = {}
    by_configuration: dict[int, list[tuple[int, Any]]] = {}
    for (a, g), one in z.items():
        by_workload.setdefault(a, []).append(one)
        by_configuration.setdefault(g, []).append((a, one))
    for several in by_workload.values():
        if instance.all_placed:
            model.add_exactly_one(several)
        else:
            model.add_at_most_one(several)
    for g, pairs in by_configuration.items():
        for k in range(instance.needs.shape[2]):
            used = sum(int(instance.needs[a, g, k]) * one for a, one in pairs)
            model.add(used <= int(instance.supply[g, k]) * y[g])
    model.maximize(sum(int(instance.score[a, g]) * one for (a, g), one in z.items()))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {
        "objective": round(solver.objective_value) if found else None,
        "bound": round(solver.best_objective_bound) if found else None,
        "status": "optimal" if status == cp_model.OPTIMAL else "limit",
    }
