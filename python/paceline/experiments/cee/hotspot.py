"""E1, E3, E4, E17, E23, E24 and a part of E2: flows of 7 hosts, or 16 or 32, to one, at one switch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from paceline import plot
from paceline.analysis import jain_index, queue_percentile
from paceline.experiments.cee.measures import (
    cycles,
    facts,
    largest_share,
    share_between,
    time_to_fairness,
    used,
    whole_share,
)
from paceline.experiments.cee.setup import CELLS, FRAME, PORT, SCHEMES, STACK_US, TITLES, XOFF, XON, star
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, ratio, verdicts
from paceline.reproduce.model import Drawing, Experiment, Point, Runs, Scale, Shown, Verdict
from paceline.scenario import ClosedRpc, Cubic, FlowRow, Flows, Scheme
from paceline.tables import Cell, Table, format_number

_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 3, Scale.PAPER: 5}
_GREEDY_US: Final = {Scale.TINY: 8_000, Scale.QUICK: 500_000, Scale.PAPER: 2_000_000}
_FINITE: Final = {Scale.TINY: 300_000, Scale.QUICK: 4_000_000, Scale.PAPER: 20_000_000}
"""Bytes of a flow that ends."""

CROWDS: Final = (7, 16, 32)
SWEEP: Final = (2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Kind:
    """What the senders do."""

    senders: int
    ends: bool = False
    """Their flows end."""
    short: bool = False
    """At most 50 ms, so that the samples of the queue are close."""
    late: bool = False
    """The last one begins when a third of the time is over."""
    ping: bool = False
    """A further pair of hosts exchanges small messages through the same port."""
    alone: bool = False
    """Nobody but the pair."""


KINDS: Final[Mapping[str, Kind]] = {
    **{f"greedy_{n}": Kind(n) for n in (7, *SWEEP)},
    "short_7": Kind(7, short=True),
    **{f"ends_{n}": Kind(n, ends=True) for n in CROWDS},
    "late_7": Kind(7, late=True),
    "ping_32": Kind(32, ping=True),
    "ping_alone": Kind(1, ping=True, alone=True),
}

_SLOW_CUBIC: Final = Cubic(form="freebsd2011", beta=0.5)
VARIANTS: Final[Mapping[str, Scheme]] = {**SCHEMES, "cubic_half": _SLOW_CUBIC}
_TITLES: Final = {**TITLES, "cubic_half": "CUBIC, beta 0.5"}


def _begins(sender: int, senders: int, seed: int) -> int:
    """Start of a sender's flow, ns: within the first ms, in another order for each seed."""
    step = 1_000_000 // senders
    return (sender * (2 * seed + 1) % senders) * step + 37 * seed


def late_us(scale: Scale) -> int:
    """When the late flow begins."""
    return _GREEDY_US[scale] // 3


def point(kind: str, cell: str, scheme: str, pfc: int, scale: Scale, seed: int) -> Point:
    """One run."""
    k, stop = KINDS[kind], _GREEDY_US[scale]
    size = _FINITE[scale] if k.ends else 1_000_000_000_000
    rows = []
    for h in range(0 if k.alone else k.senders):
        start = late_us(scale) * 1000 if k.late and h == k.senders - 1 else _begins(h, k.senders, seed)
        rows.append(FlowRow(start=f"{start}ns", src=h, dst=k.senders + k.ping, bytes=f"{size}B"))
    workloads: list[Any] = [Flows(rows=rows)] if rows else []
    if k.ping:
        workloads.append(
            ClosedRpc(group="ping", clients=[k.senders], servers=[k.senders + 1], sizes="64B", response="64B")
        )
    if k.ends:
        stop = 20 * stop
    if k.short:
        stop = min(stop, 50_000)
    run = star(
        f"{kind}-{cell}-{scheme}-pfc{pfc}",
        cell,
        VARIANTS[scheme],
        workloads,
        senders=k.senders + k.ping,
        pfc=bool(pfc),
        stop_us=stop,
        sample_us=max(stop / 500, 20) if not k.ends else 1000,
        follow=() if k.ends or k.ping else range(k.senders),
    )
    return Point(scenario=run, key={"kind": kind, "cell": cell, "scheme": scheme, "pfc": pfc}, seed=seed)


def _plan(*wanted: tuple[str, str, str, int]) -> Callable[[Scale], Sequence[Point]]:
    def plan(scale: Scale) -> Sequence[Point]:
        return [point(*one, scale, seed) for one in wanted for seed in range(1, _SEEDS[scale] + 1)]

    return plan


