"""Many runs: their points, the runner and its store of finished runs, and what a sweep over one scenario found."""

from pathlib import Path
from typing import Final

CACHE: Final = Path("results") / "cache"
"""Where finished runs are kept unless told otherwise: beside the other results, in the current folder.

It grows to gigabytes, and is found, and deleted, there.
"""
