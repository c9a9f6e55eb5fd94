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
from gitops_ds.ids import ClusterName, Device, PolicyId, ResourceKind, WorkloadId, WorkloadName
from gitops_ds.intent.load import LoadedIntent
from gitops_ds.intent.placement import PlacedWorkload
from gitops_ds.inventory import Cluster, Inventory
from gitops_ds.problem.model import (
    POINT,
    Configuration,
    Demand,
    Incumbent,
    Ints,
    MoveLimit,
    Problem,
    SpreadRule,
    mark_too_big,
)
from gitops_ds.problem.pairs import judge_pairs
from gitops_ds.problem.resolve import Resolved, allows, resolve, selects
from gitops_ds.problem.supply import Amounts
from gitops_ds.quantity import format_quantity

MOST_UNITS = 2**53
"""No amount is more of its kind's units than this, so that floating point holds each exactly."""


def build(
    intents: Sequence[LoadedIntent],
    inventory: Inventory,
    instant: datetime,
    incumbent: Incumbent | None = None,
) -> Problem:
    """The placement problem of `intents` on what `inventory` holds, with scores judged at `instant`.

    Without any intent it is empty, and so is its one plan.

    Raises:
        InputError: with every fault of every intent.
    """
    incumbent = incumbent or Incumbent()
    faults: list[Fault] = []
    resolved: list[Resolved] = []
    for loaded in sorted(intents, key=lambda one: one.id):
        found, wrong = resolve(loaded, inventory, incumbent)
        faults += wrong
        if found is not None:
            resolved.append(found)
    faults += _one_goal(resolved)
    faults += _one_placement(resolved)
    raise_faults(InputError, faults)
    return _assemble(resolved, inventory, instant, incumbent)


def _one_goal(resolved: Sequence[Resolved]) -> Iterator[Fault]:
    """All intents are one problem, and one problem has one goal."""
    for one in resolved[1:]:
        mine, theirs = (r.loaded.intent.spec.preference.goal for r in (one, resolved[0]))
        if mine != theirs:
            what = f"the goal of {one.loaded.id} is {mine}, and that of {resolved[0].loaded.id} is {theirs}"
            at = one.loaded.at("spec", "preference", "goal")
            yield Fault(what, at, "all intents are solved as one problem, and that has one goal", "make them agree")


def _one_placement(resolved: Sequence[Resolved]) -> Iterator[Fault]:
    """Workloads of two intents that follow one Placement; those of one intent are found with the intent."""
    seen: dict[tuple[str, str], tuple[Resolved, Demand]] = {}
    for one in resolved:
        numbers = {w.name: i for i, w in enumerate(one.loaded.intent.spec.workloads)}
        for demand, placed in one.demands.values():
            first, other = seen.setdefault((demand.workload.namespace, demand.placement), (one, demand))
            if first is not one:
                what = f"{other.workload} and {demand.workload} follow one Placement, {demand.placement}"
                at = one.loaded.at("spec", "workloads", numbers[placed.name], "name")
                yield Fault(what, at, "it could place only both or neither", "give each a placementRef of its own")


