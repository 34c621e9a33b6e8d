//! A scenario checked without running it, and what a run of it would cost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use paceline_proto::cc::Telemetry;
use paceline_proto::transport::unscheduled::Unscheduled;

use super::choice::{at_its_field, choose_engine, windowed};
use super::set_up::{chosen_ports, packet_plan, series_plan};
use crate::assemble::assemble;
use crate::engine::sequential::list_bytes;
use crate::error::InputError;
use crate::graph::{Graph, NodeId};
use crate::ideal::ack_frame;
use crate::lookahead::Windows;
use crate::machine::memory_mib;
use crate::mpi::program::Send;
use crate::net::Net;
use crate::net::series::Plan;
use crate::record::QueueTime;
use crate::results::Priorities;
use crate::scenario::{EngineChoice, QueueRecords, Scenario, Scheme, Stop, Transport};
use crate::spec::{Resolved, lint};
use crate::workload::load::wire_bytes;
use crate::workload::program::{Connections, Kind, Mpi, Program};
use crate::workload::rpc::Queries;
use crate::workload::{FlowTable, Rpc};

/// Flows drawn for the estimate.
const SAMPLE: u64 = 200_000;
/// Nanoseconds per link crossed by a data packet, windowed and sequential engine: one core of the machine this was
/// measured on, a guess for another.
const NS_PER_DATA_HOP: [f64; 2] = [90.0, 250.0];
/// Bytes an engine takes before its network, per port, per host, and per flow under way. Measured on star, leaf-spine
/// and fat trees of 17 to 65,536 hosts.
const ENGINE_BYTES: [f64; 4] = [1e6, 520.0, 300.0, 900.0];
/// Bytes of a packet under way, its place among free handles included, and of its telemetry.
const PACKET_BYTES: [f64; 2] = [36.0, 64.0];
/// Bytes and packets of the blocks that list what is on its way to a port.
const BLOCK: [f64; 2] = [132.0, 16.0];
/// Bytes kept of a flow until its slot has rested, over UDP, NDP, Homa, ExpressPass and TCP. Measured with flows of one packet
/// on a leaf-spine of 32 hosts, as the difference of two loads.
const RESTING_BYTES: [f64; 5] = [440.0, 620.0, 700.0, 750.0, 1560.0];
/// Bytes that priority queueing keeps for each packet of a flow's burst while losses wait for their timeouts. Measured on the fat tree of
/// Aeolus' table 4 with bursts of 105 and 413 packets: 5 to 16.
const AWAITED_BYTES: f64 = 16.0;
/// Bytes that two ranks keep of their messages beside the connection. Measured: all to all among 256.
const PAIR_BYTES: usize = 400;
/// Bytes of a stream, one direction of a connection that stays open, with what its ends keep: over RDMA, over TCP. Measured with 20,000
/// and 99,000 connections between 32 hosts.
const STREAM_BYTES: [f64; 2] = [1090.0, 3400.0];
/// Bytes of a packet in a host's queue, and the share of a flow under way, or of its window, that waits there.
const QUEUED_BYTES: f64 = 80.0;
const QUEUED_SHARE: f64 = 0.5;
/// Bytes of a flow that waits because more come than a link can carry, over RDMA (over other transports [`RESTING_BYTES`]), and of a query
/// that does, over RDMA and over TCP. Measured on stars of 8 hosts with flows and queries of 1 byte, 18 to 70 times what links carry.
const WAITING_BYTES: f64 = 430.0;
const ASKED_BYTES: [f64; 2] = [52.0, 70.0];
/// Windows for which starts are drawn ahead, and bytes of a start, with what is kept of ends until they are reported.
const DRAWN_WINDOWS: f64 = 64.0;
const DRAWN_BYTES: f64 = 150.0;
/// Windows in which a busy port has something on its way.
const BUSY_WINDOWS: f64 = 2.0;

