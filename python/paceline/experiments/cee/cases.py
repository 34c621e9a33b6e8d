"""Cases, what tells the runs of the study from one another, and means over their seeds.

Each kind of traffic has a class of its own, beside its runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar, get_type_hints

import numpy as np

from paceline.reproduce.claims import Place
from paceline.sweeps.points import KeyValue, Point, Run


@dataclass(frozen=True)
class Case(ABC):
    """What tells a run from the others, its seed aside; also the runs that only differ in their seeds."""

    @classmethod
    def of(cls, point: Point) -> Self:
        """The case of which a point is a run."""
        kinds = get_type_hints(cls)
        key: dict[str, Any] = {field.name: point.key[field.name] for field in fields(cls) if field.init}
        return cls(**{name: bool(value) if kinds[name] is bool else value for name, value in key.items()})

    @property
    def key(self) -> dict[str, KeyValue]:
        """What the points of the case have as key: its fields, truths as 0 and 1."""
        return {name: int(value) if isinstance(value, bool) else value for name, value in asdict(self).items()}

    @abstractmethod
    def place(self, what: str) -> Place:
        """Where a measured value lies."""


AnyCase = TypeVar("AnyCase", bound=Case)


def grouped(runs: Iterable[Run], case: Callable[[Point], AnyCase]) -> dict[AnyCase, list[Run]]:
    """The runs of each case, one for a seed."""
    found: dict[AnyCase, list[Run]] = {}
    for run in runs:
        found.setdefault(case(run.point), []).append(run)
    return found


@dataclass(frozen=True)
class _Read:
    """A run by its folder and what tells it from other points."""

    folder: Path
    key: tuple[tuple[str, KeyValue], ...]
    run: Run = field(compare=False)


@lru_cache(maxsize=4096)
def _measured(one: Callable[[Run], Mapping[str, float]], of: _Read) -> Mapping[str, float]:
    """What is measured of a run: intervals leave out one seed after the other, and results share runs."""
    return one(of.run)


def means(runs: Iterable[Run], one: Callable[[Run], Mapping[str, float]]) -> dict[str, float]:
    """What is measured of the runs of a case, ``one`` by one: means over the seeds."""
    parts = [_measured(one, _Read(run.folder, tuple(run.point.key.items()), run)) for run in runs]
    return {what: float(np.mean([part[what] for part in parts])) for what in parts[0]}
