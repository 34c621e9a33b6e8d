"""A run as a timeline that Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) open.

The format is the Trace Event Format of Chrome, as JSON: a *process* per host, with what its flows, its queries and the
ranks on it did as slices, and for what was sampled a *counter* that changes at each sample. Times are microseconds in
that format; they are written with all digits, so that nothing is rounded. Packets that were recorded one by one are
slices on their links, for as long as they are sent.
"""

from __future__ import annotations

import gzip
import heapq
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paceline import _native
from paceline.errors import ResultsError
from paceline.files import check_folder, check_new, replaceable, replacing
from paceline.formats import format_bytes
from paceline.results import Columns, Results
from paceline.units import PICOSECONDS, quantity

FILE = "timeline.json.gz"
"""Name in a result folder; a new run into the folder removes it."""
HEAD = '{"displayTimeUnit":"ns","traceEvents":['
"""Begins every timeline, by which it is known for one of ours."""

MOST_FLOWS = 20_000
"""Flows shown unless told otherwise: viewers become slow with many more."""

MOST_PACKETS = 200_000
"""Recorded packets shown, the first ones."""

_RUN = 1
"""The process of what concerns the whole run. (Viewers take 0 for the idle process.)"""
_HOST_0 = 2
"""The process of host 0; the others follow."""
_LINKS = 1 << 29
"""The process of the links whose packets were recorded."""
_PORTS = 1 << 30
"""The process of the ports of switches."""
_COUNTERS: Mapping[str, tuple[str, int]] = {
    # By kind of sample: what the counter is called, and what a sample is divided by.
    "queue_bytes": ("waiting (B)", 1),
    "rate_bps": ("permitted rate (Gb/s)", 10**9),
    "cwnd_bytes": ("window (B)", 1),
    "acked_bytes": ("acknowledged (B)", 1),
    "received_bytes": ("received (B)", 1),
    "active_flows": ("flows under way", 1),
    "finished_flows": ("flows finished", 1),
}
_OF_FLOWS = ("rate_bps", "cwnd_bytes", "acked_bytes", "received_bytes")
"""Kinds of samples of flows."""
_SPREAD: Mapping[str, str] = {
    "paused_links": "paused links",
    "paused_hosts": "paused hosts",
    "trees": "trees of paused links",
    "depth": "longest chain of paused links",
}
"""Columns of ``saturation.csv`` that become counters, and how these are called."""


@dataclass(frozen=True)
class Written:
    """What a timeline holds."""

    file: Path
    flows: int
    queries: int
    left_out: int
    """Flows and queries that are not in it: others took longer."""
    ranks: int
    counters: int
    packets: int
    packets_left_out: int
    """Recorded packets that are not in it: others were sent before."""


class _Slice(NamedTuple):
    """Something that took its time."""

    start_ps: int
    end_ps: int
    name: str
    kind: str
    details: Mapping[str, Any]


