"""E31 and E33 to E38: storage traffic between all servers at 80 % load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np

from paceline import plot
from paceline.analysis import Sample, nearest_rank, queue_percentile
from paceline.experiments.buffer_sizing.measures import (
    kilobytes,
    published_points,
    queue,
    together,
    windows,
    with_warmup,
)
from paceline.experiments.buffer_sizing.testbed import (
    FORM_TITLES,
    FORMS,
    PFC_ALPHA,
    PFC_TITLES,
    STACKS,
    Stack,
    scenario,
    variant_remarks,
)
from paceline.formats import format_number
from paceline.plot import multiples
from paceline.reproduce import judge
from paceline.reproduce.claims import (
    Claim,
    Place,
    Rule,
    Values,
    at,
    binned,
    bounds,
    intervals,
    ratio,
    ratio_bounds,
    told,
    verdicts,
)
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown, Verdict
from paceline.scenario import Dcqcn, Hpcc, Load, OpenRpc
from paceline.sweeps.points import Point, Runs, over_seeds
from paceline.tables import Cell, Table
from paceline.words import as_ratio, in_words

SIZES: Final = (4_000, 8_000, 16_000, 32_000)
"""Query sizes that occur as such; above them sizes spread."""

LONGER: Final = (64_000, 128_000, 256_000, 512_000, 1_000_000, 2_000_000)
"""Upper ends of the ranges in which longer queries are told; the last is the longest that there is."""

SHARES: Final = {4_000: 0.229, 32_000: 0.905}
"""Published shares of the queries up to a size."""

SHORT: Final = 32_000

_US_PER_KB: Final = 8 / 25
"""At a server's link of 25 Gb/s; KB of 1,000 bytes, as queues are told in."""

_LENGTH_US: Final = {Scale.TINY: 2_000, Scale.QUICK: 60_000, Scale.PAPER: 400_000}
_WARMUP_US: Final = {Scale.TINY: 500, Scale.QUICK: 10_000, Scale.PAPER: 20_000}
_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 3, Scale.PAPER: 5}
_HOST_PORTS: Final = "tor->host"


@dataclass(frozen=True)
class Setup:
    """What the study leaves open."""

    connections: int = 32
    """Of each pair of servers."""
    load: float = 0.72
    """Payload of the queries over the links to the servers; with headers, ACKs and responses 80 %.

    Payload, so that the same queries arrive under every scheme: HPCC's telemetry comes on top.
    """
    pick: Literal["random", "idle"] = "idle"
    idle_restart: str = "100us"


VARIANTS: Final = {
    "default": Setup(),
    "connections_8": Setup(connections=8),
    "any_connection": Setup(pick="random"),
    "no_restart": Setup(idle_restart="off"),
    "load_70": Setup(load=0.63),
}

HPCC: Final[Mapping[str, Mapping[str, Any]]] = {
    "eta_0.9": {"eta": 0.9},
    "eta_1": {"eta": 1.0},
    "slow_start": {"start": 0.1},
}
"""Settings of HPCC over RDMA that decide how new connections meet."""

DCQCN: Final[Mapping[str, Mapping[str, Any]]] = {
    "dcqcn_paper_timers": {"preset": "paper"},
    "dcqcn_cnp_50us": {"cnp_interval": "50us"},
}
"""DCQCN as its own paper has it: its timers, and how often a receiver notifies. The study says no more than that its
settings are the HPCC paper's, which has several."""

ABOUT: Final = {
    **FORM_TITLES,
    **PFC_TITLES,
    "eta_0.9": "HPCC aims at 90 % of a link instead of 95 %",
    "eta_1": "HPCC aims at all of a link instead of 95 %",
    "slow_start": "HPCC's new connections begin at a tenth of the line rate",
    "dcqcn_paper_timers": "DCQCN with the timers of its own paper (50, 50, 55 µs), not the vendor's (1, 4, 300 µs)",
    "dcqcn_cnp_50us": "DCQCN with a notification every 50 µs at most",
    "connections_8": "8 connections of each pair: hashing loads the two NICs of a server unevenly",
    "any_connection": "a query takes any connection, and may wait behind a long one",
    "no_restart": "over RDMA an idle connection keeps its rate",
    "load_70": "70 % of the links to the servers instead of 80 %",
}


