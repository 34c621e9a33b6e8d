"""The runs of the HPCC page: what is planned, and how flows become verdicts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from paceline.analysis import SizeBins
from paceline.experiments.hpcc_page import figures, judging
from paceline.experiments.hpcc_page.curves import MAIN, PERCENTILES, WORKLOADS, CurveId, Curves, published
from paceline.experiments.hpcc_page.setup import CONTROL, VARIANTS, WINDOWS, points, scenario, variant_points
from paceline.experiments.hpcc_page.slowdown import EXPERIMENTS
from paceline.reproduce.claims import Claim
from paceline.reproduce.judge import at_least
from paceline.reproduce.model import Outcome, Scale
from paceline.run import simulate
from paceline.scenario import IncastLoad, PoissonIncast
from paceline.sweeps import estimates
from paceline.sweeps.points import Run, Runs
from paceline.sweeps.runner import prepare


def test_the_engine_takes_every_scenario() -> None:
    variants = [p for workload in WORKLOADS for p in variant_points(Scale.TINY, workload)]
    jobs = prepare([*points(Scale.TINY, CONTROL), *variants])
    assert len({job.key for job in jobs}) == len(jobs) - 2  # the schemes without a window are in both lists


def test_experiments_share_their_runs() -> None:
    planned = [p for e in EXPERIMENTS for p in e.plan(Scale.QUICK)]
    keys = {(tuple(sorted(p.key.items())), p.seed) for p in planned}
    figures = [e for e in EXPERIMENTS if e.id in ("H1", "H2", "H3", "H16", "H17")]
    shared = {(tuple(sorted(p.key.items())), p.seed) for e in figures for p in e.plan(Scale.QUICK)}
    assert keys == shared  # H4 to H12 need no run that the figures do not need
    assert len(keys) < len(planned) / 2


@pytest.mark.parametrize("scale", Scale)
def test_statistical_scales_have_three_seeds(scale: Scale) -> None:
    for window in WINDOWS[scale].values():
        assert window.warmup_us < window.arrivals_us
        assert scale is Scale.TINY or window.seeds >= 3


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_what_made_the_published_curves_is_tried_wherever_they_are_judged(workload: str, scale: Scale) -> None:
    """At 70 % load quick runs are no statement about absolute curves, and would only cost time."""
    tried = [p for p in variant_points(scale, workload) if p.key["variant"] == "reference"]
    loads = {30, 50, 70} if scale is Scale.PAPER else {30, 50}
    assert {(p.key["load"], p.key["scheme"]) for p in tried} == {(load, s) for load in loads for s in MAIN}
    for point in tried:
        quirks = point.scenario.quirks
        assert quirks.clock_1ns
        # Elsewhere it has no effect, and a run would say so.
        assert quirks.pint_data_only == (point.key["scheme"] == "hpcc_pint")


def test_marking_fits_the_scheme() -> None:
    window = WINDOWS[Scale.TINY][30]
    assert scenario("websearch", 30, "dctcp", window).switch.ecn.k_min == "300KB"
    for scheme in MAIN[:-1]:
        assert scenario("websearch", 30, scheme, window).switch.ecn.k_min == "400KB"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A short run with incasts: flows of two groups."""
    window = WINDOWS[Scale.TINY][50]
    point = points(Scale.TINY, ["hpcc_int"], workloads=["hadoop"], loads=[50])[0]
    folder = tmp_path_factory.mktemp("runs") / "run"
    mixed = scenario("hadoop", 50, "hpcc_int", window, VARIANTS["incast"])
    poisson, incast = mixed.workloads
    assert isinstance(incast, PoissonIncast)
    often = replace(incast, load=IncastLoad(value=0.5))  # one in 375 us, as in the variant, would be none
    simulate(replace(mixed, workloads=[poisson, often]), folder, progress="none")
    return Run(point, folder)


def test_incast_flows_do_not_enter_the_curves(run: Run) -> None:
    flows = run.results().flows
    assert {"hadoop", "incast"} == set(flows["group"])
    assert len(judging.sample(run.folder, "hadoop")) == np.count_nonzero(flows["group"] == "hadoop")


def test_a_time_limit_leaves_out_what_finishes_later(run: Run) -> None:
    flows = run.results().flows
    end = flows["start_ps"] + flows["fct_sender_ps"]
    limit = WINDOWS[Scale.TINY][50].arrivals_us * judging.PS_PER_US
    kept = judging.sample(run.folder, "hadoop", limit)
    assert 0 < len(kept) < len(judging.sample(run.folder, "hadoop"))
    assert len(kept) == np.count_nonzero((flows["group"] == "hadoop") & (end <= limit))


def test_the_jackknife_gives_the_interval_of_a_mean() -> None:
    values = [1.0, 2.0, 4.0]
    whole = sum(values) / 3
    found = estimates.jackknife(whole, [(sum(values) - v) / 2 for v in values])
    half = 4.3027 * np.std(values, ddof=1) / math.sqrt(3)
    assert found.interval == pytest.approx((whole - half, whole + half))
    assert estimates.jackknife(whole, [1.0, 2.0]).interval is None
    assert estimates.jackknife(math.nan, values).interval is None


def test_verdicts_at_tiny_are_not_judged_and_have_published_values(run: Run) -> None:
    def rule(curves: Curves) -> list[Claim]:
        value = curves.mean(CurveId("hadoop", 50, "hpcc_int", 50))
        return [Claim("mean", "mean", value, at_least(1.0)), Claim("free", "mean", value)]

    found = judging.verdicts("H0", rule, Runs((run,)), Scale.TINY)
    assert [v.verdict for v in found] == [Outcome.NOT_JUDGED, Outcome.REPORT]
    assert found[0].published == pytest.approx(published().mean(CurveId("hadoop", 50, "hpcc_int", 50)))
    assert isinstance(found[0].measured, float)
    assert found[0].measured >= 1.0
    assert judging.verdicts("H0", rule, Runs((run,)), Scale.QUICK)[0].verdict is Outcome.UNDECIDED  # one seed


def test_figures_show_published_curves_beside_those_measured(run: Run) -> None:
    measured = judging.measured_curves(Runs((run,)), Scale.TINY)
    drawn = list(figures.slowdown("H2", measured, MAIN, "hadoop", [50], Scale.TINY))
    assert [d.name for d in drawn] == ["H2-hadoop", *(f"H2-hadoop50-p{q}" for q in PERCENTILES)]
    panels = drawn[0].figure.axes
    assert [ax.get_title() for ax in panels] == [f"Hadoop, 50 % load, p{q}" for q in PERCENTILES]
    for ax, q in zip(panels, PERCENTILES, strict=True):
        found, thin = ax.get_lines()
        curve = CurveId("hadoop", 50, "hpcc_int", q)
        assert np.array_equal(thin.get_ydata(), published()[curve])
        seen = np.isfinite(measured[curve].value)
        assert np.array_equal(found.get_ydata(), measured[curve].value[seen])


def test_a_tenth_of_the_sizes_is_drawn_in_its_middle() -> None:
    """At its end a median that rises lay to the right of the published one that it is equal to."""
    bins = published().bins["websearch"]
    last = np.unique([int(np.abs(bins.position - place).argmin()) for place in range(10, 101, 10)])
    middle = judging._middles(bins, last)
    assert np.abs(bins.position[middle] - np.arange(5, 100, 10)).max() <= 1.0
    coarse = SizeBins(np.array([1, 2, 3, 4]), np.array([10.0, 60.0, 61.0, 100.0]))
    assert judging._middles(coarse, np.array([0, 1, 3])) == [0, 1, 2], "each in its own span"
