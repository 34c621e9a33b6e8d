"""E12, E14 and E15: what the study says of message-passing programs; and E16, of them and of queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from paceline.experiments.cee.programs import rules
from paceline.experiments.cee.programs import runs as programs
from paceline.experiments.cee.queries import runs as queries
from paceline.experiments.cee.setup import CELLS, SCHEMES, both_readings, limiters, read
from paceline.experiments.cee.study import experiment, seeds
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values
from paceline.reproduce.model import Scale, Shown
from paceline.sweeps.points import Point, Runs
from paceline.tables import Table

_TCP: Final = tuple(SCHEMES)
_CELLS: Final = both_readings(tuple(CELLS))


def _schemes(scale: Scale) -> tuple[str, ...]:
    """All; at the smallest scale, which judges nothing, one."""
    return _TCP[:1] if scale is Scale.TINY else _TCP


def _all(scale: Scale) -> Sequence[Point]:
    return programs.points(_CELLS, _schemes(scale), (0, 1), scale)


def _without_pfc(scale: Scale) -> Sequence[Point]:
    return programs.points(_CELLS, _schemes(scale), (0,), scale)


def _clocks(scale: Scale) -> Sequence[Point]:
    """Both clocks; the coarse one without feedback only."""
    found = list(_all(scale))
    for seed in seeds(scale):
        for scheme in _TCP:
            for pfc in (0, 1):
                found += [queries.point(cell, scheme, pfc, 0, scale, seed) for cell in _CELLS]
                if scale is not Scale.TINY or (pfc == 0 and scheme == "new_reno"):
                    found.append(queries.point("base", scheme, pfc, 0, scale, seed, "clock_1ms"))
    return [*found, *programs.points(("base",), _schemes(scale), (0, 1), scale, "clock_1ms")]


def _show_watched(runs: Runs, _scale: Scale) -> Shown:
    """What the ports show while programs run."""
    larger = "FT of a larger class: B at quick scale, C at paper scale, all messages of its transpose posted at once."
    return Shown((), [programs.watched_table(programs.measure(runs))], [*programs.REMARKS, larger])


def _split(runs: Runs) -> tuple[Runs, Runs]:
    """Programs and queries."""
    mine = tuple(r for r in runs if "program" in r.point.key)
    return Runs(mine), Runs(tuple(r for r in runs if "program" not in r.point.key))


def measure(runs: Runs) -> Values:
    """What programs and queries say."""
    own, rest = _split(runs)
    return {**programs.measure(own), **queries.measure(rest)}


def show(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    own, rest = _split(runs)
    tables: list[Table] = [programs.table(programs.measure(own))]
    if len(rest):
        tables.append(queries.table(queries.measure(rest)))
    return Shown((), tables, [*programs.REMARKS, *(queries.REMARKS if len(rest) else ())])


CLOCKS: Final = {"1us": "1 µs", "1ms": "1 ms"}
"""Of the hosts' TCP, as statements say them."""


def clock_rule(values: Values) -> list[Claim]:
    """E16: Vegas is best where clocks are fine."""
    found = []
    for name, text, what in (
        ("queries", "mean QCT", "qct_ms"),
        ("programs", "geometric mean of slowdowns", "slowdown"),
    ):
        # The coarse clock is only run without feedback, where there are no limiters.
        for clock, reading in (*((clock, "default") for clock in CLOCKS), ("1us", "limiter_per_adapter")):
            best = []
            for cell in (read(name, reading) for name in CELLS):
                for pfc in (0.0, 1.0):
                    got = {s: values.get(_place(name, cell, s, pfc, clock, what), math.nan) for s in SCHEMES}
                    if all(map(math.isfinite, got.values())):
                        best.append(min(got, key=lambda s: got[s]) == "vegas")
            share = sum(best) / len(best) if best else math.nan
            limits = judge.above(0.5) if clock == "1us" else judge.at_most(0.5)
            among = "8 cells" if clock == "1us" else "2 cells without feedback"
            lowest = f"share of the {among} in which Vegas has the lowest {text}"
            statement = f"{lowest}, clock of {CLOCKS[clock]}{limiters(reading)}"
            found.append(Claim(f"{name}.{clock}", statement, share, limits, most=1, variant=reading))
    return found


def _place(name: str, cell: str, scheme: str, pfc: float, clock: str, what: str) -> tuple[str | float, ...]:
    if name == "queries":
        return (cell, scheme, pfc, 0.0, *(() if clock == "1us" else ("clock_1ms", 20.0)), what)
    return ("all", cell, scheme, pfc, *(() if clock == "1us" else ("clock_1ms",)), what)


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
