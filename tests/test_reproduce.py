"""Verdicts follow their rules, and a change of one is seen."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import paceline as pl
from paceline import _native, experiments
from paceline.reproduce import claims, costs, judge, model, record, regenerate
from paceline.reproduce.model import Outcome, Scale
from paceline.sweeps import estimates
from paceline.sweeps.points import Point, Run, Runs
from paceline.words import signed, typeset

SEEDS = (1, 2, 3)


def test_the_readme_has_the_totals_on_record():
    """A reader judges by them; they go stale whenever verdicts are recorded anew."""
    root = Path(__file__).parents[1]
    rows = list(csv.DictReader((root / "python/paceline/experiments/verdicts.csv").read_text().splitlines()))
    readme = " ".join((root / "README.md").read_text().split())
    count = Counter(row["verdict"] for row in rows if row["scale"] == "quick")
    said = f"{count['pass']} verdicts pass, {count['fail']} fail, {count['undecided']} are undecided; {count['report']}"
    assert f"{said} values" in readme
    paper = [row for row in rows if row["scale"] == "paper"]
    results = len({row["id"].partition(".")[0] for row in paper})
    count = Counter(row["verdict"] for row in paper)
    said = f"{count['pass']} pass, {count['fail']} fail, {count['undecided']} are undecided."
    assert f"of the {results} of {len(experiments.experiments())} results that are on record: {said}" in readme


def outcome(values: list[float], limits: judge.Limits, scale: Scale = Scale.QUICK, *, ratio: bool = False) -> Outcome:
    found = judge.statistical("H0.x", "x", None, values, limits, scale=scale, seeds=SEEDS[: len(values)], ratio=ratio)
    return found.verdict


def test_the_interval_is_students():
    found = estimates.estimate([1.0, 2.0, 3.0])
    # t(0.975, 2) = 4.3027, standard error 1 / sqrt(3)
    assert found.mean == 2.0
    assert found.interval == pytest.approx((2 - 4.3027 / math.sqrt(3), 2 + 4.3027 / math.sqrt(3)))
    assert [estimates.student_t(n) for n in (31, 40, 120)] == pytest.approx([2.0395, 2.0211, 1.9799], abs=1e-4)
    ratios = estimates.estimate([0.5, 1.0, 2.0], ratio=True)
    assert ratios.mean == pytest.approx(1.0)
    assert ratios.interval is not None
    assert ratios.interval[0] == pytest.approx(1 / ratios.interval[1])
    assert estimates.estimate([1.0, 2.0]).interval is None
    assert estimates.estimate([1.0, 2.0, math.nan]).interval is None


def test_no_interval_holds_what_cannot_be():
    """A table that gives a queue of less than nothing, or more than all of a link, is not believed in the rest."""
    positive = (0.0, math.inf)
    wide = estimates.estimate([1.0, 2.0, 9.0], span=positive)
    assert wide.mean == 4.0
    assert wide.interval is not None
    low, high = wide.interval
    assert 0 < low < 4 < high
    assert math.log(4 / low) == pytest.approx(math.log(high / 4)), "as far off in either direction, as a factor"
    assert estimates.estimate([1.0, 2.0, 9.0]).interval[0] < 0  # type: ignore[index]
    close, linear = (
        estimates.estimate([1.0, 1.01, 1.02], span=positive).interval,
        estimates.estimate([1.0, 1.01, 1.02]).interval,
    )
    assert close == pytest.approx(linear, rel=1e-3), "where errors are small nothing changes"
    zeros = estimates.estimate([0.0, 0.0, 3.0], span=positive).interval
    assert zeros is not None
    assert zeros[0] == 0
    assert zeros[1] == pytest.approx(estimates.estimate([0.0, 0.0, 3.0]).interval[1])  # type: ignore[index]
    assert estimates.estimate([0.9, 0.99, 1.0], span=(0.0, 1.0)).interval[1] == 1.0  # type: ignore[index]
    pooled = estimates.jackknife(3.0, [2.0, 3.0, 6.0], positive).interval
    assert pooled is not None
    assert 0 < pooled[0] < 3 < pooled[1]
    assert estimates.jackknife(3.0, [2.0, 3.0, 6.0]).interval[0] < 0  # type: ignore[index]


LATE_OF_10_000 = {1: 106, 2: 98, 3: 105, 4: 97, 5: 104}
"""Flows that wait for a timer, of 10,000 under each seed."""


def test_a_percentile_beside_a_step_is_undecided():
    """102 of 10,000 flows wait for a timer of 10 ms: the p99 is that with any seed left out, and 1 ms in the next."""

    def measure(runs: Runs) -> claims.Values:
        late = [LATE_OF_10_000[run.point.seed] for run in runs]
        return {("p99",): 10.0 if sum(late) > 100 * len(late) else 1.0}

    runs = Runs(tuple(Run(Point(scenario="", key={}, seed=seed), Path()) for seed in LATE_OF_10_000))
    limits = judge.at_least(5)

    def rule(values: claims.Values) -> list[claims.Claim]:
        return [claims.Claim("p99", "p99 (ms)", values["p99",], limits)]

    (found,) = claims.verdicts("A5", measure, rule, runs, Scale.QUICK, pooled=True)
    assert found.measured == 10
    assert found.interval == claims.intervals(measure, runs, pooled=True)["p99",] == pytest.approx((1, 10))
    assert found.verdict is Outcome.UNDECIDED


@given(values=st.lists(st.floats(0.5, 2), min_size=4, max_size=40))
def test_halves_of_few_seeds_do_not_decide_the_interval_of_a_mean(values):
    """All seeds are in as many halves; the means of these are beyond the interval with many seeds only."""
    n = len(values)
    groups = estimates.halves(range(n))
    assert {len(group) for group in groups} == {n // 2}
    assert len({sum(seed in group for group in groups) for seed in range(n)}) == 1
    assert estimates.halves(range(3)) == []
    mean = math.fsum(values) / n
    without = [(math.fsum(values) - value) / (n - 1) for value in values]
    half = [math.fsum(values[seed] for seed in group) / len(group) for group in groups]
    alone, both = estimates.jackknife(mean, without).interval, estimates.jackknife(mean, without, None, half).interval
    assert alone is not None
    assert both == (min(alone[0], *half), max(alone[1], *half))
    if n <= 6:
        assert both == pytest.approx(alone)


def test_only_differences_may_be_negative():
    assert (
        judge.span_of(None) == judge.span_of(judge.below(1.0)) == judge.span_of(judge.between(0.5, 2)) == (0, math.inf)
    )
    assert judge.span_of(judge.at_least(0.8), 1) == (0, 1)
    assert judge.span_of(judge.above(0)) is judge.span_of(judge.between(-0.02, 0.02)) is None


@given(
    values=st.lists(st.integers(0, 50), min_size=3, max_size=9),
    limits=st.sampled_from([judge.above(0), judge.at_most(0)]),
)
def test_a_count_held_against_0_has_no_interval_below_it_and_the_same_verdict(values, limits):
    """32 duplicates were told with the interval [-11.6, 76.2]: nobody can have seen fewer than none."""
    linear = estimates.estimate([float(v) for v in values])
    cut = estimates.counted(linear)
    assert cut.interval is not None
    assert 0 <= cut.interval[0] <= cut.mean <= cut.interval[1]
    assert limits.judge(cut) is limits.judge(linear)


def test_claims_about_counts_end_at_0():
    def verdict(*, count: bool) -> model.Verdict:
        def rule(values: claims.Values) -> list[claims.Claim]:
            return [claims.Claim("a", "packets lost", values["lost",], judge.above(0), count=count)]

        points = [Point(scenario="", key={}, seed=seed) for seed in SEEDS]
        runs = Runs(tuple(Run(point, Path()) for point in points))
        (found,) = claims.verdicts(
            "H0", lambda chosen: {("lost",): 9.0 * (chosen.seeds == (1,))}, rule, runs, Scale.QUICK
        )
        return found

    assert verdict(count=False).interval[0] < 0  # type: ignore[index]
    assert verdict(count=True).interval[0] == 0  # type: ignore[index]


def test_what_was_open_at_the_end_widens_a_value():
    """p99 of 2.4 ms passed as within 2 to 10 ms, though queries that were open could have made it anything."""

    def verdict(up_to: float) -> model.Verdict:
        def rule(values: claims.Values) -> list[claims.Claim]:
            return [claims.Claim("a", "p99", values["p99",], judge.between(2000, 10_000), up_to=up_to)]

        runs = Runs(tuple(Run(Point(scenario="", key={}, seed=seed), Path()) for seed in SEEDS))
        (found,) = claims.verdicts("H0", lambda chosen: {("p99",): 2400.0 + chosen.seeds[0]}, rule, runs, Scale.QUICK)
        return found

    assert verdict(math.nan).verdict is verdict(2400.0).verdict is Outcome.PASS
    for up_to in (24_000.0, math.inf):
        assert verdict(up_to).verdict is Outcome.UNDECIDED
        assert "some were open at the end" in verdict(up_to).told
    assert "up to 10.0 times that" in verdict(24_000.0).told
    assert "or anything above that" in verdict(math.inf).told


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        (judge.between(230, 256), Outcome.UNDECIDED),
        (judge.below(254), Outcome.UNDECIDED),
        (judge.between(230, 263), Outcome.PASS),
        (judge.at_most(245), Outcome.FAIL),
        (judge.above(263), Outcome.FAIL),
        (None, Outcome.REPORT),
    ],
)
def test_a_limit_within_the_bin_of_a_value_is_not_decided(pooled, limits, wanted):
    """E37: a full buffer of 262 KB passed as at most 256 KB, since the middle of its bin is 254 KB."""

    def rule(values: claims.Values) -> list[claims.Claim]:
        place = ("queue",)
        return [claims.Claim("a", "p99", values[place], limits, within=claims.bounds(values, place))]

    def measure(_: Runs) -> claims.Values:
        return claims.binned(("queue",), 245_760, 262_143, unit=1000)

    runs = Runs(tuple(Run(Point(scenario="", key={}, seed=seed), Path()) for seed in SEEDS))
    (found,) = claims.verdicts("H0", measure, rule, runs, Scale.QUICK, pooled=pooled)
    assert found.verdict is wanted
    assert found.measured == pytest.approx(253.9515)
    assert found.interval == pytest.approx((245.76, 262.143))


def test_two_values_of_one_bin_have_no_order():
    """E31: the p99 of a queue fell into the same bin with either setting, and "longer" was told to fail."""
    values = claims.binned(("a",), 45_056, 49_151) | claims.binned(("b",), 40_960, 45_055) | {("exact",): 2.0}
    assert claims.ratio(values, ("a",), ("a",)) == 1
    low, high = claims.ratio_bounds(values, ("a",), ("a",)) or (math.nan, math.nan)
    assert (low, high) == (45_056 / 49_151, 49_151 / 45_056)
    above, _ = claims.ratio_bounds(values, ("a",), ("b",)) or (math.nan, math.nan)
    assert above > 1
    assert claims.ratio_bounds(values, ("a",), ("exact",)) is claims.bounds(values, ("exact",)) is None


def test_points_with_fewer_seeds_than_others_are_judged_by_theirs():
    """E2 at paper scale: hot spots had five seeds and queries three, and the queries' claim had no value at all."""

    def measure(chosen: Runs) -> claims.Values:
        found: dict[claims.Place, float] = {("crowd",): 2.0 + chosen.seeds[0] / 100}
        queries = chosen.where(what="queries")
        for run in queries:
            found["queries",] = math.nan if run.point.seed in broken else 18.0 + run.point.seed
        return found

    def rule(values: claims.Values) -> list[claims.Claim]:
        return [
            claims.Claim(what, what, values.get((what,), math.nan), judge.above(1)) for what in ("crowd", "queries")
        ]

    points = [
        Point(scenario="", key={"what": what}, seed=seed)
        for what, seeds in (("crowd", range(1, 6)), ("queries", range(1, 4)))
        for seed in seeds
    ]
    runs = Runs(tuple(Run(point, Path()) for point in points))
    broken: set[int] = set()
    crowd, queries = claims.verdicts("H0", measure, rule, runs, Scale.PAPER)
    assert (crowd.verdict, crowd.seeds) == (Outcome.PASS, (1, 2, 3, 4, 5))
    assert (queries.verdict, queries.seeds) == (Outcome.PASS, (1, 2, 3))
    assert set(claims.intervals(measure, runs)) == {("crowd",), ("queries",)}
    broken.add(2)  # a run that was made and gave no value is not passed over
    assert claims.verdicts("H0", measure, rule, runs, Scale.PAPER)[1].verdict is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (judge.between(487.424, 799.5904), "487.4 to 799.6"),
        (judge.between(1, 1), "1"),
        (judge.about(10), "5 to 20"),
        (judge.between(2000, 10_000), "2,000 to 10,000"),
        (judge.between(-0.02, 1.25), "-0.02 to 1.25"),
        (judge.between(12345.6, 1234567), "12,350 to 1,234,567"),
        (judge.at_least(1234567), "≥ 1,234,567"),
        (judge.below(1234567.8), "< 1,235,000"),
        (judge.above(0.123456), "> 0.1235"),
        (judge.at_most(0), "≤ 0"),
    ],
)
def test_limits_read_in_the_digits_of_what_they_limit(limits, text):
    """487.424 to 799.59 looked as if one of them were rounded; a range from 1 to 1 is none."""
    assert limits.text == text


