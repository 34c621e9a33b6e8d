"""H15: flows join a long one at a bottleneck, and whether the queue is gone in one RTT, and zero thereafter.

**What one RTT is counted from.** The place is the bottleneck's port, and the instant 0 that at which the first packet
of the flows that join gets there. What senders do about that packet arrives one base RTT later at the earliest, plus
the time for which it waited: until then no scheme with feedback can change anything. That is the first RTT. The second
is the one in which HPCC is said to resolve congestion: it corrects its windows by the load that it is told, once per
RTT. So what HPCC has done "in just one RTT" is done two base RTTs after 0, and the queue that has come together by then
cannot be gone before the link has sent it. Judged are

* when the queue has stopped growing: its largest value, at most 2 base RTTs after 0. A window of one bandwidth-delay
  product does as much for any scheme;
* how much later than the link needs for that queue it is gone: at most 2 base RTTs. An ideal sender, silent from the
  first feedback on, takes 1.

Reported besides: when it is gone, all in all; the same as a multiple of the RTT of a packet that arrives when the queue
is longest; and the second of the two above for the first half of the queue alone (this one was added when values were
known).

**What zero is.** Packets of several flows that meet at the port wait for one another however low the load. So a queue
of zero is one of at most one packet of each flow, and the mean and the p99 are held against that, from the instant
on at which the queue is that short for the first time after its peak.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import F8
from paceline.experiments.hpcc_page.curves import SCHEMES
from paceline.experiments.hpcc_page.setup import CONTROL, PLAIN, marking
from paceline.formats import format_number
from paceline.plot import multiples
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, at, ratio, verdicts
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown
from paceline.results import Results
from paceline.scenario import FlowRow, Flows, Host, Hpcc, HpccPint, Records, Run, Scenario, Scheme, Series, Star, Switch
from paceline.sweeps.points import KeyValue, Point, Runs, over_seeds
from paceline.tables import Cell, Table
from paceline.words import as_ratio, in_words, many

OURS: Final = ("hpcc_int", "hpcc_pint")
OTHERS: Final = ("dcqcn_w", "timely_w", "dctcp", "dcqcn", "timely")
COMPARED: Final = (*OURS, *OTHERS)

FRAME_BYTES: Final = 1090
"""A full packet with the longest header of these schemes, HPCC-INT's (H13); the others' are up to 42 bytes shorter."""
_ACK_BYTES: Final = 88
_PS_PER_BYTE: Final = 80
"""At 100 Gb/s."""

BEFORE_RTTS: Final = 50
"""Base RTTs for which the long flow is alone."""

AFTER_RTTS: Final = {Scale.TINY: 40, Scale.QUICK: 300, Scale.PAPER: 300}
"""Base RTTs from the instant at which the others begin to the end of the run. What is told of the queue later on is of
the second half of them."""

_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 3, Scale.PAPER: 5}
_SAMPLE_NS: Final = 250


@dataclass(frozen=True)
class Setup:
    """How many flows there are in the end, the delay of a link, and HPCC's settings that are not the page's."""

    flows: int = 8
    link_us: int = 3
    eta: float | None = None
    max_stage: int | None = None

    @property
    def schemes(self) -> tuple[str, ...]:
        """All, or HPCC where a setting of its own is varied."""
        return COMPARED if self.eta is None and self.max_stage is None else OURS

    def control(self, scheme: str) -> Scheme:
        """The scheme with what is varied."""
        given = CONTROL[scheme]
        if not isinstance(given, Hpcc | HpccPint):
            return given
        eta = given.eta if self.eta is None else self.eta
        return replace(given, eta=eta, max_stage=given.max_stage if self.max_stage is None else self.max_stage)

    @property
    def base_rtt_ps(self) -> int:
        """A full packet there and its ACK back, through one switch."""
        return 4 * self.link_us * 1_000_000 + 2 * (FRAME_BYTES + _ACK_BYTES) * _PS_PER_BYTE

    @property
    def start_ps(self) -> int:
        """When the others begin: all at one instant."""
        return BEFORE_RTTS * self.base_rtt_ps

    @property
    def arrival_ps(self) -> int:
        """When their first packets are at the switch: instant 0 of all that is measured."""
        return self.start_ps + self.link_us * 1_000_000 + FRAME_BYTES * _PS_PER_BYTE

    @property
    def zero_bytes(self) -> int:
        """One packet of each flow."""
        return self.flows * FRAME_BYTES


# Links of 3 us: four have the delay of the twelve that a packet and its ACK take in the page's tree.
VARIANTS: Final[Mapping[str, Setup]] = {
    "default": Setup(),
    "flows_16": Setup(flows=16),
    "links_1us": Setup(link_us=1),
    "target_95": Setup(eta=0.95),
    "max_stage_5": Setup(max_stage=5),
}
ABOUT: Final = {
    "flows_16": "15 flows join instead of 7",
    "links_1us": "links of 1 µs, those of the page's tree, with a base RTT of 4.2 µs",
    "target_95": "HPCC with the target of its paper, 95 %, instead of the page's 99 %",
    "max_stage_5": "HPCC with five rounds of additive increase before a multiplicative one, as the text of its paper "
    "has it, instead of the page's none",
}


def scenario(scheme: str, setup: Setup, scale: Scale) -> Scenario:
    """All hosts at one switch, with its settings and the scheme's as in all other runs of the page."""
    start, end = setup.start_ps, setup.start_ps + AFTER_RTTS[scale] * setup.base_rtt_ps
    rows = [FlowRow(src=1 + i, dst=0, bytes="1GB", start=f"{start if i else 0}ps") for i in range(setup.flows)]
    series = Series(interval=f"{_SAMPLE_NS}ns", samples=1_000_000, busiest=0, ports=["tor0->host0"])
    return Scenario(
        name=f"joining-{scheme}",
        topology=Star(hosts=setup.flows + 1, link_delay=f"{setup.link_us}us"),
        switch=Switch(buffer="32MiB", ecn=marking(scheme)),
        host=Host(rto="off"),
        run=Run(stop=f"{end}ps"),
        records=Records(queues="off", links=False, pauses=False, series=series),
        schemes={scheme: setup.control(scheme)},
        workloads=[Flows(rows=rows)],
    )


