"""The statements about message-passing programs, as rules on the values of :mod:`scientific`; and E16, about both."""

from __future__ import annotations

import math
from typing import Final

from paceline.experiments.cee.scientific import LARGER, program_title, spread_of, watched_programs
from paceline.experiments.cee.setup import ALL_CELLS, CELLS, READINGS, SCHEMES, TITLES, limiters, read
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, ratio

ROUND_TRIP_MS: Final = 0.075


def _slow(values: Values, *place: str | float) -> float:
    return values.get(("all", *place, "slowdown"), math.nan)


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