@pytest.mark.parametrize(
    ("values", "limits", "wanted"),
    [
        ([1.5, 1.5, 1.5], judge.at_least(1.5), Outcome.PASS),
        ([1.5, 1.5, 1.5], judge.above(1.5), Outcome.FAIL),
        ([1.49, 1.49, 1.49], judge.at_least(1.5), Outcome.FAIL),
        ([1.4, 1.5, 1.6], judge.at_least(1.5), Outcome.UNDECIDED),
        ([1.4, 1.5, 1.6], judge.at_least(1.2), Outcome.PASS),
        ([1.4, 1.5, 1.6], judge.at_most(1.2), Outcome.FAIL),
        ([0.99, 1.0, 1.01], judge.percent_of(1.0, 5), Outcome.PASS),
        ([1.04, 1.05, 1.06], judge.percent_of(1.0, 5), Outcome.UNDECIDED),
        ([1.09, 1.10, 1.11], judge.percent_of(1.0, 5), Outcome.FAIL),
        ([1.7, 1.7], judge.at_least(1.5), Outcome.UNDECIDED),
        ([], judge.at_least(1.5), Outcome.UNDECIDED),
    ],
)
def test_a_limit_decides_only_where_the_whole_interval_does(values, limits, wanted):
    assert outcome(values, limits) is wanted
    assert outcome(values, limits, Scale.TINY) is Outcome.NOT_JUDGED


