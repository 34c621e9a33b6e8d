//! Transports and congestion controllers as pure state machines.
//!
//! Nothing here can see a queue, a link or a clock: time comes in as an argument, decisions go out as values.

pub mod cc;
pub mod pint;
pub mod port;
pub mod qcn;
pub mod rng;
pub mod telemetry;
pub mod transport;
pub mod units;
