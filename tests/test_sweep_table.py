"""What a sweep tells of its runs: the tidy table, the terminal's rows, the figure."""

from __future__ import annotations

import csv
import re
import resource
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import paceline as pl
from helpers.incasts import incast
from paceline.results import parquet
from paceline.sweeps import curves, sizing
from paceline.sweeps.brief import MOST_ROWS, brief


def test_a_table_holds_no_run_open(tmp_path):
    """A sweep of 300 runs ended with "Too many open files" where a process may have 200."""
    (run,) = pl.sweep([incast(4)], cache=tmp_path, progress="none")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (120, hard))
    try:
        rows = pl.tidy(pl.Runs((run,) * 200))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(rows) == 200


def test_a_sweep_tells_of_queries_and_programs(paceline, tmp_path):
    """Their completion times and run times, what such scenarios are run for, were in no column."""
    rpc = '{kind="rpc", clients=["1-4"], servers=[0], sizes="20KB", connections=4, end="3ms"}'
    mpi = '{kind="mpi", program="cg", problem_class="S", iterations=1}'
    head = '[topology]\nkind = "star"\nhosts = 8\n[switch.pfc]\nenabled = false\n[schemes.tcp]\ncc = "new_reno"\n'
    (tmp_path / "s.toml").write_text(f"{head}[[workloads]]\n" + rpc[1:-1].replace(", ", "\n") + '\n[run]\nstop="5ms"\n')
    cases = ["--case", f"rpc: workloads=[{rpc}]", "--case", f"mpi: workloads=[{mpi}]; run.stop=1s"]
    outcome = paceline("sweep", "s.toml", *cases, "-q")
    assert outcome.code == 0, outcome.err
    asked, program = csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines())
    assert int(asked["queries_measured"]) > 0
    assert float(asked["queries_answered_per_s"]) > 0
    assert asked["programs"] == ""
    assert asked["queries_measured_unanswered"] == "0"
    queries = pl.load(asked["folder"]).queries
    assert int(asked["queries_measured"]) == queries.rows
    assert float(asked["qct_mean_ps"]) == queries["qct_ps"].mean()
    assert float(asked["query_slowdown_mean"]) == (queries["qct_ps"] / queries["ideal_qct_ps"]).mean()
    assert program["queries_measured"] == ""
    told = pl.load(program["folder"]).summary["mpi"][0]
    assert (int(program["program_runtime_ps"]), float(program["program_slowdown"])) == (
        *(told["runtime_ps"], told["slowdown"]),
    )


def test_a_sweep_of_fields_gives_a_tidy_table(paceline, tmp_path):
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    arguments = ("--vary", "workloads.0.senders=4,8", "--vary", "schemes.hpcc.eta=0.9,0.95", "--seeds", "2", "-q")
    assert paceline("sweep", "s.toml", *arguments).code == 0
    rows = list(csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines()))
    assert len(rows) == 8
    assert [(r["workloads.0.senders"], r["schemes.hpcc.eta"], r["seed"]) for r in rows][:3] == [
        *(("4", "0.9", "1"), ("4", "0.9", "2"), ("4", "0.95", "1"))
    ]
    from_python = pl.tidy(pl.sweep([incast(4), incast(8)], cache=tmp_path / "results" / "cache", progress="none"))
    assert [(row["senders"], row["flows_finished"]) for row in from_python] == [(4, 4), (8, 8)]
    own = pl.simulate("s.toml", overrides=["workloads.0.senders=8", "schemes.hpcc.eta=0.95"], seed=2, progress="none")
    assert float(rows[-1]["fct_p99_ps"]) == max(own.fct().value)
    assert rows[-1]["flows_finished"] == "8"


@pytest.mark.skipif(parquet.available(), reason="writes the file anew")
def test_without_pyarrow_no_parquet_table_of_an_earlier_sweep_stays(paceline, tmp_path):
    """Whoever read it would have had another sweep than sweep.csv beside it."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    assert paceline("sweep", "s.toml", "-q").code == 0
    left = tmp_path / "results/s-sweep/sweep.parquet"
    left.write_bytes(b"PAR1")
    assert paceline("sweep", "s.toml", "-q", "--seeds", "2").code == 0
    assert not left.exists()


def test_the_terminal_shows_what_a_sweep_found(paceline, tmp_path):
    """It named a file only: whoever wanted to see whether anything differs had to read 25 columns of CSV."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    arguments = ("sweep", "s.toml", "--vary", "workloads.0.senders=4,8", "--vary", "run.stop=5us,1ms", "--seeds", "3")
    outcome = paceline(*arguments, "--progress", "none")
    rows = [re.split(" {2,}", line) for line in outcome.out.splitlines()]
    head = next(k for k, row in enumerate(rows) if row[0] == "senders")
    assert rows[head][:4] == ["senders", "stop", "Finished", "Slowdown p50"]
    assert "largest" in rows[head], "of a few flows there is no p99"
    assert "Drops" not in rows[head], "a column of zeros"
    cut, whole = rows[head + 1 : head + 3]
    assert cut[:4] == ["4", "5us", "0 of 12 stopped", "–"]
    assert whole[:3] == ["4", "1ms", "12 of 12"]
    table = csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines())
    seen = [
        float(row["slowdown_p50"]) for row in table if row["run.stop"] == "1ms" and row["workloads.0.senders"] == "4"
    ]
    assert float(whole[3].split()[0]) == pytest.approx(np.mean(seen), abs=0.005)


