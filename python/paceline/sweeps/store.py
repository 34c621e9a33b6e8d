"""The store of finished runs: one folder per build of the engine, in it one result folder per scenario.

A result enters it by one rename, so it is there whole or not at all. With it goes a list of its files, by which one
that was damaged later, as by a disk that filled up or a machine that went down, is known. What a killed run leaves
lies in ``.parts`` with a lock that died with its process; the next sweep removes it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from paceline import _native
from paceline.errors import ResultsError
from paceline.files import check_folder, is_at, open_input

FILES = "kept.json"
"""In the folder of a run that is kept: its files, each with its size and CRC-32."""

_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# Finished runs of Paceline, made again when missing. Backups may leave this folder out (bford.info/cachedir).
"""


def key_of(resolved_toml: str) -> str:
    """Identity of a run: a hash of its resolved scenario, seed included, and of the input files it names.

    The name of the scenario does not count. Raises KeyError or ValueError for what the engine did not write.
    """
    document = tomllib.loads(resolved_toml)
    lines = resolved_toml.splitlines()
    # The scenario's own, which stands above all sections; a name has no letters that TOML would write in another way.
    lines.remove(f'name = "{document["name"]}"')
    found = hashlib.sha256("\n".join(lines).encode())
    for path in _input_files(document):
        state = Path(path).stat()
        found.update(_digest(path, state.st_ino, state.st_size, state.st_mtime_ns))
    return found.hexdigest()[:32]


@lru_cache(maxsize=256)
def _digest(path: str, _number: int, _size: int, _changed_ns: int) -> bytes:
    with open_input(Path(path), "a readable file") as file:
        found = hashlib.sha256()
        while block := file.read(1 << 20):
            found.update(block)
        return found.digest()


def _sum(path: Path) -> int:
    """CRC-32 of a file: what it is to find are accidents, and it costs little even over gigabytes."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            found = zlib.crc32(block, found)
    return found


def _is_undamaged(folder: Path) -> bool:
    """Whether all files of a run that is kept are as they were when it entered the store. What was added is ignored.

    Raises OSError, ValueError or TypeError where one cannot be read, or their list is none.
    """
    listed = json.loads((folder / FILES).read_bytes()).items() if (folder / FILES).is_file() else ()
    paths = [(folder / name, size, crc) for name, (size, crc) in listed]
    same_sizes = all(path.is_file() and path.stat().st_size == size for path, size, _ in paths)
    return bool(paths) and same_sizes and all(_sum(path) == crc for path, _, crc in paths)


def _input_files(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "file" and isinstance(item, str):
                yield item
            else:
                yield from _input_files(item)
    elif isinstance(value, list):
        for item in value:
            yield from _input_files(item)


class Store:
    """Finished runs below a folder, which is made when something is put into it."""

    def __init__(self, root: Path, digest: str | None = None) -> None:
        self.root = root.absolute()
        self.digest = _native.source_digest() if digest is None else digest
        """Of the engine whose results these are; those of another build lie beside them and are not looked at."""
        self.folder = self.root / self.digest[:16]
        self._parts = self.folder / ".parts"

    def path(self, key: str) -> Path:
        """Where the results of a run are, or would be."""
        return self.folder / key

    def has(self, key: str) -> bool:
        """Whether the run is there, whole and that of the key. Nothing is changed."""
        path = self.path(key)
        if path.is_symlink() or not path.is_dir():
            return False
        from paceline.results import Results

        try:
            if not _is_undamaged(path):
                return False
            run = Results.load(path)
            run.check_tables()
            scenario = run.scenario_toml
            # A folder may have been copied or moved here under the name of another run.
            own = scenario is not None and key_of(scenario) == key
            return own and run.status in ("completed", "stopped", "stalled")
        except (ResultsError, _native.InputError, OSError, LookupError, ValueError, TypeError, AttributeError):
            return False
        except RecursionError:  # of JSON or TOML that somebody has written to
            return False

    def make_room(self, key: str) -> bool:
        """Whether the run has to be made, as it is not there (:meth:`has`); what else is in its place is removed.

        Raises InputError where it would have to be removed from a store that may not be written to.
        """
        path = self.path(key)
        # Asked first: what another process puts there from now on is whole, and never removed below.
        if not path.is_symlink() and not path.exists():
            return True
        if self.has(key):
            return False
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            path.unlink()
        elif path.is_dir():
            try:
                shutil.rmtree(path)
            except OSError as error:
                check_folder("cache", self.root)
                raise OSError(error.errno, error.strerror, str(path)) from error
        return True

    @contextmanager
    def part(self, key: str) -> Iterator[Path]:
        """A folder to make the run in: its ``result`` is for :meth:`keep`, its ``progress`` for :meth:`progress`."""
        # Backups leave out folders with the tag: never one in which somebody else's files are.
        new = not self.root.is_dir() or all(entry.name == self.folder.name for entry in self.root.iterdir())
        self._parts.mkdir(parents=True, exist_ok=True)
        if new:
            with suppress(FileExistsError), (self.root / "CACHEDIR.TAG").open("x", encoding="utf-8") as tag:
                tag.write(_TAG)
        folder = self._parts / f"{key}.{uuid4().hex[:8]}"
        # Locked before the folder exists: whoever clears up never finds one without its lock.
        with _locked(folder.with_suffix(f"{folder.suffix}.lock")):
            folder.mkdir()
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def keep(self, part: Path, key: str) -> None:
        """Moves the result of a part to its place; if another process was faster, that one's stays."""
        files = {file.name: (file.stat().st_size, _sum(file)) for file in sorted((part / "result").iterdir())}
        (part / "result" / FILES).write_text(json.dumps(files, indent=1), encoding="utf-8")
        try:
            (part / "result").rename(self.path(key))
        except OSError:
            if not self.path(key).is_dir():
                raise

    def progress(self, keys: set[str]) -> dict[str, float]:
        """Share done of those of the runs that are under way."""
        found: dict[str, float] = {}
        with suppress(OSError):
            for folder in self._parts.iterdir():
                key = folder.name.partition(".")[0]
                if key in keys and not folder.name.endswith(".lock"):
                    with suppress(OSError, ValueError):
                        found[key] = float((folder / "progress").read_text())
        return found

    def clear_parts(self) -> None:
        """Removes what killed runs have left; those under way keep theirs."""
        for lock in self._parts.glob("*.lock"):
            with suppress(OSError), lock.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock that dies with this process, and removes its file at the end."""
    while True:
        with path.open("wb") as file:
            with suppress(OSError):  # a file system without locks: nothing is ever cleared up there
                fcntl.flock(file, fcntl.LOCK_EX)
            # Outside of this question: what the run itself does not find is its own error.
            if is_at(file, path):
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
