//! Clients and servers at the hosts: queries and responses, over one stream each way ([`crate::net::streams`]).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;

use paceline_proto::rng::{Purpose, Stream};

use crate::graph::NodeId;
use crate::ideal::Way;
use crate::net::Net;
use crate::record::QueryRecord;
use crate::scenario::{Framing, Scenario};
use crate::workload::poisson::next_start;
use crate::workload::rpc::{Pick, Queries, Rpc};
use crate::workload::stream_id;

/// Never.
const NEVER: u64 = u64::MAX;

/// A query without response so far.
#[derive(Clone, Copy, Debug)]
struct Query {
    number: u32,
    issued: u64,
    bytes: u64,
}

/// The client of one connection.
#[derive(Clone, Debug)]
struct Client {
    rpc: u16,
    /// Queries issued so far; numbers them and their draws.
    issued: u32,
    outstanding: VecDeque<Query>,
    gaps: Stream,
    sizes: Stream,
    carry: f64,
    /// Nothing more will be issued.
    done: bool,
    /// It is over: all it will ever get has come, or its connection was given up.
    closed: bool,
    /// The way to the server.
    way: Way,
    /// Least time of a response on the way its stream takes, ps; told by the server's end.
    response: u64,
}

/// Connections that share their queries with those at the same NIC.
#[derive(Clone, Debug, Default)]
struct Pool {
    /// Those that have begun, with their NICs.
    connections: Vec<(u32, u32)>,
    /// How many will issue queries by themselves, those that have not begun included. Until there is none, each may get some.
    planning: u32,
}

/// All clients of a run.
pub(crate) struct Rpcs {
    workloads: Arc<[Arc<Rpc>]>,
    clients: Vec<Client>,
    /// By NIC: next queries of open-loop clients, and their connections.
    due: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// By workload and pair of hosts, where queries go to idle connections.
    pools: BTreeMap<(u16, NodeId, NodeId), Pool>,
}

impl Rpcs {
    /// The clients of a scenario, where it has any.
    pub(crate) fn new(scenario: &Scenario, nics: usize) -> Option<Box<Self>> {
        if scenario.rpcs.is_empty() {
            return None;
        }
        let mut clients = Vec::new();
        let mut pools = BTreeMap::<_, Pool>::new();
        for (number, rpc) in scenario.rpcs.iter().enumerate() {
            for own in 0..rpc.count() {
                if let Queries::Poisson(_, Pick::Idle) = rpc.queries {
                    let (client, server) = rpc.ends(clients.len() as u32);
                    pools.entry((number as u16, client, server)).or_default().planning += 1;
                }
                let stream = |purpose| Stream::new(scenario.seed, purpose, stream_id(rpc.workload, u64::from(own)));
                clients.push(Client {
                    rpc: number as u16,
                    issued: 0,
                    outstanding: VecDeque::new(),
                    gaps: stream(Purpose::Arrivals),
                    sizes: stream(Purpose::Sizes),
                    carry: 0.0,
                    done: false,
                    closed: false,
                    way: Way::default(),
                    response: 0,
                });
            }
        }
        Some(Box::new(Self {
            workloads: Arc::clone(&scenario.rpcs),
            clients,
            pools,
            due: vec![BinaryHeap::new(); nics],
        }))
    }

