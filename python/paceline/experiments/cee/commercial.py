"""E5, E6, E8, E9, E10, E11, E13, E18 and E20: scatter and gather over background traffic, with and without UDP."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from paceline.analysis import jain_index
from paceline.experiments.cee import hotspot, rules
from paceline.experiments.cee.setup import CELLS, FRAMING, KNOBS, SCHEMES, SIZES, TITLES, XON, host, switch
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, ratio, verdicts
from paceline.reproduce.model import Experiment, KeyValue, Point, Run, Runs, Scale, Shown, Verdict
from paceline.results import Results
from paceline.scenario import (
    Load,
    OnOffCbr,
    OnOffFlows,
    Records,
    ScatterGather,
    Scenario,
    Series,
    Tcp,
    Udp,
    Xgft,
)
from paceline.scenario import Run as RunSettings
from paceline.tables import Cell, Table, format_number

_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 3, Scale.PAPER: 3}
_LENGTH_US: Final = {Scale.TINY: 20_000, Scale.QUICK: 1_000_000, Scale.PAPER: 10_000_000}
_TREE: Final = {
    Scale.TINY: ((4, 2), (1, 2)),
    Scale.QUICK: ((8, 4), (1, 4)),
    Scale.PAPER: ((16, 16), (1, 16)),
}
"""Children and parents: 8, 32 and 256 hosts."""

_INTERVAL_US: Final = {Scale.TINY: 500, Scale.QUICK: 650, Scale.PAPER: 90}
"""Between two queries: about 5 % of the hosts' links."""

BACKGROUND: Final = 0.2
UDP: Final = 0.2
"""Load of the UDP background, sent at a third of the link's rate."""


def point(
    cell: str, scheme: str, pfc: int, udp: int, scale: Scale, seed: int, knob: str = "study", size: int = 20
) -> Point:
    """One run; messages of ``size`` KiB come so often that their load is the same."""
    children, parents = _TREE[scale]
    stop = _LENGTH_US[scale]
    interval = _INTERVAL_US[scale] * size / 20
    message = f"{size}KiB"
    workloads: list[Any] = [
        ScatterGather(
            group="query", scheme="tcp", interval=f"{interval:g}us", request=message, response=message, end=f"{stop}us"
        ),
        OnOffFlows(group="background", scheme="tcp", load=Load(value=BACKGROUND), end=f"{stop}us"),
    ]
    schemes: dict[str, Any] = {"tcp": SCHEMES[scheme]}
    if udp:
        rate = "3333Mbps"
        schemes["udp"] = Udp(rate=rate)
        workloads.append(
            OnOffCbr(group="udp", scheme="udp", rate=rate, load=Load(value=UDP, bytes="wire"), end=f"{stop}us")
        )
    run = Scenario(
        name=f"commercial-{cell}-{scheme}-pfc{pfc}-udp{udp}-{knob}-{size}k",
        topology=Xgft(children=children, parents=parents, rates=["10Gbps"], delays=["0s"]),
        framing=FRAMING,
        switch=switch(cell, pfc=bool(pfc)),
        host=host(cell, Tcp(stack="freebsd", ecn=CELLS[cell].red, **KNOBS[knob])),
        # What is delivered beside UDP is compared while both send.
        run=RunSettings(stop=f"{stop if udp else stop + 200_000}us", measure_end=f"{stop}us", stall="10s"),
        records=Records(queues="port", series=Series(interval=f"{max(stop / 500, 100):g}us", busiest=0)),
        schemes=schemes,
        workloads=workloads,
    )
    key: dict[str, KeyValue] = {"cell": cell, "scheme": scheme, "pfc": pfc, "udp": udp, "knob": knob, "size": size}
    return Point(scenario=run, key=key, seed=seed)


def _with(*wanted: tuple[str, str, int, str, int]) -> Callable[[Scale], Sequence[Point]]:
    """Cells without UDP, with a knob and a message size."""

    def plan(scale: Scale) -> Sequence[Point]:
        return [
            point(cell, scheme, pfc, 0, scale, seed, knob, size)
            for cell, scheme, pfc, knob, size in wanted
            for seed in range(1, _SEEDS[scale] + 1)
        ]

    return plan


def _plan(*wanted: tuple[str, str, int, int]) -> Callable[[Scale], Sequence[Point]]:
    def plan(scale: Scale) -> Sequence[Point]:
        return [point(*one, scale, seed) for one in wanted for seed in range(1, _SEEDS[scale] + 1)]

    return plan


