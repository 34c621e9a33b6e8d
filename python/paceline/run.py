"""Runs a scenario file."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paceline import _native
from paceline.interrupt import stop_on_signal
from paceline.progress import Mode, Snapshot, view


def run(
    scenario: Path,
    out: Path | None = None,
    *,
    threads: int | None = None,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    follow_flows: Sequence[int] = (),
    progress: Mode = Mode.NONE,
) -> dict[str, Any]:
    """Runs the scenario and returns what ``summary.json`` in the result folder says.

    ``out`` is ``results/<name of the scenario file>`` unless given, ``threads`` all cores this process may use; the
    result does not depend on it. ``overrides`` are ``key=value`` texts, ``follow_flows`` flow ids whose rate and window
    are recorded. A Ctrl-C leaves a valid partial result with the status ``interrupted``.

    Raises InputError when the scenario or an override is wrong.
    """
    text = read_scenario(scenario)
    check_overrides(overrides)
    with reporting(progress, scenario.stem) as report:
        return _native.run(
            text,
            str(scenario),
            list(overrides),
            str(result_folder(scenario, out)),
            threads or 1,
            seed,
            list(follow_flows),
            report,
            str(scenario.parent),
        )


def check(scenario: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Validates the scenario without running it and returns it resolved, with what there is to warn about.

    Raises InputError as `run` does.
    """
    check_overrides(overrides)
    return _native.check(read_scenario(scenario), str(scenario), list(overrides), str(scenario.parent))


def result_folder(scenario: Path, out: Path | None) -> Path:
    """Where the result of a scenario file goes."""
    return Path("results") / scenario.stem if out is None else out


def read_scenario(path: Path) -> str:
    """Text of a scenario file; an InputError names a file that cannot be read as text."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _native.input_error(f"cannot be read: {error.strerror}", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise _native.input_error("is not a text file in UTF-8", file=str(path)) from error


def check_overrides(overrides: Sequence[str]) -> None:
    """Refuses an override that is no assignment; whether the key exists is for the engine to say."""
    for override in overrides:
        key, equals, _ = override.partition("=")
        if not key.strip() or not equals:
            raise _native.input_error(
                "is not an assignment",
                field="--set",
                value=override,
                allowed="key=value, the key dotted as the scenario nests it",
            )


def usable_cores() -> int:
    """Cores this process may run on: fewer than the machine has in a container or batch job."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def reporting(mode: Mode, title: str) -> Iterator[Callable[[Snapshot], bool]]:
    """The callback for the engine: shows progress, and answers whether to go on."""
    with stop_on_signal() as stop, view(mode, title) as shown:

        def report(snapshot: Snapshot) -> bool:
            if not stop.made:
                shown.show(snapshot)
            return not stop.made

        yield report
