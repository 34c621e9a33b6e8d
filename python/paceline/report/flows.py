"""Sections on how long flows, queries and programs took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline import analysis, plot, queries
from paceline.formats import format_bytes, format_time
from paceline.report.page import Page, Section
from paceline.tables import (
    QS,
    Cell,
    Table,
    counted,
    counts_cell,
    datagram_table,
    enough,
    fewer_bins,
    fewest,
    group_tables,
    labels,
    percentile_table,
    slowdown_tables,
    timed,
    with_bounds,
)
from paceline.words import listed

FINE_BINS_FROM = 20_000
"""Flows per curve from which figures use 1 % bins, 200 flows each; with fewer they use deciles."""
FEWEST_BINS = 3
"""Bins from which slowdown is drawn over flow size."""

_BASELINES = {
    "line_rate": "the exact store-and-forward time at line rate in an empty network",
    "hpcc": "the standalone FCT of the HPCC reference, floored at 1",
    "alone": "the FCT of the same flow simulated alone, same stack and path",
}
_SIDES = {"sender": "creation to last acknowledgement", "receiver": "creation to last byte received"}


def _span(page: Page) -> str:
    """From when to when a flow is timed."""
    used = {(s["name"], s.get("cc")) for run in page.runs for s in run.summary["schemes"]}
    names = {run.schemes[int(code)] for run in page.runs for code in np.unique(run.measured_codes("scheme"))}
    schemes = {cc for name, cc in used if name in names} if page.side == "sender" else set()
    said = _SIDES[page.side]
    return said + (", over UDP to the departure of the last datagram" if "udp" in schemes else "")


def _bins(bins: analysis.SizeBins, size_bytes: NDArray[Any], *, fine: bool) -> str:
    """What bins a figure has: fewer than usual where many flows have one size, which is in one bin only."""
    usual, each, parts = (
        (len(analysis.HUNDREDTHS), "1 %", "hundredths") if fine else (len(analysis.DECILES), "10 %", "deciles")
    )
    if len(bins) == usual:
        return f"bins of {each} of the flows"
    return fewer_bins(bins, size_bytes, parts, "all flows")


def _alike(a: Sequence[analysis.Curve], b: Sequence[analysis.Curve]) -> bool:
    """Whether two percentiles of each line are drawn alike, as those of a single flow per bin are."""

    def drawn(curve: analysis.Curve) -> tuple[NDArray[Any], ...]:
        band = np.isfinite(curve.high) & (curve.low > 0)
        return curve.value, curve.at_least, np.where(band, curve.low, np.nan), np.where(band, curve.high, np.nan)

    pairs = [pair for one, other in zip(a, b, strict=True) for pair in zip(drawn(one), drawn(other), strict=True)]
    return all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for one, other in pairs)


def _marks(curves: Sequence[Sequence[analysis.Curve]], *, bands: bool, arrows: bool) -> str:
    """How the figures are to be read: only what they have is explained."""
    known = [one for each in curves for one in each]
    said = [
        "The x axis is linear in the CDF of the flow sizes, as in published figures; each point stands at the upper "
        "edge of its bin."
    ]
    if any(((one.count > 0) & (one.count < plot.MIN_FLOWS)).any() for one in known):
        crosses = any(((one.count > 0) & (one.count < fewest(one.q))).any() for one in known)
        few = ", crosses where they are too few for the percentile: their largest value" if crosses else ""
        said.append(f"Bins of fewer than {plot.MIN_FLOWS} flows are hollow{few}.")
    if bands and any((np.isfinite(one.high) & (one.low > 0)).any() for one in known):
        said.append(
            "Bands are 95 % confidence intervals from order statistics, drawn where the flows give an upper bound"
            + ("; a small arrow at the edge means that a band goes beyond." if arrows else ".")
        )
    if any((one.unfinished + one.failed).any() for one in known):
        said.append(
            "Unfinished and failed flows enter with their age; a percentile they could still raise is a triangle in "
            "the figures and has ≥ in the tables."
        )
    return " ".join(said)


def slowdown(page: Page) -> Section:
    """Slowdown by flow size, and by workload group."""
    section = Section("slowdown", "Slowdown")
    samples = [line.of(line.run.slowdown(page.baseline, page.side)) for line in page.lines]
    if not any(len(s) for s in samples):
        if not any(run.summary.get("queries") or run.summary.get("mpi") for run in page.runs):
            section.text = "No flow was measured: none started inside the measuring window."
        return section
    fine = min(len(s) for s in samples) >= FINE_BINS_FROM
    positions = analysis.HUNDREDTHS if fine else analysis.DECILES
    sizes = np.concatenate([s.size_bytes for s in samples])
    bins = analysis.bins_from_sizes(sizes, positions)
    section.text = f"Slowdown is FCT ({_span(page)}) divided by {_BASELINES[page.baseline]}. "
    if page.side == "receiver" and any(run.default_side() == "receiver" for run in page.runs):
        section.text += "A flow over UDP that lost datagrams never arrives whole and counts as failed. "
    groups = ", ".join(dict.fromkeys(run.group for run in page.runs if run.group is not None))
    section.text += f"Only flows of group {groups} count. " if groups else ""
    names = labels(page.lines)
    if len(bins) < FEWEST_BINS:
        if any((~s.censored).any() for s in samples):
            figure = plot.slowdown_cdf(dict(zip(names, samples, strict=True)), plot.by_place(names))
            section.figures.append(page.draw(figure, "slowdown_cdf", "CDF of the slowdown, all flow sizes."))
        section.text += "Unfinished and failed flows enter with their age; a percentile they could still raise has ≥."
    else:
        curves = [analysis.percentile_curves(s, bins, QS) for s in samples]
        by_q = list(zip(*curves, strict=True))
        first = [next(k for k in range(i + 1) if _alike(by_q[k], by_q[i])) for i in range(len(QS))]
        arrows = False
        for i in sorted(set(first)):
            figure = plot.slowdown_vs_size(dict(zip(names, by_q[i], strict=True)), looks=plot.by_place(names))
            arrows |= plot.has_arrows(figure)
            same = [f"p{QS[k]:g}" for k in range(i + 1, len(QS)) if first[k] == i]
            what = f"{'Median' if QS[i] == 50 else f'p{QS[i]:g}'} slowdown by flow size"
            caption = f"{what}, {_bins(bins, sizes, fine=fine)}."
            caption += f" The {listed(same)} {'is' if len(same) == 1 else 'are'} the same." if same else ""
            section.figures.append(page.draw(figure, f"slowdown_p{QS[i]:g}", caption))
        drawn = [by_q[i] for i in sorted(set(first))]
        section.text += _marks(drawn, bands=len(names) <= plot.MOST_BANDS, arrows=arrows)
    section.tables = slowdown_tables(page.runs, baseline=page.baseline, side=page.side)
    section.tables += group_tables(page.runs, page.baseline, page.side)
    lost = datagram_table(page.runs)
    section.tables += [lost] if lost else []
    return section


def asked(page: Page) -> Section:
    """Completion times of queries."""
    section = Section("queries", "Queries")
    found = queries.all_groups(page.runs)
    if not found:
        return section
    section.text = (
        "A query is answered when the last byte of its response is at the client (QCT: query completion time). "
        "Slowdown is QCT over the least possible one, both messages alone in an empty network. Queries without "
        "response enter with their age; a percentile or mean they could still raise has ≥. The rate counts the queries "
        "answered inside the measuring window."
    )
    if any((~g.qct.censored).any() for g in found):
        caption = "CDF of the query completion time, by group."
        asked = {g.label: g.qct for g in found}
        looks = plot.by_place(list(asked))
        drawn = plot.fct_cdf(asked, "Query completion time", "Share of all queries", looks)
        section.figures.append(page.draw(drawn, "qct_cdf", caption))
    section.tables = queries.tables(found)
    return section


def programs(page: Page) -> Section:
    """How long message-passing programs ran, beside an ideal network."""
    section = Section("programs", "Programs")
    rows: list[tuple[Cell, ...]] = []
    for run, label in page.pairs:
        for p in run.summary.get("mpi", []):
            took = "not through" if p["runtime_ps"] is None else format_time(p["runtime_ps"], 4, all_digits=True)
            ratio = f"{p['slowdown']:.3f}" if p["slowdown"] else "–"
            sent = (f"{p['ranks']:,}", f"{p['messages']:,}", format_bytes(p["message_bytes"]))
            ideal = "–" if p["ideal_ps"] is None else format_time(p["ideal_ps"], 4, all_digits=True)
            cells = (str(p["scheme"]), *sent, took, ideal, ratio)
            rows.append((Cell(page.named(label, str(p["group"]))), *map(Cell, cells)))
    if rows:
        section.text = (
            "A program's slowdown is its run time over the least one on any network with the same links of the hosts: "
            "messages at line rate through one switch without limits, in whatever order is best for each."
        )
        head = ("Program", "Scheme", "Ranks", "Messages", "Bytes sent", "Run time", "Ideal network", "Slowdown")
        section.tables.append(Table("Message-passing programs", head, rows))
    return section


HAS_TAIL = 1000
"""Flows from which the longest have a figure of their own: ten of them are the p99."""


def fct(page: Page) -> Section:
    """Distribution of the flow completion times."""
    section = Section("fct", "Flow completion time")
    samples = {line.label: line.of(line.run.fct(page.side)) for line in page.lines}
    if not any(len(s) for s in samples.values()):
        return section
    if any((~s.censored).any() for s in samples.values()):
        caption = f"CDF of the FCT ({_span(page)}). Flows that did not finish count in the total."
        looks = plot.by_place(list(samples))
        section.figures.append(page.draw(plot.fct_cdf(samples, looks=looks), "fct_cdf", caption))
        if max(map(len, samples.values())) >= HAS_TAIL:
            caption = "The same flows by the share that takes longer: the tail, which a CDF has at its upper edge."
            section.figures.append(page.draw(plot.fct_tail(samples, looks), "fct_tail", caption))
    else:
        section.text = "No measured flow finished; times are ages."
    rows: list[tuple[Cell, ...]] = []
    first = []
    for label, sample in samples.items():
        found = analysis.percentiles(sample, QS)
        first.append(found[0])
        times = (
            Cell(("≥ " if p.at_least else "") + format_time(p.value, all_digits=True) if enough(p, q) else "–")
            for p, q in zip(found, QS, strict=True)
        )
        rows.append((Cell(label), counts_cell(found[0]), *times))
    head = ("", counted(first).capitalize(), *(f"p{q:g}" for q in QS))
    caption = with_bounds(f"FCT, all sizes, {timed(page.runs, None, page.side)}", rows)
    section.tables.append(percentile_table(caption, head, rows, first))
    return section
