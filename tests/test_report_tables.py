"""The tables of a report, on its page and in the terminal; how runs, sizes and times are written in them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.pages import Page
from helpers.synthetic import write_flows, write_run
from paceline import analysis, plot
from paceline.errors import ResultsError
from paceline.formats import (
    clean_label,
    clean_labels,
    format_alike,
    format_bytes,
    format_given,
    format_number,
    format_rates,
    format_share,
    format_size,
    format_sizes,
    format_time,
    same_decimals,
)
from paceline.report import Section, figures_table, render, slowdown_table, write_report
from paceline.report import flows as flows_section
from paceline.results import Results
from paceline.sweeps.brief import brief
from paceline.tables import Cell, Table, group_tables, number_rows, run_labels
from paceline.words import percent


def test_small_shares_have_two_digits_in_all_rows() -> None:
    """A link was used for 0.3 % of the time beside others of 0.26 %, ports were congested for 0.8 % beside 0.55 %."""
    shares = (0.00296, 0.0026, 0.000996, 1.4e-7, 0.00996, 0.5, 0.0, math.nan)
    told = ["0.30 %", "0.26 %", "0.10 %", "0.000014 %", "1.0 %", "50.0 %", "0", "–"]
    assert [format_share(share) for share in shares] == told


def test_a_ratio_says_over_how_many_sizes_it_is(tmp_path: Path) -> None:
    """Two runs with one size in common had a ratio of 6.016 "to the first", as if over all sizes."""
    folders = [write_run(tmp_path / name, seed, flows=400, tables=False) for seed, name in ((1, "a"), (2, "b"))]
    for factor, folder in zip((1, 1000), folders, strict=True):
        records = np.array(Results.load(folder)._records)
        records["size_bytes"][:100] = 5_000
        records["size_bytes"][100:] = np.arange(100, 400) * factor + 10**6 * factor
        write_flows(folder / "flows.bin", records)
    text = slowdown_table([Results.load(folder) for folder in folders])
    assert re.search(r"ratio to the first.* over the [12] of 9 sizes both have", text)


def test_runs_of_one_name_are_labelled_by_folder(tmp_path: Path) -> None:
    """Reports of several scenarios with the same name in them all looked alike."""
    runs = [Results.load(write_run(tmp_path / n, flows=20, name="incast", tables=False)) for n in ("hpcc", "homa")]
    assert run_labels(runs) == ["incast (hpcc)", "incast (homa)"]
    text = Page(write_report([runs[0].path], tmp_path / "one.html", paper_figures=False).read_text()).text
    assert "incast (hpcc)" in text
    other = Results.load(write_run(tmp_path / "x", flows=20, name="tree", tables=False))
    assert run_labels([*runs, other]) == ["incast (hpcc)", "incast (homa)", "tree"]
    # Where the folders have one name, too, they had numbers.
    places = ("a/run", "b/run", "b/other")
    same = [Results.load(write_run(tmp_path / p, flows=20, name="incast", tables=False)) for p in places]
    assert run_labels(same) == ["incast (a/run)", "incast (b/run)", "incast (other)"]
    assert run_labels(same[:1] * 2) == ["incast (run) #1", "incast (run) #2"]
    figure = plot.queue_timeline({"port 3:1": (np.array([0, 1000]), np.array([0, 10]))})
    assert "port 3:1" in figure.axes[0].get_ylabel()


def test_long_names_that_differ_at_their_ends_stay_apart() -> None:
    names = [f"the-run-whose-name-goes-on-and-on-for-ever: {scheme}" for scheme in ("hpcc", "dcqcn")]
    shown = [clean_label(name) for name in names]
    assert len(set(shown)) == 2
    assert max(map(len, shown)) <= 40


@given(st.lists(st.text("ab-:…", min_size=1, max_size=60), unique=True, max_size=8))
def test_different_labels_stay_different(names: list[str]) -> None:
    """Two curves of which the names differed in the middle had one name in legends and tables."""
    shown = clean_labels(names)
    assert len(set(shown)) == len(names)
    for name, label in zip(names, shown, strict=True):
        assert label in (name, clean_label(name))


def test_the_terminal_shows_the_same_numbers(tmp_path: Path) -> None:
    runs = [
        Results.load(write_run(tmp_path / n, s, name=n, flows=600, tables=False)) for s, n in enumerate(("one", "two"))
    ]
    alone = slowdown_table(runs[:1])
    whole = analysis.percentiles(runs[0].slowdown(), [50])[0]
    last = alone.splitlines()[-1]
    assert f"{whole.count:,} / {whole.unfinished} / {whole.failed}" in last
    assert f"{whole.value:.2f} [" in last
    assert "≥ " in alone
    # The page has a sentence about it, a table by itself had none.
    for table in (alone, slowdown_table(runs)):
        assert "≥: at least, as those that did not finish count with their age" in " ".join(table.split())
    assert "ratio to the first" in slowdown_table(runs)
    assert re.search(r"Flows unfinished +12 +12", figures_table(runs))


def test_a_percentile_of_too_few_flows_is_a_dash(tmp_path: Path) -> None:
    """The p99 of 30 flows is their largest: a number there would be read as one that stands on hundreds."""
    few = Results.load(write_run(tmp_path / "few", flows=60, unfinished=0, failed=0, tables=False))
    text = slowdown_table([few])
    assert "; no p99: it needs 100 flows; a dash where the flows are fewer" in " ".join(text.split())
    assert " p99\n" not in text
    assert "–" not in text.splitlines()[-1]
    assert "≥" not in text
    enough = Results.load(write_run(tmp_path / "enough", flows=1200, unfinished=0, failed=0, tables=False))
    assert "–" not in slowdown_table([enough]).splitlines()[-1]


def test_dashes_are_explained(tmp_path: Path) -> None:
    """Captions of completion times, groups and load did not say what a dash is, nor why a ratio had none."""
    folder = write_run(tmp_path / "few", flows=60, unfinished=0, failed=0, groups=["a", "b"])
    records = np.array(Results.load(folder)._records)
    records["group"][::2] = 1
    write_flows(folder / "flows.bin", records)
    summary = json.loads((folder / "summary.json").read_text())
    load = [{"tier": "host->tor", "capacity_bps": 10**11, "offered": 0.0, "carried": 0.1}]
    (folder / "summary.json").write_text(json.dumps(summary | {"load": load, "series_interval_ps": 0}))
    text = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text()).text
    for caption in (
        "FCT, all sizes, timed at the sender",
        "Slowdown by workload group, all sizes, timed at the sender",
    ):
        assert re.search(rf"{caption}[^;]*(; in brackets[^;]*)?; no p99: it needs 100 flows", text)
    assert re.search("share of the capacity; [^.]*a dash: nothing is offered at a rate", text)
    assert re.search(r"Fullest buffer sampled\s+not sampled", figures_table([Results.load(folder)]))
    none = write_run(tmp_path / "none", flows=0, name="none", tables=False)
    first, second = (
        slowdown_table([Results.load(none), Results.load(folder)]).split("ratio to the first")[1].split("–")[1:3]
    )
    assert first.split("  ")[0] == " too few flows"
    assert second.split("\n")[0] == " too few flows"  # it said that no size was in both, though 500 KB was


def test_a_comparison_without_dashes_explains_none(tmp_path: Path) -> None:
    """The page of the demo told of dashes that were in no table."""
    for flows, explained in ((60, True), (4000, False)):
        runs = [write_run(tmp_path / f"{name}{flows}", flows=flows, name=name) for name in "ab"]
        text = slowdown_table([Results.load(run) for run in runs])
        assert ("no p99: it needs 100 flows" in " ".join(text.split())) == explained
        assert ("Slowdown p99" in text) != explained, "a table of nothing but dashes"


def test_a_caption_says_where_the_bins_of_sizes_come_from(tmp_path: Path) -> None:
    """The edges, odd numbers of bytes, were explained nowhere."""
    runs = [Results.load(write_run(tmp_path / name, flows=600, name=name, tables=False)) for name in "ab"]
    assert "; bins: deciles of the sizes of all flows" in " ".join(slowdown_table(runs[:1]).split())
    assert "; bins: deciles of the sizes of all columns together" in " ".join(slowdown_table(runs).split())
    sample = runs[0].slowdown()
    one_size = replace(sample, size_bytes=np.full(len(sample), 1000))
    runs[0].slowdown = lambda *_: one_size  # type: ignore[method-assign]
    assert "deciles" not in slowdown_table(runs[:1]), "there is one bin"
    three = replace(sample, size_bytes=np.arange(len(sample)) % 3 * 1000 + 1000)
    runs[0].slowdown = lambda *_: three  # type: ignore[method-assign]
    assert "; a bin for each of the 3 sizes" in " ".join(slowdown_table(runs[:1]).split())
    few = replace(sample, size_bytes=np.maximum(np.arange(len(sample)), len(sample) // 2))
    runs[0].slowdown = lambda *_: few  # type: ignore[method-assign]
    said = "; 6 bins: deciles of the sizes of all flows, joined where they end at the same size"
    assert said in " ".join(slowdown_table(runs[:1]).split())


def test_numbers_of_one_axis_have_one_unit_and_as_many_decimals() -> None:
    assert format_sizes([0, 5e5, 1e6, 1.5e6]) == ["0", "0.5M", "1.0M", "1.5M"]
    assert format_sizes([0, 2e4, 4e4]) == ["0", "20K", "40K"]
    assert format_rates([0, 25e9, 50e9]) == ["0", "25 Gb/s", "50 Gb/s"]
    assert same_decimals([0.0, 0.05, 0.1]) == ["0.00", "0.05", "0.10"]
    assert same_decimals([0, 1000, 2000]) == ["0", "1,000", "2,000"]
    assert [format_given(v) for v in (500, 512_000, 2**19, 2**25, 1e6)] == [
        "500 B",
        "512 KB",
        "512 KiB",
        "32 MiB",
        "1 MB",
    ]


def test_sizes_and_times_read_as_in_papers() -> None:
    assert [format_size(v) for v in (1, 999, 1000, 6666, 9990, 200_000, 999_900, 1_500_000, 3e10)] == [
        "1", "999", "1K", "6.7K", "10K", "200K", "1M", "1.5M", "30G"
    ]  # fmt: skip
    assert [format_time(v) for v in (0, 850_000, 1_230_000, 30e9, 2e12)] == [
        "0 ps",
        "850 ns",
        "1.23 µs",
        "30 ms",
        "2 s",
    ]


def test_measured_bytes_keep_their_digits_and_what_is_left_of_little() -> None:
    """A column had 2 KB beside 6.1 KB, and a mean queue of a third of a byte was 0 B."""
    assert [format_bytes(v) for v in (2000, 2004.0, 1_960_000, 6100, 10_020)] == [
        "2 KB",
        "2.0 KB",
        "2.0 MB",
        "6.1 KB",
        "10 KB",
    ]
    assert [format_bytes(v) for v in (0, 0.3, 0.5, 0.6, 95)] == ["0", "< 1 B", "< 1 B", "1 B", "95 B"]


def test_measured_times_keep_their_last_zero(tmp_path: Path) -> None:
    """A mean of 1.2 ms stood beside its interval from 1.19 to 1.21."""
    rows = [{"seed": seed, "status": "completed", "fct_mean_ps": ps} for seed, ps in ((1, 1.19e9), (2, 1.21e9))]
    assert brief(rows, [], "all").rows[0][-1].text == "1.20 ms"


@given(st.floats(0, 1e6))
def test_numbers_and_times_have_no_power_of_ten_from_one_on(value: float) -> None:
    """A table had 1.00e+03 for 999.7 queries per second, and a run of half an hour took 1.8e+03 s."""
    number, (time, unit) = format_number(value), format_time(value * 1e12).split()
    seconds = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}[unit]
    assert "e+" not in number + time
    for read in (float(number.replace(",", "")), float(time.replace(",", "")) * seconds):
        assert read == pytest.approx(value, rel=0.00501, abs=1e-14)


def test_long_remarks_stand_below_a_table_in_the_terminal() -> None:
    """The table of seven runs was 260 characters wide, for remarks on its last row."""
    rows = [(Cell("x", "CDF-weighted"), Cell("1", "[1.02, 1.05]"), Cell("2", "over the 3 of 10 sizes both have"))]
    lines = Table("A table", ("Flow size", "a", "b"), rows).plain().splitlines()
    assert lines[2].split() == ["x", "CDF-weighted", "1", "[1.02,", "1.05]", "2"]
    assert lines[3] == "x, b: over the 3 of 10 sizes both have"


def test_a_table_that_fits_on_a_sheet_is_printed_in_one_piece() -> None:
    """Tables were cut after two rows, captions after a line, where a sheet of paper ended."""
    rows = [(Cell("a"), Cell("1"))]
    made = [Table(name, ("x", "y"), rows * count) for name, count in (("fits", 12), ("does not", 60))]
    plain = {"kicker": "", "title": "t", "lead": [], "notices": [], "tiles": []}
    page = render("reproduce.html.j2", sections=[Section("s", "Tables", tables=made)], **plain)
    kinds = re.findall(r'<div class="(table[^"]*)"[^>]*aria-label="([^"]*)"', page)
    assert kinds == [("table", "fits"), ("table tall", "does not")]
    paper = page.partition("@media print {")[2]
    assert re.search(r"\.table:not\(\.tall\)[^{}]*caption[^{}]*\{ break-inside: avoid; \}", paper)
    assert re.search(r"figure svg \{ max-height: 2[0-9]{2}mm; \}", paper), "H6 had a figure higher than a sheet"


def test_a_caption_explains_no_dash_of_a_column_that_is_left_out(tmp_path: Path) -> None:
    """Beside "no p99: it needs 100 flows" it had "a dash where the flows are fewer than 100 (p99)"."""
    text = " ".join(slowdown_table([Results.load(write_run(tmp_path / "a", flows=50, tables=False))]).split())
    assert "no p99: it needs 100 flows; a dash where the flows are fewer than 20 (p95)" in text
    both = " ".join(slowdown_table([Results.load(write_run(tmp_path / "b", flows=150, tables=False))]).split())
    assert "a dash where the flows are fewer than 100 (p99) or 20 (p95)" in both


def test_tables_are_written_for_papers_too(tmp_path: Path) -> None:
    """The numbers of a comparison had to be typed again to get into a paper."""
    folders = [write_run(tmp_path / name, seed, flows=400, name=name) for seed, name in ((1, "a_1"), (2, "50 %"))]
    write_report(folders, tmp_path / "page/report.html")
    tex, md = ((tmp_path / "page" / name).read_text() for name in ("tables.tex", "tables.md"))
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == md.count("\n|---|") > 3
    assert r"Flow size & a\_1 & 50 \% \\" in tex
    first = re.search(r"\| all sizes \| ([\d.]+) \(", md)
    assert first is not None
    assert f"all sizes & {first[1]} " in tex


def test_latex_reads_every_row_of_a_table_as_it_is_meant() -> None:
    rows = [(Cell("host → tor"), Cell("≥ 1", "[0.9, ∞]")), (Cell("[a] & {b}\\c"), Cell("–"))]
    lines = Table("50 % of\nall", ("#", "x_y"), rows).latex().splitlines()
    assert lines[0] == "% 50 % of all", "the rest would be typeset"
    assert r"\# & x\_y \\" in lines
    assert r"host $\to$ tor & $\ge$ 1 {\scriptsize {[}0.9, $\infty$]} \\" in lines
    assert r"{[}a] \& \{b\}\textbackslash{}c & -- \\" in lines


def test_a_run_of_no_time_says_nothing_of_speed(tmp_path: Path) -> None:
    """A run of 0.00 s had "Packet hops per CPU second: 2,143,000"."""
    run = write_run(tmp_path / "a", flows=50)
    told = json.loads((run / "summary.json").read_text())
    for cpu_s, shown in ((0.004, "– (under 0.1 s of CPU)"), (2.0, "1,234,000")):
        told["machine"] |= {"cpu_s": cpu_s, "hops_per_s": 1_234_000.0}
        (run / "summary.json").write_text(json.dumps(told))
        assert re.search(rf"Packet hops per CPU second +{re.escape(shown)}", figures_table([Results.load(run)]))


def test_a_run_that_lacks_a_counter_can_be_compared(tmp_path: Path) -> None:
    """A report on a run of an earlier version beside a new one, which counts more, ended with a trace."""
    runs = [write_run(tmp_path / name, flows=50, tables=False) for name in ("old", "new")]
    told = json.loads((runs[1] / "summary.json").read_text())
    told["counters"]["wasted_permits"] = 26
    (runs[1] / "summary.json").write_text(json.dumps(told))
    table = figures_table([Results.load(run) for run in runs])
    assert re.search(r"Of them wasted +– +26", table)


def test_a_link_that_is_busy_one_way_is_told(tmp_path: Path) -> None:
    """The bottleneck of a dumbbell, full one way and idle the other, stood as half used."""
    run = write_run(tmp_path / "a", flows=50)
    results = Results.load(run)
    links = results.links
    tier = str(links["tier"][0])
    most = links["busy_ps"][links["tier"] == tier].max() / results.links_ps
    told = json.loads((run / "summary.json").read_text())
    for carried, uneven in ((most / 2, True), (most, False)):
        load = [{"tier": tier, "capacity_bps": 10**11, "offered": 0.5, "carried": carried}]
        (run / "summary.json").write_text(json.dumps(told | {"load": load}))
        text = figures_table([Results.load(run)])
        assert (f"most used: {percent(most)}" in text) == ("one direction of a link" in text) == uneven


def test_loads_between_equals_are_told_for_each_direction(tmp_path: Path) -> None:
    """Folders of earlier versions have the direction in the name of the tier."""
    run = write_run(tmp_path / "a", flows=50)
    told = json.loads((run / "summary.json").read_text())
    both = [("to lower ids", 0.2), ("to higher ids", 0.9)]
    now = [{"tier": "tor->tor", "direction": way, "offered": 0.0, "carried": share} for way, share in both]
    earlier = [{"tier": f"tor->tor ({way})", "offered": 0.0, "carried": share} for way, share in both]
    texts = []
    for load in (now, earlier):
        (run / "summary.json").write_text(json.dumps(told | {"load": load}))
        results = Results.load(run)
        assert results.summary["load"] == now
        texts.append(figures_table([results]))
    assert re.search(r"tor → tor \(to higher ids\) +– / 90.0 %\n.*tor → tor \(to lower ids\) +– / 20.0 %", texts[0])
    assert texts[0] == texts[1]
    (run / "summary.json").write_text(json.dumps(told | {"load": [now[0] | {"direction": 1}]}))
    with pytest.raises(ResultsError, match=r"load\[0\].direction is 1"):
        Results.load(run)


def test_means_of_counts_have_as_many_decimals_in_a_column() -> None:
    """12.333 stood beside 4; what is less than a decimal shows is no 0."""
    rows = {
        "a": (12.333, 1.25, 7, 0.5),
        "b": (4.0, 0.125, 0, 0.25),
        "c": (0.0, 33.3, 1200, 1),
        "d": (math.nan, 5.125, 9, 0),
    }
    shown = [[cell.text for cell in row] for row in number_rows(rows, shares=[3])]
    assert [row[1] for row in shown] == ["12.3", "4.0", "0", "–"]
    assert [row[2] for row in shown] == ["1.25", "0.125", "33.3", "5.12"], "no counts: three digits each"
    assert [row[3:] for row in shown] == [["7", "50.0 %"], ["0", "25.0 %"], ["1,200", "100.0 %"], ["9", "0"]]
    assert format_alike([0.333, 0, 2000, 12]) == ["< 1", "0", "2,000", "12"]
    assert number_rows({}) == []


def test_brackets_beside_percentiles_are_explained_where_there_are_any(tmp_path: Path) -> None:
    """The table by group had "[13.54, 13.56]", of which nothing was said; a table without any promised them."""
    said = "in brackets: 95 % confidence intervals"
    folder = write_run(tmp_path / "whole", flows=200, groups=["a", "b"])
    records = np.array(Results.load(folder)._records)
    records["group"][::2] = 1
    write_flows(folder / "flows.bin", records)
    whole = Results.load(folder)
    assert said in " ".join(slowdown_table([whole]).split())
    (by_group,) = group_tables([whole], "line_rate", "sender")
    assert (said in by_group.caption) == ("[" in by_group.plain()) is True
    few = Results.load(write_run(tmp_path / "few", flows=2))
    assert said not in " ".join(slowdown_table([few]).split())


def test_bins_are_called_what_they_are(tmp_path: Path) -> None:
    """Three sizes gave three points under "bins of 10 % of the flows"."""
    for count, fine, said in (
        (10, False, "bins of 10 % of the flows"),
        (100, True, "bins of 1 % of the flows"),
        (3, False, "a bin for each of the 3 sizes"),
    ):
        sizes = np.arange(1, count + 1)
        bins = analysis.bins_from_sizes(sizes, analysis.HUNDREDTHS if fine else analysis.DECILES)
        assert flows_section._bins(bins, sizes, fine=fine) == said
