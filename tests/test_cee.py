"""The rules of the converged-Ethernet study on published and altered statements, the plans, and tiny runs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from paceline import experiments
from paceline.experiments.cee import deadlock, matrix, setup
from paceline.experiments.cee.hotspot import rules as hotspot_rules
from paceline.experiments.cee.hotspot import runs as hotspot
from paceline.experiments.cee.hotspot.runs import Crowd
from paceline.experiments.cee.measures import (
    cycles,
    largest_of_capacity,
    largest_share,
    longest,
    share_between,
    stretches,
    time_to_fairness,
)
from paceline.experiments.cee.programs import experiments as program_experiments
from paceline.experiments.cee.programs import rules as program_rules
from paceline.experiments.cee.programs import runs as programs
from paceline.experiments.cee.queries import experiments as query_experiments
from paceline.experiments.cee.queries import rules as query_rules
from paceline.experiments.cee.queries import runs as queries
from paceline.experiments.cee.queries.runs import QueryCase
from paceline.experiments.cee.roundtrips import rules as roundtrip_rules
from paceline.experiments.cee.roundtrips import runs as roundtrips
from paceline.experiments.cee.setup import ABLATIONS, ALL_CELLS, BURSTS, READINGS, SCHEMES, XOFF, XON, read, readings
from paceline.reproduce.claims import Claim, Place
from paceline.reproduce.model import Scale
from paceline.run import simulate
from paceline.scenario import Scenario
from paceline.sweeps.points import Run, Runs
from paceline.sweeps.runner import prepare

IDS = {*(f"E{n}" for n in range(1, 27)), "M1", "M2", "M3"}
OURS = [e for e in experiments.experiments() if e.id in IDS]


NIC = read("qcn20", "limiter_per_adapter")


def failing(claims: list[Claim]) -> set[str]:
    """Claims that fail, those of a variant with it."""
    wrong = [claim for claim in claims if claim.limits and not claim.holds]
    return {claim.id if claim.variant in ("default", *_OTHERS) else f"{claim.id}@{claim.variant}" for claim in wrong}


_OTHERS = ("other_racks", "load_20", "queries_10", "queries_20")
"""Variants that are not told apart here."""


@pytest.mark.parametrize("senders", sorted({kind.senders for kind in hotspot.KINDS.values()} | {roundtrips.CROWD}))
def test_no_two_flows_of_a_hot_spot_begin_at_once_and_seeds_have_orders_of_their_own(senders: int) -> None:
    """With seed 3 all seven began at one instant, a synchronised incast among seeds that begin within a millisecond."""
    orders = [tuple(setup.turn(h, senders, seed) for h in range(senders)) for seed in range(1, 6)]
    assert all(sorted(order) == list(range(senders)) for order in orders)
    if senders > 4:
        assert len({*orders}) >= min(len(orders), senders // 2)
    point = hotspot.point(Crowd("short_7", "base", "new_reno"), Scale.TINY, 3)
    (flows,) = point.scenario.workloads
    assert len({row.start for row in flows.rows}) == 7


def test_hot_spots_hold_on_what_was_published_and_fail_on_altered_numbers() -> None:
    values: dict[Place, float] = {}
    off, on = ("short_7", "base", "new_reno", 0.0), ("short_7", "base", "new_reno", 1.0)
    values |= {(*off, "teeth"): 40.0, (*off, "drops"): 997.0, (*on, "drops"): 0.0}
    values |= {(*on, "queue_p50_kb"): 7 * XOFF / 1000, (*on, "held"): 0.98}
    assert failing(hotspot_rules.sawtooth_rule(values)) == set()
    values |= {(*on, "drops"): 1.0, (*on, "held"): 0.5}
    assert failing(hotspot_rules.sawtooth_rule(values)) == {"drops_on", "held"}
    winner = {(kind, "qcn66", "new_reno", 0.0, "share"): 0.41 for kind in ("greedy_7", "far_7", "far_7_near_7")}
    winner |= {(kind, "qcn66", "new_reno", 0.0, "blame"): 0.9 for kind in ("greedy_7", "far_7")}
    winner["far_7_near_7", "qcn66", "new_reno", 0.0, "blame"] = 0.2
    assert failing(hotspot_rules.winner_rule(winner)) == set()
    winner["greedy_7", "qcn66", "new_reno", 0.0, "share"] = 0.2
    winner["far_7", "qcn66", "new_reno", 0.0, "blame"] = 0.2
    assert failing(hotspot_rules.winner_rule(winner)) == {"share", "blame"}


def test_cubic_is_judged_in_both_forms_of_its_timeout() -> None:
    values: dict[Place, float] = {}
    for scheme, fair, drops in (
        ("new_reno", 20.0, 90.0),
        ("cubic", 90.0, 95.0),
        ("cubic_half", 20.0, 90.0),
        ("cubic_anew", 10.0, 99.0),
    ):
        place = ("late_7", "base", scheme, 0.0)
        values |= {(*place, "fair_ms"): fair, (*place, "drops"): drops}
    assert failing(hotspot_rules.convergence_rule(values)) == {"fair@timeout_anew"}


def test_ignored_duplicates_have_to_be_enough_for_most_timeouts() -> None:
    """That the study's reason explains most timeouts was said by no verdict, only that there is some of it."""
    values: dict[Place, float] = {}
    for n in hotspot.CROWDS:
        for pfc, fct, ignored, timeouts in ((0.0, 9.0, 20.0, 30.0), (1.0, 8.0, 0.0, 0.0)):
            place = (f"ends_{n}", "red", "new_reno", pfc)
            values |= {(*place, "fct_ms"): fct, (*place, "ignored_duplicates"): ignored, (*place, "timeouts"): timeouts}
        base = (f"ends_{n}", "base", "new_reno", 0.0)
        values |= {(*base, "ignored_duplicates"): 3.0, (*base, "timeouts"): 9.0}
    assert failing(hotspot_rules.ecn_rule(values)) == set()
    values["ends_32", "red", "new_reno", 0.0, "timeouts"] = 41.0
    assert failing(hotspot_rules.ecn_rule(values)) == {"n32.explained"}
    # Timeouts bring such duplicates, too: as many for each where nothing is marked are no sign of marks.
    values["ends_16", "base", "new_reno", 0.0, "ignored_duplicates"] = 6.0
    assert failing(hotspot_rules.ecn_rule(values)) == {"n32.explained", "n16.more"}


