"""How small a switch's buffer may be: a sweep over buffers, limits, and the smallest buffer that keeps them.

For each scenario, and each combination of further values (thresholds, loads, schemes), the buffer is varied. A buffer
will do when its p99 slowdown, its share of dropped packets and the pauses of the worst port are within the limits, and
those of every larger buffer that was tried are too.
"""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paceline import _native, plot, queries
from paceline.analysis import percentiles
from paceline.reproduce.grid import grid
from paceline.reproduce.model import Point, Run, Runs
from paceline.results import Results
from paceline.run import Source
from paceline.tables import Cell, Table, clean_label, format_number, format_share

BUFFER = "switch.buffer"
HALVINGS = 7
"""Buffers tried below the scenario's own, each half of the one before, where none are given."""


@dataclass(frozen=True)
class Limits:
    """What must hold. ``None``: not asked for."""

    p99: float | None = None
    """Largest p99 slowdown."""
    p99_times: float | None = 1.1
    """Largest p99 slowdown as a multiple of that with the largest buffer."""
    drops: float | None = 0.0
    """Largest share of the data packets that may be dropped for want of buffer, 0 to 1."""
    paused: float | None = None
    """Largest share of time that any port may be paused, 0 to 1."""


@dataclass(frozen=True)
class Tried:
    """One buffer of one curve; means over the seeds."""

    buffer_bytes: int
    p99: float
    """Of the flows' slowdown, or of the queries' where there are no flows."""
    drops: float
    paused: float
    seeds: int


@dataclass(frozen=True)
class Curve:
    """The buffers of one combination, ascending, and the answer."""

    label: str
    tried: tuple[Tried, ...]
    broken: tuple[tuple[str, ...], ...]
    """For each buffer the limits it breaks."""

    @property
    def smallest(self) -> Tried | None:
        """The smallest buffer that will do; None when the largest does not."""
        found = None
        for tried, broken in zip(reversed(self.tried), reversed(self.broken), strict=True):
            if broken:
                break
            found = tried
        return found


def points(
    scenarios: Sequence[Path],
    buffers: Sequence[str],
    vary: Sequence[str],
    *,
    seeds: int = 1,
    overrides: Sequence[str] = (),
) -> list[Point]:
    """All runs. Without ``buffers`` that of the scenario and what halving it gives.

    Raises InputError for a scenario or a value that is wrong, and for a scenario whose switches have no buffer of their
    own to vary.
    """
    found: list[Point] = []
    for scenario in scenarios:
        chosen = list(buffers) or _halved(scenario, overrides)
        made = grid(scenario, [f"{BUFFER}={','.join(chosen)}", *vary], seeds=seeds, overrides=overrides)
        found += [replace(p, key={"scenario": scenario.stem, **p.key}) for p in made]
    return found


def _halved(scenario: Path, overrides: Sequence[str]) -> list[str]:
    source = Source.of(scenario)
    resolved = tomllib.loads(_native.check(source.text, source.name, list(overrides), source.base)["resolved"])
    whole = _bytes(str(resolved["switch"]["buffer"]))
    return [f"{max(whole >> k, 1)}B" for k in range(HALVINGS, -1, -1)]


_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _bytes(text: str) -> int:
    """Bytes of a size as scenarios write it."""
    digits = text.rstrip("BKMGi")
    return round(float(digits) * _UNITS[text[len(digits) :]])


def curves(runs: Runs, limits: Limits) -> list[Curve]:
    """The runs by combination, judged."""
    keys = dict.fromkeys(tuple((k, v) for k, v in run.point.key.items() if k != BUFFER) for run in runs)
    several = {name for name in {k for key in keys for k, _ in key} if len({dict(key).get(name) for key in keys}) > 1}
    found = []
    for key in keys:
        own = [run for run in runs if all(run.point.key.get(k) == v for k, v in key)]
        by_buffer: dict[int, list[Run]] = {}
        for run in own:
            by_buffer.setdefault(_bytes(str(run.point.key[BUFFER]).strip("\"'")), []).append(run)
        tried = tuple(_tried(size, by_buffer[size]) for size in sorted(by_buffer))
        parts = [str(v) if k == "scenario" else f"{k.rpartition('.')[2]} {v}" for k, v in key if k in several]
        label = clean_label(", ".join(parts) or str(dict(key)["scenario"]))
        found.append(Curve(label, tried, tuple(_broken(t, tried[-1], limits) for t in tried)))
    return found


def _tried(size: int, runs: Sequence[Run]) -> Tried:
    all_of_it = [_measured(run.results()) for run in runs]
    p99, drops, paused = (float(np.mean([m[i] for m in all_of_it])) for i in range(3))
    return Tried(size, p99, drops, paused, len(runs))


