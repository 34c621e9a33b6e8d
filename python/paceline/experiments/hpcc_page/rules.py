"""The statements of the HPCC page as claims about a set of curves.

A rule is a pure function of :class:`Curves`: it is computed from the published curves, where every claim must hold,
and from measured ones. Ratios are CDF-weighted geometric means over bins, WebSearch and Hadoop apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np

from paceline.analysis import F8, Bools
from paceline.experiments.hpcc_page.curves import (
    ALL,
    FROM_1MB,
    FROM_6MB,
    LOADS,
    MAIN,
    OTHERS,
    PERCENTILES,
    SCHEMES,
    TITLES,
    UP_TO_20KB,
    UP_TO_200KB,
    WORKLOADS,
    CurveId,
    Curves,
    Span,
    decile_masks,
    published,
)
from paceline.reproduce.claims import Claim
from paceline.reproduce.judge import above, at_least, at_most, below, between, percent_of

Rule = Callable[[Curves], list[Claim]]

TOLERANCE: Final = {50: 5.0, 95: 10.0, 99: 15.0}
"""How far, in percent, the mean ratio of a measured curve to the published one may be from 1, by percentile."""


def _name(scheme: str) -> str:
    return SCHEMES[scheme]


HPCC: Final = ("hpcc_pint", "hpcc_int")
"""What the page calls HPCC. Claims about the first have the shorter names."""


def _suffix(scheme: str) -> str:
    """How the names of claims about a scheme of :data:`HPCC` end."""
    return "" if scheme == HPCC[0] else f".{scheme}"


def _place(workload: str, load: int, q: int) -> str:
    return f"{TITLES[workload]} {load} %, p{q}"


def curve_match(workload: str, load: int, schemes: Sequence[str] = MAIN) -> Rule:
    """H1 and H2, one load: measured over published slowdown, per curve: over all bins and the worst tenth of them."""

    def rule(curves: Curves) -> list[Claim]:
        return [
            claim
            for q in PERCENTILES
            for scheme in schemes
            for claim in _match(curves, CurveId(workload, load, scheme, q), relative=False)
        ]

    return rule


def curve_match_relative(workload: str, load: int) -> Rule:
    """H1 and H2, one load: the same for each scheme's ratio to HPCC-INT.

    That leaves out what is common to all schemes: how far the backlog has built up.
    """

    def rule(curves: Curves) -> list[Claim]:
        return [
            claim
            for q in PERCENTILES
            for scheme in MAIN
            if scheme != "hpcc_int"
            for claim in _match(curves, CurveId(workload, load, scheme, q), relative=True)
        ]

    return rule


AT_150: Final = ("hpcc_pint_eta150", "hpcc_int_eta150")
"""HPCC with a target utilisation of 150 %, of which the page has figures at 70 % load."""


def target_150(curves: Curves) -> list[Claim]:
    """H16: measured over published slowdown with a target of 150 %, and the same of ratios to HPCC-INT with 99 %."""
    return [
        claim
        for workload, q, scheme, relative in product(WORKLOADS, PERCENTILES, AT_150, (False, True))
        for claim in _match(curves, CurveId(workload, 70, scheme, q), relative=relative, named=workload)
    ]


def target_150_relative(curves: Curves) -> list[Claim]:
    """H16 where the backlog has not built up: the claims are about ratios to HPCC-INT alone."""
    return [q if ".relative" in q.id else replace(q, limits=None) for q in target_150(curves)]


def without_window(curves: Curves) -> list[Claim]:
    """DCQCN and TIMELY without a window, WebSearch at 30 %: worse than with one, says the page, without their curves.

    And how much shorter flows of some size take with HPCC-INT than with DCQCN: of a deployment it says up to 95 %.
    """
    found = []
    for q in PERCENTILES:
        for scheme in ("dcqcn", "timely"):
            with_window = f"{scheme}_w"
            plain, windowed = (CurveId("websearch", 30, s, q) for s in (scheme, with_window))
            value = curves.mean(plain) if plain in curves.values else math.nan
            place = _place("websearch", 30, q)
            what = f"{place}: {_name(scheme)} without a window, CDF-weighted mean slowdown"
            found.append(Claim(f"load30.p{q}.{scheme}", what, value))
            what = f"{place}: {_name(scheme)} without a window over {_name(with_window)}, CDF-weighted mean slowdowns"
            worse = value / curves.mean(windowed) if windowed in curves.values else math.nan
            found.append(Claim(f"load30.p{q}.{scheme}.window", what, worse, above(1)))
        pair = (CurveId("websearch", 30, "hpcc_int", q), CurveId("websearch", 30, "dcqcn", q))
        over = curves[pair[0]] / curves[pair[1]] if set(pair) <= set(curves.values) else np.empty(0)
        most = 1 - min(over[np.isfinite(over)].tolist(), default=math.nan)
        what = f"{_place('websearch', 30, q)}: by how much HPCC-INT is below DCQCN without a window, most of all sizes"
        found.append(Claim(f"load30.p{q}.dcqcn.saved", what, most, published="up to 0.95"))
    return found


def without_claims(rule: Rule) -> Rule:
    """The rule's claims as values, for information only."""
    return lambda curves: [replace(claim, limits=None) for claim in rule(curves)]


