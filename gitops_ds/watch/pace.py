"""How long the loop waits for the next round.

Owns the arithmetic alone.
"""

from __future__ import annotations

from datetime import timedelta

from gitops_ds.intent.reconciler import Watch

LEAST = 1.0
"""Seconds that a failed round is waited after, whatever maxBackoff says, unless the interval itself is shorter."""
_MOST_DOUBLED = 60


def seconds_until_next(watch: Watch, interval: timedelta, failures: int, chance: float) -> float:
    """Seconds from the end of one round to the start of the next.

    Args:
        watch: jitter and the longest wait after failures.
        interval: the wait after a round that ended well.
        failures: how many rounds in a row have failed.
        chance: a number from 0 to 1 that says how much of the jitter is added.
    """
    plain = interval.total_seconds()
    spread = 1 + chance * watch.jitter / 100
    if not failures:
        return plain * spread
    backed_off = plain * 2.0 ** min(failures - 1, _MOST_DOUBLED) * spread
    return max(min(backed_off, watch.maxBackoff.total_seconds()), min(plain, LEAST))
