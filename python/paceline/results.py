"""Result folders: what a run wrote, as NumPy columns with units in their names.

A folder holds ``summary.json``, ``flows.bin`` (fixed-width records, read through a memory map), CSV tables and the
resolved ``scenario.toml``. A folder of a run that is going on or was killed opens too: half a last record or row is
left out, tables not written yet are empty. Anything else that does not fit the format raises :class:`ResultsError`.
"""

from __future__ import annotations

import html
import importlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import Sample
from paceline.columns import TABLES
from paceline.csvfile import read_csv
from paceline.errors import ResultsError
from paceline.summary import mpi_lines

Baseline = Literal["line_rate", "hpcc", "alone"]
Side = Literal["sender", "receiver"]

SCHEMA_VERSION = 1
STATUS = ("not_started", "running", "finished", "failed")
_FAILED = 3

_MAGIC = b"PACELFLW"
_HEADER_BYTES = 64
FLOW_RECORD = np.dtype(
    [
        ("status", "<u1"),
        ("class", "<u1"),
        ("scheme", "<u2"),
        ("group", "<u2"),
        ("hops", "<u2"),
        ("src", "<u4"),
        ("dst", "<u4"),
        ("size_bytes", "<u8"),
        ("start_ps", "<u8"),
        ("fct_sender_ps", "<u8"),
        ("fct_receiver_ps", "<u8"),
        ("ideal_sender_ps", "<u8"),
        ("ideal_receiver_ps", "<u8"),
        ("ideal_hpcc_ps", "<u8"),
        ("retransmitted_packets", "<u4"),
        ("lost_packets", "<u4"),
    ]
)
"""One record of ``flows.bin``; the flow id is its index. An FCT of 0 means that the flow did not get that far; of a
failed flow ``fct_sender_ps`` holds the age at which it was given up."""

_QUERY_MAGIC = b"PACELQRY"
QUERY_RECORD = np.dtype(
    [
        ("connection", "<u4"),
        ("query", "<u4"),
        ("group", "<u2"),
        ("scheme", "<u2"),
        ("client", "<u4"),
        ("server", "<u4"),
        ("spare", "<u4"),
        ("size_bytes", "<u8"),
        ("response_bytes", "<u8"),
        ("start_ps", "<u8"),
        ("qct_ps", "<u8"),
        ("ideal_qct_ps", "<u8"),
    ]
)
"""One record of ``queries.bin``, in the order of the answers. A QCT of 0 means that there was none."""

_TABLES = {table.name: table.kinds for table in TABLES}

_NUMBER = (int, float)
# What the summary holds; everything but the first three lines may be missing while a run goes on.
_SUMMARY: dict[str, type | tuple[type, ...]] = {
    "schema_version": int,
    "name": str,
    "status": str,
    "version": str,
    "seed": int,
    "engine": dict,
    "simulated_ps": int,
    "flows": dict,
    "counters": dict,
    "machine": dict,
    "load": list,
    "schemes": list,
    "groups": list,
    "measure": dict,
    "hosts": int,
    "switches": int,
    "links": int,
    "warnings": list,
    "without_effect": list,
} | {
    f"{part}.{field}": _NUMBER
    for part, fields in {
        "flows": "total finished failed unfinished",
        "counters": "events data_hops control_hops drops_buffer drops_wire drops_link_down lossless_drops marks "
        "pause_frames resume_frames ties retransmitted_packets data_packets unscheduled_packets drops_unscheduled "
        "trimmed_packets returned_headers permits drops_credit probes timeouts max_buffer_bytes",
        "machine": "setup_s run_s cpu_s peak_rss_mib hops_per_s",
    }.items()
    for field in fields.split()
}
_ALWAYS = ("schema_version", "name", "status")
_ENDED = ("completed", "stopped", "interrupted", "stalled")


