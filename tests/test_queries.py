"""Queries in results, reports and the tool that sizes buffers."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from paceline import _native
from paceline.cli import main
from paceline.queries import all_groups, groups, tables
from paceline.report import write_report
from paceline.report.flows import asked
from paceline.report.head import schemes
from paceline.report.page import Page
from paceline.results import QUERY_RECORD, Results
from paceline.run import simulate
from paceline.sweeps import sizing
from paceline.sweeps.points import Point, Run, Runs
from paceline.sweeps.runner import prepare

SCENARIO = """
[topology]
kind = "star"
hosts = 5
host_rate = "25Gbps"
[switch]
buffer = "256KB"
model = "per_port"
pfc = { enabled = false }
[schemes.tcp]
cc = "new_reno"
[host.tcp]
stack = "user_space"
[[workloads]]
kind = "rpc"
group = "many"
clients = ["1-4"]
servers = [0]
connections = 4
outstanding = 4
[[workloads]]
kind = "rpc"
group = "few"
clients = [1]
servers = [2]
sizes = "alistorage@bs19"
mode = "open"
load = { value = 0.1 }
[run]
stop = "3ms"
warmup = "1ms"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queries")
    (path / "run.toml").write_text(SCENARIO)
    simulate(path / "run.toml", out=path / "out", progress="none")
    return path


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_query_waits_only_where_no_connection_is_idle(seed: int) -> None:
    """Towards a workload's end connections without a next query of their own were left out: short queries waited."""
    text = """
[topology]
kind = "star"
hosts = 2
host_rate = "10Gbps"
[schemes.rdma]
cc = "hpcc"
[[workloads]]
kind = "rpc"
clients = [0]
servers = [1]
connections = 6
sizes = "50KB"
mode = "open"
pick = "idle"
end = "1ms"
load = { value = 0.6 }
"""
    queries = simulate(f"seed = {seed}\n{text}", progress="none").queries
    start, end = queries["start_ps"].astype(float), (queries["start_ps"] + queries["qct_ps"]).astype(float)
    assert len(start) > 8
    for at, own in zip(start, queries["connection"], strict=True):
        busy = queries["connection"][(start < at) & (end > at)]
        assert own not in busy or len(set(busy)) == 6, f"waits at {at} ps with {6 - len(set(busy))} idle"