def test_a_sweep_over_numbers_is_drawn(paceline, tmp_path, monkeypatch):
    """Curves over the field with most numbers, one for each of the rest, as long as they can be told apart."""
    done = {"status": "completed", "measured": 200, "slowdown_p50": 1.5, "slowdown_p99": 9.0}

    def rows(fields: dict[str, tuple[str, ...]], seeds: int = 1) -> list[dict[str, object]]:
        combinations = product(*fields.values(), range(seeds))
        return [{**dict(zip([*fields, "seed"], values, strict=True)), **done} for values in combinations]

    by_size = {"cc": ("hpcc", "dctcp"), "load": ("0.3", "0.5", "0.7"), "size": ("4KB", "1MiB", "16MB", "1KB")}
    drawn = curves.figure(rows(by_size, seeds=3), list(by_size))
    assert drawn is not None
    assert [ax.get_xlabel() for ax in drawn.axes] == ["size", "size"]
    assert [ax.get_ylabel().partition("\n")[0] for ax in drawn.axes] == ["Slowdown, p50", "Slowdown, p99"]
    # An axis that does not begin at 0 says where it does.
    for ax in drawn.axes:
        assert ("(axis from" in ax.get_ylabel()) == (ax.get_ylim()[0] > 0)
    assert {line.get_label() for line in drawn.axes[0].get_lines() if line.get_label()[0] != "_"} == {
        *(f"{cc}, load {load}" for cc in by_size["cc"] for load in by_size["load"])
    }
    assert [tick.get_text() for tick in drawn.axes[0].get_xticklabels()] == ["1KB", "4KB", "1MiB", "16MB"]
    many = curves.figure(rows({"load": tuple(f"0.{k}" for k in range(10, 30))}), ["load"])
    assert many is not None
    assert sum(tick.get_text() != "" for tick in many.axes[0].get_xticklabels()) == 7
    for fields in (
        {"size": ("1KB", "2KB")},
        {"size": ("1KB", "2ms", "3")},
        {"cc": ("hpcc", "dctcp", "none")},
        {"size": ("1KB", "2KB", "3KB"), "cc": tuple("abcdefghijklm")},
    ):
        assert curves.figure(rows(fields), list(fields)) is None, fields
    done |= {"slowdown_p50": None, "slowdown_p99": None}
    assert curves.figure(rows({"size": ("1KB", "2KB", "3KB")}), ["size"]) is None, (
        "of unfinished flows there is nothing"
    )
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    monkeypatch.setattr(parquet, "available", lambda: False)  # where pyarrow is there is a table more
    arguments = ("--vary", "workloads.0.sizes=1KB,20KB,100KB", "-o", "out", "--progress", "none")
    assert "out/sweep.csv, out/sweep.png" in paceline("sweep", "s.toml", *arguments).out
    assert {path.name for path in Path("out").iterdir()} == {"sweep.csv", "sweep.png", "sweep.pdf", "sweep.svg"}
    assert paceline("sweep", "s.toml", "-o", "out", "-q").code == 0
    assert [path.name for path in Path("out").iterdir()] == ["sweep.csv"], "the figure of the sweep before"


