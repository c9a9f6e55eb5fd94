"""What the data says against a workload on a cluster, all of it, as things that somebody could change.

A pair's `State` is the first reason against it; who wants to lift it has to know the others too. Owns the obstacles
and whom each concerns. Owns no wording and no solving.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gitops_ds.ids import ClusterName, IntentId
from gitops_ds.intent.placement import PlacedWorkload
from gitops_ds.inventory import Cluster, Inventory
from gitops_ds.problem.model import Problem, State
from gitops_ds.problem.pairs import repels
from gitops_ds.problem.resolve import allows, names
from gitops_ds.problem.scores import ScoreBook, blend

OFFLINE = frozenset(f"cluster.open-cluster-management.io/{word}" for word in ("unreachable", "unavailable"))
"""Taints that OCM itself gives a cluster that is not available, and takes back when it is."""


@dataclass(frozen=True, slots=True, order=True)
class Obstacle:
    """One thing to change. Whoever changes it changes it for every pair that has the same obstacle.

    Attributes:
        code: policy (the intent does not list it), score (there is none), stale, unaccepted, unavailable, taint
            (its workload does not tolerate it), selector (pin, allow or avoid excludes the cluster).
        owner: the workload or intent in whose text the change is made; "" for facts of the hub.
        cluster: where; "" for a taint, since a toleration counts everywhere.
        detail: the policy, the score's dimension, the taint's key, or the words that exclude the cluster.
        score: the AddOnPlacementScore, of a score that is missing or stale.
    """

    code: str
    owner: str = ""
    cluster: str = ""
    detail: str = ""
    score: str = ""


def barriers(problem: Problem, workload: int, cluster: ClusterName) -> tuple[Obstacle, ...]:
    """What keeps a workload off a cluster whatever its configuration and its scores; () where nothing does."""
    demand = problem.demands[workload]
    placed, facts = problem.asked.get(demand.workload), problem.facts.get(cluster)
    if placed is None or facts is None:
        return ()
    here = cluster in demand.incumbents
    return tuple(sorted(set(_barriers(str(demand.workload), placed, facts, here=here))))


def _barriers(owner: str, placed: PlacedWorkload, facts: Cluster, *, here: bool) -> Iterator[Obstacle]:
    if not facts.accepted:
        yield Obstacle("unaccepted", cluster=facts.name)
    if facts.available is False:
        yield Obstacle("unavailable", cluster=facts.name)
    for taint in facts.taints:
        goes_by_itself = facts.available is False and taint.key in OFFLINE
        if not goes_by_itself and repels(taint, placed.tolerations, here=here):
            yield Obstacle("taint", owner, detail=taint.key)
    if not allows(placed, facts):
        words = [
            *(["pin"] if placed.pin not in (None, facts.name) else []),
            *(["allow"] if placed.allow and not names(placed.allow, facts) else []),
            *(["avoid"] if names(placed.avoid, facts) else []),
        ]
        yield Obstacle("selector", owner, facts.name, " and ".join(words))


class Obstacles:
    """The obstacles of every pair of one problem, looked up when asked for.

    Args:
        problem: the problem, of which the states are read.
        inventory: the facts that it was built from.
        instant: when the scores are judged.
    """

    def __init__(self, problem: Problem, inventory: Inventory, instant: datetime) -> None:
        self._problem = problem
        self._books = {
            key: ScoreBook(inventory, loaded.intent.spec.preference, instant) for key, loaded in problem.intents.items()
        }
        self._devices = dict[tuple[IntentId, ClusterName], set[str]]()
        for w, demand in enumerate(problem.demands):
            for g, c in enumerate(problem.configurations):
                if problem.state[w, g] != State.NOT_A_CANDIDATE:
                    self._devices.setdefault((demand.intent, c.cluster), set()).add(c.device)
        self._known = dict[tuple[int, int], tuple[Obstacle, ...] | None]()

    def against(self, workload: int, configuration: int) -> tuple[Obstacle, ...] | None:
        """All that the data says against the pair, sorted; () where it may be used.

        None for a pair that no such change can open: what is kept, or held for what is kept, stays so.
        """
        key = workload, configuration
        if key not in self._known:
            self._known[key] = self._find(workload, configuration)
        return self._known[key]

    def score(self, workload: int, configuration: int) -> int:
        """The blended score of the pair in thousandths of a point, with 0 for each score that is missing."""
        book = self._books[self._problem.demands[workload].intent]
        terms = book.terms(self._problem.demands[workload], self._problem.configurations[configuration])
        return blend(terms, zero=True) or 0

    def _find(self, w: int, g: int) -> tuple[Obstacle, ...] | None:
        problem = self._problem
        state = State(int(problem.state[w, g]))
        if state in (State.HELD, State.KEPT):
            return None
        if state in (State.ELIGIBLE, State.CAPACITY):
            return ()
        found = {*self._scores(w, g), *barriers(problem, w, problem.configurations[g].cluster)}
        if state == State.NOT_A_CANDIDATE:
            listing = self._listing(w, g)
            if listing is None:
                return None
            found.add(listing)
        return tuple(sorted(found))

    def _listing(self, w: int, g: int) -> Obstacle | None:
        """That the intent would have to list the policy; None where it could not."""
        problem = self._problem
        demand, where = problem.demands[w], problem.configurations[g]
        known = where.cluster in problem.candidates.get(demand.intent, ())
        own_namespace = where.policy is not None and where.policy.namespace == demand.intent.namespace
        doubled = where.device in self._devices.get((demand.intent, where.cluster), ())
        if where.policy is None or not (known and own_namespace) or doubled:
            return None
        return Obstacle("policy", str(demand.intent), where.cluster, where.policy.name)

    def _scores(self, w: int, g: int) -> Iterator[Obstacle]:
        problem = self._problem
        demand, where = problem.demands[w], problem.configurations[g]
        book = self._books[demand.intent]
        preference = problem.intents[demand.intent].intent.spec.preference
        c = int(problem.cluster_of[g])
        stays = bool(problem.incumbent[w, c]) and (where.policy is None or int(problem.configured[c]) == g)
        for term in book.terms(demand, where):
            if term.value is None and preference.missing != "zero":
                yield Obstacle("score", "", term.cluster, term.dimension, term.score)
            if book.looked_in_stale(term) and not (preference.stale == "keep" and stays):
                yield Obstacle("stale", "", term.cluster, "", term.score)
