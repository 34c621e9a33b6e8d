"""The CPU minutes that each result is expected to take at each scale, ``experiments/costs.csv``.

They follow from the scenarios alone (:func:`paceline.sweeps.runner.predicted_cpu_s`), some twenty thousand of them, for
which that takes half a minute: so the list has them from this file, which a test keeps in step.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from importlib import resources

from paceline.reproduce.model import Experiment, Scale
from paceline.sweeps.runner import predicted_cpu_s

COLUMNS = ("id", "scale", "cpu_minutes")


def recorded() -> dict[tuple[str, Scale], float]:
    """CPU minutes by id and scale."""
    text = resources.files("paceline.experiments").joinpath("costs.csv").read_text(encoding="utf-8")
    return {(row["id"], Scale(row["scale"])): float(row["cpu_minutes"]) for row in csv.DictReader(io.StringIO(text))}


def reckoned(experiments: Iterable[Experiment]) -> str:
    """The file as it should be, to three digits, from the scenarios of these experiments."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for experiment in experiments:
        for scale in Scale:
            minutes = predicted_cpu_s(experiment.plan(scale)) / 60
            lines.writerow((experiment.id, scale.value, f"{minutes:.3g}"))
    return text.getvalue()
