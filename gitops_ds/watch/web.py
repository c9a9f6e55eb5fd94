"""The loop over HTTP: /healthz, /readyz and /metrics.

Owns the addresses, the server and its paths. Owns no answer (`health.py`, `metrics.py`).
"""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, NamedTuple

from gitops_ds.errors import Fault, InputError, UsageError
from gitops_ds.watch.health import Health
from gitops_ds.watch.metrics import Metrics

_PATIENCE = 10.0
"""Seconds that a client may take for its request, and for the answer."""
_TEXT = "text/plain; charset=utf-8"


class Address(NamedTuple):
    """Where to listen; the host is "" for every address of this machine."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str) -> Address | None:
    """The address that `text` names, as ADDRESS:PORT or :PORT; None for `off`.

    Raises:
        UsageError: it names none.
    """
    if text == "off":
        return None
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    wrong = ":" in bare and bare == host  # an IPv6 address without its brackets
    if not colon or wrong or not (port.isascii() and port.isdecimal() and int(port) < 2**16):
        fix = "write it as 127.0.0.1:8080, [::1]:8080, :8080 for every address, or off"
        raise UsageError(Fault(f'"{text}" is no address to listen on', fix=fix))
    return Address(bare, int(port))


@contextmanager
def serving(address: Address, health: Health, metrics: Metrics) -> Iterator[Address]:
    """Answer at `address` until the end of `with`; gives the address with the port that it really is (0: any free).

    Raises:
        InputError: it cannot be listened on.
    """
    with _bound(address, type("_Bound", (_Handler,), {"health": health, "metrics": metrics})) as server:
        thread = threading.Thread(target=server.serve_forever, name="gitops-ds-http", daemon=True)
        thread.start()
        try:
            yield Address(address.host, int(server.server_address[1]))
        finally:
            server.shutdown()
            thread.join()


def _bound(address: Address, handler: type[_Handler]) -> _Server:
    """A server that listens; for every address by IPv6 and IPv4 both, or by IPv4 alone where there is no IPv6."""
    hosts = [address.host] if address.host else ["::", "0.0.0.0"]  # noqa: S104 - it is asked for
    for last, host in zip([*[False] * (len(hosts) - 1), True], hosts, strict=True):
        try:
            return _Server(Address(host, address.port), handler)
        except OSError as error:
            if last or error.errno == errno.EADDRINUSE:
                taken = error.errno == errno.EADDRINUSE
                what = f"{address} is in use already" if taken else f"{address} cannot be listened on"
                why = "another process listens there" if taken else error.strerror or str(error)
                raise InputError(Fault(what, None, why, "--listen another ADDRESS:PORT, or --listen off")) from None
    raise AssertionError("the last host returns or raises")


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: Address, handler: type[_Handler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        super().__init__(address, handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is no event."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "gitops-ds", ""
    timeout = _PATIENCE
    health: Health
    metrics: Metrics

    def do_GET(self) -> None:
        self._answer(*self._found())

    def do_HEAD(self) -> None:
        self._answer(*self._found())

    def _found(self) -> tuple[int, str, bytes]:
        match self.path.partition("?")[0]:
            case "/healthz":
                return _told(*self.health.alive())
            case "/readyz":
                return _told(*self.health.ready())
            case "/metrics":
                body, kind = self.metrics.exposed(self.headers.get("Accept") or "")
                return 200, kind, body
        return 404, _TEXT, b"there are /healthz, /readyz and /metrics\n"

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Probes and scrapes are no events."""


def _told(good: bool, words: str) -> tuple[int, str, bytes]:
    return 200 if good else 503, _TEXT, f"{words}\n".encode()
