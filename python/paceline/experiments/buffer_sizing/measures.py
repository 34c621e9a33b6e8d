"""What the results are judged by, read from finished runs.

The engine counts queues, links and losses from the first instant on. So every run has a twin that stops where its
warm-up ends; what the twin counted is taken off, which is exact: up to there the two are the same run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from paceline import queries
from paceline.analysis import F8, QueueHistogram
from paceline.experiments.buffer_sizing.testbed import STACKS
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim
from paceline.results import queue_levels
from paceline.scenario import Scenario
from paceline.sweeps.points import Point, Run

_KB_OFF: Final = 0.03
"""By its own numbers the study's KB are 1024 B in one place and 1000 B in another."""


def kilobytes(low: float, high: float) -> judge.Limits:
    """Limits in the study's KB."""
    return judge.between(low * (1 - _KB_OFF), high * (1 + _KB_OFF))


def published_points(
    claims: Iterable[Claim], name: str, unit: float, titles: Collection[str]
) -> dict[str, list[tuple[float, float]]]:
    """Published percentiles for figures, by the title of their scheme, of those in ``titles``: value and share.

    ``name`` matches what is behind the scheme in a claim's id, its group the percentile; values are times ``unit``.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for claim in claims:
        scheme, _, rest = claim.id.partition(".")
        q = re.fullmatch(name, rest)
        value = claim.published if claim.variant == "default" else None
        if q and isinstance(value, (int, float)) and STACKS[scheme].title in titles:
            found.setdefault(STACKS[scheme].title, []).append((value * unit, int(q[1]) / 100))
    return found


UNTIL: Final = "until"
"""What tells the two apart in a point's key: ``end``, or ``warmup`` for the twin."""


def with_warmup(points: Iterable[Point]) -> list[Point]:
    """Each point and its twin."""
    found = []
    for point in points:
        whole = point.scenario
        assert isinstance(whole, Scenario)
        run = replace(whole.run, stop=whole.run.warmup, warmup="0s")
        twin = replace(whole, name=f"{whole.name}-warmup", run=run)
        found.append(replace(point, key={**point.key, UNTIL: "end"}))
        found.append(replace(point, scenario=twin, key={**point.key, UNTIL: "warmup"}))
    return found


@dataclass(frozen=True)
class Group:
    """One group of clients: queries issued after the warm-up. Times in us."""

    per_second: float
    qct_us: F8
    """Of a query that was open when the run ended its age."""
    most_us: F8
    """The same, infinite where it was open."""
    slowdown: F8
    most_slowdown: F8
    """The same, infinite where it was open."""
    size_bytes: F8


@dataclass(frozen=True)
class Facts:
    """One run from its first instant on, in the numbers that the results need."""

    seconds: float
    groups: dict[str, Group]
    queues: dict[int, tuple[str, QueueHistogram]]
    """By egress port of a switch: its tier (``tor->host``) and how long its queue was for how long."""
    busy_s: dict[str, F8]
    """By tier: seconds for which each link was busy."""
    asked_bytes: int
    """Sizes of all queries issued, those under way when the run ended included."""
    open_bytes: int
    """Sizes of the queries under way when the run ended."""
    drops: int
    pauses: int
    timeouts: int


def facts(run: Run) -> Facts:
    """Reads a run; kept, as several results share runs."""
    return _facts(run.folder)


_MOST_RUNS: Final = 256
"""Runs kept in memory: no result has more, and those of all at paper scale would be some 3 GB."""


