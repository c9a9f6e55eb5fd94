"""One exchange with the API server: a request out, a bounded answer in, before a deadline.

Owns limits, deadlines, and telling one failure to connect from another. Owns no second try and no meaning of a status.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException
from urllib3 import exceptions as http

from gitops_ds.hub.live.resources import Resource

LARGEST_ANSWER: Final = 256 * 2**20
"""Bytes that one answer may have once it is unpacked: no page of a list comes near."""
_CHUNK: Final = 2**16
_LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_UNKNOWN_CA, _HOST_NAME, _EXPIRED, _EARLY = {18, 19, 20, 21}, {62, 64}, {10}, {9}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait and how often to try.

    Attributes:
        connect: seconds for a connection.
        read: seconds without a byte.
        total: seconds for one whole reading of the hub, or for one call outside of it, all tries included.
        tries: how often one call is tried.
        restarts: how often one list is begun again whose continue token has expired.
    """

    connect: float = 10.0
    read: float = 60.0
    total: float = 300.0
    tries: int = 5
    restarts: int = 3


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant, by a clock that only goes forward, at which waiting ends."""

    at: float
    clock: Callable[[], float] = field(repr=False)

    @property
    def left(self) -> float:
        """Seconds until then, at least 0."""
        return max(self.at - self.clock(), 0.0)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: `path` with the query's parameters, in this order.

    `verb`, `resource` and `namespace` (None: the whole hub) are what a role must allow for it.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    verb: str = "get"
    resource: Resource | None = None
    namespace: str | None = None
    body: Any = field(default=None, repr=False)
    content_type: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class NoAnswerError(Exception):
    """No whole answer came. `transient`: the same may succeed later."""

    def __init__(self, what: str, fix: str = "", *, transient: bool = True) -> None:
        super().__init__(what)
        self.what, self.fix, self.transient = what, fix, transient


class MalformedError(Exception):
    """The answer is no JSON object; the text says why."""


def exchange(client: ApiClient, request: Request, limits: Limits, deadline: Deadline) -> Answer:
    """The answer to `request`, whatever its status.

    Raises:
        NoAnswerError: none came before the deadline, or none that can be trusted.
    """
    response = open_response(client, request, limits, deadline)
    try:
        return Answer(response.status, response.headers, b"".join(chunks(response, deadline)))
    finally:
        response.close()


def open_response(client: ApiClient, request: Request, limits: Limits, deadline: Deadline) -> Any:
    """The response as soon as its head is there, to be read by `chunks` and then closed.

    Raises:
        NoAnswerError: as `exchange` says.
    """
    wait = (min(limits.connect, deadline.left) or 0.001, min(limits.read, deadline.left) or 0.001)
    headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    try:
        method, url, headers, _, _ = client.param_serialize(
            request.method,
            request.path,
            query_params=list(request.query),
            header_params=headers,
            auth_settings=["BearerToken"],
        )
        return client.call_api(method, url, headers, request.body, _request_timeout=wait).response
    except (http.HTTPError, ApiException, ConfigException, OSError, ValueError) as error:
        raise _told(error) from error


def chunks(response: Any, deadline: Deadline) -> Iterator[bytes]:
    """The response's body, piece by piece as it comes.

    Raises:
        NoAnswerError: it breaks off, is too large, or is not at its end at the deadline.
    """
    size = 0
    while True:
        try:
            piece = response.read1(_CHUNK, decode_content=True)
        except (http.HTTPError, OSError, ValueError) as error:
            raise _told(error) from error
        if not piece:
            return
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise NoAnswerError(f"the answer is larger than {LARGEST_ANSWER // 2**20} MiB", transient=False)
        if not deadline.left:
            raise NoAnswerError("the answer did not end in time")
        yield piece


def as_object(body: bytes) -> dict[str, Any]:
    """The JSON object that `body` holds.

    Raises:
        MalformedError: it holds none.
    """
    try:
        value = json.loads(body.decode())
        if _LONE_SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, json.JSONDecodeError) else "it is no readable JSON"
        raise MalformedError(said) from None
    if not isinstance(value, dict):
        raise MalformedError("it is JSON, but no object")
    return value


def _told(error: Exception) -> NoAnswerError:
    """The failure in plain words."""
    causes = tuple(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return _tls(cause)
    for cause in causes:
        if isinstance(cause, ConfigException):
            return NoAnswerError(f"the credentials could not be renewed: {cause}", "log in again", transient=False)
    words: tuple[tuple[tuple[type[BaseException], ...], str, str], ...] = (
        ((http.NameResolutionError, socket.gaierror), "its host name is not known", "check the name and the network"),
        ((ConnectionRefusedError,), "the connection was refused", "check the address and that the API server runs"),
        ((ConnectionResetError, BrokenPipeError), "the connection was reset", ""),
        ((http.NewConnectionError,), f"the connection failed ({causes[-1]})", "check the address and the network"),
        ((http.ConnectTimeoutError,), "no connection came about in time", "check the address, firewalls and the VPN"),
        ((http.ReadTimeoutError, TimeoutError), "no answer came in time", ""),
        ((http.IncompleteRead, http.ProtocolError), "the answer broke off", ""),
        ((http.DecodeError,), "the answer could not be unpacked", ""),
        ((http.ProxyError,), "the proxy could not be reached", "check proxy-url in the kubeconfig, and HTTPS_PROXY"),
        ((http.LocationValueError,), "its address is no URL", "correct `server` in the kubeconfig"),
    )
    for kinds, what, fix in words:
        if any(isinstance(cause, kinds) for cause in causes):
            return NoAnswerError(what, fix, transient=http.LocationValueError not in kinds)
    if any(isinstance(cause, http.HTTPError | OSError) for cause in causes):
        return NoAnswerError(f"the connection failed ({causes[-1]})")
    return NoAnswerError(f"the request cannot be made ({error})", "check the kubeconfig", transient=False)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and all that it came from; urllib3 puts a cause among the arguments, too."""
    pending: list[BaseException] = [error]
    seen: set[int] = set()
    while pending:
        one = pending.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        pending += [cause for cause in (one.__cause__, one.__context__, *one.args) if isinstance(cause, BaseException)]


def _tls(error: ssl.SSLError) -> NoAnswerError:
    code = getattr(error, "verify_code", None)
    ca = "put the CA that signed it into certificate-authority-data of the kubeconfig's cluster"
    name = "use a server address that the certificate names, or set tls-server-name in the kubeconfig's cluster"
    known = (
        (_UNKNOWN_CA, "its certificate is signed by a CA that is not known here", ca),
        (_HOST_NAME, "its certificate is for another host name", name),
        (_EXPIRED, "its certificate has expired", "renew it on the API server, and check this machine's clock"),
        (_EARLY, "its certificate is not valid yet", "check this machine's clock"),
    )
    for codes, what, fix in known:
        if code in codes:
            return NoAnswerError(f"{what} (TLS)", fix, transient=False)
    if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return NoAnswerError("it does not speak TLS", "check the port, and http or https", transient=False)
    said = (error.reason or str(error)).replace("_", " ").lower()
    return NoAnswerError(f"no TLS connection came about ({said})", "check the certificates", transient=False)
