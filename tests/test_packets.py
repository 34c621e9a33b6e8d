"""The record of packets as a user reads it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import paceline as pl
from paceline.differences import compare
from paceline.report.packets import sequences
from paceline.report.write import write_report
from paceline.results import ResultsError


def scenario(**packets) -> pl.Scenario:
    return pl.Scenario(
        topology=pl.Star(hosts=4),
        switch=pl.Switch(buffer="150KB", pfc=pl.Pfc(headroom="auto")),
        schemes={"none": pl.NoControl()},
        workloads=[pl.SynchronousIncast(senders=3, sizes="50KB")],
        records=pl.Records(packets=pl.Packets(**packets)),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("run") / "r"
    pl.simulate(scenario(rows=100_000), out, progress="none")
    return out


def test_columns_are_those_of_the_csv(folder):
    packets = pl.Results.load(folder).packets
    with (folder / "packets.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert packets.rows == len(rows) > 0
    for name in packets:
        said = ["" if m else str(v) for m, v in zip(*(packets.masked(name).mask, packets[name]), strict=True)]
        assert said == [row[name] for row in rows], name


def test_what_does_not_exist_is_not_number_0(folder):
    """Flow 0 and packet 0 exist: of pauses, which have neither, they would be made up."""
    packets = pl.Results.load(folder).packets
    paused = packets["kind"] == "pause"
    assert paused.any()
    assert packets.masked("flow_id").mask[paused].all()
    assert not packets.masked("flow_id").mask[packets["kind"] == "data"].any()
    first = packets.where((packets["flow_id"] == 0) & (packets["seq"] == 0))
    assert list(first["time_ps"]) == sorted(first["time_ps"])
    assert first.rows == 2  # host and switch


def test_a_run_that_was_killed_has_the_packets_until_then(folder, tmp_path):
    """As a kill leaves it: half a record at the end, no CSV, a summary that says running."""
    for name in ("summary.json", "scenario.toml", "flows.bin"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    summary = json.loads((tmp_path / "summary.json").read_text())
    del summary["packets"]
    (tmp_path / "summary.json").write_text(json.dumps(summary | {"status": "running"}))
    data = (folder / "packets.bin").read_bytes()
    (tmp_path / "packets.bin").write_bytes(data[: 64 * 11 + 30])
    whole = pl.Results.load(folder).packets
    packets = pl.Results.load(tmp_path).packets
    assert packets.rows == 10
    assert all(np.array_equal(packets[name], whole[name][:10]) for name in packets)
    subprocess.run([sys.executable, "-m", "paceline", "report", str(tmp_path)], check=True, capture_output=True)
    lines = (folder / "packets.csv").read_text().splitlines()
    assert (tmp_path / "packets.csv").read_text().splitlines() == lines[:11]


@pytest.mark.parametrize("damage", [lambda b: b"x" + b[1:], lambda b: b[:-64], lambda b: b[:-4] + b"\xff" * 4])
def test_a_damaged_file_is_told(folder, tmp_path, damage):
    """The last: no such event."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    data = (folder / "packets.bin").read_bytes()
    # The codes stand before the last four bytes of a record.
    (tmp_path / "packets.bin").write_bytes(damage(data[:-4]) + data[-4:])
    with pytest.raises(ResultsError, match=r"packets\.bin"):
        pl.Results.load(tmp_path).packets.rows  # noqa: B018


def test_the_report_shows_what_was_lost_and_sent_again(tmp_path):
    """The picture is looked at for just that."""
    lossy = replace(scenario(rows=100_000), switch=pl.Switch(buffer="20KB", pfc=pl.Pfc(enabled=False)))
    results = pl.simulate(lossy, tmp_path / "r", progress="none")
    packets = results.packets
    shown, others = sequences(results)
    assert (len(shown), others) == (3, 0)
    dropped = int(np.count_nonzero(packets["event"] == "dropped_buffer"))
    assert sum(len(flow.lost[0]) for flow in shown.values()) == dropped > 0
    assert sum(len(flow.again[0]) for flow in shown.values()) == int(results.flows["retransmitted_packets"].sum())
    assert all(len(flow.sent[0]) == 50 and flow.acked[1].max() == 50 for flow in shown.values())
    page = write_report([results.path], tmp_path / "r" / "report.html")
    assert 'id="packets"' in page.read_text()
    assert (tmp_path / "r" / "figures" / "packets.png").is_file()


def test_flows_beside_connections_keep_their_names(tmp_path):
    """Connections have ids and no row in the table of flows: a row by its place would be another flow's."""
    mixed = replace(
        scenario(rows=100_000),
        workloads=[
            pl.ClosedRpc(clients=[0], servers=[1], duration="20us"),
            pl.Flows(rows=[pl.FlowRow(src=2, dst=3, bytes="5KB", start="5us")]),
        ],
        run=pl.Run(stop="100us"),
    )
    results = pl.simulate(mixed, tmp_path / "r", progress="none")
    (flow,) = results.flows["flow_id"].tolist()
    assert flow > 0
    assert f"flow {flow}: 2 → 3, 5 KB, none" in sequences(results)[0]


def test_two_runs_differ_in_packets_only_where_both_recorded_them(folder, tmp_path):
    pl.simulate(scenario(), tmp_path / "without", progress="none")
    pl.simulate(scenario(rows=100_000), tmp_path / "again", progress="none")
    recorded, without, again = (pl.Results.load(p) for p in (folder, tmp_path / "without", tmp_path / "again"))
    assert compare(recorded, without).equal
    assert without.packets.rows == 0
    compared = compare(recorded, again)
    assert compared.equal
    assert any(rows.table == "packets" and rows.first_rows for rows in compared.rows)
