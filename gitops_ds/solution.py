"""`Solution`: which pairs are chosen, how good that is, and the independent check of it.

Owns the answer's shape, its value in exact whole numbers, and `check_solution`, which states every rule of the problem
once more, in plain Python on the problem's sets: no matrix, no tolerance, nothing of the solver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gitops_ds.problem.model import Pair, Problem, SpreadRule, State


class Status(StrEnum):
    """How far the solver got. There is a plan under every one of them."""

    OPTIMAL = "optimal"
    """Proved: no plan is better by the written order of objectives."""
    WITHIN_GAP = "within-gap"
    """Good enough by the intent's own gap."""
    SEARCHED = "searched"
    """A fixed search ended without proof: the same input gives the same plan, within the proven gap."""
    LIMIT = "limit"
    """The best plan that was found before a limit struck."""


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage of the objective: the plan's value and a proven bound that no plan exceeds."""

    name: str
    value: int
    bound: float

    @property
    def gap(self) -> float:
        """(bound - value) relative to the value, 0 where they meet."""
        return max(self.bound - self.value, 0.0) / max(abs(self.value), 1)


@dataclass(frozen=True, slots=True)
class Solution:
    """The chosen pairs, sorted by workload and configuration, and what is known of their quality."""

    pairs: tuple[Pair, ...]
    status: Status
    stages: tuple[StageResult, ...] = ()

    def configuration_of(self, problem: Problem) -> dict[int, int]:
        """The configuration of each cluster that something runs on."""
        return {int(problem.cluster_of[p.configuration]): p.configuration for p in self.pairs}


@dataclass(frozen=True, slots=True)
class Value:
    """What a plan is worth: placed copies, the plain sum of scores, costs of changes (thousandths), changes."""

    placed: int
    score: int
    cost: int
    changes: int


def value_of(problem: Problem, solution: Solution) -> Value:
    """The value of `solution`, summed from the problem's data."""
    moves = list(_moves(problem, solution.pairs))
    changed = list(_reconfigured(problem, solution))
    cost = sum(int(problem.move_cost[w]) for w in moves) + sum(int(problem.reconfigure_cost[c]) for c in changed)
    score = sum(int(problem.score[p.workload, p.configuration]) for p in solution.pairs)
    return Value(len(solution.pairs), score, cost, len(moves) + len(changed))


def _moves(problem: Problem, pairs: Sequence[Pair]) -> Iterator[int]:
    """The workload of each pair on a cluster where git does not have it, for workloads that git has somewhere."""
    for w, g in pairs:
        demand, cluster = problem.demands[w], problem.configurations[g].cluster
        if any(c in problem.clusters for c in demand.incumbents) and cluster not in demand.incumbents:
            yield w


def _reconfigured(problem: Problem, solution: Solution) -> Iterator[int]:
    for c, g in sorted(solution.configuration_of(problem).items()):
        now = int(problem.configured[c])
        if now >= 0 and now != g and problem.configurations[g].policy is not None:
            yield c


def check_solution(problem: Problem, solution: Solution) -> tuple[str, ...]:
    """Every rule of the problem that `solution` breaks, in words; () for a plan that may be used."""
    workloads, configurations = range(len(problem.demands)), range(len(problem.configurations))
    strange = [p for p in solution.pairs if p.workload not in workloads or p.configuration not in configurations]
    if strange:
        return tuple(f"pair {w},{g} names nothing" for w, g in strange)
    return tuple(line for rule in _RULES for line in rule(problem, solution.pairs))


