"""E27 to E30 and E32: two clients flood a server with queries, a third one is the victim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from paceline import plot, queries
from paceline.analysis import Sample, jain_index, nearest_rank, queue_percentile
from paceline.experiments.buffer_sizing.measures import (
    UNTIL,
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
    HPCC_STACK,
    NEW_RENO_STACK,
    PFC_ALPHA,
    PFC_TITLES,
    STACKS,
    Stack,
    scenario,
    variant_remarks,
)
from paceline.formats import format_columns, format_number
from paceline.plot import multiples
from paceline.reproduce import judge
from paceline.reproduce.claims import (
    WORTH_TELLING,
    Claim,
    Place,
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
from paceline.scenario import ClosedRpc, Tcp
from paceline.sweeps.points import Point, Runs, over_seeds
from paceline.tables import Cell, Table
from paceline.words import as_ratio, in_words, many

SERVER: Final = 0
CLIENTS: Final = {"flood_a": (4, 64), "flood_b": (5, 64), "victim": (6, 2)}
"""Server number and outstanding queries of each of 8 connections: 2 MB, 2 MB and 64 KB in flight."""

QUERY_KB: Final = 4

_LENGTH_US: Final = {Scale.TINY: 4_000, Scale.QUICK: 300_000, Scale.PAPER: 1_000_000}
_WARMUP_US: Final = {Scale.TINY: 1_000, Scale.QUICK: 50_000, Scale.PAPER: 50_000}
_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 3, Scale.PAPER: 5}


def _tcp(base: Tcp, **settings: Any) -> Tcp:
    return replace(base, **settings)


def _both(**settings: Any) -> dict[str, Stack]:
    return {
        "new_reno": replace(STACKS["new_reno"], tcp=_tcp(NEW_RENO_STACK, **settings)),
        "hpcc_tcp": replace(STACKS["hpcc_tcp"], tcp=_tcp(HPCC_STACK, **settings)),
    }


KNOBS: Final[Mapping[str, Mapping[str, Stack]]] = {
    "ack_2": _both(ack_segments=2),
    "ack_16_500us": _both(ack_segments=16, ack_delay="500us"),
    "ack_8_200us": _both(ack_delay="200us"),
    "ack_no_push": _both(ack_push=False),
    "burst_16": _both(burst=16),
    "sack": _both(sack=True),
    "initial_window_2": _both(initial_window=2),
    "clock_1ms": _both(clock="1ms"),
    "clock_2ms": _both(clock="2ms"),
    "rto_min_200ms": _both(rto_min="200ms", rto_initial="200ms"),
    "min_window_1": {"hpcc_tcp": replace(STACKS["hpcc_tcp"], tcp=NEW_RENO_STACK)},
    "min_window_2": {"hpcc_tcp": replace(STACKS["hpcc_tcp"], tcp=_tcp(HPCC_STACK, min_window=2))},
}
"""What is unknown of the TCP stack, one setting at a time."""

ABOUT: Final[Mapping[str, str]] = {
    "ack_2": "an ACK for every 2 segments",
    "ack_16_500us": "an ACK for every 16 segments, or after 500 µs",
    "ack_8_200us": "an ACK after 200 µs at the latest",
    "ack_no_push": "the end of a message is not acknowledged at once",
    "burst_16": "16 segments at most may leave back to back",
    "sack": "selective acknowledgements",
    "initial_window_2": "connections begin with 2 segments",
    "clock_1ms": "a TCP clock of 1 ms",
    "clock_2ms": "a TCP clock of 2 ms",
    "rto_min_200ms": "timeouts of 200 ms at least, the first one included",
    "min_window_1": "HPCC with NewReno's lowest window of 1 segment",
    "min_window_2": "HPCC with a lowest window of 2 segments",
    **FORM_TITLES,
    **PFC_TITLES,
}

BATCHES: Final = (1, 2, 5, 8, 10, 16)


@dataclass(frozen=True)
class Acks:
    """What decides whether an ACK for several packets makes bursts. The study tells none of it."""

    title: str
    min_window: int = 3
    whole: bool = True
    """The queries that a connection sends at a time are one message: the end of a message is acknowledged at once, and
    one query of 4 KB is three segments, so that nothing beyond an ACK per 3 would ever come about."""


ACKS: Final[Mapping[str, Acks]] = {
    "default": Acks("the 64 queries that a connection sends at a time are one message of 256 KB; lowest window 3"),
    "min_window_1": Acks("messages of 256 KB with a lowest window of 1 segment", min_window=1),
    "queries_4kb": Acks("every query of 4 KB is a message, whose end is acknowledged at once", whole=False),
    "queries_4kb_min_window_1": Acks("messages of 4 KB with a lowest window of 1 segment", min_window=1, whole=False),
}
"""Variants of E32."""


def batch(acks: str, n: int, *, paced: bool) -> str:
    """How a run of E32 is called among the variants."""
    return f"batch_{n}{'_paced' if paced else ''}{'' if acks == 'default' else '@' + acks}"


def _batches(acks: str) -> dict[str, dict[str, Stack]]:
    base = _tcp(HPCC_STACK, min_window=ACKS[acks].min_window)
    return {
        batch(acks, n, paced=paced): {
            "hpcc_tcp": replace(STACKS["hpcc_tcp"], tcp=_tcp(base, ack_segments=n, pacing="rate" if paced else "off"))
        }
        for n in BATCHES
        for paced in (False, True)
    }


BATCHED: Final = {variant: (acks, stacks) for acks in ACKS for variant, stacks in _batches(acks).items()}

VARIANTS: Final[Mapping[str, Mapping[str, Stack]]] = {
    "default": STACKS,
    **KNOBS,
    **FORMS,
    **PFC_ALPHA,
    **{variant: stacks for variant, (_, stacks) in BATCHED.items()},
}


def plan(scale: Scale) -> Sequence[Point]:
    """The flood under every scheme; what is unknown of the stack with one seed. Each run with that of its warm-up."""
    found = []
    stop, warmup = _LENGTH_US[scale], _WARMUP_US[scale]
    for variant, stacks in VARIANTS.items():
        acks = BATCHED[variant][0] if variant in BATCHED else None
        for name, stack in stacks.items():
            workloads = _queries(whole=acks is not None and ACKS[acks].whole)
            run = scenario(f"flood-{name}-{variant}", stack, workloads, stop_us=stop, warmup_us=warmup, single=[SERVER])
            once = variant in KNOBS or acks not in (None, "default")
            seeds = 1 if once else _SEEDS[scale]
            found += over_seeds(run, {"scheme": name, "variant": variant}, seeds)
    return with_warmup(found)


def _queries(*, whole: bool) -> list[ClosedRpc]:
    """The clients; ``whole``: what a connection sends at a time is one query."""
    return [
        ClosedRpc(
            group=group,
            clients=[client],
            servers=[SERVER],
            connections=8,
            outstanding=1 if whole else outstanding,
            sizes=f"{QUERY_KB * outstanding if whole else QUERY_KB}KB",
        )
        for group, (client, outstanding) in CLIENTS.items()
    ]


def with_knobs(scale: Scale) -> Sequence[Point]:
    """The runs without variants, HPCC's other forms, and those with one setting of the TCP stack changed."""
    return [p for p in plan(scale) if p.key["variant"] in ("default", *KNOBS, *FORMS)]


