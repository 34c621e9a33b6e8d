"""Hot spots, flows of 2 to 32 hosts to one, at one switch or from several racks: runs, what is measured, a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from paceline.analysis import jain_index, nearest_rank, queue_percentile
from paceline.experiments.cee import setup
from paceline.experiments.cee.cases import Case, grouped
from paceline.experiments.cee.measures import (
    cycles,
    facts,
    largest_of_capacity,
    largest_share,
    share_between,
    time_to_fairness,
    used,
    whole_share,
)
from paceline.experiments.cee.setup import (
    CELLS,
    FRAME,
    PORT,
    SCHEMES,
    STACK_US,
    UDP_RATE,
    XOFF,
    XON,
    begins,
    endless,
    many_to_one,
    run_title,
)
from paceline.experiments.cee.study import Plan, seeds
from paceline.reproduce.claims import Place, Values, at, binned
from paceline.reproduce.model import Scale
from paceline.scenario import ClosedRpc, Cubic, FlowRow, Flows, Scheme, Udp, Xgft
from paceline.sweeps.points import Point, Run, Runs
from paceline.tables import Table, number_rows

_GREEDY_US: Final = {Scale.TINY: 8_000, Scale.QUICK: 500_000, Scale.PAPER: 2_000_000}
_FINITE: Final = {Scale.TINY: 300_000, Scale.QUICK: 4_000_000, Scale.PAPER: 20_000_000}
"""Bytes of a flow that ends."""

WINDOW_US: Final = 10_000
"""In which the largest share of one flow is looked for."""

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
    udp: int = 0
    """So many of them send UDP, at a third of the link each."""
    far: int = 0
    """So many of them are in racks of their own, the others in the receiver's; none: there is one switch."""


KINDS: Final[Mapping[str, Kind]] = {
    **{f"greedy_{n}": Kind(n) for n in (7, *SWEEP)},
    "short_7": Kind(7, short=True),
    **{f"ends_{n}": Kind(n, ends=True) for n in CROWDS},
    "late_7": Kind(7, late=True),
    "ping_32": Kind(32, ping=True),
    "ping_alone": Kind(1, ping=True, alone=True),
    "udp_8": Kind(8, udp=4),
    "far_7": Kind(7, far=7),
    "far_7_near_7": Kind(14, far=7),
}

_RACKS: Final = Xgft(children=[8, 8], parents=[1, 8], rates=["10Gbps"], delays=["0s"])
"""Eight racks of eight hosts under eight spines; host 0 receives."""

_SLOW_CUBIC: Final = Cubic(form="freebsd2011", beta=0.5)
_ANEW: Final = Cubic(form="freebsd2011_anew")
VARIANTS: Final[Mapping[str, Scheme]] = {**SCHEMES, "cubic_half": _SLOW_CUBIC, "cubic_anew": _ANEW}
TITLES: Final = {
    **setup.TITLES,
    "cubic_half": "CUBIC, beta 0.5",
    "cubic_anew": "CUBIC, which begins its curve anew after a timeout",
}


@dataclass(frozen=True)
class Crowd(Case):
    """Flows to one host."""

    kind: str
    """What the senders do, by its name in ``KINDS``."""
    cell: str
    scheme: str
    pfc: bool = False

    def place(self, what: str) -> Place:
        """Where a measured value lies."""
        return (self.kind, self.cell, self.scheme, float(self.pfc), what)

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{_named(KINDS[self.kind])}, {run_title(self.cell, self.scheme, self.pfc, TITLES)}"


def _in_racks(sender: int, far: int) -> int:
    """The host of a sender: the first ``far`` are each the first of a rack, the others beside the receiver."""
    return 8 * (sender + 1) if sender < far else sender - far + 1


def late_us(scale: Scale) -> int:
    """When the late flow begins."""
    return _GREEDY_US[scale] // 3


