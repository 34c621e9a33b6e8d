"""Small multiples of curves of a few points each, as comparisons of many schemes need: one legend, shared looks.

Figures are made as those of :mod:`paceline.plot`, which saves them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from paceline.plot.style import (
    INK,
    LINE_STYLES,
    MARKERS,
    PALETTE,
    PAPER,
    TWO_COLUMNS,
    blank,
    legend,
    plain_log,
    rows_apart,
    style,
)
from paceline.tables import clean_label


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
    """Of the y axis, which covers the values."""
    log_x: bool = False


@style()
def charts(rows: Sequence[Sequence[Chart]], variants: Mapping[str, str] | None = None) -> Figure:
    """Charts row by row with one legend over all of them: two columns of a paper wide, one where they stand alone.

    ``variants`` maps a label to the one it is a variant of: it gets the colour of that, dashed and hollow.
    """
    variants = variants or {}
    labels = list(dict.fromkeys(label for row in rows for chart in row for label in chart.series))
    looks = _looks(labels, variants)
    wide = max((len(row) for row in rows), default=1)
    columns = TWO_COLUMNS if wide > 1 else 1.0
    figure = rows_apart(blank(0.35 + 1.8 * max(len(rows), 1), columns))
    handles: dict[str, Any] = {}
    for i, row in enumerate(rows):
        for j, chart in enumerate(row):
            ax = figure.add_subplot(len(rows), wide, i * wide + j + 1)
            handles |= _draw(ax, chart, looks)
            if j and chart.ylabel == row[0].ylabel:
                ax.set_ylabel("")
    legend(
        figure, [handles[label] for label in labels], [clean_label(label) for label in labels], room=round(70 * columns)
    )
    return figure


def _looks(labels: Sequence[str], variants: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    plain = [label for label in labels if variants.get(label) not in labels]
    found = {}
    for label in labels:
        i = plain.index(label if label in plain else variants[label])
        colour = PALETTE[i % len(PALETTE)]
        found[label] = {
            "color": colour,
            "marker": MARKERS[i % len(MARKERS)],
            "markersize": 2.6,
            "linewidth": 0.9,
            # Colours and marks begin anew together: then lines differ.
            "linestyle": LINE_STYLES[2 * (i // len(PALETTE)) % len(LINE_STYLES)] if label in plain else (0, (4, 1.6)),
            "markerfacecolor": colour if label in plain else PAPER,
            "zorder": 3 if label in plain else 4,
        }
    return found


def _draw(ax: Axes, chart: Chart, looks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    drawn = [np.ones(0)]
    places: set[float] = set()
    for label, (x, y) in chart.series.items():
        xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        seen = np.isfinite(ys)
        handles[label] = ax.plot(xs[seen], ys[seen], label=clean_label(label), clip_on=False, **looks[label])[0]
        drawn.append(ys[seen])
        places.update(xs.tolist())
    values = np.concatenate(drawn)
    if chart.scale == "log":
        low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 2.0)
        low, high = low / 1.06, max(high * 1.06, low * 1.3)
        ax.set_yscale("log")
        ax.set_ylim(low, high)
        plain_log(ax.yaxis, low, high, "{:g}".format)
    if chart.log_x:
        ax.set_xscale("log")
        ax.xaxis.set_minor_locator(NullLocator())  # ticks are the places that were measured
    ticks = chart.ticks or {place: f"{place:g}" for place in sorted(places)}
    ax.set_xticks(list(ticks), list(ticks.values()))
    if chart.title:
        ax.set_title(clean_label(chart.title, 60), fontsize=7, pad=3)
    ax.set_xlabel(chart.xlabel)
    ax.set_ylabel(chart.ylabel)
    return handles


@style()
def heat_maps(maps: Mapping[str, Sequence[Sequence[float]]], rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Quantities in the same cells, a map for each by its name: the darker the more, with the numbers in the cells.

    Colours follow the logarithm, from each map's least value above 0 to its largest, or to twice the least: where
    values hardly differ, neither do the colours; 0 is paler than any other. A value that is not finite is a dash on
    white. Two columns of a paper wide.
    """
    down = -(-len(maps) // 2)
    figure = rows_apart(blank(down * (0.62 + 0.24 * len(rows)), TWO_COLUMNS))
    for i, (name, values) in enumerate(maps.items()):
        ax = figure.add_subplot(down, 2, i + 1)
        seen = [v for row in values for v in row if np.isfinite(v) and v > 0]
        low, high = (min(seen), max(max(seen), 2 * min(seen))) if seen else (1.0, 2.0)
        least = 0.3 if any(v == 0 for row in values for v in row) else 0.0  # nothing looks unlike little
        for y, row in enumerate(values):
            for x, value in enumerate(row):
                known = bool(np.isfinite(value))
                shade = least + (1 - least) * float(np.log(value / low) / np.log(high / low)) if value > 0 else 0.0
                if known:
                    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=_shade(shade), edgecolor="#fefefe", linewidth=0.8))
                colour = INK if not known else "#0a0a0a" if shade < 0.55 else "#fefefe"
                ax.text(x + 0.5, y + 0.5, _short(value), ha="center", va="center", fontsize=6, color=colour)
        ax.set_xlim(0, len(columns))
        ax.set_ylim(len(rows), 0)
        ax.set_xticks(np.arange(len(columns)) + 0.5, list(columns), fontsize=5.5)
        ax.set_yticks(np.arange(len(rows)) + 0.5, list(rows) if i % 2 == 0 else [""] * len(rows))
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.set_title(clean_label(name, 60), fontsize=7, pad=3)
    return figure


def _shade(share: float) -> str:
    """From pale to dark blue."""
    pale, dark = np.array([230, 240, 247]), np.array([0, 60, 100])
    red, green, blue = (round(float(v)) for v in pale + (dark - pale) * min(max(share, 0.0), 1.0))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _short(value: float) -> str:
    """A number in five characters or so."""
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


@style()
def bars(values: Mapping[str, float], xlabel: str, variants: Mapping[str, str] | None = None) -> Figure:
    """One value per label as horizontal bars from 0, with the number at each; ``variants`` as in :func:`charts`."""
    labels = list(values)
    looks = _looks(labels, variants or {})
    figure = blank(0.5 + 0.19 * max(len(labels), 1))
    ax = figure.add_subplot()
    for place, (label, value) in enumerate(values.items()):
        colour, plain = looks[label]["color"], looks[label]["linestyle"] == "-"
        ax.barh(place, value, height=0.66, color=colour if plain else PAPER, edgecolor=colour, linewidth=0.9)
        if np.isfinite(value):
            ax.annotate(f"{value:.3f}", (value, place), (2, 0), textcoords="offset points", va="center", fontsize=6)
    ax.set_yticks(range(len(labels)), [clean_label(label) for label in labels])
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(xlabel)
    ax.margins(x=0.12)
    return figure
