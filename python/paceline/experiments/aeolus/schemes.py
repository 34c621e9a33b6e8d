"""The schemes that the paper compares, with what their switches need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from paceline.scenario import (
    Ecn,
    ExpressPass,
    Framing,
    Homa,
    Ndp,
    Pfc,
    Records,
    Routing,
    Run,
    Scenario,
    Scheme,
    SelectiveDrop,
    Series,
    Switch,
    Topology,
    Trimming,
    Workload,
)

Ports = Literal["plain", "selective", "trimming"]


@dataclass(frozen=True)
class Stack:
    """A transport, and ports and routing that go with it."""

    title: str
    scheme: Scheme
    ports: Ports = "plain"
    spray: bool = False
    """Packets over all paths; otherwise one path per flow, which ExpressPass needs for its credits."""


PAPER_RTO: Final = "40us"
"""Homa's timeout in figures 17 and 18, the largest queueing delay of one port there (section 5). Packets under strict
priority wait longer, and are sent twice: Paceline's default is longer."""

STACKS: Final[Mapping[str, Stack]] = {
    "express_pass": Stack("ExpressPass", ExpressPass()),
    "express_pass_aeolus": Stack("ExpressPass + Aeolus", ExpressPass(first_rtt="aeolus"), "selective"),
    "homa": Stack("Homa", Homa(resend_timeout=PAPER_RTO, sender_timeout=PAPER_RTO), spray=True),
    "homa_aeolus": Stack("Homa + Aeolus", Homa(first_rtt="aeolus"), "selective", spray=True),
    "ndp": Stack("NDP", Ndp(), "trimming", spray=True),
    "ndp_aeolus": Stack("NDP + Aeolus", Ndp(first_rtt="aeolus"), "selective", spray=True),
}
"""The six schemes of figures 17 and 18."""

PAIRS: Final = {"express_pass": "express_pass_aeolus", "homa": "homa_aeolus", "ndp": "ndp_aeolus"}
"""Each scheme and the same over Aeolus."""

AEOLUS_OF: Final = {STACKS[aeolus].title: STACKS[plain].title for plain, aeolus in PAIRS.items()}
"""The same by their names in legends, the other way round."""


def priority_queueing(unscheduled: str, scheduled: str = "10ms") -> Stack:
    """ExpressPass whose unscheduled packets go at low priority, with its two timeouts; no selective dropping."""
    transport = ExpressPass(first_rtt="burst", rto_unscheduled=unscheduled, rto_scheduled=scheduled)
    times = [re.sub("(?<=[0-9])(?=[a-z])", " ", time).replace("us", "µs") for time in (unscheduled, scheduled)]
    of_others = "" if unscheduled == scheduled else f", of scheduled packets {times[1]}"
    return Stack(f"ExpressPass + priority queueing, RTO {times[0]}{of_others}", transport)


def scenario(
    name: str,
    stack: Stack,
    topology: Topology,
    workloads: list[Workload],
    *,
    buffer: str,
    switch_delay: str = "0s",
    threshold: str = "6KiB",
    framing: Framing | None = None,
    run: Run | None = None,
    queues: bool = False,
) -> Scenario:
    """One run. ``buffer`` is that of each port, frames only."""
    return Scenario(
        name=name,
        topology=topology,
        framing=framing or Framing(preset="ethernet"),
        switch=Switch(
            buffer=buffer,
            model="per_port",
            delay=switch_delay,
            pfc=Pfc(enabled=False),
            ecn=Ecn(enabled=False),
            selective_drop=SelectiveDrop(enabled=stack.ports == "selective", threshold=threshold),
            trimming=Trimming(enabled=stack.ports == "trimming"),
        ),
        routing=Routing(choice="spray" if stack.spray else "flow_hash"),
        # Losses are repaired after 10 ms and more.
        run=run or Run(stall="100ms"),
        records=Records(queues="port" if queues else "off", links=True, pauses=False, series=Series(busiest=0)),
        schemes={"scheme": stack.scheme},
        workloads=workloads,
    )
