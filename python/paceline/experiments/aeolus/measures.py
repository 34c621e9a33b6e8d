"""What the results are judged by, read from finished runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from paceline.analysis import F8
from paceline.results import Results
from paceline.sweeps.points import Run, Runs

PAYLOAD_BYTES = 1460
"""Payload of a full packet."""

HEADER_BYTES = 58
"""What a data frame has beside it."""

SMALL_BYTES = 100_000
"""Flows up to this size are short ones in the paper."""


@dataclass(frozen=True)
class Facts:
    """One run, in the numbers that the results need. Times in us, sizes in bytes."""

    fct_us: F8
    """Start to the last byte received, of every flow; of one that did not get there, its age."""
    size_bytes: F8
    slowdown: F8
    """Against line rate through an empty network, on the same path."""
    needed: int
    """Data packets that carry all flows once."""
    sent: int
    """Data packets sent."""
    delivered: int
    """Data packets that reached a host."""
    delivered_bytes: int
    """Their payload."""
    scheduled_drops: int
    """Packets dropped that were not unscheduled data: scheduled data and control packets."""
    unscheduled: int
    unscheduled_drops: int
    timeouts: int
    arrived_in_vain: int
    """Data packets that reached a host which had them, or could not use them (over RDMA)."""

    def useful_bytes(self, telemetry: int = 0) -> float:
        """Payload that hosts received, each byte once; copies are as long as other packets on average.

        ``telemetry``: bytes that every data packet has more.
        """
        payload = self.delivered_bytes - telemetry * self.delivered
        return payload * (1 - self.arrived_in_vain / self.delivered) if self.delivered else 0.0

    @property
    def duplicates(self) -> float:
        """Share of the packets sent that their receiver had already."""
        return (self.delivered - self.needed) / self.sent

    @property
    def efficiency(self) -> float:
        """Packets that were needed over packets sent."""
        return self.needed / self.sent


def facts(run: Run) -> Facts:
    """Reads a run; kept, as several results share runs."""
    return _facts(run.folder)


@lru_cache(maxsize=4096)
def _facts(folder: Path) -> Facts:
    results = Results.load(folder)
    counters, links = results.summary["counters"], results.links
    into_hosts = links.where(np.char.endswith(links["tier"].astype(str), "->host"))
    fct, slowdown = results.fct("receiver"), results.slowdown("line_rate", "receiver")
    packets, octets = (int(into_hosts[f"data_{what}"].sum()) for what in ("packets", "bytes"))
    return Facts(
        fct_us=fct.value / 1e6,
        size_bytes=fct.size_bytes.astype(float),
        slowdown=slowdown.value,
        needed=int(np.ceil(fct.size_bytes / PAYLOAD_BYTES).sum()),
        sent=int(counters["data_packets"]),
        delivered=packets,
        delivered_bytes=octets - HEADER_BYTES * packets,
        scheduled_drops=int(counters["drops_buffer"]) - int(counters["drops_unscheduled"]),
        unscheduled=int(counters["unscheduled_packets"]),
        unscheduled_drops=int(counters["drops_unscheduled"]),
        timeouts=int(counters["timeouts"]),
        arrived_in_vain=int(counters["duplicate_packets"]) + int(counters["discarded_packets"]),
    )


def goodput(runs: Runs, links_bps: float, telemetry: int = 0) -> float:
    """Payload delivered between the two instants at which runs were stopped (``end_us``), as a share of ``links_bps``.

    The mean over seeds; nan where there are no two. ``telemetry`` as in :meth:`Facts.useful_bytes`.
    """
    ends = sorted(runs.values("end_us"))
    if len(ends) != 2:
        return float("nan")
    before, after = (sum(facts(run).useful_bytes(telemetry) for run in runs.where(end_us=end)) for end in ends)
    seconds = float(ends[1] - ends[0]) * 1e-6 * len(runs.seeds)
    return (after - before) * 8 / (seconds * links_bps)


@lru_cache(maxsize=1024)
def _alone(folder: Path) -> F8:
    return Results.load(folder).slowdown("alone", "receiver").value


def slowdowns(runs: Iterable[Run], *, alone: bool = False) -> F8:
    """Slowdowns of the flows of runs together, ``alone`` against the same flow alone with the same transport."""
    parts = [_alone(run.folder) if alone else facts(run).slowdown for run in runs]
    return np.concatenate(parts) if parts else np.empty(0)
