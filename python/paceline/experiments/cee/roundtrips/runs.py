"""Incasts, flows with long round trips and flows with different ones: runs, what is measured of them, a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from paceline.analysis import F8, jain_index
from paceline.experiments.cee.cases import Case, grouped, means
from paceline.experiments.cee.measures import facts, used
from paceline.experiments.cee.setup import (
    CELLS,
    FRAMING,
    LINE_BPS,
    ROUND_TRIP_US,
    RTO_US,
    SCHEMES,
    STACK_US,
    TITLES,
    begins,
    endless,
    host,
    many_to_one,
    pfc_title,
    switch,
    turn,
)
from paceline.reproduce.claims import Place, Values, at
from paceline.reproduce.model import Scale
from paceline.scenario import Adapter, FlowRow, Flows, GraphLink, GraphTopology, Records, Scenario, Series
from paceline.scenario import Run as RunSettings
from paceline.sweeps.points import Point, Run, Runs
from paceline.tables import Table, number_rows

BURSTS: Final = 5
BURST_US: Final = {Scale.TINY: 3_000, Scale.QUICK: 12_000, Scale.PAPER: 12_000}
BURST_BYTES: Final = {Scale.TINY: 40_000, Scale.QUICK: 200_000, Scale.PAPER: 200_000}
CROWD: Final = 32

RTTS_US: Final = (ROUND_TRIP_US, 250, 1_000, 5_000)
"""Round trips of E19 without queues; what is longer is so in the hosts."""

FAR_US: Final = 1_000
"""What E25 adds to the round trip of half of the flows."""

NEAR: Final = 4
"""Flows of E25 with a short round trip, and as many with a long one."""

_GREEDY_US: Final = {Scale.TINY: 8_000, Scale.QUICK: 500_000, Scale.PAPER: 2_000_000}
_ENDS: Final = {Scale.TINY: 300_000, Scale.QUICK: 8_000_000, Scale.PAPER: 40_000_000}
_EMPTY_US: Final = 2.4
"""Round trip of a small message in the empty network, without the stacks: E23."""


@dataclass(frozen=True)
class Bursts(Case):
    """Incasts of 32 hosts with pauses between them."""

    kind: str = field(default="bursts", init=False)
    pfc: bool

    def place(self, what: str) -> Place:
        """Where a measured value lies."""
        return (self.kind, float(self.pfc), what)

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"incasts, {pfc_title(self.pfc)}"


@dataclass(frozen=True)
class Distant(Case):
    """Flows without end of 32 hosts, whose stacks make a round trip so long."""

    kind: str = field(default="distant", init=False)
    rtt: int
    """One of ``RTTS_US``."""
    cell: str
    scheme: str

    def place(self, what: str) -> Place:
        """Where a measured value lies."""
        return (self.kind, self.rtt, self.cell, self.scheme, what)

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"32 flows, RTT {self.rtt:,g} µs, {TITLES[self.scheme]}, {CELLS[self.cell].title}"


@dataclass(frozen=True)
class Mixed(Case):
    """Eight hosts to one, four of them far away."""

    kind: Literal["mixed_greedy", "mixed_ends"]
    """Whether their flows are without end or end."""
    cell: str
    scheme: str

    def place(self, what: str) -> Place:
        """Where a measured value lies."""
        return (self.kind, self.cell, self.scheme, what)

    @property
    def title(self) -> str:
        """What tables call it."""
        ends = "that end" if self.kind == "mixed_ends" else "without end"
        return f"8 flows {ends}, {TITLES[self.scheme]}, {CELLS[self.cell].title}"


def bursts(case: Bursts, scale: Scale, seed: int) -> Point:
    """One run."""
    size, period = BURST_BYTES[scale], BURST_US[scale]
    rows = [
        FlowRow(
            start=f"{b * period * 1000 + 37 * seed + 211 * turn(h, CROWD, seed)}ns", src=h, dst=CROWD, bytes=f"{size}B"
        )
        for b in range(BURSTS)
        for h in range(CROWD)
    ]
    run = many_to_one(
        f"bursts-pfc{case.pfc:d}",
        "base",
        SCHEMES["new_reno"],
        [Flows(rows=rows)],
        senders=CROWD,
        pfc=case.pfc,
        stop_us=BURSTS * period,
        sample_us=10,
    )
    return Point(scenario=run, key=case.key, seed=seed)


def distant(case: Distant, scale: Scale, seed: int) -> Point:
    """One run."""
    more = max(case.rtt - ROUND_TRIP_US, 0) / 2
    adapter = Adapter(enabled=True, tx_delay=f"{9.5 + more:g}us")
    stop = _GREEDY_US[scale] * (5 if scale is Scale.TINY else 1)
    size = endless(stop, CROWD)
    rows = [FlowRow(start=begins(h, CROWD, seed), src=h, dst=CROWD, bytes=size) for h in range(CROWD)]
    run = many_to_one(
        f"rtt{case.rtt}-{case.cell}-{case.scheme}",
        case.cell,
        SCHEMES[case.scheme],
        [Flows(rows=rows)],
        senders=CROWD,
        pfc=False,
        stop_us=stop,
        sample_us=stop / 500,
        follow=range(CROWD),
        adapter=adapter,
    )
    return Point(scenario=run, key=case.key, seed=seed)


def mixed(case: Mixed, scale: Scale, seed: int) -> Point:
    """One run."""
    hosts = [f"h{i}" for i in range(2 * NEAR + 1)]
    links = [
        GraphLink(a=h, b="s", rate="10Gbps", delay=f"{FAR_US // 2}us" if NEAR <= i < 2 * NEAR else "0s")
        for i, h in enumerate(hosts)
    ]
    ends = case.kind == "mixed_ends"
    stop = _GREEDY_US[scale] * (20 if ends else 1)
    size = f"{_ENDS[scale]}B" if ends else endless(stop, 2 * NEAR)
    # Otherwise the same of the near ones would begin first for every seed.
    rows = [FlowRow(start=begins(h + seed, 2 * NEAR, seed), src=h, dst=2 * NEAR, bytes=size) for h in range(2 * NEAR)]
    run = Scenario(
        name=f"{case.kind.replace('_', '-')}-{case.cell}-{case.scheme}",
        topology=GraphTopology(hosts=hosts, switches=["s"], links=links),
        framing=FRAMING,
        # Not with PFC: 100 KB at a port hold nothing of what 0.5 ms of cable still bring.
        switch=switch(case.cell, pfc=False),
        host=host(case.cell),
        run=RunSettings(stop=f"{stop}us", stall="10s"),
        records=Records(
            queues="port",
            series=Series(
                interval=f"{_GREEDY_US[scale] / 500:g}us",
                busiest=0,
                flows=[] if ends else list(range(2 * NEAR)),
            ),
        ),
        schemes={"tcp": SCHEMES[case.scheme]},
        workloads=[Flows(rows=rows)],
    )
    return Point(scenario=run, key=case.key, seed=seed)


def delays_us(queue_bytes: F8) -> F8:
    """Round trip of a small message in the network at each sample of the queue, µs."""
    return _EMPTY_US + queue_bytes * 8 / LINE_BPS * 1e6


def swing(times_us: F8, delay_us: F8, window_us: float) -> float:
    """Largest quotient of the longest and the shortest delay within one window."""
    window = (times_us // window_us).astype(int)
    found = [delay_us[window == w] for w in np.unique(window)]
    return max((float(d.max() / d.min()) for d in found if len(d)), default=math.nan)


def _of_bursts(run: Run) -> dict[str, float]:
    f = facts(run)
    delay = delays_us(f.queue_bytes)
    longest = float(delay.max()) if len(delay) else math.nan
    return {
        "swing": swing(f.queue_us, delay, 1000),
        "longest_us": longest,
        "late": RTO_US / (longest + STACK_US),
        "timeouts": float(f.timeouts),
        "drops": float(f.drops),
    }


def _of_distant(run: Run) -> dict[str, float]:
    f = facts(run)
    acked = [float(acked[-1]) for _, acked in f.flows.values()]
    return {
        "use": used(f.flows),
        "lost": f.drops / max(f.packets, 1) * 1000,
        "jain": jain_index(acked),
        "timeouts": float(f.timeouts),
    }


def _of_mixed(run: Run) -> dict[str, float]:
    f, flows = facts(run), run.results().flows
    far = flows["src"] >= NEAR
    if not f.flows:
        ms = flows["fct_receiver_ps"] / 1e9
        return {"near_ms": float(ms[~far].mean()), "far_ms": float(ms[far].mean())}
    acked = np.array([float(f.flows[i][1][-1]) for i in flows["flow_id"]])
    return {
        "over": float(acked[~far].sum() / acked[far].sum()) if acked[far].sum() else math.nan,
        "jain": jain_index(acked),
        "use": used(f.flows),
        "lost": f.drops / max(f.packets, 1) * 1000,
    }


RoundTrips = Bursts | Distant | Mixed

_CASES: Final[Mapping[str, type[RoundTrips]]] = {
    "bursts": Bursts,
    "distant": Distant,
    "mixed_greedy": Mixed,
    "mixed_ends": Mixed,
}
"""By the kinds in their keys."""
_OF: Final[Mapping[type[RoundTrips], Callable[[Run], dict[str, float]]]] = {
    Bursts: _of_bursts,
    Distant: _of_distant,
    Mixed: _of_mixed,
}


def by_case(runs: Runs) -> dict[RoundTrips, list[Run]]:
    """The runs of each case, one for a seed."""
    return grouped(runs, lambda point: _CASES[str(point.key["kind"])].of(point))


def measure(runs: Runs) -> Values:
    """Means over seeds, at the places of the cases."""
    found: dict[Place, float] = {}
    for case, of in by_case(runs).items():
        found |= {case.place(what): value for what, value in means(of, _OF[type(case)]).items()}
    return found


def table(values: Values, cases: Collection[RoundTrips]) -> Table:
    """The numbers of :func:`measure`, a row for each case."""
    parts = tuple(dict.fromkeys(str(key[-1]) for key in values))
    rows = {case.title: [at(values, *case.place(what)) for what in parts] for case in cases}
    shares = [i for i, part in enumerate(parts) if part == "use"]
    return Table("Means over seeds", ("Run", *(_HEADS[p] for p in parts)), number_rows(rows, shares))


_HEADS: Final = {
    "swing": "Longest over shortest delay in 1 ms",
    "longest_us": "Longest delay (µs)",
    "late": "RTO over longest delay",
    "timeouts": "Timeouts",
    "drops": "Drops",
    "use": "Link used",
    "lost": "Packets lost per 1,000",
    "jain": "Jain's index",
    "over": "Bytes, near over far",
    "near_ms": "FCT near (ms)",
    "far_ms": "FCT far (ms)",
}
