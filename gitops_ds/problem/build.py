"""Intents and inventory to one `Problem`: sorted sets, exact amounts, blended scores, and why a pair may not be used.

Owns the numbering and the units. Owns no look-up of names (`resolve.py`) and no judgement
of single pairs (`pairs.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from gitops_ds.errors import Fault, InputError, raise_faults
from gitops_ds.graph import cliques, groups
from gitops_ds.ids import ClusterName, ResourceKind, WorkloadId, WorkloadName
from gitops_ds.intent.load import LoadedIntent
from gitops_ds.intent.placement import PlacedWorkload
from gitops_ds.inventory import Cluster, Inventory
from gitops_ds.problem.model import (
    POINT,
    Configuration,
    Demand,
    Incumbent,
    Ints,
    Problem,
    SpreadRule,
    mark_too_big,
)
from gitops_ds.problem.pairs import judge_pairs
from gitops_ds.problem.resolve import Resolved, resolve
from gitops_ds.problem.scores import unknown_placeholders

def build(
    intents: Sequence[LoadedIntent],
    inventory: Inventory,
    instant: datetime,
    incumbent: Incumbent | None = None,
) -> Problem:
    """The placement problem of `intents` on what `inventory` holds, with scores judged at `instant`.

    Raises:
        InputError: with every fault of every intent.
    """
    incumbent = incumbent or Incumbent()
    faults: list[Fault] = []
    resolved: list[Resolved] = []
    for loaded in sorted(intents, key=lambda one: one.id):
        found, wrong = resolve(loaded, inventory, incumbent)
        faults += wrong
        faults += _wrong_dimensions(loaded)
        if found is not None:
            resolved.append(found)
    faults += _one_goal(resolved)
    raise_faults(InputError, faults)
    return _assemble(resolved, inventory, instant, incumbent)


def _wrong_dimensions(loaded: LoadedIntent) -> Iterator[Fault]:
    for i, score in enumerate(loaded.intent.spec.preference.scores):
        for name in unknown_placeholders(score.dimension or ""):
            at = loaded.at("spec", "preference", "scores", i, "dimension")
            yield Fault(f"${{{name}}} is no placeholder of a dimension", at)


def _one_goal(resolved: Sequence[Resolved]) -> Iterator[Fault]:
    """Intents that share a cluster are one problem, and one problem has one goal."""
    goals: dict[ClusterName, Resolved] = {}
    for one in resolved:
        for cluster in one.configurations:
            first = goals.setdefault(cluster, one)
            mine, theirs = one.loaded.intent.spec.preference.goal, first.loaded.intent.spec.preference.goal
            if mine != theirs:
                what = f"intents {first.loaded.id} ({theirs}) and {one.loaded.id} ({mine}) share {cluster}"
                yield Fault(what, one.loaded.at("spec", "preference", "goal"), "one problem has one goal")
                break


def _assemble(
    resolved: Sequence[Resolved], inventory: Inventory, instant: datetime, incumbent: Incumbent
) -> Problem:
    configurations = tuple(sorted(_merged(resolved), key=_configuration_order))
    clusters = tuple(sorted({c.cluster for c in configurations}))
    demands = tuple(sorted((d for r in resolved for d, _ in r.demands.values()), key=lambda d: d.workload))
    placed = {key: placed for r in resolved for key, (_, placed) in r.demands.items()}
    index = {name: i for i, name in enumerate(clusters)}
    kinds, unit, request, supply = _amounts(demands, configurations)
    score, state, warnings = judge_pairs(resolved, demands, configurations, inventory, instant, incumbent)
    mark_too_big(state, request, supply)
    row = {d.workload: i for i, d in enumerate(demands)}
    by_id = {r.loaded.id: r.loaded for r in resolved}
    stability = [by_id[d.intent].intent.spec.stability for d in demands]
    reconfigure = np.zeros(len(clusters), dtype=np.int64)
    for one in resolved:
        for name in one.configurations:
            cost = int(one.loaded.intent.spec.stability.reconfigureCost * POINT)
            reconfigure[index[name]] = max(reconfigure[index[name]], cost)
    solver = [r.loaded.intent.spec.solver for r in resolved]
    return Problem(
        intents=by_id,
        demands=demands,
        clusters=clusters,
        configurations=configurations,
        cluster_of=np.array([index[c.cluster] for c in configurations], dtype=np.int64),
        kinds=kinds,
        unit=unit,
        score=score,
        state=state,
        request=request,
        supply=supply,
        incumbent=np.array([[c in d.incumbents for c in clusters] for d in demands], dtype=np.bool_),
        configured=_configured(clusters, configurations, incumbent),
        goal=resolved[0].loaded.intent.spec.preference.goal,
        move_cost=np.array([int(s.moveCost * POINT) for s in stability], dtype=np.int64),
        reconfigure_cost=reconfigure,
        together=tuple(g for g in groups(row.values(), _edges(placed, row, "with_")) if len(g) > 1),
        apart=cliques(_edges(placed, row, "apart")),
        spreads=tuple(_spreads(demands, placed, [inventory.cluster[c] for c in clusters])),
        pins={name: pin for r in reversed(resolved) for name, pin in r.pins.items()},
        time_limit=max(s.timeLimit.total_seconds() for s in solver),
        gap=min(s.gap for s in solver),
        warnings=tuple(sorted(set(warnings))),
    )


def _configuration_order(c: Configuration) -> tuple[str, bool, str]:
    return c.cluster, c.policy is not None, str(c.policy or "")


def _merged(resolved: Sequence[Resolved]) -> Iterator[Configuration]:
    """Each configuration once: intents that share a cluster add up to its choices, with the larger fixed capacity."""
    found: dict[tuple[ClusterName, object], Configuration] = {}
    for one in resolved:
        for several in one.configurations.values():
            for c in several:
                key = (c.cluster, c.policy)
                if key in found:
                    first = found[key].supply
                    supply = {k: max(first.get(k, Fraction(0)), c.supply.get(k, Fraction(0))) for k in {*first, *c.supply}}
                    c = Configuration(c.cluster, c.policy, c.device, dict(sorted(supply.items())))
                found[key] = c
    yield from found.values()


def _amounts(
    demands: Sequence[Demand], configurations: Sequence[Configuration]
) -> tuple[tuple[ResourceKind, ...], tuple[Fraction, ...], Ints, Ints]:
    """Requests and supplies as whole numbers, each kind in the largest unit in which all of its amounts are whole."""
    kinds = tuple(sorted({k for d in demands for k in d.requests}))
    unit, request, supply = [], [], []
    for kind in kinds:
        wanted = [d.requests.get(kind, Fraction(0)) for d in demands]
        offered = [c.supply.get(kind, Fraction(0)) for c in configurations]
        amounts = [a for a in (*wanted, *offered) if a]
        bottom = lcm(*(a.denominator for a in amounts)) if amounts else 1
        top = gcd(*(int(a * bottom) for a in amounts)) if amounts else 1
        unit.append(Fraction(top, bottom))
        request.append([int(a / unit[-1]) for a in wanted])
        supply.append([int(a / unit[-1]) for a in offered])
    shape_w, shape_g = (len(demands), len(kinds)), (len(configurations), len(kinds))
    return (
        kinds,
        tuple(unit),
        np.array(request, dtype=np.int64).T.reshape(shape_w),
        np.array(supply, dtype=np.int64).T.reshape(shape_g),
    )


def _configured(
    clusters: Sequence[ClusterName], configurations: Sequence[Configuration], incumbent: Incumbent
) -> Ints:
    found = {(c.cluster, c.policy): g for g, c in enumerate(configurations) if c.policy is not None}
    return np.array([found.get((c, incumbent.policies.get(c)), -1) for c in clusters], dtype=np.int64)


def _edges(
    placed: Mapping[WorkloadId, PlacedWorkload], row: Mapping[WorkloadId, int], word: str
) -> Iterator[tuple[int, int]]:
    for key, one in sorted(placed.items()):
        for other in getattr(one, word):
            yield row[key], row[WorkloadId(key.namespace, WorkloadName(other))]


def _spreads(
    demands: Sequence[Demand], placed: Mapping[WorkloadId, PlacedWorkload], clusters: Sequence[Cluster]
) -> Iterator[SpreadRule]:
    """The spread rules, with the clusters grouped by the key's value; a cluster without one is in no group."""
    for w, demand in enumerate(demands):
        for rule in placed[demand.workload].spread:
            values: dict[str, list[int]] = {}
            for c, cluster in enumerate(clusters):
                have = cluster.labels if rule.kind == "Label" else cluster.claims
                if rule.key in have:
                    values.setdefault(have[rule.key], []).append(c)
            grouped = tuple((value, tuple(members)) for value, members in sorted(values.items()))
            yield SpreadRule(w, rule.key, grouped, rule.maxSkew, rule.mode == "hard")