def tenths(curves: Curves, curve: CurveId) -> list[float]:
    """Measured over published slowdown, the mean of each tenth of the flow-size distribution; nan without flows."""
    log = _log_ratio(curves, curve)
    return [math.exp(_mean(log, curves, curve, mask)) for mask in decile_masks(curves.bins[curve.workload])]


def _log_ratio(curves: Curves, curve: CurveId) -> F8:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(curves[curve] / published()[curve])


def _mean(values: F8, curves: Curves, curve: CurveId, mask: Bools) -> float:
    """Mean over bins of a curve, each with its share of the flow-size distribution."""
    use, weight = mask & np.isfinite(values), curves.bins[curve.workload].weight
    return float(np.average(values[use], weights=weight[use])) if use.any() else math.nan


def _match(curves: Curves, curve: CurveId, *, relative: bool, named: str = "load") -> list[Claim]:
    """One curve against the published one; what names of the claims begin with is ``named``, before the load."""
    log, bins = _log_ratio(curves, curve), curves.bins[curve.workload]
    if relative:
        log = log - _log_ratio(curves, replace(curve, scheme="hpcc_int"))

    def mean(values: F8, mask: Bools) -> float:
        return _mean(values, curves, curve, mask)

    everywhere = np.ones(len(bins), dtype=bool)
    deciles = [mean(log, mask) for mask in decile_masks(bins)]
    worst = max((d for d in deciles if math.isfinite(d)), key=abs, default=math.nan)
    t = TOLERANCE[curve.q]
    over = " over HPCC-INT" if relative else ""
    what = f"{_place(curve.workload, curve.load, curve.q)}: {_name(curve.scheme)}{over}, measured / published"
    name = f"{named}{curve.load}.p{curve.q}.{curve.scheme}" + (".relative" if relative else "")
    return [
        Claim(name, what, math.exp(mean(log, everywhere)), percent_of(1, t)),
        Claim(f"{name}.decile", f"{what}, worst tenth of the sizes", math.exp(worst), percent_of(1, 2 * t)),
        Claim(f"{name}.error", f"{what}, mean |log ratio|", mean(np.abs(log), everywhere)),
    ]


ALIKE: Final = between(0.9, 1.1)
"""Ratios of slowdowns that the page calls similar, or not sensitive; it names no number (published: 0.94 to 1.04)."""


def targets(curves: Curves) -> list[Claim]:
    """H3: target 99 over 95 %, sign of every band: long flows gain, the tail of short ones loses; little over all."""
    found = [q for workload in WORKLOADS for load in LOADS for q in _bands(curves, workload, load)]
    for workload in WORKLOADS:
        for load in LOADS:
            for scheme in ("hpcc_int", "hpcc_pint"):
                for q in PERCENTILES:
                    value = _target_ratio(curves, workload, load, scheme, q, ALL)
                    what = f"{_place(workload, load, q)}: {_name(scheme)} 99 / 95 %, {ALL.title}"
                    found.append(Claim(f"{workload}{load}.p{q}.{scheme}.all", what, value, ALIKE))
    return found


