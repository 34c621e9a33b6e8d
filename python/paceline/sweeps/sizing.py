"""How small a switch's buffer may be: a sweep over buffers, limits, and the smallest buffer that keeps them.

For each scenario, and each combination of further values (thresholds, loads, schemes), the buffer is varied. A buffer
will do when its p99 slowdown, its share of dropped packets and the pauses of the worst port are within the limits, and
those of every larger buffer that was tried are too. A run that stalled or failed will never do, and neither will a p99
slowdown that is only known to be at least so much, because flows or queries did not finish, where one is asked for.
"""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paceline import _native, files, plot, queries
from paceline.analysis import percentiles
from paceline.errors import plain
from paceline.files import figures
from paceline.formats import clean_labels, format_given, format_share, format_slowdown
from paceline.results import Results
from paceline.run import Source
from paceline.sweeps.grid import Axis, dotted, grid, replaces
from paceline.sweeps.points import KeyValue, Point, Run, Runs
from paceline.sweeps.remarks import remarks as warned
from paceline.sweeps.runner import prepare
from paceline.tables import Cell, Table, fewest, p99_name, with_bounds
from paceline.units import BYTES, quantity
from paceline.words import headed

BUFFER = "switch.buffer"
HALVINGS = 7
"""Buffers tried below the scenario's own at most, each half of the one before, where none are given."""


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
    """One buffer of one curve; means over the seeds whose runs did not fail, nan where all did."""

    buffer_bytes: int
    p99: float
    """Of the slowdown of flows and of each group of queries, the largest."""
    drops: float
    paused: float
    seeds: int
    status: str = "completed"
    """How the runs ended; several seeds may have ended in several ways."""
    measured: int = 0
    """Flows and queries behind the slowdowns, all seeds together."""
    unfinished: int = 0
    """Of them, those without an end, given up or not."""
    fewest: int = 0
    """Flows, or queries of a group, of the smallest sample that a p99 was taken of; 0 without any."""
    few: str = "flows"
    """Which of the two these are."""
    most: int = 0
    """Those of the largest such sample."""
    at_least: bool = False
    """The p99 slowdown is a lower bound in some run: what did not finish could raise it."""


@dataclass(frozen=True)
class BufferCurve:
    """The buffers of one combination, ascending, and the answer."""

    label: str
    tried: tuple[Tried, ...]
    broken: tuple[tuple[str, ...], ...]
    """For each buffer the limits it breaks, or what of them is not known."""

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
) -> tuple[list[Point], list[str]]:
    """All runs; and remarks. Without ``buffers`` that of the scenario, or of ``overrides``, and what halving it gives.

    Halving ends, with a remark, where no switch can be built any more.

    Raises InputError for a scenario or a value that is wrong, and for a scenario whose switches have no buffer of their
    own to vary.
    """
    found: list[Point] = []
    remarks: list[str] = []
    _all_differ([s.stem for s in scenarios], [str(s) for s in scenarios], "scenario")
    _all_differ([_given(size) for size in buffers], buffers, "buffers")
    for text in vary:
        if replaces(dotted(text), BUFFER):
            raise _native.input_error(
                "sets the buffer", field="vary", value=text, allowed="``buffers`` A,B,... for that"
            )
    for text in overrides if buffers else ():
        if dotted(text) == BUFFER:
            given = ",".join(buffers)
            raise _native.input_error("a buffer set as well", field="buffers", value=given, allowed=f"without {text}")
    for scenario in scenarios:
        sizes = Axis(BUFFER, tuple(buffers), "buffers")
        if not buffers:
            sizes, remark = _halved(scenario, vary, overrides)
            remarks += [f"{scenario.stem}: {remark}" if len(scenarios) > 1 else remark] if remark else []
        made = grid(scenario, [sizes, *vary], seeds=seeds, overrides=overrides)
        found += [replace(p, key={"scenario": scenario.stem, **p.key}) for p in made]
    return found, remarks


def _all_differ(values: Sequence[object], texts: Sequence[str], field: str) -> None:
    """Raises InputError where two would be taken for one curve or point, over which their runs would be averaged."""
    for value, text in zip(values, texts, strict=True):
        if values.count(value) > 1:
            raise _native.input_error("twice", field=field, value=text, allowed="each once, files by their names")


