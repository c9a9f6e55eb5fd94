"""The model as the solver takes it: columns, all rows in one sparse matrix by column, and the stages.

Owns the assembly. Owns no rule: those are `families.py` and `objective.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gitops_ds.problem.columns import Columns, columns_of
from gitops_ds.problem.families import Rows, all_rows
from gitops_ds.problem.model import Ints, Problem
from gitops_ds.problem.objective import Stage, stages

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Matrix:
    """Columns, families of rows, and stages; `start`, `index`, `value` hold the entries column by column."""

    columns: Columns
    families: tuple[Rows, ...]
    stages: tuple[Stage, ...]

    @cached_property
    def row_lower(self) -> Reals:
        """Lower bounds of all rows."""
        return np.concatenate([r.lower for r in self.families]) if self.families else np.empty(0)

    @cached_property
    def row_upper(self) -> Reals:
        """Upper bounds of all rows."""
        return np.concatenate([r.upper for r in self.families]) if self.families else np.empty(0)

    @cached_property
    def entries(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Reals]:
        """(start, index, value): column j has rows index[start[j]:start[j+1]]."""
        offsets = np.cumsum([0, *(r.count for r in self.families)])
        none = np.empty(0, dtype=np.int64)
        row = np.concatenate([none, *(r.row + o for r, o in zip(self.families, offsets[:-1], strict=True))])
        column = np.concatenate([none, *(r.column for r in self.families)])
        value = np.concatenate([np.empty(0), *(r.value for r in self.families)])
        keep = value != 0
        row, column, value = row[keep], column[keep], value[keep]
        order = np.lexsort((row, column))
        start = np.searchsorted(column[order], np.arange(self.columns.count + 1))
        return start.astype(np.int32), row[order].astype(np.int32), value[order]

    def row_name(self, row: int) -> str:
        """What a row demands, as text."""
        for family in self.families:
            if row < family.count:
                return family.name(row)
            row -= family.count
        raise IndexError(row)

    def vector(self, pairs: Ints) -> Reals:
        """The column values of a plan that uses the z columns `pairs` (numbers from 0)."""
        found = np.zeros(self.columns.count)
        found[self.columns.first_z + pairs] = 1
        found[self.columns.y_of[self.columns.z_configuration[pairs]]] = 1
        columns = self.columns
        for i, number in enumerate(columns.t):
            counts = self._counts(pairs, number)
            found[columns.first_t + i] = min(counts, default=0)
        for i, w in enumerate(columns.n):
            found[columns.first_n + i] = bool((columns.z_workload[pairs] == w).any())
        for i, (number, power) in enumerate(columns.e):
            counts = self._counts(pairs, number)
            excess = max(max(counts) - min(counts) - columns.problem.spreads[number].max_skew, 0)
            found[columns.first_e + i] = bool(excess & power)
        return found

    def _counts(self, pairs: Ints, number: int) -> list[int]:
        """The copies in each group of a spread rule."""
        columns, rule = self.columns, self.columns.problem.spreads[number]
        mine = columns.z_cluster[pairs[columns.z_workload[pairs] == rule.workload]]
        return [int(np.isin(mine, members).sum()) for _, members in rule.groups]


def matrix_of(problem: Problem) -> Matrix:
    """The model of `problem`."""
    columns = columns_of(problem)
    return Matrix(columns, tuple(all_rows(columns)), stages(columns))
