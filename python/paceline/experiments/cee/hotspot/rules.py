"""The statements about hot spots, as rules on the values of :mod:`.runs`."""

from __future__ import annotations

import math
from itertools import product
from typing import Final

from paceline.experiments.cee import setup
from paceline.experiments.cee.hotspot.runs import CROWDS, SWEEP, TITLES, Crowd
from paceline.experiments.cee.setup import CELLS, XOFF, XON, pfc_title, when
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, at, bounds, ratio
from paceline.words import as_ratio


def sawtooth_rule(values: Values) -> list[Claim]:
    """E1: a saw-tooth without PFC, a plateau with it."""
    off, on = (Crowd("short_7", "base", "new_reno", pfc) for pfc in (False, True))
    plateau = "of the queue's samples between 7 times XON and 7 times XOFF and two frames, with PFC"
    return [
        Claim(
            "teeth",
            "falls of the queue from over 80 KB to under 50 KB, without PFC",
            at(values, *off.place("teeth")),
            judge.at_least(3),
        ),
        Claim("drops_off", "packets dropped without PFC", at(values, *off.place("drops")), judge.above(0), count=True),
        Claim("drops_on", "packets dropped with PFC", at(values, *on.place("drops")), judge.at_most(0), count=True),
        Claim(
            "plateau",
            "median queue with PFC (KB); seven ingress ports hold 7 times 80 to 97 KB",
            at(values, *on.place("queue_p50_kb")),
            judge.between(0.85 * 7 * XON / 1000, 1.15 * 7 * XOFF / 1000),
            within=bounds(values, on.place("queue_p50_kb")),
        ),
        Claim("held", f"share {plateau}", at(values, *on.place("held")), judge.at_least(0.8), most=1),
    ]


def ecn_rule(values: Values) -> list[Claim]:
    """E2: marks and losses of one window end in timeouts."""
    found = []
    for n in CROWDS:
        off, on = (Crowd(f"ends_{n}", "red", "new_reno", pfc) for pfc in (False, True))
        over = ratio(values, off.place("fct_ms"), on.place("fct_ms"))
        found += [
            Claim(f"n{n}.fct", f"{n} flows under RED: mean FCT without PFC over that with it", over, judge.above(1)),
            Claim(
                f"n{n}.last",
                f"{n} flows under RED: the last one's FCT without PFC over that with it",
                ratio(values, off.place("last_ms"), on.place("last_ms")),
            ),
            Claim(
                f"n{n}.ignored",
                f"{n} flows under RED without PFC: third duplicate ACKs ignored",
                at(values, *off.place("ignored_duplicates")),
                judge.above(0) if n >= 16 else None,
                count=n >= 16,
            ),
            Claim(f"n{n}.timeouts", f"{n} flows under RED without PFC: timeouts", at(values, *off.place("timeouts"))),
            Claim(
                f"n{n}.ignored_on",
                f"{n} flows under RED with PFC: third duplicate ACKs ignored",
                at(values, *on.place("ignored_duplicates")),
                judge.at_most(0),
                count=True,
            ),
            Claim(
                f"n{n}.timeouts_on",
                f"{n} flows under RED with PFC: timeouts",
                at(values, *on.place("timeouts")),
                judge.at_most(0),
                count=True,
            ),
        ]
        if n >= 16:
            # They are said to explain most timeouts: half as many is the least that there would have to be.
            found.append(
                Claim(
                    f"n{n}.explained",
                    f"{n} flows under RED without PFC: third duplicate ACKs ignored for each timeout",
                    ratio(values, off.place("ignored_duplicates"), off.place("timeouts")),
                    judge.above(0.5),
                )
            )
            # Timeouts and fast retransmits make such duplicates, too: marks must make more of them.
            base = Crowd(f"ends_{n}", "base", "new_reno")
            each = [ratio(values, case.place("ignored_duplicates"), case.place("timeouts")) for case in (off, base)]
            text = f"{n} flows without PFC: third duplicate ACKs ignored for each timeout"
            found += [
                Claim(f"n{n}.unmarked", f"{text}, {CELLS['base'].title}", each[1]),
                Claim(
                    f"n{n}.more",
                    f"{text}: {as_ratio(CELLS['red'].title, CELLS['base'].title)}",
                    each[0] / each[1] if each[1] else math.nan,
                    judge.above(1),
                ),
            ]
    return found


