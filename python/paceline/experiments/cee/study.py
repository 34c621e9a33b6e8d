"""What the experiments of the study have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from paceline.reproduce.claims import Measure, Rule, verdicts
from paceline.reproduce.model import Experiment, Scale, Shown, Verdict
from paceline.sweeps.points import Point, Runs

SOURCE: Final = "Converged-Ethernet study, HotI 2011"

Plan = Callable[[Scale], Sequence[Point]]


def seeds(scale: Scale, most: int = 3) -> range:
    """Seeds of a statistical statement."""
    return range(1, (1 if scale is Scale.TINY else most) + 1)


def experiment(
    id_: str,
    title: str,
    statement: str,
    plan: Plan,
    *,
    measure: Measure,
    rule: Rule,
    show: Callable[[Runs, Scale], Shown],
    pooled: bool = False,
) -> Experiment:
    """An experiment whose verdicts are those of a rule on measured values; ``pooled`` as in :func:`verdicts`."""

    def judged(runs: Runs, scale: Scale) -> list[Verdict]:
        return verdicts(id_, measure, rule, runs, scale, pooled=pooled)

    return Experiment(id=id_, title=title, statement=statement, source=SOURCE, plan=plan, judge=judged, show=show)
