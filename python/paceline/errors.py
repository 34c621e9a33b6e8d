"""From exceptions to what a person or a script sees: one message on standard error and an exit code."""

import errno
import json
import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

from paceline._native import InputError
from paceline.interrupt import just_interrupted

JSON_FLAG = "--json-errors"
TRACEBACK_VARIABLE = "PACELINE_TRACEBACK"


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    FAILURE = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


class Failure(Exception):
    """The command could not do its work, and the message says all there is to say."""


class Interrupted(Exception):
    """The user stopped the run; the message says what is there of it."""


class ResultsError(Exception):
    """A result folder that cannot be read as one; the message names the file and what is wrong with it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        # By default from the message alone, which ended pools of processes: none of their results came back.
        return type(self), (self.path, self.problem)


MOST_SHOWN = 300
"""Characters of a value that a message shows."""


def cut(text: str) -> str:
    """A value as a message shows it: a long one without its middle."""
    half = MOST_SHOWN // 2
    return text if len(text) <= MOST_SHOWN else f"{text[:half]}…{text[-half:]}"


def plain(text: str, *, lines: bool = False) -> str:
    """A text that does nothing to a terminal: all but printable characters is escaped, line breaks unless ``lines``."""
    kept = " \n" if lines else " "
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def take_json_flag(arguments: list[str]) -> tuple[bool, list[str]]:
    """Whether errors are wanted as JSON, and the arguments without the flag, which may stand anywhere.

    The flag has to be known before the other arguments are read, since those can be wrong.
    """
    return JSON_FLAG in arguments, [argument for argument in arguments if argument != JSON_FLAG]


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def settle_streams() -> None:
    """Makes standard output and error take whatever is printed.

    What their encoding lacks is replaced: after hours of simulation a `µ` must not be an error. A stream that was
    closed is one nobody reads.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace" if name == "stderr" else "replace")


def _abandon(stream: Any) -> None:
    """Sends nowhere what a stream still holds: at its end Python would complain again, and change the exit code."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.flush()
    except (OSError, ValueError):
        pass  # no file behind it


def _settle_stderr() -> None:
    """Drops what standard error could not take, as progress on a full disk: the command is done all the same."""
    try:
        sys.stderr.flush()
    except OSError:
        _abandon(sys.stderr)


def guard(action: Callable[[], object], *, as_json: bool) -> int:
    """Runs ``action`` and returns the exit code: its own result when that is a number, else 0.

    Whatever it raises is told in one message on standard error; with PACELINE_TRACEBACK=1 in the environment an
    unexpected exception's trace comes first.
    """
    try:
        result = action()
        sys.stdout.flush()
        _settle_stderr()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else ExitCode.FAILURE
    except BrokenPipeError:
        # The reader has left (`paceline list | head -1`).
        _abandon(sys.stdout)
        return ExitCode.FAILURE
    except BaseException as error:
        try:
            sys.stdout.flush()
        except OSError:
            _abandon(sys.stdout)
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            # Files are written by functions that name them.
            error = OSError(error.errno, error.strerror, "standard output")
        return _tell(_interrupt_behind(error) or error, error, as_json=as_json)
    return result if isinstance(result, int) else ExitCode.OK


def _interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt of which an unexpected error came: libraries in C make another of what is raised within them.

    Some keep no trace of it, as those that Matplotlib draws with: where they take a number from an object, an interrupt
    is to them a wrong argument. Such an error comes at once: a later one is of something else.
    """
    while not _is_expected(error):
        behind = error.__cause__ or error.__context__
        if behind is None:
            return KeyboardInterrupt() if just_interrupted() else None
        error = behind
    return error if isinstance(error, KeyboardInterrupt) else None


def _is_expected(error: BaseException) -> bool:
    return isinstance(error, InputError | ResultsError | Failure | Interrupted | KeyboardInterrupt | OSError)


def _tell(error: BaseException, raised: BaseException, *, as_json: bool) -> int:
    """Tells the error that is behind what was ``raised``; a trace is that of the latter."""
    code, parts, text = _describe(error)
    if os.environ.get(TRACEBACK_VARIABLE) == "1" and not _is_expected(raised):
        traceback.print_exception(raised)
    try:
        print(json.dumps(parts) if as_json else text, file=sys.stderr, flush=True)
    except OSError:
        _abandon(sys.stderr)  # nobody can be told; the exit code remains
    return code