def _all(cells: Sequence[str], schemes: Sequence[str], udp: int = 0) -> list[tuple[str, str, int, int]]:
    return [(cell, scheme, pfc, udp) for cell in cells for scheme in schemes for pfc in (0, 1)]


def _one(run: Run) -> dict[str, float]:
    results = Results.load(run.folder)
    c, queries, flows = results.summary["counters"], results.queries, results.flows
    qct = queries["qct_ps"][queries["qct_ps"] > 0]
    background = flows.where((flows["group"] == "background") & (flows["status"] == "finished"))
    found = {
        "qct_ms": float(qct.mean()) / 1e9 if len(qct) else math.nan,
        "qct_p99_ms": float(np.percentile(qct, 99)) / 1e9 if len(qct) else math.nan,
        "unanswered": float((queries["qct_ps"] == 0).mean()) if queries.rows else math.nan,
        "fct_ms": float(background["fct_receiver_ps"].mean()) / 1e9 if background.rows else math.nan,
        "fct_p99_ms": float(np.percentile(background["fct_receiver_ps"], 99)) / 1e9 if background.rows else math.nan,
        "drops": float(c["drops_buffer"]),
        "timeouts": float(c["timeouts"]),
        "pauses": float(c["pause_frames"]),
        "notifications": float(c.get("notifications", 0)),
    }
    found["congested"] = _congested(results)
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
    """Share of the ports of switches, by time, at which more than XON waits."""
    q = results.queues
    high = q["bin_low_bytes"] > XON
    return float(q["time_ps"][high].sum() / q["time_ps"].sum()) if q.rows else math.nan


def measure(runs: Runs) -> Values:
    """Means over seeds, by cell, scheme, PFC and UDP; and by knob and message size where these are not the study's."""
    found: dict[Place, float] = {}
    names = ("cell", "scheme", "pfc", "udp", "knob", "size")
    for key in dict.fromkeys(tuple(r.point.key[k] for k in names) for r in runs):
        cell, scheme, pfc, udp, knob, size = key
        parts = [_one(r) for r in runs.where(**dict(zip(names, key, strict=True)))]
        place: Place = (str(cell), str(scheme), float(pfc), float(udp))
        if (knob, size) != ("study", 20):
            place = (*place, str(knob), float(size))
        for what in parts[0]:
            found[(*place, what)] = float(np.mean([p[what] for p in parts]))
    return found


def _both(runs: Runs) -> Values:
    """What hot-spots and queries say."""
    crowds = Runs(tuple(r for r in runs if "kind" in r.point.key))
    queries = Runs(tuple(r for r in runs if "kind" not in r.point.key))
    return {**hotspot.measure(crowds), **measure(queries)}


def ecn_rule(values: Values) -> list[Claim]:
    """E2: hot-spots, and queries."""
    off, on = (("red", "new_reno", pfc, 0.0, "qct_ms") for pfc in (0.0, 1.0))
    text = "mean QCT under RED, NewReno, without PFC over that with it"
    return [*hotspot.ecn_rule(values), Claim("queries", text, ratio(values, off, on), judge.above(1))]


def _table(values: Values) -> Table:
    parts = ("qct_ms", "qct_p99_ms", "unanswered", "fct_ms", "drops", "timeouts", "notifications", "congested")
    rows = []
    for place in dict.fromkeys(key[:-1] for key in values):
        cell, scheme, pfc, udp, *more = place
        name = f"{CELLS[str(cell)].title}, {TITLES[str(scheme)]}, {'PFC' if pfc else 'no PFC'}{', UDP' if udp else ''}"
        name += f", {more[0]}, {more[1]:g} KiB" if more else ""
        cells = [Cell(format_number(values.get((*place, p), math.nan))) for p in parts]
        rows.append((Cell(name), *cells))
    head = ("Run", "Mean QCT, ms", "p99, ms", "Unanswered", "Mean FCT, ms", "Drops", "Timeouts", "CNMs", "Congested")
    return Table("Queries, background flows and losses; means over seeds", head, rows)


REMARKS: Final = [
    "Queries of 20 KB messages from a random host over one host in every rack to all others and back, 5 % of the "
    "hosts' links; background flows of TrafPy's university set, 20 %, seven of ten in their rack.",
    "32 hosts at quick scale, two to one oversubscribed; 256 with full bisection at paper scale.",
]


def _experiment(number: int, title: str, statement: str, rule: Any, plan: Any) -> Experiment:
    name = f"E{number}"

    def judged(runs: Runs, scale: Scale) -> list[Verdict]:
        return verdicts(name, measure, rule, runs, scale)

    def show(runs: Runs, _scale: Scale) -> Shown:
        return Shown((), [_table(measure(runs))], REMARKS)

    return Experiment(
        id=name,
        title=title,
        statement=statement,
        source="Converged-Ethernet study, HotI 2011",
        plan=plan,
        judge=judged,
        show=show,
    )


