"""The statements about queries and background flows, as rules on the values of :mod:`.runs`."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product
from typing import Final, NamedTuple

from paceline.experiments.cee.queries.runs import LOADS, QueryCase
from paceline.experiments.cee.setup import (
    ABLATIONS,
    ALL_CELLS,
    BURSTS,
    CELLS,
    KNOB_TITLES,
    READINGS,
    ROUND_TRIP_US,
    SIZES,
    TITLES,
    limiters,
    read,
    readings,
    when,
)
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, at, ratio
from paceline.words import as_ratio


class Completion(NamedTuple):
    """What statements are judged by: its name in :mod:`.runs`, how the names of claims about it begin, its words."""

    what: str
    prefix: str
    words: str


COMPLETIONS: Final = (
    Completion("qct_ms", "", "mean QCT"),
    Completion("fct_ms", "fct.", "mean FCT of background flows"),
)
"""The study's "flow completion time" may be that of whole queries or of single flows. Those of background flows are
alike in all cells but for what cells do to them; queries' own flows come in bursts, whose time is in the QCT."""


def quotient(values: Values, over: QueryCase, under: QueryCase, *, what: str = "qct_ms") -> float:
    """A value of one case over that of another; ``nan`` when one is not there."""
    return ratio(values, over.place(what), under.place(what))


def losses_rule(values: Values) -> list[Claim]:
    """E5: without PFC CUBIC is slower than NewReno and than Vegas, and loses more than NewReno.

    Of NewReno over Vegas, and of CUBIC's losses over those of Vegas, the study says nothing.
    """
    found = []
    for what, text in (*((time.what, time.words) for time in COMPLETIONS), ("drops", "packets dropped")):
        for name, worse, better, said in (
            ("cubic", "cubic", "new_reno", True),
            ("new_reno", "new_reno", "vegas", False),
            ("cubic.vegas", "cubic", "vegas", what != "drops"),
        ):
            over = quotient(values, QueryCase("base", worse), QueryCase("base", better), what=what)
            statement = f"{text} without PFC, {TITLES[worse]} over {TITLES[better]}"
            found.append(Claim(f"{what}.{name}", statement, over, judge.above(1) if said else None))
    return found


def pfc_rule(values: Values) -> list[Claim]:
    """E6: PFC shortens completion times, except with QCN 20."""
    found = []
    for what, prefix, words in COMPLETIONS:
        for reading, cell, own in readings(tuple(CELLS)):
            for scheme, title in TITLES.items():
                over = quotient(values, QueryCase(own, scheme, pfc=True), QueryCase(own, scheme), what=what)
                limits = judge.at_least(0.9) if cell == "qcn20" else judge.below(1)
                text = f"{words} with PFC over that without, {title}, {ALL_CELLS[own].title}"
                found.append(Claim(f"{prefix}{cell}.{scheme}", text, over, limits, variant=reading))
    for scheme, title in TITLES.items():
        fewer = quotient(values, QueryCase("base", scheme, pfc=True), QueryCase("base", scheme), what="timeouts")
        text = f"timeouts with PFC over those without, {title}, {CELLS['base'].title}"
        found.append(Claim(f"timeouts.{scheme}", text, fewer, judge.below(0.1)))
    return found


def set_point_rule(values: Values) -> list[Claim]:
    """E8: the higher set point lets bursts pass."""
    found = []
    for reading in READINGS:
        for scheme, title in TITLES.items():
            for what, text in (("notifications", "notifications"), *((time.what, time.words) for time in COMPLETIONS)):
                for pfc in (False, True):
                    high, low = (QueryCase(read(cell, reading), scheme, pfc) for cell in ("qcn66", "qcn20"))
                    name = f"{what}.{scheme}{'.pfc1' if pfc else ''}"
                    statement = f"{text}, QCN 66 over QCN 20, {title}, {when(pfc)}{limiters(reading)}"
                    over = quotient(values, high, low, what=what)
                    found.append(Claim(name, statement, over, judge.below(1), variant=reading))
    return found


