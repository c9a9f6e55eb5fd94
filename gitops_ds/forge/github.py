"""Pull requests on GitHub and GitHub Enterprise.

Owns their paths and shapes of the REST API, version 2022-11-28. Owns no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gitops_ds.forge.model import PullRequest
from gitops_ds.forge.rest import RestForge

PERMISSION = "the permission Pull requests: write for the repository (a classic token: the scope repo)"


class GitHub(RestForge):
    """A repository on GitHub."""

    name = "GitHub"
    body_limit = 65_536
    title_limit = 256

    @property
    def _root(self) -> str:
        return f"/repos/{quote(self._repository, safe='/')}"

    def _listed(self, head: str, base: str, *, is_open: bool) -> Iterator[Any]:
        owner = self._repository.partition("/")[0]
        params = {"state": "open" if is_open else "closed", "head": f"{owner}:{head}", "base": base}
        return self._api.pages(f"{self._root}/pulls", params, ("per_page", 100))

    def _branches(self, one: Any) -> tuple[str, str] | None:
        # A filter that GitHub cannot read is dropped in silence, so everything may come, forks' branches too.
        ours = one["head"]["repo"]["full_name"] == one["base"]["repo"]["full_name"]
        return (one["head"]["ref"], one["base"]["ref"]) if ours else None

    def _read(self, value: Any) -> PullRequest:
        merged = bool(value.get("merged_at") or value.get("merged"))
        return PullRequest(
            int(value["number"]),
            str(value["html_url"]),
            str(value["title"]),
            str(value.get("body") or ""),
            str(value["head"].get("sha") or ""),
            "merged" if merged else "open" if value["state"] == "open" else "closed",
        )

    def _creation(
        self,
        head: str,
        base: str,
        title: str,
        body: str,
        labels: Sequence[str],  # noqa: ARG002 - see _label
    ) -> tuple[str, Mapping[str, Any]]:
        return f"{self._root}/pulls", {"title": title, "head": head, "base": base, "body": body}

    def _label(self, made: PullRequest, labels: Sequence[str]) -> None:
        if labels:
            path = f"{self._root}/issues/{made.number}/labels"
            self._api.request("POST", path, {"labels": list(labels)}, repeat=True)

    def _path_of(self, request: PullRequest) -> str:
        return f"{self._root}/pulls/{request.number}"

    def _comments_of(self, request: PullRequest) -> str:
        return f"{self._root}/issues/{request.number}/comments"
