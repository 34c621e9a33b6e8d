"""What ``paceline reproduce`` does, step by step; its options are in ``cli/sweeps.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paceline import _native, files
from paceline.cli.options import Sweeping
from paceline.cli.sweeping import interruptible, tell_outlook
from paceline.errors import Failure, plain
from paceline.experiments import chosen, experiments
from paceline.files import replaceable
from paceline.reproduce.model import Experiment, Scale
from paceline.sweeps.executors import open_executor
from paceline.sweeps.runner import prepare

if TYPE_CHECKING:
    from paceline.reproduce.record import Row
    from paceline.reproduce.regenerate import Judged


def list_experiments(ids: Sequence[str], *, scale: str, as_json: bool) -> None:
    """Prints what can be reproduced and what it takes, at all scales: ``scale`` is only checked."""
    from paceline.reproduce.catalogue import listing, listing_table, source_lines

    _scale(scale)
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
    for option, given in (("--update", update), ("--json", as_json)):
        if how.check and given:
            raise _native.input_error(
                "has no effect", field=option, allowed="not together with --check: nothing is run"
            )
    from paceline.reproduce import record
    from paceline.reproduce.regenerate import reproduce as run

    folder = Path("results") / "reproduce" / size.value if out is None else out
    files.check_folder("--out", folder)
    replaceable.check_reproduced(folder, [e.id for e in picked], scoreboard=everything)
    path = record.default_path() if recorded is None else recorded
    if update:
        files.check_folder("--verdicts", path.parent, typed=path)
    elif not path.exists():
        allowed = "a file of recorded verdicts, or --update, which writes one"
        raise _native.input_error("no such file", field="--verdicts", value=str(path), allowed=allowed)
    before = record.read(path)
    if how.check:
        tell_outlook([job for experiment in picked for job in prepare(experiment.plan(size))], how)
        return 0
    with interruptible(how), open_executor(how.executor, how.jobs) as where:
        judged = run(picked, size, executor=where, cache=how.cache, progress=how.progress, shard=how.shard)
    known = [j for j in judged if j.verdicts]
    names = [j.experiment.id for j in known]
    found = [record.Row.of(v, size) for j in known for v in j.verdicts]
    changed = record.differences(before, found, names, size)
    if update and changed:
        record.update(path, found, names, size, [e.id for e in experiments()])
    told = not as_json and not how.quiet
    larger = record.at_larger_scale(before, size)
    _write_pages(judged, folder, larger, scoreboard=everything, changed=[] if update else changed, told=told)
    if as_json:
        from paceline.reproduce.regenerate import as_json as to_json

        print(json.dumps(to_json(judged, changed), indent=2))
    failed = [f"{j.experiment.id}: {problem}" for j in judged if not j.verdicts for problem in j.problems]
    if failed:
        raise Failure("runs failed:\n  " + "\n  ".join(failed))
    if changed and update and told:
        print(f"{plain(str(path))}: {len(changed)} verdicts rewritten")
    if changed and not update:
        listed = "\n  ".join(changed)
        raise Failure(f"verdicts differ from {path} (--update rewrites it):\n  {listed}")
    return 0


def _write_pages(
    judged: Sequence[Judged],
    folder: Path,
    larger: Mapping[str, Row],
    *,
    scoreboard: bool,
    changed: Sequence[str],
    told: bool,
) -> None:
    """Writes the page of each experiment and, if wanted, the scoreboard; with ``told`` prints what is in them."""
    from paceline.reproduce.page import brief_table, counts_text, write_experiment, write_scoreboard

    for j in judged:
        page = write_experiment(j, folder / j.experiment.id, larger)
        if told:
            print(brief_table(j.verdicts, f"{j.experiment.id}: {j.experiment.title}", larger).plain())
            print(f"{counts_text(j.verdicts, larger)}; {plain(str(page))}\n")
    if scoreboard:
        page = write_scoreboard(judged, changed, folder, larger)
        if told:
            print(f"{counts_text([v for j in judged for v in j.verdicts], larger)}; {plain(str(page))}")


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