/// What a check tells without running.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Check {
    /// The resolved scenario.
    pub resolved: String,
    /// What looks wrong.
    pub warnings: Vec<String>,
    /// Engine: `windowed` or `sequential`.
    pub engine: String,
    /// Why this one.
    pub why: String,
    /// How soon one node can affect another, ps.
    pub lookahead_ps: u64,
    /// Hosts, switches, links.
    pub size: [usize; 3],
    /// How Homa divides its priorities, where it is what runs.
    pub priorities: Option<Priorities>,
    /// Flows, where known or else expected.
    pub flows: u64,
    /// Whether `flows` is expected only: more would be drawn than the check draws, or hosts ask at random.
    pub extrapolated: bool,
    /// Payload of the flows, bytes, about.
    pub bytes: f64,
    /// Links crossed by packets with payload, about.
    pub data_hops: f64,
    /// Seconds on one core, about.
    pub run_s: f64,
    /// Resident memory the engine adds to the process, MiB, about.
    pub engine_mib: f64,
    /// Resident memory of the process with it, MiB, about.
    pub memory_mib: f64,
}

/// What the flows of a scenario amount to.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    flows: u64,
    bytes: f64,
    data_hops: f64,
    last_start: u64,
    /// Largest flow, bytes.
    largest: u64,
    /// Streams that are opened, and how many of the flows are messages on them.
    streams: u64,
    on_streams: u64,
    /// Flows that wait at the last start, because more came than links can carry; queries.
    waiting: f64,
    asked: f64,
}

impl Traffic {
    fn times(self, factor: f64) -> Self {
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

    fn add(&mut self, other: &Traffic) {
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

    /// What is there at a time: as if bytes came evenly from the first start to the end of the largest flow at line rate,
    /// each packet for one base RTT; no more packets than all hosts can send in it.
    fn under_way(&self, scenario: &Scenario, kept: &Kept, rtt_s: f64, windowed: bool) -> UnderWay {
        let graph = &scenario.graph;
        let nics = || graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0 as f64 / 8.0);
        let rate = nics().fold(1.0, f64::max);
        let payload = f64::from(scenario.framing.payload);
        let packets = (self.bytes / payload).max(self.flows as f64);
        let seconds = self.last_start as f64 * 1e-12 + self.largest as f64 / rate + rtt_s;
        let most = nics().sum::<f64>() * rtt_s / payload;
        let mean = self.bytes / (self.flows as f64).max(1.0);
        let flow_s = rtt_s + 4.0 * mean / rate + kept.repair_s;
        let flows = (self.flows - self.on_streams) as f64;
        let at_a_time = |lifetime_s: f64| flows * (lifetime_s / seconds).min(1.0);
        // Short runs end before the first flows do.
        let arrivals_s = (self.last_start as f64 * 1e-12).max(rtt_s);
        let sending = self.flows as f64 * (flow_s / arrivals_s).min(1.0);
        let queued = sending * (mean.min(kept.window) / payload).max(1.0) * QUEUED_SHARE;
        let drawn_s = if windowed { DRAWN_WINDOWS * Windows::of(scenario).width as f64 * 1e-12 } else { 0.0 };
        let is_tcp = kept.window > 0.0;
        let queued = if is_tcp { queued * kept.over_tcp * QUEUED_BYTES } else { 0.0 };
        UnderWay {
            flows: at_a_time(flow_s),
            waiting: self.waiting,
            packets: (packets * rtt_s / seconds).min(most),
            bytes: at_a_time(flow_s + kept.rest_s).max(self.waiting) * kept.resting_bytes
                + at_a_time(flow_s) * (mean / payload).min(kept.burst) * AWAITED_BYTES
                + queued.max(self.asked * ASKED_BYTES[usize::from(is_tcp)])
                + flows * (drawn_s / arrivals_s).min(1.0) * DRAWN_BYTES
                + self.streams as f64 * kept.stream_bytes,
        }
    }
}

/// What is there at a time: flows, packets on their way, and bytes that endpoints hold for flows.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    flows: f64,
    /// Flows that wait at the last start.
    waiting: f64,
    packets: f64,
    bytes: f64,
}

