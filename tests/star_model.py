"""Hosts around one switch, event by event, for comparison with the engine's times: for NDP, Homa, ExpressPass.

It shares nothing with the engine but the definition of its random numbers. At one instant a node's departures come
before its arrivals, those before timeouts, and flows start last. Ports ask what goes next when they are idle.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from draws import draw, hash3

US, MS, S = 10**6, 10**9, 10**12
G = 10**9
DEPARTURE, ARRIVAL, TIMEOUT, START = range(4)
LAST = 1 << 62
LOSS = 9
PAYLOAD, HEADER, SMALLEST, WIRE = 1460, 58, 64, 20
"""Ethernet: payload and headers of a full packet, smallest frame, preamble and gap."""
FULL = PAYLOAD + HEADER


def lasts(frame: int, rate: int) -> int:
    """Time of a frame on a link."""
    return -(-(frame + WIRE) * 8 * S // rate)


@dataclass(eq=False)
class Message:
    """A flow: ``number`` is its row, ``start`` an instant."""

    number: int
    src: int
    dst: int
    size: int
    start: int
    arrived: int = 0
    """When its last byte had arrived, 0 for not yet."""
    ended: int = 0
    """When its sender had heard so."""
    packets: int = field(init=False)

    def __post_init__(self) -> None:
        self.packets = -(-self.size // PAYLOAD)

    def frame(self, seq: int) -> int:
        payload = self.size - PAYLOAD * seq if seq + 1 == self.packets else PAYLOAD
        return max(SMALLEST, payload + HEADER)


@dataclass
class Packet:
    kind: str
    message: Message
    to: int
    level: int
    """The queue it waits in at switches, 0 the first."""
    size: int = SMALLEST
    seq: int = 0
    more: Any = None
    again: bool = False
    unasked: bool = False
    """Aeolus: may be dropped selectively."""


@dataclass
class Burst:
    """Aeolus' first round trip: what a sender may send unasked, and what it knows became of that."""

    packets: int
    end: int
    """The packets below may go unasked."""
    new: int = 0
    """The first never sent."""
    open: set[int] = field(default_factory=set)
    """Sent unasked and not heard of."""
    lost: set[int] = field(default_factory=set)
    probe: str = ""
    """Where the probe stands: owed, sent, answered."""

    def in_burst(self) -> bool:
        return self.new < self.end

    def next_unasked(self) -> int:
        self.open.add(self.new)
        self.new += 1
        self.check()
        return self.new - 1

    def stop(self) -> None:
        self.end = min(self.end, self.new)
        self.check()

    def check(self) -> None:
        if self.new >= self.end and not self.probe:
            self.probe = "owed"

    def next_asked(self) -> tuple[int, bool] | None:
        """A lost packet, or else a new one; and whether it goes again."""
        if self.lost:
            seq = min(self.lost)
            self.lost.remove(seq)
            return seq, True
        if self.new == self.packets:
            return None
        self.end = min(self.end, self.new)
        self.new += 1
        self.check()
        return self.new - 1, False

    def acked(self, seq: int, ordered: bool) -> None:
        self.open.discard(seq)
        self.lost.discard(seq)
        if ordered:
            self.condemn(seq)

    def condemn(self, end: int) -> int:
        """What went before and was not heard of is lost."""
        gone = {seq for seq in self.open if seq < end}
        self.open -= gone
        self.lost |= gone
        return len(gone)

    def answered(self) -> int:
        """The probe's answer has come."""
        if self.probe not in ("owed", "sent"):
            return 0
        self.probe = "answered"
        return self.condemn(self.end)

    def remaining(self) -> int:
        return self.packets - self.new + len(self.open) + len(self.lost)


class Port:
    """A transmitter: ``turn`` says what goes next, or nothing; ``left`` is told when it has gone."""

    def __init__(self, star: Star, rate: int, delay: int, arrive: Callable[[Packet], None]) -> None:
        self.star, self.rate, self.delay, self.arrive = star, rate, delay, arrive
        self.busy = False
        self.index = self.sent = 0
        self.turn: Callable[[], Packet | None] = lambda: None
        self.left: Callable[[Packet], None] = lambda packet: None

    def kick(self) -> None:
        if self.busy:
            return
        packet = self.turn()
        if packet is None:
            return
        self.busy = True
        free = self.star.now + lasts(packet.size, self.rate)

        def is_free() -> None:
            self.busy = False
            self.left(packet)
            self.kick()

        self.star.at(free, DEPARTURE, is_free)
        self.sent += 1
        if (hash3(self.star.losses, self.index, self.sent) >> 11) / 2**53 < self.star.settings["loss"]:
            self.star.tally("lost")
        else:
            self.star.at(free + self.delay, ARRIVAL, lambda: self.arrive(packet))


