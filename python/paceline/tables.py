"""Tables of a run or a comparison, for page and terminal alike (how their values are written: ``formats.py``).

Nothing here draws, so that the terminal does not wait for a plotting library.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paceline import analysis
from paceline.analysis import Curve, Percentile, Sample, SizeBins
from paceline.formats import (
    clean_label,
    clean_labels,
    format_bytes,
    format_columns,
    format_number,
    format_share,
    format_slowdown,
    format_time,
)
from paceline.results import Baseline, Results, Side
from paceline.results.summary import SHORTEST_S
from paceline.words import tier_text

QS = (50.0, 95.0, 99.0)
"""The percentiles of every table."""


@dataclass(frozen=True)
class Cell:
    """A table cell: the value, and a remark set smaller."""

    text: str
    note: str = ""
    tone: str = ""
    """How a page shows it: ``pass``, ``fail``, ``undecided``, ``muted``; in words only without one."""
    link: str = ""
    """Where a page leads from it."""


_CAPTION = 100
"""Characters of a line of a caption over a narrower table."""
_LONG_NOTE = 24
"""Characters from which a remark is none for a cell: more than an interval has."""


@dataclass(frozen=True)
class Table:
    """A table for page and terminal; the first column is text, the others are numbers unless ``prose``."""

    caption: str
    head: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    prose: bool = False

    def plain(self) -> str:
        """The table as aligned text, with caption. Long remarks stand below: in a cell they would widen a column."""
        remarks: list[str] = []
        lines = [self.head]
        for row in self.rows:
            shown = []
            for head, c in zip(self.head, row, strict=True):
                long = c is not row[0] and not self.prose and len(c.note) > _LONG_NOTE
                remarks += [f"{row[0].text.removesuffix(',')}, {head}: {c.note}"] if long else []
                shown.append(c.text if long else f"{c.text} {c.note}".strip())
            lines.append(tuple(shown))
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        left = [i == 0 or self.prose for i in range(len(self.head))]
        text = [
            "  ".join(c.ljust(w) if at_left else c.rjust(w) for c, w, at_left in zip(line, widths, left, strict=True))
            for line in lines
        ]
        caption = textwrap.wrap(self.caption, max(_CAPTION, *map(len, text)))
        return "\n".join([*caption, *(line.rstrip() for line in text), *remarks]) + "\n"

    def markdown(self) -> str:
        """The table as Markdown, with caption."""
        lines = [self.head, *(tuple(f"{c.text} {c.note}".strip() for c in row) for row in self.rows)]
        written = ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines]
        rule = "|---|" + ("---|" if self.prose else "---:|") * (len(self.head) - 1)
        return "\n".join([self.caption, "", written[0], rule, *written[1:]]) + "\n"

    def latex(self) -> str:
        """The table as a LaTeX tabular with the rules of the package booktabs, the caption in a comment."""
        rows = [
            [_tex(c.text) + (f" {{\\scriptsize {_tex(c.note)}}}" if c.note else "") for c in row] for row in self.rows
        ]
        columns = "l" + ("l" if self.prose else "r") * (len(self.head) - 1)
        return "\n".join(
            [
                f"% {' '.join(self.caption.split())}",
                f"\\begin{{tabular}}{{{columns}}}",
                "\\toprule",
                f"{' & '.join(map(_tex, self.head))} \\\\",
                "\\midrule",
                *(f"{' & '.join(row)} \\\\" for row in rows),
                "\\bottomrule",
                "\\end{tabular}\n",
            ]
        )


_TEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "→": "$\\to$",
    "≥": "$\\ge$",
    "≤": "$\\le$",
    "∞": "$\\infty$",
    "±": "$\\pm$",
    "µ": "$\\mu$",
    "–": "--",
    "…": "\\ldots{}",
    "<": "$<$",
    ">": "$>$",
    # At the start of a row it would be taken for an option of the line break before it.
    "[": "{[}",
}


def _tex(text: str) -> str:
    """Text as LaTeX has to read it."""
    return "".join(_TEX.get(c, c) for c in text)


@dataclass(frozen=True)
class Line:
    """What one curve or column stands for: the measured flows of a run, or of one of its schemes."""

    label: str
    run: Results
    mask: NDArray[np.bool_]

    def of(self, sample: Sample) -> Sample:
        """The flows of this line among all measured flows of its run."""
        return sample.where(self.mask)


def _unique(labels: Sequence[str], others: Sequence[str]) -> list[str]:
    """Labels made unique by what tells them apart, else by a number."""
    doubled = [f"{a} ({b})" if labels.count(a) > 1 else a for a, b in zip(labels, others, strict=True)]
    return [f"{a} #{i + 1}" if doubled.count(a) > 1 else a for i, a in enumerate(doubled)]


def run_labels(runs: Sequence[Results]) -> list[str]:
    """Names of the runs, made unique by their folders where several have the same."""
    return _unique([clean_label(r.name) for r in runs], [clean_label(place) for place in _places(runs)])


def _places(runs: Sequence[Results]) -> list[str]:
    """Names of the runs' folders, with as many of those that they are in as no other of them has."""
    parts = [run.path.resolve().parts for run in runs]
    distinct = set(parts)

    def place(own: tuple[str, ...]) -> str:
        ends = (own[-k:] for k in range(1, len(own)))
        apart = (end for end in ends if sum(other[-len(end) :] == end for other in distinct) == 1)
        return "/".join(next(apart, own[-1:]))

    return [place(own) for own in parts]


