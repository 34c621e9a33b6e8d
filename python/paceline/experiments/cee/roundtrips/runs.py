"""Incasts, flows with long round trips and flows with different ones: runs, what is measured of them, a table."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from paceline.analysis import F8, jain_index
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
    endless,
    host,
    many_to_one,
    pfc_title,
    switch,
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


def bursts(pfc: int, scale: Scale, seed: int) -> Point:
    """Incasts of 32 hosts with pauses between them."""
    size, period = BURST_BYTES[scale], BURST_US[scale]
    rows = [
        FlowRow(start=f"{b * period * 1000 + 37 * seed + 211 * h}ns", src=h, dst=CROWD, bytes=f"{size}B")
        for b in range(BURSTS)
        for h in range(CROWD)
    ]
    run = many_to_one(
        f"bursts-pfc{pfc}",
        "base",
        SCHEMES["new_reno"],
        [Flows(rows=rows)],
        senders=CROWD,
        pfc=bool(pfc),
        stop_us=BURSTS * period,
        sample_us=10,
    )
    return Point(scenario=run, key={"kind": "bursts", "pfc": pfc}, seed=seed)


def distant(rtt_us: int, cell: str, scheme: str, scale: Scale, seed: int) -> Point:
    """Flows without end of 32 hosts, whose stacks make a round trip so long."""
    more = max(rtt_us - ROUND_TRIP_US, 0) / 2
    adapter = Adapter(enabled=True, tx_delay=f"{9.5 + more:g}us")
    stop = _GREEDY_US[scale] * (5 if scale is Scale.TINY else 1)
    size = endless(stop, CROWD)
    rows = [FlowRow(start=f"{h * 31_250 + 37 * seed}ns", src=h, dst=CROWD, bytes=size) for h in range(CROWD)]
    run = many_to_one(
        f"rtt{rtt_us}-{cell}-{scheme}",
        cell,
        SCHEMES[scheme],
        [Flows(rows=rows)],
        senders=CROWD,
        pfc=False,
        stop_us=stop,
        sample_us=stop / 500,
        follow=range(CROWD),
        adapter=adapter,
    )
    return Point(scenario=run, key={"kind": "distant", "rtt": rtt_us, "cell": cell, "scheme": scheme}, seed=seed)


def mixed(what: str, cell: str, scheme: str, scale: Scale, seed: int) -> Point:
    """Eight hosts to one, four of them far away: ``greedy`` flows without end, or such that ``end``."""
    hosts = [f"h{i}" for i in range(2 * NEAR + 1)]
    links = [
        GraphLink(a=h, b="s", rate="10Gbps", delay=f"{FAR_US // 2}us" if NEAR <= i < 2 * NEAR else "0s")
        for i, h in enumerate(hosts)
    ]
    stop = _GREEDY_US[scale] * (20 if what == "ends" else 1)
    size = f"{_ENDS[scale]}B" if what == "ends" else endless(stop, 2 * NEAR)
    rows = [FlowRow(start=f"{h * 125_000 + 37 * seed}ns", src=h, dst=2 * NEAR, bytes=size) for h in range(2 * NEAR)]
    run = Scenario(
        name=f"mixed-{what}-{cell}-{scheme}",
        topology=GraphTopology(hosts=hosts, switches=["s"], links=links),
        framing=FRAMING,
        # Not with PFC: 100 KB at a port hold nothing of what 0.5 ms of cable still bring.
        switch=switch(cell, pfc=False),
        host=host(cell),
        run=RunSettings(stop=f"{stop}us", stall="10s"),
        records=Records(
            queues="port",
            series=Series(
                interval=f"{_GREEDY_US[scale] / 500:g}us",
                busiest=0,
                flows=list(range(2 * NEAR)) if what == "greedy" else [],
            ),
        ),
        schemes={"tcp": SCHEMES[scheme]},
        workloads=[Flows(rows=rows)],
    )
    return Point(scenario=run, key={"kind": f"mixed_{what}", "cell": cell, "scheme": scheme}, seed=seed)


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
    f = facts(run)
    if not f.flows:
        flows = run.results().flows
        ms = flows["fct_receiver_ps"] / 1e9
        far = flows["src"] >= NEAR
        return {"near_ms": float(ms[~far].mean()), "far_ms": float(ms[far].mean())}
    acked = np.array([float(f.flows[i][1][-1]) for i in sorted(f.flows)])
    return {
        "over": float(acked[:NEAR].sum() / acked[NEAR:].sum()) if acked[NEAR:].sum() else math.nan,
        "jain": jain_index(acked),
        "use": used(f.flows),
        "lost": f.drops / max(f.packets, 1) * 1000,
    }


_OF: Final = {"bursts": _of_bursts, "distant": _of_distant, "mixed_greedy": _of_mixed, "mixed_ends": _of_mixed}


def measure(runs: Runs) -> Values:
    """Means over seeds, by what tells the runs apart."""
    found: dict[Place, float] = {}
    groups: dict[Place, list[dict[str, float]]] = {}
    for run in runs:
        groups.setdefault(tuple(run.point.key.values()), []).append(_OF[str(run.point.key["kind"])](run))
    for place, parts in groups.items():
        found |= {(*place, what): float(np.mean([p[what] for p in parts])) for what in parts[0]}
    return found


def table(values: Values) -> Table:
    """The numbers of :func:`measure`."""
    parts = tuple(dict.fromkeys(str(key[-1]) for key in values))
    rows = {}
    for place in dict.fromkeys(key[:-1] for key in values):
        rows[", ".join(_named(part) for part in place)] = [at(values, *place, p) for p in parts]
    shares = [i for i, part in enumerate(parts) if part == "use"]
    return Table("Means over seeds", ("Run", *(_HEADS[p] for p in parts)), number_rows(rows, shares))


def _named(part: str | float) -> str:
    if isinstance(part, str):
        return CELLS[part].title if part in CELLS else TITLES.get(part, _KINDS.get(part, part))
    return f"RTT {part:,g} µs" if part in RTTS_US else pfc_title(part)


_KINDS: Final = {
    "bursts": "incasts",
    "distant": "32 flows",
    "mixed_greedy": "8 flows without end",
    "mixed_ends": "8 flows that end",
}
_HEADS: Final = {
    "swing": "Longest over shortest delay in 1 ms",
    "longest_us": "Longest delay, µs",
    "late": "RTO over longest delay",
    "timeouts": "Timeouts",
    "drops": "Drops",
    "use": "Link used",
    "lost": "Packets lost per 1,000",
    "jain": "Jain's index",
    "over": "Bytes, near over far",
    "near_ms": "FCT near, ms",
    "far_ms": "FCT far, ms",
}
