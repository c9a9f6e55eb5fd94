"""What must not happen for a score that nobody can read: that a workload leaves the cluster where it runs.

Owns this one guard. Owns neither the reading of scores (`hub/`) nor what a missing one means (`problem/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_ds.blueprint import Blueprint
from gitops_ds.ids import HUB
from gitops_ds.intent.load import LoadedIntent
from gitops_ds.inventory import Inventory


def moved_unread(
    before: Blueprint | None, after: Blueprint, inventory: Inventory, intents: Sequence[LoadedIntent]
) -> Iterator[str]:
    """In words, each workload that would leave a cluster one of whose wanted scores cannot be read, in name order."""
    unread = {(score.cluster, score.name): score for score in inventory.scores if score.unreadable}
    if before is None or not unread:
        return
    wanted = {
        (one.id, workload.name): {score.name for score in one.intent.spec.preference.scores if score.source == HUB}
        for one in intents
        for workload in one.intent.spec.workloads
    }
    now = {placed.workload: {spot.cluster for spot in placed.spots} for placed in after.placements}
    for placed in before.placements:
        for spot in placed.spots:
            scores = wanted.get((placed.intent, placed.workload.name), set())
            bad = sorted(name for cluster, name in unread if cluster == spot.cluster and name in scores)
            if bad and spot.cluster not in now.get(placed.workload, set()):
                why = unread[spot.cluster, bad[0]].unreadable
                yield f"{placed.workload} would leave {spot.cluster}, whose score cannot be read: {why}"