def lines(runs: Sequence[Results]) -> list[Line]:
    """One line per run, or per scheme of a run whose measured flows use several."""
    found = []
    for run, label in zip(runs, run_labels(runs), strict=True):
        codes = run.measured_codes("scheme")
        present = np.unique(codes)
        for code in present:
            scheme = clean_label(run.schemes[int(code)])
            own = scheme if len(runs) == 1 else f"{label}: {scheme}"
            found.append(Line(label if len(present) == 1 else own, run, codes == code))
        if len(present) == 0:
            found.append(Line(label, run, np.zeros(0, dtype=bool)))
    labels = _unique([line.label for line in found], _places([line.run for line in found]))
    return [Line(text, line.run, line.mask) for text, line in zip(labels, found, strict=True)]


_AGAINST = {
    "line_rate": "line rate in an empty network",
    "hpcc": "the HPCC simulator's formula",
    "alone": "the same flow alone",
}


def timed(runs: Sequence[Results], baseline: Baseline | None, side: Side) -> str:
    """What slowdowns, or without a baseline times, in a heading are of: ``at the sender, against line rate ...``."""
    groups = dict.fromkeys(run.group for run in runs if run.group is not None)
    parts = [f"timed at the {side}", *([f"against {_AGAINST[baseline]}"] if baseline else [])]
    return ", ".join(parts + [f"flows of group {clean_label(g)} only" for g in groups])


def number_rows(rows: Mapping[str, Sequence[float]], shares: Collection[int] = ()) -> list[tuple[Cell, ...]]:
    """Rows of a table by what stands in their first cells, their numbers as :func:`format_columns` writes them."""
    texts = format_columns(list(rows.values()), shares)
    return [(Cell(name), *map(Cell, row)) for name, row in zip(rows, texts, strict=True)]


def fewest(q: float) -> float:
    """The flows that percentile ``q`` needs: of fewer than 1 / (1 - q) it is the largest value, whatever q."""
    return 100.0 / (100.0 - q) if q > 50.0 else 1.0


def p99_name(most: int) -> str:
    """What a column of p99s is called, the largest sample of which has so many values: "largest", if that is all it is.

    A table with a p99 in any of its rows keeps the name.
    """
    return "p99" if most >= fewest(99.0) else "largest"


def enough(p: Percentile, q: float) -> bool:
    """Whether there are flows for percentile ``q``."""
    return p.count >= fewest(q)


