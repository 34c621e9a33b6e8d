"""A run that is killed or interrupted at any moment leaves a folder that opens, says how far it got, and reports."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import paceline as pl
from helpers.long_runs import long_run
from helpers.synthetic import write_run
from paceline.files import write as replace
from paceline.report import write_report

KILLS = int(os.environ.get("PACELINE_KILLS", "6"))
"""How often the run is killed; 100 for the whole check."""

# The command. A shell ignores SIGINT for what it runs in the background, these tests for one, and Python leaves it so.
HEEDING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from paceline.__main__ import main; raise SystemExit(main())"
)

# One to two seconds of simulating.
LONG = long_run("80ms")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, float]:
    """The run undisturbed: its folder, and its wall seconds as a process."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "long.toml").write_text(LONG)
    began = time.monotonic()
    assert end(start(folder, folder / "r")) == (0, "")
    return folder, time.monotonic() - began


def start(folder: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "paceline", "run", "long.toml", "--out", str(out), "-q"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str], number: int | None = None) -> tuple[int, str]:
    if number is not None:
        process.send_signal(number)
    _, told = process.communicate(timeout=60)
    return process.returncode, told


def python(code: str, *arguments: str, **where: object) -> subprocess.CompletedProcess[str]:
    """A program in Python run to its end."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **where)  # type: ignore[call-overload,no-any-return]


def check_partial(results: pl.Results, of: pl.Results) -> None:
    """What is there agrees with the undisturbed run."""
    got, true = results.flows, of.flows
    ended = got["status"] == "finished"
    assert got.rows <= true.rows
    for column in ("fct_sender_ps", "fct_receiver_ps"):
        assert np.array_equal(got[column][ended], true[column][: got.rows][ended]), column
    # Of what was under way there is everything but its end: it did start, and not from host 0 to host 0.
    assert not np.any(got["status"] == "not_started")
    for column in ("size_bytes", "start_ps", "src", "dst", "ideal_sender_ps"):
        assert np.array_equal(got[column], true[column][: got.rows]), column
    assert results.simulated_ps <= of.simulated_ps
    assert "simulated" in repr(results)


def test_a_killed_run_opens_and_its_flows_are_those_of_the_whole(whole, tmp_path, paceline):
    folder, seconds = whole
    undisturbed = pl.load(folder / "r")
    draw = random.Random(7)
    finished, reported = [], False
    for kill in range(KILLS):
        out = tmp_path / f"r{kill}"
        process = start(folder, out)
        time.sleep(draw.uniform(0.0, seconds))
        code, _ = end(process, signal.SIGKILL)
        if not (out / "summary.json").exists():
            outcome = paceline("report", str(out))
            assert outcome.code == 2, "killed before its first file"
            assert "Traceback" not in outcome.err
            assert "summary.json" in outcome.err or "no such" in outcome.err
            if out.exists():  # what is there does not keep the run from being made again
                assert end(start(folder, out)) == (0, "")
                check_partial(pl.load(out), undisturbed)
            continue
        results = pl.load(out)
        assert results.status in ("running", "completed")
        check_partial(results, undisturbed)
        finished.append(results.flow_counts()["finished"])
        if results.status == "running":
            assert code != 0
            if not reported or kill % 10 == 0:
                reported = True
                assert paceline("report", str(out), "-q").code == 0
                assert "was killed" in (out / "report.html").read_text()
            else:
                pl.restore(out)
            rows = list(csv.DictReader((out / "flows.csv").read_text().splitlines()))
            assert len(rows) == results.flows.rows
            assert sum(r["status"] == "finished" for r in rows) == finished[-1]
    assert any(0 < count < undisturbed.flows.rows for count in finished), "no kill hit the run under way"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_what_it_has(whole, tmp_path, paceline, number):
    folder, _ = whole
    out = tmp_path / "r"
    process = start(folder, out)
    wait_for_flows(out)
    code, told = end(process, number)
    assert code == 130
    assert told.strip() == f"interrupted: the result until then is in {out}"
    results = pl.load(out)
    undisturbed = pl.load(folder / "r")
    assert results.status == "interrupted"
    assert 0 < results.flow_counts()["finished"] < undisturbed.flows.rows
    check_partial(results, undisturbed)
    assert results.summary["flows"]["finished"] == results.flow_counts()["finished"]
    assert results.links.rows == 32
    assert paceline("report", str(out), "-q").code == 0
    assert "was interrupted" in (out / "report.html").read_text()


def wait_for_flows(out: Path) -> None:
    wait_until(lambda: (out / "flows.bin").exists() and (out / "flows.bin").stat().st_size > 10_000)


def wait_until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_where_nothing_is_simulated_ends_with_130_too(whole, tmp_path, number):
    """SIGTERM ended a report with -15 and left half a figure; Ctrl-C ended it without a word."""
    folder, _ = whole
    # Tells when it begins to draw; what it has drawn it writes at the end.
    telling = (
        "from pathlib import Path; from paceline import plot; draw = plot.as_files; "
        "plot.as_files = lambda *a: (Path('drawing').touch(), draw(*a))[1]; "
    )
    command = [sys.executable, "-c", telling + HEEDING, "report", str(folder / "r"), "--out", "page", "-q"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until((tmp_path / "drawing").exists)
    code, told = end(process, number)
    assert (code, told) == (130, "interrupted: the command was not done\n")
    assert not (tmp_path / "page").exists()


def drawn_with(folder: Path, where: Path, later_s: float) -> subprocess.CompletedProcess[str]:
    """A report whose figures are drawn by a library that forgets an interrupt, and fails so much later."""
    drawing = (
        "import os, signal, time; from paceline import interrupt, plot\n"
        "interrupt.AT_ONCE_S = 1.0\n"
        "def draw(*figures):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT); time.sleep(10)\n"
        "    except KeyboardInterrupt: pass\n"
        f"    time.sleep({later_s})\n"
        "    raise TypeError('incompatible function arguments')\n"
        "plot.as_files = draw\n"
    )
    return python(drawing + HEEDING, "report", str(folder / "r"), "--out", "page", "-q", cwd=where)


def test_an_interrupt_that_a_library_took_for_a_wrong_argument_is_told(whole, tmp_path, monkeypatch):
    """Ctrl-C in Matplotlib's conversions in C ended a report with a message about ``affine_transform()``."""
    folder, _ = whole
    done = drawn_with(folder, tmp_path, 0)
    assert (done.returncode, done.stderr) == (130, "interrupted: the command was not done\n")
    monkeypatch.setenv("PACELINE_TRACEBACK", "1")
    traced = drawn_with(folder, tmp_path, 0)
    assert traced.returncode == 130
    assert "TypeError: incompatible function arguments\ninterrupted: " in traced.stderr


