"""The command line as a whole: help, what it refuses, how it ends, `paceline bench`."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from helpers.processes import run_module
from paceline import _native
from paceline.cli import bench

COMMANDS = ["run", "report", "diff", "hpcc", "htsim", "check", "explain", "init", "list", "bench", "reproduce", "sweep"]
COMMANDS += ["size-buffers", "mpi", "timeline"]


def test_version_names_version_and_revision(paceline):
    outcome = paceline("--version")
    manifest = tomllib.loads((Path(__file__).parents[1] / "Cargo.toml").read_text())
    assert outcome.code == 0
    assert outcome.out.split()[:2] == ["paceline", manifest["workspace"]["package"]["version"]]
    revision = _native.git_revision()
    assert revision is None or revision[:12] in outcome.out


def test_help_lists_every_command(paceline):
    for arguments in ([], ["--help"], ["-h"]):
        outcome = paceline(*arguments)
        assert outcome.code == 0
        assert all(f"\n  {command} " in outcome.out for command in COMMANDS)
        assert not any(line.endswith("...") for line in outcome.out.splitlines()[1:]), "a description is cut"


def test_mpi_alone_shows_its_help(paceline):
    """It showed it as an error, in one line with its line breaks spelled out."""
    outcome = paceline("mpi")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == paceline("mpi", "--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_with_an_example(paceline, command):
    outcome = paceline(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"\n    paceline {command}" in outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_and_speaks_of_no_types(paceline, command, monkeypatch):
    """`Usage: paceline report [OPTIONS] {DIR}...` and `DIR <list[Path]>` told what the program is made of."""
    monkeypatch.setenv("COLUMNS", "80")
    said = paceline(command, "--help").out
    assert [line for line in said.splitlines() if len(line) > 80] == []
    usage = said.partition("\n\n")[0]
    assert not re.search(r"[{}<>]", usage), usage
    assert not re.search(r"<(path|str|int|list)|x>=|default: \(", said)


@pytest.mark.parametrize("asked", ["dcqcn", "failures", "failures.link", "switch.ecn"])
def test_an_explanation_is_whole_and_fits_a_terminal(paceline, asked, monkeypatch):
    """Meanings ended in the middle of a word at 80 columns, and lines of single fields went on to 155."""
    monkeypatch.setenv("COLUMNS", "400")
    whole = paceline("explain", asked).out
    monkeypatch.setenv("COLUMNS", "80")
    said = paceline("explain", asked).out
    assert max(map(len, said.splitlines())) <= 80
    assert "…" not in said.replace(",…", "")
    assert said.split() == whole.split()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_name_what_exists(paceline, command):
    """People copy them: `paceline bench incast --json` failed, as the workload is called otherwise."""
    said = re.sub(r"\\\n +", "", paceline(command, "--help").out)
    text = " ".join(said.split("\n\nOptions:")[-1].split()) if command != "bench" else ""
    examples = re.findall(rf"^    paceline {command}(.*)$", said, re.MULTILINE)
    assert examples
    workloads = (Path(__file__).parents[1] / "benches/src/workloads.rs").read_text()
    templates = {t["name"] for t in _native.catalogue()["templates"]}
    for example in examples:
        words = example.partition("&&")[0].split()
        for word in words:
            assert not word.startswith("--") or word in text or command in ("bench", "mpi"), f"no option {word}"
        names = [word for word in words if not word.startswith("-")]
        if command == "init":
            assert set(names) <= templates
        if command == "bench":
            assert all(f'"{name}"' in workloads for name in names)
        if command == "explain":
            assert all(paceline("explain", name).code == 0 for name in names)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["fly"], "fly"),
        (["run"], "SCENARIO.toml"),
        (["run", "x.toml", "--treads", "2"], "--treads"),
        (["run", "x.toml", "--threads", "two"], "--threads"),
        (["run", "x.toml", "--seed", "1.5"], "--seed"),
        (["run", "x.toml", "--progress", "loud"], "loud"),
        (["hpcc", "c.txt", "--qlen-dump-ms", "0"], "--qlen-dump-ms"),
        (["report"], "DIR"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_names_what_is_wrong(paceline, arguments, named):
    outcome = paceline(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert named in outcome.err
    assert "--help" in outcome.err
    as_json = paceline("--json-errors", *arguments)
    assert as_json.code == 2
    parts = json.loads(as_json.err)
    assert parts["error"] == "usage"
    assert named in " ".join(parts.values())


def test_bench_hands_its_arguments_to_the_program(paceline, monkeypatch):
    started = []
    monkeypatch.setattr(bench, "program", lambda: Path(sys.executable))
    monkeypatch.setattr(os, "execv", lambda path, arguments: started.append((path, arguments)))
    paceline("bench", "incast", "--json", "--unknown", "3")
    assert started == [(Path(sys.executable), [sys.executable, "incast", "--json", "--unknown", "3"])]
    # Wherever the flag stood it was taken out, and the program told its errors as text.
    for arguments in (["bench", "incast", "--json-errors"], ["--json-errors", "bench", "incast"]):
        paceline(*arguments)
        assert started.pop()[1][1:] == ["incast", "--json-errors"]


def test_bench_says_how_to_get_the_program(paceline, monkeypatch):
    monkeypatch.setattr(bench, "program", lambda: Path("nowhere/paceline-bench"))
    outcome = paceline("bench")
    assert outcome.code == 1
    assert "make setup" in outcome.err


def test_the_module_runs_as_a_program():
    done = run_module("-m", "paceline", "fly")
    assert done.returncode == 2
    assert "fly" in done.stderr


def test_help_does_not_wait_for_the_heavy_libraries():
    heavy = "{'matplotlib', 'numpy', 'rich', 'jinja2', 'pydantic'}"
    code = f"import sys; from paceline.cli import main; main(['--help']); sys.exit(bool({heavy} & set(sys.modules)))"
    assert run_module("-c", code).returncode == 0


def test_a_reader_that_leaves_early_is_no_error():
    code = "import sys; from paceline.cli import main; sys.exit(main(['--help']))"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_the_example_of_size_buffers_runs_on_the_template(paceline):
    """The help named buffers of 64 to 512 KB, which `paceline init incast` leaves no room for: headroom took it all."""
    (example,) = re.findall("paceline (size-buffers incast[.]toml .*)", paceline("size-buffers", "--help").out)
    assert paceline("init", "incast").code == 0
    outcome = paceline(*example.split(), "--progress", "none")
    assert outcome.code == 0, outcome.err
