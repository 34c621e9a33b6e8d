"""Which colour, line and mark a curve has: the same for a scheme in every figure, for a run or port all over a page."""

from __future__ import annotations

import itertools
import json
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.markers import CARETUP

import paceline
from helpers.synthetic import write_run
from paceline import plot
from paceline.analysis import Curve, QueueHistogram, Sample, SizeBins
from paceline.plot import multiples, overlap
from paceline.plot.style import QUIET
from paceline.report.links import links
from paceline.report.page import Page
from paceline.report.queues import queues
from paceline.results import Results
from paceline.sweeps import sizing

FIGURES = (
    ("HPCC", "DCTCP", "NDP", "NDP + Aeolus", "Homa", "Homa + Aeolus", "ExpressPass", "ExpressPass + Aeolus"),
    ("ExpressPass", "ExpressPass + Aeolus", "Homa", "Homa + Aeolus", "NDP", "NDP + Aeolus"),
    ("HPCC, TCP", "NewReno, TCP", "HPCC, RDMA", "DCQCN, RDMA"),
    ("HPCC-INT", "DCQCN+w", "TIMELY+w", "DCTCP"),
    ("NewReno", "CUBIC", "NewReno, QCN 20"),
)


def test_a_scheme_has_one_colour_in_all_figures() -> None:
    """A reader who has learnt that NDP is green must not meet it in pink."""
    seen: dict[str, set[str]] = {}
    for names in FIGURES:
        for name, look in plot.of_schemes(names).items():
            seen.setdefault(name, set()).add(look.color)
    assert {name: len(colours) for name, colours in seen.items() if len(colours) > 1} == {}
    assert seen["HPCC"] == seen["HPCC, RDMA"] == seen["HPCC-INT"]
    assert seen["NDP"] == seen["NDP + Aeolus"]
    plain = [seen[name] for name in ("HPCC", "DCTCP", "NDP", "Homa", "ExpressPass", "DCQCN+w", "TIMELY+w", "NewReno")]
    assert len({colour for (colour,) in plain}) == len(plain)


@pytest.mark.parametrize("names", FIGURES)
def test_curves_differ_without_colours(names: tuple[str, ...]) -> None:
    looks = plot.of_schemes(names)
    assert len({(look.marker, look.variant) for look in looks.values()}) == len(names)
    if len(names) <= len(plot.LINE_STYLES):
        assert len({str(look.line) for look in looks.values()}) == len(names)


def test_curves_that_are_no_schemes_go_by_place() -> None:
    assert plot.of_schemes(["a", "b"]) == plot.by_place(["a", "b"])
    beside = plot.of_schemes(["HPCC", "fixed window"])
    assert beside["HPCC"].color != beside["fixed window"].color


def test_names_of_a_figure_differ_and_keep_their_look_in_others() -> None:
    """By their places among all names of a page, the first and the eighth would look alike."""
    figures = [list("abcd"), list("efgh"), list("ahij"), list("bcgj")]
    places = plot.told_apart(figures)
    for figure in figures:
        looks = {(look.color, look.marker) for look in (plot.look(places[name]) for name in figure)}
        assert len(looks) == len(figure)


def test_no_two_curves_of_a_sweep_look_alike() -> None:
    """The eighth curve had colour and mark of the first, and with marks all lines are solid."""
    for names in ([f"load {i}" for i in range(10)], ["HPCC", *(f"load {i}" for i in range(9))]):
        looks = plot.of_schemes(names)
        assert len({(str(look.marked["color"]), look.marked["marker"]) for look in looks.values()}) == len(names)
        assert len({look.color for look in looks.values()}) == len(names)


