"""How three readers resolve a plain (unquoted) scalar, and where they do not agree.

Owns the three tables: YAML 1.1 as PyYAML has it (with the words y and n, which the specification counts too), the core
schema of YAML 1.2, and gopkg.in/yaml.v2 as kubectl uses it. Owns no reading of files (`read.py`) and no opinion on
whether a disagreement matters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Special:
    """What only YAML 1.1 makes of a scalar: a `timestamp`, a `merge key` (`<<`) or a `default-value key` (`=`)."""

    kind: str
    text: str


Scalar: TypeAlias = "bool | int | float | str | Special | None"

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_CORE_BOOLS = {form(w): w == "true" for w in ("true", "false") for form in (str.lower, str.title, str.upper)}
_OLD_BOOLS = _CORE_BOOLS | {
    form(word): truth
    for truth, words in ((True, ("yes", "on")), (False, ("no", "off")))
    for word in words
    for form in (str.lower, str.title, str.upper)
}
_OLD_BOOLS |= {"y": True, "Y": True, "n": False, "N": False}
_WORDS = frozenset(_OLD_BOOLS) | _NULLS | {"<<", "="}

_INFINITY = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NANS = frozenset((".nan", ".NaN", ".NAN"))

_INT11 = re.compile(
    r"[-+]?(?:0b(?=_*[01])[01_]+|0[0-7_]+|0x(?=_*[0-9a-fA-F])[0-9a-fA-F_]+"
    r"|0|[1-9][0-9_]*|[1-9][0-9_]*(?P<sixties>(?::[0-5]?[0-9])+))"
)
_FLOAT11 = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?P<sixties>(?::[0-5]?[0-9])+)\.[0-9_]*"
)
_TIMESTAMP11 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)
_INT12 = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT12 = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INT_GO = re.compile(r"[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)")
_BINARY_GO = re.compile(r"0b([-+][01]+)")  # a slip of its fallback for binary numbers, kept since it is what runs
_DOT_FLOAT_GO = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")

_BASES = {"b": 2, "o": 8, "x": 16}
_LONGEST_INT = 4000  # digits; Python refuses to read decimal numbers of more than 4300
_LONGEST_SHOWN = 60
_FIRST = frozenset("0123456789+-.")


def yaml11(text: str) -> Scalar:
    """Resolve plain `text` as YAML 1.1 does; sexagesimal numbers (`12:30`) become the number they mean, 750."""
    if text in _NULLS:
        return None
    if text in _OLD_BOOLS:
        return _OLD_BOOLS[text]
    if text == "<<":
        return Special("merge key", text)
    if text == "=":
        return Special("default-value key", text)
    if text[0] not in _FIRST:
        return text
    return _number11(text)


def _number11(text: str) -> Scalar:
    if _FLOAT11.fullmatch(text):
        plain = text.replace("_", "")
        return float(_sixties(plain)) if ":" in plain else float(plain)
    if _INT11.fullmatch(text):
        plain = text.replace("_", "")
        return _sixties(plain) if ":" in plain else _integer(plain)
    if _TIMESTAMP11.fullmatch(text):
        return Special("timestamp", text)
    return _beyond_numbers(text)


def yaml12(text: str) -> Scalar:
    """Resolve plain `text` by the core schema of YAML 1.2."""
    if text in _NULLS:
        return None
    if text in _CORE_BOOLS:
        return _CORE_BOOLS[text]
    if text[0] not in _FIRST:
        return text
    if _INT12.fullmatch(text):
        return _integer(text, octal=False)
    if _FLOAT12.fullmatch(text):
        return float(text)
    return _beyond_numbers(text)


def goyaml(text: str) -> Scalar:
    """Resolve plain `text` as gopkg.in/yaml.v2 does into an `interface{}`: what kubectl sees. Timestamps stay text."""
    if text in _NULLS:
        return None
    if text in _OLD_BOOLS:
        return _OLD_BOOLS[text]
    if text[0] not in _FIRST:
        return text
    if text[0] == ".":
        return _finite(text) if _DOT_FLOAT_GO.fullmatch(text) else _beyond_numbers(text)
    return _number_go(text)


def _number_go(text: str) -> Scalar:
    plain = text.replace("_", "")
    if _INT_GO.fullmatch(plain):
        number = _integer(plain)
        signed = plain[0] in "+-"
        if isinstance(number, int) and -(2**63) <= number < (2**63 if signed else 2**64):
            return number
    if _FLOAT12.fullmatch(plain):
        real = _finite(plain)
        return text if isinstance(real, str) else real
    slip = _BINARY_GO.fullmatch(plain)
    if slip:
        return int(slip[1], 2)
    return _beyond_numbers(text)


def _beyond_numbers(text: str) -> Scalar:
    infinity = _INFINITY.fullmatch(text)
    if infinity:
        return -math.inf if infinity[1] == "-" else math.inf
    return math.nan if text in _NANS else text


def _finite(text: str) -> float | str:
    """The number, or the text itself where it overflows: Go calls that an error of range and keeps the text."""
    number = float(text)
    return text if math.isinf(number) else number


def _integer(text: str, *, octal: bool = True) -> int | float:
    """Read a signed integer with an optional 0b, 0o or 0x; `octal` makes a bare leading 0 octal, as in C."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    base = _BASES.get(digits[1:2].lower())
    if base:
        return sign * int(digits[2:], base)
    if octal and digits[0] == "0":
        return sign * int(digits, 8)
    return sign * int(digits) if len(digits) <= _LONGEST_INT else sign * math.inf


