"""Message-passing programs: generated ones as GOAL text, and what is in a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paceline import _native
from paceline import scenario as fields
from paceline.files import check_new, replacing
from paceline.run import check_overrides, read_scenario
from paceline.words import many

PROGRAMS = ("bt", "cg", "ft", "is", "mg", "wrf")
"""Programs that can be generated."""


def export(
    program: str,
    out: Path | None = None,
    *,
    ranks: int,
    problem_class: str | None = None,
    iterations: int | None = None,
    compute_rate: float = 1e9,
    seed: int = 1,
    alltoall: str = "auto",
    allreduce: str = "auto",
    force: bool = False,
) -> tuple[Path, dict[str, Any]]:
    """Writes ``program`` as GOAL text to ``out`` (default: ``PROGRAM.goal``) and returns the file and what is in it.

    ``problem_class`` is one of S, W, A, B, C, D, E, F (``is`` has no F), and nothing for ``wrf``; ``iterations`` as
    many as the class has if not given; ``compute_rate`` operations per second of a rank; times in the schedule are ns.

    Raises InputError for what the program does not run with, and when the file is there.
    """
    for name, algorithm in (("alltoall", alltoall), ("allreduce", allreduce)):
        having = [p for p in PROGRAMS if hasattr(getattr(fields, p.capitalize()), name)]
        if program in PROGRAMS and program not in having and algorithm != "auto":
            allowed = f"auto, or a program that has the operation: {', '.join(having)}"
            problem = f"has no effect on {program}"
            raise _native.input_error(problem, field=name, value=algorithm, allowed=allowed)
    target = Path(f"{program}.goal") if out is None else out
    check_new(target, force=force, field="out")
    with replacing(target) as part:
        found = _native.mpi_export(
            program,
            part,
            ranks,
            problem_class=problem_class,
            iterations=iterations,
            compute_rate=compute_rate,
            seed=seed,
            alltoall=alltoall,
            allreduce=allreduce,
        )
    return target, found


def export_scenario(
    scenario: Path,
    out: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    workload: int | None = None,
    force: bool = False,
) -> tuple[Path, dict[str, Any]]:
    """Writes the program of a scenario as GOAL text to ``out`` (default: the scenario's name, ``.goal``).

    That of ``workload``, counted from 0; it may be left out where only one has a program. Returns the file and what is
    in it, as :func:`export`.

    Raises InputError for a wrong scenario, one without such a program, and when the file is there.
    """
    check_overrides(overrides)
    text = read_scenario(scenario)
    target = scenario.with_suffix(".goal") if out is None else out
    check_new(target, force=force, field="out", inputs=[scenario])
    with replacing(target) as part:
        found = _native.mpi_export_scenario(text, str(scenario), list(overrides), part, str(scenario.parent), workload)
    return target, found


def export_named(
    name: str,
    out: Path | None = None,
    *,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    workload: int | None = None,
    force: bool = False,
) -> tuple[Path, dict[str, Any]]:
    """:func:`export_scenario` where the name is that of a TOML file, else :func:`export`.

    ``settings`` are those of a program that were given: ``class`` and the other arguments of :func:`export`. Raises
    InputError, beside what these two do, for what has no effect on what was named: a setting, or ``overrides``
    and ``workload``.
    """
    if name.endswith(".toml"):
        _refuse(settings, "a scenario", "``overrides``, or the scenario itself")
        return export_scenario(Path(name), out, overrides=overrides, workload=workload, force=force)
    of_scenario = {"overrides": overrides[0] if overrides else None, "workload": workload}
    _refuse(of_scenario, "a program by name", "a scenario in place of the name")
    own = {"problem_class" if key == "class" else key: value for key, value in settings.items()}
    if "ranks" not in own:
        raise _native.input_error("missing", field="ranks", allowed="how many ranks the program has")
    return export(name, out, force=force, **own)


def _refuse(given: Mapping[str, object], what: str, allowed: str) -> None:
    """Refuses the first that was given: it has no effect on this."""
    for key, value in given.items():
        if value is not None:
            raise _native.input_error(f"has no effect on {what}", field=key, value=str(value), allowed=allowed)


def info(file: Path) -> dict[str, Any]:
    """What is in a GOAL schedule: ranks, operations, messages, bytes, whether all is received in full.

    The same as :func:`export` says of the file that it writes. ``empty_computations`` of the ``operations`` are
    ``calc 0``, for which others wait: export writes one for each rank and iteration that follows another.

    Raises InputError when the file cannot be read or is no schedule.
    """
    return _native.mpi_info(file)


def lines(found: dict[str, Any]) -> list[str]:
    """What :func:`info` found, for people."""
    largest = f", the largest {found['largest_message_bytes']:,} B" if found["sends"] else ""
    empty = f", {found['empty_computations']:,} of them empty (calc 0)" if found["empty_computations"] else ""
    said = [
        f"{many(found['ranks'], 'rank')}, {many(found['operations'], 'operation')}{empty}",
        f"{many(found['sends'], 'send')}, {many(found['receives'], 'receive')}, {found['message_bytes']:,} B{largest}",
    ]
    if found["least_runtime"] is not None:
        least = found["least_runtime"]
        said.append(f"a rank computes up to {found['longest_compute']:,} units, all together take {least:,} or more")
    if found["matched"] is None:
        return [*said, "too long to try out"]
    if found["matched"]:
        return [*said, "every message is received"]
    # A message that nobody receives keeps no rank from its end.
    return [*said, f"{'never ends' if found['least_runtime'] is None else 'does not match'}: {found['why']}"]
