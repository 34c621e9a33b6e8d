"""What differs between two runs: what they were told, and what was simulated."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import nearest_rank
from paceline.results import Columns, Results
from paceline.results.columns import TABLES
from paceline.tables import QS, Cell, Table
from paceline.words import many, revision

_FLOW = ("src", "dst", "size_bytes", "start_ps")
"""What makes two flows of two runs the same piece of work."""

_RECORDED_BY = {
    "queues": ("queues",),
    "links": ("links",),
    "pauses": ("pauses",),
    "saturation": ("pauses", "series"),
    "series": ("series",),
    "packets": ("packets",),
}
"""The settings below `records` that decide what is in a table. The others hold all that there was."""

_OF_THE_ENGINE = "events"
"""The counter of the work that an engine has done, not of what was simulated."""

_SAMPLED = "max_buffer_bytes"
"""The counter that is of samples."""


@dataclass(frozen=True)
class Setting:
    """A field of the resolved scenarios that differs; None where a scenario does not have it."""

    field: str
    first: Any
    second: Any


@dataclass(frozen=True)
class Total:
    """A number of ``summary.json``, of the whole run, that differs."""

    name: str
    first: int
    second: int


@dataclass(frozen=True)
class Rows:
    """How far a table is the same in both runs."""

    table: str
    first_rows: int
    second_rows: int
    different_rows: int | None
    """None where one run has more rows: they cannot be paired."""
    columns: tuple[str, ...]
    """Those that differ in some row; none where rows cannot be paired."""
    row: int | None = None
    """The first row that differs, counted from 0, with its first column that does, and the values there.

    None where none does, or one table is the beginning of the other.
    """
    column: str | None = None
    first: str | None = None
    second: str | None = None

    @property
    def equal(self) -> bool:
        """Whether all rows are."""
        return self.different_rows == 0


@dataclass(frozen=True)
class Flows:
    """Flows with the same source, destination, size and start in both runs, finished in both."""

    same_work: int
    equal: int
    longer: int
    """FCT at the sender longer in the second run."""
    shorter: int
    ratio_p5: float
    """Percentiles, by nearest rank, of FCT in the second over FCT in the first."""
    ratio_p50: float
    ratio_p95: float


@dataclass(frozen=True)
class Differences:
    """All that differs between two runs."""

    names: tuple[str, str]
    settings: tuple[Setting, ...] | None
    """None where a folder has no scenario that can be read."""
    versions: tuple[str, str] | None
    """Version and revision of Paceline, if not the same."""
    states: tuple[str, str]
    """How far the runs have come."""
    totals: tuple[Total, ...]
    rows: tuple[Rows, ...]
    not_compared: tuple[str, ...]
    """Tables that differ and had to: other settings of `records` decided what is in them."""
    flows: Flows | None
    """None without any such flow."""

    @property
    def equal(self) -> bool:
        """Whether everything that was simulated is the same, as far as both runs have it on record."""
        return self.states[0] == self.states[1] and not self.totals and all(table.equal for table in self.rows)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"equal": self.equal, **asdict(self), "rows": [{**asdict(r), "equal": r.equal} for r in self.rows]}

    def text(self) -> str:
        """For people."""
        a, b = self.names
        said = []
        if self.settings is None:
            said.append("Settings cannot be compared: no scenario.toml that can be read\n")
        elif self.settings:
            said.append(
                _table("Settings that differ", ("Setting", a, b), ((s.field, s.first, s.second) for s in self.settings))
            )
        if self.versions:
            said.append(f"Made by Paceline {self.versions[0]} and {self.versions[1]}\n")
        if self.states[0] != self.states[1]:
            said.append(f"{a} is {self.states[0]}, {b} {self.states[1]}\n")
        if self.not_compared:
            said.append(f"Not compared, since recorded otherwise: {', '.join(self.not_compared)}\n")
        if self.equal:
            held = ", ".join(f"{r.first_rows:,} in {r.table}" for r in self.rows if r.first_rows)
            said.append(f"Simulated the same: all counters, every row ({held or 'there is none'})\n")
            return "\n".join(said)
        if self.totals:
            said.append(
                _table("Counters that differ", ("Counter", a, b), ((t.name, t.first, t.second) for t in self.totals))
            )
        there = [r for r in self.rows if r.first_rows or r.second_rows]
        wide = max((len(r.table) for r in there), default=0)
        said.append("\n".join(["What was simulated", *(line for r in there for line in _lines(r, wide)), ""]))
        if self.flows:
            f = self.flows
            same = "of the same source, destination, size and start"
            ways = f"equal for {f.equal:,}, longer in {b} for {f.longer:,}, shorter for {f.shorter:,}"
            ratios = f"p5 {f.ratio_p5:.3f}, median {f.ratio_p50:.3f}, p95 {f.ratio_p95:.3f}"
            said.append(
                f"{many(f.same_work, 'finished flow')} {same}: FCTs at the sender are {ways}\n{b} over {a}: {ratios}\n"
            )
        return "\n".join(said)


def compare(first: Results, second: Results) -> Differences:
    """Compares all tables of two runs that both have recorded alike, and what both have counted.

    Raises :class:`paceline.ResultsError` where a table is malformed, or missing although the run ended and wrote it.
    """
    both = (first, second)
    known = [dict(_fields(run.scenario, "")) for run in both if run.scenario is not None]
    versions = [f"{run.summary['version']} ({_built(run)})" for run in both]
    recorded = all("packets" in run.summary for run in both)
    # All tables hold simulated quantities only.
    names = [table.name for table in TABLES if recorded or table.name != "packets"]
    found = [tuple(getattr(run, name) for run in both) for name in names]
    rows = [_rows(name, a, b) for name, (a, b) in zip(names, found, strict=True)]
    settings = tuple(_settings(*known)) if len(known) == len(both) else None
    otherwise = {s.field.split(".")[1] for s in settings or () if s.field.startswith("records.")}
    skipped = [r.table for r in rows if not r.equal and otherwise.intersection(_RECORDED_BY.get(r.table, ()))]
    return Differences(
        names=_names(first, second),
        settings=settings,
        versions=(versions[0], versions[1]) if versions[0] != versions[1] else None,
        states=(first.status, second.status),
        totals=tuple(_totals(first, second, sampled_alike="series" not in otherwise)),
        rows=tuple(r for r in rows if r.table not in skipped),
        not_compared=tuple(skipped),
        flows=_flows(first.flows, second.flows),
    )


def _built(run: Results) -> str:
    git = run.summary["git"]
    return revision(git) if git else "no revision"


def _names(first: Results, second: Results) -> tuple[str, str]:
    """Names of the runs; of their folders where they have the same."""
    a, b = first.name, second.name
    return (a, b) if a != b else (str(first.path), str(second.path))


def _fields(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """All fields below a value, dotted; those of an array by their places."""
    nested = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))
    if not nested:
        yield path, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield from _fields(item, f"{path}.{key}" if path else str(key))


def _settings(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Setting]:
    for field in [*first, *(field for field in second if field not in first)]:
        a, b = first.get(field), second.get(field)
        # 1 and true are equal to Python.
        if a != b or type(a) is not type(b):
            yield Setting(field, a, b)


def _totals(first: Results, second: Results, *, sampled_alike: bool) -> Iterator[Total]:
    """What runs have counted as a whole, and how long they were: of that too few records may tell nothing."""

    def of(run: Results) -> dict[str, int]:
        flows = {f"flows {state}": number for state, number in run.summary["flows"].items()}
        return {"simulated_ps": run.simulated_ps, **flows, **run.summary["counters"]}

    a, b = of(first), of(second)
    for name in a:
        # A run of an earlier version may have counted less.
        known = name in b and name != _OF_THE_ENGINE and (sampled_alike or name != _SAMPLED)
        if known and a[name] != b[name]:
            yield Total(name, a[name], b[name])


def _rows(name: str, first: Columns, second: Columns) -> Rows:
    held = min(first.rows, second.rows)
    unlike = {column: _unlike(first[column][:held], second[column][:held]) for column in first if column in second}
    differ = np.logical_or.reduce([np.zeros(held, dtype=bool), *unlike.values()])
    paired = first.rows == second.rows
    rows = Rows(
        name,
        first.rows,
        second.rows,
        int(np.count_nonzero(differ)) if paired else None,
        tuple(column for column, where in unlike.items() if where.any()) if paired else (),
    )
    if not differ.any():
        return rows
    row = int(np.argmax(differ))
    column = next(column for column, where in unlike.items() if where[row])
    return replace(rows, row=row, column=column, first=str(first[column][row]), second=str(second[column][row]))


def _unlike(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    unlike: NDArray[np.bool_] = a != b
    if a.dtype.kind == b.dtype.kind == "f":
        # An empty cell is as good as another.
        unlike &= ~(np.isnan(a) & np.isnan(b))
    return unlike


def _flows(first: Columns, second: Columns) -> Flows | None:
    """Matched by their places: flows are numbered in the order of their starts."""
    held = min(first.rows, second.rows)
    if not held:
        return None
    same = np.logical_and.reduce([first.codes(column)[:held] == second.codes(column)[:held] for column in _FLOW])
    a, b = (table.codes("fct_sender_ps")[:held] for table in (first, second))
    same &= (a > 0) & (b > 0)
    if not same.any():
        return None
    a, b = a[same].astype(np.int64), b[same].astype(np.int64)
    low, middle, high = (float(nearest_rank(b / a, q)) for q in (5, QS[0], QS[1]))
    counts = [int(np.count_nonzero(way)) for way in (a == b, b > a, b < a)]
    return Flows(len(a), counts[0], counts[1], counts[2], low, middle, high)


def _table(caption: str, head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    cells = [tuple(Cell(_shown(value)) for value in row) for row in rows]
    return Table(caption, head, cells, prose=True).plain()


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)  # as in a scenario
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lines(rows: Rows, wide: int) -> list[str]:
    """What differs in a table, behind its name: how many rows, in which columns, and the first of them."""
    if rows.different_rows is None:
        extent = f"{rows.first_rows:,} and {rows.second_rows:,} rows"
    else:
        extent = f"{f'{rows.different_rows:,}' if rows.different_rows else 'none'} of {many(rows.first_rows, 'row')}"
        extent += " differ" if rows.different_rows != 1 else " differs"
        extent += f", in {', '.join(rows.columns)}" if rows.columns else ""
    said = [extent]
    said += [] if rows.row is None else [f"first row {rows.row:,}: {rows.column} {rows.first} and {rows.second}"]
    indent = " " * (wide + 2)
    broken = [textwrap.wrap(text, 100, initial_indent=indent, subsequent_indent=indent + "  ") for text in said]
    lines = [line for part in broken for line in part]
    return [f"{rows.table:{wide}}{lines[0][wide:]}", *lines[1:]]