def test_near_flows_are_those_of_near_hosts(tmp_path: Path) -> None:
    """Flows are numbered by their starts, whose order differs between seeds: the first four are near and far ones."""
    case = roundtrips.Mixed("mixed_greedy", "base", "new_reno")
    point = roundtrips.mixed(case, Scale.TINY, 1)
    simulate(point.scenario, tmp_path / "run", progress="none")
    values = roundtrips.measure(Runs((Run(point, tmp_path / "run"),)))
    assert values[case.place("over")] > 5  # in 8 ms, of which a far round trip takes one


def test_queries_hold_on_what_was_published_and_fail_on_altered_numbers() -> None:
    values: dict[Place, float] = {}
    for cell, ms in (
        ("base", 10.0),
        ("red", 11.0),
        ("qcn66", 12.0),
        ("qcn20", 30.0),
        ("qcn66_nic", 13.0),
        (NIC, 35.0),
        *((cell, 20.0) for cell in {read(cell, reading) for reading in READINGS for cell in ABLATIONS}),
    ):
        for scheme, factor in (("vegas", 0.9), ("new_reno", 1.0), ("cubic", 1.2)):
            for pfc in (0.0, 1.0):
                better = 0.5 if pfc and cell not in ("qcn20", NIC) else 1.0
                values[cell, scheme, pfc, 0.0, "qct_ms"] = ms * factor * better
                for load in ((), ("background 20 %",), ("queries 10 %",), ("queries 20 %",)):
                    values[cell, scheme, pfc, 0.0, *load, "fct_ms"] = ms * factor * better / 10
                    if load:
                        values[cell, scheme, pfc, 0.0, *load, "qct_ms"] = ms * factor
                values[cell, scheme, pfc, 0.0, "qct_aged_ms"] = values[cell, scheme, pfc, 0.0, "qct_ms"]
                values[cell, scheme, pfc, 0.0, "timeouts"] = 0.0 if pfc else 50.0
                values[cell, scheme, pfc, 0.0, "drops"] = 100 * factor
                values[cell, scheme, pfc, 0.0, "notifications"] = 10.0 if cell.startswith("qcn66") else 90.0
    checked = (
        query_rules.losses_rule,
        query_rules.pfc_rule,
        query_experiments.everywhere_rule,
        query_rules.set_point_rule,
        query_rules.red_rule,
        query_rules.ruin_rule,
    )
    for rule in checked:
        assert failing(rule(values)) == set(), rule.__doc__
    values["qcn20", "cubic", 0.0, 0.0, "qct_ms"] = 11.0
    values[NIC, "vegas", 0.0, 0.0, "fct_ms"] = 1.0
    wrong = {"cubic", "fct.vegas@limiter_per_adapter", "order.new_reno.cubic", "order.cubic.vegas"}
    assert failing(query_rules.ruin_rule(values)) == wrong
    values["base", "new_reno", 1.0, 0.0, "qct_ms"] = 20.0
    assert failing(query_rules.pfc_rule(values)) == {"base.new_reno"}
    background = values | {("red", "cubic", 1.0, 0.0, "fct_ms"): 9.0, ("base", "vegas", 1.0, 0.0, "timeouts"): 6.0}
    assert failing(query_rules.pfc_rule(background)) == {"base.new_reno", "fct.red.cubic", "timeouts.vegas"}
    values["qcn20_syn", "new_reno", 0.0, 0.0, "qct_ms"] = 31.0
    # What was altered of the other TCPs for E20 is seen here, too.
    others = {"qcn20.cubic.pfc0", "qcn20.red.cubic.pfc0", "fct.qcn20.vegas.pfc0@limiter_per_adapter"}
    assert failing(query_rules.red_rule(values)) == {"qcn20_syn", *others}
    values[NIC, "new_reno", 1.0, 0.0, "qct_ms"] = 10.0
    assert failing(query_rules.pfc_rule(values)) == {"base.new_reno", "qcn20.new_reno@limiter_per_adapter"}
    values["red", "new_reno", 0.0, 0.0, "fct_ms"] = 0.9
    assert failing(query_rules.red_rule(values)) == {"qcn20_syn", "fct.red.base", *others}
    values["base", "vegas", 0.0, 0.0, "drops"] = 121.0
    assert failing(query_rules.losses_rule(values)) == set(), "the study does not say who loses more of these two"
    values["base", "cubic", 0.0, 0.0, "drops"] = 90.0
    values["base", "vegas", 0.0, 0.0, "qct_ms"] = 13.0
    assert failing(query_rules.losses_rule(values)) == {"drops.cubic", "qct_ms.cubic.vegas"}
    # One of twelve pairs with a limiter for each destination (under QCN 20).
    values["qcn20", "vegas", 1.0, 0.0, "qct_aged_ms"] = 50.0
    worse = {"share", "fct.share@limiter_per_adapter"}  # the second by what was altered for E20
    assert failing(query_experiments.everywhere_rule(values)) == worse
    values["red", "vegas", 1.0, 0.0, "qct_aged_ms"] = values["red", "vegas", 0.0, 0.0, "qct_aged_ms"] * 1.01
    assert failing(query_experiments.everywhere_rule(values)) == worse | {"others", "others@limiter_per_adapter"}


