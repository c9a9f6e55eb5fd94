"""What is maximised, as a list of stages: each in whole numbers, a later one only among the optima of those before it.

    place-first   1. placed copies, the highest priority first   2. score less the cost of changes
    score-first   1. score less the cost of changes   2. placed copies, the highest priority first

and then, in both, 3. least excess over the skews of soft spread rules, 4. fewest changes, and last 5. names: the
written rule for ties, within each independent component. Its workloads are numbered by name from W down to 1 and its
configurations by cluster and policy (none first) from G down to 1; the plan with the largest sum of (number of the
workload) times (number of its configuration) wins, so that the first workload by name takes the first cluster by name.
If two plans are still equal, the larger sum of their pairs' digests decides: of the CRC-32 of the name of the pair's
column, z[namespace/workload,cluster,policy] with `as it is` for no policy, the first 10 bits. Where the first sum is
too large to be exact (W times G times the square of all copies wanted is beyond 2**23), the digests decide alone, with
20 bits.

Members of a class (`classes.py`) count as the first one by name in both sums. So these say how much of a class goes
where; which member gets what of it is handed out afterwards, by the rules of `handout.py`.

Owns the coefficients. Owns neither rows nor the way in which stages are solved.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gitops_ds.problem.classes import classes_of
from gitops_ds.problem.columns import Columns
from gitops_ds.problem.model import Ints

Flags = npt.NDArray[np.bool_]

PLACED = "placed at priority "
POINTS = "score less changes"
"""The name of the stage that counts points."""
NAMES = "names"
"""The name of the stage that decides ties."""
DIGEST_BITS = 10
LONG_DIGEST_BITS = 20
LARGEST_TIE = 2**33
"""Sums beyond this are not trusted to a solver that works in floating point."""


@dataclass(frozen=True)
class Stage:
    """One stage: `coefficient` per column, to be maximised."""

    name: str
    coefficient: Ints


def stages(columns: Columns) -> tuple[Stage, ...]:
    """The stages of the problem's goal and the one for ties, without those that cannot tell two plans apart."""
    ties = names_stage(columns)
    return (*main_stages(columns), *((ties,) if ties.coefficient.any() else ()))


def main_stages(columns: Columns) -> tuple[Stage, ...]:
    """The stages of the problem's goal alone."""
    placed, net = tuple(_placed(columns)), _net_score(columns)
    main = (*placed, net) if columns.problem.goal == "place-first" else (net, *placed)
    return tuple(stage for stage in (*main, _even(columns), _changes(columns)) if stage.coefficient.any())


def _placed(columns: Columns) -> Iterator[Stage]:
    """The sum of z over the workloads of one priority, one stage a priority."""
    problem = columns.problem
    priority = np.array([d.priority for d in problem.demands], dtype=np.int64)
    for level in sorted(set(priority.tolist()), reverse=True):
        counts = (priority[columns.z_workload] == level).astype(np.int64)
        yield Stage(f"{PLACED}{level}", _on_z(columns, counts))


def _net_score(columns: Columns) -> Stage:
    """The sum of score*z - move_cost*(copies that are new to their cluster) - reconfigure_cost*(changed policies).

    A workload that git has nowhere costs nothing, wherever it goes; nor does the first policy of a cluster.
    """
    problem = columns.problem
    score = problem.score[columns.z_workload, columns.z_configuration]
    stays = problem.incumbent[columns.z_workload, columns.z_cluster]
    moved = np.where(problem.running[columns.z_workload] & ~stays, problem.move_cost[columns.z_workload], 0)
    found = _on_z(columns, score - moved)
    cluster = problem.cluster_of[columns.y]
    found[: columns.first_z] = -np.where(_reconfigures(columns), problem.reconfigure_cost[cluster], 0)
    return Stage(POINTS, found)


def _even(columns: Columns) -> Stage:
    """-(excess of each soft spread rule): by what its groups differ beyond the skew, and copies that are in none."""
    problem = columns.problem
    outside = np.zeros(len(columns.z_workload), dtype=np.int64)
    for rule in problem.spreads:
        if not rule.hard:
            members = [c for _, several in rule.groups for c in several]
            mine = columns.z_of_workload(rule.workload)
            outside[mine] += ~np.isin(columns.z_cluster[mine], members)
    found = _on_z(columns, -outside)
    found[columns.first_e :] = [-power for _, power in columns.e]
    return Stage("even spread", found)


def _changes(columns: Columns) -> Stage:
    """-(copies that are new to their cluster) - (changed policies), counted as the costs are."""
    problem = columns.problem
    stays = problem.incumbent[columns.z_workload, columns.z_cluster]
    moved = problem.running[columns.z_workload] & ~stays
    found = _on_z(columns, -moved.astype(np.int64))
    found[: columns.first_z] = -_reconfigures(columns).astype(np.int64)
    return Stage("fewest changes", found)


def names_stage(columns: Columns) -> Stage:
    """The rule for ties of this module's text, both sums in one number where that is exact."""
    problem = columns.problem
    classes = classes_of(problem)
    workload, configuration = classes.first_workload[columns.z_workload], classes.first[columns.z_configuration]
    natural = (len(problem.demands) - workload) * (len(problem.configurations) - configuration)
    most = sum(min(demand.copies, len(problem.clusters)) for demand in problem.demands)
    combined = natural * 2**DIGEST_BITS * most
    if most * int(combined.max(initial=0)) <= LARGEST_TIE:
        return Stage(NAMES, _on_z(columns, combined + _digests(columns, workload, configuration, DIGEST_BITS)))
    return Stage(NAMES, _on_z(columns, _digests(columns, workload, configuration, LONG_DIGEST_BITS)))


def _digests(columns: Columns, workload: Ints, configuration: Ints, bits: int) -> Ints:
    """The digests of the columns of these pairs, by the names that `Columns.name` gives them."""
    wanted, place = np.unique(workload * len(columns.y_of) + configuration, return_inverse=True)
    begun = [zlib.crc32(f"z[{demand.workload},".encode()) for demand in columns.problem.demands]
    ends = [f"{columns.label(g)}]".encode() for g in range(len(columns.y_of))]
    pairs = (divmod(key, len(ends)) for key in wanted.tolist())
    found = np.array([zlib.crc32(ends[g], begun[w]) >> (32 - bits) for w, g in pairs], dtype=np.int64)
    return found[place]


def _reconfigures(columns: Columns) -> Flags:
    """Per y column: whether choosing it changes the policy that git holds for the cluster ("as it is" never does)."""
    problem = columns.problem
    configured = problem.configured[problem.cluster_of[columns.y]]
    chooses = np.array([problem.configurations[g].policy is not None for g in columns.y.tolist()], dtype=np.bool_)
    found: Flags = (configured >= 0) & (configured != columns.y) & chooses
    return found


def _on_z(columns: Columns, values: Ints) -> Ints:
    found = np.zeros(columns.count, dtype=np.int64)
    found[columns.first_z : columns.first_t] = values
    return found