@given(
    values=st.lists(st.floats(0.1, 10), min_size=3, max_size=9),
    limit=st.floats(0.1, 10),
    wider=st.floats(0.0, 5),
    ratio=st.booleans(),
)
def test_a_verdict_never_contradicts_the_mean_nor_a_looser_limit(values, limit, wider, ratio):
    strict, loose = (outcome(values, judge.at_least(x), ratio=ratio) for x in (limit, limit - wider))
    mean = estimates.estimate(values, ratio=ratio).mean
    assert strict is not Outcome.PASS or mean >= limit * (1 - 1e-12)
    assert strict is not Outcome.FAIL or mean <= limit * (1 + 1e-12)
    rank = [Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS]
    assert rank.index(loose) >= rank.index(strict)


def test_an_ordering_is_undecided_where_intervals_overlap():
    def verdict(**groups: list[float]) -> Outcome:
        return judge.ordering("H0.o", "o", None, groups, scale=Scale.QUICK, seeds=SEEDS).verdict

    one, near, far = [1.0, 1.1, 1.2], [1.1, 1.2, 1.3], [5.0, 5.1, 5.2]
    assert verdict(a=one, b=far) is Outcome.PASS
    assert verdict(a=far, b=one) is Outcome.FAIL
    assert verdict(a=one, b=near, c=far) is Outcome.UNDECIDED
    assert verdict(a=one[:2], b=far[:2]) is Outcome.UNDECIDED


def test_several_outcomes_are_as_good_as_the_worst():
    assert judge.together([Outcome.PASS, Outcome.UNDECIDED, Outcome.REPORT]) is Outcome.UNDECIDED
    assert judge.together([Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED]) is Outcome.FAIL
    assert judge.together([Outcome.PASS, Outcome.REPORT]) is Outcome.PASS


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.10999999, "1.11"), (50.0, "50"), (1234567.0, "1235000"), (1e-7, "1e-07"), (None, "–"), (math.nan, "–")],
)
def test_values_are_printed_in_four_digits(value, text):
    assert judge.shown(value) == text


def test_ids_are_unique_and_plans_repeat():
    for experiment in experiments.experiments():
        for scale in Scale:
            keys = [(p.label, p.overrides) for p in experiment.plan(scale)]
            assert keys == [(p.label, p.overrides) for p in experiment.plan(scale)]
            assert len(set(keys)) == len(keys), f"{experiment.id} at {scale} has points that cannot be told apart"


def test_every_recorded_verdict_belongs_to_an_experiment():
    known = {experiment.id for experiment in experiments.experiments()}
    rows = record.read(record.default_path())
    assert {row.experiment for row in rows} <= known
    assert len({(row.id, row.scale) for row in rows}) == len(rows)


def test_every_result_is_explained_where_its_page_says():
    for experiment in experiments.experiments():
        page = Path(__file__).parents[1] / experiment.explained_in
        assert re.search(rf"\b{experiment.id}\b", page.read_text(encoding="utf-8")), experiment.id


def row(id_: str, scale: str = "tiny", verdict: str = "pass", measured: str = "1") -> record.Row:
    return record.Row(id_, scale, verdict, measured)


def test_differences_are_seen_in_either_direction():
    before = [row("H1.a"), row("H1.b", verdict="fail"), row("H1.c"), row("H1.d"), row("H2.a"), row("H1.a", "quick")]
    now = [row("H1.a"), row("H1.b"), row("H1.c", measured="2"), row("H1.e")]
    assert record.differences(before, now, ["H1"], Scale.TINY) == [
        "H1.b: on record fail, measured 1; now pass, measured 1",
        "H1.c: on record pass, measured 1; now pass, measured 2",
        "H1.e: not on record; now pass, measured 1",
        "H1.d: on record pass; now there is no such verdict",
    ]