def test_a_sweep_has_the_queue_of_the_busiest_port(paceline, tmp_path):
    """What most sweeps of a controller are made for; the fullest buffer says nothing of the rest of the time."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    vary = ("--vary", "records.queues=port,tier,off", "--progress", "none")
    outcome = paceline("sweep", "s.toml", "--vary", "workloads.0.senders=4,8", *vary)
    rows = list(csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines()))
    for row, (_, waits) in zip(rows, product((4, 8), ("port", "tier", "off")), strict=True):
        queues = pl.Results.load(row["folder"]).queues
        if waits == "off":
            assert row["queue_mean_bytes"] == row["queue_p99_bytes"] == ""
            continue
        waited = {}
        for place in {
            (port, tier) for port, tier in zip(queues["port"], queues["tier"], strict=True) if tier != "host->tor"
        }:
            here = queues.where((queues["port"] == place[0]) & (queues["tier"] == place[1]))
            middle = (here["bin_low_bytes"] + here["bin_high_bytes"] - 1) / 2
            waited[place] = (middle * here["time_ps"]).sum() / here["time_ps"].sum()
        assert float(row["queue_mean_bytes"]) == pytest.approx(max(waited.values()))
        assert float(row["queue_p99_bytes"]) > float(row["queue_mean_bytes"])
    assert "Queue, mean" in outcome.out


def test_no_percentile_of_a_queue_whose_classes_have_histograms_of_their_own(paceline, tmp_path):
    """That of the fullest class stood beside the mean over all, and was below it."""
    off = replace(incast(8).scenario.switch, pfc=replace(incast(8).scenario.switch.pfc, enabled=False))
    load = [pl.SynchronousIncast(senders=8, sizes=size) for size in ("20KB", "500KB")]
    scenario = replace(incast(8).scenario, schemes={"homa": pl.Homa()}, switch=off, workloads=load)
    (tmp_path / "s.toml").write_text(scenario.to_toml())
    paceline("sweep", "s.toml", "--vary", "workloads.0.senders=8", "--progress", "none")
    (row,) = csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines())
    assert float(row["queue_mean_bytes"]) > 0
    assert row["queue_p99_bytes"] == ""


def test_a_sweep_times_the_flows_of_one_group(paceline, tmp_path):
    """A victim beside an incast is one flow of seventeen: all means are those of the others."""
    load = [pl.Flows(group="victim", rows=[pl.FlowRow(src=0, dst=1, bytes="30KB")])]
    scenario = replace(incast(4).scenario, workloads=[*load, pl.SynchronousIncast(senders=4, sizes="20KB")])
    (tmp_path / "s.toml").write_text(scenario.to_toml())
    arguments = ("sweep", "s.toml", "--vary", "workloads.1.senders=2,6", "--progress", "none")
    outcome = paceline(*arguments, "--group", "victim")
    assert "flows of group victim only" in outcome.out
    rows = list(csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines()))
    assert [(row["measured"], row["flows_total"]) for row in rows] == [("1", "3"), ("1", "7")]
    outcome = paceline(*arguments, "--group", "victims", "--cache", "unused")
    assert outcome.code == 2
    assert "--group = victims: no such group; allowed: victim, incast" in outcome.err
    # That of a row, which is no workload's.
    (own,) = load
    named = replace(
        scenario, workloads=[replace(own, rows=[replace(own.rows[0], group="mouse")]), *scenario.workloads[1:]]
    )
    (tmp_path / "s.toml").write_text(named.to_toml())
    assert "flows of group mouse only" in paceline(*arguments, "--group", "mouse").out
    assert not Path("unused").exists(), "told before the runs are made"


def test_a_sweep_says_where_its_percentiles_are_over_several_schemes_or_groups(paceline, tmp_path):
    """Two schemes on one network had one p99, and nothing said that it was neither's."""

    def said(scenario: pl.Scenario, *arguments: str) -> str:
        (tmp_path / "s.toml").write_text(scenario.to_toml())
        return paceline("sweep", "s.toml", "--seeds", "1", "--progress", "none", *arguments).out

    one = incast(4).scenario
    two = {"a": pl.Hpcc(), "b": pl.NoControl()}
    load = [pl.SynchronousIncast(senders=2, sizes="20KB", scheme=name) for name in two]
    mixed = replace(one, schemes=two, workloads=load)
    assert "together" not in said(one)
    assert "over schemes a, b together; give their workloads a `group` each" in said(mixed)
    apart = replace(mixed, workloads=[replace(w, group=f"of_{w.scheme}") for w in load])
    assert said(apart).count("over schemes a, b and groups of_a, of_b together; --group takes") == 1
    assert "together" not in said(apart, "--group", "of_a")
    assert "together" not in said(apart, "-q")
    assert "together" not in said(replace(mixed, workloads=load[:1]), "--vary", "workloads.0.scheme=a,b")


