"""A hub to test against: kmock's Kubernetes emulator behind a real port, taught what a hub's clients lean on.

kmock gives the HTTP server, the reading of requests, Status errors and discovery. Added here: resource versions, lists
with limit, continue tokens and selectors, conflicts, patches, the status subresource, watches from a version, tokens,
TLS, and failures to order. The server runs in a thread, so that the real, synchronous client can be used in a test.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import aiohttp.web
import attrs
import jsonpatch
import kmock
import trustme
import yaml
from aiohttp.test_utils import RawTestServer

Obj = dict[str, Any]
Key = tuple[str, str]
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Kind:
    """A kind that the hub serves; with `status` it has that subresource, as every kind of OCM does."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = True

    @property
    def api(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


CLUSTER, POLICY = "cluster.open-cluster-management.io", "policy.open-cluster-management.io"
WORK, DSF = "work.open-cluster-management.io", "dynamic-scoring.open-cluster-management.io"
KINDS = (
    Kind(CLUSTER, "v1", "managedclusters", "ManagedCluster", namespaced=False),
    Kind(CLUSTER, "v1beta2", "managedclustersets", "ManagedClusterSet", namespaced=False),
    Kind(CLUSTER, "v1beta2", "managedclustersetbindings", "ManagedClusterSetBinding"),
    Kind(CLUSTER, "v1alpha1", "addonplacementscores", "AddOnPlacementScore"),
    Kind(CLUSTER, "v1beta1", "placements", "Placement"),
    Kind(CLUSTER, "v1beta1", "placementdecisions", "PlacementDecision"),
    Kind(POLICY, "v1", "policies", "Policy"),
    Kind(POLICY, "v1", "placementbindings", "PlacementBinding"),
    Kind(WORK, "v1alpha1", "manifestworkreplicasets", "ManifestWorkReplicaSet"),
    Kind(WORK, "v1", "manifestworks", "ManifestWork"),
    Kind(DSF, "v1alpha1", "dynamicscorers", "DynamicScorer"),
    Kind(DSF, "v1alpha1", "dynamicscoringconfigs", "DynamicScoringConfig"),
    Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False),
    Kind("coordination.k8s.io", "v1", "leases", "Lease", status=False),
    Kind("", "v1", "configmaps", "ConfigMap", status=False),
    Kind("", "v1", "secrets", "Secret", status=False),
    Kind("", "v1", "events", "Event", status=False),
    Kind("", "v1", "namespaces", "Namespace", namespaced=False),
)


# Failures to order. Each is a coroutine function of the request; None means: answer as ever.

Fail = Callable[[kmock.Request], Any]


def refuse(status: int, reason: str = "", message: str = "", retry_after: str | None = None) -> Fail:
    """A Status object with this code; 403 says what the real API server says."""

    async def answer(request: kmock.Request) -> aiohttp.web.Response:
        said = message or (_forbidden(request) if status == 403 else reason or f"status {status}")
        return status_response(status, reason, said, {"Retry-After": retry_after} if retry_after else {})

    return answer


def hang() -> Fail:
    """No byte of an answer, until the client goes away."""

    async def answer(request: kmock.Request) -> None:
        await asyncio.sleep(3600)

    return answer


def slow(seconds: float) -> Fail:
    """The right answer, late."""

    async def answer(request: kmock.Request) -> None:
        await asyncio.sleep(seconds)

    return answer


def broken(body: bytes = b"<html>", status: int = 200, headers: Mapping[str, str] | None = None) -> Fail:
    """Exactly this body."""

    async def answer(request: kmock.Request) -> aiohttp.web.Response:
        return aiohttp.web.Response(body=body, status=status, headers={"Content-Type": "text/html", **(headers or {})})

    return answer


def cut(body: bytes = b'{"kind": "List", "items": [') -> Fail:
    """A success that breaks off: the head promises more than comes."""

    async def answer(request: kmock.Request) -> aiohttp.web.StreamResponse:
        response = aiohttp.web.StreamResponse(headers={"Content-Length": str(len(body) + 100)})
        await response.prepare(_raw(request))
        await response.write(body)
        return _abort(request, response)

    return answer


