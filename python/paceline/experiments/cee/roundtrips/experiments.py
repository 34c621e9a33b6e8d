"""E7, E19 and E25: round-trip times that move, that are long, and that differ from flow to flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from paceline import plot
from paceline.experiments.cee.measures import facts
from paceline.experiments.cee.roundtrips import rules
from paceline.experiments.cee.roundtrips.runs import (
    BURST_BYTES,
    BURST_US,
    RTTS_US,
    Bursts,
    Distant,
    Mixed,
    bursts,
    by_case,
    delays_us,
    distant,
    measure,
    mixed,
    table,
)
from paceline.experiments.cee.setup import CELLS, TITLES, cells_named, when
from paceline.experiments.cee.study import Plan, experiment, seeds
from paceline.plot import multiples
from paceline.reproduce.claims import at, intervals, told
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown
from paceline.sweeps.points import Point, Runs


def _delays(runs: Runs) -> Iterator[Drawing]:
    series = {}
    for pfc in (0, 1):
        for run in runs.where(kind="bursts", pfc=pfc, seed=1):
            f = facts(run)
            series[when(pfc)] = (f.queue_us * 1e6, delays_us(f.queue_bytes))
    if series:
        figure = plot.timeline(series, "Round trip in the network (µs)", log=True)
        yield Drawing("E7-delay", figure, "Round trip of a small message during incasts of 32 hosts.")


def _over_rtt(runs: Runs) -> Iterator[Drawing]:
    values, bars = measure(runs), intervals(measure, runs, shares=("use",))
    row = []
    for what, name in (("use", "Share of the link used"), ("lost", "Packets lost per 1,000")):
        curves, around = {}, {}
        for cell, scheme in rules.RESPONSES:
            places = {float(rtt): Distant(rtt, cell, scheme).place(what) for rtt in RTTS_US}
            ys = [at(values, *place) for place in places.values()]
            title = TITLES[scheme] + (f", {CELLS[cell].title}" if cell != "base" else "")
            curves[title] = (list(places), ys)
            around[title] = {rtt: bars[place] for rtt, place in places.items() if place in bars}
        ticks = {float(r): f"{r:,g}" for r in RTTS_US}
        axis = "Round trip without queues (µs)"
        row.append(multiples.Chart("", curves, axis, name, ticks, "linear", log_x=True, intervals=around))
    caption = (
        "32 flows without end through one link, over the round trip of the empty network, which the hosts make longer."
    )
    figure = multiples.charts([row])
    yield Drawing("E19-rtt", figure, caption + told(bars, figure))


def _experiment(number: int, title: str, statement: str, rule: Any, plan: Plan, draw: Any, remark: str) -> Experiment:
    def show(runs: Runs, scale: Scale) -> Shown:
        said = remark.format(kilobytes=BURST_BYTES[scale] // 1000, ms=BURST_US[scale] // 1000)
        cells = [str(run.point.key["cell"]) for run in runs if "cell" in run.point.key]
        return Shown(draw(runs), [table(measure(runs), by_case(runs))], [said, *cells_named(cells)])

    return experiment(f"E{number}", title, statement, plan, measure=measure, rule=rule, show=show)


def _incasts(scale: Scale) -> Sequence[Point]:
    return [bursts(Bursts(pfc), scale, seed) for pfc in (False, True) for seed in seeds(scale)]


def _distances(scale: Scale) -> Sequence[Point]:
    rtts = (RTTS_US[0], RTTS_US[-1]) if scale is Scale.TINY else RTTS_US
    return [distant(Distant(rtt, *of), scale, seed) for rtt in rtts for of in rules.RESPONSES for seed in seeds(scale)]


def _mixtures(scale: Scale) -> Sequence[Point]:
    cells = rules.MIXED[:1] if scale is Scale.TINY else rules.MIXED
    kinds: tuple[Literal["mixed_greedy", "mixed_ends"], ...] = ("mixed_greedy", "mixed_ends")
    return [
        mixed(Mixed(kind, cell, scheme), scale, seed)
        for kind in kinds
        for cell in cells
        for scheme in rules.GROWTHS
        for seed in seeds(scale)
    ]


EXPERIMENTS = (
    _experiment(
        7,
        "Round trips that jump",
        "Queueing delay moves a hundred- to a thousandfold within milliseconds, and the timeout's estimator is slow.",
        rules.swing_rule,
        _incasts,
        _delays,
        "32 hosts send {kilobytes} KB each to one at the same instant, five times, {ms} ms apart. The delay is that "
        "of the queue at the receiver's port, sampled every 10 µs, over 2.4 µs of the empty network, without the "
        "stacks' 67 µs.",
    ),
    _experiment(
        19,
        "Control that ignores the round trip",
        "CUBIC and QCN do not react to the round-trip time, and suffer where queues make it long.",
        rules.response_rule,
        _distances,
        _over_rtt,
        "32 hosts to one at one switch without PFC, windows up to 256 KB; the round trip is made longer in the hosts' "
        "stacks.",
    ),
    _experiment(
        25,
        "Growth that ignores the round trip",
        "Whether growth that does not depend on the round-trip time harms is an open question.",
        rules.mixture_rule,
        _mixtures,
        lambda _runs: (),
        "Four hosts near and four with a round trip 1 ms longer (in their links) to one at the same switch.",
    ),
)