def _assemble(resolved: Sequence[Resolved], inventory: Inventory, instant: datetime, incumbent: Incumbent) -> Problem:
    configurations = tuple(sorted(_merged(resolved), key=_configuration_order))
    clusters = tuple(sorted({c.cluster for c in configurations}))
    demands = tuple(sorted((d for r in resolved for d, _ in r.demands.values()), key=lambda d: d.workload))
    placed = {key: placed for r in resolved for key, (_, placed) in r.demands.items()}
    index = {name: i for i, name in enumerate(clusters)}
    kinds, unit, request, variant, supply = _amounts(demands, configurations)
    score, state, warnings = judge_pairs(
        resolved, demands, configurations, inventory=inventory, instant=instant, incumbent=incumbent
    )
    for one in resolved:
        warnings += (*one.notes, *_idle_entries(one, inventory), *_idle_devices(one))
    mark_too_big(state, request, variant, supply)
    row = {d.workload: i for i, d in enumerate(demands)}
    by_id = {r.loaded.id: r.loaded for r in resolved}
    stability = [by_id[d.intent].intent.spec.stability for d in demands]
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
        variant=variant,
        supply=supply,
        incumbent=np.array([[c in d.incumbents for c in clusters] for d in demands], dtype=np.bool_).reshape(
            len(demands), len(clusters)
        ),
        configured=_configured(clusters, configurations, incumbent),
        goal=next((r.loaded.intent.spec.preference.goal for r in resolved), "place-first"),
        move_cost=np.array([int(s.moveCost * POINT) for s in stability], dtype=np.int64),
        reconfigure_cost=_reconfigure_costs(resolved, clusters),
        together=tuple(g for g in groups(row.values(), _edges(placed, row, "with_")) if len(g) > 1),
        apart=cliques(_edges(placed, row, "apart")),
        move_limits=tuple(_move_limits(resolved, row)),
        spreads=tuple(_spreads(demands, resolved, [inventory.cluster[c] for c in clusters])),
        pins={name: pin for r in reversed(resolved) for name, pin in r.pins.items()},
        candidates={r.loaded.id: frozenset(r.configurations) for r in resolved},
        facts={name: inventory.cluster[name] for name in clusters},
        time_limit=max((s.timeLimit.total_seconds() for s in solver), default=0.0),
        gap=min((s.gap for s in solver), default=0.0),
        lost=tuple(sorted({name for one in resolved for name in one.lost})),
        warnings=tuple(sorted(set(warnings))),
    )


def _reconfigure_costs(resolved: Sequence[Resolved], clusters: Sequence[ClusterName]) -> Ints:
    """What another policy costs on each cluster: the most that an intent with the cluster says."""
    costs = [(one.configurations, int(one.loaded.intent.spec.stability.reconfigureCost * POINT)) for one in resolved]
    return np.array([max(cost for names, cost in costs if c in names) for c in clusters], dtype=np.int64)


def _configuration_order(c: Configuration) -> tuple[str, bool, str]:
    return c.cluster, c.policy is not None, str(c.policy or "")


def _merged(resolved: Sequence[Resolved]) -> Iterator[Configuration]:
    """Each configuration once. Intents that share a cluster add up to its choices.

    What the cluster has whatever the policy is, kind by kind, the larger of what they say, and holds for all choices.
    """
    fixed: dict[ClusterName, dict[ResourceKind, Fraction]] = {}
    own: dict[tuple[ClusterName, PolicyId | None], tuple[Device, Amounts]] = {}
    for one in resolved:
        for name, several in one.configurations.items():
            base: Amounts = next((c.supply for c in several if c.policy is None), {})
            here = fixed.setdefault(name, {})
            here |= {k: max(here.get(k, amount), amount) for k, amount in base.items()}
            for c in several:
                rest = {k: amount - base.get(k, 0) for k, amount in c.supply.items()}
                own.setdefault((name, c.policy), (c.device, rest))
    for (name, policy), (device, extra) in own.items():
        total = {k: extra.get(k, Fraction(0)) + fixed[name].get(k, Fraction(0)) for k in sorted({*extra, *fixed[name]})}
        yield Configuration(name, policy, device, total)


def _idle_entries(one: Resolved, inventory: Inventory) -> Iterator[str]:
    for i, entry in enumerate(one.loaded.intent.spec.clusters):
        if entry.selector is not None and not any(selects(entry.selector, c) for c in inventory.clusters):
            yield f"{one.loaded.at('spec', 'clusters', i, 'selector')}: this selects no cluster"


