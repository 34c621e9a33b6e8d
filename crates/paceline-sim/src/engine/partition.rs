//! Cutting a network into parts for threads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ahead::SIDES;
use crate::graph::{Graph, NodeId};

/// Most parts: a part's number is eight bits, and goes into a flow's slot.
pub const MOST_PARTS: usize = 64;
/// Tiers told apart when racks are put in order; what is above counts as one.
const MOST_TIERS: u8 = 8;
/// Exchanges of racks or pods between parts.
const MOST_EXCHANGES: usize = 64;
/// Load of the heaviest part over an even share up to which pods stay whole, in percent.
const MOST_UNEVEN: u64 = 106;

/// The part of every node, for at most `parts` parts, and how many there are: no more than racks.
///
/// A host goes with the first switch it hangs on, so that no access link is cut. Racks are put in an order that keeps
/// those of a pod together and are cut where the work is even: between pods if that is
/// even enough, else between racks. A switch above goes where the switches below it are; one that serves several parts
/// alike, such as a core, goes to the emptiest of them. Racks and pods that hang on the same switches are exchanged where that makes
/// parts more even. `work`: of every node (`work`). `clusters` names for every node the first of those that must not be
/// parted; empty where all may be. `sides` are those that are run in turn ([`Windows::sides`]), so that the work of each is to be even.
///
/// [`Windows::sides`]: crate::lookahead::Windows::sides
pub(super) fn partition(
    graph: &Graph,
    parts: usize,
    clusters: &[NodeId],
    sides: &[u8],
    work: &[u64],
) -> (Vec<u8>, usize) {
    let nodes = graph.nodes();
    let mut anchor: Vec<NodeId> = (0..nodes as u32).collect();
    for host in graph.hosts() {
        if let Some(port) = graph.ports_of(host).first() {
            anchor[host as usize] = port.peer.min(if graph.is_host(port.peer) { host } else { port.peer });
        }
    }
    join(graph, clusters, &mut anchor);
    let mut weight = vec![Work::default(); nodes];
    for node in 0..nodes {
        let side = sides.get(node).copied().unwrap_or(0);
        weight[anchor[node] as usize].0[usize::from(side)] += work[node].max(1);
    }
    let anchors = || (0..nodes as u32).filter(|n| anchor[*n as usize] == *n);
    let mut above: Vec<NodeId> = anchors().filter(|n| graph.tiers[*n as usize] > 1).collect();
    above.sort_by_key(|n| (graph.tiers[*n as usize], *n));
    let racks = Racks::new(graph, anchors().filter(|n| graph.tiers[*n as usize] <= 1).collect(), &above, &weight);
    let parts = parts.clamp(1, MOST_PARTS).min(racks.order.len().max(1));
    let mut best = racks.cut(graph, parts, true);
    let mut load = place(graph, &above, &weight, &mut best, parts);
    let uneven = |side: usize| {
        let of_side = || load.iter().map(|work| work.0[side]);
        of_side().max().unwrap_or(0) * 100 * parts as u64 > of_side().sum::<u64>() * MOST_UNEVEN
    };
    if (0..SIDES).any(uneven) || load.iter().any(|work| work.all() == 0) {
        best = racks.cut(graph, parts, false);
        load = place(graph, &above, &weight, &mut best, parts);
    }
    // Parts that got nothing are left out.
    let mut number = Vec::new();
    let mut used = 0;
    for load in &load {
        number.push(used);
        used += u8::from(load.all() > 0);
    }
    let part_of = (0..nodes).map(|n| number[usize::from(best[anchor[n] as usize])]).collect();
    (part_of, usize::from(used).max(1))
}

/// Work of each side.
#[derive(Clone, Copy, Debug, Default)]
struct Work([u64; SIDES]);

impl Work {
    fn all(self) -> u64 {
        self.0.iter().sum()
    }