def vegas_rule(values: Values) -> list[Claim]:
    """E4: Vegas keeps the queue short, so that PFC does not matter."""
    found = []
    for cell in CELLS:
        off, on = (Crowd("ends_7", cell, "vegas", pfc) for pfc in (False, True))
        title = CELLS[cell].title
        found.append(
            Claim(
                f"{cell}.fct",
                f"Vegas, {title}: mean FCT with PFC over that without",
                ratio(values, on.place("fct_ms"), off.place("fct_ms")),
                judge.between(0.95, 1.05),
            )
        )
    greedy = Crowd("greedy_7", "base", "vegas")
    for name, q, words, limits in (("queue", 99, "p99", judge.below(80)), ("median", 50, "median", None)):
        queue = greedy.place(f"queue_p{q}_kb")
        text = f"Vegas: {words} of the queue (KB)"
        found.append(Claim(name, text, at(values, *queue), limits, within=bounds(values, queue)))
    found += [
        Claim("use", "Vegas: share of the link used", at(values, *greedy.place("use")), most=1),
        Claim(
            "drops",
            "Vegas without PFC: packets dropped, of 1,000 sent",
            at(values, *greedy.place("dropped_share")) * 1000,
            judge.below(1),
        ),
    ]
    return found


_MOST_LOSSES: Final = judge.above(0.5)


def winner_rule(values: Values) -> list[Claim]:
    """E3: one flow takes the link, and it alone loses: most losses are the least that this can mean.

    Variants: senders in other racks, without and with others beside the receiver.
    """
    case = Crowd("greedy_7", "qcn66", "new_reno")
    found = [
        Claim(
            "share",
            "largest share of the link that one of seven flows has in 10 ms, QCN 66 without PFC; fair is 0.143",
            at(values, *case.place("share")),
            judge.above(0.4),
            0.4,
            most=1,
        ),
        Claim(
            "overall",
            "the winner's share over the whole run",
            at(values, *case.place("overall")),
            most=1,
        ),
        Claim(
            "blame",
            "the winner's part of all packets sent again",
            at(values, *case.place("blame")),
            _MOST_LOSSES,
            1.0,
            most=1,
        ),
        Claim(
            "base",
            "largest share of the link in 10 ms without QCN",
            at(values, *Crowd("greedy_7", "base", "new_reno").place("share")),
            most=1,
        ),
        Claim(
            "base",
            "seven flows from other racks: largest share of the link in 10 ms without QCN",
            at(values, *Crowd("far_7", "base", "new_reno").place("share")),
            most=1,
            variant="other_racks",
        ),
        Claim(
            "delivered",
            "largest share of what all deliver in 10 ms, from the first flow's start on",
            at(values, *case.place("delivered")),
            most=1,
        ),
    ]
    # The study speaks of seven flows.
    for kind, variant, flows, fair, limits in (
        ("far_7", "other_racks", "seven flows from other racks", 1 / 7, judge.above(0.4)),
        ("far_7_near_7", "all_racks", "14 flows, seven from other racks", 1 / 14, None),
    ):
        case = Crowd(kind, "qcn66", "new_reno")
        text = f"largest share of the link that one of {flows}, has in 10 ms, QCN 66 without PFC; fair is {fair:.3f}"
        share, blame, delivered = (at(values, *case.place(what)) for what in ("share", "blame", "delivered"))
        found += [
            Claim("share", text, share, limits, 0.4 if limits else None, most=1, variant=variant),
            Claim(
                "blame",
                f"of {flows} the winner's part of all packets sent again",
                blame,
                _MOST_LOSSES if limits else None,
                1.0 if limits else None,
                most=1,
                variant=variant,
            ),
            Claim(
                "delivered",
                f"of {flows}, largest share of what all deliver in 10 ms, from the first flow's start on",
                delivered,
                most=1,
                variant=variant,
            ),
        ]
    return found


def sweep_rule(values: Values) -> list[Claim]:
    """E24: QCN over the number of flows."""
    found = []
    for cell in ("qcn20", "qcn66"):
        for pfc in (False, True):
            for n in SWEEP:
                case = Crowd(f"greedy_{n}", cell, "new_reno", pfc)
                title = f"{n} flows, {CELLS[cell].title}, {pfc_title(pfc)}"
                for what, text in (
                    ("jain", "Jain's index"),
                    ("use", "share of the link used"),
                    ("queue_p50_kb", "median queue (KB)"),
                ):
                    most = math.inf if what == "queue_p50_kb" else 1.0
                    value, within = at(values, *case.place(what)), bounds(values, case.place(what))
                    name = f"{cell}.pfc{pfc:d}.n{n}.{what}"
                    found.append(Claim(name, f"{title}: {text}", value, most=most, within=within))
    return found


