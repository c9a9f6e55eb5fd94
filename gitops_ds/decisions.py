"""`Decision`: the solution said in names, with the reasons for each choice and against each other one.

Owns the wording of reasons, plain ones first. Owns neither the solving (`solver.py`) nor the layout on a screen
(`report/`). What a forced move would cost the whole plan needs a second solve: see `whatif/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from gitops_ds.ids import ClusterName, Device, IntentId, PolicyId, ResourceKind, WorkloadId
from gitops_ds.problem.model import POINT, Problem, State
from gitops_ds.problem.obstacles import Obstacle, barriers
from gitops_ds.quantity import format_quantity
from gitops_ds.solution import Solution, excess

MOST_ALTERNATIVES = 24
"""How many alternatives of one workload are kept; where there are more, the ones with the best scores."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A configuration that a workload did not get: the score it has there (None without one) and the first reason.

    `code` is one word for machines: no-score, stale, taint, selector, capacity, configuration, apart, together,
    spread, copies, moves, kept, worse, equal.
    """

    cluster: ClusterName
    policy: PolicyId | None
    device: Device
    score: int | None
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One workload on one cluster under one policy (None: the cluster as it is). `score` in thousandths of a point."""

    workload: WorkloadId
    intent: IntentId
    cluster: ClusterName
    policy: PolicyId | None
    device: Device
    score: int
    reason: str
    alternatives: tuple[Alternative, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A workload that has fewer copies in the plan than are wanted, and what keeps the rest from a place.

    `short` is what the best cluster lacks, by resource kind, where capacity is the reason; `kept` are the clusters
    that it stays on because git has it there; `relaxations` what would have to change for it to get its place, as far
    as that was asked for.
    """

    workload: WorkloadId
    intent: IntentId
    missing: int
    reason: str
    short: Mapping[ResourceKind, Fraction]
    kept: tuple[ClusterName, ...]
    alternatives: tuple[Alternative, ...] = field(default=(), compare=False)
    relaxations: tuple[str, ...] = field(default=(), compare=False)


_BETTER_WITHOUT = "the plan is better without it"


class Reasons:
    """The reasons of one plan.

    Args:
        problem: the problem that was solved, but with all that each configuration supplies.
        solution: its solution.
        kept: the workloads that stay where git has them, with the configurations that they run under.
    """

    def __init__(self, problem: Problem, solution: Solution, kept: Mapping[int, tuple[int, ...]]) -> None:
        self._problem = problem
        self._kept = kept
        self._chosen = {**solution.configuration_of(problem)}
        self._on: dict[int, list[int]] = {}
        for w, g in solution.pairs:
            self._on.setdefault(g, []).append(w)
        for w, several in sorted(kept.items()):
            for g in several:
                self._chosen.setdefault(int(problem.cluster_of[g]), g)
                self._on.setdefault(g, []).append(w)
        self._pairs = {w: [g for v, g in solution.pairs if v == w] for w, _ in solution.pairs}

    def decisions(self) -> tuple[Decision, ...]:
        """Every chosen pair, sorted by workload and cluster."""
        return tuple(self._decision(w, g) for w in sorted(self._pairs) for g in self._pairs[w])

    def unplaced(self, workload: int, kept: tuple[ClusterName, ...]) -> Unplaced:
        """What is said of a workload that has fewer copies than it wants."""
        demand = self._problem.demands[workload]
        missing = demand.wanted - len(self._pairs.get(workload, ()))
        against = tuple(self._alternatives(workload))
        least = self._least_short(workload)
        nearest = [self._problem.configurations[least[0]]] if least else []
        spots = {(c.cluster, c.policy) for c in nearest}
        reason = _main_reason([a for a in against if (a.cluster, a.policy) in spots] or against)
        short = least[1] if least else {}
        return Unplaced(demand.workload, demand.intent, missing, reason, short, kept, _capped(against))

    def _decision(self, w: int, g: int) -> Decision:
        problem = self._problem
        demand, configuration = problem.demands[w], problem.configurations[g]
        against = tuple(self._alternatives(w))
        score = int(problem.score[w, g])
        return Decision(
            demand.workload,
            demand.intent,
            configuration.cluster,
            configuration.policy,
            configuration.device,
            score,
            _why(score, against),
            _capped(against),
        )

    def _alternatives(self, w: int) -> Iterator[Alternative]:
        problem = self._problem
        for g, configuration in enumerate(problem.configurations):
            if g in self._pairs.get(w, ()) or problem.state[w, g] == State.NOT_A_CANDIDATE:
                continue
            state = State(int(problem.state[w, g]))
            code, reason = self._plain(w, g, state) if state != State.ELIGIBLE else self._in_the_plan(w, g)
            score = None if state == State.NO_SCORE else int(problem.score[w, g])
            yield Alternative(configuration.cluster, configuration.policy, configuration.device, score, code, reason)

    def _plain(self, w: int, g: int, state: State) -> tuple[str, str]:
        """The reason that the data alone gives, whatever the rest of the plan."""
        cluster = self._problem.configurations[g].cluster
        if state == State.CAPACITY:
            return "capacity", self._too_big(w, g) or self._taken(w, g) or "too small"
        if state == State.HELD:
            return self._held(w, g)
        if state in (State.TAINT, State.SELECTOR):
            code = "taint" if state == State.TAINT else "selector"
            return code, " and ".join(_barred(one, cluster) for one in barriers(self._problem, w, cluster)) or code
        plain = {State.NO_SCORE: ("no-score", "has no score"), State.STALE: ("stale", "its score is stale")}
        return plain.get(state, ("kept", "it is kept where it is"))

    def _held(self, w: int, g: int) -> tuple[str, str]:
        """What a workload that is kept holds against a pair: its configuration, or that they are apart or together."""
        problem = self._problem
        c = int(problem.cluster_of[g])
        for v, places in sorted(self._kept.items()):
            name, here = problem.demands[v].workload.name, [h for h in places if problem.cluster_of[h] == c]
            if here and any(v in group and w in group for group in problem.apart):
                return "apart", f"it must be apart from {name}, which stays on {problem.clusters[c]}"
            if not here and any(v in group and w in group for group in problem.together):
                stays = ", ".join(dict.fromkeys(problem.configurations[h].cluster for h in places))
                return "together", f"it must be with {name}, which stays {f'on {stays}' if stays else 'where it is'}"
        return "configuration", f"{problem.clusters[c]} keeps its configuration{self._for_whom(self._chosen.get(c), w)}"

    def _in_the_plan(self, w: int, g: int) -> tuple[str, str]:
        """The reason that the plan gives against a pair that the data would allow."""
        problem = self._problem
        c = int(problem.cluster_of[g])
        chosen = self._chosen.get(c)
        if chosen is not None and chosen != g and [v for v in self._on.get(chosen, ()) if v != w]:
            device = problem.configurations[chosen].device or "it is"
            return "configuration", f"{problem.clusters[c]} is configured as {device}{self._for_whom(chosen, w)}"
        taken = self._taken(w, g)
        if taken:
            return "capacity", taken
        for group in problem.apart:
            rivals = [v for v in self._on.get(g, ()) if v != w and v in group and w in group]
            if rivals:
                return "apart", f"it must be apart from {problem.demands[rivals[0]].workload.name}"
        if any(w in group for group in problem.together):
            return "together", "the workloads that it runs with are elsewhere"
        if any(rule.workload == w and rule.hard for rule in problem.spreads):
            return "spread", "its copies would not be evenly spread"
        return self._worse(w, g)

    def _worse(self, w: int, g: int) -> tuple[str, str]:
        demand = self._problem.demands[w]
        mine = self._pairs.get(w, [])
        if not mine:
            few = demand.min_copies or 1
            return ("copies", f"fewer than {few} copies would have a place") if few > 1 else ("worse", _BETTER_WITHOUT)
        least = min(mine, key=lambda h: self._net(w, h))
        loss = self._net(w, least) - self._net(w, g)
        if loss > 0:
            return "worse", f"worse by {format_points(loss)}{self._costs(w, least, g, loss)}"
        uneven = self._less_even(w, g)
        if loss == 0 and uneven:
            return "spread", f"its copies would be less even over {uneven}"
        if self._is_one_move_too_many(w, g):
            return "moves", "maxMoves lets no more copies move"
        return ("equal", "equal: names decide") if loss == 0 else ("worse", "worse in total")

    def _costs(self, w: int, chosen: int, other: int, loss: int) -> str:
        """What the cost of changes has to do with a loss; "" where it has nothing to do with it."""
        cost = loss - int(self._problem.score[w, chosen] - self._problem.score[w, other])
        if cost <= 0:
            return f" ({format_points(-cost)} saved in the cost of changes counted)" if cost else ""
        if cost > loss:
            return f" ({format_points(cost - loss)} more in score, {format_points(cost)} in the cost of changes)"
        return f" ({format_points(cost)} of it the cost of changes)"

    def _less_even(self, w: int, g: int) -> str:
        """The key of a soft rule that a copy here, in place of any of the workload's own, breaks more; "" for none."""
        problem = self._problem
        now = [problem.configurations[h].cluster for h in self._pairs[w]]
        moved = [[problem.configurations[g].cluster, *now[:i], *now[i + 1 :]] for i in range(len(now))]
        for rule in problem.spreads:
            if rule.workload == w and not rule.hard:
                least = min(excess(problem, rule, set(one)) for one in moved)
                if least > excess(problem, rule, set(now)):
                    return rule.key
        return ""

    def _is_one_move_too_many(self, w: int, g: int) -> bool:
        problem = self._problem
        if not problem.running[w] or problem.incumbent[w, problem.cluster_of[g]]:
            return False
        for limit in problem.move_limits:
            if w in limit.workloads:
                made = (
                    not problem.incumbent[v, problem.cluster_of[h]]
                    for v in limit.workloads
                    for h in self._pairs.get(v, ())
                    if problem.running[v]
                )
                return sum(made) >= problem.may_move(limit)
        return False

    def _net(self, w: int, g: int) -> int:
        """The pair's score less what changing to it costs."""
        problem = self._problem
        c = int(problem.cluster_of[g])
        moves = bool(problem.incumbent[w].any()) and not bool(problem.incumbent[w, c])
        now = int(problem.configured[c])
        changes = now >= 0 and now != g and problem.configurations[g].policy is not None
        cost = int(problem.move_cost[w]) * moves + int(problem.reconfigure_cost[c]) * changes
        return int(problem.score[w, g]) - cost

    def _too_big(self, w: int, g: int) -> str:
        """What the configuration lacks for the workload even when nothing else runs there; empty if nothing."""
        problem = self._problem
        for k, kind in enumerate(problem.kinds):
            need, have = int(problem.need(w, g)[k]), int(problem.supply[g, k])
            if need > have:
                lacking = format_quantity(problem.amount(k, need - have))
                asked, there = (format_quantity(problem.amount(k, n)) for n in (need, have))
                return f"{kind} short by {lacking}: {asked} requested, {there} supplied"
        return ""

    def _taken(self, w: int, g: int) -> str:
        """What the configuration lacks for the workload beside what runs there in the plan; empty if nothing."""
        problem = self._problem
        for k, kind in enumerate(problem.kinds):
            lacking = int(problem.need(w, g)[k]) - self._left(w, g, k)
            if lacking > 0:
                amount = format_quantity(problem.amount(k, lacking))
                return f"{kind} short by {amount}{self._for_whom(g, w, 'taken by')}"
        return ""

    def _left(self, w: int, g: int, k: int) -> int:
        """What the others leave of a kind. One that is kept may need more by now than there is: no less than 0."""
        others = sum(int(self._problem.need(v, g)[k]) for v in self._on.get(g, ()) if v != w)
        return max(int(self._problem.supply[g, k]) - others, 0)

    def _for_whom(self, g: int | None, w: int, word: str = "for") -> str:
        names = [self._problem.demands[v].workload.name for v in self._on.get(-1 if g is None else g, ()) if v != w]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f", {word} {shown}" if names and word != "for" else f" for {shown}" if names else ""

    def _least_short(self, w: int) -> tuple[int, dict[ResourceKind, Fraction]] | None:
        """The configuration that lacks least of all that lack something, and what; None where none does."""
        problem = self._problem
        best: tuple[Fraction, int, dict[ResourceKind, Fraction]] | None = None
        for g in range(len(problem.configurations)):
            if problem.state[w, g] not in (State.ELIGIBLE, State.CAPACITY) or g in self._pairs.get(w, ()):
                continue
            alone = bool(self._too_big(w, g))
            short, weight = {}, Fraction(0)
            for k, kind in enumerate(problem.kinds):
                have, need = int(problem.supply[g, k]) if alone else self._left(w, g, k), int(problem.need(w, g)[k])
                if need > have:
                    short[kind] = problem.amount(k, need - have)
                    weight += Fraction(need - have, need)
            if short and (best is None or weight < best[0]):
                best = weight, g, short
        return best[1:] if best else None


def format_points(thousandths: int) -> str:
    """Score points as people write them: 60, -5, 12.5."""
    whole = Fraction(thousandths, POINT)
    return str(whole) if whole.denominator == 1 else f"{float(whole):.3f}".rstrip("0")


def points(thousandths: int) -> int | float:
    """Score points as a number for JSON: whole where they are."""
    return thousandths // POINT if thousandths % POINT == 0 else thousandths / POINT


_PLAIN_FIRST = ("capacity", "configuration", "apart", "together", "spread", "taint", "selector", "stale", "no-score")


def _barred(one: Obstacle, cluster: ClusterName) -> str:
    """What keeps a workload off a cluster, in words."""
    return {
        "unaccepted": f"{cluster} is not accepted by the hub",
        "unavailable": f"{cluster} is unavailable",
        "taint": f"the taint {one.detail} of {cluster} is not tolerated",
        "selector": f"{one.detail} exclude{'' if ' and ' in one.detail else 's'} it",
    }[one.code]


def _main_reason(against: Sequence[Alternative]) -> str:
    """One line for a workload without a place: the reason that is nearest to a place, and where it holds."""
    for code in (*_PLAIN_FIRST, "copies", "moves", "kept", "worse", "equal"):
        for one in against:
            if one.code == code:
                return f"{_spot(one)}: {one.reason}"
    return "no cluster is a candidate"


def _spot(one: Alternative) -> str:
    return f"{one.cluster} as {one.device}" if one.device else one.cluster


def _why(score: int, against: Sequence[Alternative]) -> str:
    """Why the chosen pair: how it stands to the best of those that the data would have allowed."""
    open_ = [
        a for a in against if a.score is not None and a.code in ("worse", "equal", "configuration", "capacity", "moves")
    ]
    fitting = [a for a in open_ if not a.reason.endswith("supplied")]
    if not fitting:
        return f"score {format_points(score)}; nothing else is possible"
    best = max(fitting, key=lambda a: (a.score or 0, a.code == "equal"))
    gap = score - (best.score or 0)
    if gap > 0:
        return f"score {format_points(score)}, {format_points(gap)} more than the next best, {_spot(best)}"
    if gap == 0:
        because = ": names decide" if best.code == "equal" else f", but {best.reason}"
        return f"score {format_points(score)}; {_spot(best)} has the same{because}"
    return f"score {format_points(score)}; {_spot(best)} has {format_points(-gap)} more, but {best.reason}"


def _capped(against: Sequence[Alternative]) -> tuple[Alternative, ...]:
    if len(against) <= MOST_ALTERNATIVES:
        return tuple(against)
    best = sorted(against, key=lambda a: (-(a.score if a.score is not None else -(10**9)), a.cluster, str(a.policy)))
    return tuple(sorted(best[:MOST_ALTERNATIVES], key=lambda a: (a.cluster, str(a.policy or ""))))
