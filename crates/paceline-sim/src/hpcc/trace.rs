//! The reference's packet trace, from what the engine notes at traced nodes.

use std::path::Path;
use std::sync::Arc;

use paceline_proto::units::NS;

use super::MOST_BYTES;
use crate::error::InputError;
use crate::graph::{Graph, NodeId};
use crate::hpcc_format::config::HpccConfig;
use crate::hpcc_format::packet_trace::{Content, TraceRow};
use crate::hpcc_format::trace;
use crate::input::utf8;
use crate::packet::{CE, Kind};
use crate::record::{Stage, StageRecord};
use crate::routing::ip_of;
use crate::scenario::Quirks;

/// The nodes to trace. A file that is missing names none, as in the reference, where it is needed for nothing else; that is told.
pub(super) fn nodes(
    folder: &Path,
    config: &HpccConfig,
    network: usize,
    quirks: &Quirks,
    warnings: &mut Vec<String>,
) -> Result<Vec<NodeId>, InputError> {
    let name = &config.trace_file;
    if !config.enable_trace {
        return Ok(Vec::new());
    }
    let bytes = match crate::input::read(&folder.join(name), MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(problem) => {
            warnings.push(format!("TRACE_FILE {name}: {problem}; no node is traced, as in the reference"));
            return Ok(Vec::new());
        }
    };
    let (nodes, more) = trace::read_trace_nodes(&utf8(bytes, name)?, name, network)?;
    warnings.extend(more);
    if !nodes.is_empty() && !quirks.nic_round_robin {
        warnings.push("TRACE_FILE: packets are not traced without the quirk nic_round_robin".into());
    }
    Ok(nodes)
}

/// Turns what was noted into rows of the trace.
pub(super) struct Rows {
    graph: Arc<Graph>,
    /// By port, of switches: the address that PFC frames come from. The reference numbers the ends of each link.
    addresses: Vec<u32>,
    payload: u64,
    pause_time: u32,
    /// By node: how often each of its rows comes.
    copies: Vec<usize>,
}

impl Rows {
    /// `first_ends`: by link, the node that the topology file names first. `traced`: the nodes to trace.
    pub(super) fn new(graph: &Arc<Graph>, first_ends: &[NodeId], config: &HpccConfig, traced: &[NodeId]) -> Self {
        let address = |link: u32, node| {
            let end = if first_ends[link as usize] == node { 1 } else { 2 };
            u32::from_be_bytes([10, (link / 254 + 1) as u8, (link % 254 + 1) as u8, end])
        };
        let mut copies = vec![0; graph.nodes()];
        for node in traced {
            copies[*node as usize] += 1;
        }
        Self {
            graph: Arc::clone(graph),
            addresses: graph.ports.iter().map(|p| address(p.link, p.node)).collect(),
            payload: config.packet_payload_size.into(),
            pause_time: config.pause_time,
            copies,
        }
    }

    /// Node, number from 1 and rate of the ports that the reference knows: of several links between two nodes the last.
    pub(super) fn ports(&self) -> Vec<(NodeId, u32, u64)> {
        let graph = &self.graph;
        let numbered = graph.ports.iter().enumerate().map(|(i, p)| (i as u32 - graph.first[p.node as usize], p));
        let is_last = |node, number: u32, peer| {
            graph.ports_of(node).iter().rposition(|p| p.peer == peer) == Some(number as usize)
        };
        let known = numbered.filter(|(number, p)| is_last(p.node, *number, p.peer));
        known.map(|(number, p)| (p.node, number + 1, p.rate.0)).collect()
    }

    /// How often the row of a record comes: the reference hooks into a node once more each time it is named.
    pub(super) fn copies(&self, record: &StageRecord) -> usize {
        self.copies[self.graph.ports[record.port as usize].node as usize]
    }

    /// A row.
    pub(super) fn row(&self, record: &StageRecord) -> TraceRow {
        let (packet, port) = (&record.packet, &self.graph.ports[record.port as usize]);
        let flow = record.flow.unwrap_or_default();
        // Bytes of the flow's first packets.
        let bytes_of = |packets: u32| (u64::from(packets) * self.payload).min(flow.bytes);
        let (hosts, class) = ([flow.src, flow.dst].map(|host| ip_of(host, 0)), u16::from(packet.class));
        let stamp = record.stamp.unwrap_or(0) / NS;
        let ([src_ip, dst_ip], content) = match packet.kind {
            Kind::Pause | Kind::Resume => {
                let time = if packet.kind == Kind::Pause { self.pause_time } else { 0 };
                let content = Content::Pfc { time, waiting: packet.seq, class: packet.flow as u8 };
                ([self.sender(record), u32::MAX], content)
            }
            Kind::Ack | Kind::Nack => {
                let content = Content::Answer {
                    negative: packet.kind == Kind::Nack,
                    ports: [flow.dport, flow.sport],
                    flags: u16::from(packet.flags & CE != 0),
                    class,
                    seq: bytes_of(packet.seq) as u32,
                    stamp,
                };
                ([hosts[1], hosts[0]], content)
            }
            _ => {
                let seq = bytes_of(packet.seq);
                let payload = (bytes_of(packet.seq + 1) - seq) as u16;
                (hosts, Content::Data { ports: [flow.sport, flow.dport], seq: seq as u32, stamp, class, payload })
            }
        };
        TraceRow {
            time_ns: record.at / NS,
            node: port.node,
            switch: !self.graph.is_host(port.node),
            port: record.port - self.graph.first[port.node as usize] + 1,
            queue: record.queue,
            waiting: record.waiting,
            src_ip,
            dst_ip,
            size: packet.size,
            event: match record.stage {
                Stage::Received => 0,
                Stage::Queued => 1,
                Stage::Sent => 2,
                Stage::Lost | Stage::Discarded => 3,
            },
            ecn: if record.is_marked { 3 } else { 0 },
            content,
        }
    }

    /// The address of the port that made a PFC frame: this one, or the one at the other end of its link.
    fn sender(&self, record: &StageRecord) -> u32 {
        let port = &self.graph.ports[record.port as usize];
        let peer = self.graph.first[port.peer as usize] + u32::from(port.peer_port);
        let has_crossed = matches!(record.stage, Stage::Received | Stage::Lost);
        self.addresses[if has_crossed { peer } else { record.port } as usize]
    }
}
