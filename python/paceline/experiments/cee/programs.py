"""E12, E14 and E15: what the study says of message-passing programs; and E16, of them and of queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from paceline.experiments.cee import queries, scientific
from paceline.experiments.cee import scientific_rules as rules
from paceline.experiments.cee.setup import CELLS, SCHEMES, both_readings
from paceline.experiments.cee.study import experiment, seeds
from paceline.reproduce.claims import Values
from paceline.reproduce.model import Scale, Shown
from paceline.sweeps.points import Point, Runs
from paceline.tables import Table

_TCP: Final = tuple(SCHEMES)
_CELLS: Final = both_readings(tuple(CELLS))


def _schemes(scale: Scale) -> tuple[str, ...]:
    """All; at the smallest scale, which judges nothing, one."""
    return _TCP[:1] if scale is Scale.TINY else _TCP


def _all(scale: Scale) -> Sequence[Point]:
    return scientific.points(_CELLS, _schemes(scale), (0, 1), scale)


def _without_pfc(scale: Scale) -> Sequence[Point]:
    return scientific.points(_CELLS, _schemes(scale), (0,), scale)


def _clocks(scale: Scale) -> Sequence[Point]:
    """Both clocks; the coarse one without feedback only."""
    found = list(_all(scale))
    for seed in seeds(scale):
        for scheme in _TCP:
            for pfc in (0, 1):
                found += [queries.point(cell, scheme, pfc, 0, scale, seed) for cell in _CELLS]
                if scale is not Scale.TINY or (pfc == 0 and scheme == "new_reno"):
                    found.append(queries.point("base", scheme, pfc, 0, scale, seed, "clock_1ms"))
    return [*found, *scientific.points(("base",), _schemes(scale), (0, 1), scale, "clock_1ms")]


def _show_watched(runs: Runs, _scale: Scale) -> Shown:
    """What the ports show while programs run."""
    larger = "FT of a larger class: B at quick scale, C at paper scale, all messages of its transpose posted at once."
    return Shown((), [scientific.watched_table(scientific.measure(runs))], [*scientific.REMARKS, larger])


def _split(runs: Runs) -> tuple[Runs, Runs]:
    """Programs and queries."""
    mine = tuple(r for r in runs if "program" in r.point.key)
    return Runs(mine), Runs(tuple(r for r in runs if "program" not in r.point.key))


def measure(runs: Runs) -> Values:
    """What programs and queries say."""
    programs, rest = _split(runs)
    return {**scientific.measure(programs), **queries.measure(rest)}


def show(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    programs, rest = _split(runs)
    tables: list[Table] = [scientific.table(scientific.measure(programs))]
    if len(rest):
        tables.append(queries.table(queries.measure(rest)))
    return Shown((), tables, [*scientific.REMARKS, *(queries.REMARKS if len(rest) else ())])


EXPERIMENTS = (
    experiment(
        "E12",
        "Scientific congestion",
        "Congestion by message-passing programs is sustained and involves all hosts.",
        scientific.watched,
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
        rule=rules.clock_rule,
        show=show,
    ),
)
