"""The section on bytes waiting at ports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from paceline import analysis, plot
from paceline.analysis import QueueHistogram
from paceline.formats import format_bytes, format_share, format_time
from paceline.plot.timelines import Series
from paceline.report.page import Page, PageFigure, Section
from paceline.results import Results
from paceline.results.queue_levels import Waiting, busiest_ports, port_name, waiting
from paceline.tables import QS, Cell, Table
from paceline.words import tier_text

BUSIEST_PORTS = 4
ALIKE = 10
"""Times by which the fullest queues of runs, or of ports, may differ that are drawn with the same axes."""

_APART = (
    f"the same axis of time, and each its own of bytes, as the fullest queues of the {{}} differ over {ALIKE} times"
)
_TEXT = (
    "Bytes waiting at an egress port, the packet on the wire not counted, weighted by time over the whole run. Ports "
    "are named by switch and number. Busiest means the largest mean. Percentiles while busy leave out the time in "
    "which nothing waited. Values are upper edges of histogram bins, which may lie above what samples saw."
)
_CLASSES = (
    " Where several traffic classes waited, each in a queue of its own, the mean is that of all of them together, and "
    "all else is of the one class with the largest mean, which is named: how long two queues are at the same time is "
    "not on record. What waits at the port is at least that."
)


def queues(page: Page) -> Section:
    """Distribution of the bytes waiting, by tier and at the busiest ports, and these over time."""
    section = Section("queues", "Queues", _TEXT)
    recorded = [_series(run, BUSIEST_PORTS) for run in page.runs]
    ranked = [busiest_ports(run, BUSIEST_PORTS) if run.queues.rows else [] for run in page.runs]
    # A port has one look on the page; in a comparison a run has, here and elsewhere.
    cdf = sorted((port for port, _ in ranked[0]), key=_by_number) if page.alone else []
    places = plot.told_apart([[*recorded[0], *cdf]] if page.alone else recorded)
    rows, curves, looks = _distributions(page, ranked, places)
    if not any(len(h.busy().time_ps) and h.busy().time_ps.any() for h in curves.values()):
        section.text = "Nothing ever waited at a switch port." if rows else ""
        return section
    which = "" if page.alone else ", at the busiest port of each run where ports are recorded"
    several = any(row[2].text for row in rows)
    which += ", of the class that is named: other classes waited beside it" if several else ""
    caption = f"Share of time in which at most so many bytes waited{which}. The left edge is an empty queue."
    section.text += _CLASSES if several else ""
    section.figures.append(page.draw(plot.queue_cdf(curves, looks=looks), "queue_cdf", caption))
    section.figures += _over_time(page, recorded, places)
    split = [f"{q}{when}" for when in ("", " busy") for q in ("p50", "p95", "p99")]
    head: tuple[str, ...] = ("Ports", "Mean", "All else of", "Busy", *split, "Max")
    if not several:
        head, rows = (*head[:2], *head[3:]), [(*row[:2], *row[3:]) for row in rows]
    section.tables.append(Table("Bytes waiting, by tier and at the busiest ports", head, rows))
    return section


def _distributions(
    page: Page, ranked: Sequence[Sequence[tuple[str, NDArray[np.bool_]]]], places: Mapping[str, int]
) -> tuple[list[tuple[Cell, ...]], dict[str, QueueHistogram], dict[str, plot.Look]]:
    """Rows of the table, and curves of the figure with their looks: by tier, and at the busiest ports of each run."""
    curves: dict[str, QueueHistogram] = {}
    rows: list[tuple[Cell, ...]] = []
    looks: dict[str, plot.Look] = {}
    for i, (run, label) in enumerate(page.pairs):
        if run.queues.rows == 0:
            continue
        switches, tiers = ~np.char.startswith(run.queues["tier"], "host->"), run.queues["tier"]
        busiest = ranked[i] if page.alone else ranked[i][:1]
        for tier in sorted({str(t) for t in tiers}, key=analysis.tier_order):
            name = page.named(label, tier_text(tier))
            found = waiting(run, tiers == tier)
            rows.append(_row(name, found))
            if not busiest:  # in large networks ports are not told apart
                curves[_with_class(name, found)] = found.busiest
        for port, mask in busiest:
            name, found = page.named(label, port), waiting(run, mask)
            curve = _with_class(name, found)
            curves[curve] = found.busiest
            rows.append(_row(name, found))
            looks[curve] = plot.look(places[port] if page.alone else i)
        if switches.any() and page.alone:
            found = waiting(run, switches)
            curves[_with_class("all switch ports", found)] = found.busiest
    if page.alone:
        numbered = sorted(looks, key=_by_number)
        curves = {name: curves[name] for name in [*numbered, *(name for name in curves if name not in looks)]}
    for name in curves:
        if name not in looks:
            looks[name] = plot.unlike(looks.values(), len(places) if page.alone else len(page.runs))
    return rows, curves, looks


def _over_time(page: Page, recorded: Sequence[Mapping[str, Series]], places: Mapping[str, int]) -> list[PageFigure]:
    """Figures of the queues that were recorded over time, one for each run that has any."""
    drawn = []
    # The same axes for all runs of the page: they are looked at side by side. Not where that would flatten one.
    tops = [max((float(v.max()) for _, v in series.values() if len(v)), default=0.0) for series in recorded]
    alike = _alike(tops)
    axes = "the same axes" if alike else _APART.format("runs")
    # A port of its own in each run is told by the run, as in all other figures of a comparison.
    one_each = not page.alone and all(len(series) <= 1 for series in recorded)
    shared = not one_each and len({port for series in recorded for port in series}) < sum(map(len, recorded))
    for i, (label, series) in enumerate(zip(page.labels, recorded, strict=True)):
        if series:
            name = "queue_timeline" if page.alone else f"queue_timeline_{i + 1}"
            # A single curve has no legend.
            where = "the busiest ports" if len(series) > 1 else next(iter(series))
            caption = f"{'Bytes' if page.alone else f'{label}: bytes'} waiting over time at {where}"
            every = page.runs[i].summary["series_interval_ps"]
            caption += f", a sample every {format_time(every)}" if every else ""
            caption += "." if page.alone else f". All runs have {axes}."
            caption += " A port has the same colour in all." if shared and not page.alone else ""
            caption += " A run has the same colour in all figures." if one_each else ""
            level = not page.alone or _alike([float(v.max()) for _, v in series.values() if len(v)])
            if page.alone and len(series) > plot.MOST_QUEUES:
                caption += " All panels have the same axes." if level else f" Panels have {_APART.format('ports')}."
            own = {port: plot.look(i if one_each else places[port]) for port in series}
            ends = {"end": page.quiet_ps, "top": max(tops) if alike else None}
            figure = plot.queue_timeline(series, looks=own, alike=level, **ends)
            drawn.append(page.draw(figure, name, caption))
    return drawn


def _alike(tops: Sequence[float]) -> bool:
    """Whether one axis of bytes shows queues of all these lengths."""
    return max(tops, default=0.0) <= ALIKE * min((top for top in tops if top), default=0.0)


def _with_class(name: str, found: Waiting) -> str:
    return f"{name}, {found.which}" if found.which else name


def _by_number(port: str) -> tuple[list[int], str]:
    """Sorts ports by switch and number."""
    return [int(part) for part in re.findall("[0-9]+", port)], port


def _row(name: str, found: Waiting) -> tuple[Cell, ...]:
    h = found.busiest
    total = float(h.time_ps.sum())
    values = [analysis.queue_percentile(h, q, busy=busy)[1] for busy in (False, True) for q in QS]
    most = analysis.queue_percentile(h, 100)[1]
    share = format_share(h.busy().time_ps.sum() / total) if total else "–"
    first = (Cell(name), Cell(format_bytes(found.mean_bytes)), Cell(found.which), Cell(share))
    return (*first, *(Cell(format_bytes(v)) for v in (*values, most)))


def _recorded(run: Results) -> dict[str, Series]:
    """Queue over time of the recorded ports, by their names."""
    q = run.queues
    rows = {f"{n}:{p}": i for i, (n, p) in enumerate(zip(q["node"], q["port"], strict=True))} if q.rows else {}
    return {
        port_name(run, rows[name]) if name in rows else f"port {name}": series
        for name, series in run.samples("queue_bytes").items()
    }


def _series(run: Results, count: int) -> dict[str, Series]:
    """Of the recorded ports those with the largest mean, by number."""
    longest = sorted(_recorded(run).items(), key=lambda entry: -float(entry[1][1].mean()))[:count]
    return dict(sorted(longest, key=lambda entry: _by_number(entry[0])))
