"""The report of a run, or of several runs side by side: one HTML file, and the same tables for the terminal.

The page holds everything it shows: figures are inline SVG, the style sheet is inside, there is no script, and its
content policy forbids loading anything. The figures are also written as PNG and PDF beside it, in ``figures/``.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paceline import analysis, plot, queries
from paceline.analysis import QueueHistogram, TierUse
from paceline.errors import ResultsError
from paceline.results import Baseline, Columns, Results, Side
from paceline.tables import (
    QS,
    Cell,
    Table,
    counted,
    counts_cell,
    figures_table,
    figures_tables,
    format_number,
    format_size,
    format_time,
    group_tables,
    labels,
    lines,
    run_labels,
    slowdown_cell,
    slowdown_table,
    slowdown_tables,
)

__all__ = ["Section", "busiest_ports", "figures_table", "slowdown_table", "write_report"]

BUSIEST_PORTS = 4
MOST_FLOWS = 8
"""Followed flows that are drawn."""
FINE_BINS_FROM = 20_000
"""Flows per curve from which figures use 1 % bins, 200 flows each; with fewer they use deciles."""

_BASELINES = {
    "line_rate": "the exact store-and-forward time at line rate in an empty network",
    "hpcc": "the standalone FCT of the HPCC reference, floored at 1",
    "alone": "the FCT of the same flow simulated alone, same stack and path",
}
_SIDES = {"sender": "creation to last acknowledgement", "receiver": "creation to last byte received"}


@dataclass
class Drawing:
    """A figure on the page."""

    name: str
    svg: Markup
    caption: str


@dataclass
class Section:
    """A part of the page; empty ones are left out."""

    key: str
    title: str
    text: str = ""
    figures: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    link: str = ""
    """Address of a page with more."""
    verbatim: list[tuple[str, str]] = field(default_factory=list)
    """Texts to show as they are, each with a name."""


class _Page:
    """Collects the sections of a page and draws its figures."""

    def __init__(self, runs: Sequence[Results], folder: Path | None, baseline: Baseline, side: Side) -> None:
        self.runs = runs
        self.folder = folder
        self.baseline: Baseline = baseline
        self.side: Side = side
        self.lines = lines(runs)

    def draw(self, figure: Figure, name: str, caption: str) -> Drawing:
        if self.folder is not None:
            plot.save(figure, self.folder, name)
        return Drawing(name, Markup(plot.inline_svg(figure, name, caption)), caption)

    def slowdown(self) -> Section:
        text = (
            f"Slowdown is FCT ({_SIDES[self.side]}) divided by {_BASELINES[self.baseline]}. The x axis is linear in "
            "the CDF of the flow sizes, as in published figures; each point stands at the upper edge of its bin. "
            f"Bins of fewer than {plot.MIN_FLOWS} flows are hollow. Bands are 95 % confidence intervals from order "
            "statistics, drawn where the flows give an upper bound. Unfinished and failed flows enter with their age; "
            "a percentile they could still raise is a triangle in the figures and has ≥ in the tables."
        )
        section = Section("slowdown", "Slowdown", text)
        samples = [line.of(line.run.slowdown(self.baseline, self.side)) for line in self.lines]
        if not any(len(s) for s in samples):
            if any(run.summary.get("queries") for run in self.runs):
                return Section("slowdown", "Slowdown")
            section.text = "No flow was measured: none started inside the measuring window."
            return section
        fine = min(len(s) for s in samples) >= FINE_BINS_FROM
        positions = analysis.HUNDREDTHS if fine else analysis.DECILES
        bins = analysis.bins_from_sizes(np.concatenate([s.size_bytes for s in samples]), positions)
        curves = [analysis.percentile_curves(s, bins, QS) for s in samples]
        for i, q in enumerate(QS):
            figure = plot.slowdown_vs_size({n: c[i] for n, c in zip(labels(self.lines), curves, strict=True)})
            width = "1 %" if fine else "10 %"
            name = f"{'Median' if q == 50 else f'p{q:g}'} slowdown by flow size, bins of {width} of the flows."
            section.figures.append(self.draw(figure, f"slowdown_p{q:g}", name))
        section.tables = slowdown_tables(self.runs, baseline=self.baseline, side=self.side)
        section.tables += group_tables(self.runs, self.baseline, self.side)
        return section

    def queries(self) -> Section:
        text = (
            "A query is answered when the last byte of its response is at the client (QCT: query completion time). "
            "Slowdown is QCT over the least possible one, both messages alone in an empty network. Queries without "
            "response enter with their age. The rate counts the queries answered inside the measuring window."
        )
        section = Section("queries", "Queries")
        found = queries.all_groups(self.runs)
        if not found:
            return section
        section.text = text
        caption = "CDF of the query completion time, by group."
        drawn = plot.fct_cdf({g.label: g.qct for g in found}, "Query completion time", "Share of all queries")
        section.figures.append(self.draw(drawn, "qct_cdf", caption))
        section.tables = queries.tables(found)
        return section

    def fct(self) -> Section:
        section = Section("fct", "Flow completion time")
        samples = {line.label: line.of(line.run.fct(self.side)) for line in self.lines}
        if not any(len(s) for s in samples.values()):
            return section
        caption = f"CDF of the FCT ({_SIDES[self.side]}). Flows that did not finish count in the total."
        section.figures.append(self.draw(plot.fct_cdf(samples), "fct_cdf", caption))
        rows: list[tuple[Cell, ...]] = []
        first = []
        for label, sample in samples.items():
            found = analysis.percentiles(sample, QS)
            first.append(found[0])
            times = (Cell(("≥ " if p.at_least else "") + format_time(p.value)) for p in found if p.count)
            rows.append((Cell(label), counts_cell(found[0]), *times))
        rows = [row if len(row) == 5 else (*row, *(Cell("–"),) * 3) for row in rows]
        head = ("", counted(first).capitalize(), *(f"p{q:g}" for q in QS))
        section.tables.append(Table("FCT, all sizes", head, rows))
        return section

    def queues(self) -> Section:
        text = (
            "Bytes waiting at an egress port, the packet on the wire not counted, weighted by time over the whole run. "
            "Busiest means the largest mean. Percentiles while busy leave out the time in which nothing waited. "
            "Values are upper edges of histogram bins."
        )
        section = Section("queues", "Queues", text)
        curves: dict[str, QueueHistogram] = {}
        rows: list[tuple[Cell, ...]] = []
        for run, label in zip(self.runs, run_labels(self.runs), strict=True):
            if run.queues.rows == 0:
                continue
            prefix = "" if len(self.runs) == 1 else f"{label}: "
            switches, tiers = ~np.char.startswith(run.queues["tier"], "host->"), run.queues["tier"]
            if switches.any() and len(self.runs) == 1:
                curves[f"{prefix}all switch ports"] = _histogram(run, switches)
            busiest = busiest_ports(run, BUSIEST_PORTS if len(self.runs) == 1 else 1)
            for tier in sorted({str(t) for t in tiers}, key=analysis.tier_order):
                name = f"{prefix}{tier.replace('->', ' → ')}"
                histogram = _histogram(run, tiers == tier)
                rows.append(_queue_row(name, histogram))
                if not busiest:  # in large networks ports are not told apart
                    curves[name] = histogram
            for name, mask in busiest:
                curves[f"{prefix}{name}"] = _histogram(run, mask)
                rows.append(_queue_row(f"{prefix}{name}", curves[f"{prefix}{name}"]))
        if curves:
            which = "" if len(self.runs) == 1 else ", at the busiest port of each run where ports are recorded"
            caption = f"Share of time in which at most so many bytes waited{which}. The left edge is an empty queue."
            section.figures.append(self.draw(plot.queue_cdf(curves), "queue_cdf", caption))
        for i, (run, label) in enumerate(zip(self.runs, run_labels(self.runs), strict=True)):
            series = _queue_series(run, BUSIEST_PORTS)
            if series:
                name = "queue_timeline" if len(self.runs) == 1 else f"queue_timeline_{i + 1}"
                caption = "Bytes waiting over time at the busiest ports" + (
                    f", {label}." if i or name[-1] == "1" else "."
                )
                section.figures.append(self.draw(plot.queue_timeline(series), name, caption))
        if rows:
            split = [f"{q}{when}" for when in ("", " busy") for q in ("p50", "p95", "p99")]
            head = ("Ports", "Busy", "Mean", *split, "Most")
            section.tables.append(Table("Bytes waiting, by tier and at the busiest ports", head, rows))
        return section

    def followed(self) -> Section:
        text = (
            "Sending rate and window of the flows asked for with --follow-flow or records.series.flows, sampled every "
            "records.series.interval from the start of a flow to its end."
        )
        section = Section("followed", "Followed flows")
        for i, (run, label) in enumerate(zip(self.runs, run_labels(self.runs), strict=True)):
            flows = _flow_series(run)
            if not flows:
                continue
            name = "followed_flows" if len(self.runs) == 1 else f"followed_flows_{i + 1}"
            shown = dict(list(flows.items())[:MOST_FLOWS])
            first = f", the first {len(shown)} of {len(flows)}" if len(shown) < len(flows) else ""
            caption = f"Rate (left) and window (right, dashed) over time{first}"
            caption += "." if len(self.runs) == 1 else f", {label}."
            section.figures.append(self.draw(plot.flow_timelines(shown), name, caption))
            section.text = text
        return section

    def links(self) -> Section:
        section = Section("links", "Links")
        pairs = list(zip(self.runs, run_labels(self.runs), strict=True))
        uses = {label: _use(run, run.links) for run, label in pairs if run.links.rows}
        if any(uses.values()):
            caption = "Share of time the links of a tier transmitted: mean, and from the least to the most used."
            section.figures.append(self.draw(plot.utilisation_by_tier(uses), "utilisation_by_tier", caption))
        paused = {label: _pauses(run) for run, label in pairs if run.pauses.rows}
        if any(paused.values()):
            caption = "Share of time the ports of a tier were paused: mean, and from the least to the most paused."
            section.figures.append(self.draw(plot.pause_time(paused), "pause_time", caption))
            self.saturation(section)
        elif any(run.links.rows for run in self.runs):
            section.text = "No port was paused."
        rows: list[tuple[Cell, ...]] = []
        for label, by_tier in uses.items():
            for use in by_tier:
                pause = next((p for p in paused.get(label, []) if p.tier == use.tier), None)
                cells = [f"{use.links:,}", f"{use.mean:.1%}", f"{use.least:.1%}", f"{use.most:.1%}"]
                cells += [_share(pause.mean), _share(pause.most)] if pause and pause.most else ["0", "0"]
                name = use.tier.replace("->", " → ")
                rows.append((Cell(name if len(uses) == 1 else f"{label}: {name}"), *(Cell(c) for c in cells)))
        if rows:
            head = ("Tier", "Links", "Used, mean", "Least", "Most", "Paused, mean", "Most")
            section.tables.append(Table("Time transmitting and time paused, by tier", head, rows))
        section.tables += self.traffic()
        return section

    def traffic(self) -> list[Table]:
        """What the schemes of a run sent and lost, where several share one."""
        rows: list[tuple[Cell, ...]] = []
        for run, label in zip(self.runs, run_labels(self.runs), strict=True):
            schemes = run.summary.get("traffic", [])
            for t in schemes if len(schemes) > 1 else []:
                name = str(t["scheme"]) if len(self.runs) == 1 else f"{label}: {t['scheme']}"
                share = t["dropped_packets"] / t["packets"] if t["packets"] else 0.0
                sent, lost = f"{t['packets']:,}", f"{t['dropped_packets']:,}"
                rows.append(
                    (Cell(name), *(Cell(c) for c in (sent, format_size(t["delivered_bytes"]), lost, _share(share))))
                )
        head = ("Scheme", "Data packets sent", "Payload delivered", "Packets lost", "Share")
        return [Table("What the schemes sent and lost", head, rows)] if rows else []

    def saturation(self, section: Section) -> None:
        """How far pauses spread, where samples saw any."""
        shown = {
            label: run.saturation
            for run, label in zip(self.runs, run_labels(self.runs), strict=True)
            if run.saturation.rows
        }
        kinds = (
            (
                "depth",
                "saturation_depth",
                "Depth, links",
                "Longest chain of paused links that leads to a congested port",
            ),
            ("paused_hosts", "paused_hosts", "Hosts", "Hosts whose link was paused"),
        )
        for column, name, axis, caption in kinds if shown else ():
            lines = {label: (table["time_ps"], table[column]) for label, table in shown.items()}
            section.figures.append(self.draw(plot.timeline(lines, axis), name, f"{caption}, over time."))

    def by_run(self, caption: str, head: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> Table:
        """A table of words whose first column names the run, left out when there is only one."""
        if len(self.runs) == 1:
            return Table(caption, head, [row[1:] for row in rows], prose=True)
        return Table(caption, ("Run", *head), rows, prose=True)

    def parameters(self) -> Section:
        rows: list[tuple[Cell, ...]] = []
        for run, label in zip(self.runs, run_labels(self.runs), strict=True):
            for scheme in run.summary["schemes"]:
                known = {k: v for k, v in scheme.items() if k not in ("name", "cc")}
                listed = ", ".join(f"{k} = {json.dumps(v)}" for k, v in known.items()) or "defaults"
                rows.append((Cell(label), Cell(str(scheme["name"])), Cell(str(scheme.get("cc", "–"))), Cell(listed)))
        table = self.by_run("Schemes", ("Scheme", "Congestion control", "Parameters"), rows)
        section = Section("parameters", "Parameters", tables=[table])
        rows = []
        for run, label in zip(self.runs, run_labels(self.runs), strict=True):
            for remark in run.summary["without_effect"]:
                setting, _, why = remark.partition(": ")
                rows.append((Cell(label), Cell(setting), Cell(why)))
        if rows:
            section.tables.append(self.by_run("Settings without effect", ("Setting", "Why"), rows))
        return section

    def provenance(self) -> Section:
        rows: list[tuple[Cell, ...]] = []
        for run, label in zip(self.runs, run_labels(self.runs), strict=True):
            s, toml = run.summary, run.scenario_toml
            digest = hashlib.sha256(toml.encode()).hexdigest() if toml is not None else "no scenario.toml"
            engine = f"{s['engine'].get('kind', '–')} ({s['engine'].get('why', '–')})"
            facts = [("Paceline", f"{s['version']}, commit {s['git'] or 'unknown'}"), ("Seed", str(s["seed"]))]
            facts += [("Scenario, SHA-256", digest), ("Engine", engine)]
            lookahead, threads = s["engine"].get("lookahead_ps", 0), s["engine"].get("threads", "–")
            facts.append(("Lookahead, threads", f"{format_time(lookahead)}, {threads}"))
            facts.append(("Network", f"{s['hosts']:,} hosts, {s['switches']:,} switches, {s['links']:,} links"))
            facts.append(("Measured", _window(s["measure"])))
            rows += [(Cell(label), Cell(name), Cell(value)) for name, value in facts]
        table = self.by_run("Where these results come from", ("", ""), rows)
        return Section("provenance", "Provenance", tables=[table])


def _window(measure: dict[str, Any]) -> str:
    start, end = measure["warmup_ps"] or 0, measure["end_ps"]
    until = "" if end is None else f" and before {format_time(end)}"
    return f"flows created at or after {format_time(start)}{until}" if start or until else "all flows"


def _histogram(run: Results, mask: NDArray[np.bool_]) -> QueueHistogram:
    q = run.queues
    try:
        return QueueHistogram.merge(q["bin_low_bytes"][mask], q["bin_high_bytes"][mask], q["time_ps"][mask])
    except ValueError as error:
        raise ResultsError(run.path / "queues.csv", str(error)) from error


def busiest_ports(run: Results, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Switch ports with the largest mean queue: name, and mask over the rows of ``run.queues``. Ties by number."""
    q = run.queues
    keys = np.stack([q["node"], q["port"], q["class"]], axis=1)
    ports, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    weighted, time = np.zeros(len(ports)), np.zeros(len(ports))
    np.add.at(weighted, inverse, (q["bin_low_bytes"] + q["bin_high_bytes"] - 1) / 2.0 * q["time_ps"])
    np.add.at(time, inverse, q["time_ps"].astype(float))
    first = np.full(len(ports), len(inverse))
    np.minimum.at(first, inverse, np.arange(len(inverse)))
    # A row for all ports of a tier is no port.
    other = np.char.startswith(q["tier"][first], "host->") | (q["ports"][first] > 1)
    mean = np.where(other, -1.0, weighted / np.maximum(time, 1.0))
    several = len(np.unique(q["class"])) > 1
    found = []
    for k in np.argsort(-mean, kind="stable")[:count]:
        if mean[k] > 0:
            name = f"port {ports[k][0]}:{ports[k][1]} to {q['peer'][first[k]]}" + (
                f" class {ports[k][2]}" if several else ""
            )
            found.append((name, inverse == k))
    return found