def point(case: Crowd, scale: Scale, seed: int) -> Point:
    """One run."""
    k, stop = KINDS[case.kind], _GREEDY_US[scale]
    if k.ends:
        stop = 20 * stop
    if k.short:
        stop = min(stop, 50_000)
    size = f"{_FINITE[scale]}B" if k.ends else endless(stop, k.senders)
    rows = []
    for h in range(0 if k.alone else k.senders):
        start = f"{late_us(scale)}us" if k.late and h == k.senders - 1 else begins(h, k.senders, seed)
        ends = (_in_racks(h, k.far), 0) if k.far else (h, k.senders + k.ping)
        rows.append(FlowRow(start=start, src=ends[0], dst=ends[1], bytes=size))
    tcp, udp = rows[: len(rows) - k.udp], rows[len(rows) - k.udp :]
    workloads: list[Any] = [Flows(scheme="tcp", rows=tcp)] if tcp else []
    if udp:
        workloads.append(Flows(scheme="udp", rows=udp))
    if k.ping:
        workloads.append(
            ClosedRpc(group="ping", clients=[k.senders], servers=[k.senders + 1], sizes="64B", response="64B")
        )
    run = many_to_one(
        f"{case.kind}-{case.cell}-{case.scheme}-pfc{case.pfc:d}",
        case.cell,
        VARIANTS[case.scheme],
        workloads,
        senders=k.senders + k.ping,
        tree=_RACKS if k.far else None,
        pfc=case.pfc,
        stop_us=stop,
        sample_us=max(stop / 500, 20) if not k.ends else 1000,
        follow=() if k.ends or k.ping else range(k.senders - k.udp),
        beside={"udp": Udp(rate=UDP_RATE)} if k.udp else {},
    )
    return Point(scenario=run, key=case.key, seed=seed)


def plan(*cases: Crowd) -> Plan:
    """The runs of these cases."""

    def points(scale: Scale) -> Sequence[Point]:
        most = 5 if scale is Scale.PAPER else 3
        return [point(case, scale, seed) for case in cases for seed in seeds(scale, most)]

    return points


def _classes(run: Run) -> list[float]:
    """Bytes delivered of TCP and of UDP."""
    traffic = {t["scheme"]: float(t["delivered_bytes"]) for t in run.results().summary["traffic"]}
    return [traffic["tcp"], traffic["udp"]]


def by_case(runs: Runs) -> dict[Crowd, list[Run]]:
    """The runs of each case, one for a seed."""
    return grouped(runs, Crowd.of)


def measure(runs: Runs) -> Values:
    """What the rules look at, at the places of the cases."""
    found: dict[Place, float] = {}
    for case, mine in by_case(runs).items():
        chosen = [facts(r) for r in mine]
        k, place = KINDS[case.kind], case.place

        def mean(values: Sequence[float]) -> float:
            return float(np.mean(values)) if values else math.nan

        for what in ("drops", "pauses", "timeouts", "fast_retransmits", "ignored_duplicates", "depth"):
            found[place(what)] = mean([float(getattr(f, what)) for f in chosen])
        found[place("dropped_share")] = mean([f.drops / max(f.packets, 1) for f in chosen])
        found[place("fct_ms")] = mean([float(f.fct_ms.mean()) for f in chosen if len(f.fct_ms)])
        found[place("last_ms")] = mean([float(f.fct_ms.max()) for f in chosen if len(f.fct_ms)])
        for q in (1, 50, 99):
            least, most = zip(*(queue_percentile(f.queue, q) for f in chosen), strict=True)
            found |= binned(place(f"queue_p{q}_kb"), mean(least), mean(most), unit=1000)
        held = [share_between(f.queue_bytes, k.senders * XON, k.senders * (XOFF + 2 * FRAME)) for f in chosen]
        found[place("held")] = mean(held)
        teeth = [cycles(f.queue_bytes, high=0.8 * PORT, low=0.5 * PORT) for f in chosen]
        found[place("teeth")] = mean([float(n) for n in teeth])
        if k.late:
            start = max((float(t[0]) for f in chosen for t, _ in f.flows.values()), default=0.0)
            found[place("fair_ms")] = mean([time_to_fairness(f.flows, 2000, start) for f in chosen])
        if chosen[0].flows and not k.late:
            found[place("jain")] = mean([jain_index([acked[-1] for _, acked in f.flows.values()]) for f in chosen])
            found[place("use")] = mean([used(f.flows) for f in chosen])
            found[place("overall")] = mean([whole_share(f.flows) for f in chosen])
            found[place("blame")] = mean([f.winner_losses for f in chosen])
            found[place("delivered")] = mean([largest_share(f.flows, WINDOW_US) for f in chosen])
            # In the first window flows begin, and the first has the link.
            found[place("share")] = mean([largest_of_capacity(f.flows, WINDOW_US, WINDOW_US) for f in chosen])
        if k.udp:
            classes = [_classes(r) for r in mine]
            found[place("classes")] = mean([jain_index(c) for c in classes])
            found[place("tcp_share")] = mean([c[0] / sum(c) for c in classes])
        for q in (1, 50, 99) if k.ping else ():
            found[place(f"rtt_p{q}_us")] = mean([nearest_rank(f.qct_us, q) - STACK_US for f in chosen if len(f.qct_us)])
    return found