def test_statements_beside_udp_are_about_every_tcp() -> None:
    values: dict[Place, float] = {}
    for cell in {read(cell, reading) for reading in READINGS for cell in setup.CELLS}:
        for scheme in SCHEMES:
            case = QueryCase(cell, scheme, udp=True)
            values |= {case.place("udp_drop_share"): 0.7, case.place("udp_byte_share"): 0.5}
            for pfc in (False, True):
                values[Crowd("udp_8", cell, scheme, pfc).place("classes")] = 0.9 if "qcn" in cell else 0.6
    assert failing(query_rules.udp_drops_rule(values)) == set()
    assert failing(query_experiments.udp_fairness_rule(values)) == set()
    values[QueryCase("red", "vegas", udp=True).place("udp_drop_share")] = 0.4
    values[QueryCase("base", "new_reno", udp=True).place("udp_byte_share")] = 0.8
    values[Crowd("udp_8", "qcn66", "cubic", True).place("classes")] = 0.5
    assert failing(query_rules.udp_drops_rule(values)) == {"red.vegas.share", "red.vegas.over", "base.over"}
    wrong = {f"crowd.qcn66.{other}.cubic.pfc1" for other in ("base", "red")}
    assert failing(query_experiments.udp_fairness_rule(values)) == wrong


