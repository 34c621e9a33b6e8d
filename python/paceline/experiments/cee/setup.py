"""Network, stack and switches of the study; what is unknown of it is named in ``docs/cee.md``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, Final, Literal

from paceline.scenario import (
    Adapter,
    Cubic,
    Ecn,
    Framing,
    Host,
    HostQcn,
    NewReno,
    Pfc,
    Qcn,
    Records,
    Red,
    Run,
    Scenario,
    Scheme,
    Series,
    Star,
    Switch,
    Tcp,
    Vegas,
    Workload,
    Xgft,
)

LINE_BPS: Final = 10e9

PORT: Final = 102_400
"""Buffer of a switch port, bytes: 100 KB."""

UDP_RATE: Final = "3333Mbps"
"""Of a host that sends UDP: a third of its link."""

XOFF: Final = 99_328
"""Bytes of an ingress port at which it pauses: 97 KB."""

XON: Final = 81_920
"""Bytes of an ingress port at which it resumes: 80 KB."""

FRAME: Final = 1_500
PAYLOAD: Final = 1_448
"""Bytes of a full frame, and of those what is TCP's payload."""

STACK_US: Final = 67.0
"""What the two stacks add to a round trip: 9.5 and 24 µs each way."""

ROUND_TRIP_US: Final = 75
"""A round trip through three switches without queues; most of it is the stacks'."""


def endless(stop_us: int, flows: int) -> str:
    """Size of a flow that does not end: four fair shares of what a link carries in the whole run."""
    return f"{round(LINE_BPS / 8 * stop_us / 1e6 * min(4 / flows, 1))}B"


def turn(sender: int, senders: int, seed: int) -> int:
    """Which of the senders begins when, from 0: each has a turn of its own, seeds mostly an order of their own."""
    factors = (n for n in count(3, 2) if math.gcd(n, senders) == 1)
    return sender * next(islice(factors, seed - 1, None)) % senders


def begins(sender: int, senders: int, seed: int) -> str:
    """Start of a sender's flow: one after the other within the first ms, in another order for each seed."""
    return f"{turn(sender, senders, seed) * (1_000_000 // senders) + 37 * seed}ns"


RTO_US: Final = 22_000
"""Shortest timeout of data: 2 ms and the slop of 20 ms."""


@dataclass(frozen=True)
class SwitchKind:
    """What switches do besides dropping."""

    title: str
    red: bool = False
    red_weight: float = 0.002
    """Of a new length in RED's average; 1 is the queue as it is."""
    qcn: int = 0
    """Set point of QCN, bytes; 0 without."""
    qcn_weight: float = 2.0
    """Of the queue's change in QCN's feedback."""
    averaged: bool = False
    """QCN looks at an average of the queue, as RED does."""
    to_window: bool = False
    """A notification shrinks TCP's window; nothing limits the adapter."""
    exempt_syn: bool = False
    """Frames that open connections are neither sampled nor limited."""
    limiter: Literal["destination", "nic"] = "destination"
    """Frames of an adapter that share a rate limiter: those to one host, or all."""


CELLS: Final[Mapping[str, SwitchKind]] = {
    "base": SwitchKind("no marking"),
    "red": SwitchKind("ECN-RED", red=True),
    "qcn20": SwitchKind("QCN 20", qcn=20_480),
    "qcn66": SwitchKind("QCN 66", qcn=67_584),
}

ABLATIONS: Final[Mapping[str, SwitchKind]] = {
    "qcn20_averaged": SwitchKind("QCN 20, averaged queue", qcn=20_480, averaged=True),
    "qcn20_window": SwitchKind("QCN 20, acting on windows", qcn=20_480, to_window=True),
    "qcn20_syn": SwitchKind("QCN 20, SYNs exempt", qcn=20_480, exempt_syn=True),
}
"""QCN with one thing at a time as RED has it: the three reasons for which the study holds RED to be better."""

WEIGHTS: Final[Mapping[str, SwitchKind]] = {
    "red_w0.02": SwitchKind("ECN-RED, weight 0.02", red=True, red_weight=0.02),
    "red_w1": SwitchKind("ECN-RED, weight 1", red=True, red_weight=1.0),
    "qcn20_w0.5": SwitchKind("QCN 20, weight 0.5", qcn=20_480, qcn_weight=0.5),
    "qcn20_w8": SwitchKind("QCN 20, weight 8", qcn=20_480, qcn_weight=8.0),
}
"""RED with ten times the study's weight and with the queue as it is; QCN with 1/4 and 4 times the standard's."""

