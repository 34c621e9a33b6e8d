//! HPCC: high precision congestion control (Li et al., SIGCOMM 2019), with INT.
//!
//! Source: the paper's Algorithm 1 and, where it is silent, the behaviour of the authors' public simulator.
//!
//! *Deviations from the paper, as in the authors' simulator:* the controlled quantity is a rate `R`, the window follows
//! as `W * R / line rate`; the additive increase is a rate (`w_ai_rate`); the sender's own NIC writes no record; the link
//! utilisation `u` is updated on every ACK, also on those that only react fast; the very first ACK only stores its
//! records.

use super::{Ack, CongestionControl, FlowContext, Limits, float, scaled_window};
use crate::telemetry::{IntHop, MAX_HOPS};

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
    /// ACKs within a round trip leave out hops whose queue is empty. Off in the paper.
    pub sample_feedback: bool,
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
    stage: u32,
}

impl Hpcc {
    /// A fresh flow: line rate, utilisation 1.
    pub fn new(ctx: &FlowContext) -> Self {
        Self {
            last: [IntHop::default(); MAX_HOPS],
            u: 1.0,
            reference_rate: ctx.line_rate,
            rate: ctx.line_rate,
            last_update_seq: 0,
            stage: 0,
        }
    }

    /// Folds the records into `u` (`MeasureInflight` of Algorithm 1). The order of the operations is that of the
    /// authors' simulator: results are compared bit for bit.
    #[inline(always)]
    fn measure(&mut self, ctx: &FlowContext, int: &[IntHop]) {
        let (mut max_u, mut dt) = (0.0f64, 0u64);
        for (new, old) in int.iter().zip(&mut self.last) {
            let (u, tau) = hop_utilisation(ctx, *new, *old);
            if u > max_u {
                (max_u, dt) = (u, tau);
            }
            *old = *new;
        }
        self.u = average(ctx, self.u, max_u, dt);
    }

    /// The same with the hops left out whose queue is empty. False when that is all of them.
    #[cold]
    #[inline(never)]
    fn measure_queues(&mut self, ctx: &FlowContext, int: &[IntHop]) -> bool {
        let (mut max_u, mut dt, mut measured) = (0.0f64, 0u64, false);
        for (new, old) in int.iter().zip(&mut self.last) {
            if new.queue(1) != 0 {
                let (u, tau) = hop_utilisation(ctx, *new, *old);
                if u > max_u {
                    (max_u, dt) = (u, tau);
                }
                measured = true;
            }
            *old = *new;
        }
        if measured {
            self.u = average(ctx, self.u, max_u, dt);
        }
        measured
    }
}

/// Utilisation of one hop between two records, and the time between them in ns. The order of the operations is that of
/// the authors' simulator: results are compared bit for bit.
#[inline(always)]
pub(super) fn hop_utilisation(ctx: &FlowContext, new: IntHop, old: IntHop) -> (f64, u64) {
    let tau = new.ns_since(old);
    let tx_rate = float(new.bytes_since(old, ctx.int_multiple) * 8) / (float(tau) * 1e-9);
    let queue = new.shorter_queue(old, ctx.int_multiple);
    let capacity = float(ctx.rates[new.rate_code()]);
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

/// The rate and stage that follow from a reference rate at utilisation `u` (Algorithm 1, lines 9 to 14).
#[inline(always)]
pub(super) fn adjusted(p: &Params, line_rate: u64, reference_rate: u64, u: f64, stage: u32) -> (u64, u32) {
    let c = u / p.eta;
    let (rate, stage) = if c >= 1.0 || stage >= p.max_stage {
        (((float(reference_rate) / c) as u64).saturating_add(p.w_ai_rate), 0)
    } else {
        (reference_rate + p.w_ai_rate, stage + 1)
    };
    (rate.max(p.min_rate).min(line_rate), stage)
}

impl CongestionControl for Hpcc {
    #[inline]
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        let super::Params::Hpcc(p) = &ctx.params else { return };
        let opens_round = ack.ack > self.last_update_seq;
        if !opens_round && !p.fast_reaction {
            return;
        }
        if self.last_update_seq == 0 {
            self.last[..ack.int.len()].copy_from_slice(ack.int);
            self.last_update_seq = ack.snd_nxt;
            return;
        }
        if !p.sample_feedback || opens_round {
            self.measure(ctx, ack.int);
        } else if !self.measure_queues(ctx, ack.int) {
            return;
        }
        let (rate, stage) = adjusted(p, ctx.line_rate, self.reference_rate, self.u, self.stage);
        self.rate = rate;
        if opens_round {
            self.reference_rate = self.rate;
            self.stage = stage;
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
    }

    /// The next ACK only stores its records, as the first one did (paper, sec. 3.1: the path id of the INT header).
    fn on_new_path(&mut self) {
        self.last_update_seq = 0;
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::Hpcc(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }
}
