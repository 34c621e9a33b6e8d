"""Distributions: completion times, slowdowns, bytes waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from paceline.analysis import QueueHistogram, Sample, ecdf
from paceline.formats import clean_label, clean_labels, format_size, format_time
from paceline.plot import overlap
from paceline.plot.looks import Look, check_labelled, of_schemes
from paceline.plot.style import PAPER, PUBLISHED, QUIET, legend, log_name, one_panel, plain_log, style

_LONGEST = 56
"""Characters of the name of a run and its port, which fill a line of a legend."""

Held = Mapping[str, Sequence[tuple[float, float]]]
"""Published points (value, share) by the label of the curve that they are held against."""


@style()
def fct_cdf(
    samples: Mapping[str, Sample],
    what: str = "Flow completion time",
    share: str = "Share of all flows",
    looks: Mapping[str, Look] | None = None,
    published: Held | None = None,
) -> Figure:
    """CDF of the FCT, or of other times (values in ps). What did not finish counts in the total: curves end below 1.

    ``looks`` are those of :mod:`paceline.plot.looks`: of schemes by their names unless given. ``published`` are points
    by the label of their curve, drawn hollow and grey with its mark.
    """
    return _cdf(samples, what, share, format_time, looks, published)


@style()
def slowdown_cdf(samples: Mapping[str, Sample], looks: Mapping[str, Look] | None = None) -> Figure:
    """CDF of the slowdown of all flows, for flows of about one size. Curves end below 1 as in :func:`fct_cdf`."""
    return _cdf(samples, "Slowdown", "Share of all flows", "{:,g}".format, looks)


@style()
def size_cdf(
    samples: Mapping[str, Sample],
    published: Sequence[tuple[float, float]] = (),
    share: str = "Share of all queries",
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """CDF of sizes in bytes. ``published`` are points (bytes, share) of the only curve, drawn hollow and grey."""
    held = dict.fromkeys(samples, published) if published else None
    return _cdf(samples, "Size (bytes)", share, format_size, looks, held)


@style()
def fct_tail(
    samples: Mapping[str, Sample],
    looks: Mapping[str, Look] | None = None,
    what: str = "Flow completion time",
    share: str = "Share of flows that take longer",
    published: Held | None = None,
) -> Figure:
    """Share of flows that take longer than a time, both on logarithmic axes: what a CDF squeezes below its upper edge.

    Flows that did not finish take longer than any time. ``published`` as in :func:`fct_cdf`.
    """
    check_labelled(samples, Sample, "results.fct()")
    figure, ax = one_panel()
    looks = looks or of_schemes(samples)
    lowest, highest, least, curves = math.inf, 0.0, 1.0, {}
    for label, sample in samples.items():
        n, finished = len(sample), np.sort(sample.value[~sample.censored])
        x, longer = np.zeros(0), np.zeros(0)
        if len(finished):
            # As dense along the logarithm of the share as a figure can show: all of the longest flows are among them.
            taken = len(finished) - np.unique(np.geomspace(1, len(finished), 400).astype(np.int64))[::-1]
            x = np.concatenate([finished[:1], finished[taken]])
            # None takes longer than the longest: below the axis.
            longer = np.concatenate([[1.0], np.maximum(n - 1.0 - taken, 0.1) / n])
            lowest, highest = min(lowest, float(x[0])), max(highest, float(x[-1]))
            least = min(least, max(n - len(finished), 1) / n)
        curves[label] = (x, longer)
    for value, at in _points(published):
        lowest, highest, least = min(lowest, value), max(highest, value), min(least, at)
    handles = _steps(ax, curves, looks, log=True)
    if highest > 0:
        ax.set_xscale("log")
        low, high = lowest / 1.1, max(highest * 1.1, lowest * 1.3)
        ax.set_xlim(low, high)
        plain_log(ax.xaxis, low, high, format_time)
        what = log_name(what, low, high)
        ax.set_yscale("log")
        ax.set_ylim(least / 1.5, 1.1)
        plain_log(ax.yaxis, least / 1.5, 1.1, "{:g}".format)
    ax.set_xlabel(what)
    ax.set_ylabel(share)
    handles += _published(ax, published, looks)
    legend(figure, handles, clean_labels(samples) + _published_names(published))
    return figure


def _cdf(
    samples: Mapping[str, Sample],
    what: str,
    share: str,
    text: Callable[[float], str],
    looks: Mapping[str, Look] | None,
    published: Held | None = None,
) -> Figure:
    check_labelled(samples, Sample, "results.fct()")
    figure, ax = one_panel()
    looks = looks or of_schemes(samples)
    lowest, highest, curves = math.inf, 0.0, {}
    for label, sample in samples.items():
        x, y = ecdf(sample, points=400)
        if len(x):
            lowest, highest = min(lowest, float(x[0])), max(highest, float(x[-1]))
            x, y = np.concatenate([x[:1], x]), np.concatenate([[0.0], y])
        curves[label] = (x, y)
    for value, _ in _points(published):
        lowest, highest = min(lowest, value), max(highest, value)
    handles = _steps(ax, curves, looks)
    if highest > 0:
        ax.set_xscale("log")
        # Equal times would leave no axis to speak of.
        low, high = lowest / 1.1, max(highest * 1.1, lowest * 1.3)
        ax.set_xlim(low, high)
        plain_log(ax.xaxis, low, high, text)
        what = log_name(what, low, high)
    ax.set_ylim(0, 1.005)
    ax.set_xlabel(what)
    ax.set_ylabel(share)
    handles += _published(ax, published, looks)
    legend(figure, handles, clean_labels(samples) + _published_names(published))
    return figure


@style()
def queue_cdf(
    histograms: Mapping[str, QueueHistogram],
    *,
    share: str = "Share of time",
    published: Held | None = None,
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Share of time in which at most so many bytes wait; left of a gap in the axis stands the empty queue.

    ``published`` are points (bytes, share) by the label of their curve, drawn hollow and grey with its mark. ``share``
    is the name of the y axis, as of :meth:`QueueHistogram.busy` it is a share of the busy time. Where queues are empty
    most of the time the y axis begins above 0, and its name says where.
    """
    check_labelled(histograms, QueueHistogram, "QueueHistogram.merge(...)")
    figure, ax = one_panel()
    looks = looks or of_schemes(histograms)
    curves, names = {}, clean_labels(histograms, _LONGEST)
    longest = max([float(h.high_bytes.max()) for h in histograms.values() if len(h.high_bytes)], default=1.0)
    held = _points(published)
    longest = max([longest, *(value for value, _ in held)])
    left = min(100.0, max(longest / 1e4, 1.0))
    right = max(longest * 1.1, left * 2)
    gap = any(len(h.high_bytes) and h.high_bytes[0] <= 1 for h in histograms.values())
    # Nothing lies between no byte and one: the empty queue has a place of its own, and what is less than the axis
    # shows rises at its left end.
    nothing = left / (right / left) ** 0.09
    least = min([1.0, *(at for _, at in held)])
    for label, h in histograms.items():
        total = float(h.time_ps.sum())
        upto = np.cumsum(h.time_ps) / total if total else np.zeros(0)
        empty = float(upto[0]) if len(upto) and h.high_bytes[0] <= 1 else 0.0
        x = np.maximum(h.high_bytes[: len(upto)] - 1.0, left)
        if len(upto):
            if h.high_bytes[0] <= 1:
                x, upto = x[1:], upto[1:]
            x, upto = np.concatenate([[nothing if gap else left], x]), np.concatenate([[empty], upto])
            least = min(least, empty)
        curves[label] = (x, upto)
        if gap and len(upto):
            ax.plot(nothing, empty, marker="o", markersize=2.4, color=looks[label].color, clip_on=False, zorder=4)
    handles: list[Line2D] = _steps(ax, curves, looks)
    ax.set_xscale("log")
    ax.set_xlim(nothing / 1.05 if gap else left, right)
    plain_log(ax.xaxis, left, longest, format_size)
    if gap:
        _name_left_edge(ax, nothing, left, longest, right)
    bottom, digits = _bottom(least)
    ax.set_ylim(bottom, 1 + 0.005 * (1 - bottom))
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("Bytes waiting at the port")
    ax.set_ylabel(f"{share} (axis from {bottom:.{digits}f})" if bottom else share)
    edge = nothing if gap else left
    shown = {label: [(max(value, edge), at) for value, at in points] for label, points in (published or {}).items()}
    handles += _published(ax, shown, looks)
    legend(figure, handles, names + _published_names(published))
    return figure


