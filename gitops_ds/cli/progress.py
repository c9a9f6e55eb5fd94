"""A line on standard error that says what is being worked on, where a person is waiting at a terminal.

Owns when it shows and how it goes away again. Owns no text.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from gitops_ds.cli.terminal import one_line

PATIENCE = 2.0
"""Seconds of work before anything shows."""
WIDTH = 79


@contextlib.contextmanager
def progress(*, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Something to tell what is being worked on; nothing shows before `patience` is over, or where no one watches."""
    began, widest = time.monotonic(), 0

    def tell(text: str) -> None:
        nonlocal widest
        if sys.stderr.isatty() and time.monotonic() - began >= patience:
            line = one_line(text)[:WIDTH]
            widest = max(widest, len(line))
            _write_over(line.ljust(widest))

    try:
        yield tell
    finally:
        if widest:
            _write_over(" " * widest)


def _write_over(line: str) -> None:
    """Write over the line that is there. A terminal that has gone away is no reason to stop the work."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"\r{line}\r")
        sys.stderr.flush()
