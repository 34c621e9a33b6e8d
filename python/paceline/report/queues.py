"""The section on bytes waiting at ports."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from paceline import analysis, plot
from paceline.analysis import QueueHistogram
from paceline.errors import ResultsError
from paceline.plot.timelines import Series
from paceline.report.page import Page, Section
from paceline.results import Results
from paceline.tables import QS, Cell, Table, format_bytes

BUSIEST_PORTS = 4

_TEXT = (
    "Bytes waiting at an egress port, the packet on the wire not counted, weighted by time over the whole run. Ports "
    "are named by switch and number. Busiest means the largest mean. Percentiles while busy leave out the time in "
    "which nothing waited. Values are upper edges of histogram bins."
)


def queues(page: Page) -> Section:
    """Distribution of the bytes waiting, by tier and at the busiest ports, and these over time."""
    section = Section("queues", "Queues", _TEXT)
    curves: dict[str, QueueHistogram] = {}
    rows: list[tuple[Cell, ...]] = []
    looks: dict[str, plot.Look] = {}
    ports = _ports(page)
    for i, (run, label) in enumerate(page.pairs):
        if run.queues.rows == 0:
            continue
        switches, tiers = ~np.char.startswith(run.queues["tier"], "host->"), run.queues["tier"]
        busiest = busiest_ports(run, BUSIEST_PORTS if page.alone else 1)
        for tier in sorted({str(t) for t in tiers}, key=analysis.tier_order):
            name = page.named(label, tier.replace("->", " → "))
            found = histogram(run, tiers == tier)
            rows.append(_row(name, found))
            if not busiest:  # in large networks ports are not told apart
                curves[name] = found
        for port, mask in busiest:
            name = page.named(label, port)
            curves[name] = histogram(run, mask)
            rows.append(_row(name, curves[name]))
            # A port has one look on the page; in a comparison a run has, here and elsewhere.
            looks[name] = plot.look(ports.index(port) if page.alone else i)
        if switches.any() and page.alone:
            curves["all switch ports"] = histogram(run, switches)
    curves = dict(sorted(curves.items(), key=lambda curve: _order(curve[0], ports))) if page.alone else curves
    looks = {name: looks.get(name, plot.look(len(ports) + k)) for k, name in enumerate(curves)}
    if not any(len(h.busy().time_ps) and h.busy().time_ps.any() for h in curves.values()):
        section.text = "Nothing ever waited at a switch port." if rows else ""
        return section
    which = "" if page.alone else ", at the busiest port of each run where ports are recorded"
    caption = f"Share of time in which at most so many bytes waited{which}. The left edge is an empty queue."
    section.figures.append(page.draw(plot.queue_cdf(curves, looks=looks), "queue_cdf", caption))
    recorded = [_series(run, BUSIEST_PORTS, ports) for run in page.runs]
    # The same axes for all runs of the page: they are looked at side by side.
    top = max((float(v.max()) for series in recorded for _, v in series.values() if len(v)), default=0.0)
    for i, (label, series) in enumerate(zip(page.labels, recorded, strict=True)):
        if series:
            name = "queue_timeline" if page.alone else f"queue_timeline_{i + 1}"
            caption = "Bytes waiting over time at the busiest ports"
            caption += "." if page.alone else f", {label}. All runs have the same axes, and a port the same colour."
            own = {port: plot.look(ports.index(port)) for port in series}
            figure = plot.queue_timeline(series, looks=own, end=page.quiet_ps, top=top)
            section.figures.append(page.draw(figure, name, caption))
    split = [f"{q}{when}" for when in ("", " busy") for q in ("p50", "p95", "p99")]
    head = ("Ports", "Busy", "Mean", *split, "Most")
    section.tables.append(Table("Bytes waiting, by tier and at the busiest ports", head, rows))
    return section


def histogram(run: Results, mask: NDArray[np.bool_]) -> QueueHistogram:
    """The histogram of the ports in the rows of ``run.queues`` that ``mask`` picks."""
    q = run.queues
    try:
        return QueueHistogram.merge(q["bin_low_bytes"][mask], q["bin_high_bytes"][mask], q["time_ps"][mask])
    except ValueError as error:
        raise ResultsError(run.path / "queues.csv", str(error)) from error


def busiest_ports(run: Results, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Switch ports with the largest mean queue: name, and mask over the rows of ``run.queues``. Ties by number."""
    q = run.queues
    keys = np.stack([q["node"], q["port"], q["class"]], axis=1)
    ports, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    weighted, time = np.zeros(len(ports)), np.zeros(len(ports))
    np.add.at(weighted, inverse, (q["bin_low_bytes"] + q["bin_high_bytes"] - 1) / 2.0 * q["time_ps"])
    np.add.at(time, inverse, q["time_ps"].astype(float))
    first = np.full(len(ports), len(inverse))
    np.minimum.at(first, inverse, np.arange(len(inverse)))
    # A row for all ports of a tier is no port.
    other = np.char.startswith(q["tier"][first], "host->") | (q["ports"][first] > 1)
    mean = np.where(other, -1.0, weighted / np.maximum(time, 1.0))
    several = len(np.unique(q["class"])) > 1
    found = []
    for k in np.argsort(-mean, kind="stable")[:count]:
        if mean[k] > 0:
            suffix = f" class {ports[k][2]}" if several else ""
            found.append((_port_name(run, int(first[k])) + suffix, inverse == k))
    return found


