"""Whatever is wrong with the input: the message names place, value and what is allowed, and nothing is written."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import paceline as pl
from helpers.bad_input_cases import CASES, CONFIG, FLOW, FROM_FILE, GOOD, HEAD, NET, ONE_FLOW, SIZES, TABLE, Case
from paceline import hpcc
from paceline.cli.options import OPTIONS
from paceline.run import run
from paceline.sweeps.grid import grid

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
    if case.command == ("run", "s.toml", "--out", "out"):
        assert paceline("check", "s.toml") == plain, "what `check` passes, `run` takes"


@pytest.mark.parametrize("file", ["toml", "net.txt", "flows.csv", "sizes.txt", "config.txt", "line"])
def test_every_kind_of_input_has_its_five_mistakes(file):
    assert sum(file in str(case.told.get("file", "line")) for case in CASES) >= 5


def call(scenario: object, **options: object) -> Callable[[], object]:
    return lambda: pl.simulate(scenario, "out", **options)  # type: ignore[arg-type]


LOOP: list[object] = []
LOOP.append(LOOP)
LOST = pl.SynchronousIncast(receiver=9)
API = {
    "not a scenario": (call(3), "scenario", "int", "a paceline.Scenario"),
    "no such file": (call("nowhere.toml"), None, None, "a scenario in TOML"),
    "out of range": (call(scenario(schemes={"h": pl.Hpcc(eta=70)})), "schemes.h.eta", "70", "at most 10"),
    "a list for a text": (call(scenario(name=[1])), "name", "[1]", "a name"),
    "no TOML": (call(scenario(name={1})), "name", "{1}", "str"),
    "rate": (call(scenario(topology=pl.Star(host_rate="fast"))), "topology.host_rate", "fast", "100Gbps"),
    "host": (call(scenario(workloads=[LOST])), "workloads.0.receiver", "9", "0 to 3"),
    "text": (call("sede = 1\n" + GOOD), "sede", "1", "seed"),
    "threads": (call(scenario(), threads=0), "threads", "0", "1 to"),
    "seed": (call(scenario(), seed=1.5), "seed", "1.5", "a whole number"),
    "big seed": (call(scenario(), seed=2**63), "seed", str(2**63), "a whole number"),
    "flow id": (call(scenario(), follow_flows=["a"]), "follow_flows", "'a'", "whole number"),
    "progress": (call(scenario(), progress="loud"), "progress", "loud", '"auto"'),
    "override": (call(scenario(), overrides=["seed"]), "overrides", "seed", "key=value"),
    "override that is no text": (call(scenario(), overrides=[3]), "overrides", "3", "key=value"),
    "overrides in one text": (call(scenario(), overrides="seed=1"), "overrides", "seed=1", "a list"),
    "no flow ids": (call(scenario(), follow_flows=3), "follow_flows", "3", "a list"),
    "zero byte": (call("a\0"), "scenario", "'a\\x00'", "a scenario in TOML"),
    "surrogate in a name": (call("a\ud800.toml"), "scenario", "a\\ud800.toml", "UTF-8"),
    "surrogate in a text": (call("name = '\ud800'\n" + GOOD), "scenario", "\\ud800", "UTF-8"),
    "surrogate in a scenario": (call(scenario(name="\ud800")), "scenario", None, ""),
    "surrogate in an override": (call(scenario(), overrides=["name=\ud800"]), "overrides", "name=\\ud800", "UTF-8"),
    "a name that is none": (call(scenario(schemes={"my hpcc": pl.Hpcc()})), "schemes", "my hpcc", "letters"),
    "a list that holds itself": (
        call(scenario(workloads=[pl.Permutation(hosts=LOOP)])),
        *("scenario", None, "paceline.scenario"),
    ),
    "a list for a workload": (call(scenario(workloads=LOOP)), "workloads.0", "[[...]]", "Poisson, SynchronousIncast"),
    "a dict for a section": (call(scenario(switch={"buffer": "1MB"})), "switch", "{'buffer': '1MB'}", "Switch of"),
    "a dict for one of several": (call(scenario(topology={"kind": "star"})), "topology", "star", "Star, Dumbbell"),
    "a dict for a text or a section": (
        call(scenario(workloads=[pl.Permutation(sizes={"file": "pct.txt"})])),
        *("workloads.0.sizes", "{'file': 'pct.txt'}", "SizeFile of paceline.scenario or str"),
    ),
    "a number for a section": (
        call(scenario(workloads=[LOST, pl.Poisson(load=0.2)])),
        *("workloads.1.load", "0.2", "Load of paceline.scenario"),
    ),
    "a text for a scheme": (call(scenario(schemes={"x": "hpcc"})), "schemes.x", "hpcc", "NoControl, Hpcc"),
    "a scheme without a name": (call(scenario(schemes=pl.Hpcc())), "schemes", "Hpcc(...)", "a dict that gives names"),
    "a workload in no list": (call(scenario(workloads=LOST)), "workloads", "SynchronousIncast(...)", "a list of"),
    "a section in place of another": (call(scenario(switch=pl.Host())), "switch", "Host(...)", "Switch of"),
    "a class": (call(scenario(topology=pl.Star)), "topology", "Star", "Star, Dumbbell"),
    "a dict for a number": (call(scenario(workloads=[pl.Permutation(class_={})])), "workloads.0.class", "{}", "int"),
    "a dict for a row": (call(scenario(workloads=[pl.Flows(rows=[{}])])), "workloads.0.rows.0", "{}", "FlowRow of"),
    "no folder": (lambda: pl.simulate(scenario(), ""), "out", "''", "the path of a folder"),
    "a file for a folder": (lambda: pl.simulate(scenario(), __file__), "out", __file__, "a folder"),
    "a number for a folder": (lambda: pl.simulate(scenario(), 3), "out", "3", "the path of a folder"),
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


def test_functions_name_their_arguments_and_commands_the_options_for_them(paceline):
    """Who called from Python read of options of a command that was not there."""
    Path("s.toml").write_text(GOOD)
    calls = {
        "out": (lambda: hpcc.export(Path("s.toml"), Path("s.toml")), "export s.toml --out s.toml"),
        "seed": (lambda: run(Path("s.toml"), seed=-1), "run s.toml --seed=-1"),
        "threads": (lambda: run(Path("s.toml"), threads=0), "run s.toml --threads 0"),
        "vary": (lambda: grid(Path("s.toml"), ["seed=1,2"]), "sweep s.toml --vary seed=1,2"),
        "overrides": (lambda: grid(Path("s.toml"), [], overrides=["x"]), "sweep s.toml --set x"),
    }
    for field, (call, typed) in calls.items():
        with pytest.raises(pl.InputError) as raised:
            call()
        error = raised.value
        assert error.field == field
        assert "--" not in str(error)
        told = json.loads(paceline(*typed.split(), "--json-errors").err)
        assert (told["field"], told["problem"]) == (OPTIONS[field], error.problem)
        said = re.sub("``([a-z_]+)``", lambda name: OPTIONS[name[1]], error.allowed)
        assert told["allowed"] == said


def test_what_an_option_is_called_is_not_put_into_what_is_said_of_fields(paceline):
    Path("s.toml").write_text("sed = 1\n" + GOOD)
    assert "did you mean `seed`?" in paceline("check", "s.toml").err
    Path("s.toml").write_text(GOOD)
    assert json.loads(paceline("run", "s.toml", "--set", "seed=1.5", "--json-errors").err)["field"] == "seed"


def test_a_scenario_of_wrong_classes_is_not_written_as_toml():
    with pytest.raises(pl.InputError, match=r"switch = Host\(...\): is a Host; allowed: Switch of paceline.scenario"):
        scenario(switch=pl.Host()).to_toml()


def test_a_name_that_is_no_text_is_told(tmp_path, monkeypatch):
    """The error was of a regular expression that it had not fitted."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pl.InputError, match="scenario: cannot be a name in schemes: 3; allowed"):
        pl.simulate(scenario(schemes={3: pl.Hpcc()}))