def percentile_table(
    caption: str,
    head: tuple[str, ...],
    rows: list[tuple[Cell, ...]],
    samples: Iterable[Percentile],
    what: str = "flows",
) -> Table:
    """A table with percentiles of samples, each with its count; ``what`` are counted.

    Where :func:`enough` leaves any out, the caption says what a dash is. Columns of p95 and p99 that would hold nothing
    but dashes are left out, and the caption says why.
    """
    few = any(not enough(p, q) for p in samples for q in QS)
    columns = range(len(head))
    untold = [
        i for i in columns if head[i].startswith(("p95", "p99")) and rows and all(row[i].text == "–" for row in rows)
    ]
    kept = [i for i in columns if i not in untold]
    if untold:
        missing = sorted({head[i][:3] for i in untold})
        needs = " and ".join(str(round(fewest(float(name[1:])))) for name in missing)
        caption += f"; no {' and '.join(missing)}: {'it needs' if len(missing) == 1 else 'they need'} {needs} {what}"
        few &= any(row[i].text == "–" for row in rows for i in kept if head[i].startswith("p"))
    least = [f"{fewest(q):.0f} (p{q:g})" for q in (99.0, 95.0) if any(head[i].startswith(f"p{q:g}") for i in kept)]
    if few and least:
        caption += f"; a dash where the {what} are fewer than {' or '.join(least)}"
    return Table(caption, tuple(head[i] for i in kept), [tuple(row[i] for i in kept) for row in rows])


def slowdown_cell(p: Percentile, q: float = 50.0) -> Cell:
    """Percentile ``q`` of the slowdown with its confidence interval; without one where the flows give no bound at all.

    A dash where the flows are too few for it (:func:`enough`).
    """
    if not enough(p, q):
        return Cell("–")
    low = format_slowdown(p.low) if p.low > 0 else "–"
    high = format_slowdown(p.high) if math.isfinite(p.high) else "∞"
    bounds = f"[{low}, {high}]" if p.low > 0 or math.isfinite(p.high) else ""
    return Cell(("≥ " if p.at_least else "") + format_slowdown(p.value), bounds)


def with_bounds(caption: str, rows: Iterable[Iterable[Cell]]) -> str:
    """A caption that says what the brackets of :func:`slowdown_cell` and its ≥ are, where there are any."""
    cells = [cell for row in rows for cell in row]
    if any(cell.note.startswith("[") for cell in cells):
        caption += "; in brackets: 95 % confidence intervals"
    # A table goes into papers without the page's text, which says it, too.
    if any(cell.text.startswith("≥") for cell in cells):
        caption += "; ≥: at least, as those that did not finish count with their age"
    return caption


COUNTED = "flows / unfinished / failed"
"""What :func:`counts_cell` holds."""


def counts_cell(p: Percentile) -> Cell:
    """Flows behind a percentile: all, unfinished, failed; the number alone when every flow finished."""
    whole = f"{p.count:,}"
    return Cell(f"{whole} / {p.unfinished:,} / {p.failed:,}" if p.unfinished or p.failed else whole)


def counted(totals: Iterable[Percentile]) -> str:
    """Heading for counts like these: what they count."""
    return COUNTED if any(p.unfinished or p.failed for p in totals) else "flows"


def _at(curve: Curve, k: int) -> Percentile:
    c = curve
    numbers = int(c.count[k]), int(c.unfinished[k]), int(c.failed[k])
    return Percentile(float(c.value[k]), float(c.low[k]), float(c.high[k]), bool(c.at_least[k]), *numbers)


def _size_rows(bins: SizeBins) -> list[str]:
    """Names of the bins, and of all sizes together; where all flows have one size there is nothing else to name."""
    if len(bins) == 1 and bins.smallest_bytes == bins.upper_bytes[0]:
        return [f"all, {format_bytes(bins.smallest_bytes)}"]
    return [f"up to {format_bytes(int(s))}" for s in bins.upper_bytes] + ["all sizes"]


