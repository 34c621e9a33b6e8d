"""What columns of result folders, and words of reports, mean: for ``paceline explain``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from paceline.results import columns

TERMS = {
    "fct": "Flow completion time: from a flow's creation to its last acknowledgement at the sender, or to its last "
    "byte at the receiver.",
    "goodput": "Payload that arrives, over time. No column has it: it is `size_bytes` over `fct_receiver_ps` of a flow "
    "in flows.csv, and over time what `acked_bytes` or `received_bytes` in series.csv grow by.",
    "ideal": "The least FCT that a flow can have, alone in an empty network; which one, says the baseline "
    "(``baseline`` of a report; docs/results.md).",
    "qct": "Query completion time: from issuing a query to the last byte of its response at the client.",
    "slowdown": "FCT over the ideal FCT of the same flow: 1 is the best there is. No column of flows.csv has it: it is "
    "`fct_sender_ps` over `ideal_sender_ps`, or `Results.slowdown()` (docs/results.md: the baselines).",
}
"""Words of reports that are no columns, or more than one; arguments of functions stand between double backquotes."""


def meanings(word: str) -> list[tuple[str, str]]:
    """Of a term, or of columns with this name or beginning: where each is, and what it means; empty for other words."""
    asked = word.lower()
    found = [(asked, TERMS[asked])] if asked in TERMS else []
    listed = list(_columns())
    own = [c for c in listed if asked in (c[1].lower(), _last(c[1]).lower())]
    own = own or [c for c in listed if len(asked) > 2 and _last(c[1]).startswith(f"{asked}_")]
    files: dict[tuple[str, str], list[str]] = {}
    for file, name, meaning in own:
        files.setdefault((name, meaning), []).append(file)
    found += [(f"{name} in {', '.join(places)}", meaning) for (name, meaning), places in files.items()]
    # Kinds of samples are no columns, and explained where their table is.
    found += [(f"{t.name}.csv", t.about) for t in columns.TABLES if f"`{word}`" in t.about]
    return found


def near(word: str) -> str | None:
    """The column that a word may have meant."""
    names = dict.fromkeys(_last(name) for _, name, _ in _columns())
    return next(iter(difflib.get_close_matches(word.lower(), names, 1, 0.8)), None)


def _columns() -> Iterator[tuple[str, str, str]]:
    tables = [(f"{t.name}.csv", t.columns) for t in columns.TABLES]
    for file, among in (*tables, ("summary.json", columns.SUMMARY), ("sweep.csv", columns.SWEEP)):
        for c in among:
            unit = f" Unit: {c.unit}." if c.unit and c.unit != "by kind" else ""
            yield file, c.name, c.meaning + unit


def _last(name: str) -> str:
    return name.rpartition(".")[2]