def test_rates_and_times_are_those_of_the_rows(folder: Path) -> None:
    """Every number of the page follows from queries.csv: a rate counts answers after the warm-up."""
    results = Results.load(folder / "out")
    with (folder / "out" / "queries.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert results.queries.rows == len(rows) == results.summary["queries"]["issued"]
    many, few = groups(results)
    assert (many.label, few.label) == ("many", "few")
    own = [r for r in rows if r["group"] == "many"]
    answered = [int(r["start_ps"]) + int(r["qct_ps"]) for r in own if r["qct_ps"]]
    inside = [at for at in answered if 1e9 <= at < results.simulated_ps]
    assert many.per_second == pytest.approx(len(inside) / ((results.simulated_ps - 1e9) * 1e-12))
    measured = [r for r in own if int(r["start_ps"]) >= 1e9]
    assert len(many.qct) == len(measured)
    assert many.qct.censored.sum() == sum(not r["qct_ps"] for r in measured)
    assert min(few.slowdown.value.min(), many.slowdown.value.min()) >= 1
    assert not results.flows.rows, "connections are no flows"
    assert results.flow_counts() == {"not_started": 0, "running": 0, "finished": 0, "failed": 0}


def test_the_answer_that_ends_a_run_counts(tmp_path: Path) -> None:
    """One query was missing from the rate of a run that was over with its last answer."""
    rpc = 'kind = "rpc"\nclients = [0]\nservers = [1]\nduration = "30us"\n'
    text = f'[topology]\nkind = "star"\nhosts = 2\n[schemes.s]\ncc = "hpcc"\n[[workloads]]\n{rpc}'
    run = simulate(text, tmp_path / "r", progress="none")
    (group,) = groups(run)
    assert run.summary["queries"]["answered"] == run.queries.rows > 2
    assert group.per_second * run.simulated_ps * 1e-12 == pytest.approx(run.queries.rows)


def test_a_page_of_queries_names_its_groups(folder: Path) -> None:
    page = write_report([folder / "out"], folder / "report.html", paper_figures=False).read_text()
    for text in ("Queries by group", "Answered/s", "many", "few", "Query completion time"):
        assert text in page


def test_runs_whose_names_differ_in_the_middle_stay_apart(folder: Path) -> None:
    """Of two runs with long names one was left out of the figure, and the rows of the table were called alike."""
    names = [f"leaf-spine-websearch-{of}-load50" for of in ("alpha", "beta")]
    for name in names:
        shutil.copytree(folder / "out", folder / name)
        summary = json.loads((folder / name / "summary.json").read_text())
        groups_of = ["the-front-end-of-search", "few"]
        (folder / name / "summary.json").write_text(json.dumps({**summary, "name": name, "groups": groups_of}))
    page = Page([Results.load(folder / name) for name in names], "line_rate", "sender")
    labels = {g.label for g in all_groups(page.runs)}
    assert labels == {f"{name}: {group}" for name in names for group in groups_of}
    (figure,) = asked(page).figures
    assert all(label in str(figure.svg) for label in labels)


def test_a_mean_with_ages_in_it_is_a_lower_bound(folder: Path) -> None:
    """The percentiles beside it said so, the mean did not; and nothing said what a dash is."""
    found = list(groups(Results.load(folder / "out")))
    assert found[0].qct.censored.any()
    first, *by_size = tables(found)
    assert first.rows[0][first.head.index("Mean QCT")].text.startswith("≥ ")
    for table in (first, *by_size):
        dashes = any(cell.text == "–" for row in table.rows for cell in row)
        assert dashes == ("a dash where the queries are fewer" in table.caption)


# One client, and a server whose link fails for good while it is asked.
CUT_OFF = """
[topology]
kind = "star"
hosts = 2
[host]
rto = "100us"
[schemes.s]
cc = "none"
[[failures]]
kind = "link"
link = ["host1", "tor0"]
down = "20us"
[[workloads]]
kind = "rpc"
clients = [0]
servers = [1]
end = "50us"
"""


def test_a_run_lasts_until_its_last_connection_is_given_up(tmp_path: Path) -> None:
    """It ended with the last answer: a query on a dead connection had hardly waited then, and lowered percentiles."""
    (tmp_path / "run.toml").write_text(CUT_OFF)
    results = simulate(tmp_path / "run.toml", out=tmp_path / "out", progress="none")
    assert results.summary["queries"]["connections_failed"] == 1
    # Seven timeouts, each twice as long as the one before: 12.7 ms.
    assert results.simulated_ps > 12_700_000_000
    assert max(next(groups(results)).qct.value) > 12_700_000_000


def test_a_run_ends_when_a_server_has_given_its_answers_up(tmp_path: Path) -> None:
    """It stalled, long after: its exit code said failed; the age of the query had nothing to do with the network."""
    (tmp_path / "run.toml").write_text(CUT_OFF + 'sizes = "64B"\nresponse = "1MB"\n')
    results = simulate(tmp_path / "run.toml", out=tmp_path / "out", progress="none")
    asked = results.summary["queries"]
    assert (results.status, asked["issued"], asked["answered"], asked["connections_failed"]) == ("completed", 1, 0, 1)
    assert 12_700_000_000 < results.simulated_ps < 26_000_000_000
    assert next(groups(results)).qct.censored.all()


def test_a_file_cut_short_by_a_kill_reads_up_to_there(folder: Path) -> None:
    data = (folder / "out" / "queries.bin").read_bytes()
    cut = folder / "cut"
    cut.mkdir()
    summary = json.loads((folder / "out" / "summary.json").read_text())
    (cut / "summary.json").write_text(json.dumps(summary | {"status": "running", "simulated_ps": 0}))
    (cut / "queries.bin").write_bytes(data[: 64 * 10 + 17])
    found = Results.load(cut).queries
    assert found.rows == 9
    assert Results.load(cut).simulated_ps == int((found["start_ps"] + found["qct_ps"]).max())
    assert np.all(np.diff(found["start_ps"].astype(np.int64)) >= 0)
    assert QUERY_RECORD.itemsize == 64
    # Open queries are not in it: what is there is quick, and no percentile is known but from below.
    assert next(groups(Results.load(cut))).qct.censored.all()


def test_the_schemes_of_queries_are_shown(tmp_path: Path) -> None:
    """The page of queries over one scheme beside flows over another named only that of the flows."""
    rpc = 'kind = "rpc"\nmode = "closed"\nscheme = "asked"\nclients = [0]\nservers = [1]\nduration = "100us"\n'
    flow = 'kind = "flows"\nscheme = "sent"\nrows = [{ src = 0, dst = 1, bytes = "1KB" }]\n'
    network = '[topology]\nkind = "star"\nhosts = 2\n[schemes.asked]\ncc = "hpcc"\n[schemes.sent]\ncc = "dctcp"\n'
    run = simulate(f"{network}[[workloads]]\n{rpc}[[workloads]]\n{flow}", tmp_path / "r", progress="none")
    assert schemes(run) == "asked (hpcc), sent (dctcp)"


def test_connections_are_no_flows_of_a_killed_run(folder: Path) -> None:
    """Each was two flows of no bytes that had not started."""
    cut = folder / "killed"
    shutil.copytree(folder / "out", cut)
    summary = json.loads((cut / "summary.json").read_text())
    del summary["queries"]
    (cut / "summary.json").write_text(json.dumps(summary | {"status": "running", "simulated_ps": 0}))
    killed, whole = Results.load(cut), Results.load(folder / "out")
    assert killed.flows.rows == whole.flows.rows
    assert killed.flow_counts() == whole.flow_counts()


def test_the_smallest_buffer_is_the_last_before_one_that_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A buffer counts only if all larger ones keep the limits too."""
    (tmp_path / "run.toml").write_text(SCENARIO)
    arguments = ["size-buffers", str(tmp_path / "run.toml"), "--buffers", "16KB,64KB,256KB,1MB", "--p99", "off"]
    arguments += ["--drops", "0.001", "--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache"), "-j", "1"]
    assert main([*arguments, "--progress", "none"]) == 0
    said = capsys.readouterr().out
    assert "How small the buffer may be" in said
    with (tmp_path / "out" / "buffers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(r["buffer_bytes"]) for r in rows] == [16_000, 64_000, 256_000, 1_000_000]
    drops = [float(r["dropped_share"]) for r in rows]
    assert min(drops[:2]) > 0.001
    assert drops[2:] == [0.0, 0.0]
    assert [bool(r["breaks"]) for r in rows] == [share > 0.001 for share in drops]
    assert (tmp_path / "out" / "buffers.png").stat().st_size > 10_000


def test_a_hole_among_the_buffers_does_not_count() -> None:
    tried = tuple(sizing.Tried(b, 1.0, 0.0, 0.0, 1) for b in (1, 2, 4, 8))
    curve = sizing.BufferCurve("x", tried, ((), ("drops",), (), ()))
    assert curve.smallest is not None
    assert curve.smallest.buffer_bytes == 4
    none = sizing.BufferCurve("x", tried, ((), (), (), ("drops",)))
    assert none.smallest is None
    assert "none of these" in sizing.answers([none]).plain()


STUCK = """
[run]
stop = "2ms"
[topology]
kind = "star"
hosts = 17
[switch]
model = "per_port"
[switch.pfc]
enabled = false
[host]
rto = "off"
[schemes.none]
cc = "none"
[[workloads]]
kind = "incast"
scheme = "none"
senders = 16
sizes = "500KB"
"""


def test_a_buffer_whose_run_stalled_or_did_not_finish_is_never_recommended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user would buy switches with the buffer of a run in which one flow of sixteen finished."""
    (tmp_path / "stuck.toml").write_text(STUCK)
    common = ["--cache", str(tmp_path / "cache"), "-j", "1", "--progress", "none"]
    arguments = ["size-buffers", str(tmp_path / "stuck.toml"), "--drops", "off", *common]
    assert main([*arguments, "--buffers", "20KB,200KB,32MB", "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "a" / "buffers.csv").read_text().splitlines()))
    assert [r["status"] for r in rows] == ["stalled", "stalled", "completed"]
    assert "stalled" in rows[0]["breaks"]
    assert rows[0]["slowdown_p99"] == "", "the age of an unfinished flow as if it were a p99"
    assert float(rows[0]["slowdown_p99_at_least"]) >= 1
    assert (rows[0]["measured"], int(rows[0]["unfinished"]) > 0) == ("16", True)
    assert (rows[2]["unfinished"], rows[2]["slowdown_p99_at_least"], rows[2]["breaks"]) == ("0", "", "")
    assert "32 MB" in said.split("All buffers tried")[0]
    assert said.count("diagnosis: ") == len({line for line in said.splitlines() if line.startswith("diagnosis")})
    assert "a p99 of 16 flows is that of the slowest" in said
    assert "Largest slowdown" in said, "`sweep` has no p99 of 16 flows either"
    assert "p99 slowdown" not in said
    # Stopped before anything finished: no buffer will do.
    short = ["--set", "run.stop=100us", "--buffers", "2MB,32MB", "--out", str(tmp_path / "b")]
    assert main([*arguments, *short]) == 0
    assert "none of these" in capsys.readouterr().out
    # Without a limit on p99 drops alone decide, but never in a run that stalled.
    assert main([*arguments, "--p99", "off", "--buffers", "20KB,32MB", "--out", str(tmp_path / "c")]) == 0
    assert "32 MB" in capsys.readouterr().out.split("All buffers tried")[0]


IDLE = """
[topology]
kind = "star"
hosts = 5
[switch]
model = "per_port"
pfc = { enabled = false }
[schemes.hpcc]
cc = "hpcc"
[[workloads]]
kind = "incast"
senders = 4
sizes = "100KB"
[run]
warmup = "1ms"
"""
ASKED = """
[topology]
kind = "star"
hosts = 4
[switch]
model = "per_port"
pfc = { enabled = false }
[schemes.tcp]
cc = "new_reno"
[[workloads]]
kind = "rpc"
clients = [0, 1, 2]
servers = [3]
sizes = "100KB"
[run]
stop = "200us"
"""


def test_a_p99_that_is_not_known_is_no_broken_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was measured, and the slowdown was said to break its limit; the p99 was one "of 0 flows"."""
    (tmp_path / "idle.toml").write_text(IDLE)
    arguments = ["size-buffers", str(tmp_path / "idle.toml"), "--buffers", "32KB,1MB", "--out", str(tmp_path / "out")]
    arguments += ["--cache", str(tmp_path / "cache"), "-j", "1", "--progress", "none"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "out" / "buffers.csv").read_text().splitlines()))
    assert [row["breaks"] for row in rows] == ["p99 slowdown not known;drops", "p99 slowdown not known"]
    assert said.count("largest slowdown not known: no flow or query was measured\n") == 1
    assert "of 0 flows" not in said
    # Who does not ask for it gets an answer.
    assert main([*arguments, "--p99", "off"]) == 0
    assert "1 MB" in capsys.readouterr().out.split("All buffers tried")[0]


def test_few_queries_are_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "asked.toml").write_text(ASKED)
    arguments = ["size-buffers", str(tmp_path / "asked.toml"), "--buffers", "1MB", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--cache", str(tmp_path / "cache"), "-j", "1", "--progress", "none"]) == 0
    said = capsys.readouterr().out
    assert " queries is that of the slowest: fewer than 100 were measured\n" in said
    assert "flows is" not in said


def test_why_a_p99_is_not_known_is_told_with_the_buffers() -> None:
    few = sizing.Tried(1000, 2.0, 0.0, 0.0, 1, measured=20, fewest=20, most=20, few="queries")
    many = sizing.Tried(2000, 2.0, 0.0, 0.0, 1, measured=200, fewest=200, most=200)
    none = sizing.Tried(4000, float("nan"), 0.0, 0.0, 1)
    said = sizing.remarks(Runs(()), [sizing.BufferCurve("a", (few, many, none), ((), (), ()))])
    assert said == [
        "p99 slowdown not known: no flow or query was measured (buffer 4 KB)",
        "a p99 of 20 queries is that of the slowest: fewer than 100 were measured (buffer 1 KB)",
    ]
    curves = [sizing.BufferCurve(name, (few, many), ((), ())) for name in "ab"]
    (told,) = sizing.remarks(Runs(()), [*curves, sizing.BufferCurve("c", (many,), ((),))])
    assert told.endswith("(a: buffer 1 KB; b: buffer 1 KB)")


def test_a_limit_that_is_not_known_is_not_judged() -> None:
    """A p99 was held against 1.1 times one that was only known to be at least so much."""
    known, open_ = sizing.Tried(1000, 3.0, 0.0, 0.0, 1), sizing.Tried(2000, 2.0, 0.0, 0.0, 1, at_least=True)
    assert sizing._broken(known, open_, sizing.Limits()) == ("p99 slowdown with the largest buffer not known",)
    assert sizing._broken(known, open_, sizing.Limits(p99_times=None)) == ()
    # What is at least so much breaks a lower limit all the same.
    assert sizing._broken(open_, open_, sizing.Limits(p99=1.5, p99_times=None)) == ("p99 slowdown",)
    assert sizing._broken(open_, open_, sizing.Limits(p99=2.5, p99_times=None)) == ("p99 slowdown not known",)


def test_sizes_with_a_failed_run_have_a_table_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run that was killed for want of memory left nothing of hours of the others."""
    from paceline.sweeps import runner as room
    from paceline.sweeps.runner import SweepFailed

    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(_native.template("incast"))
    arguments = ["size-buffers", "s.toml", "--buffers", "1MB,2MB,4MB", "-j", "1", "--progress", "none"]
    run_jobs = room.run_jobs

    def losing(*lost: int):  # type: ignore[no-untyped-def]
        def run(jobs, **how):  # type: ignore[no-untyped-def]
            raise SweepFailed(
                {jobs[k].key: f"{jobs[k].point.label}: no room" for k in lost},
                run_jobs([job for k, job in enumerate(jobs) if k not in lost], **how),
            )

        monkeypatch.setattr(room, "run_jobs", run)

    losing(0, 1, 2)
    assert main(arguments) == 1
    assert "none of these" in capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "results/s-buffers/buffers.csv").read_text().splitlines()))
    assert [(r["status"], r["breaks"], r["slowdown_p99"], r["dropped_share"]) for r in rows] == [
        ("failed", "failed", "", "")
    ] * 3
    assert not (tmp_path / "results/s-buffers/buffers.png").exists()
    losing(1)
    assert main(arguments) == 1
    ended = capsys.readouterr()
    assert "switch.buffer=2MB, seed=1: no room" in ended.err
    assert "4 MB" in ended.out.split("All buffers tried")[0], "nothing is known below the one that failed"
    assert "nan" not in ended.out
    rows = list(csv.DictReader((tmp_path / "results/s-buffers/buffers.csv").read_text().splitlines()))
    assert [(r["status"], r["breaks"], bool(r["slowdown_p99"])) for r in rows] == [
        *(("completed", "", True), ("failed", "failed", False), ("completed", "", True))
    ]
    assert (tmp_path / "results/s-buffers/buffers.png").is_file()
    monkeypatch.setattr(room, "run_jobs", run_jobs)
    assert main(arguments) == 0
    assert "failed" not in capsys.readouterr().out


