//! `[topology]`: hosts, switches and links.

use paceline_proto::units::{BitsPerSec, Duration};

use super::declare::{section, variants};
use super::value::{File, Name};
use crate::graph::Side;
use crate::topology::Level;

section! {
    /// Hosts, switches and links. Node ids: hosts first, from 0, then switches.
    pub struct Topology {
        select {
            /// What the network looks like.
            kind: TopologyKind;
        }
    }
}

variants! {
    /// What the network looks like.
    pub enum TopologyKind by kind, from "Paceline" {
        /// One switch.
        Star(Star) = "star",
        /// Two switches with one link between them.
        Dumbbell(Dumbbell) = "dumbbell",
        /// A chain of switches.
        ParkingLot(ParkingLot) = "parking_lot",
        /// Two tiers, every leaf wired to every spine.
        LeafSpine(LeafSpine) = "leaf_spine",
        /// A k-ary fat-tree.
        FatTree(FatTree) = "fat_tree",
        /// An extended generalised fat-tree.
        Xgft(Xgft) = "xgft",
        /// The HPCC paper's tree.
        HpccFat320(HpccFat320) = "hpcc_fat320",
        /// A topology file.
        File(TopologyFile) = "file",
        /// Nodes and links given here.
        Graph(GraphTopology) = "graph",
    }
}

section! {
    /// All hosts at one switch.
    pub struct Star {
        /// Number of hosts.
        hosts: u32 = 16, in "[2, 65535]", from "Paceline";
        /// Rate of the host links.
        host_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Propagation delay of every link.
        link_delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
    }
}

section! {
    /// Hosts at two switches with one link, the bottleneck, between them.
    pub struct Dumbbell {
        /// Hosts at the first switch.
        left: u32 = 8, in "[1, 65534]", from "Paceline";
        /// Hosts at the second switch.
        right: u32 = 8, in "[1, 65534]", from "Paceline";
        /// Rate of the host links.
        host_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Rate of the link between the switches.
        bottleneck_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "Paceline";
        /// Propagation delay of the host links.
        host_delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
        /// Propagation delay of the link between the switches.
        bottleneck_delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
    }
}

section! {
    /// A chain of switches. Host 0 at the first and host 1 at the last are the long pair; hosts 2 + 2 i at switch i and
    /// 3 + 2 i at switch i + 1 are the cross pair of hop i.
    pub struct ParkingLot {
        /// Links between switches along the chain.
        hops: u32 = 3, in "[1, 253]", from "Paceline";
        /// Rate of the host links.
        host_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Rate of the links between switches.
        chain_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "Paceline";
        /// Propagation delay of the host links.
        host_delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
        /// Propagation delay of the links between switches.
        chain_delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
    }
}

section! {
    /// Leaves (top-of-rack switches) and spines, every leaf linked to every spine.
    pub struct LeafSpine {
        /// Number of leaves.
        leaves: u32 = 4, in "[1, 4096]", from "Paceline";
        /// Number of spines.
        spines: u32 = 2, in "[1, 4096]", from "Paceline";
        /// Hosts at each leaf.
        hosts_per_leaf: u32 = 8, in "[1, 65534]", from "Paceline";
        /// Links between each leaf and each spine.
        links_per_pair: u32 = 1, in "[1, 1024]", from "Paceline";
        /// Rate of the host links.
        host_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Rate of the links between leaves and spines.
        fabric_rate: BitsPerSec = "400Gbps", in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Propagation delay of every link.
        link_delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
    }
}

section! {
    /// A k-ary fat-tree: k pods of k/2 edge and k/2 aggregation switches, k^2/4 core switches.
    pub struct FatTree {
        /// Ports of every switch; even.
        k: u32 = 8, in "[2, 128]", from "Al-Fares et al., SIGCOMM 2008, sec. 3";
        /// Hosts at each edge switch; k/2 when left out, more oversubscribe it.
        hosts_per_edge: Option<u32>, in "[1, 65471]", from "Al-Fares et al., SIGCOMM 2008: k/2";
        /// Rate of the host links.
        host_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Rate of the links between switches.
        fabric_rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "Al-Fares et al., SIGCOMM 2008: one rate everywhere";
        /// Propagation delay of every link.
        link_delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
    }
}