def fewer_bins(bins: SizeBins, size_bytes: ArrayLike, parts: str, of: str) -> str:
    """What bins there are where the sizes are too few for all ``parts``, such as deciles; ``of`` whom they are."""
    if len(bins) == len(np.unique(size_bytes)):
        return f"a bin for each of the {len(bins)} sizes"
    return f"{len(bins)} bins: {parts} of the sizes of {of}, joined where they end at the same size"


def _edges(bins: SizeBins, size_bytes: ArrayLike, of: str) -> str:
    """What a caption says of the bins; nothing where there is but one."""
    if len(bins) == len(analysis.DECILES):
        return f"; bins: deciles of the sizes of {of}"
    return f"; {fewer_bins(bins, size_bytes, 'deciles', of)}" if len(bins) > 1 else ""


def slowdown_tables(runs: Sequence[Results], *, baseline: Baseline = "line_rate", side: Side = "sender") -> list[Table]:
    """Slowdown percentiles by flow size, the flows behind each and how many of them did not finish.

    One line gives one table with a column per percentile; several give a table per percentile, with the CDF-weighted
    geometric mean of the ratio to the first line below.
    """
    chosen = lines(runs)
    samples = [line.of(line.run.slowdown(baseline, side)) for line in chosen]
    sizes = np.concatenate([s.size_bytes for s in samples])
    bins = analysis.bins_from_sizes(sizes)
    curves = [analysis.percentile_curves(s, bins, QS) for s in samples]
    totals = [analysis.percentiles(s, QS) for s in samples]
    names = _size_rows(bins)
    heading = counted(t[0] for t in totals)
    what = timed(runs, baseline, side)

    def column(line: int, q: int) -> list[Percentile]:
        return [_at(curves[line][q], k) for k in range(len(names) - 1)] + [totals[line][q]]

    if len(chosen) == 1:
        cells = [column(0, q) for q in range(len(QS))]
        rows = [
            (Cell(name), counts_cell(cells[0][k]), *(slowdown_cell(c[k], q) for c, q in zip(cells, QS, strict=True)))
            for k, name in enumerate(names)
        ]
        head = ("Flow size", heading.capitalize(), *(f"p{q:g}" for q in QS))
        caption = with_bounds(f"Slowdown by flow size, {what}{_edges(bins, sizes, 'all flows')}", rows)
        return [percentile_table(caption, head, rows, cells[0])]
    tables: list[Table] = []
    for i, q in enumerate(QS):
        columns = [column(n, i) for n in range(len(chosen))]
        rows = []
        for k, name in enumerate(names):
            pairs = [(counts_cell(c[k]), slowdown_cell(c[k], q)) for c in columns]
            rows.append((Cell(name), *(Cell(value.text, f"({count.text})") for count, value in pairs)))
        first = curves[0][i]
        # What the rows above withhold, as too few flows tell it, is no ground for a ratio either.
        told = [np.array([enough(_at(c[i], k), q) for k in range(len(bins))], dtype=bool) for c in curves]
        values = [np.where(ok, c[i].value, np.nan) for ok, c in zip(told, curves, strict=True)]
        ratios = [analysis.geometric_mean_ratio(value, values[0], bins.weight) for value in values]
        both_have = [np.isfinite(value) & np.isfinite(values[0]) for value in values]
        bounds = [(c[i].at_least | first.at_least)[own].any() for c, own in zip(curves, both_have, strict=True)]
        shared = [int(np.count_nonzero(own)) for own in both_have]
        notes = []
        for n, (bound, k) in enumerate(zip(bounds, shared, strict=True)):
            # A ratio over the few sizes that both have is not one of the two runs.
            parts = ["with ≥ values"] if bound and n and k else []
            of = f"over the {k}" if k > 1 else "over the one"
            parts += [f"{of} of {len(bins)} sizes both have"] if n and 0 < k < len(bins) else []
            both = n and told[0].any() and told[n].any()
            parts += [] if k else ["no size both have" if both else "too few flows"]
            notes.append(", ".join(parts))
        last = (Cell(format_number(r), note) for r, note in zip(ratios, notes, strict=True))
        rows.append((Cell("ratio to the first,", "geometric mean over sizes"), *last))
        few = not all(ok.all() for ok in told)
        least = f"; a dash with fewer than {fewest(q):g} flows" if few and q > 50 else ""
        edges = _edges(bins, sizes, "all columns together")
        caption = with_bounds(f"Slowdown p{q:g} by flow size, {what}{edges}; in brackets: {heading}{least}", rows)
        if tables and not any(ok.any() for ok in told) and not any(enough(c[-1], q) for c in columns):
            # A table of nothing but dashes.
            before = tables[-1]
            tables[-1] = replace(before, caption=f"{before.caption}; no p{q:g}: it needs {fewest(q):g} flows")
            continue
        tables.append(Table(caption, ("Flow size", *labels(chosen)), rows))
    return tables


