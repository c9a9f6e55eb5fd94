"""Problems with relations beyond proof: prices, a plan by column generation or cluster by cluster, blocks improved.

The schedule is that of `search.py`, on another ground: patterns are priced with linking rows too, and the plan that
they leave is trimmed until it keeps every relation. All is fixed by counts and seeds.

Owns this ground, and the trimming. Owns neither the schedule nor the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import floor

import numpy as np

from gitops_ds.packing.model import Ints, Reals
from gitops_ds.problem.model import Pair
from gitops_ds.solver.block import Block, Depth, Limits, Stock, never, plunge, priced
from gitops_ds.solver.master import Pattern
from gitops_ds.solver.related import Related
from gitops_ds.solver.related_duals import Compact, Duals
from gitops_ds.solver.related_master import RelatedMaster
from gitops_ds.solver.related_pricing import RelatedPricer, related_pricer
from gitops_ds.solver.search import SMALL, Bound, Schedule, State, Stop, improve, schedule_of

Chosen = dict[int, Pattern]
MIDDLING = 128
"""So many clusters are still planned by column generation as a whole, with fewer rounds than `SMALL` ones."""
HUGE = 200_000
"""Beyond so many items times clusters, steps and updates are few: each takes a part of a second."""
ROUGH = 10
"""Steps for a first plan there."""
UPDATES = 25
"""How often prices are brought up to date while a plan is made cluster by cluster; a quarter as often beyond `HUGE`."""


class RelatedStock(Stock):
    """What is left: copies of each item, and what the plan so far adds up to in the linking rows."""

    def __init__(self, related: Related, copies: Ints, activity: Ints) -> None:
        super().__init__(copies)
        self.related, self.activity = related, activity.copy()

    def take(self, pattern: Pattern) -> None:
        """A cluster runs the pattern."""
        super().take(pattern)
        self.activity += self.related.activity([pattern])

    def give(self, pattern: Pattern) -> None:
        """It does so no more."""
        super().give(pattern)
        self.activity -= self.related.activity([pattern])

    def allows(self, pattern: Pattern) -> bool:
        """Whether a cluster may take the pattern, as far as rows without auxiliaries say."""
        links = self.related.links
        after = self.activity + self.related.activity([pattern])
        return super().allows(pattern) and not ((after > links.upper) & ~links.tied).any()

    def copy(self) -> RelatedStock:
        """The same, to be changed by itself."""
        return RelatedStock(self.related, self.copies, self.activity)


@dataclass(frozen=True)
class RelatedGround:
    """A problem with relations as the ground of a search."""

    related: Related
    pricer: RelatedPricer

    @property
    def clusters(self) -> tuple[int, ...]:
        """All clusters that something may run on, ascending."""
        return tuple(c for c, several in enumerate(self.related.problem.configurations_of) if several)

    def stock(self) -> RelatedStock:
        """All copies, and no plan."""
        return RelatedStock(self.related, self.related.copies, np.zeros_like(self.related.links.lower))

    def master(self, block: Block) -> RelatedMaster:
        """A master problem without patterns."""
        copies, activity = block.stock.copies, _activity(block)
        return RelatedMaster(self.related, block.clusters, copies, activity, elastic=not block.current)

    def rent(self, block: Block, asked: Ints) -> int:
        """What copies and rows cost, and auxiliaries earn."""
        return self.pricer.rent(asked, np.maximum(block.stock.copies, 0), _activity(block))

    def cluster(self, pattern: Pattern) -> int:
        """The cluster of a pattern."""
        return int(self.related.problem.cluster_of[pattern.configuration])

    def worth(self, block: Block, patterns: Iterable[Pattern]) -> int:
        """The sum of the patterns' values, and what the auxiliaries of the whole plan add to it."""
        several = list(patterns)
        rest = self.related.rest(_activity(block) + self.related.activity(several))
        return sum(map(self.related.worth, several)) + rest


def _activity(block: Block) -> Ints:
    assert isinstance(block.stock, RelatedStock)
    return block.stock.activity


