"""Slowdown over flow size, alone and as small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETUP
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import FixedLocator
from numpy.typing import ArrayLike

from paceline.analysis import Curve, SizeBins
from paceline.formats import clean_label, clean_labels, format_size
from paceline.plot import overlap
from paceline.plot.looks import Look, check_labelled, of_schemes
from paceline.plot.style import (
    INK,
    LINE_STYLES,
    PAPER,
    QUIET,
    TWO_COLUMNS,
    blank,
    legend,
    log_name,
    one_panel,
    plain_log,
    rows_apart,
    style,
)
from paceline.tables import fewest

SIZE_AXIS = "Flow size (bytes), linear in its CDF"
"""Name of an axis along which each size has its percentile as its place."""

MIN_FLOWS = 100
"""Bins with fewer flows are drawn hollow: one flow in a hundred is what a p99 stands on."""


LINE = 1.1
"""Width of a curve that none hides."""

FEW_POINTS = 15
"""Points up to which each has its mark in small multiples, which with more have lines alone."""

MOST_BANDS = 6
"""Curves up to which their bands are drawn: those of more lie over each other, and none can be told."""


@style()
def slowdown_vs_size(
    curves: Mapping[str, Curve],
    *,
    published: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    least: float | None = None,
    marks: bool = True,
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Slowdown over flow size, x linear in the CDF percentile of the size and labelled with the sizes.

    Each curve has its vertices at the upper edges of its bins, and a band for the confidence interval where the
    flows give one (a p99 needs 368 flows for a 95 % upper bound, and none of them unfinished near the top), where
    there are at most :data:`MOST_BANDS` curves. Bins with fewer than :data:`MIN_FLOWS` flows are hollow circles,
    crosses where they are too few for the percentile, so that it is their largest value whatever it is called;
    values that an unfinished or failed flow could still raise are triangles, and the legend says so; a band that goes
    beyond the axis ends in a small arrow.
    ``published`` adds curves read from elsewhere, label to (sizes in bytes, slowdowns): thin, edged in grey and in
    the look of the curve with the same label, grey without one. ``least`` is the lower end of the y axis, 1 unless
    a value lies below. Without ``marks`` the curves are lines alone: for many curves that lie close. ``looks`` are
    those of the labels, by scheme unless given.
    """
    check_labelled(curves, Curve, "analysis.percentile_curves(...)[0]")
    figure, ax = one_panel(2.3)
    handles = _slowdown_panel(ax, curves, published or {}, least, marks=marks, looks=looks or of_schemes(curves))
    ax.set_xlabel(SIZE_AXIS)
    q = next(iter(curves.values())).q if curves else 50.0
    ax.set_ylabel(log_name(f"Slowdown, p{q:g}" if q != 50 else "Slowdown, median", *ax.get_ylim()))
    legend(figure, handles, [str(h.get_label()) for h in handles])
    return figure


@dataclass(frozen=True)
class Panel:
    """One of several slowdown figures drawn together; ``published`` and ``looks`` as in :func:`slowdown_vs_size`."""

    title: str
    curves: Mapping[str, Curve]
    published: Mapping[str, tuple[ArrayLike, ArrayLike]] = field(default_factory=dict)
    looks: Mapping[str, Look] = field(default_factory=dict)


@style()
def slowdown_panels(rows: Sequence[Sequence[Panel]]) -> Figure:
    """Slowdown figures as small multiples, row by row, with one legend.

    Each is drawn as :func:`slowdown_vs_size` does without marks; curves of few points have those of their looks. Every
    panel needs the same labels in the same order.
    The figure is two columns of a paper wide.
    """
    wide = max((len(row) for row in rows), default=1)
    figure = rows_apart(blank(0.35 + 1.75 * max(len(rows), 1), TWO_COLUMNS))
    handles: list[Any] = []
    firsts: list[Axes] = []
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            ax = figure.add_subplot(len(rows), wide, i * wide + j + 1)
            each = 20 if wide > 2 else 10
            drawn = _slowdown_panel(
                ax,
                panel.curves,
                panel.published,
                None,
                marks=False,
                looks=panel.looks or of_schemes(panel.curves),
                ticks_each=each,
                name=f"{i}-{j}-",
            )
            handles = drawn if len(drawn) > len(handles) else handles
            ax.set_title(clean_label(panel.title, 60), fontsize=7, pad=3)
            if i == len(rows) - 1:
                ax.set_xlabel(SIZE_AXIS)
            firsts += [] if j else [ax]
    for ax in firsts:
        # In a row the name is said once, and alike in all rows and figures: ticks do not always show it.
        ax.set_ylabel("Slowdown (log scale)")
    figure.align_ylabels()
    if handles:
        legend(figure, handles, [str(h.get_label()) for h in handles], room=150)
    return figure