def red_rule(values: Values) -> list[Claim]:
    """E9: RED is better than QCN, under each TCP; the reasons with NewReno, whose claims have the shorter names."""
    found = []
    for what, prefix, words in COMPLETIONS:
        for reading in READINGS:
            for scheme, pfc in product(TITLES, (False, True)):
                for name, worse, better in (
                    ("qcn66", "qcn66", "red"),
                    ("qcn20", "qcn20", "qcn66"),
                    ("qcn20.red", "qcn20", "red"),
                ):
                    cases = (QueryCase(read(cell, reading), scheme, pfc) for cell in (worse, better))
                    titles = f"{as_ratio(CELLS[worse].title, CELLS[better].title)}{limiters(reading)}"
                    statement = f"{words} {when(pfc)}, {TITLES[scheme]}, {titles}"
                    id_ = f"{prefix}{name}{_of(scheme)}.pfc{pfc:d}"
                    found.append(
                        Claim(id_, statement, quotient(values, *cases, what=what), judge.at_least(1), variant=reading)
                    )
            for cell, kind in ABLATIONS.items():
                cases = (QueryCase(read(c, reading), "new_reno") for c in (cell, "qcn20"))
                text = f"{words} without PFC, NewReno, {as_ratio(kind.title, 'QCN 20 as it is')}{limiters(reading)}"
                over = quotient(values, *cases, what=what)
                found.append(Claim(f"{prefix}{cell}", text, over, judge.below(1), variant=reading))
        # Of ECN without PFC the study says that its additional feedback worsens the case.
        for scheme, title in TITLES.items():
            over = quotient(values, QueryCase("red", scheme), QueryCase("base", scheme), what=what)
            text = f"{words} without PFC, {title}, {CELLS['red'].title} over {CELLS['base'].title}"
            found.append(Claim(f"{prefix}red.base{_of(scheme)}", text, over, judge.above(1)))
    return found


def _of(scheme: str) -> str:
    """What names of claims have for a TCP; nothing for NewReno."""
    return "" if scheme == "new_reno" else f".{scheme}"


def ruin_rule(values: Values) -> list[Claim]:
    """E20: QCN 20 without PFC makes completion times 131 to 311 % longer: of queries, of background flows."""
    found = []
    for what, prefix, words in COMPLETIONS:
        for reading in READINGS:
            cell = read("qcn20", reading)
            text = f"{words} without PFC, {ALL_CELLS[cell].title}, over no marking"
            for variant, under in _ruined(reading):
                over = quotient(values, replace(under, cell=cell), under, what=what)
                statement = ", ".join((text, TITLES[under.scheme], *under.loads))
                limits = judge.between(2.31, 4.11)
                found.append(Claim(f"{prefix}{under.scheme}", statement, over, limits, "2.31 to 4.11", variant))
    for one, other in combinations(TITLES, 2):
        before, after = (
            math.log(quotient(values, *(QueryCase(cell, scheme) for scheme in (one, other))))
            for cell in ("base", "qcn20")
        )
        statement = (
            f"order of {TITLES[one]} and {TITLES[other]} by mean QCT without PFC: logarithm of their ratio with no "
            "marking times that under QCN 20, positive where the order stays"
        )
        found.append(Claim(f"order.{one}.{other}", statement, before * after, judge.above(0)))
    return found


def _ruined(reading: str) -> list[tuple[str, QueryCase]]:
    """Variants of claims in a reading, and the cases without marking against which QCN is held."""
    found = [(reading, QueryCase("base", scheme)) for scheme in TITLES]
    for variant, loads in LOADS.items():
        name = f"{reading}_{variant}" if READINGS[reading] else variant
        found.append((name, QueryCase("base", "new_reno", **loads)))
    return found


MOST_ROUND_TRIPS: Final = 10
"""What congestion that lasts has at least, by E12, and transient one has not."""


def transient_rule(values: Values) -> list[Claim]:
    """E13: congestion is sparse and transient, without PFC and with it."""
    found = []
    for pfc in (False, True):
        case, name = QueryCase("base", "new_reno", pfc, watched=True), ".pfc1" if pfc else ""
        text = f"average share of the switch ports at which over 80 KB wait, {when(pfc)}"
        value = at(values, *case.place("congested"))
        found.append(Claim(f"share{name}", text, value, judge.below(0.1), most=1))
        there = "over 80 KB wait at a port to a host"
        for what, words, limits in (
            ("event_ms", f"median time for which {there}", judge.below(MOST_ROUND_TRIPS)),
            ("event_p99_ms", f"p99 of the times for which {there}", None),
            ("event_longest_ms", f"longest time for which {there}", None),
            # By E12's own measure: programs, whose congestion lasts, have medians as short.
            (
                "lasting_ms",
                "longest time for which over 80 KB always wait at some port to a host, one or another",
                judge.below(MOST_ROUND_TRIPS),
            ),
        ):
            value = at(values, *case.place(what)) / (ROUND_TRIP_US / 1000)
            text = f"{words}, in round trips of {ROUND_TRIP_US} µs, {when(pfc)}"
            found.append(Claim(f"{what.removesuffix('_ms')}{name}", text, value, limits))
        for what, text in (
            ("events", f"how often {there}"),
            ("at_once", "mean number of ports to hosts at which over 80 KB wait at once, while there is any"),
        ):
            found.append(Claim(f"{what}{name}", f"{text}, {when(pfc)}", at(values, *case.place(what))))
    return found


