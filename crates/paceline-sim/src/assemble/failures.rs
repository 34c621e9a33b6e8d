//! From the failures of a specification to a schedule: nodes found by name, random failures drawn.

use std::collections::BTreeMap;

use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::units::Time;

use crate::error::InputError;
use crate::graph::{NodeId, NodeKind, Topology};
use crate::scenario::{FailureConfig, Outage};
use crate::spec::Resolved;
use crate::spec::failure::{Among, FailureKind, LinkFailure, RandomFailures, Repair};
use crate::spec::topology::TopologyKind;
use crate::topology::tier_name;

/// The failing links of a specification in its network.
///
/// # Errors
/// A node or link the network does not have.
pub(super) fn failures(spec: &Resolved, network: &Topology) -> Result<FailureConfig, InputError> {
    let mut outages = Vec::new();
    let mut names = None;
    for (i, failure) in spec.failures.iter().enumerate() {
        match &failure.kind {
            FailureKind::Link(f) => {
                let names = names.get_or_insert_with(|| node_names(spec, network));
                for link in links_between(spec, network, names, i, f)? {
                    outages.push(Outage { link, down: f.down, up: f.up });
                }
            }
            FailureKind::Random(f) => draw(spec, network, i, f, &mut outages)?,
        }
    }
    Ok(FailureConfig { outages, reroute_after: spec.routing.reroute_after })
}

/// Every node by its names: its own in a graph, else that of its tier with its number in the tier; and its id.
fn node_names(spec: &Resolved, network: &Topology) -> BTreeMap<String, NodeId> {
    let mut names: BTreeMap<String, NodeId> = (0..network.kinds.len() as NodeId).map(|n| (n.to_string(), n)).collect();
    if let TopologyKind::Graph(graph) = &spec.topology.kind {
        names.extend((0..).zip(graph.hosts.iter().chain(&graph.switches)).map(|(n, name)| (name.0.clone(), n)));
        return names;
    }
    let mut count = [0u32; 256];
    for (n, tier) in (0..).zip(&network.tiers) {
        let number = &mut count[usize::from(*tier)];
        names.insert(format!("{}{number}", tier_name(*tier)), n);
        *number += 1;
    }
    names
}

fn links_between(
    spec: &Resolved,
    network: &Topology,
    names: &BTreeMap<String, NodeId>,
    i: usize,
    failure: &LinkFailure,
) -> Result<Vec<u32>, InputError> {
    let field = format!("failures.{i}.link");
    let mut ends = [0; 2];
    for (k, (end, name)) in ends.iter_mut().zip(&failure.link).enumerate() {
        let Some(node) = names.get(&name.0) else {
            let allowed = match &spec.topology.kind {
                TopologyKind::Graph(_) => "a name in topology.hosts or topology.switches".to_string(),
                _ => name_ranges(network),
            };
            return Err(spec.error(&format!("{field}.{k}"), "no such node").value(&name.0).allowed(allowed));
        };
        *end = *node;
    }
    let joins = |l: &crate::graph::Link| [l.a, l.b] == ends || [l.b, l.a] == ends;
    let links: Vec<u32> = (0..).zip(&network.links).filter(|(_, l)| joins(l)).map(|(n, _)| n).collect();
    if links.is_empty() {
        let neighbours = network.links.iter().filter_map(|l| match (l.a == ends[0], l.b == ends[0]) {
            (true, _) => Some(l.b),
            (_, true) => Some(l.a),
            _ => None,
        });
        let name = |n: NodeId| names.iter().filter(|(_, id)| **id == n).map(|(name, _)| name.as_str()).next_back();
        let mut near: Vec<&str> = neighbours.filter_map(name).take(8).collect();
        near.dedup();
        let text = format!("a neighbour of {} beside it: {}", failure.link[0].0, near.join(", "));
        return Err(spec.error(&field, "no link between these nodes").allowed(text));
    }
    match failure.number {
        None => Ok(links),
        Some(number) => links.get(number as usize).map(|link| vec![*link]).ok_or_else(|| {
            let error = spec.error(&format!("failures.{i}.number"), "no such link between these nodes");
            error.value(number).allowed(format!("0 to {}", links.len() - 1))
        }),
    }
}

/// The names there are: `host0 to host15, tor0 to tor3`.
fn name_ranges(network: &Topology) -> String {
    let mut count = BTreeMap::new();
    for tier in &network.tiers {
        *count.entry(*tier).or_insert(0u32) += 1;
    }
    let range = |(tier, n): (u8, u32)| match n {
        1 => format!("{}0", tier_name(tier)),
        _ => format!("{0}0 to {0}{1}", tier_name(tier), n - 1),
    };
    count.into_iter().map(range).collect::<Vec<_>>().join(", ") + ", or a node id"
}

/// Draws failures from the stream of their entry.
fn draw(
    spec: &Resolved,
    network: &Topology,
    i: usize,
    failures: &RandomFailures,
    outages: &mut Vec<Outage>,
) -> Result<(), InputError> {
    let host = |n: NodeId| network.kinds[n as usize] == NodeKind::Host;
    let wanted = |l: &crate::graph::Link| match failures.among {
        Among::All => true,
        Among::Fabric => !host(l.a) && !host(l.b),
        Among::Hosts => host(l.a) || host(l.b),
    };
    let links: Vec<u32> = (0..).zip(&network.links).filter(|(_, l)| wanted(l)).map(|(n, _)| n).collect();
    if links.is_empty() {
        let error = spec.error(&format!("failures.{i}.among"), "the network has no such link");
        return Err(error.allowed("\"all\" or \"hosts\""));
    }
    let mut stream = Stream::new(spec.seed, Purpose::Failures, i as u64);
    for _ in 0..failures.count {
        let link = links[stream.below(links.len() as u32) as usize];
        let span = failures.end.0 - failures.start.0;
        let down = Time(failures.start.0 + ((u128::from(stream.next_u64()) * u128::from(span)) >> 64) as u64);
        let up = if let Repair::After(time) = failures.repair { Some(down + time) } else { None };
        outages.push(Outage { link, down, up });
    }
    Ok(())
}
