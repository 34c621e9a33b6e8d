"""A small simulator of RDMA hosts and switches, event by event, for comparison with the engine's times.

Written from the description of the HPCC authors' simulator (hpcc-ns3 facts, section 4) in exact picoseconds. It shares
nothing with the engine but the definition of its random numbers. Networks are trees. What the reference leaves open is
as documented: at one instant a node's departures come before its arrivals, those before timeouts, and flows start last;
where a flow ends, the last of its NIC's takes its place in the round.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.draws import draw, hash3

NS, S = 1_000, 10**12
MTU = 1000
TICK, DEPARTURE, ARRIVAL, TIMEOUT, START = range(5)
ECN, LOSS, CONTROLLER, TELEMETRY = 7, 9, 11, 12


def lasts(size: int, rate: int) -> int:
    return -(-size * 8 * S // rate)


@dataclass(frozen=True)
class Rules:
    """What all switches and hosts of a run have in common; ``rto`` 0 is none."""

    buffer: int
    pfc: bool
    k_min: int
    k_max: int
    p_max: float
    rto: int
    nack_interval: int
    ack_priority: bool
    classes: int
    headroom: int = 20_000
    alpha: float = 0.125
    egress_alpha: float = 1.0
    reserve: int = 4096
    resume_offset: int = 3072
    pfc_frame: int = 43
    tries: int = 7


@dataclass(frozen=True)
class Packet:
    kind: str
    size: int
    group: int
    """Class; of a pause or resume that which it is about."""
    flow: Flow | None = None
    seq: int = 0
    sent: int = 0
    last: bool = False


@dataclass
class Frame:
    """A packet under way, and what switches write on it."""

    packet: Packet
    marked: bool = False
    records: list[tuple[int, int, int, int]] = field(default_factory=list)
    power: int = 0
    came_by: int = 0


class Port:
    """An egress port: its queues by class, and its wire to ``peer``."""

    def __init__(self, node: Node, rate: int, delay: int, loss: float) -> None:
        self.node, self.rate, self.delay, self.loss = node, rate, delay, loss
        self.peer: Port = self
        self.number = self.index = self.sent_bytes = self.sent = self.served = 0
        self.busy = False
        self.paused: set[int] = set()
        self.queues: list[deque[Frame]] = [deque() for _ in range(8)]
        self.waiting = [0] * 8
        self.use, self.last_size, self.last_ns = 0.0, 0, 0

    def push(self, group: int, frame: Frame) -> None:
        self.queues[group].append(frame)
        self.waiting[group] += frame.packet.size

    def pop(self, group: int) -> Frame:
        frame = self.queues[group].popleft()
        self.waiting[group] -= frame.packet.size
        return frame

    def pfc(self, packet: Packet) -> None:
        (self.paused.add if packet.kind == "pause" else self.paused.discard)(packet.group)


class Node:
    def __init__(self, net: Network, number: int) -> None:
        self.net, self.number = net, number
        self.ports: list[Port] = []

    def kick(self, port: Port) -> None:
        raise NotImplementedError

    def arrive(self, frame: Frame, port: Port) -> None:
        raise NotImplementedError

    def begin(self) -> None:
        pass


class Switch(Node):
    """Shared memory with PFC by ingress port and class, or without PFC a limit on each egress queue."""

    def begin(self) -> None:
        rules = self.net.rules
        self.route: dict[int, Port] = {}
        self.held = [[0] * 8 for _ in self.ports]
        self.extra = [[0] * 8 for _ in self.ports]
        self.pausing = [[False] * 8 for _ in self.ports]
        self.shared = self.buffered = 0
        self.pool = rules.buffer - len(self.ports) * rules.classes * (rules.headroom + rules.reserve)
        self.alpha = [rules.alpha] * len(self.ports)
        for i, port in enumerate(self.ports):
            rate = port.rate
            while rate > self.net.host_rate and self.alpha[i] < 1:
                self.alpha[i], rate = min(1.0, 2 * self.alpha[i]), rate // 2

    def threshold(self, port: int) -> int:
        return math.floor(max(0, self.pool - self.shared) * self.alpha[port])

    def above_reserve(self, port: int, group: int) -> int:
        return max(0, self.held[port][group] - self.net.rules.reserve)

    def admit(self, frame: Frame, port: int, out: Port) -> bool:
        size, group, rules = frame.packet.size, frame.packet.group, self.net.rules
        if not rules.pfc:
            free = rules.buffer - self.buffered
            fits = size <= free and out.waiting[group] + size <= math.floor(free * rules.egress_alpha)
            self.buffered += size if fits else 0
            return fits
        limit, extra = self.threshold(port), self.extra[port]
        if size + extra[group] > rules.headroom and size + self.above_reserve(port, group) > limit:
            return False
        beyond = self.held[port][group] + size - rules.reserve
        if beyond > max(0, limit):
            extra[group] += size
        else:
            self.held[port][group] += size
            self.shared += max(0, min(size, beyond))
        full = extra[group] > 0 or self.above_reserve(port, group) >= self.threshold(port)
        if full and not self.pausing[port][group]:
            self.pausing[port][group] = True
            self.tell(port, "pause", group)
        return True

    def release(self, frame: Frame) -> None:
        size, group, port, rules = frame.packet.size, frame.packet.group, frame.came_by, self.net.rules
        if not rules.pfc:
            self.buffered -= size
            return
        from_extra = min(self.extra[port][group], size)
        from_shared = min(size - from_extra, self.above_reserve(port, group))
        self.extra[port][group] -= from_extra
        self.held[port][group] -= size - from_extra
        self.shared -= from_shared
        if self.pausing[port][group] and self.extra[port][group] == 0:
            above = self.above_reserve(port, group)
            if above == 0 or above + rules.resume_offset <= self.threshold(port):
                self.pausing[port][group] = False
                self.tell(port, "resume", group)

    def tell(self, port: int, kind: str, group: int) -> None:
        self.net.pauses += kind == "pause"
        self.ports[port].push(0, Frame(Packet(kind, self.net.rules.pfc_frame, group)))
        self.kick(self.ports[port])

    def arrive(self, frame: Frame, port: Port) -> None:
        packet = frame.packet
        if packet.flow is None:
            port.pfc(packet)
            self.kick(port)
            return
        out = self.route[packet.flow.dst if packet.kind == "data" else packet.flow.src]
        if not self.admit(frame, port.number, out):
            self.net.drops += 1
            return
        frame.came_by = port.number
        out.push(packet.group, frame)
        self.kick(out)

    def kick(self, port: Port) -> None:
        if port.busy:
            return
        turn = [0, *((port.served + step) % 8 for step in range(1, 9))]
        group = next((g for g in turn if port.queues[g] and (g == 0 or g not in port.paused)), None)
        if group is None:
            return
        port.served = group or port.served
        frame = port.pop(group)
        if frame.packet.flow is not None:
            if frame.packet.kind == "data":
                frame.marked |= self.net.marks(port, port.waiting[group])
            self.release(frame)
            if frame.packet.kind == "data" and frame.packet.flow.control.header == 42:
                now, multiple = self.net.now // NS, self.net.int_multiple
                sent, queue = port.sent_bytes // (128 * multiple), sum(port.waiting) // (80 * multiple)
                frame.records.append((now % (1 << 24), sent % (1 << 20), queue % (1 << 17), port.rate))
        self.net.transmit(port, frame)


class Host(Node):
    """One NIC: answers first, then its flows in turn."""

    def begin(self) -> None:
        self.flows: list[Flow] = []
        self.answers: deque[Frame] = deque()
        self.last = 0
        self.pacing = 0
        self.received: dict[Flow, list[int]] = {}

    def arrive(self, frame: Frame, port: Port) -> None:
        packet, now = frame.packet, self.net.now
        flow = packet.flow
        if flow is None:
            port.pfc(packet)
        elif packet.kind == "data":
            self.answer(flow, frame)
        elif not flow.ended and not flow.failed:
            before = flow.una
            flow.una = max(flow.una, packet.seq)
            flow.nxt = max(flow.nxt, flow.una)
            if flow.una > before:
                flow.progress, flow.timeouts = now, 0
            if flow.una == flow.packets:
                flow.ended = now
                self.remove(flow)
            elif packet.kind == "nack" and flow.is_hopeless(self.net):
                flow.failed = now
                self.remove(flow)
            else:
                if packet.kind == "nack":
                    flow.go_back()
                flow.control.on_ack(flow, frame, now)
                flow.watch(self)
        self.kick(port)

    def answer(self, flow: Flow, frame: Frame) -> None:
        packet, now, rules = frame.packet, self.net.now, self.net.rules
        state = self.received.setdefault(flow, [0, -1, 0])
        expected, asked, again = state
        kind = "ack"
        if packet.seq == expected:
            state[0] += 1
            flow.arrived = now if packet.last else flow.arrived
        elif packet.seq > expected:
            if now < again and asked == expected:
                return
            kind, state[1], state[2] = "nack", expected, now + rules.nack_interval
        elif not rules.rto:
            return
        group = 0 if rules.ack_priority else packet.group
        size = max(60, 46 + flow.control.header)
        frame.packet = Packet(kind, size, group, flow, state[0], packet.sent)
        self.answers.append(frame)

    def remove(self, flow: Flow) -> None:
        place = self.flows.index(flow)
        self.flows[place] = self.flows[-1]
        self.flows.pop()

    def kick(self, port: Port) -> None:
        now = self.net.now
        if port.busy:
            return
        if self.answers and (self.answers[0].packet.group == 0 or self.answers[0].packet.group not in port.paused):
            self.net.transmit(port, self.answers.popleft())
            return
        later = []
        place = self.last
        for _ in self.flows:
            place = place + 1 if place + 1 < len(self.flows) else 0
            flow = self.flows[place]
            if flow.group in port.paused or not flow.may_send():
                continue
            if flow.next_at <= now:
                self.last = place
                self.send(flow, port)
                return
            later.append(flow.next_at)
        if later and not now < self.pacing <= min(later):
            self.pacing = min(later)
            self.net.at(self.pacing, DEPARTURE, lambda: self.kick(port))

    def send(self, flow: Flow, port: Port) -> None:
        now, last = self.net.now, flow.nxt + 1 == flow.packets
        payload = flow.size - flow.nxt * MTU if last else MTU
        size = max(60, payload + 48 + flow.control.header)
        if flow.nxt == flow.una:
            flow.progress = now
        packet = Packet("data", size, flow.group, flow, flow.nxt, now, last)
        flow.nxt += 1
        flow.last_size, flow.gap = size, lasts(size, flow.control.rate)
        flow.next_at = now + flow.gap
        flow.watch(self)
        self.net.transmit(port, Frame(packet))


class Flow:
    def __init__(self, number: int, src: int, dst: int, size: int, group: int, control: Control, start: int) -> None:
        self.number, self.src, self.dst, self.size, self.group, self.control = number, src, dst, size, group, control
        self.packets = -(-size // MTU)
        self.una = self.nxt = self.last_size = self.gap = self.retransmitted = self.timeouts = 0
        self.next_at = self.progress = start
        self.arrived = self.ended = self.failed = 0
        self.due = 0
        self.asked, self.asked_since = -1, 0

    def may_send(self) -> bool:
        return self.nxt < self.packets and (self.nxt - self.una) * MTU < self.control.limit()

    def is_hopeless(self, net: Network) -> bool:
        """Whether NACKs have asked for the same packet for as long as all timeouts in a row take."""
        if self.asked != self.una:
            self.asked, self.asked_since = self.una, net.now
        rules = net.rules
        waits = sum(rules.rto << k for k in range(rules.tries + 1))
        return bool(rules.rto) and net.now - self.asked_since >= waits

    def go_back(self) -> None:
        self.retransmitted += self.nxt - self.una
        self.nxt = self.una

    def watch(self, host: Host) -> None:
        """Sets the retransmission timer."""
        net = host.net
        due = self.progress + (net.rules.rto << self.timeouts)
        if net.rules.rto and self.nxt > self.una and not net.now <= self.due <= due:
            self.due = due
            net.at(due, TIMEOUT, lambda: self.timeout(host))

    def timeout(self, host: Host) -> None:
        net = host.net
        if self.ended or self.failed or self.nxt == self.una:
            return
        if self.progress + (net.rules.rto << self.timeouts) > net.now:
            self.due = 0
            self.watch(host)
            return
        if self.timeouts + 1 > net.rules.tries:
            self.failed = net.now
            host.remove(self)
        else:
            self.timeouts, self.progress, self.due = self.timeouts + 1, net.now, 0
            net.timeouts += 1
            self.go_back()
        host.kick(host.ports[0])


class Control:
    """No control. ``settings`` are named as in scenarios; the window is that of a rate of ``line``."""

    header = 0

    def __init__(self, net: Network, line: int, settings: dict[str, Any]) -> None:
        self.net, self.line, self.rate = net, line, line
        self.settings = settings
        self.window: int = settings.get("window", net.bdp)
        self.begin()

    def begin(self) -> None:
        self.heard = 0

    def limit(self) -> float:
        if not self.window:
            return math.inf
        return max(1, self.window * self.rate // self.line) if self.settings.get("variable", True) else self.window

    def clamp(self, rate: float) -> int:
        return min(self.line, max(self.settings["min_rate"], int(rate)))

    def on_ack(self, flow: Flow, frame: Frame, now: int) -> None:
        pass


class HpccPint(Control):
    header = 2

    def begin(self) -> None:
        self.heard, self.stage, self.use, self.reference = 0, 0, 1.0, self.line

    def utilisation(self, frame: Frame) -> float:
        return float(self.settings["log_base"] ** frame.power / 512)

    def counts(self, flow: Flow, now: int) -> bool:
        drawn = hash3(self.net.keys[CONTROLLER], flow.number, now) & 0xFFFF
        return drawn < int(65536 * self.settings["probability"])

    def store(self, frame: Frame) -> None:
        pass

    def on_ack(self, flow: Flow, frame: Frame, now: int) -> None:
        if not self.counts(flow, now):
            return
        if self.heard == 0:
            self.store(frame)
            self.heard = flow.nxt
            return
        c = self.utilisation(frame) / self.settings["eta"]
        if c >= 1 or self.stage >= self.settings["max_stage"]:
            rate, stage = int(self.reference / c) + self.settings["w_ai_rate"], 0
        else:
            rate, stage = self.reference + self.settings["w_ai_rate"], self.stage + 1
        rate = self.clamp(rate)
        if rate != self.rate:
            gap = lasts(flow.last_size, rate)
            flow.next_at, flow.gap, self.rate = flow.next_at + gap - flow.gap, gap, rate
        if frame.packet.seq > self.heard:
            self.reference, self.stage, self.heard = rate, stage, max(self.heard, flow.nxt)


class Hpcc(HpccPint):
    header = 42

    def counts(self, flow: Flow, now: int) -> bool:
        return True

    def store(self, frame: Frame) -> None:
        self.records = frame.records

    def utilisation(self, frame: Frame) -> float:
        most, span, unit = 0.0, 0, self.net.int_multiple
        for new, old in zip(frame.records, self.records, strict=True):
            tau, sent = (new[0] - old[0]) % (1 << 24), (new[1] - old[1]) % (1 << 20) * 128 * unit
            if tau:
                queue = min(new[2], old[2]) * 80 * unit
                use = sent * 8 / (tau * 1e-9) / new[3] + queue * float(self.line) / new[3] / self.window
                most, span = (use, tau) if use > most else (most, span)
        self.records, rtt = frame.records, self.net.base_rtt
        span = min(span, rtt)
        self.use = (self.use * (rtt - span) + most * span) / rtt
        return self.use


class Timely(Control):
    header = 8

    def begin(self) -> None:
        self.heard, self.stage, self.difference, self.rtt = 0, 0, 0.0, 0.0

    def on_ack(self, flow: Flow, frame: Frame, now: int) -> None:
        if frame.packet.seq <= self.heard:
            return
        rtt = (now - frame.packet.sent) / NS
        if self.heard:
            self.difference = 0.125 * self.difference + 0.875 * (rtt - self.rtt)
            gradient = self.difference / 20_000
            if rtt > 500_000:
                self.rate, self.stage = self.clamp(self.rate * (1 - 0.8 * (1 - 500_000 / rtt))), 0
            elif rtt >= 50_000 and gradient > 0:
                self.rate, self.stage = self.clamp(self.rate * max(0.0, 1 - 0.8 * gradient)), 0
            else:
                step = self.settings["ai_rate" if self.stage < 5 else "hai_rate"]
                self.rate, self.stage = min(self.line, self.rate + step), self.stage + 1
        self.heard, self.rtt = flow.nxt, rtt


class Dctcp(Control):
    def begin(self) -> None:
        self.heard, self.alpha, self.marked, self.batch, self.until = 0, 1.0, 0, 0, -1

    def on_ack(self, flow: Flow, frame: Frame, now: int) -> None:
        ack, g = frame.packet.seq, self.settings["g"]
        self.marked += frame.marked
        closes = ack > self.heard
        if closes and not self.heard:
            self.heard, self.batch = flow.nxt, flow.nxt + 1
        elif closes:
            self.alpha = (1 - g) * self.alpha + g * min(1.0, self.marked / self.batch)
            self.heard, self.marked, self.batch = flow.nxt, 0, max(0, flow.nxt - ack) + 1
        if ack > self.until:
            self.until = -1
        if frame.marked and self.until < 0:
            self.rate, self.until = self.clamp(self.rate * (1 - self.alpha / 2)), flow.nxt
        if self.until < 0 and closes:
            self.rate = min(self.line, self.rate + self.settings["ai_rate"])


class Dcqcn(Control):
    def begin(self) -> None:
        self.alpha, self.target, self.stage, self.armed = 1.0, self.line, 0, 0
        self.told = self.alpha_flag = self.flag = False

    def on_ack(self, flow: Flow, frame: Frame, now: int) -> None:
        if not frame.marked:
            return
        self.flag, self.alpha_flag = True, self.told
        if not self.told:
            self.told, self.flow = True, flow
            self.after("alpha_interval", self.tick_alpha)
            self.after("decrease_interval", self.tick_decrease, NS)

    def after(self, interval: str, tick: Callable[[], None], more: int = 0) -> None:
        if not self.flow.ended and not self.flow.failed:
            self.net.at(self.net.now + self.settings[interval] + more, TICK, tick)

    def tick_alpha(self) -> None:
        self.after("alpha_interval", self.tick_alpha)
        g = self.settings["g"]
        self.alpha, self.alpha_flag = (1 - g) * self.alpha + g * self.alpha_flag, False

    def tick_decrease(self) -> None:
        self.after("decrease_interval", self.tick_decrease)
        if self.flag:
            self.target = self.rate if self.stage else self.target
            self.rate, self.stage, self.flag = self.clamp(self.rate * (1 - self.alpha / 2)), 0, False
            self.armed += 1
            armed = self.armed
            self.after("increase_interval", lambda: self.tick_increase(armed))

    def tick_increase(self, armed: int) -> None:
        if armed != self.armed:
            return
        self.after("increase_interval", lambda: self.tick_increase(armed))
        more = self.stage - self.settings["fast_recovery"]
        step = 0 if more < 0 else self.settings["hai_rate" if more else "ai_rate"]
        self.target = min(self.line, self.target + step)
        self.rate, self.stage = self.clamp(self.rate // 2 + self.target // 2), self.stage + 1


CONTROL = {"none": Control, "hpcc": Hpcc, "hpcc_pint": HpccPint, "timely": Timely, "dctcp": Dctcp, "dcqcn": Dcqcn}


class Network:
    """A run with seed 1. A link is two nodes, rate, delay and loss; a flow from, to, bytes, start, class and scheme."""

    def __init__(
        self,
        hosts: int,
        switches: int,
        links: Sequence[tuple[int, int, int, int, float]],
        flows: Sequence[tuple[int, int, int, int, int, str]],
        rules: Rules,
        schemes: dict[str, dict[str, Any]],
    ) -> None:
        self.rules, self.now, self.events, self.count = rules, 0, [], itertools.count()
        self.events: list[tuple[int, int, int, Callable[[], None]]]
        self.keys = {purpose: draw(1, purpose) for purpose in (ECN, LOSS, CONTROLLER, TELEMETRY)}
        self.drops = self.lost = self.pauses = self.timeouts = self.ties = 0
        self.arrivals: dict[int, tuple[int, Port]] = {}
        self.hosts = [Host(self, i) for i in range(hosts)]
        self.nodes: list[Node] = [*self.hosts, *(Switch(self, hosts + i) for i in range(switches))]
        for a, b, rate, delay, loss in links:
            ends = [Port(self.nodes[node], rate, delay, loss) for node in (a, b)]
            for port, peer in zip(ends, reversed(ends), strict=True):
                port.peer, port.number = peer, len(port.node.ports)
                port.node.ports.append(port)
        for index, port in enumerate(port for node in self.nodes for port in node.ports):
            port.index = index
        self.host_rate = self.nodes[0].ports[0].rate
        self.int_multiple = max(1, max(host.ports[0].rate for host in self.hosts) // 25_000_000_000)
        self.log_base = next((s["log_base"] for s in schemes.values() if s["cc"] == "hpcc_pint"), None)
        for node in self.nodes:
            node.begin()
        self.base_rtt = self.bdp = 0
        for host in self.hosts:
            self.look_from(host.ports[0], 0, 0, 10**18, host.number)
        self.flows = []
        for number, (src, dst, size, start, group, scheme) in enumerate(sorted(flows, key=lambda flow: flow[3])):
            settings, line = schemes[scheme], self.nodes[src].ports[0].rate
            flow = Flow(number, src, dst, size, group, CONTROL[settings["cc"]](self, line, settings), start)
            self.flows.append(flow)
            self.at(start, START, lambda flow=flow: self.start(flow))
        while self.events:
            self.now, _, _, event = heapq.heappop(self.events)
            event()

    def look_from(self, out: Port, delay: int, ns: int, slowest: int, host: int) -> None:
        """Routes towards ``host`` behind its link, and base RTT and BDP of the paths from it."""
        delay, ns = delay + out.delay + out.peer.delay, ns + MTU * 8 * 10**9 // out.rate
        slowest = min(slowest, out.rate)
        node = out.peer.node
        if isinstance(node, Host):
            rtt = delay // NS + ns
            self.base_rtt, self.bdp = max(self.base_rtt, rtt), max(self.bdp, rtt * slowest // 10**9 // 8)
        elif isinstance(node, Switch):
            node.route[host] = out.peer
            for port in node.ports:
                if port is not out.peer:
                    self.look_from(port, delay, ns, slowest, host)

    def start(self, flow: Flow) -> None:
        host = self.hosts[flow.src]
        host.flows.append(flow)
        host.kick(host.ports[0])

    def at(self, time: int, rank: int, event: Callable[[], None]) -> None:
        heapq.heappush(self.events, (time, rank, next(self.count), event))

    def marks(self, port: Port, behind: int) -> bool:
        low, high = (k * port.rate // 10**11 for k in (self.rules.k_min, self.rules.k_max))
        if low < behind <= high:
            drawn = (hash3(self.keys[ECN], port.index, port.sent) >> 11) / 2**53
            return drawn < self.rules.p_max * (behind - low) / (high - low)
        return behind > high

    def transmit(self, port: Port, frame: Frame) -> None:
        packet, free = frame.packet, self.now + lasts(frame.packet.size, port.rate)
        port.busy = True
        port.sent_bytes, port.sent = port.sent_bytes + packet.size, port.sent + 1
        if isinstance(port.node, Switch) and self.log_base:
            self.measure(port, frame)

        def is_free() -> None:
            port.busy = False
            port.node.kick(port)

        self.at(free, DEPARTURE, is_free)
        drawn = (hash3(self.keys[LOSS], port.index, port.sent) >> 11) / 2**53
        if packet.flow is not None and drawn < port.loss:
            self.lost += 1
        else:
            self.at(free + port.delay, ARRIVAL, lambda: self.arrive(port.peer, frame))

    def arrive(self, port: Port, frame: Frame) -> None:
        time, other = self.arrivals.get(port.node.number, (0, port))
        # The engine decides by a hash which of them comes first.
        self.ties += time == self.now and other is not port
        self.arrivals[port.node.number] = (self.now, port)
        port.node.arrive(frame, port)

    def measure(self, port: Port, frame: Frame) -> None:
        """PINT: the port's utilisation, in logarithms of 2^-15, and its power on the frame."""
        draws, rtt, step, base = itertools.count(port.index << 3), self.base_rtt, 32768, self.log_base
        next(draws)

        def drawn() -> int:
            return hash3(self.keys[TELEMETRY], next(draws), port.sent) >> 33

        def log(x: int) -> float:
            cut = max(0, x.bit_length() - 16)
            mask = (1 << cut) - 1
            kept = (x >> cut) + (cut > 0 and x & mask > drawn() & mask)
            return int(math.log2(max(kept, 1)) * step) + cut * step

        now, queue = self.now // NS, sum(port.waiting)
        passed = min(now - port.last_ns, rtt)
        second, rate, time = (math.log2(x) * step for x in (1e9, port.rate // 8, rtt))
        use = 0.0
        if queue >> 8 and passed:
            use += 256 * 2 ** ((log(passed) + log(queue >> 8) + second - rate - 2 * time) / step)
        if port.last_size:
            use += 2 ** ((log(port.last_size) + second - rate - time) / step)
        if passed < rtt and port.use > 0:
            use += 2 ** ((log(rtt - passed) + log(math.floor(8192 * port.use + 0.5)) - time) / step) / 8192
        port.use, port.last_size, port.last_ns = use, frame.packet.size, now
        if frame.packet.kind == "data" and frame.packet.flow and isinstance(frame.packet.flow.control, HpccPint):
            value = max(1, math.ceil(512 * use))
            power = math.log(value) / math.log(base)
            low = math.floor(power)
            up = (value - base**low) / (base ** (low + 1) - base**low) * 65536
            code = math.ceil(power) if drawn() % 65536 < up else low
            frame.power = max(frame.power, min(code, 255))
