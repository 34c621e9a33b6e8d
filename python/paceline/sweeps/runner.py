"""The sweep: runs points through an executor, each once, and keeps what is finished."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from paceline import _native
from paceline.errors import Failure, cut
from paceline.files import check_folder
from paceline.interrupt import StopRequest, stop_on_signal
from paceline.progress import Mode, View, view
from paceline.run import Source, as_list, check_numbers, check_overrides
from paceline.sweeps import CACHE
from paceline.sweeps.executors import LocalProcesses, cores, free_memory_mib
from paceline.sweeps.points import Point, Run, Runs
from paceline.sweeps.store import Store, key_of
from paceline.sweeps.worker import Task, run_task
from paceline.words import many, run_time

POLL_S = 0.25
"""Wall seconds between two looks at what goes on."""

START_S = 0.1
"""CPU seconds that a run's process takes beside the simulation, about: all 618 runs of scale tiny took 78 s with it."""

MEMORY_SHARE = 0.8
"""Share of the free memory that runs on this machine may take, going by their estimates."""


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP ended a sweep; what had finished is kept, and the next sweep begins there."""


class SweepFailed(Failure):
    """Some points could not be run; the others were, and are ``runs``.

    ``failures`` maps the keys of the results that are not there to what went wrong.
    """

    def __init__(self, failures: dict[str, str], runs: Runs) -> None:
        listed = "".join(f"\n  {problem}" for problem in failures.values())
        super().__init__(f"{len(failures)} of {len({run.folder for run in runs})} runs failed:{listed}")
        self.failures = failures
        self.runs = Runs(tuple(run for run in runs if run.folder.is_dir()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _failed, (str(self), self.failures, self.runs)


def _failed(message: str, failures: dict[str, str], runs: Runs) -> SweepFailed:
    """A :class:`SweepFailed` that was pickled: its runs are those that did not fail, and its message counts all."""
    error = SweepFailed(failures, runs)
    error.args = (message,)
    return error


@dataclass(frozen=True)
class Shard:
    """One of several equal shares of a sweep's runs, made by processes that know nothing of each other."""

    number: int
    """From 1."""
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """What is typed as ``K/N``; InputError for anything else."""
        found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
        shard = cls(*map(int, found.groups())) if found else cls(0, 0)
        if not 1 <= shard.number <= shard.of:
            allowed = "K/N, the K-th of N shares, K from 1"
            raise _native.input_error("no such share", field="shard", value=text, allowed=allowed)
        return shard


class SharesMissing(Exception):
    """A share of a sweep is made, but not all others are: there are no results of the whole yet."""


@dataclass(frozen=True)
class Job:
    """A point made ready: resolved, identified and sized up."""

    point: Point
    key: str
    scenario_toml: str
    cpu_s: float
    memory_mib: float
    groups: tuple[str, ...] = ()
    """Of its flows, those that only a flow table names, too."""


def prepare(points: Iterable[Point]) -> list[Job]:
    """Resolves points, which also checks them all before the first one runs.

    Raises InputError for a scenario that is wrong.
    """
    return side_by_side(_job, points)


_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


def side_by_side(check: Callable[[_Asked], _Answer], asked: Iterable[_Asked]) -> list[_Answer]:
    """What a function gives for each, in their order, on all cores: while it checks, the engine needs no Python.

    Raises what the function raises, of several errors the first in that order.
    """
    with ThreadPoolExecutor(cores(), thread_name_prefix="paceline-check") as pool:
        return list(pool.map(check, asked))


def predicted_cpu_s(points: Iterable[Point]) -> float:
    """CPU seconds the points take on one core, about; what they share counts once, and seeds cost the same."""
    # Points of one key cost the same, whatever follows from their seeds: one of them is written as text.
    alike: dict[Any, tuple[Point, set[int]]] = {}
    for point in points:
        alike.setdefault((tuple(point.key.items()), point.overrides), (point, set()))[1].add(point.seed)
    seeds: dict[tuple[Source, tuple[str, ...]], set[int]] = {}
    for point, own in alike.values():
        seeds.setdefault((Source.of(point.scenario), point.overrides), set()).update(own)
    chosen = sorted(seeds, key=repr)
    costs = side_by_side(lambda one: float(_checked(*one)["run_s"]), chosen)
    return sum(cost * len(seeds[one]) for one, cost in zip(chosen, costs, strict=True))