def measure(runs: Runs) -> Values:
    """What the rules look at, by kind, cell, scheme and PFC."""
    found: dict[Place, float] = {}
    keys = dict.fromkeys(tuple(r.point.key[k] for k in ("kind", "cell", "scheme", "pfc")) for r in runs)
    for key in keys:
        kind, cell, scheme, pfc = key
        chosen = [facts(r) for r in runs.where(kind=kind, cell=cell, scheme=scheme, pfc=pfc)]
        k, place = KINDS[str(kind)], (str(kind), str(cell), str(scheme), float(pfc))

        def mean(values: Sequence[float]) -> float:
            return float(np.mean(values)) if values else math.nan

        for what in ("drops", "pauses", "timeouts", "fast_retransmits", "ignored_duplicates", "depth"):
            found[(*place, what)] = mean([float(getattr(f, what)) for f in chosen])
        found[(*place, "fct_ms")] = mean([float(f.fct_ms.mean()) for f in chosen if len(f.fct_ms)])
        found[(*place, "last_ms")] = mean([float(f.fct_ms.max()) for f in chosen if len(f.fct_ms)])
        for q in (1, 50, 99):
            found[(*place, f"queue_p{q}_kb")] = mean([sum(queue_percentile(f.queue, q)) / 2000 for f in chosen])
        held = [share_between(f.queue, k.senders * XON, k.senders * (XOFF + 2 * FRAME)) for f in chosen]
        found[(*place, "held")] = mean(held)
        teeth = [cycles(f.queue_bytes, high=0.8 * PORT, low=0.5 * PORT) for f in chosen]
        found[(*place, "teeth")] = mean([float(n) for n in teeth])
        if k.late:
            start = max((float(t[0]) for f in chosen for t, _ in f.flows.values()), default=0.0)
            found[(*place, "fair_ms")] = mean([time_to_fairness(f.flows, 2000, start) for f in chosen])
        if chosen[0].flows and not k.late:
            found[(*place, "jain")] = mean([jain_index([acked[-1] for _, acked in f.flows.values()]) for f in chosen])
            found[(*place, "use")] = mean([used(f.flows) for f in chosen])
            found[(*place, "overall")] = mean([whole_share(f.flows) for f in chosen])
            found[(*place, "blame")] = mean([f.winner_losses for f in chosen])
            found[(*place, "share")] = mean([largest_share(f.flows, 10_000) for f in chosen])
        for q in (1, 50, 99) if k.ping else ():
            found[(*place, f"rtt_p{q}_us")] = mean(
                [float(np.percentile(f.qct_us, q)) - STACK_US for f in chosen if len(f.qct_us)]
            )
    return found


def crowds_under_red(scale: Scale) -> Sequence[Point]:
    """Flows that end, under RED, with and without PFC."""
    return _plan(*((f"ends_{n}", "red", "new_reno", pfc) for n in CROWDS for pfc in (0, 1)))(scale)


def _at(values: Values, *place: str | float) -> float:
    return values.get(tuple(place), math.nan)


def sawtooth_rule(values: Values) -> list[Claim]:
    """E1: a saw-tooth without PFC, a plateau with it."""
    off, on = ("short_7", "base", "new_reno", 0.0), ("short_7", "base", "new_reno", 1.0)
    plateau = "of the time in which the queue lies between 7 times XON and 7 times XOFF and two frames, with PFC"
    return [
        Claim(
            "teeth",
            "falls of the queue from over 80 KB to under 50 KB, without PFC",
            _at(values, *off, "teeth"),
            judge.at_least(3),
        ),
        Claim("drops_off", "packets dropped without PFC", _at(values, *off, "drops"), judge.above(0)),
        Claim("drops_on", "packets dropped with PFC", _at(values, *on, "drops"), judge.at_most(0)),
        Claim(
            "plateau",
            "median queue with PFC, KB; seven ingress ports hold 7 times 80 to 97 KB",
            _at(values, *on, "queue_p50_kb"),
            judge.between(0.85 * 7 * XON / 1000, 1.15 * 7 * XOFF / 1000),
        ),
        Claim("held", f"share {plateau}", _at(values, *on, "held"), judge.at_least(0.8)),
    ]


def ecn_rule(values: Values) -> list[Claim]:
    """E2: marks and losses of one window end in timeouts."""
    found = []
    for n in CROWDS:
        off, on = (f"ends_{n}", "red", "new_reno", 0.0), (f"ends_{n}", "red", "new_reno", 1.0)
        over = ratio(values, (*off, "fct_ms"), (*on, "fct_ms"))
        found += [
            Claim(f"n{n}.fct", f"{n} flows under RED: mean FCT without PFC over that with it", over),
            Claim(
                f"n{n}.last",
                f"{n} flows under RED: the last one's FCT without PFC over that with it",
                ratio(values, (*off, "last_ms"), (*on, "last_ms")),
            ),
            Claim(
                f"n{n}.ignored",
                f"{n} flows under RED without PFC: third duplicate ACKs ignored",
                _at(values, *off, "ignored_duplicates"),
                judge.above(0) if n >= 16 else None,
            ),
            Claim(f"n{n}.timeouts", f"{n} flows under RED without PFC: timeouts", _at(values, *off, "timeouts")),
            Claim(
                f"n{n}.ignored_on",
                f"{n} flows under RED with PFC: third duplicate ACKs ignored",
                _at(values, *on, "ignored_duplicates"),
                judge.at_most(0),
            ),
            Claim(
                f"n{n}.timeouts_on",
                f"{n} flows under RED with PFC: timeouts",
                _at(values, *on, "timeouts"),
                judge.at_most(0),
            ),
        ]
    return found