def labels(chosen: Iterable[Line]) -> list[str]:
    """Labels of the lines, in order."""
    return [line.label for line in chosen]


def slowdown_table(runs: Sequence[Results], *, baseline: Baseline = "line_rate", side: Side = "sender") -> str:
    """:func:`slowdown_tables` as plain text for the terminal."""
    return "\n".join(table.plain() for table in slowdown_tables(runs, baseline=baseline, side=side))


def group_tables(runs: Sequence[Results], baseline: Baseline, side: Side) -> list[Table]:
    """All-size percentiles per workload group, when a run has several."""
    rows = []
    first = []
    for run, label in zip(runs, run_labels(runs), strict=True):
        sample, codes = run.slowdown(baseline, side), run.measured_codes("group")
        for code in np.unique(codes):
            found = analysis.percentiles(sample.where(codes == code), QS)
            first.append(found[0])
            group = str(run.summary["groups"][int(code)])
            name = group if len(runs) == 1 else f"{label}: {group}"
            rows.append(
                (Cell(name), counts_cell(found[0]), *(slowdown_cell(p, q) for p, q in zip(found, QS, strict=True)))
            )
    head = ("Group", counted(first).capitalize(), *(f"p{q:g}" for q in QS))
    caption = with_bounds(f"Slowdown by workload group, all sizes, {timed(runs, baseline, side)}", rows)
    return [percentile_table(caption, head, rows, first)] if len(rows) > len(runs) else []


#: Counters that are shown where there are any; all but the first are of transports beside RDMA.
_WHERE_ANY = {
    "timeouts": "Timeouts",
    "flowlets": "Flowlets after a pause",
    "unscheduled_packets": "Unscheduled packets",
    "drops_unscheduled": "Unscheduled packets dropped",
    "trimmed_packets": "Trimmed packets",
    "returned_headers": "Headers returned to senders",
    "permits": "Credits, grants, pulls",
    "wasted_permits": "Of them wasted",
    "drops_credit": "Credits dropped",
    "probes": "Probes",
}


def _speed(machine: Mapping[str, Any]) -> str:
    if machine["cpu_s"] < SHORTEST_S:
        return f"– (under {SHORTEST_S:g} s of CPU)"
    return format_number(float(f"{machine['hops_per_s']:.4g}"))


def _most_used(run: Results, tier: str, direction: str | None) -> float:
    """The share of the time that the most used link direction of a tier transmitted; nan where links are not known.

    Of a tier between equals only one ``direction`` counts.
    """
    links = run.links
    if not links.rows or not run.links_ps:
        return math.nan
    its = links["tier"] == tier
    if direction is not None:
        its &= (links["node"] < links["peer"]) == (direction == "to higher ids")
    busy = links["busy_ps"][its]
    return float(busy.max()) / run.links_ps if len(busy) else math.nan


_ONE_WAY = 1.25
"""How many times the mean of a tier its most used link is used that is told of."""


