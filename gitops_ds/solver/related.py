"""A problem with relations between clusters as a packing with linking rows, in whole numbers.

The leading stages of the objective become one value a pair, as far as their weighted sum stays exact. Workloads that
belong together become one item, since they share their clusters and so their configurations. What else ties clusters
to each other, or pairs on one cluster, is a linking row

    lower[r] <= sum a[r,i,g] * z[i,g] + sum b[r,j] * u[j] <= upper[r]        0 <= u[j] <= most[j]

with the model's own t, n and e as the u. A packing is such a problem without rows.

Owns this form, what a plan does to the rows, and the way back to pairs. Owns no row: those are in `links.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from gitops_ds.problem.columns import Columns, columns_of
from gitops_ds.problem.matrix import Matrix
from gitops_ds.problem.model import Ints, Pair, Problem
from gitops_ds.problem.objective import Stage, main_stages
from gitops_ds.solution import StageResult
from gitops_ds.solver.links import FAR, Bools, Links, Rule, links_of, rules_of
from gitops_ds.solver.master import Pattern
from gitops_ds.solver.merged import Weighted, reach

LARGEST = 2**50
"""The value of a whole plan stays below this, so that bounds are exact in whole numbers."""


@dataclass(frozen=True)
class Related:
    """I items, G configurations, R linking rows.

    Attributes:
        columns: of the problem.
        main: the leading stages, which make the value; later: those after them, whose sum with these was not exact.
        members: I, the workloads of each item, ascending.
        value, allowed: I x G. fixed: G, not negative. copies: I.
        links: the rows. rules: the spread rules in them. least: (n, row that counts) of smallest numbers of copies.
    """

    columns: Columns
    main: tuple[Weighted, ...]
    later: tuple[Stage, ...]
    members: tuple[tuple[int, ...], ...]
    value: Ints
    allowed: Bools
    fixed: Ints
    copies: Ints
    links: Links
    rules: tuple[Rule, ...]
    least: tuple[tuple[int, int], ...]

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.columns.problem

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.members)

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return len(self.problem.clusters)

    @cached_property
    def item_of(self) -> Ints:
        """W: the item of each workload."""
        found = np.zeros(len(self.problem.demands), dtype=np.int64)
        for i, several in enumerate(self.members):
            found[list(several)] = i
        return found

    @cached_property
    def counted(self) -> Mapping[int, int]:
        """The row that counts the copies, by the n that says whether there are any."""
        return dict(self.least)

    @cached_property
    def local(self) -> Bools:
        """R: whether all that the row says is about one cluster."""
        links, cluster = self.links, self.problem.cluster_of[self.links.configuration]
        low = np.full(len(links.lower), self.clusters, dtype=np.int64)
        high = np.full(len(links.lower), -1, dtype=np.int64)
        np.minimum.at(low, links.row, cluster)
        np.maximum.at(high, links.row, cluster)
        found: Bools = (low == high) & ~links.tied
        return found

    @cached_property
    def rows_of(self) -> tuple[Ints, ...]:
        """I: the rows that an item can change, and those that share an auxiliary with them."""
        links = self.links
        shared: dict[int, set[int]] = {}
        for r, j in zip(links.aux_row.tolist(), links.aux.tolist(), strict=True):
            shared.setdefault(j, set()).add(r)
        partners: dict[int, set[int]] = {}
        for rows in shared.values():
            for r in rows:
                partners.setdefault(r, set()).update(rows)
        found: list[set[int]] = [set() for _ in self.members]
        for key in np.unique(links.item * max(len(links.lower), 1) + links.row).tolist():
            i, r = divmod(key, len(links.lower))
            found[i] |= partners.get(r, {r})
        return tuple(np.array(sorted(rows), dtype=np.int64) for rows in found)

    @cached_property
    def request(self) -> Ints:
        """What one copy of each item requests: I x K, or I x V x K where that differs by configuration."""
        found = np.zeros((self.items, *self.problem.request.shape[1:]), dtype=np.int64)
        np.add.at(found, self.item_of, self.problem.request)
        return found

    def need(self, items: Sequence[int] | Ints, configuration: int) -> Ints:
        """What one copy of each item requests under the configuration: n x K."""
        some = np.asarray(items, dtype=np.int64)
        found: Ints = (
            self.request[some, self.problem.variant[configuration]] if self.problem.differs else self.request[some]
        )
        return found

    def worth(self, pattern: Pattern) -> int:
        """What a pattern of items is worth."""
        g, several = pattern
        return int(self.value[list(several), g].sum()) - int(self.fixed[g])

    def activity(self, patterns: Iterable[Pattern]) -> Ints:
        """R: what patterns add up to in the rows, without auxiliaries."""
        links = self.links
        found = np.zeros(len(links.lower), dtype=np.int64)
        for g, several in patterns:
            here = links.here(g)
            mine = np.isin(links.item[here], several)
            np.add.at(found, links.row[here][mine], links.coefficient[here][mine])
        return found

    def auxiliaries(self, activity: Ints) -> Ints:
        """The best values of the auxiliaries where the items add up to `activity`."""
        found = np.zeros(len(self.links.most), dtype=np.int64)
        for rule in self.rules:
            counts = activity[list(rule.rows)]
            low = int(counts.min(initial=FAR)) if len(counts) else 0
            found[rule.t] = low
            excess = max(int(counts.max(initial=0)) - low - rule.skew, 0)
            for j, power in rule.digits:
                found[j] = bool(excess & power)
        for j, row in self.least:
            found[j] = activity[row] > 0
        return found

    def rest(self, activity: Ints) -> int:
        """What the auxiliaries add to the value."""
        return int(self.links.cost @ self.auxiliaries(activity)) if self.links.cost.any() else 0

    def broken(self, activity: Ints) -> Ints:
        """The rows that do not hold where the items add up to `activity`."""
        links = self.links
        total = activity.copy()
        np.add.at(total, links.aux_row, links.aux_coefficient * self.auxiliaries(activity)[links.aux])
        return np.nonzero((total < links.lower) | (total > links.upper))[0]

    def pairs(self, chosen: Iterable[Pattern]) -> tuple[Pair, ...]:
        """The pairs of patterns of items."""
        return tuple(sorted(Pair(w, g) for g, several in chosen for i in several for w in self.members[i]))

    def chosen(self, pairs: Iterable[Pair]) -> dict[int, Pattern]:
        """Pairs of a plan that keeps all rules, as patterns of items by cluster."""
        found: dict[int, set[int]] = {}
        for w, g in pairs:
            found.setdefault(g, set()).add(int(self.item_of[w]))
        cluster = self.problem.cluster_of
        return {int(cluster[g]): Pattern(g, tuple(sorted(several))) for g, several in sorted(found.items())}

    def results(self, pairs: Sequence[Pair], bound: int) -> Iterator[StageResult]:
        """Values of all stages but the one for ties, and what a proven bound on a plan's value says of each.

        As long as a stage meets its bound, the next one is bounded by what is left.
        """
        left: int | None = bound
        values = self.stage_values(pairs)
        for one, value in zip(self.main, values, strict=False):
            if left is None:
                yield StageResult(one.stage.name, value, inf)
                continue
            most = max((left + one.beyond) // one.weight * one.unit, value)
            yield StageResult(one.stage.name, value, float(most))
            left = left - one.weight * (value // one.unit) if most == value else None
        for stage, value in zip(self.later, values[len(self.main) :], strict=True):
            # None of these can be above 0, which is a bound before anything is solved.
            yield StageResult(stage.name, value, float(max(value, 0)) if (stage.coefficient <= 0).all() else inf)

    def stage_values(self, pairs: Sequence[Pair]) -> tuple[int, ...]:
        """The value of every stage but the one for ties."""
        columns = self.columns
        keys = columns.z_workload * len(columns.y_of) + columns.z_configuration
        z = np.searchsorted(keys, np.array([w * len(columns.y_of) + g for w, g in pairs], dtype=np.int64))
        vector = Matrix(columns, (), ()).vector(z).astype(np.int64)
        return tuple(int(s.coefficient @ vector) for s in (*(w.stage for w in self.main), *self.later))


def related(problem: Problem) -> Related | None:
    """`problem` with its relations as linking rows; None where not even its first stage stays exact."""
    columns = columns_of(problem)
    stages = main_stages(columns)
    main = leading(columns, stages)
    if stages and not main:
        return None
    total = sum((w.weight * (w.stage.coefficient // w.unit) for w in main), np.zeros(columns.count, dtype=np.int64))
    members = _members(problem)
    item_of = np.zeros(len(problem.demands), dtype=np.int64)
    for i, several in enumerate(members):
        item_of[list(several)] = i
    shape = (len(members), len(problem.configurations))
    allowed, value = problem.eligible, np.zeros(problem.state.shape, dtype=np.int64)
    value[columns.z_workload, columns.z_configuration] = total[columns.first_z : columns.first_t]
    if len(members) < len(problem.demands):
        allowed = np.array([allowed[list(several)].all(axis=0) for several in members]).reshape(shape)
        value = np.array([value[list(several)].sum(axis=0) for several in members]).reshape(shape)
    fixed = np.zeros(shape[1], dtype=np.int64)
    fixed[columns.y] = -total[: columns.first_z]
    wanted = np.array([min(problem.demands[w].copies for w in several) for several in members], dtype=np.int64)
    links, offset = links_of(columns, item_of, allowed, total[columns.first_t :])
    return Related(
        columns=columns,
        main=main,
        later=stages[len(main) :],
        members=members,
        value=value,
        allowed=allowed,
        fixed=fixed,
        copies=wanted,
        links=links,
        rules=tuple(rules_of(columns, offset)),
        least=tuple((len(columns.t) + i, offset["least_copies"] + 2 * i) for i in range(len(columns.n))),
    )


def leading(columns: Columns, stages: Sequence[Stage]) -> tuple[Weighted, ...]:
    """The most leading stages whose weighted sum stays exact, each outweighing those after it."""
    for count in range(len(stages), 0, -1):
        found: list[Weighted] = []
        beyond = 0
        for stage in reversed(stages[:count]):
            unit = int(np.gcd.reduce(stage.coefficient))
            steps = stage.coefficient // unit
            found.append(Weighted(stage, unit, 2 * beyond + 1, beyond))
            beyond += found[-1].weight * (reach(columns, steps) + int(np.abs(steps[columns.first_t :]).sum()))
        if beyond < LARGEST:
            return tuple(reversed(found))
    return ()


def _members(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Workloads that belong together, and every other one by itself, by their first workloads."""
    group = {w: tuple(sorted(several)) for several in problem.together for w in several}
    return tuple(dict.fromkeys(group.get(w, (w,)) for w in range(len(problem.demands))))