def vegas_rule(values: Values) -> list[Claim]:
    """E4: Vegas keeps the queue short, so that PFC does not matter."""
    found = []
    for cell in CELLS:
        off, on = (("ends_7", cell, "vegas", pfc) for pfc in (0.0, 1.0))
        title = CELLS[cell].title
        found += [
            Claim(
                f"{cell}.queue",
                f"Vegas, {title}: p99 of the queue, KB",
                _at(values, *off, "queue_p99_kb"),
                judge.below(80),
            ),
            Claim(
                f"{cell}.drops",
                f"Vegas, {title}, without PFC: packets dropped",
                _at(values, *off, "drops"),
                judge.at_most(0) if cell == "base" else None,
            ),
            Claim(
                f"{cell}.fct",
                f"Vegas, {title}: mean FCT with PFC over that without",
                ratio(values, (*on, "fct_ms"), (*off, "fct_ms")),
                judge.between(0.95, 1.05),
            ),
        ]
    return found


def winner_rule(values: Values) -> list[Claim]:
    """E3: one flow takes the link."""
    place = ("greedy_7", "qcn66", "new_reno", 0.0)
    return [
        Claim(
            "share",
            "largest share of one of seven flows in 10 ms, QCN 66 without PFC; fair is 0.143",
            _at(values, *place, "share"),
            judge.above(0.4),
            0.4,
        ),
        Claim("overall", "its share over the whole run", _at(values, *place, "overall")),
        Claim("blame", "the winner's part of all packets sent again", _at(values, *place, "blame")),
        Claim("base", "largest share in 10 ms without QCN", _at(values, "greedy_7", "base", "new_reno", 0.0, "share")),
    ]


def sweep_rule(values: Values) -> list[Claim]:
    """E24: QCN over the number of flows."""
    found = []
    for cell in ("qcn20", "qcn66"):
        for pfc in (0.0, 1.0):
            for n in SWEEP:
                place = (f"greedy_{n}", cell, "new_reno", pfc)
                title = f"{n} flows, {CELLS[cell].title}, {'PFC' if pfc else 'no PFC'}"
                for what, text in (
                    ("jain", "Jain's index"),
                    ("use", "share of the link used"),
                    ("queue_p50_kb", "median queue, KB"),
                ):
                    found.append(Claim(f"{cell}.pfc{pfc:g}.n{n}.{what}", f"{title}: {text}", _at(values, *place, what)))
    return found


def convergence_rule(values: Values) -> list[Claim]:
    """E17: CUBIC yields slowly and loses more."""
    reno, cubic, half = (("late_7", "base", s, 0.0) for s in ("new_reno", "cubic", "cubic_half"))
    found = [
        Claim(
            f"{name}.fair_ms",
            f"{_TITLES[name]}: until Jain's index stays above 0.9 after a seventh flow, ms",
            _at(values, *p, "fair_ms"),
        )
        for name, p in (("new_reno", reno), ("cubic", cubic), ("cubic_half", half))
    ]
    found += [
        Claim(
            "fair",
            "the same, CUBIC over NewReno",
            ratio(values, (*cubic, "fair_ms"), (*reno, "fair_ms")),
            judge.above(1),
        ),
        Claim(
            "drops",
            "packets dropped, CUBIC over NewReno",
            ratio(values, (*cubic, "drops"), (*reno, "drops")),
            judge.above(1),
        ),
        Claim(
            "half",
            "packets dropped, CUBIC that halves over CUBIC",
            ratio(values, (*half, "drops"), (*cubic, "drops")),
            judge.below(1),
        ),
    ]
    return found


