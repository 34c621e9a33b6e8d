"""Slowdown curves over flow-size bins, published or measured, and what is computed from them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np

from paceline.analysis import F8, Bools, Sample, SizeBins, geometric_mean_ratio, percentile_curves

WORKLOADS: Final = {"websearch": "WebSearch", "hadoop": "Hadoop"}
"""Flow-size distributions of the page, with their names in print."""

RPC: Final = "googlerpc"
"""A distribution of a figure that is in the page's repository and on no version of the page, at 50 % load."""

TITLES: Final = {**WORKLOADS, RPC: "Google RPC"}
"""All distributions with their names in print."""

LOADS: Final = (30, 50, 70)
"""Payload bytes over host bandwidth, in percent."""

PERCENTILES: Final = (50, 95, 99)
"""Percentiles of the slowdown inside a bin of flow sizes."""

SCHEMES: Final = {
    "hpcc_pint": "HPCC-PINT",
    "hpcc_int": "HPCC-INT",
    "dcqcn_w": "DCQCN+w",
    "timely_w": "TIMELY+w",
    "dctcp": "DCTCP",
    "hpcc_pint_eta95": "HPCC-PINT 95 %",
    "hpcc_int_eta95": "HPCC-INT 95 %",
    "hpcc_pint_eta150": "HPCC-PINT 150 %",
    "hpcc_int_eta150": "HPCC-INT 150 %",
    "dcqcn": "DCQCN",
    "timely": "TIMELY",
}
"""Schemes with their names in print; the first five in the order of the page's legend. The last two are not on it."""

MAIN: Final = ("hpcc_pint", "hpcc_int", "dcqcn_w", "timely_w", "dctcp")
"""The schemes of the page's main figures."""

OTHERS: Final = ("dcqcn_w", "timely_w", "dctcp")
"""The schemes that HPCC is compared with."""


@dataclass(frozen=True, order=True)
class CurveId:
    """Names one curve: workload, load in percent, scheme (keys of the tables above), percentile of the slowdown."""

    workload: str
    load: int
    scheme: str
    q: int


@dataclass(frozen=True)
class Span:
    """Flows of sizes above ``above`` and up to ``up_to`` bytes, by bins: those whose upper edge lies in it.

    The first bin of long flows begins below: of Hadoop at 877.5 KB for 1 MB, of WebSearch at 5.71 MB for 6 MB.
    """

    title: str
    above: float = 0.0
    up_to: float = float("inf")


ALL: Final = Span("all flows")
UP_TO_20KB: Final = Span("flows < 20 KB", up_to=20e3)
UP_TO_200KB: Final = Span("flows < 200 KB", up_to=200e3)
FROM_1MB: Final = Span("flows ≥ 1 MB", above=1e6)
FROM_6MB: Final = Span("flows > 6 MB", above=6e6)


class MissingCurveError(LookupError):
    """A curve that a result needs is not there; the text names it."""


@dataclass(frozen=True)
class Curves:
    """Slowdown per flow-size bin for any number of curves; ``values`` have the shape of the workload's ``bins``."""

    bins: Mapping[str, SizeBins]
    values: Mapping[CurveId, F8]

    def __getitem__(self, curve: CurveId) -> F8:
        """Slowdown of each bin, nan where no flow was. Raises :class:`MissingCurveError`."""
        try:
            return self.values[curve]
        except KeyError:
            name = f"{curve.workload} at {curve.load} %, {curve.scheme}, p{curve.q}"
            raise MissingCurveError(f"no curve of {name}") from None

    def ratio(self, over: CurveId, under: CurveId, span: Span = ALL) -> float:
        """CDF-weighted geometric mean of the ratio of two curves of one workload over the bins of ``span``."""
        return self.ratio_to(self, over, under, span)

    def ratio_to(self, other: Curves, over: CurveId, under: CurveId, span: Span = ALL) -> float:
        """The same with the second curve taken from ``other``, whose bins must be the same."""
        bins = self.bins[over.workload]
        mask = bins.between(span.above, span.up_to)
        return geometric_mean_ratio(self[over], other[under], bins.weight, mask)

    def mean(self, curve: CurveId, span: Span = ALL) -> float:
        """CDF-weighted arithmetic mean of a curve over the bins of ``span``; bins without flows are left out."""
        bins, value = self.bins[curve.workload], self[curve]
        use = bins.between(span.above, span.up_to) & np.isfinite(value)
        return float(np.average(value[use], weights=bins.weight[use])) if use.any() else float("nan")


def decile_masks(bins: SizeBins) -> list[Bools]:
    """The bins of each tenth of the flow-size distribution, by their upper edges; ten masks of shape ``(bins,)``."""
    tenth = np.clip(np.ceil(bins.position / 10.0 - 1e-9).astype(int), 1, 10)
    return [tenth == k for k in range(1, 11)]


@cache
def published() -> Curves:
    """The curves of the HPCC project page; see README.md beside the data for how they were read."""
    text = resources.files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    reader = csv.DictReader(text.splitlines())
    schemes = [name for name in reader.fieldnames or () if name in SCHEMES]
    edges: dict[str, dict[int, float]] = {}
    cells: dict[CurveId, list[float]] = {}
    for row in reader:
        workload, load, q = row["workload"], int(row["load_percent"]), int(row["percentile"])
        edges.setdefault(workload, {})[int(row["flow_size_bytes"])] = float(row["cdf_percent"])
        for scheme in schemes:
            if row[scheme]:
                cells.setdefault(CurveId(workload, load, scheme, q), []).append(float(row[scheme]))
    bins = {
        workload: SizeBins(np.array(list(at), dtype=np.int64), np.array(list(at.values())))
        for workload, at in edges.items()
    }
    return Curves(bins, {curve: np.array(values) for curve, values in cells.items()})


def measured(samples: Mapping[tuple[str, int, str], Sequence[Sample]]) -> Curves:
    """Curves from slowdown samples by (workload, load, scheme), the flows of several runs put together.

    Bins are those of the published curves; percentiles pick the order statistic that the authors' script picks.
    """
    bins = published().bins
    values: dict[CurveId, F8] = {}
    for (workload, load, scheme), parts in samples.items():
        for curve in percentile_curves(together(parts), bins[workload], PERCENTILES, rule="hpcc"):
            values[CurveId(workload, load, scheme, round(curve.q))] = curve.value
    return Curves(bins, values)


def together(parts: Iterable[Sample]) -> Sample:
    """The flows of several samples as one."""
    columns = zip(*((s.size_bytes, s.value, s.censored, s.failed) for s in parts), strict=True)
    return Sample(*(np.concatenate(column) for column in columns))
