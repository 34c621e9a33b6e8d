"""Draws H1 at 30 % load from runs of paper scale, 100 ms of arrivals, of the first of its seeds.

All of H1 takes hours there, this some minutes of CPU. Runs are kept in results/cache, as those of
`paceline reproduce`, which takes them from there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from paceline import plot
from paceline.experiments.hpcc_page import figures
from paceline.experiments.hpcc_page.curves import MAIN
from paceline.experiments.hpcc_page.judging import drawn_curves
from paceline.experiments.hpcc_page.setup import points
from paceline.reproduce.model import Scale
from paceline.sweeps.runner import sweep

SCALE = Scale.PAPER


def main() -> None:
    """Makes the runs that are missing and writes a picture for each percentile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/pictures/h1-paper"), metavar="DIR")
    parser.add_argument("--cache", type=Path, default=Path("results/cache"), metavar="DIR")
    options = parser.parse_args()
    planned = points(SCALE, MAIN, workloads=["websearch"], loads=[30])
    first = [point for point in planned if point.seed == min(p.seed or 0 for p in planned)]
    runs = sweep(first, cache=options.cache, title="H1 at paper scale, 30 %")
    drawn = figures.slowdown("H1", drawn_curves(runs, SCALE), MAIN, "websearch", [30], SCALE)
    for drawing in drawn:
        plot.save(drawing.figure, options.out, drawing.name)


if __name__ == "__main__":
    main()
