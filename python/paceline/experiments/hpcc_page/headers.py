"""H13: what each scheme puts on the wire beside the payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paceline.reproduce import judge
from paceline.reproduce.model import Experiment, Scale, Shown, Verdict
from paceline.results import Results
from paceline.scenario import Dcqcn, Dctcp, FlowRow, Flows, Hpcc, HpccPint, Scenario, Scheme, Star, Timely
from paceline.sweeps.points import Point, Runs
from paceline.tables import Cell, Table
from paceline.words import percent

PAYLOAD_BYTES = 1000
PACKETS = 1000

# Header of a data packet and size of an ACK, bytes: HPCC reference simulator, 14 (link) + 20 (IP) + 8 (UDP) + 6
# (sequence number, priority group) and the scheme's telemetry; ACKs 46 and the telemetry, padded to 60.
_SIZES: dict[str, tuple[Scheme, int, int]] = {
    "HPCC-PINT": (HpccPint(), 50, 60),
    "HPCC-INT": (Hpcc(), 90, 88),
    "DCQCN+w": (Dcqcn(), 48, 60),
    "TIMELY+w": (Timely(), 56, 60),
    "DCTCP": (Dctcp(), 48, 60),
}


@dataclass(frozen=True)
class Wire:
    """What one flow of full packets put on the first link of its path, and its ACKs on the way back."""

    header_bytes: float
    ack_bytes: float

    @property
    def frame_bytes(self) -> float:
        """A data packet."""
        return PAYLOAD_BYTES + self.header_bytes

    @property
    def load(self) -> float:
        """Bytes on the wire, ACKs included, for each byte of payload."""
        return (self.frame_bytes + self.ack_bytes) / PAYLOAD_BYTES


def measured(results: Results) -> Wire:
    """Reads the sizes from the link counters, packets that do not exist as nan."""
    links = results.links
    sent, answered = links.where(links["node"] == 0), links.where(links["node"] == 1)

    def mean(kind: str) -> float:
        table = sent if kind == "data" else answered
        packets = int(table[f"{kind}_packets"].sum())
        return int(table[f"{kind}_bytes"].sum()) / packets if packets else float("nan")

    return Wire(mean("data") - PAYLOAD_BYTES, mean("control"))


def plan(_scale: Scale) -> Sequence[Point]:
    """One flow of full packets for each scheme: every packet and every ACK has the same size."""
    flow = FlowRow(src=0, dst=1, bytes=f"{PAYLOAD_BYTES * PACKETS}B")
    return [
        Point(
            scenario=Scenario(
                name=f"headers-{name}",
                topology=Star(hosts=2),
                schemes={"scheme": scheme},
                workloads=[Flows(rows=[flow])],
            ),
            key={"scheme": name},
        )
        for name, (scheme, _, _) in _SIZES.items()
    ]


def verdicts(runs: Runs, _scale: Scale) -> Sequence[Verdict]:
    """Sizes and wire load of each scheme, and what the page says of them in round numbers."""
    found = []
    wires = {name: measured(runs.one(scheme=name).results()) for name in _SIZES}
    for name, (_, header, ack) in _SIZES.items():
        wire = wires[name]
        load = (PAYLOAD_BYTES + header + ack) / PAYLOAD_BYTES
        what = name.lower()
        found += [
            judge.exact(f"H13.header.{what}", f"{name}: header of a data packet (bytes)", header, wire.header_bytes),
            judge.exact(f"H13.ack.{what}", f"{name}: ACK (bytes)", ack, wire.ack_bytes),
            judge.exact(f"H13.load.{what}", f"{name}: bytes on the wire per byte of payload", load, wire.load),
        ]
    loads = [wire.load for name, wire in wires.items() if name != "HPCC-INT"]
    least, most = min(loads), max(loads)
    spread = f"{(least - 1) * 100:.1f} to {percent(most - 1)}"
    said = "All but HPCC-INT: the load on the network is higher than that of the payload by about"
    found.append(judge.report("H13.page", said, "11 % (50-byte header, 60-byte ACK)", spread))
    with_int, with_pint = wires["HPCC-INT"], wires["HPCC-PINT"]
    more = percent(with_int.load / with_pint.load - 1)
    of_data = percent(with_int.frame_bytes / with_pint.frame_bytes - 1)
    stressed = f"{least * 70:.1f} to {percent(most * 0.7)}; HPCC-INT {percent(with_int.load * 0.7)}"
    telemetry = with_pint.header_bytes - wires["DCQCN+w"].header_bytes
    return [
        *found,
        judge.exact(
            "H13.telemetry.hpcc-pint", "HPCC-PINT: telemetry in a data packet, bytes; the page: at most 2", 2, telemetry
        ),
        judge.report("H13.int", "HPCC-INT: more load than HPCC-PINT, with ACKs", "about 5 %", more),
        judge.report("H13.int.data", "HPCC-INT: more load than HPCC-PINT, data alone", "about 5 %", of_data),
        judge.report("H13.load70", "Load on the network where payload is 70 %", "more than 77.7 %", stressed),
    ]


def show(runs: Runs, _scale: Scale) -> Shown:
    """The sizes in one table."""
    rows = []
    for name in runs.values("scheme"):
        wire = measured(runs.one(scheme=name).results())
        texts = (f"{wire.header_bytes:g}", f"{wire.frame_bytes:,g}", f"{wire.ack_bytes:g}", f"{wire.load:.3f}")
        rows.append((Cell(name), *map(Cell, texts)))
    rows.append((Cell("the page"), Cell("50"), Cell("1,050"), Cell("60"), Cell("1.110")))
    head = ("Scheme", "Header (B)", "Full packet (B)", "ACK (B)", "Wire bytes per payload byte")
    return Shown(tables=[Table(f"Packets of {PAYLOAD_BYTES:,} bytes of payload", head, rows)])


EXPERIMENTS = (
    Experiment(
        id="H13",
        title="Header accounting",
        statement="Payload of 1 KB costs a header of 50 bytes and an ACK of 60 bytes, so that the load on the network "
        "is about 11 % above that of the payload, and more with the INT header of HPCC-INT.",
        source="HPCC project page, definition of network load; sizes: HPCC reference simulator",
        plan=plan,
        judge=verdicts,
        show=show,
    ),
)