def with_forms(scale: Scale) -> Sequence[Point]:
    """The runs without variants, and HPCC's other forms."""
    return [p for p in plan(scale) if p.key["variant"] in ("default", *FORMS)]


def over_rdma(scale: Scale) -> Sequence[Point]:
    """Those over RDMA, and those with another threshold of PFC."""
    chosen = ("default", *FORMS, *PFC_ALPHA)
    return [p for p in plan(scale) if p.key["variant"] in chosen and p.key["scheme"] in ("hpcc_rdma", "dcqcn")]


def batches(scale: Scale) -> Sequence[Point]:
    """The runs of E32."""
    return [p for p in plan(scale) if p.key["variant"] in BATCHED]


def measure(runs: Runs) -> Values:
    """The victim's queries and the bottleneck's queue, by variant and scheme."""
    found: dict[Place, float] = {}
    for variant, stacks in VARIANTS.items():
        for name in stacks:
            chosen = runs.where(variant=variant, scheme=name)
            if not len(chosen):
                continue
            victim, place = together(chosen, "victim"), (variant, name)
            found[(*place, "qps")] = victim.per_second
            found[(*place, "jain")] = jain_index([together(chosen, group).per_second for group in CLIENTS])
            found[(*place, "mean_us")] = float(np.mean(victim.qct_us)) if len(victim.qct_us) else float("nan")
            for q in (50, 95, 99):
                found[(*place, f"p{q}_us")] = nearest_rank(victim.qct_us, q)
                found[(*place, f"p{q}_us", "up to")] = nearest_rank(victim.most_us, q)
            bottleneck = queue(chosen, "busiest")
            for q in (50, 99):
                for when in ("queue", "queue_busy"):
                    low, high = queue_percentile(bottleneck, q, busy=when == "queue_busy")
                    found |= binned((*place, f"{when}_p{q}_kb"), low, high, unit=1000)
            parts = windows(chosen)
            # The one link that all queries cross is the busiest of those to servers.
            found[(*place, "busy")] = sum(float(p.carried("tor->host").max()) for p in parts) / len(parts) * 100
            found[(*place, "pauses")] = sum(p.count("pauses") for p in parts) / len(parts)
            for what in ("drops", "timeouts"):
                found[(*place, what)] = sum(p.count(what) for p in parts) / len(parts)
                found[(*place, f"{what}_warmup")] = sum(getattr(p.warmup, what) for p in parts) / len(parts)
    return found


