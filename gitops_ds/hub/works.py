"""ManifestWorks, from plain objects: how far each copy of a ManifestWorkReplicaSet has got on its cluster.

Owns what their conditions mean. A work that belongs to no ManifestWorkReplicaSet is nobody's copy.
"""

from __future__ import annotations

from typing import Final

from gitops_ds.hub.node import Node
from gitops_ds.ids import ClusterName, Namespace, WorkloadId, WorkloadName
from gitops_ds.inventory import Work

REPLICA_SET_LABEL: Final = "work.open-cluster-management.io/manifestworkreplicaset"
"""On each work of a ManifestWorkReplicaSet: `<namespace>.<name>` of that; no namespace has a dot."""


def read_work(node: Node) -> Work | None:
    """The work of one copy; its namespace is the cluster's name. None for a work that is nobody's copy.

    A condition counts only where it is about the work as it is now, by the generation that it observed.
    """
    owner = node.at("metadata", "labels").texts().get(REPLICA_SET_LABEL, "")
    namespace, dot, name = owner.partition(".")
    if not (namespace and dot and name):
        return None
    held = _conditions(node)
    return Work(
        workload=WorkloadId(Namespace(namespace), WorkloadName(name)),
        cluster=ClusterName(node.at("metadata", "namespace").text()),
        applied=held.get("Applied", False),
        available=held.get("Available", False),
        ending=node.at("metadata", "deletionTimestamp").value is not None,
    )


def _conditions(node: Node) -> dict[str, bool]:
    generation = node.at("metadata", "generation").value
    found = {}
    for one in node.at("status", "conditions").items():
        observed = one.at("observedGeneration").value
        is_old = isinstance(generation, int) and isinstance(observed, int) and observed < generation
        found[one.at("type").needed_text()] = one.at("status").needed_text() == "True" and not is_old
    return found