def test_an_update_keeps_what_did_not_run(tmp_path):
    path = tmp_path / "verdicts.csv"
    order = ["H1", "H2"]
    record.update(path, [row("H1.old")], ["H1"], Scale.TINY, order)
    # As other commands do while the runs of H1 go on.
    record.update(path, [row("H2.a")], ["H2"], Scale.TINY, order)
    record.update(path, [row("H1.a", "quick")], ["H1"], Scale.QUICK, order)
    record.update(path, [row("H1.new", measured="a, b")], ["H1"], Scale.TINY, order)
    assert record.read(path) == [row("H1.new", measured="a, b"), row("H1.a", "quick"), row("H2.a")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n", 1),
        ("id,scale,verdict,measured\nH1.a,tiny,good,1\n", 2),
        ("id,scale,verdict,measured\nx\n", 2),
    ],
)
def test_a_wrong_record_is_told_with_its_line(tmp_path, text, line):
    path = tmp_path / "verdicts.csv"
    path.write_text(text)
    with pytest.raises(pl.InputError) as told:
        record.read(path)
    assert (told.value.file, told.value.line) == (str(path), line)


@pytest.fixture
def reproduced(paceline, tmp_path):
    """H13 once, with its verdicts recorded in a file of our own."""
    assert paceline("reproduce", "h13", "--scale", "tiny", "--verdicts", "v.csv", "--update", "-q").code == 0
    return tmp_path


def test_h13_passes_and_agrees_with_the_record(paceline, reproduced):
    outcome = paceline("reproduce", "H13", "--scale", "tiny")
    assert (outcome.code, outcome.err) == (0, "")
    assert "16 pass, 4 report; results/reproduce/tiny/H13/report.html" in outcome.out
    own = [r for r in record.read(record.default_path()) if (r.scale, r.experiment) == ("tiny", "H13")]
    assert record.read(reproduced / "v.csv") == own


def test_a_changed_verdict_or_value_ends_with_1_until_updated(paceline, reproduced):
    path = reproduced / "v.csv"
    good = path.read_text()
    for wrong in ("H13.ack.dctcp,tiny,fail,60", "H13.ack.dctcp,tiny,pass,61"):
        path.write_text(good.replace("H13.ack.dctcp,tiny,pass,60", wrong))
        outcome = paceline("reproduce", "H13", "--scale", "tiny", "--verdicts", "v.csv")
        assert outcome.code == 1
        assert "H13.ack.dctcp: on record" in outcome.err
    assert paceline("reproduce", "H13", "--scale", "tiny", "--verdicts", "v.csv", "--update").code == 0
    assert path.read_text() == good


def test_recorded_verdicts_have_a_place_before_anything_runs(paceline, tmp_path):
    """Without such a file all verdicts were told as changed; with --update its folder was missed at the end."""
    outcome = paceline("reproduce", "H13", "--scale", "tiny", "--verdicts", "nowhere.csv")
    assert outcome.code == 2
    assert "--verdicts = nowhere.csv: no such file" in outcome.err
    (tmp_path / "taken").write_text("mine")
    outcome = paceline("reproduce", "H13", "--scale", "tiny", "--verdicts", "taken/v.csv", "--update")
    assert outcome.code == 2
    assert "--verdicts = taken/v.csv: taken is no folder" in outcome.err
    assert {p.name for p in tmp_path.iterdir()} == {"taken"}


def test_json_has_every_verdict_with_all_its_parts(paceline, reproduced):
    printed = json.loads(paceline("reproduce", "H13", "--scale", "tiny", "--json").out)
    assert (printed["schema_version"], printed["scale"], printed["differences"]) == (1, "tiny", [])
    (experiment,) = printed["experiments"]
    assert len(experiment["verdicts"]) == 20
    parts = {"id", "statement", "published", "measured", "interval", "tolerance", "verdict", "variant", "seeds"}
    assert all(set(verdict) == parts for verdict in experiment["verdicts"])
    own = json.loads((reproduced / "results/reproduce/tiny/H13/verdicts.json").read_text())
    assert own["experiments"][0]["verdicts"] == experiment["verdicts"]


def test_an_interval_without_bound_is_json_too():
    """Where queries were open at the end, verdicts.json had Infinity, at which jq and browsers stop."""
    claim = claims.Claim("x", "a p99", 2.0, up_to=math.inf)
    found = estimates.Estimate(2.0, (1.5, 2.5))
    verdict = claims._verdict("H1", claim, found, claim.stretch, Scale.QUICK, (1, 2, 3))
    told = json.loads(json.dumps(regenerate._verdict_json(verdict)), parse_constant=pytest.fail)
    assert told["interval"] == [1.5, None]


def test_the_scenario_files_repeat_the_runs(paceline, reproduced):
    folder = reproduced / "results/reproduce/tiny/H13"
    files = sorted(folder.glob("scenario-*.toml"))
    assert len(files) == 5
    again = pl.simulate(files[0], progress="none")
    name = tomllib.loads(files[0].read_text())["name"]
    kept = [pl.load(p.parent) for p in (reproduced / "results/cache").glob("[0-9a-f]*/[0-9a-f]*/flows.bin")]
    (same,) = [results for results in kept if results.name == name]
    assert (again.path / "flows.bin").read_bytes() == (same.path / "flows.bin").read_bytes()


def test_the_scoreboard_shows_every_id(paceline, tmp_path):
    assert paceline("reproduce", "--all", "--scale", "tiny", "-q").code == 0
    folder = tmp_path / "results/reproduce/tiny"
    page, text = (folder / "scoreboard.html").read_text(), (folder / "scoreboard.md").read_text()
    assert "<script" not in page
    for experiment in experiments.experiments():
        assert f'href="{experiment.id}/report.html"' in page
        assert f'<a href="#{experiment.id}">{experiment.id}: ' in page
        assert (folder / experiment.id / "report.html").exists()
        assert f"\n## {experiment.id}\n" in text
    assert '<span class="status pass">pass</span>' in page


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["H133"], "did you mean H13?"),
        (["H13", "--all"], "--all"),
        ([], "or --all"),
        (["H13", "--scale", "huge"], "tiny, quick, paper"),
    ],
)
def test_wrong_requests_end_with_2(paceline, arguments, named):
    outcome = paceline("reproduce", *arguments)
    assert outcome.code == 2
    assert named in outcome.err


def test_the_list_tells_cost_at_every_scale(paceline):
    entries = {entry["id"]: entry for entry in json.loads(paceline("reproduce", "--list", "--json").out)}
    assert entries["H13"]["scales"]["tiny"]["runs"] == 5
    assert set(entries["H13"]["scales"]) == {"tiny", "quick", "paper"}
    listed = paceline("reproduce", "--list").out
    assert "H13  Header accounting" in listed
    assert max(map(len, listed.splitlines())) <= 100  # it was 131, and broken on every terminal
    # Of `Room for the probes of 3,000 new flows` nobody could tell whose result it is.
    assert "\nA1 to A9: Aeolus, SIGCOMM 2020\n" in listed
    assert "\nH1 to H17: HPCC project page\n" in listed


