//! Saturation trees: how far pauses have spread upstream from the ports where congestion began.
//!
//! A paused link is a port and class that a switch pauses, as by that switch's own books, be the pause frame still on its way. It
//! waits for the egress ports of that switch at which packets stand that came over it. An egress port that is not paused itself is
//! the root of a tree; a link that waits for it has depth 1, a link that waits for a paused link is one deeper. The links of a
//! cycle wait for each other: the depth of each is their number.

use std::collections::{BTreeMap, BTreeSet};

use super::Net;
use crate::packet::NONE;

/// A class of an egress port (global index), at which packets wait because it is paused. It waits for another one if packets that it
/// sent stand there: the pause ends only when enough of them have left.
pub type PausedQueue = (u32, u8);

/// Where the packets of a class that wait at an egress port came in, and the far ends of the wires they came by; all by global
/// index, each once.
pub(crate) fn senders(net: &Net, port: u32, class: u8) -> impl Iterator<Item = (u32, u32)> {
    let node = net.ports[port as usize].node;
    let first = net.first[node as usize];
    // A bit for each port of the switch: queues may be long, and samples ask often.
    let mut entries = vec![0u64; net.graph.ports_of(node).len().div_ceil(64)];
    let mut packet = net.ports[port as usize].head(class);
    while packet != NONE {
        let p = &net.arena[packet];
        if let Some(word) = entries.get_mut(usize::from(p.in_port / 64)) {
            *word |= 1 << (p.in_port % 64);
        }
        packet = p.next;
    }
    let came_in = move |entry: &u32| entries[(entry / 64) as usize] & 1 << (entry % 64) != 0;
    let ports = net.graph.ports_of(node).len() as u32;
    (0..ports).filter(came_in).map(move |entry| {
        let wire = &net.ports[(first + entry) as usize];
        (first + entry, wire.peer_base + u32::from(wire.peer_port))
    })
}

/// A paused link waits for an egress port, both in this class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wait {
    class: u8,
    link: u32,
    at: u32,
}

/// The paused links of a network, or of one part, and what they wait for.
pub fn paused_links(net: &Net) -> Vec<Wait> {
    let mut waits = Vec::new();
    if !net.buffers.lossless() {
        return waits;
    }
    for (number, port) in (0..).zip(&net.ports) {
        let node = net.ports[number as usize].node;
        if port.waiting == 0 || net.ports[number as usize].nic != NONE || !net.buffers.pauses_any(node) {
            continue;
        }
        for class in (0..8u8).filter(|class| port.waiting & 1 << class != 0) {
            let paused = senders(net, number, class).filter(|(ingress, _)| net.buffers.pauses(*ingress, class));
            waits.extend(paused.map(|(_, link)| Wait { class, link, at: number }));
        }
    }
    waits
}

/// How far pauses have spread at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Spread {
    /// Paused links, a link counted once for each of its classes.
    pub links: u32,
    /// Hosts on a paused link.
    pub hosts: u32,
    /// Ports, and cycles, at which trees begin.
    pub trees: u32,
    /// Longest chain of paused links.
    pub depth: u32,
    /// Where it begins, port (global index) and class, and the hosts on paused links of that tree; `None` without pauses.
    pub root: Option<(PausedQueue, u32)>,
    /// Paused links wait for each other.
    pub cycle: bool,
}

