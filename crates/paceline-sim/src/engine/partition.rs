//! Cutting a network into parts for threads.

use crate::graph::Graph;

/// Most parts: a part's number is eight bits, and goes into a flow's slot.
pub const MOST_PARTS: usize = 64;

/// The part of every node, for at most `parts` parts. A host goes with the first switch it hangs on, so that no access
/// link is cut; the switches are cut along a walk through the network that stays near (breadth first), where the work,
/// taken as the sum of link rates, is even. Also returns how many parts there are: fewer when the switches are few.
pub fn partition(graph: &Graph, parts: usize) -> (Vec<u8>, usize) {
    let nodes = graph.nodes();
    let parts = parts.clamp(1, MOST_PARTS);
    let mut anchor: Vec<u32> = (0..nodes as u32).collect();
    for host in graph.hosts() {
        if let Some(port) = graph.ports_of(host).first() {
            anchor[host as usize] = port.peer.min(if graph.is_host(port.peer) { host } else { port.peer });
        }
    }
    let mut weight = vec![0u64; nodes];
    for node in 0..nodes {
        let rates: u64 = graph.ports_of(node as u32).iter().map(|p| p.rate.0 / 1_000_000).sum();
        weight[anchor[node] as usize] += rates.max(1);
    }
    let order = walk(graph, &anchor);
    let total: u64 = order.iter().map(|n| weight[*n as usize]).sum();
    let mut part_of = vec![0u8; nodes];
    let (mut before, mut last, mut used) = (0, None, 0u8);
    for node in order {
        // By its middle, so that one heavy switch falls to the part that has most of it.
        let middle = u128::from(before) * 2 + u128::from(weight[node as usize]);
        let part = (middle * parts as u128 / (u128::from(total.max(1)) * 2)).min(parts as u128 - 1);
        if last != Some(part) {
            (last, used) = (Some(part), used + 1);
        }
        part_of[node as usize] = used - 1;
        before += weight[node as usize];
    }
    for node in 0..nodes {
        part_of[node] = part_of[anchor[node] as usize];
    }
    (part_of, usize::from(used).max(1))
}

/// The anchors (switches, and hosts without one), neighbours near each other.
fn walk(graph: &Graph, anchor: &[u32]) -> Vec<u32> {
    let nodes = graph.nodes() as u32;
    let is_anchor = |n: u32| anchor[n as usize] == n;
    let (mut seen, mut order) = (vec![false; nodes as usize], Vec::new());
    // Switches with hosts first: a core switch belongs nowhere, and goes where there is room.
    let edge = |n: u32| graph.ports_of(n).iter().any(|p| graph.is_host(p.peer));
    let roots = (0..nodes).filter(|n| edge(*n)).chain(0..nodes);
    for root in roots.filter(|n| is_anchor(*n)) {
        let mut queue = std::collections::VecDeque::new();
        if !seen[root as usize] {
            seen[root as usize] = true;
            queue.push_back(root);
        }
        while let Some(node) = queue.pop_front() {
            order.push(node);
            for port in graph.ports_of(node) {
                if is_anchor(port.peer) && !seen[port.peer as usize] {
                    seen[port.peer as usize] = true;
                    queue.push_back(port.peer);
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even parts, no host away from its switch: else threads wait for each other, or every packet crosses a cut.
    #[test]
    fn parts_are_even_and_keep_hosts_with_their_switch() {
        let graph = Graph::new(&crate::topology::hpcc_fat320().unwrap());
        for parts in [1, 2, 3, 4, 7] {
            let (part_of, found) = partition(&graph, parts);
            assert_eq!(found, parts);
            let mut sums = vec![0u64; parts];
            for node in 0..graph.nodes() as u32 {
                sums[usize::from(part_of[node as usize])] += graph.ports_of(node).iter().map(|p| p.rate.0).sum::<u64>();
                if graph.is_host(node) {
                    assert_eq!(part_of[node as usize], part_of[graph.ports_of(node)[0].peer as usize]);
                }
            }
            let (low, high) = (sums.iter().min().unwrap(), sums.iter().max().unwrap());
            assert!(low * 10 >= high * 7, "{parts} parts: {sums:?}");
        }
    }
}