def plan(scale: Scale) -> Sequence[Point]:
    """Open-loop queries of every server to every other under every scheme, each run with that of its warm-up.

    What is common to the schemes is varied with one seed, what is one scheme's with all.
    """
    stop, warmup = _LENGTH_US[scale], _WARMUP_US[scale]
    found = []
    seeds = _SEEDS[scale]
    for variant, setup in VARIANTS.items():
        for name, stack in STACKS.items():
            if variant == "no_restart" and stack.tcp:
                continue
            stack = replace(stack, idle_restart=setup.idle_restart)
            run = scenario(f"storage-{name}-{variant}", stack, [_work(setup, scale)], stop_us=stop, warmup_us=warmup)
            key = {"scheme": name, "variant": variant}
            found += over_seeds(run, key, seeds if variant == "default" else 1)
    others = [(v, "hpcc_rdma", _varied("hpcc_rdma", s)) for v, s in HPCC.items()]
    others += [(v, "dcqcn", _varied("dcqcn", s)) for v, s in DCQCN.items()]
    others += [(variant, name, stack) for variant, stacks in FORMS.items() for name, stack in stacks.items()]
    others += [(variant, "hpcc_rdma", stacks["hpcc_rdma"]) for variant, stacks in PFC_ALPHA.items()]
    for variant, name, stack in others:
        run = scenario(f"storage-{name}-{variant}", stack, [_work(Setup(), scale)], stop_us=stop, warmup_us=warmup)
        key = {"scheme": name, "variant": variant}
        found += over_seeds(run, key, seeds)
    return with_warmup(found)


def _varied(name: str, settings: Mapping[str, Any]) -> Stack:
    stack = STACKS[name]
    assert isinstance(stack.scheme, Hpcc | Dcqcn)
    return replace(stack, scheme=replace(stack.scheme, **settings))


def _work(setup: Setup, scale: Scale) -> OpenRpc:
    return OpenRpc(
        group="storage",
        connections=setup.connections,
        sizes="alistorage@bs19",
        pick=setup.pick,
        load=Load(value=setup.load, bytes="payload"),
        # Not where the run stops: a connection without queries of its own to come closes, and the others get its
        # share. So nothing changes towards the end, and a run that stops at the warm-up is the same run until then.
        end=f"{2 * _LENGTH_US[scale]}us",
    )


def of_hpcc(scale: Scale) -> Sequence[Point]:
    """HPCC over RDMA as it is, and with the settings that decide how new connections meet."""
    variants = ("default", *HPCC, *FORMS)
    return [p for p in plan(scale) if p.key["variant"] in variants and p.key["scheme"] == "hpcc_rdma"]


def default(scale: Scale) -> Sequence[Point]:
    """The runs without variants."""
    return [p for p in plan(scale) if p.key["variant"] == "default"]


def with_forms(scale: Scale) -> Sequence[Point]:
    """Those, and HPCC's other forms."""
    return [p for p in plan(scale) if p.key["variant"] in ("default", *FORMS)]


def with_pfc(scale: Scale) -> Sequence[Point]:
    """Those, HPCC's other forms, and HPCC over RDMA with another threshold of PFC."""
    return [p for p in plan(scale) if p.key["variant"] in ("default", *FORMS, *PFC_ALPHA)]


def with_dcqcn(scale: Scale) -> Sequence[Point]:
    """The runs without variants, and those of DCQCN as its own paper has it."""
    return [p for p in plan(scale) if p.key["variant"] in ("default", *DCQCN)]


