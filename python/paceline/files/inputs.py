"""Files as people hand them over: regular ones, within a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from paceline import _native


def open_input(path: Path, allowed: str) -> BinaryIO:
    """Opens an input file.

    Raises InputError when it cannot be read or is a pipe or a device, which could keep us waiting, or never end.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
            problem = f"cannot be read: it is {kind}, not a file"
            raise _native.input_error(problem, file=str(path), allowed=allowed)
        return path.open("rb")
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise _native.input_error(problem, file=str(path), allowed=allowed) from error


def read_input(path: Path, allowed: str, *, most: int) -> str:
    """The text of an input file of at most ``most`` bytes. InputError when it cannot be read as one."""
    with open_input(path, allowed) as file:
        data = file.read(most + 1)
        size = max(os.fstat(file.fileno()).st_size, len(data))
    if size > most:
        raise _native.input_error("is too long", file=str(path), value=f"{size} bytes", allowed=f"at most {most} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problem = "is not a text file in UTF-8"
        raise _native.input_error(problem, file=str(path), line=line, allowed=allowed) from error