def test_commercial_congestion_has_to_be_sparse_and_transient_with_pfc_too() -> None:
    watched = {pfc: QueryCase("base", "new_reno", pfc, watched=True) for pfc in (False, True)}
    values = {case.place("congested"): 0.01 for case in watched.values()}
    values |= {case.place(what): 0.1 for case in watched.values() for what in ("event_ms", "lasting_ms")}
    assert failing(query_rules.transient_rule(values)) == set()
    values[watched[True].place("congested")] = 0.2
    values[watched[False].place("event_ms")] = 0.75  # ten round trips: what lasts, by E12
    values[watched[True].place("lasting_ms")] = 9.8
    assert failing(query_rules.transient_rule(values)) == {"share.pfc1", "event", "lasting.pfc1"}


def test_a_stretch_is_as_many_samples_in_a_row() -> None:
    high = np.array([1, 1, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    assert stretches(high).tolist() == [2, 1, 3]
    assert stretches(~high).tolist() == [2, 1]
    assert stretches(np.zeros(4, dtype=bool)).tolist() == stretches(high[:0]).tolist() == []


def test_programs_hold_on_what_was_published_and_fail_on_altered_numbers() -> None:
    values: dict[Place, float] = {}
    for cell, off, on in (
        ("base", 2.0, 1.5),
        ("red", 1.9, 1.2),
        ("qcn66", 1.8, 1.6),
        ("qcn20", 1.5, 1.6),
        ("qcn66_nic", 1.7, 1.5),
        (NIC, 1.4, 1.4),
    ):
        for scheme, factor in (("vegas", 0.9), ("new_reno", 1.0), ("cubic", 1.1)):
            for pfc, slow in ((0.0, off), (1.0, on)):
                values["all", cell, scheme, pfc, "slowdown"] = slow * factor
                values |= dict.fromkeys(
                    ((cell, scheme, pfc, 0.0, what) for what in ("qct_ms", "fct_ms")), slow * factor
                )
                late = factor if scheme != "vegas" else 1.2
                values["all", "base", scheme, pfc, "clock_1ms", "slowdown"] = late
                for what in ("qct_ms", "fct_ms"):
                    values["base", scheme, pfc, 0.0, "clock_1ms", 20.0, what] = late
    for pfc in (0.0, 1.0):
        for program in ("ft", programs.LARGER):
            values[f"watched {program}", "base", "new_reno", pfc, "involved"] = 1.0
            values[f"watched {program}", "base", "new_reno", pfc, "longest_ms"] = 2.0
            values[f"watched {program}", "base", "new_reno", pfc, "congested_ms"] = 5.0
            for cell in ("qcn20", NIC):
                values[f"watched {program}", cell, "new_reno", pfc, "congested_ms"] = 1.0
    checked = (
        program_rules.sustained_rule,
        program_rules.best_rule,
        program_rules.without_pfc_rule,
        program_experiments.clock_rule,
    )
    for rule in checked:
        assert failing(rule(values)) == set(), rule.__doc__
    # As good with the coarse clock; where it was not the best with the fine one there is nothing to lose.
    for pfc in (0.0, 1.0):
        values["base", "vegas", pfc, 0.0, "clock_1ms", 20.0, "fct_ms"] = 0.9
    assert failing(program_experiments.clock_rule(values)) == {"background.lost"}
    never = values | {("base", "vegas", pfc, 0.0, "qct_ms"): 9.0 for pfc in (0.0, 1.0)}
    lost = {claim.id: claim.value for claim in program_experiments.clock_rule(never)}["queries.lost"]
    assert math.isnan(lost)
    values["all", "qcn66", "cubic", 1.0, "slowdown"] = 1.0
    values["all", "red", "vegas", 0.0, "slowdown"] = 1.0
    values["watched ft", "base", "new_reno", 0.0, "longest_ms"] = 0.7
    both = {f"{name}{variant}" for name in ("vegas", "vegas.red") for variant in ("", "@limiter_per_adapter")}
    assert failing(program_rules.best_rule(values)) == {"cubic", *(b for b in both if ".red" not in b)}
    assert failing(program_rules.without_pfc_rule(values)) == {b for b in both if ".red" in b}
    values[f"watched {programs.LARGER}", "qcn20", "new_reno", 0.0, "congested_ms"] = 6.0
    assert failing(program_rules.sustained_rule(values)) == {"lasting.pfc0", f"{programs.LARGER}.mitigated"}


def test_round_trips_hold_on_what_was_published_and_fail_on_altered_numbers() -> None:
    values: dict[Place, float] = {("bursts", 1, "swing"): 400.0, ("bursts", 1, "timeouts"): 2.0}
    assert failing(roundtrip_rules.swing_rule(values)) == set()
    assert failing(roundtrip_rules.swing_rule({**values, ("bursts", 1, "swing"): 30.0})) == {"swing.pfc1"}
    for cell, scheme, lost, use in (
        ("base", "new_reno", 1.0, 0.9),
        ("base", "cubic", 6.0, 0.7),
        ("qcn20", "new_reno", 1.0, 0.6),
    ):
        values |= {("distant", 75, cell, scheme, "lost"): 10.0, ("distant", 5_000, cell, scheme, "lost"): lost}
        values["distant", 5_000, cell, scheme, "use"] = use
    assert failing(roundtrip_rules.response_rule(values)) == set()
    values["distant", 5_000, "qcn20", "new_reno", "use"] = 0.95
    assert failing(roundtrip_rules.response_rule(values)) == {"qcn"}


def test_cases_come_back_from_their_runs_and_have_places_of_their_own() -> None:
    """A case whose settings its place does not tell would share the values of another."""
    study = QueryCase("base", "new_reno")
    others = [replace(study, **change) for change in ({"pfc": True}, {"udp": True}, {"knob": "stock"}, {"size": 40})]
    loaded = [replace(study, **loads) for loads in queries.LOADS.values()]
    cases = [study, *others, *loaded]
    runs = Runs(tuple(Run(queries.point(c, Scale.TINY, seed), Path()) for c in cases for seed in (1, 2)))
    assert list(queries.by_case(runs)) == cases
    # Titles leave the size of messages to the table.
    assert len({case.place("drops") for case in cases}) == len({case.title for case in cases}) + 1 == len(cases)
    assert loaded[0].place("drops") == ("base", "new_reno", 0.0, 0.0, "background 20 %", "drops")
    pair = [programs.ProgramCase("red", "vegas", pfc=True, program="cg"), programs.at_ports("cg", pfc=False)]
    of_programs = Runs(tuple(Run(programs.point(case, Scale.TINY, 1), Path()) for case in pair))
    assert [list(each) for each in programs.by_case(of_programs).values()] == [[case] for case in pair]
    crowds = [Crowd(kind, "base", "new_reno", pfc) for kind in ("greedy_7", "ends_7") for pfc in (False, True)]
    of_crowds = Runs(tuple(Run(hotspot.point(case, Scale.TINY, seed), Path()) for case in crowds for seed in (1, 2)))
    assert list(hotspot.by_case(of_crowds)) == crowds
    trips = [
        roundtrips.Bursts(pfc=True),
        *(roundtrips.Distant(rtt, "base", "cubic") for rtt in roundtrips.RTTS_US),
        *(roundtrips.Mixed(kind, "base", "vegas") for kind in ("mixed_greedy", "mixed_ends")),
    ]
    makers = {roundtrips.Bursts: roundtrips.bursts, roundtrips.Distant: roundtrips.distant}
    of_trips = Runs(tuple(Run(makers.get(type(case), roundtrips.mixed)(case, Scale.TINY, 1), Path()) for case in trips))
    assert list(roundtrips.by_case(of_trips)) == trips
    for each in (crowds, trips):
        assert len({case.place("drops") for case in each}) == len({case.title for case in each}) == len(each)
    # E12 told of a halo exchange that it does not run.
    for program, told in (("cg", False), ("wrf", True)):
        case = replace(pair[0], program=program)
        assert any("halo" in remark for remark in programs.remarks({case.together: [case]})) == told
    both = Runs((*runs, *of_programs))
    assert both.having("program").runs == of_programs.runs
    assert both.lacking("program").runs == runs.runs


@pytest.mark.parametrize("scale", Scale)
def test_the_engine_takes_every_scenario(scale: Scale) -> None:
    assert len(OURS) == len(IDS)
    for experiment in OURS:
        points = experiment.plan(scale)
        assert len({(tuple(sorted(p.key.items())), p.seed) for p in points}) == len(points) > 0
        prepare([point for point in points if point.seed == 1])


def test_every_cell_differs_from_the_others() -> None:
    """A cell whose difference reached no switch or host would be another one's runs under a title of its own."""
    runs = [
        queries.point(QueryCase(cell, "new_reno", pfc), Scale.TINY, 1).scenario
        for cell in ALL_CELLS
        for pfc in (False, True)
    ]
    assert len({repr((run.switch, run.host)) for run in runs}) == 2 * len(ALL_CELLS)
    assert set(SCHEMES) == set(setup.TITLES)


def test_bursts_are_judged_by_how_much_longer_they_make_queries_under_qcn_than_under_red() -> None:
    """Not by which of the two has the shorter queries; other weights and set points are told, not judged."""

    def claims(red: float, qcn: float) -> list[Claim]:
        """Queries of 40 KiB take so many times as long as those of 10 KiB, which QCN answers the sooner."""
        growth = {cell: 3.0 for _, _, cell in readings(BURSTS)} | {"red": red, "qcn20": qcn, NIC: qcn}
        values: dict[Place, float] = {}
        for cell, times in growth.items():
            first = 1.0 if cell in ("qcn20", NIC) else 10.0
            for size, time in ((10.0, first), (40.0, first * times)):
                values[cell, "new_reno", 0.0, 0.0, "study", size, "qct_ms"] = time
                values[cell, "new_reno", 0.0, 0.0, "study", size, "fct_ms"] = time**2
        return query_rules.burst_rule(values)

    told = {claim.id: claim.value for claim in claims(2.0, 4.0)}
    grown = {**dict.fromkeys(BURSTS, 3.0), "red": 2.0, "qcn20": 4.0, "over": 2.0}
    assert {name: value for name, value in told.items() if not name.startswith("fct.")} == grown
    assert told["fct.over"] == 4.0
    assert failing(claims(2.0, 4.0)) == set()
    over = {"over", "fct.over"}
    assert failing(claims(4.0, 2.0)) == over | {f"{name}@limiter_per_adapter" for name in over}


def test_the_matrix_is_made_of_the_runs_of_others() -> None:
    keys = {
        e.id: {job.key for job in prepare(e.plan(Scale.QUICK))}
        for e in OURS
        if e.id in ("E6", "E10", "E14", "M1", "M2", "M3")
    }
    assert keys["M1"] == keys["E6"]
    assert keys["M3"] == keys["E14"]
    assert keys["E10"] < keys["M2"]
    assert [len(keys[name]) for name in ("M1", "M2")] == [36 * 5, 36 * 3]


def test_the_matrix_shows_every_cell_and_says_where_there_is_none() -> None:
    kind = matrix.KINDS[0]
    values: dict[Place, float] = {("red", "vegas", 1.0, 0.0, "qct_ms"): 1234.5}
    lines = kind.csv(values).splitlines()
    assert len(lines) == 37
    assert "vegas,red,1,1234.5,,," in lines
    (drawing,) = kind.drawings(values)
    texts = [text.get_text() for ax in drawing.figure.axes for text in ax.texts]
    # At tiny scale two of three schemes were dashes: what was not run is said in one sentence.
    assert len(texts) == 4 * 12
    assert "NewReno and CUBIC not run at this scale" in drawing.caption
    assert kind.table(values).caption.endswith("; NewReno and CUBIC not run at this scale")
    assert len(kind.table(values).rows) == 1
    assert sorted(set(texts)) == ["1,234", "–"]
    assert "| Vegas, ECN-RED, PFC | 1,234 |" in kind.table(values).markdown()


def test_tables_say_yes_and_no_and_have_units() -> None:
    """Deadlocks were 1 and 0, shares numbers without a unit."""
    parts = {"deadlock": 1.0, "cycle": 0.0, "depth": 5.0, "pauses": 12.0, "drops": 0.0, "unfinished": 1.0}
    ring = deadlock.table({("ring", 1.0, what): value for what, value in parts.items()}).markdown()
    assert "| Depth, links |" in ring
    assert "| ring, PFC | yes | no | 5 | 12 | 0 | 1 |" in ring
    beside: dict[Place, float] = {("red", "vegas", 1.0, 1.0, "qct_ms"): 2.5}
    beside |= {("red", "vegas", 1.0, 1.0, what): value for what, value in (("unanswered", 0.25), ("congested", 0.001))}
    text = queries.tables(beside, [QueryCase("red", "vegas", pfc=True, udp=True)])[0].markdown()
    assert "| Congested, of the ports' time |" in text
    assert "| 2.50 | – | 25.0 % | – | – | – | – | 0.10 % |" in text
    distant: dict[Place, float] = {("distant", 100, "red", "vegas", "use"): 0.934}
    assert "| 93.4 % |" in roundtrips.table(distant, [roundtrips.Distant(100, "red", "vegas")]).markdown()


def test_measures_of_series() -> None:
    saw = np.array([0, 50, 100, 40, 90, 60, 95, 10, 20.0])
    assert cycles(saw, high=80, low=50) == 2
    times = np.arange(0, 101.0)
    flows = {0: (times, 3 * times), 1: (times, times)}
    assert largest_share(flows, 10) == pytest.approx(0.75)
    assert math.isnan(largest_share({}, 10))
    # 3 bytes a us; a link carries 1,250 with headers. Of what is delivered half the link is all, if nobody else sends.
    assert largest_of_capacity(flows, 10, 10) == pytest.approx(3 / 1250 * 1500 / 1448)
    assert math.isnan(largest_of_capacity(flows, 200))
    # Unequal for 40 us, equal afterwards: fair from the fifth window of 10 us on.
    late = {0: (times, times), 1: (times, np.maximum(times - 40, 0))}
    assert time_to_fairness(late, 10, 0) == pytest.approx(0.05)
    # Delays of 1 to 8 in one ms, 8 to 40 in the next.
    at, delay = np.array([0.0, 500, 999, 1000, 1500]), np.array([1.0, 4, 8, 8, 40])
    assert roundtrips.swing(at, delay, 1000) == pytest.approx(8)
    # From 1.0 to 1.2 and from 3.0 to 3.4.
    assert longest(np.array([1.0, 1.1, 1.2, 3.0, 3.2, 3.4]), 0.25) == pytest.approx(0.4)
    assert longest(np.array([]), 0.25) == 0


def test_runs_are_called_alike_in_all_tables() -> None:
    """Readers look for a run of one table in another."""
    assert setup.run_title("red", "vegas", 1.0) == "Vegas, ECN-RED, PFC"
    place = ("base", "new_reno", 0.0)
    of = [QueryCase("base", "new_reno", udp=True), QueryCase("base", "new_reno", size=40)]
    (of_queries,) = queries.tables({(*place, 1.0, "qct_ms"): 1.0, (*place, 0.0, "study", 40.0, "qct_ms"): 1.0}, of)
    both = [programs.ProgramCase("base", "new_reno", knob=knob) for knob in ("study", "clock_1ms")]
    of_programs = programs.table({}, {case: [replace(case, program="cg")] for case in both})
    crowds = [Crowd("greedy_7", "base", "new_reno"), Crowd("ends_7", "base", "cubic_half", pfc=True)]
    of_crowds = hotspot.table({case.place("drops"): 1.0 for case in crowds}, crowds)
    assert [[row[0].text for row in table.rows] for table in (of_queries, of_programs, of_crowds)] == [
        ["NewReno, no marking, no PFC, UDP, 20 KiB", "NewReno, no marking, no PFC, 40 KiB"],
        ["NewReno, no marking, no PFC", "NewReno, no marking, no PFC, clock of 1 ms"],
        [
            "7 flows without end, NewReno, no marking, no PFC",
            "7 flows that end, CUBIC, beta 0.5, no marking, PFC",
        ],
    ]


def test_a_ring_deadlocks_under_pfc_and_a_fat_tree_does_not(tmp_path: Path) -> None:
    runs = []
    for i, point in enumerate(deadlock.plan(Scale.TINY)):
        simulate(point.scenario, tmp_path / str(i), progress="none")
        runs.append(Run(point, tmp_path / str(i)))
    assert failing(deadlock.rule(deadlock.measure(Runs(tuple(runs))))) == set()


def test_pfc_turns_the_saw_tooth_into_a_plateau(tmp_path: Path) -> None:
    runs = []
    for pfc in (False, True):
        point = hotspot.point(Crowd("short_7", "base", "new_reno", pfc), Scale.TINY, 1)
        simulate(point.scenario, tmp_path / str(pfc), progress="none")
        runs.append(Run(point, tmp_path / str(pfc)))
    values = hotspot.measure(Runs(tuple(runs)))
    assert values["short_7", "base", "new_reno", 0.0, "drops"] > 0
    assert values["short_7", "base", "new_reno", 1.0, "drops"] == 0
    assert 500 < values["short_7", "base", "new_reno", 1.0, "queue_p99_kb"] < 760


def test_a_queue_is_between_two_levels_as_often_as_its_samples_are() -> None:
    """E1: whole bins counted, so that a queue of 720 KB would have been one of at most 716 KB."""
    queue = np.array([0.0, 573.0, 574.0, 716.0, 717.0, 720.0])
    assert share_between(queue, 573.0, 716.0) == 0.5
    assert math.isnan(share_between(queue[:0], 0, 1))


def test_percentiles_of_queries_are_values_that_queries_had(tmp_path: Path) -> None:
    """They lay between two queries: the p99 of 30 tiny ones was a third of the way from the 2nd largest on."""
    points = [
        hotspot.point(Crowd("ping_32", "base", "new_reno", pfc=True), Scale.TINY, 1),
        queries.point(QueryCase("base", "new_reno"), Scale.TINY, 1),
    ]
    ping, commercial = (Run(point, tmp_path / str(i)) for i, point in enumerate(points))
    for run in (ping, commercial):
        assert isinstance(run.point.scenario, Scenario)
        simulate(run.point.scenario, run.folder, progress="none")
    values = hotspot.measure(Runs((ping,)))
    seen = ping.results().queries["qct_ps"] / 1e6 - setup.STACK_US
    for q in (1, 50, 99):
        assert values["ping_32", "base", "new_reno", 1.0, f"rtt_p{q}_us"] in seen
    values = queries.measure(Runs((commercial,)))
    results = commercial.results()
    place = ("base", "new_reno", 0.0, 0.0)
    assert values[(*place, "qct_p99_ms")] in results.queries["qct_ps"] / 1e9
    assert values[(*place, "fct_p99_ms")] in results.flows["fct_receiver_ps"] / 1e9


def test_a_bin_that_begins_at_80_kb_is_of_congested_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """E12 and E13: the first eighth of an octave over 80 KB was left out."""
    edges = np.array([0, 73_728, XON, 90_112])
    columns = {
        "bin_low_bytes": edges,
        "time_ps": np.array([90, 4, 5, 1]),
        "tier": np.array(["tor->host"] * 4),
        "peer": np.array([0, 1, 2, 3]),
    }
    queues = type("Queues", (dict,), {"rows": 4})(columns)
    series = {"kind": np.array(["queue_bytes"]), "time_ps": np.zeros(1), "value": np.zeros(1)}
    results: Any = SimpleNamespace(
        queues=queues, series=series, summary={"hosts": 4, "series_interval_ps": 1_000_000_000}
    )
    assert queries._congested(results) == 0.06
    monkeypatch.setattr(programs.Results, "load", lambda folder: results)
    assert programs._spread(Path("any"))["involved"] == 0.5


def test_no_share_has_an_interval_beyond_one() -> None:
    """E25's Jain index of 0.74 was shown as [0.51, 1.08]."""
    shares = {"jain", "use", "share", "overall", "blame", "base"}
    claims = [*roundtrip_rules.mixture_rule({}), *roundtrip_rules.response_rule({}), *hotspot_rules.winner_rule({})]
    found = [claim for claim in [*claims, *hotspot_rules.sweep_rule({})] if claim.id.rpartition(".")[2] in shares]
    assert {claim.id.rpartition(".")[2] for claim in found} == shares
    assert all(claim.most == 1 for claim in found)
