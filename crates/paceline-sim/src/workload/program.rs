//! Programs at the hosts, as a scenario has them; what runs them is [`crate::net::programs`].

use std::collections::BTreeSet;
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
    /// One from each place to each other, or one for each two NICs that messages name; opened when it is first used.
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

    /// What ranks do, where it passes messages among ranks.
    pub fn ranks(&self) -> Option<&Mpi> {
        if let Kind::Mpi(w) = &self.kind { Some(w) } else { None }
    }

    /// Its connections, where they have numbers before the first is opened: hosts apart in time open them.
    pub(crate) fn pairs(&self) -> Option<&Pairs> {
        self.ranks().filter(|w| self.connections == Connections::Open && !w.at_once).map(|w| &w.pairs)
    }

    /// Why something of it may happen at one host at the very instant at which something happens at another; nothing where a host is told of
    /// others by messages alone.
    pub(crate) fn why_at_once(&self) -> Option<&'static str> {
        match &self.kind {
            _ if self.connections == Connections::New => Some(
                "programs' messages are flows of their own, numbered in the order in which they start (connections)",
            ),
            Kind::ScatterGather(_) => Some("the hosts of a query share what is known of it (scatter_gather)"),
            Kind::Mpi(w) => w.at_once.then_some("senders are told of an arrival at the same instant (sends_end)"),
        }
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
    /// There are messages of whose arrival the sender is told at once, not by an acknowledgement.
    pub at_once: bool,
    /// Ranks that send to one another by which NICs, requests and grants counted.
    pub pairs: Pairs,
    /// The ideal network of the same hosts.
    pub ideal: Crossbar,
}

/// Connections that stay open, numbered: each carries the messages from one place to another that go by the same two NICs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// By place that sends: where its entries begin; then their end.
    first: Box<[u32]>,
    /// The other place, and the NIC that messages name, in ascending order for each sender.
    to: Box<[(u32, u8)]>,
    /// By entry: the number of its connection.
    number: Box<[u32]>,
    count: u32,
}

impl Pairs {
    /// Those of a program, given what is eager. `by` says which NICs messages between two places go by that name one. `None` where there
    /// are more than can have numbers.
    pub fn of<N: PartialEq>(
        program: &mpi::Program,
        config: &MachineConfig,
        by: impl Fn([u32; 2], Option<u8>) -> N,
    ) -> Option<Self> {
        let mut all = BTreeSet::new();
        for send in program.sends() {
            all.insert((send.from, send.to, send.nic));
            if send.bytes > config.eager {
                all.insert((send.to, send.from, send.nic));
            }
        }
        u32::try_from(all.len()).ok().filter(|n| *n < u32::MAX >> 2)?;
        let mut first = vec![0; program.len() as usize + 1];
        let (mut number, mut count) = (Vec::with_capacity(all.len()), 0);
        // Connections of the two places at hand.
        let (mut ends, mut known) = (None, Vec::new());
        for &(from, to, nic) in &all {
            first[from as usize + 1] += 1;
            if ends.replace((from, to)) != Some((from, to)) {
                known.clear();
            }
            let nics = by([from, to], nic);
            let same = known.iter().find(|(other, _)| *other == nics).map(|(_, number)| *number);
            number.push(same.unwrap_or(count));
            if same.is_none() {
                known.push((nics, count));
                count += 1;
            }
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let to = all.into_iter().map(|(_, to, nic)| (to, nic.unwrap_or(0))).collect();
        Some(Self { first: first.into(), to, number: number.into(), count })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of the connection of a message from one place to another that names a NIC, 0 up.
    pub fn number(&self, [from, to]: [u32; 2], nic: Option<u8>) -> Option<u32> {
        let [begin, end] = [0, 1].map(|i| self.first[(from + i) as usize] as usize);
        let at = self.to[begin..end].binary_search(&(to, nic.unwrap_or(0))).ok()?;
        Some(self.number[begin + at])
    }
}
