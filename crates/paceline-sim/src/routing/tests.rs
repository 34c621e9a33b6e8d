use std::collections::BTreeSet;
use std::fmt::Write;

use paceline_proto::units::{BitsPerSec, Duration};
use proptest::prelude::*;

use super::*;
use crate::graph::{Link, NodeKind, Side, Topology};
use crate::routing::config::{NextHopOrder, NicChoice, PathChoice};
use crate::topology::{Level, dumbbell, fat_tree, hpcc_fat320, leaf_spine, xgft};

const RATE: BitsPerSec = BitsPerSec(100_000_000_000);

const BY_PORT: RoutingConfig = RoutingConfig {
    choice: PathChoice::FlowHash,
    order: NextHopOrder::Port,
    salt: 0,
    nics: NicChoice::All,
    flowlet_gap: Duration(0),
};

fn routes(topology: &Topology, order: NextHopOrder) -> Routes {
    Routes::new(Arc::new(Graph::new(topology)), RoutingConfig { order, ..BY_PORT })
}

fn at(host: NodeId) -> Address {
    Address { host, nic: 0 }
}

fn tuple(src: NodeId, dst: NodeId, sport: u16, dport: u16) -> Tuple {
    Tuple { src_ip: ip_of(src, 0), dst_ip: ip_of(dst, 0), sport, dport }
}

/// The nodes a path visits, ends included.
fn nodes_of(graph: &Graph, from: NodeId, ports: &[PortNo]) -> Vec<NodeId> {
    let mut nodes = vec![from];
    for &port in ports {
        nodes.push(graph.ports_of(nodes[nodes.len() - 1])[port as usize].peer);
    }
    nodes
}

#[test]
fn flows_take_the_paths_of_the_reference_simulator() {
    let mut routes = routes(&hpcc_fat320().unwrap(), NextHopOrder::DescendingId);
    let mut out = Vec::new();
    let lines = include_str!("ns3_paths.txt").lines().filter(|l| !l.starts_with('#'));
    assert_eq!(lines.clone().count(), 270);
    for line in lines {
        let parts: Vec<Vec<u32>> =
            line.split('|').map(|p| p.split_whitespace().map(|n| n.parse().unwrap()).collect()).collect();
        let &[src, dst, sport, dport] = &parts[0][..] else { panic!("{line}") };
        let data = tuple(src, dst, sport as u16, dport as u16);
        for (from, to, tuple, switches) in [(src, dst, data, &parts[1]), (dst, src, data.reversed(), &parts[2])] {
            routes.flow_path(at(from), at(to), &tuple, &mut out).unwrap();
            let nodes = nodes_of(routes.graph(), from, &out);
            assert_eq!(nodes[1..nodes.len() - 1], switches[..], "{line}");
            assert_eq!(nodes[nodes.len() - 1], to);
        }
    }
}

