//! The memory that a run takes.

use paceline_proto::cc::Telemetry;
use paceline_proto::transport::unscheduled::Unscheduled;

use super::traffic::Traffic;
use crate::engine::sequential::list_bytes;
use crate::lookahead::Windows;
use crate::net::series::Plan;
use crate::record::QueueTime;
use crate::scenario::{QueueRecords, Scenario, Stop, Transport};
use crate::workload::program::Mpi;

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

/// What is there at a time: flows, packets on their way, and bytes that endpoints hold for flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub(super) flows: f64,
    /// Flows that wait at the last start.
    pub(super) waiting: f64,
    pub(super) packets: f64,
    pub(super) bytes: f64,
}

/// What hosts keep of flows over message transports and TCP.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
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
    pub(super) fn of(scenario: &Scenario, flows: &[f64]) -> Self {
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

impl Traffic {
    /// What is there at a time: as if bytes came evenly from the first start to the end of the largest flow at line rate,
    /// each packet for one base RTT; no more packets than all hosts can send in it.
    pub(super) fn under_way(&self, scenario: &Scenario, kept: &Kept, rtt_s: f64, windowed: bool) -> UnderWay {
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

/// Memory of engine, flows and packets under way, histograms and series.
pub(super) fn engine_bytes(
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
