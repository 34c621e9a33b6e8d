"""The pages of reproduced results: one per experiment, and the scoreboard over all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paceline import _native
from paceline.files import replaceable, write
from paceline.report import PageFigure, Section, render
from paceline.reproduce.catalogue import minutes
from paceline.reproduce.judge import DIGITS, shown
from paceline.reproduce.model import Experiment, Outcome, Scale, Verdict
from paceline.reproduce.record import Row
from paceline.reproduce.regenerate import Judged, scenario_files, write_json
from paceline.tables import Cell, Table
from paceline.words import headed, in_words, many, revision, signed

_SCALE = {
    "tiny": "tiny: it proves that everything runs",
    "quick": "quick: shorter runs than the published ones",
    "paper": "paper: runs of the published size",
}
_NOT_JUDGED = "; exact statements are judged, statistical ones are not"
SHOWN_REPORTS = 12
"""Values without a claim that stand among the verdicts; more are folded away."""
SHOWN_CLAIMS = 40
"""Claims that stand in one table; of more, those that pass are folded away."""
SHOWN_FAILED = 6
"""Claims that fail that are named above all else."""
_RULES = (
    "pass: the statement holds; a statistical one, with its whole 95 % confidence interval over the seeds.",
    "fail: it does not hold.",
    "undecided: the interval contains the limit, the intervals of an ordering overlap, or there are fewer than three "
    "seeds.",
    "report: a measured value without a claim to judge.",
    "Larger runs: what is on record of a larger scale, not run for this page; where the two differ, it is the one that "
    "counts and has the colour.",
    "Limits come from the source where it states one, else from a rule of this project that was fixed beforehand "
    "(docs/reproduce.md).",
)


_SHORT_NAMES = {
    "FCT": "Flow completion time: from a flow's start to its last acknowledgement, or to its last byte.",
    "QCT": "Query completion time: from a query to the last byte of its answer.",
    "slowdown": "FCT over the least FCT that the flow could have, alone in an empty network: 1 is the best there is.",
    "p99": "99 % of the values are at most as large as this one; p50, the median, half of them.",
    "incast": "Many hosts send to one at the same time.",
    "RTO": "Retransmission timeout: how long a sender waits for an acknowledgement before it sends again.",
    "PFC": "Priority flow control: a switch whose buffer fills up tells its neighbours to pause.",
    "ECN": "Explicit congestion notification: switches mark packets where a queue is long, and senders slow down.",
    "RED": "Random early detection: a switch marks or drops packets at random, the more of them the longer its queue.",
    "QCN": "Quantised congestion notification: switches tell the adapters of senders by how much to slow down.",
    "RDMA": "Remote direct memory access: the adapter, and not the operating system, runs the transport.",
    "INT": "In-band network telemetry: switches write into packets how long their queues and how busy their links are.",
    "PINT": "Probabilistic INT: only some packets carry it, and in fewer bits.",
}
"""What stands on a page for more than it says, for whom it is new."""

Larger = Mapping[str, Row]
"""By :attr:`Verdict.name` what is on record of larger runs than those of a page."""
_NONE: Larger = {}
_LARGER = "Larger runs"
_JUDGED = (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED)
_NOTHING_JUDGED = "Nothing to judge: values are reported."
_WITH_INTERVALS = "Nothing to judge: values are reported, with their 95 % confidence intervals over the seeds."


def verdict_table(verdicts: Sequence[Verdict], caption: str = "Verdicts", larger: Larger = _NONE) -> Table:
    """Published, measured, tolerance and verdict, for page and terminal; variants where there are several.

    Of values without a claim there is neither tolerance nor verdict, and a published value only where some have it.
    Seeds that all have in common are named once, in the caption; where no value depends on one, none is.
    Ahead of a claim's verdict stands what ``larger`` runs said of it, where that is something else: it weighs more, and
    where the verdicts differ it has the colour.
    """
    head: tuple[str, ...] = ("Id", "Statement", "Published", "Measured", "Tolerance", _LARGER, "Verdict")
    head += ("Variant", "Seeds")
    rows: list[tuple[Cell, ...]] = []
    for v in verdicts:
        interval = "" if v.interval is None else _range(v.interval, v.measured)
        published, measured, tolerance = (_told(v, x) for x in (_number(v.published), _measured(v), v.tolerance))
        cells = (Cell(v.id), Cell(headed(v.told)), Cell(published), Cell(measured, interval))
        tone = v.verdict.value if v.verdict in _JUDGED else ""
        seeds, record = _seeds(v.seeds), _on_record(v, larger)
        judged = (Cell(tolerance), record, Cell(v.verdict.value, tone="muted" if tone and record.tone else tone))
        rows.append((*cells, *judged, Cell(in_words(v.variant)), Cell(seeds)))
    claims, _ = _split(verdicts)
    empty = {"Variant"} if all(v.variant == "default" for v in verdicts) else set()
    empty |= {"Tolerance", "Verdict"} if not claims else set()
    empty |= {"Published"} if all(v.published is None for v in verdicts) else set()
    common = {v.seeds for v in verdicts if v.seeds}
    if len(common) <= 1:
        empty |= {"Seeds"}
    if len(common) == 1:
        (seeds_of_all,) = common
        caption += f"; {'seed' if len(seeds_of_all) == 1 else 'seeds'} {_seeds(seeds_of_all)}"
    empty |= {_LARGER} if not any(_on_record(v, larger).text for v in claims) else set()
    kept = [i for i, name in enumerate(head) if name not in empty]
    return Table(caption, tuple(head[i] for i in kept), [tuple(row[i] for i in kept) for row in rows], prose=True)


def _on_record(v: Verdict, larger: Larger) -> Cell:
    row = larger.get(v.name)
    if row is None or v.verdict is Outcome.REPORT or (row.verdict, row.measured) == (v.verdict, shown(v.measured)):
        return Cell("")
    tone = row.verdict if row.verdict in _JUDGED and row.verdict != v.verdict else ""
    value = _told(v, _measured(v, row.measured))
    return Cell(row.verdict, f"{'no value' if value == shown(None) else value} at {row.scale}", tone)


def _counts(v: Verdict, larger: Larger) -> str:
    """The verdict that counts: that of larger runs where it is another."""
    record = _on_record(v, larger)
    return record.text if record.tone else v.verdict.value


def _told(v: Verdict, text: str) -> str:
    """A number as text, or what it says."""
    return {"1": "yes", "0": "no"}.get(text, text) if v.yes_no else text


def _number(value: Any) -> str:
    """A value as :func:`shown` writes it, thousands set apart as in all tables."""
    text = shown(value)
    if isinstance(value, float) and abs(value) != 1 and text in ("1", "-1"):
        # Just above or just below 1 is what many claims are about.
        text = next((t for digits in range(5, 10) if (t := f"{value:.{digits}g}") not in ("1", "-1")), text)
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if re.fullmatch("-?[0-9]{4,}", whole) else text


def _measured(v: Verdict, recorded: str | None = None) -> str:
    """What was measured, here or as recorded; but for exact values with the zeros at its end: 0.9000 beside 0.8512."""
    text = _number(v.measured if recorded is None else recorded)
    return _padded(text) if v.seeds else text


def _padded(text: str) -> str:
    """A number that is not whole, in all of its digits."""
    found = re.fullmatch(r"(-?[0-9,]+\.([0-9]+))(e-[0-9]+)?", text)
    if found is None:
        return text
    digits = re.sub("[^0-9]", "", found[1]).lstrip("0")
    return f"{found[1]}{'0' * (DIGITS - len(digits))}{found[3] or ''}"


def _range(interval: tuple[float, float], measured: Any) -> str:
    """An interval; of a value with a power of ten both ends have that one: they would have others, or none."""
    power = re.search("e-[0-9]+$", _number(measured))
    scale = float(f"1{power[0]}") if power else 1.0
    low, high = (_padded(_number(round(end / scale, 9) if power else end)) for end in interval)
    return f"[{low}, {high}]" + (f" \N{MULTIPLICATION SIGN} 1{power[0]}" if power else "")


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds of a verdict, those in a row by the first and last."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}–{seeds[-1]}"
    return ", ".join(map(str, seeds)) or "any"


def brief_table(verdicts: Sequence[Verdict], caption: str, larger: Larger = _NONE) -> Table:
    """:func:`verdict_table` for a terminal: without statements and seeds.

    Values without a claim are left to the page where there are claims.
    """
    verdicts = _split(verdicts)[0] or _given(list(verdicts))[0]
    whole = verdict_table(verdicts, caption, larger)
    kept = [i for i, name in enumerate(whole.head) if name not in ("Statement", "Seeds")]
    rows = [tuple(row[i] for i in kept) for row in whole.rows]
    return Table(caption, tuple(whole.head[i] for i in kept), rows, prose=True)


def _split(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Those that judge a claim, and values reported without one."""
    claims = [v for v in verdicts if v.verdict is not Outcome.REPORT]
    return claims, [v for v in verdicts if v.verdict is Outcome.REPORT]


