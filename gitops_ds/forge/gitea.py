"""Pull requests on Gitea and Forgejo, whose APIs are the same here.

Owns their paths and shapes of the API, version 1. Owns no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gitops_ds.errors import Fault, RefusedError
from gitops_ds.forge.model import PullRequest
from gitops_ds.forge.rest import RestForge

PERMISSION = "the scopes write:repository and write:issue, and write access to the repository"


class Gitea(RestForge):
    """A repository on Gitea or Forgejo."""

    name = "Gitea"
    body_limit = 1_048_576
    """No limit is known; this is what a person would still open."""

    @property
    def _root(self) -> str:
        return f"/repos/{quote(self._repository, safe='/')}"

    def _listed(self, head: str, base: str, *, is_open: bool) -> Iterator[Any]:  # noqa: ARG002 - no filter by branch
        params = {"state": "open" if is_open else "closed", "sort": "recentupdate"}
        return self._api.pages(f"{self._root}/pulls", params, ("limit", 50))

    def _branches(self, one: Any) -> tuple[str, str] | None:
        ours = one["head"]["repo_id"] == one["base"]["repo_id"]
        return (one["head"]["ref"], one["base"]["ref"]) if ours else None

    def _read(self, value: Any) -> PullRequest:
        return PullRequest(
            int(value["number"]),
            str(value["html_url"]),
            str(value["title"]),
            str(value.get("body") or ""),
            str(value["head"].get("sha") or ""),
            "merged" if value.get("merged") else "open" if value["state"] == "open" else "closed",
        )

    def _creation(
        self, head: str, base: str, title: str, body: str, labels: Sequence[str]
    ) -> tuple[str, Mapping[str, Any]]:
        content = {"head": head, "base": base, "title": title, "body": body}
        return f"{self._root}/pulls", content | ({"labels": self._ids_of(labels)} if labels else {})

    def _ids_of(self, labels: Sequence[str]) -> list[int]:
        """Gitea names labels by number."""
        known: dict[str, int] = {
            one["name"]: one["id"]
            for one in self._api.pages(f"{self._root}/labels", {}, ("limit", 50))
            if isinstance(one, Mapping) and isinstance(one.get("id"), int)
        }
        missing = [label for label in labels if label not in known]
        if missing:
            what = f"{self._repository} has no label {', '.join(missing)}"
            raise RefusedError(Fault(what, fix="make it there, or leave it out"))
        return [known[label] for label in labels]

    def _path_of(self, request: PullRequest) -> str:
        return f"{self._root}/pulls/{request.number}"

    def _comments_of(self, request: PullRequest) -> str:
        return f"{self._root}/issues/{request.number}/comments"
