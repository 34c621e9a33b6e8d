"""The five controllers of the HPCC authors' simulator, and what its switches measure for PINT, for `models.hpcc`.

HPCC and HPCC-PINT (Li et al., SIGCOMM 2019; Ben Basat et al., SIGCOMM 2020), DCQCN (Zhu et al., SIGCOMM 2015), TIMELY
(Mittal et al., SIGCOMM 2015) and DCTCP by rates (Alizadeh et al., SIGCOMM 2010), each as that simulator has it: rates
are whole bit/s, times whole nanoseconds, and a controller may still be told of the ACK that ends its flow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.hpcc_numbers import U32, U64, CRand, quotient, serialisation, to_u64

if TYPE_CHECKING:
    from models.hpcc import Event, Flow, Frame, Nic, Simulation

US = 1000
MAX_HOPS = 5
"""INT records that a frame has room for."""
INT_RATES = (25, 50, 100, 200, 400)
"""Port rates by their code in INT records, in Gb/s."""
PINT_UNIT = 512
"""PINT's powers of its base count 1/512 of utilisation."""


class Control:
    """Knows the flow whose rate it sets."""

    header = 0
    """Bytes that it adds to the headers of data and ACKs."""

    def __init__(self, net: Simulation, flow: Flow) -> None:
        self.net, self.flow, self.config = net, flow, net.config
        self.heard = 0
        """What had been sent when the last round trip began; 0 before the first ACK."""
        self.begin()

    def begin(self) -> None:
        raise NotImplementedError

    def on_ack(self, frame: Frame, nic: Nic) -> None:
        raise NotImplementedError

    def end(self) -> None:
        pass

    def change_rate(self, rate: int, nic: Nic) -> None:
        """The next packet moves by what the gap before it changes; the NIC's timer only to an earlier time."""
        flow, net = self.flow, self.net
        flow.available += serialisation(flow.last_size, rate) - serialisation(flow.last_size, flow.rate)
        if nic.pacing is not None and flow.available < nic.pacing.time:
            nic.pacing.cancel()
            nic.pacing = net.at(max(flow.available, net.now), nic.paced)
        flow.rate = rate


class HpccPint(Control):
    header = 2

    def begin(self) -> None:
        self.stage, self.reference = 0, self.flow.line

    def adjusted(self, load: float, reference: int, stage: int) -> tuple[int, int]:
        """Rate and stage by how much of the target utilisation is in use."""
        config = self.config
        if load >= 1 or stage >= config.max_stage:
            rate, stage = to_u64(quotient(float(reference), load)) + config.ai_rate, 0
        else:
            rate, stage = reference + config.ai_rate, stage + 1
        return min(max(rate & U64, config.min_rate), self.flow.line), stage

    def on_ack(self, frame: Frame, nic: Nic) -> None:
        config = self.config
        if self.net.rand.next() % 65536 >= config.pint_threshold:
            return
        if self.heard == 0:
            self.heard = self.flow.next & U32
            return
        use = math.pow(config.pint_base, frame.power) / PINT_UNIT
        rate, stage = self.adjusted(use / config.target, self.reference, self.stage)
        self.change_rate(rate, nic)
        if frame.seq > self.heard:
            self.reference, self.stage = rate, stage
            self.heard = max(self.heard, self.flow.next & U32)


@dataclass
class Hop:
    """What HPCC keeps of a hop with ``MULTI_RATE 1``."""

    use: float
    reference: int
    stage: int = 0


