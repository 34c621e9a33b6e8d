"""Result folders that two runs want, that hold the input of a run, or that contradict themselves."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import paceline as pl
from bad_input_cases import GOOD, TABLE


def contents(folder: str) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def test_a_folder_that_another_run_fills_is_left_alone(paceline):
    """Else a folder would hold tables of two runs, and look whole."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "r").code == 0
    before = contents("r")
    held = os.open("r", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    outcome = paceline("--json-errors", "run", "s.toml", "--out", "r", "--seed", "9")
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["field"], parts["value"]) == (2, "out", "r")
    assert parts["problem"] == "another run is writing here"
    assert contents("r") == before
    os.close(held)
    assert paceline("run", "s.toml", "--out", "r", "--seed", "9").code == 0
    assert pl.load("r").summary["seed"] == 9


def test_threads_that_want_one_folder_get_it_one_by_one(tmp_path):
    """A run that returns must return its own results, also where others wait for the folder."""

    def one(seed: int) -> int | None:
        try:
            return pl.simulate(GOOD, tmp_path / "same", seed=seed, progress="none").summary["seed"]
        except pl.InputError as error:
            assert error.problem == "another run is writing here"
            return None

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(1, 13)))
    assert any(found)
    assert all(got in (None, wanted) for got, wanted in zip(found, range(1, 13), strict=True))
    assert pl.load(tmp_path / "same").summary["seed"] in found


@pytest.mark.parametrize("way", ["in the folder", "a link in it", "a link to it"])
def test_a_run_does_not_replace_its_own_input(paceline, way):
    """`series.csv` of an earlier run as a flow table, and its folder for the new results: the table would be gone."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "own").code == 0
    table = "src,dst,bytes\n0,1,1KB\n"
    Path("own/series.csv").unlink()
    name = "own/series.csv"
    if way == "a link in it":
        Path("table.csv").write_text(table)
        Path("own/series.csv").symlink_to(Path("table.csv").absolute())
    else:
        Path("own/series.csv").write_text(table)
    if way == "a link to it":
        name = "link.csv"
        Path(name).symlink_to("own/series.csv")
    Path("t.toml").write_text(TABLE.replace("flows.csv", name))
    before = contents("own")
    outcome = paceline("--json-errors", "run", "t.toml", "--out", "own")
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["file"], parts["line"], parts["field"]) == (2, "t.toml", 8, "workloads.0.file")
    assert parts["problem"] == "the run would replace its own input"
    assert contents("own") == before
    assert paceline("run", "t.toml", "--out", "other").code == 0
