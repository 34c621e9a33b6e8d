//! Why nothing moves any more: who waits for whom.

mod cycle;
mod standstill;

use std::collections::BTreeSet;
use std::fmt::Write as _;

pub use cycle::find_cycle;
pub use standstill::Standstill;

use crate::net::Net;
use crate::net::flow::{Flow, FlowInfo};
use crate::net::saturation::{PausedQueue, senders};
use crate::packet::NONE;

/// Paused ports, or flows, that a message lists at most.
const LISTED: usize = 6;
/// Ports of a cycle that a message lists at most.
const LISTED_OF_CYCLE: usize = 16;

/// Who waits for whom among the paused queues of a network, or of one part.
pub fn waits(net: &Net) -> Vec<(PausedQueue, PausedQueue)> {
    let mut waits = Vec::new();
    for (number, port) in (0..).zip(&net.ports).filter(|(i, _)| net.ports[*i as usize].nic == NONE) {
        let blocked = port.paused & port.waiting;
        for class in (0..8).filter(|class| blocked & 1 << class != 0) {
            waits.extend(senders(net, number, class).map(|(_, sender)| ((sender, class), (number, class))));
        }
    }
    waits
}

/// What a part of the network knows of a standstill.
#[derive(Clone, Debug, Default)]
pub struct Symptoms {
    /// How long after its last progress the network may still help itself, ps; 0 where nothing is sent again.
    patience: u64,
    /// When the last retransmission timeout that runs is due, ps.
    due: u64,
    /// Who waits for whom among the paused queues.
    waits: Vec<(PausedQueue, PausedQueue)>,
    /// Connections whose clients wait for answers.
    asking: Vec<u32>,
    /// Connections whose servers have given their answers up.
    unanswered: Vec<u32>,
    /// A host sends a flow's last datagram when the run stops.
    sends_at_stop: bool,
}

impl Symptoms {
    /// Of a network, or of one part.
    pub fn of(net: &Net) -> Self {
        let calls = net.programs.as_ref().is_some_and(|p| p.has_calls());
        let (patience, due) = if calls || net.rpcs.as_ref().is_some_and(|r| r.has_due()) {
            // Clients that ask seldom, programs that wait.
            (u64::MAX, 0)
        } else if let Some(m) = &net.messages {
            (m.patience(), 0)
        } else if let Some(rto) = net.scenario.host.rto {
            let due = |f: &Flow| f.progress_at + (rto.initial.0 << f.timeouts);
            (0, net.flows.iter().filter(|f| f.alive).map(due).max().unwrap_or(0))
        } else {
            (0, 0)
        };
        let (asking, unanswered, sends_at_stop) = (net.asking(), net.answers_given_up(), net.sends_at_stop());
        Self { patience, due, waits: waits(net), asking, unanswered, sends_at_stop }
    }

    /// A host still sends when the run stops, although nothing else happens until then.
    pub fn sends_at_stop(&self) -> bool {
        self.sends_at_stop
    }

    /// Of how many connections the clients wait for answers that will never come.
    pub fn in_vain(&self) -> u64 {
        let given_up: BTreeSet<_> = self.unanswered.iter().collect();
        self.asking.iter().filter(|c| given_up.contains(c)).count() as u64
    }

    /// Adds those of another part.
    pub fn add(&mut self, other: &Symptoms) {
        self.patience = self.patience.max(other.patience);
        self.due = self.due.max(other.due);
        self.waits.extend_from_slice(&other.waits);
        self.asking.extend_from_slice(&other.asking);
        self.unanswered.extend_from_slice(&other.unanswered);
        self.sends_at_stop |= other.sends_at_stop;
    }
}