def _points(published: Held | None) -> list[tuple[float, float]]:
    """All published points."""
    return [point for points in (published or {}).values() for point in points]


def _published_names(published: Held | None) -> list[str]:
    """What a legend calls the published points."""
    return [f"published: {clean_label(label, _LONGEST)}" for label in published or {}]


_TOUCHING = 6.0
"""Distance in points within which two marks would touch."""
_AXES_POINTS = (190.0, 115.0)
"""Width and height of the axes, about; the layout is not known yet."""


def _published(ax: Axes, published: Held | None, looks: Mapping[str, Look]) -> list[Line2D]:
    """Draws the published points into finished axes; returns what a legend shows.

    A mark that would touch one of those before hangs from its place by a line; near the bottom it stands on one.
    """
    own: dict[str, Any] = PUBLISHED | {"markersize": 4.5, "zorder": 5, "clip_on": False}
    ends, to_axes = (
        np.array([[ax.get_xlim()[0], ax.get_ylim()[0]], [ax.get_xlim()[1], ax.get_ylim()[1]]]),
        ax.transScale,
    )
    (left, bottom), (right, top) = to_axes.transform(ends)
    across, up = _AXES_POINTS[0] / (right - left), _AXES_POINTS[1] / (top - bottom)
    taken: list[NDArray[Any]] = []
    handles = []
    for label, points in (published or {}).items():
        mark, seen = own | {"marker": looks[label].marker}, []
        for value, share in points:
            x, y = to_axes.transform((value, share))
            place, down = np.array([x * across, y * up]), 1 if y > (bottom + top) / 2 else -1
            moved = False
            while any(np.hypot(*(place - other)) < _TOUCHING for other in taken):
                place, moved = place - (0, down * _TOUCHING / 2), True
            taken.append(place)
            at = float(to_axes.inverted().transform((x, place[1] / up))[1]) if moved else share
            if moved:
                stem: dict[str, Any] = {"color": QUIET, "linewidth": 0.6, "zorder": 4.9, "clip_on": False}
                ax.plot([value, value], [share, at], **stem)
                ax.plot(value, share, marker="_", markersize=4, **stem)
            seen.append((value, at))
        ax.plot(*zip(*seen, strict=True), **mark)
        handles.append(Line2D([], [], **mark))
    return handles


