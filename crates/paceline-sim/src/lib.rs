//! The network around the protocols: topologies, switches, hosts, workloads, engines and records.

pub mod error;
pub mod graph;
pub mod scenario;
pub mod spec;
pub mod workload;

pub use error::InputError;
