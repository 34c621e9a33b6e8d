"""Ctrl-C ends a run early but well: the engine is asked to stop and writes what it has."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether someone asked for an end."""

    def __init__(self) -> None:
        self.made = False


@contextmanager
def stop_on_signal() -> Iterator[StopRequest]:
    """Turns the first SIGINT or SIGTERM into a request to stop; a second one ends the program at once.

    Signals reach the main thread only; in any other thread the request is never made.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(_number: int, _frame: FrameType | None) -> None:
        request.made = True
        restore()

    for number in before:
        signal.signal(number, ask)
    try:
        yield request
    finally:
        restore()
