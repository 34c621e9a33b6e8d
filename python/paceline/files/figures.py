"""The files of a figure: by which names they are written, known for ours, and removed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ENDINGS: Final = ("png", "pdf", "svg")
"""Of the files that every figure is written to."""


def names(figure: str) -> tuple[str, ...]:
    """Names of the files of a figure, or patterns of such names."""
    return tuple(f"{figure}.{ending}" for ending in ENDINGS)


def remove(folder: Path, figure: str) -> None:
    """Removes a figure that is not drawn this time: one of other runs would be taken for that of these."""
    for name in names(figure):
        (folder / name).unlink(missing_ok=True)
