"""`minFreshClusters`: how much of the fleet a plan really knows.

Owns which clusters count and when one of them is known, reachable and freshly scored. Owns no wording of plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from gitops_ds.ids import ClusterName, IntentId, ScoreName
from gitops_ds.inventory import Inventory
from gitops_ds.problem.scores import HIGHEST, LOWEST, ScoreBook
from gitops_ds.reconcile import Held, Plan

NAME = "minFreshClusters"
_MOST_NAMED = 5


def fresh_clusters(made: Plan, wanted: int | str, inventory: Inventory, instant: datetime) -> Iterator[Held]:
    """Hold where fewer clusters than `wanted`, a number or a share such as 50%, are fresh."""
    clusters = counted(made)
    needed = wanted if isinstance(wanted, int) else -(-len(clusters) * int(wanted.removesuffix("%")) // 100)
    if not needed:
        return
    troubles = {name: why for name in clusters if (why := _trouble(made, name, inventory, instant))}
    fresh = len(clusters) - len(troubles)
    if fresh < needed:
        asked = f"{needed}" if isinstance(wanted, int) else f"{needed} ({wanted})"
        several = [f"{name} {why}" for name, why in list(troubles.items())[:_MOST_NAMED]]
        more = [f"and {len(troubles) - _MOST_NAMED} more"] if len(troubles) > _MOST_NAMED else []
        said = f": {', '.join([*several, *more])}" if troubles else ""
        text = f"{fresh} of {len(clusters)} clusters are reachable and freshly scored, {NAME} asks for {asked}{said}"
        yield Held(NAME, text)


def counted(made: Plan) -> tuple[ClusterName, ...]:
    """The clusters that count, sorted.

    They are those that the intents name or select and, where any intent selects clusters at all, those that git's lock
    knows: a cluster that the hub has lost is selected by nothing any more. Where all are named one by one, a cluster
    that git alone knows was taken out of the intents on purpose.
    """
    problem = made.problem
    found = {*problem.lost, *(name for several in problem.candidates.values() for name in several)}
    entries = [entry for loaded in problem.intents.values() for entry in loaded.intent.spec.clusters]
    found |= {ClusterName(entry.name) for entry in entries if entry.name is not None}
    if any(entry.selector is not None for entry in entries):
        found |= made.lock.incumbent.clusters
    return tuple(sorted(found))


def _trouble(made: Plan, name: ClusterName, inventory: Inventory, instant: datetime) -> str:
    """Why the cluster does not count as fresh; "" where it does. What the hub has not said of it is no trouble."""
    cluster = inventory.cluster.get(name)
    if cluster is None:
        return "is not on the hub"
    if not cluster.accepted:
        return "is not accepted"
    if cluster.available is False:
        return "is not available"
    return next(_score_troubles(made.problem.candidates, made, name, inventory, instant), "")


def _score_troubles(
    candidates: Mapping[IntentId, frozenset[ClusterName]],
    made: Plan,
    name: ClusterName,
    inventory: Inventory,
    instant: datetime,
) -> Iterator[str]:
    """What is wrong with the scores that the intents which have the cluster prefer."""
    for key, loaded in sorted(made.problem.intents.items()):
        if name not in candidates[key]:
            continue
        preference = loaded.intent.spec.preference
        book = ScoreBook(inventory, preference, instant)
        for source, score in sorted({(one.source, one.name) for one in preference.scores}):
            found = inventory.score_from(source, name, ScoreName(score))
            if found is None or not any(LOWEST <= value <= HIGHEST for value in found.values):
                yield f"has no {score}"
            elif book.is_stale(found):
                yield f"has a stale {score}"
