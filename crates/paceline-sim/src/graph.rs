//! The network as the engine sees it: nodes, their ports and what each port is wired to.

use paceline_proto::units::{BitsPerSec, Duration};

/// Index of a node, hosts and switches in one numbering.
pub type NodeId = u32;
/// Port number on a node, from 0 in the order of the links that name the node.
pub type PortNo = u16;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Side {
    /// Line rate.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Duration,
}

/// A full-duplex link; each direction has its own rate and delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// From `a` to `b`.
    pub ab: Side,
    /// From `b` to `a`.
    pub ba: Side,
    /// Probability that a packet is lost on the wire, 0 to 1.
    pub error_rate: f64,
}

impl Link {
    /// A link with the same rate and delay both ways and no errors.
    pub fn symmetric(a: NodeId, b: NodeId, rate: BitsPerSec, delay: Duration) -> Self {
        let side = Side { rate, delay };
        Self { a, b, ab: side, ba: side, error_rate: 0.0 }
    }
}

/// Nodes and links as a generator or file gives them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// Kind of every node, by node id.
    pub kinds: Vec<NodeKind>,
    /// Tier of every node: 0 host, 1 top of rack, 2 aggregation, 3 core; names the tiers of load and utilisation.
    pub tiers: Vec<u8>,
    /// Links, in the order that numbers the ports.
    pub links: Vec<Link>,
}

/// An egress port and the wire behind it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortInfo {
    /// Node the port is on.
    pub node: NodeId,
    /// Node at the other end.
    pub peer: NodeId,
    /// Port number at the other end.
    pub peer_port: PortNo,
    /// Rate towards the peer.
    pub rate: BitsPerSec,
    /// Delay towards the peer.
    pub delay: Duration,
    /// Index into [`Topology::links`].
    pub link: u32,
    /// Loss probability on the wire.
    pub error_rate: f64,
}

/// A compiled topology: ports of all nodes in one array, those of a node side by side.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// Kind of every node.
    pub kinds: Vec<NodeKind>,
    /// Tier of every node.
    pub tiers: Vec<u8>,
    /// Ports of node `n` are `ports[first[n]..first[n + 1]]`; length nodes + 1.
    pub first: Vec<u32>,
    /// All ports.
    pub ports: Vec<PortInfo>,
}

impl Graph {
    /// Numbers the ports of `topology` (order of links) and wires them.
    pub fn new(topology: &Topology) -> Self {
        let nodes = topology.kinds.len();
        let mut first = vec![0u32; nodes + 1];
        for link in &topology.links {
            first[link.a as usize + 1] += 1;
            first[link.b as usize + 1] += 1;
        }
        for n in 0..nodes {
            first[n + 1] += first[n];
        }
        let mut next = first.clone();
        let mut ports = vec![None; topology.links.len() * 2];
        for (i, link) in topology.links.iter().enumerate() {
            let pa = next[link.a as usize];
            next[link.a as usize] += 1;
            let pb = next[link.b as usize];
            next[link.b as usize] += 1;
            let half = |node: NodeId, peer: NodeId, peer_port: u32, side: Side| PortInfo {
                node,
                peer,
                peer_port: (peer_port - first[peer as usize]) as PortNo,
                rate: side.rate,
                delay: side.delay,
                link: i as u32,
                error_rate: link.error_rate,
            };
            ports[pa as usize] = Some(half(link.a, link.b, pb, link.ab));
            ports[pb as usize] = Some(half(link.b, link.a, pa, link.ba));
        }
        Self {
            kinds: topology.kinds.clone(),
            tiers: topology.tiers.clone(),
            first,
            ports: ports.into_iter().flatten().collect(),
        }
    }

    /// Rate of the first NIC of the first host, bit/s: what switches call the speed of hosts. 1 without hosts.
    pub fn first_host_rate(&self) -> u64 {
        self.hosts().find_map(|h| self.ports_of(h).first()).map_or(1, |p| p.rate.0)
    }

    /// The port at the other end of a port's link.
    pub fn opposite(&self, port: &PortInfo) -> &PortInfo {
        &self.ports_of(port.peer)[port.peer_port as usize]
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.kinds.len()
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.ports.len() / 2
    }

    /// Ports of a node, in port order.
    pub fn ports_of(&self, node: NodeId) -> &[PortInfo] {
        &self.ports[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// The way back along a path, both as egress ports from the host at either end.
    pub fn mirror(&self, from: NodeId, path: &[PortNo], back: &mut Vec<PortNo>) {
        let mut node = from;
        back.clear();
        for port in path {
            let link = &self.ports_of(node)[usize::from(*port)];
            back.push(link.peer_port);
            node = link.peer;
        }
        back.reverse();
    }

    /// Index of a node's port in [`Graph::ports`].
    pub fn port_index(&self, node: NodeId, port: PortNo) -> usize {
        self.first[node as usize] as usize + port as usize
    }

    /// The hosts, in node order.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.nodes() as NodeId).filter(|&n| self.kinds[n as usize] == NodeKind::Host)
    }

    /// Whether any switch has links to two hosts.
    pub(crate) fn has_hosts_at_one_switch(&self) -> bool {
        let mut switches = (0..self.nodes() as NodeId).filter(|&n| !self.is_host(n));
        switches.any(|switch| {
            let mut hosts = self.ports_of(switch).iter().map(|p| p.peer).filter(|peer| self.is_host(*peer));
            let first = hosts.next();
            hosts.any(|host| Some(host) != first)
        })
    }

    /// Whether a node is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.kinds[node as usize] == NodeKind::Host
    }
}