def _given(reports: list[Verdict]) -> tuple[list[Verdict], int]:
    """Values that there are, and how many there are not; all of them where there is none."""
    given = [v for v in reports if v.measured is not None]
    return (given, len(reports) - len(given)) if given else (reports, 0)


def _verdicts(
    key: str,
    title: str,
    text: str,
    verdicts: Sequence[Verdict],
    larger: Larger,
    caption: str = "Verdicts",
    rules: tuple[str, Sequence[str]] | None = None,
) -> Section:
    """The claims of an experiment with their verdicts.

    Folded away are many values without a claim and, where there are many claims, those that pass.
    """
    claims, reports = _split(verdicts)
    given, missing = _given(reports)
    if missing:
        reports = given
    if reports and not claims:  # rules of judging would only be in the way
        title, caption = ("Measured values" if title == "Verdicts" else title), "Measured values"
        text = text or (_WITH_INTERVALS if any(v.interval for v in reports) else _NOTHING_JUDGED)
        rules = None
    if missing:
        text = f"{text} Not shown: {many(missing, 'value')} that runs of this scale do not give.".strip()
    folded = []
    if len(claims) > SHOWN_CLAIMS and (held := [v for v in claims if _counts(v, larger) == Outcome.PASS]):
        text = f"{text} {len(held):,} of {many(len(claims), 'claim')} pass, and are folded away below.".strip()
        claims = [v for v in claims if _counts(v, larger) != Outcome.PASS]
        folded.append(verdict_table(held, "Claims that pass", larger))
        caption = f"{caption}: all others"
    if len(reports) > SHOWN_REPORTS:
        what = "Measured values without a claim to judge" if claims or folded else "All values"
        folded.append(verdict_table(reports, what))
        reports = []
    shown = [*claims, *reports]
    tables = [verdict_table(shown, caption, larger)] if shown else []
    return Section(key, title, text, rules, tables=tables, folded=folded)


