"""Large packings: prices first, then a plan cluster by cluster at these prices, then block after block improved.

Every schedule is fixed by counts and seeds: the same packing gives the same plan, unless `stop` cuts the search short,
and even then the plan is feasible and no worse than the start. Owns the schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import floor

import numpy as np

from gitops_ds.packing.model import Ints, Packing, Reals, broken, plan_of, plan_value
from gitops_ds.packing.prices import Duals, first_rent, part_of, settle, steps, workload_prices
from gitops_ds.packing.pricing import Pricer, counts, pricer_of
from gitops_ds.solver.block import Block, Depth, Ground, Limits, PackingGround, Stock, never, plunge, solve_block
from gitops_ds.solver.master import Pattern

Pairs = list[tuple[int, int]]
Stop = Callable[[], bool]


PATIENCE = 6
"""Blocks grow when so many more were hopeless than not."""
SMALL = 64
"""So many clusters are planned by column generation as a whole."""


@dataclass(frozen=True)
class Schedule:
    """How much of everything: all counts, so that the same packing is always treated alike.

    Attributes:
        steps: of the compact dual.
        tighten: steps of the pattern dual, each an exact knapsack for every cluster.
        dives: (seed, part of a workload's price that a cluster must earn) of each dive.
        size: clusters in a block.
        blocks: how many blocks are tried.
        largest: clusters in a block after many of them were hopeless.
        limits: how far a block is solved.
        eager: whether blocks grow where nothing was found, and not only where nothing was to be gained.
    """

    steps: int
    tighten: int
    dives: tuple[tuple[int, float], ...]
    size: int
    blocks: int
    largest: int = 24
    limits: Limits = field(default_factory=Limits)
    eager: bool = False


@dataclass(frozen=True)
class Bound:
    """A proved bound on the value of every plan, and the workload prices that prove it."""

    value: int
    prices: Reals


def schedule_of(size: int) -> Schedule:
    """A schedule that fits so many workloads times clusters, and ends within what an unattended run can wait for."""
    dives = tuple((seed, part) for seed in range(4) for part in (1.0, 0.97))
    if size <= 20_000:
        return Schedule(300, 80, dives, 12, 160)
    if size <= 200_000:
        return Schedule(300, 40, dives, 12, 60)
    if size <= 2_000_000:
        return Schedule(250, 3, dives[:2], 8, 10)
    return Schedule(150, 0, dives[:1], 8, 0)


def trivial_bound(packing: Packing) -> int:
    """The value if every workload had its best places and none took room."""
    best = np.maximum.reduceat(packing.gain, packing.first, axis=0) if packing.clusters else packing.gain
    total = int(best.max(axis=0, initial=0)[packing.copies == 1].sum(dtype=np.int64))
    for w in np.nonzero(packing.copies > 1)[0].tolist():
        total += int(np.sort(best[:, w])[::-1][: int(packing.copies[w])].sum(dtype=np.int64))
    return total


def pattern_bound(packing: Packing, duals: Duals, count: int, stop: Stop) -> Bound:
    """The bound by patterns at the workload prices of the compact dual, improved by `count` steps."""
    part = part_of(packing)
    prices = np.zeros(packing.workloads)
    prices[part.columns] = workload_prices(part, duals.rent)
    pricer = pricer_of(packing, duals.rent / part.supply, bounding=True)
    best, found = pricer.bound(pricer.parts(prices))
    average = packing.copies - counts(packing, found).astype(np.float64)
    step, fails = 0.3, 0
    for _ in range(count):
        if stop():
            break
        move = np.where((prices <= 0) & (average > 0), 0.0, average)
        length = step * 0.01 * best / pricer.scale / max(float((move**2).sum()), 1e-9)
        tried = np.maximum(prices - length * move, 0.0)
        value, found = pricer.bound(pricer.parts(tried))
        slope = packing.copies - counts(packing, found)
        if value < best:
            best, prices, fails = value, tried, 0
            step = min(step * 1.3, 2.0) if float((slope * average).sum()) > 0 else step
        else:
            fails += 1
            if fails >= 4:
                step, fails = step * 0.7, 0
        average = 0.9 * average + 0.1 * slope
    return Bound(best // pricer.scale, prices)


@dataclass
class State:
    """A plan as it grows: what each cluster runs, and what is left for the others."""

    chosen: dict[int, Pattern]
    stock: Stock

    def put(self, cluster: int, choice: Pattern) -> None:
        """The cluster runs the choice."""
        self.chosen[cluster] = choice
        self.stock.take(choice)

    def take(self, cluster: int) -> Pattern | None:
        """The cluster runs nothing any more; what it ran."""
        choice = self.chosen.pop(cluster, None)
        if choice:
            self.stock.give(choice)
        return choice


def dive(packing: Packing, rows: Ints, rent: Reals, start: tuple[int, float], stop: Stop) -> Pairs:
    """A plan, cluster by cluster in random order: each takes its best pattern at the prices of the others.

    Args:
        packing: the packing.
        rows: one configuration for each cluster, ascending.
        rent: the rents of these configurations.
        start: (seed of the order, part of a workload's price that a cluster must earn: below 1, the first take more).
        stop: when it says so, prices are no longer brought up to date.
    """
    seed, part = start
    state = State({}, Stock(packing.copies))
    order = np.random.default_rng(seed).permutation(packing.clusters)
    price = np.zeros_like(packing.supply, dtype=np.float64)
    price[rows] = rent / np.maximum(packing.supply[rows], 1)
    pricer = pricer_of(packing, price)
    every = max(1, packing.clusters // 25)
    rent, asked = rent.copy(), np.zeros(packing.workloads, dtype=np.int64)
    for n, c in enumerate(order.tolist()):
        if n % every == 0:
            ahead = np.sort(order[n:])
            here = part_of(packing, rows[ahead], state.stock.copies)
            if len(here.columns) and not stop():
                rent[ahead] = steps(here, rent[ahead], 20, stop, step=0.01).rent
            asked[:] = 0
            asked[here.columns] = pricer.parts(part * workload_prices(here, rent[ahead]))
        found = pricer.best([pricer.menu(int(rows[c]), state.stock.copies > 0)], asked)
        if found:
            state.put(c, Pattern(found.g, tuple(pricer.fitting(found))))
    return _pairs(state.chosen)


def improve(
    ground: Ground, state: State, proved: Bound, *, value: int, schedule: Schedule, stop: Stop
) -> Iterator[dict[int, Pattern]]:
    """Ever better plans from a start that is worth `value`, block after block by a fixed schedule of random blocks.

    Args:
        ground: what is searched.
        state: the start; it follows the plan.
        proved: a bound on every plan, and prices.
        value: what the start is worth.
        schedule: sizes and numbers of blocks.
        stop: asked between blocks whether to end.
    """
    clusters = np.array(ground.clusters)
    generator = np.random.default_rng(0)
    size, hopeless = min(schedule.size, len(clusters)), 0
    for _ in range(schedule.blocks):
        if stop() or value >= proved.value:
            break
        block = np.sort(generator.choice(clusters, size, replace=False)).tolist()
        taken = {c: state.take(c) for c in block}
        current = {c: choice for c, choice in taken.items() if choice}
        found = solve_block(ground, Block(tuple(block), state.stock, current), proved.prices, schedule.limits)
        vain = found.hopeless or (schedule.eager and not found.gain)
        hopeless = hopeless + 1 if vain else max(hopeless - 1, 0)
        if hopeless >= PATIENCE:
            size, hopeless = min(size + max(1, size // 4), len(clusters), schedule.largest), 0
        for c, kept in (current if found.chosen is None else found.chosen).items():
            state.put(c, kept)
        value += found.gain
        if found.gain:
            yield dict(state.chosen)
        if len(block) == len(clusters):
            break


def solve_large(
    packing: Packing, start: Iterable[tuple[int, int]], stop: Stop = never, schedule: Schedule | None = None
) -> Iterator[tuple[Pairs, int]]:
    """Ever better plans, each with a proved bound on the value of every plan. None is worse than `start`.

    Args:
        packing: the packing.
        start: a plan that keeps all rules; it may be empty.
        stop: asked between steps whether to end; only its answer makes two runs differ.
        schedule: how much of everything; by default what fits the size.
    """
    best = sorted(start)
    bound = trivial_bound(packing)
    yield best, bound
    if not packing.gain.any() or stop():
        return
    schedule = schedule or schedule_of(packing.clusters * packing.workloads)
    whole = part_of(packing)
    duals = steps(whole, first_rent(whole), schedule.steps, stop)
    rows, rent = settle(packing, duals, stop)
    for one in schedule.dives:
        best = _better(packing, best, dive(packing, rows, rent, one, stop))
        yield best, bound
        if stop():
            break
    pricer = pricer_of(packing, duals.rent / whole.supply)
    if packing.clusters <= SMALL and not stop():
        best, proved = _generated(packing, pricer, duals, best, stop)
        if not packing.exact:
            proved = Bound(pattern_bound(packing, duals, schedule.tighten, stop).value, proved.prices)
    else:
        proved = pattern_bound(packing, duals, schedule.tighten, stop)
    bound = min(bound, proved.value)
    yield best, bound
    state = State({}, Stock(packing.copies))
    for c, choice in _choices(packing, best).items():
        state.put(c, choice)
    ground = PackingGround(pricer)
    for chosen in improve(ground, state, proved, value=_value(packing, best), schedule=schedule, stop=stop):
        yield _better(packing, best, _pairs(chosen)), bound


def _generated(packing: Packing, pricer: Pricer, duals: Duals, best: Pairs, stop: Stop) -> tuple[Pairs, Bound]:
    """The better of a plan and that of column generation over all clusters, and the bound that this proves."""
    part = part_of(packing)
    prices = np.zeros(packing.workloads)
    prices[part.columns] = workload_prices(part, duals.rent)
    block = Block(tuple(range(packing.clusters)), Stock(packing.copies), {})
    chosen, bound, prices = plunge(PackingGround(pricer), block, prices, Depth(), stop)
    return _better(packing, best, _pairs(chosen)), Bound(floor(bound + 1e-9), prices)


def _pairs(chosen: Mapping[int, Pattern]) -> Pairs:
    return sorted((w, g) for g, workloads in chosen.values() for w in workloads)


def _choices(packing: Packing, pairs: Pairs) -> dict[int, Pattern]:
    plan = plan_of(packing, pairs)
    return {c: Pattern(g, packed) for c, (g, packed) in enumerate(zip(plan.chosen, plan.packed, strict=True)) if packed}


def _better(packing: Packing, one: Pairs, other: Pairs) -> Pairs:
    """The plan of more value, the first of equals."""
    assert not broken(packing, other)
    return other if _value(packing, other) > _value(packing, one) else one


def _value(packing: Packing, pairs: Pairs) -> int:
    return plan_value(packing, plan_of(packing, pairs))
