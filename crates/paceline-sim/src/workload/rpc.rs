//! Queries and responses over connections that stay open.
//!
//! A client keeps connections to servers. A query is a message from client to server, answered at once by a message back;
//! both travel on the same connection, on its two *streams*: numbers `2 c` and `2 c + 1` for connection `c`. A client keeps
//! a number of queries outstanding on each connection (closed loop) or issues them as a Poisson process, whatever is
//! outstanding (open loop).

use paceline_proto::units::{S, Time};

use super::poisson::mean_gap;
use super::{FlowDefaults, FlowSource, FlowSpec, SizeLaw, host_list};
use crate::InputError;
use crate::graph::NodeId;

/// Connections of one run.
pub const MOST_CONNECTIONS: u64 = 1 << 20;

/// When a client issues its queries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Queries {
    /// So many are outstanding on each connection all the time.
    Outstanding(u32),
    /// So many per second for each client as a Poisson process, dealt out evenly over its connections.
    Poisson(f64, Pick),
}

/// Which of a client's connections to a server gets a query that is issued at a random instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// Any, whatever is outstanding on it.
    Random,
    /// One with the fewest queries outstanding, of those at the same NIC.
    Idle,
}

/// One RPC workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    /// Client and server of every pair.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// Connections of each pair.
    pub connections: u32,
    /// Number of the first connection in the run.
    pub first: u32,
    /// When queries are issued.
    pub queries: Queries,
    /// Bytes of a query.
    pub sizes: SizeLaw,
    /// Bytes of a response.
    pub response: u64,
    /// When the connections open.
    pub begin: Time,
    /// No query is issued at or after this instant.
    pub end: Time,
    /// Number of the workload in the scenario: part of its random streams' names.
    pub workload: u16,
    /// Everything else about its messages.
    pub flow: FlowDefaults,
}

/// What [`Rpc::new`] is made from.
#[derive(Clone, Debug)]
pub struct RpcConfig {
    /// Hosts that ask; their order has no effect.
    pub clients: Vec<NodeId>,
    /// Hosts that answer; a host never asks itself.
    pub servers: Vec<NodeId>,
    /// Connections of each pair.
    pub connections: u32,
    /// Number of the first connection in the run.
    pub first: u32,
    /// When queries are issued.
    pub asks: Asks,
    /// Bytes of a query.
    pub sizes: SizeLaw,
    /// Bytes of a response.
    pub response: u64,
    /// When the connections open.
    pub begin: Time,
    /// No query is issued at or after this instant.
    pub end: Time,
    /// Number of the workload in the scenario.
    pub workload: u16,
    /// Everything else about its messages.
    pub flow: FlowDefaults,
}

/// When the clients of an [`RpcConfig`] issue queries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Asks {
    /// So many are outstanding on each connection.
    Outstanding(u32),
    /// So many per second for each client, at random instants.
    PerSecond(f64, Pick),
}

impl Rpc {
    /// A workload of queries.
    ///
    /// # Errors
    /// An empty or repeating host list, no pair of different hosts, too many connections, a rate that is not above 0 and up
    /// to 10^12 per second, an end not after `begin`, a class out of range, a size of 0.
    pub fn new(config: RpcConfig) -> Result<Self, InputError> {
        let RpcConfig { connections, first, sizes, response, begin, end, workload, flow, .. } = config;
        let clients = host_list(&config.clients, "clients", 1)?;
        let servers = host_list(&config.servers, "servers", 1)?;
        sizes.check()?;
        flow.check()?;
        if end <= begin {
            return Err(InputError::new("ends before it begins")
                .field("end")
                .value(end)
                .allowed(format!("after {begin}")));
        }
        let all = clients.len() as u64 * servers.len() as u64 * u64::from(connections) + u64::from(first);
        if all > MOST_CONNECTIONS {
            return Err(InputError::new("too many connections in this run")
                .field("connections")
                .value(connections)
                .allowed(format!("{MOST_CONNECTIONS} in all, of every client to every server")));
        }
        let mut pairs = Vec::with_capacity(clients.len() * servers.len());
        for &client in &clients {
            pairs.extend(servers.iter().filter(|s| **s != client).map(|s| (client, *s)));
        }
        if pairs.is_empty() {
            return Err(InputError::new("the only client would ask itself")
                .field("servers")
                .value(servers[0])
                .allowed("other hosts"));
        }
        let queries = match config.asks {
            Asks::Outstanding(n) => Queries::Outstanding(n),
            Asks::PerSecond(rate, pick) => {
                mean_gap(rate, "queries per second")?;
                Queries::Poisson(rate, pick)
            }
        };
        Ok(Self { pairs, connections, first, queries, sizes, response, begin, end, workload, flow })
    }

