"""E33 to E38: storage traffic between all servers at 80 % load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from paceline import multiples, plot
from paceline.analysis import queue_percentile
from paceline.experiments.buffer_sizing.measures import percentile, queue, together
from paceline.experiments.buffer_sizing.testbed import STACKS, scenario
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, ratio, verdicts
from paceline.reproduce.model import Drawing, Experiment, Point, Runs, Scale, Shown, Verdict
from paceline.scenario import Load, OpenRpc
from paceline.tables import Cell, Table, format_number

SIZES: Final = (4_000, 8_000, 16_000, 32_000)
"""Query sizes that occur as such; above them sizes spread."""

SHARES: Final = {4_000: 0.2293, 32_000: 0.9047}
"""Published shares of the queries up to a size."""

SHORT: Final = 32_000

_LENGTH_US: Final = {Scale.TINY: 2_000, Scale.QUICK: 60_000, Scale.PAPER: 400_000}
_WARMUP_US: Final = {Scale.TINY: 500, Scale.QUICK: 10_000, Scale.PAPER: 20_000}
_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 3, Scale.PAPER: 5}
_HOST_PORTS: Final = "tor->host"


def plan(scale: Scale) -> Sequence[Point]:
    """Open-loop queries of every server to every other, 80 % of all links to servers, under every scheme."""
    stop, warmup = _LENGTH_US[scale], _WARMUP_US[scale]
    work = OpenRpc(group="storage", connections=8, sizes="alistorage@bs19", load=Load(value=0.8))
    found = []
    for name, stack in STACKS.items():
        run = scenario(f"storage-{name}", stack, [work], stop_us=stop, warmup_us=warmup)
        found += [Point(scenario=run, key={"scheme": name}, seed=seed) for seed in range(1, _SEEDS[scale] + 1)]
    return found


def measure(runs: Runs) -> Values:
    """Slowdowns by query size, and queues, by scheme."""
    found: dict[Place, float] = {}
    for name in STACKS:
        chosen = runs.where(scheme=name)
        if not len(chosen):
            continue
        got = together(chosen, "storage")
        found[name, "qps"] = got.per_second
        found[name, "queries"] = float(len(got.size_bytes))
        for size in SIZES:
            own = got.slowdown[got.size_bytes == size]
            for q in (50, 99):
                found[name, size, q] = percentile(own, q)
        for size, share in SHARES.items():
            found[name, size, "share"] = float(np.mean(got.size_bytes <= size)) / share
        short = got.slowdown[got.size_bytes <= SHORT]
        found[name, "short", 50], found[name, "short", 99] = percentile(short, 50), percentile(short, 99)
        for where in (_HOST_PORTS, "busiest"):
            histogram = queue(chosen, where)
            for q in (50, 99):
                for busy in (False, True):
                    low, high = queue_percentile(histogram, q, busy=busy)
                    found[name, where, q, "busy" if busy else "all"] = (low + high) / 2000
    return found


def median_rule(values: Values) -> list[Claim]:
    """E33: median slowdown by size."""
    found = []
    for name, stack in STACKS.items():
        for size in SIZES:
            value = values.get((name, size, 50), float("nan"))
            limits = judge.between(6, 20) if (name, size) == ("dcqcn", 4000) else None
            published = 11.9 if limits else None
            found.append(
                Claim(f"{name}.{size}", f"{stack.title}: median slowdown, {size:,} B", value, limits, published)
            )
    for name in ("hpcc_tcp", "new_reno"):
        over = ratio(values, (name, 4000, 50), ("hpcc_rdma", 4000, 50))
        text = f"median slowdown at 4,000 B, {STACKS[name].title} over HPCC, RDMA"
        found.append(Claim(f"{name}.alike", text, over, judge.between(0.5, 2)))
    return found


def rdma_tail_rule(values: Values) -> list[Claim]:
    """E34: p99 of short queries over RDMA."""
    found = [
        Claim(
            f"{name}.p99",
            f"{STACKS[name].title}: p99 slowdown, queries up to 32 KB",
            values.get((name, "short", 99), float("nan")),
            published=published,
        )
        for name, published in (("dcqcn", 41.6), ("hpcc_rdma", 7.8))
    ]
    over = ratio(values, ("dcqcn", "short", 99), ("hpcc_rdma", "short", 99))
    text = "p99 slowdown of queries up to 32 KB, DCQCN over HPCC, RDMA"
    return [*found, Claim("ratio", text, over, judge.between(3, 8), published=5.3)]


def tcp_tail_rule(values: Values) -> list[Claim]:
    """E35: p99 of short queries over TCP."""
    limits = {"new_reno": (judge.at_least(50), 100.0), "hpcc_tcp": (judge.at_most(10), 4.3)}
    return [
        Claim(
            f"{name}.p99",
            f"{STACKS[name].title}: p99 slowdown, queries up to 32 KB",
            values.get((name, "short", 99), float("nan")),
            limit,
            published,
        )
        for name, (limit, published) in limits.items()
    ]


def _queues(values: Values, names: dict[str, dict[int, tuple[judge.Limits, float]]]) -> list[Claim]:
    found = []
    for name, limits in names.items():
        for q in (50, 99):
            for where, words in ((_HOST_PORTS, "ports to servers"), ("busiest", "busiest port")):
                for when in ("all", "busy"):
                    judged = (where, when) == (_HOST_PORTS, "busy") and q in limits
                    limit, published = limits[q] if judged else (None, None)
                    value = values.get((name, where, q, when), float("nan"))
                    at = "all the time" if when == "all" else "while busy"
                    text = f"{STACKS[name].title}: p{q} of the queue, {words}, {at}, KB"
                    place = "hosts" if where == _HOST_PORTS else "busiest"
                    found.append(Claim(f"{name}.{place}.{when}.p{q}", text, value, limit, published))
    return found


def _factor_2(value: float) -> tuple[judge.Limits, float]:
    return judge.between(value / 2, value * 2), value


def hpcc_queue_rule(values: Values) -> list[Claim]:
    """E36: queues under HPCC."""
    return _queues(
        values,
        {"hpcc_tcp": {50: _factor_2(18), 99: _factor_2(65)}, "hpcc_rdma": {50: _factor_2(2.2), 99: _factor_2(74)}},
    )


def baseline_queue_rule(values: Values) -> list[Claim]:
    """E37: queues under the baselines."""
    return _queues(
        values, {"new_reno": {99: (judge.between(230, 256), 247)}, "dcqcn": {99: (judge.between(400, 700), 519)}}
    )


def size_rule(values: Values) -> list[Claim]:
    """E38: the sizes drawn."""
    found = []
    for size, share in SHARES.items():
        value = values.get(("hpcc_rdma", size, "share"), float("nan")) * share * 100
        text = f"queries of at most {size:,} B, %"
        found.append(Claim(f"share_{size}", text, value, judge.percent_of(share * 100, 3), published=share * 100))
    return found


def _table(values: Values) -> Table:
    rows = []
    for name, stack in STACKS.items():
        cells = [format_number(values.get((name, "qps"), float("nan")))]
        for size in SIZES:
            pair = [values.get((name, size, q), float("nan")) for q in (50, 99)]
            cells.append(" / ".join(format_number(v) for v in pair))
        for when in ("all", "busy"):
            pair = [values.get((name, _HOST_PORTS, q, when), float("nan")) for q in (50, 99)]
            cells.append(" / ".join(format_number(v) for v in pair))
        rows.append((Cell(stack.title), *(Cell(c) for c in cells)))
    head = ("Scheme", "Answered/s", *(f"{s // 1000} KB: p50 / p99" for s in SIZES))
    return Table(
        "Slowdown by query size; queue at ports to servers, KB", (*head, "Queue p50 / p99", "while busy"), rows
    )


def _drawings(runs: Runs, name: str) -> Iterator[Drawing]:
    titles = {stack.title: runs.where(scheme=scheme) for scheme, stack in STACKS.items()}
    if name in ("E36", "E37"):
        curves = {title: queue(chosen, _HOST_PORTS) for title, chosen in titles.items() if len(chosen)}
        caption = "Bytes waiting at the ports to the servers, share of time. The left edge is an empty queue."
        yield Drawing(f"{name}-queue", plot.queue_cdf(curves), caption)
        return
    q = 50 if name == "E33" else 99
    values = measure(runs)
    lines = {
        stack.title: (list(SIZES), [values.get((scheme, size, q), float("nan")) for size in SIZES])
        for scheme, stack in STACKS.items()
    }
    label = "Median slowdown" if q == 50 else "p99 slowdown"
    chart = multiples.Chart("", lines, "Query size, bytes", label, log_x=True)
    yield Drawing(
        f"{name}-slowdown",
        multiples.charts([[chart]]),
        f"{'Median' if q == 50 else 'p99'} slowdown of queries by size.",
    )


REMARKS: Final = [
    "Eight servers, each asks all others; 8 connections of each pair, each on one NIC at either end; Poisson queries "
    "at 80 % of the links to the servers, counted in payload; responses of 64 B.",
    "Sizes: only 4, 8, 16 and 32 KB occur up to 32 KB, above them sizes are interpolated (mean 43.5 KB).",
    "The study does not say which ports its queue distributions are of: judged are those to the servers while "
    "something waits; the busiest port and all of the time are reported beside it.",
]


def _experiment(number: int, title: str, statement: str, rule: Any) -> Experiment:
    name = f"E{number}"

    def judged(runs: Runs, scale: Scale) -> list[Verdict]:
        return verdicts(name, measure, rule, runs, scale, pooled=True)

    def show(runs: Runs, _scale: Scale) -> Shown:
        return Shown(_drawings(runs, name) if number != 38 else (), [_table(measure(runs))], REMARKS)

    return Experiment(
        id=name,
        title=title,
        statement=statement,
        source="Buffer sizing with HPCC, BS 2019",
        plan=plan,
        judge=judged,
        show=show,
    )


EXPERIMENTS = (
    _experiment(
        33,
        "Storage queries, median slowdown",
        "HPCC over TCP and RDMA and NewReno are alike; DCQCN is slow for short queries (11.9 at 4 KB).",
        median_rule,
    ),
    _experiment(34, "Storage queries, p99 over RDMA", "Short queries: 41.6 with DCQCN, 7.8 with HPCC.", rdma_tail_rule),
    _experiment(35, "Storage queries, p99 over TCP", "Short queries: 100 with NewReno, 4.3 with HPCC.", tcp_tail_rule),
    _experiment(
        36,
        "Storage queries, queues under HPCC",
        "Median 18 KB over TCP and 2.2 KB over RDMA, p99 65 KB and 74 KB.",
        hpcc_queue_rule,
    ),
    _experiment(
        37,
        "Storage queries, queues under the baselines",
        "p99: 247 KB with NewReno, 519 KB with DCQCN.",
        baseline_queue_rule,
    ),
    _experiment(38, "Sizes of storage queries", "22.9 % are of 4 KB, 90.5 % of at most 32 KB.", size_rule),
)
