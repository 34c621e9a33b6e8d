"""Small multiples of curves of a few points each, as comparisons of many schemes need: one legend, shared looks.

Figures are made as those of :mod:`paceline.plot`, which saves them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETUP
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import NDArray

from paceline.formats import clean_label, clean_labels, format_alike, same_decimals
from paceline.plot import overlap, shades
from paceline.plot.looks import Look, of_schemes
from paceline.plot.style import (
    INK,
    PAPER,
    PUBLISHED,
    QUIET,
    TWO_COLUMNS,
    blank,
    legend,
    log_name,
    plain_log,
    rows_apart,
    style,
)
from paceline.words import signed

NOTHING = "no value at this scale"
"""What stands in a chart without any."""
_ALL_ZERO = "all values are 0"
"""What stands in a chart whose curves lie on its x axis."""


@dataclass(frozen=True)
class Chart:
    """One of several: label to (x, y). Values that are not finite are left out."""

    title: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    xlabel: str
    ylabel: str
    ticks: Mapping[float, str] = field(default_factory=dict)
    """Places on the x axis and what stands there; the x of the curves when left out."""
    scale: Literal["log", "linear"] = "log"
    """Of the y axis, which covers the values; a linear one begins at 0 unless they lie far from it."""
    between: tuple[float, float] | None = None
    """Ends of the y axis, for charts that are to be compared; of a logarithmic one those of the values."""
    log_x: bool = False
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)
    """Points off the curve of a label, as for all of its places together; filled beside a published one."""
    published: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)
    """Points that were published, by the label of their curve: hollow and grey with its mark."""
    intervals: Mapping[str, Mapping[float, tuple[float, float]]] = field(default_factory=dict)
    """By the label of a curve and x, from where to where an upright bar goes: what the value may as well be.

    One that goes beyond the axis ends there in an arrow."""
    nothing: str = NOTHING
    """What stands in the chart where no label has a value."""
    level: float | None = None
    """A value that all curves are held against: a level line."""

    @property
    def is_empty(self) -> bool:
        """Whether no label has a value."""
        drawn = (*self.series.values(), *self.points.values(), *self.published.values())
        return not any(np.isfinite(np.asarray(ys, dtype=float)).any() for _, ys in drawn)


@style()
def charts(
    rows: Sequence[Sequence[Chart]],
    variants: Mapping[str, str] | None = None,
    looks: Mapping[str, Look] | None = None,
) -> Figure:
    """Charts row by row with one legend over all of them: two columns of a paper wide, one where they stand alone.

    Schemes have the looks they have everywhere (:mod:`paceline.plot.looks`). ``variants`` maps a label to the one it is
    a variant of: it gets the colour of that, dashed and hollow. ``looks`` are those of all labels, where figures
    beside it have others.
    """
    labels = list(dict.fromkeys(label for row in rows for chart in row for label in chart.series))
    looks = of_schemes(labels, variants) if looks is None else looks
    wide = max((len(row) for row in rows), default=1)
    columns = TWO_COLUMNS if wide > 1 else 1.0
    figure = blank(0.35 + 1.8 * max(len(rows), 1), columns)
    figure = rows_apart(figure) if len(rows) > 1 else figure
    handles: dict[str, Any] = {}
    names: dict[str, set[str]] = {}
    for i, row in enumerate(rows):
        for j, chart in enumerate(row):
            ax = figure.add_subplot(len(rows), wide, i * wide + j + 1)
            handles |= _draw(ax, chart, looks)
            if not chart.is_empty:
                names.setdefault(chart.ylabel, set()).add(ax.get_ylabel())
            if j and chart.ylabel == row[0].ylabel:
                ax.set_ylabel("")
            below = rows[i + 1] if i + 1 < len(rows) else ()
            told_below = j < len(below) and chart.xlabel == below[j].xlabel and not below[j].is_empty
            if chart.is_empty or told_below:
                ax.set_xlabel("")  # said once in a column, and of no empty axis
    for ax, chart in zip(figure.axes, (chart for row in rows for chart in row), strict=True):
        # In a row a name is said once. It says what holds for any of the axes that have it.
        if ax.get_ylabel():
            ax.set_ylabel(_said_once(chart.ylabel, names.get(chart.ylabel, set())))
    figure.align_ylabels()
    published = {label for row in rows for chart in row for label in chart.published}
    held = [label for label in labels if label in published]
    drawn = [handles[label] for label in labels]
    drawn += [Line2D([], [], **PUBLISHED | {"marker": looks[label].marker, "markersize": 5.5}) for label in held]
    told = [*clean_labels(labels), *(f"published: {clean_label(label)}" for label in held)]
    legend(figure, drawn, told, room=round(70 * columns))
    return figure


def _said_once(name: str, found: Collection[str]) -> str:
    """The name of several axes that have it, each of which says more in ``found``: what holds for any of them."""
    begins = [one for one in found if "\n" in one]
    if len(found) < 2 or not begins:
        return max(found, key=len, default=name)
    return f"{name}\n({'some axes' if len(begins) < len(found) else 'axes'} truncated)"


def _draw(ax: Axes, chart: Chart, looks: Mapping[str, Look]) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    drawn: list[NDArray[Any]] = [np.ones(0)]
    places: set[float] = set()
    # Hollow marks and dashes last: what is below shows through.
    order = sorted(chart.series, key=lambda label: looks[label].variant)
    points = [(np.asarray(x, dtype=float), np.asarray(y, dtype=float)) for x, y in (chart.series[k] for k in order)]
    wider = overlap.widths(points, log=chart.scale == "log")
    for i, (label, (xs, ys)) in enumerate(zip(order, points, strict=True)):
        seen = np.isfinite(ys)
        own = looks[label].marked | {"markersize": 2.6, "linewidth": 0.9, "zorder": 3 + 0.01 * i}
        handles[label] = Line2D([], [], **own, label=clean_label(label))
        beneath = overlap.line(own["linestyle"], 0.9, wider[i]) | {"markersize": 2.6 + 1.3 * (wider[i] - 1)}
        if not seen.any():  # a line without points has no extent that a layout could take in
            continue
        ax.plot(xs[seen], ys[seen], clip_on=False, label=clean_label(label), **own | beneath)
        drawn.append(ys[seen])
        places.update(xs[seen].tolist())
    for given, published in ((chart.points, False), (chart.published, True)):
        for label, (x, y) in given.items():
            xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
            own = looks[label].marked | {"markersize": 4.0, "zorder": 5}
            own |= (
                PUBLISHED | {"markersize": 5.5, "zorder": 6, "markerfacecolor": "none"}
                if published
                else {"linestyle": "none"}
            )
            if not published and label in chart.published:
                own["markerfacecolor"] = looks[label].color  # a hollow one would look much like what was published
            # Beside the measured value: where the two are alike, they would read as one filled mark.
            beside = 1.05 if published and label in chart.points and chart.log_x else 1.0
            ax.plot(xs * beside, ys, clip_on=False, **own)
            drawn.append(ys[np.isfinite(ys)])
            places.update(xs[np.isfinite(ys)].tolist())
    values = np.concatenate(drawn)
    least, most = _with_bars(ax, chart, looks, values)
    if chart.level is not None:
        ax.axhline(chart.level, color=QUIET, linewidth=0.9, zorder=1.5)
    name = chart.ylabel
    if chart.scale == "log":
        low, high = chart.between or ((least, most) if most > 0 else (1.0, 2.0))
        # Large marks lie within the axes, clear of the names of their places.
        room = max(1.06, (high / low) ** 0.05) if chart.points or chart.published else 1.06
        low, high = low / room, max(high * room, low * 1.3)
        ax.set_yscale("log")
        ax.set_ylim(low, high)
        plain_log(ax.yaxis, low, high, "{:,g}".format)
        name = log_name(name, low, high)
    else:
        apart = least > most / 2 or least < 0
        room = 0.06 * (most - (least if apart else 0.0)) or 0.06 * most  # all the same
        bottom, top = chart.between or (least - room if apart else 0.0, most + room or 1.0)
        if bottom:  # from a tick on
            ticks_at = MaxNLocator(6, steps=[1, 2, 5, 10])
            bottom = float(ticks_at.tick_values(bottom, top)[0])
            ax.yaxis.set_major_locator(ticks_at)
        ax.set_ylim(bottom, top)
        if bottom > 0:
            name = f"{name}\n(axis from {bottom:,.6g})"
        _large_numbers(ax.yaxis, most)
    _mark_cut(ax, chart, looks)
    if chart.log_x:
        ax.set_xscale("log")
        ax.xaxis.set_minor_locator(NullLocator())  # ticks are the places that were measured
    # No place is named at which nothing ran.
    ticks = {place: text for place, text in chart.ticks.items() if place in places}
    if not ticks:
        at = sorted(places)
        texts = [f"{place:,g}" for place in at] if chart.log_x else same_decimals(at)
        ticks = dict(zip(at, map(signed, texts), strict=True))
    level = not chart.is_empty and chart.scale == "linear" and least == most == 0
    if chart.is_empty or level:
        text = _ALL_ZERO if level else chart.nothing
        said = ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", fontsize=6.5)
        said.set_color(QUIET)
        said.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 2})
        said.set_in_layout(False)
        ax.set_yticks([0.0] if level else [], ["0"] if level else [])
        ax.set_yticks([], minor=True)
    ax.set_xticks(list(ticks), list(ticks.values()))
    if chart.title:
        ax.set_title(clean_label(chart.title, 60), fontsize=7, pad=3)
    ax.set_xlabel(chart.xlabel)
    ax.set_ylabel(name)
    return handles


_WIDEST = 1.5
"""How far beyond all values, as a factor, bars can stretch an axis: longer ones are cut, lest all else be flat."""


def _with_bars(ax: Axes, chart: Chart, looks: Mapping[str, Look], values: NDArray[Any]) -> tuple[float, float]:
    """Draws the intervals, and says from where to where an axis goes that shows these and the values."""
    least, most = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    floor, ceiling = least / _WIDEST, most * _WIDEST
    for label, by_place in ((label, found) for label, found in chart.intervals.items() if found):
        own: dict[str, Any] = {"color": looks[label].color, "alpha": 0.7, "zorder": 2.5}
        lows, highs = ([pair[end] for pair in by_place.values()] for end in (0, 1))
        ax.vlines(list(by_place), lows, highs, linewidth=0.8, **own)
        for ends in (lows, highs):
            ax.plot(list(by_place), ends, marker="_", markersize=3.2, markeredgewidth=0.8, linestyle="none", **own)
        least = min([least, *(max(low, floor) for low in lows)])
        most = max([most, *(min(high, ceiling) for high in highs)])
    return least, most


def _mark_cut(ax: Axes, chart: Chart, looks: Mapping[str, Look]) -> None:
    """An arrow at the end of the axis for each interval that goes beyond it."""
    bottom, top = ax.get_ylim()
    # Where an axis begins at 0, as nothing lies below, an interval does not go on.
    ends = ((1, top, CARETUP, 1), (0, bottom, CARETDOWN, -1 if bottom else 0))
    for label, by_place in chart.intervals.items():
        for end, edge, marker, beyond in ends:
            cut = [x for x, pair in by_place.items() if beyond * (pair[end] - edge) > 0]
            own: dict[str, Any] = {"color": looks[label].color, "markersize": 3.4, "linestyle": "none", "zorder": 3.9}
            if cut:
                ax.plot(cut, [edge] * len(cut), marker=marker, clip_on=False, **own)


def has_arrows(figure: Figure) -> bool:
    """Whether an interval or a band of a figure goes beyond its axis: then its caption has to explain the arrow."""
    return any(line.get_marker() in (CARETUP, CARETDOWN) for ax in figure.axes for line in ax.get_lines())


@style()
def heat_maps(maps: Mapping[str, Sequence[Sequence[float]]], rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Quantities in the same cells, a map for each by its name: the stronger the colour the more, with the numbers.

    Colours follow the logarithm, from each map's least value above 0 to its largest, or to twice the least: where
    values hardly differ, neither do the colours; 0 is weaker than any other. The figure does not say so itself: its
    caption has to. A value that is not finite is a dash on the ground. Two columns of a paper wide.
    """
    down = -(-len(maps) // 2)
    figure = rows_apart(blank(down * (0.62 + 0.24 * len(rows)), TWO_COLUMNS))
    for i, (name, values) in enumerate(maps.items()):
        ax = figure.add_subplot(down, 2, i + 1)
        seen = [v for row in values for v in row if np.isfinite(v) and v > 0]
        low, high = (min(seen), max(max(seen), 2 * min(seen))) if seen else (1.0, 2.0)
        least = 0.3 if any(v == 0 for row in values for v in row) else 0.0  # nothing looks unlike little
        texts = iter(format_alike([v for row in values for v in row]))
        for y, row in enumerate(values):
            for x, value in enumerate(row):
                known = bool(np.isfinite(value))
                share = least + (1 - least) * float(np.log(value / low) / np.log(high / low)) if value > 0 else 0.0
                colour = INK
                if known:
                    ground, colour = shades.shade(share)
                    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=ground, edgecolor=PAPER, linewidth=0.8))
                ax.text(x + 0.5, y + 0.5, signed(next(texts)), ha="center", va="center", fontsize=6, color=colour)
        ax.set_xlim(0, len(columns))
        ax.set_ylim(len(rows), 0)
        ax.set_xticks(np.arange(len(columns)) + 0.5, list(columns), fontsize=6)
        ax.set_yticks(np.arange(len(rows)) + 0.5, list(rows) if i % 2 == 0 else [""] * len(rows))
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.set_title(clean_label(name, 60), fontsize=7, pad=3)
    return figure


