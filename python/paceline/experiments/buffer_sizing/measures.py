"""What the results are judged by, read from finished runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from paceline import queries
from paceline.analysis import F8, QueueHistogram
from paceline.reproduce.model import Run


@dataclass(frozen=True)
class Group:
    """One group of clients. Times in us."""

    per_second: float
    qct_us: F8
    slowdown: F8
    size_bytes: F8


@dataclass(frozen=True)
class Facts:
    """One run, in the numbers that the results need."""

    groups: dict[str, Group]
    queues: dict[str, QueueHistogram]
    """By tier of the egress port (``tor->host``), and of the one port with the longest mean queue as ``busiest``."""
    drops: int
    pauses: int
    retransmitted: int
    timeouts: int


def facts(run: Run) -> Facts:
    """Reads a run; kept, as several results share runs."""
    return _facts(run.folder)


@lru_cache(maxsize=512)
def _facts(folder: Path) -> Facts:
    from paceline.results import Results

    results = Results.load(folder)
    counters, table = results.summary["counters"], results.queues
    found = {
        g.label: Group(
            g.per_second,
            np.sort(g.qct.value / 1e6),
            g.slowdown.value,
            g.slowdown.size_bytes.astype(float),
        )
        for g in queries.groups(results)
    }

    def histogram(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> QueueHistogram:
        rows = table.where(mask)
        return QueueHistogram.merge(rows["bin_low_bytes"], rows["bin_high_bytes"], rows["time_ps"])

    tiers = table["tier"].astype(str)
    queues = {tier: histogram(tiers == tier) for tier in np.unique(tiers)}
    place = table["node"].astype(np.int64) << 16 | table["port"].astype(np.int64)
    ports = [histogram(place == p) for p in np.unique(place)]
    queues["busiest"] = max(ports, key=QueueHistogram.mean_bytes)
    return Facts(
        groups=found,
        queues=queues,
        drops=int(counters["drops_buffer"]),
        pauses=int(counters["pause_frames"]),
        retransmitted=int(counters["retransmitted_packets"]),
        timeouts=int(counters["timeouts"]),
    )


def together(runs: Iterable[Run], group: str) -> Group:
    """A group's queries of several runs; the rate is their mean."""
    parts = [facts(run).groups[group] for run in runs]
    times, slowdowns, sizes = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("qct_us", "slowdown", "size_bytes")
    )
    return Group(sum(p.per_second for p in parts) / len(parts), times, slowdowns, sizes)


def queue(runs: Iterable[Run], where: str) -> QueueHistogram:
    """A queue's histogram over several runs."""
    parts = [facts(run).queues[where] for run in runs]
    low, high, time = (np.concatenate([getattr(p, n) for p in parts]) for n in ("low_bytes", "high_bytes", "time_ps"))
    return QueueHistogram.merge(low, high, time)