def _job(point: Point) -> Job:
    check_overrides(point.overrides)
    check_numbers(1, point.seed, ())
    source = Source.of(point.scenario)
    try:
        found = _checked(source, (*point.overrides, f"seed={point.seed}"))
    except _native.InputError as error:
        placed = source.placed(error, point.origins)
        placed.add_note(f"in the point {point.label}")
        raise placed from None
    resolved = found["resolved"]
    return Job(point, key_of(resolved), resolved, found["run_s"], found["engine_mib"], tuple(found["groups"]))


@lru_cache(maxsize=4096)
def _checked(source: Source, overrides: tuple[str, ...]) -> dict[str, Any]:
    return _native.check(source.text, source.name, list(overrides), source.base)


def sweep(
    points: Iterable[Point],
    *,
    executor: Executor | None = None,
    cache: Path | str = CACHE,
    progress: Mode | str = Mode.AUTO,
    title: str = "sweep",
) -> Runs:
    """Runs the points, several at a time, and returns their runs in the order of the points.

    ``executor`` is any :class:`concurrent.futures.Executor` whose workers see the folder ``cache``; without one, runs
    are processes of this machine, as many as there are cores and as fit into its memory. Points that are in ``cache``
    from the same build of the engine are not run again, and points with the same scenario run once. ``progress`` is
    ``"auto"``, ``"plain"`` or ``"none"``, as of :func:`paceline.simulate`.

    Raises InputError for a scenario, or an argument, that is wrong, before anything runs; :class:`SweepFailed` at the
    end when runs failed; :class:`SweepInterrupted` on Ctrl-C.
    """
    points = as_list(points, "points", '[Point(scenario="a.toml", key={}, seed=1)]')
    for i, point in enumerate(points):
        if not isinstance(point, Point):
            allowed = "a paceline.Point: a scenario, and a key that tells it from the others"
            raise _native.input_error("is no point", field=f"points.{i}", value=type(point).__name__, allowed=allowed)
    if progress not in tuple(Mode):
        allowed = '"auto", "plain" or "none"'
        raise _native.input_error("no such progress", field="progress", value=cut(repr(progress)), allowed=allowed)
    jobs = prepare(points)
    with ExitStack() as stack:
        if executor is None:
            executor = LocalProcesses()
            stack.callback(executor.shutdown)
        return run_jobs(jobs, executor=executor, store=Store(Path(cache)), progress=Mode(progress), title=title)


def run_jobs(
    jobs: Sequence[Job],
    *,
    executor: Executor,
    store: Store,
    progress: Mode,
    title: str,
    shard: Shard | None = None,
) -> Runs:
    """:func:`sweep`, of points made ready; with ``shard`` only that share of them is run.

    Raises :class:`SharesMissing` when the runs of other shares are not there.
    """
    store.clear_parts()
    unique, own = _shared_out(jobs, shard)
    missing = [job for job in own if store.make_room(job.key)]
    runs = runs_of(jobs, store)
    if missing:
        if isinstance(executor, LocalProcesses):
            # Else every run would fail, one after the other.
            check_folder("cache", store.root)
        with stop_on_signal() as stop, view(progress, title) as shown:
            failures = _Drive(missing, len(own), executor, store, shown, stop).run()
        if failures:
            raise SweepFailed(failures, runs)
    if shard is not None:
        made = {job.key for job in own}
        lacking = sum(not store.has(job.key) for job in unique if job.key not in made)
        if lacking:
            said = (
                f"share {shard.number} of {shard.of}: {many(len(own), 'run')}, all there; {lacking} of {len(unique)} of"
            )
            raise SharesMissing(f"{said} the whole are missing, and nothing is written before they are there")
    return runs


def _shared_out(jobs: Sequence[Job], shard: Shard | None) -> tuple[list[Job], list[Job]]:
    """Each run once, and those of the share, in the order in which they are made."""
    # The longest first: then no core is left alone with a long run at the end, and shares get as many long ones each.
    unique = sorted({job.key: job for job in jobs}.values(), key=lambda job: (-job.cpu_s, job.key))
    return unique, unique if shard is None else unique[shard.number - 1 :: shard.of]


def outlook(jobs: Sequence[Job], store: Store, shard: Shard | None = None) -> str:
    """What :func:`run_jobs` would have to do: how many runs, those that are there, and what the others take, about."""
    _, own = _shared_out(jobs, shard)
    missing = [job for job in own if not store.has(job.key)]
    if not missing:
        return f"{many(len(own), 'run')}, all there"
    kept = f" ({len(own) - len(missing)} are there)" if len(missing) < len(own) else ""
    cpu = run_time(sum(job.cpu_s for job in missing))
    memory = max(map(_process_mib, missing))
    what = f"{len(missing)} of {many(len(own), 'run')} to make{kept}"
    return f"{what}: about {cpu} of CPU time, each up to {memory:.0f} MiB"


