"""What the results are judged by, read from finished runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import F8, Bools, QueueHistogram, jain_index
from paceline.experiments.cee.setup import FRAME, LINE_BPS, PAYLOAD
from paceline.results import queue_levels
from paceline.sweeps.points import Run


@dataclass(frozen=True)
class Facts:
    """One run, in the numbers that the results need."""

    status: str
    diagnosis: str
    packets: int
    """Data packets sent."""
    drops: int
    lossless_drops: int
    pauses: int
    timeouts: int
    fast_retransmits: int
    ignored_duplicates: int
    fct_ms: F8
    """Of the flows that finished, to the last byte at the receiver: acknowledgements may be delayed by 10 ms."""
    unfinished: int
    queue: QueueHistogram
    """At the busiest egress port of a switch."""
    queue_us: F8
    """Instants of the samples of the queue at the port asked for, µs, ascending."""
    queue_bytes: F8
    flows: dict[int, tuple[F8, F8]]
    """Instants in us and bytes acknowledged so far, by followed flow."""
    depth: int
    """Longest chain of paused links at any sample."""
    cycle: bool
    """Paused links waited for each other at a sample."""
    winner_losses: float
    """Part of the packets sent again that are of the flow that had most acknowledged; nan where none was sent again."""
    qct_us: F8
    """Completion times of queries, µs."""


def facts(run: Run) -> Facts:
    """Reads a run; kept, as several results share runs."""
    return _facts(run.folder)


@lru_cache(maxsize=512)
def _facts(folder: Path) -> Facts:
    from paceline.results import Results

    results = Results.load(folder)
    counters, series = results.summary["counters"], results.series
    sampled = series["kind"] == "queue_bytes"
    acked = series["kind"] == "acked_bytes"
    found = {}
    for flow in np.unique(series["id"][acked]):
        mine = acked & (series["id"] == flow)
        found[int(flow)] = (series["time_ps"][mine] / 1e6, series["value"][mine].astype(float))
    flows, spread = results.flows, results.saturation
    done = flows["fct_receiver_ps"][flows["status"] == "finished"]
    again = flows["retransmitted_packets"]
    winner = max(found, key=lambda flow: found[flow][1][-1], default=0)
    queries = results.queries
    return Facts(
        status=results.status,
        diagnosis=str(results.summary["diagnosis"] or ""),
        packets=int(counters["data_packets"]),
        drops=int(counters["drops_buffer"]),
        lossless_drops=int(counters["lossless_drops"]),
        pauses=int(counters["pause_frames"]),
        timeouts=int(counters["timeouts"]),
        fast_retransmits=int(counters.get("fast_retransmits", 0)),
        ignored_duplicates=int(counters.get("ignored_duplicates", 0)),
        fct_ms=done / 1e9,
        unfinished=int(results.summary["flows"]["unfinished"]),
        queue=max((queue for _, queue in queue_levels.by_port(results).values()), key=QueueHistogram.mean_bytes),
        queue_us=series["time_ps"][sampled] / 1e6,
        queue_bytes=series["value"][sampled].astype(float),
        flows=found,
        depth=int(spread["depth"].max()) if spread.rows else 0,
        cycle=bool(spread["cycle"].max()) if spread.rows else False,
        winner_losses=float(again[winner] / again.sum()) if again.sum() else float("nan"),
        qct_us=queries["qct_ps"][queries["qct_ps"] > 0] / 1e6 if queries.rows else np.zeros(0),
    )


def share_between(queue: F8, low: float, high: float) -> float:
    """Share of a queue's samples from ``low`` to ``high``, bytes; nan without samples.

    Not of the histogram's time: a level within a bin cuts no time off it, and one bin can hold nearly all.
    """
    return float(np.mean((queue >= low) & (queue <= high))) if len(queue) else float("nan")


def cycles(queue: F8, *, high: float, low: float) -> int:
    """How often a series falls below ``low`` after it was above ``high``: the teeth of a saw."""
    count, armed = 0, False
    for level in queue:
        if level >= high:
            armed = True
        elif armed and level <= low:
            count, armed = count + 1, False
    return count


def longest(times: F8, gap: float) -> float:
    """Length of the longest stretch of instants that are no more than ``gap`` apart."""
    found, start = 0.0, 0
    for i in range(1, len(times) + 1):
        if i == len(times) or times[i] - times[i - 1] > gap:
            found, start = max(found, float(times[i - 1] - times[start])), i
    return found


def stretches(high: Bools) -> F8:
    """How many samples in a row are high, of each stretch of them."""
    edges = np.diff(np.concatenate([[0], high.astype(np.int8), [0]]))
    return (np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)).astype(np.float64)


def shares(flows: dict[int, tuple[F8, F8]], window_us: float, start_us: float = 0.0) -> NDArray[np.float64]:
    """Bytes acknowledged by flow (columns, in order of their numbers) and window of so many us (rows)."""
    if not flows:
        return np.zeros((0, 0))
    end = max(float(times[-1]) for times, _ in flows.values() if len(times))
    edges = np.arange(start_us, end + 1e-9, window_us)
    columns = [np.diff(np.interp(edges, times, acked)) for _, (times, acked) in sorted(flows.items())]
    return np.array(columns).T


def whole_share(flows: dict[int, tuple[F8, F8]]) -> float:
    """Largest part of all bytes acknowledged until the last sample that one flow had."""
    acked = [float(acked[-1]) for _, acked in flows.values()]
    return max(acked) / sum(acked) if sum(acked) else float("nan")


def used(flows: dict[int, tuple[F8, F8]]) -> float:
    """Payload that all flows together had acknowledged until the last sample, as a share of a link of 10 Gb/s."""
    acked = sum(float(acked[-1]) for _, acked in flows.values())
    span = max(float(times[-1]) for times, _ in flows.values())
    return acked * 8 / (span * 1e-6 * LINE_BPS)


def largest_share(flows: dict[int, tuple[F8, F8]], window_us: float, start_us: float = 0.0) -> float:
    """Largest part of what all flows together had acknowledged in a window that one flow had."""
    sent = shares(flows, window_us, start_us)
    total = sent.sum(axis=1)
    return float((sent[total > 0].max(axis=1) / total[total > 0]).max()) if (total > 0).any() else float("nan")


def largest_of_capacity(flows: dict[int, tuple[F8, F8]], window_us: float, start_us: float = 0.0) -> float:
    """Largest part that one flow had of what a link carries of payload in a window; nan without a whole window."""
    sent = shares(flows, window_us, start_us)
    return float(sent.max()) / (LINE_BPS / 8 * window_us * 1e-6 * PAYLOAD / FRAME) if sent.size else float("nan")


def time_to_fairness(flows: dict[int, tuple[F8, F8]], window_us: float, start_us: float, least: float = 0.9) -> float:
    """From ``start_us`` to the end of the first of three windows in a row in which Jain's index is above ``least``, ms.

    Where that never comes, the time to the end of the run: the least it can be.
    """
    fair = [bool(w.sum() > 0) and jain_index(w) > least for w in shares(flows, window_us, start_us)]
    for i in range(len(fair) - 2):
        if all(fair[i : i + 3]):
            return (i + 1) * window_us / 1e3
    return len(fair) * window_us / 1e3
