//! HPCC: high precision congestion control (Li et al., SIGCOMM 2019), with INT.
//!
//! Source: the paper's Algorithm 1 and, where it is silent, the behaviour of the authors' public simulator.
//!
//! *Deviations from the paper, as in the authors' simulator:* the controlled quantity is a rate `R`, the window follows
//! as `W * R / line rate`; the additive increase is a rate (`w_ai_rate`); the sender's own NIC writes no record; the link
//! utilisation `u` is updated on every ACK, also on those that only react fast; the very first ACK only stores its
//! records. *Not as in that simulator:* a hop whose two records bear the same time is left out; there the division by
//! zero makes `u` infinite, or no number at all, for the rest of the flow; and the first ACK after a silence in which INT's counters
//! may have come round (16.8 ms by their clock) only stores its records, where that simulator reads a wrong time out of them; and time in
//! which no port has counted a whole unit of bytes counts as idle, where that simulator passes over it, so that of packets smaller than a
//! unit only the times with one enter `u` (2048 B at 400 Gb/s: a flow alone gets half of its link). As in that simulator an ACK without
//! records, on a path without switches, leaves the rate as it is. A queue beyond what its 17 bits of 80 B times the unit hold (10.5 MB with
//! hosts below 50 Gb/s, 42 MB at 100 Gb/s) reads as the longest they hold, there as a short one.

use super::{
    Ack, Algorithm, CongestionControl, FlowContext, Limits, Profile, Runs, Telemetry, float, scaled_window, whole,
};
use crate::telemetry::{IntHop, MAX_HOPS, TICK_BITS};
use crate::units::Time;

/// Bytes of the INT part of a packet: five hops of 8 bytes and a hop count of 2.
pub const HEADER_BYTES: u32 = 42;

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Target utilisation eta, above 0. The paper's 0.95; the project page uses 0.99.
    pub eta: f64,
    /// Additive-increase stages before a multiplicative adjustment is forced (the paper's maxStage; 0 in its simulations).
    pub max_stage: u32,
    /// Additive increase `W_AI` as a rate, bit/s.
    pub w_ai_rate: u64,
    /// Lowest rate, bit/s.
    pub min_rate: u64,
    /// React to every ACK against the reference rate (Algorithm 1, line 17), not only once per round trip.
    pub fast_reaction: bool,
    /// The window follows the rate.
    pub variable_window: bool,
    /// Keep utilisation and reference rate per hop and send at the lowest of their rates ([`HpccMultiRate`]), instead of
    /// following the busiest hop. Off in the paper.
    ///
    /// [`HpccMultiRate`]: super::hpcc_multi_rate::HpccMultiRate
    pub multi_rate: bool,
    /// Rate at first as a share of the line rate, above 0, at most 1. The paper's flows start at line rate.
    pub start: f64,
    /// ACKs within a round trip leave out hops whose queue is empty. Off in the paper.
    pub sample_feedback: bool,
}

impl Algorithm for Params {
    const PROFILE: Profile = Profile {
        runs: Runs::Both,
        telemetry: Telemetry::Int,
        needs_window: true,
        rate_moves_next_packet: true,
        ..Profile::RDMA
    };

    fn min_rate_mut(&mut self) -> Option<&mut u64> {
        Some(&mut self.min_rate)
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            eta: 0.95,
            max_stage: 0,
            w_ai_rate: 50_000_000,
            min_rate: 1_000_000_000,
            fast_reaction: true,
            variable_window: true,
            multi_rate: false,
            start: 1.0,
            sample_feedback: false,
        }
    }
}

/// A flow's state.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// Records of the last ACK.
    last: [IntHop; MAX_HOPS],
    /// Estimated utilisation of the busiest link.
    u: f64,
    /// Reference rate `R_c`, bit/s: changes once per round trip.
    reference_rate: u64,
    /// Rate now, bit/s.
    rate: u64,
    /// An ACK above this sequence number opens a new round trip; 0 before the first ACK.
    last_update_seq: u32,
    /// Additive increases in a row; 65,535 stand for more.
    stage: u16,
    /// When the records came, in ticks, modulo 2^16: 17.6 s.
    heard: u16,
}

