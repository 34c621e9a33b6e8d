//! The two engines give the same bytes, and packets are conserved.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::common::{Shared, agree, run_on, run_sampled, run_text};
use paceline_proto::cc::{Params, dcqcn, dctcp, fixed, hpcc, hpcc_pint, timely};
use paceline_proto::port::red;
use paceline_proto::rng::{Purpose, Stream};
use paceline_proto::units::{BitsPerSec, Bytes, Duration, Time, US};
use paceline_sim::engine::Ending;
use paceline_sim::engine::windowed::Windowed;
use paceline_sim::graph::{Graph, Link, NodeKind, Topology};
use paceline_sim::lookahead::Windows;
use paceline_sim::record::Status;
use paceline_sim::scenario::*;
use paceline_sim::workload::{FlowSpec, FlowTable};
use proptest::prelude::*;
use proptest::test_runner::{TestRunner, contextualize_config};

/// With the sequential engine, or on so many threads.
fn run(scenario: &Arc<Scenario>, flows: &[FlowSpec], threads: Option<usize>) -> Shared {
    run_on(scenario, Box::new(FlowTable::new(flows.to_vec())), &[3, 4], threads)
}

#[derive(Clone, Debug)]
struct Knobs {
    seed: u64,
    leaves: u32,
    spines: u32,
    hosts: u32,
    host_rate: u64,
    fabric_rate: u64,
    delays_ns: [u64; 2],
    buffer_kib: u64,
    mode: u8,
    ack_priority: bool,
    spray: bool,
    loss: bool,
    flows: usize,
    incast: bool,
    spread_us: u64,
    dual_homed: bool,
    /// Link (modulo their number), when it fails and for how long, ns (`None`: for good).
    outages: Vec<(usize, u64, Option<u64>)>,
    reroute_ns: u64,
    /// Which links are short (`short_links`), and how short, ns.
    near: Option<(u8, u64)>,
}

fn knobs() -> impl Strategy<Value = Knobs> {
    (
        (any::<u64>(), 2u32..4, 1u32..4, 1u32..5),
        (prop::sample::select(vec![10u64, 25, 100]), prop::sample::select(vec![40u64, 100, 400])),
        ([100u64..2000, 100u64..5000], 40u64..600, 0u8..4),
        (any::<bool>(), any::<bool>(), prop::bool::weighted(0.3)),
        (1usize..60, any::<bool>(), 0u64..40, any::<bool>()),
        (outages(), prop::sample::select(vec![0u64, 700, 20_000]), prop::option::of((0u8..4, 0u64..100))),
    )
        .prop_map(
            |(
                (seed, leaves, spines, hosts),
                (h, f),
                (delays_ns, buffer_kib, mode),
                (a, s, l),
                (n, incast, spread, dual_homed),
                (outages, reroute_ns, near),
            )| {
                Knobs {
                    seed,
                    leaves,
                    spines,
                    hosts,
                    host_rate: h * 1_000_000_000,
                    fabric_rate: f * 1_000_000_000,
                    delays_ns,
                    buffer_kib,
                    mode,
                    ack_priority: a,
                    spray: s,
                    loss: l,
                    flows: n,
                    incast,
                    spread_us: spread,
                    dual_homed,
                    outages,
                    reroute_ns,
                    near,
                }
            },
        )
}

/// In half of the cases none. Instants are whole nanoseconds, often whole microseconds, so that ties with everything else occur.
fn outages() -> impl Strategy<Value = Vec<(usize, u64, Option<u64>)>> {
    let instant = prop_oneof![0u64..60_000, (0u64..60).prop_map(|us| us * 1000)];
    let length = prop::option::weighted(0.7, 0u64..100_000);
    prop_oneof![Just(Vec::new()), prop::collection::vec((0usize..1000, instant, length), 1..6)]
}

/// Hosts at the first leaf; that leaf and the spines above it; one link between switches; the hosts at all other leaves.
fn shorten(t: &mut Topology, k: &Knobs) {
    let Some((which, ns)) = k.near else { return };
    let (leaf, spine) = (k.leaves * k.hosts, k.leaves * k.hosts + k.leaves);
    for link in &mut t.links {
        let (a, b) = (link.a, link.b);
        let is_short = match which {
            0 => b == leaf,
            1 => a == leaf || b == leaf,
            2 => (a, b) == (leaf, spine),
            _ => a < leaf && b != leaf,
        };
        if is_short {
            (link.ab.delay, link.ba.delay) = (Duration::from_ns(ns), Duration::from_ns(ns));
        }
    }
}