@lru_cache(maxsize=_MOST_RUNS)
def _facts(folder: Path) -> Facts:
    from paceline.results import Results

    results = Results.load(folder)
    counters, links, asked = results.summary["counters"], results.links, results.queries
    found = {
        g.label: Group(
            g.per_second,
            np.sort(g.qct.value / 1e6),
            np.sort(np.where(g.qct.censored, np.inf, g.qct.value / 1e6)),
            g.slowdown.value,
            np.where(g.slowdown.censored, np.inf, g.slowdown.value),
            g.slowdown.size_bytes.astype(float),
        )
        for g in queries.groups(results)
    }
    ways, busy = links["tier"].astype(str), links["busy_ps"].astype(float) * 1e-12
    size, open_ = asked["size_bytes"].astype(np.int64), asked["qct_ps"].astype(float) <= 0
    return Facts(
        seconds=results.simulated_ps * 1e-12,
        groups=found,
        queues=queue_levels.by_port(results),
        busy_s={str(tier): busy[ways == tier] for tier in np.unique(ways)},
        asked_bytes=int(size.sum()),
        open_bytes=int(size[open_].sum()),
        drops=int(counters["drops_buffer"]),
        pauses=int(counters["pause_frames"]),
        timeouts=int(counters["timeouts"]),
    )


@dataclass(frozen=True)
class Window:
    """A run after its warm-up."""

    whole: Facts
    warmup: Facts

    def count(self, what: str) -> int:
        """``drops``, ``pauses`` or ``timeouts``."""
        found = getattr(self.whole, what) - getattr(self.warmup, what)
        assert isinstance(found, int)
        return found

    @cached_property
    def queues(self) -> dict[int, tuple[str, QueueHistogram]]:
        """As :attr:`Facts.queues`."""
        return _after(self.whole, self.warmup)

    def queue(self, where: str) -> QueueHistogram:
        """The queues of a tier added up, or of the one port with the longest mean queue as ``busiest``."""
        ports = self.queues.values()
        if where == "busiest":
            return max((h for _, h in ports), key=QueueHistogram.mean_bytes)
        return _sum([h for tier, h in ports if tier == where])

    def carried(self, tier: str) -> F8:
        """Share of the time for which each link of a tier was busy."""
        seconds = self.whole.seconds - self.warmup.seconds
        return (self.whole.busy_s[tier] - self.warmup.busy_s[tier]) / seconds


def windows(runs: Iterable[Run]) -> list[Window]:
    """The runs after their warm-up; every one needs its twin beside it."""
    found: dict[tuple[object, ...], dict[str, Run]] = {}
    for run in runs:
        key = {name: value for name, value in run.point.key.items() if name != UNTIL}
        found.setdefault((*sorted(key.items()), run.point.seed), {})[str(run.point.key[UNTIL])] = run
    return [_window(both["end"].folder, both["warmup"].folder) for both in found.values()]


@lru_cache(maxsize=_MOST_RUNS // 2)
def _window(whole: Path, warmup: Path) -> Window:
    return Window(_facts(whole), _facts(warmup))


def together(runs: Iterable[Run], group: str) -> Group:
    """A group's queries of several runs; the rate is their mean."""
    parts = [window.whole.groups[group] for window in windows(runs)]
    names = ("qct_us", "most_us", "slowdown", "most_slowdown", "size_bytes")
    samples = (np.concatenate([getattr(p, name) for p in parts]) for name in names)
    return Group(sum(p.per_second for p in parts) / len(parts), *samples)


def queue(runs: Iterable[Run], where: str) -> QueueHistogram:
    """A queue's histogram after the warm-up over several runs."""
    return _sum([window.queue(where) for window in windows(runs)])


def _after(whole: Facts, warmup: Facts) -> dict[int, tuple[str, QueueHistogram]]:
    found = {}
    for port, (tier, long) in whole.queues.items():
        if port not in warmup.queues:
            found[port] = (tier, long)
            continue
        short = warmup.queues[port][1]
        left = _sum([long, replace(short, time_ps=-short.time_ps)])
        if np.any(left.time_ps < 0):
            raise ValueError("a queue was shorter lived in a run than in its warm-up alone: these are not the same run")
        keep = left.time_ps > 0
        found[port] = (tier, QueueHistogram(left.low_bytes[keep], left.high_bytes[keep], left.time_ps[keep]))
    return found


def _sum(parts: Sequence[QueueHistogram]) -> QueueHistogram:
    low, high, time = (np.concatenate([getattr(p, n) for p in parts]) for n in ("low_bytes", "high_bytes", "time_ps"))
    return QueueHistogram.merge(low, high, time)
