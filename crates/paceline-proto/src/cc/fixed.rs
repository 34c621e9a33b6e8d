//! No congestion control: a fixed window and a fixed rate ("none").

use super::{Ack, CongestionControl, FlowContext, Limits, scaled_window};

/// Parameters.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params {
    /// Sending rate in bit/s; 0 means the line rate.
    pub rate: u64,
}

/// A flow that never changes its pace. The window is the context's (one bandwidth-delay product by default).
#[derive(Clone, Debug)]
pub struct Fixed {
    rate: u64,
}

impl Fixed {
    /// A fresh flow.
    pub fn new(ctx: &FlowContext, params: &Params) -> Self {
        Self { rate: if params.rate == 0 { ctx.line_rate } else { params.rate.min(ctx.line_rate) } }
    }
}

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _ctx: &FlowContext, _ack: &Ack<'_>) {}

    fn limits(&self, ctx: &FlowContext) -> Limits {
        Limits { cwnd: scaled_window(ctx, self.rate, false), rate: self.rate }
    }
}
