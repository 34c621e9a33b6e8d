"""From runs to verdicts: flows of all seeds together give the value, leaving out seeds its interval."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from paceline.analysis import Curve, Sample, SizeBins, percentile_curves
from paceline.experiments.hpcc_page.curves import PERCENTILES, CurveId, Curves, published, together
from paceline.experiments.hpcc_page.rules import Rule
from paceline.experiments.hpcc_page.setup import window_of
from paceline.reproduce import claims
from paceline.reproduce.claims import Claim
from paceline.reproduce.model import Scale, Verdict
from paceline.results import Results
from paceline.sweeps.points import Run, Runs
from paceline.tables import fewest

PS_PER_US = 1_000_000


def sample(folder: Path, workload: str, finished_by_ps: int | None = None) -> Sample:
    """Slowdown of the measured flows of the workload, incasts left out; with a limit, of those finished by then."""
    results = Results.load(folder)
    found = results.slowdown("hpcc")
    groups = tuple(results.summary["groups"])
    use = results.measured_codes("group") == groups.index(workload)
    if finished_by_ps is not None:
        end = results.flows["start_ps"][results.measured] + results.fct().value
        use &= ~found.censored & (end <= finished_by_ps)
    return found.where(use)


@lru_cache(maxsize=1024)
def _pooled(folders: tuple[Path, ...], workload: str, finished_by_ps: int | None) -> tuple[Curve, ...]:
    flows = together([sample(folder, workload, finished_by_ps) for folder in folders])
    return tuple(percentile_curves(flows, published().bins[workload], PERCENTILES, rule="hpcc"))


def measured_curves(runs: Runs, scale: Scale, *, only_finished: bool = False) -> dict[CurveId, Curve]:
    """The curves of runs, seeds together; of ``only_finished``, from flows that end before arrivals do."""
    parts: dict[tuple[str, int, str], list[Run]] = {}
    for run in runs:
        key = run.point.key
        parts.setdefault((str(key["workload"]), int(key["load"]), str(key["scheme"])), []).append(run)
    found = {}
    for (workload, load, scheme), of in parts.items():
        limit = window_of(scale, workload, load).arrivals_us * PS_PER_US if only_finished else None
        for curve in _pooled(tuple(run.folder for run in of), workload, limit):
            found[CurveId(workload, load, scheme, round(curve.q))] = curve
    return found


FEWEST_FLOWS: Final = 10 * fewest(99)
"""Flows per bin, on average, from which figures have the page's bins of 1 % of the sizes; with fewer, of a tenth.

Ten of them are beyond a p99. Curves through fewer leap from bin to bin, and ten such cannot be told apart.
"""


def drawn_curves(runs: Runs, scale: Scale) -> dict[CurveId, Curve]:
    """The curves as figures show them: of runs with few flows with a point in the middle of each tenth of the sizes.

    What is not shown is nan, so that all have the same bins. Those of a workload are alike.
    """
    found = measured_curves(runs, scale)
    few = {c.workload for c, curve in found.items() if curve.count.sum() < FEWEST_FLOWS * len(curve.bins)}
    if not few:
        return found
    drawn = {c: curve for c, curve in found.items() if c.workload not in few}
    for workload in few:
        for load, scheme in dict.fromkeys((c.load, c.scheme) for c in found if c.workload == workload):
            folders = [run.folder for run in runs.where(workload=workload, load=load, scheme=scheme)]
            flows = together([sample(folder, workload) for folder in folders])
            bins = published().bins[workload]
            last = np.unique([int(np.abs(bins.position - place).argmin()) for place in range(10, 101, 10)])
            tenths = SizeBins(bins.upper_bytes[last], bins.position[last], bins.smallest_bytes)
            middle = _middles(bins, last)
            for curve in percentile_curves(flows, tenths, PERCENTILES, rule="hpcc"):
                spread: dict[str, Any] = {}
                for name in ("value", "low", "high", "at_least", "count", "unfinished", "failed"):
                    values = getattr(curve, name)
                    spread[name] = np.full(len(bins), math.nan if values.dtype.kind == "f" else 0, dtype=values.dtype)
                    spread[name][middle] = values
                drawn[CurveId(workload, load, scheme, round(curve.q))] = replace(curve, bins=bins, **spread)
    return drawn


def _middles(bins: SizeBins, last: NDArray[np.intp]) -> list[int]:
    """The bins in the middle of the spans that end with those at ``last``.

    At its end a span would seem to be below a curve that rises, as most do.
    """
    found, first, edge = [], 0, 0.0
    for end in last.tolist():
        at = bins.position[first : end + 1]
        found.append(first + int(np.abs(at - (edge + at[-1]) / 2).argmin()))
        first, edge = end + 1, float(at[-1])
    return found


def curves_of(runs: Runs, scale: Scale, *, only_finished: bool = False) -> Curves:
    """The same as values per bin, as rules take them."""
    found = measured_curves(runs, scale, only_finished=only_finished)
    return Curves(published().bins, {curve: values.value for curve, values in found.items()})


def verdicts(
    experiment: str, rule: Rule, runs: Runs, scale: Scale, *, variant: str = "default", only_finished: bool = False
) -> list[Verdict]:
    """The verdicts of a rule on the runs, published values beside them."""
    said = {claim.id: claim.value for claim in rule(published())}

    def compared(curves: Curves) -> list[Claim]:
        return [
            replace(claim, published=value if math.isfinite(value := said[claim.id]) else None, variant=variant)
            for claim in rule(curves)
        ]

    def curves(chosen: Runs) -> Curves:
        return curves_of(chosen, scale, only_finished=only_finished)

    return claims.verdicts(experiment, curves, compared, runs, scale, pooled=True)
