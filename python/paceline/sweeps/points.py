"""Points, each a scenario with a seed and what tells it from the others, and their runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.words import many

if TYPE_CHECKING:
    from paceline.results import Results
    from paceline.scenario import Scenario

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
    """What errors call those of the overrides that were not given as such: the argument and value that they are of."""

    @property
    def label(self) -> str:
        """The key in one line, with the seed."""
        return ", ".join([*(f"{name}={value}" for name, value in self.key.items()), f"seed={self.seed}"])


def over_seeds(scenario: Scenario, key: Mapping[str, KeyValue], seeds: int) -> list[Point]:
    """The points of one scenario and key with seeds from 1 to ``seeds``."""
    return [Point(scenario=scenario, key=key, seed=seed) for seed in range(1, seeds + 1)]


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
        """The runs whose key has all of these values; ``seed`` may be among them.

        Raises ``KeyError`` for a name that no run's key has, unless it is asked for as absent (``None``).
        """
        known = {name for r in self.runs for name in r.point.key} | {"seed"}
        unknown = [name for name, value in key.items() if name not in known and value is not None]
        if unknown and self.runs:
            raise KeyError(f"no run has {', '.join(unknown)}; they have {', '.join(sorted(known))}")
        return Runs(tuple(r for r in self.runs if all(_value(r.point, k) == v for k, v in key.items())))

    def having(self, name: str) -> Runs:
        """The runs whose key has a part of this name, whatever its value."""
        return Runs(tuple(r for r in self.runs if name in r.point.key))

    def lacking(self, name: str) -> Runs:
        """The runs whose key has no part of this name."""
        return Runs(tuple(r for r in self.runs if name not in r.point.key))

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

    def one(self, **key: KeyValue) -> Run:
        """The only run with this key; ``KeyError`` when there is none, or there are several."""
        found = self.where(**key).runs
        if len(found) != 1:
            raise KeyError(f"{len(found)} runs have {key}; wanted one")
        return found[0]


def _value(point: Point, name: str) -> KeyValue | None:
    return point.seed if name == "seed" else point.key.get(name)
