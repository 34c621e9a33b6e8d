"""The HPCC reference simulator's files: runs its configurations, writes scenarios and results as such."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paceline import _native
from paceline.files import check_folder, check_new, open_input, replacing
from paceline.progress import Mode, reporting
from paceline.results import Results
from paceline.run import check_overrides, read_scenario
from paceline.words import many

FILES = ("config.txt", "topology.txt", "flow.txt", "trace.txt")
"""What :func:`export` writes."""
FCT = "fct.txt"
"""What :func:`export_results` writes."""
BEGIN_NS = 2_000_000_000
"""When a scenario begins in these files."""
_FIRST_PORT = 10_000
"""Port of the first flow between two hosts; the next have the next."""
_TO_PORT = 100
"""Port that all flows go to, in the files of :func:`export`, too."""


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
    check_folder("out", folder)
    targets = [folder / name for name in FILES]
    if folder.is_dir():
        for target in targets:
            check_new(target, force=force, field="out")
    with ExitStack() as stack:
        stack.enter_context(_made(folder))
        # All are there before one is put in place.
        parts = [str(stack.enter_context(replacing(target))) for target in targets]
        found = _native.hpcc_export(text, str(scenario), list(overrides), parts, str(scenario.parent))
    return Exported(folder, **found)


def export_results(results: Results, out: Path | None = None, *, force: bool = False) -> Exported:
    """Writes the flows of a run as the fct file of the HPCC reference simulator, for scripts that read such files.

    The file ``fct.txt`` goes to the folder ``out`` (default: the name of the result folder, ``-fct``: not that of
    :func:`export`, where the simulator writes a file of this name). It has a line per finished flow, in the order of
    their ends, as docs/compatibility.md describes it. Times are truncated to nanoseconds, starts are 2 s later than in
    the run, as in the files of :func:`export`. Flows are timed where reports time them: at the receiver if any is over
    UDP, else at the sender.

    Raises InputError when the file is there, ResultsError when the results are damaged.
    """
    folder = Path(f"{results.path.resolve().name}-fct") if out is None else out
    check_folder("out", folder)
    if folder.is_dir():
        check_new(folder / FCT, force=force, field="out")
    flows, side = results.flows, results.default_side()
    fct_ps = flows[f"fct_{side}_ps"]
    ended = np.flatnonzero((flows["status"] == "finished") & (fct_ps > 0))
    end_ps = flows["start_ps"][ended] + fct_ps[ended]
    names = ("src", "dst", "size_bytes", "start_ps", "ideal_hpcc_ps")
    columns = [flows[name][ended].tolist() for name in names]
    ports = _source_ports(flows["src"].tolist(), flows["dst"].tolist())
    with _made(folder), replacing(folder / FCT) as part, part.open("w", encoding="ascii") as file:
        times = fct_ps[ended].tolist()
        for at in np.lexsort((ended, end_ps)).tolist():
            src, dst, size, start_ps, ideal_ps = (column[at] for column in columns)
            start = BEGIN_NS + start_ps // 1000
            took = f"{times[at] // 1000} {ideal_ps // 1000}"
            file.write(f"{_address(src)} {_address(dst)} {ports[ended[at]]} {_TO_PORT} {size} {start} {took}\n")
    left_out = flows.rows - len(ended)
    notices = [f"{many(left_out, 'flow')} without an end: not in the file"] if left_out else []
    return Exported(folder, len(ended), notices)


def _source_ports(src: list[int], dst: list[int]) -> list[int]:
    """The port by which each flow leaves: it counts those of its pair of hosts, in the order of their starts."""
    pairs: Counter[tuple[int, int]] = Counter()
    ports = []
    for pair in zip(src, dst, strict=True):
        ports.append(_FIRST_PORT + pairs[pair])
        pairs[pair] += 1
    return ports


def _address(host: int) -> str:
    """The address of a host there: 11.(host / 256).(host mod 256).1 in hexadecimal."""
    return f"{0x0B00_0001 + (host << 8):08x}"


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Makes a folder that is not there; it goes away again when nothing has been written to it."""
    if folder.is_dir():
        yield
        return
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()
