//! Tiers: how far a node is from the hosts, and what that place is called.

use std::sync::LazyLock;

use crate::graph::{NodeKind, Topology};

/// Gives every node the number of links to its nearest host as tier (hosts 0), at most 255; a switch no host reaches gets 255.
///
/// Links that name nodes out of range are passed over: [`super::validate_topology`] reports them.
pub fn tier_by_distance(topology: &mut Topology) {
    let nodes = topology.kinds.len();
    let mut neighbours = vec![Vec::new(); nodes];
    for link in &topology.links {
        let (a, b) = (link.a as usize, link.b as usize);
        if a < nodes && b < nodes {
            neighbours[a].push(link.b);
            neighbours[b].push(link.a);
        }
    }
    let mut tiers = vec![u8::MAX; nodes];
    let mut wave: Vec<u32> = (0..nodes as u32).filter(|&n| topology.kinds[n as usize] == NodeKind::Host).collect();
    for &host in &wave {
        tiers[host as usize] = 0;
    }
    for tier in 1..u8::MAX {
        let mut next = Vec::new();
        for &node in &wave {
            for &peer in &neighbours[node as usize] {
                if tiers[peer as usize] == u8::MAX {
                    tiers[peer as usize] = tier;
                    next.push(peer);
                }
            }
        }
        wave = next;
    }
    topology.tiers = tiers;
}

/// Name of a tier: `host`, `tor`, `agg`, `core`, above that `tier4` and so on.
pub fn tier_name(tier: u8) -> &'static str {
    static HIGHER: LazyLock<Vec<String>> = LazyLock::new(|| (0..=u8::MAX).map(|t| format!("tier{t}")).collect());
    match tier {
        0 => "host",
        1 => "tor",
        2 => "agg",
        3 => "core",
        _ => &HIGHER[tier as usize],
    }
}
