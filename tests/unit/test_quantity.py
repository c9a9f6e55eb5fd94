"""Amounts: the grammar of Kubernetes quantities, exactly, and back to text."""

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.quantity import format_quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", Fraction(0)),
        ("2", Fraction(2)),
        (7, Fraction(7)),
        ("+3", Fraction(3)),
        ("500m", Fraction(1, 2)),
        ("1.5", Fraction(3, 2)),
        ("1.", Fraction(1)),
        (".5", Fraction(1, 2)),
        ("64Gi", Fraction(64 * 2**30)),
        ("1.5Ki", Fraction(1536)),
        ("64G", Fraction(64 * 10**9)),
        ("1k", Fraction(1000)),
        ("100u", Fraction(1, 10_000)),
        ("3n", Fraction(3, 10**9)),
        ("1E", Fraction(10**18)),
        ("1Ei", Fraction(2**60)),
        ("1e3", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("1.5e-3", Fraction(3, 2000)),
        ("2e+2", Fraction(200)),
    ],
)
def test_every_form_of_kubernetes_is_read_exactly(text: str | int, amount: Fraction) -> None:
    assert parse_quantity(text) == amount


@pytest.mark.parametrize(
    "text",
    ["", " ", "2 ", " 2", "2\n", "-1", -1, "two", "1e", "1e3m", "64gi", "64GI", "1K", "1,5", "1.5.1", ".", "0x10", "१"],
)
def test_what_is_no_amount_is_refused(text: str | int) -> None:
    with pytest.raises(ValueError, match="amount"):
        parse_quantity(text)


def test_a_boolean_is_no_amount_though_python_counts_with_it() -> None:
    with pytest.raises(ValueError, match="boolean"):
        parse_quantity(True)


def test_a_text_too_long_to_be_an_amount_is_refused_and_not_repeated_whole() -> None:
    with pytest.raises(ValueError, match="no amount") as error:
        parse_quantity("9" * 10_000)
    assert len(str(error.value)) < 120


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(2), "2"),
        (Fraction(1023), "1023"),
        (Fraction(64 * 2**30), "64Gi"),
        (Fraction(3 * 2**30 // 2), "1536Mi"),
        (Fraction(1, 2), "500m"),
        (Fraction(3, 2), "1500m"),
        (Fraction(1, 10_000), "100u"),
        (Fraction(1, 10**9), "1n"),
    ],
)
def test_amounts_are_written_as_people_write_them(amount: Fraction, text: str) -> None:
    assert format_quantity(amount) == text


@given(st.integers(0, 10**15), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_what_is_written_reads_back_as_the_same_amount(count: int, parts: int) -> None:
    amount = Fraction(count, parts)
    assert parse_quantity(format_quantity(amount)) == amount


@given(st.text(max_size=50))
def test_any_text_gives_an_amount_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert parse_quantity(text) >= 0
