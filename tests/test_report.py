"""Figures, the page and the terminal tables."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from paceline import analysis, plot
from paceline.report import busiest_ports, figures_table, slowdown_table, write_report
from paceline.report.queues import waiting
from paceline.results import FLOW_RECORD, STATUS, Results
from paceline.tables import clean_label, format_bytes, format_size, format_time, run_labels
from synthetic import write_flows, write_run

HOSTILE = "<script>alert(1)</script> $x^ &amp; _\"'"


class Page(HTMLParser):
    """What a browser would see: tags, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of a run with hostile names and one that was killed before it wrote a table."""
    base = tmp_path_factory.mktemp("report")
    texts: dict[str, Any] = {"warnings": [HOSTILE], "without_effect": ["k_max <b>"], "groups": ["<i>"]}
    texts |= {"diagnosis": "</style><img src=x>", "schemes": ("</text><image href='http://x'/>",)}
    a = write_run(base / "a", flows=400, name=HOSTILE, **texts)
    b = write_run(base / "b", flows=300, name="_killed", status="running", tables=False)
    return write_report([a, b], base / "page" / "compare.html", paper_figures=False)


def test_names_stay_text(hostile: Path) -> None:
    page = Page(hostile.read_text())
    assert not {"script", "img", "image", "b" * 9, "i", "link", "iframe", "object", "base"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert HOSTILE in page.text
    assert "_killed" in page.text
    assert "</style><img src=x>" in page.text


def test_the_page_loads_nothing(hostile: Path) -> None:
    page = Page(hostile.read_text())
    loading = [
        a for a in page.attributes if a[1] in ("src", "srcset", "href", "xlink:href", "data", "action", "poster")
    ]
    assert loading
    assert all(value.startswith("#") for _, _, value in loading)
    urls = re.findall(r"url\(([^)]*)\)|@import", hostile.read_text())
    assert all(url.startswith("#") for url in urls)
    policy = next(v for _, n, v in page.attributes if n == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    # Not even a namespace: what is left of http is the hostile scheme name, as text.
    assert set(re.findall(r"https?:[^\s<]*", hostile.read_text())) <= {
        "http://x&#39;/&gt;",
        "http://x&#39;/&gt;;",
        "http://x'/&gt;",
    }


def test_ids_are_unique_and_references_lead_somewhere(hostile: Path) -> None:
    page = Page(hostile.read_text())
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    used = {v[1:] for _, n, v in page.attributes if n == "href"}
    used |= set(re.findall(r"url\(#([^)]*)\)", hostile.read_text()))
    assert used <= set(ids)


def test_what_a_reader_must_know_comes_first(hostile: Path) -> None:
    text = Page(hostile.read_text()).text
    first = [text.index(t) for t in ("going on, or was killed", "Warnings", "Slowdown is FCT")]
    assert max(first[:2]) < first[2] < text.index("Settings without effect")
    for part in (
        "paceline run a/scenario.toml --out a-again",
        "Scenario, SHA-256",
        "@software{paceline",
        'kind = "fat_tree"',
    ):
        assert part in text


def test_what_is_folded_is_printed(hostile: Path) -> None:
    """Chromium hides it by the pseudo-element, which a rule for its children does not reach."""
    (rules,) = re.findall("@media print (.*)", hostile.read_text())
    assert "details::details-content { content-visibility: visible; }" in rules


def test_every_figure_is_on_the_page(hostile: Path) -> None:
    drawn = {v for _, n, v in Page(hostile.read_text()).attributes if n == "aria-labelledby"}
    for name in ("slowdown_p50", "slowdown_p95", "slowdown_p99", "fct_cdf", "queue_cdf", "queue_timeline_1"):
        assert f"{name}-title" in drawn
    assert {"utilisation_by_tier-title", "pause_time-title"} <= drawn
    assert not (hostile.parent / "figures").exists()


def test_the_classes_of_a_port_are_added_and_not_averaged(tmp_path: Path) -> None:
    """Homa's queues looked three to eight times shorter than they were: classes counted as ports of their own."""
    folder = write_run(tmp_path / "r", flows=50)
    head = "node,port,peer,tier,class,rate_bps,bin_low_bytes,bin_high_bytes,time_ps,ports"
    place = "32,0,0,tor->host"
    rows = [  # class 7 holds 1000 bytes all the time, class 3 3000 bytes half the time, class 1 nothing
        f"{place},1,100,0,1,1000,1",
        f"{place},3,100,0,1,500,1",
        f"{place},3,100,3000,3001,500,1",
        f"{place},7,100,1000,1001,1000,1",
        "32,1,1,tor->host,3,100,0,1,1000,1",
    ]
    (folder / "queues.csv").write_text("\n".join([head, *rows]) + "\n")
    run = Results.load(folder)
    ((name, mask),) = busiest_ports(run, 4)
    assert name == "port 32:0 to host 0"
    port = waiting(run, mask)
    assert port.mean_bytes == 2500
    assert port.which == "class 3, one of 2"
    assert analysis.queue_percentile(port.busiest, 99)[1] == 3000
    tier = waiting(run, run.queues["tier"] == "tor->host")
    assert tier.mean_bytes == 1250, "half of the port's mean, as the other port of the tier is idle"
    assert tier.busiest.time_ps.sum() == 2000
    text = Page(write_report([folder], folder / "report.html").read_text()).text
    assert "class 3, one of 2" in text
    assert "the one class with the largest mean" in text


