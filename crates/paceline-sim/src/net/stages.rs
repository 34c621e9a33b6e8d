//! The stages of packets' ways through chosen nodes, for the packet trace of the reference simulator (`hpcc`). In the sequential engine
//! with the reference's hosts only. The ports of these nodes are *watched*, so that those of others cost nothing.

use std::collections::{HashMap, HashSet};

use crate::graph::NodeId;
use crate::net::Net;
use crate::net::port::WATCHED;
use crate::packet::{CE, Handle, Kind, NONE, Packet, STAMP};
use crate::record::{FlowEnds, Stage, StageRecord};

/// What is noted in a network.
#[derive(Debug)]
pub(crate) struct Stages {
    /// By node.
    chosen: Vec<bool>,
    /// By the flow's number in packets. Kept when flows end: copies of their packets may still be on the way.
    flows: HashMap<u32, FlowEnds>,
    /// Answers that met congestion; of data, packets say it themselves.
    marked: HashSet<Handle>,
    /// Bytes that queues lost with their link and that the accounts still hold (quirk `link_down`), by port and class; less those that
    /// are still there, as the port cannot send them.
    gone: HashMap<(u32, u8), i64>,
    /// Packets on the way that a failed link loses, and the port that counts them.
    doomed: HashMap<Handle, u32>,
    /// What nobody has been told yet, in order of time.
    records: Vec<StageRecord>,
}

impl Stages {
    /// Takes what was done before `before`, in order of time.
    pub(crate) fn take(&mut self, before: u64) -> Vec<StageRecord> {
        let later = self.records.partition_point(|r| r.at < before);
        let rest = self.records.split_off(later);
        std::mem::replace(&mut self.records, rest)
    }

    /// A flow is called this in packets from now on.
    pub(crate) fn name(&mut self, number: u32, flow: FlowEnds) {
        self.flows.insert(number, flow);
    }
}

impl Net {
    /// Has stages noted at these nodes.
    pub(crate) fn note_stages(&mut self, nodes: &[NodeId]) {
        let mut chosen = vec![false; self.graph.nodes()];
        for node in nodes {
            chosen[*node as usize] = true;
        }
        for port in self.ports.iter_mut().filter(|p| chosen[p.node as usize]) {
            port.watched |= WATCHED;
        }
        self.stages = Some(Box::new(Stages {
            chosen,
            flows: HashMap::new(),
            marked: HashSet::new(),
            gone: HashMap::new(),
            doomed: HashMap::new(),
            records: Vec::new(),
        }));
    }

    /// A packet arrives at an inbox.
    pub(crate) fn note_arrival(&mut self, inbox: u32, h: Handle, now: u64) {
        self.note_stage(self.ingress_of(inbox, h), h, now, Stage::Received, 0);
    }

    /// Notes a stage at a port, where that is asked for.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_stage(&mut self, port: u32, h: Handle, at: u64, stage: Stage, queue: u8) {
        let p = &self.ports[port as usize];
        let Some(stages) = self.stages.as_mut().filter(|s| s.chosen[p.node as usize]) else { return };
        let mut packet = self.arena[h];
        // A handle that is free again may be another packet's by now, which has not met what the last one did.
        let is_marked = match packet.kind {
            Kind::Data => packet.flags & CE != 0,
            kind => !kind.is_pfc() && stages.marked.contains(&h),
        };
        if stage == Stage::Discarded && p.nic == NONE && self.scenario.quirks.link_down {
            *stages.gone.entry((port, queue)).or_default() += i64::from(packet.size);
        }
        let gone = |class| stages.gone.get(&(port, class)).copied().unwrap_or(0);
        let left = |bytes: u32, class| (i64::from(bytes) - gone(class)) as u32;
        let waiting = if p.nic == NONE { left(p.class_bytes(queue), queue) } else { 0 };
        if packet.kind.is_pfc() && stage == Stage::Queued {
            packet.seq = left(packet.seq, packet.flow as u8);
        }
        stages.records.push(StageRecord {
            at,
            port,
            stage,
            queue,
            waiting,
            packet,
            is_marked,
            stamp: self.arena.words(h).filter(|_| packet.flags & STAMP != 0).map(|words| words.0[0].0),
            flow: (!packet.kind.is_pfc()).then(|| stages.flows.get(&packet.flow).copied().unwrap_or_default()),
        });
    }

    /// A port begins to send a packet.
    pub(crate) fn note_sent(&mut self, port: u32, h: Handle, now: u64) {
        let Packet { kind, class, size, .. } = self.arena[h];
        if self.failures.as_ref().is_some_and(|f| f.is_down(port, now)) {
            // A PFC frame for a link that is down stays where it is.
            if let Some(stages) = &mut self.stages {
                *stages.gone.entry((port, class)).or_default() -= i64::from(size);
            }
            return;
        }
        // A host's answers have a queue of their own.
        let is_answer = self.ports[port as usize].nic != NONE && kind != Kind::Data;
        self.note_stage(port, h, now, Stage::Sent, if is_answer { 0 } else { class });
    }

    /// A packet that `port` sends will be lost to a failure, which `counts` counts. Where the node at the other end is traced that waits for
    /// its turn there: the inbox that it comes to.
    pub(crate) fn doom(&mut self, port: u32, counts: u32, h: Handle) -> Option<u32> {
        let p = &self.graph.ports[port as usize];
        let stages = self.stages.as_mut().filter(|s| s.chosen[p.peer as usize])?;
        stages.doomed.insert(h, counts);
        Some(self.first[p.peer as usize] + u32::from(p.peer_port))
    }

    /// Whether the packet that comes to an inbox is lost to a failure; if so, it is no more.
    pub(crate) fn meets_doom(&mut self, inbox: u32, h: Handle, now: u64) -> bool {
        let Some(counts) = self.stages.as_mut().and_then(|s| s.doomed.remove(&h)) else { return false };
        let port = self.ingress_of(inbox, h);
        // Over a link that is up it arrives, at a switch that knows no way from there.
        let is_down = self.failures.as_ref().is_some_and(|f| f.is_down(port, now));
        self.note_stage(port, h, now, if is_down { Stage::Lost } else { Stage::Received }, 0);
        self.lose_to_failure(counts, h);
        true
    }

    /// An answer meets congestion, of which nobody will take note but a trace.
    pub(crate) fn mark_answer(&mut self, h: Handle) {
        if let Some(stages) = &mut self.stages {
            stages.marked.insert(h);
        }
    }

    /// A packet turns into the answer to it, which has not met congestion yet.
    pub(crate) fn begin_answer(&mut self, h: Handle) {
        if let Some(stages) = &mut self.stages {
            stages.marked.remove(&h);
        }
    }
}
