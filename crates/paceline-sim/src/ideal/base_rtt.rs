//! Base RTT and bandwidth-delay product by the rules of the HPCC reference simulator, in whole nanoseconds and bytes
//! (hpcc-ns3 facts, sections 4.5 and 5).

use std::collections::BTreeMap;

use paceline_proto::units::{BitsPerSec, Duration};

use crate::InputError;
use crate::graph::{Graph, NodeId, PortInfo};
use crate::routing::by_node::NodeRoutes;
use crate::routing::{Address, Routes};

/// Header bytes the reference counts per packet in its standalone FCT, whatever the transport really sends.
const STANDALONE_HEADER: u64 = 48;
const NS_BITS: u128 = 8 * 1_000_000_000;

/// Base RTT and bandwidth-delay product of a pair, or the largest of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BaseRtt {
    /// Base RTT in ns: propagation both ways plus, per link of the way there, the serialisation of one payload without headers.
    pub rtt_ns: u64,
    /// Bandwidth-delay product in bytes: that RTT at the path's slowest link.
    pub bdp: u64,
    /// Slowest link of the path (of the network's paths in a maximum).
    pub min_rate: BitsPerSec,
    /// Links of the path (most of any in a maximum).
    pub links: u32,
}

/// Sums over the links of a path; saturating, as slow or long links in absurd numbers are no reason to stop.
#[derive(Clone, Copy)]
struct Sums {
    /// Delays of both directions, ps.
    delay: u64,
    /// Serialisation of the payload towards the receiver, ns, each link rounded down.
    tx_ns: u64,
    min_rate: BitsPerSec,
    links: u32,
}

impl Sums {
    const NONE: Sums = Sums { delay: 0, tx_ns: 0, min_rate: BitsPerSec(u64::MAX), links: 0 };

    /// With one link more, crossed from the owner of `out`.
    fn plus(self, graph: &Graph, out: &PortInfo, payload: u32) -> Sums {
        let back = graph.opposite(out);
        Sums {
            delay: self.delay.saturating_add(out.delay.0).saturating_add(back.delay.0),
            tx_ns: self.tx_ns.saturating_add(tx_ns(payload, out.rate)),
            min_rate: self.min_rate.min(out.rate),
            links: self.links + 1,
        }
    }

    fn result(self) -> BaseRtt {
        let rtt_ns = Duration(self.delay).as_ns().saturating_add(self.tx_ns);
        let bits = u128::from(rtt_ns) * u128::from(self.min_rate.0) / 1_000_000_000;
        let bdp = u64::try_from(bits / 8).unwrap_or(u64::MAX);
        BaseRtt { rtt_ns, bdp, min_rate: self.min_rate, links: self.links }
    }
}

fn tx_ns(payload: u32, rate: BitsPerSec) -> u64 {
    u64::try_from(u128::from(payload) * NS_BITS / u128::from(rate.0)).unwrap_or(u64::MAX)
}

/// Base RTT of a pair for packets of `payload` bytes, along the first of its shortest paths ([`Routes::first_path`]).
///
/// # Errors
/// As [`Routes::flow_path`].
pub fn base_rtt(routes: &mut Routes, src: Address, dst: Address, payload: u32) -> Result<BaseRtt, InputError> {
    let mut ports = Vec::new();
    routes.first_path(src, dst, &mut ports)?;
    let graph = routes.graph();
    let mut sums = Sums::NONE;
    let mut at = src.host;
    for port in ports {
        let out = &graph.ports_of(at)[port as usize];
        sums = sums.plus(graph, out, payload);
        at = out.peer;
    }
    Ok(sums.result())
}

/// Base RTT of a pair by routes between nodes; `None` where there is no path.
pub(crate) fn base_rtt_by_node(routes: &mut NodeRoutes, pair: [NodeId; 2], payload: u32) -> Option<BaseRtt> {
    let path = routes.first_path(pair);
    let graph = routes.graph();
    let sums = path.iter().fold(Sums::NONE, |sums, link| sums.plus(graph, link, payload));
    (!path.is_empty()).then(|| sums.result())
}