def measure(runs: Runs) -> Values:
    """Slowdowns by query size, and queues, by scheme; those of a variant of one scheme begin with its name."""
    found = dict(_measure(runs.where(variant="default")))
    for variant in (*FORMS, *PFC_ALPHA, *DCQCN):
        found |= {(variant, *place): value for place, value in _measure(runs.where(variant=variant)).items()}
    return found


def _measure(runs: Runs) -> Values:
    found: dict[Place, float] = {}
    for name in STACKS:
        chosen = runs.where(scheme=name)
        if not len(chosen):
            continue
        got = together(chosen, "storage")
        found[name, "qps"] = got.per_second
        found[name, "queries"] = float(len(got.size_bytes))
        short = got.size_bytes <= SHORT
        for where, own in (*((size, got.size_bytes == size) for size in SIZES), ("short", short)):
            for q in (50, 99):
                found[name, where, q] = nearest_rank(got.slowdown[own], q)
                found[name, where, q, "up to"] = nearest_rank(got.most_slowdown[own], q)
        for above, size in pairwise((SHORT, *LONGER)):
            own = got.slowdown[(got.size_bytes > above) & (got.size_bytes <= size)]
            for q in (50, 99):
                found[name, size, q] = nearest_rank(own, q)
        for size, share in SHARES.items():
            found[name, size, "share"] = float(np.mean(got.size_bytes <= size)) / share
        for where in (_HOST_PORTS, "busiest"):
            histogram = queue(chosen, where)
            for q in (50, 99):
                for busy in (False, True):
                    low, high = queue_percentile(histogram, q, busy=busy)
                    found |= binned((name, where, q, "busy" if busy else "all"), low, high, unit=1000)
        parts = windows(chosen)
        found[name, "pauses"] = sum(p.count("pauses") for p in parts) / len(parts)
        found[name, "carried"] = float(np.mean([np.mean(p.carried(_HOST_PORTS)) for p in parts])) * 100
        found[name, "carried most"] = float(np.mean([np.max(p.carried(_HOST_PORTS)) for p in parts])) * 100
        found[name, "open warmup"] = sum(p.warmup.open_bytes for p in parts) / len(parts) / 1e6
        found[name, "open end"] = sum(p.whole.open_bytes for p in parts) / len(parts) / 1e6
        found[name, "asked"] = sum(p.whole.asked_bytes for p in parts) / len(parts) / 1e6
    return found


def measure_hpcc(runs: Runs) -> Values:
    """p99 queue at the ports to servers while busy, KB, and p99 slowdown of short queries, by setting of HPCC."""
    found: dict[Place, float] = {}
    for variant in ("default", *HPCC, *FORMS):
        values = _measure(runs.where(variant=variant))
        queue: Place = ("hpcc_rdma", _HOST_PORTS, 99, "busy")
        if within := bounds(values, queue):
            found |= binned((variant, "queue"), *within)
            found[variant, "slowdown"] = values["hpcc_rdma", "short", 99]
    return found


def burst_rule(values: Values) -> list[Claim]:
    """E31: bursts come from new connections at line rate; headroom below the line takes them up."""
    found = []
    for variant in ("default", *HPCC, *FORMS):
        for what, words in (("queue", "p99 of the queue while busy (KB)"), ("slowdown", "p99 slowdown up to 32 KB")):
            value, within = at(values, variant, what), bounds(values, (variant, what))
            found.append(Claim(f"{variant}.{what}", f"HPCC, RDMA, {in_words(variant)}: {words}", value, within=within))
    for over, under in (("eta_1", "default"), ("default", "eta_0.9"), ("default", "slow_start")):
        places: tuple[Place, Place] = ((over, "queue"), (under, "queue"))
        text = f"p99 of the queue, {in_words(over)} over {in_words(under)}"
        value, within = ratio(values, *places), ratio_bounds(values, *places)
        found.append(Claim(f"{over}_over_{under}", text, value, judge.above(1), within=within))
    return found


