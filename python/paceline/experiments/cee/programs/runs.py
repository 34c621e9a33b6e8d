"""Message-passing programs in the 24 cells: runs, what is measured of them, a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from paceline.experiments.cee.cases import Case, grouped, means
from paceline.experiments.cee.measures import longest
from paceline.experiments.cee.setup import (
    FRAMING,
    KNOB_TITLES,
    SCHEMES,
    XON,
    both_readings,
    cells_remarks,
    host,
    run_title,
    stack,
    switch,
)
from paceline.experiments.cee.study import seeds
from paceline.reproduce.claims import Place, Values, at
from paceline.reproduce.model import Scale
from paceline.results import Results
from paceline.scenario import Bt, Cg, Ft, Is, Mg, Records, Routing, Scenario, Series, Wrf, Xgft
from paceline.scenario import Run as RunSettings
from paceline.sweeps.points import KeyValue, Point, Run, Runs
from paceline.tables import Table, number_rows

PROGRAMS: Final[Mapping[Scale, Mapping[str, Any]]] = {
    Scale.TINY: {"cg": Cg(problem_class="S", iterations=1)},
    Scale.QUICK: {
        "bt": Bt(problem_class="A", iterations=3),
        "cg": Cg(problem_class="A", iterations=1),
        "ft": Ft(problem_class="A", iterations=3),
        "is": Is(problem_class="A", iterations=3),
        "mg": Mg(problem_class="A", iterations=2),
        "wrf": Wrf(iterations=1, compute="10ms"),
    },
    Scale.PAPER: {
        "bt": Bt(problem_class="C", iterations=5),
        "cg": Cg(problem_class="C", iterations=3),
        "ft": Ft(problem_class="B", iterations=5),
        "is": Is(problem_class="C", iterations=5),
        "mg": Mg(problem_class="C", iterations=5),
        "wrf": Wrf(iterations=5),
    },
}
"""NAS programs, one rank a host, few of their iterations; and a halo exchange like WRF's."""

LARGER: Final = "ft_larger"
_WATCHED: Final[Mapping[Scale, Mapping[str, Any]]] = {
    Scale.TINY: {
        **PROGRAMS[Scale.TINY],
        "ft": Ft(problem_class="S", iterations=1),
        LARGER: Ft(problem_class="W", iterations=1, alltoall="posted"),
    },
    Scale.QUICK: {**PROGRAMS[Scale.QUICK], LARGER: Ft(problem_class="B", iterations=3, alltoall="posted")},
    Scale.PAPER: {**PROGRAMS[Scale.PAPER], LARGER: Ft(problem_class="C", iterations=5, alltoall="posted")},
}
"""Programs whose ports are watched: those, and FT of the next larger class, all messages of its transpose at once."""

_TREE: Final = {Scale.TINY: ((4, 4), (1, 4)), Scale.QUICK: ((8, 8), (1, 8)), Scale.PAPER: ((16, 16), (1, 16))}
"""Children and parents: 16, 64 and 256 hosts, nothing oversubscribed."""

_SAMPLE_US: Final = 50
_SAMPLES: Final = 40_000
"""Two seconds; where a run lasts longer the interval doubles."""

ALL: Final = "all"
"""In place of a program: what all of them together say."""

_SEEN: Final = "watched "
"""Before the name of a program whose ports were watched, in places of values."""


@dataclass(frozen=True)
class ProgramCase(Case):
    """A message-passing program; with ``ALL`` it is not one run but those of all programs."""

    cell: str
    scheme: str
    pfc: bool = False
    knob: str = "study"
    """Settings of the host's TCP, by their name in ``setup.KNOBS``."""
    program: str = ALL
    watched: bool = False
    """The queues in front of all hosts are sampled."""

    @property
    def key(self) -> dict[str, KeyValue]:
        """What the points of the case have as key: the program first."""
        return {"program": self.program, **super().key}

    @property
    def together(self) -> ProgramCase:
        """All programs in its place."""
        return replace(self, program=ALL, watched=False)

    def place(self, what: str) -> Place:
        """Where a measured value lies; the knob is a part of it where it is not the study's."""
        program = f"{_SEEN}{self.program}" if self.watched else self.program
        knob = (self.knob,) if self.knob != "study" else ()
        return (program, self.cell, self.scheme, float(self.pfc), *knob, what)

    @property
    def title(self) -> str:
        """What tables call it, but for the program."""
        knob = (KNOB_TITLES[self.knob],) if self.knob != "study" else ()
        return ", ".join((run_title(self.cell, self.scheme, self.pfc), *knob))