def _ports(page: Page) -> list[str]:
    """The names of the ports that figures of the page show, by switch and number."""
    names = {name for run in page.runs if run.queues.rows for name, _ in busiest_ports(run, BUSIEST_PORTS)}
    names |= {name for run in page.runs for name in _recorded(run)}
    return sorted(names, key=lambda name: ([int(part) for part in re.findall("[0-9]+", name)], name))


def _order(name: str, ports: list[str]) -> int:
    return ports.index(name) if name in ports else len(ports)


def _port_name(run: Results, row: int) -> str:
    """A port by its switch and number, and who is at the other end, from a row of ``run.queues``."""
    q = run.queues
    peer = "host" if str(q["tier"][row]).endswith("->host") else "switch"
    return f"port {q['node'][row]}:{q['port'][row]} to {peer} {q['peer'][row]}"


def _row(name: str, h: QueueHistogram) -> tuple[Cell, ...]:
    total = float(h.time_ps.sum())
    values = [analysis.queue_percentile(h, q, busy=busy)[1] for busy in (False, True) for q in QS]
    most = analysis.queue_percentile(h, 100)[1]
    share = f"{h.busy().time_ps.sum() / total:.1%}" if total else "–"
    return (Cell(name), Cell(share), *(Cell(format_bytes(v)) for v in (h.mean_bytes(), *values, most)))


def _recorded(run: Results) -> dict[str, Series]:
    """Queue over time of the recorded ports, by their names."""
    table = run.series
    here = table["kind"] == "queue_bytes"
    names, time, value = table["id"][here], table["time_ps"][here], table["value"][here]
    q = run.queues
    rows = {f"{n}:{p}": i for i, (n, p) in enumerate(zip(q["node"], q["port"], strict=True))} if q.rows else {}
    found = {}
    for name in np.unique(names):
        mine = names == name
        order = np.argsort(time[mine], kind="stable")
        label = _port_name(run, rows[str(name)]) if str(name) in rows else f"port {name}"
        found[label] = (time[mine][order], value[mine][order])
    return found


def _series(run: Results, count: int, ports: list[str]) -> dict[str, Series]:
    """Of the recorded ports those with the largest mean, in the order of ``ports``."""
    longest = sorted(_recorded(run).items(), key=lambda entry: -float(entry[1][1].mean()))[:count]
    return dict(sorted(longest, key=lambda entry: ports.index(entry[0])))
