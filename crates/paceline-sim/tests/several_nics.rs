//! Hosts with several NICs, by pen and paper: every flow has the time of its own NICs and path, and loads count all NICs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::common::{ENGINES, GBPS, flow, plain, run};
use paceline_proto::rng::hash3;
use paceline_proto::units::{BitsPerSec, Duration};
use paceline_sim::graph::{Link, NodeKind, Topology};
use paceline_sim::record::{FlowRecord, Status};
use paceline_sim::results::TierLoad;
use paceline_sim::run::{Request, run as run_to_folder};
use paceline_sim::scenario::{NicChoice, PathChoice};
use paceline_sim::spec::parse;
use paceline_sim::workload::FlowSpec;

const US: u64 = 1_000_000;

/// Hosts 0 to 2 and switches from 3: a link is (a, b, Gb/s, us).
fn network(switches: usize, links: &[(u32, u32, u64, u64)]) -> Topology {
    let kinds = [vec![NodeKind::Host; 3], vec![NodeKind::Switch; switches]].concat();
    let link = |&(a, b, rate, delay): &(u32, u32, u64, u64)| {
        Link::symmetric(a, b, BitsPerSec(rate * GBPS), Duration(delay * US))
    };
    Topology { tiers: [vec![0; 3], vec![1; switches]].concat(), kinds, links: links.iter().map(link).collect() }
}

/// FCTs of one packet of 1048 B and its ACK of 60 B over links of (Gb/s, us).
fn one_packet(links: &[(u64, u64)]) -> (u64, u64) {
    let lasts = |bytes: u64| links.iter().map(|(rate, _)| (bytes * 8000).div_ceil(*rate)).sum::<u64>();
    let delay: u64 = links.iter().map(|l| l.1 * US).sum();
    (lasts(1048) + delay, lasts(1048) + lasts(60) + 2 * delay)
}

/// Flows of one packet, each alone in the network.
fn lone_flows(pairs: &[(u32, u32)], count: u64) -> Vec<FlowSpec> {
    (0..count)
        .flat_map(|i| pairs.iter().enumerate().map(move |(k, p)| (i * 8 + k as u64, *p)))
        .map(|(i, (src, dst))| flow(i * 1000 * US, src, dst, 1000))
        .collect()
}

/// How many flows had which FCTs; each has its ideal.
fn times(flows: &[FlowRecord]) -> BTreeMap<(u64, u64), u32> {
    let mut seen = BTreeMap::new();
    for f in flows {
        assert_eq!(f.status, Status::Finished);
        assert_eq!((f.fct_receiver, f.fct_sender), (f.ideal_receiver, f.ideal_sender), "{f:?}");
        *seen.entry((f.fct_receiver, f.fct_sender)).or_default() += 1;
    }
    seen
}

/// Two hosts on two leaves each: a flow takes the time of the NICs it has, which are all pairs, about equally often.
#[test]
fn a_lone_flow_takes_the_ideal_time_of_its_nics() {
    let fabric = [(3, 5, 400, 1), (4, 5, 400, 1)];
    let links = [&[(0, 3, 100, 1), (0, 4, 25, 3), (1, 3, 40, 2), (1, 4, 10, 7), (2, 5, 1, 1)][..], &fabric].concat();
    let topology = network(3, &links);
    let through = [(400, 1), (400, 1)];
    let expected = [
        one_packet(&[(100, 1), (40, 2)]),
        one_packet(&[&[(100, 1)], &through[..], &[(10, 7)]].concat()),
        one_packet(&[&[(25, 3)], &through[..], &[(40, 2)]].concat()),
        one_packet(&[(25, 3), (10, 7)]),
    ];
    for choice in [PathChoice::FlowHash, PathChoice::Spray] {
        let mut scenario = plain(&topology);
        scenario.routing.choice = choice;
        let scenario = Arc::new(scenario);
        for engine in ENGINES {
            let seen = times(&run(&scenario, &lone_flows(&[(0, 1)], 400), engine).flows);
            assert_eq!(seen.keys().copied().collect::<Vec<_>>(), sorted(&expected), "{engine:?}");
            assert!(seen.values().all(|n| (60..140).contains(n)), "{seen:?}");
        }
    }
}