/// Whether an ACK sets a rate; above `last_update_seq` it opens a round trip.
pub(super) fn sets_rate(ctx: &FlowContext, ack: &Ack<'_>, last_update_seq: u32) -> bool {
    let super::Params::Hpcc(p) = &ctx.params else { return false };
    let opens_round = ack.ack > last_update_seq;
    let measured = !p.sample_feedback || opens_round || ack.int.iter().any(|hop| hop.queue(1) != 0);
    last_update_seq != 0 && !ack.int.is_empty() && (opens_round || p.fast_reaction) && measured
}

/// Notes an ACK at `now`. Whether what came before, at `heard`, is too old to compare records with ([`FlowContext::record_life`]).
#[inline(always)]
pub(super) fn is_stale(ctx: &FlowContext, now: Time, heard: &mut u16) -> bool {
    let tick = (now.0 >> TICK_BITS) as u16;
    tick.wrapping_sub(std::mem::replace(heard, tick)) > ctx.record_life
}

/// Rate of a fresh flow: line rate, or the share of it that the parameters say.
pub(super) fn first_rate(ctx: &FlowContext) -> u64 {
    match &ctx.params {
        super::Params::Hpcc(p) if p.start < 1.0 => {
            ((float(ctx.line_rate) * p.start) as u64).max(p.min_rate).min(ctx.line_rate)
        }
        _ => ctx.line_rate,
    }
}

impl Hpcc {
    /// A fresh flow: its first rate, utilisation 1.
    pub fn new(ctx: &FlowContext) -> Self {
        let rate = first_rate(ctx);
        let last = [IntHop::default(); MAX_HOPS];
        Self { last, u: 1.0, reference_rate: rate, rate, last_update_seq: 0, stage: 0, heard: 0 }
    }

    /// Folds the records into `u` (`MeasureInflight` of Algorithm 1). The order of the operations is that of the
    /// authors' simulator: results are compared bit for bit.
    #[inline(always)]
    fn measure(&mut self, ctx: &FlowContext, int: &[IntHop]) {
        // Without branches on the utilisations: which hop is the busiest cannot be predicted, and is known late. Bits of positive numbers
        // are in the order of the numbers; one more than an idle hop's sets it apart from none.
        let (mut max_u, mut dt) = (0u64, 0u64);
        let last = &mut self.last[..int.len()];
        for (new, old) in int.iter().zip(last) {
            let (u, tau) = hop_utilisation(ctx, *new, *old);
            let u = if tau == 0 { 0 } else { u.to_bits() + 1 };
            let larger = u > max_u;
            max_u = if larger { u } else { max_u };
            dt = if larger { tau } else { dt };
            *old = *new;
        }
        if max_u <= 1 && ctx.believes_records() {
            dt = 0;
        }
        self.u = average(ctx, self.u, f64::from_bits(max_u.saturating_sub(1)), dt);
    }

    /// The same with the hops left out whose queue is empty. False when that is all of them. In the reference simulator the next ACK is compared
    /// with the last record that was not left out.
    #[cold]
    #[inline(never)]
    fn measure_queues(&mut self, ctx: &FlowContext, int: &[IntHop]) -> bool {
        let (mut max_u, mut dt, mut measured) = (0.0f64, 0u64, false);
        for (new, old) in int.iter().zip(&mut self.last) {
            if new.queue(1) != 0 {
                let (u, tau) = hop_utilisation(ctx, *new, *old);
                if u > max_u && tau != 0 {
                    (max_u, dt) = (u, tau);
                }
                measured = true;
            } else if ctx.believes_records() {
                continue;
            }
            *old = *new;
        }
        if measured {
            self.u = average(ctx, self.u, max_u, dt);
        }
        measured
    }
}

