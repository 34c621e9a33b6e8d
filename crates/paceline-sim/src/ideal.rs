//! What a flow would take alone in the network: the baselines slowdowns are measured against, and the base RTTs windows are made of.

mod base_rtt;
mod line_rate;
mod sprayed;
mod way;

pub use base_rtt::{BaseRtt, base_rtt, hpcc_standalone, max_base_rtt};
pub(crate) use base_rtt::{base_rtt_by_node, max_base_rtt_by_node, reference_standalone};
pub use line_rate::{IdealFct, ack_frame, data_frame, line_rate, path_sides};
pub use sprayed::parallel_links_differ;
pub use way::Way;
