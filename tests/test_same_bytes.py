"""Equal scenarios give equal bytes: run again, from the resolved copy, and by the other engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import paceline as pl
from paceline.results import QUERY_RECORD

TABLES = ("flows.csv", "queues.csv", "links.csv", "pauses.csv", "series.csv", "scenario.toml")

WEB = pl.Scenario(
    name="web",
    topology=pl.LeafSpine(),
    schemes={"hpcc": pl.Hpcc()},
    workloads=[pl.Poisson(duration="1ms")],
    records=pl.Records(series=pl.Series(ports=["32:0"], flows=[0, 1])),
)
INCAST_PFC = pl.Scenario(
    name="incast-pfc",
    topology=pl.LeafSpine(leaves=2, hosts_per_leaf=16),
    switch=pl.Switch(buffer="1MiB"),
    schemes={"none": pl.NoControl()},
    workloads=[pl.SynchronousIncast(senders=16, sizes="200KB", count=3, period="200us")],
)
LOSSY = pl.Scenario(
    name="lossy",
    topology=pl.Star(hosts=9),
    switch=pl.Switch(buffer="100KB", model="per_port", pfc=pl.Pfc(enabled=False)),
    host=pl.Host(nack_interval="50us"),
    schemes={"none": pl.NoControl()},
    workloads=[pl.SynchronousIncast(senders=8, sizes="200KB", receiver=8, random_senders=False)],
)


@pytest.mark.parametrize("scenario", [WEB, INCAST_PFC, LOSSY], ids=lambda s: s.name)
def test_runs_of_a_scenario_agree_byte_for_byte(tmp_path: Path, scenario: pl.Scenario) -> None:
    first = pl.simulate(scenario, tmp_path / "first", progress="none")
    assert first.status == "completed"
    counters = first.summary["counters"]
    assert scenario is not INCAST_PFC or counters["pause_frames"] > 0, "not the case it is meant to be"
    assert scenario is not LOSSY or counters["drops_buffer"] > 0, "not the case it is meant to be"
    pl.simulate(scenario, tmp_path / "again", progress="none", threads=2)
    pl.simulate(tmp_path / "first/scenario.toml", tmp_path / "resolved", progress="none")
    for other in ("again", "resolved"):
        for table in TABLES:
            assert (tmp_path / "first" / table).read_bytes() == (tmp_path / other / table).read_bytes(), (other, table)
    engines = {}
    for engine in ("windowed", "sequential"):
        run = pl.simulate(scenario, tmp_path / engine, overrides=[f"run.engine={engine}"], progress="none")
        engines[engine] = run
        assert run.summary["engine"]["kind"] == engine
    for table in TABLES[:5]:
        assert (tmp_path / "windowed" / table).read_bytes() == (tmp_path / "sequential" / table).read_bytes(), table
    assert (tmp_path / "windowed/flows.csv").read_bytes() == (tmp_path / "first/flows.csv").read_bytes()
    same = {"data_hops", "control_hops", "drops_buffer", "marks", "pause_frames", "retransmitted_packets"}
    one, two = (engines[e].summary["counters"] for e in ("windowed", "sequential"))
    assert {k: one[k] for k in same} == {k: two[k] for k in same}


MIXED = pl.Scenario(
    name="mixed",
    topology=pl.LeafSpine(leaves=2, hosts_per_leaf=4),
    schemes={"hpcc": pl.Hpcc(), "dcqcn": pl.Dcqcn()},
    workloads=[
        pl.Poisson(scheme="hpcc", duration="300us"),
        pl.SynchronousIncast(scheme="dcqcn", senders=5, sizes="50KB", count=3, period="100us", rate_cap="40Gbps"),
        pl.Flows(
            scheme="hpcc",
            rows=[
                pl.FlowRow(src=0, dst=7, bytes="9KB", group="mice", class_=4),
                pl.FlowRow(src=1, dst=7, bytes="2MB", group="elephants", scheme="dcqcn", start="7ns"),
            ],
        ),
    ],
)


def test_flows_are_saved_and_replayed_bit_for_bit(tmp_path: Path) -> None:
    """Drawn flows could be had as a file of whole nanoseconds only; groups had to be those of workloads."""
    first = pl.simulate(MIXED, tmp_path / "first", progress="none")
    assert {"mice", "elephants"} < set(first.flows["group"])
    assert pl.save_flows(MIXED, tmp_path / "flows.csv") == first.flows.rows > 20
    replayed = pl.Flows(file=str(tmp_path / "flows.csv"), scheme="hpcc", group="poisson")
    again = pl.simulate(replace(MIXED, workloads=[replayed]), tmp_path / "again", progress="none")
    assert again.status == "completed"
    for table in TABLES[:5]:
        assert (tmp_path / "first" / table).read_bytes() == (tmp_path / "again" / table).read_bytes(), table
    with pytest.raises(pl.InputError, match="is there already"):
        pl.save_flows(MIXED, tmp_path / "flows.csv")
    asking = replace(MIXED, workloads=[pl.ClosedRpc(scheme="hpcc", duration="1ms")])
    with pytest.raises(pl.InputError, match="what waits for an answer"):
        pl.save_flows(asking, tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()


def test_another_seed_gives_other_flows(tmp_path: Path) -> None:
    one = pl.simulate(WEB, progress="none")
    two = pl.simulate(WEB, seed=2, progress="none")
    assert one.summary["seed"] == 1
    assert two.summary["seed"] == 2
    assert list(one.flows["start_ps"][:5]) != list(two.flows["start_ps"][:5])


QUERIES = """
seed = 7
[topology]
kind = "leaf_spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
[switch]
pfc = {enabled = false}
[schemes.h]
cc = "new_reno"
[[workloads]]
kind = "rpc"
mode = "open"
duration = "200us"
[[workloads]]
kind = "on_off"
duration = "300us"
[run]
stop = "3ms"
"""


def test_queries_are_on_disk_in_the_order_of_their_answers(tmp_path: Path) -> None:
    """Engines and threads learn of answers in orders of their own; what a kill leaves is the beginning of one order."""
    runs = {}
    for name, threads, engine in (("one", 1, "windowed"), ("two", 2, "windowed"), ("events", 1, "sequential")):
        sets = [f"run.engine={engine}"]
        runs[name] = pl.simulate(QUERIES, tmp_path / name, threads=threads, overrides=sets, progress="none")
    found = {name: (tmp_path / name / "queries.bin").read_bytes() for name in runs}
    assert found["one"] == found["two"] == found["events"]
    records = np.frombuffer(found["one"], QUERY_RECORD, offset=QUERY_RECORD.itemsize)
    answered = records[records["qct_ps"] > 0]
    assert len(answered) > 100
    at = (answered["start_ps"] + answered["qct_ps"]).tolist()
    assert at == sorted(at)


def test_a_run_without_flows_is_over_at_once(tmp_path: Path) -> None:
    """Where no flow was drawn one engine went on to the last link that fails, and sampled until then."""
    scenario = (
        "[topology]\nkind = 'leaf_spine'\nleaves = 3\nspines = 1\nhosts_per_leaf = 2\n[host]\nrto = '200us'\n"
        "[[failures]]\nlink = ['tor1', 'agg0']\ndown = '90us'\n[run]\nstop = '2ms'\n[schemes.x]\ncc = 'dctcp'\n"
        "[records.series]\ninterval = '10us'\nsamples = 2\n"
        "[[workloads]]\nkind = 'poisson'\nsizes = '50KB'\nload = { value = 0.000001 }\nduration = '1us'\n"
    )
    found = {}
    for engine in ("windowed", "sequential"):
        run = pl.simulate(scenario, tmp_path / engine, overrides=[f"run.engine={engine}"], progress="none")
        assert run.flow_counts()["finished"] == 0
        found[engine] = (run.status, run.simulated_ps, run.summary["series_interval_ps"])
    assert found["windowed"] == found["sequential"] == ("completed", 0, 10_000_000)
