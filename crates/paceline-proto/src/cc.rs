//! Congestion control: what a controller is told and what it answers.
//!
//! A controller is a small value per flow. What all flows of a scheme share (line rate, base RTT, parameters) is passed
//! in, so that a flow's state stays within two cache lines. To add one: a file beside these, a variant in [`Controller`]
//! and [`Params`].

pub mod fixed;
pub mod hpcc;

use crate::telemetry::{IntHop, MAX_RATES};
use crate::units::Time;

/// What the flows of one scheme on one kind of host have in common.
#[derive(Clone, Debug)]
pub struct FlowContext {
    /// Rate of the sending NIC, bit/s.
    pub line_rate: u64,
    /// Base round-trip time, nanoseconds.
    pub base_rtt_ns: u64,
    /// Window at line rate, bytes; 0 means no window.
    pub window: u64,
    /// Payload of a full packet, bytes.
    pub mtu: u32,
    /// Port rates of the network by INT rate code, bit/s.
    pub rates: [u64; MAX_RATES],
    /// Scale of the INT units (see [`crate::telemetry::IntUnits`]).
    pub int_multiple: u64,
    /// The scheme's parameters.
    pub params: Params,
}

/// Parameters of a scheme, by controller.
#[derive(Clone, Debug, PartialEq)]
pub enum Params {
    /// Fixed window and rate.
    Fixed(fixed::Params),
    /// HPCC with INT.
    Hpcc(hpcc::Params),
}

impl Params {
    /// Telemetry bytes this scheme adds to every data packet and, echoed, to every ACK.
    pub fn telemetry_bytes(&self) -> u32 {
        match self {
            Params::Fixed(_) => 0,
            Params::Hpcc(_) => hpcc::HEADER_BYTES,
        }
    }

    /// Whether switches write INT records into this scheme's packets.
    pub fn uses_int(&self) -> bool {
        matches!(self, Params::Hpcc(_))
    }
}

/// An acknowledgement (positive or negative) as a controller sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// When it arrived.
    pub now: Time,
    /// Everything below this sequence number (packets) has arrived.
    pub ack: u32,
    /// The next sequence number the sender will send.
    pub snd_nxt: u32,
    /// The acknowledged packet carried a congestion mark.
    pub ecn: bool,
    /// Telemetry of the acknowledged packet, one record per switch.
    pub int: &'a [IntHop],
}

/// A loss as a controller sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The receiver reported a gap.
    Nack,
    /// The retransmission timer ran out.
    Timeout,
}

/// What a flow may do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes that may be in flight; `u64::MAX` means no window.
    pub cwnd: u64,
    /// Pacing rate, bit/s.
    pub rate: u64,
}

/// A congestion controller.
pub trait CongestionControl {
    /// An ACK or NACK arrived.
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>);
    /// A loss was found. Most RDMA controllers leave this to the transport.
    fn on_loss(&mut self, _ctx: &FlowContext, _now: Time, _loss: Loss) {}
    /// What the flow may do.
    fn limits(&self, ctx: &FlowContext) -> Limits;
}

/// The controllers, dispatched statically.
#[derive(Clone, Debug)]
pub enum Controller {
    /// Fixed window and rate.
    Fixed(fixed::Fixed),
    /// HPCC with INT.
    Hpcc(hpcc::Hpcc),
}

impl Controller {
    /// A fresh controller for a flow.
    pub fn new(ctx: &FlowContext) -> Self {
        match &ctx.params {
            Params::Fixed(p) => Controller::Fixed(fixed::Fixed::new(ctx, p)),
            Params::Hpcc(_) => Controller::Hpcc(hpcc::Hpcc::new(ctx)),
        }
    }
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        match self {
            Controller::Fixed(c) => c.on_ack(ctx, ack),
            Controller::Hpcc(c) => c.on_ack(ctx, ack),
        }
    }

    fn on_loss(&mut self, ctx: &FlowContext, now: Time, loss: Loss) {
        match self {
            Controller::Fixed(c) => c.on_loss(ctx, now, loss),
            Controller::Hpcc(c) => c.on_loss(ctx, now, loss),
        }
    }

    #[inline]
    fn limits(&self, ctx: &FlowContext) -> Limits {
        match self {
            Controller::Fixed(c) => c.limits(ctx),
            Controller::Hpcc(c) => c.limits(ctx),
        }
    }
}

/// A count below 2^63 as a double: one instruction, where the conversion of the full unsigned range takes eight.
#[inline(always)]
pub(crate) fn float(count: u64) -> f64 {
    count as i64 as f64
}

/// The window that goes with a rate: `window * rate / line_rate`, at least one byte; `u64::MAX` when there is no window.
pub(crate) fn scaled_window(ctx: &FlowContext, rate: u64, variable: bool) -> u64 {
    match (ctx.window, variable) {
        (0, _) => u64::MAX,
        (w, false) => w,
        (w, true) => match w.checked_mul(rate) {
            Some(product) => (product / ctx.line_rate).max(1),
            None => ((u128::from(w) * u128::from(rate) / u128::from(ctx.line_rate)) as u64).max(1),
        },
    }
}
