"""Logs: one line an event, as text for people or as JSON for programs.

Owns the form of a line, and that nothing in it can forge another one: control characters are written as escapes. Owns
no event.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal, TextIO

Level = Literal["info", "warning", "error"]
Value = str | int | float | bool | None | Sequence[str]
LONGEST = 4000
"""Characters of one value that are kept: its end is what is cut."""
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,-]+")
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Log:
    """Writes events to one stream; from any thread, and never a failure of whoever writes.

    Args:
        stream: where lines go.
        as_json: JSON instead of text.
        now: the clock.
    """

    def __init__(self, stream: TextIO, *, as_json: bool, now: Callable[[], datetime]) -> None:
        self._stream = stream
        self._as_json = as_json
        self._now = now
        self._lock = threading.Lock()

    def event(self, event: str, level: Level = "info", **fields: Value) -> None:
        """Write one line. Fields that are None are left out; lists are lists in JSON, and joined by commas in text."""
        time = self._now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        said = {name: _cut(value) for name, value in fields.items() if value is not None}
        if self._as_json:
            line = json.dumps({"time": time, "level": level, "event": event, **said})
        else:
            line = " ".join([time, level, event, *(f"{name}={_text(value)}" for name, value in said.items())])
        with self._lock:
            try:
                self._stream.write(f"{line}\n")
                self._stream.flush()
            except (OSError, ValueError):
                return  # nobody reads any more, or the disk is full: the work goes on


def _cut(value: Value) -> Value:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[: LONGEST - 3]}..."
    if isinstance(value, Sequence):
        return [str(_cut(one)) for one in value]
    return round(value, 3) if isinstance(value, float) else value


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = ",".join(value) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
    if _PLAIN.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
