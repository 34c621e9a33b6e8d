//! The share of a workload's flows that crosses a link, expected over the random choices of its flows.
//!
//! NICs of a host among which a flow's is drawn ([`Routes::choose_nics`]) are equally likely, and so are the next hops of a switch; a flow's hosts are drawn
//! from a [`Pairs`]. The share is then exact: from the switch of each receiver outwards, the probability to cross the link is the
//! mean over a switch's next hops. Cost: one search per switch with receivers.

use std::collections::BTreeMap;

use crate::InputError;
use crate::graph::{Graph, NodeId};
use crate::routing::Routes;

/// Steps, links between switches times switches with receivers, up to which a share is computed: some seconds.
pub const MOST_STEPS: u64 = 500_000_000;

/// Which pairs of hosts a workload's flows join.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Hosts that send, each with its weight: to a given receiver, all senders but itself send in proportion to their weights.
    pub sources: Vec<(NodeId, f64)>,
    /// Hosts that receive, all equally likely.
    pub destinations: Vec<NodeId>,
}

impl Pairs {
    /// Every sender to every receiver but itself, alike.
    pub fn uniform(sources: &[NodeId], destinations: &[NodeId]) -> Self {
        Self { sources: sources.iter().map(|s| (*s, 1.0)).collect(), destinations: destinations.to_vec() }
    }
}

/// What is counted of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// It leaves the switch its sender is on.
    Rack,
    /// It crosses a link from the first node to the second; parallel links count as one.
    Link(NodeId, NodeId),
}

/// What is told of a NIC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Nic {
    plane: u32,
    peer: NodeId,
    /// bit/s.
    rate: u64,
}

/// Hosts that are alike for a crossing: linked to the same switches, and none of them an end of the link.
#[derive(Default)]
struct Group {
    /// The link's end that is its only host.
    end: Option<NodeId>,
    nics: Vec<Nic>,
    /// Weight of its senders.
    weight: f64,
    /// Weights as senders of its receivers; 0 for those that do not send.
    receivers: Vec<f64>,
}

/// Share of the flows of `pairs`, 0 to 1, to which `crossing` applies.
///
/// # Errors
/// A network of more than [`MOST_STEPS`].
pub fn expected_share(routes: &mut Routes, pairs: &Pairs, crossing: Crossing) -> Result<f64, InputError> {
    let graph = routes.graph().clone();
    let groups = groups(routes, &graph, pairs, crossing);
    let total: f64 = pairs.sources.iter().map(|s| s.1).sum();
    let receivers = pairs.destinations.len() as f64;
    // Receiving groups by the switch (or host, back to back) their NICs are on.
    let mut by_target: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (i, group) in groups.iter().enumerate().filter(|(_, g)| !g.receivers.is_empty()) {
        for nic in &group.nics {
            let list = by_target.entry(nic.peer).or_default();
            if list.last() != Some(&i) {
                list.push(i);
            }
        }
    }
    let searches = matches!(crossing, Crossing::Link(a, b) if !graph.is_host(a) && !graph.is_host(b));
    let steps = by_target.len() as u64 * (routes.fabric_links() + groups.len()) as u64;
    if steps > MOST_STEPS {
        let size =
            format!("{} switches with receivers, {} links between switches", by_target.len(), routes.fabric_links());
        let error = InputError::new("the network is too large to work out how much crosses a link").value(size);
        return Err(error.allowed(format!("a product of at most {MOST_STEPS}")));
    }
    let nearest = routes.takes_nearest_nics();
    let mut share = 0.0;
    let mut chance = vec![0.0f64; graph.nodes()];
    for (&target, receiving) in &by_target {
        if searches {
            chances(routes, &graph, target, crossing, &mut chance);
        }
        for &to in receiving {
            let to_group = &groups[to];
            for (from, from_group) in groups.iter().enumerate().filter(|(_, g)| g.weight > 0.0) {
                // How likely a flow goes from the one group to the other: a receiver does not send to itself.
                let likely: f64 = if from == to {
                    to_group.receivers.iter().map(|own| ratio(from_group.weight - own, total - own)).sum()
                } else {
                    to_group.receivers.iter().map(|own| ratio(from_group.weight, total - own)).sum()
                };
                if likely > 0.0 {
                    let here = nic_pairs(&graph, nearest, [from_group, to_group], target, crossing, &chance);
                    share += likely / receivers * here;
                }
            }
        }
    }
    Ok(share.min(1.0))
}