def _target_ratio(curves: Curves, workload: str, load: int, scheme: str, q: int, span: Span) -> float:
    return curves.ratio(CurveId(workload, load, scheme, q), CurveId(workload, load, f"{scheme}_eta95", q), span)


def _bands(curves: Curves, workload: str, load: int) -> Iterable[Claim]:
    for scheme in ("hpcc_int", "hpcc_pint"):
        for span, short in ((FROM_1MB, False), (UP_TO_20KB, True)):
            for q in PERCENTILES:
                value = _target_ratio(curves, workload, load, scheme, q, span)
                what = f"{_place(workload, load, q)}: {_name(scheme)} 99 / 95 %, {span.title}"
                name = f"{workload}{load}.p{q}.{scheme}.{'short' if short else 'long'}"
                if not short:
                    yield Claim(name, what, value, below(1))
                elif q == 50:
                    yield Claim(name, what, value)  # published 0.998 to 1.03: no sign
                else:
                    yield Claim(name, what, value, above(1))


def short_flows_at_30(curves: Curves) -> list[Claim]:
    """H4: at 30 % the tail of short flows is better with HPCC, their median alike; over all sizes more so at Hadoop."""
    found = []
    for scheme in HPCC:
        for workload in WORKLOADS:
            for q in PERCENTILES:
                for other in OTHERS:
                    pair = (CurveId(workload, 30, other, q), CurveId(workload, 30, scheme, q))
                    what = f"{_place(workload, 30, q)}: {_name(other)} / {_name(scheme)}, {UP_TO_200KB.title}"
                    value, name = curves.ratio(*pair, UP_TO_200KB), f"{workload}.p{q}.{other}{_suffix(scheme)}"
                    found.append(Claim(name, what, value, ALIKE if q == 50 else at_least(1.45)))
    for scheme in HPCC:
        for q in (95, 99):
            for other in OTHERS:
                over = {w: curves.ratio(CurveId(w, 30, other, q), CurveId(w, 30, scheme, q), ALL) for w in WORKLOADS}
                what = f"30 %, p{q}: {_name(other)} / {_name(scheme)}, {ALL.title}, Hadoop over WebSearch"
                value = over["hadoop"] / over["websearch"]
                found.append(Claim(f"more.p{q}.{other}{_suffix(scheme)}", what, value, above(1)))
    return found


def long_flows_at_30(curves: Curves) -> list[Claim]:
    """H5: at 30 % long flows take longer with HPCC-INT than with the others, at p50 and p95; at p99 not all.

    Those of HPCC-PINT are "comparable" to the others', of which no limit follows: published 0.90 to 1.16.
    """
    found = []
    for scheme, own in (("hpcc_int", ""), ("hpcc_pint", ".hpcc_pint")):
        for workload, q, other in product(WORKLOADS, PERCENTILES, OTHERS):
            pair = (CurveId(workload, 30, scheme, q), CurveId(workload, 30, other, q))
            what = f"{_place(workload, 30, q)}: {_name(scheme)} / {_name(other)}, {FROM_1MB.title}"
            limits = above(1) if scheme == "hpcc_int" and q != 99 else None
            found.append(Claim(f"{workload}.p{q}.{other}{own}", what, curves.ratio(*pair, FROM_1MB), limits))
    return found


def pint_over_int(curves: Curves) -> list[Claim]:
    """H6: HPCC-PINT shortens long flows against HPCC-INT, by as much as published: of Hadoop the trend is similar."""
    found = []
    for workload in WORKLOADS:
        for load in LOADS:
            for q in PERCENTILES:
                pair = (CurveId(workload, load, "hpcc_int", q), CurveId(workload, load, "hpcc_pint", q))
                target = published().ratio(*pair, FROM_1MB)
                what = f"{_place(workload, load, q)}: HPCC-INT / HPCC-PINT, {FROM_1MB.title}"
                value, name = curves.ratio(*pair, FROM_1MB), f"{workload}{load}.p{q}"
                found.append(Claim(name, what, value, percent_of(target, 10)))
    return found


