"""The page's figures from measured curves, the published ones thin behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from paceline import plot
from paceline.analysis import Curve
from paceline.experiments.hpcc_page.curves import (
    LOADS,
    PERCENTILES,
    SCHEMES,
    TITLES,
    WORKLOADS,
    CurveId,
    Curves,
    published,
)
from paceline.experiments.hpcc_page.rules import tenths
from paceline.experiments.hpcc_page.setup import by_window
from paceline.plot import multiples
from paceline.plot.style import EXTRA, LINE_STYLES
from paceline.reproduce.claims import Place, told
from paceline.reproduce.model import Drawing, Scale, Verdict
from paceline.words import listed

_OTHER_TARGETS = {scheme: {f"{scheme}_eta95", f"{scheme}_eta150"} for scheme in ("hpcc_pint", "hpcc_int")}
"""Schemes whose target is 99 %, and the same with others."""

_OLIVE, _PLUM = EXTRA[2], EXTRA[4]
_PINT, _INT = (plot.of_schemes([name])[name] for name in ("HPCC-PINT", "HPCC-INT"))
LOOKS = plot.of_schemes(list(SCHEMES.values())[:5]) | {
    # No variant, which charts would draw dashed: that is HPCC-INT's line here.
    "HPCC-PINT": replace(_PINT, line=LINE_STYLES[0], variant=False),
    "HPCC-INT": replace(_INT, line=LINE_STYLES[1]),
    "HPCC-PINT 99 %": replace(_PINT, line=LINE_STYLES[0], variant=False),
    "HPCC-INT 99 %": replace(_INT, line=LINE_STYLES[1]),
    "HPCC-PINT 95 %": replace(_PINT, line=LINE_STYLES[2], color=_OLIVE, marker="^"),
    "HPCC-INT 95 %": replace(_INT, line=LINE_STYLES[3], color=_PLUM, marker="s"),
    "HPCC-PINT 150 %": replace(_PINT, line=LINE_STYLES[2], color=_OLIVE, marker="^"),
    "HPCC-INT 150 %": replace(_INT, line=LINE_STYLES[3], color=_PLUM, marker="s"),
}
"""The look of each scheme, the same in all figures of the page; lines differ, which print without colours needs.