def _halved(scenario: Path, vary: Sequence[str], overrides: Sequence[str]) -> tuple[Axis, str]:
    """The scenario's buffer and its halves, ascending, as far as all variants can be built; and why they end early."""
    source = Source.of(scenario)
    origin = next(
        (f"``overrides`` {text}" for text in reversed(overrides) if replaces(dotted(text), BUFFER)), source.name
    )
    lenient = [*overrides, "run.strict=false"]  # as `grid` has it
    resolved = tomllib.loads(_native.check(source.text, source.name, lenient, source.base)["resolved"])
    whole = _bytes(str(resolved["switch"]["buffer"]))
    chosen: tuple[str, ...] = ()
    for k in range(HALVINGS + 1):
        size = f"{max(whole >> k, 1)}B"
        try:
            # Kept and used again when the runs are made ready.
            prepare(grid(scenario, [Axis(BUFFER, (size,), source=origin), *vary], overrides=overrides))
        except _native.InputError as error:
            if not chosen:
                raise
            below, problem = format_given(whole >> (k - 1)), error.problem or str(error)
            return Axis(
                BUFFER, chosen, source=origin
            ), f"no buffer below {below} was tried: with {format_given(whole >> k)}, {problem}"
        chosen = (size, *chosen)
    return Axis(BUFFER, chosen, source=origin), ""


def _bytes(text: str) -> int:
    """Bytes of a size as scenarios write it. ValueError where it is none."""
    found = quantity(text, BYTES)
    if found is None:
        raise ValueError(f"{text!r} is no size")
    return round(found)


def _given(text: str) -> int:
    """Bytes of a size as typed. InputError where it is none."""
    try:
        return _bytes(text)
    except (ValueError, OverflowError):
        allowed = "sizes such as 256KB or 32MiB (B, KB, MB, GB, KiB, MiB, GiB)"
        raise _native.input_error("not a size", field="buffers", value=text or '""', allowed=allowed) from None


def _buffer(run: Run) -> int:
    return _bytes(str(run.point.key[BUFFER]))


def curves(runs: Runs, limits: Limits) -> list[BufferCurve]:
    """The runs by combination, judged."""
    by_key: dict[tuple[tuple[str, KeyValue], ...], dict[int, list[Run]]] = {}
    for run in runs:
        key = tuple((k, v) for k, v in run.point.key.items() if k != BUFFER)
        by_key.setdefault(key, {}).setdefault(_buffer(run), []).append(run)
    names = dict.fromkeys(name for key in by_key for name, _ in key)
    several = [name for name in names if len({dict(key).get(name) for key in by_key}) > 1]
    found = []
    for key, by_buffer in by_key.items():
        tried = tuple(_tried(size, by_buffer[size]) for size in sorted(by_buffer))
        # The largest that there is a p99 of.
        largest = next((t for t in reversed(tried) if t.seeds), tried[-1])
        parts = [str(v) if k == "scenario" else f"{k.rpartition('.')[2]} {v}" for k, v in key if k in several]
        label = ", ".join(parts) or str(dict(key)["scenario"])
        found.append(BufferCurve(label, tried, tuple(_broken(t, largest, limits) for t in tried)))
    labels = clean_labels(curve.label for curve in found)
    return [replace(curve, label=label) for curve, label in zip(found, labels, strict=True)]


def _tried(size: int, runs: Sequence[Run]) -> Tried:
    each = [_measured(size, run.results()) for run in runs if run.folder.is_dir()]
    failed = [FAILED] if len(each) < len(runs) else []
    if not each:
        return Tried(size, p99=math.nan, drops=math.nan, paused=math.nan, seeds=0, status=FAILED)
    least = min(each, key=lambda one: one.fewest)
    return Tried(
        size,
        p99=float(np.mean([one.p99 for one in each])),
        drops=float(np.mean([one.drops for one in each])),
        paused=float(np.mean([one.paused for one in each])),
        seeds=len(each),
        status=", ".join(dict.fromkeys([*(one.status for one in each), *failed])),
        measured=sum(one.measured for one in each),
        unfinished=sum(one.unfinished for one in each),
        fewest=least.fewest,
        few=least.few,
        most=max(one.most for one in each),
        at_least=any(one.at_least for one in each),
    )


def _measured(size: int, results: Results) -> Tried:
    """One run."""
    side = results.default_side()
    asked = [g.slowdown for g in queries.groups(results) if len(g.slowdown)]
    samples = [s for s in (results.slowdown(side=side), *asked) if len(s)]
    least = min(map(len, samples), default=0)
    p99 = [percentiles(s, (99.0,))[0] for s in samples]
    c = results.summary["counters"]
    pauses = results.pauses
    longest = float(pauses["paused_ps"].max()) if pauses.rows else 0.0
    return Tried(
        size,
        p99=max((p.value for p in p99), default=math.nan),
        drops=_data_dropped(results) / max(c["data_packets"], 1),
        paused=longest / max(results.simulated_ps, 1),
        seeds=1,
        status=results.status,
        measured=sum(map(len, samples)),
        unfinished=sum(p.unfinished + p.failed for p in p99),
        fewest=least,
        few="queries" if least in map(len, asked) else "flows",
        most=max(map(len, samples), default=0),
        at_least=any(p.at_least for p in p99),
    )