def _queue_row(name: str, h: QueueHistogram) -> tuple[Cell, ...]:
    total = float(h.time_ps.sum())
    values = [analysis.queue_percentile(h, q, busy=busy)[1] for busy in (False, True) for q in QS]
    most = analysis.queue_percentile(h, 100)[1]
    share = f"{h.busy().time_ps.sum() / total:.1%}" if total else "–"
    return (
        Cell(name),
        Cell(share),
        *(Cell(format_number(float(np.rint(v)))) for v in (h.mean_bytes(), *values, most)),
    )


def _queue_series(run: Results, count: int) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
    """Queue over time of the recorded ports with the largest mean."""
    table = run.series
    here = table["kind"] == "queue_bytes"
    names, time, value = table["id"][here], table["time_ps"][here], table["value"][here]
    found = []
    for name in np.unique(names):
        mine = names == name
        order = np.argsort(time[mine], kind="stable")
        found.append((str(name), time[mine][order], value[mine][order]))
    found.sort(key=lambda entry: -float(entry[2].mean()))
    return {f"port {name}": (t, v) for name, t, v in found[:count]}


def _flow_series(run: Results) -> dict[str, plot.FlowTimeline]:
    """Rate and window over time of the followed flows, by id; without a rate that of the acknowledgements."""
    table = run.series
    ours = np.isin(table["kind"], ("rate_bps", "cwnd_bytes", "acked_bytes"))
    kind, name, time, value = (table[column][ours] for column in ("kind", "id", "time_ps", "value"))
    found = {}
    for flow in sorted({str(n) for n in name}, key=lambda n: (len(n), n)):
        curves = []
        for what in ("rate_bps", "cwnd_bytes", "acked_bytes"):
            mine = (name == flow) & (kind == what)
            order = np.argsort(time[mine], kind="stable")
            curves.append((time[mine][order], value[mine][order]))
        rate, window, (when, acked) = curves
        if not len(rate[0]) and len(when) > 1:
            rate = (when[1:], np.diff(acked) * 8e12 / np.diff(when))
        found[_flow_label(run, flow)] = plot.FlowTimeline(rate, window)
    return found


