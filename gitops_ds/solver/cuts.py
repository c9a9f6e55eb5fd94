"""What a linear programme over patterns breaks of what whole choices keep, and what to branch on where it is not whole.

A cut is of three rows that allow 1 each: a whole choice takes at most one of the patterns that are in two or more of
them. It is the sum of the three, halved and rounded down.

Owns these two questions. Owns no search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gitops_ds.packing.model import Ints

Reals = npt.NDArray[np.float64]
Triple = tuple[int, int, int]
"""Three rows of clusters or workloads."""

FRACTION = 1e-6
MOST = 30
"""Cuts that are added at once."""
VIOLATED = 1e-3
"""By how much a cut must cut, to be worth a row."""


def cut_of(matrix: Ints, triple: Triple) -> Ints:
    """The coefficients of a cut of these rows, whose right side is 1."""
    return np.asarray(matrix[list(triple)].sum(axis=0) >= 2, dtype=np.int64)


def broken_cuts(matrix: Ints, most: Ints, relaxed: Reals) -> list[Triple]:
    """The cuts that `relaxed` breaks most, of rows of `matrix` (rows x patterns) that allow `most` each."""
    used = np.nonzero(relaxed > FRACTION)[0]
    single = np.nonzero(most == 1)[0]
    here = matrix[np.ix_(single, used)]
    some = np.nonzero(here.sum(axis=1) > 1)[0]
    here, share, row = here[some].astype(np.float64), relaxed[used], single[some]
    both = (here * share) @ here.T
    np.fill_diagonal(both, 0.0)
    i, j, k = np.nonzero(both[:, :, None] + both[:, None, :] + both[None, :, :] > 1 + VIOLATED)
    order = (i < j) & (j < k)
    i, j, k = i[order], j[order], k[order]
    broken = (here[i] + here[j] + here[k] >= 2) @ share - 1
    worst = np.argsort(-broken, kind="stable")[:MOST]
    return [(int(row[i[n]]), int(row[j[n]]), int(row[k[n]])) for n in worst.tolist() if broken[n] > VIOLATED]


def to_branch_on(run: Ints, configuration: Ints, relaxed: Reals) -> Ints | None:
    """Coefficients of a sum that must be whole and is not; None where all are.

    That is how many copies run at all; else how often a configuration is used; else how many of a workload run under
    it; else how often a pattern is taken. Of several of a kind, it is the one that is farthest from whole.

    Args:
        run: W x patterns, how often each workload is in each.
        configuration: of each pattern.
        relaxed: how much of each pattern is taken.
    """
    used = np.nonzero(relaxed > 0)[0]
    share, workloads = relaxed[used], len(run)
    here = run[:, used] * share
    if _farthest(np.array([here.sum()])) is not None:
        return np.asarray(run.sum(axis=0), dtype=np.int64)
    g = _farthest(np.bincount(configuration[used], weights=share))
    if g is not None:
        return np.asarray(configuration == g, dtype=np.int64)
    there = np.zeros((int(configuration.max(initial=0)) + 1, workloads))
    np.add.at(there, configuration[used], here.T)
    place = _farthest(there.ravel())
    if place is not None:
        g, w = divmod(place, workloads)
        return np.where(configuration == g, run[w], 0)
    column = _farthest(relaxed)
    return None if column is None else (np.arange(len(relaxed)) == column).astype(np.int64)


def _farthest(sums: npt.NDArray[Any]) -> int | None:
    """The place of the sum that is farthest from whole; None where all are whole."""
    far = np.abs(sums - np.rint(sums))
    place = int(far.argmax()) if len(far) else 0
    return place if len(far) and far[place] > FRACTION else None
