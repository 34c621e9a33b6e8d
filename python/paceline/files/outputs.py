"""Files as people get them: whole ones or none, and only where they may be written."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from paceline import _native


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to; what was written there then takes the place of ``path``, or is removed after an error.

    Waits for another process that replaces the same file. An OSError that names no file, as of a full disk, is made to
    name ``path``.
    """
    part = path.with_name(f".{_shortened(path.name)}.part")
    try:
        with _held(part):
            try:
                yield part
                part.replace(path)
            except BaseException:
                with suppress(OSError):
                    part.unlink()
                raise
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(part)):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise


_MOST_NAME = 255
"""Bytes of the name of a file or folder."""
_LONGEST_NAME = _MOST_NAME - len("..part")
"""Bytes of the name of a file beside which there can be a part of the same name."""


def _shortened(name: str) -> str:
    """A name that a part can have; a hash tells long ones apart."""
    known = os.fsencode(name)
    if len(known) <= _LONGEST_NAME:
        return name
    return hashlib.sha256(known).hexdigest()


@contextmanager
def _held(part: Path) -> Iterator[None]:
    """Holds a temporary file that others may want to write too; it is renamed or removed before it is let go.

    Without that two reports of one folder took each other's files away, half written.
    """
    while True:
        with part.open("ab") as file:
            held = False
            try:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX)
                held = is_at(file, part)
                if held:
                    yield
                    return
            except BaseException:
                # Ctrl-C may come before whoever asked for the file can clear it away.
                if held and is_at(file, part):
                    part.unlink()
                raise


def is_at(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still the one that its path leads to: others may have renamed or removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def write(path: Path, data: str | bytes) -> None:
    """Writes a file whole, or leaves it as it was."""
    with replacing(path) as part:
        part.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


def check_new(path: Path, *, force: bool, field: str | None = None, inputs: Collection[Path] = ()) -> None:
    """Refuses an output file that is there, unless ``force``, or that cannot be made where it is to be.

    One of ``inputs`` is never replaced. ``field`` is the argument that chose the file; without one the file itself is
    named. Raises InputError, before anything has been done.
    """

    def refuse(problem: str, allowed: str) -> _native.InputError:
        if field is None:
            return _native.input_error(problem, file=str(path), allowed=allowed)
        return _native.input_error(problem, field=field, value=str(path), allowed=allowed)

    if any(_is_same(path, other) for other in inputs):
        raise refuse("would replace the input", "another name")
    try:
        there, folder = path.exists() or path.is_symlink(), path.parent.is_dir()
    except OSError as error:
        raise refuse(error.strerror or str(error), "the name of a file") from None
    if not folder:
        raise refuse("there is no such folder", "a file in a folder that is there")
    if there and path.exists() and not path.is_file():
        kind = "is a folder" if path.is_dir() else "is a pipe or a device"
        raise refuse(kind, "a new file, or one to replace")
    if there and not force:
        raise refuse("is there already", "a new file, or ``force``, which replaces this one")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise refuse(f"{path.parent} may not be written to", "a file in a folder that may be")


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths are of one file, by whatever links; not where one cannot be."""
    try:
        return path == other or path.samefile(other)
    except OSError:
        return False


def check_folder(field: str, folder: Path, *, written: bool = True, typed: Path | None = None) -> None:
    """Refuses an output folder that cannot be made or, if it is to be ``written``, not be written to.

    Errors show what was ``typed``, where that is a file in the folder. Raises InputError, before anything is done.
    """

    def refuse(problem: str, allowed: str) -> _native.InputError:
        return _native.input_error(problem, field=field, value=str(typed or folder), allowed=allowed)

    # The system says so only where the folder around is there.
    if any(len(os.fsencode(name)) > _MOST_NAME for name in (typed or folder).parts):
        raise refuse(os.strerror(errno.ENAMETOOLONG), "a folder")
    for path in (folder, *folder.parents):
        try:
            there = path.exists() or path.is_symlink()
        except OSError as error:
            raise refuse(error.strerror or str(error), "a folder") from None
        if there:
            if not path.is_dir():
                raise refuse(f"{path} is no folder", "a folder")
            if written and not (os.access(path, os.W_OK | os.X_OK) and (path == folder or _takes_folders(path))):
                if not path.is_absolute() and current_folder_is_gone():
                    raise refuse("the current folder has been removed", "a folder that is there")
                raise refuse(f"{path} may not be written to", "a folder that may be")
            return


def current_folder_is_gone() -> bool:
    """Whether the current folder has been removed: no relative path leads anywhere then."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _takes_folders(path: Path) -> bool:
    """Whether folders can be made here: in some file systems nobody can, whatever the permissions say."""
    try:
        Path(tempfile.mkdtemp(prefix=".paceline-", dir=path)).rmdir()
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return True