def median_rule(values: Values) -> list[Claim]:
    """E33: median slowdown by size."""
    found = []
    for name, stack in STACKS.items():
        for size in SIZES:
            value = at(values, name, size, 50)
            limits = judge.between(6, 20) if (name, size) == ("dcqcn", 4000) else None
            published = 11.9 if limits else None
            text = f"{stack.title}: median slowdown, {size:,} B"
            up_to = at(values, name, size, 50, "up to")
            found.append(Claim(f"{name}.{size}", text, value, limits, published, up_to=up_to))
    for name, over, under in (
        ("hpcc_tcp.alike", "hpcc_tcp", "hpcc_rdma"),
        ("new_reno.alike", "new_reno", "hpcc_rdma"),
        ("new_reno.alike_tcp", "new_reno", "hpcc_tcp"),
    ):
        for size in SIZES:
            value = ratio(values, (over, size, 50), (under, size, 50))
            text = f"median slowdown at {size:,} B, {as_ratio(STACKS[over].title, STACKS[under].title)}"
            found.append(Claim(f"{name}.{size}", text, value, judge.between(0.5, 2)))
    for size in SIZES:
        value = ratio(values, ("dcqcn", size, 50), ("hpcc_rdma", size, 50))
        text = f"median slowdown at {size:,} B, {as_ratio(STACKS['dcqcn'].title, STACKS['hpcc_rdma'].title)}"
        found.append(Claim(f"dcqcn.larger.{size}", text, value, judge.above(1)))
    return found


_SHORT: Final[tuple[tuple[str | int, str, str], ...]] = (
    ("short", "", "queries up to 32 KB"),
    (SIZES[0], "_4k", "queries of 4 KB"),
)
"""The study draws its p99 over the size and quotes those "of short queries": of all up to 32 KB, or of one size, as it
quotes a median."""


def rdma_tail_rule(values: Values) -> list[Claim]:
    """E34: p99 of short queries over RDMA, to a factor of two, and what one scheme has over the other."""
    found = []
    for where, suffix, words in _SHORT:
        for name, published in (("dcqcn", 41.6), ("hpcc_rdma", 7.8)):
            limits = judge.about(published)
            found.append(_tail(values, name, where, suffix, words, limits, published))
        ours: Place = ("hpcc_rdma", where, 99)
        over, up_to = (ratio(values, ("dcqcn", where, 99, *more), ours) for more in ((), ("up to",)))
        text = f"p99 slowdown of {words}, DCQCN over HPCC, RDMA"
        found.append(Claim(f"ratio{suffix}", text, over, judge.between(3, 8), published=5.3, up_to=up_to))
    return found


def tcp_tail_rule(values: Values) -> list[Claim]:
    """E35: p99 of short queries over TCP."""
    limits = {"new_reno": (judge.at_least(50), 100.0), "hpcc_tcp": (judge.at_most(10), 4.3)}
    return [
        _tail(values, name, where, suffix, words, limit, published)
        for where, suffix, words in _SHORT
        for name, (limit, published) in limits.items()
    ]


def _tail(
    values: Values,
    name: str,
    where: str | int,
    suffix: str,
    words: str,
    limits: judge.Limits | None = None,
    published: float | None = None,
) -> Claim:
    text = f"{STACKS[name].title}: p99 slowdown, {words}"
    value, up_to = at(values, name, where, 99), at(values, name, where, 99, "up to")
    return Claim(f"{name}.p99{suffix}", text, value, limits, published, up_to=up_to)