def _data_dropped(results: Results) -> int:
    """Data packets for which switches had no room; where links are not on record, all packets."""
    links = results.links
    if not links.rows:
        return int(results.summary["counters"]["drops_buffer"])
    return int(links["drops_buffer"].sum() - links["drops_control"].sum())


STALLED = "stalled"
FAILED = "failed"
"""The run has no result."""
UNKNOWN = "p99 slowdown not known"
"""In place of a limit where too many flows did not finish for a p99, or nothing was measured."""
UNKNOWN_LARGEST = "p99 slowdown with the largest buffer not known"
"""In place of a limit that is so many times it."""


def _broken(t: Tried, largest: Tried, limits: Limits) -> tuple[str, ...]:
    if not t.seeds:
        return (FAILED,)
    # Limits met by what a stalled run did until then say nothing about the buffer, nor do other seeds of a failed one.
    first = tuple(how for how in (FAILED, STALLED) if how in t.status)
    checks = [
        ("drops", limits.drops is not None and t.drops > limits.drops),
        ("pauses", limits.paused is not None and t.paused > limits.paused),
    ]
    return (*first, *_slow(t, largest, limits), *(what for what, broken in checks if broken))


def _slow(t: Tried, largest: Tried, limits: Limits) -> tuple[str, ...]:
    """Whether the slowdown breaks a limit; where nobody can say, what is not known."""
    most = [limits.p99] if limits.p99 is not None else []
    known = largest.p99 if not largest.at_least else math.nan
    if limits.p99_times is not None:
        most.append(limits.p99_times * known)
    # A lower bound above a limit breaks it, too.
    if any(t.p99 > one for one in most):
        return ("p99 slowdown",)
    if most and (t.at_least or math.isnan(t.p99)):
        return (UNKNOWN,)
    return (UNKNOWN_LARGEST,) if any(map(math.isnan, most)) else ()


def _shown(axis: str, values: Sequence[Any]) -> str:
    """Some values of an axis, as the table writes them."""
    if axis == BUFFER:
        return f"buffer {', '.join(format_given(_bytes(str(v))) for v in values)}"
    return f"{axis.rpartition('.')[2]} {', '.join(plain(str(v)) for v in values)}"


def remarks(runs: Runs, found: Sequence[BufferCurve], scenarios: Mapping[Path, str] | None = None) -> list[str]:
    """What the runs warn of, each text once; then p99s that there are not, or that are of few flows or queries.

    ``scenarios`` as of a sweep's remarks.
    """
    said = warned(runs, _shown, scenarios=scenarios)
    ran, needed = _ran(found), round(fewest(99.0))
    if any(math.isnan(t.p99) for t in ran):
        place = _where(found, lambda t: math.isnan(t.p99))
        said.append(f"{_p99_name(found)} slowdown not known: no flow or query was measured{place}")
    few = [t for t in ran if 0 < t.fewest < needed]
    if few:
        least = min(few, key=lambda t: t.fewest)
        of = least.few if least.fewest > 1 else {"flows": "flow", "queries": "query"}[least.few]
        place = _where(found, lambda t: 0 < t.fewest < needed)
        said.append(f"a p99 of {least.fewest} {of} is that of the slowest: fewer than {needed} were measured{place}")
    return said


_MOST_PLACES = 4
"""Buffers, of all curves, that a remark names."""


def _where(found: Sequence[BufferCurve], chosen: Callable[[Tried], bool]) -> str:
    """The buffers that a remark is about, in brackets; nothing where it is about all."""
    about = {c.label: [t.buffer_bytes for t in c.tried if t.seeds and chosen(t)] for c in found}
    count, every = sum(map(len, about.values())), len(_ran(found))
    several = len(found) > 1
    if count == every:
        return ""
    if count > _MOST_PLACES:
        return f" ({count} of {every} buffers{', of all curves' if several else ''})"
    said = [
        (f"{plain(label)}: " if several else "") + f"buffer {', '.join(map(format_given, sizes))}"
        for label, sizes in about.items()
        if sizes
    ]
    return f" ({'; '.join(said)})"


def _ran(found: Sequence[BufferCurve]) -> list[Tried]:
    """The buffers of which any run did not fail."""
    return [t for curve in found for t in curve.tried if t.seeds]


def _p99_name(found: Sequence[BufferCurve]) -> str:
    """What the p99s are called in tables and figure."""
    return p99_name(max((t.most for t in _ran(found)), default=0))


