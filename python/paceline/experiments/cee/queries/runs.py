"""Scatter and gather over background traffic, with and without UDP: runs, what is measured of them, a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from paceline.analysis import jain_index, nearest_rank
from paceline.experiments.cee.cases import Case, grouped, means
from paceline.experiments.cee.measures import longest, stretches
from paceline.experiments.cee.setup import (
    FRAMING,
    KNOB_TITLES,
    SCHEMES,
    UDP_RATE,
    XON,
    cells_remarks,
    host,
    run_title,
    stack,
    switch,
)
from paceline.reproduce.claims import Place, Values, at
from paceline.reproduce.model import Scale
from paceline.results import Results
from paceline.scenario import (
    Load,
    OnOffCbr,
    OnOffFlows,
    Records,
    ScatterGather,
    Scenario,
    Series,
    Udp,
    Xgft,
)
from paceline.scenario import Run as RunSettings
from paceline.sweeps.points import Point, Run, Runs
from paceline.tables import Table, number_rows
from paceline.words import in_words, percent

_SAMPLE_US: Final = 25
"""Between two samples of the queues that are watched: a third of a round trip."""
_SAMPLES: Final = 50_000
"""The 1.2 s of quick scale; where a run lasts longer the interval doubles."""

_LENGTH_US: Final = {Scale.TINY: 20_000, Scale.QUICK: 1_000_000, Scale.PAPER: 7_000_000}
_TREE: Final = {
    Scale.TINY: ((4, 2), (1, 2)),
    Scale.QUICK: ((8, 4), (1, 4)),
    Scale.PAPER: ((16, 16), (1, 16)),
}
"""Children and parents: 8, 32 and 256 hosts."""

FOREGROUND: Final = 5
"""Load of queries, % of the hosts' links: the lowest of 5, 10 and 20 that the study's may be."""

_INTERVAL_US: Final = {Scale.TINY: 500, Scale.QUICK: 650, Scale.PAPER: 655}
"""Between two queries: about 5 % of the hosts' links. A query is two messages of 20,480 bytes for every host, 16, 64
and 512, so that the interval hardly depends on the number of hosts. At paper scale 10,700 queries come."""

SIZE: Final = 20
"""Messages of queries, KiB."""

BACKGROUND: Final = 10
"""Load of background flows, % of the hosts' links: the lower end of what the study's is taken to be, 10 to 30 %."""

SEEDS: Final = 5
"""Of results about QCN: with three, claims of E6, E9, E18 and E20 were undecided that five decide."""

UDP: Final = 0.2
"""Load of the UDP background, sent at a third of the link's rate."""

LOADS: Final[Mapping[str, Mapping[str, Any]]] = {
    "load_20": {"load": 20},
    "queries_10": {"queries": 10},
    "queries_20": {"queries": 20},
}
"""Twice the background, two and four times the queries, %: what cases have for variants of claims."""


@dataclass(frozen=True)
class QueryCase(Case):
    """Queries and background flows."""

    cell: str
    scheme: str
    pfc: bool = False
    udp: bool = False
    knob: str = "study"
    """Settings of the host's TCP, by their name in ``setup.KNOBS``."""
    size: int = SIZE
    """Messages of queries, KiB; they come so often that their load is the same."""
    load: int = BACKGROUND
    """Of background flows, %."""
    queries: int = FOREGROUND
    """About the load of queries, %."""
    watched: bool = False
    """The queues in front of all hosts are sampled."""

    @property
    def loads(self) -> tuple[str, ...]:
        """The loads that are not the study's, in words."""
        background = (f"background {self.load} %",) if self.load != BACKGROUND else ()
        return (*background, f"queries {self.queries} %") if self.queries != FOREGROUND else background

    def place(self, what: str) -> Place:
        """Where a measured value lies; knob and message size are a part of it where one is not the study's."""
        own = (self.knob, float(self.size)) if (self.knob, self.size) != ("study", SIZE) else ()
        seen = ("watched",) if self.watched else ()
        return (self.cell, self.scheme, float(self.pfc), float(self.udp), *own, *self.loads, *seen, what)

    @property
    def title(self) -> str:
        """What tables call it, but for the size of messages."""
        knob = (KNOB_TITLES[self.knob],) if self.knob != "study" else ()
        udp = ("UDP",) if self.udp else ()
        return ", ".join((run_title(self.cell, self.scheme, self.pfc), *udp, *knob, *self.loads))


