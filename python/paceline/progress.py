"""How far a run is, on standard error: a bar with the time left, a line every 5 s, or nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Protocol, TextIO, TypedDict

from paceline.interrupt import stop_on_signal
from paceline.words import percent, simulated

PLAIN_INTERVAL_S = 5.0
"""Wall seconds between two plain lines: a log of an overnight run stays readable."""


_BAR_AND_SHARE = 17
"""Columns for a short bar, the share in percent, and blanks."""


class Snapshot(TypedDict):
    """How far the engine is."""

    sim_ps: int
    """Simulated time so far, in picoseconds."""
    end_ps: int | None
    """Simulated time the run ends at, at the latest; ``None`` when it ends with its last flow."""
    flows_started: int
    flows_done: int
    """Flows finished or failed."""
    flows_total: int | None
    """Flows there will be; ``None`` for an open-ended workload."""
    steps_done: int
    """Steps of programs that are over: operations that pass messages or compute, queries."""
    steps_total: int | None
    """Those there will be; ``None`` where that is not known or other workloads go on beside the programs."""
    hops: int
    """Packet hops so far, data and control."""
    wall_s: float
    """Wall seconds since the run began."""


class Mode(StrEnum):
    """What is shown while a run is under way."""

    AUTO = "auto"
    PLAIN = "plain"
    NONE = "none"


class View(Protocol):
    """Shows how far something is."""

    def show(self, snapshot: Snapshot) -> None:
        """Shows a snapshot of a run; called about ten times a second."""

    def put(self, share: float | None, note: str, wall_s: float) -> None:
        """Shows the share done, if that is known, a remark, and the time left at the pace of the ``wall_s`` so far."""


@contextmanager
def reporting(
    mode: Mode, title: str, before_death: Callable[[], object] | None = None
) -> Iterator[Callable[[Snapshot], bool]]:
    """The callback for the engine: shows progress, and answers whether to go on.

    ``before_death`` is as in :func:`stop_on_signal`.
    """
    with stop_on_signal(before_death=before_death) as stop, view(mode, title) as shown:

        def report(snapshot: Snapshot) -> bool:
            if not stop.heed():
                shown.show(snapshot)
            return not stop.heed()

        yield report


@contextmanager
def view(mode: Mode, title: str, stream: TextIO | None = None) -> Iterator[View]:
    """The view for ``mode``, closed at the end. ``auto`` is a bar on a terminal and plain lines elsewhere."""
    stream = sys.stderr if stream is None else stream
    if mode is Mode.NONE:
        yield Nothing()
    elif mode is Mode.PLAIN or not stream.isatty():
        yield Plain(title, stream)
    else:
        with Bar.open(title, stream) as bar:
            yield bar


def fraction(snapshot: Snapshot) -> float | None:
    """Share of the run that is done, 0 to 1, or ``None`` when nothing says how long it is.

    A run ends with its last flow or at its end time, whichever comes first: so the larger share counts.
    """
    shares = []
    if snapshot["end_ps"]:
        shares.append(snapshot["sim_ps"] / snapshot["end_ps"])
    if snapshot["flows_total"]:
        shares.append(snapshot["flows_done"] / snapshot["flows_total"])
    if snapshot["steps_total"]:
        shares.append(snapshot["steps_done"] / snapshot["steps_total"])
    return min(1.0, max(shares)) if shares else None


def seconds_left(share: float | None, wall_s: float) -> float | None:
    """Wall seconds left at the pace so far, or ``None`` when there is no telling."""
    return None if not share else wall_s * (1.0 - share) / share


def describe(snapshot: Snapshot) -> str:
    """Simulated time, flows (or steps of programs) and speed in one line."""
    done, total, what = snapshot["flows_done"], snapshot["flows_total"], "flows"
    if snapshot["steps_total"]:
        done, total, what = snapshot["steps_done"], snapshot["steps_total"], "steps"
    of = "" if total is None else f"/{total:,}"
    pace = snapshot["hops"] / snapshot["wall_s"] / 1e6 if snapshot["wall_s"] > 0 else 0.0
    return f"{simulated(snapshot['sim_ps'])} simulated, {done:,}{of} {what}, {pace:.2f} M hops/s"


def clock(seconds: float) -> str:
    """Wall seconds as ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def shortened(note: str, room: int) -> str:
    """A remark in at most ``room`` characters if that can be: its parts go from the last but one to the first.

    The time left, at its end, is what matters most on a narrow terminal.
    """
    parts = note.split(", ")
    while len(parts) > 1 and len(", ".join(parts)) > room:
        del parts[-2]
    return ", ".join(parts)


class Nothing:
    """Shows nothing."""

    def show(self, snapshot: Snapshot) -> None:
        """Shows nothing."""

    def put(self, share: float | None, note: str, wall_s: float) -> None:
        """Shows nothing."""


class Plain:
    """A line every 5 s, for logs."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self._title, self._stream, self._last = title, stream, 0.0

    def show(self, snapshot: Snapshot) -> None:
        """Prints a line, if the last one is long enough ago."""
        self.put(fraction(snapshot), describe(snapshot), snapshot["wall_s"])

    def put(self, share: float | None, note: str, wall_s: float) -> None:
        """Prints a line, if the last one is long enough ago."""
        if wall_s - self._last < PLAIN_INTERVAL_S:
            return
        self._last = wall_s
        left = seconds_left(share, wall_s)
        ahead = "" if share is None else f"{percent(share, 0):>5}, "
        behind = "" if left is None else f", {clock(left)} left"
        with suppress(OSError):  # a log on a full disk, a reader that has left: the run itself goes on
            print(f"{self._title}: {ahead}{note}{behind}", file=self._stream, flush=True)


class Bar:
    """A bar with the time left, for a terminal."""

    def __init__(self, title: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn("[progress.percentage]{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[note]}"),
        )
        # The bar goes away at the end: the summary that follows says more. It redraws when told to, without a thread.
        console = Console(file=stream)
        self._room = console.width - len(title) - _BAR_AND_SHARE
        self._bars = Progress(*columns, console=console, transient=True, auto_refresh=False)
        self._task = self._bars.add_task(escape(title), total=None, note="")

    @classmethod
    @contextmanager
    def open(cls, title: str, stream: TextIO) -> Iterator["Bar"]:
        """A bar on the terminal behind ``stream``, removed at the end."""
        bar = cls(title, stream)
        try:
            with suppress(OSError):  # a terminal that has gone: the run itself goes on
                bar._bars.start()
            yield bar
        finally:
            with suppress(OSError):
                bar._bars.stop()

    def show(self, snapshot: Snapshot) -> None:
        """Redraws the bar."""
        self.put(fraction(snapshot), describe(snapshot), snapshot["wall_s"])

    def put(self, share: float | None, note: str, wall_s: float) -> None:
        """Redraws the bar."""
        left = seconds_left(share, wall_s)
        note = shortened(note + ("" if left is None else f", {clock(left)} left"), self._room)
        self._bars.update(self._task, total=None if share is None else 1.0, completed=share or 0.0, note=note)
        with suppress(OSError):
            self._bars.refresh()
