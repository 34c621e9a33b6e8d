"""A small model of ExpressPass over one switch, written from docs/transports.md and docs/parameters.md."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from models.draws import draw, hash3
from models.star import (
    DEPARTURE,
    FULL,
    LAST,
    SMALLEST,
    TIMEOUT,
    WIRE,
    Burst,
    Host,
    Message,
    Packet,
    Port,
    S,
    Star,
    SwitchPort,
)

CREDIT, DATA, LOW = 0, 1, 2
TRANSPORT = 14
NEVER = 1 << 62
COMPLETE = "complete"
MEAN = SMALLEST + WIRE
SHARE = MEAN + FULL + WIRE


def slower(star: Star, host: int) -> int:
    """Rate of the slower direction of a host's link."""
    return min(star.links[host][:2])


class Shaper:
    """A port's credits: a bucket that fills at their share of the link, and a short queue."""

    def __init__(self, star: Star, number: int, port: Port, rank: int) -> None:
        self.star, self.port, self.rank = star, port, rank
        self.queue: deque[Packet] = deque()
        # Tokens are parts of a byte of which the link adds a whole number per picosecond.
        self.gain, self.part = slower(star, number) * MEAN, 8 * S * SHARE
        self.tokens = self.at = 0
        self.alarm = NEVER

    def admit(self, credit: Packet) -> bool:
        if sum(each.size for each in self.queue) + credit.size > self.star.settings["credit_queue"] * SMALLEST:
            self.star.tally("credits lost")
            return False
        self.queue.append(credit)
        return True

    def pop(self, others: bool) -> Packet | None:
        """The first credit, if it may go now; otherwise, where nothing else waits, the port is woken when it may."""
        if not self.queue:
            return None
        now = self.star.now
        full = self.star.settings["credit_burst"] * MEAN * self.part
        self.tokens, self.at = min(full, self.tokens + (now - self.at) * self.gain), now
        need = (self.queue[0].size + WIRE) * self.part
        if need <= self.tokens:
            self.tokens -= need
            return self.queue.popleft()
        if not others:
            ready = now - (self.tokens - need) // self.gain
            if ready != self.alarm:
                self.alarm = ready
                self.star.at(ready, self.rank, self.port.kick, LAST)
        return None


class CreditPort(SwitchPort):
    def begin(self) -> None:
        self.shaper = Shaper(self.star, self.number, self.port, DEPARTURE)
        self.waiting = 0

    def arrive(self, packet: Packet) -> None:
        if packet.level == CREDIT:
            self.shaper.admit(packet)
        elif packet.unasked and self.star.settings["aeolus"] and self.waiting >= self.star.settings["threshold"]:
            self.star.tally("dropped")
            self.star.tally("unasked lost")
        elif self.waiting + packet.size > self.star.settings["buffer"]:
            self.star.tally("dropped")
            if packet.unasked:
                self.star.tally("unasked lost")
        else:
            self.waiting += packet.size
            self.queues[packet.level].append(packet)
        self.port.kick()

    def turn(self) -> Packet | None:
        data = self.queues[DATA] or self.queues[LOW]
        credit = self.shaper.pop(bool(data))
        if credit or not data:
            return credit
        packet = data.pop(0)
        self.waiting -= packet.size
        return packet


@dataclass
class Sending:
    message: Message
    burst: Burst | None
    """With Aeolus and priority queueing."""
    sent: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    """Priority queueing: when packets went of which nothing has been heard, on credits and unasked."""
    again: set[int] = field(default_factory=set)
    """Priority queueing: to be sent unasked again."""
    vain: bool = False
    dues: set[int] = field(default_factory=set)
    """A credit has come in vain since the last stop."""
    state: str = ""
    probe_at: int = NEVER
    next: int = 0
    high: int = 0
    rtt: int = 0
    asked_at: int = 0
    fresh: bool = True
    """The request has not been repeated."""
    credits: int = 0
    check_at: int = 0
    timer: int = NEVER

    def remaining(self) -> int:
        burst = self.burst
        if not burst:
            return self.message.packets - self.next
        # Under priority queueing what was sent counts as on its way until its timeout.
        return burst.remaining() - (len(burst.open) if burst.probe == "none" else 0)

    def first_new(self) -> int:
        return self.burst.new if self.burst else self.next


