"""What ``paceline sweep`` and ``paceline size-buffers`` do, step by step; their options are in ``cli/sweeps.py``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from paceline import _native, files
from paceline.cli.options import Sweeping, typed
from paceline.errors import Interrupted, plain
from paceline.files import replaceable
from paceline.run import read_scenario
from paceline.sweeps.executors import open_executor
from paceline.sweeps.points import Runs
from paceline.words import many

if TYPE_CHECKING:
    from paceline.sweeps.runner import Job, SweepFailed
    from paceline.sweeps.store import Store


@contextmanager
def interruptible(how: Sweeping) -> Iterator[None]:
    """Keeps the message of an interrupted sweep: the command line parser swallows every ``KeyboardInterrupt``.

    A command that has made its share, where others lack theirs, ends here.
    """
    from paceline.sweeps.runner import SharesMissing, SweepInterrupted

    try:
        yield
    except SweepInterrupted as stopped:
        raise Interrupted(str(stopped)) from None
    except SharesMissing as done:
        if not how.quiet:
            print(done)
        raise typer.Exit from None


def sweep(
    scenario: Path,
    vary: Sequence[str],
    *,
    cases: Sequence[str],
    ablate: bool,
    seeds: int,
    group: str | None,
    overrides: Sequence[str],
    out: Path | None,
    how: Sweeping,
) -> None:
    """Runs all combinations and writes the table.

    Raises :class:`paceline.SweepFailed` when runs failed; the table holds the others then, and says which failed.
    """
    from paceline.sweeps import ablation
    from paceline.sweeps.brief import brief
    from paceline.sweeps.curves import draw
    from paceline.sweeps.grid import grid
    from paceline.sweeps.remarks import remarks, together
    from paceline.sweeps.runner import prepare
    from paceline.sweeps.store import Store
    from paceline.sweeps.table import tidy, write_table

    folder = Path("results") / f"{scenario.stem}-sweep" if out is None else out
    files.check_folder("--out", folder)
    replaceable.check_sweep(folder)
    tried = None
    if ablate:
        if vary or cases:
            given = f"--vary {vary[0]}" if vary else f"--case {cases[0]}"
            problem = "leaves out one setting at a time, and nothing else changes"
            raise _native.input_error(problem, field="--ablate", value=given, allowed="without --vary and --case")
        tried = ablation.ablation(scenario, overrides)
        cases = tried.cases
    texts = {scenario: read_scenario(scenario)}
    made = prepare(grid(scenario, vary, seeds=seeds, overrides=overrides, cases=cases))
    _check_group(group, made)
    if how.check:
        tell_outlook(made, how)
        return
    runs, failed = _run_all(made, Store(how.cache), how, scenario.stem)
    rows = tidy(runs, group)
    written = write_table(rows, folder)
    varied = list(runs.runs[0].point.key)
    written += draw(rows, varied, scenario.stem, folder)
    if not how.quiet:
        title = scenario.stem if group is None else f"{scenario.stem}, flows of group {group} only"
        print(brief(rows, varied, title).plain())
        # Warnings of an ablation's other cases are of defaults, which nobody has chosen for this scenario.
        chosen = runs.where(case=ablation.AS_GIVEN) if tried else runs
        told = remarks(chosen, rows=rows, varied=[] if tried else varied, scenarios=texts)
        told += together(runs) if group is None else []
        told += ablation.found(rows, tried) if tried else []
        print(typed("".join(f"{remark}\n" for remark in told)), end="")
        print(f"{many(len(made), 'run')}; {plain(', '.join(map(str, written)))}")
    if failed is not None:
        raise failed


def _check_group(group: str | None, jobs: Sequence[Job]) -> None:
    """Refuses a group that a run would not have, before any is made."""
    for job in jobs if group is not None else ():
        if group not in job.groups:
            allowed = ", ".join(job.groups) or "none: there are no workloads"
            raise _native.input_error("no such group", field="--group", value=group, allowed=allowed)


def size_buffers(
    scenarios: Sequence[Path],
    *,
    buffers: str | None,
    vary: Sequence[str],
    p99: str,
    drops: str,
    paused: str,
    seeds: int,
    overrides: Sequence[str],
    out: Path | None,
    how: Sweeping,
) -> None:
    """Runs the scenarios over buffers, writes table and figure and prints the answer.

    Raises :class:`paceline.SweepFailed` when runs failed; table and figure are of the others then.
    """
    from paceline.sweeps import sizing
    from paceline.sweeps.runner import prepare
    from paceline.sweeps.store import Store

    times = p99.endswith("x")
    limits = sizing.Limits(
        p99=None if times else _limit("--p99", p99, math.inf, least=1.0),
        p99_times=_limit("--p99", p99, math.inf, least=1.0) if times else None,
        drops=_limit("--drops", drops, 1.0),
        paused=_limit("--paused", paused, 1.0),
    )
    folder = Path("results") / f"{scenarios[0].stem}-buffers" if out is None else out
    files.check_folder("--out", folder)
    replaceable.check_buffers(folder)
    chosen = [size.strip() for size in buffers.split(",")] if buffers else []
    texts = {scenario: read_scenario(scenario) for scenario in scenarios}
    points, remarks = sizing.points(scenarios, chosen, vary, seeds=seeds, overrides=overrides)
    made = prepare(points)
    if how.check:
        tell_outlook(made, how)
        return
    runs, failed = _run_all(made, Store(how.cache), how, "size-buffers")
    found = sizing.curves(runs, limits)
    written = sizing.write(found, folder)
    if not how.quiet:
        print(sizing.answers(found).plain())
        print(sizing.everything(found).plain())
        print(
            "\n".join(
                [
                    *sizing.remarks(runs, found, texts),
                    *remarks,
                    f"{many(len(runs), 'run')}; {plain(', '.join(map(str, written)))}",
                ]
            )
        )
    if failed is not None:
        raise failed


def tell_outlook(jobs: Sequence[Job], how: Sweeping) -> None:
    """Prints what is to be done for some runs."""
    from paceline.sweeps.runner import outlook
    from paceline.sweeps.store import Store

    if not how.quiet:
        print(outlook(jobs, Store(how.cache), how.shard))


def _run_all(jobs: Sequence[Job], store: Store, how: Sweeping, title: str) -> tuple[Runs, SweepFailed | None]:
    """All runs, and what says which of them failed; their folders are not there."""
    from paceline.sweeps.runner import SweepFailed, run_jobs, runs_of

    failed = None
    with interruptible(how), open_executor(how.executor, how.jobs) as where:
        try:
            run_jobs(jobs, executor=where, store=store, progress=how.progress, title=title, shard=how.shard)
        except SweepFailed as error:
            if how.shard is not None:
                raise
            failed = error
    return runs_of(jobs, store), failed


def _limit(option: str, text: str, most: float, *, least: float = 0.0) -> float | None:
    """A limit as typed; None for ``off``. InputError for what is no number, below ``least`` or above ``most``.

    No slowdown is below 1, and no buffer could keep such a limit. One without a largest value may be so many times
    something (``1.1x``), of which the number is returned.
    """
    if text == "off":
        return None
    try:
        value = float(text.removesuffix("x") if math.isinf(most) else text)
    except ValueError:
        value = math.nan
    if not least <= value <= most or math.isinf(value):
        allowed = f"off, or a number from {least:g}" + (
            f" to {most:g}" if math.isfinite(most) else ", such as 20 or 1.1x"
        )
        raise _native.input_error("not a limit", field=option, value=text, allowed=allowed)
    return value
