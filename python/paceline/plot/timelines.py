"""Quantities over simulated time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from paceline.analysis import F8
from paceline.plot.style import MARKERS, PALETTE, PAPER, TWO_COLUMNS, blank, legend, look, one_panel, style
from paceline.tables import clean_label, format_rate, format_size

Series = tuple[NDArray[Any], NDArray[Any]]
"""Times in ps, ascending, and values; each holds until the next."""


def _thinned(time: NDArray[Any], value: NDArray[Any], bins: int = 250) -> tuple[F8, F8]:
    """At most four points per time bin, the extremes among them: thinning must not hide a peak."""
    if len(time) <= 4 * bins:
        return time.astype(float), value.astype(float)
    edges = np.unique(np.searchsorted(time, np.linspace(time[0], time[-1], bins + 1)))
    keep: set[int] = {0, len(time) - 1}
    for a, b in itertools.pairwise(edges):
        keep |= {int(a), int(b) - 1, int(a + np.argmin(value[a:b])), int(a + np.argmax(value[a:b]))}
    at = np.array(sorted(keep))
    return time[at].astype(float), value[at].astype(float)


def _time_axis(ax: Axes, start: float, end: float) -> None:
    """An x axis of simulated time from ``start`` to ``end``, in ps, labelled in the unit that suits."""
    unit, factor = next(((u, f) for u, f in (("s", 1e12), ("ms", 1e9), ("µs", 1e6)) if end >= f), ("ns", 1e3))
    end = end if end > start else start + 1.0
    # Ticks at round numbers of the unit shown, not of picoseconds.
    found = MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]).tick_values(start / factor, end / factor)
    ticks = np.asarray(found) * factor
    ax.set_xticks(ticks[(ticks >= start) & (ticks <= end)])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v / factor:g}"))
    ax.set_xlim(start, end)
    ax.set_xlabel(f"Simulated time ({unit})")


@style()
def queue_timeline(series: Mapping[str, Series]) -> Figure:
    """Bytes waiting over time, by label. The axis ends soon after the last instant at which anything waited."""
    # One curve has no legend to name it.
    name = f"Bytes waiting, {clean_label(next(iter(series)))}" if len(series) == 1 else "Bytes waiting"
    return timeline(series, name, format_size, until_quiet=True)


@style()
def timeline(
    series: Mapping[str, Series],
    name: str,
    text: Callable[[float], str] = "{:g}".format,
    *,
    whole: bool = False,
    until_quiet: bool = False,
) -> Figure:
    """A quantity over time, by label.

    ``name`` is that of the quantity, and ``text`` writes its values; ``whole`` ones have no ticks in between. The axis
    goes to the last sample, or with ``until_quiet`` to soon after the last instant at which a value was not 0. Several
    curves have a mark at some of their peaks, which tells them apart in print without colours.
    """
    figure, ax = one_panel()
    last, top = 0.0, 0.0
    for i, (time, value) in enumerate(series.values()):
        x, y = _thinned(time, value)
        # Solid and thin: dashes cannot be told from a queue that empties and fills.
        ax.step(x, y, where="post", color=look(i)["color"], linewidth=0.7)
        if len(x):
            last, top = max(last, float(x[-1])), max(top, float(y.max()))
    end = min(last, 1.05 * _quiet_from(series, last)) if until_quiet else last
    handles = [_marked(ax, one, i, len(series), end) for i, one in enumerate(series.values())]
    if whole:
        ax.yaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: text(v)))
    _time_axis(ax, 0.0, end)
    ax.set_ylim(0, top * 1.05 or 1.0)
    ax.set_ylabel(name)
    legend(figure, handles, [clean_label(label) for label in series])
    return figure


def _quiet_from(series: Mapping[str, Series], last: float) -> float:
    """When the last curve has come to 0 for good; ``last`` if none ever left it.

    A run may go on for long with empty queues, waiting for a timeout.
    """
    ends = [float(t[min(int(np.flatnonzero(v)[-1]) + 1, len(t) - 1)]) for t, v in series.values() if np.any(v)]
    return max(ends, default=last)


_MARKS = 6
"""Parts of the time axis in which a curve has a mark each."""


def _marked(ax: Axes, series: Series, i: int, curves: int, end: float) -> Line2D:
    """Marks the ``i``-th of so many curves, at the peak of each part of the axis; returns what a legend shows.

    The parts of each curve begin at times of its own, lest curves that rise together bear marks one upon the other.
    """
    time, value = series
    own: dict[str, Any] = {"color": look(i)["color"], "linewidth": 0.7}
    if curves > 1:
        own |= {"marker": MARKERS[i % len(MARKERS)], "markersize": 2.8, "markeredgewidth": 0.7}
        own["markerfacecolor"] = PAPER
        parts = (np.arange(_MARKS + 1) + (i + 0.5) / curves - 0.5) / _MARKS
        edges = np.searchsorted(time, np.clip(parts, 0.0, 1.0) * end)
        peaks = [a + int(np.argmax(value[a:b])) for a, b in itertools.pairwise(edges) if b > a]
        peaks = [k for k in peaks if value[k] > 0]
        own |= {"zorder": 3 + 0.01 * i}
        if peaks:
            ax.plot(time[peaks], value[peaks], **own | {"linestyle": "none"}, clip_on=False, gid=f"marks-{i}")
    return Line2D([], [], **own)


@dataclass(frozen=True)
class FlowTimeline:
    """Rate and window of one flow over time; the window may have no samples."""

    rate_bps: Series
    cwnd_bytes: Series


_FEW_SAMPLES = 8
"""Up to so many samples of a flow are marked: one alone makes no line."""


@style()
def flow_timelines(flows: Mapping[str, FlowTimeline]) -> Figure:
    """A panel per flow over one time axis: its sending rate, and on the right axis, dashed, its window.

    A value holds until the next. At most 1,000 points per curve are drawn, the extremes among them. From three flows
    on the figure is two columns of a paper wide.
    """
    wide = 2 if len(flows) > 2 else 1
    rows = max(-(-len(flows) // wide), 1)
    figure = blank(0.55 + 1.0 * rows, TWO_COLUMNS if wide > 1 else 1.0)
    panels = list(figure.subplots(rows, wide, sharex=True, squeeze=False).ravel())
    for ax in panels[len(flows) :]:
        ax.remove()
    times = [t for flow in flows.values() for t, _ in (flow.rate_bps, flow.cwnd_bytes) if len(t)]
    start, end = (min(float(t[0]) for t in times), max(float(t[-1]) for t in times)) if times else (0.0, 1.0)
    windows = any(len(flow.cwnd_bytes[0]) for flow in flows.values())
    handles: dict[int, Any] = {}
    for k, (ax, (label, flow)) in enumerate(zip(panels, flows.items(), strict=False)):
        _draw(ax, flow.rate_bps, 0, format_rate, 1.08, handles)
        if k % wide == 0:
            ax.set_ylabel("Rate")
        if len(flow.cwnd_bytes[0]):
            # A rate is often the window over the base RTT: with equal scales the curves would hide each other.
            twin = ax.twinx()
            _draw(twin, flow.cwnd_bytes, 1, format_size, 1.6, handles)
            if k % wide == wide - 1 or k == len(flows) - 1:
                twin.set_ylabel("Window (bytes)")
        ax.set_title(clean_label(label, 60), loc="left", fontsize=6.5, pad=2)
        if k + wide >= len(flows):  # nothing below it
            _time_axis(ax, start, end)
            ax.tick_params(labelbottom=True)
    names = {0: "rate", 1: "window"}
    if windows:
        legend(figure, [handles[k] for k in sorted(handles)], [names[k] for k in sorted(handles)])
    return figure


def _draw(
    ax: Axes, series: Series, which: int, text: Callable[[float], str], room: float, handles: dict[int, Any]
) -> None:
    """One curve with the axis that goes with it: the first is the rate, the second the window."""
    x, y = _thinned(*series)
    mark: dict[str, Any] = {"marker": ".", "markersize": 2.5} if len(x) <= _FEW_SAMPLES else {}
    (line,) = ax.step(x, y, where="post", **look(which) | {"linewidth": 0.9}, **mark)
    if which not in handles or not mark:
        handles[which] = line
    ax.set_ylim(0, float(y.max()) * room if len(y) and y.max() > 0 else 1.0)
    ax.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: text(v)))
    ax.tick_params(axis="y", labelcolor=PALETTE[which])
    if which:
        ax.grid(visible=False)
        ax.spines["right"].set_visible(True)
