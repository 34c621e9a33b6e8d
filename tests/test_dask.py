"""A sweep on a Dask cluster: a real scheduler, two worker processes, one of them killed on the way."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from helpers.long_runs import long_run

LONG = long_run("8ms")


def process(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / "dask.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", *arguments], cwd=folder, stdout=log, stderr=log)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of a scheduler, and its two workers."""
    pytest.importorskip("distributed", reason="Dask is an extra")
    about = tmp_path / "scheduler.json"
    own = ("--no-dashboard", "--interface", "lo")
    with ExitStack() as stack:

        def started(*arguments: str) -> subprocess.Popen[bytes]:
            made = process(tmp_path, *arguments)
            stack.callback(made.wait)
            stack.callback(made.kill)
            return made

        started("distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", str(about), *own)
        common = ("--scheduler-file", str(about), "--no-nanny", "--nthreads", "1", *own)
        workers = [started("distributed.cli.dask_worker", *common, "--name", name) for name in ("a", "b")]
        deadline = time.monotonic() + 60
        while not (about.exists() and about.read_text().strip()):
            assert time.monotonic() < deadline, (tmp_path / "dask.log").read_text()
            time.sleep(0.05)
        address = json.loads(about.read_text())["address"]
        yield address.replace("tcp://", "dask://"), workers


def table(folder: Path) -> list[dict[str, str]]:
    rows = csv.DictReader((folder / "sweep.csv").read_text().splitlines())
    return [{name: value for name, value in row.items() if name != "folder"} for row in rows]


def test_the_points_of_a_killed_worker_are_made_again_and_the_results_are_those_of_a_local_sweep(tmp_path, cluster):
    address, workers = cluster
    (tmp_path / "long.toml").write_text(LONG)
    sweep = ("paceline", "sweep", "long.toml", "--vary", "workloads.0.load.value=0.3,0.4", "--seeds", "2", "-q")
    far = process(tmp_path, *sweep, "--executor", address, "--cache", "far", "--out", "far-table")
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "far").glob("*/.parts/*.lock"))) < 2:  # each worker is at a run
        assert far.poll() is None, (tmp_path / "dask.log").read_text()
        assert time.monotonic() < deadline, (tmp_path / "dask.log").read_text()
        time.sleep(0.005)
    workers[0].send_signal(signal.SIGKILL)
    assert far.wait(timeout=120) == 0, (tmp_path / "dask.log").read_text()

    left = list((tmp_path / "far").glob("*/.parts/*.lock"))
    assert len(left) == 1, "the killed worker was not at a run: the test has shown nothing"
    assert len(table(tmp_path / "far-table")) == 4
    assert process(tmp_path, *sweep, "--cache", "near", "--out", "near-table").wait(timeout=120) == 0
    assert table(tmp_path / "far-table") == table(tmp_path / "near-table")
    for near in (tmp_path / "near").glob("[0-9a-f]*/[0-9a-f]*/flows.bin"):
        far_file = tmp_path / "far" / near.relative_to(tmp_path / "near")
        assert far_file.read_bytes() == near.read_bytes()


def test_a_scheduler_that_does_not_answer_is_told(tmp_path):
    pytest.importorskip("distributed", reason="Dask is an extra")
    (tmp_path / "long.toml").write_text(LONG)
    command = [sys.executable, "-m", "paceline", "sweep", "long.toml", "--executor", "dask://127.0.0.1:1"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("error: dask://127.0.0.1:1: no Dask scheduler answers")
