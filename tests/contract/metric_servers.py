"""Real Prometheus and VictoriaMetrics on free ports, their exporter, and an HTTP server that answers as told."""

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

BINARIES = {"prometheus": "prometheus", "victoria-metrics": "victoria-metrics"}
PATIENCE = 60.0
"""Seconds for a server to come up on a busy machine."""

Reply = tuple[int, Mapping[str, str], bytes]


@dataclass
class Asked:
    """One request that a scripted server got."""

    method: str
    path: str
    headers: Mapping[str, str]
    form: Mapping[str, str]


@dataclass
class Scripted:
    """An HTTP server that answers with the next of `replies`, and with the last one from then on."""

    url: str
    replies: list[Reply | Callable[[BaseHTTPRequestHandler], None]]
    asked: list[Asked] = field(default_factory=list)


@contextlib.contextmanager
def scripted(
    replies: Sequence[Reply | Callable[[BaseHTTPRequestHandler], None]], tls: ssl.SSLContext | None = None
) -> Iterator[Scripted]:
    told = Scripted("", list(replies))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            form = dict(urllib.parse.parse_qsl(body))
            told.asked.append(Asked(self.command, self.path, dict(self.headers), form))
            reply = told.replies.pop(0) if len(told.replies) > 1 else told.replies[0]
            if callable(reply):
                reply(self)
                return
            status, headers, content = reply
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A client that went away, or refused the certificate, is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    told.url = f"{'https' if tls else 'http'}://localhost:{server.server_address[1]}"
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    return status, headers, json.dumps(value).encode()


def gauge(*lines: tuple[Mapping[str, str], float | str]) -> str:
    """The page of an exporter with these samples of dynamic_score."""
    shown = [
        f"dynamic_score{{{','.join(f'{k}={json.dumps(v)}' for k, v in labels.items())}}} {value}"
        for labels, value in lines
    ]
    return "\n".join(["# TYPE dynamic_score gauge", *shown, ""])


@contextlib.contextmanager
def metric_server(kind: str, folder: Path, exporter: str, web_config: str | None = None) -> Iterator[str]:
    """A server of `kind` that scrapes `exporter` each second; its URL. Skips the test where it is not installed."""
    binary = shutil.which(BINARIES[kind])
    if binary is None:
        pytest.skip(f"{kind} is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    target = exporter.partition("//")[2]
    config = folder / "scrape.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: agent, static_configs: [{{targets: ['{target}']}}]}}]\n",
        encoding="utf-8",
    )
    if kind == "prometheus":
        flags = [f"--config.file={config}", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={listen}"]
        if web_config is not None:
            (folder / "web.yml").write_text(web_config, encoding="utf-8")
            flags.append(f"--web.config.file={folder}/web.yml")
    else:
        flags = [f"-promscrape.config={config}", f"-storageDataPath={folder}/data", f"-httpListenAddr={listen}"]
    with (folder / "log").open("wb") as log, subprocess.Popen([binary, *flags], stdout=log, stderr=log) as process:
        try:
            yield f"{'https' if web_config else 'http'}://localhost:{listen.rpartition(':')[2]}"
        finally:
            process.terminate()
            process.wait(PATIENCE)


def eventually(check: Callable[[], Any]) -> Any:
    """What `check` gives once it is true; errors of servers that are not up yet count as not yet."""
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError):
            found = check()
            if found:
                return found
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.2)