def _measured(results: Results) -> tuple[float, float, float]:
    asked = list(queries.groups(results))
    flows = results.slowdown()
    p99 = [percentiles(s, (99.0,))[0].value for s in (flows, *(g.slowdown for g in asked)) if len(s)]
    c = results.summary["counters"]
    pauses = results.pauses
    longest = float(pauses["paused_ps"].max()) if pauses.rows else 0.0
    return (
        max(p99, default=math.nan),
        c["drops_buffer"] / max(c["data_packets"], 1),
        longest / max(results.simulated_ps, 1),
    )


def _broken(t: Tried, largest: Tried, limits: Limits) -> tuple[str, ...]:
    checks = [
        ("p99 slowdown", t.p99, limits.p99),
        ("p99 slowdown", t.p99, None if limits.p99_times is None else limits.p99_times * largest.p99),
        ("drops", t.drops, limits.drops),
        ("pauses", t.paused, limits.paused),
    ]
    return tuple(dict.fromkeys(what for what, value, most in checks if most is not None and not value <= most))


def answers(found: Sequence[Curve]) -> Table:
    """The smallest buffer of each curve, and what breaks first below it."""
    rows = []
    for curve in found:
        small = curve.smallest
        below = [
            b
            for t, b in zip(curve.tried, curve.broken, strict=True)
            if small is None or t.buffer_bytes < small.buffer_bytes
        ]
        why = ", ".join(below[-1]) if below and below[-1] else "–"
        cells = (
            ("none of these", "–", "–", "–")
            if small is None
            else (
                _size(small.buffer_bytes),
                format_number(small.p99),
                format_share(small.drops),
                format_share(small.paused),
            )
        )
        rows.append((Cell(curve.label), *(Cell(c) for c in cells), Cell(why)))
    head = ("Curve", "Smallest buffer", "p99 slowdown", "Dropped", "Worst port paused", "Breaks below it")
    return Table("How small the buffer may be", head, rows)


def everything(found: Sequence[Curve]) -> Table:
    """All buffers tried."""
    rows = []
    for curve in found:
        for t, broken in zip(curve.tried, curve.broken, strict=True):
            cells = (
                _size(t.buffer_bytes),
                format_number(t.p99),
                format_share(t.drops),
                format_share(t.paused),
            )
            rows.append((Cell(curve.label), *(Cell(c) for c in cells), Cell(", ".join(broken) or "–")))
    head = ("Curve", "Buffer", "p99 slowdown", "Dropped", "Worst port paused", "Breaks")
    return Table("All buffers tried", head, rows)


def _size(size_bytes: int) -> str:
    if size_bytes >= 10**6:
        return f"{size_bytes / 1e6:.4g} MB"
    return f"{size_bytes / 1e3:.4g} KB"


def _told_apart(lines: dict[str, plot.Sized]) -> dict[str, plot.Sized]:
    """Without what the labels have in common at the front, words as a whole: a legend needs what differs."""
    words = [re.split("(?<=[-_ ])", label) for label in lines]
    shared = 0
    while len(lines) > 1 and all(len(w) > shared + 1 for w in words) and len({w[shared] for w in words}) == 1:
        shared += 1
    return {"".join(w[shared:]): sized for w, sized in zip(words, lines.values(), strict=True)}


def write(found: Sequence[Curve], folder: Path) -> list[Path]:
    """Writes ``buffers.csv`` and the figure; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    columns = [
        "curve",
        "buffer_bytes",
        "slowdown_p99",
        "dropped_share",
        "paused_share",
        "seeds",
        "breaks",
    ]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for curve in found:
        for t, broken in zip(curve.tried, curve.broken, strict=True):
            values: list[Any] = [t.buffer_bytes, t.p99, t.drops, t.paused, t.seeds]
            writer.writerow([curve.label, *values, ";".join(broken)])
    part = folder / ".buffers.csv.part"
    part.write_text(text.getvalue(), encoding="utf-8")
    part.replace(folder / "buffers.csv")
    lines = {
        curve.label: plot.Sized(
            [t.buffer_bytes for t in curve.tried],
            [t.p99 for t in curve.tried],
            [t.drops for t in curve.tried],
            [t.paused for t in curve.tried],
            [not b for b in curve.broken],
            None if curve.smallest is None else curve.smallest.buffer_bytes,
        )
        for curve in found
    }
    plot.save(plot.sizing(_told_apart(lines)), folder, "buffers")
    return [folder / "buffers.csv", folder / "buffers.png"]