def _queues(values: Values, names: dict[str, dict[int, tuple[judge.Limits, float]]]) -> list[Claim]:
    found = []
    for name, limits in names.items():
        for q in (50, 99):
            for where, words in ((_HOST_PORTS, "ports to servers"), ("busiest", "busiest port")):
                for when in ("all", "busy"):
                    judged = (where, when) == (_HOST_PORTS, "busy") and q in limits
                    limit, published = limits[q] if judged else (None, None)
                    place: Place = (name, where, q, when)
                    value, within = at(values, *place), bounds(values, place)
                    during = "all the time" if when == "all" else "while busy"
                    text = f"{STACKS[name].title}: p{q} of the queue, {words}, {during} (KB)"
                    ports = "hosts" if where == _HOST_PORTS else "busiest"
                    found.append(Claim(f"{name}.{ports}.{when}.p{q}", text, value, limit, published, within=within))
    return found


def _factor_2(value: float) -> tuple[judge.Limits, float]:
    return kilobytes(value / 2, value * 2), value


def _carried(values: Values, *names: str) -> list[Claim]:
    """How much of the offered load gets through: queues stand for a load only where the backlog does not grow."""
    words = {
        "carried": "links to servers, % of the time busy",
        "open warmup": "queries under way when the warm-up ends (MB)",
        "open end": "queries under way when the run ends (MB)",
        "asked": "queries issued (MB)",
    }
    return [
        Claim(f"{name}.{what.replace(' ', '_')}", f"{STACKS[name].title}: {text}", at(values, name, what))
        for name in names
        for what, text in words.items()
    ]


def hpcc_queue_rule(values: Values) -> list[Claim]:
    """E36: queues under HPCC."""
    limits = {"hpcc_tcp": {50: _factor_2(18), 99: _factor_2(65)}, "hpcc_rdma": {50: _factor_2(2.2), 99: _factor_2(74)}}
    found = _queues(values, limits)
    for name, published in (("hpcc_tcp", 21.3), ("hpcc_rdma", 23.7)):
        place: Place = (name, _HOST_PORTS, 99, "busy")
        delay, within = at(values, *place) * _US_PER_KB, bounds(values, place)
        text = f"{STACKS[name].title}: what the p99 of the queue, ports to servers, while busy, takes at 25 Gb/s (µs)"
        range_ = (within[0] * _US_PER_KB, within[1] * _US_PER_KB) if within else None
        found.append(Claim(f"{name}.delay", text, delay, published=published, within=range_))
    pauses = at(values, "hpcc_rdma", "pauses")
    found.append(Claim("hpcc_rdma.pauses", f"{STACKS['hpcc_rdma'].title}: pause frames after the warm-up", pauses))
    return [*found, *_carried(values, *limits)]


def baseline_queue_rule(values: Values) -> list[Claim]:
    """E37: queues under the baselines, which are longer than HPCC's."""
    limits = {"new_reno": {99: (kilobytes(230, 256), 247.0)}, "dcqcn": {99: (kilobytes(400, 700), 519.0)}}
    found = [*_queues(values, limits), *_carried(values, *limits)]
    for name, ours, published in (("new_reno", "hpcc_tcp", 3.8), ("dcqcn", "hpcc_rdma", 7.0)):
        top, bottom = ((scheme, _HOST_PORTS, 99, "busy") for scheme in (name, ours))
        titles = as_ratio(STACKS[name].title, STACKS[ours].title)
        text = f"p99 of the queue, ports to servers, while busy, {titles}"
        value, within = ratio(values, top, bottom), ratio_bounds(values, top, bottom)
        found.append(Claim(f"longer.{name}", text, value, judge.above(1), published, within=within))
    for variant in DCQCN:
        varied = {place[1:]: value for place, value in values.items() if place[0] == variant}
        found += [replace(claim, variant=variant) for claim in _queues(varied, {"dcqcn": limits["dcqcn"]})]
    return found