def convergence_rule(values: Values) -> list[Claim]:
    """E17: CUBIC yields slowly and loses more; also one that begins its curve anew after a timeout."""
    reno, cubic, half = (Crowd("late_7", "base", s) for s in ("new_reno", "cubic", "cubic_half"))
    found = [
        Claim(
            f"{name}.fair_ms",
            f"{TITLES[name]}: until Jain's index stays above 0.9 after a seventh flow (ms)",
            at(values, *case.place("fair_ms")),
        )
        for name, case in (("new_reno", reno), ("cubic", cubic), ("cubic_half", half))
    ]
    found += [
        Claim(
            "fair",
            "until Jain's index stays above 0.9 after a seventh flow, CUBIC over NewReno",
            ratio(values, cubic.place("fair_ms"), reno.place("fair_ms")),
            judge.above(1),
        ),
        Claim(
            "drops",
            "packets dropped, CUBIC over NewReno",
            ratio(values, cubic.place("drops"), reno.place("drops")),
            judge.above(1),
        ),
        Claim(
            "half",
            "packets dropped, CUBIC that halves over CUBIC",
            ratio(values, half.place("drops"), cubic.place("drops")),
            judge.below(1),
        ),
    ]
    anew = Crowd("late_7", "base", "cubic_anew")
    for name, what, text in (
        ("fair", "fair_ms", "until Jain's index stays above 0.9 after a seventh flow"),
        ("drops", "drops", "packets dropped"),
    ):
        statement = f"{text}, {TITLES['cubic_anew']}, over NewReno"
        over = ratio(values, anew.place(what), reno.place(what))
        found.append(Claim(name, statement, over, judge.above(1), variant="timeout_anew"))
    return found


def rtt_rule(values: Values) -> list[Claim]:
    """E23: round trips of small messages, less what the stacks take."""
    alone = Crowd("ping_alone", "base", "new_reno")
    off, on = (Crowd("ping_32", "base", "new_reno", pfc) for pfc in (False, True))
    return [
        Claim(
            "alone",
            "alone: median round trip in the network (µs)",
            at(values, *alone.place("rtt_p50_us")),
            judge.between(1, 50),
        ),
        Claim("base", "beside 32 flows without PFC: median round trip (µs)", at(values, *off.place("rtt_p50_us"))),
        Claim(
            "pfc",
            "beside 32 flows with PFC: median round trip (µs)",
            at(values, *on.place("rtt_p50_us")),
            judge.above(10_000),
        ),
        Claim(
            "grows",
            "median round trip beside 32 flows with PFC over that alone",
            ratio(values, on.place("rtt_p50_us"), alone.place("rtt_p50_us")),
            judge.at_least(100),
        ),
    ]


def udp_fairness_rule(values: Values) -> list[Claim]:
    """E11 at a hot spot, where more is offered than the link takes: only QCN is fair between TCP and UDP.

    Claims about NewReno have the shorter names.
    """
    found = []
    for scheme, pfc in product(setup.TITLES, (False, True)):
        own, named = ("", "") if scheme == "new_reno" else (f".{scheme}", f", {TITLES[scheme]}")
        for cell, kind in CELLS.items():
            share = at(values, *Crowd("udp_8", cell, scheme, pfc).place("tcp_share"))
            text = (
                f"four hosts over TCP beside four over UDP, {kind.title}{named}, {when(pfc)}: "
                "TCP's share of what is delivered"
            )
            found.append(Claim(f"share.{cell}{own}.pfc{pfc:d}", text, share, most=1))
        for qcn in ("qcn20", "qcn66"):
            for other in ("base", "red"):
                places = (Crowd("udp_8", cell, scheme, pfc).place("classes") for cell in (qcn, other))
                titles = f"{as_ratio(CELLS[qcn].title, CELLS[other].title)}{named}"
                text = f"ratio of Jain's indices of what TCP and UDP deliver at a hot spot, {titles}, {when(pfc)}"
                name = f"crowd.{qcn}.{other}{own}.pfc{pfc:d}"
                found.append(Claim(name, text, ratio(values, *places), judge.above(1)))
    return found
