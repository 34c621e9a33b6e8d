"""Statistics of a run as pure functions on NumPy arrays.

Percentiles are order statistics, never interpolated: a reported value is one that a flow had. Flows that did not
finish are *censored*: they enter with their age, which is the least their FCT can be, and a percentile that depends
on one of them is marked ``at_least``. Nothing here draws random numbers, so the same arrays give the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]
Bools = NDArray[np.bool_]

Rule = Literal["nearest_rank", "hpcc"]
"""How a percentile picks its order statistic (0-based index in ``n`` sorted values, share ``q``): ``nearest_rank`` is
``ceil(n q) - 1`` (NumPy's ``inverted_cdf``); ``hpcc`` is ``floor(n q)``, as in the HPCC authors' fct_analysis.py."""

DECILES: tuple[float, ...] = tuple(float(p) for p in range(10, 101, 10))
"""Upper bin edges in percent of the flow-size CDF: ten bins."""

HUNDREDTHS: tuple[float, ...] = tuple(float(p) for p in range(1, 101))
"""Upper bin edges in percent of the flow-size CDF: a hundred bins, as in published figures."""


@dataclass(frozen=True, repr=False)
class Sample:
    """One value per measured flow (a slowdown, or an FCT in ps), with what is needed to judge it.

    All arrays have shape ``(flows,)``. ``value`` of a censored flow is its lower bound. ``failed`` is a subset of
    ``censored``.
    """

    size_bytes: I8
    value: F8
    censored: Bools
    failed: Bools
    partial: bool = field(default=False, kw_only=True)
    """Flows may be missing, as in a run that was killed before they were on record: no percentile is exact."""

    def __post_init__(self) -> None:
        shapes = {a.shape for a in (self.size_bytes, self.value, self.censored, self.failed)}
        if len(shapes) != 1 or self.value.ndim != 1:
            raise ValueError(f"the columns of a sample must be one-dimensional and equally long, got shapes {shapes}")

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        if not len(self):
            return "<Sample: no flows>"
        low, middle, high = self.value.min(), nearest_rank(self.value, 50), self.value.max()
        open_ = f", {self.unfinished_count:,} unfinished, {self.failed_count:,} failed" if self.censored.any() else ""
        return f"<Sample: {len(self):,} flows{open_}; .value from {low:.4g}, p50 {middle:.4g}, to {high:.4g}>"

    def where(self, mask: Bools) -> Sample:
        """The flows for which ``mask`` (shape ``(flows,)``) is true."""
        return Sample(
            self.size_bytes[mask], self.value[mask], self.censored[mask], self.failed[mask], partial=self.partial
        )

    @property
    def unfinished_count(self) -> int:
        """Flows still running when the run ended."""
        return int(np.count_nonzero(self.censored & ~self.failed))

    @property
    def failed_count(self) -> int:
        """Flows their transport gave up."""
        return int(np.count_nonzero(self.failed))


@dataclass(frozen=True)
class SizeBins:
    """Flow-size bins: bin ``k`` holds sizes in ``(upper_bytes[k - 1], upper_bytes[k]]``, the first everything below.

    ``position`` is the CDF percentile (0 to 100) of each upper edge: the x axis of slowdown figures, and its
    differences are the weights of the bins.
    """

    upper_bytes: I8
    position: F8
    smallest_bytes: int = 0

    def __post_init__(self) -> None:
        if self.upper_bytes.shape != self.position.shape or self.upper_bytes.ndim != 1:
            raise ValueError("upper_bytes and position must be one-dimensional and equally long")
        if np.any(np.diff(self.upper_bytes) <= 0) or np.any(np.diff(self.position) < 0):
            raise ValueError("size bins need ascending edges at ascending positions")

    def __len__(self) -> int:
        return len(self.upper_bytes)

    @property
    def weight(self) -> F8:
        """Share of the flow-size distribution in each bin, shape ``(bins,)``, summing to the last position / 100."""
        return np.diff(self.position, prepend=0.0) / 100.0

    def index(self, size_bytes: ArrayLike) -> NDArray[np.intp]:
        """Bin of each size; ``len(self)`` for sizes above the last edge."""
        return np.searchsorted(self.upper_bytes, np.asarray(size_bytes), side="left")

    def between(self, above_bytes: float = 0, up_to_bytes: float = math.inf) -> Bools:
        """Bins whose upper edge lies in ``(above_bytes, up_to_bytes]``, as a mask of shape ``(bins,)``."""
        return (self.upper_bytes > above_bytes) & (self.upper_bytes <= up_to_bytes)

    def size_at(self, position: ArrayLike) -> F8:
        """Flow size in bytes at CDF percentiles 0 to 100, linear between the edges."""
        x = np.concatenate([[0.0], self.position])
        y = np.concatenate([[float(self.smallest_bytes)], self.upper_bytes])
        return np.asarray(np.interp(np.asarray(position, dtype=float), x, y))

    def position_of(self, size_bytes: ArrayLike) -> F8:
        """CDF percentile of flow sizes in bytes, linear between the edges; places foreign curves on this x axis."""
        x = np.concatenate([[float(self.smallest_bytes)], self.upper_bytes])
        y = np.concatenate([[0.0], self.position])
        return np.asarray(np.interp(np.asarray(size_bytes, dtype=float), x, y))


def bins_from_sizes(size_bytes: ArrayLike, positions: Sequence[float] = DECILES) -> SizeBins:
    """Bins by percentile of the sizes that occurred.

    A size shared by many flows can span several percentiles: those bins become one, at the share of flows up to that
    size. No sizes give no bins.
    """
    sizes = np.sort(np.asarray(size_bytes, dtype=np.int64))
    if len(sizes) == 0:
        return SizeBins(np.zeros(0, dtype=np.int64), np.zeros(0))
    wanted = np.asarray(positions, dtype=float)
    rank = np.clip(np.ceil(len(sizes) * wanted / 100.0 - 1e-9).astype(np.int64), 1, len(sizes))
    upper = sizes[rank - 1]
    covered = np.searchsorted(sizes, upper, side="right") / len(sizes) * 100.0
    # Of equal edges the last stays, which has the highest position.
    keep = np.append(np.diff(upper) > 0, True)
    return SizeBins(upper[keep], np.maximum(wanted, covered)[keep], int(sizes[0]))


def order_index(n: int, q: float, rule: Rule = "nearest_rank") -> int:
    """0-based index of the order statistic that is percentile ``q`` (0 < q < 100) of ``n >= 1`` values."""
    if not 0 < q < 100 or n < 1:
        raise ValueError(f"a percentile needs 0 < q < 100 and at least one value, got q={q}, n={n}")
    share = n * q / 100.0
    index = math.floor(share + 1e-9) if rule == "hpcc" else math.ceil(share - 1e-9) - 1
    return min(max(index, 0), n - 1)


def nearest_rank(values: ArrayLike, q: float) -> float:
    """The percentile ``q`` (0 < q < 100) of plain values, an order statistic; nan without values."""
    x = np.asarray(values, dtype=float)
    if not len(x):
        return math.nan
    index = order_index(len(x), q)
    return float(np.partition(x, index)[index])


@lru_cache(maxsize=4096)
def confidence_ranks(n: int, q: float, confidence: float = 0.95) -> tuple[int, int]:
    """Order statistics that bracket percentile ``q`` with at least the given confidence, whatever the distribution.

    Returns 0-based indices ``(low, high)`` into ``n`` sorted values, from exact binomial tails; ``low = -1`` or
    ``high = n`` means that so few values give no bound on that side.
    """
    p, tail = q / 100.0, (1.0 - confidence) / 2.0
    # Beyond 12 standard deviations the binomial holds less than 1e-30: a window is exact to double precision.
    reach = 12.0 * math.sqrt(n * p * (1.0 - p)) + 12.0
    first, last = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    k = np.arange(first, last, dtype=float)
    start = math.lgamma(n + 1) - math.lgamma(first + 1) - math.lgamma(n - first + 1)
    start += first * math.log(p) + (n - first) * math.log1p(-p)
    log_pmf = start + np.concatenate([[0.0], np.cumsum(np.log((n - k) / (k + 1.0) * (p / (1.0 - p))))])
    cdf = np.cumsum(np.exp(log_pmf))
    # Value k (1-based) lies above the percentile with probability cdf(k - 1), and below it with 1 - cdf(k - 1).
    low = first + int(np.searchsorted(cdf, tail, side="right")) - 1
    high = first + int(np.searchsorted(cdf, 1.0 - tail, side="left"))
    return max(low, -1), min(high, n)


@dataclass(frozen=True)
class Percentile:
    """A percentile with its interval and the flows behind it. ``value`` is nan without flows."""

    value: float
    low: float
    """Lower confidence bound; 0 when the flows give none."""
    high: float
    """Upper confidence bound; infinite when the flows give none."""
    at_least: bool
    """The value is the age of an unfinished or failed flow, or could be exceeded by one: the truth is no smaller.

    Also where flows are missing (:attr:`Sample.partial`): those still under way are the slow ones.
    """
    count: int
    """Flows, finished or not."""
    unfinished: int
    failed: int


def percentiles(
    sample: Sample, qs: Sequence[float], *, confidence: float = 0.95, rule: Rule = "nearest_rank"
) -> list[Percentile]:
    """Percentiles ``qs`` (in percent) of all flows of a sample, censored flows counted with their age."""
    n, unfinished, failed = len(sample), sample.unfinished_count, sample.failed_count
    if n == 0:
        return [Percentile(math.nan, 0.0, math.inf, False, 0, 0, 0) for _ in qs]
    least = np.sort(sample.value)
    # What the values are at most: a flow that never ends. Equal order statistics mean an exact percentile.
    most = np.sort(np.where(sample.censored, np.inf, sample.value)) if unfinished + failed else least
    found = []
    for q in qs:
        k = order_index(n, q, rule)
        low, high = confidence_ranks(n, q, confidence)
        found.append(
            Percentile(
                value=float(least[k]),
                low=float(least[low]) if low >= 0 else 0.0,
                high=float(most[high]) if high < n and not sample.partial else math.inf,
                at_least=bool(most[k] != least[k]) or sample.partial,
                count=n,
                unfinished=unfinished,
                failed=failed,
            )
        )
    return found


@dataclass(frozen=True)
class Curve:
    """One percentile over flow-size bins; arrays of shape ``(bins,)`` with the fields of :class:`Percentile`."""

    q: float
    bins: SizeBins
    value: F8
    low: F8
    high: F8
    at_least: Bools
    count: I8
    unfinished: I8
    failed: I8


def percentile_curves(
    sample: Sample,
    bins: SizeBins,
    qs: Sequence[float] = (50.0, 95.0, 99.0),
    *,
    confidence: float = 0.95,
    rule: Rule = "nearest_rank",
) -> list[Curve]:
    """The percentiles ``qs`` (in percent) inside each size bin, one curve per percentile.

    Flows above the last edge belong to no bin. A bin without flows has value nan.
    """
    where = bins.index(sample.size_bytes)
    order = np.argsort(where, kind="stable")
    cuts = np.searchsorted(where[order], np.arange(len(bins) + 1))
    rows: list[list[Percentile]] = []
    for k in range(len(bins)):
        chosen = order[cuts[k] : cuts[k + 1]]
        inside = replace(
            sample,
            size_bytes=sample.size_bytes[chosen],
            value=sample.value[chosen],
            censored=sample.censored[chosen],
            failed=sample.failed[chosen],
        )
        rows.append(percentiles(inside, qs, confidence=confidence, rule=rule))

    def column(i: int, field: str, dtype: type) -> NDArray[Any]:
        return np.array([getattr(row[i], field) for row in rows], dtype=dtype)

    return [
        Curve(
            q=float(q),
            bins=bins,
            value=column(i, "value", float),
            low=column(i, "low", float),
            high=column(i, "high", float),
            at_least=column(i, "at_least", bool),
            count=column(i, "count", np.int64),
            unfinished=column(i, "unfinished", np.int64),
            failed=column(i, "failed", np.int64),
        )
        for i, q in enumerate(qs)
    ]


def geometric_mean_ratio(
    numerator: ArrayLike, denominator: ArrayLike, weight: ArrayLike, mask: Bools | None = None
) -> float:
    """Weighted geometric mean of ``numerator / denominator`` over bins (arrays of shape ``(bins,)``).

    ``weight`` is the CDF weight of the bins (:attr:`SizeBins.weight`), ``mask`` restricts the range
    (:meth:`SizeBins.between`). Bins where either value is missing (nan) are left out; nan if none is left.
    """
    a, b, w = (np.asarray(v, dtype=float) for v in (numerator, denominator, weight))
    if not a.shape == b.shape == w.shape:
        raise ValueError(f"curves and weights must have the same bins, got {a.shape}, {b.shape} and {w.shape}")
    use = np.isfinite(a) & np.isfinite(b) & (a > 0) & (b > 0) & (w > 0)
    if mask is not None:
        use &= mask
    if not use.any():
        return math.nan
    return float(np.exp(np.sum(w[use] * np.log(a[use] / b[use])) / np.sum(w[use])))


def jain_index(values: ArrayLike) -> float:
    """Jain's fairness index of non-negative shares: 1 when all are equal, 1/n when one has everything.

    nan without values, 1 when all are zero. Raises ``ValueError`` for negative or non-finite values.
    """
    x = np.asarray(values, dtype=float).ravel()
    if not np.all(np.isfinite(x)) or np.any(x < 0):
        raise ValueError("Jain's index needs finite values of at least 0")
    if len(x) == 0:
        return math.nan
    largest = x.max()
    if largest == 0:
        return 1.0
    x = x / largest  # squares of bytes per second would lose digits
    return float(x.sum() ** 2 / (len(x) * np.square(x).sum()))


def ecdf(sample: Sample, points: int = 1000) -> tuple[F8, F8]:
    """Share of flows known to have finished within a value, at up to ``points`` values.

    Returns ascending values and shares (0 to 1), both of shape ``(m,)``. Censored flows count in the total, so the
    curve ends at the finished share and is never above the truth.
    """
    finished = np.sort(sample.value[~sample.censored])
    if len(finished) == 0:
        return np.zeros(0), np.zeros(0)
    take = np.unique(np.linspace(0, len(finished) - 1, min(points, len(finished))).astype(np.int64))
    return finished[take], (take + 1) / len(sample)


@dataclass(frozen=True)
class QueueHistogram:
    """Time-weighted histogram of bytes waiting: merged bins ``[low_bytes, high_bytes)`` with their time in ps."""

    low_bytes: I8
    high_bytes: I8
    time_ps: I8

    @classmethod
    def merge(cls, low_bytes: ArrayLike, high_bytes: ArrayLike, time_ps: ArrayLike) -> QueueHistogram:
        """Adds up bins of any number of ports (arrays of shape ``(rows,)``); needs the same bin edges everywhere."""
        low, high, time = (np.asarray(v, dtype=np.int64) for v in (low_bytes, high_bytes, time_ps))
        edges, inverse = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        total = np.zeros(len(edges), dtype=np.int64)
        np.add.at(total, inverse.ravel(), time)
        if np.any(edges[:, 0] >= edges[:, 1]) or np.any(edges[1:, 0] < edges[:-1, 1]):
            raise ValueError("queue bins must not overlap and need low < high")
        return cls(edges[:, 0], edges[:, 1], total)

    def busy(self) -> QueueHistogram:
        """Only the time in which something waited (the bin of exactly 0 bytes left out)."""
        keep = self.high_bytes > 1
        return QueueHistogram(self.low_bytes[keep], self.high_bytes[keep], self.time_ps[keep])

    def mean_bytes(self) -> float:
        """Time-weighted mean of bytes waiting, from bin middles (6 % off at most, above 72 bytes); nan without time."""
        total = self.time_ps.sum()
        middle = (self.low_bytes + self.high_bytes - 1) / 2.0
        return float((middle * self.time_ps).sum() / total) if total else math.nan


def queue_percentile(histogram: QueueHistogram, q: float, *, busy: bool = False) -> tuple[float, float]:
    """Bytes waiting that are not exceeded for ``q`` percent (0 < q <= 100) of the time.

    Returns the smallest and largest whole number of bytes it can be given the bin widths, equal when the bin is one
    byte wide; nan, nan when no time was recorded. ``busy`` leaves out the time in which nothing waited.
    """
    if not 0 < q <= 100:
        raise ValueError(f"a queue percentile needs 0 < q <= 100, got {q}")
    h = histogram.busy() if busy else histogram
    cumulative = np.cumsum(h.time_ps)
    if len(cumulative) == 0 or cumulative[-1] == 0:
        return math.nan, math.nan
    # In floats a sum of picoseconds near 2**53 is off by less than one part in 1e15: no bin is that thin.
    k = int(np.searchsorted(cumulative, cumulative[-1] * (q / 100.0) * (1 - 1e-15), side="left"))
    return float(h.low_bytes[k]), float(h.high_bytes[k] - 1)


@dataclass(frozen=True)
class TierUse:
    """Use of the link directions of one tier; shares of time or capacity, 0 to 1."""

    tier: str
    links: int
    mean: float
    """Weighted by link rate."""
    least: float
    most: float


_TIER_DEPTH = {"host": 0, "tor": 1, "agg": 2, "core": 3}


def tier_order(tier: str) -> tuple[int, int, int, str]:
    """Sort key for tier names like ``tor->agg``: upwards from the hosts, then down again, unknown names last."""
    start, _, end = tier.partition("->")
    a, b = _TIER_DEPTH.get(start, 9), _TIER_DEPTH.get(end, 9)
    down = b < a
    return (2 if 9 in (a, b) else int(down), -a if down else a, b, tier)


def share_by_tier(tier: Sequence[str], rate_bps: ArrayLike, time_ps: ArrayLike, span_ps: int) -> list[TierUse]:
    """Share of ``span_ps`` each link direction spent in a state (transmitting, paused), summed up by tier.

    ``tier``, ``rate_bps`` and ``time_ps`` have one entry per link direction. Empty when ``span_ps`` is 0.
    """
    if span_ps <= 0:
        return []
    names = np.asarray(tier)
    rate, share = np.asarray(rate_bps, dtype=float), np.asarray(time_ps, dtype=float) / span_ps
    result = []
    for name in sorted({str(t) for t in names}, key=tier_order):
        here = names == name
        weight = rate[here] if rate[here].sum() > 0 else np.ones(int(here.sum()))
        mean = float(np.average(share[here], weights=weight))
        result.append(TierUse(name, int(here.sum()), mean, float(share[here].min()), float(share[here].max())))
    return result