/// Works out how far pauses have spread. `hosts`: the host at the beginning of a link, where there is one.
pub fn spread(waits: &[Wait], host: impl Fn(u32) -> Option<u32>) -> Spread {
    let mut downstream: BTreeMap<PausedQueue, BTreeSet<PausedQueue>> = BTreeMap::new();
    let mut upstream: BTreeMap<PausedQueue, BTreeSet<PausedQueue>> = BTreeMap::new();
    for w in waits {
        downstream.entry((w.link, w.class)).or_default().insert((w.at, w.class));
        upstream.entry((w.at, w.class)).or_default().insert((w.link, w.class));
    }
    let none = BTreeSet::new();
    let behind = |at: &PausedQueue| upstream.get(at).unwrap_or(&none);
    let roots: Vec<PausedQueue> = upstream.keys().filter(|at| !downstream.contains_key(at)).copied().collect();
    // By paused link: those it waits for that have no depth yet.
    let mut open: BTreeMap<PausedQueue, usize> =
        downstream.iter().map(|(link, for_whom)| (*link, for_whom.len())).collect();
    let mut depth: BTreeMap<PausedQueue, u32> = roots.iter().map(|root| (*root, 0)).collect();
    let mut deepest_of: BTreeMap<PausedQueue, PausedQueue> = roots.iter().map(|root| (*root, *root)).collect();
    let mut ready = roots.clone();
    let mut trees = roots.len() as u32;
    let mut cycle = false;
    while !open.is_empty() || !ready.is_empty() {
        while let Some(at) = ready.pop() {
            let (below, root) = (depth[&at], deepest_of[&at]);
            for link in behind(&at) {
                let Some(left) = open.get_mut(link) else { continue };
                let known = depth.entry(*link).or_default();
                // Of equally deep trees the one whose root comes first.
                let better = below + 1 > *known || (below + 1 == *known && root < deepest_of[link]);
                if better {
                    *known = below + 1;
                    deepest_of.insert(*link, root);
                }
                *left -= 1;
                if *left == 0 {
                    open.remove(link);
                    ready.push(*link);
                }
            }
        }
        // What is left waits for a cycle, or is one: those that nobody of the rest waits for are not part of it.
        let mut core: BTreeSet<PausedQueue> = open.keys().copied().collect();
        loop {
            let before = core.len();
            let waited_for = |at: &PausedQueue| behind(at).iter().any(|link| core.contains(link));
            core = core.iter().filter(|at| waited_for(at)).copied().collect();
            if core.len() == before {
                break;
            }
        }
        let Some(first) = core.first().copied() else { break };
        (cycle, trees) = (true, trees + 1);
        for link in &core {
            open.remove(link);
            let known = depth.entry(*link).or_default();
            if core.len() as u32 > *known {
                *known = core.len() as u32;
                deepest_of.insert(*link, first);
            }
        }
        ready.extend(&core);
    }
    let of_links = depth.iter().filter(|(link, _)| downstream.contains_key(link));
    let deepest = of_links.map(|(link, depth)| (std::cmp::Reverse(*depth), deepest_of[link])).min();
    let hosts = |links: &mut dyn Iterator<Item = PausedQueue>| {
        links.filter_map(|(link, _)| host(link)).collect::<BTreeSet<u32>>().len() as u32
    };
    let root = deepest.map(|(_, root)| {
        let (mut seen, mut next) = (BTreeSet::from([root]), vec![root]);
        while let Some(at) = next.pop() {
            next.extend(behind(&at).iter().filter(|link| seen.insert(**link)));
        }
        (root, hosts(&mut seen.into_iter().filter(|link| downstream.contains_key(link))))
    });
    Spread {
        links: downstream.len() as u32,
        hosts: hosts(&mut downstream.keys().copied()),
        trees,
        depth: deepest.map_or(0, |(depth, _)| depth.0),
        root,
        cycle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(waits: &[(u32, u32)]) -> Spread {
        let waits: Vec<_> = waits.iter().map(|(link, at)| Wait { class: 3, link: *link, at: *at }).collect();
        // Links below 10 are those of hosts.
        spread(&waits, |link| (link < 10).then_some(link))
    }

    #[test]
    fn small_networks() {
        assert_eq!(of(&[]), Spread::default());
        let one = of(&[(0, 90), (1, 90)]);
        assert_eq!((one.links, one.hosts, one.trees, one.depth, one.root), (2, 2, 1, 1, Some(((90, 3), 2))));
        // Hosts 0 and 1 behind link 20, host 2 beside it, and a second tree at port 91.
        let two = of(&[(20, 90), (0, 20), (1, 20), (2, 90), (3, 91)]);
        assert_eq!((two.links, two.hosts, two.trees, two.depth, two.root), (5, 4, 2, 2, Some(((90, 3), 3))));
        // A ring of three, two hosts before it.
        let ring = of(&[(20, 21), (21, 22), (22, 20), (0, 20), (1, 22), (2, 90)]);
        assert_eq!((ring.trees, ring.depth, ring.cycle, ring.root), (2, 4, true, Some(((20, 3), 2))));
    }

    proptest! {
        /// The depth is the longest chain where there is no cycle; a cycle is found exactly where the search for one finds it.
        #[test]
        fn any_network(waits in prop::collection::vec((0u32..14, 0u32..14), 0..30), up: bool) {
            let waits: Vec<_> = waits.into_iter().filter(|(a, b)| !up || a > b).collect();
            let found = of(&waits);
            let queues: Vec<_> = waits.iter().map(|(a, b)| ((*a, 3), (*b, 3))).collect();
            prop_assert_eq!(found.cycle, crate::diagnosis::find_cycle::<PausedQueue>(&queues).is_some());
            if !found.cycle {
                let mut longest = [0u32; 14];
                for _ in 0..14 {
                    for (link, at) in &waits {
                        longest[*link as usize] = longest[*link as usize].max(longest[*at as usize] + 1);
                    }
                }
                prop_assert_eq!(found.depth, longest.into_iter().max().unwrap_or(0));
            }
            let links: BTreeSet<_> = waits.iter().map(|w| w.0).collect();
            prop_assert_eq!(found.links as usize, links.len());
        }
    }
}
