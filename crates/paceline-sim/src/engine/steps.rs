//! In which order nodes are run where there are two sides (`windows`).
//!
//! A node of the second side needs to wait for those that it is linked to, not for all of the first. Racks are run right after their
//! hosts: what was sent to them is then still near.

use super::ports::Ports;
use crate::net::Net;

/// Ports of the first side in a step, at least: with racks of eight hosts by themselves, going from one kind of node to the other costs
/// more than nearness brings. Where assertions are checked, as in tests, small networks are to have many steps.
const LEAST: usize = if cfg!(debug_assertions) { 1 } else { 64 };

/// Ports of nodes of the first side, and of those of the second that can be run after them.
pub(super) type Step = [Ports; 2];

/// The nodes of a part, each of the second side after all that it is linked to. Those left out are run as ever: where a neighbour
/// is in another part, and all where there is one step only.
pub(super) fn side_by_side(net: &Net, sides: &[u8]) -> Box<[Step]> {
    const NONE: u32 = u32::MAX;
    let graph = &net.graph;
    let is_here = |node: u32| net.share.elsewhere(node).is_none();
    let mut step_of = vec![NONE; sides.len()];
    let (mut steps, mut ports_in) = (0, usize::MAX);
    for node in (0..sides.len() as u32).filter(|node| sides[*node as usize] == 1 && is_here(*node)) {
        let peers = || graph.ports_of(node).iter().map(|port| port.peer);
        if !peers().all(is_here) {
            continue;
        }
        let new: Vec<u32> = peers().filter(|peer| step_of[*peer as usize] == NONE).collect();
        if !new.is_empty() && ports_in >= LEAST {
            (steps, ports_in) = (steps + 1, 0);
        }
        for peer in new {
            if step_of[peer as usize] == NONE {
                step_of[peer as usize] = steps - 1;
                ports_in += graph.ports_of(peer).len();
            }
        }
        step_of[node as usize] = steps - 1;
    }
    if steps < 2 {
        return Box::default();
    }
    let mut all: Vec<[Vec<(usize, u64)>; 2]> = vec![Default::default(); steps as usize];
    for (index, port) in net.ports.iter().enumerate() {
        let Some(step) = all.get_mut(step_of[port.node as usize] as usize) else { continue };
        let ports = &mut step[usize::from(sides[port.node as usize])];
        let (word, bit) = (index >> 6, 1 << (index & 63));
        match ports.last_mut() {
            Some((last, mask)) if *last == word => *mask |= bit,
            _ => ports.push((word, bit)),
        }
    }
    all.into_iter().map(|step| step.map(Ports::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::assemble;
    use crate::engine::partition::partition;
    use crate::engine::work::by_rates;
    use crate::lookahead::Windows;
    use crate::spec::parse;

    /// Step of every node of one of so many parts of a tree, none where it is left out; and the network, its sides, how many steps there are.
    fn step_of(parts: usize) -> (Vec<Option<usize>>, Net, Box<[u8]>, usize) {
        let text = "[topology]\nkind = 'fat_tree'\nk = 8\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n[schemes.x]\ncc = 'hpcc'";
        let scenario = assemble(&parse(text, "test", &[]).unwrap()).unwrap().scenario;
        let windows = Windows::of(&scenario);
        let clusters = windows.clusters(&scenario);
        let (part_of, parts) = partition(&scenario.graph, parts, &clusters, &windows.sides, &by_rates(&scenario.graph));
        let mut net = Net::new(scenario).unwrap();
        if parts > 1 {
            net.become_part(0, parts, &part_of.into());
        }
        let steps = side_by_side(&net, &windows.sides);
        let sides = windows.sides;
        let mut found: Vec<Option<Option<usize>>> = vec![None; sides.len()];
        for (index, port) in net.ports.iter().enumerate() {
            let has =
                |ports: &Ports| ports.iter().any(|(word, mask)| *word == index >> 6 && mask >> (index & 63) & 1 == 1);
            let at: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].iter().any(has)).collect();
            assert!(at.len() <= 1, "a port is run once in a window");
            assert!(
                at.iter().all(|at| has(&steps[*at][usize::from(sides[port.node as usize])])),
                "in its side's window"
            );
            let node = found[port.node as usize].get_or_insert(at.first().copied());
            assert_eq!(*node, at.first().copied(), "all ports of a switch are run together");
        }
        (found.into_iter().map(Option::flatten).collect(), net, sides, steps.len())
    }

    /// A rack that was run before one of those that send to it would miss packets; and another part's come between windows only.
    #[test]
    fn nodes_of_the_second_side_come_after_all_that_they_are_linked_to() {
        for (parts, least) in [(1, 80), (2, 20)] {
            let (step_of, net, sides, steps) = step_of(parts);
            let is_here = |node: u32| net.share.elsewhere(node).is_none();
            let mut placed = 0;
            for node in 0..sides.len() as u32 {
                let Some(step) = step_of[node as usize] else { continue };
                assert!(is_here(node));
                placed += 1;
                let mut peers = net.graph.ports_of(node).iter().map(|port| port.peer);
                assert!(
                    sides[node as usize] == 0
                        || peers.all(|peer| is_here(peer) && step_of[peer as usize].is_some_and(|at| at <= step))
                );
            }
            assert!(steps > 1 && placed > least, "{steps} steps with {placed} nodes in {parts} parts");
        }
    }
}
