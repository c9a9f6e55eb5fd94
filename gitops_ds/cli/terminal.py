"""The terminal: prints styled lines, with colour only where a person reads them.

Owns the meaning of styles. Owns no text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

STYLES = {
    "title": "bold",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "dim": "dim",
    "add": "green",
    "remove": "red",
}


def show(lines: Iterable[tuple[str, str]], *, error: bool = False) -> None:
    """Print (text, style) lines as they are: never wrapped, and plain when it is no terminal or NO_COLOR is set."""
    stream = sys.stderr if error else sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        for text, _ in lines:
            print(text, file=stream)  # noqa: T201
        return
    console = Console(file=stream, highlight=False, soft_wrap=True)
    for text, style in lines:
        console.print(Text(text, style=STYLES.get(style, "")))
