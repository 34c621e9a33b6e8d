"""The ports of a scenario's network, by node and number: what ``records.series.ports`` and ``queues.csv`` call them."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paceline.results import Columns
from paceline.run import check, simulate
from paceline.tables import Cell, Table, format_rate, format_time


@dataclass(frozen=True)
class Port:
    """One end of a link."""

    port: str
    """As settings name it: ``node:port``."""
    node: int
    name: str
    """Of the node, as ``failures.link`` and ``load.of`` take it; its number where it has no name."""
    peer: int
    peer_name: str
    tier: str
    """Kind of link direction."""
    rate_bps: int
    delay_ps: int


def ports_of(scenario: Path, overrides: Sequence[str] = ()) -> list[Port]:
    """The ports, by node and number.

    From the engine itself: the scenario is run for a picosecond, and its table of links read. Raises InputError for a
    scenario that is wrong.
    """
    topology = tomllib.loads(check(scenario, overrides)["resolved"])["topology"]
    brief = ["run.stop=1ps", "failures=[]", "records.links=true"]
    with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
        links = simulate(scenario, folder, overrides=[*overrides, *brief], progress="none").links
        names = _names(topology, links)
        columns = [links[c].tolist() for c in ("node", "port", "peer", "tier", "rate_bps", "delay_ps")]
    return [
        Port(f"{node}:{port}", node, names.get(node, str(node)), peer, names.get(peer, str(peer)), tier, rate, delay)
        for node, port, peer, tier, rate, delay in zip(*columns, strict=True)
    ]


def _names(topology: dict[str, object], links: Columns) -> dict[int, str]:
    """Names of the nodes: those of a graph, else the tier and the number in it."""
    if topology["kind"] == "graph":
        hosts, switches = topology["hosts"], topology["switches"]
        assert isinstance(hosts, list)
        assert isinstance(switches, list)
        return dict(enumerate([*hosts, *switches]))
    tier = {int(n): str(t).partition("->")[0] for n, t in zip(links["node"], links["tier"], strict=True)}
    found: dict[int, str] = {}
    for name in set(tier.values()):
        own = np.sort([n for n, t in tier.items() if t == name])
        found |= {int(n): f"{name}{i}" for i, n in enumerate(own)}
    return found


def port_table(ports: Sequence[Port]) -> Table:
    """The ports for people."""
    rows = [
        tuple(map(Cell, (p.port, p.name, f"{p.peer} {p.peer_name}", format_rate(p.rate_bps), format_time(p.delay_ps))))
        for p in ports
    ]
    return Table("Ports, by node:port", ("Port", "Node", "Peer", "Rate", "Delay"), rows)
