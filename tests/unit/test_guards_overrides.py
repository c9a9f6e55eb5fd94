"""Whether somebody took back a plan, told from what the lock was after each commit that changed it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from gitops_ds.overrides import Past, Touch, last_plan, taken_back

START = datetime(2026, 1, 1, tzinfo=UTC)


def past(*touches: str) -> Past:
    """Oldest first: `A` is our commit that leaves lock A, `a` somebody's that does, `-` somebody's that removes it."""
    made = [
        Touch(
            f"{i}{one}",
            "Ada",
            START + timedelta(hours=i),
            f"subject {i}",
            None if one == "-" else one.upper(),
            ours=one.isupper(),
        )
        for i, one in enumerate(touches)
    ]
    return Past(tuple(reversed(made)))


@pytest.mark.parametrize(
    ("touches", "by", "plan"),
    [
        pytest.param("ABa", "2a", "1B", id="a revert"),
        pytest.param("A-", "1-", "0A", id="the first plan taken away"),
        pytest.param("ABCa", "3a", "2C", id="back over two plans"),
        pytest.param("aba", "2a", "1b", id="a revert of what merge commits brought"),
        pytest.param("ABaba", "4a", "1B", id="reverted, restored, and reverted again"),
        pytest.param("A-a-", "3-", "0A", id="taken away, restored, and taken away again"),
        pytest.param("ABaBa", "4a", "3B", id="our plan on top of a revert is reverted too"),
        pytest.param("ABCba", "4a", "2C", id="taken back one by one"),
    ],
)
def test_taken_back(touches: str, by: str, plan: str) -> None:
    found = taken_back(past(*touches))
    assert found
    assert (found.by.commit, found.plan.commit) == (by, plan)


@pytest.mark.parametrize(
    "touches",
    [
        pytest.param("", id="nothing is known"),
        pytest.param("A", id="our first plan"),
        pytest.param("ABAB", id="plans that go to and fro"),
        pytest.param("ABaB", id="our plan on top of a revert"),
        pytest.param("ABab", id="the revert of a revert"),
        pytest.param("ABabab", id="and of that again"),
        pytest.param("A-a", id="taken away and restored"),
        pytest.param("abc", id="squashed pull requests: locks that were never there"),
        pytest.param("ABc", id="one merged on top of ours"),
        pytest.param("a", id="an import, or the first commit that a shallow clone has"),
        pytest.param("-", id="removed, in a shallow clone that knows no lock"),
    ],
)
def test_not_taken_back(touches: str) -> None:
    assert taken_back(past(*touches)) is None


@pytest.mark.parametrize(("touches", "last"), [("ABa", "1B"), ("ab", "1b"), ("ABab", "1B"), ("-", None), ("", None)])
def test_the_last_plan_is_ours_or_new(touches: Sequence[str], last: str | None) -> None:
    found = last_plan(past(*touches).touches)
    assert (found and found.commit) == last