/// Utilisation of one hop between two records, and the time between them in ns: with none (two packets in one ns, or
/// exactly 2^24 ns apart) it is no number and the hop must be left out. The order of the operations is that of
/// the authors' simulator: results are compared bit for bit.
#[inline(always)]
pub(super) fn hop_utilisation(ctx: &FlowContext, new: IntHop, old: IntHop) -> (f64, u64) {
    let tau = new.ns_since(old);
    let tx_rate = float(new.bytes_since(old, ctx.int_multiple) * 8) / (float(tau) * 1e-9);
    let queue = new.shorter_queue(old, ctx.int_multiple);
    let capacity = ctx.rates[new.rate_code()];
    let mut u = tx_rate / capacity;
    // An empty queue adds an exact zero: two divisions saved on most hops.
    if queue != 0 {
        u += float(queue) * float(ctx.line_rate) / capacity / float(ctx.window);
    }
    (u, tau)
}

/// The running average `u` after `dt` ns of utilisation `now`, over one base RTT.
#[inline(always)]
pub(super) fn average(ctx: &FlowContext, u: f64, now: f64, dt: u64) -> f64 {
    let dt = dt.min(ctx.base_rtt_ns);
    (u * float(ctx.base_rtt_ns - dt) + now * float(dt)) / float(ctx.base_rtt_ns)
}

/// How a rate is adjusted: the parameters of Algorithm 1.
#[derive(Clone, Copy)]
pub(super) struct Reaction {
    pub(super) max_stage: u32,
    pub(super) w_ai_rate: u64,
    pub(super) min_rate: u64,
    pub(super) line_rate: u64,
}

impl Params {
    /// The part of them that adjusts a rate.
    #[inline(always)]
    pub(super) fn reaction(&self, line_rate: u64) -> Reaction {
        let Params { max_stage, w_ai_rate, min_rate, .. } = *self;
        Reaction { max_stage, w_ai_rate, min_rate, line_rate }
    }
}

impl Reaction {
    /// The rate and stage that follow from a reference rate at `c` times the utilisation aimed at (Algorithm 1, lines 9 to 14).
    #[inline(always)]
    pub(super) fn adjusted(self, c: f64, reference_rate: u64, stage: u32) -> (u64, u32) {
        // The stage first: with none it decides, and need not wait for the quotient.
        let (rate, stage) = if stage >= self.max_stage || c >= 1.0 {
            (whole(float(reference_rate) / c).saturating_add(self.w_ai_rate), 0)
        } else {
            (reference_rate + self.w_ai_rate, stage + 1)
        };
        (rate.max(self.min_rate).min(self.line_rate), stage)
    }
}

impl CongestionControl for Hpcc {
    #[inline]
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        let super::Params::Hpcc(p) = &ctx.params else { return };
        if ack.int.is_empty() {
            return;
        }
        let opens_round = ack.ack > self.last_update_seq;
        if !opens_round && !p.fast_reaction {
            return;
        }
        if is_stale(ctx, ack.now, &mut self.heard) || self.last_update_seq == 0 {
            self.last[..ack.int.len()].copy_from_slice(ack.int);
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
            return;
        }
        if !p.sample_feedback || opens_round {
            self.measure(ctx, ack.int);
        } else if !self.measure_queues(ctx, ack.int) {
            return;
        }
        let (rate, stage) = p.reaction(ctx.line_rate).adjusted(self.u / p.eta, self.reference_rate, self.stage.into());
        self.rate = rate;
        if opens_round {
            self.reference_rate = self.rate;
            self.stage = stage.min(u16::MAX.into()) as u16;
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
    }

    fn sets_rate(&self, ctx: &FlowContext, ack: &Ack<'_>) -> bool {
        sets_rate(ctx, ack, self.last_update_seq)
    }

    /// The next ACK only stores its records, as the first one did (paper, sec. 3.1: the path id of the INT header).
    fn on_new_path(&mut self) {
        self.last_update_seq = 0;
    }

    #[inline(always)]
    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::Hpcc(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, context};
    use super::*;
    use crate::telemetry::IntUnits;
    use crate::units::NS;

