"""Experiments run and judged: all their points in one sweep, the verdicts of each, and both as files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _native, files
from paceline.progress import Mode
from paceline.reproduce.model import Experiment, Outcome, Scale, Verdict
from paceline.sweeps import CACHE
from paceline.sweeps.executors import LocalProcesses
from paceline.sweeps.points import Runs
from paceline.sweeps.runner import Job, Shard, SweepFailed, prepare, run_jobs, runs_of
from paceline.sweeps.store import Store

JSON_VERSION = 1


@dataclass(frozen=True)
class Judged:
    """An experiment at a scale, with its runs and verdicts; or with what kept some of its runs from being made."""

    experiment: Experiment
    scale: Scale
    jobs: tuple[Job, ...]
    runs: Runs
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...] = ()
    """Why there are no verdicts: its runs that failed."""
    stalled: tuple[str, ...] = ()
    """Its runs that came to a standstill, as those in a deadlock do."""

    def count(self, outcome: Outcome) -> int:
        """Verdicts with this outcome."""
        return sum(verdict.verdict is outcome for verdict in self.verdicts)


def reproduce(
    experiments: Sequence[Experiment],
    scale: Scale | str = Scale.QUICK,
    *,
    executor: Executor | None = None,
    cache: Path | str = CACHE,
    progress: Mode | str = Mode.AUTO,
    shard: Shard | None = None,
) -> list[Judged]:
    """Runs what is missing of the experiments, in one sweep over all their points, and judges them.

    ``executor``, ``cache`` and ``progress`` are those of :func:`paceline.sweep`. An experiment of which a run fails
    has no verdicts but ``problems``; the others are judged. With ``shard`` only that share of the runs is made.

    Raises :class:`paceline.SweepInterrupted` on Ctrl-C; with ``shard`` :class:`SharesMissing` when the runs of other
    shares are not there, and :class:`SweepFailed`.
    """
    scale = Scale(scale)
    planned = [prepare(experiment.plan(scale)) for experiment in experiments]
    store = Store(Path(cache))
    failures: dict[str, str] = {}
    with ExitStack() as stack:
        if executor is None:
            executor = LocalProcesses()
            stack.callback(executor.shutdown)
        jobs = [job for plan in planned for job in plan]
        try:
            run_jobs(jobs, executor=executor, store=store, progress=Mode(progress), title="reproduce", shard=shard)
        except SweepFailed as failed:
            if shard is not None:
                raise
            failures = failed.failures
    found = []
    for experiment, plan in zip(experiments, planned, strict=True):
        runs = runs_of(plan, store)
        failed_here = tuple(failures[job.key] for job in plan if job.key in failures)
        if failed_here:
            found.append(Judged(experiment, scale, tuple(plan), runs, (), failed_here))
        else:
            stalled = tuple(run.point.label for run in runs if run.results().status == "stalled")
            verdicts = tuple(experiment.judge(runs, scale))
            found.append(_checked(Judged(experiment, scale, tuple(plan), runs, verdicts, stalled=stalled)))
    return found


def _checked(judged: Judged) -> Judged:
    """Refuses verdicts that the record could not tell apart: a fault of the experiment, not of its user."""
    names = [verdict.name for verdict in judged.verdicts]
    wrong = [name for name in names if names.count(name) > 1 or name.partition(".")[0] != judged.experiment.id]
    assert not wrong, f"{judged.experiment.id}: verdict ids must begin with its id and be unique: {sorted(set(wrong))}"
    return judged


def as_json(judged: Sequence[Judged], changed: Sequence[str]) -> dict[str, Any]:
    """All verdicts for programs."""
    return {
        "schema_version": JSON_VERSION,
        "version": _native.version(),
        "git": _native.git_revision(),
        "scale": judged[0].scale.value if judged else None,
        "experiments": [
            {
                "id": j.experiment.id,
                "title": j.experiment.title,
                "source": j.experiment.source,
                "problems": list(j.problems),
                "stalled": list(j.stalled),
                "verdicts": [_verdict_json(v) for v in j.verdicts],
            }
            for j in judged
        ],
        "differences": list(changed),
    }


def _verdict_json(v: Verdict) -> dict[str, Any]:
    return {
        "id": v.id,
        "statement": v.told,
        "published": v.published,
        "measured": _told(v.measured),
        "interval": None if v.interval is None else [*map(_told, v.interval)],
        "tolerance": v.tolerance,
        "verdict": v.verdict.value,
        "variant": v.variant,
        "seeds": list(v.seeds),
    }


def _told(value: float | int | str | None) -> float | int | str | None:
    """A value, or the end of an interval, that JSON can say: an end without bound is none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(judged: Judged, folder: Path) -> Path:
    """Writes ``verdicts.json`` of one experiment."""
    path = folder / "verdicts.json"
    files.write(path, json.dumps(as_json([judged], []), indent=2) + "\n")
    return path


def scenario_files(judged: Judged) -> Iterator[tuple[str, str]]:
    """File names and texts of the exact scenarios of an experiment, each run once."""
    seen: set[str] = set()
    for job in judged.jobs:
        if job.key not in seen:
            seen.add(job.key)
            parts = [str(value) for value in job.point.key.values()] + [f"seed{job.point.seed}"]
            plain = "-".join("".join(c if c.isalnum() or c in "+.-_" else "_" for c in part) for part in parts)
            yield f"scenario-{plain}-{job.key[:6]}.toml", job.scenario_toml