def solve_related(
    related: Related, start: Iterable[Pair], stop: Stop = never, schedule: Schedule | None = None
) -> Iterator[tuple[tuple[Pair, ...], int]]:
    """Ever better plans, each with a proved bound on the value of every plan. None is worse than `start`.

    Yields nothing where no plan is found that keeps every relation, which takes pairs that are required.

    Args:
        related: the problem.
        start: a plan that keeps all rules; it may be empty where nothing is required.
        stop: asked between steps whether to end; only its answer makes two runs differ.
        schedule: how much of everything; by default what fits the size.
    """
    ground = RelatedGround(related, related_pricer(related))
    schedule = schedule or related_schedule(related)
    best = _Best(ground, related.chosen(start))
    bound = sum_of_best(related)
    yield from best.said(bound)
    if stop():
        return
    proved = None
    for chosen, proved in _started(ground, schedule, stop):
        bound = min(bound, proved.value) if proved else bound
        best.offer(chosen)
        yield from best.said(bound)
    if stop() or best.value is None or proved is None:
        return
    state = State({}, ground.stock())
    for c, choice in best.chosen.items():
        state.put(c, choice)
    for chosen in improve(ground, state, proved, value=best.value, schedule=schedule, stop=stop):
        best.offer(chosen)
        yield from best.said(bound)


class _Best:
    """The best plan so far that keeps every rule; `value` is what it is worth, None as long as there is no plan."""

    def __init__(self, ground: RelatedGround, start: Chosen) -> None:
        self.ground, self.chosen = ground, dict[int, Pattern]()
        self.value: int | None = None
        self.offer(start)

    def offer(self, chosen: Chosen) -> None:
        """Take a plan that is better, trimmed until it keeps every relation."""
        related = self.ground.related
        trimmed = trim(related, chosen)
        value = plan_worth(related, trimmed)
        if self.value is not None and value <= self.value:
            return
        if not len(related.broken(related.activity(trimmed.values()))):
            self.chosen, self.value = trimmed, value

    def said(self, bound: int) -> Iterator[tuple[tuple[Pair, ...], int]]:
        """The plan and the bound, if there is a plan."""
        if self.value is not None:
            yield self.ground.related.pairs(self.chosen.values()), bound


def related_schedule(related: Related) -> Schedule:
    """The schedule that fits the size, as for packings, but with larger blocks, each solved out to the unit.

    Relations reach across many clusters, so that small blocks soon find nothing.
    """
    size = related.clusters * related.items
    schedule = replace(schedule_of(size), limits=Limits(nodes=200, gap=0.0), largest=32, eager=True)
    return schedule if size <= HUGE else replace(schedule, steps=80, tighten=0, dives=schedule.dives[:1])


def proved_bound(related: Related, stop: Stop = never) -> tuple[RelatedPricer, Bound]:
    """A bound on every plan with the prices that prove it, and the pricer that they are for."""
    ground = RelatedGround(related, related_pricer(related))
    schedule = related_schedule(related)
    duals = _duals(ground, schedule.steps, stop)
    if len(ground.clusters) > MIDDLING:
        return ground.pricer, tightened(ground.pricer, duals.prices, schedule.tighten, stop)
    block = Block(ground.clusters, ground.stock(), {})
    bound, prices = priced(ground, block, duals.prices, _depth(ground))
    return ground.pricer, Bound(floor(bound + 1e-9), prices)


def _depth(ground: RelatedGround) -> Depth:
    return Depth(smoothing=0.8) if len(ground.clusters) <= SMALL else Depth(30, 2, 0.5, 12, 0.8)


def _duals(ground: RelatedGround, count: int, stop: Stop) -> Duals:
    """Prices of the compact relaxation of the whole after so many steps."""
    none = np.zeros(len(ground.related.links.lower))
    stock = ground.stock()
    compact = Compact(ground.related, np.array(ground.clusters), stock.copies, stock.activity)
    return compact.steps(compact.first_rent(), none, count, stop)