def plan(scale: Scale) -> Sequence[Point]:
    """Every scheme; seeds decide which packets are marked, and which of two that arrive at one instant is first."""
    found = []
    for variant, setup in VARIANTS.items():
        for scheme in setup.schemes:
            key: dict[str, KeyValue] = {"scheme": scheme, "variant": variant}
            found += over_seeds(scenario(scheme, setup, scale), key, _SEEDS[scale])
    return found


@dataclass(frozen=True)
class Course:
    """What became of a queue. Times in base RTTs from the arrival of the first packet that joins; bytes."""

    peak_bytes: float
    growth: float
    """When it was longest."""
    half: float
    """When half of that was gone; nan where it never was."""
    empty: float
    """When it was at most one packet of each flow for the first time after that; nan where it never was."""
    end: float
    """Of the run."""
    sending: float
    """What the link needs for the queue at its longest."""
    after_mean: float
    """Mean from :attr:`empty` on."""
    after_p99: float
    later_mean: float
    """Mean of the second half of the time."""

    @property
    def gone(self) -> float:
        """When it was gone; the end of the run, which is the least that it can be, where it never was."""
        return self.end if math.isnan(self.empty) else self.empty

    @property
    def spare(self) -> float:
        """By how much later than the link needs it is gone."""
        return self.empty - self.sending

    @property
    def half_spare(self) -> float:
        """The same of half of it."""
        return self.half - self.sending / 2

    @property
    def loaded(self) -> float:
        """When it is gone, in RTTs of a packet that arrives when the queue is longest."""
        return self.empty / (1 + self.sending)


def course(rtts: F8, waiting: F8, zero_bytes: float, bytes_per_rtt: float) -> Course:
    """Reads a queue's samples: ``waiting`` bytes at ``rtts``, those before 0 left out."""
    rtts, waiting = rtts[rtts >= 0], waiting[rtts >= 0]
    top = int(np.argmax(waiting))
    peak = float(waiting[top])

    def first(limit: float) -> int | None:
        below = np.flatnonzero(waiting[top:] <= limit)
        return top + int(below[0]) if len(below) else None

    half, empty = first(peak / 2), first(zero_bytes)
    after = waiting[empty:] if empty is not None else np.array([math.nan])
    return Course(
        peak_bytes=peak,
        growth=float(rtts[top]),
        half=math.nan if half is None else float(rtts[half]),
        empty=math.nan if empty is None else float(rtts[empty]),
        end=float(rtts[-1]),
        sending=peak / bytes_per_rtt,
        after_mean=float(after.mean()),
        after_p99=float(np.percentile(after, 99, method="inverted_cdf")),
        later_mean=float(waiting[rtts >= rtts[-1] / 2].mean()),
    )


