"""Where runs are computed: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import importlib
import os
import pickle
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import paceline
from paceline import _native
from paceline.errors import Failure

P = ParamSpec("P")
T = TypeVar("T")


class LocalProcesses(Executor):
    """Every call in a process of its own on this machine, so many at a time.

    A run that is killed, as for want of memory, fails alone; its memory is free afterwards; and a program that uses
    this needs no ``if __name__ == "__main__"``. Functions are passed by name: they must be importable.
    """

    def __init__(self, workers: int | None = None) -> None:
        """``workers`` is the number of processes at a time; as many as there are cores unless given."""
        self.workers = cores() if workers is None else workers
        self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="paceline-point")
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Calls the function in a process; see :class:`concurrent.futures.Executor`."""
        return self._threads.submit(self._call, pickle.dumps((fn, args, kwargs)))

    def _call(self, call: bytes) -> Any:
        home = str(Path(paceline.__file__).parents[1])
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-P", "-m", "paceline.sweeps.worker"]
        with tempfile.TemporaryFile() as told:
            with self._lock:
                if self._ended:
                    raise Failure("the run was told to stop")
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=told,
                    env={**os.environ, "PYTHONPATH": path},
                )
                self._running.add(process)
            with process:
                assert process.stdin is not None
                assert process.stdout is not None
                try:
                    # Standard input stays open: its end tells the worker that we are gone.
                    process.stdin.write(len(call).to_bytes(8, "little") + call)
                    process.stdin.flush()
                except BrokenPipeError:
                    pass
                answer = process.stdout.read()
                code = process.wait()
                with self._lock:
                    self._running.discard(process)
            if not answer:
                told.seek(0)
                last = told.read().decode(errors="replace").strip().rpartition("\n")[2]
                raise Failure(_death(code) + (f": {last}" if last else ""))
        worked, value = pickle.loads(answer)
        if not worked:
            raise value
        return value

    def terminate_workers(self) -> None:
        """Ends the processes under way; calls still waiting fail."""
        with self._lock:
            self._ended = True
            for process in self._running:
                process.terminate()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; see :class:`concurrent.futures.Executor`."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)


def _death(code: int) -> str:
    if code == -9:
        return "its process was killed, probably for want of memory"
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory_mib() -> float | None:
    """Memory that runs may take on this machine without swapping, in MiB; ``None`` where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable:")), None)


@contextmanager
def open_executor(name: str | None, workers: int | None = None) -> Iterator[Executor]:
    """The executor by its name: ``local``, or the address of a Dask scheduler as ``dask://host:port``.

    Raises InputError for anything else and Failure when Dask is missing or the scheduler cannot be reached.
    """
    if name is None or name == "local":
        local = LocalProcesses(workers)
        try:
            yield local
        finally:
            local.shutdown()
        return
    kind, _, address = name.partition("://")
    host, _, port = address.rpartition(":")
    if kind != "dask" or not host or not re.fullmatch("[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise _native.input_error(
            "no such executor", field="executor", value=name, allowed="local, dask://host:port of a Dask scheduler"
        )
    if workers is not None:
        raise _native.input_error(
            "without effect",
            field="workers",
            value=str(workers),
            allowed="only with ``executor`` local; a Dask cluster runs as many at a time as its workers have threads",
        )
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise Failure(f"{name} needs Dask: pip install 'paceline[dask]'") from None
    try:
        # Dask would try for long, and tell it at length, when nothing listens there.
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        client = distributed.Client(f"tcp://{address}", timeout=10, set_as_default=False)
    except (OSError, OverflowError) as error:
        raise Failure(f"{name}: no Dask scheduler answers: {error}") from None
    with client:
        yield client.get_executor(pure=False)
