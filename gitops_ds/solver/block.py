"""A few clusters at once: column generation over their patterns, then the best choice among the patterns found.

The master problem chooses patterns such that a cluster has at most one, a workload no more than its copies, and what
else the ground says holds. Its duals are prices, `pricing` answers with better patterns, until the bound closes or says
that nothing is to be gained. Limits are counts, so the same block always ends in the same way.

Owns this search, and says what ground it needs. Owns no solver (`master.py`, `related_master.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gitops_ds.packing.model import Bools, Ints, Packing, Reals
from gitops_ds.packing.pricing import Pattern as Found
from gitops_ds.packing.pricing import Pricer
from gitops_ds.solver.dive import NEARLY, WHOLE
from gitops_ds.solver.master import Master, Pattern

CLOSED = 0.5
"""Bounds and values are whole: a gap below this is none worth a round."""
BLURRED = 1e-9
"""No gap is seen below this part of a value: floating point has no more digits."""


def never() -> bool:
    """A search that nothing stops."""
    return False


class Stock:
    """What is left for clusters to take: copies of each workload."""

    def __init__(self, copies: Ints) -> None:
        self.copies = copies.copy()

    def take(self, pattern: Pattern) -> None:
        """A cluster runs the pattern."""
        self.copies[list(pattern.workloads)] -= 1

    def give(self, pattern: Pattern) -> None:
        """It does so no more."""
        self.copies[list(pattern.workloads)] += 1

    def allows(self, pattern: Pattern) -> bool:
        """Whether a cluster may take the pattern."""
        return bool((self.copies[list(pattern.workloads)] > 0).all())

    def copy(self) -> Stock:
        """The same, to be changed by itself."""
        return Stock(self.copies)


@dataclass(frozen=True)
class Block:
    """What may be chosen.

    Attributes:
        clusters: the clusters.
        stock: what is to be had there.
        current: what each of the clusters runs now; those that run nothing are missing.
        known: other patterns that may be of use.
    """

    clusters: tuple[int, ...]
    stock: Stock
    current: dict[int, Pattern]
    known: tuple[Pattern, ...] = ()


class Pricing(Protocol):
    """What finds patterns; a vector of prices is whatever the master's duals are."""

    @property
    def scale(self) -> int:
        """Whole parts to a unit of value."""

    def parts(self, prices: Reals) -> Ints:
        """Prices in whole parts that keep bounds valid."""

    def menus(self, c: int, free: Bools | None = None) -> list[Any]:
        """What the cluster's configurations may run."""

    def best(self, menus: list[Any], asked: Ints) -> Found | None:
        """The best pattern of these menus."""

    def fitting(self, pattern: Found) -> list[int]:
        """Those of its workloads that fit."""


class Chooser(Protocol):
    """A master problem over the clusters of a block."""

    clusters: tuple[int, ...]
    patterns: list[Pattern]

    def add(self, patterns: Iterable[Pattern]) -> int:
        """Add what is new; how many."""

    def relax(self) -> tuple[float, Reals, Reals]:
        """The linear programme: value, prices, how much of each pattern."""

    def losses(self) -> Reals:
        """What it would lose by each pattern, as numbers <= 0."""

    def whole(
        self, seconds: float = ..., start: Sequence[Pattern] = ..., *, nodes: int | None = None, gap: float = 0.0
    ) -> tuple[list[Pattern], bool] | None:
        """The best whole choice."""

    def keeps_rows(self, patterns: Sequence[Pattern]) -> bool:
        """Whether these patterns together keep every row, counted in whole numbers."""


class Ground(Protocol):
    """What is searched: a packing, or a problem with relations."""

    @property
    def pricer(self) -> Pricing:
        """Finds patterns."""

    @property
    def clusters(self) -> tuple[int, ...]:
        """All clusters, ascending."""

    def master(self, block: Block) -> Chooser:
        """A master problem without patterns."""

    def rent(self, block: Block, asked: Ints) -> int:
        """What the bound at these prices holds beside the profits of patterns, in parts."""

    def cluster(self, pattern: Pattern) -> int:
        """The cluster of a pattern."""

    def worth(self, block: Block, patterns: Iterable[Pattern]) -> int:
        """What the block is worth with these patterns."""


