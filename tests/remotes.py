"""Real git remotes for tests: bare folders, a smart HTTP server that can fail on demand, sshd, and git daemon."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def git(folder: Path, *arguments: str, check: bool = True, stdin: bytes = b"", **env: str) -> str:
    """Run the user's git, without hooks or signing."""
    command = ["git", "-C", str(folder), "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, input=stdin, env={**os.environ, **env})
    assert not check or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def save(folder: Path, message: str = "x") -> str:
    """Commit all there is; the id."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def hook(bare: Path, name: str, script: str) -> None:
    (bare / "hooks").mkdir(exist_ok=True)
    (bare / "hooks" / name).write_text(f"#!/bin/sh\n{script}\n")
    (bare / "hooks" / name).chmod(0o755)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every byte of a working tree, its index and its HEAD, and what `git status` shows."""
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
    for name in ("HEAD", "index", "config", "FETCH_HEAD", "ORIG_HEAD"):
        file = folder / ".git" / name
        found[f".git/{name}"] = file.read_bytes() if file.exists() else b""
    shown = ("for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
    found["refs"] = git(folder, *shown).encode("utf-8", "surrogateescape")
    found["status"] = git(folder, "status", "--porcelain=v2", "-uall").encode("utf-8", "surrogateescape")
    return found


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own, of 400 kB; skips the test where nothing can be mounted."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("mount is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Leave no room on the file system of a folder."""
    with (folder / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@dataclass
class Request:
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: int


@dataclass
class Web:
    """A smart HTTP server over the bare repositories in `root`.

    Attributes:
        token: the password that every request must have; None asks for none.
        fault: what happens to a POST to `git-receive-pack`: "before" cuts the connection before git sees it, "during"
            when git has half of it, "after" when git has done all of it, and a number is the status to answer with.
        status: the status to answer every request with.
        redirect: the server that every request is sent on to.
        slow: seconds to wait before each answer.
    """

    root: Path
    url: str = ""
    token: str | None = None
    fault: str | int | None = None
    status: int | None = None
    redirect: str = ""
    words: str = ""
    slow: float = 0
    seen: list[Request] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def count(self, method: str, service: str) -> int:
        return sum(1 for one in self.seen if one.method == method and one.path.endswith(service))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        web, parts, body = self.web, urlsplit(self.path), self._body()
        web.seen.append(Request(self.command, parts.path, parts.query, dict(self.headers), len(body)))
        if web.slow:
            web.stop.wait(web.slow)
        if web.redirect:
            return self._answer(302, "", Location=f"{web.redirect}{self.path}")
        if web.status:
            return self._answer(web.status, web.words)
        if web.token is not None and not self._is_known(web.token):
            return self._answer(401, "")
        # git first sends an empty request to learn whether it has to log in: four zeros.
        fault = web.fault if parts.path.endswith("git-receive-pack") and len(body) > 4 else None
        if isinstance(fault, int):
            return self._answer(fault, web.words)
        if fault == "before":
            return self._cut()
        if fault == "during":
            self._backend(body[: len(body) // 2])
            return self._cut()
        head, _, content = self._backend(body).partition(b"\r\n\r\n")
        return self._cut() if fault == "after" else self._pass_on(head, content)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _is_known(self, token: str) -> bool:
        kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
        return kind == "Basic" and base64.b64decode(encoded).decode().partition(":")[2] == token

    def _backend(self, body: bytes) -> bytes:
        parts = urlsplit(self.path)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": str(self.web.root),
            "REMOTE_USER": "tester",
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        return subprocess.run(["git", "http-backend"], input=body, capture_output=True, check=False, env=env).stdout

    def _pass_on(self, head: bytes, content: bytes) -> None:
        fields = [line.partition(": ") for line in head.decode().splitlines() if line]
        status = next((int(value.split()[0]) for name, _, value in fields if name == "Status"), 200)
        self.send_response(status)
        for name, _, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, status: int, words: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(words.encode())))
        self.end_headers()
        self.wfile.write(words.encode())

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is a part of the tests."""


@contextmanager
def web_server(root: Path, tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    """Serve the bare repositories in `root` over http, or over https."""
    web = Web(root)
    handler = type("Handler", (_Handler,), {"web": web})
    with _Server(("127.0.0.1", 0), handler) as server:
        web.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield web
        finally:
            web.stop.set()
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class Sshd:
    """A running ssh server that lets the current user in with `key`."""

    port: int
    key: Path
    known_hosts: Path
    stranger: Path

    def url(self, folder: Path) -> str:
        return f"ssh://{os.environ.get('USER') or 'root'}@127.0.0.1:{self.port}{folder}"


@contextmanager
def ssh_server(folder: Path, *, accepts: str = "GIT_PROTOCOL") -> Iterator[Sshd]:
    """Run a real sshd as the current user; skips the test where there is none."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no sshd here: install openssh-server")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    mine = folder / "it's mine"  # a path that has to be quoted for git's shell and for ssh's own options
    mine.mkdir(mode=0o700, parents=True)
    for file in (folder / "host", mine / "user", mine / "stranger"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", file.name, "-f", str(file)]
        subprocess.run(make, check=True)
    port = free_port()
    shutil.copy(mine / "user.pub", folder / "authorized")
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none",
        "StrictModes": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
        "UsePAM": "no",
        "AcceptEnv": accepts,
    }
    (folder / "config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    host = " ".join((folder / "host.pub").read_text().split()[:2])
    (mine / "known").write_text(f"[127.0.0.1]:{port} {host}\n")
    with _running([SSHD, "-D", "-e", "-f", str(folder / "config")], port):
        yield Sshd(port, mine / "user", mine / "known", mine / "stranger")


@contextmanager
def git_daemon(root: Path) -> Iterator[str]:
    """Serve the bare repositories in `root` over the git protocol, to be read only; the URL of the root."""
    port = free_port()
    command = ["git", "daemon", f"--base-path={root}", "--export-all", "--reuseaddr", "--listen=127.0.0.1"]
    with _running([*command, f"--port={port}", str(root)], port):
        yield f"git://127.0.0.1:{port}"


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    with tempfile.TemporaryFile() as words:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=True)
        try:
            for _ in range(200):
                if server.poll() is not None:
                    words.seek(0)
                    pytest.skip(f"{command[0]} does not run here: {words.read().decode(errors='replace')}")
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield
        finally:
            server.terminate()
            server.wait()


@dataclass(frozen=True)
class Recorder:
    """Everything that git and its helpers were started with: argument lists and environments."""

    log: Path

    def lines(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def record_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Put a git in the way that writes down how it, and every program of its own that it starts, was called."""
    real = Path(subprocess.run(["git", "--exec-path"], capture_output=True, check=True, text=True).stdout.strip())
    log, programs = folder / "calls.log", folder / "exec"
    programs.mkdir(parents=True)
    for program in real.iterdir():
        if program.name == "git" or program.name.startswith(("git-remote-", "git-upload-pack", "git-receive-pack")):
            script = (
                f"#!{sys.executable}\n"
                "import os, sys\n"
                f"with open({str(log)!r}, 'a', errors='replace') as log:\n"
                "    print(sys.argv, dict(os.environ), file=log)\n"
                f"os.execv({str(program)!r}, [{str(program)!r}, *sys.argv[1:]])\n"
            )
            (programs / program.name).write_text(script)
            (programs / program.name).chmod(0o755)
        else:
            (programs / program.name).symlink_to(program)
    monkeypatch.setenv("GIT_EXEC_PATH", str(programs))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return Recorder(log)
