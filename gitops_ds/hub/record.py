"""A hub's objects as a snapshot holds them: the fields that count, nothing secret, and a file for each that stays put.

Owns which fields are kept and in which file an object stands. Owns no reading of a hub and touches no file system.

Where a snapshot is kept in git, its diffs are to be read: objects are sorted, a file holds those of one kind and
namespace (a cluster's scores, for one), and kinds whose objects are long have a file for each. What changes without
anything being different (resource versions, ids, who manages which field) is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from gitops_ds.errors import Fault, HubError
from gitops_ds.hub.flatten import KubeObject
from gitops_ds.hub.node import read_instant
from gitops_ds.hub.objects import RECORDED_FROM, SNAPSHOT
from gitops_ds.hub.placements import SELECTOR
from gitops_ds.hub.redact import without_credentials, without_secrets
from gitops_ds.yamltext import write_document

CAPTURED: Final = "captured.yaml"
"""The file that says when and from which hub."""
_ALL: Final = None
_METADATA: Final = (
    "name",
    "namespace",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
)
_CLUSTER_SPEC: Final = ("hubAcceptsClient", "leaseDurationSeconds", "taints")
_CLUSTER_STATUS: Final = ("conditions", "allocatable", "capacity", "clusterClaims", "version")
_SPEC: Final[Mapping[str, tuple[str, ...]]] = {"ManagedCluster": _CLUSTER_SPEC, "ManifestWork": ()}
"""What is kept of a spec that is not kept whole. A ManifestWork repeats what its ManifestWorkReplicaSet carries."""
_STATUS: Final[Mapping[str, tuple[str, ...] | None]] = {
    "ManagedCluster": _CLUSTER_STATUS,
    "AddOnPlacementScore": _ALL,
    "Placement": ("conditions", "numberOfSelectedClusters"),
    "PlacementDecision": ("decisions",),
    "Policy": ("compliant", "status"),
    "ManifestWorkReplicaSet": ("conditions", "summary"),
    "ManifestWork": ("conditions",),
    "DynamicScorer": _ALL,
}
_ONE_EACH: Final = frozenset({"ManagedCluster", "Policy", "ManifestWorkReplicaSet"})
_SAFE: Final = re.compile(r"[a-z0-9][a-z0-9.-]*")
_LONGEST: Final = 200
_OURS: Final = re.compile(r"[a-z]+s(?:/[a-z0-9][a-z0-9.-]*){0,2}\.yaml")


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One object in its file: files hold their entries in this order."""

    path: str
    key: tuple[str, str]
    content: bytes = field(compare=False, repr=False)


def entry(item: KubeObject) -> Entry:
    """The object as it stands in a snapshot.

    Raises:
        HubError: it holds a number that no reader of YAML takes.
    """
    body = recorded(item)
    metadata = body["metadata"]
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    try:
        content = write_document(body, floats=True)
    except (TypeError, ValueError) as error:
        what = f"{item.kind}/{name}{f' ({namespace})' if namespace else ''} cannot be saved"
        raise HubError(Fault(what, item.source.at(), str(error))) from None
    return Entry(_path(item.kind, namespace, name), (namespace, name), content)


def recorded(item: KubeObject) -> dict[str, Any]:
    """What is kept of an object: nothing that a Secret holds, and no credential. What is of no known shape stays."""
    if item.kind == "CustomResourceDefinition":
        return _definition(item.value)
    kept = {key: value for key, value in item.value.items() if key not in ("metadata", "spec", "status")}
    if "spec" in item.value:
        kept |= _some(item.value, "spec", _SPEC.get(item.kind, _ALL))
    if item.kind in _STATUS:
        kept |= _some(item.value, "status", _STATUS[item.kind])
    clean: dict[str, Any] = without_secrets(kept)
    return {**clean, "metadata": _metadata(item.value.get("metadata"))}


