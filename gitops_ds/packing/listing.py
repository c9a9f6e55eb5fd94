"""All patterns of a configuration that are nearly the best: every one whose profit reaches a given least.

Owns the listing. The tables say what can be made of every state of the supply, so no branch is entered that leads to
nothing, and the time goes with the number of patterns that are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gitops_ds.packing.table import Filled


@dataclass(frozen=True)
class _Choice:
    """One workload: how often it may be taken, for what, and what the ones after it make of every state."""

    workload: int
    most: int
    rows: int
    columns: int
    profit: int
    rest: np.ndarray


def patterns_within(filled: Filled, g: int, least: int) -> Iterator[tuple[int, ...]]:
    """Workloads that fit configuration `g` and whose profits sum to `least` or more, each ascending.

    Args:
        filled: tables that were kept on the way; those of no profit count too.
        g: a configuration of them.
        least: the profit that a pattern must reach.
    """
    room = tuple(filled.tables.room[g].tolist())
    choices = [*_losing(filled, g, least), *_winning(filled, g)]
    if int(filled.values[g]) >= least:
        yield from _extend(choices, room, least)


def _winning(filled: Filled, g: int) -> Iterator[_Choice]:
    """The workloads of the tables, the last first: what those before it make is in its table."""
    tables = filled.tables
    seen: dict[int, np.ndarray] = {}
    for lot, before in zip(filled.lots, filled.before, strict=True):
        if filled.use[lot.workload, g] and lot.workload not in seen:
            seen[lot.workload] = before[filled.place[lot.workload, g]]
    for w in reversed(seen):
        rows, columns = tables.need[w].tolist()
        yield _Choice(w, int(tables.most[w]), rows, columns, int(filled.profit[w, g]), seen[w])


def _losing(filled: Filled, g: int, least: int) -> Iterator[_Choice]:
    """The workloads that lose so little that a pattern may have them all the same."""
    tables, profit = filled.tables, filled.profit[:, g]
    spare = int(filled.values[g]) - least
    for w in np.nonzero((profit <= 0) & (profit >= -spare) & (tables.most > 0))[0].tolist():
        rows, columns = tables.need[w].tolist()
        yield _Choice(w, int(tables.most[w]), rows, columns, int(profit[w]), filled.state[g])


def _extend(choices: list[_Choice], room: tuple[int, ...], least: int) -> Iterator[tuple[int, ...]]:
    """Depth first, without recursion: (choice, room left, profit still needed, chosen)."""
    stack: list[tuple[int, int, int, int, tuple[int, ...]]] = [(0, room[0], room[1], least, ())]
    while stack:
        n, rows, columns, missing, chosen = stack.pop()
        if n == len(choices):
            yield tuple(sorted(chosen))
            continue
        one = choices[n]
        for taken in range(one.most + 1):
            if rows < 0 or columns < 0:
                break
            if one.rest.item(rows, columns) >= missing:
                stack.append((n + 1, rows, columns, missing, chosen + (one.workload,) * taken))
            rows, columns, missing = rows - one.rows, columns - one.columns, missing - one.profit