def test_what_a_killed_run_did_not_record_is_unknown_and_not_zero(tmp_path: Path) -> None:
    """The terminal said "Drops 0 / 0 / 0" of a run whose counters died with it, and gave exact percentiles."""
    folder = write_run(tmp_path / "k", flows=400, status="running", tables=False, unfinished=0, failed=0)
    run = Results.load(folder)
    shown = dict(re.findall(r"^(\S.*?)  +(\S.*)$", figures_table([run]), re.MULTILINE))
    for name in ("Flows unfinished", "Flows not started", "Events", "ECN marks", "Drops: buffer / wire / link down"):
        assert shown[name] == "–", name
    assert shown["Flows finished"] == "400"
    table = slowdown_table([run])
    assert table.count("≥") >= 3
    page = write_report([folder], folder / "report.html", paper_figures=False).read_text()
    tiles = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert (tiles["drops"], tiles["pause frames"], tiles["unfinished / failed"]) == ("–", "–", "– / 0")
    assert "≥" in tiles["p99 slowdown"]


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


def test_headings_name_baseline_side_and_group(tmp_path: Path) -> None:
    """A table copied from the terminal did not say what it was relative to."""
    folder = write_run(tmp_path / "r", flows=300, tables=False, groups=["bulk", "short"])
    records = np.array(Results.load(folder)._records)
    records["group"][::3] = 1
    write_flows(folder / "flows.bin", records)
    run = Results.load(folder)
    assert "timed at the receiver, against line rate" in slowdown_table([run], side="receiver")
    assert "against the HPCC simulator's formula" in slowdown_table([run], baseline="hpcc")
    short = run.of_group("short")
    assert len(short.slowdown()) == np.count_nonzero(run.measured[::3])
    assert "flows of group short only" in slowdown_table([short])
    assert len(run.slowdown()) == np.count_nonzero(run.measured)
    text = Page(write_report([folder], folder / "r.html", group="short", paper_figures=False).read_text()).text
    assert "Only flows of group short count" in text


