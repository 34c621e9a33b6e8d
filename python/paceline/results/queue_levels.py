"""Bytes waiting at ports, from the histograms that a run keeps of its queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import QueueHistogram
from paceline.errors import ResultsError
from paceline.results.folder import Results


@dataclass(frozen=True)
class Waiting:
    """Bytes waiting at a port, or over the ports of a tier."""

    mean_bytes: float
    """Per port, over all classes."""
    busiest: QueueHistogram
    """Of the class with the largest mean; the histogram of the port itself where no other class ever waited."""
    which: str
    """That class where several waited, as ``class 7, one of 6``; empty where one did."""


def _merged(run: Results, low: NDArray[Any], high: NDArray[Any], time: NDArray[Any]) -> QueueHistogram:
    try:
        return QueueHistogram.merge(low, high, time)
    except ValueError as error:
        raise ResultsError(run.path / "queues.csv", str(error)) from error


def waiting(run: Results, mask: NDArray[np.bool_]) -> Waiting:
    """What waited at the ports in the rows of ``run.queues`` that ``mask`` picks, taken as equal.

    Raises :class:`ResultsError` where bins overlap.
    """
    q = run.queues
    node, port, low, high, time, of = (
        q[name][mask] for name in ("node", "port", "bin_low_bytes", "bin_high_bytes", "time_ps", "class")
    )
    # Each class of a port has a histogram over the whole run: the time of the port is that of one of them.
    _, ports = np.unique(np.stack([node, port], axis=1), axis=0, return_inverse=True)
    per = np.zeros((int(ports.max(initial=0)) + 1, int(of.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(per, (ports.ravel(), of), time)
    whole = int(per.max(axis=1).sum())
    found: dict[int, QueueHistogram] = {}
    for c in np.unique(of):
        own = of == c
        lows, highs, times = low[own], high[own], time[own]
        missing = whole - int(times.sum())
        if missing:  # a class that has no row at a port never waited there
            lows, highs, times = np.append(lows, 0), np.append(highs, 1), np.append(times, missing)
        found[int(c)] = _merged(run, lows, highs, times)
    used = {c: h.mean_bytes() for c, h in found.items() if h.busy().time_ps.any()}
    busiest = max(used, key=lambda c: used[c], default=next(iter(found), None))
    which = f"class {busiest}, one of {len(used)}" if len(used) > 1 else ""
    empty = np.zeros(0, dtype=np.int64)
    histogram = QueueHistogram(empty, empty, empty) if busiest is None else found[busiest]
    return Waiting(sum(used.values()) if used or not found else 0.0, histogram, which)


def by_port(run: Results) -> dict[int, tuple[str, QueueHistogram]]:
    """The tier (``tor->host``) and the queue of each egress port of a switch, by ``node << 16 | port``.

    Of runs with one class: the times of several would be added up. Raises :class:`ResultsError` where bins overlap.
    """
    q = run.queues
    place = q["node"].astype(np.int64) << 16 | q["port"].astype(np.int64)
    ports = np.unique(place)
    order = np.argsort(place, kind="stable")
    parts = np.split(order, np.searchsorted(place[order], ports[1:]))
    low, high, time = (q[name] for name in ("bin_low_bytes", "bin_high_bytes", "time_ps"))
    return {
        int(port): (str(q["tier"][own[0]]), _merged(run, low[own], high[own], time[own]))
        for port, own in zip(ports, parts, strict=False)
    }


def busiest_ports(run: Results, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Switch ports with the largest mean queue, all classes together: name, and mask over the rows of ``run.queues``.

    Ties by number.
    """
    q = run.queues
    keys = np.stack([q["node"], q["port"]], axis=1)
    ports, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    # The classes of a port are over the same time, so that their sums rank ports as the means do.
    mean = np.zeros(len(ports))
    np.add.at(mean, inverse, (q["bin_low_bytes"] + q["bin_high_bytes"] - 1) / 2.0 * q["time_ps"])
    first = np.full(len(ports), len(inverse))
    np.minimum.at(first, inverse, np.arange(len(inverse)))
    # A row for all ports of a tier is no port.
    other = np.char.startswith(q["tier"][first], "host->") | (q["ports"][first] > 1)
    mean = np.where(other, -1.0, mean)
    ranked = [int(k) for k in np.argsort(-mean, kind="stable")[:count] if mean[k] > 0]
    return [(port_name(run, int(first[k])), inverse == k) for k in ranked]


def port_name(run: Results, row: int) -> str:
    """A port by its switch and number, and who is at the other end, from a row of ``run.queues``; by name, too."""
    q, names = run.queues, run.graph_names
    node, to = int(q["node"][row]), int(q["peer"][row])
    if node in names and to in names:
        return f"port {node}:{q['port'][row]}, {names[node]} to {names[to]}"
    peer = "host" if str(q["tier"][row]).endswith("->host") else "switch"
    return f"port {q['node'][row]}:{q['port'][row]} to {peer} {q['peer'][row]}"


def fullest(run: Results) -> Waiting | None:
    """What waits at the busiest switch port or, where ports are not told apart, at those of the busiest tier.

    None where the run kept no histograms.
    """
    if run.queues.rows == 0:
        return None
    ports = busiest_ports(run, 1)
    if ports:
        return waiting(run, ports[0][1])
    tiers = run.queues["tier"]
    switches = [tier for tier in np.unique(tiers) if not str(tier).startswith("host->")]
    found = [waiting(run, tiers == tier) for tier in switches]
    return max(found, key=lambda w: w.mean_bytes, default=None)