fn sorted(times: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times
}

/// Two planes that share no switch, the third host in one of them only: both ends of a flow are in one plane, always.
#[test]
fn flows_stay_in_a_plane() {
    let links = [(0, 3, 100, 1), (0, 4, 25, 3), (1, 3, 40, 2), (1, 4, 10, 7), (2, 4, 50, 1)];
    let scenario = Arc::new(plain(&network(2, &links)));
    for engine in ENGINES {
        let seen = times(&run(&scenario, &lone_flows(&[(0, 1)], 200), engine).flows);
        let both = [one_packet(&[(100, 1), (40, 2)]), one_packet(&[(25, 3), (10, 7)])];
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), sorted(&both), "{engine:?}");
        assert!(seen.values().all(|n| (70..130).contains(n)), "{seen:?}");
        let seen = times(&run(&scenario, &lone_flows(&[(0, 2), (2, 1)], 50), engine).flows);
        let third = [one_packet(&[(25, 3), (50, 1)]), one_packet(&[(50, 1), (10, 7)])];
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), sorted(&third), "{engine:?}");
    }
}

/// Hosts 0 and 1 share an NVSwitch (3) and a switch (4) at which host 2 is, too: with "nearest" they use what is fastest of both, and
/// the network where that link is missing; with host 2 only the network is shared.
#[test]
fn the_nearest_nics_are_those_of_a_servers_switch() {
    let links = [(0, 3, 2880, 1), (0, 4, 400, 1), (1, 3, 2880, 1), (1, 4, 400, 1), (2, 4, 400, 1)];
    let scenario = |nics, links: &[(u32, u32, u64, u64)]| {
        let mut scenario = plain(&network(2, links));
        scenario.routing.nics = nics;
        Arc::new(scenario)
    };
    let (inside, outside) = (one_packet(&[(2880, 1), (2880, 1)]), one_packet(&[(400, 1), (400, 1)]));
    let flows = lone_flows(&[(0, 1), (1, 0), (0, 2), (2, 1)], 20);
    for engine in ENGINES {
        let seen = times(&run(&scenario(NicChoice::Nearest, &links), &flows, engine).flows);
        assert_eq!(seen, BTreeMap::from([(inside, 40), (outside, 40)]), "{engine:?}");
        let seen = times(&run(&scenario(NicChoice::All, &links), &flows, engine).flows);
        assert!(seen[&inside] < 30 && seen[&outside] > 50, "{seen:?}");
        // Without the NVSwitch's link to host 1.
        let seen =
            times(&run(&scenario(NicChoice::Nearest, &[&links[..2], &links[3..]].concat()), &flows, engine).flows);
        assert_eq!(seen, BTreeMap::from([(outside, 80)]), "{engine:?}");
    }
}

/// Where each host has switches of its own "nearest" chooses nothing, and a run says so; where a switch has two hosts it does not.
#[test]
fn nearest_without_a_common_switch_is_told() {
    const LINKS: [&str; 2] = [
        "{ a = 'a', b = 's' }, { a = 'a', b = 's' }, { a = 'b', b = 't' }, { a = 'b', b = 't' }, { a = 's', b = 't' }",
        "{ a = 'a', b = 's' }, { a = 'a', b = 't' }, { a = 'b', b = 's' }, { a = 'b', b = 't' }, { a = 's', b = 't' }",
    ];
    let told = LINKS.map(|links| {
        let text = format!(
            "[topology]\nkind = 'graph'\nhosts = ['a', 'b']\nswitches = ['s', 't']\nlinks = [{links}]\n\
             [routing]\nnics = 'nearest'\n[schemes.none]\ncc = 'none'\n\
             [[workloads]]\nkind = 'permutation'\nsizes = '10KB'\n"
        );
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("several-nics").join("nearest");
        let spec = parse(&text, "nearest", &[]).unwrap_or_else(|e| panic!("{e}"));
        let request = Request { spec, out, threads: 1, version: "test".into(), git: None };
        let summary = run_to_folder(request, &mut |_| true).unwrap();
        summary.without_effect.into_iter().find(|clause| clause.contains("routing.nics"))
    });
    assert_eq!(told, [Some("routing.nics: no two hosts are at one switch".to_owned()), None]);
}

