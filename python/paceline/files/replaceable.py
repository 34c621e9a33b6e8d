"""What is Paceline's own in a place that ``out`` names: only that is replaced.

One rule for all commands. In a folder with an earlier result of the command, that result is replaced; in any other,
nothing may be there by a name that the command writes or removes. What has other names is nobody's business and stays.
``paceline run``, whose files have more names, is stricter: the engine refuses a folder that holds other files and is no
result folder. What has ``force`` asks for it instead (:func:`paceline.files.check_new`).
"""

from __future__ import annotations

import glob
import json
import re
import zlib
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote

from paceline import _native
from paceline.files import figures
from paceline.files.inputs import open_input, read_input

_BEGINNING = 1 << 16
"""Bytes by which a file of ours is known."""
_MOST_JSON = 256 << 20
"""Bytes of the longest file of ours that is read as a whole to be known."""


def check_sweep(folder: Path) -> None:
    """Refuses a folder in which ``paceline sweep`` would replace or remove somebody's files. Raises InputError."""
    names = ("sweep.csv", "sweep.parquet", *figures.names("sweep"))
    _check(folder, names, _is_table(folder / "sweep.csv", "seed", "status", "folder"), "an earlier sweep")


def check_buffers(folder: Path) -> None:
    """Refuses a folder in which ``paceline size-buffers`` would replace or remove somebody's. Raises InputError."""
    names = ("buffers.csv", *figures.names("buffers"))
    ours = _is_table(folder / "buffers.csv", "curve", "buffer_bytes", "status", "breaks")
    _check(folder, names, ours, "an earlier size-buffers")


def check_report(page: Path) -> None:
    """Refuses a page, or a folder beside it, where a report would replace somebody's files. Raises InputError.

    In the folder of a run all names of reports are Paceline's; the next run removes them, too.
    """
    folder = page.parent
    of_run = _is_run(folder)
    if not (of_run and page.name == "report.html"):
        _check(folder, (glob.escape(page.name),), _is_page(page), "an earlier report")
    beside = ("tables.md", "tables.tex", *figures.names("figures/*"))
    _check(folder, beside, of_run or any(map(_is_page, folder.glob("*.html"))), "an earlier report")


def left_over(page: Path, drawn: Collection[str]) -> list[Path]:
    """Files in ``figures/`` of a page that is to be replaced, but for those ``drawn`` this time.

    They would be taken for those of the new one. What another page leads to is none of them.
    """
    others = (other for other in page.parent.glob("*.html") if other != page)
    kept = set(drawn).union(*map(_figures_of, others))
    left = (page.parent / "figures" / name for name in sorted(_figures_of(page) - kept))
    return [path for path in left if path.is_file()]


def _figures_of(page: Path) -> set[str]:
    """Names of the figures' files in ``figures/`` that a page of Paceline's leads to; none where it is no such page.

    A page may come from anybody: what is no name of such a file is left out, lest others be removed.
    """
    if not _is_page(page):
        return set()
    try:
        text = read_input(page, "a page", most=_MOST_JSON)
    except _native.InputError:
        return set()
    found = {unquote(name) for name in re.findall(r'<a href="figures/([^"/]+)">', text)}
    endings = figures.names("")
    return {name for name in found if name.isprintable() and Path(name).name == name and name.endswith(endings)}


def check_reproduced(folder: Path, ids: list[str], *, scoreboard: bool) -> None:
    """Refuses a folder in which ``paceline reproduce`` would replace somebody's files. Raises InputError.

    The folder of a result has tables and scenarios by any name: there must be nothing in it but an earlier result.
    """
    for name in ids:
        _check(folder / name, ("*",), _is_judged(folder / name / "verdicts.json"), "an earlier reproduce")
    if scoreboard:
        board = folder / "scoreboard.html"
        _check(folder, (board.name, "scoreboard.md"), _is_page(board), "an earlier reproduce")


def check_timeline(file: Path, head: str) -> None:
    """Refuses a file that is there and no timeline, all of which begin with ``head``. Raises InputError."""
    ours = _beginning(file).startswith(head)
    if _is_there(file) and not ours:
        raise _refused(file, "is no timeline of Paceline's", "a new file, or a timeline to replace")


def _check(folder: Path, patterns: tuple[str, ...], ours: bool, earlier: str) -> None:
    """Refuses a folder that is not ``ours``, that of ``earlier`` results, and has something by one of these names."""
    if ours or not folder.is_dir():
        return
    for pattern in patterns:
        for found in sorted(folder.glob(pattern)):
            if not found.name.endswith(".part"):  # what a killed command left
                problem = f"is there and not of {earlier}: it would be replaced"
                raise _refused(found, problem, f"a folder without it, or that of {earlier}, which is replaced")


def _refused(path: Path, problem: str, allowed: str) -> _native.InputError:
    return _native.input_error(problem, field="out", value=str(path), allowed=allowed)


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _beginning(path: Path) -> str:
    """How a file begins, unpacked if it is compressed; nothing where it is none, or cannot be read."""
    try:
        with open_input(path, "a file") as file:
            data = file.read(_BEGINNING)
        if path.suffix == ".gz":
            data = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, _BEGINNING)
    except (_native.InputError, OSError, zlib.error):
        return ""
    return data.decode("utf-8", "replace")


def _is_table(path: Path, *columns: str) -> bool:
    """Whether a CSV file has these columns."""
    head = _beginning(path).partition("\n")[0].split(",")
    return set(columns) <= set(head)


def _is_page(path: Path) -> bool:
    """Whether a file is a page of Paceline's; before they named their generator, only their titles said so."""
    head = _beginning(path)
    known = ('<meta name="generator" content="Paceline">', "· Paceline report</title>", "· Paceline</title>")
    return any(mark in head for mark in known)


def _is_run(folder: Path) -> bool:
    """Whether a folder is that of a run, as the engine sees it."""
    return "schema_version" in _read_json(folder / "summary.json")


def _is_judged(path: Path) -> bool:
    return {"schema_version", "experiments"} <= _read_json(path).keys()


def _read_json(path: Path) -> dict[str, object]:
    """An object from a file; an empty one where it is none, or too long to be ours."""
    try:
        with open_input(path, "a file") as file:
            text = file.read(_MOST_JSON + 1)
        value = json.loads(text) if len(text) <= _MOST_JSON else None
    except (_native.InputError, OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
