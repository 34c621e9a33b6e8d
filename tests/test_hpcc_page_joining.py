"""H15: how a queue's samples are read, and what the sentence asks of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from paceline.experiments.hpcc_page import joining
from paceline.experiments.hpcc_page.joining import COMPARED, OURS, VARIANTS, Course, course, drawn
from paceline.reproduce.claims import Place
from paceline.reproduce.model import Scale
from paceline.sweeps.runner import prepare


def test_the_engine_takes_every_scenario() -> None:
    jobs = prepare(joining.plan(Scale.TINY))
    varied = {name for name, setup in VARIANTS.items() if setup.schemes == OURS}
    assert varied == {"target_95", "max_stage_5"}
    expected = len(COMPARED) * (len(VARIANTS) - len(varied)) + len(OURS) * len(varied)
    assert len({job.key for job in jobs}) == len(jobs) == expected


def test_a_queue_that_goes_as_fast_as_the_link_sends_takes_one_rtt_more() -> None:
    """Senders silent from the first feedback on: 7 times what the link sends in an RTT comes together, and goes."""
    rtts = np.arange(-2, 20, 0.1)
    waiting = np.where(rtts < 0, 900.0, np.clip(np.minimum(700 * rtts, 700 - 100 * (rtts - 1)), 0, None))
    seen = course(rtts, waiting, zero_bytes=8, bytes_per_rtt=100)
    assert (seen.peak_bytes, seen.growth) == pytest.approx((700, 1)), "what was before does not count"
    assert (seen.half, seen.empty, seen.gone) == pytest.approx((4.5, 8, 8))
    assert (seen.half_spare, seen.spare, seen.loaded) == pytest.approx((1, 1, 1))
    assert (seen.after_mean, seen.after_p99, seen.later_mean) == (0, 0, 0)


def test_a_queue_that_stands_is_never_gone() -> None:
    rtts = np.arange(0, 10.05, 0.1)
    seen = course(rtts, np.where(rtts < 1, 100 * rtts, 100.0), zero_bytes=8, bytes_per_rtt=100)
    assert seen.gone == pytest.approx(10), "the least that it can be"
    unknown = (seen.half, seen.half_spare, seen.empty, seen.spare, seen.loaded, seen.after_mean, seen.after_p99)
    assert all(map(math.isnan, unknown)), "how long a link needs says nothing where the run is over first"
    assert seen.later_mean == 100


def test_the_p99_is_of_the_time_after_the_queue_is_gone() -> None:
    waiting = np.array([500.0, *[0.0] * 97, 20.0, 30.0, 40.0])
    seen = course(np.linspace(0, 10, len(waiting)), waiting, zero_bytes=8, bytes_per_rtt=100)
    assert seen.after_p99 == 30
    assert seen.after_mean == pytest.approx(0.9)


def test_points_of_the_figure_are_means_around_their_time() -> None:
    rtts = np.arange(-1, 40, 0.02)
    places, values = drawn(rtts, np.where(rtts < 5, 1000 * rtts, 0.0))
    assert max(places) <= 40 / 1.1
    assert dict(zip(places, values, strict=True))[3] == pytest.approx(3, abs=0.02)
    assert values[-1] == 0.5, "a logarithmic axis has no zero"


def _values(ours: Course, others: Course) -> dict[Place, float]:
    return {
        (variant, scheme, what): getattr(ours if scheme in OURS else others, what) / unit
        for variant in VARIANTS
        for scheme in COMPARED
        for what, (_, unit) in joining._TOLD.items()
    }


def test_the_sentence_holds_of_the_ideal_and_not_of_a_queue_that_stands() -> None:
    ideal = Course(1.05e6, 1.0, 4.5, 8.0, 300.0, 7.0, 2000.0, 8000.0, 2000.0)
    standing = Course(1.05e6, 2.5, 9.0, math.nan, 300.0, 7.0, math.nan, math.nan, 400e3)
    judged = [claim for claim in joining.rule(_values(ideal, standing)) if claim.limits is not None]
    assert len(judged) == 28
    assert all(claim.holds for claim in judged)
    altered = joining.rule(_values(standing, ideal))
    assert not any(claim.holds for claim in altered if claim.limits is not None)
    assert {claim.value for claim in altered if claim.id in ("hpcc_int.spare", "hpcc_pint.spare")} >= {300.0}
