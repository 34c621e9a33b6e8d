"""Figures of a run or a comparison, in a style ready for a paper column, and as inline SVG for the report.

Every function takes plain data from :mod:`paceline.analysis` keyed by label, in drawing order, and returns a
``matplotlib.figure.Figure`` that belongs to no window. Labels are shown as they are, never read as markup or maths.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from paceline.analysis import F8, Curve, QueueHistogram, Sample, TierUse, ecdf, tier_order
from paceline.tables import clean_label, format_rate, format_size, format_time

COLUMN_INCHES = 3.3
"""Width of a figure: one column of a two-column paper."""

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#010101", "#e69f00", "#56b4e9")
"""Okabe and Ito's colours, told apart with every common colour blindness; strongest on white first."""

LINE_STYLES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (5, 1.4, 1.2, 1.4)),
    (0, (5, 1.2, 1, 1.2, 1, 1.2)),
)
"""Solid, dashed, dotted, dash-dot, dash-dot-dot: the order of the published slowdown figures."""

MIN_FLOWS = 100
"""Bins with fewer flows are drawn hollow: one flow in a hundred is what a p99 stands on."""

_INK, _GRID, _QUIET, _PAPER = "#000000", "#d0d0d0", "#7a7a7a", "#ffffff"
# What the colours of a figure become in the page, whose style sheet has a light and a dark value for each.
_THEME = {c: f"var(--c{i})" for i, c in enumerate(PALETTE)} | {
    _INK: "currentColor",
    _GRID: "var(--grid)",
    _QUIET: "var(--quiet)",
    _PAPER: "var(--surface)",
}

STYLE: dict[str, Any] = {
    "figure.figsize": (COLUMN_INCHES, 2.2),
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.5,
    "axes.edgecolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "grid.linewidth": 0.4,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "lines.markeredgewidth": 0.8,
    "patch.linewidth": 0.5,
    "pdf.fonttype": 42,  # publishers refuse Type 3 fonts
    "svg.fonttype": "none",
    "savefig.dpi": 300,
    "text.parse_math": False,  # a run may be called "$x$"
    "axes.unicode_minus": False,
    "path.simplify": True,
}


@contextmanager
def _style() -> Iterator[None]:
    """Runs a figure function under :data:`STYLE`, whatever the user's own settings."""
    with mpl.style.context(["default", STYLE]):
        yield


def _figure(height: float = 2.2) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(COLUMN_INCHES, height))
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _look(i: int) -> dict[str, Any]:
    return {"color": PALETTE[i % len(PALETTE)], "linestyle": LINE_STYLES[i % len(LINE_STYLES)]}


def _legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str], room: int = 72) -> None:
    """Names the curves above the axes, in as many columns as fit into ``room`` characters."""
    if len(labels) < 2:
        return
    longest = max(len(label) for label in labels)
    columns = max(1, min(len(labels), int(room / (longest + 8))))
    rows = -(-len(labels) // columns)
    columns = -(-len(labels) // rows)  # as even as the rows allow
    figure.set_figheight(figure.get_figheight() + 0.13 * (rows - 1))  # a long legend must not squeeze the axes
    legend = figure.legend(handles, [f"l{i}" for i in range(len(labels))], loc="outside upper center", ncols=columns)
    # Set afterwards: a label that begins with an underscore would be taken for a request to leave it out.
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_gid(None)  # copied from the curve, whose id it would repeat


def _plain_log(axis: Any, low: float, high: float, text: Callable[[float], str]) -> None:
    """Ticks of a log axis as plain numbers: the longer the range in decades, the fewer per decade."""
    decades = math.log10(high / low) if low > 0 else 1.0
    steps: list[tuple[float, tuple[float, ...]]] = [
        (0.7, (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7)),
        (1.2, (1, 1.5, 2, 3, 5, 7)),
    ]
    steps += [(2.2, (1, 2, 5)), (3.2, (1, 3)), (math.inf, (1,))]
    subs = next(subs for reach, subs in steps if decades < reach)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: text(v)))
    axis.set_minor_formatter(NullFormatter())


