use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::graph::{Link, NodeKind, Side, Topology};
use crate::routing::config::{NextHopOrder, NicChoice, PathChoice, RoutingConfig};
use crate::topology::{dumbbell, fat_tree, hpcc_fat320, star, validate_topology};

const G: u64 = 1_000_000_000;
const US: Duration = Duration::from_us(1);

fn routes(topology: &Topology) -> Routes {
    let config = RoutingConfig {
        choice: PathChoice::FlowHash,
        order: NextHopOrder::DescendingId,
        salt: 0,
        nics: NicChoice::All,
        flowlet_gap: Duration(0),
    };
    Routes::new(Arc::new(Graph::new(topology)), config)
}

fn pair(topology: &Topology, src: NodeId, dst: NodeId) -> BaseRtt {
    base_rtt(&mut routes(topology), Address { host: src, nic: 0 }, Address { host: dst, nic: 0 }, 1000).unwrap()
}

/// What the reference simulator printed.
#[test]
fn maxima_of_the_reference() {
    let largest = |t: &Topology| {
        let max = max_base_rtt(&mut routes(t), 1000);
        (max.rtt_ns, max.bdp)
    };
    assert_eq!(largest(&hpcc_fat320().unwrap()), (12_240, 153_000));
    assert_eq!(largest(&star(17, BitsPerSec(100 * G), US).unwrap()), (4160, 52_000));
    let bell = dumbbell(2, 2, BitsPerSec(100 * G), BitsPerSec(100 * G), US, US).unwrap();
    assert_eq!(largest(&bell), (6240, 78_000));
}

/// Columns size and standalone FCT the reference simulator wrote.
#[test]
fn standalone_times_of_the_reference() {
    let fat = hpcc_fat320().unwrap();
    let star = star(17, BitsPerSec(100 * G), US).unwrap();
    for (topology, src, dst, bytes, ns) in [
        (&star, 0, 1, 1, 4163),
        (&star, 0, 1, 100_000, 12_544),
        (&star, 0, 16, 500_000, 46_080),
        (&fat, 0, 21, 1, 8203),
        (&fat, 53, 276, 9_395_753, 799_980),
        (&fat, 189, 184, 29_693_812, 2_493_689),
        (&fat, 268, 188, 350, 12_271),
        (&fat, 122, 108, 12, 8204),
    ] {
        assert_eq!(hpcc_standalone(&pair(topology, src, dst), bytes, 1000), ns, "{src} to {dst}, {bytes} B");
    }
}

/// 8,192 hosts have 67 million pairs; this takes a fraction of a second because only switches are paired.
#[test]
fn maxima_of_a_big_tree() {
    let t = fat_tree(32, BitsPerSec(100 * G), BitsPerSec(400 * G), US, None).unwrap();
    assert_eq!(max_base_rtt(&mut routes(&t), 1000).rtt_ns, 12_240);
}

#[test]
fn two_hosts_back_to_back() {
    let link = Link::symmetric(0, 1, BitsPerSec(100 * G), US);
    let t = Topology { kinds: vec![NodeKind::Host; 2], tiers: vec![0; 2], links: vec![link] };
    assert_eq!(max_base_rtt(&mut routes(&t), 1000), pair(&t, 0, 1));
    assert_eq!(pair(&t, 0, 1), BaseRtt { rtt_ns: 2080, bdp: 26_000, min_rate: BitsPerSec(100 * G), links: 1 });
}

/// Random tree of switches, hosts with one or two NICs, one to `rates` rates and `delays` delays in either direction: with
/// one of each, many switches are wired alike.
fn random_network(rates: u64, delays: u64) -> impl Strategy<Value = Topology> {
    let side = move || {
        (1..=rates, 0..delays).prop_map(|(r, d)| Side { rate: BitsPerSec(r * 10 * G), delay: Duration(d * 1_700_000) })
    };
    let wire = move || (side(), side());
    let nics = prop::collection::vec((0u32..5, wire(), prop::option::of((0u32..5, wire()))), 2..7);
    let fabric = prop::collection::vec((0u32..5, wire()), 4..9);
    (nics, fabric).prop_map(|(nics, fabric)| {
        let hosts = nics.len() as u32;
        let mut t = Topology { kinds: vec![NodeKind::Host; nics.len()], tiers: vec![0; nics.len()], links: Vec::new() };
        t.kinds.resize(nics.len() + 5, NodeKind::Switch);
        t.tiers.resize(nics.len() + 5, 1);
        let mut link = |a, b, (ab, ba)| t.links.push(Link { a, b, ab, ba, error_rate: 0.0 });
        for (host, (first, wire, second)) in (0..).zip(nics) {
            link(host, hosts + first, wire);
            if let Some((second, wire)) = second {
                link(host, hosts + second, wire);
            }
        }
        for (i, (to, wire)) in (0u32..).zip(fabric) {
            let (a, b) = if i < 4 { (i + 1, to % (i + 1)) } else { (to, (to + i) % 5) };
            if a != b {
                link(hosts + a, hosts + b, wire);
            }
        }
        t
    })
}

proptest! {
    /// The maxima by classes are the maxima over all pairs of NICs.
    #[test]
    fn maxima_are_those_of_all_pairs(t in prop_oneof![random_network(1, 1), random_network(2, 2), random_network(4, 9)]) {
        prop_assert!(validate_topology(&t).is_ok());
        let mut routes = routes(&t);
        let graph = routes.graph().clone();
        let nics: Vec<Address> = graph
            .hosts()
            .flat_map(|host| (0..graph.ports_of(host).len() as u16).map(move |nic| Address { host, nic }))
            .collect();
        let mut pairs = Vec::new();
        for &src in &nics {
            for &dst in nics.iter().filter(|dst| dst.host != src.host) {
                pairs.push(base_rtt(&mut routes, src, dst, 1000).unwrap());
            }
        }
        let expected = BaseRtt {
            rtt_ns: pairs.iter().map(|p| p.rtt_ns).max().unwrap(),
            bdp: pairs.iter().map(|p| p.bdp).max().unwrap(),
            min_rate: pairs.iter().map(|p| p.min_rate).min().unwrap(),
            links: pairs.iter().map(|p| p.links).max().unwrap(),
        };
        prop_assert_eq!(max_base_rtt(&mut routes, 1000), expected);
    }
}

/// By hand: 4 GB are 4,192,000,000 bytes on the wire, whose time at 8e9 per byte has 64 bits and more; of 4.2 GB 32 bits are left.
#[test]
fn standalone_times_of_large_flows_wrap_around_in_the_reference() {
    let pair = BaseRtt { rtt_ns: 4160, bdp: 52_000, min_rate: BitsPerSec(100_000_000_000), links: 2 };
    let of = |bytes| reference_standalone(&pair, bytes, 1000);
    assert_eq!([of(100_000), of(4_000_000_000), of(4_200_000_000)], [12_544, 150_896_719, 8_534_776]);
    assert_eq!(hpcc_standalone(&pair, 4_000_000_000, 1000), 335_364_160);
}
