"""The `Hold`, `Resume` and `Abort` kinds: what people say to a reconciler in git, so that it is reviewed as all else.

Owns the fields and their meaning. Owns neither the writing of them (`cli/`) nor their judging (`guards.py`).
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gitops_ds.intent.base import API_VERSION, DnsLabel, Strict, Text

EVERY = "all"
"""The name by which a Hold, Resume or Abort means every reconciler."""
UNNAMED = "default"
"""The name that a reconciler has where no document gives it one."""


def _instant(text: str) -> str:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("the time needs a zone: write it as 2026-01-15T09:00:00Z")
    if not 2000 <= found.year < 3000:
        raise ValueError("the year is 2000 to 2999, or leave it out")
    return text


Instant = Annotated[str, AfterValidator(_instant), Field(examples=["2026-01-15T09:00:00Z"])]
CommitId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")]


class HoldMetadata(Strict):
    """Which hold this is."""

    name: DnsLabel
    """The name of the reconciler that is held, or that goes on; `all` means every one."""


class HoldSpec(Strict):
    """Who holds it, why and until when."""

    reason: Text
    """Why; shown to whoever looks at the plan."""
    by: Text | None = None
    """Who."""
    until: Instant | None = None
    """When it ends by itself. Default: when it is removed."""


class Hold(Strict):
    """While this stands in `intent/`, nothing is committed."""

    apiVersion: Literal["gitops-ds.io/v1alpha1"] = API_VERSION  # noqa: N815
    """The version of this format."""
    kind: Literal["Hold"] = "Hold"
    """The kind of document."""
    metadata: HoldMetadata
    """The reconciler that is held."""
    spec: HoldSpec
    """Who, why and until when."""


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class AbortSpec(Strict):
    """Who takes back the move that is in flight, why, and for which intents."""

    reason: Text
    """Why; shown to whoever looks at the plan."""
    by: Text | None = None
    """Who."""
    intents: Digest
    """sha256 of what the placement intents say: it holds for as long as they say just that."""


class Abort(Strict):
    """While this stands in `intent/`, a move of several commits goes back to where it came from, and stays there."""

    apiVersion: Literal["gitops-ds.io/v1alpha1"] = API_VERSION  # noqa: N815
    """The version of this format."""
    kind: Literal["Abort"] = "Abort"
    """The kind of document."""
    metadata: HoldMetadata
    """The reconciler whose move is aborted."""
    spec: AbortSpec
    """Who, why, and for which intents."""


class ResumeSpec(Strict):
    """Which changes by people are settled."""

    after: tuple[CommitId, ...] = Field(strict=False, min_length=1, max_length=100)
    """The commits that held the reconciler: it may plan over them now."""
    reason: Text | None = None
    """Why."""
    by: Text | None = None
    """Who."""


class Resume(Strict):
    """The reconciler goes on after people changed what it wrote."""

    apiVersion: Literal["gitops-ds.io/v1alpha1"] = API_VERSION  # noqa: N815
    """The version of this format."""
    kind: Literal["Resume"] = "Resume"
    """The kind of document."""
    metadata: HoldMetadata
    """The reconciler that goes on."""
    spec: ResumeSpec
    """The commits that are settled."""
