"""Quantities over simulated time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from paceline.analysis import F8
from paceline.formats import clean_label, clean_labels, format_rates, format_sizes, same_decimals
from paceline.plot import overlap
from paceline.plot.looks import Look, look, of_schemes
from paceline.plot.style import (
    PALETTE,
    PAPER,
    QUIET,
    TWO_COLUMNS,
    blank,
    legend,
    one_panel,
    plain_log,
    style,
    together,
)

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


def _until(series: Series, end: float) -> Series:
    """A series up to the first sample at or after ``end``."""
    time, value = series
    count = int(np.searchsorted(time, end)) + 1
    return time[:count], value[:count]


def time_unit(end: float) -> tuple[str, float]:
    """The unit that suits times up to ``end``, in ps, and its length in ps."""
    return next(((u, f) for u, f in (("s", 1e12), ("ms", 1e9), ("µs", 1e6)) if end >= f), ("ns", 1e3))


def time_axis(ax: Axes, start: float, end: float, name: bool = True) -> None:
    """An x axis of simulated time from ``start`` to ``end``, in ps, labelled in the unit that suits."""
    unit, factor = time_unit(end)
    end = end if end > start else start + 1.0
    # Ticks at round numbers of the unit shown, not of picoseconds.
    found = MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]).tick_values(start / factor, end / factor)
    ticks = np.asarray(found) * factor
    ax.set_xticks(ticks[(ticks >= start) & (ticks <= end)])
    ax.xaxis.set_major_formatter(together(lambda shown: same_decimals([v / factor for v in shown])))
    ax.set_xlim(start, end)
    if name:
        ax.set_xlabel(f"Simulated time ({unit})")


@style()
def queue_timeline(
    series: Mapping[str, Series],
    *,
    looks: Mapping[str, Look] | None = None,
    end: float | None = None,
    top: float | None = None,
    alike: bool = True,
) -> Figure:
    """Bytes waiting over time, by label. The axis ends soon after the last instant at which anything waited.

    More than :data:`MOST_QUEUES` have a panel each: one upon the other, queues that fill and empty cannot be told
    apart. Their axes are ``alike``, or each has its own of bytes.
    """
    if len(series) > MOST_QUEUES:
        return _queue_panels(series, looks or of_schemes(series), end, top, alike)
    # One curve has no legend to name it; in one line the name of a port would be longer than the axis.
    name = f"Bytes waiting\n{clean_label(next(iter(series)))}" if len(series) == 1 else "Bytes waiting"
    return timeline(series, name, format_sizes, until_quiet=True, looks=looks, end=end, top=top)


MOST_QUEUES = 2
"""Queues that are drawn over one another."""


def _queue_panels(
    series: Mapping[str, Series], looks: Mapping[str, Look], end: float | None, top: float | None, alike: bool
) -> Figure:
    figure, panels, wide = stacked(len(series), 0.95)
    end = _shown_until(series.values()) if end is None else end
    series = {label: _until(one, end) for label, one in series.items()}
    peaks = [float(value.max(initial=0.0)) for _, value in series.values()]
    most = max(peaks) if top is None else top
    for k, (ax, (label, one)) in enumerate(zip(panels, series.items(), strict=True)):
        ax.step(*_thinned(*one), where="post", color=looks[label].color, linewidth=0.7)
        ax.set_title(clean_label(label, 60), loc="left", fontsize=6.5, pad=2)
        ax.set_ylim(0, (most if alike else peaks[k]) * 1.05 or 1.0)
        ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        ax.yaxis.set_major_formatter(together(format_sizes))
        time_axis(ax, 0.0, end, name=False)
        ax.tick_params(labelbottom=k + wide >= len(series))
    figure.supxlabel(f"Simulated time ({time_unit(end)[0]})", fontsize=7.5)
    figure.supylabel("Bytes waiting", fontsize=7.5)
    return figure


def _shown_until(series: Iterable[Series]) -> float:
    """Where an axis ends that goes to soon after the last instant at which a value was not 0, in ps."""
    curves = list(series)
    last = max((float(time[-1]) for time, _ in curves if len(time)), default=0.0)
    return min(last, 1.05 * quiet_from(curves, last))


@style()
def timeline(
    series: Mapping[str, Series],
    name: str,
    texts: Callable[[Sequence[float]], list[str]] = same_decimals,
    *,
    whole: bool = False,
    counts: bool = False,
    until_quiet: bool = False,
    log: bool = False,
    looks: Mapping[str, Look] | None = None,
    dashes: bool = False,
    instants: Mapping[str, float] | None = None,
    end: float | None = None,
    top: float | None = None,
) -> Figure:
    """A quantity over time, by label.

    ``name`` is that of the quantity, and ``texts`` writes the values of its axis; ``counts``, means of several runs
    too, have no ticks in between. ``whole`` ones have none either, and where there are too many samples for a line, the
    line is their mean in each of 250 parts of the axis, in a band from the least to the most. The axis goes to the last
    sample, or with ``until_quiet`` to soon after the last instant at which a value was not 0; ``end`` (ps) and ``top``
    are those of several figures that are looked at together. With ``log`` the y axis is logarithmic.

    Several curves have a mark at some of their peaks, which tells them apart in print without colours. Lines are solid:
    dashes cannot be told from a queue that empties and fills; ``dashes`` takes those of the looks for quantities that
    do not. ``instants`` are times in ps by name: upright lines.
    """
    figure, ax = one_panel()
    looks = looks or of_schemes(series)
    most, least = 0.0, math.inf
    if end is None:
        last = max((float(t[-1]) for t, _ in series.values() if len(t)), default=0.0)
        end = _shown_until(series.values()) if until_quiet else last
    # Only what is shown is thinned: of a long run that is little.
    series = {label: _until(one, end) for label, one in series.items()}
    wider = overlap.widths([_thinned(*one) for one in series.values()], steps=True)
    for (label, (time, value)), wide in zip(series.items(), wider, strict=True):
        own: dict[str, Any] = {"color": looks[label].color, "linestyle": looks[label].line if dashes else "-"}
        own |= overlap.line(own["linestyle"], 0.9 if dashes else 0.7, wide)
        if whole and dense(value):
            x, y, low, high = _binned(time, value)
            ax.fill_between(x, low, high, step="post", color=own["color"], alpha=0.22, linewidth=0)
        else:
            x, y = _thinned(time, value)
        ax.step(x, y, where="post", **own)
        if len(x):
            most = max(most, float(value.max()))
            least = min([least, *(float(v) for v in (y[y > 0].min(initial=math.inf),))])
    shown = list(series.items())
    handles = [_marked(ax, one, looks[label], i, len(shown), end, dashes) for i, (label, one) in enumerate(shown)]
    if whole or counts:
        ax.yaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    ax.yaxis.set_major_formatter(together(texts))
    time_axis(ax, 0.0, end)
    most = most if top is None else top
    ax.set_ylim(0, most * 1.05 or 1.0)
    if log and least < math.inf:
        ax.set_yscale("log")
        ax.set_ylim(least / 1.2, most * 1.3)
        plain_log(ax.yaxis, least / 1.2, most * 1.3, "{:,g}".format)
    ax.set_ylabel(name)
    names = clean_labels(series)
    for instant, at in (instants or {}).items():
        handles.append(ax.axvline(at, color=QUIET, linewidth=0.9, linestyle=(0, (1.2, 1.2)), zorder=1))
        names.append(clean_label(instant))
    legend(figure, handles, names)
    return figure


def quiet_from(series: Iterable[Series], last: float) -> float:
    """When the last curve has come to 0 for good, in ps; ``last`` if none ever left it.

    A run may go on for long with empty queues, waiting for a timeout.
    """
    ends = [float(t[min(int(np.flatnonzero(v)[-1]) + 1, len(t) - 1)]) for t, v in series if np.any(v)]
    return max(ends, default=last)


_BINS = 250
_CHANGES = 2
"""Changes in a part of the axis from which a line would be solid ink."""


def dense(value: NDArray[Any]) -> bool:
    """Whether a series has too many changes for a line."""
    return int(np.count_nonzero(np.diff(value))) > _CHANGES * _BINS


def _binned(time: NDArray[Any], value: NDArray[Any]) -> tuple[F8, F8, F8, F8]:
    """Beginnings of the parts of the axis, and mean, least and most of the samples in each."""
    edges = np.unique(np.searchsorted(time, np.linspace(time[0], time[-1], _BINS + 1)))
    parts = [(value[a:b], float(time[a])) for a, b in itertools.pairwise(edges) if b > a]
    found = [(at, float(v.mean()), float(v.min()), float(v.max())) for v, at in parts]
    # The last value holds to the end of the axis.
    whole = np.array([*found, (float(time[-1]), *found[-1][1:])])
    return whole[:, 0], whole[:, 1], whole[:, 2], whole[:, 3]


_MARKS = 6
"""Parts of the time axis in which a curve has a mark each."""


def _marked(ax: Axes, series: Series, own_look: Look, i: int, curves: int, end: float, dashes: bool) -> Line2D:
    """Marks the ``i``-th of so many curves, at the peak of each part of the axis; returns what a legend shows.

    The parts of each curve begin at times of its own, lest curves that rise together bear marks one upon the other. A
    curve that never leaves 0 is marked there: it would be missed otherwise.
    """
    time, value = series
    own: dict[str, Any] = {"color": own_look.color, "linewidth": 0.9 if dashes else 0.7}
    own["linestyle"] = own_look.line if dashes else "-"
    if curves > 1:
        own |= {"marker": own_look.marker, "markersize": 2.8, "markeredgewidth": 0.7}
        own["markerfacecolor"] = own_look.color if dashes and not own_look.variant else PAPER
        parts = (np.arange(_MARKS + 1) + (i + 0.5) / curves - 0.5) / _MARKS
        edges = np.searchsorted(time, np.clip(parts, 0.0, 1.0) * end)
        peaks = [a + int(np.argmax(value[a:b])) for a, b in itertools.pairwise(edges) if b > a]
        peaks = [k for k in peaks if value[k] > 0 or not np.any(value)]
        own |= {"zorder": 3 + 0.01 * i}
        if peaks:
            ax.plot(time[peaks], value[peaks], **own | {"linestyle": "none"}, clip_on=False, gid=f"marks-{i}")
    return Line2D([], [], **own)


@dataclass(frozen=True)
class FlowTimeline:
    """Rate and window of one flow over time; the window may have no samples."""

    rate_bps: Series
    cwnd_bytes: Series
    what: str = "Permitted rate"
    """What the rate is."""


_FEW_SAMPLES = 8
"""Up to so many samples of a flow are marked: one alone makes no line."""
_STACKED = 3
"""Up to so many panels stand one below the other; more in two columns."""


def stacked(count: int, height: float) -> tuple[Figure, list[Axes], int]:
    """A figure of ``count`` panels over one time axis, each ``height`` inches high; its panels, and columns of them.

    A few stand one below the other; more in two columns, two columns of a paper wide.
    """
    wide = 2 if count > _STACKED else 1
    rows = max(-(-count // wide), 1)
    figure = blank(0.55 + height * rows, TWO_COLUMNS if wide > 1 else 1.0)
    panels = list(figure.subplots(rows, wide, sharex=True, squeeze=False).ravel())
    for ax in panels[count:]:
        ax.remove()
    return figure, panels[:count], wide


@style()
def flow_timelines(
    flows: Mapping[str, FlowTimeline],
    *,
    span: tuple[float, float] | None = None,
    tops: tuple[float, float] | None = None,
) -> Figure:
    """A panel per flow over one time axis: its rate, and on the right axis, dashed, its window.

    A value holds until the next. At most 1,000 points per curve are drawn, the extremes among them. From four flows
    on the figure is two columns of a paper wide. ``span``, in ps, and ``tops``, in b/s and bytes, are where the axes of
    several figures end that are looked at together.
    """
    figure, panels, wide = stacked(len(flows), 1.0)
    start, end = span or flow_span(flows.values())
    windows = any(len(flow.cwnd_bytes[0]) for flow in flows.values())
    rates = dict.fromkeys(flow.what for flow in flows.values())
    handles: dict[int, Any] = {}
    for k, (ax, (label, flow)) in enumerate(zip(panels, flows.items(), strict=True)):
        _draw(ax, flow.rate_bps, 0, format_rates, 1.08, handles, tops[0] if tops else None)
        ax.set_ylabel(flow.what)
        if len(flow.cwnd_bytes[0]):
            # A rate is often the window over the base RTT: with equal scales the curves would hide each other.
            twin = ax.twinx()
            _draw(twin, flow.cwnd_bytes, 1, format_sizes, 1.6, handles, tops[1] if tops else None)
            twin.set_ylabel("Window (bytes)")
        ax.set_title(clean_label(label, 60), loc="left", fontsize=6.5, pad=2)
        bottom = k + wide >= len(flows)  # nothing below it
        time_axis(ax, start, end, name=False)
        ax.tick_params(labelbottom=bottom)
    figure.align_ylabels()
    figure.supxlabel(f"Simulated time ({time_unit(end)[0]})", fontsize=7.5)
    names = {0: " or ".join(rates).lower(), 1: "window"}
    if windows:
        legend(figure, [handles[k] for k in sorted(handles)], [names[k] for k in sorted(handles)])
    return figure


def flow_span(flows: Iterable[FlowTimeline]) -> tuple[float, float]:
    """From when to when flows have samples, in ps; from 0 where the first is not long after it."""
    times = [t for flow in flows for t, _ in (flow.rate_bps, flow.cwnd_bytes) if len(t)]
    if not times:
        return 0.0, 1.0
    start, end = min(float(t[0]) for t in times), max(float(t[-1]) for t in times)
    return (0.0 if start < end / 4 else start), end


def _draw(
    ax: Axes,
    series: Series,
    which: int,
    texts: Callable[[Sequence[float]], list[str]],
    room: float,
    handles: dict[int, Any],
    top: float | None,
) -> None:
    """One curve with the axis that goes with it: the first is the rate, the second the window."""
    x, y = _thinned(*series)
    mark: dict[str, Any] = {"marker": ".", "markersize": 2.5} if len(x) <= _FEW_SAMPLES else {}
    (line,) = ax.step(x, y, where="post", **look(which).curve | {"linewidth": 0.9}, **mark)
    if which not in handles or not mark:
        handles[which] = line
    most = float(y.max()) if top is None and len(y) else top or 0.0
    ax.set_ylim(0, most * room if most > 0 else 1.0)
    ax.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(together(texts))
    ax.tick_params(axis="y", labelcolor=PALETTE[which])
    ax.yaxis.label.set_color(PALETTE[which])
    if which:
        ax.grid(visible=False)
        ax.spines["right"].set_visible(True)
