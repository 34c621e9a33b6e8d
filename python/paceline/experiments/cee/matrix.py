"""M1 to M3: all cells, for queries, queries beside UDP and message-passing programs, as heat maps.

The study has 24: three schemes, four kinds of switches, PFC on and off. Its QCN is shown in both readings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from paceline.experiments.cee.programs import runs as programs
from paceline.experiments.cee.queries import runs as queries
from paceline.experiments.cee.setup import ALL_CELLS, CELLS, SCHEMES, TITLES, both_readings, pfc_title, run_title, when
from paceline.experiments.cee.study import experiment, seeds
from paceline.plot import multiples
from paceline.reproduce.claims import Claim, Place, Values, at
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown
from paceline.sweeps.points import Point, Runs
from paceline.tables import Table, number_rows
from paceline.words import headed

_TCP: Final = tuple(SCHEMES)
_CELLS: Final = both_readings(tuple(CELLS))


@dataclass(frozen=True)
class Kind:
    """One of the three."""

    id: str
    title: str
    queries: bool
    udp: bool = False
    parts: tuple[tuple[str, str], ...] = ()
    """What is shown of a cell, and how it reads; the first two are recorded."""

    def place(self, cell: str, scheme: str, pfc: bool, what: str) -> Place:
        """Where a value of a cell lies."""
        if self.queries:
            return queries.QueryCase(cell, scheme, pfc, self.udp).place(what)
        return programs.ProgramCase(cell, scheme, pfc).place(what)

    def row(self, values: Values, cell: str, scheme: str, pfc: bool) -> list[float]:
        """What is shown of a cell."""
        return [at(values, *self.place(cell, scheme, pfc, what)) for what, _ in self.parts]

    def measure(self, runs: Runs) -> Values:
        """All of it."""
        return queries.measure(runs) if self.queries else programs.measure(runs)

    def plan(self, scale: Scale) -> Sequence[Point]:
        """The runs of E6 and others, of E10 and E11 and what is missing there, of E14."""
        schemes = _TCP[:1] if scale is Scale.TINY and (self.udp or not self.queries) else _TCP
        if not self.queries:
            return programs.points([programs.ProgramCase(*of) for of in _each(schemes)], scale)
        return [
            queries.point(queries.QueryCase(cell, scheme, pfc, self.udp), scale, seed)
            for cell, scheme, pfc in _each(schemes)
            for seed in (seeds(scale) if self.udp else seeds(scale, queries.SEEDS))
        ]

    def rule(self, values: Values) -> list[Claim]:
        """Nothing is claimed."""
        found = []
        for scheme, title in TITLES.items():
            for cell in _CELLS:
                for pfc in (False, True):
                    for what, text in self.parts[:2]:
                        statement = f"{title}, {ALL_CELLS[cell].title}, {when(pfc)}: {text}"
                        value = at(values, *self.place(cell, scheme, pfc, what))
                        found.append(Claim(f"{scheme}.{cell}.pfc{pfc:d}.{what}", statement, value))
        return found

    def table(self, values: Values) -> Table:
        """A row for each cell."""
        found = {}
        for scheme in TITLES:
            for cell in _CELLS:
                for pfc in (False, True):
                    got = self.row(values, cell, scheme, pfc)
                    if any(map(math.isfinite, got)):
                        found[run_title(cell, scheme, pfc)] = got
        rows = number_rows(found)
        head = ("Cell", *(headed(text) for _, text in self.parts))
        return Table(f"{self.title}; means over seeds{self._left_out(values)}", head, rows)

    def _ran(self, values: Values) -> list[str]:
        """The schemes of which there is any value; all of them where there is none at all."""
        ran = [
            scheme
            for scheme in TITLES
            if any(self.place(*of, what) in values for of in _each((scheme,)) for what, _ in self.parts)
        ]
        return ran or list(TITLES)

    def _left_out(self, values: Values) -> str:
        """What a caption says of schemes that were not run."""
        missing = [title for scheme, title in TITLES.items() if scheme not in self._ran(values)]
        return f"; {' and '.join(missing)} not run at this scale" if missing else ""

    def csv(self, values: Values) -> str:
        """The table for programs; a value that is not there is empty."""
        lines = [",".join(("scheme", "switch", "pfc", *(what for what, _ in self.parts)))]
        for scheme in TITLES:
            for cell in _CELLS:
                for pfc in (False, True):
                    got = self.row(values, cell, scheme, pfc)
                    numbers = [f"{v:.6g}" if math.isfinite(v) else "" for v in got]
                    lines.append(",".join((scheme, cell, f"{pfc:d}", *numbers)))
        return "\n".join(lines) + "\n"

    def drawings(self, values: Values) -> Iterator[Drawing]:
        """A map for each quantity: schemes and PFC across, what switches do down."""
        ran = self._ran(values)
        columns = [f"{TITLES[scheme]}\n{pfc_title(pfc)}" for scheme in ran for pfc in (False, True)]
        rows = [ALL_CELLS[cell].title for cell in _CELLS]
        maps = {
            headed(text): [
                [at(values, *self.place(cell, scheme, pfc, what)) for scheme in ran for pfc in (False, True)]
                for cell in _CELLS
            ]
            for what, text in self.parts
        }
        caption = (
            f"{self.title} in {len(columns) * len(rows)} cells, means over seeds, counts too{self._left_out(values)}. "
            "The stronger the colour the more: shades follow the "
            "logarithm, in each map from its least value to its largest, and cannot be compared between maps."
        )
        if not all(math.isfinite(value) for cells in maps.values() for row in cells for value in row):
            caption += " A dash where nothing was run."
        yield Drawing(f"{self.id}-cells", multiples.heat_maps(maps, rows, columns), caption)

    def show(self, runs: Runs, _scale: Scale) -> Shown:
        """Map and table."""
        values = self.measure(runs)
        remarks = queries.remarks(queries.by_case(runs)) if self.queries else programs.remarks(programs.by_case(runs))
        table = self.table(values)
        files = {f"{self.id}-cells.csv": self.csv(values), f"{self.id}-cells.md": table.markdown()}
        return Shown(self.drawings(values), [table], remarks, files)

    def experiment(self) -> Experiment:
        """As the catalogue has it."""
        return experiment(
            self.id,
            self.title,
            "No claim: NewReno, CUBIC and Vegas without marking, with ECN-RED, QCN 20 and QCN 66; PFC on and off. "
            "QCN with a limiter for each destination and with one for each adapter.",
            self.plan,
            measure=self.measure,
            rule=self.rule,
            show=self.show,
            # As the table and the map have it: of all seeds together.
            pooled=True,
        )


def _each(schemes: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """All cells with these schemes, with and without PFC."""
    return ((cell, scheme, pfc) for cell in _CELLS for scheme in schemes for pfc in (False, True))


_OF_QUERIES: Final = (
    ("qct_ms", "mean QCT (ms)"),
    ("qct_p99_ms", "p99 of the QCT (ms)"),
    ("drops", "packets dropped, mean of a run"),
    ("timeouts", "timeouts, mean of a run"),
)
KINDS: Final = (
    Kind("M1", "Queries and background flows", True, False, _OF_QUERIES),
    Kind(
        "M2",
        "Queries and background flows beside UDP",
        True,
        True,
        (*_OF_QUERIES, ("unanswered", "share of the queries that are not answered")),
    ),
    Kind(
        "M3",
        "Message-passing programs",
        False,
        False,
        (
            ("slowdown", "geometric mean of slowdowns"),
            ("worst", "slowdown of the slowest program"),
            ("drops", "packets dropped, all programs"),
            ("timeouts", "timeouts, all programs"),
        ),
    ),
)

EXPERIMENTS = tuple(kind.experiment() for kind in KINDS)
