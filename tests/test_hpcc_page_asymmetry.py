"""H14: flows under way over time, and the runs with a failed link."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from paceline.experiments.hpcc_page import asymmetry
from paceline.reproduce.model import Scale
from paceline.sweeps.points import Run, Runs
from paceline.sweeps.runner import prepare


def test_flows_under_way_are_those_started_and_not_finished() -> None:
    start, end = [0, 10, 20, 20], [15, 0, 20, 40]  # the second never ends, the third at once
    assert list(asymmetry.under_way(start, end, [-1, 0, 10, 15, 20, 39, 40, 1000])) == [0, 1, 2, 1, 2, 2, 1, 1]
    assert np.all(asymmetry.under_way([], [], [0, 1]) == 0)


def test_the_runs_differ_in_the_failure_alone() -> None:
    jobs = prepare(asymmetry.plan(Scale.TINY))
    variants = {job.point.key["variant"]: job.scenario_toml for job in jobs if job.point.key["scheme"] == "dctcp"}
    assert "failures" in tomllib.loads(variants["failed_link"])
    assert "failures" not in tomllib.loads(variants["default"])
    assert len({job.key for job in jobs}) == len(jobs)


@pytest.mark.parametrize("most", [1, 3, 10])
def test_flows_have_whole_ticks(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """The axis of a count had ticks such as 2.5, also where the curve is a mean over seeds."""
    monkeypatch.setattr(Run, "results", lambda _run: None)
    monkeypatch.setattr(asymmetry, "unfinished", lambda _results, times, near: np.arange(len(times)) % (most + 1))
    runs = Runs(tuple(Run(point, Path("nowhere")) for point in asymmetry.plan(Scale.TINY)))
    (drawing,) = asymmetry._drawings(runs, Scale.TINY)
    axes = drawing.figure.axes[0]
    ticks = [float(tick) for tick in axes.get_yticks() if 0 <= tick <= axes.get_ylim()[1]]
    assert len(ticks) > 1
    assert all(tick.is_integer() for tick in ticks)
