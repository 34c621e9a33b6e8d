//! Sets of ports: those of some nodes, those behind a cut.

use super::ahead::SIDES;
use crate::net::Net;
use crate::net::port::Port;

/// Some ports: words of a window's active ones, and bits in them.
pub(super) type Ports = Box<[(usize, u64)]>;

/// The ports of some nodes.
pub(super) fn ports(net: &Net, is_meant: impl Fn(u32) -> bool) -> Ports {
    let bit = |(place, port): (usize, &Port)| u64::from(is_meant(port.node)) << place;
    let words = net.ports.chunks(64).map(|ports| ports.iter().enumerate().map(bit).sum());
    words.enumerate().filter(|(_, bits)| *bits != 0).collect()
}

/// The ports of a part's nodes to which this one's have links: where packets from here arrive.
pub(super) fn border(net: &Net, part: u8) -> Ports {
    let (me, part_of) = (net.share.me, |node: u32| net.share.part_of[node as usize]);
    let mut reached = vec![false; net.graph.nodes()];
    for port in net.ports.iter().filter(|p| part != me && part_of(p.node) == me && part_of(p.peer) == part) {
        reached[port.peer as usize] = true;
    }
    ports(net, |node| reached[node as usize])
}

/// By side, the ports of a part's nodes that have links to its own nodes only; none where there is one side.
pub(super) fn inner(net: &Net, sides: &[u8]) -> Box<[Ports]> {
    let is_here = |node: u32| net.share.elsewhere(node).is_none();
    let mut is_inner: Vec<bool> = (0..net.graph.nodes() as u32).map(is_here).collect();
    for port in net.ports.iter().filter(|p| !is_here(p.peer)) {
        is_inner[port.node as usize] = false;
    }
    let of = |side: u8| ports(net, |node| is_inner[node as usize] && sides[node as usize] == side);
    if sides.is_empty() { Box::default() } else { (0..SIDES as u8).map(of).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::assemble;
    use crate::engine::partition::partition;
    use crate::engine::work::by_rates;
    use crate::lookahead::Windows;
    use crate::spec::parse;

    /// What is run before the letters of other parts are read must need none of them; and there must be enough of it, or threads wait.
    #[test]
    fn inner_nodes_have_all_their_links_in_their_part() {
        let text = "[topology]\nkind = 'hpcc_fat320'\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n[schemes.x]\ncc = 'hpcc'";
        let scenario = assemble(&parse(text, "test", &[]).unwrap()).unwrap().scenario;
        let windows = Windows::of(&scenario);
        let (part_of, parts) =
            partition(&scenario.graph, 2, &windows.clusters(&scenario), &windows.sides, &by_rates(&scenario.graph));
        let part_of: std::sync::Arc<[u8]> = part_of.into();
        for me in 0..2 {
            let mut net = Net::new(std::sync::Arc::clone(&scenario)).unwrap();
            net.become_part(me, parts, &part_of);
            let by_side = inner(&net, &windows.sides);
            for (side, least) in [(0, 150), (1, 64)] {
                let ports: Vec<usize> = by_side[side]
                    .iter()
                    .flat_map(|(word, mask)| {
                        (0..64).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| word << 6 | bit)
                    })
                    .collect();
                assert!(ports.len() >= least, "{} ports of side {side}", ports.len());
                for port in ports {
                    let node = net.ports[port].node;
                    assert_eq!((part_of[node as usize], windows.sides[node as usize]), (me, side as u8));
                    assert!(net.graph.ports_of(node).iter().all(|p| part_of[p.peer as usize] == me));
                }
            }
        }
    }
}