    /// Numbers that come out even: 100 Gb/s, T = 12,288 ns, W = 153,600 B (T at line rate), a target of 1.
    fn even(params: &Params) -> FlowContext {
        let params = super::super::Params::Hpcc(Params { eta: 1.0, ..params.clone() });
        FlowContext { base_rtt_ns: 12_288, window: 153_600, ..context(params) }
    }

    /// A record at a time in ns: bytes sent until then, queue left behind.
    fn record(ns: u64, sent: u64, queue: u64) -> [IntHop; 1] {
        [IntUnits::new(4).pack(Time(ns * NS), sent, queue, 0)]
    }

    fn tell(f: &mut Hpcc, ctx: &FlowContext, a: u32, next: u32, int: &[IntHop]) -> (u64, u64) {
        f.on_ack(ctx, &Ack { int, ..ack(a, next, false) });
        (f.rate, f.reference_rate)
    }

    /// Algorithm 1, `MeasureInflight`: `u' = min(q, q_prev) / (B T) + txRate / B`, `u = (1 - dt/T) u + (dt/T) u'`;
    /// `ComputeWind`: `R = Rc / (u / eta) + W_AI` where u >= eta (or all stages are used up).
    #[test]
    fn worked_by_hand() {
        let ctx = even(&Params::default());
        let mut f = Hpcc::new(&ctx);
        let (line, w_ai) = (100_000_000_000, 50_000_000);
        // The first ACK is only remembered.
        assert_eq!(tell(&mut f, &ctx, 1, 10, &record(0, 0, 76_800)), (line, line));
        // 4096 ns later, T/3; 51,200 B in it are 100 Gb/s; half a W waits: u' = 1 + 1/2, u = 2/3 + 1/2 = 7/6.
        assert_eq!(tell(&mut f, &ctx, 2, 11, &record(4096, 51_200, 76_800)), (85_714_285_714 + w_ai, line));
        // The smaller of the two queues counts: u' = 1.5 again, u = 7/9 + 1/2 = 23/18, against the same reference rate.
        assert_eq!(tell(&mut f, &ctx, 3, 12, &record(8192, 102_400, 153_600)), (78_260_869_565 + w_ai, line));
        // A round trip is over (11 > 10): u' = 2, u = 23/27 + 18/27 = 41/27, and the reference rate follows.
        let rate = 65_853_658_536 + w_ai;
        assert_eq!(tell(&mut f, &ctx, 11, 20, &record(12_288, 153_600, 153_600)), (rate, rate));
        // W R / line = 153,600 * 0.65903658536 = 101,228.02.
        assert_eq!(f.limits(&ctx), Limits { cwnd: 101_228, rate });
        // More than T later only the new value counts: 184,320 B in 20,480 ns are 72 Gb/s, u = 0.72, below the target;
        // with no stages it is still divided: 65.90 / 0.72 = 91.53.
        let up = 91_532_859_077 + w_ai;
        assert_eq!(tell(&mut f, &ctx, 12, 21, &record(32_768, 337_920, 0)), (up, rate));
        // Hardly used: never above the line.
        assert_eq!(tell(&mut f, &ctx, 13, 22, &record(53_248, 338_432, 0)), (line, rate));
    }

    /// With maxStage 2 a path below the target earns two additive steps, a step per round trip, then the division.
    #[test]
    fn stages_of_additive_increase() {
        let ctx = even(&Params { max_stage: 2, ..Params::default() });
        let mut f = Hpcc::new(&ctx);
        f.reference_rate = 20_000_000_000;
        let mut sent = 0;
        let mut round = |f: &mut Hpcc, i: u64| {
            // Half of the line for more than T: u = 0.5.
            sent += 128_000;
            tell(f, &ctx, i as u32 * 10 + 1, i as u32 * 10 + 10, &record(i * 20_480, sent, 0)).0
        };
        round(&mut f, 0);
        assert_eq!(round(&mut f, 1), 20_050_000_000);
        assert_eq!(round(&mut f, 2), 20_100_000_000);
        assert_eq!(round(&mut f, 3), 40_250_000_000, "2 * 20.1 + 0.05");
        assert_eq!(f.stage, 0);
    }

