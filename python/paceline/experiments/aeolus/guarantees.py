"""A6 to A8: what Aeolus promises, counted packet by packet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from paceline.experiments.aeolus import goodput, incast, loads, timeouts
from paceline.experiments.aeolus.measures import facts
from paceline.experiments.aeolus.networks import single_switch
from paceline.experiments.aeolus.schemes import STACKS, Stack, scenario
from paceline.reproduce import judge
from paceline.reproduce.model import Experiment, Scale, Shown, Verdict
from paceline.scenario import ExpressPass, FlowRow, Flows, Framing, Scenario, SynchronousIncast
from paceline.sweeps.points import Point, Run, Runs, over_seeds
from paceline.tables import Cell, Table
from paceline.words import in_words

SOURCE: Final = "Aeolus, SIGCOMM 2020, section 6"


def _express_pass(**settings: object) -> Stack:
    stack = STACKS["express_pass_aeolus"]
    assert isinstance(stack.scheme, ExpressPass)
    return replace(stack, scheme=replace(stack.scheme, **settings))  # type: ignore[arg-type]


# ---- A6: room for probes.

NEW_FLOWS, MOST_FLOWS, HOSTS = 3000, 3100, 256
"""New flows: as a round number, and as many as the paper says that a buffer has room for."""

_SEEDS: Final = 5
"""What arrives at one instant is put in order by the seed."""

BUFFER, THRESHOLD = "200KiB", "6KiB"


@dataclass(frozen=True)
class Crowd:
    """Many new flows at once; whether it is claimed that none needs a timeout."""

    stack: Stack
    flow_bytes: int
    claimed: bool
    variant: str = "default"
    flows: int = NEW_FLOWS

    @property
    def title(self) -> str:
        """What its flows are."""
        return f"{self.flow_bytes:,} B, {self.stack.title}"


CROWDS: Final[Mapping[str, Crowd]] = {
    # The probe carries the request: a packet of its own for that would take the same room again.
    "express_pass": Crowd(_express_pass(request_in_probe=True), 64_000, claimed=True),
    "express_pass_short": Crowd(_express_pass(request_in_probe=True), 1460, claimed=True),
    "ndp_short": Crowd(STACKS["ndp_aeolus"], 1460, claimed=True),
    "ndp": Crowd(STACKS["ndp_aeolus"], 64_000, claimed=False),
    "homa": Crowd(STACKS["homa_aeolus"], 64_000, claimed=False),
    "express_pass_apart": Crowd(_express_pass(), 1460, claimed=False, variant="request_apart"),
    "express_pass_most": Crowd(
        _express_pass(request_in_probe=True), 1460, claimed=False, variant="flows_3100", flows=MOST_FLOWS
    ),
    "ndp_most": Crowd(STACKS["ndp_aeolus"], 1460, claimed=False, variant="flows_3100", flows=MOST_FLOWS),
}


def plan_a6(_scale: Scale) -> Sequence[Point]:
    """3,000 flows, and 3,100, from 255 hosts to one, all at the same instant."""
    found = []
    for name, crowd in CROWDS.items():
        flows = SynchronousIncast(senders=crowd.flows, receiver=HOSTS - 1, sizes=f"{crowd.flow_bytes}B")
        run = scenario(
            f"A6-{name}", crowd.stack, single_switch(HOSTS), [flows], buffer=BUFFER, threshold=THRESHOLD, queues=True
        )
        found += over_seeds(run, {"crowd": name}, _SEEDS)
    return found


def judge_a6(runs: Runs, _scale: Scale) -> list[Verdict]:
    """Flows that finished, timeouts, and packets lost besides unscheduled ones, over all seeds."""
    room = (200 - 6) * 1024 // 64
    found = [
        judge.report("A6.room", "Probes of 64 bytes in a buffer of 200 KiB above a threshold of 6 KiB", 3100, room)
    ]
    for name, crowd in CROWDS.items():
        chosen = runs.where(crowd=name)
        seen = [facts(run) for run in chosen]
        finished = sum(run.results().flow_counts()["finished"] for run in chosen)
        title = f"{crowd.flows:,} new flows of {crowd.title}, {len(chosen)} seeds together"
        values = {"finished": (finished, crowd.flows * len(chosen)), "timeouts": (sum(f.timeouts for f in seen), 0)}
        values["other_drops"] = (sum(f.scheduled_drops for f in seen), 0)
        for what, (value, claimed) in values.items():
            text = f"{title}: {what.replace('_', ' ')}"
            text = text.replace("other drops", "packets lost that are not unscheduled data")
            if crowd.claimed:
                found.append(judge.exact(f"A6.{name}.{what}", text, claimed, value, variant=crowd.variant))
            else:
                found.append(judge.report(f"A6.{name}.{what}", text, None, value, variant=crowd.variant))
    return found


def show_a6(runs: Runs, _scale: Scale) -> Shown:
    """How full the buffer was."""
    rows: list[tuple[Cell, ...]] = []
    for name, crowd in CROWDS.items():
        title = crowd.title + ("" if crowd.variant == "default" else f", {in_words(crowd.variant)}")
        most = max(int(run.results().summary["counters"]["max_buffer_bytes"]) for run in runs.where(crowd=name))
        rows.append((Cell(title), Cell(f"{most:,}")))
    remarks = [
        f"{NEW_FLOWS:,} flows from {HOSTS - 1} hosts, buffers counting frame bytes, KB of 1,024 bytes; the probe "
        "carries ExpressPass' request.",
        "Variants: request apart, the request is a packet of its own, as long as a probe; flows 3100, as many flows as "
        f"the paper says that probes have room for ({MOST_FLOWS:,}).",
        "One-packet flows for NDP: longer ones pull as soon as a first packet is through, and pulled packets meet the "
        "probes of the others.",
    ]
    fullest = Table("How full the buffer was, of all seeds", ("Flows", "Most bytes in the switch"), rows)
    return Shown(tables=[fullest], remarks=remarks)


# ---- A7: scheduled packets are safe; the first round trip is used.

_SOURCES: Final[tuple[Callable[[Scale], Sequence[Point]], ...]] = (
    timeouts.plan_a1,
    timeouts.plan_a2,
    incast.plan,
    goodput.plan,
    loads.plan,
)
_SAFE: Final = ("express_pass_aeolus", "ndp_aeolus", "homa_aeolus")

_FORGETS: Final = "aeolus_rto_40us"
"""Homa + Aeolus that asks again after 40 µs forgets grants that are under way: a variant of figure 17, no promise."""

IDLE: Final[Mapping[str, Stack]] = {
    "wait": replace(STACKS["express_pass"], scheme=ExpressPass(credit_spread="0B", jitter=0.0)),
    "in_probe": _express_pass(request_in_probe=True),
    "ahead": _express_pass(),
}
_LINK_PS, _CONTROL_PS = 1_000_000, 84 * 80
"""One link's delay, and how long 84 bytes take at 100 Gb/s."""