class Columns(Mapping[str, NDArray[Any]]):
    """A table as named, equally long NumPy columns; units are part of the names.

    Values are made on first use. Index by name for a column, by mask or slice for a smaller table.
    """

    def __init__(self, title: str, columns: Mapping[str, NDArray[Any]], names: Mapping[str, tuple[str, ...]]) -> None:
        """``names`` gives, for columns stored as codes, what each code stands for."""
        self.title = title
        self._columns = dict(columns)
        self._names = dict(names)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"{self.title} has no column {name!r}; it has {', '.join(self._columns)}")
        column = self._columns[name]
        return np.asarray(self._names[name])[column] if name in self._names else column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of columns, as of any mapping."""
        return len(self._columns)

    def codes(self, name: str) -> NDArray[Any]:
        """A column as stored: for ``status``, ``scheme`` and ``group`` small integers instead of names."""
        return self._columns[name]

    def names(self, name: str) -> tuple[str, ...]:
        """What the codes of a column stand for; empty for a column of numbers."""
        return self._names.get(name, ())

    def where(self, mask: NDArray[np.bool_]) -> Columns:
        """The rows for which ``mask`` (shape ``(rows,)``) is true."""
        return Columns(self.title, {k: v[mask] for k, v in self._columns.items()}, self._names)

    def head(self, rows: int = 5) -> list[list[str]]:
        """The first rows as text."""
        cells = []
        for name in self._columns:
            column = self._columns[name][:rows]
            names = self._names.get(name)
            cells.append([names[int(v)] if names else str(v) for v in column])
        return [list(row) for row in zip(*cells, strict=True)]

    def __repr__(self) -> str:
        return f"<{self.title}: {self.rows:,} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.head())
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        title = f"<p>{html.escape(self.title)}: {self.rows:,} rows</p>"
        return f"{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_pandas(self) -> Any:
        """The table as ``pandas.DataFrame``. Raises ``ImportError`` when pandas is not installed."""
        return _optional("pandas").DataFrame(dict(self))

    def to_polars(self) -> Any:
        """The table as ``polars.DataFrame``. Raises ``ImportError`` when polars is not installed."""
        return _optional("polars").DataFrame({k: np.ascontiguousarray(v) for k, v in self.items()})

    def to_arrow(self) -> Any:
        """The table as ``pyarrow.Table``. Raises ``ImportError`` when pyarrow is not installed."""
        return _optional("pyarrow").table({k: np.ascontiguousarray(v) for k, v in self.items()})


def _optional(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        problem = f"this conversion needs {module}, which is not installed; install it, or use the NumPy columns"
        raise ImportError(problem) from error


class Results:
    """One run's result folder. Open it with :meth:`load`."""

    def __init__(self, path: Path, summary: dict[str, Any], records: NDArray[Any]) -> None:
        self.path = path
        self.summary = summary
        """``summary.json`` as read and checked."""
        self._records = records

    @classmethod
    def load(cls, folder: Path | str) -> Results:
        """Opens a result folder.

        Raises :class:`ResultsError` when it is not one, or when ``summary.json`` or ``flows.bin`` is malformed; the CSV
        tables are read, and checked, on first use.
        """
        path = Path(folder)
        if not path.is_dir():
            raise ResultsError(path, "no such result folder")
        summary = _read_summary(path / "summary.json")
        records = _read_flows(path / "flows.bin", complete=summary["status"] in _ENDED)
        for field, names in (("scheme", summary["schemes"]), ("group", summary["groups"])):
            started = records[field][records["status"] > 0]
            if len(started) and int(started.max()) >= len(names):
                problem = f"{field} index {int(started.max())}, but summary.json names {len(names)} {field}s"
                if names or summary["status"] in _ENDED:
                    raise ResultsError(path / "flows.bin", problem)
                made_up = [f"{field} {i}" for i in range(int(started.max()) + 1)]
                summary[f"{field}s"] = [{"name": n} for n in made_up] if field == "scheme" else made_up
        if len(records) and int(records["status"].max()) >= len(STATUS):
            raise ResultsError(path / "flows.bin", f"flow status {int(records['status'].max())} is not 0 to 3")
        return cls(path, summary, records)

    @property
    def name(self) -> str:
        """Name of the run."""
        return str(self.summary["name"])

    @property
    def status(self) -> str:
        """completed, stopped, interrupted, stalled, or running (going on, or killed)."""
        return str(self.summary["status"])

    @property
    def schemes(self) -> tuple[str, ...]:
        """Names of the schemes, in the order of their index."""
        return tuple(str(s["name"]) for s in self.summary["schemes"])

    @cached_property
    def simulated_ps(self) -> int:
        """Simulated time in ps; for a killed run, the last instant its records know of."""
        stated = int(self.summary["simulated_ps"])
        r = self._records[self._records["status"] > 0]
        known = int((r["start_ps"] + np.maximum(r["fct_sender_ps"], r["fct_receiver_ps"])).max()) if len(r) else 0
        if self.status == "running" and self.queries.rows:
            known = max(known, int((self.queries["start_ps"] + self.queries["qct_ps"]).max()))
        return max(stated, known) if self.status == "running" else stated

    @property
    def scenario_toml(self) -> str | None:
        """Text of the resolved scenario, None when the folder has none."""
        path = self.path / "scenario.toml"
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None

    @cached_property
    def flows(self) -> Columns:
        """All flows, columns as in ``flows.csv``; an FCT that does not exist is 0."""
        found: dict[str, NDArray[Any]] = {"flow_id": np.arange(len(self._records))}
        found |= {name: self._records[name] for name in FLOW_RECORD.names or ()}
        found |= {"fct_sender_ps": self._sender_word(failed=False), "failed_after_ps": self._sender_word(failed=True)}
        if self.summary.get("queries"):
            # The two directions of a connection have numbers in the stream of flows, and no flow.
            held = self._records["status"] > 0
            found = {name: column[held] for name, column in found.items()}
        names = {
            "status": STATUS,
            # A scheme or group of index 0 needs a name even in a run killed before it wrote them.
            "scheme": self.schemes or ("",),
            "group": tuple(str(g) for g in self.summary["groups"]) or ("",),
        }
        return Columns("flows", {name: found[name] for name in _TABLES["flows"]}, names)

    def _sender_word(self, *, failed: bool) -> NDArray[Any]:
        """The FCT at the sender, or else the age at which flows were given up, which share a field; 0 where none is."""
        word, given_up = self._records["fct_sender_ps"], self._records["status"] == _FAILED
        if not given_up.any():
            return np.broadcast_to(np.zeros(1, word.dtype), word.shape) if failed else word
        return np.where(given_up == failed, word, 0).astype(word.dtype, copy=False)

    @cached_property
    def queues(self) -> Columns:
        """Time-weighted histogram of bytes waiting per port and class (``queues.csv``)."""
        return self._table("queues")

    @cached_property
    def queries(self) -> Columns:
        """Queries in the order of their start, columns as in ``queries.csv``; a QCT that does not exist is 0.

        Empty where no workload asks any.
        """
        records = _read_queries(self.path / "queries.bin")
        records = records[np.lexsort((records["query"], records["connection"], records["start_ps"]))]
        names = {"scheme": self.schemes, "group": tuple(str(g) for g in self.summary["groups"])}
        for field, known in names.items():
            if len(records) and int(records[field].max()) >= len(known):
                problem = f"{field} index {int(records[field].max())}, but summary.json names {len(known)} {field}s"
                raise ResultsError(self.path / "queries.bin", problem)
        return Columns("queries", {name: records[name] for name in _TABLES["queries"]}, names)

    @cached_property
    def ranks(self) -> Columns:
        """Ranks of message-passing programs (``ranks.csv``); no rows without any."""
        return self._table("ranks")

    @cached_property
    def links(self) -> Columns:
        """Counters of every link direction (``links.csv``)."""
        return self._table("links")

    @cached_property
    def pauses(self) -> Columns:
        """Transmitting ports that were paused (``pauses.csv``)."""
        return self._table("pauses")

    @cached_property
    def saturation(self) -> Columns:
        """How far pauses had spread over time (``saturation.csv``); empty where nothing was paused."""
        return self._table("saturation")

    @cached_property
    def series(self) -> Columns:
        """Time series in long form (``series.csv``)."""
        return self._table("series")

    def _table(self, name: str) -> Columns:
        path = self.path / f"{name}.csv"
        return Columns(name, read_csv(path, _TABLES[name], complete=self.status in _ENDED), {})

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        """Flows that count: started, and created inside the measuring window; shape ``(flows,)``."""
        window = self.summary["measure"]
        start = self._records["start_ps"]
        inside = (self._records["status"] > 0) & (start >= int(window.get("warmup_ps") or 0))
        end = window.get("end_ps")
        return inside if end is None else inside & (start < int(end))

    def fct(self, side: Side = "sender") -> Sample:
        """FCT in ps of the measured flows: to the last acknowledgement (sender) or the last byte (receiver).

        Flows that did not finish are censored: at their age when their transport gave them up, else when the run ended.
        """
        if side not in ("sender", "receiver"):
            raise ValueError(f"side must be 'sender' or 'receiver', got {side!r}")
        r = self._records[self.measured]
        failed = r["status"] == _FAILED
        fct = np.where(failed, 0, r[f"fct_{side}_ps"]).astype(float)
        censored = fct == 0
        until = np.where(failed, r["fct_sender_ps"], np.maximum(self.simulated_ps - r["start_ps"].astype(float), 0.0))
        value = np.where(censored, until, fct)
        return Sample(r["size_bytes"].astype(np.int64), value, censored, failed)

    def slowdown(self, baseline: Baseline = "line_rate", side: Side = "sender") -> Sample:
        """Slowdown of the measured flows: FCT divided by the ideal FCT of the same kind.

        ``line_rate`` is the exact store-and-forward time in an empty network, at the sender or the receiver. ``hpcc``
        is the standalone FCT of the HPCC reference, of the sender's kind only, floored at 1 as its scripts do.
        ``alone`` is the FCT of the same flow simulated alone, same stack and path; on first use that is done and kept
        in the folder (:mod:`paceline.alone`), which takes about as long as the run. A censored flow enters with its
        age. Raises ``ValueError`` for an unknown baseline, or a side it does not have, and :class:`ResultsError` when
        a measured flow has no ideal FCT; for ``alone`` also what :func:`paceline.alone.simulate` raises.
        """
        if baseline not in ("line_rate", "hpcc", "alone"):
            raise ValueError(f"baseline must be 'line_rate', 'hpcc' or 'alone', got {baseline!r}")
        if baseline == "hpcc" and side != "sender":
            raise ValueError("baseline 'hpcc' is defined for the sender's FCT only")
        fct = self.fct(side)
        if baseline == "alone":
            from paceline import alone

            column = f"fct_{side}_ps"
            ideal = alone.load(self.path, len(self._records))[column][self.measured].astype(float)
        else:
            column = "ideal_hpcc_ps" if baseline == "hpcc" else f"ideal_{side}_ps"
            ideal = self._records[column][self.measured].astype(float)
        if np.any(ideal == 0):
            flow = int(np.flatnonzero(self.measured)[np.argmax(ideal == 0)])
            file = "alone.bin" if baseline == "alone" else "flows.bin"
            raise ResultsError(self.path / file, f"flow {flow} has no {column}")
        value = fct.value / ideal
        # No flow beats its ideal (alone: by more than rounding): 1 also bounds a censored flow younger than that.
        floored = np.ones(len(value), dtype=bool) if baseline == "hpcc" else fct.censored
        value = np.where(floored, np.maximum(value, 1.0), value)
        return Sample(fct.size_bytes, value, fct.censored, fct.failed)

    def measured_codes(self, name: Literal["scheme", "group", "class"]) -> NDArray[Any]:
        """Index of the scheme or group, or the class, of each measured flow; aligned with :meth:`slowdown`."""
        codes: NDArray[Any] = self._records[name][self.measured]
        return codes

    def to_pandas(self) -> Any:
        """The flows as ``pandas.DataFrame``; see :meth:`Columns.to_pandas`."""
        return self.flows.to_pandas()

    def to_polars(self) -> Any:
        """The flows as ``polars.DataFrame``; see :meth:`Columns.to_polars`."""
        return self.flows.to_polars()

    def to_arrow(self) -> Any:
        """The flows as ``pyarrow.Table``; see :meth:`Columns.to_arrow`."""
        return self.flows.to_arrow()

    def flow_counts(self) -> dict[str, int]:
        """Flows by status, over the whole run and straight from the records."""
        found = np.bincount(self._records["status"], minlength=len(STATUS))
        if self.summary.get("queries"):
            found[0] = 0
        return {name: int(found[i]) for i, name in enumerate(STATUS)}

    def _facts(self) -> list[tuple[str, str]]:
        counts = self.flow_counts()
        status = "running, or killed" if self.status == "running" else self.status
        facts = [
            ("run", self.name),
            ("status", status),
            ("schemes", ", ".join(self.schemes)),
            ("simulated", f"{self.simulated_ps / 1e9:,.3f} ms"),
            ("flows", ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items() if n) or "none"),
        ]
        queries = self.summary.get("queries")
        if queries:
            said = f"{queries['answered']:,} of {queries['issued']:,} answered, {queries['connections']:,} connections"
            facts.append(("queries", said))
        facts += [("programs", said) for said in mpi_lines(self.summary)]
        remarks = len(self.summary["warnings"])
        facts += [("warnings", f"{remarks}, in .summary['warnings']")] if remarks else []
        facts += [("diagnosis", str(self.summary["diagnosis"]))] if self.summary["diagnosis"] else []
        return [*facts, ("folder", str(self.path))]

    def __repr__(self) -> str:
        return "<Results: " + "; ".join(f"{k} {v}" for k, v in self._facts()) + ">"

    def _repr_html_(self) -> str:
        return "".join(["<table>", *(f"<tr><th>{k}<td>{html.escape(v)}" for k, v in self._facts()), "</table>"])


