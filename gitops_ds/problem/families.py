"""The rows of the model, one function per constraint family, each with its inequality.

Owns the constraints. Owns no column, no objective and no solving. `solution.check_solution` states the same rules a
second time, without any of this code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gitops_ds.problem.columns import Columns
from gitops_ds.problem.model import Ints, SpreadRule

Reals = npt.NDArray[np.float64]
INF = np.inf
_Row = tuple[float, float, Ints, Reals, str]
"""Lower and upper bound, columns, their values, and the label."""
LOOSE = 1000
"""A request below this fraction of the supply does not tie a pair to its configuration firmly enough."""


@dataclass(frozen=True)
class Rows:
    """Rows of one family: `lower <= sum value * column <= upper`, entries as (row, column, value) triplets."""

    family: str
    lower: Reals
    upper: Reals
    row: Ints
    column: Ints
    value: Reals
    label: Callable[[int], str] = field(compare=False)
    scale: Reals | None = None
    """What each row was multiplied with, where that is not 1."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.lower)

    def name(self, row: int) -> str:
        """What the row demands, as text."""
        return f"{self.family}[{self.label(row)}]"


def one_configuration(columns: Columns) -> Rows:
    """A cluster has one configuration: sum_p y[c,p] <= 1."""
    problem = columns.problem
    cluster = problem.cluster_of[columns.y]
    return _at_most(
        "one_configuration",
        np.ones(len(problem.clusters)),
        (cluster, np.arange(len(columns.y))),
        lambda c: problem.clusters[c],
    )


def copies(columns: Columns) -> Rows:
    """A workload runs at most as often as wanted: sum_{c,p} z[w,c,p] <= copies[w]."""
    demands = columns.problem.demands
    return _at_most(
        "copies",
        np.array([d.copies for d in demands], dtype=np.float64),
        (columns.z_workload, columns.first_z + np.arange(len(columns.z_workload))),
        lambda w: str(demands[w].workload),
    )


def least_copies(columns: Columns) -> Rows:
    """Enough copies or none: min_copies[w] * n[w] <= sum_{c,p} z[w,c,p] <= copies[w] * n[w]."""
    demands = columns.problem.demands
    row, column, value = [], [], []
    for i, w in enumerate(columns.n):
        z = columns.first_z + columns.z_of_workload(w)
        for j, least in enumerate((demands[w].min_copies or 1, demands[w].copies)):
            row.append(np.full(len(z) + 1, 2 * i + j))
            column.append(np.append(z, columns.first_n + i))
            value.append(np.append(np.ones(len(z)), -float(least)))
    either = np.arange(2 * len(columns.n)) % 2
    return Rows(
        "least_copies",
        np.where(either == 0, 0.0, -INF),
        np.where(either == 0, INF, 0.0),
        _joined(row),
        _joined(column),
        _joined(value).astype(np.float64),
        lambda i: f"{demands[columns.n[i // 2]].workload},{'most' if i % 2 else 'least'}",
    )


def capacity(columns: Columns) -> Rows:
    """What runs fits, kind by kind: sum_w request[w,k] * z[w,c,p] <= supply[c,p,k] * y[c,p].

    No supply counts for more than all who may come request: that loses no plan and keeps the entries of a row alike.
    """
    problem = columns.problem
    kinds = len(problem.kinds)
    supply = _wanted_supply(columns)
    z = np.arange(len(columns.z_workload))
    row, column, value = [], [], []
    for k in range(kinds):
        need = problem.need(columns.z_workload, columns.z_configuration)[:, k]
        used = need > 0
        row.append(columns.y_of[columns.z_configuration[used]] * kinds + k)
        column.append(columns.first_z + z[used])
        value.append(need[used])
        row.append(np.arange(len(columns.y)) * kinds + k)
        column.append(np.arange(len(columns.y)))
        value.append(-supply[columns.y, k])
    rows = _at_most(
        "capacity",
        np.zeros(len(columns.y) * kinds),
        (_joined(row), _joined(column)),
        lambda i: f"{columns.name(i // kinds)[2:-1]},{problem.kinds[i % kinds]}",
        _joined(value).astype(np.float64),
    )
    return _scaled(rows)


def _wanted_supply(columns: Columns) -> Ints:
    """G x K: the supply, or what all eligible pairs of the configuration request together where that is less."""
    problem = columns.problem
    wanted = np.zeros_like(problem.supply)
    np.add.at(wanted, columns.z_configuration, problem.need(columns.z_workload, columns.z_configuration))
    return np.minimum(problem.supply, wanted)