def test_a_table_for_the_terminal_stays_one():
    """Runs that failed have no values, keys may end alike, and of thousands of combinations nobody reads the last."""
    done = {"status": "completed", "measured": 200, "flows_unfinished": 0, "flows_failed": 0}
    done |= {"flows_total": 200, "flows_finished": 200, "slowdown_p50": 1.5, "drops_buffer": 0}
    failed = dict.fromkeys(done) | {"status": "failed"}
    keys = ("schemes.a.eta", "schemes.b.eta")
    rows = [dict(zip(keys, (k, 1), strict=True)) | {"seed": 1} | done for k in range(MOST_ROWS + 5)]
    rows[1] |= failed
    table = brief(rows, keys, "x")
    assert table.head == ("a.eta", "b.eta", "Finished", "Slowdown p50")
    assert len(table.rows) == MOST_ROWS
    assert f"the first {MOST_ROWS} of {MOST_ROWS + 5}" in table.caption
    assert [cell.text for cell in table.rows[1]] == ["1", "1", "–", "–"]
    assert table.rows[1][2].note == "failed"
    assert brief([{"seed": 1, "status": "failed"}], (), "x").rows
    # "200 of 200 failed" was said where one of two seeds had.
    (line,) = brief([rows[0] | {"x": 1}, rows[1] | {"x": 1, "seed": 2}], ("x",), "x").rows
    assert (line[1].text, line[1].note) == ("200 of 200", "and 1 of 2 runs failed")
    one = [{"switch.pfc.enabled": "true", "run.stop": "1ms", "seed": 1} | done]
    assert brief(one, ("switch.pfc.enabled", "run.stop"), "x").head[:2] == ("pfc.enabled", "stop")


def test_a_queue_longer_than_the_fullest_buffer_is_explained():
    """Of lesson incast's table nobody could tell how a queue's p99 of 852 KB goes with a fullest buffer of 812 KB."""
    row = {"seed": 1, "status": "completed", "measured": 5, "queue_p99_bytes": 852e3}
    for most, odd in ((812_000, True), (900_000, False), (None, False)):
        caption = brief([row | {"max_buffer_bytes": most}], (), "x").caption
        assert ("the upper edge of its bin, the fullest buffer what samples saw" in caption) == odd


def test_what_unfinished_flows_could_raise_is_left_empty(paceline, tmp_path):
    """A plot of sweep.csv would show the ages of unfinished flows as completion times."""
    (tmp_path / "s.toml").write_text(incast(16).scenario.to_toml())
    whole = pl.simulate("s.toml", progress="none")
    half = int(np.median(whole.fct().value + whole.flows["start_ps"]))
    arguments = ("--vary", f"run.stop=1s,{half}ps", "-q")
    assert paceline("sweep", "s.toml", *arguments).code == 0
    done, cut = csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines())
    assert (done["measured"], done["measured_unfinished"]) == ("16", "0")
    assert all(done[name] for name in done if name.startswith(("fct_", "slowdown_")))
    assert cut["measured"] == "16"
    assert 0 < int(cut["measured_unfinished"]) < 16
    assert [cut[name] for name in ("fct_mean_ps", "fct_p99_ps", "slowdown_mean", "slowdown_p99")] == [""] * 4


def test_datagrams_that_are_lost_are_no_finished_flows(paceline, tmp_path):
    """A sender of datagrams is done when the last has left: tables and `size-buffers` judge where they arrive."""
    scenario = pl.Scenario(
        name="s",
        topology=pl.Star(hosts=9, host_rate="10Gbps"),
        switch=pl.Switch(buffer="100KB", model="per_port", pfc=pl.Pfc(enabled=False)),
        schemes={"u": pl.Udp(rate="5Gbps")},
        workloads=[pl.SynchronousIncast(senders=8, receiver=8, sizes="2MB")],
    )
    (tmp_path / "s.toml").write_text(scenario.to_toml())
    assert paceline("sweep", "s.toml", "--seeds", "1", "-q").code == 0
    (row,) = csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines())
    assert (row["flows_total"], row["flows_finished"], row["flows_failed"]) == ("8", "0", "8")
    results = pl.simulate("s.toml", progress="none")
    tried = sizing._measured(100_000, results)
    assert (tried.measured, tried.unfinished) == (8, 8)
    assert tried.drops == results.links["drops_buffer"].sum() / results.summary["counters"]["data_packets"]


def test_a_point_cannot_have_the_name_of_a_column(tmp_path):
    """A key called `status` was replaced by that of the run, and the table had one column for both, without a word."""
    for name in ("status", "seed", "folder", "fct_p99_ps"):
        runs = pl.sweep([replace(incast(4), key={name: "mine"})], cache=tmp_path, progress="none")
        with pytest.raises(ValueError, match=f"a key `{name}`, which is a column"):
            pl.tidy(runs)