def point(case: QueryCase, scale: Scale, seed: int) -> Point:
    """One run."""
    children, parents = _TREE[scale]
    hosts = math.prod(children)
    ports = [f"{hosts + h // children[0]}:{h % children[0]}" for h in range(hosts)]
    stop = _LENGTH_US[scale]
    series = Series(interval=f"{max(stop / 500, 100):g}us", busiest=0)
    if case.watched:
        series = Series(interval=f"{_SAMPLE_US}us", samples=_SAMPLES, busiest=0, ports=ports)
    interval = _INTERVAL_US[scale] * case.size / SIZE * FOREGROUND / case.queries
    message = f"{case.size}KiB"
    workloads: list[Any] = [
        ScatterGather(
            group="query", scheme="tcp", interval=f"{interval:g}us", request=message, response=message, end=f"{stop}us"
        ),
        OnOffFlows(group="background", scheme="tcp", load=Load(value=case.load / 100), end=f"{stop}us"),
    ]
    schemes: dict[str, Any] = {"tcp": SCHEMES[case.scheme]}
    if case.udp:
        schemes["udp"] = Udp(rate=UDP_RATE)
        workloads.append(
            OnOffCbr(group="udp", scheme="udp", rate=UDP_RATE, load=Load(value=UDP, bytes="wire"), end=f"{stop}us")
        )
    run = Scenario(
        name=f"commercial-{case.cell}-{case.scheme}-pfc{case.pfc:d}-udp{case.udp:d}-{case.knob}-{case.size}k",
        topology=Xgft(children=children, parents=parents, rates=["10Gbps"], delays=["0s"]),
        framing=FRAMING,
        switch=switch(case.cell, pfc=case.pfc),
        host=host(case.cell, stack(case.cell, case.knob)),
        # What is delivered beside UDP is compared while both send.
        run=RunSettings(stop=f"{stop if case.udp else stop + 200_000}us", measure_end=f"{stop}us", stall="10s"),
        records=Records(queues="port", series=series),
        schemes=schemes,
        workloads=workloads,
    )
    return Point(scenario=run, key=case.key, seed=seed)


def _one(run: Run) -> dict[str, float]:
    results = Results.load(run.folder)
    c, queries, flows = results.summary["counters"], results.queries, results.flows
    qct = queries["qct_ps"][queries["qct_ps"] > 0]
    ages = results.simulated_ps - queries["start_ps"][queries["qct_ps"] == 0].astype(float)
    background = flows.where((flows["group"] == "background") & (flows["status"] == "finished"))
    found = {
        "qct_ms": float(qct.mean()) / 1e9 if len(qct) else math.nan,
        # As if those that are never answered were at the end: the least that the mean of all can be.
        "qct_aged_ms": float(np.concatenate([qct, ages]).mean()) / 1e9 if queries.rows else math.nan,
        "qct_p99_ms": nearest_rank(qct, 99) / 1e9,
        "unanswered": float((queries["qct_ps"] == 0).mean()) if queries.rows else math.nan,
        "fct_ms": float(background["fct_receiver_ps"].mean()) / 1e9 if background.rows else math.nan,
        "fct_p99_ms": nearest_rank(background["fct_receiver_ps"], 99) / 1e9,
        "drops": float(c["drops_buffer"]),
        "timeouts": float(c["timeouts"]),
        "pauses": float(c["pause_frames"]),
        "notifications": float(c.get("notifications", 0)),
    }
    found["congested"] = _congested(results)
    if run.point.key["watched"]:
        found |= _lasting(run.folder)
    traffic = {t["scheme"]: t for t in results.summary.get("traffic", [])}
    if "udp" in traffic:
        tcp, udp = traffic["tcp"], traffic["udp"]
        lost = tcp["dropped_packets"] + udp["dropped_packets"]
        sent = tcp["frame_bytes"] + udp["frame_bytes"]
        offered = {g: float(flows["size_bytes"][flows["scheme"] == g].sum()) for g in ("tcp", "udp")}
        found |= {
            "udp_drop_share": udp["dropped_packets"] / lost if lost else math.nan,
            "udp_byte_share": udp["frame_bytes"] / sent if sent else math.nan,
            "tcp_delivered": tcp["delivered_bytes"] / offered["tcp"],
            "udp_delivered": udp["delivered_bytes"] / offered["udp"],
        }
        found["jain"] = jain_index([found["tcp_delivered"], found["udp_delivered"]])
    return found


def _congested(results: Results) -> float:
    """Share of the ports of switches, by time, at which XON or more waits: there a bin begins."""
    q = results.queues
    high = q["bin_low_bytes"] >= XON
    return float(q["time_ps"][high].sum() / q["time_ps"].sum()) if q.rows else math.nan


