"""The placeholders of a score's dimension: which there are, which of them placement knows, and which are typing errors.

Owns their names and form. Owns no rendering and no look-up (`problem/scores.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_ds.errors import Path
from gitops_ds.intent.placement import PlacementIntent
from gitops_ds.intent.spelling import guess

KNOWN = ("app", "cluster", "device", "namespace", "scoreName")
"""What a workload and a configuration give."""
UNKNOWN = ("container", "meta", "node", "pod")
"""What placement cannot know: any text matches."""
PLACEHOLDER = re.compile(r"\$\{([A-Za-z]*)\}")


def unknown_placeholders(dimension: str) -> tuple[str, ...]:
    """The placeholders in `dimension` that the DSF does not have, sorted."""
    return tuple(sorted(set(PLACEHOLDER.findall(dimension)) - {*KNOWN, *UNKNOWN}))


def dimension_checks(intent: PlacementIntent) -> Iterator[tuple[Path, str, str]]:
    """(path, what, what to try) for each placeholder that is none, in document order."""
    for i, score in enumerate(intent.spec.preference.scores):
        for name in unknown_placeholders(score.dimension or ""):
            what = f"${{{name}}} is no placeholder of a dimension"
            yield (
                ("spec", "preference", "scores", i, "dimension"),
                what,
                guess(name, (*KNOWN, *UNKNOWN), "placeholders"),
            )