def _read_summary(path: Path) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        problem = "no result folder, or the run was killed before it began: it has no summary.json"
        raise ResultsError(path.parent, problem) from error
    except OSError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ResultsError(path, f"is not JSON: {error}") from error
    found = summary.get("schema_version") if isinstance(summary, dict) else None
    if found != SCHEMA_VERSION:
        raise ResultsError(path, f"schema_version is {found!r}; this Paceline reads {SCHEMA_VERSION}")
    ended = summary.get("status") in _ENDED
    if not ended and summary.get("status") != "running":
        raise ResultsError(path, f"status is {summary.get('status')!r}; allowed: {', '.join(_ENDED)}, running")
    for field, kind in _SUMMARY.items():
        part, _, leaf = field.partition(".")
        holder = summary[part] if leaf else summary
        key = leaf or part
        if key not in holder:
            if ended or field in _ALWAYS:
                raise ResultsError(path, f"{field} is missing")
            holder[key] = (kind if isinstance(kind, type) else int)()
        if not isinstance(holder[key], kind) or isinstance(holder[key], bool):
            raise ResultsError(path, f"{field} is {holder[key]!r}, which is not of the expected type")
    _check_entries(path, summary, "schemes", {"name": str})
    _check_entries(path, summary, "load", {"tier": str, "offered": _NUMBER, "carried": _NUMBER})
    for field in ("groups", "warnings", "without_effect"):
        if not all(isinstance(text, str) for text in summary[field]):
            raise ResultsError(path, f"{field} must be a list of strings")
    for holder, field, kind in (
        (summary["measure"], "warmup_ps", int),
        (summary["measure"], "end_ps", int),
        (summary, "git", str),
        (summary, "diagnosis", str),
    ):
        if not isinstance(holder.setdefault(field, None), kind | None):
            raise ResultsError(path, f"{field} is {holder[field]!r}, which is not of the expected type")
    return summary