def _lasting(folder: Path) -> dict[str, float]:
    """For how long over XON waits at a port in front of a host at a stretch, ms: the median, p99 and longest stretch.

    ``lasting_ms``: the longest time in which some port holds more, be it one after another; ``at_once``: at how many
    more waits whenever it does at any. From samples: a stretch that only one saw has lasted for an interval, and
    shorter ones between two are not seen.
    """
    # Kept, as verdicts and page ask for it: a series has a million rows and more.
    results = Results.load(folder)
    series = results.series
    sampled = series.where(series["kind"].astype(str) == "queue_bytes")
    every_ms = float(results.summary["series_interval_ps"]) / 1e9
    ports = sampled["id"]
    found = [stretches(sampled["value"][ports == port] > XON) for port in np.unique(ports)]
    lengths = np.concatenate([np.empty(0), *found]) * every_ms
    instants, ports_then = np.unique(sampled["time_ps"][sampled["value"] > XON] / 1e9, return_counts=True)
    return {
        "event_ms": nearest_rank(lengths, 50),
        "event_p99_ms": nearest_rank(lengths, 99),
        "event_longest_ms": float(lengths.max(initial=0.0)),
        "events": float(len(lengths)),
        "lasting_ms": longest(instants, 1.5 * every_ms) + (every_ms if len(instants) else 0.0),
        "at_once": float(ports_then.mean()) if len(ports_then) else math.nan,
    }


def by_case(runs: Runs) -> dict[QueryCase, list[Run]]:
    """The runs of each case, one for a seed."""
    return grouped(runs, QueryCase.of)


def measure(runs: Runs) -> Values:
    """Means over seeds, at the places of the cases."""
    found: dict[Place, float] = {}
    for case, of in by_case(runs).items():
        found |= {case.place(what): value for what, value in means(of, _one).items()}
    return found


def tables(values: Values, cases: Collection[QueryCase]) -> list[Table]:
    """The numbers of :func:`measure`, a row for each case; how long ports are congested by itself."""
    times = {"qct_ms": "Mean QCT (ms)", "qct_p99_ms": "p99 (ms)", "unanswered": "Unanswered", "fct_ms": "Mean FCT (ms)"}
    counts = {"drops": "Drops", "timeouts": "Timeouts", "notifications": "CNMs"}
    ports = {"congested": "Congested, of the ports' time"}
    stretches = {"event_ms": "Median (ms)", "lasting_ms": "Longest, at some port (ms)", "at_once": "Ports at once"}
    sized = any(case.size != SIZE for case in cases)

    def of(title: str, parts: dict[str, str], cases: Collection[QueryCase]) -> Table:
        shares = [i for i, part in enumerate(parts) if part in ("unanswered", "congested")]
        rows = {
            f"{case.title}, {case.size} KiB" if sized else case.title: [at(values, *case.place(p)) for p in parts]
            for case in cases
        }
        return Table(title, ("Run", *parts.values()), number_rows(rows, shares))

    found = [of("Queries, background flows and losses; means over seeds", times | counts | ports, cases)]
    if watched := [case for case in cases if case.watched]:
        found.append(of("How long over 80 KB wait at ports to hosts; means over seeds", stretches, watched))
    return found


def remarks(cases: Collection[QueryCase]) -> list[str]:
    """What to know of the runs on a page."""
    udp = f"UDP: another {percent(UDP, 0)} of the hosts' links beside them, sent at a third of a link's rate."
    loaded = [f"{in_words(name)}: {', '.join(QueryCase('', '', **loads).loads)}" for name, loads in LOADS.items()]
    return [
        *REMARKS,
        *([udp] if any(case.udp for case in cases) else []),
        *([WATCHED] if any(case.watched for case in cases) else []),
        *([f"Variants of load: {'; '.join(loaded)}, of the hosts' links."] if any(c.loads for c in cases) else []),
        *cells_remarks({case.cell for case in cases}, pfc=any(case.pfc for case in cases)),
    ]


WATCHED: Final = (
    f"How long over 80 KB wait: sampled every {_SAMPLE_US} µs at quick scale, every 200 µs at paper scale; what comes "
    "and goes between two samples is not seen. Median: of all times without a break at each port. Longest, at some "
    "port: until no port holds as much. Ports at once: their mean number while there is any."
)
REMARKS: Final = [
    "Queries of 20 KiB messages, where rows say no other size, from a random host over one host in every rack to all "
    "others and back, 5 % of the hosts' links; background flows of TrafPy's university set, 10 %, seven of ten in "
    "their rack.",
    "QCT: query completion time. Unanswered: of all queries. CNMs: notifications of QCN. Congested: switches' ports, "
    "by time, with over 80 KB.",
    "32 hosts at quick scale, two to one oversubscribed; 256 with full bisection at paper scale, for 7 s: 10,700 "
    "queries.",
]
