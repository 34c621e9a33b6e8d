"""A small model of NDP over one switch, written from docs/transports.md and docs/parameters.md."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field

from models.draws import draw, hash3
from models.star import (
    FULL,
    SMALLEST,
    TIMEOUT,
    Burst,
    Host,
    Message,
    Packet,
    Star,
    StrictPort,
    SwitchPort,
    lasts,
)

HIGH, LOW = 0, 1
ECN, TRANSPORT = 7, 14
NEVER = 1 << 62


class TrimmingPort(SwitchPort):
    """Two short queues; each holds a packet until its last bit has left."""

    def begin(self) -> None:
        self.held = [0, 0]
        self.headers = 0
        """Headers served in a row while data waited."""

    def push(self, packet: Packet) -> None:
        self.queues[packet.level].append(packet)
        self.held[packet.level] += packet.size

    def arrive(self, packet: Packet) -> None:
        settings, star = self.star.settings, self.star
        if packet.level == LOW:
            limit, waiting = settings["data_packets"] * FULL, self.queues[LOW]
            if self.held[LOW] + packet.size > limit:
                star.tally("trimmed")
                coin = hash3(star.coins, self.port.index << 16 | packet.by, star.now) >> 63
                if coin and waiting and self.held[LOW] - waiting[-1].size + packet.size <= limit:
                    tail = waiting.pop()
                    self.held[LOW] -= tail.size
                    self.push(packet)
                    packet = tail
                packet.kind, packet.level, packet.size = "header", HIGH, SMALLEST
        if packet.level == LOW or self.held[HIGH] + packet.size <= settings["header_packets"] * FULL:
            self.push(packet)
        elif packet.kind == "header" and settings["return_to_sender"]:
            star.tally("returned")
            packet.kind = "returned"
            star.turn_round(packet, self)
        else:
            star.tally("dropped")
        self.port.kick()

    def turn(self) -> Packet | None:
        high, low = self.queues[HIGH], self.queues[LOW]
        if high and (not low or self.headers < self.star.settings["headers_per_data"]):
            self.headers += bool(low)
            return high.pop(0)
        if low:
            self.headers = 0
            return low.pop(0)
        return None

    def left(self, packet: Packet) -> None:
        self.held[packet.level] -= packet.size


@dataclass
class Sending:
    burst: Burst
    """The first window."""
    rto: int
    verdict_at: int = NEVER
    """When the probe's answer counts."""
    permits: int = 0
    pulled: int = 0
    acked: set[int] = field(default_factory=set)
    answered: int = 0
    """ACKs and NACKs, each of which a pull follows, and packets that the probe missed."""
    probe_at: int = 0
    in_flight: dict[int, int] = field(default_factory=dict)
    """When packets were sent of which nothing has been heard, the oldest first."""
    active: int = 0
    """Last time anything was sent or heard."""
    waits: int = 0
    unasked: bool = False
    recent: list[int] = field(default_factory=lambda: [0, 0])
    """ACKs among the recent answers, and all."""


@dataclass
class Receiving:
    got: set[int] = field(default_factory=set)
    owed: int = 0
    done: bool = False
    probed: bool = False
    pulled: int = 0
    followed: int = 0
    """Pulls that a packet has come for."""