def rtt_rule(values: Values) -> list[Claim]:
    """E23: round trips of small messages, less what the stacks take."""
    alone, base, pfc = (
        ("ping_alone", "base", "new_reno", 0.0),
        ("ping_32", "base", "new_reno", 0.0),
        ("ping_32", "base", "new_reno", 1.0),
    )
    return [
        Claim(
            "alone",
            "alone: median round trip in the network, us",
            _at(values, *alone, "rtt_p50_us"),
            judge.between(1, 50),
        ),
        Claim("base", "beside 32 flows without PFC: median, us", _at(values, *base, "rtt_p50_us")),
        Claim("pfc", "beside 32 flows with PFC: median, us", _at(values, *pfc, "rtt_p50_us"), judge.above(1000)),
        Claim(
            "grows",
            "with PFC, over the one alone",
            ratio(values, (*pfc, "rtt_p50_us"), (*alone, "rtt_p50_us")),
            judge.at_least(100),
        ),
    ]


def table(values: Values) -> Table:
    """The numbers of :func:`measure`."""
    parts = ("queue_p1_kb", "queue_p50_kb", "queue_p99_kb", "drops", "timeouts", "ignored_duplicates", "fct_ms")
    rows = []
    for place in dict.fromkeys(key[:4] for key in values):
        kind, cell, scheme, pfc = place
        cells = [Cell(format_number(values.get((*place, what), math.nan))) for what in parts]
        name = f"{kind}, {CELLS[str(cell)].title}, {_TITLES[str(scheme)]}, {'PFC' if pfc else 'no PFC'}"
        rows.append((Cell(name), *cells))
    head = ("Run", "Queue p1, KB", "p50, KB", "p99, KB", "Drops", "Timeouts", "Ignored third dup-ACKs", "Mean FCT, ms")
    return Table("Queue at the receiver's port, losses and completion times; means over seeds", head, rows)


def _queues(runs: Runs) -> Iterator[Drawing]:
    series = {}
    for pfc, title in ((0, "without PFC"), (1, "with PFC")):
        for run in runs.where(kind="short_7", cell="base", scheme="new_reno", pfc=pfc, seed=1):
            f = facts(run)
            series[title] = (f.queue_us * 1e6, f.queue_bytes)
    if series:
        yield Drawing(
            "E1-queue", plot.queue_timeline(series), "Bytes waiting at the receiver's port, seven NewReno flows."
        )


def _experiment(number: int, title: str, statement: str, rule: Any, plan: Any) -> Experiment:
    name = f"E{number}"

    def judged(runs: Runs, scale: Scale) -> list[Verdict]:
        return verdicts(name, measure, rule, runs, scale)

    def show(runs: Runs, _scale: Scale) -> Shown:
        return Shown(_queues(runs) if name == "E1" else (), [table(measure(runs))], REMARKS)

    return Experiment(
        id=name,
        title=title,
        statement=statement,
        source="Converged-Ethernet study, HotI 2011",
        plan=plan,
        judge=judged,
        show=show,
    )


REMARKS: Final = [
    "Hosts at 10 Gb/s ports of one switch with 100 KB a port; flows start within 1 ms. FreeBSD's TCP, SACK off.",
    "With PFC the buffer belongs to the ingress ports (XOFF 97 KB, XON 80 KB), without it to the egress port.",
]

EXPERIMENTS = (
    _experiment(
        1,
        "Queue with and without PFC",
        "Without PFC the queue is a saw-tooth of fill and loss; with PFC it is a plateau, and nothing is lost.",
        sawtooth_rule,
        _plan(*(("short_7", "base", "new_reno", pfc) for pfc in (0, 1))),
    ),
    _experiment(
        3,
        "The winner under QCN",
        "Under QCN at 66 KB without PFC one flow of seven takes more than 40 % of the link, and only it loses frames.",
        winner_rule,
        _plan(("greedy_7", "qcn66", "new_reno", 0), ("greedy_7", "base", "new_reno", 0)),
    ),
    _experiment(
        4,
        "Vegas and PFC",
        "Vegas keeps the queue short, so that PFC changes nothing.",
        vegas_rule,
        _plan(*(("ends_7", cell, "vegas", pfc) for cell in CELLS for pfc in (0, 1))),
    ),
    _experiment(
        17,
        "CUBIC's convergence",
        "CUBIC is aggressive and slow to yield: it loses more than NewReno and takes longer to be fair.",
        convergence_rule,
        _plan(*(("late_7", "base", scheme, 0) for scheme in ("new_reno", "cubic", "cubic_half"))),
    ),
    _experiment(
        23,
        "Round trips",
        "A round trip takes a few us in an idle network and milliseconds in a congested one.",
        rtt_rule,
        _plan(*((kind, "base", "new_reno", pfc) for kind, pfc in (("ping_alone", 0), ("ping_32", 0), ("ping_32", 1)))),
    ),
    _experiment(
        24,
        "QCN over the number of flows",
        "QCN's fairness and adaptivity are open questions.",
        sweep_rule,
        _plan(
            *((f"greedy_{n}", cell, "new_reno", pfc) for cell in ("qcn20", "qcn66") for pfc in (0, 1) for n in SWEEP)
        ),
    ),
)