def test_the_most_used_links_are_listed_and_failed_ones_named(tmp_path: Path) -> None:
    """A tier's mean hides the one link that is full, and nothing told of the links that had failed."""
    folder = write_run(tmp_path / "r", flows=50)
    scenario = (folder / "scenario.toml").read_text()
    failures = (
        '[[failures]]\nkind = "link"\nlink = ["tor0", "agg1"]\ndown = "1ms"\nup = "2ms"\n'
        '[[failures]]\nkind = "random"\ncount = 3\nend = "1ms"\n'
    )
    (folder / "scenario.toml").write_text(f"{scenario}{failures}")
    summary = json.loads((folder / "summary.json").read_text())
    drawn = {"node": 3, "port": 1, "peer": 17, "peer_port": 0, "down_ps": 500_000_000, "up_ps": None}
    (folder / "summary.json").write_text(json.dumps(summary | {"failures": [drawn] * 21}))
    run = Results.load(folder)
    k = int(np.argmax(run.links["busy_ps"]))
    text = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text()).text
    assert "Most used links" in text
    assert f"{run.links['node'][k]}:{run.links['port'][k]} to {run.links['peer'][k]}" in text
    assert f"{run.links['busy_ps'][k] / run.simulated_ps:.1%}" in text
    assert "tor0 – agg1 from 1ms until 2ms" in text
    assert "3 link failures at random" in text
    assert "3:1 – 17:0 from 500 µs;" in text
    assert "and 1 more" in text
    assert f"{run.name} (r)" in text


def test_runs_of_one_name_are_labelled_by_folder(tmp_path: Path) -> None:
    """Reports of several scenarios with the same name in them all looked alike."""
    runs = [Results.load(write_run(tmp_path / n, flows=20, name="incast", tables=False)) for n in ("hpcc", "homa")]
    assert run_labels(runs) == ["incast (hpcc)", "incast (homa)"]
    text = Page(write_report([runs[0].path], tmp_path / "one.html", paper_figures=False).read_text()).text
    assert "incast (hpcc)" in text
    other = Results.load(write_run(tmp_path / "x", flows=20, name="tree", tables=False))
    assert run_labels([*runs, other]) == ["incast (hpcc)", "incast (homa)", "tree"]
    figure = plot.queue_timeline({"port 3:1": (np.array([0, 1000]), np.array([0, 10]))})
    assert "port 3:1" in figure.axes[0].get_ylabel()


def test_figures_are_written_for_papers(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", flows=200, tables=False)
    write_report([folder], folder / "report.html")
    names = {p.name for p in (folder / "figures").iterdir()}
    for name in ("slowdown_p50", "slowdown_p95", "slowdown_p99", "fct_cdf"):
        assert {f"{name}.png", f"{name}.pdf"} <= names
    led = {v for _, n, v in Page((folder / "report.html").read_text()).attributes if n == "href" and v[0] != "#"}
    assert led == {f"figures/{name}" for name in names}, "the page leads to its figures, and nowhere else"
    # Type 3 fonts are what publishers send back.
    assert b"/Subtype /Type3" not in (folder / "figures" / "fct_cdf.pdf").read_bytes()


def test_a_run_without_measured_flows_still_reports(tmp_path: Path) -> None:
    window = {"warmup_ps": 10**18, "end_ps": None}
    folder = write_run(tmp_path / "r", flows=20, tables=False, measure=window)
    text = Page(write_report([folder], folder / "report.html").read_text()).text
    assert "No flow was measured" in text
    with pytest.raises(ValueError, match="at least one"):
        write_report([], tmp_path / "x.html")


def test_figures_without_a_point_are_left_out(tmp_path: Path) -> None:
    """Nobody learns anything from empty axes: a run in which nothing finished, and one whose flows have one size."""
    stuck = write_run(tmp_path / "stuck", flows=8, tables=False)
    records = np.fromfile(stuck / "flows.bin", dtype=FLOW_RECORD, offset=64)
    took = records["fct_sender_ps"].copy()
    records["status"], records["size_bytes"], records["fct_sender_ps"] = STATUS.index("running"), 500_000, 0
    write_flows(stuck / "flows.bin", records)
    page = Page(write_report([stuck], stuck / "report.html", paper_figures=False).read_text())
    drawn = {v for _, n, v in page.attributes if n == "aria-labelledby"}
    assert not [name for name in drawn if name.startswith(("slowdown_", "fct_"))]
    assert "No measured flow finished" in page.text
    assert "all, 500 KB" in page.text
    records["status"], records["fct_sender_ps"] = STATUS.index("finished"), took + 1
    write_flows(stuck / "flows.bin", records)
    write_report([stuck], stuck / "report.html")
    drawn = {p.stem for p in (stuck / "figures").iterdir()}
    assert {name for name in drawn if name.startswith(("slowdown_", "fct_"))} == {"slowdown_cdf", "fct_cdf"}


def test_a_program_is_reported_where_there_are_no_flows(tmp_path: Path) -> None:
    program = {"group": "solver", "scheme": "hpcc", "ranks": 16, "messages": 1005, "message_bytes": 31_458_000}
    program |= {"runtime_ps": 16_229_155_052, "ideal_ps": 14_819_206_400, "slowdown": 1.0951}
    folder = write_run(tmp_path / "r", flows=0, unfinished=0, failed=0, tables=False, mpi=[program])
    text = Page(write_report([folder], folder / "report.html").read_text()).text
    assert "No flow was measured" not in text
    for part in ("slowdown of solver", "1.095", "16.23 ms", "14.82 ms", "31 MB"):
        assert part in text


def test_the_commands_to_run_again_name_a_commit_that_exists(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", flows=20, tables=False, git=f"{'0' * 40}-dirty")
    text = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text()).text
    assert re.search(f"git checkout {'0' * 40}  #", text)


def test_long_names_that_differ_at_their_ends_stay_apart() -> None:
    names = [f"the-run-whose-name-goes-on-and-on-for-ever: {scheme}" for scheme in ("hpcc", "dcqcn")]
    shown = [clean_label(name) for name in names]
    assert len(set(shown)) == 2
    assert max(map(len, shown)) <= 40


def test_whole_numbers_have_whole_ticks() -> None:
    time = np.arange(50)
    for top in (1, 3, 7, 40):
        axes = plot.timeline({"a": (time, time % (top + 1))}, "Paused hosts", whole=True).axes[0]
        ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= axes.get_ylim()[1]]
        assert len(ticks) > 1
        assert all(float(tick).is_integer() for tick in ticks)