def and_forms(rule: Rule, more: Mapping[str, Mapping[str, Stack]] | None = None) -> Rule:
    """The rule's claims, and the values of those about HPCC in its other forms as variants without limits.

    ``more`` are variants besides, of which only the claims about their schemes are told.
    """

    def with_forms(values: Values) -> list[Claim]:
        found = list(rule(values))
        others = {place: value for place, value in values.items() if "hpcc" not in str(place[0])}
        ours = {claim.id for claim in rule(others) if math.isnan(claim.value)}
        for form, stacks in {**FORMS, **(more or {})}.items():
            varied = {place[1:]: value for place, value in values.items() if place[0] == form}
            kept = {c for c in ours if form in FORMS or c.partition(".")[0] in stacks}
            found += [replace(c, limits=None, variant=form) for c in rule(others | varied) if c.id in kept]
        return found

    return with_forms


def size_rule(values: Values) -> list[Claim]:
    """E38: the sizes drawn."""
    found = []
    for size, share in SHARES.items():
        value = at(values, "hpcc_rdma", size, "share") * share * 100
        text = f"queries of at most {size:,} B (%)"
        found.append(Claim(f"share_{size}", text, value, judge.percent_of(share * 100, 3), published=share * 100))
    return found


def _tables(runs: Runs) -> list[Table]:
    """Slowdowns, and queues with links: side by side they would not fit on a page."""
    slow: list[tuple[Cell, ...]] = []
    longer: list[tuple[Cell, ...]] = []
    queues: list[tuple[Cell, ...]] = []
    for variant in (*VARIANTS, *HPCC, *DCQCN, *FORMS, *PFC_ALPHA):
        values = _measure(runs.where(variant=variant))
        for name, stack in STACKS.items():
            if (name, "qps") not in values:
                continue
            places: list[list[Place]] = [[(name, "qps")]]
            places += [[(name, size, q) for q in (50, 99)] for size in SIZES]
            places.append([(name, "short", 99)])
            long: list[list[Place]] = [[(name, size, q) for q in (50, 99)] for size in LONGER]
            at: list[list[Place]] = [[(name, _HOST_PORTS, q, when) for q in (50, 99)] for when in ("all", "busy")]
            at += [[(name, what)] for what in ("carried", "carried most")]
            at.append([(name, what) for what in ("open warmup", "open end", "asked")])
            for rows, found in ((slow, places), (longer, long), (queues, at)):
                cells = [Cell(" / ".join(format_number(values[place]) for place in several)) for several in found]
                rows.append((Cell(f"{stack.title}, {in_words(variant)}"), *cells))
    sizes = (f"{s // 1000} KB: p50 / p99" for s in SIZES)
    ranges = (f"{a // 1000:,} to {b // 1000:,} KB" for a, b in pairwise((SHORT, *LONGER)))
    links = ("Links busy (%)", "busiest link (%)", "Under way: warm-up / end, of all (MB)")
    return [
        Table("Slowdown by query size", ("Scheme, variant", "Answered/s", *sizes, "up to 32 KB: p99"), slow),
        Table("Slowdown of longer queries, p50 / p99, by size", ("Scheme, variant", *ranges), longer),
        Table(
            "Queue at ports to servers; links to servers; queries under way",
            ("Scheme, variant", "Queue p50 / p99 (KB)", "while busy (KB)", *links),
            queues,
        ),
    ]


_JUDGED: Final = {
    "E33": tuple(STACKS),
    "E34": ("hpcc_rdma", "dcqcn"),
    "E35": ("hpcc_tcp", "new_reno"),
    "E36": ("hpcc_tcp", "hpcc_rdma"),
    "E37": ("new_reno", "dcqcn"),
}
"""The schemes that a result is about, which its figure shows."""

_TOGETHER: Final = 80_000.0
"""Place on the axis of sizes for all queries up to :data:`SHORT` together."""


def _drawings(runs: Runs, name: str) -> Iterator[Drawing]:
    if name in ("E36", "E37"):
        yield _queue_drawing(runs, name)
    elif name in _JUDGED:
        yield _slowdown_drawing(runs, name)
    elif name == "E38":
        yield _size_drawing(runs)


