"""The figures of a report: axes, ticks, markers, files."""

from __future__ import annotations

import contextlib
import io
import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from helpers.pages import Page
from helpers.synthetic import write_run
from paceline import analysis, plot
from paceline.formats import format_bytes, format_size
from paceline.plot.style import plain_log, style
from paceline.report import write_report
from paceline.results import Results


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


def test_more_than_two_queues_have_a_panel_each() -> None:
    """Four queues that fill and empty lay over one another, and none could be told apart."""
    time = np.arange(100) * 10**9
    series = {f"port {k}": (time, (time // 10**9) % (k + 2) * 1000) for k in range(4)}
    for count, panels in ((1, 1), (2, 1), (3, 3), (4, 4)):
        figure = plot.queue_timeline(dict(list(series.items())[:count]))
        assert len(figure.axes) == panels
        if panels > 1:
            assert [ax.get_title(loc="left") for ax in figure.axes] == list(series)[:count]
            assert len({(*ax.get_xlim(), *ax.get_ylim()) for ax in figure.axes}) == 1, "they are to be compared"


def test_a_time_axis_ends_with_the_last_pause() -> None:
    time = np.arange(100) * 10**9
    busy = {"a": (time, (time == 10**10).astype(int))}
    assert plot.timeline(busy, "Paused hosts", until_quiet=True).axes[0].get_xlim()[1] < 1.2e10
    assert plot.timeline(busy, "Paused hosts").axes[0].get_xlim()[1] == time[-1]


def test_a_long_quiet_end_does_not_change_what_is_shown() -> None:
    """The whole run was thinned and then cut: queues of the first 0.2 ms of 200 stood full to the edge of the axis."""
    time = np.arange(5000) * 40 * 10**6
    waiting = np.zeros(5000, dtype=int)
    waiting[2:5] = 56_592, 53_448, 29_344
    figure = plot.queue_timeline({"a": (time, waiting), "b": (time, (time == time[3]).astype(int))})
    line = figure.axes[0].lines[0]
    assert list(line.get_ydata()) == [0, 0, 56_592, 53_448, 29_344, 0, 0]
    assert list(line.get_xdata()) == list(time[:7])


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
    assert plot.queue_cdf({"a": mostly}).axes[0].get_ylabel() == "Share of time (axis from 0.97)"


def test_queues_hardly_ever_there_have_the_whole_axis() -> None:
    """They were lines one upon the other at the top of an axis from 0.99 on."""
    bins = [np.array(v) for v in ([0, 1, 1000], [1, 1000, 100_000])]
    axes = plot.queue_cdf({"a": analysis.QueueHistogram(*bins, np.array([999_800, 100, 100]))}).axes[0]
    assert axes.get_ylabel() == "Share of time (axis from 0.9997)"
    axes.figure.draw_without_rendering()
    ticks = [t.get_text() for t in axes.get_yticklabels() if t.get_text()]
    assert len(set(ticks)) == len(ticks) > 2
    assert not axes.yaxis.get_offset_text().get_text()
    never = plot.queue_cdf({"a": analysis.QueueHistogram(*bins, np.array([10**12, 1, 0]))}).axes[0]
    assert never.get_ylim()[0] == 0


def test_a_short_log_axis_of_times_or_slowdowns_says_that_it_is_one() -> None:
    """Its ticks, at 600, 700 and 800 us, looked like those of a linear axis; one to 7 beside others that said so."""
    size, flags = np.full(4, 1000), np.zeros(4, dtype=bool)
    near, wider, far = (
        analysis.Sample(size, np.array(v), flags, flags)
        for v in ([6e8, 7e8, 8e8, 9e8], [1e8, 2e8, 4e8, 7e8], [1e7, 1e8, 1e9, 1e10])
    )
    for draw, name in ((plot.fct_cdf, "Flow completion time"), (plot.slowdown_cdf, "Slowdown")):
        for short in (near, wider):
            assert draw({"a": short}).axes[0].get_xlabel() == f"{name} (log scale)"
        assert draw({"a": far}).axes[0].get_xlabel() == name


def test_ticks_of_sizes_read_as_the_rows_of_the_table() -> None:
    mine = curve([33, 33, 32, 33, 33, 33, 33, 32, 33, 33])
    axes = plot.slowdown_vs_size({"a": mine}).axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == [format_size(s) for s in mine.bins.upper_bytes]
    two = plot.slowdown_vs_size({"a": curve([120, 80])}).axes[0]
    assert [t.get_text() for t in two.get_xticklabels()] == ["1K", "2K"], "a bin of one size is named once"
    assert two.get_xticks()[0] == 60, "and where its point is"


@pytest.mark.parametrize("low", [0.97, 1.9, 3.3, 5.5, 7.0])
@pytest.mark.parametrize("wide", [2.5, 4.0, 6.0, 15.0, 400.0, 5000.0])
def test_a_log_axis_has_enough_numbers_to_be_read(low: float, wide: float) -> None:
    """A slowdown from 1 to 6 had 1, 2 and 4; one over four decades had three numbers."""
    with style():
        axis = Figure().add_subplot().yaxis
        axis.axes.set_yscale("log")
        axis.axes.set_ylim(low, wide * low)
        plain_log(axis, low, wide * low, "{:g}".format)
        ticks = [float(t) for t in axis.get_majorticklocs() if low <= t <= wide * low]
    assert 4 <= len(ticks) <= 9
    apart = np.diff(np.log10(ticks)) / np.log10(wide)
    assert apart.min() > 0.06


def test_an_axis_of_bytes_ends_where_the_queues_do() -> None:
    """It went on to the last tick of the decade, three times as far as anything waited."""
    waiting = analysis.QueueHistogram(*(np.array(v) for v in ([0, 1, 1000], [1, 1000, 300_000], [50, 30, 20])))
    assert plot.queue_cdf({"a": waiting}).axes[0].get_xlim()[1] < 400_000


def test_the_longest_flows_are_seen_where_they_are_few() -> None:
    """Three flows of a thousand that wait for a timeout lie on a CDF's upper edge, though a claim is about them."""
    times = np.concatenate([np.linspace(1e6, 1e8, 997), [1e10, 2e10, 3e10]])
    flags = np.zeros(1000, dtype=bool)
    axes = plot.fct_tail({"a": analysis.Sample(np.full(1000, 1000), times, flags, flags)}).axes[0]
    (line,) = axes.get_lines()
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert {float(share) for share in y[(x >= 1e8) & (x < 3e10)]} == {0.003, 0.002, 0.001}
    assert y[0] == 1
    assert y[-1] < axes.get_ylim()[0] < 0.001
    assert axes.get_xlim()[1] > 3e10
    stuck = np.arange(1000) >= 990
    (line,) = plot.fct_tail({"a": analysis.Sample(np.full(1000, 1000), times, stuck, flags)}).axes[0].get_lines()
    assert np.asarray(line.get_ydata())[-1] == pytest.approx(0.01)


def curve(counts: list[int], *, stuck: int = 0) -> analysis.Curve:
    sizes = np.repeat(1000 * np.arange(1, len(counts) + 1), counts)
    value = 1 + np.arange(len(sizes)) % 50 / 10
    censored = np.arange(len(sizes)) >= len(sizes) - stuck
    flows = analysis.Sample(sizes, value, censored, np.zeros(len(sizes), dtype=bool))
    edges = analysis.SizeBins(1000 * np.arange(1, len(counts) + 1), np.cumsum(counts) / sum(counts) * 100, 1000)
    return analysis.percentile_curves(flows, edges, [99])[0]


def markers(figure: Figure) -> dict[str, int]:
    named = [line for line in figure.axes[0].get_lines() if line.get_gid()]
    return {str(line.get_gid()): len(np.asarray(line.get_xdata())) for line in named}


def test_bins_of_fewer_than_a_hundred_flows_are_hollow() -> None:
    figure = plot.slowdown_vs_size({"a": replace(curve([100, 99, 400, 5]), q=50.0)})
    assert markers(figure) == {"curve-0": 4, "solid-0": 2, "hollow-0": 2}
    faces = {str(line.get_gid()): line.get_markerfacecolor() for line in figure.axes[0].get_lines()}
    assert faces["hollow-0"] == "#ffffff"
    assert faces["solid-0"] == plot.PALETTE[0]


def test_a_percentile_of_too_few_flows_is_told_to_be_their_largest_value() -> None:
    """The p95 and the p99 of 14 flows were one curve under two names, where the table withheld both."""
    tail = plot.slowdown_vs_size({"a": curve([100, 99, 400, 5])})
    assert markers(tail) == {"curve-0": 4, "solid-0": 2, "largest-0": 2}
    assert [text.get_text() for text in tail.legends[0].get_texts()] == ["a", "too few: the largest"]
    p95 = plot.slowdown_vs_size({"a": replace(curve([100, 99, 400, 5]), q=95.0)})
    assert markers(p95) == {"curve-0": 4, "solid-0": 2, "hollow-0": 1, "largest-0": 1}
    told = [text.get_text() for text in p95.legends[0].get_texts()]
    assert told == ["a", "under 100 flows", "too few: the largest"]


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
    few = replace(curve([50] * 3), q=50.0)
    draw = [plot.slowdown_vs_size({"a": few, "b": curve([150] * 3)}) for _ in range(2)]
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


def test_a_figure_that_was_saved_is_not_drawn_again_for_the_page(tmp_path: Path) -> None:
    """Drawing is most of a report's time; the page must not get the white ground that the file has."""
    figure = plot.timeline({"a": (np.arange(9), np.arange(9))}, "Flows")
    drawn = plot.save(figure, tmp_path, "f")
    assert drawn == (tmp_path / "f.svg").read_text()
    assert "fill: #ffffff" in drawn
    page = plot.inline_svg(figure, "f", "flows", drawn)
    assert page == plot.inline_svg(figure, "f", "flows")
    assert "ground-" not in page


def test_fonts_in_a_pdf_are_cut_down_to_their_glyphs(tmp_path: Path) -> None:
    """Subsetting the tables by which text is shaped took half of the time of a report."""
    plot.save(plot.timeline({"a": (np.arange(9), np.arange(9))}, "Flows"), tmp_path, "f")
    streams = re.findall(rb"stream\n(.*?)\nendstream", (tmp_path / "f.pdf").read_bytes(), re.DOTALL)
    fonts = [font for font in map(unpacked, streams) if font.startswith(b"\0\1\0\0")]
    assert fonts
    assert not any(table in font[:400] for font in fonts for table in (b"GPOS", b"GSUB"))


def unpacked(stream: bytes) -> bytes:
    with contextlib.suppress(zlib.error):
        return zlib.decompress(stream)
    return b""


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
        (axes,) = figure.axes
        assert axes.get_ylabel()
        assert not any(len(np.asarray(line.get_xdata())) for line in axes.get_lines())
        assert not any(len(path.vertices) for marks in axes.collections for path in marks.get_paths())
        assert not axes.patches


def test_thinning_a_time_line_keeps_its_peak() -> None:
    time = np.arange(100_000)
    value = np.zeros(100_000)
    value[54_321] = 7
    line = plot.queue_timeline({"p": (time, value)}).axes[0].get_lines()[0]
    assert len(np.asarray(line.get_xdata())) < 1100
    assert np.asarray(line.get_ydata()).max() == 7


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


def test_a_followed_flow_with_one_sample_has_no_empty_axes(tmp_path: Path) -> None:
    """Of a run of seconds samples are milliseconds apart: flows of microseconds had axes with nothing between them."""
    folder = write_run(tmp_path / "run", flows=50)
    rows = [f"{time},cwnd_bytes,{flow},3000" for flow, times in (("0", (10, 20)), ("1", (10,))) for time in times]
    with (folder / "series.csv").open("a") as file:
        file.write("\n".join(rows) + "\n")
    text = Page(write_report([folder], tmp_path / "report.html").read_text()).text
    assert "No curve of one flow followed, which had no two samples." in text
    drawn = (tmp_path / "figures/followed_flows.svg").read_text()
    assert ("flow 0:" in drawn, "flow 1:" in drawn) == (True, False)


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


def test_the_rate_between_two_samples_is_drawn_between_them(tmp_path: Path) -> None:
    """It was drawn from the second on, until the third."""
    from paceline.report.followed import flow_series

    folder = write_run(tmp_path / "run", flows=3)
    with (folder / "series.csv").open("a") as file:
        file.write("1000000,acked_bytes,0,0\n2000000,acked_bytes,0,12500\n3000000,acked_bytes,0,18750\n")
    (flow,) = flow_series(Results.load(folder)).values()
    assert flow.rate_bps[0].tolist() == [1_000_000, 2_000_000, 3_000_000]
    assert flow.rate_bps[1].tolist() == [1e11, 5e10, 5e10]


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


def test_ticks_of_a_log_axis_are_far_enough_apart_for_times() -> None:
    """On the axis of a CDF 800 µs and 1 ms ran together."""
    none = np.zeros(3, dtype=bool)
    times = analysis.Sample(np.full(3, 1000), np.array([4e8, 9e8, 3.6e9]), none, none)
    figure = plot.fct_cdf({"a": times})
    ticks = [t for t in figure.axes[0].get_xticks() if 4e8 <= t <= 3.6e9]
    assert np.diff(np.log10(ticks)).min() > 0.15


def test_shares_of_few_flows_are_powers_of_ten_on_an_axis() -> None:
    """The tail of 100,000 flows had ticks such as 1e-05."""
    count = 100_000
    none = np.zeros(count, dtype=bool)
    figure = plot.fct_tail({"a": analysis.Sample(np.full(count, 1000), np.linspace(1e6, 1e9, count), none, none)})
    figure.draw_without_rendering()
    ticks = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert "10⁻⁵" in ticks
    assert not [text for text in ticks if "e" in text or "-" in text]


def test_bands_of_many_curves_are_left_out(tmp_path: Path) -> None:
    """The bands of twelve lay over each other: one grey cloud, and no curve could be told in it."""
    for count, banded in ((plot.MOST_BANDS, True), (plot.MOST_BANDS + 1, False)):
        folders = [write_run(tmp_path / f"{count}-{i}", i, flows=600, name=f"r{i}") for i in range(count)]
        page = write_report(folders, tmp_path / f"{count}/report.html", paper_figures=False).read_text()
        assert ("Bands are 95\N{NO-BREAK SPACE}% confidence intervals" in page) == banded
        flows = Results.load(folders[0]).slowdown()
        curve = analysis.percentile_curves(flows, analysis.bins_from_sizes(flows.size_bytes, analysis.DECILES), [50])[0]
        (axes,) = plot.slowdown_vs_size({f"r{i}": curve for i in range(count)}).axes
        assert any(len(band.get_paths()) for band in axes.collections) == banded