    fn add(&mut self, other: Work) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// Anchors all nodes of a cluster, and what hangs on them, at one of them: at a rack's switch if there is one.
fn join(graph: &Graph, clusters: &[NodeId], anchor: &mut [NodeId]) {
    // Clusters that share an anchor are one: the lowest name stands for all.
    let mut name: Vec<NodeId> = (0..graph.nodes() as u32).collect();
    for (node, first) in clusters.iter().enumerate() {
        let ends = [anchor[node], anchor[*first as usize]].map(|n| root(&mut name, n));
        // The lower tier goes first, so that what is anchored at a rack stays so.
        let [low, high] =
            if ends.map(|n| (graph.tiers[n as usize], n)).is_sorted() { ends } else { [ends[1], ends[0]] };
        name[high as usize] = low;
    }
    for at in anchor {
        *at = root(&mut name, *at);
    }
}

/// The name that stands for the cluster of `n`.
fn root(name: &mut [NodeId], mut n: NodeId) -> NodeId {
    while name[n as usize] != n {
        name[n as usize] = name[name[n as usize] as usize];
        n = name[n as usize];
    }
    n
}

/// Racks that go to a part together.
struct Piece {
    part: u8,
    /// Places in the order.
    racks: std::ops::Range<usize>,
    /// The same for all that hang on the same switches.
    kind: usize,
    work: u64,
}

/// The switches that a node is linked to.
fn switches_of(graph: &Graph, node: NodeId) -> impl Iterator<Item = NodeId> {
    graph.ports_of(node).iter().map(|p| p.peer).filter(|peer| !graph.is_host(*peer))
}

/// What hosts hang on, in an order in which neighbours are near each other.
struct Racks {
    order: Vec<NodeId>,
    /// The pod of each place: the group that is connected without the highest tier.
    pods: Vec<u32>,
    /// Work of each place, with its share of its pod's switches above.
    work: Vec<u64>,
    /// The pod of every node below the highest tier.
    pod_of: Vec<u32>,
}

impl Racks {
    fn new(graph: &Graph, mut order: Vec<NodeId>, above: &[NodeId], weight: &[Work]) -> Self {
        let highest = highest(graph);
        // From the largest groups to the smallest, then along a walk.
        let groups: Vec<Vec<u32>> = (1..highest).rev().map(|tier| connected(graph, tier)).collect();
        let near = walk(graph, &order);
        order.sort_by_cached_key(|n| {
            let groups = groups.iter().map(|g| g[*n as usize]);
            groups.chain([near[*n as usize]]).collect::<Vec<u32>>()
        });
        let pods: Vec<u32> = order.iter().map(|n| groups[0][*n as usize]).collect();
        let mut shared = vec![0u64; graph.nodes()];
        for node in above.iter().filter(|n| graph.tiers[**n as usize] < highest) {
            shared[groups[0][*node as usize] as usize] += weight[*node as usize].all();
        }
        let mut members = vec![0u64; graph.nodes()];
        for pod in &pods {
            members[*pod as usize] += 1;
        }
        let share = |pod: u32| shared[pod as usize] / members[pod as usize].max(1);
        let work = order.iter().zip(&pods).map(|(n, pod)| weight[*n as usize].all() + share(*pod)).collect();
        let pod_of = groups.into_iter().next().unwrap_or_default();
        Self { order, pods, work, pod_of }
    }

    /// The part of every rack: each goes where its middle falls in the sum of all, whole pods by theirs if asked to.
    fn cut(&self, graph: &Graph, parts: usize, whole: bool) -> Vec<u8> {
        let total: u64 = self.work.iter().sum();
        let mut part_of = vec![0u8; graph.nodes()];
        let (mut before, mut from) = (0, 0);
        while from < self.order.len() {
            let same = |i: &usize| whole && self.pods[*i] == self.pods[from];
            let to = (from + 1..self.order.len()).find(|i| !same(i)).unwrap_or(self.order.len());
            let work: u64 = self.work[from..to].iter().sum();
            let middle = u128::from(before) * 2 + u128::from(work);
            let part = (middle * parts as u128 / (u128::from(total.max(1)) * 2)).min(parts as u128 - 1);
            self.order[from..to].iter().for_each(|n| part_of[*n as usize] = part as u8);
            (before, from) = (before + work, to);
        }
        self.even_out(graph, parts, &mut part_of);
        part_of
    }

