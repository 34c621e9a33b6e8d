"""``summary.json``, read and checked: what must be in it, and what may be missing while a run goes on."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from paceline.errors import ResultsError, cut

SCHEMA_VERSION = 1

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
_NULL = type(None)
_PARTS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "mpi": {
        **dict.fromkeys(("group", "scheme"), str),
        **dict.fromkeys(("ranks", "messages", "message_bytes"), int),
        **dict.fromkeys(("runtime_ps", "ideal_ps"), (int, _NULL)),
        "slowdown": (*_NUMBER, _NULL),
    },
    "traffic": {
        "scheme": str,
        **dict.fromkeys(("packets", "frame_bytes", "delivered_bytes", "dropped_packets", "dropped_bytes"), int),
    },
    "failures": {
        **dict.fromkeys(("node", "port", "peer", "peer_port", "down_ps"), int),
        "up_ps": (int, _NULL),
    },
}
_MOST_BYTES = 256 << 20
_ALWAYS = ("schema_version", "name", "status")
ENDED = ("completed", "stopped", "interrupted", "stalled")


def read_summary(path: Path) -> dict[str, Any]:
    """The summary, with what a run that goes on has not written yet as zeros and empty lists.

    Raises :class:`ResultsError` when it is missing, malformed, of another version, or lacks what a run that ended has.
    """
    try:
        summary: dict[str, Any] = json.loads(_read(path), parse_constant=_no_number)
        json.dumps(summary, ensure_ascii=False).encode("utf-8")  # half a surrogate pair is no text
    except FileNotFoundError as error:
        problem = "no result folder, or the run was killed before it began: it has no summary.json"
        raise ResultsError(path.parent, problem) from error
    except OSError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(path, f"is not JSON: {cut(str(error))}") from error
    found = summary.get("schema_version") if isinstance(summary, dict) else None
    if found != SCHEMA_VERSION:
        raise ResultsError(path, f"schema_version is {found!r}; this Paceline reads {SCHEMA_VERSION}")
    ended = summary.get("status") in ENDED
    if not ended and summary.get("status") != "running":
        raise ResultsError(path, f"status is {summary.get('status')!r}; allowed: {', '.join(ENDED)}, running")
    for field, kind in _SUMMARY.items():
        part, _, leaf = field.partition(".")
        holder = summary[part] if leaf else summary
        key = leaf or part
        if key not in holder:
            if ended or field in _ALWAYS:
                raise ResultsError(path, f"{field} is missing")
            holder[key] = (kind if isinstance(kind, type) else int)()
        _check(path, field, holder[key], kind)
    for name, count in summary["counters"].items():
        _check(path, f"counters.{name}", count, _NUMBER)
    for scheme in summary["schemes"]:
        if isinstance(scheme, dict):
            scheme.setdefault("cc", "")
    _check_entries(path, summary, "schemes", {"name": str, "cc": str})
    _check_entries(path, summary, "load", {"tier": str, "offered": _NUMBER, "carried": _NUMBER})
    for i, entry in enumerate(summary["load"]):
        if "direction" not in entry:
            # As earlier versions wrote it: `tor->tor (to higher ids)`.
            entry["tier"], _, direction = entry["tier"].removesuffix(")").partition(" (")
            entry["direction"] = direction or None
        _check(path, f"load[{i}].direction", entry["direction"], (str, _NULL))
    for field in _PARTS:
        _check(path, field, summary.setdefault(field, []), list)
        _check_entries(path, summary, field, _PARTS[field])
    _check_part(path, summary, "queries", ("connections", "connections_failed", "issued", "answered"))
    _check_part(path, summary, "packets", ("rows",))
    for field in ("groups", "warnings", "without_effect", "closed_loop"):
        texts = summary.setdefault(field, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ResultsError(path, f"{field} must be a list of strings")
    for holder, field, kind in (
        (summary["engine"], "threads", int),
        (summary["measure"], "warmup_ps", int),
        (summary["measure"], "end_ps", int),
        (summary, "git", str),
        (summary, "diagnosis", str),
        (summary, "series_interval_ps", int),
    ):
        if holder.setdefault(field, None) is not None:
            _check(path, field, holder[field], kind)
    return summary


def open_file(path: Path) -> BinaryIO:
    """Opens a file of a result folder; ResultsError for a pipe or a device, which could keep us waiting."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ResultsError(path, "is not a file")
    return path.open("rb")


def read_header(path: Path, size: int) -> tuple[bytes, int]:
    """The first ``size`` bytes of a file of a result folder, fewer where it has fewer, and how many it has.

    Raises :class:`ResultsError` when it cannot be read.
    """
    try:
        with open_file(path) as file:
            return file.read(size), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror})") from error


def _read(path: Path) -> bytes:
    with open_file(path) as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ResultsError(path, f"holds more than {_MOST_BYTES} bytes")
    return text


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _check(path: Path, field: str, value: object, kind: type | tuple[type, ...]) -> None:
    """Refuses a value of another type, and a number that no run counts: all of the summary's are 0 or more."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ResultsError(path, f"{field} is {cut(repr(value))}, which is not of the expected type")
    if isinstance(value, int | float) and not (0 <= value < 2**64 and math.isfinite(value)):
        raise ResultsError(path, f"{field} is {cut(repr(value))}, which is not a number from 0 to 2^64")


def _check_part(path: Path, summary: dict[str, Any], field: str, needed: tuple[str, ...]) -> None:
    """Refuses a part that a summary may have where it lacks one of the counts ``needed``."""
    part = summary.get(field)
    if part is None:
        return
    _check(path, field, part, dict)
    for name in needed:
        if name not in part:
            raise ResultsError(path, f"{field}.{name} is missing")
        _check(path, f"{field}.{name}", part[name], int)


def _check_entries(
    path: Path, summary: dict[str, Any], field: str, needed: Mapping[str, type | tuple[type, ...]]
) -> None:
    for i, entry in enumerate(summary.get(field, [])):
        if not isinstance(entry, dict) or not all(k in entry for k in needed):
            raise ResultsError(path, f"{field}[{i}] needs {', '.join(needed)}, got {cut(repr(entry))}")
        for k, kind in needed.items():
            _check(path, f"{field}[{i}].{k}", entry[k], kind)
