use std::fmt::Write;

use super::*;

const G: u64 = 1_000_000_000;
const FAST: BitsPerSec = BitsPerSec(400 * G);
const SLOW: BitsPerSec = BitsPerSec(100 * G);
const US: Duration = Duration::from_us(1);

/// 64-bit FNV-1a.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

fn pairs(t: &Topology) -> Vec<(NodeId, NodeId)> {
    t.links.iter().map(|l| (l.a, l.b)).collect()
}

#[test]
fn fat320_is_the_published_tree_link_for_link() {
    let t = hpcc_fat320().unwrap();
    let mut text = String::new();
    for l in &t.links {
        assert_eq!(l.ab, l.ba);
        writeln!(text, "{} {} {} {} {}", l.a, l.b, l.ab.rate.0, l.ab.delay.0, l.error_rate).unwrap();
    }
    assert_eq!((t.kinds.len(), t.links.len()), (376, 480));
    assert_eq!(fnv1a(&text), 0xac98_3c3e_6854_0b77, "checksum of the published file in this form");
}

#[test]
fn every_generator_gives_a_valid_network_with_its_tiers() {
    let trees = [
        star(3, SLOW, US),
        dumbbell(2, 3, SLOW, FAST, US, Duration(0)),
        parking_lot(3, SLOW, SLOW, US, US),
        leaf_spine(4, 2, 3, SLOW, FAST, US, 2),
        fat_tree(2, SLOW, SLOW, US, None),
        fat_tree(4, SLOW, FAST, US, Some(5)),
        hpcc_fat320(),
        levels(&[[4, 1]]),
        levels(&[[3, 2], [2, 2], [4, 1], [2, 3]]),
    ];
    for tree in trees {
        let tree = tree.unwrap();
        validate_topology(&tree).unwrap();
        let mut by_distance = tree.clone();
        tier_by_distance(&mut by_distance);
        assert_eq!(by_distance.tiers, tree.tiers);
        assert!(tree.tiers.is_sorted(), "hosts, then tor, agg, core");
    }
}

#[test]
fn small_shapes_are_wired_as_drawn() {
    assert_eq!(pairs(&star(3, SLOW, US).unwrap()), [(0, 3), (1, 3), (2, 3)]);
    assert_eq!(pairs(&dumbbell(1, 2, SLOW, FAST, US, US).unwrap()), [(0, 3), (1, 4), (2, 4), (3, 4)]);
    let lot = parking_lot(2, SLOW, FAST, US, US).unwrap();
    assert_eq!(pairs(&lot), [(0, 6), (1, 8), (2, 6), (3, 7), (4, 7), (5, 8), (6, 7), (7, 8)]);
    assert_eq!((lot.links[5].ab.rate, lot.links[6].ab.rate), (SLOW, FAST));
    let two_tier = leaf_spine(2, 1, 1, SLOW, FAST, US, 2).unwrap();
    assert_eq!(pairs(&two_tier), [(0, 2), (1, 3), (2, 4), (2, 4), (3, 4), (3, 4)]);
}

#[test]
fn fat_tree_counts() {
    for (k, hosts_per_edge, hosts) in [(4, None, 16), (8, None, 128), (8, Some(12), 384), (32, Some(16), 8192)] {
        let t = fat_tree(k, SLOW, SLOW, US, hosts_per_edge).unwrap();
        let count = |tier| t.tiers.iter().map(|&x| u32::from(x == tier)).sum::<u32>();
        assert_eq!([count(0), count(1), count(2), count(3)], [hosts, k * k / 2, k * k / 2, k * k / 4]);
        let mut ports = vec![0; t.kinds.len()];
        for l in &t.links {
            ports[l.a as usize] += 1;
            ports[l.b as usize] += 1;
        }
        for (n, tier) in t.tiers.iter().enumerate() {
            let want = [1, k / 2 + hosts_per_edge.unwrap_or(k / 2), k, k][*tier as usize];
            assert_eq!(ports[n], want, "node {n} of k = {k}");
        }
    }
}

/// An XGFT of these children and parents.
fn levels(counts: &[[u32; 2]]) -> Result<Topology, crate::InputError> {
    let wire = Side { rate: SLOW, delay: US };
    xgft(&counts.iter().map(|&[children, parents]| Level { children, parents, wire }).collect::<Vec<_>>())
}

