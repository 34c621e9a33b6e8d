"""What a sweep over buffers found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator

from paceline.formats import clean_labels, same_decimals, size_units
from paceline.plot.looks import of_schemes
from paceline.plot.style import INK, PAPER, blank, is_wide, legend, plain_log, style, together
from paceline.words import headed

_DOTS: dict[str, Any] = {"marker": "o", "markersize": 3, "linestyle": "none"}
_TRIANGLE: dict[str, Any] = {"marker": "^", "markersize": 4}
_UPRIGHT: dict[str, Any] = {"marker": "|", "markersize": 7, "markeredgewidth": 0.7, "linestyle": "none"}
"""In the legend."""
_LARGER = 4.2
"""By how many points the largest marks are larger than the smallest."""


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
    unknown: Sequence[bool] = ()
    """Whether the run stalled, or its p99 is only a lower bound; none without."""


def _unit(sizes: Sequence[int]) -> tuple[str, float]:
    """The unit of the axis: the largest in which no buffer is less than a tenth."""
    units = size_units(sizes)
    least = min(sizes, default=1)
    return next(((name, one) for name, one in units if least >= one / 10), units[-1])


@style()
def sizing(found: Mapping[str, Sized], p99: str = "p99") -> Figure:
    """p99 slowdown, drops and pauses over the buffer, a panel each; those without any drop or pause are left out.

    So is that of slowdowns where none is known; of panels that would all be left out drops remain.

    The axis of slowdowns is logarithmic where it is in a sweep's figure, too. Filled marks keep the limits,
    hollow ones do not, and triangles are runs whose flows did not finish: the p99 is at least that, and drops and
    pauses are those until then; a vertical line stands at the smallest buffer that will do. The legend says so, as the
    figure may be looked at alone. ``p99`` is what the p99s are called.
    """
    known = any(math.isfinite(value) for s in found.values() for value in s.p99)
    panels: list[tuple[str, str, float]] = [("p99", headed(f"{p99} slowdown"), 1.0)] if known else []
    shares = {"drops": "Dropped\n(% of data packets)", "paused": "Worst port paused\n(% of time)"}
    told = {k for k in shares if any(max(getattr(s, k)) > 0 for s in found.values())}
    told |= set() if known or told else {"drops"}
    panels += [(k, name, 100.0) for k, name in shares.items() if k in told]
    looks = of_schemes(found)
    if any(any(s.unknown) for s in found.values()):  # triangles are taken
        looks = {name: replace(one, marker="p") if one.marker == "^" else one for name, one in looks.items()}
    # From curve to curve, or many would have marks larger than the space between them.
    smaller = min(1.4, _LARGER / max(len(found) - 1, 1))
    unit, one = _unit([size for s in found.values() for size in s.buffer_bytes])
    figure = blank(0.7 + 1.35 * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    handles = []
    for ax, (what, name, factor) in zip(axes, panels, strict=True):
        for i, (label, s) in enumerate(found.items()):
            y, own = [v * factor for v in getattr(s, what)], looks[label].curve
            sizes = [size / one for size in s.buffer_bytes]
            ax.plot(sizes, y, linewidth=0.9, **own)
            # Smaller and smaller, so that none hides another where several curves are at 0.
            mark: dict[str, Any] = {"marker": looks[label].marker, "markersize": 4.2 + smaller * (len(found) - 1 - i)}
            handles += [Line2D([], [], linewidth=0.9, **own, **mark)] if ax is axes[0] else []
            unknown = s.unknown or [False] * len(s.within)
            for inside, open_ in ((True, False), (False, False), (True, True), (False, True)):
                chosen = [k for k, w in enumerate(s.within) if w == inside and unknown[k] == open_]
                face = own["color"] if inside else PAPER
                at = [sizes[k] for k in chosen], [y[k] for k in chosen]
                dots = {**_DOTS, **mark, "color": own["color"], "markerfacecolor": face} | (_TRIANGLE if open_ else {})
                if chosen:
                    ax.plot(*at, **dots, clip_on=False, zorder=3 + 0.01 * i)
            if s.smallest is not None:
                ax.axvline(s.smallest / one, linewidth=0.7, alpha=0.6, **own)
        ax.set_ylabel(name)
        values = [v * factor for s in found.values() for v in getattr(s, what) if math.isfinite(v)]
        least, most = min(values, default=0.0), max(values, default=0.0)
        if what == "p99" and is_wide(values):
            low, high = least / 1.15, most * 1.15
            ax.set_yscale("log")
            ax.set_ylim(low, high)
            plain_log(ax.yaxis, low, high, "{:,g}".format)
            continue
        # Of curves that are level, matplotlib would leave no room above.
        ax.set_ylim(0, max(ax.get_ylim()[1], 1.03 * most))
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.yaxis.set_major_formatter(together(same_decimals))
    tried = np.unique(np.concatenate([np.asarray(s.buffer_bytes, dtype=float) for s in found.values()])) / one
    last = axes[-1]
    if len(tried) == 1:
        last.set_xlim(tried[0] / 2, tried[0] * 2)
    last.set_xscale("log")
    plain_log(last.xaxis, float(tried.min()), float(tried.max()), "{:,g}".format)
    if len(tried) <= 9:
        last.set_xticks(tried)
        last.xaxis.set_minor_locator(NullLocator())  # ticks are the sizes tried
    last.set_xlabel(f"Buffer ({unit})")
    names = clean_labels(found)
    outside = [
        math.isnan(value) or open_
        for s in found.values()
        for value, inside, open_ in zip(s.p99, s.within, s.unknown or [False] * len(s.within), strict=True)
        if not inside
    ]
    if outside:
        handles.append(Line2D([], [], **_DOTS, color=INK, markerfacecolor=PAPER))
        names.append(f"a limit is broken{f', or the {p99} slowdown not known' if any(outside) else ''}")
    if any(any(s.unknown) for s in found.values()):
        handles.append(Line2D([], [], **(_DOTS | _TRIANGLE), color=INK, markerfacecolor=PAPER))
        names.append("unfinished: at least")
    if any(s.smallest is not None for s in found.values()):
        handles.append(Line2D([], [], **_UPRIGHT, color=INK))
        names.append("smallest that will do")
    legend(figure, handles, names)
    return figure