def plan_worth(related: Related, chosen: Mapping[int, Pattern]) -> int:
    """The value of a plan."""
    return sum(map(related.worth, chosen.values())) + related.rest(related.activity(chosen.values()))


def sum_of_best(related: Related) -> int:
    """The value if every item had its best places, none took room, and no relation held."""
    value = np.where(related.allowed, np.maximum(related.value, 0), 0)
    best = np.zeros((related.clusters, related.items), dtype=np.int64)
    np.maximum.at(best, related.problem.cluster_of, value.T)
    ranked = -np.sort(-best, axis=0)
    return int(ranked[np.arange(related.clusters)[:, None] < related.copies].sum())


def _started(ground: RelatedGround, schedule: Schedule, stop: Stop) -> Iterator[tuple[Chosen, Bound | None]]:
    """Plans, and the bound with the prices that prove it as soon as there is one: the last plan has it."""
    if len(ground.clusters) * ground.related.items > HUGE:
        # A plan at rough prices, should a limit strike long before there are better ones.
        yield dive(ground, _duals(ground, ROUGH, stop), schedule.dives[0], stop, updates=1), None
    duals = _duals(ground, schedule.steps, stop)
    if len(ground.clusters) > MIDDLING:
        updates = UPDATES if len(ground.clusters) * ground.related.items <= HUGE else UPDATES // 4
        for n, one in enumerate(schedule.dives):
            yield dive(ground, duals, one, stop, updates=updates), None
            if n == 0:
                proved = tightened(ground.pricer, duals.prices, schedule.tighten, stop)
        yield {}, proved
        return
    if len(ground.clusters) > SMALL:
        # This takes a fraction of the time of what follows: a plan is there should a limit strike.
        yield dive(ground, duals, schedule.dives[0], stop), None
    whole = Block(ground.clusters, ground.stock(), {})
    chosen, bound, prices = plunge(ground, whole, duals.prices, _depth(ground), stop)
    yield chosen, Bound(floor(bound + 1e-9), prices)