@dataclass
class Receiving:
    message: Message
    number: int
    """Among those of its host, from 1."""
    got: int = 0
    """Packets that have arrived in order."""
    rest: set[int] = field(default_factory=set)
    """With Aeolus, those beyond."""
    named: int = 0
    """End of what the last NACK covers."""
    credit: int = 0
    expected: int = 0
    """Numbers of the next credit, and of the next to come back."""
    rate: float = 0.0
    w: float = 0.0
    up: bool = False
    total: int = 0
    dropped: int = 0
    since: int = 0
    srtt: float = 0.0
    credit_at: int = NEVER
    nack_at: int = NEVER


class ExpressPassHost(Host):
    def begin(self) -> None:
        super().begin()
        self.key = hash3(draw(1, TRANSPORT), self.number, 0)
        self.most = slower(self.star, self.number) / 8 * MEAN / SHARE
        self.shaper = Shaper(self.star, self.number, self.port, TIMEOUT)
        self.go_back_n = not self.settings["aeolus"] and not self.settings["priority"]
        self.data: deque[Packet] = deque()
        self.bursting: deque[Sending] = deque()
        """Senders with packets that they may send unasked, in turn."""
        self.sending: dict[Message, Sending] = {}
        self.receiving: dict[Message, Receiving] = {}

    def turn(self) -> Packet | None:
        while True:
            packet = self.shaper.pop(bool(self.data or self.bursting))
            if packet or not (self.data or self.bursting):
                return packet
            packet = self.data.popleft() if self.data else self.unasked()
            if packet:
                return packet

    def unasked(self) -> Packet | None:
        while self.bursting:
            state = self.bursting.popleft()
            message, burst = state.message, state.burst
            again = not burst.in_burst()
            if again and not state.again:
                continue
            seq = min(state.again) if again else burst.next_unasked()
            state.again.discard(seq)
            self.more_unasked(state)
            self.probe(state)
            packet = Packet("data", message, message.dst, DATA, message.frame(seq), seq, again=again, unasked=True)
            if self.settings["priority"]:
                packet.level = LOW
                self.went(state, packet)
            return packet
        return None

    def more_unasked(self, state: Sending) -> None:
        if (state.burst.in_burst() or state.again) and state not in self.bursting:
            self.bursting.append(state)

    def went(self, state: Sending, packet: Packet) -> None:
        state.sent[packet.unasked][packet.seq] = self.star.now
        self.watch(state)

    def watch(self, state: Sending) -> None:
        """Sets the timers of the packets sent longest ago."""
        for sent, rto in zip(state.sent, self.rto(), strict=True):
            if sent:
                due = next(iter(sent.values())) + rto
                if due not in state.dues:
                    state.dues.add(due)
                    self.star.at(due, TIMEOUT, lambda: self.late(state))

    def rto(self) -> tuple[int, int]:
        return self.settings["rto_scheduled"], self.settings["rto_unscheduled"]

    def late(self, state: Sending) -> None:
        now = self.star.now
        if state.message not in self.sending:
            return
        lost = False
        for unasked, (sent, rto) in reversed(list(enumerate(zip(state.sent, self.rto(), strict=True)))):
            for seq in [seq for seq, at in sent.items() if at + rto <= now]:
                del sent[seq]
                self.star.tally("timeouts")
                if unasked and self.settings["late_repair"] == "at_once":
                    state.again.add(seq)
                elif seq not in state.burst.lost:
                    state.burst.lost.add(seq)
                    state.burst.open.discard(seq)
                    lost = True
        if lost and state.state == "stopped":
            self.request(state)
        self.more_unasked(state)
        self.watch(state)
        self.wake(now)

    def probe(self, state: Sending) -> None:
        """Sends the probe, where it is due."""
        if not state.burst or state.burst.probe != "owed":
            return
        state.burst.probe = "sent"
        if state in self.bursting:
            self.bursting.remove(state)
        asks = self.settings["request_in_probe"] and state.state == "asking"
        if not state.burst.end and not asks:
            return
        message, due = state.message, self.star.now + self.settings["retransmit_timeout"]
        self.star.tally("probes")
        self.control("probe", message, message.dst, state.burst.end, state.remaining() if asks else None)
        state.probe_at = due
        if asks:
            state.asked_at = self.star.now
            self.set(state, self.settings["retransmit_timeout"])

        def again() -> None:
            if state.probe_at == due and message in self.sending:
                self.star.tally("timeouts")
                state.burst.probe = "owed"
                self.probe(state)
                self.wake(due)

        self.star.at(due, TIMEOUT, again)

    def control(self, kind: str, message: Message, to: int, seq: int = 0, more: Any = None) -> None:
        self.data.append(Packet(kind, message, to, DATA, seq=seq, more=more))

    def start(self, message: Message) -> None:
        packets, settings = message.packets, self.settings
        burst = None
        if settings["aeolus"] or settings["priority"]:
            burst = Burst(packets, min(packets, settings["burst"]), probe="none" if settings["priority"] else "")
        state = self.sending[message] = Sending(message, burst)
        if settings["aeolus"] and settings["request_in_probe"]:
            state.state, state.fresh, state.asked_at = "asking", True, self.star.now
        else:
            self.request(state)
        if burst:
            self.bursting.append(state)
        self.port.kick()

    def receive(self, packet: Packet) -> None:
        message = packet.message
        if message.dst == self.number:
            self.hear(packet)
        elif message in self.sending:
            self.told(self.sending[message], packet)
        elif packet.kind == "credit":
            self.star.tally("wasted")
        self.port.kick()

    # ---- The sender.

    def told(self, state: Sending, packet: Packet) -> None:
        message, burst = state.message, state.burst
        if packet.kind == "credit":
            self.spend(state, packet)
        elif packet.more == COMPLETE:
            message.ended = self.star.now
            del self.sending[message]
            self.data = deque(p for p in self.data if p.message is not message)
            if state in self.bursting:
                self.bursting.remove(state)
        elif packet.kind == "nack":
            if not burst:
                if packet.seq >= state.next:
                    return
                state.next = packet.seq
            else:
                burst.lost |= {seq for seq in packet.more if seq < burst.new}
                burst.open -= burst.lost
            if state.state == "stopped" and state.remaining():
                self.request(state)
        elif burst:
            if packet.kind == "ack":
                for sent in state.sent:
                    sent.pop(packet.seq, None)
                state.again.discard(packet.seq)
                burst.acked(packet.seq, ordered=self.settings["aeolus"])
            else:
                state.probe_at = NEVER
                burst.answered()
            if state.state == "receiving" and not state.remaining():
                self.stop(state)

    def request(self, state: Sending) -> None:
        state.state, state.fresh, state.asked_at = "asking", True, self.star.now
        self.control("request", state.message, state.message.dst, state.first_new(), state.remaining())
        self.set(state, self.settings["retransmit_timeout"])

    def set(self, state: Sending, wait: int) -> None:
        state.timer = due = self.star.now + wait
        self.star.at(due, TIMEOUT, lambda: self.timeout(state, due))

    def spend(self, state: Sending, credit: Packet) -> None:
        now, message, settings, burst = self.star.now, state.message, self.settings, state.burst
        if burst and settings["stop"]:
            burst.stop()
            self.probe(state)
        if state.state == "asking":
            if state.fresh or not state.rtt:
                state.rtt = max(state.rtt, now - state.asked_at)
            state.state, state.check_at, state.credits = "receiving", now, 0
        found = self.go_on(state)
        # Where the credit has taken the last of the burst.
        self.probe(state)
        if found:
            seq, again = found
            packet = Packet("data", message, message.dst, DATA, message.frame(seq), seq, credit.more, again)
            self.data.append(packet)
            if settings["priority"]:
                self.went(state, packet)
        else:
            self.star.tally("wasted")
            state.vain = True
        if state.state == "stopped":
            if state.timer == NEVER:
                self.set(state, state.rtt)
            return
        state.credits += 1
        self.set(state, settings["credit_timeout"])
        if not state.remaining():
            self.stop(state)
        elif now - state.check_at >= state.rtt:
            if settings["early_stop"] and state.credits >= state.remaining():
                self.stop(state)
            state.check_at, state.credits = now, 0

    def go_on(self, state: Sending) -> tuple[int, bool] | None:
        burst = state.burst
        if burst and burst.in_burst() and (not burst.lost or self.settings["repair"] == "new_first"):
            # A burst that no credit ends goes on from here; what goes with a credit is not asked after.
            seq = burst.next_unasked()
            burst.open.discard(seq)
            return seq, False
        if burst:
            return burst.next_asked(self.settings)
        if state.next == state.message.packets:
            return None
        state.next += 1
        again = state.next <= state.high
        state.high = max(state.high, state.next)
        return state.next - 1, again

    def stop(self, state: Sending) -> None:
        state.state, state.vain = "stopped", False
        self.say_stop(state)
        self.set(state, 2 * state.rtt)

    def say_stop(self, state: Sending) -> None:
        self.control("stop", state.message, state.message.dst, state.first_new(), state.remaining())

    def timeout(self, state: Sending, due: int) -> None:
        message = state.message
        if state.timer != due or message not in self.sending:
            return
        if state.state == "stopped" and state.remaining():
            self.request(state)
        elif state.state == "stopped" and self.settings["priority"] and not state.vain:
            # Packets have timers of their own.
            state.timer = NEVER
        elif state.state == "stopped":
            state.vain = False
            self.say_stop(state)
            self.set(state, self.settings["retransmit_timeout"])
        else:
            state.state, state.fresh, state.asked_at = "asking", False, self.star.now
            # A probe that goes again at this instant takes the request along.
            if not (self.settings["request_in_probe"] and state.probe_at == due):
                self.star.tally("timeouts")
                self.control("request", message, message.dst, state.first_new(), state.remaining())
            self.set(state, self.settings["retransmit_timeout"])
        self.wake(due)

    # ---- The receiver.

    def hear(self, packet: Packet) -> None:
        message, settings = packet.message, self.settings
        state = self.receiving.get(message)
        if state is None:
            state = self.receiving[message] = Receiving(message, len(self.receiving) + 1)
        if packet.kind == "data":
            self.came(state, packet)
        elif packet.kind == "probe" and (packet.more is None or message.arrived):
            if packet.more is not None:
                self.control("ack", message, message.src, more=COMPLETE)
            self.control("probe_ack", message, message.src, packet.seq, COMPLETE if message.arrived else None)
        elif message.arrived:
            state.credit_at = NEVER
            self.control("ack", message, message.src, more=COMPLETE)
        elif packet.kind == "probe":
            self.control("probe_ack", message, message.src, packet.seq)
            self.asked(state, packet.more)
        elif packet.kind == "request":
            self.asked(state, packet.more)
        elif packet.kind == "stop":
            state.credit_at = NEVER
            gap = packet.seq > state.got and state.nack_at == NEVER
            if not settings["priority"] and (not packet.more if settings["aeolus"] else gap):
                self.nack(state)

    def asked(self, state: Receiving, remaining: int) -> None:
        """Begins to send credits."""
        if state.credit_at < NEVER:
            return
        settings = self.settings
        state.rate = settings["alpha"] * self.most * min(1.0, max(1, remaining) / settings["full_rate_packets"])
        state.w, state.since = settings["w_init"], self.star.now
        self.credit(state)

    def came(self, state: Receiving, packet: Packet) -> None:
        message, now, seq = state.message, self.star.now, packet.seq
        if not packet.unasked:
            self.account(state, *packet.more)
        if self.go_back_n and seq > state.got:
            if state.nack_at == NEVER:
                self.nack(state)
            return
        new = seq >= state.got and seq not in state.rest
        if new:
            state.rest.add(seq)
            while state.got in state.rest:
                state.rest.remove(state.got)
                state.got += 1
            if state.got == message.packets:
                message.arrived = now
                state.credit_at = state.nack_at = NEVER
            elif self.go_back_n:
                state.nack_at = NEVER
            elif state.nack_at < NEVER and state.got >= state.named:
                self.nack(state)
        complete = COMPLETE if message.arrived else None
        if packet.unasked or self.settings["priority"] or (new and complete):
            self.control("ack", message, message.src, seq, complete)

    def account(self, state: Receiving, number: int, sent: int) -> None:
        """Credits between the last that brought a packet and this one were lost."""
        age = self.star.now - sent
        if state.expected <= number < state.credit:
            lost = number - state.expected
            state.expected = number + 1
            state.srtt = 0.8 * state.srtt + 0.2 * age if state.srtt else float(age)
            state.total, state.dropped = state.total + lost + 1, state.dropped + lost

    def nack(self, state: Receiving) -> None:
        message, first = state.message, state.got
        state.named = first + 64
        missing = set(range(first, min(state.named, message.packets))) - state.rest
        self.control("nack", message, message.src, first, missing)
        state.nack_at = due = self.star.now + self.settings["retransmit_timeout"]

        def again() -> None:
            if state.nack_at == due:
                self.nack(state)
                self.wake(due)

        self.star.at(due, TIMEOUT, again, state.number)

    def credit(self, state: Receiving) -> None:
        """Adapts the rate, sends a credit, and sets the time of the next."""
        now, message, number, settings = self.star.now, state.message, state.credit, self.settings
        elapsed = now - state.since
        if state.srtt and elapsed >= state.srtt and state.total:
            self.adapt(state, elapsed)
            state.total = state.dropped = 0
            state.since = now
        spread = settings["credit_spread"]

        def word(which: int) -> int:
            return draw(self.key, TRANSPORT, state.number, 2 * number + which)

        jitter = 1 + settings["jitter"] * (2 * ((word(1) >> 11) / 2**53) - 1)
        size = SMALLEST - spread + (word(0) * (2 * spread + 1) >> 64)
        state.credit += 1
        self.star.tally("permits")
        self.shaper.admit(Packet("credit", message, message.src, CREDIT, size, more=(number, now)))
        state.credit_at = due = now + max(1, int(MEAN * 1e12 / state.rate * jitter))

        def again() -> None:
            if state.credit_at == due:
                self.credit(state)
                self.wake(due)

        self.star.at(due, TIMEOUT, again, state.number)

    def adapt(self, state: Receiving, elapsed: int) -> None:
        settings, most = self.settings, self.most
        paper = settings["feedback"] == "paper"
        target = settings["target_loss"] * (1 if paper else 1 - state.rate / most)
        loss, least = state.dropped / state.total, MEAN * 1e12 / state.srtt
        goal = most * (1 + target) if paper else most
        if loss > target:
            if paper:
                state.rate *= (1 - loss) * (1 + target)
            else:
                came = (state.total - state.dropped) * MEAN * 1e12 / elapsed
                state.rate = least if loss >= 1 else min(state.rate, came * (1 + target))
            state.w = max(state.w / 2, settings["w_min"])
        else:
            if state.up and paper:
                state.w = (state.w + settings["w_max"]) / 2
            elif state.up:
                state.w = min(state.w + settings["w_step"], settings["w_max"])
            if paper or state.rate < most:
                state.rate = state.w * goal + (1 - state.w) * state.rate
        state.up = loss <= target
        state.rate = min(max(state.rate, least), goal)


class ExpressPassStar(Star):
    def __init__(self, links, flows, settings) -> None:
        super().__init__(links, flows, ExpressPassHost, CreditPort, settings)
