"""One run's result folder as an object."""

from __future__ import annotations

import html
import tomllib
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import Sample
from paceline.errors import ResultsError
from paceline.results import alone
from paceline.results.checked import ENDED, read_summary
from paceline.results.columns import TABLES
from paceline.results.csvfile import read_csv
from paceline.results.records import (
    FAILED,
    FINISHED,
    FLOW_RECORD,
    PACKET_EVENTS,
    PACKET_KINDS,
    RUNNING,
    STATUS,
    count_queries,
    read_flows,
    read_packets,
    read_queries,
)
from paceline.results.summary import mpi_lines
from paceline.results.table import Columns
from paceline.results.temporary import TemporaryFolder
from paceline.results.timing import BASELINES, SIDES, Baseline, Side

_TABLES = {table.name: table.kinds for table in TABLES}
_ABSENT = {table.name: table.absent for table in TABLES}


class Results:
    """One run's result folder. Open it with :meth:`load`.

    Results can be pickled, as for another process. What is loaded reads the same folder, and so has to reach it; a
    temporary one (:func:`paceline.simulate` without ``out``) goes along, all its files, compressed.
    """

    def __init__(
        self,
        path: Path,
        summary: dict[str, Any],
        records: NDArray[Any],
        group: str | None = None,
        temporary: TemporaryFolder | None = None,
    ) -> None:
        self.path = path
        self._temporary = temporary
        """Keeps a folder that goes with the results."""
        self.group = group
        """The workload group whose flows and queries are measured; all of them without one."""
        self.summary = summary
        """``summary.json`` as read and checked."""
        self._records = records

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.path.absolute() if self._temporary is None else self._temporary, self.group)

    @classmethod
    def load(cls, folder: Path | str | TemporaryFolder) -> Results:
        """Opens a result folder; a :class:`TemporaryFolder` is kept as long as the results are.

        Raises :class:`ResultsError` when it is not one, when ``summary.json`` or ``flows.bin`` is malformed, or when
        ``flows.bin`` or ``queries.bin`` of a run that ended does not hold what the summary says. The tables are read,
        and checked, on first use, or all by :meth:`read_all`.
        """
        temporary = folder if isinstance(folder, TemporaryFolder) else None
        path = folder.path if isinstance(folder, TemporaryFolder) else Path(folder)
        try:
            there = path.is_dir()
        except OSError as error:
            raise ResultsError(path, f"cannot be read ({error.strerror})") from error
        if not there:
            raise ResultsError(path, "no such result folder")
        summary = read_summary(path / "summary.json")
        records = read_flows(path / "flows.bin", complete=summary["status"] in ENDED)
        for field, names in (("scheme", summary["schemes"]), ("group", summary["groups"])):
            started = records[field][records["status"] > 0]
            if len(started) and int(started.max()) >= len(names):
                problem = f"{field} index {int(started.max())}, but summary.json names {len(names)} {field}s"
                if names or summary["status"] in ENDED:
                    raise ResultsError(path / "flows.bin", problem)
                made_up = [f"{field} {i}" for i in range(int(started.max()) + 1)]
                names = summary[f"{field}s"] = [{"name": n} for n in made_up] if field == "scheme" else made_up
            # Records without a flow hold zeros.
            if len(records) and int(records[field].max()) >= max(len(names), 1):
                raise ResultsError(path / "flows.bin", f"{field} index {int(records[field].max())} of no flow")
        if len(records) and int(records["status"].max()) >= len(STATUS):
            raise ResultsError(path / "flows.bin", f"flow status {int(records['status'].max())} is not 0 to 3")
        if summary["status"] in ENDED:
            _agree(path, summary, len(records))
        return cls(path, summary, records, temporary=temporary)

    def of_group(self, name: str) -> Results:
        """The same results with only the flows and queries of one workload group measured.

        Raises :class:`ValueError` for a group that the run does not have.
        """
        if name not in self.summary["groups"]:
            raise ValueError(f"no group {name!r}; the run has {', '.join(map(str, self.summary['groups'])) or 'none'}")
        return Results(self.path, self.summary, self._records, name, self._temporary)

    def default_side(self) -> Side:
        """Where flows are best timed: at the receiver if any measured flow is over UDP, else at the sender.

        A sender of datagrams knows nothing of their fate: its times are the same whatever is lost.
        """
        cc = [s.get("cc") for s in self.summary["schemes"]]
        return (
            "receiver" if any(cc[int(code)] == "udp" for code in np.unique(self.measured_codes("scheme"))) else "sender"
        )

    def read_all(self) -> None:
        """Reads and checks all tables: what writes something from them then does so whole or not at all.

        Raises :class:`ResultsError` when one is malformed, or missing although the run ended and wrote it, and when a
        measured flow has no ideal FCT.
        """
        for table in TABLES:
            getattr(self, table.name)
        for side in SIDES:
            self.slowdown(side=side)

    def check_tables(self) -> None:
        """Raises :class:`ResultsError` when a table that the run wrote at its end is missing; none is read."""
        for name in sorted(self._written):
            if not (self.path / f"{name}.csv").is_file():
                read_csv(self.path / f"{name}.csv", _TABLES[name], complete=True, needed=True)

    @property
    def name(self) -> str:
        """Name of the run."""
        return str(self.summary["name"])

    @property
    def status(self) -> str:
        """completed, stopped, interrupted, stalled, or running (going on, or killed)."""
        return str(self.summary["status"])

    @property
    def status_text(self) -> str:
        """The status in words: of a run that has not ended, whether it broke off by itself."""
        if self.status != "running":
            return self.status
        return "broken off" if self.summary["diagnosis"] else "running, or killed"

    @property
    def is_counted(self) -> bool:
        """Whether the counters are known: of a run that ended, and of one that broke off and could still say so."""
        return self.status != "running" or int(self.summary["counters"]["events"]) > 0

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

    @cached_property
    def links_ps(self) -> int:
        """The time in ps that links' shares are of: :attr:`simulated_ps`, or the longest that one of them transmitted.

        What is on its way when the last flow has ended still counts, and may take longer than all flows did.
        """
        busy = self.links["busy_ps"]
        return max(self.simulated_ps, int(busy.max()) if len(busy) else 0)

    @property
    def scenario_toml(self) -> str | None:
        """Text of the resolved scenario, None when the folder has none."""
        path = self.path / "scenario.toml"
        if not self.path.is_dir():
            raise ResultsError(self.path, "is no longer there")
        try:
            return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
        except OSError as error:
            raise ResultsError(path, f"cannot be read ({error.strerror})") from error

    @cached_property
    def scenario(self) -> dict[str, Any] | None:
        """The resolved scenario; None when the folder has none, or somebody has written to it and it is no TOML.

        What is in it may be anything then, too. The engine refuses it; what only shows a run leaves out what follows
        from it.
        """
        try:
            return None if self.scenario_toml is None else tomllib.loads(self.scenario_toml)
        except (tomllib.TOMLDecodeError, RecursionError):
            return None

    @cached_property
    def node_names(self) -> dict[int, str]:
        """What settings and errors call the nodes, by number: names of a graph, else ``host0``, ``tor3`` and so on.

        Those come from the tiers in ``links.csv``; without that table (``records.links``, or a run that was killed)
        the dict is empty.
        """
        return self.graph_names or tier_names(self.links)

    @cached_property
    def graph_names(self) -> dict[int, str]:
        """The names that the scenario gives its nodes, by number; empty unless it gives the network as a graph."""
        try:
            topology = (self.scenario or {}).get("topology", {})
            if topology.get("kind") != "graph":
                return {}
            # As the engine numbers them: hosts first.
            return {i: str(name) for i, name in enumerate([*topology["hosts"], *topology["switches"]])}
        except (AttributeError, KeyError, TypeError):
            return {}  # somebody has written to it

    @cached_property
    def _has_connections(self) -> bool:
        """Whether connections have numbers in the stream of flows, as queries need; a killed run has but their file."""
        return bool(self.summary.get("queries")) or (self.path / "queries.bin").is_file()

    @cached_property
    def flows(self) -> Columns:
        """All flows, columns as in ``flows.csv``; an FCT that does not exist is 0, and masked by ``.masked(name)``."""
        found: dict[str, NDArray[Any]] = {"flow_id": np.arange(len(self._records))}
        found |= {name: self._records[name] for name in FLOW_RECORD.names or ()}
        found |= {"fct_sender_ps": self._sender_word(failed=False), "failed_after_ps": self._sender_word(failed=True)}
        if self._has_connections:
            # The two directions of a connection have numbers in the stream of flows, and no flow.
            held = self._records["status"] > 0
            found = {name: column[held] for name, column in found.items()}
        names = {
            "status": STATUS,
            # A scheme or group of index 0 needs a name even in a run killed before it wrote them.
            "scheme": self.schemes or ("",),
            "group": tuple(str(g) for g in self.summary["groups"]) or ("",),
        }
        return Columns("flows", {name: found[name] for name in _TABLES["flows"]}, names, _ABSENT["flows"])

    def _sender_word(self, *, failed: bool) -> NDArray[Any]:
        """The FCT at the sender, or else the age at which flows were given up, which share a field; 0 where none is."""
        word, given_up = self._records["fct_sender_ps"], self._records["status"] == FAILED
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
        records = read_queries(self.path / "queries.bin", complete=self.status in ENDED)
        records = records[np.lexsort((records["query"], records["connection"], records["start_ps"]))]
        names = {"scheme": self.schemes, "group": tuple(str(g) for g in self.summary["groups"])}
        for field, known in names.items():
            if len(records) and int(records[field].max()) >= len(known):
                problem = f"{field} index {int(records[field].max())}, but summary.json names {len(known)} {field}s"
                raise ResultsError(self.path / "queries.bin", problem)
        asked = self.summary.get("queries")
        answered = int(np.count_nonzero(records["qct_ps"]))
        if asked and self.status in ENDED and answered != asked["answered"]:
            problem = f"{answered} of its queries are answered, and summary.json says {asked['answered']}"
            raise ResultsError(self.path / "queries.bin", problem)
        return Columns("queries", {name: records[name] for name in _TABLES["queries"]}, names, _ABSENT["queries"])

    @cached_property
    def _written(self) -> frozenset[str]:
        """Names of the tables that the run wrote when it ended, as far as its scenario tells."""
        scenario = self.scenario
        if self.status not in ENDED or scenario is None:
            return frozenset()
        try:
            records, pfc = scenario.get("records", {}), scenario.get("switch", {}).get("pfc", {})
            asked = {name for name in ("links", "pauses") if records.get(name) is True}
            spread = {"saturation"} if "pauses" in asked and pfc.get("enabled") is True else set()
        except AttributeError:
            return frozenset()  # it is shown as it is; who runs it again is told
        parts = {table for part, table in (("mpi", "ranks"), ("packets", "packets")) if self.summary.get(part)}
        return frozenset({"queues", "series"} | asked | spread | parts)

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

    def samples(self, kind: str) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
        """The samples of one ``kind`` in :attr:`series` by ``id``: times in ps, ascending, and values.

        The ids are in the order of texts; none where nothing of this kind was sampled.
        """
        table = self.series
        here = table["kind"] == kind
        ids, which = np.unique(table["id"][here], return_inverse=True)
        time, value = table["time_ps"][here], table["value"][here]
        order = np.lexsort((time, which))
        parts = np.split(order, np.searchsorted(which[order], np.arange(1, len(ids))))
        return {str(name): (time[own], value[own]) for name, own in zip(ids, parts, strict=False)}

    @cached_property
    def packets(self) -> Columns:
        """What ports did with packets, columns as in ``packets.csv``; no rows where it was not recorded.

        A flow, a number or an ACK that does not exist is -1, an arrival 0; ``.masked(name)`` leaves them out.
        """
        records = read_packets(self.path / "packets.bin", complete=self.status in ENDED)
        asked = self.summary.get("packets")
        if asked and self.status in ENDED and asked["rows"] != len(records):
            problem = f"holds {len(records)} packets, and summary.json says {asked['rows']}"
            raise ResultsError(self.path / "packets.bin", problem)
        names = {"event": PACKET_EVENTS, "kind": PACKET_KINDS}
        for field, known in names.items():
            if len(records) and int(records[field].max()) >= len(known):
                problem = f"{field} {int(records[field].max())} is not 0 to {len(known) - 1}"
                raise ResultsError(self.path / "packets.bin", problem)
        return Columns("packets", {name: records[name] for name in _TABLES["packets"]}, names, _ABSENT["packets"])

    def _table(self, name: str) -> Columns:
        path = self.path / f"{name}.csv"
        complete, needed, absent = self.status in ENDED, name in self._written, _ABSENT[name]
        found = read_csv(path, _TABLES[name], complete=complete, needed=needed, absent=absent)
        return Columns(name, found, {}, absent)

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        """Flows that count: started, created inside the measuring window, of :attr:`group`; shape ``(flows.rows,)``."""
        # Connections are in the stream of flows and are none.
        return self._measured[self._records["status"] > 0] if self._has_connections else self._measured

    @cached_property
    def _measured(self) -> NDArray[np.bool_]:
        window = self.summary["measure"]
        start = self._records["start_ps"]
        inside = (self._records["status"] > 0) & (start >= int(window.get("warmup_ps") or 0))
        if self.group is not None:
            inside &= self._records["group"] == self.summary["groups"].index(self.group)
        end = window.get("end_ps")
        return inside if end is None else inside & (start < int(end))

    def fct(self, side: Side = "sender") -> Sample:
        """FCT in ps of the measured flows: to the last acknowledgement (sender) or the last byte (receiver).

        Flows that did not finish are censored: at their age when their transport gave them up, else when the run ended.
        Over UDP a flow that lost datagrams has an FCT at the sender all the same; at the receiver it counts as failed.
        """
        if side not in SIDES:
            raise ValueError(f"side must be 'sender' or 'receiver', got {side!r}")
        r = self._records[self._measured]
        failed = r["status"] == FAILED
        fct = np.where(failed, 0, r[f"fct_{side}_ps"]).astype(float)
        censored = fct == 0
        if side == "receiver":
            # Datagrams that were lost will never arrive, however long the run goes on.
            failed = failed | (censored & (r["status"] == FINISHED) & (r["lost_packets"] > 0))
        until = np.where(failed, r["fct_sender_ps"], np.maximum(self.simulated_ps - r["start_ps"].astype(float), 0.0))
        value = np.where(censored, until, fct)
        partial = self.status == "running"
        return Sample(r["size_bytes"].astype(np.int64), value, censored, failed, partial=partial)

    def slowdown(self, baseline: Baseline = "line_rate", side: Side = "sender") -> Sample:
        """Slowdown of the measured flows: FCT divided by the ideal FCT of the same kind.

        ``line_rate`` is the exact store-and-forward time in an empty network, at the sender or the receiver. ``hpcc``
        is the standalone FCT of the HPCC reference, of the sender's kind only, floored at 1 as its scripts do.
        ``alone`` is the FCT of the same flow simulated alone, same stack and path; on first use that is done and kept
        in the folder (:mod:`paceline.results.alone`), which takes about as long as the run. A censored flow enters
        with its age. Raises ``ValueError`` for an unknown baseline, or a side it does not have, and
        :class:`ResultsError` when a measured flow has no ideal FCT; for ``alone`` also what
        :func:`paceline.results.alone.simulate` raises.
        """
        if baseline not in BASELINES:
            raise ValueError(f"baseline must be 'line_rate', 'hpcc' or 'alone', got {baseline!r}")
        if baseline == "hpcc" and side != "sender":
            raise ValueError("baseline 'hpcc' is defined for the sender's FCT only")
        fct = self.fct(side)
        if baseline == "alone":
            column = f"fct_{side}_ps"
            ideal = alone.load(self.path, len(self._records))[column][self._measured].astype(float)
        else:
            column = "ideal_hpcc_ps" if baseline == "hpcc" else f"ideal_{side}_ps"
            ideal = self._records[column][self._measured].astype(float)
        if np.any(ideal == 0):
            flow = int(np.flatnonzero(self._measured)[np.argmax(ideal == 0)])
            file = "alone.bin" if baseline == "alone" else "flows.bin"
            raise ResultsError(self.path / file, f"flow {flow} has no {column}")
        value = fct.value / ideal
        # No flow beats its ideal (alone: by more than rounding): 1 also bounds a censored flow younger than that.
        floored = np.ones(len(value), dtype=bool) if baseline == "hpcc" else fct.censored
        value = np.where(floored, np.maximum(value, 1.0), value)
        return replace(fct, value=value)

    def measured_codes(self, name: Literal["scheme", "group", "class"]) -> NDArray[Any]:
        """Index of the scheme or group, or the class, of each measured flow; aligned with :meth:`slowdown`."""
        codes: NDArray[Any] = self._records[name][self._measured]
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

    def flow_counts(self, side: Side = "sender") -> dict[str, int]:
        """Flows by status, over the whole run and straight from the records.

        At the receiver a flow is finished when its last byte has come, and one over UDP that lost datagrams has failed,
        as for :meth:`fct`.
        """
        status = self._records["status"]
        if side == "receiver":
            arrived, begun = self._records["fct_receiver_ps"] > 0, (status == RUNNING) | (status == FINISHED)
            lost = (status == FINISHED) & (self._records["lost_packets"] > 0)
            status = np.where(begun, np.where(arrived, FINISHED, np.where(lost, FAILED, RUNNING)), status)
        found = np.bincount(status, minlength=len(STATUS))
        if self._has_connections:
            found[0] = 0
        return {name: int(found[i]) for i, name in enumerate(STATUS)}

    def _facts(self) -> list[tuple[str, str]]:
        counts = self.flow_counts(self.default_side())
        facts = [
            ("run", self.name),
            ("status", self.status_text),
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


def tier_names(links: Columns) -> dict[int, str]:
    """Nodes by number, as the engine calls them where they have no names: the tier, and the number in it."""
    tier = {int(n): str(t).partition("->")[0] for n, t in zip(links["node"], links["tier"], strict=True)}
    count: dict[str, int] = {}
    found = {}
    for node in sorted(tier):
        number = count.setdefault(tier[node], 0)
        found[node] = f"{tier[node]}{number}"
        count[tier[node]] += 1
    return found


def _reopened(folder: Path | TemporaryFolder, group: str | None) -> Results:
    """Results that were pickled. Raises :class:`ResultsError` where their folder is not there."""
    results = Results.load(folder)
    return results if group is None else results.of_group(group)


def _agree(path: Path, summary: dict[str, Any], flows: int) -> None:
    """Raises :class:`ResultsError` where the records of a run that ended are not as many as its summary says."""
    asked = summary.get("queries")
    # A connection has a record, which is none of a flow, for either direction.
    wanted = summary["flows"]["total"] + (2 * asked["connections"] if asked else 0)
    if flows != wanted:
        raise ResultsError(path / "flows.bin", f"holds {flows} records, and by summary.json there are {wanted}")
    if asked:
        file = path / "queries.bin"
        held = count_queries(file)
        if held != asked["issued"]:
            problem = "is missing" if held is None else f"holds {held} queries"
            raise ResultsError(file, f"{problem}, and summary.json says {asked['issued']}")
