"""What an experiment is: points to run, verdicts to reach, figures and tables to show.

An experiment is a value with three functions. ``plan`` names the points of a scale, ``judge`` turns their results into
verdicts, ``show`` draws them. None of them runs anything: the sweep does, and points that several experiments share
run once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.words import many

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from paceline.results import Results
    from paceline.scenario import Scenario
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


KeyValue = str | int | float


@dataclass(frozen=True, kw_only=True)
class Point:
    """One run of a sweep: a scenario, a seed, and what tells it from the other points.

    Points with the same resolved scenario and seed are one run, whatever their keys.
    """

    scenario: Scenario | Path | str
    """A :class:`paceline.Scenario`, the path of a TOML file, or TOML text."""
    key: Mapping[str, KeyValue]
    """What the point stands for, as ``{"workload": "websearch", "load": 0.3, "scheme": "HPCC-INT"}``, seed aside."""
    seed: int = 1
    """Replaces the scenario's seed."""
    overrides: tuple[str, ...] = ()
    """``key=value`` texts as after ``--set``."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """What errors call those of the overrides that were not given as such: the option and value that were typed."""

    @property
    def label(self) -> str:
        """The key in one line, with the seed."""
        return ", ".join([*(f"{name}={value}" for name, value in self.key.items()), f"seed={self.seed}"])


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
    """The rule in words, as ``±10 %`` or ``≥ 1.45``."""
    verdict: Outcome
    variant: str = "default"
    """Which reading of an ambiguous setting the runs use."""
    seeds: tuple[int, ...] = ()
    interval: tuple[float, float] | None = None
    """95 % confidence interval of ``measured`` over the seeds."""
    yes_no: bool = False
    """Tables show ``measured`` and ``tolerance`` as yes or no where they are 1 or 0; records keep the numbers."""

    @property
    def name(self) -> str:
        """Id and, unless it is the default one, variant: unique among all verdicts."""
        return self.id if self.variant == "default" else f"{self.id}@{self.variant}"


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
    plan: Callable[[Scale], Sequence[Point]]
    """The points of a scale; the same list at every call."""
    judge: Callable[[Runs, Scale], Sequence[Verdict]]
    """The verdicts, from the runs of this experiment's points; the same ids at every scale."""
    show: Callable[[Runs, Scale], Shown] = _nothing
    """Figures with the published curves, and further tables."""


@dataclass(frozen=True)
class Run:
    """A point that has run, and the folder of its results."""

    point: Point
    folder: Path

    def results(self) -> Results:
        """Opens the results; nothing is kept, so that a sweep of any size can be gone through one by one."""
        from paceline.results import Results

        return Results.load(self.folder)


_SHOWN = 5
"""Values of a part of the keys that a short text of some runs shows."""


@dataclass(frozen=True, repr=False)
class Runs:
    """The runs of some points, in the order of the points."""

    runs: tuple[Run, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        names = dict.fromkeys(name for run in self.runs for name in (*run.point.key, "seed"))
        parts = [many(len(self.runs), "run")]
        for name in names:
            values = [str(value) for value in self.values(name)]
            more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
            parts.append(f"{name} {', '.join(values[:_SHOWN])}{more}")
        return f"<Runs: {'; '.join(parts)}>"

    def where(self, **key: KeyValue) -> Runs:
        """The runs whose key has all of these values; ``seed`` may be among them."""
        return Runs(tuple(r for r in self.runs if all(_value(r.point, k) == v for k, v in key.items())))

    def values(self, name: str) -> tuple[Any, ...]:
        """The values of a part of the keys, or of ``seed``, each once and in order of appearance."""
        return tuple(dict.fromkeys(v for r in self.runs if (v := _value(r.point, name)) is not None))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, each once."""
        return self.values("seed")

    def measure(self, quantity: Callable[[Results], float], **key: KeyValue) -> list[float]:
        """The quantity of every run with this key, in the order of the runs: one value per seed."""
        return [quantity(run.results()) for run in self.where(**key)]

    def tidy(self, group: str | None = None) -> list[dict[str, Any]]:
        """One row per run as in ``sweep.csv`` (docs/reproduce.md): ``pandas.DataFrame(runs.tidy())``.

        With ``group`` times are those of the flows and queries of one workload group; ``ValueError`` where a run has
        none of that name.
        """
        from paceline.reproduce.grid import tidy

        return tidy(self, group)

    def one(self, **key: KeyValue) -> Run:
        """The only run with this key; ``KeyError`` when there is none, or there are several."""
        found = self.where(**key).runs
        if len(found) != 1:
            raise KeyError(f"{len(found)} runs have {key}; wanted one")
        return found[0]


def _value(point: Point, name: str) -> KeyValue | None:
    return point.seed if name == "seed" else point.key.get(name)