def short_flows_at_50(curves: Curves) -> list[Claim]:
    """H7: at 50 % even the median of short flows is better with HPCC."""
    found = []
    for scheme in HPCC:
        for workload, least in (("websearch", 1.15), ("hadoop", 1.10)):
            for other in OTHERS:
                pair = (CurveId(workload, 50, other, 50), CurveId(workload, 50, scheme, 50))
                what = f"{_place(workload, 50, 50)}: {_name(other)} / {_name(scheme)}, {UP_TO_200KB.title}"
                value, name = curves.ratio(*pair, UP_TO_200KB), f"{workload}.{other}{_suffix(scheme)}"
                found.append(Claim(name, what, value, at_least(least)))
    return found


def short_flow_gap(curves: Curves) -> list[Claim]:
    """H8: the gap of short flows, best of the others less HPCC, grows with load. Hadoop without a claim.

    Claims about HPCC-PINT and about p99s have the shorter names. In the published curves HPCC-INT's gap at p95 and p99
    shrinks from 50 to 70 %, of which nothing is claimed here.
    """
    found = []
    for scheme, q, workload in product(HPCC, reversed(PERCENTILES), WORKLOADS):
        own, name, gaps = "" if q == 99 else f".p{q}.", _name(scheme), []
        for load in LOADS:
            mean = {s: curves.mean(CurveId(workload, load, s, q), UP_TO_200KB) for s in (*OTHERS, scheme)}
            gaps.append(min(mean[s] for s in OTHERS) - mean[scheme])
            what = f"{_place(workload, load, q)}: mean slowdown of {UP_TO_200KB.title}, best of the others less {name}"
            found.append(Claim(f"{workload}{own}{load}{_suffix(scheme)}", what, gaps[-1]))
        for i in (1, 2):
            of = f"{WORKLOADS[workload]}, p{q}: best of the others less {name}, {UP_TO_200KB.title}"
            what = f"{of}: what it is at {LOADS[i]} % less what it is at {LOADS[i - 1]} %"
            said = workload == "websearch" and not (scheme == "hpcc_int" and q > 50 and LOADS[i] == 70)
            growth = f"{workload}{own or '.'}growth{LOADS[i]}{_suffix(scheme)}"
            found.append(Claim(growth, what, gaps[i] - gaps[i - 1], above(0) if said else None))
    return found


NOT_SLOWER: Final = 1.05
"""Largest ratio that reads as "not slower": the published one is 1.00, and two drawings of a bin differ by percents."""


def longest_flows_at_70(curves: Curves) -> list[Claim]:
    """H9: WebSearch at 70 %, > 6 MB: HPCC is slower than the others, more so in the tail.

    In the published curves HPCC-PINT is not slower than TIMELY+w, and HPCC-INT's gap to that is not larger in the tail.
    """

    def ratio(scheme: str, other: str, q: int) -> float:
        return curves.ratio(CurveId("websearch", 70, scheme, q), CurveId("websearch", 70, other, q), FROM_6MB)

    found = []
    for scheme in HPCC:
        for other in OTHERS:
            names, against_timely = f"{_name(scheme)} / {_name(other)}, {FROM_6MB.title}", other == "timely_w"
            claims = {50: above(1), 95: above(1)}
            if against_timely and scheme == "hpcc_pint":
                claims = {q: at_most(NOT_SLOWER) for q in (50, 99)}
            for q in PERCENTILES:
                value, name = ratio(scheme, other, q), f"p{q}.{other}{_suffix(scheme)}"
                found.append(Claim(name, f"{_place('websearch', 70, q)}: {names}", value, claims.get(q)))
            for q, growth in ((95, "growth"), (99, "growth99")):
                if not against_timely:
                    what = f"WebSearch 70 %: {names}: ratio at p{q} over ratio at p50"
                    value = ratio(scheme, other, q) / ratio(scheme, other, 50)
                    found.append(Claim(f"{growth}.{other}{_suffix(scheme)}", what, value, above(1)))
    return found


