"""What a sweep found, in a few columns for the terminal: means over the seeds. All there is stands in ``sweep.csv``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from paceline.formats import clean_labels, format_bytes, format_number, format_slowdown, format_time
from paceline.sweeps.estimates import Estimate, estimate
from paceline.tables import Cell, Table, p99_name
from paceline.words import many

MOST_ROWS = 50
"""Combinations that a terminal shows."""
_SAY_LITTLE = ("enabled", "value", "kind", "number")
_POSITIVE = (0.0, float("inf"))
_format_measured = partial(format_time, all_digits=True)

_TIMES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("slowdown_p50", "Slowdown p50", format_slowdown),
    ("slowdown_p99", "p99", format_slowdown),
    ("fct_mean_ps", "FCT, mean", _format_measured),
    ("queries_answered_per_s", "Queries/s", format_number),
    ("query_slowdown_p50", "Query slowdown p50", format_slowdown),
    ("query_slowdown_p99", "p99", format_slowdown),
    ("program_runtime_ps", "Run time", _format_measured),
)
_COUNTS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("drops_buffer", "Drops", format_number),
    ("drops_wire", "Lost on wires", format_number),
    ("retransmitted_packets", "Sent again", format_number),
    ("timeouts", "Timeouts", format_number),
    ("marks", "ECN marks", format_number),
    ("pause_frames", "Pauses", format_number),
    ("queue_mean_bytes", "Queue, mean", format_bytes),
    ("queue_p99_bytes", "Queue, p99", format_bytes),
    ("max_buffer_bytes", "Fullest buffer", format_bytes),
)
"""Columns of the tidy table, what they are called here, how their values are written; counts have no intervals."""


def brief(rows: Sequence[dict[str, Any]], varied: Sequence[str], title: str) -> Table:
    """The tidy table of a sweep for a terminal: a row for each combination of what varied.

    A value is the mean over the seeds, of slowdowns and times with its 95 % confidence interval from three seeds on; a
    dash where a seed has none, as where flows are unfinished. Columns in which nothing is but zeros are left out.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in varied), []).append(row)
    shown = list(groups.items())[:MOST_ROWS]
    head = [*(short(name, varied) for name in varied)] or [""]
    columns = [clean_labels(map(str, values)) for values in zip(*(key for key, _ in shown), strict=True)]
    cells = [[*map(Cell, row)] for row in zip(*columns, strict=True)] or [[Cell(title)]]
    if any(row["status"] != "completed" or row.get("flows_unfinished") or row.get("flows_failed") for row in rows):
        head.append("Finished")
        for line, (_, group) in zip(cells, shown, strict=True):
            line.append(_finished(group))
    for name, called, written in (*_TIMES, *_COUNTS):
        if any(row.get(name) for row in rows):
            most = most_measured(rows, queries=name.startswith("query"))
            head.append(p99_name(most) if called == "p99" else called)
            counted = (name, called, written) in _COUNTS
            for line, (_, group) in zip(cells, shown, strict=True):
                line.append(_value(means(group, name), written, counted=counted))
    seeds = len({row["seed"] for row in rows})
    over = f"; means over {many(seeds, 'seed')}" + (" with 95 % intervals" if seeds >= 3 else "") if seeds > 1 else ""
    left = f"; the first {MOST_ROWS} of {len(groups):,} combinations" if len(groups) > MOST_ROWS else ""
    # The most that was seen may be less than a p99: the one is of instants, the other of all the time, in bins.
    odd = any(
        row.get("max_buffer_bytes") and row["max_buffer_bytes"] < (row.get("queue_p99_bytes") or 0) for row in rows
    )
    of = "; a queue's p99 is the upper edge of its bin, the fullest buffer what samples saw" if odd else ""
    return Table(f"{title}{over}{left}{of}", tuple(head), [tuple(line) for line in cells])


def short(name: str, names: Sequence[str]) -> str:
    """The end of a dotted name that no other of them has, and that says of what it is."""
    parts = name.split(".")
    for k in range(2 if parts[-1] in _SAY_LITTLE else 1, len(parts)):
        end = ".".join(parts[-k:])
        if sum(f".{other}".endswith(f".{end}") for other in names) == 1:
            return end
    return name


def _finished(group: Sequence[dict[str, Any]]) -> Cell:
    """Flows that finished, of all, and how runs ended that did not complete."""
    ended = [row for row in group if row["status"] != "failed"]
    flows = (sum(row[f"flows_{what}"] for row in ended) for what in ("finished", "total"))
    text = " of ".join(f"{count:,}" for count in flows) if ended else "–"
    others = list(dict.fromkeys(row["status"] for row in ended if row["status"] != "completed"))
    lost = len(group) - len(ended)
    if lost:
        others.append("failed" if not ended else f"and {lost} of {many(len(group), 'run')} failed")
    return Cell(text, ", ".join(others))


def most_measured(rows: Sequence[dict[str, Any]], *, queries: bool) -> int:
    """The most flows, or queries, that values of a run are of: with fewer than 100 there is no p99."""
    return max(row.get("queries_measured" if queries else "measured") or 0 for row in rows)


def means(group: Sequence[dict[str, Any]], column: str) -> Estimate:
    """The mean of a column over the seeds, with interval; nan where any of them has no value."""
    known = [row.get(column) for row in group]
    return estimate([math.nan if value is None else float(value) for value in known], span=_POSITIVE)


def _value(found: Estimate, written: Callable[[float], str], *, counted: bool) -> Cell:
    if math.isnan(found.mean):
        return Cell("–")
    text = written(found.mean)
    ends = [] if found.interval is None or counted else [written(end) for end in found.interval]
    return Cell(text, f"[{', '.join(ends)}]" if set(ends) - {text} else "")
