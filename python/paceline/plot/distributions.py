"""Distributions: completion times, slowdowns, bytes waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paceline.analysis import QueueHistogram, Sample, ecdf
from paceline.plot.style import legend, look, one_panel, plain_log, style
from paceline.tables import clean_label, format_size, format_time

_LONGEST = 56
"""Characters of the name of a run and its port, which fill a line of a legend."""


@style()
def fct_cdf(
    samples: Mapping[str, Sample], what: str = "Flow completion time", share: str = "Share of all flows"
) -> Figure:
    """CDF of the FCT, or of other times (values in ps). What did not finish counts in the total: curves end below 1."""
    return _cdf(samples, what, share, format_time)


@style()
def slowdown_cdf(samples: Mapping[str, Sample]) -> Figure:
    """CDF of the slowdown of all flows, for flows of about one size. Curves end below 1 as in :func:`fct_cdf`."""
    return _cdf(samples, "Slowdown", "Share of all flows", "{:,g}".format)


def _cdf(samples: Mapping[str, Sample], what: str, share: str, text: Callable[[float], str]) -> Figure:
    figure, ax = one_panel()
    handles, lowest, highest = [], math.inf, 0.0
    for i, (label, sample) in enumerate(samples.items()):
        x, y = ecdf(sample, points=400)
        if len(x):
            lowest, highest = min(lowest, float(x[0])), max(highest, float(x[-1]))
            x, y = np.concatenate([x[:1], x]), np.concatenate([[0.0], y])
        handles += ax.step(x, y, where="post", **look(i), label=clean_label(label))
    if highest > 0:
        ax.set_xscale("log")
        # Equal times would leave no axis to speak of.
        low, high = lowest / 1.1, max(highest * 1.1, lowest * 1.3)
        ax.set_xlim(low, high)
        plain_log(ax.xaxis, low, high, text)
    ax.set_ylim(0, 1.005)
    ax.set_xlabel(what)
    ax.set_ylabel(share)
    legend(figure, handles, [clean_label(label) for label in samples])
    return figure


@style()
def queue_cdf(histograms: Mapping[str, QueueHistogram]) -> Figure:
    """Share of time in which at most so many bytes wait; the left edge of the axis is an empty queue, and says so."""
    figure, ax = one_panel()
    handles = []
    longest = max([float(h.high_bytes.max()) for h in histograms.values() if len(h.high_bytes)], default=1.0)
    left = min(100.0, max(longest / 1e4, 1.0))
    empty = 1.0
    for i, (label, h) in enumerate(histograms.items()):
        total = float(h.time_ps.sum())
        share = np.cumsum(h.time_ps) / total if total else np.zeros(0)
        x = np.maximum(h.high_bytes[: len(share)] - 1.0, left)
        if len(share) and h.high_bytes[0] > 1:  # never empty
            x, share = np.concatenate([[left], x]), np.concatenate([[0.0], share])
        empty = min(empty, float(share[0])) if len(share) else empty
        handles += ax.step(x, share, where="post", **look(i), label=clean_label(label, _LONGEST))
    ax.set_xscale("log")
    ax.set_xlim(left, max(longest * 1.1, left * 2))
    plain_log(ax.xaxis, left, longest, format_size)
    _name_left_edge(ax, left, longest)
    # Queues that are hardly ever there would all be one line at the top.
    bottom = 1 - 1.3 * (1 - empty) if 0.5 < empty < 1 else 0.0
    ax.set_ylim(bottom, 1 + 0.005 * (1 - bottom))
    ax.set_xlabel("Bytes waiting at the port")
    ax.set_ylabel("Share of time")
    legend(figure, handles, [clean_label(label, _LONGEST) for label in histograms])
    return figure


def _name_left_edge(ax: Axes, left: float, longest: float) -> None:
    """A tick ``empty`` at the left edge, in place of the numbers that are there or would touch it."""
    span = math.log10(max(longest * 1.1, left * 2) / left)
    ticks = [float(at) for at in ax.xaxis.get_major_locator().tick_values(left, longest) if left <= at <= longest]
    ticks = [at for at in ticks if math.log10(at / left) > 0.1 * span]
    ax.set_xticks([left, *ticks], ["empty", *(format_size(at) for at in ticks)])
