"""Freeze windows against a walk through time, a step at a time, that looks at nothing but the wall clock."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_ds.guards.freeze import frozen, in_words, windows
from gitops_ds.intent.reconciler import DAYS, Freeze

ZONES = (
    "America/New_York",
    "America/Sao_Paulo",
    "Africa/Casablanca",  # goes back for Ramadan
    "Asia/Kathmandu",  # +05:45
    "Asia/Tehran",  # +03:30, clocks changed at midnight
    "Australia/Lord_Howe",  # clocks change by half an hour
    "Europe/Berlin",
    "Europe/Dublin",  # its winter time is the exception
    "Pacific/Apia",  # lost 2011-12-30
    "Pacific/Chatham",  # +12:45
    "UTC",
)
TURNS = (
    date(2011, 12, 30),
    date(2018, 11, 4),
    date(2021, 9, 22),
    date(2022, 3, 22),
    date(2026, 2, 15),
    date(2026, 3, 8),
    date(2026, 3, 22),
    date(2026, 3, 29),
    date(2026, 4, 5),
    date(2026, 10, 4),
    date(2026, 10, 25),
    date(2026, 11, 1),
)
"""Days on which, or next to which, clocks of these zones change."""
STEP = timedelta(minutes=5)
times = st.builds(lambda m: f"{m // 12:02}:{m % 12 * 5:02}", st.integers(0, 287))


def walked(freeze: Freeze, day: date) -> tuple[datetime, datetime] | None:
    """The window that starts on `day`: from the first instant to the last whose wall clock is in it."""
    start = datetime.fromisoformat(f"{day} {freeze.from_}")
    to = "00:00" if freeze.to == "24:00" else freeze.to
    end = datetime.fromisoformat(f"{day} {to}")
    end += timedelta(days=1) if end <= start else timedelta()
    here = start.replace(tzinfo=UTC) - timedelta(hours=30)
    inside = []
    while here < start.replace(tzinfo=UTC) + timedelta(hours=66):
        if start <= here.astimezone(freeze.zone).replace(tzinfo=None) < end:
            inside.append(here)
        here += STEP
    return (inside[0], inside[-1] + STEP) if inside else None


freezes = st.builds(
    lambda zone, start, end, days, since, until: Freeze.model_validate(
        {
            "timeZone": zone,
            "from": start,
            "to": end,
            "days": days or list(DAYS),
            **({"since": str(since)} if since else {}),
            **({"until": str(until)} if until and not (since and until < since) else {}),
        }
    ),
    st.sampled_from(ZONES),
    times,
    st.one_of(times, st.just("24:00")),
    st.lists(st.sampled_from(DAYS), unique=True, max_size=4),
    st.one_of(st.none(), st.sampled_from(TURNS)),
    st.one_of(st.none(), st.sampled_from(TURNS)),
)
near_turns = st.builds(lambda day, n: day + timedelta(days=n), st.sampled_from(TURNS), st.integers(-1, 1))


@settings(max_examples=150, deadline=None)
@given(freezes, near_turns)
def test_windows_are_what_a_walk_over_the_wall_clock_finds(freeze: Freeze, near: date) -> None:
    expected = []
    for day in (near + timedelta(days=n) for n in range(-2, 2)):
        on = DAYS[day.weekday()] in freeze.days
        if on and (freeze.since or str(day)) <= str(day) <= (freeze.until or str(day)):
            expected.append(walked(freeze, day))
    assert list(windows(freeze, near)) == [window for window in expected if window]


@settings(max_examples=60, deadline=None)
@given(st.lists(freezes, max_size=3), near_turns, st.integers(0, 287))
def test_the_end_is_the_first_instant_that_no_window_holds(several: list[Freeze], near: date, step: int) -> None:
    now = datetime(near.year, near.month, near.day, tzinfo=UTC) + step * STEP
    spans = [
        window
        for freeze in several
        for n in range(-3, 9)
        if DAYS[(near + timedelta(days=n)).weekday()] in freeze.days
        if (freeze.since or "") <= str(near + timedelta(days=n)) <= (freeze.until or "9")
        if (window := walked(freeze, near + timedelta(days=n)))
    ]
    here = now
    while any(start <= here < end for start, end in spans):
        here += STEP
    found = frozen(now, several)
    if here == now:
        assert found is None
    elif here < now + timedelta(days=6):  # what the walk can see to its end
        assert found is not None
        assert found.until == here
    else:
        assert found is not None
        assert found.until is None or found.until >= here


def at(text: str, zone: str = "UTC", fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)


def until(now: datetime, **fields: object) -> datetime | None:
    found = frozen(now, [Freeze.model_validate({"timeZone": "Europe/Berlin", **fields})])
    assert found
    return found.until


@pytest.mark.parametrize(
    ("fields", "start", "end"),
    [
        pytest.param({"from": "02:30", "to": "06:00"}, "2026-03-29T01:00", "2026-03-29T04:00", id="starts in the gap"),
        pytest.param({"from": "00:00", "to": "02:30"}, "2026-03-28T23:00", "2026-03-29T01:00", id="ends in the gap"),
        pytest.param({"from": "01:00", "to": "02:30"}, "2026-10-24T23:00", "2026-10-25T01:30", id="ends at the second"),
        pytest.param(
            {"from": "02:30", "to": "04:00"}, "2026-10-25T00:30", "2026-10-25T03:00", id="starts at the first"
        ),
    ],
)
def test_a_window_over_the_change_of_clocks(fields: dict[str, str], start: str, end: str) -> None:
    freeze = Freeze.model_validate({"timeZone": "Europe/Berlin", "days": ["Sun"], **fields})
    assert list(windows(freeze, at(start).astimezone(freeze.zone).date())) == [(at(start), at(end))]


def test_a_window_that_the_gap_swallows_is_none() -> None:
    freeze = Freeze.model_validate({"timeZone": "Europe/Berlin", "days": ["Sun"], "from": "02:10", "to": "02:50"})
    assert list(windows(freeze, date(2026, 3, 29))) == []


def test_a_window_over_midnight_belongs_to_the_day_it_starts_on() -> None:
    friday = {"days": ["Fri"], "from": "22:00", "to": "06:00", "until": "2026-01-02"}
    assert until(at("2026-01-02T23:00"), **friday) == at("2026-01-03T05:00")
    assert until(at("2026-01-03T04:59"), **friday) == at("2026-01-03T05:00")
    freeze = Freeze.model_validate({"timeZone": "Europe/Berlin", **friday})
    for free in ("2026-01-01T23:00", "2026-01-03T05:00", "2026-01-09T23:00"):
        assert frozen(at(free), [freeze]) is None


def test_windows_that_touch_are_one_and_dates_alone_freeze_all_of_the_time_between() -> None:
    assert until(at("2026-12-24T12:00"), since="2026-12-20", until="2027-01-03") == at("2027-01-03T23:00")
    weekend = Freeze.model_validate({"timeZone": "UTC", "days": ["Sat", "Sun"], "reason": "weekend"})
    evening = Freeze.model_validate({"timeZone": "Asia/Tokyo", "days": ["Mon"], "from": "09:00", "to": "17:00"})
    found = frozen(at("2026-01-03T10:00"), [weekend, evening])
    assert found
    assert (found.until, str(found.zone), found.reasons) == (at("2026-01-05T08:00"), "Asia/Tokyo", ("weekend",))


def test_a_freeze_without_dates_and_times_has_no_end() -> None:
    assert until(at("2026-01-03T10:00")) is None
    assert until(at("2026-01-03T10:00"), until="2028-12-31") == at("2028-12-31T23:00")


def test_the_end_is_told_in_the_zone_of_the_window_and_in_utc() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert in_words(at("2026-01-05T05:00"), berlin) == "Mon 2026-01-05 06:00 Europe/Berlin (05:00 UTC)"
    assert in_words(at("2026-01-04T23:00"), berlin) == "Mon 2026-01-05 00:00 Europe/Berlin (Sun 2026-01-04 23:00 UTC)"
    assert in_words(at("2026-01-05T05:00"), ZoneInfo("UTC")) == "Mon 2026-01-05 05:00 UTC"