def _slowdown_panel(
    ax: Axes,
    curves: Mapping[str, Curve],
    published: Mapping[str, tuple[ArrayLike, ArrayLike]],
    least: float | None,
    *,
    marks: bool,
    looks: Mapping[str, Look],
    ticks_each: int = 10,
    name: str = "",
) -> list[Any]:
    """Draws one slowdown figure without names of axes; returns what a legend shows.

    ``name`` keeps the ids of its curves apart from those of other panels.
    """
    handles: list[Any] = []
    top = bottom = 1.0
    seen_marks: set[str] = set()
    bands: list[tuple[Any, Any, str]] = []
    wider = overlap.widths([(curve.bins.position, curve.value) for curve in curves.values()], log=True)
    for i, ((label, curve), said) in enumerate(zip(curves.items(), clean_labels(curves), strict=True)):
        own, position = looks[label].curve, curve.bins.position
        seen = np.isfinite(curve.value)
        x, y = position[seen], curve.value[seen]
        pale: dict[str, Any] = {} if marks else {"alpha": 0.85}
        line = {
            **own,
            **pale,
            **overlap.line(own["linestyle"], LINE, wider[i]),
            "zorder": 3 + 0.01 * i,
            "clip_on": False,
            "gid": f"{name}curve-{i}",
        }
        dots = looks[label].dots if not marks and len(x) <= FEW_POINTS else {}
        ax.plot(x, y, **line | dots, label=said)
        # In a legend all lines are as wide.
        handles += [Line2D([], [], **own, **dots, label=said)]
        top, bottom = max(top, float(y.max(initial=1.0))), min(bottom, float(y.min(initial=1.0)))
        if not marks:
            continue
        low, high = curve.low[seen], curve.high[seen]
        both = np.isfinite(high) & (low > 0) & (len(curves) <= MOST_BANDS)
        ax.fill_between(x, low, high, where=both, color=own["color"], alpha=0.15, linewidth=0, zorder=1)
        bands.append((x[both], high[both], own["color"]))
        seen_marks |= _mark(ax, curve, own["color"], i, name)
        if len(y):
            top = max(top, min(float(high[both].max(initial=1.0)), 2.5 * float(y.max())))
    reference = next(iter(curves.values())).bins if curves else None
    if reference is not None:
        named = {label: looks[label].curve for label in curves if label in looks}
        top = max(top, _published(ax, published, reference, named, handles, 2 if marks else 5))
    handles += _meanings(seen_marks)
    ceiling = max(top * 1.12, 2.0)
    for i, (x, high, color) in enumerate(bands):
        beyond = x[high > ceiling]
        arrow: dict[str, Any] = {
            "linestyle": "none",
            "marker": CARETUP,
            "markersize": 2.5,
            "color": color,
            "alpha": 0.6,
        }
        if len(beyond):
            ax.plot(beyond, np.full(len(beyond), ceiling), **arrow, clip_on=False, zorder=1, gid=f"{name}beyond-{i}")
    ax.set_yscale("log")
    floor = bottom * 0.97 if least is None else least
    ax.set_ylim(floor, ceiling)
    plain_log(ax.yaxis, floor, ceiling, "{:,g}".format)
    ax.set_xlim(0, 100)
    ax.xaxis.set_major_locator(FixedLocator(range(0, 101, ticks_each)))
    if reference is not None and len(reference):
        places, sizes = _size_ticks(reference, ticks_each)
        ax.set_xticks(places, [format_size(s) for s in sizes])
    return handles