def test_a_folder_with_other_files_is_left_alone(paceline):
    Path("s.toml").write_text(GOOD)
    Path("mine").mkdir()
    for name in ("flows.csv", "thesis.tex"):
        Path("mine", name).write_text("years of work")
    outcome = paceline("--json-errors", "run", "s.toml", "--out", "mine")
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["field"], parts["value"]) == (2, "--out", "mine")
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
    Path("r/links.parquet").write_text("of the other run, by a Python with pyarrow")
    assert paceline("run", "s.toml", "--out", "r", "--seed", "9").code == 0
    parquet = Path("r/links.parquet")
    assert not parquet.exists() or parquet.read_bytes().startswith(b"PAR1")
    assert pl.load("r").summary["seed"] == 9
    assert Path("r/notes.txt").read_text() == "keep"
    assert not Path("r/report.html").exists(), "it showed the other run"
    assert not Path("r/figures").exists()


def test_a_current_folder_that_was_removed_is_named(paceline, tmp_path, monkeypatch):
    """They said "No such file or directory", exit code 1: of a sweep whose paths are absolute its cache was meant.

    Those with a relative folder of results said that ". may not be written to".
    """
    scenario = tmp_path / "s.toml"
    scenario.write_text(GOOD)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for command in (
        ("init", "incast"),
        ("sweep", str(scenario), "--out", str(tmp_path / "w")),
        ("sweep", str(scenario)),
        ("run", str(scenario)),
        ("run", str(scenario), "--out", "r"),
    ):
        outcome = paceline(*command)
        assert outcome.code == 2
        assert "the current folder has been removed" in outcome.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused_by_its_name(paceline):
    Path("s.toml").write_text(GOOD)
    Path("locked").mkdir(mode=0o500)
    for command in (
        ("run", "s.toml", "--out", "locked/r"),
        ("sweep", "s.toml", "--out", "locked/r"),
        ("mpi", "export", "wrf", "--ranks", "4", "--out", "locked/w.goal"),
    ):
        outcome = paceline(*command)
        assert outcome.code == 2
        assert "error: --out = locked/" in outcome.err
        assert "locked may not be written to" in outcome.err


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


