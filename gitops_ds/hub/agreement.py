"""The repository's own objects joined with the hub's: an object in both places must say the same.

Owns what agreement means: all that the repository states in labels, annotations and spec is found on the hub, which may
hold more (defaults, tracking labels). Owns no reading of either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from gitops_ds.errors import Fault, InputError, Path, raise_faults
from gitops_ds.hub.flatten import DocumentLike, flatten
from gitops_ds.hub.node import dotted
from gitops_ds.hub.objects import POLICY, SET_BINDING, WORKLOAD, gather
from gitops_ds.hub.stated import ObjectSource
from gitops_ds.inventory import Inventory, Policy, SetBinding, Skipped, Workload

_COUNTED: Final = (POLICY, WORKLOAD, SET_BINDING)
T = TypeVar("T", Policy, Workload)


def merge_repository(inventory: Inventory, repository_documents: Iterable[DocumentLike]) -> Inventory:
    """`inventory` with the Policies, ManifestWorkReplicaSets and set bindings that the repository holds.

    An object in both places keeps what the repository states, points at the repository's file, and has its compliance
    from the hub. Objects of other kinds in the repository are passed by.

    Raises:
        InputError: With every fault of the repository's objects, and one for each object that the hub holds otherwise:
            it names both places and the first field that differs.
    """
    faults: list[Fault] = []
    found = gather(flatten(repository_documents, faults), faults, _COUNTED)
    policies = {policy.id: policy for policy in inventory.policies}
    for policy in found.of(Policy, lambda p: p.id):
        policies[policy.id] = _joined_policy(policy, policies.get(policy.id), faults)
    workloads = {workload.id: workload for workload in inventory.workloads}
    for workload in found.of(Workload, lambda w: w.id):
        faults += _disagreement("ManifestWorkReplicaSet", workload, workloads.get(workload.id))
        workloads[workload.id] = workload
    raise_faults(InputError, faults)
    return replace(
        inventory,
        policies=tuple(policies[key] for key in sorted(policies)),
        workloads=tuple(workloads[key] for key in sorted(workloads)),
        set_bindings=tuple(sorted({*inventory.set_bindings, *found.values[SetBinding]})),
        skipped=tuple(sorted({*inventory.skipped, *found.values[Skipped]}, key=lambda s: (s.what, s.why))),
    )


def first_difference(stated: Any, held: Any, path: Path = ()) -> Path | None:
    """The path of the first thing that `stated` says and `held` does not, keys in sorted order; None if it says all.

    Lists must be of one length. What is absent equals null and an empty mapping or list, as for the API server.
    """
    if isinstance(stated, dict) and isinstance(held, dict | None):
        return _first(((key, stated[key], (held or {}).get(key)) for key in sorted(stated, key=str)), path)
    if isinstance(stated, list) and isinstance(held, list | None):
        others = held or []
        if len(stated) != len(others):
            return path
        return _first(((i, item, others[i]) for i, item in enumerate(stated)), path)
    same = stated is None or (stated == held and isinstance(stated, bool) == isinstance(held, bool))
    return None if same else path


def _first(pairs: Iterable[tuple[str | int, Any, Any]], path: Path) -> Path | None:
    found = (first_difference(stated, held, (*path, key)) for key, stated, held in pairs)
    return next((difference for difference in found if difference is not None), None)


def _joined_policy(policy: Policy, on_hub: Policy | None, faults: list[Fault]) -> Policy:
    if on_hub is None:
        return policy
    faults += _disagreement("Policy", policy, on_hub)
    return replace(policy, compliance=on_hub.compliance, disabled=policy.disabled or on_hub.disabled)


def _disagreement(kind: str, ours: T, on_hub: T | None) -> list[Fault]:
    """One fault where the repository's object states what the hub's does not hold."""
    if on_hub is None:
        return []
    path = first_difference(_stated(ours, on_hub), _stated(on_hub, on_hub))
    if path is None:
        return []
    return [
        Fault(
            f"{kind}/{ours.name} ({ours.namespace}): {dotted(path)} is not what the hub holds",
            ours.source.at(*path),
            f"the hub's object stands at {on_hub.source.at(*path)}",
            "apply the repository's object to the hub and save the snapshot anew, or leave it out of the snapshot",
        )
    ]


def _stated(item: T, on_hub: T) -> Mapping[str, Any]:
    """What `item` states; its metadata alone where the hub's side was made without an object, so has no spec."""
    if isinstance(item.source, ObjectSource) and isinstance(on_hub.source, ObjectSource):
        return item.source.stated
    return {"metadata": {"labels": item.labels, "annotations": item.annotations}}
