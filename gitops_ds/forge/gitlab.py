"""Merge requests on GitLab.

Owns their paths and shapes of the REST API, version 4. Owns no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from gitops_ds.forge.model import PullRequest, State
from gitops_ds.forge.rest import RestForge

PERMISSION = "the scope api, and the role Developer or a higher one in the project"
_STATES: Mapping[str, State] = {"opened": "open", "locked": "open", "closed": "closed", "merged": "merged"}


class GitLab(RestForge):
    """A project on GitLab, groups and subgroups in its path."""

    name = "GitLab"
    noun = "merge request"
    body_limit = 1_048_576
    _edit_method = "PUT"
    _closing: ClassVar[Mapping[str, str]] = {"state_event": "close"}

    @property
    def _root(self) -> str:
        return f"/projects/{quote(self._repository, safe='')}/merge_requests"

    def _listed(self, head: str, base: str, *, is_open: bool) -> Iterator[Any]:
        params = {"state": "opened" if is_open else "closed", "source_branch": head, "target_branch": base}
        return self._api.pages(self._root, params, ("per_page", 100))

    def _branches(self, one: Any) -> tuple[str, str] | None:
        ours = one["source_project_id"] == one["target_project_id"]
        return (one["source_branch"], one["target_branch"]) if ours else None

    def _read(self, value: Any) -> PullRequest:
        return PullRequest(
            int(value["iid"]),
            str(value["web_url"]),
            str(value["title"]),
            str(value.get("description") or ""),
            str(value.get("sha") or ""),
            _STATES[value["state"]],
        )

    def _creation(
        self, head: str, base: str, title: str, body: str, labels: Sequence[str]
    ) -> tuple[str, Mapping[str, Any]]:
        content = {"source_branch": head, "target_branch": base, "title": title, "description": body}
        return self._root, content | ({"labels": ",".join(labels)} if labels else {})

    def _edit(self, title: str, body: str) -> Mapping[str, str]:
        return {"title": title, "description": body}

    def _path_of(self, request: PullRequest) -> str:
        return f"{self._root}/{request.number}"

    def _comments_of(self, request: PullRequest) -> str:
        return f"{self._root}/{request.number}/notes"