BURSTS: Final = ("red", "qcn20", "qcn66", *WEIGHTS)
"""Cells in which E21 varies the size of messages."""

_SEPARATE: Final[Mapping[str, SwitchKind]] = {**CELLS, **ABLATIONS, **WEIGHTS}
_PER_ADAPTER: Final = "_nic"
_ONE_LIMITER: Final = "one limiter per adapter"
ALL_CELLS: Final[Mapping[str, SwitchKind]] = {
    **_SEPARATE,
    **{
        f"{name}{_PER_ADAPTER}": replace(cell, title=f"{cell.title}, {_ONE_LIMITER}", limiter="nic")
        for name, cell in _SEPARATE.items()
        if cell.qcn and not cell.to_window
    },
}
"""With the other reading of QCN's limiters: the standard's default, one for each port and priority."""

READINGS: Final[Mapping[str, str]] = {"default": "", "limiter_per_adapter": _PER_ADAPTER}
"""Both readings of QCN's limiters, as variants of claims: what their cells' names end with."""


def read(cell: str, reading: str) -> str:
    """The cell in a reading; itself where it has no limiters."""
    other = f"{cell}{READINGS[reading]}"
    return other if other in ALL_CELLS else cell


def both_readings(cells: Sequence[str]) -> tuple[str, ...]:
    """These cells, and those with limiters in the other reading, too."""
    return tuple(dict.fromkeys(read(cell, reading) for reading in READINGS for cell in cells))


