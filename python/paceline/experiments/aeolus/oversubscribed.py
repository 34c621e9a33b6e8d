"""A9: where Aeolus' unscheduled packets are lost in cores that are oversubscribed and in one that is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from paceline.experiments.aeolus.loads import FLAT, WORKLOADS
from paceline.experiments.aeolus.networks import flat_spine_leaf
from paceline.experiments.aeolus.schemes import STACKS, Stack, scenario
from paceline.formats import format_share
from paceline.plot import multiples
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, at, intervals, told, verdicts
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown
from paceline.results import Results
from paceline.scenario import Load, Poisson
from paceline.sweeps.points import KeyValue, Point, Runs, over_seeds
from paceline.tables import Cell, Table
from paceline.words import headed, in_words

SPINES: Final = {1: 8, 2: 4, 4: 2}
"""Spines by how many times the hosts of a leaf have what its uplinks carry: 8 hosts, one uplink to each spine."""

SCHEMES: Final[Mapping[str, Stack]] = {
    "homa_aeolus": FLAT["homa_aeolus"],
    "ndp_aeolus": STACKS["ndp_aeolus"],
    "express_pass_aeolus": STACKS["express_pass_aeolus"],
}
JUDGED: Final = ("homa_aeolus", "ndp_aeolus")
"""Those of which the sentence is; ExpressPass' credits are shaped in the core, too."""

TRAFFIC: Final = {name: WORKLOADS[name] for name in ("webserver", "websearch")}

LOADS: Final[Mapping[str, tuple[float, tuple[int, ...]]]] = {
    "default": (0.2, (1, 2, 4)),
    "load_40": (0.4, (1, 2)),
}
"""Load of the hosts' links by variant, and the networks in which it is run.

Of the hosts that a flow may go to 56 of 63 are at other leaves, so that 0.2 of the hosts' links is 0.18, 0.36 and 0.71
of the uplinks, and 0.4 is 0.36 and 0.71; four to one could not carry that. Control packets and what is sent again come
on top.
"""

_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 3, Scale.PAPER: 5}


def plan(scale: Scale) -> Sequence[Point]:
    """The same flows in each network; switches, transports and sizes are those of A5."""
    found = []
    for variant, (load, ratios) in LOADS.items():
        for workload, of in TRAFFIC.items():
            for ratio in ratios:
                for name, stack in SCHEMES.items():
                    arrivals = Poisson(
                        sizes=of.sizes,
                        max_flows=of.flows[scale],
                        duration="100s",
                        load=Load(value=load, bytes="wire", of="host", mean="nominal"),
                    )
                    net = flat_spine_leaf(SPINES[ratio])
                    run = scenario(f"A9-{workload}-{name}-{ratio}", stack, net, [arrivals], buffer="200KB")
                    key: dict[str, KeyValue] = {
                        "workload": workload,
                        "scheme": name,
                        "oversubscribed": ratio,
                        "variant": variant,
                    }
                    found += over_seeds(run, key, _SEEDS[scale])
    return found


@dataclass(frozen=True)
class Losses:
    """Packets of a run that were lost at the ports of switches, by where."""

    sent: Mapping[str, int]
    """Unscheduled and scheduled packets sent."""
    core: Mapping[str, int]
    """Lost on the way to or from a spine."""
    last: Mapping[str, int]
    """Lost on the way to a host."""


def losses(results: Results) -> Losses:
    """Reads a run. ``scheduled`` is data alone: packets without payload are left out."""
    counters, links = results.summary["counters"], results.links
    tiers = links["tier"].astype(str)
    to_host = np.char.endswith(tiers, "->host")
    unscheduled = links["drops_unscheduled"].astype(np.int64)
    scheduled = links["drops_buffer"].astype(np.int64) - unscheduled - links["drops_control"].astype(np.int64)

    def lost(where: np.ndarray) -> dict[str, int]:
        return {"unscheduled": int(unscheduled[where].sum()), "scheduled": int(scheduled[where].sum())}

    first = int(counters["unscheduled_packets"])
    sent = {"unscheduled": first, "scheduled": int(counters["data_packets"]) - first}
    return Losses(sent, core=lost(~to_host), last=lost(to_host))


@lru_cache(maxsize=1024)
def _losses(folder: Path) -> Losses:
    return losses(Results.load(folder))


def measure(runs: Runs) -> Values:
    """Shares lost (%) by variant, workload, scheme and network, the mean over seeds; packets lost in the core."""
    found: dict[Place, float] = {}
    for variant, (_, ratios) in LOADS.items():
        for workload in TRAFFIC:
            for name in SCHEMES:
                for ratio in ratios:
                    chosen = runs.where(variant=variant, workload=workload, scheme=name, oversubscribed=ratio)
                    seen = [_losses(run.folder) for run in chosen]
                    place = (variant, workload, name, ratio)
                    for kind in ("unscheduled", "scheduled") if seen else ():
                        for where in ("core", "last"):
                            shares = [getattr(one, where)[kind] / max(one.sent[kind], 1) for one in seen]
                            found[(*place, kind, where)] = 100 * sum(shares) / len(seen)
                    if seen:
                        found[(*place, "lost")] = sum(one.core["unscheduled"] for one in seen) / len(seen)
    return found