def rate_rule(values: Values) -> list[Claim]:
    """E27: the victim's rate over TCP, and how fair that is; every setting of the stack that is unknown."""
    over = ratio(values, ("default", "hpcc_tcp", "qps"), ("default", "new_reno", "qps"))
    text = "victim: queries answered per second, HPCC over NewReno"
    found = [Claim("ratio", text, over, judge.between(4, 10), published=7), *_fairness(values, "hpcc_tcp", "new_reno")]
    for variant, stacks in {**KNOBS, **FORMS}.items():
        under = ("default" if "new_reno" not in stacks else variant, "new_reno", "qps")
        value = ratio(values, (variant, "hpcc_tcp", "qps"), under)
        found.append(Claim("ratio", text, value, published=7, variant=variant))
    return found


def _fairness(values: Values, ours: str, other: str) -> list[Claim]:
    """How evenly the three clients' queries are answered: more so with HPCC, says the study."""
    found = []
    for name in (ours, other):
        text = f"Jain's index of what the three clients have answered per second, {STACKS[name].title}"
        found.append(Claim(f"jain.{name}", text, at(values, "default", name, "jain"), most=1))
    over = ratio(values, *(("default", name, "jain") for name in (ours, other)))
    text = f"Jain's index of what the three clients have answered per second, HPCC over {STACKS[other].title}"
    return [*found, Claim("jain", text, over, judge.above(1))]


def rdma_rate_rule(values: Values) -> list[Claim]:
    """E28: the victim's rate over RDMA, how fair that is, and what PFC's threshold is worth."""
    found = []
    for variant in ("default", *FORMS, *PFC_ALPHA):
        of_dcqcn = variant if variant in PFC_ALPHA else "default"
        over = ratio(values, (variant, "hpcc_rdma", "qps"), (of_dcqcn, "dcqcn", "qps"))
        text = "victim: queries answered per second, HPCC over DCQCN"
        limits = judge.between(1.2, 2) if variant == "default" else None
        found.append(Claim("ratio", text, over, limits, published=1.5, variant=variant))
    found += _fairness(values, "hpcc_rdma", "dcqcn")
    for variant, name in (("default", "hpcc_rdma"), *((v, "hpcc_rdma") for v in FORMS), ("default", "dcqcn")):
        text = f"bottleneck under {STACKS[name].title}, % of the time busy"
        found.append(Claim(f"{name}.busy", text, at(values, variant, name, "busy"), variant=variant))
    for variant in ("default", *PFC_ALPHA):
        for name in ("hpcc_rdma", "dcqcn"):
            text = f"{STACKS[name].title}: pause frames after the warm-up"
            found.append(Claim(f"{name}.pauses", text, at(values, variant, name, "pauses"), variant=variant))
    return found


_PUBLISHED_P99_US: Final = 5900
"""Of NewReno's victim: the study's "up to 5.9 ms"."""


