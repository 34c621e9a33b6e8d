"""The section on flows whose rate and window were recorded."""

from __future__ import annotations

import numpy as np

from paceline import plot
from paceline.report.page import Page, Section
from paceline.results import Results
from paceline.tables import format_bytes, format_time

MOST_FLOWS = 8
"""Followed flows that are drawn."""


def followed(page: Page) -> Section:
    """Rate and window over time."""
    text = (
        "Sending rate and window of the flows asked for with --follow-flow or records.series.flows, from the start of a flow "
        "to its end."
    )
    section = Section("followed", "Followed flows")
    for i, (run, label) in enumerate(page.pairs):
        flows = flow_series(run)
        if not flows:
            continue
        name = "followed_flows" if page.alone else f"followed_flows_{i + 1}"
        shown = dict(list(flows.items())[:MOST_FLOWS])
        first = f", the first {len(shown)} of {len(flows)}" if len(shown) < len(flows) else ""
        windows = any(len(flow.cwnd_bytes[0]) for flow in shown.values())
        caption = f"{'Rate (left) and window (right, dashed)' if windows else 'Rate'} over time{first}"
        every = run.summary["series_interval_ps"]
        caption += f", a sample every {format_time(every)}" if every else ""
        caption += "." if page.alone else f", {label}."
        section.figures.append(page.draw(plot.flow_timelines(shown), name, caption))
        section.text = text
    return section


def flow_series(run: Results) -> dict[str, plot.FlowTimeline]:
    """Rate and window over time of the followed flows, by id; without a rate that of the acknowledgements."""
    table = run.series
    ours = np.isin(table["kind"], ("rate_bps", "cwnd_bytes", "acked_bytes"))
    kind, name, time, value = (table[column][ours] for column in ("kind", "id", "time_ps", "value"))
    found = {}
    for flow in sorted({str(n) for n in name}, key=lambda n: (len(n), n)):
        curves = []
        for what in ("rate_bps", "cwnd_bytes", "acked_bytes"):
            mine = (name == flow) & (kind == what)
            order = np.argsort(time[mine], kind="stable")
            curves.append((time[mine][order], value[mine][order]))
        rate, window, (when, acked) = curves
        if not len(rate[0]) and len(when) > 1:
            rate = (when[1:], np.diff(acked) * 8e12 / np.diff(when))
        found[_label(run, flow)] = plot.FlowTimeline(rate, window)
    return found


def _label(run: Results, flow: str) -> str:
    """A flow by its id, with its ends, size and scheme where they are on record."""
    if not flow.isdecimal() or int(flow) >= run.flows.rows:
        return f"flow {flow}"
    src, dst, size, scheme = (run.flows.codes(c)[int(flow)] for c in ("src", "dst", "size_bytes", "scheme"))
    return f"flow {flow}: {src} → {dst}, {format_bytes(float(size))}, {run.flows.names('scheme')[scheme]}"
