"""E2, E4 to E6, E8 to E11, E13, E18 and E20 to E22: what the study says of commercial traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from paceline.experiments.cee import matrix
from paceline.experiments.cee.hotspot import rules as hotspot_rules
from paceline.experiments.cee.hotspot import runs as hotspot
from paceline.experiments.cee.programs import runs as programs
from paceline.experiments.cee.queries import rules
from paceline.experiments.cee.queries import runs as queries
from paceline.experiments.cee.setup import (
    ABLATIONS,
    ALL_CELLS,
    BURSTS,
    CELLS,
    KNOBS,
    READINGS,
    SCHEMES,
    SIZES,
    TITLES,
    both_readings,
    limiters,
    read,
    readings,
)
from paceline.experiments.cee.study import Plan, experiment, seeds
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, at, ratio
from paceline.reproduce.model import Experiment, Scale, Shown
from paceline.sweeps.points import Point, Runs
from paceline.tables import Table

_TCP: Final = tuple(SCHEMES)
_CELLS: Final = tuple(CELLS)


def _plan(*wanted: tuple[str, str, int, int], most: int = 3) -> Plan:
    """Cells by name, scheme, PFC and UDP, with so many seeds at most."""

    def plan(scale: Scale) -> Sequence[Point]:
        return [queries.point(*one, scale, seed) for one in wanted for seed in seeds(scale, most)]

    return plan


def _with(*wanted: tuple[str, str, int, str, int]) -> Plan:
    """Cells without UDP, with a knob and a message size."""

    def plan(scale: Scale) -> Sequence[Point]:
        return [
            queries.point(cell, scheme, pfc, 0, scale, seed, knob, size)
            for cell, scheme, pfc, knob, size in wanted
            for seed in seeds(scale)
        ]

    return plan


def _all(cells: Sequence[str], schemes: Sequence[str], udp: int = 0) -> list[tuple[str, str, int, int]]:
    return [(cell, scheme, pfc, udp) for cell in cells for scheme in schemes for pfc in (0, 1)]


def _both(*plans: Plan) -> Plan:
    def plan(scale: Scale) -> Sequence[Point]:
        return [point for one in plans for point in one(scale)]

    return plan


def _loaded(scale: Scale) -> Sequence[Point]:
    """NewReno without marking and under QCN in both readings: twice the background; two and four times the queries."""
    loads = ((20, queries.FOREGROUND), (queries.BACKGROUND, 10), (queries.BACKGROUND, 20))
    return [
        queries.point(cell, "new_reno", 0, 0, scale, seed, load=load, queries=foreground)
        for load, foreground in loads
        for cell in both_readings(("base", "qcn20"))
        for seed in seeds(scale, queries.SEEDS)
    ]


def _split(runs: Runs) -> tuple[Runs, Runs]:
    """Hot spots and queries."""
    crowds = tuple(r for r in runs if "kind" in r.point.key)
    return Runs(crowds), Runs(tuple(r for r in runs if "kind" not in r.point.key))


def measure(runs: Runs) -> Values:
    """What hot spots and queries say."""
    crowds, rest = _split(runs)
    return {**hotspot.measure(crowds), **queries.measure(rest)}


def show(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    crowds, rest = _split(runs)
    tables: list[Table] = [queries.table(queries.measure(rest))] if len(rest) else []
    remarks = list(queries.REMARKS)
    if len(crowds):
        tables.insert(0, hotspot.table(hotspot.measure(crowds)))
        remarks = [*hotspot.REMARKS, *remarks]
    return Shown((), tables, remarks)


def _measure_all(runs: Runs) -> Values:
    """Queries, with and without UDP, and programs."""
    of_programs = Runs(tuple(r for r in runs if "program" in r.point.key))
    rest = Runs(tuple(r for r in runs if "program" not in r.point.key))
    return {**queries.measure(rest), **programs.measure(of_programs)}


def _show_all(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    values = _measure_all(runs)
    of_programs: Values = {place: v for place, v in values.items() if len(place) > 4 and place[1] in ALL_CELLS}
    rest: Values = {place: value for place, value in values.items() if place not in of_programs}
    return Shown((), [queries.table(rest), programs.table(of_programs)], [*queries.REMARKS, *programs.REMARKS])


def ecn_rule(values: Values) -> list[Claim]:
    """E2: hot spots, and queries."""
    off, on = (("red", "new_reno", pfc, 0.0, "qct_ms") for pfc in (0.0, 1.0))
    text = "mean QCT under RED, NewReno, without PFC over that with it"
    return [*hotspot_rules.ecn_rule(values), Claim("queries", text, ratio(values, off, on), judge.above(1))]


def vegas_rule(values: Values) -> list[Claim]:
    """E4: hot spots, and queries in every cell."""
    found = hotspot_rules.vegas_rule(values)
    for reading, cell, own in readings(_CELLS):
        on, off = ((own, "vegas", pfc, 0.0, "qct_ms") for pfc in (1.0, 0.0))
        text = f"Vegas, {ALL_CELLS[own].title}: mean QCT with PFC over that without"
        over = ratio(values, on, off)
        found.append(Claim(f"queries.{cell}", text, over, judge.between(0.95, 1.05), variant=reading))
    lost = at(values, "base", "vegas", 0.0, 0.0, "drops")
    return [*found, Claim("queries.drops", "Vegas without PFC: packets of queries and background dropped", lost)]


def udp_fairness_rule(values: Values) -> list[Claim]:
    """E11: queries, and hot spots."""
    return [*rules.udp_fairness_rule(values), *hotspot_rules.udp_fairness_rule(values)]


def everywhere_rule(values: Values) -> list[Claim]:
    """E18: PFC helps on the whole: the 12 pairs of cells each of queries, queries beside UDP and programs."""
    found = []
    for reading in READINGS:
        known = []
        for cell in (read(name, reading) for name in CELLS):
            for scheme in TITLES:
                ratios = [
                    ratio(values, (cell, scheme, 1.0, 0.0, "qct_ms"), (cell, scheme, 0.0, 0.0, "qct_ms")),
                    ratio(values, (cell, scheme, 1.0, 1.0, "qct_ms"), (cell, scheme, 0.0, 1.0, "qct_ms")),
                    ratio(values, ("all", cell, scheme, 1.0, "slowdown"), ("all", cell, scheme, 0.0, "slowdown")),
                ]
                known += [r for r in ratios if math.isfinite(r)]
        share = sum(r <= 1.02 for r in known) / len(known) if known else math.nan
        text = (
            "pairs of cells in which PFC makes the mean QCT, of queries alone or beside UDP, or the slowdown of "
            f"programs at most 1.02 times{limiters(reading)}"
        )
        found.append(Claim("share", text, share, judge.at_least(0.9), most=1, variant=reading))
    return found


def _experiment(number: int, title: str, statement: str, rule: Any, plan: Plan) -> Experiment:
    return experiment(f"E{number}", title, statement, plan, measure=measure, rule=rule, show=show)


EXPERIMENTS = (
    _experiment(
        2,
        "RED without PFC",
        "Under RED losses beside marks are repaired by timeouts only: duplicate ACKs are ignored after an "
        "ECN reduction. With PFC there are no losses.",
        ecn_rule,
        _both(hotspot.crowds_under_red, _plan(*(("red", "new_reno", pfc, 0) for pfc in (0, 1)))),
    ),
    _experiment(
        4,
        "Vegas and PFC",
        "Vegas keeps the queue short, so that PFC changes nothing.",
        vegas_rule,
        _both(hotspot.vegas_crowds, _plan(*_all(both_readings(_CELLS), ("vegas",)))),
    ),
    _experiment(
        5,
        "Losses without PFC",
        "Without PFC CUBIC completes queries later than NewReno and Vegas, and loses more.",
        rules.losses_rule,
        _plan(*(("base", scheme, 0, 0) for scheme in _TCP)),
    ),
    _experiment(
        6,
        "PFC and completion times",
        "PFC shortens completion times by avoiding timeouts, except with QCN at 20 KB.",
        rules.pfc_rule,
        _plan(*_all(both_readings(_CELLS), _TCP), most=queries.SEEDS),
    ),
    _experiment(
        8,
        "QCN's set point",
        "QCN at 66 KB tolerates TCP's bursts better than at 20 KB.",
        rules.set_point_rule,
        _plan(*_all(both_readings(("qcn20", "qcn66")), _TCP), most=queries.SEEDS),
    ),
    _experiment(
        9,
        "RED against QCN",
        "RED completes queries earlier than QCN, with and without PFC: it looks at an average, acts in the transport, "
        "and does not delay SYNs.",
        rules.red_rule,
        _plan(
            *_all(both_readings(("red", "qcn20", "qcn66")), ("new_reno",)),
            *((cell, "new_reno", 0, 0) for cell in both_readings(tuple(ABLATIONS))),
            most=queries.SEEDS,
        ),
    ),
    _experiment(
        10,
        "Who loses beside UDP",
        "Beside UDP most drops are UDP's, since TCP backs off.",
        rules.udp_drops_rule,
        _plan(*((cell, "new_reno", 0, 1) for cell in both_readings(_CELLS))),
    ),
    _experiment(
        11,
        "Fairness between TCP and UDP",
        "Only QCN makes TCP and UDP share fairly.",
        udp_fairness_rule,
        _both(_plan(*_all(both_readings(_CELLS), ("new_reno",), udp=1)), hotspot.beside_udp),
    ),
    _experiment(
        13,
        "Commercial congestion",
        "Congestion by commercial traffic is sparse and transient.",
        rules.transient_rule,
        _plan(("base", "new_reno", 0, 0)),
    ),
    experiment(
        "E18",
        "PFC on the whole",
        "PFC improves completion times in all tests.",
        # The runs of M1, M2 and M3.
        _both(*(kind.plan for kind in matrix.KINDS)),
        measure=_measure_all,
        rule=everywhere_rule,
        show=_show_all,
        pooled=True,
    ),
    _experiment(
        20,
        "QCN and commercial traffic",
        "QCN at 20 KB without PFC makes completion times 131 to 311 % longer.",
        rules.ruin_rule,
        _both(
            _plan(
                *((cell, scheme, 0, 0) for cell in both_readings(("base", "qcn20")) for scheme in _TCP),
                most=queries.SEEDS,
            ),
            _loaded,
        ),
    ),
    _experiment(
        21,
        "Bursts under RED and QCN",
        "Well set, RED is less sensitive to bursts than QCN.",
        rules.burst_rule,
        _with(*((c, "new_reno", 0, "study", n) for c in both_readings(BURSTS) for n in SIZES)),
    ),
    _experiment(
        22,
        "The host's timers, clock and caches",
        "FreeBSD's own first timeout of 3 s, slop and clock make completion times far longer.",
        rules.knob_rule,
        _with(*(("base", "new_reno", 0, knob, 20) for knob in KNOBS)),
    ),
)
