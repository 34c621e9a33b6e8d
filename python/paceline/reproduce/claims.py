"""From runs to verdicts: a rule turns measured values into claims, seeds give the intervals.

A rule is a pure function of a table of values: tests run it on published statements, on altered ones and on what other
simulators measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Final, TypeVar

from paceline.formats import format_number
from paceline.reproduce.judge import Limits, span_of
from paceline.reproduce.model import Outcome, Scale, Verdict
from paceline.sweeps.estimates import LEAST_SEEDS, Estimate, Span, counted, estimate, halves, jackknife
from paceline.sweeps.points import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Place = tuple[str | float, ...]
Values = Mapping[Place, float]
"""Measured values by what they are of, as ``("homa", 64, "p99")``."""
Bounds = tuple[float, float]

_LEAST: Final = "least"
_MOST: Final = "most"


@dataclass(frozen=True)
class Claim:
    """One number, and the range in which the statement holds."""

    id: str
    """What follows the experiment's id."""
    statement: str
    value: float
    """``nan`` when the values do not give it."""
    limits: Limits | None = None
    """``None`` when there is no claim."""
    published: float | str | None = None
    variant: str = "default"
    most: float = math.inf
    """The largest value that it can have: 1 of a share, 100 of one in percent."""
    count: bool = False
    """It is a count, also where it is held against 0, as otherwise only differences are."""
    yes_no: bool = False
    """1 is shown as yes, 0 as no."""
    up_to: float = math.nan
    """The value if nothing that was under way when the run ended ever ended; ``nan`` where that is not asked."""
    within: Bounds | None = None
    """The least and the largest that the value can be, where a histogram gives it only to a bin."""

    @property
    def stretch(self) -> float:
        """How many times the value the truth may be."""
        return self.up_to / self.value if self.value and self.up_to > self.value else 1.0

    @property
    def holds(self) -> bool:
        """Whether a claim is made and the value lies in its range, taken as exact."""
        exact = Estimate(self.value, (self.value, self.value))
        return self.limits is not None and self.limits.judge(exact) is Outcome.PASS


WORTH_TELLING: Final = 1.01
"""By how much a value must be uncertain for what is open to be told."""

Measure = Callable[[Runs], Values]
Rule = Callable[[Values], Sequence[Claim]]
_Measured = TypeVar("_Measured")


def at(values: Values, *place: str | float) -> float:
    """The value at a place; ``nan`` when it is not there."""
    return values.get(place, math.nan)


def ratio(values: Values, over: Place, under: Place) -> float:
    """Quotient of two values; ``nan`` when one is not there or nothing divides."""
    top, bottom = at(values, *over), at(values, *under)
    return top / bottom if bottom else math.nan


def binned(place: Place, least: float, most: float, unit: float = 1.0) -> dict[Place, float]:
    """A value that is known only to lie between two: their middle, and both beside it for :func:`bounds`.

    All three are in units of ``unit``.
    """
    return {place: (least + most) / (2 * unit), (*place, _LEAST): least / unit, (*place, _MOST): most / unit}


def bounds(values: Values, place: Place) -> Bounds | None:
    """Between which two a value of :func:`binned` lies; ``None`` of others."""
    least, most = values.get((*place, _LEAST)), values.get((*place, _MOST))
    return None if least is None or most is None else (least, most)


def ratio_bounds(values: Values, over: Place, under: Place) -> Bounds | None:
    """Between which two :func:`ratio` of two values of :func:`binned` lies; ``None`` of others."""
    top, bottom = bounds(values, over), bounds(values, under)
    if top is None or bottom is None:
        return None
    return (top[0] / bottom[1] if bottom[1] else math.nan, top[1] / bottom[0] if bottom[0] else math.inf)


def verdicts(
    experiment: str,
    measure: Callable[[Runs], _Measured],
    rule: Callable[[_Measured], Sequence[Claim]],
    runs: Runs,
    scale: Scale,
    *,
    pooled: bool = False,
) -> list[Verdict]:
    """The verdicts of a rule on what is measured of runs, mostly :data:`Values`.

    The value is the mean of what the seeds give, each for itself, with their t-interval. Of percentiles it is better
    ``pooled``: all flows together give the value, leaving out seeds its interval (:func:`jackknife`), so that it must
    not grow with the number of seeds, as a sum does. Of a value that is known only to a bin the interval goes from that
    of the bin's lower edge to that of its upper one: where a limit lies in the bin, the value cannot decide.
    """
    seeds = runs.seeds
    whole = rule(measure(runs)) if pooled else []
    points = [len(runs.where(seed=seed)) for seed in seeds]
    lacking = [count < max(points) for count in points]
    parts = [rule(measure(part)) for part in _parts(runs, pooled=pooled)] if not pooled or len(seeds) > 1 else []
    of_halves = [rule(measure(part)) for part in _halves(runs)] if pooled else []
    found = []
    for i, claim in enumerate(whole or parts[0]):
        own = [part[i] for part in parts]
        judged = seeds
        if not pooled:
            # Some of the points may have fewer seeds than others: what rests on them is judged by those that they have.
            has = [not (lacks and math.isnan(c.value)) for lacks, c in zip(lacking, own, strict=True)]
            own, judged = list(compress(own, has)), tuple(compress(seeds, has))
        half = [part[i] for part in of_halves]
        got = _estimate(claim, own, half, span_of(claim.limits, claim.most), pooled=pooled)
        got = counted(got) if claim.count else got
        stretch = max(part[i].stretch for part in (parts or [whole]))
        found.append(_verdict(experiment, claim, got, stretch, scale, judged))
    return found


