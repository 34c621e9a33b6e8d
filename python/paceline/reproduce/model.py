"""What an experiment is: points to run, verdicts to reach, figures and tables to show.

An experiment is a value with three functions. ``plan`` names the points of a scale, ``judge`` turns their results into
verdicts, ``show`` draws them. None of them runs anything: the sweep does, and points that several experiments share
run once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from paceline.sweeps.points import Point, Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from paceline.tables import Table


class Scale(StrEnum):
    """How large the runs are."""

    TINY = "tiny"
    """Seconds: every figure and table filled, exact statements judged."""
    QUICK = "quick"
    """Minutes."""
    PAPER = "paper"
    """As published."""


class Outcome(StrEnum):
    """What a verdict says."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    """The confidence interval holds the limit, or the intervals of an ordering overlap."""
    REPORT = "report"
    """A value without a claim to judge."""
    NOT_JUDGED = "not judged at tiny"
    """A statistical statement, at a scale that is too small for statistics."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One statement, judged."""

    id: str
    """``H4.websearch30.p95.dctcp``: the experiment's id, then what the statement is about. Unique with ``variant``."""
    statement: str
    """The statement in words."""
    published: float | int | str | None
    """What was published; ``None`` when the source gives no number."""
    measured: float | int | str | None
    """What came out; of several seeds, the mean. ``None`` when the runs do not give it."""
    tolerance: str
    """The rule in words, as ``0.7 ± 10 %`` or ``≥ 1.45``."""
    verdict: Outcome
    variant: str = "default"
    """Which reading of an ambiguous setting the runs use."""
    seeds: tuple[int, ...] = ()
    interval: tuple[float, float] | None = None
    """95 % confidence interval of ``measured`` over the seeds."""
    open_end: str = ""
    """How much larger the value could be had all ended that was under way at the end; empty if hardly."""
    yes_no: bool = False
    """Tables show ``measured`` and ``tolerance`` as yes or no where they are 1 or 0; records keep the numbers."""

    @property
    def name(self) -> str:
        """Id and, unless it is the default one, variant: unique among all verdicts."""
        return self.id if self.variant == "default" else f"{self.id}@{self.variant}"

    @property
    def told(self) -> str:
        """The statement, with what is to be known of the value that these runs gave."""
        return f"{self.statement} ({self.open_end})" if self.open_end else self.statement


@dataclass(frozen=True)
class Drawing:
    """A figure with its file name and caption."""

    name: str
    """Name of the files, without ending."""
    figure: Figure
    caption: str


@dataclass(frozen=True)
class Shown:
    """What the page of an experiment shows beside its verdicts."""

    drawings: Iterable[Drawing] = ()
    """Drawn one at a time: an iterator keeps one figure in memory."""
    tables: Sequence[Table] = ()
    remarks: Sequence[str] = ()
    """Sentences a reader needs: variants used, what was tried, what is left out."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts written beside the page, by file name."""


def _nothing(_runs: Runs, _scale: Scale) -> Shown:
    return Shown()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published result, and how it is regenerated and judged."""

    id: str
    """As ``H1``."""
    title: str
    statement: str
    """The published statement in own words."""
    source: str
    """Paper, page or figure."""
    explained_in: str = ""
    """The page of the documentation that says what is unknown of the set-up and why a claim fails."""
    plan: Callable[[Scale], Sequence[Point]]
    """The points of a scale; the same list at every call."""
    judge: Callable[[Runs, Scale], Sequence[Verdict]]
    """The verdicts, from the runs of this experiment's points; the same ids at every scale."""
    show: Callable[[Runs, Scale], Shown] = _nothing
    """Figures with the published curves, and further tables."""