class Hpcc(HpccPint):
    header = 42

    def begin(self) -> None:
        super().begin()
        self.use = 1.0
        self.records = [(0, 0, 0, 0)] * MAX_HOPS
        self.hops = [Hop(1.0, self.flow.line) for _ in range(MAX_HOPS)]

    def on_ack(self, frame: Frame, nic: Nic) -> None:
        is_new = frame.seq > self.heard
        if not is_new and not self.config.fast_react:
            return
        if self.heard == 0:
            self.heard = self.flow.next & U32
            for i in range(min(frame.hops, MAX_HOPS)):
                self.records[i] = frame.records[i]
            return
        # INT of longer paths is not believed.
        if frame.hops <= MAX_HOPS:
            self.react(frame, nic, is_new)
        if is_new:
            self.heard = max(self.heard, self.flow.next & U32)

    def react(self, frame: Frame, nic: Nic, is_new: bool) -> None:
        config, base_rtt = self.config, self.flow.base_rtt
        most, span = 0.0, 0
        measured = set()
        for i in range(frame.hops):
            if config.sample_feedback and frame.records[i][2] == 0 and not is_new:
                continue
            measured.add(i)
            use, tau = self.use_of(i, frame.records[i])
            self.records[i] = frame.records[i]
            if config.multi_rate:
                hop, tau = self.hops[i], min(tau, base_rtt)
                hop.use = (hop.use * float(base_rtt - tau) + use * float(tau)) / float(base_rtt)
            elif use > most:
                most, span = use, tau
        if not measured:
            return
        if config.multi_rate:
            new = {
                i: self.adjusted(self.hops[i].use / config.target, hop.reference, hop.stage)
                for i, hop in enumerate(self.hops)
                if i in measured
            }
            rates = [new[i][0] if i in measured else self.hops[i].reference for i in range(frame.hops)]
            rate, stage = min(self.flow.line, *rates), 0
        else:
            span = min(span, base_rtt)
            self.use = (self.use * float(base_rtt - span) + most * float(span)) / float(base_rtt)
            new = {}
            rate, stage = self.adjusted(self.use / config.target, self.reference, self.stage)
        self.change_rate(rate, nic)
        if is_new:
            self.reference, self.stage = rate, stage
            for i, (hop_rate, hop_stage) in new.items():
                self.hops[i].reference, self.hops[i].stage = hop_rate, hop_stage

    def use_of(self, i: int, new: tuple[int, int, int, int]) -> tuple[float, int]:
        """Utilisation of a hop since the record of it before, and the time between both."""
        old, multiple, flow = self.records[i], self.config.int_multiple, self.flow
        tau = (new[0] - old[0]) % (1 << 24)
        sent = (new[1] - old[1]) % (1 << 20) * 128 * multiple
        queue = min(new[2], old[2]) * 80 * multiple
        rate = float(INT_RATES[new[3]] * 10**9)
        sending = quotient(quotient(float(sent * 8), tau * 1e-9), rate)
        return sending + quotient(quotient(float(queue) * float(flow.line), rate), float(flow.window)), tau


class Timely(Control):
    header = 8
    LOW, HIGH, MIN_RTT = 50 * US, 500 * US, 20 * US
    ALPHA, BETA = 0.875, 0.8

    def begin(self) -> None:
        self.stage, self.reference, self.difference, self.rtt = 0, self.flow.line, 0.0, 0

    def on_ack(self, frame: Frame, nic: Nic) -> None:
        if frame.seq <= self.heard:
            return
        rtt = self.net.now - frame.sent
        if self.heard:
            self.adjust(rtt)
        if self.flow.next > self.heard:
            self.heard, self.rtt = self.flow.next, rtt

    def adjust(self, rtt: int) -> None:
        config, flow = self.config, self.flow
        self.difference = (1 - self.ALPHA) * self.difference + self.ALPHA * (rtt - self.rtt)
        gradient = self.difference / self.MIN_RTT
        if rtt < self.LOW or (rtt <= self.HIGH and gradient <= 0):
            step = config.ai_rate if self.stage < 5 else config.hai_rate
            flow.rate, self.stage = min(self.reference + step, flow.line), self.stage + 1
        else:
            factor = 1 - self.BETA * (1 - float(self.HIGH) / rtt) if rtt > self.HIGH else 1 - self.BETA * gradient
            flow.rate, self.stage = max(config.min_rate, to_u64(self.reference * max(factor, 0))), 0
        self.reference = flow.rate


