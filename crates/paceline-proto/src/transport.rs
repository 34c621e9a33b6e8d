//! Transports: who sends what next, and what the receiver answers.

pub mod express_pass;
pub mod homa;
pub mod in_flight;
#[cfg(test)]
mod incast;
pub mod message;
pub mod ndp;
pub mod packet_set;
pub mod rdma;
#[cfg(test)]
mod star;
pub mod tcp;
pub mod timers;
pub mod udp;
pub mod unscheduled;