def _judge_ecn(runs: Runs, scale: Scale) -> list[Verdict]:
    return verdicts("E2", _both, ecn_rule, runs, scale)


def _plan_ecn(scale: Scale) -> Sequence[Point]:
    crowds = hotspot.crowds_under_red(scale)
    return [*crowds, *_plan(*(("red", "new_reno", pfc, 0) for pfc in (0, 1)))(scale)]


def _show_ecn(runs: Runs, _scale: Scale) -> Shown:
    crowds = Runs(tuple(r for r in runs if "kind" in r.point.key))
    return Shown((), [hotspot.table(hotspot.measure(crowds))], [*hotspot.REMARKS, *REMARKS])


_TCP: Final = tuple(SCHEMES)
_CELLS: Final = tuple(CELLS)

EXPERIMENTS = (
    Experiment(
        id="E2",
        title="RED without PFC",
        statement="Under RED losses beside marks are repaired by timeouts only: duplicate ACKs are ignored after an "
        "ECN reduction. With PFC there are no losses.",
        source="Converged-Ethernet study, HotI 2011",
        plan=_plan_ecn,
        judge=_judge_ecn,
        show=_show_ecn,
    ),
    _experiment(
        5,
        "Losses without PFC",
        "Without PFC CUBIC completes queries later than NewReno and Vegas, and loses more.",
        rules.losses_rule,
        _plan(*(("base", scheme, 0, 0) for scheme in _TCP)),
    ),
    _experiment(
        6,
        "PFC and completion times",
        "PFC shortens completion times by avoiding timeouts, except with QCN at 20 KB.",
        rules.pfc_rule,
        _plan(*_all(_CELLS, _TCP)),
    ),
    _experiment(
        8,
        "QCN's set point",
        "QCN at 66 KB tolerates TCP's bursts better than at 20 KB.",
        rules.set_point_rule,
        _plan(*((cell, scheme, 0, 0) for cell in ("qcn20", "qcn66") for scheme in _TCP)),
    ),
    _experiment(
        9,
        "RED against QCN",
        "RED completes queries earlier than QCN, with and without PFC.",
        rules.red_rule,
        _plan(*_all(("red", "qcn20", "qcn66"), ("new_reno",))),
    ),
    _experiment(
        10,
        "Who loses beside UDP",
        "Beside UDP most drops are UDP's, since TCP backs off.",
        rules.udp_drops_rule,
        _plan(*((cell, "new_reno", 0, 1) for cell in _CELLS)),
    ),
    _experiment(
        11,
        "Fairness between TCP and UDP",
        "Only QCN makes TCP and UDP share fairly.",
        rules.udp_fairness_rule,
        _plan(*_all(_CELLS, ("new_reno",), udp=1)),
    ),
    _experiment(
        13,
        "Commercial congestion",
        "Congestion by commercial traffic is sparse and transient.",
        rules.transient_rule,
        _plan(("base", "new_reno", 0, 0)),
    ),
    _experiment(
        16,
        "TCP's delay control and clocks",
        "Vegas is the best of the three, given clocks of high resolution.",
        rules.clock_rule,
        _with(*((c, s, p, k, 20) for c in _CELLS for s in _TCP for p in (0, 1) for k in ("study", "clock_1ms"))),
    ),
    _experiment(
        18,
        "PFC on the whole",
        "PFC improves completion times in all tests.",
        rules.everywhere_rule,
        _plan(*_all(_CELLS, _TCP)),
    ),
    _experiment(
        20,
        "QCN and commercial traffic",
        "QCN at 20 KB without PFC makes completion times 131 to 311 % longer.",
        rules.ruin_rule,
        _plan(*((cell, scheme, 0, 0) for cell in ("base", "qcn20") for scheme in _TCP)),
    ),
    _experiment(
        21,
        "Bursts under RED and QCN",
        "Well set, RED is less sensitive to bursts than QCN.",
        rules.burst_rule,
        _with(*((c, "new_reno", p, "study", n) for c in ("red", "qcn20", "qcn66") for p in (0, 1) for n in SIZES)),
    ),
    _experiment(
        22,
        "The host's timers, clock and caches",
        "FreeBSD's own first timeout of 3 s, slop and clock make completion times far longer.",
        rules.knob_rule,
        _with(*(("base", "new_reno", 0, knob, 20) for knob in KNOBS)),
    ),
)
