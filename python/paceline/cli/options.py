"""Options and arguments that several commands share."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline import _native, errors, files
from paceline.progress import Mode

if TYPE_CHECKING:
    from paceline.sweeps.runner import Shard

# Paths are `readable=False` throughout, that is, not looked at here: whoever reads one tells of it as of all that is
# wrong with a file, and what is only written need not be readable.
ScenarioFile = Annotated[
    Path, typer.Argument(readable=False, metavar="SCENARIO.toml", show_default=False, help="Scenario file.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", show_default=False, help="Overrides a field of the scenario; may be repeated."
    ),
]
Progress = Annotated[
    Mode,
    typer.Option(
        "--progress",
        metavar="auto|plain|none",
        help="Progress on standard error: a bar on a terminal, else a line every 5 s; always lines; nothing.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Neither progress nor summary; errors only.")]
# Read by errors.take_json_flag before typer sees the arguments; declared so that the help shows it.
JsonErrors = Annotated[bool, typer.Option(errors.JSON_FLAG, help="Errors as one line of JSON on standard error.")]
AsJson = Annotated[bool, typer.Option("--json", help="Prints JSON.")]
Cache = Annotated[
    Path,
    typer.Option(
        "--cache",
        readable=False,
        metavar="DIR",
        envvar="PACELINE_CACHE",
        show_envvar=False,
        help="Where finished runs are kept (PACELINE_CACHE).",
    ),
]
ExecutorName = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="local|dask://HOST:PORT",
        show_default="local",
        help="Processes here, or the workers of a Dask cluster that see --cache.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", min=1, show_default="cores", help="Runs at a time, memory permitting."),
]

CheckOnly = Annotated[bool, typer.Option("--check", help="Makes no run, but checks them all and says what they take.")]

OneShare = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="K/N",
        show_default=False,
        help="Makes only the K-th of N equal shares of the runs, as a job of a batch system.",
    ),
]


OPTIONS = {
    "baseline": "--baseline",
    "buffers": "--buffers",
    "cache": "--cache",
    "cases": "--case",
    "executor": "--executor",
    "folders": "DIR",
    "follow_flows": "--follow-flow",
    "force": "--force",
    "group": "--group",
    "out": "--out",
    "overrides": "--set",
    "seed": "--seed",
    "seeds": "--seeds",
    "shard": "--shard",
    "side": "--side",
    "threads": "--threads",
    "vary": "--vary",
    "workers": "--jobs",
}
"""What is typed for the arguments of functions of the package, the same in all commands."""


def typed(text: str, options: Mapping[str, str] = OPTIONS) -> str:
    """A text of the package with what is typed for the arguments that it has between double backquotes."""
    return re.sub("``([a-z_]+)``", lambda found: options.get(found[1], found[0]), text)


@contextmanager
def naming(**options: str) -> Iterator[None]:
    """Errors about what a function of the engine, or of the package, was given name the option that was typed for it.

    Options by the name there, ``_`` for ``-``. That is the field of the error, or in what is said of another as
    :func:`typed` has it. Fields of scenarios and other files keep their names: they have a line, or an override in
    place of the file.
    """

    def told_of(text: str | None) -> str | None:
        return text and typed(text, options)

    try:
        yield
    except _native.InputError as error:
        own = error.line is None and not (error.file or "").startswith(("--", "``"))
        field = options.get((error.field or "").replace("-", "_")) if own else None
        told = _native.input_error(
            told_of(error.problem) or "",
            file=told_of(error.file),
            line=error.line,
            field=field or error.field,
            value=error.value,
            allowed=told_of(error.allowed),
        )
        for note in getattr(error, "__notes__", ()):
            told.add_note(note)
        raise told from None


@dataclass(frozen=True)
class Sweeping:
    """How a command that runs many scenarios goes about it."""

    cache: Path
    executor: str | None
    jobs: int | None
    progress: Mode
    quiet: bool
    shard: "Shard | None"
    check: bool
    """Only says what is to be done."""

    @classmethod
    def of(
        cls,
        cache: Path,
        executor: str | None,
        jobs: int | None,
        progress: Mode,
        *,
        quiet: bool,
        shard: str | None,
        check: bool,
    ) -> "Sweeping":
        """From the options as typed: ``--quiet`` shows no progress either."""
        from paceline.sweeps.runner import Shard

        # One that is only read is enough where all runs are in it.
        files.check_folder("--cache", cache, written=False)
        return cls(
            cache,
            executor,
            jobs,
            Mode.NONE if quiet else progress,
            quiet,
            None if shard is None else Shard.read(shard),
            check,
        )