def test_warnings_of_the_runs_are_told_once_and_with_the_buffers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`run` warns that headroom is too small and that a lossless class lost packets; here nobody heard of it."""
    lossless = STUCK.replace("enabled = false", 'headroom = "1KB"').replace('rto = "off"', "")
    (tmp_path / "s.toml").write_text(lossless)
    arguments = ["size-buffers", str(tmp_path / "s.toml"), "--buffers", "64KB,128KB", "--drops", "off", "-j", "1"]
    arguments += ["--cache", str(tmp_path / "cache"), "--progress", "none", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    warned = [line for line in said.splitlines() if line.startswith("warning: ")]
    assert any("headroom" in line for line in warned)
    assert len(warned) == len(set(warned))


@pytest.mark.parametrize("template", ["quickstart", "incast", "fat-tree", "dcqcn-incast", "all-reduce", "tcp-udp-pfc"])
def test_the_default_sizes_can_be_built_for_every_template(tmp_path: Path, template: str) -> None:
    """`paceline init X && paceline size-buffers X.toml` is what people type first; it ended in an error."""
    (tmp_path / f"{template}.toml").write_text(_native.template(template))
    points, remarks = sizing.points([tmp_path / f"{template}.toml"], [], [])
    assert 2 <= len(points) <= sizing.HALVINGS + 1
    assert len(prepare(points)) == len(points)
    assert bool(remarks) == (len(points) <= sizing.HALVINGS)
    assert all("no buffer below" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--p99", "abcx"),
        ("--p99", "0.5"),
        ("--p99", "0.9x"),
        ("--drops", "2"),
        ("--paused", "-1"),
        ("--buffers", "64KB,"),
        ("--buffers", "64"),
        ("--buffers", "64KB,large"),
        ("--buffers", "64kb"),
    ],
)
def test_wrong_limits_are_refused(tmp_path: Path, option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.toml").write_text(SCENARIO)
    assert main(["size-buffers", str(tmp_path / "run.toml"), option, value, "--out", str(tmp_path / "out")]) == 2
    assert "allowed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_baseline_alone_is_refused_for_queries(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason, the workloads that it is about, and what there is instead."""
    assert main(["report", str(folder / "out"), "--baseline", "alone"]) == 2
    told = capsys.readouterr().err
    assert (
        "simulates single flows alone, and the run asks queries (workloads.0, workloads.1), of several messages each"
        in told
    )
    assert "allowed: line_rate, against which queries have slowdowns" in told


