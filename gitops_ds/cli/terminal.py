"""The terminal: prints lines, with colour only where a person reads them, and never a raw control character.

Owns the meaning of styles and the way to standard output and standard error. Owns no text.

What is printed holds names out of files that anybody may have written: control characters in them are shown by their
escapes, so that no name can move the cursor, recolour the screen or forge a line.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

STYLES = {
    "title": "bold",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "dim": "dim",
    "add": "green",
    "remove": "red",
}
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls but tab and line feed, marks that reorder or break lines, and halves of surrogate pairs."""


def prepare() -> None:
    """Let standard output and standard error take every text, whatever the locale can encode, even when closed."""
    if sys.stdout is None or sys.stderr is None:  # the caller closed them
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it stays open as long as we run
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def safe(text: str) -> str:
    r"""`text` with control characters written as escapes, such as `\x1b`; tabs and line feeds stay."""
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text)


def one_line(text: str) -> str:
    r"""`text` as `safe` has it, in one line: line feeds are written as `\n`."""
    return safe(text).replace("\n", "\\n")


def say(text: str, *, error: bool = False, end: str = "\n") -> None:
    """Print `text`, which may have several lines, on standard output or on standard error."""
    _write(sys.stderr if error else sys.stdout, f"{safe(text)}{end}")


def show(lines: Iterable[tuple[str, str]], *, error: bool = False, exact: bool = False) -> None:
    """Print (text, style) lines, never wrapped, and plain when it is no terminal or NO_COLOR is set.

    With `exact`, what goes to no terminal is the text itself: a patch has to keep every character.
    """
    stream = sys.stderr if error else sys.stdout
    if not stream.isatty():
        _write(stream, "".join(f"{text if exact else one_line(text)}\n" for text, _ in lines))
    elif os.environ.get("NO_COLOR"):
        _write(stream, "".join(f"{one_line(text)}\n" for text, _ in lines))
    else:
        _write(stream, _coloured(lines))


def _coloured(lines: Iterable[tuple[str, str]]) -> str:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    with console.capture() as captured:
        for text, style in lines:
            console.print(Text(one_line(text), style=STYLES.get(style, "")))
    return captured.get()


def flush() -> None:
    """Send what is still held back.

    Raises:
        OSError: it cannot be written, on a full disk for one.
    """
    _write(sys.stdout, "")
    _write(sys.stderr, "")


def silence() -> None:
    """Send standard output nowhere from here on, and what is still held back too."""
    _abandon(sys.stdout)


def _write(stream: TextIO, text: str) -> None:
    """Write to `stream`. Where its reader has gone, the work goes on and its exit code still counts."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _abandon(stream)


def _abandon(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
