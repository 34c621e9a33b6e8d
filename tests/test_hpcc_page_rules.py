"""The rules of H1 to H12 hold on the curves they were published with, and fail where these are altered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paceline.analysis import Sample, percentile_curves
from paceline.experiments.hpcc_page import figures, rules
from paceline.experiments.hpcc_page.curves import (
    LOADS,
    MAIN,
    PERCENTILES,
    RPC,
    TITLES,
    WORKLOADS,
    CurveId,
    Curves,
    MissingCurveError,
    decile_masks,
    measured,
    published,
)
from paceline.reproduce.model import Scale

MATCHES = (rules.curve_match, rules.curve_match_relative)
RULES = {
    "H1": [match("websearch", load) for load in LOADS for match in MATCHES],
    "H2": [match("hadoop", load) for load in LOADS for match in MATCHES],
    "H3": [rules.targets],
    "H4": [rules.short_flows_at_30],
    "H5": [rules.long_flows_at_30],
    "H6": [rules.pint_over_int],
    "H7": [rules.short_flows_at_50],
    "H8": [rules.short_flow_gap],
    "H9": [rules.longest_flows_at_70],
    "H10": [rules.hadoop_at_70, rules.hadoop_at_70_ordering],
    "H11": [rules.targets_to_50],
    "H12": [rules.targets_at_70],
    "H16": [rules.target_150, rules.target_150_relative],
    "H17": [rules.curve_match(RPC, 50)],
}


def altered(factor: float, *schemes: str, above: float = 0.0) -> Curves:
    """The published curves with those of some schemes multiplied for flows above a size."""
    curves = published()
    values = {
        curve: np.where(curves.bins[curve.workload].upper_bytes > above, v * factor, v)
        if curve.scheme in schemes
        else v
        for curve, v in curves.values.items()
    }
    return Curves(curves.bins, values)


def altered_at(factor: float, q: int, scheme: str, *, workload: str | None = None) -> Curves:
    """The published curves with those of a scheme at a percentile multiplied."""
    curves = published()
    chosen = (scheme, q)
    values = {
        c: v * factor if (c.scheme, c.q) == chosen and workload in (None, c.workload) else v
        for c, v in curves.values.items()
    }
    return Curves(curves.bins, values)


def test_the_published_curves_are_complete() -> None:
    curves = published()
    assert [len(curves.bins[w]) for w in TITLES] == [100, 102, 96]
    # Each of the page's 45 figures: main ones, those that compare targets, those with 150 % and Google's.
    figures = {(c.workload, c.load, c.q, c.scheme.rpartition("_eta")[2]) for c in curves.values if "_int" in c.scheme}
    assert len(figures) == 45
    for workload in WORKLOADS:
        assert curves.bins[workload].weight.sum() == pytest.approx(1.0)
        for load in LOADS:
            for scheme in (*MAIN, "hpcc_pint_eta95", "hpcc_int_eta95"):
                lower = np.zeros(len(curves.bins[workload]))
                for q in PERCENTILES:
                    value = curves[CurveId(workload, load, scheme, q)]
                    assert np.all(value >= 0.999)
                    assert np.all(value >= lower * 0.99)  # a higher percentile lies higher
                    lower = value
    with pytest.raises(MissingCurveError, match="hadoop at 30 %, hpcc_int_eta150, p50"):
        curves[CurveId("hadoop", 30, "hpcc_int_eta150", 50)]


@pytest.mark.parametrize("experiment", RULES)
def test_every_claim_holds_on_the_published_curves(experiment: str) -> None:
    for rule in RULES[experiment]:
        quantities = rule(published())
        assert len({q.id for q in quantities}) == len(quantities)
        assert any(q.limits for q in quantities)
        wrong = [f"{q.id}: {q.value:.4g}, claimed {q.limits.text}" for q in quantities if q.limits and not q.holds]
        assert not wrong


def test_ratios_are_those_read_off_the_figures_by_hand() -> None:
    values = {q.id: q.value for q in rules.short_flows_at_30(published())}
    assert values["websearch.p95.dctcp"] == pytest.approx(1.603, abs=0.001)
    gaps = {q.id: q.value for q in rules.short_flow_gap(published())}
    assert [round(gaps[f"websearch{load}"], 1) for load in LOADS] == [1.4, 2.2, 3.3]
    means = {q.id: q.value for q in rules.hadoop_at_70(published())}
    assert [round(means[f"p99.{s}"], 2) for s in MAIN] == [5.87, 7.18, 11.92, 10.08, 8.83]


def failing(experiment: str, curves: Curves) -> set[str]:
    return {q.id for rule in RULES[experiment] for q in rule(curves) if q.limits and not q.holds}


def test_a_scheme_that_is_off_fails_where_it_should() -> None:
    slow_pint = altered(1.4, "hpcc_pint")
    assert "load50.p99.hpcc_pint" in failing("H1", slow_pint)
    assert not any(q.endswith(".dctcp") for q in failing("H2", slow_pint))
    assert {"websearch.p99.dctcp", "hadoop.p50.dcqcn_w"} <= failing("H4", slow_pint)
    assert failing("H6", slow_pint) == {f"{w}{load}.p{q}" for w in WORKLOADS for load in LOADS for q in PERCENTILES}
    assert failing("H7", slow_pint)
    assert "p99.order" in failing("H10", slow_pint)
    assert "p50.timely_w" in failing("H9", slow_pint)
    fast_int = altered(0.8, "hpcc_int", above=1e6)
    assert failing("H5", fast_int)
    late = altered(1.5, "hpcc_int_eta95", "hpcc_pint_eta95")
    assert all(q.endswith("short") for q in failing("H11", late))
    early = altered(0.5, "hpcc_int_eta95", above=1e6)
    assert failing("H3", early)
    assert failing("H12", early)
    assert failing("H8", altered(3.0, "hpcc_pint"))
    assert failing("H8", altered_at(50.0, 50, "hpcc_pint")) == {"websearch.p50.growth50", "websearch.p50.growth70"}
    grown = {f"websearch.p50.growth{load}.hpcc_int" for load in (50, 70)}
    assert failing("H8", altered_at(50.0, 50, "hpcc_int")) == grown


def test_a_common_factor_leaves_relative_matches_alone() -> None:
    shifted = altered(0.8, *MAIN)
    assert failing("H1", shifted)
    for q in rules.curve_match_relative("websearch", 70)(shifted):
        assert not q.limits or q.value == pytest.approx(1.0)


def test_deciles_cover_every_bin_once_and_show_a_local_error() -> None:
    curves = published()
    for bins in curves.bins.values():
        assert np.all(sum(m.astype(int) for m in decile_masks(bins)) == 1)
    local = altered(1.3, "dctcp", above=5e6)
    value = {q.id: q for q in rules.curve_match("websearch", 30)(local)}
    assert not value["load30.p50.dctcp.decile"].holds
    assert value["load30.p50.dctcp.decile"].value > value["load30.p50.dctcp"].value


def test_tenths_say_how_far_a_curve_is_from_the_published_one() -> None:
    curve = CurveId("websearch", 50, "dctcp", 50)
    values = published()[curve].copy()
    values[decile_masks(published().bins["websearch"])[2]] *= 1.1
    found = rules.tenths(Curves(published().bins, {curve: values}), curve)
    assert found == pytest.approx([1, 1, 1.1, 1, 1, 1, 1, 1, 1, 1])


def test_curves_of_flows_have_the_published_bins() -> None:
    size = np.array([1, 666, 667, 29_999_999, 30_000_000])
    flags = np.zeros(5, dtype=bool)
    sample = Sample(size, np.array([1.0, 3.0, 2.0, 4.0, 6.0]), flags, flags)
    curves = measured({("websearch", 30, "dctcp"): [sample]})
    median = curves[CurveId("websearch", 30, "dctcp", 50)]
    assert (median[0], median[1], median[-1]) == (3.0, 2.0, 6.0)  # the authors' rule: floor(n q), not the mean
    assert np.isnan(median[2:-1]).all()
    doubled = measured({("websearch", 30, "dctcp"): [sample, replace(sample, value=sample.value * 2)]})
    assert doubled[CurveId("websearch", 30, "dctcp", 99)][0] == 6.0


def test_a_rule_names_the_curves_it_needs() -> None:
    needed = rules.needed(rules.short_flows_at_50)
    assert {(c.load, c.q) for c in needed} == {(50, 50)}
    assert {c.scheme for c in needed} == {"hpcc_pint", "hpcc_int", "dcqcn_w", "timely_w", "dctcp"}


def test_statements_about_hpcc_are_about_both_of_its_forms() -> None:
    slow_int = altered(1.6, "hpcc_int")
    assert {"websearch.p99.dctcp.hpcc_int", "hadoop.p50.dcqcn_w.hpcc_int"} <= failing("H4", slow_int)
    assert not any(not q.endswith(".hpcc_int") for q in failing("H4", slow_int))
    assert "hadoop.dctcp.hpcc_int" in failing("H7", slow_int)
    assert "p99.hpcc_int.order" in failing("H10", slow_int)
    assert "p50.dctcp.hpcc_int" in failing("H9", altered(0.5, "hpcc_int"))
    assert "growth99.dctcp" in failing("H9", altered_at(0.5, 99, "hpcc_pint"))


def test_comparisons_of_the_page_fail_where_they_should() -> None:
    assert {"hadoop30.p95.hpcc_pint.all", "websearch70.p50.hpcc_pint.all"} <= failing("H3", altered(1.2, "hpcc_pint"))
    assert "more.p99.dctcp" in failing("H4", altered_at(0.9, 99, "dctcp", workload="hadoop"))
    assert "p95.more" in failing("H10", altered_at(1.6, 95, "hpcc_pint", workload="hadoop"))
    assert {"websearch.p50.pint", "hadoop.p99.pint"} <= failing("H12", altered(0.6, "hpcc_pint", above=1e6))


def test_schemes_without_a_window_are_held_against_those_with_one() -> None:
    curves = published()
    plain = {replace(c, scheme=c.scheme[:-2]): 2 * v for c, v in curves.values.items() if c.scheme.endswith("_w")}
    found = {q.id: q for q in rules.without_window(Curves(curves.bins, {**curves.values, **plain}))}
    assert found["load30.p99.timely.window"].value == pytest.approx(2)
    assert all(q.holds for q in found.values() if q.limits)
    least = np.min(curves[CurveId("websearch", 30, "hpcc_int", 99)] / curves[CurveId("websearch", 30, "dcqcn_w", 99)])
    assert found["load30.p99.dcqcn.saved"].value == pytest.approx(1 - least / 2)
    faster = {c: v / 4 for c, v in plain.items()}
    found = {q.id: q for q in rules.without_window(Curves(curves.bins, {**curves.values, **faster}))}
    assert not any(q.holds for q in found.values() if q.limits)


@pytest.mark.parametrize("schemes", [(*MAIN,), ("hpcc_pint", "hpcc_pint_eta95", "hpcc_int", "hpcc_int_eta95")])
def test_curves_of_a_figure_differ_without_colours(schemes: tuple[str, ...]) -> None:
    """Published and measured curves lie close: in print without colours only their lines tell them apart."""
    edges = published().bins["websearch"]
    sizes = np.repeat(edges.upper_bytes, 2)
    flat = np.zeros(len(sizes), dtype=bool)
    sample = Sample(sizes, np.linspace(1, 5, len(sizes)), flat, flat)
    curves = percentile_curves(sample, edges, PERCENTILES, rule="hpcc")
    mine = {
        CurveId("websearch", 30, scheme, q): c for scheme in schemes for q, c in zip(PERCENTILES, curves, strict=True)
    }
    (drawing,) = figures.overview("H3", mine, schemes, [("websearch", 30)], Scale.QUICK)
    assert "quick scale: 12 ms of arrivals at 30 % load" in drawing.caption
    ax = drawing.figure.axes[0]
    drawn = [line for line in ax.get_lines() if line.get_gid()]
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in drawn}) == len(schemes)  # type: ignore[attr-defined]
    # On a screen dashes alone do not tell two targets of a scheme apart.
    assert len({line.get_color() for line in drawn}) == len(schemes)
    names = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert names[-1] == "thin: published"
    assert ("HPCC-PINT 99 %" in names) == ("hpcc_pint_eta95" in schemes)
