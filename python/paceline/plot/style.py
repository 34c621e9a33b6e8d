"""How figures look: colours, line styles, sizes, legends, axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, Formatter, Locator, LogLocator, MaxNLocator, NullFormatter

from paceline.formats import same_decimals
from paceline.plot import shades
from paceline.words import signed

COLUMN_INCHES = 3.3
"""Width of a figure: one column of a two-column paper."""

TWO_COLUMNS = 2.13
"""Columns of a figure that goes over both, with the gap between them."""

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#010101", "#b97f00", "#3d9bd1")
"""Okabe and Ito's colours, told apart with every common colour blindness, the last two dark enough for thin lines."""

EXTRA = ("#6a3d9a", "#7a4419", "#5f7a00", "#00375f", "#7d2457", "#004d39")
"""Purple, brown, olive and navy for schemes beyond those (:mod:`paceline.plot.looks`); plum and forest for variants.

Of curves that are no schemes those from the eighth on have them."""

LINE_STYLES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (5, 1.4, 1.2, 1.4)),
    (0, (5, 1.2, 1, 1.2, 1, 1.2)),
)
"""Solid, dashed, dotted, dash-dot, dash-dot-dot: the order of the published slowdown figures."""

MARKERS = "osD^vPX<>hpd*"
"""Marks of curves that are told apart by colour and mark, as many as there are colours."""

WIDE = 10.0
"""Ratio of largest to smallest value from which an axis is logarithmic."""

INK, GRID, QUIET, PAPER = "#000000", "#d0d0d0", "#6e6e6e", "#ffffff"
# What the colours of a figure become in the page, whose style sheet has a light and a dark value for each.
THEME = {c: f"var(--c{i})" for i, c in enumerate(PALETTE + EXTRA)} | {
    INK: "currentColor",
    GRID: "var(--grid)",
    QUIET: "var(--quiet)",
    PAPER: "var(--surface)",
    **shades.NAMES,
}

STYLE: dict[str, Any] = {
    "figure.figsize": (COLUMN_INCHES, 2.2),
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.5,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.4,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.minor.size": 1.4,
    "ytick.minor.size": 1.4,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "lines.markeredgewidth": 0.8,
    "patch.linewidth": 0.5,
    "hatch.linewidth": 0.6,
    "pdf.fonttype": 42,  # publishers refuse Type 3 fonts
    "svg.fonttype": "none",
    "savefig.dpi": 300,
    "text.parse_math": False,  # a run may be called "$x$"
    "axes.unicode_minus": True,
    "path.simplify": True,
}


def is_wide(values: Collection[float]) -> bool:
    """Whether an axis of these values is logarithmic."""
    return bool(values) and max(values) > WIDE * min(values) > 0


@contextmanager
def style() -> Iterator[None]:
    """Runs a figure function under :data:`STYLE`, whatever the user's own settings."""
    with mpl.style.context(["default", STYLE]):
        yield


def blank(height: float, columns: float = 1.0) -> Figure:
    """A figure of so many inches' height, ``columns`` columns of a paper wide."""
    figure = Figure(figsize=(columns * COLUMN_INCHES, height))
    FigureCanvasAgg(figure)
    return figure


def rows_apart(figure: Figure) -> Figure:
    """Room between rows of panels: titles must not touch the numbers above them."""
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(h_pad=0.045)
    return figure


def one_panel(height: float = 2.2) -> tuple[Figure, Axes]:
    """A figure a column wide with one panel."""
    figure = blank(height)
    return figure, figure.add_subplot()


def legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str], room: int = 72) -> None:
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


PUBLISHED: dict[str, Any] = {"linestyle": "none", "markerfacecolor": PAPER, "markeredgecolor": QUIET, "color": QUIET}
"""Points that were published, to be held against what was measured: hollow and grey, with the mark of their curve."""


class _Together(Formatter):
    """Writes all numbers that an axis shows at once, so that they have one unit and as many decimals."""

    def __init__(self, texts: Callable[[Sequence[float]], list[str]]) -> None:
        self._texts = texts

    def __call__(self, x: float, pos: int | None = None) -> str:
        return signed(self._texts([x])[0])

    def format_ticks(self, values: Any) -> list[str]:
        low, high = sorted(self.axis.get_view_interval()) if self.axis else (-math.inf, math.inf)
        room = 1e-9 * (high - low) if math.isfinite(low) else 0.0
        # Locators go beyond the ends of an axis; what is not seen has no say.
        seen = [float(v) for v in values if low - room <= v <= high + room]
        texts = iter(self._texts(seen))
        return [signed(next(texts)) if low - room <= v <= high + room else "" for v in values]


