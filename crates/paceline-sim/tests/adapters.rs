//! Hosts whose stack and adapter take time, and QCN's rate limiters in them: engines agree, nothing is faster than possible, the
//! queue settles at its set point, and what notifications slow down recovers.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{Collect, Outcome};
use paceline_sim::assemble::assemble;
use paceline_sim::engine::Ending;
use paceline_sim::net::Net;
use paceline_sim::run::{Request, run};
use paceline_sim::scenario::EngineChoice;
use paceline_sim::spec::parse;
use proptest::prelude::*;

fn run_text<T>(text: &str, engine: EngineChoice, look: impl FnOnce(&Net, Collect, Ending, u64) -> T) -> T {
    let assembled = assemble(&parse(text, "adapters.toml", &[]).unwrap()).unwrap();
    crate::common::run_net(&assembled.scenario, assembled.source, &assembled.classes, engine, look)
}

/// Seven hosts send to one over a port of 100 KB, as in the study of TCP in converged Ethernet.
fn seven_to_one(cc: &str, pfc: bool, more: &str) -> String {
    let buffer = if pfc { "model = 'shared'\nbuffer = '3MB'" } else { "model = 'per_port'\nbuffer = '102400B'" };
    format!(
        "[topology]\nkind = 'star'\nhosts = 8\nhost_rate = '10Gbps'\nlink_delay = '0s'\n\
         [framing]\npreset = 'ethernet'\npayload = '1448B'\nheader = '70B'\nack_header = '70B'\n\
         [switch]\n{buffer}\npfc = {{ enabled = {pfc} }}\necn = {{ enabled = false }}\n\
         [schemes.s]\ncc = '{cc}'\n[host.tcp]\nstack = 'freebsd'\n\
         [[workloads]]\nkind = 'incast'\nsenders = 7\nreceiver = 7\nrandom_senders = false\nsizes = '20MB'\n\
         mode = 'staggered'\nstep = '100us'\n[run]\nstop = '60ms'\n[host.adapter]\nenabled = true\n{more}"
    )
}

/// Bytes that the receiver's port holds at most in the given share of the time.
fn quantile(net: &Net, port: u32, share: f64) -> usize {
    let mut bins = net.queue_time(port, 3);
    let sum: u64 = bins.clone().map(|(_, t)| t).sum();
    let mut seen = 0;
    let reached = bins.find(|(_, t)| {
        seen += t;
        seen as f64 >= share * sum as f64
    });
    paceline_sim::record::bin_range(reached.unwrap().0).1 as usize
}

fn receiver_port(net: &Net) -> u32 {
    let ports = &net.graph().ports;
    (0..ports.len() as u32).find(|p| ports[*p as usize].peer == 7).unwrap()
}

/// QCN holds the queue at its set point, whatever it is, without loss where switches pause: else its senders would not react, or
/// react to something else.
#[test]
fn the_queue_settles_at_the_set_point() {
    let settings = [
        (20_480, 10_000, 30_000, "destination"),
        (67_584, 50_000, 85_000, "destination"),
        (20_480, 10_000, 30_000, "flow"),
    ];
    for (set_point, low, high, limiter) in settings {
        let more =
            format!("[host.qcn]\nlimiter = '{limiter}'\n[switch.qcn]\nenabled = true\nset_point = '{set_point}B'\n");
        run_text(&seven_to_one("new_reno", true, &more), EngineChoice::Sequential, |net, _, ending, _| {
            assert_eq!(ending, Ending::Stopped);
            assert!(net.counters().notifications > 50, "{}", net.counters().notifications);
            assert_eq!(net.counters().drops_buffer, 0);
            let median = quantile(net, receiver_port(net), 0.5);
            assert!((low..high).contains(&median), "median {median} at a set point of {set_point}, {limiter}");
        });
    }
}

/// The ways of QCN's notifications go by what names a flow in results, not by the place that the simulator has for its state: how many
/// other flows are on their way, however far from these, would change the latter. And flows that follow one another use all ways.
#[test]
fn notifications_take_the_same_ways_whatever_else_is_under_way() {
    const TINY: u64 = 1500;
    const FLOWS: u64 = 24;
    let ways = |peer: &str| {
        let tiny = |i| format!("{{ src = 'c', dst = '{peer}', bytes = '1B', start = '{i}us' }},");
        let one = |i| format!("{{ src = 'a', dst = 'b', bytes = '400KB', start = '{}ms' }},", 400 + 4 * i);
        let rows = (0..TINY).map(tiny).chain((0..FLOWS).map(one)).collect::<String>();
        let text = format!(
            "[topology]\nkind = 'graph'\nhosts = ['a', 'b', 'c', 'd', 'e']\nswitches = ['s', 't', 'u', 'v']\nlinks = [\
             {{ a = 'a', b = 's', rate = '10Gbps' }}, {{ a = 'b', b = 't', rate = '1Gbps' }}, {{ a = 'c', b = 's', rate = '10Gbps' }}, \
             {{ a = 'd', b = 's', rate = '10Gbps' }}, {{ a = 'e', b = 's', rate = '10Gbps', delay = '900ms' }}, \
             {{ a = 's', b = 'u', rate = '10Gbps' }}, {{ a = 's', b = 'v', rate = '10Gbps' }}, \
             {{ a = 't', b = 'u', rate = '10Gbps' }}, {{ a = 't', b = 'v', rate = '10Gbps' }}]\n\
             [switch]\npfc = {{ enabled = false }}\n[switch.qcn]\nenabled = true\nset_point = '3KB'\nsample_base = '1KB'\n\
             [host.adapter]\nenabled = true\n[schemes.s]\ncc = 'new_reno'\n[[workloads]]\nkind = 'flows'\nrows = [{rows}]\n\
             [run]\nstop = '600ms'\n[records.packets]\nrows = 1000000\nports = ['t->u', 't->v']\n"
        );
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("notifications-{peer}"));
        let spec = parse(&text, "notifications.toml", &[]).unwrap();
        run(Request { spec, out: out.clone(), threads: 1, version: "test".into(), git: None }, &mut |_| true).unwrap();
        let csv = std::fs::read_to_string(out.join("packets.csv")).unwrap();
        std::fs::remove_dir_all(out).unwrap();
        // Flow and port.
        let cells = csv.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let told =
            cells.filter(|row| row[7] == "notification").map(|row| (row[6].parse().unwrap(), row[2].to_string()));
        told.collect::<BTreeSet<(u64, String)>>()
    };
    let near = ways("d");
    let flows: BTreeSet<u64> = near.iter().map(|(flow, _)| *flow).collect();
    assert!(flows.len() as u64 > FLOWS / 2 && flows.iter().all(|flow| *flow >= TINY), "{flows:?}");
    assert_eq!(near.len(), flows.len(), "all of a flow's notifications take one way");
    let ports: BTreeSet<&str> = near.iter().map(|(_, port)| port.as_str()).collect();
    assert_eq!(ports.len(), 2);
    assert_eq!(ways("e"), near);
}