def test_the_listed_costs_are_those_of_the_runs():
    """Who plans an afternoon by the list is misled when experiments change and the file of their costs does not."""
    path = Path(costs.__file__).parents[1] / "experiments/costs.csv"
    text = costs.reckoned(experiments.experiments())
    if os.environ.get("UPDATE") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "UPDATE=1 pytest tests/test_reproduce.py -k costs"


def test_a_run_that_was_meant_to_stall_is_no_problem(tmp_path):
    """A deadlock may be what an experiment shows; its page must not read as if something had gone wrong."""
    from paceline.reproduce.page import write_scoreboard
    from paceline.reproduce.regenerate import Judged

    (h13,) = experiments.chosen(["H13"])
    verdict = model.Verdict(
        id="H13.ring", statement="deadlocks", published=1, measured=1, tolerance="exact", verdict=Outcome.PASS
    )
    judged = Judged(h13, Scale.TINY, (), Runs(()), (verdict,), stalled=("network=ring",))
    text = write_scoreboard([judged], [], tmp_path).read_text()
    assert "<li>network=ring</li>" in text
    assert "Runs that stalled" in text
    assert "notice bad" not in text


def test_many_values_without_a_claim_are_folded_away(tmp_path):
    from paceline.reproduce.page import brief_table, write_scoreboard
    from paceline.reproduce.regenerate import Judged

    (h13,) = experiments.chosen(["H13"])
    plain = {"statement": "s", "published": None, "measured": 1.5, "tolerance": "–"}
    values = [model.Verdict(id=f"H13.value{i}", verdict=Outcome.REPORT, **plain) for i in range(40)]
    claim = model.Verdict(id="H13.claim", verdict=Outcome.PASS, **plain)
    judged = Judged(h13, Scale.TINY, (), Runs(()), (*values, claim))
    text = write_scoreboard([judged], [], tmp_path).read_text()
    assert text.index("H13.claim") < text.index('<details class="shut">') < text.index("H13.value0")
    assert len(brief_table(judged.verdicts, "H13").rows) == 1
    assert len(brief_table(values, "H13").rows) == 40


def test_a_table_of_verdicts_names_variants_where_there_are_several():
    from paceline.reproduce.page import verdict_table

    plain: dict[str, Any] = {"statement": "s", "published": None, "measured": 1.5, "tolerance": "–"}
    plain["verdict"] = Outcome.REPORT
    one = model.Verdict(id="H0.a", seeds=(1, 2, 3, 4), **plain)
    two = model.Verdict(id="H0.b", seeds=(1, 3), variant="other", **plain)
    alone, both = verdict_table([one]), verdict_table([one, two])
    assert "Variant" not in alone.head
    assert [row[-1].text for row in both.rows] == ["1–4", "1, 3"]
    assert [row[both.head.index("Variant")].text for row in both.rows] == ["default", "other"]
    assert all(len(row) == len(table.head) for table in (alone, both) for row in table.rows)
    # A column that says the same of all would push others out of sight.
    assert "Seeds" not in alone.head
    assert alone.caption == "Verdicts; seeds 1–4"
    assert both.caption == "Verdicts"
    # A6 had "any" beside "5 seeds together".
    exact = verdict_table([model.Verdict(id="H0.c", **plain)])
    assert "Seeds" not in exact.head
    assert exact.caption == "Verdicts"


def test_pages_say_what_the_short_names_on_them_mean(tmp_path):
    """A reader of E5 was told neither what a QCT nor what PFC is."""
    from paceline.reproduce.page import write_experiment
    from paceline.reproduce.regenerate import Judged

    words = {"id": "X1", "title": "Losses", "statement": "PFC is of use.", "source": "source"}
    one = model.Experiment(**words, plan=lambda _: [], judge=lambda *_: [])
    claim = model.Verdict(
        id="X1.a", statement="p99 of the QCT", published=0, measured=0, tolerance="exact", verdict=Outcome.PASS
    )
    page = write_experiment(Judged(one, Scale.TINY, (), Runs(()), (claim,)), tmp_path).read_text()
    meant = page.partition('id="words"')[2].partition("</section>")[0]
    assert re.findall(r'<th scope="row">(\w+)', meant) == ["QCT", "p99", "PFC"]


def test_both_ends_of_an_interval_have_the_power_of_ten_of_its_value():
    """A1 had a value in units of 1e-5 beside an interval from some 1e-6 to 0.0001389."""
    from paceline.reproduce.page import verdict_table

    plain: dict[str, Any] = {"statement": "s", "published": None, "tolerance": "< 1", "verdict": Outcome.PASS}
    rare = model.Verdict(id="H0.a", measured=1.031e-5, interval=(5.01e-6, 1.389e-4), **plain)
    often = model.Verdict(id="H0.b", measured=0.5, interval=(0.25, 0.75), **plain)
    notes = [row[2].note for row in verdict_table([rare, often]).rows]
    assert [signed(note) for note in notes] == ["[0.5010, 13.89] \N{MULTIPLICATION SIGN} 10⁻⁵", "[0.2500, 0.7500]"]


def test_what_a_value_is_held_against_says_of_what_it_is_a_share():
    """H6 had "1.2, ±10 %" without the value that was meant; a notice had no published value at all."""
    assert judge.percent_of(1.25, 10).text == "1.25 ± 10 %"
    assert typeset("1.25 ± 10 %") == "1.25 ± 10 %".replace(" ", "\N{NO-BREAK SPACE}")


def test_what_is_true_or_not_reads_so_and_is_recorded_as_a_number():
    from paceline.reproduce.page import verdict_table

    plain = {"statement": "s", "published": 1, "measured": 1.0, "tolerance": "1", "verdict": Outcome.PASS}
    told = model.Verdict(id="H0.a", yes_no=True, **plain)
    counted = model.Verdict(id="H0.b", **plain)
    rows = [[cell.text for cell in row] for row in verdict_table([told, counted]).rows]
    assert rows[0][2:5] == ["yes", "yes", "yes"]
    assert rows[1][2:5] == ["1", "1", "1"]
    assert record.Row.of(told, Scale.TINY).measured == "1", "records, and what compares with them, keep the number"


