//! Networks in which nothing moves any more: the run ends, and says who waits for whom.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::{ENGINES, GBPS, Outcome, flow, plain, run, run_text, star};
use paceline_proto::units::{BitsPerSec, Bytes, Duration, Time};
use paceline_sim::engine::Ending;
use paceline_sim::graph::{Link, NodeKind, Topology};
use paceline_sim::record::Status;
use paceline_sim::scenario::*;
use paceline_sim::workload::FlowSpec;

const SWITCHES: u32 = 5;
const HOSTS_PER_SWITCH: u32 = 2;
const HOSTS: u32 = SWITCHES * HOSTS_PER_SWITCH;

/// Five switches in a ring, two hosts at each. Between switches two apart the shortest path is unique.
fn ring() -> Topology {
    let mut links = Vec::new();
    for h in 0..HOSTS {
        links.push(Link::symmetric(h, HOSTS + h / HOSTS_PER_SWITCH, BitsPerSec(100 * GBPS), Duration::from_us(1)));
    }
    for s in 0..SWITCHES {
        let next = HOSTS + (s + 1) % SWITCHES;
        links.push(Link::symmetric(HOSTS + s, next, BitsPerSec(100 * GBPS), Duration::from_us(1)));
    }
    Topology {
        kinds: [vec![NodeKind::Host; HOSTS as usize], vec![NodeKind::Switch; SWITCHES as usize]].concat(),
        tiers: [vec![0; HOSTS as usize], vec![1; SWITCHES as usize]].concat(),
        links,
    }
}

/// Every host sends to a host two switches further on: each link of the ring waits for the next.
fn round_and_round() -> Vec<FlowSpec> {
    (0..HOSTS).map(|h| flow(0, h, (h + 2 * HOSTS_PER_SWITCH) % HOSTS, 2_000_000)).collect()
}

fn lossless(buffer: u64) -> SwitchConfig {
    let headroom = 40_000;
    SwitchConfig {
        strict: false,
        selective: None,
        trimming: None,
        red: None,
        qcn: None,
        exempt_syn: false,
        buffer: Bytes(buffer + u64::from(2 + HOSTS_PER_SWITCH) * (headroom + 2048)),
        model: BufferModel::Shared,
        accounting: Accounting::Output,
        pfc: Some(Pfc {
            reserve: Bytes(2048),
            headroom: Headroom::Fixed(Bytes(headroom)),
            alpha_q16: 1 << 13,
            alpha_scales: false,
            wraps: false,
            resume_offset: Bytes(3072),
            classes: 1,
            xoff: None,
            xon: None,
            reaction: Duration(0),
        }),
        egress_alpha_q16: 1 << 16,
        ecn: None,
    }
}

fn why(result: &Outcome) -> &str {
    let Ending::Stalled(why) = &result.ending else { panic!("not stalled: {:?}", result.ending) };
    why
}

/// The links of the cycle a diagnosis names: numbers of the top-of-rack switches at their ends.
fn cycle(text: &str) -> Vec<(u32, u32)> {
    let (_, rest) = text.split_once("PFC deadlock of ").unwrap_or_else(|| panic!("no cycle named: {text}"));
    let (head, rest) = rest.split_once(": ").unwrap();
    let ports = rest.strip_suffix(", which waits for the first").unwrap().split(", which waits for ");
    let links: Vec<_> = ports
        .map(|port| {
            let (from, to) = port.split_once(' ').unwrap().0.split_once("->").unwrap();
            let number = |name: &str| name.strip_prefix("tor").and_then(|n| n.parse().ok()).expect("a switch");
            (number(from), number(to))
        })
        .collect();
    assert_eq!(head, format!("{} paused ports in class 3", links.len()));
    links
}