fn build(k: &Knobs) -> (Arc<Scenario>, Vec<FlowSpec>) {
    let hosts = k.leaves * k.hosts;
    let switches = k.leaves + k.spines;
    let mut t = Topology {
        kinds: [vec![NodeKind::Host; hosts as usize], vec![NodeKind::Switch; switches as usize]].concat(),
        tiers: [vec![0; hosts as usize], vec![1; k.leaves as usize], vec![2; k.spines as usize]].concat(),
        links: Vec::new(),
    };
    let mut link = |a, b, rate, ns| {
        let mut l = Link::symmetric(a, b, BitsPerSec(rate), Duration::from_ns(ns));
        l.error_rate = if k.loss { 0.01 } else { 0.0 };
        t.links.push(l);
    };
    for h in 0..hosts {
        link(h, hosts + h / k.hosts, k.host_rate, k.delays_ns[0]);
    }
    // A second NIC at the next leaf: another address, its own queue, the same memory.
    for h in 0..if k.dual_homed { hosts } else { 0 } {
        link(h, hosts + (h / k.hosts + 1) % k.leaves, k.host_rate, k.delays_ns[0]);
    }
    for leaf in 0..k.leaves {
        for spine in 0..k.spines {
            link(hosts + leaf, hosts + k.leaves + spine, k.fabric_rate, k.delays_ns[1]);
        }
    }
    shorten(&mut t, k);
    let lossless = k.mode < 2;
    // What the ports set aside, generously, so that something is left to share.
    let set_aside: u64 =
        t.links.iter().map(|l| 2 * (l.ab.rate.0 / 1_000_000_000 * l.ab.delay.as_ns() / 4 + 8000)).sum();
    let thresholds = [k.host_rate, k.fabric_rate].map(|r| EcnThresholds {
        rate: BitsPerSec(r),
        k_min: Bytes(20_000),
        k_max: Bytes(80_000),
        p_max: 0.3,
    });
    let mut by_rate = thresholds.to_vec();
    by_rate.dedup_by_key(|t| t.rate);
    let dcqcn = |p: dcqcn::Params| dcqcn::Params { min_rate: 100_000_000, ..p };
    let scheme = |name: &str, params, window| Scheme { name: name.into(), params, window, transport: Transport::Rdma };
    // In a quarter of the cases RED, quick enough for short runs.
    let red = (k.seed >> 10 & 3 == 1).then(|| RedQueues {
        params: red::Params {
            min: 5_000,
            max: 30_000,
            weight: 0.05,
            p_max: 0.2,
            gentle: k.seed >> 12 & 1 == 0,
            drop_non_ect: !lossless && k.seed >> 13 & 1 == 0,
            ..red::Params::default()
        },
        per_port: k.seed >> 14 & 1 == 0,
    });
    let scenario = Scenario {
        seed: k.seed,
        graph: Arc::new(Graph::new(&t)),
        names: Vec::new(),
        framing: Framing::HPCC,
        switch: SwitchConfig {
            strict: false,
            selective: None,
            trimming: None,
            red: red.clone(),
            qcn: None,
            exempt_syn: false,
            buffer: Bytes(
                if k.mode == 3 { k.buffer_kib << 7 } else { k.buffer_kib << 10 } + if lossless { set_aside } else { 0 },
            ),
            model: if k.mode == 3 { BufferModel::PerPort } else { BufferModel::Shared },
            accounting: [Accounting::Output, Accounting::Input, Accounting::Both][k.seed as usize % 3],
            pfc: lossless.then_some(Pfc {
                reserve: Bytes(2048),
                headroom: Headroom::Auto,
                alpha_q16: 1 << 13,
                alpha_scales: k.mode == 0,
                wraps: false,
                resume_offset: Bytes(3072),
                classes: 2,
                xoff: None,
                xon: None,
                reaction: Duration(0),
            }),
            egress_alpha_q16: 1 << 15,
            ecn: if red.is_none() { Some(Ecn { by_rate, per_port: k.seed & 1 == 0 }) } else { None },
        },
        host: HostConfig {
            ack_priority: k.ack_priority,
            nack_interval: Duration::from_us(100),
            rto: Some(Rto { initial: Duration::from_us(300), tries: 7 }),
            own_base_rtt: k.seed & 2 == 0,
            base_rtt: None,
            idle_restart: None,
            chunk: 0,
        },
        routing: RoutingConfig {
            choice: match k.seed >> 8 & 3 {
                _ if k.spray && k.seed & 8 != 0 => PathChoice::Flowlet,
                _ if k.spray => PathChoice::Spray,
                0 => PathChoice::DModK,
                1 => PathChoice::SModK,
                _ => PathChoice::FlowHash,
            },
            order: NextHopOrder::Port,
            salt: 7,
            nics: NicChoice::All,
            flowlet_gap: Duration::from_ns(1 + k.seed % 20_000),
        },
        failures: FailureConfig {
            outages: k
                .outages
                .iter()
                .map(|&(link, down, length)| Outage {
                    link: (link % t.links.len()) as u32,
                    down: Time(down * 1000),
                    up: length.map(|ns| Time((down + ns) * 1000)),
                })
                .collect(),
            reroute_after: Duration::from_ns(k.reroute_ns),
        },
        schemes: vec![
            scheme(
                "hpcc",
                Params::Hpcc(hpcc::Params { min_rate: 100_000_000, ..hpcc::Params::default() }),
                Window::Bdp,
            ),
            scheme("none", Params::Fixed(fixed::Params::default()), Window::Off),
            scheme("window", Params::Fixed(fixed::Params::default()), Window::Fixed(Bytes(30_000))),
            scheme(
                "pint",
                Params::HpccPint(hpcc_pint::Params {
                    min_rate: 100_000_000,
                    probability: if k.seed & 4 == 0 { 1.0 } else { 0.3 },
                    ..hpcc_pint::Params::default()
                }),
                Window::Bdp,
            ),
            scheme(
                "hpcc per hop",
                Params::Hpcc(hpcc::Params {
                    min_rate: 100_000_000,
                    multi_rate: k.seed & 8 == 0,
                    sample_feedback: true,
                    ..hpcc::Params::default()
                }),
                Window::Bdp,
            ),
            scheme("dcqcn vendor", Params::Dcqcn(dcqcn(dcqcn::Params::vendor())), Window::Bdp),
            scheme(
                "dcqcn paper",
                Params::Dcqcn(dcqcn(dcqcn::Params {
                    cnp_interval: Duration::from_us(50),
                    increase_interval: Duration::from_us(7),
                    ..dcqcn::Params::paper()
                })),
                Window::Off,
            ),
            scheme(
                "timely",
                Params::Timely(timely::Params {
                    t_low_ns: 2_000.0,
                    min_rate: 100_000_000,
                    ..timely::Params::default()
                }),
                Window::Bdp,
            ),
            scheme(
                "dctcp",
                Params::Dctcp(dctcp::Params { min_rate: 100_000_000, ..dctcp::Params::default() }),
                Window::Bdp,
            ),
        ],
        rpcs: Arc::default(),
        programs: Arc::default(),
        adapter: None,
        groups: vec!["all".into()],
        int_multiple: 0,
        stop: Stop::Completed,
        stall: Some(Duration::from_us(100_000)),
        engine: EngineChoice::Auto,
        records: RecordConfig { queues: QueueRecords::Port, pfc_log: false },
        quirks: Quirks::default(),
    };
    let mut draw = Stream::new(k.seed, Purpose::Arrivals, 99);
    let mut flows: Vec<FlowSpec> = (0..k.flows)
        .map(|_| {
            let src = draw.below(hosts);
            let dst = if k.incast { 0 } else { draw.below(hosts) };
            FlowSpec {
                // Whole microseconds make ties at hosts likely.
                start: Time(u64::from(draw.below(k.spread_us as u32 + 1)) * US),
                src,
                dst: if dst == src { (src + 1) % hosts } else { dst },
                bytes: 1 + u64::from(draw.below(60_000)),
                scheme: draw.below(9) as u16,
                group: 0,
                class: 3 + draw.below(2) as u8,
                dport: 100,
                rate_cap: if draw.below(5) == 0 { k.host_rate / 3 } else { 0 },
                stream: 0,
                nic: None,
            }
        })
        .collect();
    flows.sort_by_key(|f| f.start);
    (Arc::new(scenario), flows)
}

