"""``summary.json``, read and checked: what must be in it, and what may be missing while a run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paceline.errors import ResultsError

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
_ALWAYS = ("schema_version", "name", "status")
ENDED = ("completed", "stopped", "interrupted", "stalled")


def read_summary(path: Path) -> dict[str, Any]:
    """The summary, with what a run that goes on has not written yet as zeros and empty lists.

    Raises :class:`ResultsError` when it is missing, malformed, of another version, or lacks what a run that ended has.
    """
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
        if not isinstance(holder[key], kind) or isinstance(holder[key], bool):
            raise ResultsError(path, f"{field} is {holder[key]!r}, which is not of the expected type")
    _check_entries(path, summary, "schemes", {"name": str})
    _check_entries(path, summary, "load", {"tier": str, "offered": _NUMBER, "carried": _NUMBER})
    for field in ("groups", "warnings", "without_effect", "closed_loop"):
        texts = summary.setdefault(field, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ResultsError(path, f"{field} must be a list of strings")
    for holder, field, kind in (
        (summary["measure"], "warmup_ps", int),
        (summary["measure"], "end_ps", int),
        (summary, "git", str),
        (summary, "diagnosis", str),
        (summary, "series_interval_ps", int),
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