_WHERE: Final = {"core": "in the core", "last": "at the links to hosts"}


def rule(values: Values) -> list[Claim]:
    """Homa and NDP lose unscheduled packets in an oversubscribed core, and more than in one that is not."""
    found = []
    for variant, (load, ratios) in LOADS.items():
        for workload, of in TRAFFIC.items():
            for name, stack in SCHEMES.items():
                judged = name in JUDGED
                for ratio in ratios:
                    place = (variant, workload, name, ratio)
                    said = f"{of.title}, load {load:g}, {stack.title}, {ratio} to 1:"
                    ours = f"{workload}.{name}.{ratio}"
                    for kind in ("unscheduled", "scheduled"):
                        for where, words in _WHERE.items():
                            text = f"{said} {kind} packets lost {words} (%)"
                            value = at(values, *place, kind, where)
                            claim = Claim(f"{ours}.{kind}.{where}", text, value, variant=variant, most=100)
                            found.append(claim)
                    if judged and ratio > 1:
                        text = f"{said} unscheduled packets lost in the core"
                        lost = at(values, *place, "lost")
                        found.append(Claim(f"{ours}.lost", text, lost, judge.above(0), variant=variant, count=True))
                        text = f"{said} unscheduled packets lost in the core, %, less those of 1 to 1"
                        whole = at(values, *place[:3], 1, "unscheduled", "core")
                        more = at(values, *place, "unscheduled", "core") - whole
                        found.append(Claim(f"{ours}.more", text, more, judge.above(0), variant=variant))
    return found


def _drawings(values: Values, bars: Mapping[Place, tuple[float, float]]) -> Iterator[Drawing]:
    load, ratios = LOADS["default"]
    rows = []
    for workload, of in TRAFFIC.items():
        row = []
        for where, words in _WHERE.items():
            places = {
                stack.title: {ratio: ("default", workload, name, ratio, "unscheduled", where) for ratio in ratios}
                for name, stack in SCHEMES.items()
            }
            curves = {
                title: (list(ratios), [at(values, *place) for place in by.values()]) for title, by in places.items()
            }
            around = {
                title: {float(ratio): bars[place] for ratio, place in by.items() if place in bars}
                for title, by in places.items()
            }
            names = ("Hosts' links over uplinks", "Lost (%)")
            ticks = {float(ratio): f"{ratio} to 1" for ratio in ratios}
            title = headed(f"{of.title}, {words}")
            row.append(multiples.Chart(title, curves, *names, ticks, scale="linear", log_x=True, intervals=around))
        rows.append(row)
    caption = (
        f"Unscheduled packets lost, of those sent, by how far the core is oversubscribed; load {load:g} of the hosts' "
        "links in each network. The axes differ."
    )
    figure = multiples.charts(rows)
    yield Drawing("A9-lost", figure, caption + told(bars, figure))


def show(runs: Runs, scale: Scale) -> Shown:
    """Losses by place, and a table with the higher load."""
    values, rows = measure(runs), []
    for variant, (load, ratios) in LOADS.items():
        for workload, of in TRAFFIC.items():
            for name, stack in SCHEMES.items():
                for ratio in ratios:
                    kinds = [(kind, where) for kind in ("unscheduled", "scheduled") for where in _WHERE]
                    cells = [format_share(at(values, variant, workload, name, ratio, *kind) / 100) for kind in kinds]
                    label = f"{stack.title}, {of.title}, load {load:g}, {ratio} to 1"
                    rows.append(tuple(Cell(text) for text in (label, *cells)))
    flows = ", ".join(f"{of.flows[scale]:,} {of.title}" for of in TRAFFIC.values())
    remarks = [
        "8 leaves with 8 hosts each and 8, 4 or 2 spines, all links at 100 Gb/s; transports, buffers (200 KB per port, "
        "threshold 6 KiB) and sizes as in A5.",
        f"Flows of a run: {flows}, the same ones in each network. Load in bytes on the wire, of the hosts' links: "
        "0.2 of these is 0.18, 0.36 and 0.71 of the uplinks, without control packets and what is sent again.",
        f"Variant {in_words('load_40')}: a load of 0.4, which uplinks of 4 to 1 could not carry.",
        "In the core: at ports of leaves to spines and of spines to leaves. Scheduled packets: data alone.",
        "ExpressPass + Aeolus is reported: its credits are shaped in the core, too, and the sentence is not about it.",
    ]
    head = (
        "Scheme, workload, load, network",
        "Unscheduled: core",
        "last link",
        "Scheduled: core",
        "last link",
    )
    bars = intervals(measure, runs.where(variant="default"))
    return Shown(_drawings(values, bars), [Table("Packets lost, of those sent", head, rows)], remarks)


EXPERIMENTS = (
    Experiment(
        id="A9",
        title="Unscheduled packets in oversubscribed cores",
        statement="NDP and Homa assume a core free of congestion: over them Aeolus cannot avoid congestion losses of "
        "unscheduled packets in oversubscribed topologies.",
        source="Aeolus, SIGCOMM 2020, section 6",
        plan=plan,
        judge=lambda runs, scale: verdicts("A9", measure, rule, runs, scale),
        show=show,
    ),
)