def readings(cells: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Readings, cells by name and as they are in the reading; those without limiters once."""
    for reading in READINGS:
        for cell in cells:
            own = read(cell, reading)
            if own != cell or not READINGS[reading]:
                yield reading, cell, own


def cells_named(cells: Collection[str]) -> list[str]:
    """What a page says of the names of its cells."""
    red = "ECN-RED: switches mark packets by an average of the queue, and TCP answers a mark as it does a loss."
    qcn = (
        "QCN 20 and QCN 66: switches tell the adapters of senders how far a queue is above a set point of 20 or 66 KB "
        "and how fast it grows (IEEE 802.1Qau), and these limit their rates."
    )
    found = [ALL_CELLS[cell] for cell in cells]
    return [*([red] if any(c.red for c in found) else []), *([qcn] if any(c.qcn for c in found) else [])]


def cells_remarks(cells: Collection[str], *, pfc: bool) -> list[str]:
    """What a page says of its cells: with PFC where schemes are alike; how limiters are shared where that is varied."""
    alike = (
        "With PFC nothing is lost; where TCP hears of no mark (no marking, QCN) and has no timeout either, NewReno and "
        "CUBIC never leave slow start, and their numbers are the same."
    )
    shared = (
        "The study does not say what shares a rate limiter of QCN: by default the frames of an adapter to one host; "
        f"variant limiter per adapter, rows with {_ONE_LIMITER}: all that an adapter sends, the standard's default."
    )
    varied = any(ALL_CELLS[cell].limiter == "nic" for cell in cells)
    return [*cells_named(cells), *([alike] if pfc else []), *([shared] if varied else [])]


def limiters(reading: str) -> str:
    """What a statement about several cells adds in a reading: nothing in the default."""
    return f", QCN with {_ONE_LIMITER}" if READINGS[reading] else ""


SCHEMES: Final[Mapping[str, Scheme]] = {
    "new_reno": NewReno(halving="window"),
    "cubic": Cubic(form="freebsd2011"),
    "vegas": Vegas(arithmetic="ticks"),
}
TITLES: Final = {"new_reno": "NewReno", "cubic": "CUBIC", "vegas": "Vegas"}


def when(pfc: object) -> str:
    """Whether a run has PFC, as statements say it."""
    return "with PFC" if pfc else "without PFC"


def pfc_title(pfc: object) -> str:
    """Whether a run has PFC, as tables say it."""
    return "PFC" if pfc else "no PFC"


def run_title(cell: object, scheme: object, pfc: object, titles: Mapping[str, str] = TITLES) -> str:
    """What tables call a run by its place among the measured values: scheme, cell and PFC, as statements do."""
    return f"{titles[str(scheme)]}, {ALL_CELLS[str(cell)].title}, {pfc_title(pfc)}"


KNOBS: Final[Mapping[str, Mapping[str, Any]]] = {
    "study": {},
    "rto_initial_3s": {"rto_initial": "3s"},
    "slop_200ms": {"rto_slop": "200ms"},
    "ack_delay_100ms": {"ack_delay": "100ms"},
    "rto_min_30ms": {"rto_min": "30ms"},
    "clock_1ms": {"clock": "1ms"},
    "no_cache": {"host_cache": False},
    "no_cwnd": {"inherit_cwnd": "off"},
    "half_cwnd": {"inherit_cwnd": "half"},
    "fixed_buffers": {"send_buffer_max": "128KiB", "receive_buffer_max": "128KiB"},
    "stock": {"rto_initial": "3s", "rto_slop": "200ms", "ack_delay": "100ms", "rto_min": "30ms", "clock": "1ms"},
}
"""FreeBSD's own settings in place of the study's, one at a time and together."""

KNOB_TITLES: Final[Mapping[str, str]] = {
    "rto_initial_3s": "first timeout of 3 s",
    "slop_200ms": "slop of 200 ms",
    "ack_delay_100ms": "ACKs delayed by 100 ms",
    "rto_min_30ms": "least timeout of 30 ms",
    "clock_1ms": "clock of 1 ms",
    "no_cache": "no host cache",
    "no_cwnd": "windows not inherited",
    "half_cwnd": "half of windows inherited",
    "fixed_buffers": "buffers of 128 KiB",
    "stock": "FreeBSD's own timers and clock",
}

SIZES: Final = (10, 20, 40)
"""Messages of queries, KiB."""


def switch(cell: str, *, pfc: bool) -> Switch:
    """A switch: 100 KB a port, charged to the port frames came by with PFC, to the one they leave by without."""
    kind = ALL_CELLS[cell]
    return Switch(
        buffer=f"{PORT}B",
        model="per_port",
        pfc=Pfc(enabled=pfc, xoff=f"{XOFF}B", xon=f"{XON}B"),
        ecn=Ecn(enabled=False),
        red=Red(enabled=kind.red, weight=kind.red_weight),
        qcn=Qcn(
            enabled=kind.qcn > 0,
            set_point=f"{kind.qcn or 20_480}B",
            weight=kind.qcn_weight,
            average_shift=9 if kind.averaged else 0,
            exempt_syn=kind.exempt_syn,
        ),
    )


FRAMING: Final = Framing(
    preset="ethernet",
    payload=f"{PAYLOAD}B",
    header=f"{FRAME - PAYLOAD}B",
    ack_header="52B",
    min_frame="64B",
    pfc_frame="64B",
    wire_overhead="0B",
)
"""Frames of 1500 bytes that take 1.2 µs, as the study counts them."""


def stack(cell: str, knob: str = "study") -> Tcp:
    """TCP of a cell. Connections inherit the last one's window as it was: the study says no more than that they do."""
    return Tcp(**{"stack": "freebsd", "ecn": ALL_CELLS[cell].red, "inherit_cwnd": "full", **KNOBS[knob]})


def host(cell: str, tcp: Tcp | None = None, adapter: Adapter | None = None) -> Host:
    """A host: FreeBSD's TCP with the study's timers, and an adapter of 512 KB; they take 67 µs of a round trip."""
    kind = ALL_CELLS[cell]
    return Host(
        tcp=stack(cell) if tcp is None else tcp,
        adapter=Adapter(enabled=True) if adapter is None else adapter,
        qcn=HostQcn(limiter=kind.limiter, reaction="window" if kind.to_window else "limiter"),
    )


def many_to_one(
    name: str,
    cell: str,
    scheme: Scheme,
    workloads: Sequence[Workload],
    *,
    senders: int,
    tree: Xgft | None = None,
    pfc: bool,
    stop_us: int,
    sample_us: float,
    follow: Sequence[int] = (),
    adapter: Adapter | None = None,
    beside: Mapping[str, Scheme] | None = None,
) -> Scenario:
    """A run in which hosts send to one: hosts 0 to ``senders`` at one switch of 10 Gb/s ports, the last receives.

    ``tree``: hosts of this network instead, of which 0 is the receiver. ``beside``: further schemes.
    """
    return Scenario(
        name=name,
        topology=tree or Star(hosts=senders + 1, host_rate="10Gbps", link_delay="0s"),
        framing=FRAMING,
        switch=switch(cell, pfc=pfc),
        host=host(cell, adapter=adapter),
        run=Run(stop=f"{stop_us}us", stall="10s"),
        records=Records(
            queues="port",
            series=Series(
                interval=f"{sample_us:g}us",
                samples=20_000,
                busiest=0,
                ports=[f"{math.prod(tree.children)}:0" if tree else f"{senders + 1}:{senders}"],
                flows=list(follow),
            ),
        ),
        schemes={"tcp": scheme, **(beside or {})},
        workloads=list(workloads),
    )