def test_the_hpcc_command_leaves_its_files_alone_when_it_cannot_write_them_all(paceline):
    """Results of the last run, and inputs, went before it was seen that another file could not be written."""
    files = {"config.txt": CONFIG, "net.txt": NET, "flow.txt": FLOW, "trace.txt": "0\n", "out/fct.txt": "mine"}
    Path("out").mkdir()
    Path("out/pfc.txt").symlink_to("../net.txt")
    for name, text in files.items():
        Path(name).write_text(text)
    for bad, told in (
        (CONFIG, "PFC_OUTPUT_FILE = out/pfc.txt: the run would write over its own input"),
        (CONFIG.replace("out/pfc.txt", "nowhere/pfc.txt"), "PFC_OUTPUT_FILE = nowhere/pfc.txt"),
    ):
        Path("config.txt").write_text(bad)
        outcome = paceline("hpcc", "config.txt", "-q")
        assert outcome.code == 2
        assert told in outcome.err
        assert {name: Path(name).read_text() for name in files if name != "config.txt"} == {
            name: text for name, text in files.items() if name != "config.txt"
        }
        assert {p.name for p in Path("out").iterdir()} == {"fct.txt", "pfc.txt"}


def test_the_hpcc_command_leaves_its_files_alone_when_the_engine_cannot_run(paceline):
    """Results of the last run were empty when it was told that the engine could not follow the reference."""
    files = {"config.txt": CONFIG, "net.txt": NET, "flow.txt": FLOW, "trace.txt": "0\n", "out/fct.txt": "mine"}
    Path("out").mkdir()
    for name, text in files.items():
        Path(name).write_text(text)
    outcome = paceline("hpcc", "config.txt", "--engine", "windowed")
    assert outcome.code == 2
    assert outcome.err.startswith("error: --engine = windowed: ")
    assert {p.name: p.read_text() for p in Path("out").iterdir()} == {"fct.txt": "mine"}


