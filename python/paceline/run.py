"""Runs scenarios: a file into a result folder, or a Python value into results."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from paceline import _native
from paceline.errors import cut
from paceline.files import check_folder, check_new, read_input, write
from paceline.interrupt import stop_on_signal
from paceline.progress import Mode, Snapshot, reporting
from paceline.results import parquet

if TYPE_CHECKING:
    from paceline.results import Results
    from paceline.scenario import Scenario

ProgressLike = Mode | Literal["auto", "plain", "none"] | Callable[[Snapshot], object]
"""What is shown while a run is under way, or a function that is called about ten times a second."""


_OVERRIDE: Final = "--set "
"""What the engine puts before an override that an error is about, in place of the file."""

MOST_SCENARIO: Final = 8 << 20
"""Bytes of the longest scenario; the engine takes no more."""

MOST_SEED: Final = 2**63 - 1


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP ended a simulation early; ``results`` holds what was simulated until then."""

    def __init__(self, results: Results) -> None:
        super().__init__(f"{results!r}; the exception's .results holds what was simulated until then")
        self.results = results

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.results,)


def simulate(
    scenario: Scenario | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    threads: int = 1,
    seed: int | None = None,
    overrides: Sequence[str] | None = (),
    follow_flows: Sequence[int] | None = (),
    progress: ProgressLike = "auto",
) -> Results:
    """Simulates and returns the results.

    ``scenario`` is a :class:`paceline.Scenario`, the path of a TOML file, or TOML text (a string with line breaks).
    Names of input files in it are relative to the TOML file, else to the current directory. The result folder is
    ``out``; without it, a temporary one that goes when the results are no longer referred to, at the latest when Python
    ends; what ends the process past Python, SIGTERM by default, leaves it. Results without ``out`` take its files
    along when they are pickled, as for another process; those with ``out`` only say where theirs is.

    ``seed`` replaces the scenario's, ``overrides`` are ``"key=value"`` texts as after ``--set``, and ``follow_flows``
    are ids of flows whose permitted rate and window are recorded. ``progress`` shows a bar on a terminal and a line
    every 5 s elsewhere (``"auto"``), always lines (``"plain"``), nothing (``"none"``), or calls a function. The results
    do not depend on ``threads``.

    Raises :class:`InputError` when the scenario is wrong, :class:`OSError` when the results cannot be written,
    :class:`SimulationInterrupted`, a ``KeyboardInterrupt``, on Ctrl-C, and what a progress function raises.
    """
    from paceline.results import Results
    from paceline.results.temporary import TemporaryFolder

    source = Source.of(scenario)
    overrides = as_list(overrides, "overrides", '["seed=2"]')
    follow_flows = as_list(follow_flows, "follow_flows", "[0, 3]")
    check_overrides(overrides)
    check_numbers(threads, seed, follow_flows)
    place: TemporaryFolder | Path | None = None if out is None else as_folder(out)

    def remove() -> None:
        if isinstance(place, TemporaryFolder):
            shutil.rmtree(place.path, ignore_errors=True)

    with ExitStack() as held:
        try:
            with _progress(progress, source.title, remove) as report:
                if place is None:
                    # Not before: a signal that ends the process would leave it.
                    place = TemporaryFolder.new()
                folder = place.path if isinstance(place, TemporaryFolder) else place
                summary = _run(held, source, folder, report, threads, seed, overrides, follow_flows)
                results = Results.load(place)
            if out is not None and parquet.available():
                parquet.write_tables(results)
        except BaseException as error:
            remove()
            raise source.placed(error) from None
    if summary["status"] == "interrupted":
        raise SimulationInterrupted(results)
    return results


def load(folder: str | os.PathLike[str]) -> Results:
    """Opens a result folder; that of a run that goes on or was killed opens too.

    Raises :class:`ResultsError` when it is not one.
    """
    from paceline.results import Results

    return Results.load(Path(folder))


def restore(folder: str | os.PathLike[str]) -> None:
    """Makes ``flows.csv`` and the like, and with pyarrow Parquet files, of a run that was killed before it could.

    Raises :class:`ResultsError` when the folder is no result folder.
    """
    restore_tables(load(folder))


def restore_tables(results: Results) -> None:
    """:func:`restore` for a folder that is open already."""
    if (results.path / "flows.bin").exists():
        _native.restore_csv(str(results.path))
    if parquet.available():
        parquet.renew_tables(results)


def run(
    scenario: Path,
    out: Path | None = None,
    *,
    threads: int = 1,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    follow_flows: Sequence[int] = (),
    progress: Mode = Mode.NONE,
) -> dict[str, Any]:
    """Runs the scenario file and returns what ``summary.json`` in the result folder says.

    ``out`` is ``results/<name of the scenario file>`` unless given; the result does not depend on ``threads``.
    ``overrides`` are ``key=value`` texts, ``follow_flows`` flow ids whose permitted rate and window are recorded. A
    Ctrl-C leaves a valid partial result with the status ``interrupted``.

    Raises InputError when the scenario or an override is wrong and OSError when the results cannot be written.
    """
    text = read_scenario(scenario)
    check_overrides(overrides)
    check_numbers(threads, seed, follow_flows)
    folder = result_folder(scenario, out)
    check_folder("out", folder)
    source = Source(text, str(scenario), str(scenario.parent), folder.name)
    with ExitStack() as held:
        with reporting(progress, source.title) as report:
            summary = _run(held, source, folder, report, threads, seed, overrides, follow_flows)
        if parquet.available():
            from paceline.results import Results  # takes NumPy

            parquet.write_tables(Results.load(folder))
    return summary