def together(texts: Callable[[Sequence[float]], list[str]]) -> Formatter:
    """Numbers of a linear axis as ``texts`` writes them all, with the signs of print."""
    return _Together(texts)


def _on_log(text: Callable[[float], str]) -> Formatter:
    """Numbers of a log axis as ``text`` writes each; of a short one, plain numbers have as many decimals."""

    def texts(values: Sequence[float]) -> list[str]:
        found = [text(v) for v in values]
        short = all(v > 0 for v in values) and max(values, default=1.0) <= 10 * min(values, default=1.0)
        return same_decimals(values) if short and found == [f"{v:,g}" for v in values] else found

    return _Together(texts)


def plain_log(axis: Any, low: float, high: float, text: Callable[[float], str]) -> None:
    """Ticks of a log axis as plain numbers: the longer the range in decades, the fewer per decade.

    Below most of a decade they are as far apart as on a linear axis. :func:`log_name` says that it is none. Where they
    would be fewer than :data:`_FEW`, the next closer ones that have room.
    """
    decades = math.log10(high / low) if low > 0 else 1.0
    # Numbers with a unit are wide: 800 µs and 1 ms would run together.
    wide = " " in text(low)
    among: list[Locator]
    if decades < _SHORT:
        usual, among = 0, [MaxNLocator(n, steps=[1, 2, 5, 10]) for n in (6, 8, 10, 12)]
    else:
        steps = ((1.05, 2 if wide else 3), (2.2, 2), (3.2, 1), (math.inf, 0))
        usual = next(k for reach, k in steps if decades < reach)
        among = [LogLocator(base=10, subs=subs, numticks=12) for subs in (_SUBS_WIDE if wide else _SUBS)]
    found = [[float(v) for v in one.tick_values(low, high) if low <= v <= high] for one in among[usual:]]
    least = _ROOM_WIDE if wide else _ROOM

    def has_room(ticks: Sequence[float]) -> bool:
        return all(math.log10(b / a) >= least * decades for a, b in pairwise(ticks))

    closer = [ticks for ticks in found[1:] if has_room(ticks) and len(ticks) >= min(_FEW, len(found[0]) + 1)]
    if len(found[0]) < _FEW and closer:
        axis.set_major_locator(FixedLocator(closer[0]))
    elif decades >= _SHORT:
        axis.set_major_locator(among[usual])
    else:
        kept: list[float] = []
        for tick in found[0]:  # towards the right end of a log axis even steps come ever closer
            if not kept or has_room([kept[-1], tick]):
                kept.append(tick)
        axis.set_major_locator(FixedLocator(kept))
    axis.set_major_formatter(_on_log(text))
    log_minor_ticks(axis, low, high)


_SUBS = ((1,), (1, 3), (1, 2, 5), (1, 2, 4, 6, 8), (1, 1.5, 2, 3, 4, 5, 7), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8))
_SUBS_WIDE = (*_SUBS[:3], (1, 2, 4, 7))
"""Ticks in a decade of a log axis, from far apart to close: of plain numbers, and of those with a unit."""
_FEW = 4
"""Ticks with numbers that an axis needs to be read between them."""
_ROOM, _ROOM_WIDE = 0.068, 0.14
"""How far apart numbers are at least, without and with a unit, as a share of the axis."""
_SHORT = 0.75
"""Decades below which the ticks of a log axis are as far apart as on a linear one."""
_PLAIN = 2.0
"""Decades from which the ticks of a log axis, powers of ten mostly, show that it is one."""


def log_name(name: str, low: float, high: float) -> str:
    """The name of a log axis, which says so where its ticks do not show it."""
    return f"{name} (log scale)" if 0 < low < high and math.log10(high / low) < _PLAIN else name


def log_minor_ticks(axis: Any, low: float, high: float) -> None:
    """Ticks without numbers at the whole multiples of powers of ten, so that a log axis looks like one."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1) if 0 < low < high else range(0)
    axis.set_minor_locator(FixedLocator([k * 10.0**p for p in powers for k in range(1, 10)]))
    axis.set_minor_formatter(NullFormatter())