def _describe(error: BaseException) -> tuple[ExitCode, dict[str, Any], str]:
    """Exit code, JSON form and text form of an error."""
    from paceline.files import current_folder_is_gone  # what only imports the package need not wait for it

    if isinstance(error, InputError):
        parts = {"error": "input", **json.loads(error.json)}
        parts.setdefault("problem", str(error))
        # Where in a sweep: the file and line are the same for all its points.
        notes = getattr(error, "__notes__", [])
        parts |= {"where": "; ".join(notes)} if notes else {}
        return ExitCode.BAD_INPUT, parts, "; ".join([f"error: {error}", *map(plain, notes)])
    if isinstance(error, ResultsError):
        allowed = "the folder of a run of Paceline, whole or cut short"
        parts = {"error": "input", "file": str(error.path), "problem": error.problem, "allowed": allowed}
        return ExitCode.BAD_INPUT, parts, f"error: {plain(str(error))}; allowed: {allowed}"
    if isinstance(error, KeyboardInterrupt | Interrupted):
        problem = str(error) or "the command was not done"
        return ExitCode.INTERRUPTED, {"error": "interrupted", "problem": problem}, f"interrupted: {plain(problem)}"
    if isinstance(error, Failure):
        return _failure(str(error))
    if isinstance(error, FileNotFoundError) and current_folder_is_gone():
        parts = {
            "error": "input",
            "problem": "the current folder has been removed",
            "allowed": "a folder that is there",
        }
        return ExitCode.BAD_INPUT, parts, f"error: {parts['problem']}; allowed: {parts['allowed']}"
    if isinstance(error, OSError) and str(error):
        named = error.filename and error.strerror
        return _failure(plain(f"{error.filename}: {error.strerror}" if named else error.strerror or str(error)))
    value = _wrong_value(error)
    if value is not None:
        parts, hint = value
        text = plain(f"{parts['field']} = {cut(parts['value'])}: {parts['problem']}; allowed: {parts['allowed']}")
        return ExitCode.BAD_INPUT, {"error": "usage", **parts}, f"error: {text}{hint}"
    usage = _usage(error)
    if usage is not None:
        message, hint = usage
        return ExitCode.BAD_INPUT, {"error": "usage", "problem": message}, f"error: {plain(message)}{hint}"
    kind = type(error).__name__
    code, parts, text = _failure(str(error) or kind)
    return code, {**parts, "type": kind}, f"{text} ({kind}; set {TRACEBACK_VARIABLE}=1 for the trace)"


def _failure(problem: str) -> tuple[ExitCode, dict[str, Any], str]:
    return ExitCode.FAILURE, {"error": "failure", "problem": problem}, f"error: {plain(problem, lines=True)}"


def _usage(error: BaseException) -> tuple[str, str] | None:
    """Message and hint of a command line that typer refuses, or ``None`` for any other error."""
    from typer import TyperException

    if not isinstance(error, TyperException) or error.exit_code != ExitCode.BAD_INPUT:
        return None
    return error.format_message(), _hint(error)


def _hint(error: BaseException) -> str:
    context = getattr(error, "ctx", None)
    return f"\nsee: {context.command_path} --help" if context is not None else ""


# What pydantic, which reads the values of options for typer, finds wrong: the problem and what is allowed instead.
_VALUE_PROBLEMS = {
    "int_parsing": ("is not a whole number", "a whole number"),
    "int_from_float": ("is not a whole number", "a whole number"),
    "int_parsing_size": ("is too large", "a whole number of at most 4300 digits"),
    "greater_than_equal": ("is too small", "{ge} or more"),
    "less_than_equal": ("is too large", "{le} or less"),
}


def _wrong_value(error: BaseException) -> tuple[dict[str, str], str] | None:
    """Parts and hint of a value that an option or argument refuses, or ``None`` for any other error."""
    found = getattr(error.__cause__, "errors", None)
    parameter = getattr(error, "param", None)
    if parameter is None or not callable(found):
        return None
    first = found()[0]
    name = max(parameter.opts, key=len)
    problem, allowed = _VALUE_PROBLEMS.get(first["type"], (str(first["msg"]), "see the help"))
    if first["type"] == "value_error" and " is not one of " in first["msg"]:
        problem, allowed = "is none of the words", first["msg"].split(" is not one of ")[1].rstrip(".").replace("'", "")
    limits = first.get("ctx", {})
    parts = {"field": name, "value": str(first["input"]), "problem": problem, "allowed": allowed.format(**limits)}
    return parts, _hint(error)
