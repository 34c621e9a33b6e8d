"""The statements about queries and background flows, as rules on the values of :mod:`.runs`."""

from __future__ import annotations

import math
from itertools import combinations

from paceline.experiments.cee.setup import (
    ABLATIONS,
    ALL_CELLS,
    BURSTS,
    CELLS,
    KNOB_TITLES,
    READINGS,
    SIZES,
    TITLES,
    limiters,
    read,
    readings,
)
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, at, ratio


def losses_rule(values: Values) -> list[Claim]:
    """E5: without PFC CUBIC is worst."""
    found = []
    for what, text in (("qct_ms", "mean QCT"), ("drops", "packets dropped")):
        for worse, better in (("cubic", "new_reno"), ("new_reno", "vegas")):
            over = ratio(values, ("base", worse, 0.0, 0.0, what), ("base", better, 0.0, 0.0, what))
            statement = f"{text} without PFC, {TITLES[worse]} over {TITLES[better]}"
            found.append(Claim(f"{what}.{worse}", statement, over, judge.above(1)))
    return found


def pfc_rule(values: Values) -> list[Claim]:
    """E6: PFC shortens completion times, except with QCN 20."""
    found = []
    for reading, cell, own in readings(tuple(CELLS)):
        for scheme, title in TITLES.items():
            over = ratio(values, (own, scheme, 1.0, 0.0, "qct_ms"), (own, scheme, 0.0, 0.0, "qct_ms"))
            limits = judge.at_least(0.9) if cell == "qcn20" else judge.below(1)
            text = f"mean QCT with PFC over that without, {title}, {ALL_CELLS[own].title}"
            found.append(Claim(f"{cell}.{scheme}", text, over, limits, variant=reading))
    return found


def set_point_rule(values: Values) -> list[Claim]:
    """E8: the higher set point lets bursts pass."""
    found = []
    for reading in READINGS:
        high, low = (read(cell, reading) for cell in ("qcn66", "qcn20"))
        for scheme, title in TITLES.items():
            for what, text in (("notifications", "notifications"), ("qct_ms", "mean QCT")):
                for pfc in (0.0, 1.0):
                    over = ratio(values, (high, scheme, pfc, 0.0, what), (low, scheme, pfc, 0.0, what))
                    name, when = (".pfc1", "with PFC") if pfc else ("", "without PFC")
                    statement = f"{text}, QCN 66 over QCN 20, {title}, {when}{limiters(reading)}"
                    found.append(Claim(f"{what}.{scheme}{name}", statement, over, judge.below(1), variant=reading))
    return found


def red_rule(values: Values) -> list[Claim]:
    """E9: RED is better than QCN."""
    found = []
    for reading in READINGS:
        for pfc in (0.0, 1.0):
            for name, worse, better in (("qcn66", "qcn66", "red"), ("qcn20", "qcn20", "qcn66")):
                over = ratio(
                    values, *((read(cell, reading), "new_reno", pfc, 0.0, "qct_ms") for cell in (worse, better))
                )
                when = "with PFC" if pfc else "without PFC"
                titles = f"{CELLS[worse].title} over {CELLS[better].title}{limiters(reading)}"
                statement = f"mean QCT {when}, NewReno, {titles}"
                found.append(Claim(f"{name}.pfc{pfc:g}", statement, over, judge.at_least(1), variant=reading))
        for cell, kind in ABLATIONS.items():
            over = ratio(values, *((read(c, reading), "new_reno", 0.0, 0.0, "qct_ms") for c in (cell, "qcn20")))
            text = f"mean QCT without PFC, NewReno, {kind.title} over QCN 20 as it is{limiters(reading)}"
            found.append(Claim(cell, text, over, judge.below(1), variant=reading))
    return found


def ruin_rule(values: Values) -> list[Claim]:
    """E20: QCN 20 without PFC makes completion times two to four times as long: of queries, of background flows."""
    found = []
    loads = (("background 20 %", "load_20"), ("queries 10 %", "queries_10"), ("queries 20 %", "queries_20"))
    for what, name, words in (("qct_ms", "", "mean QCT"), ("fct_ms", "fct.", "mean FCT of background flows")):
        for reading in READINGS:
            cell = read("qcn20", reading)
            text = f"{words} without PFC, {ALL_CELLS[cell].title}, over no marking"
            runs: list[tuple[str, tuple[str, ...], str, str]]
            runs = [(scheme, (), title, "") for scheme, title in TITLES.items()]
            runs += [("new_reno", (load,), f"{TITLES['new_reno']}, {load}", variant) for load, variant in loads]
            for scheme, load, title, variant in runs:
                places: list[Place] = [(c, scheme, 0.0, 0.0, *load, what) for c in (cell, "base")]
                over = ratio(values, *places)
                found.append(
                    Claim(
                        f"{name}{scheme}",
                        f"{text}, {title}",
                        over,
                        judge.between(2, 5),
                        published="2.31 to 4.11",
                        variant="_".join(part for part in (reading, variant) if part not in ("", "default"))
                        or "default",
                    )
                )
    for one, other in combinations(TITLES, 2):
        before, after = (
            math.log(ratio(values, *((cell, scheme, 0.0, 0.0, "qct_ms") for scheme in (one, other))))
            for cell in ("base", "qcn20")
        )
        statement = (
            f"order of {TITLES[one]} and {TITLES[other]} by mean QCT without PFC: logarithm of their ratio with no "
            "marking times that under QCN 20, positive where the order stays"
        )
        found.append(Claim(f"order.{one}.{other}", statement, before * after, judge.above(0)))
    return found