def _notices(judged: Sequence[Judged]) -> list[tuple[str, str, list[str]]]:
    """(kind, heading, lines) of runs that failed, and of those that came to a standstill."""
    several = len(judged) > 1
    said = {
        what: [f"{j.experiment.id}: {line}" if several else line for j in judged for line in getattr(j, what)]
        for what in ("problems", "stalled")
    }
    notices = [("bad", "Runs that failed: no verdicts", said["problems"])] if said["problems"] else []
    standstill = "Runs that stalled (no flow made progress any more); the verdicts count them as they ended"
    return notices + ([("info", standstill, said["stalled"])] if said["stalled"] else [])


def _failed(verdicts: Sequence[Verdict], larger: Larger) -> list[tuple[str, str, list[str]]]:
    """The notice that says which claims do not hold, as figures stand before the table of verdicts."""
    failed = [v for v in verdicts if v.verdict is Outcome.FAIL]
    said = [_against(v, v.told, _told(v, _measured(v))) for v in failed]
    notices = [("warn", "Claims that fail", _first_of(failed, said, _recorded_as(failed, larger, Outcome.PASS)))]
    # What holds at this scale, or is not judged at it, may be known not to.
    other = [v for v in verdicts if v.verdict not in (Outcome.FAIL, Outcome.REPORT)]
    known = [(v, row) for v in other if (row := larger.get(v.name)) and row.verdict == Outcome.FAIL]
    # Without what was open at the end of these runs, which says nothing of others.
    said = [_against(v, v.statement, f"{_told(v, _measured(v, row.measured))} at {row.scale}") for v, row in known]
    notices.append(("info", "Claims that fail in larger runs on record", _first_of([v for v, _ in known], said)))
    return [notice for notice in notices if notice[2]]


