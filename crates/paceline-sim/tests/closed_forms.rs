//! Results one can work out with pen and paper. Nothing here uses the simulator's own arithmetic (its ideals, its clock).
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::{ENGINES, GBPS, flow, plain, run, run_net, star};
use paceline_proto::units::{BitsPerSec, Bytes, Duration};
use paceline_sim::assemble::assemble;
use paceline_sim::engine::Ending;
use paceline_sim::graph::{Link, NodeKind, Side, Topology};
use paceline_sim::ideal::base_rtt;
use paceline_sim::record::{Status, bin};
use paceline_sim::routing::{Address, Routes};
use paceline_sim::scenario::*;
use paceline_sim::spec::parse;
use paceline_sim::workload::{FlowSpec, FlowTable};

/// Picoseconds a frame lasts, rounded up.
fn lasts(bytes: u64, bps: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(bps)) as u64
}

/// A chain host 0 - switches - host 1 over links of these (rate there, rate back, delay there, delay back).
fn chain(links: &[[u64; 4]]) -> Topology {
    let switches = links.len() - 1;
    let mut nodes = vec![0u32];
    nodes.extend(2..2 + switches as u32);
    nodes.push(1);
    let side = |rate, delay| Side { rate: BitsPerSec(rate), delay: Duration(delay) };
    let link = |(i, l): (usize, &[u64; 4])| Link {
        a: nodes[i],
        b: nodes[i + 1],
        ab: side(l[0], l[2]),
        ba: side(l[1], l[3]),
        error_rate: 0.0,
    };
    Topology {
        kinds: [vec![NodeKind::Host; 2], vec![NodeKind::Switch; switches]].concat(),
        tiers: [vec![0; 2], vec![1; switches]].concat(),
        links: links.iter().enumerate().map(link).collect(),
    }
}

/// When frames that are ready at `ready` reach the far end of a store-and-forward path.
fn through(ready: &[u64], frames: &[u64], links: &[(u64, u64)]) -> Vec<u64> {
    let mut at = ready.to_vec();
    for (rate, delay) in links {
        let mut free = 0;
        for (t, bytes) in at.iter_mut().zip(frames) {
            free = free.max(*t) + lasts(*bytes, *rate);
            *t = free + delay;
        }
    }
    at
}

/// FCTs (receiver, sender) of a lone flow that sends as fast as it can.
fn lone_flow(bytes: u64, framing: &Framing, links: &[[u64; 4]]) -> (u64, u64) {
    let on_wire = |b: u64| b.max(u64::from(framing.min_frame)) + u64::from(framing.wire_overhead);
    let mut frames = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let payload = left.min(u64::from(framing.payload));
        frames.push(on_wire(payload + u64::from(framing.header)));
        left -= payload;
    }
    let there: Vec<_> = links.iter().map(|l| (l[0], l[2])).collect();
    let back: Vec<_> = links.iter().rev().map(|l| (l[1], l[3])).collect();
    let arrived = through(&vec![0; frames.len()], &frames, &there);
    let acks = vec![on_wire(u64::from(framing.ack_header)); frames.len()];
    let acked = through(&arrived, &acks, &back);
    (arrived[arrived.len() - 1], acked[acked.len() - 1])
}

