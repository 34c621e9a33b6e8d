"""What the comparison measures: slowdowns by workload, load, scheme and flow size, goodput, and what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from paceline.analysis import F8, SizeBins, bins_from_sizes, nearest_rank
from paceline.experiments.aeolus.measures import SMALL_BYTES, facts, goodput
from paceline.experiments.comparison.setup import GOODPUT_LOAD, HOST_BPS, HOSTS, LOADS, SCHEMES, WORKLOADS
from paceline.reproduce.claims import Place, Values
from paceline.results import Results
from paceline.sweeps.points import Runs
from paceline.tables import fewest

SPANS: Final = {"all": "all flows", "small": "flows up to 100 KB"}
KINDS: Final = {"mean": "mean", "p50": "median", "p99": "p99"}

TELEMETRY: Final = {"hpcc": 42}
"""Bytes that a scheme adds to every data packet: INT of up to five hops."""


def of_kind(values: F8, kind: str) -> float:
    """Mean, median or 99th percentile; ``nan`` of nothing."""
    if len(values) == 0:
        return float("nan")
    return float(values.mean()) if kind == "mean" else nearest_rank(values, float(kind[1:]))


FEWEST_P99: Final = round(fewest(99))
"""Flows from which their p99 is shown: of fewer it is the largest value."""


def shown_kind(values: F8, kind: str) -> float:
    """:func:`of_kind` for figures: ``nan`` for the p99 of too few."""
    return float("nan") if kind == "p99" and len(values) < FEWEST_P99 else of_kind(values, kind)


def samples(runs: Runs, workload: str, load: float, scheme: str) -> tuple[F8, F8]:
    """Sizes in bytes and slowdowns of the measured flows of all seeds together."""
    seen = [facts(run) for run in runs.where(part="flows", workload=workload, load=load, scheme=scheme)]
    if not seen:
        return np.empty(0), np.empty(0)
    return np.concatenate([f.size_bytes for f in seen]), np.concatenate([f.slowdown for f in seen])


@dataclass(frozen=True)
class Losses:
    """What became of the packets of a run, from its start to its end."""

    sent: int
    """Data packets sent."""
    unscheduled: int
    """Of them dropped, unscheduled ones."""
    others: int
    """Other packets dropped: data that the receiver had asked for or a window allowed, and control packets."""
    trimmed: int
    again: int
    timeouts: int
    pauses: int
    credits_lost: int
    most_buffer_bytes: int


@lru_cache(maxsize=4096)
def _losses(folder: Path) -> Losses:
    counters = Results.load(folder).summary["counters"]
    unscheduled = int(counters["drops_unscheduled"])
    return Losses(
        sent=int(counters["data_packets"]),
        unscheduled=unscheduled,
        others=int(counters["drops_buffer"]) - unscheduled,
        trimmed=int(counters["trimmed_packets"]),
        again=int(counters["retransmitted_packets"]),
        timeouts=int(counters["timeouts"]),
        pauses=int(counters["pause_frames"]),
        credits_lost=int(counters["drops_credit"]),
        most_buffer_bytes=int(counters["max_buffer_bytes"]),
    )


def losses(runs: Runs, workload: str, load: float, scheme: str) -> dict[str, float]:
    """The :class:`Losses` of all seeds: shares of the data packets sent in percent, counts, and the fullest buffer."""
    seen = [_losses(run.folder) for run in runs.where(part="flows", workload=workload, load=load, scheme=scheme)]
    sent = sum(one.sent for one in seen)
    if not sent:
        return {}
    shares = ("unscheduled", "others", "trimmed", "again")
    found = {name: 100 * sum(getattr(one, name) for one in seen) / sent for name in shares}
    found |= {name: float(sum(getattr(one, name) for one in seen)) for name in ("timeouts", "pauses", "credits_lost")}
    return found | {"buffer": float(max(one.most_buffer_bytes for one in seen))}


def measure(runs: Runs) -> Values:
    """Slowdown by (workload, load, scheme, span, kind), and goodput by ("goodput", scheme)."""
    found: dict[Place, float] = {}
    for workload in WORKLOADS:
        for load in LOADS:
            for scheme in SCHEMES:
                size, slowdown = samples(runs, workload, load, scheme)
                if len(size):
                    for span, chosen in (("all", slowdown), ("small", slowdown[size <= SMALL_BYTES])):
                        for kind in KINDS:
                            found[workload, load, scheme, span, kind] = of_kind(chosen, kind)
                        found[workload, load, scheme, span, "flows"] = float(len(chosen))
    for scheme in SCHEMES:
        stopped = runs.where(part="goodput", scheme=scheme)
        found["goodput", GOODPUT_LOAD, scheme] = goodput(stopped, HOSTS * HOST_BPS, TELEMETRY.get(scheme, 0))
    return found


BySize = tuple[SizeBins, Mapping[str, Mapping[str, F8]]]
"""Bins, and values by kind and scheme."""


def by_size(runs: Runs, workload: str, load: float) -> BySize:
    """Slowdown by tenth of the flow sizes that occurred: bins, and values by kind and scheme."""
    whole = {scheme: samples(runs, workload, load, scheme) for scheme in SCHEMES}
    bins = bins_from_sizes(next(iter(whole.values()))[0])
    found: dict[str, dict[str, F8]] = {kind: {} for kind in KINDS}
    for scheme, (size, slowdown) in whole.items():
        where = bins.index(size.astype(np.int64))
        for kind in KINDS:
            found[kind][scheme] = np.array([shown_kind(slowdown[where == k], kind) for k in range(len(bins))])
    return bins, found