def test_an_error_long_after_a_forgotten_interrupt_is_told_as_what_it_is(whole, tmp_path):
    folder, _ = whole
    done = drawn_with(folder, tmp_path, 1.1)
    assert done.returncode == 1
    assert done.stderr.startswith("error: incompatible function arguments (TypeError; ")


def test_an_interruption_while_a_report_is_written_leaves_nothing_new(tmp_path, monkeypatch):
    """The folder would be taken for somebody's by the next report: figures were in it, and no page."""
    folder = write_run(tmp_path / "r", flows=50)
    written = []

    def write(path, data):
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(path)
        replace(path, data)

    monkeypatch.setattr("paceline.files.write", write)
    with pytest.raises(KeyboardInterrupt):
        write_report([folder], tmp_path / "page/report.html")
    assert len(written) == 3
    assert [p for p in (tmp_path / "page").rglob("*") if p.is_file()] == []


def list_while(folder: Path, happening: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """``paceline list``, in which a statement is carried out where the module of the command line is looked for."""
    (folder / "sitecustomize.py").write_text(
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Dying:\n"
        "    def __init__(self, number): self.number = number\n"
        "    def __del__(self): os.kill(os.getpid(), self.number)\n"
        "class Slow:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == 'paceline.cli': {happening}\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    command = [sys.executable, "-m", "paceline", *flags, "list"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("flags", [(), ("--json-errors",)])
@pytest.mark.parametrize("way", ["{}", "exec({!r})"])
def test_a_signal_while_the_command_line_is_loaded_is_told(tmp_path, number, flags, way):
    """There are a few tenths of a second before the first command begins; a trace came of it.

    Where it ended text that is executed, such as a dataclass is made by, Python went on to end itself by SIGINT.
    """
    done = list_while(tmp_path, way.format(f"os.kill(os.getpid(), signal.{number})"), *flags)
    assert done.returncode == 130
    if flags:
        assert json.loads(done.stderr) == {"error": "interrupted", "problem": "the command was not done"}
    else:
        assert done.stderr == "interrupted: the command was not done\n"


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_where_python_ignores_errors_is_heeded(tmp_path, number):
    """One that came as an object of a figure died was told as a trace, and the report was made to its end."""
    done = list_while(tmp_path, f"Dying(signal.{number}); time.sleep(10)")
    assert (done.returncode, done.stderr) == (130, "interrupted: the command was not done\n")


def test_a_lost_signal_is_heeded_on_a_busy_machine(tmp_path):
    """It was raised again 10 ms later, and lost once more where Python was still about to start the thread for that."""
    slow = "import threading; start = threading.Thread.start; "
    slow += "threading.Thread.start = lambda thread: (start(thread), [time.sleep(0.001) for _ in range(100)]); "
    done = list_while(tmp_path, slow + "Dying(signal.SIGINT); time.sleep(10)")
    assert (done.returncode, done.stderr) == (130, "interrupted: the command was not done\n")


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_after_the_end_changes_nothing(number):
    """While Python tidied up, in which time passes too, it was killed, and nobody could see that all was done."""
    code = (
        "import os, signal, sys, paceline.__main__ as start\n"
        "code = start.main()\n"
        f"os.kill(os.getpid(), signal.{number})\n"
        "sys.exit(code)\n"
    )
    done = python(code, "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_worker_goes_by_the_first_signal_of_those_that_concern_it():
    """A Ctrl-C reaches the whole group, and then the parent tells its workers: the second one killed them midway."""
    code = (
        "import os, signal\n"
        "from paceline.interrupt import stop_on_signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "with stop_on_signal(worker=True) as stop:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print(stop.heed())\n"
        "    for _ in range(3): os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print(stop.heed())\n"
    )
    done = python(code)
    assert (done.returncode, done.stdout) == (0, "False\nTrue\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_schedule_whose_writing_is_interrupted_leaves_nothing(tmp_path, number):
    """Gigabytes were written to their end first; one that was killed left half of a schedule for good."""
    (tmp_path / ".w.goal.part").write_text("half of another one, which was killed")
    command = [sys.executable, "-c", HEEDING, "mpi", "export", "wrf", "--ranks", "256", "--iterations", "10000"]
    process = subprocess.Popen([*command, "-o", "w.goal"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (tmp_path / ".w.goal.part").stat().st_size > 100_000)
    assert end(process, number) == (130, "interrupted: the command was not done\n")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_a_session_raises_with_what_was_simulated(tmp_path):
    code = (
        "import sys, json, paceline as pl\n"
        "def progress(snapshot):\n"
        "    if snapshot['flows_done'] > 100: import os, signal; os.kill(os.getpid(), signal.SIGINT)\n"
        "try:\n"
        f"    pl.simulate({LONG!r}, progress=progress)\n"
        "except KeyboardInterrupt as stop:\n"
        "    r = stop.results\n"
        "    print(json.dumps([r.status, r.flow_counts()['finished'], r.path.exists(), str(r.path)]))\n"
    )
    done = python(code, cwd=tmp_path)
    status, finished, there, path = json.loads(done.stdout)
    assert (status, there) == ("interrupted", True)
    assert finished > 100
    assert not Path(path).exists(), "a temporary result outlived its process"


def test_folders_of_runs_killed_before_their_first_file_are_named(paceline, tmp_path):
    for files in ((), (".summary.json.part",)):
        folder = tmp_path / f"early{len(files)}"
        folder.mkdir()
        for name in files:
            (folder / name).write_text("{")
        outcome = paceline("report", str(folder))
        assert outcome.code == 2
        assert "killed before it began" in outcome.err
        with pytest.raises(pl.ResultsError, match="killed before it began"):
            pl.load(folder)


def test_a_folder_with_a_summary_only_opens(paceline, whole, tmp_path):
    """Killed between the first file and the second."""
    folder, _ = whole
    summary = json.loads((folder / "r/summary.json").read_text()) | {"status": "running", "simulated_ps": 0}
    (tmp_path / "r").mkdir()
    (tmp_path / "r/summary.json").write_text(json.dumps(summary))
    results = pl.load(tmp_path / "r")
    assert results.flows.rows == 0
    assert "killed" in repr(results)
    outcome = paceline("report", str(tmp_path / "r"), "-q")
    assert (outcome.code, outcome.err) == (0, "")


SMALL = long_run("100us")

# A signal while the engine writes its tables, after the last time it has asked whether to go on.
LATE = (
    "import os, signal, sys, paceline as pl\n"
    "from paceline import _native\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "engine = _native.run\n"
    "def run(*given):\n"
    "    try: return engine(*given)\n"
    "    finally:\n"
    "        for _ in range(times): os.kill(os.getpid(), getattr(signal, sys.argv[1]))\n"
    "_native.run, times = run, 1\n"
)


@pytest.mark.parametrize("scenario", [SMALL, SMALL.replace("star", "tsar")], ids=["ended", "refused"])
@pytest.mark.parametrize("progress", ["'none'", "print"])
def test_ctrl_c_that_comes_too_late_for_a_run_is_not_lost(tmp_path, scenario, progress):
    """A loop over many short runs, or a search that passes over settings that are refused, could hardly be ended."""
    code = LATE + (
        "for i in range(3):\n"
        f"    try: pl.simulate({scenario!r}, f'r{{i}}', progress={progress})\n"
        "    except pl.InputError: pass\n"
        "    except KeyboardInterrupt as error:\n"
        "        print('told', i, type(error).__name__)\n"
    )
    done = python(code, "SIGINT", cwd=tmp_path)
    told = [line for line in done.stdout.splitlines() if line.startswith("told")]
    assert (done.returncode, told) == (0, [f"told {i} KeyboardInterrupt" for i in range(3)]), done.stderr
    if "tsar" not in scenario:
        assert [pl.load(tmp_path / f"r{i}").status for i in range(3)] == ["completed"] * 3


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_comes_too_late_for_a_run_does_what_it_did_before(tmp_path, number):
    """Its default action, or once what a handler of the program does, also for one that is sent twice at once."""
    run = f"pl.simulate({SMALL!r}, 'r', progress='none')\nprint('went on', flush=True)\n"
    default = f"signal.signal(signal.{number}, signal.SIG_DFL)\n"
    done = python(LATE + default + run, number, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (-getattr(signal, number), "")
    assert pl.load(tmp_path / "r").status == "completed"
    handler = f"times = 2\nsignal.signal(signal.{number}, lambda number, frame: print('told'))\n"
    done = python(LATE + handler + run, number, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "told\nwent on\n")
    # Of those that are ignored SIGHUP stays so, and the others ask for nothing once there is nothing to stop.
    ignored = f"signal.signal(signal.{number}, signal.SIG_IGN)\n"
    done = python(LATE + ignored + run, number, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "went on\n")


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("when", ["as it is made", "late", "twice", "as it is read"])
@pytest.mark.parametrize("progress", ["'none'", "show"])
def test_a_signal_that_ends_the_process_leaves_no_temporary_result(tmp_path, number, when, progress):
    """As the folder is made, late in the run, a second time while the run goes on, and while the results are read."""
    send = f"os.kill(os.getpid(), signal.{number})"
    places = {
        "as it is made": (
            "_native.run, make = lambda *given: (None, None), tempfile.mkdtemp\n"
            "tempfile.mkdtemp = lambda **given: (make(**given), send())[0]\n"
        ),
        "late": "",
        "twice": "_native.run = lambda *given: (send(), time.sleep(1.2 * interrupt.SAME_S), send(), time.sleep(60))\n",
        "as it is read": (
            "_native.run, load = engine, Results.load\n"
            "Results.load = lambda place: (print(place.path.exists(), flush=True), send(), load(place))[2]\n"
        ),
    }
    code = LATE + (
        "import tempfile, time\nfrom paceline import interrupt\nfrom paceline.results import Results\n"
        f"signal.signal(signal.{number}, signal.SIG_DFL)\n"
        f"def send(): {send}\n"
        "def show(snapshot): pass\n"
        f"{places[when]}"
        f"pl.simulate({SMALL!r}, progress={progress})\nprint('went on', flush=True)\n"
    )
    (tmp_path / "tmp").mkdir()
    done = python(code, number, cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path / "tmp")})
    read = "True\n" if when == "as it is read" else ""
    assert (done.returncode, done.stdout) == (-getattr(signal, number), read), done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_command_that_is_told_too_late_for_its_run_ends_with_130(tmp_path, number):
    (tmp_path / "s.toml").write_text(SMALL)
    code = LATE + (
        "name, sys.argv[1:] = sys.argv[1], ['run', 's.toml', '-o', 'r', '-q']\n"
        "def run(*given):\n"
        "    try: return engine(*given)\n"
        "    finally: os.kill(os.getpid(), getattr(signal, name))\n"
        "_native.run = run\n"
        "from paceline.__main__ import main\n"
        "raise SystemExit(main())\n"
    )
    done = python(code, number, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "interrupted: the command was not done\n")
    results = pl.load(tmp_path / "r")
    assert (results.status, results.flow_counts()["running"]) == ("completed", 0)


@pytest.mark.parametrize(
    ("times", "handler"), [(2, "signal.getsignal(signal.SIGTERM)"), (1, "lambda number, frame: print('again')")]
)
def test_a_request_that_was_heeded_is_not_made_again(tmp_path, times, handler):
    """The run has ended early for it; the program that was told so goes on.

    A signal that comes twice at once is one, as timeout(1) sends its own, to the process and to the group.
    """
    code = (
        "import os, signal, paceline as pl\n"
        f"signal.signal(signal.SIGTERM, {handler})\n"
        "told = []\n"
        "def progress(snapshot):\n"
        "    if snapshot['flows_done'] > 100 and not told:\n"
        "        told.append(1)\n"
        f"        for _ in range({times}): os.kill(os.getpid(), signal.SIGTERM)\n"
        "try:\n"
        f"    pl.simulate({LONG!r}, 'r', progress=progress)\n"
        "except pl.SimulationInterrupted as stop:\n"
        "    print(stop.results.status)\n"
    )
    done = python(code, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_signals_as_the_handlers_are_set_back_are_heeded_once_and_leave_none_behind():
    """One that raised when its own handler was back, and others were not, left those: later signals went nowhere."""
    code = (
        "import os, signal\n"
        "from paceline import interrupt\n"
        "def stop(number, frame): raise KeyboardInterrupt(signal.Signals(number).name)\n"
        "for number in interrupt.REQUESTS: signal.signal(number, stop)\n"
        "set_one = signal.signal\n"
        "for sent in interrupt.REQUESTS:\n"
        "    for when in interrupt.REQUESTS:\n"
        "        for is_late in (False, True):\n"
        "            for is_back in (False, True):\n"
        "                def setting(number, handler):\n"
        "                    fits = not sends and number == when and (handler is stop) == is_back\n"
        "                    if fits: sends.append(1)\n"
        "                    if fits and not is_late: os.kill(os.getpid(), sent)\n"
        "                    set_one(number, handler)\n"
        "                    if fits and is_late: os.kill(os.getpid(), sent)\n"
        "                signal.signal, told, sends = setting, None, []\n"
        "                try:\n"
        "                    with interrupt.stop_on_signal(): pass\n"
        "                except KeyboardInterrupt as error: told = str(error)\n"
        "                signal.signal = set_one\n"
        "                assert told == sent.name, (sent, when, is_late, is_back, told)\n"
        "                kept = [signal.getsignal(number) is stop for number in interrupt.REQUESTS]\n"
        "                assert all(kept), (sent, when, is_late, is_back, kept)\n"
        "print('all')\n"
    )
    done = python(code)
    assert (done.stdout, done.stderr) == ("all\n", "")


def test_a_run_in_the_process_of_its_sweep_passes_a_late_request_on():
    """Executors may run a task where they are called; the process of a worker itself has nothing left to stop."""
    code = (
        "import os, signal\n"
        "from paceline.interrupt import stop_on_signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "with stop_on_signal() as sweep:\n"
        "    with stop_on_signal(worker=True): os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print(sweep.heed())\n"
        "with stop_on_signal(worker=True): os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('went on')\n"
    )
    done = python(code)
    assert (done.returncode, done.stdout) == (0, "True\nwent on\n")