def _mark(ax: Axes, curve: Curve, color: str, number: int, name: str) -> set[str]:
    """Marks the points of a curve by how many flows are behind each; returns which marks need a word in the legend."""
    seen = np.isfinite(curve.value)
    x, y = curve.bins.position[seen], curve.value[seen]
    count, open_end = curve.count[seen], curve.at_least[seen]
    few, largest = (count < MIN_FLOWS) & (count >= fewest(curve.q)), count < fewest(curve.q)
    dense = len(x) > 30
    solid = {"markerfacecolor": color, "markeredgecolor": color}
    hollow = {"markerfacecolor": PAPER, "markeredgecolor": color}
    drawn = set()
    for mask, face, marker, kind, meaning in (
        (~few & ~largest & ~open_end & (not dense), solid, "o", "solid", ""),
        (few & ~open_end, hollow, "o", "hollow", "few"),
        (largest & ~open_end, solid, "x", "largest", "largest"),
        (~few & ~largest & open_end, solid, "^", "open-solid", "open"),
        ((few | largest) & open_end, hollow, "^", "open-hollow", "open"),
    ):
        if mask.any():
            drawn.add(meaning)
            look: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 2.6 if dense else 3.2, **face}
            ax.plot(x[mask], y[mask], **look, zorder=4 + 0.01 * number, clip_on=False, gid=f"{name}{kind}-{number}")
    return drawn


def _meanings(marks: set[str]) -> list[Line2D]:
    """What a legend says of the marks of :func:`_mark`."""
    hollow: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": INK, "markerfacecolor": PAPER}
    known = {
        "few": Line2D([], [], **hollow, label=f"under {MIN_FLOWS} flows"),
        "largest": Line2D([], [], linestyle="none", marker="x", color=INK, label="too few: the largest"),
        "open": Line2D([], [], linestyle="none", marker="^", color=INK, label="unfinished: at least"),
    }
    return [handle for meaning, handle in known.items() if meaning in marks]


def _published(
    ax: Axes,
    published: Mapping[str, tuple[ArrayLike, ArrayLike]],
    bins: SizeBins,
    curves: Mapping[str, Mapping[str, Any]],
    handles: list[Any],
    height: float,
) -> float:
    """Draws published curves on the axis of these bins, at this height those of a label of ``curves``, in its look.

    Adds what a legend shows of them to ``handles``; returns the largest value.
    """
    top, thin = 1.0, False
    edge = [Stroke(linewidth=1.5, foreground="#d0d0d0"), Normal()]
    for label, (sizes, value) in published.items():
        at, shown = bins.position_of(sizes), np.asarray(value, dtype=float)
        top = max(top, float(np.nanmax(shown)))
        if label in curves:
            ax.plot(at, shown, **{**curves[label], "linewidth": 0.55}, path_effects=edge, zorder=height)
            thin = True
        else:
            own = {"color": QUIET, "linewidth": 0.9, "linestyle": LINE_STYLES[len(handles) % len(LINE_STYLES)]}
            handles += ax.plot(at, shown, **own, label=clean_label(label), zorder=2)
    if thin:
        # Grey, as published points are in other figures: in none of the curves' colours.
        handles.append(Line2D([], [], color=QUIET, linewidth=0.55, path_effects=edge, label="thin: published"))
    return top


def _size_ticks(bins: SizeBins, each: int) -> tuple[list[float], list[float]]:
    """Places in percent and sizes of the ticks: 0 and edges of bins, where points are, so that they read as in tables.

    With fewer bins than ticks all of their edges, as long as there is room.
    """
    places = [0.0]
    wanted = bins.position if len(bins) < 100 // each else np.arange(each, 101, each)
    for place in wanted:
        edge = float(bins.position[int(np.abs(bins.position - place).argmin())])
        if edge - places[-1] > 0.6 * each:
            places.append(edge)
    sizes = [float(s) for s in bins.size_at(places)]
    # A size that many flows have fills a stretch of the axis: its name stands once, at the end, where the point is.
    texts = [format_size(s) for s in sizes]
    last = [i for i, text in enumerate(texts) if i + 1 == len(texts) or text != texts[i + 1]]
    return [places[i] for i in last], [sizes[i] for i in last]
