"""PromQL looked over without evaluating it: quotes, brackets, durations and characters, with the column of the fault.

Owns what the readers of PromQL and of VictoriaMetrics' MetricsQL agree on. Owns no grammar of expressions: a parser of
the one would refuse what is right in the other, and the server that is asked knows its functions best.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

_DURATION = r"(?:(?:[0-9]+(?:\.[0-9]+)?(?:ms|[smhdwyi]))+|[0-9]+(?:\.[0-9]+)?)"
_RANGE = re.compile(rf"\s*{_DURATION}\s*(?::\s*{_DURATION}?\s*)?", re.ASCII)
_TOKEN = re.compile(
    rf"""(?P<space>\s+|\#[^\n]*)
      |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
      |(?P<number>(?:0[xX][0-9a-fA-F]+|{_DURATION}|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+|[KMGT]i?B?)?)
         (?![A-Za-z0-9_.]))
      |(?P<word>[A-Za-z_:][A-Za-z0-9_:]*)
      |(?P<sign>=~|!~|==|!=|>=|<=|[-+*/%^=<>@,;])
      |(?P<bracket>[()\]{{}}])""",
    re.VERBOSE | re.ASCII,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_NEEDS_MORE = frozenset({*"+-*/%^><@,", "==", "!=", ">=", "<=", "and", "or", "unless", "offset"})
_OPERATORS = ("=", "!=", "=~", "!~")


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class PromqlError(ValueError):
    """What is wrong, and at which column of the query, counted from 1."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(f"column {at + 1}: {what}")


def check_queries(text: str) -> None:
    """Look over one query, or several joined with `;` as a DynamicScorer has them.

    Raises:
        PromqlError: one of them cannot be PromQL.
    """
    tokens = list(_tokens(text))
    _check_brackets(tokens)
    begin = 0
    ends = [i for i, token in enumerate(tokens) if token.text == ";"]
    for end in [*ends, len(tokens)]:
        mine = tokens[begin:end]
        stop = tokens[end].start if end < len(tokens) else len(text)
        if not mine:
            raise PromqlError("a query is empty" if ends else "the query is empty", stop)
        if mine[-1].text in _NEEDS_MORE:
            raise PromqlError(f"nothing follows {mine[-1].text}", mine[-1].start)
        _check_offsets(mine)
        begin = end + 1


def check_selector(text: str) -> None:
    """Whether `text` is a selector of series and nothing more, such as `dynamic_score{env="prod"}`.

    Raises:
        PromqlError: it is not.
    """
    check_queries(text)
    tokens = list(_tokens(text))
    names = [t.text for t in tokens]
    has_name = tokens[0].kind == "word"
    rest = names[1:] if has_name else names
    braces = rest[:1] == ["{"] and rest[-1:] == ["}"] and names.count("{") == 1
    if not (braces or (has_name and not rest)):
        raise PromqlError("this is more than a selector of series: functions and operators hide how old samples are", 0)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        if text[at] == "[":
            at = yield from _range(text, at)
            continue
        found = _TOKEN.match(text, at)
        if found is None:
            raise PromqlError(_unreadable(text, at), at)
        kind = found.lastgroup or ""
        if kind in ("space", "text") and ";" in found[0]:
            raise PromqlError("the agent ends a query at every ;, in quotes and comments too", at + found[0].index(";"))
        if kind != "space":
            yield _Token(kind, found[0], at)
        at = found.end()


def _range(text: str, start: int) -> Generator[_Token, None, int]:
    """The tokens of `[...]`, whose inside is a duration, or a range and a resolution."""
    end = text.find("]", start)
    if end < 0:
        raise PromqlError("[ is never closed", start)
    inside = text[start + 1 : end]
    if _RANGE.fullmatch(inside) is None:
        raise PromqlError(f'"{inside.strip()}" is no duration such as 5m or 1h30m', start + 1)
    yield _Token("bracket", "[", start)
    yield _Token("bracket", "]", end)
    return end + 1


def _unreadable(text: str, at: int) -> str:
    here = text[at]
    if here in "\"'`":
        return f"the text that starts with {here} is never ended"
    if here.isascii() and here.isdigit():
        word = re.match(r"[A-Za-z0-9_.]+", text[at:], re.ASCII)
        return f'"{word[0] if word else here}" is neither a number nor a duration such as 5m or 1h30m'
    if here == "$":
        return "$ is a dashboard's variable, which nobody fills in here"
    return f"{ascii(here)[1:-1]} has no meaning here"


def _check_offsets(tokens: list[_Token]) -> None:
    for i, token in enumerate(tokens[1:-1], 1):
        before, after = tokens[i - 1], tokens[i + 1]
        if token.text == "offset" and (before.kind == "word" or before.text in ("]", "}")):
            given = tokens[i + 2] if after.text == "-" and i + 2 < len(tokens) else after
            if given.kind != "number":
                raise PromqlError("offset takes a duration such as 5m", given.start)


def _check_brackets(tokens: list[_Token]) -> None:
    open_: list[tuple[_Token, int]] = []
    for i, token in enumerate(tokens):
        if token.text == ";" and open_:
            raise PromqlError(f"{open_[-1][0].text} is not closed before the ;", open_[-1][0].start)
        if token.kind != "bracket":
            continue
        if token.text not in _PAIRS:
            open_.append((token, i))
        elif not open_ or open_[-1][0].text != _PAIRS[token.text]:
            raise PromqlError(f"{token.text} closes nothing", token.start)
        else:
            opened, first = open_.pop()
            if opened.text == "{":
                _check_matchers(tokens[first + 1 : i], token.start)
    if open_:
        raise PromqlError(f"{open_[-1][0].text} is never closed", open_[-1][0].start)


def _check_matchers(inside: list[_Token], end: int) -> None:
    """Inside braces stand matchers: a label, an operator and a text in quotes each."""
    expected = "label"
    for token in inside:
        match expected, token.kind:
            case "label", "word":
                expected = "operator"
            case "label", "text":
                expected = "operator or comma"
            case (("operator" | "operator or comma"), "sign") if token.text in _OPERATORS:
                expected = "value"
            case "value", "text":
                expected = "comma"
            case (("comma" | "operator or comma"), _) if token.text in (",", "or"):
                expected = "label"
            case "value", _:
                raise PromqlError("the value of a label stands in quotes", token.start)
            case _:
                raise PromqlError(f'{token.text} is out of place: write label="value", ...', token.start)
    if expected in ("operator", "value"):
        raise PromqlError("a label has no value", end)
