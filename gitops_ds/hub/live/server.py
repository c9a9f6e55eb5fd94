"""`ApiServer`: calls to one hub's API server that are tried again where that can help, and whole lists or nothing.

Owns tries, backoff, pages and expired continue tokens. Owns no way to credentials (`connect.py`) and no kind's fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, NoReturn, Self, TypeVar

from kubernetes.client import ApiClient

from gitops_ds.errors import HubAbsent, HubConflict, HubError, HubExpired, HubUnreachable
from gitops_ds.hub.live import refusals
from gitops_ds.hub.live.resources import Resource
from gitops_ds.hub.live.transport import (
    Answer,
    Deadline,
    Limits,
    MalformedError,
    NoAnswerError,
    Request,
    as_object,
    chunks,
    exchange,
    open_response,
)

MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
PAGE: Final = 500
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_LATER: Final = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0

T = TypeVar("T")


@dataclass
class ApiServer:
    """One hub. `name` is how it is called in plans and faults, such as `kubernetes:prod`.

    A context manager: it closes its connections.
    """

    name: str
    client: ApiClient
    limits: Limits
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    _versions: dict[Resource, str] = field(default_factory=dict, init=False, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self.client.rest_client.pool_manager.clear()

    @property
    def host(self) -> str:
        """The API server's address."""
        return str(self.client.configuration.host)

    def deadline(self, seconds: float | None = None) -> Deadline:
        """The instant that is `seconds` (default: the limit for a whole reading) from now."""
        return Deadline(self.clock() + (self.limits.total if seconds is None else seconds), self.clock)

    def version_of(self, resource: Resource) -> str:
        """The resourceVersion of the last whole list of `resource`; "" before the first."""
        return self._versions.get(resource, "")

    def list_all(
        self,
        resource: Resource,
        keep: Callable[[dict[str, Any]], T],
        *,
        selector: str = "",
        namespace: str | None = None,
        page: int = PAGE,
        deadline: Deadline | None = None,
    ) -> list[T]:
        """What `keep` makes of every object of a list, page by page, so that no more than a page is held unreduced.

        A list whose continue token has expired is begun again; what was kept of it is dropped.

        Raises:
            HubUnreachable: a page did not come, whatever was tried; nothing of the list counts then.
            HubAbsent: the hub does not serve the kind.
            HubError: it refuses, or its answer is no list.
        """
        until = deadline or self.deadline()
        query = (("limit", str(page)), *((("labelSelector", selector),) if selector else ()))
        request = Request("GET", resource.path(namespace), query, "list", resource, namespace)
        for _ in range(self.limits.restarts + 1):
            try:
                return self._whole_list(request, keep, until)
            except HubExpired:
                continue
        raise HubUnreachable(refusals.expired(self.name, resource, self.limits.restarts + 1))

    def _whole_list(self, first: Request, keep: Callable[[dict[str, Any]], T], deadline: Deadline) -> list[T]:
        kept: list[T] = []
        request, tokens = first, set[str]()
        while True:
            answer = self._ask(request, deadline)
            if answer.status != 200:
                self._refuse(answer, request, deadline)
            metadata, items = self._page(answer, request)
            kept += [keep(item) for item in items]
            token = metadata.get("continue") or ""
            if not token:
                if first.resource is not None:
                    self._versions[first.resource] = str(metadata.get("resourceVersion") or "")
                return kept
            if token in tokens:
                raise HubError(refusals.malformed(self.name, request, "its pages go round in a circle"))
            tokens.add(token)
            request = replace(first, query=(*first.query, ("continue", token)))

    def _page(self, answer: Answer, request: Request) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
        body = self._object(answer, request)
        items, metadata = body.get("items"), body.get("metadata")
        if "items" in body and items is None:
            items = []  # Go writes a list that was never filled as null
        if not isinstance(metadata, dict) or not isinstance(metadata.get("continue") or "", str):
            why = "it is a list without metadata"
        elif not isinstance(items, list):
            why = "it is a list without items"
        elif not all(isinstance(item, dict) for item in items):
            why = "it is a list whose items are no objects"
        else:
            return metadata, items
        raise HubError(refusals.malformed(self.name, request, why))

    def find(
        self, resource: Resource, name: str, namespace: str | None = None, *, deadline: Deadline | None = None
    ) -> dict[str, Any] | None:
        """One object, or None where the hub has none of that name.

        Raises:
            HubUnreachable: no answer came, whatever was tried.
            HubError: it refuses.
        """
        request = Request("GET", resource.path(namespace, name), (), "get", resource, namespace)
        until = deadline or self.deadline()
        answer = self._ask(request, until)
        if answer.status == 404:
            return None
        if answer.status != 200:
            self._refuse(answer, request, until)
        return self._object(answer, request)

    def send(
        self,
        method: str,
        resource: Resource,
        body: Any = None,
        *,
        name: str = "",
        namespace: str | None = None,
        subresource: str = "",
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """Write once: POST, PUT, PATCH or DELETE. A write is never repeated: who sent it decides.

        Raises:
            HubConflict: another writer was first.
            HubUnreachable: no answer came, so it is not known whether the write counts.
            HubError: it refuses.
        """
        path = resource.path(namespace, name, subresource)
        asked = tuple(sorted((query or {}).items()))
        request = Request(method, path, asked, _VERBS[method], resource, namespace, body, content_type)
        until = self.deadline(self.limits.read)
        answer = self._ask(request, until, tries=1)
        if not 200 <= answer.status < 300:
            self._refuse(answer, request, until)
        return self._object(answer, request)

    def watch(
        self, resource: Resource, *, since: str, seconds: int, namespace: str | None = None, selector: str = ""
    ) -> Iterator[dict[str, Any]]:
        """The events (`type`, `object`) after the version `since`, as they come, for at most `seconds`.

        Raises:
            HubExpired: the hub has forgotten that version: list anew.
            HubUnreachable: the stream broke off.
            HubError: it refuses.
        """
        query = [("watch", "true"), ("resourceVersion", since), ("timeoutSeconds", str(seconds))]
        query += [("labelSelector", selector)] if selector else []
        request = Request("GET", resource.path(namespace), tuple(query), "watch", resource, namespace)
        patient = replace(self.limits, read=seconds + self.limits.read)  # nothing may change for as long as that
        until = self.deadline(patient.read)
        try:
            response = open_response(self.client, request, patient, until)
            try:
                if response.status != 200:
                    answer = Answer(response.status, response.headers, b"".join(chunks(response, until)))
                    self._refuse(answer, request, until)
                yield from self._events(chunks(response, until), request)
            finally:
                response.close()
        except NoAnswerError as failure:
            raise self._unanswered(failure, request, 1) from failure

    def _events(self, pieces: Iterator[bytes], request: Request) -> Iterator[dict[str, Any]]:
        rest = b""
        for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in filter(bytes.strip, lines):
                event = self._object(Answer(200, {}, line), request)
                if event.get("type") == "ERROR":
                    status = event.get("object")
                    code = status.get("code") if isinstance(status, dict) else None
                    answer = Answer(code if isinstance(code, int) else 500, {}, json.dumps(status).encode())
                    kind = HubExpired if code == 410 else HubUnreachable
                    raise kind(refusals.refused(self.name, answer, request))
                yield event

    def _ask(self, request: Request, deadline: Deadline, tries: int | None = None) -> Answer:
        """The answer, unless it is one that may be another one later: then it is asked for again, after a pause."""
        most = self.limits.tries if tries is None else tries
        for tried in range(1, most + 1):
            answer: Answer | None = None
            if not deadline.left:
                raise HubUnreachable(refusals.out_of_time(self.name, request, self.limits.total))
            try:
                answer = exchange(self.client, request, self.limits, deadline)
                if answer.status not in _LATER:
                    return answer
                told = HubUnreachable(refusals.busy(self.name, answer, request, tried))
            except NoAnswerError as failure:
                error = self._unanswered(failure, request, tried)
                if not isinstance(error, HubUnreachable):
                    raise error from failure
                told = error
            pause = self._pause(tried, answer)
            if tried == most or pause >= deadline.left:
                raise told
            self.sleep(pause)
        raise AssertionError("a call is tried at least once")

    def _pause(self, tried: int, answer: Answer | None) -> float:
        """Seconds until the next try: what the server asks for, else twice as long each time, spread by chance."""
        asked = (answer.headers.get("Retry-After") or "") if answer else ""
        if asked.isascii() and asked.isdigit() and len(asked) < 10:
            return float(asked)
        return float(min(_FIRST_PAUSE * 2 ** (tried - 1), _LONGEST_PAUSE)) * (0.5 + self.jitter() / 2)

    def _unanswered(self, failure: NoAnswerError, request: Request, tries: int) -> HubError:
        kind = HubUnreachable if failure.transient else HubError
        return kind(refusals.unreachable(self.name, self.host, failure, request, tries))

    def _object(self, answer: Answer, request: Request) -> dict[str, Any]:
        try:
            return as_object(answer.body)
        except MalformedError as error:
            raise HubError(refusals.malformed(self.name, request, str(error))) from None

    def _refuse(self, answer: Answer, request: Request, deadline: Deadline) -> NoReturn:
        """Raise what a status that is no success means."""
        match answer.status:
            case 401:
                raise HubError(refusals.unauthorized(self.name, answer))
            case 403:
                raise HubError(refusals.forbidden(self.name, answer, request))
            case 404 if request.verb == "list" and request.resource is not None:
                served = self._served(request.resource, deadline)
                raise HubAbsent(refusals.absent(self.name, request.resource, served))
            case 404:
                raise HubError(refusals.not_found(self.name, request))
            case 409:
                raise HubConflict(refusals.conflict(self.name, answer, request))
            case 410:
                raise HubExpired(refusals.refused(self.name, answer, request))
        raise HubError(refusals.refused(self.name, answer, request))

    def _served(self, resource: Resource, deadline: Deadline) -> tuple[str, ...]:
        """The versions that the hub serves of a kind's group; none where it does not know the group.

        Raises:
            HubError: it says that it does serve the kind, so that a 404 to the list is no answer.
        """
        request = Request("GET", f"/apis/{resource.group}")
        found = self._ask(request, deadline)
        if found.status == 404:
            return ()
        if found.status != 200:
            raise HubError(refusals.refused(self.name, found, request))
        told = self._object(found, request).get("versions")
        several = told if isinstance(told, list) else []
        served = tuple(sorted(str(one.get("version")) for one in several if isinstance(one, dict)))
        if resource.version in served:
            request = Request("GET", f"/apis/{resource.group}/{resource.version}")
            kinds = self._object(self._ask(request, deadline), request).get("resources")
            if any(isinstance(one, dict) and one.get("name") == resource.plural for one in kinds or ()):
                why = f"it lists {resource.plural} among what it serves, and answers a list of them with 404"
                raise HubUnreachable(refusals.malformed(self.name, request, why))
        return served
