"""What a page is made of: sections with figures and tables, and the templates they go into."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from paceline import plot
from paceline.files import figures
from paceline.plot import shades
from paceline.results import Baseline, Results, Side
from paceline.tables import Cell, Table, lines, run_labels
from paceline.words import signed, typeset


@dataclass(frozen=True)
class PageFigure:
    """A figure on the page."""

    name: str
    svg: Markup
    caption: str
    wide: bool = False
    """Whether it goes over two columns of a paper."""
    files: tuple[str, ...] = ()
    """Endings of the files in ``figures/`` that the page leads to."""
    drawn: Mapping[str, bytes] = field(default_factory=dict)
    """These files by their names."""

    @classmethod
    def of(cls, figure: Figure, name: str, caption: str, *, as_files: bool) -> PageFigure:
        """Draws a figure for the page and, if wanted, as the files for papers, which are yet to be written."""
        drawn = plot.as_files(figure, name) if as_files else {}
        svg = drawn[f"{name}.svg"].decode() if drawn else None
        wide = figure.get_figwidth() > 1.5 * plot.COLUMN_INCHES
        files = figures.ENDINGS if drawn else ()
        return cls(name, Markup(plot.inline_svg(figure, name, typeset(caption), svg)), caption, wide, files, drawn)


@dataclass
class Section:
    """A part of the page; empty ones are left out."""

    key: str
    title: str
    text: str = ""
    rules: tuple[str, Sequence[str]] | None = None
    """A heading, and behind it, folded away, what the tables go by, a line each."""
    figures: list[PageFigure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    folded: list[Table] = field(default_factory=list)
    """Long tables, behind their captions."""
    link: str = ""
    """Address of a page with more."""
    verbatim: list[tuple[str, str]] = field(default_factory=list)
    """Texts to show as they are, each with a name."""

    def __bool__(self) -> bool:
        return bool(self.text or self.figures or self.tables or self.folded or self.verbatim)


class Page:
    """The runs of a report, and whether its figures are wanted as files, too."""

    def __init__(self, runs: Sequence[Results], baseline: Baseline, side: Side, *, as_files: bool = False) -> None:
        self.runs = runs
        self.as_files = as_files
        self.baseline: Baseline = baseline
        self.side: Side = side
        self.lines = lines(runs)
        self.labels = run_labels(runs)

    @property
    def alone(self) -> bool:
        """Whether there is one run, which then needs no name."""
        return len(self.runs) == 1

    @property
    def pairs(self) -> list[tuple[Results, str]]:
        """The runs with their labels."""
        return list(zip(self.runs, self.labels, strict=True))

    @cached_property
    def quiet_ps(self) -> float:
        """When the last recorded queue is empty for good and the last pause over, in any run: a common end of axes."""
        found = []
        for run in self.runs:
            queue, paused = run.series, run.saturation
            here = queue["kind"] == "queue_bytes"
            curves = [(queue["time_ps"][here], queue["value"][here])] if here.any() else []
            curves += [(paused["time_ps"], paused[what]) for what in ("depth", "paused_hosts") if paused.rows]
            for time, value in curves:
                order = np.argsort(time, kind="stable")
                last = float(time[order[-1]])
                found.append(min(last, 1.05 * plot.quiet_from([(time[order], value[order])], last)))
        return max(found, default=0.0)

    def named(self, label: str, name: str) -> str:
        """A name within a run, with that of the run where there are several."""
        return name if self.alone else f"{label}: {name}"

    def draw(self, figure: Figure, name: str, caption: str) -> PageFigure:
        """The figure for the page, and as files where they are wanted."""
        return PageFigure.of(figure, name, caption, as_files=self.as_files)

    def by_run(self, caption: str, head: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> Table:
        """A table of words whose first column names the run, left out when there is only one.

        What all runs have in common is said once, before what only some have.
        """
        if self.alone:
            return Table(caption, head, [row[1:] for row in rows], prose=True)
        having: dict[tuple[Cell, ...], set[str]] = {}
        for label, *said in rows:
            having.setdefault(tuple(said), set()).add(label.text)
        common = [said for said, labels in having.items() if len(labels) == len(self.runs)]
        rows = [
            *((Cell("all\N{NO-BREAK SPACE}runs"), *said) for said in common),
            *(row for row in rows if row[1:] not in common),
        ]
        head = ("Run", *head) if any(head) else ("", *head)
        return Table(caption, head, rows, prose=True)


def environment() -> Environment:
    """The package's templates with what they use."""
    loader = PackageLoader("paceline", "templates")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.globals["shades"] = shades.variables
    found.filters["breakable"] = _breakable
    found.filters["signed"] = signed
    found.filters["typeset"] = typeset
    return found


def render(template: str, **values: Any) -> str:
    """A page from one of the package's templates."""
    return environment().get_template(template).render(**values)


def _breakable(text: str) -> Markup:
    """A name that may be broken behind its underscores and its dots from the second on, not within words or numbers.

    Nor before a last letter alone: "timely_w".
    """
    words = str(escape(text))
    first, dot, rest = words.partition(".") if "." in words else ("", "", words)
    return Markup(first + dot + re.sub(r"(?<=[._])(?=\w[\w.])(?<![0-9]\.(?=[0-9]))", "<wbr>", rest))
