"""What converged Ethernet adds to `models.tcp`: adapters, RED, QCN and pauses, in a small simulator of its own.

Written from the public descriptions: RED of Floyd and Jacobson (1993) as RFC 3168 uses it; QCN of IEEE 802.1Qau by the
pseudo-code of its working group (Pan, version 2.x); PFC with two thresholds. It shares nothing with the engine but the
definition of its random numbers. What the sources leave open is as in docs/transports.md and docs/cee.md.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from models.draws import draw, hash3
from models.freebsd import FreeBsdClient, FreeBsdRules, FreeBsdServer, Left
from models.tcp import (
    ARRIVAL,
    DEPARTURE,
    HEADER,
    MIN_FRAME,
    MSS,
    ON_WIRE,
    TIMEOUT,
    Client,
    Flow,
    Host,
    Network,
    Packet,
    Port,
    S,
    Server,
    Switch,
)

ECN, QCN = 7, 17
"""Purposes of random numbers."""
CLASS = 3
"""Of all frames but those made by switches."""
TABLE = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)
"""Bytes between two samples of a congestion point, by the upper three bits of the feedback."""


@dataclass(frozen=True)
class Red:
    low: int
    high: int
    weight: float
    most: float
    """Probability next to ``high``."""
    packet: int
    """Bytes of what an idle link is taken to send."""


@dataclass(frozen=True)
class Qcn:
    set_point: int
    weight: int
    base: int
    """Bytes between two samples without congestion."""
    sample_jitter: int
    """Percent."""
    line_rate: int
    timer: int
    byte_limit: int
    jitter: int
    threshold: int
    step: int
    large_step: int
    least: int
    gain: float
    keeps: float
    """Smallest share of its rate that a notification leaves a limiter."""
    keep_target: bool
    clamp: bool


@dataclass(frozen=True)
class Pfc:
    xoff: int
    xon: int
    frame: int
    """Bytes of the largest frame."""


@dataclass(frozen=True)
class Fabric:
    """Times in ps, sizes in bytes."""

    down: int
    """Through the stack and the adapter, to the link."""
    up: int
    buffer: int = 1 << 40
    """Of an adapter."""
    red: Red | None = None
    qcn: Qcn | None = None
    pfc: Pfc | None = None


@dataclass(eq=False)
class Notice:
    """A frame made by a switch: a notification for a limiter, or a pause and its end."""

    dst: int
    flow_to: int
    """Whom the sampled frame was for."""
    level: int = 0
    pause: bool | None = None
    size: int = MIN_FRAME


@dataclass
class Limiter:
    """A reaction point: the frames of an adapter to one host."""

    adapter: Adapter
    to: int
    queue: deque[tuple[int, Packet]] = field(default_factory=deque)
    """With the instant of each at which it was through the adapter."""
    active: bool = False
    rate: int = 0
    target: int = 0
    left_bytes: int = 0
    bytes_stage: int = 0
    time_stage: int = 0
    timer: int = 0
    """When it runs out, 0 for never."""
    started: int = 0
    """When the frame before went, and its size."""
    size: int = 0
    draws: int = 0

    @property
    def qcn(self) -> Qcn:
        assert self.adapter.fabric.qcn
        return self.adapter.fabric.qcn

    def free(self) -> int:
        """From when on the next frame may go."""
        return self.started + -(-(self.size + ON_WIRE) * 8 * S // self.rate) if self.active else 0

    def around(self, middle: int) -> int:
        self.draws += 1
        return around(middle, self.qcn.jitter, draw(1, QCN, self.adapter.entity(self.to), self.draws - 1))

    def notified(self, level: int) -> None:
        qcn, now = self.qcn, self.adapter.net.now
        if not self.active:
            self.active, self.rate, self.target = True, qcn.line_rate, qcn.line_rate
            self.bytes_stage = self.time_stage = 0
            self.left_bytes = qcn.byte_limit
        if self.bytes_stage or not qcn.keep_target:
            self.target, self.left_bytes = self.rate, qcn.byte_limit
        self.bytes_stage = self.time_stage = 0
        self.rate = max(qcn.least, int(self.rate * max(qcn.keeps, 1 - qcn.gain * level)))
        self.set_timer(now + qcn.timer)
        self.adapter.serve()

    def sent(self, size: int) -> None:
        self.started, self.size = self.adapter.net.now, size
        if not self.active:
            return
        qcn = self.qcn
        if self.rate >= qcn.line_rate and not self.queue:
            self.active, self.timer = False, 0
            return
        self.left_bytes -= size
        if self.left_bytes < 0:
            self.bytes_stage += 1
            early = self.bytes_stage < qcn.threshold
            self.left_bytes = self.around(qcn.byte_limit if early else qcn.byte_limit // 2)
            self.increase()

    def set_timer(self, due: int) -> None:
        self.timer = due
        self.adapter.net.at(due, TIMEOUT, lambda: self.expired(due))

    def expired(self, due: int) -> None:
        if self.timer != due or all(flow.ended or flow.failed for flow in self.adapter.net.flows):
            return
        self.time_stage += 1
        self.increase()
        self.set_timer(
            due + self.around(self.qcn.timer if self.time_stage < self.qcn.threshold else self.qcn.timer // 2)
        )
        self.adapter.serve()

    def increase(self) -> None:
        qcn = self.qcn
        past = [stage > qcn.threshold for stage in (self.bytes_stage, self.time_stage)]
        step = 0
        if all(past):
            step = qcn.large_step * (min(self.bytes_stage, self.time_stage) - qcn.threshold)
        elif any(past):
            step = qcn.step
        if qcn.clamp and 1 in (self.bytes_stage, self.time_stage) and self.target > 10 * self.rate:
            self.target //= 8
        else:
            self.target += step
        self.target = min(self.target, qcn.line_rate)
        self.rate = -(-(self.rate + self.target) // 2)  # half a bit per second is rounded up, to get to the line rate


class Adapter(Host):
    """A host whose stack and adapter take time; a queue to the link for each destination."""

    def __init__(self, net: Cee, number: int) -> None:
        super().__init__(net, number)
        self.fabric = net.fabric
        self.limiters: dict[int, Limiter] = {}
        self.paused = False
        self.formed: deque[Packet] = deque()
        """What TCP has made and the adapter has no room for."""
        self.held = 0
        self.left: dict[int, Left] = {}
        """What FreeBSD's cache has of each host."""

    def entity(self, to: int) -> int:
        return 1 << 63 | self.number << 32 | to

    def limiter(self, to: int) -> Limiter:
        return self.limiters.setdefault(to, Limiter(self, to))

    def send(self, port: Port, packet: Packet) -> None:
        self.formed.append(packet)
        self.fill()

    def fill(self) -> None:
        while self.formed and self.held + MSS + HEADER <= self.fabric.buffer:
            packet = self.formed.popleft()
            self.held += packet.size
            self.net.at(self.net.now + self.fabric.down, ARRIVAL, lambda packet=packet: self.through(packet))

    def through(self, packet: Packet) -> None:
        to = packet.flow.dst if packet.to_server else packet.flow.src
        self.limiter(to).queue.append((self.net.now, packet))
        self.serve()

    def serve(self) -> None:
        port, now = self.ports[0], self.net.now
        if port.busy or self.paused:
            return
        waiting = [
            (max(each.queue[0][0], each.free()), each.queue[0][0], each)
            for each in self.limiters.values()
            if each.queue
        ]
        if not waiting:
            return
        when, _, limiter = min(waiting, key=lambda entry: entry[:2])
        if when > now:
            self.net.at(when, DEPARTURE, self.serve)
            return
        _, packet = limiter.queue.popleft()
        self.held -= packet.size
        limiter.sent(packet.size)
        self.net.transmit(port, packet)
        self.fill()

    def take_back(self, flow: Flow) -> list[Packet]:
        """What is in the adapter goes all the same."""
        gone = [packet for packet in self.formed if packet.flow is flow and packet.to_server]
        self.formed = deque(packet for packet in self.formed if packet not in gone)
        return gone

    def arrive(self, packet: Packet) -> None:
        if isinstance(packet, Notice):
            if packet.pause is None:
                self.limiter(packet.flow_to).notified(packet.level)
            else:
                self.paused = packet.pause
                self.serve()
            return
        self.net.at(self.net.now + self.fabric.up, ARRIVAL, lambda: super(Adapter, self).arrive(packet))


