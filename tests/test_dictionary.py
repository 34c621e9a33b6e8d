"""The data dictionary says what result folders hold, no less and no more."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import paceline as pl
from paceline.results import columns, parquet
from paceline.sweeps.points import Run, Runs

PAGE = Path(__file__).parents[1] / "docs/results.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("run") / "r"
    scenario = pl.Scenario(
        topology=pl.Star(hosts=9),
        switch=pl.Switch(buffer="500KB"),
        schemes={"none": pl.NoControl()},
        workloads=[
            pl.SynchronousIncast(senders=8),
            pl.ClosedRpc(clients=[1], servers=[2], start="100us", duration="50us"),
            pl.Cg(problem_class="S", hosts=["3-6"]),
        ],
        run=pl.Run(stop="200us"),
        records=pl.Records(series=pl.Series(flows=[0]), packets=pl.Packets(rows=5000)),
    )
    pl.simulate(scenario, out, progress="none")
    return out


def test_the_page_is_up_to_date():
    if os.environ.get("UPDATE") == "1":
        PAGE.write_text(columns.markdown())
    assert PAGE.read_text() == columns.markdown(), "UPDATE=1 pytest tests/test_dictionary.py makes it anew"


@pytest.mark.parametrize("table", columns.TABLES, ids=lambda t: t.name)
def test_tables_have_the_columns_of_the_dictionary(folder, table):
    rows = list(csv.reader((folder / f"{table.name}.csv").read_text().splitlines()))
    assert rows[0] == [c.name for c in table.columns]
    assert len(rows) > 1
    for column, cells in zip(table.columns, zip(*rows[1:], strict=True), strict=True):
        for cell in cells:
            column.kind(cell or 0)
    assert all(c.unit or c.kind is str or not c.name.endswith(("_ps", "_bytes", "_bps")) for c in table.columns)


@pytest.mark.parametrize("table", columns.TABLES, ids=lambda t: t.name)
def test_columns_say_when_values_need_not_exist(table):
    """What stands for none would be taken for a value where the page says nothing of it."""
    said = {c.name for c in table.columns if c.meaning.endswith("; empty without.")}
    assert said == table.absent.keys()


def test_the_summary_has_the_values_of_the_dictionary(folder):
    found = set()
    for key, value in json.loads((folder / "summary.json").read_text()).items():
        listed = key in ("load", "mpi")
        inner = value[0] if listed else value
        dot = f"{key}[]." if listed else f"{key}."
        found |= {f"{dot}{k}" for k in inner} if isinstance(inner, dict) else {key}
    # Traffic by scheme is kept over TCP and UDP, failures where links fail, priorities over Homa.
    rest = {"traffic", "failures"} | {c.name for c in columns.SUMMARY if c.name.startswith("priorities.")}
    assert found == {c.name for c in columns.SUMMARY} - rest


def test_a_sweep_has_the_columns_of_the_dictionary(folder):
    """`sweep.csv` was on no page, and `paceline explain queue_mean_bytes` knew no such word."""
    (row,) = pl.tidy(Runs((Run(pl.Point(scenario="s.toml", key={"x": 1}), folder),)))
    assert list(row) == ["x", *(c.name for c in columns.SWEEP)]
    for c in columns.SWEEP:
        assert row[c.name] is None or isinstance(row[c.name], c.kind), c.name


def test_csv_and_columns_agree(folder):
    results = pl.load(folder)
    rows = list(csv.DictReader((folder / "flows.csv").read_text().splitlines()))
    for name in results.flows:
        assert [str(v) for v in results.flows[name]] == [row[name] or "0" for row in rows], name
    assert np.any(results.flows["fct_sender_ps"] == 0), "no flow was under way at the end"


def test_parquet_holds_the_flows_with_units_and_nulls(folder):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet as reader

    results = pl.load(folder)
    path = parquet.write_flows(results)
    table = reader.read_table(path)
    assert table.column_names == [c.name for c in columns.FLOWS.columns]
    assert table.schema.field("start_ps").metadata[b"unit"] == b"ps"
    assert table.schema.metadata[b"name"] == results.name.encode()
    for name in results.flows:
        expected = [
            None if name.startswith(("fct_", "failed_")) and v == 0 else v for v in results.flows[name].tolist()
        ]
        assert table.column(name).to_pylist() == expected, name
    assert not list(folder.glob(".*.part"))


def test_parquet_holds_every_table_as_its_csv_has_it(folder):
    """Only flows were there as Parquet; of queues, links and series one had to read the text and guess types."""
    pytest.importorskip("pyarrow")
    from pyarrow import parquet as reader

    results = pl.load(folder)
    written = {path.stem: path for path in parquet.write_tables(results)}
    assert set(written) == {path.stem for path in folder.glob("*.csv")}
    for table in columns.TABLES:
        found = reader.read_table(written[table.name])
        rows = list(csv.DictReader((folder / f"{table.name}.csv").read_text().splitlines()))
        assert found.column_names == [c.name for c in table.columns]
        for c in table.columns:
            values = [c.kind(row[c.name]) if row[c.name] else None for row in rows]
            assert found.column(c.name).to_pylist() == values, (table.name, c.name)
            assert found.schema.field(c.name).metadata[b"unit"] == c.unit.encode()
        assert found.schema.metadata[b"seed"] == b"1"
        assert len(found.schema.metadata[b"scenario_sha256"]) == 64


def test_a_killed_run_gets_parquet_files_of_all_its_tables(folder, tmp_path):
    """Only flows had one: who reads Parquet found no queues, links or series of a run that had been killed."""
    pytest.importorskip("pyarrow")
    from pyarrow import parquet as reader

    killed = tmp_path / "killed"
    shutil.copytree(folder, killed, ignore=shutil.ignore_patterns("*.parquet"))
    summary = json.loads((killed / "summary.json").read_text())
    (killed / "summary.json").write_text(json.dumps(summary | {"status": "running"}))
    series = (killed / "series.csv").read_text().splitlines(keepends=True)
    assert len(series) > 3
    (killed / "series.csv").write_text("".join(series)[:-4])
    (killed / "pauses.csv").write_text("")
    pl.restore(killed)
    assert {path.stem for path in killed.glob("*.parquet")} == {path.stem for path in folder.glob("*.csv")} - {"pauses"}
    assert reader.read_table(killed / "series.parquet").num_rows == len(series) - 2, "half a row is none"
    written = (killed / "links.parquet").stat().st_mtime_ns
    # As if it was restored while the run went on.
    os.utime(killed / "queues.parquet", (1, 1))
    pl.restore(killed)
    assert (killed / "links.parquet").stat().st_mtime_ns == written, "nothing was missing"
    assert (killed / "queues.parquet").stat().st_mtime_ns > written, "what is older than its table stays behind"
    for damaged in (b"time_ps\n1\n", (killed / "links.csv").read_bytes().replace(b",", b",x", 40)):
        (killed / "links.csv").write_bytes(damaged)
        with pytest.raises(pl.ResultsError, match=r"links\.csv: is no table of links"):
            pl.restore(killed)
        assert not list(killed.glob(".*.part")), "half of a file stays"
