//! What the flows, queries and programs of a scenario amount to.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::InputError;
use crate::framing::Added;
use crate::graph::{Graph, NodeId};
use crate::ideal::ack_frame;
use crate::mpi::program::Send;
use crate::net::Net;
use crate::scenario::{Scenario, Scheme};
use crate::workload::Rpc;
use crate::workload::load::wire_bytes;
use crate::workload::program::{Connections, Kind, Mpi, Program};
use crate::workload::rpc::Queries;

/// What the flows of a scenario amount to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) flows: u64,
    pub(super) bytes: f64,
    pub(super) data_hops: f64,
    pub(super) last_start: u64,
    /// Largest flow, bytes.
    pub(super) largest: u64,
    /// Streams that are opened, and how many of the flows are messages on them.
    pub(super) streams: u64,
    pub(super) on_streams: u64,
    /// Flows that wait at the last start, because more came than links can carry; queries.
    pub(super) waiting: f64,
    pub(super) asked: f64,
}

impl Traffic {
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            flows: (self.flows as f64 * factor) as u64,
            bytes: self.bytes * factor,
            data_hops: self.data_hops * factor,
            last_start: (self.last_start as f64 * factor) as u64,
            on_streams: (self.on_streams as f64 * factor) as u64,
            waiting: self.waiting * factor,
            asked: self.asked * factor,
            ..self
        }
    }

    pub(super) fn add(&mut self, other: &Traffic) {
        self.flows += other.flows;
        self.bytes += other.bytes;
        self.data_hops += other.data_hops;
        self.last_start = self.last_start.max(other.last_start);
        self.largest = self.largest.max(other.largest);
        self.streams += other.streams;
        self.on_streams += other.on_streams;
        self.waiting += other.waiting;
        self.asked += other.asked;
    }
}

/// Bytes that data frames and their answers take on links, telemetry included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wire {
    pub(super) data: f64,
    pub(super) answers: f64,
}

impl Wire {
    /// Of `count` flows or messages of `bytes`, an answer to each packet.
    pub(super) fn of(count: f64, bytes: u64, scenario: &Scenario) -> Self {
        let framing = &scenario.framing;
        let all = || scenario.schemes.iter().map(Scheme::added);
        let telemetry = all().map(|a| a.telemetry).max().unwrap_or(0);
        let added = Added { telemetry, full_last: all().any(|a| a.full_last) };
        let bytes = bytes.max(1);
        let answer = ack_frame(framing).max((framing.ack_header + telemetry).into()) as f64;
        Self {
            data: count * wire_bytes(bytes, framing, added) as f64,
            answers: count * framing.split(bytes).0 as f64 * answer,
        }
    }

    pub(super) fn add(&mut self, other: Wire) {
        self.data += other.data;
        self.answers += other.answers;
    }
}

/// What all NICs of a host carry one way, bytes/s.
fn capacity(graph: &Graph, host: NodeId) -> f64 {
    graph.ports_of(host).iter().map(|p| p.rate.0 as f64 / 8.0).sum()
}

/// The share of `bytes` that is above `most`.
fn excess(bytes: f64, most: f64) -> f64 {
    if bytes > most { 1.0 - most / bytes } else { 0.0 }
}

/// What begins or ends at one host.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Start of the first flow, ps.
    pub(super) since: u64,
    pub(super) flows: f64,
    pub(super) bytes: f64,
    pub(super) hops: f64,
    /// What data and answers take on links.
    pub(super) wire: Wire,
}

impl End {
    /// Flows that wait at `last`, because the host's NICs carry less than `bytes` since its first.
    fn waiting(&self, bytes: f64, last: u64, host: NodeId, graph: &Graph) -> f64 {
        self.flows * excess(bytes, last.saturating_sub(self.since) as f64 * 1e-12 * capacity(graph, host))
    }