def _against(v: Verdict, statement: str, measured: str) -> str:
    """A claim with what was measured and what that is held against."""
    published = "" if v.published is None else f"published {_told(v, _number(v.published))}, "
    return f"{v.id}: {statement}: {measured}, {published}tolerance {_told(v, v.tolerance)}"


def _first_of(verdicts: Sequence[Verdict], said: Sequence[str], last: str = "") -> list[str]:
    """At most :data:`SHOWN_FAILED` of the lines, one for each verdict, with its variant; what is left out, and more."""
    lines = [
        text + (f" ({in_words(v.variant)})" if v.variant != "default" else "")
        for v, text in zip(verdicts[:SHOWN_FAILED], said[:SHOWN_FAILED], strict=True)
    ]
    lines += [f"and {len(verdicts) - SHOWN_FAILED} more, in the table"] if len(verdicts) > SHOWN_FAILED else []
    return lines + ([f"Of these, {last}"] if last else [])


def _recorded_as(verdicts: Sequence[Verdict], larger: Larger, *outcomes: Outcome) -> str:
    """How many of these claims have such a verdict on record of larger runs, and at which scale; nothing where none."""
    found = Counter((row.verdict, row.scale) for v in verdicts if (row := larger.get(v.name)))
    kept = [(o, scale) for o in outcomes for scale in Scale if found[o.value, scale.value]]
    return ", ".join(f"{found[o.value, scale.value]:,} on record as {o} at {scale} scale" for o, scale in kept)


def counts_text(verdicts: Sequence[Verdict], larger: Larger = _NONE) -> str:
    """How many verdicts of each kind, in one line, and what larger runs on record say of them where it is another."""
    of = {o: [v for v in verdicts if v.verdict is o] for o in Outcome}
    others = {
        Outcome.PASS: (Outcome.FAIL, Outcome.UNDECIDED),
        Outcome.FAIL: (Outcome.PASS,),
        Outcome.NOT_JUDGED: _JUDGED,
    }
    after = {o: f" ({told})" for o, kinds in others.items() if (told := _recorded_as(of[o], larger, *kinds))}
    return ", ".join(f"{len(of[o]):,} {o.value}{after.get(o, '')}" for o in Outcome if of[o]) or "no verdicts"


def _on_record_of(verdicts: Sequence[Verdict], larger: Larger, scale: Scale) -> Counter[str]:
    """At tiny scale how many claims have which verdict on record of larger runs: there they are what is known."""
    if scale is not Scale.TINY:
        return Counter()
    claims, _ = _split(verdicts)
    return Counter(row.verdict for v in claims if (row := larger.get(v.name)) and row.verdict in _JUDGED)


TileGroup = tuple[str, list[tuple[str, str, str]]]
"""A heading, and of each tile below it name, number and look."""


def _tiles(verdicts: Sequence[Verdict], larger: Larger, scale: Scale) -> list[TileGroup]:
    """How many verdicts there are of each kind; those of larger runs, where they lead, in a group before the others.

    A claim is in both groups then, and the headings say so.
    """
    record, own = _on_record_of(verdicts, larger, scale), Counter(v.verdict for v in verdicts)
    claims, reports = (len(part) for part in _split(verdicts))
    look, ours = ("quiet", f" at {scale}") if record else ("", "")
    judged = [
        (o.value.removesuffix(ours), f"{n:,}", look) for o in Outcome if o is not Outcome.REPORT and (n := own[o])
    ]
    groups = [("", judged)]
    if record:
        counted = many(record.total(), "claim")
        same = "The same" if claims == record.total() else f"These and others, {claims:,},"
        before = [(o.value, f"{record[o]:,}", "") for o in _JUDGED if record[o]]
        groups = [(f"{counted}, as larger runs on record have them", before), (f"{same} at {scale} scale", judged)]
    if reports:
        groups.append(("Values without a claim", [(Outcome.REPORT.value, f"{reports:,}", "")]))
    return [group for group in groups if group[1]]


