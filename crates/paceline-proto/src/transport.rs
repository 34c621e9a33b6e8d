//! Transports: who sends what next, and what the receiver answers.

pub mod express_pass;
pub mod packet_set;
pub mod rdma;
pub mod selective_drop;
pub mod unscheduled;
