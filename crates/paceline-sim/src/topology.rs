//! Networks by name: generators of [`Topology`] and the checks a network given by the user must pass.
//!
//! Every generator numbers hosts first (from 0), then top-of-rack switches, then aggregation, then core, and lists host links before
//! fabric links; port numbers follow that order. A host has one NIC, its port 0.

mod check;
mod dumbbell;
mod fat_tree;
mod hpcc320;
mod leaf_spine;
mod names;
mod parking_lot;
mod star;
mod tiers;
mod validate;
mod xgft;

pub use dumbbell::dumbbell;
pub use fat_tree::{ThreeTier, fat_tree, three_tier};
pub use hpcc320::hpcc_fat320;
pub use leaf_spine::leaf_spine;
pub use names::NodeNames;
pub use parking_lot::parking_lot;
pub use star::star;
pub use tiers::{tier_by_distance, tier_name};
pub(crate) use validate::validate_named;
pub use validate::validate_topology;
pub use xgft::{Level, MAX_LEVELS, xgft};

use crate::graph::{Link, NodeId, NodeKind, Side, Topology};
use paceline_proto::units::{BitsPerSec, Duration, S};

/// Most nodes a network may have: node ids stay below 2^24.
pub const MAX_NODES: u64 = 1 << 24;
/// Most links a network may have.
pub const MAX_LINKS: u64 = 1 << 24;
/// Most ports a node may have.
pub const MAX_PORTS: u64 = u16::MAX as u64;
/// Most NICs a host may have: each needs an address of its own ([`crate::routing::ip_of`]).
pub const MAX_NICS: u64 = 256;
/// Fastest link: 100 Tb/s, well above any built, so that a slip of units is noticed.
pub const MAX_RATE: BitsPerSec = BitsPerSec(100_000_000_000_000);
/// Longest propagation delay of a link: 1 s, for the same reason. It also keeps the sum over a longest path far inside 64 bits.
pub const MAX_DELAY: Duration = Duration(S);

/// Collects nodes and links in the order that numbers them.
struct Builder {
    topology: Topology,
}

impl Builder {
    /// A network of `hosts` hosts, ids from 0.
    fn with_hosts(hosts: u32) -> Self {
        let n = hosts as usize;
        Self { topology: Topology { kinds: vec![NodeKind::Host; n], tiers: vec![0; n], links: Vec::new() } }
    }

    /// Adds `count` switches of a tier; the id of the first.
    fn switches(&mut self, count: u32, tier: u8) -> NodeId {
        let first = self.topology.kinds.len();
        self.topology.kinds.resize(first + count as usize, NodeKind::Switch);
        self.topology.tiers.resize(first + count as usize, tier);
        first as NodeId
    }

    /// Adds an error-free link with the same rate and delay both ways.
    fn link(&mut self, a: NodeId, b: NodeId, wire: Side) {
        self.topology.links.push(Link::symmetric(a, b, wire.rate, wire.delay));
    }

    /// Wires hosts `first_host..` to the switches `first_switch..`, `per_switch` to each, in order.
    fn racks(&mut self, first_host: NodeId, first_switch: NodeId, switches: u32, per_switch: u32, wire: Side) {
        for i in 0..switches * per_switch {
            self.link(first_host + i, first_switch + i / per_switch, wire);
        }
    }
}

/// Adds the time through a switch to the delay of all that leaves it.
pub fn delay_at_switches(network: &mut Topology, delay: paceline_proto::units::Duration) {
    for link in &mut network.links {
        for (node, side) in [(link.a, &mut link.ab), (link.b, &mut link.ba)] {
            if network.kinds[node as usize] == crate::graph::NodeKind::Switch {
                side.delay.0 = side.delay.0.saturating_add(delay.0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