section! {
    /// The extended generalised fat-tree XGFT(h; m1, ..., mh; w1, ..., wh): any tree of h levels of switches. Lists go from the
    /// hosts up.
    pub struct Xgft {
        /// Nodes below a switch (m1, ..., mh), level by level; their product is the number of hosts.
        children: Vec<u32> = [8, 8], in "[1, 65535]", from "Oehring et al., IPPS 1995";
        /// Nodes above a node (w1, ..., wh), level by level: NICs of a host, then uplinks of a switch. Between hosts that meet at
        /// level l there are w1 ... wl shortest paths.
        parents: Vec<u32> = [1, 8], in "[1, 65535]", from "Oehring et al., IPPS 1995";
        /// Rates of the links, level by level; or one for all.
        rates: Vec<BitsPerSec> = ["100Gbps"], in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Propagation delays of the links, level by level; or one for all.
        delays: Vec<Duration> = ["1us"], in "[0s, 1s]", from "HPCC, sec. 5.1";
    }
}

section! {
    /// The tree of the HPCC evaluation as it is: 320 hosts at 100 Gb/s, 20 top-of-rack, 20 aggregation and 16 core
    /// switches, 400 Gb/s between switches, 1 us per link.
    pub struct HpccFat320 {}
}

section! {
    /// A file in the topology format of the HPCC reference simulator, or of SimAI.
    pub struct TopologyFile {
        /// The file.
        file: File, from "HPCC reference simulator, TOPOLOGY_FILE";
    }
}

section! {
    /// Nodes and links by name. Hosts get the ids from 0 in the order given, then the switches; ports are numbered in the
    /// order of the links.
    pub struct GraphTopology {
        /// Names of the hosts.
        hosts: Vec<Name>, from "Paceline";
        /// Names of the switches.
        switches: Vec<Name>, from "Paceline";
        rows {
            /// The links.
            links: GraphLink;
        }
    }
}

section! {
    /// A full-duplex link, from `a` to `b` and back.
    pub struct GraphLink {
        /// Name of the node at one end.
        a: Name, from "Paceline";
        /// Name of the node at the other end.
        b: Name, from "Paceline";
        /// Rate.
        rate: BitsPerSec = "100Gbps", in "[1Mbps, 10Tbps]", from "HPCC, sec. 5.1";
        /// Propagation delay.
        delay: Duration = "1us", in "[0s, 1s]", from "HPCC, sec. 5.1";
        /// Rate from `b` to `a`; `rate` when left out.
        rate_back: Option<BitsPerSec>, in "[1Mbps, 10Tbps]", from "Paceline";
        /// Propagation delay from `b` to `a`; `delay` when left out.
        delay_back: Option<Duration>, in "[0s, 1s]", from "Paceline";
        /// Probability that a packet is lost on the wire, either way; pause frames never are.
        error_rate: f64 = 0.0, in "[0, 1)", from "HPCC reference simulator, ERROR_RATE_PER_LINK";
    }
}

impl GraphLink {
    /// Rate and delay from `a` to `b`, and from `b` to `a`.
    pub fn sides(&self) -> [Side; 2] {
        let there = Side { rate: self.rate, delay: self.delay };
        let back = Side { rate: self.rate_back.unwrap_or(self.rate), delay: self.delay_back.unwrap_or(self.delay) };
        [there, back]
    }
}

/// Equal ports of one kind of switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    /// How many.
    pub count: u32,
    /// Their links, out of the switch.
    pub out: Side,
    /// And into it.
    pub back: Side,
}

impl Ports {
    fn new(count: u32, rate: BitsPerSec, delay: Duration) -> Self {
        let side = Side { rate, delay };
        Self { count, out: side, back: side }
    }
}

impl TopologyKind {
    /// Rate at which hosts send, where the scenario itself says it (of a graph's hosts the slowest).
    pub fn host_rate(&self) -> Option<BitsPerSec> {
        match self {
            TopologyKind::Star(t) => Some(t.host_rate),
            TopologyKind::Dumbbell(t) => Some(t.host_rate),
            TopologyKind::ParkingLot(t) => Some(t.host_rate),
            TopologyKind::LeafSpine(t) => Some(t.host_rate),
            TopologyKind::FatTree(t) => Some(t.host_rate),
            TopologyKind::Xgft(t) => t.rates.first().copied(),
            TopologyKind::HpccFat320(_) => Some(BitsPerSec(100_000_000_000)),
            TopologyKind::File(_) => None,
            TopologyKind::Graph(g) => {
                let hosts: std::collections::BTreeSet<&str> = g.hosts.iter().map(|h| h.0.as_str()).collect();
                let out = |l: &GraphLink| [&l.a, &l.b].map(|end| hosts.contains(end.0.as_str()));
                let ends = g.links.iter().flat_map(|l| out(l).into_iter().zip(l.sides()));
                ends.filter(|(is_host, _)| *is_host).map(|(_, side)| side.rate).min()
            }
        }
    }

