"""C1: every scheme gets the same flows, network, frames and buffers, and what is measured is what was carried."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from paceline import experiments, plot
from paceline.experiments.aeolus.measures import facts
from paceline.experiments.comparison import families
from paceline.experiments.comparison.families import AEOLUS_OF, NAN, TITLES, rule
from paceline.experiments.comparison.measures import KINDS, SPANS, TELEMETRY, by_size, losses, measure
from paceline.experiments.comparison.setup import GOODPUT_LOAD, LOADS, SCHEMES, WINDOWS, WORKLOADS, plan, scenario
from paceline.plot import shades
from paceline.plot.multiples import Chart, bars, charts, heat_maps
from paceline.reproduce.claims import Place
from paceline.reproduce.model import Outcome, Scale
from paceline.run import simulate
from paceline.scenario import Run as Ending
from paceline.sweeps.points import Point, Run, Runs
from paceline.sweeps.runner import prepare


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Every scheme once, both workloads, load 0.8, at tiny scale."""
    root = tmp_path_factory.mktemp("runs")
    found = []
    for point in plan(Scale.TINY):
        if point.key["part"] == "flows" and point.key["load"] == LOADS[-1]:
            folder = root / f"{point.key['workload']}-{point.key['scheme']}"
            simulate(point.scenario, folder, seed=point.seed, progress="none")
            found.append(Run(point, folder))
    return Runs(tuple(found))


@pytest.mark.parametrize("scale", Scale)
def test_the_engine_takes_every_scenario_and_warns_of_nothing(scale: Scale) -> None:
    points = plan(scale)
    assert len({(tuple(sorted(p.key.items())), p.seed) for p in points}) == len(points)
    prepare([point for point in points if point.seed == 1])


def test_schemes_differ_in_nothing_but_what_they_need() -> None:
    made = {name: scenario(name, "websearch", 0.6, 100, Ending()) for name in SCHEMES}
    reference = made["hpcc"]
    for one in made.values():
        assert (one.topology, one.framing, one.workloads) == (
            reference.topology,
            reference.framing,
            reference.workloads,
        )
        assert (one.switch.buffer, one.switch.model, one.switch.delay) == ("500KB", "per_port", "250ns")
        assert not one.switch.pfc.enabled
    assert {n for n, one in made.items() if one.switch.trimming.enabled} == {"ndp"}
    assert {n for n, one in made.items() if one.switch.ecn.enabled} == {"dctcp"}
    assert {n for n, one in made.items() if one.switch.selective_drop.enabled} == {n for n in SCHEMES if "aeolus" in n}


def test_all_schemes_carry_the_same_flows(runs: Runs) -> None:
    for workload in WORKLOADS:
        chosen = runs.where(workload=workload)
        flows = [run.results().flows for run in chosen]
        assert len(flows) == len(SCHEMES)
        assert len(flows[0]["size_bytes"]) > 20
        for other in flows[1:]:
            for column in ("src", "dst", "size_bytes", "start_ps"):
                assert np.array_equal(flows[0][column], other[column]), column
            # Sprayed, a short last packet need not wait behind the one before it at a slower link.
            ideal = [one["ideal_receiver_ps"].astype(float) for one in (flows[0], other)]
            assert ideal[1] == pytest.approx(ideal[0], abs=100e3)


def test_useful_bytes_are_those_of_the_flows(runs: Runs) -> None:
    """All flows finish, so that what hosts received usefully is what there was to send, telemetry not counted.

    Frames of less than 6 bytes of payload are padded.
    """
    for run in runs:
        wanted = int(run.results().flows["size_bytes"].sum())
        exact = run.point.key["scheme"] in ("hpcc", "dctcp", "express_pass")
        telemetry = TELEMETRY.get(str(run.point.key["scheme"]), 0)
        assert facts(run).useful_bytes(telemetry) == pytest.approx(wanted, rel=1e-6 if exact else 0.005), (
            run.point.label
        )


def test_each_scheme_loses_in_its_own_way(runs: Runs) -> None:
    found = {scheme: losses(runs, "webserver", LOADS[-1], scheme) for scheme in SCHEMES}
    for scheme, lost in found.items():
        assert (lost["trimmed"] > 0) == (scheme == "ndp")
        assert (lost["unscheduled"] > 0) == scheme.endswith("aeolus")
        assert (lost["credits_lost"] > 0) == scheme.startswith("express_pass")
        assert lost["pauses"] == 0
    assert losses(runs, "webserver", 0.1, "hpcc") == {}


def test_slowdowns_are_at_least_one_and_split_by_size(runs: Runs) -> None:
    values = measure(runs)
    for workload in WORKLOADS:
        for scheme in SCHEMES:
            mean, half, tail = (values[workload, LOADS[-1], scheme, "all", kind] for kind in ("mean", "p50", "p99"))
            assert 1 <= half <= tail
            assert 1 <= mean <= tail
        bins, found = by_size(runs, workload, LOADS[-1])
        assert all(len(curve) == len(bins) for kind in found.values() for curve in kind.values())
    assert np.isnan(values["goodput", GOODPUT_LOAD, "hpcc"])  # no runs that were stopped


def test_everything_is_a_report_under_a_name_of_its_own() -> None:
    (c1,) = experiments.chosen(["c1"])
    claims = rule({})
    assert len({claim.id for claim in claims}) == len(claims) == 2 * 3 * 8 * 4 + 8
    assert all(claim.limits is None for claim in claims)
    point = Point(scenario="", key=dict.fromkeys(("part", "workload", "load", "scheme"), "none"))
    verdicts = c1.judge(Runs((Run(point, Path("nowhere")),)), Scale.QUICK)
    assert {v.verdict for v in verdicts} == {Outcome.REPORT}
    assert all(v.measured is None for v in verdicts)
    assert WINDOWS[Scale.QUICK].seeds >= 3