/// XGFT(3; 2, 3, 2; 1, 2, 2): counts per level, ports, and that neighbours differ in the digit of the upper level alone.
#[test]
fn xgft_is_wired_by_digits() {
    let (m, w) = ([2, 3, 2], [1, 2, 2]);
    let t = levels(&[[2, 1], [3, 2], [2, 2]]).unwrap();
    let count = |tier| t.tiers.iter().map(|&x| u32::from(x == tier)).sum::<u32>();
    assert_eq!([0, 1, 2, 3].map(count), [12, 6, 4, 4]);
    assert_eq!(t.links.len(), 12 + 6 * 2 + 4 * 2);
    let first = [0, 12, 18, 22];
    // Digits of a node, the topmost first: children above its level, parents up to it.
    let digits = |node: u32| {
        let level = usize::from(t.tiers[node as usize]);
        let mut rest = node - first[level];
        let mut digits = [0; 3];
        for i in 0..3 {
            let (place, base) = if i < level { (2 - i, w[i]) } else { (2 - i, m[i]) };
            digits[place] = rest % base;
            rest /= base;
        }
        digits
    };
    for link in &t.links {
        let (lower, upper) = (digits(link.a), digits(link.b));
        let level = usize::from(t.tiers[link.b as usize]);
        assert_eq!(usize::from(t.tiers[link.a as usize]) + 1, level);
        let differing: Vec<usize> = (0..3).filter(|&i| lower[i] != upper[i]).collect();
        assert!(differing.is_empty() || differing == [3 - level], "{} {lower:?} - {} {upper:?}", link.a, link.b);
    }
    // A two-level tree is a leaf-spine, a binary fat-tree the one of four ports.
    assert_eq!(levels(&[[3, 1], [4, 2]]).unwrap(), leaf_spine(4, 2, 3, SLOW, SLOW, US, 1).unwrap());
    let sizes = |t: Topology| (t.tiers, t.links.len());
    assert_eq!(sizes(levels(&[[2, 1], [2, 2], [4, 2]]).unwrap()), sizes(fat_tree(4, SLOW, SLOW, US, None).unwrap()));
}

#[test]
fn bad_arguments_are_named() {
    let zero = BitsPerSec(0);
    let long = Duration(MAX_DELAY.0 + 1);
    let big = u32::MAX;
    let cases = [
        (star(0, SLOW, US), "hosts = 0"),
        (star(65_536, SLOW, US), "hosts = 65536"),
        (star(2, zero, US), "rate = 0bps"),
        (star(2, SLOW, long), "delay = "),
        (dumbbell(0, 1, SLOW, SLOW, US, US), "left = 0"),
        (dumbbell(1, big, SLOW, SLOW, US, US), "right + 1 = 4294967296"),
        (dumbbell(1, 1, SLOW, zero, US, US), "bottleneck_rate = 0bps"),
        (parking_lot(0, SLOW, SLOW, US, US), "hops = 0"),
        (parking_lot(254, SLOW, SLOW, US, US), "hops = 254"),
        (leaf_spine(1, 1, 1, SLOW, SLOW, US, 1), "leaves * hosts_per_leaf = 1"),
        (leaf_spine(2, 0, 1, SLOW, SLOW, US, 1), "spines = 0"),
        (leaf_spine(2, 2, 1, SLOW, SLOW, US, 0), "links_per_pair = 0"),
        (leaf_spine(2, 40_000, 1, SLOW, SLOW, US, 2), "hosts_per_leaf + spines * links_per_pair = 80001"),
        (leaf_spine(60_000, 2, 60_000, SLOW, SLOW, US, 1), "leaves * (hosts_per_leaf + 1) + spines"),
        (leaf_spine(30_000, 30_000, 1, SLOW, SLOW, US, 1), "leaves * (hosts_per_leaf + spines * links_per_pair)"),
        (leaf_spine(big, big, big, SLOW, SLOW, US, big), "hosts_per_leaf + spines"),
        (fat_tree(3, SLOW, SLOW, US, None), "k = 3"),
        (fat_tree(0, SLOW, SLOW, US, None), "k = 0"),
        (fat_tree(4, SLOW, SLOW, US, Some(0)), "hosts_per_edge = 0"),
        (fat_tree(4, SLOW, zero, US, None), "fabric_rate = 0bps"),
        (fat_tree(1000, SLOW, SLOW, US, None), "hosts and switches = 251250000"),
        (fat_tree(big - 1, SLOW, SLOW, US, None), "k = 4294967294"),
        (levels(&[]), "levels = 0"),
        (levels(&[[2, 1]; 9]), "levels = 9"),
        (levels(&[[1, 1], [1, 3]]), "hosts, the product of all children = 1"),
        (levels(&[[2, 1], [0, 3]]), "children, level 2 = 0"),
        (levels(&[[2, 0], [2, 3]]), "parents, level 1 = 0"),
        (levels(&[[60_000, 1], [2, 60_000]]), "children of a switch of level 1 and its parents = 120000"),
        (levels(&[[60_000, 1], [60_000, 1]]), "links below level 1 = 3600000000"),
        (levels(&[[65_535, 65_535]; 8]), "children of a switch of level 1 and its parents = 131070"),
        (xgft(&[Level { children: 2, parents: 1, wire: Side { rate: zero, delay: US } }]), "rate, level 1 = 0bps"),
    ];
    for (result, start) in cases {
        let text = result.unwrap_err().to_string();
        assert!(text.starts_with(start), "{text}\nshould start with {start}");
        assert!(text.contains("allowed: "), "{text}");
    }
}

