"""C1: HPCC, DCTCP, NDP, Homa and ExpressPass side by side, the last three with Aeolus as well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from paceline.experiments.aeolus.schemes import AEOLUS_OF
from paceline.experiments.comparison.measures import FEWEST_P99, KINDS, SPANS, BySize, by_size, losses, measure
from paceline.experiments.comparison.setup import (
    BUFFER,
    GOODPUT_LOAD,
    GOODPUT_WORKLOAD,
    LOADS,
    SCHEMES,
    WINDOWS,
    WORKLOADS,
    plan,
)
from paceline.formats import format_bytes, format_number, format_share, format_size, format_slowdown
from paceline.plot import SIZE_AXIS, multiples
from paceline.reproduce.claims import Claim, Place, Values, at, intervals, told, verdicts
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown
from paceline.sweeps.points import Runs
from paceline.tables import Cell, Table

TITLES: Final = {name: stack.title for name, stack in SCHEMES.items()}
GOODPUT_TITLE: Final = WORKLOADS[GOODPUT_WORKLOAD].lower()
NAN: Final = float("nan")
LOSSES: Final = {
    "unscheduled": "Unscheduled lost",
    "others": "Others lost",
    "trimmed": "Trimmed",
    "again": "Sent again",
    "timeouts": "Timeouts",
    "pauses": "Pauses",
    "credits_lost": "Credits lost",
    "buffer": "Most in a switch",
}
SHARES: Final = ("unscheduled", "others", "trimmed", "again")


def rule(values: Values) -> list[Claim]:
    """Nobody published these numbers: all are reports."""
    found = []
    for workload, title in WORKLOADS.items():
        for load in LOADS:
            for scheme in SCHEMES:
                for span in SPANS:
                    for kind in ("mean", "p99"):
                        text = f"{title}, load {load:g}, {TITLES[scheme]}: {kind} slowdown of {SPANS[span]}"
                        flows = at(values, workload, load, scheme, span, "flows")
                        few = kind == "p99" and flows < FEWEST_P99
                        text += f" ({flows:.0f} flows: the largest)" if few else ""
                        value = at(values, workload, load, scheme, span, kind)
                        found.append(Claim(f"{workload}{round(load * 100)}.{scheme}.{span}.{kind}", text, value))
    for scheme in SCHEMES:
        text = f"{TITLES[scheme]}: goodput at {GOODPUT_TITLE}, load {GOODPUT_LOAD:g}"
        found.append(Claim(f"goodput.{scheme}", text, at(values, "goodput", GOODPUT_LOAD, scheme)))
    return found


def _shown(values: Values, workload: str, load: float, scheme: str, span: str, kind: str) -> float:
    """A value of :func:`measure` for figures and tables: none for the p99 of too few flows."""
    few = at(values, workload, load, scheme, span, "flows") < FEWEST_P99
    return NAN if kind == "p99" and few else at(values, workload, load, scheme, span, kind)


def _few(values: Values, spans: Sequence[str]) -> str:
    """A sentence on p99s that are not shown; empty where all are."""
    counts = [count for place, count in values.items() if place[-1] == "flows" and place[-2] in spans]
    return f" No p99 of fewer than {FEWEST_P99} flows." if min(counts, default=FEWEST_P99) < FEWEST_P99 else ""


_Ends = Mapping[str, tuple[float, float]]
_ALIKE: Final = " Mean, median and p99 each have one axis, here and in the other figure over {}."


def _ends(found: Mapping[str, Iterable[float]]) -> _Ends:
    """From where to where the axes of a kind go, in all charts that are to be compared."""
    seen = {kind: [v for v in values if math.isfinite(v)] or [1.0, 2.0] for kind, values in found.items()}
    return {kind: (min(1.0, *values), max(values)) for kind, values in seen.items()}


def _over_sizes(runs: Runs) -> Iterator[Drawing]:
    found = {(workload, load): by_size(runs, workload, load) for load in LOADS[1:] for workload in WORKLOADS}
    ends = _ends({k: [v for _, of in found.values() for each in of[k].values() for v in each] for k in KINDS})
    yield from (
        _over_size({workload: found[workload, load] for workload in WORKLOADS}, load, ends) for load in LOADS[1:]
    )


def _over_size(of: Mapping[str, BySize], load: float, ends: _Ends) -> Drawing:
    rows = []
    for workload, title in WORKLOADS.items():
        bins, found = of[workload]
        at = [float(x) for x in bins.position]
        ticks = {
            x: format_size(size) for x, size in list(zip(at, bins.upper_bytes.tolist(), strict=True))[1 :: len(at) // 4]
        }
        rows.append(
            [
                multiples.Chart(
                    f"{title}, load {load:g}: {KINDS[kind]}",
                    {TITLES[scheme]: (at, values.tolist()) for scheme, values in found[kind].items()},
                    SIZE_AXIS,
                    "Slowdown",
                    ticks,
                    between=ends[kind],
                    nothing=f"fewer than {FEWEST_P99} flows per point",
                )
                for kind in KINDS
            ]
        )
    caption = (
        f"Slowdown by tenth of the flow sizes, load {load:g}; each point stands for flows up to its size, "
        f"that of a p99 for at least {FEWEST_P99} of them.{_ALIKE.format('size')}"
    )
    return Drawing(f"C1-sizes-{round(load * 100)}", multiples.charts(rows, AEOLUS_OF), caption)


def _over_load(values: Values, bars: Mapping[Place, tuple[float, float]], span: str) -> Drawing:
    def around(workload: str, scheme: str, kind: str) -> dict[float, tuple[float, float]]:
        places = {load: (workload, load, scheme, span, kind) for load in LOADS}
        return {load: bars[place] for load, place in places.items() if place in bars}

    places = list(product(WORKLOADS, LOADS, SCHEMES, SPANS))
    ends = _ends({kind: [_shown(values, *place, kind) for place in places] for kind in KINDS})
    rows = [
        [
            multiples.Chart(
                f"{title}, {SPANS[span]}: {KINDS[kind]}",
                {
                    TITLES[scheme]: (LOADS, [_shown(values, workload, load, scheme, span, kind) for load in LOADS])
                    for scheme in SCHEMES
                },
                "Offered load, share of the links",
                "Slowdown",
                between=ends[kind],
                nothing=f"fewer than {FEWEST_P99} flows",
                intervals={TITLES[scheme]: around(workload, scheme, kind) for scheme in SCHEMES},
            )
            for kind in KINDS
        ]
        for workload, title in WORKLOADS.items()
    ]
    figure = multiples.charts(rows, AEOLUS_OF)
    whiskers = told(bars, figure)
    caption = f"Slowdown over load, {SPANS[span]}.{_few(values, [span])}{whiskers}{_ALIKE.format('load')}"
    return Drawing(f"C1-loads-{span}", figure, caption)


def _drawings(runs: Runs, values: Values) -> Iterator[Drawing]:
    bars = intervals(measure, runs, pooled=True, shares=("goodput",))
    yield from (_over_load(values, bars, span) for span in ("small", "all"))
    yield from _over_sizes(runs)
    goodput = {TITLES[scheme]: at(values, "goodput", GOODPUT_LOAD, scheme) for scheme in SCHEMES}
    caption = (
        f"Payload delivered, each byte once, as a share of the hosts' links; {GOODPUT_TITLE}, load {GOODPUT_LOAD:g}."
        f"{told(bars)}"
    )
    ends = {TITLES[scheme]: bars[place] for scheme in SCHEMES if (place := ("goodput", GOODPUT_LOAD, scheme)) in bars}
    figure = multiples.bars(goodput, "Goodput, share of the links", AEOLUS_OF, ends)
    yield Drawing("C1-goodput", figure, caption)


def _tables(runs: Runs, values: Values) -> Iterator[Table]:
    for workload, span in ((workload, span) for workload in WORKLOADS for span in ("small", "all")):
        rows = []
        for scheme in SCHEMES:
            cells = [TITLES[scheme]]
            for load in LOADS:
                trio = (_shown(values, workload, load, scheme, span, kind) for kind in KINDS)
                cells.append(" / ".join(format_slowdown(value) for value in trio))
            rows.append(tuple(Cell(text) for text in cells))
        few = {place: count for place, count in values.items() if place[0] == workload}
        dash = f"; a dash where fewer than {FEWEST_P99} flows give no p99" if _few(few, [span]) else ""
        head = ("Scheme", *(f"load {load:g}" for load in LOADS))
        yield Table(f"{WORKLOADS[workload]}, {SPANS[span]}: slowdown, mean / median / p99{dash}", head, rows)
    for workload, title in WORKLOADS.items():
        rows = []
        for scheme in SCHEMES:
            found = losses(runs, workload, LOADS[-1], scheme)
            numbers = [_number(name, found.get(name, NAN)) for name in LOSSES]
            rows.append(tuple(Cell(text) for text in (TITLES[scheme], *numbers)))
        yield Table(
            f"{title}, load {LOADS[-1]:g}: losses; shares of the data packets", ("Scheme", *LOSSES.values()), rows
        )
    rows = [(Cell(TITLES[scheme]), Cell(f"{at(values, 'goodput', GOODPUT_LOAD, scheme):.3f}")) for scheme in SCHEMES]
    yield Table(f"Goodput, {GOODPUT_TITLE}, load {GOODPUT_LOAD:g}", ("Scheme", "Share of the hosts' links"), rows)


def _number(name: str, value: float) -> str:
    if name == "buffer":
        return format_bytes(value)
    return format_share(value / 100) if name in SHARES else format_number(value)


def show(runs: Runs, scale: Scale) -> Shown:
    """Slowdown over load and size, goodput, and what was lost."""
    values, window = measure(runs), WINDOWS[scale]
    spans = {name: (window.arrivals_us[name] / 1000, window.warmup_us[name] / 1000) for name in WORKLOADS}
    arrivals = "; ".join(
        f"{title}: {of:g} ms of arrivals, measured from {since:g} ms on"
        for title, (of, since) in zip(WORKLOADS.values(), spans.values(), strict=True)
    )
    first, last = window.goodput_us
    remarks = [
        "4 spines, 9 leaves, 144 hosts at 100 Gb/s, 400 Gb/s between switches, 0.2 µs per link, 0.25 µs through a "
        "switch: a round trip of 3.4 µs, nothing oversubscribed.",
        f"{BUFFER.replace('KB', ' KB')} per port, no PFC; NDP's ports trim, with 8 packets of data and the room of 8 "
        "for headers. Ethernet frames with 1,460 B of payload; HPCC's carry up to 42 B of telemetry besides.",
        "FCT: creation to the last byte at the receiver. Slowdown: over line rate through the empty network on the "
        "same path. All schemes have the same flows.",
        f"{arrivals}. Every flow finishes; after the arrivals the load falls.",
        f"Goodput: payload delivered from {first / 1000:g} to {last / 1000:g} ms after an empty start.",
        "HPCC, DCTCP and ExpressPass keep a flow on one path; NDP and Homa spray packets over all.",
    ]
    return Shown(_drawings(runs, values), list(_tables(runs, values)), remarks)


EXPERIMENTS = (
    Experiment(
        id="C1",
        title="Transports of five families side by side",
        statement="No claim: HPCC, DCTCP, NDP, Homa and ExpressPass, plain and over Aeolus, with the same flows, "
        "network, frames and buffers.",
        source="no publication",
        plan=plan,
        judge=lambda runs, scale: verdicts("C1", measure, rule, runs, scale, pooled=True),
        show=show,
    ),
)
