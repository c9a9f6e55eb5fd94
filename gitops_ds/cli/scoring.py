"""What a plan needs of scores and scorers beside the hub's facts: further sources, and what pinned scorers say.

Owns when they are asked. Owns neither the asking (`hub/`) nor what it means (`scorers.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gitops_ds.intent.load import Intents
from gitops_ds.intent.reconciler import ReconcilerSpec
from gitops_ds.inventory import Inventory
from gitops_ds.lock import read_lock
from gitops_ds.scorers import Scoring, with_scorers
from gitops_ds.tree import lock_path


def with_scoring(
    inventory: Inventory, said: Intents, spec: ReconcilerSpec, held: Mapping[str, bytes], instant: datetime
) -> tuple[Inventory, Scoring]:
    """The inventory with the scores of the sources that the intents name, and what the scoring intents come to.

    Args:
        inventory: the hub's facts and the repository's manifests.
        said: the intents of the reconciler.
        spec: the reconciler's settings.
        held: what git holds below the rendered folder.
        instant: when scores are judged.

    Raises:
        HubError: a source cannot be read, or a pinned scorer says nothing that can be used and the lock knows nothing.
        RepositoryError: the lock is unreadable.
    """
    if spec.scoreSources:
        from gitops_ds.hub.prometheus import with_score_sources

        inventory = with_score_sources(inventory, spec.scoreSources, [one.intent for one in said.placements], instant)
    scoring = Scoring(said.scorings)
    if any(scorer.pin for one in said.scorings for scorer in one.intent.spec.scorers):
        from gitops_ds.hub.scorer_config import read_told

        path = lock_path(spec.rendered)
        old = read_lock(held[path], path).blueprint if path in held else None
        scoring = Scoring(said.scorings, *read_told(said.scorings, old))
    return with_scorers(inventory, scoring), scoring