ROUND_TRIP_PS: Final = 2 * (2 * _LINK_PS + 2 * _CONTROL_PS)
"""A control packet there and one back, through one switch."""


def plan_a7(scale: Scale) -> Sequence[Point]:
    """Every run with Aeolus that other results need, and one packet on an idle path."""
    found = [point for source in _SOURCES for point in source(scale) if point.key["scheme"] in _SAFE]
    flow = Flows(rows=[FlowRow(src=0, dst=1, bytes="1460B")])
    for name, stack in IDLE.items():
        run = scenario(f"A7-{name}", stack, single_switch(2), [flow], buffer="200KB")
        found.append(Point(scenario=run, key={"idle": name}))
    return found


def _idle_ps(run: Run) -> int:
    return int(run.results().flows["fct_receiver_ps"][0])


def judge_a7(runs: Runs, _scale: Scale) -> list[Verdict]:
    """Scheduled packets lost over all runs, and what the first round trip saves."""
    found = []
    for name in _SAFE:
        title = STACKS[name].title
        mine = [(facts(run), run.point.key["variant"] == _FORGETS) for run in runs.where(scheme=name)]
        chosen, apart = ([fact for fact, forgets in mine if forgets is wanted] for wanted in (False, True))
        which = f"all its runs of A1 to A5{', but for those with repair after 40 µs' if apart else ''}"
        text = f"{title}: scheduled and control packets lost in {which}"
        found.append(judge.exact(f"A7.{name}.scheduled_drops", text, 0, sum(fact.scheduled_drops for fact in chosen)))
        text = f"{title}: unscheduled packets lost in the same runs"
        dropped = sum(fact.unscheduled_drops for fact in chosen)
        found.append(judge.report(f"A7.{name}.unscheduled_drops", text, None, dropped))
        if apart:
            text = f"{title}, repair after 40 µs: scheduled and control packets lost in its runs of A3"
            lost = sum(fact.scheduled_drops for fact in apart)
            found.append(judge.report(f"A7.{name}.scheduled_drops", text, None, lost, variant=_FORGETS))
    fct = {name: _idle_ps(runs.one(idle=name)) for name in IDLE}
    text = "One packet on an idle path: what ExpressPass + Aeolus saves, ps, which should be a control round trip"
    found.append(judge.exact("A7.idle.in_probe", text, ROUND_TRIP_PS, fct["wait"] - fct["in_probe"]))
    text = (
        "One packet on an idle path, the request sent before the burst: what ExpressPass + Aeolus saves, ps, which "
        "should be a control round trip less that packet"
    )
    saved = fct["wait"] - fct["ahead"]
    found.append(judge.exact("A7.idle.ahead", text, ROUND_TRIP_PS - _CONTROL_PS, saved, variant="request_apart"))
    return found


