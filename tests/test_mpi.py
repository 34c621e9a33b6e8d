"""``paceline mpi`` and runs of message-passing programs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import paceline as pl
from paceline import mpi
from paceline.cli import main
from paceline.results.summary import lines
from paceline.tables import figures_table


def test_what_is_exported_is_a_schedule_with_the_same_in_it(tmp_path, capsys):
    file = tmp_path / "ft.goal"
    assert main(["mpi", "export", "ft", "--class", "S", "--ranks", "8", "-o", str(file), "--json"]) == 0
    exported = json.loads(capsys.readouterr().out)
    # Seven transposes among eight ranks, and six reductions to one.
    assert (exported["ranks"], exported["sends"], exported["matched"]) == (8, 7 * 56 + 6 * 7, True)
    assert main(["mpi", "info", str(file), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read == exported
    # Each rank has seven transforms that follow one another.
    statements = [line.split(":")[1].split()[0] for line in file.read_text().splitlines() if ":" in line]
    assert (read["operations"], read["empty_computations"]) == (len(statements), 8 * 6)
    assert main(["mpi", "info", str(file)]) == 0
    said = capsys.readouterr().out
    assert "every message is received" in said
    assert f"{len(statements):,} operations, 48 of them empty (calc 0)" in said


def test_the_program_of_a_scenario_is_exported_and_runs_as_it_did(tmp_path, monkeypatch, capsys):
    """Collectives have no other way out; what the file does must be what the scenario did."""
    monkeypatch.chdir(tmp_path)
    scenario = (
        'schema = 1\n[topology]\nkind = "star"\nhosts = 6\n[schemes.s]\ncc = "dctcp"\n'
        '[[workloads]]\nkind = "mpi"\nhosts = ["0-4"]\n'
    )
    ring = 'program = "collective"\noperation = "all_gather"\nalgorithm = "ring"\nbytes = "1MB"\niterations = 3\n'
    Path("ring.toml").write_text(scenario + ring)
    assert main(["mpi", "export", "ring.toml", "--json"]) == 0
    # Of five ranks each sends four blocks, three times.
    found = json.loads(capsys.readouterr().out)
    assert (found["ranks"], found["sends"], found["matched"]) == (5, 5 * 4 * 3, True)
    Path("file.toml").write_text(scenario + 'program = "goal"\nfile = "ring.goal"\n')
    for name in ("ring", "file"):
        assert main(["run", f"{name}.toml", "-q", "-o", name]) == 0
    assert Path("ring/ranks.csv").read_bytes() == Path("file/ranks.csv").read_bytes()
    # With two programs one has to be named.
    Path("two.toml").write_text(f"{scenario}{ring}[[workloads]]\nkind = 'mpi'\nhosts = [5]\nprogram = 'wrf'\n")
    assert main(["mpi", "export", "two.toml"]) == 2
    assert "--workload: the scenario has several message-passing programs; allowed: 0, 1" in capsys.readouterr().err
    assert main(["mpi", "export", "two.toml", "--workload", "0", "--set", "workloads.0.iterations=1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sends"] == 5 * 4


def test_a_file_is_replaced_only_on_demand(tmp_path, capsys):
    file = tmp_path / "wrf.goal"
    arguments = ["mpi", "export", "wrf", "--ranks", "4", "--iterations", "1", "-o", str(file)]
    assert main(arguments) == 0
    before = file.read_bytes()
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert f"--out = {file}: is there already" in said
    assert "--force" in said
    assert file.read_bytes() == before
    assert main([*arguments, "--force"]) == 0


def test_a_schedule_that_does_not_match_is_told(tmp_path, capsys):
    file = tmp_path / "bad.goal"
    file.write_text("num_ranks 2\nrank 0 {\nrecv 5b from 1 tag 1\n}\nrank 1 {\n}\n")
    assert main(["mpi", "info", str(file)]) == 0
    told = capsys.readouterr().out
    assert "never ends: 1 of 2 ranks can never finish" in told
    assert "no message has come for it" in told
    file.write_text("num_ranks 2\nrank 0 {\n}\nrank 1 {\nsend 5b to 0 tag 1\n}\n")
    assert main(["mpi", "info", str(file)]) == 0
    assert "does not match: 1 message is never received" in capsys.readouterr().out, "it ends all the same"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["export", "lu", "--ranks", "4"], "no such program"),
        (["export", "ft", "--ranks", "4"], "class: missing"),
        (["export", "ft", "--class", "s", "--ranks", "4"], "no such class"),
        (["export", "ft", "--class", "S", "--ranks", "5"], "a power of 2"),
        (["export", "ft", "--class", "S", "--ranks", "4", "--alltoall", "ring"], "no such algorithm"),
        (["export", "wrf", "--class", "S", "--ranks", "4"], "wrf has no classes"),
        (["export", "wrf"], "--ranks: missing"),
        (["export", "wrf", "--ranks", "4", "--workload", "0"], "--workload = 0: has no effect on a program by name"),
        (["export", "s.toml", "--seed", "4"], "--seed = 4: has no effect on a scenario"),
        (["info", "no-such.goal"], "cannot be read"),
    ],
)
def test_bad_input(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["mpi", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("connections", ["open", "new"])
def test_a_run_tells_how_long_the_program_took(tmp_path, connections):
    scenario = pl.Scenario(
        topology=pl.Star(hosts=8),
        schemes={"hpcc": pl.Hpcc()},
        workloads=[pl.Cg(problem_class="S", iterations=1, connections=connections)],
    )
    results = pl.simulate(scenario, tmp_path / "r", progress="none")
    (run,) = results.summary["mpi"]
    assert results.status == "completed"
    assert run["ranks"] == 8
    assert run["slowdown"] > 1
    assert results.simulated_ps >= run["runtime_ps"]
    assert results.ranks["runtime_ps"].max() == run["runtime_ps"]
    assert (results.ranks["runtime_ps"] >= results.ranks["compute_ps"]).all()
    assert results.ranks["message_bytes"].sum() == run["message_bytes"]
    assert results.flows.rows == (run["messages"] if connections == "new" else 0)
    told = "workloads.0.control, workloads.0.sends_end: no message is larger than eager"
    assert told in results.summary["without_effect"]
    assert "mpi on 8 ranks over hpcc" in "\n".join(lines(results.summary))
    # "0 of 0 flows finished" stood here where the messages are no flows.
    assert ("flows finished" in lines(results.summary)[0]) == (connections == "new")
    # Ranks wait for one another: what they send is no load that could be too high.
    assert results.summary["closed_loop"] == ["mpi"]
    assert all(tier["offered"] == 0 < tier["carried"] for tier in results.summary["load"])
    (row,) = (line for line in figures_table([results]).splitlines() if "Closed loop" in line)
    assert row.split()[-1] == "mpi"


def test_the_terminal_shows_programs_and_no_empty_table_of_flows(tmp_path, capsys):
    """The report said nothing of the program but "all sizes 0 – – –"."""
    file = tmp_path / "is.toml"
    file.write_text(
        '[topology]\nkind = "star"\nhosts = 4\n[schemes.s]\ncc = "hpcc"\n'
        '[[workloads]]\nkind = "mpi"\nprogram = "is"\nproblem_class = "S"\niterations = 1\n'
    )
    assert main(["run", str(file), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert main(["report", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "Message-passing programs" in said
    assert "Slowdown by flow size" not in said


def test_a_program_that_is_not_through_when_the_run_stops_is_reported(tmp_path, capsys):
    scenario = pl.Scenario(
        topology=pl.Star(hosts=4),
        schemes={"h": pl.Hpcc()},
        workloads=[pl.Ft(problem_class="S")],
        run=pl.Run(stop="20us"),
    )
    out = tmp_path / "out"
    results = pl.simulate(scenario, out, progress="none")
    assert results.ranks.rows == 4
    assert results.ranks.masked("runtime_ps").mask.all()
    assert main(["report", str(out)]) == 0
    assert "not through" in (out / "report.html").read_text()


def test_what_the_example_says_to_set_can_be_set(tmp_path, capsys):
    """NewReno has no `min_rate`, which stands beside `cc` in that file: `--set schemes.s.cc=new_reno` was an error."""
    example = Path(__file__).parents[1] / "examples/mpi.toml"
    ways = [line for line in example.read_text().splitlines() if line.startswith("#   --set")]
    assert len(ways) == 2
    for number, line in enumerate(ways):
        options = shlex.split(line.removeprefix("#").partition("   over")[0].partition("   for")[0])
        assert main(["run", str(example), *options, "-o", str(tmp_path / str(number))]) == 0
        assert "ideal network's" in capsys.readouterr().out


def test_the_programs_are_those_of_the_engine(tmp_path):
    with pytest.raises(pl.InputError) as raised:
        mpi.export("lu", tmp_path / "lu.goal", ranks=4)
    assert raised.value.allowed.split("; ")[0] == ", ".join(mpi.PROGRAMS)


def test_a_connection_that_a_program_loses_is_told(tmp_path):
    """`0 flows were given up`, and the first of them was flow 281474976710657."""
    text = """
[topology]
kind = "star"
hosts = 3
[host]
rto = "100us"
[schemes.s]
cc = "none"
[[workloads]]
kind = "mpi"
program = "collective"
bytes = "1MB"
iterations = 1
[[failures]]
kind = "link"
link = ["host1", "tor0"]
down = "20us"
"""
    results = pl.simulate(text, tmp_path / "out", progress="none")
    assert results.status == "stalled"
    (told,) = [w for w in results.summary["warnings"] if "given up" in w]
    assert told.startswith("messages of an open connection were given up after 7 timeouts: at ")
    assert re.search(r" connection \d of a program \(\d -> \d\) still waited for an answer", told)
