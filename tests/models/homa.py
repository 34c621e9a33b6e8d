"""A small model of Homa over one switch, written from docs/transports.md and docs/parameters.md."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from models.star import FULL, PAYLOAD, TIMEOUT, WIRE, Burst, Host, Message, Packet, Star, StrictPort, lasts

NEVER = 1 << 62
GRANTED = "granted"


def on_the_wire(size: int, padded: bool) -> int:
    """Bytes that a message of this size takes on a link."""
    message = Message(0, 0, 0, size, 0, padded=padded)
    return sum(message.frame(seq) + WIRE for seq in range(message.packets))


def divide(sizes: list[int], settings: dict[str, Any]) -> tuple[int, list[int]]:
    """How many levels unscheduled packets have, and the largest message of each but the last."""
    padded, levels = settings["pad_last"], settings["levels"]
    unasked = [on_the_wire(min(size, settings["rtt_packets"] * PAYLOAD), padded) for size in sorted(sizes)]
    total, every = sum(unasked), sum(on_the_wire(size, padded) for size in sizes)
    own = settings["unscheduled_levels"]
    if own == "auto":
        own = (2 * levels * total + every) // (2 * every)
    own = max(1, min(own, levels - 1))
    bounds: list[int] = []
    sent = 0
    for size, part in zip(sorted(sizes), unasked, strict=True):
        sent += part
        while len(bounds) < own - 1 and sent * own >= total * (len(bounds) + 1):
            bounds.append(size)
    return own, bounds


@dataclass
class Sending:
    message: Message
    burst: Burst
    active: int
    """Last time anything was sent or heard."""
    probe_at: int = 0
    level: int = 0
    again_level: int = 0
    granted: int = 0
    spent: int = 0
    last_grant: int = 0
    free: int = 0
    """Packets that may be sent again without a grant."""
    heard: bool = False

    def remaining(self) -> int:
        return self.burst.packets - self.burst.new + len(self.burst.lost)

    def repairs(self) -> bool:
        return self.free > 0 and bool(self.burst.lost)


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
    answered: int = 0
    """Grants that have brought a packet, or are given up."""
    doubted: int = 0
    """Of those outstanding what was silent when a RESEND went: held by a busy sender, or lost."""
    lost: int = 0
    """Grants given up whose packets have not come all the same."""
    unasked: int = 0
    """Packets that came unasked."""
    probed: bool = False
    got: set[int] = field(default_factory=set)
    timer: int = NEVER

    def outstanding(self) -> int:
        return self.granted - self.answered

    def give_up(self) -> None:
        """What was in doubt is lost."""
        given_up = min(self.doubted, self.outstanding())
        self.answered += given_up
        self.lost += given_up
        self.doubted = 0

    def left(self) -> int:
        if self.probed:
            return self.message.packets - len(self.got) - self.outstanding()
        return self.message.packets - self.first - self.granted


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
        self.levels: dict[int, int] = {}
        """Of the senders that are granted, the best first, as they were when anything last changed."""
        self.spacing = lasts(FULL, self.star.down[self.number].rate)

    def level(self, size: int, left: int) -> int:
        """Of an unscheduled packet of a message of so many bytes, of which so many are left to send."""
        rule, (own, bounds) = self.settings["unscheduled_priority"], self.star.divided
        if rule == "lowest":
            return int(self.settings["levels"]) - 1
        mine = left if rule == "remaining" else size
        return next((level for level, bound in enumerate(bounds) if mine <= bound), own - 1)

    def first(self, message: Message) -> int:
        return min(message.packets, self.settings["rtt_packets"])

    def start(self, message: Message) -> None:
        packets, probe = message.packets, "" if self.settings["aeolus"] else "none"
        self.sending[message] = Sending(message, Burst(packets, self.first(message), probe=probe), self.star.now)
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
        burst = state.burst
        if packet.kind == "grant":
            state.granted = max(state.granted, packet.seq)
            if packet.seq >= state.last_grant:
                state.last_grant, state.level = packet.seq, packet.more
            if self.settings["stop"]:
                burst.stop()
        elif packet.kind == "resend":
            self.resend(packet, state)
        elif packet.kind == "ack":
            burst.acked(packet.seq, ordered=False)
        elif packet.kind == "probe_ack":
            burst.answered()
        state.heard, state.active = True, self.star.now
        self.review(state)

    def resend(self, packet: Packet, state: Sending) -> None:
        message, burst = state.message, state.burst
        others = [each for each in self.sending.values() if each is not state and self.ready(each)]
        if any(self.key(other) < self.key(state) for other in others):
            self.control("busy", message, message.dst)
            return
        first, end = packet.seq, min(message.packets, packet.seq + packet.more)
        state.again_level = self.star.divided[0]
        sent = min(end, burst.new)
        burst.lost.update(range(first, sent))
        burst.open -= burst.lost
        state.free = min(max(state.free, sent - first), len(burst.lost))
        if end > burst.new and not burst.in_burst():
            # The grants for these are lost.
            state.granted = max(state.granted, state.spent + end - burst.new)
            state.level = state.again_level

    def key(self, state: Sending) -> tuple[int, int, int]:
        return state.remaining(), state.message.start, state.message.number

    def ready(self, state: Sending) -> bool:
        permitted = state.granted > state.spent and state.burst.could_ask(self.settings)
        return state.repairs() or state.burst.in_burst() or state.burst.probe == "owed" or permitted

    def review(self, state: Sending) -> None:
        if not state.remaining() and not self.settings["aeolus"]:
            state.spent = max(state.spent, state.granted)
        self.watch(state)

    def deadline(self, state: Sending) -> int:
        if self.ready(state):
            return NEVER
        probing = state.burst.probe == "sent"
        wait: int = self.settings["done_timeout" if state.heard and not probing else "sender_timeout"]
        return (state.probe_at if probing else state.active) + wait

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
            if state.burst.probe == "sent":
                state.burst.probe = "owed"
            elif state.heard:
                self.control("need_ack", message, message.dst)
            else:
                state.burst.lost.add(0)
                state.burst.open.discard(0)
                state.free, state.again_level = max(1, state.free), self.level(message.size, message.size)
        self.watch(state)
        self.port.kick()

    def turn(self) -> Packet | None:
        if self.answers:
            return self.answers.popleft()
        ready = [state for state in self.sending.values() if self.ready(state)]
        return self.send(min(ready, key=self.key)) if ready else None

    def send(self, state: Sending) -> Packet:
        message, burst = state.message, state.burst
        packet = Packet("data", message, message.dst, self.level(message.size, message.size - burst.new * PAYLOAD))
        state.active = self.star.now
        if state.repairs():
            state.free -= 1
            packet.seq, packet.again, packet.level = min(burst.lost), True, state.again_level
            burst.lost.remove(packet.seq)
        elif burst.in_burst():
            packet.seq, packet.unasked = burst.next_unasked(), True
        elif burst.probe == "owed":
            burst.probe, state.probe_at = "sent", self.star.now
            packet.kind, packet.level = "probe", self.level(message.size, message.size)
            self.star.tally("probes")
        else:
            state.spent += 1
            found = burst.next_asked(self.settings)
            assert found
            packet.level, packet.more = state.level, GRANTED
            packet.seq, packet.again = found
        if packet.kind == "data":
            packet.size = message.frame(packet.seq)
        self.review(state)
        return packet

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
        before = state.outstanding()
        if packet.kind == "data":
            new = packet.seq not in state.got
            if new:
                state.got.add(packet.seq)
                state.active = now
                state.unasked += packet.unasked
            elif packet.again:
                self.control("busy", message, message.src)
            asked = packet.more == GRANTED if self.settings["aeolus"] else new and packet.seq >= state.first
            if asked and not new and state.lost:
                state.lost -= 1
            elif asked:
                state.answered = min(state.granted, state.answered + 1)
                state.doubted = max(0, state.doubted - 1)
            if packet.again and not asked:
                state.give_up()
            if packet.unasked and self.settings["aeolus"]:
                self.control("ack", message, message.src, packet.seq)
            if len(state.got) == message.packets:
                message.arrived, state.answered = now, state.granted
                self.control("done", message, message.src)
        elif packet.kind == "probe":
            if not state.probed:
                state.probed, state.active = True, now
            self.control("probe_ack", message, message.src)
        elif packet.kind == "need_ack":
            self.control("busy", message, message.src)
        else:
            state.active, state.doubted = now, 0
        state.grant_at = now
        self.listen(state, max(now, state.active + self.settings["resend_timeout"]))
        if state.outstanding() < before:
            self.wake_all()
        self.reorder(message.src)
        self.grant()

    def in_flight(self, state: Receiving) -> int:
        """Packets on their way, as far as the receiver can tell."""
        if not self.settings["aeolus"]:
            return state.first + state.granted - len(state.got)
        return state.outstanding() + (0 if state.probed else state.first - state.unasked)

    def outstanding(self) -> int:
        return sum(state.outstanding() for state in self.receiving.values())

    def wake_all(self) -> None:
        """There is room again for grants."""
        if self.settings["cap"]:
            for state in self.active():
                if state.grant_at == NEVER:
                    state.grant_at = 0

    def active(self) -> list[Receiving]:
        """The messages that are granted, the best first: of each sender the one with the least left to grant."""
        best: dict[int, Receiving] = {}
        ranked = sorted(
            (state for state in self.receiving.values() if state.left() > 0 and not state.message.arrived),
            key=lambda s: (s.left(), s.message.packets, s.since),
        )
        for state in ranked:
            best.setdefault(state.message.src, state)
        return list(best.values())[: self.star.settings["overcommitment"]]

    def reorder(self, changed: int) -> None:
        """Levels follow one another without gaps.

        A sender that comes to the front goes one above the one that was there, if there is a level; when the one
        in front goes, the others stay where they are. All move up if they do not fit.
        """
        lowest, highest = self.star.settings["levels"] - 1, self.star.divided[0]
        senders = [state.message.src for state in self.active()]
        top = lowest
        if self.levels and senders:
            was, top = next(iter(self.levels.items()))
            if senders[0] == changed != was:
                top = max(top - 1, min(top, highest))
            elif senders[0] != was:
                top += 1
        top = min(top, lowest + 1 - len(senders))
        self.levels = {sender: top + place for place, sender in enumerate(senders)}

    def grant(self) -> None:
        """Grants what is due, the best message first."""
        now, settings = self.star.now, self.settings
        while True:
            active = self.active()
            state = next((state for state in active if state.grant_at <= now), None)
            if state is None:
                break
            full = settings["cap"] and self.outstanding() >= settings["overcommitment"] * settings["rtt_packets"]
            if full or self.in_flight(state) >= settings["rtt_packets"]:
                state.grant_at = NEVER
                continue
            level = max(self.star.divided[0], self.levels[state.message.src])
            if settings["tail_boost"] and state.left() < settings["rtt_packets"]:
                left = state.left() * PAYLOAD
                level = min(level, self.level(left, left))
            state.granted += 1
            state.active = now
            state.grant_at = now + self.spacing
            self.star.tally("permits")
            self.control("grant", state.message, state.message.src, state.granted, level)
            self.listen(state, now + settings["resend_timeout"])
            self.reorder(state.message.src)
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
        if message.arrived or not self.in_flight(state):
            return
        due = state.active + settings["resend_timeout"]
        if due <= now < self.asked[message.src]:
            due = self.asked[message.src]
        if due > now:
            self.listen(state, due)
            return
        if settings["one_resend_per_peer"]:
            self.asked[message.src] = now + settings["resend_timeout"]
        state.active = now
        self.star.tally("timeouts")
        end = min(message.packets, state.first + state.granted)
        first = min(set(range(message.packets)) - state.got)
        most = min(settings["resend_packets"], self.in_flight(state))
        last = next((seq for seq in range(first, end) if seq in state.got or seq - first == most), end)
        self.control("resend", message, message.src, first, max(1, last - first))
        if settings["aeolus"]:
            # What was in doubt already when it was last asked for counts as lost.
            state.give_up()
            state.doubted, state.grant_at = state.outstanding(), now
        self.listen(state, now + settings["resend_timeout"])
        self.reorder(message.src)
        self.wake_all()
        self.grant()
        self.port.kick()


class HomaStar(Star):
    def __init__(self, links, flows, settings) -> None:
        self.divided = divide([size for _, _, size, _ in flows], settings)
        if settings["overcommitment"] == "auto":
            settings["overcommitment"] = settings["levels"] - self.divided[0]
        super().__init__(links, flows, HomaHost, StrictPort, settings)
