//! What a flow would take alone in the network: the baselines slowdowns are measured against, and the base RTTs windows are made of.

mod base_rtt;
mod line_rate;
mod sprayed;

pub use base_rtt::{BaseRtt, base_rtt, hpcc_standalone, max_base_rtt};
pub use line_rate::{IdealFct, ack_frame, data_frame, least_time, line_rate, line_rate_sprayed, path_sides};
pub use sprayed::{hasten, parallel_links_differ};