class RedQueue:
    """The average of a queue, and which packets are marked."""

    def __init__(self, red: Red, place: int, rate: int) -> None:
        self.red, self.place = red, place
        self.average, self.count, self.draws = 0.0, -1, 0
        self.time = -(-red.packet * 8 * S // rate)
        """Of a packet on the link."""
        self.left = 0
        """When the last packet left the queue for the link, which is idle when that is over."""

    def marks(self, now: int, waiting: int, ect: bool) -> bool:
        """Whether a packet that finds so many bytes waiting is marked."""
        red = self.red
        if not waiting:
            self.average *= (1 - red.weight) ** (max(now - self.left - self.time, 0) // self.time)
        self.average += red.weight * (waiting - self.average)
        if self.average < red.low:
            self.count = -1
            return False
        self.count += 1
        if self.average < red.high:
            at_once = red.most * (self.average - red.low) / (red.high - red.low)
            if not self.count or not self.hit(at_once):
                return False
        # What cannot be marked leaves the count as it is, for the next that can.
        self.count = 0 if ect else self.count
        return ect

    def hit(self, at_once: float) -> bool:
        left = 1 - self.count * at_once
        if left <= at_once:
            return True
        self.draws += 1
        return (hash3(draw(1, ECN), self.place, self.draws) >> 11) / 2**53 < at_once / left


class CongestionPoint:
    def __init__(self, qcn: Qcn, port: int) -> None:
        self.qcn, self.port, self.draws = qcn, port, 0
        self.old, self.until = 0, qcn.base

    def level(self, queue: int, size: int) -> int:
        """The feedback to the sender of a frame that has joined the queue, 0 for none."""
        qcn = self.qcn
        self.until -= size
        if self.until >= 0:
            return 0
        full = qcn.set_point * (2 * qcn.weight + 1)
        psi = queue - qcn.set_point + qcn.weight * (queue - self.old)
        level = 63 * min(max(psi, 0), full) // full
        self.old = queue
        self.draws += 1
        bits = draw(1, QCN, self.port, self.draws - 1)
        self.until = around(TABLE[level >> 3] * qcn.base // TABLE[0], qcn.sample_jitter, bits)
        return level


def around(middle: int, percent: int, bits: int) -> int:
    """A whole number within so many percent of another."""
    half = middle * percent // 100
    return middle - half + ((bits >> 1) * (2 * half + 1) >> 63)


class CeeSwitch(Switch):
    """Frames of data behind those made by switches; a frame takes room until it begins to leave."""

    def __init__(self, net: Cee, number: int) -> None:
        super().__init__(net, number)
        self.fabric = net.fabric
        self.came_by: Port
        """The port by which the packet at hand has come."""
        self.red: dict[Port, RedQueue] = {}
        self.points: dict[Port, CongestionPoint] = {}
        self.urgent: dict[Port, deque[Notice]] = {}
        self.came: dict[Packet, Port] = {}
        self.held: dict[Port, int] = {}
        self.stopped: set[Port] = set()
        self.paused: set[Port] = set()

    def arrive(self, packet: Packet) -> None:
        if isinstance(packet, Notice):
            if packet.pause is None:
                self.send_urgent(self.route[packet.dst], packet)
            else:
                (self.paused.add if packet.pause else self.paused.discard)(self.came_by)
                self.net.kick(self.came_by)
            return
        by, net = self.came_by, self.net
        port = self.route[packet.flow.dst if packet.to_server else packet.flow.src]
        fabric = self.fabric
        if fabric.red and self.red_of(port).marks(net.now, port.waiting, packet.ect):
            packet.ce, net.marks = True, net.marks + 1
        if not fabric.pfc and port.waiting + packet.size > net.rules.buffer:
            net.drops += 1
            return
        if fabric.pfc:
            self.came[packet] = by
            self.held[by] = self.held.get(by, 0) + packet.size
            if self.held[by] > net.rules.buffer:
                raise AssertionError("a frame beyond the room that was left for it")
            if self.held[by] + fabric.pfc.frame > fabric.pfc.xoff and by not in self.stopped:
                self.stopped.add(by)
                net.pauses += 1
                self.send_urgent(by, Notice(by.peer.node.number, 0, pause=True))
        if fabric.qcn:
            if port not in self.points:
                self.points[port] = CongestionPoint(fabric.qcn, net.index[port] * 8 + CLASS)
            level = self.points[port].level(port.waiting + packet.size, packet.size)
            if level:
                net.notices += 1
                source, to = (packet.flow.src, packet.flow.dst)[:: 1 if packet.to_server else -1]
                self.send_urgent(self.route[source], Notice(source, to, level))
        self.send(port, packet)

    def red_of(self, port: Port) -> RedQueue:
        assert self.fabric.red
        if port not in self.red:
            self.red[port] = RedQueue(self.fabric.red, self.net.index[port] * 8 + CLASS, port.rate)
        return self.red[port]

    def send_urgent(self, port: Port, notice: Notice) -> None:
        self.urgent.setdefault(port, deque()).append(notice)
        self.net.kick(port)

    def leaves(self, port: Port, packet: Packet) -> None:
        """A frame begins to leave."""
        pfc = self.fabric.pfc
        if self.fabric.red:
            self.red_of(port).left = self.net.now
        if not pfc:
            return
        by = self.came.pop(packet)
        self.held[by] -= packet.size
        if by in self.stopped and self.held[by] <= pfc.xon:
            self.stopped.discard(by)
            self.send_urgent(by, Notice(by.peer.node.number, 0, pause=False))


class Cee(Network):
    """A run, as :class:`models.tcp.Network`."""

    def __init__(self, *case: Any, fabric: Fabric) -> None:
        self.fabric, self.notices, self.pauses = fabric, 0, 0
        super().__init__(*case)

    @cached_property
    def index(self) -> dict[Port, int]:
        """The number of each port: by node, in the order of its links."""
        return {port: i for i, port in enumerate(port for node in self.nodes for port in node.ports)}

    def ends(self, flow: Flow, client: Host, server: Host) -> tuple[Client, Server]:
        if isinstance(self.rules, FreeBsdRules):
            return FreeBsdClient(flow, client), FreeBsdServer(flow, server)
        return super().ends(flow, client, server)

    def host(self, number: int) -> Host:
        return Adapter(self, number)

    def switch(self, number: int) -> Switch:
        return CeeSwitch(self, number)

    def kick(self, port: Port) -> None:
        node = port.node
        if isinstance(node, Adapter):
            node.serve()
            return
        assert isinstance(node, CeeSwitch)
        urgent = node.urgent.get(port)
        if port.busy:
            return
        if urgent:
            self.transmit(port, urgent.popleft())
        elif port.queue and port not in node.paused:
            packet = port.queue.popleft()
            port.waiting -= packet.size
            node.leaves(port, packet)
            self.transmit(port, packet)

    def transmit(self, port: Port, packet: Packet | Notice) -> None:
        port.busy = True
        free = self.now + -(-(packet.size + ON_WIRE) * 8 * S // port.rate)
        self.at(free, DEPARTURE, lambda: self.depart(port))
        self.at(free + port.delay, ARRIVAL, lambda: self.arrive(port.peer, packet))

    def arrive(self, port: Port, packet: Packet) -> None:
        if isinstance(port.node, CeeSwitch):
            port.node.came_by = port
        super().arrive(port, packet)