def time_rule(values: Values) -> list[Claim]:
    """E29: the victim's completion times."""
    found = []
    for name, stack in STACKS.items():
        for what in ("mean_us", "p95_us", "p99_us"):
            value = at(values, "default", name, what)
            text = f"victim, {stack.title}: {what.removesuffix('_us')} of the QCT (µs)"
            limits: judge.Limits | None = None
            if what == "p99_us":
                limits = {"new_reno": judge.about(_PUBLISHED_P99_US), "hpcc_tcp": judge.below(200)}.get(name)
                limits = judge.below(200) if name == "hpcc_rdma" else limits
            published = _PUBLISHED_P99_US if (name, what) == ("new_reno", "p99_us") else None
            up_to = at(values, "default", name, what, "up to")
            found.append(Claim(f"{name}.{what}", text, value, limits, published, up_to=up_to))
    for variant in ("default", *FORMS):
        for what in ("mean_us", "p95_us", "p99_us"):
            over = ratio(values, (variant, "hpcc_rdma", what), ("default", "dcqcn", what))
            text = f"victim, RDMA: {what.removesuffix('_us')} of the QCT, HPCC over DCQCN"
            limits = judge.below(1) if variant == "default" else None
            found.append(Claim(f"rdma.{what.removesuffix('_us')}", text, over, limits, variant=variant))
    for variant in (variant for variant, stacks in KNOBS.items() if "new_reno" in stacks):
        value = at(values, variant, "new_reno", "p99_us")
        text = "victim, NewReno, TCP: p99 of the QCT (µs)"
        up_to = at(values, variant, "new_reno", "p99_us", "up to")
        found.append(Claim("new_reno.p99_us", text, value, published=_PUBLISHED_P99_US, variant=variant, up_to=up_to))
    return found


def queue_rule(values: Values) -> list[Claim]:
    """E30: the queue of the bottleneck: under HPCC short, in the tail too, and over RDMA shorter than over TCP."""
    limits = {
        ("hpcc_rdma", 50): (judge.below(5), 0),
        ("hpcc_tcp", 50): (kilobytes(15, 45), 29),
        ("hpcc_tcp", 99): (kilobytes(25, 60), 38),
    }
    found = []
    for name, stack in STACKS.items():
        for q in (50, 99):
            for when, words in (("queue", "all the time"), ("queue_busy", "while busy")):
                place = ("default", name, f"{when}_p{q}_kb")
                value, within = at(values, *place), bounds(values, place)
                limit, published = limits.get((name, q), (None, None)) if when == "queue" else (None, None)
                text = f"queue at the victim's bottleneck, {stack.title}: p{q}, {words} (KB)"
                found.append(Claim(f"{name}.{when}_p{q}_kb", text, value, limit, published, within=within))
    for name, ours, other in (
        ("tcp", "hpcc_tcp", "new_reno"),
        ("rdma", "hpcc_rdma", "dcqcn"),
        ("near_zero", "hpcc_rdma", "hpcc_tcp"),
    ):
        for q in (50, 99):
            top, bottom = (("default", scheme, f"queue_p{q}_kb") for scheme in (ours, other))
            text = f"queue at the victim's bottleneck: p{q}, {as_ratio(STACKS[ours].title, STACKS[other].title)}"
            value, within = ratio(values, top, bottom), ratio_bounds(values, top, bottom)
            found.append(Claim(f"shorter.{name}.p{q}", text, value, judge.below(1), within=within))
    for variant, stacks in FORMS.items():
        for name in stacks:
            for q in (50, 99):
                place = (variant, name, f"queue_p{q}_kb")
                value, within = at(values, *place), bounds(values, place)
                text = f"queue at the victim's bottleneck, {STACKS[name].title}: p{q}, all the time (KB)"
                found.append(Claim(f"{name}.queue_p{q}_kb", text, value, within=within, variant=variant))
    return found


def batch_rule(values: Values) -> list[Claim]:
    """E32: bursts that delayed ACKs make."""
    found = []
    for n in BATCHES:
        per_ack = f"{many(n, 'packet')} per ACK"
        for paced in (False, True):
            for q in (50, 99):
                variant = batch("default", n, paced=paced)
                place = (variant, "hpcc_tcp", f"queue_p{q}_kb")
                value, within = at(values, *place), bounds(values, place)
                text = f"HPCC, TCP, {per_ack}{', paced' if paced else ''}: p{q} of the bottleneck's queue (KB)"
                found.append(Claim(f"{variant}.queue_p{q}_kb", text, value, within=within))
    for acks in ACKS:
        one, eight, sixteen = (batch(acks, n, paced=False) for n in (1, 8, 16))
        smooth = batch(acks, 8, paced=True)
        for q, words in ((50, "median"), (99, "p99")):
            for name, text, over, under, limits in (
                ("growth", "16 packets per ACK over 1", sixteen, one, judge.above(1)),
                ("pacing", "8 packets per ACK, paced over not paced", smooth, eight, judge.below(1)),
            ):
                top, bottom = ((variant, "hpcc_tcp", f"queue_p{q}_kb") for variant in (over, under))
                found.append(
                    Claim(
                        f"{name}.p{q}",
                        f"{words} of the queue, {text}",
                        ratio(values, top, bottom),
                        limits if acks == "default" else None,
                        variant=acks,
                        within=ratio_bounds(values, top, bottom),
                    )
                )
    return found