def test_curves_over_time_differ_without_colours() -> None:
    time = np.arange(600) * 10**6
    series = {name: (time, time // 10**7 % (k + 2)) for k, name in enumerate("abc")} | {"nothing": (time, 0 * time)}
    figure = plot.timeline(series, "Paused hosts")
    marked = [line for line in figure.axes[0].get_lines() if str(line.get_gid()).startswith("marks")]
    assert len({line.get_marker() for line in marked}) == len(marked) == 4  # one that stays at 0 is marked there
    for line, (_, value) in zip(marked, series.values(), strict=False):
        assert set(np.asarray(line.get_ydata()).tolist()) == {int(value.max())}
    assert len({handle.get_marker() for handle in figure.legends[0].legend_handles}) == 4
    plot.timeline({"empty": (time[:0], time[:0]), "a": series["a"]}, "Paused hosts").savefig(io.BytesIO())
    (alone,) = plot.timeline({"a": series["a"]}, "Paused hosts").axes[0].get_lines()
    assert alone.get_marker() == "None"


def test_the_name_of_a_single_port_fits_beside_its_axis() -> None:
    """Its end was cut off: it was longer than the figure is high."""
    time = np.arange(100) * 10**9
    figure = plot.queue_timeline({"port 10240:63 to switch 10000": (time, time // 10**6)})
    figure.draw_without_rendering()
    name = figure.axes[0].yaxis.label
    assert "port 10240:63 to switch 10000" in name.get_text()
    inside, whole = name.get_window_extent(), figure.bbox
    assert whole.x0 <= inside.x0
    assert whole.y0 <= inside.y0 < inside.y1 <= whole.y1


def test_a_time_axis_ends_with_the_last_pause() -> None:
    time = np.arange(100) * 10**9
    busy = {"a": (time, (time == 10**10).astype(int))}
    assert plot.timeline(busy, "Paused hosts", until_quiet=True).axes[0].get_xlim()[1] < 1.2e10
    assert plot.timeline(busy, "Paused hosts").axes[0].get_xlim()[1] == time[-1]


def test_log_axes_look_like_ones_and_name_the_empty_queue() -> None:
    slow = plot.slowdown_vs_size({"a": curve([120] * 3)}).axes[0]
    assert {2.0, 3.0, 4.0, 5.0, 6.0} <= set(slow.yaxis.get_minorticklocs()) | set(slow.yaxis.get_majorticklocs())
    waiting = analysis.QueueHistogram(*(np.array(v) for v in ([0, 1, 1000], [1, 1000, 100_000], [50, 30, 20])))
    queue = plot.queue_cdf({"a": waiting}).axes[0]
    assert [text.get_text() for text in queue.get_xticklabels()] == ["empty", "100", "1K", "10K", "100K"]
    empty = queue.get_xticks()[0]
    assert empty < 100 / 1.5, "no byte is not a few: the empty queue stands apart"
    (curve_of_a,) = (line for line in queue.get_lines() if line.get_label() == "a")
    assert list(np.asarray(curve_of_a.get_xdata())) == [empty, 999, 99_999]
    assert list(np.asarray(curve_of_a.get_ydata())) == [0.5, 0.8, 1.0], "one value at empty, the share of that time"
    mostly = analysis.QueueHistogram(waiting.low_bytes, waiting.high_bytes, np.array([98, 1, 1]))
    assert plot.queue_cdf({"a": mostly}).axes[0].get_ylabel() == "Share of time, from 0.97 on"


def test_queues_hardly_ever_there_have_the_whole_axis() -> None:
    """They were lines one upon the other at the top of an axis from 0.99 on."""
    bins = [np.array(v) for v in ([0, 1, 1000], [1, 1000, 100_000])]
    axes = plot.queue_cdf({"a": analysis.QueueHistogram(*bins, np.array([999_800, 100, 100]))}).axes[0]
    assert axes.get_ylabel() == "Share of time, from 0.9997 on"
    axes.figure.draw_without_rendering()
    ticks = [t.get_text() for t in axes.get_yticklabels() if t.get_text()]
    assert len(set(ticks)) == len(ticks) > 2
    assert not axes.yaxis.get_offset_text().get_text()
    never = plot.queue_cdf({"a": analysis.QueueHistogram(*bins, np.array([10**12, 1, 0]))}).axes[0]
    assert never.get_ylim()[0] == 0


def test_a_short_log_axis_of_times_or_slowdowns_says_that_it_is_one() -> None:
    """Its ticks, at 600, 700 and 800 us, looked like those of a linear axis."""
    size, flags = np.full(4, 1000), np.zeros(4, dtype=bool)
    near, far = (
        analysis.Sample(size, np.array(v), flags, flags) for v in ([6e8, 7e8, 8e8, 9e8], [1e7, 1e8, 1e9, 1e10])
    )
    for draw, name in ((plot.fct_cdf, "Flow completion time"), (plot.slowdown_cdf, "Slowdown")):
        assert draw({"a": near}).axes[0].get_xlabel() == f"{name} (log scale)"
        assert draw({"a": far}).axes[0].get_xlabel() == name


def test_ticks_of_sizes_read_as_the_rows_of_the_table() -> None:
    mine = curve([33, 33, 32, 33, 33, 33, 33, 32, 33, 33])
    axes = plot.slowdown_vs_size({"a": mine}).axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()][1:] == [format_size(s) for s in mine.bins.upper_bytes]
    two = plot.slowdown_vs_size({"a": curve([120, 80])}).axes[0]
    assert [t.get_text() for t in two.get_xticklabels()] == ["1K", "1K", "2K"]


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
    assert "ratio to the first" in slowdown_table(runs)
    assert re.search(r"Flows unfinished +12 +12", figures_table(runs))


def test_a_percentile_of_too_few_flows_is_a_dash(tmp_path: Path) -> None:
    """The p99 of 30 flows is their largest: a number there would be read as one that stands on hundreds."""
    few = Results.load(write_run(tmp_path / "few", flows=60, unfinished=0, failed=0, tables=False))
    last = slowdown_table([few]).splitlines()[-1]
    assert last.split()[-1] == "–"
    assert last.split()[2] != "–"
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
        assert re.search(rf"{caption}[^;]*; a dash where the flows are fewer", text)
    assert "share of capacity; a dash: nothing is offered at a rate" in text
    assert re.search(r"Fullest buffer sampled\s+not sampled", figures_table([Results.load(folder)]))
    none = write_run(tmp_path / "none", flows=0, name="none", tables=False)
    first, second = (
        slowdown_table([Results.load(none), Results.load(folder)]).split("ratio to the first")[1].split("–")[1:3]
    )
    assert first.split("  ")[0] == " too few flows"
    assert second.split("\n")[0] == " no size both have"


def test_a_comparison_without_dashes_explains_none(tmp_path: Path) -> None:
    """The page of the demo told of dashes that were in no table."""
    for flows, explained in ((60, True), (4000, False)):
        runs = [write_run(tmp_path / f"{name}{flows}", flows=flows, name=name) for name in "ab"]
        text = slowdown_table([Results.load(run) for run in runs])
        assert ("a dash with fewer than 100 flows" in text) == explained


def curve(counts: list[int], *, stuck: int = 0) -> analysis.Curve:
    sizes = np.repeat(1000 * np.arange(1, len(counts) + 1), counts)
    value = 1 + np.arange(len(sizes)) % 50 / 10
    censored = np.arange(len(sizes)) >= len(sizes) - stuck
    flows = analysis.Sample(sizes, value, censored, np.zeros(len(sizes), dtype=bool))
    edges = analysis.bins_from_edges([1000 * k for k in range(1, len(counts) + 1)], sizes)
    return analysis.percentile_curves(flows, edges, [99])[0]


def markers(figure: Figure) -> dict[str, int]:
    named = [line for line in figure.axes[0].get_lines() if line.get_gid()]
    return {str(line.get_gid()): len(np.asarray(line.get_xdata())) for line in named}


def test_bins_of_fewer_than_a_hundred_flows_are_hollow() -> None:
    figure = plot.slowdown_vs_size({"a": curve([100, 99, 400, 5])})
    assert markers(figure) == {"curve-0": 4, "solid-0": 2, "hollow-0": 2}
    faces = {str(line.get_gid()): line.get_markerfacecolor() for line in figure.axes[0].get_lines()}
    assert faces["hollow-0"] == "#ffffff"
    assert faces["solid-0"] == plot.PALETTE[0]


def test_open_percentiles_are_triangles() -> None:
    figure = plot.slowdown_vs_size({"a": curve([200, 200], stuck=10)})
    assert [line.get_marker() for line in figure.axes[0].get_lines() if line.get_marker() != "None"] == ["o", "^"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "unfinished: at least"]


def test_published_curves_lie_on_the_same_axis() -> None:
    mine = curve([300] * 10)
    figure = plot.slowdown_vs_size({"a": mine}, published={"a": ([1000, 5000, 10_000], [2, 3, 4]), "b": ([5000], [9])})
    drawn = [np.asarray(line.get_xdata()).tolist() for line in figure.axes[0].get_lines()]
    assert [10, 50, 100] in drawn
    assert [50] in drawn
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a", "b", "thin: published"]


def test_rows_of_panels_say_alike_that_their_axes_are_log() -> None:
    """One row said so and the next did not, as if its axes were linear."""
    short, long_ = (replace(curve([120] * 3), value=np.array([1.0, 2.0, most])) for most in (3.0, 300.0))
    rows = [[plot.Panel("a", {"x": short}), plot.Panel("b", {"x": long_})], [plot.Panel("c", {"x": long_})]]
    axes = plot.slowdown_panels(rows).axes
    assert [ax.get_ylabel() for ax in axes] == ["Slowdown (log scale)", "", "Slowdown (log scale)"]


@pytest.mark.parametrize("label", ["_hidden", "$unclosed", "a\nb\x07", "", "x" * 99, "测试"])
def test_any_label_can_be_drawn(label: str) -> None:
    figure = plot.slowdown_vs_size({label: curve([120] * 3), "other": curve([120] * 3)})
    svg = plot.inline_svg(figure, "f", label)
    shown = label if label in ("_hidden", "$unclosed", "测试") else {"": "(no name)"}.get(label, label[:1])
    assert shown in svg


def test_the_svg_follows_the_theme_and_repeats_byte_for_byte(tmp_path: Path) -> None:
    draw = [plot.slowdown_vs_size({"a": curve([50] * 3), "b": curve([150] * 3)}) for _ in range(2)]
    svg = [plot.inline_svg(f, "name", "what it shows") for f in draw]
    assert svg[0] == svg[1]
    assert '<title id="name-title">what it shows</title>' in svg[0]
    assert all(c in svg[0] for c in ("var(--c0)", "var(--c1)", "var(--grid)", "var(--surface)", "currentColor"))
    unmapped = re.sub(r'(id|href)="[^"]*"|url\([^)]*\)', "", svg[0])
    assert not re.search(r"#[0-9a-f]{6}\b", unmapped)
    for i, f in enumerate(draw):
        plot.save(f, tmp_path / str(i), "f")
    for kind in ("png", "pdf"):
        assert (tmp_path / "0" / f"f.{kind}").read_bytes() == (tmp_path / "1" / f"f.{kind}").read_bytes()


def test_empty_data_gives_empty_axes() -> None:
    nothing = analysis.Sample(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool), np.zeros(0, bool))
    for figure in (
        plot.slowdown_vs_size({}),
        plot.fct_cdf({"a": nothing}),
        plot.queue_cdf({}),
        plot.queue_timeline({}),
        plot.utilisation_by_tier({"a": []}),
        plot.pause_time({}),
    ):
        plot.inline_svg(figure, "f", "")


def test_thinning_a_time_line_keeps_its_peak() -> None:
    time = np.arange(100_000)
    value = np.zeros(100_000)
    value[54_321] = 7
    line = plot.queue_timeline({"p": (time, value)}).axes[0].get_lines()[0]
    assert len(np.asarray(line.get_xdata())) < 1100
    assert np.asarray(line.get_ydata()).max() == 7


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


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which ten flows were followed, one of them without a window, over more samples than are drawn."""
    folder = write_run(tmp_path_factory.mktemp("followed") / "run", flows=300)
    rows = []
    for flow in range(10):
        for i in range(3_000):
            rate = 10**9 if (flow, i) == (0, 1_777) else 10**11 // (1 + flow)
            rows.append(f"{1_000_000 * (i + 100 * flow)},rate_bps,{flow},{rate}")
            if flow != 3:
                rows.append(f"{1_000_000 * (i + 100 * flow)},cwnd_bytes,{flow},{50_000 + i}")
    with (folder / "series.csv").open("a") as file:
        file.write("\n".join(rows) + "\n")
    return folder


def test_followed_flows_are_drawn(followed: Path, tmp_path: Path) -> None:
    page = Page(write_report([followed], tmp_path / "report.html").read_text())
    assert "Permitted rate (left) and window (right, dashed) over time, the first 8 of 10." in page.text
    sizes = Results.load(followed).flows["size_bytes"]
    assert f"flow 7: {Results.load(followed).flows['src'][7]} → " in page.text
    assert f"{format_bytes(float(sizes[0]))}, hpcc" in page.text
    assert "100 Gb/s" in page.text
    for kind in ("png", "pdf"):
        assert (tmp_path / "figures" / f"followed_flows.{kind}").stat().st_size > 1000
    without = write_report([write_run(tmp_path / "plain", flows=50)], tmp_path / "plain.html", paper_figures=False)
    assert "Followed flows" not in Page(without.read_text()).text


def test_a_panel_has_few_points_and_every_dip(followed: Path) -> None:
    from paceline.report.followed import flow_series

    flows = flow_series(Results.load(followed))
    assert len(flows) == 10
    figure = plot.flow_timelines(flows)
    # A panel per flow, and a second axis where there is a window.
    assert len(figure.axes) == 10 + 9
    drawn = [line for ax in figure.axes for line in ax.lines]
    assert len(drawn) == 19
    assert all(len(line.get_xdata()) <= 1_002 for line in drawn)
    assert min(np.asarray(figure.axes[0].lines[0].get_ydata())) == 1e9, "the one slow sample of 3,000"
    assert {tuple(ax.get_xlim()) for ax in figure.axes} == {(0.0, 1e6 * 3_899)}
