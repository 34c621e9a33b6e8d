"""The section on flows whose rate and window were recorded."""

from __future__ import annotations

import numpy as np

from paceline import plot
from paceline.formats import format_bytes, format_time
from paceline.report.page import Page, Section
from paceline.results import Results

MOST_FLOWS = 8
"""Followed flows that are drawn."""


def followed(page: Page) -> Section:
    """Rate and window over time."""
    text = (
        "Rate and window of the flows that the run was to follow, by their ids or by records.series.flows, from the "
        "start of a flow to its end. The rate is the one that congestion control "
        "permits, which may be above what the link takes; where a transport has none, as TCP, it is the rate of the "
        "acknowledgements, which leaps above the link's when a repaired loss acknowledges much at once; with Homa, NDP "
        "and ExpressPass that of the arrivals."
    )
    section = Section("followed", "Followed flows")
    series = [flow_series(run) for run in page.runs]
    found = [{name: flow for name, flow in of.items() if _is_curve(flow)} for of in series]
    brief = sum(map(len, series)) - sum(map(len, found))
    drawn = [flow for flows in found for flow in list(flows.values())[:MOST_FLOWS]]
    axes = {} if page.alone else {"span": plot.flow_span(drawn), "tops": _tops(drawn)}
    for i, (run, label, flows) in enumerate(zip(page.runs, page.labels, found, strict=True)):
        if not flows:
            continue
        name = "followed_flows" if page.alone else f"followed_flows_{i + 1}"
        shown = dict(list(flows.items())[:MOST_FLOWS])
        first = f", the first {len(shown)} of {len(flows)}" if len(shown) < len(flows) else ""
        windows = any(len(flow.cwnd_bytes[0]) for flow in shown.values())
        rate = " or ".join(dict.fromkeys(flow.what for flow in shown.values()))
        caption = f"{rate}{' (left) and window (right, dashed)' if windows else ''} over time{first}"
        every = run.summary["series_interval_ps"]
        caption += f", a sample every {format_time(every)}" if every else ""
        caption += "." if page.alone else f", {label}. All runs have the same axes."
        section.figures.append(page.draw(plot.flow_timelines(shown, **axes), name, caption))
        section.text = text
    if brief:
        those = "of one flow followed" if brief == 1 else f"of {brief} flows followed"
        section.text = f"{section.text} No curve {those}, which had no two samples.".strip()
    return section


def _is_curve(flow: plot.FlowTimeline) -> bool:
    """Whether there is more than one sample: of a flow that ends before there are, axes would be empty."""
    return max(len(flow.rate_bps[0]), len(flow.cwnd_bytes[0])) > 1


def flow_series(run: Results) -> dict[str, plot.FlowTimeline]:
    """Rate and window over time of the followed flows, by id; without a rate that of acknowledgements or arrivals."""
    sampled = [run.samples(kind) for kind in ("rate_bps", "cwnd_bytes", "acked_bytes", "received_bytes")]
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    found = {}
    for flow in sorted(set().union(*sampled), key=lambda n: (len(n), n)):
        rate, window, *progress = (by_flow.get(flow, nothing) for by_flow in sampled)
        what = "Permitted rate"
        for name_of_rate, (when, done) in zip(("Acknowledged", "Received"), progress, strict=True):
            if not len(rate[0]) and len(when) > 1:
                # From one sample to the next, drawn where that time begins; once more at the end of the last.
                between = np.diff(done) * 8e12 / np.diff(when)
                rate, what = (when, np.append(between, between[-1])), name_of_rate
        found[flow_label(run, flow)] = plot.FlowTimeline(rate, window, what)
    return found


def _tops(flows: list[plot.FlowTimeline]) -> tuple[float, float]:
    """The highest rate and the largest window."""
    return (
        max((float(flow.rate_bps[1].max()) for flow in flows if len(flow.rate_bps[1])), default=0.0),
        max((float(flow.cwnd_bytes[1].max()) for flow in flows if len(flow.cwnd_bytes[1])), default=0.0),
    )


def flow_label(run: Results, flow: str) -> str:
    """A flow by its id, with its ends, size and scheme where they are on record."""
    ids = run.flows["flow_id"]
    # Not all ids have a row: those of connections have none.
    row = int(np.searchsorted(ids, int(flow))) if flow.isdecimal() else len(ids)
    if row == len(ids) or ids[row] != int(flow):
        return f"flow {flow}"
    src, dst, size, scheme = (run.flows.codes(c)[row] for c in ("src", "dst", "size_bytes", "scheme"))
    names = run.graph_names
    src, dst = names.get(int(src), src), names.get(int(dst), dst)
    return f"flow {flow}: {src} → {dst}, {format_bytes(float(size))}, {run.flows.names('scheme')[scheme]}"