def test_the_terminal_shows_queries_and_no_empty_table_of_flows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder / "out"), "--out", str(folder / "page")]) == 0
    said = capsys.readouterr().out
    assert "Queries by group" in said
    assert "Slowdown by flow size" not in said


def test_measured_flows_are_those_of_the_table(folder: Path) -> None:
    """Beside queries the mask had a row for each direction of a connection too, and fitted no column."""
    text = SCENARIO + '[[workloads]]\nkind = "permutation"\nsizes = "20KB"\nrounds = 4\nperiod = "500us"\n'
    results = simulate(text, progress="none")
    assert len(results.measured) == results.flows.rows < len(results._records)
    connections = results.summary["queries"]["connections"]
    assert results.flows["flow_id"].min() == 2 * connections, "both directions of each are numbered, queries are not"
    late = results.flows["start_ps"] >= 1_000_000_000
    assert results.measured.tolist() == late.tolist()
    assert 0 < late.sum() < len(late)
    assert len(results.fct().value) == late.sum()


def test_two_scenarios_of_one_name_are_no_curve(tmp_path: Path) -> None:
    """Their runs were averaged, as if they were seeds."""
    paths = [tmp_path / name / "x.toml" for name in "ab"]
    for path in paths:
        path.parent.mkdir()
        path.write_text(SCENARIO)
    with pytest.raises(_native.InputError, match="twice"):
        sizing.points(paths, ["64KB"], [])
    with pytest.raises(_native.InputError, match="twice"):
        sizing.points(paths[:1], ["1MB", "1000KB"], [])