/// What the cases have met: without these the comparison says little.
#[derive(Debug, Default)]
struct Met {
    parts: u64,
    crossed: u64,
    pauses: u64,
    drops: u64,
    ties: u64,
    link_down: u64,
    /// Runs on windows with some nodes run event by event.
    close: u64,
    /// Runs on windows of two sides in turn.
    sides: u64,
    /// That both engines have taken.
    samples: u64,
}

/// Windowed engine, on any number of threads, and sequential engine agree on every flow, queue, pause, sample and counter:
/// lossless and lossy buffers, ECN, spraying, wire loss with timeouts, incast, ties, several classes, links that
/// fail and come back, links too short for windows. And what went in came out.
#[test]
fn engines_and_threads_agree_and_packets_are_conserved() {
    let config = ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() };
    let met = std::cell::RefCell::new(Met::default());
    let result = TestRunner::new(contextualize_config(config)).run(&knobs(), |k| {
        let (scenario, flows) = build(&k);
        // Windows far shorter than the longest link are refused, with an error.
        prop_assume!(Windowed::on_threads(&scenario, Box::new(FlowTable::new(Vec::new())), 1).is_ok());
        let sequential = run(&scenario, &flows, None).outcome;
        let mut met = met.borrow_mut();
        if k.outages.is_empty() {
            // Looking up every hop, as is done where links may fail, finds the paths that packets else carry.
            let outage = Outage { link: 0, down: Time(1000 * paceline_proto::units::S), up: None };
            let failures = FailureConfig { outages: vec![outage], ..FailureConfig::default() };
            let late = Arc::new(Scenario { failures, ..(*scenario).clone() });
            let threads = [None, Some(1), Some(3)][k.seed as usize % 3];
            prop_assert_eq!(&run(&late, &flows, threads).outcome, &sequential);
        }
        for threads in [1, 2, 3, 4, 7] {
            // One count of threads per case, beside one thread: all of them in turn.
            if threads != 1 && flows.len() as u64 % 4 != [2, 3, 4, 7].iter().position(|t| *t == threads).unwrap() as u64
            {
                continue;
            }
            let Shared { outcome: windowed, threads: parts, crossed } = run(&scenario, &flows, Some(threads));
            met.samples += agree(&sequential, &windowed)? as u64;
            met.parts += u64::from(parts > 1);
            met.crossed += crossed;
            let windows = Windows::of(&scenario);
            met.close += u64::from(windows.close_nodes() > 0);
            met.sides += u64::from(!windows.sides.is_empty());
        }
        let c = &sequential.counters;
        met.pauses += c.pause_frames;
        met.drops += c.drops_buffer;
        met.ties += c.ties;
        met.link_down += c.drops_link_down;
        prop_assert_eq!(&sequential.ending, &Ending::Completed);
        prop_assert_eq!(c.data_made, c.data_delivered + c.data_dropped);
        prop_assert_eq!(sequential.flows.len(), flows.len());
        for f in &sequential.flows {
            // Whoever is rerouted may come to shorter links.
            let is_bound = f.status == Status::Finished && (k.outages.is_empty() || k.near.is_none());
            prop_assert!(!is_bound || f.fct_sender >= f.ideal_sender, "{f:?}");
            prop_assert!(!is_bound || f.fct_receiver >= f.ideal_receiver, "{f:?}");
        }
        // A port whose link comes back may still have its headroom in use.
        if scenario.switch.pfc.is_some() && k.outages.is_empty() {
            prop_assert_eq!(&sequential.first_drop, &None);
        }
        Ok(())
    });
    if let Err(e) = result {
        panic!("{e}");
    }
    let met = met.into_inner();
    assert!(
        met.parts > 50
            && met.close > 50
            && met.sides > 50
            && met.crossed > 0
            && met.pauses > 0
            && met.drops > 0
            && met.ties > 0
            && met.link_down > 0
            && met.samples > 0,
        "{met:?}"
    );
}

