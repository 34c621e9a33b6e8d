//! Sets of ports: those of some nodes, those behind a cut.

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
