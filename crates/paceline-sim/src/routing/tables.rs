//! Breadth-first search over the switches and the compact tables made from it.

use std::collections::BTreeMap;

use super::config::NextHopOrder;
use crate::graph::{Graph, NodeId, PortInfo, PortNo};

/// Dense number of nodes that are no switch.
pub(super) const NONE: u32 = u32::MAX;

/// A link from one switch to the next, as the search uses it: away from the destination.
#[derive(Clone, Copy)]
struct Edge {
    /// Dense number of the switch reached.
    to: u32,
    /// That switch's port back.
    back: PortNo,
}

/// What a port is linked to, if that is a switch and the link is up.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// Dense number of the switch; [`NONE`] where it is a host, or out of reach.
    pub(super) to: u32,
    /// That switch's port back.
    pub(super) back: PortNo,
}

/// The switches and the links among them that are up.
pub(super) struct Fabric {
    order: NextHopOrder,
    /// Node id of each switch, by dense number.
    pub(super) switches: Vec<NodeId>,
    /// Dense number of each node, [`NONE`] for hosts.
    pub(super) dense: Vec<u32>,
    /// By port of the network. What paths are walked by has to be small: they are looked up for each sprayed packet.
    ends: Vec<End>,
    /// First of its ports, by dense number.
    first_port: Vec<u32>,
    /// Edges of switch `s` are `edges[first[s]..first[s + 1]]`, in the order in which the search follows them.
    first: Vec<u32>,
    edges: Vec<Edge>,
    search: Search,
}

/// What the last search found; kept to reuse the memory.
#[derive(Default)]
struct Search {
    distance: Vec<u32>,
    /// Switches in the order of their discovery, the destination first.
    found: Vec<u32>,
    /// Next hops of switch `s`: `ports[first[s]..][..count[s]]`, as there are never more than edges.
    count: Vec<u32>,
    ports: Vec<PortNo>,
}

impl Fabric {
    /// Collects the switches of `graph` and their links, leaving out those marked in `down`.
    pub(super) fn new(graph: &Graph, order: NextHopOrder, down: &[bool]) -> Self {
        let mut dense = vec![NONE; graph.nodes()];
        let mut switches = Vec::new();
        for node in (0..graph.nodes() as NodeId).filter(|&n| !graph.is_host(n)) {
            dense[node as usize] = switches.len() as u32;
            switches.push(node);
        }
        let mut first = vec![0];
        let mut edges = Vec::new();
        let mut ports: Vec<&PortInfo> = Vec::new();
        for &node in &switches {
            ports.clear();
            ports.extend(graph.ports_of(node).iter().filter(|p| !down[p.link as usize] && !graph.is_host(p.peer)));
            if order == NextHopOrder::DescendingId {
                ports.sort_by_key(|p| (std::cmp::Reverse(p.peer), p.peer_port));
            }
            edges.extend(ports.iter().map(|p| Edge { to: dense[p.peer as usize], back: p.peer_port }));
            first.push(edges.len() as u32);
        }
        let search = Search { ports: vec![0; edges.len()], ..Search::default() };
        let to = |p: &PortInfo| if down[p.link as usize] { NONE } else { dense[p.peer as usize] };
        let ends = graph.ports.iter().map(|p| End { to: to(p), back: p.peer_port }).collect();
        let first_port = switches.iter().map(|&node| graph.first[node as usize]).collect();
        Self { order, switches, dense, ends, first_port, first, edges, search }
    }

    /// What a port (of the network) is linked to.
    #[inline(always)]
    pub(super) fn end(&self, port: usize) -> End {
        self.ends[port]
    }

    /// The switch (dense) behind a port of another.
    #[inline(always)]
    pub(super) fn behind(&self, switch: u32, port: PortNo) -> u32 {
        self.ends[self.first_port[switch as usize] as usize + usize::from(port)].to
    }

