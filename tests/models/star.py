"""Hosts around one switch, or in two racks, event by event, for comparison with the engine's times.

For NDP, Homa and ExpressPass. Between the racks are spines, over which packets are sprayed.
It shares nothing with the engine but the definition of its random numbers. At one instant a node's departures come
before its arrivals, those before timeouts, and flows start last. Ports ask what goes next when they are idle.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.draws import draw, hash3, mix

US, MS, S = 10**6, 10**9, 10**12
G = 10**9
DEPARTURE, ARRIVAL, TIMEOUT, START = range(4)
LAST = 1 << 62
SPRAY, LOSS = 8, 9
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
    padded: bool = False
    """Its last packet is as long as the others."""
    packets: int = field(init=False)

    def __post_init__(self) -> None:
        self.packets = -(-self.size // PAYLOAD)

    def frame(self, seq: int) -> int:
        payload = self.size - PAYLOAD * seq if seq + 1 == self.packets and not self.padded else PAYLOAD
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
    way: list[SwitchPort] = field(default_factory=list)
    """The switches' ports before it."""
    by: int = 0
    """The port of the switch by which it has come."""


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

    def next_asked(self, settings: dict[str, Any]) -> tuple[int, bool] | None:
        """A lost packet or a new one; and whether it goes again."""
        fresh = self.new < self.packets
        if self.lost and not (fresh and settings["repair"] == "new_first"):
            seq = min(self.lost)
            self.lost.remove(seq)
            return seq, True
        if not fresh:
            if not (settings["resend_open"] and self.open):
                return None
            seq = min(self.open)
            self.open.remove(seq)
            return seq, True
        self.end = min(self.end, self.new)
        self.new += 1
        self.check()
        return self.new - 1, False

    def could_ask(self, settings: dict[str, Any]) -> bool:
        """Whether a permit would bring a packet."""
        return bool(self.lost) or self.new < self.packets or (settings["resend_open"] and bool(self.open))

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
        if packet:
            packet.way = self.star.way(packet, self.number)
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
        self.wire(switch)
        self.losses = draw(1, LOSS)
        self.spray = draw(1, SPRAY)
        self.turns: dict[tuple[Message, bool], list[int]] = {}
        """By message and direction: packets so far, and of the last of a burst its number and size."""
        self.last_arrival: dict[int, int] = {}
        self.ties = 0
        for each in self.hosts:
            each.begin()
        for port in itertools.chain(*self.ports):
            port.begin()
        rows = enumerate(sorted(flows, key=lambda row: row[3]))
        self.messages = [Message(i, *row, padded=settings.get("pad_last", False)) for i, row in rows]
        for message in self.messages:
            self.at(message.start, START, lambda m=message: self.hosts[m.src].start(m))
        while self.events:
            self.now, *_, event = heapq.heappop(self.events)
            event()

    def at(self, time: int, rank: int, event: Callable[[], None], order: int = 0) -> None:
        heapq.heappush(self.events, (time, rank, order, next(self.count), event))

    def tally(self, what: str, count: int = 1) -> None:
        self.seen[what] = self.seen.get(what, 0) + count

    def wire(self, switch: type[SwitchPort]) -> None:
        """Makes all ports, numbered as the engine's: by node, hosts first, those of a node in the order of links."""
        count, spines = len(self.hosts), self.settings.get("spines", [])
        self.leaves = 2 if spines else 1
        local = [[host for host in range(count) if host % self.leaves == leaf] for leaf in range(self.leaves)]
        self.ports: list[list[SwitchPort]] = [[] for _ in range(self.leaves + len(spines))]
        """By switch: leaves, then spines."""
        links, self.up = self.links, []
        self.down: list[Port] = []
        for host, (rate, _, delay) in enumerate(links):
            by = host // self.leaves
            self.up.append(Port(self, rate, delay, lambda packet, by=by: self.arrive(packet, by)))
        for leaf, hosts in enumerate(local):
            for host in hosts:
                _, rate, delay = links[host]
                self.ports[leaf].append(switch(self, host, Port(self, rate, delay, self.hosts[host].receive)))
            for rate, delays in spines:
                port = Port(self, rate, delays[leaf], lambda packet, by=leaf: self.arrive(packet, by))
                self.ports[leaf].append(switch(self, -1, port))
        for spine, (rate, delays) in enumerate(spines):
            for leaf, hosts in enumerate(local):
                by = len(hosts) + spine
                port = Port(self, rate, delays[leaf], lambda packet, by=by: self.arrive(packet, by))
                self.ports[self.leaves + spine].append(switch(self, -1, port))
        self.down = [self.last(host).port for host in range(count)]
        for index, port in enumerate(self.up + [each.port for each in itertools.chain(*self.ports)]):
            port.index = index
        for node, ports in enumerate(self.ports):
            for each in ports:
                each.node = node

    def last(self, host: int) -> SwitchPort:
        """The port towards a host."""
        return self.ports[host % self.leaves][host // self.leaves]

    def ways(self, leaf: int, to: int) -> list[list[SwitchPort]]:
        """From a leaf to a host, by spine."""
        if to % self.leaves == leaf:
            return [[self.last(to)]]
        spines = self.ports[self.leaves :]
        uplinks = self.ports[leaf][-len(spines) :]
        return [[up, spine[1 - leaf], self.last(to)] for up, spine in zip(uplinks, spines, strict=True)]

    def way(self, packet: Packet, by: int) -> list[SwitchPort]:
        """Of a packet that a host sends: each of a message and direction takes the next path of a permutation."""
        ways, message, back = self.ways(by % self.leaves, packet.to), packet.message, packet.to == packet.message.src
        turns = self.turns.setdefault((message, back), [0, 0, 0])
        number, (taken, of_burst, size) = turns[0], turns
        short = packet.kind == "probe" or (packet.kind == "data" and packet.unasked and packet.size < size)
        if self.settings["aeolus"] and taken and (short or packet.kind == "probe_ack"):
            number = of_burst if short else taken - 1
        else:
            turns[0] += 1
            if packet.kind == "data" and packet.unasked:
                turns[1:] = [number, packet.size]
        return ways[permuted(hash3(self.spray, message.number, back), number, len(ways))]

    def turn_round(self, packet: Packet, at: SwitchPort) -> None:
        """Sends a header back to its sender, on any shortest way."""
        packet.to, now = packet.message.src, self.now
        if at.node < self.leaves:
            ways = self.ways(at.node, packet.to)
            key = hash3(self.spray, at.port.index << 16 | packet.by, now)
            way = ways[hash3(key, len(self.hosts) + at.node, 0) * len(ways) >> 64]
        else:
            way = [self.ports[at.node][packet.to % self.leaves], self.last(packet.to)]
        turning = min(each.port.delay + lasts(SMALLEST, each.port.rate) for each in self.ports[at.node])
        packet.way = list(way)
        self.at(now + turning, ARRIVAL, lambda: self.arrive(packet, -1))

    def arrive(self, packet: Packet, by: int) -> None:
        port, packet.by = packet.way.pop(0), by
        # The engine decides by a hash which of several comes first.
        self.ties += self.last_arrival.get(port.port.index) == self.now
        self.last_arrival[port.port.index] = self.now
        port.arrive(packet)


def permuted(key: int, number: int, count: int) -> int:
    """Where a number goes in its block of ``count``: swap-or-not (Hoang, Morris, Rogaway 2012), eight rounds."""
    block, at = divmod(number, count)
    for turn in range(8):
        bits = hash3(key, block, turn)
        partner = ((bits * count >> 64) - at) % count
        if mix(bits ^ max(at, partner)) >> 63:
            at = partner
    return at


class SwitchPort:
    """A switch's port, towards a host or another switch."""

    def __init__(self, star: Star, number: int, port: Port) -> None:
        self.star, self.number, self.port, self.node = star, number, port, 0
        self.queues: list[list[Packet]] = [[] for _ in range(8)]
        self.port.turn, self.port.left = self.turn, self.left

    def begin(self) -> None:
        pass

    def arrive(self, packet: Packet) -> None:
        raise NotImplementedError

    def turn(self) -> Packet | None:
        raise NotImplementedError

    def left(self, packet: Packet) -> None:
        pass


class StrictPort(SwitchPort):
    """Eight queues in one buffer, the first served first; under Aeolus it drops selectively."""

    def begin(self) -> None:
        self.waiting = 0

    def arrive(self, packet: Packet) -> None:
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
