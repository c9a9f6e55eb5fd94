"""The best pattern of every configuration at once, by one table a configuration over all states of its supply.

A pattern is a set of workloads that fits a configuration; one that stands for several may be in it several times. With
up to two kinds of supply in few whole steps the table is small, and all configurations are filled together: exact, and
quick for fleets of some dozens of clusters.

Owns the dynamic programme, and the way back through it. Owns no prices and no master problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gitops_ds.packing.model import Bools, Ints, Packing

LARGEST = 4_000_000
"""Entries of all tables together, beyond which the tables are no longer the quick way."""
CHUNK = 4_000_000
"""Entries that are kept at once on the way to a listing."""


@dataclass(frozen=True)
class Lot:
    """Several of one workload that are taken or left together: every number of them is a sum of its lots."""

    workload: int
    times: int
    rows: int
    columns: int


@dataclass(frozen=True)
class Tables:
    """Requests and supplies as steps of two kinds.

    Attributes:
        need: W x 2.
        room: G x 2.
        members: W, how often a workload may be in one pattern.
    """

    need: Ints
    room: Ints
    members: Ints

    @property
    def size(self) -> int:
        """Entries of all tables together."""
        return len(self.room) * int(np.prod(self.room.max(axis=0, initial=0) + 1))

    @cached_property
    def most(self) -> Ints:
        """W, how often a workload may be in a pattern of the roomiest configuration, kind by kind."""
        top = self.room.max(axis=0, initial=0)
        fits = np.where(self.need > 0, top // np.maximum(self.need, 1), self.members[:, None])
        found: Ints = np.minimum(self.members, fits.min(axis=1))
        return found

    @cached_property
    def lots(self) -> tuple[Lot, ...]:
        """The lots, workload by workload."""
        found = []
        for w, (most, (rows, columns)) in enumerate(zip(self.most.tolist(), self.need.tolist(), strict=True)):
            times, left = 1, most
            while left > 0:
                here = min(times, left)
                found.append(Lot(w, here, rows * here, columns * here))
                left, times = left - here, times * 2
        return tuple(found)

    def best(self, profit: Ints) -> Filled:
        """Every configuration's largest sum of profits that fits.

        Args:
            profit: W x G; what is not positive is not used.
        """
        return _fill(self, profit, keep=False)

    def chunks(self, wanted: Ints) -> Iterator[Ints]:
        """`wanted` configurations, so many at a time as may be kept for a listing."""
        each = max(int(np.prod(self.room.max(axis=0, initial=0) + 1)) * len(self.lots), 1)
        count = max(CHUNK // each, 1)
        for start in range(0, len(wanted), count):
            yield wanted[start : start + count]

    def kept(self, profit: Ints, wanted: Ints) -> Filled:
        """The tables of some configurations (a chunk of them), with all that they were on the way.

        Args:
            profit: W x the number of `wanted`.
            wanted: configurations.
        """
        return _fill(Tables(self.need, self.room[wanted], self.members), profit, keep=True)


@dataclass(frozen=True)
class Filled:
    """Filled tables of the configurations of `tables`.

    Attributes:
        values: G, the largest sums of profits.
        lots: the lots that were used, in their order.
        better: a lot, its configurations (see `place`): the states in which it is taken.
        before: a lot, its configurations: their tables before it came, where they were kept.
        use: W x G, which workloads were used.
    """

    tables: Tables
    profit: Ints
    values: Ints
    lots: tuple[Lot, ...]
    better: tuple[Bools, ...]
    before: tuple[Ints, ...]
    state: Ints
    use: Bools

    @cached_property
    def place(self) -> Ints:
        """W x G: the place of a configuration among those that use the workload."""
        found: Ints = np.cumsum(self.use, axis=1) - 1
        return found

    def patterns(self, wanted: Iterable[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """For each wanted configuration the workloads that make its largest sum, ascending."""
        steps: list[list[tuple[int, Lot, int]]] = [[] for _ in range(len(self.tables.room))]
        for n, lot in enumerate(self.lots):
            for i, g in enumerate(np.nonzero(self.use[lot.workload])[0].tolist()):
                steps[g].append((n, lot, i))
        room = self.tables.room.tolist()
        for g in wanted:
            i, j = room[g]
            chosen: list[int] = []
            for n, lot, at in reversed(steps[g]):
                rows, columns = i - lot.rows, j - lot.columns
                if rows >= 0 and columns >= 0 and self.better[n].item(at, rows, columns):
                    chosen += [lot.workload] * lot.times
                    i, j = rows, columns
            yield g, tuple(chosen[::-1])


def _fill(tables: Tables, profit: Ints, *, keep: bool) -> Filled:
    room = tables.room
    rows, columns = (int(n) for n in room.max(axis=0, initial=0))
    state = np.zeros((len(room), rows + 1, columns + 1), dtype=np.int64)
    use: Bools = (profit > 0) & (tables.most > 0)[:, None]
    some: Bools = np.any(use, axis=1)
    lots = tuple(lot for lot in tables.lots if some[lot.workload] and lot.rows <= rows and lot.columns <= columns)
    owner, where = np.nonzero(use)
    start = np.searchsorted(owner, np.arange(len(use) + 1)).tolist()
    taken, before = [], []
    for lot in lots:
        here = where[start[lot.workload] : start[lot.workload + 1]]
        old = state.take(here, axis=0)
        gain = profit[lot.workload].take(here) * lot.times
        grown = old[:, : rows + 1 - lot.rows, : columns + 1 - lot.columns] + gain[:, None, None]
        tail = old[:, lot.rows :, lot.columns :]
        taken.append(grown > tail)
        if keep:
            before.append(old.copy())
        np.maximum(tail, grown, out=tail)
        state[here] = old
    values = state[np.arange(len(room)), room[:, 0], room[:, 1]]
    return Filled(tables, profit, values, lots, tuple(taken), tuple(before), state, use)


def tables_of(packing: Packing) -> Tables | None:
    """The packing's tables; None where more than two kinds matter or the steps would be too many to be exact."""
    kinds = packing.request.shape[1]
    if kinds > 2:
        return None
    members = np.ones(packing.workloads, dtype=np.int64) if packing.members is None else packing.members
    need = np.zeros((packing.workloads, 2), dtype=np.int64)
    room = np.zeros((packing.configurations, 2), dtype=np.int64)
    for k in range(kinds):
        unit = max(int(np.gcd.reduce(packing.request[:, k])), 1)
        need[:, k] = packing.request[:, k] // unit
        room[:, k] = np.minimum(packing.supply[:, k] // unit, int(need[:, k] @ members))
    found = Tables(need, room, members)
    return found if found.size <= LARGEST else None
