"""What to try where a name is none that is known: the close match that was probably meant, and what there is.

Owns the wording. Owns no name and no decision that one is wrong.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_NAMES = 10


def guess(given: str, known: Iterable[str], what: str) -> str:
    """Advice for the name `given`, which is not among `known`; `what` says in the plural what these are."""
    names = sorted(set(known))
    near = difflib.get_close_matches(given, names, n=1)
    rest = len(names) - MOST_NAMES
    listed = ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
    if near:
        return f"did you mean {near[0]}? Known {what}: {listed}"
    return f"known {what}: {listed or 'none'}"
