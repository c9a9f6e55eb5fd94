"""The best pattern of every configuration at once, by one table a configuration over all states of its supply.

A pattern is a set of workloads that fits a configuration. With up to two kinds of supply in few whole steps the table
is small, and all configurations are filled together: exact, and quick for fleets of some dozens of clusters.

Owns the dynamic programme. Owns no prices and no master problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gitops_ds.packing.model import Ints, Packing

LARGEST = 4_000_000
"""Entries of all tables together, beyond which the tables are no longer the quick way."""


@dataclass(frozen=True)
class Tables:
    """Requests and supplies as steps of two kinds: `need` is W x 2, `room` is G x 2."""

    need: Ints
    room: Ints

    @property
    def size(self) -> int:
        """Entries of all tables together."""
        return len(self.room) * int(np.prod(self.room.max(axis=0, initial=0) + 1))

    def best(self, profit: Ints) -> tuple[Ints, list[list[int]]]:
        """For each configuration the largest sum of profits that fits, and the workloads that make it, ascending.

        Args:
            profit: W x G; what is not positive is not used.
        """
        rows, columns = (int(n) for n in self.room.max(axis=0))
        state = np.zeros((len(self.room), rows + 1, columns + 1), dtype=profit.dtype)
        steps = []
        use = profit > 0
        for w in np.nonzero(use.any(axis=1))[0].tolist():
            here = np.nonzero(use[w])[0]
            r, c = (int(n) for n in self.need[w])
            grown = state[here, : rows + 1 - r, : columns + 1 - c] + profit[w, here][:, None, None]
            old = state[here, r:, c:]
            better = grown > old
            state[here, r:, c:] = np.where(better, grown, old)
            steps.append((w, here, r, c, better))
        every = np.arange(len(self.room))
        return state[every, self.room[:, 0], self.room[:, 1]], self._chosen(steps)

    def _chosen(self, steps: list[tuple[int, Ints, int, int, np.ndarray]]) -> list[list[int]]:
        """Walk back through the tables from each configuration's whole supply."""
        left = self.room.copy()
        chosen: list[list[int]] = [[] for _ in self.room]
        for w, here, r, c, better in reversed(steps):
            i, j = left[here, 0] - r, left[here, 1] - c
            took = np.nonzero((i >= 0) & (j >= 0))[0]
            took = took[better[took, i[took], j[took]]]
            left[here[took]] -= (r, c)
            for g in here[took].tolist():
                chosen[g].append(w)
        return [several[::-1] for several in chosen]


def tables_of(packing: Packing) -> Tables | None:
    """The packing's tables; None where more than two kinds matter or the steps would be too many to be exact."""
    kinds = packing.request.shape[1]
    if kinds > 2:
        return None
    need = np.zeros((packing.workloads, 2), dtype=np.int64)
    room = np.zeros((packing.configurations, 2), dtype=np.int64)
    for k in range(kinds):
        unit = max(int(np.gcd.reduce(packing.request[:, k])), 1)
        need[:, k] = packing.request[:, k] // unit
        room[:, k] = np.minimum(packing.supply[:, k] // unit, int(need[:, k].sum()))
    found = Tables(need, room)
    return found if found.size <= LARGEST else None
