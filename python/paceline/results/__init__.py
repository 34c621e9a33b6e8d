"""Result folders: what a run wrote, as NumPy columns with units in their names.

A folder holds ``summary.json``, ``flows.bin`` (fixed-width records, read through a memory map), CSV tables and the
resolved ``scenario.toml``. A folder of a run that is going on or was killed opens too: half a last record or row is
left out, tables not written yet are empty. Anything else that does not fit the format raises :class:`ResultsError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from paceline.errors import ResultsError

if TYPE_CHECKING:
    from paceline.results.checked import SCHEMA_VERSION
    from paceline.results.folder import Results
    from paceline.results.records import FLOW_RECORD, QUERY_RECORD, STATUS
    from paceline.results.table import Columns
    from paceline.results.timing import Baseline, Side

# Loaded when first used: how a run ended, and what columns mean, is told without NumPy.
_HOMES = {
    "FLOW_RECORD": "records",
    "QUERY_RECORD": "records",
    "SCHEMA_VERSION": "checked",
    "STATUS": "records",
    "Baseline": "timing",
    "Columns": "table",
    "Results": "folder",
    "Side": "timing",
}

__all__ = [
    "FLOW_RECORD",
    "QUERY_RECORD",
    "SCHEMA_VERSION",
    "STATUS",
    "Baseline",
    "Columns",
    "Results",
    "ResultsError",
    "Side",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'paceline.results' has no attribute {name!r}")
    return getattr(import_module(f"paceline.results.{_HOMES[name]}"), name)