class NdpHost(Host):
    def begin(self) -> None:
        super().begin()
        self.sending: dict[Message, Sending] = {}
        self.timers: dict[Message, int] = {}
        self.receiving: dict[Message, Receiving] = {}
        self.answers: deque[Packet] = deque()
        self.rings: tuple[deque[Message], deque[Message]] = (deque(), deque())
        """Messages with repairs to send, and with other packets, each in turn."""
        self.pulls: list[Message] = []
        self.served: tuple[int, int] | None = None
        """Place of the message that was pulled for last: those behind have their turns before those up to it."""
        self.next_pull = 0
        self.pacing = False
        self.outstanding = 0
        """Pulls for which no packet has come."""
        self.key = hash3(draw(1, TRANSPORT), self.number, 0)
        self.spacing = int(lasts(FULL, self.star.down[self.number].rate) * self.settings["pull_spacing"])

    def start(self, message: Message) -> None:
        packets, window = message.packets, self.settings["first_window"]
        probe = "" if self.settings["aeolus"] else "none"
        rto, jitter = self.settings["rto"], self.settings["rto_jitter"]
        if jitter:
            width = rto * jitter // 100
            rto += (hash3(self.key, message.number, 0) * (2 * width + 1) >> 64) - width
        burst = Burst(packets, min(packets, window), probe=probe)
        self.sending[message] = Sending(burst, rto, active=self.star.now)
        self.list(message)
        self.port.kick()

    def repairs(self, state: Sending) -> bool:
        late = self.settings["repair"] == "new_first" and state.burst.new < state.burst.packets
        return state.permits > 0 and bool(state.burst.lost) and not late

    def others(self, state: Sending) -> bool:
        burst = state.burst
        return burst.in_burst() or burst.probe == "owed" or (state.permits > 0 and burst.could_ask(self.settings))

    def has_more(self, burst: Burst) -> bool:
        return bool(burst.lost) or burst.new < burst.packets

    def list(self, message: Message) -> None:
        state = self.sending[message]
        for ring, has in zip(self.rings, (self.repairs(state), self.others(state)), strict=True):
            if has and message not in ring:
                ring.append(message)
        self.watch(message)

    def receive(self, packet: Packet) -> None:
        message, now = packet.message, self.star.now
        if packet.kind in ("data", "header", "probe"):
            self.answer(packet)
        elif message in self.sending:
            state = self.sending[message]
            state.active = now
            if packet.kind in ("ack", "nack", "returned"):
                self.heard(state, packet)
            elif packet.kind == "probe_ack" and not self.settings["verdict_delay"]:
                self.condemn(state)
            elif packet.kind == "probe_ack" and state.burst.probe == "sent":
                state.verdict_at = min(state.verdict_at, now + self.settings["verdict_delay"])
            if packet.kind == "done" or len(state.acked) == message.packets:
                message.ended = now
                self.star.tally("wasted", state.permits + max(0, (packet.more or 0) - state.pulled))
                del self.sending[message]
                self.port.kick()
                return
            if packet.more:
                if self.settings["stop"]:
                    state.burst.stop()
                steps = max(0, packet.more - state.pulled)
                state.permits += steps
                if steps and state.unasked:
                    state.unasked = False
                    # Two at once: pulls before this one were lost.
                    state.waits -= steps > 1 and state.waits > 0
                state.pulled = max(state.pulled, packet.more)
            self.discard(state)
            self.list(message)
        elif packet.more:
            self.star.tally("wasted")
        self.port.kick()

    def condemn(self, state: Sending) -> None:
        """The probe's answer counts: the receiver pulls for what it condemns, if it does."""
        state.answered += state.burst.answered() * self.settings["pull_missing"]

    def heard(self, state: Sending, packet: Packet) -> None:
        """What became of a packet."""
        acked, seq, recent = packet.kind == "ack", packet.seq, state.recent
        recent[:] = [recent[0] + acked, recent[1] + 1]
        if recent[1] == 32:
            recent[:] = [recent[0] // 2, 16]
        state.answered += packet.kind != "returned"
        state.in_flight.pop(seq, None)
        burst = state.burst
        if acked:
            state.acked.add(seq)
            burst.acked(seq, ordered=False)
            return
        if seq not in state.acked and seq not in burst.lost:
            burst.lost.add(seq)
            burst.open.discard(seq)
            if packet.kind == "returned" and self.at_once(state):
                state.permits += 1

    def at_once(self, state: Sending) -> bool:
        expects = state.answered > state.pulled or state.permits > 0 or state.burst.in_burst()
        acks, answers = state.recent
        few = len(state.burst.open) <= 1
        return (not expects and few) or 100 * acks >= self.settings["returned_ack_share"] * answers

    def discard(self, state: Sending) -> None:
        if not self.settings["keep_idle_pulls"] and not state.burst.could_ask(self.settings):
            early = min(max(0, state.pulled - state.answered), state.permits)
            self.star.tally("wasted", state.permits - early)
            state.permits = early

    def deadline(self, state: Sending) -> int:
        rto, sent = state.rto, list(itertools.islice(state.in_flight.values(), 1))
        if state.burst.probe == "sent":
            sent.append(state.probe_at)
        first = min([at + rto for at in sent] + [state.verdict_at])
        if first < NEVER:
            return first
        return state.active + (rto << state.waits if state.answered > state.pulled else rto)

    def watch(self, message: Message) -> None:
        """Sets the timer, where none is set that runs out before."""
        due = self.deadline(self.sending[message])
        if due < self.timers.get(message, due + 1):
            self.timers[message] = due
            self.star.at(due, TIMEOUT, lambda: self.timeout(message, due))

    def timeout(self, message: Message, due: int) -> None:
        if self.timers.get(message) != due:
            return
        del self.timers[message]
        state = self.sending.get(message)
        if state is None:
            return
        if state.verdict_at <= self.star.now:
            state.verdict_at = NEVER
            self.condemn(state)
        elif self.deadline(state) <= self.star.now:
            self.star.tally("timeouts")
            self.expire(state, message)
        self.list(message)
        self.port.kick()

    def expire(self, state: Sending, message: Message) -> None:
        now, burst, rto = self.star.now, state.burst, state.rto
        if burst.probe == "sent" and state.probe_at + rto <= now:
            burst.probe = "owed"
            state.active = now
            return
        if state.answered > state.pulled:
            state.waits, state.unasked = min(6, state.waits + 1), True
        late = {seq for seq, sent in state.in_flight.items() if sent + rto <= now}
        for seq in late:
            del state.in_flight[seq]
        burst.open -= late
        burst.lost |= late
        if not self.has_more(burst):
            first = min(set(range(message.packets)) - state.acked)
            burst.lost.add(first)
            burst.open.discard(first)
        state.permits = max(state.permits, 1)
        state.active = now

    def answer(self, packet: Packet) -> None:
        message, now = packet.message, self.star.now
        state = self.receiving.setdefault(message, Receiving())
        full = not self.room()
        if packet.kind in ("data", "header") and not packet.unasked and state.followed < state.pulled:
            state.followed += 1
            self.outstanding -= 1
        if packet.kind == "data":
            state.got.add(packet.seq)
        kind = "done" if state.done else "ack" if packet.seq in state.got else "nack"
        pulls = 1
        if packet.kind == "probe":
            pulls = 0
            if not state.done:
                kind = "probe_ack"
            if not state.done and not state.probed:
                state.probed = True
                pulls = len(set(range(packet.seq)) - state.got) if self.settings["pull_missing"] else 0
        reply = Packet(kind, message, message.src, HIGH, seq=packet.seq)
        self.answers.append(reply)
        if state.done:
            return
        if full and packet.kind != "probe":
            self.next_pull = max(now, self.next_pull)
        if len(state.got) == message.packets:
            turn = not self.pulls and now >= self.next_pull
            message.arrived, state.done = now, True
            self.outstanding -= state.pulled - state.followed
            state.followed = state.pulled
            if message in self.pulls:
                self.pulls.remove(message)
            pulls = 0
            if turn and self.room():
                self.next_pull = now + self.spacing
        if pulls and not self.pulls and now >= self.next_pull and self.room():
            self.permit(reply)
            pulls -= 1
        if pulls:
            state.owed += pulls
            if message not in self.pulls:
                self.pulls.append(message)
        self.pace()

    def room(self) -> bool:
        return self.outstanding < self.settings["pull_limit"]

    def permit(self, packet: Packet) -> None:
        state = self.receiving[packet.message]
        state.pulled += 1
        self.outstanding += 1
        packet.more = state.pulled
        self.next_pull = self.star.now + self.spacing
        self.star.tally("permits")

    def pace(self) -> None:
        """Once per packet's time, whatever the link is doing."""
        if self.pulls and not self.pacing and self.room():
            self.pacing = True
            self.star.at(self.next_pull, TIMEOUT, self.pull)

    def place(self, message: Message) -> tuple[int, int]:
        """By sender, those of a sender as they became known."""
        return message.src, list(self.receiving).index(message)

    def turn_of(self, message: Message) -> tuple[bool, tuple[int, int]]:
        return self.served is not None and self.place(message) <= self.served, self.place(message)

    def pull(self) -> None:
        self.pacing = False
        if self.pulls and self.room():
            message = min(self.pulls, key=self.turn_of)
            state = self.receiving[message]
            state.owed -= 1
            if not state.owed:
                self.pulls.remove(message)
            behind = any(self.place(other) > self.place(message) for other in self.pulls)
            self.served = self.place(message) if behind else None
            packet = Packet("pull", message, message.src, HIGH)
            self.permit(packet)
            self.answers.append(packet)
            self.pace()
            self.port.kick()

    def turn(self) -> Packet | None:
        if self.answers:
            return self.answers.popleft()
        for ring in self.rings:
            while ring:
                message = ring.popleft()
                state = self.sending.get(message)
                if state is None:
                    continue
                if ring is self.rings[0]:
                    if not self.repairs(state):
                        continue
                elif not self.others(state):
                    continue
                return self.send(message, state)
        return None

    def send(self, message: Message, state: Sending) -> Packet:
        burst, now = state.burst, self.star.now
        again = unasked = False
        if self.repairs(state) or (not burst.in_burst() and burst.probe != "owed"):
            found = burst.next_asked(self.settings)
            assert found
            seq, again = found
            state.permits -= 1
        elif burst.in_burst():
            seq, unasked = burst.next_unasked(), True
        else:
            burst.probe, state.probe_at, state.active = "sent", now, now
            self.star.tally("probes")
            self.list(message)
            return Packet("probe", message, message.dst, LOW, seq=burst.end)
        state.active = now
        if not (unasked and self.settings["aeolus"]):
            # Sent again it is the last.
            state.in_flight.pop(seq, None)
            state.in_flight[seq] = now
        self.discard(state)
        self.list(message)
        return Packet("data", message, message.dst, LOW, message.frame(seq), seq, again=again, unasked=unasked)


class NdpStar(Star):
    def __init__(self, links, flows, settings) -> None:
        self.coins = draw(1, ECN)
        super().__init__(links, flows, NdpHost, StrictPort if settings["aeolus"] else TrimmingPort, settings)
