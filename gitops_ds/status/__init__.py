"""What git holds, held against what the hub has made of it.

Owns what counts as being in place, and the words for what is not. Pure: what git and the hub hold is handed in. Owns no
plan: nothing is solved here, and what should be elsewhere is not asked.
"""

from gitops_ds.status.judge import status_of
from gitops_ds.status.rendered import Rendered, read_rendered
from gitops_ds.status.value import (
    CODES,
    ClusterState,
    Copy,
    Finding,
    GateState,
    Leftover,
    ObjectState,
    ScoreAge,
    Status,
    WorkloadState,
)

__all__ = [
    "CODES",
    "ClusterState",
    "Copy",
    "Finding",
    "GateState",
    "Leftover",
    "ObjectState",
    "Rendered",
    "ScoreAge",
    "Status",
    "WorkloadState",
    "read_rendered",
    "status_of",
]