/// Without notifications the queue is as long as windows and buffers let it.
#[test]
fn without_qcn_the_queue_is_longer() {
    run_text(&seven_to_one("new_reno", true, ""), EngineChoice::Sequential, |net, _, _, _| {
        assert_eq!(net.counters().notifications, 0);
        assert!(quantile(net, receiver_port(net), 0.5) > 200_000);
    });
}

/// A single flow of one segment takes its times through stack and adapter, at both ends and for the handshake.
#[test]
fn time_in_the_host_is_part_of_the_completion_time() {
    let fct = |adapter: &str| {
        let text = format!(
            "[topology]\nkind = 'star'\nhosts = 2\nhost_rate = '10Gbps'\n[switch]\npfc = {{ enabled = false }}\n\
             [schemes.s]\ncc = 'new_reno'\n[[workloads]]\nkind = 'flows'\nrows = [{{ src = 0, dst = 1, bytes = '1KB' }}]\n{adapter}"
        );
        run_text(&text, EngineChoice::Sequential, |_, c, ending, _| {
            assert_eq!(ending, Ending::Completed);
            (c.flows[0].fct_receiver, c.flows[0].ideal_receiver)
        })
    };
    let (plain, ideal) = fct("");
    let (slow, slow_ideal) =
        fct("[host.adapter]\nenabled = true\ndelay = '1us'\ntx_delay = '10us'\nrx_delay = '20us'\n");
    // SYN, its answer, data: 32 us each.
    assert_eq!((slow - plain, slow_ideal - ideal), (3 * 32_000_000, 32_000_000));
}

/// Delays in the host hold nothing up: a stack of 2 ms and a buffer of 512 KB let a link of 10 Gb/s carry all it can.
#[test]
fn a_slow_stack_is_no_slow_link() {
    let text = "[topology]\nkind = 'star'\nhosts = 2\nhost_rate = '10Gbps'\n[switch]\npfc = { enabled = false }\n[schemes.s]\ncc = 'udp'\n\
                [[workloads]]\nkind = 'flows'\nrows = [{ src = 0, dst = 1, bytes = '20MB' }]\n[host.adapter]\nenabled = true\ntx_delay = '2ms'\n";
    for engine in [EngineChoice::Sequential, EngineChoice::Windowed] {
        run_text(text, engine, |_, c, _, _| assert_eq!(c.flows[0].fct_receiver, c.flows[0].ideal_receiver));
    }
}

fn text_of(cc: &str, pfc: bool, buffer: u32, hosts: u32, sizes: u32, delays: [u32; 3], seed: u32) -> String {
    let [tx, rx, through] = delays;
    format!(
        "seed = {seed}\n[topology]\nkind = 'leaf_spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = {hosts}\nhost_rate = '10Gbps'\n\
         fabric_rate = '10Gbps'\n[switch]\nbuffer = '{}KB'\npfc = {{ enabled = {pfc}, headroom = 'auto' }}\n[schemes.s]\ncc = '{cc}'\n\
         [host.tcp]\nrto_min = '200us'\n[host.adapter]\nenabled = true\nbuffer = '{buffer}KiB'\ntx_delay = '{tx}ns'\n\
         rx_delay = '{rx}ns'\ndelay = '{through}ns'\n[[workloads]]\nkind = 'all_to_all'\nsizes = '{sizes}B'\n\
         [[workloads]]\nkind = 'incast'\nsenders = {hosts}\nsizes = '60KB'\n",
        if pfc { 1500 } else { 60 },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// What happens inside a host does not depend on when it is looked at.
    #[test]
    fn engines_agree(
        cc in prop::sample::select(vec!["new_reno", "cubic", "vegas"]),
        pfc: bool, buffer in 16u32..80, hosts in 2u32..4, sizes in 1u32..90_000,
        delays in prop::array::uniform3(0u32..30_000), seed in 0u32..1000,
    ) {
        let text = text_of(cc, pfc, buffer, hosts, sizes, delays, seed);
        let look = |net: &Net, collect, ending, _| {
            assert_eq!((net.packets_alive(), &ending), (0, &Ending::Completed), "{text}");
            let c = net.counters();
            assert_eq!(c.data_made, c.data_delivered + c.data_dropped, "{text}");
            Outcome::of(net, collect, ending, &[3])
        };
        let sequential = run_text(&text, EngineChoice::Sequential, look);
        let windowed = run_text(&text, EngineChoice::Windowed, look);
        prop_assert!(sequential == windowed, "engines differ:\n{}", text);
    }
}
