//! Which NICs of two hosts reach each other, and which of them a flow uses.

use super::config::NicChoice;
use super::tables::NONE;
use crate::graph::{Graph, NodeId, PortNo};
use crate::routing::Address;

/// The plane of every NIC: two NICs reach each other over switches when theirs is the same.
pub(super) struct Planes {
    /// By port of the graph: the plane's number; [`NONE`] for ports of switches and for NICs whose link is out.
    of_port: Vec<u32>,
    /// All NICs are in one plane.
    single: bool,
    /// Which NICs that reach each other flows use.
    pub(super) nics: NicChoice,
}

impl Planes {
    /// Planes of `graph` without the links marked in `down`.
    pub(super) fn new(graph: &Graph, down: &[bool], nics: NicChoice) -> Self {
        let mut plane = vec![NONE; graph.nodes()];
        let mut stack = Vec::new();
        for start in (0..graph.nodes() as NodeId).filter(|&n| !graph.is_host(n)) {
            if plane[start as usize] != NONE {
                continue;
            }
            plane[start as usize] = start;
            stack.push(start);
            while let Some(at) = stack.pop() {
                for port in graph.ports_of(at).iter().filter(|p| !graph.is_host(p.peer) && !down[p.link as usize]) {
                    if plane[port.peer as usize] == NONE {
                        plane[port.peer as usize] = start;
                        stack.push(port.peer);
                    }
                }
            }
        }
        // A link between two hosts is a plane of its own: numbers above those of all nodes.
        let own = |link: u32| graph.nodes() as u32 + link;
        let of_port: Vec<u32> = graph
            .ports
            .iter()
            .map(|p| match (graph.is_host(p.node), graph.is_host(p.peer)) {
                (false, _) => NONE,
                _ if down[p.link as usize] => NONE,
                (true, false) => plane[p.peer as usize],
                (true, true) => own(p.link),
            })
            .collect();
        let mut planes =
            graph.ports.iter().zip(&of_port).filter(|(p, _)| graph.is_host(p.node)).map(|(_, plane)| *plane);
        let first = planes.next().unwrap_or(NONE);
        let single = first != NONE && planes.all(|plane| plane == first);
        Self { of_port, single, nics }
    }

    /// The planes of a host's NICs, in port order.
    pub(super) fn of_host(&self, graph: &Graph, host: NodeId) -> &[u32] {
        &self.of_port[graph.first[host as usize] as usize..graph.first[host as usize + 1] as usize]
    }

    /// The NICs of a flow: `src`'s is number `draws[0]` of those that reach `dst`, `dst`'s is number `draws[1]` of those that
    /// this one reaches, each modulo their count. The first NICs where none reach each other. With [`NicChoice::Nearest`] the same among
    /// the nearest, where there are any.
    pub(super) fn choose(&self, graph: &Graph, src: NodeId, dst: NodeId, draws: [u64; 2]) -> (Address, Address) {
        if let (NicChoice::Nearest, Some(nics)) = (self.nics, self.at_one_switch(graph, src, dst, draws)) {
            return nics;
        }
        let (from, to) = (self.of_host(graph, src), self.of_host(graph, dst));
        let nth = |planes: &[u32], draw: u64, good: &dyn Fn(u32) -> bool| -> usize {
            if self.single {
                return (draw % planes.len() as u64) as usize;
            }
            let count = planes.iter().filter(|p| good(**p)).count() as u64;
            let number = if count == 0 { 0 } else { (draw % count) as usize };
            planes.iter().enumerate().filter(|(_, p)| good(**p)).nth(number).map_or(0, |(i, _)| i)
        };
        let a = nth(from, draws[0], &|plane| plane != NONE && to.contains(&plane));
        let b = nth(to, draws[1], &|plane| plane == from[a]);
        (Address { host: src, nic: a as PortNo }, Address { host: dst, nic: b as PortNo })
    }

    /// The NICs of a flow among the fastest pairs at one switch, of which there may be none: a pair is as fast as its slower NIC.
    fn at_one_switch(&self, graph: &Graph, src: NodeId, dst: NodeId, draws: [u64; 2]) -> Option<(Address, Address)> {
        let [from, to] = [src, dst].map(|host| self.of_host(graph, host));
        let [mine, theirs] = [src, dst].map(|host| graph.ports_of(host));
        let rate = |a: usize, b: usize| {
            let is_pair = mine[a].peer == theirs[b].peer && from[a] != NONE && from[a] == to[b];
            is_pair.then(|| mine[a].rate.0.min(theirs[b].rate.0))
        };
        let fastest_of = |a: usize| (0..to.len()).filter_map(|b| rate(a, b)).max();
        let best = (0..from.len()).filter_map(fastest_of).max()?;
        let nth = |mut good: Vec<usize>, draw: u64| good.swap_remove((draw % good.len() as u64) as usize);
        let a = nth((0..from.len()).filter(|a| fastest_of(*a) == Some(best)).collect(), draws[0]);
        let b = nth((0..to.len()).filter(|b| rate(a, *b) == Some(best)).collect(), draws[1]);
        Some((Address { host: src, nic: a as PortNo }, Address { host: dst, nic: b as PortNo }))
    }
}