/// Pairs of hosts that send in step to a receiver each, through one pool: at every instant packets leave several ports, and which
/// of them goes first decides whose sender may go on. Random networks hardly ever meet that.
#[test]
fn departures_at_one_instant_share_a_pool_in_the_same_order() {
    for seed in 0..6 {
        let knobs = Knobs {
            seed,
            leaves: 1,
            spines: 1,
            hosts: 9,
            host_rate: 100_000_000_000,
            fabric_rate: 100_000_000_000,
            delays_ns: [1000, 1000],
            buffer_kib: 60,
            mode: 0,
            ack_priority: true,
            spray: false,
            loss: false,
            flows: 0,
            incast: false,
            spread_us: 0,
            dual_homed: false,
            outages: Vec::new(),
            reroute_ns: 0,
            near: None,
        };
        let (scenario, _) = build(&knobs);
        let flow = |src| FlowSpec {
            start: Time(0),
            src,
            dst: 6 + src / 2,
            bytes: 400_000,
            scheme: 1,
            group: 0,
            class: 3,
            dport: 100,
            rate_cap: 0,
            stream: 0,
            nic: None,
        };
        let flows: Vec<FlowSpec> = (0..6).map(flow).collect();
        let sequential = run(&scenario, &flows, None).outcome;
        let windowed = run(&scenario, &flows, Some(1)).outcome;
        assert!(sequential.counters.pause_frames > 20, "the pool is near its threshold");
        assert_eq!(sequential.pauses, windowed.pauses);
        assert_eq!(sequential.flows, windowed.flows);
    }
}