    /// Searches from switch `target` (dense) and leaves every switch's next hops towards it, ordered, in the scratch space.
    pub(super) fn search(&mut self, target: u32) {
        let Search { distance, found, count, ports } = &mut self.search;
        distance.clear();
        distance.resize(self.switches.len(), NONE);
        count.clear();
        count.resize(self.switches.len(), 0);
        found.clear();
        found.push(target);
        distance[target as usize] = 0;
        let mut at = 0;
        while let Some(&now) = found.get(at) {
            at += 1;
            let next = distance[now as usize] + 1;
            let edges = self.first[now as usize] as usize..self.first[now as usize + 1] as usize;
            for edge in &self.edges[edges] {
                let to = edge.to as usize;
                if distance[to] == NONE {
                    distance[to] = next;
                    found.push(edge.to);
                }
                if distance[to] == next {
                    ports[(self.first[to] + count[to]) as usize] = edge.back;
                    count[to] += 1;
                }
            }
        }
        if self.order == NextHopOrder::Port {
            for &s in &self.search.found {
                let from = self.first[s as usize] as usize;
                self.search.ports[from..from + self.search.count[s as usize] as usize].sort_unstable();
            }
        }
    }

    /// Neighbours of a switch (dense), ascending, each with its port back to it.
    fn neighbours(&self, switch: u32) -> Vec<(u32, PortNo)> {
        let edges = self.first[switch as usize] as usize..self.first[switch as usize + 1] as usize;
        let mut found: Vec<(u32, PortNo)> = self.edges[edges].iter().map(|e| (e.to, e.back)).collect();
        found.sort_unstable();
        found
    }

    /// Next hops of a switch (dense) towards the target of the last search: none at the target and where there is no path.
    pub(super) fn next_hops(&self, switch: u32) -> &[PortNo] {
        let from = self.first[switch as usize] as usize;
        &self.search.ports[from..from + self.search.count[switch as usize] as usize]
    }

    /// Links between switches, each counted from both ends.
    pub(super) fn links(&self) -> usize {
        self.edges.len()
    }

    /// The switches the last search found, the target first, each nearer one before the farther ones.
    pub(super) fn found(&self) -> &[u32] {
        &self.search.found
    }
}

/// Set in a table's entry: not a list's number but the place of this switch among the target's neighbours.
const ADJACENT: u32 = 1 << 31;

/// Next hops of every switch towards targets, filled in as targets are first asked for.
///
/// Switches with the same neighbours, such as those at the edge of a pod, are told apart by their neighbours alone: they
/// share a table. A neighbour's one hop is the link, which each target knows by itself.
pub(super) struct Tables {
    groups: Vec<Group>,
    /// Group of each switch, by dense number; empty until the first question.
    group_of: Vec<u32>,
    /// Per target the port of each of its neighbours back to it, in ascending order of the neighbours.
    back: Vec<Option<Box<[PortNo]>>>,
    /// Each switch's list in the table before: mostly the same again.
    last: Vec<u32>,
}

/// Switches with the same neighbours, by one link each; or one by itself.
struct Group {
    first: u32,
    second: Option<u32>,
    /// By dense number of the switch asked: a list's number or, with [`ADJACENT`], a neighbour's place.
    table: Option<Box<[u32]>>,
}

impl Tables {
    pub(super) fn new() -> Self {
        Self { groups: Vec::new(), group_of: Vec::new(), back: Vec::new(), last: Vec::new() }
    }

    /// Groups the switches.
    fn group(&mut self, fabric: &Fabric) {
        let switches = fabric.switches.len();
        let mut known: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        self.back = vec![None; switches];
        self.last = vec![0; switches];
        for switch in 0..switches as u32 {
            let neighbours: Vec<u32> = fabric.neighbours(switch).iter().map(|n| n.0).collect();
            let alone = neighbours.is_empty() || neighbours.windows(2).any(|n| n[0] == n[1]);
            let next = self.groups.len() as u32;
            let group = if alone { next } else { *known.entry(neighbours).or_insert(next) };
            if group == next {
                self.groups.push(Group { first: switch, second: None, table: None });
            } else {
                self.groups[group as usize].second.get_or_insert(switch);
            }
            self.group_of.push(group);
        }
    }

    /// What switches know of the way to `target` (dense).
    #[inline]
    pub(super) fn towards<'a>(&'a mut self, target: u32, fabric: &mut Fabric, lists: &'a mut Lists) -> Towards<'a> {
        if self.back.get(target as usize).is_none_or(Option::is_none) {
            self.fill(target, fabric, lists);
        }
        let table = self.groups[self.group_of[target as usize] as usize].table.as_deref().unwrap_or_default();
        let back = self.back[target as usize].as_deref().unwrap_or_default();
        Towards { target, table, back, lists }
    }

