"""Runs one point, wherever an executor wants it run: a local process, a thread, a worker on another machine."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _native
from paceline.errors import Failure
from paceline.interrupt import stop_on_signal
from paceline.progress import Snapshot, fraction
from paceline.sweeps.store import Store

NOTE_INTERVAL_S = 1.0
"""Wall seconds between two notes of how far a run is."""


@dataclass(frozen=True)
class Task:
    """A run as a worker gets it: text and paths only."""

    key: str
    label: str
    scenario_toml: str
    """Resolved, seed and all."""
    store: str
    digest: str
    """Of the engine that has to run it."""


def run_task(task: Task) -> str:
    """Runs the task into its store and returns the status; at once when it is there already.

    Raises ``Failure`` when this process has another build of the engine or was told to stop, and what the engine
    raises.
    """
    if _native.source_digest() != task.digest:
        raise Failure(f"this worker has Paceline {_native.version()} built from other sources than the sweep's")
    store = Store(Path(task.store), task.digest)
    if not store.make_room(task.key):
        return "there already"
    with stop_on_signal(worker=True) as stop, store.part(task.key) as part:
        last = -NOTE_INTERVAL_S

        def report(snapshot: Snapshot) -> bool:
            nonlocal last
            if snapshot["wall_s"] - last >= NOTE_INTERVAL_S:
                last = snapshot["wall_s"]
                (part / "progress").write_text(f"{fraction(snapshot) or 0.0:.4f}")
            return not stop.heed()

        result = part / "result"
        summary, _hold = _native.run(task.scenario_toml, task.label, [], str(result), 1, None, [], report, None)
        if summary["status"] == "interrupted":
            raise Failure("the run was told to stop")
        # Half of the disk space; `paceline.restore` makes it from flows.bin when somebody asks.
        (result / "flows.csv").unlink(missing_ok=True)
        store.keep(part, task.key)
    return str(summary["status"])


def _exit_with_parent() -> None:
    """Ends this process when the one that holds the other end of standard input is gone."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _read(size: int) -> bytes:
    """Reads past Python's buffer: what it held would be lost to the thread that waits for the end."""
    given = b""
    while len(given) < size:
        chunk = os.read(sys.stdin.fileno(), size - len(given))
        if not chunk:
            raise SystemExit(1)
        given += chunk
    return given


def main() -> None:
    """A process of :class:`paceline.sweeps.executors.LocalProcesses`: one call in on stdin, one answer on stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the parent, which ends this process
    given = _read(int.from_bytes(_read(8), "little"))
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    answer: tuple[bool, Any]
    try:
        function, arguments, named = pickle.loads(given)
        answer = (True, function(*arguments, **named))
    except BaseException as error:
        answer = (False, error)
    try:
        written = pickle.dumps(answer)
        pickle.loads(written)
    except Exception:
        written = pickle.dumps((False, RuntimeError(repr(answer[1]))))
    sys.stdout.buffer.write(written)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
