//! Programs at the hosts, as a scenario has them; what runs them is [`crate::net::programs`].

use std::sync::Arc;

use paceline_proto::units::Time;

use super::FlowDefaults;
use super::poisson::mean_gap;
use crate::InputError;
use crate::graph::NodeId;
use crate::mpi::{self, Crossbar, MachineConfig};

/// What is allowed in place of a connection over RDMA that would carry too many packets.
pub(crate) const INSTEAD_OF_OPEN: &str = "a scheme over TCP, or connections = \"new\"";

/// Which connections carry a program's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connections {
    /// A new one for each message: a flow of its own.
    New,
    /// One from each place to each other, opened when it is first used.
    Open,
}

/// What programs there are.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Queries that spread over racks.
    ScatterGather(ScatterGather),
    /// Ranks that pass messages.
    Mpi(Mpi),
}

/// A program of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// What it does.
    pub kind: Kind,
    /// The host at each place.
    pub hosts: Vec<NodeId>,
    /// What its flows have in common.
    pub flow: FlowDefaults,
    /// What carries its messages.
    pub connections: Connections,
    /// When it begins.
    pub begin: Time,
    /// Number of the workload in the scenario: part of its random streams' names.
    pub workload: u16,
}

impl Program {
    /// Whether it asks queries.
    pub fn asks(&self) -> bool {
        matches!(self.kind, Kind::ScatterGather(_))
    }

    /// How much it has to do, where that is known: operations of all ranks, or queries.
    pub fn steps(&self) -> Option<u64> {
        match &self.kind {
            Kind::ScatterGather(w) => w.count,
            Kind::Mpi(w) => Some(w.program.totals().operations),
        }
    }
}

/// One scatter/gather workload.
#[derive(Clone, Debug, PartialEq)]
pub struct ScatterGather {
    /// Places of the hosts of each rack, 0 up.
    pub racks: Vec<Vec<u32>>,
    /// Bytes of every request.
    pub request: u64,
    /// Bytes of every reply.
    pub response: u64,
    /// Mean time between two queries to all hosts together, ps.
    pub mean_gap: f64,
    /// When the first may come.
    pub begin: Time,
    /// No query comes at or after this instant.
    pub end: Time,
    /// At most this many.
    pub count: Option<u64>,
}

impl ScatterGather {
    /// A workload with a mean time between queries, ps.
    ///
    /// # Errors
    /// Fewer than two hosts, a mean time that is not above 0 or has no end, an end not after the beginning.
    pub fn check(&self) -> Result<(), InputError> {
        let hosts: usize = self.racks.iter().map(Vec::len).sum();
        if hosts < 2 {
            return Err(InputError::new("too few hosts").field("hosts").value(hosts).allowed("at least 2"));
        }
        mean_gap(1e12 / self.mean_gap, "interval")?;
        if self.end <= self.begin {
            let after = format!("after {}", self.begin);
            return Err(InputError::new("ends before it begins").field("end").value(self.end).allowed(after));
        }
        Ok(())
    }
}

/// A message-passing workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Mpi {
    /// What the ranks do.
    pub program: Arc<mpi::Program>,
    /// How messages travel.
    pub config: MachineConfig,
    /// The ideal network of the same hosts.
    pub ideal: Crossbar,
}