/// Hosts 0 and 1 on switch 2, as a start for faults.
fn good() -> Topology {
    star(2, SLOW, US).unwrap()
}

fn refused(fault: impl FnOnce(&mut Topology)) -> String {
    let mut t = good();
    fault(&mut t);
    validate_topology(&t).unwrap_err().to_string()
}

#[test]
fn faults_of_a_user_network_are_named() {
    let texts = [
        refused(|t| t.links[1].b = 3),
        refused(|t| t.links[1].a = 2),
        refused(|t| t.links[0].b = 1),
        refused(|t| t.links[0].ba.rate = BitsPerSec(0)),
        refused(|t| t.links[1].ab.delay = Duration(u64::MAX)),
        refused(|t| t.links[1].error_rate = 1.5),
        refused(|t| t.links[1].error_rate = f64::NAN),
        refused(|t| t.links.truncate(1)),
        refused(|t| t.links = vec![t.links[0]; 65_536]),
        refused(|t| t.tiers.truncate(2)),
        refused(|t| t.tiers[0] = 1),
        refused(|t| t.tiers[2] = 0),
        refused(|t| t.kinds[1] = NodeKind::Switch),
        refused(|t| t.kinds.clear()),
    ];
    let expected = "\
link 1 (1 - 3) = 3: no such node; allowed: node ids 0 to 2
link 1 (2 - 2): a node linked to itself; allowed: two different nodes
link 0 (0 - 1): two hosts linked to each other; allowed: hosts linked to switches, or a network of just two hosts
link 0, rate 2 to 0 = 0bps: a link needs a rate; allowed: 1bps to 100Tbps
link 1, delay 1 to 2 = 18446744073709551615ps: delay too long; allowed: 0ps to 1s
link 1, error_rate = 1.5: not a probability; allowed: 0 to 1
link 1, error_rate = NaN: not a probability; allowed: 0 to 1
links of host 1 = 0: a host without a link; allowed: 1 to 256
links of host 0 = 65536: too many links; allowed: 1 to 256
tiers = 2: not one tier per node; allowed: 3 tiers, one per node
tier of node 0 = 1: tier does not fit the kind; allowed: 0 for hosts, 1 or more for switches
tier of node 2 = 0: tier does not fit the kind; allowed: 0 for hosts, 1 or more for switches
hosts = 1: a network needs two hosts; allowed: 2 or more
hosts = 0: a network needs two hosts; allowed: 2 or more";
    assert_eq!(texts.join("\n"), expected);
}

/// A network of `hosts` hosts and `switches` switches with these links.
fn network(hosts: u32, switches: u32, links: &[(NodeId, NodeId)]) -> Topology {
    let mut b = Builder::with_hosts(hosts);
    b.switches(switches, 1);
    for &(x, y) in links {
        b.link(x, y, Side { rate: SLOW, delay: US });
    }
    b.topology
}

#[test]
fn hosts_must_reach_each_other_without_crossing_a_host() {
    // Hosts 0 and 3 share no plane: between them stands host 1, which does not forward.
    let apart = network(4, 2, &[(0, 4), (1, 4), (1, 5), (2, 4), (2, 5), (3, 5)]);
    let text = validate_topology(&apart).unwrap_err().to_string();
    assert!(text.starts_with("hosts 0 and 3: no path"), "{text}");
    // Joined by a link between the switches they are fine.
    let mut joined = apart.clone();
    joined.links.extend(network(4, 2, &[(4, 5)]).links);
    validate_topology(&joined).unwrap();
    // Two planes without a common switch are fine where every host is on both, even if one plane lacks a host.
    validate_topology(&network(2, 2, &[(0, 2), (1, 2), (0, 3), (1, 3)])).unwrap();
    validate_topology(&network(3, 2, &[(0, 3), (1, 3), (2, 3), (0, 4), (1, 4)])).unwrap();
    // Two hosts back to back are a network.
    validate_topology(&network(2, 0, &[(0, 1), (0, 1)])).unwrap();
}

#[test]
fn tiers_count_links_from_the_nearest_host() {
    let mut t = network(2, 5, &[(0, 2), (1, 3), (2, 4), (3, 4), (4, 5)]);
    tier_by_distance(&mut t);
    assert_eq!(t.tiers, [0, 0, 1, 1, 2, 3, 255], "switch 6 is linked to nothing");
    assert_eq!([0, 1, 2, 3, 4, 255].map(tier_name), ["host", "tor", "agg", "core", "tier4", "tier255"]);
}
