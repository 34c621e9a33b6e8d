"""The statements about message-passing programs, as rules on the values of :mod:`.runs`."""

from __future__ import annotations

import math
from typing import Final

from paceline.experiments.cee.programs.runs import LARGER, program_title, spread_of, watched_programs
from paceline.experiments.cee.setup import ALL_CELLS, CELLS, READINGS, TITLES, limiters, read
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, at, ratio

ROUND_TRIP_MS: Final = 0.075


def _slow(values: Values, *place: str | float) -> float:
    return at(values, "all", *place, "slowdown")


def sustained_rule(values: Values) -> list[Claim]:
    """E12: congestion lasts and touches all hosts. Judged with FT, in which all ranks talk to all; others are told."""
    found = []
    for program in dict.fromkeys(("ft", LARGER, *watched_programs(values))):
        judged = program in ("ft", LARGER)
        variant, name = ("larger_class" if program == LARGER else "default"), ("" if judged else f"{program}.")
        for pfc in (0.0, 1.0):
            seen = spread_of(values, program, pfc)
            when = f"{program_title(program)} {'with' if pfc else 'without'} PFC"
            wide, long = judge.at_least(0.8), judge.at_least(10)
            text = f"{when}: share of the hosts in front of which over 80 KB wait at some time"
            found.append(
                Claim(
                    f"{name}involved.pfc{pfc:g}",
                    text,
                    seen.get("involved", math.nan),
                    wide if judged else None,
                    variant=variant,
                    most=1,
                )
            )
            text = f"{when}: longest time in which some port holds over 80 KB, in round trips of 75 µs"
            trips = seen.get("longest_ms", math.nan) / ROUND_TRIP_MS
            found.append(Claim(f"{name}lasting.pfc{pfc:g}", text, trips, long if judged else None, variant=variant))
            text = f"{when}: time in which some port holds over 80 KB, ms"
            total = seen.get("congested_ms", math.nan)
            found.append(Claim(f"{name}congested_ms.pfc{pfc:g}", text, total, variant=variant))
    return found


def best_rule(values: Values) -> list[Claim]:
    """E14: RED with PFC is best."""
    found = []
    for scheme, title in TITLES.items():
        best = _slow(values, "red", scheme, 1.0)
        found.append(Claim(f"{scheme}.slowdown", f"{title}: geometric mean of slowdowns, ECN-RED with PFC", best))
        for reading in READINGS:
            others = [
                _slow(values, read(cell, reading), scheme, pfc)
                for cell in CELLS
                for pfc in (0.0, 1.0)
                if (cell, pfc) != ("red", 1.0)
            ]
            among = f"the other cells{limiters(reading)}"
            text = f"{title}: geometric mean of slowdowns over that of ECN-RED with PFC, the best of {among}"
            over = min(others) / best if best and all(map(math.isfinite, others)) else math.nan
            found.append(Claim(scheme, text, over, judge.above(1), variant=reading))
    return found


def without_pfc_rule(values: Values) -> list[Claim]:
    """E15: without PFC QCN 20 is best."""
    found = []
    for reading in READINGS:
        qcn = read("qcn20", reading)
        for scheme, title in TITLES.items():
            for other in ("base", "qcn66", "red"):
                worse = read(other, reading)
                over = ratio(values, ("all", worse, scheme, 0.0, "slowdown"), ("all", qcn, scheme, 0.0, "slowdown"))
                over_what = f"{CELLS[other].title} over {ALL_CELLS[qcn].title}"
                text = f"{title} without PFC: geometric mean of slowdowns, {over_what}"
                found.append(Claim(f"{scheme}.{other}", text, over, judge.above(1), variant=reading))
    return found