    /// What can be exchanged between parts without more links being cut: pods within one part, and single racks of the others.
    fn pieces(&self, graph: &Graph, part_of: &[u8]) -> Vec<Piece> {
        let mut tops: BTreeMap<u32, BTreeSet<NodeId>> = BTreeMap::new();
        for node in (0..graph.nodes() as u32).filter(|n| !graph.is_host(*n)) {
            let pod = self.pod_of[node as usize];
            let outside = switches_of(graph, node).filter(|n| self.pod_of[*n as usize] != pod);
            tops.entry(pod).or_default().extend(outside);
        }
        let mut kinds = BTreeMap::new();
        let mut pieces = Vec::new();
        let mut from = 0;
        while from < self.order.len() {
            let (pod, part) = (self.pods[from], part_of[self.order[from] as usize]);
            let to = (from..self.order.len()).find(|i| self.pods[*i] != pod).unwrap_or(self.order.len());
            let is_whole = self.order[from..to].iter().all(|n| part_of[*n as usize] == part);
            for first in (from..to).step_by(if is_whole { to - from } else { 1 }) {
                let racks = first..if is_whole { to } else { first + 1 };
                let rack = self.order[first];
                let above =
                    if is_whole { tops.remove(&pod).unwrap_or_default() } else { switches_of(graph, rack).collect() };
                let new = kinds.len();
                let kind = *kinds.entry(above).or_insert(new);
                let work = self.work[racks.clone()].iter().sum();
                pieces.push(Piece { part: part_of[rack as usize], racks, kind, work });
            }
            from = to;
        }
        pieces
    }

