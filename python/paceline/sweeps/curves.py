"""The figure of a sweep over numbers: a curve for each combination of what else varied."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.files import figures
from paceline.formats import same_decimals
from paceline.sweeps.brief import means, most_measured, short
from paceline.tables import p99_name
from paceline.units import KINDS, QUOTES, quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_PLACES = 3
"""Values of a field that make a curve."""
MOST_CURVES = 10
"""More could not be told apart."""
MOST_TICKS = 8
"""Places of an axis that are told."""


def draw(rows: Sequence[dict[str, Any]], varied: Sequence[str], title: str, folder: Path) -> list[Path]:
    """Writes :func:`figure` as ``sweep.png``, ``.pdf`` and ``.svg``, where there is one; names the first."""
    figures.remove(folder, "sweep")
    drawn = figure(rows, varied, title)
    if drawn is None:
        return []
    from paceline import plot

    plot.save(drawn, folder, "sweep")
    return [folder / "sweep.png"]


def figure(rows: Sequence[dict[str, Any]], varied: Sequence[str], title: str = "all") -> Figure | None:
    """Slowdowns (of queries where there are any; run times of programs) over the varied field that has most numbers.

    ``title`` is what a single curve is called. None where no field has at least :data:`LEAST_PLACES` numbers, all of
    one kind, where there would be more than :data:`MOST_CURVES` curves, and where there is nothing to draw, as of runs
    whose flows are unfinished.
    """
    axes = {name: places for name in varied if (places := _numbers([row[name] for row in rows])) is not None}
    if not axes:
        return None
    over = max(axes, key=lambda name: len(axes[name]))
    places = axes[over]
    others = [name for name in varied if name != over]
    groups: dict[str, dict[float, list[dict[str, Any]]]] = {}
    for row in rows:
        by_place = groups.setdefault(_label(row, others, varied) or title, {})
        by_place.setdefault(places[str(row[over])], []).append(row)
    if len(groups) > MOST_CURVES:
        return None
    from paceline.plot.multiples import Chart, charts
    from paceline.plot.style import is_wide

    drawn = []
    for column, name, unit in _quantities(rows):
        found = {label: {x: means(group, column) for x, group in by.items()} for label, by in groups.items()}
        values = [e.mean / unit for by in found.values() for e in by.values() if math.isfinite(e.mean)]
        if not values:
            continue
        drawn.append(
            Chart(
                title="",
                series={label: (sorted(by), [by[x].mean / unit for x in sorted(by)]) for label, by in found.items()},
                xlabel=over,
                ylabel=name,
                ticks=_ticks(places, log=is_wide(places.values())),
                scale="log" if is_wide(values) else "linear",
                log_x=is_wide(places.values()),
                intervals={
                    label: {x: (e.interval[0] / unit, e.interval[1] / unit) for x, e in by.items() if e.interval}
                    for label, by in found.items()
                },
            )
        )
    return charts([drawn]) if drawn else None


def _numbers(values: Sequence[Any]) -> dict[str, float] | None:
    """Texts of numbers, all of one kind, and their values; None where any is something else, or they are too few."""
    texts = list(dict.fromkeys(map(str, values)))
    for units in KINDS:
        found = {text: value for text in texts if (value := quantity(text, units)) is not None}
        if len(found) == len(texts):
            return found if len(set(found.values())) >= LEAST_PLACES else None
    return None


def _ticks(places: Mapping[str, float], *, log: bool) -> dict[float, str]:
    """What stands at the places, where there are many at some of them only; plain numbers have as many decimals.

    On a ``log`` axis, which goes over decades, numbers are as they were given.
    """
    step = -(-len(places) // MOST_TICKS)
    ordered = sorted(places.items(), key=lambda item: item[1])
    texts = [text.strip(QUOTES) for text, _ in ordered]
    if not log and all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in texts):
        texts = same_decimals([place for _, place in ordered])
    return {place: "" if k % step else text for k, (text, (_, place)) in enumerate(zip(texts, ordered, strict=True))}


def _label(row: Mapping[str, Any], others: Sequence[str], varied: Sequence[str]) -> str:
    """What a curve stands for: words as they are, numbers with the field they are of."""
    said = []
    for name in others:
        text = str(row[name])
        said.append(text if text[:1].isalpha() and text not in ("true", "false") else f"{short(name, varied)} {text}")
    return ", ".join(said)


def _quantities(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, float]]:
    """Columns to draw, what the axis is called, and what its unit is of theirs."""
    if any(row.get("program_runtime_ps") for row in rows):
        return [("program_runtime_ps", "Run time (ms)", 1e9)]
    of = "query_" if any(row.get("queries_measured") for row in rows) else ""
    what = "Query slowdown" if of else "Slowdown"
    largest = p99_name(most_measured(rows, queries=bool(of)))
    return [(f"{of}slowdown_p50", f"{what}, p50", 1.0), (f"{of}slowdown_p99", f"{what}, {largest}", 1.0)]
