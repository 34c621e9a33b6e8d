"""A small simulator of TCP hosts and drop-tail switches, event by event, for comparison with the engine's times.

Written from the RFCs (2018, 3042, 3168, 3465, 5681, 6298, 6582, 6675, 7323, 9438, 9937) in exact picoseconds. It shares
nothing with the engine. Networks are trees. What the RFCs leave open is as in docs/transports.md; at one instant a
node's departures come before its arrivals, those before timeouts, and flows start last.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

US, S = 1_000_000, 10**12
DEPARTURE, ARRIVAL, TIMEOUT, START = range(4)
MSS, HEADER, MIN_FRAME, ON_WIRE = 1460, 58, 64, 20


@dataclass(frozen=True)
class Rules:
    """What all switches and hosts of a run have in common: times in ps, sizes in bytes."""

    buffer: int
    k: int = 0
    """Ports mark above this many bytes, 0 for never."""
    rto_initial: int = S
    rto_min: int = S
    rto_max: int = 60 * S
    ack_segments: int = 2
    ack_delay: int = 40_000 * US
    initial_window: int = 10
    limited_transmit: bool = True
    timestamps: bool = True
    sack: bool = False
    prr: bool = False
    ecn: bool = False
    receive_buffer: int = 4 << 20
    tries: int = 15
    alpha: int = 2
    beta: int = 4
    gamma: int | None = 1
    ticks: bool = False
    """Vegas: its thresholds, and whether it rounds as FreeBSD does."""


@dataclass(eq=False)
class Packet:
    flow: Flow
    to_server: bool
    seq: int = 0
    length: int = 0
    ack: int = 0
    syn: bool = False
    again: bool = False
    value: int = 0
    echo: int = 0
    blocks: tuple[tuple[int, int], ...] = ()
    ect: bool = False
    ce: bool = False
    ece: bool = False
    cwr: bool = False

    @property
    def size(self) -> int:
        return max(MIN_FRAME, HEADER + self.length)


class Port:
    """An egress port: its queue, and its wire to ``peer``."""

    def __init__(self, node: Node, rate: int, delay: int) -> None:
        self.node, self.rate, self.delay = node, rate, delay
        self.peer: Port = self
        self.busy = False
        self.queue: deque[Packet] = deque()
        self.waiting = 0


class Node:
    def __init__(self, net: Network, number: int) -> None:
        self.net, self.number = net, number
        self.ports: list[Port] = []
        self.route: dict[int, Port] = {}

    def send(self, port: Port, packet: Packet) -> None:
        port.queue.append(packet)
        port.waiting += packet.size
        self.net.kick(port)


class Switch(Node):
    """A queue of limited bytes at each port; what is being sent has left it."""

    def arrive(self, packet: Packet) -> None:
        port = self.route[packet.flow.dst if packet.to_server else packet.flow.src]
        if port.waiting + packet.size > self.net.rules.buffer:
            self.net.drops += 1
            return
        self.send(port, packet)


class Host(Node):
    def arrive(self, packet: Packet) -> None:
        (packet.flow.server if packet.to_server else packet.flow.client).arrive(packet)

    def take_back(self, flow: Flow) -> list[Packet]:
        """What a flow that is over has waiting is not sent."""
        port = self.ports[0]
        gone = [packet for packet in port.queue if packet.flow is flow and packet.to_server]
        port.queue = deque(packet for packet in port.queue if packet not in gone)
        port.waiting -= sum(packet.size for packet in gone)
        return gone


class Timer:
    """Calls ``action`` once it is due, unless it has been stopped or set anew."""

    def __init__(self, net: Network, action: Callable[[], None]) -> None:
        self.net, self.action, self.due = net, action, 0

    def set(self, due: int) -> None:
        """``due`` is rounded up to a tick of the clock."""
        self.due = due = -(-due // US) * US
        self.net.at(due, TIMEOUT, lambda: self.fire(due))

    def stop(self) -> None:
        self.due = 0

    def fire(self, due: int) -> None:
        if self.due == due:
            self.due = 0
            self.action()


class Estimator:
    """RFC 6298."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.srtt: float | None = None
        self.rttvar = 0.0
        self.rto = rules.rto_initial

    def sample(self, rtt: int) -> None:
        if self.srtt is None:
            self.srtt, self.rttvar = rtt, rtt / 2
        else:
            self.rttvar += (abs(self.srtt - rtt) - self.rttvar) / 4
            self.srtt += (rtt - self.srtt) / 8
        rto = int(self.srtt + max(US, 4 * self.rttvar))
        self.rto = min(max(rto, self.rules.rto_min), self.rules.rto_max)

    def back_off(self) -> None:
        self.rto = min(2 * self.rto, self.rules.rto_max)