def is_sampled(summary: Mapping[str, Any]) -> bool:
    """Whether a run lasted until its first sample of the buffers."""
    interval = summary["series_interval_ps"]
    # Of a run whose records found the disk full it is not known how far it got.
    return bool(interval) and (summary["simulated_ps"] >= interval or summary["counters"]["max_buffer_bytes"] > 0)


def until(run: Results) -> str:
    """Until when the counters of a run that has not ended are; empty for one that has, and where they are not known."""
    if run.status != "running" or not run.is_counted:
        return ""
    return "until it broke off" if run.status_text == "broken off" else "so far"


def flow_texts(run: Results, side: Side) -> dict[str, str]:
    """Flows by status over the whole run, a dash for what nobody knows of one that has not ended.

    What was counted until it broke off goes before what its records tell, of which the last are missing.
    """
    counts = run.flow_counts(side)
    found = {name: f"{n:,}" for name, n in counts.items()}
    if run.status == "running":
        found |= dict.fromkeys(("running", "not_started"), "–")
        if run.is_counted and side == "sender":
            at_end = run.summary["flows"]
            told = (("finished", "finished"), ("failed", "failed"), ("running", "unfinished"))
            found |= {name: f"{at_end[key]:,}" for name, key in told}
    return found


_FLOWS = (
    ("finished", "finished"),
    ("unfinished", "running"),
    ("failed", "failed"),
    ("not started", "not_started"),
)


def has_flows(runs: Sequence[Results], side: Side) -> bool:
    """Whether runs have flows to speak of: of queries and programs alone there are none, and four zeros say nothing."""
    others = all(run.summary.get("queries") or run.summary.get("mpi") for run in runs)
    return not others or any(sum(run.flow_counts(side).values()) for run in runs)


def figures_tables(runs: Sequence[Results], side: Side = "sender") -> list[Table]:
    """What the runs did and what they cost: one column per run; and the load of each tier.

    Flows count as finished, unfinished or failed at this side.
    """
    counters: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("Events", lambda s: format_number(s["counters"]["events"])),
        ("Packet hops of data", lambda s: format_number(s["counters"]["data_hops"])),
        ("Packet hops of control", lambda s: format_number(s["counters"]["control_hops"])),
        ("Packet hops per CPU second", lambda s: _speed(s["machine"])),
        ("Run time, wall / CPU (s)", lambda s: f"{s['machine']['run_s']:,.2f} / {s['machine']['cpu_s']:,.2f}"),
        ("Set-up time (s)", lambda s: f"{s['machine']['setup_s']:,.2f}"),
        ("Peak memory (MiB)", lambda s: f"{s['machine']['peak_rss_mib']:,.1f}"),
        (
            "Drops: buffer / wire / link down",
            lambda s: "{drops_buffer:,} / {drops_wire:,} / {drops_link_down:,}".format(**s["counters"]),
        ),
        ("Drops in a lossless class", lambda s: format_number(s["counters"]["lossless_drops"])),
        ("ECN marks", lambda s: format_number(s["counters"]["marks"])),
        ("PFC pause / resume frames", lambda s: "{pause_frames:,} / {resume_frames:,}".format(**s["counters"])),
        ("Retransmitted packets", lambda s: format_number(s["counters"]["retransmitted_packets"])),
        *(
            # Earlier versions did not count all of them.
            (name, lambda s, key=key: format_number(s["counters"].get(key, math.nan)))
            for key, name in _WHERE_ANY.items()
            if any(r.summary["counters"].get(key) for r in runs)
        ),
        (
            "Fullest buffer sampled",
            lambda s: format_bytes(s["counters"]["max_buffer_bytes"]) if is_sampled(s) else "not sampled",
        ),
        ("Ties between events", lambda s: format_number(s["counters"]["ties"])),
    ]
    counts = [flow_texts(r, side) for r in runs]

    def row(name: str, cells: Iterable[str]) -> tuple[Cell, ...]:
        return (Cell(name), *map(Cell, cells))

    rows = [
        (Cell("Status"), *(Cell(r.status_text, f"counters {until(r)}" if until(r) else "") for r in runs)),
        row("Simulated time", (format_time(r.simulated_ps) for r in runs)),
        *(row(f"Flows {name}", (c[key] for c in counts)) for name, key in (_FLOWS if has_flows(runs, side) else ())),
        # Of a run that goes on, or was killed, nobody knows them: a dash, and not the zeros that stand in for them.
        *(row(name, (show(r.summary) if r.is_counted else "–" for r in runs)) for name, show in counters),
    ]
    load = load_table(runs)
    return [Table("Counters and cost", ("", *run_labels(runs)), rows), *([load] if load else [])]