    /// When a client at a NIC issues its next query by itself, ps.
    #[inline]
    pub(crate) fn next_due(&self, nic: u32) -> u64 {
        self.due[nic as usize].peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// The workload of a connection.
    pub(crate) fn of(&self, connection: u32) -> &Rpc {
        &self.workloads[usize::from(self.clients[connection as usize].rpc)]
    }

    /// Whether clients wait for their next queries.
    pub(crate) fn has_due(&self) -> bool {
        self.due.iter().any(|d| !d.is_empty())
    }

    /// The links that a connection's queries take.
    pub(crate) fn set_way(&mut self, connection: u32, way: Way) {
        self.clients[connection as usize].way = way;
    }

    /// The least time of a connection's responses on these links, ps, which its client must know.
    pub(crate) fn least_response(&self, connection: u32, framing: &Framing, way: &Way) -> u64 {
        way.least_time(self.of(connection).response, framing)
    }

    /// A connection's client learns the least time of a response, ps.
    pub(crate) fn learn_response(&mut self, connection: u32, least: u64) {
        self.clients[connection as usize].response = least;
    }

    /// What a connection shares its queries with.
    fn pool_of(&self, connection: u32) -> (u16, NodeId, NodeId) {
        let rpc = self.clients[connection as usize].rpc;
        let (client, server) = self.workloads[usize::from(rpc)].ends(connection);
        (rpc, client, server)
    }

    /// The connection that gets a query whose turn it is on `connection`: that one, or the one with the fewest outstanding.
    fn pick(&self, nic: u32, connection: u32) -> u32 {
        let Some(pool) = self.pools.get(&self.pool_of(connection)) else { return connection };
        let outstanding = |c: u32| self.clients[c as usize].outstanding.len();
        let here = pool.connections.iter().filter(|(at, _)| *at == nic).map(|(_, c)| *c);
        let open = here.filter(|c| !self.clients[*c as usize].closed);
        // Its own first among equals, then the lowest number.
        open.min_by_key(|c| (outstanding(*c), *c != connection, *c)).unwrap_or(connection)
    }

    /// A record of a query; `answered` is when its response had arrived.
    fn record(&self, connection: u32, query: Query, answered: Option<u64>, framing: &Framing) -> QueryRecord {
        let of = &self.clients[connection as usize];
        let ideal = of.way.least_time(query.bytes, framing).saturating_add(of.response);
        let rpc = &self.workloads[usize::from(of.rpc)];
        let (client, server) = rpc.ends(connection);
        QueryRecord {
            connection,
            number: query.number,
            group: rpc.flow.group,
            scheme: rpc.flow.scheme,
            client,
            server,
            bytes: query.bytes,
            response_bytes: rpc.response,
            start: query.issued,
            qct: answered.map_or(0, |at| at - query.issued),
            ideal,
        }
    }
}

impl Net {
    /// The stream of a connection's queries has been handed to its NIC at `now`: its client begins.
    pub(crate) fn begin_client(&mut self, nic: u32, connection: u32, now: u64) {
        self.counters.started += 1;
        self.counters.connections += 1;
        let Some(r) = &mut self.rpcs else { return };
        match r.of(connection).queries {
            Queries::Outstanding(n) => (0..n).for_each(|_| self.issue(connection, now)),
            Queries::Poisson(..) => {
                if let Some(pool) = r.pools.get_mut(&r.pool_of(connection)) {
                    pool.connections.push((nic, connection));
                }
                self.plan(nic, connection, now);
            }
        }
    }

    /// Plans an open-loop client's next query after `now`.
    fn plan(&mut self, nic: u32, connection: u32, now: u64) {
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        let rpc = &r.workloads[usize::from(client.rpc)];
        let Queries::Poisson(per_second, _) = rpc.queries else { return };
        let mean = rpc.mean_gap(connection, per_second);
        match next_start(now, rpc.end.0, &mut client.gaps, mean, &mut client.carry) {
            Some(at) => {
                r.due[nic as usize].push(Reverse((at, connection)));
                let timer = &mut self.nics[nic as usize].timer_at;
                *timer = (*timer).min(at);
            }
            None => self.plan_no_more(connection),
        }
    }

    /// An open-loop client has issued its last query by itself. It may still get others' of its pool, until that is so for all.
    fn plan_no_more(&mut self, connection: u32) {
        let Some(r) = &mut self.rpcs else { return };
        let key = r.pool_of(connection);
        let over = match r.pools.get_mut(&key) {
            None => vec![connection],
            Some(pool) => {
                pool.planning -= 1;
                if pool.planning > 0 {
                    return;
                }
                pool.connections.iter().map(|(_, c)| *c).collect()
            }
        };
        for connection in over {
            if let Some(r) = &mut self.rpcs {
                r.clients[connection as usize].done = true;
            }
            self.settle_client(connection);
        }
    }

    /// The queries due at a NIC by `now`.
    pub(crate) fn issue_due(&mut self, nic: u32, now: u64) {
        while let Some(r) = &mut self.rpcs
            && r.next_due(nic) <= now
            && let Some(Reverse((at, connection))) = r.due[nic as usize].pop()
        {
            let chosen = r.pick(nic, connection);
            self.issue(chosen, at);
            self.plan(nic, connection, at);
        }
    }