/// What a flow that is not done waits for. Only RDMA's flows keep that themselves.
fn waits_for(net: &Net, flow: &Flow, info: &FlowInfo) -> String {
    let (id, [src, dst], bytes) = (info.id, [info.spec.src, info.spec.dst], info.spec.bytes);
    let Some(messages) = &net.messages else {
        let (next, packets) = (flow.tx.snd_una, flow.tx.packets);
        return format!("flow {id} ({src} -> {dst}) waits for an answer to packet {next} of {packets}");
    };
    match messages.progress(net.ports[flow.nic as usize].nic, flow.place) {
        // Of a connection nobody knows how much it will carry.
        Some((acknowledged, _)) if flow.stream > 0 => {
            format!("flow {id} ({src} -> {dst}), which stays open, has had {acknowledged} bytes acknowledged")
        }
        Some((acknowledged, _)) => {
            format!("flow {id} ({src} -> {dst}) has had {acknowledged} of {bytes} bytes acknowledged")
        }
        None => format!("flow {id} ({src} -> {dst}) of {bytes} bytes waits"),
    }
}

/// Whether a flow has something left to do: streams have nothing between messages.
fn is_unfinished(net: &Net, flow: &Flow) -> bool {
    let settled = |stream| net.streams.as_ref().is_some_and(|s| s.is_settled(stream));
    flow.alive && !flow.stream.checked_sub(1).is_some_and(settled)
}

/// A port as messages name it: the link it is at the beginning of, node and number.
fn name(net: &Net, port: u32) -> String {
    let (node, peer) = (net.ports[port as usize].node, net.ports[port as usize].peer);
    let [from, to] = [node, peer].map(|n| net.scenario.node_name(n));
    format!("{from}->{to} (port {node}:{})", port - net.first[node as usize])
}

/// Explains a standstill: a cycle of pauses if there is one among `waits` ([`waits`] of all parts of the network), else the paused
/// ports and the flows that wait.
pub fn diagnose(net: &Net, waits: &[(PausedQueue, PausedQueue)], now: u64) -> String {
    let time = paceline_proto::units::Time(now);
    let running = net.flows.iter().filter(|f| is_unfinished(net, f)).count();
    let mut text = format!("no flow has made progress; at {time:#} {running} flows are unfinished");
    if net.datagrams > 0 {
        let _ = write!(text, ", {} datagrams have not arrived", net.datagrams);
    }
    if let Some(cycle) = find_cycle(waits) {
        let mut names: Vec<String> = cycle.iter().take(LISTED_OF_CYCLE).map(|(port, _)| name(net, *port)).collect();
        if cycle.len() > names.len() {
            names.push(format!("{} more", cycle.len() - names.len()));
        }
        let (ports, class, ring) = (cycle.len(), cycle[0].1, names.join(", which waits for "));
        let _ =
            write!(text, "; PFC deadlock of {ports} paused ports in class {class}: {ring}, which waits for the first");
        return text;
    }
    let paused: Vec<String> =
        net.ports.iter().enumerate().filter(|(_, p)| p.paused != 0).map(|(i, _)| name(net, i as u32)).collect();
    let down = (0..net.ports.len() as u32).filter(|port| net.link_is_down(*port, now)).count() / 2;
    if down > 0 {
        let _ = write!(text, "; links down: {down}");
    }
    if paused.is_empty() {
        if net.arena.live() == 0 {
            let resends = net.messages.is_some() || net.scenario.host.rto.is_some();
            text += "; no packet is in the network: the last ones were lost and ";
            text += if resends { "no timeout has helped" } else { "no retransmission timeout is set" };
            if net.scenario.quirks.nic_round_robin {
                text += " (quirks.nic_round_robin has none)";
            }
        }
    } else {
        let _ = write!(text, "; {} ports are paused: {}", paused.len(), paused[..paused.len().min(LISTED)].join(", "));
    }
    let mut left: Vec<_> = net.flows.iter().zip(&net.infos).filter(|(f, _)| is_unfinished(net, f)).collect();
    left.sort_by_key(|(_, info)| info.id);
    for (i, (flow, info)) in left.into_iter().take(LISTED).enumerate() {
        text += if i == 0 { "; " } else { ", " };
        text += &waits_for(net, flow, info);
    }
    text
}