/// Two hosts joined by two cables: a flow and its ACKs use one of them.
#[test]
fn two_cables_back_to_back() {
    let link = |rate, us| Link::symmetric(0, 1, BitsPerSec(rate * GBPS), Duration(us * US));
    let topology =
        Topology { kinds: vec![NodeKind::Host; 2], tiers: vec![0; 2], links: vec![link(100, 1), link(10, 5)] };
    let scenario = Arc::new(plain(&topology));
    for engine in ENGINES {
        let seen = times(&run(&scenario, &lone_flows(&[(0, 1), (1, 0)], 50), engine).flows);
        assert_eq!(
            seen.keys().copied().collect::<Vec<_>>(),
            sorted(&[one_packet(&[(100, 1)]), one_packet(&[(10, 5)])])
        );
    }
}

const DUAL: &str = "
    framing.preset = 'hpcc'
    [topology]
    kind = 'graph'
    hosts = ['a', 'b', 'c']
    switches = ['s', 't']
    links = [
        { a = 'a', b = 's', rate = '10Gbps' }, { a = 'a', b = 't', rate = '10Gbps' },
        { a = 'b', b = 's', rate = '10Gbps' }, { a = 'b', b = 't', rate = '10Gbps' },
        { a = 'c', b = 's', rate = '10Gbps' }, { a = 'c', b = 't', rate = '10Gbps' },
        { a = 's', b = 't', rate = '40Gbps' },
    ]
    [schemes.none]
    cc = 'none'
    window = 'off'
";

/// What a load is of: tier, and direction between nodes of one tier.
fn named(load: &TierLoad) -> String {
    load.direction.as_ref().map_or(load.tier.clone(), |direction| format!("{} {direction}", load.tier))
}

fn loads(name: &str, workload: &str) -> BTreeMap<String, (f64, f64, u64)> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("several-nics").join(name);
    let spec = parse(&format!("{DUAL}{workload}"), name, &[]).unwrap_or_else(|e| panic!("{e}"));
    let request = Request { spec, out, threads: 1, version: "test".into(), git: None };
    let summary = run_to_folder(request, &mut |_| true).unwrap();
    summary.load.iter().map(|l| (named(l), (l.offered, l.carried, l.capacity_bps))).collect()
}

/// Half of what all six NICs can send: half of the rate of all host links, up and down.
#[test]
fn host_load_counts_all_nics() {
    let workload = "[[workloads]]\nkind = 'poisson'\nsizes = '10KB'\nduration = '5ms'\n\
                    load = { value = 0.5, bytes = 'wire' }\n";
    let load = loads("host-load", workload);
    for tier in ["host->tor", "tor->host"] {
        let (offered, carried, capacity) = load[tier];
        assert_eq!(capacity, 60 * GBPS);
        // 1,800 flows: 2.4 % standard deviation.
        assert!((offered - 0.5).abs() < 0.05 && (carried - 0.5).abs() < 0.05, "{tier} {offered} {carried}");
    }
    // Half of the flows change the switch.
    for direction in ["tor->tor to higher ids", "tor->tor to lower ids"] {
        let (offered, _, capacity) = load[direction];
        assert_eq!(capacity, 40 * GBPS);
        assert!((offered - 0.5 * 60.0 / 80.0 / 2.0).abs() < 0.02, "{offered}");
        // The same by the uplinks: 0.2 of them.
        let load = loads("uplink-load", &workload.replace("value = 0.5", "of = 'tor_uplink', value = 0.2"));
        assert!((load[direction].0 - 0.2).abs() < 0.03, "{}", load[direction].0);
    }
}

