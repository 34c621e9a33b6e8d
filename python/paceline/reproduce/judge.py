"""From measured values to verdicts: intervals over seeds, limits, orderings.

A statement that is exact arithmetic holds or not. A statistical one is judged by its 95 % confidence interval over at
least :data:`LEAST_SEEDS` seeds: it passes when the whole interval obeys the limit, fails when all of it breaks it, and
is undecided in between, or with fewer seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paceline.reproduce.model import Outcome, Scale, Verdict

LEAST_SEEDS = 3
"""Seeds from which a statistical statement is judged."""

DIGITS = 4
"""Significant digits in which a measured value is printed, and compared between runs."""

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


def span_of(limits: Limits | None, most: float = math.inf) -> Span | None:
    """The span of a quantity that is judged by some limits: at least 0.

    ``None``, any value, where a limit is 0 or below: only a difference is held against that.
    """
    signed = limits is not None and (limits.high <= 0 or (math.isfinite(limits.low) and limits.low <= 0))
    return None if signed else (0.0, most)


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


def jackknife(whole: float, without_one: Sequence[float], span: Span | None = None) -> Estimate:
    """A value from all seeds, with the 95 % interval that leaving out one seed at a time gives.

    A percentile of few flows is biased towards the largest, so that a mean over seeds would be too: the flows are put
    together instead. Without an interval for fewer than :data:`LEAST_SEEDS` seeds. With a ``span`` the interval is that
    of the logarithms where all values are positive, cut to the span in any case.
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
    return Estimate(whole, _around(whole, whole * half if positive else half, span, positive=positive))


def counted(found: Estimate) -> Estimate:
    """A linear interval cut at 0: that of a count held against 0, as "no packets lost".

    One on the logarithm never gets to 0, so that the verdict would be fixed by that; cut, it is that of the linear one.
    """
    if found.interval is None:
        return found
    return Estimate(found.mean, (max(found.interval[0], 0.0), found.interval[1]))


@dataclass(frozen=True)
class Limits:
    """Where a measured value has to lie, and how that reads. Open limits do not belong to the range."""

    low: float
    high: float
    text: str
    is_open: bool = False

    def judge(self, found: Estimate) -> Outcome:
        """The outcome for a value with its interval."""
        if found.interval is None:
            return Outcome.UNDECIDED
        low, high = found.interval
        if (self.low < low and high < self.high) if self.is_open else (self.low <= low and high <= self.high):
            return Outcome.PASS
        outside = (high <= self.low or low >= self.high) if self.is_open else (high < self.low or low > self.high)
        return Outcome.FAIL if outside else Outcome.UNDECIDED


def at_least(limit: float) -> Limits:
    """``≥ limit``."""
    return Limits(limit, math.inf, f"≥ {_limit(limit)}")


def at_most(limit: float) -> Limits:
    """``≤ limit``."""
    return Limits(-math.inf, limit, f"≤ {_limit(limit)}")


def above(limit: float) -> Limits:
    """``> limit``."""
    return Limits(limit, math.inf, f"> {_limit(limit)}", is_open=True)


def below(limit: float) -> Limits:
    """``< limit``."""
    return Limits(-math.inf, limit, f"< {_limit(limit)}", is_open=True)


def between(low: float, high: float) -> Limits:
    """From ``low`` to ``high``; both may be the same."""
    if low == high:
        return Limits(low, high, _limit(low))
    return Limits(low, high, f"{_limit(low)} to {_limit(high)}")


def _limit(value: float) -> str:
    """A limit in the digits of the measured value beside it: one that was computed has many, and uneven ones."""
    given = float(value)
    rounded = given if given.is_integer() else float(f"{given:.{DIGITS}g}")
    return f"{rounded:,.0f}" if rounded.is_integer() else f"{rounded:,g}"


def percent_of(value: float, percent: float) -> Limits:
    """``value`` give or take ``percent`` of it; of a ratio to the published value, ``value`` is 1."""
    reach = abs(value) * percent / 100
    return Limits(value - reach, value + reach, f"±{percent:g} %")


def exact(
    id_: str,
    statement: str,
    published: float | str,
    measured: float | str,
    *,
    tolerance: str = "exact",
    variant: str = "default",
) -> Verdict:
    """A statement of exact arithmetic; judged at every scale."""
    outcome = Outcome.PASS if measured == published else Outcome.FAIL
    return Verdict(
        id=id_,
        statement=statement,
        published=published,
        measured=measured,
        tolerance=tolerance,
        verdict=outcome,
        variant=variant,
    )


def statistical(
    id_: str,
    statement: str,
    published: float | str | None,
    values: Sequence[float],
    limits: Limits,
    *,
    scale: Scale,
    seeds: Sequence[int],
    ratio: bool = False,
    variant: str = "default",
) -> Verdict:
    """A statement about a quantity of which each seed gives one value."""
    found = estimate(values, ratio=ratio)
    return Verdict(
        id=id_,
        statement=statement,
        published=published,
        measured=found.mean if math.isfinite(found.mean) else None,
        tolerance=limits.text,
        verdict=Outcome.NOT_JUDGED if scale is Scale.TINY else limits.judge(found),
        variant=variant,
        seeds=tuple(seeds),
        interval=found.interval,
    )


def ordering(
    id_: str,
    statement: str,
    published: str | None,
    groups: Mapping[str, Sequence[float]],
    *,
    scale: Scale,
    seeds: Sequence[int],
    ratio: bool = False,
    variant: str = "default",
) -> Verdict:
    """A statement that the groups ascend in the order given, each with one value per seed.

    It passes when each interval ends below the next, fails when two neighbours lie the other way round with intervals
    apart, and is undecided otherwise.
    """
    found = {name: estimate(values, ratio=ratio) for name, values in groups.items()}
    neighbours = list(zip(found.values(), list(found.values())[1:], strict=False))
    known = all(e.interval for e in found.values())
    ranges = [(a.interval, b.interval) for a, b in neighbours if a.interval and b.interval]
    if known and any(b[1] < a[0] for a, b in ranges):
        outcome = Outcome.FAIL
    elif known and all(a[1] < b[0] for a, b in ranges):
        outcome = Outcome.PASS
    else:
        outcome = Outcome.UNDECIDED
    return Verdict(
        id=id_,
        statement=statement,
        published=published,
        measured=", ".join(f"{name} {shown(e.mean)}" for name, e in found.items()),
        tolerance="ascending",
        verdict=Outcome.NOT_JUDGED if scale is Scale.TINY else outcome,
        variant=variant,
        seeds=tuple(seeds),
    )


def report(
    id_: str,
    statement: str,
    published: float | str | None,
    measured: float | str | None,
    *,
    seeds: Sequence[int] = (),
    interval: tuple[float, float] | None = None,
    variant: str = "default",
) -> Verdict:
    """A value without a claim to judge."""
    return Verdict(
        id=id_,
        statement=statement,
        published=published,
        measured=measured,
        tolerance="–",
        verdict=Outcome.REPORT,
        variant=variant,
        seeds=tuple(seeds),
        interval=interval,
    )


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """One outcome for several that must all hold: the worst of them. Reports do not count."""
    order = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.NOT_JUDGED, Outcome.PASS)
    seen = set(outcomes)
    return next((outcome for outcome in order if outcome in seen), Outcome.REPORT)


def shown(value: Any) -> str:
    """A value as verdicts print it: whole numbers in full, others in :data:`DIGITS` significant digits."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, float):
        digits = f"{value:.{DIGITS}g}"
        return f"{float(digits):.0f}" if "e+" in digits else digits
    return str(value)