Curves of the two targets lie so close that lines alone would not tell them apart, nor would shades of one hue: blues
are 99 %, olive and plum 95 or 150 %.
"""

_ABOUT = "Slowdown over flow size at the loads and with the schemes that {} is about, at all three percentiles."
THIN = "Thin lines, edged in grey: the curves of the HPCC project page, read from its figures."


def made(scale: Scale, places: Sequence[tuple[str, int]]) -> str:
    """A sentence on how much of these workloads and loads was simulated at a scale."""
    of = "; ".join(
        f"{window.arrivals_us / 1000:g} ms of arrivals at {listed(map(str, alike))} % load, "
        + (f"measured from {window.warmup_us / 1000:g} ms on" if window.warmup_us else "all measured")
        for window, alike in by_window(scale, places).items()
    )
    return f"Measured at {scale} scale: {of}."


def _few(measured: Mapping[CurveId, Curve]) -> str:
    """A sentence on curves with a point for each tenth of the sizes (:func:`judging.drawn_curves`), where there are."""
    few = {c: curve for c, curve in measured.items() if 0 < np.isfinite(curve.value).sum() <= 10}
    if not few:
        return ""
    some = dict.fromkeys(c.workload for c in few)
    of = "" if {c.workload for c in measured} == set(some) else f" of {' and '.join(TITLES[w] for w in some)}"
    flows = min(int(curve.count[np.isfinite(curve.value)].min()) for curve in few.values())
    largest = "; of fewer than 100 the p99 is the largest value" if flows < 100 else ""
    return f" So few flows{of} give a point in the middle of each tenth of the sizes{largest}."


def _panel(measured: Mapping[CurveId, Curve], schemes: Sequence[str], workload: str, load: int, q: int) -> plot.Panel:
    """One figure of the page: the curves that were measured, and those of them that were published."""
    curves, thin = {}, {}
    reference = published()
    for scheme in schemes:
        curve = CurveId(workload, load, scheme, q)
        if curve in measured:
            name = SCHEMES[scheme]
            name += " 99 %" if _OTHER_TARGETS.get(scheme, set()) & set(schemes) else ""
            curves[name] = measured[curve]
            if curve in reference.values:
                sizes: ArrayLike = reference.bins[workload].upper_bytes
                thin[name] = (sizes, reference[curve])
    return plot.Panel(f"{TITLES[workload]}, {load} % load, p{q}", curves, thin, LOOKS)


def slowdown(
    name: str,
    measured: Mapping[CurveId, Curve],
    schemes: Sequence[str],
    workload: str,
    loads: Sequence[int],
    scale: Scale,
    *,
    alone: bool = True,
) -> Iterator[Drawing]:
    """All percentiles and loads of a workload: as small multiples, then, with ``alone``, each of its own."""
    rows = [[_panel(measured, schemes, workload, load, q) for q in PERCENTILES] for load in loads]
    caption = f"{WORKLOADS[workload]}: slowdown over flow size. Rows: loads; columns: percentiles. {THIN} "
    caption += made(scale, [(workload, load) for load in loads]) + _few(measured)
    yield Drawing(f"{name}-{workload}", plot.slowdown_panels(rows), caption)
    few = _few(measured)
    for load, row in zip(loads, rows, strict=True) if alone else ():
        for q, panel in zip(PERCENTILES, row, strict=True):
            figure = plot.slowdown_vs_size(panel.curves, published=panel.published, marks=False, looks=LOOKS)
            yield Drawing(
                f"{name}-{workload}{load}-p{q}", figure, f"{panel.title}. {THIN} {made(scale, [(workload, load)])}{few}"
            )


def overview(
    name: str,
    measured: Mapping[CurveId, Curve],
    schemes: Sequence[str],
    places: Sequence[tuple[str, int]],
    scale: Scale,
) -> Iterator[Drawing]:
    """The figures that a statement is about, one row for each workload and load."""
    rows = [[_panel(measured, schemes, workload, load, q) for q in PERCENTILES] for workload, load in places]
    caption = f"{_ABOUT.format(name)} {THIN} {made(scale, places)}{_few(measured)}"
    yield Drawing(name, plot.slowdown_panels(rows), caption)


def gap(name: str, judged: Sequence[Verdict]) -> Drawing:
    """H8: the gap in the tail slowdown of short flows over load, as it is judged; the published one hollow."""
    by_id, label = {verdict.id: verdict for verdict in judged}, "best of the others less HPCC-PINT"
    bars: dict[Place, tuple[float, float]] = {}
    row = []
    for workload, title in WORKLOADS.items():
        found = [by_id[f"{name}.{workload}{load}"] for load in LOADS]
        bars |= {(workload, load): v.interval for load, v in zip(LOADS, found, strict=True) if v.interval}
        chart = multiples.Chart(
            title,
            {label: (LOADS, [_number(verdict.measured) for verdict in found])},
            "Load (%)",
            "Gap in p99 slowdown",
            scale="linear",
            published={label: (LOADS, [_number(verdict.published) for verdict in found])},
            intervals={label: {load: bars[workload, load] for load in LOADS if (workload, load) in bars}},
            level=0.0,
        )
        row.append(chart)
    caption = (
        "The gap that is to grow with the load: how much higher the mean p99 slowdown of flows below 200 KB is with "
        "the best of DCQCN+w, TIMELY+w and DCTCP than with HPCC-PINT. Hollow and grey: that of the published curves."
    )
    figure = multiples.charts([row])
    return Drawing(f"{name}-gap", figure, caption + told(bars, figure))


def _number(value: float | str | None) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def beside_reference(
    name: str,
    native: Curves,
    reference: Curves,
    schemes: Sequence[str],
    workload: str,
    loads: Sequence[int],
    scale: Scale,
) -> Drawing:
    """Measured over published slowdown, native and as in the simulator that the published curves come from."""
    each = range(10, 101, 10)

    def pair(load: int, q: int) -> list[multiples.Chart]:
        """The two charts of a percentile, with the same axes."""
        lines = [{s: tenths(curves, CurveId(workload, load, s, q)) for s in schemes} for curves in (native, reference)]
        values = [v for of in lines for line in of.values() for v in line if math.isfinite(v)] or [1.0]
        low, high = min(1.0, *values), max(1.0, *values)
        room = 0.04 * (high - low) or 0.01
        return [
            multiples.Chart(
                f"{load} % load, p{q}, {of}",
                {SCHEMES[scheme]: (each, line) for scheme, line in found.items()},
                "Flow size (percentile)",
                "Measured / published",
                {place: str(place) for place in each[1::2]},
                scale="linear",
                between=(low - room, high + room),
                level=1.0,
            )
            for of, found in zip(("native", "reference"), lines, strict=True)
        ]

    rows = [[chart for q in (50, 95) for chart in pair(load, q)] for load in loads]
    caption = (
        f"{WORKLOADS[workload]}: measured over published slowdown, the mean of each tenth of the flow sizes. Native: "
        "exact times. Reference: with the clock and the PINT of the simulator that the published curves come from. "
        f"{made(scale, [(workload, load) for load in loads])}"
    )
    return Drawing(f"{name}-reference", multiples.charts(rows, looks=LOOKS), caption)
