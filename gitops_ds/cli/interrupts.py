"""SIGTERM as an exception, so that all that a verb has under way is ended on the way out, as it is for Ctrl-C.

Owns the handler. Owns no wording (`faults.py`); `watch` has handlers of its own, which stand in for this one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(BaseException):
    """SIGTERM came.

    It is no Exception, so that nothing takes it for a failure, and no KeyboardInterrupt: a solve that is cut short by
    that one gives its best plan so far, and the run goes on with it.
    """


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` once, at the first SIGTERM; what is on its way out is not broken off by another one.

    Does nothing where the signal is ignored or handled already, and outside of the main thread.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    came = False

    def handle(_: int, __: FrameType | None) -> None:
        nonlocal came
        if came:
            return
        came = True
        from gitops_ds.processes import kill_workers

        kill_workers()
        raise Terminated

    signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