def _flow_label(run: Results, flow: str) -> str:
    """A flow by its id, with its ends, size and scheme where they are on record."""
    if not flow.isdecimal() or int(flow) >= run.flows.rows:
        return f"flow {flow}"
    src, dst, size, scheme = (run.flows.codes(c)[int(flow)] for c in ("src", "dst", "size_bytes", "scheme"))
    return f"flow {flow}: {src} → {dst}, {format_size(float(size))} bytes, {run.flows.names('scheme')[scheme]}"


def _share(share: float) -> str:
    return "0" if share == 0 else f"{share:.1%}" if share >= 0.001 else f"{share * 100:.2g}%"


def _use(run: Results, table: Columns) -> list[TierUse]:
    names = [str(t) for t in table["tier"]]
    return analysis.share_by_tier(names, table["rate_bps"], table["busy_ps"], run.simulated_ps)


def _pauses(run: Results) -> list[TierUse]:
    """Paused time by tier, over all ports; of a port paused in several classes the longest counts."""
    p, links = run.pauses, run.links
    tier = dict(zip(zip(p["node"], p["port"], strict=True), p["tier"], strict=True))
    tier |= dict(zip(zip(links["node"], links["port"], strict=True), links["tier"], strict=True))
    longest = dict.fromkeys(tier, 0)
    for node, port, time in zip(p["node"], p["port"], p["paused_ps"], strict=True):
        longest[node, port] = max(longest[node, port], int(time))
    equal = np.ones(len(tier))
    return analysis.share_by_tier([str(t) for t in tier.values()], equal, list(longest.values()), run.simulated_ps)


