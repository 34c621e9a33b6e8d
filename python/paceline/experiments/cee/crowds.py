"""E1, E3, E4, E17, E23 and E24: flows of 7 hosts, or 2 to 32, to one, at one switch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paceline import plot
from paceline.experiments.cee import hotspot_rules as rules
from paceline.experiments.cee.hotspot import REMARKS, SWEEP, measure, plan, table
from paceline.experiments.cee.measures import facts
from paceline.experiments.cee.setup import CELLS
from paceline.experiments.cee.study import Plan, experiment
from paceline.reproduce.model import Drawing, Experiment, Runs, Scale, Shown


def _queues(runs: Runs) -> Iterator[Drawing]:
    series = {}
    for pfc, title in ((0, "without PFC"), (1, "with PFC")):
        for run in runs.where(kind="short_7", cell="base", scheme="new_reno", pfc=pfc, seed=1):
            f = facts(run)
            series[title] = (f.queue_us * 1e6, f.queue_bytes)
    if series:
        yield Drawing(
            "E1-queue", plot.queue_timeline(series), "Bytes waiting at the receiver's port, seven NewReno flows."
        )


def _experiment(number: int, title: str, statement: str, rule: Any, chosen: Plan) -> Experiment:
    def show(runs: Runs, _scale: Scale) -> Shown:
        return Shown(_queues(runs) if number == 1 else (), [table(measure(runs))], REMARKS)

    return experiment(f"E{number}", title, statement, chosen, measure=measure, rule=rule, show=show)


EXPERIMENTS = (
    _experiment(
        1,
        "Queue with and without PFC",
        "Without PFC the queue is a saw-tooth of fill and loss; with PFC it is a plateau, and nothing is lost.",
        rules.sawtooth_rule,
        plan(*(("short_7", "base", "new_reno", pfc) for pfc in (0, 1))),
    ),
    _experiment(
        3,
        "The winner under QCN",
        "Under QCN at 66 KB without PFC one flow of seven takes more than 40 % of the link, and only it loses frames.",
        rules.winner_rule,
        plan(("greedy_7", "qcn66", "new_reno", 0), ("greedy_7", "base", "new_reno", 0)),
    ),
    _experiment(
        4,
        "Vegas and PFC",
        "Vegas keeps the queue short, so that PFC changes nothing.",
        rules.vegas_rule,
        plan(("greedy_7", "base", "vegas", 0), *(("ends_7", cell, "vegas", pfc) for cell in CELLS for pfc in (0, 1))),
    ),
    _experiment(
        17,
        "CUBIC's convergence",
        "CUBIC is aggressive and slow to yield: it loses more than NewReno and takes longer to be fair.",
        rules.convergence_rule,
        plan(*(("late_7", "base", scheme, 0) for scheme in ("new_reno", "cubic", "cubic_half"))),
    ),
    _experiment(
        23,
        "Round trips",
        "A round trip takes a few us in an idle network and milliseconds in a congested one.",
        rules.rtt_rule,
        plan(*((kind, "base", "new_reno", pfc) for kind, pfc in (("ping_alone", 0), ("ping_32", 0), ("ping_32", 1)))),
    ),
    _experiment(
        24,
        "QCN over the number of flows",
        "QCN's fairness and adaptivity are open questions.",
        rules.sweep_rule,
        plan(*((f"greedy_{n}", cell, "new_reno", pfc) for cell in ("qcn20", "qcn66") for pfc in (0, 1) for n in SWEEP)),
    ),
)
