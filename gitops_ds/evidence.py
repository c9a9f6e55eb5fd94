"""`Evidence`: what one workload's decision rests on, down to the single score, gathered on demand.

Owns the gathering. Owns no wording (`decisions.py`) and no layout (`report/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gitops_ds.decisions import Decision, Unplaced
from gitops_ds.errors import Fault, UsageError
from gitops_ds.inventory import Inventory
from gitops_ds.problem.model import Demand
from gitops_ds.problem.scores import ScoreBook, Term
from gitops_ds.reconcile import Plan


@dataclass(frozen=True, slots=True)
class Evidence:
    """A workload's demand, its decisions each with the score terms, and what is said where copies have no place."""

    demand: Demand
    decisions: tuple[tuple[Decision, tuple[Term, ...]], ...]
    unplaced: Unplaced | None


def evidence(made: Plan, inventory: Inventory, instant: datetime, wanted: Sequence[str] = ()) -> tuple[Evidence, ...]:
    """The evidence of the workloads named in `wanted` (name or namespace/name; all where it is empty).

    Raises:
        UsageError: a name is no workload of the plan.
    """
    demands = made.problem.demands
    known = {name for d in demands for name in (str(d.workload), d.workload.name)}
    strangers = [name for name in wanted if name not in known]
    if strangers:
        names = ", ".join(d.workload.name for d in demands[:10])
        raise UsageError(*(Fault(f"{name} is no workload of the plan", fix=f"one of: {names}") for name in strangers))
    books = {
        key: ScoreBook(inventory, loaded.intent.spec.preference, instant)
        for key, loaded in made.problem.intents.items()
    }
    configurations = {(c.cluster, c.policy): c for c in made.problem.configurations}
    unplaced = {u.workload: u for u in made.unplaced}
    return tuple(
        Evidence(
            demand,
            tuple(
                (d, books[demand.intent].terms(demand, configurations[d.cluster, d.policy]))
                for d in made.decisions
                if d.workload == demand.workload
            ),
            unplaced.get(demand.workload),
        )
        for demand in demands
        if not wanted or str(demand.workload) in wanted or demand.workload.name in wanted
    )
