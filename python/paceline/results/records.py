"""Records of fixed width: ``flows.bin``, ``queries.bin`` and ``packets.bin``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline.errors import ResultsError
from paceline.results.checked import read_header

STATUS = ("not_started", "running", "finished", "failed")
RUNNING, FINISHED, FAILED = 1, 2, 3

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


PACKET_EVENTS = ("trimmed", "sent", "dropped_buffer", "dropped_wire", "dropped_link_down", "dropped_credit")
PACKET_KINDS = (
    *("data", "ack", "nack", "control", "control", "notification", "pause", "resume"),
    *("data", "ack", "nack", "pull", "grant", "resend", "busy", "need_ack", "done", "probe", "probe_ack"),
    *("credit_request", "credit", "credit_stop", "datagram"),
)
"""Those of frames, then those of message transports, in the engine's order."""

_PACKET_MAGIC = b"PACELPKT"
PACKET_RECORD = np.dtype(
    [
        ("time_ps", "<u8"),
        ("arrival_ps", "<u8"),
        ("flow_id", "<i8"),
        ("seq", "<i8"),
        ("ack", "<i8"),
        ("node", "<u4"),
        ("peer", "<u4"),
        ("queue_bytes", "<u4"),
        ("port", "<u2"),
        ("size_bytes", "<u2"),
        ("event", "<u1"),
        ("kind", "<u1"),
        ("class", "<u1"),
        ("marked", "<u1"),
        ("spare", "<u4"),
    ]
)
"""One record of ``packets.bin``, in order of time. What does not exist is -1, an arrival 0."""


def count_queries(path: Path) -> int | None:
    """How many records ``queries.bin`` has room for, half a one not counted; ``None`` without such a file."""
    return max(path.stat().st_size // QUERY_RECORD.itemsize - 1, 0) if path.is_file() else None


def read_queries(path: Path, *, complete: bool) -> NDArray[Any]:
    """The records of ``queries.bin``; half a last one is left out, a missing file is a table without rows.

    Of a run that is not ``complete`` so is one cut short within its header. Raises :class:`ResultsError` for a file
    that cannot be read, or is none of version 1.
    """
    return _read_records(path, QUERY_RECORD, _QUERY_MAGIC, "query", complete=complete)


def read_packets(path: Path, *, complete: bool) -> NDArray[Any]:
    """The records of ``packets.bin``, as :func:`read_queries` reads those of queries."""
    return _read_records(path, PACKET_RECORD, _PACKET_MAGIC, "packet", complete=complete)


def _read_records(path: Path, record: np.dtype[Any], magic: bytes, name: str, *, complete: bool) -> NDArray[Any]:
    """A read-only memory map of a file of records behind a header as long as one."""
    empty, size = np.zeros(0, dtype=record), record.itemsize
    try:
        if not path.is_file():
            return empty
    except OSError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror})") from error
    header, length = read_header(path, size)
    if length < size and not complete:
        return empty
    if header[:8] != magic or header[8:16] != (1).to_bytes(4, "little") + size.to_bytes(4, "little"):
        raise ResultsError(path, f"is no {name} file of version 1")
    count = (length - size) // size
    return np.memmap(path, record, "r", size, (count,)) if count else empty


def read_flows(path: Path, *, complete: bool) -> NDArray[Any]:
    """The records of ``flows.bin`` as a read-only memory map of :data:`FLOW_RECORD`.

    Of a run that is not ``complete`` half a last one is left out, and a missing file, or one cut short within its
    header, is a table without rows. Raises :class:`ResultsError` for a file that cannot be read, is none of version 1,
    or does not hold as many records as its header says.
    """
    empty = np.zeros(0, dtype=FLOW_RECORD)
    if not complete and not path.exists():
        return empty  # killed before its first flow
    header, size = read_header(path, _HEADER_BYTES)
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