/// What hosts keep of flows over message transports and TCP.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    /// From a flow's start until its slot has rested, bytes; while it is under way beside [`ENGINE_BYTES`].
    resting_bytes: f64,
    rest_s: f64,
    /// Bytes of a flow over TCP that may wait in its host's queue; others make packets when the link is free.
    window: f64,
    /// Share of the flows that are over TCP.
    over_tcp: f64,
    /// Of each stream.
    stream_bytes: f64,
    /// Timeout by which losses are repaired, where that is the rule: as if every flow lost something.
    repair_s: f64,
    /// Packets of a flow's burst for which it is awaited.
    burst: f64,
}

impl Kept {
    /// On the mean of flows, of which so many are of each scheme; where none is drawn, of the transport that keeps most. Connections that
    /// stay open may be of any scheme.
    fn of(scenario: &Scenario, flows: &[f64]) -> Self {
        let rest_s = crate::net::host::message::rest(&Windows::of(scenario)) as f64 * 1e-12;
        let all: f64 = flows.iter().sum();
        let mut most = Self { stream_bytes: STREAM_BYTES[0], ..Self::default() };
        let (mut mean, mut over_tcp) = (0.0, 0.0);
        for (scheme, own) in scenario.schemes.iter().zip(flows) {
            let kept = Self::over(&scheme.transport, rest_s);
            let (window, stream_bytes) = (most.window.max(kept.window), most.stream_bytes.max(kept.stream_bytes));
            if (all == 0.0 || *own > 0.0) && kept.resting_bytes > most.resting_bytes {
                most = kept;
            }
            (most.window, most.stream_bytes) = (window, stream_bytes);
            mean += own * kept.resting_bytes;
            over_tcp += if kept.window > 0.0 { *own } else { 0.0 };
        }
        if all > 0.0 {
            (most.resting_bytes, most.over_tcp) = (mean / all, over_tcp / all);
        } else {
            most.over_tcp = 1.0;
        }
        most
    }

    /// Of a flow over a transport.
    fn over(transport: &Transport, rest_s: f64) -> Self {
        let plain = |resting_bytes| Self { resting_bytes, rest_s, ..Self::default() };
        let kept = match transport {
            Transport::Rdma => Self::default(),
            Transport::Udp(_) => plain(RESTING_BYTES[0]),
            Transport::Ndp(_) => plain(RESTING_BYTES[1]),
            Transport::Homa(_) => plain(RESTING_BYTES[2]),
            Transport::ExpressPass { params, .. } if params.burst.policy == Unscheduled::Plain => Self {
                repair_s: params.rto_unscheduled.max(params.rto_scheduled).0 as f64 * 1e-12,
                burst: f64::from(params.burst.packets),
                ..plain(RESTING_BYTES[3])
            },
            Transport::ExpressPass { .. } => plain(RESTING_BYTES[3]),
            Transport::Tcp(tcp) => {
                Self { window: tcp.send_buffer.max.min(tcp.receive_buffer.max) as f64, ..plain(RESTING_BYTES[4]) }
            }
        };
        Self { stream_bytes: STREAM_BYTES[usize::from(kept.window > 0.0)], ..kept }
    }
}

/// Bytes that data frames and their answers take on links, telemetry included.
#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    data: f64,
    answers: f64,
}

impl Wire {
    /// Of `count` flows or messages of `bytes`, an answer to each packet.
    fn of(count: f64, bytes: u64, scenario: &Scenario) -> Self {
        let framing = &scenario.framing;
        let telemetry = scenario.schemes.iter().map(Scheme::telemetry_bytes).max().unwrap_or(0);
        let bytes = bytes.max(1);
        let answer = ack_frame(framing).max((framing.ack_header + telemetry).into()) as f64;
        Self {
            data: count * wire_bytes(bytes, framing, telemetry) as f64,
            answers: count * framing.split(bytes).0 as f64 * answer,
        }
    }

