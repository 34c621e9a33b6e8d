"""What a sweep measured, as one tidy table: ``sweep.csv``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paceline import files, queries
from paceline.analysis import Sample, percentiles, queue_percentile
from paceline.results import Side, parquet
from paceline.results.queue_levels import fullest
from paceline.sweeps.points import Run, Runs
from paceline.tables import is_sampled

_COUNTERS = (
    *("data_hops", "drops_buffer", "drops_wire", "marks", "pause_frames"),
    *("retransmitted_packets", "timeouts", "max_buffer_bytes"),
)


def tidy(runs: Runs, group: str | None = None) -> list[dict[str, Any]]:
    """One row per run: what was varied, the seed, and the quantities most sweeps are made for.

    FCTs, in ps, and slowdowns, over the ideal at line rate, are those of all measured flows, at the sender, or at the
    receiver where any run has flows over UDP, whose senders know nothing of what becomes of them. ``None``
    where there is no flow, and where flows that did not finish could still raise the value: a cell holds no mark
    that says "at least", and whoever plots the column would take an age for a time. ``measured`` and
    ``measured_unfinished`` (given up, too) say how many flows are behind the values. With ``group`` they are those
    of one workload group, without it those of all groups and schemes together; counters and queues are of the whole
    run in any case. Queues are those of the busiest switch port, as in reports the one with the largest mean, over
    the whole run; where ports are not told apart, of the busiest tier. ``None`` where the run kept no histograms,
    and no percentile where several classes waited at that port: each has a histogram of its own, from which none of
    the port follows.

    Where any run has queries, or message-passing programs, columns of theirs follow; QCTs as FCTs. Of several programs
    the longest run time and the largest slowdown. A run whose folder is not there has ``status`` "failed" and nothing
    else. All rows have the same columns.

    Raises :class:`ValueError` for a group that a run does not have, and for points whose keys have the name of one of
    these columns.
    """
    # One after the other: each holds files open, and sweeps have thousands.
    sides = (run.results().default_side() for run in runs if run.folder.is_dir())
    side: Side = "receiver" if "receiver" in sides else "sender"
    rows = [_row(run, group, side) for run in runs]
    columns = dict.fromkeys(name for row in rows for name in row if name != "folder")
    return [{name: row.get(name) for name in (*columns, "folder")} for row in rows]


def _row(run: Run, group: str | None, side: Side) -> dict[str, Any]:
    found = _found(run, group, side) if run.folder.is_dir() else {"seed": run.point.seed, "status": "failed"}
    taken = [name for name in run.point.key if name in found]
    if taken:
        raise ValueError(f"points have a key `{taken[0]}`, which is a column of what was found; allowed: another name")
    return {**run.point.key, **found}


def _found(run: Run, group: str | None, side: Side) -> dict[str, Any]:
    results = run.results() if group is None else run.results().of_group(group)
    row: dict[str, Any] = {"seed": run.point.seed, "status": results.status, "simulated_ps": results.simulated_ps}
    flows = results.summary["flows"]
    if side == "receiver":
        counts = results.flow_counts(side)
        flows = {**flows, "finished": counts["finished"], "failed": counts["failed"], "unfinished": counts["running"]}
    row |= {f"flows_{name}": flows[name] for name in ("total", "finished", "failed", "unfinished")}
    times = results.fct(side)
    row |= {"measured": len(times), "measured_unfinished": int(times.censored.sum())}
    row |= _times("fct", times, "_ps") | _times("slowdown", results.slowdown(side=side))
    row |= {name: results.summary["counters"][name] for name in _COUNTERS}
    if not is_sampled(results.summary):
        row["max_buffer_bytes"] = None
    queue = fullest(results)
    p99 = queue_percentile(queue.busiest, 99)[1] if queue and not queue.which else math.nan
    row |= {
        "queue_mean_bytes": queue.mean_bytes if queue else None,
        "queue_p99_bytes": None if math.isnan(p99) else p99,
    }
    asked = queries.together(results)
    if asked is not None:
        row |= {"queries_measured": len(asked.qct), "queries_measured_unanswered": int(asked.qct.censored.sum())}
        row |= {"queries_answered_per_s": asked.per_second}
        row |= _times("qct", asked.qct, "_ps") | _times("query_slowdown", asked.slowdown)
    programs = results.summary.get("mpi", [])
    if programs:
        row |= {"programs": len(programs), "programs_unfinished": sum(p["runtime_ps"] is None for p in programs)}
        row |= {f"program_{name}": _largest([p[name] for p in programs]) for name in ("runtime_ps", "slowdown")}
    row["folder"] = str(run.folder)
    return row


def _times(name: str, sample: Sample, unit: str = "") -> dict[str, float | None]:
    known = len(sample) and not sample.censored.any()
    row: dict[str, float | None] = {f"{name}_mean{unit}": float(sample.value.mean()) if known else None}
    for q, found in zip((50, 95, 99), percentiles(sample, (50.0, 95.0, 99.0)), strict=True):
        row[f"{name}_p{q}{unit}"] = found.value if found.count and not found.at_least else None
    return row


def _largest(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return max(known) if len(known) == len(values) else None


def write_table(rows: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Writes ``sweep.csv`` and, with pyarrow, ``sweep.parquet``; returns the files."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "sweep.csv"]
    files.write(written[0], text.getvalue())
    if not parquet.available():
        (folder / "sweep.parquet").unlink(missing_ok=True)  # of an earlier sweep
    else:
        import pyarrow as pa
        from pyarrow import parquet as tables

        written.append(folder / "sweep.parquet")
        with files.replacing(written[1]) as part:
            tables.write_table(pa.Table.from_pylist(list(rows)), part)
    return written