@style()
def bars(
    values: Mapping[str, float],
    xlabel: str,
    variants: Mapping[str, str] | None = None,
    intervals: Mapping[str, tuple[float, float]] | None = None,
    text: Callable[[float], str] = "{:.3f}".format,
    published: Mapping[str, float] | None = None,
) -> Figure:
    """One value per label as horizontal bars from 0, with the number and, where there is one, the interval at each.

    ``variants`` as in :func:`charts`; ``text`` writes the numbers. ``published`` are values to be held against these,
    by names of their own: hollow grey marks in rows below.
    """
    intervals, published = intervals or {}, published or {}
    labels = list(values)
    looks = of_schemes(labels, variants)
    names = [*labels, *published]
    figure = blank(0.5 + 0.19 * max(len(names), 1))
    ax = figure.add_subplot()
    for place, (label, value) in enumerate(values.items()):
        colour, plain = looks[label].color, label not in (variants or {})
        ax.barh(place, value, height=0.66, color=colour if plain else PAPER, edgecolor=colour, linewidth=0.9)
        if np.isfinite(value):
            low, high = intervals.get(label, (value, value))
            if high > low:
                own: dict[str, Any] = {"ecolor": QUIET, "elinewidth": 0.9, "capsize": 2}
                ax.errorbar(value, place, xerr=[[value - low], [high - value]], fmt="none", **own)
            beside: dict[str, Any] = {"xytext": (3 if high > low else 2, 0), "textcoords": "offset points"}
            ax.annotate(signed(text(value)), (high, place), **beside, va="center", fontsize=6)
    for place, value in enumerate(published.values(), len(labels)):
        ax.plot(value, place, **PUBLISHED | {"marker": "D", "markersize": 4.5})
        ax.annotate(signed(text(value)), (value, place), (5, 0), textcoords="offset points", va="center", fontsize=6)
    ax.set_yticks(range(len(names)), clean_labels(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False)  # would run through the numbers
    ax.set_xlabel(xlabel)
    ends = [*values.values(), *published.values(), *(high for _, high in intervals.values())]
    most = max([v for v in ends if np.isfinite(v)], default=1.0)
    wide = max([len(text(v)) for v in (*values.values(), *published.values()) if np.isfinite(v)], default=5)
    room = 1.03 + 0.03 * wide + (0.08 if published else 0.0)  # for the number of the longest
    ax.set_xlim(0, room * most or 1.0)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    _large_numbers(ax.xaxis, most)
    return figure


def _large_numbers(axis: Any, most: float) -> None:
    """Sets thousands apart on a linear axis; from a million on matplotlib would have "1e6" beyond its end."""
    if most >= 1000:
        axis.set_major_formatter("{x:,.10g}")