def needs_configuration(columns: Columns) -> Rows:
    """Nothing runs under a configuration that is not chosen: z[w,c,p] <= y[c,p].

    Only where no capacity row says so already: for pairs that request nothing, or so little of what there is that a
    y of next to nothing, which the solver takes for 0, would make room for them.
    """
    problem = columns.problem
    need = problem.need(columns.z_workload, columns.z_configuration)
    tied = (need > 0) & (need.astype(np.float64) * LOOSE >= _wanted_supply(columns)[columns.z_configuration])
    free = np.nonzero(~tied.any(axis=1))[0]
    n = np.arange(len(free))
    return _at_most(
        "needs_configuration",
        np.zeros(len(free)),
        (np.concatenate([n, n]), np.concatenate([columns.first_z + free, columns.y_of[columns.z_configuration[free]]])),
        lambda i: columns.name(columns.first_z + int(free[i]))[2:-1],
        np.concatenate([np.ones(len(free)), -np.ones(len(free))]),
    )


def together(columns: Columns) -> Rows:
    """Workloads that belong together share their clusters: sum_p z[a,c,p] = sum_p z[b,c,p] for every c."""
    problem = columns.problem
    pairs = [(group[0], other) for group in problem.together for other in group[1:]]
    clusters = len(problem.clusters)
    row, column, value = [], [], []
    for i, (a, b) in enumerate(pairs):
        for w, sign in ((a, 1.0), (b, -1.0)):
            z = columns.z_of_workload(w)
            row.append(i * clusters + columns.z_cluster[z])
            column.append(columns.first_z + z)
            value.append(np.full(len(z), sign))
    bound = np.zeros(len(pairs) * clusters)
    label = _pair_label(columns, pairs)
    return Rows("together", bound, bound, _joined(row), _joined(column), _joined(value).astype(np.float64), label)


def apart(columns: Columns) -> Rows:
    """Workloads that repel each other never share a cluster: sum_{w in group, p} z[w,c,p] <= 1 for every c."""
    problem = columns.problem
    clusters = len(problem.clusters)
    row, column = [], []
    for i, group in enumerate(problem.apart):
        z = _joined([columns.z_of_workload(w) for w in sorted(group)])
        row.append(i * clusters + columns.z_cluster[z])
        column.append(columns.first_z + z)
    bound = np.ones(len(problem.apart) * clusters)
    return _at_most("apart", bound, (_joined(row), _joined(column)), _pair_label(columns, problem.apart))


def spread(columns: Columns) -> Rows:
    """Copies are even over the groups r of a hard rule: t[w] <= sum_{c in r, p} z[w,c,p] <= t[w] + skew.

    A cluster without the key is in no group, and a workload with a hard rule does not run there.
    """
    problem = columns.problem
    rows: list[_Row] = []
    for i, number in enumerate(columns.t):
        rule = problem.spreads[number]
        if not rule.hard:
            continue
        name = str(problem.demands[rule.workload].workload)
        grouped, outside = _grouped(columns, rule)
        for value, members in grouped:
            entries = np.append(columns.first_z + members, columns.first_t + i)
            rows.append((0.0, rule.max_skew, entries, np.append(np.ones(len(members)), -1.0), f"{name},{value}"))
        rows.append((0.0, 0.0, columns.first_z + outside, np.ones(len(outside)), f"{name},no {rule.key}"))
    return _listed("spread", rows)


def _grouped(columns: Columns, rule: SpreadRule) -> tuple[list[tuple[str, Ints]], Ints]:
    """The z columns of the rule's workload in each of its groups, and those in none."""
    z = columns.z_of_workload(rule.workload)
    grouped = [(value, z[np.isin(columns.z_cluster[z], members)]) for value, members in rule.groups]
    return grouped, np.setdiff1d(z, _joined([members for _, members in grouped]))