def test_curves_whose_names_differ_in_the_middle_stay_apart(tmp_path: Path) -> None:
    """Of eight curves of two scenarios the figure had four, and buffers.csv did not tell which rows were of which."""
    paths = [tmp_path / f"websearch-on-leaf-spine-{of}.toml" for of in "ab"]
    runs = tuple(
        Run(
            Point(scenario=path, key={"scenario": path.stem, sizing.BUFFER: "1MB", "a.threshold_max": gain}),
            tmp_path / gain,
        )
        for path in paths
        for gain in ("0.0625", "0.125")
    )
    found = sizing.curves(Runs(runs), sizing.Limits())
    assert len({curve.label for curve in found}) == len(runs)


def test_sizes_begin_with_the_buffer_that_is_set(tmp_path: Path) -> None:
    """It was refused, as a field that varies as well, beside an option that nobody had given."""
    path = tmp_path / "s.toml"
    path.write_text(_native.template("incast"))
    points, _ = sizing.points([path], [], [], overrides=["switch.buffer=8MB"])
    assert [point.key["switch.buffer"] for point in points][-2:] == ["4000000B", "8000000B"]
    with pytest.raises(_native.InputError, match=r"^buffers = 1MB,2MB: .*without switch\.buffer=8MB"):
        sizing.points([path], ["1MB", "2MB"], [], overrides=["switch.buffer=8MB"])


def test_a_single_buffer_has_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its axis had no width, of which the drawing library warned in the midst of the answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(_native.template("incast"))
    assert main(["size-buffers", "s.toml", "--buffers", "1MB", "-q", "-j", "1", "--progress", "none"]) == 0
    assert (tmp_path / "results/s-buffers/buffers.png").is_file()
