//! The file formats of the HPCC reference simulator (the public ns-3 simulator of the HPCC paper), both ways.
//!
//! Readers take the text of a file and the name to use in messages; they return what was read and a list of warnings,
//! or one [`InputError`](crate::InputError) naming file, line, value and what is allowed. They allocate in proportion to the text, whatever
//! counts its header claims. As in the reference, the count in a file's header says how many rows are read: rows after
//! them are reported and left alone (its own samples carry notes there). A header that promises more rows than there
//! are is a warning too.
//!
//! | file | read | written |
//! |---|---|---|
//! | configuration | [`config::HpccConfig::parse`] | |
//! | topology | [`topology::read_topology`] | [`topology::write_topology`] |
//! | flows | [`flow::read_flows`] | [`flow::write_flows`] |
//! | nodes to trace | [`trace::read_trace_nodes`] | |
//! | fct, pfc, qlen | | [`output`] |
//! | packet trace | | [`packet_trace`] |

pub mod config;
pub mod flow;
pub mod output;
pub mod packet_trace;
pub mod quantity;
pub mod topology;
pub mod trace;

mod text;

#[cfg(test)]
mod fuzz;