class Dctcp(Control):
    def begin(self) -> None:
        self.alpha, self.marked, self.batch = 1.0, 0, 0
        self.reduced_until: int | None = None

    def on_ack(self, frame: Frame, nic: Nic) -> None:
        config, flow = self.config, self.flow
        self.marked += frame.echo
        opens = frame.seq > self.heard
        if opens and self.heard == 0:
            self.batch = flow.next // config.payload + 1
        elif opens:
            share = min(1.0, self.marked / self.batch)
            self.alpha = (1 - config.gain) * self.alpha + config.gain * share
            # After a loss there may be less sent than acknowledged: then this wraps around.
            self.marked, self.batch = 0, ((flow.next - frame.seq & U64) // config.payload + 1) & U32
        if opens:
            self.heard = flow.next
        if self.reduced_until is not None and frame.seq > self.reduced_until:
            self.reduced_until = None
        if frame.echo and self.reduced_until is None:
            flow.rate = max(config.min_rate, to_u64(flow.rate * (1 - self.alpha / 2)))
            self.reduced_until = flow.next
        if self.reduced_until is None and opens:
            flow.rate = min(flow.line, flow.rate + config.dctcp_ai_rate)


class Dcqcn(Control):
    def begin(self) -> None:
        self.alpha, self.target, self.stage = 1.0, self.flow.line, 0
        self.told = self.told_alpha = self.told_rate = False
        self.timers: dict[str, Event] = {}

    def on_ack(self, frame: Frame, nic: Nic) -> None:
        if not frame.echo:
            return
        # The first one only starts the timers: its alpha counts as renewed.
        self.told_alpha, self.told_rate = self.told, True
        if not self.told:
            self.told, self.target = True, self.flow.rate
            self.set("alpha", self.config.alpha_interval, self.renew_alpha)
            self.set("decrease", self.config.decrease_interval + 1, self.decrease)

    def set(self, timer: str, interval: int, tick: Callable[[], None]) -> None:
        self.timers[timer] = self.net.at(self.net.now + interval, tick)

    def end(self) -> None:
        for timer in self.timers.values():
            timer.cancel()
        self.timers = {}

    def renew_alpha(self) -> None:
        gain = self.config.gain
        self.alpha = (1 - gain) * self.alpha + gain * self.told_alpha
        self.told_alpha = False
        self.set("alpha", self.config.alpha_interval, self.renew_alpha)

    def decrease(self) -> None:
        config, flow = self.config, self.flow
        self.set("decrease", config.decrease_interval, self.decrease)
        if not self.told_rate:
            return
        if config.clamp_target_rate or self.stage:
            self.target = flow.rate
        flow.rate = max(config.min_rate, to_u64(flow.rate * (1 - self.alpha / 2)))
        self.stage, self.told_rate = 0, False
        if "increase" in self.timers:
            self.timers["increase"].cancel()
        self.set("increase", config.increase_interval, self.increase)

    def increase(self) -> None:
        config, flow = self.config, self.flow
        self.set("increase", config.increase_interval, self.increase)
        if self.stage >= config.fast_recovery:
            step = config.ai_rate if self.stage == config.fast_recovery else config.hai_rate
            self.target = min(self.target + step, flow.line)
        flow.rate = flow.rate // 2 + self.target // 2
        self.stage += 1


CONTROLS: dict[int, type[Control]] = {1: Dcqcn, 3: Hpcc, 7: Timely, 8: Dctcp, 10: HpccPint}
"""By ``CC_MODE``."""


class PintMeter:
    """A switch port's utilisation as PINT has it: a moving average, in logarithms of 15 bits after the point."""

    STEP = 32768.0
    BITS = 16
    """Of a number only so many are looked up."""

    def __init__(self, rand: CRand, rate: int, base: float) -> None:
        self.rand, self.rate, self.base = rand, rate, base
        self.use, self.last_size, self.last = 0.0, 0, 0

    def sent(self, size: int, now: int) -> None:
        self.last_size, self.last = size, now

    def logarithm(self, x: int) -> int:
        if x <= 0:
            return -(1 << 31)
        cut = int(math.log2(x)) + 1 - self.BITS
        if cut > 0:
            mask = (1 << cut) - 1
            rest, x = x & mask, x & ~mask
            if rest > (self.rand.next() & mask):
                x += 1 << cut
        return int(math.log2(x) * self.STEP)

    def measure(self, now: int, base_rtt: int, queued: int) -> int:
        """Renews the utilisation at a packet's departure, and draws the power of the base that the packet carries."""
        passed = min(now - self.last, base_rtt)
        rtt, rate, second = (math.log2(x) * self.STEP for x in (base_rtt, self.rate // 8, 1e9))
        waiting = sending = before = 0.0
        # The order of draws is the one in which they are written here.
        if queued >> 8 > 0:
            logs = self.logarithm(passed) + self.logarithm(queued >> 8)
            waiting = math.pow(2, (logs + second - rate - 2 * rtt) / self.STEP) * 256
        if self.last_size > 0:
            sending = math.pow(2, (self.logarithm(self.last_size) + second - rate - rtt) / self.STEP)
        if base_rtt > passed and self.use > 0:
            logs = self.logarithm(base_rtt - passed) + self.logarithm(math.floor(self.use * 8192 + 0.5))
            before = math.pow(2, (logs - rtt) / self.STEP) / 8192
        self.use = waiting + sending + before
        return self.drawn_power(max(1, math.ceil(self.use * PINT_UNIT)))

    def drawn_power(self, value: int) -> int:
        exact = math.log(value) * (1 / math.log(self.base))
        low, high = math.floor(exact), math.ceil(exact)
        below, above = math.pow(self.base, low), math.pow(self.base, high)
        if low == high:
            above *= self.base
        return high if self.rand.next() % 65536 < (value - below) / (above - below) * 65536 else low