# ---- A8: ACKs for unscheduled packets only.

BURST_BYTES, PACKET_BYTES, PROBE_BYTES = 125_000, 1500, 64
BUDGET: Final = -(-BURST_BYTES // PACKET_BYTES)


def _acks(stack: Stack, name: str) -> Scenario:
    """One flow of 1 MB over 10 µs of round trip, in packets of 1500 bytes on the wire."""
    size = f"{PACKET_BYTES - 58}B"
    return scenario(
        f"A8-{name}",
        stack,
        single_switch(2, "2500ns"),
        [Flows(rows=[FlowRow(src=0, dst=1, bytes="1MB")])],
        buffer="200KB",
        framing=Framing(preset="ethernet", payload=size, wire_overhead="0B"),
    )


BURSTS: Final[Mapping[str, Stack]] = {
    "whole": _express_pass(first_bytes=f"{BURST_BYTES}B", stop="never"),
    "stopped": _express_pass(first_bytes=f"{BURST_BYTES}B"),
    "none": STACKS["express_pass"],
}


def plan_a8(_scale: Scale) -> Sequence[Point]:
    """A long flow alone, its burst stopped by the first credit or not, and without a burst."""
    return [Point(scenario=_acks(stack, name), key={"burst": name}) for name, stack in BURSTS.items()]


def answers(run: Run) -> int:
    """Control packets of the receiver, credits and answers to probes aside."""
    results = run.results()
    links, counters = results.links, results.summary["counters"]
    sent = int(np.sum(links["control_packets"][links["node"] == 1]))
    return sent - int(counters["permits"]) - int(counters["probes"])


def told_bytes(run: Run) -> int:
    """Bytes of the sender's control packets: its request, the word that all has been answered, and probes."""
    links = run.results().links
    return int(np.sum(links["control_bytes"][links["node"] == 0]))


def judge_a8(runs: Runs, _scale: Scale) -> list[Verdict]:
    """Length of the burst, ACKs, and what the probe takes (section 5: 64 bytes for each flow)."""
    whole, stopped = runs.one(burst="whole"), runs.one(burst="stopped")
    # Without a burst there is one: the word that all has arrived.
    others = answers(runs.one(burst="none"))
    bursts = {name: facts(run).unscheduled for name, run in (("whole", whole), ("stopped", stopped))}
    text = "Unscheduled packets of a flow at 100 Gb/s, 10 µs round trip, packets of 1500 B"
    found = [judge.exact("A8.burst", text, BUDGET, bursts["whole"])]
    for name, run, how in (("whole", whole, "sent whole"), ("stopped", stopped, "that the first credit ends")):
        text = f"ACKs for a burst {how}: as many as its unscheduled packets"
        lost = facts(run).unscheduled_drops
        found.append(judge.exact(f"A8.acks.{name}", text, bursts[name] - lost, answers(run) - others))
    probe = told_bytes(whole) - told_bytes(runs.one(burst="none"))
    text = "What a flow with Aeolus sends besides data more than one without: its probe (bytes)"
    found.append(judge.exact("A8.probe", text, PROBE_BYTES, probe))
    text = "Unscheduled packets of a burst that the first credit ends: not more than of a whole one"
    within = "yes" if bursts["stopped"] <= BUDGET else f"no: {bursts['stopped']}"
    found.append(judge.exact("A8.stopped", text, "yes", within))
    found.append(
        judge.report(
            "A8.stopped.packets", "Unscheduled packets of the burst that the first credit ends", None, bursts["stopped"]
        )
    )
    return found


EXPERIMENTS = (
    Experiment(
        id="A6",
        title=f"Room for the probes of {NEW_FLOWS:,} new flows",
        statement="A buffer of 200 KB with a threshold of 6 KB holds the probes of about 3,100 flows that start at "
        "once, which so learn of their losses without a timeout.",
        source=SOURCE,
        plan=plan_a6,
        judge=judge_a6,
        show=show_a6,
    ),
    Experiment(
        id="A7",
        title="Scheduled packets are safe",
        statement="No scheduled packet is dropped for unscheduled ones, and spare bandwidth of the first round trip is "
        "used.",
        source="Aeolus, SIGCOMM 2020, sections 5 and 8",
        plan=plan_a7,
        judge=judge_a7,
    ),
    Experiment(
        id="A8",
        title="ACKs for unscheduled packets only",
        statement="With 100 Gb/s, 10 µs and packets of 1.5 KB a flow needs 84 ACKs, and 64 bytes for its probe.",
        source=SOURCE,
        plan=plan_a8,
        judge=judge_a8,
    ),
)