def _amounts(
    demands: Sequence[Demand], configurations: Sequence[Configuration]
) -> tuple[tuple[ResourceKind, ...], tuple[Fraction, ...], Ints, Ints, Ints]:
    """Kinds, their units, requests (W x K, or W x V x K), variants (G, or none), and supplies (G x K).

    Amounts are whole numbers, those of each kind in the largest unit in which all of them are whole. The first variant
    of the requests holds wherever no workload asks for anything else on the configuration's device.
    """
    named = {device for d in demands for device in d.requests_on}
    devices = sorted({c.device for c in configurations} & named)
    asked = [[d.requests, *(d.requests_on.get(device, d.requests) for device in devices)] for d in demands]
    kinds = tuple(sorted({k for several in asked for one in several for k in one}))
    unit, request, supply = [], [], []
    for kind in kinds:
        wanted = [[one.get(kind, Fraction(0)) for one in several] for several in asked]
        offered = [c.supply.get(kind, Fraction(0)) for c in configurations]
        unit.append(_unit(kind, [*(a for several in wanted for a in several), *offered]))
        request.append([[int(a / unit[-1]) for a in several] for several in wanted])
        supply.append([int(a / unit[-1]) for a in offered])
    every = np.array(request, dtype=np.int64).reshape(len(kinds), len(demands), 1 + len(devices)).transpose(1, 2, 0)
    variant = [devices.index(c.device) + 1 if c.device in devices else 0 for c in configurations]
    return (
        kinds,
        tuple(unit),
        every if devices else every[:, 0],
        np.array(variant if devices else [], dtype=np.int64),
        np.array(supply, dtype=np.int64).reshape(len(kinds), len(configurations)).T,
    )


def _unit(kind: ResourceKind, several: Sequence[Fraction]) -> Fraction:
    """The largest unit in which all of the amounts are whole."""
    amounts = [a for a in several if a]
    if not amounts:
        return Fraction(1)
    bottom = lcm(*(a.denominator for a in amounts))
    unit = Fraction(gcd(*(int(a * bottom) for a in amounts)), bottom)
    if max(amounts) / unit > MOST_UNITS:
        few, many = format_quantity(min(amounts)), format_quantity(max(amounts))
        what = f"amounts of {kind} range from {few} to {many}, too widely to be added up exactly"
        raise InputError(Fault(what, fix="write them with fewer digits, or correct the unit"))
    return unit


def _idle_devices(one: Resolved) -> Iterator[str]:
    devices = {c.device for several in one.configurations.values() for c in several}
    for demand, _ in one.demands.values():
        for device in sorted(demand.requests_on.keys() - devices):
            yield f"{demand.workload}: requestsOn names {device}, a device that no candidate supplies"


def _move_limits(resolved: Sequence[Resolved], row: Mapping[WorkloadId, int]) -> Iterator[MoveLimit]:
    for one in resolved:
        most = one.loaded.intent.spec.stability.maxMoves
        if most is not None:
            yield MoveLimit(tuple(sorted(row[key] for key in one.demands)), most)


def _configured(clusters: Sequence[ClusterName], configurations: Sequence[Configuration], incumbent: Incumbent) -> Ints:
    found = {(c.cluster, c.policy): g for g, c in enumerate(configurations)}
    now = [(c, incumbent.policies.get(c)) for c in clusters]
    return np.array([found.get(key, -1) if key[1] is not None else -1 for key in now], dtype=np.int64)


def _edges(
    placed: Mapping[WorkloadId, PlacedWorkload], row: Mapping[WorkloadId, int], word: str
) -> Iterator[tuple[int, int]]:
    for key, one in sorted(placed.items()):
        for other in getattr(one, word):
            yield row[key], row[WorkloadId(key.namespace, WorkloadName(other))]


def _spreads(
    demands: Sequence[Demand], resolved: Sequence[Resolved], clusters: Sequence[Cluster]
) -> Iterator[SpreadRule]:
    """The spread rules, with the clusters that are the workload's to use grouped by the key's value.

    A cluster without the key is in no group. Nor is one that the intent does not list, or that pin, allow or avoid
    excludes: its group would stay empty and hold all the others down.
    """
    owner = {r.loaded.id: r for r in resolved}
    for w, demand in enumerate(demands):
        one = owner[demand.intent]
        placed = one.demands[demand.workload][1]
        usable = [c for c in clusters if c.name in one.configurations and allows(placed, c)]
        for rule in placed.spread:
            values: dict[str, list[int]] = {}
            for cluster in usable:
                have = cluster.labels if rule.kind == "Label" else cluster.claims
                if rule.key in have:
                    values.setdefault(have[rule.key], []).append(clusters.index(cluster))
            grouped = tuple((value, tuple(members)) for value, members in sorted(values.items()))
            yield SpreadRule(w, rule.key, grouped, rule.maxSkew, rule.mode == "hard")