    /// Of the links crossed, those that the host's NICs have time for until the run stops.
    pub(super) fn hops_by(&self, horizon: u64, host: NodeId, scenario: &Scenario) -> f64 {
        let most = capacity(&scenario.graph, host) * horizon.saturating_sub(self.since) as f64 * 1e-12;
        self.hops * (most / self.bytes).min(1.0)
    }
}

/// Flows that wait at the last start, by what begins and what ends at each host: for their senders' NICs or for their receivers'.
pub(super) fn waiting(ends: &[BTreeMap<NodeId, End>; 2], last: u64, graph: &Graph) -> f64 {
    let at = |of: usize| {
        let (own, other) = (&ends[of], &ends[1 - of]);
        let bytes = |host, end: &End| end.wire.data + other.get(host).map_or(0.0, |e| e.wire.answers);
        own.iter().map(|(host, end)| end.waiting(bytes(host, end), last, *host, graph)).sum::<f64>()
    };
    at(0).max(at(1))
}

/// What queries and their responses amount to, about; in a closed loop as if they filled the links of the clients or those of the
/// servers, whichever are slower, or as many as connections can ask with nothing in their way.
pub(super) fn queries(rpc: &Rpc, net: &mut Net, horizon: u64) -> Result<Traffic, InputError> {
    let end = rpc.end.0.min(horizon);
    let seconds = end.saturating_sub(rpc.begin.0) as f64 * 1e-12;
    let (query, response) = (rpc.sizes.mean(), rpc.response as f64);
    let count = match rpc.queries {
        Queries::Poisson(per_second, _) => f64::from(rpc.asking()) * seconds * per_second,
        Queries::Outstanding(each) => {
            let graph = &net.graph;
            let hosts = [rpc.pairs.iter().map(|p| p.0).collect(), rpc.pairs.iter().map(|p| p.1).collect()];
            let rate = |hosts: &BTreeSet<NodeId>| hosts.iter().map(|host| capacity(graph, *host)).sum::<f64>();
            let slower = hosts.iter().map(rate).fold(f64::INFINITY, f64::min);
            let slowest = hosts.iter().map(|of| rate(of) / of.len() as f64).fold(f64::INFINITY, f64::min);
            let round_s = net.network.rtt_ns as f64 * 1e-9 + (query + response) / slowest;
            let asked = f64::from(rpc.count()) * f64::from(each) / round_s;
            asked.min(slower / query.max(response)) * seconds
        }
    };
    let asked = match rpc.queries {
        Queries::Poisson(..) => count * overload(rpc, count / seconds.max(1e-12), net),
        Queries::Outstanding(_) => 0.0,
    };
    let (client, server) = rpc.pairs[0];
    let mut path = Vec::new();
    let (src, dst) = net.addresses(client, server, 0);
    net.routes.first_path(src, dst, &mut path)?;
    let packets = |bytes: f64| (bytes / f64::from(net.scenario.framing.payload)).ceil();
    Ok(Traffic {
        flows: count as u64,
        bytes: count * (query + response),
        data_hops: count * (packets(query) + packets(response)) * path.len() as f64,
        last_start: end,
        largest: query as u64,
        streams: 2 * u64::from(rpc.count()),
        on_streams: count as u64,
        asked,
        ..Traffic::default()
    })
}

/// The share of queries, so many per second in all, that comes on top of what the NICs of the busiest host carry.
fn overload(rpc: &Rpc, per_second: f64, net: &Net) -> f64 {
    let each = per_second / rpc.pairs.len() as f64;
    let [query, response] = [rpc.sizes.mean() as u64, rpc.response].map(|bytes| Wire::of(each, bytes, &net.scenario));
    let mut sent = BTreeMap::<NodeId, f64>::new();
    for (client, server) in &rpc.pairs {
        *sent.entry(*client).or_default() += query.data + response.answers;
        *sent.entry(*server).or_default() += response.data + query.answers;
    }
    sent.iter().map(|(host, bytes)| excess(*bytes, capacity(&net.graph, *host))).fold(0.0, f64::max)
}

