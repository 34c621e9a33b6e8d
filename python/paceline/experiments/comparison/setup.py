"""The runs of the comparison: one network, one framing, one buffer; eight schemes, two workloads, three loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from paceline.experiments.aeolus.networks import spine_leaf
from paceline.experiments.aeolus.schemes import STACKS, Stack
from paceline.experiments.aeolus.schemes import scenario as lossy
from paceline.reproduce.model import Scale
from paceline.scenario import Dctcp, Ecn, Homa, Hpcc, Load, Poisson, Run, Scenario
from paceline.sweeps.points import KeyValue, Point, over_seeds

HOSTS: Final = 144
HOST_BPS: Final = 100e9
BUFFER: Final = "500KB"
"""Of each port. NDP's ports trim instead and hold 8 full packets of data and the room of 8 for headers."""

HOMA_RTO: Final = "5ms"
"""Homa's timeout, plain and over Aeolus alike: its default. Packets wait longer than the 40 µs of figures 17 and 18
under strict priority, so that these would measure needless repairs."""


def _patient(name: str) -> Stack:
    stack = STACKS[name]
    assert isinstance(stack.scheme, Homa)
    return replace(stack, scheme=replace(stack.scheme, resend_timeout=HOMA_RTO, sender_timeout=HOMA_RTO))


SCHEMES: Final[Mapping[str, Stack]] = {
    "hpcc": Stack("HPCC", Hpcc()),
    "dctcp": Stack("DCTCP", Dctcp()),
    **{name: STACKS[name] for name in ("ndp", "ndp_aeolus")},
    **{name: _patient(name) for name in ("homa", "homa_aeolus")},
    **{name: STACKS[name] for name in ("express_pass", "express_pass_aeolus")},
}
"""In the order of legends and tables."""

# The HPCC authors' scripts mark from 300 KB where base RTT times rate is 162 KB; here that is 42.8 KB.
STEP: Final = Ecn(k_min="80KB", k_max="80KB", p_max=1.0)
"""DCTCP's threshold at 100 Gb/s, four times that at 400 Gb/s."""

WORKLOADS: Final = {"websearch": "WebSearch", "webserver": "Web server"}
"""Long flows (mean 1.7 MB) and short ones (mean 66 KB), with their names in print."""

LOADS: Final = (0.4, 0.6, 0.8)
"""Payload over the hosts' links. All schemes sustain these: ExpressPass cannot carry more than 0.90."""

GOODPUT_LOAD: Final = 0.9
GOODPUT_WORKLOAD: Final = "webserver"
"""More payload than some can carry, in flows that end soon: what comes through then is the scheme's own."""


@dataclass(frozen=True)
class Window:
    """How long flows arrive and from when on they are measured, by workload; between which instants goodput is; us."""

    arrivals_us: Mapping[str, int]
    warmup_us: Mapping[str, int]
    goodput_us: tuple[int, int]
    seeds: int


WINDOWS: Final[Mapping[Scale, Window]] = {
    Scale.TINY: Window({"websearch": 60, "webserver": 30}, {"websearch": 10, "webserver": 5}, (15, 30), 1),
    Scale.QUICK: Window({"websearch": 2000, "webserver": 500}, {"websearch": 500, "webserver": 100}, (300, 1000), 3),
    Scale.PAPER: Window(
        {"websearch": 20_000, "webserver": 5000}, {"websearch": 5000, "webserver": 500}, (1000, 5000), 5
    ),
}


def scenario(scheme: str, workload: str, load: float, arrivals_us: int, run: Run) -> Scenario:
    """One run: flows arrive for ``arrivals_us``; ``scheme`` and ``workload`` are keys of the tables above."""
    arrivals = Poisson(
        group=workload, sizes=f"{workload}@xpass", duration=f"{arrivals_us}us", load=Load(value=load, of="host")
    )
    found = lossy(
        f"C1-{workload}{round(load * 100)}-{scheme}",
        SCHEMES[scheme],
        spine_leaf(),
        [arrivals],
        buffer=BUFFER,
        switch_delay="250ns",
        run=run,
    )
    return replace(found, switch=replace(found.switch, ecn=STEP)) if scheme == "dctcp" else found


def plan(scale: Scale) -> Sequence[Point]:
    """Flows that arrive for a while and all finish; and, for goodput, runs stopped at both ends of a window."""
    window = WINDOWS[scale]
    found: list[Point] = []

    def add(run: Scenario, **key: KeyValue) -> None:
        found.extend(over_seeds(run, key, window.seeds))

    for workload in WORKLOADS:
        arrivals_us, until = window.arrivals_us[workload], Run(warmup=f"{window.warmup_us[workload]}us", stall="100ms")
        for load in LOADS:
            for scheme in SCHEMES:
                run = scenario(scheme, workload, load, arrivals_us, until)
                add(run, part="flows", workload=workload, load=load, scheme=scheme)
    for scheme in SCHEMES:
        for end_us in window.goodput_us:
            stopped = Run(stop=f"{end_us}us", stall="100ms")
            run = scenario(scheme, GOODPUT_WORKLOAD, GOODPUT_LOAD, window.goodput_us[1], stopped)
            add(run, part="goodput", workload=GOODPUT_WORKLOAD, load=GOODPUT_LOAD, scheme=scheme, end_us=end_us)
    return found
