"""What can be reproduced, from which sources and at what cost: the list of ``paceline reproduce --list``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from paceline.reproduce import costs
from paceline.reproduce.model import Experiment, Scale
from paceline.tables import Cell, Table


def listing(experiments: Sequence[Experiment]) -> list[dict[str, Any]]:
    """Id, title, source and, for each scale, the runs and the CPU minutes they take, about."""
    expected = costs.recorded()
    return [
        {
            "id": experiment.id,
            "title": experiment.title,
            "source": experiment.source,
            "scales": {
                scale.value: {"runs": len(experiment.plan(scale)), "cpu_minutes": expected[experiment.id, scale]}
                for scale in Scale
            },
        }
        for experiment in experiments
    ]


def listing_table(entries: Sequence[dict[str, Any]]) -> Table:
    """:func:`listing` for people."""
    head = ("Id", "Result", *(str(scale.value) for scale in Scale))
    rows = []
    for entry in entries:
        cells = [f"{s['runs']:,} / {minutes(s['cpu_minutes'])}" for s in entry["scales"].values()]
        rows.append(tuple(Cell(text) for text in (entry["id"], entry["title"], *cells)))
    caption = "Results that can be reproduced; runs / CPU minutes at each scale, shared runs for each"
    return Table(caption, head, rows, prose=True)


def source_lines(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Which results are from where, those in a row together: the publication without its sections and figures."""
    said: list[tuple[str, list[str]]] = []
    for entry in entries:
        source = re.split(r" \(|, (?=section|abstract|definition)", entry["source"])[0]
        if not said or said[-1][0] != source:
            said.append((source, []))
        said[-1][1].append(entry["id"])
    return [f"{' to '.join(dict.fromkeys((ids[0], ids[-1])))}: {source}" for source, ids in said]


def minutes(value: float) -> str:
    """CPU minutes for people: no more digits than an estimate has."""
    return "< 0.1" if value < 0.095 else f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"
