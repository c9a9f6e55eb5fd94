"""`Transit`: what is in flight between two settled blueprints. It stands in the lock while it lasts, and only then.

Owns the value.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitops_ds.blueprint import Blueprint
from gitops_ds.ids import ClusterName, WorkloadId

Copy = tuple[WorkloadId, ClusterName]
"""One copy of a workload: the workload, and the cluster that it is on."""


@dataclass(frozen=True, slots=True)
class Transit:
    """A move that takes several commits.

    Attributes:
        origin: the last settled blueprint, without its scorings: where an abort leads back to.
        number: how many phases have been committed.
        adding: the copies that came while others of their workload are still to leave, sorted.
        changing: the clusters that got another policy and have not shown yet that they comply with it, sorted.
    """

    origin: Blueprint
    number: int = 0
    adding: tuple[Copy, ...] = ()
    changing: tuple[ClusterName, ...] = ()
