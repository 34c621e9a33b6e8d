"""Runs configurations of the HPCC reference simulator and writes the files they name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paceline import _native
from paceline.files import open_input
from paceline.progress import Mode, reporting


def hpcc(
    config: Path,
    *,
    lenient: bool = False,
    qlen_dump_ms: int = 100,
    quirks: Sequence[str] | None = None,
    without_quirks: Sequence[str] = (),
    engine: str | None = None,
    progress: Mode = Mode.NONE,
) -> dict[str, Any]:
    """Runs ``config`` and returns a summary. File names in it are relative to the current directory.

    ``lenient`` turns what the reference simulator would ignore into warnings instead of errors; ``qlen_dump_ms`` is
    the period of the queue histograms in simulated milliseconds; ``quirks`` names the behaviours of the reference
    simulator to keep (``None``: all of them), ``without_quirks`` those to leave out of all; docs/compatibility.md
    explains them.

    Raises InputError when a file is missing or wrong.
    """
    # As every command names a file that cannot be read; the engine would tell of a field `config`.
    open_input(config, "a configuration of the HPCC simulator").close()
    with reporting(progress, config.name) as report:
        return _native.hpcc(
            str(config),
            lenient,
            qlen_dump_ms,
            None if quirks is None else list(quirks),
            list(without_quirks),
            engine,
            report,
        )