def transient_rule(values: Values) -> list[Claim]:
    """E13: congestion is sparse."""
    value = at(values, "base", "new_reno", 0.0, 0.0, "congested")
    return [
        Claim("share", "share of the switch ports that hold over 80 KB, on average", value, judge.below(0.1), most=1)
    ]


def udp_drops_rule(values: Values) -> list[Claim]:
    """E10: what is dropped is UDP."""
    found = []
    for reading, cell, own in readings(tuple(CELLS)):
        title = ALL_CELLS[own].title
        share = at(values, own, "new_reno", 0.0, 1.0, "udp_drop_share")
        of_bytes = at(values, own, "new_reno", 0.0, 1.0, "udp_byte_share")
        found += [
            Claim(
                f"{cell}.share",
                f"UDP's share of the packets dropped, {title}, without PFC",
                share,
                judge.above(0.5),
                most=1,
                variant=reading,
            ),
            Claim(
                f"{cell}.over",
                f"the same over UDP's share of the bytes sent, {title}",
                share / of_bytes if of_bytes else math.nan,
                judge.above(1),
                variant=reading,
            ),
        ]
    return found


def udp_fairness_rule(values: Values) -> list[Claim]:
    """E11 of queries: only QCN is fair between TCP and UDP."""
    found = []
    for pfc in (0.0, 1.0):
        when = "with PFC" if pfc else "without PFC"
        for reading, qcn, own in readings(("qcn20", "qcn66")):
            for other in ("base", "red"):
                over = ratio(values, (own, "new_reno", pfc, 1.0, "jain"), (other, "new_reno", pfc, 1.0, "jain"))
                titles = f"{ALL_CELLS[own].title} over {CELLS[other].title}"
                statement = f"Jain's index of TCP's and UDP's shares delivered, {titles}, {when}"
                found.append(Claim(f"{qcn}.{other}.pfc{pfc:g}", statement, over, judge.above(1), variant=reading))
    return found


def burst_rule(values: Values) -> list[Claim]:
    """E21: RED notices bursts less than QCN."""

    def time(cell: str, size: int) -> float:
        more = () if size == 20 else ("study", float(size))
        return at(values, cell, "new_reno", 0.0, 0.0, *more, "qct_ms")

    growth = {cell: time(cell, SIZES[-1]) / time(cell, SIZES[0]) for _, _, cell in readings(BURSTS)}
    text = f"mean QCT of messages of {SIZES[-1]} KiB over that of {SIZES[0]} KiB without PFC"
    found = [
        Claim(cell, f"{text}, {ALL_CELLS[own].title}", growth[own], variant=reading)
        for reading, cell, own in readings(BURSTS)
    ]
    for reading, _, own in readings(("qcn20",)):
        over = growth[own] / growth["red"]
        statement = f"{text}: {ALL_CELLS[own].title} over ECN-RED"
        found.append(Claim("over", statement, over, judge.above(1), variant=reading))
    return found


def knob_rule(values: Values) -> list[Claim]:
    """E22: what FreeBSD's own settings cost."""
    found = []
    limits = dict.fromkeys(("rto_initial_3s", "slop_200ms", "stock"), judge.above(1))
    for knob, title in KNOB_TITLES.items():
        for what, text in (("qct_ms", "mean QCT"), ("fct_p99_ms", "p99 of the background's FCT")):
            base = ("base", "new_reno", 0.0, 0.0)
            over = ratio(values, (*base, knob, 20.0, what), (*base, what))
            statement = f"{text}, NewReno without PFC: {title} over the study's settings"
            found.append(Claim(f"{knob}.{what}", statement, over, limits.get(knob)))
        # These have no time and are not in the mean.
        open_ = at(values, "base", "new_reno", 0.0, 0.0, knob, 20.0, "unanswered")
        found.append(
            Claim(f"{knob}.unanswered", f"share of the queries that are never answered, {title}", open_, most=1)
        )
    return found