@_style()
def slowdown_vs_size(
    curves: Mapping[str, Curve],
    *,
    published: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    least: float | None = None,
    marks: bool = True,
) -> Figure:
    """Slowdown over flow size, x linear in the CDF percentile of the size and labelled with the sizes.

    Each curve has its vertices at the upper edges of its bins, and a band for the confidence interval where the flows
    give one (a p99 needs 368 flows for a 95 % upper bound, and none of them unfinished near the top). Bins with fewer
    than :data:`MIN_FLOWS` flows are hollow circles; values that an unfinished or failed flow could still raise are
    triangles. ``published`` adds curves read from elsewhere, label to (sizes in bytes, slowdowns): thin and in the
    look of the curve with the same label, grey without one. ``least`` is the lower end of the y axis, 1 unless a
    value lies below. Without ``marks`` the curves are lines alone, pale under the published ones: for many curves that
    lie close.
    """
    figure, ax = _figure(2.3)
    handles = _slowdown_panel(ax, curves, published or {}, least, marks=marks)
    ax.set_xlabel("Flow size (bytes), linear in its CDF")
    q = next(iter(curves.values())).q if curves else 50.0
    ax.set_ylabel(f"Slowdown, p{q:g}" if q != 50 else "Slowdown, median")
    _legend(figure, handles, [str(h.get_label()) for h in handles])
    return figure


@dataclass(frozen=True)
class Panel:
    """One of several slowdown figures drawn together; ``published`` as in :func:`slowdown_vs_size`."""

    title: str
    curves: Mapping[str, Curve]
    published: Mapping[str, tuple[ArrayLike, ArrayLike]] = field(default_factory=dict)


@_style()
def slowdown_panels(rows: Sequence[Sequence[Panel]]) -> Figure:
    """Slowdown figures as small multiples, row by row, with one legend.

    Each is drawn as :func:`slowdown_vs_size` does without marks. Every panel needs the same labels in the same order.
    The figure is two columns of a paper wide.
    """
    wide = max((len(row) for row in rows), default=1)
    figure = Figure(figsize=(2.13 * COLUMN_INCHES, 0.35 + 1.75 * max(len(rows), 1)))
    FigureCanvasAgg(figure)
    handles: list[Any] = []
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            ax = figure.add_subplot(len(rows), wide, i * wide + j + 1)
            each = 20 if wide > 2 else 10
            drawn = _slowdown_panel(ax, panel.curves, panel.published, None, marks=False, ticks_each=each)
            handles = drawn if len(drawn) > len(handles) else handles
            ax.set_title(clean_label(panel.title, 60), fontsize=7, pad=3)
            if i == len(rows) - 1:
                ax.set_xlabel("Flow size (bytes)")
            if j == 0:
                ax.set_ylabel("Slowdown")
    if handles:
        _legend(figure, handles, [str(h.get_label()) for h in handles], room=150)
    return figure