    fn add(&mut self, other: Wire) {
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
struct End {
    /// Start of the first flow, ps.
    since: u64,
    flows: f64,
    bytes: f64,
    hops: f64,
    /// What data and answers take on links.
    wire: Wire,
}

impl End {
    /// Flows that wait at `last`, because the host's NICs carry less than `bytes` since its first.
    fn waiting(&self, bytes: f64, last: u64, host: NodeId, graph: &Graph) -> f64 {
        self.flows * excess(bytes, last.saturating_sub(self.since) as f64 * 1e-12 * capacity(graph, host))
    }

    /// Of the links crossed, those that the host's NICs have time for until the run stops.
    fn hops_by(&self, horizon: u64, host: NodeId, scenario: &Scenario) -> f64 {
        let most = capacity(&scenario.graph, host) * horizon.saturating_sub(self.since) as f64 * 1e-12;
        self.hops * (most / self.bytes).min(1.0)
    }
}

/// Checks a scenario: everything up to the first event, and an estimate of time and memory from its flows, of which it
/// draws at most 200,000.
///
/// # Errors
/// Bad input, as for a run.
pub fn check(spec: &Resolved) -> Result<Check, InputError> {
    let process = memory_mib("VmRSS:");
    let mut warnings = lint(spec);
    let mut assembled = assemble(spec)?;
    warnings.append(&mut assembled.warnings);
    super::refuse_warnings(spec, &warnings)?;
    let scenario = Arc::clone(&assembled.scenario);
    packet_plan(spec, &scenario)?;
    let series = series_plan(spec, &scenario.graph, &chosen_ports(spec, &scenario)?);
    let (engine, why) = choose_engine(&scenario)?;
    if spec.run.engine == EngineChoice::Windowed {
        // Asked for: only the engine itself knows whether it can.
        windowed(spec, &scenario, Box::new(FlowTable::new(Vec::new())), 1)?;
    }
    let mut net = Net::new(Arc::clone(&scenario)).map_err(|e| at_its_field(spec, e))?;
    let horizon = if let Stop::At(t) = scenario.stop { t.0 } else { u64::MAX };
    let payload = u64::from(scenario.framing.payload);
    let mut drawn = Traffic::default();
    let mut ends = [const { BTreeMap::<NodeId, End>::new() }; 2];
    let (mut path, mut flows_of) = (Vec::new(), vec![0.0; scenario.schemes.len()]);
    while drawn.flows < SAMPLE
        && let Some(f) = assembled.source.next_flow()
        && f.start.0 < horizon
    {
        if f.stream != 0 {
            continue;
        }
        let (src, dst) = net.addresses(f.src, f.dst, drawn.flows);
        net.routes.first_path(src, dst, &mut path)?;
        drawn.flows += 1;
        flows_of[usize::from(f.scheme)] += 1.0;
        let hops = f.bytes.div_ceil(payload) as f64 * path.len() as f64;
        drawn.bytes += f.bytes as f64;
        drawn.data_hops += hops;
        for (host, of) in [f.src, f.dst].into_iter().zip(&mut ends) {
            let new = End { since: f.start.0, flows: 0.0, bytes: 0.0, hops: 0.0, wire: Wire::default() };
            let end = of.entry(host).or_insert(new);
            (end.flows, end.bytes, end.hops) = (end.flows + 1.0, end.bytes + f.bytes as f64, end.hops + hops);
            end.wire.add(Wire::of(1.0, f.bytes, &scenario));
        }
        drawn.last_start = f.start.0;
        drawn.largest = drawn.largest.max(f.bytes);
    }
    // A run that stops at an instant may stop long before its flows are through.
    let passed = ends.iter().map(|of| of.iter().map(|(host, end)| end.hops_by(horizon, *host, &scenario)).sum::<f64>());
    drawn.data_hops = passed.fold(drawn.data_hops, f64::min);
    drawn.waiting = waiting(&ends, drawn.last_start, &scenario.graph);
    let mut factor = 1.0;
    if drawn.flows == SAMPLE {
        let end = assembled.arrivals_end.map_or(horizon, |t| t.0.min(horizon));
        let of = |flows: u64| flows as f64 / SAMPLE as f64;
        let by_time = (end < u64::MAX).then(|| end as f64 / drawn.last_start.max(1) as f64);
        factor = match (assembled.flow_count, assembled.most_flows) {
            (Some(count), _) if horizon == u64::MAX => of(count),
            (Some(most), _) | (None, Some(most)) => by_time.map_or(of(most), |f| f.min(of(most))),
            (None, None) => by_time.unwrap_or(1.0),
        };
    }
    let mut traffic = drawn.times(factor.max(1.0));
    for rpc in scenario.rpcs.iter() {
        traffic.add(&queries(rpc, &mut net, horizon)?);
    }
    for program in scenario.programs.iter() {
        traffic.add(&messages(program, &mut net, horizon)?);
    }
    let by_chance = scenario.programs.iter().any(|p| matches!(p.kind, Kind::ScatterGather(_)));
    let windowed = engine == EngineChoice::Windowed;
    let windows = Windows::of(&scenario);
    let by_event = if windowed { windows.close_share } else { 1.0 };
    let rtt_s = net.network.rtt_ns as f64 * 1e-9;
    let under_way = traffic.under_way(&scenario, &Kept::of(&scenario, &flows_of), rtt_s, windowed);
    let engine_mib =
        engine_bytes(&scenario, series.as_ref(), assembled.classes.len(), under_way, windowed) / f64::from(1 << 20);
    let graph = &scenario.graph;
    let hosts = graph.hosts().count();
    Ok(Check {
        resolved: spec.to_toml(),
        warnings,
        engine: if windowed { "windowed" } else { "sequential" }.into(),
        why,
        lookahead_ps: windows.lookahead,
        size: [hosts, graph.nodes() - hosts, graph.ports.len() / 2],
        priorities: Priorities::of(&scenario),
        flows: traffic.flows,
        extrapolated: drawn.flows == SAMPLE || !scenario.rpcs.is_empty() || by_chance,
        bytes: traffic.bytes,
        data_hops: traffic.data_hops,
        run_s: traffic.data_hops * (NS_PER_DATA_HOP[0] * (1.0 - by_event) + NS_PER_DATA_HOP[1] * by_event) * 1e-9,
        engine_mib,
        memory_mib: process + engine_mib,
    })
}

/// Flows that wait at the last start, by what begins and what ends at each host: for their senders' NICs or for their receivers'.
fn waiting(ends: &[BTreeMap<NodeId, End>; 2], last: u64, graph: &Graph) -> f64 {
    let at = |of: usize| {
        let (own, other) = (&ends[of], &ends[1 - of]);
        let bytes = |host, end: &End| end.wire.data + other.get(host).map_or(0.0, |e| e.wire.answers);
        own.iter().map(|(host, end)| end.waiting(bytes(host, end), last, *host, graph)).sum::<f64>()
    };
    at(0).max(at(1))
}

/// What queries and their responses amount to, about; in a closed loop as if they filled the links of the clients or those of the
/// servers, whichever are slower, or as many as connections can ask with nothing in their way.
fn queries(rpc: &Rpc, net: &mut Net, horizon: u64) -> Result<Traffic, InputError> {
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
fn messages(program: &Program, net: &mut Net, horizon: u64) -> Result<Traffic, InputError> {
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

/// Memory of engine, flows and packets under way, histograms and series.
fn engine_bytes(
    scenario: &Scenario,
    series: Option<&Plan>,
    classes: usize,
    under_way: UnderWay,
    windowed: bool,
) -> f64 {
    let UnderWay { flows, waiting, packets, bytes } = under_way;
    let graph = &scenario.graph;
    let hosts = graph.hosts().count();
    let switch_ports = graph.ports.iter().filter(|p| !graph.is_host(p.node)).count();
    let rows = if scenario.records.queues == QueueRecords::Port { switch_ports * classes } else { 0 };
    let of_program = |w: &Mpi| w.program.memory() + w.pairs.len() * PAIR_BYTES;
    let programs: usize = scenario.programs.iter().filter_map(|p| p.ranks()).map(of_program).sum();
    let [fixed, per_port, per_host, per_flow] = ENGINE_BYTES;
    let telemetry = scenario.schemes.iter().any(|s| s.params.profile().telemetry != Telemetry::None);
    let per_packet = PACKET_BYTES[0] + if telemetry { PACKET_BYTES[1] } else { 0.0 };
    let blocks = packets.min(graph.ports.len() as f64 * BUSY_WINDOWS + packets / BLOCK[1]);
    let events = if windowed { blocks * BLOCK[0] } else { list_bytes(scenario) as f64 };
    fixed
        + bytes
        + (flows * per_flow).max(waiting * WAITING_BYTES)
        + packets * per_packet
        + events
        + graph.ports.len() as f64 * per_port
        + hosts as f64 * per_host
        + programs as f64
        + (rows * size_of::<QueueTime>()) as f64
        + series.map_or(0.0, |plan| samples(plan, scenario.stop) * plan.bytes() as f64)
}

/// Samples that are taken, at most; fewer where the run stops before as many as are kept.
fn samples(plan: &Plan, stop: Stop) -> f64 {
    let most = plan.samples as u64;
    let taken = if let Stop::At(end) = stop { (end.0 / plan.interval.max(1) + 1).min(most) } else { most };
    taken as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::spec::parse;

    /// Endless flows in a run that stops: their length says nothing about how long the run takes.
    #[test]
    fn a_run_that_stops_is_not_as_long_as_its_flows() {
        let text = "[topology]\nkind = 'star'\nhosts = 3\nhost_rate = '10Gbps'\n[schemes.s]\ncc = 'hpcc'\n[run]\nstop = '1ms'\n\
                    [[workloads]]\nkind = 'flows'\nrows = [\n  { start = '0us', src = 0, dst = 2, bytes = '1GB' },\n  \
                    { start = '0us', src = 1, dst = 2, bytes = '1GB' },\n]\n";
        let hops = check(&parse(text, "test", &[]).unwrap()).unwrap().data_hops;
        // 1 ms of the receiver's link in packets of 1000 bytes over two links.
        assert!((hops - 2500.0).abs() < 100.0, "{hops}");
    }

    /// Few connections leave links idle: they ask no more often than answers come back.
    #[test]
    fn a_closed_loop_asks_when_it_has_been_answered() {
        let asked = |connections: u32| {
            let text = format!(
                "[topology]\nkind = 'star'\nhosts = 3\nhost_rate = '100Gbps'\nlink_delay = '5us'\n[schemes.s]\ncc = 'hpcc'\n\
                 [[workloads]]\nkind = 'rpc'\nsizes = '1KB'\nresponse = '1KB'\nservers = [2]\nconnections = {connections}\nend = '1ms'\n"
            );
            check(&parse(&text, "test", &[]).unwrap()).unwrap().flows
        };
        // Two clients; there and back in a little over 20 us. Or the server's link, 12.5 to the us.
        assert!((90..=100).contains(&asked(1)), "{}", asked(1));
        assert!((12_000..=12_500).contains(&asked(1000)), "{}", asked(1000));
    }

    /// A frame on one slow link outlasts more windows than the windowed engine keeps: it was chosen, and then refused to run.
    #[test]
    fn a_slow_link_among_fast_ones_is_left_to_the_sequential_engine() {
        let engine = |rate: &str, engine: &str| {
            let text = format!(
                "[topology]\nkind = 'graph'\nhosts = ['a', 'b', 'c']\nswitches = ['s']\nlinks = [{{ a = 'a', b = 's' }}, \
                 {{ a = 'b', b = 's' }}, {{ a = 'c', b = 's', rate = '{rate}' }}]\n[switch.pfc]\nenabled = false\n\
                 [schemes.s]\ncc = 'hpcc'\nmin_rate = '100Kbps'\n[run]\nengine = '{engine}'\n\
                 [[workloads]]\nkind = 'flows'\nrows = [{{ src = 0, dst = 1, bytes = '1KB' }}]\n"
            );
            check(&parse(&text, "test", &[]).unwrap()).map(|c| c.engine)
        };
        assert_eq!(engine("10Gbps", "auto").as_deref(), Ok("windowed"));
        assert_eq!(engine("1Mbps", "auto").as_deref(), Ok("sequential"));
        let refused = engine("1Mbps", "windowed").unwrap_err();
        assert!(refused.problem.contains("(longest 872"), "{refused}");
    }

    /// The number of flows bounds a run that an instant would bound much later.
    #[test]
    fn flows_are_no_more_than_the_scenario_allows() {
        for end in ["", "duration = '10s'\n"] {
            let text = format!(
                "[topology]\nkind = 'star'\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'poisson'\nsizes = '1KB'\n{end}\
                 max_flows = 300000\n"
            );
            assert_eq!(check(&parse(&text, "test", &[]).unwrap()).unwrap().flows, 300_000, "{text}");
        }
    }

    /// Packets are counted by message: 100 times 240 messages of one packet each, 5.4666 links on the mean of all pairs.
    #[test]
    fn small_messages_are_packets_of_their_own() {
        let hops = |bytes: &str, more: &str| {
            let text = format!(
                "[topology]\nkind = 'fat_tree'\nk = 4\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\nkind = 'mpi'\n\
                 program = 'collective'\noperation = 'all_to_all'\nalgorithm = 'pairwise'\nbytes = '{bytes}'\n\
                 iterations = 100\n{more}"
            );
            check(&parse(&text, "test", &[]).unwrap()).unwrap().data_hops.round() as u64
        };
        assert_eq!(hops("16B", ""), 131_200);
        assert_eq!(hops("16KB", ""), 131_200);
        assert_eq!(hops("32KB", ""), 262_400);
        // A run that stops early carries a share of it.
        let stopped = hops("32MB", "[run]\nstop = '1ms'\n");
        assert!(stopped < hops("32MB", "") / 100, "{stopped}");
    }

    /// Rounds without number, of which a run that stops sees a few.
    #[test]
    fn what_comes_after_the_stop_is_not_counted() {
        let text = "[topology]\nkind = 'star'\nhosts = 4\n[schemes.s]\ncc = 'hpcc'\n[run]\nstop = '1ms'\n[[workloads]]\n\
                    kind = 'all_to_all'\nsizes = '1B'\nrounds = 1000000000\nperiod = '1us'\n";
        let flows = check(&parse(text, "test", &[]).unwrap()).unwrap().flows;
        assert!((11_900..=12_100).contains(&flows), "{flows}");
        let text = text.replace("period = '1us'", "period = '1ns'");
        let flows = check(&parse(&text, "test", &[]).unwrap()).unwrap().flows;
        assert!((11_900_000..=12_100_000).contains(&flows), "{flows}");
    }

    /// A scheme that nothing uses takes no memory: a flow over UDP was taken for one over TCP, which keeps 3.5 times as much.
    #[test]
    fn schemes_without_flows_are_not_counted() {
        let mib = |more: &str| {
            let text = format!(
                "[topology]\nkind = 'star'\nhosts = 8\n[switch.pfc]\nenabled = false\n[schemes.u]\ncc = 'udp'\n{more}[[workloads]]\n\
                 kind = 'poisson'\nscheme = 'u'\nsizes = '1KB'\nduration = '1ms'\n"
            );
            check(&parse(&text, "test", &[]).unwrap()).unwrap().engine_mib
        };
        let (with, without) = (mib("[schemes.t]\ncc = 'cubic'\n"), mib(""));
        assert!((with / without - 1.0).abs() < 1e-9, "{with} {without}");
    }

    /// Where far more comes than links carry, what waits takes the memory.
    #[test]
    fn what_waits_is_counted() {
        let mib = |workload: &str| {
            let text = format!(
                "[topology]\nkind = 'star'\nhosts = 8\nhost_rate = '10Gbps'\n[schemes.s]\ncc = 'hpcc'\n[[workloads]]\n{workload}\n"
            );
            check(&parse(&text, "test", &[]).unwrap()).unwrap().engine_mib
        };
        // Measured: 1214 and 244 MiB.
        let flows = mib("kind = 'poisson'\nsizes = '1B'\nduration = '1ms'\nload.value = 0.3");
        assert!((flows / 1214.0 - 1.0).abs() < 0.3, "{flows}");
        let asked = mib("kind = 'rpc'\nmode = 'open'\nsizes = '1B'\nresponse = '1B'\nend = '10ms'\nload.value = 0.05");
        assert!((asked / 244.0 - 1.0).abs() < 0.3, "{asked}");
    }
}