def crowds_under_red(scale: Scale) -> Sequence[Point]:
    """Flows that end, under RED, with and without PFC; the larger crowds also without either."""
    marked = (Crowd(f"ends_{n}", "red", "new_reno", pfc) for n in CROWDS for pfc in (False, True))
    return plan(*marked, *(Crowd(f"ends_{n}", "base", "new_reno") for n in CROWDS if n >= 16))(scale)


def vegas_crowds(scale: Scale) -> Sequence[Point]:
    """Seven Vegas flows: without end, and that end in every cell."""
    ends = (Crowd("ends_7", cell, "vegas", pfc) for cell in CELLS for pfc in (False, True))
    return plan(Crowd("greedy_7", "base", "vegas"), *ends)(scale)


def beside_udp(scale: Scale) -> Sequence[Point]:
    """Four hosts send all they can over TCP, four 13 Gb/s over UDP, to one."""
    cases = (Crowd("udp_8", cell, scheme, pfc) for scheme in SCHEMES for cell in CELLS for pfc in (False, True))
    return plan(*cases)(scale)


def _named(kind: Kind) -> str:
    """A kind of run in words."""
    flows = "1 flow" if kind.senders == 1 else f"{kind.senders} flows"
    if kind.alone:
        return "a pair of hosts alone"
    said = f"{flows}, {kind.udp} of them UDP" if kind.udp else flows
    said += " that end" if kind.ends else ", the last one late" if kind.late else " without end"
    if kind.far:
        said += " from other racks" if kind.far == kind.senders else f", {kind.far} from other racks"
    return said + (", small messages" if kind.ping else ", closely sampled" if kind.short else "")


def table(values: Values, cases: Collection[Crowd]) -> Table:
    """The numbers of :func:`measure`, a row for each case, without those that none of the cases has."""
    parts = {
        "queue_p1_kb": "Queue p1 (KB)",
        "queue_p50_kb": "p50 (KB)",
        "queue_p99_kb": "p99 (KB)",
        "drops": "Drops",
        "timeouts": "Timeouts",
        "ignored_duplicates": "Third dup-ACKs ignored",
        "fct_ms": "Mean FCT (ms)",
    }
    parts = {w: n for w, n in parts.items() if any(math.isfinite(at(values, *case.place(w))) for case in cases)}
    rows = {case.title: [at(values, *case.place(what)) for what in parts] for case in cases}
    what = "losses and completion times" if "fct_ms" in parts else "and losses"
    comma = "," if "fct_ms" in parts else ""
    caption = f"Queue at the receiver's port{comma} {what}; means over seeds"
    return Table(caption, ("Run", *parts.values()), number_rows(rows))


REMARKS: Final = [
    "Hosts at 10 Gb/s ports of one switch with 100 KB a port; flows start within 1 ms. FreeBSD's TCP, SACK off.",
    "With PFC the buffer belongs to the ingress ports (XOFF 97 KB, XON 80 KB), without it to the egress port.",
    "Third dup-ACKs ignored: third duplicate ACKs that repaired nothing, since an earlier reduction covers what they "
    "acknowledge.",
]
RACKS_REMARK: Final = (
    "Variants other racks and all racks: eight racks of eight hosts under eight spines, paths by hash; each flow from "
    "another rack has a rack of its own, the others are in the receiver's."
)
