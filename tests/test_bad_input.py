"""Whatever is wrong with the input: the message names place, value and what is allowed, and nothing is written."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import paceline as pl
from bad_input_cases import CASES, CONFIG, FLOW, GOOD, NET, Case

SOME_FLOW = pl.Flows(rows=[pl.FlowRow(src=0, dst=1, bytes="1KB")])


def scenario(**changes: object) -> pl.Scenario:
    parts = {"topology": pl.Star(hosts=4), "schemes": {"h": pl.Hpcc()}, "workloads": [SOME_FLOW]}
    return pl.Scenario(**(parts | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.told.get('file', 'line')}-{c.name}".replace(" ", "-"))
def test_a_mistake_is_named_and_nothing_is_written(paceline, case: Case):
    for name, text in case.files.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    Path("out").mkdir()
    outcome = paceline("--json-errors", *case.command)
    assert (outcome.code, outcome.out) == (2, "")
    parts = json.loads(outcome.err)
    for key, value in case.told.items():
        if isinstance(value, int):
            assert parts[key] == value, parts
        else:
            assert value in parts[key], parts
    assert {p.name for p in Path().iterdir()} == {*case.files, "out"}
    assert list(Path("out").iterdir()) == []
    plain = paceline(*case.command)
    assert plain.code == 2
    assert plain.err.startswith("error: ")
    assert "Traceback" not in plain.err
    assert all(str(value) in plain.err for key, value in case.told.items() if key != "problem")


@pytest.mark.parametrize("file", ["toml", "net.txt", "flows.csv", "sizes.txt", "config.txt", "line"])
def test_every_kind_of_input_has_its_five_mistakes(file):
    assert sum(file in str(case.told.get("file", "line")) for case in CASES) >= 5


def call(scenario: object, **options: object) -> Callable[[], object]:
    return lambda: pl.simulate(scenario, "out", **options)  # type: ignore[arg-type]


LOST = pl.SynchronousIncast(receiver=9)
API = {
    "not a scenario": (call(3), "scenario", "int", "a paceline.Scenario"),
    "no such file": (call("nowhere.toml"), None, None, "a scenario in TOML"),
    "out of range": (call(scenario(schemes={"h": pl.Hpcc(eta=7)})), "schemes.h.eta", "7", "at most 1"),
    "a list for a text": (call(scenario(name=[1])), "name", "[1]", "a name"),
    "no TOML": (call(scenario(name={1})), "scenario", None, "paceline.scenario"),
    "rate": (call(scenario(topology=pl.Star(host_rate="fast"))), "topology.host_rate", "fast", "100Gbps"),
    "host": (call(scenario(workloads=[LOST])), "workloads.0.receiver", "9", "0 to 3"),
    "text": (call("sede = 1\n" + GOOD), "sede", "1", "seed"),
    "threads": (call(scenario(), threads=0), "threads", "0", "1 to"),
    "seed": (call(scenario(), seed=1.5), "seed", "1.5", "a whole number"),
    "big seed": (call(scenario(), seed=2**63), "seed", str(2**63), "a whole number"),
    "flow id": (call(scenario(), follow_flows=["a"]), "follow_flows", "'a'", "whole number"),
    "progress": (call(scenario(), progress="loud"), "progress", "loud", '"auto"'),
    "override": (call(scenario(), overrides=["seed"]), "--set", "seed", "key=value"),
}


@pytest.mark.parametrize("name", API)
def test_a_mistake_in_a_call_is_named_and_nothing_is_written(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    simulate, field, value, allowed = API[name]
    with pytest.raises(pl.InputError) as raised:
        simulate()
    error = raised.value
    assert isinstance(error, ValueError)
    assert error.field == field
    assert value is None or value in (error.value or "")
    assert error.file != "", "there is no file to name"
    assert allowed in (error.allowed or "")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_files_is_left_alone(paceline):
    Path("s.toml").write_text(GOOD)
    Path("mine").mkdir()
    for name in ("flows.csv", "thesis.tex"):
        Path("mine", name).write_text("years of work")
    outcome = paceline("--json-errors", "run", "s.toml", "--out", "mine")
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["field"], parts["value"]) == (2, "out", "mine")
    assert "empty folder" in parts["allowed"]
    assert {p.name: p.read_text() for p in Path("mine").iterdir()} == dict.fromkeys(
        ("flows.csv", "thesis.tex"), "years of work"
    )
    assert paceline("run", "s.toml", "--out", ".").code == 2
    assert Path("s.toml").read_text() == GOOD


def test_a_result_folder_is_replaced_and_other_files_in_it_stay(paceline):
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "r").code == 0
    assert paceline("report", "r", "-q").code == 0
    Path("r/notes.txt").write_text("keep")
    assert paceline("run", "s.toml", "--out", "r", "--seed", "9").code == 0
    assert pl.load("r").summary["seed"] == 9
    assert Path("r/notes.txt").read_text() == "keep"
    assert not Path("r/report.html").exists(), "it showed the other run"
    assert not Path("r/figures").exists()


def test_an_output_that_is_a_file_is_a_failure_with_its_name(paceline):
    Path("s.toml").write_text(GOOD)
    Path("taken").write_text("mine")
    outcome = paceline("run", "s.toml", "--out", "taken")
    assert outcome.code == 1
    assert "taken" in outcome.err
    assert "Traceback" not in outcome.err
    assert Path("taken").read_text() == "mine"
    assert paceline("run", "s.toml", "--out", "taken/below").code == 1
    with pytest.raises(OSError, match="taken"):
        pl.simulate("s.toml", "taken")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_a_failure_with_its_name(paceline):
    Path("s.toml").write_text(GOOD)
    Path("locked").mkdir(mode=0o500)
    outcome = paceline("run", "s.toml", "--out", "locked/r")
    assert outcome.code == 1
    assert "locked" in outcome.err


def limited(command: list[str], folder: Path, largest: int) -> subprocess.CompletedProcess[str]:
    """Runs a command that may write files up to a size: the next best thing to a full disk."""
    return subprocess.run(
        # -B: under the limit Python would leave bytecode files cut short for everybody after it.
        [sys.executable, "-B", "-m", "paceline", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
    )


@pytest.mark.parametrize("largest", [100, 6000])
def test_a_disk_that_takes_no_more_is_a_failure_with_the_folder(tmp_path, largest):
    """First where the summary does not fit, then where it does and a table does not."""
    (tmp_path / "s.toml").write_text(GOOD.replace("hosts = 4", "hosts = 200"))
    done = limited(["run", "s.toml", "--out", "r"], tmp_path, largest)
    assert done.returncode == 1
    assert "r: the results cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    if largest > 1000:
        assert pl.load(tmp_path / "r").status == "running"


def test_the_hpcc_command_tells_of_an_output_it_cannot_write(paceline):
    for name, text in {"config.txt": CONFIG, "net.txt": NET, "flow.txt": FLOW, "trace.txt": "0\n"}.items():
        Path(name).write_text(text)
    outcome = paceline("--json-errors", "hpcc", "config.txt")
    assert outcome.code in (1, 2)
    assert "out/" in outcome.err
    Path("out").mkdir()
    assert paceline("hpcc", "config.txt").code == 0
    assert len(Path("out/fct.txt").read_text().splitlines()) == 1
