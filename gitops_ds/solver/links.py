"""The rows that link clusters to each other, or pairs on one cluster, as whole numbers on items.

Rows come from `families`; entries of workloads that belong together are summed, since these share their clusters. What
cannot bind is taken out.

Owns these rows and where their rules on spread are. Owns no constraint and no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gitops_ds.problem.columns import Columns
from gitops_ds.problem.families import FAMILIES, capacity, copies, needs_configuration, one_configuration, together
from gitops_ds.problem.model import Ints

Reals = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
FAR = 2**40
"""Stands for no bound of a row: beyond any sum of copies."""
_PACKED = (one_configuration, copies, capacity, needs_configuration, together)
"""The families that need no linking row."""


@dataclass(frozen=True)
class Links:
    """R linking rows.

    Attributes:
        lower, upper: R; -FAR and FAR where there is none.
        row, item, configuration, coefficient: the entries on items, by configuration.
        start: G + 1, where the entries of each configuration begin.
        aux_row, aux, aux_coefficient: the entries on the auxiliaries u; cost, most: of each of these.
    """

    lower: Ints
    upper: Ints
    row: Ints
    item: Ints
    configuration: Ints
    coefficient: Ints
    start: Ints
    aux_row: Ints
    aux: Ints
    aux_coefficient: Ints
    cost: Ints
    most: Ints

    @cached_property
    def tied(self) -> Bools:
        """R: whether the row has an auxiliary."""
        found = np.zeros(len(self.lower), dtype=np.bool_)
        found[self.aux_row] = True
        return found

    @cached_property
    def least_price(self) -> Reals:
        """R: the least price that keeps a bound valid."""
        return np.where(self.lower <= -FAR, 0.0, -np.inf)

    @cached_property
    def most_price(self) -> Reals:
        """R: the largest price that keeps a bound valid."""
        return np.where(self.upper >= FAR, 0.0, np.inf)

    def here(self, configuration: int) -> slice:
        """The entries of a configuration."""
        return slice(int(self.start[configuration]), int(self.start[configuration + 1]))


@dataclass(frozen=True)
class Rule:
    """A spread rule in the rows: its t, the row that counts each group's copies, the skew, and digits (aux, power)."""

    t: int
    rows: tuple[int, ...]
    skew: int
    digits: tuple[tuple[int, int], ...]


def links_of(columns: Columns, item_of: Ints, allowed: Bools, cost: Ints) -> tuple[Links, Mapping[str, int]]:
    """The linking rows, and the number of the first row of each family."""
    lower, upper, row, column, value, offset = [], [], [], [], [], {}
    count = 0
    for family in FAMILIES:
        rows = None if family in _PACKED else family(columns)
        if rows is None:
            continue
        offset[rows.family] = count
        lower.append(np.maximum(rows.lower, -FAR))
        upper.append(np.minimum(rows.upper, FAR))
        row.append(rows.row + count)
        column.append(rows.column)
        value.append(rows.value)
        count += rows.count
    rows_, columns_, values = (np.concatenate(one).astype(np.int64) for one in (row, column, value))
    low, high = np.concatenate(lower).astype(np.int64), np.concatenate(upper).astype(np.int64)
    on_z = columns_ < columns.first_t
    z = columns_[on_z] - columns.first_z
    item, configuration = item_of[columns.z_workload[z]], columns.z_configuration[z]
    open_ = allowed[item, configuration]
    entries = _summed(rows_[on_z][open_], item[open_], configuration[open_], values[on_z][open_])
    entries = _bound(columns, entries, low, high, np.unique(rows_[~on_z]))
    start = np.searchsorted(entries[2], np.arange(len(columns.y_of) + 1))
    found = Links(
        low,
        high,
        *entries,
        start,
        rows_[~on_z],
        columns_[~on_z] - columns.first_t,
        values[~on_z],
        cost,
        columns.upper[columns.first_t :].astype(np.int64),
    )
    return found, offset


def _summed(row: Ints, item: Ints, configuration: Ints, value: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The entries by configuration, item and row; those of one place are summed."""
    items, rows = int(item.max(initial=0)) + 1, int(row.max(initial=0)) + 1
    keys, first, number = np.unique((configuration * items + item) * rows + row, return_index=True, return_inverse=True)
    total = np.zeros(len(keys), dtype=np.int64)
    np.add.at(total, number, value)
    return row[first], item[first], configuration[first], total


def _bound(
    columns: Columns, entries: tuple[Ints, Ints, Ints, Ints], lower: Ints, upper: Ints, tied: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """The entries of rows that can bind; the others lose their bounds, in place."""
    row, item, configuration, value = entries
    problem = columns.problem
    places = (row * len(problem.demands) + item) * len(problem.clusters) + problem.cluster_of[configuration]
    _, first = np.unique(places, return_index=True)
    most = np.bincount(row[first], weights=value[first], minlength=len(lower)) if len(row) else np.zeros(len(lower))
    idle = (most <= upper) & (lower <= 0)
    idle[tied] = False
    idle[row[value < 0]] = False
    lower[idle], upper[idle] = -FAR, FAR
    keep = ~idle[row]
    return row[keep], item[keep], configuration[keep], value[keep]


def rules_of(columns: Columns, offset: Mapping[str, int]) -> Iterator[Rule]:
    """The spread rules in the rows, in the order in which `families` writes these."""
    hard, soft = offset["spread"], offset["soft_spread"]
    for i, number in enumerate(columns.t):
        rule = columns.problem.spreads[number]
        groups = range(len(rule.groups))
        digits = tuple((len(columns.t) + len(columns.n) + j, p) for j, (of, p) in enumerate(columns.e) if of == number)
        if rule.hard:
            yield Rule(i, tuple(hard + r for r in groups), rule.max_skew, ())
            hard += len(groups) + 1
        elif digits:
            yield Rule(i, tuple(soft + 2 * r for r in groups), rule.max_skew, digits)
            soft += 2 * len(groups)
