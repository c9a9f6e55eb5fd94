"""Plain Kubernetes objects to an `Inventory`: which kinds count, under which versions, and that each stands once.

Owns the table of kinds and the gathering of all faults of one reading. Owns no field of any kind (the modules named
after the kinds do), and no fetching: what a live hub answers and what a folder holds come here in one form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from gitops_ds.errors import Fault, InputError, Source, raise_faults
from gitops_ds.hub.clusters import read_cluster, read_cluster_set, read_set_binding
from gitops_ds.hub.flatten import DocumentLike, KubeObject, flatten
from gitops_ds.hub.node import Node
from gitops_ds.hub.placements import (
    CelSupport,
    join_decisions,
    read_binding,
    read_decision,
    read_definition,
    read_placement,
)
from gitops_ds.hub.scores import read_score, read_scorer, unreadable_score
from gitops_ds.hub.workloads import read_policy, read_workload
from gitops_ds.hub.works import read_work
from gitops_ds.inventory import (
    Cluster,
    ClusterSet,
    ExistingBinding,
    ExistingPlacement,
    Inventory,
    PlacementResult,
    Policy,
    ScoreObject,
    Scorer,
    SetBinding,
    Skipped,
    Work,
    Workload,
)

CLUSTER_GROUP: Final = "cluster.open-cluster-management.io"
POLICY: Final = ("policy.open-cluster-management.io", "Policy")
WORKLOAD: Final = ("work.open-cluster-management.io", "ManifestWorkReplicaSet")
WORK: Final = ("work.open-cluster-management.io", "ManifestWork")
SET_BINDING: Final = (CLUSTER_GROUP, "ManagedClusterSetBinding")
SNAPSHOT: Final = ("gitops-ds.io", "v1alpha1", "HubSnapshot")
RECORDED_FROM: Final = "hub"
"""The field of a HubSnapshot that names the live hub which `gitops-ds snapshot` recorded: it replays as that did."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """How objects of one kind are read: the one version that is served, and whether they have a namespace."""

    version: str
    namespaced: bool
    read: Callable[[Node], object]


_KINDS: Final[Mapping[tuple[str, str], _Kind]] = {
    (CLUSTER_GROUP, "ManagedCluster"): _Kind("v1", False, read_cluster),
    (CLUSTER_GROUP, "ManagedClusterSet"): _Kind("v1beta2", False, read_cluster_set),
    SET_BINDING: _Kind("v1beta2", True, read_set_binding),
    (CLUSTER_GROUP, "AddOnPlacementScore"): _Kind("v1alpha1", True, read_score),
    (CLUSTER_GROUP, "Placement"): _Kind("v1beta1", True, read_placement),
    (CLUSTER_GROUP, "PlacementDecision"): _Kind("v1beta1", True, read_decision),
    POLICY: _Kind("v1", True, read_policy),
    (POLICY[0], "PlacementBinding"): _Kind("v1", True, read_binding),
    WORKLOAD: _Kind("v1alpha1", True, read_workload),
    WORK: _Kind("v1", True, read_work),
    ("dynamic-scoring.open-cluster-management.io", "DynamicScorer"): _Kind("v1alpha1", True, read_scorer),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _Kind("v1", False, read_definition),
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Gathered:
    """The values that were read, by type, each object once; and how many objects of each other kind stood by."""

    values: defaultdict[type, list[Any]] = field(default_factory=lambda: defaultdict(list))
    passed_by: Counter[str] = field(default_factory=Counter)

    def of(self, wanted: type[T], key: Callable[[T], Any]) -> tuple[T, ...]:
        """The values of one type, sorted by `key`."""
        return tuple(sorted(self.values[wanted], key=key))


def parse_objects(documents: Iterable[DocumentLike]) -> Inventory:
    """The inventory that `documents` hold: single objects and lists of them, in any order.

    Args:
        documents: Plain values with their sources. Objects of other kinds are passed by; `skipped` says how many.

    Raises:
        InputError: With every fault: wrong shapes, versions that are not served, and objects that stand twice with
            different content.
    """
    faults: list[Fault] = []
    inventory = parse(documents, faults)
    raise_faults(InputError, faults)
    return inventory


def parse(documents: Iterable[DocumentLike], faults: list[Fault]) -> Inventory:
    """Like `parse_objects`, but faults are added to `faults`; with any, the inventory is not to be used."""
    snapshots: list[KubeObject] = []
    objects: list[KubeObject] = []
    for item in flatten(documents, faults):
        (snapshots if (*item.api, item.kind) == SNAPSHOT else objects).append(item)
    recorded = any(RECORDED_FROM in item.value for item in snapshots)
    found = gather(objects, faults, _KINDS.keys(), recorded=recorded)
    return assemble(found, _captured_at(snapshots, faults))


def assemble(found: Gathered, captured_at: datetime | None = None) -> Inventory:
    """The inventory of all that was read, sorted."""
    return Inventory(
        clusters=found.of(Cluster, lambda c: c.name),
        scores=found.of(ScoreObject, lambda s: (s.cluster, s.name)),
        policies=found.of(Policy, lambda p: p.id),
        workloads=found.of(Workload, lambda w: w.id),
        cluster_sets=found.of(ClusterSet, lambda s: s.name),
        set_bindings=found.of(SetBinding, lambda b: b),
        placements=found.of(ExistingPlacement, lambda p: (p.namespace, p.name)),
        bindings=found.of(ExistingBinding, lambda b: (b.namespace, b.name)),
        results=join_decisions(found.values[PlacementResult]),
        works=found.of(Work, lambda w: w),
        scorers=found.of(Scorer, lambda s: (s.namespace, s.name)),
        placement_has_cel=any(support.known for support in found.values[CelSupport]),
        captured_at=captured_at,
        skipped=_skipped(found),
    )


def served_as(group: str, kind: str) -> tuple[str, bool]:
    """The version under which a kind is read, and whether its objects have a namespace.

    Raises:
        KeyError: no plan looks at this kind.
    """
    return _KINDS[group, kind].version, _KINDS[group, kind].namespaced


def gather(
    objects: Iterable[KubeObject], faults: list[Fault], kinds: Collection[tuple[str, str]], *, recorded: bool = False
) -> Gathered:
    """Read the objects whose (group, kind) is among `kinds`; count the others. `recorded`: as a live hub's."""
    found = Gathered()
    seen: dict[tuple[str, ...], KubeObject] = {}
    for item in objects:
        (group, version), kind = item.api, _KINDS.get((item.api[0], item.kind))
        if kind is None or (group, item.kind) not in kinds:
            found.passed_by[f"{item.kind} ({item.value['apiVersion']})"] += 1
            continue
        node = Node(item.value, item.source, _owner(item), faults)
        if version != kind.version:
            node.at("apiVersion").wrong(
                f"{group or 'v1'} does not serve {item.kind} as {version}", fix=f"write {group}/{kind.version}"
            )
        elif _is_new(item, node, kind, seen):
            keep(found, read_object(item, faults) if recorded else read_whole(node, kind.read))
    return found


