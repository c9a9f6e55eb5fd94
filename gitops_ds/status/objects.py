"""Rendered objects against those on the hub: whether each is there as it was rendered, and which are left over.

Owns what counts as the same. An object on the hub may hold more than git states (defaults, labels of whoever applied
it), but for the few fields that would make it do something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.errors import Path, Source
from gitops_ds.hub.agreement import first_difference
from gitops_ds.hub.node import dotted
from gitops_ds.hub.stated import ObjectSource
from gitops_ds.ids import IntentId, IntentName, Namespace, PlacementName
from gitops_ds.intent.load import Intents
from gitops_ds.inventory import ExistingPlacement, Inventory, Taint
from gitops_ds.manifests.metadata import INTENT, MANAGED_BY
from gitops_ds.ownership import OURS
from gitops_ds.status.rendered import Key, Rendered
from gitops_ds.status.value import Finding, Leftover

_MEANINGFUL: Final[Mapping[str, tuple[Path, ...]]] = {
    "Placement": (("spec", "clusterSets"), ("spec", "decisionStrategy"), ("spec", "prioritizerPolicy")),
    "PlacementBinding": (("bindingOverrides",), ("subFilter",)),
}
"""Fields that we never render, that no API server fills in, and that change what the object does."""
NO_SELECT: Final = "NoSelect"
_LONGEST: Final = 40


@dataclass(frozen=True, slots=True)
class OnHub:
    """The hub's objects of the kinds that we render, by what each states."""

    stated: Mapping[Key, Mapping[str, Any]]
    placements: Mapping[tuple[Namespace, PlacementName], ExistingPlacement]

    @classmethod
    def of(cls, hub: Inventory) -> OnHub:
        """Those of an inventory."""
        stated: dict[Key, Mapping[str, Any]] = {}
        for placement in hub.placements:
            stated["Placement", placement.namespace, placement.name] = _stated(placement.source)
        for binding in hub.bindings:
            stated["PlacementBinding", binding.namespace, binding.name] = _stated(binding.source)
        for scorer in hub.scorers:
            stated["DynamicScorer", scorer.namespace, scorer.name] = _stated(scorer.source)
        return cls(stated, {(one.namespace, one.name): one for one in hub.placements})


def standing(rendered: Rendered, hub: OnHub, key: Key) -> Iterator[Finding]:
    """What is wrong with one object on the hub, by what git states of it."""
    kind, _, name = key
    mine, theirs = rendered.objects.get(key), hub.stated.get(key)
    if theirs is None:
        yield Finding("missing", f"{kind} {name} is not on the hub: it is not applied yet")
    elif mine is None:
        yield Finding("differs", f"{kind} {name} is in the lock, and rendered/ has no file of it")
    elif (path := first_difference(mine, theirs)) is not None:
        both = f"the hub has {_shown(_at(theirs, path))}, git {_shown(_at(mine, path))}"
        yield Finding("differs", f"{kind} {name}: {dotted(path)} is not as rendered: {both}")
    elif more := sorted(_more(kind, mine, theirs)):
        yield Finding("differs", f"{kind} {name}: the hub has {', '.join(more)}, and git has not")


def tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """Whether a rendered toleration lets a Placement onto a cluster with the taint, for however long."""
    key, exists = toleration.get("key"), toleration.get("operator") == "Exists"
    fits = key == taint.key or (not key and exists)
    return (
        fits
        and (exists or toleration.get("value", "") == taint.value)
        and toleration.get("effect")
        in (
            None,
            "",
            taint.effect,
        )
    )


def leftovers(
    rendered: Rendered, hub: OnHub, said: Intents, mine: Intents
) -> tuple[tuple[Leftover, ...], tuple[str, ...]]:
    """The objects with our label that git does not render, and a note for those whose intent nobody here has.

    Those of another reconciler of this repository are its own affair.
    """
    ours = {*rendered.lock.intents, *_ids(mine)}
    others = _ids(said) - ours
    left, foreign = [], []
    for (kind, namespace, name), stated in sorted(hub.stated.items()):
        labels = stated.get("metadata", {}).get("labels", {})
        if labels.get(MANAGED_BY) != OURS or (kind, namespace, name) in rendered.objects:
            continue
        intent = IntentId(namespace, IntentName(labels.get(INTENT, "")))
        if intent in ours:
            left.append(Leftover(kind, namespace, name, intent.name))
        elif intent not in others:
            where = f"{kind} {namespace}/{name} is on the hub with our label"
            whose = f"for intent {intent.name}, which this repository does not have" if intent.name else "and no intent"
            foreign.append(f"{where} {whose}: it is left over from an earlier one, or another repository's")
    return tuple(left), tuple(foreign)


def _ids(intents: Intents) -> set[IntentId]:
    return {*(one.id for one in intents.placements), *(one.id for one in intents.scorings)}


def _stated(source: Source) -> Mapping[str, Any]:
    return source.stated if isinstance(source, ObjectSource) else {}


def _more(kind: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """The fields that the hub has of its own, and that change what the object does."""
    for path in _MEANINGFUL.get(kind, ()):
        if _at(mine, path) is None and _at(theirs, path) not in (None, {}, [], ""):
            yield dotted(path)


def _at(value: Any, path: Path) -> Any:
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        else:
            value = value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else None
    return value


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