def _sixties(text: str) -> int | float:
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    total: int | float = 0
    for part in digits.split(":"):
        number: int | float = float(part) if "." in part else _integer(part, octal=False)
        if total > 1e100:  # nobody means it; without an end to it a long scalar would cost quadratic time
            return sign * math.inf
        total = total * 60 + number
    return sign * total


def ambiguous(text: str) -> str | None:
    """Say how the readers differ on plain `text`; None where all three agree in type and value."""
    if text not in _WORDS and text[:1] not in _FIRST:
        return None
    readings = (("YAML 1.1", yaml11(text)), ("YAML 1.2", yaml12(text)), ("kubectl", goyaml(text)))
    if all(_same(readings[0][1], value) for _, value in readings):
        return None
    return ", ".join(f"{reader} reads {say(value)}" for reader, value in readings)


def _same(one: Scalar, other: Scalar) -> bool:
    if type(one) is not type(other):
        return False
    return one == other or (one != one and other != other)  # noqa: PLR0124  (not-a-number differs from itself)


def say(value: object) -> str:
    """Name a value in a sentence: `text`, `true`, `null`, `the number 8`, `a list`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value:.6g}" if isinstance(value, float) else f"the number {_short(value)}"
    if isinstance(value, Special):
        return f"a {value.kind}"
    return "text" if isinstance(value, str) else "a mapping" if isinstance(value, dict) else "a list"


def _short(value: int) -> str:
    return str(value) if value.bit_length() <= 64 else f"of {value.bit_length()} bits"


def shown(text: str) -> str:
    """`text` as it may stand in a message: not too long, on one line, nothing that a terminal would act on."""
    cut = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)


def remedy(text: str) -> str:
    """Say what to write instead of the ambiguous plain `text`."""
    choices = [f'"{shown(text)}" if text is meant']
    if isinstance(yaml11(text), bool):
        choices.append("true or false if a truth value is meant")
    numbers = sorted({number for reading in (yaml11, yaml12, goyaml) if (number := _plainly(reading(text), text))})
    if numbers:
        choices.append(f"{' or '.join(numbers)} if a number is meant")
    return "write " + ", ".join(choices)


def _plainly(value: Scalar, text: str) -> str | None:
    """A number in the one spelling that every reader takes alike, if there is a short one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15 or ":" in text:
        return None
    number = str(int(value)) if value == int(value) else repr(value)
    return None if ambiguous(number) else number
