"""The baseline ``alone``: every flow of a run simulated with the network to itself, kept in ``alone.bin``.

Everything but the other flows is as in the run: transport, controller, framing, switches, the flow's path, base RTT
and window. No size is interpolated. It costs about as many link crossings as the run at most, is done once after it,
and does not depend on the number of threads.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline import _native
from paceline.errors import Interrupted, ResultsError
from paceline.progress import Mode, reporting
from paceline.results.checked import read_header

FILE = "alone.bin"
ENTRY = np.dtype([("fct_sender_ps", "<u8"), ("fct_receiver_ps", "<u8")])
"""What the file holds of each flow, after a header of 64 bytes; 0 where a flow does not finish even alone."""

_HEADER_BYTES = 64
_MAGIC = b"PACELALN"


def simulate(folder: Path, *, threads: int = 1, progress: Mode = Mode.NONE) -> None:
    """Simulates the flows of a run alone and writes ``alone.bin`` into its folder.

    Raises ``InputError`` when the run has not ended, is of another version, asks queries (which this baseline does not
    know), or its input files have changed, ``OSError`` when the disk says no, and ``Interrupted`` after Ctrl-C; then
    there is no file.
    """
    if (folder / "queries.bin").exists():
        raise _native.input_error(
            f"simulates single flows alone, and the run asks queries{_asking(folder)}, of several messages each",
            field="baseline",
            value="alone",
            allowed="line_rate, against which queries have slowdowns (ideal_qct_ps); hpcc; or a run without queries",
            file=str(folder / "queries.bin"),
        )
    with reporting(progress, f"{folder.name}, flows alone") as report:
        complete = _native.alone(str(folder), threads, report)
    if not complete:
        raise Interrupted(f"{folder / FILE} is not written")


def _asking(folder: Path) -> str:
    """Which workloads ask queries, as far as the folder says."""
    try:
        workloads = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))["workloads"]
        asking = [f"workloads.{i}" for i, w in enumerate(workloads) if w["kind"] in ("rpc", "scatter_gather")]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        asking = []
    return f" ({', '.join(asking)})" if asking else ""


def load(folder: Path, flows: int, *, threads: int = 1, progress: Mode = Mode.NONE) -> NDArray[Any]:
    """FCTs alone of the flows of a folder, as a memory map of :data:`ENTRY`; simulates them if there is no file.

    ``flows`` is how many the run has. Raises :class:`ResultsError` where the file holds something else, and what
    :func:`simulate` raises.
    """
    path = folder / FILE
    if not path.exists():
        simulate(folder, threads=threads, progress=progress)
    header, length = read_header(path, _HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        raise ResultsError(path, f"ends inside its {_HEADER_BYTES}-byte header; delete it to make it anew")
    version, entry, stated = (*np.frombuffer(header, "<u4", 2, 8), *np.frombuffer(header, "<u8", 1, 16))
    size = length - _HEADER_BYTES
    good = header[:8] == _MAGIC and (version, entry) == (1, ENTRY.itemsize)
    if not good or int(stated) != flows or size != flows * ENTRY.itemsize:
        raise ResultsError(path, f"does not hold this run's {flows} flows; delete it to make it anew")
    return np.memmap(path, ENTRY, "r", _HEADER_BYTES, (flows,)) if flows else np.zeros(0, dtype=ENTRY)
