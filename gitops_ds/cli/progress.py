"""A line on standard error that says what is being worked on, where a person is waiting at a terminal.

Owns when it shows and how it goes away again. Owns no text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitops_ds.cli.terminal import one_line, say

PATIENCE = 2.0
"""Seconds of work before anything shows."""
WIDTH = 79


@contextmanager
def progress(*, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Something to tell what is being worked on; nothing shows before `patience` is over, or where no one watches."""
    began, shown = time.monotonic(), ""

    def tell(text: str) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - began >= patience:
            line = one_line(text)[:WIDTH]
            _write(line.ljust(len(shown)))
            shown = line

    try:
        yield tell
    finally:
        if shown:
            _write(" " * len(shown))
            _write("")


def _write(line: str) -> None:
    """Write over the line that is there: the carriage return is ours, so it goes past what makes text safe."""
    sys.stderr.write(f"\r{line}\r")
    say("", error=True, end="")