    #[cold]
    fn fill(&mut self, target: u32, fabric: &mut Fabric, lists: &mut Lists) {
        if self.group_of.is_empty() {
            self.group(fabric);
        }
        self.back[target as usize] = Some(fabric.neighbours(target).iter().map(|n| n.1).collect());
        let group = &mut self.groups[self.group_of[target as usize] as usize];
        if group.table.is_some() {
            return;
        }
        fabric.search(group.first);
        for (s, last) in self.last.iter_mut().enumerate() {
            *last = lists.number(fabric.next_hops(s as u32), *last);
        }
        let mut table = self.last.clone().into_boxed_slice();
        if let Some(second) = group.second {
            let neighbours = fabric.neighbours(group.first);
            for (place, (neighbour, _)) in neighbours.iter().enumerate() {
                table[*neighbour as usize] = ADJACENT | place as u32;
            }
            // What the first one's own way to those like it is, the search from it does not say.
            fabric.search(second);
            table[group.first as usize] = lists.number(fabric.next_hops(group.first), 0);
        }
        group.table = Some(table);
    }

    /// Bytes held, roughly.
    pub(super) fn heap_bytes(&self) -> usize {
        let tables: usize = self.groups.iter().flat_map(|g| &g.table).map(|t| t.len() * 4).sum();
        let back: usize = self.back.iter().flatten().map(|b| b.len() * 2 + 16).sum();
        tables + back + self.groups.len() * size_of::<Group>()
    }
}

/// The next hops of all switches towards one target.
pub(super) struct Towards<'a> {
    target: u32,
    table: &'a [u32],
    /// As in [`Tables`].
    back: &'a [PortNo],
    lists: &'a Lists,
}

impl<'a> Towards<'a> {
    /// Those of switch `at` (dense): none at the target and where there is no path.
    #[inline(always)]
    pub(super) fn next_hops(&self, at: u32) -> &'a [PortNo] {
        if at == self.target {
            return &[];
        }
        let entry = self.table.get(at as usize).copied().unwrap_or(0);
        if entry & ADJACENT == 0 {
            return self.lists.get(entry);
        }
        let place = (entry & !ADJACENT) as usize;
        self.back.get(place..=place).unwrap_or_default()
    }
}

/// Next-hop lists, each different one stored once.
///
/// In a tree a switch has very few of them (one per downlink, and "any uplink"), so a table of list numbers per destination is an order of
/// magnitude smaller than the lists themselves.
pub(super) struct Lists {
    numbers: BTreeMap<Box<[PortNo]>, u32>,
    /// List `i` is `ports[starts[i]..starts[i + 1]]`; list 0 is empty.
    starts: Vec<usize>,
    ports: Vec<PortNo>,
}

impl Lists {
    pub(super) fn new() -> Self {
        Self { numbers: BTreeMap::from([(Box::default(), 0)]), starts: vec![0, 0], ports: Vec::new() }
    }

    /// Whether any list has more than one port.
    pub(super) fn has_choice(&self) -> bool {
        self.starts.windows(2).any(|w| w[1] - w[0] > 1)
    }

    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> &[PortNo] {
        &self.ports[self.starts[number as usize]..self.starts[number as usize + 1]]
    }

    /// Number of the list with this content; `guess` is tried first.
    pub(super) fn number(&mut self, list: &[PortNo], guess: u32) -> u32 {
        if self.get(guess) == list {
            return guess;
        }
        if let Some(&number) = self.numbers.get(list) {
            return number;
        }
        let number = (self.starts.len() - 1) as u32;
        self.ports.extend_from_slice(list);
        self.starts.push(self.ports.len());
        self.numbers.insert(list.into(), number);
        number
    }

    /// Bytes held, roughly.
    pub(super) fn heap_bytes(&self) -> usize {
        let keys: usize = self.ports.len() * 2 + self.numbers.len() * 24;
        keys + self.ports.capacity() * 2 + self.starts.capacity() * 8
    }
}
