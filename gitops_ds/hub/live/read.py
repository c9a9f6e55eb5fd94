"""The live hub as an `Inventory`: every kind listed once over the whole hub, and parsed as a snapshot's objects are.

Owns which failures end a reading and which kinds may be absent. Owns no call and no kind's fields. A reading that is
not complete is never used: all lists come, or an error does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from gitops_ds.errors import Fault, HubAbsent, HubError, HubUnreachable, Source, raise_faults
from gitops_ds.hub.flatten import KubeObject
from gitops_ds.hub.live import refusals
from gitops_ds.hub.live.resources import READ, Wanted
from gitops_ds.hub.live.server import ApiServer
from gitops_ds.hub.live.transport import Deadline, Request
from gitops_ds.hub.node import LAST_APPLIED
from gitops_ds.hub.objects import Gathered, assemble, keep, read_object
from gitops_ds.inventory import Inventory, Skipped

_AGED: Final = "AddOnPlacementScore"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    """What is kept of one object, and its namespace and name."""

    key: tuple[str, str]
    value: T


def read_from(server: ApiServer, *, works: bool = True) -> Inventory:
    """The inventory that a hub holds now: the same that a snapshot of the same objects gives.

    Without `works`, ManifestWorks are left out: there are as many as copies, and large.

    Objects are parsed as their page comes, so that no more than a page of them is held as it was read.

    Raises:
        HubUnreachable: the hub gave no answer in time.
        HubError: with every list that was refused, every kind that is missing, and every object that is malformed; a
            malformed score alone is no fault: it counts as missing, and no workload is moved away for it.
    """
    found, skipped = Gathered(), list[Skipped]()
    malformed: list[Fault] = []

    def parsed(item: KubeObject) -> tuple[object, list[Fault]]:
        faults: list[Fault] = []
        return read_object(item, faults), faults

    for values in _lists(server, parsed, skipped, [w for w in READ if works or not w.is_progress]):
        for value, faults in values:
            keep(found, value)
            malformed += faults
    raise_faults(HubError, malformed)
    found.values[Skipped] += skipped
    return assemble(found)


def fetch_live(server: ApiServer) -> Iterator[KubeObject]:
    """Every object of the kinds that are read, one kind after the other, as plain data with `apiVersion` and `kind`.

    Left out: what kubectl applied last, and managedFields but for what tells the age of a score. Use nothing of it
    before it has ended: an error may still come.

    Raises:
        HubError: as `read_from` says, but for malformed objects, which are handed on.
    """
    return fetch_each(server, lambda item: item)


def fetch_each(server: ApiServer, make: Callable[[KubeObject], T]) -> Iterator[T]:
    """What `make` makes of every object, as its page comes: no more than a page is held as it was read.

    Raises:
        HubError: as `fetch_live` says.
    """
    for values in _lists(server, make, [], READ):
        yield from values


def _lists(
    server: ApiServer, make: Callable[[KubeObject], T], skipped: list[Skipped], kinds: Sequence[Wanted]
) -> Iterator[list[T]]:
    """What `make` makes of the objects of each kind; at the end, every refusal at once."""
    faults: list[Fault] = []
    deadline = server.deadline()
    for wanted in kinds:
        try:
            yield _one_list(server, wanted, make, deadline)
        except HubUnreachable:
            raise
        except HubAbsent as error:
            if wanted.needed:
                faults += [replace(fault, fix=f"{fault.fix}; {wanted.install}") for fault in error.faults]
            else:
                skipped.append(Skipped(wanted.resource.kind, error.faults[0].what))
        except HubError as error:
            faults += error.faults
    raise_faults(HubError, faults)


def _one_list(server: ApiServer, wanted: Wanted, make: Callable[[KubeObject], T], deadline: Deadline) -> list[T]:
    resource, source = wanted.resource, Source(server.name)
    request = Request("GET", resource.path(None, wanted.name))

    def kept(raw: dict[str, Any]) -> _Kept[T]:
        return _Kept(_key(raw, wanted, server, request), make(KubeObject(_reduced(raw, wanted), source)))

    if wanted.name:
        one = server.find(resource, wanted.name, deadline=deadline)
        return [] if one is None else [kept(one).value]
    found = server.list_all(resource, kept, selector=wanted.selector, page=wanted.page, deadline=deadline)
    if len({one.key for one in found}) < len(found):
        raise HubUnreachable(refusals.malformed(server.name, request, "an object stands twice in one list"))
    return [one.value for one in found]


def _key(raw: Mapping[str, Any], wanted: Wanted, server: ApiServer, request: Request) -> tuple[str, str]:
    """Namespace and name, which no object comes without."""
    metadata: Any = raw.get("metadata")
    fields: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
    namespace, name = fields.get("namespace") if wanted.resource.namespaced else "", fields.get("name")
    if not isinstance(name, str) or not name or not isinstance(namespace, str):
        why = f"a {wanted.resource.kind} without a name, or without a namespace"
        raise HubError(refusals.malformed(server.name, request, why))
    return namespace, name


def _reduced(raw: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    """The object with its kind said, and without what nobody looks at and is large."""
    metadata = dict(raw["metadata"])
    managed = metadata.pop("managedFields", None)
    if wanted.resource.kind == _AGED and managed is not None:
        metadata["managedFields"] = [_sign(entry) for entry in managed] if isinstance(managed, list) else managed
    notes = metadata.get("annotations")
    if isinstance(notes, dict) and LAST_APPLIED in notes:
        metadata["annotations"] = {key: value for key, value in notes.items() if key != LAST_APPLIED}
    resource = wanted.resource
    api = f"{resource.group}/{resource.version}" if resource.group else resource.version
    return {**raw, "apiVersion": api, "kind": resource.kind, "metadata": metadata}


def _sign(entry: Any) -> Any:
    """An entry of managedFields with no more of its fields than whether the status is among them."""
    if not isinstance(entry, dict) or not isinstance(entry.get("fieldsV1"), dict):
        return entry
    return {**entry, "fieldsV1": {key: {} for key in ("f:status",) if key in entry["fieldsV1"]}}