def test_marks_of_many_buffer_curves_stay_small_and_none_is_that_of_unfinished_runs() -> None:
    """With eight curves the first had marks a fifth of the figure high, and the fourth the triangles of open p99s."""
    found = {
        f"load {i}": plot.Sized([10_000, 20_000], [3.0, 2.0], [0.0] * 2, [0.0] * 2, [True] * 2, None)
        for i in "12345678"
    }
    figure = plot.sizing(found | {"load 9": replace(found["load 8"], unknown=[True, False])})
    drawn = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "None"]
    assert max(line.get_markersize() for line in drawn) < 10
    assert sum(line.get_marker() == "^" for line in drawn) == 1


def _chart(title: str, value: float) -> multiples.Chart:
    return multiples.Chart(title, {"HPCC-PINT": ([1, 2], [value, value])}, "Load", "Slowdown")


def test_an_empty_chart_has_no_name_below_and_the_one_above_keeps_its_own() -> None:
    """C1 named an axis that is not there, out of line with the others of its row."""
    full, empty = _chart("full", 2.0), _chart("empty", float("nan"))
    figure = multiples.charts([[full, full, empty], [full, empty, empty]])
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "Load", "", "Load", "", ""]
    assert [chart.is_empty for chart in (full, empty)] == [False, True]


def test_charts_take_the_looks_of_the_figures_beside_them() -> None:
    """HPCC-PINT was solid and HPCC-INT dashed in one figure of H1, and the other way round in the next."""
    from paceline.experiments.hpcc_page.figures import LOOKS

    figure = multiples.charts([[_chart("one", 2.0)]], looks=LOOKS)
    assert figure.axes[0].lines[0].get_linestyle() == LOOKS["HPCC-PINT"].line == "-"


def _never_paused(folder: Path) -> Path:
    """A run that recorded pauses and had none."""
    run = write_run(folder, flows=200, name="calm")
    head = (run / "pauses.csv").read_text().splitlines()[0]
    (run / "pauses.csv").write_text(head + "\n")
    told = json.loads((run / "summary.json").read_text())
    told["counters"]["pause_frames"] = told["counters"]["resume_frames"] = 0
    (run / "summary.json").write_text(json.dumps(told))
    return run


def test_a_run_keeps_its_colour_where_only_another_one_paused(tmp_path: Path) -> None:
    """With the calm run left out the other would have its colour, and no legend would say whose pauses these are."""
    runs = [
        Results.load(_never_paused(tmp_path / "a")),
        Results.load(write_run(tmp_path / "b", 2, flows=200, name="b")),
    ]
    page = Page(runs, "line_rate", "sender")
    (drawn,) = [figure for figure in links(page).figures if figure.name == "pause_time"]
    assert "Never paused: calm." in drawn.caption
    assert "calm" in drawn.svg
    assert "var(--c1)" in drawn.svg, "the second run's colour"
    paused = plot.pause_time({"calm": [], "b": []})
    assert [text.get_text() for text in paused.legends[0].get_texts()] == ["calm", "b"]