def _least(values: Values, variant: str, name: str, what: str) -> str:
    """Marks a time that is more if what was open when the run ended went on for long."""
    most = at(values, variant, name, what, "up to")
    return "≥ " if most > WORTH_TELLING * values[variant, name, what] else ""


def _table(values: Values) -> Table:
    rows = []
    parts = ("qps", "mean_us", "p95_us", "p99_us", "queue_p50_kb", "queue_p99_kb", "busy")
    ran = [(variant, name) for variant, of in VARIANTS.items() for name in of if (variant, name, "qps") in values]
    counts = format_columns([[values[*place, what] for what in ("drops", "timeouts")] for place in ran])
    for place, after in zip(ran, counts, strict=True):
        variant, name = place
        cells = [Cell(_least(values, variant, name, what) + format_number(values[*place, what])) for what in parts]
        # Counts of the warm-up in brackets: all schemes begin with full windows of many connections at once.
        before = (values[*place, f"{what}_warmup"] for what in ("drops", "timeouts"))
        cells += [Cell(f"{text} ({count:,.0f})") for text, count in zip(after, before, strict=True)]
        rows.append((Cell(f"{STACKS[name].title}, {in_words(variant)}"), *cells))
    head = ("Scheme, variant", "Answered/s", "Mean QCT (µs)", "p95 (µs)", "p99 (µs)", "Queue p50 (KB)", "p99 (KB)")
    more = ("Link busy (%)", "Drops", "Timeouts")
    caption = "The victim, and the bottleneck's queue, after the warm-up; in brackets the counts of the warm-up"
    return Table(caption, (*head, *more), rows)


def _three_digits(value: float) -> str:
    return format_number(float(f"{value:.3g}"))


def _rates(runs: Runs, name: str) -> Iterator[Drawing]:
    """E27 and E28: queries of the victim."""
    chosen = runs.where(variant="default")
    values, found = measure(chosen), intervals(measure, chosen, pooled=True)
    places: dict[str, Place] = {
        STACKS[scheme].title: ("default", scheme, "qps")
        for scheme in (("hpcc_tcp", "new_reno") if name == "E27" else ("hpcc_rdma", "dcqcn"))
    }
    rates = {title: values[place] for title, place in places.items() if place in values}
    ends = {title: found[place] for title, place in places.items() if place in found}
    held, said = {}, ""
    claim, other = (rate_rule if name == "E27" else rdma_rate_rule)({})[0], list(places)[-1]
    if isinstance(claim.published, (int, float)) and other in rates:
        times = f"{claim.published:g} \N{MULTIPLICATION SIGN} {other.partition(',')[0]}"
        held[f"{times}, published"] = claim.published * rates[other]
        said = f" Hollow and grey: {times} as measured here, the ratio that was published; rates were not."
    figure = multiples.bars(rates, "Queries answered per second", intervals=ends, text=_three_digits, published=held)
    yield Drawing(f"{name}-rate", figure, f"Queries of the victim that are answered.{said}{told(found)}")


def _times(runs: Runs, name: str) -> Iterator[Drawing]:
    """E29: how long the victim's queries take."""
    curves = {}
    for scheme, stack in STACKS.items():
        chosen = runs.where(variant="default", scheme=scheme, **{UNTIL: "end"})
        parts = [g.qct for run in chosen for g in queries.groups(run.results()) if g.label == "victim"]
        if parts:
            fields = ("size_bytes", "value", "censored", "failed")
            curves[stack.title] = Sample(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))
    held = published_points(time_rule({}), r"p(\d+)_us", 1e6, curves)
    hollow = f" Hollow and grey: the published p99 of {', '.join(held)}." if held else ""
    caption = (
        "Completion times of the victim's queries, those issued after the warm-up. Curves end below 1 by those that "
        f"were under way when the run ended.{hollow}"
    )
    figure = plot.fct_cdf(curves, "Query completion time", "Share of all queries", published=held)
    yield Drawing(f"{name}-times", figure, caption)
    held = {title: [(time, 1 - share) for time, share in points] for title, points in held.items()}
    longer = "Share of queries that take longer"
    figure = plot.fct_tail(curves, what="Query completion time", share=longer, published=held)
    yield Drawing(f"{name}-tail", figure, f"The same queries by the share that takes longer.{hollow}")


