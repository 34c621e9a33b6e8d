"""Scenarios and results as files of the HPCC simulator: what they hold, and what they cannot say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paceline import _native
from paceline.hpcc import FCT, FILES, export, hpcc
from paceline.run import simulate

SCENARIO = """schema = 1
name = "exported"

[topology]
kind = "star"
hosts = 5
link_delay = "1us"

[schemes.hpcc]
cc = "hpcc"

[[workloads]]
kind = "flows"
scheme = "hpcc"
rows = [
    { src = "host0", dst = "host4", bytes = "100KB", start = "0ns" },
    { src = "host1", dst = "host4", bytes = "101KB", start = "137ns" },
    { src = "host2", dst = "host4", bytes = "102KB", start = "275ns" },
    { src = "host3", dst = "host4", bytes = "103KB", start = "411ns" },
]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "exported.toml"
    path.write_text(SCENARIO)
    return path


def test_the_files_run_as_the_scenario_does(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows take as long by the files, in whole nanoseconds, and the folder has all that `paceline hpcc` needs."""
    folder = tmp_path / "a folder"
    made = export(scenario, folder)
    assert (made.folder, made.flows) == (folder, 4)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    monkeypatch.chdir(folder)
    assert hpcc(Path("config.txt"), quirks=())["status"] == "completed"
    rows = [line.split() for line in (folder / "fct.txt").read_text().splitlines()]
    flows = simulate(scenario).flows
    assert sorted((int(row[4]), int(row[6])) for row in rows) == sorted(
        (int(size), int(fct) // 1000) for size, fct in zip(flows["size_bytes"], flows["fct_sender_ps"], strict=True)
    )
    assert [int(row[5]) for row in sorted(rows)] == [2_000_000_000 + after for after in (0, 137, 275, 411)]


def test_its_files_are_a_scenarios_network_and_flows(scenario: Path, tmp_path: Path) -> None:
    """As they are, with nothing converted. The first flow starts at once, where the file says 2 s."""
    folder = export(scenario, tmp_path / "files").folder
    of_files = tmp_path / "of-files.toml"
    of_files.write_text(
        """schema = 1
name = "of-files"
topology = { kind = "file", file = "files/topology.txt" }
schemes.hpcc = { cc = "hpcc" }
workloads = [{ kind = "flows", scheme = "hpcc", file = "files/flow.txt" }]
"""
    )
    columns = ("src", "dst", "size_bytes", "start_ps", "fct_sender_ps")
    ours, theirs = (simulate(path).flows for path in (scenario, of_files))
    assert [list(ours[name]) for name in columns] == [list(theirs[name]) for name in columns]
    # Another start delays them all; a class that no flow has is told of.
    later = simulate(of_files, overrides=["workloads.0.start=3us", "workloads.0.class=5"])
    assert list(later.flows["start_ps"]) == [3_000_000 + start for start in ours["start_ps"]]
    assert any("class is 5, but every flow" in told for told in later.summary["warnings"])
    flows = (folder / "flow.txt").read_text()
    for bad, why in (
        (flows.replace(" 0 4 3 ", " 0 5 3 ").replace("\n0 4 3 ", "\n0 5 3 "), "not a host"),
        ("1\n0 1 3 100 1000 2 7\n", "not a row of a flow"),
        (
            "2\n0 1 3 100 1000 2\n0 1 3 100 1000 1003\n",
            "flow 1 start = 1001s after the first: starts too late",
        ),
        ("0\n", "no flows in the file"),
    ):
        (folder / "flow.txt").write_text(bad)
        with pytest.raises(_native.InputError, match=why):
            simulate(of_files)


def test_it_says_what_the_files_cannot(scenario: Path, tmp_path: Path, paceline: Callable[..., Any]) -> None:
    """Notices go to standard error; files that are there stay unless --force says otherwise."""
    told = paceline("export", scenario.name, "--set", "switch.buffer=1500KB")
    assert told.code == 0
    assert told.out == "4 flows written; `cd exported-hpcc && paceline hpcc config.txt` runs them\n"
    assert "notice: switch.buffer: 1500KB in the scenario, 1MiB by the files" in told.err.splitlines()
    config = tmp_path / "exported-hpcc" / "config.txt"
    before = config.read_text()
    again = paceline("export", scenario.name)
    assert again.code == 2
    assert "is there already" in again.err
    assert config.read_text() == before
    assert paceline("export", scenario.name, "--force").code == 0
    assert config.read_text() != before


def test_what_has_no_counterpart_is_refused_by_its_field(scenario: Path, tmp_path: Path) -> None:
    """Nothing is written then."""
    with pytest.raises(_native.InputError, match="no such transport") as refused:
        export(scenario, tmp_path / "none", overrides=["schemes.hpcc={ cc = 'new_reno' }"])
    assert (refused.value.file, refused.value.line, refused.value.field) == (
        "--set schemes.hpcc={ cc = 'new_reno' }",
        None,
        "schemes.hpcc",
    )
    assert not (tmp_path / "none").exists()


def test_a_runs_flows_are_the_fct_file_of_its_scenario(
    scenario: Path, tmp_path: Path, paceline: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts for fct files read a native run as they read the simulator's: the same lines, to the byte."""
    assert paceline("run", scenario.name, "-q").code == 0
    told = paceline("export", "results/exported")
    assert told.code == 0
    assert told.out == "4 flows written: exported-fct/fct.txt\n"
    assert paceline("export", "results/exported").code == 2, "a file that is there stays"
    # Not among the files of the scenario, where `paceline hpcc` replaces a file of this name.
    assert paceline("export", scenario.name).out.startswith("4 flows written; `cd exported-hpcc")
    monkeypatch.chdir(tmp_path / "exported-hpcc")
    assert hpcc(Path("config.txt"), quirks=())["status"] == "completed"
    assert (tmp_path / "exported-fct" / FCT).read_bytes() == (tmp_path / "exported-hpcc" / FCT).read_bytes()


def test_the_fct_file_tells_flows_of_a_pair_apart_and_leaves_out_those_without_an_end(
    scenario: Path, tmp_path: Path, paceline: Callable[..., Any]
) -> None:
    """Each flow of two hosts has a port of its own, by its start and not its end; what is left out is told."""
    rows = ", ".join(f'{{ src = "host0", dst = "host4", bytes = "{size}", start = "0ns" }}' for size in ("1MB", "1KB"))
    settings = ["--set", f"workloads.0.rows=[{rows}]"]
    assert paceline("run", scenario.name, "-q", *settings).code == 0
    assert paceline("export", "results/exported").code == 0
    file = tmp_path / "exported-fct" / FCT
    lines = [line.split() for line in file.read_text().splitlines()]
    assert [line[:5] for line in lines] == [
        ["0b000001", "0b000401", port, "100", size] for port, size in (("10001", "1000"), ("10000", "1000000"))
    ]
    assert paceline("run", scenario.name, "-q", *settings, "--set", "run.stop=20us", "--out", "cut").code == 0
    told = paceline("export", "cut", "--out", "exported-fct", "--force")
    assert told.code == 0
    assert told.err == "notice: 1 flow without an end: not in the file\n"
    assert [line.split()[2] for line in file.read_text().splitlines()] == ["10001"]


def test_results_take_no_settings(scenario: Path, tmp_path: Path, paceline: Callable[..., Any]) -> None:
    """What `--set` asks for would be silently left out otherwise."""
    assert paceline("run", scenario.name, "-q").code == 0
    refused = paceline("export", "results/exported", "--set", "switch.buffer=1MB")
    assert refused.code == 2
    assert "--set = switch.buffer=1MB: has no effect on results" in refused.err
    assert not (tmp_path / "exported-fct").exists()


def test_the_flows_alone_are_written_as_a_table_that_a_scenario_reads(paceline: Callable[..., Any]) -> None:
    Path("exported.toml").write_text(SCENARIO)
    assert "4 flows written: t.csv" in paceline("export", "exported.toml", "--table", "t.csv").out
    head, *rows = Path("t.csv").read_text().splitlines()
    assert head == "start_ps,src,dst,bytes,scheme,class,dport,rate_cap,group"
    assert rows[1] == "137000,1,4,101000,hpcc,3,100,0bps,flows"
    assert not Path("exported-hpcc").exists()
    for more, told in (
        ((), "--table = t.csv: is there already; allowed: a new file, or --force"),
        (("--out", "x"), "--table = t.csv: not together with --out"),
        (("--force", "--set", "run.stop=0s"), "run.stop"),
    ):
        outcome = paceline("export", "exported.toml", "--table", "t.csv", *more)
        assert (outcome.code, told in outcome.err) == (2, True), outcome.err
    paceline("run", "exported.toml")
    outcome = paceline("export", "results/exported", "--table", "u.csv")
    assert outcome.code == 2
    assert "--table = results/exported: is for the flows of a scenario" in outcome.err


def test_a_table_of_several_schemes_is_told_how_to_be_read(paceline: Callable[..., Any]) -> None:
    """A scenario that reads it was refused for want of a scheme, though each row names one; nothing said what to do."""
    head = '[topology]\nkind = "star"\nhosts = 4\n[schemes.a]\ncc = "hpcc"\n[schemes.b]\ncc = "none"\n'
    flows = '[[workloads]]\nkind = "incast"\nsenders = 2\nsizes = "10KB"\nscheme = '
    Path("two.toml").write_text(f'{head}{flows}"a"\n{flows}"b"\n')
    told = paceline("export", "two.toml", "--table", "t.csv").out
    needed = 'scheme = "a"'
    assert f"of 2 schemes, which a scenario needs as well, and {needed} or another" in told
    Path("again.toml").write_text(f'{head}[[workloads]]\nkind = "flows"\nfile = "t.csv"\n{needed}\n')
    assert "4 flows written: again.csv" in paceline("export", "again.toml", "--table", "again.csv").out
    assert Path("again.csv").read_text() == Path("t.csv").read_text()
    # Of one scheme there is nothing to say, even where the scenario has others.
    Path("one.toml").write_text(f'{head}{flows}"b"\n')
    assert paceline("export", "one.toml", "--table", "one.csv").out == "2 flows written: one.csv\n"