def udp_drops_rule(values: Values) -> list[Claim]:
    """E10: what is dropped is UDP, whatever TCP is beside it."""
    found = []
    for scheme, (reading, cell, own) in product(TITLES, readings(tuple(CELLS))):
        title, case = f"{TITLES[scheme]}, {ALL_CELLS[own].title}", QueryCase(own, scheme, udp=True)
        found += [
            Claim(
                f"{cell}{_of(scheme)}.share",
                f"UDP's share of the packets dropped, {title}, without PFC",
                at(values, *case.place("udp_drop_share")),
                judge.above(0.5),
                most=1,
                variant=reading,
            ),
            Claim(
                f"{cell}{_of(scheme)}.over",
                f"UDP's share of the packets dropped over its share of the bytes sent, {title}, without PFC",
                ratio(values, case.place("udp_drop_share"), case.place("udp_byte_share")),
                judge.above(1),
                variant=reading,
            ),
        ]
    return found


def udp_fairness_rule(values: Values) -> list[Claim]:
    """E11 of queries: how fair QCN is between TCP and UDP beside the others."""
    found = []
    for pfc in (False, True):
        for reading, qcn, own in readings(("qcn20", "qcn66")):
            for other in ("base", "red"):
                over = quotient(
                    values, *(QueryCase(cell, "new_reno", pfc, udp=True) for cell in (own, other)), what="jain"
                )
                titles = as_ratio(ALL_CELLS[own].title, CELLS[other].title)
                statement = f"ratio of Jain's indices of TCP's and UDP's shares delivered, {titles}, {when(pfc)}"
                # Told, not judged: nearly all that either offers is delivered in every cell, so that nothing is unfair.
                found.append(Claim(f"{qcn}.{other}.pfc{pfc:d}", statement, over, variant=reading))
    return found


def burst_rule(values: Values) -> list[Claim]:
    """E21: RED notices bursts less than QCN: by queries' completion times, and by those of background flows beside."""
    found = []
    for what, prefix, words in COMPLETIONS:
        growth = {}
        for _, _, cell in readings(BURSTS):
            large, small = (QueryCase(cell, "new_reno", size=n) for n in (SIZES[-1], SIZES[0]))
            growth[cell] = quotient(values, large, small, what=what)
        beside = " beside" if prefix else " of"
        text = f"{words}{beside} messages of {SIZES[-1]} KiB over that{beside} {SIZES[0]} KiB without PFC"
        found += [
            Claim(f"{prefix}{cell}", f"{text}, {ALL_CELLS[own].title}", growth[own], variant=reading)
            for reading, cell, own in readings(BURSTS)
        ]
        for reading, _, own in readings(("qcn20",)):
            over = growth[own] / growth["red"]
            statement = f"{text}: {as_ratio(ALL_CELLS[own].title, 'ECN-RED')}"
            found.append(Claim(f"{prefix}over", statement, over, judge.above(1), variant=reading))
    return found


def knob_rule(values: Values) -> list[Claim]:
    """E22: what FreeBSD's own settings cost."""
    found = []
    limits = dict.fromkeys(("rto_initial_3s", "slop_200ms", "clock_1ms", "stock"), judge.above(1))
    study = QueryCase("base", "new_reno")
    for knob, title in KNOB_TITLES.items():
        own = replace(study, knob=knob)
        for what, text in (
            ("qct_ms", "mean QCT of the queries answered"),
            ("qct_aged_ms", "mean QCT, the unanswered at their age"),
            ("fct_p99_ms", "p99 of the background's FCT"),
        ):
            statement = f"{text}, NewReno without PFC: {title} over the study's settings"
            found.append(Claim(f"{knob}.{what}", statement, quotient(values, own, study, what=what), limits.get(knob)))
        statement = f"share of the queries that are never answered, {title}"
        found.append(Claim(f"{knob}.unanswered", statement, at(values, *own.place("unanswered")), most=1))
    return found