def _run(
    held: ExitStack,
    source: Source,
    folder: Path,
    report: Callable[[Snapshot], bool],
    threads: int,
    seed: int | None,
    overrides: Sequence[str],
    follow_flows: Sequence[int],
) -> dict[str, Any]:
    """Has the engine run it, and returns what ``summary.json`` says.

    The folder is the run's own as long as ``held`` is open: another run into it would put its files beside ours.
    """
    summary, hold = _native.run(
        source.text,
        source.name,
        list(overrides),
        str(folder),
        threads,
        seed,
        list(follow_flows),
        report,
        source.base,
    )
    held.callback(hold.release)
    return summary


def check(scenario: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Validates the scenario without running it.

    Returns it resolved, with what there is to warn about, the engine it gets, and how large and costly a run would be.

    Raises InputError as `run` does.
    """
    check_overrides(overrides)
    return _native.check(read_scenario(scenario), str(scenario), list(overrides), str(scenario.parent))


def save_flows(
    scenario: Scenario | str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    overrides: Sequence[str] | None = (),
    force: bool = False,
) -> int:
    """Writes the flows of a scenario as a flow table (CSV) and returns how many there are. Nothing is run.

    ``scenario`` and ``overrides`` are as for :func:`simulate`. A scenario with this table in place of its workloads,
    ``kind = "flows"`` and ``file``, and with schemes of the same names, has the same flows to the last picosecond. With
    several schemes the workload needs a ``scheme``, any of them: each flow keeps its own.

    Raises :class:`InputError` when the scenario is wrong or has flows that wait for others (queries, programs), and
    when the file is there, unless ``force``.
    """
    source = Source.of(scenario)
    overrides = as_list(overrides, "overrides", '["seed=2"]')
    check_overrides(overrides)
    target = Path(file)
    check_text(str(target), "file")
    check_new(target, force=force, field="file", inputs=[Path(source.name)] if source.base is not None else [])
    try:
        text, flows = _native.flow_table(source.text, source.name, list(overrides), source.base)
    except _native.InputError as error:
        raise source.placed(error) from None
    write(target, text)
    return flows


def named_settings(text: str) -> Iterator[tuple[str | int, ...]]:
    """Paths of the settings that a scenario in TOML names, in its order; entries of lists of tables by their numbers.

    Raises :class:`tomllib.TOMLDecodeError` for what is no TOML.
    """

    def walk(value: object, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from walk(inner, (*path, key))
        elif isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
            for number, entry in enumerate(value):
                yield from walk(entry, (*path, number))
        else:
            yield path

    yield from walk(tomllib.loads(text), ())


def given_settings(text: str, overrides: Sequence[str] = ()) -> set[str]:
    """The settings that a scenario in TOML and its overrides name, dotted, without the numbers of list entries."""
    found = {".".join(part for part in path if isinstance(part, str)) for path in named_settings(text)}
    for override in overrides:
        parts = [part.strip() for part in override.partition("=")[0].split(".")]
        key = ".".join(part for part in parts if not part.isdecimal())
        if not any(part.isdecimal() for part in parts):
            # A table in place of a section leaves nothing of that. Of a list other entries may name the same.
            found = {name for name in found if not name.startswith(f"{key}.")}
        try:
            named = list(named_settings(override))
        except tomllib.TOMLDecodeError:  # A bare word is a text, as the engine takes it.
            named = []
        inner = (".".join(part for part in path if isinstance(part, str) and not part.isdecimal()) for path in named)
        found |= {key, *inner}
    return found


def result_folder(scenario: Path, out: Path | None) -> Path:
    """Where the result of a scenario file goes."""
    return Path("results") / scenario.stem if out is None else out


def read_scenario(path: Path) -> str:
    """Text of a scenario file; an InputError names a file that cannot be read as text."""
    return read_input(path, "a scenario in TOML", most=MOST_SCENARIO)


def check_overrides(overrides: Sequence[str], field: str = "overrides") -> None:
    """Refuses an override that is no assignment; whether the key exists is for the engine to say."""
    for override in overrides:
        if not isinstance(override, str):
            allowed = "key=value, as a text"
            raise _native.input_error("is no text", field=field, value=repr(override), allowed=allowed)
        check_text(override, field)
        key, equals, _ = override.partition("=")
        if not key.strip() or not equals:
            raise _native.input_error(
                "is not an assignment",
                field=field,
                value=override,
                allowed="key=value, the key dotted as the scenario nests it",
            )


def check_text(text: str, field: str) -> None:
    """Refuses a text that is none in UTF-8, as a file name can be, and so would not cross into the engine."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        value = ascii(text)[1:-1]
        raise _native.input_error("is not text in UTF-8", field=field, value=value, allowed="UTF-8") from None


def as_list(value: object, field: str, such_as: str) -> list[Any]:
    """The entries of a sequence, none for ``None``; InputError for what is no sequence."""
    if value is None:
        return []
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        allowed = f"a list such as {such_as}"
        raise _native.input_error("is no list", field=field, value=cut(repr(value)), allowed=allowed)
    return list(value)


def as_folder(out: str | os.PathLike[str]) -> Path:
    """The path of an output folder; InputError for what cannot be one."""
    name = os.fspath(out) if isinstance(out, str | os.PathLike) else ""
    if not isinstance(name, str) or not name or "\0" in name:
        raise _native.input_error("is no path", field="out", value=cut(repr(out)), allowed="the path of a folder")
    check_text(name, "out")
    check_folder("out", Path(name))
    return Path(name)


def check_numbers(threads: object, seed: object, follow_flows: Sequence[object]) -> None:
    """Refuses numbers that are none or out of range, which would not cross into the engine."""
    given = [("threads", threads, 1, 65535), *(("follow_flows", flow, 0, 10**12) for flow in follow_flows)]
    if seed is not None:
        given.append(("seed", seed, 0, MOST_SEED))
    for field, value, least, most in given:
        if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
            allowed = f"a whole number from {least} to {most}"
            raise _native.input_error("not allowed", field=field, value=repr(value), allowed=allowed)


@dataclass(frozen=True)
class Source:
    """A scenario as text, with what errors in it are to say about the place."""

    text: str
    name: str
    base: str | None
    """Where names of input files start; the current directory without it."""
    title: str

    @classmethod
    def of(cls, scenario: Scenario | str | os.PathLike[str]) -> Source:
        """The source of what :func:`simulate` takes as a scenario; InputError when it is none."""
        if isinstance(scenario, str) and "\n" in scenario:
            check_text(scenario, "scenario")
            return cls(scenario, "scenario text", None, "simulation")
        if isinstance(scenario, str | os.PathLike):
            path = Path(scenario)
            if "\0" in str(path):
                allowed = "a scenario in TOML"
                raise _native.input_error("is no path", field="scenario", value=repr(str(path)), allowed=allowed)
            check_text(str(path), "scenario")
            return cls(read_scenario(path), str(path), str(path.parent), path.stem)
        from paceline.scenario import Scenario

        if not isinstance(scenario, Scenario):
            allowed = "a paceline.Scenario, the path of a TOML file, or TOML text with line breaks"
            kind = type(scenario).__name__
            raise _native.input_error("not a scenario", field="scenario", value=kind, allowed=allowed)
        try:
            text = scenario.to_toml()
        except _native.InputError:
            raise
        except (TypeError, AttributeError, ValueError, RecursionError) as error:
            problem = "something in it holds itself" if isinstance(error, RecursionError) else str(error)
            allowed = "the classes of paceline.scenario"
            raise _native.input_error(problem, field="scenario", allowed=allowed) from None
        check_text(text, "scenario")
        return cls(text, "", None, str(scenario.name))

    def placed(self, error: BaseException, origins: Mapping[str, str] | None = None) -> BaseException:
        """An error without the file and line of a text that its user never saw.

        ``origins``: what the overrides are called that the user did not write as such (:attr:`Point.origins`).
        """
        if not isinstance(error, _native.InputError):
            return error
        file, line = error.file, error.line
        if not self.name and not file:
            file = line = None
        elif file and file.startswith(_OVERRIDE):
            file = next((name for text, name in (origins or {}).items() if _told(text, file)), file)
        if (file, line) == (error.file, error.line):
            return error
        return _native.input_error(
            error.problem, file=file, line=line, field=error.field, value=error.value, allowed=error.allowed
        )


def _told(override: str, file: str) -> bool:
    """Whether the engine, which cuts long ones, calls an override so."""
    start = file.removeprefix(_OVERRIDE)
    return override == start or (start.endswith("…") and override.startswith(start[:-1]))


@contextmanager
def _progress(
    progress: ProgressLike, title: str, before_death: Callable[[], object] | None
) -> Iterator[Callable[[Snapshot], bool]]:
    """The callback for the engine, from what a caller of :func:`simulate` asks for.

    ``before_death`` is as in :func:`stop_on_signal`.
    """
    if isinstance(progress, str):
        if progress not in tuple(Mode):
            allowed = '"auto", "plain", "none" or a function'
            raise _native.input_error("no such progress", field="progress", value=progress, allowed=allowed)
        with reporting(Mode(progress), title, before_death) as report:
            yield report
        return
    if not callable(progress):
        allowed = '"auto", "plain", "none" or a function'
        raise _native.input_error("not a progress", field="progress", value=repr(progress), allowed=allowed)
    with stop_on_signal(before_death=before_death) as stop:

        def call(snapshot: Snapshot) -> bool:
            progress(snapshot)
            return not stop.heed()

        yield call
