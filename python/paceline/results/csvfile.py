"""CSV tables of a result folder as NumPy columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline.errors import ResultsError, cut


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
    error where it is ``needed``.
    """
    dtypes: dict[type, type] = {int: np.int64, float: np.float64, str: np.str_}
    empty: dict[str, NDArray[Any]] = {name: np.zeros(0, dtype=dtypes[kind]) for name, kind in kinds.items()}
    try:
        if not path.is_file():
            if needed or path.exists():
                raise ResultsError(
                    path, "is not a file" if path.exists() else "is missing; the run that ended wrote it"
                )
            return empty
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
    reader = csv.reader(text.splitlines())
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
        try:
            columns[name] = np.array([kind(c) for c in cells], dtype=dtypes[kind])
        except (ValueError, OverflowError) as error:
            raise _bad_cell(path, name, kind, cells) from error
        if kind is float and not np.isfinite(columns[name]).all():
            raise _bad_cell(path, name, kind, cells)
    return columns


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
