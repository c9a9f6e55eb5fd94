"""What the three forges do alike: find, create at most one, update in place, close.

Owns the order of requests and what is done when one's outcome is unknown. Owns no path and no shape: each forge's
module has its own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from gitops_ds.errors import Fault, RepositoryError
from gitops_ds.forge.answer import Answer
from gitops_ds.forge.api import Api, OutcomeUnknownError
from gitops_ds.forge.model import PullRequest, Waiting, cut

_DRAFT = re.compile(r"(?:\[(?:draft|wip)\]|\(draft\)|draft:|draft -|wip:)\s*", re.IGNORECASE)


class RestForge(ABC):
    """A forge over its API. `repository` is the path of the one whose pull requests these are."""

    name: ClassVar[str]
    noun: ClassVar[str] = "pull request"
    body_limit: ClassVar[int]
    title_limit: ClassVar[int] = 255

    def __init__(self, api: Api, repository: str) -> None:
        self._api = api
        self._repository = repository

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._repository!r}, {self._api!r})"

    def find(self, head: str, base: str) -> PullRequest | None:
        """The open one from our own branch `head` into `base`."""
        return next(self._between(head, base, is_open=True), None)

    def refused(self, head: str, base: str) -> PullRequest | None:
        """The newest one between the two that is no longer open, where it was closed and not merged."""
        newest = next(self._between(head, base, is_open=False), None)
        return newest if newest is not None and newest.state == "closed" else None

    def _between(self, head: str, base: str, *, is_open: bool) -> Iterator[PullRequest]:
        for one in self._listed(head, base, is_open=is_open):
            if self._is_between(one, head, base):
                yield self._request_of(one)

    def create(self, head: str, base: str, title: str, body: str, labels: Sequence[str] = ()) -> PullRequest:
        """A new one, or the one that is open already, brought up to date."""
        title, body = self._fitting(title, body)
        waiting = Waiting(self._api.patience)
        path, content = self._creation(head, base, title, body, labels)
        while True:
            try:
                answer = self._api.request("POST", path, content, accept=(409, 422), waiting=waiting)
            except OutcomeUnknownError as unknown:
                if not waiting.wait():
                    raise RepositoryError(*unknown.faults) from None
                found = self.find(head, base)
                if found is not None:
                    return self.update(found, title, body)
                continue
            if answer.status < 300:
                made = self._request_of(answer.value)
                self._label(made, labels)
                return made
            return self._there_already(answer, head, base, title, body)

    def update(self, request: PullRequest, title: str, body: str) -> PullRequest:
        """`request` with this title and body; no call where nothing differs."""
        title, body = self._fitting(title, body)
        draft = _DRAFT.match(request.title)
        if draft is not None and not _DRAFT.match(title):
            title = (draft[0] + title)[: self.title_limit]
        if _same(request.title, title) and _same(request.body, body):
            return request
        answer = self._api.request(self._edit_method, self._path_of(request), self._edit(title, body))
        changed = self._request_of(answer.value)
        return replace(changed, head_sha=changed.head_sha or request.head_sha)

    def close(self, request: PullRequest, comment: str) -> None:
        """Close it and then say why: a comment that fails is not said twice by the next run."""
        if request.state != "open":
            return
        self._api.request(self._edit_method, self._path_of(request), self._closing)
        if comment:
            self._api.request("POST", self._comments_of(request), {"body": cut(comment, self.body_limit)})

    def _there_already(self, answer: Answer, head: str, base: str, title: str, body: str) -> PullRequest:
        found = self.find(head, base) if "already exists" in self._api.said(answer).lower() else None
        if found is None:
            raise self._api.refusal(answer)
        return self.update(found, title, body)

    def _fitting(self, title: str, body: str) -> tuple[str, str]:
        one_line = " ".join("".join(c if c.isprintable() else " " for c in title).split())
        return one_line[: self.title_limit], cut(body, self.body_limit)

    def _request_of(self, value: Any) -> PullRequest:
        try:
            return self._read(value)
        except (KeyError, TypeError, ValueError, AttributeError):
            what = f"{self.name} describes a {self.noun} in a form that is not known"
            raise RepositoryError(Fault(what, fix="check the API's URL, and which version the forge has")) from None

    def _is_between(self, one: Any, head: str, base: str) -> bool:
        try:
            return self._branches(one) == (head, base)
        except (KeyError, TypeError, AttributeError):
            return False

    def _label(self, made: PullRequest, labels: Sequence[str]) -> None:  # noqa: B027 - only one forge needs it
        """Give it its labels, where creating it does not."""

    _edit_method: ClassVar[str] = "PATCH"
    _closing: ClassVar[Mapping[str, str]] = {"state": "closed"}

    @abstractmethod
    def _listed(self, head: str, base: str, *, is_open: bool) -> Iterator[Any]:
        """Those that may be the one between two branches, newest first: the open ones, or the closed ones."""

    @abstractmethod
    def _branches(self, one: Any) -> tuple[str, str] | None:
        """From which branch of the repository itself it comes, and into which it goes; None where it is a fork's."""

    @abstractmethod
    def _read(self, value: Any) -> PullRequest:
        """The forge's own form of one."""

    @abstractmethod
    def _creation(
        self, head: str, base: str, title: str, body: str, labels: Sequence[str]
    ) -> tuple[str, Mapping[str, Any]]:
        """Path and content of the request that creates one."""

    @abstractmethod
    def _path_of(self, request: PullRequest) -> str:
        """The path of one."""

    @abstractmethod
    def _comments_of(self, request: PullRequest) -> str:
        """The path to post comments to."""

    def _edit(self, title: str, body: str) -> Mapping[str, str]:
        return {"title": title, "body": body}


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same to a reader: forges trim texts and change line endings."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