def point(case: ProgramCase, scale: Scale, seed: int) -> Point:
    """One run."""
    children, parents = _TREE[scale]
    hosts = math.prod(children)
    ports = [f"{hosts + h // children[0]}:{h % children[0]}" for h in range(hosts)] if case.watched else []
    program = (_WATCHED if case.watched else PROGRAMS)[scale][case.program]
    run = Scenario(
        name=f"scientific-{case.program}-{case.cell}-{case.scheme}-pfc{case.pfc:d}-{case.knob}",
        topology=Xgft(children=children, parents=parents, rates=["10Gbps"], delays=["0s"]),
        framing=FRAMING,
        routing=Routing(choice="d_mod_k"),
        switch=switch(case.cell, pfc=case.pfc),
        host=host(case.cell, stack(case.cell, case.knob)),
        run=RunSettings(stop="100s", stall="10s"),
        records=Records(
            queues="port", series=Series(interval=f"{_SAMPLE_US}us", samples=_SAMPLES, busiest=0, ports=ports)
        ),
        schemes={"tcp": SCHEMES[case.scheme]},
        # Over TCP a send is over before its message has arrived, when a socket has taken its last byte.
        workloads=[replace(program, sends_end="arrival")],
    )
    return Point(scenario=run, key=case.key, seed=seed)


def at_ports(program: str, *, pfc: bool, cell: str = "base") -> ProgramCase:
    """A program under NewReno, and the queues in front of all hosts."""
    return ProgramCase(cell, "new_reno", pfc, program=program, watched=True)


MITIGATED: Final = tuple((program, cell) for program in ("ft", LARGER) for cell in both_readings(("qcn20",)))
"""Programs that are watched under QCN 20, too, without PFC."""


def watched(scale: Scale) -> Sequence[Point]:
    """All programs whose ports are watched, with and without PFC, and those watched under QCN 20."""
    cases = [at_ports(program, pfc=pfc) for program in _WATCHED[scale] for pfc in (False, True)]
    cases += [at_ports(program, pfc=False, cell=cell) for program, cell in MITIGATED]
    return [point(case, scale, seed) for case in cases for seed in seeds(scale)]


def points(cases: Sequence[ProgramCase], scale: Scale) -> Sequence[Point]:
    """All programs in these cases."""
    return [
        point(replace(case, program=program), scale, seed)
        for program in PROGRAMS[scale]
        for case in cases
        for seed in seeds(scale)
    ]


def _one(run: Run) -> dict[str, float]:
    results = Results.load(run.folder)
    c, mpi = results.summary["counters"], results.summary["mpi"][0]
    slowdown = mpi["slowdown"]
    found = {
        "slowdown": math.nan if slowdown is None else float(slowdown),
        "drops": float(c["drops_buffer"]),
        "timeouts": float(c["timeouts"]),
        "pauses": float(c["pause_frames"]),
        "notifications": float(c["notifications"]),
    }
    if run.point.key["watched"]:
        found |= _spread(run.folder)
    return found


def _spread(folder: Path) -> dict[str, float]:
    """Share of the hosts in front of which XON or more ever waited, and for how long some port had more, ms."""
    # Kept, as verdicts and page ask for it: at scale paper a series has millions of rows.
    results = Results.load(folder)
    queues, series = results.queues, results.series
    hosts = int(results.summary["hosts"])
    high = (queues["bin_low_bytes"] >= XON) & (queues["tier"] == "tor->host")
    sampled = series["kind"] == "queue_bytes"
    times, values = series["time_ps"][sampled] / 1e9, series["value"][sampled]
    congested = np.unique(times[values > XON])
    every_ms = float(results.summary["series_interval_ps"]) / 1e9
    return {
        "involved": len(np.unique(queues["peer"][high])) / hosts,
        "longest_ms": longest(congested, 1.5 * every_ms),
        "congested_ms": len(congested) * every_ms,
    }


