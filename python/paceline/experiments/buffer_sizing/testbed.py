"""The testbed of the study, its schemes and its traffic; ``docs/buffer-sizing.md`` names what is unknown of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from paceline.scenario import (
    Dcqcn,
    Ecn,
    Framing,
    GraphLink,
    GraphTopology,
    Host,
    Hpcc,
    HpccTcp,
    NewReno,
    Pfc,
    Records,
    Run,
    Scenario,
    Scheme,
    Series,
    Switch,
    Tcp,
    Workload,
)
from paceline.sweeps.points import Runs
from paceline.words import in_words

HOST_BPS: Final = 25e9

POD: Final = 4
"""Servers of a pod; the two ToRs of a pod have a link to each."""

_RDMA_HOST_NS: Final = 600
_TCP_HOST_NS: Final = 3500
_FABRIC_NS: Final = 600


def network(host_ns: int, single: Sequence[int] = ()) -> GraphTopology:
    """Two pods of two ToRs and two aggregation switches, two cores, eight servers with a link to each ToR of their pod.

    Servers at 25 Gb/s, fabric at 100 Gb/s. Those in ``single`` have the first of their two links only.
    """
    hosts = [f"server{i}" for i in range(2 * POD)]
    switches = [*(f"tor{i}" for i in range(4)), *(f"agg{i}" for i in range(4)), "core0", "core1"]
    links = [
        GraphLink(a=host, b=f"tor{i // POD * 2 + side}", rate="25Gbps", delay=f"{host_ns}ns")
        for i, host in enumerate(hosts)
        for side in range(1 if i in single else 2)
    ]
    fabric = [(f"tor{t}", f"agg{t // 2 * 2 + k}") for t in range(4) for k in range(2)]
    fabric += [(f"agg{a}", f"core{c}") for a in range(4) for c in range(2)]
    links += [GraphLink(a=a, b=b, rate="100Gbps", delay=f"{_FABRIC_NS}ns") for a, b in fabric]
    return GraphTopology(hosts=hosts, switches=switches, links=links)


@dataclass(frozen=True)
class Stack:
    """A scheme with what goes with it at hosts and switches."""

    title: str
    scheme: Scheme
    tcp: Tcp | None = None
    """The TCP stack; without one it is RDMA."""
    idle_restart: str = "100us"
    """RDMA: a connection idle for longer begins anew at line rate, as new flows do."""
    pfc_alpha: float = 0.125
    """RDMA: PFC pauses an ingress queue that holds more than this share of what is free of the buffer."""


NEW_RENO_STACK: Final = Tcp(stack="user_space")
HPCC_STACK: Final = Tcp(stack="user_space", min_window=3)
"""At most one query of 4 KB below one window: with less, HPCC's windows oscillate."""

MAX_STAGE: Final = 5
"""The study takes the settings of the HPCC paper, whose text has 5. Its authors wrote later that their simulations had
0, "a typo for the simulation": of their testbed, which is what the study measures, they took nothing back."""

W_AI: Final = {"hpcc_tcp": "32Mbps", "hpcc_rdma": "71.1Mbps"}
"""80 B in a base RTT of 20 or of 9 us: the additive increase of the HPCC paper's testbed. The study says that it takes
that paper's settings."""

STACKS: Final[Mapping[str, Stack]] = {
    "hpcc_tcp": Stack("HPCC, TCP", HpccTcp(max_stage=MAX_STAGE, w_ai_rate=W_AI["hpcc_tcp"]), HPCC_STACK),
    "new_reno": Stack("NewReno, TCP", NewReno(), NEW_RENO_STACK),
    "hpcc_rdma": Stack("HPCC, RDMA", Hpcc(max_stage=MAX_STAGE, w_ai_rate=W_AI["hpcc_rdma"], min_rate="100Mbps")),
    "dcqcn": Stack("DCQCN, RDMA", Dcqcn(ai_rate="5Mbps", hai_rate="50Mbps", min_rate="100Mbps")),
}
"""The four schemes of the study."""


def _hpcc(name: str, **settings: Any) -> Stack:
    """A stack of HPCC with other settings of the scheme."""
    stack = STACKS[name]
    assert isinstance(stack.scheme, Hpcc | HpccTcp)
    return replace(stack, scheme=replace(stack.scheme, **settings))


FORMS: Final[Mapping[str, Mapping[str, Stack]]] = {
    "max_stage_0": {name: _hpcc(name, max_stage=0) for name in ("hpcc_tcp", "hpcc_rdma")},
    "w_ai_10_mbps": {name: _hpcc(name, w_ai_rate="10Mbps") for name in ("hpcc_tcp", "hpcc_rdma")},
}
"""HPCC in two other forms that its authors tell of: without rounds of additive increase, as they say they simulated it;
and with the additive increase of their simulator's scripts for 25 Gb/s."""

PFC_ALPHA: Final[Mapping[str, Mapping[str, Stack]]] = {
    "pfc_alpha_0.11": {name: replace(STACKS[name], pfc_alpha=0.11) for name in ("hpcc_rdma", "dcqcn")},
}
"""PFC at "more than 11% of the free buffer", taken by the letter. With an eighth of what is free a queue alone is
paused at a ninth of the buffer, 11.1 % of what was free before it came; with 0.11 at 9.9 %."""

PFC_TITLES: Final = {
    "pfc_alpha_0.11": "PFC pauses at 11 % of the buffer that is free instead of an eighth (docs/buffer-sizing.md)"
}

FORM_TITLES: Final[Mapping[str, str]] = {
    "max_stage_0": "HPCC's maxStage is 0 instead of the 5 of its paper (docs/buffer-sizing.md)",
    "w_ai_10_mbps": "HPCC's additive increase is its authors' simulator's 10 Mb/s instead of the 80 B of their testbed",
}
"""What these are, for pages."""


def variant_remarks(about: Mapping[str, str], runs: Runs) -> list[str]:
    """What the variants are that a page has runs of."""
    there = {run.point.key.get("variant") for run in runs}
    return [f"Variant {in_words(variant)}: {text}." for variant, text in about.items() if variant in there]


def scenario(
    name: str,
    stack: Stack,
    workloads: Sequence[Workload],
    *,
    stop_us: int,
    warmup_us: int,
    single: Sequence[int] = (),
) -> Scenario:
    """One run. TCP: 256 KiB for each egress port, drops; RDMA: 16 MB shared, PFC by the share of what is free."""
    lossy = Switch(buffer="256KiB", model="per_port", pfc=Pfc(enabled=False), ecn=Ecn(enabled=False))
    ecn = Ecn(k_min="100KB", k_max="400KB", p_max=0.2, at="25Gbps")
    lossless = Switch(buffer="16MB", pfc=Pfc(alpha=stack.pfc_alpha, headroom="auto"), ecn=ecn)
    return Scenario(
        name=name,
        topology=network(_TCP_HOST_NS if stack.tcp else _RDMA_HOST_NS, single),
        framing=Framing(preset="ethernet"),
        switch=lossy if stack.tcp else lossless,
        host=Host(base_rtt="20us", tcp=stack.tcp)
        if stack.tcp
        else Host(base_rtt="9us", idle_restart=stack.idle_restart),
        run=Run(stop=f"{stop_us}us", warmup=f"{warmup_us}us", stall="1s"),
        records=Records(queues="port", pauses=False, series=Series(interval="off", busiest=0)),
        schemes={"scheme": stack.scheme},
        workloads=list(workloads),
    )