def _slowdown_panel(
    ax: Axes,
    curves: Mapping[str, Curve],
    published: Mapping[str, tuple[ArrayLike, ArrayLike]],
    least: float | None,
    *,
    marks: bool,
    ticks_each: int = 10,
) -> list[Any]:
    """Draws one slowdown figure without names of axes; returns what a legend shows."""
    handles: list[Any] = []
    top = bottom = 1.0
    for i, (label, curve) in enumerate(curves.items()):
        look, position = _look(i), curve.bins.position
        seen = np.isfinite(curve.value)
        x, y = position[seen], curve.value[seen]
        pale: dict[str, Any] = {} if marks else {"alpha": 0.5}
        line = {**look, **pale, "zorder": 3 + 0.01 * i, "clip_on": False, "gid": f"curve-{i}"}
        handles += ax.plot(x, y, **line, label=clean_label(label))
        top, bottom = max(top, float(y.max(initial=1.0))), min(bottom, float(y.min(initial=1.0)))
        if not marks:
            continue
        low, high = curve.low[seen], curve.high[seen]
        both = np.isfinite(high) & (low > 0)
        ax.fill_between(x, low, high, where=both, color=look["color"], alpha=0.15, linewidth=0, zorder=1)
        few, open_end = curve.count[seen] < MIN_FLOWS, curve.at_least[seen]
        dense = len(x) > 30
        solid = {"markerfacecolor": look["color"], "markeredgecolor": look["color"]}
        hollow = {"markerfacecolor": _PAPER, "markeredgecolor": look["color"]}
        for mask, face, marker, kind in (
            (~few & ~open_end & (not dense), solid, "o", "solid"),
            (few & ~open_end, hollow, "o", "hollow"),
            (~few & open_end, solid, "^", "open-solid"),
            (few & open_end, hollow, "^", "open-hollow"),
        ):
            if mask.any():
                size = 2.6 if dense else 3.2
                style: dict[str, Any] = {
                    "linestyle": "none",
                    "marker": marker,
                    "markersize": size,
                    "zorder": 4 + 0.01 * i,
                }
                style["clip_on"] = False
                ax.plot(x[mask], y[mask], **style, **face, gid=f"{kind}-{i}")
        if len(y):
            top = max(top, min(float(high[both].max(initial=1.0)), 2.5 * float(y.max())))
    reference = next(iter(curves.values())).bins if curves else None
    drawn = list(curves)
    thin = False
    for label, (sizes, value) in published.items():
        if reference is None:
            break
        at, shown = reference.position_of(sizes), np.asarray(value, dtype=float)
        top = max(top, float(np.nanmax(shown)))
        if label in drawn:
            look = {**_look(drawn.index(label)), "linewidth": 0.55 if marks else 0.7, "alpha": 0.75 if marks else 1.0}
            found = ax.plot(at, shown, **look, label="thin: published", zorder=2 if marks else 5)
            handles += [] if thin else found
            thin = True
        else:
            look = {"color": _QUIET, "linewidth": 0.9, "linestyle": LINE_STYLES[len(handles) % len(LINE_STYLES)]}
            handles += ax.plot(at, shown, **look, label=clean_label(label), zorder=2)
    ax.set_yscale("log")
    floor = bottom * 0.97 if least is None else least
    ax.set_ylim(floor, max(top * 1.12, 2.0))
    _plain_log(ax.yaxis, floor, max(top * 1.12, 2.0), lambda v: f"{v:g}")
    ax.set_xlim(0, 100)
    ticks = np.arange(0, 101, ticks_each)
    ax.xaxis.set_major_locator(FixedLocator(list(ticks)))
    if reference is not None and len(reference):
        ax.set_xticks(ticks, [format_size(s) for s in reference.size_at(ticks)])
    return handles


@_style()
def fct_cdf(samples: Mapping[str, Sample], what: str = "FCT", share: str = "Share of all flows") -> Figure:
    """CDF of the FCT, or of other times (values in ps). What did not finish counts in the total: curves end below 1."""
    figure, ax = _figure()
    handles, lowest, highest = [], math.inf, 0.0
    for i, (label, sample) in enumerate(samples.items()):
        x, y = ecdf(sample, points=400)
        handles += ax.step(x, y, where="post", **_look(i), label=clean_label(label))
        if len(x):
            lowest, highest = min(lowest, float(x[0])), max(highest, float(x[-1]))
    if highest > 0:
        ax.set_xscale("log")
        ax.set_xlim(lowest / 1.1, highest * 1.1)
        _plain_log(ax.xaxis, lowest, highest, format_time)
    ax.set_ylim(0, 1.005)
    ax.set_xlabel(what)
    ax.set_ylabel(share)
    _legend(figure, handles, [clean_label(label) for label in samples])
    return figure