#[test]
fn a_single_flow_takes_the_store_and_forward_time() {
    let g = |n: u64| n * GBPS;
    // All rates alike; rising; falling; up and down; rates at which a byte is no whole number of picoseconds, with
    // different directions, so that ACKs queue on the way back.
    let even = [[g(100), g(100), 1_000_000, 1_000_000]; 6];
    let rising = [10, 25, 40, 100, 400, 400].map(|r| [g(r), g(r), 700_000, 700_000]);
    let falling = [400, 200, 100, 50, 25, 10].map(|r| [g(r), g(r), 1_500_000, 1_500_000]);
    let mixed = [100, 10, 400, 25, 100, 40].map(|r| [g(r), g(r), 123_457, 123_457]);
    let odd = [7, 3, 11, 1, 9, 13].map(|r| [r * 1_111_111_111, 77_777_777 + g(r) / 40, 1_000_003, 2_000_001]);
    let mut checked = 0;
    for framing in [Framing::HPCC, Framing::ETHERNET] {
        for profile in [even, rising, falling, mixed, odd] {
            for links in 1..=profile.len() {
                let links = &profile[..links];
                let mut scenario = plain(&chain(links));
                scenario.framing = framing;
                let scenario = Arc::new(scenario);
                for bytes in [1, 11, 12, 13, 999, 1000, 1001, 1460, 2000, 12_345, 100_000, 1_000_001] {
                    let expected = lone_flow(bytes, &framing, links);
                    for engine in ENGINES {
                        let start = 1_234_567;
                        let result = run(&scenario, &[flow(start, 0, 1, bytes)], engine);
                        let f = result.flows[0];
                        assert_eq!(
                            (f.fct_receiver, f.fct_sender),
                            expected,
                            "{bytes} B over {links:?}, {framing:?}, {engine:?}"
                        );
                        // The ideal is this very time, but for ACKs queueing behind each other.
                        assert_eq!(f.ideal_receiver, expected.0, "{bytes} B over {links:?}");
                        assert!(f.ideal_sender <= expected.1);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert_eq!(checked, 2 * 5 * 6 * 12 * 2);
    // By hand: 3 packets of 1048 B at 100 Gb/s (83.84 ns each) over 2 links of 1 us, and a 60 B ACK (4.8 ns) back.
    assert_eq!(
        lone_flow(3000, &Framing::HPCC, &even[..2]),
        (4 * 83_840 + 2_000_000, 4 * 83_840 + 4_000_000 + 2 * 4_800)
    );
}

/// A graph written in TOML, whose links are not alike both ways: every direction has its own rate and delay, in the FCT, in
/// the ideals and in the base RTT, and a scenario written back has them still.
#[test]
fn directions_of_links_from_toml() {
    let g = |n: u64| n * GBPS;
    let text = "
        framing.preset = 'hpcc'
        [topology]
        kind = 'graph'
        hosts = ['h0', 'h1']
        switches = ['s']
        links = [
            { a = 'h0', b = 's', rate = '25Gbps', delay = '2us', rate_back = '100Gbps', delay_back = '500ns' },
            { a = 'h1', b = 's', rate = '40Gbps', delay = '3us', rate_back = '10Gbps' },
        ]
        [schemes.none]
        cc = 'none'
        window = 'off'
        [[workloads]]
        kind = 'flows'
        rows = [{ src = 0, dst = 1, bytes = '10KB' }, { src = 1, dst = 0, bytes = '10KB', start = '1ms' }]";
    let spec = parse(text, "directions.toml", &[]).unwrap();
    assert_eq!(parse(&spec.to_toml(), "again.toml", &[]).unwrap(), spec);
    let us = 1_000_000;
    let there = [[g(25), g(100), 2 * us, us / 2], [g(10), g(40), 3 * us, 3 * us]];
    let back = [[g(40), g(10), 3 * us, 3 * us], [g(100), g(25), us / 2, 2 * us]];
    let made = assemble(&spec).unwrap();
    let mut plain = plain(&star(&[(1, 1)]));
    plain.graph = Arc::clone(&made.scenario.graph);
    let plain = Arc::new(plain);
    for engine in ENGINES {
        let result = run(&plain, &[flow(0, 0, 1, 10_000), flow(1_000 * us, 1, 0, 10_000)], engine);
        for (f, links) in result.flows.iter().zip([there, back]) {
            let expected = lone_flow(10_000, &Framing::HPCC, &links);
            assert_eq!((f.fct_receiver, f.fct_sender), expected, "{engine:?}");
            assert_eq!((f.ideal_receiver, f.ideal_sender), expected);
        }
    }
    // 1000 B of payload on either link of the way there, the delays both ways; the window at the slowest link of that way.
    let mut routes = Routes::new(Arc::clone(&made.scenario.graph), made.scenario.routing);
    let at = |host| Address { host, nic: 0 };
    let first = base_rtt(&mut routes, at(0), at(1), 1000).unwrap();
    assert_eq!((first.rtt_ns, first.min_rate.0), (8_500 + 320 + 800, g(10)));
    let second = base_rtt(&mut routes, at(1), at(0), 1000).unwrap();
    assert_eq!((second.rtt_ns, second.min_rate.0), (8_500 + 200 + 80, g(40)));
}

/// A pause stops what comes in: the headroom is for the rate of the incoming direction over the delays of both.
#[test]
fn headroom_is_for_the_incoming_direction() {
    let side = |rate, us| Side { rate: BitsPerSec(rate * GBPS), delay: Duration::from_us(us) };
    let link = |a, b, ab, ba| Link { a, b, ab, ba, error_rate: 0.0 };
    // Host 0 sends at 100 Gb/s and receives at 1 Gb/s; the other host takes 10 Gb/s.
    let mut topology = star(&[(GBPS, 1), (GBPS, 1)]);
    topology.links = vec![link(0, 2, side(100, 20), side(1, 2)), link(1, 2, side(10, 1), side(10, 1))];
    let mut scenario = plain(&topology);
    scenario.switch.model = BufferModel::Shared;
    scenario.switch.buffer = Bytes(500_000);
    scenario.switch.pfc = Some(Pfc {
        reserve: Bytes(0),
        headroom: Headroom::Auto,
        alpha_q16: 1 << 13,
        alpha_scales: false,
        wraps: false,
        resume_offset: Bytes(2_000),
        classes: 1,
        xoff: None,
        xon: None,
        reaction: Duration(0),
    });
    let scenario = Arc::new(scenario);
    for engine in ENGINES {
        let result = run(&scenario, &[flow(0, 0, 1, 3_000_000)], engine);
        assert!(result.counters.pause_frames > 0 && result.pauses.iter().flatten().any(|t| *t > 0), "{engine:?}");
        assert_eq!((result.counters.lossless_drops, result.first_drop), (0, None), "{engine:?}");
    }
}

/// N senders at once: the port to the receiver starts when the first packet is there and is busy to the end.
#[test]
fn a_synchronous_incast_drains_at_line_rate() {
    for (senders, bytes, fast, slow, empty) in [
        (2, 1000, 100, 100, 0),
        (7, 50_000, 100, 100, 0),
        (16, 64_000, 100, 100, 0),
        (31, 20_000, 25, 10, 0),
        (12, 12_000, 400, 100, 0),
        // Three packets every 838.4 ns, 335.36 ns each: nothing waits from the third start to the second three.
        (3, 1_000_000, 10, 25, 838_400 - 2 * 335_360),
    ] {
        let delay = 1_000_000;
        let mut links = vec![(slow * GBPS, delay)];
        links.resize(1 + senders, (fast * GBPS, delay));
        let flows: Vec<FlowSpec> = (1..=senders as u32).map(|h| flow(0, h, 0, bytes)).collect();
        let scenario = Arc::new(plain(&star(&links)));
        let packets = senders as u64 * bytes / 1000;
        let first = lasts(1048, fast * GBPS) + delay;
        let last = first + packets * lasts(1048, slow * GBPS) + delay;
        let ack = 2 * delay + lasts(60, slow * GBPS) + lasts(60, fast * GBPS);
        for engine in ENGINES {
            let result = run(&scenario, &flows, engine);
            let end = |f: fn(&paceline_sim::record::FlowRecord) -> u64| result.flows.iter().map(f).max().unwrap();
            assert_eq!(end(|f| f.fct_receiver), last, "{senders} x {bytes} B, {engine:?}");
            assert_eq!(end(|f| f.fct_sender), last + ack, "{senders} x {bytes} B, {engine:?}");
            assert_eq!((result.counters.drops_buffer, result.hops), (0, (2 * packets, 2 * packets)));
            // All first packets come at once: something waits from then to the start of the last packet.
            let bottleneck = senders + 1; // ports of the hosts come first, then those of the switch, host 0's first
            let waiting: u64 = result.queues[bottleneck].iter().map(|(_, time)| time).sum();
            assert_eq!(waiting, (packets - 1) * lasts(1048, slow * GBPS) - empty, "{senders} x {bytes} B, {engine:?}");
        }
    }
}

/// The generator `SplitMix64`, of this test alone.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Poisson arrivals of single packets at one port: M/D/1. Waiting times against Lindley's recursion (exact, packet by
/// packet), their mean against Pollaczek and Khinchine within four standard errors of batch means and 5 %, the queue
/// histogram against Little's law on the same path (exact).
#[test]
fn one_port_is_an_m_d_1_queue() {
    const SENDERS: u64 = 200;
    const FLOWS: usize = 40_000;
    let (nic, port, delay) = (10_000 * GBPS, 10 * GBPS, 500_000);
    let mut links = vec![(port, delay)];
    links.resize(1 + SENDERS as usize, (nic, delay));
    let scenario = Arc::new(plain(&star(&links)));
    let service = lasts(1048, port);
    for (load, seed) in [(0.3, 1), (0.5, 2), (0.7, 3)] {
        let mut random = Random(seed);
        let mut at = 0.0;
        let flows: Vec<FlowSpec> = (0..FLOWS as u64)
            .map(|i| {
                at -= random.next().max(1e-300).ln() * service as f64 / load;
                // Senders in turn: none has two packets at once, so the NICs add the same time to all.
                flow(at as u64, 1 + (i % SENDERS) as u32, 0, 1000)
            })
            .collect();
        for engine in ENGINES {
            let bottleneck = SENDERS as u32 + 1;
            let source = Box::new(FlowTable::new(flows.clone()));
            let (mut records, histogram) = run_net(&scenario, source, &[3], engine, |net, collect, _, _| {
                (collect.flows, net.queue_time(bottleneck, 3).collect::<Vec<_>>())
            });
            records.sort_by_key(|f| f.id);
            let alone = lasts(1048, nic) + delay + service + delay;
            let waits: Vec<u64> = records.iter().map(|f| f.fct_receiver - alone).collect();
            let mut lindley = 0u64;
            for (i, wait) in waits.iter().enumerate() {
                if i > 0 {
                    lindley = (lindley + service).saturating_sub(flows[i].start.0 - flows[i - 1].start.0);
                }
                assert_eq!(*wait, lindley, "flow {i} at load {load}, {engine:?}");
            }
            let batches: Vec<f64> =
                waits.chunks(FLOWS / 50).map(|b| b.iter().sum::<u64>() as f64 / b.len() as f64).collect();
            let mean = batches.iter().sum::<f64>() / 50.0;
            let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 49.0;
            let expected = load * service as f64 / (2.0 * (1.0 - load));
            let error = (variance / 50.0).sqrt();
            assert!(
                (mean - expected).abs() < 4.0 * error,
                "load {load}: mean wait {mean} ps for {expected} +- {error}"
            );
            assert!((mean - expected).abs() < 0.05 * expected, "load {load}: mean wait {mean} ps for {expected}");

            // Packets waiting, integrated over time, are the waits summed. Up to 16 packets a bin holds one length.
            let packets_of =
                |b: usize| (1..=16).find(|n| bin(n * 1048) == b).expect("a longer queue than this test can tell");
            let area: u64 = histogram.iter().map(|(b, t)| u64::from(packets_of(*b)) * t).sum();
            assert_eq!(area, waits.iter().sum::<u64>(), "load {load}, {engine:?}");
        }
    }
}

/// Two senders at line rate into one port: in every packet time two packets come and one goes. Departure number `j`
/// (from 0) leaves `j - 1` packets behind while the senders send `n` each, then one less each time.
fn behind(j: u64, n: u64) -> u64 {
    if j <= n { j.saturating_sub(1) } else { 2 * n - j - 1 }
}

#[test]
fn step_marks_are_exact() {
    let links = [(100 * GBPS, 1_000_000); 3];
    let n = 40;
    for (k, marks) in [
        // More than k packets left behind: departures k + 2 .. 2 n - k - 2.
        (10 * 1048, 2 * n - 2 * 10 - 3),
        // At least k packets left behind: one more at either end.
        (10 * 1048 - 1, 2 * n - 2 * 10 - 1),
        (0, 2 * n - 3),
        (37 * 1048, 3),
        (38 * 1048, 1),
        (39 * 1048, 0),
    ] {
        assert_eq!((0..2 * n).filter(|j| behind(*j, n) * 1048 > k).count() as u64, marks, "by hand");
        let thresholds = EcnThresholds { rate: BitsPerSec(100 * GBPS), k_min: Bytes(k), k_max: Bytes(k), p_max: 1.0 };
        for (per_port, classes) in [(false, [3, 3]), (true, [3, 3]), (true, [3, 4])] {
            let mut scenario = plain(&star(&links));
            scenario.switch.ecn = Some(Ecn { by_rate: vec![thresholds], per_port });
            let scenario = Arc::new(scenario);
            for engine in ENGINES {
                let mut flows = [flow(0, 0, 2, n * 1000), flow(0, 1, 2, n * 1000)];
                (flows[0].class, flows[1].class) = (classes[0], classes[1]);
                let result = run(&scenario, &flows, engine);
                assert_eq!(result.counters.marks, marks, "k {k} B, per port {per_port}, {classes:?}, {engine:?}");
            }
        }
    }
}

/// Between the thresholds the probability rises in proportion: marks within four standard deviations of their mean.
#[test]
fn red_marks_follow_their_probability() {
    let (n, k_min, k_max, p_max) = (3000u64, 100 * 1048, 2500 * 1048, 0.4);
    let mut scenario = plain(&star(&[(100 * GBPS, 1_000_000); 3]));
    let rate = BitsPerSec(100 * GBPS);
    let thresholds = EcnThresholds { rate, k_min: Bytes(k_min), k_max: Bytes(k_max), p_max };
    scenario.switch.ecn = Some(Ecn { by_rate: vec![thresholds], per_port: false });
    let p = |j: u64| match behind(j, n) * 1048 {
        b if b <= k_min => 0.0,
        b if b > k_max => 1.0,
        b => (b - k_min) as f64 / (k_max - k_min) as f64 * p_max,
    };
    let mean: f64 = (0..2 * n).map(p).sum();
    let deviation = (0..2 * n).map(|j| p(j) * (1.0 - p(j))).sum::<f64>().sqrt();
    for seed in 1..6 {
        scenario.seed = seed;
        let flows = [flow(0, 0, 2, n * 1000), flow(0, 1, 2, n * 1000)];
        let marks = run(&Arc::new(scenario.clone()), &flows, EngineChoice::Windowed).counters.marks as f64;
        assert!((marks - mean).abs() < 4.0 * deviation, "seed {seed}: {marks} marks for {mean} +- {deviation}");
    }
}

/// Frames of 1000 B from 100 Gb/s (80 ns) into 25 Gb/s (320 ns), links of 70 ns, pause frames of 125 B (10 ns), a pool of
/// 20 packets of which the ingress may hold half. Packet i is sent at 80 i and reaches the switch at a + 80 i, a = 150 ns;
/// departure j is at a + 320 j. After arrival i the switch holds i - i/4 packets.
///
/// i = 13 makes ten: pause at a + 1040, in force 80 ns later, at 1270. Packets up to 15 have been started by then: twelve
/// are held. Eight are left, and 2 * 8 + 4 <= 20 holds, at departure 7: resume at a + 2240, in force at 2470. The NIC has
/// been paused for 1200 ns and sends packet 16 at once. It reaches the switch at a + 2470, before departure 8; nine are held.
/// Packet 17 at a + 2550 makes ten: second pause, in force at a + 2630, by when 18 and 19 have been started. They find nine
/// (departure 8 was at a + 2560) and ten: eleven are held, and eight are left at departure 11: resume at a + 3520, in force
/// at a + 3600: paused for 970 ns more.
#[test]
fn pauses_are_exact() {
    let ns = 1000;
    let topology = star(&[(100 * GBPS, 70 * ns), (25 * GBPS, 70 * ns)]);
    let mut scenario = plain(&topology);
    scenario.framing = Framing { payload: 952, pfc_frame: 125, ..Framing::HPCC };
    let headroom = 10_000;
    scenario.switch = SwitchConfig {
        strict: false,
        selective: None,
        trimming: None,
        buffer: Bytes(20_000 + 2 * headroom),
        model: BufferModel::Shared,
        accounting: Accounting::Output,
        pfc: Some(Pfc {
            reserve: Bytes(0),
            headroom: Headroom::Fixed(Bytes(headroom)),
            alpha_q16: 1 << 16,
            alpha_scales: false,
            wraps: false,
            resume_offset: Bytes(4000),
            classes: 1,
            xoff: None,
            xon: None,
            reaction: Duration(0),
        }),
        ..scenario.switch
    };
    let scenario = Arc::new(scenario);
    let a = 150;
    let first = [(1270, true), (a + 2240 + 80, false)];
    let second = [(a + 2630, true), (a + 3600, false)];
    for (packets, pauses, paused_ns) in
        [(13, vec![], 0), (17, first.to_vec(), 1200), (20, [first, second].concat(), 1200 + 970)]
    {
        for engine in ENGINES {
            let result = run(&scenario, &[flow(0, 0, 1, packets * 952)], engine);
            let expected: Vec<_> = pauses.iter().map(|(at, pause)| (at * ns, 0, 0, *pause)).collect();
            assert_eq!(result.pfc, expected, "{packets} packets, {engine:?}");
            let c = &result.counters;
            let each = pauses.len() as u64 / 2;
            assert_eq!((c.pause_frames, c.resume_frames, c.drops_buffer), (each, each, 0), "{packets}, {engine:?}");
            assert_eq!(result.pauses[0][3], paused_ns * ns, "{packets} packets, {engine:?}");
            // The slow port never runs dry, so the pauses cost nothing.
            assert_eq!(result.flows[0].fct_receiver, (a + 320 * packets + 70) * ns, "{packets} packets, {engine:?}");
        }
    }
}

/// Over wires that lose packets in both directions every byte still arrives, by NACKs and timeouts, and every packet is
/// accounted for.
#[test]
fn go_back_n_delivers_everything_over_lossy_wires() {
    for (error_rate, seed, chunk) in [(0.001, 1, 0), (0.02, 2, 0), (0.1, 3, 0), (0.02, 4, 5)] {
        let mut topology = star(&[(100 * GBPS, 1_000_000); 9]);
        for link in &mut topology.links {
            link.error_rate = error_rate;
        }
        let mut scenario = plain(&topology);
        scenario.seed = seed;
        scenario.host.nack_interval = Duration::from_us(20);
        scenario.host.rto = Some(Rto { initial: Duration::from_us(50), tries: 20 });
        scenario.host.chunk = chunk;
        let flows: Vec<_> = (0..64).map(|i| flow(i * 3_000_000, (i % 8) as u32, 8, 1 + i * 1777)).collect();
        let packets: u64 = flows.iter().map(|f| f.bytes.div_ceil(1000)).sum();
        let scenario = Arc::new(scenario);
        let results = ENGINES.map(|engine| run(&scenario, &flows, engine));
        assert!(results[0] == results[1]);
        let result = &results[0];
        assert_eq!(result.ending, Ending::Completed);
        assert!(result.flows.iter().all(|f| f.status == Status::Finished && f.fct_receiver > 0));
        assert!(result.flows.iter().all(|f| f.fct_receiver < f.fct_sender));
        let c = &result.counters;
        assert!(c.drops_wire > 0 && c.retransmitted > 0, "nothing was lost at {error_rate}");
        assert_eq!(c.data_made, c.data_delivered + c.data_dropped);
        // What receivers kept is each packet once: the goodput of a lossy run rests on it.
        assert_eq!(c.data_delivered, packets + c.data_discarded, "{c:?}");
        // Rewound packets whose ACK still came are not sent again.
        assert!((packets..=packets + c.retransmitted).contains(&c.data_made), "{c:?}");
        assert_eq!(c.retransmitted, result.flows.iter().map(|f| u64::from(f.retransmitted)).sum::<u64>());
    }
}

/// A wire that loses everything: timeouts at R, 3 R, 7 R, ... 127 R, given up at 255 R.
#[test]
fn the_timeout_ladder_ends_after_seven_tries() {
    let r = 100_000_003;
    let mut topology = star(&[(100 * GBPS, 1_000_000); 2]);
    topology.links[0].error_rate = 1.0;
    let mut scenario = plain(&topology);
    scenario.host.rto = Some(Rto { initial: Duration(r), tries: 7 });
    let scenario = Arc::new(scenario);
    for engine in ENGINES {
        let source = Box::new(FlowTable::new(vec![flow(0, 0, 1, 5000)]));
        run_net(&scenario, source, &[3], engine, |net, collect, ending, now| {
            assert_eq!(ending, Ending::Completed);
            let f = collect.flows[0];
            assert_eq!((f.status, f.fct_sender, f.fct_receiver, f.failed_after), (Status::Failed, 0, 0, 255 * r));
            // Five packets, eight times.
            assert_eq!((net.counters().data_made, f.retransmitted), (40, 35));
            assert_eq!((net.counters().failed, net.counters().drops_wire), (1, 40));
            if engine == EngineChoice::Sequential {
                assert_eq!(now, 255 * r);
            } else {
                assert!((255 * r..255 * r + 2_000_000).contains(&now), "end of the window: {now}");
            }
        });
    }
}

/// Single packets over wires that lose most: whoever gets through at try k needs (2^k - 1) R more than alone, exactly.
#[test]
fn the_timeout_doubles_with_each_try() {
    const PAIRS: u32 = 400;
    let (r, delay) = (100_000_003, 1_000_000);
    let mut topology = star(&[(100 * GBPS, delay); 2 * PAIRS as usize]);
    for link in &mut topology.links[..PAIRS as usize] {
        link.error_rate = 0.5;
    }
    // Loss there is drawn for both directions of a link; an ACK lost there costs a try as well.
    let mut scenario = plain(&topology);
    scenario.host.rto = Some(Rto { initial: Duration(r), tries: 7 });
    let scenario = Arc::new(scenario);
    let alone = 2 * lasts(1048, 100 * GBPS) + 2 * lasts(60, 100 * GBPS) + 4 * delay;
    let flows: Vec<_> = (0..PAIRS).map(|i| flow(u64::from(i) * 11_000_000, i, PAIRS + i, 1000)).collect();
    for engine in ENGINES {
        let result = run(&scenario, &flows, engine);
        let mut tries = [0; 9];
        for f in &result.flows {
            let k = if f.status == Status::Failed {
                assert_eq!(f.retransmitted, 7);
                8
            } else {
                let late = f.fct_sender - alone;
                let k = (0..8).find(|k| ((1 << k) - 1) * r == late);
                assert_eq!(k.map(|k| k as u32), Some(f.retransmitted), "flow {} came {late} ps late", f.id);
                f.retransmitted as usize
            };
            tries[k] += 1;
        }
        assert!(tries.iter().all(|n| *n > 0), "every step of the ladder occurs: {tries:?}");
        assert_eq!(tries.iter().sum::<u32>(), PAIRS);
    }
}