def _acknowledged(runs: Runs, name: str) -> Iterator[Drawing]:
    """E32: the queue over the packets that an ACK stands for."""
    values, found = measure(runs), intervals(measure, runs, pooled=True)
    row = []
    for q, words in ((50, "Median queue (KB)"), (99, "p99 of the queue (KB)")):
        curves, around = {}, {}
        for paced, title in ((False, "not paced"), (True, "paced")):
            places = {float(n): (batch("default", n, paced=paced), "hpcc_tcp", f"queue_p{q}_kb") for n in BATCHES}
            places = {n: place for n, place in places.items() if place in values}
            curves[title] = (list(places), [values[place] for place in places.values()])
            around[title] = {n: found[place] for n, place in places.items() if place in found}
        row.append(multiples.Chart("", curves, "Packets per ACK", words, scale="linear", intervals=around))
    figure = multiples.charts([row], {"paced": "not paced"})
    caption = "HPCC over TCP: the bottleneck's queue over the number of packets per ACK, all the time."
    yield Drawing(f"{name}-queue", figure, caption + told(found, figure))


def _queue(runs: Runs, name: str) -> Iterator[Drawing]:
    """E30: the bottleneck's queue."""
    curves = {}
    for scheme, stack in STACKS.items():
        chosen = runs.where(variant="default", scheme=scheme)
        if len(chosen):
            curves[stack.title] = queue(chosen, "busiest")
    caption = (
        "Bytes waiting at the victim's bottleneck, share of all time. Hollow and grey: the published median and p99; "
        "over RDMA the median was near zero."
    )
    held = published_points(queue_rule({}), r"queue_p(\d+)_kb", 1000, curves)
    yield Drawing(f"{name}-queue", plot.queue_cdf(curves, published=held), caption)


_DRAWN: Final = {"E27": _rates, "E28": _rates, "E29": _times, "E30": _queue, "E32": _acknowledged}


def show(name: str) -> Any:
    """The queue's distribution and all numbers."""

    def shown(runs: Runs, _scale: Scale) -> Shown:
        values = measure(runs)
        drawings = _DRAWN[name](runs, name)
        remarks = list(REMARKS)
        if name == "E32":
            remarks.append("Batch N: an ACK for every N packets; paced: segments leave at the rate of the window.")
            remarks += [f"Variant {in_words(acks)}: {about.title}." for acks, about in ACKS.items()]
        else:
            remarks += variant_remarks(ABOUT, runs)
        return Shown(drawings, [_table(values)], remarks)

    return shown


REMARKS: Final = [
    "Three clients of one pod and a server of the other on one 25 Gb/s link; 8 connections each, 64 outstanding "
    "queries of 4 KB on each connection of the two floods, 2 on the victim's.",
    "TCP: 256 KiB for each port. The host stack's time is a part of the host links' delay, so that the base RTT "
    "between pods is 20 µs.",
    "Queries and responses of a connection are acknowledged by packets of their own: nothing is piggybacked.",
    "Queues, links and losses are those after the warm-up: what a run that stops there counts is taken off.",
]


def _experiment(number: int, title: str, statement: str, rule: Any, points: Any) -> Experiment:
    name = f"E{number}"

    def judged(runs: Runs, scale: Scale) -> list[Verdict]:
        return verdicts(name, measure, rule, runs, scale, pooled=True)

    return Experiment(
        id=name,
        title=title,
        statement=statement,
        source="Buffer sizing with HPCC, BS 2019",
        plan=points,
        judge=judged,
        show=show(name),
    )


EXPERIMENTS = (
    _experiment(
        27,
        "Victim's query rate over TCP",
        "Beside two floods a client gets 7 times as many queries answered with HPCC as with NewReno.",
        rate_rule,
        with_knobs,
    ),
    _experiment(
        28,
        "Victim's query rate over RDMA",
        "Beside two floods a client gets 1.5 times as many queries answered with HPCC as with DCQCN.",
        rdma_rate_rule,
        over_rdma,
    ),
    _experiment(
        29,
        "Victim's completion times",
        "With HPCC the victim's completion times are low and steady; with NewReno the p99 is up to 5.9 ms.",
        time_rule,
        with_knobs,
    ),
    _experiment(
        30,
        "Bottleneck's queue",
        "HPCC over RDMA keeps the queue near zero, over TCP at 29 KB (median) and 38 KB (p99).",
        queue_rule,
        with_forms,
    ),
    _experiment(
        32,
        "Delayed ACKs and pacing",
        "ACKs for several packets make bursts, so that HPCC over TCP cannot reach an empty queue; pacing would.",
        batch_rule,
        batches,
    ),
)
