"""Message-passing programs in the 24 cells: runs, what is measured of them, a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from paceline.analysis import F8
from paceline.experiments.cee.setup import FRAMING, KNOB_TITLES, SCHEMES, XON, host, run_title, stack, switch
from paceline.experiments.cee.study import seeds
from paceline.reproduce.claims import Place, Values, at
from paceline.reproduce.model import Scale
from paceline.results import Results
from paceline.scenario import Bt, Cg, Ft, Is, Mg, Records, Routing, Scenario, Series, Wrf, Xgft
from paceline.scenario import Run as RunSettings
from paceline.sweeps.points import KeyValue, Point, Run, Runs
from paceline.tables import Cell, Table, format_number

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
ROUND_TRIP_US: Final = 75


def point(
    program: str,
    cell: str,
    scheme: str,
    pfc: int,
    scale: Scale,
    seed: int,
    knob: str = "study",
    *,
    watched: bool = False,
) -> Point:
    """One run; ``watched`` samples the queues in front of all hosts."""
    children, parents = _TREE[scale]
    hosts = math.prod(children)
    ports = [f"{hosts + h // children[0]}:{h % children[0]}" for h in range(hosts)] if watched else []
    run = Scenario(
        name=f"scientific-{program}-{cell}-{scheme}-pfc{pfc}-{knob}",
        topology=Xgft(children=children, parents=parents, rates=["10Gbps"], delays=["0s"]),
        framing=FRAMING,
        routing=Routing(choice="d_mod_k"),
        switch=switch(cell, pfc=bool(pfc)),
        host=host(cell, stack(cell, knob)),
        run=RunSettings(stop="100s", stall="10s"),
        records=Records(
            queues="port", series=Series(interval=f"{_SAMPLE_US}us", samples=_SAMPLES, busiest=0, ports=ports)
        ),
        schemes={"tcp": SCHEMES[scheme]},
        # Over TCP a send is over before its message has arrived, when a socket has taken its last byte.
        workloads=[replace((_WATCHED if watched else PROGRAMS)[scale][program], sends_end="arrival")],
    )
    key: dict[str, KeyValue] = {"program": program, "cell": cell, "scheme": scheme, "pfc": pfc, "knob": knob}
    return Point(scenario=run, key={**key, "watched": int(watched)}, seed=seed)


def watched(scale: Scale) -> Sequence[Point]:
    """All programs under NewReno without marking, with and without PFC, and the queues in front of all hosts."""
    return [
        point(program, "base", "new_reno", pfc, scale, seed, watched=True)
        for program in _WATCHED[scale]
        for pfc in (0, 1)
        for seed in seeds(scale)
    ]


def points(
    cells: Sequence[str], schemes: Sequence[str], pfcs: Sequence[int], scale: Scale, knob: str = "study"
) -> Sequence[Point]:
    """All programs in these cells."""
    return [
        point(program, cell, scheme, pfc, scale, seed, knob)
        for program in PROGRAMS[scale]
        for cell in cells
        for scheme in schemes
        for pfc in pfcs
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
        found |= _spread(results)
    return found


def _spread(results: Results) -> dict[str, float]:
    """Share of the hosts in front of which XON or more ever waited, and for how long some port had more, ms."""
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


def longest(times: F8, gap: float) -> float:
    """Length of the longest stretch of instants that are no more than ``gap`` apart."""
    found, start = 0.0, 0
    for i in range(1, len(times) + 1):
        if i == len(times) or times[i] - times[i - 1] > gap:
            found, start = max(found, float(times[i - 1] - times[start])), i
    return found


_SEEN: Final = "watched "


def watched_programs(values: Values) -> Sequence[str]:
    """Programs whose ports were watched."""
    names = dict.fromkeys(str(place[0]) for place in values)
    return [name.removeprefix(_SEEN) for name in names if name.startswith(_SEEN)]


def spread_of(values: Values, program: str, pfc: float) -> Mapping[str, float]:
    """What was seen at the ports while a program ran: see :func:`_spread`; empty where it was not watched."""
    at = (f"{_SEEN}{program}", "base", "new_reno", pfc)
    return {str(place[-1]): value for place, value in values.items() if place[:-1] == at}


def measure(runs: Runs) -> Values:
    """By program, cell, scheme and PFC, and knob where it is not the study's: means over seeds.

    As program ``all`` the geometric mean of the programs' slowdowns, the worst one, and the sums of what is counted.
    """
    found: dict[Place, float] = {}
    groups: dict[Place, dict[str, list[dict[str, float]]]] = {}
    for run in runs:
        key = run.point.key
        more = () if key["knob"] == "study" else (str(key["knob"]),)
        place: Place = (str(key["cell"]), str(key["scheme"]), float(key["pfc"]), *more)
        program = f"{_SEEN}{key['program']}" if key["watched"] else str(key["program"])
        groups.setdefault(place, {}).setdefault(program, []).append(_one(run))
    for place, programs in groups.items():
        means = {}
        for program, parts in programs.items():
            means[program] = {what: float(np.mean([p[what] for p in parts])) for what in parts[0]}
            found |= {(program, *place, what): value for what, value in means[program].items()}
        known = [m for program, m in means.items() if not program.startswith(_SEEN)]
        if not known:
            continue
        slow = np.array([m["slowdown"] for m in known])
        found[("all", *place, "slowdown")] = float(np.exp(np.log(slow).mean()))
        found[("all", *place, "worst")] = float(slow.max())
        for what in ("drops", "timeouts", "pauses", "notifications"):
            found[("all", *place, what)] = sum(m[what] for m in known)
    return found


def _run_name(place: Place) -> str:
    cell, scheme, pfc, *more = place
    return run_title(cell, scheme, pfc) + (f", {KNOB_TITLES[str(more[0])]}" if more else "")


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
        "longest_ms": "Longest stretch, ms",
        "congested_ms": "Time in all, ms",
    }
    rows = []
    for seen, *place in dict.fromkeys(key[:-1] for key in values):
        found = (at(values, seen, *place, what) for what in parts)
        name = f"{program_title(str(seen).removeprefix(_SEEN))}: {_run_name(tuple(place))}"
        rows.append((Cell(name), *(Cell(format_number(value)) for value in found)))
    caption = "Share of the hosts whose port ever held over 80 KB, and when any did; means over seeds"
    return Table(caption, ("Run", *parts.values()), rows)


def table(values: Values) -> Table:
    """Slowdown by program and cell."""
    programs = [p for p in dict.fromkeys(str(key[0]) for key in values) if p != "all"]
    rows = []
    for place in dict.fromkeys(key[1:-1] for key in values):
        cells = [at(values, p, *place, "slowdown") for p in (*programs, "all")]
        cells += [at(values, "all", *place, what) for what in ("drops", "timeouts")]
        rows.append((Cell(_run_name(place)), *(Cell(format_number(v)) for v in cells)))
    head = ("Run", *(p.upper() for p in programs), "Geometric mean", "Drops", "Timeouts")
    return Table("Slowdown over the ideal network, and what is counted in all programs; means over seeds", head, rows)


REMARKS: Final = [
    "One rank a host in an XGFT with full bisection and D-mod-k routes: 64 hosts at quick scale, 256 at paper scale. "
    "NAS programs of class A (paper: B and C) with few iterations, 1 Gop/s a rank; a halo exchange like WRF's.",
    "Slowdown: runtime over the least on any network with the same links of hosts (docs/mpi.md), computing included.",
]
