"""Freeze windows: whether one holds now, and until when.

Owns the meaning of days, times and dates in a time zone, across the days on which its clocks change. Owns no clock.

A window is read on the wall clock of its zone. Where clocks jump forward over its start, it starts with the first
instant after the jump, and so does its end. Where clocks go back, a time of day comes twice: a window starts with the
first of the two and ends with the second, since a freeze that is too long does less harm than one that is too short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from gitops_ds.intent.reconciler import DAYS, Freeze

HORIZON = timedelta(days=3 * 366)
"""Windows that touch are followed this far; a freeze that lasts longer has no end that is worth telling."""

_NEARBY = range(-2, 2)
"""The days around an instant's own on which a window that holds it may start: it lasts for a day, clocks aside."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """That it is frozen now.

    Attributes:
        until: the end, in UTC, of the windows that hold now and of those that follow on without a break; None: there
            is no end in the next three years.
        zone: the time zone of the window that ends last.
        reasons: of the windows that hold now, sorted.
    """

    until: datetime | None
    zone: tzinfo
    reasons: tuple[str, ...]


def frozen(now: datetime, freezes: Sequence[Freeze]) -> Frozen | None:
    """What is frozen at `now`, an aware instant; None where nothing is."""
    here = [freeze for freeze in freezes if _end_from(now, freeze) is not None]
    if not here:
        return None
    until: datetime = now
    zone: tzinfo = here[0].zone
    while True:
        ends = [(end, freeze) for freeze in freezes if (end := _end_from(until, freeze)) is not None]
        if not ends:
            break
        until, last = max(ends, key=lambda found: found[0])
        zone = last.zone
        if until > now + HORIZON:
            break
    reasons = tuple(sorted({freeze.reason for freeze in here if freeze.reason}))
    return Frozen(until if until <= now + HORIZON else None, zone, reasons)


def windows(freeze: Freeze, near: date) -> Iterator[tuple[datetime, datetime]]:
    """Start and end, in UTC, of the windows that start on the days around `near`; one without length is left out."""
    begin, end = time.fromisoformat(freeze.from_), _time_of(freeze.to)
    for day in (near + timedelta(days=n) for n in _NEARBY):
        if DAYS[day.weekday()] not in freeze.days or not _within(day, freeze):
            continue
        last = day if end > begin else day + timedelta(days=1)
        found = _instant(day, begin, freeze.zone, late=False), _instant(last, end, freeze.zone, late=True)
        if found[0] < found[1]:
            yield found


def in_words(until: datetime, zone: tzinfo) -> str:
    """An instant as people of `zone` read it, with UTC beside: `Mon 2026-01-05 06:00 Europe/Berlin (05:00 UTC)`."""
    here, there = until.astimezone(zone), until.astimezone(UTC)
    said = f"{_day(here)} {_clock(here)}"
    if here.utcoffset() == timedelta() and str(zone) == "UTC":
        return f"{said} UTC"
    other = _clock(there) if here.date() == there.date() else f"{_day(there)} {_clock(there)}"
    return f"{said} {zone} ({other} UTC)"


def _end_from(instant: datetime, freeze: Freeze) -> datetime | None:
    """The latest end of the windows of `freeze` that hold `instant`."""
    several = windows(freeze, instant.astimezone(freeze.zone).date())
    return max((end for start, end in several if start <= instant < end), default=None)


def _within(day: date, freeze: Freeze) -> bool:
    said = day.isoformat()
    return (freeze.since or said) <= said <= (freeze.until or said)


def _time_of(text: str) -> time:
    """A time of day; 24:00 is the 00:00 of the next day, which is not after any start."""
    return time() if text == "24:00" else time.fromisoformat(text)


def _instant(day: date, clock: time, zone: tzinfo, *, late: bool) -> datetime:
    """When the wall clock of `zone` shows a time; of two such instants the later one with `late`.

    A time that clocks jump over is the first instant after the jump.
    """
    wall = datetime.combine(day, clock)
    first, second = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second or _wall(first, zone) == wall:
        return second if late else first
    seconds = int((second - first).total_seconds())
    low, high = 0, seconds  # at `first` the clock is before the jump, at `second` after it
    while high - low > 1:
        middle = (low + high) // 2
        if _wall(first + timedelta(seconds=middle), zone) < wall:
            low = middle
        else:
            high = middle
    return first + timedelta(seconds=high)


def _wall(instant: datetime, zone: tzinfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _day(instant: datetime) -> str:
    return f"{DAYS[instant.weekday()]} {instant.date().isoformat()}"


def _clock(instant: datetime) -> str:
    return f"{instant:%H:%M:%S}" if instant.second else f"{instant:%H:%M}"