def tightened(pricer: RelatedPricer, prices: Reals, count: int, stop: Stop) -> Bound:
    """The bound by patterns at these prices, improved by `count` steps, each a knapsack for every cluster."""
    related, links = pricer.related, pricer.related.links
    best, found = pricer.bound(pricer.parts(prices))
    average = _slope(pricer, prices, found)
    step, fails = 0.3, 0
    low = np.concatenate([np.zeros(related.items), links.least_price])
    high = np.concatenate([np.full(related.items, np.inf), links.most_price])
    for _ in range(count):
        if stop():
            break
        blocked = ((prices <= low) & (average > 0)) | ((prices >= high) & (average < 0))
        move = np.where(blocked, 0.0, average)
        length = step * 0.01 * best / pricer.scale / max(float((move**2).sum()), 1e-9)
        tried = np.clip(prices - length * move, low, high)
        value, found = pricer.bound(pricer.parts(tried))
        slope = _slope(pricer, tried, found)
        if value < best:
            best, prices, fails = value, tried, 0
            step = min(step * 1.3, 2.0) if float((slope * average).sum()) > 0 else step
        else:
            fails += 1
            if fails >= 4:
                step, fails = step * 0.7, 0
        average = 0.9 * average + 0.1 * slope
    return Bound(best // pricer.scale, prices)


def dive(
    ground: RelatedGround, duals: Duals, start: tuple[int, float], stop: Stop, *, updates: int = UPDATES
) -> Chosen:
    """A plan, cluster by cluster in random order: each takes its best pattern at the prices of the others.

    Args:
        ground: what is searched.
        duals: prices of the whole, with a rent a configuration.
        start: (seed of the order, part of an item's price that a cluster must earn: below 1, the first take more).
        stop: when it says so, prices are no longer brought up to date.
        updates: how often they are.
    """
    related, pricer = ground.related, ground.pricer
    seed, part = start
    stock = ground.stock()
    order = np.random.default_rng(seed).permutation(np.array(ground.clusters))
    every = max(1, len(order) // updates)
    rent, link, prices = duals.rent.copy(), duals.link, duals.prices
    where = np.array([g for c in ground.clusters for g in related.problem.configurations_of[c]])
    chosen: Chosen = {}
    for n, c in enumerate(order.tolist()):
        if n % every == 0 and not stop():
            here = Compact(related, np.sort(order[n:]), stock.copies, stock.activity)
            ahead = np.isin(where, here.rows)
            after = here.steps(rent[ahead], link, 20, stop, step=0.01)
            rent[ahead], link = after.rent, after.link
            prices = np.concatenate([part * after.items, link])
        found = pricer.best(pricer.menus(c, stock.copies > 0), pricer.parts(prices))
        several = tuple(pricer.fitting(found, stock.activity)) if found else ()
        if found and several:
            chosen[c] = Pattern(found.g, several)
            stock.take(chosen[c])
    return chosen


def trim(related: Related, chosen: Mapping[int, Pattern]) -> Chosen:
    """A plan without the copies that break a hard rule on spread or a smallest number of copies.

    Fewer copies never break anything else, and an item without any keeps both.
    """
    problem = related.problem
    clusters: dict[int, dict[int, int]] = {}
    for c, (g, several) in chosen.items():
        for i in several:
            clusters.setdefault(i, {})[c] = g
    hard = [rule for rule in problem.spreads if rule.hard]
    rules: dict[int, list[tuple[tuple[tuple[int, ...], ...], int]]] = {}
    for rule in hard:
        groups = tuple(members for _, members in rule.groups)
        rules.setdefault(int(related.item_of[rule.workload]), []).append((groups, rule.max_skew))
    for i, places in sorted(clusters.items()):
        least = max((problem.demands[w].min_copies or 1 for w in related.members[i]), default=1)
        if i in rules or least > 1:
            _even(related, i, places, rules.get(i, []))
            if len(places) < least:
                places.clear()
    kept: dict[int, list[int]] = {}
    for i, places in sorted(clusters.items()):
        for c in places:
            kept.setdefault(c, []).append(i)
    return {c: Pattern(chosen[c].configuration, tuple(sorted(items))) for c, items in sorted(kept.items())}


def _even(
    related: Related, item: int, places: dict[int, int], rules: list[tuple[tuple[tuple[int, ...], ...], int]]
) -> None:
    """Take away, in place, the copies of least value from groups that have too many, until every rule holds."""
    while True:
        full = None
        for groups, skew in rules:
            counts = [sum(c in places for c in members) for members in groups]
            if counts and max(counts) - min(counts) > skew:
                full = groups[counts.index(max(counts))]
                break
        if full is None:
            return
        worst = min((c for c in full if c in places), key=lambda c: (int(related.value[item, places[c]]), -c))
        del places[worst]


def _slope(pricer: RelatedPricer, prices: Reals, found: Iterable[object]) -> Reals:
    """How fast the bound falls with each price: what is allowed less what is taken."""
    related, links = pricer.related, pricer.related.links
    patterns = [Pattern(p.g, tuple(p.workloads.tolist())) for p in found if p]  # type: ignore[attr-defined]
    joined = np.array([i for p in patterns for i in p.workloads], dtype=np.int64)
    items = related.copies - np.bincount(joined, minlength=related.items)
    total = related.activity(patterns).astype(np.float64)
    link = prices[related.items :]
    earned = links.cost.astype(np.float64)
    np.subtract.at(earned, links.aux, link[links.aux_row] * links.aux_coefficient)
    full = np.where(earned > 0, links.most, 0)
    np.add.at(total, links.aux_row, links.aux_coefficient * full[links.aux])
    bound = np.where(link > 0, links.upper, np.where(link < 0, links.lower, np.clip(total, links.lower, links.upper)))
    return np.concatenate([items.astype(np.float64), bound - total])