def _notices(runs: Sequence[Results]) -> list[tuple[str, str, list[str]]]:
    """(kind, heading, lines) of what a reader must know before anything else."""
    found = []
    for run, label in zip(runs, run_labels(runs), strict=True):
        own = "" if len(runs) == 1 else f"{label}: "
        if run.status != "completed" or run.summary["diagnosis"]:
            said = {"running": "This run is going on, or was killed", "stopped": "This run stopped at its time limit"}
            said |= {"interrupted": "This run was interrupted", "stalled": "This run stalled", "completed": "Diagnosis"}
            why = [run.summary["diagnosis"]] if run.summary["diagnosis"] else []
            kind = "info" if run.status == "stopped" else "bad"
            why += [f"It got to {format_time(run.simulated_ps)} of simulated time."]
            if run.status == "running":
                why.append("Only flows that had ended are on record, which favours short ones; counters are missing.")
            else:
                why.append("Percentiles count unfinished flows at their age.")
            found.append((kind, f"{own}{said[run.status]}", why))
        if run.summary["counters"]["lossless_drops"]:
            drops = f"{run.summary['counters']['lossless_drops']:,} packets of a lossless class were dropped."
            found.append(("bad", f"{own}Lossless was violated", [drops]))
        if run.summary["warnings"]:
            found.append(("warn", f"{own}Warnings", run.summary["warnings"]))
    return found