/// What a link between two switches is asked to carry one way is not halved by what it could carry the other way: nothing would tell of
/// a bottleneck that is asked for more than it has.
#[test]
fn a_bottlenecks_directions_are_loaded_each_by_itself() {
    let text = "topology = { kind = 'dumbbell', left = 2, right = 2, host_rate = '10Gbps', bottleneck_rate = '10Gbps' }\n\
                schemes.hpcc = { cc = 'hpcc' }\n\
                workloads = [{ kind = 'flows', rows = [{ src = 0, dst = 2, bytes = '1MB' }, { src = 1, dst = 3, bytes = '1MB', \
                start = '100us' }, { src = 0, dst = 2, bytes = '1B', start = '800us' }] }]\n";
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("several-nics").join("one-way");
    let spec = parse(text, "one-way", &[]).unwrap_or_else(|e| panic!("{e}"));
    let request = Request { spec, out, threads: 1, version: "test".into(), git: None };
    let summary = run_to_folder(request, &mut |_| true).unwrap();
    let load = |name: &str| summary.load.iter().find(|l| named(l) == name).map(|l| l.offered).unwrap();
    assert!((load("tor->tor to higher ids") - 2.1).abs() < 0.1);
    assert_eq!(load("tor->tor to lower ids").to_bits(), 0);
    let told = "tor->tor (to higher ids): offered load 21";
    assert!(summary.warnings.iter().any(|w| w.starts_with(told)), "{:?}", summary.warnings);
}

/// The salt of hashed paths is also that of the hashes by which flows are dealt to NICs: without it no run shows how lucky a deal is.
#[test]
fn the_salt_deals_flows_to_nics_anew() {
    let links = [(0, 3, 100, 1), (0, 4, 25, 3), (1, 3, 40, 2), (1, 4, 10, 7), (2, 4, 50, 1)];
    let dealt = |salt| {
        let mut scenario = plain(&network(2, &links));
        scenario.routing.salt = salt;
        let flows = run(&Arc::new(scenario), &lone_flows(&[(0, 1)], 40), ENGINES[0]).flows;
        flows.iter().map(|flow| flow.fct_sender).collect::<Vec<_>>()
    };
    assert_ne!(dealt(0), dealt(1));
    assert_eq!(dealt(1), dealt(1));
    // Salt 0 leaves the hashes as they are without one: of host, flow and end. The NIC of the source decides on the plane.
    let planes = [one_packet(&[(100, 1), (40, 2)]), one_packet(&[(25, 3), (10, 7)])];
    let plain = (0..40).map(|id| planes[(hash3(0, id, 1) % 2) as usize].1);
    assert_eq!(dealt(0), plain.collect::<Vec<_>>());
}

/// Offered and carried to the bit: two flows of one byte, padded to 60 B, and what they are a share of.
#[test]
fn loads_of_tiers_are_exact() {
    let rows = "rows = [{ src = 0, dst = 1, bytes = '1B' }, { src = 1, dst = 2, bytes = '1001B', start = '1ms' }]";
    let load = loads("exact", &format!("[[workloads]]\nkind = 'flows'\n{rows}\n"));
    let bits = (60.0 + 1048.0 + 60.0) * 8.0;
    let (offered, carried, _) = load["host->tor"];
    assert!((offered - bits / (60e9 * 1e-3)).abs() < 1e-15, "{offered}");
    assert!(carried < offered && carried > 0.98 * offered, "{carried} {offered}");
    assert_eq!(load["tor->host"].0.to_bits(), offered.to_bits());
}