def _parts(runs: Runs, *, pooled: bool) -> list[Runs]:
    """The runs of each seed; ``pooled``: those of all seeds but one."""
    return [Runs(tuple(run for run in runs if (run.point.seed == seed) != pooled)) for seed in runs.seeds]


def _halves(runs: Runs) -> list[Runs]:
    """The runs of groups of half of the seeds."""
    return [Runs(tuple(run for run in runs if run.point.seed in group)) for group in halves(runs.seeds)]


def _estimate(
    claim: Claim, parts: Sequence[Claim], of_halves: Sequence[Claim], span: Span | None, *, pooled: bool
) -> Estimate:
    """The estimate of a claim's value from what the parts of the runs give."""
    each, half = ([part.value for part in of] for of in (parts, of_halves))
    got = _over_seeds(claim.value, each, half, span, pooled=pooled)
    if claim.within is None or got.interval is None:
        return got
    ends = []
    for edge in (0, 1):
        each, half = ([part.within[edge] for part in of if part.within is not None] for of in (parts, of_halves))
        ends.append(_over_seeds(claim.within[edge], each, half, span, pooled=pooled).interval)
    least, most = ends
    # An edge without an interval, as the infinite one of a ratio to a queue of at least 0, leaves the value open.
    return Estimate(got.mean, (least[0], most[1]) if least and most else None)


def _over_seeds(
    whole: float, each: Sequence[float], half: Sequence[float], span: Span | None, *, pooled: bool
) -> Estimate:
    """An estimate from one value per seed; ``pooled``: from those of all seeds, of all but one and of half of them."""
    return jackknife(whole, each, span, half) if pooled else estimate(each, span=span)


def told(found: Mapping[Place, tuple[float, float]], figure: Figure | None = None) -> str:
    """The sentence of a caption that says what the whiskers of a figure are; empty where it has none.

    Of a ``figure`` in which some go beyond the axis it explains the arrows, too.
    """
    from paceline.plot import has_arrows

    arrow = "; an arrow: beyond the axis" if figure is not None and has_arrows(figure) else ""
    return f" Whiskers: 95 % confidence intervals over the seeds{arrow}." if found else ""


def intervals(
    measure: Measure, runs: Runs, *, pooled: bool = False, shares: Collection[str] = ()
) -> dict[Place, tuple[float, float]]:
    """The 95 % confidence intervals of all measured values, none of which is below 0, as verdicts have them.

    For figures and tables; values without one, as of too few seeds, are left out. A place in which one of ``shares``
    occurs has no value above 1.
    """
    seeds = runs.seeds
    if len(seeds) < LEAST_SEEDS:
        return {}
    parts = [measure(part) for part in _parts(runs, pooled=pooled)]
    of_halves = [measure(part) for part in _halves(runs)] if pooled else []
    found = {}
    for place, value in measure(runs).items():
        # Leaving out a seed that a place does not have leaves its value as it is.
        each = [part.get(place, math.nan) for part in parts if pooled or place in part]
        span = (0.0, math.inf if set(shares).isdisjoint(place) else 1.0)
        half = [part.get(place, math.nan) for part in of_halves]
        got = _over_seeds(value, each, half, span, pooled=pooled)
        if got.interval is not None:
            found[place] = got.interval
    return found


def _verdict(
    experiment: str, claim: Claim, got: Estimate, stretch: float, scale: Scale, seeds: tuple[int, ...]
) -> Verdict:
    open_end = ""
    if stretch > 1:
        if got.interval is not None:
            got = Estimate(got.mean, (got.interval[0], got.interval[1] * stretch))
        if stretch > WORTH_TELLING:
            most = f"up to {format_number(stretch)} times that" if math.isfinite(stretch) else "or anything above that"
            open_end = f"{most}, since some were open at the end"
    if claim.limits is None:
        outcome = Outcome.REPORT
    else:
        outcome = Outcome.NOT_JUDGED if scale is Scale.TINY else claim.limits.judge(got)
    return Verdict(
        id=f"{experiment}.{claim.id}",
        statement=claim.statement,
        published=claim.published,
        measured=got.mean if math.isfinite(got.mean) else None,
        tolerance=claim.limits.text if claim.limits else "–",
        verdict=outcome,
        variant=claim.variant,
        seeds=seeds,
        interval=got.interval,
        open_end=open_end,
        yes_no=claim.yes_no,
    )