def _pairs_are_valid(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    if list(pairs) != sorted(set(pairs)):
        yield "the pairs are not sorted, or one stands twice"
    for w, g in pairs:
        if problem.state[w, g] != State.ELIGIBLE:
            yield f"{_who(problem, w)} may not run on {_where(problem, g)}: {State(problem.state[w, g]).name}"


def _one_configuration(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    used: dict[str, set[int]] = {}
    for _, g in pairs:
        used.setdefault(problem.configurations[g].cluster, set()).add(g)
    for cluster, several in sorted(used.items()):
        if len(several) > 1:
            yield f"{cluster} has {len(several)} configurations"


def _copies(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    places: dict[int, list[str]] = {}
    for w, g in pairs:
        places.setdefault(w, []).append(problem.configurations[g].cluster)
    for w, clusters in sorted(places.items()):
        demand = problem.demands[w]
        if len(clusters) > demand.copies:
            yield f"{_who(problem, w)} has {len(clusters)} copies, wanted {demand.copies}"
        if demand.min_copies is not None and len(clusters) < demand.min_copies:
            yield f"{_who(problem, w)} has {len(clusters)} copies, wanted at least {demand.min_copies} or none"
        if len(set(clusters)) < len(clusters):
            yield f"{_who(problem, w)} has two copies on one cluster"


def _capacity(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    used: Counter[tuple[int, int]] = Counter()
    for w, g in pairs:
        for k in range(len(problem.kinds)):
            used[g, k] += int(problem.request[(w, problem.variant[g], k) if problem.differs else (w, k)])
    for (g, k), amount in sorted(used.items()):
        supply = int(problem.supply[g, k])
        if amount > supply:
            yield f"{_where(problem, g)}: {amount} {problem.kinds[k]} of {supply} (in units of {problem.unit[k]})"


def _clusters_of(problem: Problem, pairs: Sequence[Pair], workload: int) -> set[str]:
    return {problem.configurations[g].cluster for w, g in pairs if w == workload}


def _together(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    for group in problem.together:
        places = [_clusters_of(problem, pairs, w) for w in group]
        if any(p != places[0] for p in places):
            yield f"{', '.join(_who(problem, w) for w in group)} are not on the same clusters"


def _apart(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    for group in problem.apart:
        counts = Counter(c for w in group for c in _clusters_of(problem, pairs, w))
        for cluster, count in sorted(counts.items()):
            if count > 1:
                yield f"{cluster} holds {count} of {', '.join(_who(problem, w) for w in group)}"


def _spread(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    for rule in problem.spreads:
        if not rule.hard:
            continue
        places = _clusters_of(problem, pairs, rule.workload)
        counts = [len(places & {problem.clusters[c] for c in members}) for _, members in rule.groups]
        if sum(counts) < len(places):
            yield f"{_who(problem, rule.workload)} is on a cluster without {rule.key}"
        if counts and max(counts) - min(counts) > rule.max_skew:
            yield f"{_who(problem, rule.workload)} is uneven over {rule.key}: {counts}"


def _few_moves(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    eligible = int(State.ELIGIBLE)
    for limit in problem.move_limits:
        members = set(limit.workloads)
        made = sum(w in members for w in _moves(problem, pairs))
        forced = new = 0
        for w in limit.workloads:
            demand = problem.demands[w]
            before = set(demand.incumbents)
            states = problem.state[w].tolist()
            open_here = {
                c.cluster for state, c in zip(states, problem.configurations, strict=True) if state == eligible
            }
            if open_here and before & set(problem.clusters):
                forced += max(min(len(before), demand.copies) - len(before & open_here), 0)
                new += max(demand.copies - len(before), 0)
        allowed = max(limit.most, forced) + new
        if made > allowed:
            owner = problem.demands[limit.workloads[0]].intent
            yield f"{made} copies of {owner} move, and {allowed} may"


def _required(problem: Problem, pairs: Sequence[Pair]) -> Iterator[str]:
    for pair in problem.required:
        if pair not in pairs:
            yield f"{_who(problem, pair.workload)} is not on {_where(problem, pair.configuration)}, where it must be"


_RULES = (
    _pairs_are_valid,
    _one_configuration,
    _copies,
    _capacity,
    _together,
    _apart,
    _spread,
    _few_moves,
    _required,
)


def excess(problem: Problem, rule: SpreadRule, clusters: Collection[str]) -> int:
    """By how much a plan with the rule's workload on these clusters breaks a spread rule: 0 where it keeps it.

    That is what two groups differ by beyond the skew, and each copy on a cluster that is in no group.
    """
    counts = [sum(problem.clusters[c] in clusters for c in members) for _, members in rule.groups]
    uneven = max(counts, default=0) - min(counts, default=0) - rule.max_skew
    return max(uneven, 0) + len(clusters) - sum(counts)


def _who(problem: Problem, workload: int) -> str:
    return str(problem.demands[workload].workload)


def _where(problem: Problem, configuration: int) -> str:
    found = problem.configurations[configuration]
    return f"{found.cluster} under {found.policy.name if found.policy else 'no policy'}"
