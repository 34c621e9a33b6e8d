"""H14: flows under way over time, and the runs with a failed link."""

from __future__ import annotations

import tomllib

import numpy as np

from paceline.experiments.hpcc_page import asymmetry
from paceline.reproduce.model import Scale
from paceline.reproduce.sweep import prepare


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
