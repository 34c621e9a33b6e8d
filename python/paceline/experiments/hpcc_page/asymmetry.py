"""H14: a failed link between switches, and how many flows are under way with and without it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paceline import plot
from paceline.experiments.hpcc_page.curves import SCHEMES
from paceline.experiments.hpcc_page.setup import WINDOWS, points, scenario
from paceline.experiments.hpcc_page.slowdown import SOURCE, window_remark
from paceline.formats import format_time
from paceline.plot import LINE_STYLES
from paceline.reproduce import judge
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown, Verdict
from paceline.results import Results
from paceline.scenario import Host, LinkFailure, Scenario
from paceline.sweeps import estimates
from paceline.sweeps.points import Point, Runs
from paceline.words import many

WORKLOAD: Final = "websearch"
LOAD: Final = 70
COMPARED: Final = ("hpcc_int", "dctcp")
FAILED: Final = ("tor0", "agg0")
"""One of four uplinks of a top-of-rack switch: its 16 hosts then share 1.2 Tb/s, which 70 % load needs nearly whole."""
_LINK: Final = f"{FAILED[0]} – {FAILED[1]}"

NEAR_HOSTS: Final = 16
"""The hosts 0 to 15 are those at ``tor0``."""

I8 = NDArray[np.int64]


def plan(scale: Scale) -> Sequence[Point]:
    """The page's runs, and the same with a link that fails under way."""
    whole = points(scale, COMPARED, workloads=[WORKLOAD], loads=[LOAD])
    return whole + [
        replace(point, scenario=_failed(str(point.key["scheme"]), scale), key=_key(point)) for point in whole
    ]


def _down_us(scale: Scale) -> int:
    """When the link fails: as warm-up ends, and where there is none after a quarter of the arrivals."""
    window = WINDOWS[scale][LOAD]
    return window.warmup_us or window.arrivals_us // 4


def _key(point: Point) -> dict[str, str | int | float]:
    return {**point.key, "variant": "failed_link"}


def _failed(scheme: str, scale: Scale) -> Scenario:
    window = WINDOWS[scale][LOAD]
    # Packets on the link are lost: without a timeout their flows would hang.
    failure = LinkFailure(link=FAILED, down=f"{_down_us(scale)}us")
    return replace(scenario(WORKLOAD, LOAD, scheme, window), host=Host(rto="auto"), failures=[failure])


def under_way(start_ps: ArrayLike, end_ps: ArrayLike, at_ps: ArrayLike) -> I8:
    """Flows that have started and not yet finished at each time; an end of 0 is none."""
    ends = np.asarray(end_ps, dtype=np.int64)
    times = np.asarray(at_ps, dtype=np.int64)
    started = np.searchsorted(np.sort(np.asarray(start_ps, dtype=np.int64)), times, side="right")
    return started - np.searchsorted(np.sort(ends[ends > 0]), times, side="right")


def unfinished(results: Results, at_ps: ArrayLike, *, near: bool = False) -> I8:
    """:func:`under_way` of all flows of a run, warm-up included; ``near``: of those that the failed link may carry."""
    flows = results.flows
    if near:
        flows = flows.where((flows["src"] < NEAR_HOSTS) != (flows["dst"] < NEAR_HOSTS))
    finished = flows["fct_sender_ps"] > 0
    return under_way(flows["start_ps"], np.where(finished, flows["start_ps"] + flows["fct_sender_ps"], 0), at_ps)


def _second_half(scale: Scale) -> I8:
    """Times in the second half of arrivals after the failure."""
    window = WINDOWS[scale][LOAD]
    first = (_down_us(scale) + window.arrivals_us) // 2
    return np.linspace(first, window.arrivals_us, 101).astype(np.int64) * 1_000_000


def verdicts(runs: Runs, scale: Scale) -> Sequence[Verdict]:
    """Mean number of flows under way, and by how much the failure raises it. The page makes no claim in numbers."""
    times, found = _second_half(scale), []
    for scheme in COMPARED:
        for near in (True, False):
            whose = f"between the hosts of switch {FAILED[0]} and all others" if near else "of all hosts"
            base = f"H14.{scheme}.{'near' if near else 'all'}"
            counts = {}
            for variant, what in (("default", "all links up"), ("failed_link", f"link {_LINK} down")):
                chosen = runs.where(scheme=scheme, variant=variant)
                counts[variant] = [float(unfinished(run.results(), times, near=near).mean()) for run in chosen]
                said = f"WebSearch 70 %, {SCHEMES[scheme]}, {what}: mean number of flows under way {whose}"
                found.append(_report(f"{base}.{variant}", said, counts[variant], runs.seeds))
            pairs = zip(counts["failed_link"], counts["default"], strict=True)
            ratios = [failed / max(whole, 1.0) for failed, whole in pairs]
            said = (
                f"WebSearch 70 %, {SCHEMES[scheme]}: flows under way {whose}, with link {_LINK} down over with all up"
            )
            found.append(_report(f"{base}.growth", said, ratios, runs.seeds))
    return found


def _report(name: str, statement: str, values: Sequence[float], seeds: Sequence[int]) -> Verdict:
    found = estimates.estimate(values, span=(0.0, math.inf))
    return judge.report(name, statement, None, found.mean, seeds=seeds, interval=found.interval)


def _drawings(runs: Runs, scale: Scale) -> Iterator[Drawing]:
    end = WINDOWS[scale][LOAD].arrivals_us * 1_500_000  # half as long again: what is left drains
    times = np.linspace(0, end, 1201).astype(np.int64)
    series, looks = {}, {}
    for scheme in COMPARED:
        whole = plot.of_schemes([SCHEMES[scheme]])[SCHEMES[scheme]]
        for variant, what in (("default", "all links up"), ("failed_link", "one uplink down")):
            counts = [unfinished(run.results(), times, near=True) for run in runs.where(scheme=scheme, variant=variant)]
            label = f"{SCHEMES[scheme]}, {what}"
            series[label] = (times, np.mean(counts, axis=0))
            failed = variant != "default"
            looks[label] = replace(whole, line=LINE_STYLES[1] if failed else "-", variant=failed)
    window = WINDOWS[scale][LOAD]
    caption = (
        f"WebSearch at 70 % load: flows that have started and not finished, of those between the {NEAR_HOSTS} hosts of "
        f"switch {FAILED[0]} and all others; mean over {many(len(runs.seeds), 'seed')}. Dashed curves: the link "
        f"{_LINK} fails at {format_time(_down_us(scale) * 1e6)}. "
        f"Arrivals end at {format_time(window.arrivals_us * 1e6)}. Measured at {scale} scale."
    )
    instants = {f"{_LINK} fails": _down_us(scale) * 1e6}
    name = f"Flows under way, hosts of {FAILED[0]}"
    figure = plot.timeline(series, name, counts=True, looks=looks, dashes=True, instants=instants)
    yield Drawing("H14-under-way", figure, caption)


def show(runs: Runs, scale: Scale) -> Shown:
    """Flows under way over time."""
    failed = f"The link {_LINK} fails at {format_time(_down_us(scale) * 1e6)}, for good."
    timeout = "These runs have a retransmission timeout, as packets on the link are lost; the others need none."
    return Shown(_drawings(runs, scale), remarks=[window_remark(scale, [(WORKLOAD, LOAD)]), f"{failed} {timeout}"])


EXPERIMENTS = (
    Experiment(
        id="H14",
        title="A failed link at 70 % load",
        statement="A link failure makes equal-cost paths unequal; at high load unfinished flows may then pile up.",
        source=SOURCE,
        plan=plan,
        judge=verdicts,
        show=show,
    ),
)
