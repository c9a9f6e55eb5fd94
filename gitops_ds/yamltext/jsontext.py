"""JSON as the same events that a YAML parser gives, so that one walk reads both.

JSON is YAML for most purposes, but a YAML parser stumbles over its tabs and its surrogate pairs, and resolves its
numbers by other rules. Owns finding out whether a text is JSON, and cutting it into events. Owns no values beyond
strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from yaml import events as ev
from yaml.error import MarkedYAMLError

_PIECE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:\n]|[^\s{}\[\],:"]+')
_INK = re.compile(r"[^ \t\r\n]")


class Mark(NamedTuple):
    """A place in the text, counted from 0 as the YAML parser's marks are."""

    line: int
    column: int


def is_json(text: str) -> bool:
    """Whether `text` is one JSON mapping or list, or several in a row. Too deep to tell counts as no."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    at = _next_ink(text, 0)
    try:
        while at < len(text):
            if text[at] not in "{[":
                return False
            at = _next_ink(text, decoder.raw_decode(text, at)[1])
    except (ValueError, RecursionError):
        return False
    return True


def _next_ink(text: str, at: int) -> int:
    found = _INK.search(text, at)
    return found.start() if found else len(text)


def _refuse(name: str) -> None:
    raise ValueError(name)


def json_events(text: str) -> Iterator[ev.Event]:
    """The events of `text`, which `is_json` has accepted; numbers and words come as plain scalars.

    Raises:
        MarkedYAMLError: a string holds half of a surrogate pair, which is no character.
    """
    depth, line, begin = 0, 0, 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece == "\n":
            line, begin = line + 1, match.end()
            continue
        if piece in ",:":
            continue
        mark: Any = Mark(line, match.start() - begin)
        if depth == 0:
            yield ev.DocumentStartEvent(mark, mark)
        depth += (piece in "{[") - (piece in "}]")
        yield _event(piece, mark)
        if depth == 0:
            yield ev.DocumentEndEvent(mark, mark)


def _event(piece: str, mark: Any) -> ev.Event:
    match piece[0]:
        case "{":
            return ev.MappingStartEvent(None, None, True, mark, mark)
        case "[":
            return ev.SequenceStartEvent(None, None, True, mark, mark)
        case "}":
            return ev.MappingEndEvent(mark, mark)
        case "]":
            return ev.SequenceEndEvent(mark, mark)
        case '"':
            return ev.ScalarEvent(None, None, (False, True), _string(piece, mark), mark, mark, '"')
        case _:
            return ev.ScalarEvent(None, None, (True, False), piece, mark, mark)


def _string(piece: str, mark: Any) -> str:
    if "\\" not in piece:
        return piece[1:-1]
    text: str = json.loads(piece)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MarkedYAMLError(problem="found half of a surrogate pair", problem_mark=mark) from None
    return text
