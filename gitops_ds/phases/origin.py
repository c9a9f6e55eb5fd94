"""`returning(...)`: what an abort leads back to: the last settled blueprint, as far as the intents still have it.

Owns that value. Owns no way there: that is stepped like every other move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitops_ds.blueprint import Blueprint
from gitops_ds.ids import ClusterName
from gitops_ds.phases.terms import Terms
from gitops_ds.phases.transit import Transit

Pins = Mapping[ClusterName, str | None]


def returning(before: Blueprint, transit: Transit | None, terms: Terms, pins: Pins) -> Blueprint:
    """Where an abort leads: to the origin of what is in flight; where nothing is, things stay as git has them.

    Args:
        before: what git holds.
        transit: what is in flight.
        terms: the workloads that there are.
        pins: the labels that select clusters now.
    """
    origin = transit.origin if transit else before
    placements = []
    for placed in origin.placements:
        if placed.workload in terms.placements:
            intent, placement = terms.placements[placed.workload]
            spots = tuple(replace(s, gated=True) for s in placed.spots)
            placements.append(replace(placed, intent=intent, placement=placement, spots=spots))
    configurations = tuple(c for c in origin.configurations if c.intent in terms.problem.intents)
    used = {s.cluster for p in placements for s in p.spots} | {c.cluster for c in configurations}
    every = {**origin.pins, **before.pins, **pins}
    return Blueprint(tuple(placements), configurations, {c: every[c] for c in sorted(used)}, scorings=before.scorings)
