//! A switch: its memory ([`buffers`]) and what happens at its ports, in the exact order of the whole switch (`switching.rs`) or port by
//! port where none can touch another (`local.rs`). What ports may have beside queues: rules of their own (`special.rs`: trimming, credits,
//! RED), QCN's congestion points, PINT's measurements.

pub mod buffers;
pub(crate) mod congestion;
pub(crate) mod levels;
pub(crate) mod local;
pub(crate) mod pint;
pub(crate) mod special;
pub(crate) mod switching;
