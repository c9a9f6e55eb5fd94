"""Plain values to YAML text that every reader takes back as the same values.

Owns the quoting policy and the layout: sorted keys, no aliases, no wrapping, lists not indented beyond their key. Owns
no paths and no files (`tree.py`), and no order of fields that a kind might like better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from yaml import events as ev
from yaml.cyaml import CDumper

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
_BLOCK = re.compile("[\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]+")
_NO_WRAP = 2**31 - 1
_FRAME: tuple[ev.Event, ev.Event] = (ev.StreamStartEvent(), ev.DocumentStartEvent(explicit=False))


def write_document(value: Any, *, floats: bool = False, in_order: bool = False) -> bytes:
    """Write one document: mappings with text as keys, lists, text, integers of 64 bits, true, false and null.

    Args:
        value: the plain value.
        floats: write finite floats too, as nothing that is rendered holds them but what a hub holds may.
        in_order: keep keys in the order that they have, for a file that people go on to edit.

    Returns:
        UTF-8 with LF line ends and one at the end. Without `in_order`, the same value gives the same bytes whatever
        the order of its keys.

    Raises:
        TypeError: a float without `floats`, a key that is not text, or any other type: none of them belongs in a
            rendered object.
        ValueError: text with half of a surrogate pair, or an integer beyond 64 bits.
    """
    inner = _events(value, _How(floats, in_order))
    events = [*_FRAME, *inner, ev.DocumentEndEvent(explicit=False), ev.StreamEndEvent()]
    text: str = yaml.emit(events, Dumper=CDumper, allow_unicode=True, width=_NO_WRAP, line_break="\n")
    return text.encode()


class _How(NamedTuple):
    floats: bool
    in_order: bool


def _events(value: Any, how: _How) -> Iterator[ev.Event]:
    if isinstance(value, Mapping):
        yield ev.MappingStartEvent(None, None, True, flow_style=not value)
        for key in _keys(value) if how.in_order else sorted(_keys(value)):
            yield _text(key, block=False)
            yield from _events(value[key], how)
        yield ev.MappingEndEvent()
    elif isinstance(value, (list, tuple)):
        yield ev.SequenceStartEvent(None, None, True, flow_style=not value)
        for item in value:
            yield from _events(item, how)
        yield ev.SequenceEndEvent()
    elif how.floats and isinstance(value, float) and math.isfinite(value):
        # A dot, which every reader wants to see in a float.
        yield _plain(re.sub(r"^(-?[0-9]+)(?=e)", r"\1.0", repr(value)))
    else:
        yield _scalar(value)


def _keys(value: Mapping[Any, Any]) -> list[str]:
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"a key must be text, not {type(key).__name__}: {key!r}")
    return list(value)


def _scalar(value: Any) -> ev.Event:
    if isinstance(value, str):
        return _text(value, block=True)
    if value is None or isinstance(value, bool):
        return _plain({None: "null", True: "true", False: "false"}[value])
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"an integer of more than 64 bits is not the same to every reader: {value}")
        return _plain(str(int(value)))
    raise TypeError(f"a rendered object holds no {type(value).__name__}: {value!r}")


def _plain(text: str) -> ev.Event:
    return ev.ScalarEvent(None, None, (True, False), text)


def _text(text: str, *, block: bool) -> ev.Event:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"half of a surrogate pair is no character: {text!r}") from None
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return _plain(text)
    style = "|" if block and _fits_block(text) else '"'
    return ev.ScalarEvent(None, None, (False, True), text, style=style)


def _fits_block(text: str) -> bool:
    """Whether a literal block shows `text` as it is: lines, no trailing blanks, at most one line break at the end."""
    body = text.removesuffix("\n")
    if "\n" not in text or not body or body[0] in " \n" or body[-1] == "\n" or not _BLOCK.fullmatch(text):
        return False
    return not any(line.endswith(" ") for line in body.split("\n"))