def soft_spread(columns: Columns) -> Rows:
    """A soft rule is broken by its excess e at most: t[w] <= sum_{c in r, p} z[w,c,p] <= t[w] + skew + e[w].

    e[w] is the sum of its binary digits, each times its power of two. Only for rules that can be broken.
    """
    problem = columns.problem
    rows: list[_Row] = []
    for i, number in enumerate(columns.t):
        rule = problem.spreads[number]
        digits = [(columns.first_e + j, power) for j, (of, power) in enumerate(columns.e) if of == number]
        if rule.hard or not digits:
            continue
        name = str(problem.demands[rule.workload].workload)
        for value, members in _grouped(columns, rule)[0]:
            entries = np.append(columns.first_z + members, columns.first_t + i)
            ones = np.append(np.ones(len(members)), -1.0)
            rows.append((0.0, INF, entries, ones, f"{name},{value},least"))
            entries = np.append(entries, [column for column, _ in digits])
            ones = np.append(ones, [-float(power) for _, power in digits])
            rows.append((-INF, rule.max_skew, entries, ones, f"{name},{value},most"))
    return _listed("soft_spread", rows)


def moves(columns: Columns) -> Rows:
    """No more copies move than may: sum of z[w,c,p] over w that git has somewhere and c that is new to w <= most.

    `Problem.may_move` says how many that is: what a lost place forces never makes the model infeasible.
    """
    problem = columns.problem
    moving = problem.running[columns.z_workload] & ~problem.incumbent[columns.z_workload, columns.z_cluster]
    z = [np.nonzero(moving & np.isin(columns.z_workload, limit.workloads))[0] for limit in problem.move_limits]
    return _at_most(
        "moves",
        np.array([problem.may_move(limit) for limit in problem.move_limits], dtype=np.float64),
        (np.repeat(np.arange(len(z)), [len(one) for one in z]), columns.first_z + _joined(z)),
        lambda i: str(problem.demands[problem.move_limits[i].workloads[0]].intent),
    )


def required(columns: Columns) -> Rows:
    """Pairs that must be in the plan are: z[w,c,p] >= 1; for a pair that may not be used the row is empty: 0 >= 1."""
    problem = columns.problem
    z = [columns.z_of(pair) for pair in problem.required]
    known = np.array([i for i, column in enumerate(z) if column is not None], dtype=np.int64)
    column = np.array([columns.first_z + number for number in z if number is not None], dtype=np.int64)

    def label(row: int) -> str:
        pair = problem.required[row]
        return f"{problem.demands[pair.workload].workload},{columns.label(pair.configuration)}"

    bound = np.ones(len(z))
    return Rows("required", bound, np.full(len(z), INF), known, column, np.ones(len(known)), label)


FAMILIES = (
    one_configuration,
    copies,
    least_copies,
    capacity,
    needs_configuration,
    together,
    apart,
    spread,
    soft_spread,
    moves,
    required,
)


def all_rows(columns: Columns) -> Iterator[Rows]:
    """Every family that has rows, in the order of `FAMILIES`."""
    for family in FAMILIES:
        rows = family(columns)
        if rows.count:
            yield rows


def _at_most(
    family: str, upper: Reals, entries: tuple[Ints, Ints], label: Callable[[int], str], value: Reals | None = None
) -> Rows:
    """Rows `sum value * column <= upper`; `entries` are their rows and columns, `value` is 1 where it is not given."""
    row, column = entries
    values = np.ones(len(row)) if value is None else value
    return Rows(family, np.full(len(upper), -INF), upper, row, column.astype(np.int64), values, label)


def _listed(family: str, rows: list[_Row]) -> Rows:
    return Rows(
        family,
        np.array([r[0] for r in rows]),
        np.array([r[1] for r in rows]),
        np.repeat(np.arange(len(rows)), [len(r[2]) for r in rows]).astype(np.int64),
        _joined([r[2] for r in rows]),
        _joined([r[3] for r in rows]).astype(np.float64),
        lambda row: rows[row][4],
    )


def _scaled(rows: Rows) -> Rows:
    """The rows divided by their largest entry where that is large: bytes and devices then weigh alike for the solver.

    A power of two loses no bit, so the rows still say exactly the same.
    """
    largest = np.ones(rows.count)
    np.maximum.at(largest, rows.row, np.abs(rows.value))
    factor = np.exp2(-np.maximum(np.floor(np.log2(largest)) - 10, 0))
    return replace(rows, value=rows.value * factor[rows.row], scale=factor)


def _joined(parts: list[npt.NDArray[np.int64]] | list[npt.NDArray[np.float64]]) -> npt.NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _pair_label(columns: Columns, groups: Sequence[tuple[int, ...]]) -> Callable[[int], str]:
    problem = columns.problem
    clusters = len(problem.clusters)

    def label(row: int) -> str:
        group = groups[row // clusters]
        return f"{'+'.join(str(problem.demands[w].workload) for w in group)},{problem.clusters[row % clusters]}"

    return label
