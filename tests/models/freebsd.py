"""FreeBSD's TCP of 2010 (releases 8 and 9), as far as it differs from the RFCs of `models.tcp`.

Written from what is public of that stack: its timeout with a slop after the back-off, recovery by the window in whole
segments, the test of duplicate ACKs against what a mark or timeout has moved (`snd_recover`), and the undoing of a
timeout that was too early. A recovery that such a timeout has ended does not go on, as docs/transports.md says.
It shares nothing with the engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.tcp import MSS, US, Client, Estimator, Flow, Host, NewReno, Packet, Rules, Server

MOST = 64_000_000 * US
"""The longest timeout, 64 s."""
IP_AND_TCP = 40
"""Bytes of headers that a threshold in the cache has for each packet."""


@dataclass(frozen=True)
class FreeBsdRules(Rules):
    slop: int = 0
    """Added to every timeout but the first of a SYN."""
    inherit: str = "nothing"
    """What a connection takes over through the host cache: nothing at all, or beside the threshold and the round-trip
    time no window ("off"), half of it or all ("full")."""


class FreeBsdEstimator(Estimator):
    """`TCP_REXMTVAL` and `tcp_backoff`."""

    def __init__(self, rules: FreeBsdRules) -> None:
        super().__init__(rules)
        self.slop, self.shift, self.samples = rules.slop, 0, 0

    def sample(self, rtt: int) -> None:
        super().sample(max(rtt, US))
        self.shift = 0
        self.samples += 1
        self.set()

    def set(self) -> None:
        """The timeout by what is known now; without a sample a SYN has five of its first length."""
        least = self.rules.rto_min
        if self.srtt is None and not self.rttvar:
            longer = 2 ** min(max(0, self.shift - 4), 6)
            self.rto = self.rules.rto_initial * longer + (self.slop if self.shift else 0)
        else:
            mean = (self.srtt or 0) + max(US, 4 * self.rttvar)
            self.rto = int(max(least, mean)) * 2 ** min(self.shift, 9) + self.slop
        self.rto = min(max(self.rto, least), MOST)

    def back_off(self) -> None:
        self.shift += 1
        self.set()
        if self.shift > 3 and self.srtt is not None:
            # The mean goes into the deviation, which leaves the timeout as it is; the next sample counts as a first.
            self.rttvar += self.srtt / 4
            self.srtt = None


@dataclass
class Left:
    """What the connections to a host have left: means of the old and the new, 0 for nothing."""

    ssthresh: int = 0
    cwnd: int = 0
    srtt: int = 0
    rttvar: int = 0

    def update(self, ssthresh: int, cwnd: int, srtt: int, rttvar: int) -> None:
        for name, new in (("ssthresh", ssthresh), ("cwnd", cwnd), ("srtt", srtt), ("rttvar", rttvar)):
            old = getattr(self, name)
            setattr(self, name, (old + new) // 2 if old and new else old or new)


class FreeBsdServer(Server):
    def __init__(self, flow: Flow, host: Host) -> None:
        super().__init__(flow, host)
        self.estimator = FreeBsdEstimator(self.rules)
        self.rto = self.estimator.rto

    def timeout(self) -> None:
        self.net.timeouts += 1
        self.estimator.back_off()
        self.rto = self.estimator.rto
        self.answer()


class FreeBsdClient(Client):
    """Without SACK. `IN_CONGRECOVERY` is ``slowed``, `IN_FASTRECOVERY` is ``recovering``."""

    CWR_WITH_ANY = True

    def __init__(self, flow: Flow, host: Host) -> None:
        super().__init__(flow, host)
        self.control = FreeBsdNewReno(self)
        self.estimator = FreeBsdEstimator(self.rules)
        self.slowed = False
        self.before: tuple[int, int, int, int, bool] | None = None
        """Until when a timeout may turn out to have been too early, and window, threshold and state before it."""

    def open(self, packet: Packet) -> None:
        first, left = not self.established, self.host.left.get(self.flow.dst, Left())
        if first and left.srtt and not self.estimator.samples:
            self.estimator.srtt, self.estimator.rttvar = left.srtt, left.rttvar
        super().open(packet)
        if not first:
            return
        if left.ssthresh:
            self.control.ssthresh = max(left.ssthresh, 2 * MSS)
        if self.rules.inherit in ("half", "full") and left.cwnd and not self.syn_again:
            cwnd = left.cwnd // 2 if self.rules.inherit == "half" else left.cwnd
            self.control.cwnd = max(MSS, min(cwnd, self.rules.receive_buffer))

    def end(self) -> None:
        super().end()
        if self.rules.inherit == "nothing" or self.estimator.samples < 4:
            return
        ssthresh = 0
        if self.control.ssthresh < self.rules.receive_buffer // 2:
            ssthresh = max(2, (self.control.ssthresh + MSS // 2) // MSS) * (MSS + IP_AND_TCP)
        self.host.left.setdefault(self.flow.dst, Left()).update(
            ssthresh, self.control.cwnd + self.inflation, int(self.estimator.srtt or 0), int(self.estimator.rttvar)
        )

    def echo(self, packet: Packet) -> None:
        if not self.slowed:
            self.control.on_mark(self.flight())
            self.recover, self.slowed, self.cwr = self.top, True, True

    def advance(self, packet: Packet, used: bool, delivered: int, lost: int) -> None:
        acked = packet.ack - self.una
        if self.before and self.tried == 1 and self.net.now < self.before[0]:
            _, self.control.cwnd, self.control.ssthresh, self.recover, slowed = self.before
            self.slowed |= slowed
            self.control.after_timeout = False
            self.nxt = self.top
        self.before = None
        self.measure(packet)
        echo = packet.echo if self.rules.timestamps else None
        over = self.rounds.acknowledged(self.una, packet.ack, echo, self.tick)
        may_grow = not self.slowed and not self.recovering
        behind = self.nxt < self.top
        self.una, self.tried = packet.ack, 0
        self.nxt = max(self.nxt, self.una)
        self.duplicates = self.limited = 0
        partial = self.recovering and self.una < self.recover
        if partial:
            self.inflation = max(self.inflation - acked, -self.control.cwnd) + MSS
        elif self.recovering:
            flight, control = self.flight(), self.control
            control.cwnd = flight + MSS if flight < control.ssthresh else control.ssthresh
            self.recovering, self.inflation = False, 0
        self.control.after_timeout = behind
        self.control.hear(over, used, not may_grow)
        if may_grow and used:
            self.control.on_ack(acked)
        self.slowed &= self.una < self.recover
        if self.una == self.flow.size:
            self.end()
            return
        if self.flight() == 0:
            self.timer.stop()
        else:
            self.timer.set(self.net.now + self.estimator.rto)
        if partial:
            self.segment(self.una, min(MSS, self.flow.size - self.una))

    def duplicate(self, delivered: int) -> None:
        if self.recovering:
            self.inflation += MSS
            return
        self.duplicates += 1
        if self.duplicates < 3:
            return
        if self.una <= self.recover:
            self.duplicates = 0
            return
        if not self.slowed:
            self.control.reduce(0)
        self.control.cwnd = self.control.ssthresh
        self.recover, self.recovering, self.slowed = self.top, True, True
        self.cwr |= self.rules.ecn
        self.inflation = 3 * MSS - self.limited
        self.timer.stop()
        self.segment(self.una, min(MSS, self.flow.size - self.una))

    def timeout(self) -> None:
        srtt, control = self.estimator.srtt, self.control
        if not self.backs_off():
            return
        if self.tried == 1:
            until = self.net.now + int(srtt or 0) // 2
            slowed = self.slowed and not self.recovering
            self.before = (until, control.cwnd, control.ssthresh, self.recover, slowed)
        control.on_timeout(self.flight(), True)
        self.recover, self.recovering, self.slowed, self.inflation = self.top, False, False, 0
        self.nxt, self.duplicates, self.limited = self.una, 0, 0
        self.output()


class FreeBsdNewReno(NewReno):
    """`cc_newreno`: windows in whole segments, slow start up to and at the threshold."""

    def is_used(self, flight: int) -> bool:
        return self.cwnd <= self.client.rules.receive_buffer

    def on_ack(self, acked: int) -> None:
        if self.cwnd <= self.ssthresh:
            self.cwnd += min(acked, MSS if self.after_timeout else 2 * MSS)
            self.counted = 0
        else:
            self.avoid(min(acked, 2 * MSS))

    def reduce(self, flight: int, least: int = 2 * MSS) -> None:
        self.ssthresh = self.cwnd = max(self.cwnd // 2 // MSS, 2) * MSS
        self.counted = 0

    def on_mark(self, flight: int) -> None:
        self.reduce(flight)

    def on_timeout(self, flight: int, first: bool) -> None:
        self.reduce(flight)
        self.cwnd, self.counted, self.after_timeout = MSS, 0, True
