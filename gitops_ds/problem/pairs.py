"""Each workload on each configuration, judged: its blended score, or the first reason why it may not be used.

Owns the order of the reasons that data alone can give: not a candidate, no score, stale, taint, selector. Capacity is
marked afterwards, from the arrays. Owns no look-up of scores (`scores.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from gitops_ds.errors import Fault, InputError, raise_faults
from gitops_ds.intent.placement import PlacedWorkload, Toleration
from gitops_ds.inventory import Cluster, Inventory, Taint
from gitops_ds.problem.model import Configuration, Demand, Incumbent, Ints, State, States
from gitops_ds.problem.resolve import Resolved, allows
from gitops_ds.problem.scores import ScoreBook, blend

MOST_MISSING = 50
"""How many single missing scores the warnings list before they count the rest."""


def judge_pairs(
    resolved: Sequence[Resolved],
    demands: Sequence[Demand],
    configurations: Sequence[Configuration],
    *,
    inventory: Inventory,
    instant: datetime,
    incumbent: Incumbent,
) -> tuple[Ints, States, list[str]]:
    """W x G scores in thousandths of a point, W x G states, and what a reader should know about the data.

    Raises:
        InputError: a score is missing or stale, and the intent says that this fails the plan.
    """
    score = np.zeros((len(demands), len(configurations)), dtype=np.int64)
    state = np.full(score.shape, State.NOT_A_CANDIDATE, dtype=np.uint8)
    warnings: list[str] = []
    found = _Findings()
    for one in resolved:
        book = ScoreBook(inventory, one.loaded.intent.spec.preference, instant)
        judge = _Judge(one, book, inventory, incumbent, found)
        listed = _listed(one)
        columns = [g for g, c in enumerate(configurations) if listed(c)]
        for w, demand in enumerate(demands):
            if demand.intent == one.loaded.id:
                for g in columns:
                    state[w, g], score[w, g] = judge.pair(demand, configurations[g])
        warnings += book.notes(sorted(one.configurations))
    raise_faults(InputError, found.faults)
    return score, state, [*warnings, *found.warnings()]


@dataclass
class _Findings:
    """What single pairs bring to light, gathered over all of them."""

    missing: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)

    def warnings(self) -> Iterator[str]:
        yield from sorted(self.missing)[:MOST_MISSING]
        if len(self.missing) > MOST_MISSING:
            yield f"no score for {len(self.missing) - MOST_MISSING} more dimensions"


@dataclass(frozen=True)
class _Judge:
    resolved: Resolved
    book: ScoreBook
    inventory: Inventory
    incumbent: Incumbent
    found: _Findings

    def pair(self, demand: Demand, configuration: Configuration) -> tuple[State, int]:
        """State and blended score of one pair. The score is kept with a reason too: it shows what is forgone."""
        loaded = self.resolved.loaded
        preference = loaded.intent.spec.preference
        terms = self.book.terms(demand, configuration)
        _, placed = self.resolved.demands[demand.workload]
        cluster = self.inventory.cluster[configuration.cluster]
        fit = _fit(placed, cluster, here=cluster.name in demand.incumbents)
        lost = [] if self._is_optional(configuration) else [t for t in terms if t.value is None]
        said = [self.book.dimension_note(t) for t in lost]
        self.found.missing.update(said)
        if preference.missing == "fail" and fit is State.ELIGIBLE:
            at = loaded.at("spec", "preference", "missing")
            self.found.faults += [Fault(what, at, "the intent says missing: fail") for what in said]
        stale = [t for t in terms if t.stale]
        if preference.stale == "fail" and fit is State.ELIGIBLE:
            at = loaded.at("spec", "preference", "stale")
            why = "the intent says stale: fail"
            self.found.faults += [Fault(self.book.stale_note(t), at, why) for t in stale]
        blended = blend(terms, zero=preference.missing == "zero")
        if blended is None:
            return State.NO_SCORE, 0
        if stale and not (preference.stale == "keep" and _is_incumbent(demand, configuration, self.incumbent)):
            return State.STALE, blended
        return fit, blended

    def _is_optional(self, configuration: Configuration) -> bool:
        """Whether this is a cluster left as it is that also has policies: no scorer is asked to score it so."""
        several = self.resolved.configurations[configuration.cluster]
        return configuration.policy is None and any(c.policy is not None for c in several)


def _listed(resolved: Resolved) -> Callable[[Configuration], bool]:
    """Whether an intent lets its workloads run under a configuration: one of its own, or any where it lists none."""
    own = {(c.cluster, c.policy) for several in resolved.configurations.values() for c in several}
    free = {name for name, several in resolved.configurations.items() if all(c.policy is None for c in several)}
    return lambda c: (c.cluster, c.policy) in own or c.cluster in free


def _is_incumbent(demand: Demand, configuration: Configuration, incumbent: Incumbent) -> bool:
    cluster, policy = configuration.cluster, configuration.policy
    return cluster in demand.incumbents and policy in (None, incumbent.policies.get(cluster))


def _fit(placed: PlacedWorkload, cluster: Cluster, *, here: bool) -> State:
    """Whether cluster and workload go together; `here`: the workload is on it now, so that NoSelectIfNew passes."""
    if not cluster.accepted or cluster.available is False:
        return State.TAINT
    if any(repels(taint, placed.tolerations, here=here) for taint in cluster.taints):
        return State.TAINT
    return State.ELIGIBLE if allows(placed, cluster) else State.SELECTOR


def repels(taint: Taint, tolerations: Sequence[Toleration], *, here: bool) -> bool:
    """Whether a taint keeps a workload with these tolerations from a cluster; `here`: it is on it now."""
    if taint.effect == "PreferNoSelect" or (taint.effect == "NoSelectIfNew" and here):
        return False
    return not any(_tolerates(t, taint) for t in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """OCM's rule; a toleration that ends after some seconds does not count, for the plan is to last."""
    if toleration.tolerationSeconds is not None or toleration.effect not in (None, taint.effect):
        return False
    if toleration.key not in (None, taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.value or "") == taint.value