@_style()
def queue_cdf(histograms: Mapping[str, QueueHistogram]) -> Figure:
    """Share of time in which at most so many bytes wait; the left edge of the axis stands for an empty queue."""
    figure, ax = _figure()
    handles = []
    longest = max([float(h.high_bytes.max()) for h in histograms.values() if len(h.high_bytes)], default=1.0)
    left = min(100.0, max(longest / 1e4, 1.0))
    empty = 1.0
    for i, (label, h) in enumerate(histograms.items()):
        total = float(h.time_ps.sum())
        share = np.cumsum(h.time_ps) / total if total else np.zeros(0)
        empty = min(empty, float(share[0])) if len(share) else empty
        x = np.maximum(h.high_bytes[: len(share)] - 1.0, left)
        handles += ax.step(
            np.concatenate([[left], x]),
            np.concatenate([[0.0], share]),
            where="post",
            **_look(i),
            label=clean_label(label),
        )
    ax.set_xscale("log")
    ax.set_xlim(left, max(longest * 1.1, left * 2))
    _plain_log(ax.xaxis, left, longest, format_size)
    # Queues that are hardly ever there would all be one line at the top.
    bottom = 1 - 1.3 * (1 - empty) if 0.9 < empty < 1 else 0.0
    ax.set_ylim(bottom, 1 + 0.005 * (1 - bottom))
    ax.set_xlabel("Bytes waiting at the port")
    ax.set_ylabel("Share of time")
    _legend(figure, handles, [clean_label(label) for label in histograms])
    return figure


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
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v / factor:g}"))
    ax.set_xlim(start, end if end > start else start + 1.0)
    ax.set_xlabel(f"Simulated time ({unit})")


@_style()
def queue_timeline(series: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]) -> Figure:
    """Bytes waiting over time: label to (times in ps, bytes), ascending; a value holds until the next."""
    return timeline(series, "Bytes waiting", format_size)


@_style()
def timeline(
    series: Mapping[str, tuple[NDArray[Any], NDArray[Any]]], name: str, text: Callable[[float], str] = "{:g}".format
) -> Figure:
    """A quantity over time: label to (times in ps, values), ascending; a value holds until the next.

    ``name`` is that of the quantity, and ``text`` writes its values.
    """
    figure, ax = _figure()
    handles, end, top = [], 0.0, 0.0
    for i, (label, (time, value)) in enumerate(series.items()):
        x, y = _thinned(time, value)
        # Solid and thin: dashes cannot be told from a queue that empties and fills.
        handles += ax.step(x, y, where="post", color=_look(i)["color"], linewidth=0.7, label=clean_label(label))
        if len(x):
            end, top = max(end, float(x[-1])), max(top, float(y.max()))
    # Ticks at round numbers of the unit shown, not of picoseconds.
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: text(v)))
    _time_axis(ax, 0.0, end)
    ax.set_ylim(0, top * 1.05 or 1.0)
    ax.set_ylabel(name)
    _legend(figure, handles, [clean_label(label) for label in series])
    return figure


@dataclass(frozen=True)
class FlowTimeline:
    """Rate and window of one flow over time: times in ps, ascending, and values; the window may have none."""

    rate_bps: tuple[NDArray[Any], NDArray[Any]]
    cwnd_bytes: tuple[NDArray[Any], NDArray[Any]]


