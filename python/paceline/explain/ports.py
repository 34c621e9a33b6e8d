"""The ports of a scenario's network, by node and number: what ``records.series.ports`` and ``queues.csv`` call them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline.formats import format_rate, format_time
from paceline.run import simulate
from paceline.tables import Cell, Table


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
    # So short a run may be one to warn of, which the scenario is not.
    brief = ["run.stop=1ps", "failures=[]", "records.links=true", "run.strict=false"]
    with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
        results = simulate(scenario, folder, overrides=[*overrides, *brief], progress="none")
        links, names = results.links, results.node_names
        columns = [links[c].tolist() for c in ("node", "port", "peer", "tier", "rate_bps", "delay_ps")]
    return [
        Port(f"{node}:{port}", node, names.get(node, str(node)), peer, names.get(peer, str(peer)), tier, rate, delay)
        for node, port, peer, tier, rate, delay in zip(*columns, strict=True)
    ]


def port_table(ports: Sequence[Port]) -> Table:
    """The ports for people."""
    rows = [
        tuple(map(Cell, (p.port, p.name, f"{p.peer} {p.peer_name}", format_rate(p.rate_bps), format_time(p.delay_ps))))
        for p in ports
    ]
    return Table("Ports, by node:port", ("Port", "Node", "Peer", "Rate", "Delay"), rows)
