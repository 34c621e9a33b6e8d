"""The command ``paceline``. Thin: each command calls the functions of the package that do the work.

The rest of the package knows nothing of it: what commands do can be had without them. What a command needs is imported
inside it, so that ``paceline --help`` need not wait for matplotlib.
"""

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from paceline import _native, errors
from paceline.cli import bench, foreign, mpi, runs, scenarios, sweeps
from paceline.cli.options import OPTIONS, JsonErrors, naming
from paceline.cli.usage import Command
from paceline.run import check_text
from paceline.words import revision

_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="paceline",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
    epilog="Exit codes: 0 done, 1 failure, 2 bad input, 130 interrupted (what was simulated until then is kept).",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    errors.settle_streams()
    # Figures go to files. Notebooks set a backend for what they start, one that only they have.
    os.environ["MPLBACKEND"] = "agg"
    if os.environ.get("PACELINE_CACHE") == "":
        del os.environ["PACELINE_CACHE"]  # as good as unset; it would be the current folder
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json, rest = errors.take_json_flag(given)

    def command() -> object:
        _check(rest)
        with naming(**OPTIONS):
            ended = app(args=rest, prog_name="paceline", standalone_mode=False, obj=as_json)
        if ended == errors.ExitCode.INTERRUPTED:
            raise KeyboardInterrupt  # typer returns this number for one, and says nothing
        return ended

    return errors.guard(command, as_json=as_json)


def _check(arguments: Sequence[str]) -> None:
    """Refuses arguments that no option and no command takes: empty ones, and names of files that are not UTF-8."""
    for i, argument in enumerate(arguments):
        before = arguments[i - 1] if i else ""
        option = re.fullmatch(r"(--[a-z-]+)=(.*)", argument, re.DOTALL)
        field, value = option.groups() if option else (before if before.startswith("-") else "argument", argument)
        if not value:
            field, allowed = _taker(arguments[:i], field)
            raise _native.input_error("is empty", field=field, value='""', allowed=allowed)
        check_text(value, field)


def _taker(before: Sequence[str], option: str) -> tuple[str, str]:
    """What would take the value after these arguments, an option or an argument of the command, and what it may be."""
    command = typer.main.get_command(app)
    for word in before:
        command = getattr(command, "commands", {}).get(word, command)
    for parameter in command.params:
        if option in parameter.opts and not getattr(parameter, "is_flag", False):
            return option, "a value" if parameter.required else f"a value, or no {option} at all"
    named = (str(p.metavar).strip("[].") for p in command.params if p.param_type_name == "argument" and p.metavar)
    return next(named, "argument"), "a value"


def _print_version(wanted: bool) -> None:
    if wanted:
        git = _native.git_revision()
        built = f" ({revision(git)})" if git else ""
        print(f"paceline {_native.version()}{built}")
        raise typer.Exit


@app.callback()
def paceline(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Prints the version and exits.")
    ] = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Simulates congestion control in datacenter networks, packet by packet.

    \b
    A first run:
      paceline list
      paceline init incast
      paceline run incast.toml
      paceline report results/incast
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


_schedules = typer.Typer(rich_markup_mode=None, invoke_without_command=True, context_settings=_SETTINGS)
_schedules.callback()(mpi.schedules)
_schedules.command("export", cls=Command)(mpi.export)
_schedules.command("info", cls=Command)(mpi.info)

# In the order of the help, which is that of somebody's first hours; groups come last whatever their place.
app.command(cls=Command)(scenarios.init)
app.command("list", cls=Command)(scenarios.list_)
app.command(cls=Command)(scenarios.explain)
app.command(cls=Command)(scenarios.check)
app.command(cls=Command)(runs.run)
app.command(cls=Command)(runs.report)
app.command(cls=Command)(runs.timeline)
app.command(cls=Command)(runs.diff)
app.command(cls=Command)(sweeps.sweep)
app.command("size-buffers", cls=Command)(sweeps.size_buffers)
app.command(cls=Command)(sweeps.reproduce)
app.command(cls=Command)(foreign.hpcc)
app.command(cls=Command)(foreign.export)
app.command(cls=Command)(foreign.htsim)
app.add_typer(_schedules, name="mpi")
app.command(
    cls=Command,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"]},
)(bench.bench)
