"""Result folders that nobody asked for: they go with the results that were read from them."""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path


class TemporaryFolder:
    """Removes a folder when it is no longer referred to, at the latest when the process ends.

    Pickled, it takes its files with it: where it is loaded there is a temporary folder of its own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)

    @classmethod
    def new(cls) -> TemporaryFolder:
        """An empty one."""
        return cls(Path(tempfile.mkdtemp(prefix="paceline-")))

    def __reduce__(self) -> tuple[Callable[[bytes], TemporaryFolder], tuple[bytes]]:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as files:
            files.add(self.path, arcname=".")
        return _unpacked, (packed.getvalue(),)


def _unpacked(packed: bytes) -> TemporaryFolder:
    folder = TemporaryFolder.new()
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as files:
        # Python has filters since 3.11.4 only.
        files.extraction_filter = getattr(tarfile, "data_filter", None)
        files.extractall(folder.path)
    return folder
