//! Two ends and a wire: the network of the tests.

use std::collections::BTreeMap;

use crate::cc::FlowContext;
use crate::telemetry::IntHop;
use crate::transport::tcp::{Connection, Context, Flags, Outcome, Params, Segment, State};
use crate::units::{BitsPerSec, Duration, Time};

/// Bytes of headers per packet on the wire.
const HEADERS: u64 = 52;

/// What becomes of a segment on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Arrives,
    Lost,
    /// With a congestion mark, if it is ECT.
    Marked,
    Twice,
    /// So much later than it would.
    Late(Duration),
}

/// Decides fates: from the sending end, the count of segments it has sent, and the segment.
pub type Script<'a> = Box<dyn FnMut(usize, u64, &Segment) -> Fate + 'a>;

pub struct Pair<'a> {
    pub tcp: [Params; 2],
    pub cc: FlowContext,
    pub ends: [Connection; 2],
    /// One way, and the rate both ways with its drop-tail queue in bytes; no rate is an endless one.
    pub delay: Duration,
    pub rate: Option<(BitsPerSec, u64)>,
    pub script: Script<'a>,
    /// Telemetry a reflected probe brings.
    pub telemetry: Box<dyn Fn(Time) -> Vec<IntHop> + 'a>,
    pub now: Time,
    /// Everything that left, in order.
    pub log: Vec<(Time, usize, Segment)>,
    pub keep_log: bool,
    pub sent: [u64; 2],
    pub lost: u64,
    /// All that the calls reported.
    pub delivered: [u64; 2],
    pub acked: [u64; 2],
    pub failed: bool,
    /// Looked at after every segment that left.
    pub check: fn(&Pair, usize, &Segment),
    wire: BTreeMap<(Time, u64), (usize, Segment)>,
    free_at: [Time; 2],
    order: u64,
}

impl<'a> Pair<'a> {
    /// End 0 opens, end 1 waits.
    pub fn new(tcp: Params, cc: FlowContext, delay: Duration, script: Script<'a>) -> Self {
        let cx = Context { tcp: &tcp, cc: &cc };
        let ends = [Connection::connect(cx), Connection::listen(cx)];
        Self {
            tcp: [tcp.clone(), tcp],
            cc,
            ends,
            delay,
            rate: None,
            script,
            telemetry: Box::new(|_| Vec::new()),
            now: Time(0),
            log: Vec::new(),
            keep_log: true,
            sent: [0; 2],
            lost: 0,
            delivered: [0; 2],
            acked: [0; 2],
            failed: false,
            check: |_, _, _| {},
            wire: BTreeMap::new(),
            free_at: [Time(0); 2],
            order: 0,
        }
    }

    /// Puts on the wire what an end has to send.
    pub fn drain(&mut self, end: usize) {
        let mut polls = 0;
        while let Some(segment) = {
            let cx = Context { tcp: &self.tcp[end], cc: &self.cc };
            self.ends[end].poll_transmit(cx, self.now)
        } {
            polls += 1;
            assert!(polls < 1_000_000, "sends without end");
            if self.keep_log {
                self.log.push((self.now, end, segment));
            }
            (self.check)(self, end, &segment);
            self.carry(end, segment);
        }
    }

    fn carry(&mut self, end: usize, mut segment: Segment) {
        let fate = (self.script)(end, self.sent[end], &segment);
        self.sent[end] += 1;
        let mut leaves = self.now;
        if let Some((rate, queue)) = self.rate {
            let wait = Duration(self.free_at[end].0.saturating_sub(self.now.0));
            let waiting = u128::from(wait.0) * u128::from(rate.0) / 8_000_000_000_000;
            if waiting > u128::from(queue) {
                self.lost += 1;
                return;
            }
            leaves = self.free_at[end].max(self.now) + rate.serialisation(u64::from(segment.len) + HEADERS);
            self.free_at[end] = leaves;
        }
        let mut arrives = leaves + self.delay;
        match fate {
            Fate::Marked if segment.flags.has(Flags::ECT) => segment.flags |= Flags::CE,
            Fate::Arrives | Fate::Marked => {}
            Fate::Lost => {
                self.lost += 1;
                return;
            }
            Fate::Twice => {
                self.order += 1;
                self.wire.insert((arrives + Duration(1), self.order), (1 - end, segment));
            }
            Fate::Late(by) => arrives = arrives + by,
        }
        self.order += 1;
        self.wire.insert((arrives, self.order), (1 - end, segment));
    }

    fn note(&mut self, end: usize, outcome: Outcome) {
        self.delivered[end] += outcome.delivered;
        self.acked[end] += outcome.acked;
        self.failed |= outcome.failed;
    }

    /// Moves to the next thing that happens, if it happens by `until`.
    pub fn step(&mut self, until: Time) -> bool {
        let arrival = self.wire.first_key_value().map(|((at, _), _)| *at);
        let timers = [self.ends[0].next_timeout(), self.ends[1].next_timeout()];
        let next = arrival.into_iter().chain(timers.into_iter().flatten()).min();
        let Some(next) = next.filter(|at| *at <= until) else { return false };
        assert!(next >= self.now, "time goes back");
        self.now = next;
        if arrival == Some(next) {
            let ((_, _), (end, segment)) = self.wire.pop_first().expect("there is one");
            let int = if segment.flags.has(Flags::PROBE_REPLY) { (self.telemetry)(self.now) } else { Vec::new() };
            let cx = Context { tcp: &self.tcp[end], cc: &self.cc };
            let outcome = self.ends[end].on_segment(cx, self.now, &segment, &int);
            self.note(end, outcome);
            self.drain(end);
        } else {
            for (end, timer) in timers.into_iter().enumerate() {
                if timer == Some(next) {
                    let cx = Context { tcp: &self.tcp[end], cc: &self.cc };
                    let outcome = self.ends[end].on_timeout(cx, self.now);
                    self.note(end, outcome);
                    self.drain(end);
                    let next = self.ends[end].next_timeout();
                    assert!(next.is_none_or(|at| at > self.now), "a timer that is due stays due");
                }
            }
        }
        true
    }

    /// Runs until nothing happens any more or time is over.
    pub fn run(&mut self, until: Time) {
        self.drain(0);
        self.drain(1);
        while self.step(until) {}
    }

    pub fn over(&self) -> bool {
        self.ends.iter().all(|e| e.state() == State::Closed)
    }
}
