//! Why nothing moves any more: who waits for whom.

use std::fmt::Write as _;

use crate::net::Net;
use crate::packet::NONE;

/// Paused ports that a message lists at most.
const LISTED: usize = 6;

/// Whether a run without progress since `since` is stuck: for longer than `stall`, and no retransmission timeout that
/// still runs explains it.
pub fn is_stuck(net: &Net, since: u64, now: u64, stall: u64) -> bool {
    if now - since <= stall {
        return false;
    }
    let Some(rto) = net.scenario.host.rto else { return true };
    let waiting = net.flows.iter().filter(|f| f.alive).map(|f| rto.initial.0 << f.timeouts).max();
    now - since > stall.saturating_add(waiting.unwrap_or(0)) || pause_cycle(net).is_some()
}

/// Explains a standstill: a cycle of pauses if there is one, else the paused ports and the flows that wait.
pub fn diagnose(net: &Net, now: u64) -> String {
    let time = paceline_proto::units::Time(now);
    let running = net.flows.iter().filter(|f| f.alive).count();
    let mut text = format!("no flow has made progress; at {time} {running} flows are unfinished");
    if let Some(cycle) = pause_cycle(net) {
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
    let waiting: Vec<String> = net
        .flows
        .iter()
        .zip(&net.infos)
        .filter(|(f, _)| f.alive)
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

/// Nodes of a cycle in which each waits for the next: a port that is paused with packets waiting waits for its peer.
fn pause_cycle(net: &Net) -> Option<Vec<u32>> {
    let nodes = net.graph.nodes();
    let waits = |node: u32| {
        let range = net.first[node as usize]..net.first[node as usize + 1];
        range.filter(|p| {
            let port = &net.ports[*p as usize];
            net.nic_of_port[*p as usize] == NONE && port.paused & port.waiting != 0
        })
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