class End:
    """What both ends of a connection have in common."""

    def __init__(self, flow: Flow, host: Host) -> None:
        self.flow, self.host, self.net = flow, host, flow.net
        self.rules = self.net.rules
        self.recent = 0

    @property
    def tick(self) -> int:
        return self.net.now // US

    def put(self, **fields: Any) -> None:
        packet = Packet(self.flow, self is self.flow.client, value=self.tick, echo=self.recent, **fields)
        self.host.send(self.host.ports[0], packet)


class Server(End):
    """Receives: RFC 5681, section 4.2."""

    def __init__(self, flow: Flow, host: Host) -> None:
        super().__init__(flow, host)
        self.established = self.echo = False
        self.expected = self.unacked = self.last_ack = 0
        self.held: list[tuple[int, int]] = []
        self.recency: list[int] = []
        self.delayed = Timer(self.net, self.acknowledge)
        self.timer = Timer(self.net, self.timeout)
        self.rto = self.rules.rto_initial

    def timeout(self) -> None:
        self.net.timeouts += 1
        self.rto = min(2 * self.rto, self.rules.rto_max)
        self.answer()

    def answer(self) -> None:
        self.put(syn=True)
        self.timer.set(self.net.now + self.rto)

    def arrive(self, packet: Packet) -> None:
        if packet.syn:
            self.recent = packet.value
            if self.established:
                self.acknowledge()
            else:
                self.answer()
            return
        self.established = True
        self.timer.stop()
        if packet.value >= self.recent and packet.seq <= self.last_ack:
            self.recent = packet.value
        if packet.length:
            self.data(packet)

    def data(self, packet: Packet) -> None:
        self.echo = (self.echo and not packet.cwr) or packet.ce
        before, end = self.expected, packet.seq + packet.length
        had_gap = bool(self.held)
        if end > self.expected:
            if packet.seq > self.expected:
                self.held = merged([*self.held, (packet.seq, end)])
                self.recency = [packet.seq, *(seq for seq in self.recency if seq != packet.seq)]
            else:
                self.expected = end
                while self.held and self.held[0][0] <= self.expected:
                    self.expected = max(self.expected, self.held.pop(0)[1])
        if self.expected == self.flow.size:
            self.flow.arrived = self.flow.arrived or self.net.now
        self.unacked += 1
        # The last segment stands for one with FIN.
        is_last = self.expected == self.flow.size
        if self.expected == before or had_gap or is_last or self.unacked >= self.rules.ack_segments:
            self.acknowledge()
        elif not self.delayed.due:
            self.delayed.set(self.net.now + self.rules.ack_delay)

    def acknowledge(self) -> None:
        self.unacked, self.last_ack = 0, self.expected
        self.delayed.stop()
        self.put(ack=self.expected, ece=self.echo, blocks=self.blocks() if self.rules.sack else ())

    def blocks(self) -> tuple[tuple[int, int], ...]:
        """RFC 2018: those that have changed last come first, three as fit beside timestamps."""
        found: list[tuple[int, int]] = []
        for seq in self.recency:
            block = next((block for block in self.held if block[0] <= seq < block[1]), None)
            if block and block not in found:
                found.append(block)
        return tuple(found[:3])