def load_table(runs: Sequence[Results]) -> Table | None:
    """What was offered to the links of each tier and what they carried, a column per run; ``None`` without any load."""
    loads = [{(e["tier"], e["direction"]): e for e in r.summary["load"]} for r in runs]
    found = {place for load in loads for place in load}
    rows: list[tuple[Cell, ...]] = []
    for tier, direction in sorted(found, key=lambda place: (analysis.tier_order(place[0]), place[1] or "")):
        cells = [Cell(tier_text(tier, direction))]
        for r, load in zip(runs, loads, strict=True):
            entry = load.get((tier, direction))
            offered = format_share(entry["offered"]) if entry and entry["offered"] else "–"
            most = _most_used(r, tier, direction)
            uneven = entry is not None and most > _ONE_WAY * entry["carried"] and most >= 0.01
            note = f"most used: {format_share(most)}" if uneven else ""
            cells.append(Cell(f"{offered} / {format_share(entry['carried'])}" if entry else "–", note))
        rows.append(tuple(cells))
    closed = [", ".join(r.summary["closed_loop"]) for r in runs]
    if any(closed):
        rows.append((Cell("Closed loop: carried, not offered"), *(Cell(names or "–") for names in closed)))
    if not rows:
        return None
    caption = (
        "Load by tier and direction: offered / carried by data frames, ACKs aside, over the simulated time; share of "
        "the capacity"
    )
    if any(cell.note for row in rows for cell in row):
        caption += "; most used: the share of time that one direction of a link transmitted"
    if any(cell.text.startswith("– /") for row in rows for cell in row):
        caption += "; a dash: nothing is offered at a rate, as in closed loops or where all starts at once"
    return Table(caption, ("Tier", *run_labels(runs)), rows)


def datagram_table(runs: Sequence[Results]) -> Table | None:
    """What became of datagrams, by scheme over UDP; ``None`` without any flow over it."""
    rows: dict[str, list[Cell]] = {}
    for run, label in zip(runs, run_labels(runs), strict=True):
        schemes, flows = run.summary["schemes"], run.flows
        for code, scheme in enumerate(schemes):
            own = flows.codes("scheme") == code
            if scheme.get("cc") != "udp" or not own.any():
                continue
            lost = flows["lost_packets"][own]
            sent = next((t["packets"] for t in run.summary.get("traffic", []) if t["scheme"] == scheme["name"]), None)
            hit = int(np.count_nonzero(lost))
            share = "–" if not sent else format_share(int(lost.sum()) / sent)
            name = str(scheme["name"]) if len(runs) == 1 else f"{label}: {scheme['name']}"
            cells = ("–" if sent is None else f"{sent:,}", f"{int(lost.sum()):,}", share, f"{hit:,} of {len(lost):,}")
            rows[name] = [*map(Cell, cells)]
    named = [(Cell(name), *cells) for name, cells in zip(clean_labels(rows), rows.values(), strict=True)]
    head = ("Scheme", "Datagrams sent", "Lost", "Share lost", "Flows that lost some")
    return Table("Datagrams (UDP), all groups and the whole run", head, named) if rows else None


def figures_table(runs: Sequence[Results], side: Side = "sender") -> str:
    """:func:`figures_tables` as plain text for the terminal."""
    return "\n".join(table.plain() for table in figures_tables(runs, side))