def runs_of(jobs: Sequence[Job], store: Store) -> Runs:
    """The runs of points made ready, whether they have been made or not."""
    return Runs(tuple(Run(job.point, store.path(job.key)) for job in jobs))


class _Drive:
    """One pass over the runs that are missing."""

    def __init__(
        self, missing: Sequence[Job], of: int, executor: Executor, store: Store, shown: View, stop: StopRequest
    ) -> None:
        self.missing, self.waiting = missing, list(missing)
        self.of, self.executor, self.store, self.shown, self.stop = of, executor, store, shown, stop
        self.cached = of - len(missing)
        self.total_s = sum(map(_share_s, missing)) or 1.0
        self.done_s = 0.0
        self.done = 0
        self.running: dict[Future[str], Job] = {}
        self.failures: dict[str, str] = {}
        self.began = time.monotonic()
        # Other executors know their machines; how much runs at a time is for them to say.
        self.local = isinstance(executor, LocalProcesses)
        self.memory_mib = free_memory_mib() if self.local else None

    def run(self) -> dict[str, str]:
        try:
            while (self.waiting or self.running) and not self.stop.heed():
                self.submit()
                self.collect()
                self.show()
        finally:
            for future in self.running:
                future.cancel()
            if self.running and isinstance(self.executor, LocalProcesses):
                self.executor.terminate_workers()
        if self.stop.heed():
            if self.local:
                # What a worker was killed in the middle of would lie there until the next sweep.
                wait(self.running)
                self.store.clear_parts()
            # Also those that ended since the last look.
            finished = sum(self.store.path(job.key).is_dir() for job in self.missing)
            kept = f"{self.cached + finished} of {self.of} runs are finished and kept"
            raise SweepInterrupted(f"{kept} in {self.store.folder}; the same command goes on from there")
        return self.failures

    def submit(self) -> None:
        """Submits all that may run now."""
        while self.waiting and self.room(self.waiting[0]):
            job = self.waiting.pop(0)
            task = Task(job.key, job.point.label, job.scenario_toml, str(self.store.root), self.store.digest)
            self.running[self.executor.submit(run_task, task)] = job

    def room(self, job: Job) -> bool:
        """Whether one more run fits. One always does: the estimate may be wrong, and nothing else would ever run."""
        if not self.running or not isinstance(self.executor, LocalProcesses):
            return True
        if len(self.running) >= self.executor.workers:
            return False
        taken = sum(_process_mib(other) for other in self.running.values())
        return self.memory_mib is None or taken + _process_mib(job) <= self.memory_mib * MEMORY_SHARE

    def collect(self) -> None:
        """Takes what has ended since the last look."""
        ended, _ = wait(self.running, timeout=POLL_S, return_when=FIRST_COMPLETED)
        for future in ended:
            job = self.running.pop(future)
            self.done_s += _share_s(job)
            try:
                future.result()
                self.done += 1
                if not self.store.path(job.key).is_dir():
                    raise Failure(f"a worker wrote where this process cannot see it: {self.store.folder} is not shared")
            except CancelledError:
                self.failures[job.key] = f"{job.point.label}: the executor cancelled it"
            except Exception as error:
                self.failures[job.key] = f"{job.point.label}: {error or type(error).__name__}"

    def show(self) -> None:
        under_way = self.store.progress({job.key for job in self.running.values()})
        part_s = sum(_share_s(job) * under_way.get(job.key, 0.0) for job in self.running.values())
        cached = f" ({self.cached} were there)" if self.cached else ""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        note = f"{self.cached + self.done} of {self.of} runs{cached}{failed}, {len(self.running)} under way"
        share = min(1.0, (self.done_s + part_s) / self.total_s)
        self.shown.put(share, note, time.monotonic() - self.began)


def _share_s(job: Job) -> float:
    """Seconds of a run by which progress is reckoned: hundreds of short ones take what their processes take."""
    return job.cpu_s + START_S


def _process_mib(job: Job) -> float:
    """Memory of a process with this run: Python's own, and a quarter more than the estimate."""
    return 40.0 + 1.25 * job.memory_mib