/// What the messages of a program amount to, about.
pub(super) fn messages(program: &Program, net: &mut Net, horizon: u64) -> Result<Traffic, InputError> {
    let w = match &program.kind {
        Kind::ScatterGather(w) => w,
        Kind::Mpi(w) => return ranks(program, w, net, horizon),
    };
    let end = w.end.0.min(horizon);
    let ends = end.saturating_sub(w.begin.0) as f64 / w.mean_gap;
    let queries = w.count.map_or(ends, |n| ends.min(n as f64));
    // One pair of messages for every host but the one asked, with each rack's through its aggregator.
    let pairs = queries * program.hosts.len() as f64;
    let mut path = Vec::new();
    let (src, dst) = net.addresses(program.hosts[0], program.hosts[1], 0);
    net.routes.first_path(src, dst, &mut path)?;
    let packets = |bytes: u64| bytes.div_ceil(u64::from(net.scenario.framing.payload)) as f64;
    Ok(Traffic {
        flows: (2.0 * pairs) as u64,
        bytes: pairs * (w.request + w.response) as f64,
        data_hops: pairs * (packets(w.request) + packets(w.response)) * path.len() as f64,
        last_start: (w.begin.0 as f64 + queries * w.mean_gap).min(end as f64) as u64,
        largest: w.request.max(w.response),
        // Sooner or later hosts that ask and aggregate have asked all others.
        ..on_streams(program, 2.0 * pairs, || (program.hosts.len() * (program.hosts.len() - 1)) as f64)
    })
}

/// Messages of a program whose ways are looked at.
const WAYS_SAMPLED: usize = 256;

/// What the messages of ranks amount to, requests and grants not counted; as if all computed first and sent at line rate then.
fn ranks(program: &Program, w: &Mpi, net: &mut Net, horizon: u64) -> Result<Traffic, InputError> {
    let totals = w.program.totals();
    let count = program.hosts.len();
    let payload = u64::from(net.scenario.framing.payload);
    let packets_of = |send: &Send| (send.bytes.div_ceil(payload).max(1) * send.times) as f64;
    let (mut number, mut packets) = (0, 0.0);
    w.program.sends().for_each(|send| (number, packets) = (number + 1, packets + packets_of(&send)));
    // Links on the way of a packet, by some of the messages: neighbours in a ring are mostly near.
    let (mut path, mut links, mut sampled) = (Vec::new(), 0.0, 0.0);
    for send in w.program.sends().step_by((number / WAYS_SAMPLED).max(1)) {
        let [from, to] = [send.from, send.to].map(|rank| program.hosts[rank as usize]);
        let (src, dst) = net.addresses(from, to, 0);
        net.routes.first_path(src, dst, &mut path)?;
        links += packets_of(&send) * path.len() as f64;
        sampled += packets_of(&send);
    }
    let links = if sampled > 0.0 { links / sampled } else { 0.0 };
    let slowest = w.ideal.access.iter().map(|a| a.out.rate.0).min();
    let rate = slowest.unwrap_or(1) as f64 / 8e12;
    let sending = totals.bytes as f64 / count as f64 / rate;
    let computing = totals.longest_calc as f64 * w.config.unit_ps as f64;
    let traffic = Traffic {
        flows: totals.messages,
        bytes: totals.bytes as f64,
        data_hops: packets * links,
        last_start: (program.begin.0 as f64 + computing + sending) as u64,
        largest: totals.largest,
        ..on_streams(program, totals.messages as f64, || w.pairs.len() as f64)
    };
    let least = traffic.last_start.max(1) as f64;
    Ok(traffic.times((horizon as f64 / least).min(1.0)))
}

/// The streams that so many messages open, between so many pairs at most.
fn on_streams(program: &Program, messages: f64, pairs: impl FnOnce() -> f64) -> Traffic {
    if program.connections == Connections::New {
        return Traffic::default();
    }
    Traffic { streams: pairs().min(messages) as u64, on_streams: messages as u64, ..Traffic::default() }
}