    /// Without fast reaction only the ACK that ends a round trip counts; with sampled feedback an ACK in between counts
    /// where there is a queue.
    #[test]
    fn what_counts_within_a_round_trip() {
        for (params, idle, queued) in [
            (Params { fast_reaction: false, ..Params::default() }, false, false),
            (Params { sample_feedback: true, ..Params::default() }, false, true),
            (Params::default(), true, true),
        ] {
            let ctx = even(&params);
            let mut f = Hpcc::new(&ctx);
            tell(&mut f, &ctx, 1, 10, &record(0, 0, 0));
            // 40 Gb/s for a whole T, no queue; then 80 Gb/s with one.
            tell(&mut f, &ctx, 2, 10, &record(12_288, 61_440, 0));
            assert_eq!(f.u.to_bits() != 1.0f64.to_bits(), idle);
            let before = f.u;
            tell(&mut f, &ctx, 3, 10, &record(24_576, 184_320, 320));
            assert_eq!(f.u.to_bits() != before.to_bits(), queued);
        }
    }

    /// 100.67 ms without an ACK, in which the clock of INT comes round six times and 5.9 us, and the port sends a tenth of what it can: by the
    /// records thousands of times that. They are only stored, and the next ACK counts again. By the reference's rule the rate collapses.
    #[test]
    fn a_long_silence_says_nothing() {
        for (record_life, lowest) in [(58, false), (u16::MAX, true)] {
            let ctx = FlowContext { record_life, ..even(&Params::default()) };
            let mut f = Hpcc::new(&ctx);
            let mut at = |a: u32, ns: u64, sent: u64| {
                let (now, int) = (Time(ns * NS), record(ns, sent, 0));
                f.on_ack(&ctx, &Ack { now, int: &int, ..ack(a, a + 9, false) });
                (f.rate, f.u)
            };
            at(1, 0, 0);
            // Six times round and 5.9 us more; 1250 B each us are 10 Gb/s.
            let ns = 6 * (1 << 24) + 5_900;
            let (rate, u) = at(20, ns, ns * 125 / 100);
            assert_eq!((rate < 2_000_000_000, u > 1.0), (lowest, lowest), "{rate} {u}");
            let (rate, u) = at(40, ns + 20_480, (ns + 20_480) * 125 / 100);
            assert!((u - 0.1).abs() < 0.01 && rate >= 1_000_000_000, "{rate} {u}");
        }
    }

    /// A port that sends half of the line in packets of 256 B counts a unit of 512 B with every other one: the time without is as long
    /// as that with, and the utilisation a half. By the reference's rule it is 1, and a flow got half of what it was due.
    #[test]
    fn time_without_a_unit_counts() {
        for (record_life, expected) in [(58, 0.5), (u16::MAX, 1.0)] {
            let ctx = FlowContext { record_life, ..even(&Params::default()) };
            let mut f = Hpcc::new(&ctx);
            for n in 0..4000 {
                // 256 B at 100 Gb/s last 20.48 ns.
                tell(&mut f, &ctx, n + 1, n + 2, &record(u64::from(n) * 41, u64::from(n) * 256, 0));
            }
            assert!((f.u - expected).abs() < 0.01, "{}", f.u);
        }
    }

    /// Two hosts on one wire: nothing is measured, so nothing slows the flow down.
    #[test]
    fn a_path_without_switches_leaves_the_rate() {
        let ctx = even(&Params::default());
        let mut f = Hpcc::new(&ctx);
        for a in 1..50 {
            assert_eq!(tell(&mut f, &ctx, a, a + 1, &[]), (100_000_000_000, 100_000_000_000));
        }
    }

    /// Two records of one nanosecond say nothing; they must not poison the average.
    #[test]
    fn no_time_between_records() {
        let ctx = even(&Params::default());
        let mut f = Hpcc::new(&ctx);
        tell(&mut f, &ctx, 1, 10, &record(5, 0, 320));
        tell(&mut f, &ctx, 2, 10, &record(5, 51_200, 320));
        assert_eq!((f.u, f.rate), (1.0, 100_000_000_000));
    }
}