def snapshot_files(entries: Iterable[Entry], hub: str, captured: datetime) -> dict[str, bytes]:
    """The files of a snapshot, by path below its folder, sorted.

    Args:
        entries: the objects, in any order.
        hub: the hub's name, `kubernetes:` and a context.
        captured: when it was read.
    """
    group, version, kind = SNAPSHOT
    about = {
        "apiVersion": f"{group}/{version}",
        "kind": kind,
        "metadata": {"name": "hub"},
        RECORDED_FROM: hub,
        "capturedAt": captured.isoformat().replace("+00:00", "Z"),
    }
    files = {CAPTURED: write_document(about)}
    for path, several in groupby(sorted(entries), lambda one: one.path):
        files[path] = b"---\n".join(one.content for one in several)
    return dict(sorted(files.items()))


def is_ours(path: str) -> bool:
    """Whether a file of that path below a snapshot's folder may be one that `snapshot_files` gave."""
    return path == CAPTURED or _OURS.fullmatch(path) is not None


def differ(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> bool:
    """Whether two snapshots differ in more than the instant."""
    same = {path: content for path, content in one.items() if path != CAPTURED}
    return same != {path: content for path, content in other.items() if path != CAPTURED}


def _path(kind: str, namespace: str, name: str) -> str:
    plural = f"{kind.lower().removesuffix('y')}ies" if kind.endswith("y") else f"{kind.lower()}s"
    parts = [
        plural,
        *([_file_name(namespace)] if namespace else []),
        *([_file_name(name)] if kind in _ONE_EACH else []),
    ]
    return f"{'/'.join(parts)}.yaml"


def _file_name(name: str) -> str:
    """A name as a part of a path: as it is, or where it is too long or no name for a file, cut and with a digest."""
    if _SAFE.fullmatch(name) and len(name) <= _LONGEST:
        return name
    start = re.sub(r"[^a-z0-9.-]", "-", name.lower())[:_LONGEST].lstrip(".-") or "x"
    return f"{start}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}"


def _some(body: Mapping[str, Any], key: str, kept: tuple[str, ...] | None) -> dict[str, Any]:
    """The fields of `body[key]` that are kept; nothing where none is there."""
    value = body.get(key)
    if kept is None or not isinstance(value, dict):
        return {key: value} if value is not None else {}
    found = {name: value[name] for name in kept if name in value}
    return {key: found} if found else {}


def _metadata(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    found = {key: value[key] for key in _METADATA if key in value}
    notes = found.get("annotations")
    if isinstance(notes, dict):
        found["annotations"] = without_credentials(notes)
    if "managedFields" in value:
        found["managedFields"] = _last_sign(value["managedFields"])
    return found


def _last_sign(entries: Any) -> Any:
    """The one entry that tells when the status was last written, which is what its age is counted from."""
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        return entries
    times = [read_instant(one["time"]) if isinstance(one.get("time"), str) else None for one in entries]
    if any(moment is None and one.get("time") is not None for one, moment in zip(entries, times, strict=True)):
        return entries
    signs = [(moment, -i) for i, moment in enumerate(times) if moment is not None and _tells_of_status(entries[i])]
    return [entries[-max(signs)[1]]] if signs else []


def _tells_of_status(entry: Mapping[str, Any]) -> bool:
    fields = entry.get("fieldsV1")
    return entry.get("subresource") == "status" or not isinstance(fields, dict) or "f:status" in fields


def _definition(body: Mapping[str, Any]) -> dict[str, Any]:
    """Of the definition of Placement, how far it tells by what a cluster can be selected."""
    versions = _at(body, ("spec", "versions"))
    kept = [dict(_version(one)) for one in versions] if isinstance(versions, list) else versions
    name = _at(body, ("metadata", "name"))
    head = {key: body[key] for key in ("apiVersion", "kind")}
    return {**head, "metadata": {"name": name}, "spec": {"versions": kept}}


def _version(version: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(version, dict):
        yield from ((key, version[key]) for key in ("name", "served", "storage") if key in version)
        by = _at(version, SELECTOR)
        if isinstance(by, dict):
            found: Any = {key: {} for key in by}
            for key in reversed(SELECTOR):
                found = {key: found}
            yield from found.items()


def _at(value: Any, path: Iterable[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
