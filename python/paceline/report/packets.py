"""The section on packets that were recorded one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paceline import plot
from paceline.formats import format_time
from paceline.plot import PacketSequence
from paceline.report.followed import flow_label
from paceline.report.page import Page, Section
from paceline.results import Columns, Results
from paceline.words import many

MOST_FLOWS = 6
"""Flows that are drawn."""


def packets(page: Page) -> Section:
    """Numbers of the packets that were sent and lost over time."""
    section = Section("packets", "Packets")
    found = [sequences(run) for run in page.runs]
    drawn = [flow for flows, _ in found for flow in flows.values()]
    axes = {} if page.alone else {"span": plot.sequence_span(drawn)}
    for i, (run, label, (flows, others)) in enumerate(zip(page.runs, page.labels, found, strict=True)):
        if not flows:
            continue
        name = "packets" if page.alone else f"packets_{i + 1}"
        caption = "Packets of a flow by their numbers, as they left the sender or, where that was not recorded, "
        caption += "another port; what was lost or trimmed anywhere that was recorded, when and where it was."
        if any(flow.in_bytes for flow in flows.values()):
            caption += " Over TCP by their first bytes."
        if others:
            caption += f" {many(others, 'other flow')} not drawn: losses first, then those with the most packets."
        end = axes["span"][1] if axes else plot.sequence_span(flows.values())[1]
        late = sum(int(np.count_nonzero(time > end)) for flow in flows.values() for time, _ in flow.parts)
        caption += f" After a silence there are {many(late, 'more point')}, not shown." if late else ""
        full = (run.summary.get("packets") or {}).get("full_ps")
        caption += f" There was no room for packets from {format_time(full)} on." if full is not None else ""
        caption += "" if page.alone else f" {label}. All runs have the same axis of time."
        section.figures.append(page.draw(plot.packet_sequences(flows, **axes), name, caption))
        section.text = (
            "Flows whose packets were asked for with records.packets. All of them, and what else is known of each, are "
            "in packets.csv and Results.packets."
        )
    return section


def sequences(run: Results) -> tuple[dict[str, PacketSequence], int]:
    """What became of the packets of at most :data:`MOST_FLOWS` flows, by label, and how many flows are left out."""
    table = run.packets
    if not table.rows:
        return {}, 0
    kept = table.where(_is_one_of(table, "kind", "data", "datagram") & (table["flow_id"] >= 0) & (table["seq"] >= 0))
    ids, of, counts = np.unique(kept["flow_id"], return_inverse=True, return_counts=True)
    losses = np.bincount(of[_is_lost(kept)], minlength=len(ids))
    asked = np.isin(ids, _asked(run))
    order = np.lexsort((ids, -counts, -losses, ~asked))[:MOST_FLOWS]
    by_id = dict(zip(run.flows["flow_id"].tolist(), run.flows["src"].tolist(), strict=True))
    shown = {
        flow_label(run, str(flow)): _sequence(table.where(table["flow_id"] == flow), by_id.get(flow, -1))
        for flow in sorted(ids[order].tolist())
    }
    return shown, len(ids) - len(shown)


def _asked(run: Results) -> list[int]:
    """Flows that the scenario asks for."""
    try:
        return [int(flow) for flow in (run.scenario or {})["records"]["packets"]["flows"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        return []  # somebody has written to it


def _is_one_of(table: Columns, column: str, *names: str) -> NDArray[np.bool_]:
    """Where a column has one of these names; by their codes, as texts of millions of packets would fill the memory."""
    known = table.names(column)
    return np.isin(table.codes(column), [code for code, name in enumerate(known) if name in names])


def _is_lost(table: Columns) -> NDArray[np.bool_]:
    return ~_is_one_of(table, "event", "sent", "trimmed")


def _sequence(table: Columns, source: int) -> PacketSequence:
    """What became of the packets of a flow from a host, below 0 where that is not known."""
    data = table.where(_is_one_of(table, "kind", "data", "datagram") & (table["seq"] >= 0))
    left = data.where(_is_one_of(data, "event", "sent", "dropped_wire", "dropped_link_down"))
    # As they left the sender, or else the port that sent most of them.
    place = left["node"].astype(np.int64) << 16 | left["port"]
    at_source = left["node"].astype(np.int64) == source
    if not at_source.any() and left.rows:
        places, counts = np.unique(place, return_counts=True)
        at_source = place == places[np.argmax(counts)]
    left = left.where(at_source)
    time, seq = left["time_ps"].astype(float), left["seq"]
    first = np.zeros(left.rows, dtype=bool)
    first[np.unique(seq, return_index=True)[1]] = True
    answers = table.where((table["ack"] >= 0) & _is_one_of(table, "kind", "ack", "nack") & (table["arrival_ps"] > 0))
    answers = answers.where(answers["peer"].astype(np.int64) == source)
    arrival = np.argsort(answers["arrival_ps"], kind="stable")
    events = {
        "lost": data.where(_is_lost(data)),
        "trimmed": data.where(_is_one_of(data, "event", "trimmed")),
    }
    return PacketSequence(
        sent=(time[first], seq[first]),
        again=(time[~first], seq[~first]),
        acked=(answers["arrival_ps"][arrival].astype(float), np.maximum.accumulate(answers["ack"][arrival])),
        in_bytes=bool((data["ack"] >= 0).any()),
        **{name: (rows["time_ps"].astype(float), rows["seq"]) for name, rows in events.items()},
    )
