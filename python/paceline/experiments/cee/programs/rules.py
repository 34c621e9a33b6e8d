"""The statements about message-passing programs, as rules on the values of :mod:`.runs`."""

from __future__ import annotations

import math
from itertools import product
from typing import Final

from paceline.experiments.cee.programs.runs import LARGER, ProgramCase, at_ports, program_title, watched_programs
from paceline.experiments.cee.setup import (
    ALL_CELLS,
    CELLS,
    READINGS,
    ROUND_TRIP_US,
    TITLES,
    limiters,
    read,
    readings,
    when,
)
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, at, ratio

_OVER: Final = "some port holds over 80 KB"
_SUSTAINED: Final = (
    (
        "involved",
        "share of the hosts in front of which over 80 KB wait at some time",
        "involved",
        1,
        judge.at_least(0.8),
        1,
    ),
    (
        "lasting",
        f"longest time in which {_OVER}, in round trips of {ROUND_TRIP_US} µs",
        "longest_ms",
        ROUND_TRIP_US / 1000,
        judge.at_least(10),
        math.inf,
    ),
    ("congested_ms", f"time in which {_OVER} (ms)", "congested_ms", 1, None, math.inf),
)
"""Claims of E12: names, words, what is measured, what is one of it, limits, and the most that a value can be."""


def sustained_rule(values: Values) -> list[Claim]:
    """E12: congestion lasts and touches all hosts; QCN 20 makes less of it.

    Judged with FT, in which all ranks talk to all; others are told.
    """
    found = []
    for program in dict.fromkeys(("ft", LARGER, *watched_programs(values))):
        judged = program in ("ft", LARGER)
        prefix, variant = "" if judged else f"{program}.", "larger_class" if program == LARGER else "default"
        for pfc in (False, True):
            case = at_ports(program, pfc=pfc)
            for name, words, what, one, limits, most in _SUSTAINED:
                id_, text = f"{prefix}{name}.pfc{pfc:d}", f"{program_title(program)} {when(pfc)}: {words}"
                value = at(values, *case.place(what)) / one
                found.append(Claim(id_, text, value, limits if judged else None, variant=variant, most=most))
    # Of QCN 20 the study says that its low set point mitigates these events.
    for program, (reading, _, own) in product(("ft", LARGER), readings(("qcn20",))):
        under, over = (at_ports(program, pfc=False, cell=cell).place("congested_ms") for cell in ("base", own))
        text = f"{program_title(program)} without PFC: time in which {_OVER}, {ALL_CELLS[own].title} over no marking"
        name = "mitigated" if program == "ft" else f"{program}.mitigated"
        found.append(Claim(name, text, ratio(values, over, under), judge.below(1), variant=reading))
    return found


def best_rule(values: Values) -> list[Claim]:
    """E14: RED with PFC is best."""
    found = []
    for scheme, title in TITLES.items():
        slowdowns = f"{title}: geometric mean of slowdowns"
        best = _slowdown(values, "red", scheme, pfc=True)
        found.append(Claim(f"{scheme}.slowdown", f"{slowdowns}, ECN-RED with PFC", best))
        for reading in READINGS:
            others = [
                _slowdown(values, read(cell, reading), scheme, pfc=pfc)
                for cell in CELLS
                for pfc in (False, True)
                if (cell, pfc) != ("red", True)
            ]
            text = f"{slowdowns} over that of ECN-RED with PFC, the best of the other cells{limiters(reading)}"
            over = min(others) / best if best and all(map(math.isfinite, others)) else math.nan
            found.append(Claim(scheme, text, over, judge.above(1), variant=reading))
    return found


def _slowdown(values: Values, cell: str, scheme: str, *, pfc: bool) -> float:
    return at(values, *ProgramCase(cell, scheme, pfc).place("slowdown"))


def without_pfc_rule(values: Values) -> list[Claim]:
    """E15: without PFC QCN 20 is best."""
    found = []
    for reading in READINGS:
        qcn = read("qcn20", reading)
        for scheme, title in TITLES.items():
            for other in ("base", "qcn66", "red"):
                places = (ProgramCase(cell, scheme).place("slowdown") for cell in (read(other, reading), qcn))
                cells = f"{CELLS[other].title} over {ALL_CELLS[qcn].title}"
                text = f"{title} without PFC: geometric mean of slowdowns, {cells}"
                found.append(Claim(f"{scheme}.{other}", text, ratio(values, *places), judge.above(1), variant=reading))
    return found