    /// A client issues its next query.
    fn issue(&mut self, connection: u32, now: u64) {
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        let bytes = r.workloads[usize::from(client.rpc)].sizes.draw(client.sizes.next_u64());
        client.outstanding.push_back(Query { number: client.issued, issued: now, bytes });
        client.issued += 1;
        self.counters.queries += 1;
        self.append(connection * 2, bytes, None, now);
    }

    /// A query has arrived at its server.
    pub(crate) fn asked(&mut self, connection: u32, now: u64) {
        let Some(r) = &self.rpcs else { return };
        let response = r.of(connection).response;
        self.append(connection * 2 + 1, response, None, now);
    }

    /// A response has arrived.
    pub(crate) fn answered(&mut self, connection: u32, now: u64) {
        let framing = self.scenario.framing;
        let Some(r) = &mut self.rpcs else { return };
        // Connections keep the order of their messages.
        let Some(query) = r.clients[connection as usize].outstanding.pop_front() else { return };
        let record = r.record(connection, query, Some(now), &framing);
        self.note_answer(record, now);
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        let rpc = &r.workloads[usize::from(client.rpc)];
        if let Queries::Outstanding(_) = rpc.queries {
            if now < rpc.end.0 {
                self.issue(connection, now);
            } else {
                client.done = true;
            }
        }
        self.settle_client(connection);
    }

    /// A query is done.
    pub(crate) fn note_answer(&mut self, record: QueryRecord, now: u64) {
        self.judge_query(&record, now);
        self.news.queries.push(record);
        self.counters.answered += 1;
        self.last_end = self.last_end.max(now);
    }

    /// Counts a connection as finished once its client is done and has all responses.
    fn settle_client(&mut self, connection: u32) {
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        if client.done && client.outstanding.is_empty() && !std::mem::replace(&mut client.closed, true) {
            self.counters.finished += 1;
            self.counters.connections_ended += 1;
        }
    }

    /// The stream of a connection's queries was given up.
    pub(crate) fn lose_client(&mut self, connection: u32) {
        let Some(r) = &mut self.rpcs else { return };
        let client = &mut r.clients[connection as usize];
        if !std::mem::replace(&mut client.closed, true) {
            client.done = true;
            self.counters.failed += 1;
            self.counters.connections_ended += 1;
            self.counters.connections_failed += 1;
        }
    }

    /// Connections whose clients wait for answers.
    pub(crate) fn asking(&self) -> Vec<u32> {
        let clients = self.rpcs.iter().flat_map(|r| (0..).zip(&r.clients));
        clients.filter(|(_, client)| !client.closed && !client.outstanding.is_empty()).map(|(c, _)| c).collect()
    }

    /// Whether some server here may have given its answers up: a flow was.
    pub(crate) fn has_given_up_answers(&self) -> bool {
        self.rpcs.is_some() && self.first_failure.is_some()
    }

    /// The run is over: clients that wait for answers given up are, too. They could not know of it.
    pub(crate) fn lose_waiting_clients(&mut self) {
        let given_up: BTreeSet<_> = self.answers_given_up().into_iter().collect();
        for connection in self.asking().into_iter().filter(|connection| given_up.contains(connection)) {
            self.lose_client(connection);
        }
    }

    /// Queries that have not been answered, as they stand.
    pub(crate) fn unanswered(&self) -> Vec<QueryRecord> {
        let Some(r) = &self.rpcs else { return Vec::new() };
        let open = |(i, client): (usize, &Client)| {
            let record = |query: &Query| r.record(i as u32, *query, None, &self.scenario.framing);
            client.outstanding.iter().map(record).collect::<Vec<_>>()
        };
        r.clients.iter().enumerate().flat_map(open).collect()
    }

    /// Takes over the clients of another part, for records.
    pub(crate) fn absorb_rpcs(&mut self, other: &mut Net) {
        let (Some(mine), Some(theirs)) = (&mut self.rpcs, &mut other.rpcs) else { return };
        for (mine, theirs) in mine.clients.iter_mut().zip(&mut theirs.clients) {
            if theirs.issued > 0 {
                std::mem::swap(mine, theirs);
            }
        }
    }

    /// When a NIC's clients want to be called, ps.
    #[inline]
    pub(crate) fn queries_due(&self, nic: u32) -> u64 {
        self.rpcs.as_ref().map_or(NEVER, |r| r.next_due(nic))
    }
}
