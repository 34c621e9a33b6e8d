"""The runs behind the page's figures: network, schemes, arrivals, and how much of it at each scale.

All runs are native: exact picoseconds, none of the reference simulator's quirks. What the page leaves open is a named
variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from paceline.experiments.hpcc_page.curves import LOADS, MAIN, RPC, WORKLOADS
from paceline.reproduce.model import Scale
from paceline.scenario import (
    Dcqcn,
    Dctcp,
    Ecn,
    Host,
    Hpcc,
    HpccFat320,
    HpccPint,
    IncastLoad,
    Load,
    Poisson,
    PoissonIncast,
    Quirks,
    Records,
    Run,
    Scenario,
    Scheme,
    Series,
    Switch,
    Timely,
)
from paceline.sweeps.points import Point, over_seeds

CONTROL: Final[Mapping[str, Scheme]] = {
    # Page: target utilisation 99 %, maxStage 0. Scripts of the reference simulator: W_AI as a rate of 50 Mb/s.
    "hpcc_pint": HpccPint(eta=0.99, max_stage=0, w_ai_rate="50Mbps", log_base=1.05),
    "hpcc_int": Hpcc(eta=0.99, max_stage=0, w_ai_rate="50Mbps"),
    "hpcc_pint_eta95": HpccPint(eta=0.95, max_stage=0, w_ai_rate="50Mbps", log_base=1.05),
    "hpcc_int_eta95": Hpcc(eta=0.95, max_stage=0, w_ai_rate="50Mbps"),
    "hpcc_pint_eta150": HpccPint(eta=1.5, max_stage=0, w_ai_rate="50Mbps", log_base=1.05),
    "hpcc_int_eta150": Hpcc(eta=1.5, max_stage=0, w_ai_rate="50Mbps"),
    # The scripts' sets with a window (dcqcn_vwin, timely_vwin); for 100 Gb/s.
    "dcqcn_w": Dcqcn(preset="vendor", window="bdp", ai_rate="20Mbps", hai_rate="200Mbps"),
    "timely_w": Timely(window="bdp", ai_rate="100Mbps", hai_rate="500Mbps"),
    "dctcp": Dctcp(ai_rate="615Mbps"),
    "dcqcn": Dcqcn(preset="vendor", ai_rate="20Mbps", hai_rate="200Mbps"),
    "timely": Timely(ai_rate="100Mbps", hai_rate="500Mbps"),
}

PLAIN: Final = ("dcqcn", "timely")
"""Schemes without a window, which the page does not show."""

# Scripts of the reference simulator: KMIN and KMAX at 100 Gb/s, in proportion at 400 Gb/s. The schemes that ignore
# marks have DCQCN's.
_MARKING: Final = Ecn(k_min="400KB", k_max="1600KB", p_max=0.2)
_STEP: Final = Ecn(k_min="300KB", k_max="300KB", p_max=1.0)


def marking(scheme: str) -> Ecn:
    """How switches mark packets under a scheme."""
    return _STEP if scheme == "dctcp" else _MARKING


@dataclass(frozen=True)
class Window:
    """How long flows arrive, from when on they are measured, and how often with another seed."""

    arrivals_us: int
    warmup_us: int
    seeds: int


WINDOWS: Final[Mapping[Scale, Mapping[int, Window]]] = {
    Scale.TINY: dict.fromkeys(LOADS, Window(200, 0, 1)),
    # At 30 and 50 % the number of flows under way stands still after a few ms. At 70 % it does after hundreds, which no
    # quick run can have: there absolute curves are judged at paper scale only.
    Scale.QUICK: {30: Window(12_000, 4_000, 3), 50: Window(11_000, 4_000, 3), 70: Window(12_000, 4_000, 3)},
    Scale.PAPER: {30: Window(100_000, 5_000, 3), 50: Window(100_000, 5_000, 3), 70: Window(400_000, 0, 3)},
}


_RPC_WINDOWS: Final[Mapping[Scale, Window]] = {
    # 690 flows begin in each microsecond. With 0.6 ms of them, measured from 0.2 ms on, slowdowns were 2 to 19 % lower.
    Scale.TINY: Window(50, 0, 1),
    Scale.QUICK: Window(3_000, 1_000, 3),
    Scale.PAPER: Window(5_000, 2_000, 3),
}


def window_of(scale: Scale, workload: str, load: int) -> Window:
    """The window of a workload at a load, in percent."""
    return _RPC_WINDOWS[scale] if workload == RPC else WINDOWS[scale][load]


def by_window(scale: Scale, places: Iterable[tuple[str, int]]) -> dict[Window, list[int]]:
    """The loads of these workloads and loads by how long flows arrive."""
    found: dict[Window, dict[int, None]] = {}
    for workload, load in places:
        found.setdefault(window_of(scale, workload, load), {})[load] = None
    return {window: list(loads) for window, loads in found.items()}


@dataclass(frozen=True)
class Variant:
    """A reading of what the page leaves open, tried on some of the runs."""

    title: str
    schemes: tuple[str, ...] = ("hpcc_int",)
    workloads: tuple[str, ...] = ("websearch",)
    loads: tuple[int, ...] = (30,)
    """In percent."""
    judged: bool = False
    """Whether its curves are held against the published ones as the default's are."""
    control: Scheme | None = None
    """In place of the scheme's own parameters."""
    wire_load: bool = False
    incast: bool = False
    ack_priority: bool = False
    reference: bool = False

    def loads_at(self, scale: Scale) -> tuple[int, ...]:
        """Its loads. Quick runs at 70 % are too short for absolute curves: only paper scale has it."""
        return tuple(load for load in self.loads if load < 70 or scale is Scale.PAPER)