def test_a_port_has_one_colour_on_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its whole name: host 1 is not host 12."""
    given: dict[str, plot.Look] = {}
    seen: list[tuple[str, plot.Look]] = []
    for name in ("queue_cdf", "queue_timeline"):
        drawn = getattr(plot, name)

        def spy(curves: object, *, looks: dict[str, plot.Look], _drawn: object = drawn, **rest: object) -> object:
            seen.extend(looks.items())
            return _drawn(curves, looks=looks, **rest)  # type: ignore[operator]

        monkeypatch.setattr(plot, name, spy)
    page = Page([Results.load(write_run(tmp_path / "a", flows=50))], "line_rate", "sender")
    assert queues(page).figures
    for name, look in seen:
        assert given.setdefault(name, look) == look
    ports = [name for name in given if name.startswith("port")]
    assert len({(given[name].color, given[name].marker) for name in ports}) == len(ports) > 4


def test_runs_with_a_queue_each_are_told_apart_by_colour(tmp_path: Path) -> None:
    """All were blue, as the one port of each was the first of its run."""
    runs = [write_run(tmp_path / name, flows=50, name=name) for name in "ab"]
    for run in runs:
        head, *rows = (run / "series.csv").read_text().splitlines()
        one = [row for row in rows if row.split(",")[2] == rows[0].split(",")[2]]
        (run / "series.csv").write_text("\n".join([head, *one]) + "\n")
    section = queues(Page([Results.load(run) for run in runs], "line_rate", "sender"))
    drawn = [figure for figure in section.figures if figure.name.startswith("queue_timeline")]
    assert len(drawn) == 2
    for i, figure in enumerate(drawn):
        assert f"var(--c{i})" in figure.svg
        assert f"var(--c{1 - i})" not in figure.svg
        assert "A run has the same colour" in figure.caption


def test_rows_of_charts_say_the_same_name_alike() -> None:
    """One row said that its axes are logarithmic, the next, whose ticks show it on all of them, did not."""
    near, far = ({"HPCC": ([1, 2], values)} for values in ([2, 3], [1, 1000]))
    rows = [[multiples.Chart("", series, "x", "y") for series in row] for row in ((far, near), (far, far))]
    names = [ax.get_ylabel() for ax in multiples.charts(rows).axes]
    assert names == ["y (log scale)", "", "y (log scale)", ""]


def test_axes_that_begin_at_different_values_share_no_number() -> None:
    """H1 wrote the beginning of its first axis beside all others, which begin lower."""

    def name(*least: float) -> str:
        lines = [multiples.Chart("", {"HPCC": ([1, 2], [low, 10.0])}, "x", "y", scale="linear") for low in least]
        return multiples.charts([lines]).axes[0].get_ylabel()

    assert name(8.0) == name(8.0, 8.0) == "y\n(axis from 7.5)"
    assert name(8.0, 9.0) == "y\n(axes truncated)"
    assert name(8.0, 1.0) == "y\n(some axes truncated)"
    assert name(1.0, 2.0) == "y"


def test_all_switch_ports_look_like_none_of_the_busiest() -> None:
    """The curve had the colour of the second of four ports and the dashes of the fourth."""
    ports = [plot.look(i) for i in range(4)]
    whole = plot.unlike(ports, 4)
    assert whole.color not in {port.color for port in ports}
    assert whole.line not in {port.line for port in ports}
    many = list(ports)
    for _ in range(20):  # tiers of several runs
        many.append(plot.unlike(many, 4))
    assert len({(one.color, one.line) for one in many}) == len(many)


def test_published_points_are_hollow_grey_and_named() -> None:
    """What a result is judged by belongs into its figure."""
    waiting = QueueHistogram(*(np.array(v) for v in ([0, 1, 1000], [1, 1000, 100_000], [50, 30, 20])))
    queue = plot.queue_cdf({"HPCC, TCP": waiting}, published={"HPCC, TCP": [(29_000, 0.5)]})
    chart = multiples.Chart("", {"HPCC, TCP": ([1, 2], [3, 4])}, "x", "y", published={"HPCC, TCP": ([1], [5])})
    for figure in (queue, multiples.charts([[chart]])):
        (mark,) = (line for line in figure.axes[0].get_lines() if line.get_markeredgecolor() == QUIET)
        assert mark.get_markerfacecolor() in ("#ffffff", "none")
        assert "published: HPCC, TCP" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_published_points_lie_within_the_axes() -> None:
    """A queue longer than any measured stood beside the figure, a share below all measured ones under it."""
    mostly = QueueHistogram(*(np.array(v) for v in ([0, 1, 1000], [1, 1000, 100_000], [90, 5, 5])))
    axes = plot.queue_cdf({"HPCC": mostly}, published={"HPCC": [(500, 0.4), (700_000, 0.99)]}).axes[0]
    (marks,) = (line for line in axes.get_lines() if line.get_markeredgecolor() == QUIET)
    for values, (low, high) in ((marks.get_xdata(), axes.get_xlim()), (marks.get_ydata(), axes.get_ylim())):
        assert low < np.asarray(values).min() <= np.asarray(values).max() < high


def test_published_points_that_would_touch_hang_apart() -> None:
    """The published p99s of E36, 65 and 74 KB, lay over each other."""
    waiting = QueueHistogram(*(np.array(v) for v in ([0, 1, 1000], [1, 1000, 100_000], [50, 30, 20])))
    names = ("HPCC, TCP", "HPCC, RDMA")
    near = {name: [(size, 0.99)] for name, size in zip(names, (65_000, 74_000), strict=True)}
    for published, hangs in ((near, 1), ({names[0]: [(2_000, 0.5)], names[1]: [(74_000, 0.99)]}, 0)):
        axes = plot.queue_cdf(dict.fromkeys(names, waiting), published=published).axes[0]
        grey = [line for line in axes.get_lines() if line.get_color() == QUIET]
        stems = [line for line in grey if len(line.get_xdata()) == 2]
        assert len(stems) == hangs
        # A line leads from where it belongs to where it hangs; its place on the axis of sizes is kept.
        assert all(list(line.get_xdata()) == [74_000] * 2 and max(line.get_ydata()) == 0.99 for line in stems)
        assert all(min(line.get_ydata()) < 0.97 for line in stems)


def test_what_was_measured_is_filled_beside_what_was_published() -> None:
    """HPCC over TCP has hollow diamonds: measured and published differed by their size alone where prints are grey."""
    name = "HPCC, TCP"
    chart = multiples.Chart(
        "", {name: ([1, 2], [7, 35])}, "x", "y", points={name: ([4], [25])}, published={name: ([4], [4.3])}
    )
    axes = multiples.charts([[chart]]).axes[0]
    _, measured, published = axes.get_lines()
    assert measured.get_markerfacecolor() == measured.get_color()
    assert published.get_markerfacecolor() == "none"
    low, high = axes.get_ylim()
    assert np.log(4.3 / low) > 0.04 * np.log(high / low), "the mark does not lie on the axis"


def test_a_level_curve_over_buffers_has_room_above() -> None:
    """Its marks lay on the upper edge of the panel, half of them in the legend's room."""
    level = plot.Sized([1000, 2000], [16.0, 16.0], [0.0, 0.0], [0.0, 0.0], [True, True], 1000)
    assert plot.sizing({"a": level}).axes[0].get_ylim()[1] > 16.4
    # A timeout in the smallest buffer: all others were at the foot of an axis of "1e6".
    wide = plot.Sized([1000, 2000, 4000], [6.9e6, 2663.0, 12.5], [0.1] * 3, [0.0] * 3, [True] * 3, 1000)
    slowdowns = plot.sizing({"a": wide}).axes[0]
    assert slowdowns.get_yscale() == "log"
    assert {"1,000", "10⁶"} <= {text.get_text() for text in slowdowns.get_yticklabels()}


