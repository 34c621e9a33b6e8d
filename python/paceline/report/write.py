"""Writes a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from paceline import files
from paceline.files import replaceable
from paceline.report.flows import asked, fct, programs, slowdown
from paceline.report.followed import followed
from paceline.report.head import notices, schemes, tiles
from paceline.report.links import links
from paceline.report.origin import citation, parameters, provenance, rerun
from paceline.report.packets import packets
from paceline.report.page import Page, Section, render
from paceline.report.queues import queues
from paceline.results import Baseline, Results, Side
from paceline.tables import figures_tables
from paceline.words import many


def write_report(
    dirs: Sequence[Path],
    out: Path,
    *,
    baseline: Baseline = "line_rate",
    side: Side = "sender",
    group: str | None = None,
    paper_figures: bool = True,
) -> Path:
    """Writes the report of one result folder, or a comparison of several, to ``out``.

    With ``group`` only the flows and queries of that workload group are timed.

    With ``paper_figures`` the figures also go to ``figures/`` beside it, as PNG, PDF and SVG: most of the time a report
    takes; and the tables to ``tables.md`` and ``tables.tex``. Returns ``out``.

    Raises :class:`ResultsError` for a folder that cannot be read, before anything is written, ``OSError`` when the disk
    says no and ``ValueError`` without folders or for a baseline that does not go with ``side`` (see
    :meth:`Results.slowdown`), or a group that a run does not have.
    """
    if not dirs:
        raise ValueError("a report needs at least one result folder")
    runs = [Results.load(folder) for folder in dirs]
    runs = runs if group is None else [run.of_group(group) for run in runs]
    # A table that is malformed would be met after some figures have been replaced.
    for run in runs:
        run.read_all()
        run.slowdown(baseline, side)
    return write_page(Page(runs, baseline, side, as_files=paper_figures), out)


def write_page(page: Page, out: Path) -> Path:
    """Writes the page to ``out``, with the files beside it that it wants, and returns ``out``."""
    runs, baseline, side = page.runs, page.baseline, page.side
    sections = [part(page) for part in (programs, asked, slowdown, fct, queues, followed, packets, links)]
    sections.append(Section("counters", "Counters", tables=figures_tables(runs, side)))
    tables = [table for section in sections if section for table in section.tables]
    sections += [parameters(page), provenance(page)]
    html = render(
        "report.html.j2",
        title=_title(runs[0]) if page.alone else f"Comparison of {len(runs)} runs",
        runs=[(label, run, _about(run)) for run, label in page.pairs],
        notices=notices(page),
        tiles=tiles(runs[0], baseline, side) if page.alone else [],
        sections=[s for s in sections if s],
        scenarios=[(label, run.scenario_toml) for run, label in page.pairs],
        rerun=[(label, rerun(run)) for run, label in page.pairs],
        citation=citation(runs),
    )
    made: dict[Path, str | bytes] = {}
    if page.as_files:
        for drawing in (d for s in sections if s for d in s.figures):
            made |= {out.parent / "figures" / name: data for name, data in drawing.drawn.items()}
        made[out.parent / "tables.md"] = "\n".join(table.markdown() for table in tables)
        made[out.parent / "tables.tex"] = "\n".join(table.latex() for table in tables)
    left = replaceable.left_over(out, {path.name for path in made}) if made else []
    _write({**made, out: html})
    for path in left:
        path.unlink(missing_ok=True)
    return out


def _write(made: Mapping[Path, str | bytes]) -> None:
    """Writes files in this order. If one cannot be written, those go again that are new.

    The page, by which the folder is known as that of a report, is the last.
    """
    new = [path for path in made if not path.exists()]
    try:
        for path, data in made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, data)
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        raise


def _title(run: Results) -> str:
    """The name, with the folder where that is another: runs of one scenario have one name."""
    folder = run.path.resolve().name
    return run.name if folder == run.name else f"{run.name} ({folder})"


def _about(run: Results) -> str:
    s = run.summary
    network = f"{many(s['hosts'], 'host')}, {many(s['switches'], 'switch', 'es')}"
    return f"{schemes(run)}; {network}; seed {s['seed']}"
