"""E26: where PFC deadlocks, and how far pauses spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from paceline.experiments.cee.measures import facts
from paceline.experiments.cee.setup import FRAMING, pfc_title, switch
from paceline.experiments.cee.study import SOURCE
from paceline.formats import format_number
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, at, verdicts
from paceline.reproduce.model import Experiment, Outcome, Scale, Shown, Verdict
from paceline.scenario import (
    FatTree,
    FlowRow,
    Flows,
    GraphLink,
    GraphTopology,
    Host,
    NoControl,
    Permutation,
    Records,
    Run,
    Scenario,
    Series,
    SynchronousIncast,
)
from paceline.sweeps.points import Point, Runs
from paceline.tables import Cell, Table

RING: Final = 5
"""Switches in the ring: in a smaller one no shortest path goes two links one way round for all."""

_BYTES: Final = {Scale.TINY: 400_000, Scale.QUICK: 4_000_000, Scale.PAPER: 20_000_000}


def ring() -> GraphTopology:
    """Switches in a ring, two hosts at each."""
    hosts = [f"h{i}" for i in range(2 * RING)]
    switches = [f"s{i}" for i in range(RING)]
    links = [GraphLink(a=h, b=f"s{i // 2}", rate="10Gbps", delay="0s") for i, h in enumerate(hosts)]
    links += [GraphLink(a=f"s{i}", b=f"s{(i + 1) % RING}", rate="10Gbps", delay="0s") for i in range(RING)]
    return GraphTopology(hosts=hosts, switches=switches, links=links)


def _scenario(name: str, topology: Any, workloads: Sequence[Any], *, pfc: bool) -> Scenario:
    return Scenario(
        name=name,
        topology=topology,
        framing=FRAMING,
        switch=switch("base", pfc=pfc),
        host=Host(rto="5ms"),
        run=Run(stall="20ms", stop="3s"),
        records=Records(series=Series(interval="50us", busiest=2)),
        schemes={"none": NoControl(window="off")},
        workloads=list(workloads),
    )


def plan(scale: Scale) -> Sequence[Point]:
    """The ring with and without PFC, a fat tree with PFC."""
    size, hosts = f"{_BYTES[scale]}B", 2 * RING
    around = Flows(rows=[FlowRow(src=h, dst=(h + 4) % hosts, bytes=size) for h in range(hosts)])
    tree = FatTree(k=4, host_rate="10Gbps", fabric_rate="10Gbps", link_delay="0s")
    crowd = [SynchronousIncast(senders=15, receiver=0, sizes=size), Permutation(sizes=size, shift=5)]
    made = {
        ("ring", 1): _scenario("ring-pfc", ring(), [around], pfc=True),
        ("ring", 0): _scenario("ring", ring(), [around], pfc=False),
        ("tree", 1): _scenario("tree-pfc", tree, crowd, pfc=True),
    }
    return [Point(scenario=s, key={"network": network, "pfc": pfc}) for (network, pfc), s in made.items()]


def measure(runs: Runs) -> Values:
    """Deadlock, losses and depth by network and PFC."""
    found: dict[Place, float] = {}
    for run in runs:
        f, place = facts(run), (str(run.point.key["network"]), float(run.point.key["pfc"]))
        deadlock = f.status == "stalled" and "PFC deadlock" in f.diagnosis
        found[(*place, "deadlock")] = float(deadlock)
        for what in ("drops", "lossless_drops", "pauses", "unfinished", "depth", "cycle"):
            found[(*place, what)] = float(getattr(f, what))
    return found


def rule(values: Values) -> list[Claim]:
    """E26."""
    on, off, tree = ("ring", 1.0), ("ring", 0.0), ("tree", 1.0)
    return [
        Claim("ring", "a ring with PFC deadlocks", at(values, *on, "deadlock"), judge.between(1, 1), yes_no=True),
        Claim("ring_cycle", "the samples show the cycle", at(values, *on, "cycle"), judge.between(1, 1), yes_no=True),
        Claim(
            "ring_depth",
            "links that wait for each other, and those before them",
            at(values, *on, "depth"),
            judge.at_least(RING),
        ),
        Claim(
            "ring_drops", "packets lost in the ring with PFC", at(values, *on, "drops"), judge.at_most(0), count=True
        ),
        Claim(
            "ring_off", "a ring without PFC deadlocks", at(values, *off, "deadlock"), judge.between(0, 0), yes_no=True
        ),
        Claim(
            "ring_off_unfinished",
            "flows unfinished without PFC",
            at(values, *off, "unfinished"),
            judge.at_most(0),
            count=True,
        ),
        Claim(
            "tree",
            "a fat tree with PFC deadlocks, or leaves flows unfinished",
            at(values, *tree, "deadlock") + at(values, *tree, "unfinished"),
            judge.between(0, 0),
            yes_no=True,
        ),
        Claim("tree_drops", "packets lost in the fat tree", at(values, *tree, "drops"), judge.at_most(0), count=True),
        Claim(
            "tree_depth",
            "longest chain of paused links in the fat tree",
            at(values, *tree, "depth"),
            judge.between(2, 6),
        ),
    ]


def _judge(runs: Runs, scale: Scale) -> list[Verdict]:
    """Nothing here is left to chance: one run decides, at every scale."""
    found = []
    for v, claim in zip(verdicts("E26", measure, rule, runs, scale), rule(measure(runs)), strict=True):
        found.append(replace(v, verdict=Outcome.PASS if claim.holds else Outcome.FAIL))
    return found


def table(values: Values) -> Table:
    """The numbers of :func:`measure`."""
    rows = []
    for network, pfc in dict.fromkeys((key[0], key[1]) for key in values):
        found = ["yes" if values[network, pfc, p] else "no" for p in ("deadlock", "cycle")]
        found += [format_number(values[network, pfc, p]) for p in ("depth", "pauses", "drops", "unfinished")]
        rows.append((Cell(f"{network}, {pfc_title(pfc)}"), *map(Cell, found)))
    head = ("Network", "Deadlock", "Cycle seen", "Depth, links", "Pause frames", "Drops", "Flows unfinished")
    return Table("Deadlocks and saturation trees", head, rows)


def _show(runs: Runs, _scale: Scale) -> Shown:
    remarks = [
        "A ring of five switches, each host sends to one two switches on. In a ring of three, shortest paths never "
        "go two links one way."
    ]
    return Shown((), [table(measure(runs))], remarks)


EXPERIMENTS = (
    Experiment(
        id="E26",
        title="Deadlocks and saturation trees",
        statement="PFC deadlocks in topologies with cycles; elsewhere pauses spread as saturation trees.",
        source=SOURCE,
        plan=plan,
        judge=_judge,
        show=_show,
    ),
)
