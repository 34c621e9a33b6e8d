"""A scenario and a flow table from htsim's files, with the settings of its NDP."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from paceline import _native
from paceline.files import check_new, replacing
from paceline.htsim.matrix import Connection, Matrix
from paceline.htsim.tree import read
from paceline.run import MOST_SCENARIO
from paceline.scenario import (
    Ecn,
    FatTree,
    Flows,
    Framing,
    Ndp,
    Pfc,
    Routing,
    Run,
    Scenario,
    Switch,
    Topology,
    Trimming,
)

HEADER_BYTES: Final = 64
"""What htsim adds to the payload of a packet, and the size of all others."""

SHORTEST_LINK: Final = 40
"""Bytes that a link of a topology file takes in a scenario, at least."""

LINKSPEED: Final = 100_000
"""Mbit/s."""

_RANGES: Final = {"mtu": (64, 9216), "cwnd": (1, 1_000_000), "queue": (1, 50_000), "linkspeed": (1, 10_000_000)}


@dataclass(frozen=True)
class Options:
    """The options of ``htsim_ndp`` that matter, by their names there."""

    mtu: int = 9000
    """Payload of a full packet, bytes."""
    cwnd: int = 30
    """First window, packets."""
    queue: int = 8
    """Payloads of full packets that a port holds, the packet being sent among them, before it trims: htsim's ``-q``."""
    linkspeed: int | None = None
    """Rate of all links, Mbit/s; 100,000 when left out. A topology file has its own."""

    def check(self, topology: Path | None) -> None:
        """Raises InputError for a number out of range, and for one without effect."""
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                allowed = f"a whole number from {least} to {most}"
                raise _native.input_error("out of range", field=name, value=str(value), allowed=allowed)
        if topology is not None and self.linkspeed is not None:
            allowed = f"not together with ``topology``; {topology} has the rates"
            raise _native.input_error("has no effect", field="linkspeed", value=str(self.linkspeed), allowed=allowed)


@dataclass(frozen=True)
class Converted:
    """What was written."""

    scenario: Path
    flows: Path
    hosts: int
    connections: int


def convert(
    matrix: Path,
    topology: Path | None = None,
    out: Path | None = None,
    options: Options = Options(),
    *,
    force: bool = False,
) -> Converted:
    """Writes the scenario ``out`` (default: the matrix' name with ``.toml``, here) and its flow table beside it.

    Without ``topology`` the hosts are those of a fat tree with links of 1 us at the rate of ``options``, as in htsim.

    Raises InputError when a file is wrong, or one to be written is there.
    """
    options.check(topology)
    target = Path(f"{matrix.stem}.toml") if out is None else out
    table = target.with_name(f"{target.stem}-flows.csv")
    for path in (target, table):
        check_new(path, force=force, field="out", inputs=[given for given in (matrix, topology) if given])
    if _printable(target.name) != target.name:
        shown = _printable(target.name)
        raise _native.input_error("not a name", field="out", value=shown, allowed="printable characters")
    # The packets of a flow are numbered in 32 bits.
    connections = Matrix(matrix, most_bytes=(2**32 - 1) * options.mtu)
    net: Topology | None
    if topology is None:
        net, switch_delay = _standard(connections, options), "0s"
    else:
        tree = read(topology)
        if tree.hosts != connections.nodes:
            line = connections.nodes_line
            line.refuse(
                "not the number of the topology", "Nodes", str(connections.nodes), f"{tree.hosts}, as {topology}"
            )
        net, switch_delay = tree.regular(), f"{tree.switch_delay_ns}ns"
        if net is None:
            # Before they are made: a few lines of a file may ask for a million links.
            if tree.links * SHORTEST_LINK > MOST_SCENARIO:
                _too_long(connections)
            net = tree.graph()
    # Both are there before one is put in place; an error names what was asked for.
    with replacing(target) as draft, replacing(table) as part:
        count = _write_flows(part, connections)
        text = scenario(target.stem, net, switch_delay, table.name, options).to_toml()
        sources = " and ".join(_printable(path.name) for path in (matrix, topology) if path)
        head = f"# From {sources}; docs/compatibility.md tells how.\n"
        if len((head + text).encode()) > MOST_SCENARIO:
            _too_long(connections)
        draft.write_text(head + text, encoding="utf-8")
    return Converted(target, table, connections.nodes, count)


def _too_long(connections: Matrix) -> NoReturn:
    problem = "the network has to be written link by link, and is too long for a scenario"
    allowed = "hosts of a smaller tree, or of a leaf-spine or fat tree with the same latencies everywhere"
    connections.nodes_line.refuse(problem, "Nodes", str(connections.nodes), allowed)


def scenario(name: str, net: Topology, switch_delay: str, flows: str, options: Options) -> Scenario:
    """NDP as in htsim: full last packets, headers before nearly all data, none returned, pulls at 0.99 of line rate."""
    # htsim's queue is so many payloads long, a packet is longer than its payload, and that being sent is still in it.
    full = options.mtu + HEADER_BYTES
    sizes: dict[str, Any] = dict.fromkeys(("header", "ack_header", "min_frame"), f"{HEADER_BYTES}B")
    return Scenario(
        name=_plain(name),
        topology=net,
        framing=Framing(preset="ethernet", payload=f"{options.mtu}B", wire_overhead="0B", **sizes),
        switch=Switch(
            delay=switch_delay,
            pfc=Pfc(enabled=False),
            ecn=Ecn(enabled=False),
            trimming=Trimming(
                enabled=True,
                data_packets=max(options.queue * options.mtu // full, 1),
                header_packets=max(round(2 * options.queue * options.mtu / full), 1),
                headers_per_data=100_000,
                return_to_sender=False,
            ),
        ),
        routing=Routing(choice="spray"),
        run=Run(stall="1s"),
        schemes={"ndp": Ndp(first_window=options.cwnd, pull_spacing=1 / 0.99, pad_last=True, rto="50ms")},
        workloads=[Flows(file=flows)],
    )


def _plain(name: str) -> str:
    """A file's name as that of a scenario."""
    return (
        "".join(c if c.isascii() and (c.isalnum() or c in "-_.+@") else "_" for c in name).lstrip("-_.+@")[:64]
        or "htsim"
    )


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)


def _standard(connections: Matrix, options: Options) -> FatTree:
    """The fat tree that htsim builds by itself: k^3 / 4 hosts."""
    k = next((k for k in range(2, 65, 2) if k**3 // 4 == connections.nodes), 0)
    if not k:
        sizes = ", ".join(str(k**3 // 4) for k in range(4, 21, 4))
        allowed = f"the hosts of a fat tree of {sizes}, ... (k^3/4), or ``topology``"
        connections.nodes_line.refuse("no fat tree has so many", "Nodes", str(connections.nodes), allowed)
    rate = f"{options.linkspeed or LINKSPEED}Mbps"
    return FatTree(k=k, host_rate=rate, fabric_rate=rate, link_delay="1us")


def _write_flows(path: Path, connections: Iterable[Connection]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("start", "src", "dst", "bytes"))
        for flow in connections:
            writer.writerow((f"{flow.start_ps}ps", flow.src, flow.dst, f"{flow.size_bytes}B"))
            count += 1
    return count
