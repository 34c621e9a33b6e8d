"""The recorded verdicts, ``verdicts.csv``: what the scoreboard said last, so that a change of it is seen.

Runs are deterministic: verdicts and measured values, as printed, are compared exactly.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from paceline import _native, files
from paceline.errors import cut
from paceline.files import read_input
from paceline.reproduce.judge import shown
from paceline.reproduce.model import Outcome, Scale, Verdict

MOST_BYTES = 4 << 20
COLUMNS = ("id", "scale", "verdict", "measured")


def default_path() -> Path:
    """The recorded verdicts of this build of Paceline."""
    return Path(str(resources.files("paceline.experiments").joinpath("verdicts.csv")))


@dataclass(frozen=True)
class Row:
    """One recorded verdict; ``id`` is :attr:`Verdict.name`."""

    id: str
    scale: str
    verdict: str
    measured: str

    @classmethod
    def of(cls, verdict: Verdict, scale: Scale) -> Row:
        """What is recorded of a verdict."""
        return cls(verdict.name, scale.value, verdict.verdict.value, shown(verdict.measured))

    @property
    def experiment(self) -> str:
        """Id of the experiment."""
        return self.id.partition(".")[0]


def read(path: Path) -> list[Row]:
    """Reads recorded verdicts; none when there is no such file. InputError when it is something else."""
    if not path.exists():
        return []
    text = read_input(path, "recorded verdicts", most=MOST_BYTES)
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    found: dict[tuple[str, str], Row] = {}
    try:
        if tuple(next(lines, ())) != COLUMNS:
            raise _native.input_error("not a file of verdicts", file=str(path), line=1, allowed=",".join(COLUMNS))
        for line in lines:
            problem = "not a verdict"
            if len(line) == 4 and line[1] in tuple(Scale) and line[2] in tuple(Outcome):
                row = Row(*line)
                if found.setdefault((row.id, row.scale), row) is row:
                    continue
                problem = "there twice"
            allowed = f"four cells, an id once for each scale; scale: {', '.join(Scale)}; verdict: {', '.join(Outcome)}"
            value = cut(",".join(line))
            raise _native.input_error(problem, file=str(path), line=lines.line_num, value=value, allowed=allowed)
    except csv.Error as error:
        problem = f"not CSV: {error}"
        raise _native.input_error(problem, file=str(path), line=lines.line_num, allowed=",".join(COLUMNS)) from None
    return list(found.values())


def at_larger_scale(recorded: Sequence[Row], scale: Scale) -> dict[str, Row]:
    """By id what is on record of the largest scale beyond this one: what runs said that nobody wants to wait for."""
    scales = list(Scale)
    beyond = scales[scales.index(scale) + 1 :]
    return {row.id: row for larger in beyond for row in recorded if row.scale == larger}


def differences(recorded: Sequence[Row], found: Sequence[Row], experiments: Sequence[str], scale: Scale) -> list[str]:
    """What differs between the recorded verdicts of these experiments at this scale and those found, in words."""
    before = {row.id: row for row in recorded if row.scale == scale and row.experiment in experiments}
    said = []
    for row in found:
        old = before.pop(row.id, None)
        now = f"{row.verdict}, measured {row.measured}"
        if old is None:
            said.append(f"{row.id}: not on record; now {now}")
        elif old != row:
            said.append(f"{row.id}: on record {old.verdict}, measured {old.measured}; now {now}")
    return said + [f"{name}: on record {old.verdict}; now there is no such verdict" for name, old in before.items()]


def update(path: Path, found: Sequence[Row], experiments: Sequence[str], scale: Scale, order: Sequence[str]) -> None:
    """Writes the file anew with the verdicts found, those of other experiments and scales kept.

    These are read now, not when the runs began: in the hours since, another command may have written some.
    ``order`` is that of the experiments; verdicts keep the order their experiment gives them.
    """
    kept = [row for row in read(path) if row.scale != scale or row.experiment not in experiments]
    place = {name: i for i, name in enumerate(order)}
    scales = list(Scale)
    rows = sorted(
        [*kept, *found],
        key=lambda row: (place.get(row.experiment, len(place)), row.experiment, scales.index(Scale(row.scale))),
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((row.id, row.scale, row.verdict, row.measured) for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, text.getvalue())
