"""`PullRequest`, the `Forge` that keeps them, and how long one waits for a forge.

Owns what all forges share in words and limits. Owns no HTTP.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

State = Literal["open", "closed", "merged"]


@dataclass(frozen=True, slots=True)
class PullRequest:
    """One pull (merge) request; `head_sha` is "" where the forge does not say which commit its branch is at."""

    number: int
    url: str
    title: str
    body: str
    head_sha: str
    state: State


class Forge(Protocol):
    """Where pull requests are kept.

    Every method raises `RefusedError` where trying again will not help, and `RepositoryError` where it may: the forge
    is out of reach, out of order, or limits requests for longer than the patience allows.
    """

    @property
    def name(self) -> str:
        """What the forge is called: GitHub, GitLab, Gitea."""

    @property
    def noun(self) -> str:
        """What the forge calls a pull request."""

    @property
    def body_limit(self) -> int:
        """The most characters, and the most bytes of UTF-8, that a body may have; a longer one is cut."""

    def find(self, head: str, base: str) -> PullRequest | None:
        """The open one from the branch `head` of the repository itself, never of a fork, into `base`."""

    def refused(self, head: str, base: str) -> PullRequest | None:
        """The newest one between the two that is not open any more, where somebody closed it without merging it."""

    def create(self, head: str, base: str, title: str, body: str, labels: Sequence[str] = ()) -> PullRequest:
        """A new one. Where one is open already, that one is brought up to date instead: there are never two."""

    def update(self, request: PullRequest, title: str, body: str) -> PullRequest:
        """`request` with this title and body: no call where nothing differs. A mark as draft stays."""

    def close(self, request: PullRequest, comment: str) -> None:
        """Close it, and then say why ("": say nothing). One that is not open is left alone."""


@dataclass(frozen=True)
class Patience:
    """How long one request is tried for.

    Attributes:
        tries: how often at most.
        first: seconds before the second try; each further wait is twice the one before.
        budget: seconds that all waits of one request may take together, those that the forge asks for included.
        sleep: what waits.
        clock: what tells how long an answer takes, in seconds.
    """

    tries: int = 4
    first: float = 1.0
    budget: float = 60.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)


class Waiting:
    """The waits of one request, counted."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._tries = 1
        self._waited = 0.0

    def wait(self, asked: float | None = None) -> bool:
        """Wait for `asked` seconds, or longer than the last time; False, at once, where patience is at its end."""
        patience = self._patience
        pause = patience.first * 2.0 ** (self._tries - 1) if asked is None else asked
        if self._tries >= patience.tries or self._waited + pause > patience.budget:
            return False
        self._tries += 1
        self._waited += pause
        patience.sleep(pause)
        return True


def cut(text: str, limit: int) -> str:
    """`text` with at most `limit` characters and bytes of UTF-8; where that is less than all, it says what is left out.

    It is cut at the end of a line where there is one.
    """
    if len(text.encode()) <= limit:
        return text
    note = f"\n\n(cut here: the whole text has {len(text):,} characters)\n"
    room = limit - len(note.encode())
    if room < 0:
        return text.encode()[:limit].decode(errors="ignore")
    kept = text.encode()[:room].decode(errors="ignore")
    return (kept.rpartition("\n")[0] or kept).rstrip() + note
