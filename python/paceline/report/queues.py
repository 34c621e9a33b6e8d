"""The section on bytes waiting at ports."""

from __future__ import annotations

from typing import Any

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
    for run, label in page.pairs:
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
        if switches.any() and page.alone:
            curves["all switch ports"] = histogram(run, switches)
    if not any(len(h.busy().time_ps) and h.busy().time_ps.any() for h in curves.values()):
        section.text = "Nothing ever waited at a switch port." if rows else ""
        return section
    which = "" if page.alone else ", at the busiest port of each run where ports are recorded"
    caption = f"Share of time in which at most so many bytes waited{which}. The left edge is an empty queue."
    section.figures.append(page.draw(plot.queue_cdf(curves), "queue_cdf", caption))
    for i, (run, label) in enumerate(page.pairs):
        series = _series(run, BUSIEST_PORTS, list(curves))
        if series:
            name = "queue_timeline" if page.alone else f"queue_timeline_{i + 1}"
            caption = "Bytes waiting over time at the busiest ports" + ("." if page.alone else f", {label}.")
            section.figures.append(page.draw(plot.queue_timeline(series), name, caption))
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


def _series(run: Results, count: int, known: list[str]) -> dict[str, Series]:
    """Queue over time of the recorded ports with the largest mean, those of the other figure in its order."""
    table = run.series
    here = table["kind"] == "queue_bytes"
    names, time, value = table["id"][here], table["time_ps"][here], table["value"][here]
    q = run.queues
    rows = {f"{n}:{p}": i for i, (n, p) in enumerate(zip(q["node"], q["port"], strict=True))} if q.rows else {}
    found: list[tuple[str, NDArray[Any], NDArray[Any]]] = []
    for name in np.unique(names):
        mine = names == name
        order = np.argsort(time[mine], kind="stable")
        label = _port_name(run, rows[str(name)]) if str(name) in rows else f"port {name}"
        found.append((label, time[mine][order], value[mine][order]))
    found.sort(key=lambda entry: -float(entry[2].mean()))
    found = found[:count]
    found.sort(key=lambda entry: next((i for i, k in enumerate(known) if entry[0] in k), len(known)))
    return {name: (t, v) for name, t, v in found}
