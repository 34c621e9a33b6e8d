"""Figures of a run or a comparison, in a style ready for a paper column, and as inline SVG for the report.

Every function takes plain data from :mod:`paceline.analysis` keyed by label, in drawing order, and returns a
``matplotlib.figure.Figure`` that belongs to no window. Labels are shown as they are, never read as markup or maths.

With ``a`` and ``b`` the results of two runs (a notebook shows a figure that a cell ends with)::

    from paceline import analysis, plot

    plot.fct_cdf({"HPCC": a.fct(), "DCTCP": b.fct()}).savefig("fct.pdf")
    slowdown = {"HPCC": a.slowdown(), "DCTCP": b.slowdown()}
    bins = analysis.bins_from_sizes(slowdown["HPCC"].size_bytes)
    curves = {label: analysis.percentile_curves(s, bins, [99])[0] for label, s in slowdown.items()}
    plot.slowdown_vs_size(curves).savefig("slowdown.pdf")
    queues = a.queues.where(a.queues["tier"] == "tor->host")
    columns = (queues[name] for name in ("bin_low_bytes", "bin_high_bytes", "time_ps"))
    plot.queue_cdf({"HPCC": analysis.QueueHistogram.merge(*columns)}).savefig("queue.pdf")
"""

from paceline.plot.distributions import fct_cdf, fct_tail, queue_cdf, size_cdf, slowdown_cdf
from paceline.plot.looks import Look, as_marked, by_place, look, of_schemes, told_apart, unlike
from paceline.plot.multiples import has_arrows
from paceline.plot.output import as_files, inline_svg, save
from paceline.plot.packets import PacketSequence, packet_sequences, sequence_span
from paceline.plot.sizing import Sized, sizing
from paceline.plot.slowdown import MIN_FLOWS, MOST_BANDS, SIZE_AXIS, Panel, slowdown_panels, slowdown_vs_size
from paceline.plot.style import COLUMN_INCHES, LINE_STYLES, PALETTE, STYLE
from paceline.plot.tiers import pause_time, utilisation_by_tier
from paceline.plot.timelines import (
    MOST_QUEUES,
    FlowTimeline,
    dense,
    flow_span,
    flow_timelines,
    queue_timeline,
    quiet_from,
    timeline,
)

__all__ = [
    "COLUMN_INCHES",
    "LINE_STYLES",
    "MIN_FLOWS",
    "MOST_BANDS",
    "MOST_QUEUES",
    "PALETTE",
    "SIZE_AXIS",
    "STYLE",
    "FlowTimeline",
    "Look",
    "PacketSequence",
    "Panel",
    "Sized",
    "as_files",
    "as_marked",
    "by_place",
    "dense",
    "fct_cdf",
    "fct_tail",
    "flow_span",
    "flow_timelines",
    "has_arrows",
    "inline_svg",
    "look",
    "of_schemes",
    "packet_sequences",
    "pause_time",
    "queue_cdf",
    "queue_timeline",
    "quiet_from",
    "save",
    "sequence_span",
    "size_cdf",
    "sizing",
    "slowdown_cdf",
    "slowdown_panels",
    "slowdown_vs_size",
    "timeline",
    "told_apart",
    "unlike",
    "utilisation_by_tier",
]
