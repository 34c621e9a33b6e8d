use std::sync::Arc;

use paceline_proto::units::{BitsPerSec, Duration};
use proptest::prelude::*;

use super::*;
use crate::graph::{Link, NodeKind, PortInfo, Topology};
use crate::routing::Address;
use crate::routing::config::{NextHopOrder, NicChoice, PathChoice, RoutingConfig};
use crate::topology;

fn routes(topology: &Topology, nics: NicChoice) -> Routes {
    let config = RoutingConfig {
        choice: PathChoice::FlowHash,
        order: NextHopOrder::Port,
        salt: 0,
        nics,
        flowlet_gap: Duration(0),
    };
    Routes::new(Arc::new(Graph::new(topology)), config)
}

/// One of 20 racks sends a twentieth, 304 of 319 parts of it to other racks, over four uplinks; and a host's own link.
#[test]
fn worked_shares_of_the_hpcc_tree() {
    let mut routes = routes(&topology::hpcc_fat320().unwrap(), NicChoice::All);
    let hosts: Vec<NodeId> = (0..320).collect();
    let all = Pairs::uniform(&hosts, &hosts);
    let graph = routes.graph().clone();
    let rack = graph.ports_of(0)[0].peer;
    let uplinks: Vec<&PortInfo> = graph.ports_of(rack).iter().filter(|p| !graph.is_host(p.peer)).collect();
    let mut share = |crossing| expected_share(&mut routes, &all, crossing).unwrap();
    let leaving = 304.0 / 319.0;
    assert!((share(Crossing::Rack) - leaving).abs() < 1e-12);
    let sum: f64 = uplinks.iter().map(|p| share(Crossing::Link(rack, p.peer))).sum();
    assert!((sum - leaving / 20.0).abs() < 1e-12, "{sum}");
    assert!((share(Crossing::Link(rack, uplinks[0].peer)) - sum / uplinks.len() as f64).abs() < 1e-12);
    assert!((share(Crossing::Link(uplinks[0].peer, rack)) - sum / uplinks.len() as f64).abs() < 1e-12);
    for link in [Crossing::Link(7, graph.ports_of(7)[0].peer), Crossing::Link(graph.ports_of(7)[0].peer, 7)] {
        assert!((share(link) - 1.0 / 320.0).abs() < 1e-12);
    }
}

#[test]
fn two_hosts_back_to_back() {
    let kinds = vec![NodeKind::Host; 2];
    let link = Link::symmetric(0, 1, BitsPerSec(1), Duration(0));
    let back_to_back = Topology { kinds, tiers: vec![0; 2], links: vec![link, link] };
    let mut routes = routes(&back_to_back, NicChoice::All);
    let half = expected_share(&mut routes, &Pairs::uniform(&[0, 1], &[0, 1]), Crossing::Link(1, 0)).unwrap();
    assert!((half - 0.5).abs() < 1e-12, "{half}");
}

/// Follows every choice of one flow: NICs, then next hops. `weight` is the probability of being at `at`.
fn walk(routes: &mut Routes, at: NodeId, to: &PortInfo, link: (NodeId, NodeId), weight: f64) -> f64 {
    if at == to.peer {
        return if link == (at, to.node) { weight } else { 0.0 };
    }
    let hops = routes.next_hops(at, to.peer).to_vec();
    let graph = routes.graph().clone();
    let each = weight / hops.len() as f64;
    let next = |port: &u16| {
        let peer = graph.ports_of(at)[*port as usize].peer;
        if link == (at, peer) { each } else { walk(routes, peer, to, link, each) }
    };
    hops.iter().map(next).sum()
}

fn by_hand(routes: &mut Routes, pairs: &Pairs, link: (NodeId, NodeId)) -> f64 {
    let graph = routes.graph().clone();
    let mut share = 0.0;
    for &dst in &pairs.destinations {
        let others: f64 = pairs.sources.iter().filter(|s| s.0 != dst).map(|s| s.1).sum();
        for &(src, weight) in pairs.sources.iter().filter(|s| s.0 != dst) {
            // Draws of 0 to 11 meet every choice among up to four NICs equally often.
            for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
                let (from, to): (Address, Address) = routes.choose_nics(src, dst, [a, b]);
                let (out, into) = (graph.ports_of(src)[from.nic as usize], graph.ports_of(dst)[to.nic as usize]);
                let p = weight / others / pairs.destinations.len() as f64 / 144.0;
                share += if link == (src, out.peer) { p } else { walk(routes, out.peer, &into, link, p) };
            }
        }
    }
    share
}

/// Hosts with one to three NICs, of one or two rates, on leaves of one or two planes, leaves wired to spines at random, perhaps twice.
fn networks() -> impl Strategy<Value = Topology> {
    let nics = prop::collection::vec(prop::collection::vec(0u32..4, 1..4), 3..6);
    (nics, prop::collection::vec((0u32..4, 0u32..3), 6..14), any::<bool>()).prop_map(|(nics, wires, two_planes)| {
        let hosts = nics.len() as u32;
        let (leaf, spine) = (hosts, hosts + 4);
        let link = |a: u32, b: u32| Link::symmetric(a, b, BitsPerSec(1_000_000_000 << ((a ^ b) & 1)), Duration(1));
        let mut links: Vec<Link> = wires.iter().map(|(l, s)| link(leaf + l, spine + s)).collect();
        // Each leaf at a spine that all of its plane have.
        links.extend((0..4).map(|l| link(leaf + l, spine + if two_planes { l % 2 } else { 0 })));
        links.retain(|k| !two_planes || (k.a - leaf) % 2 == (k.b - spine) % 2);
        for (h, nics) in nics.iter().enumerate() {
            links.push(link(h as u32, leaf)); // everyone is in the first plane
            links.extend(nics.iter().map(|n| link(h as u32, leaf + n)));
        }
        let kinds = [vec![NodeKind::Host; hosts as usize], vec![NodeKind::Switch; 7]].concat();
        let mut topology = Topology { tiers: vec![0; kinds.len()], kinds, links };
        topology::tier_by_distance(&mut topology);
        topology
    })
}

proptest! {
    /// The share is what following every choice of every pair gives, for every link there is.
    #[test]
    fn shares_are_those_of_all_choices(
        topology in networks(),
        nearest: bool,
        one_receiver: bool,
        weights in prop::collection::vec(0u8..3, 5),
    ) {
        let mut routes = routes(&topology, if nearest { NicChoice::Nearest } else { NicChoice::All });
        let hosts: Vec<NodeId> = routes.graph().hosts().collect();
        let mut pairs = Pairs::uniform(&hosts, if one_receiver { &hosts[..1] } else { &hosts });
        for (source, more) in pairs.sources.iter_mut().zip(weights) {
            source.1 += f64::from(more);
        }
        let links: std::collections::BTreeSet<_> = routes.graph().ports.iter().map(|p| (p.node, p.peer)).collect();
        for (a, b) in links {
            let share = expected_share(&mut routes, &pairs, Crossing::Link(a, b)).unwrap();
            let expected = by_hand(&mut routes, &pairs, (a, b));
            prop_assert!((share - expected).abs() < 1e-9, "{a}->{b}: {share} {expected}");
        }
    }
}
