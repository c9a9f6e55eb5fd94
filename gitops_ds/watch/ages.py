"""How old the scores are that a plan stands on.

Owns the choice of the oldest. Owns no reading of scores (`problem/scores.py`).
"""

from __future__ import annotations

from datetime import datetime

from gitops_ds.inventory import Inventory
from gitops_ds.problem.scores import ScoreBook
from gitops_ds.reconcile import Plan


def oldest_scores(made: Plan, inventory: Inventory, instant: datetime) -> dict[str, float]:
    """The greatest age in seconds, at `instant`, that each score has in a decision of the plan, by the score's name.

    A score that no decision stands on, or whose age nobody knows, is left out.
    """
    books = {
        key: ScoreBook(inventory, loaded.intent.spec.preference, instant)
        for key, loaded in made.problem.intents.items()
    }
    demands = {demand.workload: demand for demand in made.problem.demands}
    configurations = {(one.cluster, one.policy): one for one in made.problem.configurations}
    found: dict[str, float] = {}
    for decision in made.decisions:
        demand, configuration = demands[decision.workload], configurations[decision.cluster, decision.policy]
        for term in books[demand.intent].terms(demand, configuration):
            if term.age is not None and term.value is not None:
                found[term.score] = max(found.get(term.score, 0.0), term.age.total_seconds())
    return dict(sorted(found.items()))
