"""Ctrl-C ends a run early but well: the engine is asked to stop and writes what it has."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks a command for its end: Ctrl-C, kill(1) and batch systems, a terminal or an ssh session that goes."""

SAME_S = 0.5
"""Seconds after a signal in which another one is taken for the same: timeout(1), for one, sends its own twice."""


class StopRequest:
    """Whether someone asked for an end."""

    def __init__(self) -> None:
        self.number: signal.Signals | None = None
        """The signal that asked."""
        self.heeded = False
        """Whether somebody has looked since, and so ends what goes on; or the signal has been passed on already."""

    def heed(self) -> bool:
        """Whether there is a request. Who asks and finds one has to end what goes on: it is not passed on then."""
        if self.number is not None:
            self.heeded = True
        return self.number is not None


AT_ONCE_S = 2.0
"""Seconds after an interrupt within which an error that came of it ends a command: what is under way is tidied up."""

_raised: float | None = None
"""When ``KeyboardInterrupt`` was raised in this command last."""


def just_interrupted() -> bool:
    """Whether ``KeyboardInterrupt`` was raised in this command a moment ago, wherever it then went."""
    return _raised is not None and time.monotonic() - _raised < AT_ONCE_S


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _raised
    _raised = time.monotonic()
    raise KeyboardInterrupt


def take_all_for_ctrl_c() -> None:
    """Makes all of :data:`REQUESTS` raise ``KeyboardInterrupt`` from here on, in a process that is a command's.

    By default SIGTERM and SIGHUP would end the process with another exit code than Ctrl-C, and leave temporary files.
    Nothing changes for those that are ignored, as SIGHUP is under nohup(1), or handled already.
    """
    for number in REQUESTS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def raise_lost_interrupts_again() -> None:
    """Has a ``KeyboardInterrupt`` raised again that fell where Python ignores errors, in a process that is a command's.

    That is where an object dies, as those of figures do. The command went on to its end then, and a trace was told.
    """
    others = sys.unraisablehook

    def raise_again() -> None:
        # Not within the hook: from there it would be lost as well.
        while _runs(threading.main_thread(), lost.__code__):
            time.sleep(0.001)
        is_heeded = signal.getsignal(signal.SIGTERM) == _interrupt
        os.kill(os.getpid(), signal.SIGTERM if is_heeded else signal.SIGINT)

    def lost(error: "sys.UnraisableHookArgs") -> None:
        if issubclass(error.exc_type, KeyboardInterrupt):
            threading.Thread(target=raise_again, daemon=True).start()
        else:
            others(error)

    sys.unraisablehook = lost


def _runs(thread: threading.Thread, code: CodeType) -> bool:
    """Whether a thread is in a function of that code, or in what this has called."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


@contextmanager
def stop_on_signal(*, worker: bool = False, before_death: Callable[[], object] | None = None) -> Iterator[StopRequest]:
    """Turns the first of :data:`REQUESTS` into a request to stop; a later one ends the program at once.

    A request that nobody has looked at in the end, as it came when the run was all but over, does what its signal would
    have done without this: it raises ``KeyboardInterrupt``, say, in place of what the block itself may have raised.

    Not so in the process of a ``worker``, which its parent tells as well as a terminal or a process group does: there
    signals that are ignored stay so, all after the first say nothing new, and what was asked of a run that is over
    concerns nobody but a ``stop_on_signal`` around this one. SIGHUP stays ignored anywhere: that is what nohup(1) is
    for.

    Where a signal, one of a later time or one that nobody has looked at, then ends the process there and then, which is
    what SIGTERM and SIGHUP do to one without handlers, ``before_death`` is called first: nothing after it is.

    Signals reach the main thread only; in any other thread the request is never made.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {
        number: handler
        for number in REQUESTS
        if (handler := signal.getsignal(number)) is not None  # of one that is not Python's nothing can be kept
        and (handler != signal.SIG_IGN or not (worker or number == signal.SIGHUP))
    }
    first = 0.0

    def ask(number: int, _frame: FrameType | None) -> None:
        nonlocal first
        now = time.monotonic()
        if request.number is None:
            request.number, first = signal.Signals(number), now
        elif not worker and now - first > SAME_S:
            request.heeded = True
            _set_handlers(before)
            pass_on(number)

    def pass_on(number: int) -> None:
        if before_death is not None and signal.getsignal(number) == signal.SIG_DFL:
            before_death()
        signal.raise_signal(number)

    _ASKING.append(ask)
    try:
        for number in before:
            signal.signal(number, ask)
        yield request
    finally:
        # From here on signals do again what they did: one that raises is not to be followed by another.
        _ASKING.remove(ask)
        _set_handlers(before)
        if request.number is not None and not request.heeded and (not worker or before[request.number] in _ASKING):
            request.heeded = True
            pass_on(request.number)


_ASKING: list[Any] = []
"""The handlers of all :func:`stop_on_signal` that are under way, one within the other."""


def _set_handlers(handlers: Mapping[signal.Signals, Any]) -> None:
    """Sets all of them, also where one raises for a signal that comes before the next is set; then raises that."""
    left, raised = list(handlers.items()), None
    while left:
        try:
            while left:
                signal.signal(*left[-1])
                left.pop()
        except BaseException as error:
            raised = raised or error
    if raised is not None:
        raise raised
