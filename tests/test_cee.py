"""The rules of the converged-Ethernet study on published and altered statements, the plans, and tiny runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from paceline import experiments
from paceline.experiments.cee import commercial, deadlock, hotspot, queries
from paceline.experiments.cee.measures import cycles, largest_share, time_to_fairness
from paceline.experiments.cee.setup import CELLS, SCHEMES, XOFF
from paceline.reproduce.claims import Claim, Place
from paceline.reproduce.model import Run, Runs, Scale
from paceline.reproduce.sweep import prepare
from paceline.run import simulate

NUMBERS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 16, 17, 18, 20, 21, 22, 23, 24, 26)
OURS = [e for e in experiments.experiments() if e.id in {f"E{n}" for n in NUMBERS}]


def failing(claims: list[Claim]) -> set[str]:
    return {claim.id for claim in claims if claim.limits and not claim.holds}


def test_hot_spots_hold_on_what_was_published_and_fail_on_altered_numbers() -> None:
    values: dict[Place, float] = {}
    off, on = ("short_7", "base", "new_reno", 0.0), ("short_7", "base", "new_reno", 1.0)
    values |= {(*off, "teeth"): 40.0, (*off, "drops"): 997.0, (*on, "drops"): 0.0}
    values |= {(*on, "queue_p50_kb"): 7 * XOFF / 1000, (*on, "held"): 0.98}
    assert failing(hotspot.sawtooth_rule(values)) == set()
    values |= {(*on, "drops"): 1.0, (*on, "held"): 0.5}
    assert failing(hotspot.sawtooth_rule(values)) == {"drops_on", "held"}
    assert failing(hotspot.winner_rule({("greedy_7", "qcn66", "new_reno", 0.0, "share"): 0.41})) == set()
    assert failing(hotspot.winner_rule({("greedy_7", "qcn66", "new_reno", 0.0, "share"): 0.2})) == {"share"}


def test_queries_hold_on_what_was_published_and_fail_on_altered_numbers() -> None:
    values: dict[Place, float] = {}
    for cell, ms in (("base", 10.0), ("red", 8.0), ("qcn66", 12.0), ("qcn20", 30.0)):
        for scheme, factor in (("vegas", 0.9), ("new_reno", 1.0), ("cubic", 1.2)):
            for pfc in (0.0, 1.0):
                better = 0.5 if pfc and cell != "qcn20" else 1.0
                values[cell, scheme, pfc, 0.0, "qct_ms"] = ms * factor * better
                values[cell, scheme, pfc, 0.0, "drops"] = 100 * factor
                values[cell, scheme, pfc, 0.0, "notifications"] = 10.0 if cell == "qcn66" else 90.0
    checked = (
        rules.losses_rule,
        rules.pfc_rule,
        rules.everywhere_rule,
        rules.set_point_rule,
        rules.red_rule,
        rules.ruin_rule,
    )
    for rule in checked:
        assert failing(rule(values)) == set(), rule.__doc__
    values["qcn20", "cubic", 0.0, 0.0, "qct_ms"] = 11.0
    assert failing(rules.ruin_rule(values)) == {"cubic"}
    values["base", "new_reno", 1.0, 0.0, "qct_ms"] = 20.0
    assert failing(rules.pfc_rule(values)) == {"base.new_reno"}


@pytest.mark.parametrize("scale", Scale)
def test_the_engine_takes_every_scenario(scale: Scale) -> None:
    assert len(OURS) == len(NUMBERS)
    for experiment in OURS:
        points = experiment.plan(scale)
        assert len({(tuple(sorted(p.key.items())), p.seed) for p in points}) == len(points) > 0
        prepare([point for point in points if point.seed == 1])


def test_every_cell_differs_from_the_others() -> None:
    points = [commercial.point(cell, "new_reno", pfc, 0, Scale.TINY, 1) for cell in CELLS for pfc in (0, 1)]
    assert len({repr(p.scenario) for p in points}) == 2 * len(CELLS)
    assert set(SCHEMES) == set(commercial.TITLES)


def test_measures_of_series() -> None:
    saw = np.array([0, 50, 100, 40, 90, 60, 95, 10, 20.0])
    assert cycles(saw, high=80, low=50) == 2
    times = np.arange(0, 101.0)
    flows = {0: (times, 3 * times), 1: (times, times)}
    assert largest_share(flows, 10) == pytest.approx(0.75)
    assert math.isnan(largest_share({}, 10))
    # Unequal for 40 us, equal afterwards: fair from the fifth window of 10 us on.
    late = {0: (times, times), 1: (times, np.maximum(times - 40, 0))}
    assert time_to_fairness(late, 10, 0) == pytest.approx(0.05)


def test_a_ring_deadlocks_under_pfc_and_a_fat_tree_does_not(tmp_path: Path) -> None:
    runs = []
    for i, point in enumerate(deadlock.plan(Scale.TINY)):
        simulate(point.scenario, tmp_path / str(i), progress="none")
        runs.append(Run(point, tmp_path / str(i)))
    assert failing(deadlock.rule(deadlock.measure(Runs(tuple(runs))))) == set()


def test_pfc_turns_the_saw_tooth_into_a_plateau(tmp_path: Path) -> None:
    runs = []
    for pfc in (0, 1):
        point = hotspot.point("short_7", "base", "new_reno", pfc, Scale.TINY, 1)
        simulate(point.scenario, tmp_path / str(pfc), progress="none")
        runs.append(Run(point, tmp_path / str(pfc)))
    values = hotspot.measure(Runs(tuple(runs)))
    assert values["short_7", "base", "new_reno", 0.0, "drops"] > 0
    assert values["short_7", "base", "new_reno", 1.0, "drops"] == 0
    assert 500 < values["short_7", "base", "new_reno", 1.0, "queue_p99_kb"] < 760