def hadoop_at_70(curves: Curves) -> list[Claim]:
    """H10: Hadoop at 70 %: the mean slowdown is lowest with HPCC, which leads more than at WebSearch."""
    found = []
    for q in PERCENTILES:
        mean = {s: curves.mean(CurveId("hadoop", 70, s, q)) for s in MAIN}
        for scheme in MAIN:
            target = published().mean(CurveId("hadoop", 70, scheme, q))
            what = f"{_place('hadoop', 70, q)}: {_name(scheme)}, CDF-weighted mean slowdown"
            limits = percent_of(target, 15) if q == 99 else None
            found.append(Claim(f"p{q}.{scheme}", what, mean[scheme], limits))
        best = min(mean[s] for s in MAIN if s != "hpcc_pint")
        what = f"{_place('hadoop', 70, q)}: best mean slowdown of the other four / HPCC-PINT"
        found.append(Claim(f"p{q}.order", what, best / mean["hpcc_pint"], above(1)))
        what = f"{_place('hadoop', 70, q)}: best mean slowdown of the three that are not HPCC / HPCC-INT"
        found.append(Claim(f"p{q}.hpcc_int.order", what, _lead(curves, "hadoop", "hpcc_int", q), above(1)))
        for scheme in HPCC:
            what = f"70 %, p{q}: best mean slowdown of the three that are not HPCC / {_name(scheme)}"
            over = _lead(curves, "hadoop", scheme, q) / _lead(curves, "websearch", scheme, q)
            found.append(Claim(f"p{q}.more{_suffix(scheme)}", f"{what}, Hadoop over WebSearch", over, above(1)))
    return found


def _lead(curves: Curves, workload: str, scheme: str, q: int) -> float:
    """At 70 %: the best mean slowdown of the schemes that are not HPCC, over that of one that is."""
    mean = {s: curves.mean(CurveId(workload, 70, s, q)) for s in (*OTHERS, scheme)}
    return min(mean[s] for s in OTHERS) / mean[scheme]


def hadoop_at_70_ordering(curves: Curves) -> list[Claim]:
    """H10 where the backlog has not built up: the claim is the ordering alone."""
    return [q if q.id.endswith("order") else replace(q, limits=None) for q in hadoop_at_70(curves)]


def targets_to_50(curves: Curves) -> list[Claim]:
    """H11: target 99 over 95 % up to 50 % load: long flows gain, the tail of short ones loses."""
    return [q for w in WORKLOADS for load in (30, 50) for q in _bands(curves, w, load)]


CLEARLY: Final = 0.9
"""Long flows gain clearly: by more than a tenth (published 0.71 to 0.88)."""


def targets_at_70(curves: Curves) -> list[Claim]:
    """H12: target 99 over 95 % at 70 % load: long HPCC-INT flows gain clearly, more than at 50 % and than PINT's."""
    found = []
    for workload in WORKLOADS:
        for q in PERCENTILES:
            at = {load: _target_ratio(curves, workload, load, "hpcc_int", q, FROM_1MB) for load in (50, 70)}
            what = f"{_place(workload, 70, q)}: HPCC-INT 99 / 95 %, {FROM_1MB.title}"
            found.append(Claim(f"{workload}.p{q}", what, at[70], below(CLEARLY)))
            found.append(Claim(f"{workload}.p{q}.growth", f"{what}, over that at 50 %", at[70] / at[50], below(1)))
            over = at[70] / _target_ratio(curves, workload, 70, "hpcc_pint", q, FROM_1MB)
            found.append(Claim(f"{workload}.p{q}.pint", f"{what}, over that of HPCC-PINT", over, below(1)))
    return found


def needed(rule: Rule) -> Sequence[CurveId]:
    """The curves that a rule looks at, in the order it does."""
    seen: dict[CurveId, None] = {}

    class Watched(Curves):
        def __getitem__(self, curve: CurveId) -> F8:
            seen.setdefault(curve)
            return super().__getitem__(curve)

    rule(Watched(published().bins, published().values))
    return tuple(seen)
