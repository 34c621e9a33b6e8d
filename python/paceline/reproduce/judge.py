"""From measured values to verdicts: intervals over seeds, limits, orderings.

A statement that is exact arithmetic holds or not. A statistical one is judged by its 95 % confidence interval over at
least :data:`paceline.sweeps.estimates.LEAST_SEEDS` seeds: it passes when the whole interval obeys the limit, fails when
all of it breaks it, and is undecided in between, or with fewer seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paceline.reproduce.model import Outcome, Scale, Verdict
from paceline.sweeps.estimates import Estimate, Span, estimate

DIGITS = 4
"""Significant digits in which a measured value is printed, and compared between runs."""


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


def span_of(limits: Limits | None, most: float = math.inf) -> Span | None:
    """The span of a quantity that is judged by some limits: at least 0.

    ``None``, any value, where a limit is 0 or below: only a difference is held against that.
    """
    signed = limits is not None and (limits.high <= 0 or (math.isfinite(limits.low) and limits.low <= 0))
    return None if signed else (0.0, most)


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
    """``value`` give or take ``percent`` of it; of a ratio to the published value, ``value`` is 1.

    The text says of what: not all claims have a published value beside them, and of a ratio it would not be that.
    """
    reach = abs(value) * percent / 100
    return Limits(value - reach, value + reach, f"{_limit(value)} ± {percent:g} %")


def about(value: float) -> Limits:
    """Half of ``value`` to twice it: what a source says with "about", or of a set-up of which it leaves much open."""
    return between(value / 2, value * 2)


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
