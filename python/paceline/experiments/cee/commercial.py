"""E5, E6, E8, E9, E10, E11, E13, E18 and E20: scatter and gather over background traffic, with and without UDP."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from paceline.analysis import jain_index
from paceline.experiments.cee import hotspot
from paceline.experiments.cee.setup import CELLS, FRAMING, SCHEMES, TITLES, XON, host, switch
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


KNOBS: Final[Mapping[str, Mapping[str, Any]]] = {
    "study": {},
    "rto_initial_3s": {"rto_initial": "3s"},
    "slop_200ms": {"rto_slop": "200ms", "ack_delay": "100ms"},
    "rto_min_30ms": {"rto_min": "30ms"},
    "clock_1ms": {"clock": "1ms"},
    "no_cache": {"inherit_cwnd": "off"},
    "fixed_buffers": {"send_buffer_max": "128KiB", "receive_buffer_max": "128KiB"},
    "stock": {"rto_initial": "3s", "rto_slop": "200ms", "ack_delay": "100ms", "rto_min": "30ms", "clock": "1ms"},
}
"""FreeBSD's own settings in place of the study's, one at a time and together."""

SIZES: Final = (10, 20, 40)
"""Messages of queries, KiB."""


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


def _at(values: Values, *place: str | float) -> float:
    return values.get(tuple(place), math.nan)


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


def losses_rule(values: Values) -> list[Claim]:
    """E5: without PFC CUBIC is worst."""
    found = []
    for what, text in (("qct_ms", "mean QCT"), ("drops", "packets dropped")):
        for worse, better in (("cubic", "new_reno"), ("new_reno", "vegas")):
            over = ratio(values, ("base", worse, 0.0, 0.0, what), ("base", better, 0.0, 0.0, what))
            statement = f"{text} without PFC, {TITLES[worse]} over {TITLES[better]}"
            found.append(Claim(f"{what}.{worse}", statement, over, judge.above(1)))
    return found


def pfc_rule(values: Values) -> list[Claim]:
    """E6: PFC shortens completion times, except with QCN 20."""
    found = []
    for cell, kind in CELLS.items():
        for scheme, title in TITLES.items():
            over = ratio(values, (cell, scheme, 1.0, 0.0, "qct_ms"), (cell, scheme, 0.0, 0.0, "qct_ms"))
            limits = judge.at_least(0.9) if cell == "qcn20" else judge.below(1)
            found.append(
                Claim(f"{cell}.{scheme}", f"mean QCT with PFC over that without, {title}, {kind.title}", over, limits)
            )
    return found


def everywhere_rule(values: Values) -> list[Claim]:
    """E18: PFC helps on the whole."""
    ratios = [claim.value for claim in pfc_rule(values)]
    known = [r for r in ratios if math.isfinite(r)]
    share = sum(r <= 1.02 for r in known) / len(known) if known else math.nan
    return [
        Claim(
            "share",
            "pairs of cells in which PFC makes the mean QCT no longer than 1.02 times",
            share,
            judge.at_least(0.9),
        )
    ]


def set_point_rule(values: Values) -> list[Claim]:
    """E8: the higher set point lets bursts pass."""
    found = []
    for scheme, title in TITLES.items():
        for what, text in (("notifications", "notifications"), ("qct_ms", "mean QCT")):
            over = ratio(values, ("qcn66", scheme, 0.0, 0.0, what), ("qcn20", scheme, 0.0, 0.0, what))
            found.append(
                Claim(f"{what}.{scheme}", f"{text}, QCN 66 over QCN 20, {title}, without PFC", over, judge.below(1))
            )
    return found


def red_rule(values: Values) -> list[Claim]:
    """E9: RED is better than QCN."""
    found = []
    for pfc in (0.0, 1.0):
        for name, worse, better in (("qcn66", "qcn66", "red"), ("qcn20", "qcn20", "qcn66")):
            over = ratio(values, (worse, "new_reno", pfc, 0.0, "qct_ms"), (better, "new_reno", pfc, 0.0, "qct_ms"))
            when = "with PFC" if pfc else "without PFC"
            statement = f"mean QCT {when}, NewReno, {CELLS[worse].title} over {CELLS[better].title}"
            found.append(Claim(f"{name}.pfc{pfc:g}", statement, over, judge.at_least(1)))
    return found


def ruin_rule(values: Values) -> list[Claim]:
    """E20: QCN 20 without PFC makes queries two to four times as long."""
    found = []
    for scheme, title in TITLES.items():
        over = ratio(values, ("qcn20", scheme, 0.0, 0.0, "qct_ms"), ("base", scheme, 0.0, 0.0, "qct_ms"))
        statement = f"mean QCT without PFC, QCN 20 over nothing, {title}"
        found.append(Claim(scheme, statement, over, judge.between(2, 5), published="2.31 to 4.11"))
    return found


def transient_rule(values: Values) -> list[Claim]:
    """E13: congestion is sparse."""
    value = _at(values, "base", "new_reno", 0.0, 0.0, "congested")
    return [Claim("share", "share of the switch ports that hold over 80 KB, on average", value, judge.below(0.1))]


def udp_drops_rule(values: Values) -> list[Claim]:
    """E10: what is dropped is UDP."""
    found = []
    for cell, kind in CELLS.items():
        share = _at(values, cell, "new_reno", 0.0, 1.0, "udp_drop_share")
        of_bytes = _at(values, cell, "new_reno", 0.0, 1.0, "udp_byte_share")
        found += [
            Claim(
                f"{cell}.share",
                f"UDP's share of the packets dropped, {kind.title}, without PFC",
                share,
                judge.above(0.5),
            ),
            Claim(
                f"{cell}.over",
                f"the same over UDP's share of the bytes sent, {kind.title}",
                share / of_bytes if of_bytes else math.nan,
                judge.above(1),
            ),
        ]
    return found


def udp_fairness_rule(values: Values) -> list[Claim]:
    """E11: only QCN is fair between TCP and UDP."""
    found = []
    for pfc in (0.0, 1.0):
        when = "with PFC" if pfc else "without PFC"
        for qcn in ("qcn20", "qcn66"):
            for other in ("base", "red"):
                over = ratio(values, (qcn, "new_reno", pfc, 1.0, "jain"), (other, "new_reno", pfc, 1.0, "jain"))
                titles = f"{CELLS[qcn].title} over {CELLS[other].title}"
                statement = f"Jain's index of TCP's and UDP's shares delivered, {titles}, {when}"
                found.append(Claim(f"{qcn}.{other}.pfc{pfc:g}", statement, over, judge.above(1)))
    return found


def clock_rule(values: Values) -> list[Claim]:
    """E16: Vegas is best where clocks are fine."""
    found = []
    for clock, knob in (("1us", ()), ("1ms", ("clock_1ms", 20.0))):
        best = []
        for cell in CELLS:
            for pfc in (0.0, 1.0):
                times = {s: values.get((cell, s, pfc, 0.0, *knob, "qct_ms"), math.nan) for s in SCHEMES}
                if all(math.isfinite(t) for t in times.values()):
                    best.append(min(times, key=lambda s: times[s]) == "vegas")
        share = sum(best) / len(best) if best else math.nan
        limits = judge.above(0.5) if clock == "1us" else judge.at_most(0.5)
        found.append(Claim(clock, f"cells in which Vegas has the lowest mean QCT, clock of {clock}", share, limits))
    return found


def burst_rule(values: Values) -> list[Claim]:
    """E21: RED notices bursts less than QCN."""
    found = []

    def at(cell: str, pfc: float, size: int) -> float:
        more = () if size == 20 else ("study", float(size))
        return values.get((cell, "new_reno", pfc, 0.0, *more, "qct_ms"), math.nan)

    for pfc in (0.0, 1.0):
        when = "with PFC" if pfc else "without PFC"
        growth = {cell: at(cell, pfc, SIZES[-1]) / at(cell, pfc, SIZES[0]) for cell in ("red", "qcn20", "qcn66")}
        for cell, over in growth.items():
            text = f"mean QCT of messages of {SIZES[-1]} KB over that of {SIZES[0]} KB, {CELLS[cell].title}, {when}"
            found.append(Claim(f"{cell}.pfc{pfc:g}", text, over))
        value = growth["qcn20"] / growth["red"]
        found.append(Claim(f"over.pfc{pfc:g}", f"the same, QCN 20 over ECN-RED, {when}", value, judge.above(1)))
    return found


def knob_rule(values: Values) -> list[Claim]:
    """E22: what FreeBSD's own settings cost."""
    found = []
    limits = {"rto_initial_3s": judge.above(1), "slop_200ms": judge.above(1), "stock": judge.above(1)}
    for knob in KNOBS:
        if knob == "study":
            continue
        for what, text in (("qct_ms", "mean QCT"), ("fct_p99_ms", "p99 of the background's FCT")):
            base = ("base", "new_reno", 0.0, 0.0)
            over = ratio(values, (*base, knob, 20.0, what), (*base, what))
            statement = f"{text}, {knob} over the study's settings, NewReno without PFC"
            found.append(Claim(f"{knob}.{what}", statement, over, limits.get(knob)))
    return found


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
        losses_rule,
        _plan(*(("base", scheme, 0, 0) for scheme in _TCP)),
    ),
    _experiment(
        6,
        "PFC and completion times",
        "PFC shortens completion times by avoiding timeouts, except with QCN at 20 KB.",
        pfc_rule,
        _plan(*_all(_CELLS, _TCP)),
    ),
    _experiment(
        8,
        "QCN's set point",
        "QCN at 66 KB tolerates TCP's bursts better than at 20 KB.",
        set_point_rule,
        _plan(*((cell, scheme, 0, 0) for cell in ("qcn20", "qcn66") for scheme in _TCP)),
    ),
    _experiment(
        9,
        "RED against QCN",
        "RED completes queries earlier than QCN, with and without PFC.",
        red_rule,
        _plan(*_all(("red", "qcn20", "qcn66"), ("new_reno",))),
    ),
    _experiment(
        10,
        "Who loses beside UDP",
        "Beside UDP most drops are UDP's, since TCP backs off.",
        udp_drops_rule,
        _plan(*((cell, "new_reno", 0, 1) for cell in _CELLS)),
    ),
    _experiment(
        11,
        "Fairness between TCP and UDP",
        "Only QCN makes TCP and UDP share fairly.",
        udp_fairness_rule,
        _plan(*_all(_CELLS, ("new_reno",), udp=1)),
    ),
    _experiment(
        13,
        "Commercial congestion",
        "Congestion by commercial traffic is sparse and transient.",
        transient_rule,
        _plan(("base", "new_reno", 0, 0)),
    ),
    _experiment(
        16,
        "TCP's delay control and clocks",
        "Vegas is the best of the three, given clocks of high resolution.",
        clock_rule,
        _with(*((c, s, p, k, 20) for c in _CELLS for s in _TCP for p in (0, 1) for k in ("study", "clock_1ms"))),
    ),
    _experiment(
        18,
        "PFC on the whole",
        "PFC improves completion times in all tests.",
        everywhere_rule,
        _plan(*_all(_CELLS, _TCP)),
    ),
    _experiment(
        20,
        "QCN and commercial traffic",
        "QCN at 20 KB without PFC makes completion times 131 to 311 % longer.",
        ruin_rule,
        _plan(*((cell, scheme, 0, 0) for cell in ("base", "qcn20") for scheme in _TCP)),
    ),
    _experiment(
        21,
        "Bursts under RED and QCN",
        "Well set, RED is less sensitive to bursts than QCN.",
        burst_rule,
        _with(*((c, "new_reno", p, "study", n) for c in ("red", "qcn20", "qcn66") for p in (0, 1) for n in SIZES)),
    ),
    _experiment(
        22,
        "The host's timers, clock and caches",
        "FreeBSD's own first timeout of 3 s, slop and clock make completion times far longer.",
        knob_rule,
        _with(*(("base", "new_reno", 0, knob, 20) for knob in KNOBS)),
    ),
)
