"""The report of a run, or of several runs side by side: one HTML file, and the same tables for the terminal.

The page holds everything it shows: figures are inline SVG, the style sheet is inside, there is no script, and its
content policy forbids loading anything. The figures are also written as PNG, PDF and SVG
beside it, in ``figures/``, and the page leads to these.
"""

from paceline.report.page import PageFigure, Section, render
from paceline.report.write import write_report
from paceline.tables import figures_table, slowdown_table

__all__ = ["PageFigure", "Section", "figures_table", "render", "slowdown_table", "write_report"]