#[test]
fn a_ring_under_pfc_deadlocks_and_the_cycle_is_named() {
    let rto = Some(Rto { initial: Duration::from_us(1000), tries: 7 });
    for (rto, buffer) in [(None, 200_000), (rto, 200_000), (None, 20_000), (rto, 20_000)] {
        let mut scenario = plain(&ring());
        scenario.switch = lossless(buffer);
        scenario.host.rto = rto;
        scenario.stall = Some(Duration::from_us(500));
        let scenario = Arc::new(scenario);
        let results = ENGINES.map(|engine| run(&scenario, &round_and_round(), engine));
        for result in &results {
            let named = cycle(why(result));
            // Each link waits for the next clockwise, all the way round.
            let ring: Vec<_> = (0..SWITCHES).map(|s| (s, (s + 1) % SWITCHES)).collect();
            assert_eq!(named, ring);
            assert_eq!(result.counters.drops_buffer, 0);
            assert!(result.flows.len() < HOSTS as usize);
            assert!(why(result).contains("flows are unfinished"), "{}", why(result));
        }
        assert_eq!(results[0], results[1], "rto {rto:?}, buffer {buffer} B");
    }
}

/// The ring as a user writes it, with names. Five switches, since shortest paths go two links one way round in no smaller ring.
fn ring_by_names(scheme: &str, bytes: &str) -> String {
    let names = ["a", "b", "c", "d", "e"];
    let each = |text: &dyn Fn(usize) -> String| (0..5).map(text).collect::<Vec<_>>().join(", ");
    format!(
        "host.rto = '400us'
        run.stall = '2ms'
        switch.buffer = '600KB'
        [topology]\nkind = 'graph'\nhosts = [{}]\nswitches = [{}]\nlinks = [{}, {}]
        [schemes.x]\n{scheme}
        [[workloads]]\nkind = 'flows'\nrows = [{}]\n",
        each(&|i| format!("'{0}1', '{0}2'", names[i])),
        each(&|i| format!("'{}'", names[i])),
        each(&|i| format!("{{ a = '{0}1', b = '{0}' }}, {{ a = '{0}2', b = '{0}' }}", names[i])),
        each(&|i| format!("{{ a = '{}', b = '{}' }}", names[i], names[(i + 1) % 5])),
        (0..10)
            .map(|h| format!("{{ src = {h}, dst = {}, bytes = '{bytes}' }}", (h + 4) % 10))
            .collect::<Vec<_>>()
            .join(", "),
    )
}

/// The result folder says which links wait for each other, for any number of threads.
#[test]
fn the_result_folder_names_the_cycle() {
    let text = ring_by_names("cc = 'none'\nwindow = 'off'", "4MB");
    for threads in [1, 2] {
        let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("standstill-{threads}"));
        let spec = paceline_sim::spec::parse(&text, "ring", &[]).unwrap_or_else(|e| panic!("{e}"));
        let request = paceline_sim::run::Request { spec, out: out.clone(), threads, version: "test".into(), git: None };
        paceline_sim::run::run(request, &mut |_| true).unwrap();
        let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
        let cycle = "PFC deadlock of 5 paused ports in class 3: a->b (port 10:2), which waits for b->c (port 11:3), \
                     which waits for c->d (port 12:3), which waits for d->e (port 13:3), which waits for e->a (port 14:3), \
                     which waits for the first";
        assert!(summary.contains(cycle), "{summary}");
        assert!(summary.contains("\"stalled\""), "{summary}");
    }
}

/// Over UDP flows may be over for their senders and their datagrams in the ring: nothing has completed then.
#[test]
fn datagrams_that_never_arrive_are_a_standstill() {
    let text = ring_by_names("cc = 'udp'", "60KB");
    let results = [None, Some(1), Some(3)].map(|threads| run_text(&text, 0.0, threads).outcome);
    for result in &results {
        let named = why(result);
        assert!(named.contains("0 flows are unfinished, 445 datagrams have not arrived; PFC deadlock of 5"), "{named}");
        assert_eq!(result.counters.finished, 10);
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(results[1], results[2]);
}

/// The same traffic without PFC drops instead and gets through.
#[test]
fn the_ring_runs_through_without_pfc() {
    let mut scenario = plain(&ring());
    scenario.switch = SwitchConfig { pfc: None, ..lossless(200_000) };
    scenario.host.nack_interval = Duration::from_us(50);
    scenario.host.rto = Some(Rto { initial: Duration::from_us(300), tries: 20 });
    let scenario = Arc::new(scenario);
    let results = ENGINES.map(|engine| run(&scenario, &round_and_round(), engine));
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].ending, Ending::Completed);
    assert!(results[0].flows.iter().all(|f| f.status == Status::Finished));
    assert!(results[0].counters.drops_buffer > 0);
}