def write_timeline(results: Results, out: Path | None = None, *, most_flows: int = MOST_FLOWS) -> Written:
    """Writes the timeline of a run, whole or not at all.

    ``out`` is ``timeline.json.gz`` in the result folder unless given; one whose name ends in ``.gz`` is compressed.
    Of more than ``most_flows`` flows, and as many queries, those that took longest are shown. Flows end when they are
    done at :meth:`paceline.results.Results.default_side`; those under way end with the run. Raises
    InputError for an ``out`` that is not called as timelines are, is there and none, or cannot be written, before any
    table is read; :class:`ResultsError` when one is malformed, and ``OSError`` when writing fails.
    """
    if out is None:
        target = results.path / FILE
        check_folder("folders", results.path)
    else:
        target = out
        _check_out(out)
    results.read_all()
    lanes: dict[int, list[tuple[str, list[_Slice]]]] = {}
    flows, left_out = _flows(results, most_flows)
    queries, others_left_out = _queries(results, most_flows)
    ranks = _ranks(results)
    packets, packets_left_out = _packets(results)
    for title, slices in (("flows", flows), ("queries", queries), ("ranks", ranks)):
        for host, of_host in sorted(slices.items()):
            lanes.setdefault(host, []).append((title, of_host))
    counters: set[tuple[int, str]] = set()
    with ExitStack() as stack:
        part = stack.enter_context(replacing(target))
        raw = stack.enter_context(part.open("wb"))
        if target.suffix == ".gz":
            # Neither name nor time in it: equal runs give equal bytes.
            packed = stack.enter_context(gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0))
            lines = _Lines(stack.enter_context(io.TextIOWrapper(packed, encoding="utf-8")))
        else:
            lines = _Lines(stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8")))
        lines.process(_RUN, f"run {results.name}")
        for host, groups in sorted(lanes.items()):
            lines.process(_HOST_0 + host, _host(results, host))
            thread = 1
            for title, slices_of_host in groups:
                thread = lines.slices(_HOST_0 + host, thread, title, slices_of_host)
        thread = 1
        for link, slices_of_link in packets.items():
            lines.process(_LINKS, "links")
            thread = lines.slices(_LINKS, thread, link, slices_of_link)
        for process, counter, time_ps, value in _samples(results):
            lines.process(process, "switch ports" if process == _PORTS else _host(results, process - _HOST_0))
            counters.add((process, counter))
            lines.counter(process, counter, time_ps, value)
        lines.end()
    shown = [sum(map(len, of.values())) for of in (flows, queries, ranks, packets)]
    return Written(
        target,
        flows=shown[0],
        queries=shown[1],
        left_out=left_out + others_left_out,
        ranks=shown[2],
        counters=len(counters),
        packets=shown[3],
        packets_left_out=packets_left_out,
    )


class _Lines:
    """Writes events, one a line."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        out.write(HEAD)
        self._comma = "\n"
        self._named: set[int] = set()

    def _event(self, fixed: Mapping[str, Any], times: str = "") -> None:
        text = json.dumps(fixed, separators=(",", ":"))
        self._out.write(f"{self._comma}{text[:-1]}{times}}}")
        self._comma = ",\n"

    def process(self, process: int, name: str) -> None:
        """A process by its name, unless it has one; they are shown in the order of their numbers."""
        if process in self._named:
            return
        self._named.add(process)
        for event, said in (("process_name", {"name": name}), ("process_sort_index", {"sort_index": process})):
            self._event({"ph": "M", "pid": process, "name": event, "args": said})

    def slices(self, process: int, thread: int, title: str, slices: list[_Slice]) -> int:
        """Slices of a process, on as many threads from ``thread`` on as are needed. Returns the next thread."""
        # (end, thread) of those that are in use; slices of one thread may not overlap, they would be drawn as nested.
        busy: list[tuple[int, int]] = []
        first = thread
        for one in sorted(slices, key=lambda one: one.start_ps):
            if busy and busy[0][0] <= one.start_ps:
                on = heapq.heappop(busy)[1]
            else:
                on, thread = thread, thread + 1
                names = {"name": title if on == first else f"{title} {on - first + 1}"}
                for event, said in (("thread_name", names), ("thread_sort_index", {"sort_index": on})):
                    self._event({"ph": "M", "pid": process, "tid": on, "name": event, "args": said})
            heapq.heappush(busy, (one.end_ps, on))
            whole = {"ph": "X", "pid": process, "tid": on, "name": one.name, "cat": one.kind, "args": one.details}
            self._event(whole, f',"ts":{_us(one.start_ps)},"dur":{_us(one.end_ps - one.start_ps)}')
        return thread

    def counter(self, process: int, name: str, time_ps: int, value: float) -> None:
        """A counter has this value from an instant on."""
        self._event({"ph": "C", "pid": process, "name": name, "args": {"value": value}}, f',"ts":{_us(time_ps)}')

    def end(self) -> None:
        """No more events."""
        self._out.write("\n]}\n")


def _host(results: Results, host: int) -> str:
    name = results.graph_names.get(host)
    return f"host {host}" if name is None else f"host {host}, {name}"


def _called(results: Results, host: int) -> str:
    return results.graph_names.get(host, f"host {host}")


def _us(time_ps: int) -> str:
    return f"{time_ps // 1_000_000}.{time_ps % 1_000_000:06d}"


def _longest(start: NDArray[Any], end: NDArray[Any], most: int) -> NDArray[Any]:
    """Places of the ``most`` that took longest, of equal ones the first, in their own order."""
    order = np.argsort(-(end - start), kind="stable")
    return np.sort(order[:most])


def _rows(table: Columns, places: NDArray[Any] | None = None) -> Iterator[dict[str, Any]]:
    """Rows of a table, or those at the places, without what does not exist."""
    chosen = slice(None) if places is None else places
    columns = [table.masked(name)[chosen].tolist() for name in table]
    for row in zip(*columns, strict=True):
        yield {name: value for name, value in zip(table, row, strict=True) if value is not None}


def _check_out(out: Path) -> None:
    """Refuses what would replace a file that is no timeline, or would not be known for one."""
    if not out.name.endswith((".json", ".json.gz")):
        allowed = "a file that ends in .json or .json.gz"
        raise _native.input_error("not the name of a timeline", field="out", value=str(out), allowed=allowed)
    check_new(out, force=True, field="out")
    replaceable.check_timeline(out, HEAD)


def _flows(results: Results, most: int) -> tuple[dict[int, list[_Slice]], int]:
    """Flows by the host that sends, and how many are left out."""
    side = results.default_side()
    table = results.flows
    table = table.where(table["status"] != "not_started")
    start = table["start_ps"].astype(np.int64)
    fct, failed, sent = (
        table[name].astype(np.int64) for name in (f"fct_{side}_ps", "failed_after_ps", "fct_sender_ps")
    )
    # Datagrams that were lost never arrive: their flow has failed with the last one that left, as in reports.
    lost = (fct == 0) & (table["status"] == "finished") & (table["lost_packets"] > 0)
    failed = np.where(lost, sent, failed)
    end = start + np.where(fct > 0, fct, np.where(failed > 0, failed, np.maximum(results.simulated_ps - start, 0)))
    places = _longest(start, end, most)
    found: dict[int, list[_Slice]] = {}
    for flow, ends in zip(_rows(table, places), end[places].tolist(), strict=True):
        took, ideal = flow.get(f"fct_{side}_ps"), flow[f"ideal_{side}_ps"]
        if took and ideal:
            flow["slowdown"] = took / ideal
        status = "" if flow["status"] == "finished" else f" ({flow['status']})"
        status = status or ("" if took or not flow["lost_packets"] else " (datagrams lost)")
        name = f"{format_bytes(flow['size_bytes'])} to {_called(results, flow['dst'])}{status}"
        found.setdefault(flow.pop("src"), []).append(_Slice(flow["start_ps"], ends, name, flow["scheme"], flow))
    return found, table.rows - len(places)


def _queries(results: Results, most: int) -> tuple[dict[int, list[_Slice]], int]:
    """Queries by the host that asks, and how many are left out."""
    table = results.queries
    start, qct = (table[name].astype(np.int64) for name in ("start_ps", "qct_ps"))
    end = start + np.where(qct > 0, qct, np.maximum(results.simulated_ps - start, 0))
    places = _longest(start, end, most)
    found: dict[int, list[_Slice]] = {}
    for query, ends in zip(_rows(table, places), end[places].tolist(), strict=True):
        if "qct_ps" in query and query["ideal_qct_ps"]:
            query["slowdown"] = query["qct_ps"] / query["ideal_qct_ps"]
        name = f"query to {_called(results, query['server'])}" + ("" if "qct_ps" in query else " (not answered)")
        found.setdefault(query.pop("client"), []).append(_Slice(query["start_ps"], ends, name, query["scheme"], query))
    return found, table.rows - len(places)


def _ranks(results: Results) -> dict[int, list[_Slice]]:
    """Ranks of programs by the host that they are on."""
    found: dict[int, list[_Slice]] = {}
    for rank in _rows(results.ranks):
        if "start_ps" not in rank:  # the run ended before its program began
            continue
        runtime = rank.get("runtime_ps")
        end = max(results.simulated_ps, rank["start_ps"]) if runtime is None else rank["start_ps"] + runtime
        name = f"{rank['group']} rank {rank['rank']}" + (" (not through)" if runtime is None else "")
        found.setdefault(rank.pop("host"), []).append(_Slice(rank["start_ps"], end, name, "rank", rank))
    return found


def _packets(results: Results) -> tuple[dict[str, list[_Slice]], int]:
    """Recorded packets by their links, and how many are left out; what was lost or trimmed took no time."""
    shown = np.zeros(results.packets.rows, dtype=bool)
    shown[:MOST_PACKETS] = True
    # Before columns are made into texts: there may be very many.
    table = results.packets.where(shown)
    links = (results.links[name].tolist() for name in ("node", "port", "delay_ps"))
    delays = {(node, port): delay for node, port, delay in zip(*links, strict=True)}
    reaction = _reaction_ps(results)
    found: dict[str, list[_Slice]] = {}
    for packet in _rows(table):
        node, port, peer, start, event = (packet.pop(k) for k in ("node", "port", "peer", "time_ps", "event"))
        end = start
        if "arrival_ps" in packet:
            # Without a table of links it is as long as until it has arrived.
            end = packet["arrival_ps"] - delays.get((node, port), 0)
            # That of a PFC frame is when it takes effect.
            end -= reaction if packet["kind"] in ("pause", "resume") else 0
        number = packet.get("ack" if packet["kind"] in ("ack", "nack") else "seq")
        name = packet["kind"] if number is None else f"{packet['kind']} {number}"
        name += f" of flow {packet['flow_id']}" if "flow_id" in packet else ""
        name = name if event == "sent" else f"{event.replace('_', ' ')}: {name}"
        link = " → ".join(results.graph_names.get(end_of, str(end_of)) for end_of in (node, peer))
        found.setdefault(f"{link}, port {port}", []).append(_Slice(start, max(end, start), name, event, packet))
    return found, len(shown) - table.rows


def _reaction_ps(results: Results) -> int:
    """``switch.pfc.reaction`` of the scenario, in ps; 0 where the folder does not say."""
    try:
        text = (results.scenario or {})["switch"]["pfc"]["reaction"]
        return round(quantity(text, PICOSECONDS) or 0)
    except (KeyError, TypeError, AttributeError, OverflowError):
        return 0  # somebody has written to it


def _samples(results: Results) -> Iterator[tuple[int, str, int, float]]:
    """Samples as (process, counter, time, value); those that repeat the value before are left out."""
    series = results.series
    sources = {}
    if any(kind in _OF_FLOWS for kind in set(series["kind"].tolist())):
        sources = dict(zip(results.flows["flow_id"].tolist(), results.flows["src"].tolist(), strict=True))
    rows = zip(*(series[name].tolist() for name in ("time_ps", "kind", "id", "value")), strict=True)
    yield from _changes(_named(results, rows, sources))
    spread = results.saturation
    for column, name in _SPREAD.items():
        rows = zip(spread["time_ps"].tolist(), spread[column].tolist(), strict=True)
        yield from _changes((_RUN, name, time_ps, value) for time_ps, value in rows)


def _named(
    results: Results, rows: Iterable[tuple[int, str, str, float]], sources: Mapping[int, int]
) -> Iterator[tuple[int, str, int, float]]:
    names = results.graph_names
    # The two directions of a connection have numbers among the flows, and no row that says where they are.
    asked = results.summary.get("queries")
    numbered = results.flows.rows + 2 * asked["connections"] if asked else 0
    for time_ps, kind, of, value in rows:
        what, unit = _COUNTERS.get(kind, (kind, 1))
        if kind == "queue_bytes":
            number = of.partition(":")[0]
            node = names.get(int(number)) if number.isdecimal() else None
            process, name = _PORTS, f"{of} {what}" if node is None else f"{of}, {node}, {what}"
        elif of:
            source = sources.get(int(of)) if of.isdecimal() else None
            is_connection = source is None and of.isdecimal() and int(of) < numbered
            if source is None and not is_connection:
                raise ResultsError(results.path / "series.csv", f"{kind} of flow {of}, which the run does not have")
            process, name = _RUN if source is None else _HOST_0 + source, f"flow {of} {what}"
        else:
            process, name = _RUN, what
        yield process, name, time_ps, value / unit if unit > 1 else value


def _changes(samples: Iterable[tuple[int, str, int, float]]) -> Iterator[tuple[int, str, int, float]]:
    """Leaves out samples that repeat the value before."""
    last: dict[tuple[int, str], float] = {}
    for sample in samples:
        key = sample[:2]
        if last.get(key) != sample[3]:
            last[key] = sample[3]
            yield sample
