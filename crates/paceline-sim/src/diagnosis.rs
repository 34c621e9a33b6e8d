//! Why nothing moves any more: who waits for whom.

use std::fmt::Write as _;

use crate::net::Net;
use crate::packet::NONE;

/// Paused ports that a message lists at most.
const LISTED: usize = 6;

/// What a part of the network knows of a standstill.
#[derive(Clone, Debug, Default)]
pub struct Symptoms {
    /// Longest retransmission timeout that runs, ps.
    patience: u64,
    /// Switch ports that are paused with packets waiting.
    blocked: Vec<u32>,
    /// There are no timeouts.
    hopeless: bool,
}

impl Symptoms {
    /// Of a network, or of one part.
    pub fn of(net: &Net) -> Self {
        if net.rpcs.as_ref().is_some_and(|r| r.has_due()) {
            // Clients that ask seldom.
            return Self { patience: u64::MAX, blocked: blocked(net), hopeless: false };
        }
        if let Some(m) = &net.messages {
            return Self { patience: m.patience(), blocked: blocked(net), hopeless: false };
        }
        let Some(rto) = net.scenario.host.rto else { return Self { hopeless: true, ..Self::default() } };
        let waiting = net.flows.iter().filter(|f| f.alive).map(|f| rto.initial.0 << f.timeouts).max();
        Self { patience: waiting.unwrap_or(0), blocked: blocked(net), hopeless: false }
    }

    /// Adds those of another part.
    pub fn add(&mut self, other: &Symptoms) {
        self.patience = self.patience.max(other.patience);
        self.blocked.extend_from_slice(&other.blocked);
        self.hopeless |= other.hopeless;
    }

    /// Whether a run without progress for `idle` ps, longer than `stall`, is stuck: no timeout that still runs explains
    /// it.
    pub fn is_stuck(&self, net: &Net, idle: u64, stall: u64) -> bool {
        self.hopeless || idle > stall.saturating_add(self.patience) || pause_cycle(net, &self.blocked).is_some()
    }
}

/// Whether a run without progress since `since` is stuck.
pub fn is_stuck(net: &Net, since: u64, now: u64, stall: u64) -> bool {
    now - since > stall && Symptoms::of(net).is_stuck(net, now - since, stall)
}

/// How a flow was given up.
pub fn given_up(net: &Net, slot: u32, now: u64) -> String {
    let (flow, info) = (&net.flows[slot as usize], &net.infos[slot as usize]);
    let paused = net.ports[flow.nic as usize].paused & (1 << flow.class) != 0;
    format!(
        "at {} flow {} ({} -> {}) still waited for an answer to packet {} of {}{}",
        paceline_proto::units::Time(now),
        info.id,
        info.spec.src,
        info.spec.dst,
        flow.tx.snd_una,
        flow.tx.packets,
        if paused { ", its NIC paused" } else { "" }
    )
}

/// Explains a standstill: a cycle of pauses if there is one, else the paused ports and the flows that wait.
pub fn diagnose(net: &Net, now: u64) -> String {
    let time = paceline_proto::units::Time(now);
    let running = net.flows.iter().filter(|f| f.alive).count();
    let mut text = format!("no flow has made progress; at {time} {running} flows are unfinished");
    if let Some(cycle) = pause_cycle(net, &blocked(net)) {
        let names: Vec<String> = cycle.iter().map(|n| format!("node {n}")).collect();
        let _ = write!(text, "; PFC deadlock: {} -> {}", names.join(" -> "), names[0]);
        return text;
    }
    let paused: Vec<String> = net
        .ports
        .iter()
        .enumerate()
        .filter(|(_, p)| p.paused != 0)
        .map(|(i, p)| {
            format!(
                "node {} port {} (paused by node {})",
                net.port_node[i],
                i as u32 - net.first[net.port_node[i] as usize],
                p.peer
            )
        })
        .collect();
    let down = (0..net.ports.len() as u32).filter(|port| net.link_is_down(*port, now)).count() / 2;
    if down > 0 {
        let _ = write!(text, "; links down: {down}");
    }
    if paused.is_empty() {
        if net.arena.live() == 0 {
            text += "; no packet is in the network: the last ones were lost and no retransmission timeout is set";
            if net.scenario.quirks.nic_round_robin {
                text += " (quirks.nic_round_robin has none)";
            }
        }
    } else {
        let _ = write!(text, "; {} ports are paused: {}", paused.len(), paused[..paused.len().min(LISTED)].join(", "));
    }
    let mut alive: Vec<_> = net.flows.iter().zip(&net.infos).filter(|(f, _)| f.alive).collect();
    alive.sort_by_key(|(_, info)| info.id);
    let waiting: Vec<String> = alive
        .into_iter()
        .take(LISTED)
        .map(|(f, i)| {
            format!(
                "flow {} ({} -> {}) waits for an answer to packet {} of {}",
                i.id, i.spec.src, i.spec.dst, f.tx.snd_una, f.tx.packets
            )
        })
        .collect();
    text + "; " + &waiting.join(", ")
}

/// Switch ports that are paused with packets waiting.
fn blocked(net: &Net) -> Vec<u32> {
    let ports = net.ports.iter().zip(&net.nic_of_port).enumerate();
    ports.filter(|(_, (p, nic))| **nic == NONE && p.paused & p.waiting != 0).map(|(i, _)| i as u32).collect()
}

/// Nodes of a cycle in which each waits for the next: a port that is paused with packets waiting waits for its peer.
fn pause_cycle(net: &Net, blocked: &[u32]) -> Option<Vec<u32>> {
    let nodes = net.graph.nodes();
    let mut waiting = vec![false; net.ports.len()];
    for port in blocked {
        waiting[*port as usize] = true;
    }
    let waits = |node: u32| {
        let range = net.first[node as usize]..net.first[node as usize + 1];
        range.filter(|p| waiting[*p as usize])
    };
    // Depth-first search with an explicit stack; state 0 new, 1 on the path, 2 done.
    let mut state = vec![0u8; nodes];
    for root in 0..nodes as u32 {
        let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
        if state[root as usize] == 0 {
            path.push((root, waits(root).map(|p| net.ports[p as usize].peer).collect()));
            state[root as usize] = 1;
        }
        while let Some((node, next)) = path.last_mut() {
            let Some(peer) = next.pop() else {
                state[*node as usize] = 2;
                path.pop();
                continue;
            };
            match state[peer as usize] {
                0 => {
                    state[peer as usize] = 1;
                    let next = waits(peer).map(|p| net.ports[p as usize].peer).collect();
                    path.push((peer, next));
                }
                1 => {
                    let from = path.iter().position(|(n, _)| *n == peer)?;
                    return Some(path[from..].iter().map(|(n, _)| *n).collect());
                }
                _ => {}
            }
        }
    }
    None
}
