"""E2, E4 to E6, E8 to E11, E13, E18 and E20 to E22: what the study says of commercial traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from paceline.experiments.cee import matrix
from paceline.experiments.cee.hotspot import rules as hotspot_rules
from paceline.experiments.cee.hotspot import runs as hotspot
from paceline.experiments.cee.programs import runs as programs
from paceline.experiments.cee.queries import rules
from paceline.experiments.cee.queries import runs as queries
from paceline.experiments.cee.queries.runs import QueryCase
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

_TCP: Final = tuple(SCHEMES)
_CELLS: Final = tuple(CELLS)
_RUINED: Final = both_readings(("base", "qcn20"))
"""Cells of E20."""


def _plan(*cases: QueryCase, most: int = 3) -> Plan:
    """These cases, with so many seeds at most."""

    def plan(scale: Scale) -> Sequence[Point]:
        return [queries.point(case, scale, seed) for case in cases for seed in seeds(scale, most)]

    return plan


def _all(cells: Sequence[str], schemes: Sequence[str], *, udp: bool = False) -> list[QueryCase]:
    """With and without PFC."""
    return [QueryCase(cell, scheme, pfc, udp) for cell in cells for scheme in schemes for pfc in (False, True)]


def _both(*plans: Plan) -> Plan:
    def plan(scale: Scale) -> Sequence[Point]:
        return [point for one in plans for point in one(scale)]

    return plan


def measure(runs: Runs) -> Values:
    """What hot spots and queries say."""
    return {**hotspot.measure(runs.having("kind")), **queries.measure(runs.lacking("kind"))}


def show(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    crowds, rest = runs.having("kind"), runs.lacking("kind")
    tables = queries.tables(queries.measure(rest), queries.by_case(rest)) if len(rest) else []
    remarks = queries.remarks(queries.by_case(rest)) if len(rest) else []
    if len(crowds):
        tables.insert(0, hotspot.table(hotspot.measure(crowds), hotspot.by_case(crowds)))
        remarks = [*hotspot.REMARKS, *remarks]
    return Shown((), tables, remarks)


def _measure_all(runs: Runs) -> Values:
    """Queries, with and without UDP, and programs."""
    return {**queries.measure(runs.lacking("program")), **programs.measure(runs.having("program"))}


def _show_all(runs: Runs, _scale: Scale) -> Shown:
    """Tables of both."""
    values, rest, of_programs = _measure_all(runs), runs.lacking("program"), runs.having("program")
    tables = [*queries.tables(values, queries.by_case(rest)), programs.table(values, programs.by_case(of_programs))]
    remarks = [*queries.remarks(queries.by_case(rest)), *programs.remarks(programs.by_case(of_programs))]
    return Shown((), tables, list(dict.fromkeys(remarks)))


def ecn_rule(values: Values) -> list[Claim]:
    """E2: hot spots, and queries."""
    found = hotspot_rules.ecn_rule(values)
    for what, prefix, words in rules.COMPLETIONS:
        over = rules.quotient(values, QueryCase("red", "new_reno"), QueryCase("red", "new_reno", pfc=True), what=what)
        text = f"{words} under RED, NewReno, without PFC over that with it"
        found.append(Claim(f"{prefix}queries", text, over, judge.above(1)))
    return found


def vegas_rule(values: Values) -> list[Claim]:
    """E4: hot spots, and queries in every cell."""
    found = hotspot_rules.vegas_rule(values)
    for what, prefix, words in rules.COMPLETIONS:
        for reading, cell, own in readings(_CELLS):
            over = rules.quotient(values, QueryCase(own, "vegas", pfc=True), QueryCase(own, "vegas"), what=what)
            text = f"Vegas, {ALL_CELLS[own].title}: {words} with PFC over that without"
            found.append(Claim(f"{prefix}queries.{cell}", text, over, judge.between(0.95, 1.05), variant=reading))
    lost = at(values, *QueryCase("base", "vegas").place("drops"))
    return [*found, Claim("queries.drops", "Vegas without PFC: packets of queries and background dropped", lost)]


def udp_fairness_rule(values: Values) -> list[Claim]:
    """E11: queries, and hot spots."""
    return [*rules.udp_fairness_rule(values), *hotspot_rules.udp_fairness_rule(values)]


def everywhere_rule(values: Values) -> list[Claim]:
    """E18: PFC helps in all tests: the 12 pairs of cells each of queries, queries beside UDP and programs."""
    found = []
    for what, prefix, words in (
        ("qct_aged_ms", "", "mean QCT (of queries alone or beside UDP, the unanswered at their age)"),
        ("fct_ms", "fct.", "mean FCT of background flows (beside queries alone or with UDP)"),
    ):
        for reading in READINGS:
            known: dict[str, list[float]] = {}
            for name, scheme, kind in product(CELLS, TITLES, matrix.KINDS):
                measured = what if kind.queries else "slowdown"
                on, off = (kind.place(read(name, reading), scheme, pfc, measured) for pfc in (True, False))
                if math.isfinite(over := ratio(values, on, off)):
                    known.setdefault(name, []).append(over)
            every = [over for of in known.values() for over in of]
            # QCN 20 is what the study excepts where it speaks of completion times (E6).
            others = [over for name, of in known.items() if name != "qcn20" for over in of]
            for id_, shorter, where, times in (
                ("share", [over <= 1.02 for over in every], "", "at most 1.02 times as large"),
                ("others", [over < 1 for over in others], " but QCN 20", "smaller"),
            ):
                share = sum(shorter) / len(shorter) if shorter else math.nan
                text = (
                    f"share of the pairs of cells{where} in which PFC makes the {words} or the slowdown of programs "
                    f"{times}{limiters(reading)}"
                )
                found.append(Claim(f"{prefix}{id_}", text, share, judge.at_least(1), most=1, variant=reading))
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
        _both(hotspot.crowds_under_red, _plan(*_all(("red",), ("new_reno",)))),
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
        _plan(*(QueryCase("base", scheme) for scheme in _TCP)),
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
            *_all(both_readings(("red", "qcn20", "qcn66")), _TCP),
            *(QueryCase("base", scheme) for scheme in _TCP),
            *(QueryCase(cell, "new_reno") for cell in both_readings(tuple(ABLATIONS))),
            most=queries.SEEDS,
        ),
    ),
    _experiment(
        10,
        "Who loses beside UDP",
        "Beside UDP most drops are UDP's, since TCP backs off.",
        rules.udp_drops_rule,
        _plan(*(QueryCase(cell, scheme, udp=True) for cell in both_readings(_CELLS) for scheme in _TCP)),
    ),
    _experiment(
        11,
        "Fairness between TCP and UDP",
        "Only QCN makes TCP and UDP share fairly.",
        udp_fairness_rule,
        _both(_plan(*_all(both_readings(_CELLS), ("new_reno",), udp=True)), hotspot.beside_udp),
    ),
    _experiment(
        13,
        "Commercial congestion",
        "Congestion by commercial traffic is sparse and transient.",
        rules.transient_rule,
        _plan(*(QueryCase("base", "new_reno", pfc, watched=True) for pfc in (False, True))),
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
        _plan(
            *(QueryCase(cell, scheme) for cell in _RUINED for scheme in _TCP),
            *(QueryCase(cell, "new_reno", **loads) for loads in queries.LOADS.values() for cell in _RUINED),
            most=queries.SEEDS,
        ),
    ),
    _experiment(
        21,
        "Bursts under RED and QCN",
        "Well set, RED is less sensitive to bursts than QCN.",
        rules.burst_rule,
        _plan(*(QueryCase(cell, "new_reno", size=n) for cell in both_readings(BURSTS) for n in SIZES)),
    ),
    _experiment(
        22,
        "The host's timers, clock and caches",
        "FreeBSD's own first timeout of 3 s, slop and clock make completion times longer.",
        rules.knob_rule,
        _plan(*(QueryCase("base", "new_reno", knob=knob) for knob in KNOBS)),
    ),
)