@_style()
def flow_timelines(flows: Mapping[str, FlowTimeline]) -> Figure:
    """A panel per flow over one time axis: its sending rate, and on the right axis, dashed, its window.

    A value holds until the next. At most 1,000 points per curve are drawn, the extremes among them.
    """
    figure = Figure(figsize=(COLUMN_INCHES, 0.55 + 1.0 * max(len(flows), 1)))
    FigureCanvasAgg(figure)
    panels = figure.subplots(max(len(flows), 1), 1, sharex=True, squeeze=False)[:, 0]
    times = [t for flow in flows.values() for t, _ in (flow.rate_bps, flow.cwnd_bytes) if len(t)]
    start, end = (min(float(t[0]) for t in times), max(float(t[-1]) for t in times)) if times else (0.0, 1.0)
    handles: dict[str, Any] = {}
    for ax, (label, flow) in zip(panels, flows.items(), strict=False):
        # A rate is often the window over the base RTT: with equal scales the curves would hide each other.
        axes: list[tuple[Axes, Any, int, str, Callable[[float], str], float]] = []
        axes.append((ax, flow.rate_bps, 0, "rate", format_rate, 1.08))
        if len(flow.cwnd_bytes[0]):
            axes.append((ax.twinx(), flow.cwnd_bytes, 1, "window (bytes)", format_size, 1.6))
        for side, (time, value), look, name, text, room in axes:
            x, y = _thinned(time, value)
            (handles[name],) = side.step(x, y, where="post", **_look(look) | {"linewidth": 0.9})
            side.set_ylim(0, float(y.max()) * room if len(y) and y.max() > 0 else 1.0)
            side.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
            side.yaxis.set_major_formatter(FuncFormatter(lambda v, _, text=text: text(v)))
            side.tick_params(axis="y", labelcolor=PALETTE[look])
            if look:
                side.grid(visible=False)
                side.spines["right"].set_visible(True)
        ax.set_title(clean_label(label, 60), loc="left", fontsize=6.5, pad=2)
    _time_axis(panels[-1], start, end)
    _legend(figure, list(handles.values()), list(handles))
    return figure


def _tier_bars(uses: Mapping[str, Sequence[TierUse]], ylabel: str, *, whole: bool) -> Figure:
    """Bars of the mean per tier, whiskers from the least to the most used link direction."""
    figure, ax = _figure(2.0)
    tiers = sorted({u.tier for rows in uses.values() for u in rows}, key=tier_order)
    width, handles, top = 0.8 / max(len(uses), 1), [], 0.0
    for i, (label, rows) in enumerate(uses.items()):
        x = np.array([tiers.index(u.tier) for u in rows]) + (i - (len(uses) - 1) / 2) * width
        mean, least, most = (np.array([getattr(u, f) for u in rows]) * 100 for f in ("mean", "least", "most"))
        color = PALETTE[i % len(PALETTE)]
        # Pale enough for the whiskers, on a ground that hides the grid.
        ax.bar(x, mean, width * 0.86, color=_PAPER, linewidth=0)
        handles.append(ax.bar(x, mean, width * 0.86, color=color, alpha=0.65, linewidth=0, label=clean_label(label)))
        # A weighted mean can lie a rounding error outside the range.
        reach = np.maximum(np.stack([mean - least, most - mean]), 0.0)
        ax.errorbar(x, mean, yerr=reach, fmt="none", ecolor=_INK, elinewidth=0.6, capsize=min(2.0, 12 * width))
        top = max(top, float(most.max())) if len(rows) else top
    # In two lines, or six tiers run into each other.
    ax.set_xticks(range(len(tiers)), [clean_label(t, 16).replace("->", "\n→ ") for t in tiers])
    ax.tick_params(axis="x", length=0)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0, 100 if whole and top > 50 else top * 1.1 or 1.0)
    ax.set_ylabel(ylabel)
    _legend(figure, handles, [clean_label(label) for label in uses])
    return figure


@_style()
def utilisation_by_tier(uses: Mapping[str, Sequence[TierUse]]) -> Figure:
    """Share of time the links of each tier were transmitting: mean, with whiskers to the least and most used."""
    return _tier_bars(uses, "Link utilisation (%)", whole=True)


@_style()
def pause_time(uses: Mapping[str, Sequence[TierUse]]) -> Figure:
    """Share of time the ports of each tier were paused: mean, with whiskers to the least and most paused."""
    return _tier_bars(uses, "Time paused (%)", whole=False)


def _settle(figure: Figure) -> None:
    """Lays the figure out once, instead of at every save."""
    if figure.get_layout_engine() is not None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
            figure.draw_without_rendering()
        figure.set_layout_engine("none")