def write_experiment(judged: Judged, folder: Path, larger: Larger = _NONE) -> Path:
    """Writes page, figures, ``verdicts.json`` and the exact scenarios of an experiment; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    # First: by it the folder is known, if what follows is cut short.
    write_json(judged, folder)
    for old in folder.glob("scenario-*.toml"):  # of another plan
        old.unlink()
    files = list(scenario_files(judged))
    for name, text in files:
        write(folder / name, text)
    e = judged.experiment
    sections = []
    more = e.show(judged.runs, judged.scale) if judged.verdicts else None
    if more:
        drawings = [PageFigure.of(d.figure, d.name, d.caption, as_files=True) for d in more.drawings]
        if drawings:
            (folder / "figures").mkdir(exist_ok=True)
        for drawn in drawings:
            for name, data in drawn.drawn.items():
                write(folder / "figures" / name, data)
        sections.append(Section("figures", "Figures", figures=drawings))
    rules = ("How verdicts come about", _RULES)
    sections.append(_verdicts("verdicts", "Verdicts", "", judged.verdicts, larger, rules=rules))
    if more:
        for name, text in more.files.items():
            write(folder / name, text)
        if more.tables:
            sections.append(Section("tables", "Tables", tables=list(more.tables)))
        if more.remarks:
            rows: list[tuple[Cell, ...]] = [(Cell(text),) for text in more.remarks]
            sections.append(Section("remarks", "Remarks", tables=[Table("What to know", ("",), rows, prose=True)]))
    sections.append(_short_names([e.title, e.statement, *(v.statement for v in judged.verdicts)], sections))
    told = _files_said(len(files))
    sections.append(Section("scenarios", "Scenarios", told, verbatim=files))
    sections.append(Section("again", "Run again", verbatim=[("", _again([e.id], judged.scale.value))]))
    html = render(
        "reproduce.html.j2",
        kicker=f"Source: {e.source}",
        title=f"{e.id}: {e.title}",
        lead=[e.statement, _scale_said(judged.scale, judged.verdicts), *_explained(e, judged.verdicts)],
        notices=[*_notices([judged]), *_failed(judged.verdicts, larger)],
        tiles=_tiles(judged.verdicts, larger, judged.scale),
        sections=[s for s in sections if s],
    )
    page = folder / "report.html"
    left = replaceable.left_over(page, {name for s in sections for figure in s.figures for name in figure.drawn})
    write(page, html)
    for path in left:
        path.unlink(missing_ok=True)
    return page


def _short_names(texts: Sequence[str], sections: Sequence[Section]) -> Section:
    """What the short names mean that these texts, captions and tables have."""
    tables = [t for s in sections for t in (*s.tables, *s.folded)]
    words = [c.text for t in tables for row in t.rows for c in row] + [h for t in tables for h in (t.caption, *t.head)]
    all_words = " ".join([*texts, *words, *(f.caption for s in sections for f in s.figures)])
    rows: list[tuple[Cell, ...]] = [
        (Cell(name), Cell(meaning))
        for name, meaning in _SHORT_NAMES.items()
        if re.search(rf"\b{name}s?\b", all_words, re.IGNORECASE if name.islower() else 0)
    ]
    return Section(
        "words", "Short names", tables=[Table("What they mean", ("",) * 2, rows, prose=True)] if rows else []
    )


def _scale_said(scale: Scale, verdicts: Sequence[Verdict]) -> str:
    """What a scale is, and what it means for claims where there are any."""
    judges = scale is Scale.TINY and bool(_split(verdicts)[0])
    return f"Scale {_SCALE[scale.value]}{_NOT_JUDGED if judges else ''}."


def _explained(e: Experiment, verdicts: Sequence[Verdict]) -> list[str]:
    """Where the reader learns what the set-up leaves open, and why a claim fails."""
    if not e.explained_in:
        return []
    tried = ", and what was found and tried where a claim fails" if _split(verdicts)[0] else ""
    return [f"What is unknown of the set-up{tried}: {e.explained_in}."]


def _files_said(files: int) -> str:
    if files == 1:
        return "1 run, exactly as run. The file lies beside this page; paceline run repeats it."
    return f"{files:,} runs, each exactly as run. The files lie beside this page; paceline run repeats them."


def write_scoreboard(judged: Sequence[Judged], changed: Sequence[str], folder: Path, larger: Larger = _NONE) -> Path:
    """Writes ``scoreboard.html`` and ``scoreboard.md`` over the experiments, whose pages lie below ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = [v for j in judged for v in j.verdicts]
    sections = [Section("overview", "Overview", tables=[_overview(judged, larger)])]
    for j in judged:
        e = j.experiment
        title, link = f"{e.id}: {e.title}", f"{e.id}/report.html"
        section = _verdicts(e.id, title, e.statement, j.verdicts, larger, e.source)
        section.link = link
        sections.append(section)
    sections.append(Section("again", "Run again", verbatim=[("", _again(["--all"], judged[0].scale.value))]))
    told = [*changed[:SHOWN_REPORTS], *([f"and {left} more"] if (left := len(changed) - SHOWN_REPORTS) > 0 else [])]
    notices = [("warn", "Other than recorded", told)] if told else []
    notices += _notices(judged)
    html = render(
        "reproduce.html.j2",
        kicker="Paceline scoreboard",
        title="Published results, reproduced",
        lead=[f"Paceline {_version()}. {_scale_said(judged[0].scale, verdicts)}", *_RULES],
        notices=notices,
        tiles=_tiles(verdicts, larger, judged[0].scale),
        sections=sections,
    )
    page = folder / "scoreboard.html"
    write(page, html)
    write(folder / "scoreboard.md", markdown(judged, larger))
    return page