/// All 17,920 next-hop lists (56 switches, 320 hosts) the reference simulator built, by checksum of `switch host next hop ids` lines.
#[test]
fn next_hops_are_those_of_the_reference_simulator() {
    let mut routes = routes(&hpcc_fat320().unwrap(), NextHopOrder::DescendingId);
    let graph = routes.graph().clone();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for switch in 320..376 {
        for host in 0..320 {
            let tor = graph.ports_of(host)[0].peer;
            let mut line = format!("{switch} {host}");
            if switch == tor {
                write!(line, " {host}").unwrap();
            }
            for &port in routes.next_hops(switch, tor) {
                write!(line, " {}", graph.ports_of(switch)[port as usize].peer).unwrap();
            }
            line.push('\n');
            hash = line.bytes().fold(hash, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        }
    }
    assert_eq!(hash, 0xc411_df43_6b0f_c367);
}

#[test]
fn addresses_are_distinct() {
    assert_eq!(ip_of(0, 0), 0x0b00_0001);
    assert_eq!(ip_of(300, 0), 0x0b01_2c01, "11.1.44.1");
    let nodes = [0, 1, 255, 256, 65_535, 65_536, (1 << 24) - 1];
    let all: BTreeSet<u32> = nodes.iter().flat_map(|&n| (0..256).map(move |nic| ip_of(n, nic))).collect();
    assert_eq!(all.len(), nodes.len() * 256);
}

#[test]
fn parallel_links_are_hops_of_their_own_and_sharing_is_even() {
    let mut routes = routes(&leaf_spine(2, 2, 1, RATE, RATE, Duration(0), 2).unwrap(), NextHopOrder::Port);
    assert_eq!(routes.next_hops(2, 3), [1, 2, 3, 4]);
    assert_eq!(routes.distance(2, 3), Some(2));
    let mut used = [0; 5];
    let mut out = Vec::new();
    for sport in 0..4000 {
        routes.flow_path(at(0), at(1), &tuple(0, 1, sport, 100), &mut out).unwrap();
        used[out[1] as usize] += 1;
    }
    assert!(used[1..].iter().all(|n| (900..1100).contains(n)), "{used:?}");
}

#[test]
fn spraying_draws_once_per_choice() {
    let mut routes = routes(&fat_tree(4, RATE, RATE, Duration(0), None).unwrap(), NextHopOrder::Port);
    let mut asked = Vec::new();
    let mut out = Vec::new();
    let mut draw = |n| {
        asked.push(n);
        asked.len() as u32 % n
    };
    routes.spray_path(at(0), at(15), &mut draw, &mut out).unwrap();
    // Second uplink of the edge switch, first of the aggregation switch; down there is no choice.
    assert_eq!((asked, out), (vec![2, 2], vec![0, 3, 2, 3, 1, 1]));
}

/// A run says that the choice of paths had no effect where no packet had any.
#[test]
fn hosts_at_one_switch_have_no_choice() {
    let mut routes = routes(&fat_tree(4, RATE, RATE, Duration(0), None).unwrap(), NextHopOrder::Port);
    let (mut out, unused) = (Vec::new(), routes.heap_bytes());
    routes.first_path(at(0), at(1), &mut out).unwrap();
    assert_eq!((out.len(), routes.has_choice(), routes.heap_bytes()), (2, false, unused));
    routes.first_path(at(0), at(2), &mut out).unwrap();
    assert_eq!((out.len(), routes.has_choice()), (4, true));
}

#[test]
fn a_removed_link_is_avoided() {
    let whole = routes(&leaf_spine(2, 2, 1, RATE, RATE, Duration(0), 1).unwrap(), NextHopOrder::Port);
    let without = |links: &[usize]| {
        let down = (0..6).map(|link| links.contains(&link)).collect();
        Routes::without(whole.graph().clone(), BY_PORT, down)
    };
    let mut routes = without(&[]);
    assert_eq!(routes.next_hops(2, 3), [1, 2]);
    let mut routes = without(&[2]); // leaf 2 to spine 4
    assert_eq!(routes.next_hops(2, 3), [2]);
    assert_eq!(routes.next_hops(4, 2), [1], "over the other leaf");
    let mut out = Vec::new();
    let mut routes = without(&[1, 2]); // and host 1
    let down = routes.flow_path(at(0), at(1), &tuple(0, 1, 1, 1), &mut out).unwrap_err();
    assert_eq!(down.to_string(), "destination = host 1, nic 0: the link of this NIC is down");
}

#[test]
fn impossible_paths_are_refused_by_name() {
    let mut routes = routes(&leaf_spine(2, 1, 1, RATE, RATE, Duration(0), 1).unwrap(), NextHopOrder::Port);
    let mut out = Vec::new();
    let mut refused = |src, dst| routes.first_path(src, dst, &mut out).unwrap_err().to_string();
    assert!(refused(at(2), at(1)).starts_with("source = host 2, nic 0: no such host"));
    assert!(refused(at(0), at(99)).starts_with("destination = host 99, nic 0: no such host"));
    assert!(refused(at(0), Address { host: 1, nic: 1 }).starts_with("destination = host 1, nic 1: no such NIC"));
    let far = Address { host: 1, nic: PortNo::MAX };
    assert!(refused(far, at(0)).starts_with("source = host 1, nic 65535: no such NIC"), "beyond all ports there are");
    assert!(refused(at(1), at(1)).contains("same host"));
    let down = vec![false, false, false, true];
    let mut routes = Routes::without(routes.graph().clone(), BY_PORT, down);
    let text = routes.first_path(at(0), at(1), &mut out).unwrap_err().to_string();
    assert_eq!(text, "path = host 0 nic 0 to host 1 nic 0: no path");
    assert!(routes.next_hops(0, 3).is_empty() && routes.next_hops(2, 77).is_empty());
}

fn tree(levels: &[[u32; 2]]) -> Topology {
    let wire = Side { rate: RATE, delay: Duration(0) };
    xgft(&levels.iter().map(|&[children, parents]| Level { children, parents, wire }).collect::<Vec<_>>()).unwrap()
}

/// Links between switches, and NICs, that more than one flow of a shift of all hosts by `shift` uses; flows use the ports in
/// their own direction.
fn shared_links(topology: &Topology, choice: PathChoice, shift: u32) -> usize {
    let mut routes = Routes::new(Arc::new(Graph::new(topology)), RoutingConfig { choice, ..BY_PORT });
    let (graph, mut out, mut used) = (routes.graph().clone(), Vec::new(), BTreeSet::new());
    let hosts = graph.hosts().count() as u32;
    let mut shared = 0;
    for src in 0..hosts {
        let dst = (src + shift) % hosts;
        let (from, to) = routes.choose_nics(src, dst, [77, 77]);
        routes.flow_path(from, to, &tuple(src, dst, 10_000, 100), &mut out).unwrap();
        let nodes = nodes_of(&graph, src, &out);
        assert_eq!(nodes.last(), Some(&dst));
        let ports = nodes.iter().zip(&out).map(|(node, port)| (*node, *port));
        shared += ports.filter(|port| !used.insert(*port)).count();
    }
    shared
}

/// On trees with as many links up as down at every switch, both ways of choosing by number bring every shift of the hosts
/// through without two flows on a link, as their authors promise; a hash does not.
#[test]
fn shifts_meet_nowhere_with_d_mod_k() {
    for levels in [&[[4, 1], [4, 4]][..], &[[4, 1], [4, 4], [3, 4]], &[[2, 2], [3, 2], [4, 3]], &[[5, 1]]] {
        let t = tree(levels);
        let hosts: u32 = levels.iter().map(|l| l[0]).product();
        for shift in 1..hosts {
            // The last level's wrap-around is a shift only of the whole.
            for choice in [PathChoice::DModK, PathChoice::SModK] {
                assert_eq!(shared_links(&t, choice, shift), 0, "{levels:?}, {choice:?}, shift by {shift}");
            }
        }
    }
    assert!(shared_links(&tree(&[[4, 1], [4, 4]]), PathChoice::FlowHash, 4) > 0);
    // The same holds for the fat-trees with other names for the same thing.
    for t in [fat_tree(4, RATE, RATE, Duration(0), None), leaf_spine(5, 4, 4, RATE, RATE, Duration(0), 1)] {
        assert_eq!(shared_links(&t.unwrap(), PathChoice::DModK, 7), 0);
    }
}

/// All packets to a host meet at one switch of the top with D-mod-k; those of a host leave through one with S-mod-k.
#[test]
fn destinations_and_sources_have_a_switch_of_their_own() {
    let t = tree(&[[3, 1], [3, 2], [3, 2]]);
    for (choice, by_source) in [(PathChoice::DModK, false), (PathChoice::SModK, true)] {
        let mut routes = Routes::new(Arc::new(Graph::new(&t)), RoutingConfig { choice, ..BY_PORT });
        let (graph, mut out) = (routes.graph().clone(), Vec::new());
        let mut tops: Vec<BTreeSet<NodeId>> = vec![BTreeSet::new(); 27];
        for (src, dst) in (0..27).flat_map(|a| (0..27).map(move |b| (a, b))).filter(|(a, b)| a / 9 != b / 9) {
            routes.flow_path(at(src), at(dst), &tuple(src, dst, 1, 1), &mut out).unwrap();
            let key = if by_source { src } else { dst };
            tops[key as usize].insert(nodes_of(&graph, src, &out)[3]);
        }
        assert!(tops.iter().all(|t| t.len() == 1));
        assert_eq!(tops.into_iter().flatten().collect::<BTreeSet<_>>().len(), 4, "all of the top is used");
    }
}

#[test]
fn choice_by_number_is_refused_off_trees() {
    let refused = |t: &Topology| {
        let config = RoutingConfig { choice: PathChoice::DModK, ..BY_PORT };
        choice::check(&Graph::new(t), config).map_err(|e| e.to_string())
    };
    let slow = Duration(0);
    assert_eq!(refused(&hpcc_fat320().unwrap()), Ok(()));
    let mut uneven = tree(&[[2, 1], [2, 2]]);
    uneven.links.pop();
    for (t, why) in [
        (dumbbell(2, 2, RATE, RATE, slow, slow).unwrap(), "nodes 4 and 5 are linked across or within tiers"),
        (leaf_spine(2, 2, 2, RATE, RATE, slow, 2).unwrap(), "nodes 4 and 6 have more than one link"),
        (uneven, "node 5 has 1 uplinks, others of its tier 2"),
    ] {
        let text = refused(&t).unwrap_err();
        assert!(text.starts_with("routing.choice = \"d_mod_k\": not defined in this network: "), "{text}");
        assert!(text.contains(why) && text.contains("; allowed: \"flow_hash\""), "{text}");
    }
}

/// Shortest paths between hosts whose lowest common ancestors are of level l: the product of the parents up to l.
#[test]
fn shortest_paths_of_a_tree_multiply() {
    let levels = [[2, 2], [3, 2], [2, 3]];
    let t = tree(&levels);
    let mut routes = routes(&t, NextHopOrder::Port);
    let graph = routes.graph().clone();
    for (dst, count) in [(1, 2), (2, 4), (5, 4), (6, 12), (11, 12)] {
        let mut paths = 0;
        for nic in 0..2 {
            let ([from, to], mut stack) = ([0, dst].map(|h| graph.ports_of(h)[nic].peer), Vec::new());
            stack.push(from);
            while let Some(at) = stack.pop() {
                paths += u32::from(at == to);
                let next = routes.next_hops(at, to).to_vec();
                stack.extend(next.iter().map(|port| graph.ports_of(at)[*port as usize].peer));
            }
        }
        assert_eq!(paths, count, "0 to {dst}");
    }
}

#[test]
fn hosts_back_to_back() {
    let link = Link::symmetric(0, 1, RATE, Duration(0));
    let t = Topology { kinds: vec![NodeKind::Host; 2], tiers: vec![0; 2], links: vec![link; 2] };
    let mut routes = routes(&t, NextHopOrder::Port);
    let mut out = Vec::new();
    let nic = |host, nic| Address { host, nic };
    routes.first_path(nic(0, 1), nic(1, 1), &mut out).unwrap();
    assert_eq!(out, [1]);
    assert!(routes.first_path(nic(0, 0), nic(1, 1), &mut out).is_err(), "no wire between these NICs");
}

#[test]
fn paths_of_more_than_255_links_are_refused() {
    let chain = |switches: u32| {
        let mut t = Topology { kinds: vec![NodeKind::Host; 2], tiers: vec![0; 2], links: Vec::new() };
        t.kinds.resize(2 + switches as usize, NodeKind::Switch);
        t.tiers.resize(2 + switches as usize, 1);
        let ends = [(0, 2), (1, switches + 1)].into_iter();
        let links = ends.chain((2..=switches).map(|s| (s, s + 1)));
        t.links = links.map(|(a, b)| Link::symmetric(a, b, RATE, Duration(0))).collect();
        let mut out = Vec::new();
        let result = routes(&t, NextHopOrder::Port).first_path(at(0), at(1), &mut out);
        result.map(|()| out.len())
    };
    assert_eq!(chain(254).unwrap(), 255);
    assert!(chain(255).unwrap_err().to_string().contains("at most 255 links"));
}

/// Tables of a big tree take a number per (pod, switch), since the edge switches of a pod share one.
#[test]
fn tables_of_8192_hosts_are_small() {
    let t = fat_tree(32, RATE, RATE, Duration(0), None).unwrap();
    let mut routes = routes(&t, NextHopOrder::Port);
    for tor in 8192..8192 + 512 {
        assert_eq!(routes.next_hops(8192 + 1024, tor).len(), 1, "a core has one way down");
    }
    assert!(routes.heap_bytes() < 32 * 1280 * 4 + 100_000, "{}", routes.heap_bytes());
}

/// Hosts with one or two NICs on random switches, random links between switches.
fn random_network() -> impl Strategy<Value = Topology> {
    let nics = prop::collection::vec((0u32..12, 0u32..12, any::<bool>()), 2..8);
    (nics, prop::collection::vec((0u32..12, 0u32..12), 8..40)).prop_map(|(nics, fabric)| {
        let hosts = nics.len() as u32;
        let mut links = Vec::new();
        for (host, &(a, b, both)) in (0..).zip(&nics) {
            links.push((host, hosts + a));
            if both {
                links.push((host, hosts + b));
            }
        }
        links.extend(fabric.iter().filter(|(a, b)| a != b).map(|(a, b)| (hosts + a, hosts + b)));
        let mut kinds = vec![NodeKind::Host; nics.len()];
        kinds.resize(nics.len() + 12, NodeKind::Switch);
        let links = links.into_iter().map(|(a, b)| Link::symmetric(a, b, RATE, Duration(0))).collect();
        Topology { tiers: vec![0; kinds.len()], kinds, links }
    })
}

/// Distances among switches by relaxing every link until nothing changes: slow and plain.
fn plain_distances(graph: &Graph, to: NodeId) -> Vec<Option<u32>> {
    let mut d = vec![None; graph.nodes()];
    d[to as usize] = Some(0);
    for _ in 0..graph.nodes() {
        for p in graph.ports.iter().filter(|p| !graph.is_host(p.node) && !graph.is_host(p.peer)) {
            if let Some(via) = d[p.peer as usize].map(|x: u32| x + 1) {
                let known = d[p.node as usize].unwrap_or(u32::MAX);
                d[p.node as usize] = Some(known.min(via));
            }
        }
    }
    d
}

proptest! {
    /// Next hops are exactly the ports one step nearer, in both orders; every flow's path ends at its NIC and is shortest.
    #[test]
    fn routes_are_all_the_shortest_ones(t in random_network(), sport: u16, descending: bool) {
        let order = if descending { NextHopOrder::DescendingId } else { NextHopOrder::Port };
        let mut routes = routes(&t, order);
        let graph = routes.graph().clone();
        let nics: Vec<PortInfo> = graph.hosts().flat_map(|h| graph.ports_of(h)).copied().collect();
        // The far end's peer port is the NIC's own number.
        let address = |nic: &PortInfo| Address {
            host: nic.node,
            nic: graph.opposite(nic).peer_port,
        };
        let mut out = Vec::new();
        for dst in &nics {
            let distance = plain_distances(&graph, dst.peer);
            for s in (0..graph.nodes() as NodeId).filter(|&n| !graph.is_host(n)) {
                let nearer = |p: &PortInfo| distance[p.peer as usize].map(|d| d + 1) == distance[s as usize];
                let ports = (0..).zip(graph.ports_of(s));
                let expected: Vec<PortNo> = ports
                    .filter(|(_, p)| s != dst.peer && distance[s as usize].is_some() && !graph.is_host(p.peer) && nearer(p))
                    .map(|(i, _)| i)
                    .collect();
                let mut got = routes.next_hops(s, dst.peer).to_vec();
                if descending {
                    got.sort_unstable();
                }
                prop_assert_eq!(got, expected);
                prop_assert_eq!(routes.distance(s, dst.peer), distance[s as usize]);
            }
            for src in nics.iter().filter(|src| src.node != dst.node) {
                let tuple = tuple(src.node, dst.node, sport, 100);
                let found = routes.flow_path(address(src), address(dst), &tuple, &mut out);
                prop_assert_eq!(found.is_ok(), distance[src.peer as usize].is_some());
                if let Some(d) = distance[src.peer as usize] {
                    prop_assert_eq!(out.len() as u32, d + 2);
                    let nodes = nodes_of(&graph, src.node, &out);
                    prop_assert_eq!(nodes[nodes.len() - 1], dst.node);
                    let last = graph.ports_of(nodes[nodes.len() - 2])[out[out.len() - 1] as usize];
                    prop_assert_eq!(last.link, dst.link);
                }
            }
        }
    }
}

/// A tree of two tiers with some links missing: leaves that are wired alike, and some that are not.
fn leaky_tree() -> impl Strategy<Value = Topology> {
    (2u32..7, 1u32..5, prop::collection::vec((0u32..7, 0u32..5), 0..4)).prop_map(|(leaves, spines, missing)| {
        let mut t = leaf_spine(leaves, spines, 1, RATE, RATE, Duration(0), 1).unwrap();
        t.links.retain(|l| l.a < leaves || !missing.contains(&(l.a - leaves, l.b - 2 * leaves)));
        t
    })
}

proptest! {
    /// Tables shared by switches that are wired alike say what a search from each of them says, in the same order: else a
    /// flow would take another path than in the reference.
    #[test]
    fn shared_tables_are_those_of_each_search(t in prop_oneof![leaky_tree(), random_network()], descending: bool) {
        let order = if descending { NextHopOrder::DescendingId } else { NextHopOrder::Port };
        let mut routes = routes(&t, order);
        let switches = routes.fabric.switches.clone();
        for &dst in &switches {
            for &s in &switches {
                let got = routes.next_hops(s, dst).to_vec();
                let (target, at) = (routes.fabric.dense[dst as usize], routes.fabric.dense[s as usize]);
                routes.fabric.search(target);
                prop_assert_eq!(&got[..], routes.fabric.next_hops(at), "{} to {}", s, dst);
            }
        }
    }
}