/// With room for everything there is no pause and no deadlock: it is the buffers, not the routes alone.
#[test]
fn the_ring_runs_through_with_large_buffers() {
    let mut scenario = plain(&ring());
    scenario.switch = lossless(400_000_000);
    let scenario = Arc::new(scenario);
    for engine in ENGINES {
        let result = run(&scenario, &round_and_round(), engine);
        assert_eq!((&result.ending, result.counters.pause_frames), (&Ending::Completed, 0), "{engine:?}");
    }
}

#[test]
fn a_lost_last_packet_without_timeout_is_diagnosed() {
    let mut topology = star(&[(100 * GBPS, 1_000_000); 3]);
    topology.links[0].error_rate = 1.0;
    let scenario = Arc::new(plain(&topology));
    for engine in ENGINES {
        // Flow 1 is well, flow 0 loses everything.
        let result = run(&scenario, &[flow(0, 0, 2, 3000), flow(0, 1, 2, 3000)], engine);
        let text = why(&result);
        for part in ["1 flows are unfinished", "no retransmission timeout", "flow 0 (0 -> 2)", "packet 0 of 3"] {
            assert!(text.contains(part), "{engine:?}: {part} missing in: {text}");
        }
        assert_eq!(result.flows.iter().map(|f| (f.id, f.status)).collect::<Vec<_>>(), [(1, Status::Finished)]);
    }
}

/// The same with a timeout is no standstill: the flow is tried again and given up, and the run ends by itself.
#[test]
fn a_dead_wire_with_timeouts_ends_in_a_failed_flow() {
    let mut topology = star(&[(100 * GBPS, 1_000_000); 3]);
    topology.links[0].error_rate = 1.0;
    let mut scenario = plain(&topology);
    scenario.host.rto = Some(Rto { initial: Duration::from_us(100), tries: 7 });
    // Far shorter than the last wait of 12.8 ms: a running timeout is an explanation.
    scenario.stall = Some(Duration::from_us(10));
    let scenario = Arc::new(scenario);
    for engine in ENGINES {
        let result = run(&scenario, &[flow(0, 0, 2, 3000), flow(0, 1, 2, 3000)], engine);
        assert_eq!(result.ending, Ending::Completed, "{engine:?}");
        let ended: Vec<_> = result.flows.iter().map(|f| f.status).collect();
        assert_eq!(ended, [Status::Failed, Status::Finished]);
    }
}

/// A long packet finds no room behind another, and the short one after it does: each NACK has both sent again, so that no timeout runs
/// out. The flow is given up all the same, as late as if nobody had answered at all.
#[test]
fn a_packet_that_never_passes_ends_in_a_failed_flow() {
    let mut scenario = plain(&star(&[(100 * GBPS, 200_000_000); 3]));
    scenario.switch = SwitchConfig { buffer: Bytes(1_000), pfc: None, ..lossless(0) };
    let rto = Rto { initial: Duration::from_us(1_000), tries: 3 };
    scenario.host.rto = Some(rto);
    // It went on without end.
    scenario.stop = Stop::At(Time(20 * rto.patience()));
    let scenario = Arc::new(scenario);
    for engine in ENGINES {
        let result = run(&scenario, &[flow(0, 0, 2, 1100)], engine);
        assert_eq!(result.ending, Ending::Completed, "{engine:?}");
        let ended: Vec<_> = result.flows.iter().map(|f| f.status).collect();
        assert_eq!(ended, [Status::Failed], "{engine:?}");
    }
}

