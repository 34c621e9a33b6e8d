//! What the tests of TCP stand on: packet scripts against one end, a `Pair` of ends with a wire between them, and settings.

mod controllers;
mod formulas;
mod fuzz;
mod pair;
mod properties;
mod script;
mod stack;

use crate::cc::{FlowContext, Params as Control, new_reno};

/// 10 Gb/s and segments of `mss`.
pub(super) fn flow_context(mss: u32, params: Control) -> FlowContext {
    FlowContext {
        line_rate: 10_000_000_000,
        base_rtt_ns: 100_000,
        window: 125_000,
        mtu: mss,
        rates: [10e9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        int_multiple: 1,
        utilisations: Box::default(),
        record_life: 58,
        paced: false,
        params,
    }
}

/// `NewReno` by the RFCs with `mss`.
pub(super) fn new_reno(mss: u32) -> FlowContext {
    flow_context(mss, Control::NewReno(new_reno::Params::default()))
}
