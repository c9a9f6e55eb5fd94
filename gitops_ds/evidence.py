"""`Evidence`: what one workload's decision rests on, down to the single score, gathered on demand.

Owns the gathering, of what is known and of what takes solving again (`whatif/`). Owns no wording (`decisions.py`), no
layout (`report/`) and no solver: that is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from gitops_ds.decisions import Decision, Unplaced
from gitops_ds.errors import Fault, UsageError
from gitops_ds.inventory import Inventory
from gitops_ds.problem.model import Demand, Problem
from gitops_ds.problem.obstacles import Obstacles
from gitops_ds.problem.scores import ScoreBook, Term
from gitops_ds.reconcile import Plan, Solve
from gitops_ds.whatif import LeastCapacity, Loss, Weigh, losses, more_capacity, relaxations

MOST_HINTS = 5
"""How many workloads without a place a plan gets hints for."""
MOST_RELAXED = 20
"""How many workloads without a place are solved for again."""
Tell = Callable[[str], None]
"""Told what is being worked on."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A workload's demand, its decisions each with the score terms, and what is said where copies have no place.

    `losses` are what its alternatives would cost the plan, best scores first; None where that was not asked for.
    """

    demand: Demand
    decisions: tuple[tuple[Decision, tuple[Term, ...]], ...]
    unplaced: Unplaced | None
    losses: tuple[Loss, ...] | None = None


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


def with_losses(
    several: Sequence[Evidence], made: Plan, solve: Solve, tell: Tell, weigh: Weigh | None = None
) -> Iterator[Evidence]:
    """The evidence with what each alternative would cost the whole plan, solved for one by one, or weighed."""
    number = {d.workload: w for w, d in enumerate(made.problem.demands)}
    for one in several:
        name = one.demand.workload.name
        found: list[Loss] = []
        tell(f"{name}: what its alternatives would cost")
        for loss in losses(made.problem, made.solution, number[one.demand.workload], solve, weigh):
            found.append(loss)
            tell(f"{name}: what its alternatives would cost, {len(found)} solved")
        yield replace(one, losses=tuple(found))


def with_relaxations(
    several: Sequence[Evidence],
    made: Plan,
    inventory: Inventory,
    instant: datetime,
    *,
    solve: Solve,
    least_capacity: LeastCapacity,
    tell: Tell,
) -> Iterator[Evidence]:
    """The evidence with the smallest changes that would give each workload without a place one, proved by solving."""
    number = {d.workload: w for w, d in enumerate(made.problem.demands)}
    asked = 0
    for one in several:
        if one.unplaced is None or asked == MOST_RELAXED:
            yield one
            continue
        asked += 1
        tell(f"{one.demand.workload.name}: what would give it a place")
        w = number[one.demand.workload]
        problem = _free(made, w)
        found = relaxations(
            problem,
            made.solution,
            w,
            solve=solve,
            least_capacity=least_capacity,
            obstacles=Obstacles(problem, inventory, instant),
        )
        yield replace(one, unplaced=replace(one.unplaced, relaxations=tuple(r.text for r in found)))


def hinted(made: Plan, least_capacity: LeastCapacity) -> Plan:
    """The plan with what capacity would make room for the first workloads without a place: cheap, and not proved."""
    number = {d.workload: w for w, d in enumerate(made.problem.demands)}
    hints = {
        one.workload: more_capacity(_free(made, w), made.solution, w, least_capacity)
        for one in islice(made.unplaced, MOST_HINTS)
        for w in (number[one.workload],)
    }
    return replace(made, unplaced=tuple(replace(u, relaxations=hints.get(u.workload, ())) for u in made.unplaced))


def _free(made: Plan, workload: int) -> Problem:
    """The plan's problem, in which the workload may go elsewhere even if the plan keeps it where it is."""
    if workload not in made.kept:
        return made.problem
    return made.whole.keeping({w: places for w, places in made.kept.items() if w != workload})