class Scoreboard:
    """RFC 6675, section 4, with the default DupThresh."""

    def __init__(self) -> None:
        self.sacked: list[tuple[int, int]] = []
        self.again = self.rescue = 0

    def update(self, blocks: Sequence[tuple[int, int]], una: int) -> int:
        """Returns the bytes that are new; what is below ``una`` is forgotten without being counted."""
        before = sum(b - max(a, una) for a, b in self.sacked if b > una)
        self.sacked = merged([(max(a, una), b) for a, b in [*self.sacked, *blocks] if b > una])
        return sum(b - a for a, b in self.sacked) - before

    def bytes_below(self, seq: int) -> int:
        return sum(min(b, seq) - a for a, b in self.sacked if a < seq)

    def holes(self, una: int, top: int) -> list[tuple[int, int, bool]]:
        """What is missing, and whether it counts as lost."""
        found, begin = [], una
        for i, (start, end) in enumerate([*self.sacked, (top, top)]):
            after = self.sacked[i:]
            if begin < start:
                found.append((begin, start, len(after) >= 3 or sum(b - a for a, b in after) > 2 * MSS))
            begin = end
        return found

    def pipe(self, una: int, top: int) -> int:
        holes = self.holes(una, top)
        return sum((0 if lost else b - a) + max(0, min(b, self.again) - a) for a, b, lost in holes)

    def lost(self, una: int, top: int) -> int:
        return sum(b - a for a, b, lost in self.holes(una, top) if lost)


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for a, b in sorted(ranges):
        if found and a <= found[-1][1]:
            found[-1] = (found[-1][0], max(b, found[-1][1]))
        else:
            found.append((a, b))
    return found


