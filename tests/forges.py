"""GitHub, GitLab and Gitea as far as pull requests go: real HTTP servers that check, page and refuse as each does.

A `Mishap` stands in the way of a request: an answer instead of the real one, before or after the server acted on it.
"""

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

TOKEN = "tok-PLANTED-4711"
Reply = tuple[int, Any]


@dataclass(frozen=True)
class Seen:
    """One request that arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Mishap:
    """What goes wrong with the next request of `method` ("": any).

    With `after`, the server does what it was asked and then answers wrongly. A status of 0 closes the connection.
    """

    status: int = 0
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    after: bool = False
    trickle: float = 0.0
    """Seconds between the single bytes of the answer."""


class Site:
    """One forge with the repository acme/fleet: what all three have in common."""

    root: ClassVar[str]
    authorization: ClassVar[str]
    page_cap = 100
    repository = "acme/fleet"

    def __init__(self) -> None:
        self.url = ""
        self.branches = {"main", "gitops-ds/main", "other"}
        self.unchanged: set[str] = set()
        self.labels = {"gitops": 3, "bot": 8}
        self.pulls: list[dict[str, Any]] = []
        self.comments: list[tuple[int, str]] = []
        self.read_only = False
        self.mishaps: list[Mishap] = []
        self.seen: list[Seen] = []

    @property
    def api(self) -> str:
        return self.url + self.root

    def open(self, head: str, base: str = "main", *, fork: bool = False, **fields: Any) -> dict[str, Any]:
        """An open pull request, as if somebody had made it by hand."""
        number = len(self.pulls) + 1
        pull = {"number": number, "head": head, "base": base, "fork": fork, "state": "open"}
        self.pulls.append(pull | {"title": f"title {number}", "body": "", "labels": []} | fields)
        return self.pulls[-1]

    def calls(self, method: str) -> list[Seen]:
        return [s for s in self.seen if s.method == method]

    def answer(self, seen: Seen) -> Reply:
        if seen.headers.get("authorization") != self.authorization.format(TOKEN):
            return 401, self.unauthorized
        if self.read_only and seen.method != "GET":
            return 403, self.forbidden
        return self.route(seen)

    unauthorized: ClassVar[Any]
    forbidden: ClassVar[Any]

    def route(self, seen: Seen) -> Reply:
        raise NotImplementedError

    def listed(self, seen: Seen, matching: list[Any], size: str) -> Reply:
        """One page, with the Link header that says whether there is another."""
        length = min(int(seen.query.get(size, "30")), self.page_cap)
        number = int(seen.query.get("page", "1"))
        self.link = f'<{self.api}{seen.path}?page={number + 1}>; rel="next"' if number * length < len(matching) else ""
        return 200, matching[(number - 1) * length : number * length]

    link = ""

    def open_between(self, head: str, base: str) -> dict[str, Any] | None:
        between = (p for p in self.pulls if (p["head"], p["base"], p["fork"]) == (head, base, False))
        return next((p for p in between if p["state"] == "open"), None)


class GitHubSite(Site):
    root = "/api/v3"
    authorization = "Bearer {}"
    unauthorized: ClassVar = {"message": "Bad credentials", "status": "401"}
    forbidden: ClassVar = {"message": "Resource not accessible by personal access token", "status": "403"}

    def route(self, seen: Seen) -> Reply:
        match = re.fullmatch(r"/repos/acme/fleet/(pulls|issues)(?:/(\d+))?(?:/(labels|comments))?", seen.path)
        if not match:
            return 404, {"message": "Not Found", "status": "404"}
        if match[3] == "labels":
            pull = self.pulls[int(match[2]) - 1]
            pull["labels"] = sorted({*pull["labels"], *seen.body["labels"]})
            return 200, [{"name": name} for name in pull["labels"]]
        if match[3] == "comments":
            self.comments.append((int(match[2]), seen.body["body"]))
            return 201, {"id": len(self.comments)}
        if seen.method == "GET":
            return self.listed(seen, [self.shown(p) for p in self.pulls if self.is_wanted(p, seen.query)], "per_page")
        if seen.method == "POST":
            return self.created(seen.body)
        pull = self.pulls[int(match[2]) - 1]
        if len(seen.body.get("body", "")) > 65_536:
            return self.invalid({"message": "body is too long (maximum is 65536 characters)"})
        pull.update(seen.body)
        return 200, self.shown(pull)

    def is_wanted(self, pull: Mapping[str, Any], query: Mapping[str, str]) -> bool:
        head = query.get("head", "")
        if ":" in head and head != f"{'somebody' if pull['fork'] else 'acme'}:{pull['head']}":
            return False
        return bool(pull["state"] == query["state"] and pull["base"] == query.get("base", pull["base"]))

    def created(self, body: Mapping[str, Any]) -> Reply:
        for name in ("head", "base"):
            if body[name] not in self.branches:
                return self.invalid({"resource": "PullRequest", "field": name, "code": "invalid"})
        if self.open_between(body["head"], body["base"]):
            said = f"A pull request already exists for acme:{body['head']}."
            return self.invalid({"resource": "PullRequest", "code": "custom", "message": said})
        if body["head"] in self.unchanged:
            said = f"No commits between {body['base']} and {body['head']}"
            return self.invalid({"resource": "PullRequest", "code": "custom", "message": said})
        if len(body["body"]) > 65_536:
            return self.invalid({"message": "body is too long (maximum is 65536 characters)"})
        return 201, self.shown(self.open(body["head"], body["base"], title=body["title"], body=body["body"]))

    @staticmethod
    def invalid(error: Mapping[str, str]) -> Reply:
        return 422, {"message": "Validation Failed", "errors": [error], "status": "422"}

    def shown(self, pull: Mapping[str, Any]) -> dict[str, Any]:
        owner = "somebody" if pull["fork"] else "acme"
        return {
            "number": pull["number"],
            "html_url": f"https://github.example/acme/fleet/pull/{pull['number']}",
            "title": pull["title"],
            "body": pull["body"] or None,
            "state": "open" if pull["state"] == "open" else "closed",
            "merged_at": "2026-01-15T09:00:00Z" if pull["state"] == "merged" else None,
            "head": {"ref": pull["head"], "sha": "ab" * 20, "repo": {"full_name": f"{owner}/fleet"}},
            "base": {"ref": pull["base"], "sha": "cd" * 20, "repo": {"full_name": "acme/fleet"}},
        }


class GitLabSite(Site):
    root = "/api/v4"
    authorization = "Bearer {}"
    unauthorized: ClassVar = {"message": "401 Unauthorized"}
    forbidden: ClassVar = {
        "error": "insufficient_scope",
        "error_description": "The request requires higher privileges than provided by the access token.",
        "scope": "api",
    }
    repository = "acme/platform/fleet"

    def route(self, seen: Seen) -> Reply:
        match = re.fullmatch(r"/projects/acme%2Fplatform%2Ffleet/merge_requests(?:/(\d+))?(/notes)?", seen.path)
        if not match:
            return 404, {"message": "404 Project Not Found"}
        if match[2]:
            self.comments.append((int(match[1]), seen.body["body"]))
            return 201, {"id": len(self.comments)}
        if seen.method == "GET":
            wanted = (seen.query["source_branch"], seen.query["target_branch"], seen.query["state"])
            of = [self.shown(p) for p in self.pulls]
            return self.listed(
                seen, [p for p in of if (p["source_branch"], p["target_branch"], p["state"]) == wanted], "per_page"
            )
        return self.created(seen.body) if seen.method == "POST" else self.edited(int(match[1]), seen.body)

    def created(self, body: Mapping[str, Any]) -> Reply:
        if len(body["description"].encode()) > 1_048_576:
            return 400, {"message": {"description": ["is too long (2 MiB). The maximum size is 1 MiB."]}}
        there = self.open_between(body["source_branch"], body["target_branch"])
        if there:
            said = f"Another open merge request already exists for this source branch: !{there['number']}"
            return 409, {"message": [said]}
        if body["source_branch"] not in self.branches:
            return 400, {"message": {"source_branch": ["does not exist"]}}
        labels = sorted(body.get("labels", "").split(",")) if body.get("labels") else []
        pull = self.open(body["source_branch"], body["target_branch"], title=body["title"], labels=labels)
        pull["body"] = body["description"].strip()
        return 201, self.shown(pull)

    def edited(self, number: int, body: Mapping[str, Any]) -> Reply:
        pull = self.pulls[number - 1]
        if body.get("state_event") == "close":
            pull["state"] = "closed"
        pull["title"] = body.get("title", pull["title"])
        pull["body"] = body.get("description", pull["body"]).strip()
        return 200, self.shown(pull)

    def shown(self, pull: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": 1000 + pull["number"],
            "iid": pull["number"],
            "web_url": f"https://gitlab.example/{self.repository}/-/merge_requests/{pull['number']}",
            "title": pull["title"],
            "description": pull["body"],
            "state": "opened" if pull["state"] == "open" else pull["state"],
            "sha": "ab" * 20,
            "source_branch": pull["head"],
            "target_branch": pull["base"],
            "source_project_id": 99 if pull["fork"] else 7,
            "target_project_id": 7,
        }


class GiteaSite(Site):
    root = "/api/v1"
    authorization = "token {}"
    unauthorized: ClassVar = {"message": "user does not exist [uid: 0, name: ]", "url": "https://x/api/swagger"}
    forbidden: ClassVar = {"message": "token does not have at least one of required scope(s): [write:repository]"}
    page_cap = 2

    def route(self, seen: Seen) -> Reply:
        match = re.fullmatch(r"/repos/acme/fleet/(pulls|issues|labels)(?:/(\d+))?(/comments)?", seen.path)
        if not match:
            return 404, {"message": "The target couldn't be found.", "errors": [], "url": "https://x/api/swagger"}
        if match[1] == "labels":
            of = [{"id": number, "name": name} for name, number in sorted(self.labels.items())]
            return self.listed(seen, of, "limit")
        if match[3]:
            self.comments.append((int(match[2]), seen.body["body"]))
            return 201, {"id": len(self.comments)}
        if seen.method == "GET":
            return self.listed(seen, [self.shown(p) for p in self.pulls if p["state"] == seen.query["state"]], "limit")
        if seen.method == "POST":
            return self.created(seen.body)
        self.pulls[int(match[2]) - 1].update(seen.body)
        return 201, self.shown(self.pulls[int(match[2]) - 1])

    def created(self, body: Mapping[str, Any]) -> Reply:
        if body["head"] not in self.branches:
            return 404, {"message": "The target couldn't be found.", "errors": []}
        there = self.open_between(body["head"], body["base"])
        if there:
            said = f"pull request already exists for these targets [id: 5, issue_id: {there['number']}]"
            return 409, {"message": said}
        if body["head"] in self.unchanged:
            return 422, {"message": "Invalid PullRequest: There are no changes between the head and the base"}
        names = {number: name for name, number in self.labels.items()}
        labels = [names[number] for number in body.get("labels", [])]
        made = self.open(body["head"], body["base"], title=body["title"], body=body["body"], labels=labels)
        return 201, self.shown(made)

    def shown(self, pull: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "number": pull["number"],
            "html_url": f"https://gitea.example/acme/fleet/pulls/{pull['number']}",
            "title": pull["title"],
            "body": pull["body"],
            "state": "open" if pull["state"] == "open" else "closed",
            "merged": pull["state"] == "merged",
            "head": {"ref": pull["head"], "sha": "ab" * 20, "repo_id": 99 if pull["fork"] else 7},
            "base": {"ref": pull["base"], "sha": "cd" * 20, "repo_id": 7},
        }


SITES: dict[str, type[Site]] = {"github": GitHubSite, "gitlab": GitLabSite, "gitea": GiteaSite}


class _Http(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        parts = urlsplit(self.path)
        seen = Seen(
            self.command,
            parts.path.removeprefix(self.site.root),
            {key: several[0] for key, several in parse_qs(parts.query).items()},
            {key.lower(): value for key, value in self.headers.items()},
            json.loads(self.rfile.read(length)) if length else None,
        )
        self.site.seen.append(seen)
        mishap = next((m for m in self.site.mishaps if m.method in ("", self.command)), None)
        if mishap is not None:
            self.site.mishaps.remove(mishap)
        self.site.link = ""
        if mishap is None or mishap.after:
            status, value = self.site.answer(seen)
            headers = {"Link": self.site.link} if self.site.link else {}
            content = json.dumps(value).encode()
        if mishap is not None:
            status, content, headers = mishap.status, mishap.body, dict(mishap.headers)
        self._send(status, content, headers, mishap.trickle if mishap else 0.0)

    do_GET = do_POST = do_PATCH = do_PUT = _serve  # noqa: N815 - the server calls them so

    def _send(self, status: int, content: bytes, headers: Mapping[str, str], trickle: float) -> None:
        self.close_connection = True
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response_only(status)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        try:
            for i in range(0, len(content), 1 if trickle else len(content)):
                self.wfile.write(content[i : i + 1] if trickle else content)
                time.sleep(trickle)
        except OSError:
            pass  # the client had enough


@contextmanager
def serving(site: Site, tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """The site, listening on a port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Http", (_Http,), {"site": site}))
    server.daemon_threads = True
    server.block_on_close = False
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    site.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
