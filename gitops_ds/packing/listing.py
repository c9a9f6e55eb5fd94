"""All patterns of a configuration that are nearly the best: every one whose profit reaches a given least.

Owns the listing. With the exact value of every completion in a table, no branch is entered that leads to nothing, so
the time goes with the number of patterns that are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gitops_ds.packing.model import Ints


def patterns_within(profit: Ints, need: Ints, room: Ints, least: int) -> Iterator[tuple[int, ...]]:
    """Sets of positions that fit `room` and whose profits sum to `least` or more, each ascending.

    Args:
        profit: n whole numbers of either sign.
        need: n x 2 steps.
        room: 2 steps.
        least: the profit that a pattern must reach.
    """
    rows, columns = int(room[0]), int(room[1])
    ahead = [np.zeros((rows + 1, columns + 1), dtype=np.int64)]
    for n in reversed(range(len(profit))):
        last, (r, c) = ahead[-1], need[n].tolist()
        table = last.copy()
        if r <= rows and c <= columns:
            grown = last[: rows + 1 - r, : columns + 1 - c] + profit[n]
            np.maximum(table[r:, c:], grown, out=table[r:, c:])
        ahead.append(table)
    ahead.reverse()
    yield from _extend(profit.tolist(), need.tolist(), ahead, (rows, columns), least)


def _extend(
    profit: Sequence[int],
    need: Sequence[Sequence[int]],
    ahead: Sequence[np.ndarray],
    room: tuple[int, int],
    least: int,
) -> Iterator[tuple[int, ...]]:
    """Depth first, without recursion: (position, room left, profit still needed, chosen)."""
    stack: list[tuple[int, int, int, int, tuple[int, ...]]] = [(0, *room, least, ())]
    while stack:
        n, rows, columns, missing, chosen = stack.pop()
        if int(ahead[n][rows, columns]) < missing:
            continue
        if n == len(profit):
            yield chosen
            continue
        stack.append((n + 1, rows, columns, missing, chosen))
        r, c = need[n]
        if r <= rows and c <= columns:
            stack.append((n + 1, rows - r, columns - c, missing - profit[n], (*chosen, n)))
