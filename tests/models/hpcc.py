"""A small model of the HPCC authors' ns-3 simulator, event by event, for comparison with the files of `paceline hpcc`.

Written from a description of how that simulator behaves (github.com/alibaba-edu/High-Precision-Congestion-Control at
commit 9f4be2a). It reads the same configuration, topology and flow files and writes the same fct, pfc and qlen lines
and packet trace.
It shares nothing with the engine: it counts in bytes, whole nanoseconds and events in the order in which they were
scheduled, and has that simulator's oddities because it keeps what that one keeps. `hpcc_config` reads options,
`hpcc_rates` has the controllers, `hpcc_numbers` what comes from ns-3 and the C libraries,
`hpcc_trace` the records of the packet trace.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.hpcc_config import DATA_HEADER, TIME_UNITS, Config, S, rate_of, with_unit
from models.hpcc_numbers import (
    EXPLICIT,
    U32,
    U64,
    CRand,
    HashOrder,
    NewStreams,
    Stream,
    murmur3,
    nanoseconds,
    serialisation,
    stream,
)
from models.hpcc_rates import INT_RATES, MAX_HOPS, US, Control, Hpcc, HpccPint, PintMeter
from models.hpcc_trace import JOINS, LEAVES, LOST, RECEIVED, PacketTrace

CLASSES = 8
"""Class 0 is that of PFC frames, and of ACKs at hosts with ``ACK_HIGH_PRIO 1``; it has no accounts and no pauses."""
PFC_FRAME = 43
RESERVE, RESUME_OFFSET = 4096, 3 * 1024
NACK_INTERVAL = 500 * US
LINK_DOWN_FROM, QUEUE_SAMPLES, QUEUE_STEP = 2 * S, 100, 1000
"""Link failures count from 2 s; queues are sampled every 100 ns, in steps of 1000 bytes."""
LOSS_STREAM = EXPLICIT + 50
"""The stream of losses has a number of its own."""
STREAMS_OF_NODE, STREAMS_OF_LOSS, OTHER_STREAMS = 6, 2, 2
"""Random streams that are handed out while the network is built: for each node, for each link with an error rate."""


class Event:
    def __init__(self, time: int, action: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.time, self.action, self.arguments = time, action, arguments
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(slots=True)
class Frame:
    kind: str
    size: int
    group: int
    """Class; of a pause or resume that which it is about."""
    src: int = 0
    """A node; of a PFC frame the address of the port that sends it."""
    dst: int = 0
    sport: int = 0
    dport: int = 0
    seq: int = 0
    """First byte; of an answer that which is expected."""
    payload: int = 0
    sent: int = 0
    marked: bool = False
    echo: bool = False
    hops: int = 0
    records: list[tuple[int, int, int, int]] = field(default_factory=list)
    """INT: time, bytes sent, queue and rate of the last ports it has passed, in their units."""
    power: int = 0
    came_by: int = 0
    behind: int = 0
    """Of a PFC frame: bytes of its class that wait where it is sent."""
    content: bytes = b""
    """What records of the packet trace hold of it, once it is in one."""

    @property
    def is_pfc(self) -> bool:
        return self.kind in ("pause", "resume")


class Port:
    """An end of a link. A node's ports are numbered from 1."""

    is_switch = False

    def __init__(
        self, net: Simulation, node: Node, rate: int, delay: int, address: int, loss: tuple[Stream | None, float]
    ) -> None:
        self.net, self.node, self.rate, self.delay, self.address = net, node, rate, delay, address
        self.losses, self.error_rate = loss
        self.lengths = [0] * CLASSES
        """Bytes in a switch's queues."""
        self.number = 1 + len(node.ports)
        self.peer: Port = self
        self.busy, self.up = False, True
        self.served = 0
        """The class, or at a host the place of the flow, that had the last turn."""
        self.paused = [False] * CLASSES

    def kick(self) -> None:
        if self.up and not self.busy:
            self.take_turn()

    def take_turn(self) -> None:
        raise NotImplementedError

    def go_down(self) -> None:
        self.up = False

    def transmit(self, frame: Frame) -> None:
        self.busy = True
        free = self.net.now + serialisation(frame.size, self.rate)
        self.net.at(free, self.transmitted)
        self.net.at(free + self.delay, self.peer.receive, frame)

    def transmitted(self) -> None:
        self.busy = False
        self.kick()

    def receive(self, frame: Frame) -> None:
        if not self.up:
            self.net.trace.add(self, frame, LOST)
            return
        if self.losses and self.losses.uniform() < self.error_rate:
            self.net.seen["lost"] += 1
            return
        self.net.trace.add(self, frame, RECEIVED)
        if not frame.is_pfc:
            self.node.arrive(frame, self)
            return
        is_pause = frame.kind == "pause"
        self.net.pfc.append(f"{self.net.now} {self.node.number} {self.is_switch:d} {self.number} {is_pause:d}")
        self.paused[frame.group] = is_pause
        if not is_pause:
            self.kick()


