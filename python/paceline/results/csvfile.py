"""CSV tables of a result folder as NumPy columns.

Series of a long run have millions of rows. Tables as the engine writes them are read by :func:`_plain`, some megabytes
at a time; all others, and those with errors, row by row, which takes three times as long and twice the memory.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline.errors import ResultsError, cut

_DTYPES: dict[type, type] = {int: np.int64, float: np.float64, str: np.str_}
_ORDINARY = bytes({*range(32, 127), *b"\n"} - {*b'"'})
"""Bytes of a table in which each line is a row and each comma ends a cell."""
_AT_ONCE = 1 << 23
"""Bytes read at once."""
_MOST_IN_LINE = 1 << 16
"""Bytes from which an unfinished line is none of the engine's. What is kept of it is copied with each further read."""
_LONGEST = 255
"""Characters of a text: each row of an array has as many as the longest."""


def read_csv(
    path: Path,
    kinds: Mapping[str, type],
    *,
    complete: bool,
    needed: bool = False,
    absent: Mapping[str, int] | None = None,
) -> dict[str, NDArray[Any]]:
    """The columns named in ``kinds``; further columns are ignored.

    An empty cell of a column in ``absent`` is the number there. A missing file is a table without rows, or else an
    error where it is ``needed``. Of a run that is not ``complete`` half a last row is left out.

    Raises :class:`ResultsError` for a file that cannot be read, is no such table, or has a cell that is no value of its
    column.
    """
    empty: dict[str, NDArray[Any]] = {name: np.zeros(0, dtype=_DTYPES[kind]) for name, kind in kinds.items()}
    try:
        if not path.is_file():
            if needed or path.exists():
                raise ResultsError(
                    path, "is not a file" if path.exists() else "is missing; the run that ended wrote it"
                )
            return empty
        found = _plain(path, kinds, absent or {}, complete=complete)
        if found is not None:
            return found
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ResultsError(path, f"is not UTF-8 text: {error}") from error
    if not complete:  # a killed run leaves half a last row
        text = text[: text.rfind("\n") + 1]
        if not text:
            return empty
    elif text and not text.endswith("\n"):
        raise ResultsError(path, f"is cut short: its last line, {text.count(chr(10)) + 1}, has no end")
    # Only at ends of lines: str.splitlines would also part rows at a form feed or at U+2028 within a text.
    reader = csv.reader(line.removesuffix("\r") for line in text.split("\n")[:-1])
    try:
        header, *rows = [*reader] or [[]]
    except csv.Error as error:
        raise ResultsError(path, f"line {reader.line_num}: {error}") from error
    missing = [name for name in kinds if name not in header]
    if missing:
        raise ResultsError(path, f"line 1 has no column {', '.join(missing)}")
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise ResultsError(path, f"line {i + 2} has {len(row)} cells, the header {len(header)}")
    columns: dict[str, NDArray[Any]] = {}
    for name, kind in kinds.items():
        at = header.index(name)
        cells = [row[at] for row in rows]
        if absent and name in absent:
            cells = [cell or str(absent[name]) for cell in cells]
        long = next((i for i, cell in enumerate(cells) if kind is str and len(cell) > _LONGEST), None)
        if long is not None:
            raise ResultsError(path, f"line {long + 2}: {name} has {len(cells[long])} characters, more than {_LONGEST}")
        try:
            columns[name] = np.array([kind(c) for c in cells], dtype=_DTYPES[kind])
        except (ValueError, OverflowError) as error:
            raise _bad_cell(path, name, kind, cells) from error
        if kind is float and not np.isfinite(columns[name]).all():
            raise _bad_cell(path, name, kind, cells)
    return columns


def _plain(
    path: Path, kinds: Mapping[str, type], absent: Mapping[str, int], *, complete: bool
) -> dict[str, NDArray[Any]] | None:
    """What :func:`read_csv` returns; None where the table is not plain, or anything is wrong with it."""
    pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in kinds}
    with path.open("rb") as file:
        header = file.readline(_MOST_IN_LINE)
        names = header.decode("ascii", errors="replace").removesuffix("\n").split(",")
        if not header.endswith(b"\n") or not _is_plain(header) or len(names) < 2 or not kinds.keys() <= {*names}:
            return None
        rest = b""
        while read := file.read(_AT_ONCE):
            rows, newline, rest = (rest + read).rpartition(b"\n")
            if len(rest) > _MOST_IN_LINE:
                return None
            columns = _plain_rows(rows + newline, names, kinds, absent)
            if columns is None:
                return None
            for name, column in columns.items():
                pieces[name].append(column)
    if rest and complete:
        return None
    return {name: np.concatenate([np.zeros(0, dtype=_DTYPES[kinds[name]]), *of]) for name, of in pieces.items()}


def _plain_rows(
    data: bytes, names: list[str], kinds: Mapping[str, type], absent: Mapping[str, int]
) -> dict[str, NDArray[Any]] | None:
    """The columns of whole rows; None where they are not plain, or anything is wrong with them."""
    if not _is_plain(data):
        return None
    marks = np.frombuffer(data, dtype=np.uint8)
    ends, commas = np.flatnonzero(marks == ord("\n")), np.flatnonzero(marks == ord(","))
    if len(commas) != len(ends) * (len(names) - 1):
        return None
    by_row = commas.reshape(len(ends), len(names) - 1)
    if np.any(by_row[:, -1] > ends) or np.any(by_row[1:, 0] < ends[:-1]):
        return None
    cells = data.decode("ascii").replace("\n", ",").split(",")
    columns: dict[str, NDArray[Any]] = {}
    for name, kind in kinds.items():
        own = cells[names.index(name) : -1 : len(names)]
        if name in absent:
            own = [cell or str(absent[name]) for cell in own]
        try:
            if kind is str:
                if max(map(len, own), default=0) > _LONGEST:
                    return None
                columns[name] = np.array(own, dtype=np.str_)
            else:
                columns[name] = np.fromiter(map(kind, own), dtype=_DTYPES[kind], count=len(own))
        except (ValueError, OverflowError):
            return None
        if kind is float and not np.isfinite(columns[name]).all():
            return None
    return columns


def _is_plain(data: bytes) -> bool:
    return not data.translate(None, _ORDINARY)


def _bad_cell(path: Path, name: str, kind: type, cells: list[str]) -> ResultsError:
    wanted = "a whole number below 2^63" if kind is int else "a finite number"
    for i, cell in enumerate(cells):
        try:
            if kind is int and not -(2**63) <= int(cell) < 2**63:
                raise ValueError
            if not math.isfinite(float(cell)):
                raise ValueError
        except (ValueError, OverflowError):
            return ResultsError(path, f"line {i + 2}: {name} is {cut(repr(cell))}, not {wanted}")
    return ResultsError(path, f"{name} holds something that is not {wanted}")