/// [`max_base_rtt`] by routes between nodes.
pub(crate) fn max_base_rtt_by_node(routes: &mut NodeRoutes, payload: u32) -> BaseRtt {
    let hosts: Vec<NodeId> = routes.graph().hosts().collect();
    let mut max = Max::default();
    for &dst in &hosts {
        for &src in &hosts {
            if let Some(pair) = base_rtt_by_node(routes, [src, dst], payload) {
                max.take_result(pair);
            }
        }
    }
    max.0.unwrap_or_default()
}

/// [`hpcc_standalone`] as the reference's arithmetic has it: bytes in 32 bits and their time in 64, which wrap around above
/// some 2 GB.
pub(crate) fn reference_standalone(pair: &BaseRtt, bytes: u64, payload: u32) -> u64 {
    let packets = bytes.div_ceil(payload.max(1).into());
    let wire = (bytes + packets * STANDALONE_HEADER) & u64::from(u32::MAX);
    pair.rtt_ns + wire.wrapping_mul(NS_BITS as u64) / pair.min_rate.0.max(1)
}

/// The standalone FCT of the reference in ns, for a flow of `bytes` on a pair with this base RTT, in packets of `payload` bytes.
pub fn hpcc_standalone(pair: &BaseRtt, bytes: u64, payload: u32) -> u64 {
    let packets = u128::from(bytes.div_ceil(payload.max(1).into()));
    let wire = u128::from(bytes) + packets * u128::from(STANDALONE_HEADER);
    let ns = u128::from(pair.rtt_ns) + wire * NS_BITS / u128::from(pair.min_rate.0.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Largest base RTT and largest bandwidth-delay product over all pairs of NICs of different hosts, and their slowest link.
///
/// Works by pairs of switches and, per switch, only the farthest two hosts of each link rate. Switches with hosts that are
/// wired alike (those of a pod) are as far from all others: two searches serve them all.
/// All zero where no two hosts reach each other. Paths longer than 255 links count here although no flow may take them.
pub fn max_base_rtt(routes: &mut Routes, payload: u32) -> BaseRtt {
    let graph = routes.graph().clone();
    let mut max = Max::default();
    let mut edges: BTreeMap<NodeId, Edge> = BTreeMap::new();
    for nic in graph.hosts().flat_map(|host| graph.ports_of(host)).filter(|nic| routes.is_up(nic.link)) {
        let way_in = graph.opposite(nic);
        if graph.is_host(nic.peer) {
            max.take(Sums::NONE.plus(&graph, nic, payload)); // two hosts back to back
            continue;
        }
        let delay = nic.delay.0 + way_in.delay.0;
        let edge = edges.entry(nic.peer).or_default();
        edge.senders.entry(nic.rate).or_default().add(delay, nic.node);
        edge.receivers.entry(way_in.rate).or_default().add(delay, nic.node);
    }
    let mut towards = vec![Sums::NONE; graph.nodes()]; // of each switch, to the destination switch in turn
    for alike in wired_alike(routes, edges.keys().copied()) {
        let mut all = Edge::default();
        for node in &alike {
            max.take_pairs(&edges[node], &edges[node], Sums::NONE, payload);
            all.add_receivers(&edges[node]);
        }
        // The second search says how far the first target itself is from those like it.
        for (second, &target) in alike.iter().take(2).enumerate() {
            towards[target as usize] = Sums::NONE;
            routes.walk(target, &mut |switch, hops| {
                let out = &graph.ports_of(switch)[hops[0] as usize];
                let sums = towards[out.peer as usize].plus(&graph, out, payload);
                towards[switch as usize] = sums;
                let Some(senders) = edges.get(&switch) else { return };
                let one_of_them = alike.binary_search(&switch).is_ok();
                if one_of_them && (second == 0 || switch == alike[0]) {
                    for other in alike.iter().filter(|other| **other != switch) {
                        max.take_pairs(senders, &edges[other], sums, payload);
                    }
                } else if !one_of_them && second == 0 {
                    max.take_pairs(senders, &all, sums, payload);
                }
            });
        }
    }
    max.0.unwrap_or_default()
}

/// The switches grouped by their links to other switches: the same neighbours at the same rates and delays. Shortest
/// paths from elsewhere to switches of one group differ in their last link only, and that is alike. Switches with
/// parallel links stay alone: theirs may differ.
fn wired_alike(routes: &Routes, switches: impl Iterator<Item = NodeId>) -> Vec<Vec<NodeId>> {
    let graph = routes.graph();
    let mut groups: BTreeMap<Vec<[u64; 5]>, Vec<NodeId>> = BTreeMap::new();
    let mut alone = Vec::new();
    for node in switches {
        let fabric = graph.ports_of(node).iter().filter(|p| routes.is_up(p.link) && !graph.is_host(p.peer));
        let mut links: Vec<[u64; 5]> = fabric
            .map(|p| {
                let back = graph.opposite(p);
                [u64::from(p.peer), p.rate.0, p.delay.0, back.rate.0, back.delay.0]
            })
            .collect();
        links.sort_unstable();
        if links.windows(2).any(|w| w[0][0] == w[1][0]) {
            alone.push(vec![node]);
        } else {
            groups.entry(links).or_default().push(node);
        }
    }
    alone.extend(groups.into_values());
    alone
}

/// Hosts on one switch, by the rate of their link in either direction.
#[derive(Default)]
struct Edge {
    senders: BTreeMap<BitsPerSec, Farthest>,
    receivers: BTreeMap<BitsPerSec, Farthest>,
}

impl Edge {
    fn add_receivers(&mut self, other: &Edge) {
        for (rate, hosts) in &other.receivers {
            let all = self.receivers.entry(*rate).or_default();
            hosts.0.iter().flatten().for_each(|(delay, host)| all.add(*delay, *host));
        }
    }
}

/// The two farthest hosts: the second is needed where a host would be paired with itself.
#[derive(Clone, Copy, Default)]
struct Farthest([Option<(u64, NodeId)>; 2]);

impl Farthest {
    fn add(&mut self, delay: u64, host: NodeId) {
        let new = (delay, host);
        match self.0 {
            [None, _] => self.0[0] = Some(new),
            [Some(first), _] if first.1 == host => self.0[0] = Some(first.max(new)),
            [Some(first), _] if new.0 > first.0 => self.0 = [Some(new), Some(first)],
            [Some(_), Some(second)] if new.0 <= second.0 => {}
            [Some(_), _] => self.0[1] = Some(new),
        }
    }

    /// Largest sum of delays of two different hosts.
    fn farthest_pair(&self, other: &Farthest) -> Option<u64> {
        let pairs = self.0.iter().flatten().flat_map(|a| other.0.iter().flatten().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a.1 != b.1).map(|(a, b)| a.0 + b.0).max()
    }
}

#[derive(Default)]
struct Max(Option<BaseRtt>);

impl Max {
    fn take(&mut self, sums: Sums) {
        self.take_result(sums.result());
    }

    fn take_result(&mut self, new: BaseRtt) {
        let old = self.0.unwrap_or(new);
        self.0 = Some(BaseRtt {
            rtt_ns: old.rtt_ns.max(new.rtt_ns),
            bdp: old.bdp.max(new.bdp),
            min_rate: old.min_rate.min(new.min_rate),
            links: old.links.max(new.links),
        });
    }

    fn take_pairs(&mut self, from: &Edge, to: &Edge, between: Sums, payload: u32) {
        for (&up, senders) in &from.senders {
            for (&down, receivers) in &to.receivers {
                if let Some(delay) = senders.farthest_pair(receivers) {
                    self.take(Sums {
                        delay: between.delay.saturating_add(delay),
                        tx_ns: between.tx_ns.saturating_add(tx_ns(payload, up)).saturating_add(tx_ns(payload, down)),
                        min_rate: between.min_rate.min(up).min(down),
                        links: between.links + 2,
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