class Node:
    def __init__(self, net: Simulation, number: int) -> None:
        self.net, self.number = net, number
        self.ports: list[Any] = []
        self.neighbours: dict[int, Any] = {}
        """The port towards each; of several links to one the last."""
        self.next_hops: dict[int, list[Any]] = {}

    @property
    def address(self) -> int:
        return 0x0B000001 + (self.number // 256 << 16) + (self.number % 256 << 8)

    def arrive(self, frame: Frame, port: Any) -> None:
        raise NotImplementedError


class SwitchPort(Port):
    node: Switch
    is_switch = True

    def __init__(self, *link: Any) -> None:
        super().__init__(*link)
        self.queues: list[deque[Frame]] = [deque() for _ in range(CLASSES)]
        self.sent_bytes = 0
        self.meter = PintMeter(self.net.rand, self.rate, self.net.config.pint_base)
        self.waiting = [0] * CLASSES
        """The switch's account of the queues, which a failure of the link does not clear."""
        self.reserved = [0] * CLASSES
        """Bytes held of what came in here: those within reserve and shared buffer."""
        self.over = [0] * CLASSES
        """Those in headroom."""
        self.pausing = [False] * CLASSES
        """Whether the other end has been told to pause."""
        config = self.net.config
        self.k_min, self.k_max = (k.get(self.rate, 0) * 1000 for k in (config.k_min, config.k_max))
        self.p_max = config.p_max.get(self.rate, 0.0)
        self.headroom = self.rate * self.delay // 8 // S * 3 & U32

    @property
    def queued(self) -> int:
        return sum(self.lengths)

    def go_down(self) -> None:
        self.paused = [False] * CLASSES
        while turn := self.next_frame():
            group, frame = turn
            self.net.trace.add(self, frame, LOST, group)
        super().go_down()

    def push(self, group: int, frame: Frame) -> None:
        self.net.trace.add(self, frame, JOINS, group)
        self.queues[group].append(frame)
        self.lengths[group] += frame.size
        self.kick()

    def next_frame(self) -> tuple[int, Frame] | None:
        """Takes the frame whose turn it is out of its queue, which is named, too."""
        if not self.queued:
            return None
        turn = [0, *((self.served + step) % CLASSES for step in range(1, CLASSES + 1))]
        group = next((g for g in turn if self.queues[g] and (g == 0 or not self.paused[g])), None)
        if group is None:
            return None
        frame = self.queues[group].popleft()
        self.lengths[group] -= frame.size
        if group:
            self.served = group
        return group, frame

    def take_turn(self) -> None:
        turn = self.next_frame()
        if turn is None:
            return
        group, frame = turn
        if group:
            self.node.release(frame, self)
        if frame.kind == "data":
            self.write_telemetry(frame)
        self.sent_bytes += frame.size
        self.meter.sent(frame.size, self.net.now)
        self.net.trace.add(self, frame, LEAVES, group)
        self.transmit(frame)

    def marks(self, behind: int) -> bool:
        if behind > self.k_max:
            return True
        if behind <= self.k_min:
            return False
        return self.net.marks.uniform() < self.p_max * float(behind - self.k_min) / (self.k_max - self.k_min)

    def write_telemetry(self, frame: Frame) -> None:
        net = self.net
        if net.config.control is Hpcc:
            place, multiple = frame.hops % MAX_HOPS, net.config.int_multiple
            gbps = self.rate / 1e9
            code = INT_RATES.index(int(gbps)) if gbps in INT_RATES else frame.records[place][3]
            sent, queue = self.sent_bytes // (128 * multiple), self.queued // (80 * multiple)
            frame.records[place] = net.now & 0xFFFFFF, sent & 0xFFFFF, queue & 0x1FFFF, code
            frame.hops += 1
        elif net.config.control is HpccPint:
            power = self.meter.measure(net.now, net.max_rtt, self.queued)
            if power > frame.power:
                frame.power = power % net.config.pint_powers


class Switch(Node):
    """Shared memory with PFC by ingress port and class. Its counts have 32 bits."""

    ports: list[SwitchPort]

    def begin(self, host_rate: int) -> None:
        self.shared = 0
        self.pool = self.net.config.buffer - sum(port.headroom for port in self.ports) - RESERVE * len(self.ports) & U32
        self.shifts = []
        for port in self.ports:
            # A port may take 1/8 of what is free; faster ones than hosts have more, up to all of it.
            shift, rate = 3, port.rate
            while rate > host_rate and shift > 0:
                shift, rate = shift - 1, rate // 2
            self.shifts.append(shift)

    def threshold(self, port: SwitchPort) -> int:
        return (self.pool - self.shared & U32) >> self.shifts[port.number - 1]

    def shared_by(self, port: SwitchPort, group: int) -> int:
        return max(port.reserved[group] - RESERVE, 0)

    def arrive(self, frame: Frame, port: SwitchPort) -> None:
        hops = self.next_hops.get(frame.dst)
        if not hops:
            return
        out = hops[self.net.hashed(frame.src, frame.dst, frame.sport, frame.dport, self.number) % len(hops)]
        frame.came_by = port.number
        if frame.group and not self.admit(frame, port, out):
            self.net.seen["drops"] += 1
            return
        out.push(frame.group, frame)

    def admit(self, frame: Frame, port: SwitchPort, out: SwitchPort) -> bool:
        size, group, limit = frame.size, frame.group, self.threshold(port)
        if size + port.over[group] > port.headroom and size + self.shared_by(port, group) > limit:
            return False
        held = port.reserved[group] + size
        if held > RESERVE and held - RESERVE > limit:
            port.over[group] += size
        else:
            port.reserved[group] = held
            self.shared = self.shared + max(0, min(size, held - RESERVE)) & U32
        out.waiting[group] += size
        full = port.over[group] > 0 or self.shared_by(port, group) >= self.threshold(port)
        if full and not port.pausing[group]:
            self.tell(port, "pause", group)
            port.pausing[group] = True
        return True

    def release(self, frame: Frame, out: SwitchPort) -> None:
        """Frees the place of a frame that departs, marks it by what it leaves behind, and ends a pause."""
        size, group, port = frame.size, frame.group, self.ports[frame.came_by - 1]
        from_over = min(port.over[group], size)
        from_shared = min(size - from_over, self.shared_by(port, group))
        port.over[group] -= from_over
        port.reserved[group] = port.reserved[group] - (size - from_over) & U32
        self.shared = self.shared - from_shared & U32
        out.waiting[group] -= size
        if self.net.config.marks and out.marks(out.waiting[group]):
            frame.marked = True
            self.net.seen["marks"] += frame.kind == "data"
        if port.pausing[group] and port.over[group] == 0:
            above = self.shared_by(port, group)
            if above == 0 or above + RESUME_OFFSET <= self.threshold(port):
                self.tell(port, "resume", group)
                port.pausing[group] = False

    def tell(self, port: SwitchPort, kind: str, group: int) -> None:
        # A PFC frame is handed a random stream, which nobody draws from.
        self.net.marks.skip()
        port.push(0, Frame(kind, PFC_FRAME, group, port.address, behind=port.lengths[group]))


@dataclass(frozen=True)
class FlowRow:
    src: int
    dst: int
    group: int
    dport: int
    size: int
    start: int


class Flow:
    """A sender: a queue pair. Bytes from ``una`` on are not yet acknowledged, those from ``next`` on not sent."""

    def __init__(self, net: Simulation, nic: Nic, row: FlowRow, sport: int) -> None:
        self.src, self.dst, self.group = row.src, row.dst, row.group
        self.sport, self.dport, self.size = sport, row.dport, row.size
        self.start = self.available = net.now
        self.next = self.una = self.last_size = 0
        self.rate = self.line = nic.rate
        config, pair = net.config, (row.src, row.dst)
        self.base_rtt, bdp = (net.max_rtt, net.max_bdp) if config.global_rtt else (net.rtts[pair], net.bdps[pair])
        self.window = bdp & U32 if config.has_window else 0
        self.is_variable = config.variable_window
        self.control: Control = config.control(net, self)

    def window_is_full(self) -> bool:
        if self.window == 0:
            return False
        window = (self.window * self.rate & U64) // self.line if self.is_variable else self.window
        return (self.next - self.una & U64) >= max(window, 1)


class Nic(Port):
    """ACKs first, then flows in turn."""

    def __init__(self, *link: Any) -> None:
        super().__init__(*link)
        self.acks: deque[Frame] = deque()
        self.flows: list[Flow] = []
        self.pacing: Event | None = None

    def go_down(self) -> None:
        for frame in self.acks:
            self.net.trace.add(self, frame, LOST)
        self.acks.clear()
        super().go_down()

    def take_turn(self) -> None:
        if self.acks and not self.paused[self.net.config.ack_class]:
            answer = self.acks.popleft()
            self.net.trace.add(self, answer, LEAVES)
            self.transmit(answer)
            return
        flow = self.next_flow()
        if flow is not None:
            self.send(flow)
            return
        due = min((flow.available for flow in self.flows if flow.size > flow.next), default=0)
        if self.pacing is None and due > self.net.now:
            self.pacing = self.net.at(due, self.paced)

    def next_flow(self) -> Flow | None:
        """The next that may send. Of finished ones, if any is met on the way, all from the first on are taken out."""
        chosen, finished = None, []
        for step in range(1, len(self.flows) + 1):
            place = (step + self.served) % len(self.flows)
            flow = self.flows[place]
            if flow.size > flow.next and not self.paused[flow.group] and not flow.window_is_full():
                if flow.available <= self.net.now:
                    chosen = place
                    break
            elif flow.una >= flow.size:
                finished.append(place)
        if finished:
            first = min(finished)
            kept = self.flows[:first] + [flow for flow in self.flows[first:] if flow.una < flow.size]
            if chosen is not None and self.flows[chosen] in kept:
                chosen = kept.index(self.flows[chosen])
            self.flows = kept
        if chosen is None:
            # The place that had the last turn stays as it was, whoever is there now.
            return None
        self.served = chosen
        return self.flows[chosen]

    def send(self, flow: Flow) -> None:
        config, now = self.net.config, self.net.now
        payload = min(config.payload, flow.size - flow.next)
        frame = Frame("data", payload + config.header, flow.group, flow.src, flow.dst, flow.sport, flow.dport)
        frame.seq, frame.payload, frame.sent, frame.records = flow.next, payload, now, [(0, 0, 0, 0)] * MAX_HOPS
        flow.next += payload
        self.net.trace.add(self, frame, LEAVES, flow.group)
        self.transmit(frame)
        flow.last_size = frame.size
        flow.available = now + serialisation(frame.size, flow.rate if config.rate_bound else flow.line)

    def paced(self) -> None:
        self.pacing = None
        self.kick()


@dataclass
class Receiver:
    expected: int = 0
    asked: int = 0
    """What was expected at the last NACK."""
    again: int = 0
    """When that NACK may be repeated."""


class Host(Node):
    ports: list[Nic]

    def begin(self) -> None:
        self.flows: dict[int, Flow] = {}
        self.order = HashOrder()
        self.receivers: dict[tuple[int, int, int], Receiver] = {}

    def nic(self, dst: int, sport: int, dport: int) -> Nic:
        nics = self.next_hops[dst]
        return nics[self.net.hashed(self.number, dst, sport, dport) % len(nics)]

    def key(self, dst: int, sport: int, group: int) -> int:
        """By what it knows a flow that it sends."""
        return self.net.nodes[dst].address << 32 | sport << 16 | group

    def start(self, row: FlowRow, sport: int) -> None:
        nic = self.nic(row.dst, sport, row.dport)
        flow = Flow(self.net, nic, row, sport)
        nic.flows.append(flow)
        key = self.key(flow.dst, flow.sport, flow.group)
        self.flows[key] = flow
        self.order.insert(key)
        nic.kick()

    def list_again(self) -> None:
        """After a link has failed: flows are given to the NICs that are left, in the order of a hash table."""
        for nic in self.ports:
            nic.flows = []
        for key in self.order.keys:
            flow = self.flows[key]
            nic = self.nic(flow.dst, flow.sport, flow.dport)
            nic.flows.append(flow)
            nic.kick()

    def arrive(self, frame: Frame, port: Nic) -> None:
        (self.on_data if frame.kind == "data" else self.on_answer)(frame)

    def on_data(self, frame: Frame) -> None:
        receiver = self.receivers.setdefault((frame.src, frame.group, frame.sport), Receiver())
        kind = self.answer_to(frame, receiver)
        if kind is None:
            return
        ack = Frame(kind, self.net.config.ack_size, frame.group, self.number, frame.src, frame.dport, frame.sport)
        ack.seq, ack.sent, ack.echo = receiver.expected, frame.sent, frame.marked
        ack.hops, ack.records, ack.power = frame.hops, frame.records, frame.power
        nic = self.nic(frame.src, frame.dport, frame.sport)
        self.net.trace.add(nic, ack, JOINS)
        nic.acks.append(ack)
        nic.kick()

    def answer_to(self, frame: Frame, receiver: Receiver) -> str | None:
        config, now = self.net.config, self.net.now
        if frame.seq < receiver.expected:
            return None
        if frame.seq == receiver.expected:
            receiver.expected += frame.payload
            counts = receiver.expected >= config.ack_interval or receiver.expected % config.chunk == 0
            return "ack" if counts else None
        if now < receiver.again and receiver.asked == receiver.expected:
            return None
        receiver.again, receiver.asked = now + NACK_INTERVAL, receiver.expected
        if config.back_to_zero:
            receiver.expected -= receiver.expected % config.chunk
        return "nack"

    def on_answer(self, frame: Frame) -> None:
        flow = self.flows.get(self.key(frame.src, frame.dport, frame.group))
        if flow is None:
            return
        config = self.net.config
        nic = self.nic(flow.dst, flow.sport, flow.dport)
        flow.una = max(flow.una, frame.seq - (frame.seq % config.chunk if config.back_to_zero else 0))
        if flow.una >= flow.size:
            self.finish(flow)
        if frame.kind == "nack":
            self.net.seen["bytes sent again"] += max(0, flow.next - flow.una)
            flow.next = flow.una
        flow.control.on_ack(frame, nic)
        nic.kick()

    def finish(self, flow: Flow) -> None:
        flow.control.end()
        self.net.finished(flow)
        self.net.nodes[flow.dst].receivers.pop((flow.src, flow.group, flow.sport), None)
        key = self.key(flow.dst, flow.sport, flow.group)
        del self.flows[key]
        self.order.remove(key)


class Simulation:
    """A run. Its files are in ``fct``, ``pfc``, ``qlen`` (their lines) and ``trace``, what it met in ``seen``."""

    def __init__(self, path: Path, dump: int = 100_000_000) -> None:
        """``dump``: ns from one block of the qlen file to the next."""
        self.config, self.dump, self.now = Config(path), dump, 0
        self.fct: list[str] = []
        self.pfc: list[str] = []
        self.qlen: list[str] = []
        self.seen: Counter[str] = Counter()
        self.events: list[tuple[int, int, Event]] = []
        self.scheduled, self.running = 0, True
        self.rand = CRand()
        self.build()
        self.trace = PacketTrace(self)
        self.histograms: dict[tuple[int, int], list[int]] = {}
        self.sports: Counter[tuple[int, int]] = Counter()
        words = self.config.flows
        rows = [words[1 + 6 * i : 7 + 6 * i] for i in range(int(words[0]))]
        self.rows = deque(FlowRow(*map(int, row[:5]), nanoseconds(float(row[5]))) for row in rows)
        self.at(self.rows[0].start, self.start_flows)
        after, *ends = self.config.link_down
        if after > 0:
            self.at(LINK_DOWN_FROM + after * US, self.take_down, *ends)
        if self.config.monitored:
            self.at(self.config.monitor[0], self.sample)
        # What was scheduled before for the same instant is still done.
        self.at(self.config.stop, self.stop)
        while self.running and self.events:
            self.now, _, event = heapq.heappop(self.events)
            if not event.cancelled:
                event.action(*event.arguments)

    def at(self, time: int, action: Callable[..., None], *arguments: Any) -> Event:
        event = Event(time, action, arguments)
        self.scheduled += 1
        heapq.heappush(self.events, (time, self.scheduled, event))
        return event

    def stop(self) -> None:
        self.running = False

    def build(self) -> None:
        words = iter(self.config.topology)
        count, switches, links = (int(next(words)) for _ in range(3))
        numbers = {int(next(words)) for _ in range(switches)}
        self.nodes: list[Any] = [(Switch if i in numbers else Host)(self, i) for i in range(count)]
        self.switches = [node for node in self.nodes if isinstance(node, Switch)]
        self.hosts = [node for node in self.nodes if isinstance(node, Host)]
        streams = STREAMS_OF_NODE * count + OTHER_STREAMS
        common = self.config.error_rate
        losses = (Stream(stream(LOSS_STREAM)) if common > 0 else None), common
        for link in range(links):
            ends = [self.nodes[int(next(words))] for _ in range(2)]
            rate, delay = rate_of(next(words)), with_unit(next(words), TIME_UNITS)
            error_rate = float(next(words))
            # A link with an error rate of its own has a copy of the stream: both ends draw from it.
            own = (Stream(stream(LOSS_STREAM)), error_rate) if error_rate > 0 else losses
            streams += STREAMS_OF_LOSS if error_rate > 0 else 0
            # Each link has a net of its own, 10.x.y.0, whose addresses only PFC frames show.
            net = 0x0A000000 + (link // 254 + 1 << 16) + (link % 254 + 1 << 8)
            ports = [
                (SwitchPort if node in self.switches else Nic)(self, node, rate, delay, net + end, own)
                for end, node in enumerate(ends, 1)
            ]
            for port, peer in zip(ports, reversed(ports), strict=True):
                port.peer = peer
                port.node.ports.append(port)
                port.node.neighbours[peer.node.number] = port
        self.marks = NewStreams(streams)
        for switch in self.switches:
            switch.begin(self.hosts[0].ports[0].rate)
        for host in self.hosts:
            host.begin()
        self.rtts: dict[tuple[int, int], int] = {}
        self.slowest: dict[tuple[int, int], int] = {}
        self.find_routes()
        self.bdps = {pair: rtt * self.slowest[pair] // S // 8 for pair, rtt in self.rtts.items()}
        self.max_rtt, self.max_bdp = max(self.rtts.values()), max(self.bdps.values())

    def find_routes(self) -> None:
        """Breadth-first from every host, neighbours in descending order. Base RTTs stay those of the whole network."""
        whole = not self.rtts
        for node in self.nodes:
            node.next_hops = {}
        for host in self.hosts:
            paths = {host.number: (0, 0, 0, U64)}
            found = [host]
            for node in found:
                hops, delay, time, slowest = paths[node.number]
                for number in sorted(node.neighbours, reverse=True):
                    port, neighbour = node.neighbours[number], self.nodes[number]
                    if not port.up:
                        continue
                    if number not in paths:
                        full = self.config.payload * S * 8 // port.rate
                        paths[number] = hops + 1, delay + port.delay, time + full, min(slowest, port.rate)
                        if isinstance(neighbour, Switch):
                            found.append(neighbour)
                    if paths[number][0] == hops + 1:
                        neighbour.next_hops.setdefault(host.number, []).append(neighbour.neighbours[node.number])
            for src in self.hosts:
                if src is not host and src.number in paths:
                    _, delay, time, slowest = paths[src.number]
                    self.slowest[src.number, host.number] = slowest
                    if whole:
                        self.rtts[src.number, host.number] = 2 * delay + time

    def hashed(self, src: int, dst: int, sport: int, dport: int, seed: int = 0x8BADF00D) -> int:
        """The hash that chooses among next hops: at switches seeded with their number, at hosts with ns-3's own."""
        return murmur3((self.nodes[src].address, self.nodes[dst].address, sport | dport << 16), seed)

    def start_flows(self) -> None:
        while self.rows and self.rows[0].start == self.now:
            row = self.rows.popleft()
            pair = row.src, row.dst
            sport = 10000 + self.sports[pair] & 0xFFFF
            self.sports[pair] += 1
            # An application starts, which schedules its first flow.
            self.at(self.now, self.at, self.now, self.nodes[row.src].start, row, sport)
        if self.rows:
            self.at(self.rows[0].start, self.start_flows)

    def finished(self, flow: Flow) -> None:
        pair, payload = (flow.src, flow.dst), self.config.payload
        size = flow.size + ((flow.size - 1) // payload + 1) * DATA_HEADER & U32
        standalone = self.rtts[pair] + (size * 8 * S & U64) // self.slowest[pair]
        src, dst = (self.nodes[node].address for node in pair)
        time = f"{flow.start} {self.now - flow.start} {standalone}"
        self.fct.append(f"{src:08x} {dst:08x} {flow.sport} {flow.dport} {flow.size} {time}")

    def take_down(self, a: int, b: int) -> None:
        """A link fails. Frames at its ports are lost, yet keep their place in the switches' accounts."""
        ends = self.nodes[a].neighbours[b], self.nodes[b].neighbours[a]
        for port in ends:
            port.go_down()
        self.find_routes()
        for host in self.hosts:
            host.list_again()

    def sample(self) -> None:
        for switch in self.switches:
            for port in switch.ports:
                histogram = self.histograms.setdefault((switch.number, port.number), [])
                step = (sum(port.waiting) & U32) // QUEUE_STEP
                histogram += [0] * (step + 1 - len(histogram))
                histogram[step] += 1
        if self.now % self.dump == 0:
            self.qlen.append(f"time: {self.now}")
            for place, histogram in sorted(self.histograms.items()):
                self.qlen.append(" ".join(map(str, (*place, *histogram))))
        if self.now < self.config.monitor[1]:
            self.at(self.now + QUEUE_SAMPLES, self.sample)
