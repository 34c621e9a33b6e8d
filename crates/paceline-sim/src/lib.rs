//! The network around the protocols: topologies, switches, hosts, workloads, engines and records.

mod adapter;
pub mod alone;
pub mod assemble;
pub mod clock;
mod congestion;
mod datagrams;
pub mod diagnosis;
pub mod effect;
pub mod engine;
pub mod error;
mod failures;
pub mod flow;
pub mod graph;
pub mod host;
pub mod hpcc;
pub mod hpcc_format;
pub mod ideal;
mod input;
mod local;
pub mod machine;
mod message;
pub mod mpi;
pub mod net;
mod offered;
pub mod packet;
mod pint;
pub mod port;
pub mod programs;
pub mod record;
pub mod results;
pub mod routing;
mod rpc;

pub mod run;
pub mod scenario;
pub mod series;
pub mod spec;
mod special;
mod streams;
pub mod switch;
pub mod topology;
pub mod workload;

pub use error::InputError;
