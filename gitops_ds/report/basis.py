"""`Basis`: which facts of the hub a plan stands on, how old they are, and at which instant scores were judged.

Owns their form as text and as JSON. Owns no clock: the age is measured by whoever has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gitops_ds.problem.scores import format_age


@dataclass(frozen=True, slots=True)
class Basis:
    """Where the facts come from.

    `source` is `demo`, `snapshot:` and an absolute path, or `kubernetes:` and a context; `captured_at` is None where a
    snapshot does not say and for a live hub, and `age` is None there and for the sample, which never grows old.
    """

    source: str
    instant: datetime
    captured_at: datetime | None
    age: timedelta | None

    @property
    def where(self) -> str:
        """Where the facts are, for a person."""
        return "the sample that ships" if self.source == "demo" else self.source

    @property
    def when(self) -> str:
        """When they were captured, how old they are, and when scores are judged where that is another instant."""
        if self.source.startswith("kubernetes:"):
            return f"read live; scores as of {format_instant(self.instant)}"
        if self.captured_at is None:
            return f"captured at no known instant; scores as of {format_instant(self.instant)}"
        aged = "" if self.age is None else f", {format_age(self.age)} old"
        judged = "" if self.instant == self.captured_at else f"; scores as of {format_instant(self.instant)}"
        return f"captured {format_instant(self.captured_at)}{aged}{judged}"


def basis_json(basis: Basis) -> dict[str, Any]:
    """The same for a program."""
    return {
        "source": basis.source,
        "instant": format_instant(basis.instant),
        "capturedAt": None if basis.captured_at is None else format_instant(basis.captured_at),
        "ageSeconds": None if basis.age is None else int(basis.age.total_seconds()),
    }


def format_instant(instant: datetime) -> str:
    """An instant as RFC 3339 has it, with Z for UTC."""
    return instant.isoformat().replace("+00:00", "Z")
