"""E1, E3, E17, E23 and E24: flows of 7 hosts, or 2 to 32, to one, at one switch, with E3 also from several racks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paceline import plot
from paceline.experiments.cee.hotspot import rules
from paceline.experiments.cee.hotspot.runs import RACKS_REMARK, REMARKS, SWEEP, Crowd, by_case, measure, plan, table
from paceline.experiments.cee.measures import facts
from paceline.experiments.cee.setup import CELLS, cells_named, pfc_title, when
from paceline.experiments.cee.study import Plan, experiment
from paceline.plot import multiples
from paceline.reproduce.claims import intervals, told
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown
from paceline.sweeps.points import Runs


def _queues(runs: Runs) -> Iterator[Drawing]:
    series = {}
    for pfc in (0, 1):
        for run in runs.where(kind="short_7", cell="base", scheme="new_reno", pfc=pfc, seed=1):
            f = facts(run)
            series[when(pfc)] = (f.queue_us * 1e6, f.queue_bytes)
    if series:
        yield Drawing(
            "E1-queue", plot.queue_timeline(series), "Bytes waiting at the receiver's port, seven NewReno flows."
        )


def _over_flows(runs: Runs) -> Iterator[Drawing]:
    values, bars = measure(runs), intervals(measure, runs, shares=("jain", "use"))
    cells = [(cell, pfc) for cell in ("qcn20", "qcn66") for pfc in (False, True)]
    titles = {of: f"{CELLS[of[0]].title}, {pfc_title(of[1])}" for of in cells}
    row = []
    measures = {"jain": "Jain's index", "use": "Share of the link used", "queue_p50_kb": "Median queue (KB)"}
    for what, name in measures.items():
        curves, around = {}, {}
        for (cell, pfc), title in titles.items():
            places = {float(n): Crowd(f"greedy_{n}", cell, "new_reno", pfc).place(what) for n in SWEEP}
            places = {n: place for n, place in places.items() if place in values}
            curves[title] = (list(places), [values[place] for place in places.values()])
            around[title] = {n: bars[place] for n, place in places.items() if place in bars}
        # Differences of a thousandth are none.
        ends = (0.0, 1.05) if what == "use" else None
        chart = multiples.Chart("", curves, "Flows", name, scale="linear", between=ends, log_x=True, intervals=around)
        row.append(chart)
    variants = {titles[cell, True]: titles[cell, False] for cell in ("qcn20", "qcn66")}
    caption = (
        "NewReno flows without end over their number: Jain's index of fairness (1: all get the same), the share of the "
        "receiver's link that they use, and the queue at its port."
    )
    figure = multiples.charts([row], variants)
    yield Drawing("E24-flows", figure, caption + told(bars, figure))


_DRAWN = {1: _queues, 24: _over_flows}


def _experiment(number: int, title: str, statement: str, rule: Any, chosen: Plan, *remarks: str) -> Experiment:
    def show(runs: Runs, _scale: Scale) -> Shown:
        drawn = _DRAWN[number](runs) if number in _DRAWN else ()
        named = cells_named(list(map(str, runs.values("cell"))))
        return Shown(drawn, [table(measure(runs), by_case(runs))], [*REMARKS, *named, *remarks])

    return experiment(f"E{number}", title, statement, chosen, measure=measure, rule=rule, show=show)


EXPERIMENTS = (
    _experiment(
        1,
        "Queue with and without PFC",
        "Without PFC the queue is a saw-tooth of fill and loss; with PFC it is a plateau, and nothing is lost.",
        rules.sawtooth_rule,
        plan(*(Crowd("short_7", "base", "new_reno", pfc) for pfc in (False, True))),
    ),
    _experiment(
        3,
        "The winner under QCN",
        "Under QCN at 66 KB without PFC one flow of seven takes more than 40 % of the link, and only it loses frames.",
        rules.winner_rule,
        plan(
            Crowd("greedy_7", "qcn66", "new_reno"),
            Crowd("greedy_7", "base", "new_reno"),
            *(Crowd(kind, "qcn66", "new_reno") for kind in ("far_7", "far_7_near_7")),
            Crowd("far_7", "base", "new_reno"),
        ),
        RACKS_REMARK,
    ),
    _experiment(
        17,
        "CUBIC's convergence",
        "CUBIC is aggressive and slow to yield: it loses more than NewReno and takes longer to be fair.",
        rules.convergence_rule,
        plan(*(Crowd("late_7", "base", scheme) for scheme in ("new_reno", "cubic", "cubic_half", "cubic_anew"))),
        "Variant timeout anew: after a timeout CUBIC forgets its maximum and how long the curve takes to it, as after "
        "a loss; FreeBSD's kernel keeps both.",
    ),
    _experiment(
        23,
        "Round trips",
        "A round trip takes a few µs to tens of µs in an idle network, and tens of milliseconds in a congested one.",
        rules.rtt_rule,
        plan(
            Crowd("ping_alone", "base", "new_reno"),
            *(Crowd("ping_32", "base", "new_reno", pfc) for pfc in (False, True)),
        ),
    ),
    _experiment(
        24,
        "QCN over the number of flows",
        "QCN's fairness and adaptivity are open questions.",
        rules.sweep_rule,
        plan(
            *(
                Crowd(f"greedy_{n}", cell, "new_reno", pfc)
                for cell in ("qcn20", "qcn66")
                for pfc in (False, True)
                for n in SWEEP
            )
        ),
    ),
)
