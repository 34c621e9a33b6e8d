//! The part of the network that a flow alone can notice.
//!
//! The switches on its way and on that of its ACKs, with all their ports, since buffers and thresholds are shared among ports;
//! what lies behind the other ports is left out. Nodes are numbered along the way and ports by what they lead to, so that ways
//! that are alike become the same network, and the result depends on nothing else. Sprayed packets take all shortest paths, so
//! for them all switches on one are there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Key;
use crate::error::InputError;
use crate::graph::{Graph, Link, NodeId, NodeKind, PortNo, Side, Topology};
use crate::ideal::{self, BaseRtt};
use crate::net::{Net, Pinned, Whole};
use crate::routing::{Address, Tuple, ip_of};
use crate::workload::FlowSpec;

/// Ways kept for flows to come.
const MOST_WAYS: usize = 1 << 14;
/// Pairs of paths whose way is remembered.
const MOST_PATHS: usize = 1 << 18;
/// Place of nodes that are left out.
const OUT: u32 = u32::MAX;

/// A flow's part of the network.
#[derive(Debug)]
pub(super) struct Way {
    /// Sender and receiver in `graph`.
    pub ends: [NodeId; 2],
    pub graph: Arc<Graph>,
    /// What the flow takes from the network as a whole.
    pub whole: Whole,
    /// The paths of its packets and ACKs; `None` when sprayed.
    pub pinned: Option<Pinned>,
}

/// Comparable form of a way: nodes, links, paths, base RTT.
type Form = (Vec<(bool, u8)>, Vec<[u64; 7]>, [Vec<PortNo>; 2], [u64; 3]);

/// The ways of a run's flows.
pub(super) struct Ways {
    net: Net,
    by_path: BTreeMap<(NodeId, NodeId, Vec<PortNo>, Vec<PortNo>), u32>,
    by_form: BTreeMap<Form, u32>,
    found: Vec<Way>,
}

impl Ways {
    pub(super) fn new(net: Net) -> Self {
        Self { net, by_path: BTreeMap::new(), by_form: BTreeMap::new(), found: Vec::new() }
    }

    pub(super) fn way(&self, number: u32) -> &Way {
        &self.found[number as usize]
    }

    /// Whether it is time to start anew: ways are without bound in a network without symmetry.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() > MOST_WAYS || self.by_path.len() > MOST_PATHS
    }

    pub(super) fn clear(&mut self) {
        self.by_path.clear();
        self.by_form.clear();
        self.found.clear();
    }

    /// The key of the run's flow `id`. To be asked in the order of ids, of all flows: paths depend on it.
    pub(super) fn key(&mut self, flow: &FlowSpec, id: u64) -> Result<Key, InputError> {
        let sport = self.net.take_sport(flow, id);
        let (src, dst) = self.net.addresses(flow.src, flow.dst, id);
        let sprayed = self.net.scenario.routing.choice.splits_flows();
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        let symmetric = self.net.is_symmetric(flow);
        let routes = &mut self.net.routes;
        if sprayed {
            routes.first_path(src, dst, &mut forth)?;
            routes.first_path(dst, src, &mut back)?;
        } else {
            let (src_ip, dst_ip) = (ip_of(src.host, src.nic), ip_of(dst.host, dst.nic));
            let tuple = Tuple { src_ip, dst_ip, sport, dport: flow.dport };
            routes.both_ways([src, dst], &tuple, symmetric, [&mut forth, &mut back])?;
        }
        let path = (src.host, dst.host, forth, back);
        let way = if let Some(way) = self.by_path.get(&path) {
            *way
        } else {
            let way = self.add(src, dst, &path.2, &path.3, sprayed)?;
            self.by_path.insert(path, way);
            way
        };
        let FlowSpec { scheme, class, rate_cap, bytes, .. } = *flow;
        Ok(Key { way, scheme, class, rate_cap, bytes })
    }

    fn add(
        &mut self,
        src: Address,
        dst: Address,
        forth: &[PortNo],
        back: &[PortNo],
        sprayed: bool,
    ) -> Result<u32, InputError> {
        let graph = Arc::clone(&self.net.graph);
        let payload = self.net.scenario.framing.payload;
        let pair = ideal::base_rtt(&mut self.net.routes, src, dst, payload)?;
        let mut nodes = vec![src.host, dst.host];
        let (there, here) = (walk(&graph, src.host, forth), walk(&graph, dst.host, back));
        if sprayed {
            nodes.extend(self.all_between(there[1], there[there.len() - 2]));
        } else {
            let switches = there.iter().chain(&here).copied().filter(|n| !graph.is_host(*n));
            for node in switches {
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
        }
        let topology = part(&graph, &nodes, [forth[0], back[0]]);
        let small = Graph::new(&topology);
        let paths =
            [(forth, &there), (back, &here)].map(|(ports, path)| same_ports(&graph, &small, &nodes, ports, path));
        let paths = if sprayed { [Vec::new(), Vec::new()] } else { paths };
        let kinds = topology.kinds.iter().map(|k| *k == NodeKind::Host).zip(topology.tiers.iter().copied()).collect();
        let links = topology.links.iter().map(words).collect();
        let BaseRtt { rtt_ns, bdp, min_rate, .. } = pair;
        let form: Form = (kinds, links, paths.clone(), [rtt_ns, bdp, min_rate.0]);
        if let Some(way) = self.by_form.get(&form) {
            return Ok(*way);
        }
        let nic_rate = graph.hosts().flat_map(|h| graph.ports_of(h)).map(|p| p.rate.0).max().unwrap_or(1);
        let number = self.found.len() as u32;
        self.found.push(Way {
            ends: [0, 1],
            graph: Arc::new(small),
            whole: Whole { network: self.net.network, nic_rate, host_rate: graph.first_host_rate() },
            pinned: (!sprayed).then_some(Pinned { paths, pair }),
        });
        self.by_form.insert(form, number);
        Ok(number)
    }

    /// The switches on all shortest paths from one to another, ascending.
    fn all_between(&mut self, from: NodeId, to: NodeId) -> BTreeSet<NodeId> {
        let graph = Arc::clone(&self.net.graph);
        let mut found = BTreeSet::new();
        let mut stack: Vec<NodeId> = [from].into_iter().filter(|n| !graph.is_host(*n)).collect();
        while let Some(at) = stack.pop() {
            if found.insert(at) {
                let hops = self.net.routes.next_hops(at, to);
                stack.extend(hops.iter().map(|port| graph.ports_of(at)[*port as usize].peer));
            }
        }
        found
    }
}