VARIANTS: Final[Mapping[str, Variant]] = {
    "incast": Variant("2 % load of 60-to-1 incasts of 500 KB flows besides", ("hpcc_int", "dcqcn_w"), incast=True),
    "wire_load": Variant("load counted in bytes of data packets on the wire, headers included", wire_load=True),
    "ack_priority": Variant("ACKs in a class of their own before data, in switches too", ack_priority=True),
    # What the published curves were made with: docs/hpcc-page.md.
    "reference": Variant(
        "the reference's clock of whole ns, on which data frames take up to 5 % and ACKs up to 43 % less time, and its "
        "PINT, which does not count ACKs",
        MAIN,
        workloads=tuple(WORKLOADS),
        loads=LOADS,
        judged=True,
        reference=True,
    ),
    "dcqcn_50_50_55": Variant(
        "DCQCN+w with the timers of the DCQCN paper",
        ("dcqcn_w",),
        control=Dcqcn(preset="paper", window="bdp", ai_rate="20Mbps", hai_rate="200Mbps"),
    ),
}
"""Variants that need runs of their own."""


def scenario(workload: str, load: int, scheme: str, window: Window, variant: Variant | None = None) -> Scenario:
    """One run of the page: ``workload``, ``load`` in percent and ``scheme`` as :mod:`.curves` names them."""
    variant = Variant("") if variant is None else variant
    poisson = Poisson(
        group=workload,
        sizes=f"{workload}@hpcc",
        duration=f"{window.arrivals_us}us",
        load=Load(value=load / 100, bytes="wire" if variant.wire_load else "payload", of="host"),
    )
    incast = PoissonIncast(
        group="incast",
        senders=60,
        sizes="500KB",
        duration=f"{window.arrivals_us}us",
        load=IncastLoad(value=0.02),
    )
    quirks = Quirks()
    if variant.reference:
        quirks = Quirks(clock_1ns=True, pint_data_only=scheme == "hpcc_pint")
    return Scenario(
        name=f"{workload}{load}-{scheme}",
        topology=HpccFat320(),
        switch=Switch(buffer="32MiB", ecn=marking(scheme)),
        # The reference has no timeout, and nothing is lost here. Its script gives TIMELY, and DCQCN without a window,
        # ACKs that no pause stops at hosts (ACK_HIGH_PRIO 1); nothing is paused here either: docs/hpcc-page.md.
        host=Host(ack_priority=variant.ack_priority, rto="off"),
        run=Run(warmup=f"{window.warmup_us}us"),
        records=Records(queues="off", links=False, pauses=False, series=Series(busiest=0)),
        quirks=quirks,
        schemes={scheme: variant.control or CONTROL[scheme]},
        workloads=[poisson, incast] if variant.incast else [poisson],
    )


def points(
    scale: Scale,
    schemes: Iterable[str],
    *,
    workloads: Iterable[str] = tuple(WORKLOADS),
    loads: Iterable[int] = LOADS,
    variant: str = "default",
) -> list[Point]:
    """The runs of some schemes, workloads and loads at a scale, one per seed."""
    found = []
    chosen = VARIANTS.get(variant)
    for workload in workloads:
        for load in loads:
            window = window_of(scale, workload, load)
            for scheme in schemes:
                run = scenario(workload, load, scheme, window, chosen)
                key: dict[str, str | int | float] = {
                    "workload": workload,
                    "load": load,
                    "scheme": scheme,
                    "variant": variant,
                }
                found += over_seeds(run, key, window.seeds)
    return found


def variants_of(workload: str) -> dict[str, Variant]:
    """The variants that are tried under a workload."""
    return {name: variant for name, variant in VARIANTS.items() if workload in variant.workloads}


def variant_points(scale: Scale, workload: str) -> list[Point]:
    """The runs of all variants under a workload, and of the schemes without a window: WebSearch at 30 % load."""
    found = points(scale, PLAIN, workloads=[workload], loads=[30]) if workload == "websearch" else []
    for name, variant in variants_of(workload).items():
        loads = variant.loads_at(scale)
        found += points(scale, variant.schemes, workloads=[workload], loads=loads, variant=name)
    return found
