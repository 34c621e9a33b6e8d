//! Parallel paths that are not alike: what sprayed packets need at least.

use std::collections::BTreeMap;

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

/// Makes the links of `way` between switches `from` and `to` no slower than those of any shortest path: at each step the
/// fastest rate there is, and together the least delay of any path.
///
/// Exact where the links of a step have one rate, else less than a packet can need.
pub fn hasten(routes: &mut Routes, way: &mut [Side], from: NodeId, to: NodeId) {
    let [_, between @ .., _] = way else { return };
    let graph = std::sync::Arc::clone(routes.graph());
    // The nodes after each step, and the least delay to them.
    let mut reached = vec![(from, 0u64)];
    for side in &mut *between {
        let mut next = Vec::new();
        side.delay.0 = 0;
        for (node, delay) in reached {
            for port in routes.next_hops(node, to) {
                let link = &graph.ports_of(node)[usize::from(*port)];
                side.rate = side.rate.max(link.rate);
                next.push((link.peer, delay.saturating_add(link.delay.0)));
            }
        }
        next.sort_unstable();
        next.dedup_by_key(|(node, _)| *node);
        reached = next;
    }
    if let (Some(side), Some((_, delay))) = (between.first_mut(), reached.first()) {
        side.delay.0 = *delay;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use paceline_proto::units::{BitsPerSec, Duration};

    use super::*;
    use crate::graph::{Link, NodeKind, Topology};
    use crate::ideal::{line_rate_sprayed, path_sides};
    use crate::routing::Address;
    use crate::scenario::{Framing, NextHopOrder, PathChoice, RoutingConfig};

    /// Sprayed packets may take the short way: measured against the long one they would beat their ideal.
    #[test]
    fn the_ideal_is_that_of_the_fastest_path() {
        // Two racks, joined by two spines at different distances.
        let link = |a, b, ns| Link::symmetric(a, b, BitsPerSec(100_000_000_000), Duration::from_ns(ns));
        let links =
            vec![link(0, 2, 10), link(1, 3, 10), link(2, 4, 900), link(4, 3, 100), link(2, 5, 300), link(5, 3, 200)];
        let kinds = [vec![NodeKind::Host; 2], vec![NodeKind::Switch; 4]].concat();
        let graph = Arc::new(Graph::new(&Topology { kinds, tiers: vec![0, 0, 1, 1, 2, 2], links }));
        assert!(parallel_links_differ(&graph));
        let config = RoutingConfig { choice: PathChoice::Spray, order: NextHopOrder::Port, salt: 0 };
        let mut routes = Routes::new(Arc::clone(&graph), config);
        let mut path = Vec::new();
        let ends = [0, 1].map(|host| Address { host, nic: 0 });
        routes.first_path(ends[0], ends[1], &mut path).unwrap();
        let mut way = path_sides(&graph, 0, &path).0;
        hasten(&mut routes, &mut way, 2, 3);
        let delay: u64 = way.iter().map(|s| s.delay.as_ns()).sum();
        assert_eq!((way.len(), delay), (4, 10 + 500 + 10));
        // One packet of 1048 B over four links at 100 Gb/s.
        let ideal = line_rate_sprayed(1000, &Framing::HPCC, &way, &[]);
        assert_eq!(ideal.receiver, Duration(520_000 + 4 * 83_840));
    }
}
