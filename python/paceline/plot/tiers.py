"""Use of links and pauses, by tier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paceline.analysis import TierUse, tier_order
from paceline.formats import clean_label, clean_labels, same_decimals
from paceline.plot.looks import look
from paceline.plot.style import INK, PAPER, legend, one_panel, style, together

_HATCHES = ("", "/////", ".....", "\\\\\\\\\\", "xxxxx")
"""What tells bars of several runs apart in print without colours; not as many as there are colours."""


def _tier_bars(uses: Mapping[str, Sequence[TierUse]], ylabel: str, *, whole: bool) -> Figure:
    """Bars of the mean per tier, whiskers from the least to the most used link direction.

    Each label keeps its place, colour and name in the legend even where it has no bars.
    """
    figure, ax = one_panel(2.0)
    tiers = sorted({u.tier for rows in uses.values() for u in rows}, key=tier_order)
    width, handles, top = 0.8 / max(len(uses), 1), [], 0.0
    for i, (label, rows) in enumerate(uses.items()):
        x = np.array([tiers.index(u.tier) for u in rows]) + (i - (len(uses) - 1) / 2) * width
        mean, least, most = (np.array([getattr(u, f) for u in rows]) * 100 for f in ("mean", "least", "most"))
        color = look(i).color
        hatch = _HATCHES[i % len(_HATCHES)]
        # Pale enough for the whiskers, on a ground that hides the grid.
        ax.bar(x, mean, width * 0.86, color=PAPER, linewidth=0)
        own: dict[str, Any] = {"facecolor": color, "edgecolor": PAPER, "alpha": 0.65, "linewidth": 0, "hatch": hatch}
        ax.bar(x, mean, width * 0.86, label=clean_label(label), **own)
        handles.append(Patch(**own))
        # A weighted mean can lie a rounding error outside the range.
        reach = np.maximum(np.stack([mean - least, most - mean]), 0.0)
        ax.errorbar(x, mean, yerr=reach, fmt="none", ecolor=INK, elinewidth=0.6, capsize=min(2.0, 12 * width))
        top = max(top, float(most.max())) if len(rows) else top
    # In two lines, or six tiers run into each other.
    ax.set_xticks(range(len(tiers)), [clean_label(t, 16).replace("->", "\n→ ") for t in tiers])
    ax.tick_params(axis="x", length=0)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0, 100 if whole and top > 50 else top * 1.1 or 1.0)
    ax.yaxis.set_major_formatter(together(same_decimals))
    ax.set_ylabel(ylabel)
    legend(figure, handles, clean_labels(uses))
    return figure


@style()
def utilisation_by_tier(uses: Mapping[str, Sequence[TierUse]]) -> Figure:
    """Share of time the links of each tier were transmitting: mean, with whiskers to the least and most used."""
    return _tier_bars(uses, "Link utilisation (%)", whole=True)


@style()
def pause_time(uses: Mapping[str, Sequence[TierUse]]) -> Figure:
    """Share of time the ports of each tier were paused: mean, with whiskers to the least and most paused."""
    return _tier_bars(uses, "Paused (% of time)", whole=False)