def _size_drawing(runs: Runs) -> Drawing:
    """Sizes of the queries drawn, which are the same under every scheme."""
    bytes_ = together(runs.where(scheme="hpcc_rdma", variant="default"), "storage").size_bytes
    no = np.zeros(len(bytes_), dtype=bool)
    sample = Sample(bytes_.astype(np.int64), bytes_, censored=no, failed=no)
    figure = plot.size_cdf({"queries": sample}, sorted(SHARES.items()))
    caption = "Sizes of the queries issued after the warm-up. Hollow and grey: the two shares that the study states."
    return Drawing("E38-sizes", figure, caption)


def _queue_drawing(runs: Runs, name: str) -> Drawing:
    """Queues as they are judged: at the ports to servers, of the time in which something waits."""
    curves = {}
    for scheme in _JUDGED[name]:
        chosen = runs.where(scheme=scheme, variant="default")
        if len(chosen):
            curves[STACKS[scheme].title] = queue(chosen, _HOST_PORTS).busy()
    rule = hpcc_queue_rule if name == "E36" else baseline_queue_rule
    held = published_points(rule({}), r".*p(\d+)", 1000, curves)
    caption = (
        "Bytes waiting at the ports to the servers, as they are judged: share of the time in which something waits. "
        "Hollow and grey: the published median and p99, where there is one."
    )
    if name == "E36":
        caption += " The p99s are close to each other: the mark of the second hangs below its place."
    if name == "E37":
        caption += (
            " NewReno's p99 is known to lie in the highest bin that a port of 256 KiB has, from 246 to 262 KB, and the "
            "limit of 256 KB lies within it."
        )
    figure = plot.queue_cdf(curves, share="Share of busy time", published=held)
    return Drawing(f"{name}-queue", figure, caption)


def _slowdown_drawing(runs: Runs, name: str) -> Drawing:
    """Slowdown over query size, with what is judged and what was published."""
    q = 50 if name == "E33" else 99
    values = measure(runs)
    titles = {STACKS[scheme].title: scheme for scheme in _JUDGED[name]}
    lines = {title: (list(SIZES), [at(values, scheme, size, q) for size in SIZES]) for title, scheme in titles.items()}
    ticks = {float(size): f"{size:,}" for size in SIZES}
    shown = Runs(tuple(run for run in runs.where(variant="default") if run.point.key["scheme"] in titles.values()))
    bars = intervals(_measure, shown, pooled=True)
    places: dict[str, dict[float, Place]] = {
        title: {float(size): (scheme, size, q) for size in SIZES} for title, scheme in titles.items()
    }
    label = "Median slowdown" if q == 50 else "p99 slowdown"
    points: dict[str, tuple[list[float], list[float]]] = {}
    held: dict[str, tuple[list[float], list[float]]] = {}
    if name == "E33":
        held = {STACKS["dcqcn"].title: ([float(SIZES[0])], [11.9])}
        caption = (
            "Median slowdown of queries by size. Judged: DCQCN at 4,000 B against the published value (hollow and "
            "grey) and at every size against HPCC over RDMA; HPCC over TCP, HPCC over RDMA and NewReno against one "
            "another at every size."
        )
    else:
        ticks[_TOGETHER] = "all up to\n32,000"
        together = {title: at(values, scheme, "short", 99) for title, scheme in titles.items()}
        points = {title: ([_TOGETHER], [value]) for title, value in together.items()}
        for title, scheme in titles.items():
            places[title][_TOGETHER] = (scheme, "short", 99)
        of = {claim.id: claim.published for claim in (rdma_tail_rule if name == "E34" else tcp_tail_rule)({})}
        where = {float(SIZES[0]): "_4k", _TOGETHER: ""}
        for title, scheme in titles.items():
            known = {x: of[f"{scheme}.p99{suffix}"] for x, suffix in where.items()}
            numbers = {x: float(value) for x, value in known.items() if isinstance(value, (int, float))}
            held[title] = (list(numbers), list(numbers.values()))
        over, judged = ("RDMA", "both schemes and their ratio are") if name == "E34" else ("TCP", "both schemes are")
        caption = (
            f"p99 slowdown of queries over {over} by size, and of all up to 32,000 B together. At 4,000 B and for all "
            f"together {judged} judged. Hollow and grey: the published values, "
            "those of short queries; the study does not say of which sizes."
        )
    chart = multiples.Chart(
        "",
        lines,
        "Query size (bytes)",
        label,
        ticks,
        log_x=True,
        points=points,
        published=held,
        intervals={title: {x: bars[p] for x, p in own.items() if p in bars} for title, own in places.items()},
    )
    figure = multiples.charts([[chart]])
    return Drawing(f"{name}-slowdown", figure, caption + told(bars, figure))