    /// Number of hosts, where the scenario itself says it.
    pub fn hosts(&self) -> Option<u64> {
        match self {
            TopologyKind::Star(t) => Some(u64::from(t.hosts)),
            TopologyKind::Dumbbell(t) => Some(u64::from(t.left) + u64::from(t.right)),
            TopologyKind::ParkingLot(t) => Some(2 + 2 * u64::from(t.hops)),
            TopologyKind::LeafSpine(t) => Some(u64::from(t.leaves) * u64::from(t.hosts_per_leaf)),
            TopologyKind::FatTree(t) => Some(u64::from(t.k).pow(2) / 2 * u64::from(t.edge_hosts())),
            TopologyKind::Xgft(t) => Some(t.children.iter().fold(1, |n, m| n.saturating_mul(u64::from(*m)))),
            TopologyKind::HpccFat320(_) => Some(320),
            TopologyKind::File(_) => None,
            TopologyKind::Graph(g) => Some(g.hosts.len() as u64),
        }
    }

    /// The kinds of switch there are, by their ports; empty where that is known only after reading a file.
    pub(crate) fn switches(&self) -> Vec<Vec<Ports>> {
        let us = Duration::from_us(1);
        let (host, fabric) = (BitsPerSec(100_000_000_000), BitsPerSec(400_000_000_000));
        match self {
            TopologyKind::Star(t) => vec![vec![Ports::new(t.hosts, t.host_rate, t.link_delay)]],
            TopologyKind::Dumbbell(t) => {
                let trunk = Ports::new(1, t.bottleneck_rate, t.bottleneck_delay);
                [t.left, t.right].map(|hosts| vec![Ports::new(hosts, t.host_rate, t.host_delay), trunk]).into()
            }
            TopologyKind::ParkingLot(t) => {
                let chain = Ports::new(t.hops.min(2), t.chain_rate, t.chain_delay);
                vec![vec![Ports::new(2, t.host_rate, t.host_delay), chain]]
            }
            TopologyKind::LeafSpine(t) => {
                let fabric =
                    |switches: u32| Ports::new(switches.saturating_mul(t.links_per_pair), t.fabric_rate, t.link_delay);
                let hosts = Ports::new(t.hosts_per_leaf, t.host_rate, t.link_delay);
                vec![vec![hosts, fabric(t.spines)], vec![fabric(t.leaves)]]
            }
            TopologyKind::FatTree(t) => vec![
                vec![
                    Ports::new(t.edge_hosts(), t.host_rate, t.link_delay),
                    Ports::new(t.k / 2, t.fabric_rate, t.link_delay),
                ],
                vec![Ports::new(t.k, t.fabric_rate, t.link_delay)],
            ],
            TopologyKind::Xgft(t) => {
                let levels = t.levels();
                let above = levels.iter().skip(1).map(|l| Some((l.parents, l.wire))).chain([None]);
                let ports = |count, wire: Side| Ports::new(count, wire.rate, wire.delay);
                let both = levels.iter().zip(above);
                both.map(|(l, up)| {
                    let up = up.map(|(parents, wire)| ports(parents, wire));
                    [Some(ports(l.children, l.wire)), up].into_iter().flatten().collect()
                })
                .collect()
            }
            TopologyKind::HpccFat320(_) => {
                let fabric = |count| Ports::new(count, fabric, us);
                vec![vec![Ports::new(16, host, us), fabric(4)], vec![fabric(8)], vec![fabric(5)]]
            }
            TopologyKind::File(_) => Vec::new(),
            TopologyKind::Graph(g) => {
                let mut ports: std::collections::BTreeMap<&str, Vec<Ports>> =
                    g.switches.iter().map(|s| (s.0.as_str(), Vec::new())).collect();
                for link in &g.links {
                    let [there, back] = link.sides();
                    for (end, out, back) in [(&link.a, there, back), (&link.b, back, there)] {
                        if let Some(ports) = ports.get_mut(end.0.as_str()) {
                            ports.push(Ports { count: 1, out, back });
                        }
                    }
                }
                ports.into_values().collect()
            }
        }
    }
}

impl Xgft {
    /// The levels from the hosts up; as many as the shortest list says, where lists of one count for all.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let each = |i: usize| {
            let rate = *self.rates.get(if self.rates.len() == 1 { 0 } else { i })?;
            let delay = *self.delays.get(if self.delays.len() == 1 { 0 } else { i })?;
            let (children, parents) = (*self.children.get(i)?, *self.parents.get(i)?);
            Some(Level { children, parents, wire: Side { rate, delay } })
        };
        (0..self.children.len()).map_while(each).collect()
    }
}

impl FatTree {
    /// Hosts at each edge switch.
    pub fn edge_hosts(&self) -> u32 {
        self.hosts_per_edge.unwrap_or(self.k / 2)
    }
}