/// Windows that were made a little shorter so that samples come when they end: links of 1 us and the usual samples, every 10 us.
/// The random networks above sample at other instants. With the two sides in turn, and with one, as where a link fails.
#[test]
fn windows_in_step_with_samples_give_the_same_bytes() {
    for (outages, sides, sampled) in [
        (Vec::new(), true, 10 * US),
        (Vec::new(), true, US),
        (vec![(7, 40_500, Some(30_000))], false, 10 * US),
        (vec![(7, 40_500, Some(30_000))], false, US),
    ] {
        let knobs = Knobs {
            seed: 5,
            leaves: 2,
            spines: 2,
            hosts: 4,
            host_rate: 100_000_000_000,
            fabric_rate: 100_000_000_000,
            delays_ns: [1000, 1000],
            buffer_kib: 100,
            mode: 0,
            ack_priority: true,
            spray: false,
            loss: false,
            flows: 60,
            incast: true,
            spread_us: 150,
            dual_homed: false,
            outages,
            reroute_ns: 700,
            near: None,
        };
        let (scenario, flows) = build(&knobs);
        let windows = Windows::of(&scenario);
        assert_eq!(windows.width, US, "a whole number of windows between two samples");
        assert!(windows.lookahead > windows.width, "windows were made shorter for that");
        assert_eq!(!windows.sides.is_empty(), sides);
        let run = |threads| {
            let source = Box::new(FlowTable::new(flows.clone()));
            run_sampled(&scenario, source, &[3, 4], threads, sampled)
        };
        let sequential = run(None).outcome;
        assert!(sequential.counters.pause_frames > 0 && sequential.counters.marks > 0, "queues grow");
        for threads in [1, 2] {
            let windowed = run(Some(threads)).outcome;
            assert!(windowed.samples.instants().filter(|at| at % windows.width == 0).count() > 10);
            assert_eq!(sequential, windowed);
        }
    }
}

/// A run that stops while copies of what has arrived still leave queues: how long something waited is the same, although one engine finds
/// the next packet's arrival first where that falls on a departure, and the other the departure.
#[test]
fn a_stop_behind_the_last_flow_leaves_equal_queues() {
    let mut differ = 0;
    for stop in (47_000_000..52_000_000).step_by(173_117) {
        let text = format!(
            "seed = 2\n[topology]\nkind = 'dumbbell'\nleft = 1\nright = 2\nhost_rate = '1Gbps'\nbottleneck_rate = '10Gbps'\n\
             [switch]\npfc = {{ enabled = false }}\n[host]\nrto = '2us'\n[schemes.s]\ncc = 'dctcp'\n[run]\nstop = '{stop}ps'\n\
             [[workloads]]\nkind = 'all_to_all'\nsizes = '1KB'\n"
        );
        let [sequential, windowed] = [None, Some(1)].map(|threads| run_text(&text, 0.0, threads).outcome);
        assert_eq!(sequential, windowed, "stop at {stop} ps");
        differ += u32::from(sequential.alive > 0);
    }
    assert!(differ > 5, "packets were there at {differ} stops only");
}