@_style()
def save(figure: Figure, folder: Path, name: str, *, svg: bool = False) -> None:
    """Writes ``name.png`` (300 dpi), ``name.pdf`` and, if wanted, ``name.svg`` into ``folder``.

    They bear no date: same data, same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _settle(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # a run named in another script
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
        figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
        if svg:
            with mpl.rc_context({"svg.hashsalt": name}):
                figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


@_style()
def inline_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an ``<svg>`` element for a page: no background, colours from the page's style sheet.

    ``name`` keeps its ids apart from those of other figures, ``description`` is read to those who cannot see it.
    The markup is rebuilt element by element, so labels stay text whatever they contain.
    """
    _settle(figure)
    written = io.StringIO()
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": name}):
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    root = ET.fromstring(written.getvalue())  # our own output of a moment ago
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            element.attrib[key.rpartition("}")[2]] = _page_attribute(key.rpartition("}")[2], value, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title"}
    title = ET.Element("title", {"id": f"{name}-title"})
    title.text = description
    root.insert(0, title)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _page_attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return value.replace("#", f"#{name}-", 1)
    if key in ("style", "clip-path", "fill", "stroke"):
        value = value.replace("url(#", f"url(#{name}-")
        value = re.sub(r"font-family: [^;]*;?", "", value)  # the page's own
        value = re.sub(r"(font: [^;]*?[0-9.]+px) [^;]*", r"\1 var(--sans)", value)
        return re.sub(r"#[0-9a-f]{6}\b", lambda m: _THEME.get(m[0], m[0]), value)
    return value


@dataclass(frozen=True)
class Sized:
    """What a sweep over buffers found for one curve, ascending by buffer; shares 0 to 1."""

    buffer_bytes: Sequence[int]
    p99: Sequence[float]
    drops: Sequence[float]
    paused: Sequence[float]
    within: Sequence[bool]
    """Whether the buffer keeps all limits."""
    smallest: int | None
    """The smallest buffer that will do."""


@_style()
def sizing(found: Mapping[str, Sized]) -> Figure:
    """p99 slowdown, drops and pauses over the buffer, a panel each; those without any drop or pause are left out.

    Filled marks keep the limits, hollow ones do not; a vertical line stands at the smallest buffer that will do.
    """
    panels: list[tuple[str, str, float]] = [("p99", "p99 slowdown", 1.0)]
    panels += [("drops", "Dropped, %", 100.0)] if any(max(s.drops) > 0 for s in found.values()) else []
    panels += [("paused", "Worst port paused, %", 100.0)] if any(max(s.paused) > 0 for s in found.values()) else []
    figure = Figure(figsize=(COLUMN_INCHES, 0.7 + 1.35 * len(panels)))
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    handles = []
    for ax, (what, name, factor) in zip(axes, panels, strict=True):
        for i, s in enumerate(found.values()):
            y, look = [v * factor for v in getattr(s, what)], _look(i)
            (line,) = ax.plot(s.buffer_bytes, y, linewidth=0.9, **look)
            handles += [line] if what == "p99" else []
            for inside in (True, False):
                chosen = [k for k, w in enumerate(s.within) if w == inside]
                face = look["color"] if inside else "white"
                at = [s.buffer_bytes[k] for k in chosen], [y[k] for k in chosen]
                ax.plot(*at, marker="o", markersize=3, linestyle="none", color=look["color"], markerfacecolor=face)
            if s.smallest is not None:
                ax.axvline(s.smallest, linewidth=0.7, alpha=0.6, **look)
        ax.set_ylabel(name)
        ax.set_ylim(bottom=0)
    sizes = np.unique(np.concatenate([np.asarray(s.buffer_bytes, dtype=float) for s in found.values()]))
    last = axes[-1]
    last.set_xscale("log")
    _plain_log(last.xaxis, float(sizes.min()), float(sizes.max()), format_size)
    if len(sizes) <= 9:
        last.set_xticks(sizes)
    last.set_xlabel("Buffer")
    _legend(figure, handles, [clean_label(label) for label in found])
    return figure
