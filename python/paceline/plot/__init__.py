"""Figures of a run or a comparison, in a style ready for a paper column, and as inline SVG for the report.

Every function takes plain data from :mod:`paceline.analysis` keyed by label, in drawing order, and returns a
``matplotlib.figure.Figure`` that belongs to no window. Labels are shown as they are, never read as markup or maths.
"""

from paceline.plot.distributions import fct_cdf, queue_cdf, slowdown_cdf
from paceline.plot.output import inline_svg, save
from paceline.plot.sizing import Sized, sizing
from paceline.plot.slowdown import MIN_FLOWS, Panel, slowdown_panels, slowdown_vs_size
from paceline.plot.style import COLUMN_INCHES, LINE_STYLES, PALETTE, STYLE
from paceline.plot.tiers import pause_time, utilisation_by_tier
from paceline.plot.timelines import FlowTimeline, flow_timelines, queue_timeline, timeline

__all__ = [
    "COLUMN_INCHES",
    "LINE_STYLES",
    "MIN_FLOWS",
    "PALETTE",
    "STYLE",
    "FlowTimeline",
    "Panel",
    "Sized",
    "fct_cdf",
    "flow_timelines",
    "inline_svg",
    "pause_time",
    "queue_cdf",
    "queue_timeline",
    "save",
    "sizing",
    "slowdown_cdf",
    "slowdown_panels",
    "slowdown_vs_size",
    "timeline",
    "utilisation_by_tier",
]
