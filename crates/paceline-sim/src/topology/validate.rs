//! What a network given by the user must fulfil before anything is built from it.

use super::{MAX_NICS, MAX_PORTS, check};
use crate::InputError;
use crate::graph::{Link, NodeId, NodeKind, Topology};

/// Checks a network, from a file or a generator.
///
/// * At least two hosts; at most 2^24 nodes and 2^24 links; a kind and a tier for every node, tier 0 for hosts and only for them.
/// * Links join two different nodes of the network; rates 1 bit/s to 100 Tb/s, delays up to 1 s, error rates 0 to 1.
/// * At most 65535 ports on a switch; 1 to 256 NICs on a host.
/// * A host is linked to switches. Two hosts may be linked to each other (back to back) only where they are the whole network: hosts
///   never forward, so such a link could serve no other pair, and which of its NICs a host sends from is the flow's address.
/// * Every two hosts have NICs between which there is a path over switches alone. Several planes that share no switch are fine.
///
/// # Errors
/// The first violation in node or link order, naming the node, link or pair of hosts.
pub fn validate_topology(topology: &Topology) -> Result<(), InputError> {
    validate_named(topology, &|node| node.to_string())
}

/// [`validate_topology`] for a network whose nodes its author gave names: errors have these.
pub(crate) fn validate_named(topology: &Topology, name_of: &dyn Fn(NodeId) -> String) -> Result<(), InputError> {
    let nodes = topology.kinds.len();
    check::nodes("nodes", nodes as u128)?;
    check::links("links", topology.links.len() as u128)?;
    check::hosts("hosts", topology.kinds.iter().filter(|k| **k == NodeKind::Host).count() as u128)?;
    if topology.tiers.len() != nodes {
        let error = InputError::new("not one tier per node").field("tiers").value(topology.tiers.len());
        return Err(error.allowed(format!("{nodes} tiers, one per node")));
    }
    for (node, (kind, tier)) in topology.kinds.iter().zip(&topology.tiers).enumerate() {
        if (*kind == NodeKind::Host) != (*tier == 0) {
            let error = InputError::new("tier does not fit the kind")
                .field(format!("tier of node {}", name_of(node as NodeId)))
                .value(tier);
            return Err(error.allowed("0 for hosts, 1 or more for switches"));
        }
    }
    for (i, link) in topology.links.iter().enumerate() {
        check_link(topology, i, link, name_of)?;
    }
    check_ports(topology, name_of)?;
    check_reachable(topology, name_of)
}

fn check_link(
    topology: &Topology,
    i: usize,
    link: &Link,
    name_of: &dyn Fn(NodeId) -> String,
) -> Result<(), InputError> {
    let nodes = topology.kinds.len();
    for end in [link.a, link.b] {
        if end as usize >= nodes {
            let error = InputError::new("no such node").field(format!("link {i} ({} - {})", link.a, link.b)).value(end);
            return Err(error.allowed(format!("node ids 0 to {}", nodes - 1)));
        }
    }
    let name = || format!("link {i} ({} - {})", name_of(link.a), name_of(link.b));
    if link.a == link.b {
        return Err(InputError::new("a node linked to itself").field(name()).allowed("two different nodes"));
    }
    let is_host = |n: u32| topology.kinds[n as usize] == NodeKind::Host;
    if is_host(link.a) && is_host(link.b) && nodes != 2 {
        let error = InputError::new("two hosts linked to each other").field(name());
        return Err(error.allowed("hosts linked to switches, or a network of just two hosts"));
    }
    for (side, from, to) in [(link.ab, link.a, link.b), (link.ba, link.b, link.a)] {
        check::rate("", side.rate)
            .map_err(|e| e.field(format!("link {i}, rate {} to {}", name_of(from), name_of(to))))?;
        check::delay("", side.delay)
            .map_err(|e| e.field(format!("link {i}, delay {} to {}", name_of(from), name_of(to))))?;
    }
    if !(0.0..=1.0).contains(&link.error_rate) {
        let error = InputError::new("not a probability").field(format!("link {i}, error_rate"));
        return Err(error.value(link.error_rate).allowed("0 to 1"));
    }
    Ok(())
}

fn check_ports(topology: &Topology, name_of: &dyn Fn(NodeId) -> String) -> Result<(), InputError> {
    let mut ports = vec![0u64; topology.kinds.len()];
    for link in &topology.links {
        ports[link.a as usize] += 1;
        ports[link.b as usize] += 1;
    }
    for (node, (&kind, &n)) in topology.kinds.iter().zip(&ports).enumerate() {
        let (least, most, what) = match kind {
            NodeKind::Host => (1, MAX_NICS, "links of host"),
            NodeKind::Switch => (0, MAX_PORTS, "links of switch"),
        };
        if n < least || n > most {
            let problem = if n < least { "a host without a link" } else { "too many links" };
            let error = InputError::new(problem).field(format!("{what} {}", name_of(node as NodeId))).value(n);
            return Err(error.allowed(format!("{least} to {most}")));
        }
    }
    Ok(())
}

/// Two hosts can talk if they touch a common plane: a set of switches connected among themselves.
fn check_reachable(topology: &Topology, name_of: &dyn Fn(NodeId) -> String) -> Result<(), InputError> {
    let nodes = topology.kinds.len();
    if topology.kinds.iter().all(|k| *k == NodeKind::Host) {
        return Ok(()); // two hosts back to back: both have a link, and there is nobody else to be linked to
    }
    let is_host = |n: u32| topology.kinds[n as usize] == NodeKind::Host;
    let mut root: Vec<u32> = (0..nodes as u32).collect();
    for link in topology.links.iter().filter(|l| !is_host(l.a) && !is_host(l.b)) {
        let (a, b) = (find(&mut root, link.a), find(&mut root, link.b));
        root[a.max(b) as usize] = a.min(b);
    }
    let mut planes = vec![Vec::new(); nodes];
    for link in &topology.links {
        let (host, switch) = if is_host(link.a) { (link.a, link.b) } else { (link.b, link.a) };
        if is_host(host) {
            planes[host as usize].push(find(&mut root, switch));
        }
    }
    // Hosts that touch the same planes are alike; one of each kind is compared with the others.
    let mut kinds = std::collections::BTreeMap::new();
    for host in (0..nodes as u32).filter(|&n| is_host(n)) {
        let mut set = std::mem::take(&mut planes[host as usize]);
        set.sort_unstable();
        set.dedup();
        kinds.entry(set).or_insert(host);
    }
    let mut kinds: Vec<(u32, Vec<u32>)> = kinds.into_iter().map(|(set, host)| (host, set)).collect();
    kinds.sort_unstable();
    for (i, (a, planes_a)) in kinds.iter().enumerate() {
        for (b, planes_b) in &kinds[i + 1..] {
            if !planes_a.iter().any(|p| planes_b.binary_search(p).is_ok()) {
                let error = InputError::new("no path between them over switches").field(format!(
                    "hosts {} and {}",
                    name_of(*a),
                    name_of(*b)
                ));
                return Err(error.allowed("networks in which all hosts can reach each other; hosts do not forward"));
            }
        }
    }
    Ok(())
}

/// Representative of a switch's plane, with the path to it halved on the way.
fn find(root: &mut [u32], mut at: u32) -> u32 {
    while root[at as usize] != at {
        root[at as usize] = root[root[at as usize] as usize];
        at = root[at as usize];
    }
    at
}