REMARKS: Final = [
    "Eight servers, each asks all others; 32 connections of each pair, each on one NIC at either end; Poisson queries, "
    "the same under every scheme; with ACKs and responses of 64 B, but without HPCC's telemetry, they load the links "
    "to the servers to 80 %. A query goes to a connection with the fewest outstanding. Over RDMA a connection idle for "
    "100 µs begins anew at line rate.",
    "Sizes: only 4, 8, 16 and 32 KB occur up to 32 KB, above them sizes are interpolated (mean 43.5 KB).",
    "The study does not say which ports its queue distributions are of: judged are those to the servers while "
    "something waits; the busiest port and all of the time are reported beside it.",
    "Queues and links are those after the warm-up: what a run that stops there counts is taken off. Where the queries "
    "under way grow from there to the end, the numbers are of this length of run, not of a steady state.",
]


def _experiment(
    number: int, title: str, statement: str, rule: Any, points: Any = default, measured: Any = measure
) -> Experiment:
    name = f"E{number}"

    def judged(runs: Runs, scale: Scale) -> list[Verdict]:
        return verdicts(name, measured, rule, runs, scale, pooled=True)

    def show(runs: Runs, _scale: Scale) -> Shown:
        return Shown(
            _drawings(runs, name),
            _tables(runs),
            [*REMARKS, *variant_remarks(ABOUT, runs)],
        )

    return Experiment(
        id=name,
        title=title,
        statement=statement,
        source="Buffer sizing with HPCC, BS 2019",
        plan=points,
        judge=judged,
        show=show,
    )


EXPERIMENTS = (
    _experiment(
        31,
        "Target utilisation and new connections",
        "Bursts come from new connections at line rate; the headroom of eta below 1 takes them up.",
        burst_rule,
        of_hpcc,
        measure_hpcc,
    ),
    _experiment(
        33,
        "Storage queries, median slowdown",
        "HPCC over TCP and RDMA and NewReno are alike; DCQCN is slow for short queries (11.9 at 4 KB).",
        and_forms(median_rule),
        with_forms,
    ),
    _experiment(
        34,
        "Storage queries, p99 over RDMA",
        "p99 slowdown of short queries: 41.6 with DCQCN, 7.8 with HPCC.",
        and_forms(rdma_tail_rule),
        plan,
    ),
    _experiment(
        35,
        "Storage queries, p99 over TCP",
        "p99 slowdown of short queries: 100 with NewReno, 4.3 with HPCC.",
        and_forms(tcp_tail_rule),
        plan,
    ),
    _experiment(
        36,
        "Storage queries, queues under HPCC",
        "Median 18 KB over TCP and 2.2 KB over RDMA, p99 65 KB and 74 KB.",
        and_forms(hpcc_queue_rule, PFC_ALPHA),
        with_pfc,
    ),
    _experiment(
        37,
        "Storage queries, queues under the baselines",
        "p99: 247 KB with NewReno, 519 KB with DCQCN.",
        baseline_queue_rule,
        with_dcqcn,
    ),
    _experiment(38, "Sizes of storage queries", "22.9 % are of 4 KB, 90.5 % of at most 32 KB.", size_rule),
)