def drip(pause: float = 0.05) -> Fail:
    """A body without an end, byte by byte, so that no single read times out."""

    async def answer(request: kmock.Request) -> aiohttp.web.StreamResponse:
        response = aiohttp.web.StreamResponse()
        await response.prepare(_raw(request))
        while True:
            await response.write(b" ")
            await asyncio.sleep(pause)

    return answer


def reset() -> Fail:
    """The connection is closed without a word."""

    async def answer(request: kmock.Request) -> aiohttp.web.StreamResponse:
        return _abort(request, aiohttp.web.StreamResponse())

    return answer


@dataclass
class Rule:
    """A failure, and the requests that meet it; None matches all. `page` is a list's page, from 1."""

    answer: Fail
    path: str | None
    plural: str | None
    verb: str | None
    namespace: str | None
    name: str | None
    page: int | None
    left: int | None

    def meets(self, verb: str, page: int, request: kmock.Request) -> bool:
        asked = (request.url.path, _plural(request), verb, request.namespace, request.name, page)
        wanted = (self.path, self.plural, self.verb, self.namespace, self.name, self.page)
        return self.left != 0 and all(w is None or w == a for w, a in zip(wanted, asked, strict=True))


@dataclass(frozen=True)
class Seen:
    """A request that came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass
class Store:
    """The objects, by plural, then by namespace and name. An object is replaced, never changed in place."""

    kinds: dict[str, Kind] = field(default_factory=lambda: {kind.plural: kind for kind in KINDS})
    objects: dict[str, dict[Key, Obj]] = field(default_factory=dict)
    history: list[tuple[int, str, str, Obj]] = field(default_factory=list)
    pages: dict[str, tuple[str, int, list[Obj]]] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    version: int = 1000
    oldest: int = 0
    token: str | None = None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    lock: threading.RLock = field(default_factory=threading.RLock)

    def kind_of(self, obj: Mapping[str, Any]) -> Kind:
        api, name = obj["apiVersion"], obj["kind"]
        return next(kind for kind in self.kinds.values() if (kind.api, kind.kind) == (api, name))

    def write(self, kind: Kind, obj: Obj, event: str) -> Obj:
        with self.lock:
            self.version += 1
            metadata = {"creationTimestamp": _stamp(self.now()), "generation": 1, **obj["metadata"]}
            metadata |= {"resourceVersion": str(self.version)}
            metadata.setdefault("uid", f"00000000-0000-4000-8000-{self.version:012d}")
            whole = {**obj, "apiVersion": kind.api, "kind": kind.kind, "metadata": metadata}
            several = self.objects.setdefault(kind.plural, {})
            if event == "DELETED":
                several.pop(_key(obj), None)
            else:
                several[_key(obj)] = whole
            self.history.append((self.version, event, kind.plural, whole))
            return whole


@attrs.define(kw_only=True, slots=False)
class Emulator(kmock.KubernetesEmulator):
    """kmock's emulator over a `Store`: requests for objects are answered from it, everything else by kmock."""

    store: Store = attrs.field(factory=Store)

    async def _handle(self, request: kmock.Request) -> aiohttp.web.StreamResponse:
        page = self._page(request)
        verb = _verb(request)
        with self.store.lock:
            path, body = request.url.path, request.data
            self.store.seen.append(Seen(request.method.value, path, request.params, request.headers, body))
            rule = next((rule for rule in self.store.rules if rule.meets(verb, page, request)), None)
            if rule and rule.left is not None:
                rule.left -= 1
        if rule and (answer := await rule.answer(request)) is not None:
            return cast("aiohttp.web.StreamResponse", answer)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if self.store.token is not None and (scheme.lower(), token) != ("bearer", self.store.token):
            return status_response(401, "Unauthorized", "Unauthorized")
        if _plural(request) is None:
            for kind in self.store.kinds.values():
                self.resources[kmock.resource(kind.group, kind.version, kind.plural)] = kmock.ResourceInfo(
                    kind=kind.kind, namespaced=kind.namespaced, verbs=set(VERBS.values())
                )
            return await super()._handle(request)
        known = self.store.kinds.get(_plural(request) or "")
        if known is None or (request.resource.group, request.resource.version) != (known.group, known.version):  # type: ignore[union-attr]
            return aiohttp.web.Response(text="404 page not found\n", status=404)
        if verb == "watch":
            return await self._watch(request, known)
        with self.store.lock:
            return self._answer(request, known, verb)

    def _page(self, request: kmock.Request) -> int:
        token = request.params.get("continue")
        return 1 if not token else int(_token(token).get("page", 0))

    def _answer(self, request: kmock.Request, kind: Kind, verb: str) -> aiohttp.web.Response:
        if verb == "list":
            return self._list(request, kind)
        if verb == "create":
            return self._create(request, kind, request.data)
        key = (request.namespace or "", request.name or "")
        found = self.store.objects.get(kind.plural, {}).get(key)
        if found is None and _content_type(request) == "application/apply-patch+yaml":
            return self._create(request, kind, yaml.safe_load(request.body), key=key)
        if found is None:
            what = f'{kind.plural}.{kind.group} "{request.name}" not found'
            return status_response(404, "NotFound", what)
        match verb:
            case "get":
                return json_response(found)
            case "update":
                return self._replace(request, kind, found, request.data)
            case "patch":
                patched = self._patched(request, found)
                if isinstance(patched, aiohttp.web.Response):
                    return patched
                return self._replace(request, kind, found, patched)
            case "delete":
                return json_response(self.store.write(kind, found, "DELETED"))
        return status_response(405, "MethodNotAllowed", verb)

    def _list(self, request: kmock.Request, kind: Kind) -> aiohttp.web.Response:
        token, limit = request.params.get("continue"), int(request.params.get("limit") or 0)
        if token:
            asked = _token(token)
            if asked.get("id") not in self.store.pages:
                message = "The provided continue parameter is too old to display a consistent list result."
                return status_response(410, "Expired", message)
            version, page, rest = self.store.pages.pop(asked["id"])
        else:
            version, page = str(self.store.version), 1
            several = self.store.objects.get(kind.plural, {})
            rest = [obj for key, obj in sorted(several.items()) if request.namespace in (None, key[0])]
            rest = [obj for obj in rest if _selected(obj, request.params)]
        metadata: Obj = {"resourceVersion": version}
        shown = rest
        if limit and len(rest) > limit:
            shown, left = rest[:limit], rest[limit:]
            name = f"{kind.plural}-{version}-{page + 1}-{len(self.store.seen)}"
            self.store.pages[name] = (version, page + 1, left)
            metadata["continue"] = base64.b64encode(json.dumps({"id": name, "page": page + 1}).encode()).decode()
            metadata["remainingItemCount"] = len(left)
        return json_response(
            {"apiVersion": kind.api, "kind": f"{kind.kind}List", "metadata": metadata, "items": shown}, compress=True
        )

    def _create(self, request: kmock.Request, kind: Kind, body: Obj, *, key: Key | None = None) -> aiohttp.web.Response:
        metadata = dict(body.get("metadata") or {})
        if request.namespace:
            metadata["namespace"] = request.namespace
        if key:
            metadata["name"] = key[1]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = f"{metadata['generateName']}{self.store.version:05d}"
        obj = {k: v for k, v in body.items() if not (kind.status and k == "status")} | {"metadata": metadata}
        if _key(obj) in self.store.objects.get(kind.plural, {}):
            what = f'{kind.plural}.{kind.group} "{metadata.get("name")}" already exists'
            return status_response(409, "AlreadyExists", what)
        metadata.pop("resourceVersion", None)
        self._manage(request, obj)
        return json_response(self.store.write(kind, obj, "ADDED"), status=201)

    def _replace(self, request: kmock.Request, kind: Kind, found: Obj, body: Obj) -> aiohttp.web.Response:
        claimed = (body.get("metadata") or {}).get("resourceVersion")
        if claimed and claimed != found["metadata"]["resourceVersion"]:
            message = "the object has been modified; please apply your changes to the latest version and try again"
            return status_response(409, "Conflict", message)
        if request.subresource == "status":
            obj = {**found, "status": body.get("status")}
        else:
            obj = {**body, **({"status": found["status"]} if kind.status and "status" in found else {})}
        kept = {k: found["metadata"][k] for k in ("uid", "creationTimestamp", "name") if k in found["metadata"]}
        obj["metadata"] = {**(obj.get("metadata") or {}), **kept}
        if obj.get("spec") != found.get("spec"):
            obj["metadata"]["generation"] = found["metadata"].get("generation", 1) + 1
        self._manage(request, obj)
        if _said(obj) == _said(found):
            return json_response(found)
        return json_response(self.store.write(kind, obj, "MODIFIED"))

    def _patched(self, request: kmock.Request, found: Obj) -> Obj | aiohttp.web.Response:
        match _content_type(request):
            case "application/merge-patch+json":
                return cast("Obj", merged(found, json.loads(request.body)))
            case "application/apply-patch+yaml":
                return cast("Obj", merged(found, yaml.safe_load(request.body)))
            case "application/json-patch+json":
                return cast("Obj", jsonpatch.apply_patch(copy.deepcopy(found), json.loads(request.body)))
        return status_response(415, "UnsupportedMediaType", f"no {_content_type(request)} for custom resources")

    def _manage(self, request: kmock.Request, obj: Obj) -> None:
        """Note who wrote what and when, as the API server does; one entry a writer and subresource."""
        who = request.params.get("fieldManager") or request.headers.get("User-Agent", "").partition("/")[0]
        entry: Obj = {"manager": who, "operation": "Update", "apiVersion": obj.get("apiVersion")}
        fields = ["status"] if request.subresource == "status" else [k for k in ("metadata", "spec") if k in obj]
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": {f"f:{name}": {} for name in fields}}
        if request.subresource:
            entry["subresource"] = request.subresource
        entry["time"] = _stamp(self.store.now())
        others = [
            one
            for one in obj["metadata"].get("managedFields") or []
            if (one.get("manager"), one.get("subresource")) != (who, request.subresource)
        ]
        obj["metadata"] = {**obj["metadata"], "managedFields": [*others, entry]}

    async def _watch(self, request: kmock.Request, kind: Kind) -> aiohttp.web.StreamResponse:
        since = int(request.params.get("resourceVersion") or self.store.version)
        until = asyncio.get_running_loop().time() + float(request.params.get("timeoutSeconds") or 3600)
        response = aiohttp.web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(_raw(request))
        if since < self.store.oldest:
            gone = _status(410, "Expired", "too old resource version")
            await response.write(json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n")
            return response
        while asyncio.get_running_loop().time() < until:
            with self.store.lock:
                events = [one for one in self.store.history if one[0] > since and one[2] == kind.plural]
            for version, event, _, obj in events:
                since = version
                here = request.namespace in (None, obj["metadata"].get("namespace"))
                if here and _selected(obj, request.params):
                    await response.write(json.dumps({"type": event, "object": obj}).encode() + b"\n")
            await asyncio.sleep(0.01)
        return response


class Hub:
    """What a test holds of the running emulator. Every method may be called from the test's own thread."""

    def __init__(self, store: Store, url: str = "") -> None:
        self.store = store
        self.url = url
        self.ca: bytes | None = None

    def load(self, folder: Path) -> None:
        """Put every object of a folder's YAML files; HubSnapshot and kinds that the hub does not serve are left out."""
        served = {(kind.api, kind.kind) for kind in self.store.kinds.values()}
        for path in sorted(folder.rglob("*.yaml")):
            for document in yaml.load_all(path.read_text(encoding="utf-8"), _Untimed):
                for obj in document["items"] if document and document.get("kind", "").endswith("List") else [document]:
                    if obj and (obj.get("apiVersion"), obj.get("kind")) in served:
                        self.put(obj)

    def put(self, obj: Obj) -> Obj:
        """Store an object whole, status and managedFields too, whatever there was; gives it as stored."""
        return self._put(copy.deepcopy(obj))

    def put_all(self, objects: Iterable[Obj]) -> None:
        """`put` for many, which the hub keeps: do not change them afterwards."""
        for obj in objects:
            self._put(obj)

    def _put(self, obj: Obj) -> Obj:
        with self.store.lock:
            kind = self.store.kind_of(obj)
            there = _key(obj) in self.store.objects.get(kind.plural, {})
            return self.store.write(kind, obj, "MODIFIED" if there else "ADDED")

    def remove(self, plural: str, name: str, namespace: str = "") -> None:
        """Delete an object."""
        with self.store.lock:
            self.store.write(self.store.kinds[plural], self.store.objects[plural][namespace, name], "DELETED")

    def get(self, plural: str, name: str, namespace: str = "") -> Obj | None:
        """An object as it is now."""
        with self.store.lock:
            return copy.deepcopy(self.store.objects.get(plural, {}).get((namespace, name)))

    def objects(self, plural: str) -> list[Obj]:
        """All objects of a kind, by namespace and name."""
        with self.store.lock:
            return [copy.deepcopy(obj) for _, obj in sorted(self.store.objects.get(plural, {}).items())]

    def declare(self, kind: Kind) -> None:
        """Serve one more kind."""
        self.store.kinds[kind.plural] = kind

    def forget(self, *plurals: str) -> None:
        """Serve these kinds no more: their CRDs are missing."""
        for plural in plurals:
            del self.store.kinds[plural]

    def fault(
        self,
        answer: Fail,
        *,
        path: str | None = None,
        plural: str | None = None,
        verb: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
        page: int | None = None,
        times: int | None = None,
    ) -> None:
        """Answer so from now on, `times` times or for ever; the first fault that matches counts.

        `verb` is get, list, watch, create, update, patch or delete.
        """
        with self.store.lock:
            self.store.rules.append(Rule(answer, path, plural, verb, namespace, name, page, times))

    def mend(self) -> None:
        """Take all faults back."""
        with self.store.lock:
            self.store.rules.clear()

    @property
    def requests(self) -> list[Seen]:
        """What was asked so far."""
        with self.store.lock:
            return list(self.store.seen)

    def expire_tokens(self) -> None:
        """Continue tokens and watches from before now are 410 Expired."""
        with self.store.lock:
            self.store.pages.clear()
            self.store.oldest = self.store.version

    def kubeconfig(self, folder: Path, *, token: str | None = None, name: str = "emulator", **cluster: Any) -> Path:
        """Write a kubeconfig whose current context is `name`; gives its path. `cluster` overrides its fields."""
        fields: Obj = {"server": self.url}
        if self.ca is not None:
            fields["certificate-authority-data"] = base64.b64encode(self.ca).decode()
        fields |= {key.replace("_", "-"): value for key, value in cluster.items()}
        user = {"token": token or self.store.token}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {k: v for k, v in fields.items() if v is not None}}],
            "users": [{"name": name, "user": user if user["token"] else {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        }
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return path


@contextmanager
def hub_server(
    *folders: Path,
    tls: trustme.LeafCert | None = None,
    ca: trustme.CA | None = None,
    token: str | None = None,
    client_ca: trustme.CA | None = None,
) -> Iterator[Hub]:
    """A running hub that holds the objects of `folders`.

    Args:
        folders: YAML folders, such as the sample's `hub`.
        tls: serve https with this certificate.
        ca: the CA that kubeconfigs name.
        token: the only bearer token that is let in; None: everybody is.
        client_ca: ask clients for a certificate of this CA.
    """
    store = Store(token=token)
    hub = Hub(store)
    hub.ca = ca.cert_pem.bytes() if ca else None
    for folder in folders:
        hub.load(folder)
    context = None
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.configure_cert(context)
        if client_ca is not None:
            client_ca.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with Emulator(store=store) as emulator:
            server = RawTestServer(emulator)
            await server.start_server(ssl=context)
            hub.url = str(server.make_url("/")).rstrip("/")
            started.set()
            await stop.wait()
            server.handler.connections and await server.runner.shutdown()  # type: ignore[union-attr]
            await server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield hub
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


class _Untimed(yaml.CSafeLoader):
    """YAML as the API server has it: what looks like a time is text."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, form) for tag, form in several if tag != "tag:yaml.org,2002:timestamp"]
        for first, several in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def merged(old: Any, patch: Any) -> Any:
    """`old` with a JSON merge patch applied."""
    if not isinstance(patch, dict):
        return patch
    found = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def json_response(body: Any, *, status: int = 200, compress: bool = False) -> aiohttp.web.Response:
    response = aiohttp.web.Response(body=json.dumps(body).encode(), status=status, content_type="application/json")
    if compress:
        response.enable_compression()
    return response


def status_response(
    code: int, reason: str, message: str, headers: Mapping[str, str] | None = None
) -> aiohttp.web.Response:
    body = json.dumps(_status(code, reason, message)).encode()
    return aiohttp.web.Response(body=body, status=code, content_type="application/json", headers=dict(headers or {}))


def _status(code: int, reason: str, message: str) -> Obj:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**body, "reason": reason, "message": message, "code": code}


def _forbidden(request: kmock.Request) -> str:
    where = f'in the namespace "{request.namespace}"' if request.namespace else "at the cluster scope"
    group = request.resource.group if request.resource else ""
    return (
        f'{_plural(request)}.{group} is forbidden: User "system:serviceaccount:ops:reader" cannot {_verb(request)} '
        f'resource "{_plural(request)}" in API group "{group}" {where}'
    )


def _verb(request: kmock.Request) -> str:
    method = str(request.method.value)
    if method == "GET" and request.name is None:
        return "watch" if request.params.get("watch") in ("true", "1") else "list"
    return VERBS.get(method, method)


def _plural(request: kmock.Request) -> str | None:
    found = request.resource.plural if request.resource is not None else None
    return found if isinstance(found, str) else None


def _selected(obj: Obj, params: Mapping[str, str]) -> bool:
    labels = obj["metadata"].get("labels") or {}
    for term in filter(None, params.get("labelSelector", "").split(",")):
        if "!=" in term:
            key, _, value = term.partition("!=")
            fits = labels.get(key) != value
        elif "=" in term:
            key, _, value = term.replace("==", "=").partition("=")
            fits = labels.get(key) == value
        else:
            fits = (term.lstrip("!") in labels) != term.startswith("!")
        if not fits:
            return False
    field_term = params.get("fieldSelector", "")
    return not field_term or field_term == f"metadata.name={obj['metadata']['name']}"


def _key(obj: Obj) -> Key:
    return str(obj["metadata"].get("namespace") or ""), str(obj["metadata"]["name"])


def _said(obj: Obj) -> Obj:
    """An object without what every write changes."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("resourceVersion", "managedFields")}
    return {**obj, "metadata": metadata}


def _token(text: str) -> Obj:
    try:
        return cast("Obj", json.loads(base64.b64decode(text)))
    except ValueError:
        return {}


def _content_type(request: kmock.Request) -> str:
    return str(request.headers.get("Content-Type", "")).partition(";")[0]


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _raw(request: kmock.Request) -> aiohttp.web.BaseRequest:
    assert request._raw_request is not None
    return request._raw_request


def _abort(request: kmock.Request, response: aiohttp.web.StreamResponse) -> aiohttp.web.StreamResponse:
    transport = _raw(request).transport
    if transport is not None:
        transport.close()
    return response