def test_the_hpcc_command_names_the_file_that_a_full_disk_does_not_take(tmp_path):
    (tmp_path / "out").mkdir()
    rows = "".join(f"0 1 3 100 1000 2.{i:04}\n" for i in range(200))
    files = {"config.txt": CONFIG, "net.txt": NET, "flow.txt": f"200\n{rows}", "trace.txt": "0\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = limited(["hpcc", "config.txt", "-q"], tmp_path, 1000)
    assert done.returncode == 1
    assert "out/fct.txt: cannot be written: File too large" in done.stderr


@pytest.mark.parametrize(
    "field", ["scenario", "flows.csv", "sizes.txt", "net.txt", "p.goal", "config.txt", "c.cm", "v"]
)
def test_what_is_no_regular_file_is_refused_as_input(paceline, field):
    """A pipe nobody writes into would keep a run waiting for ever, /dev/zero would fill the memory."""
    scenarios = {"flows.csv": TABLE, "sizes.txt": SIZES, "net.txt": FROM_FILE}
    commands = {
        "scenario": ("check", "scenario"),
        "p.goal": ("mpi", "info", "p.goal"),
        "config.txt": ("hpcc", "config.txt"),
        "c.cm": ("htsim", "c.cm"),
        "v": ("reproduce", "H1", "--scale", "tiny", "--verdicts", "v"),
    }
    Path("s.toml").write_text(scenarios.get(field, GOOD))
    for make in (lambda: os.mkfifo(field), lambda: Path(field).symlink_to("/dev/zero"), lambda: Path(field).mkdir()):
        make()
        outcome = paceline(*commands.get(field, ("check", "s.toml")))
        assert outcome.code == 2
        assert field in outcome.err
        assert "not a file" in outcome.err
        (Path(field).rmdir if Path(field).is_dir() else Path(field).unlink)()


@pytest.mark.parametrize("name", ["queues.csv", "series.csv", "scenario.toml", "flows.bin", "summary.json"])
def test_a_file_of_a_result_that_cannot_be_read_is_bad_input(paceline, monkeypatch, name):
    """Some ended with exit code 1 as if Paceline had failed, others with 2."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "-q", "--out", "r").code == 0
    Path("r", name).unlink()
    # It is a file, and reading it is an error for everybody, root too.
    Path("r", name).symlink_to("/proc/self/mem")
    outcome = paceline("--json-errors", "report", "r", "--out", "page.html")
    assert outcome.code == 2
    parts = json.loads(outcome.err)
    assert (parts["error"], parts["file"]) == ("input", f"r/{name}")
    assert not Path("page.html").exists()


@pytest.mark.parametrize("made", ["incast.toml", "c.toml", "c-flows.csv", "wrf.goal"])
def test_a_file_to_be_written_is_not_replaced_unasked(paceline, made):
    """Each said so with exit code 1, which scripts take for a failure of Paceline."""
    Path("c.cm").write_text("Nodes 16\nConnections 1\n0->1 start 0 size 1\n")
    commands = {"incast.toml": ("init", "incast"), "wrf.goal": ("mpi", "export", "wrf", "--ranks", "4")}
    command = commands.get(made, ("htsim", "c.cm"))
    for target, told in (("taken", "is there already"), ("nowhere", "is there already"), (None, "is a folder")):
        if target == "taken":
            Path(target).write_text("mine")
        Path(made).unlink(missing_ok=True)
        # A link that leads nowhere would be replaced as well.
        Path(made).symlink_to(target) if target else Path(made).mkdir()
        outcome = paceline(*command)
        assert (outcome.code, outcome.out) == (2, "")
        assert f"{made}: {told}" in outcome.err
        assert target is None or Path(made).is_symlink()
    assert Path("taken").read_text() == "mine"


def test_errors_are_one_line_that_does_nothing_to_a_terminal(paceline):
    """What stands in a file is not ours: `ESC ]0;` would rename the window, a line break fake a second message."""
    Path("s.toml").write_text(HEAD + ONE_FLOW.replace('"1KB"', '"1\\u001b]0;hi\\nerror: \\u202e"'))
    outcome = paceline("check", "s.toml")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert outcome.err[:-1].isprintable()
    Path("two\nlines.toml").write_text("seed = x\n")
    Path("sizes.txt").write_text("1 0\n\x1b[31m" + 5000 * "9" + " 1\n")
    Path("t.toml").write_text(SIZES)
    for command in (
        ("check", "two\nlines.toml"),
        ("check", "no\nsuch"),
        ("report", "no\nsuch"),
        ("check", "t.toml"),
        ("init", "no\nsuch"),
        ("check", "--no\nsuch"),
        ("mpi", "info", "no\x1b[1m"),
    ):
        outcome = paceline(*command)
        assert outcome.code == 2
        assert outcome.err.removeprefix("error: ")[:-1].replace("\nsee: ", " ").isprintable(), outcome.err
        assert len(outcome.err) < 1000


def test_none_stands_for_no_overrides_and_no_flows():
    run = pl.simulate(GOOD, overrides=None, follow_flows=None, progress="none")
    assert run.status == "completed"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["run", "s.toml", "--out", ""], "--out"),
        (["run", "s.toml", "--out="], "--out"),
        (["run", ""], "SCENARIO.toml"),
        (["run", "-q", ""], "SCENARIO.toml"),
        (["run", "s.toml", "--set", ""], "--set"),
        (["mpi", "export", ""], "bt|cg|ft|is|mg|wrf|SCENARIO.toml"),
        (["mpi", "export", "ft", "--ranks", ""], "--ranks"),
        (["reproduce", ""], "ID"),
        ([""], "argument"),
        (["list", ""], "argument"),
        (["check", "b\udcff.toml"], "argument"),
        (["run", "s.toml", "--out", "\udcff"], "--out"),
        (["sweep", "s.toml", "--cache", ""], "--cache"),
    ],
)
def test_arguments_that_are_no_names_are_refused(paceline, arguments, field):
    """An empty folder name was the current folder; a name that is not UTF-8 ended in a trace."""
    Path("s.toml").write_text(GOOD)
    outcome = paceline("--json-errors", *arguments)
    assert (outcome.code, json.loads(outcome.err)["field"]) == (2, field)
    assert {p.name for p in Path().iterdir()} == {"s.toml"}


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "s.toml").write_text(GOOD)

    def call(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
        command = line.replace("paceline", f"{sys.executable} -m paceline")
        return subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, check=False, env={**os.environ, **environment}
        )

    return call


def test_output_that_cannot_be_shown_or_is_closed_is_no_failure(shell, tmp_path):
    """The simulation was done, and the command failed in its last line."""
    assert shell("paceline run s.toml -o r").returncode == 0
    latin = shell("paceline explain switch.ecn.k_max; paceline report r", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (latin.returncode, latin.stderr) == (0, b"")
    assert shell("paceline report r >&-").returncode == 0
    assert shell("paceline run s.toml -o r2 >&- 2>&-").returncode == 0
    assert pl.load(tmp_path / "r2").status == "completed"
    assert shell("paceline check nowhere.toml 2>/dev/full").returncode == 2
    assert shell("paceline check nowhere.toml 2>&-").returncode == 2
    full = shell("paceline list >/dev/full")
    assert (full.returncode, full.stderr) == (1, b"error: standard output: No space left on device\n")


def test_a_report_does_not_mind_the_backend_of_a_notebook(shell):
    line = "paceline run s.toml -q -o r && paceline report r -q"
    assert shell(line, MPLBACKEND="module://no_such_backend").returncode == 0
