"""Result folders: complete, killed and malformed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from helpers.synthetic import FAILED_AFTER_PS, SPAN_PS, flow_records, write_flows, write_run
from paceline.results import STATUS, Results, ResultsError
from paceline.results.queue_levels import by_port, waiting


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run", flows=400, schemes=("hpcc", "dcqcn"))


def test_flows_come_back_as_written(folder: Path) -> None:
    run = Results.load(folder)
    written = flow_records(1, 400, schemes=2)
    assert run.flows.rows == 400
    failed = written["status"] == STATUS.index("failed")
    assert run.flows["fct_sender_ps"].tolist() == np.where(failed, 0, written["fct_sender_ps"]).tolist()
    assert run.flows["failed_after_ps"].tolist() == np.where(failed, FAILED_AFTER_PS, 0).tolist()
    assert run.flows["status"].tolist().count("failed") == 2
    assert set(run.flows["scheme"]) == {"hpcc", "dcqcn"}
    assert run.flow_counts() == {"not_started": 0, "running": 12, "finished": 386, "failed": 2}
    assert "12 running" in repr(run)
    for side in ("sender", "receiver"):
        counts, sample = run.flow_counts(side), run.fct(side)
        assert counts["failed"] == int(sample.failed.sum())
        assert counts["running"] == int((sample.censored & ~sample.failed).sum())
    assert "fct_sender_ps" in run.flows._repr_html_()
    with pytest.raises(KeyError, match="no column 'fct'"):
        run.flows["fct"]


def test_tables_are_columns_of_numbers(folder: Path) -> None:
    run = Results.load(folder)
    assert run.links["busy_ps"].dtype == np.int64
    # Every port's histogram covers the run, to the rounding of the generator.
    port = run.queues.where((run.queues["node"] == 32) & (run.queues["port"] == 1))
    assert port["time_ps"].sum() == pytest.approx(SPAN_PS, rel=1e-6)
    assert run.series["value"].dtype == np.float64


def test_the_measuring_window_counts_flows_by_their_creation(tmp_path: Path) -> None:
    window = {"warmup_ps": SPAN_PS // 10, "end_ps": SPAN_PS // 2}
    run = Results.load(write_run(tmp_path / "r", flows=300, tables=False, measure=window))
    start = run.flows["start_ps"]
    inside = (start >= SPAN_PS // 10) & (start < SPAN_PS // 2)
    assert run.measured.tolist() == inside.tolist()
    assert len(run.slowdown()) == inside.sum() < 300


def test_slowdown_divides_by_the_ideal_of_its_kind(folder: Path) -> None:
    run = Results.load(folder)
    f = run.flows.where(run.measured)
    done = f["status"] == "finished"
    for side in ("sender", "receiver"):
        found = run.slowdown(side=side)
        expected = f[f"fct_{side}_ps"][done] / f[f"ideal_{side}_ps"][done]
        assert found.value[done].tolist() == expected.tolist()
        assert found.censored.tolist() == (~done).tolist()
    # A failed flow was observed until it was given up, a running one until the run ended.
    until = np.where(f["status"] == "failed", FAILED_AFTER_PS, SPAN_PS - f["start_ps"].astype(float))
    age = until[~done] / f["ideal_sender_ps"][~done]
    assert run.slowdown().value[~done].tolist() == np.maximum(age, 1).tolist()
    assert run.slowdown().failed_count == 2
    assert run.slowdown("hpcc").value.min() >= 1


def test_slowdown_refuses_what_it_cannot_know(folder: Path, tmp_path: Path) -> None:
    run = Results.load(folder)
    with pytest.raises(ValueError, match="sender's FCT only"):
        run.slowdown("hpcc", "receiver")
    records = flow_records(1, 50)
    records["ideal_hpcc_ps"][40] = 0
    broken = write_run(tmp_path / "r", flows=50, tables=False)
    write_flows(broken / "flows.bin", records)
    with pytest.raises(ResultsError, match="flow 40 has no ideal_hpcc_ps"):
        Results.load(broken).slowdown("hpcc")


def test_a_killed_run_opens(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", flows=100, status="running", simulated_ps=0)
    records = flow_records(1, 100)
    records[90:] = np.zeros(10, dtype=records.dtype)  # not started yet
    write_flows(folder / "flows.bin", records, stated=0)
    with (folder / "flows.bin").open("ab") as file:
        file.write(b"\2\3half a record")
    with (folder / "links.csv").open("a") as file:
        file.write("33,4,12,tor->ho")
    (folder / "queues.csv").write_text("")
    (folder / "series.csv").unlink()
    summary = json.loads((folder / "summary.json").read_text())
    for gone in ("machine", "load", "engine", "simulated_ps"):
        del summary[gone]
    (folder / "summary.json").write_text(json.dumps(summary))
    run = Results.load(folder)
    assert run.flow_counts()["not_started"] == 10
    assert run.links.rows == 96
    assert run.queues.rows == run.series.rows == 0
    # Without a simulated time the flows tell how far it got: no flow is younger than 0.
    assert run.simulated_ps >= int(records["start_ps"][:90].max())
    assert run.slowdown().value.min() >= 1


def _edit(**changes: object) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        summary = json.loads((folder / "summary.json").read_text())
        for key, value in changes.items():
            if value is None:
                del summary[key]
            else:
                summary[key] = value
        (folder / "summary.json").write_text(json.dumps(summary))

    return apply


def _append(name: str, data: bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.write(data)

    return apply


def _write(name: str, data: bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return apply


def _counting(folder: Path, **counters: object) -> None:
    file = folder / "summary.json"
    summary = json.loads(file.read_text())
    file.write_text(json.dumps(summary | {"counters": summary["counters"] | counters}))


def read_everything(folder: Path) -> None:
    run = Results.load(folder)
    assert run.queues.rows + run.links.rows + run.pauses.rows + run.series.rows


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda f: (f / "summary.json").unlink(), "no result folder, or the run was killed before it began"),
        (_write("summary.json", b'{"schema_version": 1'), "summary.json: is not JSON"),
        (_write("summary.json", b"[]"), "schema_version is None"),
        (_edit(schema_version=2), "schema_version is 2; this Paceline reads 1"),
        (_edit(status="done"), "status is 'done'; allowed: completed"),
        (_edit(counters={}), "counters.events is missing"),
        (lambda f: _counting(f, wasted_permits="many"), "counters.wasted_permits is 'many'"),
        (_edit(hosts="many"), "hosts is 'many'"),
        (_edit(schemes=[{"cc": "hpcc"}]), "schemes.0. needs name"),
        (_edit(schemes=[]), "scheme index 0, but summary.json names 0"),
        (_edit(measure={"warmup_ps": "1us"}), "warmup_ps is '1us'"),
        (_edit(warnings=[1]), "warnings must be a list of strings"),
        (lambda f: (f / "flows.bin").unlink(), "flows.bin: cannot be read"),
        (_write("flows.bin", b"PACELFLW"), "ends inside its 64-byte header"),
        (_write("flows.bin", b"x" * 224), "does not begin with PACELFLW"),
        (_write("flows.bin", b"PACELFLW" + bytes([9, 0, 0, 0, 80]) + bytes(51)), "version 9"),
        (_append("flows.bin", b"x"), "promises 60 records, it holds 60 and 1 bytes"),
        (_append("links.csv", b"1,2\n"), "links.csv: line 98 has 2 cells, the header 19"),
        (_append("pauses.csv", b"x,0,1,host->tor,3,1,1,1,0\n"), "node is 'x', not a whole number"),
        (_append("series.csv", b"99999999999999999999,queue_bytes,1:1,5\n"), "time_ps is '9+', not a whole"),
        (_append("queues.csv", b"\xff\n"), "queues.csv: is not UTF-8"),
        (_write("links.csv", b"node,port\n"), "links.csv: line 1 has no column peer, tier"),
        (_write("links.csv", b""), "links.csv: line 1 has no column node"),
    ],
)  # fmt: skip
def test_a_malformed_folder_is_named_with_its_problem(
    tmp_path: Path, damage: Callable[[Path], None], problem: str
) -> None:
    folder = write_run(tmp_path / "r", flows=60)
    damage(folder)
    with pytest.raises(ResultsError, match=problem):
        read_everything(folder)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no such result folder"):
        Results.load(tmp_path / "nothing")


def test_a_folder_that_is_gone_is_no_table_without_rows(folder: Path, tmp_path: Path) -> None:
    results = Results.load(shutil.copytree(folder, tmp_path / "copy"))
    results.path.rename(tmp_path / "elsewhere")
    with pytest.raises(ResultsError, match="is no longer there"):
        results.queues  # noqa: B018


def test_an_fct_that_does_not_exist_is_no_zero(folder: Path) -> None:
    """The mean of `to_pandas()["fct_sender_ps"]` counted unfinished flows as finished in no time."""
    flows = Results.load(folder).flows
    absent = flows["fct_sender_ps"] == 0
    assert absent.any()
    times = flows.masked("fct_sender_ps")
    assert times.mask.tolist() == absent.tolist()
    assert times.min() > 0
    assert not flows.masked("start_ps").mask.any()
    for method, missing in (
        ("to_pandas", lambda table: table["fct_sender_ps"].isna().to_list()),
        ("to_polars", lambda table: table["fct_sender_ps"].is_null().to_list()),
        ("to_arrow", lambda table: table["fct_sender_ps"].is_null().to_pylist()),
    ):
        if find_spec(method.removeprefix("to_").replace("arrow", "pyarrow")):
            assert missing(getattr(flows, method)()) == absent.tolist()
    assert len(repr(Results.load(folder).slowdown())) < 120


def test_a_missing_library_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    for convert in ("to_pandas", "to_polars", "to_arrow"):
        with pytest.raises(ImportError, match=r"needs (pandas|polars|pyarrow), which is not installed"):
            getattr(Results.load(folder), convert)()


def test_samples_are_told_apart_by_kind_and_id(tmp_path):
    """Port 1:2 and flow 12 have samples at the same instants, in whatever order the file has them."""
    folder = write_run(tmp_path / "r", flows=20)
    rows = [
        "7,queue_bytes,1:2,3",
        "5,queue_bytes,1:2,1",
        "5,rate_bps,12,9",
        "5,queue_bytes,1:20,4",
        "7,queue_bytes,1:2,5",
    ]
    (folder / "series.csv").write_text("\n".join(["time_ps,kind,id,value", *rows]) + "\n")
    run = Results.load(folder)
    found = {port: (time.tolist(), value.tolist()) for port, (time, value) in run.samples("queue_bytes").items()}
    assert found == {"1:2": ([5, 7, 7], [1, 3, 5]), "1:20": ([5], [4])}
    assert list(run.samples("rate_bps")) == ["12"]
    assert run.samples("cwnd_bytes") == {}


def test_queues_of_ports_that_overlap_are_no_results(tmp_path):
    """Who reads a folder from elsewhere is to learn which file is wrong, not which sum came out so."""
    folder = write_run(tmp_path / "r", flows=20)
    head, first, *rest = (folder / "queues.csv").read_text().splitlines()
    cells = first.split(",")
    names = head.split(",")
    cells[names.index("bin_high_bytes")] = "100000"
    (folder / "queues.csv").write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
    run = Results.load(folder)
    everything = np.ones(run.queues.rows, dtype=bool)
    for read in (by_port, lambda run: waiting(run, everything)):
        with pytest.raises(ResultsError, match=r"queues\.csv: queue bins must not overlap"):
            read(run)