    /// Its connections.
    pub fn count(&self) -> u32 {
        self.pairs.len() as u32 * self.connections
    }

    /// Clients that ask anyone.
    pub fn asking(&self) -> u32 {
        self.pairs.chunk_by(|a, b| a.0 == b.0).count() as u32
    }

    /// Mean gap between the queries of a connection, by its number in the run, where its client asks so often per second; ps. A
    /// client that is a server too has fewer connections than others, and asks as often.
    pub fn mean_gap(&self, connection: u32, per_second: f64) -> f64 {
        let client = self.ends(connection).0;
        let own = self.pairs.partition_point(|p| p.0 <= client) - self.pairs.partition_point(|p| p.0 < client);
        self.gap(own, per_second)
    }

    /// The same for a client with so many servers.
    fn gap(&self, servers: usize, per_second: f64) -> f64 {
        S as f64 / (per_second / (servers as f64 * f64::from(self.connections)))
    }

    /// Packets that a connection is asked to carry one way at once (closed loop, the largest queries or responses) or, expected, in
    /// the whole run (open loop), and the field that decides.
    pub fn packets_ahead(&self, payload: u32) -> (f64, &'static str) {
        let packets = |bytes: f64| (bytes / f64::from(payload.max(1))).ceil().max(1.0);
        match self.queries {
            Queries::Outstanding(n) => {
                (f64::from(n) * packets(self.sizes.largest().max(self.response) as f64), "outstanding")
            }
            Queries::Poisson(per_second, _) => {
                let span = self.end.0.min(1000 * S) - self.begin.0.min(1000 * S);
                // Of a client with the fewest connections.
                let fewest = self.pairs.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).min().unwrap_or(1);
                let gap = self.gap(fewest, per_second);
                (span as f64 / gap * packets(self.sizes.mean().max(self.response as f64)), "load.value")
            }
        }
    }

    /// Client and server of a connection, by its number in the run.
    pub fn ends(&self, connection: u32) -> (NodeId, NodeId) {
        self.pairs[((connection - self.first) / self.connections) as usize]
    }
}

/// The connections of an [`Rpc`] as flows to open: both streams of each.
pub struct Connections {
    rpc: std::sync::Arc<Rpc>,
    /// Streams opened.
    at: u32,
}

impl Connections {
    /// All connections of a workload.
    pub fn new(rpc: std::sync::Arc<Rpc>) -> Self {
        Self { rpc, at: 0 }
    }
}

impl FlowSource for Connections {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        if self.at >= self.rpc.count() * 2 {
            return None;
        }
        let stream = self.rpc.first * 2 + self.at;
        self.at += 1;
        let (client, server) = self.rpc.ends(stream / 2);
        let (src, dst) = if is_query(stream) { (client, server) } else { (server, client) };
        Some(FlowSpec { stream: stream + 1, ..self.rpc.flow.flow(self.rpc.begin, src, dst, 0) })
    }
}

/// Whether a stream carries queries; the other of a connection carries the responses.
pub fn is_query(stream: u32) -> bool {
    stream.is_multiple_of(2)
}
