"""The section on links: how much they were used, how long paused, and what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paceline import analysis, plot
from paceline.analysis import TierUse
from paceline.formats import format_bytes, format_rate, format_share, format_time
from paceline.report.page import Page, Section
from paceline.results import Columns, Results
from paceline.tables import Cell, Table
from paceline.words import many, tier_text


def links(page: Page) -> Section:
    """Use and pauses by tier, how far pauses spread, and what the schemes of a run sent and lost."""
    section = Section("links", "Links")
    uses = {label: _use(run, run.links) if run.links.rows else [] for run, label in page.pairs}
    if any(use.most > 0 for rows in uses.values() for use in rows):
        caption = "Share of time the links of a tier transmitted: mean, and from the least to the most used."
        section.figures.append(page.draw(plot.utilisation_by_tier(uses), "utilisation_by_tier", caption))
    # All runs, those that never paused too: a run keeps its place and colour in all figures of the page.
    paused = {label: _pauses(run) for run, label in page.pairs} if any(r.pauses.rows for r in page.runs) else {}
    if any(paused.values()):
        caption = "Share of time the ports of a tier were paused: mean, and from the least to the most paused."
        if any(run.pauses.rows and not run.links.rows for run in page.runs):
            caption += " Where links are not on record, so are no ports that never paused: all three are of the others."
        caption += _never_paused(page)
        section.figures.append(page.draw(plot.pause_time(paused), "pause_time", caption))
        _saturation(page, section)
    elif any(run.links.rows for run in page.runs):
        sent = "" if section.figures else "No link transmitted anything. "
        section.text = f"{sent}No port was paused."
    rows: list[tuple[Cell, ...]] = []
    for label, by_tier in uses.items():
        for use in by_tier:
            cells = [f"{use.links:,}", *map(format_share, (use.mean, use.least, use.most))]
            if paused:
                pause = next((p for p in paused.get(label, []) if p.tier == use.tier), None)
                cells += [format_share(pause.mean), format_share(pause.most)] if pause else ["0", "0"]
            rows.append((Cell(page.named(label, tier_text(use.tier))), *(Cell(c) for c in cells)))
    if rows:
        head: tuple[str, ...] = ("Tier", "Links", "Utilisation, mean", "min", "max")
        head += ("Paused, mean", "max") if paused else ()
        what = "Link utilisation and share of time paused" if paused else "Link utilisation"
        section.tables.append(Table(f"{what}, by tier", head, rows))
    section.tables += _busiest(page)
    section.tables += _traffic(page)
    said = [text for run, label in page.pairs for text in failed(run, "" if page.alone else f"{label}: ")]
    section.text = " ".join([section.text, *said]).strip()
    return section


MOST_USED = 10
"""Link directions in the table of the most used ones."""
MOST_FAILED = 20
"""Failures that are named."""


def _busiest(page: Page) -> list[Table]:
    """The link directions that transmitted for the largest share of the run."""
    rows: list[tuple[Cell, ...]] = []
    for run, label in page.pairs:
        table, names = run.links, run.graph_names
        busy = table["busy_ps"]
        for k in np.argsort(-busy, kind="stable")[: MOST_USED if page.alone else 3]:
            if busy[k] == 0 or not run.links_ps:
                break
            node, to = int(table["node"][k]), int(table["peer"][k])
            name = f"{node}:{table['port'][k]} to {to}"
            if node in names and to in names:
                name = f"{node}:{table['port'][k]}, {names[node]} to {names[to]}"
            drops = int(table["drops_buffer"][k] + table["drops_wire"][k] + table["drops_link_down"][k])
            used = format_share(busy[k] / run.links_ps)
            cells = [tier_text(str(table["tier"][k])), format_rate(float(table["rate_bps"][k])), used]
            cells += [format_bytes(float(table["data_bytes"][k])), f"{table['marks'][k]:,}", f"{drops:,}"]
            rows.append((Cell(page.named(label, name)), *map(Cell, cells)))
    head = ("Port", "Tier", "Rate", "Utilisation", "Data", "Marks", "Drops")
    title = "Most used links: share of the simulated time they transmitted"
    if any(run.links_ps > run.simulated_ps for run, _ in page.pairs):
        title += ", or of the time of the one that did so longest, which went on after the last flow's end"
    return [Table(title, head, rows)] if rows else []


def failed(run: Results, own: str = "") -> list[str]:
    """Sentences on the links that failed: those named in the scenario, and by their ports those drawn at random."""
    try:
        failures = (run.scenario or {}).get("failures", [])
        named = [_named(one) for one in failures if one.get("kind") == "link"]
        count = sum(int(one.get("count", 1)) for one in failures if one.get("kind") == "random")
    except (AttributeError, TypeError, ValueError, OverflowError):
        return []  # somebody has written to it
    said = [f"{own}Links that were down: {'; '.join(named)}."] if named else []
    if count:
        drawn = [
            f"{f['node']}:{f['port']} – {f['peer']}:{f['peer_port']} from {format_time(f['down_ps'])}"
            + (f" until {format_time(f['up_ps'])}" if f["up_ps"] is not None else "")
            for f in run.summary["failures"]
        ]
        more = f"; and {len(drawn) - MOST_FAILED} more" if len(drawn) > MOST_FAILED else ""
        all_of = "these and the others" if named else "these"
        where = f": {all_of}, by their ports: {'; '.join(drawn[:MOST_FAILED])}{more}" if drawn else ""
        said.append(f"{own}{many(count, 'link failure')} at random{where}.")
    return said


def _named(failure: Mapping[str, Any]) -> str:
    """A link that a scenario names, and when it was down."""
    back = f" until {failure['up']}" if failure.get("up") else ""
    return f"{' – '.join(map(str, failure.get('link', [])))} from {failure.get('down')}{back}"


def _traffic(page: Page) -> list[Table]:
    """What the schemes of a run sent and lost, where several share one."""
    rows: list[tuple[Cell, ...]] = []
    for run, label in page.pairs:
        schemes = run.summary.get("traffic", [])
        for t in schemes if len(schemes) > 1 else []:
            share = t["dropped_packets"] / t["packets"] if t["packets"] else 0.0
            sent, lost = f"{t['packets']:,}", f"{t['dropped_packets']:,}"
            cells = (sent, format_bytes(t["delivered_bytes"]), lost, format_share(share))
            rows.append((Cell(page.named(label, str(t["scheme"]))), *(Cell(c) for c in cells)))
    head = ("Scheme", "Data packets sent", "Payload delivered", "Packets lost", "Share lost")
    return [Table("What the schemes sent and lost", head, rows)] if rows else []


def _never_paused(page: Page) -> str:
    """A sentence that names the runs without any pause, and those that recorded none, where others have some."""
    without = [(label, run) for run, label in page.pairs if not run.pauses.rows]
    never = [label for label, run in without if not run.summary["counters"]["pause_frames"]]
    off = [label for label, _ in without if label not in never]
    said = f" Never paused: {', '.join(never)}." if never else ""
    return said + (f" Pauses not recorded: {', '.join(off)}." if off else "")


def _saturation(page: Page, section: Section) -> None:
    """How far pauses spread, where samples saw any."""
    shown = {label: run.saturation for run, label in page.pairs}
    kinds = (
        (
            "depth",
            "saturation_depth",
            "Longest chain of paused links",
            "Longest chain of paused links that leads to a congested port, over time",
        ),
        ("paused_hosts", "paused_hosts", "Paused hosts", "Hosts whose link was paused, over time"),
    )
    for column, name, axis, caption in kinds if any(table.rows for table in shown.values()) else ():
        lines = {label: (table["time_ps"], table[column]) for label, table in shown.items() if table.rows}
        lines |= {label: (np.zeros(0), np.zeros(0)) for label in shown if label not in lines}
        lines = {label: lines[label] for label in shown}
        figure = plot.timeline(lines, axis, whole=True, looks=plot.by_place(page.labels), end=page.quiet_ps)
        if any(plot.dense(value) for _, value in lines.values()):
            caption += "; with too many samples for a line their mean, in a band from the least to the most"
        section.figures.append(page.draw(figure, name, f"{caption}.{_never_paused(page)}"))


def _use(run: Results, table: Columns) -> list[TierUse]:
    names = [str(t) for t in table["tier"]]
    return analysis.share_by_tier(names, table["rate_bps"], table["busy_ps"], run.links_ps)


def _pauses(run: Results) -> list[TierUse]:
    """Paused time by tier, over all ports on record; of a port paused in several classes the longest counts."""
    p, links = run.pauses, run.links
    tier = dict(zip(zip(p["node"], p["port"], strict=True), p["tier"], strict=True))
    tier |= dict(zip(zip(links["node"], links["port"], strict=True), links["tier"], strict=True))
    longest = dict.fromkeys(tier, 0)
    for node, port, time in zip(p["node"], p["port"], p["paused_ps"], strict=True):
        longest[node, port] = max(longest[node, port], int(time))
    equal = np.ones(len(tier))
    return analysis.share_by_tier([str(t) for t in tier.values()], equal, list(longest.values()), run.simulated_ps)
