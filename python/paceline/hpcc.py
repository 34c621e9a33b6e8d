"""The HPCC reference simulator's files: runs its configurations, writes scenarios as such."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _native
from paceline.files import check_folder, check_new, open_input, replacing
from paceline.progress import Mode, reporting
from paceline.run import check_overrides, read_scenario

FILES = ("config.txt", "topology.txt", "flow.txt", "trace.txt")
"""What :func:`export` writes."""


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


@dataclass(frozen=True)
class Exported:
    """What :func:`export` has written."""

    folder: Path
    flows: int
    notices: list[str]
    """What the files cannot say, or say otherwise."""


def export(scenario: Path, out: Path | None = None, *, overrides: Sequence[str] = (), force: bool = False) -> Exported:
    """Writes a scenario as files of the HPCC reference simulator.

    They go to the folder ``out`` (default: the scenario's name, ``-hpcc``). The simulator runs them, and so does
    :func:`hpcc`. The scenario begins at 2 s there.

    Raises InputError for a wrong scenario, one with something that the simulator does not have at all, and when the
    files are there.
    """
    check_overrides(overrides)
    text = read_scenario(scenario)
    folder = Path(f"{scenario.stem}-hpcc") if out is None else out
    check_folder("--out", folder)
    targets = [folder / name for name in FILES]
    if folder.is_dir():
        for target in targets:
            check_new(target, force=force, option="--out")
    with ExitStack() as stack:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            stack.enter_context(_removed_if_empty(folder))
        # All are there before one is put in place.
        parts = [str(stack.enter_context(replacing(target))) for target in targets]
        found = _native.hpcc_export(text, str(scenario), list(overrides), parts, str(scenario.parent))
    return Exported(folder, **found)


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """A folder goes away again when nothing has been written to it."""
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()
