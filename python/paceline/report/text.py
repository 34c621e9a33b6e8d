"""A report for the terminal."""

from __future__ import annotations

from paceline import queries, tables
from paceline.report.flows import programs
from paceline.report.head import notice_text
from paceline.report.page import Page


def text(page: Page) -> str:
    """What a reader must know first, then the tables: of queries, programs, flows, datagrams, and counters."""
    runs = page.runs
    asked = queries.all_groups(runs)
    found = [table.plain() for table in queries.tables(asked)] if asked else []
    found += [table.plain() for table in programs(page).tables]
    if not found or any(run.measured.any() for run in runs):
        found.append(tables.slowdown_table(runs, baseline=page.baseline, side=page.side))
    lost = tables.datagram_table(runs)
    found += [lost.plain()] if lost else []
    found.append(tables.figures_table(runs, page.side))
    return notice_text(page) + "".join(f"{table}\n" for table in found)