def test_no_panel_of_buffers_is_empty() -> None:
    """Where no p99 was known its panel had an axis from 0 to 0.05, and a limit was said to be broken."""
    nan = float("nan")
    (drops,) = plot.sizing({"a": plot.Sized([1000], [nan], [0.0], [0.0], [False], None)}).axes
    assert drops.get_ylabel().startswith("Dropped")
    assert drops.get_ylim()[0] == 0
    for p99, drop, told in (
        (nan, 0.5, "a limit is broken, or the p99 slowdown not known"),
        (2.0, 0.0, "a limit is broken"),
    ):
        sized = plot.Sized([1000, 2000], [p99, nan], [drop, 0.0], [0.0, 0.0], [False, True], None)
        figure = plot.sizing({"a": sized})
        (panel,) = figure.axes
        assert np.isfinite(panel.get_lines()[0].get_ydata()).any()
        assert told in [text.get_text() for text in figure.legends[0].get_texts()]


def test_an_axis_of_buffers_has_the_unit_that_they_have() -> None:
    """Buffers of 1 to 32 MiB stood at 1M, 2.1M, 4.2M."""
    for sizes, name, texts in (
        ([2**20, 2**25], "Buffer (MiB)", ["1", "32"]),
        ([2**14, 2**19], "Buffer (KiB)", ["16", "512"]),
        ([500_000, 2_000_000], "Buffer (MB)", ["0.5", "2.0"]),
    ):
        sized = plot.Sized(sizes, [16.0, 16.0], [0.0, 0.0], [0.0, 0.0], [True, True], sizes[0])
        axes = plot.sizing({"a": sized}).axes[0]
        assert axes.get_xlabel() == name
        assert [text.get_text() for text in axes.get_xticklabels()] == texts