def _tiles(run: Results, baseline: Baseline, side: Side) -> list[tuple[str, str]]:
    """Headline numbers of a single run."""
    counts = run.flow_counts()
    p50, p99 = analysis.percentiles(run.slowdown(baseline, side), (50.0, 99.0))
    c = run.summary["counters"]
    asked = run.summary.get("queries")
    about = [("queries answered", f"{asked['answered']:,}"), ("of issued", f"{asked['issued']:,}")] if asked else []
    if asked and not sum(counts.values()):
        return [*about, *_losses(c)]
    return [
        *about,
        ("flows finished", f"{counts['finished']:,}"),
        ("unfinished, failed", f"{counts['running']:,}, {counts['failed']:,}"),
        ("median slowdown", slowdown_cell(p50).text),
        ("p99 slowdown", slowdown_cell(p99).text),
        *_losses(c),
    ]


def _losses(c: dict[str, int]) -> list[tuple[str, str]]:
    drops = c["drops_buffer"] + c["drops_wire"] + c["drops_link_down"]
    return [("drops", f"{drops:,}"), ("pause frames", f"{c['pause_frames']:,}")]


def _schemes(run: Results) -> str:
    """The schemes its measured flows use; all of them when there is no such flow."""
    used = [run.schemes[int(code)] for code in np.unique(run.measured_codes("scheme"))]
    return ", ".join(used or run.schemes)