def samples(results: Results, setup: Setup) -> tuple[F8, F8]:
    """Base RTTs since the arrival of the first packet that joins, and bytes waiting at the bottleneck."""
    series = results.series
    queue = series.where(series["kind"].astype(str) == "queue_bytes")
    time: NDArray[np.float64] = queue["time_ps"].astype(float)
    return (time - setup.arrival_ps) / setup.base_rtt_ps, queue["value"].astype(float)


@lru_cache(maxsize=1024)
def _course(folder: Path, setup: Setup) -> Course:
    rtts, waiting = samples(Results.load(folder), setup)
    return course(rtts, waiting, setup.zero_bytes, setup.base_rtt_ps / _PS_PER_BYTE)


_TOLD: Final[Mapping[str, tuple[str, float]]] = {
    "peak_bytes": ("queue at its longest (KB)", 1000),
    "growth": ("base RTTs until the queue is longest", 1),
    "half_spare": ("base RTTs, beyond what the link needs, until half of that queue is gone", 1),
    "spare": ("base RTTs, beyond what the link needs, until the queue is gone", 1),
    "gone": ("base RTTs until the queue is gone", 1),
    "loaded": ("RTTs of a packet that finds the longest queue, until the queue is gone", 1),
    "after_mean": ("mean queue, once it has been gone (KB)", 1000),
    "after_p99": ("p99 of the queue, once it has been gone (KB)", 1000),
    "later_mean": ("mean queue of the second half of the time (KB)", 1000),
}
"""What is told of a course: its words, and the unit."""


def measure(runs: Runs) -> Values:
    """All of a course by variant and scheme; the mean over seeds."""
    found: dict[Place, float] = {}
    for variant, setup in VARIANTS.items():
        for scheme in setup.schemes:
            seen = [_course(run.folder, setup) for run in runs.where(variant=variant, scheme=scheme)]
            for what, (_, unit) in _TOLD.items() if seen else ():
                found[variant, scheme, what] = sum(getattr(one, what) for one in seen) / len(seen) / unit
    return found


MOST_RTTS: Final = 2.0
"""One base RTT until the first feedback can be felt, and the one RTT of the sentence."""


def rule(values: Values) -> list[Claim]:
    """HPCC ends the growth in one RTT, has the queue gone as fast as the link can, and none later; others do not."""
    zero_kb = VARIANTS["default"].zero_bytes / 1000
    limits = {
        "growth": judge.at_most(MOST_RTTS),
        "spare": judge.at_most(MOST_RTTS),
        "after_mean": judge.at_most(zero_kb),
        "after_p99": judge.at_most(zero_kb),
    }
    found = []
    for variant, setup in VARIANTS.items():
        for scheme in COMPARED if variant == "default" else OURS:
            for what, (words, _) in _TOLD.items():
                judged = limits.get(what) if variant == "default" and scheme in OURS else None
                text = f"{SCHEMES[scheme]}, {setup.flows} flows: {words}"
                value = at(values, variant, scheme, what)
                if judged and what == "spare" and math.isnan(value):
                    value = at(values, variant, scheme, "gone")  # never: the claim fails
                found.append(Claim(f"{scheme}.{what}", text, value, judged, variant=variant))
    for what, name in (("gone", "longer"), ("later_mean", "fuller")):
        for ours in OURS:
            for other in OTHERS:
                value = ratio(values, ("default", other, what), ("default", ours, what))
                text = f"{_TOLD[what][0].removesuffix(' (KB)')}, {as_ratio(SCHEMES[other], SCHEMES[ours])}"
                found.append(Claim(f"{name}.{other}.{ours}", text, value, judge.above(1)))
    return found


_DRAWN_RTTS: Final = (0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 140, 200, 270)
_TICKS: Final = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)
_AROUND: Final = 0.1
"""A point of the figure is the mean of this share of its time before and after it."""

_LEAST_KB: Final = 0.5
"""Half a packet: less is drawn as this, since on a logarithmic axis there is no zero."""


def drawn(rtts: F8, waiting: F8) -> tuple[list[float], list[float]]:
    """Where the figure has points, as far as the samples go, and what waits there in the mean, KB."""
    last = float(rtts[-1]) / (1 + _AROUND)
    places = [place for place in _DRAWN_RTTS if place <= last]
    means = [float(waiting[np.abs(rtts - place) <= _AROUND * place].mean()) / 1000 for place in places]
    return places, [max(mean, _LEAST_KB) for mean in means]


