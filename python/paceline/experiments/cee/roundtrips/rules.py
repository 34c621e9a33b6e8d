"""The statements about round-trip times, as rules on the values of :mod:`.runs`."""

from __future__ import annotations

import math
from typing import Final

from paceline.experiments.cee.roundtrips.runs import RTTS_US, Bursts, Distant, Mixed
from paceline.experiments.cee.setup import CELLS, ROUND_TRIP_US, TITLES, when
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, at, ratio

RESPONSES: Final = (("base", "new_reno"), ("base", "cubic"), ("qcn20", "new_reno"))
"""Cells and schemes of E19."""

GROWTHS: Final = ("new_reno", "cubic", "vegas")
"""Schemes of E25."""

MIXED: Final = ("base", "red")
"""Cells of E25."""

_LONG_US: Final = RTTS_US[-1]


def swing_rule(values: Values) -> list[Claim]:
    """E7: with PFC the delay moves a hundredfold within a millisecond."""
    found = []
    for pfc in (False, True):
        case = Bursts(pfc)
        limits = judge.at_least(100) if pfc else None
        text = f"longest over shortest delay in the network within 1 ms, {when(pfc)}"
        found += [
            Claim(f"swing.pfc{pfc:d}", text, at(values, *case.place("swing")), limits, "100 to 1000"),
            Claim(f"longest.pfc{pfc:d}", f"longest delay (µs), {when(pfc)}", at(values, *case.place("longest_us"))),
            Claim(
                f"late.pfc{pfc:d}",
                f"shortest timeout of 22 ms over the longest round trip, {when(pfc)}",
                at(values, *case.place("late")),
            ),
            Claim(f"timeouts.pfc{pfc:d}", f"timeouts, {when(pfc)}", at(values, *case.place("timeouts"))),
        ]
    spurious = at(values, *Bursts(pfc=True).place("timeouts"))
    found.append(Claim("spurious", "timeouts with PFC, where nothing is lost: all would be mistakes", spurious))
    return found


def response_rule(values: Values) -> list[Claim]:
    """E19: what is lost and used over the round trip."""
    found = []
    for cell, scheme in RESPONSES:
        title = TITLES[scheme] + (f", {CELLS[cell].title}" if cell != "base" else "")
        name = f"{cell}.{scheme}"
        long, short = (Distant(us, cell, scheme) for us in (_LONG_US, ROUND_TRIP_US))
        lost = ratio(values, long.place("lost"), short.place("lost"))
        use = at(values, *long.place("use"))
        found += [
            Claim(f"{name}.lost", f"{title}: share lost at a round trip of 5 ms over that at {ROUND_TRIP_US} µs", lost),
            Claim(f"{name}.use", f"{title}: share of the link used at 5 ms", use, most=1),
        ]
    reno, cubic = (next(c.value for c in found if c.id == f"base.{s}.lost") for s in ("new_reno", "cubic"))
    over = cubic / reno if reno else math.nan
    text = "losses fall with the round trip less under CUBIC than under NewReno: the first quotient over the second"
    found.append(Claim("cubic", text, over, judge.above(1)))
    qcn = ratio(values, *(Distant(_LONG_US, cell, "new_reno").place("use") for cell in ("qcn20", "base")))
    found.append(Claim("qcn", "link used at 5 ms under QCN 20 over that without", qcn, judge.below(1)))
    return found


def mixture_rule(values: Values) -> list[Claim]:
    """E25: near and far flows share a port; nothing is claimed."""
    found = []
    for scheme in GROWTHS:
        for cell in MIXED:
            title = f"{TITLES[scheme]}, {CELLS[cell].title}"
            greedy, ends = Mixed("mixed_greedy", cell, scheme), Mixed("mixed_ends", cell, scheme)
            name = f"{scheme}.{cell}"
            found += [
                Claim(
                    f"{name}.over",
                    f"{title}: bytes of four near flows over those of four far ones",
                    at(values, *greedy.place("over")),
                ),
                Claim(f"{name}.jain", f"{title}: Jain's index of all eight", at(values, *greedy.place("jain")), most=1),
                Claim(f"{name}.near_ms", f"{title}: FCT of near flows (ms)", at(values, *ends.place("near_ms"))),
                Claim(f"{name}.far_ms", f"{title}: FCT of far flows (ms)", at(values, *ends.place("far_ms"))),
            ]
    return found