def _overview(judged: Sequence[Judged], larger: Larger = _NONE) -> Table:
    """How many verdicts of each kind a result has, those of larger runs first at tiny scale; leads to its section."""
    # Values without a claim last: in between they would be taken for verdicts.
    kinds = sorted((o for o in Outcome if any(j.count(o) for j in judged)), key=lambda o: o is Outcome.REPORT)
    records = [_on_record_of(j.verdicts, larger, j.scale) for j in judged]
    led = [o for o in _JUDGED if any(record[o.value] for record in records)]
    rows: list[tuple[Cell, ...]] = []
    for j, record in zip(judged, records, strict=True):
        counts = [record[o.value] for o in led] + [j.count(o) for o in kinds]
        name = f"{j.experiment.id}: {j.experiment.title}"
        rows.append((Cell(name, link=f"#{j.experiment.id}"), *(Cell(f"{n:,}" if n else "–") for n in counts)))
    own = [f"{o} at {judged[0].scale}" if led and o in _JUDGED else o.value for o in kinds]
    caption = "Verdicts by result"
    if led:
        caption += f"; a claim counts twice: on record of larger runs, and at {judged[0].scale}"
    return Table(caption, ("Result", *(f"{o} on record" for o in led), *own), rows)


def markdown(judged: Sequence[Judged], larger: Larger = _NONE) -> str:
    """The scoreboard for the documentation. Says nothing that changes from one commit to the next."""
    scale = judged[0].scale.value
    said = _scale_said(judged[0].scale, [v for j in judged for v in j.verdicts])
    parts = [
        "# Scoreboard",
        f"<!-- Made by: {_again(['--all'], scale)} -->",
        f"Published results as this version reproduces them. {said} {' '.join(_RULES)}",
        "\n".join(["| id | result | verdicts | CPU minutes |\n|---|---|---|---|", *map(_line, judged)]),
    ]
    for j in judged:
        table = verdict_table(j.verdicts, larger=larger)
        rows = ["| " + " | ".join(_plain(f"{c.text} {c.note}".strip()) for c in row) + " |" for row in table.rows]
        head = f"| {' | '.join(h.lower() for h in table.head)} |\n|{'---|' * len(table.head)}"
        parts += [f"## {j.experiment.id}", f"{_plain(j.experiment.title)}. {_plain(j.experiment.statement)}"]
        seeds = table.caption.removeprefix("Verdicts")
        parts += [f"Source: {_plain(j.experiment.source)}{seeds}.", "\n".join([head, *rows])]
    return "\n\n".join(parts) + "\n"


def _line(j: Judged) -> str:
    e, cost = j.experiment, minutes(sum({job.key: job.cpu_s for job in j.jobs}.values()) / 60)
    return f"| [{e.id}](#{e.id.lower()}) | {_plain(e.title)} | {counts_text(j.verdicts)} | {cost} |"


def _plain(text: str) -> str:
    return signed(text).replace("|", "\\|").replace("<", "&lt;")


def _again(ids: Sequence[str], scale: str) -> str:
    return f"paceline reproduce {' '.join(ids)} --scale {scale}"


def _version() -> str:
    git = _native.git_revision()
    return f"{_native.version()}, commit {revision(git)}" if git else _native.version()