def keep(found: Gathered, value: object) -> None:
    """Put one value that was read, or None where there is nothing to tell, to the others of its type."""
    if value is not None:
        found.values[type(value)].append(value)


def read_object(item: KubeObject, faults: list[Fault]) -> object:
    """The value of one object as the hub's API server gave it, of a kind and version that are read.

    A score that does not read right is no fault here: nobody can mend what an agent wrote, and one agent must not stop
    a whole fleet. It has no items then, and says why.
    """
    found: list[Fault] = []
    node = Node(item.value, item.source, _owner(item), found)
    value = read_whole(node, _KINDS[item.api[0], item.kind].read)
    if found and isinstance(value, ScoreObject) and value.cluster and value.name:
        return unreadable_score(value, found)
    faults += found
    return value


def read_whole(node: Node, read: Callable[[Node], object]) -> object:
    """What `read` makes of the object, its labels and annotations looked at too, whatever the kind."""
    node.at("metadata", "labels").texts()
    node.at("metadata", "annotations").texts()
    return read(node)


def _is_new(item: KubeObject, node: Node, kind: _Kind, seen: dict[tuple[str, ...], KubeObject]) -> bool:
    """Whether this object was not met yet. Without a name, or met before with other content, it is a fault."""
    namespace = node.at("metadata", "namespace").needed_text() if kind.namespaced else ""
    name = node.at("metadata", "name").needed_text()
    first = seen.setdefault((*item.api, item.kind, namespace, name), item) if name else item
    if first is item:
        return True
    if first.value != item.value:
        node.wrong(f"stands here and, with different content, at {first.source.at()}", fix="keep one of the two")
    return False


def _captured_at(objects: Iterable[KubeObject], faults: list[Fault]) -> datetime | None:
    """The instant that the HubSnapshot documents name; two that name different ones are a fault."""
    first: tuple[datetime, Source] | None = None
    for item in objects:
        node = Node(item.value, item.source, _owner(item), faults).at("capturedAt")
        node.needed_text()
        moment = node.instant()
        if moment and first and moment != first[0]:
            node.wrong(f"is not the instant that {first[1].at('capturedAt')} names", fix="keep the snapshots apart")
        if moment and not first:
            first = moment, item.source
    return first[0] if first else None


def _owner(item: KubeObject) -> str:
    """Kind and name, as messages have it: `Policy/policy-a (default)`."""
    metadata = item.value.get("metadata")
    name, namespace = (metadata.get("name"), metadata.get("namespace")) if isinstance(metadata, dict) else ("", "")
    head = f"{item.kind}/{name}" if name else item.kind
    return f"{head} ({namespace})" if namespace else head


def _skipped(found: Gathered) -> tuple[Skipped, ...]:
    counted = [
        Skipped(kind, f"no plan looks at this kind: {count} object{'s' if count > 1 else ''}")
        for kind, count in found.passed_by.items()
    ]
    return tuple(sorted([*found.values[Skipped], *counted], key=lambda s: (s.what, s.why)))
