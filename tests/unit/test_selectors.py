"""Selectors: label and claim requirements as apimachinery evaluates them."""

import pytest

from gitops_ds.selectors import Requirement, matches

HAVE = {"region": "eu", "gpu": "true", "empty": ""}


def test_an_empty_selector_matches_everything() -> None:
    assert matches({}, {})
    assert matches(HAVE, {})


@pytest.mark.parametrize(
    ("want", "holds"),
    [
        ({"region": "eu"}, True),
        ({"region": "us"}, False),
        ({"zone": ""}, False),
        ({"empty": ""}, True),
        ({"region": "eu", "gpu": "false"}, False),
    ],
)
def test_labels_must_all_be_there_with_their_values(want: dict[str, str], holds: bool) -> None:
    assert matches(HAVE, want) is holds


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        (("region", "In", ["eu", "us"]), True),
        (("region", "In", ["us"]), False),
        (("zone", "In", [""]), False),
        (("region", "NotIn", ["us"]), True),
        (("region", "NotIn", ["eu"]), False),
        (("zone", "NotIn", ["a"]), True),
        (("empty", "Exists", []), True),
        (("zone", "Exists", []), False),
        (("zone", "DoesNotExist", []), True),
        (("empty", "DoesNotExist", []), False),
    ],
)
def test_each_operator(requirement: Requirement, holds: bool) -> None:
    assert matches(HAVE, {}, [requirement]) is holds


def test_labels_and_every_requirement_must_hold() -> None:
    eu, no_zone, zone = ("region", "In", ["eu"]), ("zone", "DoesNotExist", ()), ("zone", "Exists", ())
    assert matches(HAVE, {"gpu": "true"}, [eu, no_zone])
    assert not matches(HAVE, {"gpu": "true"}, [eu, zone])
    assert not matches(HAVE, {"gpu": "false"}, [eu, no_zone])


def test_an_unknown_operator_is_an_error_and_never_a_match() -> None:
    with pytest.raises(ValueError, match="Gt is no operator"):
        matches(HAVE, {}, [("region", "Gt", ["1"])])
