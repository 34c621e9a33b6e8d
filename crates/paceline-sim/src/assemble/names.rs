//! Nodes by name.

use std::collections::BTreeMap;

use crate::graph::NodeId;
use crate::spec::Resolved;
use crate::spec::topology::TopologyKind;
use crate::topology::tier_name;

/// Every node by its names: its own in a graph, else that of its tier with its number in the tier; and its id.
pub(super) fn node_names(spec: &Resolved, tiers: &[u8]) -> BTreeMap<String, NodeId> {
    let mut names: BTreeMap<String, NodeId> = (0..tiers.len() as NodeId).map(|n| (n.to_string(), n)).collect();
    if let TopologyKind::Graph(graph) = &spec.topology.kind {
        names.extend((0..).zip(graph.hosts.iter().chain(&graph.switches)).map(|(n, name)| (name.0.clone(), n)));
        return names;
    }
    let mut count = [0u32; 256];
    for (n, tier) in (0..).zip(tiers) {
        let number = &mut count[usize::from(*tier)];
        names.insert(format!("{}{number}", tier_name(*tier)), n);
        *number += 1;
    }
    names
}

/// The names there are, for errors: `host0 to host15, tor0 to tor3`.
pub(super) fn allowed_names(spec: &Resolved, tiers: &[u8]) -> String {
    if let TopologyKind::Graph(_) = spec.topology.kind {
        return "a name in topology.hosts or topology.switches, or a node id".to_string();
    }
    let mut count = BTreeMap::new();
    for tier in tiers {
        *count.entry(*tier).or_insert(0u32) += 1;
    }
    let range = |(tier, n): (u8, u32)| match n {
        1 => format!("{}0", tier_name(tier)),
        _ => format!("{0}0 to {0}{1}", tier_name(tier), n - 1),
    };
    count.into_iter().map(range).collect::<Vec<_>>().join(", ") + ", or a node id"
}