@dataclass(frozen=True)
class PackingGround:
    """A packing as the ground of a search."""

    pricer: Pricer

    @property
    def clusters(self) -> tuple[int, ...]:
        """All clusters, ascending."""
        return tuple(range(self.pricer.packing.clusters))

    def master(self, block: Block) -> Master:
        """A master problem without patterns."""
        return Master(self.pricer.packing, block.clusters, block.stock.copies)

    def rent(self, block: Block, asked: Ints) -> int:
        """What the copies cost that are to be had."""
        copies = np.maximum(block.stock.copies, 0)
        return int(asked @ copies)

    def cluster(self, pattern: Pattern) -> int:
        """The cluster of a pattern."""
        return int(self.pricer.packing.cluster_of[pattern.configuration])

    def worth(self, block: Block, patterns: Iterable[Pattern]) -> int:  # noqa: ARG002  (a ground with relations asks)
        """The sum of the patterns' values."""
        return sum(_worth(self.pricer.packing, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Limits:
    """How far a block is solved: rounds of pricing, nodes of the choice, and how much old prices weigh in new ones."""

    rounds: int = 25
    nodes: int = 100
    smoothing: float = 0.5
    gap: float = 1e-5


@dataclass(frozen=True)
class Result:
    """The better choice (None: none was found), its gain, a bound; hopeless: nothing was to be gained."""

    chosen: dict[int, Pattern] | None
    gain: int
    bound: float
    hopeless: bool = False


def solve_block(ground: Ground, block: Block, prices: Reals, limits: Limits) -> Result:
    """A better choice of patterns for the block's clusters, if one is found.

    Args:
        ground: what is searched.
        block: the clusters, and what they may run.
        prices: to start from.
        limits: when to stop.
    """
    master = _master(ground, block)
    held = ground.worth(block, block.current.values())
    end = _generate(ground, block, master, prices, limits=limits, held=held)
    if np.floor(end.bound + 1e-6) <= held:
        return Result(None, 0, end.bound, hopeless=True)
    return _choose(ground, block, master, end, held=held, limits=limits)


@dataclass(frozen=True)
class Depth:
    """How far a plunge goes into each step.

    Attributes:
        first, later: rounds of pricing, before anything is settled and after some clusters were.
        nearly: the share from which a pattern counts as clear; where none is, the clearest one is settled.
        known: so many patterns a cluster are kept from step to step, those of the least loss.
        smoothing: how much old prices weigh in new ones.
    """

    first: int = 60
    later: int = 5
    nearly: float = NEARLY
    known: int | None = None
    smoothing: float = 0.5


def plunge(
    ground: Ground, block: Block, prices: Reals, depth: Depth, stop: Callable[[], bool] = never
) -> tuple[dict[int, Pattern], float, Reals]:
    """A plan for the block by column generation, the clearest patterns settled first, then the rest priced again.

    Args:
        ground: what is searched.
        block: the clusters, and what they may run; nothing is kept of what they run now.
        prices: to start from.
        depth: how far each step goes.
        stop: when it says so, what is not settled stays empty.

    Returns:
        The patterns chosen, a bound on the block's value, and the prices that prove it.
    """
    chosen: dict[int, Pattern] = {}
    stock, known, first, proof = block.stock.copy(), block.known, np.inf, prices
    limits = Limits(depth.first, smoothing=depth.smoothing)
    while open_clusters := tuple(c for c in block.clusters if c not in chosen):
        here = Block(open_clusters, stock, {}, known)
        master = _master(ground, here)
        end = _generate(ground, here, master, prices, limits=limits, held=None, stop=stop)
        prices = end.prices
        if np.isinf(first):
            first, proof, limits = end.bound, prices, Limits(depth.later, smoothing=depth.smoothing)
        if stop():
            break
        settled = _settle(ground, master, end, stock, depth.nearly)
        if not settled:
            break
        chosen |= settled
        clear = _clearest(master, None if depth.known is None else depth.known * len(open_clusters))
        known = tuple(p for p in clear if ground.cluster(p) not in chosen and stock.allows(p))
    return chosen, first, proof


def priced(ground: Ground, block: Block, prices: Reals, depth: Depth) -> tuple[float, Reals]:
    """The bound on the block's value by column generation alone, and the prices that prove it."""
    master = _master(ground, block)
    end = _generate(ground, block, master, prices, limits=Limits(depth.first, smoothing=depth.smoothing), held=None)
    return end.bound, end.prices


@dataclass(frozen=True)
class _End:
    """Where pricing ended: the bound, the prices that prove it, and the relaxation's value and shares of patterns."""

    bound: float
    prices: Reals
    value: float
    taken: Reals


def _clearest(master: Chooser, count: int | None) -> list[Pattern]:
    """So many patterns of the least loss, in the order in which they came; all of them where no number is given."""
    if count is None or len(master.patterns) <= count:
        return master.patterns
    order = np.argsort(-master.losses(), kind="stable")[:count]
    return [master.patterns[n] for n in np.sort(order).tolist()]


def _settle(ground: Ground, master: Chooser, end: _End, stock: Stock, nearly: float) -> dict[int, Pattern]:
    """The patterns of the relaxation that are clearest, and at least one; takes their copies from the stock."""
    found: dict[int, Pattern] = {}
    most = max(1, len(master.clusters) // 10)
    for n in np.argsort(-end.taken, kind="stable").tolist():
        share = end.taken[n]
        if share <= 1e-6 or (found and share < nearly) or (len(found) >= most and share < WHOLE):
            break
        pattern = master.patterns[n]
        if ground.cluster(pattern) not in found and stock.allows(pattern):
            found[ground.cluster(pattern)] = pattern
            stock.take(pattern)
    return found


def _master(ground: Ground, block: Block) -> Chooser:
    """The master problem with the patterns that are known."""
    master = ground.master(block)
    master.add((*block.current.values(), *block.known))
    return master


def _generate(
    ground: Ground,
    block: Block,
    master: Chooser,
    prices: Reals,
    *,
    limits: Limits,
    held: int | None,
    stop: Callable[[], bool] = never,
) -> _End:
    """Add patterns until nothing is to be gained by more."""
    pricer, free = ground.pricer, block.stock.copies > 0
    menus = [pricer.menus(c, free) for c in master.clusters]
    value, dual, taken = master.relax() if master.patterns else (0.0, prices, np.empty(0))
    centre, weight, bound = prices, limits.smoothing, np.inf
    for _ in range(limits.rounds):
        point = weight * centre + (1 - weight) * dual
        asked = pricer.parts(point)
        found = [pricer.best(menu, asked) for menu in menus]
        here = (ground.rent(block, asked) + sum(p.profit for p in found if p)) / pricer.scale
        if here < bound:
            bound, centre = here, point
        if stop() or (held is not None and np.floor(bound + 1e-6) <= held):
            break
        fresh = master.add(Pattern(p.g, tuple(pricer.fitting(p))) for p in found if p)
        value, dual, taken = master.relax()
        if bound - value < max(CLOSED, BLURRED * abs(value)):
            break
        if not fresh:
            if weight < 0.05:
                break
            weight *= 0.4
    return _End(bound, centre, value, taken)


def _choose(ground: Ground, block: Block, master: Chooser, end: _End, *, held: int, limits: Limits) -> Result:
    """The best choice among those patterns that can be in a better one."""
    least = end.value - held
    kept = [p for p, loss in zip(master.patterns, master.losses().tolist(), strict=True) if loss >= -least - 1e-6]
    narrow = ground.master(block)
    narrow.add(kept)
    start = [p for p in block.current.values() if p in set(kept)]
    chosen = narrow.whole(start=start, nodes=limits.nodes, gap=limits.gap)
    if chosen is None:
        return Result(None, 0, end.bound)
    gain = ground.worth(block, chosen[0]) - held
    if gain <= 0 or not narrow.keeps_rows(chosen[0]):
        return Result(None, 0, end.bound)
    return Result({ground.cluster(p): p for p in chosen[0]}, gain, end.bound)


def _worth(packing: Packing, pattern: Pattern) -> int:
    g, several = pattern
    return int(packing.value[list(several), g].sum(dtype=np.int64)) - int(packing.fixed[g])