def watched_programs(values: Values) -> Sequence[str]:
    """Programs whose ports were watched."""
    names = dict.fromkeys(str(place[0]) for place in values)
    return [name.removeprefix(_SEEN) for name in names if name.startswith(_SEEN)]


def by_case(runs: Runs) -> dict[ProgramCase, dict[ProgramCase, list[Run]]]:
    """The runs of each program, one for a seed, by the case of all programs together."""
    found: dict[ProgramCase, dict[ProgramCase, list[Run]]] = {}
    for case, of in grouped(runs, ProgramCase.of).items():
        found.setdefault(case.together, {})[case] = of
    return found


def measure(runs: Runs) -> Values:
    """Means over seeds, at the places of the cases.

    Of all programs together the geometric mean of their slowdowns, the worst one, and the sums of what is counted.
    """
    found: dict[Place, float] = {}
    for together, cases in by_case(runs).items():
        known = []
        for case, of in cases.items():
            own = means(of, _one)
            found |= {case.place(what): value for what, value in own.items()}
            known += [] if case.watched else [own]
        if not known:
            continue
        slow = np.array([m["slowdown"] for m in known])
        found[together.place("slowdown")] = float(np.exp(np.log(slow).mean()))
        found[together.place("worst")] = float(slow.max())
        for what in ("drops", "timeouts", "pauses", "notifications"):
            found[together.place(what)] = sum(m[what] for m in known)
    return found


def program_title(program: str) -> str:
    """What tables and statements call a program."""
    return "FT, larger class" if program == LARGER else program.upper()


def watched_table(values: Values) -> Table:
    """What programs do whose ports are watched."""
    parts = {
        "slowdown": "Slowdown",
        "drops": "Drops",
        "timeouts": "Timeouts",
        "involved": "Hosts behind over 80 KB",
        "longest_ms": "Longest stretch (ms)",
        "congested_ms": "Time in all (ms)",
    }
    rows = {}
    cases = [at_ports(program, pfc=pfc) for pfc in (False, True) for program in watched_programs(values)]
    for case in (*cases, *(at_ports(program, pfc=False, cell=cell) for program, cell in MITIGATED)):
        rows[f"{program_title(case.program)}: {case.title}"] = [at(values, *case.place(what)) for what in parts]
    caption = "Share of the hosts whose port ever held over 80 KB, and when any did; means over seeds"
    return Table(caption, ("Run", *parts.values()), number_rows(rows))


def table(values: Values, cases: Mapping[ProgramCase, Collection[ProgramCase]]) -> Table:
    """Slowdown by program, and of all together in the cases given, with those of the programs."""
    programs = list(dict.fromkeys(case.program for each in cases.values() for case in each))
    rows = {}
    for together in cases:
        slow = [at(values, *replace(together, program=program).place("slowdown")) for program in (*programs, ALL)]
        counts = [at(values, *together.place(what)) for what in ("drops", "timeouts")]
        rows[together.title] = [*slow, *counts]
    head = ("Run", *(p.upper() for p in programs), "Geometric mean", "Drops", "Timeouts")
    caption = "Slowdown over the ideal network, and what is counted in all programs; means over seeds"
    return Table(caption, head, number_rows(rows))


def remarks(cases: Mapping[ProgramCase, Collection[ProgramCase]]) -> list[str]:
    """What to know of the runs on a page, given as those of :func:`by_case`."""
    return [
        *setup_remarks({case.program for each in cases.values() for case in each}),
        *cells_remarks({case.cell for case in cases}, pfc=any(case.pfc for case in cases)),
    ]


def setup_remarks(programs: Collection[str]) -> list[str]:
    """What to know of how these programs run."""
    halo = "; a halo exchange like WRF's" if "wrf" in programs else ""
    return [
        "One rank a host in an XGFT with full bisection and D-mod-k routes: 64 hosts at quick scale, 256 at paper "
        f"scale. NAS programs of class A (paper: B and C) with few iterations, 1 Gop/s a rank{halo}.",
        "Slowdown: runtime over the least on any network with the same links of hosts (docs/mpi.md), computing "
        "included.",
    ]
