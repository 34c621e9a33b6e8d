"""A small model of Homa over one switch, written from docs/transports.md and docs/parameters.md."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from star_model import FULL, TIMEOUT, Host, Message, Packet, Star, SwitchPort, lasts

NEVER = 1 << 62


class StrictPort(SwitchPort):
    """Eight queues, the first first, in one buffer."""

    def begin(self) -> None:
        self.waiting = 0

    def arrive(self, packet: Packet, by: int) -> None:
        if self.waiting + packet.size > self.star.settings["buffer"]:
            self.star.tally("dropped")
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


@dataclass
class Sending:
    message: Message
    active: int
    """Last time anything was sent or heard."""
    level: int = 0
    again_level: int = 7
    granted: int = 0
    spent: int = 0
    last_grant: int = 0
    new: int = 0
    lost: set[int] = field(default_factory=set)
    free: int = 0
    """Packets that may be sent again without a grant."""
    heard: bool = False

    def remaining(self) -> int:
        return self.message.packets - self.new + len(self.lost)

    def repairs(self) -> bool:
        return self.free > 0 and bool(self.lost)

    def permitted(self) -> bool:
        return self.granted > self.spent and self.remaining() > 0


@dataclass
class Receiving:
    message: Message
    first: int
    """Packets its sender sends unasked."""
    since: int
    number: int
    grant_at: int
    """Not granted again before."""
    active: int
    """Last time anything new arrived, the sender was busy, or it was granted."""
    granted: int = 0
    got: set[int] = field(default_factory=set)
    timer: int = NEVER

    def left(self) -> int:
        return self.message.packets - self.first - self.granted

    def in_flight(self) -> int:
        return self.first + self.granted - len(self.got)


class HomaHost(Host):
    def begin(self) -> None:
        super().begin()
        self.sending: dict[Message, Sending] = {}
        self.receiving: dict[Message, Receiving] = {}
        self.timers: dict[Message, int] = {}
        self.answers: deque[Packet] = deque()
        self.waking = NEVER
        self.asked: dict[int, int] = {}
        """By sender: no other RESEND before."""
        self.spacing = lasts(FULL, self.port.rate)

    def first(self, message: Message) -> int:
        return min(message.packets, self.settings["rtt_packets"])

    def start(self, message: Message) -> None:
        self.sending[message] = Sending(message, self.star.now)
        self.port.kick()

    def control(self, kind: str, message: Message, to: int, seq: int = 0, more: Any = None) -> None:
        self.answers.append(Packet(kind, message, to, 0, seq=seq, more=more))

    def receive(self, packet: Packet) -> None:
        message = packet.message
        if message.dst == self.number:
            self.hear(packet)
        elif packet.kind == "done" and message in self.sending:
            message.ended = self.star.now
            del self.sending[message]
            self.answers = deque(p for p in self.answers if p.message is not message)
        elif message in self.sending:
            self.told(packet, self.sending[message])
        self.port.kick()

    # ---- The sender.

    def told(self, packet: Packet, state: Sending) -> None:
        message = state.message
        if packet.kind == "grant":
            state.granted = max(state.granted, packet.seq)
            if packet.seq >= state.last_grant:
                state.last_grant, state.level = packet.seq, packet.more
        elif packet.kind == "resend":
            first, end = packet.seq, min(message.packets, packet.seq + packet.more)
            others = [s for s in self.sending.values() if s is not state and self.ready(s)]
            if any(self.key(other) < self.key(state) for other in others):
                self.control("busy", message, message.dst)
            else:
                state.again_level = self.settings["unscheduled_levels"]
                sent = min(end, state.new)
                state.lost.update(range(first, sent))
                state.free = min(max(state.free, sent - first), len(state.lost))
                if end > state.new >= self.first(message):
                    # The grants for these are lost.
                    state.granted = max(state.granted, state.spent + end - state.new)
                    state.level = state.again_level
        state.heard, state.active = True, self.star.now
        self.review(state)

    def key(self, state: Sending) -> tuple[int, int, int]:
        return state.remaining(), state.message.start, state.message.number

    def ready(self, state: Sending) -> bool:
        return state.repairs() or state.new < self.first(state.message) or state.permitted()

    def review(self, state: Sending) -> None:
        if not state.remaining():
            state.spent = max(state.spent, state.granted)
        self.watch(state)

    def deadline(self, state: Sending) -> int:
        if self.ready(state):
            return NEVER
        wait: int = self.settings["done_timeout" if state.heard else "sender_timeout"]
        return state.active + wait

    def watch(self, state: Sending) -> None:
        due = self.deadline(state)
        if due < self.timers.get(state.message, NEVER):
            self.timers[state.message] = due
            self.star.at(due, TIMEOUT, lambda: self.patience(state, due), 1 << 20)

    def patience(self, state: Sending, due: int) -> None:
        message = state.message
        if self.timers.get(message) != due:
            return
        del self.timers[message]
        if message not in self.sending:
            return
        if self.deadline(state) <= self.star.now:
            self.star.tally("timeouts")
            state.active = self.star.now
            if state.heard:
                self.control("need_ack", message, message.dst)
            else:
                state.lost.add(0)
                state.free, state.again_level = max(1, state.free), 0
        self.watch(state)
        self.port.kick()

    def turn(self) -> Packet | None:
        if self.answers:
            return self.answers.popleft()
        ready = [state for state in self.sending.values() if self.ready(state)]
        return self.send(min(ready, key=self.key)) if ready else None

    def send(self, state: Sending) -> Packet:
        message, again = state.message, False
        level = state.level
        if state.repairs():
            state.free -= 1
            level = state.again_level
            seq, again = min(state.lost), True
        elif state.new < self.first(message):
            level = 0
            seq = state.new
        else:
            state.spent += 1
            again = bool(state.lost)
            seq = min(state.lost) if again else state.new
        state.lost.discard(seq)
        state.new = max(state.new, seq + 1)
        state.active = self.star.now
        self.review(state)
        return Packet("data", message, message.dst, level, message.frame(seq), seq, again=again)

    # ---- The receiver.

    def hear(self, packet: Packet) -> None:
        message, now = packet.message, self.star.now
        state = self.receiving.get(message)
        if state is None:
            number = len(self.receiving)
            state = Receiving(message, self.first(message), now, number, now, now)
            self.receiving[message] = state
        self.asked[message.src] = 0
        if message.arrived:
            if packet.kind != "busy":
                self.control("done", message, message.src)
            return
        if packet.kind == "data":
            if packet.seq not in state.got:
                state.got.add(packet.seq)
                state.active = now
                if len(state.got) == message.packets:
                    message.arrived = now
                    self.control("done", message, message.src)
            elif packet.again:
                self.control("busy", message, message.src)
        elif packet.kind == "need_ack":
            self.control("busy", message, message.src)
        else:
            state.active = now
        state.grant_at = now
        self.listen(state, max(now, state.active + self.settings["resend_timeout"]))
        self.grant()

    def active(self) -> list[Receiving]:
        """The messages that are granted, the best first: of each sender the one with the least left to grant."""
        best: dict[int, Receiving] = {}
        ranked = sorted(
            (state for state in self.receiving.values() if state.left() > 0 and not state.message.arrived),
            key=lambda s: (s.left(), s.message.packets, s.since),
        )
        for state in ranked:
            best.setdefault(state.message.src, state)
        return list(best.values())[: self.settings["overcommitment"]]

    def grant(self) -> None:
        """Grants what is due, the best message first."""
        now, settings = self.star.now, self.settings
        while True:
            active = self.active()
            state = next((state for state in active if state.grant_at <= now), None)
            if state is None:
                break
            if state.in_flight() >= settings["rtt_packets"]:
                state.grant_at = NEVER
                continue
            below = len(active) - 1 - active.index(state)
            level = max(settings["unscheduled_levels"], settings["levels"] - 1 - below)
            state.granted += 1
            state.active = now
            state.grant_at = now + self.spacing
            self.star.tally("permits")
            self.control("grant", state.message, state.message.src, state.granted, level)
            self.listen(state, now + settings["resend_timeout"])
        later = min((state.grant_at for state in active), default=NEVER)
        if later < self.waking:
            self.waking = later
            self.star.at(later, TIMEOUT, lambda: self.wake_up(later), 1 << 19)

    def wake_up(self, due: int) -> None:
        if self.waking == due:
            self.waking = NEVER
            self.grant()
            self.port.kick()

    def listen(self, state: Receiving, due: int) -> None:
        if due < state.timer:
            state.timer = due
            self.star.at(due, TIMEOUT, lambda: self.silence(state, due), state.number)

    def silence(self, state: Receiving, timer: int) -> None:
        if state.timer != timer:
            return
        state.timer = NEVER
        message, now, settings = state.message, self.star.now, self.settings
        if message.arrived or not state.in_flight():
            return
        due = state.active + settings["resend_timeout"]
        if due <= now < self.asked[message.src]:
            due = self.asked[message.src]
        if due > now:
            self.listen(state, due)
            return
        self.asked[message.src] = now + settings["resend_timeout"]
        state.active = now
        self.star.tally("timeouts")
        end = min(message.packets, state.first + state.granted)
        first = min(set(range(end)) - state.got)
        most = min(settings["resend_packets"], state.in_flight())
        last = next((seq for seq in range(first, end) if seq in state.got or seq - first == most), end)
        self.control("resend", message, message.src, first, last - first)
        self.listen(state, now + settings["resend_timeout"])
        self.grant()
        self.port.kick()


class HomaStar(Star):
    def __init__(self, links, flows, settings) -> None:
        super().__init__(links, flows, HomaHost, StrictPort, settings)
