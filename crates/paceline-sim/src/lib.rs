//! The network around the protocols: topologies, switches, hosts, workloads, engines and records.

pub mod error;
pub mod graph;
pub mod ideal;
pub mod routing;
pub mod scenario;
pub mod topology;
pub mod workload;

pub use error::InputError;
