"""Errors: exit code, wording, JSON form."""

import json
import pickle
from pathlib import Path

import pytest

import paceline as pl
from paceline import InputError, _native, errors


def test_an_input_error_carries_its_parts_and_words_them():
    error = _native.input_error(
        "is above 1", file="a.toml", line=3, field="workload.load", value="1.5", allowed="0 to 1"
    )
    assert isinstance(error, InputError)
    assert (error.file, error.line, error.field) == ("a.toml", 3, "workload.load")
    assert (error.value, error.problem, error.allowed) == ("1.5", "is above 1", "0 to 1")
    assert str(error) == "a.toml:3: workload.load = 1.5: is above 1; allowed: 0 to 1"
    assert json.loads(error.json) == {
        "file": "a.toml",
        "line": 3,
        "field": "workload.load",
        "value": "1.5",
        "problem": "is above 1",
        "allowed": "0 to 1",
    }


def test_missing_parts_are_none_and_absent_from_the_json():
    error = _native.input_error("is empty", file="a.toml")
    assert (error.line, error.field, error.value, error.allowed) == (None, None, None, None)
    assert json.loads(error.json) == {"file": "a.toml", "problem": "is empty"}


@pytest.mark.parametrize(
    "error",
    [
        _native.input_error("is empty", file="a.toml", line=3, field="f", value="v", allowed="a"),
        errors.ResultsError(Path("results/x"), "no such result folder"),
        pl.SweepFailed({"key": "a=1, seed=1: killed"}, pl.Runs(())),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_from_another_process_as_it_was(error):
    """``pool.map(paceline.load, folders)`` ended with a BrokenProcessPool, and no result, for one that is missing."""
    back = pickle.loads(pickle.dumps(error))
    parts = ("file", "line", "field", "value", "problem", "allowed", "path", "failures", "runs")
    known = [(type(e), str(e), *(getattr(e, name, None) for name in parts)) for e in (error, back)]
    assert known[0] == known[1]


def test_an_interrupted_simulation_comes_back_from_another_process_too(tmp_path):
    """Its message was within itself once more, and so with each process it came through."""
    incast = pl.Scenario(
        topology=pl.Star(hosts=3), schemes={"h": pl.Hpcc()}, workloads=[pl.SynchronousIncast(senders=2, sizes="1KB")]
    )
    error = pl.SimulationInterrupted(pl.simulate(incast, tmp_path / "r", progress="none"))
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == str(error)
    assert back.results.flows.rows == 2


def test_one_error_leaves_the_next_alone():
    _native.input_error("first", line=1)
    assert _native.input_error("second").line is None
    assert InputError("made by hand").file is None


def guarded(error, capsys, *, as_json=False):
    def fail():
        raise error

    code = errors.guard(fail, as_json=as_json)
    captured = capsys.readouterr()
    assert captured.out == ""
    return code, captured.err


BAD = _native.input_error("is no rate", field="rate", value="fast", allowed="10Gbps")


@pytest.mark.parametrize(
    ("error", "code", "kind", "said"),
    [
        (BAD, 2, "input", "rate = fast: is no rate; allowed: 10Gbps"),
        (InputError("made by hand"), 2, "input", "made by hand"),
        (errors.Failure("the program is missing"), 1, "failure", "the program is missing"),
        (errors.Interrupted("kept in results/x"), 130, "interrupted", "kept in results/x"),
        (KeyboardInterrupt(), 130, "interrupted", "the command was not done"),
        (PermissionError(13, "Permission denied", "results"), 1, "failure", "results: Permission denied"),
        (OSError(28, "No space left on device"), 1, "failure", "No space left on device"),
        (ZeroDivisionError("division by zero"), 1, "failure", "division by zero"),
        (AssertionError(), 1, "failure", "AssertionError"),
    ],
)
def test_each_error_has_its_code_and_form(capsys, error, code, kind, said):
    assert guarded(error, capsys)[0] == code
    text = guarded(error, capsys)[1]
    assert said in text
    assert "Traceback" not in text
    got, line = guarded(error, capsys, as_json=True)
    assert got == code
    assert line.count("\n") == 1
    parts = json.loads(line)
    assert parts["error"] == kind
    assert parts["problem"]


def test_the_json_of_an_input_error_has_every_part(capsys):
    _, line = guarded(BAD, capsys, as_json=True)
    assert json.loads(line) == {
        "error": "input",
        "field": "rate",
        "value": "fast",
        "problem": "is no rate",
        "allowed": "10Gbps",
    }


def test_a_trace_is_shown_on_request_and_for_the_unexpected_only(capsys, monkeypatch):
    monkeypatch.setenv(errors.TRACEBACK_VARIABLE, "1")
    assert "Traceback" in guarded(ZeroDivisionError("division by zero"), capsys)[1]
    assert "Traceback" not in guarded(BAD, capsys)[1]


def test_a_result_is_the_exit_code_and_nothing_is_none():
    assert errors.guard(lambda: 3, as_json=False) == 3
    assert errors.guard(lambda: None, as_json=False) == 0


# One row per way in which what a user gives can be wrong: command line, and what the message must contain.
BAD_INPUTS = [
    (["run", "nowhere.toml"], ["nowhere.toml", "No such file"]),
    (["check", "nowhere.toml"], ["nowhere.toml", "No such file"]),
    (["run", "."], ["."]),
    (["run", "latin1.toml"], ["latin1.toml", "UTF-8"]),
    (["run", "empty.toml", "--set", "load"], ["--set", "load", "key=value"]),
    (["run", "empty.toml", "--set", "=1"], ["--set", "=1", "key=value"]),
    (["report", "empty.toml"], ["empty.toml", "folder"]),
]


@pytest.mark.parametrize(("arguments", "contained"), BAD_INPUTS)
def test_bad_input_ends_with_2_and_a_message_that_names_it(paceline, tmp_path, arguments, contained):
    (tmp_path / "latin1.toml").write_bytes(b"name = '\xe9'\n")
    (tmp_path / "empty.toml").touch()
    outcome = paceline(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert all(part in outcome.err for part in contained), outcome.err
    parts = json.loads(paceline(*arguments, "--json-errors").err)
    assert parts["error"] == "input"


def test_an_error_that_an_interrupt_was_made_of_counts_as_one(capsys):
    """Matplotlib's C code made another error of Ctrl-C: the command ended with 1 and a hint at a trace."""

    def fail():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise SystemError("a function returned a result with an exception set") from interrupt

    assert errors.guard(fail, as_json=False) == 130
    assert capsys.readouterr().err == "interrupted: the command was not done\n"
