//! The network around the protocols: topologies, switches, hosts, workloads, engines and records.
//!
//! A scenario is read by [`spec`], made into a network and its flows by [`assemble`] ([`topology`], [`routing`], [`workload`], [`mpi`]), and
//! carried through by [`run`]: an [`engine`] decides the order in which things happen at the places of a [`net`], whose results go to
//! [`results`].

// In layers: a module uses those above it, none beside or below it (`tests/layers.rs`).

// What all may use.
pub mod clock;
pub mod error;
pub mod graph;
pub mod machine;
pub mod packet;
mod spelling;

// Networks and their paths; what files are read with, what runs leave behind.
pub mod framing;
mod input;
pub mod record;
pub mod routing;
pub mod topology;

// Ideal completion times.
pub mod ideal;

// Message-passing programs, then all flows.
pub mod mpi;

pub mod workload;

// A validated run, ...
pub mod scenario;

// ... the files that it may come from, and how long its windows may be.
pub mod hpcc_format;
pub mod lookahead;
pub mod spec;

// The model.
pub mod net;

// From a file to the model, from the model to files.
pub mod assemble;
pub mod diagnosis;
pub mod results;

// The order in which things happen.
pub mod engine;

// Whole runs.
pub mod alone;
pub mod run;

pub mod hpcc;

pub use error::InputError;
