"""E12, E14 and E15: what the study says of message-passing programs; and E16, of them and of queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from paceline.experiments.cee.programs import rules
from paceline.experiments.cee.programs import runs as programs
from paceline.experiments.cee.programs.runs import ProgramCase
from paceline.experiments.cee.queries import runs as queries
from paceline.experiments.cee.setup import CELLS, READINGS, SCHEMES, both_readings, limiters, read
from paceline.experiments.cee.study import experiment, seeds
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, at
from paceline.reproduce.model import Scale, Shown
from paceline.sweeps.points import Point, Runs

_Case = type[ProgramCase] | type[queries.QueryCase]
"""Cases of programs, or those of queries."""

_TCP: Final = tuple(SCHEMES)
_CELLS: Final = both_readings(tuple(CELLS))


def _cases(scale: Scale, cells: Sequence[str], pfcs: Sequence[bool], knob: str = "study") -> list[ProgramCase]:
    """With all schemes; at the smallest scale, which judges nothing, with one."""
    schemes = _TCP[:1] if scale is Scale.TINY else _TCP
    return [ProgramCase(cell, scheme, pfc, knob) for cell in cells for scheme in schemes for pfc in pfcs]


def _all(scale: Scale) -> Sequence[Point]:
    return programs.points(_cases(scale, _CELLS, (False, True)), scale)


def _without_pfc(scale: Scale) -> Sequence[Point]:
    return programs.points(_cases(scale, _CELLS, (False,)), scale)


def _clocks(scale: Scale) -> Sequence[Point]:
    """Both clocks; the coarse one without feedback only."""
    found = list(_all(scale))
    for seed in seeds(scale):
        for scheme in _TCP:
            for pfc in (False, True):
                cases = [queries.QueryCase(cell, scheme, pfc) for cell in _CELLS]
                if scale is not Scale.TINY or (scheme == "new_reno" and not pfc):
                    cases.append(queries.QueryCase("base", scheme, pfc, knob="clock_1ms"))
                found += [queries.point(case, scale, seed) for case in cases]
    return [*found, *programs.points(_cases(scale, ("base",), (False, True), "clock_1ms"), scale)]


def _show_watched(runs: Runs, _scale: Scale) -> Shown:
    """What the ports show while programs run."""
    larger = "FT of a larger class: B at quick scale, C at paper scale, all messages of its transpose posted at once."
    return Shown((), [programs.watched_table(programs.measure(runs))], [*programs.REMARKS, larger])


def measure(runs: Runs) -> Values:
    """What programs and queries say."""
    return {**programs.measure(runs.having("program")), **queries.measure(runs.lacking("program"))}


def show(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    own, rest = runs.having("program"), runs.lacking("program")
    tables = [programs.table(programs.measure(own), programs.by_case(own))]
    if len(rest):
        tables.append(queries.table(queries.measure(rest), queries.by_case(rest)))
    remarks = programs.remarks(programs.by_case(own))
    remarks += queries.remarks(queries.by_case(rest)) if len(rest) else []
    return Shown((), tables, list(dict.fromkeys(remarks)))


def clock_rule(values: Values) -> list[Claim]:
    """E16: Vegas is best where clocks are fine."""
    fine = ("1us", "1 µs", "study", "8 cells", judge.above(0.5))
    coarse = ("1ms", "1 ms", "clock_1ms", "2 cells without feedback", judge.at_most(0.5))
    kinds: tuple[tuple[str, _Case, str, str], ...] = (
        ("queries", queries.QueryCase, "qct_ms", "mean QCT"),
        ("programs", ProgramCase, "slowdown", "geometric mean of slowdowns"),
    )
    found = []
    for kind, case, what, words in kinds:
        for reading in READINGS:
            # The coarse clock is only run without feedback, where there are no limiters.
            for name, clock, knob, among, limits in (fine,) if READINGS[reading] else (fine, coarse):
                share = _vegas_is_best(values, case, what, knob, reading)
                text = (
                    f"share of the {among} in which Vegas has the lowest {words}, clock of {clock}{limiters(reading)}"
                )
                found.append(Claim(f"{kind}.{name}", text, share, limits, most=1, variant=reading))
    return found


def _vegas_is_best(values: Values, case: _Case, what: str, knob: str, reading: str) -> float:
    """In which share of the cells that have values of all schemes that of Vegas is the lowest."""
    best = []
    for cell in (read(name, reading) for name in CELLS):
        for pfc in (False, True):
            got = {scheme: at(values, *case(cell, scheme, pfc, knob=knob).place(what)) for scheme in SCHEMES}
            if all(map(math.isfinite, got.values())):
                best.append(min(got, key=lambda scheme: got[scheme]) == "vegas")
    return sum(best) / len(best) if best else math.nan


EXPERIMENTS = (
    experiment(
        "E12",
        "Scientific congestion",
        "Congestion by message-passing programs is sustained and involves all hosts.",
        programs.watched,
        measure=measure,
        rule=rules.sustained_rule,
        show=_show_watched,
    ),
    experiment(
        "E14",
        "The best for scientific traffic",
        "RED with PFC slows programs least.",
        _all,
        measure=measure,
        rule=rules.best_rule,
        show=show,
    ),
    experiment(
        "E15",
        "The best without PFC",
        "Without PFC QCN at 20 KB slows programs least, less than switches without feedback.",
        _without_pfc,
        measure=measure,
        rule=rules.without_pfc_rule,
        show=show,
    ),
    experiment(
        "E16",
        "TCP's delay control and clocks",
        "Vegas is the best of the three, given clocks of high resolution.",
        _clocks,
        measure=measure,
        rule=clock_rule,
        show=show,
    ),
)