def _steps(
    ax: Axes, curves: Mapping[str, overlap.Points], looks: Mapping[str, Look], *, log: bool = False
) -> list[Line2D]:
    """Draws curves of which each value holds until the next, over an axis of logarithms; returns what a legend shows.

    Several have marks, each at places of its own along it: many are one upon the other for most of their length.
    ``log`` is about the y axis.
    """
    wider = overlap.widths(list(curves.values()), log=log, steps=True)
    handles = []
    for i, (label, (x, y)) in enumerate(curves.items()):
        own: dict[str, Any] = looks[label].curve | {"linewidth": _LINE, "zorder": 3 + 0.01 * i}
        dots = looks[label].dots if len(curves) > 1 else {}
        drawn = own | overlap.line(own["linestyle"], _LINE, wider[i])
        ax.step(x, y, where="post", **drawn, label=clean_label(label), gid=f"curve-{i}")
        at = _marks(x, y, (i + 0.5) / len(curves), log)
        if dots and len(at):
            ax.plot(x[at], y[at], **own | dots | {"linestyle": "none"}, gid=f"marks-{i}")
        handles.append(Line2D([], [], **own, **dots, label=clean_label(label)))
    return handles


_LINE = 1.1
_MARKS = 5
"""Marks of a curve of steps."""


def _marks(x: NDArray[Any], y: NDArray[Any], shift: float, log: bool) -> NDArray[np.intp]:
    """Points of a curve at even distances along it, the first of them ``shift`` of such a distance from its start."""
    if len(x) < 2:
        return np.arange(len(x))
    across, up = np.log(np.maximum(x, 1e-9)), np.log(np.maximum(y, 1e-9)) if log else y
    length = np.hypot(*(np.diff(v, prepend=v[0]) / (float(np.ptp(v)) or 1.0) for v in (across, up)))
    along = np.cumsum(length)
    wanted = (np.arange(_MARKS) + shift) / _MARKS * along[-1]
    return np.unique(np.searchsorted(along, wanted).clip(0, len(x) - 1))


def _bottom(least: float) -> tuple[float, int]:
    """Where an axis of shares begins, and its digits: queues hardly ever there would all be one line at the top."""
    span = 1.3 * (1 - least)
    if not 1e-6 < span < 0.65:
        return 0.0, 2
    digits = max(2, math.ceil(-math.log10(span)))
    return math.floor(10**digits * (1 - span)) / 10**digits, digits


def _name_left_edge(ax: Axes, nothing: float, left: float, longest: float, right: float) -> None:
    """A tick ``empty`` before a gap in the axis, in place of the numbers that would touch it."""
    span = math.log10(right / nothing)
    ticks = [float(at) for at in ax.xaxis.get_major_locator().tick_values(left, longest) if left <= at <= longest]
    ticks = [at for at in ticks if math.log10(at / nothing) > 0.14 * span]
    ax.set_xticks([nothing, *ticks], ["empty", *(format_size(at) for at in ticks)])
    # An axis grows to hold a tick beyond its end.
    minor = [float(at) for at in ax.xaxis.get_minorticklocs() if left <= at <= right]
    ax.set_xticks(minor, minor=True)
    broken = math.sqrt(nothing * left)
    cut: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "linestyle": "none", "zorder": 6}
    ax.plot(broken, 0, marker="s", markersize=3, color=PAPER, **cut)
    for side in (-1, 1):
        place = broken * (right / nothing) ** (0.006 * side)
        ax.plot(place, 0, marker=[(-0.35, -1), (0.35, 1)], markersize=6, color="#000000", markeredgewidth=0.6, **cut)