/// Nodes along a path.
fn walk(graph: &Graph, from: NodeId, ports: &[PortNo]) -> Vec<NodeId> {
    let mut nodes = vec![from];
    for port in ports {
        nodes.push(graph.ports_of(nodes[nodes.len() - 1])[*port as usize].peer);
    }
    nodes
}

/// The network of `nodes`, renumbered in this order, with a stub behind every port that leads elsewhere. Of the two hosts, which
/// come first, only one NIC is there.
fn part(graph: &Graph, nodes: &[NodeId], nics: [PortNo; 2]) -> Topology {
    let place: BTreeMap<NodeId, u32> = nodes.iter().zip(0..).map(|(n, i)| (*n, i)).collect();
    let mut seen = BTreeSet::new();
    let mut links: Vec<(Link, (bool, u8))> = Vec::new();
    for (&node, a) in nodes.iter().zip(0u32..) {
        for (port, number) in graph.ports_of(node).iter().zip(0..) {
            let is_nic = |end: u32, port: PortNo| end > 1 || nics[end as usize] == port;
            let b = place.get(&port.peer).copied().filter(|b| is_nic(*b, port.peer_port)).unwrap_or(OUT);
            // From both ends of a link the first is met; a host's other NICs are not there.
            if !is_nic(a, number) || !seen.insert(port.link) {
                continue;
            }
            let back = graph.opposite(port);
            let (ab, ba) = (Side { rate: port.rate, delay: port.delay }, Side { rate: back.rate, delay: back.delay });
            let behind = (graph.is_host(port.peer), graph.tiers[port.peer as usize]);
            links.push((Link { a, b, ab, ba, error_rate: port.error_rate }, behind));
        }
    }
    links.sort_by_key(|(link, behind)| (words(link), *behind));
    let mut kinds: Vec<NodeKind> = nodes.iter().map(|n| graph.kinds[*n as usize]).collect();
    let mut tiers: Vec<u8> = nodes.iter().map(|n| graph.tiers[*n as usize]).collect();
    for (link, (host, tier)) in links.iter_mut().filter(|(link, _)| link.b == OUT) {
        link.b = kinds.len() as u32;
        kinds.push(if *host { NodeKind::Host } else { NodeKind::Switch });
        tiers.push(*tier);
    }
    Topology { kinds, tiers, links: links.into_iter().map(|(link, _)| link).collect() }
}

/// A link in numbers.
fn words(link: &Link) -> [u64; 7] {
    let Link { a, b, ab, ba, error_rate } = link;
    [u64::from(*a), u64::from(*b), ab.rate.0, ab.delay.0, ba.rate.0, ba.delay.0, error_rate.to_bits()]
}

/// A path by the port numbers of the part: to the same node by a link that is alike.
fn same_ports(graph: &Graph, small: &Graph, nodes: &[NodeId], ports: &[PortNo], path: &[NodeId]) -> Vec<PortNo> {
    let place = |node: NodeId| nodes.iter().position(|n| *n == node).unwrap_or(0) as NodeId;
    let hop = |(port, at): (&PortNo, &NodeId)| {
        let real = &graph.ports_of(*at)[*port as usize];
        let real_back = graph.opposite(real);
        let alike = small.ports_of(place(*at)).iter().position(|p| {
            let back = small.opposite(p);
            p.peer == place(real.peer)
                && (p.rate, p.delay, back.rate, back.delay) == (real.rate, real.delay, real_back.rate, real_back.delay)
                && p.error_rate.to_bits() == real.error_rate.to_bits()
        });
        alike.unwrap_or(0) as PortNo
    };
    ports.iter().zip(path).map(hop).collect()
}
