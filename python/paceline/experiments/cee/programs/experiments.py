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
    values = programs.measure(runs)
    remarks = programs.setup_remarks(programs.watched_programs(values))
    return Shown((), [programs.watched_table(values)], [*remarks, larger])


def measure(runs: Runs) -> Values:
    """What programs and queries say."""
    return {**programs.measure(runs.having("program")), **queries.measure(runs.lacking("program"))}


def show(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    own, rest = runs.having("program"), runs.lacking("program")
    tables = [programs.table(programs.measure(own), programs.by_case(own))]
    if len(rest):
        tables += queries.tables(queries.measure(rest), queries.by_case(rest))
    remarks = programs.remarks(programs.by_case(own))
    remarks += queries.remarks(queries.by_case(rest)) if len(rest) else []
    return Shown((), tables, list(dict.fromkeys(remarks)))


def clock_rule(values: Values) -> list[Claim]:
    """E16: Vegas is best where clocks are fine."""
    kinds: tuple[tuple[str, _Case, str, str], ...] = (
        ("queries", queries.QueryCase, "qct_ms", "mean QCT"),
        ("background", queries.QueryCase, "fct_ms", "mean FCT of background flows"),
        ("programs", ProgramCase, "slowdown", "geometric mean of slowdowns"),
    )
    found = []
    for kind, case, what, words in kinds:
        lowest = f"in which Vegas has the lowest {words}, clock of"
        for reading in READINGS:
            cells = [read(name, reading) for name in CELLS]
            share = _vegas_is_best(values, case, what, "study", cells)
            text = f"share of the 8 cells {lowest} 1 µs{limiters(reading)}"
            found.append(Claim(f"{kind}.1us", text, share, judge.above(0.5), most=1, variant=reading))
        # The coarse clock is only run without feedback. What Vegas does not win there with the fine one it cannot lose.
        fine, coarse = (_vegas_is_best(values, case, what, knob, ("base",)) for knob in ("study", "clock_1ms"))
        over = coarse - fine if fine else math.nan
        text = f"share of the 2 cells without feedback {lowest} 1 ms, less that with 1 µs; nothing where that is 0"
        found += [
            Claim(f"{kind}.1ms", f"share of the 2 cells without feedback {lowest} 1 ms", coarse, most=1),
            Claim(f"{kind}.lost", text, over, judge.below(0), most=1),
        ]
    return found


def _vegas_is_best(values: Values, case: _Case, what: str, knob: str, cells: Sequence[str]) -> float:
    """In which share of the cells that have values of all schemes that of Vegas is the lowest."""
    best = []
    for cell in cells:
        for pfc in (False, True):
            got = {scheme: at(values, *case(cell, scheme, pfc, knob=knob).place(what)) for scheme in SCHEMES}
            if all(map(math.isfinite, got.values())):
                best.append(min(got, key=lambda scheme: got[scheme]) == "vegas")
    return sum(best) / len(best) if best else math.nan


EXPERIMENTS = (
    experiment(
        "E12",
        "Scientific congestion",
        "Congestion by message-passing programs is sustained and involves all hosts; QCN at 20 KB mitigates it.",
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