def test_variants_share_a_colour_and_are_dashed() -> None:
    series = {title: ([0.4, 0.8], [1.5, NAN]) for title in TITLES.values()}
    figure = charts([[Chart("one", series, "Load", "Slowdown")]], AEOLUS_OF)
    (ax,) = figure.axes
    drawn = {line.get_label(): line for line in ax.get_lines()}
    assert set(drawn) == set(TITLES.values())
    for variant, plain in AEOLUS_OF.items():
        assert drawn[variant].get_color() == drawn[plain].get_color()
        assert drawn[variant].get_linestyle() != drawn[plain].get_linestyle()
    assert len({drawn[t].get_color() for t in TITLES.values() if t not in AEOLUS_OF}) == 5
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(TITLES.values())
    assert len(drawn["HPCC"].get_xdata()) == 1  # what is not there is left out
    lengths = bars(dict.fromkeys(TITLES.values(), 0.5), "Goodput", AEOLUS_OF).axes[0].patches
    assert len(lengths) == len(TITLES)


def test_colours_differ_as_much_as_the_values_do() -> None:
    """A difference of a thousandth must not look like one of a factor, nor a cell that was not run like a good one."""
    figure = heat_maps({"near": [[1.040, 1.041, NAN]], "far": [[0, 1, 100]]}, ["row"], ["a", "b", "c"])
    near, far = ([sum(patch.get_facecolor()[:3]) for patch in ax.patches] for ax in figure.axes)
    assert len(near) == 2
    assert near[0] == pytest.approx(near[1], abs=0.02)
    assert far[0] > far[1] + 0.3 > far[2] + 0.6


def test_heat_maps_follow_the_theme_and_can_be_read_in_both() -> None:
    """On a dark page they were bright white."""
    svg = plot.inline_svg(heat_maps({"far": [[0, 1, 100]]}, ["row"], ["a", "b", "c"]), "name", "what it shows")
    assert not re.search(r"(fill|stroke): #[0-9a-f]{6}\b", svg)
    styles = [shades.variables(dark=dark) for dark in (False, True)]
    for name in re.findall(r"var\((--h[-a-z0-9]+)\)", svg):
        assert all(f"{name}: #" in style for style in styles)
    for grounds, numbers in (
        (shades.LIGHT, {}),
        (shades.DARK, {shades.ON_LITTLE: shades.ON_MUCH, shades.ON_MUCH: shades.ON_LITTLE}),
    ):
        for step, ground in enumerate(grounds):
            number = shades.shade(step / (shades.STEPS - 1))[1]
            low, high = sorted(shades._luminance(color) for color in (ground, numbers.get(number, number)))
            assert (high + 0.05) / (low + 0.05) > 4.4


def test_a_p99_of_few_flows_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """At tiny scale the p99 of 37 flows, their largest, stood in figures and tables as any other."""
    load, spans = LOADS[-1], ("all", "small")
    values: dict[Place, float] = {}
    for workload, flows in zip(WORKLOADS, (37.0, 4000.0), strict=True):
        for place in ((workload, of, scheme, span) for of in LOADS for scheme in SCHEMES for span in spans):
            values |= {(*place, kind): 2.5 for kind in ("mean", "p50", "p99")} | {(*place, "flows"): flows}
    few, many = (families._shown(values, workload, load, "ndp", "all", "p99") for workload in WORKLOADS)
    assert np.isnan(few)
    assert many == families._shown(values, next(iter(WORKLOADS)), load, "ndp", "all", "p50") == 2.5
    monkeypatch.setattr(families, "losses", lambda *_: {})
    table = next(iter(families._tables(Runs(()), values)))
    assert table.caption.endswith("a dash where fewer than 100 flows give no p99")
    assert table.rows[0][1].text == "2.50 / 2.50 / –"
    drawing = families._over_load(values, {}, "all")
    assert "No p99 of fewer than 100 flows." in drawing.caption
    said = [text.get_text() for ax in drawing.figure.axes for text in ax.texts]
    assert said == ["fewer than 100 flows"]
    # Panels of one kind are to be compared: they had axes of their own.
    medians = [ax for ax in drawing.figure.axes if ax.get_title().endswith("median")]
    assert len(medians) == len({ax.get_title() for ax in medians}) == 2
    assert len({ax.get_ylim() for ax in medians}) == 1
    told = {claim.id: claim for claim in rule(values)}
    assert "37 flows: the largest" in told[f"{next(iter(WORKLOADS))}80.ndp.all.p99"].statement


def test_small_shares_of_losses_are_no_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"unscheduled": 0.27, "others": 0.0, "trimmed": 0.0042, "again": 12.3, "timeouts": 1234.0}
    monkeypatch.setattr(families, "losses", lambda *_: found)
    values = {
        (workload, load, scheme, span, kind): 1.0
        for workload in WORKLOADS
        for load in LOADS
        for scheme in SCHEMES
        for span in SPANS
        for kind in (*KINDS, "flows")
    }
    table = next(table for table in families._tables(Runs(()), values) if "losses" in table.caption)
    shown = dict(zip(table.head, (cell.text for cell in table.rows[0]), strict=True))
    assert [shown[name] for name in ("Unscheduled lost", "Others lost", "Trimmed", "Sent again")] == [
        "0.27 %",
        "0",
        "0.0042 %",
        "12.3 %",
    ]
    assert shown["Timeouts"] == "1,234"