def _curves(runs: Runs, variant: str) -> dict[str, tuple[list[float], list[float]]]:
    """The means over seeds, by scheme."""
    found = {}
    for scheme in COMPARED:
        chosen = runs.where(variant=variant, scheme=scheme)
        seen = [samples(run.results(), VARIANTS[variant]) for run in chosen]
        found[SCHEMES[scheme]] = drawn(seen[0][0], np.mean([waiting for _, waiting in seen], axis=0))
    return found


def _charts(runs: Runs) -> list[multiples.Chart]:
    """7 flows and 15 that join, on axes alike."""
    drawings = {variant: _curves(runs, variant) for variant in ("default", "flows_16")}
    most = max(value for curves in drawings.values() for _, values in curves.values() for value in values)
    ticks = {place: f"{place:g}" for place in _TICKS}
    names = ("Base RTTs since they arrive", "Queue (KB)")
    titles = {variant: f"{VARIANTS[variant].flows - 1} flows join one" for variant in drawings}
    return [
        multiples.Chart(titles[variant], curves, *names, ticks, between=(_LEAST_KB, most), log_x=True)
        for variant, curves in drawings.items()
    ]


def _drawings(runs: Runs) -> Iterator[Drawing]:
    setup = VARIANTS["default"]
    caption = (
        "Bytes waiting at the bottleneck after the first packets of the flows that join have arrived, both axes "
        f"logarithmic. A base RTT is {setup.base_rtt_ps / 1e6:.1f} µs, in which the link sends "
        f"{setup.base_rtt_ps / _PS_PER_BYTE / 1000:.0f} KB. Each point is the mean of a tenth of its time before and "
        f"after it, over {many(len(runs.seeds), 'seed')}; less than half a packet is drawn as {_LEAST_KB:g} KB."
    )
    plain = {SCHEMES[name]: SCHEMES[f"{name}_w"] for name in PLAIN}
    yield Drawing("H15-queue", multiples.charts([_charts(runs)], plain), caption)


def show(runs: Runs, scale: Scale) -> Shown:
    """The queue over time, and all numbers."""
    values, rows = measure(runs), []
    for variant, of in VARIANTS.items():
        for scheme in of.schemes:
            if (variant, scheme, "gone") in values:
                cells = [format_number(at(values, variant, scheme, what)) for what in _TOLD]
                rows.append(tuple(Cell(text) for text in (f"{SCHEMES[scheme]}, {in_words(variant)}", *cells)))
    remarks = [
        "All hosts are at one switch, on links of 100 Gb/s and 3 µs, with about the base RTT of the longest path of "
        f"the page's tree. A flow is alone for {BEFORE_RTTS} base RTTs, then the others begin, all at one instant; the "
        f"run ends {AFTER_RTTS[scale]} base RTTs later. All flows go on until then.",
        "Times are in base RTTs from the arrival of the first packet that joins. No scheme can change anything before "
        "1, when what senders do about that packet arrives; HPCC's one RTT is the one after it.",
        f"Gone: at most one packet of each flow waits, {VARIANTS['default'].zero_bytes / 1000:.1f} KB of 8 flows. "
        "Where a queue never is, this is the end of the run, and what follows from it has no value.",
        "Beyond what the link needs: less the time in which the link sends the queue at its longest, or half of it.",
        *(f"Variant {in_words(name)}: {text}." for name, text in ABOUT.items()),
    ]
    head = (
        "Scheme, variant",
        "Longest (KB)",
        "at, RTTs",
        "half gone, beyond",
        "gone, beyond",
        "gone",
        "in loaded RTTs",
        "then: mean (KB)",
        "p99 (KB)",
        "second half (KB)",
    )
    table = Table("The bottleneck's queue, mean over seeds; times in base RTTs", head, rows)
    return Shown(_drawings(runs), [table], remarks)


EXPERIMENTS = (
    Experiment(
        id="H15",
        title="Congestion resolved in one RTT",
        statement="HPCC resolves congestion in just one RTT, and converges to a queue of zero thereafter.",
        source="HPCC project page (hpcc-group.github.io), on normal load",
        plan=plan,
        judge=lambda runs, scale: verdicts("H15", measure, rule, runs, scale),
        show=show,
    ),
)
