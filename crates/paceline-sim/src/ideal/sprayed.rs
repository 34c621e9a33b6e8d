//! Parallel paths that are not alike: what sprayed packets need at least.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_proto::units::BitsPerSec;

use crate::graph::{Graph, NodeId, Side};
use crate::routing::Routes;

/// Whether links between switches of the same two tiers have different delays or rates.
pub fn parallel_links_differ(graph: &Graph) -> bool {
    let mut links = BTreeMap::new();
    graph.ports.iter().filter(|p| !graph.is_host(p.node) && !graph.is_host(p.peer)).any(|p| {
        let tiers = [p.node, p.peer].map(|n| graph.tiers[n as usize]);
        let side = (p.rate, p.delay);
        *links.entry(tiers).or_insert(side) != side
    })
}

/// Makes the links `between` switches `from` and `to` no slower than those of any shortest path: at each step the fastest rate there
/// is, and together the least delay of any path. Returns the step whose links carry least, all together, and how much.
///
/// Exact where the links of a step have one rate, else less than a packet can need.
pub fn spread(routes: &mut Routes, between: &mut [Side], from: NodeId, to: NodeId) -> Option<(usize, BitsPerSec)> {
    let graph = Arc::clone(routes.graph());
    let mut narrowest: Option<(usize, BitsPerSec)> = None;
    // The nodes after each step, and the least delay to them.
    let mut reached = vec![(from, 0u64)];
    for (step, side) in between.iter_mut().enumerate() {
        let (mut next, mut all) = (Vec::new(), 0u64);
        side.delay.0 = 0;
        for (node, delay) in reached {
            for port in routes.next_hops(node, to) {
                let link = &graph.ports_of(node)[usize::from(*port)];
                side.rate = side.rate.max(link.rate);
                all = all.saturating_add(link.rate.0);
                next.push((link.peer, delay.saturating_add(link.delay.0)));
            }
        }
        next.sort_unstable();
        next.dedup_by_key(|(node, _)| *node);
        reached = next;
        if narrowest.is_none_or(|(_, rate)| all < rate.0) {
            narrowest = Some((step, BitsPerSec(all)));
        }
    }
    if let (Some(side), Some((_, delay))) = (between.first_mut(), reached.first()) {
        side.delay.0 = *delay;
    }
    narrowest
}
