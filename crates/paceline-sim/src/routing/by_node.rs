//! Routes between nodes, as the HPCC reference simulator has them: of several links between two nodes only the last of the
//! topology file carries anything, a host has one address whatever its NICs, and either end of a flow chooses the NIC it
//! sends from by a hash, as switches choose their next hop. The other end of a packet's last link is its receiver's NIC.
//!
//! Where every host has one NIC and no two nodes have two links, this is what [`super::Routes`] finds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{MAX_LINKS_OF_PATH, Tuple};
use crate::InputError;
use crate::graph::{Graph, NodeId, PortInfo, PortNo};

/// Seed of the hash by which hosts choose NICs: the one of ns-3's hash functions.
const HOST_SEED: u32 = 0x8bad_f00d;

/// Next hops by node towards a host, in the order they are numbered for hashes.
type Table = Vec<Vec<PortNo>>;

/// Routes between nodes.
pub(crate) struct NodeRoutes {
    graph: Arc<Graph>,
    /// By link: it carries packets.
    used: Vec<bool>,
    towards: BTreeMap<NodeId, Table>,
}

impl NodeRoutes {
    /// Whether these routes differ from [`super::Routes`].
    pub(crate) fn differ(graph: &Graph) -> bool {
        let several = graph.hosts().any(|host| graph.ports_of(host).len() > 1);
        several || last_links(graph).len() < graph.links()
    }

    /// Routes of `graph` without the links marked in `down`.
    pub(crate) fn new(graph: Arc<Graph>, down: &[bool]) -> Self {
        let last = last_links(&graph);
        let used = (0..graph.links()).map(|link| last.contains(&(link as u32)) && !down[link]).collect();
        Self { graph, used, towards: BTreeMap::new() }
    }

    fn table(&mut self, host: NodeId) -> &Table {
        let (graph, used) = (&self.graph, &self.used);
        self.towards.entry(host).or_insert_with(|| search(graph, used, host))
    }

    /// Ports of a node on shortest paths to a host.
    pub(crate) fn next_hops(&mut self, at: NodeId, host: NodeId) -> &[PortNo] {
        &self.table(host)[at as usize]
    }

    /// The port that a node chooses for packets of a tuple to a host.
    pub(crate) fn choose(&mut self, at: NodeId, host: NodeId, tuple: &Tuple) -> Option<PortNo> {
        let seed = if self.graph.is_host(at) { HOST_SEED } else { at };
        let hops = self.next_hops(at, host);
        let count = u32::try_from(hops.len()).ok().filter(|count| *count > 0)?;
        Some(hops[(tuple.hash(seed) % count) as usize])
    }

    /// Egress ports of the packets of a tuple, from the NIC of `src` on, into `out` (cleared first).
    ///
    /// # Errors
    /// No path, or one of more than 255 links.
    pub(crate) fn path(
        &mut self,
        [src, dst]: [NodeId; 2],
        tuple: &Tuple,
        out: &mut Vec<PortNo>,
    ) -> Result<(), InputError> {
        out.clear();
        let mut at = src;
        while at != dst {
            let port = self.choose(at, dst, tuple).filter(|_| out.len() < MAX_LINKS_OF_PATH);
            let port = port.ok_or_else(|| no_path([src, dst]))?;
            out.push(port);
            at = self.graph.ports_of(at)[usize::from(port)].peer;
        }
        Ok(())
    }

    /// Links of the path from `src` to `dst` that takes the first next hop everywhere; none where there is no path.
    pub(crate) fn first_path(&mut self, [src, dst]: [NodeId; 2]) -> Vec<PortInfo> {
        let mut links = Vec::new();
        let mut at = src;
        while at != dst {
            let Some(&port) = self.next_hops(at, dst).first() else { return Vec::new() };
            let link = self.graph.ports_of(at)[usize::from(port)];
            links.push(link);
            at = link.peer;
        }
        links
    }

    /// The network.
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }
}

/// Of each two nodes that are linked the last link.
fn last_links(graph: &Graph) -> BTreeSet<u32> {
    let mut last = BTreeMap::new();
    for port in &graph.ports {
        let link = last.entry((port.node, port.peer)).or_insert(port.link);
        *link = port.link.max(*link);
    }
    last.into_values().collect()
}

/// Breadth-first from a host; neighbours in descending order.
fn search(graph: &Graph, used: &[bool], host: NodeId) -> Table {
    let mut hops: Table = vec![Vec::new(); graph.nodes()];
    let mut distance = vec![u32::MAX; graph.nodes()];
    distance[host as usize] = 0;
    let mut found = vec![host];
    let mut looked = 0;
    while let Some(&now) = found.get(looked) {
        looked += 1;
        let next = distance[now as usize] + 1;
        let mut ports: Vec<&PortInfo> = graph.ports_of(now).iter().filter(|p| used[p.link as usize]).collect();
        ports.sort_by_key(|p| Reverse(p.peer));
        for port in ports {
            let peer = port.peer as usize;
            if distance[peer] == u32::MAX {
                distance[peer] = next;
                if !graph.is_host(port.peer) {
                    found.push(port.peer);
                }
            }
            if distance[peer] == next {
                hops[peer].push(port.peer_port);
            }
        }
    }
    hops
}

fn no_path([src, dst]: [NodeId; 2]) -> InputError {
    let error = InputError::new("no path, or one of more than 255 links").field("path");
    error.value(format!("host {src} to host {dst}"))
}