def test_a_legend_of_buffers_names_what_differs() -> None:
    sized = plot.Sized([1], [1.0], [0.0], [0.0], [True], 1)
    assert list(sizing._told_apart({"tree-hpcc": sized, "tree-dcqcn": sized})) == ["hpcc", "dcqcn"]
    assert list(sizing._told_apart({"tree": sized, "tree-hpcc": sized})) == ["tree", "tree-hpcc"]
    assert list(sizing._told_apart({"alone-here": sized})) == ["alone-here"]
    assert list(sizing._told_apart({"t-a, alpha 1": sized, "t-b, alpha 1": sized})) == ["a, alpha 1", "b, alpha 1"]
    # `0.125, scheme hpcc` did not say of what.
    settings = ["alpha 0.125, scheme hpcc", "alpha 0.5, scheme hpcc"]
    assert list(sizing._told_apart(dict.fromkeys(settings, sized))) == settings


def test_bars_of_uncertainty_are_seen_whole_unless_they_would_flatten_the_curves() -> None:
    """Three seeds may bound a p99 by nothing to speak of: the axis stays that of the values."""
    near, far = ({"HPCC": {1.0: (3.0, low_high), 2.0: (4.0, 6.0)}} for low_high in (5.5, 4e4))
    for around, fits in ((near, True), (far, False)):
        chart = multiples.Chart("", {"HPCC": ([1, 2], [4, 5])}, "x", "y", intervals=around)
        axes = multiples.charts([[chart]]).axes[0]
        (bars,) = axes.collections
        ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
        assert ends == [list(pair) for pair in around["HPCC"].values()]
        low, high = axes.get_ylim()
        assert low < 3
        assert (high > max(max(pair) for pair in ends)) == fits
        arrows = [line.get_xydata().tolist() for line in axes.get_lines() if line.get_marker() == CARETUP]
        assert arrows == ([] if fits else [[[1.0, high]]]), "what is cut has a mark"
        assert high < 12


def test_shares_near_nothing_are_drawn_from_nothing() -> None:
    """A goodput axis that began at 0.06 made the least value look like none; far from 0 one would hide differences."""
    for values, near in (([0.1, 0.7], True), ([0.6, 0.7], False)):
        chart = multiples.Chart("", {"NDP": ([0.6, 0.9], values)}, "x", "y", scale="linear")
        low, high = multiples.charts([[chart]]).axes[0].get_ylim()
        assert (low == 0) == near
        assert low < values[0] < values[1] < high


@pytest.mark.parametrize(
    ("least", "most", "begins"), [(0.871, 0.967, 0.86), (1243.0, 1302.0, 1220.0), (-0.37, 0.21, -0.6)]
)
def test_a_cut_axis_begins_at_a_round_number(least: float, most: float, begins: float) -> None:
    """One began at 0.865, between ticks at 0.88 and 0.90, another at "1.24e+03"."""
    chart = multiples.Chart("", {"NDP": ([1, 2], [least, most])}, "x", "y", scale="linear")
    axes = multiples.charts([[chart]]).axes[0]
    low, _ = axes.get_ylim()
    assert low in axes.get_yticks()
    assert low == pytest.approx(begins)
    assert low < 0 or axes.get_ylabel() == f"y\n(axis from {begins:,g})"
    # H1's pairs of charts have their ends from elsewhere.
    given = multiples.charts([[replace(chart, between=(least, most))]]).axes[0]
    assert given.get_ylim()[0] in given.get_yticks()