class Client(End):
    """Sends: RFC 5681 with RFC 6582 (no SACK) or RFC 6675 (SACK), RFC 9937 (PRR), RFC 3168 (ECN)."""

    CWR_WITH_ANY = False
    """The next segment tells of a reduction, not the next with new data."""

    def __init__(self, flow: Flow, host: Host) -> None:
        super().__init__(flow, host)
        self.established = self.syn_again = False
        self.una = self.nxt = self.top = 0
        self.control = CONTROL[self.net.cc](self)
        self.recover = self.reduced = -1
        self.duplicates = self.limited = self.inflation = 0
        self.recovering = self.partial = self.cwr = False
        self.estimator = Estimator(self.rules)
        self.timer = Timer(self.net, self.timeout)
        self.tried = 0
        self.timed: tuple[int, int] | None = None
        self.rounds = Marks() if self.rules.gamma is None else OneAtATime()
        self.board = Scoreboard()
        self.prr_delivered = self.prr_out = self.prr_flight = self.allowance = 0

    def start(self) -> None:
        self.timed = None if self.syn_again else (0, self.tick)
        self.put(syn=True)
        self.timer.set(self.net.now + self.estimator.rto)

    def arrive(self, packet: Packet) -> None:
        if self.flow.ended or self.flow.failed:
            return
        self.recent = packet.value
        if packet.syn:
            self.open(packet)
        elif packet.ack >= self.una and self.top > self.una:
            acked = packet.ack - self.una
            used = self.control.is_used(self.flight())
            lost, below = self.board.lost(self.una, self.top), self.board.bytes_below(packet.ack)
            news = self.board.update(packet.blocks, packet.ack)
            delivered = acked - below + news
            if packet.ece:
                self.echo(packet)
            if acked:
                self.advance(packet, used, delivered, lost)
            # RFC 6675, section 2: with SACK whatever tells of more data above
            if not acked if not self.rules.sack else news and not (acked and self.recovering):
                self.duplicate(delivered)
        if not self.flow.ended:
            self.output()

    def open(self, packet: Packet) -> None:
        if self.established:
            self.put(ack=0)
            return
        self.established, self.tried = True, 0
        self.timer.stop()
        self.measure(packet)
        if self.syn_again:
            self.control.cwnd = MSS
            if not self.rules.timestamps:
                self.estimator.rto = min(3 * S, self.rules.rto_max)

    def measure(self, packet: Packet) -> None:
        """A sample with each ACK by timestamps, or of one segment at a time, not sent again (RFC 6298, section 3)."""
        sent = None
        if self.timed and packet.ack >= self.timed[0]:
            sent, self.timed = self.timed[1], None
        if self.rules.timestamps:
            sent = packet.echo
        if sent is not None:
            self.estimator.sample((self.tick - sent) * US)

    def flight(self) -> int:
        return self.top - self.una

    def output(self) -> None:
        if self.recovering and self.rules.sack:
            while self.room() >= MSS and self.next_segment():
                pass
            return
        window = self.control.cwnd + self.inflation
        extra = self.rules.limited_transmit and not self.recovering and 0 < self.duplicates < 3
        if extra and self.nxt == self.top:  # RFC 3042: only data never sent before
            if self.rules.sack:
                window += self.flight() - self.board.pipe(self.una, self.top)
            else:
                window += MSS * self.duplicates
        limit = self.una + min(window, self.rules.receive_buffer)
        while self.nxt < self.flow.size:
            start = next((b for a, b in self.board.sacked if a <= self.nxt < b), self.nxt)
            length = min(MSS, self.flow.size - start)
            if not length or start + length > limit:
                return
            if extra and start + length > self.una + self.control.cwnd:
                self.limited += length
            self.segment(start, length)

    def segment(self, seq: int, length: int) -> None:
        again = seq < self.top
        self.flow.retransmitted += again
        self.timed = None if again else self.timed or (seq + length, self.tick)
        self.rounds.sent(seq, length, again, self.tick)
        self.top = max(self.top, seq + length)
        self.nxt = max(self.nxt, seq + length)
        self.prr_out, self.allowance = self.prr_out + length, self.allowance - length
        new = self.rules.ecn and not again
        cwr = self.cwr and (new or self.CWR_WITH_ANY)
        self.put(seq=seq, length=length, again=again, ect=new, cwr=cwr)
        self.cwr &= not cwr
        if not self.timer.due:
            self.timer.set(self.net.now + self.estimator.rto)

    def room(self) -> int:
        """What a recovery by the scoreboard may send."""
        return self.allowance if self.rules.prr else self.control.cwnd - self.board.pipe(self.una, self.top)

    def next_segment(self) -> bool:
        """RFC 6675, section 4, NextSeg, and section 5, step C."""
        board = self.board
        missing = [(max(a, board.again), b, lost) for a, b, lost in board.holes(self.una, self.top) if b > board.again]
        below = [hole for hole in missing if board.sacked and hole[0] < board.sacked[-1][1]]
        again = next((hole for hole in below if hole[2]), None)
        length = min(MSS, self.flow.size - self.top)
        if again is None and length > 0 and self.top + length <= self.una + self.rules.receive_buffer:
            self.segment(self.top, length)
            return True
        again = again or next(iter(below), None)
        if again:
            length = min(MSS, again[1] - again[0])
            board.again = again[0] + length
            self.segment(again[0], length)
            return True
        holes = board.holes(self.una, self.top)
        if holes and self.una > board.rescue:
            end, board.rescue = holes[-1][1], self.recover
            start = max(holes[-1][0], end - MSS)
            self.segment(start, end - start)
            return True
        return False

    def proportional(self, delivered: int, safe: bool) -> None:
        """RFC 9937, section 6."""
        if not self.rules.prr or not delivered:
            return
        self.prr_delivered += delivered
        pipe, ssthresh = self.board.pipe(self.una, self.top), self.control.ssthresh
        if pipe > ssthresh:
            # As documented, what the proportion allows is rounded up to whole segments.
            count = -(-self.prr_delivered * ssthresh // (self.prr_flight * MSS)) * MSS - self.prr_out
        else:
            count = max(self.prr_delivered - self.prr_out, delivered) + (MSS if safe else 0)
            count = min(ssthresh - pipe, count)
        if not self.prr_out and count <= 0:
            count = MSS
        self.allowance = max(0, count)

    def echo(self, packet: Packet) -> None:
        """RFC 3168, section 6.1.2: once for a window of data."""
        if self.recovering or packet.ack <= self.reduced:
            return
        self.reduced, self.cwr = self.top, True
        self.control.on_mark(self.flight())

    def advance(self, packet: Packet, used: bool, delivered: int, lost: int) -> None:
        acked = packet.ack - self.una
        self.measure(packet)
        echo = packet.echo if self.rules.timestamps else None
        over = self.rounds.acknowledged(self.una, packet.ack, echo, self.tick)
        self.una, self.tried = packet.ack, 0
        self.nxt = max(self.nxt, self.una)
        self.board.again = max(self.board.again, self.una)
        self.duplicates = self.limited = 0
        restart = True  # the retransmission timer
        if self.recovering and self.una >= self.recover:
            self.recovering, self.inflation = False, 0
            self.control.on_recovered(max(self.flight(), MSS) + MSS if not self.rules.sack else 1 << 62)
        elif self.recovering:
            if self.rules.sack:
                self.proportional(delivered, self.board.lost(self.una, self.top) <= lost)
            else:
                self.inflation += (MSS if acked >= MSS else 0) - acked
                self.inflation = max(self.inflation, -self.control.cwnd)
                restart = not self.partial
                self.partial = True
        else:
            self.control.hear(over, used, packet.ece)
            if used and not packet.ece:
                self.control.on_ack(acked)
            else:
                self.control.unused()
        if self.una == self.flow.size:
            self.end()
            return
        if self.flight() == 0:
            self.timer.stop()
        elif restart:
            self.timer.set(self.net.now + self.estimator.rto)
        if self.recovering and not self.rules.sack:
            self.segment(self.una, min(MSS, self.flow.size - self.una))

    def duplicate(self, delivered: int) -> None:
        if self.recovering:
            self.inflation += MSS
            self.proportional(delivered, False)
            return
        self.duplicates += 1
        if self.rules.sack and self.board.lost(self.una, self.top):
            self.duplicates = max(self.duplicates, 3)
        # RFC 6582, section 3.2, step 2; RFC 6675, section 5.1
        if self.duplicates < 3 or self.una <= self.recover - self.rules.sack:
            return
        if self.una >= self.reduced:
            self.control.reduce(self.flight() - self.limited)
            self.reduced, self.cwr = self.top, self.rules.ecn
        self.recover, self.recovering, self.partial = self.top, True, False
        self.inflation = 3 * MSS
        if not self.rules.sack:
            self.segment(self.una, min(MSS, self.flow.size - self.una))
            return
        self.prr_delivered = self.prr_out = 0
        self.prr_flight = self.flight() - sum(b - a for a, b in self.board.sacked) + delivered
        self.board.again = self.una
        if self.rules.prr:
            self.proportional(delivered, False)
        self.board.rescue = self.board.again = min(self.una + MSS, self.board.sacked[0][0])
        self.segment(self.una, self.board.again - self.una)

    def backs_off(self) -> bool:
        """The timer has run out: whether data are to be sent again. After too many times the flow fails."""
        self.tried += 1
        if self.tried > self.rules.tries:
            self.flow.failed = self.net.now
            return False
        self.estimator.back_off()
        self.net.timeouts += 1
        if not self.established:
            self.syn_again = True
            self.start()
        return self.established

    def timeout(self) -> None:
        if not self.backs_off():
            return
        # As documented, with SACK no more counts as in flight than the window.
        in_flight = min(self.flight(), self.control.cwnd) if self.rules.sack else self.flight()
        self.control.on_timeout(in_flight, self.tried == 1)
        self.recover, self.recovering, self.inflation = self.top, False, 0
        self.nxt, self.duplicates, self.limited = self.una, 0, 0
        self.board = Scoreboard()  # RFC 2018, section 8
        self.reduced, self.cwr = self.top, self.rules.ecn
        self.output()

    def end(self) -> None:
        self.flow.ended = self.net.now
        self.timer.stop()
        self.flow.retransmitted -= sum(packet.again for packet in self.host.take_back(self.flow))


@dataclass(frozen=True)
class Round:
    """A round trip that is over: bytes sent in it; its length and the shortest so far, ticks."""

    sent: int
    ticks: int
    lowest: int


class OneAtATime:
    """Vegas as published: a new segment is timed if none is, and not over a retransmission."""

    def __init__(self) -> None:
        self.segments: list[tuple[int, int]] = []  # end and tick of the one that is timed, then of those after it
        self.bytes = 0
        self.lowest: int | None = None

    def sent(self, seq: int, length: int, again: bool, tick: int) -> None:
        if again:
            self.segments, self.bytes = [], 0
        else:
            self.segments.append((seq + length, tick))
            self.bytes += length

    def acknowledged(self, una: int, ack: int, echo: int | None, tick: int) -> Round | None:
        if not self.segments or ack < self.segments[0][0]:
            return None
        covered = [tick - sent for end, sent in self.segments[:2] if end <= ack]
        over = Round(self.bytes, covered[0], covered[-1])
        self.segments, self.bytes = [], 0
        return over


@dataclass(eq=False)
class Sending:
    seq: int
    length: int
    tick: int


class Marks:
    """Vegas as in FreeBSD: any segment is marked if none is, and what it was overtaken by takes its mark."""

    def __init__(self) -> None:
        self.sendings: deque[Sending] = deque()
        self.marked: Sending | None = None
        self.bytes = self.delays = 0
        self.lowest: int | None = None

    def sent(self, seq: int, length: int, again: bool, tick: int) -> None:
        self.sendings.append(Sending(seq, length, tick))
        self.bytes += length
        if self.marked is None:
            self.marked, self.bytes = self.sendings[-1], length

    def acknowledged(self, una: int, ack: int, echo: int | None, tick: int) -> Round | None:
        passed: list[Sending] = []
        last = None
        while self.sendings and last is None:
            first = self.sendings[0]
            if ack <= first.seq + first.length:
                self.guess(ack - una, first.length)
                several = ack - una > min(MSS, first.length)
                if echo is not None and not self.delays and echo < first.tick:
                    break
                if echo is None or echo <= first.tick:
                    if ack <= first.seq:
                        break
                    last = first
                    if several or not self.delays:
                        self.lowest = min(self.lowest or tick, tick - first.tick)
            if last is None and (passed or first is self.marked):
                passed.append(first)
            self.sendings.popleft()
        timed = passed[-1] if passed else last if last is self.marked else None
        if timed is None:
            return None
        self.marked = None
        sent = self.bytes - sum(sending.length for sending in passed[:-1])
        return None if self.lowest is None else Round(sent, tick - timed.tick, self.lowest)

    def guess(self, acked: int, length: int) -> None:
        """How surely ACKs are delayed, in steps up to five."""
        if acked > min(MSS, length):
            self.delays = min(self.delays + 1, 5)
        elif acked in (MSS, length):
            self.delays = max(self.delays - 1, 0)


class NewReno:
    """RFC 5681, RFC 3465. A window in whole bytes."""

    beta = 0.5

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cwnd = client.rules.initial_window * MSS
        self.ssthresh = 1 << 62
        self.counted, self.after_timeout = 0, False

    def is_used(self, flight: int) -> bool:
        """Whether the window is what limits the sender, before an ACK; in slow start half of it is enough.

        A window beyond the peer's limits nobody.
        """
        used = flight + MSS > self.cwnd or (self.cwnd < self.ssthresh and 2 * flight >= self.cwnd)
        return used and self.cwnd <= self.client.rules.receive_buffer

    def unused(self) -> None:
        """An ACK with which the window must not grow."""

    def hear(self, over: Round | None, used: bool, marked: bool) -> None:
        """An ACK, before its growth, and the round trip it ends."""

    def on_ack(self, acked: int) -> None:
        if self.cwnd < self.ssthresh:
            self.cwnd += min(acked, MSS if self.after_timeout else 2 * MSS)
        else:
            self.avoid(acked)
        self.after_timeout &= self.cwnd < self.ssthresh

    def avoid(self, acked: int) -> None:
        self.counted += acked
        if self.counted >= self.cwnd:
            self.counted -= self.cwnd
            self.cwnd += MSS

    def reduce(self, flight: int, least: int = 2 * MSS) -> None:
        kept = flight // 2 if self.beta == 0.5 else round(flight * self.beta)
        self.ssthresh, self.cwnd = max(kept, 2 * MSS), max(kept, least)
        self.counted, self.after_timeout = 0, False

    def on_mark(self, flight: int) -> None:
        self.reduce(self.cwnd, MSS)

    def on_recovered(self, limit: int) -> None:
        self.cwnd = min(self.ssthresh, limit)

    def on_timeout(self, flight: int, first: bool) -> None:
        if first:
            self.reduce(flight)
        self.cwnd, self.counted, self.after_timeout = MSS, 0, True


class Cubic(NewReno):
    """RFC 9438. Windows in segments are W_max, W_est and so on."""

    beta, c = 0.7, 0.4

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.epoch: int | None = None
        self.w_max = self.w_est = self.k = self.prior = self.part = 0.0
        self.heard = 0
        self.from_here = True

    def on_ack(self, acked: int) -> None:
        super().on_ack(acked)
        self.heard = self.client.net.now

    def unused(self) -> None:
        now = self.client.net.now
        if self.epoch is not None:  # section 5.8
            self.epoch += now - self.heard
        self.heard = now

    def avoid(self, acked: int) -> None:
        now, cwnd = self.client.net.now, self.cwnd / MSS
        if self.epoch is None:
            self.epoch, self.w_est, self.k = now, cwnd, 0.0
            if self.from_here:
                self.w_max = cwnd
            else:
                self.k = math.cbrt(max(0.0, self.w_max - cwnd) / self.c)
        t, srtt = (now - self.epoch) / S, (self.client.estimator.srtt or 0) / S
        self.w_est += (3 * (1 - self.beta) / (1 + self.beta) if self.w_est < self.prior else 1) * acked / MSS / cwnd
        if self.c * (t - self.k) ** 3 + self.w_max < self.w_est:
            self.part += max(0.0, self.w_est - cwnd) * MSS
        else:
            target = min(max(self.c * (t + srtt - self.k) ** 3 + self.w_max, cwnd), 1.5 * cwnd)
            self.part += (target - cwnd) / cwnd * acked
        self.cwnd += int(self.part)  # whole bytes
        self.part %= 1

    def reduce(self, flight: int, least: int = 2 * MSS) -> None:
        cwnd = self.prior = self.cwnd / MSS
        self.w_max = cwnd * (1 + self.beta) / 2 if cwnd < self.w_max else cwnd
        self.epoch, self.from_here, self.part = None, False, 0.0
        super().reduce(flight, least)

    def on_mark(self, flight: int) -> None:
        self.reduce(flight, MSS)

    def on_timeout(self, flight: int, first: bool) -> None:
        super().on_timeout(flight, first)
        self.epoch, self.from_here = None, True


class Vegas(NewReno):
    """Brakmo and Peterson, JSAC 1995, section 4; what that leaves open, and FreeBSD's, as in docs/transports.md."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.rules = client.rules
        self.base: int | None = None
        self.grows = True

    def hear(self, over: Round | None, used: bool, marked: bool) -> None:
        if over is None:
            return
        self.base = min(self.base or over.lowest, over.lowest)
        held = over.sent * self.base // max(over.ticks, 1)
        diff, few = self.cwnd - held, self.cwnd - held <= self.rules.alpha * MSS
        if self.rules.ticks:
            base = self.base + 1
            diff = int((self.cwnd // base - over.sent // (over.ticks + 1)) * base / MSS) * MSS
            few = diff < self.rules.alpha * MSS
        if self.rules.gamma is None:
            self.freebsd(few, diff > self.rules.beta * MSS, marked)
        elif used and not marked:
            if self.cwnd < self.ssthresh:
                if diff > self.rules.gamma * MSS:
                    self.cwnd = max(min(self.cwnd, held + MSS), 2 * MSS)
                    self.ssthresh = self.cwnd
            elif diff > self.rules.beta * MSS:
                self.down()
            elif few:
                self.cwnd += MSS

    def freebsd(self, few: bool, many: bool, marked: bool) -> None:
        if few and self.cwnd < self.ssthresh:
            self.grows = not self.grows
        elif few:
            self.grows = False
            self.cwnd += MSS
        elif many:
            self.grows = False
            if not marked:
                self.down()

    def down(self) -> None:
        self.cwnd = max(self.cwnd - MSS, 2 * MSS)
        self.ssthresh = min(self.ssthresh, self.cwnd)

    def on_ack(self, acked: int) -> None:
        if self.grows:
            super().on_ack(acked)

    def avoid(self, acked: int) -> None:
        if self.rules.gamma is None:
            super().avoid(acked)

    def reduce(self, flight: int, least: int = 2 * MSS) -> None:
        super().reduce(flight, least)
        self.grows = self.rules.gamma is not None

    def on_timeout(self, flight: int, first: bool) -> None:
        grows = self.grows
        super().on_timeout(flight, first)
        self.grows = grows


CONTROL = {"new_reno": NewReno, "cubic": Cubic, "vegas": Vegas}


class Flow:
    def __init__(self, net: Network, src: int, dst: int, size: int) -> None:
        self.net, self.src, self.dst, self.size = net, src, dst, size
        self.retransmitted = self.arrived = self.ended = self.failed = 0
        self.client, self.server = net.ends(self, net.hosts[src], net.hosts[dst])


class Network:
    """A run. A link is two nodes, rate and delay; a flow from, to, bytes and start."""

    def __init__(
        self,
        hosts: int,
        switches: int,
        links: Sequence[tuple[int, int, int, int]],
        flows: Sequence[tuple[int, int, int, int]],
        rules: Rules,
        cc: str,
    ) -> None:
        self.rules, self.cc, self.now, self.count = rules, cc, 0, itertools.count()
        self.events: list[tuple[int, int, int, Callable[[], None]]] = []
        self.drops = self.timeouts = self.ties = self.marks = 0
        self.arrivals: dict[int, tuple[int, Port]] = {}
        self.hosts = [self.host(i) for i in range(hosts)]
        self.nodes: list[Node] = [*self.hosts, *(self.switch(hosts + i) for i in range(switches))]
        for a, b, rate, delay in links:
            ends = [Port(self.nodes[node], rate, delay) for node in (a, b)]
            for port, peer in zip(ends, reversed(ends), strict=True):
                port.peer = peer
                port.node.ports.append(port)
        for host in self.hosts:
            self.look_from(host.ports[0], host.number)
        self.flows = []
        for src, dst, size, start in sorted(flows, key=lambda flow: flow[3]):
            flow = Flow(self, src, dst, size)
            self.flows.append(flow)
            self.at(start, START, flow.client.start)
        while self.events:
            self.now, _, _, event = heapq.heappop(self.events)
            event()

    def host(self, number: int) -> Host:
        return Host(self, number)

    def switch(self, number: int) -> Switch:
        return Switch(self, number)

    def ends(self, flow: Flow, client: Host, server: Host) -> tuple[Client, Server]:
        return Client(flow, client), Server(flow, server)

    def look_from(self, out: Port, host: int) -> None:
        """Routes towards ``host`` behind its link."""
        node = out.peer.node
        node.route[host] = out.peer
        for port in node.ports:
            if port is not out.peer:
                self.look_from(port, host)

    def at(self, time: int, rank: int, event: Callable[[], None]) -> None:
        heapq.heappush(self.events, (time, rank, next(self.count), event))

    def kick(self, port: Port) -> None:
        if port.busy or not port.queue:
            return
        packet = port.queue.popleft()
        port.waiting -= packet.size
        if isinstance(port.node, Switch) and packet.ect and 0 < self.rules.k < port.waiting:
            packet.ce, self.marks = True, self.marks + 1
        free = self.now + -(-(packet.size + ON_WIRE) * 8 * S // port.rate)
        port.busy = True
        self.at(free, DEPARTURE, lambda: self.depart(port))
        self.at(free + port.delay, ARRIVAL, lambda: self.arrive(port.peer, packet))

    def depart(self, port: Port) -> None:
        port.busy = False
        self.kick(port)

    def arrive(self, port: Port, packet: Packet) -> None:
        time, other = self.arrivals.get(port.node.number, (0, port))
        self.ties += time == self.now and other is not port
        self.arrivals[port.node.number] = (self.now, port)
        port.node.arrive(packet)
