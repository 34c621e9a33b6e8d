//! No congestion control: a fixed window and a fixed rate ("none").
//!
//! Source: Paceline; with the default window it is what the HPCC authors' public simulator does before the first
//! feedback (hpcc-ns3 facts, section 4.5: line rate, at most one bandwidth-delay product in flight).

use super::{Ack, Algorithm, CongestionControl, FlowContext, Limits, Profile, Runs, scaled_window};

/// Parameters.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params {
    /// Sending rate in bit/s, at most the line rate is used; 0 (the default) means the line rate.
    pub rate: u64,
}

impl Algorithm for Params {
    const PROFILE: Profile = Profile { runs: Runs::Both, ..Profile::RDMA };
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

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, context};
    use super::*;

    #[test]
    fn nothing_moves_it() {
        for (rate, sent_at) in [(0, 100_000_000_000), (40_000_000_000, 40_000_000_000), (1 << 60, 100_000_000_000)] {
            let ctx = context(super::super::Params::Fixed(Params { rate }));
            let mut f = Fixed::new(&ctx, &Params { rate });
            f.on_ack(&ctx, &ack(1, 10, true));
            assert_eq!(f.limits(&ctx), Limits { cwnd: 153_000, rate: sent_at });
        }
    }
}
