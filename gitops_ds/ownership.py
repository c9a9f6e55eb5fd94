"""Whose objects a plan would write over: a name on the hub that is not ours is taken only where the intent says so.

Owns how an object shows whose it is. Owns no rendering and no reading of the hub.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_ds.blueprint import Blueprint
from gitops_ds.errors import Fault, InputError, raise_faults
from gitops_ds.ids import IntentId, Namespace
from gitops_ds.intent.load import LoadedIntent
from gitops_ds.inventory import ExistingBinding, ExistingPlacement, Inventory
from gitops_ds.manifests.metadata import MANAGED_BY, generated_name

OURS: Final = "gitops-ds"
_Key = tuple[str, Namespace, str]
_Existing = ExistingPlacement | ExistingBinding


def refuse_taken(blueprint: Blueprint, inventory: Inventory, intents: Sequence[LoadedIntent]) -> None:
    """Refuse a blueprint that needs the name of a Placement or PlacementBinding that the hub has from somebody else.

    Raises:
        InputError: with every such name that its intent does not adopt.
    """
    there: list[_Existing] = [*inventory.placements, *inventory.bindings]
    foreign = {_key(one): one for one in there if not _is_ours(one)}
    faults = []
    if foreign:
        loaded = {one.id: one for one in intents}
        for key, owner, place in _written(blueprint, loaded):
            if key in foreign and key[2] not in owner.intent.spec.adopt:
                faults.append(_fault(foreign[key], owner, place))
    raise_faults(InputError, faults)


def _written(
    blueprint: Blueprint, intents: dict[IntentId, LoadedIntent]
) -> Iterator[tuple[_Key, LoadedIntent, tuple[str | int, ...]]]:
    """The objects that are written, with their intents, and the field of the intent that asks for each."""
    for placed in blueprint.placements:
        owner = intents[placed.intent]
        names = [workload.name for workload in owner.intent.spec.workloads]
        path = ("spec", "workloads", names.index(placed.workload.name), "name")
        yield ("Placement", placed.intent.namespace, placed.placement), owner, path
    for configured in blueprint.configurations:
        owner = intents[configured.intent]
        for kind, prefix in (("Placement", "placement"), ("PlacementBinding", "binding")):
            name = generated_name(prefix, configured.intent, configured.cluster)
            yield (kind, configured.intent.namespace, name), owner, ("spec", "clusters")


def _fault(found: _Existing, owner: LoadedIntent, path: tuple[str | int, ...]) -> Fault:
    kind, namespace, name = _key(found)
    said = found.labels.get(MANAGED_BY)
    what = f"{kind} {namespace}/{name} is on the hub already and is not ours"
    why = f"its label {MANAGED_BY} {'is ' + said if said else 'is missing'}; see {found.source.at('metadata')}"
    fix = f"say that it may be taken over: `adopt: [{name}]` in spec, or use another name, or delete it"
    return Fault(what, owner.at(*path), why, fix)


def _key(one: _Existing) -> _Key:
    kind = "Placement" if isinstance(one, ExistingPlacement) else "PlacementBinding"
    return kind, one.namespace, one.name


def _is_ours(one: _Existing) -> bool:
    return one.labels.get(MANAGED_BY) == OURS
