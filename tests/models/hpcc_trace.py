"""The packet trace of the HPCC authors' simulator (``TRACE_OUTPUT_FILE``), for `models.hpcc`.

By the layout of its records in docs/compatibility.md and by where its devices report packets.
"""

from __future__ import annotations

from collections import Counter
from struct import Struct
from typing import TYPE_CHECKING

from models.hpcc_numbers import U32

if TYPE_CHECKING:
    from models.hpcc import Frame, Port, Simulation

RECEIVED, JOINS, LEAVES, LOST = range(4)
EVENTS = ("received", "joins", "leaves", "lost")
PROTOCOLS = {"data": 0x11, "ack": 0xFC, "nack": 0xFD, "pause": 0xFE, "resume": 0xFE}
NAMES = {0x11: "data", 0xFC: "ack", 0xFD: "nack", 0xFE: "pfc"}
EVERYBODY = 0xFFFFFFFF
PORT = Struct("<HBQ")
HEAD, SIZE, KIND_AT, EVENT_AT = Struct("<QHBBIIIHBBBBxx"), 56, 26, 27
DATA, ANSWER, PFC = Struct("<HHIQHHxxxx"), Struct("<HHHHIxxxxQ"), Struct("<IIB15x")
TIMELY = 7


def content(net: Simulation, frame: Frame) -> bytes:
    """What a record holds of the frame beyond addresses, size and marks."""
    if frame.is_pfc:
        pause = net.config.pause_time if frame.kind == "pause" else 0
        return PFC.pack(pause, frame.behind & U32, frame.group)
    # Only with TIMELY packets have a place for the time.
    sent = frame.sent if net.config.mode == TIMELY else 0
    ends, seq = (frame.sport, frame.dport & 0xFFFF), frame.seq & U32
    if frame.kind == "data":
        return DATA.pack(*ends, seq, sent, frame.group, frame.payload)
    return ANSWER.pack(*ends, frame.echo, frame.group, seq, sent)


class PacketTrace:
    """A record for each thing that happens to a frame at a traced node, in order of events."""

    def __init__(self, net: Simulation) -> None:
        self.net = net
        self.traced = Counter(node for node in net.config.traced if node < len(net.nodes))
        """How often: a node that is listed twice is traced twice."""
        self.records = bytearray()

    def table(self) -> tuple[list[tuple[int, int, int]], int]:
        """What the file begins with: ports by which neighbours know each other (node, number, rate), and the window.

        The order of the ports is that of hash tables there and says nothing.
        """
        ports = [(node.number, port.number, port.rate) for node in self.net.nodes for port in node.neighbours.values()]
        return sorted(ports), self.net.max_bdp & U32

    def add(self, port: Port, frame: Frame, event: int, queue: int = 0) -> None:
        copies = self.traced[port.node.number]
        if not copies:
            return
        if not frame.content:
            frame.content = content(self.net, frame)
        nodes, is_pfc = self.net.nodes, frame.is_pfc
        ends = (frame.src, EVERYBODY) if is_pfc else (nodes[frame.src].address, nodes[frame.dst].address)
        kind, marks = PROTOCOLS[frame.kind], 3 if frame.marked else 0
        place = self.net.now, port.node.number, port.number, queue, port.lengths[queue]
        head = HEAD.pack(*place, *ends, frame.size, kind, event, marks, port.is_switch)
        self.records += (head + frame.content) * copies


def parts(file: bytes) -> tuple[list[tuple[int, int, int]], int, bytes]:
    """The ports of a file, its window and its records."""
    end = 4 + PORT.size * int.from_bytes(file[:4], "little")
    return sorted(PORT.iter_unpack(file[4:end])), int.from_bytes(file[end : end + 4], "little"), file[end + 4 :]


def seen(records: bytes | bytearray) -> Counter[str]:
    """How often which frames are in which events."""
    kinds = zip(records[KIND_AT::SIZE], records[EVENT_AT::SIZE], strict=True)
    return Counter({f"{NAMES[kind]} {EVENTS[event]}": count for (kind, event), count in Counter(kinds).items()})


def as_lines(records: bytes) -> list[str]:
    """As lines of the reference's decoded traces, of data and ACKs."""
    lines = []
    for start in range(0, len(records), SIZE):
        head, rest = records[start : start + HEAD.size], records[start + HEAD.size : start + SIZE]
        *place, src, dst, size, kind, event, marks, is_switch = HEAD.unpack(head)
        sport, dport, seq, *_ = DATA.unpack(rest)
        if NAMES[kind] != "data":
            sport, dport, _, _, seq, _ = ANSWER.unpack(rest)
        nodes = src >> 8 & 0xFFFF, dst >> 8 & 0xFFFF
        name = ("recv", "enqu", "dequ", "drop")[event]
        fields = (*place, *nodes, size, NAMES[kind], name, marks, is_switch, sport, dport, seq)
        lines.append(",".join(map(str, fields)) + "\n")
    return lines


def as_text(record: bytes) -> str:
    """For people: of a record that differs."""
    time, node, port, queue, waiting, src, dst, size, kind, event, marks, is_switch = HEAD.unpack(record[: HEAD.size])
    unions = {"data": (DATA, "sport dport seq sent class payload"), "pfc": (PFC, "pause behind class")}
    layout, fields = unions.get(NAMES[kind], (ANSWER, "sport dport flags class next sent"))
    values = zip(fields.split(), layout.unpack(record[HEAD.size :]), strict=True)
    more = " ".join(f"{field} {value}" for field, value in values)
    place = f"{time} {'switch' if is_switch else 'host'} {node} port {port} queue {queue} waiting {waiting}"
    return f"{place}: {NAMES[kind]} {EVENTS[event]}, {src:08x} to {dst:08x}, size {size}, marks {marks}, {more}"