def test_an_arrow_is_explained_where_there_is_one() -> None:
    from paceline.reproduce.claims import told

    for high, cut in ((5.5, False), (4e4, True)):
        chart = multiples.Chart("", {"HPCC": ([1, 2], [4, 5])}, "x", "y", intervals={"HPCC": {1.0: (3.0, high)}})
        figure = multiples.charts([[chart]])
        assert plot.has_arrows(figure) == cut
        assert ("arrow" in told({("x",): (3.0, high)}, figure)) == cut
    assert told({}, figure) == ""


def test_a_chart_of_nothing_but_zeros_says_so() -> None:
    """A9's panel of losses at the hosts' links looked empty."""
    zeros = multiples.Chart("", {"NDP": ([1, 2], [0, 0])}, "x", "Lost (%)", scale="linear")
    axes = multiples.charts([[zeros]]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["all values are 0"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0"]
    some = multiples.Chart("", {"NDP": ([1, 2], [0, 1])}, "x", "Lost (%)", scale="linear")
    assert not multiples.charts([[some]]).axes[0].texts


def test_what_curves_are_held_against_is_a_line() -> None:
    chart = multiples.Chart("", {"HPCC": ([1, 2], [0.9, 1.1])}, "x", "measured / published", scale="linear", level=1.0)
    axes = multiples.charts([[chart]]).axes[0]
    assert [1.0, 1.0] in [list(line.get_ydata()) for line in axes.get_lines() if line.get_color() == QUIET]


def test_queues_of_runs_side_by_side_have_axes_in_which_each_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside NewReno's 6 MB the 12 KB of ExpressPass were a line on the axis."""
    tops: list[object] = []
    drawn = plot.queue_timeline

    def spy(*series: object, top: object, **rest: object) -> object:
        tops.append(top)
        return drawn(*series, top=top, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(plot, "queue_timeline", spy)
    runs = [write_run(tmp_path / name, flows=50, name=name) for name in "ab"]
    for factor, alike in ((1, True), (100, False)):
        lines = (runs[0] / "series.csv").read_text().splitlines()
        scaled = [f"{line.rpartition(',')[0]},{int(line.rpartition(',')[2]) * factor}" for line in lines[1:]]
        (runs[1] / "series.csv").write_text("\n".join([lines[0], *scaled]) + "\n")
        tops.clear()
        section = queues(Page([Results.load(run) for run in runs], "line_rate", "sender"))
        captions = [figure.caption for figure in section.figures[1:]]
        assert len(tops) == len(captions) == 2
        assert (len(set(tops)) == 1 and tops[0] is not None) == alike
        assert all(("each its own of bytes" in caption) != alike for caption in captions)


def test_the_figures_of_the_docstring_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a notebook begins with."""
    monkeypatch.chdir(tmp_path)
    rows = [{"src": src, "dst": 3, "bytes": size} for src, size in enumerate(("10KB", "1MB", "2MB"))]
    a, b = (
        paceline.simulate(
            paceline.Scenario(
                topology=paceline.Star(hosts=4),
                schemes={"s": scheme},
                workloads=[paceline.Flows(rows=[paceline.FlowRow(**row) for row in rows])],
            ),
            progress="none",
        )
        for scheme in (paceline.Hpcc(), paceline.Dctcp())
    )
    example = (plot.__doc__ or "").split("::")[1]
    exec(textwrap.dedent(example), {"a": a, "b": b})
    assert all((tmp_path / f"{name}.pdf").stat().st_size > 1000 for name in ("fct", "slowdown", "queue"))
    for wrong in (a, [a], {"HPCC": a}, None):
        for draw in (plot.fct_cdf, plot.fct_tail, plot.slowdown_cdf, plot.slowdown_vs_size, plot.queue_cdf):
            with pytest.raises(TypeError, match="needs its curves by label, such as"):
                draw(wrong)  # type: ignore[arg-type, operator]


def test_curves_that_lie_on_one_another_are_all_seen() -> None:
    """At tiny scale NDP hid ExpressPass and Homa, and HPCC at 95 % its twin at 99 %: one line of mixed colours."""
    x = np.arange(1.0, 11.0)
    same, apart, gone = (x, x), (x, 3 * x), (x, np.full(10, np.nan))
    assert overlap.widths([same, same, same]) == sorted(overlap.widths([same] * 3), reverse=True)
    assert overlap.widths([same, apart]) == [1.0, 1.0]
    assert overlap.widths([same, gone, same])[1:] == [1.0, 1.0]
    assert overlap.widths([same, same], log=True)[0] > 1
    assert overlap.widths([]) == []
    # Steep curves side by side meet at both ends alone; of three points two are not most.
    steep = [(10 ** np.linspace(0, 6, 61), (np.linspace(0, 6, 61) > at).astype(float)) for at in (3, 4)]
    assert overlap.widths(steep, steps=True) == [1.0, 1.0]
    assert overlap.widths([steep[0], steep[0]], steps=True)[0] > 1
    leap, slow = (
        (np.array([1.0, 5.0]), np.array([0.1, 1.0])),
        (np.arange(1.0, 6.0), np.array([0.4, 0.6, 0.7, 0.8, 1.0])),
    )
    assert overlap.widths([leap, slow], steps=True) == [1.0, 1.0], "they meet where both end"
    assert overlap.widths([(x[:3], x[:3]), (x[:3], np.array([1.0, 2.0, 9.0]))]) == [1.0, 1.0]
    # A sweep over five numbers of senders had one curve up to the third, and then two.
    assert overlap.widths([(x[:5], x[:5]), (x[:5], np.array([1.0, 2.0, 3.0, 9.0, 9.0]))])[0] > 1
    for figure in (
        multiples.charts([[multiples.Chart("", {"NDP": same, "NDP + Aeolus": same}, "x", "y")]]),
        plot.fct_cdf({name: _times() for name in ("NDP", "NDP + Aeolus")}),
        plot.slowdown_panels([[plot.Panel("", {name: _curve(10) for name in ("NDP", "NDP + Aeolus")})]]),
    ):
        below, above = (
            line
            for line in figure.axes[0].get_lines()
            if str(line.get_label()).startswith("NDP") and len(line.get_xdata()) > 2
        )
        assert below.get_linewidth() > above.get_linewidth()
        assert below.get_alpha() < 1, "what is above may have the same colour"
        widths = {handle.get_linewidth() for handle in figure.legends[0].legend_handles if handle is not None}
        assert len(widths) == 1
    at = np.arange(10) * 1_000_000
    lines = plot.timeline(dict.fromkeys(("NDP", "NDP + Aeolus"), (at, x % 3)), "Flows under way").axes[0].get_lines()
    assert lines[0].get_linewidth() > lines[1].get_linewidth()
    # Dashes that grew with the width left out whole pieces of a curve.
    thin, wide = (overlap.line((0, (5, 1.6)), 0.9, wider) for wider in (1.0, 3.7))
    assert "linestyle" not in thin
    assert wide["linestyle"][1][1] * wide["linewidth"] == pytest.approx(1.6 * 0.9)
    assert overlap.line("-", 0.9, 3.7)["linestyle"] == "-"


def _times() -> Sample:
    values = np.linspace(1e6, 5e6, 50)
    none = np.zeros(50, dtype=bool)
    return Sample(np.full(50, 1000), values, none, none)


def _curve(points: int) -> Curve:
    edges = np.arange(1, points + 1)
    bins = SizeBins(edges * 1000, edges * (100.0 / points))
    none, some = np.zeros(points, dtype=bool), np.full(points, 10)
    return Curve(50.0, bins, edges + 0.0, edges + 0.0, edges + 0.0, none, some, 0 * some, 0 * some)


def test_small_multiples_of_few_points_have_marks() -> None:
    for points, marks in ((10, 10), (100, 0)):
        panel = plot.Panel("", {"HPCC-INT": _curve(points), "HPCC-PINT": _curve(points)})
        figure = plot.slowdown_panels([[panel]])
        drawn = [line for line in figure.axes[0].get_lines() if line.get_marker() not in ("None", "", None)]
        assert len(drawn) == (2 if marks else 0)
        shown = [handle.get_marker() for handle in figure.legends[0].legend_handles if handle is not None]
        assert (len(set(shown) - {"None", "", None}) == 2) == bool(marks)


def test_a_scheme_has_the_line_and_marks_of_charts_in_distributions_beside_them() -> None:
    """Homa + Aeolus was pink and hollow in A3 and A4, dark purple in A5."""
    from paceline.experiments.aeolus import loads, schemes

    charts = plot.of_schemes([stack.title for stack in schemes.STACKS.values()], schemes.AEOLUS_OF)
    for name, look in charts.items():
        here, there = loads._LOOKS.get(name), look.marked
        if here is not None:
            assert (here.color, here.line, here.marker) == (look.color, there["linestyle"], look.marker), name
            assert here.dots["markerfacecolor"] == there["markerfacecolor"]
    assert loads._LOOKS["Homa, RTO 10 ms"].color == charts["Homa"].color
    shown = [loads._LOOKS[name] for name in loads.TITLES.values()]
    assert len({(look.color, str(look.line), look.marker) for look in shown}) == len(shown)


def test_targets_of_hpcc_have_colours_of_their_own() -> None:
    """Two greens over two blues were teal."""
    from paceline.experiments.hpcc_page.figures import LOOKS

    targets = [LOOKS[f"HPCC-{kind} {target} %"] for kind in ("PINT", "INT") for target in (99, 95)]
    assert len({look.color for look in targets}) == len({look.marker for look in targets}) == 4


def test_no_place_is_named_at_which_nothing_ran() -> None:
    """E19 at tiny scale had ticks at round trips of 250 and 1,000 µs between its only two points."""
    ticks = {75.0: "75", 250.0: "250", 5000.0: "5,000"}
    chart = multiples.Chart("", {"CUBIC": (list(ticks), [1.0, float("nan"), 2.0])}, "x", "y", ticks)
    empty = multiples.Chart("", {"CUBIC": ([1, 2], [float("nan")] * 2)}, "x", "y")
    first, second = multiples.charts([[chart, empty]]).axes
    assert [text.get_text() for text in first.get_xticklabels()] == ["75", "5,000"]
    assert [text.get_text() for text in second.texts] == [multiples.NOTHING]
    assert not len(second.get_xticks())
    assert not len(second.get_yticks())
    figure = first.figure
    figure.draw_without_rendering()
    assert min(ax.get_position().width for ax in (first, second)) > 0.35, "an empty chart upset the layout"


def test_large_numbers_of_a_linear_axis_are_in_full() -> None:
    """Queries answered per second were 1.0 to 1.6 beside a lone "1e6" in a corner."""
    (axes,) = multiples.charts([[multiples.Chart("", {"a": ([1, 2], [1.1e6, 1.6e6])}, "x", "y", scale="linear")]]).axes
    assert not axes.yaxis.get_offset_text().get_text()
    assert any(text.get_text().endswith("00,000") for text in axes.get_yticklabels())


def test_numbers_of_a_short_log_axis_do_not_touch() -> None:
    """From 14 to 73 µs the last ones read "60 µs70 µs"."""
    values = np.linspace(15e6, 66e6, 200)
    none = np.zeros(len(values), dtype=bool)
    for draw in (plot.fct_cdf, plot.fct_tail):
        figure = draw({"first-rtt": Sample(np.full(len(values), 1000), values, none, none)})
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in figure.axes[0].get_xticklabels() if text.get_text()]
        gaps = [right.x0 - left.x1 for left, right in itertools.pairwise(boxes)]
        assert len(boxes) >= 4
        assert min(gaps) > 0.3 * min(box.width for box in boxes)
