"""The commands ``paceline reproduce`` and ``paceline sweep``."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from paceline import _native, files
from paceline.errors import Failure, Interrupted, plain
from paceline.experiments import chosen, experiments
from paceline.options import Sweeping, naming
from paceline.reproduce.executors import open_executor
from paceline.reproduce.model import Experiment, Runs, Scale
from paceline.words import many

if TYPE_CHECKING:
    from paceline.reproduce.store import Store
    from paceline.reproduce.sweep import Job, SweepFailed


def list_experiments(ids: Sequence[str], *, scale: str, as_json: bool) -> None:
    """Prints what can be reproduced and what it takes, at all scales: ``scale`` is only checked."""
    from paceline.reproduce.catalogue import listing, listing_table, source_lines

    _scale(scale)
    if not ids and sys.stderr.isatty():
        print("estimating what all runs at all scales take, for some ten seconds ...", file=sys.stderr)
    entries = listing(chosen(ids) if ids else experiments())
    if as_json:
        print(json.dumps(entries, indent=2))
    else:
        print("\n".join([listing_table(entries).plain(), *source_lines(entries)]))


def reproduce(
    ids: Sequence[str],
    *,
    everything: bool,
    scale: str,
    out: Path | None,
    recorded: Path | None,
    update: bool,
    as_json: bool,
    how: Sweeping,
) -> int:
    """Reproduces, writes pages, prints verdicts; 1 when they differ from the recorded ones or runs failed."""
    picked = _picked(ids, everything)
    size = _scale(scale)
    from paceline.reproduce import record
    from paceline.reproduce.catalogue import as_json as to_json
    from paceline.reproduce.catalogue import reproduce as run
    from paceline.reproduce.page import brief_table, counts_text, write_experiment, write_scoreboard

    folder = Path("results") / "reproduce" / size.value if out is None else out
    files.check_folder("--out", folder)
    path = record.default_path() if recorded is None else recorded
    if update:
        files.check_folder("--verdicts", path.parent, typed=path)
    elif not path.exists():
        allowed = "a file of recorded verdicts, or --update, which writes one"
        raise _native.input_error("no such file", field="--verdicts", value=str(path), allowed=allowed)
    before = record.read(path)
    with naming(cache="--cache"), _interruptible(how), open_executor(how.executor, how.jobs) as where:
        judged = run(picked, size, executor=where, cache=how.cache, progress=how.progress, shard=how.shard)
    known = [j for j in judged if j.verdicts]
    names = [j.experiment.id for j in known]
    found = [record.Row.of(v, size) for j in known for v in j.verdicts]
    changed = record.differences(before, found, names, size)
    if update and changed:
        record.update(path, before, found, names, size, [e.id for e in experiments()])
    larger = record.at_larger_scale(before, size)
    for j in judged:
        page = write_experiment(j, folder / j.experiment.id, larger)
        if not as_json and not how.quiet:
            print(brief_table(j.verdicts, f"{j.experiment.id}: {j.experiment.title}", larger).plain())
            print(f"{counts_text(j.verdicts, larger)}; {plain(str(page))}\n")
    if everything:
        page = write_scoreboard(judged, [] if update else changed, folder, larger)
        if not as_json and not how.quiet:
            print(f"{counts_text([v for j in judged for v in j.verdicts], larger)}; {plain(str(page))}")
    if as_json:
        print(json.dumps(to_json(judged, changed), indent=2))
    failed = [f"{j.experiment.id}: {problem}" for j in judged if not j.verdicts for problem in j.problems]
    if failed:
        raise Failure("runs failed:\n  " + "\n  ".join(failed))
    if changed and update and not how.quiet and not as_json:
        print(f"{plain(str(path))}: {len(changed)} verdicts rewritten")
    if changed and not update:
        listed = "\n  ".join(changed)
        raise Failure(f"verdicts differ from {path} (--update rewrites it):\n  {listed}")
    return 0


@contextmanager
def _interruptible(how: Sweeping) -> Iterator[None]:
    """Keeps the message of an interrupted sweep: the command line parser swallows every ``KeyboardInterrupt``.

    A command that has made its share, where others lack theirs, ends here.
    """
    from paceline.reproduce.sweep import SharesMissing, SweepInterrupted

    try:
        yield
    except SweepInterrupted as stopped:
        raise Interrupted(str(stopped)) from None
    except SharesMissing as done:
        if not how.quiet:
            print(done)
        raise typer.Exit from None


def _picked(ids: Sequence[str], everything: bool) -> tuple[Experiment, ...]:
    allowed = f"{', '.join(e.id for e in experiments())}; or --all"
    if everything and ids:
        raise _native.input_error("not together with --all", field="ID", value=" ".join(ids), allowed=allowed)
    if not everything and not ids:
        raise _native.input_error("is missing", field="ID", allowed=allowed)
    return experiments() if everything else chosen(ids)


def _scale(scale: str) -> Scale:
    if scale not in tuple(Scale):
        raise _native.input_error("no such scale", field="--scale", value=scale, allowed=", ".join(Scale))
    return Scale(scale)


def sweep(
    scenario: Path,
    vary: Sequence[str],
    *,
    cases: Sequence[str],
    seeds: int,
    group: str | None,
    overrides: Sequence[str],
    out: Path | None,
    how: Sweeping,
) -> None:
    """Runs all combinations and writes the table.

    Raises :class:`paceline.SweepFailed` when runs failed; the table holds the others then, and says which failed.
    """
    from paceline.reproduce.brief import brief
    from paceline.reproduce.curves import draw
    from paceline.reproduce.grid import grid, tidy, write_table
    from paceline.reproduce.remarks import remarks
    from paceline.reproduce.store import Store
    from paceline.reproduce.sweep import prepare

    folder = Path("results") / f"{scenario.stem}-sweep" if out is None else out
    files.check_folder("--out", folder)
    made = prepare(grid(scenario, vary, seeds=seeds, overrides=overrides, cases=cases))
    _check_group(group, made)
    runs, failed = _run_all(made, Store(how.cache), how, scenario.stem)
    rows = tidy(runs, group)
    written = write_table(rows, folder)
    varied = list(runs.runs[0].point.key)
    written += draw(rows, varied, scenario.stem, folder)
    if not how.quiet:
        title = scenario.stem if group is None else f"{scenario.stem}, flows of group {group} only"
        print(brief(rows, varied, title).plain())
        print("".join(f"{remark}\n" for remark in remarks(runs)), end="")
        print(f"{many(len(made), 'run')}; {plain(', '.join(map(str, written)))}")
    if failed is not None:
        raise failed


def _check_group(group: str | None, jobs: Sequence[Job]) -> None:
    """Refuses a group that a run would not have, before any is made."""
    for job in jobs if group is not None else ():
        groups = [load["group"] for load in tomllib.loads(job.scenario_toml).get("workloads", [])]
        if group not in groups:
            allowed = ", ".join(dict.fromkeys(groups)) or "none: there are no workloads"
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
    from paceline import sizing
    from paceline.reproduce.store import Store
    from paceline.reproduce.sweep import prepare

    times = p99.endswith("x")
    limits = sizing.Limits(
        p99=None if times else _limit("--p99", p99, math.inf, least=1.0),
        p99_times=_limit("--p99", p99, math.inf, least=1.0) if times else None,
        drops=_limit("--drops", drops, 1.0),
        paused=_limit("--paused", paused, 1.0),
    )
    folder = Path("results") / f"{scenarios[0].stem}-buffers" if out is None else out
    files.check_folder("--out", folder)
    chosen = [size.strip() for size in buffers.split(",")] if buffers else []
    points, remarks = sizing.points(scenarios, chosen, vary, seeds=seeds, overrides=overrides)
    runs, failed = _run_all(prepare(points), Store(how.cache), how, "size-buffers")
    found = sizing.curves(runs, limits)
    written = sizing.write(found, folder)
    print(sizing.answers(found).plain())
    if not how.quiet:
        print(sizing.everything(found).plain())
        print(
            "\n".join(
                [
                    *sizing.remarks(runs, found),
                    *remarks,
                    f"{many(len(runs), 'run')}; {plain(', '.join(map(str, written)))}",
                ]
            )
        )
    if failed is not None:
        raise failed


def _run_all(jobs: Sequence[Job], store: Store, how: Sweeping, title: str) -> tuple[Runs, SweepFailed | None]:
    """All runs, and what says which of them failed; their folders are not there."""
    from paceline.reproduce.sweep import SweepFailed, run_jobs, runs_of

    failed = None
    with naming(cache="--cache"), _interruptible(how), open_executor(how.executor, how.jobs) as where:
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