class Host:
    """A host; a transport says what it sends."""

    def __init__(self, star: Star, number: int, settings: dict[str, Any]) -> None:
        self.star, self.number, self.settings = star, number, settings

    def begin(self) -> None:
        self.port = self.star.up[self.number]
        self.port.turn = self.sent

    def sent(self) -> Packet | None:
        packet = self.turn()
        if packet and packet.kind == "data":
            for what, so in (("data", True), ("again", packet.again), ("unasked", packet.unasked)):
                self.star.seen[what] = self.star.seen.get(what, 0) + so
        return packet

    def start(self, message: Message) -> None:
        raise NotImplementedError

    def receive(self, packet: Packet) -> None:
        raise NotImplementedError

    def turn(self) -> Packet | None:
        raise NotImplementedError

    def wake(self, time: int) -> None:
        """Asks what goes next, after all timeouts of that instant."""
        self.star.at(time, TIMEOUT, self.port.kick, LAST)


class Star:
    """A run: links by host are rates to and from the switch, and delay; a flow is from, to, bytes and start."""

    def __init__(
        self,
        links: Sequence[tuple[int, int, int]],
        flows: Sequence[tuple[int, int, int, int]],
        host: type[Host],
        switch: type[SwitchPort],
        settings: dict[str, Any],
    ) -> None:
        self.now, self.count, self.settings = 0, itertools.count(), settings
        self.events: list[tuple[int, int, int, int, Callable[[], None]]] = []
        self.seen: dict[str, int] = {}
        self.links = links
        self.hosts = [host(self, i, settings) for i in range(len(links))]
        self.up = [
            Port(self, rate, delay, lambda packet, i=i: self.arrive(packet, i))
            for i, (rate, _, delay) in enumerate(links)
        ]
        self.down = [
            Port(self, rate, delay, each.receive) for (_, rate, delay), each in zip(links, self.hosts, strict=True)
        ]
        for index, port in enumerate(self.up + self.down):
            port.index = index
        self.losses = draw(1, LOSS)
        self.last_arrival: dict[int, int] = {}
        self.ties = 0
        for each in self.hosts:
            each.begin()
        self.ports = [switch(self, i) for i in range(len(links))]
        self.messages = [Message(i, *row) for i, row in enumerate(sorted(flows, key=lambda row: row[3]))]
        for message in self.messages:
            self.at(message.start, START, lambda m=message: self.hosts[m.src].start(m))
        while self.events:
            self.now, *_, event = heapq.heappop(self.events)
            event()

    def at(self, time: int, rank: int, event: Callable[[], None], order: int = 0) -> None:
        heapq.heappush(self.events, (time, rank, order, next(self.count), event))

    def tally(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1

    def arrive(self, packet: Packet, by: int) -> None:
        # The engine decides by a hash which of several comes first.
        self.ties += self.last_arrival.get(packet.to) == self.now
        self.last_arrival[packet.to] = self.now
        self.ports[packet.to].arrive(packet, by)


class SwitchPort:
    """A switch's port towards a host."""

    def __init__(self, star: Star, number: int) -> None:
        self.star, self.number, self.port = star, number, star.down[number]
        self.queues: list[list[Packet]] = [[] for _ in range(8)]
        self.port.turn, self.port.left = self.turn, self.left
        self.begin()

    def begin(self) -> None:
        pass

    def arrive(self, packet: Packet, by: int) -> None:
        raise NotImplementedError

    def turn(self) -> Packet | None:
        raise NotImplementedError

    def left(self, packet: Packet) -> None:
        pass


class StrictPort(SwitchPort):
    """Eight queues in one buffer, the first served first; under Aeolus it drops selectively."""

    def begin(self) -> None:
        self.waiting = 0

    def arrive(self, packet: Packet, by: int) -> None:
        settings = self.star.settings
        unwanted = settings["aeolus"] and packet.unasked and self.waiting >= settings["threshold"]
        if unwanted or self.waiting + packet.size > settings["buffer"]:
            self.star.tally("dropped")
            if packet.unasked:
                self.star.tally("unasked lost")
            return
        self.waiting += packet.size
        self.queues[packet.level].append(packet)
        self.port.kick()

    def turn(self) -> Packet | None:
        for queue in self.queues:
            if queue:
                packet = queue.pop(0)
                self.waiting -= packet.size
                return packet
        return None