def _reasons(broken: Sequence[str], name: str) -> str:
    """The limits that are broken or not known, as tables have them; ``name`` is that of the p99s."""
    return ", ".join(what.replace("p99", name) for what in broken) or "–"


def answers(found: Sequence[BufferCurve]) -> Table:
    """The smallest buffer of each curve, and what is first against those below it."""
    rows, name = [], _p99_name(found)
    for curve in found:
        small = curve.smallest
        below = [
            b
            for t, b in zip(curve.tried, curve.broken, strict=True)
            if small is None or t.buffer_bytes < small.buffer_bytes
        ]
        why = _reasons(below[-1] if below else (), name)
        cells = (
            ("none of these", "–", "–", "–")
            if small is None
            else (
                format_given(small.buffer_bytes),
                _p99(small),
                format_share(small.drops),
                format_share(small.paused),
            )
        )
        rows.append((Cell(curve.label), *(Cell(c) for c in cells), Cell(why)))
    head = ("Curve", "Smallest buffer", headed(f"{name} slowdown"), "Dropped", "Worst port paused", "Why none smaller")
    return Table(with_bounds("How small the buffer may be", rows), head, rows)


def everything(found: Sequence[BufferCurve]) -> Table:
    """All buffers tried."""
    rows, name = [], _p99_name(found)
    for curve in found:
        for t, broken in zip(curve.tried, curve.broken, strict=True):
            cells = (
                format_given(t.buffer_bytes),
                t.status,
                f"{t.measured:,} / {t.unfinished:,}",
                _p99(t),
                format_share(t.drops),
                format_share(t.paused),
            )
            rows.append((Cell(curve.label), *(Cell(c) for c in cells), Cell(_reasons(broken, name))))
    head = (
        "Curve",
        "Buffer",
        "Status",
        "Measured / unfinished",
        headed(f"{name} slowdown"),
        "Dropped",
        "Worst port paused",
        "Why not",
    )
    return Table(with_bounds("All buffers tried", rows), head, rows)


def _p99(t: Tried) -> str:
    return ("≥ " if t.at_least else "") + format_slowdown(t.p99)


def _told_apart(lines: dict[str, plot.Sized]) -> dict[str, plot.Sized]:
    """Without what the names of scenarios have in common at the front, words as a whole: a legend needs what differs.

    Settings keep their names: what is in a label at all differs between curves.
    """
    first = [label.partition(", ")[0] for label in lines]
    words = [re.split("(?<=[-_])", name) for name in first]
    shared = 0
    if len(lines) > 1 and not any(" " in name for name in first):
        while all(len(w) > shared + 1 for w in words) and len({w[shared] for w in words}) == 1:
            shared += 1
    cut = len("".join(words[0][:shared]))
    return {label[cut:]: sized for label, sized in lines.items()}


def write(found: Sequence[BufferCurve], folder: Path) -> list[Path]:
    """Writes ``buffers.csv`` and, unless all runs failed, the figure; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    columns = [
        "curve",
        "buffer_bytes",
        "status",
        "measured",
        "unfinished",
        "slowdown_p99",
        "slowdown_p99_at_least",
        "dropped_share",
        "paused_share",
        "seeds",
        "breaks",
    ]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for curve in found:
        for t, broken in zip(curve.tried, curve.broken, strict=True):
            # A p99 that is only a lower bound has a column of its own: who plots the other one gets no false point.
            known, least = ("", t.p99) if t.at_least else (t.p99, "")
            counts = [t.buffer_bytes, t.status.replace(", ", ";"), t.measured, t.unfinished]
            values: list[Any] = [*counts, known, least, t.drops, t.paused, t.seeds]
            values = ["" if isinstance(v, float) and math.isnan(v) else v for v in values]
            writer.writerow([curve.label, *values, ";".join(broken)])
    files.write(folder / "buffers.csv", text.getvalue())
    lines = {}
    for curve in found:
        drawn = [(t, not broken) for t, broken in zip(curve.tried, curve.broken, strict=True) if t.seeds]
        if drawn:
            lines[curve.label] = plot.Sized(
                [t.buffer_bytes for t, _ in drawn],
                [t.p99 for t, _ in drawn],
                [t.drops for t, _ in drawn],
                [t.paused for t, _ in drawn],
                [within for _, within in drawn],
                None if curve.smallest is None else curve.smallest.buffer_bytes,
                [t.at_least or STALLED in t.status for t, _ in drawn],
            )
    if not lines:
        figures.remove(folder, "buffers")
        return [folder / "buffers.csv"]
    plot.save(plot.sizing(_told_apart(lines), _p99_name(found)), folder, "buffers")
    return [folder / "buffers.csv", folder / "buffers.png"]
