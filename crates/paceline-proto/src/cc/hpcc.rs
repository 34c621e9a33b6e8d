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
    fn measure(&mut self, ctx: &FlowContext, int: &[IntHop]) {
        let (mut max_u, mut dt) = (0.0f64, 0u64);
        for (new, old) in int.iter().zip(&mut self.last) {
            let tau = new.ns_since(*old);
            let tx_rate = float(new.bytes_since(*old, ctx.int_multiple) * 8) / (float(tau) * 1e-9);
            let queue = new.queue(ctx.int_multiple).min(old.queue(ctx.int_multiple));
            let capacity = float(ctx.rates[new.rate_code()]);
            let mut u = tx_rate / capacity;
            // An empty queue adds an exact zero: two divisions saved on most hops.
            if queue != 0 {
                u += float(queue) * float(ctx.line_rate) / capacity / float(ctx.window);
            }
            if u > max_u {
                (max_u, dt) = (u, tau);
            }
            *old = *new;
        }
        let dt = dt.min(ctx.base_rtt_ns);
        self.u = (self.u * float(ctx.base_rtt_ns - dt) + max_u * float(dt)) / float(ctx.base_rtt_ns);
    }
}

impl CongestionControl for Hpcc {
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
        self.measure(ctx, ack.int);
        let c = self.u / p.eta;
        let (rate, stage) = if c >= 1.0 || self.stage >= p.max_stage {
            (((float(self.reference_rate) / c) as u64).saturating_add(p.w_ai_rate), 0)
        } else {
            (self.reference_rate + p.w_ai_rate, self.stage + 1)
        };
        self.rate = rate.max(p.min_rate).min(ctx.line_rate);
        if opens_round {
            self.reference_rate = self.rate;
            self.stage = stage;
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
    }

    fn limits(&self, ctx: &FlowContext) -> Limits {
        let super::Params::Hpcc(p) = &ctx.params else { return Limits { cwnd: u64::MAX, rate: self.rate } };
        Limits { cwnd: scaled_window(ctx, self.rate, p.variable_window), rate: self.rate }
    }
}