def _rerun(run: Results) -> str:
    scenario = shlex.quote(f"{run.path.resolve().name}/scenario.toml")
    at = f"# in a clone of the source\ngit checkout {run.summary['git']}\n" if run.summary["git"] else ""
    again = shlex.quote(f"{run.path.resolve().name}-again")
    return f"{at}paceline run {scenario} --out {again}"


def _citation(runs: Sequence[Results]) -> str:
    versions = sorted({str(r.summary["version"]) for r in runs})
    commits = sorted({str(r.summary["git"]) for r in runs if r.summary["git"]})
    note = f",\n  note    = {{commit {', '.join(commits)}}}" if commits else ""
    title = "{Paceline}: a packet-level datacenter-network simulator"
    return (
        f"@software{{paceline,\n  author  = {{{{The Paceline authors}}}},\n  title   = {{{title}}},\n"
        f"  version = {{{', '.join(versions)}}}{note}\n}}"
    )


def render(template: str, **values: Any) -> str:
    """A page from one of the package's templates."""
    loader = PackageLoader("paceline", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(template).render(**values)


def write_report(
    dirs: Sequence[Path],
    out: Path,
    *,
    baseline: Baseline = "line_rate",
    side: Side = "sender",
    paper_figures: bool = True,
) -> Path:
    """Writes the report of one result folder, or a comparison of several, to ``out``.

    With ``paper_figures`` the figures also go to ``figures/`` beside it, as PNG and PDF: most of the time a report
    takes. Returns ``out``.

    Raises :class:`ResultsError` for a folder that cannot be read and ``ValueError`` without folders or for a baseline
    that does not go with ``side`` (see :meth:`Results.slowdown`).
    """
    if not dirs:
        raise ValueError("a report needs at least one result folder")
    runs = [Results.load(folder) for folder in dirs]
    page = _Page(runs, out.parent / "figures" if paper_figures else None, baseline, side)
    names = run_labels(runs)
    figures = Section("figures", "Figures of the run", tables=figures_tables(runs))
    sections = [page.queries(), page.slowdown(), page.fct(), page.queues(), page.followed(), page.links()]
    sections += [figures, page.parameters(), page.provenance()]
    html = render(
        "report.html.j2",
        title=runs[0].name if len(runs) == 1 else f"Comparison of {len(runs)} runs",
        runs=[(name, run, _schemes(run)) for name, run in zip(names, runs, strict=True)],
        notices=_notices(runs),
        tiles=_tiles(runs[0], baseline, side) if len(runs) == 1 else [],
        sections=[s for s in sections if s.figures or s.tables or s.text],
        scenarios=[(label, run.scenario_toml) for label, run in zip(names, runs, strict=True)],
        rerun=[(label, _rerun(run)) for label, run in zip(names, runs, strict=True)],
        citation=_citation(runs),
        paper_figures=paper_figures,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(html, encoding="utf-8")
    return out
