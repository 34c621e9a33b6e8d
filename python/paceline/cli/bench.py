"""``paceline bench``: starts the benchmark program in place of this one."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from paceline.errors import JSON_FLAG, Failure


def bench(context: typer.Context) -> None:
    """Measures the engine: paceline bench [NAME...] [--json].

    Hands everything to the program `paceline-bench`, which `make setup` builds; that measures itself, without Python.
    `paceline bench -h` names its workloads and options.

    \b
    Examples:
      paceline bench
      paceline bench incast-pfc --json
    """
    as_json = context.find_root().obj  # the flag may stand anywhere, and was taken out
    become_program([*context.args, *([JSON_FLAG] if as_json else [])])


def program() -> Path:
    """Where the benchmark program is: beside the Python that runs this."""
    return Path(sys.executable).with_name("paceline-bench")


def become_program(arguments: Sequence[str]) -> None:
    """Replaces this process by the benchmark program, so that its memory is its own and Python's is not in it."""
    binary = program()
    if not os.access(binary, os.X_OK):
        raise Failure(f"{binary} is missing; `make setup` in a checkout of Paceline builds it")
    sys.stdout.flush()
    os.execv(binary, [str(binary), *arguments])
