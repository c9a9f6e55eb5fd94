"""Documents to single Kubernetes objects: `kind: List` and `<X>List` opened, marks moved along with each item.

Owns what counts as one object, in which order objects stand, and which files of a tree hold any. Owns no kind's fields
and no file system: bytes come in, objects go out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final, Protocol

from gitops_ds.errors import Fault, InputError, Path, Source, raise_faults
from gitops_ds.hub.node import type_name
from gitops_ds.yamltext import read_kubernetes

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
"""The endings of files that hold manifests, as kubectl has them."""


class DocumentLike(Protocol):
    """A plain value with its source: what the YAML reader gives, and what a live hub's answer can be put into."""

    @property
    def value(self) -> Any:
        """The plain value; None for an empty document."""

    @property
    def source(self) -> Source:
        """Where it came from, with the marks of its parts."""


@dataclass(frozen=True, slots=True)
class KubeObject:
    """One Kubernetes object as plain data, and where it came from."""

    value: Mapping[str, Any] = field(repr=False)
    source: Source

    @property
    def api(self) -> tuple[str, str]:
        """The API group (empty for the core group) and version."""
        group, _, version = self._word("apiVersion").rpartition("/")
        return group, version

    @property
    def kind(self) -> str:
        """The kind."""
        return self._word("kind")

    def _word(self, key: str) -> str:
        word = self.value.get(key)
        return word if isinstance(word, str) else ""


def objects_from_files(files: Mapping[str, bytes]) -> tuple[DocumentLike, ...]:
    """Read the manifests among `files`, by path, in the order of the paths.

    Args:
        files: What each file holds, by the path to name in messages. Files of other endings are passed by.

    Returns:
        Every document of every file; lists are not yet opened.

    Raises:
        InputError: With all faults of all files that do not read as YAML or JSON.
    """
    documents, faults = documents_and_faults(files)
    raise_faults(InputError, faults)
    return documents


def documents_and_faults(files: Mapping[str, bytes]) -> tuple[tuple[DocumentLike, ...], tuple[Fault, ...]]:
    """Like `objects_from_files`, but the faults are given back beside the documents that do read."""
    documents: list[DocumentLike] = []
    faults: list[Fault] = []
    for path in sorted(files):
        if PurePosixPath(path).suffix.lower() not in SUFFIXES:
            continue
        try:
            documents += read_kubernetes(files[path], path)
        except InputError as error:
            faults += error.faults
    return tuple(documents), tuple(faults)


def flatten(documents: Iterable[DocumentLike], faults: list[Fault]) -> list[KubeObject]:
    """All single objects in `documents`, lists opened at any depth, sorted by place.

    What is no object (no mapping, or without `apiVersion` and `kind`) adds to `faults`; empty documents are passed by.
    """
    found = [item for document in documents for item in _opened(document.value, document.source, faults)]
    return sorted(found, key=lambda item: _position(item.source))


def _opened(value: Any, source: Source, faults: list[Fault]) -> Iterator[KubeObject]:
    if value is None or _is_kustomization(value, source):
        return
    if not isinstance(value, dict):
        faults.append(Fault(f"a manifest must be a mapping, is {type_name(value)}", source.at()))
        return
    item = KubeObject(value, source)
    if _is_list(item):
        for inner, inner_source in _list_items(item, faults):
            yield from _opened(inner, inner_source, faults)
    elif _names_its_kind(item, faults):
        yield item


def _is_list(item: KubeObject) -> bool:
    """A list of objects, and not a kind of its own whose name ends so."""
    return item.kind == "List" or (item.kind.endswith("List") and "items" in item.value and "spec" not in item.value)


def _list_items(item: KubeObject, faults: list[Fault]) -> Iterator[tuple[Any, Source]]:
    items = item.value.get("items")
    if items is None and "items" in item.value:
        return
    if not isinstance(items, list):
        what = "is missing" if items is None else f"must be a list, is {type_name(items)}"
        faults.append(Fault(f"{item.kind}: items: {what}", item.source.at("items")))
        return
    marks = _marks_by_item(item.source)
    for i, inner in enumerate(items):
        yield _typed(inner, item), Source(item.source.file, marks[i])


def _marks_by_item(source: Source) -> defaultdict[int, dict[Path, tuple[int, int]]]:
    """The marks below `items`, by item, each path from the item's own root. One pass, however many items."""
    found: defaultdict[int, dict[Path, tuple[int, int]]] = defaultdict(dict)
    for path, mark in source.marks.items():
        if len(path) > 1 and path[0] == "items" and isinstance(path[1], int):
            found[path[1]][path[2:]] = mark
    return found


def _typed(inner: Any, outer: KubeObject) -> Any:
    """An item of an `<X>List` as the API server gives it may leave out its kind, since the list says it."""
    if not isinstance(inner, dict) or outer.kind == "List" or "kind" in inner:
        return inner
    return {"apiVersion": outer.value.get("apiVersion"), "kind": outer.kind.removesuffix("List"), **inner}


def _names_its_kind(item: KubeObject, faults: list[Fault]) -> bool:
    missing = [key for key in ("apiVersion", "kind") if not item.value.get(key)]
    wrong = [key for key in ("apiVersion", "kind") if key not in missing and not isinstance(item.value[key], str)]
    if missing:
        what = f"this document has no {' and no '.join(missing)}"
        faults.append(Fault(what, item.source.at(), fix="keep only Kubernetes manifests here"))
    faults += [Fault(f"{key} must be text, is {type_name(item.value[key])}", item.source.at(key)) for key in wrong]
    return not missing and not wrong


def _is_kustomization(value: Any, source: Source) -> bool:
    """Whether it is a file of kustomize's own, which may stand without apiVersion and kind."""
    stem = PurePosixPath(source.file).stem.lower()
    return stem == "kustomization" and isinstance(value, dict) and "kind" not in value


def _position(source: Source) -> tuple[str, int, int]:
    place = source.at()
    return place.file, place.line or 0, place.column or 0
