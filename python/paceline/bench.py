"""Starts the benchmark program in place of this one."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from paceline.errors import Failure


def program() -> Path:
    """Where the benchmark program is: beside the Python that runs this."""
    return Path(sys.executable).with_name("paceline-bench")


def bench(arguments: Sequence[str]) -> None:
    """Replaces this process by the benchmark program, so that its memory is its own and Python's is not in it."""
    binary = program()
    if not os.access(binary, os.X_OK):
        raise Failure(f"{binary} is missing; `make setup` in a checkout of Paceline builds it")
    sys.stdout.flush()
    os.execv(binary, [str(binary), *arguments])
