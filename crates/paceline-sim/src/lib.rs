//! The network around the protocols: topologies, switches, hosts, workloads, engines and records.
//!
//! A scenario is read by [`spec`], made into a network and its flows by [`assemble`] ([`topology`], [`routing`], [`workload`], [`mpi`]), and
//! carried through by [`run`]: an [`engine`] decides the order in which things happen at the places of a [`net`], whose results go to
//! [`results`].

pub mod alone;
pub mod assemble;
pub mod clock;
pub mod diagnosis;
pub mod engine;
pub mod error;
pub mod graph;
pub mod hpcc;
pub mod hpcc_format;
pub mod ideal;
mod input;
pub mod machine;
pub mod mpi;
pub mod net;
pub mod record;
pub mod results;
pub mod routing;
pub mod run;
pub mod scenario;
pub mod series;
pub mod spec;
mod spelling;
pub mod topology;
pub mod workload;

pub use error::InputError;
