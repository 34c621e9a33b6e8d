"""A mean over seeds, and how sure it is: Student's t-intervals, and those that leaving seeds out gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

LEAST_SEEDS = 3
"""Seeds from which a mean has an interval, and a statistical statement is judged."""

# Student's t, 97.5 %, for 1 to 30 degrees of freedom.
_T = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)
_NORMAL = 1.959964


def student_t(freedom: int) -> float:
    """97.5 % quantile of Student's t distribution, to 4 digits."""
    if freedom < 1:
        raise ValueError(f"Student's t needs at least one degree of freedom, got {freedom}")
    if freedom <= len(_T):
        return _T[freedom - 1]
    # Expansion in 1 / freedom (Abramowitz and Stegun, 26.7.5).
    z = _NORMAL
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval; without one when the seeds are too few."""

    mean: float
    interval: tuple[float, float] | None


Span = tuple[float, float]
"""The least and the largest value that a quantity can have: (0, inf) of times, counts, ratios; (0, 1) of shares."""


def _around(value: float, half: float, span: Span | None, *, positive: bool) -> tuple[float, float]:
    """The interval of half width ``half`` around a value, inside the span of the quantity.

    Of ``positive`` quantities it is symmetric on the logarithm, by the delta method: there half as wide as the error is
    relative to the value. A linear one would be as wide, and end below 0 where the error is large. Where a seed has 0,
    which has no logarithm, the linear one is cut.
    """
    if span is None or value < span[0]:
        return value - half, value + half
    low, high = value - half, value + half
    if positive and value > 0:
        relative = min(half / value, _LARGEST_EXPONENT)
        low, high = value * math.exp(-relative), value * math.exp(relative)
    return max(low, span[0]), max(min(high, span[1]), value)


_LARGEST_EXPONENT = 50.0
"""So that an interval without a bound to speak of is still a number."""


def estimate(values: Sequence[float], *, ratio: bool = False, span: Span | None = None) -> Estimate:
    """Mean and t-interval of one value per seed; of ratios (positive), on their logarithms. ``nan`` without values.

    With a ``span`` the mean is the arithmetic one, and the interval keeps inside the span (:func:`_around`).
    """
    if not values or not all(math.isfinite(v) for v in values):
        return Estimate(math.nan, None)
    if ratio and min(values) <= 0:
        raise ValueError(f"a ratio is positive, got {min(values)}")
    x = [math.log(v) for v in values] if ratio else list(values)
    back: Callable[[float], float] = math.exp if ratio else float
    mean = math.fsum(x) / len(x)
    if len(x) < LEAST_SEEDS:
        return Estimate(back(mean), None)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / (len(x) - 1))
    half = student_t(len(x) - 1) * spread / math.sqrt(len(x))
    if span is not None and not ratio:
        return Estimate(mean, _around(mean, half, span, positive=min(values) > 0))
    return Estimate(back(mean), (back(mean - half), back(mean + half)))


_MOST_GROUPS = 20
"""Groups of seeds that are all looked at; where there are more, those of seeds in a row are."""


def halves(seeds: Sequence[int]) -> list[tuple[int, ...]]:
    """Groups of half of the seeds, rounded down; none of fewer than four seeds."""
    n = len(seeds)
    if n <= LEAST_SEEDS:
        return []
    size = n // 2
    if math.comb(n, size) <= _MOST_GROUPS:
        return list(combinations(seeds, size))
    ring = (*seeds, *seeds)
    return [ring[first : first + size] for first in range(n)]


def jackknife(
    whole: float, without_one: Sequence[float], span: Span | None = None, of_halves: Sequence[float] = ()
) -> Estimate:
    """A value from all seeds, with the 95 % interval that leaving out one seed at a time gives.

    A percentile of few flows is biased towards the largest, so that a mean over seeds would be too: the flows are put
    together instead. Without an interval for fewer than :data:`LEAST_SEEDS` seeds. With a ``span`` the interval is that
    of the logarithms where all values are positive, cut to the span in any case.

    A percentile beside a step, as where just over 1 % of the flows wait for a timer of 10 ms, hardly changes when one
    seed is left out, and may be far lower in the next seeds. The interval therefore includes what groups of half of
    the seeds (:func:`halves`) have, ``of_halves``: of a mean these lie within it mostly. What is not a number there
    does not count.
    """
    n = len(without_one)
    if n < LEAST_SEEDS or not all(map(math.isfinite, (whole, *without_one))):
        return Estimate(whole, None)
    positive = span is not None and min(whole, *without_one) > 0
    x = [math.log(v) for v in without_one] if positive else list(without_one)
    middle = math.log(whole) if positive else whole
    pseudo = [n * middle - (n - 1) * v for v in x]
    mean = math.fsum(pseudo) / n
    half = student_t(n - 1) * math.sqrt(math.fsum((v - mean) ** 2 for v in pseudo) / (n * (n - 1)))
    low, high = _around(whole, whole * half if positive else half, span, positive=positive)
    known = [value for value in of_halves if not math.isnan(value)]
    return Estimate(whole, (min(low, *known), max(high, *known)) if known else (low, high))


def counted(found: Estimate) -> Estimate:
    """A linear interval cut at 0: that of a count held against 0, as "no packets lost".

    One on the logarithm never gets to 0, so that the verdict would be fixed by that; cut, it is that of the linear one.
    """
    if found.interval is None:
        return found
    return Estimate(found.mean, (max(found.interval[0], 0.0), found.interval[1]))