def _check_entries(
    path: Path, summary: dict[str, Any], field: str, needed: Mapping[str, type | tuple[type, ...]]
) -> None:
    for i, entry in enumerate(summary[field]):
        if not isinstance(entry, dict) or not all(isinstance(entry.get(k), t) for k, t in needed.items()):
            raise ResultsError(path, f"{field}[{i}] needs {', '.join(needed)}, got {entry!r}")


def _read_queries(path: Path) -> NDArray[Any]:
    """The records of ``queries.bin``; half a last one is left out, a missing file is a table without rows."""
    if not path.is_file():
        return np.zeros(0, dtype=QUERY_RECORD)
    data = path.read_bytes()
    size = QUERY_RECORD.itemsize
    if data[:8] != _QUERY_MAGIC or data[8:16] != (1).to_bytes(4, "little") + size.to_bytes(4, "little"):
        raise ResultsError(path, "is no query file of version 1")
    return np.frombuffer(data, dtype=QUERY_RECORD, offset=size, count=(len(data) - size) // size)


def _read_flows(path: Path, *, complete: bool) -> NDArray[Any]:
    """The records as a read-only memory map of :data:`FLOW_RECORD`."""
    empty = np.zeros(0, dtype=FLOW_RECORD)
    if not complete and not path.exists():
        return empty  # killed before its first flow
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror})") from error
    if len(header) < _HEADER_BYTES:
        if complete:
            raise ResultsError(path, f"ends inside its {_HEADER_BYTES}-byte header")
        return empty
    version, record_size = (int(v) for v in np.frombuffer(header, "<u4", 2, 8))
    if header[:8] != _MAGIC:
        raise ResultsError(path, f"does not begin with {_MAGIC.decode()}: not a flow file")
    if (version, record_size) != (1, FLOW_RECORD.itemsize):
        problem = f"version {version} with {record_size}-byte records; this Paceline reads version 1"
        raise ResultsError(path, f"{problem} with {FLOW_RECORD.itemsize}-byte records")
    stated = int(np.frombuffer(header, "<u8", 1, 16)[0])
    found, rest = divmod(size - _HEADER_BYTES, FLOW_RECORD.itemsize)
    if stated and (found < stated or (complete and (found, rest) != (stated, 0))):
        raise ResultsError(path, f"its header promises {stated} records, it holds {found} and {rest} bytes")
    if rest and complete:
        raise ResultsError(path, f"ends with {rest} bytes of an incomplete record")
    count = stated or found
    return np.memmap(path, FLOW_RECORD, "r", _HEADER_BYTES, (count,)) if count else empty