def test_measured_values_keep_their_last_zeros():
    """A column had 0.9 beside 0.8512; what was published, counts and exact values stay as they are."""
    from paceline.reproduce.page import verdict_table

    plain = {"statement": "s", "published": 0.9, "tolerance": "x", "verdict": Outcome.PASS}
    measured = model.Verdict(id="H0.a", measured=0.9, interval=(0.85, 0.95), seeds=(1, 2, 3), **plain)
    counted = model.Verdict(id="H0.b", measured=12.0, seeds=(1,), **plain)
    exact = model.Verdict(id="H0.c", measured=0.5, **plain)
    small = model.Verdict(id="H0.d", measured=2.5e-6, seeds=(1,), **plain)
    larger = {measured.name: record.Row(measured.name, "paper", "fail", "0.88")}
    table = verdict_table([measured, counted, exact, small], larger=larger)
    rows = [dict(zip(table.head, row, strict=True)) for row in table.rows]
    assert [row["Measured"].text for row in rows] == ["0.9000", "12", "0.5", "2.500e-06"]
    assert rows[0]["Measured"].note == "[0.8500, 0.9500]"
    assert [row["Published"].text for row in rows] == ["0.9"] * 4
    assert rows[0]["Larger runs"].note == "0.8800 at paper"


def test_a_failed_run_costs_its_experiment_only(tmp_path):
    from paceline.reproduce.regenerate import reproduce

    (h13,) = experiments.chosen(["H13"])
    gone = tmp_path / "gone.csv"
    gone.write_text("start,src,dst,bytes\n0s,0,1,1KB\n")
    toml = f'[topology]\nkind = "star"\n[schemes.a]\ncc = "hpcc"\n[[workloads]]\nkind = "flows"\nfile = "{gone}"\n'

    def plan(_scale):
        return [pl.Point(scenario=toml, key={"which": "bad"})]

    class Losing(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            gone.unlink(missing_ok=True)
            return super().submit(fn, *args, **kwargs)

    broken = replace(h13, id="H99", plan=plan)
    with Losing(1) as executor:
        bad, good = reproduce([broken, h13], "tiny", executor=executor, cache=tmp_path / "c", progress="none")
    assert bad.verdicts == ()
    assert "which=bad" in bad.problems[0]
    assert good.count(Outcome.PASS) == 16


def test_lines_are_not_broken_within_what_belongs_together():
    """Heads of columns ended with a lone "%" or "KB", statements were parted as "RTO 10 / ms"."""
    from paceline.report.page import environment
    from paceline.tables import Cell, Table

    head = ("Id", "Statement", "Queue p99 (KB)", "Measured", "Verdict")
    texts = (
        "E31.default_over_eta_0.9",
        "RTO 10 ms over 20 µs at 30 % load, flows ≥ 1 MB",
        "3",
        "10 ms",
        "not judged at tiny",
    )
    macros = environment().get_template("macros.html.j2")
    text = macros.module.table(Table("Up to 5.9 ms", head, [tuple(map(Cell, texts))], prose=True))  # type: ignore[attr-defined]
    for part in (
        "Queue p99~(KB)",
        "RTO 10~ms over 20~µs at 30~% load, flows ≥~1~MB",
        "10~ms",
        "not~judged at tiny",
        "Up to 5.9~ms",
    ):
        assert part.replace("~", "\N{NO-BREAK SPACE}") in text, part
    assert "E31.default_<wbr>over_<wbr>eta_<wbr>0.9" in text
    numbers = macros.module.table(Table("", ("", "Size"), [(Cell("a"), Cell("1 KB"))]))  # type: ignore[attr-defined]
    assert "<td>1 KB</td>" in numbers, "numbers are copied into other tables"


def test_a_page_has_the_signs_of_print() -> None:
    """Of A4's page one number had a hyphen for its minus, of A1's one read 2.518e-05."""
    from paceline.report.page import environment
    from paceline.reproduce.page import verdict_table

    words = {"statement": "s", "published": None, "tolerance": "-0.5 to 1", "verdict": Outcome.PASS}
    found = [model.Verdict(id=f"X1.{i}", measured=value, **words) for i, value in enumerate((-0.0439, 2.518e-05))]
    macros = environment().get_template("macros.html.j2")
    text = macros.module.table(verdict_table(found))  # type: ignore[attr-defined]
    for part in ("\N{MINUS SIGN}0.0439", "2.518~\N{MULTIPLICATION SIGN}~10⁻⁵", "\N{MINUS SIGN}0.5 to 1"):
        assert part.replace("~", "\N{NO-BREAK SPACE}") in text, part
    assert record.Row.of(found[0], Scale.TINY).measured == "-0.0439", "records are for programs"


def test_scenario_files_are_not_printed_with_a_page() -> None:
    """A page of twelve runs took 55 sheets, 51 of them settings that lie beside it as files."""
    from paceline.report import Section, render

    files = [("scenario-a.toml", "schema = 1"), ("scenario-b.toml", "schema = 1")]
    section = Section("scenarios", "Scenarios", "2 runs", verbatim=files)
    words = {"kicker": "", "title": "t", "lead": [], "notices": [], "tiles": []}
    text = render("reproduce.html.j2", sections=[section], **words)
    assert text.count('<details class="files">') == 2
    assert "details.files, .page-of, figcaption small { display: none; }" in text


def test_claims_that_pass_are_folded_away_where_there_are_many(tmp_path):
    """The 90 rows of E9 hid the 22 that fail, and H1 took 27 sheets of paper; by larger runs where those count."""
    from paceline.reproduce.page import SHOWN_CLAIMS, write_experiment, write_scoreboard
    from paceline.reproduce.regenerate import Judged

    (h13,) = experiments.chosen(["H13"])
    plain = {"statement": "s", "published": None, "measured": 1.5, "tolerance": "< 2"}
    claims = [model.Verdict(id=f"X1.c{i:02}", verdict=Outcome.PASS, **plain) for i in range(SHOWN_CLAIMS + 2)]
    larger = {"X1.c07": record.Row("X1.c07", "paper", "fail", "2.5")}
    few, many = (Judged(h13, Scale.TINY, (), Runs(()), tuple(claims[:n])) for n in (SHOWN_CLAIMS, None))
    assert "Claims that pass" not in write_experiment(few, tmp_path, larger).read_text()
    for text in (
        write_experiment(many, tmp_path, larger).read_text(),
        write_scoreboard([many], [], tmp_path, larger).read_text(),
    ):
        assert "41 of 42 claims pass, and are folded away below." in text
        open_table, _, folded = text.partition('<details class="shut"><summary>Claims that pass')
        assert ("X1.c07</th>" in open_table, "X1.c07</th>" in folded) == (True, False)
        assert ("X1.c08</th>" in open_table, "X1.c08</th>" in folded) == (False, True)
    # What is folded away is left out on paper where it is long, or stands on a page of its own.
    assert ".shut, [open]) > *:not(summary) { display: block; }" in text


def test_statements_begin_with_a_capital_unless_with_a_name():
    from paceline.reproduce.page import verdict_table

    words = {"published": None, "measured": 1.0, "tolerance": "< 1", "verdict": Outcome.PASS}
    texts = ("packets dropped", "p99 of the queue", "UDP's share", "victim: queries")
    table = verdict_table([model.Verdict(id=f"X1.{i}", statement=text, **words) for i, text in enumerate(texts)])
    assert [row[1].text for row in table.rows] == [
        "Packets dropped",
        "p99 of the queue",
        "UDP's share",
        "Victim: queries",
    ]


def test_long_names_of_runs_wrap_and_short_ones_do_not():
    """Twelve runs of E20 had names of up to 60 characters on one line: their numbers were beside the page."""
    from paceline.report.page import environment
    from paceline.tables import Cell, Table

    long = "QCN 20, one limiter per adapter, NewReno, no PFC"
    rows = [(Cell(name), Cell("1")) for name in (long, "QCN 20, NewReno")]
    macros = environment().get_template("macros.html.j2")
    text = macros.module.table(Table("Runs", ("Run", "Drops"), rows))  # type: ignore[attr-defined]
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert f'<th scope="row" class="long">{long}</th>' in text
    assert '<th scope="row">QCN 20, NewReno</th>' in text


def test_a_page_begins_with_its_figures_and_the_claims_that_fail(tmp_path):
    """The figures of H1 stood eight screens down, behind 144 verdicts."""
    from matplotlib.figure import Figure

    from paceline.reproduce.page import SHOWN_FAILED, write_experiment
    from paceline.reproduce.regenerate import Judged

    def verdict(k: int, outcome: Outcome) -> model.Verdict:
        words = {"id": f"X1.{k}", "statement": f"claim {k}", "tolerance": "≤ 1"}
        return model.Verdict(**words, published=None, measured=2500.0 + k, verdict=outcome)

    shown = model.Shown([model.Drawing("x", Figure(), "A figure.")])
    words = {"id": "X1", "title": "Title", "statement": "Statement.", "source": "source"}
    one = model.Experiment(**words, plan=lambda _: [], judge=lambda *_: [], show=lambda *_: shown)
    failed = [verdict(k, Outcome.FAIL) for k in range(SHOWN_FAILED + 2)]
    for verdicts in ([*failed, verdict(99, Outcome.PASS)], [verdict(99, Outcome.PASS)]):
        judged = Judged(experiment=one, scale=Scale.QUICK, jobs=(), runs=Runs(()), verdicts=tuple(verdicts))
        page = write_experiment(judged, tmp_path).read_text().replace("\N{NO-BREAK SPACE}", " ")
        assert page.index('id="figures"') < page.index('id="verdicts"')
        head = page.partition('id="figures"')[0]
        assert ("X1.0: claim 0: 2,500, tolerance ≤ 1" in head) == ("and 2 more" in head) == (len(verdicts) > 1)
        assert "claim 99" not in head


def test_figures_of_the_page_before_do_not_stay(tmp_path):
    """A result whose runs failed had beside its page, which shows none, the figures of another version."""
    from matplotlib.figure import Figure

    from paceline.reproduce.page import write_experiment
    from paceline.reproduce.regenerate import Judged

    shown = model.Shown([model.Drawing("x", Figure(), "A figure.")])
    words = {"id": "X1", "title": "Title", "statement": "Statement.", "source": "source"}
    one = model.Experiment(**words, plan=lambda _: [], judge=lambda *_: [], show=lambda *_: shown)
    value = judge.report("X1.v", "a value", None, 1.0)
    left = []
    for verdicts, problems in (((value,), ()), ((), ("seed=1: killed",))):
        write_experiment(Judged(one, Scale.TINY, (), Runs(()), verdicts, problems), tmp_path)
        left.append({path.name for path in (tmp_path / "figures").iterdir()})
    assert left == [{"x.png", "x.pdf", "x.svg"}, set()]


def test_a_claim_that_holds_in_larger_runs_is_told_so(tmp_path):
    """Of 38 claims that fail at quick scale and are on record at paper scale 21 hold there; pages did not say so."""
    from paceline.reproduce.page import brief_table, counts_text, write_experiment
    from paceline.reproduce.regenerate import Judged

    def verdict(name: str, outcome: Outcome, measured: float = 2.0) -> model.Verdict:
        words = {"id": f"X1.{name}", "statement": name, "tolerance": "≤ 1"}
        return model.Verdict(**words, published=None, measured=measured, verdict=outcome)

    verdicts = (verdict("short", Outcome.FAIL), verdict("never", Outcome.FAIL), verdict("value", Outcome.REPORT))
    recorded = [
        record.Row("X1.short", "quick", "fail", "2"),
        record.Row("X1.short", "paper", "pass", "0.5"),
        record.Row("X1.never", "paper", "fail", "1.5"),
        record.Row("X1.value", "paper", "report", "7"),
    ]
    larger = record.at_larger_scale(recorded, Scale.QUICK)
    table = brief_table(verdicts, "X1", larger)
    place = table.head.index("Larger runs")
    assert [(row[place].text, row[place].note) for row in table.rows] == [
        ("pass", "0.5 at paper"),
        ("fail", "1.5 at paper"),
    ]
    assert "2 fail (1 on record as pass at paper scale)" in counts_text(verdicts, larger)
    words = {"id": "X1", "title": "Title", "statement": "Statement.", "source": "source"}
    one = model.Experiment(**words, plan=lambda _: [], judge=lambda *_: [])
    judged = Judged(experiment=one, scale=Scale.QUICK, jobs=(), runs=Runs(()), verdicts=verdicts)
    assert "Of these, 1 on record as pass at paper scale" in write_experiment(judged, tmp_path, larger).read_text()
    # Nothing is larger than paper scale, and of tiny's the largest there is counts.
    assert record.at_larger_scale(recorded, Scale.PAPER) == {}
    assert "Larger runs" not in brief_table(verdicts, "X1", record.at_larger_scale(recorded, Scale.PAPER)).head
    assert record.at_larger_scale(recorded[:1], Scale.TINY)["X1.short"].scale == "quick"
    assert record.at_larger_scale(recorded, Scale.TINY)["X1.short"].scale == "paper"


def test_a_verdict_at_tiny_is_muted_where_larger_runs_say_otherwise(tmp_path):
    """A7 had a green "pass" at tiny beside a colourless "fail 1,365 at paper"; cards and scoreboard said "5 pass"."""
    from paceline.reproduce.page import counts_text, verdict_table, write_experiment, write_scoreboard
    from paceline.reproduce.regenerate import Judged

    def verdict(name: str, outcome: Outcome) -> model.Verdict:
        words = {"id": f"X1.{name}", "statement": f"claim {name}", "tolerance": "exact"}
        return model.Verdict(**words, published=0, measured=0, verdict=outcome)

    outcomes = {"lost": Outcome.PASS, "kept": Outcome.PASS, "alone": Outcome.PASS, "p99": Outcome.NOT_JUDGED}
    verdicts = tuple(verdict(name, outcome) for name, outcome in outcomes.items())
    recorded = [record.Row(f"X1.{name}", "paper", said, "5") for name, said in (("lost", "fail"), ("p99", "pass"))]
    larger = record.at_larger_scale([*recorded, record.Row("X1.kept", "paper", "pass", "0")], Scale.TINY)
    table = verdict_table(verdicts, larger=larger)
    first, then = table.head.index("Larger runs"), table.head.index("Verdict")
    assert first < then
    tones = [(row[first].tone, row[then].tone) for row in table.rows]
    assert tones == [("fail", "muted"), ("", "pass"), ("", "pass"), ("pass", "")]
    words = {"id": "X1", "title": "Title", "statement": "Statement.", "source": "source"}
    one = model.Experiment(**words, plan=lambda _: [], judge=lambda *_: [])
    judged = Judged(experiment=one, scale=Scale.TINY, jobs=(), runs=Runs(()), verdicts=verdicts)
    page = write_experiment(judged, tmp_path, larger).read_text()
    # E34 had "up to 1.06 times that", which was of this run, beside the value of a larger one.
    open_at_the_end = replace(judged, verdicts=tuple(replace(v, open_end="or more") for v in verdicts))
    head, _, tables = write_experiment(open_at_the_end, tmp_path / "open", larger).read_text().partition("</header>")
    assert "(or more)" not in head
    assert "Claim lost (or more)" in tables
    tiles = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    # A claim is in two groups, and their headings say so.
    assert "3 claims, as larger runs on record have them" in page
    assert "These and others, 4, at tiny scale" in page
    assert tiles == [("pass", "2"), ("fail", "1"), ("pass", "3"), ("not\N{NO-BREAK SPACE}judged", "1")]
    assert "X1.lost: claim lost: 5 at paper, published 0, tolerance exact" in page.partition("</header>")[0]
    board = write_scoreboard([judged], [], tmp_path, larger).read_text().partition('id="overview"')[2]
    assert board.index("fail on record") < board.index("pass at tiny")
    assert "3 pass (1 on record as fail at paper scale)" in counts_text(verdicts, larger)
    # E16 had "– at quick".
    none = record.at_larger_scale([record.Row("X1.p99", "quick", "undecided", "–")], Scale.TINY)
    assert "no value at quick" in [cell.note for cell in verdict_table(verdicts, larger=none).rows[-1]]
    # With nothing on record there is nothing to lead.
    alone = write_experiment(judged, tmp_path).read_text()
    assert "on record have them" not in alone
    assert "<dt>pass</dt><dd>3</dd>" in alone


def test_a_long_list_of_scenarios_is_folded():
    """The page of E32 ended in 96 lines of file names, that of M3 in 432."""
    from paceline.report import Section, render

    for count, folded in ((12, False), (13, True)):
        section = Section("scenarios", "Scenarios", verbatim=[(f"{i}.toml", "a = 1") for i in range(count)])
        text = render("reproduce.html.j2", kicker="", title="", lead=[], notices=[], tiles=[], sections=[section])
        assert (f"<summary>All {count} files</summary>" in text) == folded
        assert text.count("<details") == text.count("</details>") == count + folded


def test_the_rules_of_judging_are_folded_away_on_pages_and_stand_on_the_scoreboard(tmp_path):
    """Each page began its verdicts with the same paragraph of eight lines; one that is alone must still have it."""
    from paceline.reproduce.page import write_experiment, write_scoreboard
    from paceline.reproduce.regenerate import Judged

    words = {"id": "X1", "title": "Title", "statement": "Statement.", "source": "source"}
    one = model.Experiment(**words, plan=lambda _: [], judge=lambda *_: [])
    claim = {"id": "X1.a", "statement": "s", "published": 0, "measured": 0, "tolerance": "exact"}
    judged = Judged(one, Scale.TINY, (), Runs(()), (model.Verdict(**claim, verdict=Outcome.PASS),))
    rule = "statistical one, with its whole 95\N{NO-BREAK SPACE}% confidence interval"
    folded = r'<details><summary>How verdicts come about</summary><p class="rule">[^<]*' + rule
    page = write_experiment(judged, tmp_path / "X1").read_text()
    assert re.search(folded, page)
    assert page.count(rule) == 1
    board = write_scoreboard([judged], [], tmp_path).read_text()
    assert board.count(rule) == 1
    assert rule in board.partition("</header>")[0]
    # Where nothing is judged there are no rules to tell.
    value = model.Verdict(**claim, verdict=Outcome.REPORT)
    assert rule not in write_experiment(replace(judged, verdicts=(value,)), tmp_path / "X1").read_text()


def test_a_scoreboard_says_when_it_is_not_of_a_commit(tmp_path, monkeypatch):
    """It named the commit alone for an engine that was built from other sources than that has."""
    from paceline.reproduce.page import write_scoreboard
    from paceline.reproduce.regenerate import Judged

    monkeypatch.setattr(_native, "git_revision", lambda: f"{'12345678' * 5}-dirty")
    (h13,) = experiments.chosen(["H13"])
    text = write_scoreboard([Judged(h13, Scale.TINY, (), Runs(()), ())], [], tmp_path).read_text()
    assert "commit 123456781234-dirty." in text