    /// Exchanges pieces of the fullest part for smaller ones that hang on the same switches, as long as that makes it emptier.
    fn even_out(&self, graph: &Graph, parts: usize, part_of: &mut [u8]) {
        let mut pieces = self.pieces(graph, part_of);
        let mut load = vec![0u64; parts];
        for piece in &pieces {
            load[usize::from(piece.part)] += piece.work;
        }
        for _ in 0..MOST_EXCHANGES {
            let Some(most) = (0..parts).rev().max_by_key(|part| load[*part]) else { return };
            let (full, others): (Vec<usize>, Vec<usize>) =
                (0..pieces.len()).partition(|i| usize::from(pieces[*i].part) == most);
            let mut best = (load[most], None);
            for (a, b) in full.iter().flat_map(|a| others.iter().map(|b| (*a, *b))) {
                let (full, other) = (&pieces[a], &pieces[b]);
                if other.work < full.work && other.kind == full.kind {
                    let less = full.work - other.work;
                    let left = (load[most] - less).max(load[usize::from(other.part)] + less);
                    if left < best.0 {
                        best = (left, Some((a, b, less)));
                    }
                }
            }
            let Some((a, b, less)) = best.1 else { return };
            let other = pieces[b].part;
            load[most] -= less;
            load[usize::from(other)] += less;
            (pieces[a].part, pieces[b].part) = (other, most as u8);
            for piece in [&pieces[a], &pieces[b]] {
                self.order[piece.racks.clone()].iter().for_each(|n| part_of[*n as usize] = piece.part);
            }
        }
    }
}

/// Gives the switches above the racks, lowest first, to parts. Returns the work of each part.
fn place(graph: &Graph, above: &[NodeId], weight: &[Work], part_of: &mut [u8], parts: usize) -> Vec<Work> {
    let mut placed = vec![true; graph.nodes()];
    for node in above {
        placed[*node as usize] = false;
    }
    let mut load = vec![Work::default(); parts];
    for node in (0..graph.nodes()).filter(|n| placed[*n]) {
        load[usize::from(part_of[node])].add(weight[node]);
    }
    for tier in above.chunk_by(|a, b| graph.tiers[*a as usize] == graph.tiers[*b as usize]) {
        // Those first that go with the switches below them: only then is it known which parts are empty.
        for at_home in [true, false] {
            for &node in tier {
                let near = nearest(graph, node, &placed, part_of, parts);
                if placed[node as usize] || (at_home && near.len() > 1) {
                    continue;
                }
                // A node above the racks has mostly one side, whose work is to be even.
                let weight = weight[node as usize];
                let busy = |part: usize| {
                    let sides = load[part].0.iter().zip(weight.0).filter(|(_, own)| *own > 0);
                    sides.map(|(load, _)| load).sum::<u64>()
                };
                let part = near.into_iter().min_by_key(|part| busy(*part)).unwrap_or(0);
                part_of[node as usize] = part as u8;
                load[part].add(weight);
                placed[node as usize] = true;
            }
        }
    }
    load
}

/// The parts to which a node has most of its links to switches that are placed, or about as many.
fn nearest(graph: &Graph, node: NodeId, placed: &[bool], part_of: &[u8], parts: usize) -> Vec<usize> {
    let mut ties = vec![0u64; parts];
    let links = graph.ports_of(node).iter().filter(|p| !graph.is_host(p.peer) && placed[p.peer as usize]);
    links.for_each(|p| ties[usize::from(part_of[p.peer as usize])] += (p.rate.0 / 1_000_000).max(1));
    let most = ties.iter().copied().max().unwrap_or(0);
    (0..parts).filter(|part| ties[*part] * 2 >= most).collect()
}

/// The highest tier that is told apart.
fn highest(graph: &Graph) -> u8 {
    graph.tiers.iter().copied().max().unwrap_or(0).clamp(2, MOST_TIERS)
}

/// For every switch below the highest tier the first node of its pod.
pub(super) fn pods(graph: &Graph) -> Vec<u32> {
    connected(graph, highest(graph) - 1)
}

/// For every switch the first node of its group: those connected over switches of at most this tier.
fn connected(graph: &Graph, tier: u8) -> Vec<u32> {
    let inside = |n: u32| !graph.is_host(n) && graph.tiers[n as usize] <= tier;
    let mut group: Vec<u32> = (0..graph.nodes() as u32).collect();
    let mut seen = vec![false; graph.nodes()];
    let mut stack = Vec::new();
    for root in (0..graph.nodes() as u32).filter(|n| inside(*n)) {
        if !std::mem::replace(&mut seen[root as usize], true) {
            stack.push(root);
        }
        while let Some(node) = stack.pop() {
            group[node as usize] = root;
            for port in graph.ports_of(node).iter().filter(|p| inside(p.peer)) {
                if !std::mem::replace(&mut seen[port.peer as usize], true) {
                    stack.push(port.peer);
                }
            }
        }
    }
    group
}

/// When a breadth-first walk over the switches, from the first rack on, comes to each node.
fn walk(graph: &Graph, racks: &[NodeId]) -> Vec<u32> {
    let mut at = vec![u32::MAX; graph.nodes()];
    let mut next = 0;
    let mut queue = VecDeque::new();
    for root in racks {
        queue.push_back(*root);
        while let Some(node) = queue.pop_front() {
            if at[node as usize] != u32::MAX {
                continue;
            }
            at[node as usize] = next;
            next += 1;
            let switches = graph.ports_of(node).iter().filter(|p| !graph.is_host(p.peer));
            queue.extend(switches.map(|p| p.peer).filter(|peer| at[*peer as usize] == u32::MAX));
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::work::by_rates;
    use crate::topology::{dumbbell, fat_tree, hpcc_fat320, leaf_spine, parking_lot, star};
    use paceline_proto::units::{BitsPerSec, Duration};

    const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
    const FAST: BitsPerSec = BitsPerSec(400_000_000_000);
    const US: Duration = Duration::from_us(1);

    fn loads(graph: &Graph, part_of: &[u8], parts: usize) -> Vec<u64> {
        let mut sums = vec![0u64; parts];
        for port in &graph.ports {
            sums[usize::from(part_of[port.node as usize])] += port.rate.0;
        }
        sums
    }

    /// Even parts, no host away from its switch: else threads wait for each other, or every packet crosses a cut.
    #[test]
    fn parts_are_even_and_keep_hosts_with_their_switch() {
        let networks = [
            (hpcc_fat320().unwrap(), 0.75),
            (fat_tree(16, RATE, RATE, US, None).unwrap(), 0.85),
            (fat_tree(8, RATE, FAST, US, Some(2)).unwrap(), 0.75),
            (leaf_spine(32, 6, 16, RATE, FAST, US, 1).unwrap(), 0.65),
            (parking_lot(40, RATE, RATE, US, US).unwrap(), 0.6),
        ];
        for (network, even) in &networks {
            let graph = Graph::new(network);
            for parts in [1, 2, 3, 4, 7] {
                let (part_of, found) = partition(&graph, parts, &[], &[], &by_rates(&graph));
                assert_eq!(found, parts);
                for host in graph.hosts() {
                    assert_eq!(part_of[host as usize], part_of[graph.ports_of(host)[0].peer as usize]);
                }
                let sums = loads(&graph, &part_of, parts);
                let (low, high) = (*sums.iter().min().unwrap(), *sums.iter().max().unwrap());
                assert!(low as f64 >= high as f64 * even, "{} hosts, {parts} parts: {sums:?}", graph.hosts().count());
            }
        }
    }

    /// Where sides are run in turn the threads meet after each: five pods, hosts and aggregation switches on one side, cannot be dealt
    /// whole to two of them.
    #[test]
    fn both_sides_are_even() {
        let graph = Graph::new(&hpcc_fat320().unwrap());
        let sides: Vec<u8> = graph.tiers.iter().map(|tier| tier % 2).collect();
        let (part_of, _) = partition(&graph, 2, &[], &sides, &by_rates(&graph));
        for side in 0..2 {
            let mut sums = [0u64; 2];
            for port in graph.ports.iter().filter(|p| sides[p.node as usize] == side) {
                sums[usize::from(part_of[port.node as usize])] += port.rate.0;
            }
            assert_eq!(sums[0], sums[1]);
        }
    }

    /// What happens within a pod stays on one thread: only links to cores are cut.
    #[test]
    fn pods_stay_whole_where_they_can() {
        for (network, parts) in [
            (hpcc_fat320().unwrap(), 2),
            (fat_tree(16, RATE, RATE, US, None).unwrap(), 2),
            (fat_tree(8, RATE, RATE, US, None).unwrap(), 4),
        ] {
            let graph = Graph::new(&network);
            let (part_of, _) = partition(&graph, parts, &[], &[], &by_rates(&graph));
            let cut = graph.ports.iter().filter(|p| part_of[p.node as usize] != part_of[p.peer as usize]);
            for port in cut {
                assert_eq!(graph.tiers[port.node as usize].max(graph.tiers[port.peer as usize]), 3);
            }
        }
    }

    /// A chain is cut once between two parts: its neighbours stay together.
    #[test]
    fn a_chain_is_cut_in_pieces() {
        let graph = Graph::new(&parking_lot(40, RATE, RATE, US, US).unwrap());
        let (part_of, parts) = partition(&graph, 4, &[], &[], &by_rates(&graph));
        let cut = graph.ports.iter().filter(|p| part_of[p.node as usize] != part_of[p.peer as usize]).count();
        assert_eq!((parts, cut), (4, 6));
    }

    /// No more parts than racks, and none of them empty.
    #[test]
    fn small_networks_have_few_parts() {
        for (network, most) in [
            (star(5, RATE, US).unwrap(), 1),
            (dumbbell(2, 2, RATE, RATE, US, US).unwrap(), 2),
            (leaf_spine(3, 8, 1, RATE, RATE, US, 1).unwrap(), 3),
        ] {
            let graph = Graph::new(&network);
            let (part_of, found) = partition(&graph, 8, &[], &[], &by_rates(&graph));
            assert_eq!(found, most);
            assert!(!loads(&graph, &part_of, found).contains(&0));
        }
    }

    /// Nodes that hang together by links shorter than a window are in one part: what passes between them cannot wait for its end.
    #[test]
    fn close_nodes_stay_in_one_part() {
        let graph = Graph::new(&leaf_spine(3, 3, 1, RATE, RATE, US, 1).unwrap());
        let mut clusters: Vec<u32> = (0..graph.nodes() as u32).collect();
        let rack = graph.ports_of(0)[0].peer;
        for node in [1, 2, rack] {
            clusters[node as usize] = 0;
        }
        for parts in 1..5 {
            let (part_of, _) = partition(&graph, parts, &clusters, &[], &by_rates(&graph));
            assert!([1, 2, rack].iter().all(|n| part_of[*n as usize] == part_of[0]));
        }
    }
}