/// Timeouts grow, so that the sum of those over is more than the one that runs: a look at the network between two of them, which
/// another flow once gave occasion to, finds a reason to wait.
#[test]
fn flows_that_back_off_are_no_standstill() {
    let mut topology = star(&[(100 * GBPS, 1_000_000); 3]);
    topology.links[0].error_rate = 1.0;
    let mut scenario = plain(&topology);
    scenario.host.rto = Some(Rto { initial: Duration::from_us(100), tries: 4 });
    scenario.stall = Some(Duration::from_us(10));
    let scenario = Arc::new(scenario);
    for engine in ENGINES {
        let result = run(&scenario, &[flow(0, 0, 2, 3000), flow(350_000_000, 0, 2, 3000)], engine);
        assert_eq!(result.ending, Ending::Completed, "{engine:?}");
        assert_eq!(result.flows.iter().map(|f| f.status).collect::<Vec<_>>(), [Status::Failed; 2]);
    }
}

/// A receiver so slow that within the time allowed nothing gets through: no cycle, but paused ports, and who waits.
#[test]
fn a_flow_behind_a_paused_port_is_named() {
    let mut scenario = plain(&star(&[(100 * GBPS, 1_000_000), (100 * GBPS, 1_000_000), (10_000_000, 1_000_000)]));
    scenario.switch = lossless(100_000);
    scenario.stall = Some(Duration::from_us(500));
    let scenario = Arc::new(scenario);
    let flows = [flow(0, 0, 2, 1_000_000), flow(0, 1, 2, 1_000_000)];
    for engine in ENGINES {
        let result = run(&scenario, &flows, engine);
        let text = why(&result);
        for part in ["2 ports are paused", "host0->tor0 (port 0:0)", "flow 1 (1 -> 2)"] {
            assert!(text.contains(part), "{engine:?}: {part} missing in: {text}");
        }
        assert!(!text.contains("deadlock"), "{engine:?}: {text}");
    }
}

/// Stopped in the middle of a window, with timers due before that window would have ended.
#[test]
fn a_run_stops_in_the_middle_of_a_window() {
    let mut scenario = plain(&star(&[(100 * GBPS, 1_000_000); 4]));
    scenario.host.rto = Some(Rto { initial: Duration::from_us(5), tries: 7 });
    for stop in (1_000_000..40_000_000).step_by(333_333) {
        scenario.stop = Stop::At(Time(stop));
        let scenario = Arc::new(scenario.clone());
        let flows = [flow(0, 0, 3, 500_000), flow(700, 1, 3, 1000), flow(2_000_000, 2, 3, 500_000)];
        let results = ENGINES.map(|engine| run(&scenario, &flows, engine));
        assert_eq!(results[0], results[1], "stop at {stop} ps");
        assert_eq!(results[0].ending, Ending::Stopped);
    }
}

/// A pause between flows, longer than the patience with a standstill, is no standstill.
#[test]
fn a_pause_between_flows_is_no_standstill() {
    let mut scenario = plain(&star(&[(10 * GBPS, 1_000_000); 3]));
    scenario.stall = Some(Duration::from_us(500));
    let scenario = Arc::new(scenario);
    let flows = [0, 20_000, 47_000].map(|us| flow(us * 1_000_000, 0, 1, 100_000));
    for engine in ENGINES {
        let outcome = run(&scenario, &flows, engine);
        assert_eq!((outcome.ending, outcome.counters.finished), (Ending::Completed, 3), "{engine:?}");
    }
}

/// Clients that ask seldom, and programs that compute, will go on by themselves. That holds for the part of the network without them, too,
/// where nothing is sent again: else the run ended early on two threads, and as it should on one.
#[test]
fn what_goes_on_elsewhere_is_no_standstill() {
    let network = "[topology]\nkind = 'leaf_spine'\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n[host]\nrto = 'off'\n\
                   [schemes.h]\ncc = 'hpcc'\n[[workloads]]\n";
    let seldom =
        "kind = 'rpc'\nclients = [0]\nservers = [1]\nmode = 'open'\nload = { value = 0.00001 }\nduration = '200ms'\n";
    let computing = "kind = 'mpi'\nprogram = 'wrf'\nhosts = [0, 1]\niterations = 2\ncompute = '200ms'\n";
    for workload in [seldom, computing] {
        for threads in [None, Some(1), Some(2), Some(3)] {
            let outcome = run_text(&format!("{network}{workload}"), 0.0, threads).outcome;
            assert_eq!(outcome.ending, Ending::Completed, "{threads:?} {workload}");
        }
    }
}
