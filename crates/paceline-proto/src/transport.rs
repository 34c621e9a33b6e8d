//! Transports: who sends what next, and what the receiver answers.

pub mod rdma;
pub mod tcp;