/// A weight over the weights of all; nothing where nobody is left to send.
fn ratio(weight: f64, all: f64) -> f64 {
    if all > 0.0 { weight / all } else { 0.0 }
}

fn groups(routes: &Routes, graph: &Graph, pairs: &Pairs, crossing: Crossing) -> Vec<Group> {
    let mut index: BTreeMap<_, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of = |host: NodeId| -> usize {
        let ports = routes.planes_of(host).iter().zip(graph.ports_of(host));
        let nics: Vec<Nic> = ports.map(|(plane, p)| Nic { plane: *plane, peer: p.peer, rate: p.rate.0 }).collect();
        let end = matches!(crossing, Crossing::Link(a, b) if a == host || b == host).then_some(host);
        *index.entry((nics.clone(), end)).or_insert_with(|| {
            groups.push(Group { end, nics, ..Group::default() });
            groups.len() - 1
        })
    };
    let weights: BTreeMap<NodeId, f64> = pairs.sources.iter().copied().collect();
    let sending: Vec<(usize, f64)> = weights.iter().map(|(host, weight)| (group_of(*host), *weight)).collect();
    let receiving: Vec<(usize, f64)> =
        pairs.destinations.iter().map(|d| (group_of(*d), weights.get(d).copied().unwrap_or(0.0))).collect();
    for (group, weight) in sending {
        groups[group].weight += weight;
    }
    for (group, own) in receiving {
        groups[group].receivers.push(own);
    }
    groups
}

/// For two groups: the probability that the receiver's NIC is on `target` and the crossing applies.
fn nic_pairs(
    graph: &Graph,
    nearest: bool,
    [from, to]: [&Group; 2],
    target: NodeId,
    crossing: Crossing,
    chance: &[f64],
) -> f64 {
    // Where NICs of both are on one switch, and such are preferred, only the fastest of these pairs.
    let rate = |a: &Nic, b: &Nic| (a.plane == b.plane && a.peer == b.peer).then(|| a.rate.min(b.rate));
    let best = from.nics.iter().filter(|_| nearest).flat_map(|a| to.nics.iter().filter_map(move |b| rate(a, b))).max();
    let joins = |a: &Nic, b: &Nic| if best.is_some() { rate(a, b) == best } else { a.plane == b.plane };
    let reached = |a: &Nic| to.nics.iter().filter(|b| joins(a, b)).count();
    let usable = from.nics.iter().filter(|a| reached(a) > 0).count() as f64;
    let mut sum = 0.0;
    for a in &from.nics {
        let there = to.nics.iter().filter(|b| joins(a, b) && b.peer == target).count() as f64;
        if there == 0.0 {
            continue;
        }
        let applies = match crossing {
            Crossing::Rack => f64::from(u8::from(a.peer != target)),
            Crossing::Link(x, y) if graph.is_host(x) => f64::from(u8::from(from.end == Some(x) && a.peer == y)),
            Crossing::Link(x, y) if graph.is_host(y) => f64::from(u8::from(to.end == Some(y) && target == x)),
            Crossing::Link(..) => chance[a.peer as usize],
        };
        sum += applies * there / (usable * reached(a) as f64);
    }
    sum
}

/// For every switch the probability that a flow at it, bound for `target`, crosses the link.
fn chances(routes: &mut Routes, graph: &Graph, target: NodeId, crossing: Crossing, chance: &mut [f64]) {
    chance.fill(0.0);
    routes.walk(target, &mut |switch, hops| {
        let over = |port: &u16| {
            let peer = graph.ports_of(switch)[*port as usize].peer;
            if crossing == Crossing::Link(switch, peer) { 1.0 } else { chance[peer as usize] }
        };
        let sum: f64 = hops.iter().map(over).sum();
        chance[switch as usize] = sum / hops.len() as f64;
    });
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
