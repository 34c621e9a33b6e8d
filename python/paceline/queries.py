"""Queries and responses: completion times, slowdowns and rates, by group.

A query counts when it was issued inside the run's measuring window. One without response when the run ended is
censored: it enters with its age. The rate of a group is the queries answered inside the window, per second of it; what
is answered at the instant the run ends is inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from paceline import analysis
from paceline.analysis import Sample
from paceline.formats import clean_labels, format_bytes, format_number, format_time
from paceline.results import Results
from paceline.tables import QS, Cell, Table, enough, percentile_table, run_labels, slowdown_cell, with_bounds


@dataclass(frozen=True)
class Group:
    """The measured queries of one group of a run."""

    label: str
    qct: Sample
    """Query completion times, ps."""
    slowdown: Sample
    """QCT over the least possible one."""
    per_second: float
    """Queries answered per second."""


def groups(run: Results, label: str = "") -> Iterator[Group]:
    """The groups of a run that issued queries, in the order of the scenario; ``label`` goes before their names.

    Raises :class:`paceline.errors.ResultsError` when ``queries.csv`` is malformed.
    """
    names = run.queries["group"]
    for name in run.summary["groups"]:
        own = names == name
        if own.any() and run.group in (None, name):
            yield _group(run, own, f"{label}: {name}" if label else name)


def together(run: Results) -> Group | None:
    """All queries of a run, whatever their groups; None where there are none. Raises as :func:`groups` does."""
    own = np.ones(run.queries.rows, dtype=bool) if run.group is None else run.queries["group"] == run.group
    return _group(run, own, "all") if own.any() else None


def _group(run: Results, own: NDArray[np.bool_], label: str) -> Group:
    q = run.queries
    window = run.summary["measure"]
    begin = int(window.get("warmup_ps") or 0)
    end = min(int(window.get("end_ps") or run.simulated_ps), run.simulated_ps)
    start, qct, ideal = (q[name].astype(float) for name in ("start_ps", "qct_ps", "ideal_qct_ps"))
    answered = qct > 0
    value = np.where(answered, qct, np.maximum(run.simulated_ps - start, 0.0))
    mask = own & (start >= begin) & (start < end)
    at = start + qct
    done = own & answered & (at >= begin) & ((at <= end) if end == run.simulated_ps else (at < end))
    # A killed run has told nothing of its open queries, so that those it has told of are the quick ones.
    size, open_ = q["size_bytes"][mask].astype(np.int64), ~answered[mask] | (run.status == "running")
    failed = np.zeros(len(size), dtype=bool)
    times = Sample(size, value[mask], open_, failed)
    ratio = Sample(size, np.maximum(value[mask] / np.maximum(ideal[mask], 1.0), 1.0), open_, failed)
    return Group(label, times, ratio, float(done.sum()) / (max(end - begin, 1) * 1e-12))


def all_groups(runs: Sequence[Results]) -> list[Group]:
    """The groups of several runs, all with labels of their own."""
    several, labels = len(runs) > 1, run_labels(runs)
    found = [g for run, label in zip(runs, labels, strict=True) for g in groups(run, label if several else "")]
    return [replace(g, label=label) for g, label in zip(found, clean_labels(g.label for g in found), strict=True)]


def tables(found: Sequence[Group]) -> list[Table]:
    """Rates, completion times and slowdowns by group, and slowdowns by query size."""
    rows = []
    for g in found:
        times = [_time(p, q) for p, q in zip(analysis.percentiles(g.qct, QS), QS, strict=True)]
        ratios = [slowdown_cell(p, q) for p, q in zip(analysis.percentiles(g.slowdown, QS), QS, strict=True)]
        # Ages are the least that queries without a response take, so that a mean with them is one, too.
        least = "≥ " if g.qct.censored.any() else ""
        mean_qct = f"{least}{format_time(float(g.qct.value.mean()), all_digits=True)}" if len(g.qct) else "–"
        cells = (Cell(format_number(g.per_second)), Cell(f"{len(g.qct):,}"), Cell(mean_qct), *times, *ratios)
        rows.append((Cell(g.label), *cells))
    quantiles = [f"p{q:g}" for q in QS]
    head = ("Group", "Answered/s", "Queries", "Mean QCT", *(f"{q} QCT" for q in quantiles))
    head += tuple(f"{q} slowdown" for q in quantiles)
    all_of = [analysis.percentiles(g.qct, QS)[0] for g in found]
    made = [percentile_table(with_bounds("Queries by group", rows), head, rows, all_of, "queries")]
    for g in found:
        sizes = np.unique(g.qct.size_bytes)
        if len(sizes) > 1:
            made.append(_by_size(g))
    return made


def _by_size(g: Group) -> Table:
    bins = analysis.bins_from_sizes(g.slowdown.size_bytes, analysis.DECILES)
    rows = []
    parts = []
    index = bins.index(g.slowdown.size_bytes)
    for k, upper in enumerate(bins.upper_bytes):
        found = analysis.percentiles(g.slowdown.where(index == k), QS)
        parts.append(found[0])
        cells = [slowdown_cell(p, q) for p, q in zip(found, QS, strict=True)]
        rows.append((Cell(f"up to {format_bytes(int(upper))}"), Cell(f"{found[0].count:,}"), *cells))
    caption = with_bounds(f"Slowdown of queries by size: {g.label}", rows)
    return percentile_table(caption, ("Query size", "Queries", *(f"p{q:g}" for q in QS)), rows, parts, "queries")


def _time(p: analysis.Percentile, q: float) -> Cell:
    return Cell(("≥ " if p.at_least else "") + format_time(p.value, all_digits=True)) if enough(p, q) else Cell("–")
